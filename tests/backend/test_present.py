"""Our records and the messages have the same fields: a new fact is not forgotten on the way out."""

from dataclasses import fields

import pytest

from rushes.backend.artifacts.finished import ArtifactRecord
from rushes.backend.artifacts.media import MediaFacts
from rushes.backend.jobs.progress import NodeProgress
from rushes.backend.jobs.record import JobFailure, JobOutput, JobRecord, JobRollout
from rushes.backend.jobs.workflow_store import WorkflowRecord
from rushes.backend.wire.v1 import diagnostics, records
from rushes.compiler.ir.diagnostics import Diagnostic
from rushes.compiler.ir.facts import AdapterFacts, CheckpointFacts

PAIRS = [
    (CheckpointFacts, records.Checkpoint, set(), set()),
    (AdapterFacts, records.Adapter, set(), set()),
    (Diagnostic, diagnostics.Diagnostic, set(), set()),
    (JobFailure, diagnostics.JobError, set(), set()),
    (JobOutput, records.JobOutput, set(), set()),
    (JobRollout, records.JobRollout, set(), set()),
    (JobRecord, records.Job, {"timings"}, {"position"}),
    (NodeProgress, records.NodeProgress, set(), set()),
    (WorkflowRecord, records.Workflow, set(), set()),
    (ArtifactRecord, records.Artifact, {"sha256"}, {"artifact_id", "url"}),
    (MediaFacts, records.Asset, set(), {"asset", "origin", "size_bytes", "content_id"}),
]


@pytest.mark.parametrize(
    ("ours", "wire", "kept_back", "added"), PAIRS, ids=lambda each: getattr(each, "__name__", "")
)
def test_every_field_is_presented(ours, wire, kept_back, added):
    known = {field.name for field in fields(ours)}
    assert set(wire.model_fields) == known - kept_back | added

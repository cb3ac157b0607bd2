"""Saved workflows and their versions."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rushes.backend.database import Database
from rushes.backend.jobs.workflow_store import VersionConflict, WorkflowNotFound, WorkflowStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WorkflowStore]:
    database = Database(tmp_path)
    yield WorkflowStore(database)
    database.close()


async def test_a_document_comes_back_with_unknown_keys_in_their_order(store: WorkflowStore):
    document = {"zeta": [1, 2.5, None], "graph": {"nodes": {}}, "alpha": "é"}
    record = await store.create(document, "First")
    found, read = await store.read(record.workflow_id)
    assert list(read.items()) == list(document.items())
    assert (found.version, found.title) == (1, "First")


async def test_every_save_is_a_version_and_old_ones_stay(store: WorkflowStore):
    record = await store.create({"n": 1}, "A")
    saved = await store.save(record.workflow_id, {"n": 2}, "B", 1)
    assert saved.version == 2
    assert (await store.read(record.workflow_id))[1] == {"n": 2}
    assert (await store.read(record.workflow_id, 1))[1] == {"n": 1}
    assert [each.version for each in await store.versions(record.workflow_id)] == [2, 1]


async def test_a_save_on_top_of_an_unseen_version_is_refused(store: WorkflowStore):
    record = await store.create({"n": 1}, "A")
    await store.save(record.workflow_id, {"n": 2}, "A", 1)
    with pytest.raises(VersionConflict) as caught:
        await store.save(record.workflow_id, {"n": 3}, "A", 1)
    assert caught.value.version == 2
    assert (await store.read(record.workflow_id))[1] == {"n": 2}


async def test_deleting_takes_all_versions(store: WorkflowStore):
    record = await store.create({}, "A")
    await store.save(record.workflow_id, {}, "A", 1)
    await store.delete(record.workflow_id, None)
    with pytest.raises(WorkflowNotFound):
        await store.read(record.workflow_id, 1)


async def test_a_version_that_is_not_there_is_not_found(store: WorkflowStore):
    record = await store.create({}, "A")
    with pytest.raises(WorkflowNotFound, match="up to 1"):
        await store.read(record.workflow_id, 7)

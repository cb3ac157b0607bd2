"""Writes the JSON Schema of workflow documents: `python -m docs.schema`."""

import json
from pathlib import Path

from rushes.compiler.read.schema import workflow_schema
from rushes.nodes.catalog import load_catalog

PAGE = Path(__file__).resolve().parent / "workflow.schema.json"


def main() -> None:
    PAGE.write_text(json.dumps(workflow_schema(load_catalog()), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

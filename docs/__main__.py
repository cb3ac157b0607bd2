"""Writes the pages that are made from the code: `python -m docs`."""

from pathlib import Path

from docs import errors, nodes, routes, schema
from rushes.nodes.catalog import load_catalog

FOLDER = Path(__file__).resolve().parent


def main() -> None:
    http = FOLDER / "http.md"
    (FOLDER / "nodes.md").write_text(nodes.render(load_catalog().to_json()), encoding="utf-8")
    (FOLDER / "errors.md").write_text(errors.render(), encoding="utf-8")
    schema.main()
    http.write_text(routes.placed_in(http.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()

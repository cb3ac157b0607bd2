"""What every test shares: one CPU thread a process, the folder of the checkout, and goldens."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
if not Path("/dev/nvidiactl").exists():
    # Read by triton when it is first imported, which diffusers and transformers do too.
    os.environ.setdefault("TRITON_INTERPRET", "1")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="Rewrite the texts in tests/golden.")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests come last: Playwright leaves an event loop running in the thread that runs the others."""
    items.sort(key=lambda item: "e2e" in item.path.parts)


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the checkout."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture
def golden(request: pytest.FixtureRequest, root: Path) -> Callable[[str, str], None]:
    """Compares a text with `tests/golden/<name>.txt`, or writes it there under `--update-golden`."""

    def compare(name: str, text: str) -> None:
        path = root / "tests" / "golden" / f"{name}.txt"
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        expected = path.read_text(encoding="utf-8") if path.exists() else ""
        assert text == expected, f"{path.name} differs; look at it, then pytest --update-golden"

    return compare

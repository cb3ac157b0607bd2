"""Which families, checkpoints and adapters there are: found by listing folders."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from rushes.backend.models.family import Family, FamilyError
from rushes.compiler.ir.facts import CheckpointFacts


def families() -> tuple[Family, ...]:
    """Every folder beside this file that has a family.py, in order of its name."""
    here = Path(__file__).parent
    folders = sorted(path.parent.name for path in here.glob("*/family.py"))
    found: list[Family] = [import_module(f"rushes.backend.models.{name}.family").FAMILY for name in folders]
    ids = [family.family_id for family in found]
    if len(set(ids)) != len(ids):
        raise FamilyError(f"family ids must differ, got {', '.join(ids)}")
    return tuple(found)


def find_checkpoints(roots: Sequence[Path]) -> dict[str, tuple[Family, Path, CheckpointFacts]]:
    """The checkpoints directly under `roots`, by id, which is the name of the folder.

    Errors: FamilyError for two of one name, or one whose configs contradict its family.
    """
    found: dict[str, tuple[Family, Path, CheckpointFacts]] = {}
    for family, folder in _checkpoint_folders(roots):
        facts = family.facts(folder)
        if facts.checkpoint in found:
            raise FamilyError(f"checkpoint names must differ, got {found[facts.checkpoint][1]} and {folder}")
        found[facts.checkpoint] = (family, folder, facts)
    return found


def find_adapters(roots: Sequence[Path]) -> dict[str, Path]:
    """Adapter files in `<root>/adapters` and `<root>/<checkpoint>/adapters`, by id, the name without ending.

    Errors: FamilyError for two of one name.
    """
    folders = [root / "adapters" for root in roots]
    folders += [folder / "adapters" for _, folder in _checkpoint_folders(roots)]
    found: dict[str, Path] = {}
    for path in (path for folder in folders for path in sorted(folder.glob("*.safetensors"))):
        if path.stem in found:
            raise FamilyError(f"adapter names must differ, got {found[path.stem]} and {path}")
        found[path.stem] = path
    return found


def _checkpoint_folders(roots: Sequence[Path]) -> list[tuple[Family, Path]]:
    known = families()
    return [
        (family, folder)
        for root in roots
        if root.is_dir()
        for folder in sorted(path for path in root.iterdir() if path.is_dir())
        for family in known
        if family.recognises(folder)
    ]

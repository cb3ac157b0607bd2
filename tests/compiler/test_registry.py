"""What is found by listing, written out to be reviewed."""

from collections.abc import Callable, Iterator

from rushes.compiler.ir.diagnostics import CODES
from rushes.compiler.ir.ops import OPS
from rushes.compiler.passes.order import PASSES
from tests.compiler.target import CATALOG


def registry() -> Iterator[str]:
    yield "node types"
    for declared in sorted(CATALOG.nodes.values(), key=lambda one: (one.category, one.type_id)):
        yield f"    {declared.category}/{declared.type_id} {declared.version}"
    yield "\nops"
    for name in sorted(OPS):
        op = OPS[name]
        reads = ", ".join(
            f"{port.name}{'?' if port.optional else ''}: {'|'.join(port.kinds)}" for port in op.reads
        )
        writes = ", ".join(port.name for port in op.writes)
        yield f"    {'loop ' if op.is_loop else ''}{name}({reads}) -> ({writes})"
        attrs = [f"{attr}: {kind.__name__}" for attr, kind in sorted(op.attrs.items())]
        yield f"        {', '.join(attrs) or '-'}"
    yield "\npasses"
    yield from (f"    {run.__name__}" for run in PASSES)
    yield "\ncodes"
    yield from (f"    {code}" for code in sorted(CODES))


def test_what_exists_is_what_the_registry_says(golden: Callable[[str, str], None]) -> None:
    golden("registry", "\n".join(registry()) + "\n")


def test_a_pass_is_a_file_of_its_name_and_says_what_it_does() -> None:
    for run in PASSES:
        assert run.__module__ == f"rushes.compiler.passes.{run.__name__}"
        assert run.__doc__

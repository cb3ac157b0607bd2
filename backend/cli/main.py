"""`rushes`: reads the arguments, loads the one command that is named, turns refusals into exit codes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from .parser import build_parser
from .refusal import CommandRefused


def main(arguments: Sequence[str] | None = None) -> int:
    """0: done. 1: it did not work. 2: what was asked for is not valid, with diagnostics on stderr."""
    given = build_parser().parse_args(arguments)
    command = import_module(f"rushes.backend.cli.commands.{given.command}")
    try:
        return int(command.execute(given))
    except CommandRefused as refused:
        sys.stderr.write("".join(f"{line}\n" for line in refused.lines))
        return refused.exit_code
    except KeyboardInterrupt:
        return 1
    except BrokenPipeError:  # whoever read our output has seen enough
        sys.stderr.close()
        return 1


if __name__ == "__main__":
    sys.exit(main())

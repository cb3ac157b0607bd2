"""The arguments of every command. Imports nothing of ours, so that `--help` is quick."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

_DESCRIPTION = "A node-graph studio for generated video that shows the picture while it is being made."


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="rushes", description=_DESCRIPTION)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_serve(commands.add_parser("serve", help="start the server and the editor"))
    _add_run(commands.add_parser("run", help="run a workflow and write what it makes"))
    _add_compile(commands.add_parser("compile", help="check a workflow without running it"))
    _add_nodes(commands.add_parser("nodes", help="list node types, or show one"))
    _add_models(commands.add_parser("models", help="list checkpoints and adapters"))
    _add_doctor(commands.add_parser("doctor", help="check this machine"))
    return parser


def _add_serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=_port, default=8190, help="default: %(default)s; 0 takes a free one")
    parser.add_argument("--token", help="what clients must show; needed to listen beyond this machine")
    parser.add_argument(
        "--allow-origin",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="a page elsewhere that may call this server, as http://localhost:5173",
    )
    parser.add_argument("--open", action="store_true", help="open the editor in the browser")
    parser.add_argument("--verbose", action="store_true", help="log more")
    _add_machine(parser)


def _add_run(parser: argparse.ArgumentParser) -> None:
    _add_workflow(parser)
    parser.add_argument("--output", type=Path, default=Path(), metavar="DIR", help="default: this folder")
    parser.add_argument(
        "--duration",
        type=_seconds,
        metavar="S",
        help="end an endless workflow after so many seconds of video; else Ctrl-C ends it",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object about the result")
    _add_server(parser)
    _add_machine(parser)


def _add_compile(parser: argparse.ArgumentParser) -> None:
    _add_workflow(parser)
    parser.add_argument("--explain", action="store_true", help="print the program as text")
    parser.add_argument("--json", action="store_true", help="print one JSON object about the result")
    _add_server(parser)
    _add_machine(parser)


def _add_nodes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("type", nargs="?", help="show one type with its sockets and params")
    parser.add_argument("--json", action="store_true", help="print the catalog as JSON")
    _add_server(parser)
    _add_machine(parser)


def _add_models(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print them as JSON")
    _add_server(parser)
    _add_machine(parser)


def _add_doctor(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=_port, default=8190, help="port to look at (default: %(default)s)")
    _add_machine(parser)


def _add_workflow(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("workflow", type=Path, metavar="WORKFLOW.json")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NODE.PARAM=VALUE",
        help="change a param; NODE is an id, or a title or type that is unique",
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="NODE", help="run only this node and what it needs"
    )


def _add_server(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--server", metavar="URL", help="use this server instead of a private one")
    parser.add_argument("--token", help="what that server asks for")


def _add_machine(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="default: RUSHES_DATA, else the user's")
    parser.add_argument(
        "--checkpoints",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="a folder of checkpoint folders",
    )
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"expected a port from 0 to 65535, got {text!r}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"expected seconds above 0, got {text!r}")
    return value

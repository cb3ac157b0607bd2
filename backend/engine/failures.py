"""What a job can fail of: a stable code for clients, a sentence for people."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import torch

CODES: Final[Mapping[str, str]] = {
    "E_OUT_OF_MEMORY": "The device or the machine has too little memory for this job.",
    "E_NAN": "The model gave numbers that are not finite.",
    "E_ASSET_MISSING": "A picture or clip the job names is not there.",
    "E_ASSET_UNREADABLE": "A picture or clip cannot be decoded.",
    "E_ASSET_TOO_LARGE": "A picture or clip has more pixels or frames than are decoded.",
    "E_CHECKPOINT": "The checkpoint is not there or cannot be loaded.",
    "E_ADAPTER": "An adapter is not there or does not fit the checkpoint.",
    "E_CAPABILITY": "The checkpoint cannot do what the job asks.",
    "E_STREAM_TOO_LONG": "A rollout that is needed as a whole has more frames than are kept.",
    "E_FRAME_MISSING": "A rollout was stopped before the frame that was asked for.",
    "E_DISK": "A file cannot be written.",
    "E_INTERNAL": "A fault of ours; the worker's log has the traceback.",
}


class JobFault(Exception):
    """A failure with a code of `CODES`; ends the stage it comes from, never the worker."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Failure:
    code: str
    message: str


def failure_of(error: BaseException) -> Failure:
    """Code and message of what a stage raised."""
    if isinstance(error, JobFault):
        return Failure(error.code, str(error))
    if _is_out_of_memory(error):
        return Failure("E_OUT_OF_MEMORY", f"not enough memory: {_first_line(error)}")
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS):
        return Failure("E_DISK", f"cannot write: {error}")
    return Failure("E_INTERNAL", f"{type(error).__name__}: {_first_line(error)}")


def _is_out_of_memory(error: BaseException) -> bool:
    # The CPU allocator raises a plain RuntimeError.
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or (
        isinstance(error, RuntimeError) and "can't allocate memory" in str(error)
    )


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else "no message"

"""Fewer text rows for the same attention, and prompts of several lanes as one."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from rushes.backend.models.wan.transformer import TextKV, TextRows


def compact_rows(text: Tensor) -> TextRows:
    """The rows of each text, then one zero row that counts as many as there were; text [B, rows, D].

    Wan attends to the zero rows after a text. They are all alike, so one of them with the logarithm of their
    number added to its score gives the same softmax.
    """
    batch, row_count, _ = text.shape
    numbers = torch.arange(row_count, device=text.device)
    lengths = ((text != 0).any(dim=-1) * (numbers + 1)).amax(dim=1)
    kept = min(int(lengths.max()) + 1, row_count)
    numbers = numbers[:kept].expand(batch, -1)
    log_count = torch.where(numbers < lengths[:, None], 0.0, float("-inf"))
    zeros = (row_count - lengths)[:, None].float().log()
    return TextRows(text[:, :kept], torch.where(numbers == lengths[:, None], zeros, log_count))


def join_text(parts: Sequence[TextKV]) -> TextKV:
    """Prompts as the lanes of one batch; shorter ones are filled with rows that nobody sees."""
    if len(parts) == 1:
        return parts[0]
    rows = max(part.layers[0][0].shape[1] for part in parts)
    layers = tuple(
        (
            torch.cat([_longer(keys, rows) for keys, _ in pairs]),
            torch.cat([_longer(v, rows) for _, v in pairs]),
        )
        for pairs in zip(*(part.layers for part in parts), strict=True)
    )
    if all(part.log_count is None and part.layers[0][0].shape[1] == rows for part in parts):
        return TextKV(layers, None)
    return TextKV(layers, torch.cat([_counts(part, rows) for part in parts]))


def _longer(x: Tensor, rows: int) -> Tensor:
    return F.pad(x, (0, 0, 0, 0, 0, rows - x.shape[1]))


def _counts(part: TextKV, rows: int) -> Tensor:
    keys = part.layers[0][0]
    counts = keys.new_zeros(keys.shape[:2], dtype=torch.float32) if part.log_count is None else part.log_count
    return F.pad(counts, (0, rows - counts.shape[1]), value=float("-inf"))

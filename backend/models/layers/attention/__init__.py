"""Attention over [B, N, heads, head_dim], by whichever kernel a small table prefers."""

from rushes.backend.models.layers.attention.backend import AttentionBackend, AttentionCase
from rushes.backend.models.layers.attention.choice import PLAIN, AttentionChoice, case_of, choose_attention

__all__ = ["PLAIN", "AttentionBackend", "AttentionCase", "AttentionChoice", "case_of", "choose_attention"]

"""Checkpoints and how they are sampled."""

"""Weights added to a model."""

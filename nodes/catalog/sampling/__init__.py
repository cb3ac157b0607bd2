"""Noise to video."""

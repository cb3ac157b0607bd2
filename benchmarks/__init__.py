"""Measurements, and the scripts that made the shipped model."""

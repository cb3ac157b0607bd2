"""Cheap pictures of unfinished work."""

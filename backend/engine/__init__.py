"""Runs compiled pipelines on one device, in its own process. Importing this package imports no torch."""

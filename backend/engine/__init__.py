"""Runs compiled pipelines on one device, in a process of its own. Importing this package does not import torch."""

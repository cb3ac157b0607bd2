"""Workflow in, PipelineSpec out. Pure: no torch, no files, no clock."""

"""Kernels: each folder holds a kernel, the reference that defines its answer, and a benchmark."""

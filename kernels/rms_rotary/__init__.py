"""RMS norm of queries or keys and their turn by position, in one pass."""

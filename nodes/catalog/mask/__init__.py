"""What to keep and what to make anew. No GPU needed."""

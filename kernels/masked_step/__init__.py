"""One solver step in one pass: guidance, Euler, and what a mask keeps."""

"""One resource a file; each has `ROUTES`. Nothing registers them: the folder is listed."""

"""Pictures and clips: read from files, written to files."""

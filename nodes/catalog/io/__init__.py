"""Pictures and clips, in and out."""

"""What the picture should be."""

"""The procedural world of the shipped model, and everything that trains, judges and exports it."""

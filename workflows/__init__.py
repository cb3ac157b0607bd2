"""The templates that ship with Rushes, as data: JSON workflows and the clips they read."""

"""Video that goes on, steered while it is made."""

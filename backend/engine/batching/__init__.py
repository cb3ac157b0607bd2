"""Who runs next: a state machine without I/O. Events in, commands out."""

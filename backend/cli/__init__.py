"""The command line. `main.py` is the door; a command a file under `commands/`, loaded when it is named."""

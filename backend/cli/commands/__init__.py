"""One command a file, each with `execute(arguments) -> exit code`."""

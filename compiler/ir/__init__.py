"""The compiler's data: frozen, hashable, printable."""

"""Loops turned inside out: init, one step at a time, finalize. Nothing here names a family."""

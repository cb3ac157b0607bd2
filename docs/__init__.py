"""The documentation, and the script that writes the page made from the catalog."""

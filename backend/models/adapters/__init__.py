"""Adapters: small weights added to a component, read from the files people share."""

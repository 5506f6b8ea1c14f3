"""Serve the terminal app to browsers that have the secret address."""

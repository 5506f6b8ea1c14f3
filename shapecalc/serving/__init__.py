"""Serve the terminal app to browsers that know the secret address."""

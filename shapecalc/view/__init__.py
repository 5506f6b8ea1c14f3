"""Traces as Rich renderables: what the command line prints and the terminal app shows."""

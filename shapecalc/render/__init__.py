"""Renderers of answers as pictures, films, text and code."""

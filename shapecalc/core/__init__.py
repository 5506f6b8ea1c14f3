"""Resolve the output shapes of ops.

This package imports only the standard library.
"""

__version__ = "0.3.0"

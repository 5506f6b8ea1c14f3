"""The resolver of output shapes; it imports only the standard library."""

__version__ = "0.3.0"

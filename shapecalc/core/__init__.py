"""The resolver of output shapes; it depends only on the standard library."""

__version__ = "0.3.0"

"""The resolver of output shapes; it imports only the standard library."""

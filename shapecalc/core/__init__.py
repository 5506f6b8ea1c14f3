"""The resolver: what a shape becomes and why. Imports the standard library and itself only."""

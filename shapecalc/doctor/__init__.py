"""The doctor: what a runtime's error message says about a shape, what would mend it, and what the message hides."""

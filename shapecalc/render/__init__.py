"""Pictures and texts of answers, for the command line and the terminal app."""

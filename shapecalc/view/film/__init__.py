"""An answer as a film: frames of its dims and of its elements in memory, the same for the screen and for every file."""

"""The screens of the terminal app, one file each."""

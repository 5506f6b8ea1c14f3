"""The command line: a table of commands over the core. Typer makes help and completion of it, and nothing else."""

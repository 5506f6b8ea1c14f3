"""The command line: Typer commands over the core, one small file each."""

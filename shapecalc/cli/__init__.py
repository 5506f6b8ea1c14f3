"""The command line: a table of commands that call the core.

Typer builds help and completion from the table; it does not parse command lines.
"""

"""Tables of command lines and calls as text: one row a line, its columns split by `=>`, `#` before what is told."""

from pathlib import Path


def rows(name):
    """Return the rows of a table, each as its columns."""
    lines = (Path(__file__).parent / f"{name}.txt").read_text("utf-8").splitlines()
    return [line.split(" => ") for line in lines if line and not line.startswith("#")]

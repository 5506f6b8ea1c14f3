"""The console script `shapecalc`.

It is a module of its own, because an interrupt during the import of the package can only be caught outside the package.
"""

from __future__ import annotations


def main() -> int:
    """Run the command line of this process and return its exit code: 130 if its import is interrupted."""
    try:
        from shapecalc.__main__ import main as run
    except KeyboardInterrupt:
        return 130
    return run()

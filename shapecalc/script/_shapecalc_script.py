"""The console script `shapecalc`.

The script is a separate module, because an interrupt during the import of the package can only be caught outside the
package.
"""

from __future__ import annotations


def main() -> int:
    """Run the command line of this process, and return its exit code.

    The exit code is 130 if the import of the package is interrupted.
    """
    try:
        from shapecalc.__main__ import main as run
    except KeyboardInterrupt:
        return 130
    return run()

"""The console script `shapecalc`.

The script is a separate module, because only code outside the package can catch an interrupt during the import of the
package.
"""

from __future__ import annotations


def main() -> int:
    """Run the command line, and return the exit code.

    If the import of the package is interrupted, the exit code is 130.
    """
    try:
        from shapecalc.__main__ import main as run
    except KeyboardInterrupt:
        return 130
    return run()

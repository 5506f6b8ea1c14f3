"""Runs lines of code in a Python that has a library, and prints the tracebacks as JSON. It imports nothing of ours.

Usage: PYTHON provoke.py SETUP LINE...
"""

import json
import sys
import traceback
import warnings


def traceback_of(setup, line):
    """Return the traceback that a line ends in; None if it ends in none."""
    names = {}
    exec(setup, names)
    try:
        exec(compile(line, "model.py", "exec"), names)
    except Exception:
        return traceback.format_exc()
    return None


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print("\n" + json.dumps([traceback_of(sys.argv[1], line) for line in sys.argv[2:]]))

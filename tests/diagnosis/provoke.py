"""Run lines of code in a Python with a library, and print the tracebacks as JSON. Imports nothing of shapecalc.

Usage: PYTHON provoke.py SETUP LINE...
"""

import json
import sys
import traceback
import warnings


def traceback_of(setup, line):
    """Return the traceback of a line; None if it raises nothing."""
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

"""Run a command line that writes slowly: `python slow_writer.py FD SYSTEM WORDS...`.

A byte on the descriptor FD says that it begins. SYSTEM is what the system offers: `all`, or `little`, which is no files
without names, no reserved room and no `fork`. The word `mark` notes a lesson, `picture` writes a file that must be new.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

PAUSE = 0.03


def slowly(call):
    """Return a function that does what `call` does, with a pause before and after it."""

    def slow(*words, **options):
        time.sleep(PAUSE)
        made = call(*words, **options)
        time.sleep(PAUSE)
        return made

    return slow


def take_away():
    """Take away what not every system has."""
    from shapecalc.engine import processes, whole_files

    whole_files.UNNAMED, processes.FORKS = 0, False
    del os.posix_fallocate


def main(descriptor, system, *words):
    """Take away what is not offered, slow down what matters, and write."""
    import shapecalc.cli.check
    import shapecalc.engine.execute
    import shapecalc.teaching.progress  # noqa: F401 - they are imported before it begins

    if system == "little":
        take_away()
    for name in ("fsync", "link", "replace"):
        setattr(os, name, slowly(getattr(os, name)))
    sys.argv = ["shapecalc", *words]
    try:
        os.write(int(descriptor), b"b")
        return write(*words)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        return 130


def write(kind, *words):
    """Write, as the words say; return the exit code."""
    from shapecalc.__main__ import main as shapecalc_main
    from shapecalc.engine.whole_files import whole_file
    from shapecalc.teaching.progress import Progress

    if kind == "mark":
        Progress(Path(words[0])).mark("hole")
    elif kind == "picture":
        with whole_file(Path(words[0])) as file:
            file.write(b"new")
    else:
        return shapecalc_main()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

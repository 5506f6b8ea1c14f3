"""Run a command line that writes slowly: `python slow_writer.py FD SYSTEM WORDS...`.

It writes a byte to the descriptor FD when it begins. SYSTEM is `all`, or `little`, which has no unnamed files, no
preallocation and no `fork`. The word `mark` records a lesson, `picture` writes a new file.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

PAUSE = 0.03


def slowly(call):
    """Return `call` with a pause before and after it."""

    def slow(*words, **options):
        time.sleep(PAUSE)
        result = call(*words, **options)
        time.sleep(PAUSE)
        return result

    return slow


def main(descriptor, system, *words):
    """Remove what the system lacks, slow down the critical calls, and write."""
    import shapecalc.cli.check
    import shapecalc.engine.execute
    import shapecalc.teaching.progress  # noqa: F401 - imports before the first byte
    from shapecalc.engine import atomic_files, processes

    if system == "little":
        processes.CAN_FORK, atomic_files.TMPFILE_FLAG = False, 0
        del os.posix_fallocate
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
    """Run the writer and return the exit code."""
    from shapecalc.__main__ import main as shapecalc_main
    from shapecalc.engine.atomic_files import write_atomically
    from shapecalc.teaching.progress import Progress

    if kind == "mark":
        Progress(Path(words[0])).mark_done("hole")
    elif kind == "picture":
        write_atomically(Path(words[0]), b"new")
    else:
        return shapecalc_main()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

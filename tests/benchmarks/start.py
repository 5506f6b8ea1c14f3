"""Measure the CPU time of commands as ratios to `python -c pass`, in one run.

Run it from a checkout: `python -m tests.benchmarks.start [CHECKOUT...]`. With several checkouts, the commands of all
are measured in turns.
"""

from __future__ import annotations

import os
import resource
import shlex
import subprocess
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.harness import ENVIRONMENT, ROOT, in_turns, medians

ROUNDS = 31
COMMANDS = """
reshape 2,3,4 0,-1
reshape 2,3,4 0,-1 --json
chain '2,3,4 | transpose 1,0,2 | reshape 2,-1'
check one.txt
-h
reshape -h
"""
SCRIPT = "import re, sys; from shapecalc.__main__ import main; sys.exit(main())"
"""What a console script does."""


def child_seconds(words, folder, checkout):
    """Return the CPU time of a process that imports the package of a checkout."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    env = {**ENVIRONMENT, "PYTHONPATH": str(checkout)}
    subprocess.run(words, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    """Print the ratios: a row per command, a column per checkout."""
    checkouts = sys.argv[1:] or [str(ROOT)]
    with TemporaryDirectory() as folder:
        Path(folder, "one.txt").write_text("reshape 2,3,4 0,-1 => 2,12\n")
        calls = {"": partial(child_seconds, [sys.executable, "-c", "pass"], folder, os.devnull)}
        for checkout in checkouts:
            for words in COMMANDS.strip().splitlines():
                program = [sys.executable, "-c", SCRIPT, *shlex.split(words)]
                calls[checkout, words] = partial(child_seconds, program, folder, checkout)
        in_turns(1, calls)  # the first start compiles the modules
        seconds = medians(in_turns(ROUNDS, calls))
    for words in COMMANDS.strip().splitlines():
        print(words.ljust(50), *[f"{seconds[checkout, words] / seconds['']:6.2f}" for checkout in checkouts])


if __name__ == "__main__":
    main()

"""The command line that the attacks with tries share."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable


def run_tries(name: str, attack: Callable[[int, int], int]) -> int:
    """Run `attack(count, seed)` with the arguments of the command line, and return the exit code.

    The attack prints what it finds, and returns the number of findings.
    """
    parser = argparse.ArgumentParser(prog=f"python -m tests.fuzz.{name}")
    parser.add_argument("tries", type=int)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    start = time.monotonic()
    findings = attack(options.tries, options.seed)
    milliseconds = 1000 * (time.monotonic() - start) / options.tries
    print(f"{options.tries} tries, {milliseconds:.0f} ms each, {findings} findings")
    return int(bool(findings))

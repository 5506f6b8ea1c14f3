"""Draws command lines and runs them in this process for some seconds; ends with 1 if it finds anything.

    python -m tests.fuzz SECONDS [--seed N] [--keep]

What ends in a way that no line of the corpus did is drawn from later on; `--keep` adds what is short to the corpus.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from tests.fuzz.drawing import Draw
from tests.fuzz.running import Attempt, prepared, run

CORPUS = Path(__file__).with_name("corpus.jsonl")
SHORT = 80
"""The characters of a line that is short enough for the corpus."""
MOST_FINDINGS = 20


def corpus():
    """Return the attempts that are kept."""
    return [Attempt.read(line) for line in CORPUS.read_text("ascii").splitlines()]


def fuzz(seconds, seed, most=sys.maxsize):
    """Return how many attempts were made, the findings with their complaints, and the attempts of new kinds."""
    draw, known, kinds, findings = Draw(seed), corpus(), set(), []
    kept, end, count = len(known), perf_counter() + seconds, 0
    with TemporaryDirectory() as folder, prepared(folder):
        waiting = [*known]
        while perf_counter() < end and count < most and len(findings) < MOST_FINDINGS:
            attempt = waiting.pop() if waiting else draw.attempt(known)
            outcome = run(attempt)
            count += 1
            complaints = outcome.complaints()
            kind = (attempt.words[:1], complaints[-1][-200:]) if complaints else (attempt.words[:1], outcome.kind())
            if kind in kinds:
                continue
            kinds.add(kind)
            if complaints:
                findings.append((attempt, complaints))
            elif count > kept:
                known.append(attempt)
    return count, findings, known[kept:]


def main():
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("seconds", type=float)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true")
    asked = parser.parse_args()
    told = os.fdopen(os.dup(sys.stdout.fileno()), "w")  # an attempt may let this process's own go nowhere
    start = perf_counter()
    count, findings, new = fuzz(asked.seconds, asked.seed)
    for attempt, complaints in findings:
        print(attempt.line(), *complaints, sep="\n", end="\n\n", file=told)
    each = 1000 * (perf_counter() - start) / max(count, 1)
    print(
        f"{count} command lines, {each:.2f} ms each, {len(new)} of new kinds, {len(findings)} findings",
        file=told,
        flush=True,
    )
    if asked.keep:
        short = [line for line in (attempt.line() for attempt in new) if len(line) <= SHORT]
        CORPUS.write_text("".join(f"{line}\n" for line in sorted({*CORPUS.read_text("ascii").splitlines(), *short})))
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())

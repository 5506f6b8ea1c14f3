"""Run random command lines in this process for some seconds; the exit code is 1 if any fails.

    python -m tests.fuzz SECONDS [--seed N] [--keep]

A command line with a new kind of outcome becomes a source of later ones; `--keep` adds the short ones to the corpus.
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
"""The longest line, in characters, that is added to the corpus."""
MOST_FINDINGS = 20


def corpus():
    """Return the attempts of the corpus."""
    return [Attempt.read(line) for line in CORPUS.read_text("ascii").splitlines()]


def fuzz(seconds, seed, most=sys.maxsize):
    """Return the number of attempts, the findings with their complaints, and the attempts of new kinds."""
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
    options = parser.parse_args()
    output = os.fdopen(os.dup(sys.stdout.fileno()), "w")  # an attempt may redirect that of the process
    start = perf_counter()
    count, findings, new = fuzz(options.seconds, options.seed)
    for attempt, complaints in findings:
        print(attempt.line(), *complaints, sep="\n", end="\n\n", file=output)
    duration = 1000 * (perf_counter() - start) / max(count, 1)
    print(
        f"{count} command lines, {duration:.2f} ms each, {len(new)} of new kinds, {len(findings)} findings",
        file=output,
        flush=True,
    )
    if options.keep:
        short = [line for line in (attempt.line() for attempt in new) if len(line) <= SHORT]
        CORPUS.write_text("".join(f"{line}\n" for line in sorted({*CORPUS.read_text("ascii").splitlines(), *short})))
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())

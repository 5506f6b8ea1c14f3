"""How the time of an answer grows with the names and the dims of a shape: whole processes, medians of some rounds.

Run it from a checkout: `python tests/benchmarks/growth.py`. Ten times the names may take fifty times as long at most,
and under two seconds.
"""

from __future__ import annotations

import shlex
import statistics
from pathlib import Path

from tests.benchmarks.harness import ASK, wall_seconds

ROUNDS = 5


def named(count):
    """Return the text of a shape of so many names."""
    return ",".join(f"A{place}" for place in range(count))


def ones(count):
    """Return the text of a shape of so many dims, all of them 1 but for the last."""
    return "1," * (count - 1) + "2"


def questions(shape):
    """Return what each front end is asked about a shape: its words, and its standard input."""
    dims = shape.split(",")
    alike = " and ".join(f"{dim} is {dims[0]}" for dim in dims[1:-1])
    zeros = ",".join(["0"] * (len(dims) - 1) + ["-1"])
    put = {"shape": shape, "reversed": ",".join(dims[::-1]), "alike": alike or "1 is 1", "zeros": zeros}
    found = {}
    for line in Path(__file__).with_name("growth.txt").read_text().splitlines()[1:]:
        name, _, asked = line.partition(": ")
        words, _, stdin = asked.partition(" => ")
        found[name] = [word.format(**put) for word in shlex.split(words)], stdin.replace("\\n", "\n").format(**put)
    return found


def table(few, many):
    """Print what each front end takes for the smaller and for the larger shape, and their ratio."""
    for (name, small), large in zip(questions(few).items(), questions(many).values(), strict=True):
        before, after = (
            statistics.median(wall_seconds([*ASK, *words], stdin) for _ in range(ROUNDS))
            for words, stdin in (small, large)
        )
        print(f"{name.ljust(32)} {before:8.2f} s {after:8.2f} s  {after / before:6.1f}")


if __name__ == "__main__":
    for what, shape, few, many in (("names", named, 100, 1000), ("dims", ones, 1000, 10_000)):
        print(f"\n{f'{few} and {many} {what}'.ljust(32)}")
        table(shape(few), shape(many))

"""Measure how the time of an answer grows with the names and dims of a shape: medians of whole processes.

Run it from a checkout: `python -m tests.benchmarks.growth`. For ten times the names, the limits are 50 times as long,
and two seconds.
"""

from __future__ import annotations

import shlex
import statistics
from pathlib import Path

from tests.benchmarks.harness import ASK, wall_seconds

ROUNDS = 5


def named(count):
    """Return the text of a shape of `count` names."""
    return ",".join(f"A{index}" for index in range(count))


def ones(count):
    """Return the text of a shape of `count` dims, which are 1 except for the last."""
    return "1," * (count - 1) + "2"


def questions(shape):
    """Return the words and the standard input of each front end for a shape."""
    dims = shape.split(",")
    alike = " and ".join(f"{dim} is {dims[0]}" for dim in dims[1:-1])
    zeros = ",".join(["0"] * (len(dims) - 1) + ["-1"])
    fields = {"shape": shape, "reversed": ",".join(dims[::-1]), "alike": alike or "1 is 1", "zeros": zeros}
    requests = {}
    for line in Path(__file__).with_name("growth.txt").read_text().splitlines()[1:]:
        name, _, request = line.partition(": ")
        words, _, stdin = request.partition(" => ")
        requests[name] = (
            [word.format(**fields) for word in shlex.split(words)],
            stdin.replace("\\n", "\n").format(**fields),
        )
    return requests


def table(few, many):
    """Print the times of each front end for the smaller and the larger shape, and their ratio."""
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

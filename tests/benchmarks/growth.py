"""How the time of an answer grows with the names and the dims of a shape: whole processes, medians of some rounds.

Run it from a checkout: `python tests/benchmarks/growth.py`. Ten times the names may take fifty times as long at most,
and under two seconds.
"""

from __future__ import annotations

import statistics

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
    reversed_dims, zeros = ",".join(dims[::-1]), ",".join(["0"] * (len(dims) - 1) + ["-1"])
    return {
        "reshape -1": (["reshape", shape, "-1"], ""),
        "reshape to the dims reversed": (["reshape", shape, reversed_dims], ""),
        "the same --explain": (["reshape", shape, reversed_dims, "--explain"], ""),
        "the same --json": (["reshape", shape, reversed_dims, "--json"], ""),
        "reshape 0,0,...,-1 --json": (["reshape", shape, zeros, "--json"], ""),
        "transpose --explain": (["transpose", shape, "--explain"], ""),
        "squeeze --json, as openvino": (["squeeze", shape, "-d", "openvino", "--json"], ""),
        "unsqueeze --explain": (["unsqueeze", shape, "--axes", "0", "--explain"], ""),
        "compare": (["compare", shape, "-1", "--json"], ""),
        "find": (["find", shape, reversed_dims], ""),
        "check": (["check", "-"], f"reshape {shape} -1\ntranspose {shape}\n"),
        "check, all sizes alike": (["check", "-"], f"reshape {shape} -1 => 2 when {alike or '1 is 1'}\n"),
        "check --json": (["check", "-", "--json"], f"reshape {shape} {reversed_dims}\n"),
        "equiv": (["equiv", f"{shape} | transpose | reshape -1", "| reshape -1"], ""),
        "simplify": (["simplify", f"{shape} | transpose | reshape -1"], ""),
        "chain --explain": (["chain", f"{shape} | transpose | reshape -1", "--explain"], ""),
    }


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

"""Measure the CPU time of the doctor for a megabyte of log, as a ratio to `json.loads` of the same text.

Run it from a checkout: `python -m tests.benchmarks.doctor`. The limit of the ratio is 20.
"""

from __future__ import annotations

import json
import random
import re

from shapecalc.diagnosis.match import TEMPLATES
from shapecalc.diagnosis.report import diagnose
from tests.benchmarks.harness import least

ROUNDS = 9
SIZE = 1 << 20
MESSAGE = "RuntimeError: shape '[8, 3, 64]' is invalid for input of size 1600\n"


def logs():
    """Return texts of a megabyte each, by description."""
    steps = "".join(f"2024-05-06T07:08:09Z step {at} loss={1 / (at + 1):.6f} layer saved\n" for at in range(20_000))
    verbose = "".join(f"[V] [TRT] layer {at}: dimension must be known, shape is [1, {at}]\n" for at in range(20_000))
    return {
        "a message at the end": steps[: SIZE - len(MESSAGE)] + MESSAGE,
        "nothing but steps": steps[:SIZE],
        "one message again and again": MESSAGE * (SIZE // len(MESSAGE)),
        "a line about shapes after the other": verbose[:SIZE],
        "a message after the other, all different": messages()[:SIZE],
    }


def messages():
    """Return messages of all templates, with random numbers."""
    draw = random.Random(1)
    lists = {"input": "[{0}, 3]", "target": "[{0}, {1}]", "perm": "(1, 0)"}

    def fill_hole(hole):
        return lists.get(hole[1], "{0}").format(draw.randint(1, 9999), draw.randint(1, 9999))

    return "\n".join(re.sub(r"\{(\w+)\}", fill_hole, draw.choice(TEMPLATES).text) for _ in range(30_000))


if __name__ == "__main__":
    for name, text in logs().items():
        encoded = json.dumps(text)
        base, seconds = least(ROUNDS, lambda: json.loads(encoded), lambda: diagnose(text))
        print(f"{name.ljust(42)} {base * 1e3:6.2f} ms {seconds * 1e3:7.1f} ms  {seconds / base:6.1f}")

"""How long the doctor takes for a megabyte of log, beside `json.loads` of the same text, in the time of the processor.

Run it from a checkout: `python tests/benchmarks/doctor.py`. A log may take twenty times as long.
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
    """Return texts of a megabyte each, by what they are."""
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
    """Return all that runtimes say, with other numbers each time."""
    drawn = random.Random(1)
    lists = {"input": "[{0}, 3]", "target": "[{0}, {1}]", "perm": "(1, 0)"}

    def filled(hole):
        return lists.get(hole[1], "{0}").format(drawn.randint(1, 9999), drawn.randint(1, 9999))

    return "\n".join(re.sub(r"\{(\w+)\}", filled, drawn.choice(TEMPLATES).text) for _ in range(30_000))


if __name__ == "__main__":
    for name, text in logs().items():
        written = json.dumps(text)
        plain, read = least(ROUNDS, lambda: json.loads(written), lambda: diagnose(text))
        print(f"{name.ljust(42)} {plain * 1e3:6.2f} ms {read * 1e3:7.1f} ms  {read / plain:6.1f}")

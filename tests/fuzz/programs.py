"""Run drawn programs of PyTorch, and compare the shapes and refusals of `code` with those of PyTorch.

    python -m tests.fuzz.programs TRIES [--seed N]

It needs a Python with PyTorch. A program is some steps of `programs.txt`, as lines or as the `forward` of a module; it
ends with a step that PyTorch refuses. `code` must return the shape of each step, and refuse the step that PyTorch
refuses. A question about a step that PyTorch runs is counted, and is no finding.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from math import prod
from pathlib import Path
from random import Random

from shapecalc.core.dims import Monomial
from shapecalc.core.problem import USAGE, Rule, ShapeError
from shapecalc.reading.code import interpret_code
from shapecalc.reasoning.answers import answer_code
from tests.engines.drawing import rows as engine_rows
from tests.tables import rows

STEPS = [(step, {int(rank) for rank in ranks}) for ranks, step in rows(Path(__file__).with_name("programs.txt"))]
UNCHECKED = {
    rule
    for library, op, rules, _ in engine_rows("unchecked")
    if (library, op) == ("torch", "code")
    for rule in rules.split()
}
"""The rules that PyTorch does not always check; with a star, of tensors without elements alone."""
SIZES = (1, 2, 2, 3, 4, 4, 6, 8)
MOST_STEPS = 5
MOST_ELEMENTS = 4096
FITS = 0.85
"""The part of the drawn numbers that fit the shape."""
LAYER = re.compile(r"(nn\.\w+\(.*?\))(?=\(y[,)])")
HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"


class StepDraw(Random):
    """A random generator of the steps of programs."""

    def fitting(self, size, most=4):
        """Return the size, or sometimes another one."""
        return size if self.random() < FITS else self.randint(1, most)

    def axis(self, rank):
        """Return an axis of a tensor of that rank, or sometimes one that does not exist."""
        return self.randrange(-rank, rank) if self.random() < 0.95 else self.choice([rank, -rank - 1])

    def target(self, count):
        """Return a target of as many elements, mostly."""
        sizes = []
        while count > 1 and len(sizes) < 4:
            sizes.append(self.choice([size for size in range(1, count + 1) if count % size == 0]))
            count //= sizes[-1]
        sizes = [*sizes, count] if self.random() < FITS else sizes or [self.randint(0, 3)]
        if self.random() < 0.4:
            sizes[self.randrange(len(sizes))] = -1
        return sizes

    def subscript(self, shape):
        """Return the text of a subscript."""
        items = [
            self.choice([":", ":", ":2", "1:", "::2", "-1:", ":-1", "None", "0", "-1", "1:3", str(self.randint(-4, 3))])
            for _ in range(self.randint(1, len(shape)))
        ]
        if self.random() < 0.3:
            items.insert(self.randint(0, len(items)), "...")
        return ", ".join(items)

    def fill(self, step, shape):
        """Return a step with its holes filled for a shape."""
        rank, axes = len(shape), [*range(len(shape))]
        channels = shape[1 if rank > 1 else 0]
        group = self.choice([size for size in (1, 1, 2, 3, 4) if self.random() > FITS or not channels % size] or [1])
        self.shuffle(axes)
        join = ", ".join
        part = self.randint(0, shape[0])
        holes = {
            "a": lambda: self.axis(rank),
            "b": lambda: self.axis(rank),
            "c": lambda: self.fitting(self.choice([channels, channels, channels, shape[0]]) or 1),
            "l": lambda: self.fitting(shape[-1] or 1),
            "k": lambda: self.choice([1, 1, 2, 2, 3, 4]),
            "z": lambda: self.choice([0, 0, 1, 1, 2]),
            "g": lambda: group,
            "e": lambda: self.fitting(channels // group or 1),
            "i": lambda: self.randint(0, 1) if self.random() < FITS else self.randint(-4, 4),
            "order": lambda: join(map(str, axes if self.random() < FITS else axes[1:] or [0, 0])),
            "target": lambda: join(map(str, self.target(prod(shape)))),
            "shape": lambda: join(str(self.fitting(size)) for size in shape),
            "sizes": lambda: join(map(str, [part, self.fitting(shape[0] - part)])),
            "slices": lambda: self.subscript(shape),
            "r": lambda: rank,
        }
        return re.sub(r"\{(\w+)\}", lambda match: str(holes[match[1]]()), step)


@dataclass(frozen=True)
class Program:
    """A program and what PyTorch makes of it."""

    code: str
    shape: tuple[int, ...]
    expected: tuple[int, ...] | None
    """The shape of its result; None if PyTorch refuses the last step."""
    has_empty: bool = False
    """Whether the result of a step has no elements."""


def run_step(step, names):
    """Run a step in PyTorch, and return its result; None if PyTorch refuses it."""
    from torch import no_grad

    try:
        with no_grad():
            return eval(step, names)  # a step of the table
    except (RuntimeError, IndexError, ValueError, TypeError, AssertionError, ZeroDivisionError):
        return None


def draw_program(draw):
    """Draw a program."""
    import torch

    from tests.engines.code_worker import EvaluatedLayers

    shape = tuple(draw.choice(SIZES) for _ in range(draw.choice([1, 2, 3, 3, 4, 4, 4, 5])))
    names = {"torch": torch, "nn": EvaluatedLayers(), "F": torch.nn.functional, "y": torch.rand(shape)}
    steps, value = ["y.float()"], names["y"]  # the elements of an input have any kind
    has_empty = False
    for number in range(draw.randint(1, MOST_STEPS)):
        choices = [step for step, ranks in STEPS if value.dim() in ranks]
        if number and (not choices or value.numel() > MOST_ELEMENTS):
            break
        steps.append(draw.fill(draw.choice(choices), tuple(value.shape)))
        value = names["y"] = run_step(steps[-1], names)
        if value is None:
            break
        has_empty = has_empty or not value.numel()
    write = draw.choice([lines_program, lines_program, module_program, function_program, nested_program])
    return Program(write(steps), shape, None if value is None else tuple(value.shape), has_empty)


def lines_program(steps):
    """Return a program of one line for each step."""
    return "".join(f"y = {step}\n" for step in steps)


def nested_program(steps):
    """Return a program of one expression where a step uses its input once."""
    text = "y"
    for step in steps:
        if len(re.findall(r"\by\b", step)) != 1:
            return function_program(steps)
        text = re.sub(r"\by\b", "y" if text == "y" else f"({text})", step)
    return f"y = {text}\n"


def function_program(steps):
    """Return a program that is a function."""
    return "def f(y):\n" + "".join(f"    y = {step}\n" for step in steps) + "    return y\n"


def module_program(steps):
    """Return a program that is a module, whose layers are attributes."""
    layers, lines = [], []
    for step in steps:

        def name_layer(match):
            layers.append(match[1])
            return f"self.l{len(layers)}"

        lines.append(f"        y = {LAYER.sub(name_layer, step)}\n")
    made = "".join(f"        self.l{number} = {layer}\n" for number, layer in enumerate(layers, 1))
    head = f"{HEAD}class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n{made}"
    return f"{head}    def forward(self, y):\n{''.join(lines)}        return y\n"


def answer_of(program):
    """Return the shape of a program, or the rule and the message of its refusal."""
    try:
        answer = answer_code(interpret_code(program.code, {"y": program.shape}))
        problem = answer.problem
    except ShapeError as error:
        problem = error.problem
    return (problem.rule, problem.message) if problem else answer.output


def complaint(program):
    """Return the kind of a wrong answer for a program, `question` or `wrong`, and its text; None for a right answer."""
    answer, expected = answer_of(program), program.expected
    match answer:
        case (Rule() | str() as rule, message):
            is_unchecked = expected is not None and program.has_empty and f"{rule}*" in UNCHECKED
            if expected is None or is_unchecked:
                return None
            return ("question" if rule == USAGE else "wrong"), f"{rule}: {message}, and PyTorch {expected}"
    fits = expected is not None and len(answer) == len(expected) and all(map(_may_be, answer, expected))
    return None if fits else ("wrong", f"{answer}, and PyTorch {expected}")


def _may_be(size, dim):
    return size == dim or isinstance(size, Monomial)


def attack(count, seed):
    """Compare drawn programs, and return the findings, the questions by their text, and the number of refusals."""
    draw, findings, questions, refused = StepDraw(seed), [], Counter(), 0
    for _ in range(count):
        program = draw_program(draw)
        refused += program.expected is None
        match complaint(program):
            case ("question", text):
                questions[re.sub(r"\d+", "#", text)[:100]] += 1
            case ("wrong", text):
                findings.append((program, text))
    return findings, questions, refused


def main():
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.programs")
    parser.add_argument("tries", type=int)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    start = time.monotonic()
    findings, questions, refused = attack(options.tries, options.seed)
    for program, text in findings:
        print(f"{program.shape}\n{program.code}{text}\n", flush=True)
    for text, number in questions.most_common(20):
        print(f"question, {number} times: {text}")
    milliseconds = 1000 * (time.monotonic() - start) / options.tries
    asked = questions.total()
    print(
        f"{options.tries} programs, {milliseconds:.0f} ms each, {refused} that PyTorch refuses, {asked} questions, "
        f"{len(findings)} findings"
    )
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())

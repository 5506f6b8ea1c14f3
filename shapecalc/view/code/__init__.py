"""Answers as code: the program of a framework that does the same.

The code reads `x` and leaves its result in `y`. If a request means something else in that framework, the code
asks for what was meant, and a warning says so.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.commands import command_line
from shapecalc.core.problem import misuse
from shapecalc.core.record import Record
from shapecalc.core.text import lookup

ARRAYS, GRAPHS, EINOPS = (f"shapecalc.view.code.{module}" for module in ("arrays", "graphs", "einops"))
TARGETS = {
    **dict.fromkeys(("numpy", "torch", "jax", "tensorflow", "paddle"), ARRAYS),
    **dict.fromkeys(("onnx", "openvino", "tensorrt"), GRAPHS),
    "einops": EINOPS,
    "command": "shapecalc.view.code",
}
"""The targets of code, each with the module that has its writer. A module is imported on first use."""


class Code(Record):
    """A piece of code, and warnings to read before it is used."""

    text: str
    warnings: tuple[str, ...] = ()


def code(answer: Trace | Chain, target: str) -> Code:
    """Return the code for `target` that does what `answer` answers.

    Raises `ShapeError` (usage) if there is no such target, if the request is refused, or if the target has no code
    for the answer.

    >>> import shapecalc as sc
    >>> print(code(sc.reshape("N,C,H,W", "0,-1"), "numpy").text)
    # x: N,C,H,W -> y: N,C*H*W
    y = x.reshape(x.shape[0], -1)
    """
    write = writer(target)
    if answer.output is None:
        raise misuse("the request is refused, so there is no code")
    return write(answer)


def writer(target: str) -> Callable[..., Code]:
    """Return the function that writes code for `target`; raise `ShapeError` (usage) if there is none."""
    writers: dict[str, Callable[..., Code]] = import_module(lookup(target, TARGETS, "kind of code")).WRITERS
    return writers[target]


def command(answer: Trace | Chain) -> Code:
    """Return the command line that gives `answer`."""
    return Code(command_line(answer))


WRITERS = {"command": command}
"""What writes the targets that need no module of their own."""

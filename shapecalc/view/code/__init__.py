"""Answers as code: what a framework's own program would say to do the same.

The code works on `x` and leaves its result in `y`. Where a request would mean something else there, the
code says what was meant instead, and a warning tells.
"""

from __future__ import annotations

from importlib import import_module

from shapecalc.core.sizes.lookup import lookup
from shapecalc.core.sizes.problem import misuse
from shapecalc.core.sizes.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from shapecalc.core.answers.trace import Chain, Trace

TARGETS = {
    "numpy": "shapecalc.view.code.arrays",
    "torch": "shapecalc.view.code.arrays",
    "onnx": "shapecalc.view.code.onnx",
    "tensorrt": "shapecalc.view.code.tensorrt",
    "einops": "shapecalc.view.code.einops",
    "command": "shapecalc.view.code.command",
}
"""What code can be written for, and the modules with a function of that name; importing all takes a while."""


class Code(Record):
    """A piece of code, and what to know before it is used."""

    text: str
    warnings: tuple[str, ...] = ()


def code(answer: Trace | Chain, target: str) -> Code:
    """Return the code for `target` that does what `answer` answers.

    Raises `ShapeError` (usage) for a target that does not exist, an answer that is none, and what the
    target cannot say.

    >>> import shapecalc as sc
    >>> print(code(sc.reshape("N,C,H,W", "0,-1"), "numpy").text)
    # x: N,C,H,W -> y: N,C*H*W
    y = x.reshape(x.shape[0], -1)
    """
    write = writer(target)
    if answer.output is None:
        raise misuse("what cannot be resolved has no code")
    return write(answer)


def writer(target: str) -> Callable[[Trace | Chain], Code]:
    """Return the function that writes code for `target`; raise `ShapeError` (usage) where there is none."""
    write: Callable[[Trace | Chain], Code] = getattr(import_module(lookup(target, TARGETS, "kind of code")), target)
    return write

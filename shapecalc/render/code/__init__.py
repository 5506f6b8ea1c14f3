"""Code generation: programs that compute an answer in a framework.

The code reads `x` and assigns its result to `y`. If the framework interprets a request differently, the code contains a
request with the same result, and a warning is added.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.problem import usage_error
from shapecalc.core.record import Record
from shapecalc.core.text import lookup
from shapecalc.reading.commands import command_line

ARRAYS_MODULE, GRAPHS_MODULE, EINOPS_MODULE = (
    f"shapecalc.render.code.{module}" for module in ("arrays", "graphs", "einops")
)
TARGETS = {
    **dict.fromkeys(("numpy", "torch", "jax", "tensorflow", "paddle"), ARRAYS_MODULE),
    **dict.fromkeys(("onnx", "openvino", "tensorrt"), GRAPHS_MODULE),
    "einops": EINOPS_MODULE,
    "command": "shapecalc.render.code",
}
"""The name of the module that generates the code for each target.

A module is imported on first use.
"""


class Code(Record):
    """A generated program, with warnings for the user."""

    text: str
    warnings: tuple[str, ...] = ()


def write_code(answer: Trace | Chain, target: str) -> Code:
    """Generate the code for `target` that computes an answer.

    Raises `ShapeError` (usage) for an unknown target, a refused request, or an answer that the target cannot express.

    >>> import shapecalc as sc
    >>> print(write_code(sc.reshape("N,C,H,W", "0,-1"), "numpy").text)
    # x: N,C,H,W -> y: N,C*H*W
    y = x.reshape(x.shape[0], -1)
    """
    write = find_writer(target)
    if answer.output is None:
        raise usage_error("the request is refused, so there is no code")
    return write(answer)


def find_writer(target: str) -> Callable[..., Code]:
    """Return the function that generates code for `target`.

    Raises `ShapeError` (usage) if the target is unknown.
    """
    writers: dict[str, Callable[..., Code]] = import_module(lookup(target, TARGETS, "kind of code")).WRITERS
    return writers[target]


def write_command(answer: Trace | Chain) -> Code:
    """Return the shapecalc command line that computes an answer."""
    return Code(command_line(answer))


WRITERS = {"command": write_command}
"""The functions that generate code for targets without a module of their own."""

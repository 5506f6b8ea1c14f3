"""Code generation for frameworks.

An answer is a resolved request (`Trace`) or a sequence of resolved requests (`Chain`). It consists of stages, each of
which is one tensor operation. The generated code reads the input `x` and assigns the output to `y`. If the target
framework would interpret a request differently from the dialect of the request, the code contains an equivalent
request, and `GeneratedCode.warnings` describes the difference.
"""

from __future__ import annotations

from collections.abc import Callable

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.problem import usage_error
from shapecalc.core.record import Record, import_attribute
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
"""The module that generates code for each target; a module is imported on first use."""


class GeneratedCode(Record):
    """A generated program, with warnings for the user."""

    text: str
    warnings: tuple[str, ...] = ()


def generate_code(answer: Trace | Chain, target: str) -> GeneratedCode:
    """Generate code that computes an answer in a target, such as `numpy`.

    Raises `ShapeError` (usage) if the target is unknown, if the request was refused, or if the target does not support
    an op.

    >>> import shapecalc as sc
    >>> print(generate_code(sc.reshape("N,C,H,W", "0,-1"), "numpy").text)
    # x: N,C,H,W -> y: N,C*H*W
    y = x.reshape(x.shape[0], -1)
    """
    write = find_generator(target)
    if answer.output is None:
        raise usage_error("the request is refused, so there is no code")
    return write(answer)


def find_generator(target: str) -> Callable[..., GeneratedCode]:
    """Return the function that generates code for a target.

    Raises `ShapeError` (usage) if the target is unknown.
    """
    module = lookup(target, TARGETS, "kind of code")
    writers: dict[str, Callable[..., GeneratedCode]] = import_attribute(module, "WRITERS")
    return writers[target]


def generate_command(answer: Trace | Chain) -> GeneratedCode:
    """Return the shapecalc command that computes an answer."""
    return GeneratedCode(command_line(answer))


WRITERS = {"command": generate_command}
"""The code generators of this module, keyed by target."""

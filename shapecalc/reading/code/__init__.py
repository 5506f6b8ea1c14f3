"""Abstract interpretation of PyTorch, NumPy, TensorFlow and JAX code.

The result is a chain: an input shape and a sequence of stages. Each stage is a request for an op, and its input is the
output of the previous stage. The code is parsed but never executed: tensors have shapes instead of data. A rule of a
dialect can refuse a request; PyTorch, for example, refuses `view(5)` of six elements.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from contextlib import suppress

from shapecalc.core.answers import EMPTY_DICT
from shapecalc.core.dims import Shape
from shapecalc.core.limits import MAX_CODE_LENGTH
from shapecalc.core.problem import ShapeError, usage_error
from shapecalc.core.requests import lookup_dialect
from shapecalc.core.text import escape_unprintable, parse_dims, truncate
from shapecalc.reading.code.results import CodeChain, StatementRecord, UnnamedInputIdentified
from shapecalc.reading.code.source import (
    PASTE_HINT,
    detect_dialect,
    has_tensor_operation,
    normalize_pasted_code,
    parse_code,
)
from shapecalc.reading.code.statements import CodeInterpreter


def interpret_code(
    text: str,
    inputs: Mapping[str, Shape],
    dialect: str | None = None,
    sizes: Mapping[str, int | Shape] = EMPTY_DICT,
    strides: Mapping[str, Shape] = EMPTY_DICT,
    *,
    records: list[StatementRecord] | None = None,
    entry: str = "",
) -> CodeChain:
    """Return the chain that code applies to the first of its input tensors.

    `inputs` maps the names of tensors to shapes; an empty name denotes the first tensor in the code. `sizes` maps names
    to the sizes that replace them. `strides` maps the names of tensors that are not row-major to their strides. The
    interpreted statements are appended to `records`, also if the code is refused. `entry` is the name of the function,
    class or method to interpret, such as `Net.forward`; by default it is the last one. Raises `ShapeError` (usage) with
    a span for code that is not supported.

    >>> from shapecalc.core.text import escape_unprintable, parse_dims, truncate
    >>> interpret_code("x.transpose(1, 2)", {"x": parse_dims("B,T,C")}).stages
    (('transpose', {'perm': (0, 2, 1), 'dialect': 'torch'}),)
    >>> interpret_code("torch.zeros(2, 3).view(-1)", {}).input_shape
    (2, 3)
    """
    if len(text) > MAX_CODE_LENGTH:
        raise MAX_CODE_LENGTH.error(f"{len(text)} characters of code", PASTE_HINT, argument="line")
    tree, records = parse_code(text), [] if records is None else records
    try:
        dialect_name = lookup_dialect(dialect).name if dialect else detect_dialect(tree)
        try:
            chain = CodeInterpreter(text, dialect_name, sizes, records).interpret(tree, inputs, strides, entry)
        except UnnamedInputIdentified as claimed:
            name = claimed.args[0]
            records.clear()
            chain = CodeInterpreter(text, dialect_name, sizes, records).interpret(
                tree, _name_input(inputs, name), _name_input(strides, name), entry
            )
    except RecursionError:
        raise usage_error("the code is nested too deep", argument="line") from None
    _require_named_inputs(tree, inputs)
    return chain


def _require_named_inputs(tree: ast.Module, inputs: Mapping[str, Shape]) -> None:
    """Raise `ShapeError` (usage) for an input whose name is nowhere in the code."""
    found = {getattr(node, field, None) for node in ast.walk(tree) for field in ("id", "arg", "attr")}
    unknown = [name for name in inputs if name.isidentifier() and name not in found]
    if unknown:
        message = f"the code has no tensor {escape_unprintable(truncate(unknown[0]))}"
        raise usage_error(message, "leave its shape out, or give the name in the code", argument="input")


def _name_input(shapes: Mapping[str, Shape], name: str) -> dict[str, Shape]:
    """Return shapes by tensor name, with the empty name replaced by `name`."""
    return {input_name or name: dims for input_name, dims in shapes.items()}


def is_code(text: str) -> bool:
    """Return whether a string is Python code with a supported call or index.

    A shape is not code.

    >>> is_code("x.view(2, -1)"), is_code("x[:, None]"), is_code("torch.Size([2, 3])"), is_code("3*H*W")
    (True, True, False, False)
    """
    if len(text) > MAX_CODE_LENGTH:
        return False
    with suppress(ShapeError):
        parse_dims(text)
        return False
    with suppress(ShapeError):
        return has_tensor_operation([parse_code(normalize_pasted_code(text))])
    return False

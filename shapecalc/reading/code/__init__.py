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
from shapecalc.core.text import escape_unprintable, parse_dims, shape_text, truncate
from shapecalc.reading.code.comments import declared_inputs
from shapecalc.reading.code.modules import walk_tree
from shapecalc.reading.code.results import CodeChain, StatementRecord, UnknownCall, UnnamedInputIdentified
from shapecalc.reading.code.source import (
    detect_entry_dialect,
    find_unknown_library,
    has_tensor_operation,
    normalize_pasted_code,
    parse_code,
    parse_source,
    refuse_deep_code,
    select_entry,
)
from shapecalc.reading.code.statements import CodeInterpreter
from shapecalc.reading.code.values import UserValue


def interpret_code(
    text: str,
    inputs: Mapping[str, Shape],
    dialect: str | None = None,
    sizes: Mapping[str, UserValue] = EMPTY_DICT,
    strides: Mapping[str, Shape] = EMPTY_DICT,
    *,
    records: list[StatementRecord] | None = None,
    entry: str = "",
    path: str | None = None,
    unknown_calls: list[UnknownCall] | None = None,
) -> CodeChain:
    """Return the chain that code applies to the first of its input tensors.

    `inputs` maps the names of tensors to shapes; an empty name denotes the first tensor in the code. By default, the
    code declares the inputs. `sizes` maps names and unknown expressions, such as conditions, to their values. `strides`
    maps the names of tensors that are not row-major to their strides. The interpreted statements are appended to
    `records`, even if the code is refused. `entry` is the name of the function, class or method to interpret, such as
    `Net.forward`; by default it is the last one. `path` is the file of the code: names that the code imports from its
    own package are read from their files. Calls with unknown results are appended to `unknown_calls`. Raises
    `ShapeError` (usage) with a span for code that is not supported.

    >>> from shapecalc.core.text import escape_unprintable, parse_dims, truncate
    >>> interpret_code("x.transpose(1, 2)", {"x": parse_dims("B,T,C")}).stages
    (('transpose', {'perm': (0, 2, 1), 'dialect': 'torch'}),)
    >>> interpret_code("torch.zeros(2, 3).view(-1)", {}).input_shape
    (2, 3)
    """
    tree, records = parse_source(text), [] if records is None else records
    with refuse_deep_code():
        declared = {} if inputs else find_declared_inputs(text, tree, entry)
        dialect_name = lookup_dialect(dialect).name if dialect else detect_entry_dialect(tree, entry)
        notes = [f"the code declares {name}={shape_text(dims)}" for name, dims in declared.items()]
        if not dialect and (library := find_unknown_library(tree)):
            notes.append(f"read as {dialect_name}: {truncate(library)} is not a known library")
        interpreter = CodeInterpreter(text, dialect_name, sizes, records)
        interpreter.notes |= dict.fromkeys(notes)
        calls = [] if unknown_calls is None else unknown_calls
        try:
            chain = _interpret(interpreter, tree, inputs or declared, strides, entry, path, calls)
        except UnnamedInputIdentified as claimed:
            name = claimed.args[0]
            records.clear()
            interpreter = CodeInterpreter(text, dialect_name, sizes, records)
            interpreter.notes |= dict.fromkeys(notes)
            named = name_unnamed_input(inputs, name), name_unnamed_input(strides, name)
            chain = _interpret(interpreter, tree, *named, entry, path, calls)
    _require_named_inputs(tree, inputs)
    return chain


def _require_named_inputs(tree: ast.Module, inputs: Mapping[str, Shape]) -> None:
    """Raise `ShapeError` (usage) for an input name that is not in the code."""
    found = {getattr(node, field, None) for node in walk_tree(tree) for field in ("id", "arg", "attr")}
    unknown = [name for name in inputs if name.isidentifier() and name not in found]
    if unknown:
        message = f"the code has no tensor {escape_unprintable(truncate(unknown[0]))}"
        raise usage_error(message, "leave its shape out, or give the name in the code", argument="input")


def _interpret(
    interpreter: CodeInterpreter,
    tree: ast.Module,
    inputs: Mapping[str, Shape],
    strides: Mapping[str, Shape],
    entry: str,
    path: str | None,
    calls: list[UnknownCall],
) -> CodeChain:
    """Interpret code, and append its unknown calls to `calls`.

    The calls are appended even if the code is refused.
    """
    try:
        chain = interpreter.interpret(tree, inputs, strides, entry, path)
    except ShapeError as error:
        calls += interpreter.collect_unknown_calls(error)
        raise
    calls += interpreter.collect_unknown_calls()
    return chain


def find_declared_inputs(text: str, tree: ast.Module, entry: str) -> dict[str, Shape]:
    """Return the shapes that code declares for the inputs of its interpreted function."""
    selected, _ = select_entry(tree.body, entry)
    return declared_inputs(text, selected) if selected else {}


def name_unnamed_input(shapes: Mapping[str, Shape], name: str) -> dict[str, Shape]:
    """Replace the empty input name, if there is one, with `name`."""
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

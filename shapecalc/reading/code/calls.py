"""Calls of functions by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan

from shapecalc.core.text import escape_unprintable, truncate
from shapecalc.reading.code.arguments import Call
from shapecalc.reading.code.layer_calls import apply_window_layer
from shapecalc.reading.code.operands import call_multi_operand
from shapecalc.reading.code.ops import SHAPE_CHANGING_FUNCTIONS
from shapecalc.reading.code.sizes import CREATION_FUNCTIONS, SIZE_FUNCTIONS
from shapecalc.reading.code.values import CodeValue, ErrorFactory, TracedTensor, is_number
from shapecalc.reading.layers import LAYERS, MULTI_OPERAND_FUNCTIONS
from shapecalc.reading.preserving import PRESERVING_FUNCTIONS

TENSOR_KEYWORDS = ("input", "x", "a", "tensor", "array", "arr")
"""The names of the tensor parameter in functions of one tensor."""


def is_known_function(name: str) -> bool:
    """Return whether a method, function or layer with this name is supported."""
    return any(
        name in known
        for known in (
            SHAPE_CHANGING_FUNCTIONS,
            SHAPE_PRESERVING_FUNCTIONS,
            SIZE_FUNCTIONS,
            LAYERS,
            MULTI_OPERAND_FUNCTIONS,
            CREATION_FUNCTIONS,
        )
    )


def call_function(
    name: str, values: Sequence[CodeValue], keywords: Mapping[str, CodeValue], error: ErrorFactory
) -> CodeValue:
    """Evaluate a function call.

    The tensor is the first of `values`, or a keyword argument with a name in `TENSOR_KEYWORDS`. Raises `ShapeError`
    (usage) for an unsupported function or argument, and `StageRefused` if a rule refuses the op.
    """
    keywords = dict(keywords)
    if name in MULTI_OPERAND_FUNCTIONS:
        return call_multi_operand(Call(name, tuple(values), keywords, error))
    first = next(
        (keywords.pop(keyword) for keyword in TENSOR_KEYWORDS if isinstance(keywords.get(keyword), TracedTensor)), None
    )
    if first is None and values:
        first, values = values[0], values[1:]
    call = Call(name, tuple(values), keywords, error)
    if name in SIZE_FUNCTIONS:
        return SIZE_FUNCTIONS[name](first, call)
    if not is_known_function(name) or name in CREATION_FUNCTIONS:
        raise error(f"{escape_unprintable(truncate(name))} is not known here")
    if name in SHAPE_PRESERVING_FUNCTIONS and (is_number(first) or isinstance(first, str)):
        return nan
    if not isinstance(first, TracedTensor):
        raise error(f"{name} works on the tensor only")
    if name in LAYERS:
        return apply_window_layer(first, call)
    return first if name in SHAPE_PRESERVING_FUNCTIONS else SHAPE_CHANGING_FUNCTIONS[name](first, call)


SHAPE_PRESERVING_FUNCTIONS = PRESERVING_FUNCTIONS.keys() - SIZE_FUNCTIONS.keys()
"""The names of functions that preserve the shape of a tensor and do not work on sizes."""

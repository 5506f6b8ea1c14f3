"""Call functions by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan

from shapecalc.core.dims import product
from shapecalc.core.text import escape_unprintable, truncate
from shapecalc.reading.code.arguments import Call
from shapecalc.reading.code.layer_calls import apply_window_layer
from shapecalc.reading.code.list_functions import (
    TENSOR_LIST_FUNCTIONS,
    apply_meshgrid,
    apply_pad_sequence,
    apply_stack_function,
    pack_tensors,
    unpack_tensor,
)
from shapecalc.reading.code.logic import truth_value
from shapecalc.reading.code.operands import call_multi_operand_function
from shapecalc.reading.code.ops import SHAPE_CHANGING_FUNCTIONS
from shapecalc.reading.code.shape_functions import SHAPE_FUNCTION_NAMES, call_shape_function
from shapecalc.reading.code.sizes import CREATION_FUNCTIONS, SIZE_FUNCTIONS, require_dims
from shapecalc.reading.code.values import (
    AnswerableError,
    CodeValue,
    ErrorFactory,
    TracedTensor,
    derived_tensor,
    is_number,
    unpack_chunks,
)
from shapecalc.reading.layers import LAYERS, MULTI_OPERAND_FUNCTIONS
from shapecalc.reading.preserving import PRESERVING_FUNCTIONS

TENSOR_KEYWORDS = ("input", "x", "a", "tensor", "array", "arr")
"""The names of the tensor parameter in functions that take one tensor."""


def is_known_function(name: str) -> bool:
    """Return whether a method, function or layer name is supported."""
    return any(
        name in known
        for known in (
            SHAPE_CHANGING_FUNCTIONS,
            SHAPE_PRESERVING_FUNCTIONS,
            SIZE_FUNCTIONS,
            LAYERS,
            MULTI_OPERAND_FUNCTIONS,
            CREATION_FUNCTIONS,
            SHAPE_FUNCTION_NAMES,
            LIST_FUNCTIONS,
        )
    )


SCALAR_CONSTRUCTORS = ("tensor", "as_tensor", "asarray", "array")
"""Functions that return their argument unchanged if it is a number."""
LIST_FUNCTIONS = {
    *("pack", "unpack", "hstack", "vstack", "dstack", "row_stack", "column_stack", "meshgrid", "pad_sequence"),
    *("block_diag", "cartesian_prod", "linalg.multi_dot", "chain_matmul"),
}
"""The functions that take a list of tensors."""


def _call_list_function(call: Call) -> CodeValue:
    if call.name in ("pack", "unpack"):
        return pack_tensors(call) if call.name == "pack" else unpack_tensor(call)
    if call.name == "pad_sequence":
        return apply_pad_sequence(call)
    values = call.positional
    values = values[0] if len(values) == 1 and isinstance(values[0], tuple) else values
    tensors = [value for value in values if isinstance(value, TracedTensor)]
    if len(tensors) < len(values) or not tensors:
        raise call.error("another tensor's shape is not known", "give all shapes: --input 'x=N,C w=C,D'")
    if call.name in TENSOR_LIST_FUNCTIONS:
        return TENSOR_LIST_FUNCTIONS[call.name](tensors, call)
    return apply_meshgrid(tensors, call) if call.name == "meshgrid" else apply_stack_function(call.name, tensors, call)


def call_function(
    name: str, values: Sequence[CodeValue], keywords: Mapping[str, CodeValue], error: ErrorFactory
) -> CodeValue:
    """Call a function by name.

    The tensor is the first of `values`, or a keyword argument with a name in `TENSOR_KEYWORDS`. Raises `ShapeError`
    (usage) for an unsupported function or argument, and `StageRefused` if a rule refuses the op.
    """
    keywords = dict(keywords)
    if name == "where" and len(values) == 1 and isinstance(values[0], TracedTensor) and not keywords:
        return call_shape_function("nonzero", values[0], Call("nonzero", (), {"as_tuple": True}, error))
    if name in LIST_FUNCTIONS or name in MULTI_OPERAND_FUNCTIONS:
        call = Call(name, tuple([unpack_chunks(value) for value in values]), keywords, error)
        return _call_list_function(call) if name in LIST_FUNCTIONS else call_multi_operand_function(call)
    first = next(
        (keywords.pop(keyword) for keyword in TENSOR_KEYWORDS if isinstance(keywords.get(keyword), TracedTensor)), None
    )
    if first is None and values:
        first, values = values[0], values[1:]
    program = first.program if isinstance(first, TracedTensor) else None
    call = Call(name, tuple(values), keywords, error, program)
    if name in SIZE_FUNCTIONS:
        return SIZE_FUNCTIONS[name](first, call)
    if not is_known_function(name) or name in CREATION_FUNCTIONS:
        raise error(f"{escape_unprintable(truncate(name))} is not known here")
    return _call_tensor_function(name, first, call)


def _call_tensor_function(name: str, first: CodeValue, call: Call) -> CodeValue:
    """Call a function that takes one tensor.

    Returns nan for an elementwise function of a number.
    """
    if name == "prod" and isinstance(first, tuple) and not call.positional:
        return product(require_dims(first, call))
    if name in SHAPE_PRESERVING_FUNCTIONS and (is_number(first) or isinstance(first, str)):
        if name in SCALAR_CONSTRUCTORS:
            return first
        tensors = [value for value in call.positional if isinstance(value, TracedTensor)]
        return tensors[0].apply_scalar_op() if tensors else nan
    if not isinstance(first, TracedTensor):
        raise AnswerableError(call.error(f"{name} works on the tensor only").problem)
    if name in SHAPE_FUNCTION_NAMES:
        return call_shape_function(name, first, call)
    if name in LAYERS:
        result = apply_window_layer(first, call)
        has_indices = first.conventions.torch_checks and truth_value(call.keywords.get("return_indices", False))
        return (result, derived_tensor(result.shape, result)) if has_indices else result
    return first if name in SHAPE_PRESERVING_FUNCTIONS else SHAPE_CHANGING_FUNCTIONS[name](first, call)


SHAPE_PRESERVING_FUNCTIONS = PRESERVING_FUNCTIONS.keys() - SIZE_FUNCTIONS.keys()
"""The names of functions that preserve the shape of a tensor and do not accept sizes."""

"""The table of ONNX operators, with shape rules, evaluators and batch rules.

Every field of an entry is optional. Without a shape rule, ONNX shape inference infers the output shapes. Without an
evaluator, the output elements are unknown. Without a batch rule, it is unknown which output axis separates the samples
of a batch. An operator is *listed* if the package `core` has an equivalent op; the report has an entry for each node of
a listed operator.

Sources: the ONNX operator documents, and ContribOperators.md of ONNX Runtime for `com.microsoft`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from enum import Enum
from math import prod
from typing import Any

import numpy as np

from shapecalc.core.dims import IntTuple
from shapecalc.core.record import Record
from shapecalc.core.text import truncate
from shapecalc.models import axis_rules, mark_rules
from shapecalc.models.axis_rules import AxisRule
from shapecalc.models.batch_axis import LaneNode
from shapecalc.models.file import (
    DTYPE_NAMES,
    FLOAT,
    INT32,
    INT64,
    MAX_ELEMENTS,
    MAX_FLOAT_ELEMENTS,
    ElementArray,
    Node,
    parse_elements,
)
from shapecalc.models.mark_rules import MarkRule
from shapecalc.models.verdicts import (
    CandidateGenerator,
    expand_candidates,
    flatten_candidates,
    reshape_candidates,
    squeeze_candidates,
)
from shapecalc.models.walk_state import broadcast_shapes

Attributes = Mapping[str, Any]
"""The attributes of a node by name."""
Evaluator = Callable[..., Any]
"""A function that computes an output array from the attributes and the input arrays.

An absent input is None. An evaluator of several outputs returns a list of arrays. An evaluator raises `IndexError` for
an index that is out of bounds, and other exceptions for unsupported cases.
"""
InputSizes = Sequence[IntTuple | None]
"""The shape of each input of a node for one size assignment, or None if unknown."""
IndexBounds = Callable[[bool], Sequence[tuple[int, int]]]
"""A function that returns the minimum and maximum of the elements of a node's index tensor.

The result contains one pair, or one pair per column of the tensor if the argument is True. It is empty if the elements
are unknown.
"""
SizeCheck = Callable[[Node, InputSizes, Container[int], IndexBounds], str | None]
"""A function that checks input sizes and returns an error message, or None if the sizes match.

The arguments are a node, the input shapes, the tensor numbers of the initializers, and the index bounds. Operators need
a check if ONNX shape inference accepts mismatched sizes, or if its error message does not name the input.
"""
BatchInputs = list[tuple[str, int, int]]
"""The inputs with a batch axis, as name, input index and batch axis of each; the data input X is first."""
MAX_INFERRED_DIM = 2**40
"""The largest dim that is passed to ONNX shape inference.

Larger dims could overflow its 64-bit products.
"""
FIRST_OPSET_OF_INPUTS = 11
"""The first opset in which the arguments of Slice and of Pad are inputs."""
PLAIN_DTYPES = (FLOAT, INT32, INT64, 10, 11)
"""The element types that every version of Slice and of Pad accepts: float16, float, double, int32 and int64."""
RECURRENT_STATES = (("sequence_lens", 4, 0), ("initial_h", 5, 1), ("initial_c", 6, 1))
"""The inputs of LSTM, GRU and RNN with a batch axis, except X: name, input index, and batch axis for `layout=0`."""
ConstantShape = Callable[[Attributes, IntTuple, Sequence[IntTuple | None]], IntTuple | None]
"""A function that returns an output shape, or None if shape inference must infer or check it.

The arguments are the attributes, the shape of the first input, and the elements of the other integer inputs. The
elements of an absent input are None.
"""


class FirstInputShapeRule(Record):
    """A shape rule: the output has the shape and dtype of the first input."""


class BroadcastShapeRule(Record):
    """A shape rule: the output shape is the broadcast of the input shapes.

    The output of a comparison is boolean.
    """

    first_opset: int = 7
    is_comparison: bool = False
    typed_input: int = -1
    """The index of the input that determines the element type of the output, unless the operator is a comparison."""


class InferredShapeRule(Record):
    """A shape rule: ONNX shape inference infers the outputs."""

    copies_dims: bool = False
    """Whether shape inference copies dims from an input to the output without checks, so that it accepts symbolic dims.
    """
    compute: ConstantShape | None = None
    """A function that computes the output shape if the integer inputs are known.

    Shape inference takes ten times as long as the function.
    """


class ComputedShapeRule(Record):
    """A shape rule: a function computes the output shapes."""

    compute: Callable[[Attributes, InputSizes], InputSizes]
    """A function of the attributes and the input shapes that returns the output shapes.

    An unknown output shape is None.
    """
    is_shortcut: bool = False
    """Whether ONNX shape inference is used for an output shape that the function does not know.

    Shape inference takes ten times as long as the function.
    """
    typed_input: int = 0
    """The index of the input that determines the element type of the first output."""


class ControlFlow(Enum):
    """The control flow of an operator with subgraphs."""

    IF = "one of two branches runs"
    LOOP = "the body runs until a condition is false"
    SCAN = "the body runs for each slice of its inputs"


class CoreArgument(Record):
    """An argument of a core op, with the matching ONNX attribute or input."""

    name: str
    attribute: str = ""
    kind: type = tuple
    """The type of the attribute, or `tuple` for a tuple of integers."""
    input_since: int | None = None
    """The first opset in which the argument is the second input of the node.

    It is None if the argument is an attribute in every opset.
    """
    default: Any = None
    is_required: bool = False


class CoreOp(Record):
    """The `shapecalc.core` op that is equivalent to an ONNX operator."""

    op: str
    arguments: tuple[CoreArgument, ...]
    elements: Callable[[ElementArray, IntTuple, dict[str, Any]], ElementArray] | None = None
    """A function that returns the output array, given the input array, the output shape and the arguments."""
    fix_candidates: CandidateGenerator | None = None
    only_moves_elements: bool = False
    """Whether the op only moves the elements of one input."""
    repeats_elements: bool = False
    """Whether the op repeats elements along axes, as Expand and Tile do."""
    returns_shape: bool = False
    """Whether the core op returns the elements of the output instead of its shape, as for the operator Shape."""
    switch: str = ""
    """The name of the boolean attribute (`allowzero`) that is also an option of the core op; empty if there is none."""

    @property
    def target(self) -> CoreArgument | None:
        """The shape, permutation or axes argument of the op, or None."""
        return self.arguments[0] if self.arguments[0].kind is tuple else None


class OperatorSpec(Record):
    """An entry of the operator table."""

    shape_rule: FirstInputShapeRule | BroadcastShapeRule | InferredShapeRule | ComputedShapeRule = InferredShapeRule()
    evaluate: Evaluator | None = None
    axis_rule: AxisRule | None = None
    """The axis rule of an operator that is pointwise along an axis."""
    has_windows: bool = False
    """Whether the operator reads windows, so that an output axis may be shorter than the input axis."""
    mark_rule: MarkRule | None = None
    """The mark rule of an operator that moves elements along the batch axis."""
    marks_unknown_shapes: bool = False
    """Whether the mark rule also applies to outputs of unknown shape."""
    element_inputs: int | None = None
    """The number of leading inputs whose elements affect the output elements; None means all inputs.

    Of the other inputs, only the type or the shape matters.
    """
    size_check: SizeCheck | None = None
    """The check that the input sizes match."""
    core_op: CoreOp | None = None
    """The equivalent core op, or None if the operator is not listed."""
    control_flow: ControlFlow | None = None
    is_random: bool = False
    """Whether the output elements are random."""
    onnx_equivalent: str = ""
    """The ONNX operator whose shape inference is used for this ONNX Runtime operator; empty if there is none."""

    @property
    def is_pointwise(self) -> bool:
        """Whether the operator is elementwise with broadcasting."""
        return self.axis_rule is axis_rules.broadcast_axis_rule and self.element_inputs is None


def integer_tuple(array: ElementArray | None) -> tuple[int, ...] | None:
    """Convert an integer vector or scalar to a tuple.

    Returns None for other arrays.
    """
    if array is None or array.ndim > 1 or array.dtype.kind != "i":
        return None
    return tuple(array.reshape(-1).tolist())


def constant_elements(attributes: Attributes) -> ElementArray | None:
    """Return the elements of a Constant.

    Returns None if there are too many elements, or if the elements are not numeric.
    """
    for name, value in attributes.items():
        if name == "value":
            return parse_elements(value)
        if name == "sparse_value":
            return _dense_elements(value)
        if name in ("value_int", "value_ints") and np.size(value) <= MAX_ELEMENTS:
            return np.array(value, np.int64)
        if name in ("value_float", "value_floats") and np.size(value) <= MAX_FLOAT_ELEMENTS:
            return np.array(value, np.float32)
    return None


def _dense_elements(proto: Any) -> ElementArray | None:
    """Return the elements of a sparse tensor, or None if there are too many."""
    values, indices, dims = parse_elements(proto.values), parse_elements(proto.indices), tuple(proto.dims)
    if values is None or indices is None or prod(dims) > MAX_ELEMENTS:
        return None
    dense = np.zeros(prod(dims), values.dtype)
    dense[np.ravel_multi_index(indices.T, dims) if indices.ndim == 2 else indices] = values
    return dense.reshape(dims)


def _divide(_: Attributes, a: ElementArray, b: ElementArray) -> ElementArray:
    """Divide two arrays, truncating an integer quotient towards 0.

    Source: the ONNX operator Div.
    """
    if a.dtype.kind == "f":
        return a / b
    if not np.all(b):
        raise ValueError("integer division by 0")
    return np.asarray(np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))).astype(a.dtype)


def _modulo(attributes: Attributes, a: ElementArray, b: ElementArray) -> ElementArray:
    if a.dtype.kind != "f" and not np.all(b):
        raise ValueError("integer division by 0")
    return np.asarray((np.fmod if attributes.get("fmod") else np.mod)(a, b))


def _gather(attributes: Attributes, data: ElementArray, indices: ElementArray) -> ElementArray:
    return np.take(data, indices.astype(np.int64), axis=attributes.get("axis", 0))


def _concat(attributes: Attributes, *parts: ElementArray) -> ElementArray:
    return np.concatenate(parts, axis=attributes.get("axis", 1))


def _slice(attributes: Attributes, data: ElementArray, *slice_inputs: ElementArray | None) -> ElementArray:
    """Evaluate the operator Slice.

    Since opset 10, starts, ends, axes and steps are inputs. Source: the ONNX operator Slice.
    """
    if not slice_inputs:
        slice_inputs = tuple(
            np.array(attributes[name]) if name in attributes else None for name in ("starts", "ends", "axes")
        )
    starts, ends, axes, steps = (*slice_inputs, None, None)[:4]
    if starts is None or ends is None:
        raise ValueError("no starts or no ends")
    sliced_axes = range(len(starts)) if axes is None else axes.tolist()
    strides = [1] * len(starts) if steps is None else steps.tolist()
    slices: list[Any] = [slice(None)] * data.ndim
    for axis, start, end, step in zip(sliced_axes, starts.tolist(), ends.tolist(), strides, strict=True):
        size = data.shape[axis]
        if step < 0 and start < -size:
            raise ValueError("the start is before the first element")
        low = end + size if -size <= end < 0 else end
        slices[axis] = slice(start, None if step < 0 and low < 0 else end, step)
    return np.asarray(data[tuple(slices)])


def _range(_: Attributes, start: ElementArray, limit: ElementArray, step: ElementArray) -> ElementArray:
    count = max(int(np.ceil((limit.item() - start.item()) / step.item())), 0)
    if count > MAX_ELEMENTS:
        raise ValueError("too many elements")
    return (start + np.arange(count) * step).astype(start.dtype)


def _constant_of_shape(attributes: Attributes, shape: ElementArray) -> ElementArray:
    sizes = tuple(shape.tolist())
    value = parse_elements(attributes["value"]) if "value" in attributes else np.zeros(1, np.float32)
    if value is None or min(sizes, default=0) < 0 or prod(sizes) > MAX_ELEMENTS:
        raise ValueError("too many elements")
    return np.full(sizes, value.item(), value.dtype)


def _variadic_evaluator(function: Any) -> Evaluator:
    """Return an evaluator that folds all inputs with a binary NumPy function."""
    return lambda _, *parts: np.asarray(function.reduce(np.broadcast_arrays(*parts)))


def _reduction_evaluator(function: Any) -> Evaluator:
    """Return the evaluator of a reduction with a NumPy function.

    The list of reduced axes is an attribute in older opsets and an input in newer opsets.
    """

    def reduce(attributes: Attributes, data: ElementArray, axes: ElementArray | None = None) -> ElementArray:
        reduced_axes = attributes.get("axes") if axes is None else tuple(axes.tolist())
        if not reduced_axes and attributes.get("noop_with_empty_axes"):
            return data
        keep_dims = bool(attributes.get("keepdims", 1))
        return np.asarray(function(data, axis=reduced_axes or None, keepdims=keep_dims)).astype(data.dtype)

    return reduce


def _split(attributes: Attributes, data: ElementArray, sizes: ElementArray | None = None) -> list[ElementArray]:
    axis = attributes.get("axis", 0)
    lengths = attributes.get("split") if sizes is None else sizes.tolist()
    if lengths is None or sum(lengths) != data.shape[axis]:
        raise ValueError("parts of unknown sizes")
    return np.split(data, np.cumsum(lengths)[:-1].tolist(), axis=axis)


def _scatter_nd(
    attributes: Attributes, data: ElementArray, indices: ElementArray, updates: ElementArray
) -> ElementArray:
    if attributes.get("reduction", b"none") != b"none":
        raise ValueError("a reduction of updates")
    result = data.copy()
    result[tuple(np.moveaxis(indices, -1, 0))] = updates
    return result


def _cumsum(attributes: Attributes, data: ElementArray, axis: ElementArray) -> ElementArray:
    if attributes.get("exclusive") or attributes.get("reverse"):
        raise ValueError("an exclusive or a reverse sum")
    return np.cumsum(data, axis=int(axis.item()), dtype=data.dtype)


def _clip(
    attributes: Attributes, data: ElementArray, minimum: ElementArray | None = None, maximum: ElementArray | None = None
) -> ElementArray:
    low, high = (attributes.get(name, bound) for name, bound in (("min", minimum), ("max", maximum)))
    return np.asarray(np.clip(data, low, high)).astype(data.dtype)


def _numpy_evaluator(function: Any) -> Evaluator:
    """Return an evaluator that applies a NumPy function to the inputs."""
    return lambda _, *parts: np.asarray(function(*parts))


def _dtype_preserving_evaluator(function: Any) -> Evaluator:
    """Return an evaluator that applies a NumPy function and preserves the dtype."""
    return lambda _, data, *parts: np.asarray(function(data, *parts)).astype(data.dtype)


def element_count(_: Attributes, data: ElementArray) -> ElementArray:
    """Return the number of elements of a tensor."""
    return np.array(data.size, np.int64)


def _check_concat(node: Node, shapes: InputSizes, constants: Container[int], _: IndexBounds) -> str | None:
    """Return an error message if Concat inputs differ on an axis other than `axis`."""
    along = node.attributes.get("axis", 1)
    axis = _differing_axis(shapes, along) if isinstance(along, int) else None
    if axis is None:
        return None
    first = next(index for index, shape in enumerate(shapes) if shape is not None)
    sizes = [None if shape is None else shape[axis] for shape in shapes]
    other = next(index for index, size in enumerate(sizes) if size not in (None, sizes[first]))
    texts = []
    for index in (first, other):
        kind = "the constant " if node.inputs[index] in constants else ""
        texts.append(f"{sizes[index]} in {kind}{truncate(node.proto.input[index])}")
    return f"dim {axis} is {' and '.join(texts)}"


def _differing_axis(shapes: InputSizes, ignored_axis: int) -> int | None:
    """Return the first differing axis of several shapes, or None.

    >>> _differing_axis([(1, 2), (3, 2)], 1), _differing_axis([(1, 2), (1, 4)], -1), _differing_axis([(1, 2), None], 1)
    (0, None, None)
    """
    known = [shape for shape in shapes if shape is not None]
    if len({*map(len, known)}) != 1 or not -len(known[0]) <= ignored_axis < len(known[0]):
        return None
    differing = [axis for axis, sizes in enumerate(zip(*known, strict=True)) if len({*sizes}) > 1]
    return next((axis for axis in differing if axis != ignored_axis % len(known[0])), None)


def check_indices(node: Node, shapes: InputSizes, _: Container[int], index_bounds: IndexBounds) -> str | None:
    """Return an error message if Gather or Scatter indices do not match the data.

    The index shape is checked, and the index values are checked if they are known.
    """
    data, indices = (*shapes, None, None)[:2]
    if data is None or indices is None:
        return None
    kept, along, updates = node.attributes.get("batch_dims", 0), node.attributes.get("axis", 0), (*shapes, None)[2]
    error = None
    if node.op.endswith("Elements"):
        error = _check_index_shape(data, indices, along) or _check_update_shape(updates, indices)
    elif node.op == "ScatterND":
        error = _check_update_shape(updates, (*indices[:-1], *data[indices[-1] :]))
    elif prod(indices[:kept]) % (prod(data[:kept]) or 1):
        error = f"indices have a batch of {prod(indices[:kept])}, and data one of {prod(data[:kept])}"
    by_columns = node.op.endswith("ND")
    for axis, limits in enumerate(index_bounds(by_columns), kept if by_columns else along % len(data)):
        outside = [index for index in limits if not -data[axis] <= index < data[axis]]
        if outside and not error:
            error = f"index {outside[0]} is out of bounds for axis {axis} with size {data[axis]}"
    return error


def _check_update_shape(updates: IntTuple | None, expected: IntTuple) -> str | None:
    """Return an error message if the shape of the updates is not `expected`."""
    if updates is None or updates == expected:
        return None
    return f"updates are {','.join(map(str, updates))}, and indices require {','.join(map(str, expected))}"


def _check_index_shape(data: IntTuple | None, indices: IntTuple | None, axis: int) -> str | None:
    """Return an error message if the indices are longer than the data on some axis.

    The axis `axis` is not checked.

    >>> _check_index_shape((1, 8), (2, 3), 1), _check_index_shape((2, 8), (2, 9), -1)
    ('indices have 2 on axis 0, and data 1', None)
    """
    if data is None or indices is None or len(data) != len(indices):
        return None
    for position, (size, most) in enumerate(zip(indices, data, strict=True)):
        if size > most and position != axis % len(data):
            return f"indices have {size} on axis {position}, and data {most}"
    return None


def _shared_batch_check(get_batch_inputs: Callable[[Attributes], BatchInputs], min_rank: int = 1) -> SizeCheck:
    """Return a check that all inputs have equal batch sizes.

    `get_batch_inputs` returns the inputs with a batch axis, given the attributes of the node. Inputs of a rank below
    `min_rank` have no batch axis.
    """

    def check(node: Node, shapes: InputSizes, _: Container[int], _extremes: IndexBounds) -> str | None:
        sizes: dict[str, int] = {}
        for name, index, axis in get_batch_inputs(node.attributes):
            shape = shapes[index] if index < len(shapes) else None
            if shape is not None and axis < len(shape) >= min_rank:
                sizes[name] = shape[axis]
        batch = sizes.get("X")
        for name, size in sizes.items():
            if batch is not None and size != batch:
                return f"{name} has a batch of {size}, and X one of {batch}"
        return None

    return check


def _recurrent_batch_inputs(attributes: Attributes) -> BatchInputs:
    first = bool(attributes.get("layout", 0))
    return [
        ("X", 0, 0 if first else 1),
        *[(name, index, 0 if first else axis) for name, index, axis in RECURRENT_STATES],
    ]


def _contraction_check(
    get_contracted_axes: Callable[[Attributes], tuple[tuple[int, int], tuple[int, int], int]],
) -> SizeCheck:
    """Return a check that two contracted axes have equal sizes.

    `get_contracted_axes` maps the attributes of a node to three values: the input index and the axis of the first
    tensor, those of the second tensor, and a factor. The size of the first axis must equal the size of the second axis
    times the factor.
    """

    def check(node: Node, shapes: InputSizes, _: Container[int], _extremes: IndexBounds) -> str | None:
        (first, axis), (second, other), times = get_contracted_axes(node.attributes)
        one, two = (shapes[index] if index < len(shapes) else None for index in (first, second))
        if one is None or two is None or axis >= len(one) or other >= len(two) or one[axis] == two[other] * times:
            return None
        names = [truncate(node.proto.input[index]) for index in (first, second)]
        required = f"{two[other]}*{times}" if times != 1 else two[other]
        return f"axis {axis} of {names[0]} is {one[axis]}, and {names[1]} takes {required}"

    return check


GEMM_SIZE_CHECK = _contraction_check(
    lambda attributes: ((0, 0 if attributes.get("transA") else 1), (1, 1 if attributes.get("transB") else 0), 1)
)
CONV_CHANNEL_CHECK = _contraction_check(lambda attributes: ((0, 1), (1, 1), attributes.get("group", 1)))


def _check_conv(node: Node, shapes: InputSizes, constants: Container[int], index_bounds: IndexBounds) -> str | None:
    """Return an error message if the kernel of a Conv does not fit its input.

    The channels and the spatial sizes are checked. ONNX shape inference accepts a kernel that is larger than the padded
    input, but ONNX Runtime rejects it.
    """
    (data, weights), attributes = shapes[:2], node.attributes
    is_padded = attributes.get("auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID")
    if data is None or weights is None or len(data) != len(weights) or is_padded:
        return CONV_CHANNEL_CHECK(node, shapes, constants, index_bounds)
    count = len(data) - 2
    pads, dilations = attributes.get("pads") or (0,) * count * 2, attributes.get("dilations") or (1,) * count
    for axis, (size, kernel, dilation) in enumerate(zip(data[2:], weights[2:], dilations, strict=True)):
        padded, window = size + pads[axis] + pads[axis + count], dilation * (kernel - 1) + 1
        if window > padded:
            return f"axis {axis + 2} is {padded} with its padding, and the window is {window}"
    return CONV_CHANNEL_CHECK(node, shapes, constants, index_bounds)


def _check_einsum(node: Node, shapes: InputSizes, _: Container[int], _extremes: IndexBounds) -> str | None:
    """Return an error message if two axes of an Einsum have the same letter and different sizes."""
    equation = node.attributes.get("equation", b"").decode(errors="replace").replace(" ", "")
    sizes: dict[str, int] = {}
    for term, shape in zip(equation.partition("->")[0].split(","), shapes, strict=False):
        if "." in term or shape is None or len(term) != len(shape):
            continue
        for letter, size in zip(term, shape, strict=True):
            known = sizes.get(letter, 1)
            if size != 1 and known not in (1, size):
                return f"{letter} is {known} and {size}"
            sizes[letter] = max(known, size)
    return None


def _check_reverse_sequence(node: Node, shapes: InputSizes, _: Container[int], bounds: IndexBounds) -> str | None:
    """Return an error message if the lengths of a ReverseSequence do not match the data."""
    data, lengths = shapes[:2]
    batch_axis, time_axis = node.attributes.get("batch_axis", 1), node.attributes.get("time_axis", 0)
    if data is None or lengths is None or max(batch_axis, time_axis) >= len(data):
        return None
    if lengths != (data[batch_axis],):
        return f"{','.join(map(str, lengths))} lengths for {data[batch_axis]} sequences"
    too_long = [high for _, high in bounds(False) if high > data[time_axis]]
    return f"length {too_long[0]} of a sequence of {data[time_axis]}" if too_long else None


CHANNEL_SIZE_CHECK = _contraction_check(lambda _: ((0, 1), (1, 0), 1))
"""The check that the channels of input 0 match the first axis of input 1."""


def _matmul_shape(attributes: Attributes, shapes: InputSizes) -> InputSizes:
    """Return the output shape of a product of matrices, each optionally transposed.

    >>> _matmul_shape({}, [(5, 2, 3), (1, 3, 4)]), _matmul_shape({"transA": 1}, [(3, 2), (3, 4)])
    (((5, 2, 4),), ((2, 4),))
    >>> _matmul_shape({}, [(2, 3), (2, 3)]), _matmul_shape({"transBatchA": 1}, [(5, 2, 3), (5, 3, 4)])
    ((None,), (None,))
    """
    first, second = shapes[0], shapes[1]
    moves_batch = attributes.get("transBatchA") or attributes.get("transBatchB")
    if first is None or second is None or moves_batch or min(len(first), len(second)) < 2:
        return (None,)
    rows, inner = first[-2:] if not attributes.get("transA") else first[:-3:-1]
    second_inner, columns = second[-2:] if not attributes.get("transB") else second[:-3:-1]
    leading = broadcast_shapes((first[:-2], second[:-2]))
    return (None if inner != second_inner or isinstance(leading, str) else (*leading, rows, columns),)


def _concat_shape(attributes: Attributes, shapes: InputSizes) -> InputSizes:
    """Return the output shape of a Concat.

    >>> _concat_shape({"axis": 1}, [(2, 3), (2, 4)]), _concat_shape({"axis": 0}, [(2, 3), (2, 4)])
    (((2, 7),), (None,))
    """
    axis, first = attributes.get("axis"), shapes[0]
    if axis is None or first is None or not -len(first) <= axis < len(first):
        return (None,)
    axis %= len(first)
    total = 0
    for shape in shapes:
        if shape is None or len(shape) != len(first):
            return (None,)
        if shape[:axis] != first[:axis] or shape[axis + 1 :] != first[axis + 1 :]:
            return (None,)
        total += shape[axis]
    return ((*first[:axis], total, *first[axis + 1 :]),)


def _gather_shape(attributes: Attributes, shapes: InputSizes) -> InputSizes:
    """Return the output shape of a Gather.

    >>> _gather_shape({"axis": 1}, [(2, 3, 4), (5, 6)])
    ((2, 5, 6, 4),)
    """
    data, indices, axis = shapes[0], shapes[1], attributes.get("axis", 0)
    if data is None or indices is None or not -len(data) <= axis < len(data):
        return (None,)
    axis %= len(data)
    return ((*data[:axis], *indices, *data[axis + 1 :]),)


def _pad_shape(attributes: Attributes, shape: IntTuple, arguments: Sequence[IntTuple | None]) -> IntTuple | None:
    """Return the output shape of a Pad with constant pads for all axes.

    >>> _pad_shape({}, (2, 3), [(0, 1, 0, 2)]), _pad_shape({}, (2, 3), [(0, 1)])
    ((2, 6), None)
    """
    pads, rank = arguments[0], len(shape)
    if pads is None or len(pads) != 2 * rank or len(arguments) > 2 or not attributes.keys() <= {"mode"}:
        return None
    padded = tuple(map(sum, zip(shape, pads[:rank], pads[rank:], strict=True)))
    return None if min(padded, default=0) < 0 or max(padded, default=0) > MAX_INFERRED_DIM else padded


def _slice_shape(attributes: Attributes, shape: IntTuple, arguments: Sequence[IntTuple | None]) -> IntTuple | None:
    """Return the output shape of a Slice with constant arguments and positive steps.

    >>> _slice_shape({}, (2, 9), [(-4,), (20,), (1,), (2,)]), _slice_shape({}, (2, 9), [(0,), (1,), (0,), (-1,)])
    ((2, 2), None)
    """
    starts, ends, axes, steps = (*arguments, None, None, None)[:4]
    if starts is None or ends is None or axes is None or attributes:
        return None
    steps = (1,) * len(axes) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps) or min(steps, default=1) < 1:
        return None
    rank, sizes = len(shape), [*shape]
    if (
        max(sizes) > MAX_INFERRED_DIM
        or any(not -rank <= axis < rank for axis in axes)
        or len({axis % rank for axis in axes}) < len(axes)
    ):
        return None
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        sizes[axis] = len(range(*slice(start, end, step).indices(sizes[axis])))
    return tuple(sizes)


def _attention_shape(_: Attributes, shapes: InputSizes) -> InputSizes:
    """Return the output shape of multi-head attention.

    The key and the value may have a separate axis for the heads.

    >>> _attention_shape({}, [(2, 5, 8), (2, 6, 8), (2, 6, 16)])
    ((2, 5, 16),)
    >>> _attention_shape({}, [(2, 5, 8), (2, 4, 6, 2), (2, 4, 6, 3)])
    ((2, 5, 12),)
    """
    query, value = shapes[0], shapes[2] if len(shapes) > 2 else None
    if query is None or value is None or len(query) != 3 or len(value) not in (3, 4):
        return (None,)
    return ((*query[:2], value[2] if len(value) == 3 else value[1] * value[3]),)


def _quantized_gemm_shape(attributes: Attributes, shapes: InputSizes) -> InputSizes:
    """Return the output shape of a quantized Gemm.

    The matrices are inputs 0 and 3.

    >>> _quantized_gemm_shape({"transB": 1}, [(2, 3), (), (), (5, 3)])
    ((2, 5),)
    """
    first, second = shapes[0], shapes[3]
    if first is None or second is None:
        return (None,)
    return ((first[bool(attributes.get("transA"))], second[not attributes.get("transB")]),)


def _quantized_concat_shape(attributes: Attributes, shapes: InputSizes) -> InputSizes:
    """Return the output shape of a quantized Concat.

    The tensors are every third input from input 2 on.

    >>> _quantized_concat_shape({"axis": 1}, [(), (), (2, 3), (), (), (2, 4), (), ()])
    ((2, 7),)
    """
    parts = [shape for shape in shapes[2::3] if shape is not None]
    axis = attributes.get("axis", 1)
    if len(parts) < len(shapes[2::3]) or _differing_axis(parts, axis) is not None:
        return (None,)
    joined = axis % len(parts[0])
    return ((*parts[0][:joined], sum([part[joined] for part in parts]), *parts[0][joined + 1 :]),)


def _global_pool_shape(attributes: Attributes, shapes: InputSizes) -> InputSizes:
    """Return the output shape of a global pool.

    The attribute `channels_last` determines the axis of the channels.

    >>> _global_pool_shape({}, [(2, 8, 4, 4)]), _global_pool_shape({"channels_last": 1}, [(2, 4, 4, 8)])
    (((2, 8, 1, 1),), ((2, 1, 1, 8),))
    """
    shape = shapes[0]
    if shape is None:
        return (None,)
    ones = (1,) * (len(shape) - 2)
    return ((shape[0], *ones, shape[-1]) if attributes.get("channels_last") else (*shape[:2], *ones),)


def _average_pool_shape(attributes: Attributes, shapes: InputSizes) -> InputSizes:
    """Return the output shape of a quantized average pool.

    The attribute `channels_last` determines the axis of the channels.

    >>> _average_pool_shape({"kernel_shape": (3, 3), "strides": (2, 2)}, [(2, 8, 7, 6)])
    ((2, 8, 3, 2),)
    >>> _average_pool_shape({"kernel_shape": (3,), "strides": (2,), "ceil_mode": 1, "channels_last": 1}, [(2, 6, 8)])
    ((2, 3, 8),)
    """
    shape, kernel = shapes[0], attributes.get("kernel_shape", ())
    if shape is None or len(shape) != len(kernel) + 2:
        return (None,)
    first = 1 if attributes.get("channels_last") else 2
    count = len(kernel)
    strides, pads = attributes.get("strides") or (1,) * count, attributes.get("pads") or (0,) * count * 2
    is_same = attributes.get("auto_pad", b"NOTSET").startswith(b"SAME")
    windows = []
    for axis, size in enumerate(shape[first : first + count]):
        room = size + pads[axis] + pads[axis + count] - kernel[axis]
        more = strides[axis] - 1 if attributes.get("ceil_mode") else 0
        windows.append(-(-size // strides[axis]) if is_same else (room + more) // strides[axis] + 1)
    return ((*shape[:first], *windows, *shape[first + count :]),)


def _recurrent_shape(attributes: Attributes, shapes: InputSizes) -> InputSizes:
    """Return the output shapes of a recurrent operator.

    >>> _recurrent_shape({"direction": b"bidirectional", "hidden_size": 3}, [(5, 2, 8)])
    ((5, 2, 2, 3), (2, 2, 3), (2, 2, 3))
    """
    data, hidden = shapes[0], attributes.get("hidden_size")
    if data is None or len(data) != 3 or hidden is None:
        return (None, None, None)
    state = (2 if attributes.get("direction") == b"bidirectional" else 1, data[1], hidden)
    return ((data[0], *state), state, state)


def _packed_attention_shape(attributes: Attributes, shapes: InputSizes) -> InputSizes:
    """Return the output shapes of attention with the weights of query, key and value in one input.

    >>> _packed_attention_shape({}, [(2, 5, 8), (8, 24)])
    ((2, 5, 8), None)
    >>> _packed_attention_shape({"qkv_hidden_sizes": (8, 8, 16)}, [(2, 5, 8), (8, 32)])
    ((2, 5, 16), None)
    """
    data, weights = shapes[:2]
    if data is None or weights is None or len(data) != 3:
        return (None, None)
    sizes = attributes.get("qkv_hidden_sizes")
    return ((*data[:2], sizes[2] if sizes else weights[-1] // 3), None)


def _embedding_shape(weights: int) -> Callable[[Attributes, InputSizes], InputSizes]:
    """Return the shape function of an embedding.

    `weights` is the index of the input with the word vectors.

    >>> _embedding_shape(2)({}, [(2, 5), None, (30, 8)])
    ((2, 5, 8), (2,), (2, 5, 8))
    """

    def compute(_: Attributes, shapes: InputSizes) -> InputSizes:
        tokens, words = shapes[0], shapes[weights]
        if tokens is None or words is None:
            return (None, None, None)
        return ((*tokens, words[-1]), tokens[:1], (*tokens, words[-1]))

    return compute


def _packed_matmul_shape(attributes: Attributes, shapes: InputSizes) -> InputSizes:
    """Return the output shape of a matrix product with packed weights.

    The attribute `N` is the number of columns of the weights.

    >>> _packed_matmul_shape({"N": 4}, [(2, 3, 8)])
    ((2, 3, 4),)
    """
    first, columns = shapes[0], attributes.get("N")
    return (None if first is None or columns is None else (*first[:-1], columns),)


def _grouped_query_attention_shape(_: Attributes, shapes: InputSizes) -> InputSizes:
    """Return the output shape of grouped-query attention.

    The shape is unknown if query, key and value are packed in one input.
    """
    packed = len(shapes) < 2 or shapes[1] is None
    return (None if packed else shapes[0],)


SAME_AS_FIRST, COPIES_DIMS = FirstInputShapeRule(), InferredShapeRule(copies_dims=True)
"""Shape rules that several operators use."""
FIRST_OUTPUT_ONLY = ComputedShapeRule(lambda _, shapes: (shapes[0], None))
SKIP_NORMALIZATION = ComputedShapeRule(lambda _, shapes: (shapes[0], None, None, shapes[0]))
BROADCAST, BROADCAST_8, COMPARISON = BroadcastShapeRule(), BroadcastShapeRule(8), BroadcastShapeRule(is_comparison=True)


def _axes_argument(is_required: bool) -> tuple[CoreArgument, ...]:
    return (CoreArgument("axes", "axes", input_since=13, is_required=is_required),)


BLOCK_ARGUMENTS = (CoreArgument("block", "blocksize", int, default=0), CoreArgument("mode", "mode", bytes))
RESHAPE = CoreOp(
    "reshape",
    (CoreArgument("target", "shape", input_since=5, is_required=True),),
    lambda array, shape, _: array.reshape(shape),
    reshape_candidates,
    only_moves_elements=True,
    switch="allowzero",
)
TRANSPOSE = CoreOp(
    "transpose",
    (CoreArgument("perm", "perm"),),
    lambda array, _, arguments: np.transpose(array, arguments.get("perm")),
    only_moves_elements=True,
)
SHAPE = CoreOp("shape", (CoreArgument("start", "start", int), CoreArgument("end", "end", int)), returns_shape=True)
FLATTEN = CoreOp(
    "flatten", (CoreArgument("axis", "axis", int),), RESHAPE.elements, flatten_candidates, only_moves_elements=True
)
SQUEEZE = CoreOp(
    "squeeze", _axes_argument(is_required=False), RESHAPE.elements, squeeze_candidates, only_moves_elements=True
)
UNSQUEEZE = CoreOp("unsqueeze", _axes_argument(is_required=True), RESHAPE.elements, only_moves_elements=True)
EXPAND = CoreOp(
    "expand",
    (CoreArgument("target", input_since=1, is_required=True),),
    elements=lambda array, shape, _: np.broadcast_to(array, shape),
    fix_candidates=expand_candidates,
    repeats_elements=True,
)
TILE = CoreOp(
    "tile",
    (CoreArgument("repeats", input_since=6, is_required=True),),
    lambda array, _, arguments: np.tile(array, arguments["repeats"]),
    repeats_elements=True,
)
DEPTH_TO_SPACE, SPACE_TO_DEPTH = (
    CoreOp("depth_to_space", BLOCK_ARGUMENTS),
    CoreOp("space_to_depth", BLOCK_ARGUMENTS),
)


def _split_operator_names(specs: Mapping[str, OperatorSpec]) -> dict[str, OperatorSpec]:
    """Split keys with several operator names into separate entries.

    A key of `specs` contains one or more operator names, separated by spaces.
    """
    return {name: row for names, row in specs.items() for name in names.split()}


SHAPE_PRESERVING_OPERATORS = """
    Acos Acosh Asin Asinh Atan Atanh Celu Cos Cosh Elu Erf Exp Gelu HardSigmoid HardSwish LeakyRelu Log Mish Relu
    Selu Shrink Sigmoid Sin Sinh Softplus Softsign Swish Tan Tanh ThresholdedRelu
"""
"""The names of unary elementwise operators without an evaluator."""
UNARY_FUNCTIONS = {"Abs": np.abs, "Ceil": np.ceil, "Floor": np.floor, "Neg": np.negative, "Reciprocal": np.reciprocal}
UNARY_FUNCTIONS |= {"Round": np.rint, "Sign": np.sign, "Sqrt": np.sqrt}
"""NumPy's unary functions by operator name."""
COMPARISON_FUNCTIONS: dict[str, Any] = {
    "And": np.logical_and,
    "Equal": np.equal,
    "Greater": np.greater,
    "Or": np.logical_or,
}
COMPARISON_FUNCTIONS |= {"GreaterOrEqual": np.greater_equal, "Less": np.less, "LessOrEqual": np.less_equal}
"""NumPy's binary functions that return booleans, by operator."""
ONNX_OPERATORS = _split_operator_names(
    {
        **{
            name: OperatorSpec(
                SAME_AS_FIRST, _dtype_preserving_evaluator(function), axis_rule=axis_rules.broadcast_axis_rule
            )
            for name, function in UNARY_FUNCTIONS.items()
        },
        **{
            name: OperatorSpec(COMPARISON, _numpy_evaluator(function), axis_rule=axis_rules.broadcast_axis_rule)
            for name, function in COMPARISON_FUNCTIONS.items()
        },
        SHAPE_PRESERVING_OPERATORS: OperatorSpec(SAME_AS_FIRST, axis_rule=axis_rules.broadcast_axis_rule),
        "Add": OperatorSpec(BROADCAST, _dtype_preserving_evaluator(np.add), axis_rule=axis_rules.broadcast_axis_rule),
        "AffineGrid MaxUnpool STFT": OperatorSpec(axis_rule=axis_rules.make_pointwise_rule(0)),
        "ArgMax ArgMin": OperatorSpec(COPIES_DIMS, axis_rule=axis_rules.argmax_axis_rule),
        "Attention DeformConv RotaryEmbedding": OperatorSpec(axis_rule=axis_rules.make_pointwise_rule(0)),
        "AveragePool MaxPool": OperatorSpec(COPIES_DIMS, axis_rule=axis_rules.pool_axis_rule, has_windows=True),
        "GlobalAveragePool GlobalMaxPool": OperatorSpec(
            COPIES_DIMS, axis_rule=axis_rules.make_first_input_pointwise_rule(0, 1)
        ),
        "BatchNormalization": OperatorSpec(axis_rule=axis_rules.batch_norm_axis_rule, size_check=CHANNEL_SIZE_CHECK),
        "Bernoulli Multinomial RandomNormalLike RandomUniform RandomUniformLike": OperatorSpec(is_random=True),
        "BitCast BitShift BitwiseNot Dropout IsInf IsNaN PRelu": OperatorSpec(axis_rule=axis_rules.broadcast_axis_rule),
        "BitwiseAnd BitwiseOr BitwiseXor": OperatorSpec(BROADCAST, axis_rule=axis_rules.broadcast_axis_rule),
        "Cast": OperatorSpec(
            COPIES_DIMS,
            lambda attributes, data: data.astype(DTYPE_NAMES[attributes["to"]]),
            axis_rule=axis_rules.broadcast_axis_rule,
        ),
        "CastLike": OperatorSpec(
            evaluate=lambda _, data, like: data.astype(like.dtype),
            axis_rule=axis_rules.broadcast_axis_rule,
            element_inputs=1,
        ),
        "CenterCropPad": OperatorSpec(axis_rule=axis_rules.resize_axis_rule),
        "Clip": OperatorSpec(SAME_AS_FIRST, _clip, axis_rule=axis_rules.broadcast_axis_rule),
        "Col2Im": OperatorSpec(axis_rule=axis_rules.make_first_input_pointwise_rule(0)),
        "Compress": OperatorSpec(mark_rule=mark_rules.compress_mark_rule, marks_unknown_shapes=True),
        "Concat": OperatorSpec(
            ComputedShapeRule(_concat_shape, is_shortcut=True),
            _concat,
            mark_rule=mark_rules.concat_mark_rule,
            size_check=_check_concat,
        ),
        "Constant": OperatorSpec(evaluate=constant_elements),
        "ConstantOfShape": OperatorSpec(evaluate=_constant_of_shape, element_inputs=0),
        "Conv": OperatorSpec(
            COPIES_DIMS, axis_rule=axis_rules.make_conv_rule(), has_windows=True, size_check=_check_conv
        ),
        "ConvInteger": OperatorSpec(axis_rule=axis_rules.make_conv_rule(), has_windows=True),
        "ConvTranspose": OperatorSpec(
            COPIES_DIMS, axis_rule=axis_rules.make_first_input_pointwise_rule(0), size_check=CHANNEL_SIZE_CHECK
        ),
        "CumProd": OperatorSpec(axis_rule=axis_rules.make_unmixed_axes_rule(axis_rules.axis_from_input)),
        "CumSum": OperatorSpec(
            SAME_AS_FIRST, _cumsum, axis_rule=axis_rules.make_unmixed_axes_rule(axis_rules.axis_from_input)
        ),
        "DFT": OperatorSpec(axis_rule=axis_rules.make_unmixed_axes_rule(axis_rules.dft_axes)),
        "DepthToSpace": OperatorSpec(axis_rule=axis_rules.make_first_input_pointwise_rule(0), core_op=DEPTH_TO_SPACE),
        "DequantizeLinear QuantizeLinear": OperatorSpec(axis_rule=axis_rules.make_unmixed_axes_rule(slice(0, 0))),
        "Det": OperatorSpec(axis_rule=axis_rules.make_unmixed_axes_rule(slice(-2, None))),
        "Div": OperatorSpec(BROADCAST, _divide, axis_rule=axis_rules.broadcast_axis_rule),
        "DynamicQuantizeLinear": OperatorSpec(mark_rule=mark_rules.dynamic_quantization_mark_rule),
        "Einsum": OperatorSpec(axis_rule=axis_rules.einsum_axis_rule, size_check=_check_einsum),
        "Expand": OperatorSpec(mark_rule=mark_rules.repeat_mark_rule, core_op=EXPAND),
        "EyeLike": OperatorSpec(axis_rule=axis_rules.make_index_dependent_rule(slice(None))),
        "Flatten": OperatorSpec(mark_rule=mark_rules.reshape_mark_rule, core_op=FLATTEN),
        "GRU LSTM RNN": OperatorSpec(
            axis_rule=axis_rules.recurrent_axis_rule, size_check=_shared_batch_check(_recurrent_batch_inputs)
        ),
        "Gather": OperatorSpec(
            ComputedShapeRule(_gather_shape, is_shortcut=True),
            _gather,
            mark_rule=mark_rules.gather_mark_rule,
            size_check=check_indices,
        ),
        "GatherElements": OperatorSpec(axis_rule=axis_rules.gather_elements_axis_rule, size_check=check_indices),
        "GatherND": OperatorSpec(mark_rule=mark_rules.gather_nd_mark_rule, size_check=check_indices),
        "Gemm": OperatorSpec(COPIES_DIMS, axis_rule=axis_rules.make_gemm_rule(), size_check=GEMM_SIZE_CHECK),
        "GlobalLpPool": OperatorSpec(axis_rule=axis_rules.make_first_input_pointwise_rule(0, 1)),
        "GridSample": OperatorSpec(
            axis_rule=axis_rules.make_pointwise_rule(0),
            size_check=_shared_batch_check(lambda _: [("X", 0, 0), ("grid", 1, 0)]),
        ),
        "GroupNormalization": OperatorSpec(SAME_AS_FIRST, axis_rule=axis_rules.make_first_input_pointwise_rule(0)),
        "Hardmax LogSoftmax Softmax": OperatorSpec(
            SAME_AS_FIRST, axis_rule=axis_rules.make_unmixed_axes_rule(axis_rules.softmax_axes)
        ),
        "Identity": OperatorSpec(SAME_AS_FIRST, lambda _, data: data, axis_rule=axis_rules.broadcast_axis_rule),
        "If": OperatorSpec(control_flow=ControlFlow.IF),
        "InstanceNormalization": OperatorSpec(
            axis_rule=axis_rules.make_first_input_pointwise_rule(0, 1), size_check=CHANNEL_SIZE_CHECK
        ),
        "LRN": OperatorSpec(SAME_AS_FIRST, axis_rule=axis_rules.make_unmixed_axes_rule(slice(1, 2))),
        "LayerNormalization": OperatorSpec(
            COPIES_DIMS, axis_rule=axis_rules.make_unmixed_axes_rule(axis_rules.trailing_axes)
        ),
        "Loop": OperatorSpec(control_flow=ControlFlow.LOOP),
        "LpNormalization": OperatorSpec(
            SAME_AS_FIRST, axis_rule=axis_rules.make_unmixed_axes_rule(axis_rules.axis_from_attribute)
        ),
        "LpPool": OperatorSpec(axis_rule=axis_rules.pool_axis_rule, has_windows=True),
        "MatMul": OperatorSpec(
            ComputedShapeRule(_matmul_shape, is_shortcut=True), axis_rule=axis_rules.make_matmul_rule()
        ),
        "MatMulInteger": OperatorSpec(axis_rule=axis_rules.make_matmul_rule()),
        "Max": OperatorSpec(BROADCAST_8, _variadic_evaluator(np.maximum), axis_rule=axis_rules.broadcast_axis_rule),
        "Mean": OperatorSpec(BROADCAST_8, axis_rule=axis_rules.broadcast_axis_rule),
        "MeanVarianceNormalization": OperatorSpec(
            SAME_AS_FIRST, axis_rule=axis_rules.make_unmixed_axes_rule(axis_rules.axes_from_attribute)
        ),
        "Min": OperatorSpec(BROADCAST_8, _variadic_evaluator(np.minimum), axis_rule=axis_rules.broadcast_axis_rule),
        "Mod": OperatorSpec(BROADCAST, _modulo, axis_rule=axis_rules.broadcast_axis_rule),
        "Mul": OperatorSpec(
            BROADCAST, _dtype_preserving_evaluator(np.multiply), axis_rule=axis_rules.broadcast_axis_rule
        ),
        "NonZero": OperatorSpec(evaluate=lambda _, data: np.array(np.nonzero(np.atleast_1d(data)), np.int64)),
        "Not": OperatorSpec(SAME_AS_FIRST, _numpy_evaluator(np.logical_not), axis_rule=axis_rules.broadcast_axis_rule),
        "OneHot": OperatorSpec(axis_rule=axis_rules.one_hot_axis_rule),
        "Pad": OperatorSpec(InferredShapeRule(True, _pad_shape), mark_rule=mark_rules.pad_mark_rule),
        "Pow": OperatorSpec(
            BroadcastShapeRule(typed_input=0),
            _dtype_preserving_evaluator(lambda a, b: np.power(a.astype(np.float64), b)),
            axis_rule=axis_rules.broadcast_axis_rule,
        ),
        "QLinearConv": OperatorSpec(axis_rule=axis_rules.make_conv_rule(3)),
        "QLinearMatMul": OperatorSpec(axis_rule=axis_rules.make_matmul_rule(3)),
        "RMSNormalization": OperatorSpec(axis_rule=axis_rules.make_unmixed_axes_rule(axis_rules.trailing_axes)),
        "RandomNormal": OperatorSpec(is_random=True),
        "Range": OperatorSpec(evaluate=_range),
        "ReduceL1 ReduceLogSum ReduceLogSumExp ReduceSumSquare": OperatorSpec(axis_rule=axis_rules.reduction_axis_rule),
        "ReduceL2 ReduceMean": OperatorSpec(COPIES_DIMS, axis_rule=axis_rules.reduction_axis_rule),
        "ReduceMax": OperatorSpec(COPIES_DIMS, _reduction_evaluator(np.max), axis_rule=axis_rules.reduction_axis_rule),
        "ReduceMin": OperatorSpec(COPIES_DIMS, _reduction_evaluator(np.min), axis_rule=axis_rules.reduction_axis_rule),
        "ReduceProd": OperatorSpec(evaluate=_reduction_evaluator(np.prod), axis_rule=axis_rules.reduction_axis_rule),
        "ReduceSum": OperatorSpec(COPIES_DIMS, _reduction_evaluator(np.sum), axis_rule=axis_rules.reduction_axis_rule),
        "Reshape": OperatorSpec(mark_rule=mark_rules.reshape_mark_rule, core_op=RESHAPE),
        "Resize Upsample": OperatorSpec(COPIES_DIMS, axis_rule=axis_rules.resize_axis_rule),
        "ReverseSequence": OperatorSpec(
            axis_rule=axis_rules.reverse_sequence_axis_rule, size_check=_check_reverse_sequence
        ),
        "Scan": OperatorSpec(control_flow=ControlFlow.SCAN),
        "Scatter ScatterElements": OperatorSpec(
            mark_rule=mark_rules.scatter_elements_mark_rule, size_check=check_indices
        ),
        "ScatterND": OperatorSpec(
            evaluate=_scatter_nd, mark_rule=mark_rules.scatter_nd_mark_rule, size_check=check_indices
        ),
        "Shape": OperatorSpec(element_inputs=0, core_op=SHAPE),
        "SimplifiedLayerNormalization": OperatorSpec(
            FIRST_OUTPUT_ONLY, axis_rule=axis_rules.make_unmixed_axes_rule(axis_rules.trailing_axes)
        ),
        "Size": OperatorSpec(evaluate=element_count, element_inputs=0),
        "Slice": OperatorSpec(InferredShapeRule(True, _slice_shape), _slice, mark_rule=mark_rules.slice_mark_rule),
        "SpaceToDepth": OperatorSpec(axis_rule=axis_rules.make_first_input_pointwise_rule(0), core_op=SPACE_TO_DEPTH),
        "Split": OperatorSpec(COPIES_DIMS, _split, mark_rule=mark_rules.split_mark_rule),
        "Squeeze": OperatorSpec(mark_rule=mark_rules.reshape_mark_rule, core_op=SQUEEZE),
        "Sub": OperatorSpec(
            BROADCAST, _dtype_preserving_evaluator(np.subtract), axis_rule=axis_rules.broadcast_axis_rule
        ),
        "Sum": OperatorSpec(BROADCAST_8, _variadic_evaluator(np.add), axis_rule=axis_rules.broadcast_axis_rule),
        "Tile": OperatorSpec(mark_rule=mark_rules.repeat_mark_rule, core_op=TILE),
        "TopK": OperatorSpec(COPIES_DIMS, axis_rule=axis_rules.make_unmixed_axes_rule(axis_rules.axis_from_attribute)),
        "Transpose": OperatorSpec(axis_rule=axis_rules.transpose_axis_rule, core_op=TRANSPOSE),
        "Trilu": OperatorSpec(axis_rule=axis_rules.make_index_dependent_rule(slice(-2, None))),
        "Unique": OperatorSpec(mark_rule=mark_rules.unique_mark_rule, marks_unknown_shapes=True),
        "Unsqueeze": OperatorSpec(mark_rule=mark_rules.reshape_mark_rule, core_op=UNSQUEEZE),
        "Where": OperatorSpec(BROADCAST, _numpy_evaluator(np.where), axis_rule=axis_rules.broadcast_axis_rule),
        "Xor": OperatorSpec(COMPARISON, axis_rule=axis_rules.broadcast_axis_rule),
    }
)
"""The operator table entries of ONNX's own operators, by operator name."""
CONTRIB_OPERATORS = _split_operator_names(
    {
        "Attention": OperatorSpec(
            ComputedShapeRule(_packed_attention_shape),
            axis_rule=axis_rules.make_packed_attention_rule(3, 4, 5),
            size_check=_shared_batch_check(lambda _: [("X", 0, 0), ("the mask", 3, 0)], min_rank=2),
        ),
        "BiasGelu FastGelu Gelu QuickGelu": OperatorSpec(SAME_AS_FIRST, axis_rule=axis_rules.broadcast_axis_rule),
        "FusedConv": OperatorSpec(axis_rule=axis_rules.make_conv_rule(), onnx_equivalent="Conv"),
        "FusedMatMul": OperatorSpec(ComputedShapeRule(_matmul_shape), axis_rule=axis_rules.make_matmul_rule()),
        "GroupQueryAttention": OperatorSpec(
            ComputedShapeRule(_grouped_query_attention_shape), axis_rule=axis_rules.make_pointwise_rule(0)
        ),
        "MultiHeadAttention": OperatorSpec(
            ComputedShapeRule(_attention_shape),
            axis_rule=axis_rules.make_pointwise_rule(0),
            size_check=_shared_batch_check(lambda _: [("X", 0, 0), ("key", 1, 0), ("value", 2, 0)]),
        ),
        "DequantizeLinear": OperatorSpec(
            axis_rule=axis_rules.make_unmixed_axes_rule(slice(0, 0)), onnx_equivalent="DequantizeLinear"
        ),
        "DynamicQuantizeMatMul": OperatorSpec(
            ComputedShapeRule(_matmul_shape),
            mark_rule=mark_rules.make_dynamic_quantization_rule(axis_rules.make_matmul_rule()),
        ),
        "MatMulIntegerToFloat": OperatorSpec(
            ComputedShapeRule(_matmul_shape, typed_input=2), axis_rule=axis_rules.make_matmul_rule()
        ),
        "DynamicQuantizeLSTM": OperatorSpec(
            ComputedShapeRule(_recurrent_shape),
            mark_rule=mark_rules.make_dynamic_quantization_rule(axis_rules.recurrent_axis_rule),
        ),
        "EmbedLayerNormalization": OperatorSpec(
            ComputedShapeRule(_embedding_shape(2), typed_input=2), axis_rule=axis_rules.make_pointwise_rule(0)
        ),
        "MatMulBnb4 MatMulNBits": OperatorSpec(
            ComputedShapeRule(_packed_matmul_shape), axis_rule=axis_rules.make_unmixed_axes_rule(slice(-1, None))
        ),
        "QAttention": OperatorSpec(
            ComputedShapeRule(_packed_attention_shape), axis_rule=axis_rules.make_packed_attention_rule(5, 8)
        ),
        "QEmbedLayerNormalization": OperatorSpec(
            ComputedShapeRule(_embedding_shape(2), typed_input=2), axis_rule=axis_rules.make_pointwise_rule(0)
        ),
        "QGemm": OperatorSpec(ComputedShapeRule(_quantized_gemm_shape), axis_rule=axis_rules.make_gemm_rule(3)),
        "QLinearAdd QLinearMul QLinearWhere": OperatorSpec(
            BroadcastShapeRule(1), axis_rule=axis_rules.broadcast_axis_rule
        ),
        "QLinearConcat": OperatorSpec(
            ComputedShapeRule(_quantized_concat_shape, typed_input=2), mark_rule=mark_rules.quantized_concat_mark_rule
        ),
        "QLinearConv": OperatorSpec(axis_rule=axis_rules.make_conv_rule(3), onnx_equivalent="QLinearConv"),
        "QLinearGlobalAveragePool": OperatorSpec(
            ComputedShapeRule(_global_pool_shape), axis_rule=axis_rules.make_first_input_pointwise_rule(0)
        ),
        "QLinearAveragePool": OperatorSpec(
            ComputedShapeRule(_average_pool_shape), axis_rule=axis_rules.make_first_input_pointwise_rule(0)
        ),
        "QLinearLeakyRelu QLinearSigmoid": OperatorSpec(
            SAME_AS_FIRST, axis_rule=axis_rules.make_unmixed_axes_rule(slice(0, 0))
        ),
        "QLinearReduceMean": OperatorSpec(axis_rule=axis_rules.reduction_axis_rule, onnx_equivalent="ReduceMean"),
        "QLinearSoftmax": OperatorSpec(
            SAME_AS_FIRST, axis_rule=axis_rules.make_unmixed_axes_rule(axis_rules.axis_from_attribute)
        ),
        "QuantizeLinear": OperatorSpec(
            axis_rule=axis_rules.make_unmixed_axes_rule(slice(0, 0)), onnx_equivalent="QuantizeLinear"
        ),
        "RotaryEmbedding": OperatorSpec(
            ComputedShapeRule(lambda _, shapes: shapes[:1]),
            axis_rule=axis_rules.make_pointwise_rule(0),
            size_check=_shared_batch_check(lambda _: [("X", 0, 0), ("position_ids", 1, 0)], min_rank=2),
        ),
        "SkipLayerNormalization SkipSimplifiedLayerNormalization": OperatorSpec(
            SKIP_NORMALIZATION, axis_rule=axis_rules.make_pointwise_rule(0)
        ),
    }
)
"""The operator table entries of ONNX Runtime's contributed operators, by operator name."""
OPERATORS = {"": ONNX_OPERATORS, "com.microsoft": CONTRIB_OPERATORS}
"""The operator table, by domain and operator name."""
LISTED_OPERATORS = {name: row.core_op for name, row in ONNX_OPERATORS.items() if row.core_op is not None}
"""The equivalent core op of each listed operator, by operator name."""
RANDOM_OPERATORS = {name for name, row in ONNX_OPERATORS.items() if row.is_random}
UNKNOWN_OPERATOR = OperatorSpec()
"""The entry of operators that are not in the table."""


def find_operator(node: Node | LaneNode) -> OperatorSpec:
    """Return the operator table entry of a node.

    Both domains are searched, because ONNX Runtime writes some operators in the other domain, for example
    LayerNormalization before ONNX had it.
    """
    own = OPERATORS.get(node.domain)
    if own is None:
        return UNKNOWN_OPERATOR
    return own.get(node.op) or (CONTRIB_OPERATORS if own is ONNX_OPERATORS else ONNX_OPERATORS).get(
        node.op, UNKNOWN_OPERATOR
    )


def evaluate_node(
    spec: OperatorSpec, attributes: Attributes, arrays: Sequence[ElementArray | None]
) -> list[ElementArray] | None:
    """Compute the output arrays of a node from its input arrays.

    Returns None if the outputs are unknown or too large. Raises `IndexError` if an index is out of bounds.
    """
    assert spec.evaluate is not None
    try:
        with np.errstate(all="ignore"):
            result = spec.evaluate(attributes, *arrays)
    except IndexError:
        raise
    except (ValueError, TypeError, KeyError, ArithmeticError, AttributeError, RuntimeError):
        return None
    outputs = result if isinstance(result, list) else [result]
    return None if any(array.size > MAX_ELEMENTS or array.dtype.hasobject for array in outputs) else outputs


def find_control_flow(node: Node) -> ControlFlow | None:
    """Return the control flow of a node's operator.

    Returns None for a function call, and for an operator without subgraphs.
    """
    row = ONNX_OPERATORS.get(node.op)
    return row.control_flow if row and not node.is_function_call else None

"""The table of ONNX operators: shapes, small values and batch rules of each.

Every part of an entry is optional. Without one, ONNX shape inference infers the shape, elements are unknown, and the
batch is not followed. Sources: the ONNX operator documents, and ContribOperators.md of ONNX Runtime for
`com.microsoft`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from enum import Enum
from math import prod
from typing import Any

import numpy as np

from shapecalc.core.record import Record
from shapecalc.core.text import brief
from shapecalc.models import batch_axis as batch
from shapecalc.models.batch_axis import Move, NodeAtSize, Route, Sizes
from shapecalc.models.file import KINDS, MOST_ELEMENTS, MOST_FLOATS, Array, Node, elements
from shapecalc.models.lanes import broadcast
from shapecalc.models.verdicts import Candidates, expands, flattens, reshapes

Attributes = Mapping[str, Any]
Value = Callable[..., Any]
"""A function of attributes and input arrays (None for an absent input) that returns the output array.

A list holds all outputs. It raises `IndexError` for an index that the operator refuses, and other errors for
unsupported cases.
"""
InputSizes = Sequence[Sizes | None]
Extremes = Callable[[bool], Sequence[tuple[int, int]]]
"""A function that returns the minimum and maximum of a node's indices, in total or per column.

Empty if the indices are unknown.
"""
SizeRule = Callable[[Node, InputSizes, Container[int], Extremes], str | None]
"""A check of input sizes that ONNX inference accepts, or refuses without naming the input.

It takes a node, its input shapes, the initializers and the extremes, and returns the reason of a refusal, or None.
"""
Places = list[tuple[str, int, int]]
"""The inputs that share a batch: name, input index and batch axis; the data input is first."""
LARGEST_SIZE = 2**40
"""The dim above which ONNX is not queried, because its arithmetic has 64 bits."""
STATES = (("sequence_lens", 4, 0), ("initial_h", 5, 1), ("initial_c", 6, 1))
"""The other inputs of recurrent operators with a batch: name, input index, and batch axis for `layout` 0."""


class AsFirst(Record):
    """The output has the shape and element type of the first input."""


class Broadcast(Record):
    """The output shape is the broadcast of the inputs; a comparison returns booleans."""

    since: int = 7
    compares: bool = False


class Inferred(Record):
    """ONNX shape inference infers the outputs."""

    hands_on: bool = False
    """Whether a dim that inference copies to the output may be passed as a name: no size of it is refused."""


class Given(Record):
    """A function computes the output shapes.

    The outputs have the element type of the first input.
    """

    shapes: Callable[[Attributes, InputSizes], InputSizes]
    """A function of attributes and input shapes; an output shape is None if unknown."""


class Graphs(Enum):
    """How an operator runs its subgraphs."""

    IF = "one of two branches runs"
    LOOP = "the body runs until a condition is false"
    SCAN = "the body runs for each slice of its inputs"


class Argument(Record):
    """An argument of a core op, and where a node stores it."""

    name: str
    attribute: str = ""
    kind: type = tuple
    """The type of the attribute; a tuple holds integers and is the target of the node."""
    input_since: int | None = None
    """The opset since which it is the second input; None if it is always an attribute."""
    default: Any = None
    needed: bool = False


class CoreCall(Record):
    """The core op of a listed operator, with its arguments."""

    op: str
    arguments: tuple[Argument, ...]
    elements: Callable[[Array, Sizes, dict[str, Any]], Array] | None = None
    """The elements of a small output, from the input elements, the output shape and the arguments."""
    fixes: Candidates | None = None
    only_moves: bool = False
    """Whether the op only moves the elements of one input."""
    repeats: bool = False
    """Whether the op repeats elements as often as its argument says."""
    gives_sizes: bool = False
    """Whether core's answer is the output value, not the output shape (Shape)."""
    switch: str = ""
    """The attribute that is a switch of core's op."""

    @property
    def target(self) -> Argument | None:
        """The argument that is the target: a shape, a permutation or axes; None without one."""
        return self.arguments[0] if self.arguments[0].kind is tuple else None


class Operator(Record):
    """The properties of an operator."""

    shape: AsFirst | Broadcast | Inferred | Given = Inferred()
    value: Value | None = None
    route: Route | None = None
    """The axis rule, for operators that work position by position along an axis."""
    move: Move | None = None
    """The mark rule, for operators that move elements along the marked axis."""
    takes: int | None = None
    """How many inputs are read by element; the others give only a type or a size. None for all."""
    alike: SizeRule | None = None
    """The check of sizes that inputs must share."""
    core: CoreCall | None = None
    """The core op; operators that have one are listed."""
    graphs: Graphs | None = None
    random: bool = False
    """Whether the output is random."""
    like: str = ""
    """The ONNX operator with the same shapes, for a contributed operator; otherwise empty."""

    @property
    def pointwise(self) -> bool:
        """Whether the operator is elementwise with broadcasting."""
        return self.route is batch.aligned and self.takes is None


def vector(array: Array | None) -> tuple[int, ...] | None:
    """Return an integer vector or scalar as a tuple; None for other arrays."""
    if array is None or array.ndim > 1 or array.dtype.kind != "i":
        return None
    return tuple(array.reshape(-1).tolist())


def constant(attributes: Attributes) -> Array | None:
    """Return the elements of a Constant node; None if they are many or not numbers."""
    for name, value in attributes.items():
        if name == "value":
            return elements(value)
        if name in ("value_int", "value_ints") and np.size(value) <= MOST_ELEMENTS:
            return np.array(value, np.int64)
        if name in ("value_float", "value_floats") and np.size(value) <= MOST_FLOATS:
            return np.array(value, np.float32)
    return None


def _quotient(_: Attributes, a: Array, b: Array) -> Array:
    """Return the quotient; integers are truncated towards 0."""
    if a.dtype.kind == "f":
        return a / b
    if not np.all(b):
        raise ValueError("integer division by 0")
    return np.asarray(np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))).astype(a.dtype)


def _remainder(attributes: Attributes, a: Array, b: Array) -> Array:
    if a.dtype.kind != "f" and not np.all(b):
        raise ValueError("integer division by 0")
    return np.asarray((np.fmod if attributes.get("fmod") else np.mod)(a, b))


def _gathered(attributes: Attributes, data: Array, indices: Array) -> Array:
    return np.take(data, indices.astype(np.int64), axis=attributes.get("axis", 0))


def _joined(attributes: Attributes, *parts: Array) -> Array:
    return np.concatenate(parts, axis=attributes.get("axis", 1))


def _sliced(attributes: Attributes, data: Array, *given: Array | None) -> Array:
    """Return a slice.

    Source: Slice; since opset 10 starts, ends, axes and steps are inputs.
    """
    if not given:
        given = tuple(np.array(attributes[name]) if name in attributes else None for name in ("starts", "ends", "axes"))
    starts, ends, axes, steps = (*given, None, None)[:4]
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


def _row(_: Attributes, start: Array, limit: Array, step: Array) -> Array:
    count = max(int(np.ceil((limit.item() - start.item()) / step.item())), 0)
    if count > MOST_ELEMENTS:
        raise ValueError("too many elements")
    return (start + np.arange(count) * step).astype(start.dtype)


def _filled(attributes: Attributes, shape: Array) -> Array:
    sizes = tuple(shape.tolist())
    value = elements(attributes["value"]) if "value" in attributes else np.zeros(1, np.float32)
    if value is None or min(sizes, default=0) < 0 or prod(sizes) > MOST_ELEMENTS:
        raise ValueError("too many elements")
    return np.full(sizes, value.item(), value.dtype)


def _extreme(function: Any) -> Value:
    return lambda _, *parts: np.asarray(function.reduce(np.broadcast_arrays(*parts)))


def _reduced(function: Any) -> Value:
    """Return the evaluator of a reduction.

    Its axes are an attribute in old opsets and an input in new ones.
    """

    def reduce(attributes: Attributes, data: Array, axes: Array | None = None) -> Array:
        reduced_axes = attributes.get("axes") if axes is None else tuple(axes.tolist())
        if not reduced_axes and attributes.get("noop_with_empty_axes"):
            return data
        keep_dims = bool(attributes.get("keepdims", 1))
        return np.asarray(function(data, axis=reduced_axes or None, keepdims=keep_dims)).astype(data.dtype)

    return reduce


def _split(attributes: Attributes, data: Array, sizes: Array | None = None) -> list[Array]:
    axis = attributes.get("axis", 0)
    lengths = attributes.get("split") if sizes is None else sizes.tolist()
    if lengths is None or sum(lengths) != data.shape[axis]:
        raise ValueError("parts of unknown sizes")
    return np.split(data, np.cumsum(lengths)[:-1].tolist(), axis=axis)


def _scattered(attributes: Attributes, data: Array, indices: Array, updates: Array) -> Array:
    if attributes.get("reduction", b"none") != b"none":
        raise ValueError("a reduction of updates")
    result = data.copy()
    result[tuple(np.moveaxis(indices, -1, 0))] = updates
    return result


def _summed_up(attributes: Attributes, data: Array, axis: Array) -> Array:
    if attributes.get("exclusive") or attributes.get("reverse"):
        raise ValueError("an exclusive or a reverse sum")
    return np.cumsum(data, axis=int(axis.item()), dtype=data.dtype)


def _clipped(attributes: Attributes, data: Array, least: Array | None = None, most: Array | None = None) -> Array:
    low, high = (attributes.get(name, bound) for name, bound in (("min", least), ("max", most)))
    return np.asarray(np.clip(data, low, high)).astype(data.dtype)


def _by(function: Any) -> Value:
    """Return the evaluator that applies a NumPy function to the inputs."""
    return lambda _, *parts: np.asarray(function(*parts))


def _like(function: Any) -> Value:
    """Return the evaluator that applies a NumPy function and keeps the element type."""
    return lambda _, data, *parts: np.asarray(function(data, *parts)).astype(data.dtype)


def count(_: Attributes, data: Array) -> Array:
    """Return the number of elements of a tensor."""
    return np.array(data.size, np.int64)


def _same_joined(node: Node, shapes: InputSizes, constants: Container[int], _: Extremes) -> str | None:
    """Return the first two inputs of a Concat whose sizes differ on another axis."""
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
        texts.append(f"{sizes[index]} in {kind}{brief(node.proto.input[index])}")
    return f"dim {axis} is {' and '.join(texts)}"


def _differing_axis(shapes: InputSizes, along: int) -> int | None:
    """Return the first axis, other than `along`, on which shapes differ.

    >>> _differing_axis([(1, 2), (3, 2)], 1), _differing_axis([(1, 2), (1, 4)], -1), _differing_axis([(1, 2), None], 1)
    (0, None, None)
    """
    known = [shape for shape in shapes if shape is not None]
    if len({*map(len, known)}) != 1 or not -len(known[0]) <= along < len(known[0]):
        return None
    differing = [axis for axis, sizes in enumerate(zip(*known, strict=True)) if len({*sizes}) > 1]
    return next((axis for axis in differing if axis != along % len(known[0])), None)


def picked(node: Node, shapes: InputSizes, _: Container[int], extremes: Extremes) -> str | None:
    """Return why indices do not fit their data, in a Gather or Scatter operator.

    Shapes are checked, and the indices themselves if they are known.
    """
    data, indices = (*shapes, None, None)[:2]
    if data is None or indices is None:
        return None
    kept, along, updates = node.attributes.get("batch_dims", 0), node.attributes.get("axis", 0), (*shapes, None)[2]
    error = None
    if node.op.endswith("Elements"):
        error = _outside(data, indices, along) or _unlike(updates, indices)
    elif node.op == "ScatterND":
        error = _unlike(updates, (*indices[:-1], *data[indices[-1] :]))
    elif prod(indices[:kept]) % (prod(data[:kept]) or 1):
        error = f"indices have a batch of {prod(indices[:kept])}, and data one of {prod(data[:kept])}"
    by_columns = node.op.endswith("ND")
    for axis, limits in enumerate(extremes(by_columns), kept if by_columns else along % len(data)):
        outside = [index for index in limits if not -data[axis] <= index < data[axis]]
        if outside and not error:
            error = f"index {outside[0]} is out of bounds for axis {axis} with size {data[axis]}"
    return error


def _unlike(updates: Sizes | None, wanted: Sizes) -> str | None:
    if updates is None or updates == wanted:
        return None
    return f"updates are {','.join(map(str, updates))}, and indices ask for {','.join(map(str, wanted))}"


def _outside(data: Sizes | None, indices: Sizes | None, axis: int) -> str | None:
    """Return on which axis other than `axis` indices are longer than their data.

    >>> _outside((1, 8), (2, 3), 1), _outside((2, 8), (2, 9), -1)
    ('indices have 2 on axis 0, and data 1', None)
    """
    if data is None or indices is None or len(data) != len(indices):
        return None
    for position, (size, most) in enumerate(zip(indices, data, strict=True)):
        if size > most and position != axis % len(data):
            return f"indices have {size} on axis {position}, and data {most}"
    return None


def _sharing(places_of: Callable[[Attributes], Places]) -> SizeRule:
    """Return the size rule of an operator whose inputs share a batch."""

    def rule(node: Node, shapes: InputSizes, _: Container[int], _extremes: Extremes) -> str | None:
        sizes: dict[str, int] = {}
        for name, index, axis in places_of(node.attributes):
            shape = shapes[index] if index < len(shapes) else None
            if shape is not None and axis < len(shape):
                sizes[name] = shape[axis]
        batch = sizes.get("X")
        for name, size in sizes.items():
            if batch is not None and size != batch:
                return f"{name} has a batch of {size}, and X one of {batch}"
        return None

    return rule


def _recurrent_places(attributes: Attributes) -> Places:
    first = bool(attributes.get("layout", 0))
    return [("X", 0, 0 if first else 1), *[(name, index, 0 if first else axis) for name, index, axis in STATES]]


def _matching(partners_of: Callable[[Attributes], tuple[tuple[int, int], tuple[int, int], int]]) -> SizeRule:
    """Return the size rule of an operator that contracts axes of two inputs."""

    def rule(node: Node, shapes: InputSizes, _: Container[int], _extremes: Extremes) -> str | None:
        (first, axis), (second, other), times = partners_of(node.attributes)
        one, two = (shapes[index] if index < len(shapes) else None for index in (first, second))
        if one is None or two is None or axis >= len(one) or other >= len(two) or one[axis] == two[other] * times:
            return None
        names = [brief(node.proto.input[index]) for index in (first, second)]
        required = f"{two[other]}*{times}" if times != 1 else two[other]
        return f"axis {axis} of {names[0]} is {one[axis]}, and {names[1]} takes {required}"

    return rule


MULTIPLIED = _matching(
    lambda attributes: ((0, 0 if attributes.get("transA") else 1), (1, 1 if attributes.get("transB") else 0), 1)
)
CONVOLVED = _matching(lambda attributes: ((0, 1), (1, 1), attributes.get("group", 1)))
CHANNELS = _matching(lambda _: ((0, 1), (1, 0), 1))


def _matrices(attributes: Attributes, shapes: InputSizes) -> InputSizes:
    """Return the shape of a matrix product; each matrix may be transposed.

    >>> _matrices({}, [(5, 2, 3), (1, 3, 4)]), _matrices({"transA": 1}, [(3, 2), (3, 4)])
    (((5, 2, 4),), ((2, 4),))
    >>> _matrices({}, [(2, 3), (2, 3)]), _matrices({"transBatchA": 1}, [(5, 2, 3), (5, 3, 4)])  # moves the batch
    ((None,), (None,))
    """
    first, second = shapes[0], shapes[1]
    moves_batch = attributes.get("transBatchA") or attributes.get("transBatchB")
    if first is None or second is None or moves_batch or min(len(first), len(second)) < 2:
        return (None,)
    rows, inner = first[-2:] if not attributes.get("transA") else first[:-3:-1]
    second_inner, columns = second[-2:] if not attributes.get("transB") else second[:-3:-1]
    leading = broadcast((first[:-2], second[:-2]))
    return (None if inner != second_inner or isinstance(leading, str) else (*leading, rows, columns),)


def _attended(_: Attributes, shapes: InputSizes) -> InputSizes:
    """Return the output shape of an attention.

    The heads of key and value may have an axis of their own.

    >>> _attended({}, [(2, 5, 8), (2, 6, 8), (2, 6, 16)]), _attended({}, [(2, 5, 8), (2, 4, 6, 2), (2, 4, 6, 3)])
    (((2, 5, 16),), ((2, 5, 12),))
    """
    query, value = shapes[0], shapes[2] if len(shapes) > 2 else None
    if query is None or value is None or len(query) != 3 or len(value) not in (3, 4):
        return (None,)
    return ((*query[:2], value[2] if len(value) == 3 else value[1] * value[3]),)


def _grouped(_: Attributes, shapes: InputSizes) -> InputSizes:
    """Return the output shape of a grouped-query attention.

    It is unknown if query, key and value are packed in one input.
    """
    packed = len(shapes) < 2 or shapes[1] is None
    return (None if packed else shapes[0],)


AS_FIRST, HANDS_ON = AsFirst(), Inferred(hands_on=True)
FIRST_ALONE = Given(lambda _, shapes: (shapes[0], None))
SKIPPED = Given(lambda _, shapes: (shapes[0], None, None, shapes[0]))
BROADCAST, BROADCAST_8, COMPARES = Broadcast(), Broadcast(8), Broadcast(compares=True)


def _axes(needed: bool) -> tuple[Argument, ...]:
    return (Argument("axes", "axes", input_since=13, needed=needed),)


BLOCKS = (Argument("block", "blocksize", int, default=0), Argument("mode", "mode", bytes))
RESHAPE = CoreCall(
    "reshape",
    (Argument("target", "shape", input_since=5, needed=True),),
    lambda array, shape, _: array.reshape(shape),
    reshapes,
    only_moves=True,
    switch="allowzero",
)
TRANSPOSE = CoreCall(
    "transpose",
    (Argument("perm", "perm"),),
    lambda array, _, arguments: np.transpose(array, arguments.get("perm")),
    only_moves=True,
)
SHAPE = CoreCall("shape", (Argument("start", "start", int), Argument("end", "end", int)), gives_sizes=True)
FLATTEN = CoreCall("flatten", (Argument("axis", "axis", int),), RESHAPE.elements, flattens, only_moves=True)
SQUEEZE = CoreCall("squeeze", _axes(needed=False), elements=RESHAPE.elements, only_moves=True)
UNSQUEEZE = CoreCall("unsqueeze", _axes(needed=True), RESHAPE.elements, only_moves=True)
EXPAND = CoreCall(
    "expand",
    (Argument("target", input_since=1, needed=True),),
    elements=lambda array, shape, _: np.broadcast_to(array, shape),
    fixes=expands,
    repeats=True,
)
TILE = CoreCall(
    "tile",
    (Argument("repeats", input_since=6, needed=True),),
    lambda array, _, arguments: np.tile(array, arguments["repeats"]),
    repeats=True,
)
DEPTH_TO_SPACE, SPACE_TO_DEPTH = CoreCall("depth_to_space", BLOCKS), CoreCall("space_to_depth", BLOCKS)


def _rows(rows: Mapping[str, Operator]) -> dict[str, Operator]:
    """Return the table by operator name; a key lists names that share an entry."""
    return {name: row for names, row in rows.items() for name in names.split()}


AS_FIRST_POINTWISE = """
    Acos Acosh Asin Asinh Atan Atanh Celu Cos Cosh Elu Erf Exp Gelu HardSigmoid HardSwish LeakyRelu Log Mish Relu
    Selu Shrink Sigmoid Sin Sinh Softplus Softsign Swish Tan Tanh ThresholdedRelu
"""
OF_ONE = {"Abs": np.abs, "Ceil": np.ceil, "Floor": np.floor, "Neg": np.negative, "Reciprocal": np.reciprocal}
OF_ONE |= {"Round": np.rint, "Sign": np.sign, "Sqrt": np.sqrt}
"""NumPy's unary functions by operator."""
COMPARED: dict[str, Any] = {"And": np.logical_and, "Equal": np.equal, "Greater": np.greater, "Or": np.logical_or}
COMPARED |= {"GreaterOrEqual": np.greater_equal, "Less": np.less, "LessOrEqual": np.less_equal}
"""NumPy's binary functions that return booleans, by operator."""
OWN = _rows(
    {
        **{name: Operator(AS_FIRST, _like(function), route=batch.aligned) for name, function in OF_ONE.items()},
        **{name: Operator(COMPARES, _by(function), route=batch.aligned) for name, function in COMPARED.items()},
        AS_FIRST_POINTWISE: Operator(AS_FIRST, route=batch.aligned),
        "Add": Operator(BROADCAST, _like(np.add), route=batch.aligned),
        "AffineGrid MaxUnpool STFT": Operator(route=batch.every_input(0)),
        "ArgMax ArgMin": Operator(HANDS_ON, route=batch.largest),
        "Attention DeformConv RotaryEmbedding": Operator(route=batch.every_input(0)),
        "AveragePool GlobalAveragePool GlobalMaxPool MaxPool": Operator(HANDS_ON, route=batch.first_input(0, 1)),
        "BatchNormalization": Operator(route=batch.batch_normalized, alike=CHANNELS),
        "Bernoulli Multinomial RandomNormalLike RandomUniform RandomUniformLike": Operator(random=True),
        "BitCast BitShift BitwiseNot Dropout IsInf IsNaN PRelu": Operator(route=batch.aligned),
        "BitwiseAnd BitwiseOr BitwiseXor": Operator(BROADCAST, route=batch.aligned),
        "Cast": Operator(HANDS_ON, lambda attributes, data: data.astype(KINDS[attributes["to"]]), route=batch.aligned),
        "CastLike": Operator(value=lambda _, data, like: data.astype(like.dtype), route=batch.aligned, takes=1),
        "CenterCropPad": Operator(route=batch.resized),
        "Clip": Operator(AS_FIRST, _clipped, route=batch.aligned),
        "Col2Im": Operator(route=batch.first_input(0)),
        "Concat": Operator(value=_joined, move=batch.join_mark, alike=_same_joined),
        "Constant": Operator(value=constant),
        "ConstantOfShape": Operator(value=_filled, takes=0),
        "Conv": Operator(HANDS_ON, route=batch.convolved(), alike=CONVOLVED),
        "ConvInteger": Operator(route=batch.convolved()),
        "ConvTranspose": Operator(HANDS_ON, route=batch.first_input(0), alike=CHANNELS),
        "CumProd": Operator(route=batch.mixing(batch.axis_read)),
        "CumSum": Operator(AS_FIRST, _summed_up, route=batch.mixing(batch.axis_read)),
        "DepthToSpace": Operator(route=batch.first_input(0), core=DEPTH_TO_SPACE),
        "DequantizeLinear QuantizeLinear": Operator(route=batch.mixing(slice(0, 0))),
        "Det Trilu": Operator(route=batch.mixing(slice(-2, None))),
        "Div": Operator(BROADCAST, _quotient, route=batch.aligned),
        "Einsum": Operator(route=batch.summed),
        "Expand": Operator(move=batch.repeat_mark, core=EXPAND),
        "EyeLike": Operator(takes=0),
        "Flatten": Operator(move=batch.reshape_mark, core=FLATTEN),
        "GRU LSTM RNN": Operator(route=batch.recurrent, alike=_sharing(_recurrent_places)),
        "Gather": Operator(value=_gathered, move=batch.gather_mark, alike=picked),
        "GatherElements": Operator(route=batch.elements_along(1), alike=picked),
        "GatherND": Operator(move=batch.gather_nd_mark, alike=picked),
        "Gemm": Operator(HANDS_ON, route=batch.gemm, alike=MULTIPLIED),
        "GlobalLpPool LpPool": Operator(route=batch.first_input(0, 1)),
        "GridSample": Operator(route=batch.every_input(0), alike=_sharing(lambda _: [("X", 0, 0), ("grid", 1, 0)])),
        "GroupNormalization": Operator(AS_FIRST, route=batch.first_input(0)),
        "Hardmax LogSoftmax Softmax": Operator(AS_FIRST, route=batch.mixing(batch.softmax_axes)),
        "Identity": Operator(AS_FIRST, lambda _, data: data, route=batch.aligned),
        "If": Operator(graphs=Graphs.IF),
        "InstanceNormalization": Operator(AS_FIRST, route=batch.first_input(0, 1)),
        "LRN": Operator(AS_FIRST, route=batch.mixing(slice(1, 2))),
        "LayerNormalization": Operator(HANDS_ON, route=batch.mixing(batch.axes_behind)),
        "Loop": Operator(graphs=Graphs.LOOP),
        "LpNormalization": Operator(AS_FIRST, route=batch.mixing(batch.axis_given)),
        "MatMul": Operator(HANDS_ON, route=batch.multiplied()),
        "MatMulInteger": Operator(route=batch.multiplied()),
        "Max": Operator(BROADCAST_8, _extreme(np.maximum), route=batch.aligned),
        "Mean": Operator(BROADCAST_8, route=batch.aligned),
        "MeanVarianceNormalization": Operator(AS_FIRST, route=batch.mixing(batch.axes_given)),
        "Min": Operator(BROADCAST_8, _extreme(np.minimum), route=batch.aligned),
        "Mod": Operator(BROADCAST, _remainder, route=batch.aligned),
        "Mul": Operator(BROADCAST, _like(np.multiply), route=batch.aligned),
        "NonZero": Operator(value=lambda _, data: np.array(np.nonzero(np.atleast_1d(data)), np.int64)),
        "Not": Operator(AS_FIRST, _by(np.logical_not), route=batch.aligned),
        "OneHot": Operator(route=batch.one_hot),
        "Pad": Operator(HANDS_ON, route=batch.padded),
        "Pow": Operator(BROADCAST, _like(lambda a, b: np.power(a.astype(np.float64), b)), route=batch.aligned),
        "QLinearConv": Operator(route=batch.convolved(3)),
        "QLinearMatMul": Operator(route=batch.multiplied(3)),
        "RMSNormalization": Operator(route=batch.mixing(batch.axes_behind)),
        "RandomNormal": Operator(random=True),
        "Range": Operator(value=_row),
        "ReduceL1 ReduceLogSum ReduceLogSumExp ReduceSumSquare": Operator(route=batch.reduced),
        "ReduceL2 ReduceMean": Operator(HANDS_ON, route=batch.reduced),
        "ReduceMax": Operator(HANDS_ON, _reduced(np.max), route=batch.reduced),
        "ReduceMin": Operator(HANDS_ON, _reduced(np.min), route=batch.reduced),
        "ReduceProd": Operator(value=_reduced(np.prod), route=batch.reduced),
        "ReduceSum": Operator(HANDS_ON, _reduced(np.sum), route=batch.reduced),
        "Reshape": Operator(move=batch.reshape_mark, core=RESHAPE),
        "Resize Upsample": Operator(HANDS_ON, route=batch.resized),
        "ReverseSequence": Operator(route=batch.reverse_sequence),
        "Scan": Operator(graphs=Graphs.SCAN),
        "Scatter ScatterElements": Operator(route=batch.elements_along(0), alike=picked),
        "ScatterND": Operator(value=_scattered, move=batch.scatter_nd_mark, alike=picked),
        "Shape": Operator(takes=0, core=SHAPE),
        "SimplifiedLayerNormalization": Operator(FIRST_ALONE, route=batch.mixing(batch.axes_behind)),
        "Size": Operator(value=count, takes=0),
        "Slice": Operator(HANDS_ON, _sliced, move=batch.slice_mark),
        "SpaceToDepth": Operator(route=batch.first_input(0), core=SPACE_TO_DEPTH),
        "Split": Operator(HANDS_ON, _split, move=batch.split_mark),
        "Squeeze": Operator(move=batch.reshape_mark, core=SQUEEZE),
        "Sub": Operator(BROADCAST, _like(np.subtract), route=batch.aligned),
        "Sum": Operator(BROADCAST_8, _extreme(np.add), route=batch.aligned),
        "Tile": Operator(move=batch.repeat_mark, core=TILE),
        "TopK": Operator(HANDS_ON, route=batch.mixing(batch.axis_given)),
        "Transpose": Operator(route=batch.transposed, core=TRANSPOSE),
        "Unsqueeze": Operator(move=batch.reshape_mark, core=UNSQUEEZE),
        "Where": Operator(BROADCAST, _by(np.where), route=batch.aligned),
        "Xor": Operator(COMPARES, route=batch.aligned),
    }
)
"""ONNX's own operators."""
CONTRIBUTED = _rows(
    {
        "BiasGelu FastGelu Gelu QuickGelu": Operator(AS_FIRST, route=batch.aligned),
        "FusedConv": Operator(route=batch.convolved(), like="Conv"),
        "FusedMatMul": Operator(Given(_matrices), route=batch.multiplied()),
        "GroupQueryAttention": Operator(Given(_grouped), route=batch.every_input(0)),
        "MultiHeadAttention": Operator(Given(_attended), route=batch.every_input(0)),
        "RotaryEmbedding": Operator(AS_FIRST, route=batch.every_input(0)),
        "SkipLayerNormalization SkipSimplifiedLayerNormalization": Operator(SKIPPED, route=batch.every_input(0)),
    }
)
"""The operators that ONNX Runtime contributes."""
OPERATORS = {"": OWN, "com.microsoft": CONTRIBUTED}
"""The table by domain and operator name."""
LISTED = {name: row.core for name, row in OWN.items() if row.core is not None}
"""The core ops of listed operators."""
RANDOM = {name for name, row in OWN.items() if row.random}
UNKNOWN = Operator()


def operator_of(node: Node | NodeAtSize) -> Operator:
    """Return the entry of a node's operator, or the default entry."""
    return OPERATORS.get(node.domain, {}).get(node.op, UNKNOWN)


def value_of(row: Operator, attributes: Attributes, arrays: Sequence[Array | None]) -> list[Array] | None:
    """Return a node's outputs if they are small; None if they are unknown.

    Raises `IndexError` for an index that the operator refuses.
    """
    assert row.value is not None
    try:
        with np.errstate(all="ignore"):
            result = row.value(attributes, *arrays)
    except IndexError:
        raise
    except (ValueError, TypeError, KeyError, ArithmeticError, AttributeError, RuntimeError):
        return None
    outputs = result if isinstance(result, list) else [result]
    return None if any(array.size > MOST_ELEMENTS or array.dtype.hasobject for array in outputs) else outputs


def graphs_of(node: Node) -> Graphs | None:
    """Return how a node runs its subgraphs.

    None if that is unknown or if the node calls a function.
    """
    row = OWN.get(node.op)
    return row.graphs if row and not node.calls else None

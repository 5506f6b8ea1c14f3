"""Values: what operators make of small tensors, with which exporters compute shapes.

Each function of `VALUES` is called with a node's attributes and its inputs as NumPy arrays (None for one left out),
and returns its first output, or a list of all. It raises `IndexError` for an index that its operator refuses, and
other errors for what it does not know. Source: the ONNX operator documents, by the operators' names.
"""

from __future__ import annotations

from math import prod
from struct import unpack

import numpy as np

from shapecalc.models.element_kinds import INT64, KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Array = np.ndarray[Any, Any]
    Attributes = Mapping[str, Any]
    Value = Callable[..., Any]

MOST_ELEMENTS = 4096
"""How many elements a tensor has at most if its elements are followed."""
MOST_NUMBERS = 10_000
"""How many numbers a constant target has at most."""
MOST_FLOATS = 64
"""How many a constant of floats has: scales and sizes have a handful, weights more."""
TYPES = {number: (np.dtype(kind).newbyteorder("<"), np.dtype(kind)) for number, kind in KINDS.items()}
"""The element types of NumPy, as elements lie in a file and as they are computed with."""
FIELDS = {1: "float_data", 11: "double_data", 7: "int64_data", 13: "uint64_data", 12: "uint64_data"}
"""The field of a tensor that holds its elements if `raw_data` does not, by element type; others use `int32_data`."""


def elements(proto: Any) -> Array | None:
    """Return the elements of a TensorProto; None if they are many, not numbers, or not in it."""
    number, shape = proto.data_type, tuple(proto.dims)
    if number not in TYPES or len(shape) > 8 or min(shape, default=0) < 0:
        return None
    written, kind = TYPES[number]
    count = prod(shape)
    if count > (MOST_ELEMENTS if kind.kind in "iub" else MOST_FLOATS):
        return None
    if proto.HasField("raw_data"):
        raw = proto.raw_data
        found = np.frombuffer(raw, written) if len(raw) == count * kind.itemsize else None
    else:
        found = _typed(getattr(proto, FIELDS.get(number, "int32_data")), KINDS[number])
    return None if found is None or found.size != count else found.astype(kind, copy=False).reshape(shape)


def whole_numbers(proto: Any) -> tuple[int, ...] | None:
    """Return the numbers of a tensor of int64 that is a vector or a scalar; None of any other."""
    count = prod(proto.dims)
    if proto.data_type != INT64 or len(proto.dims) > 1 or not 0 <= count <= MOST_NUMBERS:
        return None
    raw = proto.raw_data
    if not raw:
        found = tuple(proto.int64_data)
        return found if len(found) == count else None
    return unpack(f"<{count}q", raw) if len(raw) == 8 * count else None


def vector(array: Array | None) -> tuple[int, ...] | None:
    """Return the numbers of an array of integers that is a vector or a scalar; None of any other."""
    if array is None or array.ndim > 1 or array.dtype.kind != "i":
        return None
    return tuple(array.reshape(-1).tolist())


def _typed(numbers: Any, kind: str) -> Array:
    """Return numbers that are written one by one; those of half floats are written as their bits."""
    if kind == "float16":
        return np.array(numbers, np.uint16).view(np.float16)
    return np.array(numbers).astype(kind)


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
    """Return the quotient; that of whole numbers is cut off towards 0."""
    if a.dtype.kind == "f":
        return a / b
    if not np.all(b):
        raise ValueError("a whole number is divided by 0")
    return np.asarray(np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))).astype(a.dtype)


def _remainder(attributes: Attributes, a: Array, b: Array) -> Array:
    if a.dtype.kind != "f" and not np.all(b):
        raise ValueError("a whole number is divided by 0")
    return np.asarray((np.fmod if attributes.get("fmod") else np.mod)(a, b))


def _gathered(attributes: Attributes, data: Array, indices: Array) -> Array:
    return np.take(data, indices.astype(np.int64), axis=attributes.get("axis", 0))


def _joined(attributes: Attributes, *parts: Array) -> Array:
    return np.concatenate(parts, axis=attributes.get("axis", 1))


def _sliced(attributes: Attributes, data: Array, *given: Array | None) -> Array:
    """Return a slice. Source: Slice; since opset 10 starts, ends, axes and steps are inputs."""
    if not given:
        given = tuple(np.array(attributes[name]) if name in attributes else None for name in ("starts", "ends", "axes"))
    starts, ends, axes, steps = (*given, None, None)[:4]
    if starts is None or ends is None:
        raise ValueError("no starts or no ends")
    which = range(len(starts)) if axes is None else axes.tolist()
    strides = [1] * len(starts) if steps is None else steps.tolist()
    places: list[Any] = [slice(None)] * data.ndim
    for axis, start, end, step in zip(which, starts.tolist(), ends.tolist(), strides, strict=True):
        size = data.shape[axis]
        if step < 0 and start < -size:
            raise ValueError("a start in front of the first element")
        low = end + size if -size <= end < 0 else end
        places[axis] = slice(start, None if step < 0 and low < 0 else end, step)
    return np.asarray(data[tuple(places)])


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


def _cast(attributes: Attributes, data: Array) -> Array:
    return data.astype(KINDS[attributes["to"]])


def _extreme(function: Any) -> Value:
    return lambda _, *parts: np.asarray(function.reduce(np.broadcast_arrays(*parts)))


def _reduced(function: Any) -> Value:
    """Return what reduces over axes, which are an attribute in old versions and an input in new ones."""

    def reduce(attributes: Attributes, data: Array, axes: Array | None = None) -> Array:
        chosen = attributes.get("axes") if axes is None else tuple(axes.tolist())
        if not chosen and attributes.get("noop_with_empty_axes"):
            return data
        return np.asarray(function(data, axis=chosen or None, keepdims=bool(attributes.get("keepdims", 1)))).astype(
            data.dtype
        )

    return reduce


def _split(attributes: Attributes, data: Array, sizes: Array | None = None) -> list[Array]:
    axis = attributes.get("axis", 0)
    lengths = attributes.get("split") if sizes is None else sizes.tolist()
    if lengths is None or sum(lengths) != data.shape[axis]:
        raise ValueError("parts of unknown sizes")
    return np.split(data, np.cumsum(lengths)[:-1].tolist(), axis=axis)


def _scattered(attributes: Attributes, data: Array, indices: Array, updates: Array) -> Array:
    if attributes.get("reduction", b"none") != b"none":
        raise ValueError("updates that are combined")
    made = data.copy()
    made[tuple(np.moveaxis(indices, -1, 0))] = updates
    return made


def _summed_up(attributes: Attributes, data: Array, axis: Array) -> Array:
    if attributes.get("exclusive") or attributes.get("reverse"):
        raise ValueError("sums of another kind")
    return np.cumsum(data, axis=int(axis.item()), dtype=data.dtype)


def _clipped(attributes: Attributes, data: Array, least: Array | None = None, most: Array | None = None) -> Array:
    low, high = (attributes.get(name, given) for name, given in (("min", least), ("max", most)))
    return np.asarray(np.clip(data, low, high)).astype(data.dtype)


def _raised(_: Attributes, a: Array, b: Array) -> Array:
    return np.power(a.astype(np.float64), b).astype(a.dtype)


def _by(function: Any) -> Value:
    """Return what applies a function of NumPy to the inputs."""
    return lambda _, *parts: np.asarray(function(*parts))


def _like(function: Any) -> Value:
    """Return what applies a function of NumPy, and keeps the element type."""
    return lambda _, data, *parts: np.asarray(function(data, *parts)).astype(data.dtype)


VALUES: dict[str, Value] = {
    "Identity": lambda _, data: data,
    "Cast": _cast,
    "CastLike": lambda _, data, like: data.astype(like.dtype),
    "Gather": _gathered,
    "Concat": _joined,
    "Slice": _sliced,
    "Split": _split,
    "Range": _row,
    "ConstantOfShape": _filled,
    "Size": lambda _, data: np.array(data.size, np.int64),
    "Add": _like(np.add),
    "Sub": _like(np.subtract),
    "Mul": _like(np.multiply),
    "Div": _quotient,
    "Mod": _remainder,
    "Pow": _raised,
    "Neg": _like(np.negative),
    "Abs": _like(np.abs),
    "Sign": _like(np.sign),
    "Sqrt": _like(np.sqrt),
    "Floor": _like(np.floor),
    "Ceil": _like(np.ceil),
    "Round": _like(np.rint),
    "Reciprocal": _like(np.reciprocal),
    "Clip": _clipped,
    "Min": _extreme(np.minimum),
    "Max": _extreme(np.maximum),
    "Sum": _extreme(np.add),
    "Equal": _by(np.equal),
    "Greater": _by(np.greater),
    "GreaterOrEqual": _by(np.greater_equal),
    "Less": _by(np.less),
    "LessOrEqual": _by(np.less_equal),
    "And": _by(np.logical_and),
    "Or": _by(np.logical_or),
    "Not": _by(np.logical_not),
    "Where": _by(np.where),
    "ReduceProd": _reduced(np.prod),
    "ReduceSum": _reduced(np.sum),
    "ReduceMax": _reduced(np.max),
    "ReduceMin": _reduced(np.min),
    "NonZero": lambda _, data: np.array(np.nonzero(data), np.int64),
    "ScatterND": _scattered,
    "CumSum": _summed_up,
}


def value_of(op: str, attributes: Attributes, arrays: list[Array | None]) -> list[Array] | None:
    """Return a node's outputs if they are small; None if they are not known.

    Raises `IndexError` for an index that the operator refuses.
    """
    function = VALUES[op]
    try:
        with np.errstate(all="ignore"):
            found = function(attributes, *arrays)
    except IndexError:
        raise
    except (ValueError, TypeError, KeyError, ArithmeticError, AttributeError, RuntimeError):
        return None
    outputs = found if isinstance(found, list) else [found]
    return None if any(each.size > MOST_ELEMENTS for each in outputs) else outputs

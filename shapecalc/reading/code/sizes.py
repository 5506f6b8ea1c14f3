"""Evaluate functions that return sizes or create tensors."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, isfinite, isnan, nan

from shapecalc.core.dims import Shape, product
from shapecalc.core.limits import MAX_SHAPE_DIMS
from shapecalc.core.record import replace
from shapecalc.reading.code.arguments import Call
from shapecalc.reading.code.arithmetic import apply_binary_operator, get_item, square_root
from shapecalc.reading.code.kinds import ANY_KIND, promote_kinds
from shapecalc.reading.code.list_functions import triangle_indices_shape
from shapecalc.reading.code.values import (
    UNKNOWN_ELEMENT,
    UNKNOWN_INTEGER,
    CodeList,
    CodeValue,
    TracedTensor,
    is_dim,
    is_integer,
    kinds_of,
)
from shapecalc.reading.preserving import CAST, ELEMENTWISE


def _evaluate_shape(value: CodeValue, call: Call) -> CodeValue:
    """Return the shape of a tensor, or its size along the axis of the call."""
    if not isinstance(value, TracedTensor):
        raise call.error(f"{call.name} works on the tensor only")
    (axis,) = call.bind_arguments("dim/axis")
    return value.shape if axis is None else value.shape[call.to_axis(value, axis)]


def _evaluate_strides(value: CodeValue, call: Call) -> CodeValue:
    """Return the strides of a tensor, or its stride along the axis of the call.

    An unknown stride is nan.
    """
    if not isinstance(value, TracedTensor):
        raise call.error(f"{call.name} works on the tensor only")
    (axis,) = call.bind_arguments("dim")
    strides: tuple[CodeValue, ...] = (nan,) * value.rank if value.strides is None else value.strides
    return strides if axis is None else strides[call.to_axis(value, axis)]


def require_dims(value: CodeValue, call: Call) -> Shape:
    """Return the shape of a tensor, or a shape unchanged."""
    dims = value.shape if isinstance(value, TracedTensor) else value
    if not isinstance(dims, tuple) or not all(map(is_dim, dims)):
        raise call.error(f"{call.name} works on a shape or on the tensor only")
    return dims  # type: ignore[return-value]


def _require_size(value: CodeValue, call: Call) -> CodeValue:
    """Return a value that is a size or a tuple.

    Raises `ShapeError` (usage) for any other value.
    """
    if isinstance(value, tuple) or is_dim(value):
        return value
    if isinstance(value, TracedTensor) and call.name in ("int", "floor"):
        return replace(
            value.apply_shape_preserving(CAST if call.name == "int" else ELEMENTWISE),
            extremes=value.extremes,
        )
    not_square = "a root needs a square number, and a size is whole"
    raise call.error(not_square if isinstance(value, float) else f"{call.name} works on sizes only")


def _convert_to_list(value: CodeValue, call: Call) -> CodeValue:
    """Return the elements of a tensor as nested lists of unknown numbers, or a shape unchanged."""
    if not isinstance(value, TracedTensor):
        return value
    count = product(value.shape)
    if not isinstance(count, int) or count > MAX_SHAPE_DIMS:
        raise call.error("how many values there are is not known", "give sizes with --where")
    return _nested_list(value.shape, _unknown_element(value))


def _unknown_element(tensor: TracedTensor) -> float:
    """Return a new unknown number that represents an element of a tensor."""
    return UNKNOWN_INTEGER if tensor.kinds == "i" else UNKNOWN_ELEMENT


def _nested_list(shape: Shape, item: float) -> CodeValue:
    """Return nested lists of the number `item` with the given lengths."""
    if not shape:
        return item
    count = shape[0] if isinstance(shape[0], int) else 0
    return CodeList([_nested_list(shape[1:], item) for _ in range(count)])


SIZE_FUNCTIONS: dict[str, Callable[[CodeValue, Call], CodeValue]] = {
    **dict.fromkeys(("size", "shape", "get_shape"), _evaluate_shape),
    "stride": _evaluate_strides,
    "tolist": _convert_to_list,
    **dict.fromkeys(("as_list", "int", "tuple", "list", "Size", "TensorShape", "floor"), _require_size),
    "len": lambda value, call: (
        get_item(value.shape, 0, call.error) if isinstance(value, TracedTensor) else len(require_dims(value, call))
    ),
    **dict.fromkeys(
        ("sqrt", "isqrt"),
        lambda value, _: (
            value.apply_shape_preserving(ELEMENTWISE) if isinstance(value, TracedTensor) else square_root(value)
        ),
    ),
    **dict.fromkeys(("PRNGKey", "default_rng", "Generator", "device", "finfo", "iinfo"), lambda *_: nan),
    **dict.fromkeys(("dim", "ndimension", "rank"), lambda value, call: len(require_dims(value, call))),
    **dict.fromkeys(("numel", "nelement"), lambda value, call: product(require_dims(value, call))),
    "item": lambda value, _: _unknown_element(value) if isinstance(value, TracedTensor) else nan,
    **dict.fromkeys(("equal", "allclose", "is_same_size", "is_nonzero", "is_signed"), lambda *_: nan),
    **dict.fromkeys(("is_floating_point", "is_complex", "is_contiguous", "get_device"), lambda *_: nan),
}
"""Evaluators of functions that return sizes or shapes, such as `len` and `numel`, keyed by function name."""


def _requested_shape(call: Call) -> Shape:
    """Return the shape argument of a creation function.

    The shape is a tuple, a keyword argument, or one positional argument per dim.
    """
    named = [call.keywords[name] for name in ("size", "shape") if name in call.keywords]
    listed = next((value for value in (*named, *call.positional) if isinstance(value, tuple)), None)
    if listed == () and (named or call.positional[0] == ()):
        return ()
    requested = tuple(named) if listed is None else listed
    if (
        not requested
        and call.name in ("full", "randint", "integers", "normal", "uniform")
        and () not in call.positional
    ):
        raise call.error(f"{call.name} needs the shape in a tuple")
    return tuple([call.to_dim(dim) for dim in requested or call.positional])


def _arange_shape(call: Call) -> Shape:
    start, stop, step = call.bind_arguments("start/end/stop", "stop/end", "step")
    start, stop = (0, start) if stop is None else (start, stop)
    numbers = (start, stop, 1 if step is None else step)
    if all(isinstance(number, int | float) for number in numbers) and any(isinstance(one, float) for one in numbers):
        if call.program is not None and any(isnan(number) for number in numbers):  # type: ignore[arg-type]
            return (call.program.data_dependent_size(nan),)
        if not all(isfinite(number) for number in numbers) or not numbers[2]:  # type: ignore[arg-type]
            raise call.error("the number of steps is not known")
        return (max(0, ceil((stop - start) / numbers[2])),)  # type: ignore[operator]  # they are numbers
    length = apply_binary_operator(call.to_dim(stop), "-", call.to_dim(start), call.error, call.program)
    count = call.to_integer(numbers[2])
    if count == 0:
        raise call.error("the step is 0")
    if isinstance(length, int):
        return (max(0, -(-length // count)),)
    if count < 1 or not is_dim(length) or (count > 1 and call.program is None):
        raise call.error("the number of steps is not known", "give sizes with --where")
    return (length if count == 1 else call.program.floor_dim([length, count - 1], count, 0),)  # type: ignore[union-attr]


def _linspace_shape(call: Call) -> Shape:
    *_, steps = call.bind_arguments("start", "end/stop", "steps/num")
    return (call.to_dim(50 if steps is None and call.name == "linspace" else steps),)


def _eye_shape(call: Call) -> Shape:
    rows, columns = call.bind_arguments("n/N", "m/M")
    return call.to_dim(rows), call.to_dim(rows if columns is None else columns)


def _real_frequencies_shape(call: Call) -> Shape:
    size, _ = call.bind_arguments("n", "d")
    if call.program is None:
        raise call.error("the number of frequencies is not known")
    return (call.program.floor_dim((call.to_dim(size),), 2, 1),)


WINDOW_FUNCTIONS = ("hann_window", "hamming_window", "bartlett_window", "blackman_window", "kaiser_window")
CREATION_FUNCTIONS: dict[str, Callable[[Call], Shape]] = {
    **dict.fromkeys(
        ("zeros", "ones", "empty", "full", "rand", "randn", "random", "randint", "normal"), _requested_shape
    ),
    "arange": _arange_shape,
    **dict.fromkeys(("linspace", "logspace"), _linspace_shape),
    "eye": _eye_shape,
    "randperm": lambda call: (call.to_dim(call.positional[0] if call.positional else None),),
    "scalar_tensor": lambda _: (),
    **dict.fromkeys(("fft.fftfreq",), lambda call: (call.to_dim(call.bind_arguments("n", "d")[0]),)),
    "fft.rfftfreq": _real_frequencies_shape,
    **dict.fromkeys(WINDOW_FUNCTIONS, lambda call: (call.to_dim(call.positional[0]),)),
    **dict.fromkeys(("tril_indices", "triu_indices"), triangle_indices_shape),
}
"""Functions that compute the shape of a created tensor, keyed by the name of the creation function."""


def created_elements(call: Call) -> tuple[str, tuple[int, int] | None]:
    """Return the possible kinds of the tensor that a call creates, and its smallest and largest element if known."""
    if call.name in ("zeros", "ones"):
        value = int(call.name == "ones")
        return "f", (value, value)
    if call.name in ("randint", "integers", "tril_indices", "triu_indices"):
        return "i", None
    if call.name == "randperm":
        (count,) = CREATION_FUNCTIONS[call.name](call)
        return "i", (0, count - 1) if isinstance(count, int) else None
    if call.name == "full":
        rest = [value for value in call.positional if not isinstance(value, tuple)]
        fill = call.keywords.get("fill_value", rest[-1] if rest else nan)
        return kinds_of(fill) or ANY_KIND, (fill, fill) if is_integer(fill) else None
    if call.name != "arange":
        return "f", None
    start, stop, step = call.bind_arguments("start/end/stop", "stop/end", "step")
    start, stop, step = 0 if stop is None else start, start if stop is None else stop, 1 if step is None else step
    (length,) = _arange_shape(call)
    kinds = promote_kinds([kinds_of(number) or ANY_KIND for number in (start, stop, step)])
    if not (is_integer(start) and is_integer(step) and is_integer(length)) or kinds != "i":
        return kinds, None
    ends = (start, start + step * (length - 1))
    return kinds, (min(ends), max(ends))


def require_created_size(created: TracedTensor, call: Call) -> None:
    """Raise `CheckRefused` if PyTorch cannot create a tensor of this size."""
    if any(isinstance(dim, int) and dim < 0 for dim in created.shape):
        raise call.refusal("a size is not negative")
    if call.name != "arange" or not created.conventions.torch_checks:
        return
    start, stop, step = call.bind_arguments("start/end/stop", "stop/end", "step")
    start, stop, step = 0 if stop is None else start, start if stop is None else stop, 1 if step is None else step
    numbers = [number for number in (start, stop, step) if isinstance(number, int | float)]
    if len(numbers) == 3 and (numbers[1] - numbers[0]) * numbers[2] < 0:
        raise call.refusal(f"steps of {step} do not lead from {start} to {stop}")

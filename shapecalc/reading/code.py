"""Abstract interpretation of PyTorch, NumPy, TensorFlow and JAX code as chains.

The code is parsed but never executed: tensors have shapes instead of data. A chain is an input shape and a sequence of
stages. Each stage is a request for an op, and its input is the output of the previous stage. A rule of a dialect can
refuse a request, as PyTorch refuses `view(5)` of six elements.
"""

from __future__ import annotations

import ast
import io
import operator
import re
import tokenize
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from math import isqrt, nan
from textwrap import dedent
from types import EllipsisType
from typing import TypeAlias, TypeGuard

from shapecalc.core.answers import CHAIN_TENSOR, EMPTY_DICT, Trace
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import ParamType
from shapecalc.core.dims import Dim, Monomial, Shape, dim_names, named_dim, product, quotient, substitute
from shapecalc.core.layout import contiguous_strides
from shapecalc.core.limits import MAX_CODE_LENGTH, MAX_DIM_TEXT_LENGTH, MAX_SHAPE_DIMS, MAX_STATEMENTS
from shapecalc.core.ops import OPS
from shapecalc.core.ops.broadcast import BROADCAST
from shapecalc.core.ops.calls import argument_names, calls_by_name, find_call
from shapecalc.core.ops.expand import EXPAND
from shapecalc.core.ops.flatten import FLATTEN
from shapecalc.core.ops.matmul import MATMUL
from shapecalc.core.ops.moveaxis import MOVEAXIS
from shapecalc.core.ops.op import Op, operator_of
from shapecalc.core.ops.pad import PAD
from shapecalc.core.ops.rearrange import REARRANGE, RearrangePlan, axis_lengths, plan_rearrange
from shapecalc.core.ops.repeat_interleave import REPEAT_INTERLEAVE
from shapecalc.core.ops.reshape import RESHAPE
from shapecalc.core.ops.select import SELECT
from shapecalc.core.ops.slice import SLICE
from shapecalc.core.ops.split import SPLIT, part_count
from shapecalc.core.ops.squeeze import SQUEEZE
from shapecalc.core.ops.strides import (
    elementwise_strides,
    expand_strides,
    format_strides,
    has_format,
    is_contiguous,
    strides_after_trace,
    strides_after_traces,
    suggests_channels_last,
)
from shapecalc.core.ops.swapaxes import SWAPAXES
from shapecalc.core.ops.tile import TILE
from shapecalc.core.ops.transpose import TRANSPOSE
from shapecalc.core.ops.unsqueeze import UNSQUEEZE, UNSQUEEZE_SEMANTICS
from shapecalc.core.ops.view import VIEW
from shapecalc.core.problem import ShapeError, usage_error
from shapecalc.core.record import Record, replace
from shapecalc.core.requests import StageRequest, check_size_names, lookup_dialect, make_request
from shapecalc.core.resolve import resolve
from shapecalc.core.text import SIZE_BOUND, escape_unprintable, parse_dims, shape_text, truncate
from shapecalc.reading.commands import COMPOSITE_OPS, expand_composite, parse_stage
from shapecalc.reading.layers import LAYERS, MULTI_OPERAND_FUNCTIONS
from shapecalc.reading.pattern import Matcher, ShapePattern, parse_pattern
from shapecalc.reading.preserving import (
    CAST,
    CAST_TYPES,
    CASTING_FUNCTIONS,
    ELEMENTWISE,
    PRESERVING_FUNCTIONS,
    SAME_STRIDES,
    SAME_TENSOR,
    PreservingFunction,
    find_preserving_layer,
)

CodeValue: TypeAlias = (
    "Dim | float | str | slice | EllipsisType | TracedTensor | TensorChunks | LayerInstance"
    " | tuple[CodeValue, ...] | None"
)
"""The value of an expression; nan represents an unknown number or truth value."""
ErrorFactory: TypeAlias = Callable[..., ShapeError]
"""A function that converts a message and a hint to the error for an expression."""

MAX_EXPONENT = 64
UNNAMED_CHANGE = "?"
"""The untraced change of a tensor whose expression is still being evaluated."""
OPERATOR_SYMBOLS = {
    "Add": "+",
    "Sub": "-",
    "Mult": "*",
    "Div": "/",
    "FloorDiv": "//",
    "Mod": "%",
    "Pow": "**",
    "MatMult": "@",
}
"""The symbol of each operator, by the name of its `ast` class."""
INTEGER_OPERATORS = {"+": operator.add, "-": operator.sub, "//": operator.floordiv, "%": operator.mod}
"""The operators that are defined on integers only."""


class StageRefused(Exception):
    """Raised if a rule of the dialect refuses an op.

    `args` contains the input shape of the chain, and its stages up to and including the refused stage.
    """


class TracedTensor(Record):
    """A tensor without data: its shape and the stages that produced it."""

    shape: Shape
    stages: tuple[StageRequest, ...]
    dialect: str
    traces: tuple[Trace, ...] = ()
    """The resolved request of each stage."""
    strides: Shape | None = ()
    """The strides in elements; None if they are not known, as those that depend on sizes."""
    untraced_change: str = ""
    """The first expression that changes the elements and has no stage; empty if there is none."""
    input_shape: Shape = ()
    """The shape before the first stage."""
    input_name: str = ""
    """The name of the input that the chain begins with; empty if the code creates this tensor."""
    is_main: bool = False
    """Whether the tensor derives from the first input."""
    size: Dim | None = None
    """The only dim of an input of rank 1; in arithmetic, the input is an integer with this value."""

    @property
    def rank(self) -> int:
        """The number of dims."""
        return len(self.shape)

    def apply(self, op: Op, **options: object) -> TracedTensor:
        """Return the tensor after an op with the given options.

        Raises `StageRefused` if a rule refuses the op, and `ShapeError` if its options are invalid.
        """
        return self.apply_to_operands(op, (), options)

    def apply_to_operands(
        self, op: Op, operand_strides: Sequence[Shape], options: Mapping[str, object]
    ) -> TracedTensor:
        """Return the tensor after an op, as `apply` does; the other operands have the strides `operand_strides`."""
        request_options = {name: value for name, value in options.items() if value is not None} | {
            "dialect": self.dialect
        }
        stages = (*self.stages, (op.name, request_options))
        trace = resolve(make_request(op.name, self.shape, request_options))
        if trace.output is None:
            raise StageRefused(self.input_shape, stages)
        strides = strides_after_trace(trace, self.strides, operand_strides)
        traces = (*self.traces, trace)
        return replace(self, shape=trace.output, stages=stages, traces=traces, strides=strides, size=None)

    def reshape(self, *target: Dim) -> TracedTensor:
        """Return the tensor reshaped to `target`."""
        return self.apply(RESHAPE, target=target)

    def insert_axes(self, axes: Sequence[int]) -> TracedTensor:
        """Return the tensor with dims of size 1 inserted.

        `axes` are output indices, in ascending order.
        """
        inserts_one = UNSQUEEZE_SEMANTICS.of(DIALECTS[self.dialect]).inserts_one
        groups = [(axis,) for axis in axes] if inserts_one else [tuple(axes)]
        tensor = self
        for group in groups:
            tensor = tensor.apply(UNSQUEEZE, axes=group)
        return tensor

    def permute(self, perm: Sequence[int]) -> TracedTensor:
        """Return the tensor with its axes permuted by `perm`."""
        return self.apply(TRANSPOSE, perm=tuple(perm))

    def reverse_axes(self) -> TracedTensor:
        """Return the tensor with its axes in reverse order."""
        return self.permute(range(self.rank)[::-1])

    def view(self, target: Shape, error: ErrorFactory) -> TracedTensor:
        """Return the tensor after PyTorch's `view`.

        A chain derives strides from its stages; if these differ, the stage states them or is a reshape. Raises
        `ShapeError` (usage) if the strides are not known.
        """
        if self.strides is None:
            raise error("the strides of this tensor are not known", "give sizes with --where, or write reshape")
        derived = strides_after_traces(self.traces) or contiguous_strides(self.shape)
        is_derived = all(
            dim == 1 or one == other for dim, one, other in zip(self.shape, self.strides, derived, strict=True)
        )
        if is_contiguous(self.shape, self.strides):
            return self.apply(VIEW, target=target) if is_derived else self.reshape(*target)
        if not is_derived:
            return self.apply(VIEW, target=target, strides=self.strides)
        stages = self.apply(VIEW, target=target).stages
        try:
            return replace(self.apply(VIEW, target=target, strides=self.strides), stages=stages)
        except StageRefused:
            raise StageRefused(self.input_shape, stages) from None

    def compute_with_number(self) -> TracedTensor:
        """Return the result of an elementwise op of the tensor and a number."""
        strides = self.strides and elementwise_strides(self.shape, [(self.shape, self.strides), ((), ())])
        return replace(self.preserve(SAME_STRIDES), strides=strides)

    def preserve(self, function: PreservingFunction) -> TracedTensor:
        """Return the tensor after a function that keeps its shape."""
        strides = self.strides and function.result_strides(self.shape, self.strides)
        if function.keeps_elements:
            return replace(self, strides=strides)
        return replace(self, strides=strides, size=None, untraced_change=self.untraced_change or UNNAMED_CHANGE)


class TensorChunks(Record):
    """The parts of a tensor after a split or unbind, before one part is selected."""

    tensor: TracedTensor
    axis: int
    count: int | None
    """The number of parts; None if unknown."""
    split_options: Mapping[str, object] | None = None
    """The options of the `split` op; None for an unbind, which drops the axis."""

    def chunk(self, index: int) -> TracedTensor:
        """Return the part at `index` as a tensor."""
        if self.split_options is None:
            return self.tensor.apply(SELECT, axis=self.axis, index=index)
        return self.tensor.apply(SPLIT, axis=self.axis, part=index, **self.split_options)

    @property
    def all_chunks(self) -> TracedTensor | None:
        """The tensor after a `split` stage with all parts; None for an unbind."""
        return (
            None
            if self.split_options is None
            else self.tensor.apply(SPLIT, axis=self.axis, all=True, **self.split_options)
        )


class LayerInstance(Record):
    """A layer that is instantiated but not yet called, such as `nn.Conv2d(3, 64, 7)`."""

    name: str
    positional: tuple[CodeValue, ...]
    keywords: Mapping[str, CodeValue]


class Call(Record):
    """A call: the function's name, and its arguments except the tensor."""

    name: str
    """The name of the function, method or layer."""
    positional: tuple[CodeValue, ...]
    keywords: Mapping[str, CodeValue]
    error: ErrorFactory

    def bind_arguments(self, *names: str) -> list[CodeValue]:
        """Return the arguments in the order of the parameter names.

        An omitted argument is None. Slashes separate the aliases of a name: `dim/axis`. Raises `ShapeError` (usage) for
        an unknown argument.
        """
        known = {alias: position for position, name in enumerate(names) for alias in name.split("/")}
        if len(self.positional) > len(names):
            raise self.error(f"{self.name} takes at most {len(names)} arguments")
        arguments: list[CodeValue] = [*self.positional, *[None] * (len(names) - len(self.positional))]
        for name, value in self.keywords.items():
            if name not in known:
                raise self.error(f"the argument {escape_unprintable(truncate(name))} of {self.name} is not supported")
            arguments[known[name]] = value
        return arguments

    def bind_params(self, op: Op, dialect: str, *params: str) -> list[CodeValue]:
        """Return the arguments of the call, in the order of the op's parameters `params`.

        A keyword argument may have any name that a framework uses for the parameter.
        """
        names = argument_names(op, self.name, dialect)
        return self.bind_arguments(*[names[param] for param in params])

    def sequence_argument(self, *names: str) -> tuple[CodeValue, ...]:
        """Return the items of a sequence argument, such as `(2, 3)` in `reshape(2, 3)`.

        The call passes the sequence as a tuple, as a keyword argument called one of `names`, or as separate positional
        arguments. Raises `ShapeError` (usage) for any other keyword.
        """
        keyword_values = [value for name, value in self.keywords.items() if name in names]
        if len(keyword_values) < len(self.keywords):
            raise self.error(f"only {' or '.join(names)} of {self.name} can be given by name")
        arguments = (*self.positional, *keyword_values)
        return arguments[0] if len(arguments) == 1 and isinstance(arguments[0], tuple) else arguments

    def dims_argument(self, *names: str) -> Shape:
        """Convert the sequence argument to a shape.

        Raises `ShapeError` (usage) if an item is not a size.
        """
        return tuple([self.to_dim(dim) for dim in self.sequence_argument(*names)])

    def axes_argument(self, *names: str) -> tuple[int, ...]:
        """Convert the sequence argument to axes.

        Raises `ShapeError` (usage) if an item is not an integer.
        """
        return tuple([self.to_integer(axis) for axis in self.sequence_argument(*names)])

    def to_integer(self, value: CodeValue, default: int | None = None) -> int:
        """Convert a value to an integer; None becomes `default`.

        Raises `ShapeError` (usage) if the value is not an integer.
        """
        value = unwrap_size(value)
        if value is None and default is not None:
            return default
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.error(f"{self.name} needs whole numbers here")
        return value

    def to_size(self, value: CodeValue) -> int | Shape:
        """Convert a value to an integer or a tuple of sizes.

        Raises `ShapeError` (usage) for any other value.
        """
        return tuple(map(self.to_dim, value)) if isinstance(value, tuple) else self.to_integer(value)

    def to_dim(self, value: CodeValue) -> Dim:
        """Convert a value to a size; raise `ShapeError` (usage) if it is not a size."""
        value = unwrap_size(value)
        if not is_dim(value):
            raise self.error(f"{self.name} needs sizes here")
        return value

    def to_axis(self, tensor: TracedTensor, value: CodeValue, default: int | None = None) -> int:
        """Convert a value to the non-negative index of an axis of the tensor.

        Raises `ShapeError` (usage) if the axis is out of range.
        """
        axis, rank = self.to_integer(value, default), tensor.rank
        if not -rank <= axis < rank:
            raise self.error(f"there is no axis {axis} among {rank}")
        return axis % rank


def is_number(value: CodeValue) -> TypeGuard[Dim | float]:
    """Return whether a value is a number or a symbolic size."""
    return isinstance(value, int | float | Monomial)


def is_dim(value: CodeValue) -> TypeGuard[Dim]:
    """Return whether a value is a size: an integer or a product of names."""
    return isinstance(value, int | Monomial) and not isinstance(value, bool)


def apply_unary(value: CodeValue, op: ast.unaryop, error: ErrorFactory) -> CodeValue:
    """Apply a unary operator: `-`, `+`, `~` or `not`.

    Raises `ShapeError` (usage) if the operator is not defined for the value: `-` is not defined for a named size.
    """
    if isinstance(op, ast.Not):
        return not value if value is None or isinstance(value, int) else nan
    if isinstance(op, ast.UAdd) and is_number(value):
        return value
    if isinstance(op, ast.Invert) and isinstance(value, int):
        return ~value
    if isinstance(op, ast.USub) and isinstance(value, int | float):
        return -value
    if isinstance(value, TracedTensor):
        return value.preserve(SAME_TENSOR if isinstance(op, ast.UAdd) else ELEMENTWISE)
    raise error("a minus sign is allowed before numbers only, not before sizes")


def apply_binary(left: CodeValue, symbol: str, right: CodeValue, error: ErrorFactory) -> CodeValue:
    """Apply a binary operator to two sizes, or concatenate two tuples.

    Raises `ShapeError` (usage) for a sum of symbolic sizes, a division by 0, a result that is too large, or operands
    that are neither two sizes nor two tuples.
    """
    if isinstance(left, tuple) and isinstance(right, tuple) and symbol == "+":
        if len(left) + len(right) > MAX_SHAPE_DIMS:
            raise error(MAX_SHAPE_DIMS.message(f"{len(left) + len(right)} dims"))
        return left + right
    if not (is_number(left) and is_number(right)):
        raise error(f"{symbol} works between sizes only")
    if symbol == "**" and right == 0.5:
        return square_root(left)
    if symbol == "*":
        left, right = [
            int(operand) if isinstance(operand, float) and operand.is_integer() else operand
            for operand in (left, right)
        ]
    if isinstance(left, float) or isinstance(right, float):
        return nan
    result = _apply_to_dims(left, symbol, right, error)
    if isinstance(result, int) and abs(result) >= SIZE_BOUND:
        raise error("the number has more digits than any size")
    return result


def _apply_to_dims(left: Dim, symbol: str, right: Dim, error: ErrorFactory) -> Dim:
    if symbol == "*":
        return product((left, right))
    if symbol in ("/", "//", "%") and right == 0:
        raise error("a division by 0")
    if symbol in INTEGER_OPERATORS and isinstance(left, int) and isinstance(right, int):
        return int(INTEGER_OPERATORS[symbol](left, right))
    if symbol in ("/", "//"):
        ratio = quotient(left, right)
        if isinstance(ratio, Monomial) and not ratio.powers:
            raise error(f"{ratio} is not a whole number", "// divides and rounds down")
        return ratio
    if symbol == "**" and isinstance(right, int) and 0 <= right <= MAX_EXPONENT:
        return product([left] * right)
    raise error("a dim is a number or a product of names, never a sum", "give sizes with --where")


def square_root(value: CodeValue) -> int | float:
    """Return the square root of a perfect square; nan for any other value."""
    return isqrt(value) if isinstance(value, int) and value >= 0 and isqrt(value) ** 2 == value else nan


def get_item(value: CodeValue, key: CodeValue, error: ErrorFactory) -> CodeValue:
    """Return an item or slice of a tuple, or a part of a split tensor.

    Raises `ShapeError` (usage) if there is no such item.
    """
    if isinstance(value, tuple):
        try:
            return value[key]  # type: ignore[index]  # an invalid key raises
        except (TypeError, IndexError, ValueError):
            raise error(f"there is no such element among {len(value)}") from None
    if isinstance(value, TensorChunks) and isinstance(key, int):
        if value.count is not None and not -value.count <= key < value.count:
            raise error(f"there is no such part among {value.count}")
        return value.chunk(key if value.count is None else key % value.count)
    raise error("only a shape, a tensor or its parts can be indexed")


def _tensors_in(value: CodeValue) -> Iterator[TracedTensor]:
    """Yield the tensors of a result, such as those of a tuple."""
    if isinstance(value, TracedTensor):
        yield value
    for item in value if isinstance(value, tuple) else ():
        yield from _tensors_in(item)


def unwrap_size(value: CodeValue) -> CodeValue:
    """Return `value.size` for an input of rank 1; return any other value unchanged."""
    return value if not isinstance(value, TracedTensor) or value.size is None else value.size


def initial_tensor(dims: Shape, dialect: str) -> TracedTensor:
    """Return the initial tensor of a chain, without stages."""
    return TracedTensor(dims, (), dialect, strides=contiguous_strides(dims), input_shape=dims)


def split_tensor(tensor: TracedTensor, axis: int, **options: object) -> TensorChunks:
    """Split a tensor into chunks; raise `StageRefused` if a rule refuses the split."""
    trace = tensor.apply(SPLIT, axis=axis, **options).traces[-1]
    (runs,) = [step.facts["runs"] for step in trace.steps if "runs" in step.facts]
    return TensorChunks(tensor, axis, part_count(runs), options)


def unbind_first_axis(tensor: TracedTensor, error: ErrorFactory) -> TensorChunks:
    """Unbind a tensor along its first axis.

    Raises `ShapeError` (usage) if the size of this axis is unknown.
    """
    if not tensor.shape or not isinstance(tensor.shape[0], int):
        raise error("how many values there are is not known", "give sizes with --where")
    return TensorChunks(tensor, 0, tensor.shape[0])


TENSOR_ATTRIBUTES: dict[str, Callable[[TracedTensor], CodeValue]] = {
    "shape": lambda tensor: tensor.shape,
    "size": lambda tensor: product(tensor.shape),
    "ndim": lambda tensor: tensor.rank,
    "T": TracedTensor.reverse_axes,
    "mT": lambda tensor: tensor.permute([*range(tensor.rank)[:-2], tensor.rank - 1, tensor.rank - 2]),
    "data": lambda tensor: tensor,
}
"""Functions that evaluate the attributes of a tensor, by attribute name."""


def index_tensor(tensor: TracedTensor, key: CodeValue, error: ErrorFactory) -> TracedTensor:
    """Return the tensor after an index expression.

    An integer selects one index, a slice keeps a range, and None inserts a dim of size 1. Raises `ShapeError` (usage)
    for any other item.
    """
    items = _expand_index(key if isinstance(key, tuple) else (key,), tensor.rank, error)
    axes = [item for item in items if item is not None]
    slices = [item if isinstance(item, slice) else slice(None) for item in axes]
    if any(part != slice(None) for part in slices):
        ends = [end for part in slices for end in (part.start, part.stop, part.step)]
        if not all(end is None or isinstance(end, int) for end in ends):
            raise error("a slice takes whole numbers", "give sizes with --where")
        tensor = tensor.apply(SLICE, slices=tuple(slices))
    for axis in reversed(range(len(axes))):
        if isinstance(axes[axis], int):
            tensor = tensor.apply(SELECT, axis=axis, index=axes[axis])
    kept = [item for item in items if item is None or isinstance(item, slice)]
    new = tuple([position for position, item in enumerate(kept) if item is None])
    return tensor.insert_axes(new) if new else tensor


def _expand_index(items: tuple[CodeValue, ...], rank: int, error: ErrorFactory) -> list[CodeValue]:
    """Expand the `...` of an index, and add full slices for omitted axes."""
    for item in items:
        is_integer = isinstance(item, int) and not isinstance(item, bool)
        if not (item is None or item is Ellipsis or isinstance(item, slice) or is_integer):
            raise error("an index is a whole number, a slice, None or ...")
    count = sum(item is not None and item is not Ellipsis for item in items)
    if count > rank or items.count(Ellipsis) > 1:
        raise error(f"{count} indices for {rank} dims" if count > rank else "two ... in one index")
    rest = [slice(None)] * (rank - count)
    gap = items.index(Ellipsis) if Ellipsis in items else len(items)
    return [*items[:gap], *rest, *items[gap + 1 :]]


TENSOR_KEYWORDS = ("input", "x", "a", "tensor", "array", "arr")
"""The names of the tensor parameter in functions of one tensor."""
OPERAND_KEYWORDS = ("tensors", "arrays", "values", "input", "x", "other", "y")
"""The names of the tensor parameters in functions of several tensors."""


def _evaluate_shape(value: CodeValue, call: Call) -> CodeValue:
    """Return the shape of a tensor, or one of its dims if the call has an axis."""
    if not isinstance(value, TracedTensor):
        raise call.error(f"{call.name} works on the tensor only")
    (axis,) = call.bind_arguments("dim/axis")
    return value.shape if axis is None else value.shape[call.to_axis(value, axis)]


def _require_dims(value: CodeValue, call: Call) -> Shape:
    """Return the shape of a tensor, or the value itself if it is a shape."""
    dims = value.shape if isinstance(value, TracedTensor) else value
    if not isinstance(dims, tuple) or not all(map(is_dim, dims)):
        raise call.error(f"{call.name} works on a shape or on the tensor only")
    return dims  # type: ignore[return-value]


def _require_size(value: CodeValue, call: Call) -> CodeValue:
    """Return a size or a tuple unchanged; raise `ShapeError` (usage) otherwise."""
    if isinstance(value, tuple) or is_dim(value):
        return value
    not_square = "a root needs a square number, and a size is whole"
    raise call.error(not_square if isinstance(value, float) else f"{call.name} works on sizes only")


SIZE_FUNCTIONS: dict[str, Callable[[CodeValue, Call], CodeValue]] = {
    **dict.fromkeys(("size", "shape", "get_shape"), _evaluate_shape),
    **dict.fromkeys(("as_list", "int", "tuple", "list", "Size", "TensorShape", "floor"), _require_size),
    "len": lambda value, call: (
        get_item(value.shape, 0, call.error) if isinstance(value, TracedTensor) else len(_require_dims(value, call))
    ),
    **dict.fromkeys(
        ("sqrt", "isqrt"),
        lambda value, _: value.preserve(ELEMENTWISE) if isinstance(value, TracedTensor) else square_root(value),
    ),
    **dict.fromkeys(("PRNGKey", "default_rng", "Generator", "device"), lambda *_: nan),
    **dict.fromkeys(("dim", "ndimension", "rank"), lambda value, call: len(_require_dims(value, call))),
    **dict.fromkeys(("numel", "prod", "nelement"), lambda value, call: product(_require_dims(value, call))),
}
"""Evaluators of functions such as `len` and `numel`, which return sizes or shapes, by function name."""


def _requested_shape(call: Call) -> Shape:
    """Return the shape argument of a creation function, such as `zeros`.

    The shape is a tuple, a keyword argument, or one positional argument per dim.
    """
    named = [call.keywords[name] for name in ("size", "shape") if name in call.keywords]
    requested = next((value for value in (*named, *call.positional) if isinstance(value, tuple)), tuple(named))
    if (
        not requested
        and call.name in ("full", "randint", "integers", "normal", "uniform")
        and () not in call.positional
    ):
        raise call.error(f"{call.name} needs the shape in a tuple")
    return tuple([call.to_dim(dim) for dim in requested or call.positional])


def _arange_shape(call: Call) -> Shape:
    """Return the shape of an `arange` with the step 1."""
    start, stop = call.bind_arguments("start/end/stop", "stop/end")
    return (call.to_dim(start if stop is None else apply_binary(stop, "-", start, call.error)),)


CREATION_FUNCTIONS: dict[str, Callable[[Call], Shape]] = {
    **dict.fromkeys(
        ("zeros", "ones", "empty", "full", "rand", "randn", "random", "randint", "normal"), _requested_shape
    ),
    "arange": _arange_shape,
}
"""Functions that compute the shape of a created tensor, by the name of the creation function."""


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
        return _call_multi_operand(Call(name, tuple(values), keywords, error))
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
        return _apply_layer(first, call)
    return first if name in SHAPE_PRESERVING_FUNCTIONS else SHAPE_CHANGING_FUNCTIONS[name](first, call)


def _apply_layer(tensor: TracedTensor, call: Call) -> TracedTensor:
    layer = LAYERS[call.name]
    names = [name.partition("/")[0] for name in layer.parameters.values()]
    arguments = dict(zip(layer.parameters, call.bind_arguments(*layer.parameters.values()), strict=True))
    if layer.op is PAD and tensor.dialect in ("numpy", "jax"):
        arguments["padding"] = _pad_pairs(arguments["padding"], tensor.rank)
    shapes = {name: value.shape if isinstance(value, TracedTensor) else value for name, value in arguments.items()}
    try:
        options = layer.build_options(tensor.shape, shapes, layer)
    except (TypeError, ValueError, IndexError):  # an argument has the wrong type, such as None instead of a size
        options = {"weight": None}
    weight = options.get("weight", ())
    if not isinstance(weight, tuple) or not all(map(is_dim, weight)):
        raise call.error(f"{call.name} needs sizes or a tensor's shape for {', '.join(names[:3])}")
    result = tensor.apply(layer.op, **options)
    return mark_change(result) if _omits_arguments(tensor, arguments, options) else result


def _pad_pairs(widths: CodeValue, rank: int) -> CodeValue:
    """Return a pair of widths per axis for NumPy's `pad`, which repeats a single width or pair. Source: numpy.pad."""
    if not isinstance(widths, tuple) or not widths:
        return widths
    if len(widths) == 1 and isinstance(widths[0], tuple):
        return widths * rank
    if isinstance(widths[0], tuple):
        return widths
    return ((widths[0], widths[-1]),) * rank


def _omits_arguments(tensor: TracedTensor, arguments: Mapping[str, CodeValue], options: Mapping[str, object]) -> bool:
    """Return whether a layer computes with something that the options of its op do not contain.

    Examples are a bias, the weight of a `nn.Linear`, and the mode of an `interpolate`.
    """
    weight = arguments.get("weight")
    if options.get("weight") is not None and not (isinstance(weight, TracedTensor) and are_inputs([tensor, weight])):
        return True
    others = [(name, value) for name, value in arguments.items() if value is not None and options.get(name) is None]
    return any(value not in HARMLESS_VALUES.get(name, ()) for name, value in others if name not in SIZE_ARGUMENTS)


HARMLESS_VALUES: Mapping[str, tuple[CodeValue, ...]] = {
    "bias": (False,),
    "ceil": (False,),
    "return_indices": (False,),
    "align_corners": (False,),
    "count_include_pad": (True,),
    "padding_mode": ("zeros",),
    "mode": ("constant", "nearest"),
    "fill": (0,),
}
"""The values of arguments with which a layer computes what its op computes without the argument."""
SIZE_ARGUMENTS = ("in_channels", "out_channels", "in_features", "out_features", "filters", "kernel_size", "output_size")
"""The arguments of layers that only determine the shape of the weight or of the output."""


def _call_multi_operand(call: Call) -> CodeValue:
    op, keywords = MULTI_OPERAND_FUNCTIONS[call.name], dict(call.keywords)
    params = [param.name for param in op.params]
    values = [*call.positional, *[keywords.pop(name) for name in OPERAND_KEYWORDS if name in keywords]]
    axes = [keywords.pop(name) for name in ("dim", "axis") if name in keywords]
    options: dict[str, object] = {}
    if "pattern" in params:
        options["pattern"] = values.pop(0) if values else None
    if values and isinstance(values[0], tuple):
        values, axes = [*values[0]], [*values[1:], *axes]
    if "axis" in params:
        options["axis"] = call.to_integer(axes.pop() if axes else None, 0)
    elif op is BROADCAST:
        values = [value for value in values if not is_number(value)]
    if "pattern" in params and len(values) == 1 and isinstance(values[0], TracedTensor):
        spaced = re.sub(r"([A-Za-z]|\.\.\.)", r"\1 ", str(options["pattern"]))
        return values[0].apply(REARRANGE, pattern=spaced)
    for name in {*keywords} - {"alpha"} or ("dim" for _ in axes):
        raise call.error(f"the argument {escape_unprintable(truncate(name))} of {call.name} is not supported")
    if call.name in BROADCASTING_FUNCTIONS:
        return _broadcast_tensors(values, call)
    return apply_multi_operand(op, values, call.error, **options)


BROADCASTING_FUNCTIONS = ("broadcast_tensors", "broadcast_arrays")
"""The functions that return each of their tensors, broadcast to the common shape."""


def _broadcast_tensors(values: Sequence[CodeValue], call: Call) -> tuple[CodeValue, ...]:
    """Return each tensor expanded to the common shape; the elements of the other tensors are not used."""
    tensors = [value for value in values if isinstance(value, TracedTensor)]
    if len(tensors) < max(len(values), 2):
        raise call.error("another tensor's shape is not known", "give all shapes: --input 'x=N,C w=C,D'")
    results = list[CodeValue]()
    for index, tensor in enumerate(tensors):
        operands = [CHAIN_TENSOR if number == index else other.shape for number, other in enumerate(tensors)]
        result = tensor.apply(BROADCAST, operands=tuple(operands[1:] if index == 0 else operands))
        strides = tensor.strides and expand_strides(tensor.shape, tensor.strides, result.shape)
        others = [*tensors[:index], *tensors[index + 1 :]]
        results.append(replace(result if are_inputs([tensor, *others]) else mark_change(result), strides=strides))
    return tuple(results)


def mark_change(tensor: TracedTensor) -> TracedTensor:
    """Return the tensor with the mark that its stages do not contain a change of its elements."""
    return replace(tensor, untraced_change=tensor.untraced_change or UNNAMED_CHANGE)


def are_inputs(tensors: Sequence[TracedTensor]) -> bool:
    """Return whether all tensors but the first are inputs as they were given, each used once."""
    names = [tensor.input_name for tensor in tensors]
    are_fresh = not any(tensor.stages or tensor.untraced_change for tensor in tensors[1:])
    return are_fresh and all(names[1:]) and len({*names}) == len(names)


def apply_multi_operand(op: Op, values: Sequence[CodeValue], error: ErrorFactory, **options: object) -> TracedTensor:
    """Apply an op to several tensors, as a new stage of the main tensor.

    The main tensor is a tensor that derives from the first input of the code, or else the first tensor. The other
    tensors become operands of the stage. An elementwise op is a broadcast, so that it changes elements.
    """
    tensors = [part for part in values if isinstance(part, TracedTensor)]
    if len(tensors) < len(values) or not tensors:
        raise error("another tensor's shape is not known", "give all shapes: --input 'x=N,C w=C,D'")
    main = next(
        (tensor for tensor in sorted(tensors, key=lambda candidate: not candidate.stages) if tensor.is_main), tensors[0]
    )
    if len(tensors) == 1 and op is BROADCAST:
        return main.compute_with_number()
    main_index = next(index for index, tensor in enumerate(tensors) if tensor is main)
    operands = tuple([CHAIN_TENSOR if index == main_index else tensor.shape for index, tensor in enumerate(tensors)])
    others = [*tensors[:main_index], *tensors[main_index + 1 :]]
    strides = [contiguous_strides(tensor.shape) if tensor.strides is None else tensor.strides for tensor in tensors]
    result = main.apply_to_operands(
        op,
        [own for index, own in enumerate(strides) if index != main_index],
        {"operands": operands[1:] if main_index == 0 else operands, **options},
    )
    if op is BROADCAST:
        pairs = [*zip([tensor.shape for tensor in tensors], strides, strict=True)]
        is_known = main.dialect == "torch" and all(tensor.strides is not None for tensor in tensors)
        ordered = elementwise_strides(result.shape, pairs) if is_known else result.strides
        return mark_change(replace(result, strides=ordered))
    return result if are_inputs([main, *others]) else mark_change(result)


def _apply_call(tensor: TracedTensor, call: Call) -> CodeValue:
    """Find the op for a function or method name, and apply it to the tensor.

    If the op has a handler in `HANDLERS`, the handler converts the arguments of the call.
    """
    op, _ = find_call(call.name, tensor.dialect)
    if op in (RESHAPE, FLATTEN) and tensor.dialect in ("numpy", "jax"):
        call, order = _pop_order(call)
        if order == "F":
            return _reshape_in_fortran_order(op, tensor, call)
    handler = HANDLERS.get(op.name)
    return handler(tensor, call) if handler else _apply_op(op, tensor, call)


def _pop_order(call: Call) -> tuple[Call, str]:
    """Return a call of NumPy's `reshape`, `ravel` or `flatten` without its `order`, and the order, C or F.

    Raises `ShapeError` (usage) for an order that depends on the memory of the array.
    """
    last = call.positional[-1] if call.positional else None
    order = call.keywords.get("order", last if isinstance(last, str) else "C")
    if order not in ("C", "F"):
        raise call.error("the order depends on the memory of the array", "write order='C' or order='F'")
    positional = call.positional[:-1] if isinstance(last, str) else call.positional
    keywords = {name: value for name, value in call.keywords.items() if name != "order"}
    return replace(call, positional=positional, keywords=keywords), str(order)


def _reshape_in_fortran_order(op: Op, tensor: TracedTensor, call: Call) -> TracedTensor:
    """Reshape with the first axis as the innermost: a reshape between two transposes. Source: numpy.reshape."""
    target = call.dims_argument(*_sequence_argument_names(op, "target", tensor, call)) if op is RESHAPE else (-1,)
    result = (tensor.reverse_axes() if tensor.rank > 1 else tensor).reshape(*target[::-1])
    return result.reverse_axes() if result.rank > 1 else result


def _apply_op(op: Op, tensor: TracedTensor, call: Call) -> TracedTensor:
    """Apply an op whose options are the arguments of a call.

    If the op's only parameter is a list, the call may pass the items as separate arguments.
    """
    names = argument_names(op, call.name, tensor.dialect)
    params = {param.name: param.type for param in op.params}
    if len(names) == 1 and (read_list := SEQUENCE_CONVERTERS.get(params[next(iter(names))])):
        [(param, aliases)] = names.items()
        return tensor.apply(op, **{param: read_list(call, *aliases.split("/"))})
    pairs = zip(names, call.bind_arguments(*names.values()), strict=True)
    return tensor.apply(op, **{param: None if value is None else call.to_size(value) for param, value in pairs})


SEQUENCE_CONVERTERS: Mapping[ParamType, Callable[..., Shape]] = {
    ParamType.TARGET: Call.dims_argument,
    ParamType.AXES: Call.axes_argument,
}
"""The methods that convert a sequence argument to dims or axes, by the type of the op's parameter."""


def _sequence_argument_names(op: Op, param: str, tensor: TracedTensor, call: Call) -> list[str]:
    """Return the names that frameworks use for a list parameter of an op."""
    return argument_names(op, call.name, tensor.dialect)[param].split("/")


def _view(tensor: TracedTensor, call: Call) -> TracedTensor:
    target = call.dims_argument(*_sequence_argument_names(VIEW, "target", tensor, call))
    return tensor.view(target, call.error) if tensor.dialect == "torch" else tensor.reshape(*target)


def _transpose(tensor: TracedTensor, call: Call) -> TracedTensor:
    """Permute the axes; reverse them if an optional permutation is omitted."""
    axes = call.axes_argument(*_sequence_argument_names(TRANSPOSE, "perm", tensor, call))
    _, signature = find_call(call.name, tensor.dialect)
    has_default = any(argument.default for argument in signature.arguments)
    return tensor.reverse_axes() if has_default and not axes else tensor.permute(axes)


def _swap_axes(tensor: TracedTensor, call: Call) -> TracedTensor:
    axes = list(range(tensor.rank))
    values = call.bind_params(SWAPAXES, tensor.dialect, "axis1", "axis2")
    one, other = [call.to_axis(tensor, value) for value in values]
    axes[one], axes[other] = other, one
    return tensor.permute(axes)


def _moveaxis(tensor: TracedTensor, call: Call) -> TracedTensor:
    values = call.bind_params(MOVEAXIS, tensor.dialect, "axes", "destination")
    lists = [value if isinstance(value, tuple) else (value,) for value in values]
    sources, destinations = ([call.to_axis(tensor, axis) for axis in group] for group in lists)
    if len({len(sources), len(destinations), len({*sources}), len({*destinations})}) > 1:
        raise call.error("each axis moves to one place")
    order = [axis for axis in range(tensor.rank) if axis not in sources]
    for destination, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(destination, axis)
    return tensor.permute(order)


def _flatten(tensor: TracedTensor, call: Call) -> TracedTensor:
    params = ("start_dim", "end_dim")
    values = call.bind_params(FLATTEN, tensor.dialect, *params)
    if tensor.dialect != "torch":
        return tensor.reshape(-1)
    defaults = [int(argument.default) for argument in find_call(call.name, tensor.dialect)[1].arguments] or [0, -1]
    ends = [call.to_integer(value, default) for value, default in zip(values, defaults, strict=True)]
    return tensor.apply(FLATTEN, **dict(zip(params, ends, strict=True)))


def _squeeze(tensor: TracedTensor, call: Call) -> TracedTensor:
    names = _sequence_argument_names(SQUEEZE, "axes", tensor, call)
    axes = call.sequence_argument(*names)
    return tensor.apply(SQUEEZE, axes=call.axes_argument(*names) if axes not in ((), (None,)) else None)


def _tile(tensor: TracedTensor, call: Call) -> TracedTensor:
    """Apply `tile`, or PyTorch's `repeat`.

    `tile` aligns the repeat counts with the last dims, except in TensorFlow, which requires one count per dim.
    """
    counts = call.dims_argument(*_sequence_argument_names(TILE, "repeats", tensor, call))
    missing = tensor.rank - len(counts) if call.name == TILE.name else 0
    return tensor.apply(TILE, repeats=(*(1,) * missing, *counts))


def _repeat(tensor: TracedTensor, call: Call) -> TracedTensor:
    """Apply `repeat` of PyTorch, einops or NumPy.

    PyTorch tiles the tensor, einops follows a pattern, and NumPy repeats each element.
    """
    if call.positional and isinstance(call.positional[0], str):
        return _rearrange(tensor, call)
    op, _ = find_call(call.name, tensor.dialect)
    is_tile = op is TILE and (call.name == TILE.name or tensor.dialect == "torch")
    return _tile(tensor, call) if is_tile else _repeat_elements(tensor, call)


def _repeat_elements(tensor: TracedTensor, call: Call) -> TracedTensor:
    """Apply `repeat_interleave`.

    In dialects without this op, the stages are an unsqueeze, an expand and a reshape.
    """
    count, axis = call.bind_params(REPEAT_INTERLEAVE, tensor.dialect, "repeats", "axis")
    counts = tuple(map(call.to_dim, count)) if isinstance(count, tuple) else (call.to_dim(count),)
    if operator_of(REPEAT_INTERLEAVE, DIALECTS[tensor.dialect]):
        return tensor.apply(REPEAT_INTERLEAVE, repeats=counts, axis=None if axis is None else call.to_integer(axis))
    if axis is None:
        tensor, axis = tensor.reshape(-1), 0
    index = call.to_axis(tensor, axis)
    dims, repeats = tensor.shape, call.to_dim(count)
    tensor = tensor.apply(UNSQUEEZE, axes=(index + 1,))
    tensor = tensor.apply(EXPAND, target=(*dims[: index + 1], repeats, *dims[index + 1 :]))
    return tensor.reshape(*dims[:index], product((dims[index], repeats)), *dims[index + 1 :])


def _rearrange(tensor: TracedTensor, call: Call) -> TracedTensor:
    """Apply einops' `rearrange` or `repeat`.

    If an axis length is symbolic, the pattern is replaced with stages such as a reshape and a transpose.
    """
    if len(call.positional) != 1 or not isinstance(call.positional[0], str):
        raise call.error(f"{call.name} of einops takes a pattern")
    lengths = {name: call.to_dim(value) for name, value in call.keywords.items()}
    lengths_text = ",".join(f"{name}={length}" for name, length in lengths.items()) or None
    if not any(isinstance(length, Monomial) for length in lengths.values()):
        return tensor.apply(REARRANGE, pattern=call.positional[0], lengths=lengths_text)
    placeholder = ",".join(f"{name}=2" for name in lengths)
    return _apply_plan(tensor, plan_rearrange(tensor.rank, call.positional[0], placeholder), lengths)


def _apply_plan(tensor: TracedTensor, plan: RearrangePlan, lengths: Mapping[str, Dim]) -> TracedTensor:
    """Apply the stages of a rearrange plan; `lengths` overrides its axis lengths."""
    sizes = axis_lengths(tensor.shape, replace(plan, lengths={**plan.lengths, **lengths}))
    split_shape = tuple([sizes[axis] for axis in plan.axes])
    tensor = tensor if split_shape == tensor.shape else tensor.reshape(*split_shape)
    tensor = tensor if plan.order == tuple(range(tensor.rank)) else tensor.permute(plan.order)
    if plan.new_axes:
        tensor = tensor.insert_axes(tuple(plan.new_axes))
        tensor = tensor.apply(EXPAND, target=tuple([sizes[axis] for names in plan.right for axis in names]))
    target = tuple([product([sizes[axis] for axis in names]) for names in plan.right])
    return tensor if target == tensor.shape else tensor.reshape(*target)


def _chunk(tensor: TracedTensor, call: Call) -> TensorChunks:
    """Split a tensor by a number of parts, by split indices, or by part sizes.

    A list contains split indices, except in `split` of TensorFlow and Paddle, where it contains part sizes.
    """
    count, axis = call.bind_params(SPLIT, tensor.dialect, "parts", "axis")
    split_axis = call.to_axis(tensor, axis, 0)
    if not isinstance(count, tuple):
        uneven = call.name in ("array_split", "tensor_split") or None
        return split_tensor(tensor, split_axis, parts=call.to_integer(count), uneven=uneven)
    sizes = [call.to_dim(size) for size in count]
    are_positions = call.name != SPLIT.name or tensor.dialect in ("numpy", "jax")
    return split_tensor(
        tensor, split_axis, sizes=_part_sizes(tensor.shape[split_axis], sizes, call) if are_positions else tuple(sizes)
    )


def _part_sizes(dim: Dim, positions: Sequence[Dim], call: Call) -> Shape:
    """Return the sizes of the parts between split indices.

    Raises `ShapeError` (usage) if the indices are unknown or not ascending.
    """
    if isinstance(dim, int):
        cuts = [position if isinstance(position, int) else dim + 1 for position in positions]
        ranges = [slice(*ends).indices(dim)[:2] for ends in pairwise((0, *cuts, dim))]
        if max(cuts, default=0) <= dim and all(start <= stop for start, stop in ranges):
            return tuple([stop - start for start, stop in ranges])
    raise call.error("the places of the cuts do not ascend, or are not known", "give sizes with --where")


def _split(tensor: TracedTensor, call: Call) -> TensorChunks:
    """Apply `split`.

    In PyTorch, the argument is the size of each part, or a list of the sizes of all parts.
    """
    if tensor.dialect != "torch" or call.name != SPLIT.name:
        return _chunk(tensor, call)
    size, axis = call.bind_params(SPLIT, tensor.dialect, "size", "axis")
    split_axis = call.to_axis(tensor, axis, 0)
    if isinstance(size, tuple):
        return split_tensor(tensor, split_axis, sizes=tuple(map(call.to_dim, size)))
    count = quotient(tensor.shape[split_axis], call.to_dim(size)) if size != 0 else 0
    return split_tensor(
        tensor,
        split_axis,
        **({"parts": count} if isinstance(count, int) and count else {"size": call.to_integer(size)}),
    )


def _unbind(tensor: TracedTensor, call: Call) -> TensorChunks:
    (axis,) = call.bind_arguments("dim/axis")
    split_axis = call.to_axis(tensor, axis, 0)
    dim = tensor.shape[split_axis]
    return TensorChunks(tensor, split_axis, dim if isinstance(dim, int) else None)


def _apply_composite(tensor: TracedTensor, call: Call) -> TracedTensor:
    """Apply a function that expands to several stages, such as `rot90`."""
    parameters = [parameter.rstrip("?") for parameter in COMPOSITE_OPS[call.name][2]]
    arguments = [
        value if value is None or isinstance(value, tuple) else (value,) for value in call.bind_arguments(*parameters)
    ]
    texts = [",".join([str(call.to_integer(item)) for item in value]) for value in arguments if value is not None]
    for words in expand_composite(call.name, tensor.shape, texts):
        stage = parse_stage(words, with_input=False)
        tensor = tensor.apply(OPS[stage.op], **stage.options)
    return tensor


def _reduce(tensor: TracedTensor, call: Call) -> CodeValue:
    """Return the result of a reduction as the initial tensor of a new chain.

    A new chain is needed because there is no op for reductions. In PyTorch, `max` and `min` along an axis return a pair
    of values and indices.
    """
    power = ("p/ord",) if call.name == "norm" else ()
    *_, axes, keepdims = call.bind_arguments(*power, "dim/axis", "keepdim/keepdims")
    requested = range(tensor.rank) if axes is None else axes if isinstance(axes, tuple) else (axes,)
    reduced = [call.to_axis(tensor, axis) for axis in requested]
    dims = [
        1 if index in reduced else dim for index, dim in enumerate(tensor.shape) if keepdims or index not in reduced
    ]
    result = mark_change(initial_tensor(tuple(dims), tensor.dialect))
    returns_pair = tensor.dialect == "torch" and call.name in ("max", "min") and axes is not None
    return (result, result) if returns_pair else result


REDUCTION_FUNCTIONS = (
    "mean",
    "sum",
    "max",
    "min",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "any",
    "all",
    "norm",
    "std",
    "var",
)
HANDLERS: Mapping[str, Callable[[TracedTensor, Call], CodeValue]] = {
    VIEW.name: _view,
    TRANSPOSE.name: _transpose,
    SWAPAXES.name: _swap_axes,
    MOVEAXIS.name: _moveaxis,
    FLATTEN.name: _flatten,
    SQUEEZE.name: _squeeze,
    TILE.name: _repeat,
    REPEAT_INTERLEAVE.name: _repeat,
    REARRANGE.name: _rearrange,
    SPLIT.name: _split,
}
"""Functions that apply an op to a tensor, for ops whose arguments differ from the op's options, by op name."""
SHAPE_CHANGING_FUNCTIONS: Mapping[str, Callable[[TracedTensor, Call], CodeValue]] = {
    **{name: _apply_call for name in calls_by_name() if name not in LAYERS and name not in MULTI_OPERAND_FUNCTIONS},
    "t": lambda tensor, call: tensor.permute(
        call.axes_argument() or ((1, 0) if tensor.rank > 1 else range(tensor.rank))
    ),
    **dict.fromkeys(("tf.tile", "tensorflow.tile"), _tile),
    **dict.fromkeys(COMPOSITE_OPS, _apply_composite),
    **dict.fromkeys(("unbind", "unstack"), _unbind),
    **dict.fromkeys(REDUCTION_FUNCTIONS, _reduce),
}
"""Evaluators of functions that can change the shape of a tensor, by function name."""
SHAPE_PRESERVING_FUNCTIONS = PRESERVING_FUNCTIONS.keys() - SIZE_FUNCTIONS.keys()
"""The names of functions that preserve the shape of a tensor and do not work on sizes."""
MEMORY_FORMAT_RANKS = {"channels_last": 4, "channels_last_3d": 5}
"""The rank that a memory format requires."""


MODULE_DIALECTS = {
    **dict.fromkeys(("torch", "F", "nn", "functional"), "torch"),
    **dict.fromkeys(("np", "numpy"), "numpy"),
    **dict.fromkeys(("jnp", "jax", "lax"), "jax"),
    **dict.fromkeys(("tf", "tensorflow", "keras", "K"), "tensorflow"),
    "paddle": "paddle",
}
"""The dialect of each module, by the module's usual import name."""
TORCH_ONLY_METHODS = {"view", "permute", "unsqueeze", "contiguous"}
"""Methods of PyTorch tensors that NumPy arrays lack or define differently."""
MODULE_NAMES = {*MODULE_DIALECTS, "einops", "math", "ops", "layers"}
PROMPT = re.compile(r"\s*(?:>>>|\.\.\.|In \[\d+\]:) ?")
DEFINITIONS = (ast.FunctionDef, ast.ClassDef)
PASTE_HINT = "paste the lines that end with one tensor, or their function"
ENTRY_METHODS = ("forward", "call", "__call__")
PRESERVING_LAYER_WORDS = "drop(out|path)?|(batch|layer|group|instance|rms)?_?norm|bn|ln|act(ivation)?|[a-z]{0,5}e?lu"
PRESERVING_LAYER = re.compile(
    rf"(?i)(.+_)?({PRESERVING_LAYER_WORDS}|(log_?)?softmax|sigmoid|tanh|identity|(hard)?swish)_?\d*d?"
)
"""A regular expression for the names of layers that preserve shapes."""
DIM_REGEX = r"(?:\d+|[A-Z]\w{0,3}|[a-z]{1,2}\d?|\w+[*/][\w*/]+|\?|\.\.\.)"
MAX_COMMENT_LENGTH = 200
SHAPE_COMMENT = re.compile(
    r"#+\s*(?:[\w .]*[:=])?\s*(?:[\w ]*shape\s)?(?:.*->\s*)?"
    rf"(?:(?:torch\.Size)?[(\[]+([^()\[\]]*,[^()\[\]]*)[)\]]+|({DIM_REGEX}(?:\s*,\s*{DIM_REGEX})+)\s*$)"
)
"""A regular expression for a comment that begins or ends with a shape.

Examples are `# (B, T, C) after the split`, `# shape: B,T,C` and `# x -> [B, T]`.
"""


def normalize_pasted_code(text: str) -> str:
    r"""Strip prompts, printed output and indentation from pasted code.

    >>> normalize_pasted_code(">>> x.T\n(3, 2)"), normalize_pasted_code("x = x.T\n    x[0]")
    ('x.T', 'x = x.T\nx[0]')
    """
    if PROMPT.match(text):
        text = "\n".join([PROMPT.sub("", line, 1) for line in text.splitlines() if PROMPT.match(line)])
    text = dedent(text).strip()
    first, _, rest = text.partition("\n")
    is_indented = rest[:1].isspace() and not first.partition("#")[0].rstrip().endswith((*":([{,\\",))
    return f"{first}\n{dedent(rest)}" if is_indented else text


def parse_code(text: str) -> ast.Module:
    """Parse Python code; raise `ShapeError` (usage) if its syntax is invalid."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        before = text.splitlines(keepends=True)[: (error.lineno or 1) - 1]
        start = min(len("".join(before)) + max(0, (error.offset or 1) - 1), max(0, len(text) - 1))
        hint = "shapecalc doctor reads errors" if re.search(r"Traceback|Error\b|File \"", text) else ""
        raise usage_error(f"this is not Python: {error.msg}", hint, argument="line", span=(start, start + 1)) from None
    except (RecursionError, MemoryError):
        raise usage_error("the code is nested too deep", argument="line") from None
    except ValueError as error:
        raise usage_error(f"this is not Python: {escape_unprintable(str(error))}", argument="line") from None


def normalize_tensor_name(name: str) -> str:
    """Normalize the spelling of a tensor's name, or of a call that returns a tensor.

    The result is formatted by `ast.unparse`. Raises `ShapeError` (usage) for any other expression.
    """
    match parse_code(name).body:
        case [ast.Expr(value=ast.Name() | ast.Attribute() | ast.Call() as node)]:
            return ast.unparse(node)
    raise usage_error(
        f"'{escape_unprintable(truncate(name))}' is not a name for a tensor",
        "write --input x=N,C,H,W",
        argument="input",
    )


def detect_dialect(tree: ast.AST) -> str:
    """Guess the dialect from module names and methods; PyTorch by default."""
    markers = set[str | None]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in MODULE_DIALECTS:
            return MODULE_DIALECTS[node.id]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            # PyTorch's `transpose` takes two axes; NumPy's takes all axes.
            takes_all_axes = node.func.attr == "transpose" and len([*node.args, *node.keywords]) != 2
            markers |= {"all axes" if takes_all_axes else node.func.attr, *[keyword.arg for keyword in node.keywords]}
    is_numpy = markers & {"all axes", "astype", "ravel", "order"} or (
        "axis" in markers and not markers & TORCH_ONLY_METHODS
    )
    return "numpy" if is_numpy else "torch"


def select_statements(statements: Sequence[ast.stmt]) -> tuple[list[ast.stmt], str]:
    """Return the statements to interpret and the name of the input tensor.

    If no statement outside of definitions operates on a tensor, the statements include the body of the last function,
    or of the last class's `__init__` and `forward`. The name is that of the function's only required parameter; it is
    empty if there is no such parameter.
    """
    defined = [node for node in statements if isinstance(node, DEFINITIONS)]
    lines = [node for node in statements if not isinstance(node, DEFINITIONS)]
    if not defined or has_tensor_operation(lines):
        return lines, ""
    candidates = defined[-1].body if isinstance(defined[-1], ast.ClassDef) else defined
    methods = {node.name: node for node in candidates if isinstance(node, ast.FunctionDef)}
    entry = next((methods[name] for name in (*ENTRY_METHODS, *reversed(methods)) if name in methods), None)
    parameters = list[str]()
    for function in filter(None, (methods.get("__init__"), entry)):
        argument_names, defaults = [node.arg for node in function.args.args], function.args.defaults
        parameters = [
            name for name in argument_names[: len(argument_names) - len(defaults)] if name not in ("self", "cls")
        ]
        for name, default in zip(argument_names[::-1], defaults[::-1], strict=False):
            lines.append(ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], default), default))
        lines += function.body
    return lines, parameters[0] if len(parameters) == 1 else ""


def first_variable(statements: Iterable[ast.stmt]) -> str:
    """Return the first name that is read and is neither a module nor a function.

    Returns `x` if there is no such name.
    """
    nodes = [node for statement in statements for node in ast.walk(statement) if isinstance(node, ast.Name)]
    loaded = [
        node
        for node in nodes
        if isinstance(node.ctx, ast.Load) and not (node.id in MODULE_NAMES or is_known_function(node.id))
    ]
    return min(loaded, key=lambda node: (node.lineno, node.col_offset)).id if loaded else "x"


def has_tensor_operation(statements: Iterable[ast.AST]) -> bool:
    """Return whether the statements contain a supported call or an index expression."""
    nodes = [node for statement in statements for node in ast.walk(statement)]
    called = [getattr(node.func, "attr", dotted_name(node.func)) for node in nodes if isinstance(node, ast.Call)]
    return any(map(is_known_function, called)) or any(isinstance(node, ast.Subscript) for node in nodes)


def names_in_statement(statement: ast.stmt, context: type[ast.expr_context]) -> set[str]:
    """Return the names that a statement loads or stores, depending on `context`."""
    return {dotted_name(node) for node in ast.walk(statement) if isinstance(getattr(node, "ctx", None), context)}


def is_preserving_layer(layer_name: str) -> bool:
    """Return whether a layer's name implies that the layer preserves the shape.

    An example is `self.attn_drop`.
    """
    base, _, name = layer_name.rpartition(".")
    return base in ("", "self") and PRESERVING_LAYER.fullmatch(name) is not None


def dotted_name(node: ast.AST) -> str:
    """Return a dotted name as a string; empty for any other expression."""
    text = ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""
    return text if text.replace(".", "").isidentifier() else ""


def _char_offset(text: str, line: int, column: int) -> int:
    """Convert a line and a column to a character offset.

    `line` is counted from 1, and `column` in UTF-8 bytes, as in Python's syntax trees.
    """
    lines = text.splitlines(keepends=True)
    before = lines[line - 1].encode("utf-8", "surrogatepass")[:column]
    return len("".join(lines[: line - 1])) + len(before.decode("utf-8", "surrogatepass"))


def source_span(text: str, node: ast.expr | ast.stmt) -> tuple[int, int]:
    """Return the start and the exclusive end of a node, as character offsets."""
    end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
    return _char_offset(text, node.lineno, node.col_offset), _char_offset(text, end_line, end_column)


def shapes_in_comments(text: str) -> Iterator[tuple[int, ShapePattern]]:
    """Yield the shapes that comments declare, each with its line number."""
    with suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            match = SHAPE_COMMENT.match(token.string[:MAX_COMMENT_LENGTH]) if token.type == tokenize.COMMENT else None
            with suppress(ShapeError):  # the match is prose and not a shape
                if match:
                    yield token.start[0], parse_pattern((match[1] or match[2]).strip(" ,"), "line")


SEQUENCE_LAYER = re.compile("(?i)proj|fc|linear|dense|mlp|att|head|classif|embed|qkv")
"""A regular expression for the names of layers whose input is usually `(B, T, C)`.

The input of other unknown layers is assumed to be `(B, C, H, W)` in hints.
"""
IGNORED_ARGUMENTS = {
    "dtype",
    "device",
    "out",
    "requires_grad",
    "name",
    "copy",
    "memory_format",
    "inplace",
    "non_blocking",
}
"""Keyword arguments that do not affect shapes."""
SIZE_LIST_NAME = re.compile(r"(.*_)?(shape|sizes|dims|perm|axes)")
COMPARISON_SIGNS = {ast.Eq: (0,), ast.NotEq: (-1, 1), ast.Lt: (-1,), ast.LtE: (-1, 0), ast.Gt: (1,), ast.GtE: (0, 1)}
"""For each comparison operator, the signs of `left - right` for which it is true: `<=` is true for -1 and 0."""


IGNORED_STATEMENTS = (ast.Import, ast.ImportFrom, ast.Pass, ast.Assert, ast.Global, ast.Delete, ast.Raise)
"""The statements that have no effect on tensors."""
DEVICE = re.compile(r"(?i)device|cuda|cpu|mps|^-?\d+$")
"""A regular expression for the arguments of `to` that name a device."""


def is_print(statement: ast.stmt) -> bool:
    """Return whether a statement is a constant, such as a docstring, or prints something."""
    return isinstance(statement, ast.Expr) and (
        isinstance(statement.value, ast.Constant)
        or (isinstance(statement.value, ast.Call) and dotted_name(statement.value.func) == "print")
    )


def is_other_type(name: str) -> bool:
    """Return whether an element type is not float32, the type that inputs are assumed to have."""
    return CAST_TYPES.fullmatch(name) is not None and name not in ("float", "float32")


class CodeChain(Record):
    """The chain that code performs, with notes on how the code was interpreted."""

    input_shape: Shape
    stages: tuple[StageRequest, ...]
    notes: tuple[str, ...]
    is_main: bool
    """Whether the input of the chain is the first input of the code."""
    untraced_change: str = ""
    """An expression that changes the elements and has no stage; empty if the chain does all that the code does."""
    outputs: tuple[Shape, ...] = ()
    """The shapes of all results of code that ends with several, the result of the chain first; otherwise empty."""
    other_chains: tuple[tuple[Shape, tuple[StageRequest, ...]], ...] = ()
    """The input and the stages of each further result that a stage of the chain does not contain."""

    def refuse_elements(self, option: str) -> None:
        """Raise `ShapeError` (usage) if the chain does not have the elements of the code.

        `option` is what needs the elements, such as `--as`.
        """
        if self.untraced_change:
            message = f"'{truncate(self.untraced_change)}' is not in the chain of stages, so {option} would be wrong"
            raise usage_error(message, "ask for the shape alone", argument="line")
        if self.outputs:
            message = f"the code ends with {len(self.outputs)} tensors, and {option} is for one"
            raise usage_error(message, "take one of them, as [0] does", argument="line")


class UnnamedInputIdentified(Exception):
    """Raised when the interpreter finds the name of the input tensor in the code.

    The user can pass an input shape without a name. The only argument of the exception is the name that was found, with
    which the code is interpreted again.
    """


def interpret_code(
    text: str,
    inputs: Mapping[str, Shape],
    dialect: str | None = None,
    sizes: Mapping[str, int | Shape] = EMPTY_DICT,
    strides: Mapping[str, Shape] = EMPTY_DICT,
) -> CodeChain:
    """Return the chain that code applies to the first of its input tensors.

    `inputs` maps the names of tensors to shapes; an empty name denotes the first tensor in the code. `sizes` maps names
    to the sizes that replace them. `strides` maps the names of tensors that are not row-major to their strides. Raises
    `ShapeError` (usage) with a span for code that is not supported.

    >>> from shapecalc.core.text import parse_dims
    >>> interpret_code("x.transpose(1, 2)", {"x": parse_dims("B,T,C")}).stages
    (('transpose', {'perm': (0, 2, 1), 'dialect': 'torch'}),)
    >>> interpret_code("torch.zeros(2, 3).view(-1)", {}).input_shape
    (2, 3)
    """
    if len(text) > MAX_CODE_LENGTH:
        raise MAX_CODE_LENGTH.error(f"{len(text)} characters of code", PASTE_HINT, argument="line")
    tree = parse_code(text)
    try:
        dialect_name = lookup_dialect(dialect).name if dialect else detect_dialect(tree)
        lines, name = select_statements(tree.body)
        try:
            return CodeInterpreter(text, dialect_name, sizes).interpret(
                lines, _name_input(inputs, name), _name_input(strides, name)
            )
        except UnnamedInputIdentified as claimed:
            return CodeInterpreter(text, dialect_name, sizes).interpret(
                lines, _name_input(inputs, claimed.args[0]), _name_input(strides, claimed.args[0])
            )
    except RecursionError:
        raise usage_error("the code is nested too deep", argument="line") from None


def _name_input(shapes: Mapping[str, Shape], name: str) -> dict[str, Shape]:
    """Return shapes by the names of their tensors; `name` replaces the empty name."""
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


class CodeInterpreter:
    """An abstract interpreter of Python code over sizes, tuples and tensors.

    The error of an unsupported statement becomes the value of the names that the statement assigns. The error is raised
    where such a name is used, so unsupported statements that do not affect the answer are harmless.
    """

    def __init__(self, text: str, dialect: str, sizes: Mapping[str, int | Shape]) -> None:
        """Create an interpreter of `text`; `sizes` maps names in it to their values."""
        self.text, self.dialect, self.sizes, self.line = text, dialect, sizes, 1
        self.inputs: dict[str, TracedTensor] = {}
        self.has_unnamed_input = False
        """Whether the name of the input tensor is still unknown."""
        self.variables: dict[str, CodeValue | ShapeError] = {}
        self.last_result: CodeValue | ShapeError = None
        """The value or the error of the last statement that operates on a tensor."""
        self.skipped_errors: dict[ShapeError, None] = {}
        """The errors of skipped statements, in order."""
        self.shape_by_line: dict[int, Shape] = {}
        """The shape that each statement produces, by the last line of the statement."""
        self.notes: dict[str, None] = {}
        self.used_size_names: set[str] = set()
        """The names that the code has looked up as sizes."""
        self.statement_count = 0
        """The number of interpreted statements."""
        self.in_place_change = ""
        """The first expression that may change the elements of a tensor in place; empty if there is none."""
        self.has_returned = False
        """Whether a `return` or `raise` was interpreted."""
        self.in_shape_argument = False
        """Whether a shape argument is being evaluated.

        Inside a shape argument, an input of rank 1 denotes a size.
        """

    def interpret(
        self, statements: Sequence[ast.stmt], inputs: Mapping[str, Shape], strides: Mapping[str, Shape] = EMPTY_DICT
    ) -> CodeChain:
        """Interpret statements and return the chain that they perform.

        `inputs` maps the names of tensors to shapes, and `strides` those of some tensors to their strides. If a name is
        empty, the method finds the name in the code and raises `UnnamedInputIdentified`. Raises `ShapeError` (usage)
        for code that is not supported.
        """
        self.interpret_inputs(inputs, strides)
        known = dim_names([dim for dims in inputs.values() for dim in dims])
        try:
            self.interpret_body(statements)
        except StageRefused as refused:
            if "\n" in self.text.strip():
                source_line = self.text.splitlines()[self.line - 1].strip()
                self.notes[escape_unprintable(f"refused in line {self.line}: {truncate(source_line)}")] = None
            return CodeChain(refused.args[0], refused.args[1], self.collect_notes(known), True)
        if self.has_unnamed_input:
            raise UnnamedInputIdentified(first_variable(statements))
        if isinstance(self.last_result, ShapeError):
            raise self.last_result
        check_size_names(dict.fromkeys(self.sizes, 0), [*known, *sorted(self.used_size_names)])
        return self.build_chain(self.last_result, known)

    def interpret_inputs(self, inputs: Mapping[str, Shape], strides: Mapping[str, Shape] = EMPTY_DICT) -> None:
        """Bind the names of the input tensors; `strides` has the strides of those that are not row-major.

        An empty name is that of a tensor whose name is not known yet.
        """
        numbers = {name: size for name, size in self.sizes.items() if isinstance(size, int)}
        self.has_unnamed_input = "" in inputs
        for name, dims in inputs.items() if not self.has_unnamed_input else ():
            tensor = initial_tensor(tuple([substitute(dim, numbers) for dim in dims]), self.dialect)
            size = tensor.shape[0] if tensor.rank == 1 else None
            own_strides = (
                tuple([substitute(step, numbers) for step in strides[name]]) if name in strides else tensor.strides
            )
            self.inputs[normalize_tensor_name(name)] = replace(
                tensor, input_name=name, is_main=not self.inputs, size=size, strides=own_strides
            )
        self.variables.update(self.inputs)

    def build_chain(self, value: CodeValue, known_names: Sequence[str]) -> CodeChain:
        """Return the chain that produces a value.

        Raises `ShapeError` (usage) if the value is not a tensor, or is a tensor without stages.
        """
        tensors, outputs = self.results_of(value)
        if not tensors:
            raise usage_error("the code does not end with a tensor", PASTE_HINT, argument="line")
        first, others = tensors[0], tensors[1:]
        if not first.stages:
            shown = truncate(shape_text(first.shape))
            hint = "give what comes before it, or the class that makes it"
            raise usage_error(f"the code ends with a tensor as it was given or made, {shown}", hint, argument="line")
        changes = [*filter(None, [*[tensor.untraced_change for tensor in tensors], self.in_place_change])]
        return CodeChain(
            first.input_shape,
            first.stages,
            self.collect_notes(known_names),
            first.is_main,
            changes[0] if changes else "",
            outputs,
            tuple([(tensor.input_shape, tensor.stages) for tensor in others]),
        )

    def results_of(self, value: CodeValue) -> tuple[list[TracedTensor], tuple[Shape, ...]]:
        """Return the tensors of a value, and the shapes of all if there are several.

        The parts of a split are one tensor, after a stage that keeps all parts. Raises `ShapeError` (usage) if the
        number of parts is unknown, 0 or too large.
        """
        if isinstance(value, TensorChunks):
            part = value.all_chunks or (value.chunk(0) if value.count else value.tensor)
            count = value.count
            if not count:
                number = "0" if count == 0 else "an unknown number of"
                raise usage_error(f"the code ends with {number} parts", "give sizes with --where", argument="line")
            if count > MAX_SHAPE_DIMS:
                raise MAX_SHAPE_DIMS.error(f"{count} parts", argument="line")
            return [part], part.traces[-1].extras.get("outputs") or (part.shape,) * count
        tensors = [*_tensors_in(value)]
        return tensors, tuple([tensor.shape for tensor in tensors]) if len(tensors) > 1 else ()

    def collect_notes(self, known_names: Sequence[str]) -> tuple[str, ...]:
        """Return the notes on the interpretation.

        The notes report assumptions, skipped statements, and comments that contradict the actual shapes.
        """
        notes = [*self.notes, *[f"passed over: {error.problem.message}" for error in self.skipped_errors]]
        sizes = {
            name: size for name, size in self.variables.items() if isinstance(size, Dim) and name not in known_names
        }
        for line, pattern in shapes_in_comments(self.text) if self.shape_by_line else ():
            matcher = Matcher(pattern, sizes, known_names)
            problem = matcher.match_shape(self.shape_by_line[line]) if line in self.shape_by_line else None
            sizes = matcher.sizes if problem is None else sizes
            notes += [f"line {line}, the comment: {problem.message}"] if problem else []
        return tuple(notes)

    def interpret_body(self, statements: Sequence[ast.stmt]) -> None:
        """Interpret statements in order, up to the first return.

        The error of an unsupported statement becomes the value of the names that the statement assigns. If the
        statement assigns only inputs, the inputs keep their shapes.
        """
        for statement in statements:
            self.statement_count += 1
            if self.statement_count > MAX_STATEMENTS:
                raise MAX_STATEMENTS.error(f"{self.statement_count} statements of code", PASTE_HINT, argument="line")
            self.line, self.in_shape_argument = statement.lineno, False
            try:
                self.interpret_statement(statement)
            except ShapeError as error:
                stored = names_in_statement(statement, ast.Store)
                self.note_in_place_change(statement)
                if not stored or stored - (self.inputs.keys() - names_in_statement(statement, ast.Load)):
                    self.last_result = error
                    self.skipped_errors.update(dict.fromkeys([error] if stored else []))
                    self.variables.update(dict.fromkeys(stored, error))
            self.has_returned = self.has_returned or isinstance(statement, ast.Return | ast.Raise)
            if self.has_returned:
                return

    def note_in_place_change(self, statement: ast.stmt) -> None:
        """Record that a statement may change a tensor in place, if it was not interpreted and names a tensor.

        Examples are `x.fill_(0)`, `np.random.shuffle(x)` and a loop that assigns to `x[i]`.
        """
        names = {name for name, value in self.variables.items() if isinstance(value, TracedTensor)}
        nodes = [*ast.walk(statement)]
        may_change = isinstance(statement, ast.Expr) or any(
            isinstance(node, ast.Expr | ast.AugAssign)
            or (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store))
            for node in nodes[1:]
        )
        if may_change and names & {dotted_name(node) for node in nodes}:
            self.in_place_change = self.in_place_change or self.source_text(statement)

    def interpret_statement(self, node: ast.stmt) -> None:
        """Interpret one statement; record its value if it is a tensor."""
        match node:
            case _ if isinstance(node, IGNORED_STATEMENTS) or is_print(node):
                return
            case ast.If():
                self.interpret_if(node)
                return
            case ast.With(body=body):
                self.interpret_body(body)
                return
            case ast.Expr(value=ast.Attribute(value=inner, attr="shape") | inner) | ast.Return(value=inner) if inner:
                value = self.evaluate(inner)
            case ast.Assign(value=inner) | ast.AnnAssign(value=ast.expr() as inner):
                value = self.interpret_assignment(node, inner)
            case ast.AugAssign(target=target, op=sign, value=inner):
                value = self.apply_operator(
                    node, self.evaluate(target), OPERATOR_SYMBOLS.get(type(sign).__name__, "&"), self.evaluate(inner)
                )
                value = self.update_in_place(node, value)
                self.assign(target, value)
            case _:
                raise self.error(node, "this statement is not supported", PASTE_HINT)
        part = value.chunk(0) if isinstance(value, TensorChunks) and value.count != 0 else value
        shape = part.shape if isinstance(part, TracedTensor) else part
        if isinstance(shape, tuple):
            self.shape_by_line[node.end_lineno or 0] = tuple(filter(is_dim, shape))
        tensors = value if isinstance(value, tuple) else (value,)
        if isinstance(node, ast.Return) or any(isinstance(item, TracedTensor | TensorChunks) for item in tensors):
            self.last_result = value

    def interpret_if(self, node: ast.If) -> None:
        """Interpret the branch that is taken; if it is unknown, no branch assigns a name."""
        branch = self.evaluate_condition(node.test, node)
        self.interpret_body({True: node.body, False: node.orelse, None: ()}[branch])
        for statement in (*node.body, *node.orelse) if branch is None else ():
            if not isinstance(statement, IGNORED_STATEMENTS) and not is_print(statement):
                self.note_in_place_change(statement)

    def update_in_place(self, node: ast.AugAssign, value: CodeValue) -> CodeValue:
        """Return the value of a target after an augmented assignment.

        PyTorch and NumPy update a tensor in place, so that it keeps its strides and other names of it change, too.
        """
        before = self.evaluate(node.target)
        if not isinstance(before, TracedTensor) or not isinstance(value, TracedTensor):
            return value
        self.in_place_change = self.in_place_change or self.source_text(node)
        change = self.source_text(node) if value.untraced_change == UNNAMED_CHANGE else value.untraced_change
        return replace(value, strides=before.strides, untraced_change=change)

    def interpret_assignment(self, node: ast.Assign | ast.AnnAssign, value_node: ast.expr) -> CodeValue:
        """Bind the targets of an assignment and return the value.

        If the first target is an input and the value is a constant or a new tensor, as in `x = torch.zeros(2, 3)`, the
        input keeps the shape that the user declared.
        """
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        name, is_created = (
            dotted_name(targets[0]),
            isinstance(value_node, ast.Call) and getattr(value_node.func, "attr", "") in CREATION_FUNCTIONS,
        )
        value: CodeValue = self.inputs.get(name) if is_created or isinstance(value_node, ast.Constant) else None
        if value is None and isinstance(value_node, ast.Constant) and name in self.sizes:
            value = self.lookup_size(value_node, name)
        elif value is None:
            self.check_shape_known(value_node, targets[0])
            value = self.evaluate(value_node)
        if hasattr(targets[0], "elts"):
            self.check_tensors_known([value_node])
        for target in targets:
            self.assign(target, value)
        return value

    def check_shape_known(self, value_node: ast.expr, target: ast.expr) -> None:
        """Raise `ShapeError` (usage) for `B, T, C = x.shape` if `x` is unknown."""
        name, dims = dotted_name(value_node), ",".join(filter(None, map(dotted_name, getattr(target, "elts", ()))))
        if dims and name.endswith(".shape") and not (self.is_assigned(name) or {name, "shape"} & self.sizes.keys()):
            assert isinstance(value_node, ast.Attribute)
            raise self.missing_shape_error(value_node.value, dims)

    def assign(self, target: ast.expr, value: CodeValue) -> None:
        """Bind an assignment target; unpack tuples and starred targets."""
        name, parts = dotted_name(target), getattr(target, "elts", None)
        if name:
            self.variables[name] = value
            return
        if parts is None and isinstance(target, ast.Subscript):
            self.in_place_change = self.in_place_change or self.source_text(target)
            return
        value = unbind_first_axis(value, self.error_factory(target)) if isinstance(value, TracedTensor) else value
        if parts is None or not isinstance(value, tuple | TensorChunks):
            raise self.error(target, "nothing can be assigned to this here")
        star = next((index for index, part in enumerate(parts) if isinstance(part, ast.Starred)), None)
        if star is not None and isinstance(value, tuple):
            end = star + max(len(value) - len(parts) + 1, 0)
            value = (*value[:star], value[star:end], *value[end:])
            parts = [*parts[:star], parts[star].value, *parts[star + 1 :]]
        count = value.count if isinstance(value, TensorChunks) else len(value)
        if count is not None and count != len(parts):
            raise self.error(target, f"{len(parts)} names for {count} values")
        for position, part in enumerate(parts):
            self.assign(part, get_item(value, position, self.error_factory(part)))

    def evaluate_condition(self, test: ast.expr, node: ast.If) -> bool | None:
        """Return the truth value of a condition, or None if it is unknown.

        Raises `ShapeError` (usage) if the truth value is unknown and a branch assigns a name.
        """
        value: CodeValue = nan
        with suppress(ShapeError):
            value = self.evaluate(test)
        if value is None or isinstance(value, int):
            return bool(value)
        if names_in_statement(node, ast.Store):
            hint = f"paste the lines of one, or give it: --where {truncate(self.source_text(test))}=0"
            raise self.error(node, "which branch is taken is not known", hint)
        return None

    def apply_layer(
        self, layer: LayerInstance, values: list[CodeValue], keywords: Mapping[str, CodeValue], error: ErrorFactory
    ) -> CodeValue:
        """Apply a layer, or each layer of a `Sequential`, to a tensor."""
        if layer.name == "Sequential" and values:
            for inner in layer.positional:
                if not isinstance(inner, LayerInstance):
                    raise error("this is no layer")
                values = [self.apply_layer(inner, values, {}, error)]
            return values[0]
        if is_preserving_layer(layer.name) and values:
            first = values[0]
            if not isinstance(first, TracedTensor):
                return first
            function = find_preserving_layer(layer.name)
            if function is ELEMENTWISE and True in (layer.keywords.get("inplace"), *layer.positional):
                self.in_place_change, function = self.in_place_change or layer.name, SAME_STRIDES
            return first.preserve(function)
        return call_function(layer.name, [*values, *layer.positional], {**keywords, **layer.keywords}, error)

    def evaluate(self, node: ast.expr) -> CodeValue:
        """Return the value of an expression.

        Raises `ShapeError` (usage) if the expression is not supported.
        """
        return self.name_change(node, self.evaluate_node(node))

    def name_change(self, node: ast.expr | ast.stmt, value: CodeValue) -> CodeValue:
        """Return the value with the source text of its untraced change, if `node` is where it occurs."""
        if isinstance(value, TracedTensor) and value.untraced_change == UNNAMED_CHANGE:
            return replace(value, untraced_change=self.source_text(node))
        if isinstance(value, tuple) and any(isinstance(item, TracedTensor) for item in value):
            return tuple([self.name_change(node, item) for item in value])
        return value

    def evaluate_node(self, node: ast.expr) -> CodeValue:
        """Return the value of an expression, by its kind; raise `ShapeError` (usage) if it is not supported."""
        match node:
            case ast.Constant(value=None | bool() | int() | float() | str() | EllipsisType() as constant):
                return constant
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return tuple(self.evaluate_all(parts))
            case ast.Name() | ast.Attribute():
                return self.evaluate_name(node)
            case ast.UnaryOp(op=sign, operand=operand):
                return apply_unary(self.evaluate(operand), sign, self.error_factory(node))
            case ast.BinOp(left=left, op=sign, right=right) | ast.Compare(left=left, ops=[sign], comparators=[right]):
                return self.evaluate_operator(node, self.evaluate(left), sign, self.evaluate(right))
            case ast.Subscript(value=inner, slice=index):
                return self.evaluate_subscript(node, inner, index)
            case ast.Slice(lower=lower, upper=upper, step=step):
                return slice(
                    *[None if end is None else unwrap_size(self.evaluate(end)) for end in (lower, upper, step)]
                )
            case ast.Call():
                return self.evaluate_call(node)
        raise self.error(node, "this is not supported here")

    def evaluate_all(self, nodes: Sequence[ast.expr]) -> Iterator[CodeValue]:
        """Yield the values of expressions; unpack starred expressions."""
        for node in nodes:
            if isinstance(node, ast.Starred):
                value = self.evaluate(node.value)
                if not isinstance(value, tuple):
                    raise (
                        self.undeclared_size_list_error(node.value)
                        if is_dim(value)
                        else self.error(node, "only a shape can be unpacked")
                    )
                yield from value
            else:
                yield self.evaluate(node)

    def evaluate_name(self, node: ast.expr) -> CodeValue:
        """Return the value of a name or attribute.

        The name denotes a variable, an attribute of a tensor, or a size.
        """
        name = dotted_name(node)
        if isinstance(value := self.variables.get(name), ShapeError):
            raise value
        if name in self.variables:
            return value
        if isinstance(node, ast.Attribute) and name not in self.sizes:
            if node.attr == "newaxis":
                return None
            if not name or self.is_assigned(name):
                base = self.evaluate(node.value)
                if (
                    isinstance(base, TracedTensor)
                    and node.attr in TENSOR_ATTRIBUTES
                    and (node.attr != "mT" or base.rank > 1)
                ):
                    return TENSOR_ATTRIBUTES[node.attr](base)
                raise self.error(node, f".{truncate(node.attr)} of this is not supported")
            if node.attr == "shape" and not self.has_unnamed_input:
                raise self.undeclared_size_list_error(node)
            if node.attr in ("shape", "T", "mT"):
                raise self.missing_shape_error(node.value)
        return self.lookup_size(node, name)

    def is_assigned(self, name: str) -> bool:
        """Return whether a dotted name or one of its prefixes is a variable."""
        return any(name == variable or name.startswith(f"{variable}.") for variable in self.variables)

    def lookup_size(self, node: ast.expr, name: str) -> CodeValue:
        """Return the size, or the list of sizes, that a name denotes.

        An attribute such as `self.heads` is looked up by its full name, then by its last component.
        """
        last = name.rpartition(".")[2]
        if not name.isascii() or len(name) > MAX_DIM_TEXT_LENGTH:
            raise self.error(node, "a size has a name of plain letters")
        self.used_size_names |= {name, last}
        tensor = self.inputs.get(last)
        value = self.sizes.get(name, self.sizes.get(last, tensor.size if tensor else None))
        if value is None and SIZE_LIST_NAME.fullmatch(last):
            raise self.undeclared_size_list_error(node)
        return named_dim(last) if value is None else value

    def undeclared_size_list_error(self, node: ast.expr) -> ShapeError:
        """Return the error for an undeclared list of sizes."""
        return self.error(
            node, "this is a list of sizes", f"--where {truncate(self.source_text(node))}=2,3,32,32 gives them"
        )

    def evaluate_operator(
        self, node: ast.expr, left: CodeValue, op: ast.operator | ast.cmpop, right: CodeValue
    ) -> CodeValue:
        """Apply an operator or a comparison.

        The result of a comparison is nan if its truth value is unknown.
        """
        if isinstance(op, ast.operator) or isinstance(left, TracedTensor) or isinstance(right, TracedTensor):
            return self.apply_operator(node, left, OPERATOR_SYMBOLS.get(type(op).__name__, "&"), right)
        if isinstance(op, ast.Is | ast.IsNot) and right is None:
            return nan if isinstance(left, Monomial) else (left is None) == isinstance(op, ast.Is)
        if isinstance(left, int) and isinstance(right, int) and type(op) in COMPARISON_SIGNS:
            return (left > right) - (left < right) in COMPARISON_SIGNS[type(op)]
        return nan

    def apply_operator(
        self, node: ast.expr | ast.AugAssign, left: CodeValue, symbol: str, right: CodeValue
    ) -> CodeValue:
        """Apply a binary operator to sizes, tuples or tensors."""
        if symbol in ("//", "%") or self.in_shape_argument:
            left, right = unwrap_size(left), unwrap_size(right)
        if symbol == "@" and isinstance(node, ast.BinOp):
            self.check_tensors_known([node.left, node.right])
        if symbol == "@" or (isinstance(left, TracedTensor) and isinstance(right, TracedTensor)):
            return apply_multi_operand(MATMUL if symbol == "@" else BROADCAST, (left, right), self.error_factory(node))
        for one, other in ((left, right), (right, left)):
            if isinstance(one, TracedTensor):
                if is_number(other):
                    return one.compute_with_number()
                tuple_hint = ", and this is a tuple: take a part of it, as [0] does" if isinstance(other, tuple) else ""
                raise self.error(node, f"{symbol} is read between tensors and numbers only{tuple_hint}")
        result = apply_binary(left, symbol, right, self.error_factory(node))
        if symbol == "//" and isinstance(result, Monomial):
            self.notes[
                f"{truncate(self.source_text(node))} is read as {truncate(str(result))}: other sizes are left out"
            ] = None
        return result

    def evaluate_subscript(self, node: ast.Subscript, base_node: ast.expr, index: ast.expr) -> CodeValue:
        """Return an item of a tuple, or the tensor after an index expression."""
        if ast.List in map(type, (index, *getattr(index, "elts", ()))):
            raise self.error(node, "a list of positions has no op here")
        name, key = dotted_name(base_node), self.evaluate(index)
        if isinstance(key, str) and name and key.isidentifier():
            return self.lookup_size(node, key)
        known = name in self.sizes or self.is_assigned(name)
        if name and isinstance(key, int) and key >= 0 and not known and not name.endswith(".shape"):
            return self.lookup_size(node, f"{name.rpartition('.')[2]}_{key}")
        base = self.evaluate(base_node)
        if name and isinstance(base, Monomial):
            raise self.missing_shape_error(base_node)
        if isinstance(base, TracedTensor):
            return index_tensor(base, key, self.error_factory(node))
        return get_item(base, key, self.error_factory(node))

    def evaluate_call(self, node: ast.Call) -> CodeValue:
        """Evaluate a call of a function, a method or an instantiated layer."""
        function, path = node.func, dotted_name(node.func)
        if any("(" in name for name in self.inputs) and ast.unparse(node) in self.inputs:
            return self.inputs[ast.unparse(node)]
        name = path if is_known_function(path) else getattr(function, "attr", path)
        callee = self.evaluate(function) if isinstance(function, ast.Call) or path in self.variables else None
        if isinstance(callee, LayerInstance):
            if not (callee.name == "Sequential" or is_preserving_layer(callee.name) or is_known_function(callee.name)):
                raise self.unknown_function_error(node)
            self.check_tensors_known(node.args[:1])
            return self.apply_layer(callee, *self.evaluate_arguments(node, node.args), self.error_factory(node))
        base = path.rpartition(".")[0]
        if is_preserving_layer(path) and node.args and (base or not is_known_function(name)):
            self.notes[f"{truncate(self.source_text(node))} is read as keeping the shape"] = None
            value = self.evaluate(node.args[0])
            return value.preserve(find_preserving_layer(path)) if isinstance(value, TracedTensor) else value
        return self.evaluate_function_call(node, function, base, name)

    def evaluate_function_call(self, node: ast.Call, function: ast.expr, base_name: str, name: str) -> CodeValue:
        """Evaluate a function or method call, or instantiate a layer."""
        is_class = name[:1].isupper() and name not in SIZE_FUNCTIONS
        if (base_name == "self" and not self.is_assigned("self")) or not (is_class or is_known_function(name)):
            raise self.unknown_function_error(node)
        is_method = (
            isinstance(function, ast.Attribute) and base_name.partition(".")[0] not in MODULE_NAMES - self.inputs.keys()
        )
        is_method = is_method and not is_class and (name not in CREATION_FUNCTIONS or self.is_assigned(base_name))
        operands = [function.value, *node.args] if is_method else node.args  # type: ignore[attr-defined]
        first = [*self.evaluate_all(operands[: name not in CREATION_FUNCTIONS])]
        self.in_shape_argument, outer = (
            name in SHAPE_CHANGING_FUNCTIONS or name in CREATION_FUNCTIONS,
            self.in_shape_argument,
        )
        others, keywords = self.evaluate_arguments(
            node, [] if name in SHAPE_PRESERVING_FUNCTIONS else operands[name not in CREATION_FUNCTIONS :]
        )
        self.in_shape_argument, values = outer, [*first, *others]
        if outer and name in SHAPE_PRESERVING_FUNCTIONS and values and isinstance(values[0], tuple):
            return values[0]  # a list in a tensor, as in `x.repeat_interleave(torch.tensor([1, 2]), 0)`
        if is_class and not any(isinstance(value, TracedTensor) for value in values):
            flags = {word.arg: self.evaluate(word.value) for word in node.keywords if word.arg == "inplace"}
            return LayerInstance(name, tuple(values), keywords | (flags if is_preserving_layer(name) else {}))
        if is_method or (
            name not in (SIZE_FUNCTIONS | CREATION_FUNCTIONS)
            and (isinstance(function, ast.Attribute) or name not in SHAPE_PRESERVING_FUNCTIONS)
        ):
            tensors = [item for operand in operands for item in getattr(operand, "elts", [operand])]
            self.check_tensors_known(
                tensors if MULTI_OPERAND_FUNCTIONS.get(name, BROADCAST) is not BROADCAST else operands[:1]
            )
        if not is_known_function(name):
            raise self.unknown_function_error(node)
        if name in CREATION_FUNCTIONS and not is_method:
            created = initial_tensor(
                CREATION_FUNCTIONS[name](Call(name, tuple(values), keywords, self.error_factory(node))), self.dialect
            )
            return mark_change(created) if self.inputs else created
        value = call_function(name, values, keywords, self.error_factory(node))
        if any(keyword.arg == "out" for keyword in node.keywords):
            self.in_place_change = self.in_place_change or self.source_text(node)
        if isinstance(value, TracedTensor) and name in SHAPE_PRESERVING_FUNCTIONS:
            value = self.apply_preserving(node, name, value, operands[1:])
        if name in REDUCTION_FUNCTIONS and isinstance(value, TracedTensor):
            self.notes[f"the chain begins with what {truncate(self.source_text(node))} returns"] = None
        return value

    def apply_preserving(
        self, node: ast.Call, name: str, tensor: TracedTensor, arguments: Sequence[ast.expr]
    ) -> TracedTensor:
        """Return the tensor after a function that keeps its shape; `arguments` are the others of the call."""
        function, keywords = PRESERVING_FUNCTIONS[name], {word.arg: word.value for word in node.keywords}
        if name in CASTING_FUNCTIONS and (
            types := self.named_types([*arguments, *filter(None, [keywords.get("dtype")])])
        ):
            function = CAST if all(map(is_other_type, types)) else SAME_STRIDES
        if name == "dropout" and "training" not in keywords and len(arguments) < 2:
            function = ELEMENTWISE  # by default, F.dropout returns a new tensor, also during evaluation
        is_in_place = getattr(keywords.get("inplace"), "value", False) is True
        if is_in_place or (name.endswith("_") and not function.keeps_elements):
            self.in_place_change, function = self.in_place_change or self.source_text(node), SAME_STRIDES
        result = tensor.preserve(function)
        if "memory_format" not in keywords or tensor.dialect != "torch":
            return result
        return self.apply_memory_format(node, name, tensor, result)

    def named_types(self, nodes: Iterable[ast.expr]) -> list[str]:
        """Return the last component of each argument of a cast, except for devices and flags."""
        texts = [
            self.source_text(node)
            for node in nodes
            if not (isinstance(node, ast.Constant) and node.value in (True, False, None))
        ]
        return [text.rpartition(".")[2].strip("'\"") for text in texts if not DEVICE.search(text)]

    def apply_memory_format(
        self, node: ast.Call, name: str, tensor: TracedTensor, result: TracedTensor
    ) -> TracedTensor:
        """Return the result of a call with `memory_format`.

        `to` returns the tensor itself if PyTorch takes it for one of this format; `contiguous`, if it is dense in this
        format. The other functions copy.
        """
        (value,) = [word.value for word in node.keywords if word.arg == "memory_format"]
        memory_format = dotted_name(value).rpartition(".")[2]
        rank = MEMORY_FORMAT_RANKS.get(memory_format, result.rank)
        if result.rank != rank:
            raise self.error(node, f"{memory_format} needs {rank} dims, and the tensor has {result.rank}")
        if memory_format == "preserve_format" or result.strides is None or tensor.strides is None:
            return result
        shape, is_last = result.shape, memory_format in MEMORY_FORMAT_RANKS
        returns_itself = (
            has_format(shape, tensor.strides, memory_format)
            if name == "contiguous"
            else name in ("to", "float") and suggests_channels_last(shape, tensor.strides) == is_last
        )
        return replace(result, strides=tensor.strides if returns_itself else format_strides(shape, memory_format))

    def check_tensors_known(self, nodes: Iterable[ast.expr]) -> None:
        """Raise `ShapeError` (usage) for the first tensor whose shape is unknown."""
        for node in nodes:
            if dotted_name(node) and isinstance(self.evaluate(node), Monomial):
                raise self.missing_shape_error(node)

    def evaluate_arguments(
        self, node: ast.Call, operands: Sequence[ast.expr]
    ) -> tuple[list[CodeValue], dict[str, CodeValue]]:
        """Evaluate a call's positional arguments, `operands`, and its keyword arguments."""
        named = {word.arg or "**": word.value for word in node.keywords if word.arg not in IGNORED_ARGUMENTS}
        return [*self.evaluate_all(operands)], {name: self.evaluate(argument) for name, argument in named.items()}

    def unknown_function_error(self, node: ast.Call) -> ShapeError:
        """Return the error for an unknown function, with a hint."""
        callee = getattr(node.func, "attr", "") or dotted_name(node.func) or "this layer"
        if self.has_unnamed_input and dotted_name(node.func) in (callee, f"self.{callee}"):
            raise UnnamedInputIdentified(ast.unparse(node))
        example = "B,T,C" if SEQUENCE_LAYER.search(callee) else "B,256,H,W"
        hint_input, is_attribute = self.input_hint(node, example), dotted_name(node.func).startswith("self.")
        hint = f"paste its class, too, with __init__; or {hint_input}" if is_attribute else hint_input
        return self.error(node, f"{truncate(callee)} is not known here", hint)

    def missing_shape_error(self, node: ast.expr, example: str = "N,C,H,W") -> ShapeError:
        """Return the error for a tensor of unknown shape, with a hint."""
        if self.has_unnamed_input:
            raise UnnamedInputIdentified(ast.unparse(node))
        return self.error(node, "the shape of this tensor is not known", self.input_hint(node, example))

    def input_hint(self, node: ast.expr, example: str) -> str:
        """Return a hint with the `--input` option that declares an expression's shape."""
        inputs = " ".join([f"{name}={shape_text(tensor.shape)} " for name, tensor in self.inputs.items()])
        return f"give its shape: --input '{truncate(inputs)}{truncate(self.source_text(node))}={example}'"

    def error_factory(self, node: ast.expr | ast.stmt) -> ErrorFactory:
        """Return a function that builds errors for an expression."""
        return lambda message, hint="": self.error(node, message, hint)

    def source_text(self, node: ast.expr | ast.stmt) -> str:
        """Return the source text of an expression on one line."""
        start, end = source_span(self.text, node)
        return escape_unprintable(" ".join(self.text[start:end].split()))

    def error(self, node: ast.expr | ast.stmt, message: str, hint: str = "") -> ShapeError:
        """Return a usage error for an expression, with its span."""
        return usage_error(
            f"'{truncate(self.source_text(node))}': {message}", hint, argument="line", span=source_span(self.text, node)
        )

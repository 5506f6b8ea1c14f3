"""Abstract interpretation of PyTorch, NumPy, TensorFlow and JAX code as chains.

The code is parsed and never run: each expression gets a value with shapes instead of data.
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

from shapecalc.core.answers import HERE, NONE, Trace
from shapecalc.core.ask import ask, check_names_known, dialect_called
from shapecalc.core.commands import MADE, made_stages, read_stage
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dims import Dim, Monomial, Shape, named_dim, names, product, quotient, substitute
from shapecalc.core.layers import JOINING, LAYERS
from shapecalc.core.limits import LONGEST_CODE, LONGEST_WORD, MOST_DIMS, MOST_STATEMENTS
from shapecalc.core.ops.rearrange import Plan, lengths_of, plan_of
from shapecalc.core.ops.split import count_of
from shapecalc.core.ops.view import STRIDE_INCOMPATIBLE, strides_after
from shapecalc.core.pattern import Matcher, ShapePattern, read_pattern
from shapecalc.core.problem import ShapeError, misuse
from shapecalc.core.record import Record, replace
from shapecalc.core.resolve import resolve, resolve_chain
from shapecalc.core.text import TOO_LARGE, brief, read_dims, shape_text, visible

Stage: TypeAlias = tuple[str, Mapping[str, object]]
Value: TypeAlias = "Dim | float | str | slice | EllipsisType | Tensor | Chunks | Held | tuple[Value, ...] | None"
"""The value of an expression; nan is an unknown number or truth value."""
MakeError: TypeAlias = Callable[..., ShapeError]
"""Builds the error for the current expression from a message and a hint."""

HIGHEST_POWER = 64
SIGNS = {"Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "FloorDiv": "//", "Mod": "%", "Pow": "**", "MatMult": "@"}
"""The symbols of operators by the names of their syntax tree nodes."""
WHOLE = {"+": operator.add, "-": operator.sub, "//": operator.floordiv, "%": operator.mod}
"""The operators that are defined on integers only."""


class Refused(Exception):
    """Signals that a rule refuses an op.

    Its arguments are the input shape and the stages up to the refused one.
    """


class Tensor(Record):
    """A traced tensor: its shape and the stages that led to it, without data."""

    shape: Shape
    stages: tuple[Stage, ...]
    dialect: str
    traces: tuple[Trace, ...] = ()
    """The answers to its stages."""
    copied_at: int = 0
    """The number of stages before the last `contiguous`, which is not a stage itself."""
    given: Shape = ()
    """Its shape before all stages."""
    main: bool = False
    """Whether it derives from the first input."""
    size: Dim | None = None
    """The size that its name denotes in arithmetic; None if the rank is not 1."""

    @property
    def rank(self) -> int:
        """The number of dims."""
        return len(self.shape)

    def after(self, op: str, **options: object) -> Tensor:
        """Return the tensor after an op.

        Raises `StageRefused` if a rule refuses the op, and `ShapeError` if its options are invalid.
        """
        request_options = {name: value for name, value in options.items() if value is not None} | {
            "dialect": self.dialect
        }
        stages = (*self.stages, (op, request_options))
        trace = resolve(ask(op, self.shape, request_options))
        if trace.output is None:
            raise Refused(self.given, stages)
        return replace(self, shape=trace.output, stages=stages, traces=(*self.traces, trace), size=None)

    def reshaped(self, *target: Dim) -> Tensor:
        """Return the tensor after a reshape."""
        return self.after("reshape", target=target)

    def inserted(self, axes: Sequence[int]) -> Tensor:
        """Return the tensor with dims of 1 at these output axes, in ascending order."""
        groups = [(axis,) for axis in axes] if DIALECTS[self.dialect].inserts_one else [tuple(axes)]
        tensor = self
        for group in groups:
            tensor = tensor.after("unsqueeze", axes=group)
        return tensor

    def moved(self, perm: Sequence[int]) -> Tensor:
        """Return the tensor after a transpose."""
        return self.after("transpose", perm=tuple(perm))

    def reversed(self) -> Tensor:
        """Return the tensor with its axes in reverse order."""
        return self.moved(range(self.rank)[::-1])

    def viewed(self, target: Shape) -> Tensor:
        """Return the tensor after PyTorch's `view`.

        The strides come from the chain, except after `contiguous`: they then start at the copy.
        """
        strides = strides_after(self.traces[self.copied_at :]) if self.copied_at else None
        if self.copied_at and strides is None:
            return self.reshaped(*target)
        return self.after("view", target=target, strides=strides)

    def checked(self) -> Tensor:
        """Return the tensor, unless one of its views has incompatible strides.

        Raises `StageRefused` otherwise.
        """
        problem = resolve_chain([trace.request for trace in self.traces]).problem if self.traces else None
        if problem and problem.rule == STRIDE_INCOMPATIBLE:
            raise Refused(self.given, self.stages)
        return self


class Chunks(Record):
    """The parts of a tensor that was split or unbound, before one of them is chosen."""

    tensor: Tensor
    axis: int
    count: int | None
    """The number of parts; None if unknown."""
    cut: Mapping[str, object] | None = None
    """The options of `split`; None for an unbind, which drops the axis."""

    def chunk(self, index: int) -> Tensor:
        """Return the part at an index."""
        if self.cut is None:
            return self.tensor.after("select", axis=self.axis, index=index)
        return self.tensor.after("split", axis=self.axis, part=index, **self.cut)

    @property
    def together(self) -> Tensor | None:
        """The tensor after a split that keeps all parts; None for an unbind."""
        return None if self.cut is None else self.tensor.after("split", axis=self.axis, all=True, **self.cut)


class Held(Record):
    """An instantiated layer, before it is called: `nn.Conv2d(3, 64, 7)`."""

    name: str
    values: tuple[Value, ...]
    keywords: Mapping[str, Value]


class Call(Record):
    """A call in code: the function's name and its arguments without the tensor."""

    name: str
    """The name of the function, method or layer."""
    values: tuple[Value, ...]
    keywords: Mapping[str, Value]
    error: MakeError

    def named(self, *names: str) -> list[Value]:
        """Return the arguments in the order of these names; None for an omitted one.

        A name may have aliases behind slashes: `dim/axis`. Raises `ShapeError` (usage) for an argument of another name.
        """
        known = {alias: position for position, name in enumerate(names) for alias in name.split("/")}
        if len(self.values) > len(names):
            raise self.error(f"{self.name} takes at most {len(names)} arguments")
        arguments: list[Value] = [*self.values, *[None] * (len(names) - len(self.values))]
        for name, value in self.keywords.items():
            if name not in known:
                raise self.error(f"the argument {visible(brief(name))} of {self.name} is not supported")
            arguments[known[name]] = value
        return arguments

    def listed(self, *names: str) -> tuple[Value, ...]:
        """Return the single sequence argument.

        It is a tuple, a keyword, or several positional arguments.
        """
        keyword_values = [value for name, value in self.keywords.items() if name in names]
        if len(keyword_values) < len(self.keywords):
            raise self.error(f"only {' or '.join(names)} of {self.name} can be given by name")
        arguments = (*self.values, *keyword_values)
        return arguments[0] if len(arguments) == 1 and isinstance(arguments[0], tuple) else arguments

    def dims(self, *names: str) -> Shape:
        """Return the requested shape.

        Raises `ShapeError` (usage) if an item is not a size.
        """
        return tuple([self.dim(dim) for dim in self.listed(*names)])

    def axes(self, *names: str) -> tuple[int, ...]:
        """Return the sequence of axes.

        Raises `ShapeError` (usage) if an item is not an integer.
        """
        return tuple([self.whole(axis) for axis in self.listed(*names)])

    def whole(self, value: Value, default: int | None = None) -> int:
        """Return an integer; raise `ShapeError` (usage) for anything else."""
        value = as_size(value)
        if value is None and default is not None:
            return default
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.error(f"{self.name} needs whole numbers here")
        return value

    def size(self, value: Value) -> int | Shape:
        """Return an integer or a tuple of sizes.

        Raises `ShapeError` (usage) for any other value.
        """
        return tuple(map(self.dim, value)) if isinstance(value, tuple) else self.whole(value)

    def dim(self, value: Value) -> Dim:
        """Return a size; raise `ShapeError` (usage) for anything else."""
        value = as_size(value)
        if not is_dim(value):
            raise self.error(f"{self.name} needs sizes here")
        return value

    def axis(self, tensor: Tensor, value: Value, default: int | None = None) -> int:
        """Return an axis of the tensor as a non-negative index.

        Raises `ShapeError` (usage) if out of range.
        """
        axis, rank = self.whole(value, default), tensor.rank
        if not -rank <= axis < rank:
            raise self.error(f"there is no axis {axis} among {rank}")
        return axis % rank


def is_number(value: Value) -> TypeGuard[Dim | float]:
    """Return whether a value is a size or another number."""
    return isinstance(value, int | float | Monomial)


def is_dim(value: Value) -> TypeGuard[Dim]:
    """Return whether a value is a size: an integer or a product of names."""
    return isinstance(value, int | Monomial) and not isinstance(value, bool)


def negated(value: Value, sign: ast.unaryop, error: MakeError) -> Value:
    """Apply `-`, `+`, `~` or `not`; raise `ShapeError` (usage) for a named size."""
    if isinstance(sign, ast.Not):
        return not value if value is None or isinstance(value, int) else nan
    if isinstance(value, int | float):
        return -value
    if isinstance(value, Tensor):
        return value
    raise error("a minus sign is allowed before numbers only, not before sizes")


def arithmetic(left: Value, sign: str, right: Value, error: MakeError) -> Value:
    """Apply a binary operator to two sizes, or concatenate two tuples.

    Raises `ShapeError` (usage) if the result is not a size: a sum with names, a division by 0, a number too large.
    """
    if isinstance(left, tuple) and isinstance(right, tuple) and sign == "+":
        if len(left) + len(right) > MOST_DIMS:
            raise error(MOST_DIMS.said(f"{len(left) + len(right)} dims"))
        return left + right
    if not (is_number(left) and is_number(right)):
        raise error(f"{sign} works between sizes only")
    if sign == "**" and right == 0.5:
        return root(left)
    if sign == "*":
        left, right = [
            int(operand) if isinstance(operand, float) and operand.is_integer() else operand
            for operand in (left, right)
        ]
    if isinstance(left, float) or isinstance(right, float):
        return nan
    result = _computed(left, sign, right, error)
    if isinstance(result, int) and abs(result) >= TOO_LARGE:
        raise error("the number has more digits than any size")
    return result


def _computed(left: Dim, sign: str, right: Dim, error: MakeError) -> Dim:
    if sign == "*":
        return product((left, right))
    if sign in ("/", "//", "%") and right == 0:
        raise error("a division by 0")
    if sign in WHOLE and isinstance(left, int) and isinstance(right, int):
        return int(WHOLE[sign](left, right))
    if sign in ("/", "//"):
        ratio = quotient(left, right)
        if isinstance(ratio, Monomial) and not ratio.powers:
            raise error(f"{ratio} is not a whole number", "// divides and rounds down")
        return ratio
    if sign == "**" and isinstance(right, int) and 0 <= right <= HIGHEST_POWER:
        return product([left] * right)
    raise error("a dim is a number or a product of names, never a sum", "give sizes with --where")


def root(value: Value) -> int | float:
    """Return the square root of a square number; nan for anything else."""
    return isqrt(value) if isinstance(value, int) and value >= 0 and isqrt(value) ** 2 == value else nan


def element(value: Value, key: Value, error: MakeError) -> Value:
    """Return an item or slice of a tuple, or a part of a tensor.

    Raises `ShapeError` (usage) if there is none.
    """
    if isinstance(value, tuple):
        try:
            return value[key]  # type: ignore[index]  # an invalid key raises
        except (TypeError, IndexError, ValueError):
            raise error(f"there is no such element among {len(value)}") from None
    if isinstance(value, Chunks) and isinstance(key, int):
        if value.count is not None and not -value.count <= key < value.count:
            raise error(f"there is no such part among {value.count}")
        return value.chunk(key if value.count is None else key % value.count)
    raise error("only a shape, a tensor or its parts can be indexed")


def as_size(value: Value) -> Value:
    """Return the size that a tensor value denotes; return other values unchanged."""
    return value if not isinstance(value, Tensor) or value.size is None else value.size


def begun(dims: Shape, dialect: str) -> Tensor:
    """Return a tensor without stages, at which a chain starts."""
    return Tensor(dims, (), dialect, given=dims)


def cut(tensor: Tensor, axis: int, **options: object) -> Chunks:
    """Split a tensor into chunks; raise `StageRefused` if a rule refuses the split."""
    trace = tensor.after("split", axis=axis, **options).traces[-1]
    (runs,) = [step.facts["runs"] for step in trace.steps if "runs" in step.facts]
    return Chunks(tensor, axis, count_of(runs), options)


def positions(tensor: Tensor, error: MakeError) -> Chunks:
    """Unbind a tensor along its first axis.

    Raises `ShapeError` (usage) if its size is unknown.
    """
    if not tensor.shape or not isinstance(tensor.shape[0], int):
        raise error("how many values there are is not known", "give sizes with --where")
    return Chunks(tensor, 0, tensor.shape[0])


ATTRIBUTES: dict[str, Callable[[Tensor], Value]] = {
    "shape": lambda tensor: tensor.shape,
    "size": lambda tensor: product(tensor.shape),
    "ndim": lambda tensor: tensor.rank,
    "T": Tensor.reversed,
    "mT": lambda tensor: tensor.moved([*range(tensor.rank)[:-2], tensor.rank - 1, tensor.rank - 2]),
    "data": lambda tensor: tensor,
}
"""The values of a tensor's attributes."""


def indexed(tensor: Tensor, key: Value, error: MakeError) -> Tensor:
    """Return the tensor after an index expression.

    An integer selects a position, a slice keeps a range, and None inserts a dim of 1.

    Raises `ShapeError` (usage) for other indices.
    """
    items = _one_for_each_axis(key if isinstance(key, tuple) else (key,), tensor.rank, error)
    axes = [item for item in items if item is not None]
    slices = [item if isinstance(item, slice) else slice(None) for item in axes]
    if any(part != slice(None) for part in slices):
        ends = [end for part in slices for end in (part.start, part.stop, part.step)]
        if not all(end is None or isinstance(end, int) for end in ends):
            raise error("a slice takes whole numbers", "give sizes with --where")
        tensor = tensor.after("slice", slices=tuple(slices))
    for axis in reversed(range(len(axes))):
        if isinstance(axes[axis], int):
            tensor = tensor.after("select", axis=axis, index=axes[axis])
    kept = [item for item in items if item is None or isinstance(item, slice)]
    new = tuple([position for position, item in enumerate(kept) if item is None])
    return tensor.inserted(new) if new else tensor


def _one_for_each_axis(items: tuple[Value, ...], rank: int, error: MakeError) -> list[Value]:
    """Return the index with its `...` expanded and omitted axes filled in."""
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


TENSORS = ("input", "x", "a", "tensor", "array", "arr")
"""The keywords under which functions take the tensor."""
LISTS = ("tensors", "arrays", "values", "input", "x", "other", "y")
"""The keywords under which functions take several tensors."""


def _shape_of(value: Value, call: Call) -> Value:
    if not isinstance(value, Tensor):
        raise call.error(f"{call.name} works on the tensor only")
    (axis,) = call.named("dim/axis")
    return value.shape if axis is None else value.shape[call.axis(value, axis)]


def _all_dims(value: Value, call: Call) -> Shape:
    dims = value.shape if isinstance(value, Tensor) else value
    if not isinstance(dims, tuple) or not all(map(is_dim, dims)):
        raise call.error(f"{call.name} works on a shape or on the tensor only")
    return dims  # type: ignore[return-value]


def _same(value: Value, call: Call) -> Value:
    if isinstance(value, tuple) or is_dim(value):
        return value
    not_square = "a root needs a square number, and a size is whole"
    raise call.error(not_square if isinstance(value, float) else f"{call.name} works on sizes only")


MEASURES: dict[str, Callable[[Value, Call], Value]] = {
    **dict.fromkeys(("size", "shape", "get_shape"), _shape_of),
    **dict.fromkeys(("as_list", "int", "tuple", "list", "Size", "TensorShape", "floor"), _same),
    "len": lambda value, call: (
        element(value.shape, 0, call.error) if isinstance(value, Tensor) else len(_all_dims(value, call))
    ),
    **dict.fromkeys(("sqrt", "isqrt"), lambda value, _: value if isinstance(value, Tensor) else root(value)),
    **dict.fromkeys(("PRNGKey", "default_rng", "Generator", "device"), lambda *_: nan),
    **dict.fromkeys(("dim", "ndimension", "rank"), lambda value, call: len(_all_dims(value, call))),
    **dict.fromkeys(("numel", "prod", "nelement"), lambda value, call: product(_all_dims(value, call))),
}
"""The functions that return sizes of a tensor or a shape."""


def _asked(call: Call) -> Shape:
    """Return the requested shape: a tuple, a keyword, or one size an argument."""
    named = [call.keywords[name] for name in ("size", "shape") if name in call.keywords]
    requested = next((value for value in (*named, *call.values) if isinstance(value, tuple)), tuple(named))
    if not requested and call.name in ("full", "randint", "integers", "normal", "uniform") and () not in call.values:
        raise call.error(f"{call.name} needs the shape in a tuple")
    return tuple([call.dim(dim) for dim in requested or call.values])


def _counted(call: Call) -> Shape:
    start, stop = call.named("start/end/stop", "stop/end")
    return (call.dim(start if stop is None else arithmetic(stop, "-", start, call.error)),)


MAKING: dict[str, Callable[[Call], Shape]] = {
    **dict.fromkeys(("zeros", "ones", "empty", "full", "rand", "randn", "random", "randint", "normal"), _asked),
    "arange": _counted,
}
"""The functions that create a tensor from a shape."""


def is_known(name: str) -> bool:
    """Return whether a method, function or layer of this name is supported."""
    return any(name in known for known in (SHAPE_CHANGING, SHAPE_KEEPING, MEASURES, LAYERS, JOINING, MAKING))


def call_tensor(name: str, values: Sequence[Value], keywords: Mapping[str, Value], error: MakeError) -> Value:
    """Return the value of a function call.

    The tensor is the first value or a keyword.

    Raises `ShapeError` (usage) for an unknown function or one without an op, and `StageRefused` if a rule refuses the
    op.
    """
    keywords = dict(keywords)
    if name in JOINING:
        return _joined(Call(name, tuple(values), keywords, error))
    first = next((keywords.pop(keyword) for keyword in TENSORS if isinstance(keywords.get(keyword), Tensor)), None)
    if first is None and values:
        first, values = values[0], values[1:]
    call = Call(name, tuple(values), keywords, error)
    if name in MEASURES:
        return MEASURES[name](first, call)
    if not is_known(name) or name in MAKING:
        raise error(f"{visible(brief(name))} is not known here")
    if name in SHAPE_KEEPING and (is_number(first) or isinstance(first, str)):
        return nan
    if not isinstance(first, Tensor):
        raise error(f"{name} works on the tensor only")
    if name in LAYERS:
        return _layer(first, call)
    return first if name in SHAPE_KEEPING else SHAPE_CHANGING[name](first, call)


def _layer(tensor: Tensor, call: Call) -> Tensor:
    layer = LAYERS[call.name]
    names = [name.partition("/")[0] for name in layer.names]
    arguments = dict(zip(names, call.named(*layer.names), strict=True))
    shapes = {name: value.shape if isinstance(value, Tensor) else value for name, value in arguments.items()}
    try:
        options = layer.options(tensor.shape, shapes)
    except (TypeError, ValueError, IndexError):  # an argument that is not a size
        options = {"weight": None}
    weight = options.get("weight", ())
    if not isinstance(weight, tuple) or not all(map(is_dim, weight)):
        raise call.error(f"{call.name} needs sizes or a tensor's shape for {', '.join(names[:3])}")
    return tensor.after(layer.op, **options)


def _joined(call: Call) -> Tensor:
    op, keywords = JOINING[call.name], dict(call.keywords)
    values = [*call.values, *[keywords.pop(name) for name in LISTS if name in keywords]]
    axes = [keywords.pop(name) for name in ("dim", "axis") if name in keywords]
    options: dict[str, object] = {}
    if op == "einsum":
        options["pattern"] = values.pop(0) if values else None
    if values and isinstance(values[0], tuple):
        values, axes = [*values[0]], [*values[1:], *axes]
    if op in ("concat", "stack"):
        options["axis"] = call.whole(axes.pop() if axes else None, 0)
    elif op == "broadcast":
        values = [value for value in values if not is_number(value)]
    if op == "einsum" and len(values) == 1 and isinstance(values[0], Tensor):
        spaced = re.sub(r"([A-Za-z]|\.\.\.)", r"\1 ", str(options["pattern"]))
        return values[0].after("rearrange", pattern=spaced)
    for name in {*keywords} - {"alpha"} or ("dim" for _ in axes):
        raise call.error(f"the argument {visible(brief(name))} of {call.name} is not supported")
    return combined(op, values, call.error, **options)


def combined(op: str, parts: Sequence[Value], error: MakeError, **options: object) -> Tensor:
    """Apply an op of several tensors; the traced one continues the chain."""
    tensors = [part for part in parts if isinstance(part, Tensor)]
    if len(tensors) < len(parts) or not tensors:
        raise error("another tensor's shape is not known", "give all shapes: --input 'x=N,C w=C,D'")
    main = next(
        (tensor for tensor in sorted(tensors, key=lambda candidate: not candidate.stages) if tensor.main), tensors[0]
    )
    if len(tensors) == 1 and op == "broadcast":
        return main
    main_index = next(index for index, tensor in enumerate(tensors) if tensor is main)
    operands = tuple([HERE if index == main_index else tensor.checked().shape for index, tensor in enumerate(tensors)])
    return main.after(op, operands=operands[1:] if main_index == 0 else operands, **options)


def _view(tensor: Tensor, call: Call) -> Tensor:
    target = call.dims("size", "shape")
    return tensor.viewed(target) if tensor.dialect == "torch" else tensor.reshaped(*target)


def _transpose(tensor: Tensor, call: Call) -> Tensor:
    if tensor.dialect == "torch":
        return _swapped(tensor, call, "dim0/axis0", "dim1/axis1")
    axes = call.axes("axes", "perm")
    return tensor.moved(axes) if axes else tensor.reversed()


def _swapped(tensor: Tensor, call: Call, *names: str) -> Tensor:
    axes = list(range(tensor.rank))
    one, other = [call.axis(tensor, value) for value in call.named(*names)]
    axes[one], axes[other] = other, one
    return tensor.moved(axes)


def _moveaxis(tensor: Tensor, call: Call) -> Tensor:
    lists = [value if isinstance(value, tuple) else (value,) for value in call.named("source", "destination")]
    sources, destinations = ([call.axis(tensor, axis) for axis in group] for group in lists)
    if len({len(sources), len(destinations), len({*sources}), len({*destinations})}) > 1:
        raise call.error("each axis moves to one place")
    order = [axis for axis in range(tensor.rank) if axis not in sources]
    for destination, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(destination, axis)
    return tensor.moved(order)


def _flatten(tensor: Tensor, call: Call, start: int = 0) -> Tensor:
    first, last = call.named("start_dim", "end_dim")
    if tensor.dialect != "torch":
        return tensor.reshaped(-1)
    return tensor.after("flatten", start_dim=call.whole(first, start), end_dim=call.whole(last, -1))


def _squeeze(tensor: Tensor, call: Call) -> Tensor:
    axes = call.listed("dim", "axis")
    return tensor.after("squeeze", axes=call.axes("dim", "axis") if axes not in ((), (None,)) else None)


def _tile(tensor: Tensor, call: Call) -> Tensor:
    """Apply `tile`.

    NumPy aligns the repeats with the last dims; TensorFlow needs one repeat for each dim.
    """
    counts = call.dims("repeats", "reps", "dims", "multiples", "sizes")
    missing = tensor.rank - len(counts) if call.name == "tile" else 0
    return tensor.after("tile", repeats=(*(1,) * missing, *counts))


def _repeat(tensor: Tensor, call: Call) -> Tensor:
    """Apply `repeat` of PyTorch, einops or NumPy.

    PyTorch tiles, einops follows a pattern, and NumPy repeats element by element.
    """
    if call.values and isinstance(call.values[0], str):
        return _rearrange(tensor, call)
    return _tile(tensor, call) if tensor.dialect == "torch" else _repeat_elements(tensor, call)


def _repeat_elements(tensor: Tensor, call: Call) -> Tensor:
    """Repeat each element along one axis.

    Without an axis, the tensor is flattened first.
    """
    count, axis = call.named("repeats", "dim/axis")
    if axis is None:
        tensor, axis = tensor.reshaped(-1), 0
    index = call.axis(tensor, axis)
    dims, repeats = tensor.shape, call.dim(count)
    tensor = tensor.after("unsqueeze", axes=(index + 1,))
    tensor = tensor.after("expand", target=(*dims[: index + 1], repeats, *dims[index + 1 :]))
    return tensor.reshaped(*dims[:index], product((dims[index], repeats)), *dims[index + 1 :])


def _rearrange(tensor: Tensor, call: Call) -> Tensor:
    """Apply einops' `rearrange` or `repeat`.

    With a named length, the pattern is expanded into its stages.
    """
    if len(call.values) != 1 or not isinstance(call.values[0], str):
        raise call.error(f"{call.name} of einops takes a pattern")
    lengths = {name: call.dim(value) for name, value in call.keywords.items()}
    lengths_text = ",".join(f"{name}={length}" for name, length in lengths.items()) or None
    if not any(isinstance(length, Monomial) for length in lengths.values()):
        return tensor.after("rearrange", pattern=call.values[0], lengths=lengths_text)
    placeholder = ",".join(f"{name}=2" for name in lengths)
    return _planned(tensor, plan_of(tensor.rank, call.values[0], placeholder), lengths)


def _planned(tensor: Tensor, plan: Plan, lengths: Mapping[str, Dim]) -> Tensor:
    """Apply the stages of a pattern with these axis lengths."""
    sizes = lengths_of(tensor.shape, replace(plan, lengths={**plan.lengths, **lengths}))
    split_shape = tuple([sizes[axis] for axis in plan.axes])
    tensor = tensor if split_shape == tensor.shape else tensor.reshaped(*split_shape)
    tensor = tensor if plan.moved == tuple(range(tensor.rank)) else tensor.moved(plan.moved)
    if plan.new:
        tensor = tensor.inserted(tuple(plan.new))
        tensor = tensor.after("expand", target=tuple([sizes[axis] for names in plan.right for axis in names]))
    target = tuple([product([sizes[axis] for axis in names]) for names in plan.right])
    return tensor if target == tensor.shape else tensor.reshaped(*target)


def _chunk(tensor: Tensor, call: Call) -> Chunks:
    """Split by a count, by cut positions (NumPy) or by sizes (TensorFlow, Paddle)."""
    count, axis = call.named("chunks/indices_or_sections/num_or_size_splits/num_or_indices/indices", "dim/axis")
    split_axis = call.axis(tensor, axis, 0)
    if not isinstance(count, tuple):
        uneven = call.name in ("array_split", "tensor_split") or None
        return cut(tensor, split_axis, parts=call.whole(count), uneven=uneven)
    sizes = [call.dim(size) for size in count]
    are_positions = call.name != "split" or tensor.dialect in ("numpy", "jax")
    return cut(
        tensor, split_axis, sizes=_between(tensor.shape[split_axis], sizes, call) if are_positions else tuple(sizes)
    )


def _between(dim: Dim, places: Sequence[Dim], call: Call) -> Shape:
    """Return the sizes of the parts between cut positions.

    Raises `ShapeError` (usage) if the positions are unknown or do not ascend.
    """
    if isinstance(dim, int):
        cuts = [position if isinstance(position, int) else dim + 1 for position in places]
        ranges = [slice(*ends).indices(dim)[:2] for ends in pairwise((0, *cuts, dim))]
        if max(cuts, default=0) <= dim and all(start <= stop for start, stop in ranges):
            return tuple([stop - start for start, stop in ranges])
    raise call.error("the places of the cuts do not ascend, or are not known", "give sizes with --where")


def _split(tensor: Tensor, call: Call) -> Chunks:
    """Apply PyTorch's `split`.

    Its argument is the size of a part, or the list of all sizes.
    """
    if tensor.dialect != "torch":
        return _chunk(tensor, call)
    size, axis = call.named("split_size/split_size_or_sections/split_sizes", "dim")
    split_axis = call.axis(tensor, axis, 0)
    if isinstance(size, tuple):
        return cut(tensor, split_axis, sizes=tuple(map(call.dim, size)))
    count = quotient(tensor.shape[split_axis], call.dim(size)) if size != 0 else 0
    return cut(
        tensor, split_axis, **({"parts": count} if isinstance(count, int) and count else {"size": call.whole(size)})
    )


def _unbind(tensor: Tensor, call: Call) -> Chunks:
    (axis,) = call.named("dim/axis")
    split_axis = call.axis(tensor, axis, 0)
    dim = tensor.shape[split_axis]
    return Chunks(tensor, split_axis, dim if isinstance(dim, int) else None)


def _made(tensor: Tensor, call: Call) -> Tensor:
    """Apply a function that is composed of a few stages, such as `narrow`."""
    parameters = [parameter.rstrip("?") for parameter in MADE[call.name][2]]
    arguments = [value if value is None or isinstance(value, tuple) else (value,) for value in call.named(*parameters)]
    texts = [",".join([str(call.whole(item)) for item in value]) for value in arguments if value is not None]
    for words in made_stages(call.name, tensor.shape, texts):
        stage = read_stage(words, with_input=False)
        tensor = tensor.after(stage.op, **stage.options)
    return tensor


def _op(op: str, **arguments: str) -> Callable[[Tensor, Call], Tensor]:
    """Return a function that applies one op.

    `arguments` maps the op's options to the argument names of the call.
    """

    def change(tensor: Tensor, call: Call) -> Tensor:
        pairs = zip(arguments, call.named(*arguments.values()), strict=True)
        return tensor.after(op, **{name: value if value is None else call.size(value) for name, value in pairs})

    return change


def _reduced(tensor: Tensor, call: Call) -> Value:
    """Return the tensor after a reduction, at which a new chain starts.

    No op of a chain reduces an axis. `max` and `min` of PyTorch return a pair.
    """
    power = ("p/ord",) if call.name == "norm" else ()
    *_, axes, keepdims = call.named(*power, "dim/axis", "keepdim/keepdims")
    requested = range(tensor.rank) if axes is None else axes if isinstance(axes, tuple) else (axes,)
    reduced = [call.axis(tensor, axis) for axis in requested]
    dims = [
        1 if index in reduced else dim for index, dim in enumerate(tensor.shape) if keepdims or index not in reduced
    ]
    result = begun(tuple(dims), tensor.checked().dialect)
    returns_pair = tensor.dialect == "torch" and call.name in ("max", "min") and axes is not None
    return (result, result) if returns_pair else result


REDUCING = ("mean", "sum", "max", "min", "amax", "amin", "argmax", "argmin", "any", "all", "norm", "std", "var")
SHAPE_CHANGING: dict[str, Callable[[Tensor, Call], Value]] = {
    name: change
    for listed, change in {
        "contiguous ascontiguousarray": lambda tensor, _: replace(tensor, copied_at=len(tensor.traces)),
        "reshape": lambda tensor, call: tensor.reshaped(*call.dims("shape", "newshape", "new_shape", "target_shape")),
        "view": _view,
        "permute permute_dims permute_dimensions": lambda tensor, call: tensor.moved(
            call.axes("dims", "perm", "axes", "pattern")
        ),
        "transpose": _transpose,
        "swapaxes swapdims": lambda tensor, call: _swapped(tensor, call, "dim0/axis0/axis1", "dim1/axis2"),
        "t": lambda tensor, call: tensor.moved(call.axes() or ((1, 0) if tensor.rank > 1 else range(tensor.rank))),
        "moveaxis movedim": _moveaxis,
        "flatten ravel": _flatten,
        "Flatten": lambda tensor, call: _flatten(tensor, call, start=1),
        "select": _op("select", axis="dim", index="index"),
        "unflatten Unflatten": _op("unflatten", axis="dim", sizes="sizes/unflattened_size"),
        "squeeze": _squeeze,
        "unsqueeze expand_dims": lambda tensor, call: tensor.after("unsqueeze", axes=call.axes("dim", "axis")),
        "expand broadcast_to": lambda tensor, call: tensor.after("expand", target=call.dims("size", "shape")),
        "tile tf.tile tensorflow.tile": _tile,
        "repeat": _repeat,
        "repeat_interleave": _repeat_elements,
        "rearrange Rearrange": _rearrange,
        "pixel_shuffle PixelShuffle": _op("depth_to_space", block="upscale_factor"),
        "pixel_unshuffle PixelUnshuffle": _op("space_to_depth", block="downscale_factor"),
        "chunk array_split tensor_split": _chunk,
        " ".join(MADE): _made,
        "split": _split,
        "unbind unstack": _unbind,
        "flip": lambda tensor, call: tensor.after("flip", axes=call.axes("dims", "axis")),
        "roll": _op("roll", shift="shifts/shift", axis="dims/axis"),
        " ".join(REDUCING): _reduced,
    }.items()
    for name in listed.split()
}
"""The functions that change a shape."""
KEEPING = (
    "clone detach to float half double bfloat16 cpu cuda type type_as numpy copy astype requires_grad_ long "
    "asarray array tensor constant convert_to_tensor cast identity from_numpy as_tensor bool eval stop_gradient "
    "normalize layer_norm batch_norm group_norm rms_norm relu leaky_relu gelu silu elu sigmoid tanh softmax "
    "log_softmax softplus dropout exp log abs sin cos neg square pow rsqrt round clamp clip sign logical_not "
    "masked_fill masked_fill_ tril triu cumsum zeros_like ones_like randn_like rand_like empty_like full_like"
)
SHAPE_KEEPING = {*KEEPING.split()}
"""The functions that preserve a shape."""


FRAMEWORKS = {
    **dict.fromkeys(("torch", "F", "nn", "functional"), "torch"),
    **dict.fromkeys(("np", "numpy"), "numpy"),
    **dict.fromkeys(("jnp", "jax", "lax"), "jax"),
    **dict.fromkeys(("tf", "tensorflow", "keras", "K"), "tensorflow"),
    "paddle": "paddle",
}
"""The dialects of modules by their usual import names."""
OF_TORCH = {"view", "permute", "unsqueeze", "contiguous"}
"""Methods that PyTorch tensors have, and NumPy arrays lack or define otherwise."""
MODULES = {*FRAMEWORKS, "einops", "math", "ops", "layers"}
PROMPT = re.compile(r"\s*(?:>>>|\.\.\.|In \[\d+\]:) ?")
DEFINED = (ast.FunctionDef, ast.ClassDef)
PASTE = "paste the lines that end with one tensor, or their function"
FORWARD = ("forward", "call", "__call__")
LAYER_WORDS = "drop(out|path)?|(batch|layer|group|instance|rms)?_?norm|bn|ln|act(ivation)?|[a-z]{0,5}e?lu"
KEEPS = re.compile(rf"(?i)(.+_)?({LAYER_WORDS}|(log_?)?softmax|sigmoid|tanh|identity|(hard)?swish)_?\d*d?")
"""The names of layers that preserve a shape."""
DIM = r"(?:\d+|[A-Z]\w{0,3}|[a-z]{1,2}\d?|\w+[*/][\w*/]+|\?|\.\.\.)"
LONGEST_COMMENT = 200
COMMENT = re.compile(
    r"#+\s*(?:[\w .]*[:=])?\s*(?:[\w ]*shape\s)?(?:.*->\s*)?"
    rf"(?:(?:torch\.Size)?[(\[]+([^()\[\]]*,[^()\[\]]*)[)\]]+|({DIM}(?:\s*,\s*{DIM})+)\s*$)"
)
"""A comment that begins or ends with a shape.

Examples are `# (B, T, C) after the split`, `# shape: B,T,C` and `# x -> [B, T]`.
"""


def cleaned(text: str) -> str:
    r"""Strip prompts, printed output and indentation from pasted code.

    >>> cleaned(">>> x.T\n(3, 2)"), cleaned("x = x.T\n    x[0]")
    ('x.T', 'x = x.T\nx[0]')
    """
    if PROMPT.match(text):
        text = "\n".join([PROMPT.sub("", line, 1) for line in text.splitlines() if PROMPT.match(line)])
    text = dedent(text).strip()
    first, _, rest = text.partition("\n")
    is_indented = rest[:1].isspace() and not first.partition("#")[0].rstrip().endswith((*":([{,\\",))
    return f"{first}\n{dedent(rest)}" if is_indented else text


def parsed(text: str) -> ast.Module:
    """Parse code; raise `ShapeError` (usage) if it is not valid Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        before = text.splitlines(keepends=True)[: (error.lineno or 1) - 1]
        start = min(len("".join(before)) + max(0, (error.offset or 1) - 1), max(0, len(text) - 1))
        hint = "shapecalc doctor reads errors" if re.search(r"Traceback|Error\b|File \"", text) else ""
        raise misuse(f"this is not Python: {error.msg}", hint, argument="line", span=(start, start + 1)) from None
    except (RecursionError, MemoryError):
        raise misuse("the code is nested too deep", argument="line") from None
    except ValueError as error:
        raise misuse(f"this is not Python: {visible(str(error))}", argument="line") from None


def as_written(name: str) -> str:
    """Normalize the name of a tensor, or the call that creates it.

    The result is the text that `ast.unparse` prints. Raises `ShapeError` (usage) for any other expression.
    """
    match parsed(name).body:
        case [ast.Expr(value=ast.Name() | ast.Attribute() | ast.Call() as node)]:
            return ast.unparse(node)
    raise misuse(f"'{visible(brief(name))}' is not a name for a tensor", "write --input x=N,C,H,W", argument="input")


def dialect_of(tree: ast.AST) -> str:
    """Guess the dialect from imported module names and methods; PyTorch by default."""
    markers = set[str | None]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in FRAMEWORKS:
            return FRAMEWORKS[node.id]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            # PyTorch's transpose takes two axes, NumPy's takes all.
            takes_all_axes = node.func.attr == "transpose" and len([*node.args, *node.keywords]) != 2
            markers |= {"all axes" if takes_all_axes else node.func.attr, *[keyword.arg for keyword in node.keywords]}
    is_numpy = markers & {"all axes", "astype", "ravel"} or ("axis" in markers and not markers & OF_TORCH)
    return "numpy" if is_numpy else "torch"


def subject_of(statements: Sequence[ast.stmt]) -> tuple[list[ast.stmt], str]:
    """Return the statements to interpret and the name of their tensor.

    The name is empty unless the function has a single parameter.

    If the module defines only functions and classes, the statements are the body of the last function, or of the
    class's `__init__` and `forward`.
    """
    defined = [node for node in statements if isinstance(node, DEFINED)]
    lines = [node for node in statements if not isinstance(node, DEFINED)]
    if not defined or does_something(lines):
        return lines, ""
    candidates = defined[-1].body if isinstance(defined[-1], ast.ClassDef) else defined
    methods = {node.name: node for node in candidates if isinstance(node, ast.FunctionDef)}
    entry = next((methods[name] for name in (*FORWARD, *reversed(methods)) if name in methods), None)
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


def first_name(statements: Iterable[ast.stmt]) -> str:
    """Return the first variable that is not a module or function.

    Returns `x` if there is none.
    """
    nodes = [node for statement in statements for node in ast.walk(statement) if isinstance(node, ast.Name)]
    loaded = [
        node for node in nodes if isinstance(node.ctx, ast.Load) and not (node.id in MODULES or is_known(node.id))
    ]
    return min(loaded, key=lambda node: (node.lineno, node.col_offset)).id if loaded else "x"


def does_something(statements: Iterable[ast.AST]) -> bool:
    """Return whether the statements hold a supported call or an index."""
    nodes = [node for statement in statements for node in ast.walk(statement)]
    called = [getattr(node.func, "attr", dotted_name(node.func)) for node in nodes if isinstance(node, ast.Call)]
    return any(map(is_known, called)) or any(isinstance(node, ast.Subscript) for node in nodes)


def names_in(statement: ast.stmt, context: type[ast.expr_context]) -> set[str]:
    """Return the names that a statement loads or stores."""
    return {dotted_name(node) for node in ast.walk(statement) if isinstance(getattr(node, "ctx", None), context)}


def keeps(called: str) -> bool:
    """Return whether a layer preserves the shape by its name: `self.attn_drop`."""
    base, _, name = called.rpartition(".")
    return base in ("", "self") and KEEPS.fullmatch(name) is not None


def dotted_name(node: ast.AST) -> str:
    """Return a dotted name as it is written; empty for any other expression."""
    text = ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""
    return text if text.replace(".", "").isidentifier() else ""


def _offset(text: str, line: int, column: int) -> int:
    """Return the offset of a character.

    Python counts lines from 1 and columns in UTF-8 bytes.
    """
    lines = text.splitlines(keepends=True)
    before = lines[line - 1].encode("utf-8", "surrogatepass")[:column]
    return len("".join(lines[: line - 1])) + len(before.decode("utf-8", "surrogatepass"))


def span_of(text: str, node: ast.expr | ast.stmt) -> tuple[int, int]:
    """Return the span of an expression in code."""
    end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
    return _offset(text, node.lineno, node.col_offset), _offset(text, end_line, end_column)


def shapes_in_comments(text: str) -> Iterator[tuple[int, ShapePattern]]:
    """Yield the shapes that comments declare, each with its line number."""
    with suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            match = COMMENT.match(token.string[:LONGEST_COMMENT]) if token.type == tokenize.COMMENT else None
            with suppress(ShapeError):  # a comment that only looks like a shape
                if match:
                    yield token.start[0], read_pattern((match[1] or match[2]).strip(" ,"), "line")


FEATURES = re.compile("(?i)proj|fc|linear|dense|mlp|att|head|classif|embed|qkv")
"""The names of layers whose input is a feature vector, not an image."""
IGNORED = {"dtype", "device", "out", "requires_grad", "name", "copy", "memory_format", "inplace", "non_blocking"}
"""Arguments that do not affect shapes."""
LISTS_OF_SIZES = re.compile(r"(.*_)?(shape|sizes|dims|perm|axes)")
HOLDS = {ast.Eq: (0,), ast.NotEq: (-1, 1), ast.Lt: (-1,), ast.LtE: (-1, 0), ast.Gt: (1,), ast.GtE: (0, 1)}
"""The signs of `left - right` for which a comparison is true."""


class CodeChain(Record):
    """The chain that code describes, with notes on its interpretation."""

    shape: Shape
    stages: tuple[Stage, ...]
    notes: tuple[str, ...]
    main: bool
    """Whether the chain starts at the first input."""


class Claimed(Exception):
    """Signals which tensor the unnamed input shape belongs to.

    Its argument is the name.
    """


def read_code(
    text: str, inputs: Mapping[str, Shape], dialect: str | None = None, sizes: Mapping[str, int | Shape] = NONE
) -> CodeChain:
    """Return the chain that code applies to the first of its input tensors.

    `inputs` maps names of tensors to shapes; the shape under the empty name belongs to the tensor that the code starts
    with. `sizes` are substituted for names. Raises `ShapeError` (usage) with a span for code that is not supported.

    >>> from shapecalc.core.text import read_dims
    >>> read_code("x.transpose(1, 2)", {"x": read_dims("B,T,C")}).stages
    (('transpose', {'perm': (0, 2, 1), 'dialect': 'torch'}),)
    >>> read_code("torch.zeros(2, 3).view(-1)", {}).shape
    (2, 3)
    """
    if len(text) > LONGEST_CODE:
        raise LONGEST_CODE.passed(f"{len(text)} characters of code", PASTE, argument="line")
    tree = parsed(text)
    try:
        dialect_name = dialect_called(dialect).name if dialect else dialect_of(tree)
        lines, name = subject_of(tree.body)
        try:
            return Reader(text, dialect_name, sizes).read(
                lines, {input_name or name: dims for input_name, dims in inputs.items()}
            )
        except Claimed as claimed:
            return Reader(text, dialect_name, sizes).read(
                lines, {input_name or claimed.args[0]: dims for input_name, dims in inputs.items()}
            )
    except RecursionError:
        raise misuse("the code is nested too deep", argument="line") from None


def is_code(text: str) -> bool:
    """Return whether a text is Python with a supported call or index.

    A shape is not code.

    >>> is_code("x.view(2, -1)"), is_code("x[:, None]"), is_code("torch.Size([2, 3])"), is_code("3*H*W")
    (True, True, False, False)
    """
    if len(text) > LONGEST_CODE:
        return False
    with suppress(ShapeError):
        read_dims(text)
        return False
    with suppress(ShapeError):
        return does_something([parsed(cleaned(text))])
    return False


class Reader:
    """An interpreter of a syntax tree over sizes, tuples and traced tensors.

    The error of an unsupported statement becomes the value of the names that it assigns, and is raised where they are
    used, so a line that the answer does not need does not fail.
    """

    def __init__(self, text: str, dialect: str, sizes: Mapping[str, int | Shape]) -> None:
        """Create an interpreter without variables."""
        self.text, self.dialect, self.sizes, self.line = text, dialect, sizes, 1
        self.given: dict[str, Tensor] = {}
        self.unnamed = False
        """Whether an input shape has no name and is not yet assigned to a tensor."""
        self.assigned: dict[str, Value | ShapeError] = {}
        self.last: Value | ShapeError = None
        """The last tensor of a statement, or the error that prevented it."""
        self.passed: dict[ShapeError, None] = {}
        """The errors of skipped statements, in order."""
        self.shape_at: dict[int, Shape] = {}
        """The shapes by the last line of the statement that returned or assigned them."""
        self.notes: dict[str, None] = {}
        self.met: set[str] = set()
        """The names of sizes that were read."""
        self.count = 0
        """The number of interpreted statements."""
        self.ended = False
        """Whether the code has returned."""
        self.asking = False
        """Whether a shape argument is being evaluated.

        A tensor of one dim then denotes a size.
        """

    def read(self, statements: Sequence[ast.stmt], inputs: Mapping[str, Shape]) -> CodeChain:
        """Interpret statements.

        Raises `UnnamedInputFound` if the input shape has no name yet.
        """
        numbers = {name: size for name, size in self.sizes.items() if isinstance(size, int)}
        self.unnamed = "" in inputs
        for name, dims in inputs.items() if not self.unnamed else ():
            tensor = begun(tuple([substitute(dim, numbers) for dim in dims]), self.dialect)
            size = tensor.shape[0] if tensor.rank == 1 else None
            self.given[as_written(name)] = replace(tensor, main=not self.given, size=size)
        self.assigned.update(self.given)
        known = names([dim for dims in inputs.values() for dim in dims])
        try:
            self.body(statements)
        except Refused as refused:
            if "\n" in self.text.strip():
                source_line = self.text.splitlines()[self.line - 1].strip()
                self.notes[visible(f"refused in line {self.line}: {brief(source_line)}")] = None
            return CodeChain(refused.args[0], refused.args[1], self.noted(known), True)
        if self.unnamed:
            raise Claimed(first_name(statements))
        if isinstance(self.last, ShapeError):
            raise self.last
        check_names_known(dict.fromkeys(self.sizes, 0), [*known, *sorted(self.met)])
        return self.chain(self.last, known)

    def chain(self, value: Value, known: Sequence[str]) -> CodeChain:
        """Return the chain that led to a value.

        Raises `ShapeError` (usage) if the value is not a tensor, or a tensor without stages.
        """
        if isinstance(value, tuple):
            value = next((part for part in value if isinstance(part, Tensor)), value)
        value = (value.together or value) if isinstance(value, Chunks) else value
        if isinstance(value, Chunks):
            hint = f"take one of them, as [0] does, or write the stage: select {value.axis} 0"
            raise misuse(f"the code ends with {value.count} parts, not with one tensor", hint, argument="line")
        if not isinstance(value, Tensor):
            raise misuse("the code does not end with a tensor", PASTE, argument="line")
        if not value.stages:
            shown = brief(shape_text(value.shape))
            hint = "give what comes before it, or the class that makes it"
            raise misuse(f"the code ends with a tensor as it was given or made, {shown}", hint, argument="line")
        return CodeChain(value.given, value.stages, self.noted(known), value.main)

    def noted(self, known: Sequence[str]) -> tuple[str, ...]:
        """Return the notes on the interpretation.

        They are assumptions, skipped statements, and comments whose shapes differ.
        """
        notes = [*self.notes, *[f"passed over: {error.problem.message}" for error in self.passed]]
        sizes = {name: size for name, size in self.assigned.items() if isinstance(size, Dim) and name not in known}
        for line, pattern in shapes_in_comments(self.text) if self.shape_at else ():
            matcher = Matcher(pattern, sizes, known)
            problem = matcher.problem(self.shape_at[line]) if line in self.shape_at else None
            sizes = matcher.sizes if problem is None else sizes
            notes += [f"line {line}, the comment: {problem.message}"] if problem else []
        return tuple(notes)

    def body(self, statements: Sequence[ast.stmt]) -> None:
        """Interpret statements.

        The error of a failing statement is stored under the names that it assigns, except names of inputs.
        """
        for statement in statements:
            self.count += 1
            if self.count > MOST_STATEMENTS:
                raise MOST_STATEMENTS.passed(f"{self.count} statements of code", PASTE, argument="line")
            self.line, self.asking = statement.lineno, False
            try:
                self.statement(statement)
            except ShapeError as error:
                stored = names_in(statement, ast.Store)
                if not stored or stored - (self.given.keys() - names_in(statement, ast.Load)):
                    self.last = error
                    self.passed.update(dict.fromkeys([error] if stored else []))
                    self.assigned.update(dict.fromkeys(stored, error))
            self.ended = self.ended or isinstance(statement, ast.Return | ast.Raise)
            if self.ended:
                return

    def statement(self, node: ast.stmt) -> None:
        """Interpret one statement and record its tensor."""
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Pass() | ast.Assert() | ast.Global() | ast.Delete():
                return
            case ast.Expr(value=ast.Constant() | ast.Call(func=ast.Name(id="print"))) | ast.Raise():
                return
            case ast.If(test=test, body=body, orelse=orelse):
                self.body({True: body, False: orelse, None: ()}[self.truth(test, node)])
                return
            case ast.With(body=body):
                self.body(body)
                return
            case ast.Expr(value=ast.Attribute(value=inner, attr="shape") | inner) | ast.Return(value=inner) if inner:
                value = self.value(inner)
            case ast.Assign(value=inner) | ast.AnnAssign(value=ast.expr() as inner):
                value = self.assigned_by(node, inner)
            case ast.AugAssign(target=target, op=sign, value=inner):
                value = self.computed(node, self.value(target), SIGNS.get(type(sign).__name__, "&"), self.value(inner))
                self.assign(target, value)
            case _:
                raise self.error(node, "this statement is not supported", PASTE)
        part = value.chunk(0) if isinstance(value, Chunks) and value.count != 0 else value
        shape = part.shape if isinstance(part, Tensor) else part
        if isinstance(shape, tuple):
            self.shape_at[node.end_lineno or 0] = tuple(filter(is_dim, shape))
        tensors = value if isinstance(value, tuple) else (value,)
        if isinstance(node, ast.Return) or any(isinstance(item, Tensor | Chunks) for item in tensors):
            self.last = value

    def assigned_by(self, node: ast.Assign | ast.AnnAssign, inner: ast.expr) -> Value:
        """Bind the targets of an assignment and return the value.

        The given shape of a target replaces a constant or created tensor.
        """
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        name, is_created = (
            dotted_name(targets[0]),
            isinstance(inner, ast.Call) and getattr(inner.func, "attr", "") in MAKING,
        )
        value: Value = self.given.get(name) if is_created or isinstance(inner, ast.Constant) else None
        if value is None and isinstance(inner, ast.Constant) and name in self.sizes:
            value = self.size(inner, name)
        elif value is None:
            self.check_shape_known(inner, targets[0])
            value = self.value(inner)
        if hasattr(targets[0], "elts"):
            self.check_known([inner])
        for target in targets:
            self.assign(target, value)
        return value

    def check_shape_known(self, inner: ast.expr, target: ast.expr) -> None:
        """Raise the missing-shape error for `B, T, C = x.shape` with an unknown `x`."""
        name, dims = dotted_name(inner), ",".join(filter(None, map(dotted_name, getattr(target, "elts", ()))))
        if dims and name.endswith(".shape") and not (self.is_assigned(name) or {name, "shape"} & self.sizes.keys()):
            assert isinstance(inner, ast.Attribute)
            raise self.lacking(inner.value, dims)

    def assign(self, target: ast.expr, value: Value) -> None:
        """Bind an assignment target; unpack tuples and starred targets."""
        name, parts = dotted_name(target), getattr(target, "elts", None)
        if name:
            self.assigned[name] = value
            return
        if parts is None and isinstance(target, ast.Subscript):
            return
        value = positions(value, self.error_at(target)) if isinstance(value, Tensor) else value
        if parts is None or not isinstance(value, tuple | Chunks):
            raise self.error(target, "nothing can be assigned to this here")
        star = next((index for index, part in enumerate(parts) if isinstance(part, ast.Starred)), None)
        if star is not None and isinstance(value, tuple):
            end = star + max(len(value) - len(parts) + 1, 0)
            value = (*value[:star], value[star:end], *value[end:])
            parts = [*parts[:star], parts[star].value, *parts[star + 1 :]]
        count = value.count if isinstance(value, Chunks) else len(value)
        if count is not None and count != len(parts):
            raise self.error(target, f"{len(parts)} names for {count} values")
        for position, part in enumerate(parts):
            self.assign(part, element(value, position, self.error_at(part)))

    def truth(self, test: ast.expr, node: ast.If) -> bool | None:
        """Return the truth of a condition.

        Returns None if it is unknown and the branches assign nothing. Raises `ShapeError` (usage) if it is unknown and
        a branch assigns a name.
        """
        value: Value = nan
        with suppress(ShapeError):
            value = self.value(test)
        if value is None or isinstance(value, int):
            return bool(value)
        if names_in(node, ast.Store):
            hint = f"paste the lines of one, or give it: --where {brief(self.segment(test))}=0"
            raise self.error(node, "which branch is taken is not known", hint)
        return None

    def applied(self, held: Held, values: list[Value], keywords: Mapping[str, Value], error: MakeError) -> Value:
        """Apply a layer to a tensor."""
        if held.name == "Sequential" and values:
            for inner in held.values:
                if not isinstance(inner, Held):
                    raise error("this is no layer")
                values = [self.applied(inner, values, {}, error)]
            return values[0]
        if keeps(held.name) and values:
            return values[0]
        return call_tensor(held.name, [*values, *held.values], {**keywords, **held.keywords}, error)

    def value(self, node: ast.expr) -> Value:
        """Return the value of an expression.

        Raises `ShapeError` (usage) if it is not supported.
        """
        match node:
            case ast.Constant(value=None | bool() | int() | float() | str() | EllipsisType() as constant):
                return constant
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return tuple(self.values(parts))
            case ast.Name() | ast.Attribute():
                return self.named(node)
            case ast.UnaryOp(op=sign, operand=operand):
                return negated(self.value(operand), sign, self.error_at(node))
            case ast.BinOp(left=left, op=sign, right=right) | ast.Compare(left=left, ops=[sign], comparators=[right]):
                return self.compared(node, self.value(left), sign, self.value(right))
            case ast.Subscript(value=inner, slice=index):
                return self.subscript(node, inner, index)
            case ast.Slice(lower=lower, upper=upper, step=step):
                return slice(*[None if end is None else as_size(self.value(end)) for end in (lower, upper, step)])
            case ast.Call():
                return self.called(node)
        raise self.error(node, "this is not supported here")

    def values(self, nodes: Sequence[ast.expr]) -> Iterator[Value]:
        """Yield the values of expressions; unpack starred ones."""
        for node in nodes:
            if isinstance(node, ast.Starred):
                value = self.value(node.value)
                if not isinstance(value, tuple):
                    raise self.listed(node.value) if is_dim(value) else self.error(node, "only a shape can be unpacked")
                yield from value
            else:
                yield self.value(node)

    def named(self, node: ast.expr) -> Value:
        """Return the value of a name or attribute.

        It is a variable, an attribute of a tensor, or a size.
        """
        name = dotted_name(node)
        if isinstance(value := self.assigned.get(name), ShapeError):
            raise value
        if name in self.assigned:
            return value
        if isinstance(node, ast.Attribute) and name not in self.sizes:
            if node.attr == "newaxis":
                return None
            if not name or self.is_assigned(name):
                base = self.value(node.value)
                if isinstance(base, Tensor) and node.attr in ATTRIBUTES and (node.attr != "mT" or base.rank > 1):
                    return ATTRIBUTES[node.attr](base)
                raise self.error(node, f".{brief(node.attr)} of this is not supported")
            if node.attr == "shape" and not self.unnamed:
                raise self.listed(node)
            if node.attr in ("shape", "T", "mT"):
                raise self.lacking(node.value)
        return self.size(node, name)

    def is_assigned(self, name: str) -> bool:
        """Return whether a dotted name or one of its prefixes is a variable."""
        return any(name == variable or name.startswith(f"{variable}.") for variable in self.assigned)

    def size(self, node: ast.expr, name: str) -> Value:
        """Return the size or sizes of a name; an attribute is looked up by its last part."""
        last = name.rpartition(".")[2]
        if not name.isascii() or len(name) > LONGEST_WORD:
            raise self.error(node, "a size has a name of plain letters")
        self.met |= {name, last}
        tensor = self.given.get(last)
        value = self.sizes.get(name, self.sizes.get(last, tensor.size if tensor else None))
        if value is None and LISTS_OF_SIZES.fullmatch(last):
            raise self.listed(node)
        return named_dim(last) if value is None else value

    def listed(self, node: ast.expr) -> ShapeError:
        """Return the error for an unknown list of sizes."""
        return self.error(node, "this is a list of sizes", f"--where {brief(self.segment(node))}=2,3,32,32 gives them")

    def compared(self, node: ast.expr, left: Value, sign: ast.operator | ast.cmpop, right: Value) -> Value:
        """Apply an operator or comparison; an unknown truth value is nan."""
        if isinstance(sign, ast.operator) or isinstance(left, Tensor) or isinstance(right, Tensor):
            return self.computed(node, left, SIGNS.get(type(sign).__name__, "&"), right)
        if isinstance(sign, ast.Is | ast.IsNot) and right is None:
            return nan if isinstance(left, Monomial) else (left is None) == isinstance(sign, ast.Is)
        if isinstance(left, int) and isinstance(right, int) and type(sign) in HOLDS:
            return (left > right) - (left < right) in HOLDS[type(sign)]
        return nan

    def computed(self, node: ast.expr | ast.AugAssign, left: Value, sign: str, right: Value) -> Value:
        """Apply a binary operator to sizes, tuples or tensors."""
        if sign in ("//", "%") or self.asking:
            left, right = as_size(left), as_size(right)
        if sign == "@" and isinstance(node, ast.BinOp):
            self.check_known([node.left, node.right])
        if sign == "@" or (isinstance(left, Tensor) and isinstance(right, Tensor)):
            return combined("matmul" if sign == "@" else "broadcast", (left, right), self.error_at(node))
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Tensor):
                if is_number(other):
                    return replace(one, size=None)
                tuple_hint = ", and this is a tuple: take a part of it, as [0] does" if isinstance(other, tuple) else ""
                raise self.error(node, f"{sign} is read between tensors and numbers only{tuple_hint}")
        result = arithmetic(left, sign, right, self.error_at(node))
        if sign == "//" and isinstance(result, Monomial):
            self.notes[f"{brief(self.segment(node))} is read as {brief(str(result))}: other sizes are left out"] = None
        return result

    def subscript(self, node: ast.Subscript, inner: ast.expr, index: ast.expr) -> Value:
        """Return an item of a tuple or the tensor after an index."""
        if ast.List in map(type, (index, *getattr(index, "elts", ()))):
            raise self.error(node, "a list of positions has no op here")
        name, key = dotted_name(inner), self.value(index)
        if isinstance(key, str) and name and key.isidentifier():
            return self.size(node, key)
        known = name in self.sizes or self.is_assigned(name)
        if name and isinstance(key, int) and key >= 0 and not known and not name.endswith(".shape"):
            return self.size(node, f"{name.rpartition('.')[2]}_{key}")
        base = self.value(inner)
        if name and isinstance(base, Monomial):
            raise self.lacking(inner)
        if isinstance(base, Tensor):
            return indexed(base, key, self.error_at(node))
        return element(base, key, self.error_at(node))

    def called(self, node: ast.Call) -> Value:
        """Return the value of a call of a method, a function or a layer."""
        function, path = node.func, dotted_name(node.func)
        if any("(" in name for name in self.given) and ast.unparse(node) in self.given:
            return self.given[ast.unparse(node)]
        name = path if is_known(path) else getattr(function, "attr", path)
        callee = self.value(function) if isinstance(function, ast.Call) or path in self.assigned else None
        if isinstance(callee, Held):
            if not (callee.name == "Sequential" or keeps(callee.name) or is_known(callee.name)):
                raise self.unknown(node)
            self.check_known(node.args[:1])
            return self.applied(callee, *self.arguments(node, node.args), self.error_at(node))
        base = path.rpartition(".")[0]
        if keeps(path) and node.args and (base or not is_known(name)):
            self.notes[f"{brief(self.segment(node))} is read as keeping the shape"] = None
            return self.value(node.args[0])
        return self.result(node, function, base, name)

    def result(self, node: ast.Call, function: ast.expr, base: str, name: str) -> Value:
        """Return the value of a call of a method or function, or instantiate a layer."""
        is_class = name[:1].isupper() and name not in MEASURES
        if (base == "self" and not self.is_assigned("self")) or not (is_class or is_known(name)):
            raise self.unknown(node)
        is_method = isinstance(function, ast.Attribute) and base.partition(".")[0] not in MODULES - self.given.keys()
        is_method = is_method and not is_class and (name not in MAKING or self.is_assigned(base))
        operands = [function.value, *node.args] if is_method else node.args  # type: ignore[attr-defined]
        first = [*self.values(operands[: name not in MAKING])]
        self.asking, outer = name in SHAPE_CHANGING or name in MAKING, self.asking
        others, keywords = self.arguments(node, [] if name in SHAPE_KEEPING else operands[name not in MAKING :])
        self.asking, values = outer, [*first, *others]
        if is_class and not any(isinstance(value, Tensor) for value in values):
            return Held(name, tuple(values), keywords)
        if is_method or (
            name not in (MEASURES | MAKING) and (isinstance(function, ast.Attribute) or name not in SHAPE_KEEPING)
        ):
            tensors = [item for operand in operands for item in getattr(operand, "elts", [operand])]
            self.check_known(tensors if JOINING.get(name, "broadcast") != "broadcast" else operands[:1])
        if not is_known(name):
            raise self.unknown(node)
        if name in MAKING and not is_method:
            return begun(MAKING[name](Call(name, tuple(values), keywords, self.error_at(node))), self.dialect)
        value = call_tensor(name, values, keywords, self.error_at(node))
        if name in REDUCING and isinstance(value, Tensor):
            self.notes[f"the chain begins with what {brief(self.segment(node))} returns"] = None
        return value

    def check_known(self, nodes: Iterable[ast.expr]) -> None:
        """Raise `ShapeError` (usage) for the first name of unknown shape."""
        for node in nodes:
            if dotted_name(node) and isinstance(self.value(node), Monomial):
                raise self.lacking(node)

    def arguments(self, node: ast.Call, operands: Sequence[ast.expr]) -> tuple[list[Value], dict[str, Value]]:
        """Return the values of a call's positional and keyword arguments."""
        named = {word.arg or "**": word.value for word in node.keywords if word.arg not in IGNORED}
        return [*self.values(operands)], {name: self.value(argument) for name, argument in named.items()}

    def unknown(self, node: ast.Call) -> ShapeError:
        """Return the error for an unknown function, with a hint."""
        callee = getattr(node.func, "attr", "") or dotted_name(node.func) or "this layer"
        if self.unnamed and dotted_name(node.func) in (callee, f"self.{callee}"):
            raise Claimed(ast.unparse(node))
        example = "B,T,C" if FEATURES.search(callee) else "B,256,H,W"
        hint_input, is_attribute = self.asked_for(node, example), dotted_name(node.func).startswith("self.")
        hint = f"paste its class, too, with __init__; or {hint_input}" if is_attribute else hint_input
        return self.error(node, f"{brief(callee)} is not known here", hint)

    def lacking(self, node: ast.expr, example: str = "N,C,H,W") -> ShapeError:
        """Return the error for a tensor of unknown shape, with a hint."""
        if self.unnamed:
            raise Claimed(ast.unparse(node))
        return self.error(node, "the shape of this tensor is not known", self.asked_for(node, example))

    def asked_for(self, node: ast.expr, example: str) -> str:
        """Return the `--input` option that declares the shape of an expression."""
        inputs = " ".join([f"{name}={shape_text(tensor.shape)} " for name, tensor in self.given.items()])
        return f"give its shape: --input '{brief(inputs)}{brief(self.segment(node))}={example}'"

    def error_at(self, node: ast.expr | ast.stmt) -> MakeError:
        """Return a function that builds errors for an expression."""
        return lambda message, hint="": self.error(node, message, hint)

    def segment(self, node: ast.expr | ast.stmt) -> str:
        """Return the source text of an expression on one line."""
        start, end = span_of(self.text, node)
        return visible(" ".join(self.text[start:end].split()))

    def error(self, node: ast.expr | ast.stmt, message: str, hint: str = "") -> ShapeError:
        """Return a usage error for an expression, with its span."""
        return misuse(f"'{brief(self.segment(node))}': {message}", hint, argument="line", span=span_of(self.text, node))

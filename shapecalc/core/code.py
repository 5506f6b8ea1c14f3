"""Lines of code as chains: PyTorch, NumPy, TensorFlow or JAX, read from the syntax tree and never run."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import isqrt
from types import EllipsisType
from typing import TypeAlias, TypeGuard

from shapecalc.core.answers import HERE, NONE, Trace
from shapecalc.core.ask import ask, check_names_known, dialect_called
from shapecalc.core.commands import MADE, made_stages, read_stage
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dims import Dim, Monomial, Shape, monomial, named_dim, names, product, quotient, substitute, total
from shapecalc.core.layers import JOINING, LAYERS
from shapecalc.core.limits import LONGEST_CODE, LONGEST_WORD, MOST_DIMS
from shapecalc.core.ops.rearrange import Plan, lengths_of, plan_of
from shapecalc.core.ops.split import count_of
from shapecalc.core.problem import ShapeError, misuse
from shapecalc.core.record import Record, replace
from shapecalc.core.resolve import resolve
from shapecalc.core.strides import strides_after
from shapecalc.core.text import TOO_LARGE, brief, read_dims, visible

# What expressions of code stand for beside tensors: sizes, tuples of them, and the arithmetic that sizes have.


Stage: TypeAlias = tuple[str, Mapping[str, object]]
Value: TypeAlias = "Dim | float | str | slice | EllipsisType | Tensor | Chunks | tuple[Value, ...] | None"
"""What an expression of code stands for."""
MakeError: TypeAlias = Callable[..., ShapeError]
"""Makes the error for the expression that is being read, from a message and a hint."""

HIGHEST_POWER = 64
OPERATORS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
}


def is_number(value: Value) -> TypeGuard[Dim | float]:
    """Say whether a value is a size or another number."""
    return isinstance(value, int | float | Monomial)


def is_dim(value: Value) -> TypeGuard[Dim]:
    """Say whether a value is a size: a whole number, or one with names."""
    return isinstance(value, int | Monomial) and not isinstance(value, bool)


def negated(value: Value, error: MakeError) -> Value:
    """Return a number with its sign changed; raise `ShapeError` (usage) for anything else."""
    if isinstance(value, int | float):
        return -value
    raise error("a minus sign is allowed before numbers only, not before sizes")


def arithmetic(left: Value, sign: str, right: Value, error: MakeError) -> Value:
    """Return what an operator makes of two sizes, or of two tuples that are joined.

    Raises `ShapeError` (usage) for what is no size: a sum with names, a division by 0, a number too large.
    """
    if isinstance(left, tuple) and isinstance(right, tuple) and sign == "+":
        if len(left) + len(right) > MOST_DIMS:
            raise error(MOST_DIMS.said(f"{len(left) + len(right)} dims"))
        return left + right
    if sign == "**" and right == 0.5:
        return root(left, error)
    if not (is_dim(left) and is_dim(right)):
        raise error(f"{sign} works between sizes only")
    found = _computed(left, sign, right, error)
    if isinstance(found, int) and abs(found) >= TOO_LARGE:
        raise error("the number has more digits than any size")
    return found


def _computed(left: Dim, sign: str, right: Dim, error: MakeError) -> Dim:
    if sign == "*":
        return product((left, right))
    if sign in ("/", "//", "%") and right == 0:
        raise error("a division by 0")
    if sign == "//" and isinstance(left, int) and isinstance(right, int):
        return left // right
    if sign in ("/", "//"):
        found = quotient(left, right)
        if isinstance(found, Monomial) and not found.powers:
            raise error(f"{found} is not a whole number", "// divides and rounds down")
        return found
    if sign == "**" and isinstance(right, int) and 0 <= right <= HIGHEST_POWER:
        return product([left] * right)
    if isinstance(left, int) and isinstance(right, int) and sign in ("+", "-", "%"):
        return {"+": left + right, "-": left - right, "%": left % right if right else 0}[sign]
    raise error("a dim is a number or a product of names, never a sum", "give sizes with --where")


def root(value: Value, error: MakeError) -> int:
    """Return the square root of a square; raise `ShapeError` (usage) for anything else."""
    if isinstance(value, int) and value >= 0 and isqrt(value) ** 2 == value:
        return isqrt(value)
    raise error("a root needs a square number", "give sizes with --where")


def element(value: Value, key: Value, error: MakeError) -> Value:
    """Return an element or a slice of a tuple, or a part of a tensor; raise `ShapeError` (usage) otherwise."""
    if isinstance(value, tuple):
        try:
            return value[key]  # type: ignore[index]  # the errors say what cannot be
        except (TypeError, IndexError, ValueError):
            raise error(f"there is no such element among {len(value)}") from None
    if isinstance(value, Chunks) and isinstance(key, int):
        if value.count is not None and not -value.count <= key < value.count:
            raise error(f"there is no such part among {value.count}")
        return value.chunk(key if value.count is None else key % value.count)
    raise error("only a shape, a tensor or its parts can be indexed")


# The tensor of a line of code: its shape after each op, the stages that led there, and how it is indexed.


class Refused(Exception):
    """An op of the code is refused: the chain ends there, and its answer says why."""

    def __init__(self, given: Shape, stages: tuple[Stage, ...]) -> None:
        """Keep the shape at the beginning, and the stages, the refused one last."""
        super().__init__(stages)
        self.given, self.stages = given, stages


class Tensor(Record):
    """A tensor that is never there: its shape, and the stages that led to it."""

    shape: Shape
    stages: tuple[Stage, ...]
    dialect: str
    traces: tuple[Trace, ...] = ()
    """The answers to its stages."""
    copied_at: int = 0
    """Behind how many stages it was last copied by `contiguous`, which is no stage."""
    given: Shape = ()
    """Its shape before all stages."""
    main: bool = False
    """Whether it is made of the tensor that the code is about."""

    @property
    def rank(self) -> int:
        """How many dims it has."""
        return len(self.shape)

    def after(self, op: str, **options: object) -> Tensor:
        """Return the tensor after an op; raise `Refused` if a rule refuses it, `ShapeError` if it cannot be asked."""
        named = {name: value for name, value in options.items() if value is not None} | {"dialect": self.dialect}
        stages = (*self.stages, (op, named))
        trace = resolve(ask(op, self.shape, named))
        if trace.output is None:
            raise Refused(self.given, stages)
        return replace(self, shape=trace.output, stages=stages, traces=(*self.traces, trace))

    def reshaped(self, *target: Dim) -> Tensor:
        """Return the tensor after a reshape."""
        return self.after("reshape", target=target)

    def inserted(self, axes: Sequence[int]) -> Tensor:
        """Return the tensor with dims of 1 at these axes of the output, in ascending order."""
        each = [(axis,) for axis in axes] if DIALECTS[self.dialect].inserts_one else [tuple(axes)]
        tensor = self
        for inserted in each:
            tensor = tensor.after("unsqueeze", axes=inserted)
        return tensor

    def moved(self, perm: Sequence[int]) -> Tensor:
        """Return the tensor after a transpose."""
        return self.after("transpose", perm=tuple(perm))

    def reversed(self) -> Tensor:
        """Return the tensor with its axes in reverse order."""
        return self.moved(range(self.rank)[::-1])

    def viewed(self, target: Shape) -> Tensor:
        """Return PyTorch's view of the tensor. The chain knows its strides, but for a copy by `contiguous`."""
        if not self.copied_at:
            return self.after("view", target=target)
        strides = strides_after(self.traces[self.copied_at :])
        if strides is None:
            return self.reshaped(*target)
        return self.after("view", target=target, strides=strides)


class Chunks(Record):
    """The parts that a tensor is cut into, before one of them is taken."""

    tensor: Tensor
    axis: int
    count: int | None
    """How many there are; None if that is not known."""
    cut: Mapping[str, object] | None = None
    """How `split` is asked for them; None if each part is one position of the axis, which goes."""

    def chunk(self, index: int) -> Tensor:
        """Return one of the parts."""
        if self.cut is None:
            return self.tensor.after("select", axis=self.axis, index=index)
        return self.tensor.after("split", axis=self.axis, part=index, **self.cut)

    @property
    def together(self) -> Tensor | None:
        """The tensor after the split that prints all parts; None if the axis goes."""
        return None if self.cut is None else self.tensor.after("split", axis=self.axis, all=True, **self.cut)


def cut(tensor: Tensor, axis: int, **options: object) -> Chunks:
    """Return the parts that `split` makes; raise `Refused` if a rule refuses them."""
    made = tensor.after("split", axis=axis, **options).traces[-1]
    (runs,) = [step.facts["runs"] for step in made.steps if "runs" in step.facts]
    return Chunks(tensor, axis, count_of(runs), options)


def positions(tensor: Tensor, error: MakeError) -> Chunks:
    """Return the positions of a tensor's first axis; raise `ShapeError` (usage) if their count is not known."""
    if not tensor.shape or not isinstance(tensor.shape[0], int):
        raise error("how many values there are is not known", "give sizes with --where")
    return Chunks(tensor, 0, tensor.shape[0])


def attribute(tensor: Tensor, name: str, error: MakeError) -> Value:
    """Return what an attribute says of a tensor; raise `ShapeError` (usage) for one that is not supported."""
    match name:
        case "shape":
            return tensor.shape
        case "size":
            return product(tensor.shape)
        case "ndim":
            return tensor.rank
        case "T":
            return tensor.reversed()
        case "mT" if tensor.rank > 1:
            axes = range(tensor.rank)
            return tensor.moved([*axes[:-2], axes[-1], axes[-2]])
        case "data":
            return tensor
    raise error(f".{name[:40]} of a tensor is not supported")


def indexed(tensor: Tensor, key: Value, error: MakeError) -> Tensor:
    """Return the tensor after an index: numbers take a position, slices some, None inserts a dim.

    Raises `ShapeError` (usage) for other indices.
    """
    items = _one_for_each_axis(key if isinstance(key, tuple) else (key,), tensor.rank, error)
    axes = [item for item in items if item is not None]
    slices = [item if isinstance(item, slice) else slice(None) for item in axes]
    if any(each != slice(None) for each in slices):
        ends = [end for each in slices for end in (each.start, each.stop, each.step)]
        if not all(end is None or isinstance(end, int) for end in ends):
            raise error("a slice takes whole numbers", "give sizes with --where")
        tensor = tensor.after("slice", slices=tuple(slices))
    for axis in reversed(range(len(axes))):
        if isinstance(axes[axis], int):
            tensor = tensor.after("select", axis=axis, index=axes[axis])
    kept = [item for item in items if item is None or isinstance(item, slice)]
    new = tuple([place for place, item in enumerate(kept) if item is None])
    return tensor.inserted(new) if new else tensor


def _one_for_each_axis(items: tuple[Value, ...], rank: int, error: MakeError) -> list[Value]:
    """Return the items of an index with one for each axis, beside those that insert a dim."""
    for item in items:
        whole = isinstance(item, int) and not isinstance(item, bool)
        if not (item is None or item is Ellipsis or isinstance(item, slice) or whole):
            raise error("an index is a whole number, a slice, None or ...")
    named = sum(item is not None and item is not Ellipsis for item in items)
    if named > rank or items.count(Ellipsis) > 1:
        raise error(f"{named} indices for {rank} dims" if named > rank else "two ... in one index")
    rest = [slice(None)] * (rank - named)
    at = items.index(Ellipsis) if Ellipsis in items else len(items)
    return [*items[:at], *rest, *items[at + 1 :]]


# Calls: the arguments beside the tensor, given by place or by name, and which op a method, a function or a layer is.


class Call(Record):
    """A call in code, and its arguments beside the tensor."""

    name: str
    """What is called."""
    values: tuple[Value, ...]
    keywords: Mapping[str, Value]
    error: MakeError

    def named(self, *names: str) -> list[Value]:
        """Return the arguments of these names, given by place or by name; None for one that is left out.

        A name may have others behind slashes: `dim/axis`. Raises `ShapeError` (usage) for arguments of other names.
        """
        known = {spelled: place for place, name in enumerate(names) for spelled in name.split("/")}
        if len(self.values) > len(names):
            raise self.error(f"{self.name} takes at most {len(names)} arguments")
        found: list[Value] = [*self.values, *[None] * (len(names) - len(self.values))]
        for name, value in self.keywords.items():
            if name not in known:
                raise self.error(f"the argument {visible(brief(name))} of {self.name} is not supported")
            found[known[name]] = value
        return found

    def listed(self, *names: str) -> tuple[Value, ...]:
        """Return the one argument that is a list, given by place, by one of these names, or as several arguments."""
        named = [value for name, value in self.keywords.items() if name in names]
        if len(named) < len(self.keywords):
            raise self.error(f"only {' or '.join(names)} of {self.name} can be given by name")
        match (*self.values, *named):
            case (tuple() as only,):
                return only
            case values:
                return values

    def dims(self, *names: str) -> Shape:
        """Return the requested shape that is given; raise `ShapeError` (usage) if it holds other than sizes."""
        return tuple([self.dim(dim) for dim in self.listed(*names)])

    def axes(self, *names: str) -> tuple[int, ...]:
        """Return the list of axes that is given; raise `ShapeError` (usage) if it holds other than numbers."""
        return tuple([self.whole(axis) for axis in self.listed(*names)])

    def whole(self, value: Value, default: int | None = None) -> int:
        """Return a whole number; raise `ShapeError` (usage) for anything else."""
        if value is None and default is not None:
            return default
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.error(f"{self.name} needs whole numbers here")
        return value

    def dim(self, value: Value) -> Dim:
        """Return a size; raise `ShapeError` (usage) for anything else."""
        if not is_dim(value):
            raise self.error(f"{self.name} needs sizes here")
        return value

    def axis(self, tensor: Tensor, value: Value, default: int | None = None) -> int:
        """Return an axis of the tensor, counted from 0; raise `ShapeError` (usage) if there is none."""
        axis, rank = self.whole(value, default), tensor.rank
        if not -rank <= axis < rank:
            raise self.error(f"there is no axis {axis} among {rank}")
        return axis % rank


def _shape_of(value: Value, call: Call) -> Value:
    if not isinstance(value, Tensor):
        raise call.error(f"{call.name} works on the tensor only")
    (axis,) = call.named("dim/axis")
    if axis is None:
        return value.shape
    return value.shape[call.axis(value, axis)]


def _length(value: Value, call: Call) -> Value:
    if isinstance(value, Tensor) and value.shape:
        return value.shape[0]
    if isinstance(value, tuple):
        return len(value)
    raise call.error("only a shape or a tensor has a length")


def _all_dims(value: Value, call: Call) -> Shape:
    dims = value.shape if isinstance(value, Tensor) else value
    if not isinstance(dims, tuple) or not all(map(is_dim, dims)):
        raise call.error(f"{call.name} works on a shape or on the tensor only")
    return dims  # type: ignore[return-value]


def _same(value: Value, call: Call) -> Value:
    if isinstance(value, tuple) or is_dim(value):
        return value
    raise call.error(f"{call.name} works on sizes only")


MEASURES: dict[str, Callable[[Value, Call], Value]] = {
    **dict.fromkeys(("size", "shape", "get_shape"), _shape_of),
    **dict.fromkeys(("as_list", "int", "tuple", "list", "Size", "TensorShape", "floor"), _same),
    "len": _length,
    **dict.fromkeys(
        ("sqrt", "isqrt"), lambda value, call: value if isinstance(value, Tensor) else root(value, call.error)
    ),
    **dict.fromkeys(("dim", "ndimension", "rank"), lambda value, call: len(_all_dims(value, call))),
    **dict.fromkeys(("numel", "prod", "nelement"), lambda value, call: product(_all_dims(value, call))),
}
"""The calls that return sizes: of the tensor, or of a shape."""
MAKING = ("zeros", "ones", "randn", "rand", "empty", "normal")
"""The functions that make a tensor of a shape."""
TENSORS = ("input", "x", "a", "tensor", "array", "arr")
"""What functions call the tensor."""


def is_known(name: str) -> bool:
    """Say whether a method, a function or a layer can be read."""
    return any(
        name in known for known in (SHAPE_CHANGING, SHAPE_KEEPING, WITHOUT_OP, MEASURES, LAYERS, JOINING, MAKING)
    )


def call_tensor(name: str, values: Sequence[Value], keywords: Mapping[str, Value], error: MakeError) -> Value:
    """Return the value of a call of that name; the tensor is the first of the values, or a keyword.

    Raises `ShapeError` (usage) for what is not known or has no op, `Refused` for what a rule refuses.
    """
    if name in WITHOUT_OP:
        raise error(WITHOUT_OP[name])
    keywords = dict(keywords)
    if name in JOINING:
        return _joined(Call(name, tuple(values), keywords, error))
    first = next((keywords.pop(each) for each in TENSORS if isinstance(keywords.get(each), Tensor)), None)
    if first is None and values:
        first, values = values[0], values[1:]
    call = Call(name, tuple(values), keywords, error)
    if name in MEASURES:
        return MEASURES[name](first, call)
    if not is_known(name):
        raise error(f"{visible(brief(name))} is not known here")
    if not isinstance(first, Tensor):
        raise error(f"{name} works on the tensor only")
    if name in LAYERS:
        return _layer(first, call)
    return first if name in SHAPE_KEEPING else SHAPE_CHANGING[name](first, call)


def _layer(tensor: Tensor, call: Call) -> Tensor:
    """Return the tensor after a layer, or a function that takes what a layer holds."""
    layer = LAYERS[call.name]
    names = [name.partition("/")[0] for name in layer.names]
    given = dict(zip(names, call.named(*layer.names), strict=True))
    shapes = {name: value.shape if isinstance(value, Tensor) else value for name, value in given.items()}
    try:
        options = layer.options(tensor.shape, shapes)
    except (TypeError, ValueError, IndexError):  # what is given is no size
        options = {"weight": None}
    weight = options.get("weight", ())
    if not isinstance(weight, tuple) or not all(map(is_dim, weight)):
        raise call.error(f"{call.name} needs sizes or a tensor's shape for {', '.join(names[:3])}")
    return tensor.after(layer.op, **options)


def _joined(call: Call) -> Tensor:
    """Return what a function makes of several tensors, given one by one or as a list."""
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
    for name in {*keywords} - {"alpha", "out", "dtype"} or ("dim" for _ in axes):
        raise call.error(f"the argument {visible(brief(name))} of {call.name} is not supported")
    return combined(op, values, call.error, **options)


LISTS = ("tensors", "arrays", "values", "input", "x", "other", "y")
"""What functions call their tensors, or the list of them."""


def combined(op: str, parts: Sequence[Value], error: MakeError, **options: object) -> Tensor:
    """Return the tensor after an op with others; the chain goes on with the one that the code is about."""
    tensors = [part for part in parts if isinstance(part, Tensor)]
    if len(tensors) < len(parts) or not tensors:
        raise error("another tensor's shape is not known", "give all shapes: --input 'x=N,C w=C,D'")
    main = next((tensor for tensor in sorted(tensors, key=lambda each: not each.stages) if tensor.main), tensors[0])
    if len(tensors) == 1 and op == "broadcast":
        return main
    at = next(place for place, tensor in enumerate(tensors) if tensor is main)
    operands = tuple([HERE if place == at else tensor.shape for place, tensor in enumerate(tensors)])
    return main.after(op, operands=operands[1:] if at == 0 else operands, **options)


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


def _matrix_transpose(tensor: Tensor, call: Call) -> Tensor:
    call.named()
    if tensor.rank > 2:
        raise call.error(f"t() needs a matrix, and this tensor has {tensor.rank} dims")
    return tensor.reversed()


def _moveaxis(tensor: Tensor, call: Call) -> Tensor:
    lists = [value if isinstance(value, tuple) else (value,) for value in call.named("source", "destination")]
    sources, places = ([call.axis(tensor, axis) for axis in each] for each in lists)
    if len({len(sources), len(places), len({*sources}), len({*places})}) > 1:
        raise call.error("each axis moves to one place")
    rest = iter([axis for axis in range(tensor.rank) if axis not in sources])
    source_of = dict(zip(places, sources, strict=True))
    return tensor.moved([source_of[out] if out in source_of else next(rest) for out in range(tensor.rank)])


def _flatten(tensor: Tensor, call: Call, start: int = 0) -> Tensor:
    first, last = call.named("start_dim", "end_dim")
    if tensor.dialect != "torch":
        return tensor.reshaped(-1)
    return tensor.after("flatten", start_dim=call.whole(first, start), end_dim=call.whole(last, -1))


def _ravel(tensor: Tensor, call: Call) -> Tensor:
    call.named()
    return tensor.reshaped(-1)


def _unflatten(tensor: Tensor, call: Call) -> Tensor:
    axis, sizes = call.named("dim", "sizes/unflattened_size")
    if not isinstance(sizes, tuple):
        raise call.error("unflatten takes the sizes in a tuple")
    return tensor.after("unflatten", axis=call.whole(axis), sizes=tuple(map(call.dim, sizes)))


def _squeeze(tensor: Tensor, call: Call) -> Tensor:
    axes = call.listed("dim", "axis")
    return tensor.after("squeeze", axes=call.axes("dim", "axis") if axes not in ((), (None,)) else None)


def _tile(tensor: Tensor, call: Call) -> Tensor:
    """Repeat the whole tensor along each dim, the last repeat for the last dim; TensorFlow's own takes one for each."""
    counts = call.dims("repeats", "reps", "dims", "multiples", "sizes")
    lacking = tensor.rank - len(counts) if call.name == "tile" else 0
    return tensor.after("tile", repeats=(*(1,) * lacking, *counts))


def _repeat(tensor: Tensor, call: Call) -> Tensor:
    """Read torch's repeat, which tiles; einops', which takes a pattern; or NumPy's, which repeats each element."""
    if call.values and isinstance(call.values[0], str):
        return _rearrange(tensor, call)
    return _tile(tensor, call) if tensor.dialect == "torch" else _repeat_elements(tensor, call)


def _repeat_elements(tensor: Tensor, call: Call) -> Tensor:
    """Repeat each element along one axis; without an axis, of the flattened tensor."""
    count, axis = call.named("repeats", "dim/axis")
    if axis is None:
        tensor, axis = tensor.reshaped(-1), 0
    place = call.axis(tensor, axis)
    dims, times = tensor.shape, call.dim(count)
    tensor = tensor.after("unsqueeze", axes=(place + 1,))
    tensor = tensor.after("expand", target=(*dims[: place + 1], times, *dims[place + 1 :]))
    return tensor.reshaped(*dims[:place], product((dims[place], times)), *dims[place + 1 :])


def _rearrange(tensor: Tensor, call: Call) -> Tensor:
    """Read einops' rearrange and repeat. Lengths with names become the stages that the op itself has."""
    if len(call.values) != 1 or not isinstance(call.values[0], str):
        raise call.error(f"{call.name} of einops takes a pattern")
    lengths = {name: call.dim(value) for name, value in call.keywords.items()}
    written = ",".join(f"{name}={length}" for name, length in lengths.items()) or None
    if not any(isinstance(length, Monomial) for length in lengths.values()):
        return tensor.after("rearrange", pattern=call.values[0], lengths=written)
    stand_in = ",".join(f"{name}=2" for name in lengths)
    return _planned(tensor, plan_of(tensor.rank, call.values[0], stand_in), lengths)


def _planned(tensor: Tensor, plan: Plan, lengths: Mapping[str, Dim]) -> Tensor:
    """Return the tensor after the stages of a pattern, with these lengths of its axes."""
    sizes = lengths_of(tensor.shape, replace(plan, lengths={**plan.lengths, **lengths}))
    single = tuple([sizes[axis] for axis in plan.axes])
    tensor = tensor if single == tensor.shape else tensor.reshaped(*single)
    tensor = tensor if plan.moved == tuple(range(tensor.rank)) else tensor.moved(plan.moved)
    if plan.new:
        tensor = tensor.inserted(tuple(plan.new))
        tensor = tensor.after("expand", target=tuple([sizes[axis] for names in plan.right for axis in names]))
    target = tuple([product([sizes[axis] for axis in names]) for names in plan.right])
    return tensor if target == tensor.shape else tensor.reshaped(*target)


def _select(tensor: Tensor, call: Call) -> Tensor:
    axis, index = call.named("dim", "index")
    return tensor.after("select", axis=call.whole(axis), index=call.whole(index))


def _chunk(tensor: Tensor, call: Call) -> Chunks:
    """Read what cuts by a count, by the places of cuts (NumPy), or by sizes (TensorFlow, Paddle)."""
    count, axis = call.named("chunks/indices_or_sections/num_or_size_splits/num_or_indices/indices", "dim/axis")
    place = call.axis(tensor, axis, 0)
    if not isinstance(count, tuple):
        uneven = call.name in ("array_split", "tensor_split") or None
        return cut(tensor, place, parts=call.whole(count), uneven=uneven)
    sizes = [call.dim(size) for size in count]
    between = call.name != "split" or tensor.dialect in ("numpy", "jax")
    return cut(tensor, place, sizes=_between(tensor.shape[place], sizes, call) if between else tuple(sizes))


def _between(dim: Dim, places: Sequence[Dim], call: Call) -> Shape:
    """Return the sizes of the parts between places on an axis; raise `ShapeError` (usage) if they are not known."""
    if isinstance(dim, int):
        whole = [place if isinstance(place, int) else dim + 1 for place in places]
        found = [slice(*ends).indices(dim)[:2] for ends in pairwise((0, *whole, dim))]
        if max(whole, default=0) <= dim and all(start <= stop for start, stop in found):
            return tuple([stop - start for start, stop in found])
    sums = [total((stop, product((-1, start)))) for start, stop in pairwise((0, *places, dim))]
    if any(len(terms) != 1 or monomial(terms[0]).numerator < 0 for terms in sums):
        raise call.error("the places of the cuts do not ascend, or are not known", "give sizes with --where")
    return tuple([terms[0] for terms in sums])


def _split(tensor: Tensor, call: Call) -> Chunks:
    """Read torch's split, which names the size of a part or all sizes; others name a count, sizes or places."""
    if tensor.dialect != "torch":
        return _chunk(tensor, call)
    size, axis = call.named("split_size/split_size_or_sections/split_sizes", "dim")
    place = call.axis(tensor, axis, 0)
    if isinstance(size, tuple):
        return cut(tensor, place, sizes=tuple(map(call.dim, size)))
    count = quotient(tensor.shape[place], call.dim(size)) if size != 0 else 0
    return cut(tensor, place, **({"parts": count} if isinstance(count, int) and count else {"size": call.whole(size)}))


def _unbind(tensor: Tensor, call: Call) -> Chunks:
    (axis,) = call.named("dim/axis")
    place = call.axis(tensor, axis, 0)
    dim = tensor.shape[place]
    return Chunks(tensor, place, dim if isinstance(dim, int) else None)


def _roll(tensor: Tensor, call: Call) -> Tensor:
    shifts, axes = call.named("shifts/shift", "dims/axis")
    listed = [None if each is None else each if isinstance(each, tuple) else (each,) for each in (shifts, axes)]
    shift, axis = (each and tuple(map(call.whole, each)) for each in listed)
    return tensor.after("roll", shift=shift, axis=axis)


def _made(tensor: Tensor, call: Call) -> Tensor:
    """Read what becomes a few stages, such as narrow."""
    places = [place.rstrip("?") for place in MADE[call.name][2]]
    given = [value if value is None or isinstance(value, tuple) else (value,) for value in call.named(*places)]
    texts = [",".join([str(call.whole(each)) for each in value]) for value in given if value is not None]
    for words in made_stages(call.name, tensor.shape, texts):
        stage = read_stage(words, with_input=False)
        tensor = tensor.after(stage.op, **stage.options)
    return tensor


def _blocks(op: str, factor: str) -> Callable[[Tensor, Call], Tensor]:
    return lambda tensor, call: tensor.after(op, block=call.whole(call.named(factor)[0]))


SHAPE_CHANGING: dict[str, Callable[[Tensor, Call], Value]] = {
    **dict.fromkeys(
        ("contiguous", "ascontiguousarray"), lambda tensor, _: replace(tensor, copied_at=len(tensor.traces))
    ),
    "reshape": lambda tensor, call: tensor.reshaped(*call.dims("shape", "newshape", "new_shape", "target_shape")),
    "view": _view,
    **dict.fromkeys(
        ("permute", "permute_dims", "permute_dimensions"),
        lambda tensor, call: tensor.moved(call.axes("dims", "perm", "axes", "pattern")),
    ),
    "transpose": _transpose,
    **dict.fromkeys(
        ("swapaxes", "swapdims"), lambda tensor, call: _swapped(tensor, call, "dim0/axis0/axis1", "dim1/axis2")
    ),
    "t": _matrix_transpose,
    **dict.fromkeys(("moveaxis", "movedim"), _moveaxis),
    "flatten": _flatten,
    "Flatten": lambda tensor, call: _flatten(tensor, call, start=1),
    "ravel": _ravel,
    **dict.fromkeys(("unflatten", "Unflatten"), _unflatten),
    "squeeze": _squeeze,
    **dict.fromkeys(
        ("unsqueeze", "expand_dims"), lambda tensor, call: tensor.after("unsqueeze", axes=call.axes("dim", "axis"))
    ),
    **dict.fromkeys(
        ("expand", "broadcast_to"), lambda tensor, call: tensor.after("expand", target=call.dims("size", "shape"))
    ),
    **dict.fromkeys(("tile", "tf.tile", "tensorflow.tile"), _tile),
    "repeat": _repeat,
    "repeat_interleave": _repeat_elements,
    **dict.fromkeys(("rearrange", "Rearrange"), _rearrange),
    **dict.fromkeys(("pixel_shuffle", "PixelShuffle"), _blocks("depth_to_space", "upscale_factor")),
    **dict.fromkeys(("pixel_unshuffle", "PixelUnshuffle"), _blocks("space_to_depth", "downscale_factor")),
    "select": _select,
    **dict.fromkeys(("chunk", "array_split", "tensor_split"), _chunk),
    **dict.fromkeys(MADE, _made),
    "split": _split,
    **dict.fromkeys(("unbind", "unstack"), _unbind),
    "flip": lambda tensor, call: tensor.after("flip", axes=call.axes("dims", "axis")),
    "roll": _roll,
}
"""The calls that change a shape."""
SHAPE_KEEPING = {
    *("clone", "detach", "to", "float", "half", "double", "bfloat16", "cpu"),
    *("cuda", "type", "type_as", "numpy", "copy", "astype", "requires_grad_", "relu"),
    *("gelu", "silu", "sigmoid", "tanh", "exp", "log", "abs"),
    *("softmax", "log_softmax", "dropout", "asarray", "array", "convert_to_tensor", "cast", "identity"),
    *("from_numpy", "as_tensor", "normalize", "sin", "cos", "neg"),
}
"""The calls that keep a shape."""
OTHERS = "the other tensor's shape is not known here: write {} with its dims"
REDUCES = "it makes one position of many, and no op here does that"
WITHOUT_OP = {
    "view_as": OTHERS.format("view"),
    "reshape_as": OTHERS.format("reshape"),
    "expand_as": OTHERS.format("expand"),
    "unfold": "no op here makes windows that overlap",
    **dict.fromkeys(("hstack", "vstack"), "write concatenate, with the axis"),
    "tensordot": "write einsum, with the axes",
    **dict.fromkeys(("mean", "sum", "max", "min", "amax", "argmax", "any", "all", "norm", "reduce"), REDUCES),
}
"""The calls that have no op, each with the reason."""


# The syntax of code: its tree, and the tensor and the dialect that it speaks of; nothing is read for its value.


FRAMEWORKS = {
    **dict.fromkeys(("torch", "F", "nn", "functional"), "torch"),
    **dict.fromkeys(("np", "numpy"), "numpy"),
    **dict.fromkeys(("jnp", "jax", "lax"), "jax"),
    **dict.fromkeys(("tf", "tensorflow", "keras", "K"), "tensorflow"),
    "paddle": "paddle",
}
"""The dialects of modules, by the names under which they are imported."""
MODULES = {*FRAMEWORKS, "einops", "math", "ops", "layers"}


def parsed(text: str) -> ast.Module:
    """Return the syntax tree of code; raise `ShapeError` (usage) if it has none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        before = text.splitlines(keepends=True)[: (error.lineno or 1) - 1]
        start = min(len("".join(before)) + max(0, (error.offset or 1) - 1), max(0, len(text) - 1))
        raise misuse(f"this is not Python: {error.msg}", argument="line", span=(start, start + 1)) from None
    except (RecursionError, MemoryError):
        raise misuse("the code is nested too deep", argument="line") from None
    except ValueError as error:
        raise misuse(f"this is not Python: {visible(str(error))}", argument="line") from None


def as_written(name: str) -> str:
    """Return the name of a tensor, or the call that makes it, as Python writes it.

    Raises `ShapeError` (usage) for what is neither.
    """
    match parsed(name).body:
        case [ast.Expr(value=ast.Name() | ast.Attribute() | ast.Call() as node)]:
            return ast.unparse(node)
    raise misuse(f"'{visible(brief(name))}' is not a name for a tensor", "write --input x=N,C,H,W", argument="input")


def dialect_of(tree: ast.AST) -> str:
    """Return the dialect that the modules and the methods of code speak; PyTorch's if nothing tells."""
    found = "torch"
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in FRAMEWORKS:
            return FRAMEWORKS[node.id]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            arguments = [*node.args, *node.keywords]
            several = node.func.attr == "transpose" and len(arguments) != 2  # torch takes two axes
            found = "numpy" if several or node.func.attr in ("astype", "ravel") else found
    return found


def root_of(tree: ast.Module) -> str:
    """Return the name of the tensor that code begins with; `x` if it begins with none."""
    node: ast.AST | None = next((each for each in tree.body), None)
    while node is not None:
        match node:
            case ast.Expr(value=inner) | ast.Assign(value=inner) | ast.Return(value=inner):
                node = inner
            case ast.Call(func=ast.Name() | ast.Attribute() as called) if _is_layer(called):
                return ast.unparse(node)
            case (
                ast.Call(args=[ast.Constant(value=str()), inner, *_])
                | ast.List(elts=[inner, *_])
                | ast.Tuple(elts=[inner, *_])
            ):
                node = inner
            case ast.Call(func=ast.Attribute(value=inner), args=args):
                node = args[0] if args and dotted_name(inner).split(".")[0] in MODULES else inner
            case ast.Call(args=[first, *_]):
                node = first
            case ast.Subscript(value=inner) | ast.Attribute(value=inner, attr="T" | "mT" | "shape"):
                node = inner
            case ast.BinOp(left=inner):
                node = inner
            case _:
                return dotted_name(node) or "x"
    return "x"


def _is_layer(called: ast.expr) -> bool:
    """Say whether what is called is a layer of the code's own, whose result is the tensor: `self.qkv(x)`."""
    name = dotted_name(called)
    return not is_known(name.rpartition(".")[2]) and (name.startswith("self.") or name.isidentifier())


def dotted_name(node: ast.AST) -> str:
    """Return a dotted name as it is written; an empty text for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted_name(node.value)
        return f"{base}.{node.attr}" if base else ""
    return ""


def _offset(text: str, line: int, column: int) -> int:
    """Return the place of a character in code. Python counts its lines from 1 and its columns in bytes."""
    lines = text.splitlines(keepends=True)
    before = lines[line - 1].encode("utf-8", "surrogatepass")[:column]
    return len("".join(lines[: line - 1])) + len(before.decode("utf-8", "surrogatepass"))


def span_of(text: str, node: ast.expr | ast.stmt) -> tuple[int, int]:
    """Return the place of an expression in code."""
    end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
    return _offset(text, node.lineno, node.col_offset), _offset(text, end_line, end_column)


# The reader: a walk through the syntax tree. A line is an expression over one tensor; other names are sizes.


class CodeChain(Record):
    """What code does to its tensor: the stages of a chain, and what is to be said of the reading."""

    shape: Shape
    stages: tuple[Stage, ...]
    notes: tuple[str, ...]


def read_code(
    text: str,
    name: str | None,
    shape: Shape,
    dialect: str | None,
    sizes: Mapping[str, int],
    others: Mapping[str, Shape] = NONE,
) -> CodeChain:
    """Return what code does to the tensor called `name`, of that shape; without a name, to the one that it begins with.

    `sizes` are put in for names of sizes; `others` are the shapes of other tensors by their names.
    Raises `ShapeError` (usage) for what cannot be read, with its place.

    >>> from shapecalc.core.text import read_dims
    >>> read_code("x.transpose(1, 2)", "x", read_dims("B,T,C"), None, {}).stages
    (('transpose', {'perm': (0, 2, 1), 'dialect': 'torch'}),)
    """
    if len(text) > LONGEST_CODE:
        raise LONGEST_CODE.passed(f"{len(text)} characters of code", argument="line")
    tree = parsed(text)
    try:
        row = dialect_called(dialect).name if dialect else dialect_of(tree)
        every = {as_written(name) if name else root_of(tree): shape, **others}
        reader = Reader(text, row, sizes)
        for number, (called, dims) in enumerate(every.items()):
            filled = tuple([substitute(dim, sizes) for dim in dims])
            reader.assigned[as_written(called)] = Tensor(filled, (), row, given=filled, main=number == 0)
        return reader.read(tree, {*names([dim for dims in every.values() for dim in dims])})
    except RecursionError:
        raise misuse("the code is nested too deep", argument="line") from None


def is_code(text: str) -> bool:
    """Say whether a text is Python that does something known to a tensor, and no shape.

    >>> is_code("x.view(2, -1)"), is_code("x[:, None]"), is_code("torch.Size([2, 3])"), is_code("3*H*W")
    (True, True, False, False)
    """
    if len(text) > LONGEST_CODE or _is_shape(text):
        return False
    try:
        nodes = list(ast.walk(parsed(text.strip())))
    except ShapeError:
        return False
    called = [getattr(each.func, "attr", dotted_name(each.func)) for each in nodes if isinstance(each, ast.Call)]
    return any(map(is_known, called)) or any(isinstance(each, ast.Subscript) for each in nodes)


def _is_shape(text: str) -> bool:
    try:
        read_dims(text)
    except ShapeError:
        return False
    return True


class Reader:
    """A walk through a syntax tree that gives every expression its value: a size, a tuple or a tensor."""

    def __init__(self, text: str, dialect: str, sizes: Mapping[str, int]) -> None:
        """Begin with nothing assigned."""
        self.text, self.dialect, self.sizes = text, dialect, sizes
        self.assigned: dict[str, Value] = {}
        self.notes: dict[str, None] = {}
        self.met: set[str] = set()
        """The names of sizes that were read."""

    def read(self, tree: ast.Module, known: set[str]) -> CodeChain:
        """Return what the code does to the first of the tensors; `known` are the names in their shapes as given."""
        self.name = next(iter(self.assigned))
        self.layers = {name for name in self.assigned if "(" in name}
        value: Value = None
        try:
            for statement in tree.body:
                value = self.value_after(statement)
        except Refused as refused:
            return CodeChain(refused.given, refused.stages, tuple(self.notes))
        check_names_known(self.sizes, [*known, *sorted(self.met)])
        value = (value.together or value) if isinstance(value, Chunks) else value
        if isinstance(value, Chunks):
            hint = f"take one of them, as [0] does, or write the stage: select {value.axis} 0"
            raise misuse(f"the code ends with {value.count} parts, not with one tensor", hint, argument="line")
        if not isinstance(value, Tensor):
            hint = f"it is read as a line about {brief(self.name)}"
            raise misuse("the code does not end with a tensor", hint, argument="line")
        if not value.stages:
            raise misuse(f"nothing in the code changes the shape of {brief(self.name)}", argument="line")
        return CodeChain(value.given, value.stages, tuple(self.notes))

    def value_after(self, statement: ast.stmt) -> Value:
        """Return the value of a statement, once the names that it assigns have theirs."""
        match statement:
            case ast.Expr(value=node):
                return self.value(node)
            case ast.Return(value=ast.expr() as node):
                return self.value(node)
            case ast.Assign(targets=targets, value=node):
                value = self.value(node)
                for target in targets:
                    self.assign(target, value)
                return value
        raise self.error(statement, "this statement is not supported; write an expression or an assignment")

    def assign(self, target: ast.expr, value: Value) -> None:
        """Give a name its value, or each of several names its part."""
        name = dotted_name(target)
        if isinstance(value, Tensor) and not name:
            value = positions(value, self.error_at(target))
        if name:
            self.assigned[name] = value
        elif isinstance(target, ast.Tuple | ast.List) and isinstance(value, tuple | Chunks):
            count = value.count if isinstance(value, Chunks) else len(value)
            if count is not None and count != len(target.elts):
                raise self.error(target, f"{len(target.elts)} names for {count} values")
            for place, each in enumerate(target.elts):
                self.assign(each, element(value, place, self.error_at(each)))
        else:
            raise self.error(target, "nothing can be assigned to this here")

    def value(self, node: ast.expr) -> Value:
        """Return the value of an expression; raise `ShapeError` (usage) for one that is not read."""
        match node:
            case ast.Constant(value=None | bool() | int() | float() | str() | EllipsisType() as constant):
                return constant
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return tuple(self.values(parts))
            case ast.Name() | ast.Attribute():
                return self.named(node)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return negated(self.value(operand), self.error_at(node))
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in OPERATORS:
                return self.computed(node, self.value(left), OPERATORS[type(sign)], self.value(right))
            case ast.Subscript(value=inner, slice=index):
                return self.subscript(node, inner, index)
            case ast.Slice(lower=lower, upper=upper, step=step):
                ends = [None if end is None else self.value(end) for end in (lower, upper, step)]
                return slice(*ends)
            case ast.Call():
                return self.called(node)
        raise self.error(node, "this is not supported here")

    def values(self, nodes: list[ast.expr]) -> Iterator[Value]:
        """Yield the values of expressions, those of a starred one each by itself."""
        for node in nodes:
            if isinstance(node, ast.Starred):
                found = self.value(node.value)
                if not isinstance(found, tuple):
                    raise self.error(node, "only a shape can be unpacked")
                yield from found
            else:
                yield self.value(node)

    def named(self, node: ast.expr) -> Value:
        """Return the value of a name: assigned, of a tensor, or a size."""
        name = dotted_name(node)
        if name in self.assigned:
            return self.assigned[name]
        if isinstance(node, ast.Attribute):
            if node.attr == "newaxis":
                return None
            if not name or self.is_assigned(name):
                base = self.value(node.value)
                if isinstance(base, Tensor):
                    return attribute(base, node.attr, self.error_at(node))
                raise self.error(node, f".{brief(node.attr)} of this is not supported")
        return self.size(node, name.rpartition(".")[2])

    def is_assigned(self, name: str) -> bool:
        """Say whether a dotted name, or what it is an attribute of, has a value."""
        return any(name == each or name.startswith(f"{each}.") for each in self.assigned)

    def size(self, node: ast.expr, name: str) -> Value:
        """Return the size that a name stands for."""
        if not name.isascii() or len(name) > LONGEST_WORD:
            raise self.error(node, "a size has a name of plain letters")
        self.met.add(name)
        return self.sizes.get(name) or (0 if name in self.sizes else named_dim(name))

    def computed(self, node: ast.expr, left: Value, sign: str, right: Value) -> Value:
        """Return what an operator makes of two values."""
        if sign == "@" or (isinstance(left, Tensor) and isinstance(right, Tensor)):
            return combined("matmul" if sign == "@" else "broadcast", (left, right), self.error_at(node))
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Tensor):
                if is_number(other):
                    return one
                raise self.error(node, f"{sign} is read between tensors and numbers only")
        found = arithmetic(left, sign, right, self.error_at(node))
        if sign == "//" and isinstance(found, Monomial):
            self.notes[f"{brief(self.segment(node))} is read as {brief(str(found))}: other sizes are left out"] = None
        return found

    def subscript(self, node: ast.Subscript, inner: ast.expr, index: ast.expr) -> Value:
        """Return an element, or a tensor that is indexed."""
        if ast.List in map(type, (index, *getattr(index, "elts", ()))):
            raise self.error(node, "a list of positions has no op here")
        name, key = dotted_name(inner), self.value(index)
        if isinstance(key, str) and name and key.isidentifier():
            return self.size(node, key)
        if name and isinstance(key, int) and key >= 0 and not self.is_assigned(name):
            return self.size(node, f"{name.rpartition('.')[2]}_{key}")
        base = self.value(inner)
        if isinstance(base, Tensor):
            return indexed(base, key, self.error_at(node))
        return element(base, key, self.error_at(node))

    def called(self, node: ast.Call) -> Value:
        """Return the value of a call: of a method of a tensor, of a function, or of a layer."""
        if self.layers and ast.unparse(node) in self.layers:
            return self.assigned[ast.unparse(node)]
        args = list(self.values(node.args))
        keywords = {each.arg or "**": self.value(each.value) for each in node.keywords}
        function = node.func
        if isinstance(function, ast.Call):  # nn.PixelShuffle(2)(x)
            layer = dotted_name(function.func).rpartition(".")[2]
            args += self.values(function.args)
            keywords |= {each.arg or "**": self.value(each.value) for each in function.keywords}
            return call_tensor(layer, args, keywords, self.error_at(node))
        if isinstance(function, ast.Attribute) and dotted_name(function).split(".")[0] not in MODULES - {self.name}:
            return self.method(node, function, args, keywords)
        whole = dotted_name(function)
        name = whole if is_known(whole) else whole.rpartition(".")[2]
        if name in MAKING:
            dims = Call(name, tuple(args), keywords, self.error_at(node)).dims("size", "shape")
            return Tensor(dims, (), self.dialect, given=dims)
        return call_tensor(name, args, keywords, self.error_at(node))

    def method(self, node: ast.Call, function: ast.Attribute, args: list[Value], keywords: dict[str, Value]) -> Value:
        """Return the value of a method."""
        if not is_known(function.attr):
            hint = f"name its result as the tensor: --input '{brief(self.segment(node))}=SHAPE'"
            raise self.error(node, f"{brief(function.attr)} is not known here", hint)
        base = self.value(function.value)
        if is_number(base) and not isinstance(base, tuple):
            shown = brief(self.segment(function.value))
            raise self.error(function.value, f"{shown} is not the tensor: the input is {brief(self.name)}")
        return call_tensor(function.attr, [base, *args], keywords, self.error_at(node))

    def error_at(self, node: ast.expr) -> MakeError:
        """Return what makes the error for an expression."""
        return lambda message, hint="": self.error(node, message, hint)

    def segment(self, node: ast.expr | ast.stmt) -> str:
        """Return the text of an expression."""
        start, end = span_of(self.text, node)
        return visible(self.text[start:end])

    def error(self, node: ast.expr | ast.stmt, message: str, hint: str = "") -> ShapeError:
        """Return the error (usage) for an expression, with its place."""
        return misuse(f"'{brief(self.segment(node))}': {message}", hint, argument="line", span=span_of(self.text, node))

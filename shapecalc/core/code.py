"""What expressions of code stand for beside tensors: sizes, tuples of them, and the arithmetic that sizes have."""

from __future__ import annotations

import ast
import warnings
from math import isqrt

from shapecalc.core.ask import ask, check_names_known, dialect_called
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dims import Dim, Monomial, Shape, named_dim, names, product, quotient, substitute
from shapecalc.core.ops.rearrange import Plan, plan_of
from shapecalc.core.problem import ShapeError, misuse
from shapecalc.core.record import Record, replace
from shapecalc.core.resolve import resolve
from shapecalc.core.strides import strides_after
from shapecalc.core.text import LONGEST_WORD, MOST_DIMS, TOO_LARGE, brief, read_dims, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import EllipsisType
    from typing import TypeAlias, TypeGuard

    from shapecalc.core.answers import Trace
    from shapecalc.core.ask import Stage


HIGHEST_POWER = 64


def is_number(value: Value) -> TypeGuard[Dim | float]:
    """Say whether a value is a size or another number."""
    return isinstance(value, int | float | Monomial)


def is_dim(value: Value) -> TypeGuard[Dim]:
    """Say whether a value is a size: a whole number, or one with names."""
    return isinstance(value, int | Monomial) and not isinstance(value, bool)


def negated(value: Value, failing: Failing) -> Value:
    """Return a number with its sign changed; raise `ShapeError` (usage) for anything else."""
    if isinstance(value, int | float):
        return -value
    raise failing("a minus sign is allowed before numbers only, not before sizes")


def arithmetic(left: Value, sign: str, right: Value, failing: Failing) -> Value:
    """Return what an operator makes of two sizes, or of two tuples that are joined.

    Raises `ShapeError` (usage) for what is no size: a sum with names, a division by 0, a number too large.
    """
    if isinstance(left, tuple) and isinstance(right, tuple) and sign == "+":
        if len(left) + len(right) > MOST_DIMS:
            raise failing(f"no shape has more than {MOST_DIMS} dims")
        return left + right
    if sign == "**" and right == 0.5:
        return root(left, failing)
    if not (is_dim(left) and is_dim(right)):
        raise failing(f"{sign} works between sizes only")
    found = _computed(left, sign, right, failing)
    if isinstance(found, int) and abs(found) >= TOO_LARGE:
        raise failing("the number has more digits than any size")
    return found


def _computed(left: Dim, sign: str, right: Dim, failing: Failing) -> Dim:
    if sign == "*":
        return product((left, right))
    if sign in ("/", "//", "%") and right == 0:
        raise failing("a division by 0")
    if sign in ("/", "//"):
        if isinstance(left, int) and isinstance(right, int) and (sign == "//" or left % right == 0):
            return left // right
        found = quotient(left, right)
        if isinstance(found, Monomial) and not found.powers:
            raise failing(f"{found} is not a whole number", "// divides and rounds down")
        return found
    if sign == "**" and isinstance(right, int) and 0 <= right <= HIGHEST_POWER:
        return product([left] * right)
    if isinstance(left, int) and isinstance(right, int) and sign in ("+", "-", "%"):
        return {"+": left + right, "-": left - right, "%": left % right if right else 0}[sign]
    raise failing("a dim is a number or a product of names, never a sum", "give sizes with --where")


def root(value: Value, failing: Failing) -> int:
    """Return the square root of a square; raise `ShapeError` (usage) for anything else."""
    if isinstance(value, int) and value >= 0 and isqrt(value) ** 2 == value:
        return isqrt(value)
    raise failing("a root needs a square number", "give sizes with --where")


def measure(tensor: Tensor, name: str) -> Value:
    """Return what an attribute says of a tensor's shape; None for other attributes."""
    if name == "shape":
        return tensor.shape
    if name == "size":
        return product(tensor.shape)
    return len(tensor.shape) if name == "ndim" else None


def element(value: Value, key: Value, failing: Failing) -> Value:
    """Return an element or a slice of a tuple, or a part of a tensor; raise `ShapeError` (usage) otherwise."""
    if isinstance(value, tuple):
        try:
            return value[key]  # type: ignore[index]  # the errors say what cannot be
        except (TypeError, IndexError, ValueError):
            raise failing(f"there is no such element among {len(value)}") from None
    if isinstance(value, Parts) and isinstance(key, int):
        if value.count < 1 or not -value.count <= key < value.count:
            raise failing(f"there is no such part among {value.count}")
        return value.part(key % value.count)
    raise failing("only a shape, a tensor or its parts can be indexed")


# The arguments of a call in code, given by place or by name.


class Arguments(Record):
    """The arguments of a call beside the tensor."""

    name: str
    """What is called."""
    values: tuple[Value, ...]
    keywords: Mapping[str, Value]
    failing: Failing

    def named(self, *names: str) -> list[Value]:
        """Return the arguments of these names, given by place or by name; None for one that is left out.

        A name may have others behind slashes: `dim/axis`. Raises `ShapeError` (usage) for arguments of other names.
        """
        known = {spelled: place for place, name in enumerate(names) for spelled in name.split("/")}
        if len(self.values) > len(names):
            raise self.failing(f"{self.name} takes at most {len(names)} arguments")
        found: list[Value] = [*self.values, *[None] * (len(names) - len(self.values))]
        for name, value in self.keywords.items():
            if name not in known:
                raise self.failing(f"the argument {visible(brief(name))} of {self.name} is not supported")
            found[known[name]] = value
        return found

    def listed(self, *names: str) -> tuple[Value, ...]:
        """Return the one argument that is a list, given by place, by one of these names, or as several arguments."""
        named = [value for name, value in self.keywords.items() if name in names]
        if len(named) < len(self.keywords):
            raise self.failing(f"only {' or '.join(names)} of {self.name} can be given by name")
        match (*self.values, *named):
            case (tuple() as only,):
                return only
            case values:
                return values

    def dims(self, *names: str) -> Shape:
        """Return the requested shape that is given; raise `ShapeError` (usage) if it holds other than sizes."""
        dims = self.listed(*names)
        for dim in dims:
            self.dim(dim)
        return dims  # type: ignore[return-value]

    def axes(self, *names: str) -> tuple[int, ...]:
        """Return the list of axes that is given; raise `ShapeError` (usage) if it holds other than numbers."""
        return tuple([self.whole(axis) for axis in self.listed(*names)])

    def whole(self, value: Value, default: int | None = None) -> int:
        """Return a whole number; raise `ShapeError` (usage) for anything else."""
        if value is None and default is not None:
            return default
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.failing(f"{self.name} needs whole numbers here")
        return value

    def dim(self, value: Value) -> Dim:
        """Return a size; raise `ShapeError` (usage) for anything else."""
        if not is_dim(value):
            raise self.failing(f"{self.name} needs sizes here")
        return value


# The tensor of a line of code: its shape after each op, the stages that led there, and how it is indexed.


class Refused(Exception):
    """An op of the code is refused: the chain ends there, and its answer says why."""

    def __init__(self, stages: tuple[Stage, ...]) -> None:
        """Keep the stages, the refused one last."""
        super().__init__(stages)
        self.stages = stages


class Tensor(Record):
    """A tensor that is never there: its shape, and the stages that led to it."""

    shape: Shape
    stages: tuple[Stage, ...]
    dialect: str
    traces: tuple[Trace, ...] = ()
    """The answers to its stages."""
    copied_at: int = 0
    """Behind how many stages it was last copied by `contiguous`, which is no stage."""

    @property
    def rank(self) -> int:
        """How many dims it has."""
        return len(self.shape)

    def after(self, op: str, **options: object) -> Tensor:
        """Return the tensor after an op; raise `Refused` if a rule refuses it, `ShapeError` if it cannot be asked."""
        asked = {name: value for name, value in options.items() if value is not None} | {"dialect": self.dialect}
        stages = (*self.stages, (op, asked))
        trace = resolve(ask(op, self.shape, asked))
        if trace.output is None:
            raise Refused(stages)
        return replace(self, shape=trace.output, stages=stages, traces=(*self.traces, trace))

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

    def viewed(self, target: Shape) -> Tensor:
        """Return PyTorch's view of the tensor. The chain knows its strides, but for a copy by `contiguous`."""
        if not self.copied_at:
            return self.after("view", target=target)
        strides = strides_after(self.traces[self.copied_at :])
        if strides is None:
            return self.after("reshape", target=target)
        return self.after("view", target=target, strides=strides)

    def contiguous(self) -> Tensor:
        """Return the tensor as a copy of its own."""
        return replace(self, copied_at=len(self.traces))


class Parts(Record):
    """The parts that a tensor is cut into, before one of them is taken."""

    tensor: Tensor
    axis: int
    count: int
    drops: bool = False
    """Whether each part is one position of the axis, which goes."""

    def part(self, place: int) -> Tensor:
        """Return one of the parts."""
        if self.drops:
            return self.tensor.after("select", axis=self.axis, index=place)
        return self.tensor.after("split", axis=self.axis, parts=self.count, part=place)

    @property
    def hint(self) -> str:
        """How one of the parts is asked for, in code and as a stage."""
        stage = f"select {self.axis} 0" if self.drops else f"split {self.axis} {self.count} --part 0"
        return f"take one of them, as [0] does, or write the stage: {stage}"


def positions(tensor: Tensor, failing: Failing) -> Parts:
    """Return the positions of a tensor's first axis; raise `ShapeError` (usage) if their count is not known."""
    if not tensor.shape or not isinstance(tensor.shape[0], int):
        raise failing("how many values there are is not known", "give sizes with --where")
    return Parts(tensor, 0, tensor.shape[0], drops=True)


def flipped(tensor: Tensor, name: str, failing: Failing) -> Tensor:
    """Return the tensor that an attribute such as `T` stands for; raise `ShapeError` (usage) for other attributes."""
    axes = list(range(tensor.rank))
    if name == "T":
        return tensor.moved(axes[::-1])
    if name == "mT" and tensor.rank > 1:
        return tensor.moved([*axes[:-2], axes[-1], axes[-2]])
    if name == "data":
        return tensor
    raise failing(f".{name[:40]} of a tensor is not supported")


def indexed(tensor: Tensor, key: Value, failing: Failing) -> Tensor:
    """Return the tensor after an index: numbers take a position, slices some, None inserts a dim.

    Raises `ShapeError` (usage) for other indices.
    """
    items = _one_for_each_axis(key if isinstance(key, tuple) else (key,), tensor.rank, failing)
    axes = [item for item in items if item is not None]
    slices = [item if isinstance(item, slice) else slice(None) for item in axes]
    if any(each != slice(None) for each in slices):
        for each in slices:
            if not all(end is None or isinstance(end, int) for end in (each.start, each.stop, each.step)):
                raise failing("a slice takes whole numbers", "give sizes with --where")
        tensor = tensor.after("slice", slices=tuple(slices))
    for axis in reversed(range(len(axes))):
        if isinstance(axes[axis], int):
            tensor = tensor.after("select", axis=axis, index=axes[axis])
    kept = [item for item in items if item is None or isinstance(item, slice)]
    new = tuple([place for place, item in enumerate(kept) if item is None])
    return tensor.inserted(new) if new else tensor


def _one_for_each_axis(items: tuple[Value, ...], rank: int, failing: Failing) -> list[Value]:
    """Return the items of an index with one for each axis, beside those that insert a dim."""
    for item in items:
        whole = isinstance(item, int) and not isinstance(item, bool)
        if not (item is None or item is Ellipsis or isinstance(item, slice) or whole):
            raise failing("an index is a whole number, a slice, None or ...")
    named = sum(item is not None and item is not Ellipsis for item in items)
    if named > rank or items.count(Ellipsis) > 1:
        raise failing(f"{named} indices for {rank} dims" if named > rank else "two ... in one index")
    rest = [slice(None)] * (rank - named)
    at = items.index(Ellipsis) if Ellipsis in items else len(items)
    return [*items[:at], *rest, *items[at + 1 :]]


if TYPE_CHECKING:
    Value: TypeAlias = "Dim | float | str | slice | EllipsisType | Tensor | Parts | tuple[Value, ...] | None"
    """What an expression of code stands for."""
    Failing: TypeAlias = Callable[..., ShapeError]
    """Makes the error for the expression that is being read, from a message and a hint."""


# Calls in code that return sizes: of the tensor, or of a shape.


def _shape_of(value: Value, given: Arguments) -> Value:
    if not isinstance(value, Tensor):
        raise given.failing(f"{given.name} works on the tensor only")
    (axis,) = given.named("dim/axis")
    if axis is None:
        return value.shape
    place = given.whole(axis)
    if not -value.rank <= place < value.rank:
        raise given.failing(f"there is no dim {place} among {value.rank}")
    return value.shape[place]


def _length(value: Value, given: Arguments) -> Value:
    if isinstance(value, Tensor) and value.shape:
        return value.shape[0]
    if isinstance(value, tuple):
        return len(value)
    raise given.failing("only a shape or a tensor has a length")


def _rank(value: Value, given: Arguments) -> Value:
    return len(_all_dims(value, given))


def _count(value: Value, given: Arguments) -> Value:
    return product(_all_dims(value, given))


def _all_dims(value: Value, given: Arguments) -> Shape:
    dims = value.shape if isinstance(value, Tensor) else value
    if not isinstance(dims, tuple) or not all(map(is_dim, dims)):
        raise given.failing(f"{given.name} works on a shape or on the tensor only")
    return dims  # type: ignore[return-value]


def _root(value: Value, given: Arguments) -> Value:
    return value if isinstance(value, Tensor) else root(value, given.failing)


def _same(value: Value, given: Arguments) -> Value:
    if isinstance(value, tuple) or is_dim(value):
        return value
    raise given.failing(f"{given.name} works on sizes only")


MEASURES: dict[str, Callable[[Value, Arguments], Value]] = {
    "size": _shape_of,
    "shape": _shape_of,
    "get_shape": _shape_of,
    "as_list": _same,
    **dict.fromkeys(("int", "tuple", "list", "Size", "TensorShape", "floor"), _same),
    "len": _length,
    **dict.fromkeys(("sqrt", "isqrt"), _root),
    **dict.fromkeys(("dim", "ndimension", "rank"), _rank),
    **dict.fromkeys(("numel", "prod", "nelement"), _count),
}
"""The calls that return sizes."""


# Calls in code: which op a method, a function or a layer is.


TENSORS = ("input", "x", "a", "tensor", "array", "arr")
"""What functions call the tensor."""


def is_known(name: str) -> bool:
    """Say whether a method, a function or a layer can be read."""
    return name in READINGS or name in KEEPS or name in SAID or name in MEASURES


def call_tensor(name: str, values: Sequence[Value], keywords: Mapping[str, Value], failing: Failing) -> Value:
    """Return the value of a call of that name; the tensor is the first of the values, or a keyword.

    Raises `ShapeError` (usage) for what is not known or cannot be said, `Refused` for what a rule refuses.
    """
    if name in SAID:
        raise failing(SAID[name])
    keywords = dict(keywords)
    first = next((keywords.pop(each) for each in TENSORS if isinstance(keywords.get(each), Tensor)), None)
    if first is None and values:
        first, values = values[0], values[1:]
    arguments = Arguments(name, tuple(values), keywords, failing)
    if name in MEASURES:
        return MEASURES[name](first, arguments)
    if not is_known(name):
        raise failing(f"{visible(brief(name))} is not known here")
    if not isinstance(first, Tensor):
        raise failing(f"{name} works on the tensor only")
    return first if name in KEEPS else READINGS[name](first, arguments)


def _contiguous(tensor: Tensor, _given: Arguments) -> Tensor:
    return tensor.contiguous()


def _reshape(tensor: Tensor, given: Arguments) -> Tensor:
    target = given.dims("shape", "newshape", "new_shape", "target_shape")
    return tensor.after("reshape", target=target)


def _view(tensor: Tensor, given: Arguments) -> Tensor:
    target = given.dims("size", "shape")
    return tensor.viewed(target) if tensor.dialect == "torch" else tensor.after("reshape", target=target)


def _permute(tensor: Tensor, given: Arguments) -> Tensor:
    return tensor.moved(given.axes("dims", "perm", "axes", "pattern"))


def _transpose(tensor: Tensor, given: Arguments) -> Tensor:
    if tensor.dialect == "torch":
        first, second = given.named("dim0/axis0", "dim1/axis1")
        return _swapped(tensor, given.whole(first), given.whole(second), given)
    axes = given.axes("axes", "perm")
    return tensor.moved(axes or range(tensor.rank)[::-1])


def _swapaxes(tensor: Tensor, given: Arguments) -> Tensor:
    first, second = given.named("dim0/axis0/axis1", "dim1/axis2")
    return _swapped(tensor, given.whole(first), given.whole(second), given)


def _swapped(tensor: Tensor, first: int, second: int, given: Arguments) -> Tensor:
    axes = list(range(tensor.rank))
    one, other = _axis(tensor, first, given), _axis(tensor, second, given)
    axes[one], axes[other] = other, one
    return tensor.moved(axes)


def _axis(tensor: Tensor, axis: int, given: Arguments, rank: int | None = None) -> int:
    """Return an axis counted from 0; raise `ShapeError` (usage) if there is none."""
    rank = tensor.rank if rank is None else rank
    if not -rank <= axis < rank:
        raise given.failing(f"there is no axis {axis} among {rank}")
    return axis % rank


def _reversed(tensor: Tensor, given: Arguments) -> Tensor:
    given.named()
    if tensor.rank > 2:
        raise given.failing(f"t() needs a matrix, and this tensor has {tensor.rank} dims")
    return tensor.moved(range(tensor.rank)[::-1])


def _moveaxis(tensor: Tensor, given: Arguments) -> Tensor:
    lists = [value if isinstance(value, tuple) else (value,) for value in given.named("source", "destination")]
    sources, places = ([_axis(tensor, given.whole(axis), given) for axis in each] for each in lists)
    if len({len(sources), len(places), len({*sources}), len({*places})}) > 1:
        raise given.failing("each axis moves to one place")
    rest = iter([axis for axis in range(tensor.rank) if axis not in sources])
    taken = dict(zip(places, sources, strict=True))
    return tensor.moved([taken[out] if out in taken else next(rest) for out in range(tensor.rank)])


def _flatten(tensor: Tensor, given: Arguments, start: int = 0) -> Tensor:
    first, last = given.named("start_dim", "end_dim")
    if tensor.dialect != "torch":
        return tensor.after("reshape", target=(-1,))
    return tensor.after("flatten", start_dim=given.whole(first, start), end_dim=given.whole(last, -1))


def _flatten_layer(tensor: Tensor, given: Arguments) -> Tensor:
    return _flatten(tensor, given, start=1)


def _ravel(tensor: Tensor, given: Arguments) -> Tensor:
    given.named()
    return tensor.after("reshape", target=(-1,))


def _unflatten(tensor: Tensor, given: Arguments) -> Tensor:
    axis, sizes = given.named("dim", "sizes/unflattened_size")
    if not isinstance(sizes, tuple):
        raise given.failing("unflatten takes the sizes in a tuple")
    return tensor.after("unflatten", axis=given.whole(axis), sizes=tuple(map(given.dim, sizes)))


def _squeeze(tensor: Tensor, given: Arguments) -> Tensor:
    axes = given.listed("dim", "axis")
    return tensor.after("squeeze", axes=given.axes("dim", "axis") if axes not in ((), (None,)) else None)


def _unsqueeze(tensor: Tensor, given: Arguments) -> Tensor:
    return tensor.after("unsqueeze", axes=given.axes("dim", "axis"))


def _expand(tensor: Tensor, given: Arguments) -> Tensor:
    return tensor.after("expand", target=given.dims("size", "shape"))


def _tile(tensor: Tensor, given: Arguments) -> Tensor:
    """Repeat the whole tensor along each dim, the last repeat for the last dim; TensorFlow's own takes one for each."""
    counts = given.dims("repeats", "reps", "dims", "multiples", "sizes")
    lacking = tensor.rank - len(counts) if given.name == "tile" else 0
    return tensor.after("tile", repeats=(*(1,) * lacking, *counts))


def _repeat(tensor: Tensor, given: Arguments) -> Tensor:
    """Read torch's repeat, which tiles; einops', which takes a pattern; or NumPy's, which repeats each element."""
    if given.values and isinstance(given.values[0], str):
        return _rearrange(tensor, given)
    return _tile(tensor, given) if tensor.dialect == "torch" else _repeat_elements(tensor, given)


def _repeat_elements(tensor: Tensor, given: Arguments) -> Tensor:
    """Repeat each element along one axis; without an axis, of the flattened tensor."""
    count, axis = given.named("repeats", "dim/axis")
    if axis is None:
        tensor, axis = tensor.after("reshape", target=(-1,)), 0
    place = _axis(tensor, given.whole(axis), given)
    dims, times = tensor.shape, given.dim(count)
    tensor = tensor.after("unsqueeze", axes=(place + 1,))
    tensor = tensor.after("expand", target=(*dims[: place + 1], times, *dims[place + 1 :]))
    return tensor.after("reshape", target=(*dims[:place], product((dims[place], times)), *dims[place + 1 :]))


def _rearrange(tensor: Tensor, given: Arguments) -> Tensor:
    """Read einops' rearrange and repeat. Lengths with names become the stages that the op itself has."""
    if len(given.values) != 1 or not isinstance(given.values[0], str):
        raise given.failing(f"{given.name} of einops takes a pattern")
    lengths = {name: given.dim(value) for name, value in given.keywords.items()}
    written = ",".join(f"{name}={length}" for name, length in lengths.items()) or None
    if not any(isinstance(length, Monomial) for length in lengths.values()):
        return tensor.after("rearrange", pattern=given.values[0], lengths=written)
    stand_in = ",".join(f"{name}=2" for name in lengths)
    return _planned(tensor, plan_of(tensor.rank, given.values[0], stand_in), lengths)


def _planned(tensor: Tensor, plan: Plan, lengths: Mapping[str, Dim]) -> Tensor:
    """Return the tensor after the stages of a pattern, with these lengths of its axes."""
    sizes: dict[str, Dim] = {**plan.lengths, **lengths}
    for dim, axis in zip(tensor.shape, plan.left, strict=True):
        known = product([sizes[name] for name in axis if name in sizes])
        sizes |= {name: quotient(dim, known) for name in axis if name not in sizes}
    apart = tuple([sizes[axis] for axis in plan.axes])
    tensor = tensor if apart == tensor.shape else tensor.after("reshape", target=apart)
    tensor = tensor if plan.moved == tuple(range(tensor.rank)) else tensor.moved(plan.moved)
    every = [axis for names in plan.right for axis in names]
    if plan.new:
        tensor = tensor.inserted(tuple(plan.new))
        tensor = tensor.after("expand", target=tuple([sizes[axis] for axis in every]))
    target = tuple([product([sizes[axis] for axis in names]) for names in plan.right])
    return tensor if target == tensor.shape else tensor.after("reshape", target=target)


def _pixel_shuffle(tensor: Tensor, given: Arguments) -> Tensor:
    (block,) = given.named("upscale_factor")
    return tensor.after("depth_to_space", block=given.whole(block))


def _pixel_unshuffle(tensor: Tensor, given: Arguments) -> Tensor:
    (block,) = given.named("downscale_factor")
    return tensor.after("space_to_depth", block=given.whole(block))


def _select(tensor: Tensor, given: Arguments) -> Tensor:
    axis, index = given.named("dim", "index")
    return tensor.after("select", axis=given.whole(axis), index=given.whole(index))


def _chunk(tensor: Tensor, given: Arguments) -> Parts:
    count, axis = given.named("chunks/indices_or_sections/num_or_size_splits", "dim/axis")
    return Parts(tensor, _axis(tensor, given.whole(axis, 0), given), given.whole(count))


def _split(tensor: Tensor, given: Arguments) -> Parts:
    """Read torch's split, which names the size of a part, or NumPy's, which names their count."""
    if tensor.dialect != "torch":
        return _chunk(tensor, given)
    size, axis = given.named("split_size/split_size_or_sections", "dim")
    place = _axis(tensor, given.whole(axis, 0), given)
    if given.dim(size) == 0:
        raise given.failing("a part would be empty")
    count = quotient(tensor.shape[place], given.dim(size))
    if not isinstance(count, int):
        raise given.failing(f"parts of {size} are not all equal in {tensor.shape[place]}, or their count is not known")
    return Parts(tensor, place, count)


def _unbind(tensor: Tensor, given: Arguments) -> Parts:
    (axis,) = given.named("dim/axis")
    place = _axis(tensor, given.whole(axis, 0), given)
    dim = tensor.shape[place]
    if not isinstance(dim, int):
        raise given.failing(f"the count of parts, {dim}, is not a number", "give it with --where")
    return Parts(tensor, place, dim, drops=True)


def _flip(tensor: Tensor, given: Arguments) -> Tensor:
    return tensor.after("flip", axes=given.axes("dims", "axis"))


def _roll(tensor: Tensor, given: Arguments) -> Tensor:
    shift, axis = given.named("shifts/shift", "dims/axis")
    shifts, axes = (value if isinstance(value, tuple) else (value,) for value in (shift, axis))
    if len(shifts) != len(axes):
        raise given.failing("roll needs an axis for every shift")
    for each, along in zip(shifts, axes, strict=True):
        tensor = tensor.after("roll", shift=given.whole(each), axis=given.whole(along))
    return tensor


READINGS: dict[str, Reading] = {
    **dict.fromkeys(("contiguous", "ascontiguousarray"), _contiguous),
    "reshape": _reshape,
    "view": _view,
    "permute": _permute,
    "permute_dims": _permute,
    "permute_dimensions": _permute,
    "transpose": _transpose,
    **dict.fromkeys(("swapaxes", "swapdims"), _swapaxes),
    "t": _reversed,
    **dict.fromkeys(("moveaxis", "movedim"), _moveaxis),
    "flatten": _flatten,
    "Flatten": _flatten_layer,
    "ravel": _ravel,
    **dict.fromkeys(("unflatten", "Unflatten"), _unflatten),
    "squeeze": _squeeze,
    **dict.fromkeys(("unsqueeze", "expand_dims"), _unsqueeze),
    **dict.fromkeys(("expand", "broadcast_to"), _expand),
    "tile": _tile,
    **dict.fromkeys(("tf.tile", "tensorflow.tile"), _tile),
    "repeat": _repeat,
    "repeat_interleave": _repeat_elements,
    **dict.fromkeys(("rearrange", "Rearrange"), _rearrange),
    **dict.fromkeys(("pixel_shuffle", "PixelShuffle"), _pixel_shuffle),
    **dict.fromkeys(("pixel_unshuffle", "PixelUnshuffle"), _pixel_unshuffle),
    "select": _select,
    **dict.fromkeys(("chunk", "array_split"), _chunk),
    "split": _split,
    **dict.fromkeys(("unbind", "unstack"), _unbind),
    "flip": _flip,
    "roll": _roll,
}
"""The calls that change a shape."""
KEEPS = {
    *("clone", "detach", "to", "float", "half", "double", "bfloat16", "cpu"),
    *("cuda", "type", "type_as", "numpy", "copy", "astype", "requires_grad_", "relu"),
    *("gelu", "silu", "sigmoid", "tanh", "exp", "log", "abs"),
    *("softmax", "log_softmax", "dropout", "asarray", "array", "convert_to_tensor", "cast", "identity"),
    *("from_numpy", "as_tensor", "normalize", "sin", "cos", "neg"),
}
"""The calls that keep a shape."""
OTHERS = "the other tensor's shape is not known here: write {} with its dims"
JOINS, MULTIPLIES = (f"it {verb} tensors, and a line is about one" for verb in ("joins", "multiplies"))
REDUCES, ADDS = "it makes one position of many, and no op here does that", "it adds positions, and no op here does that"
SAID = {
    "view_as": OTHERS.format("view"),
    "reshape_as": OTHERS.format("reshape"),
    "expand_as": OTHERS.format("expand"),
    "unfold": "no op here makes windows that overlap",
    **dict.fromkeys(("cat", "concat", "concatenate", "stack", "hstack", "vstack"), JOINS),
    **dict.fromkeys(("matmul", "einsum", "bmm", "mm", "dot", "tensordot"), MULTIPLIES),
    **dict.fromkeys(("mean", "sum", "max", "min", "amax", "argmax", "any", "all", "norm", "reduce"), REDUCES),
    **dict.fromkeys(("pad", "interpolate", "upsample"), ADDS),
}
"""The calls that cannot be said, each with the reason."""


if TYPE_CHECKING:
    Reading = Callable[[Tensor, Arguments], Value]


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
        line, column = error.lineno or 1, max(0, (error.offset or 1) - 1)
        start = min(_line_start(text, line) + column, max(0, len(text) - 1))
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
            given = [*node.args, *node.keywords]
            several = node.func.attr == "transpose" and len(given) != 2  # torch takes two axes
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


def _line_start(text: str, line: int) -> int:
    """Return the place of the first character of a line, which is counted from 1."""
    return sum(len(each) for each in text.splitlines(keepends=True)[: line - 1])


def span_of(text: str, node: ast.AST) -> tuple[int, int]:
    """Return the place of an expression in code. Python counts its columns in bytes."""
    lines = text.splitlines(keepends=True)

    def place(line: int, column: int) -> int:
        before = lines[line - 1].encode("utf-8", "surrogatepass")[:column]
        return _line_start(text, line) + len(before.decode("utf-8", "surrogatepass"))

    return (
        place(node.lineno, node.col_offset),  # type: ignore[attr-defined]
        place(node.end_lineno, node.end_col_offset),  # type: ignore[attr-defined]
    )


# Lines of code as chains: PyTorch, NumPy, TensorFlow or JAX, read from the syntax tree and never run.
#
# A line is an expression over one tensor. Names that are not the tensor's are sizes.


LONGEST = 1 << 16
"""The most characters of code that are read."""
OPERATORS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}


class Read(Record):
    """What a piece of code does to its tensor: the stages of a chain, and what is to be said of the reading."""

    shape: Shape
    stages: tuple[Stage, ...]
    notes: tuple[str, ...]


def read_code(text: str, name: str | None, shape: Shape, dialect: str | None, sizes: Mapping[str, int]) -> Read:
    """Return what code does to the tensor called `name`, of that shape; without a name, to the one that it begins with.

    `sizes` are put in for names of sizes. Raises `ShapeError` (usage) for what cannot be read, with its place.

    >>> from shapecalc.core.text import read_dims
    >>> read_code("x.transpose(1, 2)", "x", read_dims("B,T,C"), None, {}).stages
    (('transpose', {'perm': (0, 2, 1), 'dialect': 'torch'}),)
    """
    if len(text) > LONGEST:
        raise misuse(f"{len(text)} characters of code, and no more than {LONGEST} are read", argument="line")
    tree = parsed(text)
    try:
        row = dialect_called(dialect).name if dialect else dialect_of(tree)
        given = tuple([substitute(dim, sizes) for dim in shape])
        reader = Reader(text, as_written(name) if name else root_of(tree), row, sizes)
        return reader.read(tree, given, {*names(shape)})
    except RecursionError:
        raise misuse("the code is nested too deep", argument="line") from None


def is_code(text: str) -> bool:
    """Say whether a text is Python that does something known to a tensor, and no shape.

    >>> is_code("x.view(2, -1)"), is_code("x[:, None]"), is_code("torch.Size([2, 3])"), is_code("3*H*W")
    (True, True, False, False)
    """
    if len(text) > LONGEST or _is_shape(text):
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

    def __init__(self, text: str, name: str, dialect: str, sizes: Mapping[str, int]) -> None:
        """Begin with nothing assigned."""
        self.text, self.name, self.dialect, self.sizes = text, name, dialect, sizes
        self.assigned: dict[str, Value] = {}
        self.notes: dict[str, None] = {}
        self.met: set[str] = set()
        """The names of sizes that were read."""

    def read(self, tree: ast.Module, shape: Shape, known: set[str]) -> Read:
        """Return what the code does to a tensor of `shape`; `known` are the names in it as it was given."""
        self.assigned[self.name] = Tensor(shape, (), self.dialect)
        self.from_layer = "(" in self.name
        value: Value = None
        try:
            for statement in tree.body:
                value = self.carried_out(statement)
        except Refused as refused:
            return Read(shape, refused.stages, tuple(self.notes))
        check_names_known(self.sizes, [*known, *sorted(self.met)])
        if isinstance(value, Parts):
            raise misuse(f"the code ends with {value.count} parts, not with one tensor", value.hint, argument="line")
        if not isinstance(value, Tensor):
            raise misuse(
                "the code does not end with a tensor", f"it is read as a line about {brief(self.name)}", argument="line"
            )
        if not value.stages:
            raise misuse(f"nothing in the code changes the shape of {brief(self.name)}", argument="line")
        return Read(shape, value.stages, tuple(self.notes))

    def carried_out(self, statement: ast.stmt) -> Value:
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
            value = positions(value, self.failing(target))
        if name:
            self.assigned[name] = value
        elif isinstance(target, ast.Tuple | ast.List) and isinstance(value, tuple | Parts):
            count = value.count if isinstance(value, Parts) else len(value)
            if count != len(target.elts):
                raise self.error(target, f"{len(target.elts)} names for {count} values")
            for place, each in enumerate(target.elts):
                self.assign(each, element(value, place, self.failing(each)))
        else:
            raise self.error(target, "nothing can be assigned to this here")

    def value(self, node: ast.expr) -> Value:
        """Return the value of an expression; raise `ShapeError` (usage) for one that is not read."""
        match node:
            case ast.Constant(value=constant) if constant is None or isinstance(constant, bool | int | float | str):
                return constant
            case ast.Constant(value=constant) if constant is Ellipsis:
                return constant
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return tuple(self.values(parts))
            case ast.Name() | ast.Attribute():
                return self.named(node)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return negated(self.value(operand), self.failing(node))
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
                    found = measure(base, node.attr)
                    return flipped(base, node.attr, self.failing(node)) if found is None else found
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
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Tensor):
                if is_number(other):
                    return one
                raise self.error(node, f"{sign} of tensors is not supported: a line is about one tensor")
        found = arithmetic(left, sign, right, self.failing(node))
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
            return indexed(base, key, self.failing(node))
        return element(base, key, self.failing(node))

    def called(self, node: ast.Call) -> Value:
        """Return the value of a call: of a method of a tensor, of a function, or of a layer."""
        if self.from_layer and ast.unparse(node) == self.name:
            return self.assigned[self.name]
        args = list(self.values(node.args))
        keywords = {each.arg or "**": self.value(each.value) for each in node.keywords}
        function = node.func
        if isinstance(function, ast.Call):  # nn.PixelShuffle(2)(x)
            layer = dotted_name(function.func).rpartition(".")[2]
            args += self.values(function.args)
            keywords |= {each.arg or "**": self.value(each.value) for each in function.keywords}
            return call_tensor(layer, args, keywords, self.failing(node))
        if isinstance(function, ast.Attribute) and dotted_name(function).split(".")[0] not in MODULES - {self.name}:
            return self.method(node, function, args, keywords)
        whole = dotted_name(function)
        name = whole if is_known(whole) else whole.rpartition(".")[2]
        return call_tensor(name, args, keywords, self.failing(node))

    def method(self, node: ast.Call, function: ast.Attribute, args: list[Value], keywords: dict[str, Value]) -> Value:
        """Return the value of a method."""
        if not is_known(function.attr):
            hint = f"name its result as the tensor: --input '{brief(self.segment(node))}=SHAPE'"
            raise self.error(node, f"{brief(function.attr)} is not known here", hint)
        base = self.value(function.value)
        if is_number(base) and not isinstance(base, tuple):
            shown = brief(self.segment(function.value))
            raise self.error(function.value, f"{shown} is not the tensor: the input is {brief(self.name)}")
        return call_tensor(function.attr, [base, *args], keywords, self.failing(node))

    def failing(self, node: ast.AST) -> Failing:
        """Return what makes the error for an expression."""
        return lambda message, hint="": self.error(node, message, hint)

    def segment(self, node: ast.AST) -> str:
        """Return the text of an expression."""
        start, end = span_of(self.text, node)
        return visible(self.text[start:end])

    def error(self, node: ast.AST, message: str, hint: str = "") -> ShapeError:
        """Return the error (usage) for an expression, with its place."""
        return misuse(f"'{brief(self.segment(node))}': {message}", hint, argument="line", span=span_of(self.text, node))

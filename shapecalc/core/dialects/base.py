"""What a dialect is made of: the questions that frameworks answer differently, element types, limits and counts."""

from __future__ import annotations

from shapecalc.core import rules
from shapecalc.core.answers import NONE, Reasons, Step, StepRule
from shapecalc.core.conditions import Conditions, Never, divides, equal, required
from shapecalc.core.dims import INT64_MAX, Dim, Shape, exceeds, monomial, product, quotient
from shapecalc.core.moves import Expand, Reshape
from shapecalc.core.problem import Rule, ShapeError, misuse, refusal
from shapecalc.core.record import Choice, FrozenDict, Record, fields
from shapecalc.core.text import brief, count_text, dim_text, shape_text, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeAlias


# `Param`: one parameter of an op, by the name that every front end gives it.


class Holds(Choice):
    """What a parameter holds."""

    TARGET = "a requested shape"
    AXES = "a list of axes"
    PERM = "a permutation of axes, which may be named by their dims"
    SLICES = "slices of axes"
    PATTERN = "a pattern of axes"
    LENGTHS = "lengths of axes by name"
    SUBSCRIPTS = "labels of the axes of operands"
    SHAPE = "a shape"
    SHAPES = "the shapes of other operands"
    SIZES = "a whole number, or one for each axis, or a word"
    SCALES = "a factor, or one for each axis"
    INT = "a whole number"
    WORD = "one of a few words"
    FLAG = "yes or no"


class Param(Record):
    """One parameter of an op."""

    name: str
    holds: Holds
    help: str
    positional: bool = False
    placed: bool = False
    """Whether it may be given by its place, too, behind those that are positional."""
    required: bool = False
    words: tuple[str, ...] = ()
    """The words that a parameter of words takes."""
    taken_by: Callable[[Any], bool] | None = None
    """Which dialects' operators have the parameter, by the dialect's row; None if all do."""
    twin: str = ""
    """The parameter that it means in dialects that have that one in its place."""

    def is_taken_by(self, row: Any) -> bool:
        """Say whether the operator of a dialect has the parameter."""
        return self.taken_by is None or self.taken_by(row)


# The questions that frameworks answer differently, and `Dialect`, one framework's row of answers.
#
# Behaviour that differs is an answer here; behaviour that is shared is a function in the room `ops`. A switch of a
# framework selects a whole `Reading`, because it never changes one answer alone: ONNX's `allowzero=1` also forbids 0
# beside -1.


NO_VERSIONS: Mapping[int, frozenset[str]] = {}
Refuses: TypeAlias = "Callable[..., ShapeError | None]"
"""Called as `Op.steps` is; returns the error for a request that is refused."""
Settles: TypeAlias = "Callable[..., Step]"
"""Settles a dim of a requested shape: a 0, given its index, or -1, given what `inferred` is."""
Ends: TypeAlias = "tuple[int, int]"


class Zero(Choice):
    """What does 0 mean in a requested shape?"""

    COPIES = "copies"
    LITERAL = "is zero"


class Infers(Choice):
    """Which negative values ask for a dim to be inferred?"""

    MINUS_ONE = "-1"
    ANY_NEGATIVE = "any < 0"


class ZeroBeside(Choice):
    """May a literal 0 stand beside -1?"""

    ALLOWED = "yes"
    REFUSED = "no"


class EmptyInfer(Choice):
    """What is -1 if the product of the known dims is zero?"""

    REFUSED = "refused"
    WITHOUT_ZEROS = "no zeros"
    """The zeros are left out of the products of both sides."""
    WITHOUT_COPIES = "no copies"
    """The dims that 0 copies are left out of the products of both sides, and 0/0 is 1."""


class Reading(Record):
    """How a framework reads a requested shape, at one setting of its switch."""

    zero: Zero
    infers: Infers = Infers.MINUS_ONE
    zero_beside: ZeroBeside = ZeroBeside.ALLOWED
    empty: EmptyInfer = EmptyInfer.REFUSED


class NoPerm(Choice):
    """What does transpose do if no permutation is given?"""

    REVERSES = "reverses the dims"
    KEEPS = "keeps the dims as they are"
    REFUSED = "refused"


class NotOne(Choice):
    """What happens to an axis named for squeeze whose size is not 1?"""

    REFUSED = "refused"
    LEFT_ALONE = "left alone"


class Repeats(Choice):
    """May the same axis be named twice?"""

    REFUSED = "refused"
    DROPPED = "counted once"
    EACH = "counted each time"
    """Each names a dim of its own. Ops have no way for this: the operator brings its steps."""


class Flattens(Choice):
    """What does flatten take?"""

    AXIS = "one axis; always two dims"
    RANGE = "a first and a last dim to merge"
    ALL = "nothing; always one dim"
    REST = "nothing; always two dims, the first and the product of the others"


class Broadcast(Choice):
    """Which side may grow in expand?"""

    BOTH_WAYS = "input and target"
    ONE_WAY = "the input only"
    ONE_WAY_KEEPS = "the input only; -1 keeps an existing dim"
    RANK_STAYS = "the input only, and no dims are added; 0 keeps a dim"


class TileRepeats(Choice):
    """How many repeats does tile take?"""

    EACH = "one for each dim"
    AT_LEAST = "one for each dim, or more in front"
    ANY = "any number: they are for the last dims, and the other dims get 1"


class Outside(Choice):
    """What happens to a start and a stop of a slice that lie outside of the dim?"""

    CLAMPED = "moved to its ends, as in Python"
    CLAMPED_INSIDE = "moved to its ends; a start with a step below 0 to its first position"
    REFUSED = "refused, and nothing counts from the end"


class LeftOver(Choice):
    """What happens if a count of parts does not divide the size that is split?"""

    REFUSED = "refused"
    LAST = "the last part is smaller"
    FEWER = "the last part is smaller, and there may be fewer parts"


class Rolls(Choice):
    """How do the shifts and the axes of roll go together?"""

    ANY = "one shift for all axes, or several for one; without axes all elements roll as one row"
    PAIRED = "one shift for each axis; without axes all elements roll as one row"
    AXES = "one shift for each axis"


class Switch(Record):
    """A framework's own switch over what 0 means."""

    name: str
    default: bool | None
    """None if the framework requires it to be given."""
    since: int = 1
    """The first version of the operator that has it."""


class Windows(Record):
    """What a framework says of windows: those of convolutions and pools."""

    padding: str = "numbers same same-lower valid"
    """The paddings that it takes; behind a colon what takes one: `conv`, `transposed`, `max`, `average`."""
    spatial: tuple[int, int] = (1, 62)
    """The least and the most spatial dims."""
    layout: str = "nchw"
    """Where the channels are if nothing is said: behind the batch, or last."""
    layouts: bool = False
    """Whether the layout can be chosen."""
    filters_last: bool = False
    """Whether a weight is k...,IN,OUT, transposed k...,OUT,IN."""
    unbatched: bool = False
    """Whether an input without a batch is taken."""
    symmetric: bool = False
    """Whether padding is one number for both ends, at most half of a pool's kernel, and `same` for strides of 1."""
    kernel_steps: bool = False
    """Whether the stride of a pool is its kernel if nothing is said; otherwise it is 1."""
    counts_outside: bool = False
    """Whether windows count that begin in the padding at the end, if sizes are rounded up."""
    dilates_steps: bool = True
    """Whether stride and dilation may both be above 1."""
    crops: bool = True
    """Whether a pad below 0 takes positions away."""
    empty: bool = True
    """Whether a dim may be scaled to 0."""


class Operator(Record):
    """What a dialect calls an op, and what its operator takes."""

    name: str
    versions: Mapping[int, frozenset[str]] = NO_VERSIONS
    """The element types of each version, by the version's number; empty if operators have no versions."""
    since: Mapping[str, int | None] = NONE
    """The op's parameters that not every version has: the first version with each, None if the operator has it in
    none. To give one that it lacks is a problem, not usage."""
    required: Mapping[str, int] = NONE
    """The op's parameters that it requires, although the op does not: the first version that does, by parameter."""
    params: tuple[Param, ...] = ()
    """The parameters that it has beside those of the op."""
    steps: Callable[..., Reasons | None] | None = None
    """What resolves requests that the op does not resolve as this operator does; called as `Op.steps` is. It returns
    None for a request that is left to the op, and decides that before it begins."""
    refuses: Refuses | None = None
    """What it refuses of the requests that the op resolves, as soon as the op has begun its first stage."""
    scalar_axis: bool = True
    """Whether a scalar counts as having an axis here, if it does in the dialect."""
    variant: Callable[[Mapping[str, Any]], Operator] | None = None
    """What is the operator in its place for some arguments, given those by name."""


def named(same: str = "", **others: str) -> dict[str, Operator]:
    """Return operators by op: those that are called as their ops, and the names of others.

    >>> [operator.name for operator in named("reshape", unsqueeze="expand_dims").values()]
    ['reshape', 'expand_dims']
    """
    names = {op: op for op in same.split()} | others
    return {op: Operator(name) for op, name in names.items()}


class Dialect(Record):
    """One framework's row: its operators, its answers, its limits, and where they are written down."""

    name: str
    source: str
    readings: Mapping[bool | None, Reading]
    """How it reads a requested shape, by the setting of the switch; under None if there is no switch."""
    operators: Mapping[str, Operator] = NONE
    """Its operators, by shapecalc's name of the op. An op that came later names the operators itself."""
    follows: Dialect | None = None
    """The dialect whose operators it has, unless it names its own."""
    switch: Switch | None = None
    newest_opset: int | None = None
    """The newest opset it knows; None if operators are not versioned."""
    max_rank: int | None = None
    max_inferred: int | None = None
    no_perm: NoPerm = NoPerm.REVERSES
    empty_perm_reverses: bool = False
    negative_perm: bool = False
    not_one: NotOne = NotOne.REFUSED
    squeeze_repeats: Repeats = Repeats.REFUSED
    unsqueeze_repeats: Repeats = Repeats.REFUSED
    inserts_one: bool = False
    """Whether unsqueeze takes exactly one axis."""
    no_axes_is_all: bool = False
    """Whether squeeze with an empty list of axes takes every dim of 1, as if none were given."""
    negative_axes_since: int = 1
    """The first version whose flatten, squeeze and unsqueeze take negative axes."""
    scalar_axis: bool = False
    """Whether a scalar counts as having one axis if axes are named."""
    flattens: Flattens = Flattens.ALL
    flattens_from: int = 0
    """The first dim that flatten merges if a range can be given and none is."""
    broadcast: Broadcast = Broadcast.ONE_WAY
    equal_ranks: bool = False
    """Whether operators of several operands add no dims of 1 in front, and take no vectors."""
    tile_repeats: TileRepeats = TileRepeats.ANY
    windows: Windows = Windows()
    slices_shape: bool = True
    """Whether shape takes a start and an end."""
    index_outside: StepRule | None = None
    """The rule that moves an index outside of its dim to the nearest position; None if it is refused."""
    outside: Outside = Outside.CLAMPED
    slices_backwards: bool = True
    """Whether a slice takes a step below 0."""
    takes_from_the_end: bool = True
    """Whether take counts indices below 0 from the end."""
    rolls: Rolls = Rolls.PAIRED
    left_over: LeftOver = LeftOver.REFUSED
    splits_by_size: bool = False
    """Whether split takes the size of a part in place of a count."""
    splits_unevenly: bool = False
    """Whether split makes the first parts longer by one, if it is asked to."""
    infers_part: bool = False
    """Whether one of the sizes that split takes may be -1."""
    types: frozenset[str] = frozenset()
    """The element types that its operators accept, if they have no versions."""
    lacks_types: Mapping[str, frozenset[str]] = NONE
    """The element types that an operator lacks of those that `types` or its version lists, by op."""
    spellings: Mapping[str, str] = NONE
    """Its own spellings of element types, if they are not NumPy's, each with the name it stands for."""
    prefix: str = ""
    """What may stand before the name of an element type: `torch.`"""
    aliases: tuple[str, ...] = ()
    """Other names of the dialect."""
    note: str = ""
    rules: tuple[Rule, ...] = ()
    """The rules that only this dialect has: those of its steps, and those that it refuses by."""

    def settings(self) -> tuple[bool | None, ...]:
        """Return the settings of the switch, the default first; `(None,)` without a switch."""
        default = self.switch and self.switch.default
        return tuple(sorted(self.readings, key=lambda setting: setting is not default))

    @property
    def defaults(self) -> tuple[bool | None, ...]:
        """The settings that count as the dialect's own: the default; both if the switch is required."""
        required = self.switch is not None and self.switch.default is None
        return self.settings() if required else self.settings()[:1]

    def reading_as_json(self, on: bool | None) -> dict[str, object]:
        """Return how it reads a requested shape at one setting, as the JSON object of `shapecalc dialects`."""
        return {"setting": on} | {name: answer.value for name, answer in fields(self.readings[on]).items()}


class Setting(Record):
    """The rules under which one request is answered."""

    row: Dialect
    operator: Operator
    steps: Callable[..., Reasons]
    """What resolves the request: the operator's own way, or the op's."""
    version: int | None
    """The operator's version; None if operators have no versions."""
    reading: Reading
    """How 0 and -1 are read in a requested shape."""
    options: FrozenDict
    """The switch in force, by the framework's own name."""


COPIES = Reading(Zero.COPIES)
"""0 copies, -1 beside an empty dim is refused."""
LITERAL = Reading(Zero.LITERAL, zero_beside=ZeroBeside.REFUSED)
"""0 is a dim of size zero, and may not stand beside -1."""


# Element types: the sets that operators accept, and how each framework spells them.
#
# The names are NumPy's and ml_dtypes'. `SINCE_n` is what the ONNX operator documents list from version n on.


INTEGERS = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
FLOATS = frozenset({"float16", "float32", "float64"})
COMPLEX = frozenset({"complex64", "complex128"})
FLOAT8 = frozenset({"float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"})
INT4 = frozenset({"int4", "uint4"})
SUB_BYTE = frozenset({"float4_e2m1fn", "float8_e8m0fnu", "int2", "uint2"})

UP_TO_12 = INTEGERS | FLOATS | COMPLEX | {"bool", "string"}
SINCE_13 = UP_TO_12 | {"bfloat16"}
WIDE = FLOATS | {"int32", "int64", "uint32", "uint64"}
"""The element types of older arithmetic."""
NUMBERS = FLOATS | INTEGERS
SINCE_19 = SINCE_13 | FLOAT8
SINCE_21 = SINCE_19 | INT4
SINCE_23 = SINCE_21 | {"float4_e2m1fn"}
SINCE_24 = SINCE_23 | {"float8_e8m0fnu"}
SINCE_25 = SINCE_24 | {"int2", "uint2"}
NEWEST = {21: SINCE_21, 23: SINCE_23, 24: SINCE_24, 25: SINCE_25}
"""The element types of the newest versions of most operators, by version."""

KNOWN = SINCE_25 | {"float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float6_e2m3fn", "float6_e3m2fn"}
KNOWN |= {"int1", "uint1", "longdouble", "clongdouble", "bytes", "object", "datetime64", "timedelta64", "void"}
"""Every element type that NumPy and ml_dtypes name."""


def element_type(text: str, row: Dialect) -> str | None:
    """Return the element type that `text` names in a dialect; None if it names none.

    >>> from shapecalc.core.dialects.numpy import NUMPY
    >>> from shapecalc.core.dialects.onnx import ONNX
    >>> element_type("float", ONNX), element_type("float", NUMPY), element_type("tensor(float16)", ONNX)
    ('float32', 'float64', 'float16')
    """
    name = text.strip()
    if name.startswith("tensor(") and name.endswith(")"):
        name = name[7:-1]
    name = name.removeprefix(row.prefix)
    name = row.spellings.get(name, name)
    return name if name in KNOWN else None


def spelled(dtype: str, row: Dialect) -> str:
    """Return how a dialect spells an element type.

    >>> from shapecalc.core.dialects.onednn import ONEDNN
    >>> from shapecalc.core.dialects.onnx import ONNX
    >>> spelled("float32", ONNX), spelled("float32", ONEDNN), spelled("int8", ONNX)
    ('float', 'f32', 'int8')
    """
    return next((own for own, name in row.spellings.items() if name == dtype), dtype)


def bytes_of(dtype: str) -> int:
    """Return how many bytes NumPy and ml_dtypes keep an element of a type in.

    Raises `ShapeError` (usage) for a type whose elements have no size of their own, and for what is no type.

    >>> bytes_of("bfloat16"), bytes_of("int4"), bytes_of("bool")
    (2, 1, 1)
    """
    sizes = {"bool": 1, "longdouble": 16, "clongdouble": 32, "datetime64": 8, "timedelta64": 8}
    kind = dtype.partition("_")[0]
    digits = kind[len(kind.rstrip("0123456789")) :]
    if dtype in sizes:
        return sizes[dtype]
    if dtype not in KNOWN or not digits:
        raise misuse(f"elements of type {visible(brief(dtype))} have no known size", argument="dtype")
    return max(1, int(digits) // 8)


# Limits on rank and size, and the errors for what is over them.


def check_rank(dims: Shape, row: Dialect, argument: str) -> None:
    """Raise `ShapeError` (rank-limit) if the dialect does not take that many dims."""
    if row.max_rank is not None and len(dims) > row.max_rank:
        message = f"{len(dims)} dims, and {row.name} takes at most {row.max_rank}"
        raise refusal(rules.RANK_LIMIT, message, argument=argument, index=row.max_rank)


def check_sizes(dims: Shape, argument: str) -> None:
    """Raise `ShapeError` (overflow) if a dim is over int64 whatever the names are."""
    for index, dim in enumerate(dims):
        if exceeds(dim, INT64_MAX):
            message = f"{dim_text(dim)} is too large for int64, whose limit is {INT64_MAX}"
            raise refusal(rules.OVERFLOW, message, argument=argument, index=index)


def over(most: int, rank: int, row: Any, verb: str = "takes", argument: str = "input") -> ShapeError | None:
    """Return the error (rank-limit) for more dims than an operator takes or gives, if there are more."""
    if rank <= most:
        return None
    message = f"{rank} dims, and this operator of {row.name} {verb} at most {most}"
    return refusal(rules.RANK_LIMIT, message, argument=argument, index=most)


def at_most(most: int) -> Refuses:
    """Return what refuses tensors of more dims (rank-limit)."""
    return lambda shape, at, **_: over(most, len(shape), at.row)


def checked_volume(dims: Shape, argument: str) -> Dim:
    """Return the element count of `dims`.

    Raises `ShapeError` (overflow) if a dim or the count is over int64 whatever the names are.
    """
    volume = product(dims)
    if isinstance(volume, int) and 0 < volume <= INT64_MAX:
        return volume
    check_sizes(dims, argument)
    if exceeds(volume, INT64_MAX) or monomial(volume).denominator > INT64_MAX:
        message = f"{count_text(dims, volume)} are too many for int64, whose limit is {INT64_MAX}"
        raise refusal(rules.OVERFLOW, message, argument=argument)
    return volume


# What every requested shape is held to, in whatever way it is read: one dim to infer, and the same element count.


def same_count(shape: Shape, settled: Shape, have: Dim, want: Dim, argument: str) -> Conditions:
    """Return the conditions under which an input of `have` elements fills the requested shape, which holds `want`.

    Raises `ShapeError`: volume-mismatch. Source: ONNX Reshape ("required to have the same number of elements").
    """
    if have == want:
        return ()
    try:
        return equal(have, want)
    except Never:
        pass
    requested = f"the requested {brief(shape_text(settled))} has {count_text(settled, product(settled))}"
    message = f"the input has {count_text(shape, have)}, {requested}"
    if have == 0 and isinstance(want, int):
        message += f": 0 elements cannot fill {want} places"
    raise refusal(rules.VOLUME_MISMATCH, message, argument=argument)


OTHERS = "the other dims multiply to 0"


def check_hole(out: int, dim: int, hole: int | None, argument: str = "target") -> None:
    """Refuse a second dim to infer, and what is below -1. Raises `ShapeError`: two-infers, below-minus-one."""
    if dim < -1:
        message = f"{dim} is below -1, the only negative number with a meaning"
        raise refusal(rules.BELOW_MINUS_ONE, message, argument=argument, index=out)
    if hole is not None:
        message = "at most one dim can be inferred, and this is the second"
        raise refusal(rules.TWO_INFERS, message, argument=argument, index=out)


def recut(shape: Shape, after: Shape, conditions: Conditions = ()) -> Reasons:
    """Keep the elements in order and cut them into `after`: the last step and the move of a stage that began."""
    yield Step(rules.REGROUPED, None, tuple(range(len(shape))), after, conditions, FrozenDict(before=shape))
    yield Reshape(after)
    return after


def stretched(shape: Shape, after: Shape) -> Reasons:
    """Repeat the elements until they fill `after`: the last step and the move of a stage that began."""
    yield Step(rules.BROADCASTED, None, tuple(range(len(shape))), after)
    yield Expand(after)
    return after


def inserted(shape: Shape, sources: Sequence[int | None], row: Dialect | None = None) -> Reasons:
    """Put the input's axes in the places of a longer shape, and 1 where there is None, in a stage that began.

    Raises `ShapeError`: rank-limit, if a dialect is given.
    """
    for out, axis in enumerate(sources):
        yield Step(rules.INSERTED_ONE, out, (), 1) if axis is None else Step(rules.KEPT_DIM, out, (axis,), shape[axis])
    output = tuple([1 if axis is None else shape[axis] for axis in sources])
    if row is not None:
        check_rank(output, row, "axes")
    return (yield from recut(shape, output))


def inferred(shape: Shape, known: Dim, hole: int, taken: set[int], index: int, why_any: str = OTHERS) -> Step:
    """Return the step that infers -1: the elements there are, divided by the product of the known dims.

    `taken` are the input axes that other dims come from, and `why_any` says why known dims of no
    elements decide nothing. Raises `ShapeError`: zero-volume-infer, indivisible, both at an `index` of the target.
    """
    have, sources = product(shape), tuple([axis for axis in range(len(shape)) if axis not in taken])
    if known == 0:
        message = f"-1 could be any size, because {why_any}"
        raise refusal(rules.ZERO_VOLUME_INFER, message, argument="target", index=index)
    message = f"{count_text(shape, have)} cannot be divided by {known}"
    conditions = required(divides, have, known, refusal(rules.INDIVISIBLE, message, argument="target", index=index))
    facts = FrozenDict(shape=shape, have=have, known=known)
    return Step(rules.INFERRED, hole, sources, quotient(have, known), conditions, facts)


def reshaped(
    shape: Shape, target: Shape, zero: Settles, kept: Ends = (0, 0), infer: Settles = inferred, argument: str = "target"
) -> Reasons:
    """Settle a requested shape whose zeros `zero` settles, and -1 `infer`: the steps and the move of a begun stage.

    `kept` are how many dims at both ends are the input's own, as they are. Raises `ShapeError`: two-infers,
    below-minus-one, volume-mismatch, overflow, and what `zero` and `infer` raise.
    """
    dims, hole, taken, (before, behind) = list(target), None, set[int](), kept
    written, moved = range(before, len(target) - behind), len(shape) - len(target)
    for out, dim in enumerate(target):
        if out not in written:
            step = Step(rules.KEPT_DIM, out, (out if out < before else out + moved,), dim)
        elif isinstance(dim, int) and dim < 0:
            check_hole(out - before, dim, hole, argument)
            hole, dims[out] = out, 1
            continue
        else:
            step = zero(out) if dim == 0 else Step(rules.GIVEN, out, (), dim)
        dims[out] = step.dim
        taken.update(step.sources)
        yield step
    conditions: Conditions = ()
    known = checked_volume(tuple(dims), argument)
    if hole is None:
        conditions = same_count(shape, tuple(dims), product(shape), known, argument)
    else:
        step = infer(shape, known, hole, taken, hole - before)
        dims[hole] = step.dim
        yield step
    return (yield from recut(shape, tuple(dims), conditions))

"""The dialect model: parameters of ops, rules of frameworks, and element types.

A difference between frameworks is a field of `Dialect`; shared behaviour is a function here or in the package `ops`.
"""

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


class Holds(Choice):
    """The kind of value of a parameter."""

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
    """One parameter of an op, with the name that every front end uses."""

    name: str
    holds: Holds
    help: str
    positional: bool = False
    placed: bool = False
    """Whether it may also be given by position, after the positional parameters."""
    required: bool = False
    words: tuple[str, ...] = ()
    """The allowed words of a parameter that takes a word."""
    taken_by: Callable[[Any], bool] | None = None
    """The predicate for dialects that have the parameter; None if all have it."""
    twin: str = ""
    """The parameter that replaces it in dialects whose operators lack it."""

    def is_taken_by(self, row: Any) -> bool:
        """Return whether the operator of a dialect has the parameter."""
        return self.taken_by is None or self.taken_by(row)


NO_VERSIONS: Mapping[int, frozenset[str]] = {}
Refuses: TypeAlias = "Callable[..., ShapeError | None]"
"""A check with the signature of `Op.resolve`; returns an error or None."""
Settles: TypeAlias = "Callable[..., Step]"
"""A resolver of a 0, given its index, or of a -1, as `infer_dim` is."""
Ends: TypeAlias = "tuple[int, int]"
"""How many dims at the start and at the end of a shape."""


class Zero(Choice):
    """The meaning of 0 in a requested shape."""

    COPIES = "copies"
    LITERAL = "is zero"


class Infers(Choice):
    """The negative values that mark a dim to infer."""

    MINUS_ONE = "-1"
    ANY_NEGATIVE = "any < 0"


class ZeroBeside(Choice):
    """Whether a requested shape may have a literal 0 and -1 together."""

    ALLOWED = "yes"
    REFUSED = "no"


class EmptyInfer(Choice):
    """The value of -1 if the product of the known dims is zero."""

    REFUSED = "refused"
    WITHOUT_ZEROS = "no zeros"
    """Both products leave out dims of size zero."""
    WITHOUT_COPIES = "no copies"
    """Both products leave out the dims that a 0 copies, and 0/0 is 1."""


class Reading(Record):
    """The meaning of a requested shape in a framework, at one setting of its switch.

    A switch selects all fields at once, because it never changes one alone: ONNX's `allowzero=1` also forbids 0 beside
    -1.
    """

    zero: Zero
    infers: Infers = Infers.MINUS_ONE
    zero_beside: ZeroBeside = ZeroBeside.ALLOWED
    empty: EmptyInfer = EmptyInfer.REFUSED


COPIES = Reading(Zero.COPIES)
"""Semantics in which 0 copies a dim, and -1 is refused if a known dim is 0."""
LITERAL = Reading(Zero.LITERAL, zero_beside=ZeroBeside.REFUSED)
"""Semantics in which 0 is a dim of size zero, and is refused together with -1."""


class NoPerm(Choice):
    """The result of transpose without a permutation."""

    REVERSES = "reverses the dims"
    KEEPS = "keeps the dims as they are"
    REFUSED = "refused"


class NotOne(Choice):
    """The result of squeeze for a named axis whose size is not 1."""

    REFUSED = "refused"
    LEFT_ALONE = "left alone"


class Repeats(Choice):
    """The meaning of an axis that is named twice."""

    REFUSED = "refused"
    DROPPED = "counted once"
    EACH = "counted each time"
    """Each occurrence names its own dim.

    The ops do not support this: an operator that does has a resolver of its own.
    """


class Flattens(Choice):
    """The parameters of flatten, and the dims that it merges."""

    AXIS = "one axis; always two dims"
    RANGE = "a first and a last dim to merge"
    ALL = "nothing; always one dim"
    REST = "nothing; always two dims, the first and the product of the others"


class Broadcast(Choice):
    """The sides that may grow in expand."""

    BOTH_WAYS = "input and target"
    ONE_WAY = "the input only"
    ONE_WAY_KEEPS = "the input only; -1 keeps an existing dim"
    RANK_STAYS = "the input only, and no dims are added; 0 keeps a dim"


class TileRepeats(Choice):
    """The number of repeats that tile accepts."""

    EACH = "one for each dim"
    AT_LEAST = "one for each dim, or more in front"
    ANY = "any number: they are for the last dims, and the other dims get 1"


class Outside(Choice):
    """The meaning of a slice's start or stop outside of the dim."""

    CLAMPED = "moved to its ends, as in Python"
    CLAMPED_INSIDE = "moved to its ends; a start with a step below 0 to its first position"
    REFUSED = "refused, and nothing counts from the end"


class LeftOver(Choice):
    """The result of split if the size is not a multiple of the number of parts."""

    REFUSED = "refused"
    LAST = "the last part is smaller"
    FEWER = "the last part is smaller, and there may be fewer parts"


class Rolls(Choice):
    """The accepted combinations of shifts and axes in roll."""

    ANY = "one shift for all axes, or several for one; without axes all elements roll as one row"
    PAIRED = "one shift for each axis; without axes all elements roll as one row"
    AXES = "one shift for each axis"


class Switch(Record):
    """A framework's own switch for the meaning of 0."""

    name: str
    default: bool | None
    """The default setting; None if the framework requires the switch."""
    since: int = 1
    """The first version of the operator that has the switch."""


class Windows(Record):
    """A framework's rules for the windows of convolutions and pools."""

    padding: str = "numbers same same-lower valid"
    """The accepted paddings, separated by spaces.

    After a colon are the operators that accept one: `conv`, `transposed`, `max`, `average`.
    """
    spatial: tuple[int, int] = (1, 62)
    """The smallest and the largest number of spatial dims."""
    layout: str = "nchw"
    """The default layout: channels after the batch, or last."""
    layouts: bool = False
    """Whether the layout is a parameter."""
    filters_last: bool = False
    """Whether a weight is k...,IN,OUT, or k...,OUT,IN if transposed."""
    unbatched: bool = False
    """Whether an input without a batch axis is accepted."""
    symmetric: bool = False
    """Whether both ends are padded equally.

    Then a pool is padded by at most half of its kernel, and `same` needs a stride of 1.
    """
    kernel_steps: bool = False
    """Whether the default stride of a pool is its kernel size; otherwise it is 1."""
    counts_outside: bool = False
    """Whether windows that begin in the end padding count if sizes are rounded up."""
    dilates_steps: bool = True
    """Whether stride and dilation may both exceed 1."""
    crops: bool = True
    """Whether negative padding is accepted, which removes positions."""
    empty: bool = True
    """Whether a dim may be scaled to 0."""


class Operator(Record):
    """A dialect's operator for an op, with the parameters that it accepts."""

    name: str
    versions: Mapping[int, frozenset[str]] = NO_VERSIONS
    """The element types by version; empty if operators are not versioned."""
    since: Mapping[str, int | None] = NONE
    """The first version with a parameter that some versions lack; None if all do.

    A request with a missing parameter is a problem, not a usage error.
    """
    required: Mapping[str, int] = NONE
    """The first version that requires a parameter, although the op does not."""
    params: tuple[Param, ...] = ()
    """The parameters that it has in addition to those of the op."""
    steps: Callable[..., Reasons | None] | None = None
    """Its own resolver, as `Op.resolve` is; None if the op resolves every request.

    It returns None, before its first step, for a request that the op resolves.
    """
    refuses: Refuses | None = None
    """The check of requests that the op accepts.

    Its error is raised after the first stage has begun.
    """
    scalar_axis: bool = True
    """Whether a scalar counts as having an axis here, if it does in the dialect."""
    variant: Callable[[Mapping[str, Any]], Operator] | None = None
    """The function from arguments, by name, to the operator for them."""


def named(same: str = "", **others: str) -> dict[str, Operator]:
    """Return operators by op: those with the op's own name, and those with another.

    >>> [operator.name for operator in named("reshape", unsqueeze="expand_dims").values()]
    ['reshape', 'expand_dims']
    """
    names = {op: op for op in same.split()} | others
    return {op: Operator(name) for op, name in names.items()}


class Dialect(Record):
    """One framework: its operators, its rules, its limits, and their sources."""

    name: str
    source: str
    readings: Mapping[bool | None, Reading]
    """The meaning of a requested shape by switch setting; None is its absence."""
    operators: Mapping[str, Operator] = NONE
    """Its operators by op. An op that was added later lists its operators itself."""
    follows: Dialect | None = None
    """The dialect whose operators it has where it lists none of its own."""
    switch: Switch | None = None
    newest_opset: int | None = None
    """The newest supported opset; None if operators are not versioned."""
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
    """Whether squeeze with an empty list of axes drops every dim of 1."""
    negative_axes_since: int = 1
    """The first version in which flatten, squeeze and unsqueeze accept negative axes."""
    scalar_axis: bool = False
    """Whether a scalar counts as having one axis if axes are named."""
    flattens: Flattens = Flattens.ALL
    flattens_from: int = 0
    """The default first dim that flatten merges, if flatten takes a range."""
    broadcast: Broadcast = Broadcast.ONE_WAY
    equal_ranks: bool = False
    """Whether operators of several operands require equal ranks.

    They add no dims of 1 in front, and accept no vectors.
    """
    tile_repeats: TileRepeats = TileRepeats.ANY
    windows: Windows = Windows()
    slices_shape: bool = True
    """Whether shape accepts a start and an end."""
    index_outside: StepRule | None = None
    """The rule that moves an index outside of its dim to the nearest position.

    None if such an index is refused.
    """
    outside: Outside = Outside.CLAMPED
    slices_backwards: bool = True
    """Whether a slice accepts a negative step."""
    takes_from_the_end: bool = True
    """Whether take counts negative indices from the end."""
    rolls: Rolls = Rolls.PAIRED
    left_over: LeftOver = LeftOver.REFUSED
    splits_by_size: bool = False
    """Whether split accepts the size of a part instead of the number of parts."""
    splits_unevenly: bool = False
    """Whether split can make the first parts longer by one."""
    infers_part: bool = False
    """Whether one of the sizes of split may be -1."""
    types: frozenset[str] = frozenset()
    """The element types that its operators accept, if they are not versioned."""
    lacks_types: Mapping[str, frozenset[str]] = NONE
    """The element types that an operator does not accept, by op.

    They are exceptions to those that `types` or the version lists.
    """
    spellings: Mapping[str, str] = NONE
    """NumPy's names of element types, by the dialect's own spelling."""
    prefix: str = ""
    """The optional prefix of element types, such as `torch.`."""
    aliases: tuple[str, ...] = ()
    """Other names of the dialect."""
    note: str = ""
    rules: tuple[Rule, ...] = ()
    """The rules of this dialect alone: those of its steps and of its refusals."""

    def settings(self) -> tuple[bool | None, ...]:
        """Return the switch settings, the default first; `(None,)` without a switch."""
        default = self.switch and self.switch.default
        return tuple(sorted(self.readings, key=lambda setting: setting is not default))

    @property
    def defaults(self) -> tuple[bool | None, ...]:
        """The default settings of the switch.

        They are all settings if the switch is required, as the framework has no default then.
        """
        required = self.switch is not None and self.switch.default is None
        return self.settings() if required else self.settings()[:1]

    def reading_as_json(self, on: bool | None) -> dict[str, object]:
        """Return its `ReshapeSemantics` at one setting, as JSON for `shapecalc dialects`."""
        return {"setting": on} | {name: answer.value for name, answer in fields(self.readings[on]).items()}


class Setting(Record):
    """The rules for one request: dialect, operator, version and switch."""

    row: Dialect
    operator: Operator
    steps: Callable[..., Reasons]
    """The resolver of the request: the operator's own, or that of the op."""
    version: int | None
    """The operator's version; None if operators are not versioned."""
    reading: Reading
    """The meaning of 0 and -1 in a requested shape."""
    options: FrozenDict
    """The setting of the switch, by the framework's own name."""


# Element types have the names of NumPy and ml_dtypes. `SINCE_n` are those that ONNX operators list from version n on.
INTEGERS = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
FLOATS = frozenset({"float16", "float32", "float64"})
COMPLEX = frozenset({"complex64", "complex128"})
FLOAT8 = frozenset({"float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"})
INT4 = frozenset({"int4", "uint4"})
SUB_BYTE = frozenset({"float4_e2m1fn", "float8_e8m0fnu", "int2", "uint2"})

UP_TO_12 = INTEGERS | FLOATS | COMPLEX | {"bool", "string"}
SINCE_13 = UP_TO_12 | {"bfloat16"}
WIDE = FLOATS | {"int32", "int64", "uint32", "uint64"}
"""The element types of arithmetic operators in older versions."""
NUMBERS = FLOATS | INTEGERS
SINCE_19 = SINCE_13 | FLOAT8
SINCE_21 = SINCE_19 | INT4
SINCE_23 = SINCE_21 | {"float4_e2m1fn"}
SINCE_24 = SINCE_23 | {"float8_e8m0fnu"}
SINCE_25 = SINCE_24 | {"int2", "uint2"}
NEWEST = {21: SINCE_21, 23: SINCE_23, 24: SINCE_24, 25: SINCE_25}
"""The element types of the newest versions of most ONNX operators, by version."""

KNOWN = SINCE_25 | {"float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float6_e2m3fn", "float6_e3m2fn"}
KNOWN |= {"int1", "uint1", "longdouble", "clongdouble", "bytes", "object", "datetime64", "timedelta64", "void"}
"""Every element type that NumPy and ml_dtypes name."""

OTHERS = "the other dims multiply to 0"
"""The default reason why -1 could be any size, as the message has it."""


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
    """Return a dialect's spelling of an element type.

    >>> from shapecalc.core.dialects.onednn import ONEDNN
    >>> from shapecalc.core.dialects.onnx import ONNX
    >>> spelled("float32", ONNX), spelled("float32", ONEDNN), spelled("int8", ONNX)
    ('float', 'f32', 'int8')
    """
    return next((own for own, name in row.spellings.items() if name == dtype), dtype)


def bytes_of(dtype: str) -> int:
    """Return the size in bytes of an element in NumPy and ml_dtypes.

    Raises `ShapeError` (usage) for a type without a fixed element size, and for an unknown name.

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


def check_rank(dims: Shape, row: Dialect, argument: str) -> None:
    """Raise `ShapeError` (rank-limit) if `dims` exceed the dialect's maximum rank."""
    if row.max_rank is not None and len(dims) > row.max_rank:
        message = f"{len(dims)} dims, and {row.name} takes at most {row.max_rank}"
        raise refusal(rules.RANK_LIMIT, message, argument=argument, index=row.max_rank)


def check_sizes(dims: Shape, argument: str) -> None:
    """Raise `ShapeError` (overflow) if a dim exceeds int64.

    A dim with names exceeds it if it does for every value of the names.
    """
    for index, dim in enumerate(dims):
        if exceeds(dim, INT64_MAX):
            message = f"{dim_text(dim)} is too large for int64, whose limit is {INT64_MAX}"
            raise refusal(rules.OVERFLOW, message, argument=argument, index=index)


def over(most: int, rank: int, row: Any, verb: str = "takes", argument: str = "input") -> ShapeError | None:
    """Return the error (rank-limit) for a rank above an operator's limit, or None."""
    if rank <= most:
        return None
    message = f"{rank} dims, and this operator of {row.name} {verb} at most {most}"
    return refusal(rules.RANK_LIMIT, message, argument=argument, index=most)


def at_most(most: int) -> Refuses:
    """Return the check that refuses tensors of more dims (rank-limit)."""
    return lambda shape, rules, **_: over(most, len(shape), rules.row)


def checked_volume(dims: Shape, argument: str) -> Dim:
    """Return the element count of `dims`.

    Raises `ShapeError` (overflow) if a dim or the count exceeds int64 for every value of the names.
    """
    volume = product(dims)
    if isinstance(volume, int) and 0 < volume <= INT64_MAX:
        return volume
    check_sizes(dims, argument)
    if exceeds(volume, INT64_MAX) or monomial(volume).denominator > INT64_MAX:
        message = f"{count_text(dims, volume)} are too many for int64, whose limit is {INT64_MAX}"
        raise refusal(rules.OVERFLOW, message, argument=argument)
    return volume


def same_count(shape: Shape, settled: Shape, have: Dim, want: Dim, argument: str) -> Conditions:
    """Return the conditions for equal element counts of input and requested shape.

    Raises `ShapeError` (volume-mismatch) if the counts never are equal. Source: ONNX Reshape ("required to have the
    same number of elements").
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


def check_hole(out: int, dim: int, hole: int | None, argument: str = "target") -> None:
    """Check a negative dim of a requested shape.

    Raises `ShapeError`: two-infers, below-minus-one.
    """
    if dim < -1:
        message = f"{dim} is below -1, the only negative number with a meaning"
        raise refusal(rules.BELOW_MINUS_ONE, message, argument=argument, index=out)
    if hole is not None:
        message = "at most one dim can be inferred, and this is the second"
        raise refusal(rules.TWO_INFERS, message, argument=argument, index=out)


def recut(shape: Shape, after: Shape, conditions: Conditions = ()) -> Reasons:
    """Yield the step and the move that regroup the elements, which end a stage."""
    yield Step(rules.REGROUPED, None, tuple(range(len(shape))), after, conditions, FrozenDict(before=shape))
    yield Reshape(after)
    return after


def stretched(shape: Shape, after: Shape) -> Reasons:
    """Yield the step and the move that broadcast to a shape, which end a stage."""
    yield Step(rules.BROADCASTED, None, tuple(range(len(shape))), after)
    yield Expand(after)
    return after


def inserted(shape: Shape, sources: Sequence[int | None], row: Dialect | None = None) -> Reasons:
    """Yield the steps and the move that insert dims of 1, which end a stage.

    `sources` has the input axis of each output dim, or None for a new one. Raises `ShapeError` (rank-limit) if a
    dialect is given.
    """
    for out, axis in enumerate(sources):
        yield Step(rules.INSERTED_ONE, out, (), 1) if axis is None else Step(rules.KEPT_DIM, out, (axis,), shape[axis])
    output = tuple([1 if axis is None else shape[axis] for axis in sources])
    if row is not None:
        check_rank(output, row, "axes")
    return (yield from recut(shape, output))


def inferred(shape: Shape, known: Dim, hole: int, taken: set[int], index: int, why_any: str = OTHERS) -> Step:
    """Return the step that infers -1: the element count over the known product.

    `used_axes` are the input axes that other dims come from. `why_any` is the reason in the message if the known dims
    multiply to 0. Raises `ShapeError` (zero-volume-infer, indivisible) at `target_index`.
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
    """Yield the steps and the move for a requested shape, which end a stage.

    `resolve_zero` resolves each 0, and `resolve_infer` the -1. `kept_ends` are the numbers of dims at both ends that
    are copied from the input. Raises `ShapeError`: two-infers, below-minus-one, volume-mismatch, overflow, and the
    errors of `resolve_zero` and `resolve_infer`.
    """
    dims, infer_index, used_axes, (before, behind) = list(target), None, set[int](), kept
    written, moved = range(before, len(target) - behind), len(shape) - len(target)
    for out, dim in enumerate(target):
        if out not in written:
            step = Step(rules.KEPT_DIM, out, (out if out < before else out + moved,), dim)
        elif isinstance(dim, int) and dim < 0:
            check_hole(out - before, dim, infer_index, argument)
            infer_index, dims[out] = out, 1
            continue
        else:
            step = zero(out) if dim == 0 else Step(rules.GIVEN, out, (), dim)
        dims[out] = step.dim
        used_axes.update(step.sources)
        yield step
    conditions: Conditions = ()
    known = checked_volume(tuple(dims), argument)
    if infer_index is None:
        conditions = same_count(shape, tuple(dims), product(shape), known, argument)
    else:
        step = infer(shape, known, infer_index, used_axes, infer_index - before)
        dims[infer_index] = step.dim
        yield step
    return (yield from recut(shape, tuple(dims), conditions))

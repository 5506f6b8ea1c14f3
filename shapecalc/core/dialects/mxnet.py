"""MXNet: reshape has the codes 0, -1, -2, -3 and -4, and its operators take no scalar and no empty array.

A cursor walks over the input's dims while the requested shape is read. The rules are those of `NDArray.reshape`; where
the library departs from its documents, the library was followed.
"""

from __future__ import annotations

from shapecalc.core.answers import Facts, Kind, Stage, Step
from shapecalc.core.conditions import Conditions, Never, divides, equal
from shapecalc.core.dialects.base import (
    COPIES,
    FLOATS,
    Broadcast,
    Dialect,
    Flattens,
    Holds,
    Operator,
    Param,
    checked_volume,
    refused,
    same_count,
    second_infer,
)
from shapecalc.core.dims import Dim, Shape, product, quotient
from shapecalc.core.moves import Reshape
from shapecalc.core.problem import Rule, ShapeError, refusal
from shapecalc.core.record import Record
from shapecalc.core.rules import (
    AXIS_NOT_ONE,
    BELOW_MINUS_ONE,
    DROPPED_ONE,
    GIVEN,
    INDIVISIBLE,
    RANK_LIMIT,
    TWO_INFERS,
    ZERO_OUT_OF_RANGE,
    ZERO_VOLUME_INFER,
    CopiedZero,
    Inferred,
    KeptDim,
    Regrouped,
)
from shapecalc.core.text import brief, count_text, shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from shapecalc.core.answers import Reasons

    Axes = tuple[int, ...]

SOURCE = "MXNet NDArray.reshape, and MXNet 1.9.1"
REST, MERGE, SPLIT = -2, -3, -4
"""The codes of a requested shape beside 0 and -1."""
MOST_TRANSPOSED = 6
"""The most dims that transpose takes."""


class CopiedNext(Facts):
    """A 0 that copies a dim of another index than its own."""

    name = "copy 0"
    rule = Rule(
        "copy-next",
        "0 copies the next dim of the input",
        "The entries are read from left to right, and each uses up one dim of the input, or more. So 0 copies the "
        "dim at its own index only if no -2, -3 or -4 comes before it.",
        "shapecalc reshape 2,3,4 -3,0 --dialect mxnet",
        SOURCE,
    )

    def why(self, step: Step) -> str:
        """Return the step's sentence."""
        return f"0 copies the next dim, dim {step.sources[0]}, which is {step.value}"


class CopiedRest(Facts):
    """A dim that -2 copies."""

    name = "copy -2"
    rule = Rule(
        "copy-rest",
        "-2 copies all dims of the input that are left",
        "If none are left, -2 adds nothing.",
        "shapecalc reshape 2,3,4 1,-2 --dialect mxnet",
        SOURCE,
    )

    def why(self, step: Step) -> str:
        """Return the step's sentence."""
        return f"-2 copies what is left: dim {step.sources[0]}, which is {step.value}"


class MergedTwo(Facts):
    """Two dims that -3 merges."""

    name = "merge -3"
    rule = Rule(
        "merge-two",
        "-3 is the product of the next two dims of the input",
        "Two dims become one, and the elements keep their order.",
        "shapecalc reshape 2,3,4 -3,0 --dialect mxnet",
        SOURCE,
    )
    dims: Shape

    def why(self, step: Step) -> str:
        """Return the step's sentence."""
        first, second = step.sources
        return f"-3 merges dims {first} and {second}: {'*'.join(map(str, self.dims))} = {step.value}"


class SplitOne(Facts):
    """A part of a dim that -4 splits."""

    name = "split -4"
    rule = Rule(
        "split-one",
        "-4 splits the next dim of the input into the two sizes behind it",
        "One of the two may be -1. A 0 among them is a size and copies nothing. If the shape is read in reverse, the "
        "two sizes come before the -4.",
        "shapecalc reshape 2,3,4 0,-4,-1,3,0 --dialect mxnet",
        SOURCE,
    )
    dim: Dim
    """The dim that is split."""

    def why(self, step: Step) -> str:
        """Return the step's sentence."""
        return f"-4 splits dim {step.sources[0]}, which is {self.dim}: this part is {step.value}"


class UncheckedCount(Facts):
    """A warning about the operator of almost the same name."""

    name = "no check"
    rule = Rule(
        "unchecked-count",
        "mx.nd.reshape, the operator, compares no element counts",
        "NDArray.reshape refuses a shape that does not have as many elements as the input. mx.nd.reshape takes the "
        "same codes and does not check: a smaller shape drops elements, a larger one reads past the end.",
        "shapecalc reshape 2,3,4 23 --dialect mxnet",
        "MXNet 1.9.1, run",
    )

    def why(self, step: Step) -> str:
        """Return the step's sentence."""
        shape = brief(shape_text(step.shape))
        return f"mx.nd.reshape, the operator, does not compare counts: it gives {shape} for every input"


class KeptLast(KeptDim):
    """The dim that a squeeze of all dims keeps."""

    name = "keep one"
    rule = Rule(
        "keep-one",
        "a squeeze keeps at least one dim",
        "If every dim would be dropped, the answer has one dim of 1.",
        "shapecalc squeeze 1,1 --dialect mxnet",
        "MXNet 1.9.1, run",
    )

    def why(self, step: Step) -> str:
        """Return the step's sentence."""
        return f"dim {step.sources[0]} is {step.value} and stays: one dim must"


COPIED_NEXT, COPIED_REST, UNCHECKED_COUNT, KEPT_LAST = CopiedNext(), CopiedRest(), UncheckedCount(), KeptLast()

SHIFTED_INFER = Rule(
    "shifted-infer",
    "-1 after codes that change the number of dims",
    "MXNet writes the inferred size to the output dim at the index of -1 in the requested shape. After a -4 (three "
    "entries for two dims), or a -2 that does not copy exactly one dim, this is the wrong dim, or memory outside of "
    "the shape. Then MXNet fails, or gives a wrong shape, or is right by chance.",
    "shapecalc reshape 2,3,4 -2,-1 --dialect mxnet",
    "MXNet 1.9.1, run; its document allows it",
)
NO_DIM_LEFT = Rule(
    "no-dim-left",
    "-3 or -4 needs a dim that is not left in the input",
    "-3 merges the next two dims and -4 splits the next one, but the entries before have used up the dims of the "
    "input.",
    "shapecalc reshape 2,3,4 -3,-3 --dialect mxnet",
    SOURCE,
)
SPLIT_INCOMPLETE = Rule(
    "split-incomplete",
    "-4 without two sizes behind it",
    "-4 takes the two entries that follow it. If the shape is read in reverse, they come before it.",
    "shapecalc reshape 2,3,4 -4,2 --dialect mxnet",
    SOURCE,
)
SPLIT_MISMATCH = Rule(
    "split-mismatch",
    "the two sizes behind -4 do not make up the dim that it splits",
    "Their product must be the dim itself.",
    "shapecalc reshape 2,3,4 -4,3,2,-2 --dialect mxnet",
    SOURCE,
)
UNKNOWN_SHAPE = Rule(
    "unknown-shape",
    "an operator of MXNet takes no scalar and no empty array",
    "MXNet reads a shape without dims, and a dim of 0, as not known yet. NDArray.reshape is not an operator and "
    "accepts both; shape_array accepts empty arrays.",
    "shapecalc transpose 0,3 --dialect mxnet",
    "MXNet 1.9.1, run without np_shape",
)


class Asked(Record):
    """A reshape in the order in which it is read: from the right if it is reversed."""

    shape: Shape
    codes: Shape
    reverse: bool

    def refused(self, rule: Rule, message: str, place: int | None = None) -> ShapeError:
        """Return the error for the entry at a place, or for the whole requested shape."""
        index = None if place is None else self.from_left(place, len(self.codes))
        return refusal(rule, message, argument="target", index=index)

    def from_left(self, place: int, count: int) -> int:
        """Return the index, among `count`, of what is read at a place."""
        return count - 1 - place if self.reverse else place

    def in_order(self, items: Shape) -> Shape:
        """Return items that are in the order in which they are read as they stand, or the other way round."""
        return items[::-1] if self.reverse else items


class Read(Record):
    """One output dim, as an entry of the requested shape gives it."""

    facts: Facts | None
    """None for -1, which is settled last."""
    axes: Axes
    """The places of the input dims that it is made of, in the order in which they are read."""
    dim: Dim
    conditions: Conditions = ()
    count: Dim | None = None
    """What it adds to the element count, if that is not the dim: of a split, the first part adds the dim that is split,
    which the parts make up under their own conditions, and the second one 1."""


def reshape(shape: Shape, _at: Any, target: Shape, reverse: bool = False) -> Reasons:
    """Resolve `target` against `shape`, entry by entry; both are read from the right if it is reversed.

    Source: MXNet NDArray.reshape ("-2 copy this/remainder of the dimensions ..., -3 use the product of two consecutive
    dimensions ..., -4 split one dimension of the input into two"), and the library, which refuses most of -1 behind
    -2 or -4. Raises `ShapeError`: the dialect's own refusals, two-infers, below-minus-one, zero-out-of-range,
    zero-volume-infer, indivisible, volume-mismatch, overflow.
    """
    asked = Asked(shape[::-1], target[::-1], reverse) if reverse else Asked(shape, target, reverse)
    read, stopped = _read_all(asked)
    dims: Shape = tuple([-1 if each.facts is None else each.dim for each in read])
    if stopped is not None:
        dims += asked.codes[asked.from_left(stopped.problem.index or 0, len(target)) :]
    requested = asked.in_order(dims)
    yield Stage(Kind.RESHAPE, "reshape", "target", shape, requested)
    for place, each in enumerate(read):
        if each.facts is not None:
            yield _step(asked, each, asked.from_left(place, len(dims)), len(dims))
    if stopped is not None:
        raise stopped
    hole = requested.index(-1) if -1 in requested else None
    settled = tuple([1 if out == hole else dim for out, dim in enumerate(requested)])
    checked_volume(settled, "target")
    have, known = product(shape), product(each.dim if each.count is None else each.count for each in read)
    conditions: Conditions = ()
    if hole is not None:
        step = _inferred(asked, read, hole, have, known)
        yield step
        settled = (*settled[:hole], step.dim, *settled[hole + 1 :])
    elif have != known:
        yield Step(UNCHECKED_COUNT, None, (), settled)
        conditions = same_count(shape, settled, have, known, "target")
    yield Step(Regrouped(shape, settled), None, tuple(range(len(shape))), settled, conditions)
    yield Reshape(settled)
    return settled


def _read_all(asked: Asked) -> tuple[list[Read], ShapeError | None]:
    """Return the output dims in the order in which they are read, and the error that stops the reading."""
    read = list[Read]()
    try:
        read.extend(_read(asked))
    except ShapeError as error:
        return read, error
    return read, None


def _read(asked: Asked) -> Iterator[Read]:
    """Yield the output dims in the order in which they are read."""
    place = cursor = count = 0
    hole = None
    while place < len(asked.codes):
        code = asked.codes[place]
        if code == -1:
            _check_hole(asked, place, count, hole)
            hole = place
        found = _entry(asked, place, cursor)
        yield from found
        count += len(found)
        cursor += len(found) if code == REST else 2 if code == MERGE else 1
        place += 3 if code == SPLIT else 1


def _check_hole(asked: Asked, place: int, count: int, hole: int | None) -> None:
    """Refuse a second -1, and one that MXNet would write to another place."""
    if hole is not None:
        raise second_infer("target", asked.from_left(place, len(asked.codes)))
    if place != count:
        order = ", read from the right" if asked.reverse else ""
        message = f"MXNet writes the size of entry {place} to output dim {place}, and this -1 is dim {count}{order}"
        raise asked.refused(SHIFTED_INFER, message, place)


def _entry(asked: Asked, place: int, cursor: int) -> list[Read]:
    """Return the output dims that one entry of the requested shape gives; `cursor` is the next input dim."""
    code, shape = asked.codes[place], asked.shape
    left = max(0, len(shape) - cursor)
    if code == -1:
        return [Read(None, (), 1)]
    if code == REST:
        return [Read(COPIED_REST, (axis,), shape[axis]) for axis in range(cursor, len(shape))]
    if code == 0:
        if not left:
            raise asked.refused(ZERO_OUT_OF_RANGE, f"0 copies the next dim, and none of {len(shape)} is left", place)
        return [Read(COPIED_NEXT, (cursor,), shape[cursor])]
    if code == MERGE:
        if left < 2:
            raise asked.refused(NO_DIM_LEFT, f"-3 merges the next two dims, and {left} of {len(shape)} are left", place)
        dims = asked.in_order(shape[cursor : cursor + 2])
        return [Read(MergedTwo(dims), (cursor, cursor + 1), product(dims))]
    if code == SPLIT:
        return _split(asked, place, cursor)
    if isinstance(code, int) and code < SPLIT:
        raise asked.refused(BELOW_MINUS_ONE, f"{code} is below -4, the last code that has a meaning", place)
    return [Read(GIVEN, (), code)]


def _split(asked: Asked, place: int, cursor: int) -> list[Read]:
    """Return the two output dims that -4 and the two entries behind it give."""
    parts = list(asked.codes[place + 1 : place + 3])
    if len(parts) < 2:
        raise asked.refused(SPLIT_INCOMPLETE, "-4 takes the two sizes that follow it, and they are not there", place)
    if cursor >= len(asked.shape):
        message = f"-4 splits the next dim, and none of {len(asked.shape)} is left"
        raise asked.refused(NO_DIM_LEFT, message, place)
    dim = asked.shape[cursor]
    if parts == [-1, -1]:
        raise asked.refused(TWO_INFERS, "only one of the two parts of a split can be -1, and both are", place)
    if any(isinstance(part, int) and part < -1 for part in parts):
        raise asked.refused(BELOW_MINUS_ONE, "a part of a split is a size or -1", place)
    inferred = parts.index(-1) if -1 in parts else None
    if inferred is None:
        conditions = _made_up(asked, parts, dim, place)
    else:
        parts[inferred], conditions = _other_part(asked, parts[1 - inferred], dim, place)
    facts, axes = SplitOne(dim), (cursor,)
    return [Read(facts, axes, parts[0], conditions, dim), Read(facts, axes, parts[1], (), 1)]


def _made_up(asked: Asked, parts: list[Dim], dim: Dim, place: int) -> Conditions:
    """Return the conditions under which two parts make up a dim."""
    try:
        return equal(dim, product(parts))
    except Never:
        message = f"{'*'.join(map(str, asked.in_order(tuple(parts))))} is not {dim}, the dim to split"
        raise asked.refused(SPLIT_MISMATCH, message, place) from None


def _other_part(asked: Asked, part: Dim, dim: Dim, place: int) -> tuple[Dim, Conditions]:
    """Return the part of a dim that is inferred beside another, and the conditions under which it is whole."""
    if part == 0:
        raise asked.refused(
            ZERO_VOLUME_INFER, f"the -1 in the split of {dim} could be any size, because the other part is 0", place
        )
    try:
        return quotient(dim, part), divides(dim, part)
    except Never:
        raise asked.refused(INDIVISIBLE, f"{dim}, the dim to split, cannot be divided by {part}", place) from None


def _step(asked: Asked, read: Read, out: int, count: int) -> Step:
    """Return the step that settles an output dim. A 0 that copies the dim at its own index is as everywhere."""
    rank = len(asked.shape)
    axes = tuple(sorted(asked.from_left(axis, rank) for axis in read.axes))
    facts: Facts = read.facts or GIVEN
    if facts is COPIED_NEXT and axes == (out,):
        facts = CopiedZero(from_left=not asked.reverse and rank != count and out != 0)
    return Step(facts, out, axes, read.dim, read.conditions)


def _inferred(asked: Asked, read: list[Read], hole: int, have: Dim, known: Dim) -> Step:
    """Return the step that infers -1: the elements there are, divided by the product of the known dims."""
    place = asked.from_left(hole, len(read))  # as many dims are in front of it as entries
    if known == 0:
        message = "-1 could be any size, because the known dims multiply to 0: MXNet divides by 0"
        raise asked.refused(ZERO_VOLUME_INFER, message, place)
    shape, rank = asked.in_order(asked.shape), len(asked.shape)
    try:
        conditions = divides(have, known)
    except Never:
        message = f"{count_text(shape, have)} cannot be divided by {known}"
        raise asked.refused(INDIVISIBLE, message, place) from None
    taken = {asked.from_left(axis, rank) for each in read for axis in each.axes}
    sources = tuple([axis for axis in range(rank) if axis not in taken])
    return Step(Inferred(shape, have, known), hole, sources, quotient(have, known), conditions)


def transpose(shape: Shape, _at: Any, perm: Axes | None = None) -> Reasons | None:
    """Refuse what transpose does not take; the rest is left to the op."""
    error = _unknown(shape)
    if error is None and len(shape) > MOST_TRANSPOSED:
        message = f"{len(shape)} dims, and transpose of mxnet takes at most {MOST_TRANSPOSED}"
        error = refusal(RANK_LIMIT, message, argument="input", index=MOST_TRANSPOSED)
    return _refuse_for(error, Stage(Kind.PERMUTE, "transpose", "perm", shape, perm or ()))


def flatten(shape: Shape, _at: Any) -> Reasons | None:
    """Refuse what flatten does not take; the rest is left to the op."""
    error = _unknown(shape)
    return _refuse_for(error, Stage(Kind.MERGE, "flatten", "input", shape))


def unsqueeze(shape: Shape, _at: Any, axes: Axes | None = None) -> Reasons | None:
    """Refuse what expand_dims does not take; the rest is left to the op."""
    error = _unknown(shape)
    return _refuse_for(error, Stage(Kind.UNSQUEEZE, "unsqueeze", "axes", shape, axes or ()))


def shape_array(shape: Shape, _at: Any) -> Reasons | None:
    """Refuse a scalar; the rest is left to the op."""
    error = None if shape else _unknown(shape)
    return _refuse_for(error, Stage(Kind.SHAPE, "shape", "input", shape))


def _unknown(shape: Shape) -> ShapeError | None:
    """Return the error for a shape that means to MXNet's operators that it is not known; None for any other."""
    if not shape:
        return refusal(UNKNOWN_SHAPE, "MXNet reads the shape of a scalar as not known", argument="input")
    if 0 in shape:
        place = shape.index(0)
        message = f"dim {place} is 0, and MXNet reads 0 as a size that is not known"
        return refusal(UNKNOWN_SHAPE, message, argument="input", index=place)
    return None


def _refuse_for(error: ShapeError | None, stage: Stage) -> Reasons | None:
    """Return what refuses a stage that has just begun; None if there is no error."""
    return None if error is None else refused(stage, error)


def squeeze(shape: Shape, _at: Any, axes: Axes | None = None) -> Reasons | None:
    """Resolve a squeeze that would drop every dim; the rest is left to the op."""
    error, rank = _unknown(shape), len(shape)
    if error is not None:
        return refused(Stage(Kind.SQUEEZE, "squeeze", "axes", shape, axes or ()), error)
    if axes is not None:
        every = len(axes) == rank and {axis % rank for axis in axes if -rank <= axis < rank} == {*range(rank)}
        return _squeeze_all(shape, axes) if every else None
    others = [axis for axis, dim in enumerate(shape) if dim != 1]
    if len(others) > 1 or any(isinstance(shape[axis], int) for axis in others):
        return None
    return _squeeze_but_one(shape, others[0] if others else 0)


def _squeeze_all(shape: Shape, axes: Axes) -> Reasons:
    """Drop every dim but one, all of which are named and must be 1. Raises `ShapeError`: axis-not-one."""
    yield Stage(Kind.SQUEEZE, "squeeze", "axes", shape, axes)
    rank = len(shape)
    for axis, dim in enumerate(shape):
        try:
            conditions = equal(dim, 1)
        except Never:
            index = [named % rank for named in axes].index(axis)
            message = f"dim {axis} is {dim}, and only a dim of 1 can be squeezed"
            raise refusal(AXIS_NOT_ONE, message, argument="axes", index=index) from None
        yield Step(DROPPED_ONE if axis else KEPT_LAST, None, (axis,), dim, conditions)
    yield Step(Regrouped(shape, (1,)), None, tuple(range(rank)), (1,))
    yield Reshape((1,))
    return (1,)


def _squeeze_but_one(shape: Shape, kept: int) -> Reasons:
    """Drop every dim but one, all others being 1. The one that is kept may be 1, too: it stays whatever it is."""
    yield Stage(Kind.SQUEEZE, "squeeze", "axes", shape)
    for axis, dim in enumerate(shape):
        yield Step(KEPT_LAST if axis == kept else DROPPED_ONE, None, (axis,), dim)
    output = (shape[kept],)
    yield Step(Regrouped(shape, output), None, tuple(range(len(shape))), output)
    yield Reshape(output)
    return output


def broadcast_to(shape: Shape, _at: Any, target: Shape) -> Reasons | None:
    """Refuse what broadcast_to does not take; the rest is left to the op."""
    error = _unknown(shape)
    return _refuse_for(error, Stage(Kind.EXPAND, "expand", "target", shape, target))


REVERSE = Param("reverse", Holds.FLAG, "MXNet: read the input's dims and the requested shape from the right")

MXNET = Dialect(
    name="mxnet",
    source="MXNet reference, and MXNet 1.9.1",
    operators={
        "reshape": Operator("NDArray.reshape", params=(REVERSE,), steps=reshape, heeds_empty=False),
        "transpose": Operator("transpose", steps=transpose),
        "flatten": Operator("flatten", steps=flatten),
        "squeeze": Operator("squeeze", steps=squeeze),
        "unsqueeze": Operator("expand_dims", steps=unsqueeze),
        "expand": Operator("broadcast_to", steps=broadcast_to),
        "shape": Operator("shape_array", steps=shape_array),
    },
    readings={None: COPIES},
    empty_perm_reverses=True,
    inserts_one=True,
    flattens=Flattens.REST,
    broadcast=Broadcast.RANK_STAYS,
    slices_shape=False,
    types=FLOATS | {"bool", "uint8", "int8", "int32", "int64", "bfloat16"},
    lacks_types={"transpose": frozenset({"bool", "bfloat16"})},
    spellings={"float": "float64", "double": "float64", "single": "float32", "half": "float16", "int": "int64"}
    | {"bool_": "bool"},
    note="in reshape -2 copies the dims that are left, -3 merges two, -4 splits one, and reverse reads from the "
    "right; squeeze keeps at least one dim; expand keeps the rank, and a 0 in it keeps a dim; arrays of over "
    "2**31 elements are not refused here; mx.np is left out",
    facts=(CopiedNext, CopiedRest, MergedTwo, SplitOne, UncheckedCount, KeptLast),
    refusals=(SHIFTED_INFER, NO_DIM_LEFT, SPLIT_INCOMPLETE, SPLIT_MISMATCH, UNKNOWN_SHAPE),
)

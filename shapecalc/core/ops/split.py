"""Split: an axis is cut into parts, and one of them is kept."""

from __future__ import annotations

from operator import attrgetter

from shapecalc.core.answers import Kind, Reasons, Stage, Step, StepRule, Trace
from shapecalc.core.conditions import Conditions, divides, equal, required
from shapecalc.core.dialects.base import FLOATS, SINCE_13, UP_TO_12, Holds, LeftOver, Operator, Param, Setting
from shapecalc.core.dims import Dim, Shape, always_whole, monomial, product, quotient, total
from shapecalc.core.limits import MOST_DIMS
from shapecalc.core.moves import Pick
from shapecalc.core.ops.axes import existing_axis
from shapecalc.core.ops.op import Arguments, Changes, Op, called, near, vectors
from shapecalc.core.ops.select import INDEX_OUT_OF_RANGE
from shapecalc.core.problem import Rule, ShapeError, refusal
from shapecalc.core.record import FrozenDict
from shapecalc.core.rules import KEPT_DIM, MISSING_ARGUMENT, NEEDS_SIZE
from shapecalc.core.text import brief, left_over, shape_text

Runs = tuple[tuple[int, Dim], ...]
"""The parts of an axis in order: how many of one size follow each other, and the size."""

SMALLER_SINCE = 18
"""The first version of ONNX's Split whose last part may be smaller."""
MOST_SAID = 8
"""The most parts whose sizes a sentence lists one by one."""
SOURCE = (
    "ONNX Split, numpy.split and array_split, torch.chunk, split and tensor_split, tf.split, OpenVINO Split and "
    "VariadicSplit, paddle.split"
)

BAD_PARTS = Rule(
    "bad-parts",
    "an axis is split into at least one part, by their count, their size or their sizes",
    "One part is the whole axis. PARTS, --size and --sizes stand in place of each other.",
    "shapecalc split 6,4 0 0",
    SOURCE,
)
UNEQUAL_PARTS = Rule(
    "unequal-parts",
    "the count of parts does not divide the size of the axis",
    "ONNX since Split 18 and PyTorch's chunk make the last part smaller, and PyTorch may make fewer parts. Others cut "
    "into equal parts only, but for --uneven, which makes the first parts longer by one. A last part of ONNX with no "
    "position left is refused.",
    "shapecalc split 7,4 0 3 --dialect numpy",
    "numpy.split: 'array split does not result in an equal division'; ONNX Split: 'the last chunk will be smaller'",
)
BAD_SIZES = Rule(
    "bad-sizes",
    "the sizes of the parts do not make up the axis",
    "They are at least 0, and add up to the size of the axis. In TensorFlow, Paddle and OpenVINO one may be -1: it is "
    "what the others leave.",
    "shapecalc split 7,4 0 --sizes 2,3,4",
    "ONNX Split: 'the sum of the values must be equal to the dim value at axis'; torch.split, tf.split",
)


def _split_axis(step: Step, part: int, dim: Dim, runs: Runs) -> str:
    count = brief(str(count_of(runs)))
    said = f"part {brief(str(part))} of {count}"
    if len(runs) == 1:
        return f"{said}: {brief(str(dim))} / {count} = {step.value}"
    each = [str(size) for many, size in runs for _ in range(min(many, MOST_SAID + 1))]
    listed = ",".join(each) if len(each) <= MOST_SAID else " and ".join([f"{many} of {size}" for many, size in runs])
    return f"{said}: {brief(str(dim))} is cut into {brief(listed)}, and this one is {step.value}"


SPLIT_AXIS = StepRule(
    "split-axis",
    "an axis is cut into parts, and one of them is kept",
    "A count of parts makes them equal if it divides the size. Of a size with a name it is asked that it does, even "
    "where a framework would cut other sizes, too.",
    "shapecalc split 6,4 0 3 --part 1",
    SOURCE,
    why=_split_axis,
)


def split(
    shape: Shape,
    at: Setting,
    axis: int,
    parts: int | None = None,
    part: int = 0,
    size: int | None = None,
    sizes: Shape | None = None,
    *,
    uneven: bool = False,
    **_: bool,
) -> Reasons:
    """Cut an axis into parts and keep one of them, counted from 0.

    Source: ONNX Split ("the last chunk will be smaller"), numpy.split and array_split, torch.chunk ("may return fewer
    than the specified number of chunks"), torch.split, OpenVINO Split and VariadicSplit. Raises `ShapeError`:
    axis-out-of-range, negative-axis, missing-argument, bad-parts, bad-sizes, unequal-parts, index-out-of-range,
    needs-size.
    """
    yield Stage(Kind.SPLIT, "split", "parts", shape)
    cut = existing_axis(axis, shape, at)
    ways = {"parts": parts, "size": size, "sizes": sizes, "uneven": (uneven and parts is None) or None}
    given = [name for name, value in ways.items() if value is not None]
    if given in ([], ["uneven"]):
        raise refusal(MISSING_ARGUMENT, "a split needs PARTS, --sizes or --size", argument="parts")
    if given[1:]:
        raise refusal(BAD_PARTS, f"{given[0]} and {given[1]} are both given", argument=given[1])
    if sizes is not None:
        runs, conditions = _of_sizes(shape[cut], cut, sizes, infers=at.row.infers_part)
    elif size is not None:
        runs, conditions = _of_one_size(shape[cut], cut, size), ()
    else:
        runs, conditions = _of_count(shape[cut], cut, parts or 0, at, uneven=uneven)
    start, kept = _part_of(runs, part)
    for out, dim in enumerate(shape):
        facts = FrozenDict(part=part, dim=dim, runs=runs)
        yield Step(SPLIT_AXIS, out, (cut,), kept, conditions, facts) if out == cut else Step(KEPT_DIM, out, (out,), dim)
    starts = tuple([start if out == cut else 0 for out in range(len(shape))])
    output = (*shape[:cut], kept, *shape[cut + 1 :])
    yield Pick(starts, (1,) * len(shape), output)
    return output


def _of_count(dim: Dim, axis: int, parts: int, at: Setting, *, uneven: bool) -> tuple[Runs, Conditions]:
    """Return the parts that a count makes, with the conditions for equal ones.

    Raises `ShapeError`: bad-parts, unequal-parts, needs-size.
    """
    if parts < 1:
        raise refusal(BAD_PARTS, f"there is at least 1 part, and this is {brief(str(parts))}", argument="parts")
    each = quotient(dim, parts)
    message = f"dim {axis}, {brief(str(dim))}, has no {brief(str(parts))} equal parts{left_over(dim, parts)}"
    error = refusal(UNEQUAL_PARTS, message, argument="parts")
    if not isinstance(dim, int):
        if uneven and not always_whole(each):
            raise _size_decides(dim, axis, "parts")
        return ((parts, each),), required(divides, dim, parts, error)
    if dim % parts == 0:
        return ((parts, each),), ()
    if uneven and at.row.splits_unevenly:
        return ((dim % parts, dim // parts + 1), (parts - dim % parts, dim // parts)), ()
    old = at.version is not None and at.version < SMALLER_SINCE
    leaves = LeftOver.REFUSED if old else at.row.left_over
    runs = _of_one_size(dim, axis, -(-dim // parts))
    if leaves is LeftOver.REFUSED or (leaves is LeftOver.LAST and count_of(runs) < parts):
        raise error
    return runs, ()


def _of_one_size(dim: Dim, axis: int, size: int) -> Runs:
    """Return parts of one size, the last of them smaller; raise `ShapeError`: bad-parts, needs-size."""
    if size < (dim != 0):
        raise refusal(BAD_PARTS, f"a part has at least 1 position, and this is {brief(str(size))}", argument="size")
    if not isinstance(dim, int):
        raise _size_decides(dim, axis, "size")
    if dim < size or dim == 0:
        return ((1, dim),)
    return ((dim // size, size), *([(1, dim % size)] if dim % size else []))


def _of_sizes(dim: Dim, axis: int, sizes: Shape, *, infers: bool) -> tuple[Runs, Conditions]:
    """Return the parts of given sizes, with the condition under which they make up the axis.

    Raises `ShapeError`: bad-sizes, needs-size.
    """
    below = [place for place, size in enumerate(sizes) if isinstance(size, int) and size < 0]
    if below[infers:] or any(sizes[place] != -1 for place in below):
        message = f"a part has at least 0 positions, and this is {brief(str(sizes[below[-1]]))}"
        raise refusal(BAD_SIZES, message, argument="sizes", index=below[-1])
    whole = single(total([size for size in sizes if size != -1]), "the sizes together")
    shown, asked = f"dim {axis} is {brief(str(dim))}", f"the sizes {brief(shape_text(sizes))} make {brief(str(whole))}"
    error = refusal(BAD_SIZES, f"{shown}, and {asked}", argument="sizes")
    if not below:
        return tuple([(1, size) for size in sizes]), required(equal, dim, whole, error)
    rest = single(total((dim, product((-1, whole)))), "the part of -1")
    if monomial(rest).numerator < 0:
        raise error
    return tuple([(1, rest if size == -1 else size) for size in sizes]), ()


def _part_of(runs: Runs, part: int) -> tuple[Dim, Dim]:
    """Return where a part starts, and its size; raise `ShapeError`: index-out-of-range, needs-size."""
    before, left = list[Dim](), part
    for count, size in runs if part >= 0 else ():
        if left < count:
            return single(total([*before, product((left, size))]), f"the start of part {brief(str(part))}"), size
        before.append(product((count, size)))
        left -= count
    message = f"parts run from 0 to {brief(str(count_of(runs) - 1))}, and this is {brief(str(part))}"
    raise refusal(INDEX_OUT_OF_RANGE, message, argument="part")


def count_of(runs: Runs) -> int:
    """Return how many parts there are."""
    return sum([count for count, _ in runs])


def single(terms: Shape, what: str) -> Dim:
    """Return a sum that is one term; raise `ShapeError` (needs-size) for others."""
    if len(terms) > 1:
        message = f"{what} would be {brief(' + '.join(map(str, terms[::-1])))}, and a dim is a number or a product"
        raise refusal(NEEDS_SIZE, message, argument="sizes")
    return terms[0] if terms else 0


def _size_decides(dim: Dim, axis: int, argument: str) -> ShapeError:
    message = f"how dim {axis}, {brief(str(dim))}, is cut depends on its size"
    return refusal(NEEDS_SIZE, message, argument=argument)


def _parts(trace: Trace) -> dict[str, object]:
    """Return the shape of every part; None if there are more than a shape may have dims."""
    (step,) = [step for step in trace.steps if step.rule is SPLIT_AXIS]
    (axis,), runs, shape = step.sources, step.facts["runs"], trace.input
    if count_of(runs) > MOST_DIMS:
        return {"outputs": None}
    sizes = [size for count, size in runs for _ in range(count)]
    return {"outputs": tuple([(*shape[:axis], size, *shape[axis + 1 :]) for size in sizes])}


def _nearest_parts(_shape: Shape, arguments: Arguments) -> Changes:
    """Yield uneven parts, and the counts nearest to the one that was refused; last 1, which is the whole axis."""
    parts = arguments.get("parts", 1)
    nearest = sorted(near(parts), key=lambda count: (abs(count - parts), -count))
    if parts > 0:
        yield "uneven", True
    yield from (("parts", count) for count in (*nearest, 1) if count != parts)


def _nearest_sizes(shape: Shape, arguments: Arguments) -> Changes:
    """Yield the sizes with another last one, with which they make up the axis."""
    sizes, dim = arguments["sizes"], shape[arguments["axis"]]
    rest = total([dim, *[product((-1, size)) for size in sizes[:-1]]])
    yield from (("sizes", (*sizes[:-1], *rest)) for _ in rest[:1])


def _nearest_part(_shape: Shape, arguments: Arguments) -> Changes:
    """Yield the part next to the one that was refused, and those before it, or the first if it counts backwards."""
    part = arguments["part"]
    yield from [("part", each) for each in (range(part - 1, max(-1, part - 20), -1) if part > 0 else (0,))]


BY_SIZE, UNEVENLY = attrgetter("splits_by_size"), attrgetter("splits_unevenly")
SPLIT = Op(
    name="split",
    summary="Cut an axis into parts, and keep one.",
    params=(
        Param("axis", Holds.INT, "the axis that is cut", positional=True, required=True),
        Param("parts", Holds.INT, "how many parts there are", positional=True),
        Param("part", Holds.INT, "the part that is kept, by default 0", placed=True),
        Param("sizes", Holds.TARGET, "in place of PARTS, the size of each part"),
        Param("size", Holds.INT, "in place of PARTS, their size; the last may be smaller", taken_by=BY_SIZE),
        Param("uneven", Holds.FLAG, "the first parts are longer by one if there is a rest", taken_by=UNEVENLY),
        Param("all", Holds.FLAG, "print the shape of every part, a line each"),
    ),
    steps=split,
    operators={
        "onnx": Operator("Split", {1: FLOATS, 2: UP_TO_12, 11: UP_TO_12, 13: SINCE_13, 18: SINCE_13}),
        **called(split="numpy paddle", chunk="torch", Split="openvino"),
    },
    examples=("split 7,4 0 3 --all", "split N,3*C 1 3 --part 2 --explain", "split 7,4 0 --sizes 2,3,2 --part 1"),
    vectors=vectors(
        "axis parts part",
        ("6,4", "0 3", "-1 2 1", "0 3 3", "0 3 -1", "0 4", "0 0", "0 -2", "0 1", "2 2"),
        ("0,4", "0 3 2"),
        ("[]", "0 1"),
        ("N,3*C", "1 3 2"),
        ("N,C", "1 2 1"),
        ("7,4", "0 3 2", "0 5", "0 5 3"),
    ),
    keeps_count=False,
    rules=(SPLIT_AXIS, BAD_PARTS, UNEQUAL_PARTS, BAD_SIZES),
    changes={
        UNEQUAL_PARTS: _nearest_parts,
        **dict.fromkeys((BAD_PARTS, MISSING_ARGUMENT), _nearest_parts),
        BAD_SIZES: _nearest_sizes,
        INDEX_OUT_OF_RANGE: _nearest_part,
    },
    tells=_parts,
)

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
"""The parts of an axis in order: numbers of equal parts, each with their size."""

SMALLER_SINCE = 18
"""The first version of ONNX's Split whose last part may be smaller."""
MOST_SAID = 8
"""The maximum number of parts whose sizes a sentence lists one by one."""
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
    text = f"part {brief(str(part))} of {count}"
    if len(runs) == 1:
        return f"{text}: {brief(str(dim))} / {count} = {step.value}"
    sizes = [str(size) for number, size in runs for _ in range(min(number, MOST_SAID + 1))]
    listed = (
        ",".join(sizes) if len(sizes) <= MOST_SAID else " and ".join([f"{number} of {size}" for number, size in runs])
    )
    return f"{text}: {brief(str(dim))} is cut into {brief(listed)}, and this one is {step.value}"


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
    cut_axis = existing_axis(axis, shape, at)
    arguments = {"parts": parts, "size": size, "sizes": sizes, "uneven": (uneven and parts is None) or None}
    names = [name for name, value in arguments.items() if value is not None]
    if names in ([], ["uneven"]):
        raise refusal(MISSING_ARGUMENT, "a split needs PARTS, --sizes or --size", argument="parts")
    if names[1:]:
        raise refusal(BAD_PARTS, f"{names[0]} and {names[1]} are both given", argument=names[1])
    if sizes is not None:
        runs, conditions = _of_sizes(shape[cut_axis], cut_axis, sizes, infers=at.row.infers_part)
    elif size is not None:
        runs, conditions = _of_one_size(shape[cut_axis], cut_axis, size), ()
    else:
        runs, conditions = _of_count(shape[cut_axis], cut_axis, parts or 0, at, uneven=uneven)
    start, kept = _part_of(runs, part)
    for out, dim in enumerate(shape):
        cut_step = Step(SPLIT_AXIS, out, (cut_axis,), kept, conditions, FrozenDict(part=part, dim=dim, runs=runs))
        yield cut_step if out == cut_axis else Step(KEPT_DIM, out, (out,), dim)
    starts = tuple([start if out == cut_axis else 0 for out in range(len(shape))])
    output = (*shape[:cut_axis], kept, *shape[cut_axis + 1 :])
    yield Pick(starts, (1,) * len(shape), output)
    return output


def _of_count(dim: Dim, axis: int, parts: int, at: Setting, *, uneven: bool) -> tuple[Runs, Conditions]:
    """Return as many parts as `parts`, with the conditions for equal ones.

    Raises `ShapeError`: bad-parts, unequal-parts, needs-size.
    """
    if parts < 1:
        raise refusal(BAD_PARTS, f"there is at least 1 part, and this is {brief(str(parts))}", argument="parts")
    size = quotient(dim, parts)
    message = f"dim {axis}, {brief(str(dim))}, has no {brief(str(parts))} equal parts{left_over(dim, parts)}"
    error = refusal(UNEQUAL_PARTS, message, argument="parts")
    if not isinstance(dim, int):
        if uneven and not always_whole(size):
            raise _size_decides(dim, axis, "parts")
        return ((parts, size),), required(divides, dim, parts, error)
    if dim % parts == 0:
        return ((parts, size),), ()
    if uneven and at.row.splits_unevenly:
        return ((dim % parts, dim // parts + 1), (parts - dim % parts, dim // parts)), ()
    is_old = at.version is not None and at.version < SMALLER_SINCE
    rest_rule = LeftOver.REFUSED if is_old else at.row.left_over
    runs = _of_one_size(dim, axis, -(-dim // parts))
    if rest_rule is LeftOver.REFUSED or (rest_rule is LeftOver.LAST and count_of(runs) < parts):
        raise error
    return runs, ()


def _of_one_size(dim: Dim, axis: int, size: int) -> Runs:
    """Return parts of one size, of which the last may be smaller.

    Raises `ShapeError`: bad-parts, needs-size.
    """
    if size < (dim != 0):
        raise refusal(BAD_PARTS, f"a part has at least 1 position, and this is {brief(str(size))}", argument="size")
    if not isinstance(dim, int):
        raise _size_decides(dim, axis, "size")
    if dim < size or dim == 0:
        return ((1, dim),)
    return ((dim // size, size), *([(1, dim % size)] if dim % size else []))


def _of_sizes(dim: Dim, axis: int, sizes: Shape, *, infers: bool) -> tuple[Runs, Conditions]:
    """Return parts of the given sizes, with the conditions on their sum.

    The sum must be the size of the axis. Raises `ShapeError`: bad-sizes, needs-size.
    """
    negative = [index for index, size in enumerate(sizes) if isinstance(size, int) and size < 0]
    if negative[infers:] or any(sizes[index] != -1 for index in negative):
        message = f"a part has at least 0 positions, and this is {brief(str(sizes[negative[-1]]))}"
        raise refusal(BAD_SIZES, message, argument="sizes", index=negative[-1])
    sum_of_sizes = single(total([size for size in sizes if size != -1]), "the sizes together")
    requested = f"the sizes {brief(shape_text(sizes))} make {brief(str(sum_of_sizes))}"
    error = refusal(BAD_SIZES, f"dim {axis} is {brief(str(dim))}, and {requested}", argument="sizes")
    if not negative:
        return tuple([(1, size) for size in sizes]), required(equal, dim, sum_of_sizes, error)
    rest = single(total((dim, product((-1, sum_of_sizes)))), "the part of -1")
    if monomial(rest).numerator < 0:
        raise error
    return tuple([(1, rest if size == -1 else size) for size in sizes]), ()


def _part_of(runs: Runs, part: int) -> tuple[Dim, Dim]:
    """Return the start and the size of a part.

    Raises `ShapeError`: index-out-of-range, needs-size.
    """
    before, remaining = list[Dim](), part
    for count, size in runs if part >= 0 else ():
        if remaining < count:
            return single(total([*before, product((remaining, size))]), f"the start of part {brief(str(part))}"), size
        before.append(product((count, size)))
        remaining -= count
    message = f"parts run from 0 to {brief(str(count_of(runs) - 1))}, and this is {brief(str(part))}"
    raise refusal(INDEX_OUT_OF_RANGE, message, argument="part")


def count_of(runs: Runs) -> int:
    """Return the number of parts."""
    return sum([count for count, _ in runs])


def single(terms: Shape, what: str) -> Dim:
    """Return the only term of a sum, or 0 if it has none.

    `name` is the sum's name in the message. Raises `ShapeError` (needs-size) for several terms.
    """
    if len(terms) > 1:
        message = f"{what} would be {brief(' + '.join(map(str, terms[::-1])))}, and a dim is a number or a product"
        raise refusal(NEEDS_SIZE, message, argument="sizes")
    return terms[0] if terms else 0


def _size_decides(dim: Dim, axis: int, argument: str) -> ShapeError:
    message = f"how dim {axis}, {brief(str(dim))}, is cut depends on its size"
    return refusal(NEEDS_SIZE, message, argument=argument)


def _parts(trace: Trace) -> dict[str, object]:
    """Return the shape of every part; None if there are more than `MOST_DIMS`."""
    (step,) = [step for step in trace.steps if step.rule is SPLIT_AXIS]
    (axis,), runs, shape = step.sources, step.facts["runs"], trace.input
    if count_of(runs) > MOST_DIMS:
        return {"outputs": None}
    sizes = [size for count, size in runs for _ in range(count)]
    return {"outputs": tuple([(*shape[:axis], size, *shape[axis + 1 :]) for size in sizes])}


def _nearest_parts(_shape: Shape, arguments: Arguments) -> Changes:
    """Yield uneven parts, the nearest counts, and last 1, which is the whole axis."""
    parts = arguments.get("parts", 1)
    nearest = sorted(near(parts), key=lambda count: (abs(count - parts), -count))
    if parts > 0:
        yield "uneven", True
    yield from (("parts", count) for count in (*nearest, 1) if count != parts)


def _nearest_sizes(shape: Shape, arguments: Arguments) -> Changes:
    """Yield the sizes with a last one that makes them add up to the axis."""
    sizes, dim = arguments["sizes"], shape[arguments["axis"]]
    rest = total([dim, *[product((-1, size)) for size in sizes[:-1]]])
    yield from (("sizes", (*sizes[:-1], *rest)) for _ in rest[:1])


def _nearest_part(_shape: Shape, arguments: Arguments) -> Changes:
    """Yield the parts before the refused one; the first if it is negative."""
    part = arguments["part"]
    yield from [("part", candidate) for candidate in (range(part - 1, max(-1, part - 20), -1) if part > 0 else (0,))]


BY_SIZE, UNEVENLY = attrgetter("splits_by_size"), attrgetter("splits_unevenly")
"""The predicates for dialects whose split has `size`, or `uneven`."""
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

"""Split: divide an axis into parts, and return one of them."""

from __future__ import annotations

from shapecalc.core.answers import StageBuilder, StageKind, Stages, Step, StepRule, Trace
from shapecalc.core.conditions import Conditions, require_divisible, require_equal, require_relation
from shapecalc.core.dialects.base import (
    FLOATS,
    SINCE_13,
    UP_TO_12,
    Operator,
    Param,
    ParamType,
    RequestRules,
    explain_changed_axis,
)
from shapecalc.core.dims import Dim, Shape, is_always_integral, monomial, product, quotient, sum_terms
from shapecalc.core.limits import MAX_SHAPE_DIMS
from shapecalc.core.moves import StridedSlice
from shapecalc.core.ops.axes import AXIS_SEMANTICS, normalize_nonscalar_axis
from shapecalc.core.ops.op import (
    Arguments,
    DialectTable,
    FixCandidates,
    Op,
    make_test_vectors,
    nearest_integers,
    operators_by_dialect,
)
from shapecalc.core.ops.select import INDEX_OUT_OF_RANGE
from shapecalc.core.problem import Problem, Rule, ShapeError, rule_error
from shapecalc.core.record import Choice, FrozenDict, Record
from shapecalc.core.rules import MISSING_ARGUMENT, NEEDS_SIZE
from shapecalc.core.text import remainder_text, shape_text, truncate

PartRuns = tuple[tuple[int, Dim], ...]
"""The parts of an axis in order. A pair (count, size) represents `count` consecutive parts of equal size."""

SMALLER_LAST_PART_SINCE = 18
"""The first version of ONNX Split that allows a smaller last part."""
MAX_LISTED_PARTS = 8
"""The maximum number of parts for which an explanation lists all sizes."""
SOURCE = (
    "ONNX Split, numpy.split, numpy.array_split, torch.chunk, torch.split, torch.tensor_split, tf.split, OpenVINO "
    "Split, OpenVINO VariadicSplit, paddle.split"
)

BAD_PARTS = Rule(
    "bad-parts",
    "an axis must be split into one part or more, given by their number or their sizes",
    "A single part is the whole axis. PARTS, --size and --sizes are mutually exclusive.",
    "shapecalc split 6,4 0 0",
    SOURCE,
)
UNEQUAL_PARTS = Rule(
    "unequal-parts",
    "the number of parts does not divide the size of the axis",
    "Since Split 18, ONNX makes the last part smaller: each part has H/n elements, rounded up, until no elements "
    "remain. PyTorch's chunk does the same, and it may return fewer parts. Other operators split only into equal "
    "parts. With --uneven, the first parts are longer than the others by one.",
    "shapecalc split 7,4 0 3 --dialect numpy",
    "numpy.split: 'array split does not result in an equal division'; ONNX Split: 'the last chunk will be smaller'",
)
BAD_SIZES = Rule(
    "bad-sizes",
    "the sizes of the parts do not add up to the size of the axis",
    "Each size must be at least 0, and their sum must equal the size of the axis. In TensorFlow, Paddle and OpenVINO, "
    "one size may be -1, which stands for the remainder.",
    "shapecalc split 7,4 0 --sizes 2,3,4",
    "ONNX Split: 'the sum of the values must be equal to the dim value at axis'; torch.split, tf.split",
)


def _explain_split(step: Step, part: int, dim: Dim, runs: PartRuns) -> str:
    count = truncate(str(part_count(runs)))
    text = f"part {truncate(str(part))} of {count}"
    if len(runs) == 1:
        return f"{text}: {truncate(str(dim))} / {count} = {step.value}"
    sizes = [str(size) for number, size in runs for _ in range(min(number, MAX_LISTED_PARTS + 1))]
    listed = (
        ",".join(sizes)
        if len(sizes) <= MAX_LISTED_PARTS
        else " and ".join([f"{number} of {size}" for number, size in runs])
    )
    return f"{text}: {truncate(str(dim))} is cut into {truncate(listed)}, and this one is {step.value}"


SPLIT_AXIS = StepRule(
    "split-axis",
    "an axis is split into parts, and one of them is kept",
    "The parts have equal sizes if their number divides the size of the axis. A named size must be divisible by the "
    "number of parts, even in a framework that also splits other sizes.",
    "shapecalc split 6,4 0 3 --part 1",
    SOURCE,
    why=_explain_split,
)


def split(
    shape: Shape,
    rules: RequestRules,
    axis: int,
    parts: int | None = None,
    part: int = 0,
    size: int | None = None,
    sizes: Shape | None = None,
    *,
    uneven: bool = False,
    **_: bool,
) -> Stages:
    """Divide an axis into parts, and return the part with index `part`.

    Source: ONNX Split ("the last chunk will be smaller"), numpy.split and array_split, torch.chunk ("may return fewer
    than the specified number of chunks"), torch.split, OpenVINO Split and VariadicSplit. Raises `ShapeError`
    (axis-out-of-range, negative-axis, missing-argument, bad-parts, bad-sizes, unequal-parts, index-out-of-range or
    needs-size).
    """
    with StageBuilder(StageKind.SPLIT, "split", "parts", shape) as stage:
        arguments = {"parts": parts, "size": size, "sizes": sizes, "uneven": (uneven and parts is None) or None}
        names = [name for name, value in arguments.items() if value is not None]
        if names in ([], ["uneven"]):
            raise _missing_parts_error(shape, rules, axis)
        if names[1:]:
            raise rule_error(BAD_PARTS, f"{names[0]} and {names[1]} are both given", argument=names[1])
        cut_axis = normalize_nonscalar_axis(axis, shape, rules)
        if sizes is not None:
            infers = SPLIT_SEMANTICS.for_dialect(rules.dialect).infers_part
            runs, conditions = _parts_by_sizes(shape[cut_axis], cut_axis, sizes, infers=infers)
        elif size is not None:
            runs, conditions = _parts_by_size(shape[cut_axis], cut_axis, size), ()
        else:
            runs, conditions = _parts_by_count(shape[cut_axis], cut_axis, parts or 0, rules, uneven=uneven)
        start, kept = _locate_part(runs, part)
        facts = {"part": part, "dim": shape[cut_axis], "runs": runs}
        stage.explain = lambda _: explain_changed_axis(
            shape, Step(SPLIT_AXIS, cut_axis, (cut_axis,), kept, conditions, FrozenDict(facts))
        )
        starts = tuple([start if out == cut_axis else 0 for out in range(len(shape))])
        output = (*shape[:cut_axis], kept, *shape[cut_axis + 1 :])
        return stage.finish(StridedSlice(starts, (1,) * len(shape), output))


def _missing_parts_error(shape: Shape, rules: RequestRules, axis: int) -> ShapeError:
    """Return the error for a split without the number or the sizes of its parts.

    If `axis` is out of range, the hint assumes that `axis` is the size argument of `torch.split`.
    """
    needed = (
        "PARTS, --sizes or --size" if SPLIT_SEMANTICS.for_dialect(rules.dialect).splits_by_size else "PARTS or --sizes"
    )
    is_axis = -len(shape) <= axis < len(shape)
    hint = "" if is_axis else f"the first number is the axis: write split {shape_text(shape)} 0 --size {axis} -d torch"
    return ShapeError(Problem(MISSING_ARGUMENT, f"a split needs {needed}", hint, "parts"))


def _parts_by_count(
    dim: Dim, axis: int, parts: int, rules: RequestRules, *, uneven: bool
) -> tuple[PartRuns, Conditions]:
    """Divide a dim into `parts` parts, and return them with their conditions.

    If `parts` does not divide the dim, the dialect and `uneven` determine the sizes. Raises `ShapeError` (bad-parts,
    unequal-parts or needs-size).
    """
    if parts < 1:
        raise rule_error(BAD_PARTS, f"there is at least 1 part, and this is {truncate(str(parts))}", argument="parts")
    size = quotient(dim, parts)

    def make_error() -> ShapeError:
        shown = f"dim {axis}, {truncate(str(dim))},"
        message = f"{shown} has no {truncate(str(parts))} equal parts{remainder_text(dim, parts)}"
        return rule_error(UNEQUAL_PARTS, message, argument="parts")

    if not isinstance(dim, int):
        if uneven and not is_always_integral(size):
            raise _missing_size_error(dim, axis, "parts")
        return ((parts, size),), require_relation(require_divisible, dim, parts, make_error)
    if dim % parts == 0:
        return ((parts, size),), ()
    if uneven and SPLIT_SEMANTICS.for_dialect(rules.dialect).splits_unevenly:
        return ((dim % parts, dim // parts + 1), (parts - dim % parts, dim // parts)), ()
    is_old = rules.version is not None and rules.version < SMALLER_LAST_PART_SINCE
    rest_rule = UnevenSplitPolicy.REFUSED if is_old else SPLIT_SEMANTICS.for_dialect(rules.dialect).left_over
    rounded_up = -(-dim // parts)
    last = dim - rounded_up * (parts - 1)
    if rest_rule is UnevenSplitPolicy.FEWER:
        return _parts_by_size(dim, axis, rounded_up), ()
    if rest_rule is UnevenSplitPolicy.REFUSED or last < 0:
        raise make_error()
    return ((parts - 1, rounded_up), (1, last)), ()


def _parts_by_size(dim: Dim, axis: int, size: int) -> PartRuns:
    """Divide a dim into parts of `size`; the last part may be smaller.

    Raises `ShapeError` (bad-parts or needs-size).
    """
    if size < (dim != 0):
        raise rule_error(
            BAD_PARTS, f"a part has at least 1 position, and this is {truncate(str(size))}", argument="size"
        )
    if not isinstance(dim, int):
        raise _missing_size_error(dim, axis, "size")
    if dim < size or dim == 0:
        return ((1, dim),)
    return ((dim // size, size), *([(1, dim % size)] if dim % size else []))


def _parts_by_sizes(dim: Dim, axis: int, sizes: Shape, *, infers: bool) -> tuple[PartRuns, Conditions]:
    """Divide a dim into parts of these sizes, and return them with their conditions.

    The sum of the sizes must be `dim`. If `infers` is True, one size may be -1. Raises `ShapeError` (bad-sizes or
    needs-size).
    """
    negative = [index for index, size in enumerate(sizes) if isinstance(size, int) and size < 0]
    if negative[infers:] or any(sizes[index] != -1 for index in negative):
        message = f"a part has at least 0 positions, and this is {truncate(str(sizes[negative[-1]]))}"
        raise rule_error(BAD_SIZES, message, argument="sizes", index=negative[-1])
    sum_sizes = require_single_term(sum_terms([size for size in sizes if size != -1]), "the sizes together")

    def make_error() -> ShapeError:
        requested = f"the sizes {truncate(shape_text(sizes))} make {truncate(str(sum_sizes))}"
        return rule_error(BAD_SIZES, f"dim {axis} is {truncate(str(dim))}, and {requested}", argument="sizes")

    if not negative:
        return tuple([(1, size) for size in sizes]), require_relation(require_equal, dim, sum_sizes, make_error)
    rest = require_single_term(sum_terms((dim, product((-1, sum_sizes)))), "the part of -1")
    if monomial(rest).numerator < 0:
        raise make_error()
    return tuple([(1, rest if size == -1 else size) for size in sizes]), ()


def _locate_part(runs: PartRuns, part: int) -> tuple[Dim, Dim]:
    """Return the start and the size of a part.

    Raises `ShapeError` (index-out-of-range or needs-size).
    """
    before, remaining = list[Dim](), part
    for count, size in runs if part >= 0 else ():
        if remaining < count:
            return require_single_term(
                sum_terms([*before, product((remaining, size))]), f"the start of part {truncate(str(part))}"
            ), size
        before.append(product((count, size)))
        remaining -= count
    message = f"parts run from 0 to {truncate(str(part_count(runs) - 1))}, and this is {truncate(str(part))}"
    raise rule_error(INDEX_OUT_OF_RANGE, message, argument="part")


def part_count(runs: PartRuns) -> int:
    """Return the number of parts."""
    return sum([count for count, _ in runs])


def require_single_term(terms: Shape, name: str) -> Dim:
    """Return the only term of a symbolic sum, or 0 if the sum has no terms.

    `name` describes the sum in the error message. Raises `ShapeError` (needs-size) if the sum has several terms.
    """
    if len(terms) > 1:
        message = f"{name} would be {truncate(' + '.join(map(str, terms[::-1])))}, and a dim is a number or a product"
        raise rule_error(NEEDS_SIZE, message, argument="sizes")
    return terms[0] if terms else 0


def _missing_size_error(dim: Dim, axis: int, argument: str) -> ShapeError:
    message = f"how dim {axis}, {truncate(str(dim))}, is cut depends on its size"
    return rule_error(NEEDS_SIZE, message, argument=argument)


def _part_shapes(trace: Trace) -> dict[str, object]:
    """Return the shapes of all parts for the JSON output.

    The JSON value is null if there are more than `MAX_SHAPE_DIMS` parts.
    """
    (step,) = [step for step in trace.steps if step.rule is SPLIT_AXIS]
    (axis,), runs, shape = step.sources, step.facts["runs"], trace.input
    if part_count(runs) > MAX_SHAPE_DIMS:
        return {"outputs": None}
    sizes = [size for count, size in runs for _ in range(count)]
    return {"outputs": tuple([(*shape[:axis], size, *shape[axis + 1 :]) for size in sizes])}


def _count_candidates(_shape: Shape, arguments: Arguments) -> FixCandidates:
    """Yield arguments for which the split may be valid.

    The candidates are uneven parts, nearby numbers of parts, and a single part.
    """
    parts = arguments.get("parts", 1)
    nearest = sorted(nearest_integers(parts), key=lambda count: (abs(count - parts), -count))
    if parts > 0:
        yield "uneven", True
    yield from (("parts", count) for count in (*nearest, 1) if count != parts)


def _sizes_candidates(shape: Shape, arguments: Arguments) -> FixCandidates:
    """Yield sizes that sum to the size of the axis.

    Only the last size is changed.
    """
    sizes, dim = arguments["sizes"], shape[arguments["axis"]]
    rest = sum_terms([dim, *[product((-1, size)) for size in sizes[:-1]]])
    yield from (("sizes", (*sizes[:-1], *rest)) for _ in rest[:1])


def _part_candidates(_shape: Shape, arguments: Arguments) -> FixCandidates:
    """Yield smaller part indices, or 0 for a negative index."""
    part = arguments["part"]
    yield from [("part", candidate) for candidate in (range(part - 1, max(-1, part - 20), -1) if part > 0 else (0,))]


class UnevenSplitPolicy(Choice):
    """The sizes of the parts if the number of parts does not divide the dim."""

    REFUSED = "refused"
    LAST = "the last part is smaller"
    FEWER = "the last part is smaller, and there may be fewer parts"


class SplitSemantics(Record):
    """The arguments of split in a dialect, and the policy for uneven parts."""

    left_over: UnevenSplitPolicy = UnevenSplitPolicy.REFUSED
    splits_by_size: bool = False
    """Whether split accepts a part size instead of the number of parts."""
    splits_unevenly: bool = False
    """Whether split can make each of the first parts larger by 1."""
    infers_part: bool = False
    """Whether one of the sizes may be -1."""


SPLIT_SEMANTICS = DialectTable(
    {
        "tflite coreml caffe": SplitSemantics(),
        "onnx": SplitSemantics(UnevenSplitPolicy.LAST),
        "torch": SplitSemantics(UnevenSplitPolicy.FEWER, splits_by_size=True, splits_unevenly=True),
        "numpy jax": SplitSemantics(splits_unevenly=True),
        "openvino tensorflow": SplitSemantics(infers_part=True),
        "paddle": SplitSemantics(splits_unevenly=True, infers_part=True),
    }
)
SPLIT = Op(
    name="split",
    summary="Split an axis into parts, and keep one.",
    params=(
        Param("axis", ParamType.INT, "the axis to split", positional=True, required=True, list_option="sizes"),
        Param("parts", ParamType.INT, "the number of parts", positional=True, list_option="sizes"),
        Param("part", ParamType.INT, "the index of the part to keep, by default 0", positional_or_named=True),
        Param("sizes", ParamType.TARGET, "the size of each part; replaces PARTS"),
        Param(
            "size",
            ParamType.INT,
            "the size of all parts, instead of PARTS; the last part may be smaller",
            supported_by=lambda dialect: SPLIT_SEMANTICS.for_dialect(dialect).splits_by_size,
        ),
        Param(
            "uneven",
            ParamType.FLAG,
            "distribute a remainder over the first parts",
            supported_by=lambda dialect: SPLIT_SEMANTICS.for_dialect(dialect).splits_unevenly,
        ),
        Param("all", ParamType.FLAG, "print the shape of every part, one per line"),
    ),
    resolve=split,
    operators={
        "onnx": Operator("Split", {1: FLOATS, 2: UP_TO_12, 11: UP_TO_12, 13: SINCE_13, 18: SINCE_13}),
        **operators_by_dialect(split="numpy paddle", chunk="torch", Split="openvino"),
    },
    signatures=(
        ("torch", "x.chunk(chunks: parts, dim: axis=0)"),
        ("torch", "x.split(split_size/split_size_or_sections/split_sizes: size, dim: axis=0)"),
        ("torch", "x.tensor_split(indices_or_sections/indices: parts, dim: axis=0)"),
        ("numpy jax", "np.split(x, indices_or_sections: parts, axis=0)"),
        ("numpy jax", "np.array_split(x, indices_or_sections: parts, axis=0)"),
        ("tensorflow", "tf.split(x, num_or_size_splits: parts, axis=0)"),
        ("paddle", "paddle.chunk(x, chunks: parts, axis=0)"),
        ("paddle", "paddle.split(x, num_or_sections: parts, axis=0)"),
        ("paddle", "paddle.tensor_split(x, num_or_indices: parts, axis=0)"),
    ),
    printed_names="split",
    examples=("split 7,4 0 3 --all", "split N,3*C 1 3 --part 2 --explain", "split 7,4 0 --sizes 2,3,2 --part 1"),
    vectors=make_test_vectors(
        "axis parts part",
        ("6,4", "0 3", "-1 2 1", "0 3 3", "0 3 -1", "0 4", "0 0", "0 -2", "0 1", "2 2"),
        ("0,4", "0 3 2"),
        ("[]", "0 1"),
        ("N,3*C", "1 3 2"),
        ("N,C", "1 2 1"),
        ("7,4", "0 3 2", "0 5", "0 5 3"),
    ),
    keeps_element_count=False,
    semantics=(SPLIT_SEMANTICS, AXIS_SEMANTICS),
    rules=(SPLIT_AXIS, BAD_PARTS, UNEQUAL_PARTS, BAD_SIZES),
    fix_candidates={
        UNEQUAL_PARTS: _count_candidates,
        **dict.fromkeys((BAD_PARTS, MISSING_ARGUMENT), _count_candidates),
        BAD_SIZES: _sizes_candidates,
        INDEX_OUT_OF_RANGE: _part_candidates,
    },
    extras=_part_shapes,
)

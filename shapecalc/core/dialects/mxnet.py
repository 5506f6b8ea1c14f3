"""MXNet: reshape accepts the special values 0, -1, -2, -3 and -4.

The entries of the target are resolved in order, while a cursor moves over the input dims. The rules follow the
documentation of `NDArray.reshape` unless the library behaves differently. Operators do not accept scalars or empty
arrays.
"""

from __future__ import annotations

from functools import partial

from shapecalc.core import rules
from shapecalc.core.answers import EMPTY_DICT, ResolvedDim, StageBuilder, StageKind, Stages, Step, StepRule, make_step
from shapecalc.core.conditions import Conditions, require_divisible, require_equal, require_relation
from shapecalc.core.dialects import base
from shapecalc.core.dims import Axes, Dim, Shape, product, quotient
from shapecalc.core.problem import Rule, ShapeError, rule_error
from shapecalc.core.record import Record
from shapecalc.core.text import shape_text, truncate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

SOURCE = "the documentation of MXNet NDArray.reshape; verified with MXNet 1.9.1"
COPY_REST, MERGE_TWO, SPLIT_ONE_DIM = -2, -3, -4
"""The special values of a requested shape besides 0 and -1."""
MAX_TRANSPOSE_RANK = 6
"""The maximum input rank of transpose."""


COPIED_NEXT = StepRule(
    "copy-next",
    "0 copies the next dim of the input",
    "The entries are read from left to right, and they consume the dims of the input in order. Therefore, 0 copies the "
    "dim at its own index only if no -2, -3 or -4 precedes it.",
    "shapecalc reshape 2,3,4 -3,0 --dialect mxnet",
    SOURCE,
    name="copy 0",
    why="0 copies the next dim, dim {step.sources[0]}, which is {step.value}",
)


COPIED_REST = StepRule(
    "copy-rest",
    "-2 copies all remaining dims of the input",
    "If no dims remain, -2 adds nothing.",
    "shapecalc reshape 2,3,4 1,-2 --dialect mxnet",
    SOURCE,
    name="copy -2",
    why="-2 copies what is left: dim {step.sources[0]}, which is {step.value}",
)


MERGED_TWO = StepRule(
    "merge-two",
    "-3 is the product of the next two dims of the input",
    "The two dims become one, and the elements keep their order.",
    "shapecalc reshape 2,3,4 -3,0 --dialect mxnet",
    SOURCE,
    name="merge -3",
    why="-3 merges dims {step.sources[0]} and {step.sources[1]}: {factors} = {step.value}",
)


SPLIT_ONE = StepRule(
    "split-one",
    "-4 splits the next dim of the input into the two sizes that follow -4",
    "One of the two sizes may be -1. A 0 among the two sizes is a literal size and copies no dim. If the shape is "
    "read in reverse, the two sizes precede the -4.",
    "shapecalc reshape 2,3,4 0,-4,-1,3,0 --dialect mxnet",
    SOURCE,
    name="split -4",
    why="-4 splits dim {step.sources[0]}, which is {dim}: this part is {step.value}",
)


def _explain_unchecked_count(step: Step) -> str:
    shape = truncate(shape_text(step.shape))
    return f"mx.nd.reshape, the operator, does not compare counts: it gives {shape} for every input"


UNCHECKED_COUNT = StepRule(
    "unchecked-count",
    "the operator mx.nd.reshape does not compare element counts",
    "NDArray.reshape refuses a shape whose element count differs from that of the input. The operator mx.nd.reshape "
    "accepts the same special values without this check: a smaller shape drops elements, and a larger one reads past "
    "the end.",
    "shapecalc reshape 2,3,4 23 --dialect mxnet",
    "measured with MXNet 1.9.1",
    name="no check",
    why=_explain_unchecked_count,
)


KEPT_ONE = StepRule(
    "keep-one",
    "a squeeze keeps at least one dim",
    "If a squeeze would drop all dims, the output has one dim of 1.",
    "shapecalc squeeze 1,1 --dialect mxnet",
    "measured with MXNet 1.9.1",
    why="dim {step.sources[0]} is {step.value} and stays: one dim must",
)


SHIFTED_INFER = Rule(
    "shifted-infer",
    "-1 follows special values that change the number of dims",
    "MXNet writes the inferred size to the output dim at the index of -1 in the requested shape. A -4 has three "
    "entries for two dims, and a -2 can copy any number of dims. After such a value, the index of -1 denotes the wrong "
    "dim, or memory outside of the shape. MXNet then fails, returns a wrong shape, or is correct by chance.",
    "shapecalc reshape 2,3,4 -2,-1 --dialect mxnet",
    "measured with MXNet 1.9.1; the documentation of MXNet allows a -1 there",
)
NO_DIM_LEFT = Rule(
    "no-dim-left",
    "-3 or -4 requires more dims than remain in the input",
    "A -3 merges the next two dims, and a -4 splits the next dim. The previous entries have consumed too many dims of "
    "the input.",
    "shapecalc reshape 2,3,4 -3,-3 --dialect mxnet",
    SOURCE,
)
SPLIT_INCOMPLETE = Rule(
    "split-incomplete",
    "-4 is not followed by two sizes",
    "A -4 consumes the two entries that follow it. If the shape is read in reverse, the two entries precede it.",
    "shapecalc reshape 2,3,4 -4,2 --dialect mxnet",
    SOURCE,
)
SPLIT_MISMATCH = Rule(
    "split-mismatch",
    "the product of the two sizes after -4 is not the dim that -4 splits",
    "The two sizes after a -4 must multiply to the size of the dim that it splits.",
    "shapecalc reshape 2,3,4 -4,3,2,-2 --dialect mxnet",
    SOURCE,
)
UNKNOWN_SHAPE = Rule(
    "unknown-shape",
    "an operator of MXNet accepts neither a scalar nor an empty array",
    "MXNet treats both a shape without dims and a dim of 0 as unknown. NDArray.reshape is not an operator, and "
    "accepts both scalars and empty arrays. The operator shape_array accepts empty arrays.",
    "shapecalc transpose 0,3 --dialect mxnet",
    "measured with MXNet 1.9.1 without np_shape",
)


SourcedDim: TypeAlias = "tuple[Axes, ResolvedDim]"
"""The input axes of an output dim, as positions in reading order, and the resolved dim."""


class MxnetTarget(Record):
    """The requested shape and the input shape of a reshape, in reading order.

    MXNet reads both shapes from the left or, with `reverse`, from the right. A position counts in reading order, and an
    index counts from the left.
    """

    shape: Shape
    target: Shape
    is_reversed: bool
    """Whether both shapes are read from right to left."""

    def build_error(self, rule: Rule, message: str, position: int | None = None) -> ShapeError:
        """Return an error that marks one entry of the target, or the complete target."""
        index = None if position is None else self.index_of(position, len(self.target))
        return rule_error(rule, message, argument="target", index=index)

    def index_of(self, position: int, rank: int) -> int:
        """Convert a position in a shape of `rank` dims to an index from the left."""
        return rank - 1 - position if self.is_reversed else position

    def reorder(self, items: Shape) -> Shape:
        """Convert a shape between reading order and left-to-right order."""
        return items[::-1] if self.is_reversed else items


def reshape(shape: Shape, _rules: base.RequestRules, target: Shape, reverse: bool = False) -> Stages:
    """Resolve the entries of `target` in order, from the right if `reverse` is True.

    Source: MXNet NDArray.reshape ("-2 copy this/remainder of the dimensions ..., -3 use the product of two consecutive
    dimensions ..., -4 split one dimension of the input into two"), and the library, which refuses most uses of -1 after
    -2 or -4. Raises `ShapeError` (two-infers, below-minus-one, zero-out-of-range, zero-volume-infer, indivisible,
    volume-mismatch, overflow or a refusal of the dialect).
    """
    request = MxnetTarget(shape[::-1], target[::-1], reverse) if reverse else MxnetTarget(shape, target, reverse)
    entries, error = _resolve_entries(request)
    dims: Shape = tuple([dim for _, (_, dim, *_) in entries])
    if error is not None:
        dims += request.target[request.index_of(error.problem.index or 0, len(target)) :]
    requested = request.reorder(dims)
    with StageBuilder(StageKind.RESHAPE, "reshape", "target", shape, requested) as stage:
        stage.explain = lambda _: tuple(
            [
                _entry_step(request, entry, out_position, len(dims))
                for out_position, entry in enumerate(entries)
                if entry[1][1] != -1
            ]
        )
        if error is not None:
            raise error
        infer_index = requested.index(-1) if -1 in requested else None
        output = tuple([1 if out == infer_index else dim for out, dim in enumerate(requested)])
        base.compute_volume(output, "target")
        used_axes = {request.index_of(axis, len(shape)) for sources, _ in entries for axis in sources}
        new_dims = [dim for sources, (_, dim, *_) in entries if not sources and dim != -1]
        have, known = product(shape), product([*new_dims, *[shape[axis] for axis in used_axes]])
        conditions: Conditions = ()
        if infer_index is not None:
            # -1 has the same position in target and output, because SHIFTED_INFER refuses other requests
            position = request.index_of(infer_index, len(entries))
            index = request.index_of(position, len(target))
            why_any = "the known dims multiply to 0: MXNet divides by 0"
            inferred = base.infer_dim(shape, known, index, why_any)
            axes = tuple([axis for axis in range(len(shape)) if axis not in used_axes])
            stage.add_explanation(lambda _: (make_step(infer_index, axes, inferred),))
            return base.finish_reshape_stage(stage, (*output[:infer_index], inferred[1], *output[infer_index + 1 :]))
        if have != known:
            stage.add_explanation(lambda _: (Step(UNCHECKED_COUNT, None, (), output),))
            conditions = base.require_equal_counts(shape, output, have, known, "target")
        return base.finish_reshape_stage(stage, output, conditions)


def _resolve_entries(request: MxnetTarget) -> tuple[list[SourcedDim], ShapeError | None]:
    """Resolve the entries up to the first error.

    Returns the dims with their input axes, and the error or None. A -1 remains in the dims and is inferred later.
    """
    dims, position, cursor, infer_position = list[SourcedDim](), 0, 0, None
    while position < len(request.target):
        code = request.target[position]
        try:
            if code == -1:
                _check_infer_position(request, position, len(dims), infer_position)
                infer_position = position
            new_dims = _resolve_entry(request, position, cursor)
        except ShapeError as error:
            return dims, error
        dims += new_dims
        cursor += len(new_dims) if code == COPY_REST else 2 if code == MERGE_TWO else 1
        position += 3 if code == SPLIT_ONE_DIM else 1
    return dims, None


def _check_infer_position(
    request: MxnetTarget, position: int, output_position: int, infer_position: int | None
) -> None:
    """Raise `ShapeError` for a second -1, or for a -1 that changes its position.

    `position` is the position of the -1 in the target, and `output_position` is its position in the output. They differ
    if an entry before the -1 does not produce exactly one output dim.
    """
    base.check_negative_dim(request.index_of(position, len(request.target)), -1, infer_position)
    if position != output_position:
        order = ", read from the right" if request.is_reversed else ""
        infer_text = f"this -1 is dim {output_position}{order}"
        message = f"MXNet writes the size of entry {position} to output dim {position}, and {infer_text}"
        raise request.build_error(SHIFTED_INFER, message, position)


def _resolve_entry(request: MxnetTarget, position: int, cursor: int) -> list[SourcedDim]:
    """Return the output dims of one target entry, with their input axes.

    `position` is the position of the entry, and `cursor` is the position of the next input dim.
    """
    code, shape = request.target[position], request.shape
    left = max(0, len(shape) - cursor)
    if code == COPY_REST:
        return [((axis,), (COPIED_REST, shape[axis], (), EMPTY_DICT)) for axis in range(cursor, len(shape))]
    if code == 0:
        if not left:
            message = f"0 copies the next dim, and none of {len(shape)} is left"
            raise request.build_error(rules.ZERO_OUT_OF_RANGE, message, position)
        return [((cursor,), (COPIED_NEXT, shape[cursor], (), EMPTY_DICT))]
    if code == MERGE_TWO:
        if left < 2:
            raise request.build_error(
                NO_DIM_LEFT, f"-3 merges the next two dims, and {left} of {len(shape)} are left", position
            )
        dims = request.reorder(shape[cursor : cursor + 2])
        return [((cursor, cursor + 1), (MERGED_TWO, product(dims), (), {"factors": "*".join(map(str, dims))}))]
    if code == SPLIT_ONE_DIM:
        return _split_dim(request, position, cursor)
    if isinstance(code, int) and code < SPLIT_ONE_DIM:
        raise request.build_error(
            rules.BELOW_MINUS_ONE, f"{code} is below -4, the last code that has a meaning", position
        )
    return [((), (rules.GIVEN_DIM, code, (), EMPTY_DICT))]


def _split_dim(request: MxnetTarget, position: int, cursor: int) -> list[SourcedDim]:
    """Return the two output dims of a -4, which splits an input dim."""
    parts = list(request.target[position + 1 : position + 3])
    if len(parts) < 2:
        raise request.build_error(
            SPLIT_INCOMPLETE, "-4 takes the two sizes that follow it, and they are not there", position
        )
    if cursor >= len(request.shape):
        message = f"-4 splits the next dim, and none of {len(request.shape)} is left"
        raise request.build_error(NO_DIM_LEFT, message, position)
    dim = request.shape[cursor]
    if parts == [-1, -1]:
        raise request.build_error(
            rules.TWO_INFERS, "only one of the two parts of a split can be -1, and both are", position
        )
    if any(isinstance(part, int) and part < -1 for part in parts):
        raise request.build_error(rules.BELOW_MINUS_ONE, "a part of a split is a size or -1", position)
    if -1 not in parts:
        message = f"{'*'.join(map(str, request.reorder(tuple(parts))))} is not {dim}, the dim to split"
        make_error = partial(request.build_error, SPLIT_MISMATCH, message, position)
        conditions = require_relation(require_equal, dim, product(parts), make_error)
    else:
        infer_part = parts.index(-1)
        parts[infer_part], conditions = _infer_split_size(request, parts[1 - infer_part], dim, position)
    sources, facts = (cursor,), {"dim": dim}
    return [(sources, (SPLIT_ONE, parts[0], conditions, facts)), (sources, (SPLIT_ONE, parts[1], (), facts))]


def _infer_split_size(request: MxnetTarget, known: Dim, dim: Dim, position: int) -> tuple[Dim, Conditions]:
    """Infer the size of a -1 after -4, and return it with its conditions.

    `dim` is the dim to split, and `known` is the other size. Raises `ShapeError` (zero-volume-infer or indivisible).
    """
    if known == 0:
        message = f"the -1 in the split of {dim} could be any size, because the other part is 0"
        raise request.build_error(rules.ZERO_VOLUME_INFER, message, position)
    message = f"{dim}, the dim to split, cannot be divided by {known}"
    make_error = partial(request.build_error, rules.INDIVISIBLE, message, position)
    return quotient(dim, known), require_relation(require_divisible, dim, known, make_error)


def _entry_step(request: MxnetTarget, entry: SourcedDim, position: int, count: int) -> Step:
    """Return the step of an output dim, with positions converted to indices.

    A 0 that copies the dim at its own index cites `COPIED_ZERO`, as in the other dialects.
    """
    sources, resolved = entry
    rank, out = len(request.shape), request.index_of(position, count)
    axes = tuple(sorted(request.index_of(axis, rank) for axis in sources))
    if resolved[0] is COPIED_NEXT and axes == (out,):
        from_left = not request.is_reversed and rank != count and out != 0
        resolved = rules.COPIED_ZERO, resolved[1], (), {"from_left": from_left}
    return make_step(out, axes, resolved)


def transpose_error(shape: Shape, rules: base.RequestRules, **_: object) -> ShapeError | None:
    """Return the error for an input that transpose does not accept, or None."""
    return unknown_shape_error(shape, rules) or base.rank_limit_error(MAX_TRANSPOSE_RANK, len(shape), rules.dialect)


def scalar_error(shape: Shape, rules: base.RequestRules, **_: object) -> ShapeError | None:
    """Return the error for a scalar, or None."""
    return None if shape else unknown_shape_error(shape, rules)


def unknown_shape_error(shape: Shape, _rules: base.RequestRules, **_: object) -> ShapeError | None:
    """Return the error for a scalar or an empty array, or None."""
    if not shape:
        return rule_error(UNKNOWN_SHAPE, "MXNet reads the shape of a scalar as not known", argument="input")
    if 0 in shape:
        axis = shape.index(0)
        message = f"dim {axis} is 0, and MXNet reads 0 as a size that is not known"
        return rule_error(UNKNOWN_SHAPE, message, argument="input", index=axis)
    return None


def squeeze(shape: Shape, _rules: base.RequestRules, axes: Axes | None = None) -> Stages | None:
    """Resolve a squeeze that may drop every dim.

    Returns None for other requests, which `Op.resolve` resolves.
    """
    if axes is not None:
        rank = len(shape)
        names_all = len(axes) == rank and {axis % rank for axis in axes if -rank <= axis < rank} == {*range(rank)}
        return _squeeze_all_but_one(shape, 0, axes) if names_all else None
    others = [axis for axis, dim in enumerate(shape) if dim != 1]
    if len(others) > 1 or any(isinstance(shape[axis], int) for axis in others):
        return None
    return _squeeze_all_but_one(shape, others[0] if others else 0)


def _squeeze_all_but_one(shape: Shape, kept_axis: int, axes: Axes = ()) -> Stages:
    """Drop every dim except `kept_axis`.

    `axes` is empty or contains all axes. If it contains all axes, every dim must be 1. Raises `ShapeError`
    (axis-not-one).
    """
    with StageBuilder(StageKind.SQUEEZE, "squeeze", "axes", shape, axes) as stage:
        named, resolved = [axis % len(shape) for axis in axes], list[ResolvedDim]()
        stage.explain = lambda _: tuple([make_step(None, (axis,), dim) for axis, dim in enumerate(resolved)])
        for axis, dim in enumerate(shape):
            conditions = base.require_one(dim, axis, named.index(axis)) if named else ()
            resolved.append((KEPT_ONE if axis == kept_axis else rules.DROPPED_ONE, dim, conditions, EMPTY_DICT))
        return base.finish_reshape_stage(stage, (1,) if named else (shape[kept_axis],))


REVERSE = base.Param(
    "reverse", base.ParamType.FLAG, "MXNet: match the dims of the input and of the target from the right"
)

MXNET = base.Dialect(
    name="mxnet",
    source="MXNet reference; verified with MXNet 1.9.1",
    operators={
        "reshape": base.Operator("NDArray.reshape", params=(REVERSE,), resolve=reshape),
        "transpose": base.Operator("transpose", refusal_check=transpose_error),
        "flatten": base.Operator("flatten", refusal_check=unknown_shape_error),
        "squeeze": base.Operator("squeeze", resolve=squeeze, refusal_check=unknown_shape_error),
        "unsqueeze": base.Operator("expand_dims", refusal_check=unknown_shape_error),
        "expand": base.Operator("broadcast_to", refusal_check=unknown_shape_error),
        "shape": base.Operator("shape_array", refusal_check=scalar_error),
    },
    reshape_semantics={None: base.ZERO_COPIES},
    types=base.FLOATS | {"bool", "uint8", "int8", "int32", "int64", "bfloat16"},
    missing_types={"transpose": frozenset({"bool", "bfloat16"})},
    spellings={"float": "float64", "double": "float64", "single": "float32", "half": "float16", "int": "int64"}
    | {"bool_": "bool"},
    note="In reshape, -2 copies the remaining dims, -3 merges two dims, -4 splits one dim, and reverse reads the "
    "shape from the right. Squeeze keeps at least one dim. Expand keeps the rank, and a 0 in its target keeps a dim. "
    "The limit of 2**31 elements per array is not checked. The module mx.np is not covered",
    rules=(
        *(COPIED_NEXT, COPIED_REST, MERGED_TWO, SPLIT_ONE, UNCHECKED_COUNT, KEPT_ONE),
        *(SHIFTED_INFER, NO_DIM_LEFT, SPLIT_INCOMPLETE, SPLIT_MISMATCH, UNKNOWN_SHAPE),
    ),
)

"""View: PyTorch's reshape without a copy, and the strides of PyTorch tensors.

A view exists if strides can describe the requested shape in the same memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shapecalc.core.answers import Request, Stage, StageBuilder, StageKind, Stages, Step, StepRule, Trace
from shapecalc.core.conditions import Assumptions
from shapecalc.core.dialects.base import Operator, Param, ParamType, Setting, check_rank
from shapecalc.core.dims import Axes, Shape, is_concrete, numeric_dims
from shapecalc.core.layout import Atom, View, contiguous_strides, merge_atoms
from shapecalc.core.moves import Move, Reshape, Roll, ShapeVector, Take
from shapecalc.core.ops.op import Op, make_vectors
from shapecalc.core.ops.reshape import ReshapeTarget
from shapecalc.core.problem import Rule, rule_error
from shapecalc.core.record import FrozenDict, Record, replace
from shapecalc.core.rules import NEEDS_SIZE
from shapecalc.core.text import rank_text, shape_text, truncate

SOURCE = "Tensor.view, at::detail::computeStride of PyTorch 2.13.0"

STRIDE_INCOMPATIBLE = Rule(
    "stride-incompatible",
    "no strides can read the requested shape from the same memory",
    "A dim of a view lies inside one input dim, or spans adjacent dims that are contiguous in memory. Adjacent dims "
    "are contiguous if the stride of each dim is the size of the next dim times the stride of the next dim. To span "
    "other dims, make a copy first with contiguous() or reshape.",
    "shapecalc view 3,4 12 --strides 1,3",
    "Tensor.view: 'the new view size must be compatible with its original size and stride'",
)
BAD_STRIDES = Rule(
    "bad-strides",
    "there must be one non-negative stride for each dim",
    "A stride is the distance in memory, in elements, between two neighbours along a dim. Dims of 1 also have a "
    "stride; a stride of 0 reads the same element repeatedly. PyTorch does not support negative strides.",
    "shapecalc view 3,4 12 --strides 4",
    "Tensor.stride, torch.as_strided",
)


COPY_FIRST_HINT = "write reshape in place of view, or contiguous() before it: they copy if no view exists"
"""The hint for a view that the input's strides make impossible."""
COPYING_OPS = ("tile", "repeat_interleave", "take", "flip", "roll", "depth_to_space", "space_to_depth")
"""The ops that copy in PyTorch; the other ops return views if strides allow it."""


def _explain_view_strides(step: Step, strides: Shape | None) -> str:
    before = "of a contiguous tensor" if strides is None else f"of strides {shape_text(strides)}"
    return f"a view {before}: its strides are {shape_text(step.shape)}"


VIEW_STRIDES = StepRule(
    "view-strides",
    "a view reads the same memory with its own strides",
    "Dims that are contiguous in memory form a chunk, which can be split into new dims. The stride of a new dim is "
    "the stride of the chunk's last dim, multiplied by the sizes of all later new dims of the chunk. A tensor without "
    "elements always has a view.",
    "shapecalc view 3,4 3,2,2 --strides 1,3",
    SOURCE,
    name="strides",
    why=_explain_view_strides,
)


class StrideConflict(Record):
    """Two non-contiguous input dims that one dim of the requested view spans."""

    outer: int
    inner: int
    needed_stride: int
    """The stride of the outer dim, in elements, for which the dims are contiguous."""


def view(shape: Shape, rules: Setting, target: Shape, strides: Shape | None = None) -> Stages:
    """Resolve a requested shape as reshape does, but refuse it if it requires a copy.

    `strides` are the strides of the input in elements; by default, the input is contiguous, so that no copy is
    required. In a chain, the previous stages determine the strides. Source: Tensor.view. Raises `ShapeError`:
    bad-strides, needs-size, stride-incompatible, and the errors of `reshape`.
    """
    with StageBuilder(StageKind.VIEW, "view", "target", shape, target) as stage:
        if strides is not None:
            _check_strides(shape, strides)
        check_rank(target, rules.dialect, "target")
        requested = ReshapeTarget(shape, rules, target, "target")
        stage.explain = requested.explain
        output = requested.resolve()
        output_strides = _target_strides(shape, strides, output)

        def explain(finished: Stage) -> tuple[Step, ...]:
            axes, facts = tuple(range(len(shape))), FrozenDict(strides=strides)
            return (*requested.explain(finished), Step(VIEW_STRIDES, None, axes, output_strides, (), facts))

        stage.explain = explain
        return stage.finish(Reshape(output))


def _target_strides(shape: Shape, strides: Shape | None, target: Shape) -> Shape:
    """Return the strides of a view with the shape `target`.

    Raises `ShapeError`: stride-incompatible, needs-size.
    """
    if strides is None or 0 in shape:
        return strides if strides and shape == target else contiguous_strides(target)
    if is_concrete((*shape, *strides, *target)):
        result = compute_view_strides(numeric_dims(shape), numeric_dims(strides), numeric_dims(target))
        if isinstance(result, StrideConflict):
            raise rule_error(
                STRIDE_INCOMPATIBLE, _format_conflict(result, shape, strides), argument="strides", index=result.outer
            )
        return result
    symbolic = strides_after_move(shape, strides, Reshape(target), Assumptions((*shape, *target)))
    if symbolic is None:
        message = f"with strides {shape_text(strides)} a view is not certain for every size"
        raise rule_error(NEEDS_SIZE, message, argument="strides")
    return symbolic


def _check_strides(shape: Shape, strides: Shape) -> None:
    """Check that each dim has a stride, and that no stride is negative.

    Raises `ShapeError`: bad-strides.
    """
    if len(strides) != len(shape):
        count = "1 stride is given" if len(strides) == 1 else f"{len(strides)} strides are given"
        dims = rank_text(len(shape))
        raise rule_error(BAD_STRIDES, f"{count}, and the input has {dims}", argument="strides")
    for index, stride in enumerate(strides):
        if isinstance(stride, int) and stride < 0:
            raise rule_error(BAD_STRIDES, f"{stride} is a negative stride", argument="strides", index=index)


def compute_view_strides(shape: Axes, strides: Axes, target: Axes) -> tuple[int, ...] | StrideConflict:
    """Return the strides of a view with the shape `target`, or the stride conflict.

    Both shapes have the same element count, which is not 0. Source: at::detail::computeStride.

    >>> compute_view_strides((3, 4), (1, 3), (3, 2, 2)), compute_view_strides((3, 4), (1, 3), (12,))
    ((1, 6, 3), StrideConflict(outer=0, inner=1, needed_stride=12))
    """
    result = list[int]()
    remaining = list(target)
    for chunk in reversed(_contiguous_runs(shape, strides)):
        size, base = 1, strides[chunk[-1]]
        for axis in chunk:
            size *= shape[axis]
        covered = 1
        while remaining and (covered < size or remaining[-1] == 1):
            result.append(covered * base)
            covered *= remaining.pop()
        if covered != size:
            inner = next(axis for axis in chunk if shape[axis] != 1)
            return StrideConflict(chunk[0] - 1, inner, size * base)
    result += [1] * len(remaining)
    return tuple(reversed(result))


def _contiguous_runs(shape: Axes, strides: Axes) -> list[list[int]]:
    """Group the axes into runs that are contiguous in memory.

    A dim of 1 belongs to the run of the dim after it, whatever its stride.
    """
    chunks = list[list[int]]()
    size = base = 0
    for axis in reversed(range(len(shape))):
        if chunks and (shape[axis] == 1 or strides[axis] == size * base):
            chunks[0].insert(0, axis)
            size *= shape[axis]
        else:
            chunks.insert(0, [axis])
            size, base = shape[axis], strides[axis]
    return chunks


def _format_conflict(conflict: StrideConflict, shape: Shape, strides: Shape) -> str:
    outer, inner = conflict.outer, conflict.inner
    texts = [truncate(str(number)) for number in (strides[outer], conflict.needed_stride, shape[inner], strides[inner])]
    return (
        f"a dim would span dims {outer} and {inner}, and dim {outer} has stride {texts[0]} where {texts[1]} is needed "
        f"(dim {inner} is {texts[2]} of stride {texts[3]})"
    )


def strides_after_move(shape: Shape, strides: Shape, move: Move, assumptions: Assumptions) -> Shape | None:
    """Return the strides after a move, or None if it may require a copy.

    `known` are the assumptions about symbolic dims.

    >>> from shapecalc.core.moves import Permute
    >>> strides_after_move((3, 4), (1, 3), Permute((1, 0)), Assumptions())
    (3, 1)
    """
    if isinstance(move, (Roll, Take, ShapeVector)):
        return None
    dropped_dim = 1 if isinstance(move, Reshape) else None  # only a reshape may change the stride of a dim of 1
    pairs = zip(shape, strides, strict=True)
    view = View(tuple([() if dim == dropped_dim else (Atom(dim, stride),) for dim, stride in pairs]))
    merged = [merge_atoms(atoms) for atoms in view.apply_move(move, shape, assumptions).axes]
    if any(len(atoms) > 1 or atoms[0].base for atoms in merged if atoms):
        return None
    return tuple([atoms[0].stride if atoms else 1 for atoms in merged])


def add_input_strides(request: Request, traces: Sequence[Trace]) -> Request:
    """Add the strides that the input has after `traces` to a view request.

    Strides in the request take precedence.
    """
    strides = request.arguments.get("strides") or strides_after_traces(traces)
    return request if strides is None else replace(request, arguments={**request.arguments, "strides": strides})


def strides_after_traces(traces: Iterable[Trace], strides: Shape | None = None) -> Shape | None:
    """Return the output strides of consecutive traces, or None if contiguous.

    `strides` are the strides of the first input; without them it is contiguous, or has the strides in its request.
    Source: PyTorch's notes on tensor views.
    """
    for trace in traces:
        strides = trace.request.arguments.get("strides") or strides
        if trace.request.dialect != "torch" or trace.op in COPYING_OPS or trace.output is None:
            strides = None
            continue
        known = Assumptions(trace.request.dims)
        for stage in trace.stages:
            if stage.move is None or 0 in stage.before:
                return None
            if strides is not None or not isinstance(stage.move, Reshape):
                strides = strides_after_move(
                    stage.before, strides or contiguous_strides(stage.before), stage.move, known
                )
            if strides and _is_contiguous(stage.move.output_shape(stage.before), strides):
                strides = None
    return strides


def _is_contiguous(shape: Shape, strides: Shape) -> bool:
    """Return whether a tensor is contiguous; the strides of dims of 1 are ignored."""
    triples = zip(shape, strides, contiguous_strides(shape), strict=True)
    return all(dim == 1 or stride == expected for dim, stride, expected in triples)


VIEW = Op(
    name="view",
    summary="View the same memory with another shape, without a copy.",
    params=(
        Param("target", ParamType.TARGET, "the requested shape, with at most one -1", positional=True, required=True),
        Param(
            "strides",
            ParamType.AXES,
            "the strides of the input in elements; by default contiguous, or those of the previous stages",
        ),
    ),
    resolve=view,
    operators={"torch": Operator("view")},
    signatures=(("torch", "x.view(*size/shape: target)"),),
    examples=("view 2,3,4 6,-1", "view 3,4 3,2,2 --strides 1,3 --explain", "view N,C,H,W N,-1"),
    vectors=make_vectors(
        "target strides",
        ("2,3,4", "6,-1", "6,4 12,4,1", "5,-1", "2,5"),
        ("3,4", "12 1,3", "3,2,2 1,3", "12 5,1", "12 0,0", "12 4", "12 4,-1"),
        ("3,1,4", "12 4,9,1"),
        ("0,4", "2,0 1,3"),
        ("[]", "1,1 []"),
        ("N,C,H,W", "N,-1"),
        ("N,4", "-1 4,1"),
    ),
    default_dialect="torch",
    rules=(VIEW_STRIDES, STRIDE_INCOMPATIBLE, BAD_STRIDES),
    fix_candidates=dict.fromkeys((STRIDE_INCOMPATIBLE, BAD_STRIDES), lambda *_: iter([("strides", None)])),
)

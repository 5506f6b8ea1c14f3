"""The strides of PyTorch tensors, in elements.

The result of an op is a view of its input or a new tensor. The storage order of a new tensor depends on the op: C
order, the order of the input, or channels last.

Sources: PyTorch's notes on tensor views and on memory formats; TensorIterator ("Computing output strides"),
c10/core/MemoryFormat.h, at::detail::computeStride and the kernels of PyTorch 2.13.0. `tests/engines/test_strides.py`
measures the storage order of each op.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from shapecalc.core.answers import Stage, StageKind, Trace
from shapecalc.core.conditions import Assumptions, Undecided, is_at_least_one
from shapecalc.core.dims import Axes, Dim, Monomial, Shape, is_concrete, numeric_dims, product, quotient
from shapecalc.core.layout import Atom, View, contiguous_strides, merge_atoms
from shapecalc.core.moves import Combine, Expand, Move, Pad, Permute, Reshape, Roll, ShapeVector, StridedSlice, Take
from shapecalc.core.record import Record
from shapecalc.core.rules import DROPPED_ONE

StridedShape = tuple[Shape, Shape]
"""The dims and the strides of a tensor."""

CHANNELS_LAST_ORDERS: Mapping[int, Axes] = {4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}
"""For each rank, the axes of the format `channels_last` or `channels_last_3d`, from the outermost to the innermost."""


class StrideConflict(Record):
    """Two input dims that a view would have to merge, but that are not contiguous."""

    outer: int
    inner: int
    needed_stride: int
    """The stride of the outer dim for which the two dims would be contiguous."""


def compute_view_strides(shape: Axes, strides: Axes, target: Axes) -> tuple[int, ...] | StrideConflict:
    """Return the strides of a view of shape `target`, or a stride conflict.

    Both shapes have the same nonzero element count. Source: at::detail::computeStride.

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

    A dim of 1 is in the run of the next dim, whatever its stride.
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


def is_contiguous(shape: Shape, strides: Shape) -> bool:
    """Return whether a tensor is contiguous in C order.

    The strides of dims of 1 are ignored.
    """
    return _is_stored_in_order(shape, strides, range(len(shape)))


def _is_stored_in_order(shape: Shape, strides: Shape, order: Sequence[int]) -> bool:
    """Return whether a tensor is dense and its axes are stored in `order`.

    `order` starts with the outermost axis.
    """
    expected = strides_in_order(shape, order)
    return 0 in shape or all(
        dim == 1 or stride == dense for dim, stride, dense in zip(shape, strides, expected, strict=True)
    )


def strides_in_order(shape: Shape, order: Sequence[int]) -> Shape:
    """Return the strides of a dense tensor with axes stored in `order`.

    `order` starts with the outermost axis.

    >>> strides_in_order((2, 3, 4, 5), CHANNELS_LAST_ORDERS[4])
    (60, 1, 15, 3)
    """
    strides: list[Dim] = [1] * len(shape)
    stride: Dim = 1
    for axis in reversed(order):
        strides[axis] = stride
        stride = stride if shape[axis] == 0 else product((stride, shape[axis]))
    return tuple(strides)


def compute_elementwise_strides(shape: Shape, operands: Sequence[StridedShape]) -> Shape | None:
    """Return the strides of the result of an elementwise op.

    Returns None if the strides depend on unknown sizes. `shape` is the shape of the result. A number is an operand
    without dims. The strides of the operands determine the order of the result's axes. Source: TensorIterator.

    >>> compute_elementwise_strides((2, 3), [((2, 3), (1, 2))]), compute_elementwise_strides((2, 3), [((2, 3), (6, 2))])
    ((1, 2), (3, 1))
    """
    try:
        return _compute_elementwise_strides(shape, operands)
    except Undecided:
        return None


def _compute_elementwise_strides(shape: Shape, operands: Sequence[StridedShape]) -> Shape:
    if all(dims == shape for dims, _ in operands):
        if all(is_contiguous(*operand) for operand in operands):
            return contiguous_strides(shape)
        if len(shape) == 4 and all(_is_stored_in_order(*operand, CHANNELS_LAST_ORDERS[4]) for operand in operands):
            return strides_in_order(shape, CHANNELS_LAST_ORDERS[4])
        if len({strides for _, strides in operands}) == 1 and _is_dense(*operands[0]):
            return operands[0][1]
    aligned = [_broadcast_strides(shape, *operand) for operand in operands]
    return strides_in_order(shape, _iteration_order(shape, aligned)[::-1])


def _broadcast_strides(shape: Shape, dims: Shape, strides: Shape) -> Shape:
    """Return the strides of an operand after broadcasting to `shape`.

    The stride is 0 along each axis that is broadcast.
    """
    missing = len(shape) - len(dims)
    triples = zip(dims, strides, shape[missing:], strict=True)
    return (0,) * missing + tuple([0 if dim == 1 and size != 1 else stride for dim, stride, size in triples])


def _iteration_order(shape: Shape, operands: Sequence[Shape]) -> list[int]:
    """Return the axes in iteration order, from the innermost to the outermost.

    The initial order is C order. Two axes are exchanged if the strides of an operand require it. `operands` are the
    broadcast strides of the operands. The algorithm must be an insertion sort as in PyTorch, because the comparison is
    not a total order.
    """

    def compare_axes(axis: int, other: int) -> int:
        """Return 1 if `axis` is outer, -1 if `axis` is inner, and 0 if undetermined."""
        for strides in operands:
            if strides[axis] == 0 or strides[other] == 0:
                continue
            sign = _compare_dims(strides[axis], strides[other])
            if sign or (sign := _compare_dims(shape[axis], shape[other])) > 0:
                return sign
        return 0

    order = [*range(len(shape))][::-1]
    for start in range(1, len(shape)):
        position = start
        for other in reversed(range(start)):
            sign = compare_axes(order[other], order[position])
            if sign < 0:
                break
            if sign > 0:
                order[other], order[position] = order[position], order[other]
                position = other
    return order


def _compare_dims(left: Dim, right: Dim) -> int:
    """Return the sign of `left - right`.

    All named sizes are assumed to be greater than 1. Raises `Undecided` if the sign depends on the sizes.
    """
    if isinstance(left, int) and isinstance(right, int):
        return (left > right) - (left < right)
    if left == right:
        return 0
    if 0 in (left, right):
        return 1 if right == 0 else -1
    for sign, ratio in ((1, quotient(left, right)), (-1, quotient(right, left))):
        if not isinstance(ratio, Monomial) or is_at_least_one(ratio):
            return sign
    raise Undecided


def _is_dense(shape: Shape, strides: Shape) -> bool:
    """Return whether a tensor has neither gaps nor overlaps in memory.

    Source: TensorImpl::compute_non_overlapping_and_dense.
    """
    axes = [axis for axis, dim in enumerate(shape) if dim != 1]
    expected: Dim = 1
    while axes and 0 not in shape:
        axis = next((axis for axis in axes if strides[axis] == expected), None)
        if axis is None:
            return False
        axes.remove(axis)
        expected = product((expected, shape[axis]))
    return True


def compute_clone_strides(shape: Shape, strides: Shape) -> Shape | None:
    """Return the strides of a copy that keeps the storage order of the axes.

    Source: PyTorch's `clone`.
    """
    return (
        strides
        if _is_dense(shape, strides) and 0 not in shape
        else compute_elementwise_strides(shape, [(shape, strides)])
    )


def suggests_channels_last(shape: Shape, strides: Shape) -> bool:
    """Return whether PyTorch treats a tensor as channels-last.

    Such a tensor need not be dense. Source: is_channels_last_strides_2d_s4 and is_channels_last_strides_3d_s5 in
    c10/core/MemoryFormat.h.
    """
    order = CHANNELS_LAST_ORDERS.get(len(shape), ())
    least: Dim = 0
    if not order or strides[1] == 0 or 0 in shape:
        return False
    for axis in reversed(order):
        try:
            if _compare_dims(strides[axis], least) < 0 or (axis == 0 and least == strides[1]):
                return False
        except Undecided:
            return False
        least = strides[axis] if shape[axis] == 1 else product((strides[axis], shape[axis]))
    return True


def compute_format_strides(shape: Shape, memory_format: str) -> Shape:
    """Return the strides of a new tensor in a memory format."""
    is_last = memory_format.startswith("channels_last")
    return strides_in_order(shape, CHANNELS_LAST_ORDERS[len(shape)]) if is_last else contiguous_strides(shape)


def has_memory_format(shape: Shape, strides: Shape, memory_format: str) -> bool:
    """Return whether a tensor is dense in a memory format.

    If so, PyTorch's `contiguous` returns the tensor without a copy.
    """
    is_last = memory_format.startswith("channels_last")
    return _is_stored_in_order(shape, strides, CHANNELS_LAST_ORDERS[len(shape)] if is_last else range(len(shape)))


def compute_suggested_strides(shape: Shape, tensors: Iterable[StridedShape]) -> Shape:
    """Return the strides of a new tensor in the memory format that PyTorch suggests.

    The new tensor is channels-last if all `tensors` are channels-last. Otherwise, it is contiguous in C order.
    """
    is_last = len(shape) in CHANNELS_LAST_ORDERS and all(suggests_channels_last(*tensor) for tensor in tensors)
    return strides_in_order(shape, CHANNELS_LAST_ORDERS[len(shape)]) if is_last else contiguous_strides(shape)


def compute_expand_strides(shape: Shape, strides: Shape, target: Shape) -> Shape:
    """Return the strides of a tensor that is expanded to `target`.

    Source: inferExpandGeometry.

    >>> compute_expand_strides((3, 1), (1, 1), (2, 3, 4))
    (0, 1, 0)
    """
    missing = len(target) - len(shape)
    result = list[Dim]()
    for axis in reversed(range(len(target))):
        stride = (
            strides[axis - missing]
            if axis >= missing
            else product((target[axis + 1], result[-1]))
            if axis + 1 < len(target)
            else 1
        )
        dim = shape[axis - missing] if axis >= missing else 1
        result.append(0 if dim == 1 and target[axis] != 1 else stride)
    return tuple(result[::-1])


def strides_after_move(shape: Shape, strides: Shape, move: Move, assumptions: Assumptions) -> Shape | None:
    """Return the strides of the view after a move, or None if a copy may be necessary.

    `assumptions` describe the symbolic dims.

    >>> strides_after_move((3, 4), (1, 3), Permute((1, 0)), Assumptions())
    (3, 1)
    """
    if isinstance(move, (Roll, Take, ShapeVector)):
        return None
    dropped_dim = 1 if isinstance(move, Reshape) else None  # only a reshape can change the stride of a dim of 1
    pairs = zip(shape, strides, strict=True)
    view = View(tuple([() if dim == dropped_dim else (Atom(dim, stride),) for dim, stride in pairs]))
    merged = [merge_atoms(atoms) for atoms in view.apply_move(move, shape, assumptions).axes]
    if any(len(atoms) > 1 or atoms[0].base for atoms in merged if atoms):
        return None
    return tuple([atoms[0].stride if atoms else 1 for atoms in merged])


def strides_after_traces(traces: Iterable[Trace]) -> Shape | None:
    """Return the output strides of consecutive traces.

    Returns None if the output is contiguous or its strides are unknown. The request of the first trace may contain the
    strides of the input; otherwise, the input is contiguous.
    """
    strides: Shape | None = None
    for trace in traces:
        strides = trace.request.arguments.get("strides") or strides or contiguous_strides(trace.input)
        strides = strides_after_trace(trace, strides)
        if strides and is_contiguous(trace.output or (), strides):
            strides = None
    return strides


def strides_after_trace(trace: Trace, strides: Shape | None, operand_strides: Sequence[Shape] = ()) -> Shape | None:
    """Return the output strides of a trace, or None if they are unknown.

    `strides` are the strides of the input, or None if they are unknown. `operand_strides` are the strides of the other
    operands; by default, these operands are contiguous. In dialects without strides, all tensors are contiguous.
    """
    output = trace.output or ()
    if trace.dialect not in STRIDED_DIALECTS or 0 in output:
        return contiguous_strides(output)
    rule = RESULT_STRIDES.get(trace.op)
    if strides is None:
        return contiguous_strides(output) if rule is _compute_contiguous_result_strides else None
    if rule:
        return rule(trace, strides, operand_strides)
    assumptions = Assumptions(trace.request.dims)
    for stage in trace.stages:
        if 0 in stage.before:
            return contiguous_strides(output)
        result = _strides_after_stage(stage, strides, assumptions)
        if result is None:
            return None
        strides = result
    return strides


def _strides_after_stage(stage: Stage, strides: Shape, assumptions: Assumptions) -> Shape | None:
    shape, move = stage.before, stage.move
    if isinstance(move, Permute):
        return tuple([strides[axis] for axis in move.axes])
    if stage.kind is StageKind.SQUEEZE:
        dropped = [step.sources[0] for step in stage.steps if step.rule is DROPPED_ONE]
        return tuple([stride for axis, stride in enumerate(strides) if axis not in dropped])
    if stage.kind is StageKind.UNSQUEEZE:
        return _compute_unsqueeze_strides(stage, strides)
    if isinstance(move, Reshape):
        return _compute_reshape_strides(shape, strides, move, assumptions)
    if isinstance(move, Expand):
        return compute_expand_strides(shape, strides, move.shape)
    if isinstance(move, StridedSlice):
        kept = zip(strides, move.axis_ranges, strict=True)
        return tuple([product((stride, step)) for stride, (_, step, size) in kept if size is not None])
    if isinstance(move, Roll):
        return _compute_roll_strides(shape, strides, move)
    return contiguous_strides(stage.after or ())


def _compute_unsqueeze_strides(stage: Stage, strides: Shape) -> Shape:
    """Return the strides after dims of 1 are inserted one by one.

    Source: inferUnsqueezeGeometry.
    """
    kept = {step.out: step.sources[0] for step in stage.steps if step.out is not None and step.sources}
    after = stage.after or ()
    result = list[Dim]()
    for axis in reversed(range(len(after))):
        inner = product((after[axis + 1], result[-1])) if axis + 1 < len(after) else 1
        result.append(strides[kept[axis]] if axis in kept else inner)
    return tuple(result[::-1])


def _compute_reshape_strides(shape: Shape, strides: Shape, move: Reshape, assumptions: Assumptions) -> Shape:
    """Return the strides after a reshape.

    The result is a view if possible. Otherwise, it is a copy in C order.
    """
    if is_concrete((*shape, *strides, *move.shape)):
        result = compute_view_strides(numeric_dims(shape), numeric_dims(strides), numeric_dims(move.shape))
        return contiguous_strides(move.shape) if isinstance(result, StrideConflict) else result
    return strides_after_move(shape, strides, move, assumptions) or contiguous_strides(move.shape)


def _compute_roll_strides(shape: Shape, strides: Shape, move: Roll) -> Shape:
    """Return the strides after a roll.

    PyTorch implements a roll as a concatenation of two parts of the axis.
    """
    size = shape[move.axis]
    lengths = [length for _, length in move.segments(size)] if isinstance(size, int) else [size]
    return compute_suggested_strides(
        shape, [((*shape[: move.axis], length, *shape[move.axis + 1 :]), strides) for length in lengths]
    )


def _operand_strided_shapes(trace: Trace, strides: Shape, operand_strides: Sequence[Shape]) -> list[StridedShape]:
    """Return the shapes and strides of all operands of the last stage."""
    (move,) = [stage.move for stage in trace.stages[-1:]]
    assert isinstance(move, Combine)
    others = move.operands[1:]
    return [(trace.input, strides), *zip(others, operand_strides or map(contiguous_strides, others), strict=True)]


def _compute_concat_strides(trace: Trace, strides: Shape, operand_strides: Sequence[Shape]) -> Shape:
    return compute_suggested_strides(trace.output or (), _operand_strided_shapes(trace, strides, operand_strides))


def _compute_stack_strides(trace: Trace, strides: Shape, operand_strides: Sequence[Shape]) -> Shape:
    """Return the strides after a stack.

    PyTorch concatenates the operands, and then splits the axis.
    """
    output = trace.output or ()
    rank, tensors = len(output), _operand_strided_shapes(trace, strides, operand_strides)
    axis = trace.request.arguments.get("axis", 0) % rank
    if axis == rank - 1:
        return compute_suggested_strides(output, [((*dims, 1), (*own, 1)) for dims, own in tensors])
    joined = (*output[:axis], product(output[axis : axis + 2]), *output[axis + 2 :])
    result = compute_suggested_strides(joined, tensors)
    return (*result[:axis], product((output[axis + 1], result[axis])), *result[axis:])


def _compute_pool_strides(trace: Trace, strides: Shape, _: Sequence[Shape]) -> Shape:
    """Return the strides after a pool.

    PyTorch computes a pool along one axis as a pool along two axes, the first of which has size 1. max_pool1d is an
    exception. Of the pools along three axes, only max_pool3d keeps the channels-last format.
    """
    shape, output = trace.input, trace.output or ()
    is_plain_max = trace.request.arguments.get("kind") != "average" and isinstance(
        trace.request.arguments.get("kernel"), (int, tuple)
    )
    if len(shape) == 3 and not is_plain_max:
        wide, wide_strides = (*shape[:2], 1, shape[2]), (*strides[:2], product((shape[2], strides[2])), strides[2])
        result = compute_suggested_strides((*output[:2], 1, output[2]), [(wide, wide_strides)])
        return (*result[:2], result[3])
    if len(shape) == 5 and not is_plain_max:
        return contiguous_strides(output)
    return _compute_suggested_result_strides(trace, strides, ())


def _compute_einsum_strides(trace: Trace, _: Shape, __: Sequence[Shape]) -> Shape | None:
    """Return the strides after a batched product, such as `bhid,bhjd->bhij`.

    Returns None for other patterns. The output must contain the batch dims, followed by the dims of one operand,
    followed by the dims of the other. The output is in C order. Source: at::einsum, which permutes the result of `bmm`;
    measured.
    """
    output = trace.output or ()
    (move,) = [stage.move for stage in trace.stages[-1:]]
    assert isinstance(move, Combine)
    if sum(dim != 1 for dim in output) < 2:
        return contiguous_strides(output)
    kept = [axis for axes in move.sources for axis in axes]
    is_summed = any((0, axis) not in kept and dim != 1 for axis, dim in enumerate(move.operands[0]))
    owners = ["".join(sorted({str(number) for number, _ in axes})) for axes in move.sources]
    blocks = [owner for index, owner in enumerate(owners) if owners[index - 1 : index] != [owner]]
    is_product = len(move.operands) == 2 and is_summed and "01" not in blocks[1:] and len({*blocks}) == len(blocks)
    is_swapped = blocks[-2:] == ["1", "0"]  # the order is undetermined if a dim is 1, because its stride is arbitrary
    has_ones = any(dim == 1 for operand in move.operands for dim in operand)
    return contiguous_strides(output) if is_product and not (is_swapped and has_ones) else None


def _compute_pad_strides(trace: Trace, strides: Shape, operand_strides: Sequence[Shape]) -> Shape | None:
    """Return the strides after a pad.

    PyTorch clones the input if the pad adds no elements.
    """
    pads = [stage.move for stage in trace.stages if isinstance(stage.move, Pad)]
    if all(width <= 0 for pad in pads for width in (*pad.begins, *pad.ends)):
        return compute_clone_strides(trace.output or (), strides)
    return _compute_suggested_result_strides(trace, strides, operand_strides)


def _compute_suggested_result_strides(trace: Trace, strides: Shape, _: Sequence[Shape]) -> Shape:
    return compute_suggested_strides(trace.output or (), [(trace.input, strides)])


def _compute_contiguous_result_strides(trace: Trace, _: Shape, __: Sequence[Shape]) -> Shape:
    return contiguous_strides(trace.output or ())


def _compute_clone_result_strides(trace: Trace, strides: Shape, _: Sequence[Shape]) -> Shape | None:
    return compute_clone_strides(trace.output or (), strides)


def _compute_broadcast_result_strides(trace: Trace, strides: Shape, operand_strides: Sequence[Shape]) -> Shape | None:
    return compute_elementwise_strides(trace.output or (), _operand_strided_shapes(trace, strides, operand_strides))


STRIDED_DIALECTS = frozenset({"torch"})
"""The dialects with strides. In all other dialects, tensors are contiguous."""
RESULT_STRIDES: Mapping[str, Callable[[Trace, Shape, Sequence[Shape]], Shape | None]] = {
    **dict.fromkeys(("tile", "repeat_interleave", "take", "matmul", "linear"), _compute_contiguous_result_strides),
    **dict.fromkeys(("conv", "upsample", "depth_to_space", "space_to_depth"), _compute_suggested_result_strides),
    "einsum": _compute_einsum_strides,
    "flip": _compute_clone_result_strides,
    "pad": _compute_pad_strides,
    "pool": _compute_pool_strides,
    "concat": _compute_concat_strides,
    "stack": _compute_stack_strides,
    "broadcast": _compute_broadcast_result_strides,
}
"""For each op that copies in PyTorch, a function that computes the strides of the result.

All other ops return views if possible.
"""

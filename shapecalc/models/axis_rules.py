"""Axis rules: for each operator, the output axis that corresponds to an input axis.

An operator is pointwise along an axis if each output element depends only on input elements at the same index along the
axis. Source: the ONNX operator documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from shapecalc.models.batch_axis import LaneNode

MIXES = -1
"""The result of an axis rule if an output element combines elements at several indices along the input axis."""
AxisRule = Callable[[LaneNode, int, int, int], int | None]
"""A function that returns the output axis for a node, an input index, an input axis and an output index.

An element at index `i` of the output axis depends only on elements at index `i` of the input axis. The function returns
`MIXES` if an output element combines several indices along the input axis, or depends on the index itself. It returns
None if the dependence is unknown.
"""


def broadcast_axis_rule(node: LaneNode, input_index: int, axis: int, output_index: int) -> int | None:
    """Return the output axis of a broadcast, which aligns axes from the right."""
    return axis + node.output_rank(output_index) - node.input_rank(input_index)


def make_pointwise_rule(*axes: int, inputs: int | None = None) -> AxisRule:
    """Return the axis rule of an operator that is pointwise along the axes `axes`.

    The rule applies to the first `inputs` inputs; None means all inputs.
    """

    def rule(_node: LaneNode, input_index: int, axis: int, _output_index: int) -> int | None:
        return axis if axis in axes and (inputs is None or input_index < inputs) else None

    return rule


def make_packed_attention_rule(mask: int, past: int, bias: int | None = None) -> AxisRule:
    """Return the axis rule of attention with query, key and value in one weight matrix.

    `mask`, `past` and `bias` are the input indices of the mask, the past keys and values, and the attention bias. The
    past and the second output have the batch on axis 1. Source: ContribOperators.md of ONNX Runtime.
    """
    batch_axes = {0: 0, mask: 0, past: 1, bias: 0}

    def rule(_node: LaneNode, input_index: int, axis: int, output_index: int) -> int | None:
        return output_index if batch_axes.get(input_index) == axis else None

    return rule


def make_first_input_pointwise_rule(*axes: int) -> AxisRule:
    """Return the axis rule of an operator that is pointwise along axes of input 0."""
    return make_pointwise_rule(*axes, inputs=1)


def make_unmixed_axes_rule(mixed_axes: Callable[[LaneNode, int], Iterable[int] | None] | slice) -> AxisRule:
    """Return the axis rule of an operator that is pointwise except along some axes.

    Along a mixed axis, an output element depends on several indices. `mixed_axes` is a slice into the list of axes, or
    a function that maps a node and a rank to the mixed axes, or to None if they are unknown.
    """

    def rule(node: LaneNode, input_index: int, axis: int, _output_index: int) -> int | None:
        rank = node.input_rank(0)
        mixed = range(rank)[mixed_axes] if isinstance(mixed_axes, slice) else mixed_axes(node, rank)
        if input_index or mixed is None:
            return None
        return MIXES if axis in mixed else axis

    return rule


def make_index_dependent_rule(axes: slice) -> AxisRule:
    """Return the axis rule of an operator that depends on the index along some axes.

    For example, Trilu sets elements to 0 according to their index, so that equal samples have unequal outputs.
    """

    def rule(node: LaneNode, input_index: int, axis: int, _output_index: int) -> int | None:
        if input_index:
            return None
        return MIXES if axis in range(node.input_rank(0))[axes] else axis

    return rule


def axis_from_attribute(node: LaneNode, rank: int) -> Iterable[int]:
    """Return the axis in the attribute `axis`, by default the last axis."""
    return (node.axis_attribute(-1, rank),)


def trailing_axes(node: LaneNode, rank: int, default: int = -1) -> Iterable[int]:
    """Return the axes from the attribute `axis` to the last axis."""
    return range(node.axis_attribute(default, rank), rank)


def softmax_axes(node: LaneNode, rank: int) -> Iterable[int]:
    """Return the axes that a Softmax normalizes.

    Since opset 13, Softmax normalizes only the axis in the attribute `axis`; in earlier opsets, it also normalizes all
    later axes.
    """
    return axis_from_attribute(node, rank) if node.opset >= 13 else trailing_axes(node, rank, 1)


def axis_from_input(node: LaneNode, rank: int) -> Iterable[int] | None:
    """Return the axis in the second input, or None if the input is unknown."""
    along = node.integer_argument("axis", 1)
    return (along[0] % rank,) if along else None


def dft_axes(node: LaneNode, rank: int) -> Iterable[int] | None:
    """Return the axes that a DFT mixes.

    These are the transformed axis and the last axis, which holds the real and imaginary parts. The transformed axis is
    an attribute with the default 1 before opset 20, and an input with the default -2 since then.
    """
    if node.opset < 20:
        return node.axis_attribute(1, rank), rank - 1
    along = (-2,) if node.is_absent(2) else node.integer_argument("axis", 2)
    return (along[0] % rank, rank - 1) if along else None


def axes_from_attribute(node: LaneNode, rank: int) -> Iterable[int]:
    """Return the axes in the attribute `axes`, by default 0, 2 and 3."""
    return {axis % rank for axis in node.attributes.get("axes", (0, 2, 3))}


def reduction_axis_rule(node: LaneNode, input_index: int, axis: int, _output_index: int) -> int | None:
    """Return the output axis of a reduction, or `MIXES` for a reduced axis.

    The list of reduced axes is an attribute in older opsets and an input in newer opsets.
    """
    if input_index:
        return None
    axes, rank = node.integer_argument("axes", 1), node.input_rank(0)
    if axes is None and not ("axes" in node.attributes or node.is_absent(1)):
        return None
    if not axes:
        return axis if node.attributes.get("noop_with_empty_axes") else MIXES
    return _axis_after_reduction({reduced_axis % rank for reduced_axis in axes}, axis, node)


def argmax_axis_rule(node: LaneNode, _input_index: int, axis: int, _output_index: int) -> int | None:
    """Return the output axis of an ArgMax or ArgMin, or `MIXES` for a reduced axis."""
    return _axis_after_reduction({node.axis_attribute(0, node.input_rank(0))}, axis, node)


def _axis_after_reduction(reduced_axes: set[int], axis: int, node: LaneNode) -> int | None:
    """Return the output axis of a reduction over `reduced_axes`.

    Returns `MIXES` for a reduced axis.
    """
    if axis in reduced_axes:
        return MIXES
    return axis if node.attributes.get("keepdims", 1) else axis - sum(mixed_axis < axis for mixed_axis in reduced_axes)


def batch_norm_axis_rule(node: LaneNode, input_index: int, axis: int, output_index: int) -> int | None:
    """Return the output axis of a BatchNormalization.

    In training mode, the outputs depend on all samples.
    """
    if input_index == 0 and node.attributes.get("training_mode"):
        return MIXES if axis != 1 else None
    return axis if input_index == output_index == 0 else None


def make_matmul_rule(second_input: int = 1) -> AxisRule:
    """Return the axis rule of a matrix product `(..., m, k) @ (..., k, n)`.

    `second_input` is the input index of the second matrix. FusedMatMul may transpose the last two axes of each matrix.
    The rule returns None if the operator moves the leading axes (`transBatchA`, `transBatchB`).
    """

    def rule(node: LaneNode, input_index: int, axis: int, _output_index: int) -> int | None:
        if (
            input_index not in (0, second_input)
            or node.input_rank(input_index) == 1
            or _has_true_attribute(node, "transBatchA", "transBatchB")
        ):
            return None
        from_end = axis - node.input_rank(input_index)
        if from_end >= -2 and _has_true_attribute(node, "transB" if input_index else "transA"):
            from_end = -3 - from_end
        leading = max(2, node.input_rank(0), node.input_rank(second_input)) - 2
        if from_end < -2:
            return leading + 2 + from_end
        if from_end == (-1 if input_index == 0 else -2):
            return MIXES
        return leading if input_index == 0 else node.output_rank() - 1

    return rule


def _has_true_attribute(node: LaneNode, *names: str) -> bool:
    """Return whether one of the attributes `names` is nonzero."""
    return any(node.attributes.get(name) for name in names)


def make_gemm_rule(second_input: int = 1) -> AxisRule:
    """Return the axis rule of a Gemm.

    `second_input` is the input index of the second matrix. Output axis 0 is the row axis of the first matrix, output
    axis 1 the column axis of the second matrix. Input 2 of a Gemm is broadcast.
    """

    def rule(node: LaneNode, input_index: int, axis: int, output_index: int) -> int | None:
        if input_index not in (0, second_input):
            return broadcast_axis_rule(node, input_index, axis, output_index)
        position = int(input_index == second_input)
        is_transposed = bool(node.attributes.get("transB" if position else "transA", 0))
        return position if (axis ^ int(is_transposed)) == position else MIXES

    return rule


def make_conv_rule(kernel_input: int = 1) -> AxisRule:
    """Return the axis rule of a convolution.

    `kernel_input` is the input index of the kernel. The convolution is pointwise along the batch axis. Axis 0 of the
    kernel is the channel axis of the output.
    """

    def rule(node: LaneNode, input_index: int, axis: int, _output_index: int) -> int | None:
        if input_index == kernel_input and axis == 0:
            return 1
        if input_index or axis < 2:
            return 0 if input_index == axis == 0 else None
        kernel = node.inputs[kernel_input]
        return _window_axis(node, axis, kernel[axis]) if kernel is not None and axis < len(kernel) else None

    return rule


def pool_axis_rule(node: LaneNode, input_index: int, axis: int, _output_index: int) -> int | None:
    """Return the output axis of a pool, which is pointwise along the batch and the channels."""
    if input_index:
        return None
    return axis if axis < 2 else _window_axis(node, axis, node.attributes["kernel_shape"][axis - 2])


def _window_axis(node: LaneNode, axis: int, kernel: int) -> int | None:
    """Return a spatial axis if the windows along it do not overlap and are not padded, or None.

    `kernel` is the size of the kernel along the axis.
    """
    attributes, spatial = node.attributes, axis - 2
    count = node.input_rank(0) - 2
    pads, strides = attributes.get("pads", (0,) * 2 * count), attributes.get("strides", (1,) * count)
    dilation = attributes.get("dilations", (1,) * count)[spatial]
    is_padded = pads[spatial] or pads[spatial + count] or attributes.get("auto_pad", b"NOTSET") != b"NOTSET"
    return axis if not is_padded and dilation * (kernel - 1) + 1 <= strides[spatial] else None


def resize_axis_rule(node: LaneNode, input_index: int, axis: int, _output_index: int) -> int | None:
    """Return the output axis of a Resize, or None for a resized axis."""
    before, after = node.inputs[0], node.outputs[0]
    crops = node.attributes.get("coordinate_transformation_mode") == b"tf_crop_and_resize"
    return axis if input_index == 0 and before and after and before[axis] == after[axis] and not crops else None


def einsum_axis_rule(node: LaneNode, input_index: int, axis: int, _output_index: int) -> int | None:
    """Return the output axis that has the same letter in the equation of an Einsum."""
    equation = node.attributes.get("equation", b"").decode(errors="replace").replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if not arrow or "." in equation or input_index >= len(terms) or axis >= len(terms[input_index]):
        return None
    letter = terms[input_index][axis]
    if letter not in right:
        return MIXES
    return right.find(letter) if terms[input_index].count(letter) == right.count(letter) == 1 else None


def recurrent_axis_rule(node: LaneNode, input_index: int, axis: int, output_index: int) -> int | None:
    """Return the output axis of an LSTM, GRU or RNN for the batch axis of an input.

    The batch is the first axis if the attribute `layout` is 1. The operator mixes the other axes of the sequences.
    """
    first = bool(node.attributes.get("layout", 0))
    batch_axes = {0: 0 if first else 1, 4: 0, 5: 0 if first else 1, 6: 0 if first else 1}
    if batch_axes.get(input_index) != axis:
        return None if input_index else MIXES
    return 0 if first else 2 if output_index == 0 else 1


def one_hot_axis_rule(node: LaneNode, input_index: int, axis: int, _output_index: int) -> int | None:
    """Return the output axis of a OneHot for an axis of its indices.

    The output has one more axis than the indices.
    """
    return None if input_index else axis + (axis >= node.axis_attribute(-1, node.output_rank()))


def gather_elements_axis_rule(node: LaneNode, input_index: int, axis: int, _output_index: int) -> int | None:
    """Return the output axis of a GatherElements.

    The output has the shape of the indices (input 1).
    """
    return axis if input_index == 1 or axis != node.axis_attribute(0, node.input_rank(0)) else None


def reverse_sequence_axis_rule(node: LaneNode, input_index: int, axis: int, _output_index: int) -> int | None:
    """Return the output axis of a ReverseSequence, or `MIXES` for the time axis."""
    batch_axis: int = node.attributes.get("batch_axis", 1)
    if input_index:
        return batch_axis
    return axis if axis != node.attributes.get("time_axis", 0) else MIXES


def transpose_axis_rule(node: LaneNode, _input_index: int, axis: int, _output_index: int) -> int | None:
    """Return the output axis of a Transpose."""
    perm = node.attributes.get("perm", tuple(range(node.input_rank(0)))[::-1])
    return perm.index(axis) if axis in perm else None

"""Find fixes of nodes that are not listed, and whose constants contain the declared batch size."""

from __future__ import annotations

from collections.abc import Sequence

from shapecalc.core.dims import IntTuple
from shapecalc.models.batch_axis import BatchAxis, BatchMark, LaneShapes
from shapecalc.models.file import Node
from shapecalc.models.verdicts import NodeFix
from shapecalc.models.walk_state import WalkState, is_same_in_all_lanes

RESIZE_SIZES_INPUT = 3
"""The index of the input `sizes` of a Resize. Source: the ONNX operator Resize, since opset 11."""
RESIZE_AXES_SINCE = 18
"""The first opset in which Resize has the attribute `axes`."""


def find_resize_fix(
    node: Node, walk: WalkState, marks: Sequence[BatchMark], declared_batch: int
) -> tuple[NodeFix, IntTuple, LaneShapes] | None:
    """Return the fix of a Resize with constant sizes, the old sizes, and the fixed output shapes.

    `marks` are the batch marks of the data. The fix resizes only the axes that change, so that the batch keeps its
    size. Returns None for other operators and sizes, and for a Resize that uses a region or keeps the aspect ratio.
    """
    values = walk.elements_of(node.inputs[RESIZE_SIZES_INPUT]) if len(node.inputs) > RESIZE_SIZES_INPUT else None
    mark = next((mark for mark in marks if isinstance(mark, BatchAxis)), None)
    shapes = walk.shapes_of(node.inputs[0])
    if node.op != "Resize" or node.domain or values is None or mark is None or not is_same_in_all_lanes(values):
        return None
    if node.attributes.get("keep_aspect_ratio_policy", b"stretch") != b"stretch":
        return None
    if node.attributes.get("coordinate_transformation_mode") == b"tf_crop_and_resize":
        return None
    before, sizes = shapes[0] or (), tuple(values[0].ravel().tolist())
    axes = tuple([axis % len(before) for axis in node.attributes.get("axes", range(len(before)))])
    by_axis = dict(zip(axes, sizes, strict=False))
    if walk.has_unknown(shapes) or len(axes) != len(sizes) or by_axis.get(mark.axis) != declared_batch * mark.inner:
        return None
    kept = tuple([axis for axis in axes if axis > mark.axis and (by_axis[axis] != before[axis] or axis > 1)])
    if mark.axis or not kept or any(by_axis[axis] != before[axis] for axis in axes if axis not in (mark.axis, *kept)):
        return None
    new_sizes = {axis: by_axis[axis] for axis in kept}
    fixed = [shape and tuple([new_sizes.get(axis, size) for axis, size in enumerate(shape)]) for shape in shapes]
    inserts = () if node.opset >= RESIZE_AXES_SINCE else ("Shape", "Gather", "Concat")
    fix = NodeFix(None, None, "", "resizes the other axes", inserts, resize=(kept, tuple(new_sizes.values())))
    return fix, sizes, tuple(fixed)

"""Index a tensor with arrays and masks.

Sources: "Advanced indexing" of NumPy, and `python_variable_indexing.cpp` of PyTorch.
"""

from __future__ import annotations

from collections.abc import Sequence

from shapecalc.core.conditions import Conditions
from shapecalc.core.dims import Shape
from shapecalc.core.layout import contiguous_strides
from shapecalc.core.ops.broadcast import BROADCAST
from shapecalc.core.ops.strides import is_contiguous
from shapecalc.core.record import Record, replace
from shapecalc.core.rules import ELEMENT_KIND, LAYER_MISMATCH
from shapecalc.core.text import shape_text
from shapecalc.reading.code.arithmetic import index_tensor
from shapecalc.reading.code.kind_checks import range_conditions
from shapecalc.reading.code.kinds import format_kinds
from shapecalc.reading.code.operands import apply_multi_operand
from shapecalc.reading.code.values import (
    AnswerableError,
    CheckRefused,
    CodeValue,
    ErrorFactory,
    TracedTensor,
    attach_conditions,
    derived_tensor,
    index_count_error,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias


class IndexArray(Record):
    """An integer array in an index.

    A boolean mask is converted to one index array per axis of the mask.
    """

    tensor: TracedTensor


IndexItem: TypeAlias = "CodeValue | IndexArray"


def has_arrays(items: Sequence[IndexItem]) -> bool:
    """Return whether an index contains arrays."""
    return any(isinstance(item, TracedTensor | IndexArray) for item in items)


def index_with_arrays(tensor: TracedTensor, items: Sequence[IndexItem], error: ErrorFactory) -> TracedTensor:
    """Index a tensor with arrays.

    Raises `ShapeError` (usage) if it is unknown whether an array is a mask.
    """
    expanded = _split_masks(_expand_ellipsis(items, tensor, error), tensor, error)
    if tensor.conventions.broadcasts_integers:  # an integer next to arrays is treated as an array of rank 0
        expanded = [
            IndexArray(derived_tensor((), tensor)) if isinstance(item, int) and not isinstance(item, bool) else item
            for item in expanded
        ]
    plain = tuple([slice(None) if isinstance(item, IndexArray) else item for item in expanded])
    sliced = index_tensor(tensor, plain, error)
    kept = [item for item in expanded if not isinstance(item, int)]
    array_positions = [position for position, item in enumerate(kept) if isinstance(item, IndexArray)]
    arrays = [item.tensor for item in kept if isinstance(item, IndexArray)]
    common = apply_multi_operand(BROADCAST, arrays, error) if len(arrays) > 1 else arrays[0]
    others = [dim for position, dim in enumerate(sliced.shape) if position not in array_positions]
    is_adjacent = array_positions == [*range(array_positions[0], array_positions[-1] + 1)]
    start = array_positions[0] if is_adjacent else 0
    result = derived_tensor((*others[:start], *common.shape, *others[start:]), sliced, *arrays)
    if tensor.conventions.is_strided:
        result = replace(result, strides=_index_strides(sliced, arrays, array_positions, result.shape))
    result = replace(result, kinds=tensor.kinds)
    return attach_conditions(result, _index_conditions(expanded, tensor, result, error))


def _index_strides(
    sliced: TracedTensor, arrays: Sequence[TracedTensor], array_positions: Sequence[int], shape: Shape
) -> Shape | None:
    """Return the strides of the result of indexing with arrays, or None if they are unknown.

    PyTorch returns a view if all arrays are scalars, and otherwise a new tensor. The new tensor is contiguous if the
    arrays are contiguous, and the tensor is contiguous or the strides of its other axes do not ascend.
    """
    if sliced.strides is None:
        return None
    kept = [axis for axis in range(sliced.rank) if axis not in array_positions]
    if all(array.rank == 0 for array in arrays):
        return tuple([sliced.strides[axis] for axis in kept])
    if any(array.strides is None or not is_contiguous(array.shape, array.strides) for array in arrays):
        return None
    steps = [sliced.strides[axis] for axis in kept if sliced.shape[axis] != 1]
    numbers = [step for step in steps if isinstance(step, int)]
    is_ordered = len(numbers) == len(steps) and numbers == sorted(numbers, reverse=True)
    if not is_ordered and not is_contiguous(sliced.shape, sliced.strides):
        return None
    return contiguous_strides(shape)


def _expand_ellipsis(items: Sequence[IndexItem], tensor: TracedTensor, error: ErrorFactory) -> list[IndexItem]:
    """Replace `...` and omitted axes in an index with full slices."""
    count = sum(_count_consumed_axes(item, tensor, error) for item in items)
    gaps = [position for position, item in enumerate(items) if item is Ellipsis]
    if count > tensor.rank or len(gaps) > 1:
        raise index_count_error(count, tensor.rank, error)
    gap = gaps[0] if gaps else len(items)
    return [*items[:gap], *[slice(None)] * (tensor.rank - count), *items[gap + 1 :]]


def _count_consumed_axes(item: IndexItem, tensor: TracedTensor, error: ErrorFactory) -> int:
    """Return the number of axes that an index item consumes."""
    if item is None or item is Ellipsis:
        return 0
    return item.rank if isinstance(item, TracedTensor) and _is_mask(item, tensor, error) else 1


def _is_mask(item: TracedTensor, tensor: TracedTensor, error: ErrorFactory) -> bool:
    """Return whether an index array is boolean.

    Raises `ShapeError` (usage) if this is unknown.
    """
    if "b" not in item.kinds or item.kinds == "b":
        return item.kinds == "b"
    windows = [tensor.shape[start : start + item.rank] for start in range(tensor.rank - item.rank + 1)]
    if not item.rank or not any(map(_may_be_equal, windows, [item.shape] * len(windows))):
        return False
    unknown = error("whether this index is a mask is not known", "write .bool() or .long() behind it")
    raise AnswerableError(unknown.problem)


def _may_be_equal(one: Shape, other: Shape) -> bool:
    """Return whether two shapes of equal rank may be equal for some symbolic sizes."""
    return all(
        left == right or not (isinstance(left, int) and isinstance(right, int))
        for left, right in zip(one, other, strict=True)
    )


def _split_masks(items: Sequence[IndexItem], tensor: TracedTensor, error: ErrorFactory) -> list[IndexItem]:
    """Replace each mask in an index with one index array per axis of the mask."""
    result, axis = list[IndexItem](), 0
    for item in items:
        if not isinstance(item, TracedTensor):
            result.append(item)
            axis += item is not None
            continue
        if not {*item.kinds} & {*"bi"}:
            message = f"an index is bool or integer, and this one is {format_kinds(item.kinds)}"
            raise CheckRefused(error(message), ELEMENT_KIND)
        if not _is_mask(item, tensor, error):
            result.append(IndexArray(item))
            axis += 1
            continue
        if not item.rank:
            raise error("a mask without dims is not supported")
        if not _may_be_equal(tensor.shape[axis : axis + item.rank], item.shape):
            message = f"a mask {shape_text(item.shape)} does not fit {shape_text(tensor.shape)}"
            raise CheckRefused(error(message), LAYER_MISMATCH)
        positions = derived_tensor((tensor.program.new_name("K"),), item)
        result += [IndexArray(positions)] * item.rank
        axis += item.rank
    return result


def _index_conditions(
    expanded: Sequence[IndexItem], tensor: TracedTensor, result: TracedTensor, error: ErrorFactory
) -> Conditions:
    """Return the conditions under which known elements of index arrays are in range.

    If the result is empty, PyTorch checks only scalar indices and the indices along an axis of size 0.
    """
    conditions: Conditions = ()
    axis = 0
    for item in expanded:
        is_unread = isinstance(item, IndexArray) and item.tensor.rank and 0 in result.shape and tensor.shape[axis] != 0
        if isinstance(item, IndexArray) and not is_unread:
            conditions += range_conditions(item.tensor, tensor, axis, error, accepts_negative=True)
        axis += item is not None
    return conditions

"""Functions of a list of tensors, and functions that create index tensors."""

from __future__ import annotations

from collections.abc import Sequence

from shapecalc.core.dims import Shape, product
from shapecalc.core.ops.concat import CONCAT
from shapecalc.reading.code.arguments import Call
from shapecalc.reading.code.operands import apply_multi_operand
from shapecalc.reading.code.values import CodeValue, TracedTensor, derived_tensor


def apply_stack_function(name: str, tensors: Sequence[TracedTensor], call: Call) -> CodeValue:
    """Apply `hstack`, `vstack`, `dstack` or `column_stack`."""
    least = {"vstack": 2, "row_stack": 2, "dstack": 3}.get(name, 1)
    raised = [_pad_rank(tensor, 2 if name == "column_stack" and tensor.rank < 2 else least, name) for tensor in tensors]
    rank = max([part.rank for part in raised], default=1)
    axis = {"vstack": 0, "row_stack": 0, "dstack": 2, "column_stack": 1}.get(name, 0 if rank == 1 else 1)
    return apply_multi_operand(CONCAT, raised, call.error, axis=axis)


def _pad_rank(tensor: TracedTensor, least: int, name: str) -> TracedTensor:
    """Insert dims of size 1 until a tensor has at least `least` dims."""
    if tensor.rank >= least:
        return tensor
    if name == "column_stack":
        return tensor.reshape(product(tensor.shape), 1)
    shape = tensor.shape or (1,)
    shape = (1, *shape) if least > 1 and len(shape) == 1 else shape
    return tensor.reshape(*shape, *(1,) * (least - len(shape)))


def apply_meshgrid(tensors: Sequence[TracedTensor], call: Call) -> CodeValue:
    """Apply `meshgrid`."""
    vectors = [tensor for tensor in tensors if tensor.rank < 2]
    if len(vectors) < len(tensors) or not tensors:
        raise call.refusal("meshgrid takes vectors")
    default = "ij" if tensors[0].dialect == "torch" else "xy"
    indexing = call.keywords.get("indexing", default)
    dims = [product(tensor.shape) for tensor in tensors]
    if indexing == "xy" and len(dims) > 1:
        dims[:2] = dims[1::-1]
    return tuple([derived_tensor(tuple(dims), *tensors) for _ in tensors])


def triangle_indices_shape(call: Call) -> Shape:
    """Return the shape of `tril_indices` and `triu_indices`."""
    rows, columns, offset = [call.to_integer(value, 0) for value in call.bind_arguments("row", "col", "offset")]
    if max(rows, columns) > MAX_MATRIX:
        raise call.error("the matrix is too large")
    below = [min(columns, max(0, row + offset + 1)) for row in range(rows)]
    above = [columns - min(columns, max(0, row + offset)) for row in range(rows)]
    return 2, sum(below if call.name == "tril_indices" else above)


MAX_MATRIX = 1 << 16
"""The maximum number of rows and columns of a matrix whose cells are counted."""

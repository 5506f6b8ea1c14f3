"""Apply functions of a list of tensors, and functions that create index tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import pairwise

from shapecalc.core.dims import Dim, Shape, product
from shapecalc.core.ops.concat import CONCAT
from shapecalc.core.text import shape_text
from shapecalc.reading.code.arguments import Call
from shapecalc.reading.code.kind_checks import require_equal_kinds
from shapecalc.reading.code.logic import truth_value
from shapecalc.reading.code.operands import apply_multi_operand
from shapecalc.reading.code.shape_arguments import are_different_integers
from shapecalc.reading.code.values import CodeValue, TracedTensor, derived_tensor


def apply_stack_function(name: str, tensors: Sequence[TracedTensor], call: Call) -> CodeValue:
    """Apply `hstack`, `vstack`, `dstack` or `column_stack`."""
    min_rank = {"vstack": 2, "row_stack": 2, "dstack": 3}.get(name, 1)
    raised = [
        _pad_rank(tensor, 2 if name == "column_stack" and tensor.rank < 2 else min_rank, name) for tensor in tensors
    ]
    rank = max([part.rank for part in raised], default=1)
    axis = {"vstack": 0, "row_stack": 0, "dstack": 2, "column_stack": 1}.get(name, 0 if rank == 1 else 1)
    return apply_multi_operand(CONCAT, raised, call.error, axis=axis)


def _pad_rank(tensor: TracedTensor, min_rank: int, name: str) -> TracedTensor:
    """Insert dims of size 1 until a tensor has at least `min_rank` dims."""
    if tensor.rank >= min_rank:
        return tensor
    if name == "column_stack":
        return tensor.reshape(product(tensor.shape), 1)
    shape = tensor.shape or (1,)
    shape = (1, *shape) if min_rank > 1 and len(shape) == 1 else shape
    return tensor.reshape(*shape, *(1,) * (min_rank - len(shape)))


def _parse_pack_pattern(pattern: CodeValue, call: Call) -> tuple[int, int]:
    """Return the number of axes before and after the `*` in an einops `pack` pattern."""
    names = pattern.split() if isinstance(pattern, str) else []
    if names.count("*") != 1:
        raise call.error(f"{call.name} of einops takes a pattern with one *")
    return names.index("*"), len(names) - names.index("*") - 1


def pack_tensors(call: Call) -> CodeValue:
    """Apply einops' `pack`, and return the packed tensor and the packed shapes."""
    tensors, pattern = call.bind_arguments("tensors", "pattern")
    before, after = _parse_pack_pattern(pattern, call)
    parts = [part for part in tensors if isinstance(part, TracedTensor)] if isinstance(tensors, tuple) else []
    if not parts or len(parts) < len(tensors):  # type: ignore[arg-type]  # a tuple
        raise call.error("another tensor's shape is not known", "give all shapes: --input 'x=N,C w=C,D'")
    flat, shapes = list[TracedTensor](), list[CodeValue]()
    for part in parts:
        if part.rank < before + after:
            raise call.refusal(f"{shape_text(part.shape)} has fewer dims than the pattern {pattern!r}")
        end = part.rank - after
        shapes.append(part.shape[before:end])
        packed = (*part.shape[:before], product(part.shape[before:end]), *part.shape[end:])
        flat.append(part if packed == part.shape else part.reshape(*packed))
    joined = apply_multi_operand(CONCAT, flat, call.error, axis=before) if len(flat) > 1 else flat[0]
    return joined, tuple(shapes)


def unpack_tensor(call: Call) -> CodeValue:
    """Apply einops' `unpack`, and return its tensors."""
    tensor, shapes, pattern = call.bind_arguments("tensor", "packed_shapes", "pattern")
    before, after = _parse_pack_pattern(pattern, call)
    if not isinstance(tensor, TracedTensor) or not isinstance(shapes, tuple):
        raise call.error("the packed shapes are not known")
    if tensor.rank != before + after + 1:
        raise call.refusal(f"{shape_text(tensor.shape)} has not the dims of the pattern {pattern!r}")
    rows = [row if isinstance(row, tuple) else (row,) for row in shapes]
    dims = [tuple(map(call.to_dim, row)) for row in rows]
    if any(dim == -1 for row in dims for dim in row):
        if len(dims) > 1 or len(dims[0]) > 1:
            raise call.error("an unknown packed size is not supported")
        dims = [(tensor.shape[before],)]
    if sum_sizes([product(row) for row in dims], tensor) != tensor.shape[before]:
        raise call.refusal(f"the packed shapes do not fit {shape_text(tensor.shape)}")
    return tuple([derived_tensor((*tensor.shape[:before], *row, *tensor.shape[before + 1 :]), tensor) for row in dims])


def apply_pad_sequence(call: Call) -> CodeValue:
    """Apply `pad_sequence`: pad tensors to the length of the longest, and stack them."""
    tensors, batch_first, *_ = call.bind_arguments("sequences", "batch_first", "padding_value", "padding_side")
    parts = [part for part in tensors if isinstance(part, TracedTensor)] if isinstance(tensors, tuple) else []
    if not parts or len(parts) < len(tensors):  # type: ignore[arg-type]  # a tuple
        raise call.error("another tensor's shape is not known", "give all shapes: --input 'x=N,C w=C,D'")
    if any(not part.rank or not _can_broadcast(part.shape[1:], parts[0].shape[1:]) for part in parts):
        raise call.refusal("the sequences differ in more than their lengths")
    lengths = [part.shape[0] for part in parts]
    numbers = [length for length in lengths if isinstance(length, int)]
    is_same = all(length == lengths[0] for length in lengths)
    longest = (
        lengths[0] if is_same else max(numbers) if len(numbers) == len(lengths) else parts[0].program.new_name("K")
    )
    leading = (len(parts), longest) if truth_value(batch_first) else (longest, len(parts))
    return derived_tensor((*leading, *parts[0].shape[1:]), *parts)


def _can_broadcast(shape: Shape, target: Shape) -> bool:
    """Return whether a tensor may broadcast to a shape."""
    pairs = zip(shape[::-1], target[::-1], strict=False)
    return len(shape) <= len(target) and not any(own != 1 and are_different_integers(own, dim) for own, dim in pairs)


def sum_sizes(sizes: Sequence[Dim], tensor: TracedTensor) -> Dim:
    """Return the sum of sizes.

    A sum that is not a monomial gets a new name.
    """
    return reduce(tensor.program.add_dims, sizes)


def apply_meshgrid(tensors: Sequence[TracedTensor], call: Call) -> CodeValue:
    """Apply `meshgrid`."""
    vectors = [tensor for tensor in tensors if tensor.rank < 2]
    if len(vectors) < len(tensors) or not tensors:
        raise call.refusal("meshgrid takes vectors")
    indexing = call.keywords.get("indexing", tensors[0].conventions.meshgrid_indexing)
    dims = [product(tensor.shape) for tensor in tensors]
    if indexing == "xy" and len(dims) > 1:
        dims[:2] = dims[1::-1]
    return tuple([derived_tensor(tuple(dims), *tensors) for _ in tensors])


def _block_diagonal(tensors: Sequence[TracedTensor], call: Call) -> CodeValue:
    """Apply `block_diag`, which places matrices along the diagonal of a matrix."""
    if any(tensor.rank > 2 for tensor in tensors):
        raise call.refusal("it takes tensors of at most 2 dims")
    shapes = [(1,) * (2 - tensor.rank) + tensor.shape for tensor in tensors]
    dims = [sum_sizes([shape[axis] for shape in shapes], tensors[0]) for axis in (0, 1)]
    return derived_tensor(tuple(dims), *tensors)


def _cartesian_product(tensors: Sequence[TracedTensor], call: Call) -> CodeValue:
    """Apply `cartesian_prod`, which returns a row for each combination of the elements of vectors."""
    if any(tensor.rank != 1 for tensor in tensors):
        raise call.refusal("it takes vectors")
    count = product([tensor.shape[0] for tensor in tensors])
    return derived_tensor((count,) if len(tensors) == 1 else (count, len(tensors)), *tensors)


def _multiply_matrices(tensors: Sequence[TracedTensor], call: Call) -> CodeValue:
    """Apply `chain_matmul` or multi_dot.

    In multi_dot, the first and the last tensor may be vectors.
    """
    ranks, is_chain = [tensor.rank for tensor in tensors], call.name == "chain_matmul"
    ends = {2} if is_chain else {1, 2}
    if len(tensors) < 2 - is_chain or {*ranks[1:-1]} - {2} or {ranks[0], ranks[-1]} - ends:
        raise call.refusal("it takes two matrices or more")
    for left, right in pairwise(tensors):
        require_equal_kinds(left, right, call)
        if are_different_integers(left.shape[-1], right.shape[0]):
            raise call.refusal(f"{shape_text(left.shape)} and {shape_text(right.shape)} have no product")
    if len(tensors) == 1:
        return tensors[0]
    return derived_tensor((*tensors[0].shape[:-1], *tensors[-1].shape[1:]), *tensors)


TENSOR_LIST_FUNCTIONS: Mapping[str, Callable[[Sequence[TracedTensor], Call], CodeValue]] = {
    "block_diag": _block_diagonal,
    "cartesian_prod": _cartesian_product,
    "linalg.multi_dot": _multiply_matrices,
    "chain_matmul": _multiply_matrices,
}
"""Functions that combine a list of tensors into a new tensor, keyed by name."""


def triangle_indices_shape(call: Call) -> Shape:
    """Return the result shape of `tril_indices` or `triu_indices`."""
    rows, columns, offset = [call.to_integer(value, 0) for value in call.bind_arguments("row", "col", "offset")]
    if max(rows, columns) > MAX_MATRIX_SIZE:
        raise call.error("the matrix is too large")
    below = [min(columns, max(0, row + offset + 1)) for row in range(rows)]
    above = [columns - min(columns, max(0, row + offset)) for row in range(rows)]
    return 2, sum(below if call.name == "tril_indices" else above)


MAX_MATRIX_SIZE = 1 << 16
"""The maximum number of rows and columns of a matrix for which the triangle elements are counted."""

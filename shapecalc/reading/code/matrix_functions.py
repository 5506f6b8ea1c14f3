"""Compute the result shapes of PyTorch's matrix functions.

Sources: the documentation of `torch.linalg` and `torch` in PyTorch 2.13. `tests/engines/test_checks.py` compares each
function with PyTorch on random inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan

from shapecalc.core.dims import Dim, Shape
from shapecalc.core.ops.broadcast import BROADCAST
from shapecalc.core.ops.expand import EXPAND
from shapecalc.core.text import shape_text
from shapecalc.reading.code.arguments import Call
from shapecalc.reading.code.kind_checks import require_equal_kinds, require_kinds
from shapecalc.reading.code.logic import is_explicitly_false
from shapecalc.reading.code.operands import apply_multi_operand
from shapecalc.reading.code.shape_arguments import (
    BoundArguments,
    ResultFunction,
    are_different_integers,
    require_distinct_axes,
    require_flag,
    require_tensor,
)
from shapecalc.reading.code.values import CodeValue, TracedTensor, derived_tensor


def _require_matrix(tensor: TracedTensor, call: Call, *, is_square: bool = False) -> tuple[Dim, Dim]:
    """Return the numbers of rows and columns of a matrix, or of each matrix of a batch.

    Raises `CheckRefused` for a vector, for integers, or if the matrix must be square and is not.
    """
    require_kinds(tensor, "ifc" if call.name.endswith("matrix_power") else "fc", call, "its input")
    _require_two_dims(tensor, call)
    rows, columns = tensor.shape[-2:]
    if is_square and are_different_integers(rows, columns):
        raise call.refusal(f"it takes square matrices, not {rows},{columns}")
    return rows, columns


def _require_two_dims(tensor: TracedTensor, call: Call) -> None:
    """Raise `CheckRefused` for a scalar or a vector."""
    if tensor.rank < 2:
        raise call.refusal(f"it takes a matrix, and {shape_text(tensor.shape)} has {tensor.rank} dims")


def _smaller_size(rows: Dim, columns: Dim, call: Call) -> Dim:
    """Return the smaller of two sizes."""
    if isinstance(rows, int) and isinstance(columns, int):
        return min(rows, columns)
    if rows == columns:
        return rows
    raise call.error("the smaller of two named sizes is not known", "give sizes with --where")


def _determinant(tensor: TracedTensor, _: BoundArguments, call: Call) -> CodeValue:
    _require_matrix(tensor, call, is_square=True)
    result = derived_tensor(tensor.shape[:-2], tensor)
    return (result, result) if call.name.endswith("slogdet") else result


def _square_result(tensor: TracedTensor, _: BoundArguments, call: Call) -> CodeValue:
    """Return a matrix with the shape of the input.

    Some functions also return an error code for each matrix.
    """
    _require_matrix(tensor, call, is_square=True)
    result = derived_tensor(tensor.shape, tensor)
    return (result, derived_tensor(tensor.shape[:-2], tensor)) if call.name.endswith("_ex") else result


def _power(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    if isinstance(arguments["n"], float) and not isnan(arguments["n"]):
        raise call.refusal(f"the power is a whole number, not {arguments['n']}")
    return _square_result(tensor, arguments, call)


def _pseudo_inverse(tensor: TracedTensor, _: BoundArguments, call: Call) -> CodeValue:
    rows, columns = _require_matrix(tensor, call)
    return derived_tensor((*tensor.shape[:-2], columns, rows), tensor)


def _trace(tensor: TracedTensor, _: BoundArguments, call: Call) -> CodeValue:
    if tensor.rank != 2:
        raise call.refusal(f"it takes a matrix, and {shape_text(tensor.shape)} has {tensor.rank} dims")
    return derived_tensor((), tensor)


def _singular_value_decomposition(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Return U, the singular values and V, or only the singular values.

    The function in `torch` returns reduced matrices. The function in `torch.linalg` returns full matrices, with V
    transposed. With compute_uv=False, the function in `torch` returns full matrices of zeros.
    """
    rows, columns = _require_matrix(tensor, call)
    least, batch = _smaller_size(rows, columns, call), tensor.shape[:-2]
    values = derived_tensor((*batch, least), tensor)
    if call.name == "linalg.svdvals":
        return values
    is_linalg = call.name == "linalg.svd"
    flag = arguments["full_matrices" if is_linalg else "some"]
    is_full = is_explicitly_false(flag) != is_linalg or is_explicitly_false(arguments.get("compute_uv"))
    left, right = (rows, columns) if is_full else (least, least)
    last = (right, columns) if is_linalg else (columns, right)
    return derived_tensor((*batch, rows, left), tensor), values, derived_tensor((*batch, *last), tensor)


def _qr(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    rows, columns = _require_matrix(tensor, call)
    inner = rows if arguments["mode"] == "complete" else _smaller_size(rows, columns, call)
    batch = tensor.shape[:-2]
    if arguments["mode"] == "r":
        return derived_tensor((0,), tensor), derived_tensor((*batch, inner, columns), tensor)
    return derived_tensor((*batch, rows, inner), tensor), derived_tensor((*batch, inner, columns), tensor)


def _eigenvalues(tensor: TracedTensor, _: BoundArguments, call: Call) -> CodeValue:
    """Return the eigenvalues and, if the function computes them, the eigenvectors."""
    _require_matrix(tensor, call, is_square=True)
    values = derived_tensor(tensor.shape[:-1], tensor)
    return values if "vals" in call.name else (values, derived_tensor(tensor.shape, tensor))


def _factorization(tensor: TracedTensor, _: BoundArguments, call: Call) -> CodeValue:
    """Return the factors and the pivots of a factorization.

    Some functions also return an error code for each matrix.
    """
    rows, columns = _require_matrix(tensor, call)
    pivots = derived_tensor((*tensor.shape[:-2], _smaller_size(rows, columns, call)), tensor)
    info = (derived_tensor(tensor.shape[:-2], tensor),) if call.name.endswith("_ex") else ()
    return derived_tensor(tensor.shape, tensor), pivots, *info


def _solve(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Return the solution of a linear system.

    The right side is a vector if it has one dim, or if its shape is that of the matrices without the last dim.
    """
    right = require_tensor(arguments["B"], call)
    require_equal_kinds(tensor, right, call)
    _require_matrix(tensor, call, is_square=True)
    is_vector = right.rank == 1 or (right.rank == tensor.rank - 1 and right.shape == tensor.shape[:-1])
    tail = right.shape[-1:] if is_vector else right.shape[-2:]
    _require_right_side(tensor, right, tail, arguments, call)
    batch = _broadcast_batches([tensor.shape[:-2], right.shape[: right.rank - len(tail)]], tensor, call)
    result = derived_tensor((*batch, *tail), tensor, right)
    return (result, derived_tensor(batch, tensor)) if call.name.endswith("_ex") else result


def _require_right_side(
    matrix: TracedTensor, right: TracedTensor, dims: Shape, arguments: BoundArguments, call: Call
) -> None:
    """Raise `CheckRefused` unless the last dims of a right side fit a system with square matrices.

    `dims` are the last dims of the right side, which is a matrix or a vector. With `left=False`, the system is `X A =
    B`, and B is a matrix.
    """
    is_left = not is_explicitly_false(arguments.get("left"))
    if are_different_integers(dims[0] if is_left else dims[-1], matrix.shape[-1]) or not (is_left or dims[1:]):
        raise call.refusal(f"{shape_text(right.shape)} is no right side for {shape_text(matrix.shape)}")


def _broadcast_batches(batches: Sequence[Shape], tensor: TracedTensor, call: Call) -> Shape:
    """Return the shape to which the batch dims of several matrices broadcast."""
    parts = [derived_tensor(batch, tensor) for batch in batches]
    return apply_multi_operand(BROADCAST, parts, call.error).shape


def _solve_triangular(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Return the solution of a linear system with a factored matrix.

    Only solve_triangular accepts a right side of another element type; its result has the type of the matrix.
    """
    first = require_tensor(arguments["B"], call)
    matrix, right = (first, tensor) if call.name.startswith("cholesky") else (tensor, first)
    _require_matrix(matrix, call, is_square=True)
    _require_two_dims(right, call)
    if call.name != "linalg.solve_triangular":
        require_equal_kinds(matrix, right, call)
    _require_right_side(matrix, right, right.shape[-2:], arguments, call)
    batch = _broadcast_batches([matrix.shape[:-2], right.shape[:-2]], tensor, call)
    return derived_tensor((*batch, *right.shape[-2:]), matrix, right)


def _norm(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    axes = arguments["dim"]
    require_kinds(tensor, "fc", call, "its input")
    require_flag(arguments["keepdim"], call)
    if call.name == "linalg.matrix_norm":
        _require_matrix(tensor, call)
        axes = (-2, -1) if axes is None else axes
    listed = range(tensor.rank) if axes is None else axes if isinstance(axes, tuple) else (axes,)
    reduced = [call.to_axis(tensor, axis) for axis in listed]
    require_distinct_axes(reduced, call)
    _require_norm_axes(len(reduced), arguments, call)
    keeps = arguments["keepdim"] is True
    dims = [1 if axis in reduced else dim for axis, dim in enumerate(tensor.shape) if keeps or axis not in reduced]
    return derived_tensor(tuple(dims), tensor)


def _require_norm_axes(count: int, arguments: BoundArguments, call: Call) -> None:
    """Raise `CheckRefused` if a norm is not defined for this number of axes.

    An order that is a string denotes a matrix norm. Source: the documentation of `torch.linalg.norm`.
    """
    order = arguments["ord"]
    is_given = arguments["dim"] is not None or (isinstance(order, int | float) and not isnan(order))
    if call.name == "linalg.matrix_norm" or (call.name == "linalg.norm" and isinstance(order, str)):
        if count != 2:
            raise call.refusal(f"the norm of a matrix has two axes, not {count}")
    elif call.name == "linalg.norm" and is_given and count not in (1, 2):
        raise call.refusal(f"a norm with dims or an order has one or two axes, not {count}")


def _inner(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Apply `inner`, which sums over the last dims of both tensors."""
    other = require_tensor(arguments["other"], call)
    if not tensor.rank or not other.rank:
        return derived_tensor(tensor.shape or other.shape, tensor, other)
    require_equal_kinds(tensor, other, call)
    require_kinds(tensor, "ifc", call, "its input")
    if are_different_integers(tensor.shape[-1], other.shape[-1]):
        raise call.refusal(f"the last dims of {shape_text(tensor.shape)} and {shape_text(other.shape)} differ")
    return derived_tensor((*tensor.shape[:-1], *other.shape[:-1]), tensor, other)


def _require_product(shapes: Sequence[Shape], ranks: Sequence[int], call: Call) -> None:
    """Raise `CheckRefused` unless two shapes have the ranks `ranks` and equal inner dims."""
    one, other = shapes
    if [*map(len, shapes)] != [*ranks] or are_different_integers(one[-1], other[-2 if len(other) > 1 else -1]):
        raise call.refusal(f"{shape_text(one)} and {shape_text(other)} have no product")


def _product_with_vector(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Apply `mv` or `vdot`."""
    other = require_tensor(arguments["vec"], call)
    require_equal_kinds(tensor, other, call)
    _require_product((tensor.shape, other.shape), (2 if call.name == "mv" else 1, 1), call)
    return derived_tensor(tensor.shape[:-1], tensor, other)


def _add_small_product(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Apply `addmv`, `addr` or `addbmm`, which add a tensor to a product."""
    one, other = [require_tensor(arguments[name], call) for name in ("one", "other")]
    if call.name == "addr":
        if (one.rank, other.rank) != (1, 1):
            raise call.refusal(f"it takes vectors, not {shape_text(one.shape)} and {shape_text(other.shape)}")
        dims = (*one.shape, *other.shape)
    else:
        _require_product((one.shape, other.shape), (2, 1) if call.name == "addmv" else (3, 3), call)
        dims = one.shape[:1] if call.name == "addmv" else (one.shape[1], other.shape[2])
        if call.name == "addbmm" and are_different_integers(one.shape[0], other.shape[0]):
            raise call.refusal(f"{shape_text(one.shape)} and {shape_text(other.shape)} have no product")
    if call.name == "addmv" and dims == (0,):  # PyTorch returns the vector for a matrix without rows
        dims = tensor.shape
    expanded = tensor.apply(EXPAND, target=dims)
    return derived_tensor(dims, expanded, one, other)


def _condition_number(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Return the condition number of a matrix.

    Only the norms 2 and -2 accept matrices that are not square.
    """
    order = arguments["p"]
    _require_matrix(tensor, call, is_square=order is not None and order not in (2, -2))
    if tensor.shape[-2:].count(0) and order not in (None, 2, -2):
        raise call.error("the norm of an empty matrix is not supported")
    return derived_tensor(tensor.shape[:-2], tensor)


def _rank(tensor: TracedTensor, _: BoundArguments, call: Call) -> CodeValue:
    _require_matrix(tensor, call)
    return derived_tensor(tensor.shape[:-2], tensor)


def _lu(tensor: TracedTensor, _: BoundArguments, call: Call) -> CodeValue:
    """Return the permutation matrix, the lower factor and the upper factor."""
    rows, columns = _require_matrix(tensor, call)
    least, batch = _smaller_size(rows, columns, call), tensor.shape[:-2]
    dims = ((rows, rows), (rows, least), (least, columns))
    return tuple([derived_tensor((*batch, *matrix), tensor) for matrix in dims])


def _vector_product(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Apply vecdot, which sums the products of two tensors along an axis."""
    other = require_tensor(arguments["other"], call)
    require_equal_kinds(tensor, other, call)
    require_kinds(tensor, "fc", call, "its input")
    if (tensor.rank, other.rank) == (1, 1):  # PyTorch ignores the axis argument for vectors
        _require_product((tensor.shape, other.shape), (1, 1), call)
        return derived_tensor((), tensor, other)
    common = apply_multi_operand(BROADCAST, [tensor, other], call.error)
    axis = call.to_reduced_axis(common, arguments["dim"])
    return derived_tensor((*common.shape[:axis], *common.shape[axis + 1 :]), common)


def _low_rank(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Return the factors of a low-rank approximation of a matrix."""
    rows, columns = _require_matrix(tensor, call)
    least = _smaller_size(rows, columns, call)
    default = min(6, least) if isinstance(least, int) else 6
    count = call.to_dim(default if arguments["q"] is None else arguments["q"])
    if isinstance(count, int) and (count < 0 or (isinstance(least, int) and count > least)):
        if count < 0 or call.name == "pca_lowrank":
            raise call.refusal(f"the rank is from 0 to {least}, not {count}")
        count = least
    batch = tensor.shape[:-2]
    return tuple([derived_tensor((*batch, *dims), tensor) for dims in ((rows, count), (count,), (columns, count))])


def _contract(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Apply `tensordot`, which sums over pairs of axes.

    A dim of 1 is broadcast.
    """
    other, dims = require_tensor(arguments["other"], call), arguments["dims"]
    require_equal_kinds(tensor, other, call)
    if isinstance(dims, tuple):
        if len(dims) != 2:
            raise call.error("the axes are two lists")
        lists = [part if isinstance(part, tuple) else (part,) for part in dims]
        axes = [[call.to_axis(part, axis) for axis in own] for part, own in zip((tensor, other), lists, strict=True)]
    else:
        count = call.to_integer(dims)
        if not 0 <= count <= min(tensor.rank, other.rank):
            raise call.refusal(f"there are no {count} axes in both tensors")
        axes = [[*range(tensor.rank - count, tensor.rank)], [*range(count)]]
    for one in axes:
        require_distinct_axes(one, call)
    pairs = [(tensor.shape[one], other.shape[two]) for one, two in zip(*axes, strict=False)]
    if len(axes[0]) != len(axes[1]) or any(are_different_integers(*pair) and 1 not in pair for pair in pairs):
        raise call.refusal(f"{shape_text(tensor.shape)} and {shape_text(other.shape)} do not fit along these axes")
    kept = [
        dim
        for part, own in zip((tensor, other), axes, strict=True)
        for axis, dim in enumerate(part.shape)
        if axis not in own
    ]
    return derived_tensor(tuple(kept), tensor, other)


def _bilinear(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    other, weight = [require_tensor(arguments[name], call) for name in ("input2", "weight")]
    require_equal_kinds(tensor, other, call)
    if weight.rank != 3 or tensor.rank != other.rank or not tensor.rank or 0 in weight.shape:
        raise call.refusal("it takes inputs of equal rank and a weight of 3 dims")
    wanted, found = weight.shape[1:], (tensor.shape[-1], other.shape[-1])
    if any(map(are_different_integers, wanted, found)) or any(
        map(are_different_integers, tensor.shape[:-1], other.shape[:-1])
    ):
        raise call.refusal(f"{shape_text(tensor.shape)} and {shape_text(other.shape)} do not fit {shape_text(wanted)}")
    return derived_tensor((*tensor.shape[:-1], weight.shape[0]), tensor, other)


def _cross(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    other = require_tensor(arguments["other"], call)
    result = apply_multi_operand(BROADCAST, (tensor, other), call.error)
    first = next((axis for axis, dim in enumerate(tensor.shape) if dim == 3), -1)
    axis = call.to_axis(result, arguments["dim"], first if call.name == "cross" else -1)
    require_kinds(tensor, "ifc", call, "its input")
    require_equal_kinds(tensor, other, call)
    if tensor.rank != other.rank or {part.shape[axis] for part in (tensor, other)} != {3}:
        raise call.refusal(f"it takes vectors of 3 numbers, not {shape_text(tensor.shape)} {shape_text(other.shape)}")
    return derived_tensor(result.shape, result)


_NORM = ("ord", "dim", "keepdim")
MATRIX_FUNCTIONS: Mapping[str, tuple[tuple[str, ...], ResultFunction]] = {
    **dict.fromkeys(("det", "logdet", "slogdet", "linalg.det", "linalg.slogdet"), ((), _determinant)),
    **dict.fromkeys(
        ("inverse", "matrix_exp", "linalg.inv", "linalg.inv_ex", "linalg.matrix_exp"),
        ((), _square_result),
    ),
    **dict.fromkeys(("linalg.cholesky", "linalg.cholesky_ex"), (("upper",), _square_result)),
    **dict.fromkeys(("matrix_power", "linalg.matrix_power"), (("n",), _power)),
    **dict.fromkeys(("pinverse", "linalg.pinv"), (("rcond/rtol",), _pseudo_inverse)),
    "trace": ((), _trace),
    "svd": (("some", "compute_uv"), _singular_value_decomposition),
    "linalg.svd": (("full_matrices", "driver"), _singular_value_decomposition),
    "linalg.svdvals": (("driver",), _singular_value_decomposition),
    "linalg.qr": (("mode",), _qr),
    **dict.fromkeys(("linalg.eigh", "linalg.eigvalsh"), (("UPLO",), _eigenvalues)),
    **dict.fromkeys(("linalg.eig", "linalg.eigvals"), ((), _eigenvalues)),
    **dict.fromkeys(("linalg.lu_factor", "linalg.lu_factor_ex"), (("pivot", "check_errors"), _factorization)),
    **dict.fromkeys(("linalg.solve", "linalg.solve_ex"), (("B", "left", "check_errors"), _solve)),
    "linalg.lu_solve": (("pivots", "B", "left", "adjoint"), _solve_triangular),
    "linalg.solve_triangular": (("B", "upper", "left", "unitriangular"), _solve_triangular),
    "cholesky_solve": (("B/L", "upper"), _solve_triangular),
    **dict.fromkeys(("linalg.norm", "linalg.vector_norm", "linalg.matrix_norm"), (_NORM, _norm)),
    **dict.fromkeys(("cross", "linalg.cross"), (("other", "dim"), _cross)),
    "inner": (("other",), _inner),
    "mv": (("vec",), _product_with_vector),
    "vdot": (("vec/other",), _product_with_vector),
    "addmv": (("one/mat", "other/vec", "beta", "alpha"), _add_small_product),
    "addr": (("one/vec1", "other/vec2", "beta", "alpha"), _add_small_product),
    "addbmm": (("one/batch1", "other/batch2", "beta", "alpha"), _add_small_product),
    "linalg.cond": (("p",), _condition_number),
    "linalg.matrix_rank": (("tol", "hermitian", "atol", "rtol"), _rank),
    "lu": (("pivot", "get_infos"), _factorization),
    "linalg.lu": (("pivot",), _lu),
    "linalg.vecdot": (("other/y", "dim=-1"), _vector_product),
    **dict.fromkeys(("svd_lowrank", "pca_lowrank"), (("q", "niter/center", "M/niter"), _low_rank)),
    "cholesky_inverse": (("upper",), _square_result),
    "tensordot": (("other/b", "dims=2"), _contract),
    "bilinear": (("input2", "weight", "bias"), _bilinear),
}
"""The parameters and the result function of each matrix function, keyed by name.

The names of functions in `torch.linalg` include this prefix.
"""

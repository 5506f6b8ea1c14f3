"""Compute the result shapes of functions that count, compare and write the elements of PyTorch tensors.

Sources: the documentation of `torch` in PyTorch 2.13. `tests/engines/test_checks.py` compares each function with
PyTorch on random inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import comb

from shapecalc.core.dims import Dim, Shape, product
from shapecalc.core.ops.broadcast import BROADCAST
from shapecalc.core.ops.flip import FLIP
from shapecalc.core.record import replace
from shapecalc.core.text import rank_text, shape_text
from shapecalc.reading.code.arguments import Call
from shapecalc.reading.code.arithmetic import index_tensor
from shapecalc.reading.code.kind_checks import require_equal_kinds, require_indices, require_kinds
from shapecalc.reading.code.logic import truth_value
from shapecalc.reading.code.operands import apply_multi_operand
from shapecalc.reading.code.shape_arguments import (
    BoundArguments,
    ResultFunction,
    are_different_integers,
    replace_dim,
    require_elements,
    require_flag,
    require_tensor,
)
from shapecalc.reading.code.values import CodeValue, TracedTensor, derived_tensor, is_real_number

MAX_ROWS = 1 << 20
"""The maximum number of rows of a result that is computed by counting combinations."""


def _require_min_rank(tensor: TracedTensor, least: int, call: Call) -> None:
    if tensor.rank < least:
        raise call.refusal(f"it takes at least {rank_text(least)}, and {shape_text(tensor.shape)} has {tensor.rank}")


def _require_vector(tensor: TracedTensor, call: Call) -> Dim:
    """Return the length of a vector.

    Raises `CheckRefused` for a tensor of another rank.
    """
    if tensor.rank != 1:
        raise call.refusal(f"it takes a vector, and {shape_text(tensor.shape)} has {rank_text(tensor.rank)}")
    return tensor.shape[0]


def _unique(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Return the distinct elements or slices of a tensor.

    If requested, also returns the index of each element among them, and their counts.
    """
    require_kinds(tensor, "bif", call, "its input")
    count = tensor.program.new_name("K")
    if arguments["dim"] is None:
        shape: Shape = (count,)
        inverse = tensor.shape
    else:
        axis = call.to_axis(tensor, arguments["dim"])
        if 0 in tensor.shape:
            raise call.refusal(f"along an axis it takes elements, and the input is {shape_text(tensor.shape)}")
        shape, inverse = replace_dim(tensor.shape, axis, count), (tensor.shape[axis],)
    values = replace(derived_tensor(shape, tensor), kinds=tensor.kinds.replace("c", ""))
    wanted = {"return_inverse": inverse, "return_counts": (count,)}
    indices = [
        replace(derived_tensor(dims, tensor), kinds="i")
        for name, dims in wanted.items()
        if truth_value(arguments[name])
    ]
    return (values, *indices) if indices else values


def _argwhere(tensor: TracedTensor, _: BoundArguments, __: Call) -> CodeValue:
    return derived_tensor((tensor.program.new_name("K"), tensor.rank), tensor)


def _isin(tensor: TracedTensor, _: BoundArguments, __: Call) -> CodeValue:
    return derived_tensor(tensor.shape, tensor)


def _diff(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Apply `diff`, which first extends an axis by other tensors, and then shortens it by `n`."""
    if not tensor.rank:
        raise call.refusal("it takes at least 1 dim, and the input is a scalar")
    count, axis = call.to_integer(arguments["n"]), call.to_axis(tensor, arguments["dim"])
    if count < 0:
        raise call.refusal(f"it takes differences 0 times or more, not {count}")
    total = tensor.shape[axis]
    for name in ("prepend", "append"):
        if (part := arguments[name]) is not None:
            part = require_tensor(part, call)
            rest = [(replace_dim(one.shape, axis, 1) if one.rank == tensor.rank else ()) for one in (tensor, part)]
            if part.rank != tensor.rank or any(map(are_different_integers, *rest)):
                raise call.refusal(f"{shape_text(part.shape)} does not extend {shape_text(tensor.shape)}")
            total = tensor.program.add_dims(total, part.shape[axis])
    length = max(0, total - count) if isinstance(total, int) else tensor.program.add_dims(total, -count)
    return derived_tensor(replace_dim(tensor.shape, axis, length), tensor)


def _quantile(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    levels, keeps = arguments["q"], arguments["keepdim"]
    require_flag(keeps, call)
    if is_real_number(levels):
        if not 0 <= levels <= 1:
            raise call.refusal(f"a quantile is from 0 to 1, not {levels}")
        leading: Shape = ()
    else:
        listed = require_tensor(levels, call)
        require_equal_kinds(tensor, listed, call)
        leading = listed.shape if listed.rank < 2 else (_require_vector(listed, call),)
    axes = range(tensor.rank) if arguments["dim"] is None else [call.to_reduced_axis(tensor, arguments["dim"])]
    if 0 in tensor.shape:
        raise call.refusal(f"it takes elements, and the input is {shape_text(tensor.shape)}")
    dims = [1 if axis in axes else dim for axis, dim in enumerate(tensor.shape) if keeps or axis not in axes]
    return derived_tensor((*leading, *dims), tensor)


def _covariance(tensor: TracedTensor, _: BoundArguments, call: Call) -> CodeValue:
    """Apply `cov` or `corrcoef`, which treat the rows as variables."""
    if tensor.rank > 2:
        raise call.refusal(f"it takes at most 2 dims, and {shape_text(tensor.shape)} has {tensor.rank}")
    has_rows = tensor.rank == 2 and tensor.shape[0] != 1
    return derived_tensor((tensor.shape[0],) * 2 if has_rows else (), tensor)


def _integral(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Apply `trapezoid` or `cumulative_trapezoid`."""
    axis, points = call.to_axis(tensor, arguments["dim"]), arguments["x"]
    if points is not None:
        points = require_tensor(points, call)
        if points.rank != 1:
            raise call.error("points of several dims are not supported")
        if are_different_integers(points.shape[0], tensor.shape[axis]):
            raise call.refusal(f"there are {points.shape[0]} points for a dim of {tensor.shape[axis]}")
    before, after, dim = tensor.shape[:axis], tensor.shape[axis + 1 :], tensor.shape[axis]
    if not call.name.startswith("cumulative"):
        return derived_tensor((*before, *after), tensor)
    length = max(0, dim - 1) if isinstance(dim, int) else tensor.program.add_dims(dim, -1)
    return derived_tensor((*before, length, *after), tensor)


def _combinations(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    size, count = _require_vector(tensor, call), call.to_integer(arguments["r"])
    if count < 0:
        raise call.refusal(f"it takes 0 elements or more, not {count}")
    if count == 0:
        return derived_tensor((0,), tensor)
    if not isinstance(size, int):
        return derived_tensor((tensor.program.new_name("K"), count), tensor)
    if max(size, count) > MAX_ROWS >> 10:
        raise call.error("there are too many combinations")
    repeats = truth_value(arguments["with_replacement"]) is True
    rows = comb(size + count - 1, count) if repeats and size else comb(size, count)
    return derived_tensor((rows, count), tensor)


def _vander(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    size = _require_vector(tensor, call)
    return derived_tensor((size, size if arguments["N"] is None else call.to_dim(arguments["N"])), tensor)


def _take(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Apply `take`, which indexes the flattened tensor."""
    index = require_tensor(arguments["index"], call)
    flat = derived_tensor((product(tensor.shape),), tensor)
    return require_indices(derived_tensor(index.shape, tensor, index), index, flat, 0, call, accepts_negative=True)


def _replace_part(tensor: TracedTensor, part: TracedTensor, source: CodeValue, call: Call) -> CodeValue:
    """Return a new tensor of the same shape in which `source` replaces a part.

    Raises `CheckRefused` if the shapes of the part and of `source` differ.
    """
    source = require_tensor(source, call)
    if source.rank != part.rank or any(map(are_different_integers, source.shape, part.shape)):
        raise call.refusal(f"a part {shape_text(part.shape)} is not a tensor {shape_text(source.shape)}")
    return derived_tensor(tensor.shape, tensor, source)


def _select_scatter(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    axis, index = call.to_axis(tensor, arguments["dim"]), call.to_integer(arguments["index"])
    part = index_tensor(tensor, (*(slice(None),) * axis, index), call.error)
    return _replace_part(tensor, part, arguments["src"], call)


def _slice_scatter(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    ends = [None if arguments[name] is None else call.to_integer(arguments[name]) for name in ("start", "end", "step")]
    axis = call.to_axis(tensor, arguments["dim"])
    part = index_tensor(tensor, (*(slice(None),) * axis, slice(*ends)), call.error)
    return _replace_part(tensor, part, arguments["src"], call)


def _fliplr_or_flipud(tensor: TracedTensor, _: BoundArguments, call: Call) -> CodeValue:
    axis = 1 if call.name == "fliplr" else 0
    _require_min_rank(tensor, axis + 1, call)
    return tensor.apply(FLIP, axes=(axis,))


def _adjoint(tensor: TracedTensor, _: BoundArguments, call: Call) -> CodeValue:
    _require_min_rank(tensor, 2, call)
    return tensor.permute([*range(tensor.rank - 2), tensor.rank - 1, tensor.rank - 2])


def _pairwise_distance(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    other, keeps = require_tensor(arguments["other"], call), arguments["keepdim"]
    require_flag(keeps, call)
    common = apply_multi_operand(BROADCAST, [tensor, other], call.error)
    kept = (1,) if keeps and common.rank else ()
    return derived_tensor((*common.shape[:-1], *kept), common)


def _distance(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    common = apply_multi_operand(BROADCAST, [tensor, require_tensor(arguments["other"], call)], call.error)
    return derived_tensor((), common)


def _pair_distances(tensor: TracedTensor, _: BoundArguments, call: Call) -> CodeValue:
    """Apply `pdist`, which returns the distance between each pair of rows."""
    if tensor.rank != 2:
        raise call.refusal(f"it takes 2 dims, and {shape_text(tensor.shape)} has {tensor.rank}")
    rows = tensor.shape[0]
    count = rows * (rows - 1) // 2 if isinstance(rows, int) else tensor.program.new_name("K")
    return derived_tensor((max(0, count) if isinstance(count, int) else count,), tensor)


def _sorted_elements(tensor: TracedTensor, _: BoundArguments, __: Call) -> CodeValue:
    return derived_tensor(tensor.shape, tensor)


def _flat_diagonal(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Apply `diagflat`, which returns a matrix with the elements on a diagonal."""
    size = tensor.program.add_dims(product(tensor.shape), abs(call.to_integer(arguments["offset"])))
    return derived_tensor((size, size), tensor)


def _gumbel_softmax(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Apply `gumbel_softmax`."""
    call.to_reduced_axis(tensor, arguments["dim"])
    require_elements(tensor, (), call)
    return derived_tensor(tensor.shape, tensor)


def _embedding_bag(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Apply `embedding_bag`, which returns a vector for each row of a matrix, or for each offset into a vector."""
    weight, offsets = require_tensor(arguments["weight"], call), arguments["offsets"]
    if weight.rank != 2:
        raise call.refusal(f"the weight is a matrix, not {shape_text(weight.shape)}")
    require_kinds(tensor, "i", call, "the index")
    return derived_tensor((_bag_count(tensor, offsets, arguments, call), weight.shape[1]), tensor, weight)


def _bag_count(tensor: TracedTensor, offsets: CodeValue, arguments: BoundArguments, call: Call) -> Dim:
    """Return the number of bags of indices."""
    if tensor.rank not in (1, 2) or (tensor.rank == 2) != (offsets is None):
        given = "no offsets" if offsets is None else "offsets"
        raise call.refusal(f"it takes a matrix, or a vector and offsets, not {shape_text(tensor.shape)} and {given}")
    if tensor.rank == 2:
        if tensor.shape[1] == 0:
            raise call.refusal(f"its bags have elements, and the input is {shape_text(tensor.shape)}")
        return tensor.shape[0]
    count = _require_vector(require_tensor(offsets, call), call)
    if not truth_value(arguments["include_last_offset"]):
        return count
    return count - 1 if isinstance(count, int) else tensor.program.add_dims(count, -1)


_PAIR = ("other/x2/p2", "p/ord", "eps", "keepdim")
STATISTICS_FUNCTIONS: Mapping[str, tuple[tuple[str, ...], ResultFunction]] = {
    "unique": (("sorted", "return_inverse", "return_counts", "dim"), _unique),
    "unique_consecutive": (("return_inverse", "return_counts", "dim"), _unique),
    "argwhere": ((), _argwhere),
    "isin": (("test_elements", "assume_unique", "invert"), _isin),
    "diff": (("n=1", "dim=-1", "prepend", "append"), _diff),
    **dict.fromkeys(("quantile", "nanquantile"), (("q", "dim", "keepdim", "interpolation"), _quantile)),
    "cov": (("correction", "fweights", "aweights"), _covariance),
    "corrcoef": ((), _covariance),
    **dict.fromkeys(("trapezoid", "trapz", "cumulative_trapezoid"), (("x", "dx", "dim=-1"), _integral)),
    "combinations": (("r=2", "with_replacement"), _combinations),
    "vander": (("N", "increasing"), _vander),
    "take": (("index",), _take),
    "select_scatter": (("src", "dim", "index"), _select_scatter),
    "slice_scatter": (("src", "dim=0", "start", "end", "step"), _slice_scatter),
    **dict.fromkeys(("fliplr", "flipud"), ((), _fliplr_or_flipud)),
    "adjoint": ((), _adjoint),
    "pairwise_distance": (_PAIR, _pairwise_distance),
    "dist": (("other", "p"), _distance),
    "pdist": (("p",), _pair_distances),
    "msort": ((), _sorted_elements),
    "diagflat": (("offset=0",), _flat_diagonal),
    "gumbel_softmax": (("tau", "hard", "eps", "dim=-1"), _gumbel_softmax),
    "embedding_bag": (
        (
            *("weight", "offsets", "max_norm", "norm_type", "scale_grad_by_freq", "mode", "sparse"),
            *("per_sample_weights", "include_last_offset", "padding_idx"),
        ),
        _embedding_bag,
    ),
}
"""The parameters and the result function of each function, keyed by name."""

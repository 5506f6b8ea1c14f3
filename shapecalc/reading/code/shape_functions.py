"""Compute the result shapes of functions that have no op.

The result is the first tensor of a new chain. Sources: the documentation of PyTorch 2.13 and NumPy 2.3;
`tests/engines/test_checks.py` compares each function with PyTorch on random inputs.
"""

from __future__ import annotations

from collections.abc import Mapping

from shapecalc.core.dims import Dim, Monomial, Shape, product, quotient
from shapecalc.core.ops.broadcast import BROADCAST
from shapecalc.core.ops.expand import EXPAND
from shapecalc.core.ops.strides import compute_clone_strides, compute_elementwise_strides, is_contiguous
from shapecalc.core.record import Record, replace
from shapecalc.core.text import shape_text
from shapecalc.reading.code.arguments import Call
from shapecalc.reading.code.indexing import index_with_arrays
from shapecalc.reading.code.kind_checks import require_equal_kinds, require_indices, require_kinds
from shapecalc.reading.code.logic import truth_value
from shapecalc.reading.code.loss_functions import apply_class_loss, apply_elementwise_loss
from shapecalc.reading.code.matrix_functions import MATRIX_FUNCTIONS
from shapecalc.reading.code.operands import apply_multi_operand
from shapecalc.reading.code.shape_arguments import (
    BoundArguments,
    ResultFunction,
    are_different_integers,
    replace_dim,
    require_distinct_axes,
    require_elements,
    require_flag,
    require_tensor,
)
from shapecalc.reading.code.signal_functions import (
    apply_fourier_transform,
    apply_stft,
    fold_image,
    unfold_axis,
    unfold_image,
)
from shapecalc.reading.code.statistics_functions import STATISTICS_FUNCTIONS
from shapecalc.reading.code.values import (
    CodeValue,
    TracedTensor,
    derived_tensor,
    inherit_conditions,
    initial_tensor,
    is_dim,
    is_number,
    kinds_of,
    split_tensor,
)


class ShapeFunction(Record):
    """The parameters and the result function of a function that has no op."""

    parameters: tuple[str, ...]
    """The parameter names. Aliases follow a slash, and a default follows `=`."""
    result: ResultFunction

    def apply(self, tensor: TracedTensor, call: Call) -> CodeValue:
        """Return the result of a call."""
        pairs = [parameter.partition("=") for parameter in self.parameters]
        values = call.bind_arguments(*[names for names, _, _ in pairs])
        arguments = {
            names.partition("/")[0]: int(default) if value is None and default else value
            for (names, _, default), value in zip(pairs, values, strict=True)
        }
        return self.result(tensor, arguments, call)


def _gather(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Apply `gather`: return a tensor with the shape of the indices.

    The indices must have the rank of the tensor. Along the axes other than `dim`, they must not be longer than the
    tensor.
    """
    index, axis = require_tensor(arguments["index"], call), call.to_axis(tensor, arguments["dim"])
    _require_index_shape(index, tensor, axis, call)
    return require_indices(derived_tensor(index.shape, tensor, index), index, tensor, axis, call)


def _require_index_shape(index: TracedTensor, tensor: TracedTensor, axis: int | None, call: Call) -> None:
    """Raise `CheckRefused` if indices have the wrong shape for a gather or scatter.

    The indices must have the rank of the tensor, and may be longer than the tensor only along `axis`.
    """
    pairs = zip(tensor.shape, index.shape, strict=False)
    too_long = [
        number
        for number, (dim, own) in enumerate(pairs)
        if number != axis and isinstance(dim, int) and isinstance(own, int) and own > dim
    ]
    if max(tensor.rank, 1) != max(index.rank, 1) or too_long:
        raise call.refusal(f"indices {shape_text(index.shape)} do not fit {shape_text(tensor.shape)}")


def _scatter(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Apply `scatter`: write elements of another tensor at indices."""
    index, axis = require_tensor(arguments["index"], call), call.to_axis(tensor, arguments["dim"])
    _require_index_shape(index, tensor, axis, call)
    if isinstance(arguments["src"], TracedTensor):
        _require_index_shape(index, arguments["src"], None, call)
    require_equal_kinds(tensor, arguments["src"], call)
    return require_indices(derived_tensor(tensor.shape, tensor, index), index, tensor, axis, call)


def _write_at_indices(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Apply `index_add` or `index_copy` along an axis."""
    index, axis = require_tensor(arguments["index"], call), call.to_axis(tensor, arguments["dim"])
    source = arguments["source"]
    if isinstance(source, TracedTensor):
        wanted = replace_dim(tensor.shape, axis, product(index.shape))
        differs = source.rank != tensor.rank or any(map(are_different_integers, source.shape, wanted))
    if index.rank > 1 or (isinstance(source, TracedTensor) and differs):
        raise call.refusal(f"indices {shape_text(index.shape)} do not fit {shape_text(tensor.shape)}")
    require_equal_kinds(tensor, source, call)
    result = derived_tensor(tensor.shape, tensor, index)
    return require_indices(result, index, tensor, axis, call, accepts_negative=call.name.startswith("index_fill"))


def _masked_scatter(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    mask = require_tensor(arguments["mask"], call)
    require_kinds(mask, "b", call, "the mask")
    require_equal_kinds(tensor, arguments["source"], call)
    if call.name == "masked_scatter_":
        return inherit_conditions(tensor, [mask.apply(EXPAND, target=tensor.shape)])
    common = apply_multi_operand(BROADCAST, [tensor, mask], call.error)
    return derived_tensor(common.shape, common)


def _take_along_axis(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Apply `take_along_axis`.

    The result has the shape of the indices, broadcast along all other axes.
    """
    index = require_tensor(arguments["index"], call)
    require_kinds(index, "i", call, "the index")
    if arguments["dim"] is None:
        flat = derived_tensor((product(tensor.shape),), tensor)
        result = derived_tensor((product(index.shape),), tensor, index)
        accepts_negative = not tensor.conventions.torch_checks
        return require_indices(result, index, flat, 0, call, accepts_negative=accepts_negative)
    axis = call.to_axis(tensor, arguments["dim"])
    if tensor.rank != index.rank:
        raise call.refusal(f"indices {shape_text(index.shape)} do not fit {shape_text(tensor.shape)}")
    ones = [derived_tensor(replace_dim(part.shape, axis, 1), part) for part in (tensor, index)]
    common = apply_multi_operand(BROADCAST, ones, call.error)
    return derived_tensor(replace_dim(common.shape, axis, index.shape[axis]), common)


def _index_select(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    index, axis = require_tensor(arguments["index"], call), call.to_axis(tensor, arguments["dim"])
    if index.rank > 1:
        raise call.refusal(f"the indices are a vector, not {shape_text(index.shape)}")
    result = derived_tensor(replace_dim(tensor.shape, axis, product(index.shape)), tensor, index)
    return require_indices(result, index, tensor, axis, call)


def _same_shape(tensor: TracedTensor, _: BoundArguments, __: Call) -> CodeValue:
    """Return a new tensor with the shape of `tensor`."""
    return derived_tensor(tensor.shape, tensor)


def _shift_frequencies(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    axes = arguments["dim"]
    for axis in () if axes is None else axes if isinstance(axes, tuple) else (axes,):
        call.to_axis(tensor, axis)
    return derived_tensor(tensor.shape, tensor)


def _flatten_without_axis(tensor: TracedTensor, call: Call) -> TracedTensor:
    """Flatten a tensor if the axis of the call is None.

    Only functions of NumPy and JAX flatten the tensor. Source: numpy.sort.
    """
    is_none = call.positional[:1] == (None,) or call.keywords.get("axis", 0) is None
    return tensor.reshape(-1) if is_none and tensor.conventions.numpy_arguments else tensor


def _values_and_indices(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Return values and indices with the shape of `tensor`.

    NumPy returns only the values.
    """
    tensor = _flatten_without_axis(tensor, call)
    _require_axis(tensor, arguments["dim"], call)
    result = _clone_tensor(tensor) if call.name == "sort" else derived_tensor(tensor.shape, tensor)
    return (result, result) if tensor.conventions.returns_indices else result


def _indices_along_axis(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Apply `argsort` and similar functions."""
    tensor = _flatten_without_axis(tensor, call)
    _require_axis(tensor, arguments["dim"], call)
    return _clone_tensor(tensor) if call.name == "argsort" else derived_tensor(tensor.shape, tensor)


def _require_axis(tensor: TracedTensor, axis: CodeValue, call: Call) -> None:
    """Raise an error unless `axis` is a single valid axis.

    The tensor may be a scalar.
    """
    if isinstance(axis, tuple):
        raise call.error(f"{call.name} takes one dim")
    call.to_reduced_axis(tensor, axis)


def _clone_tensor(tensor: TracedTensor) -> TracedTensor:
    """Return a new tensor with the shape and the strides of a PyTorch clone."""
    strides = tensor.strides and compute_clone_strides(tensor.shape, tensor.strides)
    return replace(derived_tensor(tensor.shape, tensor), strides=strides)


def _topk(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    axis, count = call.to_axis(tensor, arguments["dim"]), call.to_dim(arguments["k"])
    _require_count(count, 0, tensor.shape[axis], call)
    result = derived_tensor(replace_dim(tensor.shape, axis, count), tensor)
    return result, result


def _require_count(count: Dim, minimum: int, size: Dim, call: Call) -> None:
    """Raise `CheckRefused` if a count is less than `minimum` or greater than `size`."""
    if isinstance(count, int) and (count < minimum or (isinstance(size, int) and count > size)):
        raise call.refusal(f"there are no {count} of {size}")


ONE_AXIS_FUNCTIONS = ("kthvalue", "median", "nanmedian", "mode", "aminmax", "sort", "argsort", "cummax", "cummin")
"""The functions that accept only one axis."""


def _reduced_shape(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> Shape:
    axes, keeps = arguments.get("dim"), arguments.get("keepdim")
    require_flag(keeps, call)
    listed = range(tensor.rank) if axes is None or axes == () else axes if isinstance(axes, tuple) else (axes,)
    if call.name in ONE_AXIS_FUNCTIONS and isinstance(axes, tuple):
        raise call.error(f"{call.name} takes one dim")
    if call.name == "logsumexp" and axes in (None, ()) and tensor.conventions.torch_checks:
        raise call.error("logsumexp takes dims of its own", "write dim=")
    reduced = [call.to_reduced_axis(tensor, axis) for axis in listed]
    require_distinct_axes(reduced, call)
    if call.name in ONE_AXIS_FUNCTIONS and (axes is not None or call.name == "aminmax"):
        require_elements(tensor, [axis for axis in reduced if tensor.rank], call)
    if call.name == "kthvalue":
        _require_count(call.to_dim(arguments["k"]), 1, tensor.shape[reduced[0]] if tensor.rank else 1, call)
    return tuple(
        [1 if axis in reduced else dim for axis, dim in enumerate(tensor.shape) if keeps or axis not in reduced]
    )


def _reduction(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    return derived_tensor(_reduced_shape(tensor, arguments, call), tensor)


def _reduction_values_and_indices(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Return the values and indices of a reduction along an axis.

    Without an axis, the result is a scalar if the function supports this.
    """
    result = derived_tensor(_reduced_shape(tensor, arguments, call), tensor)
    is_scalar = call.name in ("median", "nanmedian") and arguments.get("dim") is None
    return result if is_scalar else (result, result)


def _min_and_max(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Apply `aminmax`, which takes only keyword arguments."""
    if call.positional:
        raise call.error("the arguments of aminmax are given by name", "write dim=")
    return _reduction_values_and_indices(tensor, arguments, call)


def _shape_of_other(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Return a tensor with the shape of another tensor."""
    other = require_tensor(arguments["other"], call)
    if call.name == "expand_as":
        return inherit_conditions(tensor.apply(EXPAND, target=other.shape), [other])
    changed = tensor.view(other.shape, call.error) if call.name == "view_as" else tensor.reshape(*other.shape)
    return inherit_conditions(changed, [other])


def _new_tensor(tensor: TracedTensor, call: Call) -> CodeValue:
    """Apply `new_zeros` or a similar method."""
    keywords = {name: value for name, value in call.keywords.items() if name not in ("size", "shape")}
    sized = [value for name, value in call.keywords.items() if name in ("size", "shape")]
    values = (*sized, *call.positional)
    if call.name == "new_full":
        values = values[:1]
    if keywords.keys() - {"fill_value"}:
        raise call.error(f"these arguments of {call.name} are not supported")
    dims = values[0] if len(values) == 1 and isinstance(values[0], tuple) else values
    return derived_tensor(tuple(map(call.to_dim, dims)), tensor)


def _insert_missing_axes(tensor: TracedTensor, _: BoundArguments, call: Call) -> CodeValue:
    """Return the result of `atleast_1d`, `atleast_2d` or `atleast_3d`.

    Source: numpy.atleast_3d.
    """
    rank = int(call.name[-2])
    axes = tuple(range(rank - tensor.rank))
    if rank == 3 and tensor.rank in (1, 2):
        axes = (0, 2) if tensor.rank == 1 else (2,)
    return tensor.insert_axes(axes) if axes else tensor


def _diagonal_length(rows: Dim, columns: Dim, offset: int, call: Call) -> Dim:
    """Return the length of the diagonal of a matrix at an offset from the main diagonal."""
    if isinstance(rows, int) and isinstance(columns, int):
        return max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    if rows == columns and offset == 0:
        return rows
    raise call.error("the length of the diagonal is not known", "give sizes with --where")


def _diagonal(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    offset = call.to_integer(arguments["offset"])
    one, other = call.to_axis(tensor, arguments["dim1"]), call.to_axis(tensor, arguments["dim2"])
    if one == other:
        raise call.refusal("a diagonal needs two axes")
    kept = [axis for axis in range(tensor.rank) if axis not in (one, other)]
    length = _diagonal_length(tensor.shape[one], tensor.shape[other], offset, call)
    result, strides = derived_tensor((*[tensor.shape[axis] for axis in kept], length), tensor), tensor.strides
    steps = () if strides is None else (strides[one], strides[other])
    if strides is None or not all(isinstance(step, int) for step in steps):
        return replace(result, strides=None)
    return replace(result, strides=(*[strides[axis] for axis in kept], sum(steps)))


def _diag(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    offset = call.to_integer(arguments["diagonal"])
    if tensor.rank == 1:
        size = tensor.program.add_dims(tensor.shape[0], abs(offset))
        return derived_tensor((size, size), tensor)
    if tensor.rank != 2:
        raise call.refusal(f"diag takes a vector or a matrix, not {shape_text(tensor.shape)}")
    rows, columns = tensor.shape
    return derived_tensor((_diagonal_length(rows, columns, offset, call),), tensor)


def _diag_embed(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    if (arguments["dim1"], arguments["dim2"]) != (-2, -1) or not tensor.rank:
        raise call.error("other axes of diag_embed are not supported")
    size = tensor.program.add_dims(tensor.shape[-1], abs(call.to_integer(arguments["offset"])))
    return derived_tensor((*tensor.shape[:-1], size, size), tensor)


def _outer(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    other = require_tensor(arguments["other"], call)
    if tensor.conventions.torch_checks and (tensor.rank, other.rank) != (1, 1):
        raise call.refusal(f"outer takes vectors, not {shape_text(tensor.shape)} and {shape_text(other.shape)}")
    return derived_tensor((product(tensor.shape), product(other.shape)), tensor, other)


def _kron(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    other = require_tensor(arguments["other"], call)
    rank = max(tensor.rank, other.rank)
    left, right = [(1,) * (rank - part.rank) + part.shape for part in (tensor, other)]
    return derived_tensor(tuple([product(pair) for pair in zip(left, right, strict=True)]), tensor, other)


def _cdist(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    other = require_tensor(arguments["other"], call)
    if tensor.rank < 2 or other.rank < 2 or are_different_integers(tensor.shape[-1], other.shape[-1]):
        raise call.refusal(f"{shape_text(tensor.shape)} and {shape_text(other.shape)} are not lists of points")
    batches = [derived_tensor(part.shape[:-2], part) for part in (tensor, other)]
    batch = apply_multi_operand(BROADCAST, batches, call.error)
    return derived_tensor((*batch.shape, tensor.shape[-2], other.shape[-2]), batch)


def _cosine_similarity(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    other = require_tensor(arguments["other"], call)
    common = apply_multi_operand(BROADCAST, [tensor, other], call.error)
    axis = call.to_axis(common, arguments["dim"])
    return derived_tensor((*common.shape[:axis], *common.shape[axis + 1 :]), common)


def _elementwise(tensor: TracedTensor, call: Call) -> CodeValue:
    """Apply an elementwise function of tensors and numbers."""
    values = (*call.positional, *call.keywords.values())
    others = [value for value in values if isinstance(value, TracedTensor)]
    unknown = [value for value in values if isinstance(value, Monomial)]
    if unknown:
        raise call.error("another tensor's shape is not known", "give all shapes: --input 'x=N,C w=C,D'")
    return apply_multi_operand(BROADCAST, [tensor, *others], call.error) if others else tensor.apply_scalar_op()


def _elementwise_in_place(tensor: TracedTensor, call: Call) -> CodeValue:
    """Apply an in-place elementwise method.

    The other tensors must broadcast to the shape of `tensor`.
    """
    if call.name == "fill_diagonal_":
        _require_square(tensor, call)
    others = [value for value in (*call.positional, *call.keywords.values()) if isinstance(value, TracedTensor)]
    for other in others:
        tensor = inherit_conditions(tensor, [other.apply(EXPAND, target=tensor.shape)])
    return tensor


def _put_at_indices(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Apply `index_put`: broadcast values to the indexed elements, and write them."""
    indices, values = arguments["indices"], arguments["values"]
    if is_number(values):
        values = replace(initial_tensor((), tensor.dialect, tensor.program), kinds=kinds_of(values))
    values = require_tensor(values, call)
    if not isinstance(indices, tuple) or not all(isinstance(index, TracedTensor) for index in indices):
        raise call.error("the indices are a tuple of tensors")
    require_equal_kinds(tensor, values, call)
    written = values.apply(EXPAND, target=index_with_arrays(tensor, indices, call.error).shape)
    return inherit_conditions(tensor, [written])


def _require_square(tensor: TracedTensor, call: Call) -> None:
    """Raise `CheckRefused` unless a tensor has two dims, or more dims of equal size."""
    sizes = {dim for dim in tensor.shape if isinstance(dim, int)}
    if tensor.rank < 2 or (tensor.rank > 2 and len(sizes) > 1):
        raise call.refusal(f"it takes 2 dims or equal ones, not {shape_text(tensor.shape)}")


def _view_as_complex(tensor: TracedTensor, _: BoundArguments, call: Call) -> CodeValue:
    if not tensor.rank or are_different_integers(tensor.shape[-1], 2):
        raise call.refusal(f"the last dim is 2, and the tensor is {shape_text(tensor.shape)}")
    return derived_tensor(tensor.shape[:-1], tensor)


def _view_as_real(tensor: TracedTensor, _: BoundArguments, __: Call) -> CodeValue:
    return derived_tensor((*tensor.shape, 2), tensor)


def _grid_sample(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    grid = require_tensor(arguments["grid"], call)
    is_fit = tensor.rank == grid.rank and tensor.rank in (4, 5)
    if (
        not is_fit
        or are_different_integers(grid.shape[-1], tensor.rank - 2)
        or are_different_integers(tensor.shape[0], grid.shape[0])
    ):
        raise call.refusal(f"a grid {shape_text(grid.shape)} does not sample {shape_text(tensor.shape)}")
    if 0 in tensor.shape[2:]:
        raise call.refusal(f"there is nothing to sample in {shape_text(tensor.shape)}")
    return derived_tensor((*tensor.shape[:2], *grid.shape[1:-1]), tensor, grid)


def _affine_grid(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    sizes = arguments["size"]
    if not isinstance(sizes, tuple) or len(sizes) not in (4, 5):
        raise call.error("affine_grid needs the sizes of the output")
    rank = len(sizes) - 2
    wanted = (call.to_dim(sizes[0]), rank, rank + 1)
    if tensor.rank != 3 or any(map(are_different_integers, tensor.shape, wanted)):
        raise call.refusal(f"its matrices are {shape_text(wanted)}, not {shape_text(tensor.shape)}")
    return derived_tensor((call.to_dim(sizes[0]), *map(call.to_dim, sizes[2:]), len(sizes) - 2), tensor)


def _scaled_dot_product_attention(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Apply scaled dot product attention.

    If `enable_gqa` is set, the keys may have fewer heads than the queries.
    """
    key, value = require_tensor(arguments["key"], call), require_tensor(arguments["value"], call)
    parts = (tensor, key, value)
    text = " ".join([shape_text(part.shape) for part in parts])
    if min(part.rank for part in parts) < 2:
        raise call.refusal(f"attention takes at least 2 dims: {text}")
    if are_different_integers(tensor.shape[-1], key.shape[-1]) or are_different_integers(
        key.shape[-2], value.shape[-2]
    ):
        raise call.refusal(f"queries, keys and values do not fit: {text}")
    if truth_value(arguments["enable_gqa"]):
        return derived_tensor((*tensor.shape[:-1], value.shape[-1]), *parts)
    if 0 in tensor.shape + key.shape and len({part.rank for part in parts}) > 1:
        raise call.error("PyTorch returns a result of another rank for inputs without elements")
    mask, scores = arguments["attn_mask"], (tensor.shape[-2], key.shape[-2])
    if isinstance(mask, TracedTensor):
        if truth_value(arguments["is_causal"]):
            raise call.refusal("it takes a mask or is_causal, not both")
        require_kinds(mask, "bf", call, "its mask")
        if 0 not in tensor.shape + key.shape:
            mask.apply(EXPAND, target=(*tensor.shape[:-2], *scores))
    batches = [derived_tensor(part.shape[:-2], part) for part in parts]
    batch = apply_multi_operand(BROADCAST, batches, call.error)
    result, strides = derived_tensor((*batch.shape, tensor.shape[-2], value.shape[-1]), batch), tensor.strides
    if strides is not None and is_contiguous(tensor.shape, strides):
        return result
    keeps_order = result.rank == 4 and result.shape == tensor.shape and arguments["attn_mask"] is None
    # the strides are those that PyTorch's CPU kernels return when measured
    if strides is None or strides[-1] != 1 or not keeps_order:
        return replace(result, strides=None)
    return replace(result, strides=compute_clone_strides(result.shape, strides))


def _dispatched_attention(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Apply the attention function of diffusers.

    The tensors have the dims `(batch, length, heads, channels)`. Source: dispatch_attention_fn of diffusers.
    """
    key, value = require_tensor(arguments["key"], call), require_tensor(arguments["value"], call)
    if {tensor.rank, key.rank, value.rank} != {4} or are_different_integers(tensor.shape[-1], key.shape[-1]):
        text = " ".join([shape_text(part.shape) for part in (tensor, key, value)])
        raise call.refusal(f"queries, keys and values do not fit: {text}")
    return replace(derived_tensor((*tensor.shape[:-1], value.shape[-1]), tensor, key, value), strides=None)


def _embedding(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    weight = require_tensor(arguments["weight"], call)
    if weight.rank != 2:
        raise call.refusal(f"the weight is a matrix, not {shape_text(weight.shape)}")
    result = replace(derived_tensor((*tensor.shape, weight.shape[1]), tensor, weight), kinds=weight.kinds)
    return require_indices(result, tensor, weight, 0, call)


def _one_hot(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    classes = arguments["num_classes"]
    if classes in (None, -1):
        raise call.error("the number of classes depends on the elements", "write num_classes=")
    table = derived_tensor((call.to_dim(classes),), tensor)
    if table.shape == (0,):
        raise call.refusal("it takes at least 1 class")
    return require_indices(derived_tensor((*tensor.shape, *table.shape), tensor), tensor, table, 0, call)


def _masked_select(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Apply `masked_select`, which returns a vector of unknown length."""
    mask = require_tensor(arguments["mask"], call)
    require_kinds(mask, "b", call, "the mask")
    common = apply_multi_operand(BROADCAST, [tensor, mask], call.error)
    return derived_tensor((tensor.program.new_name("K"),), common)


def _nonzero(tensor: TracedTensor, arguments: BoundArguments, _: Call) -> CodeValue:
    count = tensor.program.new_name("K")
    if truth_value(arguments.get("as_tuple")) or not tensor.conventions.stacks_indices:
        return tuple([derived_tensor((count,), tensor) for _ in range(max(tensor.rank, 1))])
    return derived_tensor((count, tensor.rank), tensor)


def _glu(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    axis = call.to_axis(tensor, arguments["dim"])
    half = quotient(tensor.shape[axis], 2)
    if isinstance(half, Monomial) and not half.powers:
        raise call.refusal(f"{tensor.shape[axis]} is not even")
    if isinstance(half, Monomial):
        tensor.program.require_division(tensor.shape[axis], 2)
    result, strides = derived_tensor(replace_dim(tensor.shape, axis, half), tensor), tensor.strides
    return replace(result, strides=strides and compute_elementwise_strides(result.shape, [(result.shape, strides)]))


def _apply_searchsorted(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Apply `searchsorted`.

    The boundaries are a vector, or one vector for each vector of values.
    """
    values = arguments["values"]
    if is_number(values):
        values = derived_tensor((), tensor)
    values = require_tensor(values, call)
    is_fit = tensor.rank == 1 or (
        tensor.rank == values.rank > 0 and not any(map(are_different_integers, tensor.shape[:-1], values.shape[:-1]))
    )
    if not is_fit:
        raise call.refusal(f"boundaries {shape_text(tensor.shape)} do not fit {shape_text(values.shape)}")
    return derived_tensor(values.shape, values)


def _bucketize(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    boundaries = arguments["boundaries"]
    if isinstance(boundaries, TracedTensor) and boundaries.rank != 1:
        raise call.refusal(f"the boundaries are a vector, not {shape_text(boundaries.shape)}")
    return derived_tensor(tensor.shape, tensor)


def _multinomial(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    if tensor.rank not in (1, 2):
        raise call.refusal(f"it takes 1 or 2 dims, and {shape_text(tensor.shape)} has {tensor.rank}")
    count, size = call.to_dim(arguments["num_samples"]), tensor.shape[-1]
    repeats = arguments["replacement"] is not None and truth_value(arguments["replacement"]) is not False
    most = count if repeats else size
    if isinstance(count, int) and (count < 1 or (isinstance(most, int) and count > most)):
        raise call.refusal(f"there are no {count} of {size}")
    if size == 0 and 0 not in tensor.shape[:-1]:
        raise call.refusal("a distribution without elements has no sample")
    return derived_tensor((*tensor.shape[:-1], count), tensor)


def _bincount(tensor: TracedTensor, _: BoundArguments, call: Call) -> CodeValue:
    """Apply `bincount`, which returns a vector of unknown length."""
    if tensor.rank != 1:
        raise call.refusal(f"it takes a vector, not {shape_text(tensor.shape)}")
    require_kinds(tensor, "i", call, "its input")
    return derived_tensor((tensor.program.new_name("K"),), tensor)


def _split_by_sizes(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    sizes = arguments["split_sizes"]
    if not isinstance(sizes, tuple):
        raise call.error(f"{call.name} needs the sizes of the parts")
    return split_tensor(tensor, call.to_axis(tensor, arguments["dim"]), sizes=tuple(map(call.to_dim, sizes)))


def _histc(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    count = call.to_dim(100 if arguments["bins"] is None else arguments["bins"])
    if isinstance(count, int) and count < 1:
        raise call.refusal(f"it takes at least 1 bin, not {count}")
    return derived_tensor((count,), tensor)


def _add_product(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Apply `addmm` or `baddbmm`."""
    one, other = [require_tensor(arguments[name], call) for name in ("mat1", "mat2")]
    rank = 3 if call.name == "baddbmm" else 2
    if (one.rank, other.rank) != (rank, rank) or are_different_integers(one.shape[-1], other.shape[-2]):
        raise call.refusal(f"{shape_text(one.shape)} and {shape_text(other.shape)} have no product")
    result = derived_tensor((*one.shape[:-1], other.shape[-1]), one, other)
    return inherit_conditions(result, [tensor.apply(EXPAND, target=result.shape)])


def _as_strided(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Apply `as_strided`.

    Raises `CheckRefused` if the result exceeds the storage of an input; the storage of other tensors is unknown.
    """
    steps = arguments["stride"]
    if not isinstance(arguments["size"], tuple) or not isinstance(steps, tuple):
        raise call.error("as_strided needs the sizes and the strides")
    result = derived_tensor(tuple(map(call.to_dim, arguments["size"])), tensor)
    if len(steps) != result.rank:
        raise call.refusal(f"{len(steps)} strides for {result.rank} sizes")
    numbers = [*zip(result.shape, steps, strict=True), (call.to_integer(arguments["storage_offset"]) + 1, 1)]
    pairs = [(size, step) for size, step in numbers if isinstance(size, int) and isinstance(step, int)]
    is_known = len(pairs) == len(numbers) and 0 not in result.shape
    last = sum((size - 1) * step for size, step in pairs) if is_known else 0
    count = product(tensor.shape)
    if tensor.input_name and not tensor.stages and isinstance(count, int) and last >= count:
        raise call.refusal(f"element {last} is not among the {count} of {shape_text(tensor.shape)}")
    return replace(result, strides=steps if all(map(is_dim, steps)) else None)


_DIM, _LAST, _KEEP = "dim/axis", "dim/axis=-1", "keepdim/keepdims"
_MEANS = ("size_average", "reduce")
_WINDOW = ("kernel_size", "dilation", "padding", "stride")
SHAPE_FUNCTIONS: Mapping[str, ShapeFunction] = {
    "gather": ShapeFunction(("dim", "index", "sparse_grad"), _gather),
    **dict.fromkeys(("take_along_dim", "take_along_axis"), ShapeFunction(("index/indices", _DIM), _take_along_axis)),
    **{
        f"{name}{end}": ShapeFunction(("dim", "index", "src/value", "reduce", "include_self"), _scatter)
        for name in ("scatter", "scatter_add", "scatter_reduce")
        for end in ("", "_")
    },
    **{
        f"index_{name}{end}": ShapeFunction(("dim", "index", "source/value", "alpha"), _write_at_indices)
        for name in ("add", "copy", "fill")
        for end in ("", "_")
    },
    **{
        f"index_reduce{end}": ShapeFunction(("dim", "index", "source", "reduce", "include_self"), _write_at_indices)
        for end in ("", "_")
    },
    **dict.fromkeys(("index_put", "index_put_"), ShapeFunction(("indices", "values", "accumulate"), _put_at_indices)),
    **dict.fromkeys(("masked_scatter", "masked_scatter_"), ShapeFunction(("mask", "source"), _masked_scatter)),
    "index_select": ShapeFunction(("dim", "index"), _index_select),
    "topk": ShapeFunction(("k", _LAST, "largest", "sorted"), _topk),
    "sort": ShapeFunction((_LAST, "descending", "stable"), _values_and_indices),
    "argsort": ShapeFunction((_LAST, "descending", "stable"), _indices_along_axis),
    **dict.fromkeys(("cummax", "cummin"), ShapeFunction((_DIM,), _values_and_indices)),
    "logcumsumexp": ShapeFunction((_DIM,), _indices_along_axis),
    "kthvalue": ShapeFunction(("k", _LAST, _KEEP), _reduction_values_and_indices),
    "mode": ShapeFunction((_LAST, _KEEP), _reduction_values_and_indices),
    **dict.fromkeys(("median", "nanmedian"), ShapeFunction((_DIM, _KEEP), _reduction_values_and_indices)),
    "aminmax": ShapeFunction((_DIM, _KEEP), _min_and_max),
    **dict.fromkeys(
        ("std_mean", "var_mean"), ShapeFunction((_DIM, "unbiased", _KEEP, "correction"), _reduction_values_and_indices)
    ),
    **dict.fromkeys(("logsumexp", "nansum", "nanmean"), ShapeFunction((_DIM, _KEEP), _reduction)),
    "count_nonzero": ShapeFunction((_DIM, "keepdims"), _reduction),
    **dict.fromkeys(("view_as", "reshape_as", "expand_as"), ShapeFunction(("other",), _shape_of_other)),
    **{f"atleast_{rank}d": ShapeFunction((), _insert_missing_axes) for rank in (1, 2, 3)},
    "diagonal": ShapeFunction(("offset=0", "dim1/axis1=0", "dim2/axis2=1"), _diagonal),
    "as_strided": ShapeFunction(("size", "stride", "storage_offset=0"), _as_strided),
    "diag": ShapeFunction(("diagonal/k=0",), _diag),
    "diag_embed": ShapeFunction(("offset=0", "dim1=-2", "dim2=-1"), _diag_embed),
    **dict.fromkeys(("outer", "ger"), ShapeFunction(("other/vec2/b",), _outer)),
    "kron": ShapeFunction(("other/b",), _kron),
    "cdist": ShapeFunction(("other/x2", "p", "compute_mode"), _cdist),
    "cosine_similarity": ShapeFunction(("other/x2", "dim=1", "eps"), _cosine_similarity),
    "unfold": ShapeFunction(("dimension/dim", "size", "step"), unfold_axis),
    "F.unfold": ShapeFunction(_WINDOW, unfold_image),
    "F.fold": ShapeFunction(("output_size", *_WINDOW), fold_image),
    "view_as_complex": ShapeFunction((), _view_as_complex),
    "view_as_real": ShapeFunction((), _view_as_real),
    **{
        f"fft.{name}": ShapeFunction(("n/s", "dim/axis/axes", "norm"), apply_fourier_transform)
        for name in [
            "fft",
            "ifft",
            "rfft",
            "irfft",
            "fft2",
            "ifft2",
            "rfft2",
            "irfft2",
            "fftn",
            "ifftn",
            "rfftn",
            "irfftn",
        ]
    },
    **{f"fft.{name}": ShapeFunction(("dim/axes",), _shift_frequencies) for name in ("fftshift", "ifftshift")},
    "stft": ShapeFunction(
        (
            *("n_fft", "hop_length", "win_length", "window", "center", "pad_mode"),
            "normalized",
            "onesided",
            "return_complex",
        ),
        apply_stft,
    ),
    "grid_sample": ShapeFunction(("grid", "mode", "padding_mode", "align_corners"), _grid_sample),
    "affine_grid": ShapeFunction(("size", "align_corners"), _affine_grid),
    "scaled_dot_product_attention": ShapeFunction(
        ("key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa"), _scaled_dot_product_attention
    ),
    "dispatch_attention_fn": ShapeFunction(
        (
            *("key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa", "attention_kwargs"),
            *("backend", "parallel_config"),
        ),
        _dispatched_attention,
    ),
    "embedding": ShapeFunction(("weight", "padding_idx", "max_norm"), _embedding),
    "one_hot": ShapeFunction(("num_classes",), _one_hot),
    "masked_select": ShapeFunction(("mask",), _masked_select),
    "nonzero": ShapeFunction(("as_tuple",), _nonzero),
    "glu": ShapeFunction(("dim=-1",), _glu),
    "searchsorted": ShapeFunction(("values/v", "right", "side", "sorter"), _apply_searchsorted),
    "bucketize": ShapeFunction(("boundaries", "right"), _bucketize),
    **dict.fromkeys(
        ("mse_loss", "l1_loss", "smooth_l1_loss", "kl_div"),
        ShapeFunction(("target", *_MEANS, "reduction", "beta/log_target/weight"), apply_elementwise_loss),
    ),
    "huber_loss": ShapeFunction(("target", "reduction", "delta", "weight"), apply_elementwise_loss),
    **dict.fromkeys(
        ("binary_cross_entropy", "binary_cross_entropy_with_logits"),
        ShapeFunction(("target", "weight", *_MEANS, "reduction", "pos_weight"), apply_elementwise_loss),
    ),
    **dict.fromkeys(
        ("cross_entropy", "nll_loss"),
        ShapeFunction(
            ("target", "weight", "size_average", "ignore_index", "reduce", "reduction", "label_smoothing"),
            apply_class_loss,
        ),
    ),
    **{
        name: ShapeFunction(parameters, result)
        for name, (parameters, result) in {**MATRIX_FUNCTIONS, **STATISTICS_FUNCTIONS}.items()
    },
    "bincount": ShapeFunction(("weights", "minlength"), _bincount),
    "split_with_sizes": ShapeFunction(("split_sizes", "dim=0"), _split_by_sizes),
    "multinomial": ShapeFunction(("num_samples", "replacement", "generator"), _multinomial),
    "bernoulli": ShapeFunction(("p",), _same_shape),
    "histc": ShapeFunction(("bins", "min", "max"), _histc),
    **dict.fromkeys(("addmm", "baddbmm"), ShapeFunction(("mat1/batch1", "mat2/batch2", "beta", "alpha"), _add_product)),
}
"""The functions that have no op, keyed by name. `F.unfold` is the function, and `unfold` is the method."""
ELEMENTWISE_FUNCTIONS = {
    *("eq", "ne", "lt", "le", "gt", "ge", "not_equal", "less", "greater", "less_equal", "greater_equal"),
    *("logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "isclose"),
    *("true_divide", "floor_divide", "hypot", "complex", "polar", "addcmul", "addcdiv", "float_power", "fmax", "fmin"),
    *("power", "mod", "copysign", "logaddexp", "ldexp", "logaddexp2", "gcd", "lcm", "heaviside", "igamma", "igammac"),
    *("nextafter", "bitwise_left_shift", "bitwise_right_shift", "rsub"),
}
"""Functions that compute each element of the result from one element of each tensor."""
IN_PLACE_METHODS = {
    *("add_", "sub_", "mul_", "div_", "copy_", "fill_", "zero_", "clamp_", "clip_", "pow_", "relu_", "sigmoid_"),
    *("tanh_", "exp_", "sqrt_", "rsqrt_", "abs_", "neg_", "round_", "floor_", "ceil_", "normal_", "uniform_"),
    *("addcmul_", "addcdiv_", "lerp_", "bernoulli_", "fill_diagonal_", "logical_not_", "trunc_", "log_", "selu_"),
    *("clamp_min_", "clamp_max_", "logical_and_", "logical_or_", "logical_xor_", "sin_", "cos_", "square_", "sign_"),
    *("reciprocal_", "erf_", "exp2_", "nan_to_num_", "fmod_", "remainder_", "frac_", "tan_", "sinh_", "cosh_"),
    *("asin_", "acos_", "atan_", "atan2_", "log2_", "log10_", "log1p_", "expm1_", "erfc_", "sgn_", "xlogy_"),
}
"""Methods that change the elements of a tensor and keep its shape."""
NEW_METHODS = {"new_zeros", "new_ones", "new_empty", "new_full"}
"""The methods that create a tensor of a requested shape."""


def qualified_name(path: str) -> str:
    """Return the function name in a dotted path, with a module prefix if required.

    Names such as `F.unfold` and `fft.fft` require a prefix, because the name alone has another meaning.

    >>> qualified_name("nn.functional.unfold"), qualified_name("torch.fft.rfft"), qualified_name("x.unfold")
    ('F.unfold', 'fft.rfft', 'x.unfold')
    """
    module, _, name = path.rpartition(".")
    last = module.rpartition(".")[2]
    return f"{'F' if last == 'functional' else last}.{name}" if last in ("functional", "fft", "linalg") else path


def call_shape_function(name: str, tensor: TracedTensor, call: Call) -> CodeValue:
    """Call a function that has no op, given its name."""
    if name in ELEMENTWISE_FUNCTIONS:
        return _elementwise(tensor, call)
    if name in IN_PLACE_METHODS:
        return _elementwise_in_place(tensor, call)
    if name in NEW_METHODS:
        return _new_tensor(tensor, call)
    return SHAPE_FUNCTIONS[name].apply(tensor, call)


SHAPE_FUNCTION_NAMES = {*SHAPE_FUNCTIONS, *ELEMENTWISE_FUNCTIONS, *IN_PLACE_METHODS, *NEW_METHODS}
"""The names of all functions that this module evaluates."""

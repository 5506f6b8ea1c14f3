"""Apply the functions and methods that change the shape of a tensor.

Each of them adds stages to the chain of the tensor.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import inf

from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import ParamType
from shapecalc.core.dims import Dim, Monomial, Shape, product, quotient
from shapecalc.core.ops import OPS
from shapecalc.core.ops.broadcast import BROADCAST
from shapecalc.core.ops.calls import argument_names, calls_by_name, find_call, parse_signatures
from shapecalc.core.ops.expand import EXPAND
from shapecalc.core.ops.flatten import FLATTEN, FLATTEN_SEMANTICS, FlattenMode
from shapecalc.core.ops.mean import MEAN
from shapecalc.core.ops.moveaxis import MOVEAXIS, insert_axes
from shapecalc.core.ops.op import Op, operator_of
from shapecalc.core.ops.rearrange import REARRANGE, RearrangePlan, axis_lengths, plan_rearrange
from shapecalc.core.ops.repeat_interleave import REPEAT_INTERLEAVE
from shapecalc.core.ops.reshape import RESHAPE
from shapecalc.core.ops.split import SPLIT
from shapecalc.core.ops.squeeze import SQUEEZE
from shapecalc.core.ops.swapaxes import SWAPAXES
from shapecalc.core.ops.tile import TILE
from shapecalc.core.ops.transpose import TRANSPOSE
from shapecalc.core.ops.unsqueeze import UNSQUEEZE
from shapecalc.core.ops.view import VIEW
from shapecalc.core.record import replace
from shapecalc.reading.code.arguments import Call
from shapecalc.reading.code.operands import apply_multi_operand
from shapecalc.reading.code.shape_arguments import require_distinct_axes, require_elements, require_flag
from shapecalc.reading.code.values import (
    AnswerableError,
    CodeValue,
    TensorChunks,
    TracedTensor,
    derived_tensor,
    split_tensor,
)
from shapecalc.reading.commands import COMPOSITE_OPS, expand_composite, parse_stage
from shapecalc.reading.layers import LAYERS, MULTI_OPERAND_FUNCTIONS


def _apply_call(tensor: TracedTensor, call: Call) -> CodeValue:
    """Apply the op that a function or method name denotes.

    If the op has a handler in `HANDLERS`, the handler converts the arguments of the call.
    """
    op, _ = find_call(call.name, tensor.dialect)
    if op in (RESHAPE, FLATTEN) and tensor.conventions.numpy_arguments:
        call, order = _pop_order_argument(call)
        if order == "F":
            return _reshape_in_fortran_order(op, tensor, call)
    handler = HANDLERS.get(op.name)
    return handler(tensor, call) if handler else _apply_op(op, tensor, call)


def _pop_order_argument(call: Call) -> tuple[Call, str]:
    """Remove the argument `order` of NumPy's `reshape`, `ravel` or `flatten`.

    Returns the remaining call and the order, C or F. Raises `ShapeError` (usage) for an order that depends on the
    memory layout of the array.
    """
    last = call.positional[-1] if call.positional else None
    order = call.keywords.get("order", last if isinstance(last, str) else "C")
    if order not in ("C", "F"):
        raise call.error("the order depends on the memory of the array", "write order='C' or order='F'")
    positional = call.positional[:-1] if isinstance(last, str) else call.positional
    keywords = {name: value for name, value in call.keywords.items() if name != "order"}
    return replace(call, positional=positional, keywords=keywords), str(order)


def _reshape_in_fortran_order(op: Op, tensor: TracedTensor, call: Call) -> TracedTensor:
    """Reshape in Fortran order: transpose, reshape and transpose again.

    Source: numpy.reshape.
    """
    target = call.dims_argument(*_sequence_argument_names(op, "target", tensor, call)) if op is RESHAPE else (-1,)
    result = (tensor.reverse_axes() if tensor.rank > 1 else tensor).reshape(*target[::-1])
    return result.reverse_axes() if result.rank > 1 else result


def _apply_op(op: Op, tensor: TracedTensor, call: Call) -> TracedTensor:
    """Apply an op to a tensor with the arguments of a call.

    If the op's only parameter is a list, the call may pass the items as separate arguments.
    """
    names = argument_names(op, call.name, tensor.dialect)
    params = {param.name: param.type for param in op.params}
    if len(names) == 1 and (read_list := SEQUENCE_CONVERTERS.get(params[next(iter(names))])):
        [(param, aliases)] = names.items()
        return tensor.apply(op, **{param: read_list(call, *aliases.split("/"))})
    pairs = zip(names, call.bind_arguments(*names.values()), strict=True)
    return tensor.apply(op, **{param: None if value is None else call.to_size(value) for param, value in pairs})


SEQUENCE_CONVERTERS: Mapping[ParamType, Callable[..., Shape]] = {
    ParamType.TARGET: Call.dims_argument,
    ParamType.AXES: Call.axes_argument,
}
"""The methods that convert a sequence argument to dims or axes, keyed by parameter type."""


def _sequence_argument_names(op: Op, param: str, tensor: TracedTensor, call: Call) -> list[str]:
    """Return the names that frameworks use for a list parameter of an op."""
    return argument_names(op, call.name, tensor.dialect)[param].split("/")


def _view(tensor: TracedTensor, call: Call) -> TracedTensor:
    if len(call.positional) == 1 and call.positional[0] != call.positional[0]:  # nan represents an element type
        raise call.error("a view with another element type is not supported", "write the shape")
    target = call.dims_argument(*_sequence_argument_names(VIEW, "target", tensor, call))
    return tensor.view(target, call.error) if tensor.conventions.is_strided else tensor.reshape(*target)


def _transpose(tensor: TracedTensor, call: Call) -> TracedTensor:
    """Permute the axes, or reverse them if there is no permutation."""
    axes = call.axes_argument(*_sequence_argument_names(TRANSPOSE, "perm", tensor, call))
    _, signature = find_call(call.name, tensor.dialect)
    has_default = any(argument.default for argument in signature.arguments)
    return tensor.reverse_axes() if has_default and not axes else tensor.permute(axes)


def _swap_axes(tensor: TracedTensor, call: Call) -> TracedTensor:
    axes = list(range(tensor.rank))
    values = call.bind_params(SWAPAXES, tensor.dialect, "axis1", "axis2")
    one, other = [call.to_axis(tensor, value) for value in values]
    axes[one], axes[other] = other, one
    return tensor.permute(axes)


def _moveaxis(tensor: TracedTensor, call: Call) -> TracedTensor:
    values = call.bind_params(MOVEAXIS, tensor.dialect, "axes", "destination")
    axis_lists = [value if isinstance(value, tuple) else (value,) for value in values]
    sources, destinations = ([call.to_axis(tensor, axis) for axis in group] for group in axis_lists)
    is_repeated = not tensor.conventions.repeats_destinations and len({*destinations}) < len(destinations)
    if len({len(sources), len(destinations), len({*sources})}) > 1 or is_repeated:
        raise call.error("each axis moves to one place")
    return tensor.permute(insert_axes(tensor.rank, tuple(sources), destinations))


def _flatten(tensor: TracedTensor, call: Call) -> TracedTensor:
    params = ("start_dim", "end_dim")
    values = call.bind_params(FLATTEN, tensor.dialect, *params)
    has_axes = any(isinstance(value, int) for value in values)
    if tensor.conventions.numpy_arguments and has_axes:
        raise call.error(f"{call.name} takes no axes in {tensor.dialect}")
    mode = FLATTEN_SEMANTICS.for_dialect(DIALECTS[tensor.dialect]).flattens
    if not has_axes and mode is not FlattenMode.RANGE:
        return tensor.reshape(-1)
    signature = find_call(call.name, "torch")[1]
    defaults = [int(argument.default) for argument in signature.arguments] or [0, -1]
    ends = [call.to_integer(value, default) for value, default in zip(values, defaults, strict=True)]
    return tensor.apply(FLATTEN, **dict(zip(params, ends, strict=True)))


def _squeeze(tensor: TracedTensor, call: Call) -> TracedTensor:
    names = _sequence_argument_names(SQUEEZE, "axes", tensor, call)
    axes = call.sequence_argument(*names)
    return tensor.apply(SQUEEZE, axes=call.axes_argument(*names) if axes not in ((), (None,)) else None)


def _tile(tensor: TracedTensor, call: Call) -> TracedTensor:
    """Apply `tile`, or PyTorch's `repeat`.

    `tile` aligns the repeat counts with the last dims, except in TensorFlow, which requires one count per dim.
    """
    counts = call.dims_argument(*_sequence_argument_names(TILE, "repeats", tensor, call))
    missing = tensor.rank - len(counts) if call.name == TILE.name else 0
    return tensor.apply(TILE, repeats=(*(1,) * missing, *counts))


def _repeat(tensor: TracedTensor, call: Call) -> TracedTensor:
    """Apply `repeat` of PyTorch, einops or NumPy.

    PyTorch tiles the tensor, einops follows a pattern, and NumPy repeats each element.
    """
    if call.positional and isinstance(call.positional[0], str):
        return _rearrange(tensor, call)
    op, signature = find_call(call.name, tensor.dialect)
    is_tile = op is TILE and (call.name == TILE.name or signature.exists_in(tensor.dialect))
    return _tile(tensor, call) if is_tile else _repeat_elements(tensor, call)


def _repeat_elements(tensor: TracedTensor, call: Call) -> TracedTensor:
    """Apply `repeat_interleave`.

    In dialects without this op, the stages are an unsqueeze, an expand and a reshape.
    """
    known = {name: value for name, value in call.keywords.items() if name != "output_size"}
    call = replace(call, keywords=known)
    count, axis = call.bind_params(REPEAT_INTERLEAVE, tensor.dialect, "repeats", "axis")
    counts = tuple(map(call.to_dim, count)) if isinstance(count, tuple) else (call.to_dim(count),)
    if operator_of(REPEAT_INTERLEAVE, DIALECTS[tensor.dialect]):
        return tensor.apply(REPEAT_INTERLEAVE, repeats=counts, axis=None if axis is None else call.to_integer(axis))
    if axis is None:
        tensor, axis = tensor.reshape(-1), 0
    index = call.to_axis(tensor, axis)
    if len(counts) != 1:
        raise call.error(f"{tensor.dialect} has no operator with a count for each element")
    dims, repeats = tensor.shape, counts[0]
    tensor = tensor.apply(UNSQUEEZE, axes=(index + 1,))
    tensor = tensor.apply(EXPAND, target=(*dims[: index + 1], repeats, *dims[index + 1 :]))
    return tensor.reshape(*dims[:index], product((dims[index], repeats)), *dims[index + 1 :])


def _rearrange(tensor: TracedTensor, call: Call) -> TracedTensor:
    """Apply einops' `rearrange` or `repeat`.

    If an axis length is symbolic, the pattern is replaced by stages, for example a reshape and a transpose.
    """
    if len(call.positional) != 1 or not isinstance(call.positional[0], str):
        raise call.error(f"{call.name} of einops takes a pattern")
    lengths = {name: call.to_dim(value) for name, value in call.keywords.items()}
    lengths_text = ",".join(f"{name}={length}" for name, length in lengths.items()) or None
    if not any(isinstance(length, Monomial) for length in lengths.values()):
        return tensor.apply(REARRANGE, pattern=call.positional[0], lengths=lengths_text)
    placeholder = ",".join(f"{name}=2" for name in lengths)
    return _apply_rearrange_plan(tensor, plan_rearrange(tensor.rank, call.positional[0], placeholder), lengths)


def _apply_rearrange_plan(tensor: TracedTensor, plan: RearrangePlan, lengths: Mapping[str, Dim]) -> TracedTensor:
    """Apply the stages of a rearrange plan.

    `lengths` overrides the axis lengths of the plan.
    """
    sizes = axis_lengths(tensor.shape, replace(plan, lengths={**plan.lengths, **lengths}))
    split_shape = tuple([sizes[axis] for axis in plan.axes])
    tensor = tensor if split_shape == tensor.shape else tensor.reshape(*split_shape)
    tensor = tensor if plan.order == tuple(range(tensor.rank)) else tensor.permute(plan.order)
    if plan.new_axes:
        tensor = tensor.insert_axes(tuple(plan.new_axes))
        tensor = tensor.apply(EXPAND, target=tuple([sizes[axis] for names in plan.right for axis in names]))
    target = tuple([product([sizes[axis] for axis in names]) for names in plan.right])
    return tensor if target == tensor.shape else tensor.reshape(*target)


def _chunk(tensor: TracedTensor, call: Call) -> TensorChunks:
    """Split a tensor into a number of parts, at split indices, or into parts of given sizes.

    A list contains split indices, except in `split` of TensorFlow and Paddle, where it contains part sizes.
    """
    count, axis = call.bind_params(SPLIT, tensor.dialect, "parts", "axis")
    split_axis = call.to_axis(tensor, axis, 0)
    if not isinstance(count, tuple):
        uneven = call.name in ("array_split", "tensor_split") or None
        return split_tensor(tensor, split_axis, parts=call.to_integer(count), uneven=uneven)
    sizes = [call.to_dim(size) for size in count]
    are_positions = call.name != SPLIT.name or tensor.conventions.numpy_arguments
    return split_tensor(
        tensor, split_axis, sizes=_part_sizes(tensor.shape[split_axis], sizes, call) if are_positions else tuple(sizes)
    )


def _part_sizes(dim: Dim, positions: Sequence[Dim], call: Call) -> Shape:
    """Return the sizes of the parts between split indices.

    Raises `ShapeError` (usage) if the indices are unknown or not ascending.
    """
    if isinstance(dim, int):
        cuts = [position if isinstance(position, int) else dim + 1 for position in positions]
        ranges = [slice(*ends).indices(dim)[:2] for ends in pairwise((0, *cuts, dim))]
        if max(cuts, default=0) <= dim and all(start <= stop for start, stop in ranges):
            return tuple([stop - start for start, stop in ranges])
    raise call.error("the places of the cuts do not ascend, or are not known", "give sizes with --where")


def _split(tensor: TracedTensor, call: Call) -> CodeValue:
    """Apply `split`.

    In PyTorch, the argument is the size of each part, or a list of the sizes of all parts. The sum of unknown sizes is
    not checked.
    """
    _, signature = find_call(call.name, tensor.dialect)
    takes_size = any(argument.param == "size" for argument in signature.arguments)
    if not takes_size or not signature.exists_in(tensor.dialect):
        return _chunk(tensor, call)
    size, axis = call.bind_params(SPLIT, tensor.dialect, "size", "axis")
    split_axis = call.to_axis(tensor, axis, 0)
    if isinstance(size, tuple):
        sizes = tuple(map(call.to_dim, size))
        try:
            return split_tensor(tensor, split_axis, sizes=sizes)
        except AnswerableError:
            rest = tensor.shape[split_axis + 1 :]
            return tuple([derived_tensor((*tensor.shape[:split_axis], part, *rest), tensor) for part in sizes])
    count = quotient(tensor.shape[split_axis], call.to_dim(size)) if size != 0 else 0
    return split_tensor(
        tensor,
        split_axis,
        **({"parts": count} if isinstance(count, int) and count else {"size": call.to_integer(size)}),
    )


def _unbind(tensor: TracedTensor, call: Call) -> TensorChunks:
    (axis,) = call.bind_arguments("dim/axis")
    split_axis = call.to_axis(tensor, axis, 0)
    dim = tensor.shape[split_axis]
    return TensorChunks(tensor, split_axis, dim if isinstance(dim, int) else None)


def _apply_composite(tensor: TracedTensor, call: Call) -> TracedTensor:
    """Apply a function that is equivalent to several stages, such as `rot90`."""
    parameters = [parameter.rstrip("?") for parameter in COMPOSITE_OPS[call.name][2]]
    arguments = [
        value if value is None or isinstance(value, tuple) else (value,) for value in call.bind_arguments(*parameters)
    ]
    texts = [",".join([str(call.to_integer(item)) for item in value]) for value in arguments if value is not None]
    for words in expand_composite(call.name, tensor.shape, texts):
        stage = parse_stage(words, with_input=False)
        tensor = tensor.apply(OPS[stage.op], **stage.options)
    return tensor


def _reduce_by_pattern(tensor: TracedTensor, call: Call) -> CodeValue:
    """Apply einops' `reduce`.

    A rearrangement moves the reduced axes to the end. The result is a new tensor without these axes.
    """
    if not call.positional or not isinstance(call.positional[0], str):
        return _apply_call(tensor, call)
    pattern, *_ = call.bind_arguments("pattern", "reduction", *[name for name in call.keywords if name != "reduction"])
    left, _, right = str(pattern).partition("->")
    kept = {*re.findall(r"\w+|\.\.\.", right)}
    reduced = [name for name in re.findall(r"\w+|\.\.\.", left) if name not in kept and not name.isdecimal()]
    if "..." in reduced or "_" in reduced:
        raise call.error("a pattern that drops ... is not supported")
    lengths = {name: value for name, value in call.keywords.items() if name != "reduction"}
    rearranged = _rearrange(
        tensor, replace(call, positional=(f"{left}->{right} {' '.join(reduced)}",), keywords=lengths)
    )
    return derived_tensor(rearranged.shape[: rearranged.rank - len(reduced)], rearranged)


def _reduce(tensor: TracedTensor, call: Call) -> CodeValue:
    """Apply a reduction.

    A reduction that is not an op starts a new chain. In PyTorch, `max` and `min` along an axis return a pair of values
    and indices.
    """
    if call.name in ("max", "min") and any(isinstance(value, TracedTensor) for value in call.positional):
        return apply_multi_operand(BROADCAST, (tensor, *call.positional), call.error)
    power = ("p/ord",) if call.name == "norm" else ()
    spread = ("unbiased", "correction", "ddof") if call.name in ("std", "var") else ()
    arguments = call.bind_arguments(*power, "dim/axis", *spread[:1], "keepdim/keepdims", *spread[1:])
    axes, keepdims = arguments[len(power)], arguments[len(power) + 1 + len(spread[:1])]
    if spread and isinstance(axes, bool):
        axes = None
    conventions = tensor.conventions
    require_flag(keepdims, call)
    if conventions.torch_checks and call.name in SINGLE_DIM_REDUCTIONS and isinstance(axes, tuple):
        other = f"write a{call.name}, which takes several" if call.name in ("max", "min") else "call it for each dim"
        raise call.error(f"{call.name} takes one dim", other)
    returns_pair = conventions.returns_indices and call.name in ("max", "min") and axes is not None
    if call.name in MEAN_KINDS and operator_of(MEAN, DIALECTS[tensor.dialect]):
        listed = axes if axes is None or isinstance(axes, tuple) else (axes,)
        options = {"axes": listed and tuple(map(call.to_integer, listed)), "kind": MEAN_KINDS[call.name]}
        reduced_tensor = tensor.apply(MEAN, **options, keepdims=bool(keepdims) or None)
        return (reduced_tensor, reduced_tensor) if returns_pair else reduced_tensor
    if axes == () and conventions.torch_checks and call.name not in ("any", "all"):
        axes = None
    requested = range(tensor.rank) if axes is None else axes if isinstance(axes, tuple) else (axes,)
    is_scalar = tensor.rank == 0 and conventions.torch_checks
    reduced = [(call.to_reduced_axis if is_scalar else call.to_axis)(tensor, axis) for axis in requested]
    require_distinct_axes(reduced, call)
    reduced = [] if is_scalar else reduced
    order = arguments[0] if power else None
    if order == "nuc" and len(reduced) != 2:
        raise call.refusal(f"the norm of a matrix takes 2 axes, not {len(reduced)}")
    # norms of negative and infinite order are undefined for an empty axis
    has_no_identity = isinstance(order, int | float) and (order < 0 or order == inf)
    if call.name in ("argmax", "argmin") or (conventions.torch_checks and has_no_identity):
        require_elements(tensor, reduced, call)
    dims = [
        1 if index in reduced else dim for index, dim in enumerate(tensor.shape) if keepdims or index not in reduced
    ]
    result = derived_tensor(tuple(dims), tensor)
    return (result, result) if returns_pair else result


SINGLE_DIM_REDUCTIONS = ("max", "min", "prod", "argmax", "argmin")
"""PyTorch's reductions over either one dim or all dims. Source: torch.max, torch.prod and torch.argmax, 2.13."""
MEAN_KINDS = {
    name: str(signature.options.get("kind", "mean"))
    for signature in parse_signatures("mean")
    for name in signature.names
}
"""The value of the option `kind` of the op `mean` for each reduction function."""
REDUCTION_FUNCTIONS = (
    *MEAN_KINDS,
    "argmax",
    "argmin",
    "any",
    "all",
    "norm",
    "std",
    "var",
    "prod",
)
HANDLERS: Mapping[str, Callable[[TracedTensor, Call], CodeValue]] = {
    VIEW.name: _view,
    TRANSPOSE.name: _transpose,
    SWAPAXES.name: _swap_axes,
    MOVEAXIS.name: _moveaxis,
    FLATTEN.name: _flatten,
    SQUEEZE.name: _squeeze,
    TILE.name: _repeat,
    REPEAT_INTERLEAVE.name: _repeat,
    REARRANGE.name: _rearrange,
    SPLIT.name: _split,
}
"""Functions that apply an op whose options differ from the arguments of a call, keyed by op name."""
SHAPE_CHANGING_FUNCTIONS: Mapping[str, Callable[[TracedTensor, Call], CodeValue]] = {
    **{name: _apply_call for name in calls_by_name() if name not in LAYERS and name not in MULTI_OPERAND_FUNCTIONS},
    "t": lambda tensor, call: tensor.permute(
        call.axes_argument() or ((1, 0) if tensor.rank > 1 else range(tensor.rank))
    ),
    **dict.fromkeys(("tf.tile", "tensorflow.tile"), _tile),
    **dict.fromkeys(COMPOSITE_OPS, _apply_composite),
    **dict.fromkeys(("unbind", "unstack"), _unbind),
    **dict.fromkeys(REDUCTION_FUNCTIONS, _reduce),
    "reduce": _reduce_by_pattern,
}
"""Evaluators of functions that can change the shape of a tensor, keyed by function name."""

"""Compute the result shapes of sliding windows and Fourier transforms."""

from __future__ import annotations

from shapecalc.core.dims import Dim, Monomial, Shape, product, quotient
from shapecalc.core.record import replace
from shapecalc.core.text import shape_text
from shapecalc.reading.code.arguments import Call
from shapecalc.reading.code.logic import is_explicitly_false, truth_value
from shapecalc.reading.code.shape_arguments import BoundArguments, are_different_integers, replace_dim, to_dims
from shapecalc.reading.code.values import CodeValue, TracedTensor, derived_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def unfold_axis(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Apply `Tensor.unfold`.

    The elements of each window are on a new last axis.
    """
    axis, size = call.to_axis(tensor, arguments["dimension"]), call.to_integer(arguments["size"])
    step, dim = call.to_integer(arguments["step"]), tensor.shape[axis]
    if step < 1 or size < 0 or (isinstance(dim, int) and size > dim):
        raise call.refusal(f"windows of {size} every {step} do not fit {dim}")
    count = tensor.program.floor_dim((dim, -size), step, 1)
    result = derived_tensor((*replace_dim(tensor.shape, axis, count), size), tensor)
    strides = tensor.strides
    if strides is not None:
        strides = (*replace_dim(strides, axis, product((step, strides[axis]))), strides[axis])
    return replace(result, strides=strides)


def unfold_image(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Apply `F.unfold`, which copies the windows of an image to columns."""
    if tensor.rank not in (3, 4):
        raise call.refusal(f"unfold takes 3 or 4 dims, and {shape_text(tensor.shape)} has {tensor.rank}")
    _require_elements_after_batch(tensor, 3, call)
    windows = _window_counts(tensor.shape[-2:], arguments, call, tensor)
    kernel = to_dims(arguments["kernel_size"], 2, call)
    return derived_tensor((*tensor.shape[:-3], product((tensor.shape[-3], *kernel)), product(windows)), tensor)


def _require_elements_after_batch(tensor: TracedTensor, count: int, call: Call) -> None:
    """Raise `CheckRefused` if one of the last `count` dims is 0."""
    if 0 in tensor.shape[-count:]:
        raise call.refusal(f"only the batch may be 0, and the input is {shape_text(tensor.shape)}")


def _window_counts(dims: Shape, arguments: BoundArguments, call: Call, tensor: TracedTensor) -> Shape:
    """Return the number of windows along both spatial axes."""
    defaults = {"dilation": 1, "padding": 0, "stride": 1}
    settings = {name: arguments[name] if arguments[name] is not None else number for name, number in defaults.items()}
    numbers = {name: to_dims(value, 2, call) for name, value in settings.items()}
    kernel, counts = to_dims(arguments["kernel_size"], 2, call), list[Dim]()
    for axis, dim in enumerate(dims):
        dilation, padding, stride, size = [
            call.to_integer(values[axis]) for values in (*[numbers[name] for name in defaults], kernel)
        ]
        terms = (dim, 2 * padding - dilation * (size - 1) - 1)
        if stride < 1 or (isinstance(dim, int) and dim + terms[1] < 0):
            raise call.refusal(f"a window of {size} does not fit {dim}")
        counts.append(tensor.program.floor_dim(terms, stride, 1))
    return tuple(counts)


def fold_image(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Apply `F.fold`, which combines columns into an image."""
    sizes, kernel = to_dims(arguments["output_size"], 2, call), to_dims(arguments["kernel_size"], 2, call)
    if tensor.rank not in (2, 3):
        raise call.refusal(f"fold takes 2 or 3 dims, and {shape_text(tensor.shape)} has {tensor.rank}")
    _require_elements_after_batch(tensor, 2, call)
    channels = quotient(tensor.shape[-2], product(kernel))
    columns = product(_window_counts(sizes, arguments, call, tensor))
    is_fraction = isinstance(channels, Monomial) and not channels.powers
    if is_fraction or are_different_integers(columns, tensor.shape[-1]):
        raise call.refusal(f"columns {shape_text(tensor.shape)} are not those of {shape_text(sizes)}")
    return derived_tensor((*tensor.shape[:-2], channels, *sizes), tensor)


def apply_fourier_transform(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Apply a Fourier transform along one or several axes."""
    name = call.name.rpartition(".")[2]
    is_real = name.startswith(("rfft", "irfft"))
    default: Any = {"2": (-2, -1), "n": tuple(range(tensor.rank))}.get(name[-1], -1)
    axes = default if arguments["dim"] is None else arguments["dim"]
    lengths = arguments["n"] if isinstance(arguments["n"], tuple) else (arguments["n"],)
    shape = [*tensor.shape]
    for index, axis in enumerate(axes if isinstance(axes, tuple) else (axes,)):
        position = call.to_axis(tensor, axis)
        length = lengths[index] if index < len(lengths) else None
        if length is not None:
            shape[position] = call.to_dim(length)
        if shape[position] == 0:
            raise call.refusal(f"there is no transform of {shape_text(tensor.shape)}")
        is_last = index == len(axes if isinstance(axes, tuple) else (axes,)) - 1
        if is_real and is_last and name.startswith("rfft"):
            shape[position] = tensor.program.floor_dim((shape[position],), 2, 1)
        elif is_real and is_last and length is None:
            shape[position] = tensor.program.add_dims(product((2, shape[position])), -2)
    if any(isinstance(dim, int) and dim < 1 for dim in shape):
        raise call.refusal(f"there is no transform of {shape_text(tuple(shape))}")
    return derived_tensor(tuple(shape), tensor)


def apply_stft(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Apply `stft`, which returns the spectra of the windows of a signal."""
    size = call.to_integer(arguments["n_fft"])
    hop = call.to_integer(arguments["hop_length"], size // 4)
    if not truth_value(arguments["return_complex"]) or tensor.rank not in (1, 2) or hop < 1:
        raise call.error("stft is read with return_complex=True, for signals of 1 or 2 dims")
    if 0 in tensor.shape:
        raise call.refusal(f"it takes signals with elements, not {shape_text(tensor.shape)}")
    is_centred, length = not is_explicitly_false(arguments["center"]), tensor.shape[-1]
    if isinstance(length, int) and (size // 2 >= length if is_centred else size > length):
        raise call.refusal(f"{length} samples are too few for windows of {size}")
    frames = tensor.program.floor_dim((tensor.shape[-1], 0 if is_centred else -size), hop, 1)
    has_both_sides = is_explicitly_false(arguments["onesided"]) or (
        arguments["onesided"] is None and tensor.kinds == "c"
    )
    bins = size if has_both_sides else size // 2 + 1
    return derived_tensor((*tensor.shape[:-1], bins, frames), tensor)

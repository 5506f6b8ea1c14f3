"""A calculator for tensor shapes with the rules of many frameworks.

Each op function returns a `Trace`, `chain` returns a `Chain`, and `compare` returns a `Comparison`. All functions raise
`ShapeError`, a `ValueError` with the attributes `problem` and `trace`. A dim is an integer, or a string for a named
size or a monomial: `("N", 3, "H*W")`. An input may also be an object with a `shape`, such as an array; None in a shape
is an unknown dim.

Common options: `dialect` selects the framework whose rules apply (`shapecalc dialects` lists the dialects). `opset` is
the opset of an ONNX model and determines the versions of its operators. `dtype` is the element type, which a dialect
may refuse. `where` maps names to sizes.

>>> import shapecalc as sc
>>> sc.reshape((2, 3, 4), (0, -1)).output
(2, 12)
>>> trace = sc.reshape(("N", "C", "H", "W"), (0, -1, 64))
>>> print(sc.shape_text(trace.output), "when", *trace.conditions)
N,C*H*W/64,64 when C*H*W % 64 == 0
"""

from __future__ import annotations

from shapecalc.core import __version__ as __version__
from shapecalc.core.answers import Answer, Chain, Stage, Step, Trace
from shapecalc.core.ops import OPS
from shapecalc.core.problem import Problem, ShapeError, usage_error
from shapecalc.core.requests import make_request
from shapecalc.core.text import escape_unprintable, shape_text, truncate
from shapecalc.core.values import parse_sizes, to_shape
from shapecalc.reasoning import answers as _answers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, TypedDict, Unpack

    from shapecalc.core.dims import Dim
    from shapecalc.reasoning.compare import Comparison as Comparison
    from shapecalc.reasoning.equiv import Equivalence
    from shapecalc.reasoning.find import ChainSearchResult
    from shapecalc.reasoning.invert import Inversion
    from shapecalc.reasoning.simplify import Simplification
    from shapecalc.testing import assert_shape as assert_shape
    from shapecalc.testing import shapes as shapes

    DimsLike = str | Iterable[int | str | None]
    AxesLike = str | int | Iterable[int]
    ScalesLike = float | str | Sequence[float]

    class BaseOptions(TypedDict, total=False):
        """The options of all ops."""

        dtype: str | None
        where: Mapping[str, int] | None

    class DialectOptions(BaseOptions, total=False):
        """The options of ops that exist in several dialects."""

        dialect: str | None

    class VersionOptions(DialectOptions, total=False):
        """The options of ops that exist in ONNX."""

        opset: int | None

    class WindowOptions(VersionOptions, total=False):
        """The options of convolution and pooling."""

        stride: AxesLike | None
        padding: AxesLike | None
        dilation: AxesLike | None
        layout: str | None

    class ConvOptions(WindowOptions, total=False):
        """The options of conv."""

        groups: int | None
        transposed: bool | None
        output_padding: AxesLike | None

    class ReshapeOptions(VersionOptions, total=False):
        """The options of reshape.

        Some options exist in only one dialect.
        """

        allowzero: bool | None
        special_zero: bool | None
        zero_is_placeholder: bool | None
        reverse: bool | None
        axis: int | None
        num_axes: int | None

    class ShuffleOptions(BaseOptions, total=False):
        """The options of shuffle."""

        first: AxesLike | None
        to: DimsLike | None
        second: AxesLike | None
        zero_is_placeholder: bool | None

    class FlattenOptions(VersionOptions, total=False):
        """The options of flatten."""

        axis: int | None
        start_dim: int | None
        end_dim: int | None

    class SplitOptions(VersionOptions, total=False):
        """The options of split."""

        part: int | None
        sizes: DimsLike | None
        size: int | None
        uneven: bool | None


__all__ = ["Chain", "Comparison", "Problem", "ShapeError", "Stage", "Step", "Trace"]
__all__ += ["chain", "code", "compare", "equiv", "find", "invert", "match", "permute", "shape_text", "simplify", "size"]
__all__ += ["assert_shape", "check_code", "doctor", "model", "shapes"]
__all__ += [*OPS.names]


def __dir__() -> list[str]:
    """Return the names of the public API."""
    return sorted(__all__)


_LAZY_NAMES = {"Comparison": "reasoning.compare", "assert_shape": "testing", "shapes": "testing"}
"""The modules of public names that are slow to import. A module is imported on first access to its name."""


def __getattr__(name: str) -> Any:
    """Import a public name in `_LAZY_NAMES` on first access."""
    if name not in _LAZY_NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(__import__(f"{__name__}.{_LAZY_NAMES[name]}", fromlist=[name]), name)
    globals()[name] = value
    return value


def reshape(input: DimsLike, target: DimsLike, **options: Unpack[ReshapeOptions]) -> Trace:
    """Reshape a tensor with the rules of a dialect.

    The dialect defines the meaning of 0 and -1 in `target`. Options: `dialect`, `opset`, `dtype`, `where`, and the
    dialect's switch for the meaning of 0: `allowzero`, `special_zero` or `zero_is_placeholder`. In MXNet, `reverse`
    reads the shapes from the right. In Caffe, `axis` and `num_axes` select the dims that `target` replaces.

    Source: ONNX Reshape, TensorRT Shuffle, oneDNN StaticReshape, and the runtimes that `shapecalc dialects` lists.
    Raises `ShapeError` with the broken rule.

    >>> reshape((0, 3, 4), (3, 4, 0), allowzero=True).output
    (3, 4, 0)
    """
    return _resolve_or_raise(reshape, input, options, target=target)


def transpose(input: DimsLike, perm: AxesLike | None = None, **options: Unpack[VersionOptions]) -> Trace:
    """Permute axes: output dim i is input dim `perm[i]`.

    Without `perm`, the axes are reversed. Options: `dialect`, `opset`, `dtype`, `where`. Source: ONNX Transpose, oneDNN
    StaticTranspose. Raises `ShapeError`.

    >>> transpose((2, 3, 4), (1, 2, 0)).output
    (3, 4, 2)
    """
    return _resolve_or_raise(transpose, input, options, perm=perm)


def shuffle(input: DimsLike, **options: Unpack[ShuffleOptions]) -> Trace:
    """Apply a TensorRT Shuffle: transpose, reshape and transpose.

    Each of the three stages is optional. Options: the stages `first`, `to` and `second`, the switch
    `zero_is_placeholder`, `dtype`, `where`. A 0 in `to` copies the dim at its index after the stage `first`.

    Source: TensorRT Shuffle. Raises `ShapeError`.

    >>> shuffle((2, 3, 4), first=(1, 0, 2), to=(2, -1, 3)).output
    (2, 4, 3)
    """
    return _resolve_or_raise(shuffle, input, options)


def shape(
    input: DimsLike, *, start: int | None = None, end: int | None = None, **options: Unpack[VersionOptions]
) -> Trace:
    """Return the dims from `start` to `end` (exclusive) as an int64 vector.

    Options: `dialect`, `opset`, `dtype`, `where`.
    Source: ONNX Shape. Raises `ShapeError`.

    >>> shape((2, 3, 4), start=-1).output, shape((2, 3, 4), end=-4).output
    ((4,), ())
    """
    return _resolve_or_raise(shape, input, options, start=start, end=end)


def flatten(input: DimsLike, **options: Unpack[FlattenOptions]) -> Trace:
    """Flatten a tensor.

    In ONNX, the output has two dims: the first merges the dims before `axis`, and the second merges the remaining dims.
    PyTorch merges the dims from `start_dim` to `end_dim` (inclusive). NumPy merges all dims. Options: `axis`,
    `start_dim`, `end_dim`, `dialect`, `opset`, `dtype`, `where`. Source: ONNX Flatten, torch.flatten, ndarray.flatten.
    Raises `ShapeError`.

    >>> flatten((2, 3, 4)).output, flatten((2, 3, 4), dialect="torch", start_dim=1).output
    ((2, 12), (2, 12))
    """
    return _resolve_or_raise(flatten, input, options)


def squeeze(input: DimsLike, axes: AxesLike | None = None, **options: Unpack[VersionOptions]) -> Trace:
    """Remove dims of size 1.

    Without `axes`, all dims of size 1 are removed. Options: `dialect`, `opset`, `dtype`, `where`. Source: ONNX Squeeze,
    numpy.squeeze, torch.squeeze, OpenVINO Squeeze. Raises `ShapeError`.

    >>> squeeze((1, 3, 1)).output, squeeze((1, 3, 1), 0).output
    ((3,), (3, 1))
    """
    return _resolve_or_raise(squeeze, input, options, axes=axes)


def unsqueeze(input: DimsLike, axes: AxesLike, **options: Unpack[VersionOptions]) -> Trace:
    """Insert dims of size 1 at `axes` of the output.

    Options: `dialect`, `opset`, `dtype`, `where`.
    Source: ONNX Unsqueeze, numpy.expand_dims, torch.unsqueeze, OpenVINO Unsqueeze. Raises `ShapeError`.

    >>> unsqueeze((2, 3), (0, -1)).output
    (1, 2, 3, 1)
    """
    return _resolve_or_raise(unsqueeze, input, options, axes=axes)


def expand(input: DimsLike, target: DimsLike, **options: Unpack[VersionOptions]) -> Trace:
    """Broadcast a tensor to the requested shape by repeating its dims of size 1.

    Options: `dialect`, `opset`, `dtype`, `where`.
    Source: ONNX Expand, numpy.broadcast_to, Tensor.expand, OpenVINO Broadcast. Raises `ShapeError`.

    >>> expand((8, 1, 1), (1, 2)).output
    (8, 1, 2)
    """
    return _resolve_or_raise(expand, input, options, target=target)


def depth_to_space(input: DimsLike, block: int, *, mode: str | None = None, **options: Unpack[VersionOptions]) -> Trace:
    """Move channels into spatial blocks of `block` rows and columns.

    `mode` is DCR or CRD; only ONNX has this option. Options: `dialect`, `opset`, `dtype`, `where`.
    Source: ONNX DepthToSpace, torch.pixel_shuffle. Raises `ShapeError`.

    >>> depth_to_space((1, 8, 2, 3), 2).output
    (1, 2, 4, 6)
    """
    return _resolve_or_raise(depth_to_space, input, options, block=block, mode=mode)


def space_to_depth(input: DimsLike, block: int, *, mode: str | None = None, **options: Unpack[VersionOptions]) -> Trace:
    """Move spatial blocks of `block` rows and columns into channels.

    `mode` is DCR or CRD; this option requires ONNX opset 28 or later. Options: `dialect`, `opset`, `dtype`, `where`.
    Source: ONNX SpaceToDepth, torch.pixel_unshuffle. Raises `ShapeError`.

    >>> space_to_depth((1, 2, 4, 6), 2).output
    (1, 8, 2, 3)
    """
    return _resolve_or_raise(space_to_depth, input, options, block=block, mode=mode)


def view(
    input: DimsLike, target: DimsLike, *, strides: AxesLike | None = None, **options: Unpack[BaseOptions]
) -> Trace:
    """View a tensor with a different shape without a copy, as `Tensor.view` does.

    `strides` are the strides of the input in elements; by default, the input is contiguous. Options: `dtype`, `where`.
    Source: Tensor.view. Raises `ShapeError` if there is no such view.

    >>> view((3, 4), (3, 2, -1), strides=(1, 3)).output
    (3, 2, 2)
    """
    return _resolve_or_raise(view, input, options, target=target, strides=strides)


def select(input: DimsLike, axis: int, index: int, **options: Unpack[VersionOptions]) -> Trace:
    """Select one index of an axis, and drop the axis.

    Index -1 is the last index. Options: `dialect`, `opset`, `dtype`, `where`.

    Source: ONNX Gather, NumPy indexing, torch.select, OpenVINO Gather. Raises `ShapeError`.

    >>> select((2, 3, 4), 1, 0).output
    (2, 4)
    """
    return _resolve_or_raise(select, input, options, axis=axis, index=index)


def slice(input: DimsLike, slices: object, **options: Unpack[VersionOptions]) -> Trace:
    """Slice the axes of a tensor.

    `slices` is a string such as ":, ::2", a Python slice, or a sequence of Python slices such as `numpy.s_[:, ::2]`.
    Options: `dialect`, `opset`, `dtype`, `where`.
    Source: ONNX Slice, NumPy basic indexing, OpenVINO Slice, TensorRT Slice. Raises `ShapeError`.

    >>> slice((2, 3, 4), ":, ::2, 1:3").output
    (2, 2, 2)
    """
    return _resolve_or_raise(slice, input, options, slices=slices)


def split(input: DimsLike, axis: int, parts: int | None = None, **options: Unpack[SplitOptions]) -> Trace:
    """Split an axis into equal parts or parts of given sizes, and return one part.

    Options: `part`, the index of the returned part (default 0); `size`, the size of each part (the last part may be
    smaller); `sizes`, a list of the sizes of all parts; `uneven`, which allows parts of different sizes if `parts` does
    not divide the axis; `dialect`, `opset`, `dtype`, `where`. The item `outputs` in `extras` of the trace contains the
    shapes of all parts. Source: ONNX Split, numpy.split and array_split, torch.chunk and split, OpenVINO Split,
    paddle.split. Raises `ShapeError`.

    >>> print(split(("N", "C"), 1, 3, part=2))
    N,C/3 when C % 3 == 0
    >>> split((7,), 0, sizes=(2, 3, 2)).extras["outputs"]
    ((2,), (3,), (2,))
    """
    return _resolve_or_raise(split, input, options, axis=axis, parts=parts)


def mean(
    input: DimsLike,
    axes: AxesLike | None = None,
    *,
    keepdims: bool | None = None,
    kind: str | None = None,
    **options: Unpack[VersionOptions],
) -> Trace:
    """Reduce axes to their mean, sum, maximum or minimum.

    Without `axes`, all axes are reduced. `kind` is mean, sum, max or min. If `keepdims` is True, the reduced axes
    remain with size 1; this is the default in ONNX. Options: `dialect`, `opset`, `dtype`, `where`. Source: ONNX
    ReduceMean, numpy.mean, torch.mean, tf.reduce_mean. Raises `ShapeError`.

    >>> mean((2, 3, 4), 1).output, mean((2, 3, 4), 1, dialect="onnx").output
    ((2, 4), (2, 1, 4))
    """
    return _resolve_or_raise(mean, input, options, axes=axes, keepdims=keepdims, kind=kind)


def take(input: DimsLike, axis: int, indices: AxesLike, **options: Unpack[VersionOptions]) -> Trace:
    """Gather the elements at `indices` of an axis.

    The indices may be in any order and may be repeated. Options: `dialect`, `opset`, `dtype`, `where`. Source: ONNX
    Gather, numpy.take, PyTorch indexing, tf.gather, OpenVINO Gather. Raises `ShapeError`.

    >>> take((2, 3, 4), 1, (2, 0, 0, -1)).output
    (2, 4, 4)
    """
    return _resolve_or_raise(take, input, options, axis=axis, indices=indices)


def flip(input: DimsLike, axes: AxesLike, **options: Unpack[DialectOptions]) -> Trace:
    """Reverse the order of the elements along `axes`.

    Options: `dialect`, `dtype`, `where`.
    Source: numpy.flip, torch.flip, paddle.flip. Raises `ShapeError`.

    >>> flip(("N", 3), (0, -1)).output
    (N, 3)
    """
    return _resolve_or_raise(flip, input, options, axes=axes)


def roll(input: DimsLike, shift: AxesLike, axis: AxesLike | None = None, **options: Unpack[DialectOptions]) -> Trace:
    """Shift the elements along axes, with wraparound at the ends.

    Without `axis`, the flattened tensor is shifted. Options: `dialect`, `dtype`, `where`. Source: numpy.roll,
    torch.roll, OpenVINO Roll, paddle.roll. Raises `ShapeError`.

    >>> roll(("N", "H", "W"), -3, 1).output
    (N, H, W)
    """
    return _resolve_or_raise(roll, input, options, shift=shift, axis=axis)


def rearrange(input: DimsLike, pattern: str, lengths: str | None = None, **options: Any) -> Trace:
    """Split, permute, repeat and merge axes according to an einops pattern.

    The lengths of named axes are passed as a string such as "p=7,q=7", or as keyword arguments such as `p=7`. Options:
    `dialect`, `opset`, `dtype`, `where`. Source: einops.rearrange, einops.repeat. Raises `ShapeError`.

    >>> print(rearrange(("B", "C", "H"), "b c (h p) -> b h (p c)", p=7))
    B,H/7,7*C when H % 7 == 0
    """
    named = [f"{name}={options.pop(name)}" for name in [*options] if name not in ("dialect", "opset", "dtype", "where")]
    lengths = ",".join([*([lengths] if lengths else []), *named]) or None
    return _resolve_or_raise(rearrange, input, options, pattern=pattern, lengths=lengths)


def swapaxes(input: DimsLike, axis1: int, axis2: int, **options: Unpack[DialectOptions]) -> Trace:
    """Swap two axes.

    Options: `dialect`, `dtype`, `where`.
    Source: numpy.swapaxes, torch.swapaxes, paddle.swapaxes. Raises `ShapeError`.

    >>> swapaxes((2, 3, 4), 0, -1).output
    (4, 3, 2)
    """
    return _resolve_or_raise(swapaxes, input, options, axis1=axis1, axis2=axis2)


def moveaxis(input: DimsLike, axes: AxesLike, destination: AxesLike, **options: Unpack[DialectOptions]) -> Trace:
    """Move axes to new positions.

    Each axis in `axes` moves to the position in `destination`. The other axes keep their order. Options: `dialect`,
    `dtype`, `where`.

    Source: numpy.moveaxis, torch.movedim, paddle.moveaxis. Raises `ShapeError`.

    >>> moveaxis(("N", "H", "W", "C"), -1, 1).output
    (N, C, H, W)
    """
    return _resolve_or_raise(moveaxis, input, options, axes=axes, destination=destination)


def unflatten(input: DimsLike, axis: int, sizes: DimsLike, **options: Unpack[DialectOptions]) -> Trace:
    """Split an axis into several axes.

    One of the `sizes` may be -1. Options: `dialect`, `dtype`, `where`.

    Source: torch.unflatten. Raises `ShapeError`.

    >>> print(unflatten(("B", "T", "C"), -1, ("h", -1)))
    B,T,h,C/h when C % h == 0
    """
    return _resolve_or_raise(unflatten, input, options, axis=axis, sizes=sizes)


def repeat_interleave(
    input: DimsLike, repeats: DimsLike, axis: int | None = None, **options: Unpack[DialectOptions]
) -> Trace:
    """Repeat each element along an axis.

    Without `axis`, the flattened tensor is repeated. `repeats` is a single count, or a sequence with one count for each
    index. Options: `dialect`, `dtype`, `where`. Source: torch.repeat_interleave, numpy.repeat, jax.numpy.repeat. Raises
    `ShapeError`.

    >>> repeat_interleave(("N", 3), 2, 0).output, repeat_interleave((2, 3), (1, 0, 2), 1).output
    ((2*N, 3), (2, 3))
    """
    return _resolve_or_raise(repeat_interleave, input, options, repeats=repeats, axis=axis)


def tile(input: DimsLike, repeats: DimsLike, **options: Unpack[VersionOptions]) -> Trace:
    """Repeat a tensor `repeats[i]` times along axis i.

    Options: `dialect`, `opset`, `dtype`, `where`.
    Source: ONNX Tile, Tensor.repeat, numpy.tile, OpenVINO Tile, paddle.tile. Raises `ShapeError`.

    >>> tile(("N", 3), (2, 4)).output
    (2*N, 12)
    """
    return _resolve_or_raise(tile, input, options, repeats=repeats)


def conv(input: DimsLike, weight: DimsLike, **options: Unpack[ConvOptions]) -> Trace:
    """Apply a convolution, or a transposed convolution with `transposed=True`.

    `weight` has the shape OUT,IN/groups,k... or, if transposed, IN,OUT/groups,k... . `stride`, `padding` and `dilation`
    are one number, or one number for each spatial dim. `padding` may also be `same`, `same-lower` or `valid`, or
    contain the widths at the start of all dims, followed by the widths at the end. Options: `stride`, `padding`,
    `dilation`, `layout` (`nchw` or `nhwc`), `groups`, `transposed`, `output_padding`, `dialect`, `opset`, `dtype`,
    `where`. Source: ONNX Conv and ConvTranspose, torch.nn.functional.conv2d, tf.nn.conv2d. Raises `ShapeError`.

    >>> conv(("B", 3, 224, 224), (64, 3, 7, 7), stride=2, padding=3).output
    (B, 64, 112, 112)
    """
    return _resolve_or_raise(conv, input, options, weight=weight)


def pool(
    input: DimsLike,
    kernel: AxesLike,
    *,
    kind: str | None = None,
    ceil: bool | None = None,
    **options: Unpack[WindowOptions],
) -> Trace:
    """Apply max pooling, or average pooling with `kind="average"`.

    `kernel` is one number, one number for each spatial dim, or `global`. If `ceil` is True, the last window may be
    partial. Options: `stride`, `padding`, `dilation` and `layout` as in `conv`, `dialect`, `opset`, `dtype`, `where`.
    Source: ONNX MaxPool and AveragePool, torch.nn.MaxPool2d, keras.layers.MaxPooling2D. Raises `ShapeError`.

    >>> print(pool(("N", 64, "H", 112), 3, stride=2, padding=1))
    N,64,H1,56
    """
    return _resolve_or_raise(pool, input, options, kernel=kernel, kind=kind, ceil=ceil)


def pad(
    input: DimsLike,
    padding: AxesLike,
    *,
    axes: AxesLike | None = None,
    mode: str | None = None,
    fill: float | None = None,
    **options: Unpack[VersionOptions],
) -> Trace:
    """Pad axes at their start and end.

    `padding` contains the widths at the start of all `axes`, followed by the widths at the end, as in ONNX. `mode` is
    constant, reflect, symmetric, edge or wrap. In mode constant, `fill` is the value of the new elements, by default 0.
    Options: `dialect`, `opset`, `dtype`, `where`. Source: ONNX Pad, numpy.pad, torch.nn.functional.pad, tf.pad,
    OpenVINO Pad. Raises `ShapeError`.

    >>> pad((2, 3), (1, 0, 0, 2)).output, pad((2, 3), 2, mode="reflect", dialect="numpy").output
    ((3, 5), (6, 7))
    """
    return _resolve_or_raise(pad, input, options, padding=padding, axes=axes, mode=mode, fill=fill)


def upsample(
    input: DimsLike, scale: ScalesLike | None = None, *, size: AxesLike | None = None, **options: Unpack[VersionOptions]
) -> Trace:
    """Scale the spatial dims by `scale`, or resize them to `size`.

    Scaled sizes are rounded down. Options: `dialect`, `opset`, `dtype`, `where`. Source: ONNX Resize,
    torch.nn.functional.interpolate, keras.layers.UpSampling2D. Raises `ShapeError`.

    >>> upsample((1, 64, 28, 28), 2).output, upsample((1, 64, 28, 28), size=7).output
    ((1, 64, 56, 56), (1, 64, 7, 7))
    """
    return _resolve_or_raise(upsample, input, options, scale=scale, size=size)


def broadcast(input: DimsLike, *operands: DimsLike, **options: Unpack[VersionOptions]) -> Trace:
    """Broadcast tensors to a common shape.

    The shapes are aligned at the right, and aligned dims must be equal or 1. Options: `dialect`, `opset`, `dtype`,
    `where`. Source: NumPy and ONNX broadcasting. Raises `ShapeError`.

    >>> broadcast((8, 1, 6), (7, 1)).output
    (8, 7, 6)
    """
    return _resolve_or_raise(broadcast, input, options, operands=operands)


def matmul(input: DimsLike, other: DimsLike, **options: Unpack[VersionOptions]) -> Trace:
    """Multiply matrices, or stacks of matrices.

    The leading dims of stacks are broadcast. Options: `dialect`, `opset`, `dtype`, `where`.

    Source: numpy.matmul, ONNX MatMul, torch.matmul. Raises `ShapeError`.

    >>> matmul(("B", "T", 768), (768, 3072)).output
    (B, T, 3072)
    """
    return _resolve_or_raise(matmul, input, options, operands=(other,))


def linear(
    input: DimsLike,
    out_features: int | str | None = None,
    *,
    weight: DimsLike | None = None,
    **options: Unpack[VersionOptions],
) -> Trace:
    """Apply a linear layer.

    Pass either `out_features`, or `weight` with the shape OUT,IN. Options: `dialect`, `opset`, `dtype`, `where`.
    Source: ONNX MatMul, torch.nn.functional.linear, keras.layers.Dense. Raises `ShapeError`.

    >>> linear((5, 3), 7).output, linear((5, 3), weight=(7, 3)).output
    ((5, 7), (5, 7))
    """
    return _resolve_or_raise(linear, input, options, out_features=out_features, weight=weight)


def concat(input: DimsLike, *operands: DimsLike, axis: int | None = None, **options: Unpack[VersionOptions]) -> Trace:
    """Concatenate tensors along an axis.

    All other dims must be equal. The tensors may be passed as one list, as in `concat([(2, 3), (4, 3)], axis=0)`.

    Options: `dialect`, `opset`, `dtype`, `where`.

    Source: ONNX Concat (which requires `axis`), numpy.concatenate, torch.cat. Raises `ShapeError`.

    >>> found = concat(("N", "C"), ("N", "D"), axis=1)
    >>> found.output, str(found.results["C1"])
    ((N, C1), 'C + D')
    """
    input, *others = _split_operands(input, operands)
    return _resolve_or_raise(concat, input, options, operands=others or None, axis=axis)


def stack(input: DimsLike, *operands: DimsLike, axis: int | None = None, **options: Unpack[VersionOptions]) -> Trace:
    """Stack tensors of equal shape along a new axis.

    The default axis is 0. The tensors may be passed as one list, as in `stack([(2, 3), (2, 3)])`. Options: `dialect`,
    `opset`, `dtype`, `where`. Source: numpy.stack, torch.stack, ONNX Unsqueeze and Concat (which require `axis`).
    Raises `ShapeError`.

    >>> stack((2, 3), (2, 3), axis=-1).output, stack([(2, 3), (2, 3)]).output
    ((2, 3, 2), (2, 2, 3))
    """
    input, *others = _split_operands(input, operands)
    return _resolve_or_raise(stack, input, options, operands=others or None, axis=axis)


def einsum(pattern: str, input: DimsLike, *operands: DimsLike, **options: Unpack[VersionOptions]) -> Trace:
    """Evaluate an einsum expression.

    The product is summed over all labels that are not in the output. Options: `dialect`, `opset`, `dtype`, `where`.
    Source: numpy.einsum, ONNX Einsum, torch.einsum. Raises `ShapeError`.

    >>> einsum("ij,jk->ik", (2, 3), (3, 4)).output, einsum("...ii", (5, 3, 3)).output
    ((2, 4), (5,))
    """
    return _resolve_or_raise(einsum, input, options, pattern=pattern, operands=operands or None)


def chain(
    input: DimsLike, *stages: str | tuple[str, Mapping[str, object]], where: Mapping[str, int] | None = None
) -> Chain:
    """Apply several ops in sequence.

    A stage is a command without its input, or a tuple of the name of an op and its options. Alternatively, one string
    contains the complete chain, as on the command line. `where` maps names to sizes. Raises `ShapeError`.

    >>> chain((2, 3, 4), "transpose 1,0,2", ("reshape", {"target": (2, -1, 3)})).output
    (2, 4, 3)
    >>> chain("2,3,4 | transpose 1,0,2 | reshape 2,-1,3").output
    (2, 4, 3)
    """
    if isinstance(input, str) and "|" in input and not stages:
        from shapecalc.reading.commands import parse_chain_request

        parsed = parse_chain_request(input)
        input, stages = parsed.input, parsed.stages  # type: ignore[assignment]  # the dims of a shape
    answer = _answers.answer_chain(input, [_parse_stage(stage) for stage in stages], parse_sizes(where or {}))
    if answer.problem:
        raise ShapeError(answer.problem, answer)
    return answer


def permute(input: DimsLike, *dims: AxesLike, **options: Unpack[VersionOptions]) -> Trace:
    """Permute axes as PyTorch does.

    The axes are passed as one list or as separate arguments. Options: `dialect` (by default torch), `opset`, `dtype`,
    `where`. Raises `ShapeError`.

    >>> permute((2, 3, 4), 2, 0, 1).output, permute((2, 3, 4), (2, 0, 1)).output
    ((4, 2, 3), (4, 2, 3))
    """
    perm: Any = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
    return _resolve_or_raise(transpose, input, {"dialect": "torch", **options}, perm=perm)


def size(input: DimsLike, *, where: Mapping[str, int] | None = None) -> Dim:
    """Return the number of elements of a tensor.

    `where` maps names to sizes. Raises `ShapeError`.

    >>> size((2, 3, 4)), str(size(("N", 3, "H*W"))), size(("N", 3), where={"N": 2})
    (24, '3*H*N*W', 6)
    """
    from shapecalc.core.dims import product

    return product(make_request("transpose", input, {"where": where or None}).input)


def code(
    line: str,
    input: DimsLike | None = None,
    *,
    dialect: str | None = None,
    where: Mapping[str, int] | None = None,
    **inputs: DimsLike,
) -> Chain:
    """Convert a line or a function of Python code to a chain.

    The code is parsed, but not executed. If it has several results, the chain of the first result is returned. `input`
    is the shape of the first tensor, and `inputs` are the shapes of named tensors. `where` maps names to sizes. Raises
    `ShapeError`.

    >>> code("x.view(2, -1)", (2, 3, 4)).output, code("x @ w", x=("B", "T", 768), w=(768, 3072)).output
    ((2, 12), (B, T, 3072))
    """
    from shapecalc.core.text import parse_shape
    from shapecalc.reading.code import interpret_code

    given = {"": input, **inputs} if input is not None else inputs
    shapes = {name: parse_shape(dims) if isinstance(dims, str) else to_shape(dims) for name, dims in given.items()}
    read = interpret_code(line, shapes, dialect, parse_sizes(where or {}))
    answer = _answers.answer_chain(read.input_shape, read.stages, {})
    if answer.problem:
        raise ShapeError(answer.problem, answer)
    return answer


def check_code(
    text: str, input: DimsLike | None = None, *, dialect: str | None = None, **inputs: DimsLike
) -> list[dict[str, Any]]:
    r"""Compare the declared shapes in source code with the computed shapes.

    Shapes are declared in comments and annotations. Without inputs, all functions with declared inputs are checked. The
    result has one object for each function, as in the list `functions` that `shapecalc code --check --json` prints.
    Raises `ShapeError` (usage).

    >>> [report] = check_code("def f(x):\n    return x.flatten(1)  # B,T*9", x="B,T,8")
    >>> report["checks"][0]["problem"]["message"]
    'B,8*T is not B,9*T: dim 1 is 8*T, and 9*T stands for itself'
    """
    from shapecalc.checking.source_code import check_source
    from shapecalc.core.text import parse_shape

    given = {"": input, **inputs} if input is not None else inputs
    shapes = {name: parse_shape(dims) if isinstance(dims, str) else to_shape(dims) for name, dims in given.items()}
    return [function.as_json() for function in check_source(text, shapes, dialect).functions]


def doctor(text: str, model: str | None = None) -> list[dict[str, Any]]:
    """Diagnose the error messages in a text.

    The result is the list of diagnoses that `shapecalc doctor --json` prints. `model` is the path of the failed model.
    Raises `ShapeError` (usage) if the text contains no error message.

    >>> doctor("shape '[8, 3, 64]' is invalid for input of size 1600")[0]["op"]
    'reshape'
    """
    from shapecalc.diagnosis.report import diagnose

    return diagnose(text, model).as_json()


def model(path: str, *, all_nodes: bool = False) -> Any:
    """Return a report on an ONNX model: its inputs, and the verdicts on its nodes.

    The report is the one that `shapecalc model` prints. If `all_nodes` is True, it describes all nodes. Raises
    `ShapeError` (file or usage) if the model cannot be used.
    """
    from shapecalc.models.judge import report_model

    return report_model(path, include_all=all_nodes)


def equiv(first: str | Chain, second: str | Chain, *, where: Mapping[str, int] | None = None) -> Equivalence:
    """Decide whether two chains are the same function of their input.

    The result may depend on conditions on the sizes. A chain is a result of `chain` or a string. If the second string
    starts with `|`, the second chain has the input of the first chain. A string without stages is the identity. `where`
    maps names in strings to sizes. Raises `ShapeError`.

    The truth value of the result is True if the chains are the same for all sizes, and False if they differ. If the
    result depends on conditions or is undecided, `bool` raises `TypeError`. In this case, read the attribute `verdict`.

    >>> print(equiv("N,C,H | reshape N,C*H | reshape -1", "| flatten | reshape -1"))
    same
    """
    from shapecalc.reasoning.equiv import check_equivalence, resolve_chain_pair

    return check_equivalence(*resolve_chain_pair(first, second, parse_sizes(where or {})))


def simplify(
    chain: str | Chain, goal: str = "transposes", *, dtype: str | None = None, where: Mapping[str, int] | None = None
) -> Simplification:
    """Return the cheapest chain that is proven to be equivalent to `chain`.

    `chain` is a result of the function `chain`, or a string. `where` maps the names in the string to sizes. `goal` is
    the cost to minimize: the number of `transposes`, the number of `shuffles` (TensorRT layers), or the number of
    `bytes` that copies read and write. For `bytes`, `dtype` is the NumPy name of the element type. The default is the
    element type of the chain, or float32 if it has none. Raises `ShapeError`.

    >>> found = simplify("N,C,H | transpose 2,0,1 | transpose 0,2,1")
    >>> found.text, found.before.transposes, found.after.transposes
    ('N,C,H | transpose 2,1,0', 2, 1)
    """
    from shapecalc.reasoning.costs import parse_goal
    from shapecalc.reasoning.simplify import simplify as simplified

    wanted = parse_goal(goal)
    return simplified(_resolve_chain_text(chain, where) if isinstance(chain, str) else chain, wanted, dtype)


def invert(chain: str | Trace | Chain, *, where: Mapping[str, int] | None = None) -> Inversion:
    """Return a chain that maps the output of `chain` back to its input.

    `chain` is a result of an op or of the function `chain`, or a string. `where` maps the names in the string to sizes.
    If there is no such chain, the truth value of the result is False, and its attribute `text` is the reason. Raises
    `ShapeError`.

    >>> invert("2,3,4 | transpose 1,0,2 | reshape 6,4").text
    '6,4 | reshape 3,2,4 | transpose 1,0,2'
    """
    from shapecalc.reasoning.invert import invert as invert_answer

    return invert_answer(_resolve_chain_text(chain, where) if isinstance(chain, str) else chain)


def compare(
    input: DimsLike,
    target: DimsLike,
    *,
    dialects: Sequence[str] = (),
    opset: int | None = None,
    dtype: str | None = None,
    where: Mapping[str, int] | None = None,
) -> Comparison:
    """Compare a reshape in all dialects and for all settings of their switches.

    If `dialects` is not empty, only these dialects are compared. The result also contains the dialects that refuse the
    reshape. `ShapeError` is raised only for an invalid request. The truth value of the result is its attribute `agree`.

    >>> compare((2, 3, 4), (0, -1)).agree
    False
    """
    options = {"opset": opset, "dtype": dtype, "where": where or None}
    from shapecalc.reasoning.compare import compare as compare_op

    return compare_op(reshape.__name__, input, {"target": target}, dialects, options)


def find(
    input: DimsLike | None = None, output: DimsLike | None = None, *, pairs: Iterable[tuple[Any, Any]] = ()
) -> ChainSearchResult:
    """Find chains from one shape to another.

    Each chain is verified by execution. `pairs` are pairs of an input array and an output array. Raises `ShapeError` if
    a shape is invalid, or if the elements of an input array are not distinct.

    >>> [way.chain for way in find("B,H*W,C", "B,C,H,W").ways[:2]]
    ['B,H*W,C | reshape B,H,W,C | transpose 0,3,1,2', 'B,H*W,C | reshape B,C,H,W']
    """
    from shapecalc.engine.chain_search import find_chains, find_chains_for_arrays
    from shapecalc.reasoning.find import parse_shape_pair

    arrays = list(pairs)
    if input is None and output is None and arrays:
        return find_chains_for_arrays(arrays)
    if input is None or output is None:
        raise usage_error("find needs two shapes, or pairs of arrays")
    pair = parse_shape_pair(input, output)
    shapes = pair.before, pair.after
    return find_chains_for_arrays(arrays, shapes) if arrays else find_chains(*shapes)


def match(pattern: object, shape: object, *, where: Mapping[str, int] | None = None) -> Mapping[str, Dim]:
    """Match a shape with a pattern, and return the sizes of the names in the pattern.

    Examples of patterns are "N,3,...", "?,H,W" and "float32[N,C]". `shape` is an object with a `shape`, a sequence of
    dims or a string. `where` maps names to known sizes. Raises `ShapeError` (differs) with the mismatched dim in
    `problem`, and `ShapeError` (usage) if an argument is invalid.

    >>> match("N,3,H,H", (8, 3, 5, 5))
    {'N': 8, 'H': 5}
    >>> match("N,...,C", (8, 5, 5, 4), where={"N": 8})
    {'N': 8, 'C': 4}
    """
    from shapecalc.reading.pattern import match_pattern

    return match_pattern(pattern, shape, where)


def _resolve_or_raise(
    function: Callable[..., Trace], input: DimsLike, options: Mapping[str, object], **arguments: object
) -> Trace:
    """Resolve the op with the name of a public function.

    Raises `ShapeError` if the request is refused.
    """
    trace = _answers.answer_request(make_request(function.__name__, input, {**arguments, **options}))
    if trace.problem:
        raise ShapeError(trace.problem, trace)
    return trace


def _resolve_chain_text(chain: str, where: Mapping[str, int] | None) -> Chain:
    """Parse and resolve a chain."""
    from shapecalc.reading.commands import parse_chain_request

    parsed = parse_chain_request(chain)
    return _answers.answer_chain(parsed.input, parsed.stages, parse_sizes(where or {}))


def _split_operands(input: DimsLike, operands: Sequence[DimsLike]) -> list[DimsLike]:
    """Return the operands of a call as a list of shapes.

    The call has separate operands, or one list of operands.
    """
    if not operands and isinstance(input, (list, tuple)) and input:
        items: list[Any] = [*input]
        if all(
            isinstance(item, (list, tuple)) or hasattr(item, "shape") or (isinstance(item, str) and {*item} & {*",[("})
            for item in items
        ):
            return items
    return [input, *operands]


def _parse_stage(stage: object) -> tuple[str, Mapping[str, object]]:
    if isinstance(stage, str):
        from shapecalc.core.text import split_outside_brackets
        from shapecalc.reading.commands import parse_stage

        read = parse_stage(split_outside_brackets(stage), with_input=False)
        return read.op, read.options
    match stage:
        case (str(op), {**options}):
            return op, {str(name): value for name, value in options.items()}
    raise usage_error(
        f"a stage is text or an op's name with its options, not {escape_unprintable(truncate(repr(stage)))}"
    )


def _format_request(answer: Trace | Chain) -> str:
    """Format the request of an answer as one line."""
    from shapecalc.reading.commands import request_text

    return request_text(answer)


def _render_report(answer: Trace | Chain, media_type: str, encoding: str | None, *, everything: bool = False) -> str:
    """Render an answer with all its steps as SVG or as text."""
    from shapecalc.render.files import render_report

    return render_report(answer, media_type, encoding, everything=everything)


Answer.format_request = _format_request
Answer.render_report = _render_report

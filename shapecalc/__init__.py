"""The shape calculator: what a tensor's shape becomes under a framework's own rules, and why.

Every function returns a `Trace` (a `Chain`, a `Comparison`) or raises `ShapeError`, a `ValueError` that
carries `.problem` and `.trace`. Dims are whole numbers; names and monomials are text: `("N", 3, "H*W")`. An input may
also be anything that has a `shape`; None in it is a dim that nobody knows.

Options of the ops: `dialect` says whose rules answer (`shapecalc dialects` lists them), `opset` selects the operator's
version, `dtype` is an element type that the dialect may refuse, `where` has sizes to put in for names.

>>> import shapecalc as sc
>>> sc.reshape((2, 3, 4), (0, -1)).output
(2, 12)
>>> trace = sc.reshape(("N", "C", "H", "W"), (0, -1, 64))
>>> print(sc.shape_text(trace.output), "when", *trace.conditions)
N,C*H*W/64,64 when C*H*W % 64 == 0
"""

from __future__ import annotations

import sys

from shapecalc.core import fixing as _answers
from shapecalc.core.answers import Answer, Chain, Stage, Step, Trace
from shapecalc.core.ask import ask
from shapecalc.core.compare import Comparison
from shapecalc.core.compare import compare as _compare
from shapecalc.core.problem import Problem, ShapeError, misuse
from shapecalc.core.text import brief, read_shape, shape_text, visible
from shapecalc.core.values import read_sizes, shape_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, TypedDict, Unpack

    from shapecalc.core.dims import Dim
    from shapecalc.core.equiv import Equivalence
    from shapecalc.core.find import Found
    from shapecalc.core.simplify import Simplification

    Dims = str | Iterable[int | str | None]
    Axes = str | int | Iterable[int]
    Scales = float | str | Sequence[float]

    class SizeOptions(TypedDict, total=False):
        """The options of every op."""

        dtype: str | None
        where: Mapping[str, int] | None

    class DialectOptions(SizeOptions, total=False):
        """The options of ops that several dialects have."""

        dialect: str | None

    class VersionOptions(DialectOptions, total=False):
        """The options of ops that ONNX has."""

        opset: int | None

    class WindowOptions(VersionOptions, total=False):
        """The options of ops with windows."""

        stride: Axes | None
        padding: Axes | None
        dilation: Axes | None
        layout: str | None

    class ConvOptions(WindowOptions, total=False):
        """The options of conv."""

        groups: int | None
        transposed: bool | None
        output_padding: Axes | None

    class ReshapeOptions(VersionOptions, total=False):
        """The options of reshape: a dialect's own switch says what 0 means, and some dialects have parameters."""

        allowzero: bool | None
        special_zero: bool | None
        zero_is_placeholder: bool | None
        reverse: bool | None
        axis: int | None
        num_axes: int | None

    class ShuffleOptions(SizeOptions, total=False):
        """The options of shuffle: its stages, and TensorRT's switch."""

        first: Axes | None
        to: Dims | None
        second: Axes | None
        zero_is_placeholder: bool | None

    class FlattenOptions(VersionOptions, total=False):
        """The options of flatten."""

        axis: int | None
        start_dim: int | None
        end_dim: int | None

    class SplitOptions(VersionOptions, total=False):
        """The options of split."""

        part: int | None
        sizes: Dims | None
        size: int | None
        uneven: bool | None


__version__ = "0.3.0"
__all__ = ["Chain", "Comparison", "Problem", "ShapeError", "Stage", "Step", "Trace"]
__all__ += ["broadcast", "chain", "compare", "concat", "conv", "depth_to_space", "einsum", "equiv", "expand"]
__all__ += ["find", "flatten", "flip", "linear", "match", "matmul", "moveaxis", "pad", "pool", "rearrange"]
__all__ += ["reshape", "roll", "select", "shape", "shape_text", "shuffle", "simplify", "slice", "space_to_depth"]
__all__ += ["split", "squeeze", "stack", "swapaxes", "take", "tile", "transpose", "unflatten", "unsqueeze"]
__all__ += ["upsample", "view"]


def reshape(input: Dims, target: Dims, **options: Unpack[ReshapeOptions]) -> Trace:
    """Cut the same elements into another shape; 0 and -1 in `target` mean what the dialect says.

    `reverse` is MXNet's: both shapes are read from the right. `axis` and `num_axes` are Caffe's: the part that `target`
    replaces.
    Options: `dialect`, `opset`, `dtype`, `where`, and the dialect's own switch over what 0 means: `allowzero`,
    `special_zero` or `zero_is_placeholder`.
    Source: ONNX Reshape, TensorRT Shuffle, oneDNN StaticReshape, and the runtimes of `shapecalc dialects`.
    Raises `ShapeError` with the rule that refused.

    >>> reshape((0, 3, 4), (3, 4, 0), allowzero=True).output
    (3, 4, 0)
    """
    return _answer("reshape", input, options, target=target)


def transpose(input: Dims, perm: Axes | None = None, **options: Unpack[VersionOptions]) -> Trace:
    """Move axes: output dim i is input dim `perm[i]`; without `perm` the dims reverse.

    Options: `dialect`, `opset`, `dtype`, `where`.
    Source: ONNX Transpose, oneDNN StaticTranspose. Raises `ShapeError`.

    >>> transpose((2, 3, 4), (1, 2, 0)).output
    (3, 4, 2)
    """
    return _answer("transpose", input, options, perm=perm)


def shuffle(input: Dims, **options: Unpack[ShuffleOptions]) -> Trace:
    """Transpose, reshape, transpose, each optional; a 0 in `to` copies from the tensor after `first`.

    Options: the stages `first`, `to` and `second`, the switch `zero_is_placeholder`, `dtype`, `where`.
    Source: TensorRT Shuffle. Raises `ShapeError`.

    >>> shuffle((2, 3, 4), first=(1, 0, 2), to=(2, -1, 3)).output
    (2, 4, 3)
    """
    return _answer("shuffle", input, options)


def shape(input: Dims, *, start: int | None = None, end: int | None = None, **options: Unpack[VersionOptions]) -> Trace:
    """Return the dims from `start` to `end` themselves, which the operator gives as a vector of int64.

    Options: `dialect`, `opset`, `dtype`, `where`.
    Source: ONNX Shape. Raises `ShapeError`.

    >>> shape((2, 3, 4), start=-1).output, shape((2, 3, 4), end=-4).output
    ((4,), ())
    """
    return _answer("shape", input, options, start=start, end=end)


def flatten(input: Dims, **options: Unpack[FlattenOptions]) -> Trace:
    """Merge dims: around `axis` (ONNX), from `start_dim` to `end_dim` (PyTorch), or all (NumPy).

    Options: `axis`, `start_dim`, `end_dim`, `dialect`, `opset`, `dtype`, `where`.
    Source: ONNX Flatten, torch.flatten, ndarray.flatten. Raises `ShapeError`.

    >>> flatten((2, 3, 4)).output, flatten((2, 3, 4), dialect="torch", start_dim=1).output
    ((2, 12), (2, 12))
    """
    return _answer("flatten", input, options)


def squeeze(input: Dims, axes: Axes | None = None, **options: Unpack[VersionOptions]) -> Trace:
    """Drop dims of 1: those named by `axes`, or all of them.

    Options: `dialect`, `opset`, `dtype`, `where`.
    Source: ONNX Squeeze, numpy.squeeze, torch.squeeze, OpenVINO Squeeze. Raises `ShapeError`.

    >>> squeeze((1, 3, 1)).output, squeeze((1, 3, 1), 0).output
    ((3,), (3, 1))
    """
    return _answer("squeeze", input, options, axes=axes)


def unsqueeze(input: Dims, axes: Axes, **options: Unpack[VersionOptions]) -> Trace:
    """Insert dims of 1 so that they stand at `axes` of the output.

    Options: `dialect`, `opset`, `dtype`, `where`.
    Source: ONNX Unsqueeze, numpy.expand_dims, torch.unsqueeze, OpenVINO Unsqueeze. Raises `ShapeError`.

    >>> unsqueeze((2, 3), (0, -1)).output
    (1, 2, 3, 1)
    """
    return _answer("unsqueeze", input, options, axes=axes)


def expand(input: Dims, target: Dims, **options: Unpack[VersionOptions]) -> Trace:
    """Repeat dims of 1 until the tensor has the requested shape.

    Options: `dialect`, `opset`, `dtype`, `where`.
    Source: ONNX Expand, numpy.broadcast_to, Tensor.expand, OpenVINO Broadcast. Raises `ShapeError`.

    >>> expand((8, 1, 1), (1, 2)).output
    (8, 1, 2)
    """
    return _answer("expand", input, options, target=target)


def depth_to_space(input: Dims, block: int, *, mode: str | None = None, **options: Unpack[VersionOptions]) -> Trace:
    """Move channels into blocks of `block` rows and columns; `mode` is DCR or CRD, in ONNX alone.

    Options: `dialect`, `opset`, `dtype`, `where`.
    Source: ONNX DepthToSpace, torch.pixel_shuffle. Raises `ShapeError`.

    >>> depth_to_space((1, 8, 2, 3), 2).output
    (1, 2, 4, 6)
    """
    return _answer("depth_to_space", input, options, block=block, mode=mode)


def space_to_depth(input: Dims, block: int, *, mode: str | None = None, **options: Unpack[VersionOptions]) -> Trace:
    """Move blocks of `block` rows and columns into channels; `mode` is DCR or CRD, in ONNX since 28 alone.

    Options: `dialect`, `opset`, `dtype`, `where`.
    Source: ONNX SpaceToDepth, torch.pixel_unshuffle. Raises `ShapeError`.

    >>> space_to_depth((1, 2, 4, 6), 2).output
    (1, 8, 2, 3)
    """
    return _answer("space_to_depth", input, options, block=block, mode=mode)


def view(input: Dims, target: Dims, *, strides: Axes | None = None, **options: Unpack[SizeOptions]) -> Trace:
    """Read the same memory as another shape, if a tensor with these `strides`, in elements, has such a view.

    Options: `dtype`, `where`.
    Source: Tensor.view; without `strides` the tensor is contiguous. Raises `ShapeError`.

    >>> view((3, 4), (3, 2, -1), strides=(1, 3)).output
    (3, 2, 2)
    """
    return _answer("view", input, options, target=target, strides=strides)


def select(input: Dims, axis: int, index: int, **options: Unpack[VersionOptions]) -> Trace:
    """Take one index of one axis, and drop the axis; -1 is the last.

    Options: `dialect`, `opset`, `dtype`, `where`.
    Source: ONNX Gather, NumPy indexing, torch.select, OpenVINO Gather. Raises `ShapeError`.

    >>> select((2, 3, 4), 1, 0).output
    (2, 4)
    """
    return _answer("select", input, options, axis=axis, index=index)


def slice(input: Dims, slices: object, **options: Unpack[VersionOptions]) -> Trace:
    """Keep some positions of each axis; `slices` are a text such as ":, ::2", or Python's own, as `numpy.s_` makes.

    Options: `dialect`, `opset`, `dtype`, `where`.
    Source: ONNX Slice, NumPy basic indexing, OpenVINO Slice, TensorRT Slice. Raises `ShapeError`.

    >>> slice((2, 3, 4), ":, ::2, 1:3").output
    (2, 2, 2)
    """
    return _answer("slice", input, options, slices=slices)


def split(input: Dims, axis: int, parts: int | None = None, **options: Unpack[SplitOptions]) -> Trace:
    """Cut an axis into `parts`, into parts of one `size` or of given `sizes`, and keep one, by default the first.

    `extras["outputs"]` of the answer are the shapes of all parts. Options: `part`, `sizes`, `size`, `uneven`,
    `dialect`, `opset`, `dtype`, `where`.
    Source: ONNX Split, numpy.split and array_split, torch.chunk and split, OpenVINO Split, paddle.split.
    Raises `ShapeError`.

    >>> print(split(("N", "C"), 1, 3, part=2))
    N,C/3 when C % 3 == 0
    >>> split((7,), 0, sizes=(2, 3, 2)).extras["outputs"]
    ((2,), (3,), (2,))
    """
    return _answer("split", input, options, axis=axis, parts=parts)


def take(input: Dims, axis: int, indices: Axes, **options: Unpack[VersionOptions]) -> Trace:
    """Take positions of one axis, in any order and as often as they are named.

    Options: `dialect`, `opset`, `dtype`, `where`.
    Source: ONNX Gather, numpy.take, PyTorch indexing, tf.gather, OpenVINO Gather. Raises `ShapeError`.

    >>> take((2, 3, 4), 1, (2, 0, 0, -1)).output
    (2, 4, 4)
    """
    return _answer("take", input, options, axis=axis, indices=indices)


def flip(input: Dims, axes: Axes, **options: Unpack[DialectOptions]) -> Trace:
    """Reverse axes: their last position comes first.

    Options: `dialect`, `dtype`, `where`.
    Source: numpy.flip, torch.flip, paddle.flip. Raises `ShapeError`.

    >>> flip(("N", 3), (0, -1)).output
    (N, 3)
    """
    return _answer("flip", input, options, axes=axes)


def roll(input: Dims, shift: Axes, axis: Axes | None = None, **options: Unpack[DialectOptions]) -> Trace:
    """Move the positions of axes on by `shift`; those at an end come to the start. Without axes, all move as one row.

    Options: `dialect`, `dtype`, `where`.
    Source: numpy.roll, torch.roll, OpenVINO Roll, paddle.roll. Raises `ShapeError`.

    >>> roll(("N", "H", "W"), -3, 1).output
    (N, H, W)
    """
    return _answer("roll", input, options, shift=shift, axis=axis)


def rearrange(input: Dims, pattern: str, lengths: str | None = None, **options: Unpack[VersionOptions]) -> Trace:
    """Split, move, repeat and merge axes as a pattern of einops names them; `lengths` are those of axes: `p=7,q=7`.

    Options: `dialect`, `opset`, `dtype`, `where`.
    Source: einops.rearrange, einops.repeat. Raises `ShapeError`.

    >>> print(rearrange(("B", "C", "H"), "b c (h p) -> b h (p c)", "p=7"))
    B,H/7,7*C when H % 7 == 0
    """
    return _answer("rearrange", input, options, pattern=pattern, lengths=lengths)


def swapaxes(input: Dims, axis1: int, axis2: int, **options: Unpack[DialectOptions]) -> Trace:
    """Swap two axes.

    Options: `dialect`, `dtype`, `where`.
    Source: numpy.swapaxes, torch.swapaxes, paddle.swapaxes. Raises `ShapeError`.

    >>> swapaxes((2, 3, 4), 0, -1).output
    (4, 3, 2)
    """
    return _answer("swapaxes", input, options, axis1=axis1, axis2=axis2)


def moveaxis(input: Dims, axes: Axes, destination: Axes, **options: Unpack[DialectOptions]) -> Trace:
    """Move `axes` to their places in `destination`; the others keep their order.

    Options: `dialect`, `dtype`, `where`.
    Source: numpy.moveaxis, torch.movedim, paddle.moveaxis. Raises `ShapeError`.

    >>> moveaxis(("N", "H", "W", "C"), -1, 1).output
    (N, C, H, W)
    """
    return _answer("moveaxis", input, options, axes=axes, destination=destination)


def unflatten(input: Dims, axis: int, sizes: Dims, **options: Unpack[DialectOptions]) -> Trace:
    """Cut one axis into `sizes`, of which one may be -1.

    Options: `dialect`, `dtype`, `where`.
    Source: torch.unflatten. Raises `ShapeError`.

    >>> print(unflatten(("B", "T", "C"), -1, ("h", -1)))
    B,T,h,C/h when C % h == 0
    """
    return _answer("unflatten", input, options, axis=axis, sizes=sizes)


def tile(input: Dims, repeats: Dims, **options: Unpack[VersionOptions]) -> Trace:
    """Repeat the whole tensor along its axes.

    Options: `dialect`, `opset`, `dtype`, `where`.
    Source: ONNX Tile, Tensor.repeat, numpy.tile, OpenVINO Tile, paddle.tile. Raises `ShapeError`.

    >>> tile(("N", 3), (2, 4)).output
    (2*N, 12)
    """
    return _answer("tile", input, options, repeats=repeats)


def conv(input: Dims, weight: Dims, **options: Unpack[ConvOptions]) -> Trace:
    """Convolve with the filters of a weight, OUT,IN/groups,k...; transposed IN,OUT/groups,k....

    `stride`, `padding` and `dilation` are one number or one for each spatial dim; `padding` may have the begins and
    then the ends, or be `same`, `same-lower` or `valid`. `layout` is `nchw` or `nhwc`.
    Options: `groups`, `transposed`, `output_padding`, `dialect`, `opset`, `dtype`, `where`.
    Source: ONNX Conv and ConvTranspose, torch.nn.functional.conv2d, tf.nn.conv2d. Raises `ShapeError`.

    >>> conv(("B", 3, 224, 224), (64, 3, 7, 7), stride=2, padding=3).output
    (B, 64, 112, 112)
    """
    return _answer("conv", input, options, weight=weight)


def pool(
    input: Dims, kernel: Axes, *, kind: str | None = None, ceil: bool | None = None, **options: Unpack[WindowOptions]
) -> Trace:
    """Take the greatest element of each window, or with `kind="average"` the mean; `kernel` may be `global`.

    `stride`, `padding`, `dilation` and `layout` are those of `conv`; `ceil` counts a last window that is cut off.
    Options: `dialect`, `opset`, `dtype`, `where`.
    Source: ONNX MaxPool and AveragePool, torch.nn.MaxPool2d, keras.layers.MaxPooling2D. Raises `ShapeError`.

    >>> print(pool(("N", 64, "H", 112), 3, stride=2, padding=1))
    N,64,H1,56
    """
    return _answer("pool", input, options, kernel=kernel, kind=kind, ceil=ceil)


def pad(input: Dims, padding: Axes, *, axes: Axes | None = None, **options: Unpack[VersionOptions]) -> Trace:
    """Add positions at both ends of axes; `padding` has the begins of all and then the ends.

    Options: `dialect`, `opset`, `dtype`, `where`.
    Source: ONNX Pad, numpy.pad, torch.nn.functional.pad, tf.pad, OpenVINO Pad. Raises `ShapeError`.

    >>> pad((2, 3), (1, 0, 0, 2)).output
    (3, 5)
    """
    return _answer("pad", input, options, padding=padding, axes=axes)


def upsample(
    input: Dims, scale: Scales | None = None, *, size: Axes | None = None, **options: Unpack[VersionOptions]
) -> Trace:
    """Multiply the spatial dims by factors and round down, or give them another `size`.

    Options: `dialect`, `opset`, `dtype`, `where`.
    Source: ONNX Resize, torch.nn.functional.interpolate, keras.layers.UpSampling2D. Raises `ShapeError`.

    >>> upsample((1, 64, 28, 28), 2).output, upsample((1, 64, 28, 28), size=7).output
    ((1, 64, 56, 56), (1, 64, 7, 7))
    """
    return _answer("upsample", input, options, scale=scale, size=size)


def broadcast(input: Dims, *operands: Dims, **options: Unpack[VersionOptions]) -> Trace:
    """Return the shape of several tensors together: aligned at the right, their dims are equal, or 1.

    Options: `dialect`, `opset`, `dtype`, `where`.
    Source: NumPy and ONNX broadcasting. Raises `ShapeError`.

    >>> broadcast((8, 1, 6), (7, 1)).output
    (8, 7, 6)
    """
    return _answer("broadcast", input, options, operands=operands)


def matmul(input: Dims, other: Dims, **options: Unpack[VersionOptions]) -> Trace:
    """Multiply matrices, or stacks of them, whose dims in front broadcast.

    Options: `dialect`, `opset`, `dtype`, `where`.
    Source: numpy.matmul, ONNX MatMul, torch.matmul. Raises `ShapeError`.

    >>> matmul(("B", "T", 768), (768, 3072)).output
    (B, T, 3072)
    """
    return _answer("matmul", input, options, operands=(other,))


def linear(
    input: Dims, out_features: int | str | None = None, *, weight: Dims | None = None, **options: Unpack[VersionOptions]
) -> Trace:
    """Multiply the last axis with a weight: one that makes `out_features`, or that of shape `weight`, OUT,IN.

    Options: `dialect`, `opset`, `dtype`, `where`.
    Source: ONNX MatMul, torch.nn.functional.linear, keras.layers.Dense. Raises `ShapeError`.

    >>> linear((5, 3), 7).output, linear((5, 3), weight=(7, 3)).output
    ((5, 7), (5, 7))
    """
    return _answer("linear", input, options, out_features=out_features, weight=weight)


def concat(input: Dims, *operands: Dims, axis: int | None = None, **options: Unpack[VersionOptions]) -> Trace:
    """Lay tensors end to end along an axis; all other dims are equal.

    Options: `dialect`, `opset`, `dtype`, `where`.
    Source: ONNX Concat, which requires `axis`, numpy.concatenate, torch.cat. Raises `ShapeError`.

    >>> found = concat(("N", "C"), ("N", "D"), axis=1)
    >>> found.output, str(found.results["C1"])
    ((N, C1), 'C + D')
    """
    return _answer("concat", input, options, operands=operands or None, axis=axis)


def stack(input: Dims, *operands: Dims, axis: int | None = None, **options: Unpack[VersionOptions]) -> Trace:
    """Lay tensors of one shape along a new axis.

    Options: `dialect`, `opset`, `dtype`, `where`.
    Source: numpy.stack, torch.stack; ONNX Unsqueeze and Concat, which require `axis`. Raises `ShapeError`.

    >>> stack((2, 3), (2, 3), axis=-1).output
    (2, 3, 2)
    """
    return _answer("stack", input, options, operands=operands or None, axis=axis)


def einsum(pattern: str, input: Dims, *operands: Dims, **options: Unpack[VersionOptions]) -> Trace:
    """Multiply tensors along axes with the same label, and sum along those that the output does not have.

    Options: `dialect`, `opset`, `dtype`, `where`.
    Source: numpy.einsum, ONNX Einsum, torch.einsum. Raises `ShapeError`.

    >>> einsum("ij,jk->ik", (2, 3), (3, 4)).output, einsum("...ii", (5, 3, 3)).output
    ((2, 4), (5,))
    """
    return _answer("einsum", input, options, pattern=pattern, operands=operands or None)


def chain(
    input: Dims, *stages: str | tuple[str, Mapping[str, object]], where: Mapping[str, int] | None = None
) -> Chain:
    """Return the answers of several ops, each on the output of the one before.

    A stage is a command line without its input, or an op's name with its options. Raises `ShapeError`.

    >>> chain((2, 3, 4), "transpose 1,0,2", ("reshape", {"target": (2, -1, 3)})).output
    (2, 4, 3)
    """
    answer = _answers.answer_chain(input, [_stage(stage) for stage in stages], read_sizes(where or {}))
    if answer.problem:
        raise ShapeError(answer.problem, answer)
    return answer


def equiv(first: str | Chain, second: str | Chain, *, where: Mapping[str, int] | None = None) -> Equivalence:
    """Return whether two chains are the same function of their input, for all sizes or under conditions.

    A chain is an answer of `chain` or its text; a second text that begins with `|` has the first's input, and one
    without a stage does nothing. `where` has sizes for names in texts. Raises `ShapeError`.

    >>> print(equiv("N,C,H | reshape N,C*H | reshape -1", "| flatten | reshape -1"))
    same
    """
    from shapecalc.core.equiv import answers_of, equivalence

    return equivalence(*answers_of(first, second, read_sizes(where or {})))


def simplify(
    chain: str | Chain, goal: str = "transposes", *, dtype: str | None = None, where: Mapping[str, int] | None = None
) -> Simplification:
    """Return the shortest chain that is proved to do what a chain does, wherever that is defined.

    A chain is an answer of `chain` or its text; `where` has sizes for names in a text. `goal` is what to have the
    fewest of: `transposes`, `shuffles` (TensorRT's layers) or `bytes` that copies read and write, of elements of
    `dtype` (NumPy's name; float32 unless the chain has one). Raises `ShapeError`.

    >>> found = simplify("N,C,H | transpose 2,0,1 | transpose 0,2,1")
    >>> found.text, found.before.transposes, found.after.transposes
    ('N,C,H | transpose 2,1,0', 2, 1)
    """
    from shapecalc.core.equiv import asked_chain
    from shapecalc.core.simplify import goal_called
    from shapecalc.core.simplify import simplify as simplified

    wanted = goal_called(goal)
    if isinstance(chain, str):
        asked = asked_chain(chain)
        chain = _answers.answer_chain(asked.input, asked.stages, read_sizes(where or {}))
    return simplified(chain, wanted, dtype)


def compare(
    input: Dims,
    target: Dims,
    *,
    dialects: Sequence[str] = (),
    opset: int | None = None,
    dtype: str | None = None,
    where: Mapping[str, int] | None = None,
) -> Comparison:
    """Return the answers to one reshape under every dialect and switch setting, side by side.

    Raises `ShapeError` only for a request that cannot be read; refusals are rows.

    >>> compare((2, 3, 4), (0, -1)).agree
    False
    """
    options = {"opset": opset, "dtype": dtype, "where": where or None}
    return _compare("reshape", input, {"target": target}, dialects, options)


def find(input: Dims | None = None, output: Dims | None = None, *, pairs: Iterable[tuple[Any, Any]] = ()) -> Found:
    """Return the chains that lead from one shape to another, each carried out before it is returned.

    `pairs` are arrays and what they are to become. Raises `ShapeError` for what cannot be read, and if elements of an
    array are equal, so that nothing tells them apart.

    >>> [way.chain for way in find("B,H*W,C", "B,C,H,W").ways[:2]]
    ['B,H*W,C | reshape B,H,W,C | transpose 0,3,1,2', 'B,H*W,C | reshape B,C,H,W']
    """
    from shapecalc.core.find import named_shape
    from shapecalc.engine.finding import chains_between, chains_for

    arrays = list(pairs)
    if input is None and output is None and arrays:
        return chains_for(arrays)
    if input is None or output is None:
        raise misuse("find needs two shapes, or pairs of arrays")
    shapes = named_shape(input, "input"), named_shape(output, "output")
    return chains_for(arrays, shapes) if arrays else chains_between(*shapes)


def match(pattern: object, shape: object, *, where: Mapping[str, int] | None = None) -> Mapping[str, Dim]:
    """Return the sizes that the names of a pattern take, such as "N,3,...", "?,H,W" or "float32[N,C]".

    `shape` is anything that has one, a sequence of dims or a text; `where` has sizes that names have already. Raises
    `ShapeError` (differs) with the dim that differs in `.problem`, (usage) for what cannot be read.

    >>> match("N,3,H,H", (8, 3, 5, 5))
    {'N': 8, 'H': 5}
    >>> match("N,...,C", (8, 5, 5, 4), where={"N": 8})
    {'N': 8, 'C': 4}
    """
    from shapecalc.core.pattern import Matcher, element_type_of, pattern_of

    matcher = Matcher(pattern_of(pattern), read_sizes(where or {}))
    dims = read_shape(shape) if isinstance(shape, str) else shape_of(shape)
    problem = matcher.problem(dims, element_type_of(shape))
    if problem:
        raise ShapeError(problem)
    return matcher.sizes


def _answer(op: str, input: Dims, options: Mapping[str, object], **arguments: object) -> Trace:
    trace = _answers.answer(ask(op, input, {**arguments, **options}))
    if trace.problem:
        raise ShapeError(trace.problem, trace)
    return trace


def _shown_as(answer: Trace | Chain, kind: str, encoding: str | None, *, everything: bool = False) -> str:
    from shapecalc.view.files import shown_as

    return shown_as(answer, kind, encoding, everything=everything)


Answer.shown_as = _shown_as


class _Package(type(sys)):  # type: ignore[misc]  # the class of modules
    """This package, whose `view` stays the function when the folder of that name is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name == "view" and isinstance(value, type(sys))):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def _stage(stage: object) -> tuple[str, Mapping[str, object]]:
    if isinstance(stage, str):
        from shapecalc.core.commands import read_stage
        from shapecalc.core.text import split

        read = read_stage(split(stage), with_input=False)
        return read.op, read.options
    match stage:
        case (str(op), {**options}):
            return op, {str(name): value for name, value in options.items()}
    raise misuse(f"a stage is text or an op's name with its options, not {visible(brief(repr(stage)))}")

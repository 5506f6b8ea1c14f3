"""The shape calculator: what a tensor's shape becomes under a framework's own rules, and why.

Every function returns a `Trace` (a `Chain`, a `Comparison`) or raises `ShapeError`, a `ValueError` that
carries `.problem` and `.trace`. Dims are whole numbers; names and monomials are text: `("N", 3, "H*W")`. An input may
also be anything that has a `shape`; None in it is a dim that nobody knows.

>>> import shapecalc as sc
>>> sc.reshape((2, 3, 4), (0, -1)).output
(2, 12)
>>> trace = sc.reshape(("N", "C", "H", "W"), (0, -1, 64))
>>> print(sc.shape_text(trace.output), "when", *trace.conditions)
N,C*H*W/64,64 when C*H*W % 64 == 0
"""

from __future__ import annotations

from shapecalc.core import fixing as _answers
from shapecalc.core.answers import Answer, Chain, Stage, Step, Trace
from shapecalc.core.ask import ask
from shapecalc.core.compare import Comparison
from shapecalc.core.problem import Problem, ShapeError, misuse
from shapecalc.core.text import brief, shape_text, visible
from shapecalc.core.values import read_sizes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from shapecalc.core.dims import Dim
    from shapecalc.core.equiv import Equivalence
    from shapecalc.core.find import Found
    from shapecalc.core.simplify import Simplification

    Dims = str | Iterable[int | str | None]
    Axes = str | int | Iterable[int]

__version__ = "0.2.0"
__all__ = ["Chain", "Comparison", "Problem", "ShapeError", "Stage", "Step", "Trace"]
__all__ += ["chain", "compare", "depth_to_space", "equiv", "expand", "find", "flatten", "flip", "match", "moveaxis"]
__all__ += ["rearrange", "reshape", "roll", "select", "shape", "shape_text", "shuffle", "simplify", "slice"]
__all__ += ["space_to_depth", "split", "squeeze", "swapaxes", "tile", "transpose", "unflatten", "unsqueeze", "view"]


def reshape(
    input: Dims,
    target: Dims,
    *,
    dialect: str = "onnx",
    opset: int | None = None,
    allowzero: bool | None = None,
    special_zero: bool | None = None,
    zero_is_placeholder: bool | None = None,
    reverse: bool | None = None,
    axis: int | None = None,
    num_axes: int | None = None,
    dtype: str | None = None,
    where: Mapping[str, int] | None = None,
) -> Trace:
    """Cut the same elements into another shape; 0 and -1 in `target` mean what the dialect says.

    `reverse` is MXNet's: both shapes are read from the right. `axis` and `num_axes` are Caffe's: the part that `target`
    replaces.
    Source: ONNX Reshape, TensorRT Shuffle, oneDNN StaticReshape, and the runtimes of `shapecalc dialects`.
    Raises `ShapeError` with the rule that refused.

    >>> reshape((0, 3, 4), (3, 4, 0), allowzero=True).output
    (3, 4, 0)
    """
    options: dict[str, object] = {"target": target, "dialect": dialect}
    no_switch = allowzero is None and special_zero is None and zero_is_placeholder is None
    if not (no_switch and opset is None and dtype is None and where is None and reverse is axis is num_axes is None):
        options |= {"opset": opset, "dtype": dtype, "where": where, "allowzero": allowzero}
        options |= {"special_zero": special_zero, "zero_is_placeholder": zero_is_placeholder, "reverse": reverse}
        options |= {"axis": axis, "num_axes": num_axes}
    return _answer("reshape", input, options)


def transpose(
    input: Dims,
    perm: Axes | None = None,
    *,
    dialect: str = "onnx",
    opset: int | None = None,
    dtype: str | None = None,
    where: Mapping[str, int] | None = None,
) -> Trace:
    """Move axes: output dim i is input dim `perm[i]`; without `perm` the dims reverse.

    Source: ONNX Transpose, oneDNN StaticTranspose. Raises `ShapeError`.

    >>> transpose((2, 3, 4), (1, 2, 0)).output
    (3, 4, 2)
    """
    return _answer(
        "transpose", input, {"perm": perm, "opset": opset, "dtype": dtype, "dialect": dialect, "where": where}
    )


def shuffle(
    input: Dims,
    *,
    first: Axes | None = None,
    to: Dims | None = None,
    second: Axes | None = None,
    zero_is_placeholder: bool | None = None,
    dtype: str | None = None,
    where: Mapping[str, int] | None = None,
) -> Trace:
    """Transpose, reshape, transpose, each optional; a 0 in `to` copies from the tensor after `first`.

    Source: TensorRT Shuffle. Raises `ShapeError`.

    >>> shuffle((2, 3, 4), first=(1, 0, 2), to=(2, -1, 3)).output
    (2, 4, 3)
    """
    options = {"first": first, "to": to, "second": second, "zero_is_placeholder": zero_is_placeholder, "dtype": dtype}
    return _answer("shuffle", input, options | {"where": where})


def shape(
    input: Dims,
    *,
    start: int | None = None,
    end: int | None = None,
    dialect: str = "onnx",
    opset: int | None = None,
    dtype: str | None = None,
    where: Mapping[str, int] | None = None,
) -> Trace:
    """Return the dims from `start` to `end` themselves, which the operator gives as a vector of int64.

    Source: ONNX Shape. Raises `ShapeError`.

    >>> shape((2, 3, 4), start=-1).output, shape((2, 3, 4), end=-4).output
    ((4,), ())
    """
    return _answer(
        "shape", input, {"start": start, "end": end, "opset": opset, "dtype": dtype, "dialect": dialect, "where": where}
    )


def flatten(
    input: Dims,
    *,
    axis: int | None = None,
    start_dim: int | None = None,
    end_dim: int | None = None,
    dialect: str = "onnx",
    opset: int | None = None,
    dtype: str | None = None,
    where: Mapping[str, int] | None = None,
) -> Trace:
    """Merge dims: around `axis` (ONNX), from `start_dim` to `end_dim` (PyTorch), or all (NumPy).

    Source: ONNX Flatten, torch.flatten, ndarray.flatten. Raises `ShapeError`.

    >>> flatten((2, 3, 4)).output, flatten((2, 3, 4), dialect="torch", start_dim=1).output
    ((2, 12), (2, 12))
    """
    options = {"axis": axis, "start_dim": start_dim, "end_dim": end_dim, "opset": opset, "dtype": dtype}
    return _answer("flatten", input, options | {"dialect": dialect, "where": where})


def squeeze(
    input: Dims,
    axes: Axes | None = None,
    *,
    dialect: str = "onnx",
    opset: int | None = None,
    dtype: str | None = None,
    where: Mapping[str, int] | None = None,
) -> Trace:
    """Drop dims of 1: those named by `axes`, or all of them.

    Source: ONNX Squeeze, numpy.squeeze, torch.squeeze, OpenVINO Squeeze. Raises `ShapeError`.

    >>> squeeze((1, 3, 1)).output, squeeze((1, 3, 1), 0).output
    ((3,), (3, 1))
    """
    return _answer("squeeze", input, {"axes": axes, "opset": opset, "dtype": dtype, "dialect": dialect, "where": where})


def unsqueeze(
    input: Dims,
    axes: Axes,
    *,
    dialect: str = "onnx",
    opset: int | None = None,
    dtype: str | None = None,
    where: Mapping[str, int] | None = None,
) -> Trace:
    """Insert dims of 1 so that they stand at `axes` of the output.

    Source: ONNX Unsqueeze, numpy.expand_dims, torch.unsqueeze, OpenVINO Unsqueeze. Raises `ShapeError`.

    >>> unsqueeze((2, 3), (0, -1)).output
    (1, 2, 3, 1)
    """
    return _answer(
        "unsqueeze", input, {"axes": axes, "opset": opset, "dtype": dtype, "dialect": dialect, "where": where}
    )


def expand(
    input: Dims,
    target: Dims,
    *,
    dialect: str = "onnx",
    opset: int | None = None,
    dtype: str | None = None,
    where: Mapping[str, int] | None = None,
) -> Trace:
    """Repeat dims of 1 until the tensor has the requested shape.

    Source: ONNX Expand, numpy.broadcast_to, Tensor.expand, OpenVINO Broadcast. Raises `ShapeError`.

    >>> expand((8, 1, 1), (1, 2)).output
    (8, 1, 2)
    """
    return _answer(
        "expand", input, {"target": target, "opset": opset, "dtype": dtype, "dialect": dialect, "where": where}
    )


def depth_to_space(
    input: Dims,
    block: int,
    *,
    mode: str | None = None,
    dialect: str = "onnx",
    opset: int | None = None,
    dtype: str | None = None,
    where: Mapping[str, int] | None = None,
) -> Trace:
    """Move channels into blocks of `block` rows and columns; `mode` is DCR or CRD, in ONNX alone.

    Source: ONNX DepthToSpace, torch.pixel_shuffle. Raises `ShapeError`.

    >>> depth_to_space((1, 8, 2, 3), 2).output
    (1, 2, 4, 6)
    """
    options = {"block": block, "mode": mode, "opset": opset, "dtype": dtype, "dialect": dialect, "where": where}
    return _answer("depth_to_space", input, options)


def space_to_depth(
    input: Dims,
    block: int,
    *,
    mode: str | None = None,
    dialect: str = "onnx",
    opset: int | None = None,
    dtype: str | None = None,
    where: Mapping[str, int] | None = None,
) -> Trace:
    """Move blocks of `block` rows and columns into channels; `mode` is DCR or CRD, in ONNX since 28 alone.

    Source: ONNX SpaceToDepth, torch.pixel_unshuffle. Raises `ShapeError`.

    >>> space_to_depth((1, 2, 4, 6), 2).output
    (1, 8, 2, 3)
    """
    options = {"block": block, "mode": mode, "opset": opset, "dtype": dtype, "dialect": dialect, "where": where}
    return _answer("space_to_depth", input, options)


def view(
    input: Dims,
    target: Dims,
    *,
    strides: Axes | None = None,
    dtype: str | None = None,
    where: Mapping[str, int] | None = None,
) -> Trace:
    """Read the same memory as another shape, if a tensor with these `strides`, in elements, has such a view.

    Source: Tensor.view; without `strides` the tensor is contiguous. Raises `ShapeError`.

    >>> view((3, 4), (3, 2, -1), strides=(1, 3)).output
    (3, 2, 2)
    """
    return _answer("view", input, {"target": target, "strides": strides, "dtype": dtype, "where": where})


def select(
    input: Dims,
    axis: int,
    index: int,
    *,
    dialect: str = "onnx",
    opset: int | None = None,
    dtype: str | None = None,
    where: Mapping[str, int] | None = None,
) -> Trace:
    """Take one index of one axis, and drop the axis; -1 is the last.

    Source: ONNX Gather, NumPy indexing, torch.select, OpenVINO Gather. Raises `ShapeError`.

    >>> select((2, 3, 4), 1, 0).output
    (2, 4)
    """
    options = {"axis": axis, "index": index, "opset": opset, "dtype": dtype, "dialect": dialect, "where": where}
    return _answer("select", input, options)


def slice(
    input: Dims,
    slices: object,
    *,
    dialect: str = "onnx",
    opset: int | None = None,
    dtype: str | None = None,
    where: Mapping[str, int] | None = None,
) -> Trace:
    """Keep some positions of each axis; `slices` are a text such as ":, ::2", or Python's own, as `numpy.s_` makes.

    Source: ONNX Slice, NumPy basic indexing, OpenVINO Slice, TensorRT Slice. Raises `ShapeError`.

    >>> slice((2, 3, 4), ":, ::2, 1:3").output
    (2, 2, 2)
    """
    options = {"slices": slices, "opset": opset, "dtype": dtype, "dialect": dialect, "where": where}
    return _answer("slice", input, options)


def split(
    input: Dims,
    axis: int,
    parts: int,
    *,
    part: int | None = None,
    dialect: str = "onnx",
    opset: int | None = None,
    dtype: str | None = None,
    where: Mapping[str, int] | None = None,
) -> Trace:
    """Cut an axis into equal parts and keep one of them, the first if `part` is not given.

    Source: ONNX Split, numpy.split, torch.chunk, OpenVINO Split, paddle.split. Raises `ShapeError`.

    >>> print(split(("N", "C"), 1, 3, part=2))
    N,C/3 when C % 3 == 0
    """
    options = {"axis": axis, "parts": parts, "part": part, "opset": opset, "dtype": dtype, "dialect": dialect}
    return _answer("split", input, options | {"where": where})


def flip(
    input: Dims,
    axes: Axes,
    *,
    dialect: str = "numpy",
    dtype: str | None = None,
    where: Mapping[str, int] | None = None,
) -> Trace:
    """Reverse axes: their last position comes first.

    Source: numpy.flip, torch.flip, paddle.flip. Raises `ShapeError`.

    >>> flip(("N", 3), (0, -1)).output
    (N, 3)
    """
    return _answer("flip", input, {"axes": axes, "dialect": dialect, "dtype": dtype, "where": where})


def roll(
    input: Dims,
    shift: int,
    axis: int,
    *,
    dialect: str = "numpy",
    dtype: str | None = None,
    where: Mapping[str, int] | None = None,
) -> Trace:
    """Move the positions of an axis on by `shift`; those at its end come to its start.

    Source: numpy.roll, torch.roll, OpenVINO Roll, paddle.roll. Raises `ShapeError`.

    >>> roll(("N", "H", "W"), -3, 1).output
    (N, H, W)
    """
    return _answer("roll", input, {"shift": shift, "axis": axis, "dialect": dialect, "dtype": dtype, "where": where})


def rearrange(
    input: Dims,
    pattern: str,
    lengths: str | None = None,
    *,
    dialect: str | None = None,
    opset: int | None = None,
    dtype: str | None = None,
    where: Mapping[str, int] | None = None,
) -> Trace:
    """Split, move, repeat and merge axes as a pattern of einops names them; `lengths` are those of axes: `p=7,q=7`.

    Source: einops.rearrange, einops.repeat. Raises `ShapeError`.

    >>> print(rearrange(("B", "C", "H"), "b c (h p) -> b h (p c)", "p=7"))
    B,H/7,7*C when H % 7 == 0
    """
    options = {"pattern": pattern, "lengths": lengths, "opset": opset, "dtype": dtype, "dialect": dialect}
    return _answer("rearrange", input, options | {"where": where})


def swapaxes(
    input: Dims,
    axis1: int,
    axis2: int,
    *,
    dialect: str = "numpy",
    dtype: str | None = None,
    where: Mapping[str, int] | None = None,
) -> Trace:
    """Swap two axes.

    Source: numpy.swapaxes, torch.swapaxes, paddle.swapaxes. Raises `ShapeError`.

    >>> swapaxes((2, 3, 4), 0, -1).output
    (4, 3, 2)
    """
    options = {"axis1": axis1, "axis2": axis2, "dialect": dialect, "dtype": dtype, "where": where}
    return _answer("swapaxes", input, options)


def moveaxis(
    input: Dims,
    axes: Axes,
    destination: Axes,
    *,
    dialect: str = "numpy",
    dtype: str | None = None,
    where: Mapping[str, int] | None = None,
) -> Trace:
    """Move `axes` to their places in `destination`; the others keep their order.

    Source: numpy.moveaxis, torch.movedim, paddle.moveaxis. Raises `ShapeError`.

    >>> moveaxis(("N", "H", "W", "C"), -1, 1).output
    (N, C, H, W)
    """
    options = {"axes": axes, "destination": destination, "dialect": dialect, "dtype": dtype, "where": where}
    return _answer("moveaxis", input, options)


def unflatten(
    input: Dims,
    axis: int,
    sizes: Dims,
    *,
    dialect: str = "torch",
    dtype: str | None = None,
    where: Mapping[str, int] | None = None,
) -> Trace:
    """Cut one axis into `sizes`, of which one may be -1.

    Source: torch.unflatten. Raises `ShapeError`.

    >>> print(unflatten(("B", "T", "C"), -1, ("h", -1)))
    B,T,h,C/h when C % h == 0
    """
    return _answer(
        "unflatten", input, {"axis": axis, "sizes": sizes, "dialect": dialect, "dtype": dtype, "where": where}
    )


def tile(
    input: Dims,
    repeats: Dims,
    *,
    dialect: str = "onnx",
    opset: int | None = None,
    dtype: str | None = None,
    where: Mapping[str, int] | None = None,
) -> Trace:
    """Repeat the whole tensor along its axes.

    Source: ONNX Tile, Tensor.repeat, numpy.tile, OpenVINO Tile, paddle.tile. Raises `ShapeError`.

    >>> tile(("N", 3), (2, 4)).output
    (2*N, 12)
    """
    return _answer(
        "tile", input, {"repeats": repeats, "opset": opset, "dtype": dtype, "dialect": dialect, "where": where}
    )


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
    return _answers.compare("reshape", input, {"target": target}, dialects, options)


def find(input: Dims | None = None, output: Dims | None = None, *, pairs: Iterable[tuple[Any, Any]] = ()) -> Found:
    """Return the chains that lead from one shape to another, each carried out before it is returned.

    `pairs` are arrays and what they are to become. Raises `ShapeError` for what cannot be read, and if elements of an
    array are equal, so that nothing tells them apart.

    >>> [way.chain for way in find("B,H*W,C", "B,C,H,W").ways[:2]]
    ['B,H*W,C | reshape B,C,H,W', 'B,H*W,C | reshape B,H,W,C | transpose 0,3,1,2']
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
    from shapecalc.core.text import read_shape
    from shapecalc.core.values import shape_of

    matcher = Matcher(pattern_of(pattern), read_sizes(where or {}))
    held = read_shape(shape) if isinstance(shape, str) else shape_of(shape)
    problem = matcher.problem(held, element_type_of(shape))
    if problem:
        raise ShapeError(problem)
    return matcher.sizes


def _answer(op: str, input: Dims, options: Mapping[str, object]) -> Trace:
    trace = _answers.answer(ask(op, input, options))
    if trace.problem:
        raise ShapeError(trace.problem, trace)
    return trace


def _shown_as(answer: Trace | Chain, kind: str, encoding: str | None, *, everything: bool = False) -> str:
    from shapecalc.view.files import shown_as

    return shown_as(answer, kind, encoding, everything=everything)


Answer.shown_as = _shown_as


def _stage(stage: object) -> tuple[str, Mapping[str, object]]:
    if isinstance(stage, str):
        from shapecalc.core.commands import read_stage, split

        read = read_stage(split(stage), with_input=False)
        return read.op, read.options
    match stage:
        case (str(op), {**options}):
            return op, {str(name): value for name, value in options.items()}
    raise misuse(f"a stage is text or an op's name with its options, not {visible(brief(repr(stage)))}")

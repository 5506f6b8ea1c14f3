"""Calls in code: which op a method, a function or a layer is."""

from __future__ import annotations

from shapecalc.core.asking.code_arguments import Arguments
from shapecalc.core.asking.code_measures import MEASURES
from shapecalc.core.asking.code_tensors import Parts, Tensor
from shapecalc.core.ops.rearrange import Plan, plan_of
from shapecalc.core.sizes.dims import Dim, Monomial, product, quotient
from shapecalc.core.sizes.quoting import brief, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from shapecalc.core.asking.code_tensors import Failing, Value

    Reading = Callable[[Tensor, Arguments], Value]

TENSORS = ("input", "x", "a", "tensor", "array", "arr")
"""What functions call the tensor."""


def is_known(name: str) -> bool:
    """Say whether a method, a function or a layer can be read."""
    return name in READINGS or name in KEEPS or name in SAID or name in MEASURES


def call_tensor(name: str, values: Sequence[Value], keywords: Mapping[str, Value], failing: Failing) -> Value:
    """Return the value of a call of that name; the tensor is the first of the values, or a keyword.

    Raises `ShapeError` (usage) for what is not known or cannot be said, `Refused` for what a rule refuses.
    """
    if name in SAID:
        raise failing(SAID[name])
    keywords = dict(keywords)
    first = next((keywords.pop(each) for each in TENSORS if isinstance(keywords.get(each), Tensor)), None)
    if first is None and values:
        first, values = values[0], values[1:]
    arguments = Arguments(name, tuple(values), keywords, failing)
    if name in MEASURES:
        return MEASURES[name](first, arguments)
    if not is_known(name):
        raise failing(f"{visible(brief(name))} is not known here")
    if not isinstance(first, Tensor):
        raise failing(f"{name} works on the tensor only")
    return first if name in KEEPS else READINGS[name](first, arguments)


def _contiguous(tensor: Tensor, _given: Arguments) -> Tensor:
    return tensor.contiguous()


def _reshape(tensor: Tensor, given: Arguments) -> Tensor:
    target = given.dims("shape", "newshape", "new_shape", "target_shape")
    return tensor.after("reshape", target=target)


def _view(tensor: Tensor, given: Arguments) -> Tensor:
    target = given.dims("size", "shape")
    return tensor.viewed(target) if tensor.dialect == "torch" else tensor.after("reshape", target=target)


def _permute(tensor: Tensor, given: Arguments) -> Tensor:
    return tensor.moved(given.axes("dims", "perm", "axes", "pattern"))


def _transpose(tensor: Tensor, given: Arguments) -> Tensor:
    if tensor.dialect == "torch":
        first, second = given.named("dim0/axis0", "dim1/axis1")
        return _swapped(tensor, given.whole(first), given.whole(second), given)
    axes = given.axes("axes", "perm")
    return tensor.moved(axes or range(tensor.rank)[::-1])


def _swapaxes(tensor: Tensor, given: Arguments) -> Tensor:
    first, second = given.named("dim0/axis0/axis1", "dim1/axis2")
    return _swapped(tensor, given.whole(first), given.whole(second), given)


def _swapped(tensor: Tensor, first: int, second: int, given: Arguments) -> Tensor:
    axes = list(range(tensor.rank))
    one, other = _axis(tensor, first, given), _axis(tensor, second, given)
    axes[one], axes[other] = other, one
    return tensor.moved(axes)


def _axis(tensor: Tensor, axis: int, given: Arguments, rank: int | None = None) -> int:
    """Return an axis counted from 0; raise `ShapeError` (usage) if there is none."""
    rank = tensor.rank if rank is None else rank
    if not -rank <= axis < rank:
        raise given.failing(f"there is no axis {axis} among {rank}")
    return axis % rank


def _reversed(tensor: Tensor, given: Arguments) -> Tensor:
    given.named()
    if tensor.rank > 2:
        raise given.failing(f"t() needs a matrix, and this tensor has {tensor.rank} dims")
    return tensor.moved(range(tensor.rank)[::-1])


def _moveaxis(tensor: Tensor, given: Arguments) -> Tensor:
    lists = [value if isinstance(value, tuple) else (value,) for value in given.named("source", "destination")]
    sources, places = ([_axis(tensor, given.whole(axis), given) for axis in each] for each in lists)
    if len({len(sources), len(places), len({*sources}), len({*places})}) > 1:
        raise given.failing("each axis moves to one place")
    rest = iter([axis for axis in range(tensor.rank) if axis not in sources])
    taken = dict(zip(places, sources, strict=True))
    return tensor.moved([taken[out] if out in taken else next(rest) for out in range(tensor.rank)])


def _flatten(tensor: Tensor, given: Arguments, start: int = 0) -> Tensor:
    first, last = given.named("start_dim", "end_dim")
    if tensor.dialect != "torch":
        return tensor.after("reshape", target=(-1,))
    return tensor.after("flatten", start_dim=given.whole(first, start), end_dim=given.whole(last, -1))


def _flatten_layer(tensor: Tensor, given: Arguments) -> Tensor:
    return _flatten(tensor, given, start=1)


def _ravel(tensor: Tensor, given: Arguments) -> Tensor:
    given.named()
    return tensor.after("reshape", target=(-1,))


def _unflatten(tensor: Tensor, given: Arguments) -> Tensor:
    axis, sizes = given.named("dim", "sizes/unflattened_size")
    if not isinstance(sizes, tuple):
        raise given.failing("unflatten takes the sizes in a tuple")
    return tensor.after("unflatten", axis=given.whole(axis), sizes=tuple(map(given.dim, sizes)))


def _squeeze(tensor: Tensor, given: Arguments) -> Tensor:
    axes = given.listed("dim", "axis")
    return tensor.after("squeeze", axes=given.axes("dim", "axis") if axes not in ((), (None,)) else None)


def _unsqueeze(tensor: Tensor, given: Arguments) -> Tensor:
    return tensor.after("unsqueeze", axes=given.axes("dim", "axis"))


def _expand(tensor: Tensor, given: Arguments) -> Tensor:
    return tensor.after("expand", target=given.dims("size", "shape"))


def _tile(tensor: Tensor, given: Arguments) -> Tensor:
    """Repeat the whole tensor along each dim, the last repeat for the last dim; TensorFlow's own takes one for each."""
    counts = given.dims("repeats", "reps", "dims", "multiples", "sizes")
    lacking = tensor.rank - len(counts) if given.name == "tile" else 0
    return tensor.after("tile", repeats=(*(1,) * lacking, *counts))


def _repeat(tensor: Tensor, given: Arguments) -> Tensor:
    """Read torch's repeat, which tiles; einops', which takes a pattern; or NumPy's, which repeats each element."""
    if given.values and isinstance(given.values[0], str):
        return _rearrange(tensor, given)
    return _tile(tensor, given) if tensor.dialect == "torch" else _repeat_elements(tensor, given)


def _repeat_elements(tensor: Tensor, given: Arguments) -> Tensor:
    """Repeat each element along one axis; without an axis, of the flattened tensor."""
    count, axis = given.named("repeats", "dim/axis")
    if axis is None:
        tensor, axis = tensor.after("reshape", target=(-1,)), 0
    place = _axis(tensor, given.whole(axis), given)
    dims, times = tensor.shape, given.dim(count)
    tensor = tensor.after("unsqueeze", axes=(place + 1,))
    tensor = tensor.after("expand", target=(*dims[: place + 1], times, *dims[place + 1 :]))
    return tensor.after("reshape", target=(*dims[:place], product((dims[place], times)), *dims[place + 1 :]))


def _rearrange(tensor: Tensor, given: Arguments) -> Tensor:
    """Read einops' rearrange and repeat. Lengths with names become the stages that the op itself has."""
    if len(given.values) != 1 or not isinstance(given.values[0], str):
        raise given.failing(f"{given.name} of einops takes a pattern")
    lengths = {name: given.dim(value) for name, value in given.keywords.items()}
    written = ",".join(f"{name}={length}" for name, length in lengths.items()) or None
    if not any(isinstance(length, Monomial) for length in lengths.values()):
        return tensor.after("rearrange", pattern=given.values[0], lengths=written)
    stand_in = ",".join(f"{name}=2" for name in lengths)
    return _planned(tensor, plan_of(tensor.rank, given.values[0], stand_in), lengths)


def _planned(tensor: Tensor, plan: Plan, lengths: Mapping[str, Dim]) -> Tensor:
    """Return the tensor after the stages of a pattern, with these lengths of its axes."""
    sizes: dict[str, Dim] = {**plan.lengths, **lengths}
    for dim, names in zip(tensor.shape, plan.left, strict=True):
        known = product([sizes[name] for name in names if name in sizes])
        sizes |= {name: quotient(dim, known) for name in names if name not in sizes}
    apart = tuple([sizes[axis] for axis in plan.axes])
    tensor = tensor if apart == tensor.shape else tensor.after("reshape", target=apart)
    tensor = tensor if plan.moved == tuple(range(tensor.rank)) else tensor.moved(plan.moved)
    every = [axis for names in plan.right for axis in names]
    if plan.new:
        tensor = tensor.inserted(tuple(plan.new))
        tensor = tensor.after("expand", target=tuple([sizes[axis] for axis in every]))
    target = tuple([product([sizes[axis] for axis in names]) for names in plan.right])
    return tensor if target == tensor.shape else tensor.after("reshape", target=target)


def _pixel_shuffle(tensor: Tensor, given: Arguments) -> Tensor:
    (block,) = given.named("upscale_factor")
    return tensor.after("depth_to_space", block=given.whole(block))


def _pixel_unshuffle(tensor: Tensor, given: Arguments) -> Tensor:
    (block,) = given.named("downscale_factor")
    return tensor.after("space_to_depth", block=given.whole(block))


def _select(tensor: Tensor, given: Arguments) -> Tensor:
    axis, index = given.named("dim", "index")
    return tensor.after("select", axis=given.whole(axis), index=given.whole(index))


def _chunk(tensor: Tensor, given: Arguments) -> Parts:
    count, axis = given.named("chunks/indices_or_sections/num_or_size_splits", "dim/axis")
    return Parts(tensor, _axis(tensor, given.whole(axis, 0), given), given.whole(count))


def _split(tensor: Tensor, given: Arguments) -> Parts:
    """Read torch's split, which names the size of a part, or NumPy's, which names their count."""
    if tensor.dialect != "torch":
        return _chunk(tensor, given)
    size, axis = given.named("split_size/split_size_or_sections", "dim")
    place = _axis(tensor, given.whole(axis, 0), given)
    if given.dim(size) == 0:
        raise given.failing("a part would be empty")
    count = quotient(tensor.shape[place], given.dim(size))
    if not isinstance(count, int):
        raise given.failing(f"parts of {size} are not all equal in {tensor.shape[place]}, or their count is not known")
    return Parts(tensor, place, count)


def _unbind(tensor: Tensor, given: Arguments) -> Parts:
    (axis,) = given.named("dim/axis")
    place = _axis(tensor, given.whole(axis, 0), given)
    dim = tensor.shape[place]
    if not isinstance(dim, int):
        raise given.failing(f"the count of parts, {dim}, is not a number", "give it with --where")
    return Parts(tensor, place, dim, drops=True)


def _flip(tensor: Tensor, given: Arguments) -> Tensor:
    return tensor.after("flip", axes=given.axes("dims", "axis"))


def _roll(tensor: Tensor, given: Arguments) -> Tensor:
    shift, axis = given.named("shifts/shift", "dims/axis")
    shifts, axes = (value if isinstance(value, tuple) else (value,) for value in (shift, axis))
    if len(shifts) != len(axes):
        raise given.failing("roll needs an axis for every shift")
    for each, along in zip(shifts, axes, strict=True):
        tensor = tensor.after("roll", shift=given.whole(each), axis=given.whole(along))
    return tensor


READINGS: dict[str, Reading] = {
    **dict.fromkeys(("contiguous", "ascontiguousarray"), _contiguous),
    "reshape": _reshape,
    "view": _view,
    "permute": _permute,
    "permute_dims": _permute,
    "permute_dimensions": _permute,
    "transpose": _transpose,
    **dict.fromkeys(("swapaxes", "swapdims"), _swapaxes),
    "t": _reversed,
    **dict.fromkeys(("moveaxis", "movedim"), _moveaxis),
    "flatten": _flatten,
    "Flatten": _flatten_layer,
    "ravel": _ravel,
    **dict.fromkeys(("unflatten", "Unflatten"), _unflatten),
    "squeeze": _squeeze,
    **dict.fromkeys(("unsqueeze", "expand_dims"), _unsqueeze),
    **dict.fromkeys(("expand", "broadcast_to"), _expand),
    "tile": _tile,
    **dict.fromkeys(("tf.tile", "tensorflow.tile"), _tile),
    "repeat": _repeat,
    "repeat_interleave": _repeat_elements,
    **dict.fromkeys(("rearrange", "Rearrange"), _rearrange),
    **dict.fromkeys(("pixel_shuffle", "PixelShuffle"), _pixel_shuffle),
    **dict.fromkeys(("pixel_unshuffle", "PixelUnshuffle"), _pixel_unshuffle),
    "select": _select,
    **dict.fromkeys(("chunk", "array_split"), _chunk),
    "split": _split,
    **dict.fromkeys(("unbind", "unstack"), _unbind),
    "flip": _flip,
    "roll": _roll,
}
"""The calls that change a shape."""
KEEPS = {
    *("clone", "detach", "to", "float", "half", "double", "bfloat16", "cpu"),
    *("cuda", "type", "type_as", "numpy", "copy", "astype", "requires_grad_", "relu"),
    *("gelu", "silu", "sigmoid", "tanh", "exp", "log", "abs"),
    *("softmax", "log_softmax", "dropout", "asarray", "array", "convert_to_tensor", "cast", "identity"),
    *("from_numpy", "as_tensor", "normalize", "sin", "cos", "neg"),
}
"""The calls that keep a shape."""
OTHERS = "the other tensor's shape is not known here: write {} with its dims"
JOINS, MULTIPLIES = (f"it {verb} tensors, and a line is about one" for verb in ("joins", "multiplies"))
REDUCES, ADDS = "it makes one position of many, and no op here does that", "it adds positions, and no op here does that"
SAID = {
    "view_as": OTHERS.format("view"),
    "reshape_as": OTHERS.format("reshape"),
    "expand_as": OTHERS.format("expand"),
    "unfold": "no op here makes windows that overlap",
    **dict.fromkeys(("cat", "concat", "concatenate", "stack", "hstack", "vstack"), JOINS),
    **dict.fromkeys(("matmul", "einsum", "bmm", "mm", "dot", "tensordot"), MULTIPLIES),
    **dict.fromkeys(("mean", "sum", "max", "min", "amax", "argmax", "any", "all", "norm", "reduce"), REDUCES),
    **dict.fromkeys(("pad", "interpolate", "upsample"), ADDS),
}
"""The calls that cannot be said, each with the reason."""

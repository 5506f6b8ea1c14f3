"""The operations: each yields its reasons (`Step`s) and returns its answer (a `Shape`).

All but `expand` and `shape` end in the same two moves, Permute and Reshape. `shuffle` is three of them in
a row. Where frameworks differ, the dialect's row is asked.
"""

from __future__ import annotations

from shapecalc.core.dims import Shape, product
from shapecalc.core.ones import axis_from_zero, recut
from shapecalc.core.problem import refusal
from shapecalc.core.reshape import reshape
from shapecalc.core.rules import Flattens, NoPerm
from shapecalc.core.text import shape_text
from shapecalc.core.trace import Permute, Slice, Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.setting import Setting
    from shapecalc.core.trace import Steps

    Axes = tuple[int, ...]


MOST_LISTED = 64
"""The rank up to which a hint lists axes."""


def transpose(
    shape: Shape, at: Setting, perm: Axes | None = None, stage: str = "transpose", argument: str = "perm"
) -> Steps:
    """Move axes: output dim i is input dim `perm[i]`; without a permutation the dims reverse.

    Source: ONNX Transpose ("by default, reverse the dimensions, otherwise permute the axes according to
    the values given"). Raises `ShapeError`: not-a-permutation, negative-axis, missing-argument.
    """
    perm, why = permutation(perm, len(shape), at, argument)
    for out, axis in enumerate(perm):
        yield Step(stage, "permute", out, (axis,), shape[axis])
    output = tuple(shape[axis] for axis in perm)
    yield Step(stage, "move-axes", None, perm, output, (why,), Permute(perm))
    return output


def permutation(perm: Axes | None, rank: int, at: Setting, argument: str) -> tuple[Axes, str]:
    """Return the permutation to carry out, all axes from 0, and what is to be said of it.

    Raises `ShapeError`: missing-argument, and what `checked_permutation` raises.
    """
    row = at.row
    if perm is None and row.no_perm is NoPerm.REFUSED:
        raise refusal(
            "missing-argument",
            f"{row.operators['transpose']} requires a permutation",
            _all_reversed(rank),
            argument=argument,
        )
    if perm is None and row.no_perm is NoPerm.KEEPS:
        return tuple(range(rank)), "no permutation is given: the axes stay"
    if perm is None or (not perm and row.empty_perm_reverses):
        return tuple(range(rank))[::-1], "no permutation is given: the axes reverse"
    return checked_permutation(perm, rank, at, argument), "the axes move, and the elements with them"


def _all_reversed(rank: int) -> str:
    return f"to reverse the dims, write {shape_text(range(rank)[::-1])}" if rank <= MOST_LISTED else ""


def checked_permutation(perm: Axes, rank: int, at: Setting, argument: str) -> Axes:
    """Return `perm` with all axes counted from 0.

    Raises `ShapeError`: not-a-permutation (of `rank` axes), negative-axis.
    """
    if len(perm) != rank:
        message = f"{len(perm)} axes are named, and the tensor has {rank}"
        raise refusal("not-a-permutation", message, _missing(perm, rank), argument=argument)
    axes: dict[int, None] = {}
    for index, axis in enumerate(perm):
        if axis < 0 and not at.row.negative_perm:
            hint = f"write {axis + rank}" if axis >= -rank else ""
            message = f"{at.row.name} counts the axes of a permutation from 0, and this is {axis}"
            raise refusal("negative-axis", message, hint, argument=argument, index=index)
        if not -rank <= axis < rank:
            message = f"there is no axis {axis} among {rank}"
            raise refusal("not-a-permutation", message, _missing(perm, rank), argument=argument, index=index)
        if axis % rank in axes:
            message = f"axis {axis} is named twice"
            raise refusal("not-a-permutation", message, _missing(perm, rank), argument=argument, index=index)
        axes[axis % rank] = None
    return tuple(axes)


def _missing(perm: Axes, rank: int) -> str:
    if rank > MOST_LISTED:
        return ""
    absent = [str(axis) for axis in range(rank) if axis not in perm and axis - rank not in perm]
    return f"not named yet: {', '.join(absent)}" if absent else ""


def shuffle(
    shape: Shape, at: Setting, first: Axes | None = None, to: Shape | None = None, second: Axes | None = None
) -> Steps:
    """Transpose, reshape, transpose: TensorRT's Shuffle, each stage optional.

    A 0 in `to` copies from the tensor after the first transpose. Permutations are checked before the
    reshape. Source: TensorRT Shuffle ("first transposes the tensor, then reshapes it, and finally applies
    another transpose"). Raises what `transpose` and `reshape` raise.
    """
    if first is not None:
        checked_permutation(first, len(shape), at, "first")
    if second is not None:
        checked_permutation(second, len(shape if to is None else to), at, "second")
    if first is not None:
        shape = yield from transpose(shape, at, first, "first", "first")
    if to is not None:
        shape = yield from reshape(shape, at, to, "to", "to")
    if second is not None:
        shape = yield from transpose(shape, at, second, "second", "second")
    return shape


def flatten(
    shape: Shape, at: Setting, axis: int | None = None, start_dim: int | None = None, end_dim: int | None = None
) -> Steps:
    """Merge dims: into two around `axis` (ONNX), from `start_dim` to `end_dim` into one (PyTorch), or all (NumPy).

    Source: ONNX Flatten ("the result is a 2D tensor"), torch.flatten, ndarray.flatten.
    Raises `ShapeError`: axis-out-of-range, negative-axis, start-after-end, overflow.
    """
    merged = parts(len(shape), axis, start_dim, end_dim, at)
    output = tuple(product(shape[axis] for axis in part) for part in merged)
    for out, part in enumerate(merged):
        yield Step("flatten", "merge", out, part, output[out], tuple(shape[axis] for axis in part))
    yield recut("flatten", shape, output)
    return output


def parts(rank: int, axis: int | None, start_dim: int | None, end_dim: int | None, at: Setting) -> list[Axes]:
    """Return the input axes that each output dim of a flatten is made of.

    Raises `ShapeError`: axis-out-of-range, negative-axis, start-after-end.
    """
    axes = tuple(range(rank))
    if at.row.flattens is Flattens.ALL:
        return [axes]
    if at.row.flattens is Flattens.AXIS:
        cut = axis_from_zero(1 if axis is None else axis, rank, at, "axis", past_the_last=True)
        return [axes[:cut], axes[cut:]]
    first = axis_from_zero(start_dim or 0, rank, at, "start_dim")
    last = axis_from_zero(-1 if end_dim is None else end_dim, rank, at, "end_dim")
    if first > last:
        raise refusal("start-after-end", f"start_dim {first} comes after end_dim {last}", argument="start_dim")
    before, after = [(axis,) for axis in axes[:first]], [(axis,) for axis in axes[last + 1 :]]
    return [*before, axes[first : last + 1], *after]


def shape(dims: Shape, _at: Setting, start: int | None = None, end: int | None = None) -> Steps:
    """Return the dims from `start` to `end` themselves: what is a shape becomes a vector of int64.

    Negatives count from the back, then both ends are clamped to [0, rank]; a start after the end gives
    an empty vector. Source: ONNX Shape, whose older texts clamp to [0, rank - 1], an erratum.
    """
    rank = len(dims)
    first, last, _ = slice(start, end).indices(rank)
    for end_name, asked, clamped in (("start", start, first), ("end", end, last)):
        if asked is not None and asked != clamped:
            yield Step("shape", "clamp", None, (), clamped, (_clamping(end_name, asked, clamped, rank),))
    output = dims[first:last]
    for out, dim in enumerate(output):
        yield Step("shape", "read-dim", out, (first + out,), dim)
    yield Step("shape", "slice", None, tuple(range(first, max(first, last))), output, (rank,), Slice(first, last))
    return output


def _clamping(name: str, asked: int, clamped: int, rank: int) -> str:
    counted = f"{name} {asked}" if asked >= 0 else f"{name} {asked} counts from the back: {asked + rank}"
    return counted if asked + rank == clamped else f"{counted}, clamped to {clamped}"

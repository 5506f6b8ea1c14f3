"""NumPy and PyTorch code: methods of `x`. A size that a 0 copies is read from the tensor itself."""

from __future__ import annotations

import re
from typing import assert_never

from shapecalc.core.answers import Kind, Stage
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import Flattens, check_rank
from shapecalc.core.moves import Dims, Permute
from shapecalc.core.problem import misuse
from shapecalc.core.record import Record, replace
from shapecalc.view.code import Code
from shapecalc.view.code.sizes import Readings, given_warnings, size_text
from shapecalc.view.code.slices import Kept, kept_axes, roll_of, split_axis, turned
from shapecalc.view.code.written import (
    WrittenDim,
    drops_every_one,
    empty_warnings,
    general_warnings,
    inserted_axes,
    shape_after,
    stages_of,
    title,
    written_dims,
)
from shapecalc.view.layout import dropped_axes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from shapecalc.core.answers import Chain, Trace
    from shapecalc.core.dims import Dim


class Place(Record):
    """The place of a stage in the program: the name of its tensor, and what `x` tells.

    `shape_of` and `count_of` are the expressions for the shape of a tensor, and for the product of some of its dims.
    """

    tensor: str
    readings: Readings
    shape_of: str = "{}.shape"
    count_of: str = "math.prod({})"

    def read(self, axes: Sequence[int]) -> str:
        """Return the expression for the product of neighbouring axes."""
        shape = self.shape_of.format(self.tensor)
        if len(axes) == 1:
            return f"{shape}[{axes[0]}]"
        return self.count_of.format(f"{shape}[{axes[0]}:{axes[-1] + 1}]") if axes else "1"

    def text(self, dim: Dim) -> str:
        """Return the expression for a size, as `x` and the names that are given tell it."""
        return size_text(self.readings.read(dim), self.shape_of.format("x"))


def numpy(answer: Trace | Chain) -> Code:
    """Return NumPy code; raise `ShapeError` for more dims than NumPy has, or a size that nobody knows."""
    return program(answer, "numpy", numpy_call)


def torch(answer: Trace | Chain) -> Code:
    """Return PyTorch code; raise `ShapeError` for more dims than PyTorch has, or a size that nobody knows."""
    return program(answer, "torch", _torch_call)


MODULES = {
    "jnp": "import jax.numpy as jnp",
    "math": "import math",
    "np": "import numpy as np",
    "paddle": "import paddle",
    "tf": "import tensorflow as tf",
    "torch": "import torch",
}
"""The modules that programs use, each with the line that imports it."""


def program(
    answer: Trace | Chain,
    target: str,
    call: Callable[[Trace, Stage, Place], str],
    shape_of: str = "{}.shape",
    count_of: str = "math.prod({})",
) -> Code:
    """Return one line for each stage that does something; raise `ShapeError` for more dims than `target` has.

    `call` returns the expression for a stage; the last two arguments are those of a `Place`.
    """
    place, lines = Place("x", Readings(answer.input), shape_of, count_of), list[str]()
    for trace, stage in stages_of(answer):
        if target in DIALECTS:
            check_rank(stage.before, DIALECTS[target], "input")
            check_rank(shape_after(stage), DIALECTS[target], "input")
        line = call(trace, stage, place)
        if line != place.tensor:
            lines.append(f"y = {line}")
            place = replace(place, tensor="y")
    lines = lines or ["y = x"]
    imports = sorted(line for name, line in MODULES.items() if any(re.search(rf"\b{name}\.", line) for line in lines))
    text = "\n".join([*imports, title(answer), *lines])
    warnings = (*general_warnings(answer, target), *empty_warnings(answer, target), *given_warnings(text, answer))
    return Code(text, warnings)


def numpy_call(_trace: Trace, stage: Stage, place: Place, module: str = "np") -> str:
    """Return the expression for a stage in NumPy, or in a module that has its functions."""
    tensor = place.tensor
    match stage.kind:
        case Kind.PERMUTE:
            return f"{tensor}.transpose({_arguments(axes_of(stage))})"
        case Kind.RESHAPE | Kind.VIEW | Kind.MERGE:
            return _reshape(stage, place)
        case Kind.SQUEEZE:
            return _squeeze(stage, place)
        case Kind.UNSQUEEZE:
            return f"{module}.expand_dims({tensor}, {tuple_text(inserted_axes(stage))})"
        case Kind.EXPAND:
            return f"{module}.broadcast_to({tensor}, {tuple_text(sizes_of(stage, place))})"
        case Kind.SELECT | Kind.SLICE | Kind.SPLIT | Kind.FLIP | Kind.ROLL:
            return _numpy_positions(stage, tensor, module)
        case Kind.SHAPE:
            return f"np.array({shape_part(stage, place)}, dtype=np.int64)"
        case _:
            assert_never(stage.kind)


def _torch_call(trace: Trace, stage: Stage, place: Place) -> str:
    """Return the PyTorch expression for a stage."""
    tensor = place.tensor
    match stage.kind:
        case Kind.PERMUTE:
            return f"{tensor}.permute({_arguments(axes_of(stage))})"
        case Kind.RESHAPE | Kind.VIEW:
            whole = stage.kind is Kind.VIEW and tensor == "x"
            return _reshape(stage, place, method="view" if whole else "reshape")
        case Kind.MERGE:
            return _flatten(trace, stage, place)
        case Kind.SQUEEZE:
            return _squeeze(stage, place)
        case Kind.UNSQUEEZE:
            return tensor + "".join(f".unsqueeze({axis})" for axis in inserted_axes(stage))
        case Kind.EXPAND:
            return f"{tensor}.expand({_arguments(sizes_of(stage, place, kept='-1'))})"
        case Kind.SELECT | Kind.SLICE | Kind.SPLIT | Kind.FLIP | Kind.ROLL:
            return _torch_positions(stage, tensor)
        case Kind.SHAPE:
            return f"torch.tensor({shape_part(stage, place)}, dtype=torch.int64)"
        case _:
            assert_never(stage.kind)


def _arguments(texts: Iterable[object]) -> str:
    """Return arguments, or `()` if there are none: a call without arguments would mean something else."""
    return ", ".join(map(str, texts)) or "()"


def tuple_text(texts: Iterable[object]) -> str:
    """Return a tuple of expressions as code."""
    items = list(map(str, texts))
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def axes_of(stage: Stage) -> tuple[int, ...]:
    """Return the permutation of a stage that moves axes."""
    assert isinstance(stage.move, Permute)
    return stage.move.axes


def sizes_of(stage: Stage, place: Place, kept: str = "") -> list[str]:
    """Return the dims to ask for. `kept` is the call's sign for a dim that the tensor has, if it knows one."""
    return [_size(dim, place, kept) for dim in written_dims(stage)]


def _size(dim: WrittenDim, place: Place, kept: str) -> str:
    if dim.inferred:
        return "-1"
    if dim.axes is None:
        return place.text(dim.value)
    return kept if kept and len(dim.axes) == 1 else place.read(dim.axes)


def _reshape(stage: Stage, place: Place, method: str = "reshape") -> str:
    return f"{place.tensor}.{method}({_arguments(sizes_of(stage, place))})"


def _squeeze(stage: Stage, place: Place) -> str:
    if drops_every_one(stage):
        return f"{place.tensor}.squeeze()"
    axes = dropped_axes(stage)
    return f"{place.tensor}.squeeze({tuple_text(axes)})" if axes else place.tensor


def indexed(tensor: str, kept: Sequence[Kept], target: str = "", most: int | None = None) -> str:
    """Return the expression that keeps these positions; axes at the end that stay whole are not written.

    Raises `ShapeError` (usage) for more than `most` axes, if that is as many as `target` takes positions of.
    """
    texts = [str(each) for each in kept]
    while texts and texts[-1] == ":":
        texts.pop()
    if texts and most is not None and len(kept) > most:
        raise misuse(f"a slice of {len(kept)} dims is not written as {target} code: it slices at most {most}")
    return f"{tensor}[{', '.join(texts)}]" if texts else tensor


def _numpy_positions(stage: Stage, tensor: str, module: str) -> str:
    """Return the expression that keeps or moves positions of axes, in NumPy or a module that has its functions."""
    if stage.kind is Kind.SPLIT:
        axis, parts, part = split_axis(stage)
        return f"{module}.split({tensor}, {parts}, {axis})[{part}]"
    if stage.kind is Kind.ROLL:
        return f"{module}.roll({tensor}, {roll_of(stage).shift}, {roll_of(stage).axis})"
    return indexed(tensor, kept_axes(stage))


def _torch_positions(stage: Stage, tensor: str) -> str:
    """Return the PyTorch expression that keeps or moves positions of axes. No slice goes backwards: a flip does."""
    if stage.kind is Kind.SPLIT:
        axis, parts, part = split_axis(stage)
        return f"{tensor}.chunk({parts}, {axis})[{part}]"
    if stage.kind is Kind.ROLL:
        return f"{tensor}.roll({roll_of(stage).shift}, {roll_of(stage).axis})"
    back = [each.axis for each in kept_axes(stage) if each.step < 0]
    return indexed(f"{tensor}.flip({_arguments(back)})" if back else tensor, forward(stage))


def forward(stage: Stage) -> list[Kept]:
    """Return what a stage keeps once the axes that it reads backwards are reversed."""
    kept = kept_axes(stage)
    return [turned(each, stage.before[each.axis]) if each.step < 0 else each for each in kept]


def shape_part(stage: Stage, place: Place) -> str:
    """Return the expression for the dims that a stage returns."""
    assert isinstance(stage.move, Dims)
    return f"{place.shape_of.format(place.tensor)}[{stage.move.start}:{stage.move.end}]"


def _flatten(trace: Trace, stage: Stage, place: Place) -> str:
    """Return PyTorch's own flatten if it was asked for and axes merge in one place, otherwise a reshape."""
    dims = written_dims(stage)
    merging = [dim for dim in dims if len(dim.axes or ()) > 1]
    if DIALECTS[trace.dialect].flattens is not Flattens.RANGE or len(merging) > 1:
        return _reshape(stage, place)
    first, widest = max(enumerate(dims), key=lambda at: len(at[1].axes or ()))
    return f"{place.tensor}.flatten({first}, {first + max(1, len(widest.axes or ())) - 1})"

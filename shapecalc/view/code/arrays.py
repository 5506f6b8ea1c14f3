"""NumPy, PyTorch, JAX, TensorFlow and PaddlePaddle code: one line for each stage. A row says what a framework writes.

A size that a 0 copies is read from the tensor itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import assert_never

from shapecalc.core.answers import Chain, Kind, Stage, Trace
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import Flattens, check_rank
from shapecalc.core.dims import Dim
from shapecalc.core.moves import Permute, Slice
from shapecalc.core.problem import misuse
from shapecalc.view.code import Code
from shapecalc.view.code.dims import (
    Call,
    Kept,
    Readings,
    RequestedDim,
    Rules,
    calls_of,
    drops_every_one,
    empty_warnings,
    general_warnings,
    given_warnings,
    inserted_axes,
    kept_axes,
    requested_shape,
    roll_of,
    shape_after,
    short_roll,
    size_text,
    split_axis,
    squeezed_axes,
    title,
    turned,
)

IMPORTS = {
    "jnp": "import jax.numpy as jnp",
    "math": "import math",
    "np": "import numpy as np",
    "paddle": "import paddle",
    "tf": "import tensorflow as tf",
    "torch": "import torch",
}
"""The modules that programs use, each with the line that imports it."""


@dataclass(frozen=True, slots=True)
class Framework:
    """What a framework writes, as templates, for the tensor `{x}`.

    Numbers are written as `{args}`, as a `{tuple}` or as a `{list}`. A template with `{axis}` in place of them is
    written for one after another.
    """

    name: str
    transpose: str
    reshape: str
    squeeze: str
    squeeze_all: str
    unsqueeze: str
    expand: str
    tile: str
    split: str
    roll: str
    shape: str
    """The vector of the dims from `{start}` to `{end}`."""
    flip: str = ""
    """What reverses axes, if no slice goes backwards."""
    view: str = ""
    """What reads `x` itself as another shape, if that is not a reshape."""
    flatten: str = ""
    """What merges the axes `{first}` to `{last}`, if that is not a reshape."""
    kept: str = ""
    """What stands in an expand for a dim that the tensor has, if there is a sign."""
    shape_of: str = "{x}.shape"
    product: str = "math.prod({dims})"
    most_sliced: int | None = None
    """The most dims of a tensor that it slices."""
    most_tiled: int | None = None
    """The most dims of a tensor that it tiles."""
    tiles_new_axes: bool = True
    """Whether its tile takes more repeats than there are dims."""
    short_rolls: bool = False
    """Whether it rolls only by numbers of 32 bits."""
    rules: Rules | None = None
    """How its 0 copies a dim in a requested shape, if it does."""


NUMPY = Framework(
    "numpy",
    transpose="{x}.transpose({args})",
    reshape="{x}.reshape({args})",
    squeeze="{x}.squeeze({tuple})",
    squeeze_all="{x}.squeeze()",
    unsqueeze="np.expand_dims({x}, {tuple})",
    expand="np.broadcast_to({x}, {tuple})",
    tile="np.tile({x}, {tuple})",
    split="np.split({x}, {parts}, {axis})[{part}]",
    roll="np.roll({x}, {shift}, {axis})",
    shape="np.array({x}.shape[{start}:{end}], dtype=np.int64)",
)
JAX = replace(
    NUMPY,
    name="jax",
    unsqueeze="jnp.expand_dims({x}, {tuple})",
    expand="jnp.broadcast_to({x}, {tuple})",
    tile="jnp.tile({x}, {tuple})",
    split="jnp.split({x}, {parts}, {axis})[{part}]",
    roll="jnp.roll({x}, {shift}, {axis})",
)
TORCH = Framework(
    "torch",
    transpose="{x}.permute({args})",
    reshape="{x}.reshape({args})",
    squeeze="{x}.squeeze({tuple})",
    squeeze_all="{x}.squeeze()",
    unsqueeze="{x}.unsqueeze({axis})",
    expand="{x}.expand({args})",
    tile="{x}.repeat({args})",
    split="{x}.chunk({parts}, {axis})[{part}]",
    roll="{x}.roll({shift}, {axis})",
    shape="torch.tensor({x}.shape[{start}:{end}], dtype=torch.int64)",
    flip="{x}.flip({args})",
    view="{x}.view({args})",
    flatten="{x}.flatten({first}, {last})",
    kept="-1",
)
TENSORFLOW = Framework(
    "tensorflow",
    transpose="tf.transpose({x}, {tuple})",
    reshape="tf.reshape({x}, {tuple})",
    squeeze="tf.squeeze({x}, {list})",
    squeeze_all="tf.squeeze({x})",
    unsqueeze="tf.expand_dims({x}, {axis})",
    expand="tf.broadcast_to({x}, {tuple})",
    tile="tf.tile({x}, {tuple})",
    split="tf.split({x}, {parts}, {axis})[{part}]",
    roll="tf.roll({x}, {shift}, {axis})",
    shape="tf.shape({x}, out_type=tf.int64)[{start}:{end}]",
    shape_of="tf.shape({x})",
    product="tf.reduce_prod({dims})",
    most_sliced=8,
    tiles_new_axes=False,
    short_rolls=True,
)
PADDLE = Framework(
    "paddle",
    transpose="paddle.transpose({x}, {list})",
    reshape="paddle.reshape({x}, {list})",
    squeeze="paddle.squeeze({x}, {list})",
    squeeze_all="paddle.squeeze({x})",
    unsqueeze="paddle.unsqueeze({x}, {list})",
    expand="paddle.expand({x}, {list})",
    tile="paddle.tile({x}, {list})",
    split="paddle.chunk({x}, {parts}, {axis})[{part}]",
    roll="paddle.roll({x}, {shift}, {axis})",
    shape='paddle.to_tensor({x}.shape[{start}:{end}], dtype="int64")',
    flip="paddle.flip({x}, {list})",
    kept="-1",
    most_sliced=6,
    most_tiled=7,
    rules=Rules("paddle", copies_of_empty=False),
)


@dataclass(frozen=True, slots=True)
class Program:
    """A program at one of its lines: the name of its tensor there, and what `x` tells."""

    framework: Framework
    tensor: str
    readings: Readings

    def read(self, axes: Sequence[int]) -> str:
        """Return the expression for the product of neighbouring axes."""
        shape = self.framework.shape_of.format(x=self.tensor)
        if len(axes) == 1:
            return f"{shape}[{axes[0]}]"
        return self.framework.product.format(dims=f"{shape}[{axes[0]}:{axes[-1] + 1}]") if axes else "1"

    def text(self, dim: Dim) -> str:
        """Return the expression for a size, as `x` and the names that are given tell it."""
        return size_text(self.readings.read(dim), self.framework.shape_of.format(x="x"))

    def size(self, dim: RequestedDim, kept: str = "") -> str:
        """Return what asks for a dim; `kept` is the sign for one that the tensor has, if there is one."""
        if dim.inferred:
            return "-1"
        if dim.axes is None:
            return self.text(dim.value)
        return kept if kept and len(dim.axes) == 1 else self.read(dim.axes)

    def written(self, template: str, numbers: Iterable[object], tensor: str = "") -> str:
        """Return a template with numbers. Call arguments that are none are `()`: no arguments mean something else."""
        texts, tensor = [*map(str, numbers)], tensor or self.tensor
        if "{axis}" in template:
            for axis in texts:
                tensor = template.format(x=tensor, axis=axis)
            return tensor
        joined = ", ".join(texts)
        in_tuple = f"({joined},)" if len(texts) == 1 else f"({joined})"
        return template.format(x=tensor, args=joined or "()", tuple=in_tuple, list=f"[{joined}]")

    def line(self, call: Call) -> str:
        """Return the expression for a call."""
        rows, stage, tensor = self.framework, call.stage, self.tensor
        match stage.kind:
            case Kind.PERMUTE:
                assert isinstance(stage.move, Permute)
                return self.written(rows.transpose, stage.move.axes)
            case Kind.RESHAPE | Kind.VIEW | Kind.MERGE:
                return self.reshape(call)
            case Kind.SQUEEZE:
                axes, every = squeezed_axes(stage), drops_every_one(stage)
                return self.written(rows.squeeze_all if every else rows.squeeze, axes) if every or axes else tensor
            case Kind.UNSQUEEZE:
                return self.written(rows.unsqueeze, inserted_axes(stage))
            case Kind.EXPAND:
                return self.expand(call)
            case Kind.SPLIT:
                axis, parts, part = split_axis(stage)
                return rows.split.format(x=tensor, axis=axis, parts=parts, part=part)
            case Kind.ROLL:
                roll = short_roll(stage, rows.name) if rows.short_rolls else roll_of(stage)
                return rows.roll.format(x=tensor, shift=roll.shift, axis=roll.axis)
            case Kind.SELECT | Kind.SLICE | Kind.FLIP:
                return self.positions(stage)
            case Kind.SHAPE:
                assert isinstance(stage.move, Slice)
                return rows.shape.format(x=tensor, start=stage.move.start, end=stage.move.end)
            case _:
                assert_never(stage.kind)

    def reshape(self, call: Call) -> str:
        """Return the expression for a stage that cuts the elements anew."""
        rows = self.framework
        if rows.rules:
            return self.written(rows.reshape, map(size_text, requested_shape(call, self.readings, rows.rules).dims))
        if rows.flatten and call.stage.kind is Kind.MERGE:
            merging = [dim for dim in call.dims if len(dim.axes or ()) > 1]
            if DIALECTS[call.trace.dialect].flattens is Flattens.RANGE and len(merging) < 2:
                first, widest = max(enumerate(call.dims), key=lambda at: len(at[1].axes or ()))
                last = first + max(1, len(widest.axes or ())) - 1
                return rows.flatten.format(x=self.tensor, first=first, last=last)
        whole = rows.view and call.stage.kind is Kind.VIEW and self.tensor == "x"
        return self.written(rows.view if whole else rows.reshape, map(self.size, call.dims))

    def expand(self, call: Call) -> str:
        """Return the expression that repeats dims of 1, or a whole tensor."""
        rows = self.framework
        if not call.repeats:
            return self.written(rows.expand, [self.size(dim, rows.kept) for dim in call.dims])
        if rows.most_tiled is not None and len(call.repeats) > rows.most_tiled:
            named = f"a tile of {len(call.repeats)} dims is not written as {rows.name} code"
            raise misuse(f"{named}: it tiles at most {rows.most_tiled}")
        new = 0 if rows.tiles_new_axes else len(call.repeats) - len(call.stage.before)
        tensor = self.written(rows.unsqueeze, [0] * new) if new else self.tensor
        return self.written(rows.tile, map(self.text, call.repeats), tensor)

    def positions(self, stage: Stage) -> str:
        """Return the expression that keeps positions of axes. What no slice reads backwards is reversed first."""
        rows, kept, tensor = self.framework, kept_axes(stage), self.tensor
        if rows.flip:
            back = [each.axis for each in kept if each.step < 0]
            tensor = self.written(rows.flip, back) if back else tensor
            kept = tuple(turned(each, stage.before[each.axis]) if each.step < 0 else each for each in kept)
        return self.indexed(tensor, kept)

    def indexed(self, tensor: str, kept: Sequence[Kept]) -> str:
        """Return the expression that keeps these positions; axes at the end that stay whole are not written."""
        texts, most = [str(each) for each in kept], self.framework.most_sliced
        while texts and texts[-1] == ":":
            texts.pop()
        if texts and most is not None and len(kept) > most:
            name = self.framework.name
            raise misuse(f"a slice of {len(kept)} dims is not written as {name} code: it slices at most {most}")
        return f"{tensor}[{', '.join(texts)}]" if texts else tensor


def write(framework: Framework, answer: Trace | Chain) -> Code:
    """Return one line for each stage that does something; raise `ShapeError` for more dims than a framework has."""
    program, lines, name = Program(framework, "x", Readings(answer.input)), list[str](), framework.name
    for call in calls_of(answer, folds=False):
        if name in DIALECTS:
            check_rank(call.stage.before, DIALECTS[name], "input")
            check_rank(shape_after(call.stage), DIALECTS[name], "input")
        line = program.line(call)
        if line != program.tensor:
            lines.append(f"y = {line}")
            program = replace(program, tensor="y")
    lines = lines or ["y = x"]
    imports = sorted(line for module, line in IMPORTS.items() if re.search(rf"\b{module}\.", "\n".join(lines)))
    text = "\n".join([*imports, title(answer), *lines])
    warnings = (*general_warnings(answer, name), *empty_warnings(answer, name), *given_warnings(text, answer))
    return Code(text, warnings)


WRITERS: dict[str, Callable[[Trace | Chain], Code]] = {
    each.name: partial(write, each) for each in (NUMPY, TORCH, JAX, TENSORFLOW, PADDLE)
}

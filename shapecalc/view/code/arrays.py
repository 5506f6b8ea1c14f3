"""NumPy, PyTorch, JAX, TensorFlow and PaddlePaddle code: one line for each stage. A row says what a framework writes.

A size that a 0 copies is read from the tensor itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from shapecalc.core.answers import Chain, Kind, Trace
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import Flattens
from shapecalc.core.dims import Dim
from shapecalc.core.moves import Dims, Permute, Roll, Take
from shapecalc.core.problem import misuse
from shapecalc.core.record import Record, replace
from shapecalc.view.code import Code
from shapecalc.view.code.dims import Call, RequestedDim, Rules, Writer, calls_of, requested_shape, size_text, turned


class Framework(Record):
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
    take: str
    """What takes the positions `{indices}` of `{axis}`; `{whole}` is a slice of each axis before it."""
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
    take="{x}[{whole}{indices}]",
    split="np.split({x}, {parts}, {axis})[{part}]",
    roll="np.roll({x}, {shift}, {axis})",
    shape="np.array({x}.shape[{start}:{end}], dtype=np.int64)",
)
OWN = {row: getattr(NUMPY, row).replace("np.", "jnp.") for row in ("unsqueeze", "expand", "tile", "split", "roll")}
JAX = replace(NUMPY, name="jax", take="jnp.take({x}, jnp.array({indices}, int), {axis})", **OWN)
TORCH = replace(
    NUMPY,
    name="torch",
    transpose="{x}.permute({args})",
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
    take="tf.gather({x}, tf.constant({indices}, tf.int64), axis={axis})",
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
    take="paddle.index_select({x}, paddle.to_tensor({indices}, 'int64'), {axis})",
    split="paddle.chunk({x}, {parts}, {axis})[{part}]",
    roll="paddle.roll({x}, {shift}, {axis})",
    shape='paddle.to_tensor({x}.shape[{start}:{end}], dtype="int64")',
    flip="paddle.flip({x}, {list})",
    kept="-1",
    most_sliced=6,
    most_tiled=7,
    rules=Rules("paddle", copies_of_empty=False),
)


class Program(Writer):
    """A program of a framework while it is written."""

    def __init__(self, answer: Trace | Chain, framework: Framework) -> None:
        """Start at the input `x`."""
        super().__init__(answer)
        self.rows, self.name = framework, framework.name

    def read(self, axes: Sequence[int]) -> str:
        """Return the expression for the product of neighbouring axes."""
        shape = self.rows.shape_of.format(x=self.tensor)
        if len(axes) == 1:
            return f"{shape}[{axes[0]}]"
        return self.rows.product.format(dims=f"{shape}[{axes[0]}:{axes[-1] + 1}]") if axes else "1"

    def size(self, dim: Dim) -> str:
        """Return the expression for a size, as `x` and the names that are given tell it."""
        return size_text(self.readings.read(dim), self.rows.shape_of.format(x="x"))

    def requested(self, dim: RequestedDim, kept: str = "") -> str:
        """Return what asks for a dim; `kept` is the sign for one that the tensor has, if there is one."""
        if dim.inferred:
            return "-1"
        if dim.axes is None:
            return self.size(dim.value)
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

    def transpose(self, call: Call) -> None:
        """Write what moves axes."""
        self.put(self.written(self.rows.transpose, call.move(Permute).axes))

    def reshape(self, call: Call) -> None:
        """Write what cuts the elements anew."""
        rows = self.rows
        if rows.rules:
            dims = requested_shape(call, self.readings, rows.rules).dims
            return self.put(self.written(rows.reshape, map(size_text, dims)))
        if rows.flatten and call.stage.kind is Kind.MERGE:
            merging = [dim for dim in call.dims if len(dim.axes or ()) > 1]
            if DIALECTS[call.trace.dialect].flattens is Flattens.RANGE and len(merging) < 2:
                first, widest = max(enumerate(call.dims), key=lambda at: len(at[1].axes or ()))
                last = first + max(1, len(widest.axes or ())) - 1
                return self.put(rows.flatten.format(x=self.tensor, first=first, last=last))
        whole = rows.view and call.stage.kind is Kind.VIEW and self.tensor == "x"
        return self.put(self.written(rows.view if whole else rows.reshape, map(self.requested, call.dims)))

    def squeeze(self, call: Call) -> None:
        """Write what drops dims of 1."""
        axes, every = call.dropped_axes(), call.drops_every_one()
        if every or axes:
            self.put(self.written(self.rows.squeeze_all if every else self.rows.squeeze, axes))

    def unsqueeze(self, call: Call) -> None:
        """Write what inserts dims of 1."""
        self.put(self.written(self.rows.unsqueeze, call.inserted_axes()))

    def expand(self, call: Call) -> None:
        """Write what repeats dims of 1."""
        self.put(self.written(self.rows.expand, [self.requested(dim, self.rows.kept) for dim in call.dims]))

    def tile(self, call: Call) -> None:
        """Write what repeats a whole tensor."""
        rows, count = self.rows, len(call.repeats)
        self.check_count("tile", count, rows.most_tiled)
        new = 0 if rows.tiles_new_axes else count - len(call.stage.before)
        tensor = self.written(rows.unsqueeze, [0] * new) if new else self.tensor
        self.put(self.written(rows.tile, map(self.size, call.repeats), tensor))

    def pick(self, call: Call) -> None:
        """Write what keeps positions of axes. What no slice reads backwards is reversed first."""
        rows, kept, tensor = self.rows, call.kept_axes(), self.tensor
        if rows.flip:
            back = [each.axis for each in kept if each.step < 0]
            tensor = self.written(rows.flip, back) if back else tensor
            kept = tuple(turned(each, call.stage.before[each.axis]) if each.step < 0 else each for each in kept)
        texts = [str(each) for each in kept]
        while texts and texts[-1] == ":":  # axes at the end that stay whole are not written
            texts.pop()
        self.check_count("slice", len(kept) if texts else 0, rows.most_sliced)
        self.put(f"{tensor}[{', '.join(texts)}]" if texts else tensor)

    def check_count(self, what: str, count: int, most: int | None) -> None:
        """Raise `ShapeError` (usage) for more dims than the framework can do so much with."""
        if most is not None and count > most:
            raise misuse(f"a {what} of {count} dims is not written as {self.name} code: it {what}s at most {most}")

    def split(self, call: Call) -> None:
        """Write what keeps one of the parts of an axis."""
        axis, parts, part = call.split_axis()
        self.put(self.rows.split.format(x=self.tensor, axis=axis, parts=parts, part=part))

    def take(self, call: Call) -> None:
        """Write what takes positions of an axis."""
        move = call.move(Take)
        if self.name in ("tensorflow", "paddle") and min(move.places, default=0) < 0:
            raise misuse(f"{self.name} takes no position from the end", "give the sizes with --where")
        whole = ":, " * move.axis
        self.put(self.rows.take.format(x=self.tensor, indices=[*move.places], axis=move.axis, whole=whole))

    def roll(self, call: Call) -> None:
        """Write what rolls an axis."""
        roll = call.short_roll(self.name) if self.rows.short_rolls else call.move(Roll)
        self.put(self.rows.roll.format(x=self.tensor, shift=roll.shift, axis=roll.axis))

    def shape(self, call: Call) -> None:
        """Write what returns the dims."""
        move = call.move(Dims)
        self.put(self.rows.shape.format(x=self.tensor, start=move.start, end=move.end))


def write(framework: Framework, answer: Trace | Chain) -> Code:
    """Return one line for each stage that does something; raise `ShapeError` for more dims than a framework has."""
    return Program(answer, framework).code(calls_of(answer, folds=False))


WRITERS: dict[str, Callable[[Trace | Chain], Code]] = {
    each.name: partial(write, each) for each in (NUMPY, TORCH, JAX, TENSORFLOW, PADDLE)
}

"""Code for NumPy, PyTorch, JAX, TensorFlow and PaddlePaddle.

Each stage is one line. A size that a 0 copies is read from the tensor.
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
    """The templates of a framework's calls on the tensor `{x}`.

    Numbers are filled in as `{args}`, as a `{tuple}` or as a `{list}`. A template with `{axis}` is applied once for
    each axis.
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
    """Takes the positions `{indices}` of `{axis}`.

    `{whole}` is a slice of each axis before it.
    """
    split: str
    roll: str
    shape: str
    """The vector of the dims from `{start}` to `{end}`."""
    flip: str = ""
    """Reverses axes; empty if slices take negative steps."""
    view: str = ""
    """Reshapes `x` itself without a copy, if that differs from a reshape."""
    flatten: str = ""
    """Merges the axes `{first}` to `{last}`, if that differs from a reshape."""
    kept: str = ""
    """The placeholder of an unchanged dim in an expand; empty if there is none."""
    shape_of: str = "{x}.shape"
    product: str = "math.prod({dims})"
    most_sliced: int | None = None
    """The maximum rank of a tensor that can be sliced."""
    most_tiled: int | None = None
    """The maximum rank of a tensor that can be tiled."""
    tiles_new_axes: bool = True
    """Whether its tile takes more repeats than the tensor has dims."""
    short_rolls: bool = False
    """Whether shifts of a roll are 32-bit integers."""
    rules: Rules | None = None
    """The rules for a 0 that copies a dim of a requested shape, if it does."""


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
    """A writer of one framework's program."""

    def __init__(self, answer: Trace | Chain, framework: Framework) -> None:
        """Start at the input `x`."""
        super().__init__(answer)
        self.rows, self.name = framework, framework.name

    def read(self, axes: Sequence[int]) -> str:
        """Return the expression for the product of consecutive axes."""
        shape = self.rows.shape_of.format(x=self.tensor)
        if len(axes) == 1:
            return f"{shape}[{axes[0]}]"
        return self.rows.product.format(dims=f"{shape}[{axes[0]}:{axes[-1] + 1}]") if axes else "1"

    def size(self, dim: Dim) -> str:
        """Return the expression for a size in terms of `x` and the named sizes."""
        return size_text(self.readings.read(dim), self.rows.shape_of.format(x="x"))

    def requested(self, dim: RequestedDim, kept: str = "") -> str:
        """Return the expression for a requested dim.

        `kept_placeholder` replaces an unchanged one.
        """
        if dim.inferred:
            return "-1"
        if dim.axes is None:
            return self.size(dim.value)
        return kept if kept and len(dim.axes) == 1 else self.read(dim.axes)

    def written(self, template: str, numbers: Iterable[object], tensor: str = "") -> str:
        """Fill numbers into a template.

        An empty argument list is written as `()`, since a call without arguments has another meaning.
        """
        texts, tensor = [*map(str, numbers)], tensor or self.tensor
        if "{axis}" in template:
            for axis in texts:
                tensor = template.format(x=tensor, axis=axis)
            return tensor
        argument_text = ", ".join(texts)
        tuple_text = f"({argument_text},)" if len(texts) == 1 else f"({argument_text})"
        return template.format(x=tensor, args=argument_text or "()", tuple=tuple_text, list=f"[{argument_text}]")

    def transpose(self, call: Call) -> None:
        """Write a permutation."""
        self.put(self.written(self.rows.transpose, call.move(Permute).axes))

    def reshape(self, call: Call) -> None:
        """Write a reshape, a view or a flatten."""
        framework = self.rows
        if framework.rules:
            dims = requested_shape(call, self.readings, framework.rules).dims
            return self.put(self.written(framework.reshape, map(size_text, dims)))
        if framework.flatten and call.stage.kind is Kind.MERGE:
            merging = [dim for dim in call.dims if len(dim.axes or ()) > 1]
            if DIALECTS[call.trace.dialect].flattens is Flattens.RANGE and len(merging) < 2:
                first, widest = max(enumerate(call.dims), key=lambda item: len(item[1].axes or ()))
                last = first + max(1, len(widest.axes or ())) - 1
                return self.put(framework.flatten.format(x=self.tensor, first=first, last=last))
        is_view = framework.view and call.stage.kind is Kind.VIEW and self.tensor == "x"
        return self.put(self.written(framework.view if is_view else framework.reshape, map(self.requested, call.dims)))

    def squeeze(self, call: Call) -> None:
        """Write a squeeze."""
        axes, every = call.dropped_axes(), call.drops_every_one()
        if every or axes:
            self.put(self.written(self.rows.squeeze_all if every else self.rows.squeeze, axes))

    def unsqueeze(self, call: Call) -> None:
        """Write an unsqueeze."""
        self.put(self.written(self.rows.unsqueeze, call.inserted_axes()))

    def expand(self, call: Call) -> None:
        """Write an expand."""
        self.put(self.written(self.rows.expand, [self.requested(dim, self.rows.kept) for dim in call.dims]))

    def tile(self, call: Call) -> None:
        """Write a tile of the whole tensor."""
        framework, count = self.rows, len(call.repeats)
        self.check_count("tile", count, framework.most_tiled)
        new_axes = 0 if framework.tiles_new_axes else count - len(call.stage.before)
        tensor = self.written(framework.unsqueeze, [0] * new_axes) if new_axes else self.tensor
        self.put(self.written(framework.tile, map(self.size, call.repeats), tensor))

    def pick(self, call: Call) -> None:
        """Write an index or a slice.

        A framework without negative steps reverses the axes first.
        """
        framework, ranges, tensor = self.rows, call.kept_axes(), self.tensor
        if framework.flip:
            reversed_axes = [axis_range.axis for axis_range in ranges if axis_range.step < 0]
            tensor = self.written(framework.flip, reversed_axes) if reversed_axes else tensor
            ranges = tuple(
                turned(axis_range, call.stage.before[axis_range.axis]) if axis_range.step < 0 else axis_range
                for axis_range in ranges
            )
        texts = [str(axis_range) for axis_range in ranges]
        while texts and texts[-1] == ":":  # axes at the end that stay whole are not written
            texts.pop()
        self.check_count("slice", len(ranges) if texts else 0, framework.most_sliced)
        self.put(f"{tensor}[{', '.join(texts)}]" if texts else tensor)

    def check_count(self, what: str, count: int, most: int | None) -> None:
        """Raise `ShapeError` (usage) if a rank exceeds the framework's maximum.

        `operation` is the verb of the message.
        """
        if most is not None and count > most:
            raise misuse(f"a {what} of {count} dims is not written as {self.name} code: it {what}s at most {most}")

    def split(self, call: Call) -> None:
        """Write one part of a split."""
        axis, parts, part = call.split_axis()
        self.put(self.rows.split.format(x=self.tensor, axis=axis, parts=parts, part=part))

    def take(self, call: Call) -> None:
        """Write a take of positions of an axis."""
        move = call.move(Take)
        if self.name in ("tensorflow", "paddle") and min(move.places, default=0) < 0:
            raise misuse(f"{self.name} takes no position from the end", "give the sizes with --where")
        leading_slices = ":, " * move.axis
        self.put(self.rows.take.format(x=self.tensor, indices=[*move.places], axis=move.axis, whole=leading_slices))

    def roll(self, call: Call) -> None:
        """Write a roll of an axis."""
        roll = call.short_roll(self.name) if self.rows.short_rolls else call.move(Roll)
        self.put(self.rows.roll.format(x=self.tensor, shift=roll.shift, axis=roll.axis))

    def shape(self, call: Call) -> None:
        """Write the vector of dims."""
        move = call.move(Dims)
        self.put(self.rows.shape.format(x=self.tensor, start=move.start, end=move.end))


def write(framework: Framework, answer: Trace | Chain) -> Code:
    """Return one line for each stage that changes something.

    Raises `ShapeError` if a rank is too high.
    """
    return Program(answer, framework).code(calls_of(answer, folds=False))


WRITERS: dict[str, Callable[[Trace | Chain], Code]] = {
    framework.name: partial(write, framework) for framework in (NUMPY, TORCH, JAX, TENSORFLOW, PADDLE)
}

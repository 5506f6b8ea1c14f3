"""Code for NumPy, PyTorch, JAX, TensorFlow and PaddlePaddle.

Each stage is one line. A size copied by a 0 is read from the tensor at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from shapecalc.core.answers import Chain, StageKind, Trace
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dims import Dim
from shapecalc.core.moves import Permute, Roll, ShapeVector, Take
from shapecalc.core.ops.flatten import FLATTEN_SEMANTICS, FlattenMode
from shapecalc.core.problem import usage_error
from shapecalc.core.record import Record, replace
from shapecalc.render.code import Code
from shapecalc.render.code.dims import (
    CodeWriter,
    EmittedCall,
    RequestedDim,
    ReshapeRules,
    build_calls,
    reverse_range,
    size_text,
    target_shape,
)


class ArrayFramework(Record):
    """The templates for a framework's calls on the tensor `{x}`.

    Numbers are inserted as `{args}`, as a `{tuple}` or as a `{list}`. A template with `{axis}` is applied once for
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
    """The selection of the elements at `{indices}` along `{axis}`.

    `{whole}` is replaced by a full slice for each preceding axis.
    """
    split: str
    roll: str
    shape: str
    """The vector of the dims from `{start}` to `{end}`, exclusive."""
    flip: str = ""
    """The reversal of axes; empty if slices support negative steps."""
    view: str = ""
    """The reshape of `x` without a copy; empty if there is no separate call."""
    flatten: str = ""
    """The merge of the axes `{first}` to `{last}`, inclusive; empty if there is no separate call."""
    kept_placeholder: str = ""
    """The argument of an expand that keeps a dim unchanged; empty if there is none."""
    shape_of: str = "{x}.shape"
    product: str = "math.prod({dims})"
    max_sliced_rank: int | None = None
    """The maximum rank of a tensor that can be sliced."""
    max_tiled_rank: int | None = None
    """The maximum rank of a tensor that can be tiled."""
    tiles_new_axes: bool = True
    """Whether the framework's tile accepts more repeats than the tensor has dims."""
    has_int32_rolls: bool = False
    """Whether roll shifts are limited to 32-bit integers."""
    reshape_rules: ReshapeRules | None = None
    """The rules for 0 in a requested shape; None if 0 does not copy a dim."""


NUMPY = ArrayFramework(
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
JAX_TEMPLATES = {
    row: getattr(NUMPY, row).replace("np.", "jnp.") for row in ("unsqueeze", "expand", "tile", "split", "roll")
}
JAX = replace(NUMPY, name="jax", take="jnp.take({x}, jnp.array({indices}, int), {axis})", **JAX_TEMPLATES)
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
    kept_placeholder="-1",
)
TENSORFLOW = ArrayFramework(
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
    max_sliced_rank=8,
    tiles_new_axes=False,
    has_int32_rolls=True,
)
PADDLE = ArrayFramework(
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
    kept_placeholder="-1",
    max_sliced_rank=6,
    max_tiled_rank=7,
    reshape_rules=ReshapeRules("paddle", copies_empty_dims=False),
)


class ArrayWriter(CodeWriter):
    """A writer of programs for one framework."""

    def __init__(self, answer: Trace | Chain, framework: ArrayFramework) -> None:
        """Start with `x` as the current tensor."""
        super().__init__(answer)
        self.framework, self.name = framework, framework.name

    def axes_product(self, axes: Sequence[int]) -> str:
        """Return the expression for the product of the sizes of consecutive axes."""
        shape = self.framework.shape_of.format(x=self.tensor)
        if len(axes) == 1:
            return f"{shape}[{axes[0]}]"
        return self.framework.product.format(dims=f"{shape}[{axes[0]}:{axes[-1] + 1}]") if axes else "1"

    def size_expression(self, dim: Dim) -> str:
        """Return the expression for a size in terms of `x` and the named sizes."""
        return size_text(self.sizes.express(dim), self.framework.shape_of.format(x="x"))

    def dim_expression(self, dim: RequestedDim, kept_placeholder: str = "") -> str:
        """Return the expression for a requested dim.

        An unchanged dim is expressed as `kept_placeholder`, if that is not empty.
        """
        if dim.inferred:
            return "-1"
        if dim.axes is None:
            return self.size_expression(dim.value)
        return kept_placeholder if kept_placeholder and len(dim.axes) == 1 else self.axes_product(dim.axes)

    def fill_template(self, template: str, numbers: Iterable[object], tensor: str = "") -> str:
        """Substitute numbers into a template.

        An empty argument list becomes `()`, since a call without arguments has a different meaning.
        """
        texts, tensor = [*map(str, numbers)], tensor or self.tensor
        if "{axis}" in template:
            for axis in texts:
                tensor = template.format(x=tensor, axis=axis)
            return tensor
        argument_text = ", ".join(texts)
        tuple_text = f"({argument_text},)" if len(texts) == 1 else f"({argument_text})"
        return template.format(x=tensor, args=argument_text or "()", tuple=tuple_text, list=f"[{argument_text}]")

    def transpose(self, call: EmittedCall) -> None:
        """Emit a transpose."""
        self.assign(self.fill_template(self.framework.transpose, call.move(Permute).axes))

    def reshape(self, call: EmittedCall) -> None:
        """Emit a reshape, a view or a flatten."""
        framework = self.framework
        if framework.reshape_rules:
            dims = target_shape(call, self.sizes, framework.reshape_rules).dims
            return self.assign(self.fill_template(framework.reshape, map(size_text, dims)))
        if framework.flatten and call.stage.kind is StageKind.MERGE:
            merging = [dim for dim in call.dims if len(dim.axes or ()) > 1]
            mode = FLATTEN_SEMANTICS.of(DIALECTS[call.trace.dialect]).flattens
            if mode is FlattenMode.RANGE and len(merging) < 2:
                first, widest = max(enumerate(call.dims), key=lambda item: len(item[1].axes or ()))
                last = first + max(1, len(widest.axes or ())) - 1
                return self.assign(framework.flatten.format(x=self.tensor, first=first, last=last))
        is_view = framework.view and call.stage.kind is StageKind.VIEW and self.tensor == "x"
        return self.assign(
            self.fill_template(framework.view if is_view else framework.reshape, map(self.dim_expression, call.dims))
        )

    def squeeze(self, call: EmittedCall) -> None:
        """Emit a squeeze."""
        axes, every = call.axes_to_drop(), call.drops_all_ones()
        if every or axes:
            self.assign(self.fill_template(self.framework.squeeze_all if every else self.framework.squeeze, axes))

    def unsqueeze(self, call: EmittedCall) -> None:
        """Emit an unsqueeze."""
        self.assign(self.fill_template(self.framework.unsqueeze, call.axes_to_insert()))

    def expand(self, call: EmittedCall) -> None:
        """Emit an expand."""
        self.assign(
            self.fill_template(
                self.framework.expand, [self.dim_expression(dim, self.framework.kept_placeholder) for dim in call.dims]
            )
        )

    def tile(self, call: EmittedCall) -> None:
        """Emit a tile."""
        framework, count = self.framework, len(call.repeats)
        self.check_rank_limit("tile", count, framework.max_tiled_rank)
        new_axes = 0 if framework.tiles_new_axes else count - len(call.stage.before)
        tensor = self.fill_template(framework.unsqueeze, [0] * new_axes) if new_axes else self.tensor
        self.assign(self.fill_template(framework.tile, map(self.size_expression, call.repeats), tensor))

    def pick(self, call: EmittedCall) -> None:
        """Emit an index or a slice.

        If the framework lacks negative steps, the axes are reversed first.
        """
        framework, ranges, tensor = self.framework, call.kept_ranges(), self.tensor
        if framework.flip:
            reversed_axes = [axis_range.axis for axis_range in ranges if axis_range.step < 0]
            tensor = self.fill_template(framework.flip, reversed_axes) if reversed_axes else tensor
            ranges = tuple(
                reverse_range(axis_range, call.stage.before[axis_range.axis]) if axis_range.step < 0 else axis_range
                for axis_range in ranges
            )
        texts = [str(axis_range) for axis_range in ranges]
        while texts and texts[-1] == ":":  # trailing full slices are redundant
            texts.pop()
        self.check_rank_limit("slice", len(ranges) if texts else 0, framework.max_sliced_rank)
        self.assign(f"{tensor}[{', '.join(texts)}]" if texts else tensor)

    def check_rank_limit(self, operation: str, rank: int, max_rank: int | None) -> None:
        """Raise `ShapeError` (usage) if a rank exceeds the framework's maximum.

        `operation` is the verb in the error message.
        """
        if max_rank is not None and rank > max_rank:
            raise usage_error(
                f"a {operation} of {rank} dims is not written as {self.name} code: it {operation}s at most {max_rank}"
            )

    def split(self, call: EmittedCall) -> None:
        """Emit the selected part of a split."""
        axis, parts, part = call.split_arguments()
        self.assign(self.framework.split.format(x=self.tensor, axis=axis, parts=parts, part=part))

    def take(self, call: EmittedCall) -> None:
        """Emit a selection of indices along an axis."""
        move = call.move(Take)
        if self.name in ("tensorflow", "paddle") and min(move.positions, default=0) < 0:
            raise usage_error(f"{self.name} takes no position from the end", "give the sizes with --where")
        leading_slices = ":, " * move.axis
        self.assign(
            self.framework.take.format(x=self.tensor, indices=[*move.positions], axis=move.axis, whole=leading_slices)
        )

    def roll(self, call: EmittedCall) -> None:
        """Emit a roll along an axis."""
        roll = call.int32_roll(self.name) if self.framework.has_int32_rolls else call.move(Roll)
        self.assign(self.framework.roll.format(x=self.tensor, shift=roll.shift, axis=roll.axis))

    def shape(self, call: EmittedCall) -> None:
        """Emit the shape as a vector, or a range of its dims."""
        move = call.move(ShapeVector)
        self.assign(self.framework.shape.format(x=self.tensor, start=move.start, end=move.end))


def write_program(framework: ArrayFramework, answer: Trace | Chain) -> Code:
    """Write the program that computes an answer, with at most one line per stage.

    Raises `ShapeError` if a rank exceeds the framework's maximum.
    """
    return ArrayWriter(answer, framework).build_code(build_calls(answer, fold=False))


WRITERS: dict[str, Callable[[Trace | Chain], Code]] = {
    framework.name: partial(write_program, framework) for framework in (NUMPY, TORCH, JAX, TENSORFLOW, PADDLE)
}

"""Code for NumPy, PyTorch, JAX, TensorFlow and PaddlePaddle.

Each stage of an answer is one line of code. If a 0 in a requested shape copies an input dim, the code reads this dim at
run time from the shape of the tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from shapecalc.core.answers import Chain, StageKind, Trace
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dims import Dim
from shapecalc.core.moves import Permute, Roll, ShapeVector, Take
from shapecalc.core.ops.expand import EXPAND
from shapecalc.core.ops.flatten import FLATTEN, FLATTEN_SEMANTICS, FlattenMode
from shapecalc.core.ops.flip import FLIP
from shapecalc.core.ops.op import Op, operator_of
from shapecalc.core.ops.repeat_interleave import REPEAT_INTERLEAVE
from shapecalc.core.ops.reshape import RESHAPE
from shapecalc.core.ops.roll import ROLL
from shapecalc.core.ops.slice import SLICE
from shapecalc.core.ops.split import SPLIT
from shapecalc.core.ops.squeeze import SQUEEZE
from shapecalc.core.ops.tile import TILE
from shapecalc.core.ops.transpose import TRANSPOSE
from shapecalc.core.ops.unsqueeze import UNSQUEEZE
from shapecalc.core.ops.view import VIEW
from shapecalc.core.problem import usage_error
from shapecalc.core.record import Record, replace
from shapecalc.render.code import GeneratedCode
from shapecalc.render.code.calls import ArgumentValue, find_signature, format_call
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
    """The limits of a framework, and templates for code that no op signature describes."""

    name: str
    take_template: str
    """The template of a gather from tensor `{x}` at `{indices}` along `{axis}`.

    `{whole}` is a sequence of full slices, one for each axis before `{axis}`.
    """
    shape_template: str
    """The template of a vector with the dims of `{x}` from `{start}` to `{end}`, which is exclusive."""
    vector_template: str = "{list}"
    """The template that converts a Python list to an array; by default, the list is not converted."""
    supports_negative_indices: bool = True
    """Whether a gather accepts negative indices."""
    supports_negative_steps: bool = True
    """Whether slices support negative steps; if not, the code flips the axes first."""
    unchanged_placeholder: str = ""
    """The target size with which `expand` keeps a dim, such as -1; empty if there is none."""
    shape_of: str = "{x}.shape"
    product: str = "math.prod({dims})"
    max_sliced_rank: int | None = None
    """The maximum rank of a tensor that can be sliced."""
    max_tiled_rank: int | None = None
    """The maximum rank of a tensor that can be tiled."""
    tile_adds_axes: bool = True
    """Whether `tile` accepts more repeats than the tensor has dims."""
    limits_rolls_to_int32: bool = False
    """Whether the shift of a roll must fit a 32-bit integer."""
    reshape_rules: ReshapeRules | None = None
    """The rules for 0 in the target shape of a reshape, or None if a 0 does not copy a dim."""


NUMPY = ArrayFramework(
    "numpy",
    take_template="{x}[{whole}{indices}]",
    shape_template="np.array({x}.shape[{start}:{end}], dtype=np.int64)",
)
JAX = replace(
    NUMPY,
    name="jax",
    take_template="jnp.take({x}, jnp.array({indices}, int), {axis})",
    vector_template="jnp.array({list}, int)",
)
TORCH = replace(
    NUMPY,
    name="torch",
    shape_template="torch.tensor({x}.shape[{start}:{end}], dtype=torch.int64)",
    vector_template="torch.tensor({list})",
    supports_negative_steps=False,
    unchanged_placeholder="-1",
)
TENSORFLOW = ArrayFramework(
    "tensorflow",
    take_template="tf.gather({x}, tf.constant({indices}, tf.int64), axis={axis})",
    shape_template="tf.shape({x}, out_type=tf.int64)[{start}:{end}]",
    shape_of="tf.shape({x})",
    product="tf.reduce_prod({dims})",
    supports_negative_indices=False,
    max_sliced_rank=8,
    tile_adds_axes=False,
    limits_rolls_to_int32=True,
)
PADDLE = ArrayFramework(
    "paddle",
    take_template="paddle.index_select({x}, paddle.to_tensor({indices}, 'int64'), {axis})",
    shape_template='paddle.to_tensor({x}.shape[{start}:{end}], dtype="int64")',
    supports_negative_indices=False,
    supports_negative_steps=False,
    unchanged_placeholder="-1",
    max_sliced_rank=6,
    max_tiled_rank=7,
    reshape_rules=ReshapeRules("paddle", copies_empty_dims=False),
)


class ArrayWriter(CodeWriter):
    """A generator of code for an array framework."""

    def __init__(self, answer: Trace | Chain, framework: ArrayFramework) -> None:
        """Create an empty program whose current tensor is `x`."""
        super().__init__(answer)
        self.framework, self.name = framework, framework.name

    def axes_product(self, axes: Sequence[int]) -> str:
        """Return the expression for the product of the sizes of consecutive axes."""
        shape = self.framework.shape_of.format(x=self.tensor)
        if len(axes) == 1:
            return f"{shape}[{axes[0]}]"
        return self.framework.product.format(dims=f"{shape}[{axes[0]}:{axes[-1] + 1}]") if axes else "1"

    def size_expression(self, dim: Dim) -> str:
        """Return an expression for a size.

        The expression contains sizes of `x` and variables for symbolic sizes.
        """
        return size_text(self.sizes.express_dim(dim), self.framework.shape_of.format(x="x"))

    def dim_expression(self, dim: RequestedDim, unchanged_placeholder: str = "") -> str:
        """Return the expression for a dim of a requested shape.

        If the op does not change the dim, and `unchanged_placeholder` is not empty, `unchanged_placeholder` is
        returned.
        """
        if dim.inferred:
            return "-1"
        if dim.axes is None:
            return self.size_expression(dim.value)
        return unchanged_placeholder if unchanged_placeholder and len(dim.axes) == 1 else self.axes_product(dim.axes)

    def format_call(self, op: Op, tensor: str = "", **arguments: ArgumentValue) -> str:
        """Format the call of an op in the framework.

        `tensor` is the expression for the input, by default the current tensor.
        """
        return format_call(op, self.name, tensor or self.tensor, **arguments)

    def emit_transpose(self, call: EmittedCall) -> None:
        """Emit a call that permutes the axes."""
        self.emit_assignment(self.format_call(TRANSPOSE, perm=call.require_move(Permute).axes))

    def emit_reshape(self, call: EmittedCall) -> None:
        """Emit a reshape, a view or a flatten."""
        framework = self.framework
        if framework.reshape_rules:
            dims = target_shape(call, self.sizes, framework.reshape_rules).dims
            return self.emit_assignment(self.format_call(RESHAPE, target=[*map(size_text, dims)]))
        flatten = find_signature(FLATTEN, self.name)
        if flatten and flatten.arguments and call.stage.kind is StageKind.MERGE:
            merging = [dim for dim in call.dims if len(dim.axes or ()) > 1]
            mode = FLATTEN_SEMANTICS.for_dialect(DIALECTS[call.trace.dialect]).flattens
            if mode is FlattenMode.RANGE and len(merging) < 2:
                first, widest = max(enumerate(call.dims), key=lambda item: len(item[1].axes or ()))
                last = first + max(1, len(widest.axes or ())) - 1
                return self.emit_assignment(self.format_call(FLATTEN, start_dim=first, end_dim=last))
        is_view = find_signature(VIEW, self.name) and call.stage.kind is StageKind.VIEW and self.tensor == "x"
        return self.emit_assignment(
            self.format_call(VIEW if is_view else RESHAPE, target=[*map(self.dim_expression, call.dims)])
        )

    def emit_squeeze(self, call: EmittedCall) -> None:
        """Emit a call that drops axes of size 1."""
        axes = call.axes_to_drop()
        if call.is_full_squeeze():
            self.emit_assignment(self.format_call(SQUEEZE))
        elif axes:
            self.emit_assignment(self.format_call(SQUEEZE, axes=axes))

    def emit_unsqueeze(self, call: EmittedCall) -> None:
        """Emit a call that inserts axes of size 1."""
        self.emit_assignment(self.format_call(UNSQUEEZE, axes=call.axes_to_insert()))

    def emit_expand(self, call: EmittedCall) -> None:
        """Emit a call that broadcasts the tensor to a shape."""
        placeholder = self.framework.unchanged_placeholder
        self.emit_assignment(
            self.format_call(EXPAND, target=[self.dim_expression(dim, placeholder) for dim in call.dims])
        )

    def emit_tile(self, call: EmittedCall) -> None:
        """Emit a call of `tile`."""
        framework, count = self.framework, len(call.repeats)
        self.check_rank_limit(TILE.name, count, framework.max_tiled_rank)
        new_axes = 0 if framework.tile_adds_axes else count - len(call.stage.before)
        tensor = self.format_call(UNSQUEEZE, axes=[0] * new_axes) if new_axes else self.tensor
        self.emit_assignment(self.format_call(TILE, tensor, repeats=[*map(self.size_expression, call.repeats)]))

    def emit_repeat_interleave(self, call: EmittedCall) -> None:
        """Emit a call of `repeat_interleave`."""
        texts = [*map(self.size_expression, call.repeats)]
        repeats = texts[0] if len(texts) == 1 else self.framework.vector_template.format(list=f"[{', '.join(texts)}]")
        axis = call.trace.request.arguments.get("axis")
        self.emit_assignment(
            self.format_call(REPEAT_INTERLEAVE, repeats=repeats, **({} if axis is None else {"axis": axis}))
        )

    def emit_indexing(self, call: EmittedCall) -> None:
        """Emit an index expression with an index or slice for each axis.

        If the framework does not support negative steps, axes with a negative step are flipped first.
        """
        framework, ranges, tensor = self.framework, call.index_selections(), self.tensor
        if not framework.supports_negative_steps:
            reversed_axes = [axis_range.axis for axis_range in ranges if axis_range.step < 0]
            tensor = self.format_call(FLIP, tensor, axes=reversed_axes) if reversed_axes else tensor
            ranges = tuple(
                reverse_range(axis_range, call.stage.before[axis_range.axis]) if axis_range.step < 0 else axis_range
                for axis_range in ranges
            )
        texts = [str(axis_range) for axis_range in ranges]
        while texts and texts[-1] == ":":  # trailing full slices are redundant
            texts.pop()
        self.check_rank_limit(SLICE.name, len(ranges) if texts else 0, framework.max_sliced_rank)
        self.emit_assignment(f"{tensor}[{', '.join(texts)}]" if texts else tensor)

    def check_rank_limit(self, operation: str, rank: int, max_rank: int | None) -> None:
        """Raise `ShapeError` (usage) if `rank` exceeds `max_rank`.

        `operation` is the verb in the error message, such as `slice`.
        """
        if max_rank is not None and rank > max_rank:
            raise usage_error(
                f"a {operation} of {rank} dims is not written as {self.name} code: it {operation}s at most {max_rank}"
            )

    def emit_split(self, call: EmittedCall) -> None:
        """Emit a split, followed by the selection of one part."""
        axis, parts, part = call.split_arguments()
        self.emit_assignment(f"{self.format_call(SPLIT, parts=parts, axis=axis)}[{part}]")

    def emit_take(self, call: EmittedCall) -> None:
        """Emit a gather along an axis."""
        move = call.require_move(Take)
        if not self.framework.supports_negative_indices and min(move.positions, default=0) < 0:
            raise usage_error(f"{self.name} takes no position from the end", "give the sizes with --where")
        leading_slices = ":, " * move.axis
        self.emit_assignment(
            self.framework.take_template.format(
                x=self.tensor, indices=[*move.positions], axis=move.axis, whole=leading_slices
            )
        )

    def emit_roll(self, call: EmittedCall) -> None:
        """Emit a roll along an axis."""
        roll = call.int32_roll(self.name) if self.framework.limits_rolls_to_int32 else call.require_move(Roll)
        self.emit_assignment(self.format_call(ROLL, shift=roll.shift, axis=roll.axis))

    def emit_shape(self, call: EmittedCall) -> None:
        """Emit a vector of all dims, or of a range of dims."""
        move = call.require_move(ShapeVector)
        self.emit_assignment(self.framework.shape_template.format(x=self.tensor, start=move.start, end=move.end))


def generate_program(framework: ArrayFramework, answer: Trace | Chain) -> GeneratedCode:
    """Generate the program of an answer, with at most one line per stage.

    Raises `ShapeError` (usage) if the framework does not support an op, or if a rank exceeds the framework's maximum.
    """
    whole_ops = [op.name for op in (TILE, REPEAT_INTERLEAVE) if operator_of(op, DIALECTS[framework.name])]
    return ArrayWriter(answer, framework).build_code(build_calls(answer, whole_ops, fold=False))


WRITERS: dict[str, Callable[[Trace | Chain], GeneratedCode]] = {
    framework.name: partial(generate_program, framework) for framework in (NUMPY, TORCH, JAX, TENSORFLOW, PADDLE)
}

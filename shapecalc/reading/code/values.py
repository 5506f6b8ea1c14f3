"""The values of expressions: tensors with a shape and a chain, their parts, and layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import EllipsisType
from typing import TypeAlias, TypeGuard

from shapecalc.core.answers import Trace
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dims import Dim, Monomial, Shape
from shapecalc.core.layout import contiguous_strides
from shapecalc.core.ops.op import Op
from shapecalc.core.ops.reshape import RESHAPE
from shapecalc.core.ops.select import SELECT
from shapecalc.core.ops.split import SPLIT, part_count
from shapecalc.core.ops.strides import elementwise_strides, is_contiguous, strides_after_trace, strides_after_traces
from shapecalc.core.ops.transpose import TRANSPOSE
from shapecalc.core.ops.unsqueeze import UNSQUEEZE, UNSQUEEZE_SEMANTICS
from shapecalc.core.ops.view import VIEW
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import Record, replace
from shapecalc.core.requests import StageRequest, make_request
from shapecalc.core.resolve import resolve
from shapecalc.reading.preserving import SAME_STRIDES, PreservingFunction

CodeValue: TypeAlias = (
    "Dim | float | str | slice | EllipsisType | TracedTensor | TensorChunks | LayerInstance"
    " | tuple[CodeValue, ...] | None"
)
"""The value of an expression; nan represents an unknown number or truth value."""
ErrorFactory: TypeAlias = Callable[..., ShapeError]
"""A function that converts a message and a hint to the error for an expression."""
UNNAMED_CHANGE = "?"
"""The untraced change of a tensor whose expression is still being evaluated."""


class StageRefused(Exception):
    """Raised if a rule of the dialect refuses an op.

    `args` contains the input shape of the chain, and its stages up to and including the refused stage.
    """


class TracedTensor(Record):
    """A tensor without data: its shape and the stages that produced it."""

    shape: Shape
    stages: tuple[StageRequest, ...]
    dialect: str
    traces: tuple[Trace, ...] = ()
    """The resolved request of each stage."""
    strides: Shape | None = ()
    """The strides in elements; None if they are not known, as those that depend on sizes."""
    untraced_change: str = ""
    """The first expression that changes the elements and has no stage; empty if there is none."""
    input_shape: Shape = ()
    """The shape before the first stage."""
    input_name: str = ""
    """The name of the input that the chain begins with; empty if the code creates this tensor."""
    is_main: bool = False
    """Whether the tensor derives from the first input."""
    size: Dim | None = None
    """The only dim of an input of rank 1; in arithmetic, the input is an integer with this value."""

    @property
    def rank(self) -> int:
        """The number of dims."""
        return len(self.shape)

    def apply(self, op: Op, **options: object) -> TracedTensor:
        """Return the tensor after an op with the given options.

        Raises `StageRefused` if a rule refuses the op, and `ShapeError` if its options are invalid.
        """
        return self.apply_to_operands(op, (), options)

    def apply_to_operands(
        self, op: Op, operand_strides: Sequence[Shape], options: Mapping[str, object]
    ) -> TracedTensor:
        """Return the tensor after an op, as `apply` does; the other operands have the strides `operand_strides`."""
        request_options = {name: value for name, value in options.items() if value is not None} | {
            "dialect": self.dialect
        }
        stages = (*self.stages, (op.name, request_options))
        trace = resolve(make_request(op.name, self.shape, request_options))
        if trace.output is None:
            raise StageRefused(self.input_shape, stages)
        strides = strides_after_trace(trace, self.strides, operand_strides)
        traces = (*self.traces, trace)
        return replace(self, shape=trace.output, stages=stages, traces=traces, strides=strides, size=None)

    def reshape(self, *target: Dim) -> TracedTensor:
        """Return the tensor reshaped to `target`."""
        return self.apply(RESHAPE, target=target)

    def insert_axes(self, axes: Sequence[int]) -> TracedTensor:
        """Return the tensor with dims of size 1 inserted.

        `axes` are output indices, in ascending order.
        """
        inserts_one = UNSQUEEZE_SEMANTICS.of(DIALECTS[self.dialect]).inserts_one
        groups = [(axis,) for axis in axes] if inserts_one else [tuple(axes)]
        tensor = self
        for group in groups:
            tensor = tensor.apply(UNSQUEEZE, axes=group)
        return tensor

    def permute(self, perm: Sequence[int]) -> TracedTensor:
        """Return the tensor with its axes permuted by `perm`."""
        return self.apply(TRANSPOSE, perm=tuple(perm))

    def reverse_axes(self) -> TracedTensor:
        """Return the tensor with its axes in reverse order."""
        return self.permute(range(self.rank)[::-1])

    def view(self, target: Shape, error: ErrorFactory) -> TracedTensor:
        """Return the tensor after PyTorch's `view`.

        A chain derives strides from its stages; if these differ, the stage states them or is a reshape. Raises
        `ShapeError` (usage) if the strides are not known.
        """
        if self.strides is None:
            raise error("the strides of this tensor are not known", "give sizes with --where, or write reshape")
        derived = strides_after_traces(self.traces) or contiguous_strides(self.shape)
        is_derived = all(
            dim == 1 or one == other for dim, one, other in zip(self.shape, self.strides, derived, strict=True)
        )
        if is_contiguous(self.shape, self.strides):
            return self.apply(VIEW, target=target) if is_derived else self.reshape(*target)
        if not is_derived:
            return self.apply(VIEW, target=target, strides=self.strides)
        stages = self.apply(VIEW, target=target).stages
        try:
            return replace(self.apply(VIEW, target=target, strides=self.strides), stages=stages)
        except StageRefused:
            raise StageRefused(self.input_shape, stages) from None

    def compute_with_number(self) -> TracedTensor:
        """Return the result of an elementwise op of the tensor and a number."""
        strides = self.strides and elementwise_strides(self.shape, [(self.shape, self.strides), ((), ())])
        return replace(self.preserve(SAME_STRIDES), strides=strides)

    def preserve(self, function: PreservingFunction) -> TracedTensor:
        """Return the tensor after a function that keeps its shape."""
        strides = self.strides and function.result_strides(self.shape, self.strides)
        if function.keeps_elements:
            return replace(self, strides=strides)
        return replace(self, strides=strides, size=None, untraced_change=self.untraced_change or UNNAMED_CHANGE)


class TensorChunks(Record):
    """The parts of a tensor after a split or unbind, before one part is selected."""

    tensor: TracedTensor
    axis: int
    count: int | None
    """The number of parts; None if unknown."""
    split_options: Mapping[str, object] | None = None
    """The options of the `split` op; None for an unbind, which drops the axis."""

    def chunk(self, index: int) -> TracedTensor:
        """Return the part at `index` as a tensor."""
        if self.split_options is None:
            return self.tensor.apply(SELECT, axis=self.axis, index=index)
        return self.tensor.apply(SPLIT, axis=self.axis, part=index, **self.split_options)

    @property
    def all_chunks(self) -> TracedTensor | None:
        """The tensor after a `split` stage with all parts; None for an unbind."""
        return (
            None
            if self.split_options is None
            else self.tensor.apply(SPLIT, axis=self.axis, all=True, **self.split_options)
        )


class LayerInstance(Record):
    """A layer that is instantiated but not yet called, such as `nn.Conv2d(3, 64, 7)`."""

    name: str
    positional: tuple[CodeValue, ...]
    keywords: Mapping[str, CodeValue]


def is_number(value: CodeValue) -> TypeGuard[Dim | float]:
    """Return whether a value is a number or a symbolic size."""
    return isinstance(value, int | float | Monomial)


def is_dim(value: CodeValue) -> TypeGuard[Dim]:
    """Return whether a value is a size: an integer or a product of names."""
    return isinstance(value, int | Monomial) and not isinstance(value, bool)


def tensors_in(value: CodeValue) -> Iterator[TracedTensor]:
    """Yield the tensors of a result, such as those of a tuple."""
    if isinstance(value, TracedTensor):
        yield value
    for item in value if isinstance(value, tuple) else ():
        yield from tensors_in(item)


def unwrap_size(value: CodeValue) -> CodeValue:
    """Return `value.size` for an input of rank 1; return any other value unchanged."""
    return value if not isinstance(value, TracedTensor) or value.size is None else value.size


def initial_tensor(dims: Shape, dialect: str) -> TracedTensor:
    """Return the initial tensor of a chain, without stages."""
    return TracedTensor(dims, (), dialect, strides=contiguous_strides(dims), input_shape=dims)


def split_tensor(tensor: TracedTensor, axis: int, **options: object) -> TensorChunks:
    """Split a tensor into chunks; raise `StageRefused` if a rule refuses the split."""
    trace = tensor.apply(SPLIT, axis=axis, **options).traces[-1]
    (runs,) = [step.facts["runs"] for step in trace.steps if "runs" in step.facts]
    return TensorChunks(tensor, axis, part_count(runs), options)


def unbind_first_axis(tensor: TracedTensor, error: ErrorFactory) -> TensorChunks:
    """Unbind a tensor along its first axis.

    Raises `ShapeError` (usage) if the size of this axis is unknown.
    """
    if not tensor.shape or not isinstance(tensor.shape[0], int):
        raise error("how many values there are is not known", "give sizes with --where")
    return TensorChunks(tensor, 0, tensor.shape[0])


def mark_change(tensor: TracedTensor) -> TracedTensor:
    """Return the tensor with the mark that its stages do not contain a change of its elements."""
    return replace(tensor, untraced_change=tensor.untraced_change or UNNAMED_CHANGE)


def are_inputs(tensors: Sequence[TracedTensor]) -> bool:
    """Return whether all tensors but the first are inputs as they were given, each used once."""
    names = [tensor.input_name for tensor in tensors]
    are_fresh = not any(tensor.stages or tensor.untraced_change for tensor in tensors[1:])
    return are_fresh and all(names[1:]) and len({*names}) == len(names)

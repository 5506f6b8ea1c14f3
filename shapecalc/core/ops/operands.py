"""Helpers for ops with several operands: numbered operands and aligned dims."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from shapecalc.core.answers import CHAIN_TENSOR, Step, StepRule
from shapecalc.core.conditions import Condition, Conditions, Unsatisfiable, require_equal
from shapecalc.core.dialects.base import Param, ParamType
from shapecalc.core.dims import Dim, Shape
from shapecalc.core.moves import OperandAxis
from shapecalc.core.ops.op import DialectTable
from shapecalc.core.problem import Rule, rule_error
from shapecalc.core.record import FrozenDict, Record, replace
from shapecalc.core.rules import NOT_BROADCASTABLE
from shapecalc.core.text import rank_text, truncate

OPERANDS = Param("operands", ParamType.SHAPES, "the shapes of the other operands", positional=True, required=True)
OPTIONAL_OPERANDS = replace(OPERANDS, required=False)
"""The operand parameter of ops that also accept a single operand."""

RANKS_DIFFER = Rule(
    "ranks-differ",
    "the ranks of the operands are incompatible",
    "Concatenated operands must have the same rank, and a term of einsum must have a label for each dim. TensorRT's "
    "layers do not prepend dims of 1.",
    "shapecalc concat 2,3 3 --axis 0",
    "ONNX Concat, numpy.concatenate, torch.cat, TensorRT ElementWise",
)
DIMS_DIFFER = Rule(
    "dims-differ",
    "the operands have different sizes along an axis on which they must be equal",
    "Concatenated operands may differ only along the concatenation axis. Stacked operands must all have the same "
    "shape.",
    "shapecalc concat 2,3 2,4 --axis 0",
    "ONNX Concat, numpy.concatenate, numpy.stack, torch.cat",
)
INNER_DIFFERS = Rule(
    "inner-differs",
    "the operands have different sizes along the axis that is summed over",
    "A row of the first operand is multiplied by a column of the second operand, element by element. The last dim of "
    "the first operand must therefore equal the second-to-last dim of the second operand. A linear layer stores its "
    "weight as OUT,IN.",
    "shapecalc matmul 2,3 4,5",
    "numpy.matmul, ONNX MatMul, torch.nn.functional.linear",
)


LABEL_DIFFERS = Rule(
    "label-differs",
    "axes with the same label have different sizes",
    "All axes with the same label must have the same size. A 1 is repeated to match other operands, but not on a "
    "diagonal. TensorFlow never repeats a 1.",
    "shapecalc einsum ij,jk->ik 2,3 4,5",
    "numpy.einsum, ONNX Einsum, torch.einsum, tf.einsum",
)


class OperandSemantics(Record):
    """The operands that a dialect accepts."""

    equal_ranks: bool = False
    """Whether operators of several operands require equal ranks.

    If so, dims of 1 are not prepended, and a matrix product does not accept vectors.
    """


OPERAND_SEMANTICS = DialectTable(
    {
        "onnx onednn openvino numpy torch paddle tensorflow jax": OperandSemantics(),
        "tensorrt": OperandSemantics(equal_ranks=True),
    }
)


class Operand(Record):
    """An operand: its number and its shape.

    The input has the number 0.
    """

    number: int
    shape: Shape

    def axis_from_right(self, distance: int) -> tuple[OperandAxis, Dim] | None:
        """Return the axis at `distance` from the right, with its dim.

        Returns None if the operand has no such axis.
        """
        axis = len(self.shape) - distance
        return ((self.number, axis), self.shape[axis]) if axis >= 0 else None


def number_operands(shape: Shape, operands: Sequence[Shape | str]) -> list[Operand]:
    """Assign numbers to the operands, and insert the input as operand 0.

    The input replaces the operand `_`. Without such an operand, the input is inserted before the operands.

    >>> [operand.number for operand in number_operands((2,), ((1,), "_", (3,)))]
    [1, 0, 2]
    """
    others = iter(range(1, len(operands) + 1))
    items = operands if CHAIN_TENSOR in operands else (CHAIN_TENSOR, *operands)
    return [Operand(0, shape) if isinstance(operand, str) else Operand(next(others), operand) for operand in items]


def operand_shapes(operands: Iterable[Operand]) -> tuple[Shape, ...]:
    """Return the shapes of the distinct operands, sorted by operand number."""
    shapes = {operand.number: operand.shape for operand in operands}
    return tuple([shapes[number] for number in sorted(shapes)])


class AlignedDim(Record):
    """The output dim of several operand dims that broadcast."""

    dim: Dim
    operand_axes: tuple[OperandAxis, ...]
    """The operand axes of the output dim. Broadcast axes of size 1 are omitted."""
    conditions: Conditions = ()
    alternatives: Conditions = ()
    dims: Sequence[tuple[OperandAxis, Dim]] = ()
    """The aligned dims, each with its operand axis."""


def possible_dims(candidates: Iterable[tuple[Dim, Dim, Dim]]) -> list[tuple[Conditions, Dim]]:
    """Return the possible values of a dim, each with its conditions.

    A candidate contains two dims and a value. The dim has this value if the two dims are equal. A candidate is omitted
    if its two dims are never equal.
    """
    result = list[tuple[Conditions, Dim]]()
    for left, right, value in candidates:
        try:
            result.append((require_equal(left, right), value))
        except Unsatisfiable:
            continue
    return result


def align_dims(
    aligned_dims: Iterable[tuple[OperandAxis, Dim] | None],
    label: str,
    position: object = "",
    rule: Rule = NOT_BROADCASTABLE,
) -> AlignedDim:
    """Return the dim to which aligned dims broadcast.

    All dims must be equal or 1. If two symbolic dims differ, the result assumes that neither of them is 1, and the
    alternatives of the result are the conditions of the other cases. In the error message, `label` describes the dims;
    `position` replaces the placeholder in `label`. Raises `ShapeError` (`rule`, by default not-broadcastable).
    """
    dims = [pair for pair in aligned_dims if pair is not None]
    dim, conditions, alternatives = dims[0][1], list[Condition](), list[Condition]()
    for (number, _), size in dims[1:]:
        if size in (dim, 1):
            continue
        if dim == 1:
            dim = size
            continue
        ways = possible_dims([(dim, size, size if isinstance(size, int) else dim), (size, 1, dim), (dim, 1, size)])
        if not ways:
            shown = f"{label.format(position)} {truncate(str(dim))} and {truncate(str(size))}"
            message = f"{shown} are not equal, and neither is 1"
            raise rule_error(rule, message, argument="operands", index=number - 1 if number else None)
        conditions += ways[0][0]
        alternatives += [condition for way in ways[1:] for condition in way[0]]
        dim = ways[0][1]
    sources = [operand_axis for operand_axis, size in dims if size != 1]
    return AlignedDim(dim, tuple(sources or [dims[0][0]]), tuple(conditions), tuple(alternatives), dims)


def _explain_alignment(step: Step, operand_dims: tuple[tuple[int, Dim], ...]) -> str:
    """Format a comparison of the aligned dims.

    `operand_dims` contains pairs of an operand number and a dim.
    """
    sizes = [size for _, size in operand_dims]
    if len(sizes) == 1:
        return f"{step.value}: only operand {operand_dims[0][0]} has this dim"
    listed = " and ".join([truncate(str(size)) for size in sizes])
    if all(size == sizes[0] for size in sizes):
        return f"{listed} are equal"
    return f"{listed} give {step.value}" + (": a 1 is repeated" if 1 in sizes else "")


ALIGNED = StepRule(
    "align",
    "the dims of the operands are aligned at the right: they are equal, or a 1 is repeated",
    "The shapes are written below each other, with the last dims in one column. In each column, all dims must be "
    "equal or 1; elements along a dim of 1 are read repeatedly. A shorter shape is padded with 1s on the left. The "
    "answer for named sizes assumes that none of them is 1.",
    "shapecalc broadcast 8,1,6 7,1",
    "NumPy broadcasting, ONNX broadcasting, torch broadcasting semantics",
    why=_explain_alignment,
)


def alignment_step(output_axis: int | None, aligned: AlignedDim, rule: StepRule = ALIGNED, **facts: object) -> Step:
    """Return the step of a dim to which operands broadcast.

    `facts` are the facts of `rule` without the dims of the operands.
    """
    operand_dims = tuple([(number, size) for (number, _), size in aligned.dims])
    return Step(
        rule,
        output_axis,
        input_axes(aligned.operand_axes),
        aligned.dim,
        aligned.conditions,
        FrozenDict(facts, operand_dims=operand_dims),
        aligned.alternatives,
    )


def input_axes(operand_axes: Iterable[OperandAxis]) -> tuple[int, ...]:
    """Return the axes of operand 0, the input."""
    return tuple([axis for number, axis in operand_axes if number == 0])


def align_operands(operands: Sequence[Operand], skip_last: int = 0) -> Iterator[AlignedDim]:
    """Yield the dims to which the operands broadcast, from left to right.

    The last `skip_last` dims of each operand are skipped. Raises `ShapeError` (not-broadcastable).
    """
    for distance in range(max([len(operand.shape) for operand in operands]), skip_last, -1):
        yield align_dims([operand.axis_from_right(distance) for operand in operands], "dims {}:", -distance)


def check_equal_ranks(operands: Sequence[Operand], operator_name: str) -> None:
    """Raise `ShapeError` (ranks-differ) unless all operands have the same rank."""
    first = operands[0]
    for operand in operands[1:]:
        if len(operand.shape) != len(first.shape):
            have = f"{rank_text(len(first.shape))} beside {rank_text(len(operand.shape))}"
            message = f"{operator_name} takes operands of one rank, and here is {have}"
            raise rule_error(RANKS_DIFFER, message, argument="operands", index=max(operand.number - 1, 0))


def prefer_known_dim(dims: Iterable[Dim]) -> Dim:
    """Return the first integer among equal dims, or the first dim if all are symbolic.

    >>> from shapecalc.core.text import parse_dims
    >>> prefer_known_dim(parse_dims("N,3")), prefer_known_dim(parse_dims("N,M"))
    (3, N)
    """
    dims = tuple(dims)
    return next((dim for dim in dims if isinstance(dim, int)), dims[0])

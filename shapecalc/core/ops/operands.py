"""Shared parts of ops with several operands: their order and aligned dims."""

from __future__ import annotations

from _collections_abc import Generator, Iterable, Iterator, Sequence

from shapecalc.core.answers import HERE, Step, StepRule
from shapecalc.core.conditions import Condition, Conditions, Never, equal
from shapecalc.core.dialects.base import Holds, Param
from shapecalc.core.dims import Dim, Shape
from shapecalc.core.moves import Place
from shapecalc.core.problem import Rule, refusal
from shapecalc.core.record import FrozenDict, Record, replace
from shapecalc.core.results import Wanted, wanted
from shapecalc.core.rules import NOT_BROADCASTABLE
from shapecalc.core.text import brief, rank_text

OPERANDS = Param("operands", Holds.SHAPES, "the shapes of the other operands", positional=True, required=True)
MORE_OPERANDS = replace(OPERANDS, required=False)
"""The parameter of ops that also accept a single operand."""

RANKS_DIFFER = Rule(
    "ranks-differ",
    "the operands have no ranks that go together",
    "Operands that are laid end to end have as many dims as each other, and a term of einsum has a label for each. "
    "TensorRT's layers add no dims of 1, either.",
    "shapecalc concat 2,3 3 --axis 0",
    "ONNX Concat, numpy.concatenate, torch.cat, TensorRT ElementWise",
)
DIMS_DIFFER = Rule(
    "dims-differ",
    "operands differ along an axis along which they must not",
    "Operands that are laid end to end may differ along that axis alone. Those that are stacked are all of one shape.",
    "shapecalc concat 2,3 2,4 --axis 0",
    "ONNX Concat, numpy.concatenate, numpy.stack, torch.cat",
)
INNER_DIFFERS = Rule(
    "inner-differs",
    "a product sums along an axis that has other sizes in its operands",
    "A row of the one is multiplied with a column of the other, element by element: the last dim of the first operand "
    "is the last but one of the second. A linear layer holds its weight as OUT,IN.",
    "shapecalc matmul 2,3 4,5",
    "numpy.matmul, ONNX MatMul, torch.nn.functional.linear",
)


LABEL_DIFFERS = Rule(
    "label-differs",
    "a label stands for axes of other sizes",
    "All axes of one label are equal. A 1 is repeated beside other operands, but not on a diagonal. TensorFlow repeats "
    "none.",
    "shapecalc einsum ij,jk->ik 2,3 4,5",
    "numpy.einsum, ONNX Einsum, torch.einsum, tf.einsum",
)


class Operand(Record):
    """One operand with its number; that of the input is 0."""

    number: int
    shape: Shape

    def from_right(self, distance: int) -> tuple[Place, Dim] | None:
        """Return the axis at a distance from the right with its dim, or None."""
        axis = len(self.shape) - distance
        return ((self.number, axis), self.shape[axis]) if axis >= 0 else None


def in_order(shape: Shape, operands: Sequence[Shape | str]) -> list[Operand]:
    """Return all operands in order; the input is first, or at the position of `_`.

    >>> [each.number for each in in_order((2,), ((1,), "_", (3,)))]
    [1, 0, 2]
    """
    others = iter(range(1, len(operands) + 1))
    items = operands if HERE in operands else (HERE, *operands)
    return [Operand(0, shape) if isinstance(operand, str) else Operand(next(others), operand) for operand in items]


def shapes_of(operands: Iterable[Operand]) -> tuple[Shape, ...]:
    """Return the shapes of operands by number, without duplicates."""
    shapes = {operand.number: operand.shape for operand in operands}
    return tuple([shapes[number] for number in sorted(shapes)])


def sized(terms: Iterable[Dim], divisor: int = 1, more: int = 0) -> Generator[Wanted, None, Dim]:
    """Return `floor(sum / divisor) + offset` as a dim.

    If it is not a monomial, the generator first yields the request for a name.
    """
    result = wanted(terms, divisor, more)
    if isinstance(result, Wanted):
        yield result
        return result.dim
    return result


class Agreed(Record):
    """The output dim of several aligned dims, and its origin."""

    dim: Dim
    places: tuple[Place, ...]
    """The operands and axes that its positions are read from."""
    conditions: Conditions = ()
    alternatives: Conditions = ()
    given: tuple[tuple[int, Dim], ...] = ()
    """The number of each operand with its dim."""


def ways_of(asked: Iterable[tuple[Dim, Dim, Dim]]) -> list[tuple[Conditions, Dim]]:
    """Return the possible values of a dim, with their conditions.

    Each candidate has two dims, which must be equal, and the value if they are.
    """
    result = list[tuple[Conditions, Dim]]()
    for left, right, value in asked:
        try:
            result.append((equal(left, right), value))
        except Never:
            continue
    return result


def broadcast(found: Iterable[tuple[Place, Dim] | None], names: str, rule: Rule = NOT_BROADCASTABLE) -> Agreed:
    """Return the dim that aligned dims broadcast to: all are equal, or 1.

    For two different names it is the generic case, in which neither is 1; conditions of the other cases are its
    alternatives. `label` names the dims in the message. Raises `ShapeError` (not-broadcastable, or another `rule`).
    """
    dims = [pair for pair in found if pair is not None]
    dim, conditions, alternatives = dims[0][1], list[Condition](), list[Condition]()
    for (number, _), size in dims[1:]:
        ways = ways_of([(dim, size, size if isinstance(size, int) else dim), (size, 1, dim), (dim, 1, size)])
        if not ways:
            message = f"{names} {brief(str(dim))} and {brief(str(size))} are not equal, and neither is 1"
            raise refusal(rule, message, argument="operands", index=number - 1 if number else None)
        certain = next((way for way in ways if not way[0]), None)
        conditions += (certain or ways[0])[0]
        alternatives += [condition for way in ways[1:] for condition in way[0]] if certain is None else []
        dim = (certain or ways[0])[1]
    sources = [operand_axis for operand_axis, size in dims if size != 1]
    operand_dims = tuple([(operand_axis[0], size) for operand_axis, size in dims])
    return Agreed(dim, tuple(sources or [dims[0][0]]), tuple(conditions), tuple(alternatives), operand_dims)


def _aligned(step: Step, given: tuple[tuple[int, Dim], ...]) -> str:
    sizes = [size for _, size in given]
    if len(sizes) == 1:
        return f"{step.value}: only operand {given[0][0]} has this dim"
    listed = " and ".join([brief(str(size)) for size in sizes])
    if all(size == sizes[0] for size in sizes):
        return f"{listed} are equal"
    return f"{listed} give {step.value}" + (": a 1 is repeated" if 1 in sizes else "")


ALIGNED = StepRule(
    "align",
    "dims of operands are aligned at the right: they are equal, or a 1 is repeated",
    "The shapes are written under each other, the last dims in one column. In each column all dims are equal, or 1; "
    "a 1 is read again and again. A shape that is shorter has 1 in front. With names the answer is the generic case: "
    "neither is 1.",
    "shapecalc broadcast 8,1,6 7,1",
    "NumPy broadcasting, ONNX broadcasting, torch broadcasting semantics",
    why=_aligned,
)


def aligned_step(out: int, agreed: Agreed) -> Step:
    """Return the step of an output dim that operands broadcast to."""
    facts = FrozenDict(given=agreed.given)
    return Step(ALIGNED, out, of_input(agreed.places), agreed.dim, agreed.conditions, facts, agreed.alternatives)


def of_input(places: Iterable[Place]) -> tuple[int, ...]:
    """Return the axes of the input among pairs of operand and axis."""
    return tuple([axis for number, axis in places if number == 0])


def broadcast_all(operands: Sequence[Operand], kept: int = 0) -> Iterator[Agreed]:
    """Yield the aligned dims of all operands, the first dim first.

    The last `skip_last` dims of each are left out. Raises `ShapeError`: not-broadcastable.
    """
    for distance in range(max([len(operand.shape) for operand in operands]), kept, -1):
        yield broadcast([operand.from_right(distance) for operand in operands], f"dims {-distance}:")


def check_ranks(operands: Sequence[Operand], who: str) -> None:
    """Raise `ShapeError` (ranks-differ) unless all operands have equal ranks."""
    first = operands[0]
    for operand in operands[1:]:
        if len(operand.shape) != len(first.shape):
            have = f"{rank_text(len(first.shape))} beside {rank_text(len(operand.shape))}"
            message = f"{who} takes operands of one rank, and here is {have}"
            raise refusal(RANKS_DIFFER, message, argument="operands", index=max(operand.number - 1, 0))


def number_among(dims: Iterable[Dim]) -> Dim:
    """Return the first known dim of several equal ones, or else the first.

    >>> from shapecalc.core.text import read_dims
    >>> number_among(read_dims("N,3")), number_among(read_dims("N,M"))
    (3, N)
    """
    dims = tuple(dims)
    return next((dim for dim in dims if isinstance(dim, int)), dims[0])

"""What ops of several operands share: the operands in order, dims that must be equal, and shapes that broadcast."""

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
"""Those of an op that takes one operand, too."""

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
    """One operand: its number, which is 0 for the input, and its shape."""

    number: int
    shape: Shape

    def from_right(self, distance: int) -> tuple[Place, Dim] | None:
        """Return an axis that is counted from the right, from 1, with its dim; None if there is none."""
        axis = len(self.shape) - distance
        return ((self.number, axis), self.shape[axis]) if axis >= 0 else None


def in_order(shape: Shape, operands: Sequence[Shape | str]) -> list[Operand]:
    """Return all operands as they are written; the input comes first, unless `_` says where it stands.

    >>> [each.number for each in in_order((2,), ((1,), "_", (3,)))]
    [1, 0, 2]
    """
    others = iter(range(1, len(operands) + 1))
    placed = operands if HERE in operands else (HERE, *operands)
    return [Operand(0, shape) if isinstance(each, str) else Operand(next(others), each) for each in placed]


def shapes_of(operands: Iterable[Operand]) -> tuple[Shape, ...]:
    """Return the shapes of operands by their numbers, each once, as a move holds them."""
    shapes = {each.number: each.shape for each in operands}
    return tuple([shapes[number] for number in sorted(shapes)])


def sized(terms: Iterable[Dim], divisor: int = 1, more: int = 0) -> Generator[Wanted, None, Dim]:
    """Return the floor of a sum divided by a number, with `more` added; ask for a name if it is no monomial."""
    found = wanted(terms, divisor, more)
    if isinstance(found, Wanted):
        yield found
        return found.dim
    return found


class Agreed(Record):
    """The dim that several dims make together, and what it comes from."""

    dim: Dim
    places: tuple[Place, ...]
    """The operands and axes that tell its positions apart."""
    conditions: Conditions = ()
    alternatives: Conditions = ()
    given: tuple[tuple[int, Dim], ...] = ()
    """The numbers of the operands, each with its dim."""


def ways_of(asked: Iterable[tuple[Dim, Dim, Dim]]) -> list[tuple[Conditions, Dim]]:
    """Return the last of three dims where the first two can be equal, with the conditions under which they are."""
    found = list[tuple[Conditions, Dim]]()
    for left, right, value in asked:
        try:
            found.append((equal(left, right), value))
        except Never:
            continue
    return found


def broadcast(found: Iterable[tuple[Place, Dim] | None], names: str, rule: Rule = NOT_BROADCASTABLE) -> Agreed:
    """Return the dim that dims have together: all are equal, or 1.

    Of two names the generic case is the answer: neither is 1. What would be another answer stands in its alternatives.
    Raises `ShapeError` (not-broadcastable, or another `rule`). `names` says what is aligned.
    """
    dims = [each for each in found if each is not None]
    dim, conditions, others = dims[0][1], list[Condition](), list[Condition]()
    for (number, _), size in dims[1:]:
        ways = ways_of([(dim, size, size if isinstance(size, int) else dim), (size, 1, dim), (dim, 1, size)])
        if not ways:
            message = f"{names} {brief(str(dim))} and {brief(str(size))} are not equal, and neither is 1"
            raise refusal(rule, message, argument="operands", index=number - 1 if number else None)
        sure = next((way for way in ways if not way[0]), None)
        conditions += (sure or ways[0])[0]
        others += [each for way in ways[1:] for each in way[0]] if sure is None else []
        dim = (sure or ways[0])[1]
    wide = [place for place, size in dims if size != 1]
    given = tuple([(place[0], size) for place, size in dims])
    return Agreed(dim, tuple(wide or [dims[0][0]]), tuple(conditions), tuple(others), given)


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
    """Return the step that settles an output dim that operands have together."""
    facts = FrozenDict(given=agreed.given)
    return Step(ALIGNED, out, of_input(agreed.places), agreed.dim, agreed.conditions, facts, agreed.alternatives)


def of_input(places: Iterable[Place]) -> tuple[int, ...]:
    """Return the axes of the input among places of operands."""
    return tuple([axis for number, axis in places if number == 0])


def broadcast_all(operands: Sequence[Operand], kept: int = 0) -> Iterator[Agreed]:
    """Yield the dims that operands have together, without the last `kept` ones of each; the first dim comes first.

    Raises `ShapeError`: not-broadcastable.
    """
    for distance in range(max([len(each.shape) for each in operands]), kept, -1):
        yield broadcast([each.from_right(distance) for each in operands], f"dims {-distance}:")


def check_ranks(operands: Sequence[Operand], who: str) -> None:
    """Raise `ShapeError` (ranks-differ) unless all operands have as many dims."""
    first = operands[0]
    for each in operands[1:]:
        if len(each.shape) != len(first.shape):
            have = f"{rank_text(len(first.shape))} beside {rank_text(len(each.shape))}"
            message = f"{who} takes operands of one rank, and here is {have}"
            raise refusal(RANKS_DIFFER, message, argument="operands", index=max(each.number - 1, 0))


def number_among(dims: Iterable[Dim]) -> Dim:
    """Return the one of equal dims that is a number; otherwise the first.

    >>> from shapecalc.core.text import read_dims
    >>> number_among(read_dims("N,3")), number_among(read_dims("N,M"))
    (3, N)
    """
    dims = tuple(dims)
    return next((dim for dim in dims if isinstance(dim, int)), dims[0])

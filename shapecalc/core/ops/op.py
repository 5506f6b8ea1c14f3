"""`Op`: one operation as a value. Each op is one file of this room, and its name in `ops/__init__.py`."""

from __future__ import annotations

from shapecalc.core.answers import NONE
from shapecalc.core.dialects.base import Dialect, Operator, Param, Setting
from shapecalc.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, TypeAlias

    from shapecalc.core.answers import Reasons, Trace
    from shapecalc.core.dims import Shape
    from shapecalc.core.problem import Rule, ShapeError


Arguments: TypeAlias = "Mapping[str, Any]"
Changes: TypeAlias = "Iterator[tuple[str, object]]"
"""Arguments with new values, None to leave one out."""


class Op(Record):
    """One operation: its parameters, how it is resolved, and what else the house has to know of it."""

    name: str
    summary: str
    params: tuple[Param, ...]
    steps: Callable[..., Reasons]
    """Called with the input shape, the setting and the arguments by name: yields its reasons, returns its answer."""
    operators: Mapping[str, Operator]
    """What dialects call it, by the dialect's name: ONNX with its versions, and those that are older than the op."""
    examples: tuple[str, ...]
    """Command lines for its help."""
    vectors: tuple[tuple[str, Mapping[str, str]], ...]
    """The inputs and arguments that `shapecalc vectors` asks every dialect for."""
    made_of: tuple[Op, ...] = ()
    """The ops that it can be said with. A dialect that has them has it, in the versions of the first."""
    switched: bool = False
    """Whether a dialect's switch has a say in it."""
    default_dialect: str = "onnx"
    keeps_count: bool = True
    """Whether the output holds as many elements as the input."""
    ends_chain: bool = False
    """Whether its output is no tensor to go on with."""
    rules: tuple[Rule, ...] = ()
    """The rules that only this op has: those of its steps, and those that it refuses by."""
    tells: Callable[[Trace], Mapping[str, object]] | None = None
    """What it tells beside the output, by the names of JSON: the shapes of parts, the lengths that are inferred."""
    changes: Mapping[str, Callable[[Shape, Arguments], Changes]] = NONE
    """What to try if a rule refuses, by the rule, in place of what is tried for all ops; each change is asked again."""

    @property
    def slots(self) -> tuple[str, ...]:
        """The names of the parameters that are given by their place, in order."""
        return tuple(param.name for param in self.params if param.positional)

    @property
    def places(self) -> tuple[str, ...]:
        """The names of all parameters that may be given by their place, in order."""
        return (*self.slots, *(param.name for param in self.params if param.placed))


def vectors(names: str, *rows: tuple[str, ...]) -> tuple[tuple[str, Mapping[str, str]], ...]:
    """Return the vectors of rows, each a shape and behind it the values of the named arguments; `_` leaves one out.

    >>> vectors("axis index", ("2,3", "0 1", "_ 1"))
    (('2,3', {'axis': '0', 'index': '1'}), ('2,3', {'index': '1'}))
    """
    pairs = [(shape, zip(names.split(), values.split(), strict=False)) for shape, *asked in rows for values in asked]
    return tuple([(shape, {name: value for name, value in named if value != "_"}) for shape, named in pairs])


def called(**rows: str) -> dict[str, Operator]:
    """Return the operators of dialects of which only the name is to be said: the dialects' names by the operators'.

    >>> [(row, operator.name) for row, operator in called(tile="numpy paddle", Tile="openvino").items()]
    [('numpy', 'tile'), ('paddle', 'tile'), ('openvino', 'Tile')]
    """
    return {row: Operator(name) for name, names in rows.items() for row in names.split()}


def near(number: int, least: int = 1, reach: int = 11) -> list[int]:
    """Return the whole numbers about a number that are not too small, the nearest first; of two as near the smaller."""
    start = max(least, number)
    return sorted(range(max(least, start - reach), start + reach), key=lambda other: abs(other - number))


def operator_of(op: Op, row: Dialect) -> Operator | None:
    """Return the operator that a dialect has for an op; None if it has none.

    The younger of their two files names it: a new dialect lists its operators, a new op the dialects that have it. An
    op that is made of others is where these are.
    """
    found = row.operators.get(op.name) or op.operators.get(row.name)
    if found is None and row.follows is not None:
        return operator_of(op, row.follows)
    if found is None and op.made_of:
        made_of = [operator_of(each, row) for each in op.made_of]
        if None not in made_of:
            return Operator(op.name, made_of[0].versions)  # type: ignore[union-attr]
    return found


def steps_of(op: Op, operator: Operator) -> Callable[..., Reasons]:
    """Return what resolves requests: the operator's own way for those that it has one for, otherwise the op's."""
    own, refuses = operator.steps, operator.refuses
    if own is None and refuses is None:
        return op.steps

    def steps(shape: Shape, at: Setting, **arguments: Any) -> Reasons:
        error = None if refuses is None else refuses(shape, at, **arguments)
        if error is not None:
            return _refused(op.steps(shape, at, **arguments), error)
        return (own and own(shape, at, **arguments)) or op.steps(shape, at, **arguments)

    return steps


def _refused(reasons: Reasons, error: ShapeError) -> Reasons:
    """Begin the first stage, and refuse it."""
    yield next(reasons)
    raise error


def accepted_types(op: Op, row: Dialect, version: int | None, variant: Operator | None = None) -> frozenset[str]:
    """Return the element types that the operator of a dialect, or a variant of it, accepts in one version."""
    operator = variant or operator_of(op, row)
    listed = row.types if operator is None or version is None else operator.versions[version]
    return listed - row.lacks_types.get(op.name, frozenset())

"""`Op`: one operation as a value. Each op is one file of this room, and its name in `ops/__init__.py`."""

from __future__ import annotations

from shapecalc.core.dialects.base import Holds, Operator, Param
from shapecalc.core.record import FrozenDict, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from shapecalc.core.answers import Facts, Reasons
    from shapecalc.core.dialects.base import Dialect, Reading
    from shapecalc.core.dims import Shape
    from shapecalc.core.problem import Rule

    Axes = tuple[int, ...]

__all__ = ["NONE", "Holds", "Op", "Param", "Setting", "accepted_types", "operator_of", "steps_of"]

NONE: FrozenDict = FrozenDict()


class Setting(Record):
    """The rules under which one request is answered."""

    row: Dialect
    operator: Operator
    steps: Callable[..., Reasons]
    """What resolves the request: the operator's own way, or the op's."""
    version: int | None
    """The operator's version; None if operators have no versions."""
    reading: Reading
    """How 0 and -1 are read in a requested shape."""
    options: FrozenDict
    """The switch in force, by the framework's own name."""


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
    facts: tuple[type[Facts], ...] = ()
    """The facts of steps that only this op has."""
    refusals: tuple[Rule, ...] = ()
    """The rules that only this op refuses by."""
    changes: Mapping[str, Callable[[Shape, Mapping[str, Any]], Iterable[tuple[str, object]]]] = NONE
    """What to try if a rule refuses, by the rule, in place of what is tried for all ops. Called with the input shape
    and the arguments. Returns arguments with new values, None to leave one out; each is asked again first."""

    @property
    def slots(self) -> tuple[str, ...]:
        """The names of the parameters that are given by their place, in order."""
        return tuple(param.name for param in self.params if param.positional)

    @property
    def places(self) -> tuple[str, ...]:
        """The names of all parameters that may be given by their place, in order."""
        return (*self.slots, *(param.name for param in self.params if param.placed))


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
    own, steps = operator.steps, op.steps
    if own is None:
        return steps
    return lambda shape, at, **arguments: own(shape, at, **arguments) or steps(shape, at, **arguments)


def accepted_types(op: Op, row: Dialect, version: int | None) -> frozenset[str]:
    """Return the element types that the operator of a dialect accepts in one version."""
    operator = operator_of(op, row)
    listed = row.types if operator is None or version is None else operator.versions[version]
    return listed - row.lacks_types.get(op.name, frozenset())

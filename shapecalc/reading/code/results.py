"""Define the results of interpreted code."""

from __future__ import annotations

from collections.abc import Mapping

from shapecalc.core.answers import EMPTY_DICT
from shapecalc.core.conditions import Conditions
from shapecalc.core.dims import Shape, to_json
from shapecalc.core.problem import usage_error
from shapecalc.core.record import Record
from shapecalc.core.requests import StageRequest
from shapecalc.core.results import SizeExpression
from shapecalc.core.text import truncate
from shapecalc.reading.code.values import Binding, LayerInstance, UserValue


class StatementRecord(Record):
    """An interpreted statement, with the values that it binds or returns."""

    line: int
    end_line: int
    function: str
    """The qualified name of the function, such as `Net.forward`, or an empty string outside of functions."""
    depth: int
    """The number of enclosing calls; 0 in the interpreted function and outside of functions."""
    names: Mapping[str, Binding]
    """The value or error of each name that the statement binds. A returned value has an empty name."""
    text: str
    """The source of the statement on one line; for a layer of a `Sequential`, its index and its arguments."""
    layer: LayerInstance | None = None
    """The layer of a `Sequential` that is applied, or None for a statement."""


class UnknownCall(Record):
    """A call or other expression whose shape or value is unknown, but can be provided by the user."""

    call: str
    """The source of the call. A line number precedes it if the same call has another proposal on another line."""
    line: int
    proposal: Shape | None
    """The proposed shape: the shape of the first argument, or None if it is not a tensor."""
    option: str = "input"
    """The option that provides the result: `input` for a shape, `where` for a number or a condition."""
    value: UserValue = None
    """The proposed value of a condition, or None."""
    placeholder: str = "NUMBER"
    """The placeholder in a printed command if no value is proposed."""
    count: int = 1
    """The number of tensors that the call returns. Each of them has the proposed shape."""

    def as_json(self) -> dict[str, object]:
        """Return the call as a JSON object."""
        shape = None if self.proposal is None else to_json(self.proposal)
        proposal = shape if self.count == 1 or shape is None else [shape] * self.count
        answer = {} if self.option == "input" else {"option": f"--{self.option}"}
        return {"call": self.call, "line": self.line, "proposal": self.value if answer else proposal, **answer}


class CodeChain(Record):
    """A chain that is equivalent to code, with notes on the interpretation."""

    input_shape: Shape
    stages: tuple[StageRequest, ...]
    notes: tuple[str, ...]
    is_main: bool
    """Whether the input of the chain is the first input of the code."""
    untraced_change: str = ""
    """The first expression that changes the elements without a stage, or an empty string if there is none."""
    outputs: tuple[Shape, ...] = ()
    """The shapes of all results if there are several, the result of the chain first. Otherwise empty."""
    other_chains: tuple[tuple[Shape, tuple[StageRequest, ...], Conditions], ...] = ()
    """The input, the stages and the conditions of each further result that is not part of the chain."""
    conditions: Conditions = ()
    """The conditions of the results, and of the tensors from which they are computed."""
    names: Mapping[str, SizeExpression | None] = EMPTY_DICT
    """The definition of each new name for a size that is not a monomial. Other names map to None."""
    unchecked: tuple[tuple[int, str], ...] = ()
    """The line and the name of each layer whose input sizes are not checked."""

    def require_equal_elements(self, option: str) -> None:
        """Check that the chain computes the same elements as the code.

        `option` is the option that requires equal elements. Raises `ShapeError` (usage) if they may differ.
        """
        if self.untraced_change:
            message = f"'{truncate(self.untraced_change)}' is not in the chain of stages, so {option} would be wrong"
            raise usage_error(message, "ask for the shape alone", argument="line")
        if self.outputs:
            message = f"the code ends with {len(self.outputs)} tensors, and {option} is for one"
            raise usage_error(message, "take one of them, as [0] does", argument="line")


class UnnamedInputIdentified(Exception):
    """The exception raised when the name of an unnamed input is found in the code.

    The user can pass an input shape without a name. The argument of the exception is the name. The code is then
    interpreted again with this name.
    """

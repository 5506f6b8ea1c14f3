"""The results of interpreted code."""

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
from shapecalc.reading.code.values import Binding, GivenValue, LayerInstance


class StatementRecord(Record):
    """An interpreted statement, with the values that it binds or returns."""

    line: int
    end_line: int
    function: str
    """The qualified name of the function, such as `Net.forward`; empty outside of functions."""
    depth: int
    """The number of enclosing calls; 0 in the interpreted function and outside of functions."""
    names: Mapping[str, Binding]
    """The value of each name that the statement binds, or its error; the name of a returned value is empty."""
    text: str
    """The source of the statement on one line; for a layer of a `Sequential`, its index and its arguments."""
    layer: LayerInstance | None = None
    """The layer of a `Sequential` that is applied, or None for a statement."""


class UnknownCall(Record):
    """A call or another expression with an unknown shape or value that the user can provide."""

    call: str
    """The source of the call, prefixed with its line number if the same call has another proposal on another line."""
    line: int
    proposal: Shape | None
    """The shape of the first argument, or None if it is not a tensor."""
    option: str = "input"
    """The option that gives the answer: `input` for a shape, `where` for a number or a condition."""
    value: GivenValue = None
    """The proposed value of a condition, or None."""
    placeholder: str = "NUMBER"
    """The word for a value without a proposal in a command."""
    count: int = 1
    """The number of tensors that the call returns; if it is not 1, each has the proposed shape."""

    def as_json(self) -> dict[str, object]:
        """Return the call as a JSON object."""
        shape = None if self.proposal is None else to_json(self.proposal)
        proposal = shape if self.count == 1 or shape is None else [shape] * self.count
        answer = {} if self.option == "input" else {"option": f"--{self.option}"}
        return {"call": self.call, "line": self.line, "proposal": self.value if answer else proposal, **answer}


class CodeChain(Record):
    """The chain of interpreted code, with notes on the interpretation."""

    input_shape: Shape
    stages: tuple[StageRequest, ...]
    notes: tuple[str, ...]
    is_main: bool
    """Whether the input of the chain is the first input of the code."""
    untraced_change: str = ""
    """An expression that changes the elements and has no stage; empty if the chain is equivalent to the code."""
    outputs: tuple[Shape, ...] = ()
    """The shapes of all results of code that ends with several, the result of the chain first; otherwise empty."""
    other_chains: tuple[tuple[Shape, tuple[StageRequest, ...], Conditions], ...] = ()
    """The input, the stages and the conditions of each further result that is not part of the chain."""
    conditions: Conditions = ()
    """The conditions of the results, and those of the tensors that they are computed from."""
    names: Mapping[str, SizeExpression | None] = EMPTY_DICT
    """The named results of all chains in the code; other names map to None."""
    unchecked: tuple[tuple[int, str], ...] = ()
    """The line and the name of each layer with unchecked sizes."""

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

    The user can pass an input shape without a name. The argument of the exception is the name, with which the code is
    interpreted again.
    """

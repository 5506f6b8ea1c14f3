"""The results of code: chains, with notes."""

from __future__ import annotations

from shapecalc.core.dims import Shape
from shapecalc.core.problem import usage_error
from shapecalc.core.record import Record
from shapecalc.core.requests import StageRequest
from shapecalc.core.text import truncate


class CodeChain(Record):
    """The chain that code performs, with notes on how the code was interpreted."""

    input_shape: Shape
    stages: tuple[StageRequest, ...]
    notes: tuple[str, ...]
    is_main: bool
    """Whether the input of the chain is the first input of the code."""
    untraced_change: str = ""
    """An expression that changes the elements and has no stage; empty if the chain does all that the code does."""
    outputs: tuple[Shape, ...] = ()
    """The shapes of all results of code that ends with several, the result of the chain first; otherwise empty."""
    other_chains: tuple[tuple[Shape, tuple[StageRequest, ...]], ...] = ()
    """The input and the stages of each further result that a stage of the chain does not contain."""

    def refuse_elements(self, option: str) -> None:
        """Raise `ShapeError` (usage) if the chain does not have the elements of the code.

        `option` is what needs the elements, such as `--as`.
        """
        if self.untraced_change:
            message = f"'{truncate(self.untraced_change)}' is not in the chain of stages, so {option} would be wrong"
            raise usage_error(message, "ask for the shape alone", argument="line")
        if self.outputs:
            message = f"the code ends with {len(self.outputs)} tensors, and {option} is for one"
            raise usage_error(message, "take one of them, as [0] does", argument="line")


class UnnamedInputIdentified(Exception):
    """Raised when the interpreter finds the name of the input tensor in the code.

    The user can pass an input shape without a name. The only argument of the exception is the name that was found, with
    which the code is interpreted again.
    """

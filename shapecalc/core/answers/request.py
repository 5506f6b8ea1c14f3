"""`Request`: one question that is read and checked for form, but not answered yet."""

from __future__ import annotations

from shapecalc.core.sizes.dims import Monomial, Shape
from shapecalc.core.sizes.record import FrozenDict, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NONE: FrozenDict = FrozenDict()


class Request(Record):
    """One question that is read and checked for form, but not answered yet."""

    op: str
    input: Shape
    arguments: Mapping[str, Any] = NONE
    """The op's own parameters that were given, by name."""
    dialect: str = "onnx"
    opset: int | None = None
    dtype: str | None = None
    switch: bool | None = None
    """The setting of the dialect's switch, if it was given."""
    written: Mapping[str, str] = NONE
    """The arguments as they were typed, by name; empty if they were not typed."""

    def __init__(
        self,
        op: str,
        input: Shape,
        arguments: Mapping[str, Any] = NONE,
        dialect: str = "onnx",
        opset: int | None = None,
        dtype: str | None = None,
        switch: bool | None = None,
        written: Mapping[str, str] = NONE,
    ) -> None:
        """Set the fields, so that they cannot change."""
        self._op = op
        self._input = input
        self._arguments = FrozenDict(arguments)
        self._dialect = dialect
        self._opset = opset
        self._dtype = dtype
        self._switch = switch
        self._written = FrozenDict(written) if written else NONE

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The input, and the arguments that are shapes, permutations or axes."""
        return (self.input, *(value for value in self.arguments.values() if isinstance(value, tuple)))

    @property
    def dims(self) -> Shape:
        """Every dim that the request names: the input's and those of its arguments."""
        return tuple([dim for shape in self.shapes for dim in shape])

    @property
    def symbolic(self) -> bool:
        """Whether a name occurs among the dims."""
        for value in (self.input, *self.arguments.values()):
            if type(value) is tuple:
                for dim in value:
                    if type(dim) is Monomial:
                        return True
        return False

"""Represent calls, and convert their arguments."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite, isnan

from shapecalc.core.dims import Dim, Shape
from shapecalc.core.ops.calls import argument_names
from shapecalc.core.ops.op import Op
from shapecalc.core.problem import Rule
from shapecalc.core.record import Record
from shapecalc.core.rules import AXIS_OUT_OF_RANGE, LAYER_MISMATCH
from shapecalc.core.text import escape_unprintable, missing_axis_text, truncate
from shapecalc.reading.code.values import (
    CheckRefused,
    CodeValue,
    ErrorFactory,
    ProgramSizes,
    TracedTensor,
    is_dim,
    unwrap_size,
)


class Call(Record):
    """A call of a function, method or layer, without its tensor argument."""

    name: str
    """The name of the called function, method or layer."""
    positional: tuple[CodeValue, ...]
    keywords: Mapping[str, CodeValue]
    error: ErrorFactory
    program: ProgramSizes | None = None

    def bind_arguments(self, *names: str) -> list[CodeValue]:
        """Return the arguments in the order of the parameter names.

        An omitted argument is None. Aliases of a name are separated by slashes: `dim/axis`. Raises `ShapeError` (usage)
        for an unknown argument.
        """
        known = {alias: position for position, name in enumerate(names) for alias in name.split("/")}
        if len(self.positional) > len(names):
            raise self.error(f"{self.name} takes at most {len(names)} arguments")
        arguments: list[CodeValue] = [*self.positional, *[None] * (len(names) - len(self.positional))]
        for name, value in self.keywords.items():
            if name not in known:
                raise self.error(f"the argument {escape_unprintable(truncate(name))} of {self.name} is not supported")
            arguments[known[name]] = value
        return arguments

    def bind_params(self, op: Op, dialect: str, *params: str) -> list[CodeValue]:
        """Return the arguments for the op parameters `params`, in order.

        A keyword argument may have any name that a framework uses for the parameter.
        """
        names = argument_names(op, self.name, dialect)
        return self.bind_arguments(*[names[param] for param in params])

    def sequence_argument(self, *names: str) -> tuple[CodeValue, ...]:
        """Return the items of a sequence argument.

        For example, the items are `(2, 3)` in `reshape(2, 3)`. The call passes the sequence as a tuple, as a keyword
        argument with a name in `names`, or as separate positional arguments. Raises `ShapeError` (usage) for any other
        keyword.
        """
        keyword_values = [value for name, value in self.keywords.items() if name in names]
        if len(keyword_values) < len(self.keywords):
            raise self.error(f"only {' or '.join(names)} of {self.name} can be given by name")
        arguments = (*self.positional, *keyword_values)
        return arguments[0] if len(arguments) == 1 and isinstance(arguments[0], tuple) else arguments

    def dims_argument(self, *names: str) -> Shape:
        """Convert the sequence argument to a shape.

        Raises `ShapeError` (usage) if an item is not a size.
        """
        return tuple([self.to_dim(dim) for dim in self.sequence_argument(*names)])

    def axes_argument(self, *names: str) -> tuple[int, ...]:
        """Convert the sequence argument to axes.

        Raises `ShapeError` (usage) if an item is not an integer.
        """
        return tuple([self.to_integer(axis) for axis in self.sequence_argument(*names)])

    def to_integer(self, value: CodeValue, default: int | None = None) -> int:
        """Convert a value to an integer.

        None is converted to `default`. Raises `ShapeError` (usage) if the value is not an integer.
        """
        value = unwrap_size(value)
        if value is None and default is not None:
            return default
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.error(f"{self.name} needs whole numbers here", unknown=value)
        return value

    def to_size(self, value: CodeValue) -> int | Shape:
        """Convert a value to an integer or a tuple of sizes.

        Raises `ShapeError` (usage) for any other value.
        """
        return tuple(map(self.to_dim, value)) if isinstance(value, tuple) else self.to_integer(value)

    def to_dim(self, value: CodeValue) -> Dim:
        """Convert a value to a size.

        A number that depends on the elements of a tensor becomes a new symbolic size. Raises `ShapeError` (usage) for
        any other value.
        """
        value = unwrap_size(value)
        is_unknown = isinstance(value, float) and isnan(value)
        if self.program is not None and (is_unknown or (isinstance(value, TracedTensor) and not value.rank)):
            return self.program.data_dependent_size(value)
        if isinstance(value, float) and isfinite(value):
            raise self.error(f"{value} is not a whole number")
        if not is_dim(value):
            raise self.error(f"{self.name} needs sizes here")
        return value

    def to_axis(self, tensor: TracedTensor, value: CodeValue, default: int | None = None) -> int:
        """Convert a value to a non-negative axis of a tensor.

        Raises `CheckRefused` (axis-out-of-range) if the axis does not exist, and `ShapeError` (usage) for a scalar,
        because only some functions accept an axis of a scalar.
        """
        axis, rank = self.to_integer(value, default), tensor.rank
        if rank == 0 and axis in (0, -1):
            raise self.error(f"{self.name} of a scalar is not supported")
        if not -rank <= axis < rank:
            raise self.refusal(missing_axis_text(axis, rank), AXIS_OUT_OF_RANGE)
        return axis % rank

    def to_reduced_axis(self, tensor: TracedTensor, value: CodeValue) -> int:
        """Convert a value to the non-negative axis of a reduction.

        A scalar has the axes 0 and -1.
        """
        axis = self.to_integer(value)
        if tensor.rank == 0:
            if axis not in (0, -1):
                raise self.refusal(missing_axis_text(axis, 1), AXIS_OUT_OF_RANGE)
            return 0
        return self.to_axis(tensor, axis)

    def refusal(self, message: str, rule: Rule = LAYER_MISMATCH) -> CheckRefused:
        """Return the exception for a call that violates `rule`."""
        return CheckRefused(self.error(f"{self.name}: {message}"), rule)

"""Requested shapes as models hold them: numbers, 0 for a copied dim, -1 for an inferred dim, and sizes to compute."""

from __future__ import annotations

from shapecalc.core.ask import ask
from shapecalc.core.dims import Dim, Monomial, Shape, monomial
from shapecalc.core.problem import ShapeError, misuse
from shapecalc.core.record import Record
from shapecalc.core.resolve import resolve
from shapecalc.view.code.written import WrittenDim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shapecalc.view.code.sizes import Readings


class Requested(Record):
    """A requested shape. `literal` says whether a 0 in it is a dim of size zero.

    Its names are sizes that the model is given, or axes of the model's input.
    """

    dims: Shape
    literal: bool
    warnings: tuple[str, ...]


class Rules(Record):
    """A framework's rules for a requested shape: its name, and its switch if it has one."""

    options: Mapping[str, object]
    switch: str | None = None
    on: bool = False
    """Whether the switch is on if a 0 means a dim of size zero."""
    required: bool = False
    """Whether the switch has to be set for any other shape, too."""
    copies_of_empty: bool = True
    """Whether 0 copies a dim of a tensor that holds nothing."""


def requested(
    before: Shape, asked: Sequence[WrittenDim], readings: Readings, rules: Rules, *, literal: bool = False
) -> Requested:
    """Return the shape to request from a tensor of shape `before`. `literal` says to take 0 for a size in any case.

    A size that neither a number nor 0 can say is inferred if no other is, and computed otherwise.
    Raises `ShapeError` (usage) if the framework's rules refuse the shape.
    """
    copies_any = rules.copies_of_empty or 0 not in before
    copied = [copies_any and _can_copy(dim, out, before) for out, dim in enumerate(asked)]
    empty = [dim.value == 0 and not dim.inferred for dim in asked]
    literal = literal or any(zero and not copies for zero, copies in zip(empty, copied, strict=True))
    zeros = literal and any(dim.value == 0 for dim in asked)
    hole = None if zeros else _hole(asked, [copies and not literal for copies in copied], readings)
    dims, warnings = list[Dim](), list[str]()
    for out, dim in enumerate(asked):
        copies = copied[out] and not literal
        dims.append(-1 if out == hole else 0 if copies else dim.value)
        if dim.axes and isinstance(dim.value, int) and dim.value and out != hole and not copies:
            warnings.append(f"dim {out} follows the tensor, and is written as the number {dim.value}")
    if literal and zeros and rules.switch:
        warnings.append(f"0 is a dim of size zero here, so {rules.switch} is {'on' if rules.on else 'off'}")
    _check(before, tuple(dims), literal, rules)
    return Requested(tuple(map(readings.read, dims)), literal, tuple(warnings))


def two_way_dims(before: Shape, asked: Sequence[WrittenDim], readings: Readings) -> Shape:
    """Return the shape to request from a broadcast that lets either side grow: 1 for a dim that the tensor has."""
    dims = list[Dim]()
    for axis, dim in enumerate(asked, len(before) - len(asked)):
        same = axis >= 0 and before[axis] == dim.value and isinstance(dim.value, Monomial)
        dims.append(1 if dim.axes or same else readings.read(dim.value))
    return tuple(dims)


def _can_copy(dim: WrittenDim, out: int, before: Shape) -> bool:
    """Say whether a 0 can copy the dim: the tensor has the dim at the same place."""
    same = out < len(before) and isinstance(dim.value, Monomial) and before[out] == dim.value
    return not dim.inferred and (dim.axes == (out,) or same)


def _hole(asked: Sequence[WrittenDim], copied: Sequence[bool], readings: Readings) -> int | None:
    """Return the dim to infer: the one that asks for it, else the one that is hardest to compute."""
    costs = dict[int, tuple[int, int]]()
    for out, dim in enumerate(asked):
        if dim.inferred:
            return out
        if isinstance(dim.value, Monomial) and not copied[out]:
            read = monomial(readings.read(dim.value))
            costs[out] = readings.count_open(dim.value), sum(abs(power) for _, power in read.powers)
    return max(reversed(costs), key=costs.__getitem__, default=None)


def _check(before: Shape, dims: Shape, literal: bool, rules: Rules) -> None:
    """Raise `ShapeError` (usage) if the framework's own rules refuse the shape."""
    chosen = rules.on if literal else not rules.on if rules.required else None
    switch = {rules.switch: chosen} if rules.switch else {}
    try:
        problem = resolve(ask("reshape", before, {"target": dims, **rules.options, **switch})).problem
    except ShapeError as error:
        problem = error.problem
    if problem:
        raise misuse(f"{rules.options['dialect']} cannot be asked for it: {problem.message}")

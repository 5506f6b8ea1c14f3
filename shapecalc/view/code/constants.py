"""Requested shapes that a model holds as constants: numbers, 0 for a copied dim, -1 for an inferred dim."""

from __future__ import annotations

from shapecalc.core.answers.stage import Stage
from shapecalc.core.asking.ask import ask
from shapecalc.core.asking.resolve import resolve
from shapecalc.core.sizes.dims import Monomial
from shapecalc.core.sizes.problem import ShapeError, misuse
from shapecalc.core.sizes.record import Record
from shapecalc.view.code.written import WrittenDim, written_dims

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Constants(Record):
    """A requested shape in numbers. `literal` says whether a 0 in it is a dim of size zero."""

    dims: tuple[int, ...]
    literal: bool
    warnings: tuple[str, ...]


def constants_for(stage: Stage, options: Mapping[str, object], switch: str, *, on: bool, literal: bool) -> Constants:
    """Return the constants that ask for a stage's output under the rules that `options` name.

    `switch` is the name of the framework's switch. It has the value `on` if a 0 means a dim of size zero.
    `literal` says to set it to `on` in any case. Raises `ShapeError` (usage) if a name would have to be a
    constant, or if the rules refuse the constants.
    """
    asked = written_dims(stage)
    copied = [_can_copy(dim, out, stage) for out, dim in enumerate(asked)]
    literal = literal or any(
        dim.value == 0 and not dim.inferred and not copies for dim, copies in zip(asked, copied, strict=True)
    )
    zeros = literal and any(dim.value == 0 for dim in asked)
    hole, dims, warnings = any(dim.inferred for dim in asked), list[int](), list[str]()
    for out, (dim, copies) in enumerate(zip(asked, copied, strict=True)):
        dims.append(_constant(dim, out, copies=copies and not literal, zeros=zeros, hole=hole))
        hole = hole or dims[-1] == -1
        if dim.axes and dims[-1] > 0:
            warnings.append(f"dim {out} follows the tensor, and is written as the number {dims[-1]}")
    if literal and zeros:
        warnings.append(f"0 is a dim of size zero here, so {switch} is {'on' if on else 'off'}")
    made = Constants(tuple(dims), literal, tuple(warnings))
    _check(stage, made, {**options, switch: on if literal else None})
    return made


def _can_copy(dim: WrittenDim, out: int, stage: Stage) -> bool:
    """Say whether a 0 can copy the dim: the tensor has the dim at the same place."""
    same = out < len(stage.before) and isinstance(dim.value, Monomial) and stage.before[out] == dim.value
    return not dim.inferred and (dim.axes == (out,) or same)


def _constant(dim: WrittenDim, out: int, *, copies: bool, zeros: bool, hole: bool) -> int:
    """Return the number for one dim. A name that no 0 can copy may still be the one dim that is inferred."""
    if copies:
        return 0
    if dim.inferred and not zeros:
        return -1
    if isinstance(dim.value, int):
        return dim.value
    if not zeros and not hole:
        return -1
    raise misuse(f"dim {out}, {dim.value}, would have to be a constant", "give the sizes with --where")


def _check(stage: Stage, made: Constants, options: Mapping[str, object]) -> None:
    """Raise `ShapeError` (usage) if the framework's own rules refuse the constants."""
    try:
        problem = resolve(ask("reshape", stage.before, {"target": made.dims, **options})).problem
    except ShapeError as error:
        problem = error.problem
    if problem:
        raise misuse(f"{options['dialect']} cannot be asked for it: {problem.message}")

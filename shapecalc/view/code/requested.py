"""Requested shapes that a model holds as constants: numbers, 0 for a copied dim, -1 for an inferred one."""

from __future__ import annotations

from shapecalc.core.dims import Monomial
from shapecalc.core.problem import ShapeError, misuse
from shapecalc.core.record import Record
from shapecalc.core.request import ask
from shapecalc.core.resolve import resolve
from shapecalc.view.code.actions import Action, Entry, entries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Requested(Record):
    """A requested shape in numbers, and whether a 0 in it is a dim of size zero."""

    dims: tuple[int, ...]
    literal: bool
    warnings: tuple[str, ...]


def requested(action: Action, options: Mapping[str, object], switch: str, *, on: bool, literal: bool) -> Requested:
    """Return the constants that ask for an action's output under the rules that `options` name.

    `switch` is what the framework calls its own switch, and `on` how it is set where 0 is to mean a dim of
    size zero; `literal` says that it is to be so set in any case. Raises `ShapeError` (usage) where names
    would have to be constants, and where the rules refuse.
    """
    asked = entries(action)
    copied = [_can_copy(entry, out, action) for out, entry in enumerate(asked)]
    literal = literal or any(
        entry.value == 0 and not entry.inferred and not copies for entry, copies in zip(asked, copied, strict=True)
    )
    zeros = literal and any(entry.value == 0 for entry in asked)
    hole, dims, warnings = any(entry.inferred for entry in asked), list[int](), list[str]()
    for out, (entry, copies) in enumerate(zip(asked, copied, strict=True)):
        dims.append(_constant(entry, out, copies=copies and not literal, zeros=zeros, hole=hole))
        hole = hole or dims[-1] == -1
        if entry.axes and dims[-1] > 0:
            warnings.append(f"dim {out} follows the tensor, and is written as the number {dims[-1]}")
    if literal and zeros:
        warnings.append(f"0 is a dim of size zero here, so {switch} is {'on' if on else 'off'}")
    found = Requested(tuple(dims), literal, tuple(warnings))
    _check(action, found, {**options, switch: on if literal else None})
    return found


def _can_copy(entry: Entry, out: int, action: Action) -> bool:
    """Say whether a 0 that copies would stand for the dim: the tensor has it at the same place."""
    same = out < len(action.shape) and isinstance(entry.value, Monomial) and action.shape[out] == entry.value
    return not entry.inferred and (entry.axes == (out,) or same)


def _constant(entry: Entry, out: int, *, copies: bool, zeros: bool, hole: bool) -> int:
    """Return the number for one dim; a name that nothing copies can still be the one that is inferred."""
    if copies:
        return 0
    if entry.inferred and not zeros:
        return -1
    if isinstance(entry.value, int):
        return entry.value
    if not zeros and not hole:
        return -1
    raise misuse(f"dim {out}, {entry.value}, would have to be a constant", "give the sizes with --where")


def _check(action: Action, found: Requested, options: Mapping[str, object]) -> None:
    """Refuse what the framework itself would refuse, by its own rules."""
    try:
        problem = resolve(ask("reshape", action.shape, {"target": found.dims, **options})).problem
    except ShapeError as error:
        problem = error.problem
    if problem:
        raise misuse(f"{options['dialect']} cannot be asked for it: {problem.message}")

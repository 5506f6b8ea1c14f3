"""`Param`: one parameter of an op, by the name that every front end gives it."""

from __future__ import annotations

from shapecalc.core.sizes.record import Choice, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Holds(Choice):
    """What a parameter holds."""

    TARGET = "a requested shape"
    AXES = "a list of axes"
    PERM = "a permutation of axes, which may be named by their dims"
    SLICES = "slices of axes"
    PATTERN = "a pattern of axes"
    LENGTHS = "lengths of axes by name"
    INT = "a whole number"
    WORD = "one of a few words"
    FLAG = "yes or no"


class Param(Record, read_often=True):
    """One parameter of an op."""

    name: str
    holds: Holds
    help: str
    positional: bool = False
    placed: bool = False
    """Whether it may be given by its place, too, behind those that are positional."""
    required: bool = False
    words: tuple[str, ...] = ()
    """The words that a parameter of words takes."""
    taken_by: Callable[[Any], bool] | None = None
    """Which dialects' operators have the parameter, by the dialect's row; None if all do."""

    def is_taken_by(self, row: Any) -> bool:
        """Say whether the operator of a dialect has the parameter."""
        return self.taken_by is None or self.taken_by(row)

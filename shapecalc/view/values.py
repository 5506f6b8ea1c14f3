"""Elements in nested brackets, in columns. Dots stand for elements that are left out."""

from __future__ import annotations

from shapecalc.core.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


def values_text(elements: Any, gaps: Sequence[int | None]) -> str:
    """Return nested lists as text, in columns. `gaps` says at which position of each axis others are left out.

    >>> print(values_text([[0, 1], [2, 13]], (None, 1)))
    [[ 0 ...  1]
     [ 2 ... 13]]
    """
    width = max((len(_text(leaf)) for leaf in _leaves(elements, len(gaps))), default=0)
    return _nest(elements, gaps, width, indent=1)


def _nest(elements: Any, gaps: Sequence[int | None], width: int, indent: int) -> str:
    if not gaps:
        return _text(elements).rjust(width)
    parts = [_nest(element, gaps[1:], width, indent + 1) for element in elements]
    if gaps[0] is not None:
        parts.insert(gaps[0], "...")
    between = " " if len(gaps) == 1 else "\n" * (len(gaps) - 1) + " " * indent
    return f"[{between.join(parts)}]"


def _leaves(elements: Any, depth: int) -> list[Any]:
    if depth == 0:
        return [elements]
    return [leaf for element in elements for leaf in _leaves(element, depth - 1)]


def _text(element: Any) -> str:
    return visible(str(element))

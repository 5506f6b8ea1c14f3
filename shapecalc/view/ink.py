"""The styles of pictures. Equal ones are one object, so that what a terminal needs for them is made once."""

from __future__ import annotations

from functools import lru_cache

from rich.style import Style


@lru_cache(maxsize=1024)
def ink(
    colour: str = "",
    *,
    dim: bool = False,
    bold: bool = False,
    reverse: bool = False,
    mark: tuple[str, object] | None = None,
) -> Style:
    """Return a style in a colour, in that of the terminal if it is empty; `mark` is one item of meta data.

    >>> ink("#D55E00", bold=True) is ink("#D55E00", bold=True)
    True
    """
    return Style(color=colour or None, dim=dim, bold=bold, reverse=reverse, meta=dict([mark]) if mark else None)

"""Pictures in pixels: what resvg makes of an SVG with the package's own font.

The font is given as a file. By its name alone resvg would draw no text on most machines, and say nothing.
"""

from __future__ import annotations

from importlib.resources import as_file, files

from shapecalc.core.problem import FILE, Problem, ShapeError

FONT = files("shapecalc.view") / "fonts" / "DejaVuSansMono.ttf"
"""DejaVu Sans Mono, with the letters, lines and arrows that pictures are made of."""
FAMILY = "DejaVu Sans Mono"
SHARP = 2
"""How many pixels a side of the SVG's own are drawn with."""


def png(svg: str, zoom: int = SHARP) -> bytes:
    """Return an SVG as PNG, `zoom` times as large; raise `ShapeError` (file) if resvg-py is not installed."""
    try:
        from resvg_py import svg_to_bytes
    except ModuleNotFoundError as error:
        raise not_installed(error) from None
    with as_file(FONT) as font:
        own = [str(font)]
        made = svg_to_bytes(svg_string=svg, zoom=zoom, skip_system_fonts=True, font_files=own, font_family=FAMILY)
    return bytes(made)


def not_installed(error: ModuleNotFoundError) -> ShapeError:
    """Return the error to raise if a package of the extra `film` is not there."""
    return ShapeError(Problem(FILE, f"{error.name} is not installed; pip install 'shapecalc[film]'"))

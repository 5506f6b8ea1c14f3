"""Pictures in pixels: what resvg makes of an SVG with the package's own font.

The font is given as a file. By its name alone resvg would draw no text on most machines, and say nothing.
"""

from __future__ import annotations

from pathlib import Path

from shapecalc.core.sizes.problem import FILE, Problem, ShapeError

FONT = Path(__file__).with_name("fonts") / "DejaVuSansMono.ttf"
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
    made = svg_to_bytes(svg_string=svg, zoom=zoom, skip_system_fonts=True, font_files=[str(FONT)], font_family=FAMILY)
    return bytes(made)


def not_installed(error: ModuleNotFoundError) -> ShapeError:
    """Return the error to raise if a package of the extra `film` is not there."""
    return ShapeError(Problem(FILE, f"{error.name} is not installed; pip install 'shapecalc[film]'"))

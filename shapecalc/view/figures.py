"""Large figures: texts of letters and digits that are as high as several lines, for a room with a projector."""

from __future__ import annotations

from shapecalc.core.record import Choice

FONT = (
    "075557 126227 271747 371717 455711 574717 674757 771111 875757 975717 A25755 B65656 C34443 D65556 E74647 F74644 "
    "G34553 H55755 I72227 J11152 K55655 L44447 M57755 N65555 O25552 P65644 Q25573 R65655 S34216 T72222 U55557 V55552 "
    "W55775 X55255 Y55222 Z71247 -00700 _00007 *05250 /11244 ?71302 ,00024 [64446 ]31113 ~01740 =07070 +02720 ▸46764 "
    "✗55255 …00005 ·00200 .00002"
)
"""Each character, and its five rows of three pixels: a row is the digit of its three bits."""
GLYPHS = {" ": "00000"} | {glyph[0]: glyph[1:] for glyph in FONT.split()}
OTHER = "77777"
"""What stands for a character that has no glyph."""
HALVES = " ▀▄█"
"""The characters of two pixels, one over the other, by the sum of 1 for the upper and 2 for the lower."""


class Scale(Choice):
    """How large a figure is."""

    LARGE = "a pixel is two cells wide and one high"
    MEDIUM = "a pixel is one cell wide and half a cell high"

    @property
    def rows(self) -> int:
        """The lines of a figure."""
        return 5 if self is Scale.LARGE else 3

    @property
    def columns(self) -> int:
        """The cells of a figure with the gap after it."""
        return 8 if self is Scale.LARGE else 4


def figures(text: str, scale: Scale) -> list[str]:
    r"""Return the lines of a text in large figures, all of one width. Small letters are as large ones.

    >>> print("\n".join(figures("24", Scale.MEDIUM)))
    ▀▀█ █ █
    █▀▀ ▀▀█
    ▀▀▀   ▀
    """
    glyphs = [[int(row) for row in GLYPHS.get(char.upper(), OTHER)] for char in text]
    if scale is Scale.LARGE:
        return ["  ".join(_bits(glyph[row], "██", "  ") for glyph in glyphs) for row in range(scale.rows)]
    return [" ".join(_pairs(glyph, 2 * row) for glyph in glyphs) for row in range(scale.rows)]


def _bits(row: int, on: str, off: str) -> str:
    return "".join(on if row & bit else off for bit in (4, 2, 1))


def _pairs(glyph: list[int], row: int) -> str:
    """Return the characters of two rows of pixels of a glyph."""
    lower = glyph[row + 1] if row + 1 < len(glyph) else 0
    return "".join(HALVES[bool(glyph[row] & bit) + 2 * bool(lower & bit)] for bit in (4, 2, 1))


def figures_width(text: str, scale: Scale) -> int:
    """Return the cells of a text in large figures.

    >>> figures_width("24", Scale.LARGE), len(figures("24", Scale.LARGE)[0])
    (14, 14)
    """
    gap = 2 if scale is Scale.LARGE else 1
    return max(0, len(text) * scale.columns - gap)

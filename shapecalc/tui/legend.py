"""The legend: every sign that the pictures are drawn with, and what it says."""

from __future__ import annotations

LEGEND = (
    ("a b c", "the axes of the input, from the left; a dim keeps the letters of the axes that it is made of"),
    ("bc  a-d", "b and c merged into one dim, b the outer; a to d merged"),
    ("c1 b·c1", "the outer part of c, which was split; b merged with it"),
    ("~x", "a dim that mixes axes, so it is not an axis of the input any more"),
    ("new  ·", "a new dim, which comes from no axis of the input"),
    ("_", "a dim that is not settled yet"),
    ("?", "a dim that nobody knows"),
    ("─ ╮ ├ ┤", "the way of an axis; where ways join or part, axes are merged or split; one that ends is dropped"),
    ("•", "where ways meet from all sides: old axes become new ones together"),
    ("╲ ╱ ╳", "axes that cross: a transpose"),  # noqa: RUF001
    ("┄  0┄b", "a size that is copied, of b; the elements go another way"),
    ("0 ▸", "a copied 0: the size at the same index, counted from the left"),
    ("█ │", "elements, in pieces as large as the known dims make them"),
    ("▒", "elements that are left over, or too many"),
    ("├─┼─┤ ░", "elements in a row, with the cuts of an axis; too many cuts"),
    ("!", "a new cut inside an old block, where others have none: axes mix"),
    ("[5]", "the element that is followed"),
    ("◂", "the dim of the step at hand"),
    ("✗ ▲", "where it stopped, and the characters at fault"),
    ("≠ ✓", "differs; is the same, or right"),
    ("* →", "times; becomes"),
    ("…", "more than there is room for"),
)
"""The signs, and what they say."""

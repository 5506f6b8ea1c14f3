"""Pictures read back from their text: what a wire joins, and where a ruler is cut."""

from __future__ import annotations

import re

from shapecalc.render.canvas import DOWN, LEFT, RIGHT, UNICODE, UP

DIRECTIONS = {char: place for place, char in enumerate(UNICODE.box_lines) if char != " "}
DIRECTIONS |= {
    UNICODE.junction: UP | DOWN | LEFT | RIGHT,
    UNICODE.size_line: LEFT | RIGHT,
    UNICODE.pointer: LEFT | RIGHT,
}
STEPS = {UP: (0, -1, DOWN), DOWN: (0, 1, UP), LEFT: (-1, 0, RIGHT), RIGHT: (1, 0, LEFT)}
FALLING, RISING, CROSSING = UNICODE.falling, UNICODE.rising, UNICODE.crossing
CROSS = UNICODE.box_lines[UP | DOWN | LEFT | RIGHT]
TOKEN = re.compile(rf"(?<=[^ ]) ([-\d]\S*) (?=[{UNICODE.box_lines[12]}{UNICODE.size_line}{UNICODE.pointer}])")
NAME = re.compile(r" ([A-Za-z~#]\S*) ")


class Wires:
    """The lines between two columns of dims: which cells of the text belong to one line.

    Lines that cross go through a cell of their own each. A name on a line parts what is at its left from the rest.
    """

    def __init__(self, rows, left, right):
        """Read the cells from `left` up to `right` of rows of text; what was asked for belongs to the line it is on."""
        self.cells, self.names = {}, []
        for y, row in enumerate(rows):
            part = row.ljust(right)[left:right]
            part = TOKEN.sub(lambda found: UNICODE.box_lines[12] * len(found.group()), f"|{part}")[1:]
            self.names += [(left + found.start() - 1, left + found.end(), y, found[1]) for found in NAME.finditer(part)]
            part = NAME.sub(lambda found: " " * len(found.group()), part)
            self.cells |= {(left + x, y): char for x, char in enumerate(part) if char != " "}
        self.owner = {}
        for cell, char in self.cells.items():
            for side in "fr" if char == CROSSING else "hv" if char == CROSS else " ":
                self.owner[*cell, side] = (*cell, side)
        for cell, char in self.cells.items():
            self._join_neighbours(cell, char)

    def reached(self, sources, outs):
        """Return which sources each out leads to at its left, and check what is written on the way.

        Both are given as places by row; a source brings the letters that its parts are called by.
        """
        at_left = {}
        for row, (x, y, _) in sources.items():
            at_left.setdefault(self.line_at(x, y), []).append(row)
        found = {}
        for out, (x, y) in outs.items():
            line = self.line_at(x, y)
            rows = {*at_left.get(line, ())} if line else set()
            for start, end, at, name in self.names:
                if line and self.line_at(end, at) == line:
                    behind = at_left.get(self.line_at(start, at), [])
                    letters = "".join(sources[row][2] for row in behind)
                    assert {*re.sub(r"[-\d,·…]", "", name)} <= {*letters} or "…" in letters, name
                    rows |= {*behind}
            found[out] = sorted(rows)
        return found

    def line_at(self, x, y):
        """Return the line that a cell belongs to; None if there is none."""
        node = self._node((x, y), LEFT)
        return self._root(node) if node in self.owner else None

    def _node(self, cell, direction):
        """Return the line that leaves a cell in a direction."""
        return (*cell, ("h" if direction & (LEFT | RIGHT) else "v") if self.cells.get(cell) == CROSS else " ")

    def _root(self, node):
        while self.owner[node] != node:
            node = self.owner[node]
        return node

    def _join(self, node, other):
        if other in self.owner:
            self.owner[self._root(node)] = self._root(other)

    def _join_neighbours(self, cell, char):
        x, y = cell
        if char in (FALLING, RISING, CROSSING):
            for side, down in (("f", 1), ("r", -1)):
                if char in ((FALLING if down == 1 else RISING), CROSSING):
                    self._join_slope((*cell, side if char == CROSSING else " "), down)
            return
        for direction, (dx, dy, back) in STEPS.items():
            other = self.cells.get((x + dx, y + dy), " ")
            if DIRECTIONS.get(char, 0) & direction and DIRECTIONS.get(other, 0) & back:
                self._join(self._node(cell, direction), self._node((x + dx, y + dy), direction))

    def _join_slope(self, node, down):
        """Join a cell of a slope with the next cell of it, or with the level line at its end."""
        x, y, _ = node
        for dx in (-1, 1):
            along = self.cells.get((x + dx, y + dx * down), " ")
            if along == CROSSING:
                self._join(node, (x + dx, y + dx * down, "f" if down == 1 else "r"))
            elif along == (FALLING if down == 1 else RISING):
                self._join(node, (x + dx, y + dx * down, " "))
            else:
                self._join(node, (x + dx, y, " "))


def places_of(drawn):
    """Yield the place of each dim of a flow, by column and row, with the span of its words."""
    for span in drawn.spans:
        if place := getattr(span.style, "meta", {}).get("dim"):
            yield place, span


def columns_of(drawn):
    """Return where the dims of a flow stand: for each column, the line and the cells of each of its dims."""
    found = {}
    for (column, row), span in places_of(drawn):
        above, _, before = drawn.plain[: span.start].rpartition("\n")
        words = drawn.plain[span.start : span.end].rstrip()
        y = above.count("\n") + 1 if "\n" in drawn.plain[: span.start] else 0
        found.setdefault(column, {})[row] = (y, len(before), len(words), words)
    return found


def wires_read(drawn):
    """Yield, for each two neighbouring columns of a flow, which rows of the first each row of the second leads to."""
    rows, columns = drawn.plain.split("\n"), columns_of(drawn)
    for number in sorted(columns)[1:]:
        if number - 1 not in columns:
            continue
        before, after = columns[number - 1], columns[number]
        left = max(x + wide for _, x, wide, _ in before.values()) + 1
        right = min(x for _, x, _, _ in after.values()) - 1
        sources = {row: (left, y, _letters(words)) for row, (y, _, _, words) in before.items()}
        outs = {row: (right - 1, y) for row, (y, *_) in after.items()}
        yield number, Wires(rows, left, right).reached(sources, outs)


def _letters(words):
    """Return the letters of the axes that a dim is made of, from its words; of `a-d`, all between them."""
    mark = re.sub(r"[\d·]", "", words.split()[0]) if " " in words else ""
    return re.sub(r"(\w)-(\w)", lambda found: "".join(map(chr, range(ord(found[1]), ord(found[2]) + 1))), mark)


RULER = re.compile(r"^\s*(before|after)?\s*(\S+)\s+(\d+) (├[─┼]*┤|░+)$")


def rulers_of(plain):
    """Return the two sides of rulers: for each axis its size and the cells of its cuts, None if it is shaded."""
    sides = {"before": [], "after": []}
    now = None
    for row in plain.split("\n"):
        found = RULER.match(row)
        if found:
            now = found.group(1) or now
            left, line = found.start(4), found.group(4)
            cuts = None if "░" in line else [x - left for x, char in enumerate(row) if x >= left and char in "├┼┤"]
            sides[now].append((int(found.group(3)), cuts, len(line) - 1))
    return sides

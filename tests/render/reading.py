"""Parse pictures from their text: the dims that wires join, and the cuts of rulers."""

from __future__ import annotations

import re

from shapecalc.render.canvas import DOWN, LEFT, RIGHT, UNICODE, UP

DIRECTIONS = {char: index for index, char in enumerate(UNICODE.box_lines) if char != " "}
DIRECTIONS |= {
    UNICODE.junction: UP | DOWN | LEFT | RIGHT,
    UNICODE.copied_size_line: LEFT | RIGHT,
    UNICODE.pointer: LEFT | RIGHT,
}
STEPS = {UP: (0, -1, DOWN), DOWN: (0, 1, UP), LEFT: (-1, 0, RIGHT), RIGHT: (1, 0, LEFT)}
FALLING, RISING, CROSSING = UNICODE.falling_line, UNICODE.rising_line, UNICODE.crossing
CROSS = UNICODE.box_lines[UP | DOWN | LEFT | RIGHT]
TOKEN = re.compile(rf"(?<=[^ ]) ([-\d]\S*) (?=[{UNICODE.box_lines[12]}{UNICODE.copied_size_line}{UNICODE.pointer}])")
NAME = re.compile(r" ([A-Za-z~#]\S*) ")


class Wires:
    """The wires between two columns of dims, as sets of connected text cells.

    Wires that cross share no cell: each direction is a node of its own. A name interrupts its wire.
    """

    def __init__(self, rows, left, right):
        """Read the cells from `left` up to `right` of rows of text; a requested dim belongs to its wire."""
        self.cells, self.names = {}, []
        for y, row in enumerate(rows):
            part = row.ljust(right)[left:right]
            part = TOKEN.sub(lambda match: UNICODE.box_lines[12] * len(match.group()), f"|{part}")[1:]
            self.names += [(left + match.start() - 1, left + match.end(), y, match[1]) for match in NAME.finditer(part)]
            part = NAME.sub(lambda match: " " * len(match.group()), part)
            self.cells |= {(left + x, y): char for x, char in enumerate(part) if char != " "}
        self.owner = {}
        for cell, char in self.cells.items():
            for side in "fr" if char == CROSSING else "hv" if char == CROSS else " ":
                self.owner[*cell, side] = (*cell, side)
        for cell, char in self.cells.items():
            self._join_neighbours(cell, char)

    def sources_of(self, sources, outs):
        """Return the source rows that each output row is wired to, and check the names on the wires.

        Both map rows to cells; a source also has the letters of its axes.
        """
        at_left = {}
        for row, (x, y, _) in sources.items():
            at_left.setdefault(self.line_at(x, y), []).append(row)
        rows_by_out = {}
        for out, (x, y) in outs.items():
            line = self.line_at(x, y)
            rows = {*at_left.get(line, ())} if line else set()
            for start, end, at, name in self.names:
                if line and self.line_at(end, at) == line:
                    left_rows = at_left.get(self.line_at(start, at), [])
                    letters = "".join(sources[row][2] for row in left_rows)
                    assert {*re.sub(r"[-\d,·…]", "", name)} <= {*letters} or "…" in letters, name
                    rows |= {*left_rows}
            rows_by_out[out] = sorted(rows)
        return rows_by_out

    def line_at(self, x, y):
        """Return the wire of a cell, or None."""
        node = self._node((x, y), LEFT)
        return self._root(node) if node in self.owner else None

    def _node(self, cell, direction):
        """Return the node of a cell in a direction."""
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
        """Join a diagonal cell with its next cell, or with the horizontal wire at its end."""
        x, y, _ = node
        for dx in (-1, 1):
            along = self.cells.get((x + dx, y + dx * down), " ")
            if along == CROSSING:
                self._join(node, (x + dx, y + dx * down, "f" if down == 1 else "r"))
            elif along == (FALLING if down == 1 else RISING):
                self._join(node, (x + dx, y + dx * down, " "))
            else:
                self._join(node, (x + dx, y, " "))


def dim_spans(flow):
    """Yield the column and row of each dim of a flow, with the span of its text."""
    for span in flow.spans:
        if position := getattr(span.style, "meta", {}).get("dim"):
            yield position, span


def dim_cells(flow):
    """Return the position, width and text of each dim of a flow, by column and row."""
    cells = {}
    for (column, row), span in dim_spans(flow):
        above, _, before = flow.plain[: span.start].rpartition("\n")
        text = flow.plain[span.start : span.end].rstrip()
        y = above.count("\n") + 1 if "\n" in flow.plain[: span.start] else 0
        cells.setdefault(column, {})[row] = (y, len(before), len(text), text)
    return cells


def wire_sources(flow):
    """Yield each column of a flow with the rows of the previous column that its rows are wired to."""
    rows, columns = flow.plain.split("\n"), dim_cells(flow)
    for column in sorted(columns)[1:]:
        if column - 1 not in columns:
            continue
        before, after = columns[column - 1], columns[column]
        left = max(x + width for _, x, width, _ in before.values()) + 1
        right = min(x for _, x, _, _ in after.values()) - 1
        sources = {row: (left, y, _letters(words)) for row, (y, _, _, words) in before.items()}
        outs = {row: (right - 1, y) for row, (y, *_) in after.items()}
        yield column, Wires(rows, left, right).sources_of(sources, outs)


def _letters(words):
    """Return the axis letters in the text of a dim; expand ranges such as `a-d`."""
    mark = re.sub(r"[\d·]", "", words.split()[0]) if " " in words else ""
    return re.sub(r"(\w)-(\w)", lambda match: "".join(map(chr, range(ord(match[1]), ord(match[2]) + 1))), mark)


RULER = re.compile(r"^\s*(before|after)?\s*(\S+)\s+(\d+) (├[─┼]*┤|░+)$")


def parse_rulers(plain):
    """Return both sides of rulers: the size, the cut cells (None if shaded) and the length of each axis."""
    sides = {"before": [], "after": []}
    side = None
    for row in plain.split("\n"):
        match = RULER.match(row)
        if match:
            side = match.group(1) or side
            left, line = match.start(4), match.group(4)
            cuts = None if "░" in line else [x - left for x, char in enumerate(row) if x >= left and char in "├┼┤"]
            sides[side].append((int(match.group(3)), cuts, len(line) - 1))
    return sides


PIECES = re.compile(r"^ *(before|after)? *\S+ +(\d+) ├(?=[^┤]*\d)(─* ?[\d┼ …]+ ?─*)┤(?: (\d+) rows)?$")


def parse_pieces(plain):
    """Return both sides of cuts that are not to scale: the size, the row lengths and the row count of each axis."""
    sides = {"before": [], "after": []}
    side = None
    for row in plain.split("\n"):
        if match := PIECES.match(row):
            side = match[1] or side
            lengths = {int(number) for number in re.findall(r"\d+", match[3])}
            sides[side].append((int(match[2]), lengths, int(match[4] or 1)))
    return sides

"""Pictures read back from their text: what a wire joins, where a ruler is cut, how long a bar is, what a grid holds."""

from __future__ import annotations

import re

from shapecalc.view.canvas import DOWN, LEFT, RIGHT, UNICODE, UP

DIRECTIONS = {char: place for place, char in enumerate(UNICODE.lines) if char != " "}
DIRECTIONS |= {UNICODE.joint: UP | DOWN | LEFT | RIGHT, UNICODE.size: LEFT | RIGHT, UNICODE.arrow: LEFT | RIGHT}
STEPS = {UP: (0, -1, DOWN), DOWN: (0, 1, UP), LEFT: (-1, 0, RIGHT), RIGHT: (1, 0, LEFT)}
FALLING, RISING, CROSSING = UNICODE.falling, UNICODE.rising, UNICODE.crossing
TOKEN = re.compile(rf"(?<=[^ ]) (\S+) (?=[{UNICODE.lines[12]}{UNICODE.size}{UNICODE.arrow}])")


class Wires:
    """The lines between two columns of dims: which cells of the text belong to one line."""

    def __init__(self, rows, left, right):
        """Read the cells from `left` up to `right` of rows of text; what is written on a line belongs to it."""
        self.cells = {}
        for y, row in enumerate(rows):
            part = row.ljust(right)[left:right]
            part = TOKEN.sub(lambda found: UNICODE.lines[12] * len(found.group()), f"|{part}")[1:]
            self.cells |= {(left + x, y): char for x, char in enumerate(part) if char != " "}
        self.owner = {}
        for cell, char in self.cells.items():
            for side in "fr" if char == CROSSING else " ":
                self.owner[*cell, side] = (*cell, side)
        for cell, char in self.cells.items():
            self._join_neighbours(cell, char)

    def line_at(self, x, y):
        """Return the line that a cell belongs to; None if there is none."""
        return self._root((x, y, " ")) if (x, y, " ") in self.owner else None

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
                self._join((*cell, " "), (x + dx, y + dy, " "))

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


def columns_of(drawn):
    """Return where the dims of a flow stand: for each column, the line and the cells of each of its dims."""
    starts = [0]
    for row in drawn.plain.split("\n"):
        starts.append(starts[-1] + len(row) + 1)
    found = {}
    for span in drawn.spans:
        place = getattr(span.style, "meta", {}).get("dim")
        if place:
            y = next(y for y, start in enumerate(starts) if start > span.start) - 1
            words = drawn.plain[span.start : span.end].rstrip()
            found.setdefault(place[0], {})[place[1]] = (y, span.start - starts[y], len(words), words)
    return found


def joined(drawn):
    """Return for each two neighbouring columns of a flow which of their dims are joined: pairs of sets of rows."""
    rows, columns = drawn.plain.split("\n"), columns_of(drawn)
    for number in sorted(columns)[1:]:
        if number - 1 not in columns:
            continue
        before, after = columns[number - 1], columns[number]
        left = max(x + wide for _, x, wide, _ in before.values())
        right = min(x for _, x, _, _ in after.values())
        wires = Wires(rows, left + 1, right - 1)
        yield (
            number,
            _groups(
                wires,
                [(row, left + 1, y) for row, (y, *_) in before.items()],
                [(row, right - 2, y) for row, (y, *_) in after.items()],
            ),
        )


def _groups(wires, sources, outs):
    made = {}
    for side, ends in enumerate((sources, outs)):
        for row, x, y in ends:
            line = wires.line_at(x, y)
            if line is not None:
                made.setdefault(line, (set(), set()))[side].add(row)
    return sorted((sorted(a), sorted(b)) for a, b in made.values() if a)


def lanes_joined(plain):
    """Return which dims of lanes are joined, by the numbers at both sides."""
    rows = plain.split("\n")
    right = rows[0].index("dim out") if "dim out" in rows[0] else rows[0].index("in the vector")
    lines = [row for row in rows[1:] if re.match(r"\d| {3}", row)]
    sources = [(int(row.split()[0]), y) for y, row in enumerate(lines) if row[0] != " "]
    found = [re.match(r"(\d+)\b", row[right:]) for row in lines]
    outs = [(int(each.group()), y) for y, each in enumerate(found) if each]
    left = min((re.match(r"\d+ +\S+ +\S+", lines[y]).end() for _, y in sources), default=0) + 1
    wires = Wires([row[: right - 1] for row in lines], left, right - 1)
    return _groups(wires, [(row, left, y) for row, y in sources], [(row, right - 2, y) for row, y in outs])


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


BAR = re.compile(r"^(have|known|want|-1)\s+(.*?)\s*= +(\S+)(?:  ([█│▒ ]*)|$)")


def bars_of(plain):
    """Return for each bar its count as it is written, and the lengths of its runs by their character."""
    found = {}
    for row in plain.split("\n"):
        match = BAR.match(row)
        if match:
            drawn = (match.group(4) or "").replace(" ", "")
            found[match.group(1)] = match.group(3), [(run[0], len(run)) for run in re.findall(r"█+|▒+", drawn)]
    return found


def tables_of(plain):
    """Return each table of a grid: its title, its column numbers, its rows with their indices, and its notes."""
    rows = [row for row in plain.split("\n") if not row.startswith("-1 = ")]
    starts = [0, *(found.end() for found in re.finditer(r" {4,}", rows[0]))]
    for start, end in zip(starts, [*starts[1:], None], strict=True):
        part = [row[start:end].rstrip() for row in rows]
        yield part[0], part[2:]

"""Origins: which input axes each dim of an answer comes from.

Wires, sentences, code and `--json` are made from them. An origin is a list of atoms, the outermost first. Their sizes
multiply to the dim, and the index on the dim is the mixed radix of their digits. For an axis that no dim mixes, the
position is (start + the sum of stride * digit over all atoms that name it) mod its size. For an axis that some dim
mixes, an atom states that its digit is floor((position - start) / stride) mod its size.

A mixed dim steps through a flat index, `size` times, `stride` apart, across the axes that the flat index covers. The
dim depends on one of these axes if the axis' digit changes along the dim: see `_OriginAnalysis._digit_changes`.

A reshape keeps the elements in order. If the running products of the dims on both sides agree, the cuts of the old and
of the new shape line up there, and the axes between two such cuts form a group. They mix if a new cut falls across the
old ones: then a new axis is not made of whole factors of old axes.
"""

from __future__ import annotations

from array import array
from functools import lru_cache
from itertools import chain
from math import gcd, prod

from shapecalc.core import dims, layout
from shapecalc.core.conditions import Conditions, Known, Never, Undecided, equal
from shapecalc.core.dims import Dim, Shape, Sum
from shapecalc.core.moves import Combine, Expand, Move, Pick, Place, Reshape, Take
from shapecalc.core.record import Record, fields, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any, TypeAlias

MOST_TRIED = 1 << 16
"""The most elements whose positions are enumerated to find the axes of a dim."""

MOST_COMPARED = 64
"""The most axes that are compared with a mixed dim; of more, all are reported."""

MOST_RESIDUES = 1 << 20
"""The most residues of a flat index that are marked one by one."""

MOST_LISTED = 12
"""The most axes that a sentence lists one by one."""

INPUT: layout.Level = ((), ())
"""The index space of atoms that step through the input itself."""


class AxisAtom(Record):
    """A digit of an input axis: `size` positions that are `stride` apart."""

    axis: int
    size: Dim
    stride: Dim
    start: Sum = ()
    """The terms of the position at which the axis is read first.

    It is the same in all atoms of an axis.
    """
    operand: int = 0
    """The operand that owns the axis: 0 is the input, the others count from 1."""

    def as_json(self) -> dict[str, object]:
        """Return the atom as the JSON object that the manual documents."""
        result = {"axis": self.axis, "size": dims.plain(self.size), "stride": dims.plain(self.stride)}
        result |= {"start": dims.plain_sum(self.start)} if self.start else {}
        return result | ({"operand": self.operand} if self.operand else {})


class Repeats(Record):
    """A digit that reads the same elements again, `size` times."""

    size: Dim

    def as_json(self) -> dict[str, object]:
        """Return the atom as the JSON object that the manual documents."""
        return {"repeats": dims.plain(self.size)}


class Mixes(Record):
    """A whole dim that depends on these axes in a way that no other atom describes."""

    axes: tuple[int, ...]
    exact: bool = True
    """Whether the positions certainly change on all of the axes."""

    def as_json(self) -> dict[str, object]:
        """Return the atom as the JSON object that the manual documents."""
        return {"mixes": [*self.axes]} | ({} if self.exact else {"exact": False})


class Reads(Record):
    """A whole dim whose elements are computed from, or depend on, axes of operands."""

    places: tuple[Place, ...]

    def as_json(self) -> dict[str, object]:
        """Return the atom as the JSON object that the manual documents."""
        return {"reads": [{"operand": operand, "axis": axis} for operand, axis in self.places]}


class Joins(Record):
    """A whole dim that concatenates dims of operands."""

    parts: tuple[Origin, ...]

    def as_json(self) -> dict[str, object]:
        """Return the atom as the JSON object that the manual documents."""
        return {"joins": [[atom.as_json() for atom in part] for part in self.parts]}


Atom: TypeAlias = AxisAtom | Repeats | Mixes | Reads | Joins
Origin: TypeAlias = tuple[Atom, ...]
"""The atoms of one dim, the outermost first; empty for a new dim of 1."""
Origins = tuple[Origin | None, ...]
"""The origin of each dim; None for a dim that contains nothing of the input."""


VERBS = ("stays", "splits into"), ("merge into", "split and merge into")
"""The verbs of groups, by several input axes and by several output axes."""


class Group(Record):
    """Input axes, and the output axes that come from them."""

    sources: tuple[int, ...]
    outs: tuple[int, ...]
    mixes: bool = False
    """Whether an output axis is not made of whole factors of input axes."""
    part: bool = False
    """Whether the output axes are only a part of the input axes; the rest is mixed."""

    @property
    def verb(self) -> str:
        """The verb that describes the change of the axes."""
        if self.part:
            return "become"
        if not self.sources or not self.outs:
            return "is new" if self.outs else "is dropped"
        several = len(self.sources) > 1, len(self.outs) > 1
        return "mix into" if self.mixes and any(several) else VERBS[several[0]][several[1]]


@lru_cache(maxsize=64)
def origins(moves: layout.Moves, conditions: Conditions, carried: tuple[tuple[int, int], ...]) -> Origins:
    """Return the origin of each output dim, for all sizes that meet the conditions.

    `unit_axes` pairs output dims of 1 with input axes of 1, for dims without another origin. Results are cached,
    because a picture, its sentences and its JSON request the same ones.

    >>> origins(layout.Moves((2, 6), (Reshape((4, 3)),)), (), ())[0]
    (AxisAtom(axis=0, size=2, stride=1, start=(), operand=0), AxisAtom(axis=1, size=2, stride=3, start=(), operand=0))
    """
    known, ones = Known(moves.dims, conditions), dict(carried)
    if known.settled:
        moves = moves.rewritten(known.settled)
    try:
        result = list(_of_empty(moves, known) if 0 in moves.dims else _Reading(moves, known).origins())
    except Undecided:
        all_axes = Mixes(tuple([axis for axis, dim in enumerate(moves.input) if dim != 1]), exact=False)
        result = [(all_axes,) if dim != 1 else () for dim in moves.output]
    for out, dim in enumerate(moves.output):
        if not result[out] and out in ones:
            result[out] = (AxisAtom(ones[out], dim, 1),)
        elif dim == 0:
            result[out] = _of_none(result[out] or ())
    return tuple(result)


def _of_none(found: Origin) -> Origin:
    """Return the origin of a dim of 0, with a size of 0 in one of its atoms."""
    sized = [atom for atom in found if isinstance(atom, (AxisAtom, Repeats))]
    if len(sized) < len(found) or any(atom.size == 0 for atom in sized):
        return found
    first, *rest = sized or [Repeats(0)]
    return (replace(first, size=0), *rest)


def origins_json(found: Origins | None) -> object:
    """Return origins as the JSON that the manual documents."""
    return found and [None if dim is None else [atom.as_json() for atom in dim] for dim in found]


def _of_empty(moves: layout.Moves, known: Known) -> tuple[Origin, ...]:
    """Return the origins of an empty tensor: those of named sizes, set to 0 again."""
    shape = input_shape = layout.without_zeros(moves.input)
    named_moves = list[Move]()
    for move in moves.moves:
        if isinstance(move, Reshape):
            move = Reshape(layout.without_zeros(move.shape, dims.product(shape)))
        elif isinstance(move, Expand):
            move = Expand(layout.without_zeros(move.shape))
        elif isinstance(move, Pick):
            rows = zip(move.starts, move.steps, move.sizes, shape, strict=True)
            ranges = [(0, 1, dim) if size == 0 else (start, step, size) for start, step, size, dim in rows]
            move = Pick(*zip(*ranges, strict=True))
        elif isinstance(move, Take) and not move.places:
            continue
        named_moves.append(move)
        shape = move.after(shape)
    result = _Reading(layout.Moves(input_shape, tuple(named_moves)), known).origins()
    return tuple([tuple([_emptied(atom) for atom in origin]) for origin in result])


def _emptied(atom: Atom) -> Atom:
    """Substitute 0 for the name that replaced it in an atom."""
    if not isinstance(atom, (AxisAtom, Repeats)):
        return atom
    start = {} if isinstance(atom, Repeats) else {"start": dims.total(map(_emptied_dim, atom.start))}
    sizes = {name: _emptied_dim(size) for name, size in fields(atom).items() if name in ("size", "stride")}
    return replace(atom, **sizes, **start)


def _emptied_dim(dim: Dim) -> Dim:
    """Substitute 0 for the name that replaced it; a quotient by that name becomes 0."""
    try:
        return dims.substitute(dim, {layout.EMPTY: 0})
    except ZeroDivisionError:
        return 0


def places_of(origin: Origin | None) -> list[Place]:
    """Return the operands and axes that a dim depends on.

    >>> places_of((AxisAtom(1, 2, 1), AxisAtom(0, 3, 1, (), 2)))
    [(0, 1), (2, 0)]
    """
    result = list[Place]()
    for atom in origin or ():
        match atom:
            case AxisAtom():
                result.append((atom.operand, atom.axis))
            case Mixes():
                result += [(0, axis) for axis in atom.axes]
            case Reads():
                result += atom.places
            case Joins():
                result += [pair for part in atom.parts for pair in places_of(part)]
    return result


def axes_read(origin: Origin | None) -> tuple[int, ...]:
    """Return the input axes that a dim depends on, in order.

    >>> axes_read((AxisAtom(2, 3, 1), AxisAtom(0, 2, 1))), axes_read((Mixes((0, 1)),)), axes_read((Repeats(2),))
    ((0, 2), (0, 1), ())
    """
    return tuple(sorted({axis for operand, axis in places_of(origin) if operand == 0}))


def linked(rank: int, wires: Sequence[tuple[int, ...]], mixed: Collection[int] = ()) -> tuple[Group, ...]:
    """Group input axes with the dims that depend on them, as connected components.

    `dependencies` are the axes that each dim depends on, and `mixed` the dims that mix them. Groups are sorted by input
    axes.

    >>> [(group.sources, group.outs) for group in linked(3, [(0, 1), (1,), (), (2,)])]
    [((0, 1), (0, 1)), ((), (2,)), ((2,), (3,))]
    """
    set_of_axis = dict[int, tuple[set[int], set[int]]]()
    sets = list[tuple[set[int], set[int]]]()
    for out, axes in enumerate(wires):
        others = [*{id(set_of_axis[axis]): set_of_axis[axis] for axis in axes if axis in set_of_axis}.values()]
        merged = others.pop() if others else (set[int](), set[int]())
        sets += [merged] if not merged[1] else []
        merged[0].update(axes, *[other[0] for other in others])
        merged[1].update([out], *[other[1] for other in others])
        set_of_axis |= dict.fromkeys(merged[0] if others else axes, merged)
        for other in others:
            other[1].clear()
    groups = [
        Group(tuple(sorted(axes)), tuple(sorted(outs)), not outs.isdisjoint(mixed)) for axes, outs in sets if outs
    ]
    groups += [Group((axis,), ()) for axis in range(rank) if axis not in set_of_axis]
    inserted = {out: max([-1, *chain(*wires[:out])]) for out, axes in enumerate(wires) if not axes}
    return tuple(sorted(groups, key=lambda group: (group.sources or (inserted[group.outs[0]], rank), group.outs)))


def told(links: Iterable[Group], wires: Sequence[tuple[int, ...]], mixed: Collection[int]) -> Iterator[Group]:
    """Split each mixed group by the axes that its dims depend on.

    Groups that do not mix are yielded unchanged.

    >>> wires = [(0, 1), (0, 1), (1,)]
    >>> [(each.sources, each.outs, each.verb) for each in told(linked(2, wires, [0, 1]), wires, [0, 1])]
    [((0, 1), (0, 1), 'mix into'), ((1,), (2,), 'become')]
    """
    for link in links:
        if not link.mixes:
            yield link
            continue
        outs_by_axes: dict[tuple[tuple[int, ...], bool], list[int]] = {}
        for out in link.outs:
            outs_by_axes.setdefault((wires[out], out in mixed), []).append(out)
        yield from [Group(axes, tuple(outs), mixes, part=not mixes) for (axes, mixes), outs in outs_by_axes.items()]


def regrouping(before: Shape, after: Shape) -> str:
    """Return a sentence on which axes merge, split, mix, are new or are dropped.

    >>> regrouping((2, 3, 4), (2, 12))
    'axis 0 stays; axes 1,2 merge into axis 1'
    >>> regrouping((2, 8), (4, 4)), regrouping((3, 4), (2, 3, 2))
    ('axes 0,1 split and merge into axes 0,1', 'axes 0,1 mix into axes 0,1; a part of axis 1 becomes axis 2')
    """
    if before == after:
        return "the shape stays the same"
    origin_of_dim = reshaped(before, after)
    wires, mixed = [axes_read(origin) for origin in origin_of_dim], mixing(origin_of_dim)
    return "; ".join([_sentence(group) for group in told(linked(len(before), wires, mixed), wires, mixed)])


def reshaped(before: Shape, after: Shape) -> Origins:
    """Return the origins of a reshape, for the names that make both volumes equal."""
    try:
        conditions = equal(dims.product(before), dims.product(after))
    except Never:
        conditions = ()
    return origins(layout.Moves(before, (Reshape(after),)), conditions, layout.carried_ones(before, after))


def mixing(found: Origins) -> frozenset[int]:
    """Return the dims that mix axes."""
    return frozenset([out for out, origin in enumerate(found) if origin and isinstance(origin[0], Mixes)])


def _sentence(group: Group) -> str:
    """Describe one group; output axes are named only if they differ from input axes."""
    if group.part:
        one = f"a part of {_axes(group.sources)}" if len(group.sources) == 1 else f"parts of {_axes(group.sources)}"
        return f"{one} {'becomes' if len(group.sources) == 1 else 'become'} {_axes(group.outs)}"
    if not group.sources or not group.outs or (group.verb == "stays" and group.sources == group.outs):
        axes = group.sources or group.outs
        prefix = "" if group.sources else "output "
        return f"{prefix}{_axes(axes)} {group.verb if len(axes) == 1 else group.verb.replace('is ', 'are ')}"
    verb = "becomes" if group.verb == "stays" else group.verb
    return f"{_axes(group.sources)} {verb} {_axes(group.outs)}"


def _axes(axes: tuple[int, ...]) -> str:
    if len(axes) > MOST_LISTED:
        return f"axes {axes[0]} to {axes[-1]}"
    return f"axis {axes[0]}" if len(axes) == 1 else f"axes {','.join(map(str, axes))}"


class _Digit(Record):
    """A digit of a flat index, and the axes whose positions change with it."""

    size: Dim
    stride: Dim
    axes: set[int]
    exact: bool = True
    """Whether the positions certainly change on all of the axes."""


class _Reach(Record):
    """The positions of a flat index that are read: an offset plus every sum of steps."""

    offset: Sum
    steps: layout.Atoms
    """The steps, all of them with positive strides."""
    exact: bool = True
    """Whether all of these positions are read, or possibly only some of them."""

    @property
    def numbers(self) -> tuple[int, list[tuple[int, int]]] | None:
        """The offset with the sizes and strides of the steps; None if one is symbolic."""
        steps: list[Any] = [(step.size, step.stride) for step in self.steps]
        offset: Any = self.offset
        return (sum(offset), steps) if dims.all_known([*offset, *chain(*steps)]) else None

    @property
    def extent(self) -> int:
        """The distance between the first and the last position; 0 if a size is symbolic."""
        numbers = self.numbers
        return sum([(size - 1) * stride for size, stride in numbers[1]]) if numbers else 0

    def is_full(self, sizes: Iterable[Dim]) -> bool:
        """Return whether every position of a flat index of these sizes is read."""
        return self.exact and dims.product([step.size for step in self.steps]) == dims.product(sizes)

    def through(self, atom: layout.Atom) -> _Reach | None:
        """Map the positions through an atom; None if they may exceed the atom."""
        if layout.is_table((atom,)) or layout.is_backwards(atom):
            return None
        if not self.exact or any(map(dims.is_negative, self.offset[:1])):
            return None
        if self.steps:
            if self.numbers is None or not isinstance(atom.size, int):
                return None
            if self.numbers[0] + self.extent >= atom.size:
                return None
        steps_of_atom = [layout.Atom(step.size, dims.product((atom.stride, step.stride))) for step in self.steps]
        return _Reach(tuple([dims.product((atom.stride, term)) for term in self.offset]), tuple(steps_of_atom))

    def without(self, stride: Dim) -> _Reach:
        """Return the positions that are read without the steps of one stride."""
        return _Reach(self.offset, tuple([step for step in self.steps if step.stride != stride]), self.exact)


class _Tried:
    """The positions of all elements of a numeric tensor on each input axis."""

    def __init__(self, moves: layout.Moves) -> None:
        self.output = dims.numbers(moves.output)
        shape = dims.numbers(moves.input)
        flat = layout.positions(moves, array("q", range(prod(shape))))
        self.places = [
            array("q", [index // prod(shape[axis + 1 :]) % size for index in flat]) for axis, size in enumerate(shape)
        ]

    def changing(self, out: int) -> set[int]:
        """Return the axes whose positions change along an output dim."""
        size, inner = self.output[out], prod(self.output[out + 1 :])
        return {axis for axis, places in enumerate(self.places) if _changes(places, size, inner)}

    def says(self, out: int, below: Dim, atom: AxisAtom, start: Sum) -> bool:
        """Return whether the positions determine the digit of an atom of a dim.

        `inner_size` is the product of the sizes of the dim's inner atoms.
        """
        within, size, stride, first = dims.numbers((below, atom.size, atom.stride, *(start or (0,))))
        dim, inner = self.output[out], prod(self.output[out + 1 :])
        positions = enumerate(self.places[atom.axis])
        return all((at - first) // stride % size == index // inner % dim // within % size for index, at in positions)


def _changes(places: array[int], size: int, inner: int) -> bool:
    """Return whether positions change along a dim of `size` with stride `inner`."""
    for start in range(0, len(places), size * inner):
        first = places[start : start + inner]
        if any(places[start + i * inner : start + (i + 1) * inner] != first for i in range(1, size)):
            return True
    return False


class _Reading:
    """An analysis of the elements that each output dim of a chain reads."""

    def __init__(self, moves: layout.Moves, known: Known) -> None:
        self.moves, self.known = moves, known
        self.view = layout.view_through(moves.input, moves.moves, known)
        self.shape, self.strides = moves.input, layout.contiguous_strides(moves.input)
        self.axes = [axis for axis, dim in enumerate(self.shape) if dim != 1]
        self.place_of = {self.strides[axis]: index for index, axis in enumerate(self.axes)}
        pairs = zip(moves.moves, moves.shapes, strict=False)
        picks = [zip(move.axes, shape, strict=True) for move, shape in pairs if type(move) is Pick]
        self.picked = {(size, abs(step), dim) for pick in picks for (_, step, size), dim in pick}
        """Size, step and dim of each slice, which ends within the dim by definition."""
        self.known_digits: dict[layout.Atom, list[AxisAtom]] = {}
        self.steps: dict[layout.Level, list[layout.Atom]] = {}
        for atom in [atom for axis in self.view.axes for atom in axis if atom.stride != 0]:
            self.steps.setdefault(atom.level, []).append(atom)
        self.levels_on: dict[layout.Level, list[layout.Level]] = {}
        """For each index space, the spaces whose base atoms step through it."""
        for space in {*layout.levels_of(self.view), *self.view.fixed}:
            for inner in {atom.level: None for atom in space[0] if atom.stride != 0}:
                self.levels_on.setdefault(inner, []).append(space)
        self.reaches: dict[layout.Level, _Reach] = {}
        self.unknown = set[layout.Level]()
        """Symbolic index spaces whose start is unknown."""
        self.offsets = self._offsets()
        self.rolled = {space: axis for space in self.levels_on.get(INPUT, ()) for axis in self._whole_axis(space)}
        self.passed, self.unclear = self._passed(), self._unclear()
        self.digits_of: dict[layout.Atoms, list[_Digit]] = {}
        digits = [digit for step in self._reach(INPUT).steps for digit in self._digits_of_input(step)]
        self.whole = {digit.axis for digit in digits if digit.size == self.shape[digit.axis]}
        self._tried: _Tried | None = None

    def origins(self) -> tuple[Origin, ...]:
        """Return the origin of each dim; a dim whose digits cannot be proved mixes."""
        candidates = map(self._read, self.view.axes)
        result = [self._mixed(out) if origin is None else origin for out, origin in enumerate(candidates)]
        while True:
            starts = self._starts(result)
            wrong = self._misread(result, starts)
            if not wrong:
                return tuple([self._finished(origin, starts) for origin in result])
            for out in wrong:
                result[out] = self._mixed(out)

    def _read(self, atoms: layout.Atoms) -> Origin | None:
        """Return the origin of a dim of these atoms, without starts; None if it mixes."""
        result = list[AxisAtom | Repeats | Mixes]()
        for atom in atoms:
            digits = [Repeats(atom.size)] if atom.stride == 0 else self._digits(atom)
            if not digits:
                return None
            result += digits
        return tuple(result)

    def _digits(self, atom: layout.Atom) -> Sequence[AxisAtom]:
        """Return the axis digits that an atom equals; empty if it equals none."""
        forward = _forward(atom)
        if atom.level in self.rolled:
            digits = [AxisAtom(self.rolled[atom.level], forward.size, forward.stride)]
        else:
            digits = [] if atom.base else self._digits_of_input(forward)
        if layout.is_backwards(atom):
            return [AxisAtom(digit.axis, digit.size, dims.product((-1, digit.stride))) for digit in digits]
        return digits

    def _digits_of_input(self, atom: layout.Atom) -> list[AxisAtom]:
        """Return the axis digits of a forward step through the input; empty if none."""
        digits = self.known_digits.get(atom)
        if digits is None:
            digits = self.known_digits[atom] = self._found_digits(atom.size, atom.stride)
        return digits

    def _found_digits(self, size: Dim, stride: Dim) -> list[AxisAtom]:
        digits = list[AxisAtom]()
        for axis in self._axes_from(stride):
            dim, step = self.shape[axis], dims.quotient(stride, self.strides[axis])
            is_sliced = (size, step, dim) in self.picked
            if not is_sliced and not (self.known.is_whole(step) and self._is_within(step, dim)):
                continue
            if is_sliced or self._ends_within(size, step, dim):
                return [*digits, AxisAtom(axis, size, step)][::-1]
            count = dims.quotient(dim, step)
            if not self.known.is_whole(count) or not self.known.divides(count, size):
                break
            digits.append(AxisAtom(axis, count, step))
            size, stride = dims.quotient(size, count), dims.product((self.strides[axis], dim))
        return []

    def _axes_from(self, stride: Dim) -> list[int]:
        """Return the axes that steps of a stride may lie on, the innermost first.

        If the stride is that of an axis, the innermost candidate is this axis.
        """
        index = self.place_of.get(stride)
        if index is None:
            return self.axes[::-1] if len(self.axes) <= MOST_COMPARED else []
        return self.axes[index::-1]

    def _is_within(self, step: Dim, dim: Dim) -> bool:
        """Return whether a step is certainly shorter than an axis of `dim`."""
        if isinstance(step, int) and isinstance(dim, int):
            return step < dim
        return step != dim and self.known.divides(step, dim)

    def _ends_within(self, size: Dim, step: Dim, dim: Dim) -> bool:
        """Return whether `size` steps certainly end on an axis of `dim`."""
        if isinstance(size, int) and isinstance(step, int) and isinstance(dim, int):
            return (size - 1) * step < dim
        return self.known.divides(dims.product((size, step)), dim)

    def _whole_axis(self, level: layout.Level) -> list[int]:
        """Return the single axis whose positions an index space rotates; else none."""
        base = layout.merge(level[0])
        index = self.place_of.get(base[0].stride) if len(base) == 1 and not base[0].base else None
        axes = [] if index is None else [self.axes[index]]
        return [axis for axis in axes if base[0].size == self.shape[axis] and self._reach(level).exact]

    def _offsets(self) -> dict[int, Sum]:
        """Return the first position that is read on each axis.

        A negative one counts from the end of the axis.
        """
        offsets, remaining = dict[int, Sum](), self._reach(INPUT).offset if self.levels_on else self.view.offset
        for axis in reversed(self.axes):
            if not remaining:
                break
            turn = dims.product((self.strides[axis], self.shape[axis]))
            terms = dims.total([self._rest(term, turn) for term in remaining])
            borrowed = [turn] if terms and all(map(dims.is_negative, terms)) else []
            remaining = dims.total([*remaining, *[dims.product((-1, term)) for term in (*terms, *borrowed)]])
            offsets[axis] = tuple([dims.quotient(term, self.strides[axis]) for term in terms])
        return offsets

    def _rest(self, term: Dim, turn: Dim) -> Dim:
        """Return a term modulo the extent `turn` of an axis in the flat index."""
        if isinstance(term, int) and isinstance(turn, int):
            return term % turn
        return 0 if self.known.divides(turn, term) else term

    def _starts(self, found: Iterable[Origin]) -> dict[int, Sum]:
        """Return the start offset of each axis that is not read from 0.

        It is the position at which all digits of these origins are 0.
        """
        starts = self.offsets | {axis: self._reach(level).offset for level, axis in self.rolled.items()}
        for atom in [atom for origin in found for atom in origin if isinstance(atom, AxisAtom)]:
            if dims.is_negative(atom.stride):
                end = dims.product((-1, atom.size, atom.stride))
                is_full = not isinstance(end, int) and end == self.shape[atom.axis]
                starts[atom.axis] = dims.total((*starts.get(atom.axis, ()), 0 if is_full else end, atom.stride))
        return starts

    def _passed(self) -> set[int]:
        """Return the axes whose end is exceeded by steps on them or by carries."""
        unknown = [atom for base, _ in self.unknown for atom in base if atom.stride != 0]
        result = {digit.axis for atom in unknown for digit in self._digits(atom)}
        steps_on_axis: dict[int, list[layout.Atom]] = {}
        for step in self._reach(INPUT).steps:
            for digit in self._digits_of_input(step):
                steps_on_axis.setdefault(digit.axis, []).append(layout.Atom(digit.size, digit.stride))
        carry = 0
        for axis in reversed(self.axes) if steps_on_axis else ():
            reach, dim = _Reach(self.offsets.get(axis, ()), tuple(steps_on_axis.get(axis, ()))), self.shape[axis]
            if reach.numbers is None or not isinstance(dim, int):
                carry = 0
                continue
            is_over = reach.numbers[0] % dim + reach.extent + carry >= dim
            if is_over or (carry and reach.steps):
                result.add(axis)
            carry = int(is_over)
        return result

    def _unclear(self) -> set[int]:
        """Return the axes whose index is not a mixed-radix digit of any output dim."""
        if len(self.axes) > MOST_COMPARED or not self.levels_on:
            return set()
        mixing = [step for step in self._reach(INPUT).steps if not self._digits_of_input(step)]
        turns = {axis: dims.product((self.shape[axis], self.strides[axis])) for axis in (self.axes if mixing else ())}
        return {axis for axis, turn in turns.items() for step in mixing if not self.known.divides(turn, step.stride)}

    def _reach(self, level: layout.Level) -> _Reach:
        """Return the positions that are read of an index space."""
        if level not in self.reaches:
            base, start = level
            offset = [*(start if base else self.view.offset)]
            steps, exact = list[layout.Atom](), True
            for atom in self.steps.get(level, ()):
                steps += self._parted(atom)
            for above in self.levels_on.get(level, ()):
                reach = self._reach(above)
                is_full = reach.is_full([atom.size for atom in above[0]])
                mapped = reach.through(above[0][0]) if len(above[0]) == 1 and not is_full else None
                if mapped:
                    offset += mapped.offset
                    steps += mapped.steps
                else:
                    steps += [_forward(atom) for atom in above[0] if atom.level == level and atom.stride != 0]
                    exact &= is_full
                    self.unknown |= set() if is_full or dims.all_known(self.moves.dims) else {above}
            self.reaches[level] = _Reach(dims.total(offset), tuple(steps), exact)
        return self.reaches[level]

    def _parted(self, atom: layout.Atom) -> layout.Atoms:
        """Split an atom of the input into one forward atom per axis."""
        forward, parts = _forward(atom), list[layout.Atom]()
        for digit in () if atom.base else self._digits_of_input(forward):
            parts.append(layout.Atom(digit.size, dims.product((digit.stride, self.strides[digit.axis]))))
            self.known_digits[parts[-1]] = [digit]
        return tuple(parts) or (forward,)

    def _misread(self, found: Sequence[Origin], starts: Mapping[int, Sum]) -> set[int]:
        """Return the dims of which an atom is wrong, given the axes that are now mixed."""
        mixed = {axis for origin in found for atom in origin if isinstance(atom, Mixes) for axis in atom.axes}
        wrong = set[int]()
        for out, origin in enumerate(found):
            inside: Dim = 1
            for atom in origin[::-1]:
                if not isinstance(atom, (AxisAtom, Repeats)):
                    continue
                if isinstance(atom, AxisAtom) and atom.axis in mixed | self.passed:
                    start = starts.get(atom.axis, ())
                    if atom.axis in self.passed or not self._tells_digit(out, inside, atom, start):
                        wrong.add(out)
                inside = dims.product((inside, atom.size))
        return wrong

    def _tells_digit(self, out: int, inside: Dim, atom: AxisAtom, start: Sum) -> bool:
        """Return whether positions on an axis determine an atom's digit of dim `out`.

        `inner_size` is the product of the sizes of the dim's inner atoms.
        """
        if dims.is_negative(atom.stride):
            return False
        if self._is_digit(atom, start):
            return True
        table = self._all_tried()
        return table is not None and table.says(out, inside, atom, start)

    def _is_digit(self, atom: AxisAtom, start: Sum) -> bool:
        """Return whether an axis digit is a digit of the flat index of its own.

        No other step may change it.
        """
        reach, axis_stride = self._reach(INPUT), self.strides[atom.axis]
        stride = dims.product((atom.stride, axis_stride))
        if not reach.exact or not self.known.divides(dims.product((atom.size, atom.stride)), self.shape[atom.axis]):
            return False
        offset = dims.total([*reach.offset, *[dims.product((-1, axis_stride, term)) for term in start]])
        others = _Reach(offset, reach.without(stride).steps)
        turn = dims.product((atom.size, stride))
        numbers = others.numbers if isinstance(turn, int) else None
        aligned = all(self.known.divides(turn, term) for term in offset)
        if not aligned and (numbers is None or numbers[0] % turn >= stride):  # type: ignore[operator]  # all are numbers
            return False
        aligned &= numbers is None or reach.is_full(self.shape)
        return all(
            self._changes(step, others.without(step.stride), atom.size, stride, aligned=aligned) is False
            for step in others.steps
        )

    def _mixed(self, out: int) -> Origin:
        """Return the origin of a mixed dim: the axes that change along it."""
        if len(self.axes) > MOST_COMPARED:
            return (Mixes(tuple([axis for axis in self.axes if axis not in self.whole]), exact=False),)
        results = [self._changing(atom) for atom in self.view.axes[out] if atom.stride != 0]
        axes, exact = {axis for changing, _ in results for axis in changing}, all(exact for _, exact in results)
        if not exact and (positions := self._all_tried()):
            tables = [atom.base[0] for atom in self.view.axes[out] if layout.is_table(atom.base)]
            table_axes = {axis for table in tables for digit in self._digits_of_table(table) for axis in digit.axes}
            # A table may read a single position of an axis: the axis does not change, and no start has the position.
            axes = positions.changing(out) | table_axes
            exact = axes == positions.changing(out)
        return (Mixes(tuple(sorted(axes)), exact) if axes else Repeats(self.moves.output[out]),)

    def _changing(self, atom: layout.Atom) -> tuple[set[int], bool]:
        """Return the axes that may change along an atom, and whether they certainly do."""
        if layout.is_table(atom.base):
            digits = self._digits_of_table(atom.base[0])
            is_single = len(digits) == len(atom.base[0].base) == 1 and digits[0].exact
            return {axis for digit in digits for axis in digit.axes}, is_single and atom.size == atom.base[0].size
        reach = self._reach(atom.level)
        if len(atom.base) == 1 and reach.through(atom.base[0]):
            (base,) = atom.base
            return self._changing(layout.Atom(atom.size, dims.product((atom.stride, base.stride)), *base.level))
        aligned = not reach.offset and reach.is_full([inner.size for inner in atom.base] if atom.base else self.shape)
        axes, exact = set[int](), True
        for steps in self._parted(atom):
            others = reach.without(steps.stride)
            for digit in self._digits_read(atom.base):
                changes = self._changes(steps, others, digit.size, digit.stride, aligned=aligned)
                if changes is not False:
                    axes |= digit.axes
                    exact &= changes is True and reach.exact and digit.exact
        return axes, exact

    def _digits_of_table(self, table: layout.Atom) -> list[_Digit]:
        """Return the digits that a take selects by a table."""
        return [digit for step in table.base for digit in self._digits_of_atom(step)]

    def _changes(self, along: layout.Atom, others: _Reach, size: Dim, stride: Dim, *, aligned: bool) -> bool | None:
        """Return whether a digit of a flat index changes along steps; None if unknown.

        The answer holds for all positions of the other steps. They are `aligned` if all positions are read, or if the
        extents of digits and the strides of steps divide each other.
        """
        divides = self.known.divides
        if divides(dims.product((size, stride)), along.stride):
            return False
        if aligned:
            return not divides(dims.product((along.size, along.stride)), stride)
        if others.numbers is None or not dims.all_known((along.size, along.stride, size, stride)):
            return None
        count, step, count_of_digit, turn = dims.numbers((along.size, along.stride, size, stride))
        return changes_along(count, step, count_of_digit, turn, *others.numbers)

    def _digits_read(self, base: layout.Atoms) -> list[_Digit]:
        """Return the digits of the flat index of a base, or of the input."""
        if not base:
            return [_Digit(self.shape[axis], self.strides[axis], {axis}) for axis in self.axes]
        if base not in self.digits_of:
            digits = list[_Digit]()
            stride: Dim = 1
            for atom in reversed(base):
                for digit in self._digits_of_atom(atom):
                    digits.append(_Digit(digit.size, dims.product((stride, digit.stride)), digit.axes, digit.exact))
                stride = dims.product((stride, atom.size))
            self.digits_of[base] = digits
        return self.digits_of[base]

    def _digits_of_atom(self, atom: layout.Atom) -> list[_Digit]:
        """Return the digits of a base's atom, the innermost first; a mixed atom is one."""
        if atom.stride == 0:
            return []
        digits = self._digits(atom)
        if digits and all(map(self._is_clear, digits)):
            sizes = [digit.size for digit in digits]
            return [_Digit(digit.size, dims.product(sizes[i + 1 :]), {digit.axis}) for i, digit in enumerate(digits)]
        axes, _ = self._changing(atom)
        return [_Digit(atom.size, 1, axes, exact=len(axes) == 1)]

    def _is_clear(self, digit: AxisAtom) -> bool:
        """Return whether the axis of a digit, and no other, changes with the digit."""
        if digit.axis in self.passed:
            return False
        if digit.axis not in self.unclear:
            return True
        reach, size = self._reach(INPUT), dims.product((digit.size, digit.stride))
        return not reach.offset and reach.is_full(self.shape) and self.known.divides(size, self.shape[digit.axis])

    def _all_tried(self) -> _Tried | None:
        """Return the positions of all elements; None if too many or symbolic."""
        shapes = self.moves.shapes
        steps = zip(shapes, self.moves.moves, shapes[1:], strict=False)
        fits = all(dims.product(old) == dims.product(new) for old, move, new in steps if isinstance(move, Reshape))
        if self._tried is None and fits and dims.all_known(self.moves.dims):
            largest = max([prod(dims.numbers(shape)) for shape in self.moves.shapes])
            self._tried = _Tried(self.moves) if largest <= MOST_TRIED else None
        return self._tried

    def _finished(self, origin: Origin, starts: Mapping[int, Sum]) -> Origin:
        """Return an origin with the starts of its axes, in the fewest atoms."""
        made = list[Atom]()
        for atom in origin:
            if isinstance(atom, AxisAtom):
                start, dim = starts.get(atom.axis, ()), self.shape[atom.axis]
                if isinstance(dim, int) and dims.all_known(start):
                    start = dims.total((sum(dims.numbers(start)) % dim,))
                atom = replace(atom, start=start)
            match (made[-1] if made else None), atom:
                case AxisAtom() as last, AxisAtom() if last.axis == atom.axis and last.stride == dims.product(
                    (atom.size, atom.stride)
                ):
                    made[-1] = replace(atom, size=dims.product((last.size, atom.size)))
                case Repeats() as last, Repeats():
                    made[-1] = Repeats(dims.product((last.size, atom.size)))
                case _:
                    made.append(atom)
        return tuple(made)


def _forward(atom: layout.Atom) -> layout.Atom:
    """Return an atom with a positive stride."""
    return layout.turned((atom,))[0] if layout.is_backwards(atom) else atom


def changes_along(
    count: int, step: int, size: int, stride: int, offset: int, others: Iterable[tuple[int, int]]
) -> bool | None:
    """Return whether `index // stride % size` changes along steps through the index.

    It changes if it does for some combination of the `other_steps`, given by their counts and steps; all begin at
    `offset`. Return None if there are too many residues to enumerate.

    >>> changes_along(2, 6, 3, 4, 0, [(6, 1)]), changes_along(2, 1, 3, 4, 0, [(6, 2)])
    (True, False)
    >>> changes_along(2, 1, 3, 4, 3, [])
    True
    """
    step = (step + stride) % (size * stride) - stride  # full cycles of the digit change nothing
    length = (count - 1) * abs(step)
    if length >= stride or step == 0:
        return step != 0
    unit = gcd(stride, step, *[other_step for _, other_step in others])
    stride, length = stride // unit, length // unit
    if stride > MOST_RESIDUES:
        return None
    marks = residues(offset // unit, [(number, other_step // unit) for number, other_step in others], stride)
    if step > 0:
        return marks.bit_length() - 1 + length >= stride
    return (marks & -marks).bit_length() - 1 < length


def residues(offset: int, steps: Iterable[tuple[int, int]], within: int) -> int:
    """Return the residues of all positions that steps reach, as a bit set.

    >>> bin(residues(1, [(3, 2)], 8)), bin(residues(6, [(2, 1), (2, 4)], 8))
    ('0b101010', '0b11001100')
    >>> bin(residues(6, [(2, 2)], 8))
    '0b1000001'
    """
    marks = 1 << offset % within
    for count, step in steps:
        count, done = min(count, within // gcd(within, step)), 1
        while done < count:
            more = min(done, count - done)
            shift = more * step % within
            marks |= (marks << shift | marks >> (within - shift)) & ((1 << within) - 1)
            done += more
    return marks


def combined_origins(shape: Shape, moves: Sequence[Move], of_plain: Callable[[Shape, int, int], Origins]) -> Origins:
    """Return the origins of moves of which some combine operands.

    Operands count on from those of earlier moves. `segment_origins(shape, start, end)` returns the origins of the moves
    between two indices, which combine nothing.
    """
    result: Origins = tuple([_whole(dim, axis, 0) for axis, dim in enumerate(shape)])
    start, operand_count = 0, 0
    for index, move in enumerate(moves):
        if isinstance(move, Combine):
            result = _composed(of_plain(shape, start, index), result, shape)
            result = tuple([_of_dim(out, move, result, operand_count) for out in range(len(move.shape))])
            start, operand_count, shape = index + 1, operand_count + len(move.operands) - 1, move.shape
    return _composed(of_plain(shape, start, len(moves)), result, shape)


def _whole(dim: Dim, axis: int, operand: int) -> Origin:
    return (AxisAtom(axis, dim, 1, (), operand),)


def _of_dim(out: int, move: Combine, found: Origins, others: int) -> Origin:
    """Return the origin of one dim of a combination.

    `origins` are the origins of its input, and `operand_count` counts the operands of earlier moves.
    """
    parts = [
        found[axis] or () if operand == 0 else _whole(move.operands[operand][axis], axis, operand + others)
        for operand, axis in move.places[out]
    ]
    if out == move.joined:
        return (Joins(tuple(parts or [()] * move.shape[out])),)  # type: ignore[operator]  # a stack counts its operands
    if out in move.windows or len(parts) > 1:
        return _read(parts)
    return parts[0] if parts else ()


def _read(parts: Iterable[Origin]) -> Origin:
    pairs = tuple(dict.fromkeys(pair for part in parts for pair in places_of(part)))
    return (Reads(pairs),) if pairs else ()


def _composed(found: Origins, inner: Origins, shape: Shape) -> Origins:
    """Compose the origins of a tensor of `shape` with the origins of its dims."""
    return tuple([None if origin is None else _through(origin, inner, shape) for origin in found])


def _through(origin: Origin, inner: Origins, shape: Shape) -> Origin:
    result = list[Atom]()
    for atom in origin:
        base = _base_of(atom, inner, shape)
        if base is None:
            return _read([inner[axis] or () for _, axis in places_of(origin)])
        result += base
    is_exact = len(result) == 1 or not any(isinstance(atom, (Reads, Joins, Mixes)) for atom in result)
    return tuple(result) if is_exact else _read([tuple(result)])


def _base_of(atom: Atom, inner: Origins, shape: Shape) -> Origin | None:
    """Return the origin of an atom in terms of `inner`; None if no atoms describe it."""
    if isinstance(atom, Repeats):
        return (atom,)
    if not isinstance(atom, AxisAtom):
        return None
    base = inner[atom.axis] or ()
    if not atom.start and atom.stride == 1 and atom.size == shape[atom.axis]:
        return base
    match base:
        case (AxisAtom() as only,) if not only.start:
            start = dims.total([dims.product((term, only.stride)) for term in atom.start])
            return (replace(only, size=atom.size, stride=dims.product((atom.stride, only.stride)), start=start),)
    return None

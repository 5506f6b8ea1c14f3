"""Origins: which part of the input each dim of an answer is. Wires, words, code and `--json` are made of them.

A dim is a list of atoms, the outermost first. Their sizes multiply to the dim, and the index on the dim is the mixed
radix of their digits. Of an axis that no dim mixes, the position is (start + the sum of stride * digit over all atoms
that name it) mod its size. Of an axis that some dim mixes, an atom says that its digit is
floor((position - start) / stride) mod its size.

A dim that mixes is steps through a flat index, `size` of them `stride` apart, whatever the axes are that this index
runs over. The digit of one of these axes changes along the dim or it does not: see `_Reading._changes`.
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
"""The most elements of which all positions are computed to see on which axes a dim depends."""

MOST_COMPARED = 64
"""The most axes with which dims that mix are compared one by one; of more, a dim may come from all."""

MOST_RESIDUES = 1 << 20
"""The most steps of a flat index within one of an axis that are marked one by one."""

MOST_LISTED = 12
"""The most axes that a sentence lists one by one."""

INPUT: layout.Level = ((), ())
"""What atoms step through that step through the input itself."""


class AxisAtom(Record):
    """A digit of an input axis: `size` positions that are `stride` apart."""

    axis: int
    size: Dim
    stride: Dim
    start: Sum = ()
    """The position at which the axis begins to be read, as terms; the same in all atoms that name the axis."""
    operand: int = 0
    """Whose axis it is: 0 is the input, the other operands count from 1."""

    def as_json(self) -> dict[str, object]:
        """Return the atom as the JSON object that the command line documents."""
        found = {"axis": self.axis, "size": dims.plain(self.size), "stride": dims.plain(self.stride)}
        found |= {"start": dims.plain_sum(self.start)} if self.start else {}
        return found | ({"operand": self.operand} if self.operand else {})


class Repeats(Record):
    """A digit that reads the same elements again, `size` times."""

    size: Dim

    def as_json(self) -> dict[str, object]:
        """Return the atom as the JSON object that the command line documents."""
        return {"repeats": dims.plain(self.size)}


class Mixes(Record):
    """A whole dim along which the positions on these axes change in no way that atoms can say."""

    axes: tuple[int, ...]
    exact: bool = True
    """Whether the positions are sure to change on all of the axes."""

    def as_json(self) -> dict[str, object]:
        """Return the atom as the JSON object that the command line documents."""
        return {"mixes": [*self.axes]} | ({} if self.exact else {"exact": False})


class Reads(Record):
    """A whole dim whose elements are computed from, or depend on, these axes of operands."""

    places: tuple[Place, ...]

    def as_json(self) -> dict[str, object]:
        """Return the atom as the JSON object that the command line documents."""
        return {"reads": [{"operand": operand, "axis": axis} for operand, axis in self.places]}


class Joins(Record):
    """A whole dim on which the dims of operands lie end to end."""

    parts: tuple[Origin, ...]

    def as_json(self) -> dict[str, object]:
        """Return the atom as the JSON object that the command line documents."""
        return {"joins": [[atom.as_json() for atom in part] for part in self.parts]}


Atom: TypeAlias = AxisAtom | Repeats | Mixes | Reads | Joins
Origin: TypeAlias = tuple[Atom, ...]
"""What one dim is made of, the outermost first; nothing for a new dim of 1."""
Origins = tuple[Origin | None, ...]
"""The origin of each dim; None for a dim that holds nothing of the input."""


@lru_cache(maxsize=64)
def origins(moves: layout.Moves, conditions: Conditions, carried: tuple[tuple[int, int], ...]) -> Origins:
    """Return the origin of each output dim of moves, for all sizes that meet the conditions.

    `carried` are output dims of which there is nothing else to say, each with the input axis of 1 that it is. A
    picture, its words and its JSON ask for the same origins.

    >>> origins(layout.Moves((2, 6), (Reshape((4, 3)),)), (), ())[0]
    (AxisAtom(axis=0, size=2, stride=1, start=(), operand=0), AxisAtom(axis=1, size=2, stride=3, start=(), operand=0))
    """
    known, ones = Known(moves.dims, conditions), dict(carried)
    if known.settled:
        moves = moves.rewritten(known.settled)
    try:
        found = list(_of_empty(moves, known) if 0 in moves.dims else _Reading(moves, known).origins())
    except Undecided:
        every = Mixes(tuple([axis for axis, dim in enumerate(moves.input) if dim != 1]), exact=False)
        found = [(every,) if dim != 1 else () for dim in moves.output]
    for out, dim in enumerate(moves.output):
        if not found[out] and out in ones:
            found[out] = (AxisAtom(ones[out], dim, 1),)
        elif dim == 0:
            found[out] = _of_none(found[out] or ())
    return tuple(found)


def _of_none(found: Origin) -> Origin:
    """Return the origin of a dim of 0, whose atoms have sizes that make 0, too."""
    sized = [atom for atom in found if isinstance(atom, (AxisAtom, Repeats))]
    if len(sized) < len(found) or any(atom.size == 0 for atom in sized):
        return found
    first, *rest = sized or [Repeats(0)]
    return (replace(first, size=0), *rest)


def origins_json(found: Origins | None) -> object:
    """Return origins as the JSON that the command line documents."""
    return found and [None if dim is None else [atom.as_json() for atom in dim] for dim in found]


def _of_empty(moves: layout.Moves, known: Known) -> tuple[Origin, ...]:
    """Return the origins of moves that move nothing: those of moves with a name for each size of 0."""
    shape = given = layout.without_zeros(moves.input)
    made = list[Move]()
    for move in moves.moves:
        if isinstance(move, Reshape):
            move = Reshape(layout.without_zeros(move.shape, dims.product(shape)))
        elif isinstance(move, Expand):
            move = Expand(layout.without_zeros(move.shape))
        elif isinstance(move, Pick):
            picked = zip(move.starts, move.steps, move.sizes, shape, strict=True)
            whole = [(0, 1, dim) if size == 0 else (start, step, size) for start, step, size, dim in picked]
            move = Pick(*zip(*whole, strict=True))
        elif isinstance(move, Take) and not move.places:
            continue
        made.append(move)
        shape = move.after(shape)
    found = _Reading(layout.Moves(given, tuple(made)), known).origins()
    return tuple([tuple([_emptied(atom) for atom in origin]) for origin in found])


def _emptied(atom: Atom) -> Atom:
    """Return an atom with 0 for the name that stood for it."""
    if not isinstance(atom, (AxisAtom, Repeats)):
        return atom
    start = {} if isinstance(atom, Repeats) else {"start": dims.total(map(_emptied_dim, atom.start))}
    sizes = {name: _emptied_dim(size) for name, size in fields(atom).items() if name in ("size", "stride")}
    return replace(atom, **sizes, **start)


def _emptied_dim(dim: Dim) -> Dim:
    """Return a dim with 0 for the name that stood for it; what is divided by that name is of no element, and 0."""
    try:
        return dims.substitute(dim, {layout.EMPTY: 0})
    except ZeroDivisionError:
        return 0


# What becomes of axes: origins read from the axes' side, and in words.


VERBS = ("stays", "splits into"), ("merge into", "split and merge into")
"""What one axis or several do that become one or several."""


class Group(Record):
    """Input axes and the output axes that are made of them."""

    sources: tuple[int, ...]
    outs: tuple[int, ...]
    mixes: bool = False
    """Whether an output axis is made of no whole pieces of input axes."""
    part: bool = False
    """Whether the output axes are only a part of what the input axes become: others mix."""

    @property
    def verb(self) -> str:
        """What happened to the axes of the group."""
        if self.part:
            return "become"
        if not self.sources or not self.outs:
            return "is new" if self.outs else "is dropped"
        several = len(self.sources) > 1, len(self.outs) > 1
        return "mix into" if self.mixes and any(several) else VERBS[several[0]][several[1]]


def places_of(origin: Origin | None) -> list[Place]:
    """Return the operands and axes on which a dim depends.

    >>> places_of((AxisAtom(1, 2, 1), AxisAtom(0, 3, 1, (), 2)))
    [(0, 1), (2, 0)]
    """
    found = list[Place]()
    for atom in origin or ():
        match atom:
            case AxisAtom():
                found.append((atom.operand, atom.axis))
            case Mixes():
                found += [(0, axis) for axis in atom.axes]
            case Reads():
                found += atom.places
            case Joins():
                found += [place for part in atom.parts for place in places_of(part)]
    return found


def axes_read(origin: Origin | None) -> tuple[int, ...]:
    """Return the input axes that a dim depends on, in order.

    >>> axes_read((AxisAtom(2, 3, 1), AxisAtom(0, 2, 1))), axes_read((Mixes((0, 1)),)), axes_read((Repeats(2),))
    ((0, 2), (0, 1), ())
    """
    return tuple(sorted({axis for operand, axis in places_of(origin) if operand == 0}))


def linked(rank: int, wires: Sequence[tuple[int, ...]], mixed: Collection[int] = ()) -> tuple[Group, ...]:
    """Return which of so many axes became which dims: the smallest sets that no wire leaves, in order.

    `wires` are the axes that each dim depends on, and `mixed` the dims that mix them.

    >>> [(group.sources, group.outs) for group in linked(3, [(0, 1), (1,), (), (2,)])]
    [((0, 1), (0, 1)), ((), (2,)), ((2,), (3,))]
    """
    home = dict[int, tuple[set[int], set[int]]]()
    made = list[tuple[set[int], set[int]]]()
    for out, axes in enumerate(wires):
        near = [*{id(home[axis]): home[axis] for axis in axes if axis in home}.values()]
        group = near.pop() if near else (set[int](), set[int]())
        made += [group] if not group[1] else []
        group[0].update(axes, *[each[0] for each in near])
        group[1].update([out], *[each[1] for each in near])
        home |= dict.fromkeys(group[0] if near else axes, group)
        for each in near:
            each[1].clear()
    found = [Group(tuple(sorted(axes)), tuple(sorted(outs)), not outs.isdisjoint(mixed)) for axes, outs in made if outs]
    found += [Group((axis,), ()) for axis in range(rank) if axis not in home]
    inserted = {out: max([-1, *chain(*wires[:out])]) for out, axes in enumerate(wires) if not axes}
    return tuple(sorted(found, key=lambda each: (each.sources or (inserted[each.outs[0]], rank), each.outs)))


def told(links: Iterable[Group], wires: Sequence[tuple[int, ...]], mixed: Collection[int]) -> Iterator[Group]:
    """Yield what is to be said of links: of those that mix, which dims mix which axes, and what is a part of others.

    >>> wires = [(0, 1), (0, 1), (1,)]
    >>> [(each.sources, each.outs, each.verb) for each in told(linked(2, wires, [0, 1]), wires, [0, 1])]
    [((0, 1), (0, 1), 'mix into'), ((1,), (2,), 'become')]
    """
    for link in links:
        if not link.mixes:
            yield link
            continue
        alike: dict[tuple[tuple[int, ...], bool], list[int]] = {}
        for out in link.outs:
            alike.setdefault((wires[out], out in mixed), []).append(out)
        yield from [Group(axes, tuple(outs), mixes, part=not mixes) for (axes, mixes), outs in alike.items()]


def regrouping(before: Shape, after: Shape) -> str:
    """Say in one sentence which axes of a reshape merge, split, mix, are new or are dropped.

    >>> regrouping((2, 3, 4), (2, 12))
    'axis 0 stays; axes 1,2 merge into axis 1'
    >>> regrouping((2, 8), (4, 4)), regrouping((3, 4), (2, 3, 2))
    ('axes 0,1 split and merge into axes 0,1', 'axes 0,1 mix into axes 0,1; a part of axis 1 becomes axis 2')
    """
    if before == after:
        return "the shape stays the same"
    found = reshaped(before, after)
    wires, mixed = [axes_read(origin) for origin in found], mixing(found)
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
    """Say what happened to one group. The output axes are named only if they differ from the input axes."""
    if group.part:
        one = f"a part of {_axes(group.sources)}" if len(group.sources) == 1 else f"parts of {_axes(group.sources)}"
        return f"{one} {'becomes' if len(group.sources) == 1 else 'become'} {_axes(group.outs)}"
    if not group.sources or not group.outs or (group.verb == "stays" and group.sources == group.outs):
        axes = group.sources or group.outs
        whose = "" if group.sources else "output "
        return f"{whose}{_axes(axes)} {group.verb if len(axes) == 1 else group.verb.replace('is ', 'are ')}"
    verb = "becomes" if group.verb == "stays" else group.verb
    return f"{_axes(group.sources)} {verb} {_axes(group.outs)}"


def _axes(axes: tuple[int, ...]) -> str:
    if len(axes) > MOST_LISTED:
        return f"axes {axes[0]} to {axes[-1]}"
    return f"axis {axes[0]}" if len(axes) == 1 else f"axes {','.join(map(str, axes))}"


class _Digit(Record):
    """A digit of a flat index, and the axes on which positions change where it does."""

    size: Dim
    stride: Dim
    axes: set[int]
    exact: bool = True
    """Whether positions are sure to change on all of the axes."""


class _Reach(Record):
    """Which positions of a flat index are read: steps from an offset on, each of them with each of the others."""

    offset: Sum
    steps: layout.Atoms
    """All of them forwards."""
    exact: bool = True
    """Whether all of these positions are read; otherwise only some of them may be."""

    @property
    def numbers(self) -> tuple[int, list[tuple[int, int]]] | None:
        """The offset, and the sizes and strides of the steps; None if one of these is no number."""
        steps: list[Any] = [(step.size, step.stride) for step in self.steps]
        offset: Any = self.offset
        return (sum(offset), steps) if dims.all_known([*offset, *chain(*steps)]) else None

    @property
    def extent(self) -> int:
        """How far all steps of numbers lead together."""
        numbers = self.numbers
        return sum([(size - 1) * stride for size, stride in numbers[1]]) if numbers else 0

    def is_full(self, sizes: Iterable[Dim]) -> bool:
        """Say whether every position of a flat index of these sizes is read."""
        return self.exact and dims.product([step.size for step in self.steps]) == dims.product(sizes)

    def through(self, atom: layout.Atom) -> _Reach | None:
        """Return which positions are read by what steps on an atom; None if it is not known to stay there."""
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
        """Return which positions are read while the steps of a stride are not made."""
        return _Reach(self.offset, tuple([step for step in self.steps if step.stride != stride]), self.exact)


class _Reading:
    """What a chain reads of its input, dim by dim."""

    def __init__(self, moves: layout.Moves, known: Known) -> None:
        self.moves, self.known = moves, known
        self.view = layout.view_through(moves.input, moves.moves, known)
        self.shape, self.strides = moves.input, layout.contiguous_strides(moves.input)
        self.axes = [axis for axis, dim in enumerate(self.shape) if dim != 1]
        self.place_of = {self.strides[axis]: place for place, axis in enumerate(self.axes)}
        pairs = zip(moves.moves, moves.shapes, strict=False)
        picks = [zip(move.axes, before, strict=True) for move, before in pairs if type(move) is Pick]
        self.picked = {(size, abs(step), dim) for pick in picks for (_, step, size), dim in pick}
        """The sizes and steps that slices take of dims: they end within these, also if no factors tell it."""
        self.known_digits: dict[layout.Atom, list[AxisAtom]] = {}
        self.steps: dict[layout.Level, list[layout.Atom]] = {}
        for atom in [atom for axis in self.view.axes for atom in axis if atom.stride != 0]:
            self.steps.setdefault(atom.level, []).append(atom)
        self.levels_on: dict[layout.Level, list[layout.Level]] = {}
        """The levels whose atoms step through a level."""
        for level in {*layout.levels_of(self.view), *self.view.fixed}:
            for below in {atom.level: None for atom in level[0] if atom.stride != 0}:
                self.levels_on.setdefault(below, []).append(level)
        self.reaches: dict[layout.Level, _Reach] = {}
        self.unknown = set[layout.Level]()
        """Levels of names of which it is not known where they begin."""
        self.offsets = self._offsets()
        self.rolled = {level: axis for level in self.levels_on.get(INPUT, ()) for axis in self._whole_axis(level)}
        self.passed, self.unclear = self._passed(), self._unclear()
        self.digits_of: dict[layout.Atoms, list[_Digit]] = {}
        digits = [digit for step in self._reach(INPUT).steps for digit in self._digits_of_input(step)]
        self.whole = {digit.axis for digit in digits if digit.size == self.shape[digit.axis]}
        self._tried: _Tried | None = None

    def origins(self) -> tuple[Origin, ...]:
        """Return the origin of each dim; one whose atoms do not say what is promised of them mixes."""
        read = map(self._read, self.view.axes)
        found = [self._mixed(out) if origin is None else origin for out, origin in enumerate(read)]
        while True:
            starts = self._starts(found)
            wrong = self._misread(found, starts)
            if not wrong:
                return tuple([self._finished(origin, starts) for origin in found])
            for out in wrong:
                found[out] = self._mixed(out)

    def _read(self, atoms: layout.Atoms) -> Origin | None:
        """Return the origin of a dim of these atoms, but for where axes begin; None if it mixes."""
        found = list[AxisAtom | Repeats | Mixes]()
        for atom in atoms:
            digits = [Repeats(atom.size)] if atom.stride == 0 else self._digits(atom)
            if not digits:
                return None
            found += digits
        return tuple(found)

    # Atoms as digits of axes.

    def _digits(self, atom: layout.Atom) -> Sequence[AxisAtom]:
        """Return the digits of axes that an atom is, if it is no other steps."""
        forward = _forward(atom)
        if atom.level in self.rolled:
            found = [AxisAtom(self.rolled[atom.level], forward.size, forward.stride)]
        else:
            found = [] if atom.base else self._digits_of_input(forward)
        if layout.is_backwards(atom):
            return [AxisAtom(each.axis, each.size, dims.product((-1, each.stride))) for each in found]
        return found

    def _digits_of_input(self, atom: layout.Atom) -> list[AxisAtom]:
        """Return the digits that forward steps through the flat index of the input are, if they are no other steps."""
        found = self.known_digits.get(atom)
        if found is None:
            found = self.known_digits[atom] = self._found_digits(atom.size, atom.stride)
        return found

    def _found_digits(self, size: Dim, stride: Dim) -> list[AxisAtom]:
        found = list[AxisAtom]()
        for axis in self._axes_from(stride):
            dim, step = self.shape[axis], dims.quotient(stride, self.strides[axis])
            picked = (size, step, dim) in self.picked
            if not picked and not (self.known.is_whole(step) and self._is_within(step, dim)):
                continue
            if picked or self._ends_within(size, step, dim):
                return [*found, AxisAtom(axis, size, step)][::-1]
            room = dims.quotient(dim, step)
            if not self.known.is_whole(room) or not self.known.divides(room, size):
                break
            found.append(AxisAtom(axis, room, step))
            size, stride = dims.quotient(size, room), dims.product((self.strides[axis], dim))
        return []

    def _axes_from(self, stride: Dim) -> list[int]:
        """Return the axes that steps of a stride may be on, the innermost first: from the one of that stride on."""
        place = self.place_of.get(stride)
        if place is None:
            return self.axes[::-1] if len(self.axes) <= MOST_COMPARED else []
        return self.axes[place::-1]

    def _is_within(self, step: Dim, dim: Dim) -> bool:
        """Say whether a step on an axis of `dim` is sure to be shorter than the axis."""
        if isinstance(step, int) and isinstance(dim, int):
            return step < dim
        return step != dim and self.known.divides(step, dim)

    def _ends_within(self, size: Dim, step: Dim, dim: Dim) -> bool:
        """Say whether so many steps are sure to end on their axis."""
        if isinstance(size, int) and isinstance(step, int) and isinstance(dim, int):
            return (size - 1) * step < dim
        return self.known.divides(dims.product((size, step)), dim)

    def _whole_axis(self, level: layout.Level) -> list[int]:
        """Return the axis of which a level is all positions, from some start on and round its end, if there is one."""
        base = layout.merge(level[0])
        place = self.place_of.get(base[0].stride) if len(base) == 1 and not base[0].base else None
        axes = [] if place is None else [self.axes[place]]
        return [axis for axis in axes if base[0].size == self.shape[axis] and self._reach(level).exact]

    # Where axes begin to be read.

    def _offsets(self) -> dict[int, Sum]:
        """Return where on each axis the input is read first; one below 0 counts from the end of the axis."""
        offsets, left = dict[int, Sum](), self._reach(INPUT).offset if self.levels_on else self.view.offset
        for axis in reversed(self.axes):
            if not left:
                break
            turn = dims.product((self.strides[axis], self.shape[axis]))
            own = dims.total([self._rest(term, turn) for term in left])
            borrowed = [turn] if own and all(map(dims.is_negative, own)) else []
            left = dims.total([*left, *[dims.product((-1, term)) for term in (*own, *borrowed)]])
            offsets[axis] = tuple([dims.quotient(term, self.strides[axis]) for term in own])
        return offsets

    def _rest(self, term: Dim, turn: Dim) -> Dim:
        """Return what is left of a term when whole turns are taken away."""
        if isinstance(term, int) and isinstance(turn, int):
            return term % turn
        return 0 if self.known.divides(turn, term) else term

    def _starts(self, found: Iterable[Origin]) -> dict[int, Sum]:
        """Return where axes begin to be read that do not begin at 0: where all digits of these origins are 0."""
        starts = self.offsets | {axis: self._reach(level).offset for level, axis in self.rolled.items()}
        for atom in [atom for origin in found for atom in origin if isinstance(atom, AxisAtom)]:
            if dims.is_negative(atom.stride):
                end = dims.product((-1, atom.size, atom.stride))
                goes_round = not isinstance(end, int) and end == self.shape[atom.axis]
                starts[atom.axis] = dims.total((*starts.get(atom.axis, ()), 0 if goes_round else end, atom.stride))
        return starts

    def _passed(self) -> set[int]:
        """Return the axes whose end is passed by the steps on them together, or by those on the axis inside."""
        unknown = [atom for base, _ in self.unknown for atom in base if atom.stride != 0]
        passed = {digit.axis for atom in unknown for digit in self._digits(atom)}
        own: dict[int, list[layout.Atom]] = {}
        for step in self._reach(INPUT).steps:
            for digit in self._digits_of_input(step):
                own.setdefault(digit.axis, []).append(layout.Atom(digit.size, digit.stride))
        carry = 0
        for axis in reversed(self.axes) if own else ():
            reach, dim = _Reach(self.offsets.get(axis, ()), tuple(own.get(axis, ()))), self.shape[axis]
            if reach.numbers is None or not isinstance(dim, int):
                carry = 0
                continue
            is_over = reach.numbers[0] % dim + reach.extent + carry >= dim
            if is_over or (carry and reach.steps):
                passed.add(axis)
            carry = int(is_over)
        return passed

    def _unclear(self) -> set[int]:
        """Return the axes on which positions change along steps that are no digits of axes."""
        if len(self.axes) > MOST_COMPARED or not self.levels_on:
            return set()
        mixing = [step for step in self._reach(INPUT).steps if not self._digits_of_input(step)]
        turns = {axis: dims.product((self.shape[axis], self.strides[axis])) for axis in (self.axes if mixing else ())}
        return {axis for axis, turn in turns.items() for step in mixing if not self.known.divides(turn, step.stride)}

    # Which positions are read of a flat index.

    def _reach(self, level: layout.Level) -> _Reach:
        """Return which positions of a level are read."""
        if level not in self.reaches:
            base, start = level
            offset = [*(start if base else self.view.offset)]
            steps, exact = list[layout.Atom](), True
            for atom in self.steps.get(level, ()):
                steps += self._parted(atom)
            for above in self.levels_on.get(level, ()):
                reach = self._reach(above)
                is_full = reach.is_full([atom.size for atom in above[0]])
                through = reach.through(above[0][0]) if len(above[0]) == 1 and not is_full else None
                if through:
                    offset += through.offset
                    steps += through.steps
                else:
                    steps += [_forward(atom) for atom in above[0] if atom.level == level and atom.stride != 0]
                    exact &= is_full
                    self.unknown |= set() if is_full or dims.all_known(self.moves.dims) else {above}
            self.reaches[level] = _Reach(dims.total(offset), tuple(steps), exact)
        return self.reaches[level]

    def _parted(self, atom: layout.Atom) -> layout.Atoms:
        """Return an atom that runs over several axes of the input as one for each, and all of them forwards."""
        forward, parts = _forward(atom), list[layout.Atom]()
        for digit in () if atom.base else self._digits_of_input(forward):
            parts.append(layout.Atom(digit.size, dims.product((digit.stride, self.strides[digit.axis]))))
            self.known_digits[parts[-1]] = [digit]
        return tuple(parts) or (forward,)

    # What origins promise.

    def _misread(self, found: Sequence[Origin], starts: Mapping[int, Sum]) -> set[int]:
        """Return the dims of which an atom does not say what is promised of it, now that some axes mix."""
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
        """Say whether positions on an axis tell the digit of an atom of a dim; `inside` are the atoms inside it."""
        if dims.is_negative(atom.stride):
            return False
        if self._is_digit(atom, start):
            return True
        tried = self._all_tried()
        return tried is not None and tried.says(out, inside, atom, start)

    def _is_digit(self, atom: AxisAtom, start: Sum) -> bool:
        """Say whether the digit of an axis is a digit of the flat index that no other step changes."""
        reach, far = self._reach(INPUT), self.strides[atom.axis]
        stride = dims.product((atom.stride, far))
        if not reach.exact or not self.known.divides(dims.product((atom.size, atom.stride)), self.shape[atom.axis]):
            return False
        offset = dims.total([*reach.offset, *[dims.product((-1, far, term)) for term in start]])
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

    # Dims that mix.

    def _mixed(self, out: int) -> Origin:
        """Return the origin of a dim that mixes: the axes on which positions change along it."""
        if len(self.axes) > MOST_COMPARED:
            return (Mixes(tuple([axis for axis in self.axes if axis not in self.whole]), exact=False),)
        found = [self._changing(atom) for atom in self.view.axes[out] if atom.stride != 0]
        axes, exact = {axis for each, _ in found for axis in each}, all(exact for _, exact in found)
        if not exact and (tried := self._all_tried()):
            tables = [atom.base[0] for atom in self.view.axes[out] if layout.is_table(atom.base)]
            read = {axis for table in tables for digit in self._digits_of_table(table) for axis in digit.axes}
            axes = tried.changing(out) | read  # where a table reads one position of an axis alone, no start tells it
            exact = axes == tried.changing(out)
        return (Mixes(tuple(sorted(axes)), exact) if axes else Repeats(self.moves.output[out]),)

    def _changing(self, atom: layout.Atom) -> tuple[set[int], bool]:
        """Return the axes on which positions may change along an atom, and whether they are sure to."""
        if layout.is_table(atom.base):
            digits = self._digits_of_table(atom.base[0])
            alone = len(digits) == len(atom.base[0].base) == 1 and digits[0].exact
            return {axis for digit in digits for axis in digit.axes}, alone and atom.size == atom.base[0].size
        reach = self._reach(atom.level)
        if len(atom.base) == 1 and reach.through(atom.base[0]):
            (base,) = atom.base
            return self._changing(layout.Atom(atom.size, dims.product((atom.stride, base.stride)), *base.level))
        aligned = not reach.offset and reach.is_full([each.size for each in atom.base] if atom.base else self.shape)
        axes, exact = set[int](), True
        for along in self._parted(atom):
            others = reach.without(along.stride)
            for digit in self._digits_read(atom.base):
                changes = self._changes(along, others, digit.size, digit.stride, aligned=aligned)
                if changes is not False:
                    axes |= digit.axes
                    exact &= changes is True and reach.exact and digit.exact
        return axes, exact

    def _digits_of_table(self, table: layout.Atom) -> list[_Digit]:
        """Return the digits that a take reads by a table, which stays on their axes."""
        return [digit for step in table.base for digit in self._digits_of_atom(step)]

    def _changes(self, along: layout.Atom, others: _Reach, size: Dim, stride: Dim, *, aligned: bool) -> bool | None:
        """Say whether a digit of a flat index changes along steps, whatever the others are; None if it is not known.

        If all positions are read, or turns and steps lie inside each other, the steps are `aligned`.
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
        """Return the digits of the flat index of a base, or of the input, for which axes are known."""
        if not base:
            return [_Digit(self.shape[axis], self.strides[axis], {axis}) for axis in self.axes]
        if base not in self.digits_of:
            found = list[_Digit]()
            stride: Dim = 1
            for atom in reversed(base):
                for each in self._digits_of_atom(atom):
                    found.append(_Digit(each.size, dims.product((stride, each.stride)), each.axes, each.exact))
                stride = dims.product((stride, atom.size))
            self.digits_of[base] = found
        return self.digits_of[base]

    def _digits_of_atom(self, atom: layout.Atom) -> list[_Digit]:
        """Return the digits of an atom of a base, the innermost first: of one that mixes, itself."""
        if atom.stride == 0:
            return []
        digits = self._digits(atom)
        if digits and all(map(self._is_clear, digits)):
            sizes = [digit.size for digit in digits]
            return [_Digit(each.size, dims.product(sizes[at + 1 :]), {each.axis}) for at, each in enumerate(digits)]
        axes, _ = self._changing(atom)
        return [_Digit(atom.size, 1, axes, exact=len(axes) == 1)]

    def _is_clear(self, digit: AxisAtom) -> bool:
        """Say whether positions on the axis of a digit, and on no other, are sure to change where the digit does."""
        if digit.axis in self.passed:
            return False
        if digit.axis not in self.unclear:
            return True
        reach, size = self._reach(INPUT), dims.product((digit.size, digit.stride))
        return not reach.offset and reach.is_full(self.shape) and self.known.divides(size, self.shape[digit.axis])

    def _all_tried(self) -> _Tried | None:
        """Return the positions of all elements; None if there are too many, or if names have no size."""
        shapes = self.moves.shapes
        steps = zip(shapes, self.moves.moves, shapes[1:], strict=False)
        fits = all(dims.product(old) == dims.product(new) for old, move, new in steps if isinstance(move, Reshape))
        if self._tried is None and fits and dims.all_known(self.moves.dims):
            most = max([prod(dims.numbers(shape)) for shape in self.moves.shapes])
            self._tried = _Tried(self.moves) if most <= MOST_TRIED else None
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
    """Return an atom read forwards."""
    return layout.turned((atom,))[0] if layout.is_backwards(atom) else atom


# Numbers: steps through a flat index, and one digit of it.


def changes_along(
    count: int, step: int, size: int, stride: int, offset: int, others: Iterable[tuple[int, int]]
) -> bool | None:
    """Say whether the digit `index // stride % size` changes along steps through the index, for some of the others.

    `others` are their counts and steps, and `offset` is where all begin. None if there is too much to be tried.

    >>> changes_along(2, 6, 3, 4, 0, [(6, 1)]), changes_along(2, 1, 3, 4, 0, [(6, 2)])
    (True, False)
    >>> changes_along(2, 1, 3, 4, 3, [])
    True
    """
    step = (step + stride) % (size * stride) - stride  # whole turns of the digit change nothing
    length = (count - 1) * abs(step)
    if length >= stride or step == 0:
        return step != 0
    unit = gcd(stride, step, *[each for _, each in others])
    stride, length = stride // unit, length // unit
    if stride > MOST_RESIDUES:
        return None
    marks = residues(offset // unit, [(number, each // unit) for number, each in others], stride)
    if step > 0:
        return marks.bit_length() - 1 + length >= stride
    return (marks & -marks).bit_length() - 1 < length


def residues(offset: int, steps: Iterable[tuple[int, int]], within: int) -> int:
    """Return what is left of all positions that steps lead to when they are divided by a number: a bit for each.

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


class _Tried:
    """The positions of all elements of a tensor of numbers, on each axis of the input."""

    def __init__(self, moves: layout.Moves) -> None:
        self.output = dims.numbers(moves.output)
        shape = dims.numbers(moves.input)
        flat = layout.positions(moves, array("q", range(prod(shape))))
        self.places = [
            array("q", [place // prod(shape[axis + 1 :]) % size for place in flat]) for axis, size in enumerate(shape)
        ]

    def changing(self, out: int) -> set[int]:
        """Return the axes on which the positions change along an output dim, for some value of the others."""
        size, inner = self.output[out], prod(self.output[out + 1 :])
        return {axis for axis, places in enumerate(self.places) if _changes(places, size, inner)}

    def says(self, out: int, below: Dim, atom: AxisAtom, start: Sum) -> bool:
        """Say whether the digit of an atom, with others of `below` values inside it, is told by the positions."""
        within, size, stride, first = dims.numbers((below, atom.size, atom.stride, *(start or (0,))))
        dim, inner = self.output[out], prod(self.output[out + 1 :])
        every = enumerate(self.places[atom.axis])
        return all((place - first) // stride % size == index // inner % dim // within % size for index, place in every)


def _changes(places: array[int], size: int, inner: int) -> bool:
    """Say whether positions change along an output dim of `size`, whose indices are `inner` elements apart."""
    for start in range(0, len(places), size * inner):
        first = places[start : start + inner]
        if any(places[start + at * inner : start + (at + 1) * inner] != first for at in range(1, size)):
            return True
    return False


# Stages that read several operands: what each dim is of the input and of the other operands.


def combined_origins(shape: Shape, moves: Sequence[Move], of_plain: Callable[[Shape, int, int], Origins]) -> Origins:
    """Return the origins of moves of which some combine operands, each of which counts on behind those before.

    `of_plain` returns the origins of the moves from one place to another, which combine nothing, on a shape.
    """
    found: Origins = tuple([_whole(dim, axis, 0) for axis, dim in enumerate(shape)])
    start, others = 0, 0
    for place, move in enumerate(moves):
        if isinstance(move, Combine):
            found = _composed(of_plain(shape, start, place), found, shape)
            found = tuple([_of_dim(out, move, found, others) for out in range(len(move.shape))])
            start, others, shape = place + 1, others + len(move.operands) - 1, move.shape
    return _composed(of_plain(shape, start, len(moves)), found, shape)


def _whole(dim: Dim, axis: int, operand: int) -> Origin:
    return (AxisAtom(axis, dim, 1, (), operand),)


def _of_dim(out: int, move: Combine, found: Origins, others: int) -> Origin:
    """Return the origin of one dim of a combination; `found` is that of its input, `others` the operands before."""
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
    places = tuple(dict.fromkeys(place for part in parts for place in places_of(part)))
    return (Reads(places),) if places else ()


def _composed(found: Origins, inner: Origins, shape: Shape) -> Origins:
    """Return origins over a tensor of `shape` as origins over what this is made of."""
    return tuple([None if origin is None else _through(origin, inner, shape) for origin in found])


def _through(origin: Origin, inner: Origins, shape: Shape) -> Origin:
    made = list[Atom]()
    for atom in origin:
        base = _base_of(atom, inner, shape)
        if base is None:
            return _read([inner[axis] or () for _, axis in places_of(origin)])
        made += base
    alone = len(made) == 1 or not any(isinstance(each, (Reads, Joins, Mixes)) for each in made)
    return tuple(made) if alone else _read([tuple(made)])


def _base_of(atom: Atom, inner: Origins, shape: Shape) -> Origin | None:
    """Return what an atom is made of; None if no atoms say it."""
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

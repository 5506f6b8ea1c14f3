"""Origins: which part of the input each dim of an answer is. Wires, words, code and `--json` are made of them.

A dim is a list of atoms, the outermost first. Their sizes multiply to the dim, and the index on the dim is the mixed
radix of their digits. Of an axis that no dim mixes, the position is (start + the sum of stride * digit over all atoms
that name it) mod its size. Of an axis that some dim mixes, an atom says that its digit is
floor((position - start) / stride) mod its size.

A reshape that mixes makes a dim of n steps, each `s` elements long, from axes of m steps that are `t` long. The dim
does not depend on the axis if and only if t * m divides s, or s * n divides t.
"""

from __future__ import annotations

from array import array
from math import prod

from shapecalc.core.conditions import Known
from shapecalc.core.dims import Dim, Sum, all_known, named_dim, plain, product, quotient, substitute, total
from shapecalc.core.layout import (
    EMPTY,
    Atom,
    Atoms,
    Moves,
    View,
    contiguous_strides,
    is_backwards,
    merge,
    positions,
    turned,
    view_through,
    without_zeros,
)
from shapecalc.core.moves import Expand, Pick, Reshape
from shapecalc.core.record import Record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from shapecalc.core.conditions import Conditions
    from shapecalc.core.layout import Level

MOST_TRIED = 1 << 16
"""The most elements of which all positions are computed to see on which axes a dim depends."""

MOST_COMPARED = 64
"""The most axes with which dims that mix are compared one by one; of more, a dim may come from all."""


class AxisAtom(Record):
    """A digit of an input axis: `size` positions that are `stride` apart."""

    axis: int
    size: Dim
    stride: Dim
    start: Sum = ()
    """The position at which the axis begins to be read, as terms; the same in all atoms that name the axis."""

    def as_json(self) -> dict[str, object]:
        """Return the atom as the JSON object that the command line documents."""
        found = {"axis": self.axis, "size": plain(self.size), "stride": plain(self.stride)}
        return found | ({"start": plain_sum(self.start)} if self.start else {})


class Repeats(Record):
    """A digit that reads the same elements again, `size` times."""

    size: Dim

    def as_json(self) -> dict[str, object]:
        """Return the atom as the JSON object that the command line documents."""
        return {"repeats": plain(self.size)}


class Mixes(Record):
    """A whole dim along which the positions on these axes change in no way that atoms can say."""

    axes: tuple[int, ...]
    exact: bool = True
    """Whether the positions are sure to change on all of the axes."""

    def as_json(self) -> dict[str, object]:
        """Return the atom as the JSON object that the command line documents."""
        return {"mixes": [*self.axes]} | ({} if self.exact else {"exact": False})


def plain_sum(terms: Sum) -> object:
    """Return a sum for JSON: a number, or a text.

    >>> plain_sum((3,)), plain_sum((-1, named_dim("N")))
    (3, 'N - 1')
    """
    if len(terms) == 1:
        return plain(terms[0])
    texts = [str(product((-1, term))) if is_negative(term) else str(term) for term in reversed(terms)]
    signs = [" - " if is_negative(term) else " + " for term in reversed(terms)]
    return "".join([part for pair in zip(signs, texts, strict=True) for part in pair]).removeprefix(" + ").strip()


def is_negative(dim: Dim) -> bool:
    """Say whether a term is below 0."""
    return (dim if isinstance(dim, int) else dim.numerator) < 0


Origin = tuple[AxisAtom | Repeats | Mixes, ...]
"""What one dim is made of, the outermost first; nothing for a new dim of 1."""
Origins = tuple[Origin | None, ...]
"""The origin of each dim; None for a dim that holds nothing of the input."""


def origins(moves: Moves, conditions: Conditions, ones: Mapping[int, int]) -> Origins:
    """Return the origin of each output dim of moves, for all sizes that meet the conditions.

    `ones` are the input axes of 1 that output dims of 1 are.
    """
    known = Known(moves.dims, conditions)
    if known.settled:
        moves = moves.rewritten(known.settled)
    found = origins_of(moves, known)
    return tuple([(AxisAtom(ones[out], 1, 1),) if out in ones and not dim else dim for out, dim in enumerate(found)])


def origins_json(found: Origins | None) -> object:
    """Return origins as the JSON that the command line documents."""
    return found and [None if dim is None else [atom.as_json() for atom in dim] for dim in found]


def origins_of(moves: Moves, known: Known) -> tuple[Origin, ...]:
    """Return the origins of the output dims of moves that hold elements; nothing for dims of 1."""
    if 0 in moves.dims:
        found = origins_of(_without_zeros(moves), known)
        return tuple([tuple([_emptied(atom) for atom in origin]) for origin in found])
    view = view_through(moves.input, moves.moves, known)
    return _Account(moves, view, known).origins()


def _without_zeros(moves: Moves) -> Moves:
    """Return the moves with a name for each size of 0, so that the sizes on both sides of each move still agree."""
    shape = without_zeros(moves.input)
    made = []
    for move in moves.moves:
        if isinstance(move, Reshape):
            move = Reshape(without_zeros(move.shape, product(shape)))
        elif isinstance(move, Expand):
            move = Expand(without_zeros(move.shape))
        elif isinstance(move, Pick):
            sizes = tuple([named_dim(EMPTY) if size == 0 else size for size in move.sizes])
            sizes = tuple([dim if size == 0 else size for dim, size in zip(shape, sizes, strict=True)])
            move = Pick(move.starts, move.steps, sizes)
        made.append(move)
        shape = move.after(shape)
    return Moves(without_zeros(moves.input), tuple(made))


def _emptied(atom: AxisAtom | Repeats | Mixes) -> AxisAtom | Repeats | Mixes:
    """Return an atom with 0 for the name that stood for it."""
    if isinstance(atom, Mixes):
        return atom
    size = substitute(atom.size, {EMPTY: 0})
    if isinstance(atom, Repeats):
        return Repeats(size)
    start = total([substitute(term, {EMPTY: 0}) for term in atom.start])
    return AxisAtom(atom.axis, size, substitute(atom.stride, {EMPTY: 0}), start)


class _Account:
    """The origins of a view of an input, found dim by dim."""

    def __init__(self, moves: Moves, view: View, known: Known) -> None:
        self.moves, self.view, self.known = moves, view, known
        self.shape = moves.input
        self.strides = contiguous_strides(moves.input)
        self.axes = [axis for axis, dim in enumerate(moves.input) if dim != 1]
        self.place_of = {self.strides[axis]: place for place, axis in enumerate(self.axes)}
        self.starts: dict[int, Sum] = dict.fromkeys(self.axes, ())
        """Where each axis begins to be read."""
        self.rolled: dict[int, Level] = {}
        """The axes that are read round their end, each with what its atoms step through."""
        self._begin(view.offset)
        self.steps: dict[Level, list[Atom]] = {}
        for atom in [atom for axis in view.axes for atom in axis if atom.stride != 0]:
            self.steps.setdefault(atom.level, []).append(atom)
        self._tried: _Tried | None = None

    def origins(self) -> tuple[Origin, ...]:
        """Return the origin of each dim."""
        found = [self._origin(out) for out in range(len(self.view.axes))]
        torn = self._carried(found)
        while True:
            mixed = {axis for origin in found for atom in origin if isinstance(atom, Mixes) for axis in atom.axes}
            wrong = [
                out
                for out, origin in enumerate(found)
                if any(
                    isinstance(atom, AxisAtom) and self._is_misread(out, origin, atom, mixed, torn) for atom in origin
                )
            ]
            if not wrong:
                return tuple([self._finished(origin) for origin in found])
            for out in wrong:
                found[out] = self._mixes(out)

    def _begin(self, offset: Sum) -> None:
        """Set where axes begin to be read, for a flat index given as terms."""
        for term in offset:
            rest = term
            for axis in self.axes:
                stride = self.strides[axis]
                whole: Dim
                if isinstance(rest, int) and isinstance(stride, int):
                    whole, rest = divmod(rest, stride)
                elif rest != 0 and self.known.divides(stride, rest):
                    whole, rest = quotient(rest, stride), 0
                else:
                    continue
                self.starts[axis] = total((*self.starts[axis], whole))

    def _origin(self, out: int) -> Origin:
        """Return the origin of a dim; that of one that mixes has all its axes."""
        found: list[AxisAtom | Repeats | Mixes] = []
        for atom in self.view.axes[out]:
            read = [Repeats(atom.size)] if atom.stride == 0 else self._digits(atom)
            if read is None:
                return self._mixes(out)
            found += read
        return tuple(found)

    def _digits(self, atom: Atom) -> Sequence[AxisAtom] | None:
        """Return the digits of axes that an atom is; None if it is none of these."""
        backwards = is_backwards(atom)
        (forward,) = turned([atom]) if backwards else (atom,)
        found = self._digits_of_base(forward) if atom.base else self._digits_of_input(forward.size, forward.stride)
        if found is None or not backwards:
            return found
        for digit in found:
            whole, back = product((digit.size, digit.stride)), product((-1, digit.stride))
            around = not all_known((whole,)) and whole == self.shape[digit.axis]
            self.starts[digit.axis] = total((*self.starts[digit.axis], *([] if around else [whole]), back))
        return [AxisAtom(each.axis, each.size, product((-1, each.stride))) for each in found]

    def _digits_of_input(self, size: Dim, stride: Dim) -> list[AxisAtom] | None:
        """Return the digits that steps through the flat index of the input are; None if they are none."""
        found: list[AxisAtom] = []
        for axis in self._axes_from(stride):
            dim, step = self.shape[axis], quotient(stride, self.strides[axis])
            if not self.known.is_whole(step) or not self._is_within(step, dim):
                continue
            if self._ends_within(size, step, dim):
                return [*found, AxisAtom(axis, size, step)][::-1]
            room = quotient(dim, step)
            if not self.known.is_whole(room) or not self.known.divides(room, size):
                return None
            found.append(AxisAtom(axis, room, step))
            size, stride = quotient(size, room), product((self.strides[axis], dim))
        return None

    def _axes_from(self, stride: Dim) -> list[int]:
        """Return the axes that steps of a stride may be on, the innermost first: from the one of that stride on."""
        first = self.place_of.get(stride)
        if first is None:
            return self.axes[::-1] if len(self.axes) <= MOST_COMPARED else []
        return self.axes[first::-1]

    def _is_within(self, step: Dim, dim: Dim) -> bool:
        """Say whether a step on an axis of `dim` is sure to be shorter than the axis."""
        if isinstance(step, int) and isinstance(dim, int):
            return step < dim
        return step != dim and self.known.divides(step, dim)

    def _ends_within(self, size: Dim, step: Dim, dim: Dim) -> bool:
        """Say whether so many steps are sure to end on their axis."""
        if isinstance(size, int) and isinstance(step, int) and isinstance(dim, int):
            return (size - 1) * step < dim
        return self.known.divides(product((size, step)), dim)

    def _digits_of_base(self, atom: Atom) -> list[AxisAtom] | None:
        """Return the digit that an atom is whose base is one whole axis, which may be read round its end."""
        base = merge(atom.base)
        if len(base) != 1 or base[0].base or is_backwards(base[0]):
            return None
        place = self.place_of.get(base[0].stride)
        if place is None:
            return None
        axis = self.axes[place]
        if base[0].size != self.shape[axis] or self.rolled.get(axis, atom.level) != atom.level:
            return None
        if axis not in self.rolled:
            begin = self._fixed_in(atom.level)
            if self.starts[axis] or begin is None:
                return None
            self.rolled[axis], self.starts[axis] = atom.level, total((*atom.start, *begin))
        return [AxisAtom(axis, atom.size, atom.stride)]

    def _fixed_in(self, level: Level) -> Sum | None:
        """Return what the positions that were taken add to steps through a level; None if it cannot be told."""
        found: Sum = ()
        for base, start in self.view.fixed:
            if len(base) == 1 and base[0].level == level:
                found = total((*found, *[product((base[0].stride, term)) for term in start]))
            elif any(_steps_through(atom, level) for atom in base):
                return None
        return found

    def _carried(self, found: Iterable[Origin]) -> set[int]:
        """Return the axes on which the digits together run over the end of the axis, or of one inside it."""
        digits: dict[int, list[AxisAtom]] = {}
        for atom in [atom for origin in found for atom in origin if isinstance(atom, AxisAtom)]:
            digits.setdefault(atom.axis, []).append(atom)
        torn, carry = set[int](), False
        for axis in reversed(self.axes):
            own = digits.get(axis, [])
            dim = self.shape[axis]
            numbers = [dim, *self.starts[axis], *(each for atom in own for each in (atom.size, atom.stride))]
            if not all_known(numbers):
                carry = False
                continue
            reach: list[int] = [(atom.size - 1) * atom.stride for atom in own]  # type: ignore[operator]  # numbers
            first = sum(self.starts[axis])  # type: ignore[arg-type]  # all are numbers
            low, high = first + sum(min(each, 0) for each in reach), first + sum(max(each, 0) for each in reach) + carry
            over = axis not in self.rolled and not 0 <= low <= high < dim  # type: ignore[operator]
            if over or (carry and own):
                torn.add(axis)
            carry = over
        return torn

    def _is_misread(self, out: int, origin: Origin, atom: AxisAtom, mixed: set[int], torn: set[int]) -> bool:
        """Say whether an atom does not say what the document promises of it, now that some axes mix."""
        if atom.axis in torn:
            return True
        if atom.axis not in mixed:
            return False
        if is_backwards(Atom(atom.size, atom.stride)):
            return True
        far = product((atom.stride, self.strides[atom.axis]))
        others = [each for each in self.steps.get(((), ()), []) if each.stride != far]
        fits = self.known.divides(product((atom.size, atom.stride)), self.shape[atom.axis])
        if fits and not self.starts[atom.axis] and all(self._is_apart(each, atom.size, far) for each in others):
            return False
        tried = self._all_tried()
        inside = [each.size for each in origin[origin.index(atom) + 1 :] if not isinstance(each, Mixes)]
        return tried is None or not tried.says(out, product(inside), atom, self.starts[atom.axis])

    def _mixes(self, out: int) -> Origin:
        """Return the origin of a dim that mixes: the axes on which the positions change along it."""
        if len(self.axes) > MOST_COMPARED:
            return (Mixes(tuple(self.axes), exact=False),)
        exact, axes = True, set[int]()
        for atom in self.view.axes[out]:
            if atom.stride != 0:
                more, sure = self._changing(atom)
                axes |= more
                exact &= sure
        if not exact and (tried := self._all_tried()) is not None:
            axes, exact = tried.changing(out), True
        return (Mixes(tuple(sorted(axes)), exact) if axes else Repeats(self.moves.output[out]),)

    def _changing(self, atom: Atom) -> tuple[set[int], bool]:
        """Return the axes on which positions may change along an atom, and whether they are sure to."""
        (forward,) = turned([atom]) if is_backwards(atom) else (atom,)
        steps = self.steps.get(atom.level, [])
        whole = product([each.size for each in atom.base] if atom.base else self.shape)
        exact = not atom.start and product([each.size for each in steps]) == whole and atom.level not in self.view.fixed
        if not atom.base:
            exact &= not self.view.offset
            sure = exact or self._is_nested(forward, steps)
            inner = [(axis, self.shape[axis], self.strides[axis]) for axis in self.axes]
            return {axis for axis, dim, far in inner if not self._is_apart(forward, dim, far, sure=sure)}, exact
        found = set[int]()
        far: Dim = 1
        for part in reversed(self._parts(atom.base)):
            if part.stride != 0 and not self._is_apart(forward, part.size, far):
                digits = self._whole_digits(part)
                more, sure = ({digit.axis for digit in digits}, True) if digits else self._changing(part)
                found |= more
                exact &= sure and digits is not None
            far = product((far, part.size))
        return found, exact

    def _parts(self, base: Atoms) -> list[Atom]:
        """Return the atoms of a base, those that run over several axes apart."""
        found = list[Atom]()
        for atom in base:
            digits = self._whole_digits(atom)
            far = [product((digit.stride, self.strides[digit.axis])) for digit in digits or ()]
            found += [Atom(digit.size, step) for digit, step in zip(digits, far, strict=True)] if digits else [atom]
        return found

    def _whole_digits(self, atom: Atom) -> list[AxisAtom] | None:
        """Return the digits of axes that an atom of a base is, each a whole number of times in its axis."""
        digits = None if atom.base or atom.stride == 0 else self._digits_of_input(*_forward(atom))
        fits = digits and all(
            self.known.divides(product((digit.size, digit.stride)), self.shape[digit.axis]) for digit in digits
        )
        return digits if fits else None

    def _is_apart(self, atom: Atom, size: Dim, stride: Dim, *, sure: bool = True) -> bool:
        """Say whether no position changes along an atom on an axis of `size`, in steps through the same flat index.

        If the atom is not sure to begin where positions of the axis do, only whole turns of the axis count.
        """
        apart = self.known.divides(product((size, stride)), atom.stride)
        return apart or (sure and self.known.divides(product((atom.size, atom.stride)), stride))

    def _is_nested(self, atom: Atom, steps: Iterable[Atom]) -> bool:
        """Say whether the steps of other atoms, and where all begin, are whole turns of an atom, or lie inside it."""
        turn = product((atom.size, atom.stride))
        others = [turned([each])[0] if is_backwards(each) else each for each in steps]
        return all(self.known.divides(turn, term) for term in self.view.offset) and all(
            self.known.divides(turn, each.stride) or self.known.divides(product((each.size, each.stride)), atom.stride)
            for each in others
            if each.stride != atom.stride
        )

    def _all_tried(self) -> _Tried | None:
        """Return the positions of all elements; None if there are too many, or if names have no size."""
        if self._tried is None and all_known(self.moves.dims):
            most = max(int(str(product(shape))) for shape in self.moves.shapes)
            self._tried = _Tried(self.moves) if most <= MOST_TRIED else None
        return self._tried

    def _finished(self, origin: Origin) -> Origin:
        """Return an origin with the starts of its axes, in the fewest atoms."""
        made = list[AxisAtom | Repeats | Mixes]()
        for atom in origin:
            if isinstance(atom, AxisAtom):
                start, dim = self.starts[atom.axis], self.shape[atom.axis]
                if isinstance(dim, int) and all_known(start):
                    start = total((sum(start) % dim,))  # type: ignore[arg-type]  # all are numbers
                atom = replace(atom, start=start)
            match (made[-1] if made else None), atom:
                case AxisAtom() as last, AxisAtom() if self._joins(last, atom):
                    made[-1] = replace(atom, size=product((last.size, atom.size)))
                case Repeats() as last, Repeats():
                    made[-1] = Repeats(product((last.size, atom.size)))
                case _:
                    made.append(atom)
        return tuple(made)

    def _joins(self, outer: AxisAtom, inner: AxisAtom) -> bool:
        """Say whether one atom can stand for two neighbours."""
        return outer.axis == inner.axis and outer.stride == product((inner.size, inner.stride))


class _Tried:
    """The positions of all elements of a tensor of numbers, on each axis of the input."""

    def __init__(self, moves: Moves) -> None:
        self.output = _numbers(moves.output)
        shape = _numbers(moves.input)
        flat = positions(moves, array("q", range(prod(shape))))
        self.places = [
            array("q", [place // prod(shape[axis + 1 :]) % size for place in flat]) for axis, size in enumerate(shape)
        ]

    def changing(self, out: int) -> set[int]:
        """Return the axes on which the positions change along an output dim, for some value of the others."""
        size, inner = self.output[out], prod(self.output[out + 1 :])
        return {axis for axis, places in enumerate(self.places) if _changes(places, size, inner)}

    def says(self, out: int, below: Dim, atom: AxisAtom, start: Sum) -> bool:
        """Say whether the digit of an atom, with others of `below` values inside it, is told by the positions."""
        within, size, stride, first = _numbers((below, atom.size, atom.stride, *(start or (0,))))
        dim, inner = self.output[out], prod(self.output[out + 1 :])
        return all(
            (place - first) // stride % size == index // inner % dim // within % size
            for index, place in enumerate(self.places[atom.axis])
        )


def _numbers(dims: Iterable[Dim]) -> tuple[int, ...]:
    """Return dims that are all numbers."""
    return tuple([int(str(dim)) for dim in dims])


def _changes(places: array[int], size: int, inner: int) -> bool:
    """Say whether positions change along an output dim of `size`, whose indices are `inner` elements apart."""
    for start in range(0, len(places), size * inner):
        first = places[start : start + inner]
        if any(places[start + at * inner : start + (at + 1) * inner] != first for at in range(1, size)):
            return True
    return False


def _steps_through(atom: Atom, level: Level) -> bool:
    """Say whether an atom steps through a level, if only by way of others."""
    return atom.level == level or any(_steps_through(each, level) for each in atom.base)


def _forward(atom: Atom) -> tuple[Dim, Dim]:
    """Return the size and the stride of an atom, read forwards."""
    return atom.size, product((-1, atom.stride)) if is_backwards(atom) else atom.stride

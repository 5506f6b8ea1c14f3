"""Forms: the short ways to write what a chain does, made from the atoms of its output.

Axes that mix nothing are a reshape that splits, a transpose, and a reshape that merges, each left out where it does
nothing. A Shuffle of TensorRT may transpose before its reshape, too: one is enough exactly if the atoms that follow
each other within an axis of the input or of the output form paths that share nothing. Repeated axes come last.
"""

from __future__ import annotations

from itertools import chain, pairwise

from shapecalc.core.algebra.find import order_of
from shapecalc.core.answers.atoms import Atom, merge
from shapecalc.core.answers.moves import Expand, Permute, Reshape
from shapecalc.core.sizes.dims import Dim, Shape, product, quotient
from shapecalc.core.sizes.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import TypeVar

    from shapecalc.core.answers.atoms import Atoms, Axes
    from shapecalc.core.answers.moves import Move
    from shapecalc.core.sizes.known import Known

    Moves = tuple[Move, ...]
    Order = Sequence[int]
    Item = TypeVar("Item")


class Spread(Record):
    """What the axes of a tensor are before and after dims of 1 are repeated."""

    axes: Axes
    """The axes before, without what is repeated."""
    thin: Shape
    wide: Shape

    def without(self, count: int) -> Spread:
        """Return the spread with the first axes only after the repeat, which can add them itself."""
        return Spread(self.axes[count:], self.thin[count:], self.wide)


def forms(before: Shape, axes: Axes, after: Shape, known: Known, *, shuffled: bool = False) -> Iterator[Moves]:
    """Yield moves that make axes of `after`, which hold all atoms of a tensor of shape `before`; none if axes mix.

    The first are of the fewest stages; `shuffled` asks for what one Shuffle can do, too.

    >>> from shapecalc.core.answers.atoms import axes_through
    >>> from shapecalc.core.sizes.known import Known
    >>> moves = [Permute((1, 0)), Reshape((3, 1, 2)), Permute((2, 1, 0))]
    >>> list(forms((2, 3), axes_through((2, 3), moves, Known()), (2, 1, 3), Known()))
    [(Reshape(shape=(2, 1, 3)),)]
    """
    if 0 in after:
        yield from [_reshape(before, after)] if 0 in before else []
        return
    if any(atom.base for axis in axes for atom in axis):
        return
    spread = _spread(axes, after)
    new = next((place for place, dim in enumerate(spread.wide) if dim == spread.thin[place]), len(spread.wide))
    for each in (spread, spread.without(new)) if new else (spread,):
        for way in _ways(before, each, known, shuffled):
            repeat = () if each.thin == each.wide else (Expand(each.wide),)
            yield (*way, *repeat, *_reshape(each.wide, after))


def forms_alone(before: Shape, move: Move) -> Iterator[Moves]:
    """Yield what stands for a single move that puts nothing elsewhere: a reshape, or no move at all."""
    if not isinstance(move, Permute | Reshape | Expand):
        return
    after = move.after(before)
    moving = [axis for axis in move.axes if before[axis] != 1] if isinstance(move, Permute) else []
    if (after == before or isinstance(move, Permute)) and moving == sorted(moving):
        yield _reshape(before, after)


def _reshape(before: Shape, after: Shape) -> tuple[Reshape, ...]:
    return () if before == after else (Reshape(after),)


def _transpose(axes: Order) -> tuple[Permute, ...]:
    return () if list(axes) == sorted(axes) else (Permute(tuple(axes)),)


def _spread(axes: Axes, after: Shape) -> Spread:
    """Return the axes before and after the repeat. An axis that is repeated in part is split into its atoms."""
    whole = all(len(axis) < 2 or all(atom.stride != 0 for atom in axis) for axis in axes)
    if not whole:
        axes = tuple([(atom,) if atom else () for axis in axes for atom in axis or (None,)])
        after = tuple([axis[0].size if axis else 1 for axis in axes])
    kept = tuple([tuple([atom for atom in axis if atom.stride != 0]) for axis in axes])
    thin = tuple([dim if left or not axis else 1 for dim, axis, left in zip(after, axes, kept, strict=True)])
    return Spread(kept, thin, after)


def _ways(before: Shape, spread: Spread, known: Known, shuffled: bool) -> Iterator[Moves]:
    """Yield the ways from a shape to axes that repeat nothing: the one of the fewest stages, and a Shuffle's."""
    axes, after = spread.axes, spread.thin
    column = merge(chain(*axes))
    if len(column) < 2:
        yield _reshape(before, after)
        return
    row = _in_order(column)
    if row:
        order = _whole_axes(before, column)
        yield (
            (order and _moved_alone(before, order, after))
            or _moved_last(axes, before, after)
            or (order and _moved_first(before, order, after))
            or _moved_between(before, row, column, after)
        )
        if shuffled:
            yield from _shuffled(before, axes, after, known)


def _in_order(atoms: Atoms) -> Atoms | None:
    """Return atoms as they lie in the input; None if they do not fill it."""
    waiting = {atom.stride: atom for atom in atoms}
    row, stride = list[Atom](), 1
    while stride in waiting:
        row.append(waiting.pop(stride))
        stride = product((stride, row[-1].size))  # type: ignore[assignment]
    return tuple(row[::-1]) if len(row) == len(atoms) else None


def _moved_between(before: Shape, row: Atoms, column: Atoms, after: Shape) -> Moves:
    """Return a split, a transpose, and a merge."""
    split, moved = (tuple([atom.size for atom in atoms]) for atoms in (row, column))
    return (*_reshape(before, split), Permute(order_of(row, column)), *_reshape(moved, after))


def _end(atom: Atom) -> Dim:
    return product((atom.size, atom.stride))


def _covering(atom: Atom, ends: Mapping[Dim, tuple[Item, Dim]]) -> list[Item] | None:
    """Return the items that fill an atom, the outermost first; None if they do not.

    Each item has its stride, and stands under where it ends: at its size times its stride.
    """
    found: list[Item] = []
    end = _end(atom)
    while end != atom.stride:
        if end not in ends or len(found) == len(ends):
            return None  # the second is of names that are equal and not known to be: `C/H` with `H/C`
        item, end = ends[end]
        found.append(item)
    return found


def _whole_axes(before: Shape, column: Atoms) -> list[int] | None:
    """Return the axes of the input, but for those of 1, in the order of a column; None if it cuts through one."""
    ends: dict[Dim, tuple[int, Dim]] = {}
    stride: Dim = 1
    axes = [axis for axis, dim in enumerate(before) if dim != 1]
    for axis in reversed(axes):
        end = product((stride, before[axis]))
        ends[end], stride = (axis, stride), end
    order = list[int]()
    for atom in column:
        covering = _covering(atom, ends)
        if covering is None:
            return None
        order += covering
    return order if sorted(order) == axes else None


def _moved_alone(before: Shape, order: Order, after: Shape) -> Moves | None:
    """Return a transpose to an order of the axes that are not 1, if that is all."""
    ones = [axis for axis, dim in enumerate(before) if dim == 1]
    if len(ones) != after.count(1) or [before[axis] for axis in order] != [dim for dim in after if dim != 1]:
        return None
    moving, still = iter(order), iter(ones)
    return (Permute(tuple([next(still) if dim == 1 else next(moving) for dim in after])),)


def _moved_first(before: Shape, order: Order, after: Shape) -> Moves:
    """Return a transpose to an order of the input's axes that are not 1, and a reshape."""
    moving = iter(order)
    return (Permute(tuple([axis if dim == 1 else next(moving) for axis, dim in enumerate(before)])), Reshape(after))


def _moved_last(axes: Axes, before: Shape, after: Shape) -> Moves | None:
    """Return a reshape, and a transpose to the output's own axes, if that is all."""
    if any(len(axis) > 1 for axis in axes):
        return None
    outs = {axis[0]: out for out, axis in enumerate(axes) if axis}
    row = _in_order(tuple(outs))
    if row is None or len(row) < sum(map(len, axes)):
        return None
    moving = iter([outs[atom] for atom in row])
    order = [next(moving) if axis else out for out, axis in enumerate(axes)]
    split = tuple([after[out] for out in order])
    return (*_reshape(before, split), Permute(order_of(order, range(len(order)))))


class Unit(Record):
    """Neighbouring axes of the input that stay together, and the atoms that they hold."""

    axes: tuple[int, ...]
    atoms: Atoms


def _shuffled(before: Shape, axes: Axes, after: Shape, known: Known) -> Iterator[Moves]:
    """Yield the transpose, reshape and transpose that one Shuffle can do, if there are any."""
    row = _in_order(tuple(chain(*axes)))
    units = _units(before, row, known) if row else []
    ends = {_end(atom): (atom, atom.stride) for unit in units for atom in unit.atoms}
    parts = [[part for atom in axis for part in _covering(atom, ends) or ()] for axis in axes]
    path = _path([*(unit.atoms for unit in units), *parts])
    if not path:
        return
    place = {atom: at for at, atom in enumerate(path)}
    first = [axis for unit in sorted(units, key=lambda unit: place[unit.atoms[0]]) for axis in unit.axes]
    filled = iter(sorted((out for out, part in enumerate(parts) if part), key=lambda out: place[parts[out][0]]))
    middle = [next(filled) if part else out for out, part in enumerate(parts)]
    moved, shape = tuple([before[axis] for axis in first]), tuple([after[out] for out in middle])
    yield (*_transpose(first), *_reshape(moved, shape), *_transpose(order_of(middle, range(len(middle)))))


def _units(before: Shape, row: Atoms, known: Known) -> list[Unit]:
    """Return the axes of the input with their atoms, which are cut where an axis ends inside one.

    Axes that end inside of atoms and cannot cut them stay with the next axis.
    """
    units, left = list[Unit](), list(row[::-1])
    axes, atoms, rest = list[int](), list[Atom](), product(())
    for axis, dim in enumerate(before):
        axes.append(axis)
        rest = product((rest, dim))
        while rest != 1 and left and known.divides(left[-1].size, rest):
            atoms.append(left.pop())
            rest = quotient(rest, atoms[-1].size)
        if rest != 1 and left and known.divides(rest, left[-1].size):
            atom = left.pop()
            inner = quotient(atom.size, rest)
            left.append(Atom(inner, atom.stride))
            atoms.append(Atom(rest, product((atom.stride, inner))))
            rest = 1
        if rest == 1 and atoms:
            units.append(Unit(tuple(axes), tuple(atoms)))
            axes, atoms = [], []
    last = units.pop() if units else Unit((), ())
    return [*units, Unit(last.axes + tuple(axes), last.atoms + tuple(atoms))]


def _path(rows: Iterable[Sequence[Atom]]) -> list[Atom] | None:
    """Return atoms in an order in which each row stands together; None if there is none."""
    following, leading = dict[Atom, Atom](), dict[Atom, Atom]()
    atoms = dict[Atom, None]()
    for row in rows:
        atoms |= dict.fromkeys(row)
        for one, other in pairwise(row):
            if following.setdefault(one, other) != other or leading.setdefault(other, one) != one:
                return None
    path = list[Atom]()
    for atom in atoms:
        step = None if atom in leading else atom
        while step:
            path.append(step)
            step = following.get(step)
    return path if len(path) == len(atoms) else None

"""Origins through stages that read several operands: what each dim is of the input and of the other operands."""

from __future__ import annotations

from _collections_abc import Callable, Iterable, Sequence

from shapecalc.core.dims import Dim, Shape, product, total
from shapecalc.core.moves import Combine, Move, Place
from shapecalc.core.origins import Atom, AxisAtom, Joins, Mixes, Origin, Origins, Reads, Repeats
from shapecalc.core.record import replace


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


def places_of(origin: Origin | None) -> list[Place]:
    """Return the operands and axes on which a dim depends.

    >>> places_of((AxisAtom(1, 2, 1), AxisAtom(0, 3, 1, (), 2)))
    [(0, 1), (2, 0)]
    """
    found = list["Place"]()
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


def _composed(found: Origins, inner: Origins, shape: Shape) -> Origins:
    """Return origins over a tensor of `shape` as origins over what this is made of."""
    return tuple([None if origin is None else _through(origin, inner, shape) for origin in found])


def _through(origin: Origin, inner: Origins, shape: Shape) -> Origin:
    made = list["Atom"]()
    for atom in origin:
        base = _base_of(atom, inner, shape)
        if base is None:
            return _read([inner[axis] or () for each in origin for axis in _axes(each)])
        made += base
    alone = len(made) == 1 or not any(isinstance(each, (Reads, Joins, Mixes)) for each in made)
    return tuple(made) if alone else _read([tuple(made)])


def _axes(atom: Atom) -> tuple[int, ...]:
    return (atom.axis,) if isinstance(atom, AxisAtom) else getattr(atom, "axes", ())


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
            start = total([product((term, only.stride)) for term in atom.start])
            return (replace(only, size=atom.size, stride=product((atom.stride, only.stride)), start=start),)
    return None

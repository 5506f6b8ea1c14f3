"""What a search for chains needs of arrays: the atoms of a pair, and the proof that a chain does what it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from random import Random
from typing import Any

import numpy as np

from shapecalc.core.answers import Chain, moves_of
from shapecalc.core.commands import read_chain
from shapecalc.core.dims import Shape, all_known, substitute
from shapecalc.core.examples import example_sizes
from shapecalc.core.find import Atoms, Found, Pair, Way, fitting_ways, named_way, ways_between
from shapecalc.core.fixing import answer_chain
from shapecalc.core.layout import position
from shapecalc.core.moves import ravel, unravel
from shapecalc.core.problem import ShapeError, misuse
from shapecalc.core.record import replace
from shapecalc.engine.execute import MOST_DIMS, moved, run

MOST_RUN = 1 << 20
"""The most elements with which a chain is carried out to prove it; of more, some are followed through it."""
FOLLOWED = 20


def chains_between(before: Shape, after: Shape) -> Found:
    """Return the chains that lead from one shape to another, each proved.

    Raises `ShapeError` if the dialect refuses the shapes, usage if no small sizes can be put in for names.

    >>> [way.chain for way in chains_between((2, 3), (3, 2)).ways]
    ['2,3 | reshape 3,2', '2,3 | transpose 1,0']
    """
    found = ways_between(before, after)
    for way in found.ways[:1]:
        if (answer := answer_of(way, {})).problem:
            raise ShapeError(answer.problem, answer)
    return replace(found, ways=tuple(way for way in found.ways if is_proved(way)))


def chains_for(arrays: Sequence[tuple[Any, Any]], shapes: tuple[Shape, Shape] | None = None) -> Found:
    """Return the chains that turn the first array of every pair into the second, each carried out on all of them.

    Without `shapes`, sizes that differ from pair to pair get names. Raises `ShapeError` (usage) if elements of a first
    array are equal, so that nothing tells them apart, and if an array does not have the shape that is asked for.

    >>> x = np.arange(6).reshape(2, 3)
    >>> [way.chain for way in chains_for([(x, x.T)]).ways]
    ['2,3 | transpose 1,0']
    """
    arrays = [(np.asarray(before), np.asarray(after)) for before, after in arrays]
    pairs = [pair_of(before, after) for before, after in arrays]
    known = [pair for pair in pairs if pair is not None]
    if len(known) < len(pairs):
        return Found((), 0)
    fitting = fitting_ways(known, *shapes) if shapes else named_way(known)
    given = list(zip(fitting.sizes, arrays, strict=False))
    done = [way for way in fitting.found.ways if all(does_pair(way, sizes, *pair) for sizes, pair in given)]
    return Found(tuple(done), len(done))


def pair_of(before: Any, after: Any) -> Pair | None:
    """Return what two arrays tell of the way between them; None if no split, transpose and merge leads there.

    Raises `ShapeError` (usage) if elements of the first array are equal.
    """
    if before.size != after.size:
        return None
    positions = _positions(*_keys(before, after))
    atoms = None if positions is None else atoms_of(positions)
    return None if atoms is None else Pair(before.shape, after.shape, atoms)


def _keys(before: Any, after: Any) -> tuple[Any, Any]:
    """Return a number for each element of two arrays; equal elements of one type have equal numbers."""
    if before.dtype != after.dtype:
        common = np.result_type(before.dtype, after.dtype)
        before, after = before.astype(common), after.astype(common)
    flat = [np.ascontiguousarray(array).reshape(-1) for array in (before, after)]
    size = before.dtype.itemsize
    if size in (1, 2, 4, 8):
        return flat[0].view(f"u{size}"), flat[1].view(f"u{size}")
    rows = np.concatenate(flat).view("u1").reshape(-1, size)
    numbers = np.unique(rows, axis=0, return_inverse=True)[1].reshape(2, -1)
    return numbers[0], numbers[1]


def _positions(before: Any, after: Any) -> Any:
    """Return where each element of the second array is in the first; None if it is not there."""
    order = np.argsort(before, kind="stable")
    ordered = before[order]
    if (ordered[1:] == ordered[:-1]).any():
        raise misuse(
            "elements of the first array are equal, so nothing tells them apart",
            "give an array of positions: 0, 1, 2 ...",
        )
    places = np.minimum(np.searchsorted(ordered, after), max(len(ordered) - 1, 0))
    return order[places] if (ordered[places] == after).all() else None


def atoms_of(positions: Any) -> Atoms | None:
    """Return the sizes and strides that lead through positions, the outermost first; None if none do.

    >>> atoms_of(np.arange(6).reshape(2, 3).T.ravel())
    ((3, 1), (2, 3))
    """
    atoms: list[tuple[int, int]] = []
    while len(positions) > 1:
        steps = np.diff(positions)
        size = int(np.argmax(steps != steps[0])) + 1 if (steps != steps[0]).any() else len(positions)
        if len(positions) % size:
            return None
        rows = positions.reshape(-1, size)
        if (np.diff(rows, axis=1) != steps[0]).any():
            return None
        atoms.insert(0, (size, int(steps[0])))
        positions = rows[:, 0]
    ordered = sorted(atoms, key=lambda atom: atom[1])
    tiled = [prod(size for size, _ in ordered[:place]) for place in range(len(ordered))]
    return tuple(atoms) if tiled == [stride for _, stride in ordered] else None


def answer_of(way: Way, sizes: Mapping[str, int]) -> Chain:
    """Return the answer to a way's chain, with sizes put in for names.

    >>> answer_of(Way((2, 3), (2, 3), (1, 0), (6,)), {}).output
    (6,)
    """
    return answer_chain(*read_chain(way.chain), sizes)


def is_proved(way: Way) -> bool:
    """Say whether a way's chain does with element positions what its split and its order say.

    Of many elements, some are followed. Raises `ShapeError` (usage) if no small sizes can be put in for names.
    """
    answer = answer_of(way, {})
    if answer.output != way.after:
        return False
    sizes = {} if answer.concrete else example_sizes(answer, smallest=False)
    split, output = _sizes(way.split, sizes), _sizes(way.after, sizes)
    course, count = moves_of(answer).rewritten(sizes), prod(output)
    if count > MOST_RUN or max(len(split), len(output), len(way.before)) > MOST_DIMS:
        places = [Random(seed).randrange(count) for seed in range(FOLLOWED)]
        return all(position(course, place) == _moved(split, way.perm, place) for place in places)
    every = np.arange(count)
    made = moved(course.moves, every.reshape(course.input))
    return np.array_equal(made.ravel(), _moved(split, way.perm, every) + 0 * every)


def does_pair(way: Way, sizes: Mapping[str, int], before: Any, after: Any) -> bool:
    """Say whether a way's chain turns one array into another, with sizes put in for names."""
    answer = answer_of(way, sizes)
    moved = run(answer, before).array if answer.output == after.shape and answer.input == before.shape else None
    return moved is not None and _bytes(moved) == _bytes(after.astype(moved.dtype))


def _bytes(array: Any) -> bytes:
    return bytes(np.ascontiguousarray(array).tobytes())


def _sizes(shape: Shape, sizes: Mapping[str, int]) -> tuple[int, ...]:
    known = tuple(substitute(dim, sizes) for dim in shape)
    assert all_known(known)
    return known  # type: ignore[return-value]


def _moved(split: tuple[int, ...], perm: tuple[int, ...], place: Any) -> Any:
    """Return the position in the input of the element at a place of the output, by arithmetic on the parts alone."""
    index = dict(zip(perm, unravel(place, [split[axis] for axis in perm]), strict=True))
    return ravel([index[axis] for axis in range(len(split))], split)

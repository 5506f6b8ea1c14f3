"""Find chains for pairs of arrays, and prove each chain by running it."""

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
"""The most elements on which a chain is executed to prove it."""
FOLLOWED = 20
"""The number of elements that are traced through a chain of a larger tensor."""


def chains_between(before: Shape, after: Shape) -> Found:
    """Return the proved chains that lead from one shape to another.

    Raises `ShapeError` if the dialect refuses the shapes, (usage) if names have no small example sizes.

    >>> [way.chain for way in chains_between((2, 3), (3, 2)).ways]
    ['2,3 | reshape 3,2', '2,3 | transpose 1,0']
    """
    found = ways_between(before, after)
    for way in found.ways[:1]:
        if (answer := answer_of(way, {})).problem:
            raise ShapeError(answer.problem, answer)
    return replace(found, ways=tuple(way for way in found.ways if is_proved(way)))


def chains_for(arrays: Sequence[tuple[Any, Any]], shapes: tuple[Shape, Shape] | None = None) -> Found:
    """Return the chains that turn the first array of every pair into the second.

    Each chain is executed on all pairs. Without `shapes`, sizes that differ between pairs get names. Raises
    `ShapeError` (usage) if a first array has equal elements, which are not distinguishable, and if an array does not
    have the requested shape.

    >>> x = np.arange(6).reshape(2, 3)
    >>> [way.chain for way in chains_for([(x, x.T)]).ways]
    ['2,3 | transpose 1,0']
    """
    arrays = [(np.asarray(before), np.asarray(after)) for before, after in arrays]
    pairs = [pair_of(before, after) for before, after in arrays]
    valid = [pair for pair in pairs if pair is not None]
    if len(valid) < len(pairs):
        return Found((), 0)
    fitting = fitting_ways(valid, *shapes) if shapes else named_way(valid)
    samples = list(zip(fitting.sizes, arrays, strict=False))
    solutions = [way for way in fitting.found.ways if all(does_pair(way, sizes, *pair) for sizes, pair in samples)]
    return Found(tuple(solutions), len(solutions))


def pair_of(before: Any, after: Any) -> Pair | None:
    """Return the shapes of two arrays and the atoms that lead from one to the other.

    Returns None if no split, transpose and merge does. Raises `ShapeError` (usage) if elements of the first array are
    equal.
    """
    if before.size != after.size:
        return None
    positions = _positions(*_keys(before, after))
    atoms = None if positions is None else atoms_of(positions)
    return None if atoms is None else Pair(before.shape, after.shape, atoms)


def _keys(before: Any, after: Any) -> tuple[Any, Any]:
    """Return an integer for each element of two arrays, equal where the elements are."""
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
    """Return the position in `before` of each element of `after`.

    Returns None if an element is not in `before`; raises `ShapeError` (usage) if elements of `before` are equal.
    """
    order = np.argsort(before, kind="stable")
    ordered = before[order]
    if (ordered[1:] == ordered[:-1]).any():
        raise misuse(
            "elements of the first array are equal, so nothing tells them apart",
            "give an array of positions: 0, 1, 2 ...",
        )
    ranks = np.minimum(np.searchsorted(ordered, after), max(len(ordered) - 1, 0))
    return order[ranks] if (ordered[ranks] == after).all() else None


def atoms_of(positions: Any) -> Atoms | None:
    """Return the sizes and strides of positions, the outermost first.

    Returns None if the positions are not those of a split and transposed tensor.

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
    expected = [prod(size for size, _ in ordered[:number]) for number in range(len(ordered))]
    return tuple(atoms) if expected == [stride for _, stride in ordered] else None


def answer_of(way: Way, sizes: Mapping[str, int]) -> Chain:
    """Return the answer to the chain of a way, with sizes substituted for names.

    >>> answer_of(Way((2, 3), (2, 3), (1, 0), (6,)), {}).output
    (6,)
    """
    return answer_chain(*read_chain(way.chain), sizes)


def is_proved(way: Way) -> bool:
    """Return whether the chain of a way moves elements as its split and order say.

    Of more than `MAX_EXECUTED` elements, a sample is checked. Raises `ShapeError` (usage) if names have no small
    example sizes.
    """
    answer = answer_of(way, {})
    if answer.output != way.after:
        return False
    sizes = {} if answer.concrete else example_sizes(answer, smallest=False)
    split, output = _sizes(way.split, sizes), _sizes(way.after, sizes)
    moves, count = moves_of(answer).rewritten(sizes), prod(output)
    if count > MOST_RUN or max(len(split), len(output), len(way.before)) > MOST_DIMS:
        sampled = [Random(seed).randrange(count) for seed in range(FOLLOWED)]
        return all(position(moves, sample) == _moved(split, way.perm, sample) for sample in sampled)
    positions = np.arange(count)
    result = moved(moves.moves, positions.reshape(moves.input))
    return np.array_equal(result.ravel(), _moved(split, way.perm, positions) + 0 * positions)


def does_pair(way: Way, sizes: Mapping[str, int], before: Any, after: Any) -> bool:
    """Return whether the chain of a way turns one array into another.

    `sizes` are substituted for names.
    """
    answer = answer_of(way, sizes)
    result = run(answer, before).array if answer.output == after.shape and answer.input == before.shape else None
    return result is not None and _bytes(result) == _bytes(after.astype(result.dtype))


def _bytes(array: Any) -> bytes:
    return bytes(np.ascontiguousarray(array).tobytes())


def _sizes(shape: Shape, sizes: Mapping[str, int]) -> tuple[int, ...]:
    known = tuple(substitute(dim, sizes) for dim in shape)
    assert all_known(known)
    return known  # type: ignore[return-value]


def _moved(split: tuple[int, ...], perm: tuple[int, ...], place: Any) -> Any:
    """Return the input position of the element at an output position, by arithmetic."""
    index = dict(zip(perm, unravel(place, [split[axis] for axis in perm]), strict=True))
    return ravel([index[axis] for axis in range(len(split))], split)

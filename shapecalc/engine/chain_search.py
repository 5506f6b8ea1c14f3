"""Find chains of ops that rearrange one shape or array into another.

Each chain is verified by executing it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from random import Random
from typing import Any

import numpy as np

from shapecalc.core.answers import Chain, to_move_chain
from shapecalc.core.dims import Shape, is_concrete, substitute
from shapecalc.core.layout import input_index
from shapecalc.core.moves import ravel, unravel
from shapecalc.core.problem import ShapeError, usage_error
from shapecalc.core.record import replace
from shapecalc.engine.execute import MAX_DIMS, apply_moves, run
from shapecalc.reading.commands import parse_chain
from shapecalc.reasoning.answers import answer_chain
from shapecalc.reasoning.examples import example_sizes
from shapecalc.reasoning.find import (
    ArrayPair,
    ChainSearchResult,
    Rearrangement,
    SizesAndStrides,
    find_rearrangements_for_pairs,
    generalize_pairs,
    search_chains,
)

MAX_VERIFIED_ELEMENTS = 1 << 20
"""The maximum element count for which a chain is verified on all elements."""
SAMPLED_ELEMENTS = 20
"""The number of elements on which a chain is verified if there are too many to verify all."""


def find_chains(before: Shape, after: Shape) -> ChainSearchResult:
    """Return the verified chains of ops from the shape `before` to the shape `after`.

    Raises `ShapeError` with its problem if the first chain is refused, and (usage) if no small sizes satisfy the
    conditions of a chain.

    >>> [way.chain for way in find_chains((2, 3), (3, 2)).ways]
    ['2,3 | reshape 3,2', '2,3 | transpose 1,0']
    """
    found = search_chains(before, after)
    for rearrangement in found.ways[:1]:
        if (answer := resolve_rearrangement(rearrangement, {})).problem:
            raise ShapeError(answer.problem, answer)
    return replace(found, ways=tuple(way for way in found.ways if has_intended_effect(way)))


def find_chains_for_arrays(
    arrays: Sequence[tuple[Any, Any]], shapes: tuple[Shape, Shape] | None = None
) -> ChainSearchResult:
    """Return the chains that convert the first array of each pair to the second.

    Each chain is verified on all pairs. `shapes` are the shapes of the arrays; if they are None, a dim whose size
    differs between pairs becomes symbolic. Raises `ShapeError` (usage) if the elements of the first array of a pair are
    not distinct, or if an array does not match `shapes`.

    >>> x = np.arange(6).reshape(2, 3)
    >>> [way.chain for way in find_chains_for_arrays([(x, x.T)]).ways]
    ['2,3 | transpose 1,0']
    """
    arrays = [(np.asarray(before), np.asarray(after)) for before, after in arrays]
    pairs = [make_array_pair(before, after) for before, after in arrays]
    valid = [pair for pair in pairs if pair is not None]
    if len(valid) < len(pairs):
        return ChainSearchResult((), 0)
    fitting = find_rearrangements_for_pairs(valid, *shapes) if shapes else generalize_pairs(valid)
    samples = list(zip(fitting.sizes, arrays, strict=False))
    solutions = [
        rearrangement
        for rearrangement in fitting.search.ways
        if all(is_valid_for_arrays(rearrangement, sizes, *pair) for sizes, pair in samples)
    ]
    return ChainSearchResult(tuple(solutions), len(solutions))


def make_array_pair(before: Any, after: Any) -> ArrayPair | None:
    """Describe how the elements of one array are rearranged in another array.

    The result contains both shapes, and the view of `before` that has the elements in the order of `after`, as sizes
    and strides. Returns None if there is no such view. Raises `ShapeError` (usage) if elements of `before` are equal.
    """
    if before.size != after.size:
        return None
    positions = _find_source_indices(*_element_keys(before, after))
    atoms = None if positions is None else factor_flat_indices(positions)
    return None if atoms is None else ArrayPair(before.shape, after.shape, atoms)


def _element_keys(before: Any, after: Any) -> tuple[Any, Any]:
    """Encode the elements of two arrays as integers.

    Two elements have the same integer if and only if they are equal.
    """
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


def _find_source_indices(before: Any, after: Any) -> Any:
    """Return the flat index in `before` of each element of `after`.

    Returns None if an element is not in `before`; raises `ShapeError` (usage) if elements of `before` are equal.
    """
    order = np.argsort(before, kind="stable")
    ordered = before[order]
    if (ordered[1:] == ordered[:-1]).any():
        raise usage_error(
            "elements of the first array are equal, so nothing tells them apart",
            "give an array of positions: 0, 1, 2 ...",
        )
    ranks = np.minimum(np.searchsorted(ordered, after), max(len(ordered) - 1, 0))
    return order[ranks] if (ordered[ranks] == after).all() else None


def factor_flat_indices(positions: Any) -> SizesAndStrides | None:
    """Factor a sequence of flat indices into sizes and strides, outermost first.

    Returns None if no split and transpose of a tensor yields its elements in this order.

    >>> factor_flat_indices(np.arange(6).reshape(2, 3).T.ravel())
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


def resolve_rearrangement(rearrangement: Rearrangement, sizes: Mapping[str, int]) -> Chain:
    """Resolve the chain of a rearrangement, with values for its symbolic sizes.

    >>> resolve_rearrangement(Rearrangement((2, 3), (2, 3), (1, 0), (6,)), {}).output
    (6,)
    """
    return answer_chain(*parse_chain(rearrangement.chain), sizes)


def has_intended_effect(rearrangement: Rearrangement) -> bool:
    """Return whether the chain of a rearrangement moves each element as intended.

    The intended index is computed from the split and the permutation of the rearrangement. If there are more than
    `MAX_VERIFIED_ELEMENTS` elements, only a sample is checked. Raises `ShapeError` (usage) if no small sizes satisfy
    the conditions of the chain.
    """
    answer = resolve_rearrangement(rearrangement, {})
    if answer.output != rearrangement.after:
        return False
    sizes = {} if answer.is_concrete else example_sizes(answer, smallest=False)
    split, output = _substitute_sizes(rearrangement.split, sizes), _substitute_sizes(rearrangement.after, sizes)
    moves, count = to_move_chain(answer).substitute(sizes), prod(output)
    if count > MAX_VERIFIED_ELEMENTS or max(len(split), len(output), len(rearrangement.before)) > MAX_DIMS:
        sampled = [Random(seed).randrange(count) for seed in range(SAMPLED_ELEMENTS)]
        return all(
            input_index(moves, sample) == _compute_expected_index(split, rearrangement.perm, sample)
            for sample in sampled
        )
    positions = np.arange(count)
    result = apply_moves(moves.moves, positions.reshape(moves.input))
    return np.array_equal(result.ravel(), _compute_expected_index(split, rearrangement.perm, positions) + 0 * positions)


def is_valid_for_arrays(rearrangement: Rearrangement, sizes: Mapping[str, int], before: Any, after: Any) -> bool:
    """Return whether the chain of a rearrangement converts `before` to `after`.

    `sizes` are the values of the symbolic sizes.
    """
    answer = resolve_rearrangement(rearrangement, sizes)
    result = run(answer, before).array if answer.output == after.shape and answer.input == before.shape else None
    return result is not None and _to_bytes(result) == _to_bytes(after.astype(result.dtype))


def _to_bytes(array: Any) -> bytes:
    return bytes(np.ascontiguousarray(array).tobytes())


def _substitute_sizes(shape: Shape, sizes: Mapping[str, int]) -> tuple[int, ...]:
    known = tuple(substitute(dim, sizes) for dim in shape)
    assert is_concrete(known)
    return known  # type: ignore[return-value]


def _compute_expected_index(split: tuple[int, ...], perm: tuple[int, ...], position: Any) -> Any:
    """Return the flat input index of the element at the flat output index `position`.

    `split` is the shape whose axes are transposed by `perm`.
    """
    index = dict(zip(perm, unravel(position, [split[axis] for axis in perm]), strict=True))
    return ravel([index[axis] for axis in range(len(split))], split)

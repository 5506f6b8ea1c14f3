"""Lines, boxes and what is read for them: every box of a chain's output is NumPy's, whatever the chunks."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapecalc.core.answers.moves import Expand, Permute, Pick, Reshape
from shapecalc.engine.backends import NUMPY
from shapecalc.engine.stores.aligning import aligned
from shapecalc.engine.stores.boxes import spans
from shapecalc.engine.stores.filling import filled
from shapecalc.engine.stores.lines import LinesError, lines_of
from shapecalc.engine.stores.reads import boxes_of, count_elements
from tests.sampling import examples

VOLUMES = [1, 2, 6, 12, 30, 60, 64, 72, 77, 96, 120, 210]


@st.composite
def shapes(draw, volume):
    """Draw a shape of a volume, of rank 0 to 6."""
    sizes = []
    for _ in range(draw(st.integers(0, 5))):
        sizes.append(draw(st.sampled_from([size for size in range(1, volume + 1) if volume % size == 0])))
        volume //= sizes[-1]
    return tuple(draw(st.permutations([*sizes, volume] if volume > 1 or draw(st.booleans()) else sizes)))


@st.composite
def chains(draw):
    """Draw a shape and moves that a store is carried through."""
    source = shape = draw(shapes(draw(st.sampled_from(VOLUMES))))
    moves = []
    for _ in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from([Permute, Permute, Reshape, Reshape, Expand]))
        if kind is Permute:
            move = Permute(tuple(draw(st.permutations(range(len(shape))))))
        elif kind is Reshape:
            move = Reshape(draw(shapes(prod(shape))))
        else:
            move = Expand(tuple([draw(st.sampled_from([1, 3])) if size == 1 else size for size in shape]))
        moves.append(move)
        shape = move.after(shape)
    return source, tuple(moves)


@examples(600)
@given(chains(), st.data())
def test_every_box_of_an_output_is_numpys_and_reads_no_more_than_is_counted(chain, data):
    shape, moves = chain
    array = np.arange(prod(shape)).reshape(shape)
    want = NUMPY.move(array, moves)
    try:
        lines = lines_of(shape, moves)
    except LinesError:
        return
    starts = [data.draw(st.integers(0, size - 1)) for size in want.shape]
    box = tuple([(at, data.draw(st.integers(at + 1, size))) for at, size in zip(starts, want.shape, strict=True)])
    chunks = tuple([data.draw(st.integers(1, size)) for size in shape])
    part = want[tuple([slice(*span) for span in box])]
    np.testing.assert_array_equal(filled(lines, box, array, chunks), part)
    touched = {
        tuple(at // step for at, step in zip(np.unravel_index(flat, shape), chunks, strict=True)) for flat in part.flat
    }
    held = [
        np.zeros(shape)[tuple([slice(a * c, a * c + c) for a, c in zip(at, chunks, strict=True)])] for at in touched
    ]
    assert count_elements(lines, box, chunks) == sum(each.size for each in held)


@given(st.lists(st.integers(2, 5), min_size=1, max_size=4), st.data())
def test_spans_are_boxes_that_hold_the_positions_in_order(sizes, data):
    start = data.draw(st.integers(0, prod(sizes) - 1))
    stop = data.draw(st.integers(start + 1, prod(sizes)))
    found = spans(start, stop, sizes)
    places = np.arange(prod(sizes)).reshape(sizes)
    held = [places[tuple([slice(*part) for part in box])].ravel().tolist() for _, box in found]
    assert held == [[*range(*span)] for span, _ in found]
    assert [place for part in held for place in part] == [*range(start, stop)]
    assert len(found) <= 2 * len(sizes) - 1


@given(st.lists(st.integers(2, 6), min_size=1, max_size=4), st.permutations(range(4)))
def test_parts_that_line_up_have_the_sizes_of_both_rows(sizes, order):
    other = [sizes[place] for place in order if place < len(sizes)]
    segments = aligned(sizes, other)
    for row, name in ((sizes, "ours"), (other, "theirs")):
        for place, size in enumerate(row):
            assert prod(part for each in segments for at, part in getattr(each, name) if at == place) == size
    assert all(prod(a for _, a in each.ours) == prod(b for _, b in each.theirs) for each in segments)


def test_what_lines_up_is_one_part_on_both_sides():
    lines = lines_of((6, 8), [Permute((1, 0)), Reshape((2, 4, 6)), Permute((2, 0, 1))]).lines
    assert sorted(line.size for line in lines) == [2, 4, 6]
    assert not any(line.mixed for line in lines)


def test_a_mix_that_a_later_reshape_undoes_is_none():
    assert not any(line.mixed for line in lines_of((4, 5, 6), [Reshape((6, 5, 4)), Reshape((4, 30))]).lines)


@pytest.mark.parametrize(
    ("shape", "moves"),
    [
        ((4, 6), [Pick((0, 0), (1, 1), (2, 6))]),
        ((2, 3), [Reshape((3, 2)), Permute((1, 0)), Reshape((3, 2))]),
    ],
)
def test_moves_that_lines_cannot_say_are_refused(shape, moves):
    with pytest.raises(LinesError):
        lines_of(shape, moves)


def test_the_boxes_of_a_grid_hold_every_element_once():
    counts = np.zeros((5, 4), int)
    for box in boxes_of(counts.shape, (2, 3)):
        counts[tuple([slice(*span) for span in box])] += 1
    assert (counts == 1).all()

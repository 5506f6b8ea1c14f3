"""Axis maps, regions and their reads: each region of an output equals NumPy's, for all chunks."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapecalc.core.moves import Expand, Permute, Reshape, Roll, ShapeVector, StridedSlice
from shapecalc.engine.stores.axis_map import MoveError, build_axis_map, split_into_axis_maps
from shapecalc.engine.stores.regions import count_decoded_elements, fill_regions, iter_grid_cells, split_range
from tests.engine.drawing import draw_chain, factors, seeds
from tests.numpy_moves import apply_with_numpy
from tests.sampling import examples

VOLUMES = [1, 2, 6, 12, 30, 60, 64, 72, 77, 96, 120, 210]


@st.composite
def chains(draw):
    """Draw a shape and moves."""
    random = draw(seeds)
    shape = factors(random, draw(st.sampled_from(VOLUMES)))
    shape = draw(st.sampled_from([shape, shape, (1, *shape), () if shape == (1,) else shape]))
    return shape, draw_chain(random, shape, without=("scattered", "empty")).moves


def boxes(draw, shape):
    starts = [draw(st.integers(0, size - 1)) for size in shape]
    return tuple([(at, draw(st.integers(at + 1, size))) for at, size in zip(starts, shape, strict=True)])


class ReadRecorder:
    """An array that records the parts read."""

    def __init__(self, array):
        self.array, self.dtype, self.read = array, array.dtype, []

    def __getitem__(self, slices):
        self.read.append(tuple([(part.start, part.stop) for part in slices]))
        return self.array[slices]


def cut(box):
    return tuple([slice(*span) for span in box])


@examples(45)
@given(chains(), st.data())
def test_axis_maps_compose_as_numpy_and_boxes_are_exact(chain, data):
    shape, moves = chain
    array = np.arange(prod(shape)).reshape(shape)
    want = apply_with_numpy(array, moves)
    for each in split_into_axis_maps(shape, moves):
        chunks, steps = (
            [data.draw(st.integers(1, size)) for size in dims] for dims in (each.source_shape, each.output_shape)
        )
        whole = fill_regions(each, [tuple([(0, size) for size in each.output_shape])], array, chunks)[0]
        box = boxes(data.draw, each.output_shape)
        part = whole[cut(box)]
        np.testing.assert_array_equal(fill_regions(each, [box], array, chunks)[0], part)
        places = fill_regions(each, [box], np.arange(prod(each.source_shape)).reshape(each.source_shape), chunks)[0]
        touched = {
            tuple([at // step for at, step in zip(np.unravel_index(flat, each.source_shape), chunks, strict=True)])
            for flat in places.flat
        }
        held = [array[tuple([slice(a * c, a * c + c) for a, c in zip(at, chunks, strict=True)])] for at in touched]
        assert count_decoded_elements(each, box, chunks) == sum(one.size for one in held)
        together, source = [*iter_grid_cells(each.output_shape, steps)], ReadRecorder(array)
        for own, found in zip(together, fill_regions(each, together, source, chunks), strict=True):
            np.testing.assert_array_equal(found, whole[cut(own)])
        if not any(each.rolls):
            blocks = [tuple([a // step for (a, _), step in zip(own, chunks, strict=True)]) for own in source.read]
            assert len({*blocks}) == len(blocks)
        array = whole
    np.testing.assert_array_equal(array, want)


@given(st.lists(st.integers(2, 5), min_size=1, max_size=4), st.data())
def test_axis_map_spans_hold_positions_in_order(sizes, data):
    start = data.draw(st.integers(0, prod(sizes) - 1))
    stop = data.draw(st.integers(start + 1, prod(sizes)))
    found = split_range(start, stop, sizes)
    places = np.arange(prod(sizes)).reshape(sizes)
    held = [places[cut(box)].ravel().tolist() for _, box in found]
    assert held == [[*range(*span)] for span, _ in found]
    assert [place for part in held for place in part] == [*range(start, stop)]
    assert len(found) <= 2 * len(sizes) - 1


@examples(45)
@given(chains())
def test_axis_map_covers_the_output_once(chain):
    for each in split_into_axis_maps(*chain):
        for axes, shape, rest in (
            (each.source_sub_axes, each.source_shape, False),
            (each.output_sub_axes, each.output_shape, True),
        ):
            for atoms, size in zip(axes, shape, strict=True):
                assert prod(atom.size for atom in atoms) == size or not rest
                assert sum(abs(atom.stride) * (atom.size - 1) for atom in atoms) < size
        for run in each.groups:
            assert prod(atom.size for atom in run.sources) == run.size


def test_axis_map_merges_aligned_parts():
    runs = build_axis_map((6, 8), [Permute((1, 0)), Reshape((2, 4, 6)), Permute((2, 0, 1))]).groups
    assert sorted(run.size for run in runs) == [2, 4, 6]
    undone = build_axis_map((4, 5, 6), [Reshape((6, 5, 4)), Reshape((4, 30))]).groups
    assert not any(run.is_mixed for run in (*runs, *undone))


MIX = [Reshape((3, 2)), Permute((1, 0)), Reshape((3, 2))]


@pytest.mark.parametrize(
    ("shape", "moves", "rows"),
    [
        ((40, 30, 20), [StridedSlice((39, 3, 0), (-1, 5, 1), (40, 4, None)), Permute((1, 0)), Reshape((160,))], 1),
        ((56, 56), [Roll(-3, 0), Roll(-3, 1), Reshape((8, 7, 8, 7)), Permute((0, 2, 1, 3))], 1),
        ((4, 6), [Reshape((24,)), StridedSlice((23,), (-1,), (24,))], 1),
        ((4, 6), [Reshape((24,)), Roll(5, 0)], 2),
        ((4, 6), [Reshape((24,)), StridedSlice((0,), (5,), (5,))], 2),
        ((2, 3), MIX, 2),
        ((2, 3), [*MIX, Permute((1, 0)), Reshape((3, 2))], 3),
    ],
)
def test_axis_map_count_is_minimal(shape, moves, rows):
    assert len(split_into_axis_maps(shape, moves)) == rows


def test_axis_map_intermediate_array_is_smallest():
    moves = [Reshape((3, 2)), Permute((1, 0)), Reshape((1, 2, 3)), Expand((7, 2, 3)), Reshape((7, 3, 2))]
    assert [prod(each.source_shape) for each in split_into_axis_maps((2, 3), moves)] == [6, 6]


def test_axis_map_refuses_empty_moves():
    with pytest.raises(MoveError, match="no element moves"):
        split_into_axis_maps((4, 5), [ShapeVector(0, 1)])


def test_grid_boxes_cover_every_element_once():
    counts = np.zeros((5, 4), int)
    for box in iter_grid_cells(counts.shape, (2, 3)):
        counts[cut(box)] += 1
    assert (counts == 1).all()

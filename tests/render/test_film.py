"""Check films: elements equal those of NumPy, and sprites do not overlap."""

from __future__ import annotations

import re
from math import prod

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shapecalc.engine.execute import run
from shapecalc.render.canvas import UNICODE, clip_text
from shapecalc.render.film import render_screen
from shapecalc.render.scenes import INPUT_ROW, MIN_FILM_HEIGHT, OUTPUT_ROW, collect_tracks, make_film, sprites_at
from shapecalc.render.stage_layout import stage_layouts
from tests.render.questions import COMBINING, answer_to, answers
from tests.sampling import examples
from tests.strategies import factorisations, permutations

SCREEN_SIZES = st.sampled_from([(80, 24), (120, 40), (200, 60), (60, MIN_FILM_HEIGHT)])


def memory_cells(frame):
    """Return the elements in each memory of a frame, in cell order."""
    cells_by_memory = {}
    for key, sprite in frame.sprites.items():
        if match := re.fullmatch(r"cell(\d+)\.(\d+)", key):
            cells_by_memory.setdefault(int(match[1]), {})[int(match[2])] = int(sprite.text)
    return {memory: [cells[cell] for cell in sorted(cells)] for memory, cells in cells_by_memory.items()}


def text_of(film, number=-1):
    return render_screen(film, film.frames[number].sprites.values()).plain


@given(answers(), SCREEN_SIZES)
@examples(45)
def test_film_captions_fit_without_overlap(answer, screen_size):
    film = make_film(answer, *screen_size)
    assert film.height <= screen_size[1]
    for frame in film.frames:
        owners = {}
        for key, sprite in frame.sprites.items():
            assert 0 <= sprite.y < film.height
            assert 0 <= sprite.x <= sprite.x + len(sprite.text) <= film.width
            for x in range(int(sprite.x), int(sprite.x) + len(sprite.text)):
                owner = owners.setdefault((x, sprite.y), key)
                assert owner == key or (owner.startswith("bar") and key.startswith("bar")), text_of(film)


HUGE = {
    f"reshape {','.join(['9' * 999] * 5)} -1,7": "",
    f"transpose {'9' * 999},{'9' * 999} 1,0": "no memory is drawn: none holds so many elements",
    "reshape 9000000000000000000 -1,9": "of large memories the first cells are shown",
    "expand 3 1000000000000,3": "of large memories the first cells are shown",
    "tile 2,3 100000000,100000000": "of large memories the first cells are shown",
    f"reshape {','.join(['1'] * 2000)} 1": "dims from 11 on have no room",
    f"reshape {','.join(f'N{number}' for number in range(40))} -1": "dims from 11 on have no room",
}


@pytest.mark.parametrize("line", HUGE, ids=lambda line: line[:30])
def test_film_of_huge_counts_reports_omissions(line):
    film = make_film(answer_to(line))
    for number in range(len(film.frames)):
        assert all(len(row) <= film.width for row in text_of(film, number).split("\n"))
    assert HUGE[line] in "; ".join(film.notes)
    assert text_of(film).rstrip().endswith(clip_text("; ".join(film.notes), film.width, UNICODE))


@given(answers(without=("shape", *COMBINING)), SCREEN_SIZES)
@examples(45)
def test_film_memory_equals_numpy(answer, screen_size):
    assume(answer.is_concrete)
    assume(all(prod(dim or 1 for dim in shape) <= 10_000 for shape in (answer.input, answer.output)))
    expected = run(answer, np.arange(prod(answer.input)).reshape(answer.input)).array.ravel()
    (cells,) = memory_cells(make_film(answer, *screen_size).frames[-1]).values() or [[]]
    assert cells == expected[: len(cells)].tolist()
    assert bool(cells) == bool(expected.size)


@given(answers(), st.floats(0, 1))
@examples(45)
def test_film_file_tracks_equal_screen_pictures(answer, part):
    film = make_film(answer)
    second = part * film.seconds
    sprites = sorted(
        (sprite.text, sprite.text_style) for sprite in sprites_at(film, film.frame_starts, second) if sprite.text
    )
    tracks = sorted(
        (track.text, track.text_style)
        for track in collect_tracks(film)
        if track.start <= second < track.end and track.text
    )
    assert second == film.seconds or sprites == tracks


def view_at(array, text):
    """Return the sorted elements at an index with colons and ranges."""
    parts = [part for part in text.strip("[]").split(",") if part]
    slices = [
        slice(None) if part == ":" else slice(int(part.split("..")[0]), int(part.split("..")[-1]) + 1) for part in parts
    ]
    return sorted(np.atleast_1d(array)[tuple(slices)].ravel().tolist())


@given(permutations(), SCREEN_SIZES)
@examples(45)
def test_film_moved_elements_match_reads_and_writes(transpose, screen_size):
    shape, perm = transpose
    answer = answer_to(f"transpose {','.join(map(str, shape)) or '[]'} {','.join(map(str, perm)) or '[]'}")
    assume(answer.output is not None and prod(shape))
    before = np.arange(prod(shape)).reshape(shape)
    film = make_film(answer, *screen_size)
    captions = [
        frame.sprites["part"].text
        for frame in film.frames
        if "part" in frame.sprites and frame.sprites["part"].text[-1] == "]"
    ]
    assert captions
    for text in captions:
        target, source = re.fullmatch(r"out(\[.*\]) = in(\[.*\])", text).groups()
        assert view_at(before.transpose(perm), target) == view_at(before, source)


small = st.lists(st.integers(1, 4), max_size=4).map(tuple)


@given(small.flatmap(lambda shape: st.tuples(st.just(shape), factorisations(prod(shape)))))
@examples(45)
def test_film_reshape_moves_no_element(reshape):
    shape, target = (",".join(map(str, dims)) or "[]" for dims in reshape)
    cells = [
        {key: (sprite.x, sprite.y, sprite.text) for key, sprite in frame.sprites.items() if key.startswith("cell")}
        for frame in make_film(answer_to(f"reshape {shape} {target}")).frames
    ]
    assert len(cells[0])
    assert all(frame_cells == cells[0] for frame_cells in cells)


def frame_numbers(film, step):
    return [number for number, frame in enumerate(film.frames) if frame.step_index == step]


def test_film_copied_zero_highlights_its_column():
    film = make_film(answer_to("reshape 2,2,3,2 -1,0,0"))
    for step, out, dim in ((0, 1, "2"), (1, 2, "3")):
        number = frame_numbers(film, step)[-1]
        start, end = (film.frames[at].sprites[f"dim1.{out}"] for at in (number - 1, number))
        assert (start.x, start.y, start.text) == (end.x, INPUT_ROW, "")
        assert (end.y, end.text.split()[-1]) == (OUTPUT_ROW, dim)
        halfway = sprites_at(
            film, film.frame_starts, film.frame_starts[number] + film.frames[number].arrival_seconds / 2
        )
        gliding = [sprite.y for sprite in halfway if (sprite.text, sprite.x) == (end.text, end.x)]
        assert gliding == [pytest.approx((INPUT_ROW + OUTPUT_ROW) / 2)]
        sprites = film.frames[number].sprites
        lit = {key for key, sprite in sprites.items() if sprite.text_style == "lit"}
        assert lit - {"rail1"} == {f"index{out}", f"dim0.{out}", f"asked{out}", f"dim1.{out}"}
        assert len({sprites[key].x for key in lit - {"rail1"}}) == 1


def test_film_minus_one_is_filled_from_the_budget():
    film = make_film(answer_to("reshape 2,3,4 0,-1"))
    last = film.frames[frame_numbers(film, 1)[-1]].sprites
    pieces = [sprite for key, sprite in last.items() if key.startswith("piece")]
    assert len(pieces) == 12
    assert {piece.y for piece in pieces} == {last["part"].y} == {last["sumbar"].y + 1}
    assert sum(len(piece.text) for piece in pieces) == len(last["sumbar"].text)
    assert last["part"].text == "-1      24 / 2 = 12"
    counts = [frame.sentence for frame in film.frames if frame.sentence.startswith("The known dims fit")]
    assert [counts[0], counts[-1]] == ["The known dims fit 2 times.", "The known dims fit 12 times."]


def prompted_dims(prompt):
    """Return the dims that a prompt asks for."""
    numbers = [int(number) for number in re.findall(r"\d+", re.split(", asked| fetches", prompt.question)[0])]
    return range(numbers[0], numbers[1] + 1) if " to " in prompt.question else numbers


@given(answers())
@examples(45)
def test_film_asks_for_each_unknown_dim_once(answer):
    film, prompted = make_film(answer), 0
    for before, frame in zip(film.frames, film.frames[1:], strict=False):
        dims = prompted_dims(frame.prompt) if frame.prompt else ()
        prompted += len(dims)
        holes = [key for key in before.sprites if key.startswith("hole")]
        assert all(f"hole{dim}" in holes or dim >= len(holes) - 1 for dim in dims)
    assert prompted == sum(
        cell.step_index < len(answer.steps)
        and not (layout.is_regrouping and str(cell.dim) in map(str, layout.stage.requested[out:][:1]))
        for layout in stage_layouts(answer)
        for out, cell in enumerate(layout.cells)
    )


def test_film_bars_move_from_old_to_new_cuts():
    film = make_film(answer_to("reshape 2,3,4 4,6"))
    moving_keys = [
        {key for key, sprite in frame.sprites.items() if "~" in key and sprite.text} for frame in film.frames
    ]
    number = next(number for number, keys in enumerate(moving_keys) if keys)
    moving = {key: sprite for key, sprite in film.frames[number].sprites.items() if re.fullmatch(r"bar0\.0\..*", key)}
    starts = {film.frames[number - 1].sprites[key].x for key in moving}
    positions = [film.frames[0].sprites[f"cell0.{cell}"].x - 1 for cell in range(24)] + [72]
    assert starts == {positions[cell] for cell in range(0, 25, 4)}
    assert {sprite.x for sprite in moving.values()} == {positions[cell] for cell in range(0, 25, 6)}


def test_film_shows_a_permutation_as_places_that_fetch():
    film = make_film(answer_to("transpose 2,3,4 1,2,0"))
    texts = {sprite.text for sprite in film.frames[1].sprites.values()}
    assert {"place 0 fetches dim 1", "place 1 fetches dim 2", "place 2 fetches dim 0", "dim 2"} <= texts
    rows = {sprite.y: sprite.text for key, sprite in film.frames[-1].sprites.items() if key.startswith("dim1.")}
    assert [rows[y] for y in sorted(rows)] == ["b 3", "c 4", "a 2"], "each dim is in the row of its place"
    turned = make_film(answer_to("transpose 2,2,2,2,2,2,2,2 7,6,5,4,3,2,1,0"))
    assert "fetches" in {sprite.text for sprite in turned.frames[1].sprites.values()}

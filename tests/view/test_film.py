"""Films: what they show is what NumPy makes of the elements, and nothing stands over anything else."""

from __future__ import annotations

import re
from math import prod

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shapecalc.engine.execute import run
from shapecalc.view.canvas import UNICODE, clip
from shapecalc.view.film import screen
from shapecalc.view.layout import layouts
from shapecalc.view.scenes import AFTER, BEFORE, LEAST_HEIGHT, film_of, picture_at, tracks
from tests.sampling import examples
from tests.strategies import factorisations, permutations
from tests.view.questions import COMBINING, answer_to, answers

ROOMS = st.sampled_from([(80, 24), (120, 40), (200, 60), (60, LEAST_HEIGHT)])
SHUFFLE = "shuffle 2,3,4 --first 1,0,2 --to 0,-1"


def cells_of(frame):
    """Return the numbers in each memory that a frame shows, in the order of its cells."""
    found = {}
    for key, sprite in frame.sprites.items():
        if match := re.fullmatch(r"cell(\d+)\.(\d+)", key):
            found.setdefault(int(match[1]), {})[int(match[2])] = int(sprite.text)
    return {memory: [cells[cell] for cell in sorted(cells)] for memory, cells in found.items()}


def text_of(film, number=-1):
    return screen(film, film.frames[number].sprites.values()).plain


@given(answers(), ROOMS)
@examples(300)
def test_every_word_has_room_and_stands_over_no_other(answer, room):
    film = film_of(answer, *room)
    assert film.height <= room[1]
    for frame in film.frames:
        taken = {}
        for key, sprite in frame.sprites.items():
            assert 0 <= sprite.y < film.height
            assert 0 <= sprite.x <= sprite.x + len(sprite.text) <= film.width
            for x in range(int(sprite.x), int(sprite.x) + len(sprite.text)):
                over = taken.setdefault((x, sprite.y), key)
                assert over == key or (over.startswith("bar") and key.startswith("bar")), text_of(film)


@pytest.mark.parametrize(
    "line",
    [
        f"reshape {','.join(['9' * 999] * 5)} -1,7",
        f"transpose {'9' * 999},{'9' * 999} 1,0",
        "reshape 9000000000000000000 -1,9",
        "expand 3 1000000000000,3",
        "tile 2,3 100000000,100000000",
    ],
)
def test_huge_counts_have_films(line):
    film = film_of(answer_to(line))
    assert all(
        len(row) <= film.width for number in range(len(film.frames)) for row in text_of(film, number).split("\n")
    )


@given(answers(without=("shape", *COMBINING)), ROOMS)
@examples(300)
def test_memory_ends_as_numpy_leaves_it(answer, room):
    assume(answer.concrete)
    assume(all(prod(dim or 1 for dim in shape) <= 10_000 for shape in (answer.input, answer.output)))
    made = run(answer, np.arange(prod(answer.input)).reshape(answer.input)).array.ravel()
    (shown,) = cells_of(film_of(answer, *room).frames[-1]).values() or [[]]
    assert shown == made[: len(shown)].tolist()
    assert bool(shown) == bool(made.size)


@given(answers(), st.floats(0, 1))
@examples(200)
def test_the_tracks_of_files_are_the_pictures_of_the_screen(answer, part):
    film = film_of(answer)
    second = part * film.seconds
    seen = sorted((each.text, each.look) for each in picture_at(film, film.starts, second) if each.text)
    ways = sorted((way.text, way.look) for way in tracks(film) if way.start <= second < way.end and way.text)
    assert second == film.seconds or seen == ways


def indexed(array, text):
    """Return what an index with colons and ranges takes of an array, in no order."""
    parts = [part for part in text.strip("[]").split(",") if part]
    taken = [
        slice(None) if part == ":" else slice(int(part.split("..")[0]), int(part.split("..")[-1]) + 1) for part in parts
    ]
    return sorted(np.atleast_1d(array)[tuple(taken)].ravel().tolist())


@given(permutations(), ROOMS)
@examples(200)
def test_what_is_picked_up_is_what_is_written(drawn, room):
    shape, perm = drawn
    answer = answer_to(f"transpose {','.join(map(str, shape)) or '[]'} {','.join(map(str, perm)) or '[]'}")
    assume(answer.output is not None and prod(shape))
    before = np.arange(prod(shape)).reshape(shape)
    film = film_of(answer, *room)
    said = [
        frame.sprites["part"].text
        for frame in film.frames
        if "part" in frame.sprites and frame.sprites["part"].text[-1] == "]"
    ]
    assert said
    for text in said:
        out, taken = re.fullmatch(r"out(\[.*\]) = in(\[.*\])", text).groups()
        assert indexed(before.transpose(perm), out) == indexed(before, taken)


small = st.lists(st.integers(1, 4), max_size=4).map(tuple)


@given(small.flatmap(lambda shape: st.tuples(st.just(shape), factorisations(prod(shape)))))
@examples(100)
def test_a_reshape_moves_no_element(drawn):
    shape, target = (",".join(map(str, dims)) or "[]" for dims in drawn)
    places = [
        {key: (sprite.x, sprite.y, sprite.text) for key, sprite in frame.sprites.items() if key.startswith("cell")}
        for frame in film_of(answer_to(f"reshape {shape} {target}")).frames
    ]
    assert len(places[0])
    assert all(each == places[0] for each in places)


@pytest.mark.parametrize(
    ("target", "blocks"),
    [("4,6", [6]), ("2,12", [12]), ("24", [24]), ("2,3,2,2", [2, 4, 12]), ("1,24,1", [24]), ("3,2,4", [4, 8])],
)
def test_bars_end_between_the_blocks_of_the_new_shape(target, blocks):
    frame = film_of(answer_to(f"reshape 2,3,4 {target}")).frames[-1]
    rows = sorted({sprite.y for key, sprite in frame.sprites.items() if key.startswith("bar")}, reverse=True)
    places = {frame.sprites[f"cell0.{cell}"].x - 1: cell for cell in range(24)}
    bars = {row: set() for row in rows}
    for key, sprite in frame.sprites.items():
        if key.startswith("bar"):
            bars[sprite.y].add(places.get(sprite.x, 24))
    for row, block in zip(rows, blocks, strict=False):
        assert bars[row] == {*range(0, 25, block)}


def at_steps(film, step):
    return [number for number, frame in enumerate(film.frames) if frame.step == step]


def test_a_copied_zero_glides_down_from_its_index():
    film = film_of(answer_to("reshape 2,2,3,2 -1,0,0"))
    for step, out in ((0, 1), (1, 2)):
        number = at_steps(film, step)[-1]
        start, end = (film.frames[place].sprites[f"dim1.{out}"] for place in (number - 1, number))
        assert (start.x, start.y, start.text) == (end.x, BEFORE, "")
        assert (end.y, end.text.split()[-1]) == (AFTER, "23"[out - 1])
        halfway = picture_at(film, film.starts, film.starts[number] + film.frames[number].arrive / 2)
        assert [each.y for each in halfway if each.text == end.text and each.x == end.x] == [
            pytest.approx((BEFORE + AFTER) / 2)
        ]


def test_a_copied_zero_and_all_that_it_copies_from_is_lit_in_one_column():
    film = film_of(answer_to("reshape 2,2,3,2 -1,0,0"))
    shown = film.frames[at_steps(film, 1)[-1]].sprites
    lit = {key for key, sprite in shown.items() if sprite.look == "lit"}
    assert lit - {"rail1"} == {"index2", "dim0.2", "asked2", "dim1.2"}
    assert len({shown[key].x for key in lit - {"rail1"}}) == 1


def test_minus_one_is_filled_from_the_budget():
    film = film_of(answer_to("reshape 2,3,4 0,-1"))
    last = film.frames[at_steps(film, 1)[-1]].sprites
    pieces = [sprite for key, sprite in last.items() if key.startswith("piece")]
    assert len(pieces) == 12
    assert {piece.y for piece in pieces} == {last["part"].y} == {last["sumbar"].y + 1}
    assert sum(len(piece.text) for piece in pieces) == len(last["sumbar"].text)
    assert last["part"].text == "-1      24 / 2 = 12"
    counts = [frame.sentence for frame in film.frames if frame.sentence.startswith("The known dims fit")]
    assert [counts[0], counts[-1]] == ["The known dims fit 2 times.", "The known dims fit 12 times."]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("reshape 2,3,4 5,-1", "-1      24 / 5 = 4, rest 4"),
        ("reshape 2,3,4 5,x", "✗ refused: volume-mismatch"),
        ("transpose 2,3,4 1,0", "✗ refused: not-a-permutation"),
        ("reshape 2,3 0,0,0", "✗ refused: zero-out-of-range"),
        ("chain 2,3,4 | transpose 1,0,2 | reshape 7,-1", "✗ refused: indivisible"),
    ],
)
def test_a_refused_request_is_drawn_as_far_as_it_got(line, said):
    answer = answer_to(line)
    film = film_of(answer)
    assert said in text_of(film)
    assert answer.problem.message[:30] in film.frames[-1].sentence
    assert len(cells_of(film.frames[-1])) == 1
    assert [frame.step for frame in film.frames if frame.step is not None] == sorted(
        frame.step for frame in film.frames if frame.step is not None
    )


@pytest.mark.parametrize(
    ("line", "notes"),
    [
        ("transpose 1000000,3 1,0", ("of large memories the first cells are shown",)),
        ("reshape N,4 0,2,-1", ("memory with N=2",)),
        ("reshape N,C,H,W 0,-1,64", ("memory with N=2, C=4, H=6, W=8", "of large memories the first cells are shown")),
        ("transpose " + ",".join("2" * 12), ("dims from 11 on have no room",)),
        ("reshape " + ",".join(["1"] * 2000) + " 1", ("dims from 11 on have no room",)),
        ("view 2,3,4 2,12 --strides 24,8,2", ("memory is drawn in C order, not in the strides that are named",)),
        ("reshape " + ",".join(f"N{number}" for number in range(40)) + " -1", ("dims from 11 on have no room",)),
        ("reshape 2,3 6", ()),
    ],
)
def test_what_is_left_out_is_said(line, notes):
    film = film_of(answer_to(line))
    assert {*notes} <= {*film.notes}
    assert bool(film.notes) == bool(notes)
    assert text_of(film).rstrip().endswith(clip("; ".join(film.notes), film.width, UNICODE))
    assert ("…" in text_of(film)) == any("first cells" in note or "no room" in note for note in film.notes)


def test_strides_before_and_after_are_shown():
    film = film_of(answer_to("transpose 2,3,4 1,0,2"))
    shown = "\n".join(text_of(film, number) for number in range(len(film.frames)))
    assert "memory 2,3,4, strides 12,4,1" in shown
    assert "written 3,2,4, strides 8,4,1; read in strides 4,12,1" in shown


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        (SHUFFLE, ["a   2 1 [ ] 0 [ ]", "c   4 2 [ ]"]),
        ("reshape 7,11,13 5,-1", ["a   7 5", "b  11 -1 [ ]"]),
        ("transpose 2,3", ["a   2 [ ]", "b   3 [ ]"]),
        ("expand 2,1 3,2,5", ["target 3 2 5", "answer [ ] [ ] [ ]"]),
        ("matmul 7,11 11,13", ["operand 1 11 13", "answer [ ] ┤ [ ]"]),
        ("chain 2,3 | transpose 1,0 | matmul 2,5", ["a   2 1 [ ]", "b   3 0 [ ]"]),
    ],
)
def test_the_first_picture_has_what_is_asked_and_no_answer(line, asked):
    answer = answer_to(line)
    shown, _, rest = re.sub(r" +", " ", text_of(film_of(answer), 0)).partition("memory")
    assert [row for row in asked if re.sub(r" +", " ", row) not in shown] == []
    assert "Which shape comes out?" in shown + rest
    assert all(f" {dim} " not in shown for dim in set(answer.output or ()) - {*map(int, re.findall(r"\d+", line))})


def test_only_what_has_to_be_found_is_asked_for():
    asked = [frame.asks for frame in film_of(answer_to("shuffle 2,3,4 --first 1,0,2 --to 3,0,-1")).frames if frame.asks]
    assert [(ask.question, ask.answer) for ask in asked] == [
        ("What does output dim 0, asked for as 1, become?", "3"),
        ("What does output dim 1, asked for as 0, become?", "2"),
        ("What does output dim 2, asked for as 2, become?", "4"),
        ("What does output dim 1, asked for as 0, become?", "2"),
        ("What does output dim 2, asked for as -1, become?", "4"),
    ]


def dims_asked(asks):
    """Return the dims that a question is about."""
    numbers = [int(number) for number in re.findall(r"\d+", asks.question.partition(", asked")[0])]
    return range(numbers[0], numbers[1] + 1) if " to " in asks.question else numbers


@given(answers())
@examples(100)
def test_every_dim_that_has_to_be_found_is_asked_for_once_while_it_is_a_hole(answer):
    film, asked = film_of(answer), 0
    for before, frame in zip(film.frames, film.frames[1:], strict=False):
        dims = dims_asked(frame.asks) if frame.asks else ()
        asked += len(dims)
        holes = [key for key in before.sprites if key.startswith("hole")]
        assert all(f"hole{dim}" in holes or dim >= len(holes) - 1 for dim in dims)
    assert asked == sum(
        cell.step < len(answer.steps) and not (layout.cuts and str(cell.dim) in map(str, layout.stage.asked[out:][:1]))
        for layout in layouts(answer)
        for out, cell in enumerate(layout.cells)
    )


def test_a_film_is_the_same_every_time():
    assert film_of(answer_to(SHUFFLE)) == film_of(answer_to(SHUFFLE))


def test_bars_move_from_the_old_cuts_to_the_new_ones():
    film = film_of(answer_to("reshape 2,3,4 4,6"))
    seen = [{key for key, sprite in frame.sprites.items() if "~" in key and sprite.text} for frame in film.frames]
    number = next(number for number, keys in enumerate(seen) if keys)
    moving = {key: sprite for key, sprite in film.frames[number].sprites.items() if re.fullmatch(r"bar0\.0\..*", key)}
    starts = {film.frames[number - 1].sprites[key].x for key in moving}
    places = [film.frames[0].sprites[f"cell0.{cell}"].x - 1 for cell in range(24)] + [72]
    assert starts == {places[cell] for cell in range(0, 25, 4)}
    assert {sprite.x for sprite in moving.values()} == {places[cell] for cell in range(0, 25, 6)}

"""The film of two outputs: every frame is a full picture, and the times follow one another."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

import shapecalc as sc
from shapecalc.core.problem import ShapeError
from shapecalc.reasoning.equiv import check_equivalence, count_differences
from shapecalc.render.output_comparison import MAX_FRAMES, draw_comparison_frames, render_output_comparison

PAIRS = [
    ("2,3", "reshape 3,2", "transpose 1,0", 4),
    ("2,3,4", "reshape 4,6", "transpose 2,0,1 | reshape 4,6", 22),
    ("N,C", "reshape C,N", "transpose 1,0", None),
]


def compare_chains(shape, first, second):
    answers = tuple(sc.chain(shape, *stages.split(" | ")) for stages in (first, second))
    example = check_equivalence(*answers).counterexample
    return answers, example, count_differences(*answers, example)


@pytest.mark.parametrize(("shape", "first", "second", "count"), PAIRS)
def test_output_comparison_frames_are_full_pictures_with_the_difference_first_and_last(shape, first, second, count):
    answers, example, elsewhere = compare_chains(shape, first, second)
    assert count in (elsewhere, None)
    frames = [frame.plain for frame in draw_comparison_frames(answers, example, elsewhere)]
    assert len({frame.count("\n") for frame in frames}) == 1
    assert all(f"{elsewhere} of " in frame and frame.count("[") >= 4 for frame in frames)
    assert frames[0] == frames[-1]
    assert not any("visits" in frame for frame in frames)
    index = ",".join(map(str, example.index))
    assert re.search(rf"place \d+ of \d+, \[{index}\]:", frames[0])
    assert 3 <= len(frames) <= MAX_FRAMES + 2


def test_output_comparison_names_the_places_that_it_visits():
    compared = compare_chains("8,12", "reshape 12,8", "transpose 1,0")
    frames = [frame.plain for frame in draw_comparison_frames(*compared)]
    assert len(frames) == MAX_FRAMES + 2
    assert all("the film visits places 2 to 25: 24 of 96 elements" in frame for frame in frames)


@pytest.mark.parametrize(("shape", "first", "second"), [pair[:3] for pair in PAIRS])
def test_output_comparison_svg_shows_one_frame_at_each_moment(shape, first, second):
    answers, example, elsewhere = compare_chains(shape, first, second)
    seconds, svg = render_output_comparison(answers, example, elsewhere, "outputs.svg")
    assert 6 <= seconds <= 8
    root = ElementTree.fromstring(svg)
    assert "script" not in svg.decode()
    groups = [node for node in root.iter() if node.tag.endswith("}g")]
    moments = [step / 97 for step in range(97)]
    for moment in moments:
        visible = 0
        for group in groups:
            (animation,) = [node for node in group if node.tag.endswith("animate")]
            times = [float(time) for time in animation.get("keyTimes").split(";")]
            values = animation.get("values").split(";")
            assert times[0] == 0
            assert times == sorted(times)
            current = [value for time, value in zip(times, values, strict=True) if time <= moment][-1]
            visible += current == "visible"
        assert visible == 1, moment
    first_visible = [group for group in groups if group.get("visibility") == "visible"]
    assert len(first_visible) == 1, "without animation, the first frame is shown"


def test_output_comparison_refuses_other_formats_and_large_outputs():
    answers, example, elsewhere = compare_chains("2,3", "reshape 3,2", "transpose 1,0")
    with pytest.raises(ShapeError, match=r"'outputs.gif' is not a film of two outputs"):
        render_output_comparison(answers, example, elsewhere, "outputs.gif")
    answers, example, elsewhere = compare_chains("40,30", "reshape 30,40", "transpose 1,0")
    with pytest.raises(ShapeError, match="at most"):
        render_output_comparison(answers, example, elsewhere, "outputs.svg")

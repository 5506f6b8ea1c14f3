"""Pictures of random requests, read back from their text and held against NumPy: wires, cuts and words."""

from __future__ import annotations

import re
from itertools import pairwise
from math import prod
from random import Random
from typing import NamedTuple

import numpy as np
import pytest

from shapecalc.core.rules import COPIED_ZERO
from shapecalc.render import wires
from shapecalc.render.flow import draw_flow
from shapecalc.render.pictures import draw_picture
from shapecalc.render.rulers import is_regrouping_step
from shapecalc.render.stage_layout import stage_layouts
from tests.render.questions import answer_to
from tests.render.reading import columns_of, rulers_of, wires_read
from tests.sampling import some_and_rest

REQUESTS = 220
SIZES = ((80, 24), (120, 40), (200, 60))
NO_ROOM = "no room for lines"
BESIDE = 12
"""The lines of the screen that are neither the flow nor the picture."""


class Asked(NamedTuple):
    """A request as a command line, and the arrays that NumPy makes of it: before and after each stage."""

    line: str
    arrays: tuple[np.ndarray, ...]
    refused: bool


def drawn_request(seed):
    """Draw a chain of transposes and reshapes of any rank up to 9; of ten, one ends in a reshape that is refused."""
    draw = Random(seed)
    factors = [draw.choice((2, 2, 2, 3, 3, 4, 5, 6, 1)) for _ in range(draw.randint(1, 6))]
    arrays, texts = [np.arange(prod(factors)).reshape(cut(draw, factors))], []
    for number in range(draw.randint(1, 3)):
        shape = arrays[-1].shape
        if (number + draw.randint(0, 1)) % 2 and len(shape) > 1:
            perm = draw.sample(range(len(shape)), len(shape))
            texts.append(f"transpose {','.join(map(str, perm))}")
            arrays.append(arrays[-1].transpose(perm))
        else:
            order = draw.sample(factors, len(factors)) if draw.random() < 0.3 else factors
            dims = cut(draw, order)
            arrays.append(arrays[-1].reshape(dims))
            texts.append(f"reshape {','.join(requested(draw, shape, dims))}")
    refused = draw.random() < 0.1
    if refused:
        texts.append(f"reshape {next(size for size in (7, 11) if arrays[-1].size % size)},-1")
    first = ",".join(map(str, arrays[0].shape))
    return Asked(f"chain {first} | {' | '.join(texts)}", tuple(arrays), refused)


def cut(draw, factors):
    """Return factors as a shape: neighbours are multiplied, and dims of 1 come in between."""
    cuts = sorted(draw.sample(range(1, len(factors)), draw.randint(0, len(factors) - 1))) if len(factors) > 1 else []
    dims = [prod(factors[start:end]) for start, end in pairwise([0, *cuts, len(factors)])]
    for _ in range(draw.choice((0, 0, 0, 1, 2))):
        dims.insert(draw.randint(0, len(dims)), 1)
    return tuple(dims)


def requested(draw, before, dims):
    """Return a requested shape: its dims, a 0 where it copies, and perhaps one -1."""
    texts = [
        "0" if at < len(before) and before[at] == dim and draw.random() < 0.7 else str(dim)
        for at, dim in enumerate(dims)
    ]
    if draw.random() < 0.5:
        texts[draw.randrange(len(texts))] = "-1"
    return texts


def dependence(before, after):
    """Return the axes before that each axis after depends on, by what NumPy's elements do; of size 1, on none."""
    positions = np.argsort(before, axis=None)[after] if before.size else after
    indices = np.unravel_index(positions, before.shape)
    return {
        out: [axis for axis, index in enumerate(indices) if np.diff(index, axis=out).any()] for out in range(after.ndim)
    }


def without_ones(found, before, after):
    """Return what each dim leads to, without dims of 1, which no element tells apart."""
    return {out: [axis for axis in axes if before[axis] != 1] * (after[out] != 1) for out, axes in found.items()}


def parted(before, after, copied):
    """Return the copied dims whose elements are not those of the axis with the same index, and of it alone."""
    axes = dependence(before, after)
    own = {out for out in axes if axes[out] == [out] and [out] not in [axes[other] for other in axes if other != out]}
    return {out for out in copied if after.shape[out] != 1 and out not in own}


def check_flow(drawn, asked, made):
    """Hold the wires of a flow, the sizes in it and the sizes that are copied against the arrays."""
    columns = columns_of(drawn)
    marked = re.search(r"… axes (\d+) to (\d+) of (\d+)", drawn.plain)
    rank = max(array.ndim for number, array in enumerate(asked.arrays) if number in columns)
    shown = range(int(marked[1]), int(marked[2]) + 1) if marked else range(rank)
    assert not marked or int(marked[3]) == rank
    for number, dims in columns.items():
        if number < len(asked.arrays):
            shape = asked.arrays[number].shape
            assert {*dims} == {*shown} & {*range(len(shape))}, drawn.plain
            assert all(words.split()[-1] == str(shape[row]) for row, (*_, words) in dims.items()), drawn.plain
    if marked:
        return
    alone = 0
    for number, found in wires_read(drawn):
        if number < len(asked.arrays):
            before, after = asked.arrays[number - 1 : number + 1]
            if NO_ROOM not in drawn.plain:
                found = without_ones(found, before.shape, after.shape)
                assert found == dependence(before, after), (number, drawn.plain)
            copied = {out for out, cell in enumerate(made[number - 1].cells) if cell.token == "0"}
            alone += len(parted(before, after, copied))
    assert len(re.findall(r" 0┄\S+ [─▸]", drawn.plain)) == alone, drawn.plain


def part_of(part, shape):
    """Say whether a row of sizes stands in a shape, next to each other but for dims of 1."""
    dims = [dim for dim in shape if dim != 1]
    return any(dims[at : at + len(part)] == list(part) for at in range(len(dims) - len(part) + 1))


def check_rulers(text, before, after, why):
    """Hold the cuts of rulers against the positions at which NumPy's indices change, and the words against the cuts."""
    sides = rulers_of(text)
    left_out, block = "left out" in text, re.search(r"repeats: (\d+) of (\d+) elements", text)
    steps = {}
    for side, shape in (("before", before.shape), ("after", after.shape)):
        sizes = [size for size, *_ in sides[side]]
        if left_out:
            continue
        assert part_of(sizes, shape), text
        count = int(block[1]) if block else prod(sizes)
        index = np.indices(sizes).reshape(len(sizes), -1)[:, :count]
        steps[side] = [prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
        for axis, (_, cuts, long) in enumerate(sides[side]):
            at = 1 + np.flatnonzero(np.diff(index[: axis + 1], axis=1).any(axis=0))
            if cuts is not None:
                assert cuts == [0, *(int(each) * long // count for each in at), long], text
    if left_out or not steps.get("before") or not steps.get("after"):
        return
    cross = [(old, new) for old in steps["before"] for new in steps["after"] if old % new and new % old]
    mixes = re.search(" mix(es)? axes", text) is not None
    assert mixes == bool(cross) == (" mix into " in why), text
    assert cross or "every old block is cut alike: nothing mixes" in text
    for only, old in re.findall(r"! cuts (only some )?old blocks of (\d+)", text):
        new = next(step for step in steps["after"] if any(step == crossing for _, crossing in cross))
        assert (int(old), new) in cross, text
        ends = [(start // new, (start + int(old) - 1) // new) for start in range(0, count, int(old))]
        assert bool(only) == any(first == last for first, last in ends), text


def check(asked, size):
    """Hold every picture of a request at one size of the terminal against NumPy."""
    answer, (width, height) = answer_to(asked.line), (size[0] - 2, size[1] - BESIDE)
    assert answer.output == (None if asked.refused else asked.arrays[-1].shape)
    made, count = stage_layouts(answer), len(answer.steps)
    for at, wide, high in ((None, 4 * width, None), (None, width, height // 2), (count // 2, width, height // 2)):
        drawn = draw_flow(answer, at, width=wide, height=high)
        assert all(len(line) <= wide for line in drawn.plain.split("\n"))
        check_flow(drawn, asked, made)
    left = height - drawn.plain.count("\n") - 1
    for at in range(count + asked.refused):
        text = draw_picture(answer, at, width=width, height=left).plain
        assert all(len(line) <= width for line in text.split("\n"))
        assert text.count("\n") < left, text
        place = next((number for number, layout in enumerate(made) if at < layout.step_range.stop), None)
        if place is not None and place + 1 < len(asked.arrays) and is_regrouping_step(answer.steps[at]) and "├" in text:
            check_rulers(text, *asked.arrays[place : place + 2], answer.steps[at].why)


@pytest.mark.parametrize("seeds", some_and_rest(list(range(REQUESTS)), 30))
def test_pictures_agree_with_numpy(seeds):
    for seed in seeds:
        check(drawn_request(seed), SIZES[seed % len(SIZES)])


def test_picture_requests_cover_every_kind():
    asked = [drawn_request(seed) for seed in range(100)]
    answers = [answer_to(each.line) for each in asked]
    steps = [step for answer in answers for step in answer.steps]
    made = [layout for answer in answers for layout in stage_layouts(answer)]
    assert sum(step.rule == COPIED_ZERO for step in steps) > 20
    assert sum(" mix into " in step.why for step in steps) > 5
    assert sum(any(wires.is_knot(layout, link) for link in layout.links) for layout in made) > 5
    assert sum(each.refused for each in asked) > 5
    assert max(array.ndim for each in asked for array in each.arrays) >= 8


def test_wrong_bar_through_a_mix_is_detected(monkeypatch):
    before = np.arange(24).reshape(2, 3, 4)
    for line in ("reshape 2,3,4 2,-1,2", "reshape 2,3,4 4,6"):
        answer = answer_to(line)
        right = dependence(before, before.reshape(answer.output))
        for knots, seems_right in ((wires.is_knot, True), (lambda _layout, _link: False, False)):
            with monkeypatch.context() as patch:
                patch.setattr(wires, "is_knot", knots)
                ((_, found),) = wires_read(draw_flow(answer))
                assert (found == right) is seems_right

"""Parse pictures of random requests, and compare their wires, cuts and words with NumPy."""

from __future__ import annotations

import re
from itertools import accumulate, pairwise
from math import prod
from operator import mul
from random import Random
from typing import NamedTuple

import numpy as np
import pytest

from shapecalc.core.rules import COPIED_ZERO
from shapecalc.render import wires
from shapecalc.render.flow import draw_flow
from shapecalc.render.pictures import draw_picture
from shapecalc.render.report import draw_report
from shapecalc.render.rulers import is_regrouping_step
from shapecalc.render.stage_layout import stage_layouts
from tests.render.questions import answer_to
from tests.render.reading import dim_cells, parse_pieces, parse_rulers, wire_sources
from tests.sampling import some_and_rest

REQUESTS = 220
SIZES = ((80, 24), (120, 40), (200, 60))
NO_ROOM = "no room for lines"
OTHER_LINES = 12
"""The screen lines other than the flow and the picture."""


class PictureRequest(NamedTuple):
    """A request as a command line, with the NumPy arrays before and after each stage."""

    line: str
    arrays: tuple[np.ndarray, ...]
    refused: bool


def draw_request(seed):
    """Draw a chain of transposes and reshapes of rank up to 9; one in ten ends in a refused reshape."""
    draw = Random(seed)
    factors = [draw.choice((2, 2, 2, 3, 3, 4, 5, 6, 1)) for _ in range(draw.randint(1, 6))]
    arrays, texts = [np.arange(prod(factors)).reshape(draw_dims(draw, factors))], []
    for number in range(draw.randint(1, 3)):
        shape = arrays[-1].shape
        if (number + draw.randint(0, 1)) % 2 and len(shape) > 1:
            perm = draw.sample(range(len(shape)), len(shape))
            texts.append(f"transpose {','.join(map(str, perm))}")
            arrays.append(arrays[-1].transpose(perm))
        else:
            order = draw.sample(factors, len(factors)) if draw.random() < 0.3 else factors
            dims = draw_dims(draw, order)
            arrays.append(arrays[-1].reshape(dims))
            texts.append(f"reshape {','.join(draw_target(draw, shape, dims))}")
    refused = draw.random() < 0.1
    if refused:
        texts.append(f"reshape {next(size for size in (7, 11) if arrays[-1].size % size)},-1")
    first = ",".join(map(str, arrays[0].shape))
    return PictureRequest(f"chain {first} | {' | '.join(texts)}", tuple(arrays), refused)


def draw_dims(draw, factors):
    """Draw a shape: multiply neighbouring factors, and insert dims of 1."""
    cuts = sorted(draw.sample(range(1, len(factors)), draw.randint(0, len(factors) - 1))) if len(factors) > 1 else []
    dims = [prod(factors[start:end]) for start, end in pairwise([0, *cuts, len(factors)])]
    for _ in range(draw.choice((0, 0, 0, 1, 2))):
        dims.insert(draw.randint(0, len(dims)), 1)
    return tuple(dims)


def draw_target(draw, before, dims):
    """Draw a target for these dims: 0 where it may copy, and perhaps one -1."""
    texts = [
        "0" if index < len(before) and before[index] == dim and draw.random() < 0.7 else str(dim)
        for index, dim in enumerate(dims)
    ]
    if draw.random() < 0.5:
        texts[draw.randrange(len(texts))] = "-1"
    return texts


def dependencies(before, after):
    """Return the input axes that each output axis depends on, from NumPy; axes of size 1 depend on none."""
    positions = np.argsort(before, axis=None)[after] if before.size else after
    indices = np.unravel_index(positions, before.shape)
    return {
        out: [axis for axis, index in enumerate(indices) if np.diff(index, axis=out).any()] for out in range(after.ndim)
    }


def without_unit_dims(sources, before, after):
    """Remove dims of 1, which have no observable sources."""
    return {out: [axis for axis in axes if before[axis] != 1] * (after[out] != 1) for out, axes in sources.items()}


def moved_copies(before, after, copied):
    """Return the copied dims that do not hold exactly the elements of the axis with the same index."""
    axes = dependencies(before, after)
    unmoved = {
        out for out in axes if axes[out] == [out] and [out] not in [axes[other] for other in axes if other != out]
    }
    return {out for out in copied if after.shape[out] != 1 and out not in unmoved}


def check_flow(flow, request, layouts):
    """Compare the wires, sizes and copied sizes of a flow with the arrays."""
    columns = dim_cells(flow)
    range_note = re.search(r"… axes (\d+) to (\d+) of (\d+)", flow.plain)
    rank = max(array.ndim for number, array in enumerate(request.arrays) if number in columns)
    shown = range(int(range_note[1]), int(range_note[2]) + 1) if range_note else range(rank)
    assert not range_note or int(range_note[3]) == rank
    for number, dims in columns.items():
        if number < len(request.arrays):
            shape = request.arrays[number].shape
            assert {*dims} == {*shown} & {*range(len(shape))}, flow.plain
            assert all(text.split()[-1] == str(shape[row]) for row, (*_, text) in dims.items()), flow.plain
    if range_note:
        return
    marked_copies = 0
    for number, sources in wire_sources(flow):
        if number < len(request.arrays):
            before, after = request.arrays[number - 1 : number + 1]
            if NO_ROOM not in flow.plain:
                sources = without_unit_dims(sources, before.shape, after.shape)
                assert sources == dependencies(before, after), (number, flow.plain)
            copied = {out for out, cell in enumerate(layouts[number - 1].cells) if cell.token == "0"}
            marked_copies += len(moved_copies(before, after, copied))
    assert len(re.findall(r" 0┄\S+ [─▸]", flow.plain)) == marked_copies, flow.plain


def is_part_of(part, shape):
    """Return whether sizes are contiguous in a shape, apart from dims of 1."""
    dims = [dim for dim in shape if dim != 1]
    return any(dims[index : index + len(part)] == list(part) for index in range(len(dims) - len(part) + 1))


def check_pieces(sides, text, before, after, why):
    """Compare cuts that are not to scale with the strides of the arrays, and the sentence with the cuts."""
    rows = {}
    volumes = set()
    for side, shape in (("before", before.shape), ("after", after.shape)):
        assert is_part_of([size for size, *_ in sides[side]], shape), text
        counts = accumulate((size for size, *_ in sides[side]), mul)
        for count, (size, lengths, shown) in zip(counts, sides[side], strict=True):
            assert len(lengths) == 1, text
            assert shown == count or (shown == 1 and lengths == {size}) or "repeats" in text, text
            volumes.add(shown * max(lengths))
        rows[side] = [max(lengths) for _, lengths, _ in sides[side]]
    assert len(volumes) == 1, text
    crosses = any(old % new and new % old for old in rows["before"] for new in rows["after"])
    assert crosses == (" mix into " in why) == (" mix" in text.replace("nothing mixes", "")), text


def check_rulers(text, before, after, why):
    """Compare the cuts of rulers with the changes of NumPy indices, and the sentences with the cuts."""
    if (pieces := parse_pieces(text))["before"]:
        check_pieces(pieces, text, before, after, why)
        return
    sides = parse_rulers(text)
    has_omissions, block = "left out" in text, re.search(r"repeats: (\d+) of (\d+) elements", text)
    steps = {}
    for side, shape in (("before", before.shape), ("after", after.shape)):
        sizes = [size for size, *_ in sides[side]]
        if has_omissions:
            continue
        assert is_part_of(sizes, shape), text
        count = int(block[1]) if block else prod(sizes)
        index = np.indices(sizes).reshape(len(sizes), -1)[:, :count]
        steps[side] = [prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
        for axis, (_, cuts, length) in enumerate(sides[side]):
            changes = 1 + np.flatnonzero(np.diff(index[: axis + 1], axis=1).any(axis=0))
            if cuts is not None:
                assert cuts == [0, *(int(change) * length // count for change in changes), length], text
    if has_omissions or not steps.get("before") or not steps.get("after"):
        return
    crossings = [(old, new) for old in steps["before"] for new in steps["after"] if old % new and new % old]
    mixes = re.search(" mix(es)? axes", text) is not None
    assert mixes == bool(crossings) == (" mix into " in why), text
    assert crossings or "no new cut falls inside an old row: nothing mixes" in text
    for old in re.findall(r"! splits an old row of (\d+)", text):
        new = next(step for step in steps["after"] if any(step == crossing for _, crossing in crossings))
        assert (int(old), new) in crossings, text


def check_request(request, size):
    """Compare every picture of a request at one terminal size with NumPy."""
    answer, (width, height) = answer_to(request.line), (size[0] - 2, size[1] - OTHER_LINES)
    assert answer.output == (None if request.refused else request.arrays[-1].shape)
    layouts, count = stage_layouts(answer), len(answer.steps)
    for step_index, flow_width, flow_height in (
        (None, 4 * width, None),
        (None, width, height // 2),
        (count // 2, width, height // 2),
    ):
        flow = draw_flow(answer, step_index, width=flow_width, height=flow_height)
        assert all(len(line) <= flow_width for line in flow.plain.split("\n"))
        check_flow(flow, request, layouts)
    remaining = height - flow.plain.count("\n") - 1
    for step_index in range(count + request.refused):
        text = draw_picture(answer, step_index, width=width, height=remaining).plain
        assert all(len(line) <= width for line in text.split("\n"))
        assert text.count("\n") < remaining, text
        stage_index = next(
            (number for number, layout in enumerate(layouts) if step_index < layout.step_range.stop), None
        )
        if (
            stage_index is not None
            and stage_index + 1 < len(request.arrays)
            and is_regrouping_step(answer.steps[step_index])
            and "├" in text
        ):
            check_rulers(text, *request.arrays[stage_index : stage_index + 2], answer.steps[step_index].why)


@pytest.mark.parametrize("seeds", some_and_rest(list(range(REQUESTS)), 30))
def test_pictures_agree_with_numpy(seeds):
    for seed in seeds:
        check_request(draw_request(seed), SIZES[seed % len(SIZES)])


def test_bars_of_counts_have_one_block_per_unit():
    widths = range(30, 110)
    for line in ("reshape 2,3,4 0,-1", "reshape 2,3,4 3,-1", "reshape 7,8 8,-1", "reshape 40,30 24,-1"):
        answer = answer_to(line)
        for width, height in ((width, height) for width in widths for height in (8, 16)):
            text = draw_picture(answer, 1, width=width, height=height, with_heading=False).plain
            unit = int(match[1]) if (match := re.search(r"each █ is (\d+) elements", text)) else 1
            for count, bar in re.findall(r"= +(\d+)  ([█▓│]+)", text):
                blocks = len(bar.replace("│", ""))
                assert (blocks * unit == int(count)) if unit > 1 else blocks % int(count) == 0, text


def test_picture_requests_cover_every_kind():
    requests = [draw_request(seed) for seed in range(100)]
    answers = [answer_to(request.line) for request in requests]
    steps = [step for answer in answers for step in answer.steps]
    layouts = [layout for answer in answers for layout in stage_layouts(answer)]
    assert sum(step.rule == COPIED_ZERO for step in steps) > 20
    assert sum(" mix into " in step.why for step in steps) > 5
    assert sum(any(wires.is_partially_connected(layout, link) for link in layout.links) for layout in layouts) > 5
    assert sum(request.refused for request in requests) > 5
    assert max(array.ndim for request in requests for array in request.arrays) >= 8


def test_wrong_bar_through_a_mix_is_detected(monkeypatch):
    before = np.arange(24).reshape(2, 3, 4)
    for line in ("reshape 2,3,4 2,-1,2", "reshape 2,3,4 4,6"):
        answer = answer_to(line)
        expected = dependencies(before, before.reshape(answer.output))
        for knots, is_correct in ((wires.is_partially_connected, True), (lambda _layout, _link: False, False)):
            with monkeypatch.context() as patch:
                patch.setattr(wires, "is_partially_connected", knots)
                ((_, sources),) = wire_sources(draw_flow(answer))
                assert (sources == expected) is is_correct


@pytest.mark.parametrize("width", [80, 100])
def test_report_omits_ellipsis_line_of_windows_that_are_one_line_too_high(width):
    answer = answer_to("conv 1,3,224,224 64,3,7,7 --stride 2 --padding 3")
    lines = draw_report(answer, width=width, lines_below=1, more_command="--explain=all").plain.splitlines()
    heads = [line.split("  ")[0] for line in lines if line.startswith(("window ", "left over", "conv     batch"))]
    assert heads == ["window 0", "window 1", "window 111", "left over"]
    assert len(lines) <= 23

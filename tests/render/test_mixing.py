"""Check that the sentence, the flow, the rulers and einops agree on whether a reshape mixes axes."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from shapecalc.core.problem import ShapeError
from shapecalc.render.canvas import UNICODE
from shapecalc.render.code import generate_code
from shapecalc.render.flow import draw_flow
from shapecalc.render.rulers import draw_rulers
from shapecalc.render.stage_layout import stage_layouts
from tests.render.questions import answer_to
from tests.sampling import examples

NOTHING = (f"{count}: there is nothing to cut" for count in ("no elements", "one element"))
NO_RULERS = ("", "every axis stays as it is", *NOTHING)


@st.composite
def dims(draw, factors):
    """Draw a shape whose dims multiply the factors, each used once, in order or permuted."""
    order = draw(st.permutations(factors)) if draw(st.booleans()) else factors
    cuts = sorted(draw(st.lists(st.integers(0, len(order)), max_size=5)))
    parts = [order[start:end] for start, end in zip([0, *cuts], [*cuts, len(order)], strict=True)]
    return ",".join("*".join(part) or "1" for part in parts)


@st.composite
def requests(draw):
    """Draw a symbolic reshape between shapes of up to six axes, sometimes conditional or with a 0."""
    factors = draw(st.lists(st.sampled_from(["2", "2", "3", "4", "6", "N", "C", "H"]), min_size=1, max_size=6))
    other = list(factors)
    variant = draw(st.sampled_from(["", "", "", "solved", "quotient", "zero"]))
    if variant == "solved":
        factors.append("M")
        other.append(draw(st.sampled_from(["2", "6", "N"])))
    elif variant == "quotient":
        other += ["N/3", "3"]
        factors.append("N")
    elif variant == "zero":
        zeros = draw(st.lists(st.integers(0, 5), min_size=2, max_size=2))
        factors, other = (
            [*dims_list[:index], "0", *dims_list[index:]]
            for dims_list, index in zip((factors, other), zeros, strict=True)
        )
    return f"reshape {draw(dims(factors))} {draw(dims(other))} -d numpy"


def mixing_reports(sentence, flow, rulers, einops_text):
    """Return whether each of the four reports mixing; omit rulers that are not drawn."""
    flow_reports = re.search("(?:^|   )~.* mix(es)? ", flow, re.MULTILINE) is not None
    reports = [" mix into " in sentence, flow_reports, "the reshape mixes axes" in einops_text]
    return reports if rulers in NO_RULERS else [*reports, re.search(" mix(es)? axes", rulers) is not None]


@examples(75)
@given(requests())
@example("reshape 2,3,4 2,6,2")
@example("reshape 24 2,3,4")
@example("reshape 4,6 8,3")
@example("reshape 2,8 4,4")
@example("reshape N,4 3,2,2")
@example("reshape N,N 3,N*N/3")
@example("reshape 2,3,100,3,2 6,100,2,3")
def test_mixing_is_reported_consistently(line):
    answer = answer_to(line)
    if answer.output is None:
        return
    (layout,) = stage_layouts(answer)
    try:
        einops_text = generate_code(answer, "einops").text
    except ShapeError as error:
        einops_text = str(error)
    reports = mixing_reports(
        answer.steps[-1].why,
        draw_flow(answer, width=200).plain,
        draw_rulers(answer, layout, 0, width=100, height=24, glyphs=UNICODE).plain,
        einops_text,
    )
    assert len({*reports}) == 1, reports


@st.composite
def chains(draw):
    """Draw a symbolic chain that alternates transposes and reshapes."""
    factors = draw(st.lists(st.sampled_from(["2", "3", "4", "6", "N", "C"]), min_size=2, max_size=5))
    shape = draw(dims(factors))
    stages = [shape]
    for _ in range(draw(st.integers(1, 3))):
        rank = len(shape.split(","))
        shape = draw(dims(factors))
        stages += [f"transpose {','.join(map(str, draw(st.permutations(range(rank)))))}", f"reshape {shape}"]
    return f"chain {' | '.join(stages)}"


@examples(45)
@given(chains())
@example("chain 4,6 | transpose 1,0 | reshape 24 | reshape 6,2,2")
def test_unmixed_chain_has_an_einops_pattern(line):
    answer = answer_to(line)
    if not any(layout.mixing_dims or layout.newly_marked_dims for layout in stage_layouts(answer)):
        assert "->" in generate_code(answer, "einops").text

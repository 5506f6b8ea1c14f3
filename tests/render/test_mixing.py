"""Which axes of a reshape mix: the words, the flow, the rulers and einops say the same of every request."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from shapecalc.core.problem import ShapeError
from shapecalc.render.canvas import UNICODE
from shapecalc.render.code import write_code
from shapecalc.render.flow import draw_flow
from shapecalc.render.rulers import draw_rulers
from shapecalc.render.stage_layout import stage_layouts
from tests.render.questions import answer_to
from tests.sampling import examples

NOTHING = (f"{count}: there is nothing to cut" for count in ("no elements", "one element"))
NO_RULERS = ("", "every axis stays as it is", *NOTHING)


@st.composite
def dims(draw, factors):
    """Draw a shape whose dims are products of the factors, each used once, in this order or in another."""
    order = draw(st.permutations(factors)) if draw(st.booleans()) else factors
    cuts = sorted(draw(st.lists(st.integers(0, len(order)), max_size=5)))
    parts = [order[start:end] for start, end in zip([0, *cuts], [*cuts, len(order)], strict=True)]
    return ",".join("*".join(part) or "1" for part in parts)


@st.composite
def requests(draw):
    """Draw a reshape of up to six axes to as many: of names and numbers, at times under a condition or with a 0."""
    factors = draw(st.lists(st.sampled_from(["2", "2", "3", "4", "6", "N", "C", "H"]), min_size=1, max_size=6))
    other = list(factors)
    odd = draw(st.sampled_from(["", "", "", "solved", "quotient", "zero"]))
    if odd == "solved":
        factors.append("M")
        other.append(draw(st.sampled_from(["2", "6", "N"])))
    elif odd == "quotient":
        other += ["N/3", "3"]
        factors.append("N")
    elif odd == "zero":
        zeros = draw(st.lists(st.integers(0, 5), min_size=2, max_size=2))
        factors, other = ([*each[:at], "0", *each[at:]] for each, at in zip((factors, other), zeros, strict=True))
    return f"reshape {draw(dims(factors))} {draw(dims(other))} -d numpy"


def mixing(words, drawn, ruled, pattern):
    """Return what each of four says of mixing; rulers that are not drawn say nothing."""
    noted = re.search("(?:^|   )~.* mix(es)? ", drawn, re.MULTILINE) is not None
    said = [" mix into " in words, noted, "the reshape mixes axes" in pattern]
    return said if ruled in NO_RULERS else [*said, re.search(" mix(es)? axes", ruled) is not None]


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
        pattern = write_code(answer, "einops").text
    except ShapeError as error:
        pattern = str(error)
    said = mixing(
        answer.steps[-1].why,
        draw_flow(answer, width=200).plain,
        draw_rulers(answer, layout, 0, width=100, height=24, glyphs=UNICODE).plain,
        pattern,
    )
    assert len({*said}) == 1, said


@st.composite
def chains(draw):
    """Draw reshapes and transposes in turns, of names and numbers."""
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
    if not any(layout.mixing_dims or layout.newly_marked for layout in stage_layouts(answer)):
        assert "->" in write_code(answer, "einops").text

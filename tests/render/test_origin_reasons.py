"""The reasons for the output dims of several stages: each names the input dims of its origin."""

from __future__ import annotations

import re
from random import Random

import pytest

import shapecalc as sc
from shapecalc.core.origins import list_input_axes
from shapecalc.render.step import dim_reason_lines, origin_reasons
from tests.core.drawing import draw_chain
from tests.core.test_origins import OPS

PARTS = [
    (("2,3,4", "flip 1", "roll 1 2"), ["2 is input dim 0", "3 is input dim 1 in reverse", "4 is input dim 2, rolled"]),
    (("2,3,4", "slice 0:1,1:3", "reshape -1"), ["8 is 2 (some positions of input dim 1, 3) * 4 (input dim 2)"]),
    (("N,C,H,W", "reshape 0,0,-1", "transpose 0,2,1"),
     ["N is input dim 0", "H*W is H (input dim 2) * W (input dim 3)", "C is input dim 1"]),
    (("2,3", "expand 4,2,3", "reshape -1,3"), ["8 is 4 (repeated) * 2 (input dim 0)", "3 is input dim 1"]),
    (("2,3", "concat 2,5 --axis 1", "transpose 1,0"),
     ["8 joins input dim 1 and dim 1 of operand 1", "2 combines input dim 0 and dim 0 of operand 1"]),
    (("2,12", "reshape 2,2,3,2", "transpose 0,2,1,3"),
     ["2 is input dim 0", "3 is a middle part of input dim 1, 12", "2 is the outer part of input dim 1, 12",
      "2 is the inner part of input dim 1, 12"]),
]  # fmt: skip


@pytest.mark.parametrize(("words", "reasons"), PARTS)
def test_reasons_name_parts_of_input_dims(words, reasons):
    assert origin_reasons(sc.chain(*words)) == reasons


@pytest.mark.parametrize("seed", range(40))
def test_reasons_of_drawn_chains_name_the_axes_of_the_origins(seed):
    chain = draw_chain(Random(seed), ops=OPS)
    reasons = origin_reasons(chain)
    assert len(reasons) == len(chain.output)
    for reason, origin in zip(reasons, chain.origins, strict=True):
        named = {int(axis) for group in re.findall(r"input dims? ([\d, and]*\d)", reason) for axis in
                 (re.findall(r"\d+", group) if "dims" in reason else re.findall(r"\d+", group)[:1])}  # fmt: skip
        assert named == {*list_input_axes(origin)}, (chain, reason)


def test_card_of_a_chain_has_a_line_per_dim_or_none():
    answer = sc.chain("8,128,768", "reshape 0,0,12,64", "transpose 0,2,1,3")
    assert len(dim_reason_lines(answer, 13, 98)) == 4
    assert dim_reason_lines(answer, 13, 40) == []
    assert dim_reason_lines(sc.chain("2,3", "reshape 3,2", "shape"), 0, 78) == []

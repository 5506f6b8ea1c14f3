"""Limits of what is read from a stream and of how often fixes are asked for; those of texts are in `sessions/`."""

from __future__ import annotations

import io

import pytest

from shapecalc.cli.check import split_blocks
from shapecalc.core import fixing
from shapecalc.core.limits import LONGEST_LINE
from tests.cases import answered


@pytest.mark.parametrize("extra", [0, 1])
def test_the_longest_line_is_whole_and_the_next_is_torn(extra):
    data = b"#" * (LONGEST_LINE - 1 + extra) + b"\nreshape 2,3 6\n"
    blocks = [*split_blocks(io.BufferedReader(io.BytesIO(data)))]
    assert b"".join(block.data for block in blocks) == data
    assert any(block.torn for block in blocks) is bool(extra)


@pytest.mark.parametrize(("dims", "found"), [(fixing.LONGEST, True), (fixing.LONGEST + 1, False)])
def test_fixes_are_looked_for_up_to_the_most_dims(dims, found):
    trace = answered(f"reshape {'1,' * (dims - 3)}24 5,-1")
    assert len(trace.request.dims) == dims
    assert bool(fixing.fixes(trace)) is found
    assert (next(fixing.single_fixes(trace, trace.problem), None) is not None) is found


def test_fixes_ask_no_more_often_than_the_limits_say(monkeypatch):
    trace, asked, resolve = answered("transpose 2,3,4,5,6,7,8 0,0,0,0,0,0,0"), [], fixing.resolve
    monkeypatch.setattr(fixing, "resolve", lambda request: asked.append(request) or resolve(request))
    fixing.fixes(trace)
    assert 0 < len(asked) <= 2 * fixing.MOST_TRIED * fixing.MOST_CHANGED

"""Check the limits of streams and of the search for fixes; the limits of texts are in `sessions/`."""

from __future__ import annotations

import io

import pytest

from shapecalc.checking.judging import split_blocks
from shapecalc.core.limits import MAX_LINE_BYTES
from shapecalc.reasoning import fixing
from tests.cases import answered


@pytest.mark.parametrize("extra", [0, 1])
def test_longest_line_is_whole_and_longer_is_split(extra):
    data = b"#" * (MAX_LINE_BYTES - 1 + extra) + b"\nreshape 2,3 6\n"
    blocks = [*split_blocks(io.BufferedReader(io.BytesIO(data)))]
    assert b"".join(block.data for block in blocks) == data
    assert any(block.is_partial for block in blocks) is bool(extra)


@pytest.mark.parametrize(
    ("dims", "is_searched"), [(fixing.MAX_REQUEST_DIMS, True), (fixing.MAX_REQUEST_DIMS + 1, False)]
)
def test_fixes_are_searched_up_to_the_dim_limit(dims, is_searched):
    trace = answered(f"reshape {'1,' * (dims - 3)}24 5,-1")
    assert len(trace.request.dims) == dims
    assert bool(fixing.find_fixes(trace)) is is_searched
    assert (next(fixing.find_single_change_fixes(trace, trace.problem), None) is not None) is is_searched


def test_fixes_resolve_at_most_as_often_as_allowed(monkeypatch):
    trace, requests, resolve = answered("transpose 2,3,4,5,6,7,8 0,0,0,0,0,0,0"), [], fixing.resolve
    monkeypatch.setattr(fixing, "resolve", lambda request: requests.append(request) or resolve(request))
    fixing.find_fixes(trace)
    assert 0 < len(requests) <= 2 * fixing.MAX_TRIED_VALUES * fixing.MAX_SUCCESSIVE_CHANGES

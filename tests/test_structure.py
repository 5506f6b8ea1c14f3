"""Bounds on the modules and calls of one request, and on the length of functions."""

from __future__ import annotations

import pytest

from tests.structure import EXPLAINED_REQUEST, iter_functions, measure_request


def test_explained_question_stays_within_module_and_call_bounds():
    (modules, calls), (bare_modules, bare_calls) = (
        measure_request(*EXPLAINED_REQUEST),
        measure_request(*EXPLAINED_REQUEST[:-1]),
    )
    assert {"shapecalc", "shapecalc.__main__"} < {*bare_modules} < {*modules}
    assert 0 < bare_calls < calls
    assert len(modules) <= 60
    assert calls <= 600


@pytest.mark.slow
def test_functions_are_short():
    assert [f"{name} in {file}: {lines} lines" for lines, name, file in iter_functions() if lines >= 60] == []

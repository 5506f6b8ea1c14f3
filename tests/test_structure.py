"""The house stays small: few modules and few ways between files for one question, and no long functions."""

from __future__ import annotations

import pytest

from tests.structure import QUESTION, functions, journey


def test_explained_question_stays_within_module_and_call_bounds():
    (modules, calls), (bare_modules, bare_calls) = journey(*QUESTION), journey(*QUESTION[:-1])
    assert {"shapecalc", "shapecalc.__main__"} < {*bare_modules} < {*modules}
    assert 0 < bare_calls < calls
    assert len(modules) <= 60
    assert calls <= 600


@pytest.mark.slow
def test_functions_are_short():
    assert [f"{name} in {file}: {lines} lines" for lines, name, file in functions() if lines >= 60] == []

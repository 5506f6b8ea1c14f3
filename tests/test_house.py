"""The house stays small: few modules and few ways between files for one question, and no long functions."""

from __future__ import annotations

from tests.house import QUESTION, functions, journey

MOST_MODULES, MOST_CALLS = 60, 600
"""What one explained question may load, and how often it may go from one file into another."""
LONGEST = 60
"""The lines that no function may reach."""


def test_an_explained_question_loads_few_modules_and_seldom_goes_from_file_to_file():
    taken = journey(*QUESTION)
    assert (len(taken.modules) <= MOST_MODULES, taken.calls <= MOST_CALLS) == (True, True), (
        f"{len(taken.modules)} modules of at most {MOST_MODULES}, {taken.calls} calls of at most {MOST_CALLS}"
    )


def test_a_question_that_is_not_explained_takes_less():
    bare, explained = journey(*QUESTION[:-1]), journey(*QUESTION)
    assert {"shapecalc", "shapecalc.__main__"} < {*bare.modules} < {*explained.modules}
    assert 0 < bare.calls < explained.calls


def test_functions_are_short():
    assert [f"{name} in {file}: {lines} lines" for lines, name, file in functions() if lines >= LONGEST] == []

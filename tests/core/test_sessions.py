"""Run the Python sessions in `sessions/`, one file per subject and one part per fact.

The lines before the first part of a file (its imports) run before each part.
"""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

import shapecalc as sc
from shapecalc.core.requests import make_request
from shapecalc.core.resolve import resolve
from shapecalc.reasoning.fixing import find_fixes
from tests.cases import answered, parts

PARTS = [
    pytest.param("\n".join(first), "\n".join(lines), file.stem, id=f"{file.stem}: {title}")
    for file in sorted((Path(__file__).parent / "sessions").glob("*.txt"))
    for (_, first), *others in [[*parts(file)]]
    for title, lines in others
]


def refusal(call, *arguments, **options):
    """Return the problem of a refused call."""
    with pytest.raises(sc.ShapeError) as error:
        call(*arguments, **options)
    return error.value.problem


def print_refusal(call, *arguments, **options):
    """Print the message of a refused call."""
    print(refusal(call, *arguments, **options).message)


def problem(line):
    """Return the problem of a request line, with its hint."""
    return answered(line).problem


NAMES = {"pytest": pytest, "sc": sc, "make_request": make_request, "resolve": resolve, "fixes": find_fixes}
NAMES |= {helper.__name__: helper for helper in (answered, problem, refusal, print_refusal)}


@pytest.mark.parametrize(("imports_text", "session_text", "name"), PARTS)
def test_python_sessions(imports_text, session_text, name):
    parser, runner, failures = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS), []
    imports = parser.get_doctest(imports_text, NAMES, name, f"{name}.txt", 0)
    runner.run(imports, out=failures.append, clear_globs=False)
    session = parser.get_doctest(session_text, imports.globs, name, f"{name}.txt", 0)
    runner.run(session, out=failures.append)
    assert session.examples
    assert not failures, "".join(failures)

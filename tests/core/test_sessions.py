"""Python in sessions: what is typed and what is seen, in `sessions/`, one file a subject, one part a fact.

What stands in front of the first part of a file, its imports, runs before each of them.
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
    """Return the problem with which a call is refused."""
    with pytest.raises(sc.ShapeError) as error:
        call(*arguments, **options)
    return error.value.problem


def said(call, *arguments, **options):
    """Print what is said where a call is refused."""
    print(refusal(call, *arguments, **options).message)


def problem(line):
    """Return the problem of a request, with its hint."""
    return answered(line).problem


NAMES = {"pytest": pytest, "sc": sc, "make_request": make_request, "resolve": resolve, "fixes": find_fixes}
NAMES |= {each.__name__: each for each in (answered, problem, refusal, said)}


@pytest.mark.parametrize(("first", "typed", "name"), PARTS)
def test_python_sessions(first, typed, name):
    parser, runner, faults = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS), []
    imports = parser.get_doctest(first, NAMES, name, f"{name}.txt", 0)
    runner.run(imports, out=faults.append, clear_globs=False)
    session = parser.get_doctest(typed, imports.globs, name, f"{name}.txt", 0)
    runner.run(session, out=faults.append)
    assert session.examples
    assert not faults, "".join(faults)

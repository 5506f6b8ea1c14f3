"""The caret report: the problem, the request with a caret under the token at fault, and what would help."""

from __future__ import annotations

from rich.console import Group
from rich.text import Text

from shapecalc.core.problem import USAGE, Problem
from shapecalc.core.text import visible

WIDEST = 30
"""The most characters of an argument that are shown around its token."""


def caret_report(problem: Problem, pieces: list[tuple[str | None, str]]) -> Group:
    """Return the report of a problem: its message, the command line with a caret under the token, and its hint.

    `pieces` are the words of the command line, each with the name of its argument.

    >>> from rich import print
    >>> problem = Problem("indivisible", "24 elements cannot be divided by 5", "try 4,-1", "target", 1, (2, 4))
    >>> print(caret_report(problem, [(None, "reshape"), ("input", "2,3,4"), ("target", "5,-1")]))
    shapecalc: indivisible: 24 elements cannot be divided by 5
    <BLANKLINE>
      reshape 2,3,4 5,-1
                      ^^
      hint  try 4,-1
      rule  shapecalc why indivisible
    """
    parts = [Text.assemble("shapecalc: ", (problem.rule, "bold red"), f": {visible(problem.message)}"), Text("")]
    parts.append(_request(problem, pieces))
    if problem.hint:
        parts.append(Text(f"  hint  {visible(problem.hint)}"))
    if problem.rule != USAGE:
        parts.append(Text(f"  rule  shapecalc why {problem.rule}", "dim"))
    return Group(*parts)


def _request(problem: Problem, pieces: list[tuple[str | None, str]]) -> Text:
    """Return the command line, and the caret under its token. Neither is ever wrapped."""
    line, caret = Text("  ", no_wrap=True, overflow="ignore"), None
    for argument, text in pieces:
        at_fault = argument is not None and argument == problem.argument
        shown, place = _window(text, (problem.span or (0, len(text))) if at_fault else None)
        if place:
            caret = (len(line) + place[0], len(line) + place[1])
        line.append(f"{shown} ")
    line.rstrip()
    if caret:
        line.append("\n" + " " * caret[0])
        line.append("^" * max(1, caret[1] - caret[0]), "bold red")
    return line


def _window(text: str, span: tuple[int, int] | None) -> tuple[str, tuple[int, int] | None]:
    """Return the part of an argument that is shown, and the span of its token in it."""
    if span is None:
        shown = text if len(text) <= WIDEST else f"{text[:WIDEST]}..."
        return visible(shown) or "''", None
    start, end = span[0], min(span[1], span[0] + WIDEST)
    first = max(0, start - WIDEST // 2) if len(text) > WIDEST else 0
    last = min(len(text), max(end, first + WIDEST))
    before, token, after = (visible(part) for part in (text[first:start], text[start:end], text[end:last]))
    left, right = "..." if first else "", "..." if last < len(text) else ""
    place = len(left) + len(before)
    return f"{left}{before}{token}{after}{right}" or "''", (place, place + len(token))

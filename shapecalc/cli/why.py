"""`shapecalc why`: one rule explained, or all of them listed."""

from __future__ import annotations

from textwrap import fill
from typing import Annotated

import typer

from shapecalc.cli.answer import put_json, refused
from shapecalc.cli.options import JsonOption, Output, completing
from shapecalc.cli.output import Exit, put
from shapecalc.core.catalogue import REFUSALS, RULES, STEP_RULES, Rule
from shapecalc.core.problem import ShapeError
from shapecalc.core.request import found

SUMMARY = "Explain a rule, with an example to run; without a rule, list them."
HELP = f"""\b
  shapecalc why indivisible
  shapecalc why copy-zero
  shapecalc why

{SUMMARY}"""


def add(app: typer.Typer, cls: type) -> None:
    """Give the app the command."""
    app.command("why", cls=cls, short_help=SUMMARY, help=HELP)(why)


def why(
    rule: Annotated[
        str | None,
        typer.Argument(metavar="[RULE]", help="the rule's id", autocompletion=completing(RULES), show_default=False),
    ] = None,
    json: JsonOption = False,
) -> int:
    """Print one rule or the list of rules."""
    if rule is None:
        return _listed(as_json=json)
    try:
        entry: Rule = found(rule, RULES, "rule")
    except ShapeError as error:
        return refused(error, "why", {"rule": rule}, Output(json=json))
    if json:
        put_json(entry._asdict())
    else:
        put(explained(entry))
    return Exit.YES


def explained(rule: Rule) -> str:
    """Return a rule as a paragraph to read, with its source and an example to run.

    >>> print(explained(RULES["two-infers"]))
    two-infers: more than one dim to infer
    <BLANKLINE>
      Two unknowns have no single answer.
    <BLANKLINE>
      source  ONNX Reshape: 'at most one dimension of the new shape can be -1'
      try     shapecalc reshape 2,3,4 -1,-1
    """
    text = fill(rule.explanation, 78, initial_indent="  ", subsequent_indent="  ")
    return f"{rule.id}: {rule.says}\n\n{text}\n\n  source  {rule.source}\n  try     {rule.example}"


def _listed(*, as_json: bool) -> int:
    if as_json:
        put_json([rule._asdict() for rule in RULES.values()])
        return Exit.YES
    width = max(map(len, RULES))
    for title, rules in (("what settles a dim", STEP_RULES), ("what refuses a request", REFUSALS)):
        put(f"{title}:")
        for rule in rules.values():
            put(f"  {rule.id.ljust(width)}  {rule.says}")
    return Exit.YES

"""`shapecalc dialects`, `why`, `backends` and `vectors`: what the program knows."""

from __future__ import annotations

from collections.abc import Sequence

from shapecalc.cli.answer import print_error
from shapecalc.cli.options import DIALECTS_ONLY, Argument, Command, printing_options
from shapecalc.cli.output import Exit, Output, put, put_json, show_table
from shapecalc.core.ask import dialect_called
from shapecalc.core.cases import vectors
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import Dialect
from shapecalc.core.lookup import lookup
from shapecalc.core.ops import every_rule, operators_of, refusals, step_rules
from shapecalc.core.problem import Rule, ShapeError
from shapecalc.core.record import Choice, fields

# `shapecalc dialects`: the table of what frameworks answer.


LEGEND = """\

  *           the default; a switch without one must be given
  0           copies the dim at the same index, or is a dim of size zero
  infers      the negative values that stand for a dim to infer
  0 and -1    whether a 0 of size zero and -1 may be used together
  -1 of none  what -1 is if a known dim is 0: refused; or both products are taken
              without the zeros (no zeros) or without the copied dims (no
              copies), and then divided; 0/0 is 1
"""


def run_dialects(out: Output) -> int:
    """Print the tables of dialects, of operators and of their versions."""
    if out.json:
        put_json([dialect_as_json(row) for row in DIALECTS.values()])
        return Exit.YES
    from shapecalc.view.story import dialects_table, operators_table, versions_table

    show_table(dialects_table())
    put(LEGEND)
    show_table(operators_table())
    put("")
    show_table(versions_table())
    return Exit.YES


def dialect_as_json(row: Dialect) -> dict[str, object]:
    """Return a dialect as the JSON object that `shapecalc dialects --json` prints.

    >>> dialect_as_json(DIALECTS["tensorrt"])["operators"]
    {'reshape': 'Shuffle', 'transpose': 'Shuffle', 'shuffle': 'Shuffle', 'rearrange': 'rearrange', 'slice': 'Slice'}
    """
    answers = {name: value.value if isinstance(value, Choice) else value for name, value in fields(row).items()}
    shown: dict[str, object] = {
        "name": row.name,
        "source": row.source,
        "operators": {op: operator.name for op, operator in operators_of(row).items()},
        "rules": [row.reading_as_json(on) for on in row.settings()],
        "switch": None if row.switch is None else fields(row.switch),
    }
    return shown | {
        name: value
        for name, value in answers.items()
        if name not in (*shown, "prefix") and (value is None or isinstance(value, (str, int)))
    }


DIALECTS_COMMAND = Command(
    name="dialects",
    run=run_dialects,
    parameters=printing_options("json"),
    summary="Print the dialects: how each reads 0 and -1, its limits, its source.",
    examples="""\
  shapecalc dialects
  shapecalc dialects --json""",
)


# `shapecalc why`: one rule explained, or all of them listed.


RULE = Argument(
    "rule",
    "the id of a rule, or of a cause that doctor names, or a word to search for",
    "[RULE]",
    required=False,
    completions=every_rule,
)


def run_why(rule: str | None, out: Output) -> int:
    """Print one rule or the list of rules."""
    if rule is None:
        _print_list(out)
        return Exit.YES
    found = rules_about(rule)
    try:
        entries = found or [lookup(rule, every_rule() | causes(), "rule", all_by="shapecalc why")]
    except ShapeError as error:
        return print_error(error, "why", {"rule": rule}, out)
    if len(entries) == 1:
        put_json(entries[0].as_json()) if out.json else put(rule_text(entries[0]))
    elif out.json:
        put_json([entry.as_json() for entry in entries])
    else:
        _put_rules(entries)
    return Exit.YES


def causes() -> dict[str, Rule]:
    """Return the causes that the doctor finds, each told as a rule is.

    >>> causes()["bad-axis"].sentence
    'an axis is named that the tensor does not have, or one is named twice'
    """
    from shapecalc.core.problem import Rule
    from shapecalc.doctor.reading import CAUSES  # only who asks for one needs them

    told = "A cause that shapecalc doctor finds in a runtime's error message, by its words and by the shapes in it."
    plain = (told, "shapecalc doctor --help")
    return {
        name: Rule(name, cause.said, *(cause.explained or plain), "shapecalc doctor") for name, cause in CAUSES.items()
    }


def rules_about(word: str) -> list[Rule]:
    """Return the rule of that id; without one, the rules whose texts have the word, those that begin with it first.

    >>> [str(rule) for rule in rules_about("-1")][:2], rules_about("nope")
    (['infer', 'infer-empty'], [])
    """
    rules = every_rule()
    if word in rules or not word.strip():
        return [rules[word]] if word in rules else []
    from re import IGNORECASE, compile, escape

    whole = compile(rf"(?<![\w-]){escape(word.strip())}(?!\w)", IGNORECASE)
    texts = {
        rule: f"{rule.sentence}\n{rule} {rule.replace('-', ' ')}\n{rule.explanation}\n{rule.source}"
        for rule in rules.values()
    }
    places = {rule: found.start() for rule, text in texts.items() if (found := whole.search(text))}
    return sorted(places, key=lambda rule: places[rule] > 0)


def rule_text(rule: Rule) -> str:
    """Return a rule as a paragraph to read, with its source and an example to run.

    >>> print(rule_text(every_rule()["two-infers"]))
    two-infers: more than one dim to infer
    <BLANKLINE>
      With two unknown dims, several answers would fit.
    <BLANKLINE>
      source  ONNX Reshape: 'at most one dimension of the new shape can be -1'
      try     shapecalc reshape 2,3,4 -1,-1
    """
    from textwrap import fill

    parts = rule.explanation.split("\n\n")
    text = "\n\n".join(fill(part, 78, initial_indent="  ", subsequent_indent="  ") for part in parts)
    return f"{rule}: {rule.sentence}\n\n{text}\n\n  source  {rule.source}\n  try     {rule.example}"


def _print_list(out: Output) -> None:
    """Print every rule in a line, those that settle something first."""
    if out.json:
        put_json([rule.as_json() for rule in every_rule().values()])
        return
    for title, rules in (("what settles a dim", step_rules()), ("what refuses a request", refusals())):
        put(f"{title}:")
        _put_rules(list(rules.values()))


def _put_rules(rules: Sequence[Rule]) -> None:
    """Print rules, each in a line."""
    width = max(map(len, every_rule()))
    for rule in rules:
        put(f"  {rule.ljust(width)}  {rule.sentence}")


WHY_COMMAND = Command(
    name="why",
    run=run_why,
    parameters=[RULE, *printing_options("json")],
    summary="Explain a rule with an example, list all rules, or those with a certain word.",
    examples="""\
  shapecalc why indivisible
  shapecalc why copy-zero
  shapecalc why allowzero
  shapecalc why""",
)


# `shapecalc backends`: what can carry an answer out here.


def run_backends(out: Output) -> int:
    """Print a line for every backend and device."""
    from shapecalc.engine.execute import list_backends

    rows = list_backends()
    if out.json:
        put_json(rows)
        return Exit.YES
    for row in rows:
        memory = "" if row["memory"] is None else f", {int(str(row['memory'])) / 2**30:.1f} GiB"
        said = row["problem"] or f"{row['version']} on {row['device']}{memory}"
        put(f"{row['name']}: {said}")
    return Exit.YES


BACKENDS_COMMAND = Command(
    name="backends",
    run=run_backends,
    parameters=printing_options("json"),
    summary="List the backends with their versions, devices and memory.",
    examples="""\
  shapecalc backends
  shapecalc backends --json""",
)


# `shapecalc vectors`: golden cases for every dialect, for others to test against.


def run_vectors(dialect: list[str] | None, out: Output) -> int:
    """Write the cases, the same every time."""
    try:
        names = [dialect_called(name).name for name in dict.fromkeys(dialect or [])]
    except ShapeError as error:
        return print_error(error, "vectors", {}, out)
    for case in vectors(names):
        put_json(case)
    return Exit.YES


VECTORS_COMMAND = Command(
    name="vectors",
    run=run_vectors,
    parameters=[DIALECTS_ONLY],
    summary="Write cases with their right answers for every dialect, as JSON Lines that check reads.",
    examples="""\
  shapecalc vectors > vectors.jsonl
  shapecalc vectors --dialect tensorrt --dialect onednn
  shapecalc vectors | shapecalc check -""",
    more=""" Each has an id, the source of its rules, and the right answer.""",
)

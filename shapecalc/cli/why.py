"""`shapecalc why`: one rule explained, or all of them listed."""

from __future__ import annotations

from shapecalc.cli.answer import print_error
from shapecalc.cli.options import Argument, Command, printing_options
from shapecalc.cli.output import Exit, put, put_json
from shapecalc.core.lookup import lookup
from shapecalc.core.ops import every_rule, refusals, step_rules
from shapecalc.core.problem import ShapeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from shapecalc.cli.output import Output
    from shapecalc.core.problem import Rule

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
    from shapecalc.doctor.causes import CAUSES  # only who asks for one needs them

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

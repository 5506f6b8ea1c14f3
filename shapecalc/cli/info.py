"""`shapecalc dialects`, `why`, `backends`, `vectors` and `help`: what the program knows, and its manual."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.resources import files

from shapecalc.cli.answer import print_error
from shapecalc.cli.options import COMMANDS, DIALECTS_ONLY, Argument, Command, printing_options
from shapecalc.cli.output import Exit, Output, put, put_json, show_table
from shapecalc.core.ask import dialect_called
from shapecalc.core.cases import vectors
from shapecalc.core.commands import MADE, SPELLINGS, Option, Takes, respelled
from shapecalc.core.dialects import DIALECTS, dialect_named
from shapecalc.core.dialects.base import Dialect
from shapecalc.core.ops import OPS, every_rule, operators_of, refusals, step_rules
from shapecalc.core.problem import FILE, Problem, Rule, ShapeError, misuse
from shapecalc.core.record import Choice, fields
from shapecalc.core.text import brief, lookup, visible

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

    >>> dialect_as_json(DIALECTS["tensorrt"])["operators"]["broadcast"]
    'ElementWise'
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
    found = [*every_rule().values()] if rule is None else rules_about(rule)
    try:
        entries = found or [lookup(str(rule), every_rule() | causes(), "rule", all_by="shapecalc why")]
    except ShapeError as error:
        return print_error(error, "why", {"rule": rule}, out)
    if len(entries) == 1:
        put_json(entries[0].as_json()) if out.json else put(rule_text(entries[0]))
    elif out.json:
        put_json([entry.as_json() for entry in entries])
    elif rule is not None:
        _put_rules(entries)
    else:
        for title, rules in (("what settles a dim", step_rules()), ("what refuses a request", refusals())):
            put(f"{title}:")
            _put_rules([*rules.values()])
    return Exit.YES


def causes() -> dict[str, Rule]:
    """Return the causes that the doctor finds, each told as a rule is.

    >>> causes()["bad-axis"].sentence
    'an axis is named that the tensor does not have, or one is named twice'
    """
    from shapecalc.doctor.reading import CAUSES  # only who asks for one needs them

    told = "A cause that shapecalc doctor finds in a runtime's error message, by its words and by the shapes in it."
    plain = (told, "shapecalc doctor --help")
    by = "shapecalc doctor"
    return {name: Rule(name, cause.said, *(cause.explained or plain), by) for name, cause in CAUSES.items()}


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


def _put_rules(rules: Sequence[Rule]) -> None:
    """Print rules, each in a line."""
    width = max(map(len, every_rule()))
    for rule in rules:
        put(f"  {rule.ljust(width)}  {rule.sentence}")


WHY_COMMAND = Command(
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
    run=run_vectors,
    parameters=[DIALECTS_ONLY],
    summary="Write cases with their right answers for every dialect, as JSON Lines that check reads.",
    examples="""\
  shapecalc vectors > vectors.jsonl
  shapecalc vectors --dialect tensorrt --dialect onednn
  shapecalc vectors | shapecalc check -""",
    more=""" Each has an id, the source of its rules, and the right answer.""",
)


# The manual pages that come with the package.


OVERVIEW = "shapecalc"
PAGES = {
    "shapecalc": 1,
    "check": 1,
    "doctor": 1,
    "model": 1,
    "tui": 1,
    "cases": 5,
    "lessons": 5,
    "dialects": 7,
    "limits": 7,
    "operands": 7,
    "tutorial": 7,
}
"""The pages with their sections of the manual; all but the first are called shapecalc- and this."""
ABOUT = {"match": "check", "vectors": "check", "drill": "tui", "film": "tui", "serve": "tui"}
"""The pages of commands that share one. What has no page stands in the overview."""
WHOLE = ".Sh SEE ALSO\nThe whole page, with the options:\n.Dl shapecalc help \\-\\-page\n"


def page_about(topic: str) -> str:
    """Return the text of the page about a command or another topic; of the overview, what it says of the command.

    Raises `ShapeError` (file) if this copy of the program was installed without its pages.
    """
    topic = ABOUT.get(topic, topic)
    from shapecalc.view.mdoc import page_text

    return page_text(page_source(topic) if topic in PAGES else _part_about(topic, page_source(OVERVIEW)))


def _part_about(command: str, source: str) -> str:
    """Return what the source of the overview says of one command: how it is written, and its entry."""
    name, synopsis = source.partition("\n.Sh DESCRIPTION\n")[0].split("\n.Sh SYNOPSIS\n")
    written = next(each for each in synopsis.split(".Nm\n") if each.startswith(f".Cm {command}\n"))
    entry, depth = [f".It Ic {command}"], 0
    for line in source.partition(f"\n{entry[0]}\n")[2].splitlines():
        if not depth and line.startswith((".It", ".El")):
            break
        depth += line.startswith(".Bl") - line.startswith(".El")
        entry.append(line)
    listed = [".Sh COMMANDS", ".Bl -tag -width unsqueeze", *entry, ".El"]
    return "\n".join([name, ".Sh SYNOPSIS", ".Nm", written.rstrip(), *listed, WHOLE])


def page_source(topic: str) -> str:
    """Return the source of a page: from the package, or from the checkout that the package stands in."""
    package = files("shapecalc")
    for folder in (package / "man", package / ".." / "man"):
        page = folder / file_name(topic)
        if page.is_file():
            return page.read_text("utf-8")
    raise ShapeError(Problem(FILE, f"{file_name(topic)} is not installed with this copy of shapecalc"))


def file_name(topic: str) -> str:
    """Return the name of a page's file.

    >>> file_name("shapecalc"), file_name("cases")
    ('shapecalc.1', 'shapecalc-cases.5')
    """
    return f"{topic if topic == OVERVIEW else f'{OVERVIEW}-{topic}'}.{PAGES[topic]}"


# What to ask in place of a word that is no command.


MANUAL = "the manual: shapecalc help --page; to begin: shapecalc help tutorial"
MESSAGE = "an error message is read from standard input: shapecalc doctor, paste, Ctrl-D"
ALL_COMMANDS = "all commands: shapecalc -h"
FRAMEWORKS = "the frameworks, which are called dialects: shapecalc dialects"
LESSONS = "lessons: shapecalc tui --lesson; exercises: shapecalc drill"
RULES = "all rules: shapecalc why; the steps of an answer: --explain behind the question"
TOPICS = {
    **dict.fromkeys(("doc", "docs", "documentation", "guide", "man", "manual", "readme"), MANUAL),
    **dict.fromkeys(("example", "examples", "intro", "start"), "examples: shapecalc help tutorial"),
    **dict.fromkeys(("debug", "error", "errors", "exception", "message", "traceback"), MESSAGE),
    **dict.fromkeys(("command", "commands", "list", "operations", "ops"), ALL_COMMANDS),
    **dict.fromkeys(("dialect", "framework", "frameworks"), FRAMEWORKS),
    **dict.fromkeys(
        ("course", "drills", "exercise", "exercises", "learn", "lesson", "lessons", "practice", "quiz", "teach"),
        LESSONS,
    ),
    **dict.fromkeys(("explain", "rule", "rules"), RULES),
    **dict.fromkeys(("app", "gui", "ui"), "the app: shapecalc tui"),
    **dict.fromkeys(("batch", "fix", "mend"), "a model at another batch size: shapecalc model FILE.onnx"),
    "version": "shapecalc --version",
}
"""Words that name a part of the program, and what to ask for it."""


def topic_hint(word: str) -> str:
    """Return what to ask in place of a word that is no command; nothing if it is not known at all.

    >>> topic_hint("tutorial"), topic_hint("infer"), topic_hint("docs").partition(";")[0], topic_hint("reshpe")
    ('a page of the manual: shapecalc help tutorial', 'a rule: shapecalc why infer', \
'the manual: shapecalc help --page', '')
    >>> topic_hint("2,3 | transpose")
    'write shapecalc chain before it'
    """
    if "|" in word:
        return "write shapecalc chain before it"
    if "error" in word.lower() and " " in word:
        return MESSAGE
    if "," in word:
        return "name an op before it, or a second shape after it"
    low = word.lower().removeprefix(f"{OVERVIEW}-")
    if low in TOPICS:
        return TOPICS[low]
    if low in PAGES:
        return f"a page of the manual: shapecalc help {low}"
    if low in every_rule():
        return f"a rule: shapecalc why {low}"
    dialect = dialect_named(low)
    if dialect is not None:
        return f"a dialect: --dialect {dialect.name} behind a question; its rules: shapecalc help dialects --page"
    if low.endswith(".onnx"):
        return "write shapecalc model before it"
    return ""


# `shapecalc help`: the help of a command, or a page.


COMMAND = Argument(
    "command",
    "the command or the page",
    "[COMMAND]",
    required=False,
    completions=lambda: dict.fromkeys([*OPS, *SPELLINGS, *MADE, *COMMANDS, *PAGES]),
)
PAGE = Option("page", "Print the page of the manual, even if a command has that name.", Takes.NOTHING)


def run_help(command: str | None, page: bool, out: Output) -> int:
    """Print the help of a command, or the list of commands; a page if there is no such command, or if asked for one."""
    asked = command or ""
    page |= asked.startswith(f"{OVERVIEW}-")
    words = respelled([asked.removeprefix(f"{OVERVIEW}-")] if asked else [])[:1]
    try:
        for word in words:
            _check_known(word)
        if page or any(word not in OPS and word not in COMMANDS for word in words):
            show_text(page_about(words[0] if words else OVERVIEW))
            return Exit.YES
    except ShapeError as error:
        return print_error(error, "help", {"command": command}, out)
    from shapecalc.cli.typer_adapter import help_text  # a page needs no Typer

    put(help_text(*words))
    return Exit.YES


def _check_known(word: str) -> None:
    """Raise `ShapeError` (usage) if a word is neither a command nor a page, with what it may mean."""
    known = dict.fromkeys([*OPS, *COMMANDS, *PAGES])
    hint = "" if word in known else topic_hint(word)
    if hint:
        raise misuse(f"there is no command '{visible(brief(word))}'", hint)
    lookup(word, known, "command")


def show_text(text: str) -> None:
    """Print a long text: on a terminal by the pager, so that it can be read from its beginning."""
    if sys.stdin is not None and sys.stdout is not None and sys.stdin.isatty() and sys.stdout.isatty():
        from pydoc import pager

        pager(text)
    else:
        put(text)


HELP_COMMAND = Command(
    run=run_help,
    parameters=[COMMAND, PAGE],
    summary="Print a command's help, or a page of the manual.",
    examples="""\
  shapecalc help reshape
  shapecalc help tutorial
  shapecalc help model --page""",
    more=f""" The pages are {", ".join(PAGES)}.""",
)

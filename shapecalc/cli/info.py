"""`shapecalc dialects`, `why`, `backends`, `size`, `vectors` and `help`.

They print the tables of the program, the size of a shape, test cases, and the manual.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from importlib.resources import files
from textwrap import fill

from shapecalc.cli.answer import answer_lines, print_error
from shapecalc.cli.options import COMMANDS, DIALECTS_ONLY, GROUPS, INPUT, Argument, Command, printing_options
from shapecalc.cli.output import Exit, Output, asks_text, put, put_json, read_input, show_table, tell
from shapecalc.core.ask import ask, dialect_called
from shapecalc.core.cases import vectors
from shapecalc.core.commands import ASKING, MADE, SPELLINGS, Option, Takes, respelled, without_padding
from shapecalc.core.dialects import DIALECTS, dialect_named
from shapecalc.core.dialects.base import Dialect, bytes_of
from shapecalc.core.dims import factored, plain, product
from shapecalc.core.ops import FAMILIES, OPS, every_rule, operators_of, refusals, step_rules
from shapecalc.core.problem import FILE, Problem, Rule, ShapeError
from shapecalc.core.record import Choice, fields
from shapecalc.core.text import lookup, shape_text

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
    """Print the tables of dialects, operators and operator versions."""
    if asks_text(out, lambda: [dialect_as_json(row) for row in DIALECTS.values()]):
        from shapecalc.view.story import dialects_table, operators_table, versions_table

        show_table(dialects_table())
        put(LEGEND)
        show_table(operators_table())
        put("")
        show_table(versions_table())
    return Exit.YES


def dialect_as_json(row: Dialect) -> dict[str, object]:
    """Return the JSON object of a dialect, as `shapecalc dialects --json` prints it.

    >>> dialect_as_json(DIALECTS["tensorrt"])["operators"]["broadcast"]
    'ElementWise'
    """
    values = {name: value.value if isinstance(value, Choice) else value for name, value in fields(row).items()}
    result: dict[str, object] = {
        "name": row.name,
        "source": row.source,
        "operators": {op: operator.name for op, operator in operators_of(row).items()},
        "rules": [row.reading_as_json(on) for on in row.settings()],
        "switch": None if row.switch is None else fields(row.switch),
    }
    return result | {
        name: value
        for name, value in values.items()
        if name not in (*result, "prefix") and (value is None or isinstance(value, (str, int)))
    }


DIALECTS_COMMAND = Command(
    run=run_dialects,
    parameters=printing_options("json"),
    summary="Print the dialects: how each reads 0 and -1, its limits, its source.",
    examples="""\
  shapecalc dialects
  shapecalc dialects --json""",
)


RULE = Argument(
    "rule",
    "the id of a rule, or of a cause that doctor names, or a word to search for",
    "[RULE]",
    required=False,
    completions=every_rule,
)


def run_why(rule: str | None, out: Output) -> int:
    """Print the explanation of a rule, or a list of rules."""
    matches = [*every_rule().values()] if rule is None else rules_about(rule)
    try:
        entries = matches or [lookup(str(rule), every_rule() | causes(), "rule", all_by="shapecalc why")]
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
    """Return the causes that `shapecalc doctor` names, as rules by id.

    >>> causes()["bad-axis"].sentence
    'an axis is named that the tensor does not have, or one is named twice'
    """
    from shapecalc.doctor.reading import CAUSES  # slow to import

    explanation = (
        "A cause that shapecalc doctor finds in a runtime's error message, by its words and by the shapes in it."
    )
    default = (explanation, "shapecalc doctor --help")
    example = "shapecalc doctor"
    return {name: Rule(name, cause.said, *(cause.explained or default), example) for name, cause in CAUSES.items()}


def rules_about(word: str) -> list[Rule]:
    """Return the rule with an id, else the rules whose texts contain the word.

    Rules whose sentence begins with the word come first.

    >>> [str(rule) for rule in rules_about("-1")][:2], rules_about("nope")
    (['infer', 'infer-empty'], [])
    """
    rules = every_rule()
    if word in rules or not word.strip():
        return [rules[word]] if word in rules else []
    pattern = re.compile(rf"(?<![\w-]){re.escape(word.strip())}(?!\w)", re.IGNORECASE)
    texts = {
        rule: f"{rule.sentence}\n{rule} {rule.replace('-', ' ')}\n{rule.explanation}\n{rule.source}"
        for rule in rules.values()
    }
    offsets = {rule: match.start() for rule, text in texts.items() if (match := pattern.search(text))}
    return sorted(offsets, key=lambda rule: offsets[rule] > 0)


def rule_text(rule: Rule) -> str:
    """Format a rule with its explanation, its source and an example.

    >>> print(rule_text(every_rule()["two-infers"]))
    two-infers: more than one dim to infer
    <BLANKLINE>
      With two unknown dims, several answers would fit.
    <BLANKLINE>
      source  ONNX Reshape: 'at most one dimension of the new shape can be -1'
      try     shapecalc reshape 2,3,4 -1,-1
    """
    parts = rule.explanation.split("\n\n")
    text = "\n\n".join(fill(part, 78, initial_indent="  ", subsequent_indent="  ") for part in parts)
    return f"{rule}: {rule.sentence}\n\n{text}\n\n  source  {rule.source}\n  try     {rule.example}"


def _put_rules(rules: Sequence[Rule]) -> None:
    """Print the id and the sentence of each rule."""
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


def run_backends(out: Output) -> int:
    """Print a line for each backend and device."""
    from shapecalc.engine.execute import list_backends

    rows = list_backends()
    for row in rows if asks_text(out, lambda: rows) else ():
        memory = "" if row["memory"] is None else f", {int(str(row['memory'])) / 2**30:.1f} GiB"
        status = row["problem"] or f"{row['version']} on {row['device']}{memory}"
        put(f"{row['name']}: {status}")
    return Exit.YES


BACKENDS_COMMAND = Command(
    run=run_backends,
    parameters=printing_options("json"),
    summary="List the backends with their versions, devices and memory.",
    examples="""\
  shapecalc backends
  shapecalc backends --json""",
)


TYPES = ("float32", "float16", "int8")
"""Element types for which the bytes are printed without `--dtype`."""


def run_size(input: str, dtype: str | None, where: str | None, out: Output) -> int:
    """Print the element count of a shape, or of one per line of standard input.

    Return the largest exit code.
    """
    if input.strip() != "-":
        return _print_size(input, dtype, where, out)

    def print_line_size(line: str, line_options: Output) -> int:
        return _print_size(line, dtype, where, line_options)

    return answer_lines(print_line_size, "size", {"input": input}, out)


def _print_size(text: str, dtype: str | None, where: str | None, out: Output) -> int:
    """Print the element count of a shape, with its factors, bytes and next commands."""
    try:
        parsed = read_input(without_padding(text), {"dtype": dtype}, "flatten")
        request = ask("flatten", parsed.shape, {**parsed.options, "where": where})
    except ShapeError as error:
        return print_error(error, "size", {"input": text}, out)
    count = product(request.input)
    types = (request.dtype,) if request.dtype else TYPES
    sizes = {dtype: product((count, bytes_of(dtype))) for dtype in types}
    json_sizes = {dtype: plain(size) for dtype, size in sizes.items()}
    if asks_text(out, lambda: {"input": plain(request.input), "elements": plain(count), "bytes": json_sizes}):
        put(str(count))
        factors = f"{factored(count)} elements; " if isinstance(count, int) else ""
        tell(f"shapecalc: {factors}{', '.join(f'{size} bytes of {dtype}' for dtype, size in sizes.items())}")
        shape = shape_text(request.input)
        tell(f"shapecalc: next: shapecalc {shape} TARGET, shapecalc code 'x...' --input x={shape}")
    return Exit.YES


SIZE_COMMAND = Command(
    run=run_size,
    parameters=[INPUT, ASKING["dtype"], ASKING["where"], *printing_options("json", "quiet")],
    summary="Print how many elements a shape has, with its factors and its bytes.",
    examples="""\
  shapecalc size 2,3,4
  shapecalc size N,C,H,W --where N=8
  shapecalc size x.npy --json""",
)


def run_vectors(dialect: list[str] | None, out: Output) -> int:
    """Print test cases with their answers for each dialect, as JSON Lines."""
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


OVERVIEW = "shapecalc"
PAGES = {
    **dict.fromkeys(("shapecalc", "check", "doctor", "model", "tui"), 1),
    **dict.fromkeys(("cases", "lessons"), 5),
    **dict.fromkeys(("dialects", "limits", "operands", "tutorial"), 7),
}
"""Manual pages by topic, with their section numbers."""
ABOUT = {"match": "check", "vectors": "check", "drill": "tui", "film": "tui", "serve": "tui"}
"""Pages of commands that share one; other commands are in the overview."""
COMMON_TITLES = ("synopsis", "description", "examples", "see also", "files")
"""Sections that most pages have, which `help topics` leaves out."""
WHOLE = ".Sh SEE ALSO\nThe whole page, with the options:\n.Dl shapecalc help \\-\\-page\n"


def page_about(topic: str) -> str:
    """Return the page of a topic, else the entry of a command in the overview.

    Raises `ShapeError` (file) if the package was installed without its pages.
    """
    topic = ABOUT.get(topic, topic)
    from shapecalc.view.mdoc import page_text

    return page_text(page_source(topic) if topic in PAGES else _part_about(topic, page_source(OVERVIEW)))


def _part_about(command: str, source: str) -> str:
    """Return the synopsis and the entry of a command in the overview, as mdoc."""
    name, synopsis = source.partition("\n.Sh DESCRIPTION\n")[0].split("\n.Sh SYNOPSIS\n")
    usage = next(text for text in synopsis.split(".Nm\n") if text.startswith(f".Cm {command}\n"))
    entry, depth = [f".It Ic {command}"], 0
    for line in source.partition(f"\n{entry[0]}\n")[2].splitlines():
        if not depth and line.startswith((".It", ".El")):
            break
        depth += line.startswith(".Bl") - line.startswith(".El")
        entry.append(line)
    commands = [".Sh COMMANDS", ".Bl -tag -width unsqueeze", *entry, ".El"]
    return "\n".join([name, ".Sh SYNOPSIS", ".Nm", usage.rstrip(), *commands, WHOLE])


def page_source(topic: str) -> str:
    """Return the mdoc source of a page, from the package or its checkout.

    Raises `ShapeError` (file) if the page is not installed.
    """
    package = files("shapecalc")
    for folder in (package / "man", package / ".." / "man"):
        page = folder / file_name(topic)
        if page.is_file():
            return page.read_text("utf-8")
    raise ShapeError(Problem(FILE, f"{file_name(topic)} is not installed with this copy of shapecalc"))


def file_name(topic: str) -> str:
    """Return the file name of a page.

    >>> file_name("shapecalc"), file_name("cases")
    ('shapecalc.1', 'shapecalc-cases.5')
    """
    return f"{topic if topic == OVERVIEW else f'{OVERVIEW}-{topic}'}.{PAGES[topic]}"


FIRST_SCREEN = """\
shapecalc tells what a tensor's shape becomes, and why, under the rules of a
framework. Give it what you have:

  shapecalc 2,3,4 0,-1                                two shapes
  shapecalc '2,3,4 | transpose 1,0,2 | reshape 6,4'   ops in a row
  shapecalc 'x.view(2, -1)' x=2,3,4                   a line of code
  shapecalc yolo.onnx                                 a model, an array, a log
  shapecalc < error.txt                               a runtime's message

Three commands to know:

  shapecalc doctor    what an error message means, and what would mend it
  shapecalc model     which Reshape of a model breaks at another batch size
  shapecalc tui       every step as a picture, with a ten-minute course
"""
NEXT = """\
shapecalc -h lists all commands, shapecalc help tutorial is for newcomers.
On Windows, shapes need double quotes: shapecalc "2,3,4" "0,-1"."""


def all_commands() -> str:
    """Return the help of the program: the first screen, then the commands by group."""
    width = max(map(len, (*GROUPS, *FAMILIES)))
    groups = [f"  {title.ljust(width)}  {' '.join(names)}" for title, names in GROUPS.items()]
    families = [f"  {title.ljust(width)}  {' '.join(names)}" for title, names in FAMILIES.items()]
    commands = "\n".join(["Commands:", *groups, "Ops:", *families])
    more = "shapecalc COMMAND -h explains one, shapecalc help topics lists what else there is.\n"
    more += "-V tells the version, --install-completion lets the shell complete words."
    return f"Usage: shapecalc WHAT... | COMMAND [OPTIONS] ARGS...\n\n{FIRST_SCREEN}\n{commands}\n\n{more}"


CI = "continuous integration"
ALSO = {
    **dict.fromkeys(("doc", "docs", "documentation", "guide", "man", "manual", "readme"), OVERVIEW),
    **dict.fromkeys(("example", "intro", "start"), "tutorial"),
    **dict.fromkeys(("debug", "error", "errors", "exception", "message", "traceback"), "doctor"),
    **dict.fromkeys(("command", "commands", "list", "ops"), "operations"),
    **dict.fromkeys(("dialect", "framework", "frameworks"), "dialects"),
    **dict.fromkeys(("course", "learn", "lesson", "teach"), "lessons"),
    **dict.fromkeys(("drills", "exercise", "exercises", "practice", "quiz"), "drill"),
    **dict.fromkeys(("explain", "rule"), "rules"),
    **dict.fromkeys(("app", "gui", "path", "pictures", "puzzles", "slides", "ui", "worksheets"), "tui"),
    **dict.fromkeys(("batch", "fix", "mend"), "model"),
    **dict.fromkeys(("ci", "actions", "github", "hook", "junit", "pre-commit", "workflow"), CI),
    **dict.fromkeys(("api", "import", "pytest", "test", "tests"), "python"),
    **dict.fromkeys(("exit", "codes"), "exit status"),
    **dict.fromkeys(("array", "arrays", "folder", "npy"), "match"),
    **dict.fromkeys(("pipe", "stdin"), "inputs"),
    **dict.fromkeys(("what", "reading"), "readings"),
    "option": "options",
}
"""Manual topics by other words for them."""


def topic_hint(word: str) -> str:
    """Return a hint to the manual for a word that is not a command, empty if unknown.

    >>> topic_hint("tutorial"), topic_hint("infer"), topic_hint("reshpe")
    ('shapecalc help tutorial tells of it', 'shapecalc help infer tells of it', '')
    """
    topic = word.lower().removeprefix(f"{OVERVIEW}-")
    return f"shapecalc help {topic} tells of it" if topic in ALSO or told_about(topic) else ""


def told_about(word: str) -> str:
    """Return the page, rule, dialect, section or option of a word, empty if unknown.

    >>> told_about("two-infers").splitlines()[0], told_about("ORT").splitlines()[0], told_about("nope")
    ('two-infers: more than one dim to infer', 'onnxruntime', '')
    """
    if word in PAGES:
        return page_about(word)
    rules = every_rule() | causes()
    if word in rules:
        return rule_text(rules[word])
    dialect = dialect_named(word)
    title = word if dialect is None else dialect.name
    from shapecalc.view.mdoc import page_text

    sections = {page: section for page in PAGES if (section := _sections(page).get(title))}
    heads = {page: f"({file_name(page)})\n" if len(sections) > 1 else "" for page in sections}
    return "\n\n".join([f"{heads[page]}{page_text(text)}" for page, text in sections.items()]) or _option_text(word)


def _option_text(word: str) -> str:
    """Return the entry of an option in the overview, empty if there is none."""
    from shapecalc.view.mdoc import page_text

    name = re.escape(word.strip("-").replace("_", "-"))
    entry = re.search(
        rf"^\.It Fl [^\n]*?-{name}(?![\w-])[^\n]*\n(?:(?!\.It |\.El|\.S[hs] ).*\n)*", page_source(OVERVIEW), re.M
    )
    return page_text(f".Sh OPTIONS\n.Bl -tag -width Ds\n{entry[0]}.El") if entry else ""


def _sections(page: str) -> dict[str, str]:
    """Return the sections of a page by lower-case title, each with its subsections.

    Subsections are listed by their own titles as well.
    """
    sections: dict[str, str] = {}
    name = file_name(page).partition(".")[0]
    source = page_source(page).replace("\n.Nm\n", f"\n.Nm {name}\n")
    for part in source.split("\n.Sh ")[2:]:
        title, _, text = part.partition("\n")
        sections[title.lower()] = f".Sh {title}\n{text}"
        for subsection in f"\n{text}".split("\n.Ss ")[1:]:
            sections[subsection.partition("\n")[0].lower()] = f".Sh {subsection}"
    return sections


def topics() -> str:
    """Return the titles of all sections of the manual, one paragraph per page."""
    from shapecalc.view.mdoc import unescaped

    titles = {page: [unescaped(title) for title in _sections(page) if title not in COMMON_TITLES] for page in PAGES}
    width = max(map(len, PAGES))
    lines = [
        fill(", ".join(names), 78, initial_indent=f"  {page.ljust(width)}  ", subsequent_indent=" " * (width + 4))
        for page, names in titles.items()
    ]
    return "\n".join(["shapecalc help TOPIC prints one; the pages and what is in them:", *lines])


COMMAND = Argument(
    "command",
    "a command, a page, a rule, a dialect, or another topic",
    "[TOPIC]",
    required=False,
    repeated=True,
    completions=lambda: dict.fromkeys([*OPS, *SPELLINGS, *MADE, *COMMANDS, *PAGES, *ALSO, "topics"]),
)
PAGE = Option("page", "Print the page of the manual, even if a command has that name.", Takes.NOTHING)


def run_help(command: list[str] | None, page: bool, out: Output) -> int:
    """Print the help of a command, a page or a section, or all commands."""
    topic = " ".join(command or ()).lower()
    word = respelled([topic.removeprefix(f"{OVERVIEW}-")])[0]
    try:
        show_text(_help_on(ALSO.get(word, word), page=page or topic.startswith(f"{OVERVIEW}-")))
    except ShapeError as error:
        return print_error(error, "help", {"command": topic}, out)
    return Exit.YES


def _help_on(word: str, *, page: bool) -> str:
    """Return the help on a topic.

    Raises `ShapeError`: usage for an unknown topic, file if the pages are not installed.
    """
    known = dict.fromkeys([*OPS, *COMMANDS, *PAGES])
    if page:
        if word:
            lookup(word, known, "page")
        return page_about(word or OVERVIEW)
    if not word:
        return all_commands()
    if word == "topics":
        return topics()
    if word in OPS or word in COMMANDS:
        from shapecalc.cli.typer_adapter import help_text  # imports Typer, which pages do not need

        return help_text(word)
    text = told_about(word)
    if not text:
        lookup(word, dict.fromkeys([*known, *ALSO, "topics"], ""), "topic", all_by="shapecalc help topics")
    return text


def show_text(text: str) -> None:
    """Print a long text, on a terminal through the pager."""
    if sys.stdin is not None and sys.stdout is not None and sys.stdin.isatty() and sys.stdout.isatty():
        from pydoc import pager

        pager(text)
    else:
        put(text)


HELP_COMMAND = Command(
    run=run_help,
    parameters=[COMMAND, PAGE],
    summary="Print the help of a command, a page of the manual, or a part of one.",
    examples="""\
  shapecalc help reshape
  shapecalc help tutorial
  shapecalc help ci
  shapecalc help model --page""",
    more=f""" The pages are {", ".join(PAGES)}.""",
)

"""`shapecalc help`: the help of a command, a page of the manual, or what to ask in place of a word."""

from __future__ import annotations

import sys
from importlib.resources import files

from shapecalc.cli.answer import print_error
from shapecalc.cli.options import COMMANDS, Argument, Command
from shapecalc.cli.output import Exit, Output, put
from shapecalc.core.commands import SPELLINGS, Option, Takes, respelled
from shapecalc.core.dialects import dialect_named
from shapecalc.core.ops import OPS, every_rule
from shapecalc.core.problem import FILE, Problem, ShapeError, misuse
from shapecalc.core.text import brief, lookup, visible
from shapecalc.view.mdoc import page_text

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
RULE = "all rules: shapecalc why; the steps of an answer: --explain behind the question"
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
    **dict.fromkeys(("explain", "rule", "rules"), RULE),
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


# The command.


COMMAND = Argument(
    "command",
    "the command or the page",
    "[COMMAND]",
    required=False,
    completions=lambda: dict.fromkeys([*OPS, *SPELLINGS, *COMMANDS, *PAGES]),
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
    name="help",
    run=run_help,
    parameters=[COMMAND, PAGE],
    summary="Print a command's help, or a page of the manual.",
    examples="""\
  shapecalc help reshape
  shapecalc help tutorial
  shapecalc help model --page""",
    more=f""" The pages are {", ".join(PAGES)}.""",
)

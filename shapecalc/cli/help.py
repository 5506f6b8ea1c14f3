"""`shapecalc help`: the help of a command, or a page of the manual."""

from __future__ import annotations

import sys

from shapecalc.cli.answer import print_error
from shapecalc.cli.app import COMMANDS, app
from shapecalc.cli.options import Argument, Command, Option, Takes
from shapecalc.cli.output import Exit, put
from shapecalc.cli.pages import OVERVIEW, PAGES, page_about
from shapecalc.cli.topics import topic_hint
from shapecalc.core.commands import SPELLINGS, respelled
from shapecalc.core.lookup import lookup
from shapecalc.core.ops import OPS
from shapecalc.core.problem import ShapeError, misuse
from shapecalc.core.text import brief, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.cli.output import Output

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
    return int(app(words)([*words, "--help"], prog_name="shapecalc", standalone_mode=False) or 0)


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

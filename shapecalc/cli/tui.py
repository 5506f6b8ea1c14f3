"""`shapecalc tui`: the terminal app, opened at a question."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import Annotated

import typer

from shapecalc.cli.answer import finished, input_text, refused, unpadded
from shapecalc.cli.options import Output, completing
from shapecalc.cli.output import Exit
from shapecalc.core.operations import OPS
from shapecalc.core.problem import ShapeError, misuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SUMMARY = "See, step by step, how 0, -1 and permutations map input dims to output dims."
HELP = f"""\b
  shapecalc tui
  shapecalc tui shuffle 2,3,4 --first 1,0,2 --to 2,-1,3 --step 4
  shapecalc tui chain '8,128,768 | reshape 0,0,12,64 | transpose 0,2,1,3'
  shapecalc tui --lesson
  s=$(shapecalc tui reshape 2,3,4 0,-1)

{SUMMARY} F10 quits and prints the answer, F1 lists the keys."""
INSTEAD = "shapecalc OP ... --explain prints the same pictures"
UNKNOWN = {"allow_extra_args": True, "ignore_unknown_options": True}
"""The words after `tui` are an op's command line, which the core reads."""


def add(app: typer.Typer, cls: type) -> None:
    """Give the app the command."""
    app.command("tui", cls=cls, short_help=SUMMARY, help=HELP, context_settings=UNKNOWN)(tui)


def openings(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the completions of the first word: the commands whose questions the app opens."""
    return [] if ctx.params.get("words") else completing([*OPS, "chain"])(incomplete)


def tui(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[OP ARGS...]",
            help="any op's command line, or chain's",
            autocompletion=openings,
            show_default=False,
        ),
    ] = None,
    step: Annotated[
        int | None, typer.Option("--step", help="Open at this step, from 1.", metavar="N", min=1, show_default=False)
    ] = None,
    lesson: Annotated[bool, typer.Option("--lesson", help="Open with the lessons.")] = False,
) -> int:
    """Run the app, and print the answer where it was left with F10."""
    asking = [*(words or []), *ctx.args]
    try:
        from shapecalc.tui.question import asked

        question = asked([unpadded(word) for word in asking])
        if question.texts.get("input", "").strip() == "-":
            question = question.with_text("input", _from_stdin())
        _check_terminal()
    except ShapeError as error:
        return refused(error, "tui", {"command": " ".join(asking) or None}, Output())
    from shapecalc.tui.app import ShapecalcApp

    with _stdout_at_terminal():
        app = ShapecalcApp(question, None if step is None else step - 1, lesson=lesson)
        reply = app.run()
    if reply is None or _in_a_browser():
        return app.return_code or Exit.YES
    if reply.answer is not None:
        return finished(reply.answer, Output())
    return Exit.YES if reply.problem is None else refused(ShapeError(reply.problem), question.op, {}, Output())


def _from_stdin() -> str:
    """Return the shape that standard input holds, and take the keys from the terminal from now on."""
    if sys.stdin is not None and sys.stdin.isatty():
        raise misuse("there is no shape on standard input, only the keyboard", "echo 2,3,4 | shapecalc tui - ...")
    text = input_text("-")
    try:
        os.dup2(os.open("/dev/tty", os.O_RDWR), 0)
    except OSError:
        raise misuse("there is no terminal for the app to take its keys from", INSTEAD) from None
    return text


def _check_terminal() -> None:
    """Refuse to draw where nobody would see it, or could end it."""
    if _in_a_browser():
        return
    if sys.stdin is None or sys.stderr is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise misuse("the app needs a terminal, for its keys and on standard error", INSTEAD)
    if os.environ.get("TERM", "") in ("", "dumb"):
        raise misuse("the app cannot draw on a terminal of the kind TERM names", INSTEAD)
    if (sys.stderr.encoding or "").lower().replace("-", "") != "utf8":
        raise misuse(f"the app needs a terminal in UTF-8, and this one is in {sys.stderr.encoding}", INSTEAD)


@contextmanager
def _stdout_at_terminal() -> Iterator[None]:
    """Let stdout be the terminal for a while: Textual asks it for the size, and takes 80x24 where it is a pipe."""
    if sys.stdout is None or sys.stdout.isatty() or _in_a_browser():
        yield
        return
    kept = os.dup(1)
    try:
        os.dup2(2, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _in_a_browser() -> bool:
    """Say whether the app is served: what is drawn goes to a browser, and there is no terminal."""
    return bool(os.environ.get("TEXTUAL_DRIVER"))

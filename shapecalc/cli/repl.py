"""`shapecalc repl`: a prompt that holds a current shape."""

from __future__ import annotations

import sys

from shapecalc.cli.answer import print_error
from shapecalc.cli.config import told_defaults
from shapecalc.cli.options import Command, printing_options
from shapecalc.cli.output import Exit, put, stream_error, tell, tell_problem
from shapecalc.cli.session import Reply, Session
from shapecalc.core.problem import ShapeError
from shapecalc.core.text import brief, shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.cli.output import Output
    from shapecalc.core.ask import Stage

LINES: list[Stage] = [("reshape", {}), ("reshape", {"dialect": "onnx"}), ("shuffle", {})]
"""Stages of which each default changes one: it is told before the first line."""


def run_repl(out: Output) -> int:
    """Read lines and answer them until the end of input or `quit`."""
    try:
        session = Session(told_defaults(LINES, {}, out))
    except ShapeError as error:
        return print_error(error, "repl", {}, out)
    if sys.stdin is None:
        raise stream_error("stdin", "it is closed")
    sys.stdin.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]
    if not (sys.stdin.isatty() and sys.stdout is not None and sys.stdout.isatty()):
        return _answer_lines(session)
    return _answer_keyboard(session)


def _answer_keyboard(session: Session) -> int:
    """Answer what is typed until ^D or `quit`; ^C drops the line, or the answer that takes too long."""
    from shapecalc.cli.prompt import line_editor

    tell("shapecalc: write a shape, then ops; Tab completes, help lists the rest")
    editor, history = line_editor()
    done = False
    while not done:
        try:
            done = _answer_typed(session, editor.prompt(_prompt(session)))
        except EOFError:
            done = True
        except KeyboardInterrupt:
            continue
    if history.complaint:
        tell(f"shapecalc: history: {history.complaint}")
    return Exit.YES


def _answer_typed(session: Session, text: str) -> bool:
    """Answer the lines of a text, several if it was pasted; say whether one of them leaves the prompt."""
    for line in text.split("\n"):
        reply = session.reply(line)
        if reply.done:
            return True
        _print_reply(reply)
    return False


def _answer_lines(session: Session) -> int:
    """Answer the lines of a pipe or a file; return the largest exit code among them."""
    worst = Exit.YES
    try:
        for line in sys.stdin:
            reply = session.reply(line)
            if reply.done:
                break
            _print_reply(reply)
            worst = max(worst, reply.code)
    except OSError as error:
        raise stream_error("stdin", error.strerror) from None
    return worst


def _print_reply(reply: Reply) -> None:
    if reply.answer:
        put(reply.answer)
    if reply.story:
        tell(reply.story)
    if reply.problem:
        tell_problem(reply.problem, list(reply.pieces))


def _prompt(session: Session) -> str:
    shape = "" if session.shape is None else shape_text(session.shape)
    return " ".join(filter(None, [brief(shape), session.dialect])) + "> "


REPL_COMMAND = Command(
    name="repl",
    run=run_repl,
    parameters=printing_options("no_config"),
    summary="Open a prompt that keeps a current shape, which each op changes.",
    examples="""\
  shapecalc repl
  printf '2,3,4\\nreshape 0,-1\\n' | shapecalc repl""",
    more=""" From a pipe, the exit code is the largest of its lines.""",
)

"""`shapecalc repl`: a prompt with a current shape and its history."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from shapecalc.cli.answer import print_error
from shapecalc.cli.app import is_message, run_line
from shapecalc.cli.options import COMMANDS as PROGRAM
from shapecalc.cli.options import PRINTING, Command, parameters_of, printing_options
from shapecalc.cli.output import (
    Exit,
    Output,
    RunEnded,
    problem_code,
    put,
    stream_error,
    tell,
    tell_problem,
    told_defaults,
)
from shapecalc.core import commands
from shapecalc.core.answers import NONE, Chain, Trace
from shapecalc.core.ask import Stage, ask, chain_with_options, dialect_called, with_defaults
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dims import Shape
from shapecalc.core.fixing import answer, answer_chain
from shapecalc.core.ops import OPS, every_rule
from shapecalc.core.problem import Problem, ShapeError, misuse
from shapecalc.core.readings import OTHER_WORDS, Held, is_shape, read_held
from shapecalc.core.record import Record
from shapecalc.core.text import brief, read_shape, shape_text, split, suggestion, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prompt_toolkit.completion import Completer  # importing it takes as long as Typer
    from prompt_toolkit.document import Document

    from shapecalc.cli.terminal import TerminalApp

COMMANDS = {
    "explain": "print the steps of the last answer and a picture",
    "explain all": "the same, with every picture",
    "undo": "go back one answer",
    "dialect NAME": "ask that framework from now on",
    "why RULE": "explain a rule",
    "ops": "list the operations",
    "help": "this list",
    "quit": "leave; so does ^D",
}
"""Commands of the prompt itself, with their help."""
SAME = {"?": "help", "exit": "quit"}
"""Aliases of commands."""
LINES: list[Stage] = [("reshape", {}), ("reshape", {"dialect": "onnx"}), ("shuffle", {})]
"""Stages that make every default relevant, so that all of them are reported."""
HELP = """\
  2,3,4               set the current shape; every answer becomes the new one, also called ans
  transpose 1,0,2     carry the current shape through an op; its options are the command's
  reshape ans 0,-1    the same, with the input named
  ans | flatten       several ops in a row
"""


class Reply(Record):
    """The reply to a line: an answer for stdout, a message or a problem for stderr."""

    answer: str = ""
    story: str = ""
    problem: Problem | None = None
    pieces: tuple[tuple[str | None, str], ...] = ()
    code: int = Exit.YES
    done: bool = False
    line: tuple[str, ...] = ()
    """Words of a command line that the whole program runs."""


class Session:
    """The state of a prompt; a line that fails does not change it.

    >>> session = Session()
    >>> [session.reply(line).answer for line in ("2,3,4", "transpose 1,0,2", "reshape 0,-1", "undo")]
    ['2,3,4', '3,2,4', '3,8', '3,2,4']
    """

    def __init__(self, defaults: Mapping[str, object] = NONE) -> None:
        """Start without a shape; ops without a default dialect use their own."""
        self._defaults = dict(defaults)
        self._past: list[Shape] = []
        self._last: Trace | Chain | None = None

    @property
    def dialect(self) -> str | None:
        """The dialect of every line; an op that it lacks is a problem."""
        return str(self._defaults["dialect"]) if "dialect" in self._defaults else None

    @property
    def shape(self) -> Shape | None:
        """The current shape, or None at first."""
        return self._past[-1] if self._past else None

    def reply(self, line: str) -> Reply:
        """Return the reply to a line; errors are replies as well."""
        try:
            words = commands.respelled(split(line))
            return self._reply(line.strip(), words) if words else Reply()
        except ShapeError as error:
            if is_message(line):
                return Reply(line=("--", line.strip()))
            pieces = ((None, visible(line.strip()[:200])),)
            return Reply(problem=error.problem, pieces=pieces, code=problem_code(error.problem))

    def _reply(self, line: str, words: list[str]) -> Reply:
        """Return the reply to a non-empty line; raise `ShapeError`."""
        if words[0] == "chain" and len(words) > 1:
            line, words = " ".join(words[1:]), split(" ".join(words[1:]))
        if "|" in line:
            shape, stages = commands.read_chain(f"ans | {line}" if words[0] in OPS else line)
            return self._keep(answer_chain(self._input(shape), chain_with_options(stages, {}, self._defaults), {}))
        error = commands.elsewhere_error(words[0])
        if error is not None:
            raise error
        if words[0] in OPS:
            stage = commands.read_stage(words, with_input=_names_input(words, self.shape is not None))
            options = with_defaults(stage.op, self._defaults, stage.options)
            return self._keep(answer(ask(stage.op, self._input(stage.input or "ans"), options)))
        name = SAME.get(words[0], words[0])
        method: Callable[[list[str]], Reply] | None = getattr(self, f"_reply_to_{name}", None)
        if method is not None:
            return method(words[1:])
        if words == ["ans"]:
            return Reply(self._input("ans"))
        if is_shape(line):
            self._past.append(read_shape(line))
            return Reply(self._input("ans"))
        return Reply(line=self._held_line(line, words))

    def _input(self, text: str) -> str:
        """Replace `ans` by the current shape; raise `ShapeError` (usage) without one."""
        if text != "ans":
            return text
        if self.shape is None:
            raise misuse("there is no current shape yet", "write one: 2,3,4")
        return shape_text(self.shape)

    def _keep(self, answer: Trace | Chain) -> Reply:
        """Store an answer as the last one, and return the reply for it.

        Its output becomes the current shape, unless an op of it ends a chain. A refusal is not stored.
        """
        if answer.output is None:
            trace = answer.traces[-1]
            pieces = tuple(commands.command_pieces(trace.op, commands.texts_of(trace.request)))
            return Reply(problem=answer.problem, pieces=pieces, code=Exit.UNRESOLVED)
        self._last = answer
        if not any(OPS[trace.op].ends_chain for trace in answer.traces):
            self._past.append(answer.output)
        return Reply(shape_text(answer.output), "\n".join(answer.limits))

    def _held_line(self, text: str, words: list[str]) -> tuple[str, ...]:
        """Infer the command line that a text stands for.

        The current shape is the input of code without one. Raises `ShapeError` (usage) if no command line fits.
        """
        if words[0] in PROGRAM or words[0] in OTHER_WORDS:
            return tuple(words)
        for candidate in ((text,), tuple(words)):
            line = read_held(Held(candidate, candidate, is_message))
            if line and line[0] == "code" and "--input" not in line and self.shape is not None:
                return (*line, "--input", shape_text(self.shape))
            if line:
                return ("--", *candidate)
        known = [*OPS, *PROGRAM, *(name.split()[0] for name in COMMANDS)]
        raise misuse(f"there is no operation '{visible(brief(words[0]))}'", suggestion(words[0], known))

    def _reply_to_explain(self, words: list[str]) -> Reply:
        if self._last is None:
            raise misuse("there is no answer to explain yet", "carry a shape through an op first: reshape 0,-1")
        if words not in ([], ["all"]):
            raise misuse(f"explain has no argument, or all, and not '{visible(brief(words[0]))}'")
        from shapecalc.view.canvas import strokes_for
        from shapecalc.view.story import story

        strokes = strokes_for(getattr(sys.stdout, "encoding", None))
        return Reply(str(story(self._last, strokes=strokes, more="" if words else "explain all")))

    def _reply_to_undo(self, words: list[str]) -> Reply:
        if len(self._past) < 2:
            raise misuse("there is nothing to go back to")
        self._past.pop()
        return Reply(self._input("ans"))

    def _reply_to_dialect(self, words: list[str]) -> Reply:
        if not words:
            return Reply("\n".join(f"{'*' if name == self.dialect else ' '} {name}" for name in DIALECTS))
        self._defaults["dialect"] = dialect_called(words[0]).name
        return Reply(story=f"asking {self.dialect}")

    def _reply_to_ops(self, words: list[str]) -> Reply:
        lines = [
            f"  {commands.usage(op, with_input=False).removeprefix('write ')}\n      {op.summary}"
            for op in OPS.values()
        ]
        return Reply("\n".join(lines))

    def _reply_to_help(self, words: list[str]) -> Reply:
        return Reply(HELP + "\n".join(f"  {name.ljust(18)}  {text}" for name, text in COMMANDS.items()))

    def _reply_to_quit(self, words: list[str]) -> Reply:
        return Reply(done=True)


def _names_input(words: list[str], has_shape: bool) -> bool:
    """Return whether the line of an op has an input of its own.

    It does if its first value is `ans`, or if it has one value more than the op has parameters.
    """
    values, op = commands.read_values(words), OPS[words[0]]
    if values[:1] == ["ans"] or not has_shape:
        return values[:1] == ["ans"] or len(values) in (len(op.slots) + 1, len(op.places) + 1)
    return bool(op.places) and len(values) == len(op.places) + 1


def words_after(text: str) -> list[str]:
    """Return the completions after a text: commands and ops, then options and values.

    >>> words_after("dialect ")[:2], words_after("2,3 | reshape 6 --dialect ")[:2], words_after("2,3 ")
    (['onnx', 'tensorrt'], ['onnx', 'tensorrt'], [])
    """
    _, bar, stage = text.rpartition("|")
    words = stage.split()
    if not words:
        return [*OPS] if bar else [*OPS, *(name.split()[0] for name in COMMANDS), "ans"]
    if words[0] in OPS:
        return [*(["ans"] if len(words) == 1 and not bar else []), *_option_words(words[0], words[-1])]
    known: dict[str, Iterable[str]] = {"dialect": DIALECTS, "why": every_rule()}
    return [*known.get(text.strip(), ())]


def _option_words(op: str, last: str) -> Iterable[str]:
    """Return the values of the option if one is the last word, else the options."""
    options = [
        parameter
        for parameter in parameters_of(OPS[op])
        if isinstance(parameter, commands.Option) and parameter.name not in PRINTING
    ]
    for option in options:
        if last in (option.spelling, option.short) and option.takes is commands.Takes.TEXT:
            return option.completions() if option.completions else ()
    switches = [option for option in options if option.takes is commands.Takes.SWITCH]
    off = [f"--no-{switch.spelling.removeprefix('--')}" for switch in switches]
    return [*(option.spelling for option in options), *off]


def run_repl(app: TerminalApp, out: Output) -> int:
    """Answer lines until the input ends or `quit`."""
    try:
        session = Session(told_defaults(LINES, {}, out))
    except ShapeError as error:
        return print_error(error, "repl", {}, out)
    if sys.stdin is None:
        raise stream_error("stdin", "it is closed")
    sys.stdin.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]
    if not (sys.stdin.isatty() and sys.stdout is not None and sys.stdout.isatty()):
        try:
            return _answer_lines(session, sys.stdin, app)[0]
        except OSError as error:
            raise stream_error("stdin", error.strerror) from None
    return _answer_keyboard(session, app)


def _answer_keyboard(session: Session, app: TerminalApp) -> int:
    """Run an interactive prompt until ^D or `quit`; ^C cancels a line or its answer."""
    from platformdirs import user_state_path
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import DynamicCompleter
    from prompt_toolkit.history import InMemoryHistory

    tell("shapecalc: write a shape, then ops; Tab completes, help lists the rest")
    file = user_state_path("shapecalc", appauthor=False) / "history"
    history = InMemoryHistory(_past_lines(file))
    completer = DynamicCompleter(lambda: completer_at(editor.default_buffer.document))
    editor: PromptSession[str] = PromptSession(
        history=history, completer=completer, complete_while_typing=False, enable_suspend=True
    )
    done, complaint = False, ""
    while not done:
        last = history.get_strings()[-1:]
        try:
            text = editor.prompt(_prompt(session))
            if text and [text] != last:
                complaint = _keep_line(text, file) or complaint
            done = _answer_lines(session, text.split("\n"), app)[1]
        except EOFError:
            done = True
        except KeyboardInterrupt:
            continue
    if complaint:
        tell(f"shapecalc: history: {complaint}")
    return Exit.YES


def completer_at(document: Document) -> Completer:
    """Return the completer of the word before the cursor."""
    from prompt_toolkit.completion import WordCompleter

    word = document.get_word_before_cursor(WORD=True)
    return WordCompleter(words_after(document.text_before_cursor.removesuffix(word)), WORD=True)


def _past_lines(file: Path) -> list[str]:
    """Return the last lines of the history file; none if it cannot be read."""
    lines: list[str] = []
    with suppress(OSError):
        lines = file.read_text("utf-8", "replace").split("\n")
    return list(filter(None, lines))[-1000:]


def _keep_line(line: str, file: Path) -> str:
    """Append a line to the history file; return the error, empty if there is none."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8", errors="backslashreplace") as history:
            history.write(f"{line}\n")
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _answer_lines(session: Session, lines: Iterable[str], app: TerminalApp) -> tuple[int, bool]:
    """Answer lines; return their largest exit code, and whether one was `quit`."""
    worst = Exit.YES
    for line in lines:
        reply = session.reply(line)
        if reply.done:
            return worst, True
        _print_reply(reply)
        worst = max(worst, reply.code, _run(reply.line, app) if reply.line else Exit.YES)
    return worst, False


def _run(words: tuple[str, ...], app: TerminalApp) -> int:
    """Run a command line of the program; return its exit code.

    An `EarlyExit` ends the command, not the prompt.
    """
    try:
        return run_line(words, app)
    except RunEnded as ended:
        return ended.code


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
    run=run_repl,
    parameters=printing_options("no_config"),
    summary="Open a prompt that keeps a current shape, which each op changes.",
    examples="""\
  shapecalc repl
  printf '2,3,4\\nreshape 0,-1\\n' | shapecalc repl""",
    more=""" It reads what shapecalc reads, a message or a line of code too. From a pipe, the exit
code is the largest of its lines.""",
    opens_app=True,
)

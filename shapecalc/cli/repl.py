"""`shapecalc repl`: a prompt that keeps a current shape, the steps that led to it, and the way back."""

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
SAME = {"?": "help", "exit": "quit"}
HELP = """\
  2,3,4               set the current shape; every answer becomes the new one, also called ans
  transpose 1,0,2     carry the current shape through an op; its options are the command's
  reshape ans 0,-1    the same, with the input named
  ans | flatten       several ops in a row
"""


class Reply(Record):
    """What the prompt answers: text for stdout, and a story or a problem for stderr."""

    answer: str = ""
    story: str = ""
    problem: Problem | None = None
    pieces: tuple[tuple[str | None, str], ...] = ()
    code: int = Exit.YES
    done: bool = False
    line: tuple[str, ...] = ()
    """The words of a command that the whole program answers."""


class Session:
    """The state of a prompt; a line that fails leaves it as it was.

    >>> session = Session()
    >>> [session.reply(line).answer for line in ("2,3,4", "transpose 1,0,2", "reshape 0,-1", "undo")]
    ['2,3,4', '3,2,4', '3,8', '3,2,4']
    """

    def __init__(self, defaults: Mapping[str, object] = NONE) -> None:
        """Start without a shape, under the defaults, else under each op's own dialect."""
        self._defaults = dict(defaults)
        self._past: list[Shape] = []
        self._last: Trace | Chain | None = None

    @property
    def dialect(self) -> str | None:
        """The dialect that every line is asked under; an op that it does not have is a problem."""
        return str(self._defaults["dialect"]) if "dialect" in self._defaults else None

    @property
    def shape(self) -> Shape | None:
        """The current shape, if there is one."""
        return self._past[-1] if self._past else None

    def reply(self, line: str) -> Reply:
        """Return the reply to one line, whatever it holds."""
        try:
            words = commands.respelled(split(line))
            return self._reply(line.strip(), words) if words else Reply()
        except ShapeError as error:
            if is_message(line):
                return Reply(line=("--", line.strip()))
            pieces = ((None, visible(line.strip()[:200])),)
            return Reply(problem=error.problem, pieces=pieces, code=problem_code(error.problem))

    def _reply(self, line: str, words: list[str]) -> Reply:
        """Return the reply to a line of words; raise `ShapeError` if it cannot be read or answered."""
        if words[0] == "chain" and len(words) > 1:
            line, words = " ".join(words[1:]), split(" ".join(words[1:]))
        if "|" in line:
            shape, stages = commands.read_chain(f"ans | {line}" if words[0] in OPS else line)
            return self._keep(answer_chain(self._input(shape), chain_with_options(stages, {}, self._defaults), {}))
        error = commands.elsewhere_error(words[0])
        if error is not None:
            raise error
        if words[0] in OPS:
            typed = commands.read_stage(words, with_input=_names_input(words, self.shape is not None))
            options = with_defaults(typed.op, self._defaults, typed.options)
            return self._keep(answer(ask(typed.op, self._input(typed.input or "ans"), options)))
        name = SAME.get(words[0], words[0])
        own: Callable[[list[str]], Reply] | None = getattr(self, f"_reply_to_{name}", None)
        if own is not None:
            return own(words[1:])
        if words == ["ans"]:
            return Reply(self._input("ans"))
        if is_shape(line):
            self._past.append(read_shape(line))
            return Reply(self._input("ans"))
        return Reply(line=self._held_line(line, words))

    def _input(self, text: str) -> str:
        """Return the input that a line names; raise `ShapeError` (usage) for a current shape if there is none yet."""
        if text != "ans":
            return text
        if self.shape is None:
            raise misuse("there is no current shape yet", "write one: 2,3,4")
        return shape_text(self.shape)

    def _keep(self, answer: Trace | Chain) -> Reply:
        """Return the reply that tells an answer, and keep it as the last one."""
        if answer.output is None:
            trace = answer.traces[-1]
            pieces = tuple(commands.command_pieces(trace.op, commands.texts_of(trace.request)))
            return Reply(problem=answer.problem, pieces=pieces, code=Exit.UNRESOLVED)
        self._last = answer
        if not any(OPS[trace.op].ends_chain for trace in answer.traces):
            self._past.append(answer.output)
        return Reply(shape_text(answer.output), "\n".join(answer.limits))

    def _held_line(self, text: str, words: list[str]) -> tuple[str, ...]:
        """Return the command line that some text stands for; code without a tensor is about the current shape.

        Raises `ShapeError` (usage) if nothing reads it.
        """
        if words[0] in PROGRAM or words[0] in OTHER_WORDS:
            return tuple(words)
        for plain in ((text,), tuple(words)):
            line = read_held(Held(plain, plain, is_message))
            if line and line[0] == "code" and "--input" not in line and self.shape is not None:
                return (*line, "--input", shape_text(self.shape))
            if line:
                return ("--", *plain)
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
        return Reply(HELP + "\n".join(f"  {name.ljust(18)}  {says}" for name, says in COMMANDS.items()))

    def _reply_to_quit(self, words: list[str]) -> Reply:
        return Reply(done=True)


def _names_input(words: list[str], has_shape: bool) -> bool:
    """Say whether an op's line names its input: `ans`, or one value more than the op has places for."""
    values, op = commands.read_values(words), OPS[words[0]]
    if values[:1] == ["ans"] or not has_shape:
        return values[:1] == ["ans"] or len(values) in (len(op.slots) + 1, len(op.places) + 1)
    return bool(op.places) and len(values) == len(op.places) + 1


def words_after(text: str) -> list[str]:
    """Return the words that may follow a text: commands and ops at the start, then an op's options and their values.

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
    """Return the values of an option if it is the last word, otherwise the op's options."""
    options = [
        each for each in parameters_of(OPS[op]) if isinstance(each, commands.Option) and each.name not in PRINTING
    ]
    for option in options:
        if last in (option.spelling, option.short) and option.takes is commands.Takes.TEXT:
            return option.completions() if option.completions else ()
    off = [f"--no-{each.spelling.removeprefix('--')}" for each in options if each.takes is commands.Takes.SWITCH]
    return [*(each.spelling for each in options), *off]


# The command: lines from the keyboard, a pipe or a file.


LINES: list[Stage] = [("reshape", {}), ("reshape", {"dialect": "onnx"}), ("shuffle", {})]
"""Stages of which each default changes one: it is told before the first line."""


def run_repl(app: TerminalApp, out: Output) -> int:
    """Read lines and answer them until the end of input or `quit`."""
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
    """Answer what is typed until ^D or `quit`; ^C drops the line, or the answer that takes too long."""
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
    """Return what knows how the word before the cursor may go on."""
    from prompt_toolkit.completion import WordCompleter

    typed = document.get_word_before_cursor(WORD=True)
    return WordCompleter(words_after(document.text_before_cursor.removesuffix(typed)), WORD=True)


def _past_lines(file: Path) -> list[str]:
    """Return the last lines of this prompt and of those before it, which share a file; none if it cannot be read."""
    lines: list[str] = []
    with suppress(OSError):
        lines = file.read_text("utf-8", "replace").split("\n")
    return list(filter(None, lines))[-1000:]


def _keep_line(line: str, file: Path) -> str:
    """Write a line to the end of the file; return why it cannot be kept, empty if it is."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8", errors="backslashreplace") as kept:
            kept.write(f"{line}\n")
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _answer_lines(session: Session, lines: Iterable[str], app: TerminalApp) -> tuple[int, bool]:
    """Answer lines; return the largest exit code among them, and whether one of them leaves the prompt."""
    worst = Exit.YES
    for line in lines:
        reply = session.reply(line)
        if reply.done:
            return worst, True
        _print_reply(reply)
        worst = max(worst, reply.code, _run(reply.line, app) if reply.line else Exit.YES)
    return worst, False


def _run(words: tuple[str, ...], app: TerminalApp) -> int:
    """Run a command line, which ends alone if a stream or a package cannot be used; return its exit code."""
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

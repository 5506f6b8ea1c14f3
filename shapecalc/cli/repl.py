"""`shapecalc repl`: an interactive prompt that applies ops to a current shape."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from io import BytesIO
from pathlib import Path

from shapecalc.cli.answer import print_error
from shapecalc.cli.app import run_command_line
from shapecalc.cli.inference import is_error_message
from shapecalc.cli.options import COMMAND_MODULES as PROGRAM
from shapecalc.cli.options import OUTPUT_OPTIONS, Command, op_command_parameters, select_output_options
from shapecalc.cli.output import (
    EarlyExit,
    ExitCode,
    OutputOptions,
    StdoutError,
    load_and_report_defaults,
    print_problem,
    print_stderr,
    print_stdout,
    problem_exit_code,
    read_stdin,
    report_exception,
    report_stream_error,
    stdin_replacements,
)
from shapecalc.core.answers import EMPTY_DICT, Chain, Trace
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dims import Shape
from shapecalc.core.limits import MAX_LINE_BYTES
from shapecalc.core.ops import OPS, all_rules
from shapecalc.core.problem import Problem, ShapeError, error_reason, usage_error
from shapecalc.core.record import Record
from shapecalc.core.requests import StageRequest, apply_chain_options, apply_defaults, lookup_dialect, make_request
from shapecalc.core.text import (
    BOM,
    escape_unprintable,
    parse_typed_shape,
    reject_unbracketed_names,
    shape_text,
    split_outside_brackets,
    suggest_name,
    truncate,
)
from shapecalc.reading import commands
from shapecalc.reading.command_detection import COMMAND_ALIASES, UserInput, detect_command, is_shape
from shapecalc.reading.options import Option, OptionKind
from shapecalc.reasoning.answers import answer_chain, answer_request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prompt_toolkit.completion import Completer  # deferred: prompt_toolkit takes as long to import as Typer
    from prompt_toolkit.document import Document

    from shapecalc.cli.terminal import AnyTerminalApp

PROMPT_COMMANDS = {
    "explain": "print the steps of the last answer and a picture",
    "explain all": "print the steps with every picture",
    "undo": "go back by one answer",
    "dialect NAME": "use the rules of that framework from now on",
    "why RULE": "explain a rule",
    "ops": "list the operations",
    "help": "this list",
    "quit": "quit; also ^D",
}
"""The help on each command of the prompt, by the syntax of the command."""
PROMPT_ALIASES = {"?": "help", "exit": "quit"}
"""The command for each alias at the prompt."""
SAMPLE_STAGES: list[StageRequest] = [("reshape", {}), ("reshape", {"dialect": "onnx"}), ("shuffle", {})]
"""Stages that depend on every option that can have a default, so that all defaults are reported."""
HELP_TEXT = """\
  2,3,4               set the current shape; every answer replaces it, and is available as ans
  transpose 1,0,2     apply an op to the current shape; it takes the options of its command
  reshape ans 0,-1    the same, with an explicit input
  ans | flatten       several ops in a row
"""


class Reply(Record):
    """The reply to a line: an answer for stdout, or a message or problem for stderr.

    `pieces` are the words of the line, each with its argument name; the span of the problem refers to them. `code` is
    the exit code of the line.
    """

    answer: str = ""
    message: str = ""
    problem: Problem | None = None
    pieces: tuple[tuple[str | None, str], ...] = ()
    code: int = ExitCode.OK
    ends_session: bool = False
    command_words: tuple[str, ...] = ()
    """The words of a command line that the prompt does not run itself; the caller must run them."""


class Session:
    """The state of a prompt: the current shape, the defaults and the last answer.

    A line that fails does not change the state.

    >>> session = Session()
    >>> [session.reply(line).answer for line in ("2,3,4", "transpose 1,0,2", "reshape 0,-1", "undo")]
    ['2,3,4', '3,2,4', '3,8', '3,2,4']
    """

    def __init__(self, defaults: Mapping[str, object] = EMPTY_DICT) -> None:
        """Start without a current shape; `defaults` are the default options of all lines."""
        self._defaults = dict(defaults)
        self._shapes: list[Shape] = []
        self._last_answer: Trace | Chain | None = None

    @property
    def dialect(self) -> str | None:
        """The default dialect of every line, or None."""
        return str(self._defaults["dialect"]) if "dialect" in self._defaults else None

    @property
    def shape(self) -> Shape | None:
        """The current shape, or None before the first shape or answer."""
        return self._shapes[-1] if self._shapes else None

    def reply(self, line: str) -> Reply:
        """Process a line and return the reply.

        A `ShapeError` is returned as a problem.
        """
        try:
            if len(line.encode("utf-8", "surrogateescape")) > MAX_LINE_BYTES:
                raise MAX_LINE_BYTES.error("the line is longer")
            if "\0" in line:
                raise usage_error("the line contains a NUL character")
            words = commands.resolve_aliases(split_outside_brackets(line), is_complete=False)
            return self._process_line(line.strip(), words) if words else Reply()
        except ShapeError as error:
            if is_error_message(line):
                return Reply(command_words=("--", line.strip()))
            pieces = ((None, escape_unprintable(line.strip()[:200])),)
            return Reply(problem=error.problem, pieces=pieces, code=problem_exit_code(error.problem))

    def _process_line(self, line: str, words: list[str]) -> Reply:
        """Process a non-empty line and return the reply, or raise `ShapeError`."""
        if words[0] == "chain" and len(words) > 1:
            line, words = " ".join(words[1:]), split_outside_brackets(" ".join(words[1:]))
        if "|" in line:
            shape, stages = commands.parse_chain(f"ans | {line}" if words[0] in OPS else line)
            return self._record_answer(
                answer_chain(self._resolve_input(shape), apply_chain_options(stages, {}, self._defaults), {})
            )
        error = commands.unsupported_op_error(words[0])
        if error is not None:
            raise error
        if words[0] in OPS:
            stage = commands.parse_stage(words, with_input=_has_input_shape(words, self.shape is not None))
            options = apply_defaults(stage.op, self._defaults, stage.options)
            return self._record_answer(
                answer_request(make_request(stage.op, self._resolve_input(stage.input or "ans"), options))
            )
        name = PROMPT_ALIASES.get(words[0], words[0])
        method: Callable[[list[str]], Reply] | None = getattr(self, f"_run_{name}", None)
        if method is not None:
            return method(words[1:])
        if words == ["ans"]:
            return Reply(self._resolve_input("ans"))
        if is_shape(line):
            reject_unbracketed_names(line)
            typed = parse_typed_shape(line)
            self._shapes.append(typed.dims)
            notes = [*typed.notes, *([f"the element type {typed.dtype} was not used"] if typed.dtype else [])]
            return Reply(self._resolve_input("ans"), "\n".join(notes))
        return Reply(command_words=self._infer_command_line(line, words))

    def _resolve_input(self, text: str) -> str:
        """Replace `ans` by the current shape.

        Raises `ShapeError` (usage) if there is no current shape.
        """
        if text != "ans":
            return text
        if self.shape is None:
            raise usage_error("there is no current shape yet", "write one: 2,3,4")
        return shape_text(self.shape)

    def _record_answer(self, answer: Trace | Chain) -> Reply:
        """Store an answer as the last answer, and return the reply with its output.

        The output becomes the current shape, unless the answer ends with an op that nothing can follow in a chain. A
        refusal is returned as a problem, and is not stored.
        """
        if answer.output is None:
            trace = answer.traces[-1]
            pieces = tuple(commands.command_pieces(trace.op, commands.argument_texts(trace.request)))
            return Reply(problem=answer.problem, pieces=pieces, code=ExitCode.UNRESOLVED)
        self._last_answer = answer
        if not any(OPS[trace.op].ends_chain for trace in answer.traces):
            self._shapes.append(answer.output)
        return Reply(shape_text(answer.output), "\n".join([*answer.notes, *answer.caveats]))

    def _infer_command_line(self, text: str, words: list[str]) -> tuple[str, ...]:
        """Infer the command line for a line that begins with neither an op nor a command.

        If the line is code without an input shape, the current shape is added.
        Raises `ShapeError` (usage) if no command line can be inferred.
        """
        if words[0] in PROGRAM or words[0] in COMMAND_ALIASES:
            return tuple(words)
        for candidate in ((text,), tuple(words)):
            line = detect_command(UserInput(candidate, candidate, is_error_message))
            if line and line[0] == "code" and "--input" not in line and self.shape is not None:
                return (*line, "--input", shape_text(self.shape))
            if line:
                return ("--", *candidate)
        known = [*OPS, *PROGRAM, *(name.split()[0] for name in PROMPT_COMMANDS)]
        raise usage_error(
            f"there is no operation '{escape_unprintable(truncate(words[0]))}'", suggest_name(words[0], known)
        )

    def _run_explain(self, words: list[str]) -> Reply:
        """Draw the steps of the last answer.

        `words` are empty or `all`; with `all`, no step is omitted.
        """
        if self._last_answer is None:
            raise usage_error("there is no answer to explain yet", "carry a shape through an op first: reshape 0,-1")
        if words not in ([], ["all"]):
            raise usage_error(f"explain has no argument, or all, and not '{escape_unprintable(truncate(words[0]))}'")
        from shapecalc.render.canvas import glyphs_for_encoding
        from shapecalc.render.report import draw_report

        strokes = glyphs_for_encoding(getattr(sys.stdout, "encoding", None))
        return Reply(str(draw_report(self._last_answer, glyphs=strokes, more_command="" if words else "explain all")))

    def _run_undo(self, words: list[str]) -> Reply:
        """Restore the previous shape."""
        if len(self._shapes) < 2:
            raise usage_error("there is nothing to go back to")
        self._shapes.pop()
        return Reply(self._resolve_input("ans"))

    def _run_dialect(self, words: list[str]) -> Reply:
        """Set the default dialect, or list the dialects if no name is given."""
        if not words:
            return Reply("\n".join(f"{'*' if name == self.dialect else ' '} {name}" for name in DIALECTS))
        self._defaults["dialect"] = lookup_dialect(words[0]).name
        return Reply(message=f"asking {self.dialect}")

    def _run_ops(self, words: list[str]) -> Reply:
        lines = [
            f"  {commands.usage_hint(op, with_input=False).removeprefix('write ')}\n      {op.summary}"
            for op in OPS.values()
        ]
        return Reply("\n".join(lines))

    def _run_help(self, words: list[str]) -> Reply:
        """List the commands of the prompt."""
        return Reply(HELP_TEXT + "\n".join(f"  {name.ljust(18)}  {text}" for name, text in PROMPT_COMMANDS.items()))

    def _run_quit(self, words: list[str]) -> Reply:
        return Reply(ends_session=True)


def _has_input_shape(words: list[str], has_shape: bool) -> bool:
    """Return whether the command line of an op contains an input shape.

    If not, the current shape is the input. The first value is an input shape if it is `ans`, or if there are more
    values than positional parameters of the op. `has_shape` states whether the session has a current shape.
    """
    values, op = commands.positional_values(words), OPS[words[0]]
    if values[:1] == ["ans"] or not has_shape:
        return values[:1] == ["ans"] or len(values) in (
            len(op.positional_only_names) + 1,
            len(op.positional_param_names) + 1,
        )
    return bool(op.positional_param_names) and len(values) == len(op.positional_param_names) + 1


def completions_after(text: str) -> list[str]:
    """Return the words that can complete a partial line: names, options or values.

    >>> completions_after("dialect ")[:2], completions_after("2,3 | reshape 6 --dialect ")[:2]
    (['onnx', 'tensorrt'], ['onnx', 'tensorrt'])
    >>> completions_after("2,3 ")
    []
    """
    _, bar, stage = text.rpartition("|")
    words = stage.split()
    if not words:
        return [*OPS] if bar else [*OPS, *(name.split()[0] for name in PROMPT_COMMANDS), "ans"]
    if words[0] in OPS:
        return [*(["ans"] if len(words) == 1 and not bar else []), *_option_completions(words[0], words[-1])]
    known: dict[str, Iterable[str]] = {"dialect": DIALECTS, "why": all_rules()}
    return [*known.get(text.strip(), ())]


def _option_completions(op: str, last: str) -> Iterable[str]:
    """Return the words that can follow the word `last` in an op's command line.

    If `last` is an option with a value, they are its values; otherwise, they are the options of the op.
    """
    options = [
        parameter
        for parameter in op_command_parameters(OPS[op])
        if isinstance(parameter, Option) and parameter.name not in OUTPUT_OPTIONS
    ]
    for option in options:
        if last in (option.spelling, option.short) and option.kind is OptionKind.TEXT:
            return option.completions() if option.completions else ()
    switches = [option for option in options if option.kind is OptionKind.SWITCH]
    off = [f"--no-{switch.spelling.removeprefix('--')}" for switch in switches]
    return [*(option.spelling for option in options), *off]


def run_repl(app: AnyTerminalApp, output_options: OutputOptions) -> int:
    """Process lines of stdin until `quit` or its end, and return the exit code."""
    try:
        session = Session(load_and_report_defaults(SAMPLE_STAGES, {}, output_options))
    except ShapeError as error:
        return print_error(error, "repl", {}, output_options)
    if sys.stdin is None:
        raise report_stream_error("stdin", "it is closed")
    if not (sys.stdin.isatty() and sys.stdout is not None and sys.stdout.isatty()):
        return _process_lines(session, _read_lines(), app, reads_stdin=False)[0]
    return _run_interactive(session, app)


def _run_interactive(session: Session, app: AnyTerminalApp) -> int:
    """Run an interactive prompt until ^D or `quit`; ^C cancels the current line."""
    from platformdirs import user_state_path
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import DynamicCompleter
    from prompt_toolkit.history import InMemoryHistory

    print_stderr("shapecalc: write a shape, then ops; Tab completes, help lists the rest")
    file = user_state_path("shapecalc", appauthor=False) / "history"
    history = InMemoryHistory(_read_history(file))
    completer = DynamicCompleter(lambda: make_completer(editor.default_buffer.document))
    editor: PromptSession[str] = PromptSession(
        history=history, completer=completer, complete_while_typing=False, enable_suspend=True
    )
    done, history_error = False, ""
    while not done:
        last = history.get_strings()[-1:]
        try:
            text = editor.prompt(_prompt_text(session))
            if text and [text] != last:
                history_error = _append_history(text, file) or history_error
            done = _process_lines(session, text.split("\n"), app, reads_stdin=True)[1]
        except EOFError:
            done = True
        except KeyboardInterrupt:
            continue
    if history_error:
        print_stderr(f"shapecalc: history: {history_error}")
    return ExitCode.OK


def make_completer(document: Document) -> Completer:
    """Return the completer of the word before the cursor."""
    from prompt_toolkit.completion import WordCompleter

    word = document.get_word_before_cursor(WORD=True)
    return WordCompleter(completions_after(document.text_before_cursor.removesuffix(word)), WORD=True)


def _read_history(file: Path) -> list[str]:
    """Return the last 1,000 lines of the history file, or an empty list on failure."""
    lines: list[str] = []
    with suppress(OSError):
        lines = file.read_text("utf-8", "replace").split("\n")
    return list(filter(None, lines))[-1000:]


def _append_history(line: str, file: Path) -> str:
    """Append a line to the history file, and return an error message or ""."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8", errors="backslashreplace") as history:
            history.write(f"{line}\n")
    except OSError as error:
        return error_reason(error)
    return ""


def _process_lines(
    session: Session, lines: Iterable[str], app: AnyTerminalApp, *, reads_stdin: bool
) -> tuple[int, bool]:
    """Process lines and print the replies.

    `reads_stdin` states whether commands may read standard input. Return the largest exit code, and whether the session
    was ended by `quit`. An exception aborts only the current line. Raises `StdoutError` if stdout cannot be written.
    """
    worst = ExitCode.OK
    for line in lines:
        try:
            reply = session.reply(line)
            if reply.ends_session:
                return worst, True
            _print_reply(reply)
            code = reply.code
            if reply.command_words:
                with nullcontext() if reads_stdin else _empty_stdin():
                    code = run_command_line(reply.command_words, app)
        except StdoutError:
            raise
        except EarlyExit as ended:
            code = ended.code
        except Exception as error:
            code = report_exception(error)
        worst = max(worst, code)
    return worst, False


@contextmanager
def _empty_stdin() -> Iterator[None]:
    """Make standard input empty, so that no command reads the lines of the session."""
    stdin_replacements.append(BytesIO())
    try:
        yield
    finally:
        stdin_replacements.pop()


def _read_lines() -> Iterator[str]:
    """Yield the lines of stdin, or raise `EarlyExit` if it cannot be read.

    A line that is too long is truncated to one byte more than the limit.
    """
    is_line_start, bom = True, BOM
    while raw := read_stdin(one_line=True):
        if is_line_start:
            yield raw.removeprefix(bom).decode("utf-8", "surrogateescape")
        is_line_start, bom = raw.endswith(b"\n"), b""


def _print_reply(reply: Reply) -> None:
    """Print the answer to stdout, and the message and the problem to stderr."""
    if reply.answer:
        print_stdout(reply.answer)
    if reply.message:
        print_stderr(reply.message)
    if reply.problem:
        print_problem(reply.problem, list(reply.pieces))


def _prompt_text(session: Session) -> str:
    """Return the prompt: the current shape and the default dialect, then `> `."""
    shape = "" if session.shape is None else shape_text(session.shape)
    return " ".join(filter(None, [truncate(shape), session.dialect])) + "> "


REPL_COMMAND = Command(
    run=run_repl,
    parameters=select_output_options("no_config"),
    summary="Open a prompt that applies each op to the current shape.",
    examples="""\
  shapecalc repl
  printf '2,3,4\\nreshape 0,-1\\n' | shapecalc repl""",
    details=""" The prompt also accepts command lines, error messages and lines of code. If the input is a pipe, the
exit code is the largest exit code of the lines.""",
    takes_app=True,
)

"""Run a command line: choose the command, report errors, return the exit code.

The request of an op is answered before the table of commands is imported, since that import takes as long as the
answer.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys

from shapecalc.cli.answer import answer_op, print_error, unread_json
from shapecalc.cli.output import Exit, Output, holds_input, problem_line, put, put_json, read_stdin, tell
from shapecalc.core import commands
from shapecalc.core.commands import HELP, Option, Takes
from shapecalc.core.ops import OPS
from shapecalc.core.problem import FILE, ShapeError, misuse
from shapecalc.core.record import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from shapecalc.cli.terminal import TerminalApp
    from shapecalc.core.ops.op import Op

COMPLETION = "_SHAPECALC_COMPLETE"
"""Environment variable by which a shell requests completions."""
VERSION = Option("version", "Print the version.", Takes.NOTHING, short="-V")
OWN_OPTIONS = (
    VERSION,
    HELP,
    Option("install_completion", "Install completion for the current shell.", Takes.NOTHING),
    Option("show_completion", "Show completion for the current shell.", Takes.NOTHING),
)
"""Options before any command."""
LONGEST_TEXT = 1 << 28
"""Limit on the bytes of standard input that are read."""


def run_line(words: Sequence[str], terminal_app: TerminalApp) -> int:
    """Run one command line and return its exit code.

    `terminal_app` is the app that `tui` and `serve` open.
    """
    try:
        words = commands.respelled(words)
    except ShapeError as error:
        return print_error(error, words[0], {}, Output(json="--json" in words, quiet="-q" in words))
    if COMPLETION in os.environ:
        from shapecalc.cli.typer_adapter import run_typer

        return run_typer(words)
    try:
        if words and words[0] in OPS:
            return _run_op(OPS[words[0]], words[1:])
        return _run_command(words, terminal_app)
    except ShapeError as error:
        return _tell_misuse(error, words)


def _run_op(op: Op, words: Sequence[str]) -> int:
    """Answer the request of an op; raise `ShapeError` (usage) if it cannot be parsed."""
    values = _read_op(op, words)
    if HELP.name in values:
        return _show_help(op.name)
    printing = {name: values.pop(name) for name in Output.__match_args__ if name in values}
    code = answer_op(op.name, values, Output(**printing))
    atexit.register(gc.freeze)  # without a last garbage collection the process exits sooner
    return code


def _read_op(op: Op, words: Sequence[str]) -> dict[str, Any]:
    """Parse the words of an op's command into values by parameter name.

    If only the input is missing, it is read from standard input. Raises `ShapeError` (usage).
    """
    try:
        return commands.read_op(op, words, _printing_options())
    except ShapeError as error:
        if not error.problem.message.startswith("missing") or not holds_input():
            raise
        try:
            values = commands.read_op(op, ["-", *words], _printing_options())
        except ShapeError:
            raise error from None
    tell("shapecalc: INPUT is missing, so every line of standard input is one")
    return values


def _printing_options() -> Iterator[Option]:
    """Yield the output options; their table is imported only if it is needed."""
    from shapecalc.cli.options import PRINTING

    yield from PRINTING.values()


def _run_command(words: Sequence[str], app: TerminalApp) -> int:
    """Run a line that does not begin with an op; raise `ShapeError` (usage)."""
    from shapecalc.cli.options import COMMANDS, PRINTING, command_named

    if words[:1] == ["--"]:
        return _run_held(words[1:], app)
    if not words or not commands.is_value(words[0]):
        return _run_alone(words, app)
    if words[0] not in COMMANDS:
        return _run_held(words, app)
    command = command_named(words[0])
    values = command.read(words[1:])
    if values.pop(HELP.name, False):
        return _show_help(command.name)
    printing = {name: values.pop(name) for name in PRINTING if name in values}
    return command.run(**values, **({"app": app} if command.opens_app else {}), out=Output(**printing))


def _run_alone(words: Sequence[str], app: TerminalApp) -> int:
    """Run a line that begins with an option, or an empty one.

    A command after the options is moved to the front. Without one, standard input is read if it is not empty;
    otherwise the global options are applied, or the first screen is printed.
    Raises `ShapeError` (usage) for an option that needs a command.
    """
    global_spellings = {spelling for option in OWN_OPTIONS for spelling in option.spellings()}
    values = _parted(words)[0] if global_spellings.isdisjoint(words) else []
    if values:
        index = words.index(values[0])
        return run_line([values[0], *words[:index], *words[index + 1 :]], app)
    if global_spellings.isdisjoint(word.partition("=")[0] for word in words) and holds_input():
        text = read_stdin(LONGEST_TEXT).decode("utf-8", "surrogateescape")
        if text.strip():
            return _run_held(["-", *words], app, text)
    names, options = commands.sort_words(words, commands.Spellings(OWN_OPTIONS), "shapecalc")
    if HELP.name in options:
        return run_line(["help", *names[:1]], app)
    if VERSION.name in options:
        from shapecalc import __version__

        put(f"shapecalc {__version__}")
    elif options:
        from shapecalc.cli.typer_adapter import run_typer

        return run_typer(words)
    else:
        from shapecalc.cli.info import FIRST_SCREEN, NEXT

        put(f"{FIRST_SCREEN}\n{NEXT}")
    return Exit.YES


def _run_held(words: Sequence[str], app: TerminalApp, text: str = "") -> int:
    """Infer the command line that some words stand for, report it and run it.

    The words may be shapes, a file, code or an error message; `text` is standard input if it was read before.
    Raises `ShapeError` (usage) if no command line fits.
    """
    from io import BufferedReader, BytesIO, TextIOWrapper

    from shapecalc.core import readings

    values, options = _parted(words)
    if len(values) == 1 and values[0].endswith(".onnx") and (log := _beside()) and is_message(log):
        values, options = [log], ["--model", *values, *options]
    if values and all("=" in word and readings.is_shape(word.rpartition("=")[2]) for word in values) and holds_input():
        values.insert(0, "-")
    if values[:1] == ["-"] and len(values) == 2 and readings.is_shape(values[1]):
        return run_line(["reshape", *words], app)
    if values[:1] == ["-"]:
        text = text or read_stdin(LONGEST_TEXT).decode("utf-8", "surrogateescape")
        if "\0" in text:
            raise misuse("standard input is no text", "name the file: shapecalc FILE")
        values[0] = text.strip("\ufeff \r\n")
    held = readings.Held(tuple(words), tuple(values), is_message)
    line = readings.named_line(words) or (readings.read_held(held, options) if values else None)
    if line is None:
        raise _no_command(values)
    quiet = not {"-q", "--quiet"}.isdisjoint(options)
    if not quiet:
        tell(readings.said(line))
    stdin = sys.stdin
    if "-" in line and "-" not in words[1:]:
        sys.stdin = TextIOWrapper(BufferedReader(BytesIO(held.text.encode("utf-8", "surrogateescape"))))
    try:
        code = run_line(line, app)
    finally:
        sys.stdin = stdin
    if line[0] == "reshape" and code == Exit.YES and not (quiet or {"--json", "--expect", "--as"} & {*options}):
        _tell_other_ways(*line[1:3])
    return code


def _beside() -> str:
    """Return the content of a file on standard input without consuming it.

    The text is empty for a pipe or a terminal.
    """
    try:
        return os.pread(sys.stdin.fileno(), LONGEST_TEXT, 0).decode("utf-8", "replace")
    except (AttributeError, OSError, ValueError):  # not a file, or a platform without `pread`
        return ""


def _parted(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split a line of an unknown command into plain words, and options with values.

    >>> _parted(["2,3,4", "-d", "torch", "to", "--json", "6,4"])
    (['2,3,4', 'to', '6,4'], ['-d', 'torch', '--json'])
    """
    known = commands.Spellings([*_printing_options(), Option("input", ""), *commands.op_options(OPS["reshape"])])
    values, options, needs_value = list[str](), list[str](), False
    for index, word in enumerate(words):
        if word == "--" and not needs_value:
            return [*values, *words[index + 1 :]], options
        is_option = not needs_value and not commands.is_value(word)
        (options if needs_value or is_option else values).append(word)
        needs_value = is_option and (known.find(word) or (None, True))[1] is None
    return values, options


def is_message(text: str) -> bool:
    """Return whether a text contains a known error message of a runtime."""
    from shapecalc.doctor.reading import knows

    return knows(text)


def _tell_other_ways(before: str, after: str) -> None:
    """Report up to two other chains between the shapes, which reorder the elements."""
    from shapecalc.core.find import ways_between
    from shapecalc.core.text import read_shape

    try:
        ways = [way for way in ways_between(read_shape(before), read_shape(after)).ways if way.moves]
    except ShapeError:
        return  # a file, or a computed dim
    for way in ways[:2]:
        tell(f"shapecalc: {way.layout or 'with the elements in another order'}: {way.chain}")


def _show_help(name: str) -> int:
    from shapecalc.cli.typer_adapter import help_text

    put(help_text(name))
    return Exit.YES


def _no_command(words: Sequence[str]) -> ShapeError:
    """Return the error (usage) for words that no command line fits, with a hint."""
    from shapecalc.cli.info import topic_hint
    from shapecalc.cli.options import COMMANDS
    from shapecalc.core.readings import is_shape, likely_line
    from shapecalc.core.text import brief, suggestion, visible

    word = words[0] if words else ""
    hint = likely_line(words) or topic_hint(word) or suggestion(word, [*OPS, *COMMANDS])
    if not hint and word.isidentifier() and is_shape(" ".join(words[1:2])):
        hint = f"if it is a function: shapecalc '{word}(x)' {words[1]}"
    return commands.elsewhere_error(word) or misuse(
        f"no such command or file '{visible(brief(word))}'", hint or "what is read: shapecalc help readings"
    )


def _tell_misuse(error: ShapeError, words: Sequence[str]) -> int:
    """Print a usage error, as JSON if requested, and return its exit code.

    An error that suggests the intended command line takes precedence.
    """
    from shapecalc.cli.misread import extra_words_error, split_shape_error
    from shapecalc.cli.options import COMMANDS

    extra = extra_words_error(words) if isinstance(error, commands.ExtraWordError) else None
    problem = (split_shape_error(words) or extra or error).problem
    first = words[0] if words else ""
    if not problem.hint:
        command = f"{first} " if first in OPS or first in COMMANDS else ""
        is_missing = first in OPS and problem.message.startswith("missing")
        example = f"as in shapecalc {OPS[first].examples[0]}; " if is_missing else ""
        if first == "code" and isinstance(error, commands.ExtraWordError):
            example = "tensors and sizes are given in one word: --input 'x=N,C n=8'; "
        problem = replace(problem, hint=f"{example}see shapecalc {command}-h") if problem.rule != FILE else problem
    if "--json" not in words:
        tell(problem_line(problem))
    elif not {"-q", "--quiet"} & {*words}:
        put_json(unread_json(problem, first, {}))
    return Exit.FILE if problem.rule == FILE else Exit.USAGE

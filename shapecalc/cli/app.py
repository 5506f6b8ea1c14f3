"""One command line: which command it asks, what is told of mistakes, and its exit code.

An op's question is answered before the options of any command are imported, since that takes as long as the answer.
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
"""The variable by which a shell asks for completions."""
VERSION = Option("version", "Print the version.", Takes.NOTHING, short="-V")
OWN_OPTIONS = (
    VERSION,
    HELP,
    Option("install_completion", "Install completion for the current shell.", Takes.NOTHING),
    Option("show_completion", "Show completion for the current shell.", Takes.NOTHING),
)
"""The options that stand before any command."""


def run_line(words: Sequence[str], terminal_app: TerminalApp) -> int:
    """Run one command line and return its exit code; `terminal_app` is what `tui` and `serve` open."""
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
    """Answer the question that an op's line asks; raise `ShapeError` (usage) if it cannot be read."""
    given = _read_op(op, words)
    if HELP.name in given:
        return _show_help(op.name)
    printing = {name: given.pop(name) for name in Output.__match_args__ if name in given}
    code = answer_op(op.name, given, Output(**printing))
    atexit.register(gc.freeze)  # the process ends sooner if it need not search for garbage
    return code


def _read_op(op: Op, words: Sequence[str]) -> dict[str, Any]:
    """Return what an op's line gives by name; where its input alone is missing, standard input holds it."""
    try:
        return commands.read_op(op, words, _printing_options())
    except ShapeError as error:
        if not error.problem.message.startswith("missing") or not holds_input():
            raise
        try:
            given = commands.read_op(op, ["-", *words], _printing_options())
        except ShapeError:
            raise error from None
    tell("shapecalc: INPUT is missing, so every line of standard input is one")
    return given


def _printing_options() -> Iterator[Option]:
    """Yield the options that say what is printed; a line of values alone needs none."""
    from shapecalc.cli.options import PRINTING

    yield from PRINTING.values()


def _run_command(words: Sequence[str], app: TerminalApp) -> int:
    """Run a line that asks no op; raise `ShapeError` (usage) if it cannot be read."""
    from shapecalc.cli.options import COMMANDS, PRINTING, command_named

    if words[:1] == ["--"]:
        return _run_held(words[1:], app)
    if not words or not commands.is_value(words[0]):
        return _run_alone(words, app)
    if words[0] not in COMMANDS:
        return _run_held(words, app)
    command = command_named(words[0])
    given = command.read(words[1:])
    if given.pop(HELP.name, False):
        return _show_help(command.name)
    printing = {name: given.pop(name) for name in PRINTING if name in given}
    return command.run(**given, **({"app": app} if command.opens_app else {}), out=Output(**printing))


def _run_alone(words: Sequence[str], app: TerminalApp) -> int:
    """Run a line without a command: read standard input, or print the first screen if there is none.

    Raises `ShapeError` (usage) for an option that needs a command.
    """
    own = {spelling for option in OWN_OPTIONS for spelling in option.spellings()}
    plain = _parted(words)[0] if own.isdisjoint(words) else []
    if plain:
        place = words.index(plain[0])
        return run_line([plain[0], *words[:place], *words[place + 1 :]], app)
    if own.isdisjoint(word.partition("=")[0] for word in words) and holds_input():
        text = read_stdin(LONGEST_TEXT).decode("utf-8", "surrogateescape")
        if text.strip():
            return _run_held(["-", *words], app, text)
    names, given = commands.sort_words(words, commands.Spellings(OWN_OPTIONS), "shapecalc")
    if HELP.name in given:
        return run_line(["help", *names[:1]], app)
    if VERSION.name in given:
        from shapecalc import __version__

        put(f"shapecalc {__version__}")
    elif given:
        from shapecalc.cli.typer_adapter import run_typer

        return run_typer(words)
    else:
        from shapecalc.cli.info import FIRST_SCREEN, NEXT

        put(f"{FIRST_SCREEN}\n{NEXT}")
    return Exit.YES


# What is no command: shapes, text, files.


LONGEST_TEXT = 1 << 28
"""How many bytes of standard input are read."""


def _run_held(words: Sequence[str], app: TerminalApp, text: str = "") -> int:
    """Read what is no command as the command line that it stands for, say so, and run that.

    Raises `ShapeError` (usage) if nothing reads it.
    """
    from io import BufferedReader, BytesIO, TextIOWrapper

    from shapecalc.core import readings

    plain, options = _parted(words)
    if len(plain) == 1 and plain[0].endswith(".onnx") and (beside := _beside()) and is_message(beside):
        plain, options = [beside], ["--model", *plain, *options]
    if plain and all("=" in word and readings.is_shape(word.rpartition("=")[2]) for word in plain) and holds_input():
        plain.insert(0, "-")
    if plain[:1] == ["-"] and len(plain) == 2 and readings.is_shape(plain[1]):
        return run_line(["reshape", *words], app)  # of every line
    if plain[:1] == ["-"]:
        text = text or read_stdin(LONGEST_TEXT).decode("utf-8", "surrogateescape")
        if "\0" in text:
            raise misuse("standard input is no text", "name the file: shapecalc FILE")
        plain[0] = text.strip("\ufeff \r\n")
    held = readings.Held(tuple(words), tuple(plain), is_message)
    line = readings.named_line(words) or (readings.read_held(held, options) if plain else None)
    if line is None:
        raise _no_command(plain)
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
    """Return what a file on standard input holds, and leave it there; nothing of a pipe, which may never end."""
    try:
        return os.pread(sys.stdin.fileno(), LONGEST_TEXT, 0).decode("utf-8", "replace")
    except (AttributeError, OSError, ValueError):  # it is no file, or there is no such call
        return ""


def _parted(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the plain words of a line, and its options with their values, whatever command it may be.

    >>> _parted(["2,3,4", "-d", "torch", "to", "--json", "6,4"])
    (['2,3,4', 'to', '6,4'], ['-d', 'torch', '--json'])
    """
    known = commands.Spellings([*_printing_options(), Option("input", ""), *commands.op_options(OPS["reshape"])])
    plain, options, waits = list[str](), list[str](), False
    for place, word in enumerate(words):
        if word == "--" and not waits:
            return [*plain, *words[place + 1 :]], options
        option = not waits and not commands.is_value(word)
        (options if waits or option else plain).append(word)
        waits = option and (known.find(word) or (None, True))[1] is None
    return plain, options


def is_message(text: str) -> bool:
    """Say whether a text holds a sentence of a runtime."""
    from shapecalc.doctor.reading import knows

    return knows(text)


def _tell_other_ways(before: str, after: str) -> None:
    """Tell chains that lead from one shape to another, too, with the elements in another order."""
    from shapecalc.core.find import ways_between
    from shapecalc.core.text import read_shape

    try:
        ways = [way for way in ways_between(read_shape(before), read_shape(after)).ways if way.moves]
    except ShapeError:
        return  # a file, or a dim that is computed
    for way in ways[:2]:
        tell(f"shapecalc: {way.layout or 'with the elements in another order'}: {way.chain}")


def _show_help(name: str) -> int:
    """Print the help of a command."""
    from shapecalc.cli.typer_adapter import help_text

    put(help_text(name))
    return Exit.YES


def _no_command(words: Sequence[str]) -> ShapeError:
    """Return the error to raise (usage) for words that are no command and nothing else, with what they may mean."""
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
    """Tell what could not be read, as JSON if the words ask for it; a line that was likely meant comes first."""
    from shapecalc.cli.misread import extra_words_error, split_shape_error
    from shapecalc.cli.options import COMMANDS

    extra = extra_words_error(words) if isinstance(error, commands.ExtraWordError) else None
    problem = (split_shape_error(words) or extra or error).problem
    first = words[0] if words else ""
    if not problem.hint:
        known = f"{first} " if first in OPS or first in COMMANDS else ""
        needed = first in OPS and problem.message.startswith("missing")
        example = f"as in shapecalc {OPS[first].examples[0]}; " if needed else ""
        if first == "code" and isinstance(error, commands.ExtraWordError):
            example = "tensors and sizes are given in one word: --input 'x=N,C n=8'; "
        problem = replace(problem, hint=f"{example}see shapecalc {known}-h") if problem.rule != FILE else problem
    if "--json" not in words:
        tell(problem_line(problem))
    elif not {"-q", "--quiet"} & {*words}:
        put_json(unread_json(problem, first, {}))
    return Exit.FILE if problem.rule == FILE else Exit.USAGE

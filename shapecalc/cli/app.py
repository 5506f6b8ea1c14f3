"""One command line: which command it asks, what is told of mistakes, and its exit code.

An op's question is answered before the options of any command are imported, since that takes as long as the answer.
"""

from __future__ import annotations

import atexit
import gc
import os

from shapecalc.cli.answer import answer_op, print_error, unread_json
from shapecalc.cli.output import Exit, Output, problem_line, put, put_json, tell
from shapecalc.core import commands
from shapecalc.core.commands import HELP, Option, Takes
from shapecalc.core.ops import OPS
from shapecalc.core.problem import ShapeError, misuse
from shapecalc.core.record import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shapecalc.cli.terminal import TerminalApp
    from shapecalc.core.ops.op import Op

SHORT_HELP = """\
What a tensor's shape becomes, and why, under the rules of a framework.

  shapecalc reshape 2,3,4 0,-1                       0 copies, -1 is inferred
  shapecalc reshape N,C,H,W 0,-1,64 --explain        names, and every step
  shapecalc shuffle 2,3,4 --first 1,0,2 --to 2,-1,3  TensorRT's Shuffle
  shapecalc compare 2,3,4 0,-1                       in every framework
  shapecalc chain '2,3,4 | transpose 1,0,2 | reshape 2,-1,3'

shapecalc -h lists the commands, shapecalc reshape -h explains one,
shapecalc why explains the rules, shapecalc help tutorial begins at the
beginning. On Windows, shapes need double quotes:
shapecalc reshape "2,3,4" "0,-1"."""
STARTS = ("-", "?", "[", "(", "{")
"""What a shape begins with, if that is no digit and no name."""
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
        words = asked_words(words)
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


def asked_words(words: Sequence[str]) -> list[str]:
    """Return a command line with `reshape` before two shapes, and with the op's own name for that of a framework.

    >>> asked_words(["2,3,4", "0,-1", "--json"]), asked_words(["reshpe", "2,3,4"])
    (['reshape', '2,3,4', '0,-1', '--json'], ['reshpe', '2,3,4'])
    """
    if len(words) > 1 and _is_shape(words[0]) and _is_shape(words[1]):
        return ["reshape", *words]
    return commands.respelled(words)


def _is_shape(word: str) -> bool:
    """Say whether a word is a shape and no command: it begins as one, or it has a comma."""
    return commands.is_value(word) and (word[:1] in STARTS or word[:1].isdigit() or "," in word)


def _run_op(op: Op, words: Sequence[str]) -> int:
    """Answer the question that an op's line asks; raise `ShapeError` (usage) if it cannot be read."""
    given = commands.read_op(op, words, _printing_options())
    if HELP.name in given:
        return _show_help(op.name)
    printing = {name: given.pop(name) for name in Output.__match_args__ if name in given}
    code = answer_op(op.name, given, Output(**printing))
    atexit.register(gc.freeze)  # the process ends sooner if it need not search for garbage
    return code


def _printing_options() -> Iterator[Option]:
    """Yield the options that say what is printed; a line of values alone needs none."""
    from shapecalc.cli.options import PRINTING

    yield from PRINTING.values()


def _run_command(words: Sequence[str], app: TerminalApp) -> int:
    """Run a line that asks no op; raise `ShapeError` (usage) if it cannot be read."""
    from shapecalc.cli.options import COMMANDS, PRINTING, command_named

    if not words or not commands.is_value(words[0]):
        return _run_alone(words)
    if words[0] not in COMMANDS:
        raise _no_command(words[0])
    command = command_named(words[0])
    given = command.read(words[1:])
    if given.pop(HELP.name, False):
        return _show_help(command.name)
    printing = {name: given.pop(name) for name in PRINTING if name in given}
    return command.run(**given, **({"app": app} if command.opens_app else {}), out=Output(**printing))


def _run_alone(words: Sequence[str]) -> int:
    """Run a line without a command; raise `ShapeError` (usage) for an option that needs one."""
    _, given = commands.sort_words(words, commands.Spellings(OWN_OPTIONS), "shapecalc")
    if HELP.name in given:
        return _show_help()
    if VERSION.name in given:
        from shapecalc import __version__

        put(f"shapecalc {__version__}")
    elif given:
        from shapecalc.cli.typer_adapter import run_typer

        return run_typer(words)
    else:
        put(SHORT_HELP)
    return Exit.YES


def _show_help(*names: str) -> int:
    """Print the help of a command, or of all together."""
    from shapecalc.cli.typer_adapter import help_text

    put(help_text(*names))
    return Exit.YES


def _no_command(word: str) -> ShapeError:
    """Return the error to raise (usage) for a word that is no command, with what it may mean."""
    from shapecalc.cli.info import topic_hint
    from shapecalc.cli.options import COMMANDS
    from shapecalc.core.text import brief, suggestion, visible

    hint = topic_hint(word) or suggestion(word, [*OPS, *COMMANDS])
    return commands.elsewhere_error(word) or misuse(
        f"no such command '{visible(brief(word))}'", hint or "see shapecalc -h"
    )


def _tell_misuse(error: ShapeError, words: Sequence[str]) -> int:
    """Tell what could not be read, as JSON if the words ask for it; a line that was likely meant comes first."""
    from shapecalc.cli.misread import extra_words_error, split_shape_error

    extra = extra_words_error(words) if isinstance(error, commands.ExtraWordError) else None
    problem = (split_shape_error(words) or extra or error).problem
    if not problem.hint:
        own = f"{words[0]} " if commands.is_value(words[0]) else ""
        needed = words[0] in OPS and problem.message.startswith("missing")
        example = f"as in shapecalc {OPS[words[0]].examples[0]}; " if needed else ""
        problem = replace(problem, hint=f"{example}see shapecalc {own}-h")
    if "--json" in words:
        put_json(unread_json(problem, words[0], {}))
    else:
        tell(problem_line(problem))
    return Exit.USAGE

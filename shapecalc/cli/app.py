"""Run a command line: choose the command, report errors, return the exit code.

The command of an op is run without importing the table of commands, whose import takes as long as computing the answer.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys

from shapecalc.cli.answer import error_json, print_error, run_op_command
from shapecalc.cli.output import (
    COMPLETION_VARIABLE,
    ExitCode,
    has_stdin_data,
    print_json,
    print_stderr,
    print_stdout,
    problem_text,
    read_stdin,
    stdin_stream,
)
from shapecalc.cli.output_options import OUTPUT_OPTIONS, OutputOptions
from shapecalc.core.ops import OPS
from shapecalc.core.problem import FILE, ShapeError, usage_error
from shapecalc.core.record import replace
from shapecalc.reading import commands
from shapecalc.reading.options import (
    HELP,
    ExtraValueError,
    MissingArgumentError,
    Option,
    OptionKind,
    OptionLookup,
    is_value,
    parse_words,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from shapecalc.cli.terminal import AnyTerminalApp
    from shapecalc.core.ops.op import Op

VERSION_OPTION = Option("version", "Print the version.", OptionKind.FLAG, short="-V")
GLOBAL_OPTIONS = (
    VERSION_OPTION,
    HELP,
    Option("install_completion", "Install completion for the current shell.", OptionKind.FLAG),
    Option("show_completion", "Show completion for the current shell.", OptionKind.FLAG),
)
"""Options that may precede a command."""
QUESTION_WORDS = frozenset(
    ("what", "how", "why", "when", "which", "where", "difference", "does", "is", "can", "should")
)
"""The first words of questions in English."""
ALTERNATIVES = ("or", "vs", "vs.", "versus")
"""The words between two ops in a question such as `view or permute`."""
MAX_QUESTION_WORDS = 20
"""The maximum number of words of a command line that is regarded as a question in English."""
MAX_STDIN_BYTES = 1 << 28
"""Maximum number of bytes that are read from standard input."""


def _has_quiet_option(words: Sequence[str]) -> bool:
    """Return whether a command line has `-q`, alone or in a group such as `-qd`."""
    return any(word == "--quiet" or word.startswith("-q") for word in words)


def run_command_line(words: Sequence[str], terminal_app: AnyTerminalApp, text: str | None = None) -> int:
    """Run one command line and return its exit code.

    The commands `tui` and `serve` open `terminal_app`. If `text` is not None, commands that read code, error messages
    or test cases from standard input read `text` instead.
    """
    try:
        if any("\0" in word for word in words):
            raise usage_error("an argument contains a NUL character")
        reject_redirected_arrow(words)
        if _is_question(words):
            from shapecalc.cli.info import question_error

            raise question_error(words)
        resolved = commands.resolve_aliases(words, translates_functions=False)
        is_silent = _has_quiet_option(words) or not {"-h", *HELP.spellings()}.isdisjoint(words)
        if words[:1] and words[0] in commands.OP_ALIASES and not is_silent:
            from shapecalc.reading.command_detection import format_command_message

            print_stderr(format_command_message(resolved))
        words = resolved
    except ShapeError as error:
        return print_error(error, words[0], {}, OutputOptions(json="--json" in words, quiet=_has_quiet_option(words)))
    if COMPLETION_VARIABLE in os.environ:
        from shapecalc.cli.typer_adapter import run_completion

        return run_completion(words)
    try:
        is_request = not (commands.has_order_argument(words) or words[1:2] == ["="])  # `reshape = ...` is code
        if words and words[0] in OPS and is_request:
            return _run_op(OPS[words[0]], words[1:])
        return _run_command(words, terminal_app, text)
    except ShapeError as error:
        return _report_usage_error(error, words)


def _is_question(words: Sequence[str]) -> bool:
    """Return whether the words of a command line are a question in English.

    >>> _is_question(["what does -1 mean in reshape"]), _is_question(["view", "or", "permute"])
    (True, True)
    >>> _is_question(["why", "infer", "--json"]), _is_question(["reshape", "2,3", "6"])
    (False, False)
    """
    tokens = [token for word in words[:MAX_QUESTION_WORDS] for token in word.split() if token[:2] != "--"]
    if len(tokens) < 3 or len(tokens) > MAX_QUESTION_WORDS or any("\n" in word for word in words):
        return False
    return tokens[0].lower() in QUESTION_WORDS or (len(tokens) == 3 and tokens[1] in ALTERNATIVES)


def reject_redirected_arrow(words: Sequence[str]) -> None:
    """Raise `ShapeError` (usage) if the shell took the `>` of an arrow as a redirect.

    If `NCHW->NHWC` is not quoted, the shell passes `NCHW-`, and redirects the output to a file called `NHWC`.
    """
    for option, word in zip(["", *words], words, strict=False):
        letters = word[:-1].strip()
        if word[-1:] != "-" or not letters.replace(" ", "").isalpha() or option[:1] == "-":
            continue
        known = {"NCHW": "NHWC", "NHWC": "NCHW", "nchw": "nhwc", "nhwc": "nchw"}
        raise usage_error("your shell took > for a file", f"write '{letters}->{known.get(letters, '...')}'")


def _run_op(op: Op, words: Sequence[str]) -> int:
    """Run the command of an op, or raise `ShapeError` (usage) for invalid arguments."""
    values = commands.parse_op_words(op, words, OUTPUT_OPTIONS.values())
    if HELP.name in values:
        return _print_help(op.name)
    printing = {name: values.pop(name) for name in OUTPUT_OPTIONS if name in values}
    code = run_op_command(op.name, values, OutputOptions(**printing))
    atexit.register(gc.freeze)  # skip the garbage collection at exit, which would delay the exit
    return code


def _run_command(words: Sequence[str], app: AnyTerminalApp, text: str | None) -> int:
    """Run a command line that does not begin with an op.

    `text` replaces standard input, unless it is None. Raises `ShapeError` (usage) for invalid arguments.
    """
    from shapecalc.cli.options import COMMAND_MODULES, load_command

    if words[:1] == ["--"]:
        return _run_inferred_command(words[1:], app)
    if not words or not is_value(words[0]):
        return _run_without_command(words, app)
    if words[0] not in COMMAND_MODULES:
        return _run_inferred_command(words, app)
    command = load_command(words[0])
    values = command.parse(words[1:])
    if values.pop(HELP.name, False):
        return _print_help(command.name)
    printing = {name: values.pop(name) for name in OUTPUT_OPTIONS if name in values}
    if command.takes_app:
        values["app"] = app
    if command.takes_text:
        values["text"] = text
    return command.run(**values, output_options=OutputOptions(**printing))


def _run_without_command(words: Sequence[str], app: AnyTerminalApp) -> int:
    """Run a command line that is empty or begins with an option.

    If a command follows the options, it is moved to the front. Otherwise a global option such as `--version` is
    executed. Without a global option, the command is inferred from the content of standard input; if standard input is
    empty, a short introduction is printed. Raises `ShapeError` (usage) for an option that needs a command.
    """
    from shapecalc.cli.inference import split_options

    global_spellings = {spelling for option in GLOBAL_OPTIONS for spelling in option.spellings()}
    values = split_options(words)[0] if global_spellings.isdisjoint(words) else []
    if values:
        index = words.index(values[0])
        return run_command_line([values[0], *words[:index], *words[index + 1 :]], app)
    if global_spellings.isdisjoint(word.partition("=")[0] for word in words) and has_stdin_data():
        text = read_stdin(MAX_STDIN_BYTES).decode("utf-8", "surrogateescape")
        if text.strip():
            return _run_inferred_command(["-", *words], app, text)
    names, options = parse_words(words, OptionLookup(GLOBAL_OPTIONS), "shapecalc")
    if HELP.name in options:
        return run_command_line(["help", *names[:1]], app)
    if VERSION_OPTION.name in options:
        from shapecalc.core import __version__

        print_stdout(f"shapecalc {__version__}")
    elif names and "install_completion" in options:
        from shapecalc.cli.completion import install_completion

        return install_completion(names[0])
    elif options:
        from shapecalc.cli.typer_adapter import run_completion

        return run_completion(words)
    else:
        from shapecalc.cli.info import FIRST_SCREEN, FIRST_SCREEN_FOOTER

        print_stdout(f"{FIRST_SCREEN}\n{FIRST_SCREEN_FOOTER}")
    return ExitCode.OK


def _run_inferred_command(words: Sequence[str], app: AnyTerminalApp, text: str = "") -> int:
    """Infer the missing command name of a command line, and run the command.

    The arguments may be shapes, a file, code or an error message. The inferred command line is printed to stderr.
    `text` is the content of standard input, or empty if standard input was not read yet. Raises `ShapeError` (usage) if
    no command can be inferred.
    """
    from shapecalc.cli.inference import detect_command_line, is_error_message, split_options
    from shapecalc.reading import command_detection

    values, options = split_options(words)
    if len(values) == 1 and values[0].endswith(".onnx") and (log := _peek_stdin_file()) and is_error_message(log):
        values, options = [log], ["--model", *values, *options]
    if (
        values
        and all("=" in word and command_detection.is_shape(word.rpartition("=")[2]) for word in values)
        and has_stdin_data()
    ):
        values.insert(0, "-")
    if values[:1] == ["-"] and len(values) == 2 and command_detection.is_shape(values[1]):
        return run_command_line(["reshape", *words], app)
    if values[:1] == ["-"]:
        text = text or read_stdin(MAX_STDIN_BYTES).decode("utf-8", "surrogateescape")
        if "\0" in text:
            raise usage_error("standard input is no text", "name the file: shapecalc FILE")
        values[0] = text.strip("\ufeff \r\n")
    held = command_detection.UserInput(tuple(words), tuple(values), is_error_message)
    line = commands.resolve_aliases(detect_command_line(held, options), translates_functions=False)
    quiet = _has_quiet_option(options)
    if not quiet:
        print_stderr(command_detection.format_command_message(line))
    code = run_command_line(line, app, held.text if "-" in line and "-" not in words[1:] else None)
    if line[0] == "reshape" and code == ExitCode.OK and not (quiet or {"--json", "--expect", "--as"} & {*options}):
        _suggest_other_chains(*line[1:3])
    return code


def _peek_stdin_file() -> str:
    """Return the content of standard input without consuming it.

    Returns an empty string if standard input is not a file but a pipe or a terminal.
    """
    if sys.stdin is None:
        return ""
    try:
        return os.pread(stdin_stream().fileno(), MAX_STDIN_BYTES, 0).decode("utf-8", "replace")
    except (AttributeError, OSError, ValueError):  # stdin is not a file, or the platform has no `pread`
        return ""


def _suggest_other_chains(input_text: str, output_text: str) -> None:
    """Print up to two other chains between the shapes of a reshape.

    Unlike the reshape, they change the order of the elements.
    """
    from shapecalc.core.text import parse_shape
    from shapecalc.reasoning.find import search_chains

    try:
        ways = [
            way for way in search_chains(parse_shape(input_text), parse_shape(output_text)).ways if way.transpose_count
        ]
    except ShapeError:
        return  # an argument is a file name, or a shape contains -1
    for way in ways[:2]:
        print_stderr(f"shapecalc: {way.layout or 'with the elements in another order'}: {way.chain}")


def _print_help(name: str) -> int:
    from shapecalc.cli.help import help_text

    print_stdout(help_text(name))
    return ExitCode.OK


def _report_usage_error(error: ShapeError, words: Sequence[str]) -> int:
    """Print the error of an invalid command line, and return its exit code.

    For a known mistake in `words`, such as an unquoted shape, the printed error suggests the correct command line. The
    error is printed as JSON if `words` contain `--json`.
    """
    from shapecalc.cli.options import COMMAND_MODULES
    from shapecalc.cli.usage_hints import extra_words_error, missing_argument_error, split_shape_error

    extra = extra_words_error(words) if isinstance(error, ExtraValueError) else None
    missing = missing_argument_error(words) if isinstance(error, MissingArgumentError) else None
    error = split_shape_error(words) or extra or missing or error
    problem = error.problem
    first = words[0] if words else ""
    if not problem.hint:
        command = f"{first} " if first in OPS or first in COMMAND_MODULES else ""
        is_missing = isinstance(error, MissingArgumentError) and first in OPS
        example = f"as in shapecalc {OPS[first].examples[0]}; " if is_missing else ""
        problem = replace(problem, hint=f"{example}see shapecalc {command}-h") if problem.rule != FILE else problem
    if "--json" not in words:
        print_stderr(problem_text(problem))
    elif not _has_quiet_option(words):
        print_json(error_json(problem, first, {}))
    return ExitCode.FILE if problem.rule == FILE else ExitCode.USAGE

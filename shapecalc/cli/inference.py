"""Infer the command of a command line that does not begin with one."""

from __future__ import annotations

from shapecalc.cli.output_options import OUTPUT_OPTIONS
from shapecalc.core.ops import OPS
from shapecalc.core.problem import ShapeError, usage_error
from shapecalc.reading import commands
from shapecalc.reading.options import Option, OptionLookup, is_value, op_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from shapecalc.reading.command_detection import UserInput


def infer_command_line(words: Sequence[str]) -> list[str]:
    """Infer the command line of `tui` from arguments without a command name.

    If the inferred command would read its text from standard input, the returned command line contains the text itself.
    Raises `ShapeError` (usage) if no command can be inferred.
    """
    from shapecalc.reading.command_detection import UserInput

    values, options = split_options(words)
    user_input = UserInput(tuple(words), tuple(values), is_error_message)
    return [user_input.text if word == "-" else word for word in detect_command_line(user_input, options)]


def detect_command_line(user_input: UserInput, options: Sequence[str]) -> list[str]:
    """Return the command line that `user_input` abbreviates.

    Raises `ShapeError` (usage) if no command is detected.
    """
    from shapecalc.reading import command_detection

    words, values = user_input.arguments, user_input.words
    line = command_detection.resolve_command_alias(words) or _parse_framework_call(words)
    line = line or (command_detection.detect_command(user_input, options) if values else None)
    if line is None:
        raise _unknown_command_error(values)
    return line


def _parse_framework_call(words: Sequence[str]) -> list[str] | None:
    """Convert a call of a framework's function to a command line, or return None."""
    if (
        not words
        or not words[0].replace(".", "").isidentifier()
        or (words[0] in OPS and not commands.has_order_argument(words))
        or words[1:2] == ["="]
    ):
        return None
    translated = commands.resolve_aliases(words)
    if translated[0] in OPS and not commands.has_order_argument(words):
        return translated
    from shapecalc.reading.framework_words import translate_onnx_operator
    from shapecalc.reading.word_code import translate_to_code

    return translate_onnx_operator(words) or translate_to_code(words)


def split_options(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split arguments without a command name into positional arguments and options.

    The list of options also contains the values of the options.

    >>> split_options(["2,3,4", "-d", "torch", "to", "--json", "6,4"])
    (['2,3,4', 'to', '6,4'], ['-d', 'torch', '--json'])
    """
    known = OptionLookup([*OUTPUT_OPTIONS.values(), Option("input", ""), *op_options(OPS["reshape"])])
    values, options, needs_value = list[str](), list[str](), False
    for index, word in enumerate(words):
        if word == "--" and not needs_value:
            return [*values, *words[index + 1 :]], options
        is_option = not needs_value and not is_value(word)
        (options if needs_value or is_option else values).append(word)
        needs_value = is_option and (known.find(word) or (None, True))[1] is None
    return values, options


def is_error_message(text: str) -> bool:
    """Return whether a string contains a known error message of a framework."""
    from shapecalc.diagnosis.reading import has_known_message

    return has_known_message(text)


def _unknown_command_error(words: Sequence[str]) -> ShapeError:
    """Return the error that no command can be inferred from arguments."""
    from shapecalc.cli.info import topic_hint
    from shapecalc.cli.options import COMMAND_MODULES
    from shapecalc.core.text import escape_unprintable, suggest_name, truncate
    from shapecalc.reading.command_detection import command_hint

    word = words[0] if words else ""
    hint = command_hint(words) or topic_hint(word) or suggest_name(word, [*OPS, *COMMAND_MODULES])
    return commands.unsupported_op_error(word) or usage_error(
        f"no such command or file '{escape_unprintable(truncate(word))}'",
        hint or "what is read: shapecalc help readings",
    )

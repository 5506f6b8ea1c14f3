"""Parsing of the text that the user types or pastes.

The text is a request, a chain, code, an error message or a file name. It is parsed by the rules of the command line,
but nothing is printed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from shlex import join

from shapecalc.core.ops import OPS
from shapecalc.core.problem import FILE, Problem, ShapeError, usage_error
from shapecalc.core.record import Record
from shapecalc.core.text import (
    escape_unprintable,
    is_file_argument,
    join_words,
    split_outside_brackets,
    suggest_name,
    truncate,
)
from shapecalc.reading.command_detection import UserInput, command_hint, detect_command, is_assignment
from shapecalc.reading.commands import chain_text, parse_stage, resolve_aliases
from shapecalc.teaching.exercises import select_kinds
from shapecalc.tui.question import (
    AGAINST,
    CHAIN,
    EQUIV,
    FILES_DISABLED_MESSAGE,
    Question,
    can_open_files,
    question_from_words,
    resolve_question,
)

PROGRAM_WORDS = ("$", "shapecalc", "tui")
"""The words before a command line that the app skips."""
QUESTION_COMMANDS = (*OPS, CHAIN, EQUIV, AGAINST)
"""The commands that open a question on the main screen."""
CODE, MESSAGE, MODEL = "code", "doctor", "model"
"""The commands that the app opens on separate screens."""
DRILL, LESSONS, COURSE = "drill", "lessons", "course"
"""The commands that open exercises, the list of lessons, and the introductory course."""
TEACHING_COMMANDS = {DRILL: DRILL, LESSONS: LESSONS, "lesson": LESSONS, COURSE: COURSE}
"""The command for each first word that opens exercises or lessons."""
SIZE = "size"
SOURCE_WORD_PATTERN = re.compile(r"\.py(::|$)|\w\(|\n")
"""The pattern of a word that is code, or that names a source file."""
STDIN_WORD = "-"
"""The word that represents the typed text in a command line, as standard input."""
COMPARING_WORDS = ("vs", "vs.", "versus")
"""The words that separate two requests to compare."""
STAGE_SEPARATOR, WHERE_OPTION = "|", "--where"
"""The word between two stages of an unquoted chain, and the option that sets sizes in a chain."""
COMPARISON_HINT = "write against 'OP ...' 'OP ...' --input SHAPE"
COMMAND_HINT = "write a shape and what it becomes, such as 2,3,4 0,-1, or paste code or an error message"


class AppCommand(Record):
    """A command line that the app can open on one of its screens."""

    words: tuple[str, ...]
    """The words of the command line after `shapecalc`."""
    text: str
    """The text from which the words were parsed."""
    question: Question | None = None
    """The question, if the command is a request, a chain or a comparison; otherwise None."""

    @property
    def kind(self) -> str:
        """The name of the command."""
        return self.words[0]

    @property
    def line(self) -> str:
        """The command line, in which `-` replaces a text of several lines."""
        return escape_unprintable(join([STDIN_WORD if "\n" in word else word for word in self.words]))

    @property
    def content(self) -> str:
        """The code, the error message or the file name that the command reads."""
        word = self.words[1] if len(self.words) > 1 else STDIN_WORD
        return self.text if word == STDIN_WORD else word


def parse_command_text(text: str) -> AppCommand:
    r"""Parse text that the user types or pastes as a command.

    Raises `ShapeError` (usage) if the text is not recognized, and (file) if it names an unusable file.

    >>> [parse_command_text(text).line for text in ("2,3,4 to 6,4", "$ shapecalc transpose 2,3 1,0", "2,3 | reshape 6")]
    ['reshape 2,3,4 6,4', 'transpose 2,3 1,0', "chain '2,3 | reshape 6'"]
    >>> parse_command_text("x = x.view(2, -1)\nx.t()").kind
    'code'
    """
    text = text.strip()
    words = _split_words(text)
    while words and words[0] in PROGRAM_WORDS:
        text = text[len(words[0]) :].lstrip()
        del words[0]
    if not words:
        raise usage_error("nothing is typed yet", COMMAND_HINT)
    return parse_command_words(words, text)


def parse_command_words(words: Sequence[str], text: str = "") -> AppCommand:
    """Parse the words of a command line.

    `text` is the text from which the words were split.

    Raises `ShapeError` (usage) if the words are not recognized, and (file) if they name an unusable file.
    """
    # imported here, because it takes a tenth of the app's start time
    from shapecalc.diagnosis.reading import has_known_message

    is_line = "\n" not in text and not is_assignment(text)
    if is_line and words[0] in TEACHING_COMMANDS:
        return _make_teaching_command(words, text)
    resolved = _quote_chain(resolve_aliases(words)) if is_line else [*words]
    if is_line and (sides := _split_comparison(words)):
        return _make_comparison(*sides, text)
    if is_line and resolved[0] in QUESTION_COMMANDS and not (" " in text and has_known_message(text)):
        return AppCommand((*resolved,), text, question_from_words(resolved, typed_name=words[0]))
    for candidate in dict.fromkeys(((text,) if text else (*words,), (*words,))):
        line = _detect_command(UserInput(candidate, candidate, has_known_message))
        if line is not None:
            return _make_command(resolve_aliases(line), text, line[0])
    hint = command_hint(words) or suggest_name(words[0], QUESTION_COMMANDS) or COMMAND_HINT
    raise usage_error(f"'{escape_unprintable(truncate(text or join(words)))}' is not read", hint)


def _make_teaching_command(words: Sequence[str], text: str) -> AppCommand:
    """Return the command that opens lessons, or exercises on topics.

    Raises `ShapeError` (usage) for an unknown topic, and for words after a command that takes none.

    >>> [parse_command_text(text).line for text in ("drill perm zero", "lesson")]
    ['drill perm zero', 'lessons']
    """
    kind, topics = TEACHING_COMMANDS[words[0]], " ".join(words[1:])
    if topics and kind != DRILL:
        raise usage_error(f"{words[0]} takes no argument here", f"write {words[0]}")
    if topics:
        select_kinds(topics)
    return AppCommand((kind, *words[1:]), text)


def _quote_chain(words: Sequence[str]) -> list[str]:
    """Join the words of an unquoted chain into one argument.

    >>> _quote_chain(["chain", "2,3", "|", "reshape", "6", "--where", "N=1"])
    ['chain', '2,3 | reshape 6', '--where', 'N=1']
    """
    if words[0] != CHAIN or STAGE_SEPARATOR not in words:
        return [*words]
    end = words.index(WHERE_OPTION) if WHERE_OPTION in words else len(words)
    return [CHAIN, " ".join(words[1:end]), *words[end:]]


def _split_comparison(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]] | None:
    """Split words into two requests at the first of `COMPARING_WORDS`.

    Returns None if there is no such word, or no word before or after it.
    """
    index = next((index for index, word in enumerate(words) if word in COMPARING_WORDS), 0)
    return (words[:index], words[index + 1 :]) if 0 < index < len(words) - 1 else None


def _make_comparison(first: Sequence[str], second: Sequence[str], text: str) -> AppCommand:
    """Return the command that compares two requests.

    The second request may omit its input. Raises `ShapeError` (usage) if one of them is not a request.

    >>> parse_command_text("2,3 reshape 3,2 vs transpose 1,0").line
    "equiv '2,3 | reshape 3,2' '| transpose 1,0'"
    """
    left = _chain_from_request(first)
    try:
        parse_stage(second, with_input=False)
    except ShapeError:
        right = _chain_from_request(second)
    else:
        right = f"| {join_words(second)}"
    words = (EQUIV, left, right)
    return AppCommand(words, text, question_from_words(words))


def _chain_from_request(words: Sequence[str]) -> str:
    """Convert the words of a request to a chain.

    Raises `ShapeError` (usage) if the words are not a request.
    """
    question = parse_command_words(words).question
    answer = resolve_question(question).answer if question else None
    if answer is None:
        raise usage_error(f"'{escape_unprintable(truncate(join(words)))}' is not a request", COMPARISON_HINT)
    return chain_text(answer)


def parse_code_command(words: Sequence[str]) -> AppCommand | None:
    """Parse words that are code, the name of a source file, or an error message.

    Returns None for other words.

    >>> [command and command.kind for command in map(parse_code_command, (["x.view(2, -1)", "x=2,3"], ["2,3", "6"]))]
    ['code', None]
    """
    if (
        not words
        or words[0] in QUESTION_COMMANDS
        or not (SOURCE_WORD_PATTERN.search(words[0]) or words[0] in (CODE, MESSAGE))
    ):
        return None
    if words[0] in (CODE, MESSAGE):
        return AppCommand((*words,), words[1] if len(words) > 1 else "")
    # imported here, because it takes a tenth of the app's start time
    from shapecalc.reading.code.source import split_entry

    if split_entry(words[0])[1]:
        return AppCommand((CODE, words[0], *(("--input", " ".join(words[1:])) if words[1:] else ())), words[0])
    command = parse_command_words(words)
    return command if command.kind == CODE else None


def _split_words(text: str) -> list[str]:
    """Split a text as a shell does; if a quote is not closed, split it at blanks."""
    try:
        return split_outside_brackets(text)
    except ShapeError:
        return text.split()


def _detect_command(user_input: UserInput) -> list[str] | None:
    """Return the command line for an input, or None if the input is not recognized.

    Raises `ShapeError` (file) if the input is a file name and this process may not open files.
    """
    if not can_open_files() and any(is_file_argument(word) or "/" in word for word in user_input.words[:1]):
        raise ShapeError(Problem(FILE, FILES_DISABLED_MESSAGE, "write the shape itself, such as 2,3,4"))
    return detect_command(user_input)


def _make_command(line: Sequence[str], text: str, typed_name: str) -> AppCommand:
    """Return the app command for a command line.

    `typed_name` is the op or alias with which the text began. Raises `ShapeError` (usage) if the app does not open this
    command.
    """
    if line[0] in QUESTION_COMMANDS:
        return AppCommand((*line,), text, question_from_words(line, typed_name=typed_name))
    if line[0] == SIZE and len(line) == 2 and "," in line[1]:  # the input of a chain without stages
        return AppCommand((CHAIN, line[1]), text, question_from_words([CHAIN, line[1]]))
    command = AppCommand((*line,), text)
    if line[0] in (CODE, MESSAGE):
        return command
    if line[0] == MODEL:
        raise usage_error("a model opens as the list of its nodes", f"run shapecalc tui --model {join(line[1:])}")
    raise usage_error(f"{line[0]} is answered by the command line, not by the app", f"run shapecalc {command.line}")

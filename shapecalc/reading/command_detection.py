"""Detect the command of an input without a command name.

The input is a file, shapes, an error message, a chain or code. Each kind of input has a recognizer, which returns a
command line or None. The recognizers run in a fixed order; the first command line is executed.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from shlex import join, quote
from stat import S_ISREG
from textwrap import dedent

from shapecalc.core.limits import MAX_CODE_LENGTH, MAX_LINE_BYTES
from shapecalc.core.ops import OPS
from shapecalc.core.problem import FILE, Problem, ShapeError, error_reason, usage_error
from shapecalc.core.record import Record, replace
from shapecalc.core.text import (
    GENERAL_DIM_HINT,
    QUOTES,
    escape_unprintable,
    is_file_argument,
    parse_dims,
    parse_shape,
    scan_shape,
    shape_text,
    split_outside_brackets,
    truncate,
)
from shapecalc.reading.cases import parse_case
from shapecalc.reading.commands import COMPOSITE_OPS, OP_ALIASES

SHAPE_STARTS = ("-", "?", "[", "(", "{")
"""The characters, besides digits and letters, with which a shape can start."""
CHAIN_ARROW = re.compile(" ?(?:->|=>|→) ?")
SHAPE_SEPARATOR = re.compile(" ?(?:->|=>|→) ?| (?:to|into) ")
INFIX_OPS = {"@": "matmul", **dict.fromkeys("+-*/", "broadcast")}
"""The op of each infix operator between two shapes."""
NAMED_SHAPE = re.compile(r"[A-Za-z_][\w.]*\s*=\s*(.+)", re.DOTALL)
"""A regular expression for the name and shape of a tensor: `x=2,3`."""
MAX_WORD_LENGTH = 200
"""The maximum number of characters of a word in a message, or of a file name."""
MAX_LOOSE_NAME_LENGTH = 2
"""The maximum length of a dim name in a shape without commas or brackets, such as `b c h w`."""
MAX_DETECTED_LENGTH = 10_000
"""The maximum number of characters of a shape that does not start with a digit or one of `SHAPE_STARTS`."""
MAX_PRINTED_WORDS = 20
"""The maximum number of words of the input that a message quotes."""
MAX_DETECTED_WORDS = 1000
"""The maximum number of words of an input that is not a list of files, a case file or a message."""
MAX_INSPECTED_LENGTH = 1 << 20
"""The maximum number of characters of an input that are inspected."""


ASSIGNMENT = re.compile(r"\s*[A-Za-z_][\w.]*(?:\s*,\s*[A-Za-z_][\w.]*)*\s*(?::\s*[\w.]+\s*)?=(?![=>])\s*[A-Za-z_(\[]")
"""A regular expression for the beginning of an assignment to one or more names, as in Python."""


class UserInput(Record):
    """The words of a command line without a command name.

    `is_error_message` is a function that returns whether a string is an error message of a framework.
    """

    arguments: tuple[str, ...]
    words: tuple[str, ...]
    """The arguments without the options."""
    is_error_message: Callable[[str], bool]

    @property
    def text(self) -> str:
        """The words, joined by spaces."""
        return " ".join(self.words)

    @property
    def line(self) -> str:
        """The text with runs of whitespace collapsed.

        The line is empty if the text is too long.
        """
        return " ".join(self.text.split()) if len(self.text) <= MAX_CODE_LENGTH else ""


def detect_command(user_input: UserInput, options: Sequence[str] = ()) -> list[str] | None:
    """Return the command line for an input, or None if it is not recognized.

    In the command line, `-` represents the text of the input. Raises `ShapeError` (usage) if the input is not
    recognized and has too many words or bytes.

    >>> detect_command(UserInput((), ("2,3,4", "to", "6,4"), lambda text: False), ["--json"])
    ['reshape', '2,3,4', '6,4', '--json']
    >>> detect_command(UserInput((), ("(2,3,4).reshape(6,4)",), lambda text: False))
    ['code', 'x.reshape(6,4)', '--input', 'x=2,3,4']
    """
    line = _recognize_file(user_input)
    if line is not None:
        return line
    is_long = len(user_input.words) > MAX_DETECTED_WORDS or sum(map(len, user_input.words)) > MAX_LINE_BYTES
    recognizers = LONG_INPUT_RECOGNIZERS if is_long else RECOGNIZERS
    line = next((line for read in recognizers if (line := read(user_input)) is not None), None)
    if line is None and is_long:
        hint = "name the command: shapecalc COMMAND ..."
        if len(user_input.words) > MAX_DETECTED_WORDS:
            raise usage_error(f"{len(user_input.words)} words, and none is the word of a command", hint)
        raise MAX_LINE_BYTES.error("the line is longer", hint)
    return None if line is None else [*line, *options]


def is_assignment(text: str) -> bool:
    """Return whether a text begins with a Python assignment, even one to the name of an op.

    >>> is_assignment("shuffle = network.add_shuffle(x)"), is_assignment("reshape 2,3 6")
    (True, False)
    """
    return ASSIGNMENT.match(text) is not None


COMMAND_ALIASES = {
    **dict.fromkeys(("same", "diff", "prove"), "equiv"),
    "shorten": "simplify",
    "inverse": "invert",
    "undo": "invert",
    "convert": "chain",
    "draw": "film",
    "numel": "size",
    "lint": "model --lint",
    "version": "--version",
}
"""The command for each command name of another program."""


def resolve_command_alias(words: Sequence[str]) -> list[str] | None:
    """Replace another program's command name with shapecalc's.

    Returns None if the first word is not such a name. Raises `ShapeError` (usage) for `convert` without `--as`.

    >>> resolve_command_alias(["lint", "yolo.onnx"]), resolve_command_alias(["reshape", "2,3", "6"])
    (['model', '--lint', 'yolo.onnx'], None)
    """
    command = COMMAND_ALIASES.get(words[0]) if words else None
    if words and words[0] == "convert" and not any(word.startswith("--as") for word in words):
        raise usage_error("convert needs what to write", "add --as torch, onnx, tensorrt ...")
    return None if command is None else [*command.split(), *words[1:]]


def is_shape(text: str, *, precedes_shape: bool = False) -> bool:
    """Return whether a string is a shape rather than a word.

    A shape starts with a digit, `-`, `?` or a bracket, contains a comma, or has the format in which a tool prints
    shapes. Names separated by spaces are a shape if every word is a number or at most `MAX_LOOSE_NAME_LENGTH`
    characters long, or if `precedes_shape` is True, that is, if another shape follows.

    >>> is_shape("2x3"), is_shape("N,-1"), is_shape("(4)"), is_shape("foo"), is_shape("x.view(2,3)")
    (True, True, True, False, False)
    >>> is_shape("float32[1,3]"), is_shape("b c h w"), is_shape("what is this"), is_shape("batch x 3")
    (True, True, False, True)
    """
    text = text.strip()
    if len(text) > MAX_DETECTED_LENGTH and not (text[0] in SHAPE_STARTS or text[0].isdigit()):
        return False
    try:
        scanned = scan_shape(text)
        if scanned.has_unbracketed_names:
            is_listed = precedes_shape or all(
                len(token.text) <= MAX_LOOSE_NAME_LENGTH or token.text.isdigit() for token in scanned.tokens
            )
        else:
            is_listed = text[:1] in SHAPE_STARTS or text[:1].isdigit() or len(scanned.tokens) > 1
        if is_listed or scanned.form or (text[:1] in QUOTES and text[:1] == text[-1:]):
            parse_dims(text)
            return True
    except ShapeError:
        return False
    return False


def _are_shapes_or_files(first: str, second: str) -> bool:
    """Return whether two words are shapes or files."""
    is_second = is_file_argument(second) or is_shape(second)
    return is_second and (is_file_argument(first) or is_shape(first, precedes_shape=True))


def format_command_message(line: Iterable[str]) -> str:
    r"""Format the message that reports the detected command line.

    A word that is long or has several lines is printed as `-`.

    >>> format_command_message(["code", "two\nlines"]), format_command_message(["reshape", "2,3", "6"])
    ('read as: shapecalc code -', 'read as: shapecalc reshape 2,3 6')
    >>> format_command_message(["size", "7" * 200])
    'read as: shapecalc size -'
    >>> len(format_command_message(["size", "7" * 199])) - len(format_command_message(["size", ""]))
    197
    """
    words = [word if "\n" not in word and len(word) < MAX_WORD_LENGTH else "-" for word in line]
    rest = f" ... and {len(words) - MAX_PRINTED_WORDS} more" if len(words) > MAX_PRINTED_WORDS else ""
    return escape_unprintable(f"read as: shapecalc {' '.join(map(_quote_word, words[:MAX_PRINTED_WORDS]))}{rest}")


def _quote_word(word: str) -> str:
    """Quote a word for a shell.

    Double quotes are used for a word that contains a single quote.
    """
    return f'"{word}"' if "'" in word and not {*word} & {*'"$`!\\'} else quote(word)


def command_hint(words: Sequence[str]) -> str:
    """Return a hint for an input that is not recognized, or an empty string.

    Hints exist for three or four shapes, for two shapes in a sentence, and for a shape that the shell split into words.

    >>> command_hint(["how", "to", "reshape", "2x3x4", "to", "6x4"])
    'write shapecalc 2x3x4 6x4'
    """
    if len(words) > 1 and is_shape(" ".join(words)) and not {*words} & {"-", "->", "=>"}:
        return f'in quotes it stays whole: shapecalc "{shape_text(parse_dims(" ".join(words)))}"'
    if len(words) > 2 and "," in words[0] and all(map(is_shape, words)) and not any("," in word for word in words[1:]):
        return f"write shapecalc {escape_unprintable(join([words[0], ','.join(words[1:])]))}"
    if len(words) in (3, 4) and all(map(is_shape, words)):
        if sorted(words[1].strip("()[]").split(",")) != [str(axis) for axis in range(words[1].count(",") + 1)]:
            return (
                f"write shapecalc {escape_unprintable(join(words[:2]))} --expect {escape_unprintable(join(words[2:3]))}"
            )
        return f"write shapecalc shuffle {escape_unprintable(join(words))}"
    if len(words) == 1 and (found := _shape_hint(words[0].partition("|")[0].strip())):
        return found
    sentence = [word for text in words if len(text) < MAX_WORD_LENGTH for word in text.split()][:MAX_PRINTED_WORDS]
    for first, preposition, second in zip(sentence, sentence[1:], sentence[2:], strict=False):
        if preposition in ("to", "into") and is_shape(first) and is_shape(second):
            return f"write shapecalc {escape_unprintable(join([first, second]))}"
    return ""


def _shape_hint(text: str) -> str:
    """Return a hint for an invalid shape, or an empty string for any other text."""
    if not any(char in text for char in "[(<{,") or len(text) > MAX_WORD_LENGTH:
        return ""
    try:
        parse_shape(text)
    except ShapeError as error:
        hint = error.problem.hint
        return "" if hint.startswith(GENERAL_DIM_HINT) else f"{error.problem.message}: {hint}" if hint else ""
    return ""


ARRAY_SUFFIXES = (".npy", ".npz", ".safetensors", ".zarr")
MAX_FOLDER_ENTRIES = 50_000
"""The maximum number of files and folders that are listed in a folder of arrays."""
SUFFIX_COMMANDS = {".onnx": "model", ".py": "code"}
"""The command for each file name suffix."""


def _recognize_file(user_input: UserInput) -> list[str] | None:
    """Recognize the path of a file or folder.

    A file contains an array, a model, code, cases or an error message. A shape pattern may precede the paths of arrays.
    """
    name, *others = user_input.words
    if not name or all(map(is_shape, user_input.words)) or _recognize_operands(user_input):
        return None
    arrays = [word for word in user_input.words if is_file_argument(word) or _is_folder(word)]
    patterns = [word for word in user_input.words if word not in arrays]
    if len(arrays) > 1 or (arrays and (_is_folder(arrays[0]) or patterns[:1] == [name])):
        if len(patterns) > 1:
            return None
        paths = [array for word in arrays for array in (_find_arrays(Path(word)) if _is_folder(word) else [word])]
        return [
            "match",
            *(patterns or ["..."]),
            *paths,
            *[word for word in user_input.arguments if word not in user_input.words],
        ]
    if arrays:
        return None if others else ["shape", *user_input.arguments]
    command = SUFFIX_COMMANDS.get(Path(name).suffix)
    if len(name) > MAX_WORD_LENGTH or "\n" in name or not (Path(name).exists() or (command and " " not in name)):
        return None
    if command == "model" and (Path(name).is_file() or not Path(name).exists()):
        return [command, *user_input.arguments]
    beginning, options = (
        _read_beginning(Path(name)),
        [word for word in user_input.arguments if word not in user_input.words],
    )
    if layers := _recognize_shuffles(replace(user_input, words=(beginning, *others))):
        return [*layers, *options]
    if command == "code":
        return ["code", name, *options, *(["--input", " ".join(others)] if others else [])]
    return ["check" if _starts_with_case(beginning) else "doctor", *user_input.arguments]


def _is_folder(word: str) -> bool:
    return 0 < len(word) <= MAX_WORD_LENGTH and not is_file_argument(word) and Path(word).is_dir()


def _find_arrays(folder: Path) -> list[str]:
    """Return the paths of all arrays below a folder.

    Raises `ShapeError` (usage) if the folder contains no arrays or too many files.
    """
    walked = (Path(parent, name) for parent, folders, files in os.walk(folder) for name in (*folders, *files))
    entries, folder_name = list(islice(walked, MAX_FOLDER_ENTRIES + 1)), escape_unprintable(truncate(str(folder)))
    if len(entries) > MAX_FOLDER_ENTRIES:
        raise usage_error(f"{folder_name} holds more than {MAX_FOLDER_ENTRIES} names", "name the arrays")
    arrays = {path for path in entries if path.suffix in ARRAY_SUFFIXES}
    paths = sorted(f"./{path}" if str(path)[0] == "-" else str(path) for path in arrays if not arrays & {*path.parents})
    if not paths:
        hint = f"arrays end in {', '.join(ARRAY_SUFFIXES)}; for cases: shapecalc check FOLDER"
        raise usage_error(f"there is no array in {folder_name}", hint)
    return paths


def _read_beginning(path: Path) -> str:
    """Return the beginning of a text file.

    Returns an empty string if the file cannot be opened, because the command then reports the reason. Raises
    `ShapeError` (file) if the path does not exist, and (usage) if it is not a text file.
    """
    path_name = escape_unprintable(truncate(str(path)))
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise ShapeError(Problem(FILE, f"{path_name}: {error_reason(error)}")) from None
    if not S_ISREG(mode):
        raise usage_error(f"{path_name} is no regular file", f"write shapecalc < {path_name}")
    try:
        with path.open("rb") as file:
            text = file.read(MAX_INSPECTED_LENGTH).decode("utf-8", "replace")
    except OSError:
        return ""
    if "\0" in text:
        raise usage_error(
            f"{path_name} is no text", f"texts are read, and {', '.join([*SUFFIX_COMMANDS, *ARRAY_SUFFIXES])}"
        )
    return text


def _starts_with_case(text: str) -> bool:
    """Return whether a string starts with a case of `shapecalc check`.

    Leading comments are skipped.
    """
    lines = (line.strip() for line in text.removeprefix("\ufeff")[:MAX_INSPECTED_LENGTH].splitlines())
    first = next((line for line in lines if line and line[0] != "#"), "")
    if "=>" not in first and first[:1] != "{" and first.partition(" ")[0] not in OPS:
        return False
    try:
        parse_case(first, {})
    except ShapeError:
        return False
    return True


def _recognize_cases(user_input: UserInput) -> list[str] | None:
    """Recognize the lines of a case file.

    A single line without an expectation is recognized as the command line of an op.
    """
    text = user_input.text
    if (
        "\n" not in text
        and "=>" not in text
        and len(user_input.words) == 1
        and text.partition(" ")[0] in OPS
        and " " in text
        and not is_assignment(text)
    ):
        return split_outside_brackets(text)
    return ["check", "-"] if _starts_with_case(text) else None


def _recognize_shapes(user_input: UserInput) -> list[str] | None:
    """Recognize two shapes as a reshape.

    Raises `ShapeError` (usage) if the shell interpreted the `>` of an arrow as a redirection.
    """
    if len(user_input.words) == 2 and user_input.words[1] == "-" and is_shape(user_input.words[0]):
        hint = f"quote the arrow: shapecalc '{escape_unprintable(truncate(user_input.words[0]))} -> ...'"
        raise usage_error("your shell took > for a file", hint)
    for pieces in (user_input.words, SHAPE_SEPARATOR.split(user_input.line), user_input.line.split(" ")):
        if len(pieces) == 2 and _are_shapes_or_files(*pieces):
            return ["reshape", *map(str.strip, pieces)]
    return None


def _recognize_operands(user_input: UserInput) -> list[str] | None:
    """Recognize two shapes or files with an infix operator between them."""
    match re.split(" ([@+*/-]) ", user_input.line):
        case [first, sign, second] if _are_shapes_or_files(first, second):
            return [INFIX_OPS[sign], first.strip(), second.strip()]
    return None


def _recognize_one_shape(user_input: UserInput) -> list[str] | None:
    return ["size", user_input.text.strip()] if len(user_input.words) == 1 and is_shape(user_input.text) else None


SHUFFLE_ATTRIBUTES = {
    "first": r"first[_ ]?transpose",
    "to": r"reshape(?:[_ ]?dim(?:ension)?s|(?=\s?[:=])(?!\s?=\s?(?!trt\b|tensorrt\b)[a-z_]\w*\.\w))",
    "second": r"second[_ ]?transpose",
}
"""Regular expressions for the attribute names of a TensorRT Shuffle, keyed by option.

They match the names in C++, in Python and in logs.
"""
ATTRIBUTE_VALUE = (
    r"(?:\W|[A-Za-z]\w{0,20}(?=[({.:])|\d(?=, ?\{)){0,20}?((?:-?\d{1,20} ?, ?){0,20}-?\d{1,20})(?!\d|, ?\{)"
)
"""A regular expression for an attribute value, such as ` = Dims{2, {3, -1}}`."""
SHUFFLE_ATTRIBUTE = re.compile(
    r"(?:\b(\w{1,40})(?:\.|->)(?:set)?|\b(\w{1,40}) ?= ?[\w.>-]{0,40})?"
    rf"(?:{'|'.join(f'(?P<{part}>{name}{ATTRIBUTE_VALUE})' for part, name in SHUFFLE_ATTRIBUTES.items())}"
    r"|(?P<made>add_?shuffle)|(?P<literal>zero_?is_?placeholder\W{1,5}(?:false|0)))",
    re.IGNORECASE,
)
"""A regular expression for an attribute of a Shuffle, or for a call that adds a Shuffle.

The first two groups match the name of the variable that contains the layer.
"""
UNSUPPORTED_CALL = re.compile(r"set_?input|network(?:\.|->)add(?!_?shuffle)", re.IGNORECASE)
"""A regular expression for code that Shuffles cannot express.

It matches a call that sets a shape at run time, and a call that adds a layer of another kind.
"""
PRINTED_SHAPE = re.compile(r"# \w+: (\S+) -> |(?<![\w,])(\d+(?:\s?[,x]\s?\d+)+)")
"""A regular expression for an input shape outside of Shuffles.

The shape is in a comment that `--as` prints, or it is any other list of numbers.
"""


def _recognize_shuffles(user_input: UserInput) -> list[str] | None:
    """Recognize TensorRT Shuffles by the names of their attributes.

    A shape outside of the Shuffles is the input. Error messages are not recognized. Raises `ShapeError` (usage) for
    layers of another kind, for shapes set at run time, and for several Shuffles with separate inputs.
    """
    layers = _parse_shuffles(user_input.line)
    part_words = [
        word for word in user_input.words if re.search("|".join(SHUFFLE_ATTRIBUTES.values()), word, re.IGNORECASE)
    ]
    other_words = [word.rpartition("=")[2] for word in user_input.words if word not in part_words]
    printed = _find_shapes(" ".join(part_words))
    shapes = [*filter(is_shape, other_words), *printed, *_find_shapes(user_input.line)]
    if not layers or not shapes or _recognize_message(user_input):
        return None
    if UNSUPPORTED_CALL.search(user_input.line):
        raise usage_error("this is more than Shuffles of numbers", "write chain 'INPUT | shuffle --first ... | ...'")
    if len(layers) > 1 and len(printed) > 1:
        raise usage_error("these layers have inputs of their own", "give one of them at a time")
    shape = re.sub(r"\s", "", shapes[0])
    if len(layers) > 1:
        return ["chain", " | shuffle ".join([shape, *layers])]
    return ["shuffle", shape, *layers[0].split()]


def _find_shapes(text: str) -> list[str]:
    """Return the shapes in a string, except those inside Shuffles."""
    return [
        named or numbers for named, numbers in PRINTED_SHAPE.findall(SHUFFLE_ATTRIBUTE.sub(" ", " ".join(text.split())))
    ]


def _parse_shuffles(text: str) -> list[str]:
    """Parse the options of each Shuffle in a string.

    A new Shuffle starts at a call that adds a Shuffle, or at an attribute that cannot follow the previous attribute.

    >>> _parse_shuffles("second_transpose: (1, 0) first_transpose: [1,0] l.reshape_dims = Dims{2, {3, -1}}")
    ['--second 1,0', '--first 1,0', '--to 3,-1']
    """
    layers = list[tuple[str, dict[str, str]]]()
    for match in SHUFFLE_ATTRIBUTE.finditer(text):
        part, owner = str(match.lastgroup), match[1] or match[2] or ""
        last = next((parts for name, parts in reversed(layers) if name == owner), None)
        later_parts = [*SHUFFLE_ATTRIBUTES][[*SHUFFLE_ATTRIBUTES, part].index(part) :]
        if last is None or part in ("made", *last) or (not owner and not last.keys().isdisjoint(later_parts)):
            last = {}
            layers.append((owner, last))
        if part != "made":
            numbers = re.sub(r"\s", "", match[match.lastindex + 1]) if part in SHUFFLE_ATTRIBUTES else ""  # type: ignore[operator]
            last[part] = f"--{part} {numbers}" if numbers else "--no-zero-is-placeholder"
    return [" ".join(parts.values()) for _, parts in layers if parts]


def _recognize_message(user_input: UserInput) -> list[str] | None:
    """Recognize an error message of a framework."""
    text = user_input.text
    is_known = "Traceback" in text or "Error" in text or (" " in text and user_input.is_error_message(text))
    return ["doctor", "-"] if is_known else None


def _recognize_chain(user_input: UserInput) -> list[str] | None:
    """Recognize a chain of ops separated by vertical bars or arrows.

    If an op has the form of a call, such as `flatten()`, the chain is converted to Python code.
    """
    for stages in (_split_stages(user_input.text), CHAIN_ARROW.split(user_input.line)):
        first, *others = map(str.strip, stages)
        op_names = {re.split(r"[\s(]", stage)[0] for stage in others}
        if (
            not others
            or not (is_shape(first) or is_file_argument(first))
            or not op_names <= {*OPS, *OP_ALIASES, *COMPOSITE_OPS}
        ):
            continue
        if any(re.fullmatch(r"\w+\(.*\)", stage, re.DOTALL) for stage in others):
            return ["code", ".".join(["x", *others]), "--input", f"x={first}"]
        return ["chain", " | ".join([first, *others])]
    return (
        ["chain", user_input.text] if "|" in user_input.text and is_shape(user_input.text.partition("|")[0]) else None
    )


def _split_stages(text: str) -> list[str]:
    """Split a string at vertical bars.

    A string with an unmatched quotation mark is not split, because the mark may be an apostrophe.
    """
    try:
        return split_outside_brackets(text, "|")
    except ShapeError:
        return [text]


def _recognize_pattern(user_input: UserInput) -> list[str] | None:
    """Recognize an axis pattern with shapes, in any order.

    The command is `einsum` for a pattern with a comma, and `rearrange` for all other patterns.
    """
    patterns = [word for word in user_input.words if "->" in word and not re.match(r"[\w.]+\(\w", word)]
    others = [word for word in user_input.words if word not in patterns]
    shapes = [word for word in others if is_shape(word)]
    lengths = [word for word in others if re.fullmatch(r"\w+=\d+", word)]
    if len(patterns) != 1 or not shapes or len(shapes) + len(lengths) < len(others):
        return None
    if "," in patterns[0]:
        return ["einsum", patterns[0], *shapes]
    return ["rearrange", *shapes, patterns[0], *lengths]


PRINTED_ARRAY = re.compile(r"array\(\[\s*\d+(?:\s*,\s*\d+)+\s*\](?:, dtype=\w+)?\)")
"""A regular expression for a printed array of numbers, as model runtimes print shapes."""


LITERAL_TENSOR = re.compile(r"\s*([\[(][^\[\]()]*[\])])\s*(?=[.\[])")
"""A regular expression for a shape used as a tensor: `(2,3).reshape(6)`."""


METHOD_CALL = re.compile(r"(?!x\b)[a-z_]\w*\(.*\)", re.DOTALL)
"""A regular expression for a method call without its tensor: `view(32, -1)`."""
FUNCTION_CALL = re.compile(r"(?:\w+\.)*[A-Za-z_]\w*\(.*\)", re.DOTALL)
"""A regular expression for a call of a layer, or of a method of a named tensor."""


def _recognize_code(user_input: UserInput) -> list[str] | None:
    """Recognize Python code with a tensor operation."""
    code, *others = user_input.words
    if not others and PRINTED_ARRAY.fullmatch(code.strip()):
        numbers = re.sub(r"\s", "", code[code.index("[") + 1 : code.index("]")])
        hint = f"if the numbers are the shape, write {numbers}; the shape of the array: shapecalc code {quote(code)}"
        raise usage_error("this is data, not a shape", hint)
    if others and is_shape(code) and METHOD_CALL.fullmatch(" ".join(others).strip()):
        return ["code", f"x.{' '.join(others).strip()}", "--input", f"x={code}"]
    if others and is_shape(code) and FUNCTION_CALL.fullmatch(" ".join(others).strip()):
        code, others = " ".join(others).strip(), [code]
    while others and not (NAMED_SHAPE.fullmatch(others[0]) or is_shape(others[0])):
        code = f"{code} {others.pop(0)}"
    tensor = LITERAL_TENSOR.match(code)
    if tensor and is_shape(tensor[1]):
        code, others = f"x{code[tensor.end() :]}", [f"x={tensor[1].strip('()[]')}"]
    sums = ast.BinOp if others and "=" in others[0] else ast.MatMult
    names = {word.partition("=")[0].strip() for word in others if NAMED_SHAPE.fullmatch(word)}
    is_bound = re.split(r"\W", code.strip(), maxsplit=1)[0] in names
    statement, name = (
        _parse_code(code, sums, is_bound=is_bound),
        re.match(r"(\w+\.)*[A-Z]\w*(?=\()", code.strip()),
    )
    if statement is None:
        return None
    makes_layer = isinstance(statement, ast.Call) and name and name.end() == statement.func.end_col_offset
    return ["code", f"{code.strip()}(x)" if makes_layer else code, *(["--input", " ".join(others)] if others else [])]


def _parse_code(text: str, operator_type: type[ast.AST], *, is_bound: bool = False) -> ast.AST | None:
    """Return the last statement of tensor code, or None for other text.

    Tensor code has a call, an index, an assignment, a function definition or a node of `operator_type`. If `is_bound`
    is True, the text begins with the name of an input tensor: `x.T` is then code, and `x[2,3]` is an index rather than
    a shape. For an expression statement, returns the expression.
    """
    try:
        parsed = ast.parse(dedent(text[:MAX_INSPECTED_LENGTH]).strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    kinds: tuple[type[ast.AST], ...] = (ast.Call, ast.Subscript, ast.Assign, ast.FunctionDef, operator_type)
    kinds += (ast.Attribute,) if is_bound else ()
    if (is_shape(text) and not is_bound) or not any(isinstance(node, kinds) for node in ast.walk(parsed)):
        return None
    last = parsed.body[-1]
    return last.value if isinstance(last, ast.Expr) else last


def _recognize_op_after_input(user_input: UserInput) -> list[str] | None:
    """Recognize an input that is followed by an op or a framework's function."""
    first, *others = user_input.words if len(user_input.words) > 1 else user_input.line.split(" ")
    is_op = bool(others) and (others[0] in OPS or others[0] in OP_ALIASES or others[0] in COMPOSITE_OPS)
    is_input = is_shape(first) or is_file_argument(first)
    return [others[0], first, *others[1:]] if is_op and is_input else None


def _recognize_multiline_message(user_input: UserInput) -> list[str] | None:
    """Recognize any text of several lines as an error message."""
    return ["doctor", "-"] if "\n" in user_input.text.strip() else None


RECOGNIZERS = (
    _recognize_shapes,
    _recognize_operands,
    _recognize_shuffles,
    _recognize_message,
    _recognize_cases,
    _recognize_chain,
    _recognize_pattern,
    _recognize_code,
    _recognize_op_after_input,
    _recognize_multiline_message,
    _recognize_one_shape,
)
"""The recognizers for inputs other than files, in the order in which they run.

A recognizer returns None for an input that it does not recognize.
"""
LONG_INPUT_RECOGNIZERS = (_recognize_message, _recognize_cases, _recognize_multiline_message)
"""The recognizers for inputs that are too long for other recognizers, such as logs and case files."""

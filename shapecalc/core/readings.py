"""Detection of the command for an input without a command name.

The input is a file, shapes, an error message, a chain or code. The readers run in the order of `READERS`; the first one
that recognizes the input wins.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from shlex import join, quote
from textwrap import dedent

from shapecalc.core.cases import read_case
from shapecalc.core.commands import MADE, SPELLINGS
from shapecalc.core.limits import LONGEST_CODE
from shapecalc.core.ops import OPS
from shapecalc.core.problem import FILE, Problem, ShapeError, misuse
from shapecalc.core.record import Record, replace
from shapecalc.core.text import brief, is_file, read_target, shape_text, split, visible

STARTS = ("-", "?", "[", "(", "{")
"""The first characters of a shape that starts with neither a digit nor a name."""
ARROW = re.compile(" ?(?:->|=>|→) ?")
INTO = re.compile(" ?(?:->|=>|→) ?| (?:to|into) ")
SIGNS = {"@": "matmul", **dict.fromkeys("+-*/", "broadcast")}
"""The ops of infix operators between two shapes."""
INPUT = re.compile(r"[A-Za-z_][\w.]*\s*=\s*(.+)", re.DOTALL)
"""The name and shape of a tensor, as they follow code."""
LONGEST_SHOWN = 200
"""The maximum length of a word that is printed again, and of a file name."""
MOST_SHOWN = 20
"""The maximum number of words that are printed again."""
MOST_READ = 1 << 20
"""The maximum number of characters that are inspected."""


class Held(Record):
    """The words of a command line without a command.

    `is_error_message` recognizes messages of runtimes.
    """

    typed: tuple[str, ...]
    words: tuple[str, ...]
    """The words that are not options."""
    is_message: Callable[[str], bool]

    @property
    def text(self) -> str:
        """The words joined by blanks."""
        return " ".join(self.words)

    @property
    def line(self) -> str:
        """The text with single blanks; empty if it is too long to be code."""
        return " ".join(self.text.split()) if len(self.text) <= LONGEST_CODE else ""


def read_held(held: Held, options: Sequence[str] = ()) -> list[str] | None:
    """Return the command line for an input, or None.

    A word `-` in it refers to the input's text.

    >>> read_held(Held((), ("2,3,4", "to", "6,4"), lambda text: False), ["--json"])
    ['reshape', '2,3,4', '6,4', '--json']
    >>> read_held(Held((), ("(2,3,4).reshape(6,4)",), lambda text: False))
    ['code', 'x.reshape(6,4)', '--input', 'x=2,3,4']
    """
    line = _file(held)
    if line is not None:
        return line
    line = next((line for read in READINGS if (line := read(held)) is not None), None)
    return None if line is None else [*line, *options]


OTHER_WORDS = {
    **dict.fromkeys(("same", "diff", "prove"), "equiv"),
    "shorten": "simplify",
    "convert": "chain",
    "draw": "film",
    "numel": "size",
    "cat": "concat",
    "lint": "model --lint",
    "version": "--version",
}
"""Names that other programs use for commands of shapecalc."""


def named_line(words: Sequence[str]) -> list[str] | None:
    """Replace another program's command name by shapecalc's own.

    Returns None if the words do not start with one. Raises `ShapeError` (usage) for `convert` without a target.

    >>> named_line(["lint", "yolo.onnx"]), named_line(["reshape", "2,3", "6"])
    (['model', '--lint', 'yolo.onnx'], None)
    """
    command = OTHER_WORDS.get(words[0]) if words else None
    if words[:1] == ["convert"] and not any(word.startswith("--as") for word in words):
        raise misuse("convert needs what to write", "add --as torch, onnx, tensorrt ...")
    return None if command is None else [*command.split(), *words[1:]]


def is_shape(text: str) -> bool:
    """Return whether a text is a shape and not a word.

    A shape starts like one, or it has a comma.

    >>> is_shape("2x3"), is_shape("N,-1"), is_shape("(4)"), is_shape("foo"), is_shape("x.view(2,3)")
    (True, True, True, False, False)
    """
    text = text.strip()
    if not (text[:1] in STARTS or text[:1].isdigit() or "," in text):
        return False
    try:
        read_target(text)
    except ShapeError:
        return False
    return True


def said(line: Iterable[str]) -> str:
    r"""Format the line that reports the command of an input.

    A long or multi-line word prints as `-`.

    >>> said(["code", "two\nlines"]), said(["reshape", "2,3", "6"])
    ('read as: shapecalc code -', 'read as: shapecalc reshape 2,3 6')
    >>> said(["size", "7" * 200]), len(said(["size", "7" * 199])) - len(said(["size", ""]))
    ('read as: shapecalc size -', 197)
    """
    words = [word if "\n" not in word and len(word) < LONGEST_SHOWN else "-" for word in line]
    rest = f" ... and {len(words) - MOST_SHOWN} more" if len(words) > MOST_SHOWN else ""
    return visible(f"read as: shapecalc {' '.join(map(_quoted, words[:MOST_SHOWN]))}{rest}")


def _quoted(word: str) -> str:
    """Return a word quoted for a shell, in double quotes if it has a single quote."""
    return f'"{word}"' if "'" in word and not {*word} & {*'"$`!\\'} else quote(word)


def likely_line(words: Sequence[str]) -> str:
    """Return a hint for words that no reader recognizes.

    It is for two shapes in a sentence, or a shape that a shell split; it is empty otherwise.

    >>> likely_line(["how", "to", "reshape", "2x3x4", "to", "6x4"])
    'write shapecalc 2x3x4 6x4'
    """
    if len(words) > 1 and is_shape(" ".join(words)):
        return f'in quotes it stays whole: shapecalc "{shape_text(read_target(" ".join(words)))}"'
    if len(words) in (3, 4) and all(map(is_shape, words)):
        if sorted(words[1].strip("()[]").split(",")) != [str(axis) for axis in range(words[1].count(",") + 1)]:
            return f"write shapecalc {visible(join(words[:2]))} --expect {visible(join(words[2:3]))}"
        return f"write shapecalc shuffle {visible(join(words))}"
    sentence = [word for text in words if len(text) < LONGEST_SHOWN for word in text.split()][:MOST_SHOWN]
    for first, preposition, second in zip(sentence, sentence[1:], sentence[2:], strict=False):
        if preposition in ("to", "into") and is_shape(first) and is_shape(second):
            return f"write shapecalc {visible(join([first, second]))}"
    return ""


ARRAYS = (".npy", ".npz", ".safetensors", ".zarr")
MOST_NAMES = 50_000
"""The maximum number of names in a folder."""
COMMANDS = {".onnx": "model", ".py": "code"}
"""The commands that read files, by suffix."""


def _file(held: Held) -> list[str] | None:
    """Read an existing file.

    It holds arrays, which may have a pattern, a model, code, cases or an error message.
    """
    name, *others = held.words
    if not name or all(map(is_shape, held.words)):
        return None
    arrays = [word for word in held.words if is_file(word) or _is_folder(word)]
    patterns = [word for word in held.words if word not in arrays]
    if len(arrays) > 1 or (arrays and (_is_folder(arrays[0]) or patterns[:1] == [name])):
        if len(patterns) > 1:
            return None
        paths = [array for word in arrays for array in (_arrays_in(Path(word)) if _is_folder(word) else [word])]
        return ["match", *(patterns or ["..."]), *paths, *[word for word in held.typed if word not in held.words]]
    if arrays:
        return None if others else ["shape", *held.typed]
    command = COMMANDS.get(Path(name).suffix)
    if len(name) > LONGEST_SHOWN or "\n" in name or not (Path(name).exists() or (command and " " not in name)):
        return None
    if command == "model" and (Path(name).is_file() or not Path(name).exists()):
        return [command, *held.typed]
    beginning, options = _beginning(Path(name)), [word for word in held.typed if word not in held.words]
    if layers := _layers(replace(held, words=(beginning, *others))):
        return [*layers, *options]
    if command == "code":
        return ["code", name, *options, *(["--input", " ".join(others)] if others else [])]
    return ["check" if _is_case(beginning) else "doctor", *held.typed]


def _is_folder(word: str) -> bool:
    return 0 < len(word) <= LONGEST_SHOWN and not is_file(word) and Path(word).is_dir()


def _arrays_in(folder: Path) -> list[str]:
    """Return the paths of all arrays below a folder.

    Raises `ShapeError` (usage) if there is none.
    """
    entries, folder_name = list(islice(folder.rglob("*"), MOST_NAMES + 1)), visible(brief(str(folder)))
    if len(entries) > MOST_NAMES:
        raise misuse(f"{folder_name} holds more than {MOST_NAMES} names", "name the arrays")
    arrays = {path for path in entries if path.suffix in ARRAYS}
    paths = sorted(f"./{path}" if str(path)[0] == "-" else str(path) for path in arrays if not arrays & {*path.parents})
    if not paths:
        hint = f"arrays end in {', '.join(ARRAYS)}; for cases: shapecalc check FOLDER"
        raise misuse(f"there is no array in {folder_name}", hint)
    return paths


def _beginning(path: Path) -> str:
    """Return the beginning of a text file.

    Returns an empty text if it cannot be opened, since the command reports the reason. Raises `ShapeError`: usage if it
    is not a text, file if it does not exist.
    """
    path_name = visible(brief(str(path)))
    if not path.exists():
        raise ShapeError(Problem(FILE, f"{path_name}: No such file or directory"))
    if not path.is_file():
        raise misuse(f"{path_name} is no regular file", f"write shapecalc < {path_name}")
    try:
        with path.open("rb") as file:
            text = file.read(MOST_READ).decode("utf-8", "replace")
    except OSError:
        return ""
    if "\0" in text:
        raise misuse(f"{path_name} is no text", f"texts are read, and {', '.join([*COMMANDS, *ARRAYS])}")
    return text


def _is_case(text: str) -> bool:
    """Return whether a text starts with a case of `shapecalc check`.

    Comments before it are skipped.
    """
    lines = (line.strip() for line in text.removeprefix("\ufeff")[:MOST_READ].splitlines())
    first = next((line for line in lines if line and line[0] != "#"), "")
    if "=>" not in first and first[:1] != "{" and first.partition(" ")[0] not in OPS:
        return False
    try:
        read_case(first, {})
    except ShapeError:
        return False
    return True


def _cases(held: Held) -> list[str] | None:
    """Read lines of cases.

    A single line without an expectation is read as the command itself.
    """
    text = held.text
    if "\n" not in text and "=>" not in text and len(held.words) == 1 and text.partition(" ")[0] in OPS and " " in text:
        return split(text)
    return ["check", "-"] if _is_case(text) else None


def _shapes(held: Held) -> list[str] | None:
    """Read two shapes as a reshape.

    Raises `ShapeError` (usage) if the shell took the `>` of an arrow as a redirection.
    """
    if len(held.words) == 2 and held.words[1] == "-" and is_shape(held.words[0]):
        hint = f"quote the arrow: shapecalc '{visible(brief(held.words[0]))} -> ...'"
        raise misuse("the shell has taken > and the word behind it for a file to write", hint)
    for pieces in (held.words, INTO.split(held.line), held.line.split(" ")):
        if len(pieces) == 2 and all(is_file(piece) or is_shape(piece) for piece in pieces):
            return ["reshape", *map(str.strip, pieces)]
    return None


def _operands(held: Held) -> list[str] | None:
    """Read two shapes with an infix operator between them."""
    match re.split(" ([@+*/-]) ", held.line):
        case [first, sign, second] if is_shape(first) and is_shape(second):
            return [SIGNS[sign], first.strip(), second.strip()]
    return None


def _one_shape(held: Held) -> list[str] | None:
    return ["size", held.text.strip()] if len(held.words) == 1 and is_shape(held.text) else None


PARTS = {
    "first": r"first[_ ]?transpose",
    "to": r"reshape(?:[_ ]?dim(?:ension)?s|(?=\s?[:=]))",
    "second": r"second[_ ]?transpose",
}
"""Patterns of the parts of a TensorRT Shuffle by option.

They match the names in C++, Python and logs.
"""
NUMBERS = r"(?:\W|[A-Za-z]\w{0,20}(?=[({.:])|\d(?=, ?\{)){0,20}?((?:-?\d{1,20} ?, ?){0,20}-?\d{1,20})(?!\d|, ?\{)"
"""The numbers of a part, after brackets and type names."""
PART = re.compile(
    r"(?:\b(\w{1,40})(?:\.|->)(?:set)?|\b(\w{1,40}) ?= ?[\w.>-]{0,40})?"
    rf"(?:{'|'.join(f'(?P<{part}>{name}{NUMBERS})' for part, name in PARTS.items())}"
    r"|(?P<made>add_?shuffle)|(?P<literal>zero_?is_?placeholder\W{1,5}(?:false|0)))",
    re.IGNORECASE,
)
"""A part of a Shuffle, or the call that adds one, with the variable of the layer."""
OTHERS = re.compile(r"set_?input|network(?:\.|->)add(?!_?shuffle)", re.IGNORECASE)
"""A computed shape, or a layer of another kind."""
PRINTED = re.compile(r"# \w+: (\S+) -> |(?<![\w,])(\d+(?:\s?[,x]\s?\d+)+)")
"""The input shape in a comment printed by `--as`, or another list of numbers."""


def _layers(held: Held) -> list[str] | None:
    """Read TensorRT's Shuffles by the names of their parts.

    Another shape is the input. Error messages are not read. Raises `ShapeError` (usage) for more than Shuffles of
    numbers.
    """
    layers = _shuffles(held.line)
    part_words = [word for word in held.words if re.search("|".join(PARTS.values()), word, re.IGNORECASE)]
    other_words = [word.rpartition("=")[2] for word in held.words if word not in part_words]
    printed = _printed(" ".join(part_words))
    shapes = [*filter(is_shape, other_words), *printed, *_printed(held.line)]
    if not layers or not shapes or _message(held):
        return None
    if OTHERS.search(held.line):
        raise misuse("this is more than Shuffles of numbers", "write chain 'INPUT | shuffle --first ... | ...'")
    if len(layers) > 1 and len(printed) > 1:
        raise misuse("these layers have inputs of their own", "give one of them at a time")
    shape = re.sub(r"\s", "", shapes[0])
    if len(layers) > 1:
        return ["chain", " | shuffle ".join([shape, *layers])]
    return ["shuffle", shape, *layers[0].split()]


def _printed(text: str) -> list[str]:
    """Return the shapes in a text that are not part of a Shuffle."""
    return [named or numbers for named, numbers in PRINTED.findall(PART.sub(" ", " ".join(text.split())))]


def _shuffles(text: str) -> list[str]:
    """Return the options of each Shuffle in a text.

    A new one starts at a call that adds a layer, or at a part that cannot follow the previous one.

    >>> _shuffles("second_transpose: (1, 0) first_transpose: [1,0] l.reshape_dims = Dims{2, {3, -1}}")
    ['--second 1,0', '--first 1,0', '--to 3,-1']
    """
    layers = list[tuple[str, dict[str, str]]]()
    for match in PART.finditer(text):
        part, owner = str(match.lastgroup), match[1] or match[2] or ""
        last = next((parts for name, parts in reversed(layers) if name == owner), None)
        later_parts = [*PARTS][[*PARTS, part].index(part) :]
        if last is None or part in ("made", *last) or (not owner and not last.keys().isdisjoint(later_parts)):
            last = {}
            layers.append((owner, last))
        if part != "made":
            numbers = re.sub(r"\s", "", match[match.lastindex + 1]) if part in PARTS else ""  # type: ignore[operator]
            last[part] = f"--{part} {numbers}" if numbers else "--no-zero-is-placeholder"
    return [" ".join(parts.values()) for _, parts in layers if parts]


def _message(held: Held) -> list[str] | None:
    """Read an error message of a runtime."""
    text = held.text
    is_known = "Traceback" in text or "Error" in text or (" " in text and held.is_message(text))
    return ["doctor", "-"] if is_known else None


def _chain(held: Held) -> list[str] | None:
    """Read ops separated by bars or arrows; as code if they are written as calls."""
    for stages in (_between_bars(held.text), ARROW.split(held.line)):
        first, *others = map(str.strip, stages)
        op_names = {re.split(r"[\s(]", stage)[0] for stage in others}
        if not others or not (is_shape(first) or is_file(first)) or not op_names <= {*OPS, *SPELLINGS, *MADE}:
            continue
        if any(re.fullmatch(r"\w+\(.*\)", stage, re.DOTALL) for stage in others):
            return ["code", ".".join(["x", *others]), "--input", f"x={first}"]
        return ["chain", " | ".join([first, *others])]
    return ["chain", held.text] if "|" in held.text and is_shape(held.text.partition("|")[0]) else None


def _between_bars(text: str) -> list[str]:
    """Split a text at bars; return it whole if a quote is open, as in a comment."""
    try:
        return split(text, "|")
    except ShapeError:
        return [text]


def _pattern(held: Held) -> list[str] | None:
    """Read a pattern and its shapes in any order; a pattern with a comma is einsum's."""
    patterns = [word for word in held.words if "->" in word and not re.match(r"[\w.]+\(\w", word)]
    others = [word for word in held.words if word not in patterns]
    shapes = [word for word in others if is_shape(word)]
    lengths = [word for word in others if re.fullmatch(r"\w+=\d+", word)]
    if len(patterns) != 1 or not shapes or len(shapes) + len(lengths) < len(others):
        return None
    if "," in patterns[0]:
        return ["einsum", patterns[0], *shapes]
    return ["rearrange", *shapes, patterns[0], *lengths]


TENSOR = re.compile(r"\s*([\[(][^\[\]()]*[\])])\s*(?=[.\[])")
"""A shape in the position of a tensor, before a method or an index."""


def _code(held: Held) -> list[str] | None:
    """Read Python code on a tensor: a call, an index, an assignment or a function."""
    code, *others = held.words
    while others and not (INPUT.fullmatch(others[0]) or is_shape(others[0])):
        code = f"{code} {others.pop(0)}"
    tensor = TENSOR.match(code)
    if tensor and is_shape(tensor[1]):
        code, others = f"x{code[tensor.end() :]}", [f"x={tensor[1].strip('()[]')}"]
    sums = ast.BinOp if others and "=" in others[0] else ast.MatMult
    statement, name = _last_statement(code, sums), re.match(r"(\w+\.)*[A-Z]\w*(?=\()", code.strip())
    if statement is None:
        return None
    makes_layer = isinstance(statement, ast.Call) and name and name.end() == statement.func.end_col_offset
    return ["code", f"{code.strip()}(x)" if makes_layer else code, *(["--input", " ".join(others)] if others else [])]


def _last_statement(text: str, sums: type[ast.AST]) -> ast.AST | None:
    """Return the last statement of Python code on a tensor, or None.

    An expression statement is returned as its expression.
    """
    try:
        parsed = ast.parse(dedent(text[:MOST_READ]).strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    kinds = (ast.Call, ast.Subscript, ast.Assign, ast.FunctionDef, sums)
    if is_shape(text) or not any(isinstance(node, kinds) for node in ast.walk(parsed)):
        return None
    last = parsed.body[-1]
    return last.value if isinstance(last, ast.Expr) else last


def _lines(held: Held) -> list[str] | None:
    """Read any other text of several lines as an error message."""
    return ["doctor", "-"] if "\n" in held.text.strip() else None


READINGS = (_shapes, _operands, _layers, _message, _cases, _chain, _pattern, _code, _lines, _one_shape)
"""The readers of inputs that are not files, in order.

Each returns None for an input that it does not recognize.
"""

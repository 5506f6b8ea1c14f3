"""Diagnose a text, and format the diagnosis as JSON or as lines.

Each parsed message gets advice. The failing request of a message is resolved under the rules of the dialect, and so is
every fix with a command. Only fixes that resolve are reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path, PurePath
from shlex import quote

from shapecalc.core.ops.rearrange import REARRANGE
from shapecalc.core.record import Record, replace
from shapecalc.core.text import escape_unprintable, join_with_and, truncate
from shapecalc.diagnosis.advice import advise_on_message
from shapecalc.diagnosis.fallback import TAIL_LENGTH, find_unknown_mismatch
from shapecalc.diagnosis.findings import is_rank_pair, operation_noun
from shapecalc.diagnosis.match import PrintedSizes, format_sizes, parse_sizes_at
from shapecalc.diagnosis.reading import DECLARED_INPUT, UNKNOWN_MESSAGE, ParsedMessage, parse_messages
from shapecalc.diagnosis.subjects import MODEL_FILE, Advice
from shapecalc.diagnosis.suggestions import INTEGER, numeric_sizes

LIST_START = re.compile(r"[\[({](?=\s?-?\d)")
MAX_LINE = 120
"""The maximum number of characters that are printed of a line of code."""
MAX_LISTS = 8
WHOLE_TEXT = "the whole log or traceback, from its first line"
JSON_FIELDS = (
    *("framework", "dialect", "op", "node", "input", "elements", "target", "target_elements", "perm", "axes"),
    *("operands", "cause", "quote"),
)
"""The JSON fields of a message; all fields are null for a text without a known message."""


LineLocator = Callable[[ParsedMessage], ParsedMessage]
"""A function that adds the failing line in source code to a message."""


class Diagnosis(Record):
    """The parsed messages of a text with advice, or the size lists in a text without a known message."""

    entries: tuple[tuple[ParsedMessage, Advice], ...]
    lists: tuple[PrintedSizes, ...]

    @property
    def has_shape_error(self) -> bool:
        """Whether a shape error was parsed."""
        return any(read.about in (None, DECLARED_INPUT) for read, _ in self.entries)

    def as_json(self) -> list[dict[str, object]]:
        """Return the list that the option `--json` prints."""
        if not self.entries:
            empty: dict[str, object] = dict.fromkeys(JSON_FIELDS)
            return [
                empty
                | {
                    "said": self._format_unknown_text(),
                    "explanations": [],
                    "fixes": [],
                    "ask": WHOLE_TEXT,
                    "command": None,
                }
            ]
        return [_entry_as_json(read, advised) for read, advised in self.entries]

    def format_lines(self, explain: bool = False) -> list[str]:
        """Format the diagnosis as lines of text, with unprintable characters escaped.

        With `explain`, the lines also contain each message and the command that reproduces it.
        """
        blocks = [_entry_lines(*entry, explain) for entry in self.entries] or [
            [f"{self._format_unknown_text()} (paste {WHOLE_TEXT})"]
        ]
        return [
            escape_unprintable(line) for number, block in enumerate(blocks) for line in ([""] if number else []) + block
        ]

    def find_source_path(self, folder: Path) -> str | None:
        """Return the path of the first failing line's file, relative to `folder`.

        The file is not opened, and need not exist.
        """
        for message, _ in self.entries:
            file = message.failing_line.file if message.failing_line else None
            path = PurePath(file) if file else None
            if path is not None and path.is_absolute() and path.is_relative_to(folder):
                return str(path.relative_to(folder))
            if path is not None and not path.is_absolute() and ".." not in path.parts and path.suffix == ".py":
                return str(path)
        return None

    def _format_unknown_text(self) -> str:
        lists = f"; the lists of sizes in it: {' '.join(f'[{format_sizes(each)}]' for each in self.lists)}"
        return f"message not recognised{lists if self.lists else ''}"


def diagnose(text: str, model_path: str | None = None, locate: LineLocator | None = None) -> Diagnosis:
    r"""Diagnose a log, a traceback or a message.

    `model_path` is the path of the model that failed, if known; commands then contain it. `locate` finds the failing
    line of a message in source code.

    >>> print("\n".join(diagnose("shape '[8, 3, 64]' is invalid for input of size 1600").format_lines()[:3]))
    torch reshape: count-mismatch
      what  1600 elements to 8,3,64: the element counts differ, and a reshape keeps the count
      why   elements of the input: 1600 = 2^6*5^2; of the target: 1536 = 2^9*3
    """
    path = quote(model_path) if model_path else MODEL_FILE
    messages = parse_messages(text)
    if locate is not None:
        messages = [locate(message) for message in messages]
    if all(message.about == UNKNOWN_MESSAGE for message in messages):
        found = find_unknown_mismatch(text)
        if found is not None:
            return Diagnosis((found,), ())
    entries = tuple((message, _insert_model_path(advise_on_message(message), path)) for message in messages)
    return Diagnosis(entries, () if entries else _find_size_lists(text[-TAIL_LENGTH:]))


def _insert_model_path(advice: Advice, model_path: str) -> Advice:
    """Replace `MODEL_FILE` in the fixes with the path of the model."""
    fixes = [
        (text.replace(MODEL_FILE, model_path), command and command.replace(MODEL_FILE, model_path))
        for text, command in advice.fixes
    ]
    return replace(advice, fixes=tuple(fixes))


def _find_size_lists(text: str) -> tuple[PrintedSizes, ...]:
    """Return the first distinct lists of numeric sizes in a text."""
    lists = (parse_sizes_at(text, start.start())[0] for start in LIST_START.finditer(text))
    numeric = (sizes for sizes in lists if sizes and numeric_sizes(sizes))
    return tuple(dict.fromkeys(islice(numeric, MAX_LISTS)))


def _entry_as_json(message: ParsedMessage, advice: Advice) -> dict[str, object]:
    fixes = [{"text": text, "command": command} for text, command in advice.fixes]
    parsed = {name: _to_lists(getattr(message, name)) for name in JSON_FIELDS}
    said = "; ".join((advice.summary, *advice.facts))
    explanations = [explanation.as_json() for explanation in advice.explanations]
    advised = {"said": said, "explanations": explanations, "fixes": fixes, "ask": advice.missing}
    return parsed | advised | {"command": advice.command}


def _to_lists(value: object) -> object:
    return [_to_lists(item) for item in value] if isinstance(value, tuple) else value


def _entry_lines(message: ParsedMessage, advice: Advice, explain: bool) -> list[str]:
    """Format one message and its advice as lines."""
    subject = " ".join(filter(None, (message.framework, message.op))) or "unknown"
    fix_command = next((command for _, command in advice.fixes if command), None)
    reasons = [f"{found.arithmetic}: {found.text}" for found in advice.explanations]
    shows_facts = explain or not reasons or message.op == REARRANGE.name
    steps = list[str]()
    for text, command in advice.fixes:
        steps += [text, *([command] if command and command == fix_command and command not in text else [])]
    alternative = advice.missing or ("" if advice.fixes else WHOLE_TEXT)
    if advice.command and not fix_command and message.cause == "stride-incompatible":
        steps.append(advice.command)
    rows = [
        *([("message", message.quote)] if explain else []),
        *_label_lines("what", [_describe_mismatch(message, advice), *_describe_location(message)]),
        *_label_lines("why", [*reasons, *(fact for fact in advice.facts if shows_facts)]),
        *_label_lines("do", steps),
        *_label_lines("else", [alternative] if alternative else []),
        *([("shows", advice.command)] if explain and advice.command else []),
    ]
    width = 7 if explain else 4
    return [f"{subject}: {message.cause}", *(f"  {name:{width}}  {text}" for name, text in rows)]


def _label_lines(name: str, lines: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each line with a label; the first line has the label `name`, the others an empty one."""
    yield from ((name if index == 0 else "", line) for index, line in enumerate(lines))


def _describe_location(message: ParsedMessage) -> Iterator[str]:
    """Describe the failing node and line of code."""
    if message.node:
        yield f"node {message.node}"
    line = message.failing_line
    if line is None and message.line is not None:
        yield f"in {truncate(message.line.text, MAX_LINE)}{_describe_arguments(message)}"
    elif line is not None:
        place = f"{line.file}:{line.number}: " if line.file else ""
        code = line.text.partition("  #")[0].partition(" # ")[0]
        yield f"in {place}{truncate(code, MAX_LINE)}{_describe_arguments(message)}"


def _describe_arguments(message: ParsedMessage) -> str:
    """Describe the values of the expressions in the arguments of the failing call.

    Returns an empty string if all arguments are literals.
    """
    texts, target = message.line.arguments if message.line else (), message.target or ()
    pairs = dict.fromkeys(zip(texts, target, strict=True)) if len(texts) == len(target) else {}
    values = [f"{text} is {size}" for text, size in pairs if not INTEGER.fullmatch(text)]
    return f", where {join_with_and(values)}" if values else ""


def _describe_mismatch(message: ParsedMessage, advice: Advice) -> str:
    """Describe the mismatch by op, shapes and cause."""
    shapes, noun = _describe_shapes(message), operation_noun(message.op)
    return ": ".join(filter(None, (noun, shapes, advice.summary.removeprefix(f"{noun}: "))))


def _describe_shapes(message: ParsedMessage) -> str:
    """Describe the mismatching shapes, sizes or counts.

    Returns an empty string if the message contains none.
    """
    shape = "" if message.input is None else format_sizes(message.input)
    if message.elements is not None:
        shape = f"{message.elements} elements"
    others = " and ".join(map(format_sizes, message.operands or ()))
    if message.target is not None:
        text = f"{shape or 'the input'} to {format_sizes(message.target)}"
    elif message.target_elements is not None:
        part = "a multiple of " if message.cause == "indivisible" else ""
        text = f"{shape or 'the input'} to {part}{message.target_elements} elements"
    elif message.perm is not None:
        text = f"{shape or 'the input'} in the order {format_sizes(message.perm)}"
    elif message.op == REARRANGE.name and message.pair is not None and message.cause != "rank-mismatch":
        actual, expected = message.pair
        divides = message.cause == "indivisible"
        text = (
            f"{shape}, where {actual} is divided by {expected}" if divides else f"{shape}, with {actual} for {expected}"
        )
    elif others and shape:
        text = f"{shape} with {others}"
    elif message.pair is not None and message.cause not in ("bad-axis", "bad-perm"):
        unit = " dims" if message.cause == "rank-mismatch" or is_rank_pair(message) else ""
        text = f"{message.pair[0]}{unit} with {message.pair[1]}{unit}"
    else:
        text = shape or others
    if message.axes is not None:
        text = f"{text}, axis {format_sizes(message.axes)}".removeprefix(", ")
    elif message.dim is not None:
        text = f"{text}, along dim {message.dim}".removeprefix(", ")
    return text

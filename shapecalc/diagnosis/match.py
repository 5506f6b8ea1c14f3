"""Templates of runtime messages, and the search for them in a text.

    cannot reshape array of size {elements} into shape {target}

A template is the text that all versions of a message share, with placeholders for the parts that vary. The templates
are in `sentences.txt`, in lower case. A line in brackets gives the framework versions that print the messages below it.
Each row has four columns:

- The framework: a key of `context.FRAMEWORKS`, or "-" if only the context identifies the framework.
- The op, or "-" if only the context identifies the op.
- The cause: a key of `causes.CAUSES`; "counts" or "asked" if the cause is computed from the numbers in the message,
  with the default "count-mismatch" or "unspecified"; "about SUBJECT" for a message that resembles a shape error but has
  another subject.
- The template. `PLACEHOLDER_KINDS` selects its parser by name. "{}" preserves a blank at the end of a
  template. The text before "^", or between two "^", is an additional template.

A long text is first searched for words that are typical of errors, because a substring search is fast. A template is
only searched for near these words, and only if all words of the template occur there. The excerpt around a match is
much longer than a message, because the op, the node and the code are in other lines. Decorations of terminals, CI
services, browsers and JSON are removed from the excerpt. The result is printable ASCII; other characters are escaped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from pkgutil import get_data  # `importlib.resources` would cost 12 ms
from typing import Any

from shapecalc.core.record import Record

PrintedSizes = tuple[int | str, ...]
"""The sizes of a printed shape: numbers, names, and `?` for an unknown size."""

PLACEHOLDER_KINDS: Mapping[str, str] = {
    **dict.fromkeys(("input", "target", "perm", "axes", "strides", "operand", "list", "aligned", "other"), "list"),
    "shapes": "lists",  # a list with the shape of each operand
    **dict.fromkeys(("elements", "target_elements", "axis", "rank", "last", "n", "dim", "groups", "features"), "count"),
    "known": "count",  # the product of the target dims other than -1
    "there": "count",  # the actual size
    "wanted": "count",  # the requested size
    "words": "words",
}
"""The kind of each placeholder, by name; the kind selects the parser."""
QUOTE_CHARACTERS = frozenset("'\"<>&`")
"""The characters that may be escaped or replaced in the input."""
MAX_PLACEHOLDER_LENGTH = 400
"""The maximum number of characters for a placeholder of kind `words`."""

CLOSING_BRACKETS = {"[": "]", "(": ")", "{": "}", "<": ">"}
MAX_LIST_LENGTH = 1000
"""The maximum number of characters in a list."""
MAX_DIGITS = 19
MAX_LIST_SIZES = 64
LIST_PREFIX = re.compile(r"\s?['\"]?[A-Za-z][\w.]{0,40}(?=[\[({])|\s?['\"]?(?=[\[({]|<[-\d])")
"""A regular expression for the text before a bracket, such as a space, a quote or a type name."""
LIST_SEPARATOR = re.compile(r"\s?(?:,|;|and\b|vs\.?)?\s?(?=[\[({<\w])")
"""A separator between the shapes of operands."""
BARE_LIST = re.compile(r"\s?-?\d{1,19}(?:(?:[x,.* ]| x |, )-?\d{1,19}){0,63}")
WRAPPED_SIZE = re.compile(r"(?:np|numpy)\.\w{1,12}\(\s?(-?\d{1,19})\s?\)|(?:tf\.)?Dimension\(\s?(-?\d{1,19}|None)\s?\)")
"""A size inside a constructor call, such as `np.int32(5)`."""
COUNT_PATTERN = re.compile(r"\s?(-?\d{1,19})(?![\d*])")
UNKNOWN_SIZES = {"?", "None", "none", "nan", "dyn", "unk"}


CONTEXT_BEFORE, CONTEXT_AFTER = 3000, 2000
"""The numbers of characters in an excerpt before and after the candidate position of a message."""


CONTROL_SEQUENCE = re.compile(r"(?:\x1b|\\u001b|\\x1b|\\033|\\e)\[[0-9;?]{0,24}[A-Za-z]|\x1b\][^\x07\x1b]{0,200}\x07?")

BROKEN_COLOUR_CODE = re.compile(r"\[(?:[0-9]{1,3};){0,4}[0-9]{0,3}m(?![\w.])")
"""A terminal colour code that has lost its escape character."""

HTML_TAG = re.compile(
    r"</?(?:br|pre|code|span|p|div|b|i|em|strong|td|tr|li|font|a|samp|tt|small)(?:\s[^<>]{0,200})?/?>", re.I
)

JSON_ESCAPE = re.compile(
    r"\\{1,4}(?:u([0-9a-fA-F]{4})|([\"'/])|([nrt])(?![\w-]{1,40}(?:\\|\.(?:py|h|hpp|cc|cpp|cu)\b)))"
)
"""A JSON escape, but not the start of a folder name in a Windows path."""

LINE_DECORATION = re.compile(
    r"""\s*(?:
      \[?\d{4}[-/]\d\d[-/]\d\d[T\s_]?[\d:.,]{0,24}Z?(?:[+-]\d\d:?\d\d)?\]?:?   # 2024-05-06T07:08:09.123Z
    | \[?\d\d/\d\d/\d{4}-[\d:]{8}\]?                                         # [05/06/2024-07:08:09]
    | \[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]?                                   # 07:08:09.123
    | [IWEF]\d{4}\s+[\d:.]{8,20}\s+\d{1,9}\s+[\w./-]{1,80}:\d{1,6}\]         # I0000 00:00:1.2  345 file.cc:67]
    | \[(?:rank|default)\d{1,5}\]:(?:\[rank\d{1,5}\]:)?                      # [rank3]:
    | E\ {2,}                                                                # pytest
    | [>|](?=\s)                                                             # quoted, or in a box
    | [\w.-]{1,40}\s+\|(?=\s)                                                # docker compose
    | \#\d{1,5}\s\d{1,6}\.\d{1,4}(?=\s)                                      # docker build
    | \((?:[\w.]{1,60}\s)?pid=\d{1,9}[^()]{0,60}\)                           # a worker's process
    | std(?:err|out)(?::|\s[FP](?=\s))
    | (?:-\s)?\[?(?:DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)\]?\s?[-|:]\s(?:[\w.]{1,60}\s[-|:]\s)?
    | \#\#\[\w{1,12}\]                                                       # a CI service's mark
    )\s?""",
    re.VERBOSE,
)

CARET_LINE = re.compile(r"\s*[~^][\s~^]*\Z")

BOX_CHARACTERS = str.maketrans(dict.fromkeys("\u2502\u2503\u2551\u256d\u256e\u2570\u256f\u2500\u2501\u2571", " "))

ASCII_QUOTES = str.maketrans({**dict.fromkeys("\u2018\u2019\u201b\u2032", "'"), **dict.fromkeys("\u201c\u201d", '"')})

ASCII_SPACES = str.maketrans(
    {**dict.fromkeys("\xa0\u2009\u202f\t", " "), **dict.fromkeys("\u200b\u200c\u200d\ufeff\r", "")}
)

TextSpan = tuple[int, int]

ERROR_WORDS = ("error", "exception", "fail", "cannot", "invalid")

RELATED_WORDS = ("must", "should", "not ", "expect", "mismatch", "dim", "shap")
"""Words that are typical of messages without any of the `ERROR_WORDS`.

A text is searched for these words only if no shape error is found near `ERROR_WORDS`.
"""

MAX_WORD_DISTANCE = 700
"""The number of characters that are searched before a keyword; twice as many are searched after it."""

SHORT_TEXT = 1 << 16
"""The maximum length, in characters, of a text that is searched as a whole."""

WINDOW_SIZE = 1 << 13
"""The maximum length, in characters, of merged windows around keywords."""

DIGITS_TO_ZEROS = str.maketrans("123456789", "000000000")

CHUNK_LENGTH = 1 << 20

CHUNK_OVERLAP = 1 << 13

MIN_WRAP_WIDTH = 40
"""The minimum width, in characters, at which lines are assumed to be wrapped."""

KEY_LENGTH = 160
"""The number of characters that are compared to detect repeated text."""


class MessageTemplate(Record):
    """A message template, with the framework, op and cause of the message."""

    __slots__ = ("__dict__",)

    text: str
    framework: str
    """The framework that prints the message; the context may override it."""
    op: str | None
    """The op of the failing request, or None if it must be identified from the context."""
    cause: str
    """The cause column of `sentences.txt`, as described in the module docstring."""
    source: str
    """The framework versions that print the message."""

    @property
    def about(self) -> str | None:
        """The subject of a message that is not a shape error, or None."""
        return self.cause.removeprefix("about ") if self.cause.startswith("about ") else None

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The lower-case text parts, alternating with the placeholder names."""
        return tuple(self.text.lower().replace("}", "{").split("{"))

    @cached_property
    def anchor(self) -> str:
        """The longest text part, which is searched first."""
        return max(self.parts[::2], key=len)

    @cached_property
    def words(self) -> frozenset[str]:
        """The complete words of the template that contain none of `QUOTE_CHARACTERS`."""
        words = (word for part in self.parts[::2] for word in part.split(" ")[1:-1])
        return frozenset(word for word in words if word and QUOTE_CHARACTERS.isdisjoint(word))


class CleanText(Record):
    """A text with its lower-case form.

    Both are ASCII, so that a position is valid in both.
    """

    text: str
    lower: str
    line_ends: tuple[int, ...] = ()
    """The end positions of the lines, if known."""


class TemplateMatch(Record):
    """An occurrence of a template in a text, with the values of the placeholders."""

    template: MessageTemplate
    start: int
    end: int
    values: Mapping[str, Any]


def parse_templates(rows: str) -> Iterator[MessageTemplate]:
    r"""Parse the rows of `sentences.txt`.

    Raises `ValueError` for an incomplete row.

    >>> [template.cause for template in parse_templates("[1.0]\ntorch | - | two-infer | only one dimension can be")]
    ['two-infer']
    """
    source = ""
    for row in rows.splitlines():
        if row.startswith("["):
            source = row.strip("[]")
        elif row and not row.startswith("#"):
            columns = [column.strip() for column in row.split(" | ", 3)]
            if len(columns) < 4:
                raise ValueError(f"this row of sentences.txt is incomplete: {row}")
            framework, op, cause, template = columns
            parts = template.replace("{}", "").split("^")
            for text in dict.fromkeys(("".join(parts), parts[-2].strip() if parts[1:] else parts[0])):
                yield MessageTemplate(text, framework.strip("-"), op.strip("-") or None, cause, source)


TEMPLATES = (*parse_templates((get_data("shapecalc.diagnosis", "sentences.txt") or b"").decode()),)


def find_matches(template: MessageTemplate, cleaned: CleanText) -> Iterator[TemplateMatch]:
    """Yield the occurrences of a template in a text.

    >>> template = MessageTemplate("invalid for size {elements}", "torch", "reshape", "counts", "")
    >>> [match.values for match in find_matches(template, CleanText("Invalid for size 24", "invalid for size 24"))]
    [{'elements': 24}]
    """
    by_end: dict[int, TemplateMatch] = {}
    start = cleaned.lower.find(template.parts[0]) if template.anchor in cleaned.lower else -1
    while start >= 0:
        match = _match_at(template, cleaned, start)
        if match:
            by_end[match.end] = match  # keep the shortest of the matches with equal ends
        start = cleaned.lower.find(template.parts[0], start + len(template.parts[0]))
    yield from by_end.values()


def _match_at(template: MessageTemplate, cleaned: CleanText, start: int) -> TemplateMatch | None:
    """Return the match of a template that begins at `start`, or None."""
    parts = template.parts
    end = start + len(parts[0])
    values: dict[str, Any] = {}
    for hole, part in zip(parts[1::2], parts[2::2], strict=True):
        if PLACEHOLDER_KINDS[hole] in PLACEHOLDER_PARSERS:
            value, after = PLACEHOLDER_PARSERS[PLACEHOLDER_KINDS[hole]](cleaned.text, end)
        else:
            after = cleaned.lower.find(part, end, end + MAX_PLACEHOLDER_LENGTH)
            value = None if after < 0 else cleaned.text[end:after].strip()
        if value is None or not cleaned.lower.startswith(part, after):
            return None
        values[hole] = value
        end = after + len(part)
    return TemplateMatch(template, start, end, values)


def parse_count(text: str, position: int) -> tuple[int | None, int]:
    """Parse the number at a position.

    Returns the number, or None, and its end.

    >>> parse_count("size 24 into", 5)
    (24, 7)
    """
    count = COUNT_PATTERN.match(text, position)
    return (int(count[1]), count.end()) if count else (None, position)


def parse_sizes_at(text: str, position: int) -> tuple[PrintedSizes | None, int]:
    """Parse the list of sizes at a position.

    Returns the sizes, or None, and the end. The forms are `[2, 3]`, `(2,3,)`, `{1 2 1 1}`, `torch.Size([2, 3])`,
    `f32[2,?]`, `(5,newaxis)`, `2x3` and `[np.int32(5), 2L]`.

    >>> parse_sizes_at("shape (5,newaxis)", 5), parse_sizes_at("{1 2 1 1}", 0), parse_sizes_at("2.3.4)", 0)
    (((5, -1), 17), ((1, 2, 1, 1), 9), ((2, 3, 4), 5))
    """
    prefix = LIST_PREFIX.match(text, position)
    if prefix is None:
        bare = BARE_LIST.match(text, position)
        return (_parse_sizes(bare[0].strip()), bare.end()) if bare else (None, position)
    start = prefix.end()
    span = text[start : start + MAX_LIST_LENGTH]
    if any(call in span for call in ("np.", "numpy.", "Dimension(")):
        # `ljust` preserves the positions of later characters
        span = WRAPPED_SIZE.sub(lambda call: (call[1] or call[2]).ljust(len(call[0])), span)
    end = find_closing_bracket(span)
    if end is None:
        return None, position
    body = span[1:end].strip()
    while body[:1] in CLOSING_BRACKETS and body[1:] and CLOSING_BRACKETS[body[0]] == body[-1]:
        body = body[1:-1].strip()
    behind = len(text[start : start + MAX_LIST_LENGTH]) - len(span)
    return _parse_sizes(body), start + end + 1 + behind


def parse_lists(text: str, position: int) -> tuple[tuple[PrintedSizes, ...] | None, int]:
    """Parse two or more lists of sizes at a position.

    The lists may be in one outer bracket. Returns the lists and their end. If there are fewer than two lists, returns
    None and the start position.

    >>> parse_lists("[(2, 3), (2,)] no", 0), parse_lists("(672,294,3) (3,3) ", 0)[0]
    ((((2, 3), (2,)), 14), ((672, 294, 3), (3, 3)))
    """
    bracketed = text[position : position + 2] in ("[(", "[[", "((")
    lists, end, position = list[PrintedSizes](), position, position + bracketed
    while len(lists) < MAX_LIST_SIZES:
        sizes, after = parse_sizes_at(text, position)
        if sizes is None:
            break
        lists.append(sizes)
        separator = LIST_SEPARATOR.match(text, after)
        end, position = after, separator.end() if separator else after
    end += bracketed and text[end : end + 1] in ("]", ")")  # the text may be truncated before the closing bracket
    return (tuple(lists), end) if len(lists) > 1 else (None, end)


PLACEHOLDER_PARSERS: Mapping[str, Callable[[str, int], tuple[Any, int]]] = {
    "list": parse_sizes_at,
    "lists": parse_lists,
    "count": parse_count,
}


def find_closing_bracket(span: str) -> int | None:
    """Return the position at which the first bracket of a string closes, or None."""
    stack: list[str] = []
    for position, char in enumerate(span):
        if char in CLOSING_BRACKETS:
            stack.append(CLOSING_BRACKETS[char])
        elif stack and char == stack[-1]:
            stack.pop()
            if not stack:
                return position
    return None


def format_sizes(sizes: Iterable[object]) -> str:
    """Return sizes in the syntax of the command line.

    >>> format_sizes((8, "?", -1)), format_sizes(())
    ('8,?,-1', '[]')
    """
    return ",".join(map(str, sizes)) or "[]"


def _parse_sizes(body: str) -> PrintedSizes | None:
    """Parse the items of a list of sizes, or return None if an item is not a size."""
    words = _split_list(body)
    if len(words) > MAX_LIST_SIZES:
        return None
    sizes = [_parse_size(word.strip()) for word in words]
    return None if None in sizes else tuple(size for size in sizes if size is not None)


def _split_list(body: str) -> list[str]:
    """Split a list at commas, `x`, dots or spaces."""
    if "," in body:
        words = body.split(",")
        return words[:-1] if not words[-1].strip() else words
    if "x" in body and all(word.strip().removeprefix("-").isdigit() for word in body.split("x")):
        return body.split("x")
    if "." in body and ".." not in body:
        return body.split(".")
    return body.split()


def _parse_size(word: str) -> int | str | None:
    """Parse one size, or return None if the text is not a size."""
    number = word.removesuffix("L")
    if number.removeprefix("-").isdigit() and len(number) <= MAX_DIGITS + 1:
        return int(number)
    if word == "newaxis":
        return -1
    if word in UNKNOWN_SIZES or ".." in word or word.startswith("unk_"):
        return "?"
    return word if word.isidentifier() and len(word) <= 40 else None


def clean_lines(text: str) -> list[str]:
    r"""Return the lines of a text without decorations and lines of carets.

    >>> clean_lines("2024-05-06T07:08:09Z E   ValueError: shape &#39;[2]&#39;\n     ^^^^")
    ["ValueError: shape '[2]'"]
    """
    text = _unescape(text)
    text = text.translate(BOX_CHARACTERS).translate(ASCII_QUOTES).translate(ASCII_SPACES)
    if not text.isascii():
        text = text.encode("ascii", "backslashreplace").decode()
    return [_strip_decorations(line) for line in text.split("\n") if not CARET_LINE.match(line)]


def _unescape(text: str) -> str:
    """Decode HTML and JSON escapes, and drop terminal escapes."""
    if "&" in text:
        from html import unescape  # deferred: it costs 2 ms, and few texts contain escapes

        text = unescape(unescape(text))
    if "<" in text:
        text = HTML_TAG.sub(lambda tag: "\n" if tag[0][1:3].lower() == "br" else "", text)
    if "\\" in text:
        text = CONTROL_SEQUENCE.sub("", text)
        text = JSON_ESCAPE.sub(_decode_escape, text)
    if "\x1b" in text:
        text = CONTROL_SEQUENCE.sub("", text)
    return BROKEN_COLOUR_CODE.sub("", text)


def _decode_escape(escape: re.Match[str]) -> str:
    code, mark, letter = escape.groups()
    return chr(int(code, 16)) if code else mark or {"n": "\n", "r": "\n", "t": " "}[letter]


def _strip_decorations(line: str) -> str:
    """Remove decorations and control characters from a line."""
    for _ in range(4):  # a line has at most four nested decorations
        prefix = LINE_DECORATION.match(line)
        if prefix is None:
            break
        line = line[prefix.end() :]
    return line if line.isprintable() else "".join(char if char.isprintable() else " " for char in line)


def find_excerpts(
    text: str, templates: Sequence[MessageTemplate], keywords: Sequence[str]
) -> Iterator[tuple[str, list[MessageTemplate]]]:
    r"""Yield the excerpts that may contain a message, each with candidate templates.

    >>> from shapecalc.diagnosis.match import MessageTemplate
    >>> template = MessageTemplate("is invalid for input of size {elements}", "torch", "reshape", "counts", "")
    >>> [part for part, _ in find_excerpts("It is\ninvalid for input of size 24.", [template], ERROR_WORDS)]
    ['It is\ninvalid for input of size 24.']
    """
    for piece in _split_chunks(text):
        lower = piece.lower()
        if len(lower) != len(piece):  # a letter with a longer lower-case form would shift positions
            lower = piece.encode("ascii", "replace").decode().lower()
        for begin, end in [(0, len(lower))] if len(text) <= SHORT_TEXT else _find_windows(lower, keywords):
            words = {*lower[begin:end].split()}
            candidates = [sentence for sentence in templates if sentence.words <= words]
            positions = sorted({at for sentence in candidates for at in _find_candidates(lower, begin, end, sentence)})
            spans = ((_excerpt_start(lower, at), _excerpt_end(lower, at + CONTEXT_AFTER)) for at in positions)
            for start, stop in _merge_spans(spans, SHORT_TEXT):
                yield piece[start:stop], candidates


def _split_chunks(text: str) -> Iterator[str]:
    """Yield overlapping chunks of a text that end at line ends."""
    start = 0
    while len(text) - start > CHUNK_LENGTH:
        end = _excerpt_end(text, start + CHUNK_LENGTH - CHUNK_OVERLAP)
        yield text[start:end]
        start = _excerpt_start(text, end - CHUNK_OVERLAP + CONTEXT_BEFORE)
    yield text[start:]


def _find_windows(lower: str, keywords: Sequence[str]) -> Iterator[TextSpan]:
    """Yield merged spans around keywords.

    Among lines that differ only in their digits, only the first few yield a span.
    """
    zeros = lower.translate(DIGITS_TO_ZEROS)
    variants: dict[str, set[str]] = {}
    for begin in range(0, len(lower), SHORT_TEXT):
        positions = list[int]()
        for mark in keywords:
            end = begin + SHORT_TEXT + len(mark) - 1
            at = lower.find(mark, begin, end)
            while at >= 0:
                seen = variants.setdefault(zeros[at : at + KEY_LENGTH], set())
                variant = lower[at : at + KEY_LENGTH]
                if len(seen) < 24 and variant not in seen:
                    seen.add(variant)
                    positions.append(at)
                at = lower.find(mark, at + MAX_WORD_DISTANCE, end)
        yield from _merge_spans(
            ((max(0, at - MAX_WORD_DISTANCE), at + 2 * MAX_WORD_DISTANCE) for at in sorted(positions)), WINDOW_SIZE
        )


def _merge_spans(spans: Iterator[TextSpan], max_length: int) -> list[TextSpan]:
    """Merge spans that touch, unless the result exceeds `max_length`."""
    result: list[TextSpan] = []
    for begin, end in spans:
        if result and begin <= result[-1][1] and end - result[-1][0] <= max_length:
            result[-1] = result[-1][0], max(end, result[-1][1])
        else:
            result.append((begin, end))
    return result


def _excerpt_start(lower: str, position: int) -> int:
    """Return the start of an excerpt around a position.

    This is the start of a line or, if no line starts nearby, `CONTEXT_BEFORE` characters before the position.
    """
    start = max(0, position - CONTEXT_BEFORE)
    line_start = lower.rfind("\n", max(0, start - CONTEXT_BEFORE), start) + 1
    return line_start if line_start else start


def _excerpt_end(lower: str, position: int) -> int:
    """Return the end of the line at a position.

    If the line is too long, returns the end of a word before the position, so that no number is truncated.
    """
    if position >= len(lower):
        return len(lower)
    end = lower.find("\n", position, position + CONTEXT_AFTER)
    return end if end >= 0 else max(lower.rfind(" ", position - CONTEXT_AFTER, position), position - CONTEXT_AFTER)


def _find_candidates(lower: str, start: int, end: int, template: MessageTemplate) -> list[int]:
    """Return the candidate positions of a template in a window.

    These are the positions of the template's longest text part. If line breaks split that part, they are the positions
    of its longest word.
    """
    positions: dict[str, int] = {}
    for anchor in (template.anchor, max(template.words or {template.anchor}, key=len)):
        at = lower.find(anchor, start, end)
        while at >= 0 and len(positions) < 12:
            positions.setdefault(lower[at : at + KEY_LENGTH], at)
            at = lower.find(anchor, at + len(anchor), end)
        if positions:
            break
    return [*positions.values()]


def clean_text(excerpt: str, join_lines: Callable[[list[str]], str] = "\n".join) -> CleanText:
    """Remove decorations from an excerpt, and put its lines on one line.

    `join_lines` is called first with the cleaned lines, and can rejoin words that a terminal has wrapped.
    """
    lines = [" ".join(line.split()) for line in join_lines(clean_lines(excerpt)).split("\n")]
    kept = [line for line in lines if line]
    text = " ".join(kept)
    return CleanText(text, text.lower(), tuple(accumulate(len(line) + 1 for line in kept)))


def unwrap_lines(lines: list[str]) -> str:
    """Join lines, with a newline after each line that is shorter than the longest.

    A line of maximum width was probably wrapped by a terminal.
    """
    width = max(max(map(len, lines), default=0), MIN_WRAP_WIDTH)
    return "".join(line if len(line) == width else f"{line}\n" for line in lines)

"""Templates of runtime messages, and the search for them in a text.

    cannot reshape array of size {elements} into shape {target}

A template is the text that all versions of a message share, with holes for the rest. Templates are the rows of
`sentences.txt`, in lower case. The framework is a row of `context.FRAMEWORKS`; "-" means that only the context
identifies it, or the op. The cause is a row of `reading.CAUSES`; for "counts" and "asked", the numbers decide; "about"
and a subject mark messages about something else that resemble shape errors. The name of a hole says what it contains,
and `HOLE_KINDS` how it is parsed. "{}" keeps a blank at an end. The text before "^", or between two of them, is also a
template of its own. A line in brackets gives the versions that print the rows below it.

A long text is first searched for typical words of errors, because a substring search is fast. Near these, a template is
tried if all its words occur. An excerpt much longer than a message is cut out, because the op, the node and the code
are in other lines. Decorations of terminals, CI services, browsers and JSON are removed; the result is printable ASCII,
with everything else escaped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from html import unescape
from importlib.resources import files
from itertools import accumulate
from typing import Any

from shapecalc.core.record import Record

Sizes = tuple[int | str, ...]
"""Sizes as printed: numbers, names, and `?` for an unknown size."""

HOLES: Mapping[str, str] = {
    **dict.fromkeys(("input", "target", "perm", "axes", "strides", "operand", "list"), "list"),
    "shapes": "lists",  # the shapes of all operands
    **dict.fromkeys(("elements", "target_elements", "axis", "rank", "last", "n", "groups", "features"), "count"),
    "known": "count",  # the product of the known dims of the target
    "there": "count",  # the actual size
    "wanted": "count",  # the requested size
    "words": "words",
}
"""The kind of each hole, which selects its parser."""
QUOTING = frozenset("'\"<>&`")
"""The characters that may be escaped in a text."""
LONGEST_GAP = 400
"""The most characters in a hole of words."""

CLOSING = {"[": "]", "(": ")", "{": "}", "<": ">"}
LONGEST_LIST = 1000
"""The most characters of a list."""
MOST_DIGITS = 19
MOST_DIMS = 64
PREFIX = re.compile(r"\s?['\"]?[A-Za-z][\w.]{0,40}(?=[\[({])|\s?['\"]?(?=[\[({]|<[-\d])")
"""The text before a bracket: a blank, a quote, a type name."""
BETWEEN = re.compile(r"\s?(?:,|;|and\b|vs\.?)?\s?(?=[\[({<\w])")
"""The separator of operand shapes."""
BARE = re.compile(r"\s?-?\d{1,19}(?:(?:[x,.*]| x |, )-?\d{1,19}){0,63}")
WRAPPED = re.compile(r"(?:np|numpy)\.\w{1,12}\(\s?(-?\d{1,19})\s?\)|(?:tf\.)?Dimension\(\s?(-?\d{1,19}|None)\s?\)")
"""A size inside a call of its own."""
COUNT = re.compile(r"\s?(-?\d{1,19})(?![\d*])")
UNKNOWN = {"?", "None", "none", "nan", "dyn", "unk"}


BEFORE, AFTER = 3000, 2000
"""The lengths of an excerpt before and after the position of a possible message."""


CONTROL_SEQUENCE = re.compile(r"(?:\x1b|\\u001b|\\x1b|\\033|\\e)\[[0-9;?]{0,24}[A-Za-z]|\x1b\][^\x07\x1b]{0,200}\x07?")

COLOUR_LEFT_OVER = re.compile(r"\[(?:[0-9]{1,3};){0,4}[0-9]{0,3}m(?![\w.])")
"""A colour code whose escape character was lost."""

TAG = re.compile(
    r"</?(?:br|pre|code|span|p|div|b|i|em|strong|td|tr|li|font|a|samp|tt|small)(?:\s[^<>]{0,200})?/?>", re.I
)

ESCAPE = re.compile(r"\\{1,4}(?:u([0-9a-fA-F]{4})|([\"'/])|([nrt])(?![\w-]{1,40}(?:\\|\.(?:py|h|hpp|cc|cpp|cu)\b)))")
"""A JSON escape, but not the start of a folder name in a Windows path."""

DECORATION = re.compile(
    r"""\s*(?:
      \[?\d{4}[-/]\d\d[-/]\d\d[T\s_]?[\d:.,]{0,24}Z?(?:[+-]\d\d:?\d\d)?\]?:?   # 2024-05-06T07:08:09.123Z
    | \[?\d\d/\d\d/\d{4}-[\d:]{8}\]?                                         # [05/06/2024-07:08:09]
    | \[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]?                                   # 07:08:09.123
    | [IWEF]\d{4}\s+[\d:.]{8,20}\s+\d{1,9}\s+[\w./-]{1,80}:\d{1,6}\]         # I0000 00:00:1.2  345 file.cc:67]
    | \[(?:rank|default)\d{1,5}\]:(?:\[rank\d{1,5}\]:)?                      # [rank3]:
    | E\ {2,}                                                                # pytest
    | [>|\u2502\u2503\u2551](?=\s)                                           # quoted, or in a box
    | [\w.-]{1,40}\s+\|(?=\s)                                                # docker compose
    | \#\d{1,5}\s\d{1,6}\.\d{1,4}(?=\s)                                      # docker build
    | \((?:[\w.]{1,60}\s)?pid=\d{1,9}[^()]{0,60}\)                           # a worker's process
    | std(?:err|out)(?::|\s[FP](?=\s))
    | (?:-\s)?\[?(?:DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)\]?\s?[-|:]\s(?:[\w.]{1,60}\s[-|:]\s)?
    | \#\#\[\w{1,12}\]                                                       # a CI service's mark
    )\s?""",
    re.VERBOSE,
)

CARETS = re.compile(r"\s*[~^][\s~^]*\Z")

BOX = str.maketrans(dict.fromkeys("\u2502\u2503\u2551\u256d\u256e\u2570\u256f\u2500\u2501\u2571", " "))

QUOTES = str.maketrans({**dict.fromkeys("\u2018\u2019\u201b\u2032", "'"), **dict.fromkeys("\u201c\u201d", '"')})

SPACES = str.maketrans({**dict.fromkeys("\xa0\u2009\u202f\t", " "), **dict.fromkeys("\u200b\u200c\u200d\ufeff\r", "")})

Span = tuple[int, int]

LIKELY = ("error", "exception", "fail", "cannot", "invalid")

UNLIKELY = ("must", "should", "not ", "expect", "mismatch", "dim", "shap")
"""Words near messages of runtimes.

The second tuple is searched for only if the first finds nothing.
"""

NEAR = 700
"""The maximum distance between such a word and a message."""

SHORT = 1 << 16
"""The length up to which a text is searched whole."""

GROUP = 1 << 13
"""The size of the windows around such words that are searched at once."""

DIGITS = str.maketrans("123456789", "000000000")

PIECE = 1 << 20

OVERLAP = 1 << 13

NARROWEST = 40
"""The minimum width of lines that were wrapped."""

TOLD_APART = 160
"""The number of following characters that distinguish two positions."""


class Sentence(Record):
    """The template of a message, and its meaning."""

    __slots__ = ("__dict__",)

    template: str
    framework: str
    """The framework that prints it; the context may override it."""
    op: str | None
    """The op; None if only the context identifies it."""
    cause: str
    """The cause; `counts` or `asked` if numbers decide, `about ...` if not a shape."""
    source: str
    """The versions that print it."""

    @property
    def about(self) -> str | None:
        """The subject of a message that is not about a shape."""
        return self.cause.removeprefix("about ") if self.cause.startswith("about ") else None

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """Text and hole names alternately, text first, in lower case."""
        return tuple(self.template.lower().replace("}", "{").split("{"))

    @cached_property
    def anchor(self) -> str:
        """The longest text part."""
        return max(self.parts[::2], key=len)

    @cached_property
    def words(self) -> frozenset[str]:
        """The whole words of the template that contain no character that may be escaped."""
        words = (word for part in self.parts[::2] for word in part.split(" ")[1:-1])
        return frozenset(word for word in words if word and QUOTING.isdisjoint(word))


class Folded(Record):
    """A text with its lower-case form; both are ASCII, so positions agree."""

    text: str
    lower: str
    ends: tuple[int, ...] = ()
    """The end positions of its lines, if known."""


class Match(Record):
    """An occurrence of a template in a text, with the values of its holes."""

    sentence: Sentence
    start: int
    end: int
    values: Mapping[str, Any]


def sentences_of(rows: str) -> Iterator[Sentence]:
    r"""Parse a table of templates; raise `ValueError` for an incomplete row.

    >>> [each.cause for each in sentences_of("[1.0]\ntorch | - | two-infer | only one dimension can be")]
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
                yield Sentence(text, framework.strip("-"), op.strip("-") or None, cause, source)


SENTENCES = (*sentences_of(files("shapecalc.doctor").joinpath("sentences.txt").read_text("utf-8")),)


def matches(sentence: Sentence, folded: Folded) -> Iterator[Match]:
    """Yield the occurrences of a template in a text.

    >>> said = Sentence("invalid for size {elements}", "torch", "reshape", "counts", "")
    >>> [match.values for match in matches(said, Folded("Invalid for size 24", "invalid for size 24"))]
    [{'elements': 24}]
    """
    by_end: dict[int, Match] = {}
    start = folded.lower.find(sentence.parts[0]) if sentence.anchor in folded.lower else -1
    while start >= 0:
        match = _match_at(sentence, folded, start)
        if match:
            by_end[match.end] = match  # the last start before an end is the nearest
        start = folded.lower.find(sentence.parts[0], start + len(sentence.parts[0]))
    yield from by_end.values()


def _match_at(sentence: Sentence, folded: Folded, start: int) -> Match | None:
    """Return the match at a position; None if a part or a hole's value is missing."""
    parts = sentence.parts
    end = start + len(parts[0])
    values: dict[str, Any] = {}
    for hole, part in zip(parts[1::2], parts[2::2], strict=True):
        if HOLES[hole] in READERS:
            value, after = READERS[HOLES[hole]](folded.text, end)
        else:
            after = folded.lower.find(part, end, end + LONGEST_GAP)
            value = None if after < 0 else folded.text[end:after].strip()
        if value is None or not folded.lower.startswith(part, after):
            return None
        values[hole] = value
        end = after + len(part)
    return Match(sentence, start, end, values)


def read_count(text: str, place: int) -> tuple[int | None, int]:
    """Parse the number at a position; return it with its end, or None.

    >>> read_count("size 24 into", 5)
    (24, 7)
    """
    count = COUNT.match(text, place)
    return (int(count[1]), count.end()) if count else (None, place)


def read_list(text: str, place: int) -> tuple[Sizes | None, int]:
    """Parse the list of sizes at a position; return it with its end, or None.

    The forms are `[2, 3]`, `(2,3,)`, `{1 2 1 1}`, `torch.Size([2, 3])`, `f32[2,?]`, `(5,newaxis)`, `2x3` and
    `[np.int32(5), 2L]`.

    >>> read_list("shape (5,newaxis)", 5), read_list("{1 2 1 1}", 0), read_list("2.3.4)", 0)
    (((5, -1), 17), ((1, 2, 1, 1), 9), ((2, 3, 4), 5))
    """
    prefix = PREFIX.match(text, place)
    if prefix is None:
        bare = BARE.match(text, place)
        return (_sizes(bare[0].strip()), bare.end()) if bare else (None, place)
    start = prefix.end()
    span = text[start : start + LONGEST_LIST]
    if any(call in span for call in ("np.", "numpy.", "Dimension(")):
        span = WRAPPED.sub(lambda call: (call[1] or call[2]).ljust(len(call[0])), span)  # padded to keep positions
    end = closing(span)
    if end is None:
        return None, place
    body = span[1:end].strip()
    while body[:1] in CLOSING and body[1:] and CLOSING[body[0]] == body[-1]:
        body = body[1:-1].strip()
    behind = len(text[start : start + LONGEST_LIST]) - len(span)
    return _sizes(body), start + end + 1 + behind


def read_lists(text: str, place: int) -> tuple[tuple[Sizes, ...] | None, int]:
    """Parse two or more lists at a position, perhaps inside one bracket.

    Return them with their end; None if there are fewer.

    >>> read_lists("[(2, 3), (2,)] no", 0), read_lists("(672,294,3) (3,3) ", 0)[0]
    ((((2, 3), (2,)), 14), ((672, 294, 3), (3, 3)))
    """
    bracketed = text[place : place + 2] in ("[(", "[[", "((")
    lists, end, place = list[Sizes](), place, place + bracketed
    while len(lists) < MOST_DIMS:
        sizes, after = read_list(text, place)
        if sizes is None:
            break
        lists.append(sizes)
        separator = BETWEEN.match(text, after)
        end, place = after, separator.end() if separator else after
    end += bracketed and text[end : end + 1] in ("]", ")")  # the text may be truncated before it
    return (tuple(lists), end) if len(lists) > 1 else (None, end)


READERS: Mapping[str, Callable[[str, int], tuple[Any, int]]] = {
    "list": read_list,
    "lists": read_lists,
    "count": read_count,
}


def closing(span: str) -> int | None:
    """Return the position where the first bracket of a text closes, or None."""
    stack: list[str] = []
    for position, char in enumerate(span):
        if char in CLOSING:
            stack.append(CLOSING[char])
        elif stack and char == stack[-1]:
            stack.pop()
            if not stack:
                return position
    return None


def text_of(sizes: Iterable[object]) -> str:
    """Return sizes in the syntax of the command line.

    >>> text_of((8, "?", -1)), text_of(())
    ('8,?,-1', '[]')
    """
    return ",".join(map(str, sizes)) or "[]"


def _sizes(body: str) -> Sizes | None:
    """Parse the items of a list; None if one is not a size."""
    words = _words(body)
    if len(words) > MOST_DIMS:
        return None
    sizes = [_size(word.strip()) for word in words]
    return None if None in sizes else tuple(size for size in sizes if size is not None)


def _words(body: str) -> list[str]:
    """Split a list at commas, or without them at blanks, `x` or dots."""
    if "," in body:
        words = body.split(",")
        return words[:-1] if not words[-1].strip() else words
    if "x" in body and all(word.strip().isdigit() for word in body.split("x")):
        return body.split("x")
    if "." in body and ".." not in body:
        return body.split(".")
    return body.split()


def _size(word: str) -> int | str | None:
    """Parse one size; None if it is not one."""
    number = word.removesuffix("L")
    if number.removeprefix("-").isdigit() and len(number) <= MOST_DIGITS + 1:
        return int(number)
    if word == "newaxis":
        return -1
    if word in UNKNOWN or ".." in word or word.startswith("unk_"):
        return "?"
    return word if word.isidentifier() and len(word) <= 40 else None


def clean_lines(text: str) -> list[str]:
    r"""Return the lines of a text without decorations, and without lines of carets.

    >>> clean_lines("2024-05-06T07:08:09Z E   ValueError: shape &#39;[2]&#39;\n     ^^^^")
    ["ValueError: shape '[2]'"]
    """
    text = _unescaped(text)
    text = text.translate(BOX).translate(QUOTES).translate(SPACES)
    if not text.isascii():
        text = text.encode("ascii", "backslashreplace").decode()
    return [_bare(line) for line in text.split("\n") if not CARETS.match(line)]


def _unescaped(text: str) -> str:
    """Decode the escapes of HTML and JSON, and drop those of terminals."""
    for _ in range(2 if "&" in text else 0):
        text = unescape(text)
    if "<" in text:
        text = TAG.sub(lambda tag: "\n" if tag[0][1:3].lower() == "br" else "", text)
    if "\\" in text:
        text = CONTROL_SEQUENCE.sub("", text)
        text = ESCAPE.sub(_escape, text)
    if "\x1b" in text:
        text = CONTROL_SEQUENCE.sub("", text)
    return COLOUR_LEFT_OVER.sub("", text)


def _escape(found: re.Match[str]) -> str:
    code, mark, letter = found.groups()
    return chr(int(code, 16)) if code else mark or {"n": "\n", "r": "\n", "t": " "}[letter]


def _bare(line: str) -> str:
    """Return a line without its decorations and control characters."""
    for _ in range(4):  # at most four decorations per line
        prefix = DECORATION.match(line)
        if prefix is None:
            break
        line = line[prefix.end() :]
    return line if line.isprintable() else "".join(char if char.isprintable() else " " for char in line)


def excerpts(text: str, sentences: Sequence[Sentence], marks: Sequence[str]) -> Iterator[tuple[str, list[Sentence]]]:
    r"""Yield the excerpts that may contain a message, with candidate templates.

    >>> from shapecalc.doctor.match import Sentence
    >>> said = Sentence("is invalid for input of size {elements}", "torch", "reshape", "counts", "")
    >>> [part for part, _ in excerpts("It is\ninvalid for input of size 24.", [said], LIKELY)]
    ['It is\ninvalid for input of size 24.']
    """
    for piece in _pieces(text):
        lower = piece.lower()
        if len(lower) != len(piece):  # a letter with a longer lower-case form would shift positions
            lower = piece.encode("ascii", "replace").decode().lower()
        for begin, end in [(0, len(lower))] if len(text) <= SHORT else _near_marks(lower, marks):
            words = {*lower[begin:end].split()}
            candidates = [sentence for sentence in sentences if sentence.words <= words]
            positions = sorted({at for sentence in candidates for at in _places(lower, begin, end, sentence)})
            spans = ((_line_start(lower, at), _line_end(lower, at + AFTER)) for at in positions)
            for start, stop in _joined(spans, SHORT):
                yield piece[start:stop], candidates


def _pieces(text: str) -> Iterator[str]:
    """Yield overlapping chunks of a text that end at line ends."""
    start = 0
    while len(text) - start > PIECE:
        end = _line_end(text, start + PIECE - OVERLAP)
        yield text[start:end]
        start = _line_start(text, end - OVERLAP + BEFORE)
    yield text[start:]


def _near_marks(lower: str, marks: Sequence[str]) -> Iterator[Span]:
    """Yield the spans around words that mark an error.

    Of words whose following text differs only in its numbers, only the first few count.
    """
    zeros = lower.translate(DIGITS)
    variants: dict[str, set[str]] = {}
    for begin in range(0, len(lower), SHORT):
        positions = list[int]()
        for mark in marks:
            end = begin + SHORT + len(mark) - 1
            at = lower.find(mark, begin, end)
            while at >= 0:
                seen = variants.setdefault(zeros[at : at + TOLD_APART], set())
                variant = lower[at : at + TOLD_APART]
                if len(seen) < 24 and variant not in seen:
                    seen.add(variant)
                    positions.append(at)
                at = lower.find(mark, at + NEAR, end)
        yield from _joined(((max(0, at - NEAR), at + 2 * NEAR) for at in sorted(positions)), GROUP)


def _joined(spans: Iterator[Span], longest: int) -> list[Span]:
    """Merge spans that touch, unless the result exceeds `max_length`."""
    result: list[Span] = []
    for begin, end in spans:
        if result and begin <= result[-1][1] and end - result[-1][0] <= longest:
            result[-1] = result[-1][0], max(end, result[-1][1])
        else:
            result.append((begin, end))
    return result


def _line_start(lower: str, place: int) -> int:
    """Return the start of the excerpt around a position.

    It is a line start, if one is near.
    """
    start = max(0, place - BEFORE)
    line_start = lower.rfind("\n", max(0, start - BEFORE), start) + 1
    return line_start if line_start else start


def _line_end(lower: str, place: int) -> int:
    """Return the end of the line at a position.

    If the line is too long, it is the end of an earlier word, so no number is cut.
    """
    if place >= len(lower):
        return len(lower)
    end = lower.find("\n", place, place + AFTER)
    return end if end >= 0 else max(lower.rfind(" ", place - AFTER, place), place - AFTER)


def _places(lower: str, begin: int, end: int, sentence: Sentence) -> list[int]:
    """Return the candidate positions of a template: its longest part or word.

    The word counts where a line break splits the part.
    """
    positions: dict[str, int] = {}
    for anchor in (sentence.anchor, max(sentence.words or {sentence.anchor}, key=len)):
        at = lower.find(anchor, begin, end)
        while at >= 0 and len(positions) < 12:  # at most 12 distinct excerpts per template and window
            positions.setdefault(lower[at : at + TOLD_APART], at)
            at = lower.find(anchor, at + len(anchor), end)
        if positions:
            break
    return [*positions.values()]


def folded(part: str, joined: Callable[[list[str]], str] = "\n".join) -> Folded:
    """Return a part of a text, cleaned and in one line; `join_lines` joins its lines."""
    lines = [" ".join(line.split()) for line in joined(clean_lines(part)).split("\n")]
    kept = [line for line in lines if line]
    text = " ".join(kept)
    return Folded(text, text.lower(), tuple(accumulate(len(line) + 1 for line in kept)))


def unwrapped(lines: list[str]) -> str:
    """Join wrapped lines: a line of full width continues in the next."""
    width = max(max(map(len, lines), default=0), NARROWEST)
    return "".join(line if len(line) == width else f"{line}\n" for line in lines)

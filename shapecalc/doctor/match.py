"""Sentences of runtimes: what never changed between their versions, with holes for what did; and where a text has them.

    cannot reshape array of size {elements} into shape {target}

They are the rows of `sentences.txt`, in small letters. "-" stands there where only the text around the words tells
who, or of which op. The framework is a row of `context.FRAMEWORKS`, which knows its dialect. A cause is a row of
`reading.CAUSES`; "counts" and "asked" let the numbers decide; "about" and what it is about stand for words about
something else, which is taken for an error of a shape. What changes from message to message is a hole: its name says
what it holds, and `HOLES` how it is read. "{}" keeps a blank at an end. What stands before "^", or between two, is
known without the rest, too. A line in brackets says which versions say the rows below it.

The rest of a log need not be read. A long text is first searched for the words of errors, since the search for a word
takes no time. Around these a sentence is thought of where all its words stand. The text around its place is cut out,
much wider than a sentence, since the op, the node and the code stand in other lines. What terminals, CI services,
browsers and JSON put around lines is taken off; the result is printable ASCII, and what else there was is escaped.
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
"""Sizes as they were printed: numbers, names, and `?` for what the runtime did not know."""

HOLES: Mapping[str, str] = {
    **dict.fromkeys(("input", "target", "perm", "axes", "strides", "operand", "list"), "list"),
    "shapes": "lists",  # of all operands
    **dict.fromkeys(("elements", "target_elements", "axis", "rank", "last", "n", "groups", "features"), "count"),
    "known": "count",  # the product of the known dims of the target
    "there": "count",  # what the tensor has, beside
    "wanted": "count",  # what is asked for
    "words": "words",
}
"""How each hole is read."""
QUOTING = frozenset("'\"<>&`")
"""What may be escaped in a text."""
LONGEST_GAP = 400
"""How many characters may stand in a hole of words, or between the first and the last word of a sentence's parts."""

CLOSING = {"[": "]", "(": ")", "{": "}", "<": ">"}
LONGEST_LIST = 1000
"""How many characters a list may take."""
MOST_DIGITS = 19
MOST_DIMS = 64
PREFIX = re.compile(r"\s?['\"]?[A-Za-z][\w.]{0,40}(?=[\[({])|\s?['\"]?(?=[\[({]|<[-\d])")
"""What stands before the bracket: a blank, a quote, a type's name."""
BETWEEN = re.compile(r"\s?(?:,|;|and\b|vs\.?)?\s?(?=[\[({<\w])")
"""What stands between the shapes of operands."""
BARE = re.compile(r"\s?-?\d{1,19}(?:(?:[x,.*]| x |, )-?\d{1,19}){0,63}")
WRAPPED = re.compile(r"(?:np|numpy)\.\w{1,12}\(\s?(-?\d{1,19})\s?\)|(?:tf\.)?Dimension\(\s?(-?\d{1,19}|None)\s?\)")
"""A size in a call of its own."""
COUNT = re.compile(r"\s?(-?\d{1,19})(?![\d*])")
UNKNOWN = {"?", "None", "none", "nan", "dyn", "unk"}


class Sentence(Record):
    """One sentence, and what it means."""

    __slots__ = ("__dict__",)

    template: str
    framework: str
    """The framework that says it; a context may say otherwise."""
    op: str | None
    """The op that it is about; None if only the context tells."""
    cause: str
    """The cause; `counts` and `asked` if the numbers decide it; `about` and what it is about, if that is no shape."""
    source: str
    """Which versions say so."""

    @property
    def about(self) -> str | None:
        """What it is about that is not a shape."""
        return self.cause.removeprefix("about ") if self.cause.startswith("about ") else None

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The text and the names of holes in turn, the text first; all in lower case."""
        return tuple(self.template.lower().replace("}", "{").split("{"))

    @cached_property
    def anchor(self) -> str:
        """Its longest part of text."""
        return max(self.parts[::2], key=len)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words that stand between blanks in a text that holds the sentence, however its quotes are written."""
        words = (word for part in self.parts[::2] for word in part.split(" ")[1:-1])
        return frozenset(word for word in words if word and QUOTING.isdisjoint(word))


class Folded(Record):
    """A text, and the same in lower case; both are ASCII, so that places agree."""

    text: str
    lower: str
    ends: tuple[int, ...] = ()
    """Where its lines ended, if that is known."""


class Match(Record):
    """Where a sentence stands in a text, and what its holes hold."""

    sentence: Sentence
    start: int
    end: int
    values: Mapping[str, Any]


def sentences_of(rows: str) -> Iterator[Sentence]:
    r"""Yield the sentences of a table; raise `ValueError` for a row that is incomplete.

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
    """Yield every place where a text holds a sentence.

    >>> said = Sentence("invalid for size {elements}", "torch", "reshape", "counts", "")
    >>> [match.values for match in matches(said, Folded("Invalid for size 24", "invalid for size 24"))]
    [{'elements': 24}]
    """
    found: dict[int, Match] = {}
    place = folded.lower.find(sentence.parts[0]) if sentence.anchor in folded.lower else -1
    while place >= 0:
        match = _match_at(sentence, folded, place)
        if match:
            found[match.end] = match  # of several beginnings the nearest
        place = folded.lower.find(sentence.parts[0], place + len(sentence.parts[0]))
    yield from found.values()


def _match_at(sentence: Sentence, folded: Folded, start: int) -> Match | None:
    """Return the match that starts at a place; None if a part or what a hole should hold is missing."""
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
    """Return the number at a place and where it ends; None if none stands there.

    >>> read_count("size 24 into", 5)
    (24, 7)
    """
    found = COUNT.match(text, place)
    return (int(found[1]), found.end()) if found else (None, place)


def read_list(text: str, place: int) -> tuple[Sizes | None, int]:
    """Return the list of sizes at a place, as a runtime prints it, and where it ends; None if none stands there.

    `[2, 3]`, `(2,3,)`, `{1 2 1 1}`, `torch.Size([2, 3])`, `f32[2,?]`, `(5,newaxis)`, `2x3`, `[np.int32(5), 2L]`.

    >>> read_list("shape (5,newaxis)", 5), read_list("{1 2 1 1}", 0), read_list("2.3.4)", 0)
    (((5, -1), 17), ((1, 2, 1, 1), 9), ((2, 3, 4), 5))
    """
    prefix = PREFIX.match(text, place)
    if prefix is None:
        bare = BARE.match(text, place)
        return (_sizes(bare[0].strip()), bare.end()) if bare else (None, place)
    start = prefix.end()
    span = text[start : start + LONGEST_LIST]
    # one of these stands in a text that holds such a call
    if any(call in span for call in ("np.", "numpy.", "Dimension(")):
        span = WRAPPED.sub(lambda call: (call[1] or call[2]).ljust(len(call[0])), span)  # what follows keeps its place
    end = closing(span)
    if end is None:
        return None, place
    body = span[1:end].strip()
    while body[:1] in CLOSING and body[1:] and CLOSING[body[0]] == body[-1]:
        body = body[1:-1].strip()
    behind = len(text[start : start + LONGEST_LIST]) - len(span)
    return _sizes(body), start + end + 1 + behind


def read_lists(text: str, place: int) -> tuple[tuple[Sizes, ...] | None, int]:
    """Return the two lists or more at a place, perhaps in one bracket, and where they end; None if there are fewer.

    >>> read_lists("[(2, 3), (2,)] no", 0), read_lists("(672,294,3) (3,3) ", 0)[0]
    ((((2, 3), (2,)), 14), ((672, 294, 3), (3, 3)))
    """
    bracketed = text[place : place + 2] in ("[(", "[[", "((")
    found, end, place = list[Sizes](), place, place + bracketed
    while len(found) < MOST_DIMS:
        sizes, after = read_list(text, place)
        if sizes is None:
            break
        found.append(sizes)
        between = BETWEEN.match(text, after)
        end, place = after, between.end() if between else after
    end += bracketed and text[end : end + 1] in ("]", ")")  # the text may be cut before it
    return (tuple(found), end) if len(found) > 1 else (None, end)


READERS: Mapping[str, Callable[[str, int], tuple[Any, int]]] = {
    "list": read_list,
    "lists": read_lists,
    "count": read_count,
}


def closing(span: str) -> int | None:
    """Return where the bracket that a text begins with closes; None if it does not."""
    waiting: list[str] = []
    for place, char in enumerate(span):
        if char in CLOSING:
            waiting.append(CLOSING[char])
        elif waiting and char == waiting[-1]:
            waiting.pop()
            if not waiting:
                return place
    return None


def text_of(sizes: Iterable[object]) -> str:
    """Return sizes as they are written on a command line.

    >>> text_of((8, "?", -1)), text_of(())
    ('8,?,-1', '[]')
    """
    return ",".join(map(str, sizes)) or "[]"


def _sizes(body: str) -> Sizes | None:
    """Return the sizes that a list holds; None if one is no size."""
    words = _words(body)
    if len(words) > MOST_DIMS:
        return None
    sizes = [_size(word.strip()) for word in words]
    return None if None in sizes else tuple(size for size in sizes if size is not None)


def _words(body: str) -> list[str]:
    """Return the words of a list: between commas, or without these between blanks, `x` or points."""
    if "," in body:
        words = body.split(",")
        return words[:-1] if not words[-1].strip() else words
    if "x" in body and all(word.strip().isdigit() for word in body.split("x")):
        return body.split("x")
    if "." in body and ".." not in body:
        return body.split(".")
    return body.split()


def _size(word: str) -> int | str | None:
    """Return one size; None if the word is none."""
    number = word.removesuffix("L")
    if number.removeprefix("-").isdigit() and len(number) <= MOST_DIGITS + 1:
        return int(number)
    if word == "newaxis":
        return -1
    if word in UNKNOWN or ".." in word or word.startswith("unk_"):
        return "?"
    return word if word.isidentifier() and len(word) <= 40 else None


# The parts of a text in which sentences may stand


CONTROL_SEQUENCE = re.compile(r"(?:\x1b|\\u001b|\\x1b|\\033|\\e)\[[0-9;?]{0,24}[A-Za-z]|\x1b\][^\x07\x1b]{0,200}\x07?")
COLOUR_LEFT_OVER = re.compile(r"\[(?:[0-9]{1,3};){0,4}[0-9]{0,3}m(?![\w.])")
"""A colour whose escape character was lost on the way."""
TAG = re.compile(
    r"</?(?:br|pre|code|span|p|div|b|i|em|strong|td|tr|li|font|a|samp|tt|small)(?:\s[^<>]{0,200})?/?>", re.I
)
ESCAPE = re.compile(r"\\{1,4}(?:u([0-9a-fA-F]{4})|([\"'/])|([nrt])(?![\w-]{1,40}(?:\\|\.(?:py|h|hpp|cc|cpp|cu)\b)))")
"""An escape of JSON; what starts the next folder of a Windows path is none."""
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


def clean_lines(text: str) -> list[str]:
    r"""Return the lines of a text without what was put around them, and without lines of carets.

    >>> clean_lines("2024-05-06T07:08:09Z E   ValueError: shape &#39;[2]&#39;\n     ^^^^")
    ["ValueError: shape '[2]'"]
    """
    text = _unescaped(text)
    text = text.translate(BOX).translate(QUOTES).translate(SPACES)
    if not text.isascii():
        text = text.encode("ascii", "backslashreplace").decode()
    return [_bare(line) for line in text.split("\n") if not CARETS.match(line)]


def _unescaped(text: str) -> str:
    """Return a text with the escapes of HTML and JSON read and those of terminals dropped."""
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
    """Return a line without its decorations and without control characters."""
    # how many decorations of one line are taken off
    for _ in range(4):
        prefix = DECORATION.match(line)
        if prefix is None:
            break
        line = line[prefix.end() :]
    return line if line.isprintable() else "".join(char if char.isprintable() else " " for char in line)


Span = tuple[int, int]

LIKELY = ("error", "exception", "fail", "cannot", "invalid")
UNLIKELY = ("must", "should", "not ", "expect", "mismatch", "dim", "shap")
"""Words that stand in or near what runtimes say; those of the second list are looked for if the first tell nothing."""
NEAR = 700
"""How far from such a word a sentence may stand."""
SHORT = 1 << 16
"""A text so long is read whole."""
GROUP = 1 << 13
"""How many characters near the words of errors are searched for sentences at once."""
DIGITS = str.maketrans("123456789", "000000000")
PIECE = 1 << 20
OVERLAP = 1 << 13
BEFORE, AFTER = 3000, 2000
"""How much text goes with a place where a sentence may stand."""
NARROWEST = 40
"""How wide lines are at least that were broken at a width."""
TOLD_APART = 160
"""Places are the same if so many characters after them are."""


def excerpts(text: str, sentences: Sequence[Sentence], marks: Sequence[str]) -> Iterator[tuple[str, list[Sentence]]]:
    r"""Yield the parts of a text that may hold one of the sentences, each with those that may stand in it.

    >>> from shapecalc.doctor.match import Sentence
    >>> said = Sentence("is invalid for input of size {elements}", "torch", "reshape", "counts", "")
    >>> [part for part, _ in excerpts("It is\ninvalid for input of size 24.", [said], LIKELY)]
    ['It is\ninvalid for input of size 24.']
    """
    for piece in _pieces(text):
        lower = piece.lower()
        if len(lower) != len(piece):  # a letter whose small form is longer would move all places
            lower = piece.encode("ascii", "replace").decode().lower()
        for begin, end in [(0, len(lower))] if len(text) <= SHORT else _near_marks(lower, marks):
            words = {*lower[begin:end].split()}
            known = [sentence for sentence in sentences if sentence.words <= words]
            places = sorted({place for sentence in known for place in _places(lower, begin, end, sentence)})
            for start, stop in _joined(
                ((_line_start(lower, place), _line_end(lower, place + AFTER)) for place in places), SHORT
            ):
                yield piece[start:stop], known


def _pieces(text: str) -> Iterator[str]:
    """Yield a text in pieces that overlap and end with lines."""
    start = 0
    while len(text) - start > PIECE:
        end = _line_end(text, start + PIECE - OVERLAP)
        yield text[start:end]
        start = _line_start(text, end - OVERLAP + BEFORE)
    yield text[start:]


def _near_marks(lower: str, marks: Sequence[str]) -> Iterator[Span]:
    """Yield the parts of a text around the words that mark an error; of those alike but for numbers only some."""
    zeros = lower.translate(DIGITS)
    alike: dict[str, set[str]] = {}
    for begin in range(0, len(lower), SHORT):
        places = list[int]()
        for mark in marks:
            end = begin + SHORT + len(mark) - 1
            place = lower.find(mark, begin, end)
            while place >= 0:
                those = alike.setdefault(zeros[place : place + TOLD_APART], set())
                told = lower[place : place + TOLD_APART]
                if len(those) < 24 and told not in those:
                    those.add(told)
                    places.append(place)
                place = lower.find(mark, place + NEAR, end)
        yield from _joined(((max(0, place - NEAR), place + 2 * NEAR) for place in sorted(places)), GROUP)


def _joined(spans: Iterator[Span], longest: int) -> list[Span]:
    """Return parts of a text in order, those that touch as one, unless that would be longer than is read at once."""
    joined: list[Span] = []
    for begin, end in spans:
        if joined and begin <= joined[-1][1] and end - joined[-1][0] <= longest:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((begin, end))
    return joined


def _line_start(lower: str, place: int) -> int:
    """Return where the text that goes with a place begins: with a line, if lines are not too long."""
    wanted = max(0, place - BEFORE)
    begin = lower.rfind("\n", max(0, wanted - BEFORE), wanted) + 1
    return begin if begin else wanted


def _line_end(lower: str, place: int) -> int:
    """Return where the line of a place ends, or if it is too long a word before: a number is never cut."""
    if place >= len(lower):
        return len(lower)
    end = lower.find("\n", place, place + AFTER)
    return end if end >= 0 else max(lower.rfind(" ", place - AFTER, place), place - AFTER)


def _places(lower: str, begin: int, end: int, sentence: Sentence) -> list[int]:
    """Return where a sentence may stand: its longest part, or its longest word where lines were broken in it."""
    found: dict[str, int] = {}
    for anchor in (sentence.anchor, max(sentence.words or {sentence.anchor}, key=len)):
        place = lower.find(anchor, begin, end)
        # of how many different places of one sentence in one part the text is cut out
        while place >= 0 and len(found) < 12:
            found.setdefault(lower[place : place + TOLD_APART], place)
            place = lower.find(anchor, place + len(anchor), end)
        if found:
            break
    return [*found.values()]


def folded(part: str, joined: Callable[[list[str]], str] = "\n".join) -> Folded:
    """Return a part of a text, clean and in one line; `joined` puts its lines together."""
    lines = [" ".join(line.split()) for line in joined(clean_lines(part)).split("\n")]
    kept = [line for line in lines if line]
    text = " ".join(kept)
    return Folded(text, text.lower(), tuple(accumulate(len(line) + 1 for line in kept)))


def unwrapped(lines: list[str]) -> str:
    """Join lines that were broken at a width: those that fill it to the next, the others with a line end."""
    width = max(max(map(len, lines), default=0), NARROWEST)
    return "".join(line if len(line) == width else f"{line}\n" for line in lines)

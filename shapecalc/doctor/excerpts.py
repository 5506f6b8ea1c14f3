r"""Texts as runtimes wrote them: the parts of a long one in which known sentences stand, cleaned.

The rest of a log need not be read. A long text is first searched for the words of errors, since the search for a word
takes no time. Around these a sentence is thought of where all its words stand. The text around its place is cut out,
much wider than a sentence, since the op, the node and the code stand in other lines. What terminals, CI services,
browsers and JSON put around lines is taken off; the result is printable ASCII, and what else there was is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from shapecalc.doctor.match import Folded, Sentence

CONTROL_SEQUENCE = re.compile(r"(?:\x1b|\\u001b|\\x1b|\\033|\\e)\[[0-9;?]{0,24}[A-Za-z]|\x1b\][^\x07\x1b]{0,200}\x07?")
COLOUR_LEFT_OVER = re.compile(r"\[(?:[0-9]{1,3};){0,4}[0-9]{0,3}m(?![\w.])")
"""A colour whose escape character was lost on the way."""
TAG = re.compile(
    r"</?(?:br|pre|code|span|p|div|b|i|em|strong|td|tr|li|font|a|samp|tt|small)(?:\s[^<>]{0,200})?/?>", re.I
)
ENTITY = re.compile(r"&(#\d{1,6}|#x[0-9a-fA-F]{1,6}|lt|gt|amp|quot|apos|nbsp);")
NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'", "nbsp": " "}
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
        text = ENTITY.sub(_entity, text)
    if "<" in text:
        text = TAG.sub(lambda tag: "\n" if tag[0][1:3].lower() == "br" else "", text)
    if "\\" in text:
        text = CONTROL_SEQUENCE.sub("", text)
        text = ESCAPE.sub(_escape, text)
    if "\x1b" in text:
        text = CONTROL_SEQUENCE.sub("", text)
    return COLOUR_LEFT_OVER.sub("", text)


def _entity(found: re.Match[str]) -> str:
    name = found[1]
    if name in NAMED:
        return NAMED[name]
    number = int(name[2:], 16) if name[1] == "x" else int(name[1:])
    return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else " "


def _escape(found: re.Match[str]) -> str:
    code, mark, letter = found.groups()
    if code:
        number = int(code, 16)
        return chr(number) if not 0xD800 <= number < 0xE000 else " "
    return mark or {"n": "\n", "r": "\n", "t": " "}[letter]


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
GROUP = 1 << 12
"""How many characters near the words of errors are searched for sentences first, before what was found is read."""
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
        near = [(0, len(lower))] if len(text) <= SHORT else _near_marks(lower, marks)
        for spans in _groups(near):
            words = set[str]().union(*(lower[begin:end].split() for begin, end in spans))
            known = [sentence for sentence in sentences if sentence.words <= words]
            places = sorted({place for sentence in known for place in _places(lower, spans, sentence)})
            for begin, end in _joined(
                ((_line_start(lower, place), _line_end(lower, place + AFTER)) for place in places), SHORT
            ):
                yield piece[begin:end], known


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
    kinds = _kinds_of_lines(lower)
    present = [mark for mark in marks if mark in kinds]
    zeros = lower.translate(DIGITS) if present else ""
    alike: dict[str, set[str]] = {}
    for begin in range(0, len(lower) if present else 0, SHORT):
        places = list[int]()
        for mark in present:
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


def _groups(spans: Iterable[Span]) -> Iterator[list[Span]]:
    """Yield parts of a text in groups, each about twice as long as the last: who has read enough stops early."""
    group: list[Span] = []
    wanted = GROUP
    for span in spans:
        group.append(span)
        if sum(end - begin for begin, end in group) >= wanted:
            yield group
            group, wanted = [], min(2 * wanted, SHORT)
    if group:
        yield group


@lru_cache(maxsize=1)
def _kinds_of_lines(lower: str) -> str:
    """Return one line for all that are alike but for numbers, if the text repeats itself; otherwise the text.

    It is kept for the second search, for words that say less of an error.
    """
    first = lower[:SHORT].translate(DIGITS).split("\n")
    if 2 * len({*first}) > len(first):
        return lower
    return "\n".join(dict.fromkeys(lower.translate(DIGITS).split("\n")))


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


def _places(lower: str, spans: Sequence[Span], sentence: Sentence) -> list[int]:
    """Return where a sentence may stand: its longest part, or its longest word where lines were broken in it."""
    found: dict[str, int] = {}
    for anchor in (sentence.anchor, max(sentence.words or {sentence.anchor}, key=len)):
        for begin, end in spans:
            place = lower.find(anchor, begin, end)
            # of how many different places of one sentence in one piece the text is cut out
            while place >= 0 and len(found) < 12:
                found.setdefault(lower[place : place + TOLD_APART], place)
                place = lower.find(anchor, place + len(anchor), end)
        if found:
            break
    return [*found.values()]


def folded(part: str, joined: Callable[[list[str]], str] = " ".join) -> Folded:
    """Return a part of a text, clean and in one line; `joined` puts its lines together."""
    text = " ".join(joined(clean_lines(part)).split())
    return Folded(text, text.lower())


def unwrapped(lines: list[str]) -> str:
    """Join lines that were broken at a width: those that fill it to the next, the others with a line end."""
    width = max(max(map(len, lines), default=0), NARROWEST)
    return "".join(line if len(line) == width else f"{line}\n" for line in lines)

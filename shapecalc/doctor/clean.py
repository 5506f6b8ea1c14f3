r"""Texts as runtimes wrote them: without what terminals, CI services, browsers and JSON put around them.

Lines keep their order. The result is printable ASCII and line ends: what else there was is escaped.
"""

from __future__ import annotations

import re

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
PREFIX = re.compile(
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
MOST_PREFIXES = 4
"""How many decorations of one line are taken off."""
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
        text = TAG.sub(_tag, text)
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


def _tag(found: re.Match[str]) -> str:
    return "\n" if found[0][1:3].lower() == "br" else ""


def _escape(found: re.Match[str]) -> str:
    code, mark, letter = found.groups()
    if code:
        number = int(code, 16)
        return chr(number) if not 0xD800 <= number < 0xE000 else " "
    return mark or {"n": "\n", "r": "\n", "t": " "}[letter]


def _bare(line: str) -> str:
    """Return a line without its decorations and without control characters."""
    for _ in range(MOST_PREFIXES):
        prefix = PREFIX.match(line)
        if prefix is None:
            break
        line = line[prefix.end() :]
    return line if line.isprintable() else "".join(char if char.isprintable() else " " for char in line)

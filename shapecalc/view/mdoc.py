"""Manual pages as plain text, for terminals without `man`.

It renders the macros of mdoc(7) that the pages in man/ use.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from textwrap import TextWrapper

PLAIN, OPEN, CLOSE, JOIN = "plain", "open", "close", "join"
"""The kinds of pieces of a line.

Blanks separate pieces, except after an opening piece, before a closing piece, and around a join.
"""
ENCLOSING = {"Op": ("[", "]"), "Pq": ("(", ")"), "Sq": ("'", "'"), "Ql": ("'", "'")}
FONTS = frozenset({"Ar", "Cm", "Em", "Ev", "Ic", "Li", "Pa", "Sx", "Sy"})
"""The macros that change only the font of a word."""
CLOSING = frozenset(".,:;)]?!")
ESCAPES = {r"\&": "", r"\-": "-", r"\(aq": "'", r"\(dq": '"', r"\e": "\\"}
BODY, SUBSECTION, OFFSET = 5, 3, 6
"""The indents of the text, of a subsection heading, and of a display in the text."""
KEPT_BLANK = "\0"


def page_text(source: str, width: int = 78) -> str:
    r"""Return an mdoc page as text. Literal lines are not wrapped at `width`.

    >>> print(page_text(".Sh NAME\n.Nm calc\n.Nd shapes\n.Bl -tag -width Ds\n.It Fl -out Ar file\nWrite.\n.El"))
    NAME
         calc - shapes
    <BLANKLINE>
         --out file
                 Write.
    """
    page = _Page(width)
    for line in source.splitlines():
        page.read(line)
    page.end_paragraph()
    return "\n".join(page.lines).strip("\n")


def unescaped(text: str) -> str:
    r"""Return a text without roff escapes.

    >>> print(unescaped(r"\-1 isn\(aqt"))
    -1 isn't
    """
    return re.sub(r"\\(?:&|-|e|\(..)", lambda match: ESCAPES.get(match[0], match[0]), text)


def phrase(words: list[str], name: str = "") -> str:
    """Return the text of a line of macros on the page `name`.

    >>> phrase("Op Fl d | Fl -dialect Ar name".split()), phrase("Nm Ns Pq 1 ,".split(), "calc")
    ('[-d | --dialect name]', 'calc(1),')
    """
    text, joins_next = "", True
    for piece, kind in _pieces(words, name):
        text += piece if joins_next or kind in (CLOSE, JOIN) else f" {piece}"
        joins_next = kind in (OPEN, JOIN)
    return text


def _pieces(words: list[str], name: str) -> Iterator[tuple[str, str]]:
    """Yield the pieces of a line of macros, each with its kind."""
    for index, word in enumerate(words):
        rest = words[index + 1 :]
        if word in ENCLOSING:
            yield from _enclosed(word, rest, name)
            return
        if word == "Fl":
            yield "-", OPEN
        elif word in ("Oo", "Oc"):
            yield ("[", OPEN) if word == "Oo" else ("]", CLOSE)
        elif word == "Ns":
            yield "", JOIN
        elif word == "Nm" and (not rest or rest[0] in ("Ns", *CLOSING)):
            yield name, PLAIN
        elif word == "Ar" and not rest:
            yield "file ...", PLAIN
        elif word not in FONTS and word != "Nm":
            yield unescaped(word), CLOSE if word in CLOSING else PLAIN


def _enclosed(macro: str, words: list[str], name: str) -> Iterator[tuple[str, str]]:
    """Yield the pieces of an enclosing macro. Trailing punctuation follows them."""
    end = len(words)
    while end and words[end - 1] in CLOSING:
        end -= 1
    opening, closing = ENCLOSING[macro]
    yield opening, OPEN
    yield from _pieces(words[:end], name)
    yield closing, CLOSE
    yield from ((word, CLOSE) for word in words[end:])


class _Page:
    """The lines of a page so far, and the state of the current paragraph."""

    def __init__(self, width: int) -> None:
        """Start an empty page."""
        self.width = width
        self.lines: list[str] = []
        self.words: list[str] = []
        """The text of the current paragraph."""
        self.name = self.section = self.tag = ""
        self.places = [(BODY, 0)]
        """The indent of the tags in each open list, and that of the text after a tag."""
        self.display: int | None = None
        """The indent of the current display. None outside of one."""

    def read(self, line: str) -> None:
        """Process one line of the source."""
        if not line.startswith("."):
            self.words.append(unescaped(line)) if self.display is None else self.put(unescaped(line), self.display)
            return
        macro, *words = line[1:].split()
        self.name = self.name or (words[0] if macro == "Nm" else "")
        if macro in BLOCKS:
            BLOCKS[macro](self, words)
        elif self.section != "SYNOPSIS":
            self.words.append(phrase([macro, *words], self.name))
        elif macro == "Nm":
            self.end_paragraph()
            self.tag = (words or [self.name])[0]
            self.places[-1] = (BODY, len(self.tag) + 1)
        else:
            self.words.append(phrase([macro, *words], self.name).replace(" ", KEPT_BLANK))

    def put(self, text: str, indent: int) -> None:
        """Add a line without wrapping it."""
        self.lines.append(f"{' ' * indent}{text}".rstrip())

    def end_paragraph(self) -> None:
        """Wrap the current paragraph, after its tag if it has one."""
        indent, hang = self.places[-1]
        text, tag = " ".join(self.words), self.tag
        self.words, self.tag = [], ""
        if tag and (not text or len(tag) >= hang):
            self._fill(tag, " " * indent, " " * indent)
            tag = ""
        if text:
            self._fill(text, f"{' ' * indent}{tag.ljust(hang)}", " " * (indent + hang))

    def _fill(self, text: str, first: str, indent: str) -> None:
        wrapper = TextWrapper(self.width, first, indent, break_on_hyphens=False, break_long_words=False)
        self.lines += wrapper.fill(text).replace(KEPT_BLANK, " ").split("\n")

    def leave_blank(self) -> None:
        """End the paragraph with a blank line, except after a heading or another one."""
        self.end_paragraph()
        if self.lines and self.lines[-1].startswith(" " * BODY):
            self.lines.append("")

    def begin_section(self, words: list[str], indent: int = 0) -> None:
        """Begin a section, or a subsection if it is indented."""
        self.leave_blank()
        self.places = [(BODY, 0)]
        self.section = self.section if indent else " ".join(words)
        self.put(unescaped(" ".join(words)), indent)

    def begin_list(self, words: list[str]) -> None:
        """Begin a list of tagged entries."""
        self.end_paragraph()
        width = words[words.index("-width") + 1]
        self.places.append((sum(self.places[-1]), (OFFSET if width == "Ds" else len(width)) + 2))

    def begin_entry(self, words: list[str]) -> None:
        """Begin an entry of a list."""
        self.leave_blank()
        self.tag = phrase(words, self.name)

    def end_list(self) -> None:
        """End a list."""
        self.end_paragraph()
        self.places.pop()

    def begin_display(self, words: list[str]) -> None:
        """Begin a display, whose lines are not wrapped."""
        self.leave_blank()
        self.display = sum(self.places[-1]) + (OFFSET if "-offset" in words else 0)

    def end_display(self) -> None:
        """End a display."""
        self.display = None

    def put_example(self, words: list[str]) -> None:
        """Add a display of one line."""
        self.end_paragraph()
        self.put(unescaped(" ".join(words)), sum(self.places[-1]) + OFFSET)

    def describe(self, words: list[str]) -> None:
        """Add the description of the page after its name."""
        self.words += ["-", unescaped(" ".join(words))]


BLOCKS: dict[str, Callable[[_Page, list[str]], None]] = {
    **dict.fromkeys(("Dd", "Dt", "Os"), lambda _page, _words: None),
    "Nd": _Page.describe,
    "Sh": _Page.begin_section,
    "Ss": lambda page, words: page.begin_section(words, SUBSECTION),
    "Pp": lambda page, _words: page.leave_blank(),
    "Bl": _Page.begin_list,
    "It": _Page.begin_entry,
    "El": lambda page, _words: page.end_list(),
    "Bd": _Page.begin_display,
    "Ed": lambda page, _words: page.end_display(),
    "Dl": _Page.put_example,
}
"""The handlers of the macros that do more than add words to a paragraph."""

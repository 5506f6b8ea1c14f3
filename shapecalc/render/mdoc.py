"""Conversion of manual pages to plain text, for systems without `man`.

Only the mdoc(7) macros in the pages of man/ are supported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from textwrap import TextWrapper

PLAIN_PIECE, OPENING_PIECE, CLOSING_PIECE, JOIN_PIECE = "plain", "open", "close", "join"
"""The kinds of pieces in a line of output.

Pieces are separated by spaces, except after an opening piece, before a closing piece, and around a join.
"""
DELIMITERS = {"Op": ("[", "]"), "Pq": ("(", ")"), "Sq": ("'", "'"), "Ql": ("'", "'")}
FONT_MACROS = frozenset({"Ar", "Cm", "Em", "Ev", "Ic", "Li", "Pa", "Sx", "Sy"})
"""The macros that only select a font, and so have no effect on plain text."""
CLOSING_PUNCTUATION = frozenset(".,:;)]?!")
ESCAPES = {r"\&": "", r"\-": "-", r"\(aq": "'", r"\(dq": '"', r"\e": "\\"}
BODY_INDENT, SUBSECTION_INDENT, DISPLAY_INDENT = 5, 3, 6
"""The indents of text, subsection headings and displays, in characters.

The indent of a display is added to the indent of the text around it.
"""
NON_BREAKING_SPACE = "\0"


def format_page(source: str, width: int = 78) -> str:
    r"""Render an mdoc page as text.

    Paragraphs are wrapped to `width` characters; literal lines are not.

    >>> print(format_page(".Sh NAME\n.Nm calc\n.Nd shapes\n.Bl -tag -width Ds\n.It Fl -out Ar file\nWrite.\n.El"))
    NAME
         calc - shapes
    <BLANKLINE>
         --out file
                 Write.
    """
    page = _Page(width)
    for line in source.splitlines():
        page.render_line(line)
    page.end_paragraph()
    return "\n".join(page.lines).strip("\n")


def remove_escapes(text: str) -> str:
    r"""Replace roff escapes with the characters that they represent.

    >>> print(remove_escapes(r"\-1 isn\(aqt"))
    -1 isn't
    """
    return re.sub(r"\\(?:&|-|e|\(..)", lambda match: ESCAPES.get(match[0], match[0]), text)


def format_macros(words: list[str], page_name: str = "") -> str:
    """Render the macros of a line as text.

    `.Nm` without an argument is replaced with `page_name`.

    >>> format_macros("Op Fl d | Fl -dialect Ar name".split()), format_macros("Nm Ns Pq 1 ,".split(), "calc")
    ('[-d | --dialect name]', 'calc(1),')
    """
    text, joins_next = "", True
    for piece, kind in _line_pieces(words, page_name):
        text += piece if joins_next or kind in (CLOSING_PIECE, JOIN_PIECE) else f" {piece}"
        joins_next = kind in (OPENING_PIECE, JOIN_PIECE)
    return text


def _line_pieces(words: list[str], page_name: str) -> Iterator[tuple[str, str]]:
    """Yield the pieces of a line of macros, each with its kind."""
    for index, word in enumerate(words):
        rest = words[index + 1 :]
        if word in DELIMITERS:
            yield from _pieces_in_delimiters(word, rest, page_name)
            return
        if word == "Fl":
            yield "-", OPENING_PIECE
        elif word in ("Oo", "Oc"):
            yield ("[", OPENING_PIECE) if word == "Oo" else ("]", CLOSING_PIECE)
        elif word == "Ns":
            yield "", JOIN_PIECE
        elif word == "Nm" and (not rest or rest[0] in ("Ns", *CLOSING_PUNCTUATION)):
            yield page_name, PLAIN_PIECE
        elif word == "Ar" and not rest:
            yield "file ...", PLAIN_PIECE
        elif word not in FONT_MACROS and word != "Nm":
            yield remove_escapes(word), CLOSING_PIECE if word in CLOSING_PUNCTUATION else PLAIN_PIECE


def _pieces_in_delimiters(macro: str, words: list[str], page_name: str) -> Iterator[tuple[str, str]]:
    """Yield the pieces of a macro that encloses its words in delimiters.

    Trailing punctuation follows the closing delimiter.
    """
    end = len(words)
    while end and words[end - 1] in CLOSING_PUNCTUATION:
        end -= 1
    opening, closing = DELIMITERS[macro]
    yield opening, OPENING_PIECE
    yield from _line_pieces(words[:end], page_name)
    yield closing, CLOSING_PIECE
    yield from ((word, CLOSING_PIECE) for word in words[end:])


class _Page:
    """The output page: its lines, and the paragraph that is being filled."""

    def __init__(self, width: int) -> None:
        """Create an empty page that is `width` characters wide."""
        self.width = width
        self.lines: list[str] = []
        self.paragraph: list[str] = []
        """The strings of the current paragraph, to be joined with spaces."""
        self.name = self.section = self.tag = ""
        self.indents = [(BODY_INDENT, 0)]
        """For each open list, the indent of its tags and the additional indent of its text.

        The first item is for text outside of lists.
        """
        self.display_indent: int | None = None
        """The indent of the current display; None outside of a display."""

    def render_line(self, line: str) -> None:
        if not line.startswith("."):
            self.paragraph.append(remove_escapes(line)) if self.display_indent is None else self.add_line(
                remove_escapes(line), self.display_indent
            )
            return
        macro, *words = line[1:].split()
        self.name = self.name or (words[0] if macro == "Nm" else "")
        if macro in BLOCK_HANDLERS:
            BLOCK_HANDLERS[macro](self, words)
        elif self.section != "SYNOPSIS":
            self.paragraph.append(format_macros([macro, *words], self.name))
        elif macro == "Nm":
            self.end_paragraph()
            self.tag = (words or [self.name])[0]
            self.indents[-1] = (BODY_INDENT, len(self.tag) + 1)
        else:
            self.paragraph.append(format_macros([macro, *words], self.name).replace(" ", NON_BREAKING_SPACE))

    def add_line(self, text: str, indent: int) -> None:
        """Add a line that is not wrapped."""
        self.lines.append(f"{' ' * indent}{text}".rstrip())

    def end_paragraph(self) -> None:
        """Add the lines of the current paragraph, which may have a tag."""
        indent, hang = self.indents[-1]
        text, tag = " ".join(self.paragraph), self.tag
        self.paragraph, self.tag = [], ""
        if tag and (not text or len(tag) >= hang):
            self._add_wrapped(tag, " " * indent, " " * indent)
            tag = ""
        if text:
            self._add_wrapped(text, f"{' ' * indent}{tag.ljust(hang)}", " " * (indent + hang))

    def _add_wrapped(self, text: str, first_indent: str, indent: str) -> None:
        wrapper = TextWrapper(self.width, first_indent, indent, break_on_hyphens=False, break_long_words=False)
        self.lines += wrapper.fill(text).replace(NON_BREAKING_SPACE, " ").split("\n")

    def add_blank_line(self) -> None:
        """End the paragraph, and separate the next one by a blank line.

        There is no blank line after a heading or another blank line.
        """
        self.end_paragraph()
        if self.lines and self.lines[-1].startswith(" " * BODY_INDENT):
            self.lines.append("")

    def begin_section(self, words: list[str], indent: int = 0) -> None:
        """Begin a section, or a subsection if `indent` is not 0."""
        self.add_blank_line()
        self.indents = [(BODY_INDENT, 0)]
        self.section = self.section if indent else " ".join(words)
        self.add_line(remove_escapes(" ".join(words)), indent)

    def begin_list(self, words: list[str]) -> None:
        """Begin a list whose entries have tags."""
        self.end_paragraph()
        width = words[words.index("-width") + 1]
        self.indents.append((sum(self.indents[-1]), (DISPLAY_INDENT if width == "Ds" else len(width)) + 2))

    def begin_entry(self, words: list[str]) -> None:
        self.add_blank_line()
        self.tag = format_macros(words, self.name)

    def end_list(self) -> None:
        self.end_paragraph()
        self.indents.pop()

    def begin_display(self, words: list[str]) -> None:
        """Begin a display of literal lines."""
        self.add_blank_line()
        self.display_indent = sum(self.indents[-1]) + (DISPLAY_INDENT if "-offset" in words else 0)

    def end_display(self) -> None:
        self.display_indent = None

    def add_example(self, words: list[str]) -> None:
        """Add a display that contains one line of literal text."""
        self.end_paragraph()
        self.add_line(remove_escapes(" ".join(words)), sum(self.indents[-1]) + DISPLAY_INDENT)

    def add_description(self, words: list[str]) -> None:
        """Add the one-line description that follows the name of the page."""
        self.paragraph += ["-", remove_escapes(" ".join(words))]


BLOCK_HANDLERS: dict[str, Callable[[_Page, list[str]], None]] = {
    **dict.fromkeys(("Dd", "Dt", "Os"), lambda _page, _words: None),
    "Nd": _Page.add_description,
    "Sh": _Page.begin_section,
    "Ss": lambda page, words: page.begin_section(words, SUBSECTION_INDENT),
    "Pp": lambda page, _words: page.add_blank_line(),
    "Bl": _Page.begin_list,
    "It": _Page.begin_entry,
    "El": lambda page, _words: page.end_list(),
    "Bd": _Page.begin_display,
    "Ed": lambda page, _words: page.end_display(),
    "Dl": _Page.add_example,
}
"""The method for each macro that controls the layout of the page."""

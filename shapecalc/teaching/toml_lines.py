"""The lines of lessons in TOML: where each key stands, and where a text is no TOML. Python's reader tells no others."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Place = tuple[str | int, ...]
    """The keys and numbers that lead to a value: `("lesson", 0, "wrong", 1, "typed")`."""

TEXTS = (r'"""(?:\\.|[^\\])*?"""', r"'''.*?'''", r'"(?:\\.|[^"\\\n])*"', r"'[^'\n]*'")
HIDING = re.compile("|".join([*TEXTS, r"#[^\n]*"]), re.DOTALL)
"""Texts and comments, which may hold what looks like a key."""
TABLE = re.compile(r"\s*\[\[\s*lesson\s*(\.\s*wrong\s*)?\]\]")
KEY = re.compile(r"\s*([\w-]+)\s*=")
AT = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


def places_in(text: str) -> dict[Place, int]:
    r"""Return the line of every lesson, wrong answer and key of a text that is TOML.

    >>> places_in("[[lesson]]\n[[lesson.wrong]]\ntyped = '''\nid = 3'''\nsaid = 4")[("lesson", 0, "wrong", 0, "said")]
    5
    """
    blank = HIDING.sub(lambda found: "\n" * found[0].count("\n"), text)
    places: dict[Place, int] = {}
    table: Place = ()
    lesson = wrong = -1
    for number, line in enumerate(blank.split("\n"), 1):
        if head := TABLE.match(line):
            lesson, wrong = (lesson, wrong + 1) if head[1] else (lesson + 1, -1)
            table = ("lesson", lesson, "wrong", wrong) if head[1] else ("lesson", lesson)
            places[table] = number
        elif key := KEY.match(line):
            places[(*table, key[1])] = number
    return places


def line_of(place: Place, places: Mapping[Place, int]) -> int:
    """Return the line of a place, or of what it stands in."""
    while place and place not in places:
        place = place[:-1]
    return places.get(place, 1)


def syntax_line(said: str, text: str) -> tuple[int, str]:
    """Return the line that a sentence of Python's reader names at its end, and the sentence without it.

    >>> syntax_line("Invalid value (at line 3, column 5)", "")
    (3, 'invalid value')
    """
    place = AT.search(said)
    line = int(place[1]) if place and place[1] else text.count("\n") + 1
    said = AT.sub("", said)
    return line, said[:1].lower() + said[1:]

"""The doctor's answer to a text: as JSON, and as lines to read."""

from __future__ import annotations

import re
from dataclasses import dataclass

from shapecalc.core.text import visible
from shapecalc.doctor.advice import Advice, advice
from shapecalc.doctor.match import Sizes, read_list, text_of
from shapecalc.doctor.reading import Reading, readings

LISTED = re.compile(r"[\[({](?=\s?-?\d)")
LAST = 20_000
"""How much of the end of an unknown text is searched for lists."""
MOST_LISTS = 8
WHOLE_TEXT = "the whole log or traceback, from its first line"
OF_READING = (
    *("framework", "dialect", "op", "node", "input", "elements", "target", "target_elements", "perm", "axes"),
    *("cause", "quote"),
)
"""The fields of a reading that JSON has; they are null for a text in which nothing is known."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What the doctor answers: readings with their advice, or the lists of a text in which nothing is known."""

    found: tuple[tuple[Reading, Advice], ...]
    lists: tuple[Sizes, ...]

    @property
    def understood(self) -> bool:
        """Whether something about a shape was read."""
        return any(read.about is None for read, _ in self.found)

    def as_json(self) -> list[dict[str, object]]:
        """Return the list that `--json` prints."""
        if not self.found:
            nothing: dict[str, object] = dict.fromkeys(OF_READING)
            return [nothing | {"said": self._unknown(), "fixes": [], "ask": WHOLE_TEXT, "command": None}]
        return [_as_json(read, advised) for read, advised in self.found]

    def lines(self) -> list[str]:
        """Return the answer as lines to read, with everything that came from the text escaped."""
        if not self.found:
            return [self._unknown()]
        blocks = [_lines(read, advised) for read, advised in self.found]
        return [visible(line) for number, block in enumerate(blocks) for line in ([""] if number else []) + block]

    def _unknown(self) -> str:
        lists = f"; the lists that stand in it: {' '.join(f'[{text_of(each)}]' for each in self.lists)}"
        return f"not known to me{lists if self.lists else ''}"


def diagnosis(text: str) -> Diagnosis:
    r"""Return what the doctor answers to a log, a traceback or a message.

    >>> print("\n".join(diagnosis("shape '[8, 3, 64]' is invalid for input of size 1600").lines()[:4]))
    torch reshape: count-mismatch
      message  shape '[8, 3, 64]' is invalid for input of size 1600
      input    1600 elements, the shape is not in the message
      target   8,3,64
    """
    found = tuple((read, advice(read)) for read in readings(text))
    return Diagnosis(found, () if found else _lists_in(text[-LAST:]))


def _lists_in(text: str) -> tuple[Sizes, ...]:
    """Return the lists of sizes in a text, each once."""
    listed: dict[Sizes, None] = {}
    for place in LISTED.finditer(text):
        sizes, _ = read_list(text, place.start())
        if sizes and all(isinstance(size, int) for size in sizes):
            listed[sizes] = None
        if len(listed) == MOST_LISTS:
            break
    return tuple(listed)


def _as_json(read: Reading, advised: Advice) -> dict[str, object]:
    """Return the object of one message."""
    values = ((name, getattr(read, name)) for name in OF_READING)
    return (
        {name: [*value] if isinstance(value, tuple) else value for name, value in values}
        | {"said": advised.said}
        | {"fixes": [{"text": text, "command": command} for text, command in advised.fixes]}
        | {"ask": advised.ask, "command": advised.command}
    )


def _lines(read: Reading, advised: Advice) -> list[str]:
    """Return one message as lines."""
    subject = " ".join(filter(None, (read.framework, read.op))) or "unknown"
    lines = [f"{subject}: {read.cause}", f"  message  {read.quote}"]
    lines += [f"  node     {read.node}"] if read.node else []
    lines += [f"  {name.ljust(7)}  {text}" for name, text in _shapes(read)]
    lines += [
        f"  {'why' if number == 0 else ''}".ljust(11) + said for number, said in enumerate(advised.said.split("; "))
    ]
    for text, command in advised.fixes:
        lines += [f"  fix      {text}", *([f"           {command}"] if command else [])]
    lines += [f"  missing  {advised.ask}"] if advised.ask else []
    return lines + ([f"  try      {advised.command}"] if advised.command else [])


def _shapes(read: Reading) -> list[tuple[str, str]]:
    """Return the shapes and counts that were read, each with its name."""
    told = [
        (name, text_of(value))
        for name, value in (("input", read.input), ("target", read.target), ("perm", read.perm), ("axes", read.axes))
        if value is not None
    ]
    if read.elements is not None:
        told.insert(0, ("input", f"{read.elements} elements, the shape is not in the message"))
    if read.target_elements is not None:
        what = "elements in its known dims" if read.cause == "indivisible" else "elements"
        told.append(("target", f"{read.target_elements} {what}, the shape is not in the message"))
    return told

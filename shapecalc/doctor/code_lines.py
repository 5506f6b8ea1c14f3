"""The call that failed, as a line of code before a message shows it, whatever its arguments are."""

from __future__ import annotations

import re

from shapecalc.core.record import Record
from shapecalc.doctor.lists import closing

CALLED_AS = {
    "reshape": ("reshape", "view", "resize"),
    "transpose": ("transpose", "permute"),
    "expand": ("expand", "broadcast_to"),
    "squeeze": ("squeeze",),
    "unsqueeze": ("unsqueeze", "expand_dims"),
}
"""By op the functions that do it."""
MODULES = frozenset({"np", "numpy", "torch", "tf", "jnp", "cp", "cupy", "da", "paddle", "ops", "F", "mx"})
LONGEST = 200
"""How many characters a call may take."""
OPENING = {"]": "[", ")": "("}
KEEPING = r"transpose|permute|contiguous|reshape|view|flatten|squeeze|unsqueeze|expand|float|half|t"
"""The methods after which it is still the same tensor, perhaps in another shape."""
CHAIN = re.compile(rf"((?:self\.)?[A-Za-z_]\w*(?:\.(?!(?:{KEEPING})\()[A-Za-z_]\w*)*?)((?:\.(?:{KEEPING})\([^()]*\))*)")
FIRST_SIZE = re.compile(r"[(\[,\s]*(-?\d+)\s*[,)\]]")


class Line(Record):
    """A call in a line of code."""

    called: str
    """The function, as the code names it."""
    text: str
    """The expression, from the tensor to the end of the call."""
    given: str
    """What the function is given: the expression before its point, or its first argument."""
    first: int | None
    """The first size, if it is a number."""

    @property
    def tensor(self) -> str | None:
        """The variable whose shape decides; None if the call is given what another function returns."""
        chain = CHAIN.fullmatch(self.given)
        return chain[1] if chain and chain[1] != "self" else None


def line_before(near: str, op: str | None) -> Line | None:
    """Return the last call of an op in the code before a message; None if there is none.

    >>> line_before("in decode pred = feats.reshape(32, 5 + classes) ", "reshape")
    Line(called='reshape', text='feats.reshape(32, 5 + classes)', given='feats', first=32)
    >>> line_before("y = x.transpose(1, 2).view(n, -1)", "reshape").tensor
    'x'
    """
    names = "|".join(CALLED_AS.get(op or "", ()))
    for call in reversed([*re.finditer(rf"\.({names})\(", near)] if names else []):
        length = closing(near[call.end() - 1 : call.end() + LONGEST])
        begin = _beginning(near, call.start())
        if length is None or not length > 1 or begin == call.start():
            continue
        end = call.end() + length
        given, arguments = near[begin : call.start()], near[call.end() - 1 : end]
        if given in MODULES:
            given, _, arguments = arguments[1:-1].partition(",")
            arguments += ")"
            given = given if given.count("(") == given.count(")") else "its first argument"
        found = FIRST_SIZE.match(arguments)
        return Line(call[1], near[begin:end], given.strip(), int(found[1]) if found else None)
    return None


def _beginning(near: str, place: int) -> int:
    """Return where the expression begins that ends at a place: names, points, and brackets in pairs."""
    waiting: list[str] = []
    lowest = max(0, place - LONGEST)
    while place > lowest:
        char = near[place - 1]
        if char in OPENING:
            waiting.append(OPENING[char])
        elif waiting and char == waiting[-1]:
            waiting.pop()
        elif not waiting and not (char.isalnum() or char in "._"):
            break
        place -= 1
    return place

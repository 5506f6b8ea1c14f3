"""Plain objects: JSON objects read fast, many lines at once. What is not plain is left to be read with care.

A plain object has no key twice, no floats, and no booleans but for the switches. Reading a line costs more than half
of judging it, so lines are read together if they can be, and every check is one search over all of them.
"""

from __future__ import annotations

from json import JSONDecoder

from shapecalc.core.dialects.switches import SWITCHES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    Object = dict[str, Any]

TOGETHER = 64
"""How many lines are read at once: more leave the processor's cache, and one that is not plain holds up the others."""
BETWEEN = "\x7f"
"""The text that is written between lines that are read at once. No line holds its character."""


class Fractional(str):
    """A number with a fraction or an exponent, as it was written: it equals no whole number."""

    __slots__ = ()


_decoder = JSONDecoder(parse_float=Fractional, parse_constant=Fractional)
_scan, _decode = _decoder.scan_once, _decoder.decode  # type: ignore[attr-defined]


def plain_objects(texts: Sequence[str]) -> Iterator[Object | None]:
    """Yield the object of each line that is plain, None for any other."""
    for start in range(0, len(texts), TOGETHER):
        some = texts[start : start + TOGETHER]
        yield from _read_together(some) or map(plain_object, some)


def _read_together(texts: Sequence[str]) -> list[Object] | None:
    """Return the objects of lines that are all plain; None if one may be not.

    No line can state the text between them, so what stands between two of these is one line, whole. A colon follows
    every key: if there are no more colons than keys, no key is there twice and no text holds one.
    """
    lines, between = ",".join(texts), f',"{BETWEEN}",'
    if not lines.isascii() or any(part in lines for part in (BETWEEN, "\\", "true", "false")):
        return None
    try:
        values = _decode(f"[{between.join(texts)}]")
    except (StopIteration, ValueError, RecursionError):
        return None
    objects = values[::2]
    if values[1::2] != [BETWEEN] * (len(texts) - 1) or {*map(type, objects)} != {dict}:
        return None
    expected = [len(value) for each in objects if type(value := each.get("expect")) is dict]
    return objects if lines.count(":") == sum(map(len, objects)) + sum(expected) else None


def plain_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object of an ordinary line; None where it must be read with care.

    What comes back has no key twice, no floats, and no booleans but for the switches.

    >>> plain_object('{"op": "shape", "input": [2, 3]}'), plain_object('{"op": "shape", "op": "reshape"}')
    ({'op': 'shape', 'input': [2, 3]}, None)
    """
    try:
        case, end = _scan(text, 0)
    except (StopIteration, ValueError, RecursionError):
        return None
    if end != len(text) or type(case) is not dict or not (text.isascii() or _is_unicode(text)):
        return None
    if text.count(":") != len(case) and ("\\" in text or text.count(":") != _colons(case)):
        return None
    return case if not ("true" in text or "false" in text) or is_exact(case) else None


def _colons(case: Mapping[str, object]) -> int:
    """Return how many colons the text of a case has, where no key is said twice and none is written as an escape."""
    count = len(case)
    for value in case.values():
        if isinstance(value, str):
            count += value.count(":")
        elif isinstance(value, dict):
            count += _colons(value)
    return count


def is_exact(case: Mapping[str, object]) -> bool:
    """Say whether the whole numbers of a case are that: no float, and no boolean but for the switches."""
    for name, value in case.items():
        kinds = {*map(type, value)} if type(value) is list else {type(value)}
        if float in kinds or (bool in kinds and name not in SWITCHES and name != "id"):
            return False
    return True


def _is_unicode(text: str) -> bool:
    """Say whether a text holds no bytes that are no UTF-8, which are kept as surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

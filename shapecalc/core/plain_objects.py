"""Plain objects: JSON objects read fast, many lines at once. What is not plain is left to be read with care.

A plain object has no key twice, no floats, and no booleans but for the switches. Reading a line costs more than half
of judging it, so lines are read together if they can be, and every check is one search over all of them.
"""

from __future__ import annotations

from itertools import chain
from json import JSONDecoder

from shapecalc.core.ask import SWITCHES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    Object = dict[str, Any]

TOGETHER = 64
"""How many lines are read at once: more leave the processor's cache, and one that is not plain holds up the others."""
STARTS = ('\n{"', '\n{ "')
"""How a line that is read with others starts after the end of the one before it."""


class Fractional(str):
    """A number with a fraction or an exponent, as it was written: it equals no whole number."""

    __slots__ = ()


_decoder = JSONDecoder(parse_float=Fractional, parse_constant=Fractional)
_scan, _decode = _decoder.scan_once, _decoder.decode  # type: ignore[attr-defined]


def plain_objects(texts: Sequence[str]) -> Iterator[Object | None]:
    """Return the object of each line that is plain, None for any other."""
    groups = (texts[start : start + TOGETHER] for start in range(0, len(texts), TOGETHER))
    return chain.from_iterable(_read_together(some) or map(plain_object, some) for some in groups)


def _read_together(texts: Sequence[str]) -> list[Object] | None:
    """Return the objects of lines that are all plain; None if one may be not.

    A colon follows every key. If there are no more colons than keys of the objects and of their expectations, no key is
    there twice, no text holds a colon, and nothing else holds an object with a key. No text holds the end of a line. So
    if every line starts as an object with a key does, each of them starts one of the objects, and if there are no more
    objects than lines, it ends there.
    """
    lines, others = ",\n".join(texts), len(texts) - 1
    if not lines.isascii() or "\\" in lines or "true" in lines or "false" in lines:
        return None
    if lines[:1] != "{" or not any(lines.count(start) == others for start in STARTS):
        return None
    try:
        objects: list[Object] = _decode(f"[{lines}]")
        inner = sum([len(value) for each in objects if type(value := each.get("expect")) is dict])
    except (ValueError, AttributeError, RecursionError):
        return None
    whole = len(objects) == len(texts) and lines.count(":") == inner + sum(map(len, objects))
    return objects if whole else None


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
    """Say whether a text holds no bytes that are not UTF-8, which are kept as surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

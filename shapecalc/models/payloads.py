"""Payloads: the elements of large tensors, left in the file while the rest is parsed, and put back as it is written.

A protobuf message is a row of fields, each with its number and its length. One pass over these lengths finds the
tensors. In place of the elements of a large one a mark stands in the message, in a field that ONNX does not use; it
says which payload was there. So payloads can be put back into a message that was changed meanwhile.

Source: protobuf.dev/programming-guides/encoding, and onnx.proto for the fields' numbers.
"""

from __future__ import annotations

import os
from bisect import bisect_left

from shapecalc.models.model import Payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Bytes = bytes | memoryview
    Replaced = tuple[int, int, list[Bytes]]
    """What stands in place of the bytes from one place up to another."""

LARGE = 32 * 1024
"""The bytes above which a tensor's elements are left in the file."""
DEEPEST = 100
"""How deep messages nest at most. Source: the limit of protobuf's own readers."""
VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
CUT = "it is not an ONNX model, or it is cut short"

TENSOR: dict[int, object] = {}
SPARSE = {1: TENSOR, 2: TENSOR}
GRAPH: dict[int, object] = {5: TENSOR, 15: SPARSE}
ATTRIBUTE = {5: TENSOR, 6: GRAPH, 10: TENSOR, 11: GRAPH, 22: SPARSE, 23: SPARSE}
NODE = {5: ATTRIBUTE}
GRAPH[1] = NODE
FUNCTION = {7: NODE, 11: ATTRIBUTE}
MODEL = {7: GRAPH, 20: {1: GRAPH, 2: GRAPH}, 25: FUNCTION}
"""Which fields of a model hold tensors, and which hold what holds tensors, by number."""
ELEMENTS = frozenset({4, 5, 6, 7, 9, 10, 11})
"""The fields of a tensor that hold its elements."""


def varint(number: int) -> bytes:
    r"""Return a whole number as protobuf writes it: seven bits a byte, the lowest first.

    >>> varint(300)
    b'\xac\x02'
    """
    written = bytearray()
    while number > 127:
        written.append(number & 127 | 128)
        number >>= 7
    written.append(number)
    return bytes(written)


MARK_TAG = varint((2**29 - 1) << 3 | VARINT)
"""The tag of the field that holds a mark: it has the largest number of all."""


def without_payloads(data: Bytes, large: int = LARGE) -> tuple[bytes, dict[int, Payload]]:
    """Return a model's message without the elements of its large tensors, and what was dropped, by its mark.

    Tensors of up to `large` bytes, and all that is as small, are not looked into. Raises `ValueError` for what is no
    message, is cut short, or is nested deeper than protobuf reads.
    """
    payloads: dict[int, Payload] = {}
    first = int.from_bytes(os.urandom(4), "little") << 28  # a file cannot bring marks that are taken for ours

    def dropped(start: int, end: int) -> Iterator[Replaced]:
        for run in _runs_of_elements(data, start, end):
            mark = first + len(payloads)
            payloads[mark] = Payload(*run)
            yield *run, [MARK_TAG + varint(mark)]

    pieces = _rewritten(data, (0, len(data)), MODEL, lambda start, end: end - start > large, dropped)
    return b"".join(pieces or [data]), payloads


def with_payloads(message: bytes, payloads: Mapping[int, Payload], data: Bytes) -> list[Bytes]:
    """Return the pieces of a model's message with its payloads put back from `data`, the file that it was read from.

    A piece is a part of `message` or of `data`, so nothing large is copied.
    """
    view = memoryview(message)
    marks = sorted(_places(message, payloads))

    def holds_mark(start: int, end: int) -> bool:
        place = bisect_left(marks, start)
        return place < len(marks) and marks[place] < end

    def restored(start: int, end: int) -> Iterator[Replaced]:
        for at, _, _, after in _fields(view, start, end):
            if message.startswith(MARK_TAG, at, after) and (number := _varint_at(view, at + 5, after)[0]) in payloads:
                yield at, after, [data[payloads[number].start : payloads[number].end]]

    return _rewritten(view, (0, len(view)), MODEL, holds_mark, restored) or [view]


def _places(message: bytes, payloads: Mapping[int, Payload]) -> Iterator[int]:
    """Yield the places where marks may stand."""
    place = message.find(MARK_TAG) if payloads else -1
    while place >= 0:
        yield place
        place = message.find(MARK_TAG, place + 1)


def _rewritten(
    data: Bytes,
    span: tuple[int, int],
    kind: Mapping[int, object],
    wanted: Callable[[int, int], bool],
    replaced: Callable[[int, int], Iterator[Replaced]],
    depth: int = 0,
) -> list[Bytes] | None:
    """Return the pieces of a message with parts of its tensors replaced and lengths set right; None without any.

    `kind` says which fields are gone into, if `wanted` says so of their content.
    """
    if depth > DEEPEST:
        raise ValueError("it is nested deeper than protobuf reads")
    changed: list[Replaced] = []
    for start, number, content, end in () if kind is TENSOR else _fields(data, *span):
        inner = kind.get(number)
        if inner is None or content < 0 or not wanted(content, end):
            continue
        pieces = _rewritten(data, (content, end), inner, wanted, replaced, depth + 1)  # type: ignore[arg-type]
        if pieces is not None:
            tag = bytes(data[start : _varint_at(data, start, end)[1]])
            changed.append((start, end, [tag, varint(sum(map(len, pieces))), *pieces]))
    if kind is TENSOR:
        changed = list(replaced(*span))
    return _joined(data, span, changed) if changed else None


def _joined(data: Bytes, span: tuple[int, int], changed: list[Replaced]) -> list[Bytes]:
    """Return the pieces of what stands in a span, some parts of it replaced."""
    place, last = span
    pieces: list[Bytes] = []
    for start, end, instead in changed:
        pieces += [data[place:start], *instead]
        place = end
    return [*pieces, data[place:last]]


def _runs_of_elements(data: Bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield where the elements of a tensor are: a run of fields begins at one place and ends at another."""
    begun = -1
    for at, number, _, _ in _fields(data, start, end):
        if number in ELEMENTS and begun < 0:
            begun = at
        elif number not in ELEMENTS and begun >= 0:
            yield begun, at
            begun = -1
    if begun >= 0:
        yield begun, end


def _fields(data: Bytes, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield where each field of a message starts, its number, where its content starts, and where it ends.

    The content's place is -1 for fields without a length. Raises `ValueError` if one ends beyond the message.
    """
    at = start
    while at < end:
        tag, content = _varint_at(data, at, end)
        wire, length = tag & 7, -1
        if wire == LENGTH:
            length, content = _varint_at(data, content, end)
            after = content + length
        elif wire == VARINT:
            after = _varint_at(data, content, end)[1]
        elif wire in (FIXED64, FIXED32):
            after = content + (8 if wire == FIXED64 else 4)
        else:
            raise ValueError(CUT)
        if after > end or tag < 8:
            raise ValueError(CUT)
        yield at, tag >> 3, content if length >= 0 else -1, after
        at = after


def _varint_at(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """Return the whole number that is written at a place, and the place after it; raise `ValueError` if it is cut."""
    number, shift = 0, 0
    while at < end and shift < 64:
        byte = data[at]
        at += 1
        if byte < 128:
            return number | byte << shift, at
        number |= (byte & 127) << shift
        shift += 7
    raise ValueError(CUT)

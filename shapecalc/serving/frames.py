"""What goes between a browser, the server and an app: frames of JSON on one side, packets on the other.

Source: Textual's driver for browsers, `textual/drivers/web_driver.py`: a letter, four bytes of length, the content.
"""

from __future__ import annotations

import json
from asyncio import IncompleteReadError, StreamReader

MOST_CELLS = (500, 200)
"""The columns and lines of the largest page that is drawn."""
LARGEST_FRAME = 1 << 18
"""The bytes of the largest frame that a browser may send: a long text that is pasted."""
LARGEST_PACKET = 1 << 24
"""The bytes of the largest packet that is taken from an app: many times a whole page of colours."""
START = b"__GANGLION__\n"
"""What an app writes before its first packet."""


class Garbage(Exception):
    """A frame or a packet that nobody sends who means well."""


def packet_of(frame: str) -> bytes:
    r"""Return what an app is told of a browser's frame, nothing if that is nothing; raise `Garbage` if it is none.

    >>> packet_of('["stdin", "q"]')
    b'D\x00\x00\x00\x01q'
    >>> packet_of('["resize", {"width": 1000000000, "height": 0}]')[5:]
    b'{"type": "resize", "width": 500, "height": 1}'
    """
    try:
        match json.loads(frame):
            case ["stdin", ""] | ["ping", _]:
                return b""
            case ["stdin", str(typed)]:
                return _packet(b"D", typed.encode())
            case ["resize", {"width": int(width), "height": int(height)}]:
                width, height = clamped(width, height)
                return _packet(b"M", json.dumps({"type": "resize", "width": width, "height": height}).encode())
            case ["focus" | "blur" as what]:
                return _packet(b"M", json.dumps({"type": what}).encode())
    except (ValueError, RecursionError):
        pass
    raise Garbage


def clamped(width: int, height: int) -> tuple[int, int]:
    """Return a size that can be drawn, for the one that a browser says it has."""
    return max(1, min(width, MOST_CELLS[0])), max(1, min(height, MOST_CELLS[1]))


def _packet(kind: bytes, content: bytes) -> bytes:
    return b"%s%s%s" % (kind, len(content).to_bytes(4, "big"), content)


def link_frame(content: bytes) -> str:
    """Return the frame by which a page learns the link to what an app shows; nothing if an app tells something else.

    >>> link_frame(b'{"type": "link", "ask": "reshape 6 -1", "step": "1"}')
    '["link", {"ask": "reshape 6 -1", "step": "1"}]'
    >>> link_frame(b'{"type": "exit"}')
    ''
    """
    match json.loads(content):
        case {"type": "link", "ask": str(ask), "step": str(step)}:
            return json.dumps(["link", {"ask": ask, "step": step}])
    return ""


async def read_packet(stream: StreamReader) -> tuple[bytes, bytes]:
    """Return the letter and the content of the next packet of an app; raise `Garbage` if no whole one comes."""
    try:
        head = await stream.readexactly(5)
        size = int.from_bytes(head[1:], "big")
        if size > LARGEST_PACKET:
            raise Garbage
        return head[:1], await stream.readexactly(size)
    except IncompleteReadError:
        raise Garbage from None

"""One visitor's app: a process that lives no longer than the visitor's socket, and what goes between the two.

Frames of JSON go between a browser and the server, packets between the server and an app, as Textual's driver for
browsers has them (`textual/drivers/web_driver.py`): a letter, four bytes of length, the content.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio import IncompleteReadError, StreamReader, StreamWriter, subprocess
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from aiohttp import WSMsgType, web

MOST_CELLS = (500, 200)
"""The columns and lines of the largest page that is drawn."""
LARGEST_FRAME = 1 << 18
"""The bytes of the largest frame that a browser may send: a long text that is pasted."""
LARGEST_PACKET = 1 << 24
"""The bytes of the largest packet that is taken from an app: many times a whole page of colours."""
START = b"__GANGLION__\n"
"""What an app writes before its first packet."""
GRACE = 2
"""Seconds in which an app may end by itself."""


class Garbage(Exception):
    """A frame or a packet that nobody sends who means well."""


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a session is over: the code that closes its socket, and what the page says."""

    code: int
    reason: str


DONE = Ending(1000, "the app has ended")
LEFT = Ending(1000, "the page was closed")
IDLE = Ending(1000, "nothing was typed for a long time")
GARBAGE = Ending(1008, "the page sent something unexpected")


async def attend(
    socket: web.WebSocketResponse,
    command: Sequence[str],
    size: tuple[int, int],
    idle: float,
    keep: Callable[[bytes], str],
) -> Ending:
    """Run an app for a socket until one of them is done, and return why; `keep` keeps a picture and names its key."""
    async with _app(command, size) as app:
        return await _first(_typed(socket, app, idle), _drawn(socket, app, keep))


@asynccontextmanager
async def _app(command: Sequence[str], size: tuple[int, int]) -> AsyncIterator[Process]:
    """Start an app, and see to its end: it ends when its input is closed, and is killed if it does not."""
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    environment = app_environment(size)
    app = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=nothing, env=environment)
    try:
        yield app
    finally:
        _input(app).close()
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                await app.wait()
        if app.returncode is None:
            app.kill()
            await app.wait()


def app_environment(size: tuple[int, int]) -> dict[str, str]:
    """Return the environment of an app: modules from where the server has them, Textual as it is by default."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TEXTUAL")}
    path = os.pathsep.join(map(os.path.abspath, sys.path))
    columns, rows = map(str, size)
    return {**kept, "PYTHONPATH": path, "TEXTUAL_COLOR_SYSTEM": "truecolor", "COLUMNS": columns, "ROWS": rows}


async def _first(*ways: Coroutine[Any, Any, Ending]) -> Ending:
    """Return what the first of several to be done returns, with the others cancelled."""
    tasks = [asyncio.ensure_future(way) for way in ways]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return done.pop().result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _typed(socket: web.WebSocketResponse, app: Process, idle: float) -> Ending:
    """Hand on what the visitor does; return why that has ended."""
    while True:
        try:
            async with asyncio.timeout(idle):
                frame = await socket.receive()
            if frame.type is not WSMsgType.TEXT:
                return LEFT if socket.closed else GARBAGE
            _input(app).write(packet_of(frame.data))
            await _input(app).drain()
        except TimeoutError:
            return IDLE
        except Garbage:
            return GARBAGE
        except OSError:
            return DONE


async def _drawn(socket: web.WebSocketResponse, app: Process, keep: Callable[[bytes], str]) -> Ending:
    """Hand on what the app draws, until it draws no more."""
    assert app.stdout is not None
    try:
        await app.stdout.readuntil(START)
        while True:
            kind, content = await read_packet(app.stdout)
            if kind == b"D":
                await socket.send_bytes(content)
            elif kind == b"P":
                await socket.send_str(json.dumps(["deliver_file_start", keep(content)]))
            elif kind == b"M" and (link := link_frame(content)):
                await socket.send_str(link)
    except (Garbage, IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
        return DONE


def _input(app: Process) -> StreamWriter:
    assert app.stdin is not None
    return app.stdin


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

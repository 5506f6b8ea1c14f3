"""One visitor's app: a process that lives no longer than the visitor's socket."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio import subprocess
from contextlib import asynccontextmanager, suppress

from aiohttp import WSMsgType, web

from shapecalc.core.record import Record
from shapecalc.serving.frames import START, Garbage, link_frame, packet_of, read_packet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
    from typing import Any

GRACE = 2
"""Seconds in which an app may end by itself."""


class Ending(Record):
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
    except (Garbage, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
        return DONE


def _input(app: Process) -> asyncio.StreamWriter:
    assert app.stdin is not None
    return app.stdin

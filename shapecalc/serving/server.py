"""The web server: a page for whoever has its address, and behind every page's socket an app of its own.

An app is a process that lives no longer than the visitor's socket. Frames of JSON go between a browser and the server,
packets between the server and an app, as Textual's driver for browsers has them (`textual/drivers/web_driver.py`): a
letter, four bytes of length, the content. Connections are so many, and what is told of them so much, whoever comes.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import signal
import socket
import sys
from asyncio import IncompleteReadError, StreamReader, StreamWriter, subprocess
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from ipaddress import IPv4Address, IPv6Address, ip_address
from mimetypes import guess_type
from pathlib import Path
from secrets import compare_digest, token_urlsafe
from time import monotonic
from traceback import extract_tb
from typing import Any
from urllib.parse import urlsplit

import textual_serve
from aiohttp import WSMsgType, web
from aiohttp.http import HttpProcessingError
from aiohttp.typedefs import Handler
from aiohttp.web_protocol import RequestHandler

from shapecalc.core.problem import misuse
from shapecalc.core.record import Record
from shapecalc.core.text import brief, visible

HEAD = 5
"""Seconds within which the head of a request is to be there."""
BATCH = 8
"""Connections that are taken at once; the next are taken when those have been read."""
KNOWN, SEATED = 1, 2
"""The standing of a connection that has shown the token, and of one that has a session; of all others it is 0."""


class Notices(logging.Handler):
    """Tells what is logged, in a line that quotes no request, and what repeats once a minute."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        """Begin with nothing told."""
        super().__init__()
        self._tell = tell
        self._told: dict[str, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Tell that a request is none, or what went wrong here, and where."""
        what, error = str(record.msg), record.exc_info[1] if record.exc_info else None
        if isinstance(error, HttpProcessingError):
            what = "a request that cannot be read is refused"
        elif error is not None:
            places = [f"{Path(at.filename).name}:{at.lineno}" for at in extract_tb(error.__traceback__)]
            what = " at ".join([getattr(error, "strerror", None) or type(error).__name__, *places[-1:]])
        if monotonic() - self._told.get(what, -60) >= 60:
            self._told[what] = monotonic()
            self._tell(f"shapecalc: {what}")


class Crowd:
    """Who is connected. Where there are too many, the oldest goes that has not shown the token."""

    def __init__(
        self, server: web.Server, most: int, standing: dict[RequestHandler, int], logger: logging.Logger
    ) -> None:
        """Begin with nobody connected."""
        self._server, self._most, self._standing, self._logger = server, most, standing, logger

    def admit(self) -> RequestHandler:
        """Return what handles a new connection, for which another one goes if there are too many."""
        held = self._held()
        for gone in self._standing.keys() - held:
            del self._standing[gone]
        if len(held) >= self._most:
            self._logger.error("too many are connected; the oldest that has not shown the token is dropped")
            self._drop_oldest()
        made = self._server()
        asyncio.get_running_loop().call_later(HEAD, self._drop_unknown, made)
        return made

    def hear(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log what the loop complains of. Where the system lets nobody more connect, fewer may be."""
        self._logger.error(context["message"], exc_info=context.get("exception"))
        if "socket" in context:
            # the rest of what the system allows is for apps
            self._most = min(self._most, max(4 * BATCH, len(self._server.connections) // 2))
            self._drop_oldest()

    def _drop_unknown(self, connection: RequestHandler) -> None:
        """Drop who has not said in time what they want."""
        if connection.transport is not None and connection not in self._standing:
            _drop(connection)

    def _held(self) -> list[RequestHandler]:
        """Return the connections that are there, the oldest first."""
        return [each for each in self._server.connections if each.transport is not None]

    def _drop_oldest(self) -> None:
        # of those of one standing this takes the first, which is the oldest
        oldest = min(self._held(), key=lambda each: self._standing.get(each, 0), default=None)
        if oldest is not None and self._standing.get(oldest) != SEATED:
            _drop(oldest)


def _drop(connection: RequestHandler) -> None:
    """End a connection, without waiting until everything is read that was sent."""
    assert connection.transport is not None
    connection.transport.abort()
    connection.force_close()


# Who is let in: those who have the token, and who come by a name that the server goes by.


HOST_NAME = re.compile(r"[a-z0-9_]([a-z0-9_.-]{0,252}[a-z0-9_.])?", re.I)
"""What the name of a host looks like. Addresses are read by the library."""


class Door(Record):
    """The names that the server goes by, and the token that its address ends in."""

    names: frozenset[str]
    token: str

    def why_shut(self, host: str, origin: str | None) -> str:
        """Return why a request is refused for its `Host` and `Origin`; nothing if it is not.

        A page of another site may send requests here, with its own `Origin`. One that moves its own name to this
        address comes with that name as its `Host`.

        >>> door = Door(frozenset({"box"}), "")
        >>> door.why_shut("127.0.0.1:8000", None), door.why_shut("box", "http://box")
        ('', '')
        >>> door.why_shut("evil.example", None), door.why_shut("box", "https://evil.example")
        ('this host is not served; its owner can add it: --allow-host NAME', 'another site may not use this one')
        """
        name = _host_name(host)
        if not (name in self.names or is_loopback(name)):
            return "this host is not served; its owner can add it: --allow-host NAME"
        if origin is not None and origin.lower() not in (f"http://{host}".lower(), f"https://{host}".lower()):
            return "another site may not use this one"
        return ""

    def opens_with(self, token: str | None) -> bool:
        """Say whether a token is the right one, in a time that does not tell how much of it is right."""
        return compare_digest((token or "").encode("utf-8", "replace"), self.token.encode())


def new_door(host: str, allowed: list[str]) -> Door:
    """Return a door for the address to listen on and further names; raise `ShapeError` (usage) for what is no name."""
    names = [_checked_name("--host", host), *(_checked_name("--allow-host", name) for name in allowed)]
    return Door(frozenset(names), token_urlsafe(32))


def _checked_name(option: str, name: str) -> str:
    if not HOST_NAME.fullmatch(name) and _address(name) is None:
        raise misuse(f"{option} is a host's name or address, without a port, not '{visible(brief(name))}'")
    return name.lower()


def _address(name: str) -> IPv4Address | IPv6Address | None:
    with suppress(ValueError):
        return ip_address(name)
    return None


def _host_name(host: str) -> str:
    """Return the name in a `Host` header, without its port; nothing if it holds anything else."""
    try:
        parts = urlsplit(f"//{host}")
        return (parts.hostname or "") if parts.netloc == host and parts.username is None and parts.port != -1 else ""
    except ValueError:
        return ""


def is_loopback(name: str) -> bool:
    """Say whether a name or address is this machine's own.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    address = _address(name)
    return name == "localhost" or (address is not None and address.is_loopback)


def url_host(host: str) -> str:
    """Return how an address is written in a browser: where the server listens everywhere, this machine's own.

    >>> url_host("::1"), url_host("box"), url_host("0.0.0.0")
    ('[::1]', 'box', '127.0.0.1')
    """
    address = _address(host)
    if address is None:
        return host
    if address.is_unspecified:
        return "[::1]" if address.version == 6 else "127.0.0.1"
    return f"[{host}]" if address.version == 6 else host


# The server


PATIENCE = 1
"""Seconds that a visitor waits for a place: a page that is opened anew comes before its old socket is gone."""
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "font-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
"""What every answer says: this page runs and loads nothing else, and no other page may hold it."""
OWN = files("shapecalc.serving") / "page"
MOST_CELLS = (500, 200)
"""The columns and lines of the largest page that is drawn."""
LARGEST_FRAME = 1 << 18
"""The bytes of the largest frame that a browser may send: a long text that is pasted."""
OUT_OF_CPU = -getattr(signal, "SIGXCPU", 0) or None
"""How an app ends that has used up its CPU, where the system can hold it to that."""
START = b"__GANGLION__\n"
"""What an app writes before its first packet."""


class Garbage(Exception):
    """A frame or a packet that nobody sends who means well."""


class Ending(Record):
    """Why a session is over: the code that closes its socket, and what the page says."""

    code: int
    reason: str


DONE = Ending(1000, "the app has ended")
LEFT = Ending(1000, "the page was closed")
GARBAGE = Ending(1008, "the page sent something unexpected")
CLOSED = Ending(1001, "the server has ended")
OVERWORKED = Ending(1013, "the app took more CPU than it may")


class Serving(Record):
    """What is served, to whom, and to how many at once."""

    command: Sequence[str]
    """What starts an app."""
    door: Door
    sessions: int
    tell: Callable[[str], None]
    """Tells the owner something, in one line."""
    idle: float = 3600
    """Seconds after which a page that nobody types in is closed."""
    entered: Callable[[], None] = lambda: None
    """Is called when a page is asked for by somebody who has the token."""


class Server:
    """Answers requests, and counts who is here."""

    def __init__(self, serving: Serving) -> None:
        """Begin with nobody here."""
        self.serving = serving
        self.visitors = 0
        self._places = asyncio.Semaphore(serving.sessions)
        self._sockets: set[web.WebSocketResponse] = set()
        self._pictures: dict[str, bytes] = {}
        self.standing: dict[RequestHandler, int] = {}

    def application(self) -> web.Application:
        """Return what aiohttp runs."""
        made = web.Application(middlewares=[self.guard])
        made.add_routes(
            [web.get("/", self.page), web.get("/ws", self.socket), web.get("/download/{key}", self.picture)]
            + [web.get(f"/page/{file.name}", partial(self.own_file, file)) for file in OWN.iterdir()]
        )
        # the terminal for browsers, as textual-serve installs it
        made.router.add_static("/terminal", Path(textual_serve.__file__).parent / "static")
        made.on_response_prepare.append(_add_headers)
        made.on_shutdown.append(self.end_sessions)
        return made

    @web.middleware
    async def guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer a request, unless it comes from elsewhere or without the token; a picture's key is one, too."""
        door = self.serving.door
        refusal = door.why_shut(request.headers.get("Host", ""), request.headers.get("Origin"))
        known = door.opens_with(request.query.get("token")) or request.match_info.get("key") in self._pictures
        if refusal or not known:
            refused = web.HTTPForbidden(text=refusal or "open the whole address that shapecalc serve has printed")
            refused.force_close()
            raise refused
        self.standing[request.protocol] = KNOWN
        return await handler(request)

    async def page(self, request: web.Request) -> web.Response:
        """Answer with the page."""
        self.serving.entered()
        return await self.own_file(OWN / "page.html", request)

    async def own_file(self, file: Traversable, _: web.Request) -> web.Response:
        """Answer with a file of the page, which asks for others with the token."""
        text = file.read_text("utf-8").replace("TOKEN", self.serving.door.token)
        return web.Response(text=text, content_type=guess_type(file.name)[0])

    async def picture(self, request: web.Request) -> web.Response:
        """Answer with a picture or a text that an app has made, once."""
        data = self._pictures.pop(request.match_info["key"], None)
        if data is None:
            raise web.HTTPNotFound
        drawn = data.startswith(b"<svg")
        as_file = {"Content-Disposition": f'attachment; filename="shapecalc.{"svg" if drawn else "txt"}"'}
        kind = "image/svg+xml" if drawn else "text/plain"
        return web.Response(body=data, content_type=kind, charset=None if drawn else "utf-8", headers=as_file)

    async def socket(self, request: web.Request) -> web.WebSocketResponse:
        """Run an app for a visitor."""
        # seconds between two questions whether a browser is still there
        made = web.WebSocketResponse(heartbeat=15, max_msg_size=LARGEST_FRAME, timeout=PATIENCE)
        await made.prepare(request)
        self._sockets.add(made)
        try:
            await _close(made, await self._visit(request, made))
        finally:
            self._sockets.discard(made)
        return made

    async def _visit(self, request: web.Request, made: web.WebSocketResponse) -> Ending:
        """Run an app if there is a place for it, until it or the socket is done; return why."""
        most = self.serving.sessions
        try:
            async with asyncio.timeout(PATIENCE):
                await self._places.acquire()
        except TimeoutError:
            return Ending(1013, f"all {most} places are taken; try again later")
        try:
            self.visitors += 1
            self.serving.tell(visible(f"shapecalc: visitor {self.visitors}, from {request.remote}"))
            self.standing[request.protocol] = SEATED
            async with _app(self.serving.command, app_environment(request.query)) as app:
                ending = await _first(_typed(made, app, self.serving.idle), _drawn(made, app, self._keep))
            return OVERWORKED if app.returncode == OUT_OF_CPU else ending
        except OSError:
            return Ending(1011, "the server can start no app now; try again later")
        finally:
            self.standing[request.protocol] = KNOWN
            self._places.release()

    def _keep(self, picture: bytes) -> str:
        """Keep a picture until it is asked for, and return the key to ask with."""
        # how many pictures are kept until a browser has asked for them
        if len(self._pictures) >= 8:
            del self._pictures[next(iter(self._pictures))]
        key = token_urlsafe(32)
        self._pictures[key] = picture
        return key

    async def end_sessions(self, _: web.Application) -> None:
        """Close every socket, and with it every app."""
        await asyncio.gather(*(_close(each, CLOSED) for each in self._sockets))


async def _close(socket: web.WebSocketResponse, ending: Ending) -> None:
    """Close a socket and say why, without waiting long for a visitor who does not read."""
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            await socket.close(code=ending.code, message=ending.reason.encode())


async def _add_headers(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(HEADERS)


def _size(query: Mapping[str, str]) -> tuple[int, int]:
    """Return the size that a page says it has; 80x24 if it says none."""
    try:
        return clamped(int(query["width"]), int(query["height"]))
    except (KeyError, ValueError):
        return 80, 24


async def serve(serving: Serving, listening: socket.socket) -> None:
    """Serve until this is cancelled."""
    made, logger = Server(serving), logging.Logger("shapecalc.serving", logging.WARNING)
    logger.addHandler(Notices(serving.tell))
    told: dict[str, Any] = {"access_log": None, "logger": logger}
    runner = web.AppRunner(made.application(), shutdown_timeout=PATIENCE, keepalive_timeout=HEAD, **told)
    await runner.setup()
    assert runner.server is not None
    # a browser loads a page through six connections
    crowd = Crowd(runner.server, 64 + 6 * serving.sessions, made.standing, logger)
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(crowd.hear)
    accepting = await loop.create_server(crowd.admit, sock=listening, backlog=BATCH)
    # how many wait in the system until they are taken
    listening.listen(512)
    try:
        await loop.create_future()
    finally:
        accepting.close()
        await runner.cleanup()


# One visitor's app


@asynccontextmanager
async def _app(command: Sequence[str], environment: dict[str, str]) -> AsyncIterator[Process]:
    """Start an app, and see to its end: it ends when its input is closed, and is killed if it does not."""
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    app = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=nothing, env=environment)
    try:
        yield app
    finally:
        _input(app).close()
        with suppress(TimeoutError):
            # seconds in which an app may end by itself
            async with asyncio.timeout(2):
                await app.wait()
        if app.returncode is None:
            app.kill()
            await app.wait()


def app_environment(query: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of an app: modules from where the server has them, Textual as it is by default.

    The link that the visitor follows stands here, since every user can read what stands in a command.
    """
    link = [query["ask"], query.get("step", "")] if "ask" in query else None
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TEXTUAL")}
    path = os.pathsep.join(map(os.path.abspath, sys.path))
    columns, rows = map(str, _size(query))
    shown = {"TEXTUAL_COLOR_SYSTEM": "truecolor", "COLUMNS": columns, "ROWS": rows}
    return {**kept, **shown, "PYTHONPATH": path, "SHAPECALC_LINK": json.dumps(link)}


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
    """Hand on what the visitor does; return why that has ended. What is not typed keeps nothing open."""
    try:
        async with asyncio.timeout(idle) as clock:
            while (frame := await socket.receive()).type is WSMsgType.TEXT:
                packet = packet_of(frame.data)
                if packet.startswith(b"D"):
                    clock.reschedule(asyncio.get_running_loop().time() + idle)
                _input(app).write(packet)
                await _input(app).drain()
            return LEFT if socket.closed else GARBAGE
    except TimeoutError:
        return Ending(1000, "nothing was typed for a long time")
    except Garbage:
        return GARBAGE
    except OSError:
        return DONE


async def _drawn(socket: web.WebSocketResponse, app: Process, keep: Callable[[bytes], str]) -> Ending:
    """Hand on what the app draws, until it draws no more; `keep` keeps a picture and names its key."""
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
    """Return the letter and the content of the next packet of an app; raise `Garbage` if it is too long."""
    head = await stream.readexactly(5)
    size = int.from_bytes(head[1:], "big")
    # the bytes of the largest packet that is taken from an app: many times a whole page of colours
    if size > 1 << 24:
        raise Garbage
    return head[:1], await stream.readexactly(size)

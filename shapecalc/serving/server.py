"""The web server of the terminal app: one page, and one app process a socket.

An app ends with its socket. A browser and the server exchange JSON frames; the server and an app exchange packets of
Textual's web driver (`textual/drivers/web_driver.py`): a letter, four bytes of length, the content. The numbers of
connections and of log lines are limited.
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
"""The seconds within which the head of a request must arrive."""
BATCH = 8
"""The number of connections that are accepted before any of them is read."""
KNOWN, SEATED = 1, 2
"""The states of a connection with the token, and of one with a session.

The state of all others is 0.
"""
PATIENCE = 1
"""The seconds of each wait for a session, a close or a shutdown.

A page that is reloaded opens its new socket before the old one is gone.
"""
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
"""The headers of every response, which forbid foreign content and frames."""
OWN = files("shapecalc.serving") / "page"
"""The folder of the page's files."""
MOST_CELLS = (500, 200)
"""The maximum number of columns and lines of a page."""
LARGEST_FRAME = 1 << 18
"""The maximum number of bytes of a browser's frame, such as a long pasted text."""
OUT_OF_CPU = -getattr(signal, "SIGXCPU", 0) or None
"""The exit code of an app that exceeded its CPU limit; None without such limits."""
START = b"__GANGLION__\n"
"""The line that an app writes before its first packet."""
HOST_NAME = re.compile(r"[a-z0-9_]([a-z0-9_.-]{0,252}[a-z0-9_.])?", re.I)
"""The pattern of host names. Addresses are parsed by `ipaddress`."""


class Garbage(Exception):
    """A frame or a packet that violates the protocol."""


class Ending(Record):
    """The end of a session: the close code of its socket, and the reason."""

    code: int
    reason: str


DONE = Ending(1000, "the app has ended")
LEFT = Ending(1000, "the page was closed")
GARBAGE = Ending(1008, "the page sent something unexpected")
CLOSED = Ending(1001, "the server has ended")
OVERWORKED = Ending(1013, "the app took more CPU than it may")


class Notices(logging.Handler):
    """A log handler that reports to the owner in single lines.

    A line quotes no request, and is repeated once a minute at most.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        """Set the function that prints a line."""
        super().__init__()
        self._tell = tell
        self._told: dict[str, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Report an unreadable request, or an error of the server with its place."""
        text, error = str(record.msg), record.exc_info[1] if record.exc_info else None
        if isinstance(error, HttpProcessingError):
            text = "a request that cannot be read is refused"
        elif error is not None:
            locations = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in extract_tb(error.__traceback__)]
            text = " at ".join([getattr(error, "strerror", None) or type(error).__name__, *locations[-1:]])
        if monotonic() - self._told.get(text, -60) >= 60:
            self._told[text] = monotonic()
            self._tell(f"shapecalc: {text}")


class Crowd:
    """A limit on connections.

    If there are too many, the oldest without the token is dropped.
    """

    def __init__(
        self, server: web.Server, most: int, standing: dict[RequestHandler, int], logger: logging.Logger
    ) -> None:
        """Set the limit; `states` is shared with the server, which updates it."""
        self._server, self._most, self._standing, self._logger = server, most, standing, logger

    def admit(self) -> RequestHandler:
        """Return the handler of a new connection, and drop another one above the limit."""
        connections = self._held()
        for closed in self._standing.keys() - connections:
            del self._standing[closed]
        if len(connections) >= self._most:
            self._logger.error("too many are connected; the oldest that has not shown the token is dropped")
            self._drop_oldest()
        handler = self._server()
        asyncio.get_running_loop().call_later(HEAD, self._drop_unknown, handler)
        return handler

    def hear(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log an error of the event loop.

        If the system accepts no more connections, the limit is lowered.
        """
        self._logger.error(context["message"], exc_info=context.get("exception"))
        if "socket" in context:
            # the remaining file descriptors are for apps
            self._most = min(self._most, max(4 * BATCH, len(self._server.connections) // 2))
            self._drop_oldest()

    def _drop_unknown(self, connection: RequestHandler) -> None:
        """Drop a connection that has sent no valid request in time."""
        if connection.transport is not None and connection not in self._standing:
            _drop(connection)

    def _held(self) -> list[RequestHandler]:
        """Return the open connections, the oldest first."""
        return [connection for connection in self._server.connections if connection.transport is not None]

    def _drop_oldest(self) -> None:
        # `min` returns the first of equal states, which is the oldest
        oldest = min(self._held(), key=lambda connection: self._standing.get(connection, 0), default=None)
        if oldest is not None and self._standing.get(oldest) != SEATED:
            _drop(oldest)


class Door(Record):
    """The host names that the server accepts, and the token of its address."""

    names: frozenset[str]
    token: str

    def why_shut(self, host: str, origin: str | None) -> str:
        """Return why a request's `Host` or `Origin` is rejected; empty if it is not.

        A page of another site can send requests here, with its own `Origin`. A site whose name resolves to this address
        (DNS rebinding) sends that name as `Host`.

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
        """Return whether a token is valid, in constant time."""
        return compare_digest((token or "").encode("utf-8", "replace"), self.token.encode())


class Serving(Record):
    """The configuration of a server."""

    command: Sequence[str]
    """The command that starts an app."""
    door: Door
    """The policy for hosts, origins and tokens."""
    sessions: int
    """The maximum number of concurrent sessions."""
    tell: Callable[[str], None]
    """The function that reports a line to the owner."""
    idle: float = 3600
    """The seconds without input after which a session ends."""
    entered: Callable[[], None] = lambda: None
    """The callback of a page request with the token."""


class Server:
    """The request handlers, and the state of all sessions."""

    def __init__(self, serving: Serving) -> None:
        """Set the state of a server without sessions."""
        self.serving = serving
        self.visitors = 0
        self._places = asyncio.Semaphore(serving.sessions)
        self._sockets: set[web.WebSocketResponse] = set()
        self._pictures: dict[str, bytes] = {}
        self.standing: dict[RequestHandler, int] = {}

    def application(self) -> web.Application:
        """Return the aiohttp application."""
        application = web.Application(middlewares=[self.guard])
        application.add_routes(
            [web.get("/", self.page), web.get("/ws", self.socket), web.get("/download/{key}", self.picture)]
            + [web.get(f"/page/{file.name}", partial(self.own_file, file)) for file in OWN.iterdir()]
        )
        # the browser terminal is a static folder of textual-serve
        application.router.add_static("/terminal", Path(textual_serve.__file__).parent / "static")
        application.on_response_prepare.append(_add_headers)
        application.on_shutdown.append(self.end_sessions)
        return application

    @web.middleware
    async def guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Pass a request to its handler if its host, origin and token are valid.

        The key of a picture is as good as the token. Raises `web.HTTPForbidden` otherwise.
        """
        policy = self.serving.door
        reason = policy.why_shut(request.headers.get("Host", ""), request.headers.get("Origin"))
        is_known = policy.opens_with(request.query.get("token")) or request.match_info.get("key") in self._pictures
        if reason or not is_known:
            error = web.HTTPForbidden(text=reason or "open the whole address that shapecalc serve has printed")
            error.force_close()
            raise error
        self.standing[request.protocol] = KNOWN
        return await handler(request)

    async def page(self, request: web.Request) -> web.Response:
        """Respond with the page."""
        self.serving.entered()
        return await self.own_file(OWN / "page.html", request)

    async def own_file(self, file: Traversable, _: web.Request) -> web.Response:
        """Respond with a file of the page, with the token in its links."""
        text = file.read_text("utf-8").replace("TOKEN", self.serving.door.token)
        return web.Response(text=text, content_type=guess_type(file.name)[0])

    async def picture(self, request: web.Request) -> web.Response:
        """Respond with a picture or text of an app; each can be requested once."""
        data = self._pictures.pop(request.match_info["key"], None)
        if data is None:
            raise web.HTTPNotFound
        is_picture = data.startswith(b"<svg")
        headers = {"Content-Disposition": f'attachment; filename="shapecalc.{"svg" if is_picture else "txt"}"'}
        kind = "image/svg+xml" if is_picture else "text/plain"
        return web.Response(body=data, content_type=kind, charset=None if is_picture else "utf-8", headers=headers)

    async def socket(self, request: web.Request) -> web.WebSocketResponse:
        """Run an app for a socket."""
        # the heartbeat is the seconds between pings
        response = web.WebSocketResponse(heartbeat=15, max_msg_size=LARGEST_FRAME, timeout=PATIENCE)
        await response.prepare(request)
        self._sockets.add(response)
        try:
            await _close(response, await self._visit(request, response))
        finally:
            self._sockets.discard(response)
        return response

    async def _visit(self, request: web.Request, made: web.WebSocketResponse) -> Ending:
        """Run an app in a free session until it or the socket ends; return why."""
        limit = self.serving.sessions
        try:
            async with asyncio.timeout(PATIENCE):
                await self._places.acquire()
        except TimeoutError:
            return Ending(1013, f"all {limit} places are taken; try again later")
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
        """Store a picture, and return its key."""
        # at most 8 pictures wait for their download
        if len(self._pictures) >= 8:
            del self._pictures[next(iter(self._pictures))]
        key = token_urlsafe(32)
        self._pictures[key] = picture
        return key

    async def end_sessions(self, _: web.Application) -> None:
        """Close every socket, which ends its app."""
        await asyncio.gather(*(_close(socket, CLOSED) for socket in self._sockets))


def _drop(connection: RequestHandler) -> None:
    """Abort a connection without reading the rest of its data."""
    assert connection.transport is not None
    connection.transport.abort()
    connection.force_close()


def new_door(host: str, allowed: list[str]) -> Door:
    """Return the policy for the listening address and further host names.

    Raises `ShapeError` (usage) for an invalid name.
    """
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
    """Return the name in a `Host` header without its port; empty if it is malformed."""
    try:
        parts = urlsplit(f"//{host}")
        return (parts.hostname or "") if parts.netloc == host and parts.username is None and parts.port != -1 else ""
    except ValueError:
        return ""


def is_loopback(name: str) -> bool:
    """Return whether a name or address is this machine's own.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    address = _address(name)
    return name == "localhost" or (address is not None and address.is_loopback)


def url_host(host: str) -> str:
    """Return the host of the server's URL for a browser.

    It is this machine's own address if the server listens on all addresses.

    >>> url_host("::1"), url_host("box"), url_host("0.0.0.0")
    ('[::1]', 'box', '127.0.0.1')
    """
    address = _address(host)
    if address is None:
        return host
    if address.is_unspecified:
        return "[::1]" if address.version == 6 else "127.0.0.1"
    return f"[{host}]" if address.version == 6 else host


async def _close(socket: web.WebSocketResponse, ending: Ending) -> None:
    """Close a socket with a reason, for at most `WAIT_SECONDS`."""
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            await socket.close(code=ending.code, message=ending.reason.encode())


async def _add_headers(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(HEADERS)


def _size(query: Mapping[str, str]) -> tuple[int, int]:
    """Return the size of a page; 80x24 if the query has none."""
    try:
        return clamped(int(query["width"]), int(query["height"]))
    except (KeyError, ValueError):
        return 80, 24


async def serve(serving: Serving, listening: socket.socket) -> None:
    """Serve until cancelled."""
    server, logger = Server(serving), logging.Logger("shapecalc.serving", logging.WARNING)
    logger.addHandler(Notices(serving.tell))
    options: dict[str, Any] = {"access_log": None, "logger": logger}
    runner = web.AppRunner(server.application(), shutdown_timeout=PATIENCE, keepalive_timeout=HEAD, **options)
    await runner.setup()
    assert runner.server is not None
    # a browser loads a page over 6 connections
    limiter = Crowd(runner.server, 64 + 6 * serving.sessions, server.standing, logger)
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(limiter.hear)
    listener = await loop.create_server(limiter.admit, sock=listening, backlog=BATCH)
    # the system's queue of connections that are not yet accepted
    listening.listen(512)
    try:
        await loop.create_future()
    finally:
        listener.close()
        await runner.cleanup()


@asynccontextmanager
async def _app(command: Sequence[str], environment: dict[str, str]) -> AsyncIterator[Process]:
    """Run an app; end it by closing its input, or kill it after 2 seconds."""
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    app = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=null, env=environment)
    try:
        yield app
    finally:
        _input(app).close()
        with suppress(TimeoutError):
            # the seconds for an app to end on its own
            async with asyncio.timeout(2):
                await app.wait()
        if app.returncode is None:
            app.kill()
            await app.wait()


def app_environment(query: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of an app.

    It has the server's module path, Textual's defaults, and the link of the request, because every user can read the
    arguments of a command.
    """
    link = [query["ask"], query.get("step", "")] if "ask" in query else None
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TEXTUAL")}
    path = os.pathsep.join(map(os.path.abspath, sys.path))
    columns, rows = map(str, _size(query))
    display = {"TEXTUAL_COLOR_SYSTEM": "truecolor", "COLUMNS": columns, "ROWS": rows}
    return {**inherited, **display, "PYTHONPATH": path, "SHAPECALC_LINK": json.dumps(link)}


async def _first(*ways: Coroutine[Any, Any, Ending]) -> Ending:
    """Return the result of the first coroutine that ends, and cancel the others."""
    tasks = [asyncio.ensure_future(way) for way in ways]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return done.pop().result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _typed(socket: web.WebSocketResponse, app: Process, idle: float) -> Ending:
    """Forward the browser's frames to the app; return why the session ended.

    Only key input resets the idle timeout.
    """
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
    """Forward the app's packets to the browser until its output ends."""
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
    r"""Return the packet for a browser's frame; empty if the app needs none.

    Raises `ProtocolError` for an invalid frame.

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
            case ["focus" | "blur" as kind]:
                return _packet(b"M", json.dumps({"type": kind}).encode())
    except (ValueError, RecursionError):
        pass
    raise Garbage


def clamped(width: int, height: int) -> tuple[int, int]:
    """Return a size within the limits of a page."""
    return max(1, min(width, MOST_CELLS[0])), max(1, min(height, MOST_CELLS[1]))


def _packet(kind: bytes, content: bytes) -> bytes:
    return b"%s%s%s" % (kind, len(content).to_bytes(4, "big"), content)


def link_frame(content: bytes) -> str:
    """Return the frame with an app's link; empty if the message is not a link.

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
    """Return the letter and the content of an app's next packet.

    Raises `ProtocolError` if it is too long.
    """
    head = await stream.readexactly(5)
    size = int.from_bytes(head[1:], "big")
    # 16 MiB, many times a full page with colours
    if size > 1 << 24:
        raise Garbage
    return head[:1], await stream.readexactly(size)

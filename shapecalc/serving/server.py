"""The web server of the terminal app, with one app process for each WebSocket.

An app process ends when its WebSocket is closed. The browser and the server exchange JSON frames. The server and an app
exchange packets of Textual's web driver (`textual/drivers/web_driver.py`). A packet consists of a letter, a length of
four bytes, and the content. The numbers of connections and of log lines are limited.
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
from html import escape
from importlib.resources import files
from importlib.resources.abc import Traversable
from ipaddress import IPv4Address, IPv6Address, ip_address
from mimetypes import guess_type
from pathlib import Path
from secrets import compare_digest, token_urlsafe
from time import monotonic
from traceback import extract_tb
from typing import Any
from urllib.parse import urlencode, urlsplit

import textual_serve
from aiohttp import WSMsgType, web, web_protocol
from aiohttp.http import HttpProcessingError
from aiohttp.typedefs import Handler
from aiohttp.web_protocol import RequestHandler

from shapecalc.core.problem import error_reason, usage_error
from shapecalc.core.record import Record
from shapecalc.core.text import escape_unprintable, truncate

HEAD_TIMEOUT = 5
"""The timeout, in seconds, for receiving the headers of a request."""
ACCEPT_BATCH = 8
"""The maximum number of connections that the event loop accepts at once."""
AUTHENTICATED, IN_SESSION = 1, 2
"""The states of a connection: authenticated by a valid token, or in a running session.

The initial state is 0.
"""
WAIT_SECONDS = 1
"""The maximum time, in seconds, to wait for a free session, a closing handshake or a shutdown.

A reloaded page opens its new socket before its old socket is closed, so the new socket must wait for a free session.
"""
RESPONSE_HEADERS = {
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
"""The headers of all responses. They forbid third-party content and framing."""
PAGE_FOLDER = files("shapecalc.serving") / "page"
"""The folder that contains the files of the page."""
MAX_PAGE_SIZE = (500, 200)
"""The maximum numbers of columns and lines of the terminal in a page."""
MAX_FRAME_BYTES = 1 << 18
"""The maximum size, in bytes, of a frame from a browser. Pasted text can be long."""
CPU_LIMIT_EXIT = -getattr(signal, "SIGXCPU", 0) or None
"""The exit code of an app that exceeds its CPU limit, or None if the system has no CPU limits."""
START_MARKER = b"__GANGLION__\n"
"""The line that an app writes before its first packet. Earlier output is ignored."""
HOST_NAME_PATTERN = re.compile(r"[a-z0-9_]([a-z0-9_.-]{0,252}[a-z0-9_.])?", re.I)
"""The pattern of host names. IP addresses are parsed with `ipaddress`."""


class ProtocolError(Exception):
    """Raised for a frame or a packet that violates the protocol."""


class SessionEnd(Record):
    """The WebSocket close code and the reason for the end of a session."""

    code: int
    reason: str


APP_ENDED = SessionEnd(1000, "the app has ended")
PAGE_CLOSED = SessionEnd(1000, "the page was closed")
PROTOCOL_VIOLATED = SessionEnd(1008, "the page sent something unexpected")
SERVER_ENDED = SessionEnd(1001, "the server has ended")
CPU_EXCEEDED = SessionEnd(1013, "the app took more CPU than it may")


class OwnerLogHandler(logging.Handler):
    """A log handler that reports each event as one line to the owner of the server.

    The lines contain no text from requests. Equal lines are reported at most once a minute.
    """

    def __init__(self, report: Callable[[str], None]) -> None:
        """Create a handler that passes each line to `report`."""
        super().__init__()
        self._report = report
        self._report_times: dict[str, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Report a malformed request, or a server error with its location in the code."""
        text, error = str(record.msg), record.exc_info[1] if record.exc_info else None
        if isinstance(error, HttpProcessingError):
            text = "a request that cannot be read is refused"
        elif error is not None:
            locations = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in extract_tb(error.__traceback__)]
            reason = error_reason(error) if isinstance(error, OSError) else type(error).__name__
            text = " at ".join([reason, *locations[-1:]])
        if monotonic() - self._report_times.get(text, -60) >= 60:
            self._report_times[text] = monotonic()
            self._report(f"shapecalc: {text}")


class ConnectionLimiter:
    """A limiter for the number of open connections.

    At the limit, the oldest connection is closed. Connections without the token are closed first, and connections with
    a session are never closed.
    """

    def __init__(
        self, server: web.Server, limit: int, states: dict[RequestHandler, int], logger: logging.Logger
    ) -> None:
        """Create a limiter for at most `limit` connections.

        `states` contains the state of each connection; the server updates it.
        """
        self._server, self._limit, self._states, self._logger = server, limit, states, logger

    def accept(self) -> RequestHandler:
        """Return the request handler for a new connection.

        At the limit, an old connection is closed.
        """
        connections = self._open_connections()
        for closed in self._states.keys() - connections:
            del self._states[closed]
        if len(connections) >= self._limit:
            self._logger.error("too many are connected; the oldest that has not shown the token is dropped")
            self._drop_oldest()
        handler = self._server()
        asyncio.get_running_loop().call_later(HEAD_TIMEOUT, self._drop_unauthenticated, handler)
        return handler

    def handle_loop_error(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log an error of the event loop.

        If the process has no free file descriptors, the limit is lowered.
        """
        self._logger.error(context["message"], exc_info=context.get("exception"))
        if "socket" in context:
            # reserve the remaining file descriptors for apps
            self._limit = min(self._limit, max(4 * ACCEPT_BATCH, len(self._server.connections) // 2))
            self._drop_oldest()

    def _drop_unauthenticated(self, connection: RequestHandler) -> None:
        """Close a connection unless it has sent a valid request."""
        if connection.transport is not None and connection not in self._states:
            _abort_connection(connection)

    def _open_connections(self) -> list[RequestHandler]:
        """Return the open connections, oldest first."""
        return [connection for connection in self._server.connections if connection.transport is not None]

    def _drop_oldest(self) -> None:
        # among equal states, `min` returns the oldest connection
        oldest = min(self._open_connections(), key=lambda connection: self._states.get(connection, 0), default=None)
        if oldest is not None and self._states.get(oldest) != IN_SESSION:
            _abort_connection(oldest)


class AccessPolicy(Record):
    """The host names and the token that valid requests contain."""

    host_names: frozenset[str]
    token: str

    def rejection_reason(self, host: str, origin: str | None) -> str:
        """Return the reason to reject a request, or an empty string.

        The headers `Host` and `Origin` are checked. A page of another site can send requests to this server, but their
        `Origin` is that site. A site whose name resolves to the address of this server (DNS rebinding) sends its own
        name as `Host`.

        >>> policy = AccessPolicy(frozenset({"box"}), "")
        >>> policy.rejection_reason("127.0.0.1:8000", None), policy.rejection_reason("box", "http://box")
        ('', '')
        >>> policy.rejection_reason("evil.example", None), policy.rejection_reason("box", "https://evil.example")
        ('this host is not served; its owner can add it: --allow-host NAME', 'another site may not use this one')
        """
        name = _parse_host_header(host)
        if not (name in self.host_names or is_loopback(name)):
            return "this host is not served; its owner can add it: --allow-host NAME"
        if origin is not None and origin.lower() not in (f"http://{host}".lower(), f"https://{host}".lower()):
            return "another site may not use this one"
        return ""

    def is_valid_token(self, token: str | None) -> bool:
        """Return whether a token is valid.

        The comparison takes constant time.
        """
        return compare_digest((token or "").encode("utf-8", "replace"), self.token.encode())


class ServerConfig(Record):
    """The configuration of a server."""

    command: Sequence[str]
    """The command that starts an app."""
    access_policy: AccessPolicy
    """The policy for hosts, origins and tokens."""
    max_sessions: int
    """The maximum number of concurrent sessions."""
    report: Callable[[str], None]
    """The function that reports a line to the owner of the server."""
    port: int
    """The port of the server."""
    idle_timeout: float = 3600
    """The time, in seconds, after which a session without input ends."""
    on_page_request: Callable[[], None] = lambda: None
    """The callback for page requests with a valid token."""

    @property
    def cookie(self) -> str:
        """The name of the cookie for the token.

        The name contains the port, because all servers on a host share their cookies.
        """
        return f"shapecalc-{self.port}"


class Server:
    """The request handlers and the sessions of the web server."""

    def __init__(self, config: ServerConfig) -> None:
        """Create a server without sessions."""
        self.config = config
        self.visitor_count = 0
        self._free_sessions = asyncio.Semaphore(config.max_sessions)
        self._sockets: set[web.WebSocketResponse] = set()
        self._downloads: dict[str, bytes] = {}
        self.connection_states: dict[RequestHandler, int] = {}

    def create_application(self) -> web.Application:
        """Create the aiohttp application with its routes."""
        application = web.Application(middlewares=[self.check_access])
        application.add_routes(
            [
                web.get("/", self.send_page),
                web.get("/ws", self.run_session),
                web.get("/download/{key}", self.send_download),
            ]
            + [web.get(f"/page/{file.name}", partial(self.send_page_file, file)) for file in PAGE_FOLDER.iterdir()]
        )
        # the static files of a browser terminal, from the package textual-serve
        application.router.add_static("/terminal", Path(textual_serve.__file__).parent / "static")
        application.on_response_prepare.append(_add_headers)
        application.on_shutdown.append(self.end_sessions)
        return application

    @web.middleware
    async def check_access(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Pass a valid request to its handler.

        The host and the origin must be accepted. The query or the cookie must contain the token, or the path must
        contain the key of a stored file. Raises `web.HTTPForbidden` for an invalid request.
        """
        policy = self.config.access_policy
        tokens = request.query.get("token"), request.cookies.get(self.config.cookie)
        reason = policy.rejection_reason(request.headers.get("Host", ""), request.headers.get("Origin"))
        is_known = any(map(policy.is_valid_token, tokens)) or request.match_info.get("key") in self._downloads
        if reason or not is_known:
            error = web.HTTPForbidden(
                text=reason
                or "open the whole address that shapecalc serve has printed, in a browser that keeps cookies"
            )
            error.force_close()
            raise error
        self.connection_states[request.protocol] = AUTHENTICATED
        return await handler(request)

    async def send_page(self, request: web.Request) -> web.Response:
        """Respond with the HTML page that runs the app.

        If the address contains the token, the response is a page that stores the token in a cookie and opens the
        address without the token. The token is then neither in the history nor in copied links. An HTTP redirect is not
        possible: after a link from another site, the browser would send the redirected request without the cookie.
        """
        self.config.on_page_request()
        if "token" not in request.query:
            return await self.send_page_file(PAGE_FOLDER / "page.html", request)
        query = urlencode([(name, value) for name, value in request.query.items() if name != "token"])
        address = escape(f"/?{query}" if query else "/")
        response = web.Response(
            text=f'<!DOCTYPE html><meta http-equiv="refresh" content="0;url={address}">\n', content_type="text/html"
        )
        token = self.config.access_policy.token
        response.set_cookie(self.config.cookie, token, path="/", httponly=True, samesite="Strict")
        return response

    async def send_page_file(self, file: Traversable, _request: web.Request) -> web.Response:
        """Respond with a static file of the page."""
        return web.Response(text=file.read_text("utf-8"), content_type=guess_type(file.name)[0])

    async def send_download(self, request: web.Request) -> web.Response:
        """Respond with a stored file of an app, and delete the file."""
        data = self._downloads.pop(request.match_info["key"], None)
        if data is None:
            raise web.HTTPNotFound
        is_picture = data.startswith(b"<svg")
        headers = {"Content-Disposition": f'attachment; filename="shapecalc.{"svg" if is_picture else "txt"}"'}
        kind = "image/svg+xml" if is_picture else "text/plain"
        return web.Response(body=data, content_type=kind, charset=None if is_picture else "utf-8", headers=headers)

    async def run_session(self, request: web.Request) -> web.WebSocketResponse:
        """Run an app for a WebSocket, and close the WebSocket."""
        # `heartbeat` is the interval between pings, in seconds
        response = web.WebSocketResponse(heartbeat=15, max_msg_size=MAX_FRAME_BYTES, timeout=WAIT_SECONDS)
        await response.prepare(request)
        self._sockets.add(response)
        try:
            await _close_socket(response, await self._run_app(request, response))
        finally:
            self._sockets.discard(response)
        return response

    async def _run_app(self, request: web.Request, response: web.WebSocketResponse) -> SessionEnd:
        """Run an app until it ends or its socket is closed.

        Returns the reason for the end of the session.
        """
        limit = self.config.max_sessions
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await self._free_sessions.acquire()
        except TimeoutError:
            return SessionEnd(1013, f"all {limit} places are taken; try again later")
        try:
            self.visitor_count += 1
            self.config.report(escape_unprintable(f"shapecalc: visitor {self.visitor_count}, from {request.remote}"))
            self.connection_states[request.protocol] = IN_SESSION
            async with _run_app_process(self.config.command, make_app_environment(request.query)) as app:
                ending = await _wait_for_first(
                    _forward_input(response, app, self.config.idle_timeout),
                    _forward_output(response, app, self._store_download),
                )
            return CPU_EXCEEDED if app.returncode == CPU_LIMIT_EXIT else ending
        except OSError:
            return SessionEnd(1011, "the server can start no app now; try again later")
        finally:
            self.connection_states[request.protocol] = AUTHENTICATED
            self._free_sessions.release()

    def _store_download(self, picture: bytes) -> str:
        """Store a file for download, and return its key."""
        # a browser may never download the files, so at most 8 are stored
        if len(self._downloads) >= 8:
            del self._downloads[next(iter(self._downloads))]
        key = token_urlsafe(32)
        self._downloads[key] = picture
        return key

    async def end_sessions(self, _application: web.Application) -> None:
        """Close all sockets, which ends their apps."""
        await asyncio.gather(*(_close_socket(socket, SERVER_ENDED) for socket in self._sockets))


def _abort_connection(connection: RequestHandler) -> None:
    """Close a connection without reading its remaining data."""
    assert connection.transport is not None
    connection.transport.abort()
    connection.force_close()


def create_access_policy(host: str, extra_hosts: list[str]) -> AccessPolicy:
    """Return the access policy for a listening address.

    `extra_hosts` are additional host names. Raises `ShapeError` (usage) if a host name is invalid.
    """
    names = [_check_host_name("--host", host), *(_check_host_name("--allow-host", name) for name in extra_hosts)]
    return AccessPolicy(frozenset(names), token_urlsafe(32))


def _check_host_name(option: str, name: str) -> str:
    if not HOST_NAME_PATTERN.fullmatch(name) and _parse_address(name) is None:
        raise usage_error(
            f"{option} is a host's name or address, without a port, not '{escape_unprintable(truncate(name))}'"
        )
    return name.lower()


def _parse_address(name: str) -> IPv4Address | IPv6Address | None:
    with suppress(ValueError):
        return ip_address(name)
    return None


def _parse_host_header(host: str) -> str:
    """Return the host name in a `Host` header, without the port.

    Returns an empty string if the header is malformed.
    """
    try:
        parts = urlsplit(f"//{host}")
        return (parts.hostname or "") if parts.netloc == host and parts.username is None and parts.port != -1 else ""
    except ValueError:
        return ""


def is_loopback(name: str) -> bool:
    """Return whether a host name or address is a loopback address.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    address = _parse_address(name)
    return name == "localhost" or (address is not None and address.is_loopback)


def url_host(host: str) -> str:
    """Return the host part of the URL for a browser on the same machine.

    If the server listens on all addresses, this is the loopback address.

    >>> url_host("::1"), url_host("box"), url_host("0.0.0.0")
    ('[::1]', 'box', '127.0.0.1')
    """
    address = _parse_address(host)
    if address is None:
        return host
    if address.is_unspecified:
        return "[::1]" if address.version == 6 else "127.0.0.1"
    return f"[{host}]" if address.version == 6 else host


async def _close_socket(socket: web.WebSocketResponse, ending: SessionEnd) -> None:
    """Close a socket with a close code and a reason, within `WAIT_SECONDS`."""
    with suppress(TimeoutError):
        async with asyncio.timeout(WAIT_SECONDS):
            await socket.close(code=ending.code, message=ending.reason.encode())


async def _add_headers(_request: web.Request | None, response: web.StreamResponse) -> None:
    response.headers.update(RESPONSE_HEADERS)
    response.headers.popall("Server", None)  # the default value contains the versions of Python and aiohttp


class ErrorResponse(web.Response):
    """The response to a malformed request.

    In this case, aiohttp does not emit the signal that adds headers to responses.
    """

    async def _prepare_headers(self) -> None:
        await super()._prepare_headers()
        await _add_headers(None, self)


web_protocol.Response = ErrorResponse  # type: ignore[attr-defined]  # there is no parameter for it


def _parse_page_size(query: Mapping[str, str]) -> tuple[int, int]:
    """Parse the terminal size in a query; the default is 80 by 24."""
    try:
        return clamp_size(int(query["width"]), int(query["height"]))
    except (KeyError, ValueError):
        return 80, 24


async def serve(config: ServerConfig, listening_socket: socket.socket) -> None:
    """Serve the app on `listening_socket` until the task is cancelled."""
    server, logger = Server(config), logging.Logger("shapecalc.serving", logging.WARNING)
    logger.addHandler(OwnerLogHandler(config.report))
    options: dict[str, Any] = {"access_log": None, "logger": logger}
    runner = web.AppRunner(
        server.create_application(), shutdown_timeout=WAIT_SECONDS, keepalive_timeout=HEAD_TIMEOUT, **options
    )
    await runner.setup()
    assert runner.server is not None
    # a browser opens up to 6 connections to load a page
    limiter = ConnectionLimiter(runner.server, 64 + 6 * config.max_sessions, server.connection_states, logger)
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(limiter.handle_loop_error)
    listener = await loop.create_server(limiter.accept, sock=listening_socket, backlog=ACCEPT_BATCH)
    # the system queues up to 512 connections
    listening_socket.listen(512)
    try:
        await loop.create_future()
    finally:
        listener.close()
        await runner.cleanup()


@asynccontextmanager
async def _run_app_process(command: Sequence[str], environment: dict[str, str]) -> AsyncIterator[Process]:
    """Run an app process during an `async with` block.

    At the end, the input of the process is closed. If the process does not exit within 2 seconds, it is killed.
    """
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    app = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=null, env=environment)
    try:
        yield app
    finally:
        _get_app_stdin(app).close()
        try:
            with suppress(TimeoutError):
                # an app does not exit while its pipe is full, so its remaining output is read
                async with asyncio.timeout(2):
                    await app.communicate()
        finally:  # runs also if the task is cancelled while it waits
            if app.returncode is None:
                app.kill()
                await app.communicate()


def make_app_environment(query: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables for an app process.

    They are the variables of the server without its Textual settings, and variables for the module path of the server,
    the terminal size and the link in the query. The link is not a command-line argument, because all users of the
    system can read the arguments of a process.
    """
    link = [query["ask"], query.get("step", "")] if "ask" in query else None
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TEXTUAL")}
    path = os.pathsep.join(map(os.path.abspath, sys.path))
    columns, rows = map(str, _parse_page_size(query))
    display = {"TEXTUAL_COLOR_SYSTEM": "truecolor", "COLUMNS": columns, "ROWS": rows}
    return {**inherited, **display, "PYTHONPATH": path, "SHAPECALC_LINK": json.dumps(link)}


async def _wait_for_first(*coroutines: Coroutine[Any, Any, SessionEnd]) -> SessionEnd:
    """Return the first result of several coroutines, and cancel the others."""
    tasks = [asyncio.ensure_future(way) for way in coroutines]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return done.pop().result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _forward_input(socket: web.WebSocketResponse, app: Process, idle_timeout: float) -> SessionEnd:
    """Forward frames from the browser to the app until the session ends.

    Only key input resets the idle timeout. Returns the reason for the end of the session.
    """
    try:
        async with asyncio.timeout(idle_timeout) as clock:
            while (frame := await socket.receive()).type is WSMsgType.TEXT:
                packet = encode_frame(frame.data)
                if packet.startswith(b"D"):
                    clock.reschedule(asyncio.get_running_loop().time() + idle_timeout)
                _get_app_stdin(app).write(packet)
                await _get_app_stdin(app).drain()
            return PAGE_CLOSED if socket.closed else PROTOCOL_VIOLATED
    except TimeoutError:
        return SessionEnd(1000, "nothing was typed for a long time")
    except ProtocolError:
        return PROTOCOL_VIOLATED
    except OSError:
        return APP_ENDED


async def _forward_output(
    socket: web.WebSocketResponse, app: Process, store_download: Callable[[bytes], str]
) -> SessionEnd:
    """Forward packets from the app to the browser until the app closes its output.

    Returns the reason for the end of the session.
    """
    assert app.stdout is not None
    try:
        await app.stdout.readuntil(START_MARKER)
        while True:
            kind, content = await read_packet(app.stdout)
            if kind == b"D":
                await socket.send_bytes(content)
            elif kind == b"P":
                await socket.send_str(json.dumps(["deliver_file_start", store_download(content)]))
            elif kind == b"M" and (link := encode_link_frame(content)):
                await socket.send_str(link)
    except (ProtocolError, IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
        return APP_ENDED


def _get_app_stdin(app: Process) -> StreamWriter:
    assert app.stdin is not None
    return app.stdin


def encode_frame(frame: str) -> bytes:
    r"""Encode a browser frame as a packet for the app.

    Pings and empty input are encoded as b"". Raises `ProtocolError` if the frame is invalid.

    >>> encode_frame('["stdin", "q"]')
    b'D\x00\x00\x00\x01q'
    >>> encode_frame('["resize", {"width": 1000000000, "height": 0}]')[5:]
    b'{"type": "resize", "width": 500, "height": 1}'
    """
    try:
        match json.loads(frame):
            case ["stdin", ""] | ["ping", _]:
                return b""
            case ["stdin", str(typed)]:
                return _encode_packet(b"D", typed.encode())
            case ["resize", {"width": int(width), "height": int(height)}]:
                width, height = clamp_size(width, height)
                return _encode_packet(b"M", json.dumps({"type": "resize", "width": width, "height": height}).encode())
            case ["focus" | "blur" as kind]:
                return _encode_packet(b"M", json.dumps({"type": kind}).encode())
    except (ValueError, RecursionError):
        pass
    raise ProtocolError


def clamp_size(width: int, height: int) -> tuple[int, int]:
    """Clamp a terminal size to the supported range."""
    return max(1, min(width, MAX_PAGE_SIZE[0])), max(1, min(height, MAX_PAGE_SIZE[1]))


def _encode_packet(kind: bytes, content: bytes) -> bytes:
    return b"%s%s%s" % (kind, len(content).to_bytes(4, "big"), content)


def encode_link_frame(content: bytes) -> str:
    """Convert a link message of the app to a browser frame.

    Other messages are converted to an empty string.

    >>> encode_link_frame(b'{"type": "link", "ask": "reshape 6 -1", "step": "1"}')
    '["link", {"ask": "reshape 6 -1", "step": "1"}]'
    >>> encode_link_frame(b'{"type": "exit"}')
    ''
    """
    match json.loads(content):
        case {"type": "link", "ask": str(ask), "step": str(step)}:
            return json.dumps(["link", {"ask": ask, "step": step}])
    return ""


async def read_packet(stream: StreamReader) -> tuple[bytes, bytes]:
    """Read the next packet of an app, and return its type and its content.

    Raises `ProtocolError` if the packet is too long.
    """
    head = await stream.readexactly(5)
    size = int.from_bytes(head[1:], "big")
    # 16 MiB is many times the size of a full screen with colours
    if size > 1 << 24:
        raise ProtocolError
    return head[:1], await stream.readexactly(size)

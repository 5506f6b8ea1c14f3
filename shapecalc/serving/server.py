"""The web server: a page for whoever has its address, and behind every page's socket an app of its own."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from mimetypes import guess_type
from pathlib import Path
from secrets import token_urlsafe

import textual_serve
from aiohttp import web
from aiohttp.typedefs import Handler

from shapecalc.core.text import visible
from shapecalc.serving.door import Door
from shapecalc.serving.session import LARGEST_FRAME, Ending, attend, clamped

IDLE = 3600
"""Seconds after which a page that nobody types in is closed."""
PATIENCE = 1
"""Seconds that a visitor waits for a place: a page that is opened anew comes before its old socket is gone."""
MOST_PICTURES = 8
"""How many pictures are kept until a browser has asked for them."""
HEARTBEAT = 15
"""Seconds between two questions whether a browser is still there."""
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
CLOSED = Ending(1001, "the server has ended")
OWN = files("shapecalc.serving") / "page"
TERMINAL = Path(textual_serve.__file__).parent / "static"
"""The terminal for browsers, as textual-serve installs it."""


@dataclass(frozen=True, slots=True)
class Serving:
    """What is served, to whom, and to how many at once."""

    command: Sequence[str]
    """What starts an app."""
    door: Door
    sessions: int
    tell: Callable[[str], None]
    """Tells the owner something, in one line."""
    idle: float = IDLE


class Server:
    """Answers requests, and counts who is here."""

    def __init__(self, serving: Serving) -> None:
        """Begin with nobody here."""
        self.serving = serving
        self.visitors = 0
        self._places = asyncio.Semaphore(serving.sessions)
        self._sockets: set[web.WebSocketResponse] = set()
        self._pictures: dict[str, bytes] = {}

    def application(self) -> web.Application:
        """Return what aiohttp runs."""
        made = web.Application(middlewares=[self.guard])
        made.add_routes(
            [web.get("/", self.page), web.get("/ws", self.socket), web.get("/download/{key}", self.picture)]
            + [web.get(f"/page/{file.name}", partial(_own_file, file)) for file in OWN.iterdir()]
        )
        made.router.add_static("/terminal", TERMINAL)
        made.on_response_prepare.append(_add_headers)
        made.on_shutdown.append(self.end_sessions)
        return made

    @web.middleware
    async def guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer a request, unless it comes from elsewhere."""
        refusal = self.serving.door.why_shut(request.headers.get("Host", ""), request.headers.get("Origin"))
        if refusal:
            raise web.HTTPForbidden(text=refusal)
        return await handler(request)

    def check_token(self, request: web.Request) -> None:
        """Raise the answer to a visitor who does not have the token."""
        if not self.serving.door.opens_with(request.query.get("token")):
            raise web.HTTPForbidden(text="open the whole address that shapecalc serve has printed")

    async def page(self, request: web.Request) -> web.Response:
        """Answer with the page."""
        self.check_token(request)
        return web.Response(text=(OWN / "page.html").read_text("utf-8"), content_type="text/html")

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
        self.check_token(request)
        made = web.WebSocketResponse(heartbeat=HEARTBEAT, max_msg_size=LARGEST_FRAME, timeout=PATIENCE)
        await made.prepare(request)
        self._sockets.add(made)
        try:
            await _close(made, await self._visit(request, made))
        finally:
            self._sockets.discard(made)
        return made

    async def _visit(self, request: web.Request, made: web.WebSocketResponse) -> Ending:
        """Run an app if there is a place for it; return why it is over."""
        most = self.serving.sessions
        try:
            async with asyncio.timeout(PATIENCE):
                await self._places.acquire()
        except TimeoutError:
            return Ending(1013, f"all {most} places are taken; try again later")
        try:
            self.visitors += 1
            self.serving.tell(visible(f"shapecalc: visitor {self.visitors}, from {request.remote}"))
            command = [*self.serving.command, *_link(request)]
            return await attend(made, command, _size(request), self.serving.idle, self._keep)
        finally:
            self._places.release()

    def _keep(self, picture: bytes) -> str:
        """Keep a picture until it is asked for, and return the key to ask with."""
        if len(self._pictures) >= MOST_PICTURES:
            del self._pictures[next(iter(self._pictures))]
        key = token_urlsafe(32)
        self._pictures[key] = picture
        return key

    async def end_sessions(self, _: web.Application) -> None:
        """Close every socket, and with it every app."""
        await asyncio.gather(*(_close(each, CLOSED) for each in self._sockets))


async def _own_file(file: Traversable, _: web.Request) -> web.Response:
    return web.Response(body=file.read_bytes(), content_type=guess_type(file.name)[0], charset="utf-8")


async def _close(socket: web.WebSocketResponse, ending: Ending) -> None:
    """Close a socket and say why, without waiting long for a visitor who does not read."""
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            await socket.close(code=ending.code, message=ending.reason.encode())


async def _add_headers(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(HEADERS)


def _size(request: web.Request) -> tuple[int, int]:
    """Return the size that a page says it has; 80x24 if it says none."""
    try:
        return clamped(int(request.query["width"]), int(request.query["height"]))
    except (KeyError, ValueError):
        return 80, 24


def _link(request: web.Request) -> list[str]:
    """Return the question and the step that an address holds, as a word of JSON in ASCII; nothing if it holds none."""
    ask = request.query.get("ask")
    return [] if ask is None else [json.dumps([ask, request.query.get("step", "")])]


async def serve(serving: Serving, listening: socket.socket) -> None:
    """Serve until this is cancelled."""
    made, logger = Server(serving).application(), _one_line_logger(serving.tell)
    runner = web.AppRunner(made, access_log=None, logger=logger, shutdown_timeout=PATIENCE)
    await runner.setup()
    try:
        await web.SockSite(runner, listening).start()
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


def _one_line_logger(tell: Callable[[str], None]) -> logging.Logger:
    """Return a logger that tells what went wrong in one line, without a traceback."""

    class OneLine(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            why = record.exc_info[1] if record.exc_info else ""
            tell(visible(f"shapecalc: {record.getMessage()}: {why!r}"))

    logger = logging.Logger("shapecalc.serving", logging.ERROR)
    logger.addHandler(OneLine())
    return logger

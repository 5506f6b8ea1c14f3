"""The connections that a server holds, and what it tells of them: so many and so much, whoever comes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from traceback import extract_tb
from typing import Any

from aiohttp.http import HttpProcessingError
from aiohttp.web import Server
from aiohttp.web_protocol import RequestHandler

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
        self._told: dict[str, tuple[float, int]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Tell that a request is none, or what went wrong here, and where."""
        what, error = str(record.msg), record.exc_info[1] if record.exc_info else None
        if isinstance(error, HttpProcessingError):
            what = "a request that cannot be read is refused"
        elif error is not None:
            places = [f"{Path(at.filename).name}:{at.lineno}" for at in extract_tb(error.__traceback__)]
            what = " at ".join([getattr(error, "strerror", None) or type(error).__name__, *places[-1:]])
        last, more = self._told.get(what, (float("-inf"), 0))
        if monotonic() - last < 60:
            self._told[what] = (last, more + 1)
        else:
            self._told[what] = (monotonic(), 0)
            self._tell(f"shapecalc: {what}" + (f"; this happened {more} times more since it was told" if more else ""))


class Crowd:
    """Who is connected. Where there are too many, the oldest goes that has not shown the token."""

    def __init__(self, server: Server, most: int, standing: dict[RequestHandler, int], logger: logging.Logger) -> None:
        """Begin with nobody connected."""
        self._server, self._most, self._standing, self._logger = server, most, standing, logger

    def admit(self) -> RequestHandler:
        """Return what handles a new connection, for which another one goes if there are too many."""
        if len(self._held()) >= self._most:
            self._logger.error("too many are connected; the oldest that has not shown the token is dropped")
            self._drop_oldest()
        return self._server()

    def hear(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log what the loop complains of. Where the system lets nobody more connect, fewer may be."""
        self._logger.error(context["message"], exc_info=context.get("exception"))
        if "socket" in context:
            # the rest of what the system allows is for apps
            self._most = min(self._most, max(4 * BATCH, len(self._server.connections) // 2))
            self._drop_oldest()

    async def watch(self) -> None:
        """Drop who does not say in time what they want, until this is cancelled."""
        seen: dict[RequestHandler, float] = {}
        while True:
            seen = {each: seen.get(each, monotonic()) for each in self._held()}
            for gone in self._standing.keys() - seen:
                del self._standing[gone]
            for unknown in seen.keys() - self._standing:
                # it was made up to half a second before it was seen
                if monotonic() - seen[unknown] > HEAD - 1:
                    _drop(unknown)
            await asyncio.sleep(0.5)

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

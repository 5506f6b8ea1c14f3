"""A real browser: the installed Chromium, driven through playwright."""

from __future__ import annotations

import asyncio
import os
import shutil
from contextlib import asynccontextmanager
from importlib.util import find_spec

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WHY_NOT = "no Chromium is installed" if BROWSER is None else "" if find_spec("playwright") else "playwright is missing"
"""The reason why no browser can be driven here; empty if one can."""
PYODIDE = os.environ.get("SHAPECALC_PYODIDE")
"""The folder of the npm package pyodide, for pages that run Python; None if unset."""


class Tab:
    """A page of the browser, with the output of the app since the last reset."""

    def __init__(self, page):
        self.page, self.painted, self._frame_received = page, b"", asyncio.Event()
        page.on("websocket", lambda socket: socket.on("framereceived", self._add_frame))
        self.downloads = asyncio.Queue()
        page.on("download", self.downloads.put_nowait)

    def _add_frame(self, frame):
        self.painted += frame if isinstance(frame, bytes) else b""
        self._frame_received.set()

    async def another(self):
        """Open another tab of this browser."""
        return Tab(await self.page.context.new_page())

    async def go(self, address):
        """Clear the painted output and go to an address."""
        self.painted = b""
        await self.page.goto(address)

    async def until(self, script):
        """Wait until a JavaScript expression is true in the page."""
        while not await self.page.evaluate(script):  # wait_for_function calls eval, which the page's CSP forbids
            await asyncio.sleep(0.02)

    async def until_painted(self, text):
        """Wait until the app has painted a text, and clear the painted output."""
        while text not in self.painted:
            self._frame_received.clear()
            await self._frame_received.wait()
        self.painted = b""

    async def resize(self, width, height):
        await self.page.set_viewport_size({"width": width, "height": height})


@asynccontextmanager
async def opened():
    """Start a browser and yield its only tab."""
    from playwright.async_api import async_playwright

    async with async_playwright() as playing:
        browser = await playing.chromium.launch(
            executable_path=BROWSER,
            args=["--no-sandbox"],
            ignore_default_args=["--disable-back-forward-cache"],  # a user's browser has the cache
        )
        try:
            yield Tab(await (await browser.new_context()).new_page())
        finally:
            await browser.close()

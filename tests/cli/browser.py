"""A real browser: the Chromium that is installed, driven through playwright, if both are there."""

from __future__ import annotations

import asyncio
import os
import shutil
from contextlib import asynccontextmanager
from importlib.util import find_spec

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WHY_NOT = "no Chromium is installed" if BROWSER is None else "" if find_spec("playwright") else "playwright is missing"
"""Why no browser can be driven here; nothing if one can."""
PYODIDE = os.environ.get("SHAPECALC_PYODIDE")
"""The folder of the npm package pyodide, for pages that run Python."""


class Tab:
    """A page that is looked at, with what the app has painted in it."""

    def __init__(self, page):
        self.page, self.painted, self._more = page, b"", asyncio.Event()
        page.on("websocket", lambda socket: socket.on("framereceived", self._keep))
        self.downloads = asyncio.Queue()
        page.on("download", self.downloads.put_nowait)

    def _keep(self, frame):
        self.painted += frame if isinstance(frame, bytes) else b""
        self._more.set()

    async def another(self):
        """Open one more tab of this browser."""
        return Tab(await self.page.context.new_page())

    async def go(self, address):
        """Go to an address; what was painted before is forgotten."""
        self.painted = b""
        await self.page.goto(address)

    async def until(self, script):
        """Wait until an expression is true in the page."""
        while not await self.page.evaluate(script):  # playwright's own waiting evaluates a text, which the page forbids
            await asyncio.sleep(0.02)

    async def until_painted(self, text):
        """Wait until the app has painted a text since the last time, and forget it."""
        while text not in self.painted:
            self._more.clear()
            await self._more.wait()
        self.painted = b""

    async def resize(self, width, height):
        await self.page.set_viewport_size({"width": width, "height": height})


@asynccontextmanager
async def opened():
    """Start a browser; its only tab."""
    from playwright.async_api import async_playwright

    async with async_playwright() as playing:
        browser = await playing.chromium.launch(
            executable_path=BROWSER,
            args=["--no-sandbox"],
            ignore_default_args=["--disable-back-forward-cache"],  # a reader's browser keeps a page that one leaves
        )
        try:
            yield Tab(await (await browser.new_context()).new_page())
        finally:
            await browser.close()

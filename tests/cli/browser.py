"""A real browser, driven through its own protocol for that: Chromium, if one is installed."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from contextlib import asynccontextmanager

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--window-size=1000,700", "about:blank")


class Tab:
    """A page that is looked at."""

    def __init__(self, socket):
        self.socket, self.asked, self.painted = socket, 0, b""

    async def ask(self, method, **params):
        """Have the browser do something, and return what it says of it."""
        self.asked += 1
        await self.socket.send_json({"id": self.asked, "method": method, "params": params})
        while True:
            said = await self.socket.receive_json()
            self._keep(said)
            if said.get("id") == self.asked:
                assert "error" not in said, said
                return said["result"]

    def _keep(self, said):
        if said.get("method") == "Network.webSocketFrameReceived":
            frame = said["params"]["response"]
            self.painted += base64.b64decode(frame["payloadData"]) if frame["opcode"] == 2 else b""

    async def value(self, script):
        """Return the value of an expression in the page."""
        return (await self.ask("Runtime.evaluate", expression=script, returnByValue=True))["result"].get("value")

    async def go(self, address):
        """Go to an address; what was painted before is forgotten."""
        self.painted = b""
        await self.ask("Page.navigate", url=address)

    async def until(self, script):
        """Wait until an expression is true in the page."""
        while not await self.value(script):
            pass

    async def until_painted(self, text):
        """Wait until the app has painted a text since the last time, and forget it."""
        while text not in self.painted:
            self._keep(await self.socket.receive_json())
        self.painted = b""

    async def press(self, key, code, modifiers=0):
        """Press a key of the keyboard, wherever the keyboard goes."""
        key_ = {"key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        await self.ask("Input.dispatchKeyEvent", type="rawKeyDown", **key_)
        await self.ask("Input.dispatchKeyEvent", type="keyUp", **key_)

    async def resize(self, width, height):
        await self.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )


@asynccontextmanager
async def opened(session, port, folder):
    """Start a browser, which is driven through a port; its only tab."""
    flags = [*FLAGS, f"--remote-debugging-port={port}", f"--user-data-dir={folder}"]
    browser = subprocess.Popen([BROWSER, *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        async with session.ws_connect(await _tab_address(session, port), max_msg_size=0) as socket:
            tab = Tab(socket)
            for domain in ("Page", "Network", "Runtime"):
                await tab.ask(f"{domain}.enable")
            yield tab
    finally:
        browser.terminate()
        browser.wait()


async def _tab_address(session, port):
    """Wait for the browser and return where its tab is driven."""
    from aiohttp import ClientError

    while True:
        try:
            async with session.get(f"http://127.0.0.1:{port}/json") as answer:
                tabs = json.loads(await answer.text())
        except ClientError:
            continue
        for tab in tabs:
            if tab["type"] == "page":
                return tab["webSocketDebuggerUrl"]

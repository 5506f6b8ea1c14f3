"""The app in a browser: a real server on loopback, which a real client and a real browser look at."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from urllib.request import urlopen

import pytest

from tests.cli.conftest import ROOT, command

pytestmark = pytest.mark.sessions(3)

aiohttp = pytest.importorskip("aiohttp", reason="aiohttp comes with textual-serve, which is not installed")
pytest.importorskip("textual_serve", reason="textual-serve is not installed")

PATIENCE = 30
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def started(*words):
    """Start to serve; the process, which ends with its group."""
    return subprocess.Popen(
        command("serve", *words),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    )


def ended(process):
    """End a server and the apps that it started; return what it told."""
    os.killpg(process.pid, signal.SIGTERM)
    try:
        return process.communicate(timeout=PATIENCE)[1]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[1]


def page(port):
    """Wait for the page and return it."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            with urlopen(f"http://127.0.0.1:{port}/", timeout=PATIENCE) as answer:
                assert answer.status == 200
                return answer.read().decode()
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.05)


@pytest.fixture(scope="module")
def port():
    port = free_port()
    process = started("--port", str(port), "reshape", "2,3,4", "0,-1")
    page(port)
    yield port
    ended(process)


def test_the_page_is_there(port):
    assert "shapecalc" in page(port)


async def _painted(port, text):
    """Return what the app writes to a browser until a text is among it."""
    seen = b""
    url = f"http://127.0.0.1:{port}/ws?width=80&height=24"
    async with aiohttp.ClientSession() as session, session.ws_connect(url) as socket_:
        async with asyncio.timeout(PATIENCE):
            while text not in seen:
                message = await socket_.receive()
                if message.type is aiohttp.WSMsgType.BINARY:
                    seen += message.data
                elif message.type is aiohttp.WSMsgType.TEXT and json.loads(message.data)[0] == "ping":
                    await socket_.send_str(json.dumps(["pong", json.loads(message.data)[1]]))
                assert message.type not in (aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.ERROR), seen
    return seen


def test_a_browser_sees_the_question_that_it_was_started_with(port):
    seen = asyncio.run(_painted(port, b"2,12"))
    assert b"allowzero" in seen


@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_a_real_browser_paints_it(port, tmp_path):
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=15000", "--window-size=1000,700"]
    url = f"http://127.0.0.1:{port}/"
    ran = subprocess.run(
        [BROWSER, *flags, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", url],
        capture_output=True,
        encoding="utf-8",
        timeout=4 * PATIENCE,
        check=False,
    )
    assert "-first-byte" in ran.stdout


def test_it_serves_this_machine_only_and_warns_of_any_other_address():
    port = free_port()
    process = started("--port", str(port))
    page(port)
    assert "authentication" not in ended(process)
    process = started("--port", str(port), "--host", "0.0.0.0")
    page(port)
    told = ended(process)
    assert "shapecalc: there is no authentication: whoever reaches 0.0.0.0 can use the app" in told


def test_a_port_in_use_is_told():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        process = started("--port", str(port))
        _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 4
    assert f"shapecalc: 127.0.0.1:{port}: " in told
    assert "Traceback" not in told


def test_bad_words_are_told_before_anything_is_served():
    process = started("reshape", "2,3", "--nope")
    _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert told.startswith("shapecalc: usage: reshape has no option '--nope'")


def test_an_interrupt_ends_it_quietly():
    port = free_port()
    process = started("--port", str(port))
    page(port)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode in (0, 130)
    assert "Traceback" not in told

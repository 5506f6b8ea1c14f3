"""The app in a browser: a server on loopback, with friendly clients, hostile clients and a real browser."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from functools import wraps
from html import unescape
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit
from urllib.request import Request, url2pathname, urlopen

import numpy as np
import pytest

from shapecalc.core.packages import missing_package_message
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import replace
from shapecalc.teaching.lessons import Course, load_lessons
from tests.cli.browser import WHY_NOT, opened
from tests.cli.conftest import ROOT, command, environment, expand_placeholders, rows, run_program
from tests.sampling import each_row
from tests.transcripts import Line, transcripts

aiohttp = pytest.importorskip("aiohttp", reason="aiohttp is not installed")
pytest.importorskip("textual_serve", reason="textual-serve is not installed")

from shapecalc.serving import server  # noqa: E402 - aiohttp may be missing
from shapecalc.serving.server import (  # noqa: E402
    MAX_FRAME_BYTES,
    AccessPolicy,
    ProtocolError,
    ServerConfig,
    create_access_policy,
    encode_frame,
    serve,
)
from shapecalc.tui.question import question_from_words  # noqa: E402
from shapecalc.tui.served import MAX_COURSE_BYTES, app_command  # noqa: E402

pytestmark = pytest.mark.sessions(2)

PATIENCE = 30
KEYS = {"ESC": "\x1b", "ENTER": "\r", "HOME": "\x1b[1~", "DELETE": "\x1b[3~"}
KEYS |= {"CTRL_G": "\x07", "CTRL_P": "\x10", "CTRL_U": "\x15"}
KEYS["CLICK"] = "\x1b[<0;18;2M\x1b[<0;18;2m"
"""A click after the text of the first field."""
READY, NO_FILES = "─▸", "a served app opens no files"
FRAME = aiohttp.WSMsgType


class Site:
    """A running server with its printed address."""

    def __init__(self, process, port, marker):
        self.process, self.port, self.marker = process, port, marker
        self.address = process.stdout.readline().strip()
        self.token = self.address.partition("token=")[2]

    def url(self, path="/", token=None):
        return f"http://127.0.0.1:{self.port}{path}?token={self.token if token is None else token}"

    def get(self, url, **headers):
        """Return the status and the text of a response, and store its headers."""
        try:
            with urlopen(Request(url, headers=headers), timeout=PATIENCE) as answer:
                self.headers = answer.headers
                return answer.status, answer.read().decode()
        except HTTPError as refused:
            self.headers = refused.headers
            return refused.code, refused.read().decode()

    @property
    def apps(self):
        """The process ids of the apps of this server, including after the server has ended."""
        words = ["ps", "-A", "-ww", "-o", "pid=", "-o", "stat=", "-o", "args="]
        listing = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        lines = [line.split(None, 2) for line in listing.splitlines()]
        pids = [pid for pid, stat, *args in lines if "tui.served" in args[0] and self.marker in args[0] and stat != "Z"]
        return [int(pid) for pid in pids]

    def wait_for_apps(self, count):
        """Wait until the number of apps is `count`."""
        end = time.monotonic() + PATIENCE
        while len(self.apps) != count:
            assert time.monotonic() < end, self.apps
            time.sleep(0.05)

    @asynccontextmanager
    async def visitor(self, width=80, height=24, **query):
        """Open a web socket as the page does."""
        query = urlencode({"width": width, "height": height, **query}, errors="surrogateescape")
        url = f"{self.url('/ws')}&{query}"
        async with (
            aiohttp.ClientSession() as session,
            asyncio.timeout(PATIENCE),
            session.ws_connect(url, max_msg_size=0) as visitor,
        ):
            yield visitor

    def visit(self, *steps, **query):
        """Play the steps of a visit; return the output since the last keys."""
        lines = [step_line(item) if isinstance(item, str) else item for item in steps]

        async def visit():
            async with self.visitor(**query) as visitor:
                return await play_steps(self, visitor, lines)

        return asyncio.run(visit())


@contextmanager
def site(*options, words=None, max_files=None, **changes):
    """Serve the app by a process with at most `max_files` open files; end the server and its apps with the block."""
    with socket.socket() as free_socket:
        free_socket.bind(("127.0.0.1", 0))
        port = free_socket.getsockname()[1]
    marker = f"{port},12"
    limited = ["sh", "-c", f'ulimit -n {max_files}; exec "$@"', "sh"] if max_files else []
    process = subprocess.Popen(
        [*limited, *command("serve", "--port", str(port), *options, *(words or ["reshape", marker, "0,3,-1"]))],
        cwd=ROOT,
        env={**environment(), **changes},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    )
    served = Site(process, port, marker)
    try:
        yield served
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        try:
            served.stderr_text = process.communicate(timeout=PATIENCE)[1]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            served.stderr_text = process.communicate()[1]


@asynccontextmanager
async def serve_in_process(*line, **options):
    """Serve one visitor at a time in this process; yield a socket of a page and the list of the reported lines."""
    listening, reports = socket.create_server(("127.0.0.1", 0)), []
    config = ServerConfig(
        line or app_command(question_from_words(["2,3", "6"])),
        AccessPolicy(frozenset(), "t"),
        1,
        reports.append,
        listening.getsockname()[1],
        **options,
    )
    running = asyncio.create_task(serve(config, listening))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}/ws?token=t"
    try:
        async with aiohttp.ClientSession() as session, asyncio.timeout(PATIENCE), session.ws_connect(url) as visitor:
            yield visitor, reports
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def read_close(visitor):
    """Wait until the server closes a socket; return the code and the reason."""
    while (frame := await visitor.receive()).type is not FRAME.CLOSE:
        pass
    return frame.data, frame.extra


async def read_message(visitor, kind):
    """Wait for a message of a kind to the page, and return its content."""
    async for frame in visitor:
        if frame.type is FRAME.TEXT and (message := json.loads(frame.data))[0] == kind:
            return message[1]
    raise AssertionError(visitor.close_code)


async def read_until_painted(visitor, *texts, output=b""):
    """Wait until the app has painted all texts; return `output` and its output since then."""
    for text in texts:
        while text.encode() not in output:
            frame = await visitor.receive()
            assert frame.type in (FRAME.BINARY, FRAME.TEXT), (frame, text, output)
            output += frame.data if frame.type is FRAME.BINARY else b""
    return output


def type_message(text):
    return json.dumps(["stdin", text])


def keys_message(keys):
    return type_message("".join(KEYS.get(word, word) for word in shlex.split(expand_placeholders(keys))))


def step_line(text):
    """Return a step of a visit as a line of a transcript."""
    return Line(text[0], text[2:], text) if text[:2] in (". ", "> ", "! ") else Line("", text, text)


async def play_steps(served, visitor, lines):
    """Play the lines of a transcript; return the output since the last keys."""
    output = b""
    for line in lines:
        text = expand_placeholders(line.text.replace("<marker>", served.marker))
        if line.sign == ".":
            output = b""
            await visitor.send_str(keys_message(text))
        elif line.sign == ":":
            await visitor.send_str(text)
        elif line.sign == "!":
            assert text.encode() not in output, line.location
        elif line.sign == "?":
            while await read_message(visitor, "link") != json.loads(text):
                pass
        elif line.sign == ">":
            url = served.url(f"/download/{await read_message(visitor, 'deliver_file_start')}")
            status, content = await asyncio.to_thread(served.get, url)
            served.downloaded = served.headers, content
            assert (status, text in content) == (200, True), line.location
            assert (await asyncio.to_thread(served.get, url))[0] == 404, f"{line.location}: a file is delivered once"
        else:
            output = await read_until_painted(visitor, text, output=output)
    return output


def run_async(test):
    """Return a test that runs a coroutine test."""

    @wraps(test)
    def run(*arguments, **options):
        asyncio.run(test(*arguments, **options))

    return run


@pytest.fixture(scope="module")
def here():
    """Yield a server that tests share."""
    with site() as served:
        yield served
    assert "Traceback" not in served.stderr_text
    assert served.token not in served.stderr_text


# Sessions of a visitor


@pytest.mark.parametrize("lines", transcripts(Path(__file__).parent / "sessions", r"\$|&|\.|:|!|\?|>"))
def test_serve_session_transcripts(lines, here):
    lines = [*lines]
    words = shlex.split(lines.pop(0).text) if lines[0].sign == "$" else []
    options = [word for word in words if word.startswith("--")]
    with site(*options, words=words[len(options) :]) if words else nullcontext(here) as served:
        while lines:
            query = dict(expand_placeholders(word).split("=", 1) for word in shlex.split(lines.pop(0).text))
            end = next((at for at, line in enumerate(lines) if line.sign == "&"), len(lines))
            served.visit(*lines[:end], **query)
            del lines[:end]


def test_serve_screen_is_sent_as_text(here):
    here.visit(READY, ". s", "> <marker>")
    headers, text = here.downloaded
    assert headers["Content-Type"] == "text/plain; charset=utf-8"
    assert 'filename="shapecalc.txt"' in headers["Content-Disposition"]
    assert len(text.splitlines()) == 24


@run_async
async def test_serve_command_does_not_contain_a_visitors_link(here):
    async with here.visitor(ask="reshape 7,8,3919 0,-1", width=100, height=30) as visitor:
        await read_until_painted(visitor, "shapecalc reshape 7,8,3919 0,-1")
        assert b"7,8,3919" not in subprocess.run(["ps", "-A", "-ww", "-o", "args="], stdout=-1, check=True).stdout


# Access


def test_serve_admits_token_and_same_origin(here):
    assert len(here.token) > 40
    for path, *header, expected in rows("serve_requests.txt"):
        url = f"http://127.0.0.1:{here.port}{path.replace('TOKEN', here.token)}"
        cells = [cell.replace("PORT", str(here.port)).replace("TOKEN", here.token) for cell in header]
        headers = dict(cell.split(": ", 1) for cell in cells)
        status, text = here.get(url, **headers)
        code, _, content = expected.partition(" ")
        assert (str(status), content or text) == (code, text), (path, header)
        policy = here.headers["Content-Security-Policy"]
        assert {"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"} <= {*policy.split("; ")}, path
        assert (here.headers["X-Frame-Options"], here.headers["Referrer-Policy"]) == ("DENY", "no-referrer"), path
        assert "Server" not in here.headers


def test_serve_first_visit_moves_the_token_to_a_cookie(here):
    for query, address in (("", "/"), ("&ask=reshape%202,3%20-1&step=2", "/?ask=reshape+2%2C3+-1&amp;step=2")):
        status, text = here.get(here.url() + query)
        assert (status, here.token in text) == (200, False)
        assert f'content="0;url={address}"' in text
        cookie, *attributes = here.headers["Set-Cookie"].split("; ")
        assert cookie == f"shapecalc-{here.port}={here.token}"
        assert {*attributes} == {"HttpOnly", "Path=/", "SameSite=Strict"}
        status, text = here.get(f"http://127.0.0.1:{here.port}{unescape(address)}", Cookie=cookie)
        assert (status, "terminal" in text, here.token in text) == (200, True, False)


@each_row(("host", "origin", "access"), rows("serve_doors.txt"))
def test_serve_checks_host_and_origin(host, origin, access):
    policy = create_access_policy("127.0.0.1", ["Box.Example"])
    reason = policy.rejection_reason(host, None if origin == "-" else origin)
    assert bool(reason) == (access == "out")
    assert origin != "-" or access == "in" or "--allow-host" in reason


def test_serve_allowed_host_and_access_log():
    with site("--host", "0.0.0.0", "--allow-host", "box.example") as served:
        assert urlsplit(served.address).netloc == f"127.0.0.1:{served.port}"
        assert served.get(served.url(), Host="box.example")[0] == 200
        assert served.get(served.url(), Host="other.example")[0] == 403
        for _ in range(2):
            served.visit()
    first, *lines = served.stderr_text.splitlines()
    assert "open no files and write none" in first
    assert "nothing is encrypted" in served.stderr_text
    assert lines[-2:] == [f"shapecalc: visitor {number}, from 127.0.0.1" for number in (1, 2)]


def test_serve_page_requests_files_with_the_cookie(here):
    root, cookie = f"http://127.0.0.1:{here.port}", {"Cookie": f"shapecalc-{here.port}={here.token}"}
    style = here.get(f"{root}/page/page.css", **cookie)[1]
    page = here.get(f"{root}/", **cookie)[1]
    paths = re.findall(r'(?:src|href)="(/[^"]*)"', page) + re.findall(r'url\("([^"]*)"\)', style)
    assert len(paths) == 5
    for path in paths:
        assert here.get(f"{root}{path}")[0] == 403
        with urlopen(Request(f"{root}{path}", headers=cookie), timeout=PATIENCE) as file:
            assert file.status == 200
    hiding = re.findall(r"([^{}]*){[^}]*display: none", style)  # the text, only while the app is shown
    assert [selector.strip() for selector in hiding] == ["body.-first-byte:not(.-closed) #words"]


def test_serve_browser_opens_by_a_temporary_private_file(tmp_path):
    script, opened_url, folder = tmp_path / "browser", tmp_path / "seen", tmp_path / "private"
    script.write_text(f'#!/bin/sh\nprintf %s "$1" > "{opened_url}.part"; mv "{opened_url}.part" "{opened_url}"\n')
    script.chmod(0o755)
    folder.mkdir()
    for visited in (True, False):
        with site("--open", BROWSER=f"{script} %s", TMPDIR=str(folder)) as served:
            end = time.monotonic() + PATIENCE
            while not opened_url.exists():
                assert time.monotonic() < end
                time.sleep(0.02)
            (file,) = folder.iterdir()
            assert Path(url2pathname(urlsplit(opened_url.read_text()).path)) == file
            assert file.stat().st_mode & 0o777 == 0o600
            assert f'0;url={served.address}"' in file.read_text()
            if visited:
                assert served.get(served.url(token="x"))[0] == 403
                assert file.exists()
                assert served.get(served.address)[0] == 200
                assert not file.exists()
        assert [*folder.iterdir()] == []
        opened_url.unlink()


# Files, questions and lessons


@run_async
async def test_serve_hides_files_and_their_existence(here, tmp_path):
    np.save(tmp_path / "secret.npy", np.zeros((7177, 5)))  # the screen shows 7177 nowhere else

    async def check_hidden(sent):
        async with here.visitor(width=200, height=50) as visitor:
            await read_until_painted(visitor, READY)
            await visitor.send_str(keys_message("CLICK HOME" + " DELETE" * 20))
            await asyncio.sleep(1)  # in one burst, letters are handled before keys bound to actions
            await visitor.send_str(type_message(sent))
            output = await read_until_painted(visitor, NO_FILES)
        assert b"7177" not in output
        assert b"exist" not in output.replace(str(tmp_path).encode(), b"")

    await asyncio.gather(
        check_hidden(f"{tmp_path}/secret.npy"), check_hidden(f"\x1b[200~{tmp_path}/nothing.npy\x1b[201~")
    )


OWN_LESSON = """
[[lesson]]
id = "one"
title = "My own"
text = "Look."
question = "transpose 2,3 1,0"
point = "It turned."
notes = "Whisper."
"""


def test_serve_reads_the_owners_files_once_at_start(tmp_path):
    array, lesson = tmp_path / "own.npy", tmp_path / "week3.toml"
    np.save(array, np.zeros((77, 55), "float32"))
    lesson.write_text(OWN_LESSON)
    with site(words=["reshape", str(array), "-1"]) as served:
        array.unlink()
        assert b"4235" in served.visit("--dtype float32")
    with site("--lesson-file", str(lesson)) as served:
        lesson.unlink()
        served.visit("My own", "! Whisper", ". 3,2 ENTER", "It turned.", "! Whisper", "! notes")


@pytest.mark.parametrize(("line", "code", "message"), rows("serve_refused.txt"))
def test_serve_invalid_options_are_reported_before_start(line, code, message, shapecalc, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mistake.toml").write_text(OWN_LESSON.replace("1,0", "1,0,2,,"))
    ran = shapecalc("serve", *shlex.split(line), stdin="2,3\n4,5\n")
    assert (ran.code, ran.out, ran.err.count("\n"), "\x1b" in ran.err) == (int(code), "", 1, False)
    assert message in ran.err


def test_serve_port_in_use_and_missing_package(shapecalc, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        ran = shapecalc("serve", "--port", str(port))
    assert (ran.code, ran.out, ran.err.startswith(f"shapecalc: 127.0.0.1:{port}: ")) == (4, "", True)
    monkeypatch.setitem(sys.modules, "textual_serve", None)
    monkeypatch.delitem(sys.modules, "shapecalc.serving.server")
    ran = shapecalc("serve")
    assert (ran.code, ran.out, ran.err) == (
        4,
        "",
        f"shapecalc: serve: {missing_package_message('textual_serve', 'serve')}\n",
    )


def test_serve_refuses_courses_that_are_too_long():
    lesson = load_lessons()[0]
    with pytest.raises(ShapeError, match="the lessons are too long to be served"):
        app_command(question_from_words(["2,3", "6"]), Course((replace(lesson, text="x" * MAX_COURSE_BYTES),)))


def test_serve_app_writes_no_files(tmp_path):
    folders = {name: str(tmp_path) for name in ("HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "TMPDIR")}
    with site(**folders, TEXTUAL_LOG=str(tmp_path / "log")) as served:
        lessons = (". CTRL_P", "Search", ". lessons", "Open the", ". ENTER")
        picture = (". CTRL_P", "Search", ". 'whole screen'", "(SVG)", ". ENTER", "> <svg")
        served.visit(READY, *lessons, "Predict", ". ENTER 24 ENTER", "✓", ". ESC", ". ESC", READY, *lessons, "✓")
        served.visit(READY, *picture)
    assert [*tmp_path.iterdir()] == []


# Limits against hostile visitors


LIMITED = """
import time
from shapecalc.tui import served
served.CPU_SECONDS, served.CPU_PERIOD_SECONDS = {limits}
served.limit_process_resources()
try:
    bytearray(served.MAX_MEMORY_BYTES)
except MemoryError:
    print("bounded", flush=True)
try:
    with open("x", "w", buffering=1) as file:
        file.write("x")
except OSError:
    print("unwritten", flush=True)
while time.process_time() < served.CPU_SECONDS + 0.3:
    pass
"""


@pytest.mark.parametrize(("limits", "code"), [((1, 60), -signal.SIGXCPU), ((2, 0.1), 0)])
def test_serve_app_limits_memory_files_and_cpu(limits, code, tmp_path):
    pytest.importorskip("resource", reason="the system has no limits for processes")
    ran = run_program([sys.executable, "-c", LIMITED.format(limits=limits)], cwd=tmp_path, capture_output=True)
    assert (ran.stdout.split(), ran.returncode) == ([b"bounded", b"unwritten"], code), ran.stderr


@each_row(("frame", "packet"), [("", "garbage"), *rows("serve_frames.txt")])
def test_serve_frame_is_a_packet_or_a_protocol_error(frame, packet):
    if packet == "garbage":
        with pytest.raises(ProtocolError):
            encode_frame(frame)
    else:
        kind, _, content = packet.encode().partition(b" ")
        length = len(content).to_bytes(4, "big")
        assert encode_frame(frame) == (b"" if packet == "nothing" else kind + length + content)


@run_async
async def test_serve_protocol_error_closes_one_session(here):
    deep, lone = "[" * 100_000, '["stdin", "\\ud800"]'
    async with here.visitor() as other:
        for frame, code in ((deep, 1008), (lone, 1008), (b"\xff\x00", 1008), ("x" * MAX_FRAME_BYTES * 2, 1009)):
            async with here.visitor() as visitor:
                await (visitor.send_bytes if isinstance(frame, bytes) else visitor.send_str)(frame)
                assert (await read_close(visitor))[0] == code
        await read_until_painted(other, READY)


@run_async
async def test_serve_overload_drops_the_oldest_connections(monkeypatch):
    """The visitor connects first, and no connection reaches its timeout."""
    monkeypatch.setattr(server, "HEAD_TIMEOUT", 10 * PATIENCE)
    async with serve_in_process() as (visitor, reports):
        port = visitor.get_extra_info("peername")[1]
        connections = [await asyncio.open_connection("127.0.0.1", port) for _ in range(100)]
        for reader, _ in connections[:30]:
            with suppress(ConnectionError):
                assert await reader.read() == b""
        assert not any(reader.at_eof() or reader.exception() for reader, _ in connections[-60:])
        await read_until_painted(visitor, READY)
        for _, writer in connections:
            writer.close()
    assert len([line for line in reports if "too many are connected" in line]) == 1


PARTIAL_REQUESTS = (
    b"",
    b"GET",
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ",
    b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n",
)
"""Incomplete requests without the token."""
NO_BODY = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n"


@run_async
async def test_serve_idle_connections_are_dropped(monkeypatch):
    monkeypatch.setattr(server, "HEAD_TIMEOUT", 0.2)
    async with serve_in_process() as (visitor, _):
        for sent in (*PARTIAL_REQUESTS, NO_BODY):  # aiohttp waits 10 seconds for the body
            reader, writer = await asyncio.open_connection("127.0.0.1", visitor.get_extra_info("peername")[1])
            writer.write(sent)
            with suppress(ConnectionError):
                await asyncio.wait_for(reader.read(), 8)
            writer.close()
        await read_until_painted(visitor, READY)


@pytest.mark.slow
def test_serve_partial_requests_do_not_block_others():
    """The connections exceed the open files of the server, and more are opened before each request."""
    connections = []
    with site("--sessions", "2", max_files=128) as served:
        for count in (40, *[5] * 5):
            for request in PARTIAL_REQUESTS * count:
                with suppress(OSError):  # the system may refuse the connection, or the server drop it
                    connections.append(socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE))
                    connections[-1].sendall(request)
            assert served.get(served.url())[0] == 200
        served.visit(READY)
        for connection in connections:
            connection.close()
    lines = [line for line in served.stderr_text.splitlines() if "visitor 1" not in line]
    assert "too many are connected; the oldest that has not shown the token is dropped" in served.stderr_text
    assert len({line.partition("; this happened")[0] for line in lines}) == len(lines) <= 4


UNREADABLE = ("GET /?token={} HTTP/9.9", "GET /?token={}\0 HTTP/1.1", "GET http://[::1/?token={} HTTP/1.1", "{} {} {}")
RAW = (b"\0" * 100, b"GET / HTTP/1.1\r\n" + b"x" * 100_000, b"GET /ws HTTP/1.1\r\n\r\n", b"POST / HTTP/9.9\r\n\r\n")


def test_serve_bad_request_log_is_anonymous_and_rate_limited():
    with site() as served:
        for line in UNREADABLE * 5:
            with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE) as visitor:
                visitor.sendall(f"{line.format(*[served.token] * 3)}\r\nHost: 127.0.0.1\r\n\r\n".encode())
                answer = b"".join(iter(lambda: visitor.recv(1000), b""))
                assert answer[:7] in (b"HTTP/1.", b"")  # an older aiohttp may close without an answer
                assert b"\r\nServer:" not in answer
        for sent in RAW:
            with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE) as visitor:
                visitor.sendall(sent)
                visitor.shutdown(socket.SHUT_WR)
                assert visitor.recv(100).startswith(b"HTTP/1.") or not visitor.recv(1)
        assert served.get(served.url())[0] == 200
    lines = served.stderr_text.splitlines()[1:]
    shown = [line for line in lines if not re.fullmatch(r"shapecalc: \w+ at _parse\.py:\d+", line)]  # an older yarl
    assert shown == ["shapecalc: a request that cannot be read is refused"]
    assert len({*lines}) == len(lines)


@run_async
async def test_serve_errors_are_logged_once_a_minute(monkeypatch):
    async with serve_in_process() as (_, reports):
        for now in (1000, 1001, 1059, 1061, 1062):
            monkeypatch.setattr(server, "monotonic", lambda now=now: now)
            try:
                AccessPolicy(frozenset(), "secret").is_valid_token(5)
            except AttributeError as error:
                asyncio.get_running_loop().call_exception_handler({"message": "secret", "exception": error})
        errors = reports[1:]
    assert len(errors) == 2
    assert all(re.fullmatch(r"shapecalc: AttributeError at server\.py:\d+", line) for line in errors)


@run_async
async def test_serve_session_limit_frees_places():
    async def close_code(visit):
        async with visit as visitor:
            return (await read_close(visitor))[0]

    with site("--sessions", "2") as served:
        async with served.visitor() as one, served.visitor() as two:
            await read_until_painted(one, READY)
            await read_until_painted(two, READY)
            assert await asyncio.gather(*(close_code(served.visitor()) for _ in range(8))) == [1013] * 8
            assert len(served.apps) == 2
        await asyncio.to_thread(served.wait_for_apps, 0)
        async with served.visitor():
            await asyncio.to_thread(served.wait_for_apps, 1)


IDLE_MESSAGES = (["focus"], ["blur"], ["ping", "1"], ["stdin", ""], ["resize", {"width": 80, "height": 24}])


@run_async
async def test_serve_idle_page_is_closed():
    async def send(visitor):
        while not visitor.closed:
            for frame in IDLE_MESSAGES:
                await visitor.send_str(json.dumps(frame))
            await asyncio.sleep(0.2)

    async with serve_in_process(idle_timeout=1) as (visitor, reports):
        for _ in range(6):  # longer than the timeout of an idle page
            await visitor.send_str(type_message("1"))
            await asyncio.sleep(0.2)
        assert not visitor.closed
        sending = asyncio.create_task(send(visitor))
        assert (await read_close(visitor))[1] == "nothing was typed for a long time"
        sending.cancel()
    assert reports == ["shapecalc: visitor 1, from 127.0.0.1"]


DYING = "import os, signal, sys; os.write(1, b'__GANGLION__\\n'); os.kill(os.getpid(), signal.SIGXCPU)"
NO_APP = {
    "the app has ended": (sys.executable, "-c", ""),
    "the app took more CPU than it may": (sys.executable, "-c", DYING),
    "the server can start no app now; try again later": ("/nowhere",),
}


@pytest.mark.parametrize("reason", NO_APP)
@run_async
async def test_serve_page_explains_a_missing_app(reason):
    async with serve_in_process(*NO_APP[reason]) as (visitor, _):
        assert (await read_close(visitor))[1] == reason


# Ends of apps


@run_async
async def test_serve_app_ends_with_its_socket(here):
    await asyncio.to_thread(here.wait_for_apps, 0)
    async with here.visitor() as visitor:
        await read_until_painted(visitor, READY)
        await asyncio.to_thread(here.wait_for_apps, 1)
        visitor._response.connection.transport.abort()
    await asyncio.to_thread(here.wait_for_apps, 0)


def test_serve_app_ends_if_its_visitor_stops_reading(here):
    """The output of the app fills every buffer, so that the app blocks in a write."""
    request = (
        f"GET /ws?token={here.token}&width=500&height=200 HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
        f"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {'A' * 22}==\r\n\r\n"
    ).encode()
    frame = keys_message("CTRL_G").encode()
    frames = bytes([0x81, 0x80 | len(frame)]) + bytes(4) + frame
    with socket.create_connection(("127.0.0.1", here.port)) as visitor:
        visitor.sendall(request)
        here.wait_for_apps(1)
        for _ in range(100):
            visitor.sendall(frames)
            time.sleep(0.01)
    here.wait_for_apps(0)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
@run_async
async def test_serve_apps_end_with_the_server(end):
    with site() as served:
        async with served.visitor() as visitor:
            await read_until_painted(visitor, READY)
            assert len(served.apps) == 1
            served.process.send_signal(end)
            with suppress(AssertionError):
                await read_message(visitor, "nothing")
        served.process.wait(timeout=PATIENCE)
        served.wait_for_apps(0)
    assert "Traceback" not in served.stderr_text
    assert served.process.returncode == (130 if end == signal.SIGINT else -end)


# A real browser


def in_browser(test):
    return pytest.mark.slow(pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)(run_async(test)))


@asynccontextmanager
async def browsing():
    """Yield a tab of a real browser and a site."""
    with site() as served:
        async with asyncio.timeout(4 * PATIENCE), opened() as tab:
            await tab.resize(1000, 700)
            yield tab, served


SHOWS_TEXT = """(() => {{
    const words = document.querySelector("#words");
    return words.checkVisibility() && words.textContent.startsWith("{}");
}})()"""
FITS = """(() => {
    const { right, bottom } = document.querySelector(".xterm-screen").getBoundingClientRect();
    const fits = (used, room) => used <= room && used > room - 40;
    return fits(right, innerWidth) && fits(bottom, innerHeight);
})()"""


@in_browser
async def test_serve_browser_opens_steps_resizes_and_closes():
    async with browsing() as (tab, served):
        await tab.go(served.address)
        await tab.until_painted(READY.encode())
        assert await tab.page.evaluate(FITS)
        await tab.page.keyboard.press("PageDown")
        await tab.until_painted(b"Step 2 of 4")
        await tab.resize(1400, 900)
        await tab.until(FITS)
        await tab.until_painted(b"\x1b[40;")
        await tab.page.keyboard.press("Control+q")
        await tab.until(SHOWS_TEXT.format("the app has ended"))
        await tab.go(served.address)
        await tab.until_painted(READY.encode())
        assert len(served.apps) == 1
        await tab.go("about:blank")
        await asyncio.to_thread(served.wait_for_apps, 0)
        await tab.page.go_back()
        await tab.until_painted(READY.encode())
    assert len(re.findall("visitor", served.stderr_text)) == 3


@in_browser
async def test_serve_browser_address_links_to_the_step():
    async with browsing() as (tab, served):
        await tab.go(f"{served.address}&{urlencode({'ask': 'reshape 7,8,3 0,-1', 'step': '1'})}")
        await tab.until_painted("Step 1 of 3 · dim 0".encode())
        await tab.page.keyboard.press("PageDown")
        await tab.until("new URL(location).searchParams.get('step') === '2'")
        for key in ("e", "End", "5"):
            await tab.page.keyboard.press(key)
        await tab.until("new URL(location).searchParams.get('ask') === 'reshape 7,8,35 0,-1'")
        link = tab.page.url
        assert served.token not in link
        await tab.go("about:blank")
        await tab.go(link)
        await tab.until_painted(b"7,8,35")
        await tab.go(f"{served.address}&ask=reshape%20/etc/x.npy%20-1")
        await tab.until_painted(b"a link may not name a file")


@in_browser
async def test_serve_browser_mouse_and_download(tmp_path):
    async with browsing() as (tab, served):
        await tab.go(served.address)
        await tab.until_painted(READY.encode())
        screen = await tab.page.locator(".xterm-screen").bounding_box()
        await tab.page.mouse.click(
            screen["x"] + 10, screen["y"] + screen["height"] - 5
        )  # the first key of the footer: →
        await tab.until_painted(b"Step 2 of 4")
        await tab.page.keyboard.press("Control+p")
        await tab.until_painted(b"Search")
        await tab.page.keyboard.type("whole screen")
        await tab.until_painted(b"as SVG")
        await tab.page.keyboard.press("Enter")
        download = await tab.downloads.get()
        await download.save_as(tmp_path / download.suggested_filename)

    assert (tmp_path / "shapecalc.svg").read_text().startswith("<svg")


@in_browser
async def test_serve_browser_reports_when_full():
    async with browsing() as (tab, served):
        tabs = [await tab.another() for _ in range(8)]
        await asyncio.gather(*(other.go(served.address) for other in tabs))
        await asyncio.gather(*(other.until_painted(READY.encode()) for other in tabs))
        await tab.go(served.address)
        await tab.until(SHOWS_TEXT.format("all 8 places are taken; try again later"))
        for other in tabs:
            await other.page.keyboard.press("PageDown")
        await asyncio.gather(*(other.until_painted(b"Step 2 of 4") for other in tabs))
    assert len(re.findall("visitor", served.stderr_text)) == 8

"""Send drawn lines to `mcp` and drawn requests to `serve`, and kill processes of `mcp` at random times.

    python -m tests.fuzz.peers TRIES [--seed N]

`mcp` must answer each request once, with JSON, and end with its input. `serve` must let nobody in without the token,
must not name its software, and must serve the owner after every request.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue
from random import Random
from threading import Thread

from tests.fuzz.tries import run_tries

ROOT = Path(__file__).parents[2]
PATIENCE = 60
"""Seconds after which an answer is missing."""
VALUES = [
    *("2,3", "N,C", [2, 3], [0, -1], "6", "0,-1", {"a": 1}, None, True, 1e400, "\udcff", "\x1b[2J", "9" * 400, [[2]]),
    *([], "", "2,3 | flatten", "reshape 2,3 6", {"target": [6]}, {"target": {"a": 1}}, 10**40, ["N", "?"], "../x.npy"),
    *(
        "RuntimeError: shape '[5, 5]' is invalid for input of size 24",
        "def f(x):\n    return x.view(2, -1)",
        "1," * 9000,
    ),
]
NAMES = [
    *("op", "input", "target", "arguments", "chain", "perm", "axis", "operands", "text", "code", "where", "dialect"),
    *("line", "message", "lines", "pattern", "first", "second", "a", "opset", "dtype"),
]
RAW = [
    *(
        b"",
        b"x",
        b"[]",
        b"{}",
        b"null",
        b"[" * 20_000,
        b"{" * 999,
        b'"' * 99,
        b"\xff\xfe",
        b"\0",
        b" ",
        b"\r",
        b"\xef\xbb\xbf",
    ),
    *(b'{"jsonrpc": "2.0"}', b'{"id": 1}', b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', b"x" * 200_000),
    *(b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}', b"NaN", b"1e999"),
    *(b'{"jsonrpc": "1.0", "id": 1, "method": 7}', b'{"jsonrpc": "2.0", "id": null, "method": "tools/call"}'),
]
"""Lines that are no requests with an id of their own."""


class Agent:
    """An agent of `mcp`: it sends lines, and collects the answers."""

    def __init__(self, folder):
        """Start the server in a folder, and initialize it."""
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, "-m", "shapecalc", "mcp"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
        )
        self.lines, self.number = Queue(), 0
        self.reader = Thread(target=self._read, daemon=True)
        self.reader.start()
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "fuzz", "version": "1"}}
        self.request("initialize", client)
        self.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode())
        self.tools = [tool["name"] for tool in self.request("tools/list", {})["result"]["tools"]]

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def send(self, line):
        """Send a line."""
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def request(self, method, params):
        """Send a request, and return its answer; raise `AssertionError` if an answer is missing or wrong."""
        self.number += 1
        identity = f"fuzz{self.number}"
        self.send(json.dumps({"jsonrpc": "2.0", "id": identity, "method": method, "params": params}).encode())
        while True:
            try:
                line = self.lines.get(timeout=PATIENCE)
            except Empty:
                raise AssertionError(f"no answer in {PATIENCE} s") from None
            assert line is not None, "the server has ended"
            answer = json.loads(line)
            if isinstance(answer, dict) and answer.get("id") == identity:
                assert ("result" in answer) != ("error" in answer), answer
                return answer
            assert not str(answer.get("id", "")).startswith("fuzz"), f"a second answer: {line[:200]}"

    def kill_worker(self):
        """Kill a process of the server, if it has one."""
        with suppress(OSError, IndexError, ProcessLookupError):
            children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
            os.kill(int(children[0]), signal.SIGKILL)

    def end(self):
        """Close the input of the server, and return what is wrong with its end."""
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.reader.join()
        self.process.stdout.close()
        with self.errors:
            self.errors.seek(0)
            text = self.errors.read().decode("utf-8", "replace")
        wrong = [] if code == 0 else [f"exit code {code}"]
        return wrong + [f"{word}: {text[-600:]}" for word in ("Traceback", "fault:") if word in text]


def draw_arguments(random):
    """Draw the arguments of a tool."""
    return {random.choice(NAMES): random.choice(VALUES) for _ in range(random.randint(0, 4))}


def attack_mcp(count, random, folder):
    """Send drawn lines to a server, and yield what is wrong."""
    agent, line = Agent(folder), b""
    try:
        for _ in range(count):
            if random.random() < 0.3:
                line = random.choice(RAW)
                agent.send(line)
                answer = agent.request("ping", {})
                assert "result" in answer, answer
                continue
            if random.random() < 0.03:
                agent.kill_worker()
            name = random.choice([*agent.tools, *agent.tools, "nope", ""])
            line = json.dumps({"name": name, "arguments": random.choice([draw_arguments(random)] * 9 + [None, 7])})
            answer = agent.request(random.choice(["tools/call"] * 9 + ["nope"]), json.loads(line))
            assert "Traceback" not in json.dumps(answer), answer
            assert "has died" not in json.dumps(answer), answer
    except (AssertionError, BrokenPipeError, ValueError) as error:
        yield f"after {line[:300]}: {type(error).__name__}: {error}"
    yield from agent.end()


HEADERS = [
    *("Host: 127.0.0.1:PORT", "Host: 127.0.0.1:PORT", "Host: evil.example", "Host:", "Origin: http://evil.example"),
    *("Origin: http://127.0.0.1:PORT", "Cookie: shapecalc-PORT=x", "Cookie: shapecalc-PORT=" + "y" * 4000),
    *("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: x", "X: \xff"),
    *("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Content-Length: 5", "Content-Length: -1", "X: \0", "a b: c"),
    *("Transfer-Encoding: chunked", "Expect: 100-continue", "Range: bytes=0-1", "X: " + "z" * 9000, "Accept: */*"),
]
PATHS = [
    *(
        "/",
        "/ws",
        "/?token=x",
        "/ws?token=",
        "//",
        "/../../etc/passwd",
        "/static/..%2f..%2fx",
        "/%00",
        "*",
        "",
        "/?" + "a" * 9000,
    ),
    *("/file/x", "/ws?width=-1&height=1e9", "/?ask=reshape+2,3+6", "http://evil.example/", "/page.js", "/favicon.ico"),
]
METHODS = ["GET", "GET", "GET", "HEAD", "POST", "PUT", "OPTIONS", "CONNECT", "get", "\x16\x03\x01", "G" * 300]
VERSIONS = ["HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/9.9", "HTTP/2.0", "", "PRI * HTTP/2.0"]


def draw_request(random, port):
    """Draw the bytes of a request without the token."""
    if random.random() < 0.1:
        return random.randbytes(random.randint(0, 400))
    headers = [random.choice(HEADERS) for _ in range(random.randint(0, 7))]
    line = f"{random.choice(METHODS)} {random.choice(PATHS)} {random.choice(VERSIONS)}"
    text = "\r\n".join([line, *headers, "", random.choice(["", "", "x" * 5, "5\r\nhello\r\n0\r\n\r\n"])])
    end = "\r\n" if random.random() < 0.9 else ""
    return (text + end).replace("PORT", str(port)).encode("latin-1")


def exchange(port, sent, *, is_whole=False):
    """Send bytes to a port, and return the beginning of the answer; after a request that may be cut, end the input."""
    received = b""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=8) as visitor:
        visitor.sendall(sent)
        if not is_whole and not select.select([visitor], [], [], 0.2)[0]:
            visitor.shutdown(socket.SHUT_WR)
        while len(received) < 1 << 16 and (part := visitor.recv(1 << 14)):
            received += part
    return received


def attack_serve(count, random, folder):
    """Send drawn requests to a server, and yield what is wrong."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "shapecalc", "serve", "--port", str(port), "reshape", "2,3", "6"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryFile() as errors:
        server = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=errors)
        token = server.stdout.readline().decode().partition("token=")[2].partition("&")[0].strip()
        assert token, "the server has printed no address"
        owner = f"GET /?token={token} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode()
        for number in range(count):
            sent = draw_request(random, port)
            answer = exchange(port, sent)
            head, _, body = answer.partition(b"\r\n\r\n")
            if b"\nserver:" in head.lower():
                yield f"{sent[:300]} is answered with the header Server"
            if answer and not answer.startswith(b"HTTP/"):
                yield f"{sent[:300]} is answered with {answer[:100]}"
            status = head.split(b" ")[1:2]
            if status in ([b"200"], [b"101"]) or token.encode() in body:
                yield f"{sent[:300]} is let in: {answer[:300]}"
            if number % 25 == 24 and b" 200 " not in exchange(port, owner, is_whole=True)[:20]:
                yield f"the owner is not served after {sent[:300]}"
        server.send_signal(signal.SIGINT)
        try:
            code = server.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            server.kill()
            code = server.wait()
        server.stdout.close()
        errors.seek(0)
        text = errors.read().decode("utf-8", "replace")
    if code not in (0, 130) or "Traceback" in text or "fault:" in text:
        yield f"ends with {code}: {text[-600:]}"


def attack(count, seed):
    """Run the tries, half of them against each server, print the findings, and return their number."""
    random, findings = Random(seed), []
    with tempfile.TemporaryDirectory() as folder:
        for part in (attack_mcp, attack_serve):
            findings += [f"{part.__name__}: {wrong}" for wrong in part(count // 2, random, folder)]
    print(*findings, sep="\n\n")
    return len(findings)


if __name__ == "__main__":
    sys.exit(run_tries("peers", attack))

"""Run drawn command lines with hostile streams, files, limits and signals.

    python -m tests.fuzz.streams TRIES [--seed N]

Each try is a forked process with real file descriptors, in a folder of special files. It must end in time, with an exit
code of the manual, without a traceback or a fault, and without temporary files; existing files keep their content.
"""

from __future__ import annotations

import io
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np

from shapecalc import __main__
from shapecalc.cli.options import COMMAND_MODULES, load_command
from tests.fuzz.running import CODES, HIDDEN
from tests.fuzz.tries import run_tries

PATIENCE = 40
"""Seconds after which a try hangs."""
KEPT = {
    "kept.npy": b"",
    "cases.txt": b"reshape 2,3 6 => 6\nreshape 2,3 7\nx\n\xff\n\0\n",
    "kept.svg": b"<svg/>",
    "log.txt": b"RuntimeError: shape '[5, 5]' is invalid for input of size 24\n" * 20,
    "net.py": b"def f(x):\n    return x.view(2, -1)\n",
    "model.onnx": b"\x08\x08\x12\x00",
    "week.toml": b'[[lesson]]\ntitle = "x"\n',
}
"""The regular files of the folder, which no command changes unless it is told to."""
FILES = [
    *(*KEPT, "missing.npy", "folder", "folder/x.zarr", "loop.npy", "/dev/zero", "/dev/null"),
    *("/dev/full", "/dev/urandom", ".", "", "\udcff.npy", "a\nb.npy", "a" * 300 + ".npy", "x.zarr:../..", "-"),
    *("kept.npy:x", "/proc/self/mem", "/proc/self/fd/0", "new.npy", "new.svg", "~", "new.zarr", "/dev/fd/9", "*"),
]
SHAPES = ["2,3", "N,C", "2,3,4", "-", "[", "9" * 2000, "1," * 3000, "\udc80", "a b c", "?,5,7", "x.npy", "0,0"]
LINES = (
    "{shape} {shape}",
    "reshape {shape} {shape}",
    "transpose {file} -o {file}",
    "reshape {file} 6 -o {file} --force",
    "check {file}",
    "check {file} {file} --json",
    "check --update {file}",
    "check --junit {file} {file}",
    "check",
    "doctor {file}",
    "doctor",
    "doctor {file} --model {file}",
    "code {file} --input x={shape}",
    "code - --input {shape}",
    "match {shape} {file} {file}",
    "match {shape} {file} --junit {file}",
    "model {file}",
    "model {file} --json",
    "model {file} --fix -o {file}",
    "repl",
    "drill --seed a",
    "drill --print 3 -o {file}",
    "drill --print 3 -o {file} --force",
    "drill --check-lessons {file}",
    "tui --lesson-file {file}",
    "serve --lesson-file {file} --nope",
    "size {shape}",
    "size -",
    "film reshape 2,3 6 -o {file}",
    "reshape 2,3 6 --picture {file}",
    "reshape 2,3 6 --picture {file} --force",
    "",
    "{file}",
    "{file} {file}",
    "{file} / {shape}",
    "{shape} + {file}",
    "{shape}",
    "help {shape}",
    "why {shape}",
    "chain '- | flatten'",
    "chain '{shape} | flatten'",
    "reshape - 6",
    "flatten - --json",
    "concat 2,3 - --axis 0",
    "find {shape} {shape}",
    "find --before {file} --after {file}",
    "equiv '2,3 | flatten' '| reshape 6'",
    "explain 3 4",
    "size {file}",
    "transpose {file}",
    "broadcast {file} {shape}",
    "flatten {file} --values",
    "flatten {file} --follow 1",
    "compare {shape}",
    "simplify '{shape} | flatten'",
    "backends",
    "dialects",
    "help cases",
    "reshape 2,3 6 -e",
)
STDIN = [
    *(b"", b"2,3\n", b"2,3", b"\n\n", b"\0", b"\xff\xfe2\0", b"\xef\xbb\xbf2,3\n", b"2,3\n" * 300, b"x" * 200_000),
    *(b"reshape 2,3 6 => 6\n" * 50, b"RuntimeError: shape '[5, 5]' is invalid for input of size 24\n", b"\r\n2,3\r\n"),
    *(b"x.view(2, -1)\n", b"def f(x):\n  return x\n", b"{" * 5000, b"[" * 5000, b"'" * 999, bytes(range(256)) * 50),
    *(b'{"op": "reshape", "input": [2, 3], "target": [6]}\n', b"2,3 | flatten\n", b"quit\n2,3\n", b"\x1b[2J\n" * 30),
]
ENCODINGS = ["utf-8", "utf-8", "ascii", "latin-1", "utf-16", "cp037", "shift_jis"]


@dataclass(frozen=True)
class Try:
    """A command line with its circumstances."""

    words: tuple[str, ...]
    stdin: bytes
    source: str
    """What standard input is: a pipe, a pipe that stays open, a file, closed."""
    sink: str
    """What standard output is: a pipe, a closed pipe, a full device, a closed descriptor."""
    encoding: str
    most_bytes: int | None
    """The limit on the size of files, which acts as a full disk."""
    signal: int | None
    delay: float
    vanishing: str
    """A file that is deleted while the command runs; empty if there is none."""


def draw(random):
    """Draw a try."""
    pieces = random.choice(LINES).split(" ")
    names = {"file": lambda: random.choice(FILES), "shape": lambda: random.choice(SHAPES)}
    line, words = iter(pieces), []
    for piece in line:
        while piece.startswith("'") and not piece.endswith("'"):
            piece += f" {next(line)}"
        for name, pick in names.items():
            while f"{{{name}}}" in piece:
                piece = piece.replace(f"{{{name}}}", pick(), 1)
        words += [piece.strip("'")] if piece else []
    if random.random() < 0.15:
        words += random.choice(
            [["--json"], ["-q"], ["--expect", "6"], ["--strict"], ["-e"], ["-d", "torch"], ["--nope"]]
        )
    return Try(
        tuple(words),
        random.choice(STDIN),
        random.choice(["pipe"] * 6 + ["file", "closed", "open"]),
        random.choice(["pipe"] * 6 + ["broken", "full", "closed"]),
        random.choice(ENCODINGS),
        random.choice([None, None, None, 0, 100, 4096]),
        random.choice([None] * 6 + [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]),
        random.random() * 0.05,
        random.choice([""] * 5 + ["kept.npy", "cases.txt", "folder"]),
    )


def make_folder(folder):
    """Create the special files of a folder."""
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for name, data in KEPT.items():
        (folder / name).write_bytes(data)
    np.save(folder / "kept.npy", np.zeros((2, 3)))
    (folder / "folder").mkdir()
    (folder / "folder" / "cases.txt").write_text("reshape 2,3 6\n")
    (folder / "loop.npy").symlink_to("loop.npy")


def run_child(attempt, source, sink, errors, ready):
    """Run a try in a forked process; never return."""
    code = 99
    try:
        for descriptor, number in ((source, 0), (sink, 1), (errors, 2)):
            os.dup2(descriptor, number) if descriptor is not None else os.close(number)
        os.dup2(ready, 3)
        os.closerange(4, 64)
        set_limits(attempt)
        open_text = io.TextIOWrapper
        sys.stdin = None if source is None else open_text(open(0, "rb"), attempt.encoding)  # noqa: SIM115
        sys.stdout = None if sink is None else open_text(open(1, "wb"), attempt.encoding)  # noqa: SIM115
        sys.stderr = open_text(open(2, "wb", buffering=0), "utf-8", write_through=True)  # noqa: SIM115
        sys.argv = ["shapecalc", *attempt.words]
        os.write(3, b"!")
        os.close(3)
        code = __main__.main()
        if sys.stdout is not None:
            sys.stdout.flush()
    except SystemExit as ended:
        code = ended.code or 0
    except KeyboardInterrupt:  # before the program starts
        code = 130
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def set_limits(attempt):
    """Limit the files and the memory of a try."""
    if attempt.most_bytes is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (attempt.most_bytes, attempt.most_bytes))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # as Python does at its start
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)


def perform(attempt, folder, scratch):
    """Run a try and return the complaints about it."""
    reading, writing = os.pipe()
    source = {"pipe": reading, "open": reading, "closed": None}.get(attempt.source)
    if attempt.source == "file":
        (scratch / "stdin").write_bytes(attempt.stdin)
        source = os.open(scratch / "stdin", os.O_RDONLY)
    out_reading, out_writing = os.pipe()
    full = os.open("/dev/full", os.O_WRONLY)
    sink = {"full": full, "closed": None}.get(attempt.sink, out_writing)
    errors = os.open(scratch / "stderr", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    ready_reading, ready_writing = os.pipe()
    child = os.fork()
    if not child:
        os.chdir(folder)
        os.close(writing)
        os.close(out_reading)
        run_child(attempt, source, sink, errors, ready_writing)
    for descriptor in {reading, out_writing, full, ready_writing, *([source] if source is not None else [])}:
        os.close(descriptor)
    os.read(ready_reading, 1)
    os.close(ready_reading)
    if attempt.sink == "broken":
        os.close(out_reading)
    status = drive(attempt, child, folder, writing, None if attempt.sink == "broken" else out_reading)
    text = (scratch / "stderr").read_text("utf-8", "replace")
    os.close(errors)
    return complaints(attempt, status, text, folder)


def drive(attempt, child, folder, writing, reading):
    """Feed and drain the streams of a process until it ends; return its status, or None if it hangs."""
    pump, start, is_signalled = Pump(attempt, writing, reading), time.monotonic(), attempt.signal is None
    ended = status = 0
    while not ended and (seconds := time.monotonic() - start) < PATIENCE:
        pump.move(seconds)
        ended, status = os.waitpid(child, os.WNOHANG)
        if not (ended or is_signalled) and seconds > attempt.delay:
            is_signalled = True
            os.kill(child, attempt.signal)
        if attempt.vanishing and seconds > attempt.delay / 2:
            path = folder / attempt.vanishing
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    if not ended:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    pump.close()
    return status if ended else None


class Pump:
    """The ends of the pipes of a process: its input is written, and its output is read and dropped."""

    def __init__(self, attempt, writing, reading):
        self.rest = attempt.stdin if attempt.source in ("pipe", "open") else b""
        self.closes_late, self.writing, self.reading = attempt.source == "open", writing, reading
        for descriptor in filter(None, (writing, reading)):
            os.set_blocking(descriptor, False)

    def move(self, seconds):
        """Move what can be moved; an input that stays open is closed after a second."""
        with suppress(BlockingIOError, BrokenPipeError):
            if self.rest:
                self.rest = self.rest[os.write(self.writing, self.rest[:65536]) :]
        if self.writing is not None and not self.rest and not (self.closes_late and seconds < 1):
            os.close(self.writing)
            self.writing = None
        with suppress(BlockingIOError):
            while self.reading is not None and os.read(self.reading, 65536):
                pass
        if not self.rest:
            time.sleep(0.001)

    def close(self):
        """Close the ends that are open."""
        for descriptor in (self.writing, self.reading):
            if descriptor is not None:
                os.close(descriptor)


def complaints(attempt, status, text, folder):
    """Yield what is wrong with the outcome of a try."""
    if status is None:
        return [f"no end in {PATIENCE} s"]
    code = os.waitstatus_to_exitcode(status)
    found = []
    if attempt.signal == signal.SIGINT and code == 70:  # the interruption of an import in C is a SyntaxError
        return []
    if code not in CODES | ({130, -attempt.signal, 128 + attempt.signal} if attempt.signal else set()):
        found.append(f"exit code {code}")
    found += [word for word in ("Traceback", "fault:") if word in text and attempt.signal is None]
    found += [f"prints {match.group()!r}" for match in [HIDDEN.search(text)] if match]
    if code != -signal.SIGKILL and text.count("\n") > 60 and "reshape" in attempt.words:
        found.append(f"{text.count(chr(10))} lines of messages")
    names = {path.name for path in folder.iterdir()}
    strange = {name for name in names if name.endswith(".part") or name.startswith(".")}
    if strange and attempt.signal is None:
        found.append(f"leaves {sorted(strange)}")
    told = {"--force", "--update", "--junit"} & {*attempt.words}
    for name, data in KEPT.items():
        changed = name in names and name != "kept.npy" and (folder / name).read_bytes() != data
        if changed and not told:
            found.append(f"changes {name}")
    return [*found, text[-600:]] if found else []


def attack(count, seed):
    """Run drawn tries, print the first of each kind with complaints, and return their number."""
    random, findings, kinds = Random(seed), 0, set()
    for name in COMMAND_MODULES:
        load_command(name)
    with TemporaryDirectory() as folder, TemporaryDirectory() as scratch, TemporaryDirectory() as home:
        os.environ |= {"XDG_DATA_HOME": home, "XDG_STATE_HOME": home, "XDG_CONFIG_HOME": home}
        for _ in range(count):
            make_folder(Path(folder))
            attempt = draw(random)
            wrong = perform(attempt, Path(folder), Path(scratch))
            kind = (attempt.words[:1], wrong[0]) if wrong else None
            if wrong and kind not in kinds:
                kinds.add(kind)
                findings += 1
                print(str(attempt)[:800], *wrong, sep="\n", end="\n\n", flush=True)
    return findings


if __name__ == "__main__":
    sys.exit(run_tries("streams", attack))

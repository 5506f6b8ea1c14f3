"""Run several processes that write the same file at once, some of which are killed.

    python -m tests.fuzz.writers TRIES [--seed N]

Afterwards the file is complete, nothing of an ended process is lost, an unreadable file is kept under another name, and
no temporary file remains.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np

from shapecalc import __main__
from shapecalc.cli.options import load_command
from shapecalc.teaching.progress import Progress
from tests.fuzz.tries import run_tries

PATIENCE = 60
"""Seconds after which a writer hangs."""
ARRAY = np.arange(24 << 10, dtype=np.int32).reshape(2, -1, 4)
CASES = "".join(f"reshape {size},3 -1 => 7\n" for size in range(1, 40))
UPDATED = "".join(f"reshape {size},3 -1 => {3 * size}\n" for size in range(1, 40))
CODE = "def f(x):\n    y = x.reshape(2, -1)\n    return y.T\n"
OLD_PROGRESS = {
    "missing": None,
    "old": '{"done": ["hole"], "drill": {"asked": 5, "right": 2, "streak": 0, "best": 2, "boxes": {}}}',
    "newer": '{"version": 9, "done": [], "drill": {"asked": 5, "right": 5, "streak": 5, "best": 5, "goal": 9}}',
    "unreadable": '{"version": 9, "done": {"hole": 1}}',
    "cut": '{"done": ["ho',
}
"""The progress files that exist before the writers start, by what they are."""


@dataclass(frozen=True)
class Writer:
    """A process: what it does, and the delay in seconds after which it is killed, if it is."""

    work: Callable[[], int]
    killed_after: float | None


@dataclass(frozen=True)
class Ending:
    """The end of a writer: the exit code, which is negative for a signal; None if it hangs."""

    code: int | None
    was_killed: bool


def run_writers(writers, folder, log):
    """Run writers at once in a folder, and return their endings; `log` receives their output."""
    children = [start(writer.work, folder, log) for writer in writers]
    start_time, endings = time.monotonic(), {}
    while len(endings) < len(children) and (seconds := time.monotonic() - start_time) < PATIENCE:
        for number, (child, writer) in enumerate(zip(children, writers, strict=True)):
            if number in endings:
                continue
            if writer.killed_after is not None and seconds > writer.killed_after:
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                code = os.waitstatus_to_exitcode(status)
                endings[number] = Ending(code, code == -signal.SIGKILL)
        time.sleep(0.001)
    for number, child in enumerate(children):
        if number not in endings:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            endings[number] = Ending(None, True)
    return [endings[number] for number in range(len(writers))]


def start(work, folder, log):
    """Fork a process that does some work in a folder; return its id."""
    child = os.fork()
    if child:
        return child
    code = 99
    try:
        os.chdir(folder)
        nothing, output = os.open(os.devnull, os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        for descriptor, number in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(descriptor, number)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
        code = work()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        with suppress(Exception):
            traceback.print_exc()
            sys.stderr.flush()
    finally:
        os._exit(code)


def run_in_child(function):
    """Return the JSON value of a function that a forked process calls, since Zarr's threads do not survive a fork."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            value = function()
        except Exception as error:
            value = [f"the file cannot be read: {type(error).__name__}: {error}"]
        os.write(writing, json.dumps(value).encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text)


def command(*words):
    """Return the work of a command line."""

    def work():
        sys.argv = ["shapecalc", *words]
        return __main__.main()

    return work


def answers(lesson, count):
    """Return the work of a lesson that is completed, and of some answered exercises."""

    def work():
        progress = Progress(Path("lessons.json"))
        progress.mark_done(lesson)
        for number in range(count):
            progress.record_answer("copied", number % 3, right=number % 2 == 0)
        return int(bool(progress.pop_error_message()) and Path("lessons.json").exists())

    return work


class Kind:
    """A kind of file that several processes write: how it is prepared, written and checked."""

    def prepare(self, random, folder):
        """Write the files of a folder."""

    def works(self, random, count):
        """Return the works of some writers."""

    def complaints(self, folder, endings):
        """Yield what is wrong after the writers ended."""
        return ()


class ProgressKind(Kind):
    """The progress of the user."""

    def prepare(self, random, folder):
        """Write an old progress file, which may be unreadable."""
        self.old = random.choice([*OLD_PROGRESS])
        if OLD_PROGRESS[self.old] is not None:
            (folder / "lessons.json").write_text(OLD_PROGRESS[self.old])

    def works(self, random, count):
        """Return writers of a lesson and some answers each."""
        self.counts = [random.randint(0, 6) for _ in range(count)]
        return [answers(f"lesson{number}", answered) for number, answered in enumerate(self.counts)]

    def complaints(self, folder, endings):
        """Yield lost answers, lessons, fields and unreadable files."""
        file, is_readable = folder / "lessons.json", self.old in ("old", "newer")
        ended = [number for number, ending in enumerate(endings) if not ending.was_killed]
        if not file.exists():
            if ended or is_readable:
                yield "the progress is gone"
            return
        content = json.loads(file.read_text())
        base = 5 if is_readable else 0
        least, most = (
            base + sum(self.counts[number] for number in numbers) for numbers in (ended, range(len(endings)))
        )
        asked = content.get("drill", {}).get("asked", 0) if isinstance(content, dict) else 0
        is_new = is_readable or self.old == "missing" or bool(ended)
        if is_new and not least <= asked <= most:
            yield f"{asked} answers, and {least} to {most} were given"
        if is_new and not {f"lesson{number}" for number in ended} <= {*content["done"]}:
            yield f"lessons are lost: {content}"
        if self.old == "newer" and (content.get("version"), content["drill"].get("goal")) != (9, 9):
            yield f"unknown fields are lost: {content}"
        old = OLD_PROGRESS[self.old]
        backups = [path.read_text() for path in folder.glob("lessons.json.unreadable-*")]
        if self.old in ("unreadable", "cut") and old not in [*backups, file.read_text()]:
            yield "the unreadable file is lost"
        if len(backups) > (self.old in ("unreadable", "cut")):
            yield f"{len(backups)} files are called unreadable"


class OutputKind(Kind):
    """An array file or a store that several command lines write, with and without `--force`."""

    def __init__(self, ending):
        """Set the format, by the ending of the file name."""
        self.ending = ending

    def prepare(self, random, folder):
        """Write the input, and sometimes an old output."""
        self.names = f"x.{self.ending}", f"y.{self.ending}"
        self.is_forced, self.has_old = random.random() < 0.5, random.random() < 0.3
        run_in_child(lambda: self.write_arrays(folder))

    def write_arrays(self, folder):
        """Write the input and the old output."""
        for name, array in zip(self.names, (ARRAY, ARRAY[:1]), strict=True):
            if name[0] == "x" or self.has_old:
                self.write(folder / name, array)

    def write(self, path, array):
        """Write an array in the format."""
        if self.ending == "npy":
            np.save(path, array)
        else:
            import zarr

            zarr.create_array(path, shape=array.shape, chunks=(1, 1 << 10, 4), dtype=array.dtype)[...] = array

    def read(self, path):
        """Read an array in the format."""
        if self.ending == "npy":
            return np.load(path)
        import zarr

        return zarr.open_array(path, mode="r")[...]

    def works(self, random, count):
        """Return writers of transposes and flips."""
        force = ["--force"] if self.is_forced else []
        lines = (["transpose", self.names[0], "2,0,1"], ["flip", self.names[0], "0"])
        return [command(*random.choice(lines), "-o", self.names[1], *force) for _ in range(count)]

    def complaints(self, folder, endings):
        """Yield an output that is none of the results, or that was replaced without permission."""
        output, written = folder / self.names[1], [ending for ending in endings if ending.code == 0]
        if not output.exists():
            if written or (self.has_old and not self.is_forced):
                yield "there is no output"
            return
        results = [ARRAY.transpose(2, 0, 1), ARRAY[::-1], *([ARRAY[:1]] if self.has_old else [])]
        if not any(np.array_equal(self.read(output), result) for result in results):
            yield "the output is none of the results"
        if not self.is_forced and len(written) > (not self.has_old):
            yield f"{len(written)} wrote the output, and none was told to replace it"
        if not np.array_equal(self.read(folder / self.names[0]), ARRAY):
            yield "the input has changed"


class RewriteKind(Kind):
    """A text file that several command lines rewrite in place."""

    def __init__(self, name, old, new, *words):
        """Set the name, the content before and after, and the command line."""
        self.name, self.old, self.new, self.words = name, old, new, words

    def prepare(self, random, folder):
        """Write the file."""
        (folder / self.name).write_text(self.old)

    def works(self, random, count):
        """Return equal writers."""
        return [command(*self.words)] * count

    def complaints(self, folder, endings):
        """Yield a content that is neither the old nor the new one."""
        text = (folder / self.name).read_text()
        if text not in (self.old, self.new):
            yield f"the file is neither the old nor the new one: {text[-200:]!r}"
        if text == self.old and any(ending.code in (0, 1) for ending in endings):
            yield "the file is not rewritten"


KINDS = {
    "progress": ProgressKind(),
    "array": OutputKind("npy"),
    "store": OutputKind("zarr"),
    "cases": RewriteKind("cases", CASES, UPDATED, "check", "--update", "cases"),
    "code": RewriteKind(
        *("net.py", CODE, CODE.replace("-1)", "-1)  # y: 2,6").replace("y.T", "y.T  # 6,2")),
        *("code", "net.py", "--input", "4,3", "--annotate", "--in-place"),
    ),
}
"""The kinds of files, by name."""
CODES = {0, 1, 4}


def perform(name, random, folder, log):
    """Run a try of a kind in an empty folder, and return the complaints about it."""
    kind = KINDS[name]
    kind.prepare(random, folder)
    count = random.randint(2, 4)
    delays = [random.choice([None, None, random.random() * 0.08]) for _ in range(count)]
    works = kind.works(random, count)
    endings = run_writers([Writer(*pair) for pair in zip(works, delays, strict=True)], folder, log)
    found = [f"ends with {ending.code}" for ending in endings if not ending.was_killed and ending.code not in CODES]
    found += ["a writer hangs" for ending in endings if ending.code is None]
    found += run_in_child(lambda: [*kind.complaints(folder, endings)])
    remaining = {path.name for path in folder.iterdir() if path.name.startswith(".") or ".part" in path.name}
    if remaining and not any(ending.was_killed for ending in endings):
        found.append(f"leaves {sorted(remaining)}")
    text = log.read_text("utf-8", "replace") if log.exists() else ""
    found += [word for word in ("Traceback", "fault:") if word in text]
    return [*found, str(endings), text[-600:]] if found else []


def attack(count, seed):
    """Run drawn tries, print the first of each kind of complaints, and return their number."""
    random, findings, seen = Random(seed), 0, set()
    for name in ("transpose", "flip", "check", "code"):
        load_command(name)
    with TemporaryDirectory() as folder, TemporaryDirectory() as scratch:
        log = Path(scratch, "log")
        for _ in range(count):
            for path in (*Path(folder).iterdir(), *Path(scratch).iterdir()):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            name = random.choice([*KINDS])
            wrong = perform(name, random, Path(folder), log)
            if wrong and (name, wrong[0]) not in seen:
                seen.add((name, wrong[0]))
                findings += 1
                print(name, *wrong, sep="\n", end="\n\n", flush=True)
    return findings


if __name__ == "__main__":
    sys.exit(run_tries("writers", attack))

"""Command lines run in this process, and what is wrong with how they ended."""

from __future__ import annotations

import gc
import io
import json
import os
import re
import signal
import sys
import traceback
import warnings
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from unittest import mock

from shapecalc import __main__
from shapecalc.cli import typer_adapter
from shapecalc.core.text import UNPRINTABLE_CODES

CODES = {0, 1, 2, 3, 4}
PATIENCE = 30
"""Seconds after which a command line hangs."""
HIDDEN = re.compile(rf"[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff{''.join(map(chr, sorted(UNPRINTABLE_CODES)))}]")
"""Characters that are never printed as they are."""
VARYING = re.compile(r"'[^']*'|[^\s:]*[\d,*\\][^\s:]*")
"""What differs between messages of one kind."""
MOST_WORDS = 3
"""The words of a message that tell its kind."""


@dataclass(frozen=True)
class Attempt:
    """A command line, what stands on standard input, and the files of its folder as Latin-1."""

    words: tuple[str, ...]
    stdin: str = ""
    files: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def read(line):
        """Return the attempt of a line of the corpus."""
        found = json.loads(line)
        return Attempt(tuple(found["words"]), found.get("stdin", ""), found.get("files", {}))

    def line(self):
        """Return its line for the corpus."""
        return json.dumps({name: value for name, value in asdict(self).items() if value})


@dataclass(frozen=True)
class Outcome:
    """How a command line ended."""

    code: int | None
    out: str
    err: str
    failure: str = ""
    """The traceback, if it ended in one."""

    def complaints(self):
        """Return what no command line may do and this one did."""
        if self.failure:
            return [self.failure]
        found = [] if self.code in CODES else [f"exit code {self.code}: {self.err.strip()}"]
        hidden = HIDDEN.search(self.out + self.err)
        return found + ([f"prints {hidden.group()!r}"] if hidden else [])

    def kind(self):
        """Return what outcomes of one kind share: the exit code and the message without what varies."""
        said = VARYING.sub("#", self.err.partition("\n")[0])
        return self.code, " ".join(said.split()[:MOST_WORDS]), bool(self.out)


class Hang(BaseException):
    """A command line took too long. No handler of the program catches it."""


def _hang(*_):
    raise Hang(f"no answer in {PATIENCE} seconds")


@contextmanager
def prepared(folder):
    """Run in a folder, with warnings as errors, and with what Typer makes of each command made once."""
    before = os.getcwd()
    os.chdir(folder)
    made = cache(typer_adapter.build_app)
    nowhere = mock.patch.dict(os.environ, XDG_DATA_HOME=os.devnull)  # what is drilled is no progress of whoever runs it
    once = mock.patch.object(typer_adapter, "build_app", lambda words: made(tuple(words[:1])))
    with warnings.catch_warnings(), nowhere, once:
        warnings.simplefilter("error")
        if hasattr(signal, "SIGALRM"):
            signal.signal(signal.SIGALRM, _hang)
        try:
            yield
        finally:
            os.chdir(before)


def run(attempt):
    """Return the outcome of an attempt in the current folder, which is left empty."""
    for name, text in attempt.files.items():
        Path(name).write_bytes(text.encode("latin-1"))
    outcome = ended(attempt.words, attempt.stdin)
    for path in Path().iterdir():
        path.unlink()
    return outcome


def ended(words, stdin="", *, together=False):
    """Return how a command line ends in the current folder; `together`, standard error is part of what it prints."""
    data = io.BytesIO(stdin.encode("utf-8", "surrogateescape"))
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    streams = {"stdout": out, "stderr": out if together else err}
    streams["stdin"] = io.TextIOWrapper(io.BufferedReader(data), "utf-8")
    code, failure = None, ""
    with mock.patch.multiple(sys, argv=["shapecalc", *words], **streams):
        _alarm(PATIENCE)
        try:
            code = __main__.main()
        except BaseException:  # whatever it is, it would have been a traceback
            failure = traceback.format_exc()
        finally:
            _alarm(0)
    gc.unfreeze()
    return Outcome(code, *(stream.buffer.getvalue().decode("utf-8", "replace") for stream in (out, err)), failure)


def _alarm(seconds):
    if hasattr(signal, "SIGALRM"):
        signal.setitimer(signal.ITIMER_REAL, seconds)

"""Run command lines in this process, and list what is wrong with their outcomes."""

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
"""Characters that are always escaped in output."""
VARYING = re.compile(r"'[^']*'|[^\s:]*[\d,*\\][^\s:]*")
"""The parts that differ between messages of one kind."""
MOST_WORDS = 3
"""The number of words that identify the kind of a message."""


@dataclass(frozen=True)
class Attempt:
    """A command line, its standard input, and the files of its folder as Latin-1."""

    words: tuple[str, ...]
    stdin: str = ""
    files: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def read(line):
        """Parse a line of the corpus."""
        fields = json.loads(line)
        return Attempt(tuple(fields["words"]), fields.get("stdin", ""), fields.get("files", {}))

    def line(self):
        """Return the attempt as a line of the corpus."""
        return json.dumps({name: value for name, value in asdict(self).items() if value})


@dataclass(frozen=True)
class Outcome:
    """The outcome of a command line."""

    code: int | None
    out: str
    err: str
    failure: str = ""
    """The traceback, if there is one."""

    def complaints(self):
        """Return the violations of the rules for all command lines."""
        if self.failure:
            return [self.failure]
        violations = [] if self.code in CODES else [f"exit code {self.code}: {self.err.strip()}"]
        hidden = HIDDEN.search(self.out + self.err)
        return violations + ([f"prints {hidden.group()!r}"] if hidden else [])

    def kind(self):
        """Return the kind: the exit code, the constant words of the message, and whether there is output."""
        message = VARYING.sub("#", self.err.partition("\n")[0])
        return self.code, " ".join(message.split()[:MOST_WORDS]), bool(self.out)


class Hang(BaseException):
    """Raised when a command line takes too long; no handler of the program catches it."""


def _hang(*_):
    raise Hang(f"no answer in {PATIENCE} seconds")


@contextmanager
def prepared(folder):
    """Run in a folder, with warnings as errors, and with the Typer app of each command built once."""
    before = os.getcwd()
    os.chdir(folder)
    cached_build = cache(typer_adapter.build_app)
    no_progress = mock.patch.dict(os.environ, XDG_DATA_HOME=os.devnull)  # the user's progress file stays as it is
    build_once = mock.patch.object(typer_adapter, "build_app", lambda words: cached_build(tuple(words[:1])))
    with warnings.catch_warnings(), no_progress, build_once:
        warnings.simplefilter("error")
        if hasattr(signal, "SIGALRM"):
            signal.signal(signal.SIGALRM, _hang)
        try:
            yield
        finally:
            os.chdir(before)


def run(attempt):
    """Run an attempt in the current folder, and empty the folder."""
    for name, text in attempt.files.items():
        Path(name).write_bytes(text.encode("latin-1"))
    outcome = ended(attempt.words, attempt.stdin)
    for path in Path().iterdir():
        path.unlink()
    return outcome


def ended(words, stdin="", *, together=False):
    """Run a command line in the current folder; with `together`, standard error is merged into the output."""
    data = io.BytesIO(stdin.encode("utf-8", "surrogateescape"))
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    streams = {"stdout": out, "stderr": out if together else err}
    streams["stdin"] = io.TextIOWrapper(io.BufferedReader(data), "utf-8")
    code, failure = None, ""
    with mock.patch.multiple(sys, argv=["shapecalc", *words], **streams):
        _alarm(PATIENCE)
        try:
            code = __main__.main()
        except BaseException:  # the program would print a traceback
            failure = traceback.format_exc()
        finally:
            _alarm(0)
    gc.unfreeze()
    return Outcome(code, *(stream.buffer.getvalue().decode("utf-8", "replace") for stream in (out, err)), failure)


def _alarm(seconds):
    if hasattr(signal, "SIGALRM"):
        signal.setitimer(signal.ITIMER_REAL, seconds)

"""Libraries that live in environments of their own: asked through a worker process, so that a crash is an answer."""

from __future__ import annotations

import json
import os
import select
import subprocess
from pathlib import Path

import pytest

from tests.engines.library_worker import MARK

WORKER = Path(__file__).with_name("library_worker.py")
LONGEST = 120
"""The seconds that a library may take for one answer, its start included."""


class Library:
    """A library in its worker process."""

    def __init__(self, name, python):
        """Start nothing yet."""
        self.command, self.process = [python, str(WORKER), name], None

    def ask(self, op, shape, dtype="float32", **arguments):
        """Return the shape that the library gives; None if it refuses, or if the process dies of the question."""
        if self.process is None:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        given = {name: value for name, value in arguments.items() if value is not None}
        try:
            self.process.stdin.write(json.dumps([op, shape, dtype, given]) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        return self._read()

    def _read(self):
        while select.select([self.process.stdout], [], [], LONGEST)[0]:
            line = self.process.stdout.readline()
            if line.startswith(MARK):
                found = json.loads(line.removeprefix(MARK))
                return None if found is None else tuple(found)
            if not line:
                self.close()
                return None
        self.process.kill()
        self.close()
        raise TimeoutError(f"no answer in {LONGEST} seconds")

    def close(self):
        """End the process, if there is one; the next question starts another."""
        if self.process is not None:
            self.process.communicate()
            self.process = None


def library(name):
    """Return a fixture with a library whose Python an environment variable names; its tests are skipped without."""

    @pytest.fixture(scope="module", name=name)
    def engine():
        running = {}
        yield started(running, name)
        running[name].close()

    return engine


def started(running, name):
    """Return a library that runs, started if it is not among those; skip the test if no variable names its Python."""
    variable = f"SHAPECALC_{name.upper()}_PYTHON"
    if variable not in os.environ:
        pytest.skip(f"{variable} names no Python that has {name}")
    if name not in running:
        running[name] = Library(name, os.environ[variable])
        if running[name].ask("reshape", (2, 3), target=(6,)) != (6,):
            pytest.fail(f"{os.environ[variable]} does not run {name}")
    return running[name]

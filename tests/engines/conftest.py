"""Query libraries for shapes, in this process or in a worker process whose crash counts as a refusal.

`SHAPECALC_TORCH_PYTHON` and the like name a Python that has the library.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import warnings
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.engines.library_worker import MARK, opened

WORKER = Path(__file__).with_name("library_worker.py")
LONGEST = 120
"""The seconds that a library may take for one answer, including its start."""
collect_ignore = ["code_worker.py"]
"""A program for a Python that has PyTorch; there are no tests and doctests in it."""
HERE = ("numpy", "torch", "openvino", "einops")
"""The libraries that run in this process if they are installed and no other Python is named."""


class Library:
    """A library in its worker process; in this process, if no Python is named."""

    def __init__(self, name, python=None):
        """Start no process yet."""
        self.command, self.process = [python, str(WORKER), name], None
        self.answer = self._ask_worker if python else opened(name)

    def ask(self, op, shape, dtype="float32", **arguments):
        """Return the output shape; None if the library refuses or its process crashes."""
        return self.query(op, shape, arguments, dtype)[0]

    def query(self, op, shape, arguments, dtype="float32"):
        """Return the output shape, and the elements and strides if the library reports them."""
        given = {name: value for name, value in arguments.items() if value is not None}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a shape with a warning counts
            shape, *rest = self.answer(op, shape, dtype, given) or (None, None, None)
        return (None if shape is None else tuple(shape), *rest)

    def _ask_worker(self, *request):
        if self.process is None:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            self.process = subprocess.Popen(self.command, **pipes, text=True)
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        while select.select([self.process.stdout], [], [], LONGEST)[0]:
            line = self.process.stdout.readline()
            if line.startswith(MARK):
                return json.loads(line.removeprefix(MARK))
            if not line:
                self.close()
                return None
        self.process.kill()
        self.close()
        raise TimeoutError(f"no answer in {LONGEST} seconds")

    def close(self):
        """End the worker process, if there is one; the next request starts another."""
        if self.process is not None:
            self.process.communicate()
            self.process = None


@pytest.fixture(scope="module")
def engine():
    """Return a function that starts a library on first use; without the library it skips the test."""
    running = {}

    def started(name):
        variable = f"SHAPECALC_{name.upper()}_PYTHON"
        if variable not in os.environ and not (name in HERE and find_spec(name)):
            pytest.skip(f"{name} is not installed, and {variable} names no Python that has it")
        if name not in running:
            running[name] = Library(name, os.environ.get(variable))
            if name != "einops" and running[name].ask("shape", (2, 3)) != (2, 3):
                pytest.fail(f"{os.environ.get(variable, 'this Python')} does not run {name}")
        return running[name]

    yield started
    for each in running.values():
        each.close()

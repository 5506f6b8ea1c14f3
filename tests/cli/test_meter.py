"""The bar that shows how far long work has come: on a terminal alone, with the rate and the time that is left."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.cli.conftest import environment

WORK = """
from time import sleep
from shapecalc.cli import data

data.PATIENCE = 0
with data.meter(8_000_000) as tick:
    for _ in range(3):
        sleep(0.2)
        tick(1_000_000)
    sleep(0.3)
"""


def shown(terminal):
    """Return what three eighths of the work write to standard error, which is a terminal or a pipe."""
    if not terminal:
        return subprocess.run([sys.executable, "-c", WORK], env=environment(), capture_output=True, check=True).stderr
    pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", WORK], env=environment() | {"TERM": "xterm", "COLUMNS": "100"}, stderr=theirs
    ) as running:
        os.close(theirs)
        told = b""
        while True:
            try:
                told += (read := os.read(ours, 1 << 12))
            except OSError:  # Linux says so where the other side is closed
                break
            if not read:
                break
    os.close(ours)
    assert running.returncode == 0
    return told


def test_a_terminal_shows_the_rate_and_the_time_that_is_left():
    told = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown(terminal=True).decode())
    assert "writing" in told
    assert "38%" in told
    assert re.search(r"\d+\.\d MB/s +0:00:0\d", told)


def test_what_is_no_terminal_is_left_alone():
    assert shown(terminal=False) == b""

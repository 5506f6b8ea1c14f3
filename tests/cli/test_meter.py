"""The progress bar of slow work: only on a terminal, with rate and remaining time."""

from __future__ import annotations

import re
import sys

import pytest

from tests.cli.conftest import environment, run_on_terminal, run_program

WORK = """
from time import sleep
from shapecalc.cli import progress

progress.BAR_DELAY = 0
with progress.progress_bar(8_000_000) as tick:
    for _ in range(3):
        sleep(0.2)
        tick(1_000_000)
    sleep(0.3)
"""
"""Work that ends after three eighths."""


@pytest.mark.slow
def test_progress_meter_shows_rate_and_time_on_a_terminal():
    env = environment() | {"TERM": "xterm", "COLUMNS": "100"}
    code, output = run_on_terminal([sys.executable, "-c", WORK], env=env)
    output = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", output)
    assert (code, "writing" in output, "38%" in output) == (0, True, True)
    assert re.search(r"\d+\.\d MB/s +0:00:0\d", output)
    assert run_program([sys.executable, "-c", WORK], capture_output=True).stderr == b""

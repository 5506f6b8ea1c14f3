"""The bar that shows how far long work has come: on a terminal alone, with the rate and the time that is left."""

from __future__ import annotations

import re
import sys

import pytest

from tests.cli.conftest import environment, run_program, run_on_terminal

WORK = """
from time import sleep
from shapecalc.cli import data

data.BAR_DELAY = 0
with data.progress_bar(8_000_000) as tick:
    for _ in range(3):
        sleep(0.2)
        tick(1_000_000)
    sleep(0.3)
"""
"""Three eighths of the work."""


@pytest.mark.slow
def test_progress_meter_shows_rate_and_time_on_a_terminal():
    env = environment() | {"TERM": "xterm", "COLUMNS": "100"}
    code, told = run_on_terminal([sys.executable, "-c", WORK], env=env)
    told = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", told)
    assert (code, "writing" in told, "38%" in told) == (0, True, True)
    assert re.search(r"\d+\.\d MB/s +0:00:0\d", told)
    assert run_program([sys.executable, "-c", WORK], capture_output=True).stderr == b""

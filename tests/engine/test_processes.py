"""The cores that a process may use: those it is bound to, and no more than its control group pays for."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from shapecalc.engine.processes import MANY, count_cores, paid_cores
from tests.cli.conftest import ROOT


@pytest.mark.parametrize(
    ("lines", "files", "cores"),
    [
        ("0::/", {"cpu.max": "150000 100000"}, 2),
        ("0::/", {"cpu.max": "50000 100000"}, 1),
        ("0::/", {"cpu.max": "max 100000"}, MANY),
        ("0::/", {}, MANY),
        ("0::/box/inner", {"cpu.max": "400000 100000", "box/cpu.max": "300000 100000"}, 3),
        ("0::/box/inner", {"cpu.max": "200000 100000", "box/inner/cpu.max": "300000 100000"}, 2),
        ("3:cpuset:/\n4:memory:/", {"cpu.max": "100000 100000"}, MANY),
        ("", {}, MANY),
    ],
)
def test_the_tightest_group_holds(tmp_path, lines, files, cores):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    assert paid_cores(lines, tmp_path) == cores


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system binds no process to cores")
def test_a_process_that_is_bound_to_one_core_uses_one():
    text = "import os; from shapecalc.engine.processes import count_cores as count; "
    text += "os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]); print(count())"
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, cwd=ROOT, check=True)
    assert ran.stdout == "1\n"


def test_there_is_always_a_core():
    assert 1 <= count_cores() <= (os.cpu_count() or 1)

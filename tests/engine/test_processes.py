"""The cores of a process: its affinity, limited by the quota of its control group."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shapecalc.engine.processes import count_cores, limit_memory, read_core_quota
from tests.cli.conftest import ROOT
from tests.engine.tables import rows


@pytest.mark.parametrize(("lines", "files", "cores"), rows("groups"))
def test_core_quota_is_the_tightest_cgroup(tmp_path, lines, files, cores):
    for file in files.split(", ") if files != "-" else ():
        name, text = file.split(": ")
        (tmp_path / name.strip("/")).mkdir(parents=True, exist_ok=True)
        (tmp_path / name.strip("/") / "cpu.max").write_text(text + "\n")
    assert read_core_quota(lines.replace(";", "\n"), tmp_path) == int(cores)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system binds no process to cores")
def test_core_count_respects_affinity():
    text = "import os; from shapecalc.engine.processes import count_cores as count; "
    text += "os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]); print(count())"
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, cwd=ROOT, check=True)
    assert ran.stdout == "1\n"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems bound no memory")
def test_memory_beyond_the_limit_is_refused():
    text = "import numpy as np; from shapecalc.engine.processes import memory_limit\n"
    text += "with memory_limit(1 << 26):\n    print(np.ones(1 << 20).sum())\n"
    text += "    try:\n        np.ones(1 << 27)\n    except MemoryError:\n        print('bounded')\n"
    text += "print(np.ones(1 << 26).size)"
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, cwd=ROOT, check=True)
    assert ran.stdout.split() == ["1048576.0", "bounded", str(1 << 26)]


def test_memory_limit_is_not_set_without_system_information(monkeypatch):
    monkeypatch.setattr(Path, "read_text", lambda self: "Name: python\n")
    assert limit_memory(1) is None


def test_core_count_is_at_least_one():
    assert 1 <= count_cores() <= (os.cpu_count() or 1)

"""The program without its dependencies: shape questions are answered, other commands name the missing package."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from shapecalc.cli import output
from tests.cli.conftest import rows, run_program
from tests.transcripts import matches_expected

ROWS = rows("without_packages.txt")
BARE_PYTHON = [sys.executable, "-S"]
"""A Python without site-packages."""
RUN_LINES = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from shapecalc.__main__ import main

results = []
for line in sys.argv[1:]:
    sys.argv[1:] = line.split()
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2)]
    with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
        code = main()
    for stream in streams:
        stream.seek(0)
    results.append([code, *(stream.read() for stream in streams)])
print(json.dumps(results))
"""


@pytest.fixture(scope="module")
def results():
    """Return the exit code and output of each command line, by line."""
    lines = [line for line, _ in ROWS]
    ran = run_program([*BARE_PYTHON, "-c", RUN_LINES, *lines], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert ran.stderr == ""
    return dict(zip(lines, json.loads(ran.stdout), strict=True))


@pytest.mark.parametrize(("line", "expected"), ROWS)
def test_missing_packages_leave_bare_questions_working(line, expected, results):
    code, out, err = results[line]
    expected_code, _, package = expected.partition(" | ")
    if package in ("typer", "rich", "numpy"):
        assert err.startswith(f"shapecalc: {package} is not installed; ")
        install = err.partition(" -m pip install ")[2]
        assert (code, out, package in install, install.count("\n")) == (4, "", True, 1)
    else:
        assert (code, "Traceback" in err, "install" in err) == (int(expected_code.split()[0]), False, False)
        assert matches_expected(package, out[out.rfind("\n", 0, -1) + 1 :])


def test_missing_packages_in_a_process_and_completion():
    ran = run_program([*BARE_PYTHON, "-m", "shapecalc", "2,3,4", "-d", "onnx", "0,-1"], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "2,12\n", "read as: shapecalc reshape 2,3,4 0,-1 -d onnx\n")
    env = ["env", "_SHAPECALC_COMPLETE=complete_bash", "COMP_WORDS=shapecalc res", "COMP_CWORD=1"]
    ran = run_program([*env, *BARE_PYTHON, "-m", "shapecalc"], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (4, "", 1)


@pytest.mark.parametrize("name", [None, "shapecalc.core.nowhere"])
def test_internal_import_error_is_a_fault(name, capsys):
    assert output.report_exception(ImportError("no module", name=name)) == 70
    assert capsys.readouterr().err.startswith("shapecalc: fault: ImportError: no module; ")

"""The program without the packages that it needs: bare questions are answered, the rest says what to install."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from shapecalc.cli import output
from tests.cli.conftest import run_program, rows
from tests.transcripts import is_seen

ROWS = rows("without_packages.txt")
ALONE = [sys.executable, "-S"]
"""A Python that sees the package, and no other."""
EACH = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from shapecalc.__main__ import main

found = []
for line in sys.argv[1:]:
    sys.argv[1:] = line.split()
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2)]
    with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
        code = main()
    for stream in streams:
        stream.seek(0)
    found.append([code, *(stream.read() for stream in streams)])
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def ends():
    """Return how the command lines end there."""
    lines = [line for line, _ in ROWS]
    ran = run_program([*ALONE, "-c", EACH, *lines], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert ran.stderr == ""
    return dict(zip(lines, json.loads(ran.stdout), strict=True))


@pytest.mark.parametrize(("line", "expected"), ROWS)
def test_missing_packages_leave_bare_questions_working(line, expected, ends):
    code, out, err = ends[line]
    wanted, _, said = expected.partition(" | ")
    if said in ("typer", "rich", "numpy"):
        assert err.startswith(f"shapecalc: {said} is not installed; ")
        install = err.partition(" -m pip install ")[2]
        assert (code, out, said in install, install.count("\n")) == (4, "", True, 1)
    else:
        assert (code, "Traceback" in err, "install" in err) == (int(wanted.split()[0]), False, False)
        assert is_seen(said, out[out.rfind("\n", 0, -1) + 1 :])


def test_missing_packages_in_a_process_and_completion():
    ran = run_program([*ALONE, "-m", "shapecalc", "2,3,4", "0,-1"], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "2,12\n", "read as: shapecalc reshape 2,3,4 0,-1\n")
    asked = ["env", "_SHAPECALC_COMPLETE=complete_bash", "COMP_WORDS=shapecalc res", "COMP_CWORD=1"]
    ran = run_program([*asked, *ALONE, "-m", "shapecalc"], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (4, "", 1)


@pytest.mark.parametrize("name", [None, "shapecalc.core.nowhere"])
def test_internal_import_error_is_raised(name):
    error = ImportError("", name=name)
    with pytest.raises(ImportError) as raised:
        output.report_missing_package(error)
    assert raised.value is error

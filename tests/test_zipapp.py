"""The zipapp runs from a read-only folder, and finds its data files."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from importlib.util import find_spec

import pytest

from shapecalc import __version__
from tests import zipapp
from tests.transcripts import matches_expected

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("hatchling") is None, reason="hatchling is not installed"),
]


@pytest.fixture(scope="module")
def zipapp_file(tmp_path_factory):
    """Return a read-only zipapp in a read-only folder."""
    file = tmp_path_factory.mktemp("one") / "shapecalc.pyz"
    zipapp.build_zipapp(file)
    file.chmod(0o444)
    file.parent.chmod(0o555)
    return file


def python(folder, *words):
    """Run Python without site-packages in a folder; return the exit code, stdout and stderr."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    quiet = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    outcome = subprocess.run([sys.executable, "-S", *words], cwd=folder, env=clean, check=False, **quiet)
    return outcome.returncode, outcome.stdout, outcome.stderr


EXPECTED = [
    ("--version", 0, f"shapecalc {__version__}\n", ""),
    ("reshape 2,3,4 0,-1 --explain", 0, "2,12\n", "...\n...[copy-zero]...\n..."),
    ("reshape 2,3,4 5,-1", 3, "", "shapecalc: indivisible: ..."),
    ("film --help", 0, "...\n...Write the steps as an animation...\n...", ""),
    ("film reshape 2,3,4 0,-1 -o x.html", 0, "...", "..."),
    ("drill --print 3 -o sheet.html", 0, "...", "..."),
    ("doctor run.log", 0, "numpy transpose: bad-perm\n...", "..."),
    ("reshape 2,3 6 --values", 4, "", "shapecalc: numpy is not installed; ... -m pip install 'numpy>=..."),
]


def test_zipapp_answers_and_names_missing_packages(zipapp_file, tmp_path):
    (tmp_path / "run.log").write_text("axes don't match array")
    for line, code, out, err in EXPECTED:
        exit_code, stdout, stderr = python(tmp_path, str(zipapp_file), *line.split())
        assert (exit_code, matches_expected(out, stdout), matches_expected(err, stderr)) == (code, True, True), (
            line,
            stdout,
            stderr,
        )
    assert (tmp_path / "x.html").read_text("utf-8")[:9] == "<!doctype"
    assert (tmp_path / "sheet.html").exists()


def test_zipapp_finds_lessons_and_app(zipapp_file, tmp_path):
    program = f"import sys; sys.path[:0] = [{str(zipapp_file)!r}]; from shapecalc.tui.app import ShapecalcApp"
    program += "; from shapecalc.teaching.lessons import load_lessons; print(len(load_lessons()))"
    exit_code, stdout, _ = python(tmp_path, "-c", program)
    assert (exit_code, int(stdout) > 3) == (0, True)


def test_zipapp_has_no_compiled_code_and_all_licences(zipapp_file):
    names = zipfile.ZipFile(zipapp_file).namelist()
    assert not [name for name in names if name.endswith((".so", ".pyd"))]
    for package in ("tensor_shapecalc", "typer", "rich", "textual", "prompt_toolkit", "platformdirs"):
        assert any(name.startswith(f"{package}-") and "LICEN" in name.upper() for name in names), package

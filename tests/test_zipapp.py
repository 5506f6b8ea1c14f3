"""The program as one file: it runs from any folder, also where nobody may write, and finds all that it reads."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from importlib.util import find_spec

import pytest

from shapecalc import __version__
from tests import zipapp
from tests.transcripts import is_seen

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("hatchling") is None, reason="hatchling is not installed"),
]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """Return the program as one file that nobody may write, in a folder of its own."""
    file = tmp_path_factory.mktemp("one") / "shapecalc.pyz"
    zipapp.make(file)
    file.chmod(0o444)
    file.parent.chmod(0o555)
    return file


def python(folder, *words):
    """Run a Python that has no packages in a folder: how it ended, and what it printed."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    quiet = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, "-S", *words], cwd=folder, env=clean, check=False, **quiet)
    return done.returncode, done.stdout, done.stderr


SAID = [
    ("--version", 0, f"shapecalc {__version__}\n", ""),
    ("reshape 2,3,4 0,-1 --explain", 0, "2,12\n", "...\n...[copy-zero]...\n..."),
    ("reshape 2,3,4 5,-1", 3, "", "shapecalc: indivisible: ..."),
    ("film --help", 0, "...\n...Write the steps as a moving picture...\n...", ""),
    ("film reshape 2,3,4 0,-1 -o x.html", 0, "...", "..."),
    ("drill --print 3 -o sheet.html", 0, "...", "..."),
    ("doctor run.log", 0, "numpy transpose: bad-perm\n...", "..."),
    ("reshape 2,3 6 --values", 4, "", "shapecalc: numpy is not installed; ... -m pip install 'numpy>=..."),
]


def test_zipapp_answers_and_names_missing_packages(alone, tmp_path):
    (tmp_path / "run.log").write_text("axes don't match array")
    for line, code, out, err in SAID:
        ended, printed, told = python(tmp_path, str(alone), *line.split())
        assert (ended, is_seen(out, printed), is_seen(err, told)) == (code, True, True), (line, printed, told)
    assert (tmp_path / "x.html").read_text("utf-8")[:9] == "<!doctype"
    assert (tmp_path / "sheet.html").exists()


def test_zipapp_finds_lessons_and_app(alone, tmp_path):
    read = f"import sys; sys.path[:0] = [{str(alone)!r}]; from shapecalc.tui.app import ShapecalcApp"
    read += "; from shapecalc.teaching.lessons import load_lessons; print(len(load_lessons()))"
    ended, printed, _ = python(tmp_path, "-c", read)
    assert (ended, int(printed) > 3) == (0, True)


def test_zipapp_has_no_compiled_code_and_all_licences(alone):
    names = zipfile.ZipFile(alone).namelist()
    assert not [name for name in names if name.endswith((".so", ".pyd"))]
    for package in ("tensor_shapecalc", "typer", "rich", "textual", "prompt_toolkit", "platformdirs"):
        assert any(name.startswith(f"{package}-") and "LICEN" in name.upper() for name in names), package

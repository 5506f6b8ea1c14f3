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


def ran(file, folder, *words):
    """Run the file in another folder by a Python that has no packages."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [sys.executable, "-S", str(file), *words]
    return subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False, text=True
    )


def test_it_answers(alone, tmp_path):
    done = ran(alone, tmp_path, "reshape", "2,3,4", "0,-1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "2,12\n", "")
    refused = ran(alone, tmp_path, "reshape", "2,3,4", "5,-1")
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (3, "", 1)


def test_it_explains_and_helps(alone, tmp_path):
    explained = ran(alone, tmp_path, "reshape", "2,3,4", "0,-1", "--explain")
    assert (explained.returncode, explained.stdout) == (0, "2,12\n")
    assert "[copy-zero]" in explained.stderr
    assert ran(alone, tmp_path, "--version").stdout == f"shapecalc {__version__}\n"
    helped = ran(alone, tmp_path, "film", "--help")
    assert (helped.returncode, helped.stderr) == (0, "")
    assert "Write the steps as a moving picture" in helped.stdout


def test_it_finds_what_it_reads(alone, tmp_path):
    filmed = ran(alone, tmp_path, "film", "reshape", "2,3,4", "0,-1", "-o", "x.html")
    assert (filmed.returncode, (tmp_path / "x.html").read_text("utf-8")[:9]) == (0, "<!doctype")
    sheet = ran(alone, tmp_path, "drill", "--print", "3", "-o", "sheet.html")
    assert (sheet.returncode, (tmp_path / "sheet.html").exists()) == (0, True)
    (tmp_path / "run.log").write_text("axes don't match array")
    assert ran(alone, tmp_path, "doctor", "run.log").stdout.startswith("numpy transpose: bad-perm\n")
    read = (
        "from importlib.resources import files; from shapecalc.teaching.lessons import lessons; print(len(lessons()))"
    )
    app = f"import sys; sys.path[:0] = [{str(alone)!r}]; {read}; from shapecalc.tui.app import ShapecalcApp"
    found = subprocess.run([sys.executable, "-S", "-c", app], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (found.returncode, int(found.stdout) > 3) == (0, True)


def test_it_says_what_to_install(alone, tmp_path):
    done = ran(alone, tmp_path, "reshape", "2,3", "6", "--values")
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith("shapecalc: numpy is not installed; ")
    assert " -m pip install 'numpy>=" in done.stderr
    assert done.stderr.count("\n") == 1


def test_it_holds_no_compiled_code_and_all_licences(alone):
    names = zipfile.ZipFile(alone).namelist()
    assert not [name for name in names if name.endswith((".so", ".pyd"))]
    for package in ("tensor_shapecalc", "typer", "rich", "textual", "prompt_toolkit", "platformdirs"):
        assert any(name.startswith(f"{package}-") and "LICEN" in name.upper() for name in names), package

"""The program without the packages that it needs: bare questions are answered, the rest says what to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

from shapecalc import __version__
from shapecalc.cli import output as missing
from tests.cli.conftest import environment


def alone(*words, **more):
    """Run a command line in a Python that sees the package, and no other."""
    command = [sys.executable, "-S", "-m", "shapecalc", *words]
    return subprocess.run(
        command,
        env=environment() | more,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("2,3,4 0,-1", 0, "2,12\n"),
        ("reshape 2,3,4 0,-1 --expect 2,12", 0, "2,12\n"),
        ("reshape 2,3,4 0,-1 --expect 2,...", 0, "2,12\n"),
        ("reshape 2,3,4 0,-1 --expect 2,13", 1, "2,12\n"),
        ("reshape 2,3,4 5,-1 --expect error", 0, ""),
        ("reshape 2,3,4 0,-1 --quiet", 0, ""),
        ("reshape N,C,4 0,-1 --where N=3", 0, "3,4*C\n"),
        ("reshape 2,3,4 5,-1", 3, ""),
        ("reshape 2,3,4 0,-1 --dialect nunpy", 2, ""),
        ("shuffle 2,3,4 --first 1,0,2 --to 0,-1", 0, "3,8\n"),
        ("transpose N,C,H,W 0,2,3,1 -d torch", 0, "N,H,W,C\n"),
        ("permute 2,3,4 2,0,1", 0, "4,2,3\n"),
        ("reshape 2,3 6 --as torch", 0, "# x: 2,3 -> y: 6\ny = x.reshape(6)\n"),
        ("reshape 2,3", 2, ""),
        ("nonsense", 2, ""),
        ("check absent.shapes", 4, ""),
        ("tui --step 2", 2, ""),
        ("version", 0, f"shapecalc {__version__}\n"),
        ("--version", 0, f"shapecalc {__version__}\n"),
    ],
)
def test_bare_questions_are_answered(words, code, said):
    done = alone(*words.split(" "))
    assert (done.returncode, done.stdout) == (code, said)
    assert "Traceback" not in done.stderr
    assert "install" not in done.stderr


def test_json_is_answered():
    done = alone("reshape", "2,3,4", "0,-1", "--json")
    assert (done.returncode, done.stdout[:17], done.stderr) == (0, '{"op": "reshape",', "")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("words", "package"),
    [
        ("reshape -h", "typer"),
        ("tui reshape --help", "typer"),
        ("--show-completion bash", "typer"),
        ("dialects", "rich"),
        ("reshape 2,3 6 --explain", "rich"),
        ("reshape 2,3 6 --picture absent/x.svg", "rich"),
        ("reshape 2,3 6 --values", "numpy"),
        ("reshape absent.npy 6", "numpy"),
    ],
)
def test_the_rest_says_what_to_install(words, package):
    done = alone(*words.split())
    assert (done.returncode, done.stdout) == (4, "")
    said, _, wanted = done.stderr.partition(" -m pip install ")
    assert (said.partition(";")[0], wanted.count("\n")) == (f"shapecalc: {package} is not installed", 1)
    assert package in wanted


def test_completion_says_it_too():
    done = alone(_SHAPECALC_COMPLETE="complete_bash", COMP_WORDS="shapecalc res", COMP_CWORD="1")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (4, "", 1)


@pytest.mark.parametrize("name", [None, "shapecalc.core.nowhere"])
def test_a_mistake_of_our_own_is_raised(name):
    error = ImportError("", name=name)
    with pytest.raises(ImportError) as raised:
        missing.missing_error(error)
    assert raised.value is error

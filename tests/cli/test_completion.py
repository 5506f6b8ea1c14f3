"""Completion as shells ask for it: bash through the function that it loads, zsh and fish by their variables."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import ALL_TYPES
from shapecalc.core.ops import OPS, all_rules
from shapecalc.render.code import TARGETS
from tests.cli.conftest import rows
from tests.sampling import some_and_rest
from tests.sessions import environment, folder_with_shapecalc

pytestmark = pytest.mark.sessions(2)
WHOLE_TABLES = [
    ("reshape --dialect ?", list(DIALECTS)),
    ("transpose --dtype ?", sorted(ALL_TYPES)),
    ("why zero-", [rule for rule in all_rules() if rule.startswith("zero-")]),
    ("squeeze --as ?", list(TARGETS)),
    ("tui ?", [*OPS, "chain", "equiv"]),
]
COMPLETED = [(typed, offered.split()) for typed, offered in rows("completed.txt")] + WHOLE_TABLES


@pytest.mark.parametrize("completed", some_and_rest(COMPLETED, 6))
def test_completion_candidates(completed, shapecalc, monkeypatch):
    monkeypatch.setenv("_SHAPECALC_COMPLETE", "complete_bash")
    for typed, offered in completed:
        monkeypatch.setenv("COMP_WORDS", f"shapecalc {typed.removesuffix('?')}")
        monkeypatch.setenv("COMP_CWORD", str(len(shlex.split(typed))))
        assert (typed, shapecalc().out.split() or ["nothing"]) == (typed, offered)


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """Run a bash script in a home of its own, where `shapecalc` is this checkout's."""
    home = folder_with_shapecalc(tmp_path_factory.mktemp("home"), [])
    own = {**environment(home), "HOME": str(home), "COLUMNS": "300"}

    def run(text, *words):
        called = ["bash", "--norc", "-c", text, "bash", *words]
        ran = subprocess.run(called, env=own, cwd=home, capture_output=True, text=True, check=False)
        assert ran.stderr == ""
        return ran

    return run


LOADED = """
complete -p shapecalc >/dev/null
COMP_WORDS=(shapecalc "$@") COMP_CWORD=$#
_shapecalc_completion shapecalc
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.slow
def test_completion_in_bash(shell):
    loaded = shell("_SHAPECALC_COMPLETE=source_bash shapecalc").stdout
    for words, offered in [
        (["doctor", "--j"], ["--json"]),
        (["chain", "'2,3 | flatten'", "--dialect", "nu"], ["numpy"]),
        (["reshape", ""], []),
    ]:
        assert shell(loaded + LOADED, *words).stdout.split() == offered


@pytest.mark.slow
def test_completion_in_zsh_has_help(shell):
    asked = 'export _SHAPECALC_COMPLETE=complete_zsh _TYPER_COMPLETE_ARGS="$1"; shapecalc'
    assert shell(asked, "shapecalc reshape --dialect num").stdout == """_arguments '*: :(("numpy"))'\n"""
    assert '"--opset":"The model' in shell(asked, "shapecalc reshape 2,3 --op").stdout
    assert shell(asked, "shapecalc reshape ").stdout == "_files\n"


def test_completion_in_fish(shell):
    asked = (
        'export _SHAPECALC_COMPLETE=complete_fish _TYPER_COMPLETE_FISH_ACTION="$1" _TYPER_COMPLETE_ARGS="$2"; shapecalc'
    )
    assert shell(asked, "get-args", "shapecalc why tw").stdout == "two-infers\n"
    assert shell(asked, "is-args", "shapecalc why tw").returncode == 0
    assert shell(asked, "is-args", "shapecalc reshape ").returncode == 1


@pytest.mark.parametrize("name", ["zsh", "fish"])
def test_completion_script_of_each_shell(name, shell):
    assert "_SHAPECALC_COMPLETE" in shell(f"_SHAPECALC_COMPLETE=source_{name} shapecalc").stdout


def test_completion_unknown_shell_is_refused(shell):
    assert shell("_SHAPECALC_COMPLETE=source_tcsh shapecalc 2>/dev/null").returncode == 1


def test_completion_is_shown_and_installed_for_the_current_shell(shell):
    shown = shell("shapecalc --show-completion; exit $?")
    assert (shown.returncode, "complete -o default -F _shapecalc_completion" in shown.stdout) == (0, True)
    installed = shell("shapecalc --install-completion; exit $?")
    assert (installed.returncode, "bash completion installed" in installed.stdout) == (0, True)
    offered = shell(
        '. ~/.bashrc; COMP_WORDS=(shapecalc wh) COMP_CWORD=1; _shapecalc_completion shapecalc; echo "${COMPREPLY[@]}"'
    )
    assert offered.stdout == "why\n"


def test_completion_names_a_home_that_is_no_folder(shell):
    told = shell("HOME=/dev/null shapecalc --install-completion bash 2>&1; exit $?")
    assert (told.returncode, told.stdout.count("\n")) == (4, 1)
    assert told.stdout.startswith("shapecalc: /dev/null")

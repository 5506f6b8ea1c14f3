"""Completion in shells: by their scripts where they are installed, and by environment variables."""

from __future__ import annotations

import shlex
import subprocess
from shutil import which

import pytest

from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import ALL_TYPES
from shapecalc.core.ops import OPS, all_rules
from shapecalc.render.code import TARGETS
from tests.cli.conftest import rows
from tests.sampling import some_and_rest
from tests.sessions import environment, make_shapecalc_folder

pytestmark = pytest.mark.sessions(2)
WHOLE_TABLES = [
    ("reshape --dialect ?", list(DIALECTS)),
    ("transpose --dtype ?", sorted(ALL_TYPES)),
    ("why zero-", [rule for rule in all_rules() if rule.startswith("zero-")]),
    ("squeeze --as ?", list(TARGETS)),
    ("tui ?", [*OPS, "chain", "equiv", "against"]),
]
COMPLETED = [(words, candidates.split()) for words, candidates in rows("completed.txt")] + WHOLE_TABLES


@pytest.mark.parametrize("completed", some_and_rest(COMPLETED, 6))
def test_completion_candidates(completed, shapecalc, monkeypatch):
    monkeypatch.setenv("_SHAPECALC_COMPLETE", "complete_bash")
    for words, candidates in completed:
        monkeypatch.setenv("COMP_WORDS", f"shapecalc {words.removesuffix('?')}")
        monkeypatch.setenv("COMP_CWORD", str(len(shlex.split(words))))
        assert (words, shapecalc().out.split() or ["nothing"]) == (words, candidates)


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """Return a function that runs a bash script in a temporary home, where `shapecalc` is this checkout."""
    home = make_shapecalc_folder(tmp_path_factory.mktemp("home"), [])
    env = {**environment(home), "HOME": str(home), "COLUMNS": "300"}

    def run(text, *words):
        command_line = ["bash", "--norc", "-c", text, "bash", *words]
        ran = subprocess.run(command_line, env=env, cwd=home, capture_output=True, text=True, check=False)
        assert ran.stderr == ""
        return ran

    return run


COMPLETE_IN_BASH = """
complete -p shapecalc >/dev/null
COMP_WORDS=(shapecalc "$@") COMP_CWORD=$#
_shapecalc_completion shapecalc
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.slow
def test_completion_in_bash(shell):
    script = shell("_SHAPECALC_COMPLETE=source_bash shapecalc").stdout
    for words, candidates in [
        (["doctor", "--j"], ["--json"]),
        (["chain", "'2,3 | flatten'", "--dialect", "nu"], ["numpy"]),
        (["reshape", ""], []),
    ]:
        assert shell(script + COMPLETE_IN_BASH, *words).stdout.split() == candidates


@pytest.mark.slow
def test_completion_in_zsh_has_help(shell):
    script = 'export _SHAPECALC_COMPLETE=complete_zsh _TYPER_COMPLETE_ARGS="$1"; shapecalc'
    assert shell(script, "shapecalc reshape --dialect num").stdout == """_arguments '*: :(("numpy"))'\n"""
    assert '"--opset":"ONNX opset of the model' in shell(script, "shapecalc reshape 2,3 --op").stdout
    assert shell(script, "shapecalc reshape ").stdout == "_files\n"


def test_completion_in_fish(shell):
    script = (
        'export _SHAPECALC_COMPLETE=complete_fish _TYPER_COMPLETE_FISH_ACTION="$1" _TYPER_COMPLETE_ARGS="$2"; shapecalc'
    )
    assert shell(script, "get-args", "shapecalc why tw").stdout == "two-infers\n"
    assert shell(script, "is-args", "shapecalc why tw").returncode == 0
    assert shell(script, "is-args", "shapecalc reshape ").returncode == 1


@pytest.mark.parametrize("name", ["zsh", "fish"])
def test_completion_script_of_each_shell(name, shell):
    assert "_SHAPECALC_COMPLETE" in shell(f"_SHAPECALC_COMPLETE=source_{name} shapecalc").stdout


@pytest.mark.parametrize("name", ["bash", "zsh", "fish", "powershell"])
def test_completion_command_prints_the_script(name, shell):
    printed = shell(f"shapecalc completion {name}; exit $?")
    requested = shell(f"_SHAPECALC_COMPLETE=source_{name} shapecalc").stdout
    assert (printed.returncode, printed.stdout.strip()) == (0, requested.strip())
    assert "_SHAPECALC_COMPLETE" in printed.stdout


def test_completion_script_for_zsh_begins_with_its_tag(shell):
    # compinit reads the first line of each file in fpath only
    assert shell("shapecalc completion zsh").stdout.startswith("#compdef shapecalc\n")


@pytest.mark.skipif(which("fish") is None, reason="fish is not installed")
def test_completion_command_completes_in_fish(shell):
    script = "shapecalc completion fish | source; complete -C 'shapecalc reshape 2,3 6 --dialect torc'"
    assert shell(f'fish -c "{script}"').stdout.split() == ["torch"]


@pytest.mark.skipif(which("zsh") is None, reason="zsh is not installed")
def test_completion_command_completes_in_zsh(shell):
    script = (
        "mkdir ~/zfunc; shapecalc completion zsh > ~/zfunc/_shapecalc; "
        "zsh -f -c 'fpath=(~/zfunc $fpath); autoload -Uz compinit; compinit -u; print $_comps[shapecalc]'"
    )
    assert shell(script).stdout == "_shapecalc\n"


def test_completion_command_completes_in_bash(shell):
    script = ". <(shapecalc completion bash); COMP_WORDS=(shapecalc wh) COMP_CWORD=1; _shapecalc_completion shapecalc"
    assert shell(f'{script}; echo "${{COMPREPLY[@]}}"').stdout == "why\n"


def test_completion_unknown_shell_is_refused(shell):
    assert shell("_SHAPECALC_COMPLETE=source_tcsh shapecalc 2>/dev/null").returncode == 1


def test_completion_is_shown_and_installed_for_the_current_shell(shell):
    ran = shell("shapecalc --show-completion; exit $?")
    assert (ran.returncode, "complete -o default -F _shapecalc_completion" in ran.stdout) == (0, True)
    installed = shell("shapecalc --install-completion; exit $?")
    assert (installed.returncode, "bash completion installed" in installed.stdout) == (0, True)
    completed = shell(
        '. ~/.bashrc; COMP_WORDS=(shapecalc wh) COMP_CWORD=1; _shapecalc_completion shapecalc; echo "${COMPREPLY[@]}"'
    )
    assert completed.stdout == "why\n"


def test_completion_names_a_home_that_is_no_folder(shell):
    ran = shell("HOME=/dev/null shapecalc --install-completion bash 2>&1; exit $?")
    assert (ran.returncode, ran.stdout.count("\n")) == (4, 1)
    assert ran.stdout.startswith("shapecalc: /dev/null")


@pytest.mark.parametrize(
    ("shell", "path"), [("zsh", ".zfunc/_shapecalc"), ("fish", ".config/fish/completions/shapecalc.fish")]
)
def test_install_completion_of_a_named_shell(shell, path, shapecalc, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    ran = shapecalc("--install-completion", shell)
    assert (ran.code, ran.out) == (0, f"{shell} completion installed in {tmp_path / path}; it works in new shells\n")
    assert "_SHAPECALC_COMPLETE" in (tmp_path / path).read_text()
    assert shapecalc("--install-completion", "tcsh").code == 2

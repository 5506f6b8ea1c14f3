"""The recipes of CONTRIBUTING, carried out in a copy of the package and asked through every front end."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.sessions import ROOT

pytestmark = pytest.mark.slow

GUIDE = (ROOT / ".github" / "CONTRIBUTING.md").read_text("utf-8")
FILES = dict(re.findall(r"^`(core/\S+\.py)`:\n\n```python\n(.*?)```", GUIDE, re.M | re.S))
PICTURE = re.search(r"### A picture.*?```python\n(.*?)```", GUIDE, re.S).group(1)
LISTS = {
    "core/dialects/toyframe.py": ("core/dialects/__init__.py", "__name__,", "toyframe"),
    "core/ops/swap_ends.py": ("core/ops/__init__.py", '"axes are moved": (', "swap_ends"),
}
"""For each file of a recipe: the list it belongs to, how that begins, and its name there."""


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """Return a folder with a copy of the package in which the recipes were carried out."""
    folder = tmp_path_factory.mktemp("house")
    package = folder / "shapecalc"
    shutil.copytree(ROOT / "shapecalc", package, ignore=shutil.ignore_patterns("__pycache__"))
    for file, (list_file, start, name) in LISTS.items():
        (package / file).write_text(FILES[file], "utf-8")
        text = (package / list_file).read_text("utf-8")
        (package / list_file).write_text(text.replace(start, f'{start} "{name}", ', 1), "utf-8")
    return folder


@pytest.fixture
def ask(house):
    """Return what runs a command line, or Python code, with the copy."""

    def run(*words, stdin="", code=None):
        command = [sys.executable, *(["-c", code] if code else ["-m", "shapecalc", *words])]
        env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        ran = subprocess.run(
            command, cwd=house, input=stdin, capture_output=True, text=True, env={**env, "PYTHONPATH": str(house)}
        )
        return ran.returncode, ran.stdout, ran.stderr

    return run


def test_the_guide_shows_both_files():
    assert FILES.keys() == LISTS.keys()


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["reshape", "2,3,4", "0,-1", "-d", "toyframe"], "2,12"),
        (["reshape", "2,3,4", "0,-1", "-d", "toyframe", "--dtype", "real"], "2,12"),
        (["transpose", "2,3", "1,0", "-d", "TOYFRAME"], "3,2"),
        (["swap_ends", "2,3,4"], "4,3,2"),
        (["swap_ends", "N,3,4", "-d", "numpy"], "4,3,N"),
        (["swap_ends", "2,3,4", "--dtype", "float"], "4,3,2"),
        (["chain", "2,3,4 | swap_ends | reshape 0,-1 -d toyframe"], "4,6"),
    ],
)
def test_a_question_is_answered(ask, words, answer):
    assert ask(*words) == (0, f"{answer}\n", "")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["reshape", "2,3", "6", "-d", "toyframe", "--dtype", "int8"], 3, "dtype: toyframe reshape does not accept"),
        (["reshape", "1,1,1,1,1,1,1", "1", "-d", "toyframe"], 3, "rank-limit: 7 dims, and toyframe takes at most 6"),
        (["squeeze", "1,2", "-d", "toyframe"], 2, "usage: toyframe has no squeeze"),
        (["swap_ends", "2,3", "-d", "onnx"], 2, "usage: onnx has no swap_ends (it is in numpy, torch; in place of"),
    ],
)
def test_what_it_lacks_is_refused(ask, words, code, said):
    ran = ask(*words)
    assert (ran[0], ran[1]) == (code, "")
    assert said in ran[2]


def test_case_files_ask_it(ask):
    lines = 'swap_ends 2,3,4 => 4,3,2\n{"op": "swap_ends", "input": [2, 3], "dialect": "numpy", "expect": [3, 2]}\n'
    lines += "reshape 2,3,4 0,-1 --dialect toyframe => 2,12\n"
    assert ask("check", "-", stdin=lines) == (0, "", "shapecalc: 3 passed\n")


def test_the_prompt_asks_it(ask):
    assert ask("repl", stdin="2,3,4\nswap_ends\ndialect toyframe\nreshape 0,-1\n")[1].split() == [
        "2,3,4",
        "4,3,2",
        "4,6",
    ]


@pytest.mark.parametrize("dialect", ["toyframe", "torch"])
def test_vectors_hold_it_and_pass(ask, dialect):
    vectors = ask("vectors", "--dialect", dialect)[1]
    asked = {(case["op"], case["dialect"]) for case in map(json.loads, vectors.splitlines())}
    assert (("reshape", "toyframe") if dialect == "toyframe" else ("swap_ends", "torch")) in asked
    assert ask("check", "-", stdin=vectors)[0] == 0


@pytest.mark.parametrize(
    ("target", "line"),
    [
        ("numpy", "y = x.transpose(2, 1, 0)"),
        ("torch", "y = x.permute(2, 1, 0)"),
        ("einops", 'y = rearrange(x, "a b c -> c b a")'),
        ("tensorrt", "layer.first_transpose = (2, 1, 0)"),
        ("onnx", '    helper.make_node("Transpose", ["x"], ["y"], perm=[2, 1, 0]),'),
        ("command", "shapecalc swap_ends 2,3,4"),
    ],
)
def test_code_is_written_for_it(ask, target, line):
    assert line in ask("swap_ends", "2,3,4", "--as", target)[1].splitlines()


def test_it_is_explained_and_followed(ask):
    _, _, told = ask("swap_ends", "2,3,4", "--explain", "--follow", "1,0,2")
    assert "torch swapaxes" in told
    assert "output dim 0 is input dim 2, 4  [permute]" in told
    assert "goes: input [1,0,2] -> swap_ends [2,0,1]" in told


def test_pages_and_completion_know_it(ask):
    assert "toyframe" in ask("dialects")[1]
    assert "swap_ends" in ask("-h")[1]
    assert "shapecalc swap_ends 2,3,4 -d torch" in ask("swap_ends", "-h")[1]


def test_the_engine_and_the_app_take_it(ask):
    code = """
import numpy as np, shapecalc as sc
from shapecalc.engine import run
from shapecalc.tui.question import question_of
from shapecalc.tui.state import State
print(run(sc.chain((2, 3), "swap_ends"), np.arange(6).reshape(2, 3)).array.tolist())
state = State(question_of(["swap_ends", "2,3,4"]))
print(state.answer.output, [step.why for step in state.answer.steps][0])
print(State(question_of(["reshape", "2,3,4", "0,-1", "-d", "toyframe"])).answer.output)
"""
    assert ask(code=code)[1].splitlines() == [
        "[[0, 3], [1, 4], [2, 5]]",
        "(4, 3, 2) output dim 0 is input dim 2, 4",
        "(2, 12)",
    ]


def test_the_picture_draws_a_stage(ask):
    code = f"{PICTURE}\nimport shapecalc as sc\nfrom shapecalc.view.layout import layouts\n"
    code += "answer = sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(0, -1))\n"
    code += "print(bars(answer, layouts(answer)[-1], 0, width=78, height=12, strokes=None))"
    assert ask(code=code) == (0, "  3 ###\n  8 ########\n", "")

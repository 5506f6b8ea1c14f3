"""Apply the recipes of CONTRIBUTING to a copy of the package, and query it through every front end."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sessions import ROOT
from tests.tables import rows
from tests.transcripts import matches_expected

pytestmark = pytest.mark.slow

GUIDE = (ROOT / ".github" / "CONTRIBUTING.md").read_text("utf-8")
FILES = dict(re.findall(r"^`(core/\S+\.py)`:\n\n```python\n(.*?)```", GUIDE, re.M | re.S))
PICTURE = re.search(r"### A picture.*?```python\n(.*?)```", GUIDE, re.S).group(1)
LISTS = {
    "core/dialects/toyframe.py": ("core/dialects/__init__.py", "__name__,", "toyframe"),
    "core/ops/swap_ends.py": ("core/ops/__init__.py", '("transpose",', "swap_ends"),
}
"""For each file of a recipe: the file with the list of names, the text before the insertion, and the name."""
ROWS = {
    "core/ops/transpose.py": 'onnx": TransposeSemantics()',
    "core/ops/unsqueeze.py": "onnx tensorrt onednn numpy torch jax coreml",
}
"""For each file of an op of the new dialect: the row of its table to which the name of the dialect is added."""
LIST_UNDECIDED_OPS = """
from shapecalc.core.dialects import DIALECTS
from tests.core.test_semantics import undecided_ops
print(undecided_ops(DIALECTS["toyframe"]))
"""
RUN_COMMAND_LINES = """
import json, sys
from tests.fuzz.running import ended
out, requests = sys.stdout, json.load(sys.stdin)
for words, stdin in requests:
    outcome = ended(words, stdin)
    print(json.dumps([outcome.code, outcome.out + outcome.err + outcome.failure]), file=out)
"""
USE_FROM_PYTHON = f"""
import numpy as np, shapecalc as sc
from shapecalc.engine import run
from shapecalc.tui.question import question_from_words
from shapecalc.tui.state import ExploreState
from shapecalc.render.stage_layout import stage_layouts
print(run(sc.chain((2, 3), "swap_ends"), np.arange(6).reshape(2, 3)).array.tolist())
state = ExploreState(question_from_words(["swap_ends", "2,3,4"]))
print(state.answer.output, [step.why for step in state.answer.steps][0])
print(ExploreState(question_from_words(["reshape", "2,3,4", "0,-1", "-d", "toyframe"])).answer.output)
{PICTURE}
answer = sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(0, -1))
print(draw_bars(answer, stage_layouts(answer)[-1], 0, width=78, height=12, glyphs=None))
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """Return a folder with a copy of the package to which the recipes were applied."""
    assert FILES.keys() == LISTS.keys(), "the guide has both files"
    folder = tmp_path_factory.mktemp("checkout")
    package = folder / "shapecalc"
    shutil.copytree(ROOT / "shapecalc", package, ignore=shutil.ignore_patterns("__pycache__"))
    for file, (list_file, start, name) in LISTS.items():
        (package / file).write_text(FILES[file], "utf-8")
        text = (package / list_file).read_text("utf-8")
        (package / list_file).write_text(text.replace(start, f'{start} "{name}", ', 1), "utf-8")
    return folder


def python(checkout, code, stdin=""):
    """Return the output of code in a process that imports the copy."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    options = {"env": clean | {"PYTHONPATH": f"{checkout}:{ROOT}", "COLUMNS": "200"}, "cwd": checkout, "input": stdin}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, **options).stdout


def run_command_lines(checkout, *requests):
    """Run command lines with their standard input, and return their exit codes and output."""
    return [json.loads(line) for line in python(checkout, RUN_COMMAND_LINES, json.dumps(requests)).splitlines()]


def test_recipe_is_known_to_front_ends(checkout):
    table = rows(Path(__file__).with_name("recipes.txt"))
    requests = ((shlex.split(line), "".join(stdin).replace(r"\n", "\n")) for line, _, _, *stdin in table)
    outcomes = run_command_lines(checkout, *requests)
    for (line, code, expected, *_), (exit_code, output) in zip(table, outcomes, strict=True):
        assert exit_code == int(code), (line, output)
        assert any(matches_expected(expected, f"{printed}\n") for printed in output.splitlines()), (line, output)


@pytest.mark.parametrize(("dialect", "op"), [("toyframe", "reshape"), ("torch", "swap_ends")])
def test_recipe_vectors_pass(checkout, dialect, op):
    ((_, vectors),) = run_command_lines(checkout, (["vectors", "--dialect", dialect], ""))
    assert (op, dialect) in {(case["op"], case["dialect"]) for case in map(json.loads, vectors.splitlines())}
    assert run_command_lines(checkout, (["check", "-"], vectors))[0][0] == 0


def test_recipe_dialect_has_undecided_ops(checkout):
    listed = python(checkout, LIST_UNDECIDED_OPS)
    assert listed == "['transpose', 'rearrange']\n"
    for file, row in ROWS.items():
        text = (checkout / "shapecalc" / file).read_text("utf-8")
        (checkout / "shapecalc" / file).write_text(text.replace(f'"{row}', f'"toyframe {row}', 1), "utf-8")
    assert python(checkout, LIST_UNDECIDED_OPS) == "[]\n"


def test_recipe_works_in_engine_app_and_picture(checkout):
    assert python(checkout, USE_FROM_PYTHON).splitlines() == [
        "[[0, 3], [1, 4], [2, 5]]",
        "(4, 3, 2) dim 0 is input dim 2, of size 4",
        "(2, 12)",
        "  3 ###",
        "  8 ########",
    ]

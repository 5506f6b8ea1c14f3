"""The recipes of CONTRIBUTING, carried out in a copy of the package and asked through every front end."""

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
from tests.transcripts import is_seen

pytestmark = pytest.mark.slow

GUIDE = (ROOT / ".github" / "CONTRIBUTING.md").read_text("utf-8")
FILES = dict(re.findall(r"^`(core/\S+\.py)`:\n\n```python\n(.*?)```", GUIDE, re.M | re.S))
PICTURE = re.search(r"### A picture.*?```python\n(.*?)```", GUIDE, re.S).group(1)
LISTS = {
    "core/dialects/toyframe.py": ("core/dialects/__init__.py", "__name__,", "toyframe"),
    "core/ops/swap_ends.py": ("core/ops/__init__.py", '"axes are moved": (', "swap_ends"),
}
"""For each file of a recipe: the list it belongs to, how that begins, and its name there."""
ASKING = """
import json, sys
from tests.fuzz.running import ended
out, asked = sys.stdout, json.load(sys.stdin)
for words, stdin in asked:
    ran = ended(words, stdin)
    print(json.dumps([ran.code, ran.out + ran.err + ran.failure]), file=out)
"""
WITHIN = f"""
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
def house(tmp_path_factory):
    """Return a folder with a copy of the package in which the recipes were carried out."""
    assert FILES.keys() == LISTS.keys(), "the guide shows both files"
    folder = tmp_path_factory.mktemp("house")
    package = folder / "shapecalc"
    shutil.copytree(ROOT / "shapecalc", package, ignore=shutil.ignore_patterns("__pycache__"))
    for file, (list_file, start, name) in LISTS.items():
        (package / file).write_text(FILES[file], "utf-8")
        text = (package / list_file).read_text("utf-8")
        (package / list_file).write_text(text.replace(start, f'{start} "{name}", ', 1), "utf-8")
    return folder


def python(house, code, stdin=""):
    """Return what code prints in a process with the copy."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    given = {"env": clean | {"PYTHONPATH": f"{house}:{ROOT}", "COLUMNS": "200"}, "cwd": house, "input": stdin}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, **given).stdout


def ask(house, *asked):
    """Return how command lines end, each with its standard input: the exit code, and all that is printed."""
    return [json.loads(line) for line in python(house, ASKING, json.dumps(asked)).splitlines()]


def test_recipe_is_known_to_front_ends(house):
    asked = rows(Path(__file__).with_name("recipes.txt"))
    ended = ask(house, *((shlex.split(line), "".join(stdin).replace(r"\n", "\n")) for line, _, _, *stdin in asked))
    for (line, code, said, *_), (ended_with, printed) in zip(asked, ended, strict=True):
        assert ended_with == int(code), (line, printed)
        assert any(is_seen(said, f"{each}\n") for each in printed.splitlines()), (line, printed)


@pytest.mark.parametrize(("dialect", "op"), [("toyframe", "reshape"), ("torch", "swap_ends")])
def test_recipe_vectors_pass(house, dialect, op):
    ((_, vectors),) = ask(house, (["vectors", "--dialect", dialect], ""))
    assert (op, dialect) in {(case["op"], case["dialect"]) for case in map(json.loads, vectors.splitlines())}
    assert ask(house, (["check", "-"], vectors))[0][0] == 0


def test_recipe_works_in_engine_app_and_picture(house):
    assert python(house, WITHIN).splitlines() == [
        "[[0, 3], [1, 4], [2, 5]]",
        "(4, 3, 2) output dim 0 is input dim 2, 4",
        "(2, 12)",
        "  3 ###",
        "  8 ########",
    ]

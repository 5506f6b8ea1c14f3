"""Breaks the core in one place after the other, and tells which breaks no test notices.

    python -m tests.mutation [--count N] [--seed N]

Cosmic Ray makes the mutants; which ones is drawn by the seed. A copy of the checkout is broken, never the checkout.
It ends with 1 if more than a tenth survives, or one that `survivors.txt` does not explain.
"""

from __future__ import annotations

import argparse
import ast
import os
import resource
import shutil
import sys
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import hypothesis  # noqa: F401 - so that the forks have it
import numpy  # noqa: F401
import pytest
import typer  # noqa: F401
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).parents[2]
EXPLAINED = Path(__file__).with_name("survivors.txt")
MOST = 0.1
"""The share of mutants that may survive."""
PATIENCE = 60
"""The seconds of computing after which a mutant that goes on for ever counts as noticed."""
NOTHING = pytest.ExitCode.NO_TESTS_COLLECTED
QUICK = ["-n0", "-q", "-x", "-p", "no:randomly", "-p", "no:cacheprovider", "-m", "not slow", "--no-header"]
QUICK += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
ELSEWHERE = "ops", "direct", "parameters", "typer", "doctor", "serve"
"""The tests of the command line that another lot has, or that ask little of the core."""
STAGES = (
    ["tests/core/test_cases.py", "tests/core/test_text.py", "shapecalc/core/ops", "shapecalc/core/sizes"],
    ["shapecalc/core", "tests/core", "--deselect", "tests/core/test_imports.py"],
    ["shapecalc", "tests/view", *(f"tests/cli/test_{name}.py" for name in ("ops", "direct", "parameters", "typer"))],
    ["tests/engine", "tests/engines", "tests/cli", *(f"--ignore=tests/cli/test_{name}.py" for name in ELSEWHERE)],
)
"""Tests by how soon they notice, after those nearest to a break: each lot is asked what the ones before let live."""
OPERATORS = {name: operator() for name in sorted(operator_names()) if not (operator := get_operator(name)).arguments()}
"""What breaks a place, by its name: those that need no settings."""


@dataclass(frozen=True)
class Mutant:
    """One file of the core with one break."""

    file: Path
    before: str
    after: str

    @property
    def change(self) -> str:
        """The lines that differ, on one line, as `survivors.txt` lists them."""
        lines = unified_diff(self.before.splitlines(), self.after.splitlines(), lineterm="", n=0)
        changed = [f"{line[0]} {line[1:].strip()}" for line in list(lines)[2:] if line[0] in "+-"]
        return f"{self.file.relative_to('shapecalc/core')}: {' '.join(changed)}"


def drawn_mutants(count: int, seed: int) -> list[Mutant]:
    """Return that many mutants of all that there are; a line that stays is drawn again, whatever changes around it."""
    files = [path.relative_to(ROOT) for path in sorted((ROOT / "shapecalc" / "core").rglob("*.py"))]
    places = [(file, *place) for file in files for place in _places((ROOT / file).read_text("utf-8"))]
    places.sort(key=lambda place: Random(f"{seed} {place[0]} {place[1]} {place[3]}").random())
    found: list[Mutant] = []
    for file, operator, occurrence, _ in places:
        if len(found) == count:
            break
        before = (ROOT / file).read_text("utf-8")
        after = mutate_code(before, OPERATORS[operator], occurrence)
        if after is not None and _meaning(after) not in ("", _meaning(before)):
            found.append(Mutant(file, before, after))
    return found


def _places(source: str) -> list[tuple[str, int, tuple[str, int]]]:
    """Return every place of a source that an operator of Cosmic Ray can break: its name, a number, the text there."""
    nodes, lines = list(ast_nodes(get_ast(source))), source.splitlines()
    found = []
    for name, operator in OPERATORS.items():
        starts = [start for node in nodes for start, _ in operator.mutation_positions(node)]
        texts = [lines[row - 1].strip() + f" {column}" for row, column in starts]
        found += [(name, at, (text, texts[:at].count(text))) for at, text in enumerate(texts)]
    return found


def _meaning(source: str) -> str:
    """Return what a source says without its annotations, which are for type checkers; nothing if it is not Python."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(0)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.test, node.body = ast.Constant(0), [ast.Pass()]
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "TYPE_CHECKING":
            node.value = ast.Constant(0)
    return ast.dump(tree)


def survives(mutant: Mutant, copy: Path) -> bool:
    """Say whether no test notices a mutant."""
    file = copy / mutant.file
    _write(file, mutant.after)
    try:
        return all(_passes(stage, copy) for stage in (_nearest(mutant.file, copy), *STAGES))
    finally:
        _write(file, mutant.before)


def _nearest(file: Path, copy: Path) -> list[str]:
    """Return the tests that a file is nearest to: its own examples, and those that import it."""
    imported = f"from {'.'.join(file.with_suffix('').parts)} import"
    tests = sorted((copy / "tests" / "core").glob("test_*.py"))
    return [str(file), *(str(test.relative_to(copy)) for test in tests if imported in test.read_text("utf-8"))]


def _write(file: Path, source: str) -> None:
    """Write a source so that Python sees it: what it has compiled may be as old and as long."""
    file.write_text(source, "utf-8")
    for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
        compiled.unlink()


def _passes(tests: list[str], copy: Path) -> bool:
    """Say whether no test fails in the copy: in a fork, so that what they all import is imported once."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) in (pytest.ExitCode.OK, NOTHING)
    resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    os.chdir(copy)
    sys.path.insert(0, str(copy))
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]
    os._exit(pytest.main([*QUICK, *tests]))


def explained() -> set[str]:
    """Return the breaks that `survivors.txt` explains."""
    return {line for line in EXPLAINED.read_text("utf-8").splitlines() if line[:1].isalpha() and ": - " in line}


def main() -> int:
    """Run the command line; return 1 if too much survives, or if it is not explained."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=12)
    asked = parser.parse_args()
    known = explained()
    survivors: list[str] = []
    mutants = drawn_mutants(asked.count, asked.seed)
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "checkout"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", ".venv", "__pycache__"))
        if not all(_passes(stage, copy) for stage in STAGES):
            sys.exit("the tests fail before anything is broken")
        for number, mutant in enumerate(mutants, 1):
            alive = survives(mutant, copy)
            survivors += [mutant.change] * alive
            told = "  (explained)" * (alive and mutant.change in known)
            print(f"{number:>4} {'SURVIVES' if alive else 'noticed '} {mutant.change}{told}", flush=True)
    new = {*survivors} - known
    print(f"{len(survivors)} of {len(mutants)} survive, {len(new)} of them not explained")
    return int(len(survivors) > MOST * len(mutants) or bool(new))


if __name__ == "__main__":
    sys.exit(main())

"""Mutate the package and report the mutants that no test detects.

    python -m tests.mutation [--count N] [--seed N] [PACKAGE ...]

Cosmic Ray makes the mutants; the seed selects them. Copies of the checkout are changed, never the checkout.
A mutant is run against the fast tests that execute its line, the quickest first, then against the slow tests of the
files that execute it most, of its package, and of the transcripts. The exit code is 1 if more than a tenth of the
mutants survive, or one that `survivors.txt` does not explain.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import resource
import shutil
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import coverage
import hypothesis  # noqa: F401 - imported before the forks
import numpy  # noqa: F401
import pytest
import typer  # noqa: F401
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).parents[2]
PACKAGES = "core", "reading", "reasoning", "checking", "models", "engine", "diagnosis"
EXPLAINED = Path(__file__).with_name("survivors.txt")
MOST = 0.1
"""The share of mutants that may survive."""
PATIENCE = 20
"""The CPU seconds, in addition to four times those of the tests, after which a mutant counts as detected."""
FIRST, NEAREST = 60, 3
"""How many tests run before all others, and from how many files: those whose tests execute the line most often."""
NO_TESTS = pytest.ExitCode.NO_TESTS_COLLECTED
QUIET = ["-n0", "-q", "-x", "-p", "no:randomly", "-p", "no:cacheprovider", "--no-header"]
QUIET += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
FAST, SLOW = ["-m", "not slow", *QUIET], ["-m", "slow", *QUIET]
SLOWEST = 300
"""The CPU seconds that the slow tests of some files may take."""
OPERATORS = {name: operator() for name in sorted(operator_names()) if not (operator := get_operator(name)).arguments()}
"""The mutation operators that need no settings, by name."""


@dataclass(frozen=True)
class Mutant:
    """A file with one mutation, and its line."""

    file: Path
    line: int
    before: str
    after: str

    @property
    def change(self) -> str:
        """The changed lines, joined to one line as `survivors.txt` lists them."""
        lines = unified_diff(self.before.splitlines(), self.after.splitlines(), lineterm="", n=0)
        changed = [f"{line[0]} {line[1:].strip()}" for line in list(lines)[2:] if line[0] in "+-"]
        return f"{self.file.relative_to('shapecalc')}: {' '.join(changed)}"


def draw_mutants(packages: list[str], count: int, seed: int) -> list[Mutant]:
    """Return a random sample of the mutants; changes elsewhere do not affect whether a line is drawn."""
    files = [path.relative_to(ROOT) for name in packages for path in sorted((ROOT / "shapecalc" / name).rglob("*.py"))]
    places = [(file, *place) for file in files for place in _places((ROOT / file).read_text("utf-8"))]
    places.sort(key=lambda place: Random(f"{seed} {place[0]} {place[1]} {place[3]}").random())
    mutants: list[Mutant] = []
    for file, operator, occurrence, _, row in places:
        if len(mutants) == count:
            break
        before = (ROOT / file).read_text("utf-8")
        after = mutate_code(before, OPERATORS[operator], occurrence)
        if after is not None and _meaning(after) not in ("", _meaning(before)):
            mutants.append(Mutant(file, row, before, after))
    return mutants


def _places(source: str) -> list[tuple[str, int, tuple[str, int], int]]:
    """Return every site that Cosmic Ray can mutate: the operator, its occurrence, the text there, the line."""
    nodes, lines = list(ast_nodes(get_ast(source))), source.splitlines()
    found = []
    for name, operator in OPERATORS.items():
        starts = [start for node in nodes for start, _ in operator.mutation_positions(node)]
        texts = [lines[row - 1].strip() + f" {column}" for row, column in starts]
        found += [(name, at, (text, texts[:at].count(text)), starts[at][0]) for at, text in enumerate(texts)]
    return found


def _meaning(source: str) -> str:
    """Return the syntax tree of a source without its annotations, as text; `""` if it is not Python."""
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


class Reach:
    """Record the tests that execute each line, and their durations."""

    def __init__(self, cover: coverage.Coverage | None = None) -> None:
        self.cover, self.seconds = cover, defaultdict[str, float](float)
        self.lines: dict[str, dict[int, list[str]]] = {}

    def pytest_runtest_logstart(self, nodeid):
        self.cover.switch_context(nodeid)

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid] += report.duration

    def save(self, file: Path, copy: Path) -> None:
        """Write the record for the package in a copy of the checkout."""
        data, numbers = self.cover.get_data(), {test: number for number, test in enumerate(self.seconds)}
        lines = {
            str(Path(name).relative_to(copy)): {
                line: [numbers[test] for test in tests if test in numbers]
                for line, tests in data.contexts_by_lineno(name).items()
            }
            for name in data.measured_files()
        }
        file.write_text(json.dumps([self.seconds, lines]), "utf-8")

    @classmethod
    def read(cls, file: Path) -> Reach:
        """Return the record that `save` wrote."""
        reach, (seconds, lines) = cls(), json.loads(file.read_text("utf-8"))
        reach.seconds.update(seconds)
        names = [*seconds]
        reach.lines = {
            name: {int(line): [names[number] for number in tests] for line, tests in seen.items()}
            for name, seen in lines.items()
        }
        return reach

    def tests(self, mutant: Mutant) -> list[str]:
        """Return the tests that execute the line of a mutant, else its function, its file, or all tests of its package.

        The quickest come first. A line outside functions runs at import, so all tests of the file are returned.
        """
        seen = self.lines.get(str(mutant.file), {})
        functions = [
            range(node.lineno + 1, node.end_lineno + 1)
            for node in sorted(ast.walk(ast.parse(mutant.before)), key=lambda node: -getattr(node, "lineno", 0))
            if isinstance(node, ast.FunctionDef) and node.lineno <= mutant.line <= node.end_lineno
        ]
        line = [range(mutant.line, mutant.line + 1)] if functions else []
        reached = ({test for row in rows for test in seen.get(row, ())} for rows in (*line, *functions, seen))
        in_package = {test for test in self.seconds if test.startswith(f"tests/{mutant.file.parts[1]}/")}
        return sorted(next(filter(None, reached), in_package), key=lambda test: (self.seconds[test], test))


class TestSelection:
    """Select some of the collected tests, and run them in the order of the list."""

    __test__ = False

    def __init__(self, tests: list[str]) -> None:
        self.order = {test: index for index, test in enumerate(tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        items[:] = sorted(
            (item for item in items if item.nodeid in self.order), key=lambda item: self.order[item.nodeid]
        )


def survives(mutant: Mutant, copy: Path, reach: Reach) -> bool:
    """Return whether no test detects a mutant."""
    file, tests = copy / mutant.file, reach.tests(mutant)
    every = Counter(test.partition("::")[0] for test in reach.seconds)
    reached = Counter(test.partition("::")[0] for test in tests)
    nearest = sorted(reached, key=lambda name: (-reached[name] / every[name], -reached[name]))[:NEAREST]
    first = [test for test in tests if test.partition("::")[0] in nearest][:FIRST]
    file.write_text(mutant.after, "utf-8")
    try:
        rest = [test for test in tests if test not in first]
        if not all(_passes(lot, copy, reach) for lot in (first, rest) if lot):
            return False
        places = {f"tests/{mutant.file.parts[1]}", "tests/cli/test_transcripts.py", *nearest}
        return _run([*SLOW, *sorted(places)], copy, SLOWEST) in (pytest.ExitCode.OK, NO_TESTS)
    finally:
        file.write_text(mutant.before, "utf-8")


def _passes(tests: list[str], copy: Path, reach: Reach) -> bool:
    """Return whether all the tests pass in the copy."""
    files = sorted({test.partition("::")[0] for test in tests})
    limit = PATIENCE + int(4 * sum(reach.seconds[test] for test in tests))
    return _run([*FAST, *files], copy, limit, TestSelection(tests)) in (pytest.ExitCode.OK, NO_TESTS)


def _run(words: list[str], copy: Path, limit: int, plugin: object = None, done=lambda: None) -> int:
    """Run tests in the copy and return the exit code; a fork saves the common imports."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.dont_write_bytecode = True  # bytecode of the same age and size would hide the mutation
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    os.setsid()
    os.chdir(copy)
    sys.path.insert(0, str(copy))
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]
    code = pytest.main(words, plugins=[plugin] if plugin else [])
    done()
    os._exit(code)


def measure(file: Path, copy: Path) -> None:
    """Run all fast tests once and record the lines that they execute; exit if one fails."""
    cover = coverage.Coverage(data_file=None, source=[str(copy / "shapecalc")], config_file=False)
    reach = Reach(cover)

    def done() -> None:
        cover.stop()
        reach.save(file, copy)

    cover.start()
    code = _run([*FAST, "shapecalc", "tests"], copy, 3600, reach, done)
    cover.stop()
    if code:
        sys.exit("the tests fail without a mutation")


def explained() -> set[str]:
    """Return the mutations that `survivors.txt` explains."""
    return {line for line in EXPLAINED.read_text("utf-8").splitlines() if line[:1].isalpha() and ": - " in line}


def find_survivors(mutants: list[Mutant], folder: Path, reach: Reach) -> list[str]:
    """Return the surviving mutations; use one process and one copy per core."""
    known, cores = explained(), os.cpu_count() or 1
    workers = []
    for core in range(cores):
        workers.append(os.fork())
        if not workers[-1]:
            alive = []
            copy = Path(shutil.copytree(folder / "checkout", folder / f"copy-{core}"))
            for mutant in mutants[core::cores]:
                if survives(mutant, copy, reach):
                    alive.append(mutant.change)
                outcome = "SURVIVES" if mutant.change in alive else "detected"
                print(outcome, mutant.change, "(explained)" * (mutant.change in known), flush=True)
            (folder / f"alive-{core}").write_text(json.dumps(alive), "utf-8")
            os._exit(0)
    for worker in workers:
        os.waitpid(worker, 0)
    return [change for core in range(cores) for change in json.loads((folder / f"alive-{core}").read_text("utf-8"))]


def main() -> int:
    """Run the command line; return 1 if too many mutants survive, or an unexplained one."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=12)
    parser.add_argument("--reach", type=Path, help="a file that keeps the recorded coverage for another run")
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", default=PACKAGES)
    options = parser.parse_args()
    mutants = draw_mutants(options.packages, options.count, options.seed)
    with TemporaryDirectory() as name:
        folder = Path(name)
        copy = folder / "checkout"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", ".venv", "__pycache__"))
        file = options.reach or folder / "reach.json"
        if not file.exists():
            measure(file, copy)
        survivors = find_survivors(mutants, folder, Reach.read(file))
    new = {*survivors} - explained()
    print(f"{len(survivors)} of {len(mutants)} survive, {len(new)} of them not explained")
    return int(len(survivors) > MOST * len(mutants) or bool(new))


if __name__ == "__main__":
    sys.exit(main())

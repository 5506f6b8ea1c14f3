"""Breaks the package in one place after the other, and tells which breaks no test notices.

    python -m tests.mutation [--count N] [--seed N] [ROOM ...]

Cosmic Ray makes the mutants; which ones is drawn by the seed. Copies of the checkout are broken, never the checkout.
A mutant meets the fast tests that run its line, the quickest first, then the slow ones of the files that run it most,
of its room, and of the transcripts. The command ends with 1 if more than a tenth survives, or one that `survivors.txt`
does not explain.
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
import hypothesis  # noqa: F401 - so that the forks have it
import numpy  # noqa: F401
import pytest
import typer  # noqa: F401
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).parents[2]
ROOMS = "core", "models", "engine", "doctor"
EXPLAINED = Path(__file__).with_name("survivors.txt")
MOST = 0.1
"""The share of mutants that may survive."""
PATIENCE = 20
"""The seconds of computing, beside four times what the tests take, after which a mutant counts as noticed."""
FIRST, NEAREST = 60, 3
"""How many tests are asked before all others, and of how many files: those whose tests run the line most often."""
NOTHING = pytest.ExitCode.NO_TESTS_COLLECTED
QUIET = ["-n0", "-q", "-x", "-p", "no:randomly", "-p", "no:cacheprovider", "--no-header"]
QUIET += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
FAST, SLOW = ["-m", "not slow", *QUIET], ["-m", "slow", *QUIET]
SLOWEST = 300
"""The seconds of computing that the slow tests of some files may take."""
OPERATORS = {name: operator() for name in sorted(operator_names()) if not (operator := get_operator(name)).arguments()}
"""What breaks a place, by its name: those that need no settings."""


@dataclass(frozen=True)
class Mutant:
    """One file with one break, and the line of it."""

    file: Path
    line: int
    before: str
    after: str

    @property
    def change(self) -> str:
        """The lines that differ, on one line, as `survivors.txt` lists them."""
        lines = unified_diff(self.before.splitlines(), self.after.splitlines(), lineterm="", n=0)
        changed = [f"{line[0]} {line[1:].strip()}" for line in list(lines)[2:] if line[0] in "+-"]
        return f"{self.file.relative_to('shapecalc')}: {' '.join(changed)}"


def drawn_mutants(rooms: list[str], count: int, seed: int) -> list[Mutant]:
    """Return that many mutants of all that there are; a line that stays is drawn again, whatever changes around it."""
    files = [path.relative_to(ROOT) for room in rooms for path in sorted((ROOT / "shapecalc" / room).rglob("*.py"))]
    places = [(file, *place) for file in files for place in _places((ROOT / file).read_text("utf-8"))]
    places.sort(key=lambda place: Random(f"{seed} {place[0]} {place[1]} {place[3]}").random())
    found: list[Mutant] = []
    for file, operator, occurrence, _, row in places:
        if len(found) == count:
            break
        before = (ROOT / file).read_text("utf-8")
        after = mutate_code(before, OPERATORS[operator], occurrence)
        if after is not None and _meaning(after) not in ("", _meaning(before)):
            found.append(Mutant(file, row, before, after))
    return found


def _places(source: str) -> list[tuple[str, int, tuple[str, int], int]]:
    """Return every place that an operator of Cosmic Ray can break: its name, a number, the text there, the line."""
    nodes, lines = list(ast_nodes(get_ast(source))), source.splitlines()
    found = []
    for name, operator in OPERATORS.items():
        starts = [start for node in nodes for start, _ in operator.mutation_positions(node)]
        texts = [lines[row - 1].strip() + f" {column}" for row, column in starts]
        found += [(name, at, (text, texts[:at].count(text)), starts[at][0]) for at, text in enumerate(texts)]
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


class Reach:
    """Which tests run which lines, and how long each takes."""

    def __init__(self, cover: coverage.Coverage | None = None) -> None:
        self.cover, self.seconds = cover, defaultdict[str, float](float)
        self.lines: dict[str, dict[int, list[str]]] = {}

    def pytest_runtest_logstart(self, nodeid):
        self.cover.switch_context(nodeid)

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid] += report.duration

    def save(self, file: Path, copy: Path) -> None:
        """Write what was seen of the package in a copy of the checkout."""
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
        """Return what was seen."""
        reach, (seconds, lines) = cls(), json.loads(file.read_text("utf-8"))
        reach.seconds.update(seconds)
        names = [*seconds]
        reach.lines = {
            name: {int(line): [names[number] for number in tests] for line, tests in seen.items()}
            for name, seen in lines.items()
        }
        return reach

    def tests(self, mutant: Mutant) -> list[str]:
        """Return the tests that run the line of a mutant, else its function, else its file, else all of its room.

        The quickest come first. What stands in no function runs when the file is imported, so all of its tests are met.
        """
        seen = self.lines.get(str(mutant.file), {})
        functions = [
            range(node.lineno + 1, node.end_lineno + 1)
            for node in sorted(ast.walk(ast.parse(mutant.before)), key=lambda node: -getattr(node, "lineno", 0))
            if isinstance(node, ast.FunctionDef) and node.lineno <= mutant.line <= node.end_lineno
        ]
        line = [range(mutant.line, mutant.line + 1)] if functions else []
        reached = ({test for row in rows for test in seen.get(row, ())} for rows in (*line, *functions, seen))
        room = {test for test in self.seconds if test.startswith(f"tests/{mutant.file.parts[1]}/")}
        return sorted(next(filter(None, reached), room), key=lambda test: (self.seconds[test], test))


class Chosen:
    """Some tests of all that are collected, in their order."""

    def __init__(self, tests: list[str]) -> None:
        self.order = {test: place for place, test in enumerate(tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        items[:] = sorted(
            (item for item in items if item.nodeid in self.order), key=lambda item: self.order[item.nodeid]
        )


def survives(mutant: Mutant, copy: Path, reach: Reach) -> bool:
    """Say whether no test notices a mutant."""
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
        return _run([*SLOW, *sorted(places)], copy, SLOWEST) in (pytest.ExitCode.OK, NOTHING)
    finally:
        file.write_text(mutant.before, "utf-8")


def _passes(tests: list[str], copy: Path, reach: Reach) -> bool:
    """Say whether none of the tests fails in the copy."""
    files = sorted({test.partition("::")[0] for test in tests})
    limit = PATIENCE + int(4 * sum(reach.seconds[test] for test in tests))
    return _run([*FAST, *files], copy, limit, Chosen(tests)) in (pytest.ExitCode.OK, NOTHING)


def _run(words: list[str], copy: Path, limit: int, plugin: object = None, done=lambda: None) -> int:
    """Run tests in the copy, in a fork, so that what they all import is imported once; return the exit code."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.dont_write_bytecode = True  # what was compiled may be as old and as long as the break
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    os.setsid()
    os.chdir(copy)
    sys.path.insert(0, str(copy))
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]
    code = pytest.main(words, plugins=[plugin] if plugin else [])
    done()
    os._exit(code)


def measure(file: Path, copy: Path) -> None:
    """Run all fast tests once, and write down what they reach; end the program if one fails."""
    cover = coverage.Coverage(data_file=None, source=[str(copy / "shapecalc")], config_file=False)
    reach = Reach(cover)

    def done() -> None:
        cover.stop()
        reach.save(file, copy)

    cover.start()
    code = _run([*FAST, "shapecalc", "tests"], copy, 3600, reach, done)
    cover.stop()
    if code:
        sys.exit("the tests fail before anything is broken")


def explained() -> set[str]:
    """Return the breaks that `survivors.txt` explains."""
    return {line for line in EXPLAINED.read_text("utf-8").splitlines() if line[:1].isalpha() and ": - " in line}


def worked(mutants: list[Mutant], folder: Path, reach: Reach) -> list[str]:
    """Return the changes that survive, found by as many processes as there are cores, each with a copy."""
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
                told = "SURVIVES" if mutant.change in alive else "noticed "
                print(told, mutant.change, "(explained)" * (mutant.change in known), flush=True)
            (folder / f"alive-{core}").write_text(json.dumps(alive), "utf-8")
            os._exit(0)
    for worker in workers:
        os.waitpid(worker, 0)
    return [change for core in range(cores) for change in json.loads((folder / f"alive-{core}").read_text("utf-8"))]


def main() -> int:
    """Run the command line; return 1 if too much survives, or if it is not explained."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=12)
    parser.add_argument("--reach", type=Path, help="a file that keeps what the tests reach for another run")
    parser.add_argument("rooms", nargs="*", metavar="ROOM", default=ROOMS)
    asked = parser.parse_args()
    mutants = drawn_mutants(asked.rooms, asked.count, asked.seed)
    with TemporaryDirectory() as place:
        folder = Path(place)
        copy = folder / "checkout"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", ".venv", "__pycache__"))
        file = asked.reach or folder / "reach.json"
        if not file.exists():
            measure(file, copy)
        survivors = worked(mutants, folder, Reach.read(file))
    new = {*survivors} - explained()
    print(f"{len(survivors)} of {len(mutants)} survive, {len(new)} of them not explained")
    return int(len(survivors) > MOST * len(mutants) or bool(new))


if __name__ == "__main__":
    sys.exit(main())

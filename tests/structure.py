"""Measure the size of the package and the calls between its files: `python -m tests.structure`."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import shapecalc
from shapecalc.core.ops import OPS

PACKAGE = Path(shapecalc.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))
DATA_SUFFIXES = frozenset({".toml", ".json", ".jsonl", ".csv", ".txt", ".yaml", ".js", ".html", ".css", ".tcss"})
"""Suffixes of data files; files in font folders are not counted."""
CHARACTERS_PER_LINE = 120
"""The number of characters of data that is counted as one line."""
EXPLAINED_REQUEST = ("reshape", "2,3,4", "0,-1", "-d", "onnx", "--explain")
MEASURING_PROGRAM = """
import json, sys
files, calls = set(), 0

def count(frame, event, _):
    global calls
    if event == "call" and frame.f_code.co_filename.startswith(package):
        file, caller = frame.f_code.co_filename, frame.f_back.f_code.co_filename
        files.add(file.removeprefix(package)[1:])
        calls += file != caller and caller.startswith(package)

package, *sys.argv = sys.argv[1:]
from shapecalc.__main__ import main
main()
sys.setprofile(count)
main()
sys.setprofile(None)
print(json.dumps([sorted(files), calls]), file=sys.stderr)
"""
"""A program that answers a request twice; the second answer imports no modules and builds no tables."""


def count_code_lines(source: str) -> int:
    """Count the lines of code, without blank lines, comments and docstrings.

    >>> count_code_lines('"Docstring."\\n\\n# comment\\nprint(\\n    1,\\n)  # why\\n')
    3
    """
    docs = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, node.end_lineno + 1)
    }
    lines = [line.strip() for number, line in enumerate(source.splitlines(), 1) if number not in docs]
    return sum(line[:1] not in ("", "#") for line in lines)


def count_data_lines() -> int:
    """Count the lines of the package's data files."""
    files = [file for file in PACKAGE.rglob("*") if file.suffix in DATA_SUFFIXES and "fonts" not in file.parts]
    lengths = [len(line.strip()) for file in files for line in file.read_text("utf-8").splitlines()]
    return sum(-(-length // CHARACTERS_PER_LINE) for length in lengths)


def iter_functions() -> Iterator[tuple[int, str, Path]]:
    """Yield the number of lines, the name and the file of every function of the package."""
    for file in SOURCES:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node.end_lineno - node.lineno + 1, node.name, file


def count_op_names() -> dict[str, int]:
    """Count the string constants of each file that are names of ops.

    The files with the most names come first. The files of ops and dialects are excluded.
    """
    counts: dict[str, int] = {}
    for file in SOURCES:
        path = file.relative_to(PACKAGE)
        if path.parts[:2] not in (("core", "ops"), ("core", "dialects")):
            nodes = ast.walk(ast.parse(file.read_text("utf-8")))
            names = [node for node in nodes if isinstance(node, ast.Constant) and node.value in {*OPS}]
            counts |= {path.as_posix(): len(names)} if names else {}
    return dict(sorted(counts.items(), key=lambda row: -row[1]))


def measure_request(*question: str) -> tuple[list[str], int]:
    """Return the files whose functions a repeated request calls, and the number of calls between these files."""
    command = [sys.executable, "-c", MEASURING_PROGRAM, str(PACKAGE), "shapecalc", *question]
    ran = subprocess.run(command, cwd=PACKAGE.parent, capture_output=True, encoding="utf-8", check=True)
    files, calls = json.loads(ran.stderr.splitlines()[-1])
    return files, calls


def main() -> None:
    """Print the measurements."""
    code = sum(count_code_lines(file.read_text("utf-8")) for file in SOURCES)
    data, (lines, name, file), (files, calls) = (
        count_data_lines(),
        max(iter_functions()),
        measure_request(*EXPLAINED_REQUEST),
    )
    print(f"files            {len(SOURCES)}")
    print(f"lines of code    {code + data}, {data} of them in files of data")
    print(f"longest function {lines} lines: {name} in {file.relative_to(PACKAGE)}")
    print(f"shapecalc {' '.join(EXPLAINED_REQUEST)}")
    print(f"  files          {len(files)} have a function that is called, if it is answered again")
    print(f"  calls          {calls} from one file into another")


if __name__ == "__main__":
    main()

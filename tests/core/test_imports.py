"""The packages that the core and each command may import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import shapecalc
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import OPS
from tests.cases import rows

PACKAGE = Path(shapecalc.__file__).parent
CORE = sorted(
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in (PACKAGE / "core").rglob("*.py")
)
HEAVY = ("numpy", "rich", "typer", "textual", "pydantic", "onnx", "prompt_toolkit")
SLOW_TO_IMPORT = ("dataclasses", "fractions", "typing", "inspect", "re", "json", "contextlib")
RARELY_NEEDED = {
    **{name: f"shapecalc.reasoning.{name}" for name in ("fixing", "compare", "equiv", "find", "simplify", "mistakes")},
    **{name: name for name in ("inspect", "ipaddress", "pathlib", "typing", "zipfile")},
    "resources": "importlib.resources",
    "code": "shapecalc.reading.code",
    "operands": "shapecalc.render.code.operands",
    "cases": "shapecalc.reading.cases",
    "ops": "shapecalc.core.ops.windows",
}
"""The modules that few commands need, by their name in the table; `ops` are all ops."""
PROBE = """
import os, sys
for code in {codes!r}:
    child = os.fork()
    if not child:
        try:
            exec(code, {{}})
        finally:
            print("\\nloaded", *[name for name in {names!r} if name in sys.modules], flush=True)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit(1)
"""
"""Runs each piece of code in a fork of an interpreter that has imported nothing."""


def loaded_by_each(codes, names):
    """Return which of `names` a fresh interpreter has imported after running each of some pieces of code."""
    path = ":".join([str(PACKAGE.parent), *[path for path in sys.path if path.endswith("-packages")]])
    found = subprocess.run(
        [sys.executable, "-S", "-c", PROBE.format(codes=list(codes), names=names)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": path},
    )
    return [line.split()[1:] for line in found.stdout.splitlines() if line.split()[:1] == ["loaded"]]


def loaded(code, names):
    """Return which of `names` a fresh interpreter has imported after running `code`."""
    return loaded_by_each([code], names)[0]


def question(words):
    """Return the code that asks the command line."""
    return f"import sys; sys.argv = ['shapecalc', *{words!r}]; from shapecalc.__main__ import main; main()"


@pytest.mark.slow
def test_core_imports_no_heavy_package():
    assert loaded(f"import shapecalc, {', '.join(CORE)}", HEAVY) == []


@pytest.mark.parametrize("package", ["rich", "typer"])
def test_heavy_import_is_detected(package):
    assert package in loaded(f"import shapecalc, {package}", HEAVY)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("title", ["nothing slow", "little", "nothing heavy"])
def test_commands_import_only_allowed_packages(title):
    commands = [words.split() for (words,) in rows("imports", title)]
    names = HEAVY + SLOW_TO_IMPORT if title in ("nothing slow", "little") else HEAVY
    allowed = {"json", "re"} if title == "little" else set()
    found = loaded_by_each([question([word.replace("_", " ") for word in words]) for words in commands], names)
    assert [(words, each) for words, each in zip(commands, found, strict=True) if not {*each} <= allowed] == []


def test_commands_import_only_listed_slow_modules():
    table = [(words, names.split()) for words, names in rows("imports", "slow modules beside")]
    folder = f"{PACKAGE.parent}/tests/cases/"
    codes = [
        question([word.replace("_", " ").replace("cases/", folder) for word in words.split()]) for words, _ in table
    ]
    found = loaded_by_each(codes, [*RARELY_NEEDED.values()])
    names = {module: name for name, module in RARELY_NEEDED.items()}
    loaded_names = [
        (words, sorted(names[module] for module in each)) for (words, _), each in zip(table, found, strict=True)
    ]
    assert [row for row in loaded_names if row not in table] == []


def test_bare_question_imports_one_op_and_the_dialects_it_compares():
    tables = {"ops": OPS, "dialects": DIALECTS}
    files = [f"shapecalc.core.{table}.{name}" for table, names in tables.items() for name in names]
    files += ["shapecalc.cli.options", "shapecalc.cli.data", "shapecalc.core.layout"]
    compared = [f"shapecalc.core.dialects.{name}" for name in ("numpy", "torch")]
    for words, others in ((["squeeze", "1,3"], compared), (["squeeze", "1,3", "-d", "onnx"], [])):
        found = loaded(question(words), files)
        assert sorted(found) == sorted(["shapecalc.core.ops.squeeze", "shapecalc.core.dialects.onnx", *others])

"""The layers of the package, the order of modules in its lower layers, and no cycles; type imports count, too."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import shapecalc
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import Dialect
from shapecalc.core.ops import OPS
from shapecalc.core.ops.op import Op
from shapecalc.core.record import LazyRegistry

PACKAGE = Path(shapecalc.__file__).parent
LAYERS = (
    ("core",),
    ("reading", "reasoning"),
    ("render", "engine", "serving"),
    ("models", "diagnosis", "teaching", "checking"),
    ("cli", "tui"),
)
"""The subpackages by layer, lowest first. Subpackages of one layer do not import each other, except as `ALSO` says."""
ALSO = {("reasoning", "reading")}
"""Pairs of importer and imported subpackage that are allowed within a layer."""
TOP = len(LAYERS)
"""The layer of the modules beside the subpackages: the Python API and the entry point."""
ORDER = {
    "core": (
        *("record", "problem", "packages", "limits", "spellings", "dims", "results", "conditions", "text", "values"),
        *("moves", "layout", "origins", "answers", "rules", "params", "dialects", "ops", "requests", "resolve"),
    ),
    "reading": (
        *("options", "framework_words", "commands", "layers", "pattern", "preserving", "checks"),
        *("code", "word_code", "cases", "command_detection"),
    ),
    "reasoning": (
        *("number_mismatch", "operand_mismatch", "examples", "fixing", "answers", "compare", "mistakes"),
        *("equiv", "find", "costs", "simplify", "invert"),
    ),
    "checking": ("answering", "rewriting", "vectors", "judging", "source_code"),
}
"""The modules of the lower layers in their order: none imports a later one."""


def name_of(path):
    """Return the name of the module in a file of the package."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {
    name_of(path): path.read_text("utf-8") for path in sorted(PACKAGE.rglob("*.py")) if path.parent.name != "script"
}
"""The sources of all modules; the console script is beside the package when it is installed."""


def imports(source, known=SOURCES):
    """Return the modules of the package that a source imports, wherever in it and whatever for."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (names & known.keys()) | {node.module}
    return {name for name in found if name in known}


def layer_of(module):
    """Return the index of a module's layer."""
    parts = module.split(".")
    return next((index for index, names in enumerate(LAYERS) if parts[1:2] and parts[1] in names), TOP)


def violation(module, imported):
    """Return why a module may not import another; None if it may."""
    importer, target = module.split("."), imported.split(".")
    if layer_of(imported) > layer_of(module):
        return "a higher layer"
    if layer_of(module) == TOP:
        return None
    if layer_of(imported) == layer_of(module) and importer[1] != target[1]:
        return None if (importer[1], target[1]) in ALSO else "another subpackage of the same layer"
    order = ORDER.get(importer[1], ())
    if importer[1] == target[1] and order and len(importer) > 2 < len(target):
        return "a later module" if order.index(target[2]) > order.index(importer[2]) else None
    return None


@pytest.mark.slow
def test_imports_follow_the_layers_without_cycles():
    imported = {module: imports(source) for module, source in SOURCES.items()}
    pairs = {(module, name) for module, names in imported.items() for name in names}
    assert {pair: why for pair in pairs if (why := violation(*pair))} == {}
    assert circle(imported) == []


@pytest.mark.parametrize(
    ("module", "imported"),
    [
        ("core.ops.squeeze", "render.flow"),
        ("core.dims", "core.answers"),
        ("core.rules", "core.dialects.onnx"),
        ("core.resolve", "reading.commands"),
        ("reading.commands", "reading.cases"),
        ("reading.cases", "reasoning.equiv"),
        ("render.flow", "engine.plan"),
        ("engine.plan", "render.flow"),
        ("checking.answering", "teaching.lessons"),
        ("tui.app", "cli.app"),
        ("cli.app", "tui.app"),
        ("cli.app", "__main__"),
    ],
)
def test_layer_violation_is_detected(module, imported):
    assert violation(f"shapecalc.{module}", f"shapecalc.{imported}")


def test_packages_have_a_layer_and_modules_an_order():
    subpackages = {name.split(".")[1] for name in SOURCES if name.count(".") > 1}
    assert subpackages == {name for layer in LAYERS for name in layer}
    for subpackage, order in ORDER.items():
        modules = {name.split(".")[2] for name in SOURCES if name.startswith(f"shapecalc.{subpackage}.")}
        assert modules == {*order}


@pytest.mark.parametrize(("table", "kind"), [(OPS, Op), (DIALECTS, Dialect)])
def test_op_and_dialect_files_are_listed(table, kind):
    files = [path.stem for path in PACKAGE.parent.joinpath(*table.package.split(".")).glob("*.py")]
    holding = {
        name
        for name in files
        if isinstance(getattr(import_module(f"{table.package}.{name}"), name.upper(), None), kind)
    }
    assert holding == {*table}
    assert [value.name for value in table.values()] == [*table]


def test_table_contains_exactly_its_names():
    table = LazyRegistry("shapecalc.core.ops", "view", "squeeze")
    assert ("view" in table, "axes" in table, len(table), table.get("axes"), table.loaded) == (True, False, 2, None, {})
    assert table["squeeze"] is table["squeeze"] is OPS["squeeze"]
    assert [*table.loaded] == ["squeeze"]
    assert dict(table) == {"view": OPS["view"], "squeeze": OPS["squeeze"]}
    with pytest.raises(KeyError, match="axes"):
        table["axes"]


def circle(graph):
    """Return the modules that import themselves by way of others, if there are any."""
    open_, closed = set(), set()

    def visit(module):
        if module in closed:
            return []
        if module in open_:
            return [module]
        open_.add(module)
        for other in sorted(graph.get(module, ())):
            if other != module and (found := visit(other)):
                return [module, *found]
        closed.add(module)
        return []

    return next((found for module in graph if (found := visit(module))), [])


def test_import_cycle_is_detected():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == ["a", "b", "c", "a"]


def test_type_imports_count_as_imports():
    known = {"shapecalc.core.ops.op": "", "shapecalc.core.ops": ""}
    source = "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from shapecalc.core.ops.op import Op\n"
    assert imports(source, known) == {"shapecalc.core.ops.op"}


EVERYTHING = """
import importlib, pkgutil, shlex
import shapecalc as sc
from shapecalc.cli.options import OUTPUT_OPTIONS
from shapecalc.core.ops import OPS
from shapecalc.reading.commands import parse_op_words

for module in pkgutil.walk_packages(sc.__path__, "shapecalc."):
    if module.name.partition(".")[2] != "__main__":
        importlib.import_module(module.name)
called = 0
for name in sc.__all__:
    function = getattr(sc, name)
    if name in OPS:
        _, *words = shlex.split(OPS[name].examples[0])
        options = parse_op_words(OPS[name], words, OUTPUT_OPTIONS.values())
        options = {key: value for key, value in options.items() if key not in OUTPUT_OPTIONS}
        if name == "matmul":
            options["other"] = options.pop("operands")
        function(**options)
    elif not isinstance(function, type):
        assert callable(function), name
    called += 1
print(called == len(sc.__all__))
"""
"""A program that imports every module, and then calls each op."""


@pytest.mark.slow
def test_public_functions_work_after_importing_every_module():
    """A subpackage with the name of a public function would replace it."""
    ran = subprocess.run([sys.executable, "-c", EVERYTHING], capture_output=True, text=True, cwd=PACKAGE.parent)
    assert (ran.stderr, ran.stdout) == ("", "True\n")

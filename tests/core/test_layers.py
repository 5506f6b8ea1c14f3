"""The house: floors and rooms in their order, no circles. Imports for types count like any others."""

from __future__ import annotations

import ast
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
FLOORS = {"core": 1, "view": 2, "engine": 2, "serving": 2, "models": 3, "doctor": 3, "teaching": 3, "cli": 4, "tui": 4}
"""The folders of the package by floor. Folders of one floor do not import each other."""
DOOR = 5
"""The floor of what stands beside the folders: the package's own names and its entry point."""
ROOMS = (
    *("record", "problem", "packages", "limits", "dims", "results", "conditions", "text", "values", "moves", "layout"),
    *("origins", "answers", "examples", "rules"),
    *("dialects", "ops", "ask", "resolve", "commands", "layers", "pattern", "code"),
    *("meeting", "fixing", "compare", "mistakes", "equiv", "find", "simplify", "cases", "readings"),
)
"""The rooms of the core, lowest first: modules, and the folders of dialects and ops. A room imports none above it."""


def name_of(path):
    """Return the name of the module in a file of the package."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {name_of(path): path.read_text("utf-8") for path in sorted(PACKAGE.rglob("*.py"))}


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


def floor(module):
    parts = module.split(".")
    return FLOORS.get(parts[1], DOOR) if len(parts) > 1 else DOOR


def trespass(module, imported):
    """Return why a module may not import another; None if it may."""
    if imported == "shapecalc":
        return None  # it is imported with any of its modules; that none below it needs it, the circles show
    here, there = module.split("."), imported.split(".")
    if floor(imported) > floor(module):
        return "it is on a floor above"
    if floor(imported) == floor(module) != DOOR and here[1] != there[1]:
        return "it is the other folder of the same floor"
    if (
        here[1:2] == there[1:2] == ["core"]
        and len(here) > 2 < len(there)
        and ROOMS.index(there[2]) > ROOMS.index(here[2])
    ):
        return "it is a room above"
    return None


@pytest.mark.slow
def test_imports_follow_the_layers_without_cycles():
    imported = {module: imports(source) for module, source in SOURCES.items()}
    pairs = [(module, name) for module, names in imported.items() for name in names]
    assert {pair: why for pair in pairs if (why := trespass(*pair))} == {}
    assert circle(imported) == []


@pytest.mark.parametrize(
    ("module", "imported"),
    [
        ("core.ops.squeeze", "view.flow"),
        ("core.dims", "core.answers"),
        ("core.rules", "core.dialects.onnx"),
        ("view.flow", "engine.plan"),
        ("engine.plan", "view.flow"),
        ("tui.app", "cli.app"),
        ("cli.app", "tui.app"),
        ("cli.app", "__main__"),
    ],
)
def test_layer_violation_is_detected(module, imported):
    assert trespass(f"shapecalc.{module}", f"shapecalc.{imported}")


def test_packages_have_a_layer_and_modules_an_order():
    folders = {name.split(".")[1] for name in SOURCES if name.count(".") > 1}
    rooms = {name.split(".")[2] for name in SOURCES if name.startswith("shapecalc.core.")}
    assert folders <= FLOORS.keys()
    assert rooms <= {*ROOMS}


@pytest.mark.parametrize(("table", "kind"), [(OPS, Op), (DIALECTS, Dialect)])
def test_op_and_dialect_files_are_listed(table, kind):
    files = [path.stem for path in PACKAGE.parent.joinpath(*table.room.split(".")).glob("*.py")]
    holding = {
        name for name in files if isinstance(getattr(import_module(f"{table.room}.{name}"), name.upper(), None), kind)
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

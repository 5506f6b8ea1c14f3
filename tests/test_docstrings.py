"""Identifiers in docstrings: each name in backticks exists in the scope of its docstring."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import shapecalc
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import OPS, operators_of
from shapecalc.core.requests import common_option_names
from shapecalc.reading.code.calls import is_known_function

PACKAGE = Path(shapecalc.__file__).parent
FIELD_WORDS = {
    "variables of generated code and formulas": "w x y x1 x2 xn i d0 dtype2 _x ac c1 c2 hp hr f32",
    "values of arguments": "same valid average avg nchw nhwc auto sample channels_last channels_last_3d",
    "functions of frameworks": "forward make_tensor_value_info then_branch",
    "names outside of the package": """
        ctk cupy dataclasses enum float16 fork ipaddress man nohup resource termios tomllib typing
    """,
    "keys of JSON and of files": "args body expect inferred out outputs picture source told true",
    "groups of patterns and fields of templates": "inner order more operation",
    "commands, topics and answers": "ans backends build doctor done learn why",
    "verdicts and kinds": """
        attribute blocked computed external fails folded initializer major middle minor none ok only past refused
        undecided whole
    """,
    "attributes of results": "agree extras shuffles trace transposes verdict",
    "names of styles": "cell ink off usage",
}
"""The words in backticks that are not names of the package, by kind."""
WORDS = {word for words in FIELD_WORDS.values() for word in words.split()}
Functions = (ast.FunctionDef, ast.AsyncFunctionDef)
Documented = (*Functions, ast.ClassDef, ast.Module)


def parse_package() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    arguments = function.args
    variadic = [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
    return {item.arg for item in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *variadic]}


def module_names(tree: ast.Module) -> set[str]:
    names = set[str]()
    for statement in tree.body:
        for node in ast.walk(statement) if isinstance(statement, (ast.If, ast.Try)) else [statement]:
            if isinstance(node, (*Functions, ast.ClassDef)):
                names.add(node.name)
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                names |= {item.id for item in ast.walk(node) if isinstance(item, ast.Name) and is_stored(item)}
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                names |= {part for alias in node.names for part in (alias.asname or alias.name).split(".")}
    return names


def mapping_keys(tree: ast.Module) -> set[str]:
    """Return the constant keys of dict displays and subscripts, and the constant elements of set displays."""
    keys = set[str]()
    for node in ast.walk(tree):
        items = node.keys if isinstance(node, ast.Dict) else node.elts if isinstance(node, ast.Set) else []
        items = [node.slice] if isinstance(node, ast.Subscript) else items
        keys |= {item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)}
    return keys


def is_stored(node: ast.Name | ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Store)


def class_members(node: ast.ClassDef) -> set[str]:
    """Return the names of fields, methods and attributes of a class, and the parameters of its `__init__`."""
    names = {base.id for base in node.bases if isinstance(base, ast.Name)}
    for item in ast.walk(node):
        if isinstance(item, Functions):
            names |= {item.name} | (parameters(item) if item.name == "__init__" else set())
        elif isinstance(item, (ast.Name, ast.Attribute)) and is_stored(item):
            names.add(item.id if isinstance(item, ast.Name) else item.attr)
    return names


class Scopes:
    """The names that docstrings may mention."""

    def __init__(self, trees: dict[Path, ast.Module]) -> None:
        self.modules = {path.stem: module_names(tree) for path, tree in trees.items()}
        self.by_path = {path: module_names(tree) | mapping_keys(tree) for path, tree in trees.items()}
        self.classes: dict[str, set[str]] = {}
        for tree in trees.values():
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef):
                    self.classes.setdefault(node.name, set()).update(class_members(node))
        packages = {part for path in trees for part in path.with_suffix("").relative_to(PACKAGE.parent).parts}
        op_names = {word for name, op in OPS.items() for word in (name, *op.param_names)}
        params = {
            param.name for dialect in DIALECTS.values() for op in operators_of(dialect).values() for param in op.params
        }
        self.everywhere = set[str]().union(
            *self.modules.values(),
            packages,
            op_names,
            params,
            common_option_names(),
            DIALECTS,
            dir(builtins),
            keyword.kwlist,
            WORDS,
        )

    def members(self, name: str) -> set[str]:
        """Return the members of a class and of its base classes."""
        own = self.classes.get(name, set())
        return own.union(*[self.members(base) for base in own & {*self.classes} if base != name])

    def iter_missing(self, path: Path) -> Iterator[str]:
        tree = ast.parse(path.read_text("utf-8"))
        yield from self._iter_missing(tree, self.everywhere | self.by_path[path])

    def _iter_missing(self, node: ast.AST, scope: set[str]) -> Iterator[str]:
        if isinstance(node, Functions):
            scope = scope | parameters(node)
        if isinstance(node, ast.ClassDef):
            scope = scope | self.members(node.name)
        if isinstance(node, Documented):
            for text in docstrings(node):
                for word in re.findall(r"`([^`\n]+)`", text):
                    if not self.has_name(word, scope):
                        yield f"{getattr(node, 'name', 'module')}: `{word}`"
        for child in ast.iter_child_nodes(node):
            yield from self._iter_missing(child, scope)

    def has_name(self, word: str, scope: set[str]) -> bool:
        if re.fullmatch(r"_?[a-z][a-z0-9_]*(\(\))?|_[A-Za-z]\w*", word):
            name = word.removesuffix("()")
            return name in scope or is_known_function(name)
        owner = re.fullmatch(r"(\w+)\.(\w+)", word)
        if owner and owner[1] in self.classes:
            return owner[2] in self.members(owner[1])
        return True


def docstrings(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module) -> Iterator[str]:
    """Yield the docstring of a node and of its attributes, without examples."""
    for statement in node.body:
        value = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield re.sub(r"^ *(>>>|\.\.\.) .*$", "", value.value, flags=re.M)


TREES = parse_package()
SCOPES = Scopes(TREES)


@pytest.mark.parametrize("path", [*TREES], ids=lambda path: str(path.relative_to(PACKAGE)))
def test_identifiers_in_docstrings_exist(path):
    assert [*SCOPES.iter_missing(path)] == []


@pytest.mark.parametrize(
    ("docstring", "missing"),
    [("Return `number`.", []), ("Return `least`.", ["f: `least`"]), ("See `Atom.sizes`.", ["f: `Atom.sizes`"])],
)
def test_missing_identifiers_are_found(tmp_path, docstring, missing):
    path = tmp_path / "module.py"
    path.write_text(f'def f(number):\n    """{docstring}"""\n')
    SCOPES.by_path[path] = {"f"}
    assert [*SCOPES.iter_missing(path)] == missing

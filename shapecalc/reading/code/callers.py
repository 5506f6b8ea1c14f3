"""Find the constructor arguments and attributes that other code in a file sets for a class."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapecalc.reading.code.modules import walk_tree
from shapecalc.reading.code.source import dotted_name


def _is_plain_default(node: ast.expr) -> bool:
    """Return whether a default is a number, a string, or an expression of them."""
    if isinstance(node, ast.BinOp | ast.UnaryOp | ast.Tuple | ast.List):
        return all(_is_plain_default(part) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr))
    return isinstance(node, ast.Constant) and type(node.value) in (int, float, str)


def overridden_parameters(tree: ast.Module, name: str, initializer: ast.FunctionDef) -> set[str]:
    """Return the constructor parameters of a class whose defaults are overridden in the file.

    Parameters whose default is a number or a string are omitted: the user usually keeps or gives them. `name` is
    the name of the class, and `initializer` is its `__init__`.
    """
    arguments = initializer.args
    positional = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)][1:]
    defaults = dict(zip(positional[::-1], arguments.defaults[::-1], strict=False))
    defaults |= {
        argument.arg: default
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default is not None
    }
    return {
        parameter
        for call in _iter_constructor_calls(tree, name)
        for parameter, value in _passed_arguments(call, positional)
        if parameter in defaults
        and not _is_plain_default(defaults[parameter])
        and ast.dump(value) != ast.dump(defaults[parameter])
    }


def _iter_constructor_calls(tree: ast.Module, name: str) -> Iterator[ast.Call]:
    """Yield the calls in a file that run the constructor of a class, including those of derived classes."""
    for node in walk_tree(tree):
        if isinstance(node, ast.Call) and dotted_name(node.func) == name:
            yield node
        elif isinstance(node, ast.ClassDef) and name in map(dotted_name, node.bases):
            yield from [part for part in ast.walk(node) if isinstance(part, ast.Call) and _is_base_initializer(part)]


def _is_base_initializer(call: ast.Call) -> bool:
    """Return whether a call is `super().__init__(...)`."""
    function = call.func
    is_initializer = isinstance(function, ast.Attribute) and function.attr == "__init__"
    return is_initializer and isinstance(function.value, ast.Call)  # type: ignore[attr-defined]  # it is an attribute


def _passed_arguments(call: ast.Call, positional: list[str]) -> Iterator[tuple[str, ast.expr]]:
    """Yield the name and the value of each argument of a call, up to a starred argument."""
    for parameter, value in zip(positional, call.args, strict=False):
        if isinstance(value, ast.Starred):
            break
        yield parameter, value
    yield from [(word.arg, word.value) for word in call.keywords if word.arg]


def derived_assignments(tree: ast.Module, cls: ast.ClassDef) -> dict[str, ast.Assign | ast.AnnAssign]:
    """Return the attribute assignments of derived classes that the class itself lacks, keyed by attribute."""
    own = {ast.dump(node) for node in ast.walk(cls) if isinstance(node, ast.Assign | ast.AnnAssign)}
    return {
        attribute: node
        for derived in walk_tree(tree)
        if isinstance(derived, ast.ClassDef) and cls.name in map(dotted_name, derived.bases)
        for node in ast.walk(derived)
        if isinstance(node, ast.Assign | ast.AnnAssign) and ast.dump(node) not in own
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if (attribute := dotted_name(target).removeprefix("self.")).isidentifier() and dotted_name(target) != attribute
    }

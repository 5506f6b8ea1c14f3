"""The functions of ops take every option of their op by keyword, as type checkers see it, and nothing else."""

from __future__ import annotations

import ast

import pytest

from shapecalc.core.ops import OPS, all_params, supporting_dialects
from tests.sessions import ROOT

TREE = ast.parse((ROOT / "shapecalc" / "__init__.py").read_text("utf-8"))
FUNCTIONS = {node.name: node for node in TREE.body if isinstance(node, ast.FunctionDef)}
OPTION_TYPES = {node.name: node for node in ast.walk(TREE) if isinstance(node, ast.ClassDef)}
NOT_KEYWORDS = {("split", "all")}
"""The options that only choose what the command line prints."""
TAKES_ANY = {"rearrange"}
"""The functions with keywords for names that the user chooses, beside the options of every op."""
RENAMED = {("matmul", "other"): "operands"}
"""The parameters of functions that have another name than the parameter of the op."""


def fields_of(name):
    """Return the fields of a type of options, with those of its bases."""
    node = OPTION_TYPES.get(name)
    own = [line.target.id for line in node.body if isinstance(line, ast.AnnAssign)] if node else []
    return {*own, *[field for base in (node.bases if node else ()) for field in fields_of(base.id)]}


def keywords_of(function):
    """Return the keywords of a function that type checkers accept."""
    arguments = function.args
    named = {each.arg for each in (*arguments.args, *arguments.kwonlyargs, *filter(None, [arguments.vararg]))}
    match arguments.kwarg.annotation:
        case ast.Subscript(value=ast.Name("Unpack"), slice=ast.Name(name)):
            named |= fields_of(name)
    return {RENAMED.get((function.name, name), name) for name in named} - {"input"}


def options_of(op):
    """Return the options of an op in any dialect."""
    dialects = supporting_dialects(op)
    names = {param.name for param in all_params(op) if (op.name, param.name) not in NOT_KEYWORDS} | {"dtype", "where"}
    if len(dialects) > 1:
        names.add("dialect")
    if any(dialect.newest_opset for dialect in dialects):
        names.add("opset")
    if op.uses_switch:
        names |= {dialect.switch.name for dialect in dialects if dialect.switch}
    return names


@pytest.mark.sampled(99)
@pytest.mark.parametrize("name", OPS)
def test_function_takes_the_options_of_its_op(name):
    assert name in FUNCTIONS, f"shapecalc/__init__.py has no function {name}"
    keywords, options = keywords_of(FUNCTIONS[name]), options_of(OPS[name])
    missing = options - keywords - ({"dialect", "opset", "dtype", "where"} if name in TAKES_ANY else set())
    assert not missing, f"the function {name} lacks {', '.join(missing)}"
    unknown = keywords - options - {"dialect"}  # an op of one dialect takes its name
    assert not unknown, f"the op {name} has no option {', '.join(unknown)}"


def test_function_without_an_option_is_detected(monkeypatch):
    monkeypatch.setitem(FUNCTIONS, "pad", FUNCTIONS["tile"])
    with pytest.raises(AssertionError, match="the function pad lacks"):
        test_function_takes_the_options_of_its_op("pad")

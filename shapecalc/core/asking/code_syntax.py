"""The syntax of code: its tree, and the tensor and the dialect that it speaks of; nothing is read for its value."""

from __future__ import annotations

import ast
import warnings

from shapecalc.core.asking.code_calls import is_known
from shapecalc.core.sizes.problem import misuse
from shapecalc.core.sizes.quoting import brief, visible

FRAMEWORKS = {
    **dict.fromkeys(("torch", "F", "nn", "functional"), "torch"),
    **dict.fromkeys(("np", "numpy"), "numpy"),
    **dict.fromkeys(("jnp", "jax", "lax"), "jax"),
    **dict.fromkeys(("tf", "tensorflow", "keras", "K"), "tensorflow"),
    "paddle": "paddle",
}
"""The dialects of modules, by the names under which they are imported."""
MODULES = {*FRAMEWORKS, "einops", "math", "ops", "layers"}


def parsed(text: str) -> ast.Module:
    """Return the syntax tree of code; raise `ShapeError` (usage) if it has none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        line, column = error.lineno or 1, max(0, (error.offset or 1) - 1)
        start = min(_line_start(text, line) + column, max(0, len(text) - 1))
        raise misuse(f"this is not Python: {error.msg}", argument="line", span=(start, start + 1)) from None
    except (RecursionError, MemoryError):
        raise misuse("the code is nested too deep", argument="line") from None
    except ValueError as error:
        raise misuse(f"this is not Python: {visible(str(error))}", argument="line") from None


def as_written(name: str) -> str:
    """Return the name of a tensor, or the call that makes it, as Python writes it.

    Raises `ShapeError` (usage) for what is neither.
    """
    match parsed(name).body:
        case [ast.Expr(value=ast.Name() | ast.Attribute() | ast.Call() as node)]:
            return ast.unparse(node)
    raise misuse(f"'{visible(brief(name))}' is not a name for a tensor", "write --input x=N,C,H,W", argument="input")


def dialect_of(tree: ast.AST) -> str:
    """Return the dialect that the modules and the methods of code speak; PyTorch's if nothing tells."""
    found = "torch"
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in FRAMEWORKS:
            return FRAMEWORKS[node.id]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            given = [*node.args, *node.keywords]
            several = node.func.attr == "transpose" and len(given) != 2  # torch takes two axes
            found = "numpy" if several or node.func.attr in ("astype", "ravel") else found
    return found


def root_of(tree: ast.Module) -> str:
    """Return the name of the tensor that code begins with; `x` if it begins with none."""
    node: ast.AST | None = next((each for each in tree.body), None)
    while node is not None:
        match node:
            case ast.Expr(value=inner) | ast.Assign(value=inner) | ast.Return(value=inner):
                node = inner
            case ast.Call(func=ast.Name() | ast.Attribute() as called) if _is_layer(called):
                return ast.unparse(node)
            case ast.Call(func=ast.Attribute(value=inner), args=args):
                node = args[0] if args and dotted_name(inner).split(".")[0] in MODULES else inner
            case ast.Call(args=[first, *_]):
                node = first
            case ast.Subscript(value=inner) | ast.Attribute(value=inner, attr="T" | "mT" | "shape"):
                node = inner
            case ast.BinOp(left=inner):
                node = inner
            case _:
                return dotted_name(node) or "x"
    return "x"


def _is_layer(called: ast.expr) -> bool:
    """Say whether what is called is a layer of the code's own, whose result is the tensor: `self.qkv(x)`."""
    name = dotted_name(called)
    return not is_known(name.rpartition(".")[2]) and (name.startswith("self.") or name.isidentifier())


def dotted_name(node: ast.AST) -> str:
    """Return a dotted name as it is written; an empty text for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted_name(node.value)
        return f"{base}.{node.attr}" if base else ""
    return ""


def _line_start(text: str, line: int) -> int:
    """Return the place of the first character of a line, which is counted from 1."""
    return sum(len(each) for each in text.splitlines(keepends=True)[: line - 1])


def span_of(text: str, node: ast.AST) -> tuple[int, int]:
    """Return the place of an expression in code. Python counts its columns in bytes."""
    lines = text.splitlines(keepends=True)

    def place(line: int, column: int) -> int:
        before = lines[line - 1].encode("utf-8", "surrogatepass")[:column]
        return _line_start(text, line) + len(before.decode("utf-8", "surrogatepass"))

    return (
        place(node.lineno, node.col_offset),  # type: ignore[attr-defined]
        place(node.end_lineno, node.end_col_offset),  # type: ignore[attr-defined]
    )

"""Parse pasted code, and find its names, its dialect and its entry point."""

from __future__ import annotations

import ast
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import accumulate

from shapecalc.core.limits import MAX_CODE_LENGTH
from shapecalc.core.problem import usage_error
from shapecalc.core.record import Record
from shapecalc.core.text import escape_unprintable, reject_unbracketed_names, split_outside_brackets, truncate
from shapecalc.reading.code.calls import is_known_function
from shapecalc.reading.code.modules import imported_names, walk_tree
from shapecalc.reading.code.values import UserValue

MODULE_DIALECTS = {
    **dict.fromkeys(("torch", "F", "nn", "functional"), "torch"),
    **dict.fromkeys(("np", "numpy", "cp", "cupy"), "numpy"),
    **dict.fromkeys(("jnp", "jax", "lax"), "jax"),
    **dict.fromkeys(("tf", "tensorflow", "keras", "K"), "tensorflow"),
    **{name: name for name in ("paddle", "openvino", "mxnet")},
}
"""The dialect of each module, keyed by its name and its usual aliases. CuPy has the functions of NumPy."""
TORCH_ONLY_METHODS = {"view", "permute", "unsqueeze", "contiguous"}
"""Methods of PyTorch tensors that NumPy arrays lack or define differently."""
MODULE_NAMES = frozenset({*MODULE_DIALECTS, "einops", "math", "ops", "layers"})
PROMPT = r"\s*(?:>>>|\.\.\.|In \[\d+\]:) ?"
INPUT_NAME = r"(?s)(\d+:)?(.*?)(\[\d+\])?"
"""A regular expression for an input name: an optional line number, a name or a call, and an optional part index."""
DEFINITIONS = (ast.FunctionDef, ast.ClassDef)
PASTE_HINT = "paste the lines that end with one tensor, or their function"
ENTRY_METHODS = ("forward", "call", "__call__")
PRESERVING_LAYER_WORDS = "drop(out|path)?|(batch|layer|group|instance|rms)?_?norm|bn|ln|act(ivation)?|[a-z]{0,5}e?lu"
PRESERVING_LAYER = (
    rf"(?ai)(?!.*glu)(.+_)?({PRESERVING_LAYER_WORDS}|(log_?)?softmax|sigmoid|tanh|identity|(hard)?swish)_?\d*d?"
)
"""A regular expression for the names of layers that preserve shapes. The flag for ASCII saves 5 ms.

Expressions of this package are compiled on first use, because few lines of code need each of them.
"""

ENTRY_MARK = "::"
"""The separator between a file name and the name of a function, class or method in the file."""


def split_entry(line: str) -> tuple[str, str]:
    """Split `FILE.py::Net.forward` into the file and the name.

    The name is empty if the argument has no `::`. The parts of a name may be separated by `::`, as in pytest.
    """
    file, mark, name = line.partition(ENTRY_MARK)
    entry = name.replace(ENTRY_MARK, ".")
    is_entry = mark and entry.replace(".", "").isidentifier() and os.path.isfile(file)  # noqa: PTH113 - never raises
    return (file, entry) if is_entry else (line, "")


def split_inputs(text: str) -> list[tuple[str, str]]:
    """Split the value of `--input` into the names and the shapes of tensors.

    The name of the first tensor is empty if the text does not contain it. Raises `ShapeError` (usage) for dim names
    that are separated by spaces and follow the name of a tensor.

    >>> split_inputs("x=2, 3 self.f(x, 1)=3,4"), split_inputs("b c h w")
    ([('x', '2, 3'), ('self.f(x, 1)', '3,4')], [('', 'b c h w')])
    >>> split_inputs("x=<tf.Tensor: shape=(2, 3), dtype=float32> n=8")
    [('x', '<tf.Tensor: shape=(2, 3), dtype=float32>'), ('n', '8')]
    """
    tensors, is_split = list[tuple[str, str]](), set[int]()
    for piece in split_outside_brackets(text):
        name, dims = split_named_shape(piece)
        is_inside = tensors != [] and _is_incomplete(tensors[-1][1])
        if (name and not is_inside) or not tensors:
            tensors.append((name, dims))
        else:
            tensors[-1] = (tensors[-1][0], f"{tensors[-1][1]} {piece}")
            is_split.add(len(tensors) - 1)
    for index in is_split:
        if tensors[index][0]:
            reject_unbracketed_names(tensors[index][1])
    return tensors


def _is_incomplete(dims: str) -> bool:
    """Return whether a printed tensor, such as `<tf.Tensor: ...>`, is incomplete."""
    is_open = dims.lstrip()[:1] == "<" and dims.count("<") > dims.count(">")
    return is_open or ("=" in dims and dims.endswith(","))


def split_named_shape(piece: str, *, is_last: bool = False) -> tuple[str, str]:
    """Split `NAME=SHAPE` at the first `=`, or at the last `=` if `is_last` is True.

    An `=` inside brackets does not count. The name is empty if there is no `=`.
    """
    parts = [piece] if piece.lstrip()[:1] == "<" else split_outside_brackets(piece, "=")
    end = len(parts) - 1 if is_last else 1
    return ("=".join(parts[:end]).strip(), "=".join(parts[end:])) if len(parts) > 1 else ("", piece)


def parse_constant(text: str) -> tuple[UserValue] | None:
    """Parse a number, a truth value, a string, a nested list or None, and return it in a tuple.

    Returns None for any other text.

    >>> parse_constant("True"), parse_constant(" 0.5"), parse_constant("[(2, 3)]"), parse_constant("N")
    ((True,), (0.5,), (((2, 3),),), None)
    """
    try:
        value = _freeze_literal(ast.literal_eval(text.strip()))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return None if isinstance(value, tuple) and all(isinstance(item, int) for item in value) else (value,)


def _freeze_literal(value: object) -> UserValue:
    """Return a literal with lists converted to tuples.

    Raises `ValueError` for a literal of another type.
    """
    if isinstance(value, list | tuple):
        return tuple([_freeze_literal(item) for item in value])
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ValueError


def normalize_expression(text: str) -> str:
    """Normalize the spelling of an expression in code.

    Raises `ShapeError` (usage) for any other text.
    """
    match parse_code(text).body:
        case [ast.Expr(value=node)]:
            return ast.unparse(node)
    raise usage_error(f"'{escape_unprintable(truncate(text))}' is not NAME=SIZE", "write N=8,C=3", argument="where")


def normalize_pasted_code(text: str) -> str:
    r"""Remove prompts, printed output and indentation from pasted code.

    >>> normalize_pasted_code(">>> x.T\n(3, 2)"), normalize_pasted_code("x = x.T\n    x[0]")
    ('x.T', 'x = x.T\nx[0]')
    """
    if re.match(PROMPT, text):
        text = "\n".join([re.sub(PROMPT, "", line, count=1) for line in text.splitlines() if re.match(PROMPT, line)])
    text = _dedent(text).rstrip()
    first, _, rest = text.partition("\n")
    is_indented = rest[:1].isspace() and not first.partition("#")[0].rstrip().endswith((*":([{,\\",))
    return f"{first}\n{_dedent(rest)}" if is_indented else text


def _dedent(text: str) -> str:
    """Remove the common indentation of lines.

    A text whose first line is not indented is returned unchanged.
    """
    if not text[:1].isspace():
        return text
    from textwrap import dedent  # imported here, because it takes 2 of the 70 ms of `code`

    return dedent(text)


def parse_code(text: str) -> ast.Module:
    """Parse Python code.

    Raises `ShapeError` (usage) if its syntax is invalid.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        before = text.splitlines(keepends=True)[: (error.lineno or 1) - 1]
        start = min(len("".join(before)) + max(0, (error.offset or 1) - 1), max(0, len(text) - 1))
        hint = "shapecalc doctor reads errors" if re.search(r"Traceback|Error\b|File \"", text) else ""
        raise usage_error(f"this is not Python: {error.msg}", hint, argument="line", span=(start, start + 1)) from None
    except (RecursionError, MemoryError):
        raise usage_error("the code is nested too deep", argument="line") from None
    except ValueError as error:
        raise usage_error(f"this is not Python: {escape_unprintable(str(error))}", argument="line") from None


def parse_source(text: str) -> ast.Module:
    """Parse Python code.

    Raises `ShapeError` (usage) if the code is too long or its syntax is invalid.
    """
    if len(text) > MAX_CODE_LENGTH:
        raise MAX_CODE_LENGTH.error(f"{len(text)} characters of code", PASTE_HINT, argument="line")
    return parse_code(text)


@contextmanager
def refuse_deep_code() -> Iterator[None]:
    """Raise `ShapeError` (usage) if code is nested too deeply for Python's stack."""
    try:
        yield
    except RecursionError:
        raise usage_error("the code is nested too deep", argument="line") from None


def normalize_tensor_name(name: str) -> str:
    """Normalize the spelling of a tensor name.

    A call that returns a tensor and an item such as `batch['x']` are also accepted as names. The result is formatted by
    `ast.unparse`. Raises `ShapeError` (usage) for any other expression.
    """
    line, part, index = re.fullmatch(INPUT_NAME, name).groups()  # type: ignore[union-attr]  # it matches any name
    match parse_code(part).body:
        case [ast.Expr(value=ast.Name() | ast.Attribute() | ast.Call() | ast.Subscript() as node)]:
            return f"{line or ''}{ast.unparse(node)}{index or ''}"
    raise usage_error(
        f"'{escape_unprintable(truncate(name))}' is not a name for a tensor",
        "write --input x=N,C,H,W",
        argument="input",
    )


@lru_cache(maxsize=4)
def imported_modules(tree: ast.AST) -> dict[str, str]:
    """Map the names that `import` statements bind to the full names of modules."""
    aliases = [alias for node in walk_tree(tree) if isinstance(node, ast.Import) for alias in node.names]
    return {alias.asname or alias.name.partition(".")[0]: alias.name for alias in aliases}


def _library_names(tree: ast.AST) -> dict[str, str]:
    """Return the library of each imported name."""
    libraries = {name: module.partition(".")[0] for name, module in imported_modules(tree).items()}
    for name, imported in imported_names(tree).items():
        if not imported.level:
            libraries[name] = imported.module.partition(".")[0]
    return libraries


@lru_cache(maxsize=4)
def _detect_module_dialect(tree: ast.AST, part: ast.AST | None = None) -> str | None:
    """Return the dialect of the first module that code, or a part of it, uses, or None."""
    libraries = _library_names(tree)
    nodes = walk_tree(part or tree)
    used = (node.id for node in nodes if isinstance(node, ast.Name))
    bases = {node.value for node in nodes if isinstance(node, ast.Attribute)}
    modules = {base.id for base in bases if isinstance(base, ast.Name)}
    names = (name for name in used if name in modules or name not in libraries)
    return next(filter(None, (MODULE_DIALECTS.get(libraries.get(name, name)) for name in names)), None)


def find_unknown_library(tree: ast.AST) -> str | None:
    """Return the first library without a dialect that code imports and calls, or None.

    Returns None if the code also uses a module with a dialect.
    """
    if _detect_module_dialect(tree) is not None:
        return None
    libraries = _library_names(tree)
    paths = [dotted_name(node.func) for node in walk_tree(tree) if isinstance(node, ast.Call)]
    roots = [path.partition(".")[0] for path in paths if is_known_function(path.rpartition(".")[2])]
    called = (libraries[root] for root in roots if root in libraries)
    return next((library for library in called if library not in MODULE_NAMES | sys.stdlib_module_names), None)


def detect_dialect(tree: ast.AST) -> str:
    """Guess the dialect of code from module names and methods.

    The default is PyTorch.
    """
    if dialect := _detect_module_dialect(tree):
        return dialect
    markers = set[str | None]()
    for node in walk_tree(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            # PyTorch's `transpose` takes two axes, NumPy's takes all axes
            takes_all_axes = node.func.attr == "transpose" and len([*node.args, *node.keywords]) != 2
            markers |= {"all axes" if takes_all_axes else node.func.attr, *[keyword.arg for keyword in node.keywords]}
    is_numpy = markers & {"all axes", "astype", "ravel", "order"} or (
        "axis" in markers and not markers & TORCH_ONLY_METHODS
    )
    return "numpy" if is_numpy else "torch"


def detect_entry_dialect(tree: ast.Module, entry: str) -> str:
    """Guess the dialect of a function or class from the modules that it uses, or else from all code."""
    selected, _ = select_entry(tree.body, entry)
    node = selected and (selected.class_node or selected.node)
    dialect = _detect_module_dialect(tree, node) if node else None
    return dialect or detect_dialect(tree)


class CodeText:
    """The text of interpreted code, followed by the texts of the files that it imports."""

    def __init__(self, text: str) -> None:
        """Create the text of code that imports no files yet."""
        self.own_text = self.text = text
        self.line_starts = _line_starts(text)
        """The character offset of each line."""

    def append_file(self, text: str) -> int:
        """Append the text of an imported file, and return the number of lines before it."""
        count = self.text.count("\n") + 1
        self.text = f"{self.text}\n{text}"
        self.line_starts = _line_starts(self.text)
        return count

    def node_span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Return the start and end offsets of a syntax node in characters."""
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return self.char_offset(node.lineno, node.col_offset), self.char_offset(end_line, end_column)

    def char_offset(self, line: int, column: int) -> int:
        """Convert a line number and a UTF-8 byte column to a character offset."""
        start, *ends = self.line_starts[line - 1 : line + 1]
        before = self.text[start : ends[0] if ends else None].encode("utf-8", "surrogatepass")[:column]
        return start + len(before.decode("utf-8", "surrogatepass"))


def _line_starts(text: str) -> list[int]:
    return [0, *accumulate(map(len, text.splitlines(keepends=True)))]


class EntryPoint(Record):
    """The function or method to interpret."""

    node: ast.FunctionDef
    class_node: ast.ClassDef | None = None
    """The class of a method."""

    @property
    def name(self) -> str:
        """The name of the function, with its class for a method."""
        return f"{self.class_node.name}.{self.node.name}" if self.class_node else self.node.name

    @property
    def statements(self) -> list[ast.stmt]:
        """The statements of the function."""
        return self.node.body

    @property
    def only_parameter(self) -> str:
        """The name of the only parameter without a default, apart from `self`.

        Empty unless there is exactly one such parameter.
        """
        arguments = self.node.args
        required = arguments.args[: len(arguments.args) - len(arguments.defaults)]
        names = [argument.arg for argument in required if argument.arg not in ("self", "cls")]
        return names[0] if len(names) == 1 else ""


def select_entry(statements: Sequence[ast.stmt], name: str = "") -> tuple[EntryPoint | None, list[ast.stmt]]:
    """Return the entry point, and the module statements to interpret before it.

    `name` is the name of a function, a class or a method of a class. If it is empty, the entry point is the last
    function, or the `forward` of the last class. If a statement outside of definitions operates on a tensor, there is
    no entry point, and the statements are the code. Raises `ShapeError` (usage) for an unknown name.
    """
    if name:
        return _find_entry(statements, name), [*statements]
    defined = [node for node in statements if isinstance(node, DEFINITIONS)]
    lines = [node for node in statements if not isinstance(node, DEFINITIONS)]
    behind = [node for node in lines if defined and node.lineno > defined[-1].lineno]
    if not defined or has_tensor_operation(behind) or has_tensor_operation(lines, counts_indices=False):
        return None, [*statements]
    last, functions = defined[-1], {node.name: node for node in defined if isinstance(node, ast.FunctionDef)}
    if isinstance(last, ast.FunctionDef) and "__init__" in functions:  # methods that were pasted without their class
        first, *_ = functions.values()
        last = ast.ClassDef("Module", [], [], [*functions.values()], [])
        ast.copy_location(last, first)
    if isinstance(last, ast.FunctionDef):
        return EntryPoint(last), [*statements]
    entry = select_entry_method(last)
    return (EntryPoint(entry, last) if entry else None), [*statements]


def entries_by_name(statements: Sequence[ast.stmt]) -> dict[str, EntryPoint]:
    """Return the functions and methods of code, keyed by name.

    Methods such as `__init__` are omitted.
    """
    entries = dict[str, EntryPoint]()
    for node in statements:
        if isinstance(node, ast.FunctionDef):
            entries[node.name] = EntryPoint(node)
        for method in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(method, ast.FunctionDef) and (method.name in ENTRY_METHODS or method.name[:2] != "__"):
                assert isinstance(node, ast.ClassDef)
                entries[f"{node.name}.{method.name}"] = EntryPoint(method, node)
    return entries


def select_entry_method(node: ast.ClassDef, *, or_last: bool = True) -> ast.FunctionDef | None:
    """Return the method that runs when an instance is called, or None.

    The method is `forward` or a similar method. If there is none and `or_last` is True, it is the last method.
    """
    named = {method.name: method for method in node.body if isinstance(method, ast.FunctionDef)}
    others = reversed(named) if or_last else ()
    return next((named[name] for name in (*ENTRY_METHODS, *others) if name in named), None)


def _iter_bases(node: ast.ClassDef, defined: Mapping[str, ast.stmt]) -> Iterator[ast.ClassDef]:
    """Yield a class and those of its base classes that are defined in the same file."""
    pending, seen = [node], list[ast.ClassDef]()
    while pending:
        cls = pending.pop(0)
        if cls not in seen:
            seen.append(cls)
            yield cls
            bases = [defined.get(dotted_name(base)) for base in cls.bases]
            pending += [base for base in bases if isinstance(base, ast.ClassDef)]


def _find_entry(statements: Sequence[ast.stmt], name: str) -> EntryPoint:
    """Return the entry point with a name such as `scale`, `Net` or `Net.forward`."""
    defined = {node.name: node for node in statements if isinstance(node, DEFINITIONS)}
    outer, _, inner = name.partition(".")
    node = defined.get(outer)
    if isinstance(node, ast.FunctionDef) and not inner:
        return EntryPoint(node)
    if isinstance(node, ast.ClassDef):
        for cls in _iter_bases(node, defined):
            named = {method.name: method for method in cls.body if isinstance(method, ast.FunctionDef)}
            method = named.get(inner) if inner else select_entry_method(cls, or_last=cls is node)
            if method is not None and method.name != "__init__":
                return EntryPoint(method, node)
    known = ", ".join(defined) or "no functions and classes"
    raise usage_error(
        f"'{escape_unprintable(truncate(name))}' is no function or class of this file", f"it has {truncate(known)}"
    )


def find_first_variable(statements: Iterable[ast.stmt]) -> str:
    """Return the first name that is loaded and is neither a module nor a function.

    Returns `x` if there is no such name.
    """
    nodes = [node for statement in statements for node in ast.walk(statement) if isinstance(node, ast.Name)]
    loaded = [
        node
        for node in nodes
        if isinstance(node.ctx, ast.Load) and not (node.id in MODULE_NAMES or is_known_function(node.id))
    ]
    return min(loaded, key=lambda node: (node.lineno, node.col_offset)).id if loaded else "x"


def has_tensor_operation(statements: Iterable[ast.AST], *, counts_indices: bool = True) -> bool:
    """Return whether statements contain a supported call or an index expression.

    Index expressions count only if `counts_indices` is True.
    """
    nodes = [node for statement in statements for node in ast.walk(statement)]
    called = [getattr(node.func, "attr", dotted_name(node.func)) for node in nodes if isinstance(node, ast.Call)]
    has_index = counts_indices and any(isinstance(node, ast.Subscript) for node in nodes)
    return has_index or any(map(is_known_function, called))


def names_in_statement(statement: ast.stmt, context: type[ast.expr_context]) -> set[str]:
    """Return the names that a statement loads or stores, depending on `context`."""
    return {dotted_name(node) for node in ast.walk(statement) if isinstance(getattr(node, "ctx", None), context)}


def bound_names(statement: ast.stmt | ast.expr) -> list[str]:
    """Return the dotted names that a statement or a target binds, in source order."""
    stored = [node for node in ast.walk(statement) if isinstance(getattr(node, "ctx", None), ast.Store)]
    return [*dict.fromkeys(filter(None, map(dotted_name, stored)))]


def is_preserving_layer(layer_name: str) -> bool:
    """Return whether the name of a layer implies that the layer preserves the shape.

    For example, the name `self.attn_drop` does.
    """
    base, _, name = layer_name.rpartition(".")
    return base in ("", "self") and re.fullmatch(PRESERVING_LAYER, name) is not None


def dotted_name(node: ast.AST) -> str:
    """Return a dotted name as a string.

    Returns an empty string for any other expression.
    """
    parts = list[str]()
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def is_dict_item(node: ast.AST) -> bool:
    """Return whether an expression is an item with a string key, such as `batch['x']`."""
    return (
        isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
    )


IGNORED_STATEMENTS = (
    *(ast.Import, ast.ImportFrom, ast.Pass, ast.Assert, ast.Global, ast.Nonlocal, ast.Delete),
    *(ast.Raise, ast.Break, ast.Continue),
)
"""The statements that have no effect on tensors."""


def is_print_or_constant(statement: ast.stmt) -> bool:
    """Return whether a statement is a `print` call or a constant."""
    return isinstance(statement, ast.Expr) and (
        isinstance(statement.value, ast.Constant)
        or (isinstance(statement.value, ast.Call) and dotted_name(statement.value.func) == "print")
    )

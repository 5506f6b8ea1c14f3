"""Find the shapes that source code declares, and compare them with computed shapes.

Shapes are declared in comments and in annotations of jaxtyping.
"""

from __future__ import annotations

import ast
import io
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from shapecalc.core.dims import Dim, Shape, dim_names
from shapecalc.core.problem import Problem, ShapeError
from shapecalc.core.record import Record, replace
from shapecalc.core.text import parse_dims
from shapecalc.reading.code.lines import shapes_and_sizes
from shapecalc.reading.code.results import StatementRecord
from shapecalc.reading.code.source import EntryPoint, select_entry_method, split_inputs
from shapecalc.reading.code.values import is_dim
from shapecalc.reading.pattern import Matcher, ShapePattern, parse_pattern

DIM_REGEX = r"(?:\d+|[A-Z]\w{0,3}|[a-z]{1,2}\d?|\w+[*/][\w*/]+|\?|\.\.\.)"
MAX_COMMENT_LENGTH = 200
SHAPE_COMMENT = (
    r"#+\s*(?:([\w. ]*?)\s*[:=])?\s*(?:[\w ]*shape\s)?(?:.*->\s*)?"
    r"(?:(?:torch\.Size)?[(\[]+([^()\[\]]*(?:,|\sx\s)[^()\[\]]*)[)\]]+(?!.*\bor\b)"
    rf"|({DIM_REGEX}(?:\s+x\s+{DIM_REGEX})+)\s*$|({DIM_REGEX}(?:\s*,\s*{DIM_REGEX})+)\s*$)"
)
"""A regular expression for a comment that begins or ends with a shape. It is compiled on first use.

Examples are `# (B, T, C) after the split`, `# q: B,T,C`, `# x -> [B, T]` and `# [B x T x C]`. Group 1 is a name.
"""
_NAME = r"(?:[A-Za-z_]|\[[\d:]+\])[^,;#\s]*"
_NAMES = rf"({_NAME}(?:, {_NAME})*): "
_SHAPE = r"(?:\[\]|[\w?*/+()-]+(?:,[\w?*/+()-]+)*)"
ANNOTATION_PART = rf"(?:{_NAMES})?({_SHAPE})"
"""A regular expression for a part of a comment that `annotate` writes, such as `q, k: B,T,64`.

Group 1 matches the names, and group 2 matches the shape.
"""
INPUTS_COMMENT = r"#+\s*shapes:\s*(.+)"
"""A regular expression for a comment that declares the input shapes of the function or class below it."""
ARRAY_TYPE = r"(?:Float|Int|UInt|BFloat|Complex|Bool|Shaped|Num|Inexact|Real|Key)\d*"
"""A regular expression for the names of jaxtyping's types."""
ARRAY_ANNOTATION = rf"\b{ARRAY_TYPE}\["
"""A regular expression for the beginning of an annotation.

The syntax tree is walked only if the text matches.
"""


class DeclaredShape(Record):
    """A shape that a comment or an annotation declares."""

    line: int
    pattern: ShapePattern
    source: str
    """The kind of declaration: `the comment` or `the annotation`."""
    name: str = ""
    """The name of the tensor, or an empty string for any tensor of the line."""
    uncompared: tuple[str, ...] = ()
    """The dims that cannot be compared, for example `n+1`."""


class ShapeCheck(Record):
    """The comparison of a declared shape with the computed shape of its line."""

    declared: DeclaredShape
    problem: Problem | None

    @property
    def message(self) -> str:
        """The problem, or the dims that were not compared, or an empty string."""
        line, source = self.declared.line, self.declared.source
        if self.problem is not None:
            return f"line {line}, {source}: {self.problem.message}"
        return (
            f"line {line}, {source}: {', '.join(self.declared.uncompared)} not checked"
            if self.declared.uncompared
            else ""
        )

    def as_json(self) -> dict[str, object]:
        """Return the comparison as a JSON object."""
        return {
            "line": self.declared.line,
            "declared": str(self.declared.pattern),
            "ok": self.problem is None,
            "unchecked": [*self.declared.uncompared],
            "problem": self.problem and self.problem.as_json(),
        }


def shapes_in_comments(text: str) -> Iterator[DeclaredShape]:
    """Yield the shapes that comments at the ends of lines declare."""
    if "#" not in text:
        return
    import tokenize  # the import costs 1 of the 70 ms of `code`

    with suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and token.line[: token.start[1]].strip():
                yield from _parse_comment(token.start[0], token.string[:MAX_COMMENT_LENGTH])


def _parse_comment(line: int, comment: str) -> Iterator[DeclaredShape]:
    """Yield the shapes in a comment written by the user or by `annotate`."""
    match = re.match(SHAPE_COMMENT, comment)
    parts = [re.fullmatch(ANNOTATION_PART, part) for part in comment.rpartition("# ")[2].rstrip().split("; ")]
    with suppress(ShapeError):  # the comment is prose and not a shape
        if match:
            dims = (match[2] or match[3] or match[4]).strip(" ,")
            pattern = parse_pattern(re.sub(r"\s+x\s+", ",", dims), "line")
            yield DeclaredShape(line, pattern, "the comment", match[1] or "")
        elif all(part and part[1] for part in parts):
            for part in filter(None, parts):
                pattern = parse_pattern(part[2], "line")
                yield from [DeclaredShape(line, pattern, "the comment", name) for name in part[1].split(", ")]


def parse_annotation(node: ast.expr | None) -> DeclaredShape | None:
    """Return the shape of an annotation such as `Float[Tensor, "b t c"]`, or None.

    `*batch` is read as `...`. A dim that cannot be compared, such as `n+1`, matches any size. Source: jaxtyping, "Array
    annotations".

    >>> declared = parse_annotation(ast.parse("Float[Tensor, '*batch c n+1']", mode="eval").body)
    >>> str(declared.pattern), declared.uncompared
    ('...,c,?', ('*batch', 'n+1'))
    """
    match node:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return parse_annotation(left) or parse_annotation(right)
        case ast.Subscript(value=ast.Name(id="Optional"), slice=inner):
            return parse_annotation(inner)
        case ast.Subscript(value=kind, slice=ast.Tuple(elts=[_, ast.Constant(value=str() as text)])):
            if not re.fullmatch(ARRAY_TYPE, getattr(kind, "attr", getattr(kind, "id", ""))):
                return None
        case _:
            return None
    dims, uncompared = list[str](), list[str]()
    for word in text.split():
        name, _, value = word.partition("=")
        plain = value or name.lstrip("?")
        if word.startswith("*") or word == "...":
            dims.append("...")
        elif word == "_" or not (plain.isidentifier() or plain.isdecimal() or re.fullmatch(r"\w+(\*\w+)+", plain)):
            dims.append("?")
        else:
            dims.append(plain)
        if not (dims[-1] == plain or word in ("_", "...")):
            uncompared.append(word)
    with suppress(ShapeError):
        return DeclaredShape(
            node.lineno, parse_pattern(",".join(dims) or "[]", "line"), "the annotation", "", (*uncompared,)
        )
    return None


def declared_inputs(text: str, entry: EntryPoint) -> dict[str, Shape]:
    """Return the declared shapes of the inputs of a function.

    The shapes are declared in the comment above the function or its class, or in annotations. Raises `ShapeError`
    (usage) for an invalid shape in the comment.
    """
    source, owner = text.splitlines(), entry.class_node
    is_entry_method = owner is not None and select_entry_method(owner) is entry.node
    nodes: list[ast.FunctionDef | ast.ClassDef] = [entry.node, *([owner] if owner and is_entry_method else [])]
    for node in nodes:
        number = min([node.lineno, *[decorator.lineno for decorator in node.decorator_list]]) - 1
        while number > 0 and source[number - 1].lstrip().startswith("#"):
            number -= 1
            if match := re.fullmatch(INPUTS_COMMENT, source[number].strip()):
                return {name: parse_dims(dims, "input") for name, dims in split_inputs(match[1])}
    inputs = {}
    for argument in _parameters(entry.node):
        declared = parse_annotation(argument.annotation)
        if declared and declared.pattern.ellipsis_index is None:
            inputs[argument.arg] = declared.pattern.dims
    return inputs


def _parameters(node: ast.FunctionDef) -> list[ast.arg]:
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]


def shapes_in_annotations(tree: ast.AST, returns: DeclaredShape | None = None) -> Iterator[DeclaredShape]:
    """Yield the shapes that annotations of variables and results declare.

    `returns` is the result annotation of the enclosing function.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.AnnAssign) and (declared := parse_annotation(node.annotation)):
            yield declared
        elif isinstance(node, ast.Return) and returns is not None:
            yield replace(returns, line=node.lineno)
        inner = parse_annotation(node.returns) if isinstance(node, ast.FunctionDef) else returns
        yield from shapes_in_annotations(node, inner)


def check_inputs(entry: EntryPoint, inputs: Mapping[str, Shape], scope: NameScope) -> Iterator[ShapeCheck]:
    """Compare the annotations of parameters with the shapes of the inputs."""
    for argument in _parameters(entry.node):
        declared = parse_annotation(argument.annotation)
        if declared and argument.arg in inputs and (check := scope.compare_shapes(declared, [inputs[argument.arg]])):
            yield check


def check_shapes(
    text: str,
    tree: ast.Module,
    entry: EntryPoint | None,
    records: Sequence[StatementRecord],
    inputs: Mapping[str, Shape],
    result_names: Collection[str],
) -> list[ShapeCheck]:
    """Compare declared shapes with the shapes of their lines.

    Shapes are declared in comments and annotations. In the interpreted function, the names in the shapes of the inputs
    are symbolic sizes. Any other name is bound by the code or by the first declaration. Lines that are executed with
    different shapes are not compared. The names in `result_names` are not compared either, because their sizes are
    unknown.
    """
    declared = dict[int, list[DeclaredShape]]()
    annotated = shapes_in_annotations(tree) if re.search(ARRAY_ANNOTATION, text) else ()
    for shape in (*shapes_in_comments(text), *annotated):
        declared.setdefault(shape.line, []).append(shape)
    symbolic_names = {*dim_names([dim for dims in inputs.values() for dim in dims])}
    scopes, checks = dict[str, NameScope](), list[ShapeCheck]()
    main = next((record.function for record in records if record.depth == 0), "")
    scopes[main] = NameScope(symbolic_names, result_names)
    if entry is not None:
        checks += check_inputs(entry, inputs, scopes[main])
    executions = dict[tuple[str, int], list[StatementRecord]]()
    for record in records if declared else ():
        if record.layer is None:
            executions.setdefault((record.function, record.end_line), []).append(record)
    for function, end in sorted(executions):
        group = executions[function, end]
        scope = scopes.setdefault(function, NameScope(set(), result_names))
        for record in group:
            scope.bind_names(record)
        for line in {group[0].line, end}:
            compared = [scope.check_line(shape, group) for shape in declared.get(line, ())]
            checks += filter(None, compared)
    return sorted(checks, key=lambda check: check.declared.line)


class NameScope:
    """The names that denote sizes in the declarations of one function."""

    def __init__(self, symbolic_names: set[str], result_names: Collection[str]) -> None:
        """Create a scope in which the code has bound no names yet.

        The names in `symbolic_names` are symbolic sizes until the code binds them.
        """
        self.symbolic_names, self.result_names = symbolic_names, {*result_names}
        self.sizes: dict[str, Dim] = {}

    def bind_names(self, record: StatementRecord) -> None:
        """Bind the names of sizes that a statement assigns."""
        bound = {name: value for name, value in record.names.items() if not isinstance(value, ShapeError)}
        self.sizes |= {name: value for name, value in bound.items() if name and is_dim(value)}

    def check_line(self, declared: DeclaredShape, executions: Iterable[StatementRecord]) -> ShapeCheck | None:
        """Compare a declared shape with the shapes of a line.

        Returns None if the shapes are not known.
        """
        shapes, *others = [_statement_shapes(record, declared.name) for record in executions]
        return self.compare_shapes(declared, shapes) if shapes and all(other == shapes for other in others) else None

    def compare_shapes(self, declared: DeclaredShape, shapes: Iterable[Shape]) -> ShapeCheck | None:
        """Compare a declared shape with the shapes of a line; at least one of them must match.

        Returns None if equality cannot be decided.
        """
        problems = list[Problem]()
        for shape in dict.fromkeys(shapes):
            matcher = Matcher(declared.pattern, self.sizes, self.symbolic_names - self.sizes.keys())
            problem = matcher.match_shape(shape)
            if problem is None:
                self.sizes = matcher.sizes
                return ShapeCheck(declared, None)
            if problem.index is not None and self.result_names & {*dim_names([shape[problem.index]])}:
                return None
            problems.append(problem)
        return ShapeCheck(declared, problems[0])


def _statement_shapes(record: StatementRecord, name: str) -> list[Shape]:
    """Return the shapes of the tensors that a statement binds or returns.

    If `name` is the name of one of these tensors, only the shape of this tensor is returned. The result is empty if a
    shape is unknown.
    """
    shapes, _ = shapes_and_sizes(record)
    if not shapes:
        return [tuple(filter(is_dim, value)) for value in record.names.values() if isinstance(value, tuple)]
    chosen = [shapes[name]] if name in shapes else [*shapes.values()]
    return [] if None in chosen else chosen  # type: ignore[return-value]  # None is excluded

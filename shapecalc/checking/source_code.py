"""Check the shapes that are declared in source code.

A function is checked if its inputs are declared.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from shapecalc.checking.judging import CheckVerdict
from shapecalc.core.answers import EMPTY_DICT
from shapecalc.core.dims import Shape, to_json
from shapecalc.core.problem import USAGE, Problem, ShapeError
from shapecalc.core.record import Record
from shapecalc.core.requests import lookup_dialect
from shapecalc.reading.code import find_declared_inputs, name_unnamed_input
from shapecalc.reading.code.comments import ShapeCheck, declared_inputs
from shapecalc.reading.code.results import UnnamedInputIdentified
from shapecalc.reading.code.source import detect_dialect, entries_by_name, parse_source, refuse_deep_code
from shapecalc.reading.code.statements import CodeInterpreter
from shapecalc.reading.code.values import UserValue
from shapecalc.reasoning.answers import answer_code


class FunctionCheck(Record):
    """The result of checking a function: a comparison of declared and computed shapes.

    It includes the functions that this function calls.
    """

    name: str
    """The name of the function or method, or an empty string for statements outside functions."""
    line: int
    inputs: Mapping[str, Shape]
    checks: tuple[ShapeCheck, ...] = ()
    problem: Problem | None = None
    """The refusal, or the reason why the function cannot be interpreted to its end."""
    problem_line: int = 0

    @property
    def is_refused(self) -> bool:
        """Whether a rule refuses an operation or the inputs are invalid."""
        return self.problem is not None and (self.problem.rule != USAGE or not self.inputs)

    def failures(self) -> Iterator[tuple[int, str]]:
        """Yield the line and the message of each wrong declaration and refused operation."""
        for check in self.checks:
            if check.problem is not None:
                yield check.declared.line, f"{check.declared.source}: {check.problem.message}"
        if self.problem is not None and self.is_refused:
            yield self.problem_line, str(self.problem)

    def as_json(self) -> dict[str, object]:
        """Return the check as a JSON object."""
        return {
            "name": self.name,
            "line": self.line,
            "inputs": {name: to_json(dims) for name, dims in self.inputs.items()},
            "checks": [check.as_json() for check in self.checks],
            "problem": self.problem and self.problem.as_json(),
        }


class SourceCheck(Record):
    """The result of checking a source file.

    Functions without declared inputs are not checked.
    """

    functions: tuple[FunctionCheck, ...]
    skipped: tuple[str, ...] = ()

    def failures(self) -> dict[tuple[int, str], None]:
        """Return the line and the message of each failure.

        A failure is returned only once, even if several functions call its function.
        """
        return dict.fromkeys(failure for function in self.functions for failure in function.failures())

    def counts(self) -> dict[CheckVerdict, int]:
        """Count the declarations and refused operations for each verdict."""
        checks = [check for function in self.functions for check in function.checks]
        passed = {(check.declared.line, check.declared.name) for check in checks if check.problem is None}
        counts = {CheckVerdict.PASSED: len(passed), CheckVerdict.FAILED: len(self.failures())}
        return dict.fromkeys(CheckVerdict, 0) | counts

    def as_json(self) -> dict[str, object]:
        """Return the check as a JSON object."""
        return {
            "ok": not self.failures(),
            "functions": [function.as_json() for function in self.functions],
            "skipped": [*self.skipped],
        }


def check_source(
    text: str,
    inputs: Mapping[str, Shape] = EMPTY_DICT,
    dialect: str | None = None,
    sizes: Mapping[str, UserValue] = EMPTY_DICT,
    entry: str = "",
    path: str | None = None,
) -> SourceCheck:
    r"""Compare the declared shapes in source code with the computed shapes.

    Shapes are declared in comments and annotations. If `inputs` or `entry` is passed, only the function `entry` is
    checked, which is the last function by default. Otherwise, a function is checked if annotations or a comment such as
    `# shapes: x=B,T,C` declare its inputs. Raises `ShapeError` (usage) for a text that is not Python code.

    >>> report = check_source("# shapes: x=B,T,8\ndef f(x):\n    return x.flatten(1)  # B,T*9\n")
    >>> [line for function in report.functions for line, _ in function.failures()]
    [3]
    """
    tree = parse_source(text)
    name = lookup_dialect(dialect).name if dialect else detect_dialect(tree)
    if inputs or entry:
        given = inputs or find_declared_inputs(text, tree, entry)
        try:
            return SourceCheck((_check_function(CodeInterpreter(text, name, sizes, []), tree, entry, given, path),))
        except UnnamedInputIdentified as claimed:
            given = name_unnamed_input(given, claimed.args[0])
            return SourceCheck((_check_function(CodeInterpreter(text, name, sizes, []), tree, entry, given, path),))
    functions, skipped = list[FunctionCheck](), list[str]()
    for function, point in entries_by_name(tree.body).items():
        line = point.node.lineno
        try:
            declared = declared_inputs(text, point)
        except ShapeError as error:
            functions.append(FunctionCheck(function, line, {}, (), error.problem, line))
            continue
        if declared:
            interpreter = CodeInterpreter(text, name, sizes, [])
            functions.append(_check_function(interpreter, tree, function, declared, path))
        else:
            skipped.append(function)
    return SourceCheck(tuple(functions), tuple(skipped))


def _check_function(
    interpreter: CodeInterpreter, tree: ast.Module, entry: str, inputs: Mapping[str, Shape], path: str | None
) -> FunctionCheck:
    """Interpret a function, and compare its declared shapes with the computed shapes.

    If an error occurs, the declarations before the error are compared.
    """
    try:
        with refuse_deep_code():
            code = interpreter.interpret(tree, inputs, entry_name=entry, path=path)
        problem = answer_code(code, {}).problem
        line = interpreter.refused_line or interpreter.line
    except ShapeError as error:
        problem = error.problem
        line = interpreter.code.text.count("\n", 0, problem.span[0]) + 1 if problem.span else interpreter.line
    point = interpreter.entry
    name = entry or (point.name if point else "")
    return FunctionCheck(
        name, point.node.lineno if point else 1, inputs, tuple(interpreter.check_shapes()), problem, line
    )

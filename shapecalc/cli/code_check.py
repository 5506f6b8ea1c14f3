"""`shapecalc code --check`: check the shapes in comments and annotations of code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os.path import isfile

from shapecalc.checking.judging import CheckVerdict, github_annotation
from shapecalc.checking.source_code import SourceCheck, check_source
from shapecalc.cli.code_lines import read_source
from shapecalc.cli.output import (
    ExitCode,
    OutputOptions,
    print_json_if_requested,
    print_stderr,
    print_stdout,
    problem_exit_code,
)
from shapecalc.core.dims import Shape
from shapecalc.core.problem import Problem, ShapeError
from shapecalc.core.record import Record
from shapecalc.core.text import TypedShape, escape_unprintable
from shapecalc.reading.code.source import split_entry
from shapecalc.reading.code.values import UserValue


class CheckedFile(Record):
    """The check of one file, or the reason why the file cannot be read."""

    name: str
    """The name of the file; empty for code that is not in a file."""
    check: SourceCheck
    problem: Problem | None = None

    @property
    def exit_code(self) -> int:
        """The exit code for this file."""
        if self.problem is not None:
            return problem_exit_code(self.problem)
        return ExitCode.FAILED if self.check.failures() else ExitCode.OK

    def failures(self) -> Iterator[tuple[int | None, str]]:
        """Yield each failure with its line number.

        The line number is None if the failure concerns the whole file.
        """
        if self.problem is not None:
            yield None, str(self.problem)
        yield from self.check.failures()

    def as_json(self) -> dict[str, object]:
        """Return the JSON object of the file."""
        problem = self.problem and self.problem.as_json()
        return {"file": self.name, **self.check.as_json(), "ok": not self.exit_code, "problem": problem}


def run_code_check(
    lines: Sequence[str],
    inputs: Mapping[str, TypedShape],
    dialect: str | None,
    sizes: Mapping[str, UserValue],
    output_options: OutputOptions,
    text: str | None,
    *,
    github: bool,
) -> int:
    """Check the declared shapes in files or code, and print the wrong ones.

    With `inputs`, only one function of each file is checked: the selected one, or the last. Return 1 if a declared
    shape is wrong, or if a function with known inputs contains a refused operation.
    """
    shapes = {name: tensor.dims for name, tensor in inputs.items()}
    results = [_check_line(line, shapes, dialect, sizes, text) for line in lines]
    if print_json_if_requested(output_options, lambda: [result.as_json() for result in results]):
        for result in results:
            _print_result(result, github=github)
        print_stderr(f"shapecalc: {_format_summary(results)}")
    return max(result.exit_code for result in results)


def _check_line(
    line: str, inputs: Mapping[str, Shape], dialect: str | None, sizes: Mapping[str, UserValue], text: str | None
) -> CheckedFile:
    """Check the declared shapes in a file, or in a line of code."""
    line, entry = split_entry(line)
    name = line if isfile(line) else ""  # noqa: PTH113 - unlike `Path.is_file`, it never raises
    try:
        return CheckedFile(name, check_source(read_source(line, text), inputs, dialect, sizes, entry, name or None))
    except ShapeError as error:
        return CheckedFile(name, SourceCheck(()), error.problem)


def _print_result(result: CheckedFile, *, github: bool) -> None:
    """Print the failures of a file, each with its line number."""
    for line, message in result.failures():
        if github:
            print_stdout(github_annotation(result.name, message, line))
        else:
            place = ":".join(filter(None, [result.name, "" if line is None else str(line)]))
            print_stdout(escape_unprintable(f"{place}: {message}" if place else message))


def _format_summary(results: Sequence[CheckedFile]) -> str:
    """Format the numbers of correct shapes, wrong shapes and incomplete checks."""
    counts = [result.check.counts() for result in results]
    passed, failed = [sum(count[verdict] for count in counts) for verdict in (CheckVerdict.PASSED, CheckVerdict.FAILED)]
    functions = [function for result in results for function in result.check.functions]
    stopped = sum(function.problem is not None and not function.is_refused for function in functions)
    skipped = sum(len(result.check.skipped) for result in results)
    parts = [f"{passed:,} passed" if passed else "", f"{failed:,} failed" if failed else ""]
    parts += [f"{stopped:,} not followed to the end" if stopped else ""]
    parts += [f"{skipped:,} without inputs skipped" if skipped else ""]
    return ", ".join(filter(None, parts)) or "no shapes to check"

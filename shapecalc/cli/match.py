"""`shapecalc match`: compare the shapes of arrays in files with a pattern."""

from __future__ import annotations

from collections.abc import Iterator

from shapecalc.checking.judging import CheckVerdict, format_summary, github_annotation, junit_testcase
from shapecalc.cli.answer import print_error
from shapecalc.cli.check import JUNIT_OPTION, open_junit_report
from shapecalc.cli.options import GITHUB_OPTION, Argument, Command, select_output_options
from shapecalc.cli.output import (
    ExitCode,
    OutputOptions,
    print_json_if_requested,
    print_stderr,
    print_stdout,
    problem_exit_code,
)
from shapecalc.core.dims import to_json
from shapecalc.core.problem import FILE, Problem, ShapeError, error_reason, usage_error
from shapecalc.core.record import Record
from shapecalc.core.text import escape_unprintable, is_file_argument, truncate
from shapecalc.engine.headers import ArrayInfo, iter_array_infos
from shapecalc.reading.pattern import Matcher, ShapePattern, to_pattern

VERDICTS_BY_EXIT_CODE = {
    ExitCode.OK: CheckVerdict.PASSED,
    ExitCode.FAILED: CheckVerdict.FAILED,
    ExitCode.FILE: CheckVerdict.UNREAD,
}
"""The verdict on an array, by the exit code for this array."""
PATTERN_ARGUMENT = Argument("pattern", "the pattern of the shapes: N,3,H,W, '?,...,3', 'float32[N,3]'", "PATTERN")
ARRAY_FILES_ARGUMENT = Argument("files", "files, arrays in files (x.npz:w), and Zarr stores", "FILE...", repeated=True)


class ArrayResult(Record):
    """The comparison of the shape of one array with the pattern.

    `problem` states why the array does not match or cannot be read; it is None if the array matches.
    """

    header: ArrayInfo
    problem: Problem | None

    @property
    def exit_code(self) -> int:
        """The exit code for this array alone."""
        return ExitCode.OK if self.problem is None else problem_exit_code(self.problem)

    def as_json(self) -> dict[str, object]:
        """Return the JSON object of the array."""
        shape = None if self.header.problem else list(self.header.shape)
        header = {"shape": shape, "dtype": self.header.dtype}
        problem = self.problem and self.problem.as_json()
        return {"file": self.header.name, **header, "ok": self.problem is None, "problem": problem}


def run_match(
    pattern: str, files: list[str], output_options: OutputOptions, *, junit: str | None, github: bool = False
) -> int:
    """Match the arrays in files with a pattern; print the arrays that do not match.

    With `--json`, print all arrays. `junit` is the path of a JUnit report, or None. Return the exit code.
    """
    try:
        if output_options.json and github:
            raise usage_error("--json cannot be combined with --github")
        matcher = Matcher(_parse_pattern(pattern, files))
        counts = dict.fromkeys(CheckVerdict, 0)
        results: list[ArrayResult] = []
        with open_junit_report(junit, files, counts, "match") as junit_stream:
            for result in _match_arrays(matcher, files):
                counts[VERDICTS_BY_EXIT_CODE[result.exit_code]] += 1
                _print_result(result, output_options, github=github)
                if junit_stream is not None:
                    message, failed = (
                        result.problem.message if result.problem else "",
                        result.exit_code == ExitCode.FAILED,
                    )
                    junit_stream.write(junit_testcase("shapecalc match", result.header.name, message, failed=failed))
                if output_options.json:
                    results.append(result)
    except ShapeError as error:
        return print_error(error, "match", {"pattern": pattern}, output_options)
    except OSError as error:
        problem = Problem(FILE, f"{junit or ''}: {error_reason(error)}", argument="junit")
        return print_error(ShapeError(problem), "match", {}, output_options)
    if print_json_if_requested(output_options, lambda: _match_json(matcher, results)):
        print_stderr(escape_unprintable(f"shapecalc: {_match_summary(matcher, counts)}"))
    return max((code for code, verdict in VERDICTS_BY_EXIT_CODE.items() if counts[verdict]), default=ExitCode.OK)


def _parse_pattern(text: str, files: list[str]) -> ShapePattern:
    """Parse a pattern, or raise `ShapeError` (usage) if it is invalid.

    If `text` is a file name, the error message suggests to put the pattern before the files.
    """
    try:
        return to_pattern(text)
    except ShapeError:
        if not is_file_argument(text):
            raise
    pattern = "PATTERN" if is_file_argument(files[-1]) else escape_unprintable(truncate(files[-1]))
    file = escape_unprintable(truncate(text))
    raise usage_error(f"'{file}' is a file", f"the pattern comes first: match {pattern} {file}", argument="pattern")


def _match_arrays(matcher: Matcher, files: list[str]) -> Iterator[ArrayResult]:
    """Match every array in the files with the pattern, and yield the results."""
    for file in files:
        for header in iter_array_infos(file):
            if header.problem:
                message = f"{header.name}: {header.problem}" if header.name else header.problem
                yield ArrayResult(header, Problem(FILE, message, argument="files"))
            else:
                yield ArrayResult(header, matcher.match_shape(header.shape, header.dtype, header.name))


def _print_result(result: ArrayResult, output_options: OutputOptions, *, github: bool) -> None:
    """Print why an array does not match or cannot be read."""
    if result.problem is None or output_options.json or output_options.quiet:
        return
    if github:
        print_stdout(github_annotation(result.header.name, result.problem.message))
    elif result.header.problem:
        print_stderr(escape_unprintable(f"shapecalc: {result.problem}"))
    else:
        print_stdout(escape_unprintable(f"{result.header.name}: {result.problem.message}"))


def _match_summary(matcher: Matcher, counts: dict[CheckVerdict, int]) -> str:
    """Format the number of arrays with each verdict, and the sizes of the named dims."""
    sizes = ", ".join(f"{name} is {size}" for name, size in matcher.sizes.items())
    arrays = format_summary(counts) if any(counts.values()) else "no arrays"
    return f"{arrays}; {sizes}" if sizes else arrays


def _match_json(matcher: Matcher, results: list[ArrayResult]) -> dict[str, object]:
    """Return the JSON output of `match`: the pattern, the named sizes and the arrays."""
    names = {
        name: {"size": to_json(size), "from": matcher.binding_locations[name]} for name, size in matcher.sizes.items()
    }
    arrays = [result.as_json() for result in results]
    ok = all(result.exit_code == 0 for result in results)
    return {"pattern": str(matcher.pattern), "ok": ok, "names": names, "arrays": arrays}


MATCH_COMMAND = Command(
    run=run_match,
    parameters=[
        PATTERN_ARGUMENT,
        ARRAY_FILES_ARGUMENT,
        *select_output_options("json", "quiet"),
        JUNIT_OPTION,
        GITHUB_OPTION,
    ],
    summary="Check the shapes of arrays in files against a pattern.",
    examples="""\
  shapecalc match N,3,H,W *.npy
  shapecalc match 'float32[N,...]' data/*.safetensors store.zarr
  shapecalc match '?,3,224,224' x.npz:images --json""",
    details=""" Only the headers of .npy, .npz and .safetensors files and of Zarr stores are read. In the
pattern, ? is any dim and ... is any number of dims. A name has the same size in all files. An element type may
precede brackets. Each array that differs is printed. Exit 0: all match; 1: some differ; 2: the pattern
cannot be parsed; 4: a file cannot be read (the others are still checked).""",
)

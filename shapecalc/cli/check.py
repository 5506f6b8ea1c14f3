"""`shapecalc check`: run the test cases in files, and return one exit code.

A case is a line with a request and, optionally, the expected answer. The verdict on a case states whether it passed. A
file is processed in blocks of consecutive lines, which several processes can check at the same time.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from io import BufferedIOBase, BytesIO

from shapecalc.checking.judging import (
    MIN_PARALLEL_SIZE,
    Block,
    BlockResult,
    CheckOptions,
    CheckVerdict,
    check_in_parallel,
    check_sequentially,
    format_summary,
    regular_file_size,
    split_blocks,
)
from shapecalc.cli.answer import print_error
from shapecalc.cli.options import GITHUB_OPTION, Argument, Command, select_output_options
from shapecalc.cli.output import (
    ExitCode,
    OutputOptions,
    has_stdin_data,
    print_stderr,
    print_stdout,
    reject_device,
    stdin_stream,
)
from shapecalc.cli.progress import progress_bar
from shapecalc.core.problem import error_reason, usage_error
from shapecalc.core.text import escape_unprintable, is_file_argument
from shapecalc.engine.processes import SignalGuard, block_signals, count_cores
from shapecalc.reading.options import Option, OptionKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

MAX_DEFAULT_JOBS = 8
"""Maximum number of worker processes without `--jobs`."""
CASE_SUFFIXES = (".shapes", ".txt", ".jsonl")
"""File name suffixes of the case files in a folder."""
CHECK_EXIT_CODES = {
    CheckVerdict.FAILED: ExitCode.FAILED,
    CheckVerdict.UNREAD: ExitCode.USAGE,
    CheckVerdict.UNRESOLVED: ExitCode.UNRESOLVED,
}
"""The exit code of `check` for each verdict that is not a pass."""


@contextmanager
def open_junit_report(
    path: str | None, files: Iterable[str], counts: Mapping[CheckVerdict, int], command: str = "check"
) -> Iterator[IO[str] | None]:
    """Write a JUnit report to `path`; yield the stream for its test cases.

    The stream is a temporary file, because the report begins with totals that are known only at the end. On exit, the
    totals from `counts` and the test cases are written to `path`; after an error, nothing is written. If `path` is
    None, yield None. `command` is the command name in the report's title. Raises `OSError` if the report cannot be
    written, or if `path` is one of the input files `files`.
    """
    if path is None:
        yield None
        return
    from pathlib import Path

    if Path(path).exists() and any(Path(file).exists() and Path(path).samefile(file) for file in files):
        raise OSError(0, "it is one of the files that are checked")
    import tempfile

    from shapecalc.engine.atomic_files import open_report_file

    with tempfile.TemporaryFile("w+", encoding="utf-8") as stream, open_report_file(Path(path)) as file:
        yield stream
        errors = counts[CheckVerdict.UNREAD] + counts[CheckVerdict.UNRESOLVED]
        totals = f'tests="{sum(counts.values())}" failures="{counts[CheckVerdict.FAILED]}" errors="{errors}"'
        title = f'name="shapecalc {command}" {totals}'
        file.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuite {title}>\n'.encode())
        stream.seek(0)
        while piece := stream.read(1 << 20):
            file.write(piece.encode())
        file.write(b"</testsuite>\n")


@contextmanager
def replace_file_if_changed(file: str, is_changed: Callable[[], bool]) -> Iterator[IO[bytes]]:
    """Yield a temporary file that replaces `file` on exit.

    If `is_changed` returns false, `file` is not replaced. Raises `OSError` if the temporary file cannot be written, or
    if another program has changed `file` in the meantime.
    """
    from pathlib import Path

    from shapecalc.engine.atomic_files import atomic_file
    from shapecalc.engine.headers import read_file_stamp

    path = Path(file)
    before = read_file_stamp(path)

    def should_replace() -> bool:
        """Return whether to replace the file, or raise `OSError` on a concurrent change."""
        if is_changed() and read_file_stamp(path) != before:
            raise OSError(0, "another program has changed it in the meantime")
        return is_changed()

    with atomic_file(path, force=True, should_commit=should_replace) as stream:
        yield stream


FILES_ARGUMENT = Argument(
    "files", "case files, folders with case files, or - for standard input", "[FILE...]", False, repeated=True
)
JUNIT_OPTION = Option("junit", "Also write the results as JUnit XML.", metavar="FILE")
CHECK_OPTIONS = (
    Option("fail_fast", "Stop at the first line that fails.", OptionKind.FLAG, short="-x"),
    Option("update", "Replace the expectations in the files with the actual answers.", OptionKind.FLAG),
    JUNIT_OPTION,
    GITHUB_OPTION,
    Option(
        "jobs",
        "Number of processes, 1 to 256; by default all cores for large files.",
        OptionKind.NUMBER,
        metavar="N",
        short="-j",
        minimum=1,
        maximum=256,
    ),
)


def run_check(
    files: list[str] | None,
    output_options: OutputOptions,
    *,
    fail_fast: bool,
    update: bool,
    junit: str | None,
    github: bool,
    jobs: int | None,
    text: str | None = None,
) -> int:
    """Run the cases of the files in order; print the failures and a summary.

    For a case without an expectation, the answer is printed. The file name `-` denotes the cases in `text`, or in
    standard input if `text` is None. The other parameters are the options of the command.
    """
    if not files and not has_stdin_data():
        return print_error(
            usage_error("missing argument 'FILE...'", "see shapecalc check -h"), "check", {}, output_options
        )
    files = [path for name in files or ["-"] for path in _find_case_files(name)]
    conflicts = [name for name, given in (("--fail-fast", fail_fast), ("-", "-" in files)) if update and given]
    conflicts += ["--github"] if output_options.json and github else []
    if conflicts:
        error = usage_error(f"{'--update' if update else '--json'} cannot be combined with {conflicts[0]}")
        return print_error(error, "check", {}, output_options)
    style = CheckOptions(
        output_options.json, output_options.quiet, output_options.strict, github, junit is not None, fail_fast, update
    )
    with _reduce_garbage_collection(), SignalGuard():
        return _CheckRun(style, jobs, text).check_files(files, junit)


@contextmanager
def _reduce_garbage_collection() -> Generator[None]:
    """Make garbage collections rare in a `with` block.

    Answers have few reference cycles, so this saves 3 % of the time of a check. The previous settings are restored,
    because a session of `repl` continues after a check.
    """
    thresholds = gc.get_threshold()
    gc.freeze()  # exclude imported modules from garbage collections; they are never freed
    gc.set_threshold(50_000)
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)


def _find_case_files(name: str) -> list[str]:
    """Return the paths of the case files in a folder and its subfolders.

    If `name` is a file, or a folder without case files, return only `name`.
    """
    if not os.path.isdir(name):  # noqa: PTH112 - unlike `Path.is_dir`, it never raises
        return [name]
    from pathlib import Path

    paths = [Path(folder, file) for folder, _, files in os.walk(name) for file in files]
    return [str(path) for path in sorted(paths) if path.suffix in CASE_SUFFIXES and path.is_file()] or [name]


class _CheckRun:
    """The state of one run of `check`: the counts of the verdicts and the exit code."""

    def __init__(self, options: CheckOptions, jobs: int | None, text: str | None) -> None:
        self.options, self.jobs, self.text = options, jobs, text
        self.counts = dict.fromkeys(CheckVerdict, 0)
        self.worst_code: int = ExitCode.OK

    def check_files(self, files: list[str], junit: str | None) -> int:
        """Run the cases of all files, print the summary and return the exit code.

        `junit` is the path of the JUnit report, or None for no report.
        """
        total = sum(os.path.getsize(file) for file in files if os.path.isfile(file))  # noqa: PTH113, PTH202
        shows = not self.options.quiet and sys.stdout is not None and not sys.stdout.isatty()
        try:
            with (
                progress_bar(total, "checking", enabled=shows) as tick,
                open_junit_report(junit, files, self.counts) as junit_stream,
            ):
                for file in files:
                    if self._check_file(file, junit_stream, tick):
                        break
        except OSError as error:
            self._report_unusable_file(junit or "", error)
        empty_code = ExitCode.OK if any(self.counts.values()) else ExitCode.USAGE
        if not self.options.quiet:
            print_stderr(f"shapecalc: {format_summary(self.counts)}")
        return max(
            [self.worst_code, empty_code, *(code for verdict, code in CHECK_EXIT_CODES.items() if self.counts[verdict])]
        )

    def _check_file(self, file: str, junit_stream: IO[str] | None, tick: Callable[[int], None]) -> bool:
        """Run the cases of one file, and return whether a failure ends the whole run.

        With `--update`, the expectations in the file are replaced by the answers. If that fails, the cases with a new
        expectation are counted as failed. `tick` is called with the number of bytes of each block.
        """
        updated_before = self.counts[CheckVerdict.UPDATED]
        try:
            with ExitStack() as closing_all:
                stream = _open_file(file, self.text, closing_all)
                size = regular_file_size(stream)
                if self.options.update and not size:
                    raise OSError(0, "only a regular file that is not empty can be updated")
                update = replace_file_if_changed(file, lambda: self.counts[CheckVerdict.UPDATED] > updated_before)
                updated = closing_all.enter_context(update) if self.options.update else None
                for block, result in closing_all.enter_context(closing(self._check_blocks(file, stream, size))):
                    with block_signals():  # a signal must not interrupt the output in the middle of a line
                        if result.stdout_text:
                            print_stdout(result.stdout_text.removesuffix("\n"))
                    tick(len(block.data))
                    if updated is not None:
                        updated.write(block.data if result.data is None else result.data)
                    if self._add_result(result, junit_stream):
                        return True
        except OSError as error:
            self.counts[CheckVerdict.FAILED] += self.counts[CheckVerdict.UPDATED] - updated_before
            self.counts[CheckVerdict.UPDATED] = updated_before
            self._report_unusable_file(file, error)
        return False

    def _check_blocks(self, file: str, stream: BufferedIOBase, size: int) -> Generator[tuple[Block, BlockResult]]:
        """Yield each block of a file with its result.

        Large files of `size` bytes are distributed over several processes.
        """
        jobs = 1
        if size >= MIN_PARALLEL_SIZE or (size and self.jobs):
            jobs = self.jobs or min(MAX_DEFAULT_JOBS, count_cores())
        if jobs > 1:
            return check_in_parallel(split_blocks(stream), file, self.options, jobs)
        return check_sequentially(split_blocks(stream), file, self.options)

    def _add_result(self, result: BlockResult, junit_stream: IO[str] | None) -> bool:
        """Add the result of a block to the counts and to the JUnit report.

        Return whether a failure in the block ends the whole run.
        """
        for verdict, count in result.counts.items():
            self.counts[verdict] += count
        if junit_stream is not None:
            junit_stream.write(result.junit)
        return result.ends_run

    def _report_unusable_file(self, file: str, error: OSError) -> None:
        """Report a file that cannot be read or written, and set the exit code."""
        self.worst_code = ExitCode.FILE
        reason = error_reason(error)
        if isinstance(error, IsADirectoryError):
            reason = f"no file in it ends in {', '.join(CASE_SUFFIXES[:-1])} or {CASE_SUFFIXES[-1]}; name its files"
        if not self.options.quiet:
            print_stderr(escape_unprintable(f"shapecalc: file: {file}: {reason}"))


def _open_file(file: str, text: str | None, stack: ExitStack) -> BufferedIOBase:
    """Open a case file as a binary stream that `stack` closes.

    The file name `-` denotes the string `text`, or standard input if `text` is None.
    Raises `OSError` if the file cannot be opened or is not a text file.
    """
    if file != "-":
        stream = stack.enter_context(open(file, "rb"))  # noqa: PTH123, SIM115 - `pathlib` is slow; the stack closes it
        reject_device(stream)
        if b"\0" in stream.peek():
            message = "it contains an array, not cases; for arrays: shapecalc match"
            raise OSError(0, message if is_file_argument(file) else "it is not UTF-8 text")
        return stream
    if text is not None:
        return BytesIO(text.encode("utf-8", "surrogateescape"))
    stdin = stdin_stream()
    if stdin.isatty():
        print_stderr("shapecalc: reading cases from the terminal; end them with ^D")
    reject_device(stdin)
    return stdin  # type: ignore[return-value]


STRICT_OPTION = Option(
    "strict", "Fail a case if the answer has a condition that the case does not list.", OptionKind.FLAG
)
CHECK_COMMAND = Command(
    run=run_check,
    takes_text=True,
    parameters=[FILES_ARGUMENT, *select_output_options("json", "quiet"), STRICT_OPTION, *CHECK_OPTIONS],
    summary="Check many cases, from files or standard input.",
    examples="""\
  shapecalc check shapes.txt
  shapecalc check cases.jsonl --json > results.jsonl
  shapecalc check shapes.txt --update
  shapecalc check . --json | jq -r 'select(.passed == false) | "\\(.file):\\(.line)"'
  echo 'reshape 2,3,4 0,-1 => 2,12' | shapecalc check -""",
    details=""" Each line is a case, in plain text or as JSON:

\b
  reshape 2,3,4 0,-1 => 2,12          # a comment
  reshape 2,3,4 5,-1 => error indivisible
  reshape N,4 2,6    => 2,6 when N == 3
  2,3,4 | transpose 1,0,2 | reshape 2,-1,3 => 2,4,3
  {"op": "reshape", "input": [2, 3, 4], "target": [0, -1], "expect": [2, 12]}
  @default dialect=tensorrt

For a case without an expectation, the answer is printed. Exit 0: all cases passed; 1: some failed; 2: some lines
could not be read; 3: a case without an expectation was refused; 4: a file could not be read.""",
)

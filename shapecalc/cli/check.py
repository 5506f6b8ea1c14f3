"""`shapecalc check` and `match`: many cases or arrays, with one exit code."""

from __future__ import annotations

import gc
import sys
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, closing
from io import BufferedIOBase
from pathlib import Path
from typing import IO

from shapecalc.cli import checking
from shapecalc.cli.answer import print_error
from shapecalc.cli.checking import Block, BlockResult, Verdict
from shapecalc.cli.options import Argument, Command, printing_options
from shapecalc.cli.output import Exit, Output, problem_code, put, put_json, stream_error, tell
from shapecalc.core.commands import Option, Takes
from shapecalc.core.dims import plain
from shapecalc.core.pattern import Matcher, ShapePattern, pattern_of
from shapecalc.core.problem import FILE, Problem, ShapeError, misuse
from shapecalc.core.record import Record
from shapecalc.core.text import brief, is_file, visible
from shapecalc.engine.headers import Found, found_in
from shapecalc.engine.processes import count_cores

# `shapecalc check`: cases from files or standard input.


MOST_JOBS = 8
"""The most processes that are started without being asked for."""


FILES = Argument("files", "files of cases; - is standard input", "FILE...", repeated=True)
JUNIT = Option("junit", "Also write the results as JUnit XML.", metavar="FILE")
OPTIONS = (
    Option("fail_fast", "Stop at the first line that fails.", Takes.NOTHING, short="-x"),
    Option("update", "Replace the expectations in the files by the actual answers.", Takes.NOTHING),
    JUNIT,
    Option("github", "Print failures as annotations of GitHub Actions.", Takes.NOTHING),
    Option(
        "jobs",
        "How many processes, 1 to 256; by default all cores for large files.",
        Takes.NUMBER,
        metavar="N",
        short="-j",
        least=1,
        most=256,
    ),
)


def run_check(
    files: list[str], out: Output, *, fail_fast: bool, update: bool, junit: str | None, github: bool, jobs: int | None
) -> int:
    """Judge the files in turn; print failures and answers, and tell the summary."""
    clash = [name for name, both in (("--fail-fast", fail_fast), ("-", "-" in files)) if update and both]
    clash += ["--github"] if out.json and github else []
    if clash:
        error = misuse(f"{'--update' if update else '--json'} cannot be combined with {clash[0]}")
        return print_error(error, "check", {}, out)
    style = checking.Style(out.json, out.quiet, out.strict, github, junit is not None, fail_fast, update)
    gc.freeze()  # what is here now stays: collections need not look at it
    with checking.WholeLines() as lines:
        return _Run(style, jobs, lines).judge_files(files, junit)


class _Run:
    """One run over several files."""

    def __init__(self, style: checking.Style, jobs: int | None, out: checking.WholeLines) -> None:
        self.style, self.jobs, self.out = style, jobs, out
        self.counts = dict.fromkeys(Verdict, 0)
        self.progress = checking.Progress(wanted=not style.quiet)
        self.worst: int = Exit.YES

    def judge_files(self, files: list[str], junit: str | None) -> int:
        """Judge the files, tell the summary and return the exit code."""
        try:
            if junit is not None and is_among(junit, files):
                raise OSError(0, "it is one of the files that are checked")
            with checking.junit_file(junit, self.counts) as cases:
                for file in files:
                    if self._judge_file(file, cases):
                        break
        except OSError as error:
            self._tell_unusable(junit or "", error)
        finally:
            self.progress.clear()
        if not self.style.quiet:
            tell(f"shapecalc: {checking.summary(self.counts)}")
        return max(self.worst, checking.worst_code(self.counts))

    def _judge_file(self, file: str, cases: IO[str] | None) -> bool:
        """Judge one file; return whether a failure in it ends the run."""
        updated_before = self.counts[Verdict.UPDATED]
        try:
            with ExitStack() as closing_all:
                stream = _open_file(file, closing_all)
                size = checking.regular_size(stream)
                if self.style.update and not size:
                    raise OSError(0, "only a regular file that is not empty can be updated")
                updated = closing_all.enter_context(self._updated_file(file)) if self.style.update else None
                for block, result in closing_all.enter_context(closing(self._results(file, stream, size))):
                    self.out.put(result.shown)
                    if updated is not None:
                        updated.write(block.data if result.data is None else result.data)
                    if self._count(result, cases):
                        return True
        except OSError as error:
            self.counts[Verdict.FAILED] += self.counts[Verdict.UPDATED] - updated_before
            self.counts[Verdict.UPDATED] = updated_before
            self._tell_unusable(file, error)
        return False

    def _updated_file(self, file: str) -> AbstractContextManager[IO[bytes]]:
        """Return what takes the lines of a file that is updated. It takes the file's place if a line has changed."""
        before = self.counts[Verdict.UPDATED]
        return checking.updated_file(Path(file), lambda: self.counts[Verdict.UPDATED] > before)

    def _results(self, file: str, stream: BufferedIOBase, size: int) -> Generator[tuple[Block, BlockResult]]:
        """Return the blocks of a file with what each comes to."""
        jobs = 1
        if size:
            jobs = self.jobs or min(MOST_JOBS if size >= checking.WORTH_IT else 1, count_cores())
        if jobs > 1:
            return checking.judge_in_parallel(checking.split_blocks(stream), file, self.style, jobs)
        return checking.judge_in_turn(checking.split_blocks(stream), file, self.style)

    def _count(self, result: BlockResult, cases: IO[str] | None) -> bool:
        """Add a block to the counts; return whether a failure in it ends the run."""
        for verdict, count in result.counts.items():
            self.counts[verdict] += count
        if cases is not None:
            cases.write(result.junit)
        self.progress.tell(self.counts)
        return result.stopped

    def _tell_unusable(self, file: str, error: OSError) -> None:
        """Tell that a file cannot be read or written."""
        self.worst = Exit.FILE
        self.progress.clear()
        reason = error.strerror or str(error)
        if not self.style.quiet:
            tell(visible(f"shapecalc: file: {file}: {reason[:1].lower()}{reason[1:]}"))


def is_among(path: str, files: list[str]) -> bool:
    """Say whether a path is that of one of the files."""
    return Path(path).exists() and any(Path(file).exists() and Path(path).samefile(file) for file in files)


def names_array(path: str) -> bool:
    """Say whether a path is that of a file or folder of arrays, by its ending."""
    return is_file(path) or path.rstrip("/").endswith(".zarr")


def _open_file(file: str, closing_all: ExitStack) -> BufferedIOBase:
    """Return a file, or standard input for `-`, to be read as bytes; raise `OSError` for a file that is no text."""
    if file != "-":
        stream = closing_all.enter_context(Path(file).open("rb"))  # noqa: SIM115 - the stack closes it
        if b"\0" in stream.peek():
            arrays = "it contains an array, not cases; for arrays: shapecalc match"
            raise OSError(0, arrays if names_array(file) else "it is not UTF-8 text")
        return stream
    if sys.stdin is None:
        raise stream_error("stdin", "it is closed")
    if sys.stdin.isatty():
        tell("shapecalc: reading cases from the terminal; end them with ^D")
    return sys.stdin.buffer  # type: ignore[return-value]


CHECK_COMMAND = Command(
    run=run_check,
    parameters=[FILES, *printing_options("json", "quiet", "strict"), *OPTIONS],
    summary="Check many cases, from files or standard input.",
    examples="""\
  shapecalc check shapes.txt
  shapecalc check cases.jsonl --json > results.jsonl
  shapecalc check shapes.txt --update
  echo 'reshape 2,3,4 0,-1 => 2,12' | shapecalc check -""",
    more=""" A line is a case, plain or JSON, such as:

\b
  reshape 2,3,4 0,-1 => 2,12          # a comment
  reshape 2,3,4 5,-1 => error indivisible
  reshape N,4 2,6    => 2,6 when N == 3
  2,3,4 | transpose 1,0,2 | reshape 2,-1,3 => 2,4,3
  {"op": "reshape", "input": [2, 3, 4], "target": [0, -1], "expect": [2, 12]}
  @default dialect=tensorrt

A case without an expectation prints its answer. Exit 0: all passed; 1: some did not; 2: some lines
could not be read; 3: some without an expectation could not be resolved; 4: a file could not be read.""",
)


# `shapecalc match`: arrays in files, held against a pattern of shapes.


PATTERN = Argument("pattern", "what the shapes must be: N,3,H,W, '?,...,3', 'float32[N,3]'", "PATTERN")
ARRAY_FILES = Argument("files", "files, arrays of files (x.npz:w), and Zarr stores", "FILE...", repeated=True)
VERDICTS = {Exit.YES: Verdict.PASSED, Exit.NO: Verdict.FAILED, Exit.FILE: Verdict.UNREAD}


class Judged(Record):
    """One array, and where it differs from the pattern or why it cannot be read."""

    found: Found
    problem: Problem | None

    @property
    def code(self) -> int:
        """The exit code of this array alone."""
        return Exit.YES if self.problem is None else problem_code(self.problem)

    def as_json(self) -> dict[str, object]:
        """Return the JSON object of the array."""
        unread = bool(self.found.problem)
        read = {"shape": None if unread else list(self.found.shape), "dtype": self.found.dtype}
        problem = self.problem and self.problem.as_json()
        return {"file": self.found.name, **read, "ok": self.problem is None, "problem": problem}


def run_match(pattern: str, files: list[str], out: Output, *, junit: str | None) -> int:
    """Print each array that differs, or all as JSON; return the largest exit code."""
    try:
        matcher = Matcher(_read_pattern(pattern, files))
        counts = dict.fromkeys(Verdict, 0)
        judged: list[Judged] = []
        if junit is not None and is_among(junit, files):
            raise OSError(0, "it is one of the files that are looked at")
        with checking.junit_file(junit, counts, "match") as cases:
            for each in _judged(matcher, files):
                counts[VERDICTS[each.code]] += 1
                _tell(each, out)
                if cases is not None:
                    said, failed = each.problem.message if each.problem else "", each.code == Exit.NO
                    cases.write(checking.testcase("shapecalc match", each.found.name, said, failed=failed))
                if out.json:
                    judged.append(each)
    except ShapeError as error:
        return print_error(error, "match", {"pattern": pattern}, out)
    except OSError as error:
        problem = Problem(FILE, f"{junit or ''}: {error.strerror or error}", argument="junit")
        return print_error(ShapeError(problem), "match", {}, out)
    if out.json and not out.quiet:
        put_json(_as_json(matcher, judged))
    elif not out.quiet:
        tell(visible(f"shapecalc: {_said(matcher, counts)}"))
    return max((code for code, verdict in VERDICTS.items() if counts[verdict]), default=Exit.YES)


def _read_pattern(text: str, files: list[str]) -> ShapePattern:
    """Return the pattern; raise `ShapeError` (usage) if it cannot be read, and say so if a file stands in its place."""
    try:
        return pattern_of(text)
    except ShapeError:
        if not names_array(text):
            raise
    wanted = "PATTERN" if names_array(files[-1]) else visible(brief(files[-1]))
    shown = visible(brief(text))
    raise misuse(f"'{shown}' is a file", f"the pattern comes first: match {wanted} {shown}", argument="pattern")


def _judged(matcher: Matcher, files: list[str]) -> Iterator[Judged]:
    """Yield every array of the files in turn, held against the pattern."""
    for file in files:
        for found in found_in(file):
            if found.problem:
                said = f"{found.name}: {found.problem}" if found.name else found.problem
                yield Judged(found, Problem(FILE, said, argument="files"))
            else:
                yield Judged(found, matcher.problem(found.shape, found.dtype, found.name))


def _tell(judged: Judged, out: Output) -> None:
    """Print an array that differs; tell one that cannot be read."""
    if judged.problem is None or out.json or out.quiet:
        return
    if judged.found.problem:
        tell(visible(f"shapecalc: {judged.problem}"))
    else:
        put(visible(f"{judged.found.name}: {judged.problem.message}"))


def _said(matcher: Matcher, counts: dict[Verdict, int]) -> str:
    """Return what the arrays came to, and the sizes of the names."""
    sizes = ", ".join(f"{name} is {size}" for name, size in matcher.sizes.items())
    arrays = checking.summary(counts) if any(counts.values()) else "no arrays"
    return f"{arrays}; {sizes}" if sizes else arrays


def _as_json(matcher: Matcher, judged: list[Judged]) -> dict[str, object]:
    """Return the JSON object of a run."""
    names = {name: {"size": plain(size), "from": matcher.origins[name]} for name, size in matcher.sizes.items()}
    arrays = [each.as_json() for each in judged]
    ok = all(each.code == 0 for each in judged)
    return {"pattern": str(matcher.pattern), "ok": ok, "names": names, "arrays": arrays}


MATCH_COMMAND = Command(
    run=run_match,
    parameters=[PATTERN, ARRAY_FILES, *printing_options("json", "quiet"), JUNIT],
    summary="Say whether the arrays in files have the shapes of a pattern.",
    examples="""\
  shapecalc match N,3,H,W *.npy
  shapecalc match 'float32[N,...]' data/*.safetensors store.zarr
  shapecalc match '?,3,224,224' x.npz:images --json""",
    more=""" It reads only the headers of .npy, .npz and .safetensors files and of Zarr stores. In the
pattern ? is any dim and ... any number of dims. A name has the same size in every file. A type may stand
before brackets. Each array that differs gets a line. Exit 0: all match; 1: some differ; 2: the pattern
cannot be read; 4: a file cannot be read, and the others are still checked.""",
)

"""`shapecalc check`: many cases from files or standard input, with one exit code."""

from __future__ import annotations

import gc
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated

import typer

from shapecalc.cli.answer import refused, unpadded
from shapecalc.cli.checking.lines import blocks, regular_size
from shapecalc.cli.checking.outputs import Progress, WholeLines, exit_code, junit_file, replacing, summary
from shapecalc.cli.checking.reports import Style, Verdict
from shapecalc.cli.checking.workers import WORTH_IT, cores, in_parallel, in_turn
from shapecalc.cli.options import JsonOption, Output, QuietOption, StrictOption
from shapecalc.cli.output import Exit, failed, tell
from shapecalc.core.problem import misuse
from shapecalc.core.wording import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from contextlib import AbstractContextManager
    from io import BufferedIOBase
    from typing import IO

    from shapecalc.cli.checking.judge import Judged
    from shapecalc.cli.checking.lines import Block

SUMMARY = "Check many cases, from files or standard input."
HELP = f"""\b
  shapecalc check shapes.txt
  shapecalc check cases.jsonl --json > results.jsonl
  shapecalc check shapes.txt --update
  echo 'reshape 2,3,4 0,-1 => 2,12' | shapecalc check -

{SUMMARY} A line is a case, plain or JSON, such as:

\b
  reshape 2,3,4 0,-1 => 2,12          # a comment
  reshape 2,3,4 5,-1 => error indivisible
  reshape N,4 2,6    => 2,6 when N == 3
  2,3,4 | transpose 1,0,2 | reshape 2,-1,3 => 2,4,3
  {{"op": "reshape", "input": [2, 3, 4], "target": [0, -1], "expect": [2, 12]}}
  @default dialect=tensorrt

Without an expectation the answer is printed. Exit 0: all passed; 1: some did not; 2: some lines
could not be read; 3: some without an expectation could not be resolved; 4: a file could not be read."""
MOST_JOBS = 8
"""The most processes that are started without being asked for."""


def add(app: typer.Typer, cls: type) -> None:
    """Give the app the command."""
    app.command("check", cls=cls, short_help=SUMMARY, help=HELP)(check)


def check(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="files of cases; - is standard input", show_default=False),
    ],
    json: JsonOption = False,
    quiet: QuietOption = False,
    strict: StrictOption = False,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", "-x", help="Stop at the first line that fails.")] = False,
    update: Annotated[
        bool, typer.Option("--update", help="Write what was got in place of what was expected, in the files.")
    ] = False,
    junit: Annotated[
        str | None, typer.Option("--junit", help="Write the results as JUnit's XML, too.", metavar="FILE")
    ] = None,
    github: Annotated[bool, typer.Option("--github", help="Write failures as annotations of GitHub Actions.")] = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            "-j",
            min=1,
            max=256,
            help="How many processes; by default all cores for large files.",
            metavar="N",
        ),
    ] = None,
) -> int:
    """Judge the files in turn; print failures and answers, and tell the summary."""
    clash = [name for name, both in (("--fail-fast", fail_fast), ("-", "-" in files)) if update and both]
    clash += ["--github"] if json and github else []
    if clash:
        error = misuse(f"{'--update' if update else '--json'} does not go with {clash[0]}")
        return refused(error, "check", {}, Output(json=json, quiet=quiet))
    style = Style(json, quiet, strict, github, junit is not None, fail_fast, update)
    gc.freeze()  # what is here now stays: collections need not look at it
    with WholeLines() as out:
        return _Run(style, jobs, out).finished([unpadded(file) for file in files], junit)


class _Run:
    """One run over several files."""

    def __init__(self, style: Style, jobs: int | None, out: WholeLines) -> None:
        self.style, self.jobs, self.out = style, jobs, out
        self.counts = dict.fromkeys(Verdict, 0)
        self.progress = Progress(wanted=not style.quiet)
        self.worst = Exit.YES

    def finished(self, files: list[str], junit: str | None) -> int:
        """Judge the files, tell the summary and return the exit code."""
        try:
            if junit is not None and _is_among(junit, files):
                raise OSError(0, "it is one of the files that are checked")
            with junit_file(junit, self.counts) as cases:
                for file in files:
                    if self._stopped(file, cases):
                        break
        except OSError as error:
            self._failed(junit or "", error)
        finally:
            self.progress.clear()
        if not self.style.quiet:
            tell(f"shapecalc: {summary(self.counts)}")
        return max(self.worst, exit_code(self.counts))

    def _stopped(self, file: str, cases: IO[str] | None) -> bool:
        """Judge one file; say whether its failure is to end the run."""
        try:
            with ExitStack() as opened:
                stream = _opened(file, opened)
                size = regular_size(stream)
                if self.style.update and not size:
                    raise OSError(0, "only a regular file that holds something can be updated")
                anew = opened.enter_context(self._anew(file)) if self.style.update else None
                for block, found in opened.enter_context(closing(self._results(file, stream, size))):
                    self.out.put(found.shown)
                    if anew is not None:
                        anew.write(block.data if found.data is None else found.data)
                    if self._counted(found, cases):
                        return True
        except OSError as error:
            self._failed(file, error)
        return False

    def _anew(self, file: str) -> AbstractContextManager[IO[bytes]]:
        """Return what takes a file's lines anew, and its place where any of them changed."""
        before = self.counts[Verdict.UPDATED]
        return replacing(Path(file), lambda: self.counts[Verdict.UPDATED] > before)

    def _results(self, file: str, stream: BufferedIOBase, size: int) -> Generator[tuple[Block, Judged]]:
        jobs = min(self.jobs or (MOST_JOBS if size >= WORTH_IT else 1), self.jobs or cores()) if size else 1
        if jobs > 1:
            return in_parallel(blocks(stream), file, self.style, jobs)
        return in_turn(blocks(stream), file, self.style)

    def _counted(self, found: Judged, cases: IO[str] | None) -> bool:
        for verdict, count in found.counts.items():
            self.counts[verdict] += count
        if cases is not None:
            cases.write(found.junit)
        self.progress.tell(self.counts)
        return found.stopped

    def _failed(self, file: str, error: OSError) -> None:
        """Tell that a file cannot be read or written."""
        self.worst = Exit.FILE
        self.progress.clear()
        reason = error.strerror or str(error)
        if not self.style.quiet:
            tell(visible(f"shapecalc: file: {file}: {reason[:1].lower()}{reason[1:]}"))


def _is_among(path: str, files: list[str]) -> bool:
    """Say whether a path is that of one of the files."""
    return Path(path).exists() and any(Path(file).exists() and Path(path).samefile(file) for file in files)


def _opened(file: str, opened: ExitStack) -> BufferedIOBase:
    """Return a file, or standard input for `-`, to be read as bytes."""
    if file != "-":
        return opened.enter_context(Path(file).open("rb"))
    if sys.stdin is None:
        raise failed("stdin", "it is closed")
    if sys.stdin.isatty():
        tell("shapecalc: reading cases from the terminal; end them with ^D")
    return sys.stdin.buffer  # type: ignore[return-value]

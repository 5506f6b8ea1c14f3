"""`shapecalc match`: whether the arrays in files have the shapes that a pattern says."""

from __future__ import annotations

from shapecalc.cli.answer import print_error
from shapecalc.cli.check import is_among, names_array
from shapecalc.cli.checking.outputs import junit_file, summary
from shapecalc.cli.checking.reports import Verdict, testcase
from shapecalc.cli.options import Argument, Command, Option, printing_options
from shapecalc.cli.output import Exit, problem_code, put, put_json, tell
from shapecalc.core.dims import plain
from shapecalc.core.pattern import Matcher, ShapePattern, pattern_of
from shapecalc.core.problem import FILE, Problem, ShapeError, misuse
from shapecalc.core.record import Record
from shapecalc.core.text import brief, visible
from shapecalc.engine.headers import found_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from shapecalc.cli.output import Output
    from shapecalc.engine.headers import Found

PATTERN = Argument("pattern", "what the shapes must be: N,3,H,W, '?,...,3', 'float32[N,3]'", "PATTERN")
FILES = Argument("files", "files, arrays of files (x.npz:w), and Zarr stores", "FILE...", repeated=True)
JUNIT = Option("junit", "Also write the results as JUnit XML.", metavar="FILE")
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
        with junit_file(junit, counts, "match") as cases:
            for each in _judged(matcher, files):
                counts[VERDICTS[each.code]] += 1
                _tell(each, out)
                if cases is not None:
                    cases.write(_testcase(each))
                if out.json:
                    judged.append(each)
    except ShapeError as error:
        return print_error(error, "match", {"pattern": pattern}, out)
    except OSError as error:
        return print_error(_unwritable(junit or "", error), "match", {}, out)
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
    arrays = summary(counts) if any(counts.values()) else "no arrays"
    return f"{arrays}; {sizes}" if sizes else arrays


def _as_json(matcher: Matcher, judged: list[Judged]) -> dict[str, object]:
    """Return the JSON object of a run."""
    names = {name: {"size": plain(size), "from": matcher.origins[name]} for name, size in matcher.sizes.items()}
    arrays = [each.as_json() for each in judged]
    return {"pattern": str(matcher.pattern), "ok": all(each.code == 0 for each in judged), "names": names} | {
        "arrays": arrays
    }


def _testcase(judged: Judged) -> str:
    message = judged.problem.message if judged.problem else ""
    return testcase("shapecalc match", judged.found.name, message, failed=judged.code == Exit.NO)


def _unwritable(file: str, error: OSError) -> ShapeError:
    return ShapeError(Problem(FILE, f"{file}: {error.strerror or error}", argument="junit"))


MATCH_COMMAND = Command(
    name="match",
    run=run_match,
    parameters=[PATTERN, FILES, *printing_options("json", "quiet"), JUNIT],
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

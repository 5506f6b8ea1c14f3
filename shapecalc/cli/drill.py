"""`shapecalc drill`: exercises without end on a prompt, and worksheets of them."""

from __future__ import annotations

import sys
from pathlib import Path
from shutil import get_terminal_size

from shapecalc.cli.answer import print_error, write_file
from shapecalc.cli.options import Argument, Command
from shapecalc.cli.output import Exit, Output, put, read_stdin, tell
from shapecalc.core.commands import Option, Takes
from shapecalc.core.problem import ShapeError, misuse
from shapecalc.core.text import brief, number_text, visible
from shapecalc.teaching import ALL, FORMATS, TOPICS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.teaching.exercises import Drill
    from shapecalc.teaching.progress import Progress

LONGEST_SEED = 40
OPENING = "shapecalc: type {}; ? gives a hint, an empty line shows the answer, Ctrl-D ends"


def run_drill(
    topics: list[str] | None,
    seed: str | None,
    count: int | None,
    form: str | None,
    check_lessons: str | None,
    out: Output,
    *,
    with_answers: bool,
) -> int:
    """Ask until the input ends, print a worksheet, or check lessons."""
    asked = " ".join(" ".join(topics or [ALL]).split())
    try:
        _check_together(count, form, check_lessons, out, with_answers=with_answers)
        if check_lessons is not None:
            return _print_faults(check_lessons)
        if seed is not None:
            _check_seed(seed)
        if count is not None:
            return _print_worksheet(asked, seed, count, form, out, with_answers=with_answers)
        return _ask(asked, seed)
    except ShapeError as error:
        return print_error(error, "drill", {"topic": asked}, out)


def _check_together(
    count: int | None, form: str | None, check_lessons: str | None, out: Output, *, with_answers: bool
) -> None:
    """Raise `ShapeError` (usage) for options that cannot be combined."""
    of_sheets = {"--with-answers": with_answers, "--format": form, "-o": out.out, "--force": out.force}
    given = [name for name, value in of_sheets.items() if value]
    if count is None and given:
        raise misuse(f"{given[0]} is for worksheets", "write --print 20 with it")
    if check_lessons is not None and count is not None:
        raise misuse("--check-lessons and --print cannot be combined")


def _check_seed(seed: str) -> None:
    """Raise `ShapeError` (usage) for a seed that could not be written on a worksheet."""
    if not (0 < len(seed) <= LONGEST_SEED and seed.isascii() and seed.replace("-", "").replace("_", "").isalnum()):
        raise misuse(f"a seed is a word of letters and digits, up to {LONGEST_SEED}, not '{visible(brief(seed))}'")


def _print_worksheet(topics: str, seed: str | None, count: int, form: str | None, out: Output, **sheet: bool) -> int:
    """Print a worksheet, or write it into a file."""
    from shapecalc.core.text import lookup
    from shapecalc.teaching.exercises import WRITERS, exercises, new_seed, sheet_of

    write = lookup(form or _format_of(out.out), WRITERS, "format")
    seed = seed or new_seed()
    text = write(sheet_of(exercises(topics, seed, count), topics, seed, answers=sheet["with_answers"]))
    if out.out is None:
        put(text)
    else:
        write_file(out.out, f"{text}\n".encode(), force=out.force)
        tell(visible(f"shapecalc: {out.out}: {number_text(count, 'exercise', 'exercises')}"))
    return Exit.YES


def _format_of(file: str | None) -> str:
    """Return the format that a file's name ends with, text if it has no ending; raise `ShapeError` for another."""
    from shapecalc.teaching.exercises import ENDINGS

    if not Path(file or "").suffix:
        return "text"
    from shapecalc.view.files import ending_of  # it draws pictures, which a text has none of

    return ENDINGS[ending_of(str(file), ENDINGS, "worksheet")]


def _print_faults(file: str) -> int:
    """Print what is wrong in a file of lessons, a line each; return whether something is, as an exit code."""
    from shapecalc.teaching.lessons import faults_in, read_lesson_file

    lessons, faults = faults_in(read_lesson_file(file))
    for fault in faults:
        put(visible(f"{file}:{fault.line}: {fault.said}"))
    counted = number_text(lessons, "lesson", "lessons")
    tell(f"shapecalc: {counted}, {number_text(len(faults), 'mistake', 'mistakes') if faults else 'nothing wrong'}")
    return Exit.NO if faults else Exit.YES


def _ask(topics: str, seed: str | None) -> int:
    """Ask exercises and judge the answers, a line each, until the input ends; tell the score."""
    from shapecalc.teaching.exercises import Drill, new_seed
    from shapecalc.teaching.judging import BUILDING
    from shapecalc.teaching.progress import Progress

    progress = Progress()
    drill = Drill(topics, seed or new_seed(), {} if seed else progress.tally.boxes)
    typing = sys.stdin is not None and sys.stdin.isatty()
    if typing:
        tell(_fitted(OPENING.format(BUILDING if drill.exercise.task.builds else "the output shape, or error")))
    _print_question(drill, typing=typing)
    helped = 0
    while (line := _line(typing=typing)) is not None:
        if line == "?":
            put(_help(drill, helped))
            helped += 1
        elif _judged(drill, line, progress, typing=typing):
            helped = 0
            _print_question(drill, typing=typing)
    if typing:
        put("")
    put(f"score: {drill}; in all {progress.tally}")
    if said := progress.complaint():
        tell(f"shapecalc: {said}")
    return Exit.YES if drill.right == drill.answered else Exit.NO


def _line(*, typing: bool) -> str | None:
    """Return the next line that is typed; None at the end of the input. Raises `RunEnded` if it cannot be read."""
    if typing and sys.stdout is not None:
        sys.stdout.write("> ")
        sys.stdout.flush()
    line = read_stdin(1 << 16, line=True)
    return line.decode("utf-8", "surrogateescape").strip() if line else None


def _print_question(drill: Drill, *, typing: bool) -> None:
    asked = drill.exercise
    put("\n" * typing + f"{drill.answered + 1}. level {asked.level}   {asked.task.shown}")


def _fitted(text: str) -> str:
    """Return a line with its words wrapped to the terminal."""
    from textwrap import fill

    return fill(text, get_terminal_size().columns)


def _help(drill: Drill, number: int) -> str:
    """Return the next help for the exercise at hand; the last once there is no further one."""
    from shapecalc.teaching.judging import answer_line, rungs

    task = drill.exercise.task
    helps = rungs(task, answer_line(task.question))
    return helps[min(number, len(helps) - 1)]


def _judged(drill: Drill, line: str, progress: Progress, *, typing: bool) -> bool:
    """Judge an answer and say so; what is none is asked for again at a keyboard, and is wrong in a pipe."""
    from shapecalc.teaching.exercises import judge_exercise
    from shapecalc.teaching.judging import beside_truth, unread

    task = drill.exercise.task
    if typing and line and (problem := unread(task, line)):
        put(_fitted(visible(problem)))
        return False
    judged, kind = judge_exercise(drill.exercise, line), drill.exercise.kind.name
    said = visible(f"right, streak {drill.streak + 1}" if judged.right else f"{'wrong: ' * bool(line)}{judged.said}")
    put(_fitted(said) if typing else said)
    if task.builds and (drawn := beside_truth(task, line, width=get_terminal_size().columns)):
        put(drawn.plain)
    progress.score(kind, drill.mark(right=judged.right), right=judged.right)
    return True


DRILL_COMMAND = Command(
    run=run_drill,
    parameters=[
        Argument(
            "topics", f"any of {', '.join(TOPICS)}", "[TOPIC]...", False, repeated=True, completions=lambda: TOPICS
        ),
        Option("seed", "Ask the same questions as all with this seed and the same answers.", metavar="WORD"),
        Option("count", "Print a worksheet of that many questions.", Takes.NUMBER, "N", "--print", least=1, most=1000),
        Option("with_answers", "With the answers, on a page of their own.", Takes.NOTHING),
        Option(
            "form",
            "How it is written; -o's ending says it, too",
            metavar="FORMAT",
            long="--format",
            completions=lambda: FORMATS,
            lists_completions=True,
        ),
        Option("out", "Write the worksheet into this file.", metavar="FILE", short="-o"),
        Option("force", "Write over a file that exists.", Takes.NOTHING),
        Option("check_lessons", "Print the mistakes in a file of lessons, with their lines.", metavar="FILE"),
    ],
    summary="Predict shapes: exercises without end, or a worksheet of them.",
    examples="""\
  shapecalc drill
  shapecalc drill zero perm --seed monday
  shapecalc drill build
  shapecalc drill all --print 20 --with-answers -o sheet.html
  shapecalc drill --check-lessons week3.toml""",
    more=""" Each line is an answer: an output shape, or error if the request is refused; for build, a chain of ops.
? gives a hint, a stronger one each time; an empty line shows the answer; Ctrl-D ends. Missed questions come back soon,
known ones later and harder. The same seed and the same answers give the same questions. A worksheet asks about each
topic in turn; as .html it has pictures to complete, and a page of answers. Exit 0: all right; 1: some wrong, or a
mistake in lessons.""",
)

"""`shapecalc drill`: exercises at a prompt, and worksheets of them."""

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
"""Limit on the characters of a seed."""
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
    """Run exercises until the input ends, print a worksheet, or check lessons."""
    topic_text = " ".join(" ".join(topics or [ALL]).split())
    try:
        _check_together(count, form, check_lessons, out, with_answers=with_answers)
        if check_lessons is not None:
            return _print_faults(check_lessons)
        if seed is not None:
            _check_seed(seed)
        if count is not None:
            return _print_worksheet(topic_text, seed, count, form, out, with_answers=with_answers)
        return _ask(topic_text, seed)
    except ShapeError as error:
        return print_error(error, "drill", {"topic": topic_text}, out)


def _check_together(
    count: int | None, form: str | None, check_lessons: str | None, out: Output, *, with_answers: bool
) -> None:
    """Raise `ShapeError` (usage) for options that cannot be combined."""
    sheet_options = {"--with-answers": with_answers, "--format": form, "-o": out.out, "--force": out.force}
    names = [name for name, value in sheet_options.items() if value]
    if count is None and names:
        raise misuse(f"{names[0]} is for worksheets", "write --print 20 with it")
    if check_lessons is not None and count is not None:
        raise misuse("--check-lessons and --print cannot be combined")


def _check_seed(seed: str) -> None:
    """Raise `ShapeError` (usage) for a seed that is not a short word."""
    if not (0 < len(seed) <= LONGEST_SEED and seed.isascii() and seed.replace("-", "").replace("_", "").isalnum()):
        raise misuse(f"a seed is a word of letters and digits, up to {LONGEST_SEED}, not '{visible(brief(seed))}'")


def _print_worksheet(topics: str, seed: str | None, count: int, form: str | None, out: Output, **sheet: bool) -> int:
    """Print a worksheet, or write it to a file."""
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
    """Return the format by the suffix of a file, text without one.

    Raises `ShapeError` (usage) for an unknown suffix.
    """
    from shapecalc.teaching.exercises import ENDINGS

    if not Path(file or "").suffix:
        return "text"
    from shapecalc.view.files import ending_of  # imports the drawing code, which text does not need

    return ENDINGS[ending_of(str(file), ENDINGS, "worksheet")]


def _print_faults(file: str) -> int:
    """Print the mistakes in a file of lessons, one per line; exit 1 if there are any."""
    from shapecalc.teaching.lessons import faults_in, read_lesson_file

    lessons, faults = faults_in(read_lesson_file(file))
    for fault in faults:
        put(visible(f"{file}:{fault.line}: {fault.said}"))
    lesson_count = number_text(lessons, "lesson", "lessons")
    tell(f"shapecalc: {lesson_count}, {number_text(len(faults), 'mistake', 'mistakes') if faults else 'nothing wrong'}")
    return Exit.NO if faults else Exit.YES


def _ask(topics: str, seed: str | None) -> int:
    """Print exercises and judge the answers until the input ends; print the score.

    An answer is one line. Exit 1 if an answer was wrong.
    """
    from shapecalc.teaching.exercises import Drill, new_seed
    from shapecalc.teaching.judging import BUILDING
    from shapecalc.teaching.progress import Progress

    progress = Progress()
    drill = Drill(topics, seed or new_seed(), {} if seed else progress.tally.boxes)
    interactive = sys.stdin is not None and sys.stdin.isatty()
    if interactive:
        tell(_fitted(OPENING.format(BUILDING if drill.exercise.task.builds else "the output shape, or error")))
    _print_question(drill, typing=interactive)
    hint_count = 0
    while (line := _line(typing=interactive)) is not None:
        if line == "?":
            put(_help(drill, hint_count))
            hint_count += 1
        elif _judged(drill, line, progress, typing=interactive):
            hint_count = 0
            _print_question(drill, typing=interactive)
    if interactive:
        put("")
    put(f"score: {drill}; in all {progress.tally}")
    if complaint := progress.complaint():
        tell(f"shapecalc: {complaint}")
    return Exit.YES if drill.right == drill.answered else Exit.NO


def _line(*, typing: bool) -> str | None:
    """Read the next line, at a keyboard after a prompt; return None at the end.

    Raises `EarlyExit` if standard input cannot be read.
    """
    if typing and sys.stdout is not None:
        sys.stdout.write("> ")
        sys.stdout.flush()
    line = read_stdin(1 << 16, line=True)
    return line.decode("utf-8", "surrogateescape").strip() if line else None


def _print_question(drill: Drill, *, typing: bool) -> None:
    exercise = drill.exercise
    put("\n" * typing + f"{drill.answered + 1}. level {exercise.level}   {exercise.task.shown}")


def _fitted(text: str) -> str:
    """Wrap a text to the width of the terminal."""
    from textwrap import fill

    return fill(text, get_terminal_size().columns)


def _help(drill: Drill, number: int) -> str:
    """Return a hint for the current exercise; the last one if `hint_number` is larger."""
    from shapecalc.teaching.judging import answer_line, rungs

    task = drill.exercise.task
    hints = rungs(task, answer_line(task.question))
    return hints[min(number, len(hints) - 1)]


def _judged(drill: Drill, line: str, progress: Progress, *, typing: bool) -> bool:
    """Judge an answer, print the result and return whether it counts.

    A line that cannot be parsed does not count at a keyboard, and is wrong in a pipe.
    """
    from shapecalc.teaching.exercises import judge_exercise
    from shapecalc.teaching.judging import beside_truth, unread

    task = drill.exercise.task
    if typing and line and (problem := unread(task, line)):
        put(_fitted(visible(problem)))
        return False
    verdict, kind = judge_exercise(drill.exercise, line), drill.exercise.kind.name
    wrong = f"{'wrong: ' * bool(line)}{verdict.said}"
    message = visible(f"right, streak {drill.streak + 1}" if verdict.right else wrong)
    put(_fitted(message) if typing else message)
    if task.builds and (picture := beside_truth(task, line, width=get_terminal_size().columns)):
        put(picture.plain)
    progress.score(kind, drill.mark(right=verdict.right), right=verdict.right)
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

"""`shapecalc drill`: exercises at a prompt or as a worksheet."""

from __future__ import annotations

import sys
from pathlib import Path
from shutil import get_terminal_size

from shapecalc.cli.answer import print_error, write_file
from shapecalc.cli.options import Argument, Command
from shapecalc.cli.output import ExitCode, OutputOptions, print_stderr, print_stdout, read_stdin
from shapecalc.core.problem import ShapeError, usage_error
from shapecalc.core.text import escape_unprintable, format_count, truncate
from shapecalc.reading.options import Option, OptionKind
from shapecalc.teaching import ALL, FORMATS, TOPICS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.teaching.exercises import Drill
    from shapecalc.teaching.progress import Progress

MAX_SEED_LENGTH = 40
"""Maximum length of a seed in characters."""
OPENING_MESSAGE = "shapecalc: type {}; ? gives a hint, an empty line shows the answer, Ctrl-D ends"


def run_drill(
    topics: list[str] | None,
    seed: str | None,
    count: int | None,
    sheet_format: str | None,
    check_lessons: str | None,
    output_options: OutputOptions,
    *,
    with_answers: bool,
) -> int:
    """Present exercises at a prompt, print a worksheet, or check a lesson file.

    With `count`, a worksheet of `count` exercises is printed in the format `sheet_format`; with `with_answers`, their
    answers are added. `check_lessons` is the lesson file to check.
    """
    topic_text = " ".join(" ".join(topics or [ALL]).split())
    try:
        _check_option_conflicts(count, sheet_format, check_lessons, output_options, with_answers=with_answers)
        if check_lessons is not None:
            return _print_lesson_mistakes(check_lessons)
        if seed is not None:
            _check_seed(seed)
        if count is not None:
            return _print_worksheet(topic_text, seed, count, sheet_format, output_options, with_answers=with_answers)
        return _run_exercises(topic_text, seed)
    except ShapeError as error:
        return print_error(error, "drill", {"topic": topic_text}, output_options)


def _check_option_conflicts(
    count: int | None,
    sheet_format: str | None,
    check_lessons: str | None,
    output_options: OutputOptions,
    *,
    with_answers: bool,
) -> None:
    """Raise `ShapeError` (usage) for options that cannot be combined."""
    sheet_options = {
        "--with-answers": with_answers,
        "--format": sheet_format,
        "-o": output_options.out,
        "--force": output_options.force,
    }
    names = [name for name, value in sheet_options.items() if value]
    if count is None and names:
        raise usage_error(f"{names[0]} is for worksheets", "write --print 20 with it")
    if check_lessons is not None and count is not None:
        raise usage_error("--check-lessons and --print cannot be combined")


def _check_seed(seed: str) -> None:
    """Raise `ShapeError` (usage) if a seed is empty, too long or not a simple word.

    A simple word consists of ASCII letters, digits, hyphens and underscores.
    """
    if not (0 < len(seed) <= MAX_SEED_LENGTH and seed.isascii() and seed.replace("-", "").replace("_", "").isalnum()):
        shown = escape_unprintable(truncate(seed))
        raise usage_error(f"a seed is a word of letters and digits, up to {MAX_SEED_LENGTH}, not '{shown}'")


def _print_worksheet(
    topics: str, seed: str | None, count: int, sheet_format: str | None, output_options: OutputOptions, **flags: bool
) -> int:
    """Print a worksheet of `count` exercises, or write it to the file of `--out`.

    By default, the suffix of the file selects the format. If `with_answers` is set in `flags`, answers are included.
    """
    from shapecalc.core.text import lookup
    from shapecalc.teaching.exercises import FORMATTERS, generate_exercises, make_worksheet, random_seed

    write = lookup(sheet_format or _worksheet_format(output_options.out), FORMATTERS, "format")
    seed = seed or random_seed()
    text = write(
        make_worksheet(generate_exercises(topics, seed, count), topics, seed, with_answers=flags["with_answers"])
    )
    if output_options.out is None:
        print_stdout(text)
    else:
        write_file(output_options.out, f"{text}\n".encode(), force=output_options.force)
        print_stderr(
            escape_unprintable(f"shapecalc: {output_options.out}: {format_count(count, 'exercise', 'exercises')}")
        )
    return ExitCode.OK


def _worksheet_format(file: str | None) -> str:
    """Return the worksheet format that the suffix of a file name selects.

    The format is text if there is no file or no suffix. Raises `ShapeError` (usage) for an unknown suffix.
    """
    from shapecalc.teaching.exercises import FORMATS_BY_SUFFIX

    if not Path(file or "").suffix:
        return "text"
    from shapecalc.render.files import match_extension  # deferred: the text format does not need the drawing code

    return FORMATS_BY_SUFFIX[match_extension(str(file), FORMATS_BY_SUFFIX, "worksheet")]


def _print_lesson_mistakes(file: str) -> int:
    """Print the mistakes in a lesson file, one per line.

    Return 1 if there are any, otherwise 0.
    """
    from shapecalc.teaching.lessons import find_lesson_errors, read_lesson_file

    lessons, faults = find_lesson_errors(read_lesson_file(file))
    for fault in faults:
        print_stdout(escape_unprintable(f"{file}:{fault.line}: {fault.message}"))
    lesson_count = format_count(lessons, "lesson", "lessons")
    print_stderr(
        f"shapecalc: {lesson_count}, {format_count(len(faults), 'mistake', 'mistakes') if faults else 'nothing wrong'}"
    )
    return ExitCode.FAILED if faults else ExitCode.OK


def _run_exercises(topics: str, seed: str | None) -> int:
    """Present exercises until the input ends, then print the score.

    The user types the answer to each exercise as one line. Return 1 if an answer was wrong.
    """
    from shapecalc.teaching.exercises import Drill, random_seed
    from shapecalc.teaching.judging import CHAIN_SYNTAX
    from shapecalc.teaching.progress import Progress

    progress = Progress()
    drill = Drill(topics, seed or random_seed(), {} if seed else progress.tally.boxes)
    interactive = sys.stdin is not None and sys.stdin.isatty()
    if interactive:
        print_stderr(
            _wrap_to_terminal(
                OPENING_MESSAGE.format(CHAIN_SYNTAX if drill.exercise.task.puzzle else "the output shape, or error")
            )
        )
    _print_question(drill, interactive=interactive)
    hint_count = 0
    while (line := _read_answer(interactive=interactive)) is not None:
        if line == "?":
            print_stdout(_select_hint(drill, hint_count))
            hint_count += 1
        elif _judge_answer(drill, line, progress, interactive=interactive):
            hint_count = 0
            _print_question(drill, interactive=interactive)
    if interactive:
        print_stdout("")
    print_stdout(f"score: {drill}; in all {progress.tally}")
    if error_message := progress.pop_error_message():
        print_stderr(f"shapecalc: {error_message}")
    return ExitCode.OK if drill.right == drill.answered else ExitCode.FAILED


def _read_answer(*, interactive: bool) -> str | None:
    """Read the next line of standard input, or return None at its end.

    If `interactive`, print a prompt first. Raises `EarlyExit` if standard input cannot be read.
    """
    if interactive and sys.stdout is not None:
        sys.stdout.write("> ")
        sys.stdout.flush()
    line = read_stdin(1 << 16, one_line=True)
    return line.decode("utf-8", "surrogateescape").strip() if line else None


def _print_question(drill: Drill, *, interactive: bool) -> None:
    """Print the number, the level and the text of the current exercise."""
    exercise = drill.exercise
    print_stdout("\n" * interactive + f"{drill.answered + 1}. level {exercise.level}   {exercise.task.text}")


def _wrap_to_terminal(text: str) -> str:
    from textwrap import fill

    return fill(text, get_terminal_size().columns)


def _select_hint(drill: Drill, hint_number: int) -> str:
    """Return hint number `hint_number` on the exercise, or its last hint.

    Hints are numbered from 0, the most general one first.
    """
    from shapecalc.teaching.judging import graded_hints, resolve_command_line

    task = drill.exercise.task
    hints = graded_hints(task, resolve_command_line(task.question))
    return hints[min(hint_number, len(hints) - 1)]


def _judge_answer(drill: Drill, line: str, progress: Progress, *, interactive: bool) -> bool:
    """Judge the answer in a line, print the result and record the score.

    Return whether the answer was scored. If `interactive`, a line that cannot be parsed is not scored, so that the user
    can correct the line. Otherwise, such a line is scored as a wrong answer.
    """
    from shapecalc.teaching.exercises import judge_answer
    from shapecalc.teaching.judging import draw_comparison, invalid_reason

    task = drill.exercise.task
    if interactive and line and (problem := invalid_reason(task, line)):
        print_stdout(_wrap_to_terminal(escape_unprintable(problem)))
        return False
    verdict, kind = judge_answer(drill.exercise, line), drill.exercise.kind.name
    first, *others = [f"right, streak {drill.streak + 1}"] if verdict.right else verdict.lines
    for message in (f"wrong: {first}" if line and not verdict.right else first, *others):
        shown = escape_unprintable(message)
        print_stdout(_wrap_to_terminal(shown) if interactive else shown)
    if task.puzzle and (picture := draw_comparison(task, line, width=get_terminal_size().columns)):
        print_stdout(picture.plain)
    progress.record_answer(kind, drill.record_answer(right=verdict.right), right=verdict.right)
    return True


DRILL_COMMAND = Command(
    run=run_drill,
    parameters=[
        Argument(
            "topics", f"any of {', '.join(TOPICS)}", "[TOPIC]...", False, repeated=True, completions=lambda: TOPICS
        ),
        Option("seed", "Seed of the questions; the same seed and answers give the same questions.", metavar="WORD"),
        Option(
            "count",
            "Print a worksheet of N questions.",
            OptionKind.NUMBER,
            "N",
            "--print",
            minimum=1,
            maximum=1000,
        ),
        Option("with_answers", "Add the answers on a separate page.", OptionKind.FLAG),
        Option(
            "sheet_format",
            "Format of the worksheet; by default, the suffix of -o selects it",
            metavar="FORMAT",
            long="--format",
            completions=lambda: FORMATS,
            lists_completions=True,
        ),
        Option("out", "Write the worksheet to this file.", metavar="FILE", short="-o"),
        Option("force", "Overwrite an existing file.", OptionKind.FLAG),
        Option("check_lessons", "Print the mistakes in a lesson file, with their line numbers.", metavar="FILE"),
    ],
    summary="Predict shapes: endless exercises, or a worksheet.",
    examples="""\
  shapecalc drill
  shapecalc drill zero perm --seed monday
  shapecalc drill build
  shapecalc drill all --print 20 --with-answers -o sheet.html
  shapecalc drill --check-lessons week3.toml""",
    details=""" Type the output shape, or error if the request is refused; for build, type a chain of ops. ? shows a
hint, a stronger one each time; an empty line shows the answer; Ctrl-D quits. Missed questions are repeated soon;
questions that were answered correctly are repeated later, with harder requests. The same seed and answers give the same
questions. A worksheet has exercises from each topic in turn; in .html format, it also has pictures to complete. Exit 0:
all answers were correct; 1: some were wrong, or a lesson file has a mistake.""",
)

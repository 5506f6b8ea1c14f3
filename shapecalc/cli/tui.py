"""`shapecalc tui`: the terminal app, opened at a question."""

from __future__ import annotations

from shapecalc.cli.answer import print_error
from shapecalc.cli.model import NODE
from shapecalc.cli.opening import NAME, check_terminal, open_at, stdout_at_terminal
from shapecalc.cli.options import MOST_STEPS, Argument, Command, Option, Takes, printing_options, read_number
from shapecalc.core.ops import OPS
from shapecalc.core.problem import ShapeError, misuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import typer

    from shapecalc.cli.opening import TerminalApp
    from shapecalc.cli.output import Output

LESSONS = (
    Option("lesson", "Open with the lessons.", Takes.NOTHING),
    Option("lesson_file", "Open with the lessons of this file, as in shapecalc-lessons(5).", metavar="FILE"),
)
LAST = "last"
"""What is written for the place past the last step, where nothing is hidden."""
STEP = Option(
    "place",
    "Open at this step, from 1, or past the last, with nothing hidden.",
    metavar=f"N|{LAST}",
    long="--step",
    completions=lambda: [LAST],
    least=1,
    most=MOST_STEPS,
)
PARAMETERS: tuple[Argument | Option, ...] = (
    Argument(
        "words",
        "any op's command line, or that of chain or equiv",
        "[OP ARGS...]",
        required=False,
        repeated=True,
        completions=lambda: [*OPS, "chain", "equiv"],
        completes_first=True,
    ),
    STEP,
    *LESSONS,
    Option("notes", "Show the speaker's notes of the lessons.", Takes.NOTHING),
    Option("big", "Draw it in large figures, for a room.", Takes.NOTHING),
    Option("model", "Open the list of this model's nodes.", metavar="FILE.onnx"),
    NODE,
    *printing_options("no_config"),
)


def run_tui(
    context: typer.Context, words: list[str] | None, model: str | None, node: str | None, out: Output, **given: Any
) -> int:
    """Run the app at a model or at a question, and print the answer if it was left with F10."""
    app: TerminalApp[Any] = context.obj
    words = words or []
    try:
        place = _place(given.pop("place"))
    except ShapeError as error:
        context.fail(error.problem.message)
    if model is None and node is None:
        return open_at(app, words, out, place=place, **given)
    try:
        if model is None or words or any(given.values()):
            raise misuse(
                "the only option that --model takes here is --node", "shapecalc tui --model FILE.onnx --node NAME"
            )
        return _run_model(app, model, node)
    except ShapeError as error:
        return print_error(error, NAME, {"command": " ".join(words) or None}, out)


def _place(step: str | None) -> int | None:
    """Return the step to open at, from 0; None for the place past the last. Raises `ShapeError` (usage) for others."""
    if step is not None and step.strip() == LAST:
        return None
    return (read_number(STEP, step) or 1) - 1


def _run_model(app: TerminalApp[Any], file: str, node: str | None) -> int:
    """Run the app at a model, perhaps at one of its nodes; raise `ShapeError` (usage, file)."""
    from shapecalc.cli.model_report import fixed_lines, mended_report, stops_left
    from shapecalc.models.free_dims import SizeOptions
    from shapecalc.models.judge import report_of
    from shapecalc.models.report import found_node

    report = report_of(file, SizeOptions(), [] if node is None else [node])
    at = 0 if node is None else report.nodes.index(found_node(report, node))
    check_terminal()

    def mend(path: str) -> list[str]:
        found = mended_report(file, SizeOptions(), path, {}, force=False, prove=True)
        return fixed_lines(found, found.fixed, stops_left(found, SizeOptions())) if found.fixed else []

    with stdout_at_terminal():
        return app.open_model(report, at, mend)


TUI_COMMAND = Command(
    name="tui",
    run=run_tui,
    parameters=PARAMETERS,
    summary="See, step by step, how 0, -1 and permutations map input dims to output dims.",
    examples="""\
  shapecalc tui
  shapecalc tui shuffle 2,3,4 --first 1,0,2 --to 2,-1,3 --step 4
  shapecalc tui reshape 2,3,4 0,-1 --step last
  shapecalc tui chain '8,128,768 | reshape 0,0,12,64 | transpose 0,2,1,3'
  shapecalc tui equiv '2,3 | transpose 1,0' '| reshape 3,2'
  shapecalc tui --lesson
  shapecalc tui --lesson-file week3.toml --notes
  shapecalc tui --model yolo.onnx
  s=$(shapecalc tui reshape 2,3,4 0,-1)""",
    more=" It opens at the first step and asks; ^G reveals all. F10 quits and prints the answer, F1 lists the keys.",
    with_context=True,
    takes_unknown=True,
)

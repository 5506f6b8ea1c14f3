"""Render the golden files: after `$` the kind of drawing, its options and the question, then the drawing.

`python -m tests.renew golden` renews them; review the changes before you commit them. To add a picture, add a line
with `$`.
"""

from __future__ import annotations

import re
import shlex
from ast import literal_eval
from pathlib import Path

from shapecalc.core.answers import Answer
from shapecalc.core.problem import ShapeError
from shapecalc.render import code, film, flow, grid, hints, pictures, scenes
from shapecalc.render.canvas import ASCII, UNICODE
from shapecalc.render.rulers import draw_rulers
from shapecalc.render.stage_layout import stage_layouts
from tests.fuzz.running import ended
from tests.render.questions import answer_to

CALL_TARGETS = ("numpy", "torch", "jax", "tensorflow", "paddle", "openvino", "einops")
"""The targets whose code is little more than the calls."""

GOLDEN = Path(__file__).parent / "golden"
BLOCK = re.compile(r"^\$ (\w+)(.*?): (.*)\n((?:(?!\$ ).*\n)*)", re.M)
"""The kind, the options, the question and the drawing."""


def step_texts(answer: Answer) -> str:
    """Return the rail, the strip and the picture of every step, as on the screen."""
    drawings = [
        [draw(answer, index) for draw in (flow.draw_stage_line, flow.draw_shape_line, pictures.draw_picture)]
        for index in range(len(answer.steps))
    ]
    return "\n\n".join("\n".join(text.plain for text in texts) for texts in drawings)


def hint_texts(answer: Answer) -> str:
    """Return the question and the graded hints of each step that resolves a dim."""
    pairs = [(stage, step) for stage in answer.stages for step in stage.steps if step.out is not None]
    hints_found = [hints.make_dim_question(stage, step) for stage, step in pairs]
    return "\n\n".join("\n".join((hint.question, *hint.levels)) for hint in hints_found)


def film_text(answer: Answer, frame: tuple[int, ...] | int | None = None, width: int = 80, height: int = 24) -> str:
    """Return the screens and prompts of the frames with the given numbers, by default of all."""
    drawn = scenes.make_film(answer, width, height)
    numbers = range(len(drawn.frames)) if frame is None else (frame,) if isinstance(frame, int) else frame
    texts = []
    for chosen in [drawn.frames[number] for number in numbers]:
        prompt = [f"? {chosen.prompt.question} {chosen.prompt.answer}"] if chosen.prompt else []
        texts.append("\n".join([film.render_screen(drawn, chosen.sprites.values()).plain.strip("\n"), *prompt]))
    return "\n\n".join(texts)


def code_text(answer: Answer, targets: tuple[str, ...] = CALL_TARGETS) -> str:
    """Return the code for the targets without imports and comments, or its error; then the warnings."""
    lines, warnings = [], {}
    for target in targets:
        try:
            written = code.generate_code(answer, target)
        except ShapeError as error:
            written = code.GeneratedCode(f"! {error}")
        kept = [line for line in written.text.splitlines() if line[:2] != "# " and not re.match("(from|import) ", line)]
        lines += [f"{target:11}{line}" for line in kept]
        warnings |= dict.fromkeys(written.warnings)
    return "\n".join([*lines, *(f"! {warning}" for warning in warnings)])


def run_command_line(line: str) -> str:
    """Run a command line; return its output, standard error after `!`, and a nonzero exit code after `=`."""
    run = ended(shlex.split(line))
    assert not run.failure, run.failure
    errors = "".join(f"! {error}\n" for error in run.err.splitlines())
    return f"{run.out}{errors}{f'= {run.code}' if run.code else ''}"


def picture_text(answer: Answer, step_index: int | None = None, **options) -> str:
    """Return the picture of a step, by default of the main step."""
    step_index = pictures.most_informative_step(answer, 78) if step_index is None else step_index
    return pictures.draw_picture(answer, step_index, **options).plain


def rulers_text(answer: Answer, width: int = 100) -> str:
    """Return the rulers of the last stage."""
    return draw_rulers(answer, stage_layouts(answer)[-1], 0, width=width, height=24, glyphs=UNICODE).plain


DRAWS = {
    "calls": code_text,
    "code": lambda answer: code_text(answer, tuple(code.TARGETS)),
    "map": lambda answer, step_index=None, **options: flow.draw_flow(answer, step_index, is_map=True, **options).plain,
    "explain": lambda answer, **options: pictures.draw_explanation(answer, **options).plain,
    "film": film_text,
    "flow": lambda answer, **options: flow.draw_flow(answer, **options).plain,
    "grid": lambda answer, **options: grid.draw_grid(answer, **options).plain,
    "helps": hint_texts,
    "picture": picture_text,
    "rulers": rulers_text,
    "steps": step_texts,
}
"""The drawing functions by kind; the kind `shapecalc` runs a command line instead."""


def parse_option(word: str):
    """Parse an option: `ascii`, `hole=1,2` for a hidden dim, or a name with numbers."""
    name, _, value = word.partition("=")
    if name == "ascii":
        return "glyphs", ASCII
    return ("placeholders", {literal_eval(value): "[    ]"}) if name == "hole" else (name, literal_eval(value))


def render_golden(kind: str, options: str, line: str) -> str:
    """Render a question."""
    if kind == "shapecalc":
        return run_command_line(line)
    return DRAWS[kind](answer_to(line), **dict(map(parse_option, options.split())))


def renewed(text: str) -> str:
    """Return a golden text with every block rendered again."""
    lines = BLOCK.sub(
        lambda block: f"$ {block[1]}{block[2]}: {block[3]}\n{render_golden(*block.groups()[:3]).rstrip()}\n\n", text
    )
    return f"{lines.rstrip()}\n"

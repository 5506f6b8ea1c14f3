"""Pictures and code as text, in `golden/`: after `$` what draws, its options and the question, then what is drawn.

`python -m tests.renew golden` writes them anew. Whoever renews them looks at the changes, and keeps them if they are
right. A new picture is a new line with `$`.
"""

from __future__ import annotations

import re
import shlex
from ast import literal_eval
from pathlib import Path

from shapecalc.core.answers import Answer
from shapecalc.core.problem import ShapeError
from shapecalc.render import big, code, film, flow, grid, hints, pictures, scenes
from shapecalc.render.canvas import ASCII, UNICODE
from shapecalc.render.rulers import draw_rulers
from shapecalc.render.stage_layout import stage_layouts
from tests.fuzz.running import ended
from tests.render.questions import answer_to

APART = ("numpy", "torch", "jax", "tensorflow", "paddle", "openvino", "einops")
"""The targets whose code says little more than the calls."""

GOLDEN = Path(__file__).parent / "golden"
BLOCK = re.compile(r"^\$ (\w+)(.*?): (.*)\n((?:(?!\$ ).*\n)*)", re.M)
"""What draws, its options, the question, and what was drawn."""


def steps(answer: Answer) -> str:
    """Return the rail, the strip and the picture of every step, as they stand on the screen."""
    drawn = [
        [draw(answer, at) for draw in (flow.draw_rail, flow.draw_strip, pictures.draw_picture)]
        for at in range(len(answer.steps))
    ]
    return "\n\n".join("\n".join(each.plain for each in parts) for parts in drawn)


def helps(answer: Answer) -> str:
    """Return what each step that settles a dim asks, and the helps in their order."""
    asked = [(stage, step) for stage in answer.stages for step in stage.steps if step.out is not None]
    found = [hints.make_hint(stage, step) for stage, step in asked]
    return "\n\n".join("\n".join((each.question, *each.levels)) for each in found)


def film_text(answer: Answer, frame: tuple[int, ...] | int | None = None, width: int = 80, height: int = 24) -> str:
    """Return the screens and prompts of the frames with the given numbers, by default of all."""
    drawn = scenes.make_film(answer, width, height)
    numbers = range(len(drawn.frames)) if frame is None else (frame,) if isinstance(frame, int) else frame
    texts = []
    for chosen in [drawn.frames[number] for number in numbers]:
        prompt = [f"? {chosen.prompt.question} {chosen.prompt.answer}"] if chosen.prompt else []
        texts.append("\n".join([film.render_screen(drawn, chosen.sprites.values()).plain.strip("\n"), *prompt]))
    return "\n\n".join(texts)


def calls(answer: Answer, of: tuple[str, ...] = APART) -> str:
    """Return the code of targets without imports and comments, or why there is none, and below it all warnings."""
    shown, warnings = [], {}
    for target in of:
        try:
            made = code.write_code(answer, target)
        except ShapeError as error:
            made = code.Code(f"! {error}")
        lines = [line for line in made.text.splitlines() if line[:2] != "# " and not re.match("(from|import) ", line)]
        shown += [f"{target:11}{line}" for line in lines]
        warnings |= dict.fromkeys(made.warnings)
    return "\n".join([*shown, *(f"! {warning}" for warning in warnings)])


def printed(line: str) -> str:
    """Return what a command line prints, lines of standard error after `!`, and its exit code if that is not 0."""
    ran = ended(shlex.split(line))
    assert not ran.failure, ran.failure
    said = "".join(f"! {each}\n" for each in ran.err.splitlines())
    return f"{ran.out}{said}{f'= {ran.code}' if ran.code else ''}"


def picture(answer: Answer, step_index: int | None = None, **options) -> str:
    """Return the picture of a step, or of the one that shows most."""
    step_index = pictures.main_step(answer, 78) if step_index is None else step_index
    return pictures.draw_picture(answer, step_index, **options).plain


def rulers(answer: Answer, width: int = 100) -> str:
    """Return the rulers of the last stage."""
    return draw_rulers(answer, stage_layouts(answer)[-1], 0, width=width, height=24, glyphs=UNICODE).plain


DRAWS = {
    "calls": calls,
    "code": lambda answer: calls(answer, tuple(code.TARGETS)),
    "big": lambda answer, **options: big.draw_large_figures(answer, **options).plain,
    "explain": lambda answer, **options: pictures.draw_explanation(answer, **options).plain,
    "film": film_text,
    "flow": lambda answer, **options: flow.draw_flow(answer, **options).plain,
    "grid": lambda answer, **options: grid.draw_grid(answer, **options).plain,
    "helps": helps,
    "picture": picture,
    "rulers": rulers,
    "steps": steps,
}
"""What draws an answer; `shapecalc` runs the command line itself."""


def option(word: str):
    """Return an option: `ascii`, `hole=1,2` for a dim that is hidden, or a name with numbers."""
    name, _, value = word.partition("=")
    if name == "ascii":
        return "glyphs", ASCII
    return ("holes", {literal_eval(value): "[    ]"}) if name == "hole" else (name, literal_eval(value))


def drawn(kind: str, options: str, line: str) -> str:
    """Return what is drawn of a question."""
    if kind == "shapecalc":
        return printed(line)
    return DRAWS[kind](answer_to(line), **dict(map(option, options.split())))


def renewed(text: str) -> str:
    """Return a text with everything in it drawn anew."""
    lines = BLOCK.sub(
        lambda block: f"$ {block[1]}{block[2]}: {block[3]}\n{drawn(*block.groups()[:3]).rstrip()}\n\n", text
    )
    return f"{lines.rstrip()}\n"

"""The one picture of a step as a file: what the app shows of it, as SVG, in pixels, or as a page."""

from __future__ import annotations

from html import escape

from rich.text import Text

from shapecalc.core.commands import command_line
from shapecalc.core.lookup import lookup
from shapecalc.core.problem import misuse
from shapecalc.core.rules import Merged
from shapecalc.core.text import brief, shape_text, visible
from shapecalc.view.canvas import clip_line, packed, stack
from shapecalc.view.flow import flow
from shapecalc.view.layout import layouts, unsettled
from shapecalc.view.notebook import PAPERS, hexadecimal, svg
from shapecalc.view.pictures import infers, main_step, picture
from shapecalc.view.pixels import png
from shapecalc.view.rail import rail, strip
from shapecalc.view.strokes import UNICODE
from shapecalc.view.sums import sums

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from shapecalc.core.answers import Chain, Trace

ENDINGS = (".svg", ".png", ".html")
WIDTH, NARROWEST, WIDEST = 80, 40, 400
"""How many characters wide a picture is, and may be."""
HEIGHT = 40
"""The most lines of the picture under the rail."""
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>body {{ margin: 0; {colours} }} svg {{ max-width: 100%; height: auto; }}</style></head>
<body>
{svg}</body></html>
"""


def ending_of(name: str, endings: Iterable[str], kind: str) -> str:
    """Return which of the endings a file's name has; raise `ShapeError` (usage) if it has none of them.

    >>> ending_of("a/B.SVG", ENDINGS, "picture")
    '.svg'
    """
    found = [ending for ending in endings if name.lower().endswith(ending) and len(name) > len(ending)]
    if not found:
        shown = visible(brief(name))
        raise misuse(f"'{shown}' is not a {kind}", f"end it in {', '.join(endings)}")
    return found[0]


def check_theme(name: str) -> None:
    """Raise `ShapeError` (usage) if there is no theme of that name."""
    lookup(name, PAPERS, "theme")


def check_step(answer: Trace | Chain, step: int | None) -> None:
    """Raise `ShapeError` (usage) if an answer has no step of that number, counted from 1."""
    most = len(answer.steps)
    if step is not None and step > most:
        steps = "1 step" if most == 1 else f"{most} steps"
        raise misuse(f"there is no step {step}", f"the answer has {steps}", argument="step")


def still(
    answer: Trace | Chain, name: str, step: int | None = None, *, theme: str | None = None, width: int = WIDTH
) -> bytes:
    """Return the contents of a file of that name: the picture of a step, counted from 1; without one, of the answer.

    Without a theme an SVG and a page have the colours that their reader's system asks for, pixels those of `light`.
    Raises `ShapeError`: usage if there is no such ending, step or theme, file if what draws pixels is not installed.
    """
    ending = ending_of(name, ENDINGS, "picture")
    check_step(answer, step)
    if theme is not None:
        check_theme(theme)
    text = still_text(answer, None if step is None else step - 1, width)
    made = svg(text, str(answer), theme or ("light" if ending == ".png" else None))
    if ending == ".png":
        return png(made)
    return (made if ending == ".svg" else _page(made, command_line(answer), theme)).encode()


def still_text(answer: Trace | Chain, at: int | None, width: int) -> Text:
    """Return what is seen of step `at`, with holes for what is settled later; of None, the whole answer.

    The whole answer has the picture that shows most. The cuts of a merge would give the next one away.
    """
    place = main_step(answer, width) if at is None else at
    here = at if at is not None or answer.problem is None else len(answer.steps)
    holes = {} if at is None else dict.fromkeys(unsettled(answer, at + 1), UNICODE.hole)
    merges = at is not None and isinstance(answer.steps[at].facts, Merged)
    drawn = Text() if merges and holes else picture(answer, place, width=width, height=HEIGHT, hides_late=bool(holes))
    told = sums(layouts(answer)) if at is None and not infers(answer, place) else ()
    parts = [
        clip_line(Text(visible(command_line(answer)), "bold"), width, UNICODE),
        Text(""),
        flow(answer, here, width=width, holes=holes, hides_refusal=at is not None),
        *packed([Text(text, "dim") for text in told], width, UNICODE),
        Text(""),
        rail(answer, here, width=width),
        strip(answer, here, width=width),
        Text(""),
        drawn,
        Text(""),
        *_sentence(answer, at, width),
    ]
    return stack(parts)


def _sentence(answer: Trace | Chain, at: int | None, width: int) -> list[Text]:
    """Return what is said of a step, or of the whole answer, in as many lines as it takes."""
    from textwrap import wrap

    problem = answer.problem
    if at is not None:
        step = answer.steps[at]
        said, style = f"{step.why}  [{step.rule}]", ""
    elif problem is not None:
        said, style = f"refused: {problem}", "bold red"
    else:
        when = " and ".join(condition.words for condition in answer.conditions)
        said, style = f"answer {shape_text(answer.output or ())}" + (f", when {when}" if when else ""), "bold"
    return [Text(line, style) for line in wrap(visible(said), width)]


def _page(made: str, title: str, theme: str | None) -> str:
    """Return an SVG picture in a page of its own."""
    light, dark = (hexadecimal(PAPERS[each][0]) for each in (theme or "light", theme or "dark"))
    colours = f"background: {light}; }} @media (prefers-color-scheme: dark) {{ body {{ background: {dark}; }}"
    return PAGE.format(title=escape(visible(title)), colours=colours, svg=made)

"""Text styles are legible on white and on black."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.style import Style

import shapecalc as sc
from shapecalc.render.canvas import contrast_ratio
from shapecalc.render.grid import TINTS
from shapecalc.render.report import comparison_table, draw_report, format_problem
from shapecalc.render.stage_layout import HUES
from shapecalc.render.styles import BOLD_ERROR, ERROR_COLOUR, SUCCESS_COLOUR
from shapecalc.tui.themes import DARK_TINT_INK, DARK_TINTS

BLACK, WHITE = (0, 0, 0), (255, 255, 255)
PALETTES = {
    "xterm": {"red": "cd0000", "yellow": "cdcd00", "magenta": "cd00cd", "cyan": "00cdcd"},
    "Windows Terminal": {"red": "c50f1f", "yellow": "c19c00", "magenta": "881798", "cyan": "3a96dd"},
    "Visual Studio Code": {"red": "cd3131", "yellow": "949800", "magenta": "bc05bc", "cyan": "0598bc"},
    "GNOME": {"red": "cc0000", "yellow": "c4a000", "magenta": "75507b", "cyan": "06989a"},
}
"""The colours of palettes by name."""
TEXT_CONTRAST = 4.5
ANSWERS = {
    "shuffle": lambda: sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(0, -1), second=(1, 0)),
    "condition": lambda: sc.reshape(("N", "C", "H", "W"), (0, -1, 64)),
    "matmul": lambda: sc.matmul(("N", 3), (3, "M")),
    "conv": lambda: sc.conv((1, 3, "H", "W"), (8, 3, 3, 3)),
    "concat": lambda: sc.concat([(2, "A"), (2, "B")], axis=1),
}


def styles_of(text):
    return {str(span.style) for span in text.spans}


def drawn_styles():
    """Return the styles of the reports of all answers, of a refusal and of a comparison."""
    found = set().union(*(styles_of(draw_report(answer())) for answer in ANSWERS.values()))
    with pytest.raises(sc.ShapeError) as caught:
        sc.reshape((2, 3, 4), (5, -1))
    problem = format_problem(caught.value.problem, [("target", "5,-1")])
    table = comparison_table(sc.compare((2, 3, 4), (0, -1)))
    return found.union(*map(styles_of, problem.renderables), (str(row.style) for row in table.rows)) - {""}


def contrasts(name):
    """Return the lowest contrast of a style with black and white; 21 without a colour."""
    color = Style.parse(name).color
    if color is None:
        return 21.0
    inks = [color.name[1:]] if color.name.startswith("#") else [palette[color.name] for palette in PALETTES.values()]
    return min(contrast_ratio(tuple(bytes.fromhex(ink)), page) for ink in inks for page in (BLACK, WHITE))


def test_styles_are_legible_on_white_and_on_black():
    styles = drawn_styles()
    assert {"bold", BOLD_ERROR} < styles
    assert {name: contrasts(name) for name in styles if contrasts(name) < TEXT_CONTRAST} == {}


@pytest.mark.parametrize("style", [ERROR_COLOUR, SUCCESS_COLOUR])
def test_colour_of_verdicts_is_legible_on_white_and_on_black(style):
    assert contrasts(style) >= TEXT_CONTRAST


@pytest.mark.parametrize("hue", HUES)
def test_hue_of_axes_is_legible_on_white_and_on_black(hue):
    assert contrasts(hue) >= TEXT_CONTRAST


@pytest.mark.parametrize("tint", TINTS)
def test_tint_of_elements_is_legible_under_black(tint):
    assert contrast_ratio(tuple(bytes.fromhex(tint[1:])), BLACK) >= TEXT_CONTRAST


def test_dark_tints_of_elements_are_legible_and_distinct():
    assert len({*DARK_TINTS}) == len(DARK_TINTS) == len(TINTS)
    ink = tuple(bytes.fromhex(DARK_TINT_INK[1:]))
    assert min(contrast_ratio(tuple(bytes.fromhex(tint[1:])), ink) for tint in DARK_TINTS) >= TEXT_CONTRAST


STYLE_WORD = re.compile(
    r"""["'](?:(?:bold|dim|italic|reverse) )*(red|green|yellow|blue|magenta|cyan|white|black|bright_\w+)["']"""
)


def test_no_style_names_a_color_of_the_terminal():
    """The contrast of a named color depends on the terminal, so styles are `bold`, `dim` or have a hue of their own."""
    found = {
        (path.name, match[0])
        for package in ("cli", "render", "diagnosis", "models", "teaching", "tui")
        for path in sorted((Path(sc.__file__).parent / package).rglob("*.py"))
        for match in STYLE_WORD.finditer(path.read_text("utf-8"))
    }
    assert found == set()


@pytest.mark.parametrize("name", ["yellow", "bold yellow", "cyan"])
def test_contrast_check_finds_faint_style(name):
    assert contrasts(name) < TEXT_CONTRAST

"""Dialogs that show help, generated code, and the diagnosis of an error message."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.ops import OPS, all_params
from shapecalc.core.params import Param
from shapecalc.core.problem import ShapeError
from shapecalc.core.text import escape_unprintable
from shapecalc.render.code import TARGETS, generate_code
from shapecalc.render.styles import ERROR_COLOUR
from shapecalc.tui.question import Question, corrected_question, question_command, suggested_question
from shapecalc.tui.widgets import ChoiceList, Dialog, KeyHelp, copy_text

if TYPE_CHECKING:
    from shapecalc.diagnosis.report import Diagnosis

LEGEND = (
    ("a b c", "axes of the input without a name; a dim keeps the letters of its axes"),
    ("bc  a-d", "b and c merged into one dim, b the outer; a to d merged"),
    ("c1 b·c1", "the outer part of c, which was split, also on its wire; b merged with it"),
    ("~x", "a dim that mixes several axes of the input"),
    ("new  ·", "a new dim, without an axis of the input"),
    ("_", "a dim that is not computed yet"),
    ("?", "an unknown dim"),
    ("─ ╮ ├ ┤", "the path of an axis to its output dims; if it ends, the axis is dropped"),
    ("• ┼", "paths that meet from all sides; paths that only cross"),
    ("╲ ╱ ╳", "axes that cross: a transpose"),  # noqa: RUF001
    ("┄  0┄b", "only the size of b is copied; the elements follow ─"),
    ("0 ▸", "a copied 0: the size at the same index, counted from the left"),
    ("█ │ ▓", "elements, in pieces as large as the known dims make them"),
    ("▒", "remaining elements, or too many"),
    ("├─┼─┤ ░", "elements in a row, with the cuts of an axis; too many cuts, or padding"),
    ("▕ ▏ ╎", "elements in a row: the start, the cuts of the outermost axis, the cuts of other axes"),
    ("!", "a new cut inside an old block, where others have none: axes mix"),
    ("[5]", "the element that is followed"),
    ("▸", "the dim of the current step; at a 1, it is repeated"),
    ("w0  B1", "axis 0 of the weight; axis 1 of the second operand, B"),
    ("+ x3 by", "longer by other operands; repeated 3 times; shifted by that many"),
    ("✗ ▲", "the failing step, and the wrong characters"),
    ("≠ ✓", "differs; is the same, or right"),
    ("* →", "times; becomes"),
    ("…", "text that does not fit"),
)
"""The symbols in the drawings, each with its meaning."""
FIELD_HELP = {
    "input": "The shape of the input: 2,3,4, [2, 3, 4], 2x3x4, N,C,H,W, or the name of a file such as x.npy. "
    "A name is a size of at least 1, a ? is an unknown dim.",
    "stages": "The ops, in order: reshape 0,0,12,64 | transpose 0,2,1,3. Each takes the options of its command.",
}
"""The help on fields that are not parameters of an op, keyed by field name."""
WIDGET_HELP = {
    "": "The panels: the question, the map with the path of each dim, the step, the elements before and after its "
    "stage, and the answer. The arrow keys step; tab enters a panel.",
    "map": "The map: the path of each dim to the output. While it asks, type whether the request works, then the size "
    "of the lit blank; enter gives up to three hints. The arrow keys light another dim and its origin.",
    "step": "The step: what the current step does.",
    "elements": "The elements at every stage. The arrow keys follow one of them. If a mistake gives the same sizes, "
    "such as a reshape instead of a transpose, m draws it beside them. t colours them by the next axis.",
}
"""The help on widgets that are not input fields, keyed by widget id."""
EXTRA_KEYS = (
    ("tab", "move to the next field or panel; esc leaves it"),
    ("0-9 - [", "edit the field that was used last"),
    ("m", "in the elements: show a mistake with the same sizes beside them"),
    ("mouse", "everything can be clicked: a dim shows its origin, a step opens, a key is pressed"),
    ("^P /", "commands without a key: a second chain, a link to share, settings, earlier requests"),
)
"""The keys of the main screen that `widgets.KEYS` does not contain, with their effects."""


MIN_TWO_COLUMNS = 110
"""The minimum terminal width, in cells, for the keys and the symbols side by side."""


class HelpDialog(Dialog[None]):
    """An explanation of a screen, its keys, and the symbols of the pictures."""

    box_title = "Keys and signs"
    BINDINGS = [Binding("escape,enter", "dismiss", "close")]

    def __init__(self, about: str, keys: list[tuple[str, str]]) -> None:
        """Create the help from a description of a screen and its keys with their effects."""
        super().__init__()
        self.about, self.keys = about, keys

    def compose_contents(self) -> ComposeResult:
        """Compose the description, the keys and the symbols."""
        keys = Table.grid(padding=(0, 2))
        for shown, help_ in self.keys:
            keys.add_row(Text(shown), Text(help_))
        signs = Table.grid(padding=(0, 2))
        for sign, meaning in LEGEND:
            signs.add_row(Text(sign, "bold", no_wrap=True), meaning)
        is_wide = self.app.size.width >= MIN_TWO_COLUMNS
        with VerticalScroll():
            yield Static(self.about, id="about", markup=False)
            with (Horizontal if is_wide else Vertical)(classes="columns"):
                yield Static(keys, id="signs")
                yield Static(signs, classes="words")
        yield KeyHelp("esc closes" if is_wide else "PgDn shows the signs of the pictures, PgUp the keys, esc closes")


def widget_help(widget_id: str, op: str) -> str:
    """Return the help text for a widget of the main screen.

    >>> widget_help("field-to", "shuffle")
    'to: the requested shape of the reshape; the dialect defines the meaning of 0 and -1'
    """
    if widget_id in WIDGET_HELP:
        return WIDGET_HELP[widget_id]
    name = widget_id.removeprefix("field-")
    params = {param.name: _param_help(param) for param in all_params(OPS[op])} if op in OPS else {}
    return f"{name.replace('_', '-')}: {(FIELD_HELP | params).get(name, 'change it, and the answer is updated')}"


def _param_help(param: Param) -> str:
    """Return the help text for a parameter and its allowed values."""
    words = param.completions
    return f"{param.help}: {' or '.join(words)}" if words else param.help


class CodeScreen(Dialog[None]):
    """A list of frameworks, and the code for the selected one; Enter copies the code."""

    box_title = "Code"
    BINDINGS = [Binding("escape", "dismiss", "close")]

    def __init__(self, answer: Trace | Chain) -> None:
        """Create the dialog that shows an answer as code."""
        super().__init__()
        self.answer = answer

    def compose_contents(self) -> ComposeResult:
        """Compose the list of frameworks beside the code."""
        with Horizontal():
            yield ChoiceList(*(Option(name, id=name) for name in TARGETS), id="targets")
            with VerticalScroll():
                yield Static(self.code_text(next(iter(TARGETS))), id="code", markup=False)
        yield KeyHelp("enter copies it, esc closes")

    @on(OptionList.OptionHighlighted)
    def show_code(self, event: OptionList.OptionHighlighted) -> None:
        """Show the code for the highlighted framework."""
        self.query_one("#code", Static).update(self.code_text(str(event.option_id)))

    @on(OptionList.OptionSelected)
    def copy_code(self, event: OptionList.OptionSelected) -> None:
        """Copy the code for the selected framework."""
        try:
            copy_text(self, generate_code(self.answer, str(event.option_id)).text)
        except ShapeError as error:
            self.notify(escape_unprintable(error.problem.message), severity="error", markup=False)

    def code_text(self, target: str) -> Text:
        """Return the code for a framework, with its warnings, or the error message."""
        try:
            result = generate_code(self.answer, target)
        except ShapeError as error:
            return Text(escape_unprintable(error.problem.message), ERROR_COLOUR)
        text = Text(result.text)
        for warning in result.warnings:
            text.append(f"\n\n! {warning}", "bold")
        return text


class DiagnosisText(Static):
    """The lines of a diagnosis, wrapped so that their texts are aligned."""

    INDENT = " " * 8

    def __init__(self, lines: list[str]) -> None:
        """Create the widget from the lines of a diagnosis."""
        super().__init__("\n".join(lines), markup=False)
        self.diagnosis_lines = lines

    def on_resize(self) -> None:
        """Wrap the lines for the new width."""
        width = max(len(self.INDENT) + 1, self.size.width)
        wrapped = [wrap(line, width, subsequent_indent=self.INDENT) or [""] for line in self.diagnosis_lines]
        self.update("\n".join(part for parts in wrapped for part in parts))


class DoctorScreen(Dialog[Question | None]):
    """The diagnosis of a runtime message. Enter opens the request that failed, f the corrected one."""

    box_title = "The message"
    BINDINGS = [
        Binding("escape", "dismiss", "close"),
        Binding("enter", "open_request", "ask"),
        Binding("f", "open_corrected", "fix"),
    ]

    def __init__(self, diagnosis: Diagnosis) -> None:
        """Create the dialog that shows the diagnosis of an error message."""
        super().__init__()
        self.diagnosis = diagnosis
        self.suggested_question = suggested_question(diagnosis)
        self.corrected_question = corrected_question(diagnosis)

    def compose_contents(self) -> ComposeResult:
        """Compose the lines of the diagnosis."""
        with VerticalScroll():
            yield DiagnosisText(self.diagnosis.format_lines())
        parts = ["enter opens the request that failed"] if self.suggested_question else []
        if self.corrected_question is not None:
            command = question_command(self.corrected_question, None).removeprefix("shapecalc ")
            parts.append(f"f opens {escape_unprintable(command)}")
        yield KeyHelp(", ".join([*parts, "esc closes"]))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable the key of the corrected request if the diagnosis contains none."""
        return action != "open_corrected" or self.corrected_question is not None

    def idle_reason(self, key: str) -> str:
        """Return why the key of the corrected request has no effect."""
        return "the message does not say enough for a corrected request" if key == "f" else ""

    def action_open_request(self) -> None:
        """Close the dialog, and return the first suggested request."""
        self.dismiss(self.suggested_question)

    def action_open_corrected(self) -> None:
        """Close the dialog, and return the first corrected request."""
        self.dismiss(self.corrected_question)

"""Dialogs that show a text: the help, the code of an answer, and what a pasted error message means."""

from __future__ import annotations

import re
from shlex import split

from rich.table import Table
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.commands import command_line
from shapecalc.core.dialects.base import Holds, Param
from shapecalc.core.ops import OPS, params_of
from shapecalc.core.problem import ShapeError
from shapecalc.core.text import visible
from shapecalc.doctor.report import Diagnosis
from shapecalc.tui.explore_text import WOULD_SHOW
from shapecalc.tui.keys import KEYS
from shapecalc.tui.question import Question, question_of
from shapecalc.tui.widgets import Choices, Dialog, KeyWords, copy
from shapecalc.view.canvas import UNICODE
from shapecalc.view.code import TARGETS, code

SIGNS = (
    ("a b c", "the axes of the input, from the left; a dim keeps the letters of the axes that it is made of"),
    ("bc  a-d", "b and c merged into one dim, b the outer; a to d merged"),
    ("c1 b·c1", "the outer part of c, which was split; b merged with it"),
    ("~x", "a dim that mixes axes, so it is not an axis of the input any more"),
    ("new  ·", "a new dim, which comes from no axis of the input"),
    ("_", "a dim that is not settled yet"),
    ("?", "a dim that nobody knows"),
    ("─ ╮ ├ ┤", "the way of an axis; where ways join or part, axes are merged or split; one that ends is dropped"),
    ("•", "where ways meet from all sides: old axes become new ones together"),
    ("╲ ╱ ╳", "axes that cross: a transpose"),  # noqa: RUF001
    ("┄  0┄b", "a size that is copied, of b; the elements go another way"),
    ("0 ▸", "a copied 0: the size at the same index, counted from the left"),
    ("█ │", "elements, in pieces as large as the known dims make them"),
    ("▒", "elements that are left over, or too many"),
    ("├─┼─┤ ░", "elements in a row, with the cuts of an axis; too many cuts"),
    ("!", "a new cut inside an old block, where others have none: axes mix"),
    ("[5]", "the element that is followed"),
    ("◂", "the dim of the step at hand"),
    ("✗ ▲", "where it stopped, and the characters at fault"),
    ("≠ ✓", "differs; is the same, or right"),
    ("* →", "times; becomes"),
    ("…", "more than there is room for"),
)
"""Every sign that the pictures are drawn with, and what it says."""
FIELDS = {
    "input": "The shape of the input: 2,3,4, [2, 3, 4], 2x3x4, N,C,H,W, or the name of a file such as x.npy. "
    "A name is a size of at least 1, a ? is a dim nobody knows.",
    "stages": "What happens to it, one op after the other: reshape 0,0,12,64 | transpose 0,2,1,3. "
    "Each takes the options of its own command.",
}
"""What is said of the fields that are no parameters of an op."""
PICTURE = (
    "The picture of the step at hand. F3 shows the elements in its place; the arrow keys then follow one of them "
    "through every stage. Where a mistake gives the same sizes, as a reshape for a transpose does, m draws it beside."
)
FLOW = (
    "The flow: what becomes of each dim. Type a size into the hole that is lit; enter helps, three times. The arrow "
    "keys light another dim, and what it comes from."
)
MORE = (
    "tab goes on to the next field. Everything can be clicked: a dim shows what it comes from, a step opens, a key "
    "is pressed. ^P finds all of this by name, and also what has no key: another chain to compare with, the "
    "themes, the fields, the settings, and what was asked before."
)
OUTPUT = re.compile(r'(^# x: .* -> y: |make_tensor_value_info\("y", .*, \[)[^\]\n]*', re.MULTILINE)
"""Where code says which shape `y` has."""


class Help(Dialog[None]):
    """F1: what has the focus, every key, and every sign of the pictures."""

    BINDINGS = [Binding("escape,f1,enter", "dismiss", "close")]

    def __init__(self, focused: str, op: str) -> None:
        """Explain the widget of the id `focused`."""
        super().__init__()
        self.focused_id = focused
        self.op = op

    def compose(self) -> ComposeResult:
        """Say what has the focus, then list the keys and the signs."""
        keys = Table.grid(padding=(0, 2))
        for key in KEYS:
            keys.add_row(key.shown, key.help)
        signs = Table.grid(padding=(0, 2))
        for sign, meaning in SIGNS:
            signs.add_row(Text(sign, "bold", no_wrap=True), meaning)
        with Vertical(classes="dialog"):
            with VerticalScroll():
                yield Static(self.focus_help(), markup=False, classes="words")
                yield Static(keys)
                yield Static(MORE, classes="words")
                yield Static(signs, id="signs")
            yield KeyWords("PgDn goes on to the signs of the pictures, escape closes")

    def focus_help(self) -> str:
        """Return what is said of the widget that has the focus.

        >>> Help("field-to", "shuffle").focus_help()
        'to: the reshape: the requested shape; the dialect decides what 0 and -1 mean'
        """
        if self.focused_id == "picture":
            return PICTURE
        if self.focused_id == "flow":
            return FLOW
        name = self.focused_id.removeprefix("field-")
        params = {param.name: _param_help(param) for param in params_of(OPS[self.op])} if self.op in OPS else {}
        return f"{name.replace('_', '-')}: {(FIELDS | params).get(name, 'change it, and everything follows')}"


def _param_help(param: Param) -> str:
    """Return what is said of a parameter, with the words that can be typed if they are few."""
    words = ("0", "1") if param.holds is Holds.FLAG else param.words
    return f"{param.help}: {' or '.join(words)}" if words else param.help


def hide_output(text: str, answer: Trace | Chain) -> str:
    r"""Return code with a hole in place of the shape of `y`, and of each size of it that the request does not name.

    >>> import shapecalc as sc
    >>> hide_output("# x: 2,3,4 -> y: 2,12\ny = x.reshape(2, 12)", sc.reshape((2, 3, 4), (0, -1)))
    '# x: 2,3,4 -> y: _\ny = x.reshape(2, _)'
    """
    asked = {*re.findall(r"\w+", command_line(answer))}
    sizes = [re.escape(str(dim)) for dim in answer.output or () if str(dim) not in asked]
    text = OUTPUT.sub(rf"\g<1>{UNICODE.hole}", text)
    return re.sub(rf"(?<!\w)({'|'.join(sizes)})(?!\w)", UNICODE.hole, text) if sizes else text


class CodeScreen(Dialog[None]):
    """F8: the frameworks at the left, the code at the right; enter copies it."""

    BINDINGS = [Binding("escape,f8", "dismiss", "close")]

    def __init__(self, answer: Trace | Chain, *, hides: bool = False) -> None:
        """Show the code of an answer; if it `hides`, with holes for what the answer is."""
        super().__init__()
        self.answer, self.hides = answer, hides

    def compose(self) -> ComposeResult:
        """Put the list beside the code."""
        with Vertical(classes="dialog"):
            with Horizontal():
                yield Choices(*(Option(name, id=name) for name in TARGETS), id="targets")
                with VerticalScroll():
                    yield Static(self.code_text(next(iter(TARGETS))), id="code", markup=False)
            yield KeyWords("enter copies it, escape closes")

    @on(OptionList.OptionHighlighted)
    def show(self, event: OptionList.OptionHighlighted) -> None:
        """Show the code for the framework under the cursor."""
        self.query_one("#code", Static).update(self.code_text(str(event.option_id)))

    @on(OptionList.OptionSelected)
    def copy(self, event: OptionList.OptionSelected) -> None:
        """Copy the code for the framework, unless it tells what is hidden."""
        try:
            text = code(self.answer, str(event.option_id)).text
        except ShapeError as error:
            self.notify(visible(error.problem.message), severity="error", markup=False)
            return
        if self._shown(text) == text:
            copy(self, text)
        else:
            self.notify(WOULD_SHOW, markup=False)

    def code_text(self, target: str) -> Text:
        """Return the code, and under it what to know before it is used; or why there is none."""
        try:
            found = code(self.answer, target)
        except ShapeError as error:
            return Text(visible(error.problem.message), "red")
        text = Text(self._shown(found.text))
        for warning in found.warnings:
            text.append(f"\n\n! {self._shown(warning)}", "yellow")
        return text

    def _shown(self, text: str) -> str:
        return hide_output(text, self.answer) if self.hides else text


class DoctorScreen(Dialog[Question | None]):
    """What a runtime's message says; enter asks the request that it tells of."""

    BINDINGS = [Binding("escape", "dismiss", "close"), Binding("enter", "ask", "ask")]

    def __init__(self, found: Diagnosis) -> None:
        """Show what was found in a text."""
        super().__init__()
        self.found = found
        self.commands = [advised.command for _, advised in found.found if advised.command]

    def compose(self) -> ComposeResult:
        """Put the lines into a box that scrolls."""
        with Vertical(classes="dialog"):
            with VerticalScroll():
                yield Static("\n".join(self.found.lines()), markup=False)
            asks = "enter asks it, " if self.commands else ""
            yield KeyWords(f"{asks}escape closes")

    def action_ask(self) -> None:
        """Close, and ask the first request that the text tells of."""
        self.dismiss(question_of(split(self.commands[0])[1:]) if self.commands else None)

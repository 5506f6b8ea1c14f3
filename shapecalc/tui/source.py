"""The screen that shows source code.

The screen shows the code with the shapes of each line, and a picture of the selected line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Protocol

from rich.style import Style
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container
from textual.content import Content
from textual.widgets import Input

from shapecalc.core.answers import Chain
from shapecalc.core.problem import FILE, Problem, ShapeError, error_reason
from shapecalc.core.text import escape_unprintable, parse_shape, shape_text
from shapecalc.reading.code import interpret_code
from shapecalc.reading.code.lines import CodeLine, collect_code_lines
from shapecalc.reading.code.results import StatementRecord
from shapecalc.reading.code.source import normalize_pasted_code, split_entry, split_inputs
from shapecalc.reading.code.values import tensors_in
from shapecalc.reading.commands import chain_text
from shapecalc.reasoning.answers import answer_chain
from shapecalc.render.canvas import UNICODE, clip_text, stack_texts, wrap_line, wrap_lines
from shapecalc.render.step import ARROW
from shapecalc.render.styles import ERROR_COLOUR
from shapecalc.tui import explore_text, widgets
from shapecalc.tui.app_commands import AppCommand
from shapecalc.tui.panels import (
    BORDER_LINES,
    MIN_PANEL_LINES,
    FieldPanel,
    Panel,
    count_rows,
    set_widget_height,
)
from shapecalc.tui.question import CHAIN, FILES_DISABLED_MESSAGE, Question, can_open_files, question_from_words
from shapecalc.tui.state import ExploreState
from shapecalc.tui.themes import COLOURLESS_THEME

MISSING_INPUT_PATTERN = re.compile(r"'(.+)': the shape of this tensor is not known")
"""The pattern of the message for a missing input shape; the group is the tensor's name."""
INPUT_OPTION = "--input"
EXAMPLE_SHAPE = "its shape, such as N,C,H,W"
MAX_CODE_BYTES = 1 << 20
"""The maximum size of a source file, in bytes."""
MIN_BESIDE_WIDTH = 100
"""The minimum terminal width for the source and the picture side by side, in cells."""
MIN_BESIDE_LINES = 16
"""The minimum height of the source beside the picture, in lines with the border."""
MAX_PICTURE_LINES = 12
"""The maximum height of the picture below the source, in lines with the border."""
SOURCE_KEYS = (
    widgets.Key("up", "↑", "line", "move(-1)", "Select the line above", 1),
    widgets.Key("down", "↓", "line", "move(1)", "Select the line below", 2),
    widgets.Key("enter", "enter", "picture", "open_line", "Open the chain of the line, step by step", 0),
    widgets.Key("e", "e", "inputs", "edit", "Edit the shapes of the inputs", 3),
    widgets.Key("escape", "esc", "back", "leave", "Leave the field, or go back", 4),
    widgets.Key("question_mark", "?", "keys", "app.help", "Explain the keys", 5),
    widgets.Key("q", "q", "quit", "app.quit", "Quit", 6),
)


class SourceOpener(Protocol):
    """The methods of the main screen that the source screen calls."""

    async def open_line_question(self, question: Question, state: SourceState) -> None:
        """Close the source screen, and open the chain of a line."""

    def close_source(self) -> None:
        """Close the source screen."""


def read_source(command: AppCommand) -> SourceState:
    """Return the state of the screen for a command's code.

    Raises `ShapeError` (file) if the file cannot be read, and (usage) if an input is malformed.
    """
    name, entry = split_entry(command.content)
    text, title = name, ""
    if "\n" not in name and name.endswith(".py"):
        text, title = _read_file(name), f"{name}::{entry}" if entry else name
    words, inputs = command.words[2:], dict[str, str]()
    for option, value in pairwise(words):
        if option == INPUT_OPTION:
            inputs = dict(split_inputs(value))
    return SourceState(normalize_pasted_code(text), title, entry, inputs)


def _read_file(name: str) -> str:
    """Read a source file.

    Raises `ShapeError` (file) if the file cannot be read.
    """
    if not can_open_files():
        raise ShapeError(Problem(FILE, FILES_DISABLED_MESSAGE, "paste the code itself"))
    try:
        with Path(name).open("rb") as file:
            return file.read(MAX_CODE_BYTES).decode("utf-8", "replace")
    except OSError as error:
        raise ShapeError(Problem(FILE, f"{escape_unprintable(name)}: {error_reason(error)}")) from None


class SourceState:
    r"""Source code with the shapes of its inputs and lines, and the selected line.

    >>> state = SourceState("y = x.view(2, -1)\ny.t()", "", "", {"x": "2,3,4"})
    >>> [(line.line, line.format_values()) for line in state.lines], state.output
    ([(1, 'y 2,12'), (2, '12,2')], '12,2')
    >>> SourceState("x.t()", "", "", {}).inputs
    {'x': ''}
    """

    def __init__(self, text: str, title: str, entry: str, inputs: Mapping[str, str]) -> None:
        """Interpret the code, and select its first line.

        An input of the code that `inputs` does not contain is added with an empty shape.
        """
        self.text, self.title, self.entry = text, title, entry
        self.inputs = dict(inputs)
        self.rows = text.expandtabs(4).split("\n")
        self.lines: list[CodeLine] = []
        """The lines that bind or return tensors or sizes, in the order of execution."""
        self.problem: Problem | None = None
        self.output = ""
        self.input_shape = ""
        self.index = 0
        """The index of the selected line in `lines`."""
        self._records: list[StatementRecord] = []
        self.interpret_code_lines()

    def set_input(self, name: str, text: str) -> None:
        """Set the shape of an input, and interpret the code again."""
        if self.inputs.get(name) != text:
            self.inputs[name] = text
            self.interpret_code_lines()

    def interpret_code_lines(self) -> None:
        """Compute the shapes of all lines up to the first problem."""
        self._records, self.problem, self.output, self.input_shape = [], None, "", ""
        try:
            shapes = {name: parse_shape(text) for name, text in self.inputs.items() if text.strip()}
            code = interpret_code(self.text, shapes, records=self._records, entry=self.entry)
            chain = answer_chain(code.input_shape, code.stages, {}) if code.stages else None
            outputs = code.outputs or ((chain.output if chain else code.input_shape),)
            self.input_shape = shape_text(code.input_shape)
            self.output = "  ".join(shape_text(shape) for shape in outputs if shape is not None)
            self.problem = chain.problem if chain else None
        except ShapeError as error:
            self.problem = error.problem
            missing = MISSING_INPUT_PATTERN.fullmatch(error.problem.message)
            if missing and missing[1] not in self.inputs:
                self.inputs[missing[1]] = ""
        self.lines = collect_code_lines(self._records)
        self.index = max(0, min(self.index, len(self.lines) - 1))

    @property
    def selected_line(self) -> CodeLine | None:
        """The selected line, or None if no line has a shape."""
        return self.lines[self.index] if self.lines else None

    @property
    def failing_line(self) -> int | None:
        """The number of the line that causes the problem, or None."""
        if self.problem is not None and self.problem.span is not None and self.problem.argument == "line":
            return self.text.count("\n", 0, self.problem.span[0]) + 1
        failed = (record for record in self._records if any(isinstance(v, ShapeError) for v in record.names.values()))
        return next((record.line for record in failed), None)

    def move_selection(self, offset: int) -> None:
        """Move the selection by `offset` lines."""
        self.index = max(0, min(self.index + offset, len(self.lines) - 1))

    def selected_line_question(self) -> Question | None:
        """Return the chain from the input to the selected line, or None if there is none."""
        line = self.selected_line
        if line is None:
            return None
        for record in self._records:
            if (record.line, record.depth, record.text) == (line.line, line.depth, line.text):
                for value in record.names.values():
                    if isinstance(value, ShapeError):
                        continue
                    for tensor in tensors_in(value):
                        try:
                            chain: Chain = answer_chain(tensor.input_shape, tensor.stages, {})
                            return question_from_words([CHAIN, chain_text(chain)]) if tensor.stages else None
                        except ShapeError:
                            return None
        return None


class SourceScreen(widgets.ScreenWithHelp[None]):
    """Code with the shape of each line. Enter opens the chain of the selected line."""

    KEYS = SOURCE_KEYS
    AUTO_FOCUS = ""
    BINDINGS = [
        *(
            Binding(key.name, key.action, key.label, show=False, tooltip=key.help, id=widgets.key_binding_id(key))
            for key in SOURCE_KEYS
            if key.name != "question_mark"
        ),
        Binding("k,left", "move(-1)", show=False),
        Binding("j,right", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home", "move(-100000)", show=False),
        Binding("end", "move(100000)", show=False),
    ]

    def __init__(self, explore: SourceOpener, state: SourceState) -> None:
        """Create the screen on top of the main screen."""
        super().__init__()
        self.explore, self.state = explore, state

    def compose(self) -> ComposeResult:
        """Compose the inputs, the code, the picture of the line and the answer."""
        yield widgets.SizeNotice(id="enlarge")
        yield FieldPanel(self._make_fields())
        yield widgets.ClickableText("reason")
        with Container(id="middle"):
            yield Panel("source")
            yield Panel("map")
        yield widgets.ClickableText("answer")
        yield widgets.ClickableText("keys")

    def on_mount(self) -> None:
        """Focus the first input without a shape, and draw the screen."""
        for panel in self.query(Panel):
            panel.can_focus = False
        self.query_one("#answer").border_title = "Answer"
        empty = [field for field in self.query(widgets.Field) if not field.value]
        self.set_focus(empty[0] if empty else None)
        self.draw()

    def _make_fields(self) -> list[widgets.Field]:
        fields = []
        for name, text in self.state.inputs.items():
            field = widgets.Field(re.sub(r"\W", "_", name), text)
            field.placeholder = EXAMPLE_SHAPE
            field.input_name = name
            fields.append(field)
        return fields

    @property
    def is_typing(self) -> bool:
        """Whether a field has the focus."""
        return isinstance(self.focused, Input)

    @on(Input.Changed)
    async def change_input(self, event: Input.Changed) -> None:
        """Interpret the code with the typed shape.

        If the code then requires another input, a field for it is added.
        """
        count = len(self.state.inputs)
        if isinstance(event.input, widgets.Field):
            self.state.set_input(event.input.input_name, event.value)
        if len(self.state.inputs) > count:
            last = self._make_fields()[-1:]
            await self.query_one(FieldPanel).mount(
                *widgets.label_fields(last), before=self.query_one(FieldPanel).carets
            )
        self.query_one(FieldPanel).rearrange()
        self.draw()

    @on(Input.Submitted)
    def focus_next_field(self, event: Input.Submitted) -> None:
        """Focus the next field, or no field after the last one."""
        fields = [*self.query(widgets.Field)]
        following = fields[fields.index(event.input) + 1 :] if event.input in fields else []
        self.set_focus(following[0] if following else None)
        self.call_after_refresh(self.draw)

    @on(widgets.MetadataClicked)
    async def handle_click(self, event: widgets.MetadataClicked) -> None:
        """Select a clicked line, or run the action of a clicked key."""
        if event.kind == "step":
            self.state.index = int(str(event.value))
            self.draw()
        elif event.kind == "key":
            await self.run_action(str(event.value))

    def on_resize(self, event: events.Resize) -> None:
        """Redraw for the new size, or report that the terminal is too small."""
        self.set_class(widgets.SizeNotice.is_needed(event.size), "-small")
        self.draw()

    def on_descendant_focus(self) -> None:
        """Update the line of keys."""
        self.draw()

    def on_mouse_scroll_down(self) -> None:
        """Select the next line."""
        self.action_move(1)

    def on_mouse_scroll_up(self) -> None:
        """Select the previous line."""
        self.action_move(-1)

    def action_move(self, offset: int) -> None:
        """Move the selection by `offset` lines."""
        self.state.move_selection(offset)
        self.draw()

    def action_page(self, direction: int) -> None:
        """Move the selection by one page."""
        self.action_move(direction * max(1, self.query_one("#source").size.height - 2))

    async def action_open_line(self) -> None:
        """Open the chain of the selected line."""
        question = self.state.selected_line_question()
        if question is not None:
            await self.explore.open_line_question(question, self.state)

    def action_edit(self) -> None:
        """Focus the first input."""
        for field in self.query(widgets.Field):
            self.set_focus(field)
            return

    def action_leave(self) -> None:
        """Leave the field; if no field has the focus, close the screen."""
        if self.is_typing:
            self.set_focus(None)
            self.call_after_refresh(self.draw)
        else:
            self.explore.close_source()

    def draw(self) -> None:
        """Draw the screen."""
        if not self.is_attached or self.has_class("-small"):
            return
        state, (width, height) = self.state, self.app.size
        panel = self.query_one(FieldPanel)
        panel.border_title = Content(" · ".join(filter(None, ("Code", escape_unprintable(state.title)))))
        reason = self._problem_text(width - 2)
        self.query_one("#reason", widgets.ClickableText).set_text(reason)
        fields = [*self.query(widgets.Field)]
        rows = count_rows(fields, width - 4) if fields else 0
        panel.display = bool(fields)
        fixed = (rows + BORDER_LINES if fields else 0) + (reason.plain.count("\n") + 1 if reason else 0) + 2
        lines = max(MIN_PANEL_LINES, height - fixed)
        is_beside = width >= MIN_BESIDE_WIDTH and lines < len(state.rows) + BORDER_LINES + MAX_PICTURE_LINES
        if is_beside:
            lines = min(lines, max(len(state.rows) + BORDER_LINES, MIN_BESIDE_LINES))
        spare = lines - len(state.rows) - BORDER_LINES
        is_framed = not is_beside and spare > MAX_PICTURE_LINES
        lines -= BORDER_LINES * is_framed
        answer = self.query_one("#answer", widgets.ClickableText)
        answer.set_class(is_framed, "-framed")
        picture = min(MAX_PICTURE_LINES, max(0, spare, lines // 2))
        picture = 0 if is_beside else spare - BORDER_LINES if is_framed else picture
        picture = picture if picture >= MIN_PANEL_LINES else 0
        middle = self.query_one("#middle")
        middle.set_class(is_beside, "-beside")
        set_widget_height(middle, lines)
        self.query_one("#source", Panel).set_height(lines - picture)
        self.query_one("#map", Panel).set_height(lines if is_beside else picture)
        self.query_one("#source", Panel).set_title("Source")
        self.query_one("#map", Panel).set_title(self._line_title())
        self.query_one("#source", Panel).set_renderer(self._source_text)
        self.query_one("#map", Panel).set_renderer(self._picture_text)
        answer.set_text(self._answer_text(width - 2 - BORDER_LINES * is_framed))
        taken = ("e", "q", "question_mark", "enter") if self.is_typing else ()
        keys = self.with_user_keys(tuple(key for key in SOURCE_KEYS if key.name not in taken))
        active = frozenset(key.action for key in keys)
        self.query_one("#keys", widgets.ClickableText).set_text(widgets.format_key_line(active, width - 2, keys))

    def _problem_text(self, width: int) -> Text:
        """Format the problem of the code with its hint."""
        problem = self.state.problem
        if problem is None:
            return Text(end="")
        line = f" (line {self.state.failing_line})" if self.state.failing_line else ""
        missing = MISSING_INPUT_PATTERN.fullmatch(problem.message)
        style = "" if missing else ERROR_COLOUR
        lines = wrap_line(Text(f"{UNICODE.fail} {escape_unprintable(problem.message)}{line}", style), width)
        hint = "" if missing else escape_unprintable(problem.hint)
        return stack_texts([*lines, *(wrap_line(Text(f"  {hint}"), width) if hint else [])])

    @property
    def _selection_style(self) -> Style:
        """The style of the selected line, or reverse video in a theme without colours."""
        colours = self.app.theme_variables
        if "primary" not in colours or self.app.theme == COLOURLESS_THEME:
            return Style(reverse=True)
        return Style.parse(f"bold {colours['background']} on {colours['primary']}")

    def _line_title(self) -> str:
        line = self.state.selected_line
        return f"Line {line.line} · {clip_text(line.format_values(), 40, UNICODE)}" if line else "Line"

    def _source_text(self, width: int, height: int) -> Text:
        """Draw the code around the selected line, with the shapes on the right."""
        state, shown = self.state, dict[int, tuple[int, CodeLine | None]]()
        for index, each in enumerate(state.lines):
            if each.line not in shown or index == state.index:
                shown[each.line] = index, each
        current = state.selected_line.line if state.selected_line else 1
        first = max(0, min(current - 1 - height // 2, len(state.rows) - height))
        values = [each.format_values() for each in state.lines]
        value_width = min(max(map(len, values), default=0), max(12, width // 2))
        digits = len(str(len(state.rows)))
        texts = list[Text]()
        for number in range(first + 1, min(first + height, len(state.rows)) + 1):
            index, line = shown.get(number, (0, None))
            is_selected = number == current and line is not None
            is_failing = number == state.failing_line
            mark = UNICODE.fail if is_failing else UNICODE.pointer if is_selected else " "
            code = clip_text(
                escape_unprintable(state.rows[number - 1]), max(8, width - value_width - digits - 5), UNICODE
            )
            text = Text(no_wrap=True, end="").append(
                f"{mark}{number:>{digits}} ", ERROR_COLOUR if is_failing else "dim"
            )
            text.append(code.ljust(max(8, width - value_width - digits - 5)), "" if line else "dim")
            value = clip_text(line.format_values(), value_width, UNICODE) if line else ""
            text.append(f"  {value.ljust(value_width)}", "bold")
            if is_selected:
                text.stylize(self._selection_style)
            if line is not None:
                text.stylize(Style(meta={"step": index}))
            texts.append(text)
        return stack_texts(texts) if texts else Text(end="")

    def _picture_text(self, width: int, height: int) -> Text:
        """Draw the last stage of the chain to the selected line, with its sentence."""
        question = self.state.selected_line_question()
        if question is None:
            return Text("this line has no tensor that is followed", "dim", end="")
        state = ExploreState(question)
        sentences = [
            Text(escape_unprintable(step.why), "dim") for step in (state.answer.steps[-1:] if state.answer else ())
        ]
        lines = wrap_lines(sentences, width)
        drawing = explore_text.map_text(state, width, height)
        free = height - drawing.plain.count("\n") - 2
        step = explore_text.step_text(state, width, free) if free >= MAX_PICTURE_LINES // 2 else Text(end="")
        if step and step.plain.count("\n") < free:
            return stack_texts([drawing, Text(end=""), step])
        return stack_texts([drawing, Text(end=""), *lines]) if len(lines) <= free else drawing

    def _answer_text(self, width: int) -> Text:
        """Format a line with the input and the output of the code."""
        if self.state.problem is not None or not self.state.output:
            return Text("no answer yet", "dim", end="")
        accent = f"bold {self.app.theme_variables.get('accent', '')}".rstrip()
        shape = clip_text(escape_unprintable(self.state.input_shape), max(8, width // 2 - 4), UNICODE)
        name = f"{escape_unprintable(self.state.entry) or 'whole code'}: "
        return Text.assemble(
            f"{name}{shape} {ARROW} ",
            (clip_text(self.state.output, max(8, width - len(name) - len(shape) - 4), UNICODE), accent),
        )

"""The main screen.

The panels of the screen show the question, the map, the step, the elements and the answer. A step of an answer applies
one rule, which determines a dim. The map is a flow diagram with a column of dims for each stage of the answer, up to
the current step. In learning mode, the user predicts dims before the app shows them; a blank is a dim to predict.

While no field and no panel has the focus, letters are commands, and the arrow keys move between steps. A field or a
blank with the focus receives every printable key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress
from time import monotonic
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.limits import MAX_FILM_STAGES
from shapecalc.core.ops import OPS, supporting_dialects
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import replace
from shapecalc.core.text import escape_unprintable
from shapecalc.render.canvas import stack_texts
from shapecalc.render.stage_layout import stage_layouts
from shapecalc.render.styles import BOLD_ERROR
from shapecalc.teaching import ALL
from shapecalc.teaching.lessons import Course, load_path_lessons
from shapecalc.teaching.progress import Progress
from shapecalc.tui import explore_text, side, widgets
from shapecalc.tui.app_commands import CODE, COURSE, DRILL, LESSONS, MESSAGE, AppCommand
from shapecalc.tui.dialogs import EXTRA_KEYS, CodeScreen, DoctorScreen, widget_help
from shapecalc.tui.files import FilesDialog, save_answer
from shapecalc.tui.lessons import DrillScreen, LessonsScreen
from shapecalc.tui.panels import (
    BORDER_LINES,
    MIN_PANEL_LINES,
    Bottom,
    FieldPanel,
    Middle,
    Panel,
    PanelHeights,
    RequiredHeights,
    allocate_panel_heights,
    count_rows,
    has_smaller_panel,
    required_width,
    set_widget_height,
)
from shapecalc.tui.picture_heights import PictureHeights, SharedHeights, measure_pictures
from shapecalc.tui.question import (
    CHAIN,
    EXAMPLE_QUESTION,
    FILES_DISABLED_MESSAGE,
    DialectRow,
    Question,
    can_open_files,
    chain_from_code,
    find_invalid_text,
    make_element_reader,
    question_command,
    question_from_words,
)
from shapecalc.tui.question_dialogs import CompareDialog, SettingsDialog, dialect_rows
from shapecalc.tui.state import ARROW_MOVES, ExploreState, first_differing_step
from shapecalc.tui.themes import next_theme

if TYPE_CHECKING:
    from shapecalc.tui.source import SourceState

IDLE_SECONDS = 0.05
"""The time without events, in seconds, after which the next change is drawn at once."""
COMPARE_SECONDS = 0.15
"""The time without events, in seconds, after which the dialects are compared."""
MIN_QUIT_WIDTH = 100
"""The minimum width, in cells, of a line of keys with the quit key beside a key to go back."""
COMPARE_LINES = 5
"""The maximum height of a comparison with one line per answer, in lines with the border."""
EDIT_CHARACTERS = frozenset("0123456789-[")
"""The characters that, typed without a focus, move the focus to the last edited field."""
INDEX_CHARACTERS = frozenset("0123456789,")
"""The characters of an element index that is typed into the elements panel."""
PANEL_ARROWS = (*ARROW_MOVES, "home", "end")
"""The keys that a focused panel handles itself."""
MIN_ELEMENTS_LINES = 26
"""The minimum total height of the panels, in lines, at which an unfocused panel shows the elements at every stage."""
MIN_GRID_LINES, MAX_GRID_LINES = 12, 24
"""The minimum and the maximum height of the tables of a large tensor in an unfocused panel, in lines with the border.
"""
WIDE_LINES = 40
"""The minimum total height of the panels, in lines, at which the comparison can list the dialects in columns."""
SIDE_PANELS, COLUMN_PANELS = ("compare", "code"), ("steps", "legend")
"""The ids of the panels that can be below the answer, in order of preference, and of those in the column of a wide
screen.
"""
MAX_STEPS_LINES = 30
"""The maximum number of lines of the steps in the column of a wide screen."""
EMPTY_FIELD = "–"  # noqa: RUF001
"""The text of an empty field of an optional parameter."""
GRID_MARGIN = 1
"""The number of blank lines below the elements panel while it has the focus."""


def _framed_height(text: Text) -> int:
    """Return the height of a text with a border; the height of an empty text is 0."""
    return text.plain.count("\n") + 1 + BORDER_LINES if text else 0


class ExploreScreen(widgets.ScreenWithHelp[None]):
    """The main screen.

    It updates the answer after every key press.
    """

    BLANK = True
    AUTO_FOCUS = ""
    BINDINGS = [
        *(
            Binding(key.name, f"key({index})", key.label, show=False, tooltip=key.help, id=widgets.key_binding_id(key))
            for index, key in enumerate(widgets.KEYS)
        ),
        *(Binding(key.name, key.action, key.label, show=False, tooltip=key.help) for key in widgets.GLOBAL_KEYS),
    ]

    _question_lines = 1
    """The height of the fields and their carets, in lines."""

    @dataclass
    class QuestionShown(Message):
        """Posted after a question is displayed, and again before it is replaced."""

        line: str
        """The command line of the question."""
        step: int
        """The index of the current step of the answer."""
        is_learning: bool
        """Whether the screen is in learning mode."""
        is_final: bool = False
        """Whether the question is about to be replaced."""

    def __init__(
        self,
        question: Question,
        step: int | None,
        progress: Progress | None,
        *,
        learns: bool,
        keys: tuple[widgets.Key, ...] = widgets.KEYS,
        has_home: bool = False,
    ) -> None:
        """Open a question at a step of its answer; None means after the last step.

        If `learns` is True, the screen is in learning mode. `keys` are the keys that work while no widget has the
        focus. If `has_home` is True, Esc goes back to the start screen.
        """
        super().__init__()
        self.keys = keys
        self._edit_key = next(key.name for key in keys if key.action == "edit")
        self.progress = progress or Progress()
        self.state = ExploreState(question, step, is_learning=learns, score=self.progress.session_score)
        self.has_home = has_home
        self.course: Course | None = None
        """The course from the user's own file, or None for the built-in lessons."""
        self._lesson_id = ""
        """The id of the lesson from which the question was opened; empty if there is none."""
        self._source: SourceState | None = None
        """The source code with the line from which the question was opened, or None."""
        self._is_draw_scheduled = False
        self._last_draw = 0.0
        self._focus_before_resize: Widget | None = None
        """The widget that had the focus when the terminal became too small."""
        self._last_field = "input"
        """The name of the last edited field."""
        self._comparison: tuple[Question, Sequence[DialectRow]] | None = None
        """The question that was compared last, and its answer in each dialect."""
        self._compared_lines: dict[tuple[int, str], list[Text]] = {}
        """The lines of the last comparison, keyed by width and form."""
        self._has_tapes = True
        """Whether all elements fit on tapes; if not, tables show a part of the elements."""
        self._awaits_grid = False
        """Whether tables of a large tensor are to be drawn when the user pauses."""
        self._paused_question: Question | None = None
        """The question that was displayed when the user last paused."""
        self._grid: tuple[tuple[object, ...], Text] = ((), Text(end=""))
        """The cache key and the drawing of the tables of a large tensor."""
        self._drawn_tapes: tuple[tuple[object, ...], int, Text] = ((), 0, Text(end=""))
        """The cache key, the height and the drawing of the tapes."""
        self._entered_grid: tuple[tuple[object, ...], int, Text] = ((), 0, Text(end=""))
        """The cache key, the height and the drawing of the tables in the focused panel."""
        self._code: tuple[Question | None, Sequence[side.CodeEntry]] = (None, ())
        """The question for which code was generated last, and the code."""
        self._side_layout: tuple[int, int, tuple[tuple[str, int], ...]] = (0, 0, ())
        """The height of the area above the command line, the height below the answer, and that of each side panel."""
        self._compare_timer: Timer | None = None
        self._shared_heights = SharedHeights()
        self._heights = PictureHeights(0, 0, is_beside=True)
        """The heights that the map and the step need at the current step."""

    def compose(self) -> ComposeResult:
        """Compose the panels from top to bottom."""
        yield widgets.SizeNotice(id="enlarge")
        yield FieldPanel(self._make_fields())
        with Middle(id="body"):
            with Middle(id="main"):
                yield widgets.ClickableText("reason", "fix")
                with Middle(id="middle"):
                    yield Panel("map")
                    yield Panel("step")
                yield Panel("elements")
                yield widgets.ClickableText("answer", "fix")
                with Middle(id="side"):
                    for name in SIDE_PANELS:
                        yield Panel(name)
            with Middle(id="column"):
                for name in COLUMN_PANELS:
                    yield Panel(name)
        with Bottom(id="bottom"):
            yield widgets.ClickableText("command", "copy")
            yield widgets.ClickableText("keys")

    def on_mount(self) -> None:
        """Focus the initial widget, and draw the screen."""
        for name in ("step", *SIDE_PANELS, *COLUMN_PANELS):
            panel = self.query_one(f"#{name}", Panel)
            panel.can_focus = False
            panel.set_title(name.capitalize())
        self.query_one("#answer").border_title = "Answer"
        self.focus_initial_widget()
        if self.state.cursor is not None:
            self.action_elements()
        self.schedule_draw()

    def focus_initial_widget(self) -> None:
        """Focus the map if there is a dim to predict, otherwise no widget."""
        asks = self.state.must_predict_validity or self.state.open_blanks
        self.set_focus(self.query_one("#map") if asks else None)

    def _make_fields(self) -> list[widgets.Field]:
        """Create the fields of the question, and watch their values.

        The message `Input.Changed` would be handled only after the field is drawn.
        """
        question = self.state.question
        fields = [widgets.Field(name, question.texts.get(name, "")) for name in question.fields]
        optional = (
            {param.name for param in OPS[question.op].params if not param.required} if not question.is_chain else {}
        )
        for field in fields:
            field.placeholder = EMPTY_FIELD if field.field_name in optional else ""
            self.watch(field, "value", partial(self.update_field_text, field.field_name), init=False)
            self.watch(field, "scroll_x", self.redraw_carets, init=False)
            field.disable_messages(Input.Changed)  # the watcher of `value` replaces the message
        return fields

    def update_field_text(self, name: str, value: str) -> None:
        """Replace the text of a field in the question, and redraw the screen."""
        for field in self.query(f"#field-{name}"):
            if required_width(field) != field.size.width:
                self.query_one(FieldPanel).rearrange()
        if self.state.question.texts.get(name, "") != value:
            self.state.change_question(self.state.question.with_text(name, value), name)
            self.schedule_draw()

    def redraw_carets(self) -> None:
        """Redraw the carets below invalid characters after a field was scrolled."""
        if self.state.result.problem is not None:
            self.schedule_draw()

    @on(widgets.TextField.CodePasted)
    async def open_pasted_code(self, event: widgets.TextField.CodePasted) -> None:
        """Open a pasted line of code as a chain on the current input."""
        try:
            question, notes = chain_from_code(event.text, self.state.question)
        except ShapeError as error:
            self.notify(
                escape_unprintable(str(error.problem)), title="not read as code", severity="error", markup=False
            )
            return
        await self.open_question(question)
        self.notify(escape_unprintable("; ".join(notes)), title="the code as a chain", markup=False, timeout=3)

    def on_paste(self, event: events.Paste) -> None:
        """Paste into the first field if no field has the focus."""
        field = self.query(widgets.TextField).first()
        if not isinstance(self.focused, widgets.TextField) and field.focusable and event.control is not field:
            field.focus()
            field.post_message(events.Paste(event.text))

    @on(Input.Submitted)
    def focus_next_field(self, event: Input.Submitted) -> None:
        """Focus the next field, or no field after the last one."""
        fields = [*self.query(widgets.Field)]
        following = fields[fields.index(event.input) + 1 :] if event.input in fields else []
        self.set_focus(following[0]) if following else self.action_leave_field()

    @on(widgets.Field.LetterPressed)
    async def run_letter_command(self, event: widgets.Field.LetterPressed) -> None:
        """Leave the field, and run the command of the letter."""
        self.action_leave_field()
        self.app.simulate_key(event.letter)

    def action_leave_field(self) -> None:
        """Remove the focus from the field, the blank or the panel."""
        self.set_focus(None)
        self._update_focus()

    def action_edit(self, character: str = "") -> None:
        """Focus the field that was edited last.

        A non-empty `character` replaces the text of the field.
        """
        name = self._last_field if self._last_field in self.state.question.fields else "input"
        field = self.query_one(f"#field-{name}", widgets.Field)
        self.set_focus(field)
        if character:
            field.value = character
        field.cursor_position = len(field.value)

    def action_focus_part(self, direction: int) -> None:
        """Focus the next or the previous field or panel.

        Between the last and the first of them, no widget has the focus.
        """
        parts: list[Widget | None] = [*self.query(widgets.Field), None]
        parts += [panel for panel in self.query(Panel) if panel.can_focus and self._can_focus(panel)]
        index = parts.index(self.focused) if self.focused in parts else parts.index(None)
        self.set_focus(parts[(index + direction) % len(parts)])
        self._update_focus()

    def _can_focus(self, panel: Panel) -> bool:
        return panel.id != "elements" or self.state.is_offered("elements")

    @on(widgets.MetadataClicked)
    async def handle_click(self, event: widgets.MetadataClicked) -> None:
        """Handle a click on a dim, a step, a key or an element."""
        if event.kind == "key":
            await self.run_action(str(event.value))
        elif event.kind == "step":
            self.state.go_to_step(int(str(event.value)))
        elif event.kind == "cell":
            self.state.cursor = event.value  # type: ignore[assignment]
        else:
            self.state.toggle_highlight(event.value)  # type: ignore[arg-type]
        self.schedule_draw()

    def on_resize(self, event: events.Resize) -> None:
        """Redraw for the new size, or report that the terminal is too small."""
        small = widgets.SizeNotice.is_needed(event.size)
        if small and not self.has_class("-small"):
            self._focus_before_resize = self.focused
        self.set_class(small, "-small")
        if not small and self.focused is None and self._focus_before_resize is not None:
            self.call_after_refresh(self._focus_before_resize.focus)
        self.schedule_draw()

    def on_screen_suspend(self) -> None:
        """Clear the line of keys, because a dialog receives all keys."""
        self._set_text("keys", Text())

    def on_screen_resume(self) -> None:
        """Redraw the screen, because a lesson or a film may have changed the score."""
        self.schedule_draw()

    def on_descendant_focus(self) -> None:
        """Resolve the question again when the focus changes."""
        self._update_focus()

    def _update_focus(self) -> None:
        """Resolve the question for the focused field.

        An incomplete text is an error, unless its field has the focus.
        """
        field = self.focused if isinstance(self.focused, widgets.Field) else None
        if field is not None:
            self._last_field = field.field_name
        self.state.shows_grid = getattr(self.focused, "id", None) == "elements"
        self.state.shows_mistake = self.state.shows_mistake and self.state.shows_grid
        self.state.change_question(self.state.question, None if field is None else field.field_name)
        self.schedule_draw()

    @property
    def _back_key(self) -> widgets.Key | None:
        """The key that returns to the lesson, the code or the start screen, or None."""
        if self._lesson_id:
            return widgets.LESSON_KEY
        if self._source is not None:
            return widgets.SOURCE_KEY
        return widgets.HOME_KEY if self.has_home else None

    @property
    def is_typing(self) -> bool:
        """Whether printable keys are typed into a field, a blank or a question."""
        if self.focused is not None and self.focused.id == "map":
            return self.state.is_awaiting_input or self.state.must_predict_validity
        return isinstance(self.focused, Input)

    def on_key(self, event: events.Key) -> None:
        """Handle a key press while no field has the focus."""
        focused = getattr(self.focused, "id", None)
        # a character that was typed before the field had the focus
        if isinstance(self.focused, Input) and event.is_printable:
            self.focused.insert_text_at_cursor(event.character or "")
            event.prevent_default()
            return
        if event.key == "escape":
            acted = True
            if self.focused is None and self.state.highlighted is None and self._back_key:
                self.call_next(self.run_action, self._back_key.action)
            self.state.toggle_highlight(None)
            self.action_leave_field()
        elif focused == "elements":
            acted = self._handle_elements_key(event)
        elif focused == "map":
            acted = self._handle_map_key(event)
        else:
            acted = self._handle_unfocused_key(event)
        if acted:
            self.schedule_draw()
            event.stop()
            event.prevent_default()

    def idle_reason(self, key: str) -> str:
        """Return why a key of this screen has no effect in the current state."""
        action = next((known.action for known in (*self.keys, *widgets.GLOBAL_KEYS) if known.name == key), "")
        if not self.is_typing or (action and key.startswith("ctrl+")):
            return self.state.unavailable_reason(action)
        if self.state.must_predict_validity:
            return "y means that the request works, n that it is refused"
        return "esc leaves the field, and the letters are then commands"

    def _handle_elements_key(self, event: events.Key) -> bool:
        """Handle a key press in the elements panel.

        Returns whether the key has an effect.
        """
        state = self.state
        is_index = event.key == "backspace" or (event.character or " ") in INDEX_CHARACTERS
        if is_index:
            state.type_index("\b" if event.key == "backspace" else str(event.character))
            return True
        state.typed_index = ""
        if event.key in ARROW_MOVES:
            first = explore_text.first_visible_tensor(state, self.query_one("#elements", Panel).size.width)
            state.move_cursor(event.key, first)
        elif event.key == widgets.MISTAKE_KEY_NAME:
            self.action_mistake()
        elif event.key in ("home", "end"):
            state.go_to_step(0 if event.key == "home" else state.end_step)
        else:
            return False
        return True

    def _handle_map_key(self, event: events.Key) -> bool:
        """Handle a key press in the map.

        Returns whether the key has an effect.
        """
        state = self.state
        if event.key in ("left", "right", "enter") and self._is_map_complete:
            self.action_leave_field()
            state.advance(-1 if event.key == "left" else 1)
        elif event.key in ARROW_MOVES:
            state.highlight_neighbor(event.key)
        elif event.key == "enter":
            state.submit_prediction()
        elif event.key == "backspace" or (event.character and state.is_accepted_char(event.character)):
            state.type_char("\b" if event.key == "backspace" else str(event.character))
        else:
            return False
        return True

    @property
    def _is_map_complete(self) -> bool:
        """Whether the user has predicted every dim; the map then needs no keys of its own."""
        state = self.state
        return state.is_learning and not (self.is_typing or state.open_blanks)

    def _handle_unfocused_key(self, event: events.Key) -> bool:
        """Handle a key press while no widget has the focus.

        Returns whether the key has an effect.
        """
        if self.focused is not None:
            return False
        # a key binding would run only after the characters that follow
        if event.key == self._edit_key:
            self.action_edit()
        elif event.key == "enter":
            self.run_worker(self._apply_fix_or_advance(), exclusive=True)
        elif event.character and event.character in EDIT_CHARACTERS:
            self.action_edit(event.character)
        elif event.key in "yn" and self.state.must_predict_validity:
            self.state.type_char(event.key)
            self.focus_initial_widget()
        else:
            return False
        return True

    async def _apply_fix_or_advance(self) -> None:
        """Apply the fix of a refused request; for a valid request, go to the next step."""
        if self.state.result.problem is not None and self.state.is_available("fix"):
            await self.action_fix()
        elif self.state.is_learning or self.state.is_available("step(1)"):
            self.state.submit_prediction()
            self.schedule_draw()
        else:
            self.notify_idle_key("enter", self.state.unavailable_reason("step(1)"))

    async def action_key(self, index: int) -> None:
        """Run the action of the key at `index` in the key table, or notify the user why it has no effect."""
        key = self.keys[index]
        if reason := self.state.unavailable_reason(key.action):
            self.notify_idle_key(key.display, reason)
        else:
            await self.run_action(key.action)

    def action_step(self, offset: int) -> None:
        """Go to the previous or the next step, or reveal the hidden dims of this step."""
        self.state.advance(offset)
        self.schedule_draw()

    def action_go(self, step: int) -> None:
        """Go to a step; a negative index means after the last step."""
        self.state.go_to_step(self.state.end_step if step < 0 else step)
        self.schedule_draw()

    def action_elements(self) -> None:
        """Focus the elements panel, or remove its focus."""
        if self.state.shows_grid:
            self.action_leave_field()
        elif self._require_visible_answer() is not None:
            self.query_one("#elements").display = True
            self.set_focus(self.query_one("#elements"))

    def action_dim(self, direction: str) -> None:
        """Highlight the adjacent dim of the map in a direction, with its sources."""
        self.state.highlight_neighbor(direction)
        self.schedule_draw()

    def action_tint(self) -> None:
        """Colour the elements by their index along the next axis of the input."""
        self.state.tint_next_axis()
        self.schedule_draw()

    def action_mistake(self) -> None:
        """Show or hide the elements that result from a mistake of equal shape."""
        if self.state.same_shape_mistake is None:
            return
        self.state.shows_mistake = not self.state.shows_mistake
        if not self.state.shows_grid:
            self.action_elements()
        self.schedule_draw()

    @property
    def is_learning(self) -> bool:
        """Whether the user predicts dims before they are shown."""
        return self.state.is_learning

    def toggle_learning(self) -> None:
        """Turn learning mode on or off while the start screen is open."""
        self.state.toggle_learning()
        self.schedule_draw()

    def action_mode(self) -> None:
        """Turn learning mode on or off."""
        self.state.toggle_learning()
        self.focus_initial_widget()
        self._update_focus()

    async def action_undo(self) -> None:
        """Undo the last change of the question."""
        self.state.undo_or_redo(back=True)
        await self._show_fields()

    async def action_redo(self) -> None:
        """Redo the last undone change of the question."""
        self.state.undo_or_redo(back=False)
        await self._show_fields()

    async def action_fix(self) -> None:
        """Apply the suggested fix to the question."""
        await self.open_question(self.state.apply_fix())

    def action_hint(self) -> None:
        """Show a hint for the dim to predict."""
        self.state.submit_prediction()
        self.schedule_draw()

    def action_copy(self) -> None:
        """Copy the command line of the question to the clipboard."""
        widgets.copy_text(self, question_command(self.state.question, self.state.result.answer))

    def action_share(self) -> None:
        """Copy a command line that reopens the current question and step."""
        widgets.copy_text(self, explore_text.reopening_command(self.state))

    def action_theme(self) -> None:
        """Switch to the next theme."""
        self.app.theme = next_theme(self.app.theme)

    def action_done(self) -> None:
        """Exit with the result of the question.

        `shapecalc tui` prints the result.
        """
        self.app.exit(self.state.result)

    async def open_question(self, question: Question) -> None:
        """Replace the question, and update the fields and the screen.

        `QuestionShown` is posted for the previous question first.
        """
        if self.state.result.answer is not None:
            line = question_command(self.state.question, self.state.result.answer)
            self.post_message(self.QuestionShown(line, self.state.current_step, self.state.is_learning, is_final=True))
        self.state.change_question(question)
        await self._show_fields()

    async def _show_fields(self) -> None:
        """Show the question in the fields.

        If the op has other parameters, the fields are replaced.
        """
        question, shown = self.state.question, {field.field_name: field for field in self.query(widgets.Field)}
        if (*shown,) == question.fields:
            for name, field in shown.items():
                field.value = question.texts.get(name, "")
            self.schedule_draw()
            return
        for fields in self.query(FieldPanel):  # while the app closes, there is no field panel
            is_focused = isinstance(self.focused, widgets.Field)
            await fields.replace_fields(self._make_fields())
            if is_focused:
                self.query(Input).first().focus()
            self.schedule_draw()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether an action has an effect in the current state."""
        if action == "key":
            key = self.keys[int(str(parameters[0]))]
            is_taken = self.is_typing or (self.focused is not None and key.name in PANEL_ARROWS)
            return not is_taken and (
                self.state.is_available(key.action) or bool(self.state.unavailable_reason(key.action))
            )
        full = f"{action}({parameters[0]})" if action in ("step", "go") else action
        return self.state.is_available(full)

    @on(widgets.TextField.ErrorPasted)
    def show_diagnosis(self, event: widgets.TextField.ErrorPasted) -> None:
        """Show the diagnosis of a pasted error message."""
        self.app.push_screen(DoctorScreen(event.diagnosis), self._open_optional_question)

    def action_choose(self, setting: str = "") -> None:
        """Open the settings dialog, with the focus on the field of `setting`."""
        hidden = explore_text.hidden_answer_text(self.state)
        self.app.push_screen(SettingsDialog(self.state.question, setting, hidden), self._open_optional_question)

    def action_files(self) -> None:
        """Open the dialog that selects an array file as the input."""
        if can_open_files():
            self.app.push_screen(FilesDialog("."), self._open_file)
        else:
            self.notify(FILES_DISABLED_MESSAGE, markup=False)

    async def _open_file(self, path: str | None) -> None:
        if path is not None:
            await self.open_question(self.state.question.with_text("input", path))

    def action_compare(self) -> None:
        """Open the comparison of all dialects, unless the answer is hidden."""
        if self.state.result.answer is None or self._require_visible_answer() is not None:
            self.app.push_screen(CompareDialog(self.state.question), self._open_comparison_row)

    def action_equiv(self) -> None:
        """Open the comparison with a second chain, unless the answer is hidden."""
        if (answer := self._require_visible_answer()) is not None:
            # all dialogs are imported where they are opened, because they take a third of the app's start time
            from shapecalc.tui.chains import EquivDialog

            self.app.push_screen(EquivDialog(answer, self.state.question.second_chain), self._store_second_chain)

    def action_cut(self) -> None:
        """Open the dialog that cuts the elements of the input."""
        if (answer := self._require_visible_answer()) is not None:
            from shapecalc.tui.cut import CutDialog

            self.app.push_screen(CutDialog(tuple(map(int, map(str, answer.input)))), self._open_optional_question)

    def on_mouse_scroll_down(self) -> None:
        """Go to the next step, unless it is hidden until the user predicts a dim."""
        if self.state.is_available("step(1)") and not (
            self.state.must_predict_validity or self.state.is_awaiting_input
        ):
            self.action_step(1)

    def on_mouse_scroll_up(self) -> None:
        """Go to the previous step."""
        if self.state.is_available("step(-1)"):
            self.action_step(-1)

    def action_simplify(self) -> None:
        """Open the simplification of the answer, unless the answer is hidden."""
        if (answer := self._require_visible_answer()) is not None:
            from shapecalc.tui.chains import SimplifyDialog

            self.app.push_screen(SimplifyDialog(answer), self._open_simplified_chain)

    def _require_visible_answer(self) -> Trace | Chain | None:
        """Return the answer, or notify the user and return None if it is hidden."""
        if self.state.is_answer_hidden:
            self.notify(explore_text.HIDDEN_ANSWER_WARNING, markup=False)
        return None if self.state.is_answer_hidden else self.state.answer

    def action_film(self) -> None:
        """Play the film of the answer from the current step.

        The film asks for the dims that are still hidden.
        """
        state = self.state
        answer = self._require_visible_answer() if state.must_predict_validity else state.answer
        if answer is not None and len(answer.stages) > MAX_FILM_STAGES:
            self.notify(MAX_FILM_STAGES.message(f"{len(answer.stages)} stages to film"), severity="warning")
        elif answer is not None:
            from shapecalc.tui.film import FilmScreen

            hidden = {state.predictions.cells[blank].step_index for blank in state.blanks}
            self.app.push_screen(
                FilmScreen(answer, None if state.is_complete else state.current_step, hidden, state.score)
            )

    def action_save(self, kind: str) -> None:
        """Save a film of the answer or a picture of the current step.

        `kind` is "film" or "picture". In a browser, the file is downloaded.
        """
        if (answer := self._require_visible_answer()) is not None:
            save_answer(
                self.app,
                kind,
                answer,
                None if self.state.current_step >= self.state.end_step else self.state.current_step + 1,
            )

    def action_save_picture(self) -> None:
        """Save a picture of the current step."""
        self.action_save("picture")

    def action_home(self) -> None:
        """Open the start screen."""
        from shapecalc.tui.home import HomeScreen  # imported here, because Textual's text area takes 30 ms

        self.has_home = True
        self.app.push_screen(HomeScreen(self, self.app.user_file.questions))  # type: ignore[attr-defined]

    async def open_from_home(self, question: Question) -> None:
        """Close the start screen, and open a question at its first step."""
        self._lesson_id, self._source = "", None
        self.close_screens_above()
        await self.open_question(question)
        if self.state.result.problem is None or self.state.is_learning:  # a refusal is shown at once
            self.state.go_to_step(0)
        empty = [field for field in self.query(widgets.Field) if not field.value]
        if empty and (question.is_chain or self.state.result.answer is None):
            self.set_focus(empty[0])
        else:
            self.focus_initial_widget()
        self.schedule_draw()

    async def open_command(self, command: AppCommand) -> None:
        """Close the start screen, and run the command that the user typed."""
        if command.question is not None:
            await self.open_from_home(command.question)
            if command.question.second_chain:
                self.action_equiv()
        elif command.kind == MESSAGE:
            from shapecalc.diagnosis.report import diagnose

            self.app.push_screen(DoctorScreen(diagnose(command.content)), self._open_from_dialog)
        elif command.kind == DRILL:
            self.action_drill(" ".join(command.words[1:]) or ALL)
        elif command.kind == LESSONS:
            self.action_lesson_list()
        elif command.kind == COURSE:
            self.action_course()
        elif command.kind == CODE:
            from shapecalc.tui.source import read_source

            try:
                self._source = read_source(command)
            except ShapeError as error:
                self.notify(escape_unprintable(error.problem.message), severity="error", markup=False)
            else:
                self.action_source()

    def action_source(self) -> None:
        """Open the screen of the source code."""
        if self._source is not None:
            from shapecalc.tui.source import SourceScreen

            self.app.push_screen(SourceScreen(self, self._source))

    async def open_line_question(self, question: Question, state: SourceState) -> None:
        """Close the screen of the source code, and open the chain of a line."""
        await self.open_from_home(question)
        if self.state.answer is not None:
            self.state.go_to_step(stage_layouts(self.state.answer)[-1].step_range.start)
        self._source = state
        self.schedule_draw()

    def close_source(self) -> None:
        """Close the screen of the source code."""
        self._source = None
        self.app.pop_screen()
        if self.has_home and self.app.screen is self:
            self.action_home()

    async def _open_from_dialog(self, question: Question | None) -> None:
        """Open the question that a dialog returned, if any, at its first step."""
        if question is not None:
            await self.open_from_home(question)

    def close_screens_above(self) -> None:
        """Close all screens over this one."""
        while self.app.screen is not self:
            self.app.pop_screen()

    def action_course(self) -> None:
        """Open the introductory course."""
        self.course = Course(load_path_lessons(), is_path=True)
        self.action_lessons()

    def action_lesson_list(self) -> None:
        """Open the list of all lessons, or of the lessons in the user's file."""
        self.course = None if self.course and self.course.is_path else self.course
        self.action_lessons()

    def action_lessons(self) -> None:
        """Open the lessons."""
        screen = LessonsScreen(self.progress, self.course, self._lesson_id)

        async def open_lesson_question(question: Question | None) -> None:
            self._lesson_id = screen.lesson.id if screen.lesson and question else ""
            if self.course and self.course.is_path and question is None:
                self.course = None
            if question is not None:
                self.close_screens_above()
                await self.open_question(question)
                self.focus_initial_widget()
            elif screen.is_finished:
                await self.open_from_home(EXAMPLE_QUESTION)
            elif self.has_home and self.app.screen is self:
                self.action_home()

        self.app.push_screen(screen, open_lesson_question)

    def action_drill(self, topics: str = ALL) -> None:
        """Open exercises on some topics, by default on all of them."""
        self.app.push_screen(DrillScreen(topics, self.progress), self._open_from_dialog)

    def action_code(self) -> None:
        """Show the answer as code for a framework."""
        if (answer := self._require_visible_answer()) is not None:
            self.app.push_screen(CodeScreen(answer))

    def help(self) -> tuple[str, list[tuple[str, str]]]:
        """Return the help for the focused widget, and the help for the keys."""
        about = widget_help(str(self.focused.id) if self.focused else "", self.state.question.op)
        entered, keys = list[widgets.Key](), [*self.keys, *widgets.GLOBAL_KEYS]
        # a focused panel uses the arrow keys itself
        if self.focused is not None and not isinstance(self.focused, Input):
            entered = [widgets.FOLLOW_KEY if self.focused.id == "elements" else widgets.DIM_KEY]
            keys = [key for key in keys if key.name not in PANEL_ARROWS]
        return about, [*((key.display, key.help) for key in (*entered, *keys)), *EXTRA_KEYS]

    async def _open_optional_question(self, question: Question | None) -> None:
        """Open the question that a dialog returned, if any."""
        if question is not None:
            await self.open_question(question)

    async def _open_simplified_chain(self, text: str | None) -> None:
        """Open a simplified chain, and keep the second chain of the question."""
        if text is not None:
            await self.open_question(
                replace(question_from_words([CHAIN, text]), second_chain=self.state.question.second_chain)
            )

    def _store_second_chain(self, text: str | None) -> None:
        self.state.question = replace(self.state.question, second_chain=text or "")

    async def _open_comparison_row(self, question: Question | None) -> None:
        """Open a dialect's question at the first step that differs from this answer."""
        before = self.state.answer
        if question is None:
            return
        await self.open_question(question)
        if before is not None and self.state.answer is not None:
            self.state.go_to_step(first_differing_step(before, self.state.answer))
            self.schedule_draw()

    def schedule_draw(self) -> None:
        """Draw the screen now or, if it was drawn recently, after the pending events."""
        if not self._is_draw_scheduled:
            self._is_draw_scheduled = True
            is_idle = monotonic() - self._last_draw > IDLE_SECONDS
            self.draw() if is_idle and self.is_attached else self.call_after_refresh(self.draw)

    def draw(self) -> None:
        """Draw the screen from the state."""
        self._is_draw_scheduled = False
        if not self.is_attached or self.has_class("-small"):
            return
        state, width = self.state, self._main_width
        line = question_command(state.question, state.result.answer)
        self._draw_question()
        self._set_text("reason", explore_text.problem_and_fix_text(state, width, self._fix_key, self._accent))
        self._set_text("command", Text(escape_unprintable(f"$ {line}"), no_wrap=True, overflow="ellipsis"))
        self._draw_panels(width)
        self._set_text("keys", self._key_line(self.app.size.width - 2) if self.app.screen is self else Text())
        self.set_class(state.result.answer is None, "-stale")
        if state.result.answer is not None:
            self.app.post_message(self.QuestionShown(line, state.current_step, state.is_learning))
        self._last_draw = monotonic()

    @property
    def _is_wide(self) -> bool:
        """Whether the screen has a column with the steps and the signs."""
        size = self.app.size
        is_large = size.width >= side.MIN_WIDE_WIDTH and size.height >= side.MIN_WIDE_LINES
        return is_large and not self.state.is_learning

    @property
    def _main_width(self) -> int:
        """The width of the panels that are not in the column, without borders."""
        return self.app.size.width - 2 - side.COLUMN_WIDTH * self._is_wide

    @property
    def _accent(self) -> str:
        """The style of the answer and of the fix."""
        return f"bold {self.app.theme_variables.get('accent', '')}".rstrip()

    @property
    def _fix_key(self) -> str:
        """The keys that apply the fix while the current widget has the focus.

        A key without a modifier would be typed into a field.
        """
        key = next(key.display for key in self.keys if key.action == "fix")
        return f"esc {key}" if self.is_typing else key

    def _draw_question(self) -> None:
        """Draw the title of the question, and carets below invalid characters."""
        state, panel = self.state, self.query_one(FieldPanel)
        title = explore_text.question_title(state.question, state.result, is_learning=state.is_learning)
        panel.set_titles(title, str(state.score))
        hides = state.result.answer is not None and state.must_predict_validity
        shows = state.result.problem is not None and not state.result.is_incomplete and not hides
        span = find_invalid_text(state.question, state.result) if shows else None
        fields = self.query(f"#field-{span[0]}") if span else None
        if panel.carets.move_to_field(span[0] if span and fields else ""):
            panel.rearrange()
            self.call_after_refresh(self._draw_carets)
        if span and fields:
            self._draw_carets()

    def _draw_carets(self) -> None:
        span, panel = find_invalid_text(self.state.question, self.state.result), self.query_one(FieldPanel)
        for field in self.query(f"#field-{span[0]}").results(Input) if span else ():
            room = max(1, field.content_region.width)
            start = field.content_region.x - panel.content_region.x
            ends = [cell_len(field.value[:end]) - round(field.scroll_offset.x) for end in (span or (0, 0, 0))[1:]]
            left, right = (max(0, min(end, room)) for end in ends)
            left = min(left, room - 1)
            marks = explore_text.CARET * max(1, right - left)
            panel.carets.set_text(Text(" " * (start + left)).append(marks, BOLD_ERROR))

    def _key_line(self, width: int) -> Text:
        """Return a line of the keys that have an effect with the current focus."""
        state, focused = self.state, getattr(self.focused, "id", None)
        if isinstance(self.focused, Input):
            keys: tuple[widgets.Key, ...] = widgets.FIELD_KEYS
        elif self.is_typing:
            keys = (
                *((widgets.YES_NO_KEY,) if state.must_predict_validity else widgets.HINT_KEYS),
                *widgets.LEARNING_KEYS,
            )
        elif focused == "map" and self._is_map_complete:
            keys = (widgets.STEP_KEY, *widgets.PANEL_KEYS)
        elif focused is not None:
            mistake = (widgets.MISTAKE_KEY,) if focused == "elements" and state.same_shape_mistake else ()
            keys = ((widgets.FOLLOW_KEY if focused == "elements" else widgets.DIM_KEY), *mistake, *widgets.PANEL_KEYS)
        else:
            both = state.is_available("step(1)") and state.is_available("step(-1)")
            shown = [key for key in self.keys if not key.action.startswith("dim(")]
            back = (self._back_key,) if self._back_key and state.highlighted is None else ()
            if back and width < MIN_QUIT_WIDTH:  # Esc returns to a screen that shows the quit key itself
                shown = [key for key in shown if key.action != "app.quit"]
            keys = (*((widgets.STEP_KEY, *shown[2:]) if both else shown), widgets.DIM_STEP_KEY, *back)
            works = frozenset(key.action for key in keys if state.is_offered(key.action))
            return widgets.format_key_line(works, width, keys)
        works = frozenset(key.action for key in keys if state.is_available(key.action))
        return widgets.format_key_line(works, width, keys)

    def _draw_panels(self, width: int) -> None:
        """Set the heights of all panels, and draw the panels."""
        state, height, accent = self.state, self.app.size.height, self._accent
        text_width = width - BORDER_LINES * self._is_wide  # on a wide screen, the answer has a frame
        card = explore_text.reason_lines(state, text_width)
        self._question_lines = self._question_height(self.app.size.width - 4)
        fixed = BORDER_LINES + self._question_lines + 1
        fixed += len(self.query_one("#reason", widgets.ClickableText).text.plain.splitlines())
        answer_lines = explore_text.answer_lines(state, text_width, accent, omits_repetition=True)
        card_lines = explore_text.answer_lines(state, text_width, accent, card, omits_repetition=True)
        plan, lines = self._plan_heights(width, height - fixed, len(answer_lines), len(card_lines))
        if not plan.step:
            answer_lines = explore_text.answer_lines(state, text_width, accent)
            plan, lines = self._plan_heights(width, height - fixed, len(answer_lines), len(card_lines))
        has_card = plan.card and not (
            state.shows_grid and not plan.elements
        )  # the tables of a large tensor use the lines of the reasons
        shown = card_lines if has_card else answer_lines
        blank_lines = height - fixed - lines + (plan.card if has_card else 0) - len(shown)
        is_refused = state.result.problem is not None and not state.must_predict_validity
        self.query_one("#answer").set_class(is_refused, "-refused")
        self._set_text("answer", stack_texts([*shown, *[Text(end="")] * blank_lines]))
        self._apply_panel_heights(plan, lines)
        self._draw_side_panels()
        self._draw_titles()
        draw_map, draw_step = partial(explore_text.map_text, state), partial(explore_text.step_text, state)
        room = lines - BORDER_LINES
        self.query_one("#map", Panel).set_drawing(draw_map, room if self._heights.map <= plan.map else 0)
        extend = partial(explore_text.add_step_list, state) if state.is_learning or not self._is_wide else None
        self.query_one("#step", Panel).set_drawing(draw_step, room if self._heights.step <= plan.step else 0, extend)
        self.query_one("#elements", Panel).set_renderer(self._elements_text)
        if self._is_wide:
            self.call_after_refresh(self._update_signs)

    def _plan_heights(self, width: int, free: int, answer_lines: int, card_lines: int) -> tuple[PanelHeights, int]:
        """Return the height of each panel, and the total height of the panels.

        `free` is the number of lines for the panels and the answer. All steps of a question have the same heights,
        unless a panel could be larger at the current step.
        """
        state = self.state
        found = self._shared_heights.find(state, width, free)
        if found is not None and self._is_wide:  # on a wide screen, the shared heights fit at every step
            found = found[0], found[0]
            answer_lines, card_lines = max(answer_lines, found[0].answer), max(card_lines, found[0].card)
        lines = max(MIN_PANEL_LINES, free - answer_lines)
        settled, self._heights = found or (measure_pictures(state, width, lines),) * 2
        needs = self._required_heights(width, lines, self._heights, card_lines - answer_lines)
        plan = allocate_panel_heights(lines, needs)
        if found is None or state.shows_grid:
            return plan, lines
        settled_lines = min(lines, free - settled.answer)
        for shorter in (0, needs.command):  # if necessary, the command line uses the last line of the step
            changes = settled.shorten(shorter)
            if needs.card:
                changes["card"] = max(0, card_lines - (free - settled_lines))
            shared = allocate_panel_heights(settled_lines, replace(needs, **changes))
            if not has_smaller_panel(shared, plan, needs):
                blank_lines = min(shared.spare, max(0, settled.card - card_lines)) if shared.card else 0
                spare, card = shared.spare - blank_lines, shared.card + blank_lines
                return replace(shared, spare=spare, card=card), settled_lines
        return plan, lines

    def _question_height(self, width: int) -> int:
        """Return the height of the fields and their carets, in lines."""
        return count_rows(self.query(widgets.Field), width) + self.query_one(FieldPanel).carets.display

    def _required_heights(self, width: int, lines: int, pictures: PictureHeights, card_lines: int) -> RequiredHeights:
        """Return the height that each panel needs at a width."""
        inner = width - 2
        compares = self._can_compare_dialects()
        used = max(pictures.map, pictures.step) if pictures.is_beside else pictures.map + pictures.step
        used += card_lines + 1 + (COMPARE_LINES if compares else 0)
        elements, every = self._measure_elements(inner, lines, lines - used)
        return RequiredHeights(
            map=pictures.map,
            step=pictures.step,
            card=card_lines,
            elements=elements,
            all_elements=every,
            compare=self._comparison_height(inner) if compares else 0,
            whole_compare=len(self._comparison_lines(inner, "wrapped")) + BORDER_LINES,
            listed_compare=len(self._comparison_lines(inner, "listed")) + BORDER_LINES if lines > WIDE_LINES else 0,
            is_beside=pictures.is_beside,
        )

    def _measure_elements(self, width: int, lines: int, free: int) -> tuple[int, int]:
        """Return the height that the elements panel needs, and the height that it can use.

        The second height applies if all panels fit. `lines` is the total height of all panels, and `free` is the height
        that the other panels do not use.
        """
        if self.state.shows_grid:
            drawn = self._elements_text(width, lines - GRID_MARGIN - BORDER_LINES)
            return _framed_height(drawn), 0
        tapes, self._awaits_grid = self._elements_text(width, 0), False
        self._has_tapes = bool(tapes)
        if tapes:
            high = lines if lines > MIN_ELEMENTS_LINES else tapes.plain.count("\n") + 4
            return _framed_height(tapes), _framed_height(self._tapes_text(width, high, is_whole=True))
        if self.state.result.problem is not None:
            rows = explore_text.uneven_rows_text(self.state, width) if self._can_draw_refusal(lines) else Text(end="")
            return 0, _framed_height(rows)
        has_grid = not self.state.is_answer_hidden and self.state.is_available("elements")
        if not has_grid or lines <= MIN_ELEMENTS_LINES or free < MIN_GRID_LINES:
            return 0, 0
        self._awaits_grid = self._paused_question != self.state.question
        return 0, _framed_height(self._draw_grid_after_pause(width, min(free, MAX_GRID_LINES) - BORDER_LINES))

    def _can_draw_refusal(self, lines: int) -> bool:
        """Return whether the elements of a refused reshape may be drawn.

        The screen must be high enough, and the refusal must not be hidden.
        """
        return lines > MIN_ELEMENTS_LINES and not self.state.must_predict_validity

    def _draw_grid_after_pause(self, width: int, height: int) -> Text:
        """Draw the elements of a large tensor at every stage, when the user pauses.

        Drawing many elements takes long. Until the pause, the text is blank, with the height of the last drawing.
        """
        state = self.state
        first = explore_text.first_visible_tensor(state, width)
        key = (state.question, state.cursor, state.tinted_axis, first, width)
        if self._grid[0] != key and self._paused_question == state.question:
            self._grid = key, explore_text.grid_text(state, width, height)
        if self._grid[0] == key and self._grid[1].plain.count("\n") < height:
            return self._grid[1]
        return Text("\n" * min(height - 1, self._grid[1].plain.count("\n")))

    def _apply_panel_heights(self, plan: PanelHeights, lines: int) -> None:
        """Set the heights of all panels.

        If space is short, a focused elements panel replaces the map and the step, and a focused step replaces the map.
        """
        enters = self.state.shows_grid and not plan.elements
        shows_step = getattr(self.focused, "id", None) == "step" and not plan.step
        middle = self.query_one("#middle")
        middle.set_class(plan.is_beside, "-beside")
        self.query_one("#step", Panel).can_focus = not plan.step
        spare = self._place_command(plan, is_hidden=enters)
        spare -= self._place_side_panels(plan, spare, is_hidden=enters)
        elements = lines - GRID_MARGIN if enters else plan.elements + spare * bool(plan.elements)
        spare = 0 if enters or plan.elements else spare
        map_lines, step_lines = plan.map + spare * plan.is_beside, plan.step and plan.step + spare
        map_lines += spare * (not plan.step and not plan.is_beside)
        set_widget_height(middle, 0 if enters else map_lines if plan.is_beside else map_lines + step_lines)
        self.query_one("#map", Panel).set_height(0 if shows_step else map_lines)
        self.query_one("#step", Panel).set_height(map_lines if shows_step else step_lines)
        self.query_one("#elements", Panel).set_height(elements)
        if self._awaits_grid or self._is_side_outdated():
            if self._compare_timer is not None:
                self._compare_timer.stop()
            self._compare_timer = self.set_timer(COMPARE_SECONDS, self._compare_dialects)

    def _place_command(self, plan: PanelHeights, *, is_hidden: bool) -> int:
        """Show or hide the command line, and return the number of spare lines that remain.

        With spare lines, the answer has a frame and precedes the map. Other spare lines are used between the reasons
        and the panels below.
        """
        spare = plan.spare if plan.command and not is_hidden else 0
        reason, answer = (self.query_one(f"#{name}", widgets.ClickableText) for name in ("reason", "answer"))
        is_framed = spare >= BORDER_LINES
        if is_framed:
            is_framed = max(map(cell_len, answer.text.plain.split("\n"))) <= self._main_width - BORDER_LINES
        if is_framed != answer.has_class("-framed"):
            answer.set_class(is_framed, "-framed")
            main, middle, elements = (self.query_one(f"#{name}") for name in ("main", "middle", "elements"))
            main.move_child(answer, before=middle) if is_framed else main.move_child(answer, after=elements)
        spare -= BORDER_LINES * is_framed
        has_gap = bool(spare and reason.text.plain)
        reason.set_class(has_gap, "-apart")
        set_widget_height(self.query_one("#command"), 0 if is_hidden else plan.command)
        return spare - has_gap

    def _place_side_panels(self, plan: PanelHeights, spare: int, *, is_hidden: bool) -> int:
        """Set the heights of the side panels, and return the number of added lines.

        Side panels are below the answer or in the column of a wide screen. Two of them share the lines below the answer
        if there are enough lines.
        """
        state, lines = self.state, plan.compare + spare
        if self._main_width < side.MIN_PAIR_WIDTH or lines < side.MIN_SIDE_LINES:
            names, lines = SIDE_PANELS[: bool(plan.compare)], plan.compare
        else:
            has_code = state.is_offered("code") and (self._code[0] != state.question or bool(self._code[1]))
            names = tuple(compress(SIDE_PANELS, (plan.compare, has_code)))
            lines = lines if has_code else plan.compare
        names, lines = ((), 0) if is_hidden or not names else (names, lines)
        body = self.app.size.height - 1 - BORDER_LINES - self._question_lines - (0 if is_hidden else plan.command)
        heights = dict.fromkeys(names, lines)
        if self._is_wide:
            stages = 0 if state.answer is None or state.is_learning else len(stage_layouts(state.answer))
            steps = min(MAX_STEPS_LINES, state.end_step + stages + 1 + BORDER_LINES) if stages else 0
            heights |= {"steps": steps, "legend": body - steps}
        layout = body, lines, tuple(heights.items())
        if layout != self._side_layout:
            self._side_layout = layout
            self.query_one("#body").set_class(self._is_wide, "-wide")
            for name, own in (("body", body), ("main", body), ("side", lines), ("column", body * self._is_wide)):
                set_widget_height(self.query_one(f"#{name}"), own)
            for name in (*SIDE_PANELS, *COLUMN_PANELS):
                self.query_one(f"#{name}", Panel).set_height(heights.get(name, 0))
        return lines - plan.compare if lines else 0

    def _is_side_outdated(self) -> bool:
        """Return whether a visible side panel describes another question."""
        question, kept, names = self.state.question, self._comparison, dict(self._side_layout[2])
        return bool(
            (names.get("compare") and (kept is None or kept[0] != question))
            or (names.get("code") and self._code[0] != question)
            or (names.get("steps") and self._paused_question != question)
        )

    def _draw_side_panels(self) -> None:
        """Draw the visible panels below the answer and in the column."""
        for name, _ in self._side_layout[2]:
            renderer = self._side_renderer(name)
            if renderer is not None:
                self.query_one(f"#{name}", Panel).set_renderer(renderer)

    def _side_renderer(self, name: str) -> widgets.TextRenderer | None:
        """Return the function that draws a side panel, or None to keep the last drawing.

        The steps are drawn when the user pauses, because there are many.
        """
        state = self.state
        if name == "compare":
            return self._comparison_text
        if name == "code":
            return partial(side.code_text, self._code[1])
        if name == "steps":
            is_typing = self._paused_question != state.question
            return None if is_typing else partial(side.steps_text, state.answer, state.current_step)
        return None

    def _update_signs(self) -> None:
        """List the signs that occur in the drawn pictures, in the column of a wide screen.

        Their panel has no border, because a part of it is empty.
        """
        panels = [self.query_one(f"#{name}", Panel) for name in ("map", "step", "elements")]
        pictures = "\n".join(panel.text.plain for panel in panels if panel.display)
        self.query_one("#legend", Panel).set_renderer(partial(side.signs_text, pictures))

    def _draw_titles(self) -> None:
        state = self.state
        dims = "" if self.is_typing else widgets.DIM_KEYS
        self.query_one("#map", Panel).set_title(explore_text.map_title(state), dims)
        self.query_one("#step", Panel).set_title(explore_text.step_panel_title(state), "esc")
        keys = f"[{state.typed_index}_]" if state.typed_index else widgets.FOLLOW_KEYS
        title = explore_text.elements_title(state, has_tapes=self._has_tapes)
        self.query_one("#elements", Panel).set_title(title, keys)

    def _elements_text(self, width: int, height: int) -> Text:
        """Draw the elements before and after the current stage.

        If the panel has the focus, the elements at every stage are drawn.
        """
        state = self.state
        if state.result.problem is not None and height and not state.is_answer_hidden:
            return explore_text.uneven_rows_text(state, width)
        if state.is_answer_hidden or not (state.is_available("elements") or state.answer):
            return Text(end="")
        if state.shows_grid:
            key = (state.question, state.cursor, state.tinted_axis, state.current_step, state.shows_mistake, width)
            drawn_key, drawn_height, drawn = self._entered_grid
            if drawn_key != key or drawn_height < height or drawn.plain.count("\n") >= height:
                drawn = explore_text.elements_text(state, make_element_reader(state.result.source), width, height)
                self._entered_grid = key, height, drawn
            return drawn
        if height and not self._has_tapes:
            return self._draw_grid_after_pause(width, height)
        return self._tapes_text(width, height)

    def _tapes_text(self, width: int, height: int, *, is_whole: bool = False) -> Text:
        """Draw the tapes, or return the cached drawing if it fits the height.

        The heights of the panels depend on the cached drawing. If `is_whole` is True, all stages are drawn.
        """
        state = self.state
        is_whole = is_whole or explore_text.is_last_stage_shown(state)
        key = (
            id(state.answer),
            state.cursor,
            state.tinted_axis,
            state.current_step,
            state.is_complete,
            is_whole,
            width,
        )
        drawn_key, drawn_height, drawn = self._drawn_tapes
        if not height or drawn_key != key or drawn_height < height or drawn.plain.count("\n") >= height:
            drawn = explore_text.tapes_text(state, width, height, is_whole=is_whole)
            self._drawn_tapes = (key, height, drawn) if height else self._drawn_tapes
        return drawn

    def _comparison_height(self, width: int) -> int:
        """Return the height of the comparison panel, in lines."""
        if self._comparison is None:
            return COMPARE_LINES
        count = len(self._comparison_lines(width, "short"))
        return min(COMPARE_LINES, count + BORDER_LINES)

    def _can_compare_dialects(self) -> bool:
        """Return whether several dialects have the op, and no answer is hidden."""
        return self.state.is_offered("compare") and len(supporting_dialects(OPS[self.state.question.op])) > 1

    def _compare_dialects(self) -> None:
        """Compare the dialects, if the user has paused, and redraw."""
        question = self._paused_question = self.state.question
        self._awaits_grid = False
        if self._can_compare_dialects() and (self._comparison is None or self._comparison[0] != question):
            self._comparison = question, dialect_rows(question)
            self._compared_lines.clear()
        if self.state.is_offered("code") and "code" in dict(self._side_layout[2]):
            self._code = question, side.code_entries(self.state.result.answer)
        self.schedule_draw()

    def _comparison_text(self, width: int, height: int) -> Text:
        """Draw the last comparison in the most detailed form that fits.

        If a short form leaves lines, the beginning of a longer form is drawn instead.
        """
        for form in ("listed", "wrapped"):
            if len(lines := self._comparison_lines(width, form)) <= height:
                return stack_texts(lines)
        short = self._comparison_lines(width, "short")
        if len(short) + 1 < height:
            return stack_texts([*lines[: height - 1], Text("… c shows all of them", "dim")])
        return stack_texts(explore_text.limit_comparison(short, height))

    def _comparison_lines(self, width: int, form: explore_text.ComparisonForm) -> list[Text]:
        """Return the lines of the last comparison, and cache them."""
        rows, kept = self._comparison[1] if self._comparison else (), self._compared_lines
        if (width, form) not in kept:
            kept[width, form] = explore_text.comparison_lines(rows, width, form)
        return kept[width, form]

    def _set_text(self, name: str, text: Text) -> None:
        self.query_one(f"#{name}", widgets.ClickableText).set_text(text)

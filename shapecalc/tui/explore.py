"""The main screen: the question's fields, a flow diagram and a drawing of a step.

A step of an answer applies one rule, which determines a dim. The flow diagram has one column of dims per stage of the
answer. In learning mode, the user predicts dims before the app shows them; a hole is a dim that the user must predict.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from time import monotonic

from rich.cells import cell_len
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.limits import MAX_FILM_STAGES
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import replace
from shapecalc.core.text import escape_unprintable
from shapecalc.teaching.lessons import Course
from shapecalc.teaching.progress import Progress
from shapecalc.tui import explore_text, widgets
from shapecalc.tui.chains import Equiv, Simplify
from shapecalc.tui.dialogs import EXTRA_KEYS, CodeScreen, DoctorScreen, widget_help
from shapecalc.tui.files import FilesDialog, save_answer
from shapecalc.tui.film import FilmScreen
from shapecalc.tui.lessons import DrillScreen, Lessons
from shapecalc.tui.question import (
    CHAIN,
    FILES_DISABLED_MESSAGE,
    Question,
    chain_from_code,
    element_reader,
    find_invalid_text,
    may_open_files,
    question_command,
    question_from_words,
)
from shapecalc.tui.question_dialogs import ChooseDialog, CompareDialog
from shapecalc.tui.state import ARROW_MOVES, ExploreState, first_differing_step
from shapecalc.tui.themes import next_theme

IDLE_SECONDS = 0.05
"""The time since the last drawing, in seconds, after which the screen is drawn at once."""
RESERVED_LINES = 12
"""The number of screen lines that the flow diagram and the step drawing cannot use."""
BORDER_LINES = 2
"""The number of border lines in `RESERVED_LINES`; a short terminal shows no borders."""


class Explore(widgets.HelpScreen[None]):
    """The main screen, which answers the question after every key press."""

    BLANK = True
    AUTO_FOCUS = ""
    BINDINGS = [
        *(Binding(key.name, key.action, key.label, show=False, tooltip=key.help) for key in widgets.KEYS),
        Binding("slash", "app.command_palette", show=False),
    ]

    @dataclass
    class QuestionShown(Message):
        """A message posted after a question is displayed, and before it is replaced."""

        line: str
        """The command line of the question."""
        step: int
        """The index of the current step of the answer."""
        is_learning: bool
        """Whether the screen is in learning mode."""
        is_final: bool = False
        """Whether the question is about to be replaced."""

    def __init__(
        self, question: Question, step: int | None, progress: Progress | None, *, big: bool, learns: bool
    ) -> None:
        """Open a question at a step of its answer; None means after the last step.

        `big` enlarges the drawing of the step to the whole screen. `learns` selects learning mode.
        """
        super().__init__()
        self.progress = progress or Progress()
        self.state = ExploreState(question, step, is_learning=learns, score=self.progress.session_score)
        self.state.shows_big_step = big
        self.course: Course | None = None
        """The lessons from the user's own file; None for the built-in lessons."""
        self._lesson_id = ""
        """The id of the lesson from which the question was opened; empty if there is none."""
        self._is_draw_scheduled = False
        self._last_draw = 0.0
        self._focus_before_resize: Widget | None = None
        """The widget that had the focus when the terminal became too small."""

    def compose(self) -> ComposeResult:
        """Compose the widgets from top to bottom."""
        yield widgets.SizeNotice(id="enlarge")
        yield widgets.ClickableText("title", "choose")
        yield widgets.FieldRow(*self._make_fields())
        yield widgets.ClickableText("reason")
        yield widgets.FocusableText("flow")
        yield widgets.ClickableText("rail")
        yield widgets.Pane("picture")
        yield widgets.ClickableText("sentence", "fix")
        yield widgets.ClickableText("command", "copy")
        yield widgets.ClickableText("keys")

    def on_mount(self) -> None:
        """Focus the initial widget, and draw the screen."""
        self.focus_initial_widget()
        self.schedule_draw()

    def focus_initial_widget(self) -> None:
        """Focus the enlarged drawing, the flow diagram if it has holes, or a field."""
        self.set_class(self.state.shows_big_step, "-big")
        asks = self.state.asks_validity or self.state.open_holes
        focused = (
            self.query_one(widgets.Pane if self.state.shows_big_step else "#flow")
            if asks or self.state.shows_big_step
            else None
        )
        (focused or self.query(Input).first()).focus()

    def _make_fields(self) -> list[widgets.Field]:
        """Create the fields of the question.

        The values are watched, because `Input.Changed` is handled too late, after the field is drawn.
        """
        question = self.state.question
        fields = [widgets.Field(name, question.texts.get(name, "")) for name in question.fields]
        for field in fields:
            self.watch(field, "value", partial(self.update_field_text, field.field_name), init=False)
            self.watch(field, "scroll_x", self.redraw_carets, init=False)
            field.disable_messages(Input.Changed)  # `value` is watched instead
        return fields

    def update_field_text(self, name: str, value: str) -> None:
        """Replace the text of a field in the question, and redraw the screen."""
        if self.state.question.texts.get(name, "") != value:
            self.state.change_question(self.state.question.with_text(name, value), name)
            self.schedule_draw()

    def redraw_carets(self) -> None:
        """Redraw the carets below invalid characters after a field is scrolled."""
        if self.state.result.problem is not None:
            self.schedule_draw()

    @on(widgets.TextField.CodePasted)
    async def open_pasted_code(self, event: widgets.TextField.CodePasted) -> None:
        """Open a pasted line of code as a chain with the current input."""
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
    def focus_next_field(self) -> None:
        """Focus the next field."""
        self.focus_next(Input)

    @on(widgets.MetadataClicked)
    async def handle_click(self, event: widgets.MetadataClicked) -> None:
        """Handle a click on a dim of the flow diagram, on a step, a key or an element."""
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
        """Redraw for the new size, or show that the terminal is too small."""
        small = widgets.SizeNotice.is_needed(event.size)
        if small and not self.has_class("-small"):
            self._focus_before_resize = self.focused
        self.set_class(small, "-small")
        if not small and self.focused is None and self._focus_before_resize is not None:
            self.call_after_refresh(self._focus_before_resize.focus)
        self.schedule_draw()

    def on_screen_resume(self) -> None:
        """Redraw the screen, since a lesson or a film can change the score."""
        self.schedule_draw()

    def on_descendant_focus(self) -> None:
        """Resolve the question again when the focus moves.

        An incomplete field becomes an error when it loses the focus.
        """
        focused = self.focused.id if isinstance(self.focused, Input) else None
        self.state.change_question(self.state.question, focused and focused.removeprefix("field-"))
        self.schedule_draw()

    def on_key(self, event: events.Key) -> None:
        """Handle a key press in the element grid or the flow diagram.

        Escape closes the enlarged drawing.
        """
        if event.key == "escape" and self.state.shows_big_step:
            self.action_big()
            return
        if isinstance(self.focused, widgets.Pane) and not (self.state.shows_big_step and not self.state.shows_grid):
            acted = self.state.shows_grid and self._handle_grid_key(event.key)
        else:
            acted = isinstance(self.focused, widgets.FocusableText) and self._handle_flow_key(event)
        if acted:
            self.schedule_draw()
            event.stop()

    def _handle_grid_key(self, key: str) -> bool:
        """Handle a key press in the element grid; return whether the key has an effect."""
        if key == widgets.MISTAKE_KEY_NAME and self.state.same_shape_mistake is not None:
            self.state.shows_mistake = not self.state.shows_mistake
        elif key in ARROW_MOVES:
            self.state.move_cursor(key)
        else:
            return False
        return True

    def _handle_flow_key(self, event: events.Key) -> bool:
        """Handle a key press in the flow diagram; return whether the key has an effect."""
        state = self.state
        if event.key in ARROW_MOVES:
            state.highlight_neighbor(event.key)
        elif event.key == "enter":
            state.submit()
        elif event.key == "escape":
            state.toggle_highlight(None)
        elif event.key == "backspace" or (event.character and state.accepts_char(event.character)):
            state.type_char("\b" if event.key == "backspace" else str(event.character))
        else:
            return False
        return True

    def action_step(self, offset: int) -> None:
        """Go to the previous or next step; first reveal the dims of the current step."""
        self.state.advance(offset)
        self.schedule_draw()

    def action_go(self, step: int) -> None:
        """Go to a step; a negative index means the position after the last step."""
        self.state.go_to_step(self.state.end_step if step < 0 else step)
        self.schedule_draw()

    def action_grid(self) -> None:
        """Toggle between the grid of all elements and the drawing of the current step."""
        if self._visible_answer() is None:
            return
        self.state.shows_grid, self.state.shows_mistake = not self.state.shows_grid, False
        (self.query_one(widgets.Pane) if self.state.shows_grid else self.query(Input).first()).focus()
        self.schedule_draw()

    def action_mistake(self) -> None:
        """Show the elements of the answer beside those of a mistake with equal shape."""
        if not self.state.shows_grid:
            self.action_grid()
        self.state.shows_mistake = self.state.shows_grid
        self.schedule_draw()

    def action_mode(self) -> None:
        """Toggle learning mode."""
        self.state.toggle_learning()
        self.focus_initial_widget()
        self.schedule_draw()

    def action_big(self) -> None:
        """Enlarge the drawing of the step to the whole screen, or restore the screen."""
        self.state.shows_big_step = not self.state.shows_big_step
        self.focus_initial_widget()
        self.schedule_draw()

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
        """Show a hint on the dim to predict."""
        self.state.submit()
        self.schedule_draw()

    def action_copy(self) -> None:
        """Copy the command line of the question to the clipboard."""
        widgets.copy_text(self, question_command(self.state.question, self.state.result.answer))

    def action_share(self) -> None:
        """Copy a command line that opens the app at the current question and step."""
        line = question_command(self.state.question, self.state.result.answer).removeprefix("shapecalc ")
        step = (
            f"--step {self.state.current_step + 1} "
            if self.state.current_step < self.state.end_step
            else "--step last "
        )
        widgets.copy_text(self, f"shapecalc tui {step}{line}")

    def action_theme(self) -> None:
        """Switch to the next theme."""
        self.app.theme = next_theme(self.app.theme)

    def action_done(self) -> None:
        """Exit, and return the result of the question, which `shapecalc tui` prints."""
        self.app.exit(self.state.result)

    async def open_question(self, question: Question) -> None:
        """Open a question; first post `QuestionShown` for the question that it replaces."""
        if self.state.result.answer is not None:
            line = question_command(self.state.question, self.state.result.answer)
            self.post_message(self.QuestionShown(line, self.state.current_step, self.state.is_learning, is_final=True))
        self.state.change_question(question)
        await self._show_fields()

    async def _show_fields(self) -> None:
        """Write the question into the fields, after replacing them if necessary."""
        question, shown = self.state.question, {field.field_name: field for field in self.query(widgets.Field)}
        if (*shown,) == question.fields:
            for name, field in shown.items():
                field.value = question.texts.get(name, "")
            self.schedule_draw()
            return
        for fields in self.query(widgets.FieldRow):  # the screen has no fields while the app closes
            await fields.replace_fields(self._make_fields())
            self.query(Input).first().focus()
            self.schedule_draw()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether an action has an effect in the current state."""
        return self.state.is_available(f"{action}({parameters[0]})" if action in ("step", "go") else action)

    @on(widgets.TextField.ErrorPasted)
    def show_diagnosis(self, event: widgets.TextField.ErrorPasted) -> None:
        """Show the diagnosis of a pasted error message."""
        self.app.push_screen(DoctorScreen(event.diagnosis), self._open_optional_question)

    def action_choose(self, setting: str = "") -> None:
        """Open the settings dialog with the focus on the field of `setting`."""
        hidden = explore_text.hidden_answer_text(self.state)
        self.app.push_screen(ChooseDialog(self.state.question, setting, hidden), self._open_optional_question)

    def action_files(self) -> None:
        """Open the dialog that selects an array in a file as the input."""
        if may_open_files():
            self.app.push_screen(FilesDialog("."), self._open_file)
        else:
            self.notify(FILES_DISABLED_MESSAGE, markup=False)

    async def _open_file(self, path: str | None) -> None:
        if path is not None:
            await self.open_question(self.state.question.with_text("input", path))

    def action_compare(self) -> None:
        """Open the comparison of all dialects, unless the answer is hidden."""
        if self.state.result.answer is None or self._visible_answer() is not None:
            self.app.push_screen(CompareDialog(self.state.question), self._open_comparison_row)

    def action_equiv(self) -> None:
        """Open the comparison with a second chain, unless the answer is hidden."""
        if (answer := self._visible_answer()) is not None:
            self.app.push_screen(Equiv(answer, self.state.question.second_chain), self._store_second_chain)

    def action_simplify(self) -> None:
        """Show the shortest equivalent chain, unless the answer is hidden."""
        if (answer := self._visible_answer()) is not None:
            self.app.push_screen(Simplify(answer), self._open_simplified_chain)

    def _visible_answer(self) -> Trace | Chain | None:
        """Return the answer if it is visible; notify the user if it is hidden."""
        if self.state.hides_answer:
            self.notify(explore_text.HIDDEN_ANSWER_WARNING, markup=False)
        return None if self.state.hides_answer else self.state.answer

    def action_film(self) -> None:
        """Play the film of the answer from the current step; ask for hidden dims."""
        state = self.state
        answer = self._visible_answer() if state.asks_validity else state.answer
        if answer is not None and len(answer.stages) > MAX_FILM_STAGES:
            self.notify(MAX_FILM_STAGES.message(f"{len(answer.stages)} stages to film"), severity="warning")
        elif answer is not None:
            hidden = {state.predictions.cells[hole].step_index for hole in state.holes}
            self.app.push_screen(
                FilmScreen(answer, None if state.is_complete else state.current_step, hidden, state.score)
            )

    def action_save(self, kind: str) -> None:
        """Save the film or the picture of the current step; a browser downloads the file."""
        if (answer := self._visible_answer()) is not None:
            save_answer(
                self.app,
                kind,
                answer,
                None if self.state.current_step >= self.state.end_step else self.state.current_step + 1,
            )

    def action_lessons(self) -> None:
        """Open the lessons."""
        screen = Lessons(self.progress, self.course, self._lesson_id)

        async def open_lesson_question(question: Question | None) -> None:
            self._lesson_id = screen.lesson.id if screen.lesson and question else ""
            if self.course and self.course.is_path and not question:
                self.course = None
            await self._open_optional_question(question)

        self.app.push_screen(screen, open_lesson_question)

    def action_drill(self) -> None:
        """Open the exercises on all topics."""
        self.app.push_screen(DrillScreen(progress=self.progress), self._open_optional_question)

    def action_code(self) -> None:
        """Show the answer as code for each framework."""
        if (answer := self._visible_answer()) is not None:
            self.app.push_screen(CodeScreen(answer))

    def help(self) -> tuple[str, list[tuple[str, str]]]:
        """Return the help for the focused widget, and the keys with their effects."""
        about = widget_help(str(self.focused.id) if self.focused else "", self.state.question.op)
        keys = widgets.LEARNING_KEYS if self.state.is_learning else widgets.KEYS
        return about, [*((key.display, key.help) for key in keys), *EXTRA_KEYS, *widgets.COMMON_KEYS]

    async def _open_optional_question(self, question: Question | None) -> None:
        if question is not None:
            await self.open_question(question)

    async def _open_simplified_chain(self, text: str | None) -> None:
        """Open a simplified chain as the question; the second chain stays the same."""
        if text is not None:
            await self.open_question(
                replace(question_from_words([CHAIN, text]), second_chain=self.state.question.second_chain)
            )

    def _store_second_chain(self, text: str | None) -> None:
        self.state.question = replace(self.state.question, second_chain=text or "")

    async def _open_comparison_row(self, question: Question | None) -> None:
        """Open the question of another dialect at the first step with another result."""
        before = self.state.answer
        if question is None:
            return
        await self.open_question(question)
        if before is not None and self.state.answer is not None:
            self.state.go_to_step(first_differing_step(before, self.state.answer))
            self.schedule_draw()

    def schedule_draw(self) -> None:
        """Draw the screen; if it was drawn recently, handle the pending events first."""
        if not self._is_draw_scheduled:
            self._is_draw_scheduled = True
            is_idle = monotonic() - self._last_draw > IDLE_SECONDS
            self.draw() if is_idle and self.is_attached else self.call_after_refresh(self.draw)

    def draw(self) -> None:
        """Draw the screen from the state."""
        self._is_draw_scheduled = False
        if not self.is_attached or self.has_class("-small"):
            return
        state, width = self.state, self.app.size.width - 2
        line = question_command(state.question, state.result.answer)
        line_text = Text(escape_unprintable(f"$ {line}"), no_wrap=True, overflow="ellipsis")
        shown = widgets.LEARNING_KEYS if state.is_learning else widgets.KEYS
        works = frozenset(key.action for key in shown if key.action and state.is_offered(key.action))
        hidden, score = explore_text.hidden_answer_text(state), str(state.score)
        self._set_text("title", explore_text.title_text(state.question, state.result, width, hidden, score))
        self._set_text("reason", self._problem_text(width))
        self._set_text("sentence", explore_text.status_text(state, width))
        self._set_text("command", line_text)
        follows = state.shows_grid and isinstance(self.focused, widgets.Pane)
        focused = (widgets.FOLLOW_KEY, *([widgets.MISTAKE_KEY] if state.same_shape_mistake else [])) if follows else ()
        if isinstance(self.focused, widgets.FocusableText) and (state.asks_validity or state.is_awaiting_input):
            focused = (widgets.YES_NO_KEY,) if state.asks_validity else widgets.HINT_KEYS
        self._set_text("keys", widgets.format_key_line(works, width, shown, focused))
        self.set_class(state.result.answer is None, "-stale")
        self._draw_answer(width)
        if state.result.answer is not None:
            self.app.post_message(self.QuestionShown(line, state.current_step, state.is_learning))
        self._last_draw = monotonic()

    def _draw_answer(self, width: int) -> None:
        """Draw the flow diagram, the list of steps and the current step of the answer."""
        state = self.state
        reserved = RESERVED_LINES - BORDER_LINES - 1 if self.has_class("-low") else RESERVED_LINES
        height = explore_text.flow_height(state, self.app.size.height - reserved)
        self._set_text("flow", explore_text.flow_text(state, width, height))
        self._set_text("rail", explore_text.step_line_text(state, width))
        self.query_one(widgets.Pane).set_renderer(
            partial(explore_text.picture_text, state, element_reader(state.result.source))
        )

    def _set_text(self, name: str, text: Text) -> None:
        self.query_one(f"#{name}", widgets.ClickableText).set_text(text)

    def _problem_text(self, width: int) -> Text:
        """Return the message of the problem, with carets below invalid characters."""
        state = self.state
        hides = state.result.answer is not None and state.asks_validity
        problem = None if state.result.is_incomplete or hides else state.result.problem
        if problem is None:
            return Text()
        span = find_invalid_text(state.question, state.result)
        fields = self.query(f"#field-{span[0]}") if span else None
        if span is None or not fields:
            return explore_text.problem_line_text(problem, 0, 0, width)
        field = fields.first(Input)
        start, room = field.content_region.x - 1, field.content_region.width
        ends = [cell_len(field.value[:end]) - round(field.scroll_offset.x) for end in span[1:]]
        left, right = (max(0, min(end, room)) for end in ends)
        left = min(left, room - 1)
        return explore_text.problem_line_text(problem, start + left, max(1, right - left), width)

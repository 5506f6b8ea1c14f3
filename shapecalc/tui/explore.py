"""The main screen: the fields of the question, the flow, the picture of a step."""

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
from shapecalc.core.limits import MOST_FILMED
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import replace
from shapecalc.core.text import visible
from shapecalc.teaching.progress import Progress
from shapecalc.tui import explore_text, widgets
from shapecalc.tui.question import CHAIN, CLOSED, Question, caret, command, element_reader, may_open_files, question_of
from shapecalc.tui.state import ARROWS, State, first_difference
from shapecalc.tui.themes import theme_after

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.teaching.lessons import Course

CALM = 0.05
"""The seconds since the last drawing after which a key is drawn at once."""
BESIDE_PICTURES = 12
"""The lines of the screen that are neither flow nor picture."""
LINES = 2
"""The border lines among them, which a low screen does not have."""


class Explore(widgets.Room[None]):
    """A question that is answered after every key, and its steps."""

    BLANK = True
    AUTO_FOCUS = ""
    BINDINGS = [
        *(Binding(key.key, key.action, key.label, show=False, tooltip=key.help) for key in widgets.KEYS),
        Binding("slash", "app.command_palette", show=False),
    ]

    @dataclass
    class QuestionShown(Message):
        """A message: a question is on the screen, or leaves it."""

        line: str
        """Its command line."""
        at: int
        """The current step of its answer."""
        learns: bool
        """Whether the screen is in learning mode."""
        for_good: bool = False
        """Whether the question is not edited any more."""

    def __init__(
        self, question: Question, step: int | None, progress: Progress | None, *, big: bool, learns: bool
    ) -> None:
        """Open a question at a step, or past the last step for None.

        `big` draws the step in large figures. `learns` is the learning mode, in which the user predicts dims before
        they are shown.
        """
        super().__init__()
        self.progress = progress or Progress()
        self.state = State(question, step, learns=learns, score=self.progress.today)
        self.state.big = big
        self.course: Course | None = None
        """The lessons of the user's file; None for those of the program."""
        self._lesson = ""
        """The id of the lesson that the question is from; empty for other questions."""
        self._due = False
        self._shown = 0.0
        self._in_use: Widget | None = None
        """The widget that had the focus when the terminal became too small."""

    def compose(self) -> ComposeResult:
        """Compose the screen from top to bottom."""
        yield widgets.Enlarge(id="enlarge")
        yield widgets.ClickableText("title", "choose")
        yield widgets.Fields(*self._fields())
        yield widgets.ClickableText("reason")
        yield widgets.FocusableText("flow")
        yield widgets.ClickableText("rail")
        yield widgets.Pane("picture")
        yield widgets.ClickableText("sentence", "fix")
        yield widgets.ClickableText("command", "copy")
        yield widgets.ClickableText("keys")

    def on_mount(self) -> None:
        """Draw the screen, and focus the first hole or the first field."""
        self.focus_first()
        self.show_soon()

    def focus_first(self) -> None:
        """Focus the first hole or the first field."""
        self.set_class(self.state.big, "-big")
        asks = self.state.opening or self.state.askable
        focused = self.query_one(widgets.Pane if self.state.big else "#flow") if asks or self.state.big else None
        (focused or self.query(Input).first()).focus()

    def _fields(self) -> list[widgets.Field]:
        """Return the fields of the question.

        Their values are watched instead of `Input.Changed`, so that a key is in the question before its field is drawn.
        """
        question = self.state.question
        fields = [widgets.Field(name, question.texts.get(name, "")) for name in question.fields]
        for field in fields:
            self.watch(field, "value", partial(self.take_text, field.field_name), init=False)
            self.watch(field, "scroll_x", self.move_carets, init=False)
            field.disable_messages(Input.Changed)  # its value is watched
        return fields

    def take_text(self, name: str, value: str) -> None:
        """Update a field of the question."""
        if self.state.question.texts.get(name, "") != value:
            self.state.ask(self.state.question.with_text(name, value), name)
            self.show_soon()

    def move_carets(self) -> None:
        """Redraw the carets after a field was scrolled."""
        if self.state.result.problem is not None:
            self.show_soon()

    @on(widgets.TextField.CodePasted)
    async def ask_code(self, event: widgets.TextField.CodePasted) -> None:
        """Open a pasted line of code as a chain of the current input."""
        from shapecalc.tui.question import chain_of

        try:
            question, notes = chain_of(event.text, self.state.question)
        except ShapeError as error:
            self.notify(visible(str(error.problem)), title="not read as code", severity="error", markup=False)
            return
        await self.ask_anew(question)
        self.notify(visible("; ".join(notes)), title="the code as a chain", markup=False, timeout=3)

    def on_paste(self, event: events.Paste) -> None:
        """Paste into the first field if no field has the focus."""
        field = self.query(widgets.TextField).first()
        if not isinstance(self.focused, widgets.TextField) and field.focusable and event.control is not field:
            field.focus()
            field.post_message(events.Paste(event.text))

    @on(Input.Submitted)
    def go_to_next_field(self) -> None:
        """Focus the next field."""
        self.focus_next(Input)

    @on(widgets.MarkClicked)
    async def follow_click(self, event: widgets.MarkClicked) -> None:
        """Handle a click on a dim of the flow, a step of the rail, a key or an element."""
        if event.kind == "key":
            await self.run_action(str(event.value))
        elif event.kind == "step":
            self.state.go(int(str(event.value)))
        elif event.kind == "cell":
            self.state.cursor = event.value  # type: ignore[assignment]
        else:
            self.state.choose(event.value)  # type: ignore[arg-type]
        self.show_soon()

    def on_resize(self, event: events.Resize) -> None:
        """Draw for the new size, or show that the terminal is too small."""
        small = widgets.Enlarge.is_needed(event.size)
        if small and not self.has_class("-small"):
            self._in_use = self.focused
        self.set_class(small, "-small")
        if not small and self.focused is None and self._in_use is not None:
            self.call_after_refresh(self._in_use.focus)
        self.show_soon()

    def on_screen_resume(self) -> None:
        """Update the score after a lesson or a film."""
        self.show_soon()

    def on_descendant_focus(self) -> None:
        """Report the problem of a field when the focus leaves it."""
        focused = self.focused.id if isinstance(self.focused, Input) else None
        self.state.ask(self.state.question, focused and focused.removeprefix("field-"))
        self.show_soon()

    def on_key(self, event: events.Key) -> None:
        """Send a key to the grid or the hole, whichever has the focus.

        Escape closes the large figures, which hide the line of keys.
        """
        if event.key == "escape" and self.state.big:
            self.action_big()
            return
        if isinstance(self.focused, widgets.Pane) and not (self.state.big and not self.state.gridded):
            acted = self.state.gridded and self._take_key_of_grid(event.key)
        else:
            acted = isinstance(self.focused, widgets.FocusableText) and self._take_key(event)
        if acted:
            self.show_soon()
            event.stop()

    def _take_key_of_grid(self, key: str) -> bool:
        """Handle a key of the grid; return whether it has an effect."""
        if key == widgets.BESIDE and self.state.twin is not None:
            self.state.beside = not self.state.beside
        elif key in ARROWS:
            self.state.move(key)
        else:
            return False
        return True

    def _take_key(self, event: events.Key) -> bool:
        """Handle a key of the flow; return whether it has an effect."""
        state = self.state
        if event.key in ARROWS:
            state.choose_beside(event.key)
        elif event.key == "enter":
            state.enter()
        elif event.key == "escape":
            state.choose(None)
        elif event.key == "backspace" or (event.character and state.takes(event.character)):
            state.type("\b" if event.key == "backspace" else str(event.character))
        else:
            return False
        return True

    def action_step(self, by: int) -> None:
        """Go a step back or on; a hidden step is first shown."""
        self.state.step(by)
        self.show_soon()

    def action_go(self, at: int) -> None:
        """Go to a step; a negative number means past the last."""
        self.state.go(self.state.last if at < 0 else at)
        self.show_soon()

    def action_grid(self) -> None:
        """Toggle between the elements and the picture."""
        if self._answer_to_show() is None:
            return
        self.state.gridded, self.state.beside = not self.state.gridded, False
        (self.query_one(widgets.Pane) if self.state.gridded else self.query(Input).first()).focus()
        self.show_soon()

    def action_mistake(self) -> None:
        """Show the elements next to those of a common mistake with the same sizes."""
        if not self.state.gridded:
            self.action_grid()
        self.state.beside = self.state.gridded
        self.show_soon()

    def action_mode(self) -> None:
        """Toggle the learning mode."""
        self.state.switch_mode()
        self.focus_first()
        self.show_soon()

    def action_big(self) -> None:
        """Toggle the large figures, which hide everything else."""
        self.state.big = not self.state.big
        self.focus_first()
        self.show_soon()

    async def action_undo(self) -> None:
        """Undo the last change of the question."""
        self.state.turn(back=True)
        await self._show_fields()

    async def action_redo(self) -> None:
        """Redo the last undone change."""
        self.state.turn(back=False)
        await self._show_fields()

    async def action_fix(self) -> None:
        """Apply the suggested fix."""
        await self.ask_anew(self.state.question_with_fix())

    def action_hint(self) -> None:
        """Give a hint for the current hole."""
        self.state.enter()
        self.show_soon()

    def action_copy(self) -> None:
        """Copy the command line, and show it."""
        widgets.copy(self, command(self.state.question, self.state.result.answer))

    def action_share(self) -> None:
        """Copy the command that opens this question at this step."""
        line = command(self.state.question, self.state.result.answer).removeprefix("shapecalc ")
        step = f"--step {self.state.at + 1} " if self.state.at < self.state.last else "--step last "
        widgets.copy(self, f"shapecalc tui {step}{line}")

    def action_theme(self) -> None:
        """Switch to the next theme."""
        self.app.theme = theme_after(self.app.theme)

    def action_done(self) -> None:
        """Quit, and print the answer."""
        self.app.exit(self.state.result)

    async def ask_anew(self, question: Question) -> None:
        """Open a question, which may have other fields."""
        if self.state.result.answer is not None:
            line = command(self.state.question, self.state.result.answer)
            self.post_message(self.QuestionShown(line, self.state.at, self.state.learns, for_good=True))
        self.state.ask(question)
        await self._show_fields()

    async def _show_fields(self) -> None:
        """Update the fields; replace them if the question has others."""
        question, shown = self.state.question, {field.field_name: field for field in self.query(widgets.Field)}
        if (*shown,) == question.fields:
            for name, field in shown.items():
                field.value = question.texts.get(name, "")
            self.show_soon()
            return
        for fields in self.query(widgets.Fields):  # none if the app is closing
            await fields.show_others(self._fields())
            self.query(Input).first().focus()
            self.show_soon()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enable only the keys that have an effect."""
        return self.state.works(f"{action}({parameters[0]})" if action in ("step", "go") else action)

    # Each dialog is imported when it is opened: together, their imports delay the first drawing.

    @on(widgets.TextField.Diagnosed)
    def show_diagnosis(self, event: widgets.TextField.Diagnosed) -> None:
        """Show the diagnosis of a pasted error message."""
        from shapecalc.tui.dialogs import DoctorScreen

        self.app.push_screen(DoctorScreen(event.diagnosis), self._take_question)

    def action_choose(self, setting: str = "") -> None:
        """Choose operator, dialect and settings, beginning with `setting` if given."""
        from shapecalc.tui.choose import Choose

        hidden = explore_text.hidden_text(self.state)
        self.app.push_screen(Choose(self.state.question, setting, hidden), self._take_question)

    def action_files(self) -> None:
        """Choose an array of a file as the input."""
        from shapecalc.tui.files import Files

        if may_open_files():
            self.app.push_screen(Files("."), self._take_file)
        else:
            self.notify(CLOSED, markup=False)

    async def _take_file(self, path: str | None) -> None:
        if path is not None:
            await self.ask_anew(self.state.question.with_text("input", path))

    def action_compare(self) -> None:
        """Compare the answers of every dialect."""
        from shapecalc.tui.choose import Compare

        if self.state.result.answer is None or self._answer_to_show() is not None:
            self.app.push_screen(Compare(self.state.question), self._take_row)

    def action_equiv(self) -> None:
        """Compare with another chain, unless the answer is hidden."""
        from shapecalc.tui.chains import Equiv

        if (answer := self._answer_to_show()) is not None:
            self.app.push_screen(Equiv(answer, self.state.question.second_chain), self._keep_second_chain)

    def action_simplify(self) -> None:
        """Show the shortest equivalent chain, unless the answer is hidden."""
        from shapecalc.tui.chains import Simplify

        if (answer := self._answer_to_show()) is not None:
            self.app.push_screen(Simplify(answer), self._take_chain)

    def _answer_to_show(self) -> Trace | Chain | None:
        """Return the answer; None if there is none or it is hidden.

        A hidden answer is reported to the user.
        """
        if self.state.hides:
            self.notify(explore_text.WOULD_SHOW, markup=False)
        return None if self.state.hides else self.state.answer

    def action_film(self) -> None:
        """Play the film from the current step; it asks for hidden dims."""
        from shapecalc.tui.film import FilmScreen

        state = self.state
        answer = self._answer_to_show() if state.opening else state.answer
        if answer is not None and len(answer.stages) > MOST_FILMED:
            self.notify(MOST_FILMED.said(f"{len(answer.stages)} stages to film"), severity="warning")
        elif answer is not None:
            hidden = {state.predictions.cells[hole].step for hole in state.holes}
            self.app.push_screen(FilmScreen(answer, None if state.settled else state.at, hidden, state.score))

    def action_save(self, kind: str) -> None:
        """Save the film or the picture of the step; a browser downloads it."""
        from shapecalc.tui.files import save

        if (answer := self._answer_to_show()) is not None:
            save(self.app, kind, answer, None if self.state.at >= self.state.last else self.state.at + 1)

    def action_lessons(self) -> None:
        """Open the lessons."""
        from shapecalc.tui.lessons import Lessons

        screen = Lessons(self.progress, self.course, self._lesson)

        async def take(question: Question | None) -> None:
            self._lesson = screen.lesson.id if screen.lesson and question else ""
            if self.course and self.course.path and not question:
                self.course = None
            await self._take_question(question)

        self.app.push_screen(screen, take)

    def action_drill(self) -> None:
        """Open exercises of all topics."""
        from shapecalc.tui.lessons import Drilling

        self.app.push_screen(Drilling(progress=self.progress), self._take_question)

    def action_code(self) -> None:
        """Show equivalent code."""
        from shapecalc.tui.dialogs import CodeScreen

        if (answer := self._answer_to_show()) is not None:
            self.app.push_screen(CodeScreen(answer))

    def help(self) -> tuple[str, list[tuple[str, str]]]:
        """Return the help of the focused widget, and the keys with their effects."""
        from shapecalc.tui.dialogs import MORE, focus_help

        about = focus_help(str(self.focused.id) if self.focused else "", self.state.question.op)
        keys = widgets.LEARNING if self.state.learns else widgets.KEYS
        return about, [*((key.shown, key.help) for key in keys), *MORE, *widgets.EVERYWHERE]

    async def _take_question(self, question: Question | None) -> None:
        if question is not None:
            await self.ask_anew(question)

    async def _take_chain(self, text: str | None) -> None:
        """Open the simplified chain, and keep the second chain of the comparison."""
        if text is not None:
            await self.ask_anew(replace(question_of([CHAIN, text]), second_chain=self.state.question.second_chain))

    def _keep_second_chain(self, text: str | None) -> None:
        self.state.question = replace(self.state.question, second_chain=text or "")

    async def _take_row(self, question: Question | None) -> None:
        """Open a row of the comparison at the first step that differs."""
        before = self.state.answer
        if question is None:
            return
        await self.ask_anew(question)
        if before is not None and self.state.answer is not None:
            self.state.go(first_difference(before, self.state.answer))
            self.show_soon()

    def show_soon(self) -> None:
        """Schedule one drawing for all keys that are pressed until then."""
        if not self._due:
            self._due = True
            calm = monotonic() - self._shown > CALM
            self.show() if calm and self.is_attached else self.call_after_refresh(self.show)

    def show(self) -> None:
        """Draw the screen from the state."""
        self._due = False
        if not self.is_attached or self.has_class("-small"):
            return
        state, width = self.state, self.app.size.width - 2
        line = command(state.question, state.result.answer)
        line_text = Text(visible(f"$ {line}"), no_wrap=True, overflow="ellipsis")
        shown = widgets.LEARNING if state.learns else widgets.KEYS
        works = frozenset(key.action for key in shown if key.action and state.offers(key.action))
        hidden, score = explore_text.hidden_text(state), str(state.score)
        self._put("title", explore_text.title(state.question, state.result, width, hidden, score))
        self._put("reason", self._reason_text(width))
        self._put("sentence", explore_text.sentence(state, width))
        self._put("command", line_text)
        follows = state.gridded and isinstance(self.focused, widgets.Pane)
        focused = (widgets.FOLLOWING, *([widgets.COMPARING] if state.twin else [])) if follows else ()
        if isinstance(self.focused, widgets.FocusableText) and (state.opening or state.asking):
            focused = (widgets.WHETHER,) if state.opening else widgets.HINTS
        self._put("keys", widgets.keys_line(works, width, shown, focused))
        self.set_class(state.result.answer is None, "-stale")
        self._put_answer(width)
        if state.result.answer is not None:
            self.app.post_message(self.QuestionShown(line, state.at, state.learns))
        self._shown = monotonic()

    def _put_answer(self, width: int) -> None:
        """Draw the flow, the rail and the picture of the last answer."""
        state = self.state
        beside = BESIDE_PICTURES - LINES - 1 if self.has_class("-low") else BESIDE_PICTURES
        height = explore_text.flow_height(state, self.app.size.height - beside)
        self._put("flow", explore_text.flow_text(state, width, height))
        self._put("rail", explore_text.rail_text(state, width))
        self.query_one(widgets.Pane).draw(
            partial(explore_text.picture_text, state, element_reader(state.result.source))
        )

    def _put(self, name: str, text: Text) -> None:
        self.query_one(f"#{name}", widgets.ClickableText).put(text)

    def _reason_text(self, width: int) -> Text:
        """Return the problem, with carets below the characters at fault."""
        state = self.state
        hides = state.result.answer is not None and state.opening
        problem = None if state.result.typing or hides else state.result.problem
        if problem is None:
            return Text()
        span = caret(state.question, state.result)
        fields = self.query(f"#field-{span[0]}") if span else None
        if span is None or not fields:
            return explore_text.reason_text(problem, 0, 0, width)
        field = fields.first(Input)
        start, room = field.content_region.x - 1, field.content_region.width
        ends = [cell_len(field.value[:end]) - round(field.scroll_offset.x) for end in span[1:]]
        left, right = (max(0, min(end, room)) for end in ends)
        left = min(left, room - 1)
        return explore_text.reason_text(problem, start + left, max(1, right - left), width)

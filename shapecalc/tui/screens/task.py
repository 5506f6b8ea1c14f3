"""What lessons and exercises have in common: a thing to predict, what is said to it, and the pictures of the answer."""

from __future__ import annotations

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from shapecalc.core.commands import split
from shapecalc.core.problem import ShapeError
from shapecalc.core.text import read_axes
from shapecalc.teaching.judging import Prediction, Task, answer_line, mistake_in, read_prediction, rungs, unread
from shapecalc.tui.fields import AnswerField
from shapecalc.tui.keys import Key, keys_line
from shapecalc.tui.question import Question, question_of
from shapecalc.tui.texts import ClickableText, MarkClicked
from shapecalc.view.beside import beside
from shapecalc.view.canvas import stack
from shapecalc.view.grid import grid
from shapecalc.view.pictures import explain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.answers import Chain, Trace

LEAST_WIDTH = 20
"""The cells below which a picture is drawn no narrower."""
GRID_HEIGHT = 12
"""The lines that the elements get over the other pictures."""
SHORT = 30
"""Lines of the terminal below which the text makes room for the pictures."""
LOWEST = 16
"""Lines of the terminal below which there is none for a border."""
KEYS = (
    Key("enter", "enter", "predict", "submit", "say whether the prediction is right; then go on", 0),
    Key("f1", "F1", "hint", "hint", "help, one step further each time", 1),
    Key("ctrl+g", "^G", "answer", "answer", "show the answer", 2),
    Key("escape", "esc", "leave", "back", "go back", 3),
    Key("f5", "F5", "play", "play", "go to the main screen with this question", 5),
    Key("up", "↑↓", "scroll", "scroll(-1)", "scroll up", 9),
    Key("down", "↓", "scroll", "scroll(1)", "scroll down", 10),
)
"""The keys of every thing to predict."""


def bindings_of(keys: tuple[Key, ...]) -> list[BindingType]:
    """Return what Textual binds for some keys; enter is the field's own, and no list pages itself."""
    return [
        Binding(key.key, key.action, key.label, show=False, tooltip=key.help, priority=key.key.startswith("page"))
        for key in keys
        if key.key != "enter"
    ]


class TaskPane(Vertical):
    """A text, what is asked, where it is predicted, and the pictures of the answer. What is asked stays in view."""

    def __init__(self) -> None:
        """Begin with nothing to predict."""
        super().__init__(id="task")
        self.asked: Task | None = None
        self.revealed = False
        self._helped = 0
        self._last: Prediction = None

    def compose(self) -> ComposeResult:
        """Put the field under what is asked, and what is said to it under the field."""
        with VerticalScroll(id="lesson", can_focus=False):
            yield Static("", id="text", markup=False)
            yield Static("", id="notes", markup=False)
        yield Static("", id="asked", markup=False)
        yield AnswerField(id="prediction")
        yield Static("", id="judgement", markup=False)
        with VerticalScroll(id="pictures", can_focus=False):
            yield Static("", id="shown", markup=False)

    @property
    def field(self) -> AnswerField:
        """Where the prediction is typed."""
        return self.query_one(AnswerField)

    def ask(self, text: Text, task: Task, notes: str = "") -> None:
        """Show a text and what is to be predicted, with nothing given away."""
        self._ask(text, task, f"$ shapecalc {task.question}\n{task.asks}", "a shape such as 2,3,4")
        self.put_notes(notes)

    def ask_topics(self, text: Text) -> None:
        """Show a text, and ask for the topics of exercises."""
        self._ask(text, None, "Enter begins. For several topics at once, type them:", "topics such as zero perm")
        self.put_notes("")

    def _ask(self, text: Text, task: Task | None, asked: str, such_as: str) -> None:
        self.asked, self.revealed, self._helped, self._last = task, False, 0, None
        self.remove_class("-revealed")
        for name, shown in (("#text", text), ("#asked", asked), ("#judgement", ""), ("#shown", "")):
            self.query_one(name, Static).update(shown)
        self.field.value = ""
        self.field.placeholder = such_as
        self.query_one("#lesson").scroll_home(animate=False)

    def put_notes(self, notes: str) -> None:
        """Show the notes for the speaker; none if they are empty."""
        shown = self.query_one("#notes", Static)
        shown.update(Text(f"Notes: {' '.join(notes.split())}\n", "italic"))
        shown.display = bool(notes)

    def tell(self, said: str, *, right: bool | None = None) -> None:
        """Say something to the prediction; with a mark if it is right or wrong."""
        mark, style = {True: ("✓ ", "bold green"), False: ("✗ ", "bold red"), None: ("", "")}[right]
        self.query_one("#judgement", Static).update(Text.assemble((mark, style), said))
        if right is False:
            self.field.action_select_all()  # what is typed next takes its place

    def hint(self) -> None:
        """Give the next help; they are about the first dim that the field has wrong."""
        if self.asked is None:
            return
        typed = self.field.value
        prediction = None if unread(self.asked, typed) else read_prediction(typed)
        self._helped, self._last = (0 if prediction != self._last else self._helped), prediction
        helps = rungs(self.asked, answer_line(self.asked.question), prediction)
        self.tell(helps[min(self._helped, len(helps) - 1)])
        self._helped += 1

    def reveal(self) -> None:
        """Show the answer and its pictures; first the elements, if it is asked where one of them goes."""
        if self.asked is None:
            return
        self.revealed = True
        self.add_class("-revealed")
        answer = answer_line(self.asked.question)
        width = max(LEAST_WIDTH, self.size.width - 2)
        parts = [*self._mistake_beside(answer, width), explain(answer, width=width)]
        if self.asked.follow:
            cursor = read_axes(self.asked.follow)
            parts = [grid(answer, cursor, width=width, height=GRID_HEIGHT), Text(""), *parts]
        self.query_one("#shown", Static).update(stack(parts))
        self.query_one("#pictures").scroll_home(animate=False)

    def _mistake_beside(self, answer: Trace | Chain, width: int) -> list[Text]:
        """Return what was predicted last beside the truth, if it is the right answer to another question."""
        typed = self.field.value
        if self.asked is None or unread(self.asked, typed):
            return []
        found = mistake_in(self.asked, answer, read_prediction(typed))
        if found is None:
            return []
        try:
            return [beside(answer, found.answer, width=width, height=GRID_HEIGHT), Text("")]
        except ShapeError:
            return []

    def scroll_by(self, by: int) -> None:
        """Scroll the pictures; where there are none, the text."""
        self.query_one("#pictures" if self.revealed else "#lesson").scroll_relative(y=2 * by, animate=False)

    def on_resize(self) -> None:
        """Draw the pictures for the new room, and leave the text out under them if there is little."""
        self.set_class(self.app.size.height < SHORT, "-short")
        if self.revealed:
            self.reveal()


class TaskScreen(ModalScreen[Question | None]):
    """A screen with a thing to predict. It covers the main screen, whose keys do not act here."""

    CSS_PATH = "dialogs.tcss"
    KEYS: tuple[Key, ...] = KEYS

    @property
    def pane(self) -> TaskPane:
        """What shows the thing to predict."""
        return self.query_one(TaskPane)

    def working(self) -> frozenset[str]:
        """Return the actions that are shown now: one for both ways of scrolling."""
        return frozenset(key.action for key in self.KEYS) - {"scroll(1)"}

    def show_keys(self) -> None:
        """Show the keys that do something now."""
        line = keys_line(self.working(), max(LEAST_WIDTH, self.size.width - 4), self.KEYS)
        self.query_one("#keys", ClickableText).put(line)

    def on_resize(self) -> None:
        """Leave the border out if there are few lines."""
        self.set_class(self.app.size.height < LOWEST, "-lowest")
        self.show_keys()

    @on(MarkClicked)
    async def follow_click(self, event: MarkClicked) -> None:
        """Do what a key does that was clicked."""
        if event.kind == "key":
            await self.run_action(str(event.value))

    async def action_submit(self) -> None:
        """Predict what stands in the field."""
        await self.pane.field.action_submit()

    def action_hint(self) -> None:
        """Help, one step further each time."""
        self.pane.hint()

    def action_play(self) -> None:
        """Close, with the question on the main screen."""
        self.dismiss(question_of(split(self.pane.asked.question)) if self.pane.asked else None)

    def action_scroll(self, by: int) -> None:
        """Scroll the text and the pictures."""
        self.pane.scroll_by(by)

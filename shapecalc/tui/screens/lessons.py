"""F5: lessons. Each asks for a prediction before it shows what happens."""

from __future__ import annotations

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from shapecalc.core.asking.command_line import split
from shapecalc.teaching.lessons import Lesson, judge, lessons
from shapecalc.teaching.progress import Progress
from shapecalc.teaching.tasks import answer_line
from shapecalc.tui.choices import Choices
from shapecalc.tui.question import Question, question_of
from shapecalc.tui.widgets import TextField
from shapecalc.view.pictures import explain

HELP = "enter predicts, F2 shows the answer, F3 plays with it, escape goes back"


class Lessons(ModalScreen[Question | None]):
    """The list of lessons, and the lesson that was chosen."""

    BINDINGS = [
        Binding("escape", "back", "back"),
        Binding("f2", "reveal", "show"),
        Binding("f3", "open", "play"),
        Binding("f5", "dismiss", "close"),
        Binding("pagedown", "scroll(1)", "down"),
        Binding("pageup", "scroll(-1)", "up"),
    ]

    def __init__(self, progress: Progress | None = None) -> None:
        """Open the list, at the first lesson that is not done."""
        super().__init__()
        self.progress = Progress() if progress is None else progress
        self.lesson: Lesson | None = None

    def compose(self) -> ComposeResult:
        """Put the list beside the lesson."""
        with Vertical(classes="dialog"):
            with Horizontal():
                yield Choices(id="list")
                with VerticalScroll(id="lesson"):
                    yield Static("", id="text", markup=False)
                    yield TextField(id="prediction", placeholder="2,3,4")
                    yield Static("", id="judgement", markup=False)
                    yield Static("", id="shown", markup=False)
            yield Static(HELP, classes="words")

    def on_mount(self) -> None:
        """Stand at the first lesson that is not done."""
        self._list()
        done = self.progress.done
        at = next((place for place, lesson in enumerate(lessons()) if lesson.id not in done), 0)
        listed = self.query_one("#list", Choices)
        listed.highlighted = at
        listed.focus()
        self._complain()

    @on(OptionList.OptionHighlighted)
    def look(self, event: OptionList.OptionHighlighted) -> None:
        """Show the lesson under the cursor, with nothing given away."""
        lesson = lessons()[event.option_index]
        if lesson is self.lesson:
            return
        self.lesson = lesson
        text = Text.assemble(
            (f"{lesson.title}\n\n", "bold"),
            f"{' '.join(lesson.text.split())}\n\n",
            f"$ shapecalc {lesson.question}\n\n",
        )
        self.query_one("#text", Static).update(text.append(f"Predict {lesson.task.asks}:"))
        self.query_one("#prediction", Input).value = ""
        for name in ("#judgement", "#shown"):
            self.query_one(name, Static).update("")

    def on_key(self, event: events.Key) -> None:
        """Begin with what is typed, if the list still has the focus."""
        listed, prediction = self.query_one("#list", OptionList), self.query_one("#prediction", Input)
        if self.focused is listed and event.is_printable and event.character:
            self.begin()
            prediction.insert_text_at_cursor(event.character)
            event.stop()

    @on(OptionList.OptionSelected)
    def begin(self) -> None:
        """Go to where the prediction is typed."""
        self.query_one("#list").display = False
        self.query_one("#prediction", Input).focus()

    @on(Input.Submitted)
    def check(self, event: Input.Submitted) -> None:
        """Say whether the prediction is right; if it is, show what happens."""
        if self.lesson is None or not event.value.strip():
            return
        judgement = judge(self.lesson, event.value)
        mark, style = ("✓", "bold green") if judgement.right else ("✗", "bold red")
        self.query_one("#judgement", Static).update(Text.assemble((f"{mark} ", style), judgement.said))
        if judgement.right:
            self.progress.mark(self.lesson.id)
            self._list()
            self._complain()
            self.action_reveal()

    def action_reveal(self) -> None:
        """Show the answer and its pictures."""
        if self.lesson is not None:
            width = max(40, self.query_one("#lesson").size.width - 2)
            shown = self.query_one("#shown", Static)
            shown.update(explain(answer_line(self.lesson.question), width=width))
            self.call_after_refresh(shown.scroll_visible)

    def action_open(self) -> None:
        """Close, with the lesson's question on the main screen."""
        self.dismiss(question_of(split(self.lesson.question)) if self.lesson else None)

    def action_back(self) -> None:
        """Go back to the list, and from there to the main screen."""
        listed = self.query_one("#list", Choices)
        if listed.display:
            self.dismiss(None)
        listed.display = True
        listed.focus()

    def action_scroll(self, by: int) -> None:
        """Scroll the lesson."""
        lesson = self.query_one("#lesson", VerticalScroll)
        (lesson.scroll_page_down if by > 0 else lesson.scroll_page_up)(animate=False)

    def _list(self) -> None:
        """List the lessons, those that are done with a tick."""
        listed = self.query_one("#list", Choices)
        at = listed.highlighted
        listed.clear_options()
        for lesson in lessons():
            listed.add_option(Option(f"{'✓' if lesson.id in self.progress.done else ' '} {lesson.title}", id=lesson.id))
        listed.highlighted = at

    def _complain(self) -> None:
        if said := self.progress.complaint():
            self.notify(said, severity="warning", markup=False)

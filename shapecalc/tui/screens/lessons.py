"""F5: lessons. Each asks for a prediction before it shows what happens. The exercises are listed after them."""

from __future__ import annotations

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from shapecalc.core.problem import ShapeError
from shapecalc.core.text import visible
from shapecalc.teaching import TOPICS
from shapecalc.teaching.lessons import Course, Lesson, judge, lessons
from shapecalc.teaching.progress import Progress
from shapecalc.tui.choices import Choices
from shapecalc.tui.keys import Key
from shapecalc.tui.question import Question
from shapecalc.tui.screens.drill import ABOUT, Drilling
from shapecalc.tui.screens.task import KEYS, TaskPane, TaskScreen, bindings_of
from shapecalc.tui.texts import ClickableText

NARROW = 76
"""The cells of the terminal below which the list is not beside the lesson."""
DRILL = "exercises: "
"""What the exercises are called in the list, before their topic."""


class Lessons(TaskScreen):
    """The list of lessons, and the lesson that was chosen.

    The field always has the focus, and the list moves by keys that a field does not take: keys that come all at once,
    faster than a focus is handed on, end where those go that are typed slowly.
    """

    KEYS = (
        *KEYS,
        Key("pagedown", "PgDn", "next", "go(1)", "go to the next lesson", 4),
        Key("pageup", "PgUp", "back", "go(-1)", "go to the lesson before", 6),
        Key("ctrl+n", "^N", "notes", "notes", "show the notes for the speaker, or hide them", 7),
    )
    BINDINGS = [
        *bindings_of(KEYS),
        Binding("home", "edge(-1)", "first", show=False, priority=True),
        Binding("end", "edge(1)", "last", show=False, priority=True),
    ]

    def __init__(self, progress: Progress | None = None, course: Course | None = None, opens: str = "") -> None:
        """Open the list, at the lesson of an id; without one, at the first that is not done."""
        super().__init__()
        self.progress = Progress() if progress is None else progress
        self.course = Course(lessons()) if course is None else course
        self.noted = self.course.notes
        self.opens = opens
        self.at = 0
        self.right = False

    @property
    def lesson(self) -> Lesson | None:
        """The lesson under the cursor; None if exercises are."""
        return self.course.lessons[self.at] if self.at < len(self.course.lessons) else None

    def compose(self) -> ComposeResult:
        """Put the list beside the lesson."""
        with Vertical(classes="dialog"):
            with Horizontal():
                yield Choices(id="list")
                yield TaskPane()
            yield ClickableText("keys")

    def on_mount(self) -> None:
        """Stand at the lesson to open, or the first not done; where the list has no room beside it, in that lesson."""
        done = self.progress.done
        places = [*enumerate(self.course.lessons)]
        opened = [place for place, lesson in places if lesson.id == self.opens]
        self.at = next(iter(opened or [place for place, lesson in places if lesson.id not in done]), 0)
        self.query_one("#list").can_focus = False
        self.pane.field.focus()
        self._list()
        self._show()
        self._set_listing(self.app.size.width >= NARROW)
        self._complain()

    def working(self) -> frozenset[str]:
        """Return the actions that would do something now."""
        idle = {f"go({by})" for by in (-1, 1) if not 0 <= self.at + by < self._entries}
        if self.lesson is None:
            return frozenset({"back", "go(-1)", "go(1)"}) - idle
        idle |= set() if self.lesson.notes else {"notes"}
        idle |= {"submit"} if self.right else set()
        return super().working() - idle

    @property
    def _entries(self) -> int:
        """How many entries can be gone through: the lessons, and in the list the exercises."""
        return len(self.course.lessons) + (len(TOPICS) if self._listing else 0)

    @property
    def _listing(self) -> bool:
        """Whether the list is shown."""
        return self.has_class("-listing")

    def _set_listing(self, listing: bool) -> None:
        """Show the list, or leave the room to the lesson."""
        self.set_class(listing, "-listing")
        self.show_keys()

    def _show(self) -> None:
        """Show the lesson at hand, or what the exercises are."""
        lesson, self.right = self.lesson, False
        if lesson is None:
            self.pane.ask_topics(Text.assemble((f"Exercises: {self._topic}\n\n", "bold"), f"{ABOUT}\n"))
        else:
            text = Text.assemble((f"{lesson.title}\n\n", "bold"), f"{' '.join(lesson.text.split())}\n")
            self.pane.ask(text, lesson.task, lesson.notes if self.noted else "")
        self.show_keys()

    @property
    def _topic(self) -> str:
        """The topic of the exercises at hand."""
        return TOPICS[self.at - len(self.course.lessons)]

    @on(Input.Changed)
    def lead(self, event: Input.Changed) -> None:
        """Leave the room to the lesson once something is typed for it."""
        if event.value and self.lesson and self._listing:
            self._set_listing(False)

    @on(OptionList.OptionSelected)
    def begin(self, event: OptionList.OptionSelected) -> None:
        """Leave the room to the lesson that was clicked, or go on to exercises."""
        self.action_go(event.option_index - self.at)
        self._begin()

    def _begin(self) -> None:
        """Leave the room to the lesson, or go on to exercises: of the topics that were typed, or of the one at hand."""
        if self.lesson is not None:
            self._set_listing(False)
            return
        try:
            screen = Drilling(self.pane.field.value.strip() or self._topic, self.progress)
        except ShapeError as error:
            self.pane.tell(visible(f"{error.problem.message} ({error.problem.hint})"), right=False)
        else:
            self.app.push_screen(screen, self._leave)

    def _leave(self, question: Question | None) -> None:
        """Go on to the main screen if exercises were left with a question."""
        if question is not None:
            self.dismiss(question)

    @on(Input.Submitted)
    def check(self, event: Input.Submitted) -> None:
        """Say whether the prediction is right; if it is, show what happens. If it was right before, go on."""
        if self.lesson is None or self._listing:
            self._begin()
        elif self.right:
            self.action_go(1)
        elif event.value.strip():
            self._judge(self.lesson, event.value)

    def _judge(self, lesson: Lesson, typed: str) -> None:
        judgement = judge(lesson, typed)
        self.right = judgement.right
        self.pane.tell(judgement.said, right=judgement.right)
        if judgement.right:
            self.progress.mark(lesson.id)
            self._list()
            self._complain()
            self.pane.reveal()
            self.show_keys()

    def action_answer(self) -> None:
        """Show the answer and its pictures."""
        self.pane.reveal()

    def action_go(self, by: int) -> None:
        """Go to the next lesson, or to the one before."""
        if by and 0 <= self.at + by < self._entries:
            self.at += by
            self.query_one("#list", Choices).highlighted = self.at
            self._show()

    def action_edge(self, by: int) -> None:
        """Go to the first entry of the list, or to the last."""
        self.action_go(-self.at if by < 0 else self._entries - 1 - self.at)

    def action_scroll(self, by: int) -> None:
        """Go through the list if it is shown; otherwise scroll the text and the pictures."""
        if self._listing:
            self.action_go(by)
        else:
            super().action_scroll(by)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the keys of the list's ends to the field where there is no list."""
        return action != "edge" or self._listing

    def action_notes(self) -> None:
        """Show the notes for the speaker, or hide them."""
        self.noted = not self.noted
        notes = self.lesson.notes if self.lesson and self.noted else ""
        self.pane.put_notes(notes)

    def action_back(self) -> None:
        """Go back to the list, and from there to the main screen."""
        if self._listing:
            self.dismiss(None)
        self._set_listing(True)

    def _list(self) -> None:
        """List the lessons, those that are done with a tick, and the exercises."""
        listed = self.query_one("#list", Choices)
        titles = [f"{'✓' if lesson.id in self.progress.done else ' '} {lesson.title}" for lesson in self.course.lessons]
        titles += [f"  {DRILL}{topic}" for topic in TOPICS]
        listed.clear_options().add_options([Option(title) for title in titles])
        listed.highlighted = self.at

    def _complain(self) -> None:
        if said := self.progress.complaint():
            self.notify(said, severity="warning", markup=False)

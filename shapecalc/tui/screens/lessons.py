"""F5: lessons. Each asks for a prediction before it shows what happens. The exercises are listed after them."""

from __future__ import annotations

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from shapecalc.teaching.lessons import Course, Lesson, judge, lessons
from shapecalc.teaching.progress import Progress
from shapecalc.teaching.topics import TOPICS
from shapecalc.tui.choices import Choices
from shapecalc.tui.keys import Key
from shapecalc.tui.question import Question
from shapecalc.tui.screens.drill import ABOUT, Drilling
from shapecalc.tui.screens.task import KEYS, TaskPane, TaskScreen, bindings_of
from shapecalc.tui.widgets import ClickableText

NARROW = 76
"""The cells of the terminal below which the list is not beside the lesson."""
DRILL = "exercises: "
"""What the exercises are called in the list, before their topic."""


class Lessons(TaskScreen):
    """The list of lessons, and the lesson that was chosen."""

    KEYS = (
        *KEYS,
        Key("pagedown", "PgDn", "next", "go(1)", "go to the next lesson", 4),
        Key("pageup", "PgUp", "back", "go(-1)", "go to the lesson before", 6),
        Key("ctrl+n", "^N", "notes", "notes", "show the notes for the speaker, or hide them", 7),
    )
    BINDINGS = bindings_of(KEYS)

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
        return len(self.course.lessons) + (len(TOPICS) if self.has_class("-listing") else 0)

    def _set_listing(self, listing: bool) -> None:
        """Show the list, or leave the room to the lesson."""
        self.set_class(listing, "-listing")
        (self.query_one("#list") if listing else self.pane.field).focus()
        self.show_keys()

    @on(OptionList.OptionHighlighted)
    def look(self, event: OptionList.OptionHighlighted) -> None:
        """Show the lesson under the cursor, with nothing given away."""
        if self._place(event) != self.at and event.option_list.highlighted == event.option_index:
            self.at = self._place(event)
            self._show()

    def _place(self, event: OptionList.OptionHighlighted | OptionList.OptionSelected) -> int:
        return int(str(event.option_id))

    def _show(self) -> None:
        """Show the lesson at hand, or what the exercises are."""
        lesson, self.right = self.lesson, False
        if lesson is None:
            topic = TOPICS[self.at - len(self.course.lessons)]
            self.pane.ask(Text.assemble((f"Exercises: {topic}\n\n", "bold"), f"{ABOUT}\n\nEnter begins."), None)
        else:
            text = Text.assemble((f"{lesson.title}\n\n", "bold"), f"{' '.join(lesson.text.split())}\n")
            self.pane.ask(text, lesson.task, lesson.notes if self.noted else "")
        self.show_keys()

    def on_key(self, event: events.Key) -> None:
        """Begin with what is typed, if the list still has the focus."""
        if self.focused is self.query_one("#list") and self.lesson and event.is_printable and event.character:
            self._set_listing(False)
            self.pane.field.insert_text_at_cursor(event.character)
            event.stop()

    @on(OptionList.OptionSelected)
    def begin(self, event: OptionList.OptionSelected) -> None:
        """Go to where the prediction is typed, or to the exercises."""
        if self._place(event) != self.at:
            self.at = self._place(event)
            self._show()
        if self.lesson is None:
            topic = TOPICS[self.at - len(self.course.lessons)]
            self.app.push_screen(Drilling(topic, self.progress), self._leave)
        else:
            self._set_listing(False)

    def _leave(self, question: Question | None) -> None:
        """Go on to the main screen if exercises were left with a question."""
        if question is not None:
            self.dismiss(question)

    @on(Input.Submitted)
    def check(self, event: Input.Submitted) -> None:
        """Say whether the prediction is right; if it is, show what happens. If it was right before, go on."""
        if self.lesson is None or not event.value.strip():
            return
        if self.right:
            self.action_go(1)
            return
        judgement = judge(self.lesson, event.value)
        self.right = judgement.right
        self.pane.tell(judgement.said, right=judgement.right)
        if judgement.right:
            self.progress.mark(self.lesson.id)
            self._list()
            self._complain()
            self.pane.reveal()
            self.show_keys()

    def action_answer(self) -> None:
        """Show the answer and its pictures."""
        self.pane.reveal()

    def action_go(self, by: int) -> None:
        """Go to the next lesson, or to the one before."""
        if 0 <= self.at + by < self._entries:
            self.at += by
            self.query_one("#list", Choices).highlighted = self.at
            self._show()

    def action_notes(self) -> None:
        """Show the notes for the speaker, or hide them."""
        self.noted = not self.noted
        notes = self.lesson.notes if self.lesson and self.noted else ""
        self.pane.put_notes(notes)

    def action_back(self) -> None:
        """Go back to the list, and from there to the main screen."""
        if self.has_class("-listing"):
            self.dismiss(None)
        self._set_listing(True)

    def _list(self) -> None:
        """List the lessons, those that are done with a tick, and the exercises."""
        listed = self.query_one("#list", Choices)
        titles = [f"{'✓' if lesson.id in self.progress.done else ' '} {lesson.title}" for lesson in self.course.lessons]
        titles += [f"  {DRILL}{topic}" for topic in TOPICS]
        with self.prevent(OptionList.OptionHighlighted):
            listed.clear_options().add_options([Option(title, id=str(place)) for place, title in enumerate(titles)])
            listed.highlighted = self.at

    def _complain(self) -> None:
        if said := self.progress.complaint():
            self.notify(said, severity="warning", markup=False)

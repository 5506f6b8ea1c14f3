"""Exercises without end, as the lessons show a thing to predict."""

from __future__ import annotations

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input

from shapecalc.teaching import ALL
from shapecalc.teaching.drill import Drill, judge_exercise, new_seed
from shapecalc.teaching.judging import unread
from shapecalc.teaching.progress import Progress
from shapecalc.tui.keys import Key
from shapecalc.tui.screens.task import KEYS, TaskPane, TaskScreen, bindings_of
from shapecalc.tui.texts import ClickableText

ABOUT = (
    "Random requests, which get harder. A missed one comes back soon, a known one later each time. Showing the "
    "answer counts as a miss; a hint does not count."
)


class Drilling(TaskScreen):
    """One exercise after the other, with the score."""

    KEYS = (*KEYS, Key("pagedown", "PgDn", "next", "next", "go to the next exercise", 4))
    BINDINGS = bindings_of(KEYS)

    def __init__(self, topic: str = ALL, progress: Progress | None = None) -> None:
        """Begin with the first exercise of a topic."""
        super().__init__()
        self.topic = topic
        self.progress = Progress() if progress is None else progress
        self.drill = Drill(topic, new_seed(), self.progress.tally.boxes)
        self.exercise = self.drill.exercise
        self.answered = False

    def compose(self) -> ComposeResult:
        """Show the exercise, and the keys under it."""
        with Vertical(classes="dialog"):
            yield TaskPane()
            yield ClickableText("keys")

    def on_mount(self) -> None:
        """Ask the first exercise."""
        self._ask()
        self.pane.field.focus()

    def working(self) -> frozenset[str]:
        """Return the actions that would do something now."""
        return super().working() - ({"submit", "answer", "hint"} if self.answered else {"next"})

    def _ask(self) -> None:
        """Ask the exercise that is next."""
        self.exercise, self.answered = self.drill.exercise, False
        title = f"Exercise {self.drill.answered + 1}, {self.topic}, level {self.exercise.level}\n"
        self.pane.ask(Text.assemble((title, "bold"), self._score()), self.exercise.task)
        self.show_keys()

    def _score(self) -> str:
        tally = self.progress.tally
        return f"{self.drill}; in all {tally}\n" if tally.asked else ""

    @on(Input.Submitted)
    def check(self, event: Input.Submitted) -> None:
        """Say whether the prediction is right, and show what happens. If that was said before, go on."""
        if self.answered:
            self.action_next()
        elif event.value.strip():
            self._judge(event.value)

    def action_answer(self) -> None:
        """Show the answer, which counts as a miss."""
        if not self.answered:
            self._judge("")

    def _judge(self, typed: str) -> None:
        """Judge an answer, and note how it was; what is no answer yet is only told. Nothing typed is a miss."""
        if typed and (problem := unread(self.exercise.task, typed)):
            self.pane.tell(problem, right=False)
            return
        judged = judge_exercise(self.exercise, typed)
        self.answered = True
        box = self.drill.mark(right=judged.right)
        self.progress.score(self.exercise.kind.name, box, right=judged.right)
        self.pane.tell(judged.said or "right", right=judged.right if typed else None)
        self.pane.reveal()
        self.show_keys()
        if said := self.progress.complaint():
            self.notify(said, severity="warning", markup=False)

    def action_next(self) -> None:
        """Go to the next exercise, if this one is answered."""
        if self.answered:
            self._ask()

    def action_back(self) -> None:
        """Leave the exercises."""
        self.dismiss(None)

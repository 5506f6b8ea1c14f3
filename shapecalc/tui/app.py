"""The terminal app."""

from __future__ import annotations

from textual.app import App

from shapecalc.tui.question import Question, Reply
from shapecalc.tui.screens.explore import Explore


class ShapecalcApp(App[Reply]):
    """Opens at a question, or at the lessons; ends with the answer where it is asked for."""

    TITLE = "shapecalc"
    CSS_PATH = "app.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (76, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (22, "-high")]

    def __init__(self, question: Question, step: int | None = None, *, lesson: bool = False) -> None:
        """Open with a question, at a step of it; the lessons over it where they were asked for."""
        super().__init__()
        self.explore = Explore(question, step)
        self.opens_lessons = lesson

    def on_mount(self) -> None:
        """Show the main screen."""
        self.animation_level = "none"
        self.push_screen(self.explore)
        if self.opens_lessons:
            self.explore.action_lessons()

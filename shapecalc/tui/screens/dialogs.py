"""The dialogs of the main screen, and what is taken from them: another question, a step, a prediction.

Each is imported when it is asked for, so that the first picture is there sooner.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import partial

from textual import on
from textual.screen import Screen

from shapecalc.core.record import replace
from shapecalc.tui.asking import hidden_text
from shapecalc.tui.fields import TextField
from shapecalc.tui.files import CLOSED, may_open
from shapecalc.tui.masking import WOULD_SHOW
from shapecalc.tui.question import CHAIN, Question, question_of
from shapecalc.tui.state import State, first_difference

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.mistakes import Mistake
    from shapecalc.teaching.lessons import Course
    from shapecalc.teaching.progress import Progress
    from shapecalc.tui.screens.lessons import Lessons


class WithDialogs(Screen[None]):
    """A screen about one question, as far as it opens dialogs over itself."""

    def __init__(self, state: State, progress: Progress | None) -> None:
        """Begin with no dialog open; `progress` says which lessons are done."""
        super().__init__()
        self.state = state
        self.progress = progress
        self.course: Course | None = None
        """The lessons that it was opened with; None for those of the program."""
        self._lesson = ""
        """The id of the lesson whose question was taken to the main screen; empty if none was."""

    @abstractmethod
    async def ask_anew(self, question: Question) -> None:
        """Ask a question that other fields may belong to."""

    @abstractmethod
    def show_soon(self) -> None:
        """Have the screen drawn soon."""

    @abstractmethod
    def focus_first(self) -> None:
        """Give the focus to what is typed into first."""

    # What is opened

    @on(TextField.Diagnosed)
    def show_diagnosis(self, event: TextField.Diagnosed) -> None:
        """Show what a pasted error message means."""
        from shapecalc.tui.screens.doctor import DoctorScreen

        self.app.push_screen(DoctorScreen(event.found), self._take_question)

    def action_choose(self, setting: str = "") -> None:
        """Choose the operator, the dialect and its settings, beginning with a setting if one is named."""
        from shapecalc.tui.screens.choose import Choose

        self.app.push_screen(Choose(self.state.question, setting, hidden_text(self.state)), self._take_question)

    def action_files(self) -> None:
        """Choose an array of a file as the input."""
        from shapecalc.tui.screens.files import Files

        if may_open():
            self.app.push_screen(Files("."), self._take_file)
        else:
            self.notify(CLOSED, markup=False)

    async def _take_file(self, path: str | None) -> None:
        if path is not None:
            await self.ask_anew(self.state.question.with_text("input", path))

    def action_compare(self) -> None:
        """Ask the same under every dialect."""
        from shapecalc.tui.screens.compare import Compare

        self.app.push_screen(Compare(self.state.question, hides=self.state.hides), self._take_row)

    def action_against(self) -> None:
        """Compare with another chain, once the answer is not hidden."""
        from shapecalc.tui.screens.against import Against

        if self.state.hides:
            self.notify(WOULD_SHOW, markup=False)
        elif self.state.outcome.answer is not None:
            self.app.push_screen(Against(self.state.outcome.answer, self.state.question.against), self._keep_against)

    def action_tally(self) -> None:
        """Count what a class predicts."""
        from shapecalc.tui.screens.tally import Tally

        if self.state.good is not None:
            self.app.push_screen(Tally(self.state.good), self._show_mistake)

    def _show_mistake(self, mistake: Mistake | None) -> None:
        """Show a mistake beside the truth."""
        if mistake is not None:
            self.state.predict(mistake)
            self.focus_first()
            self.show_soon()

    def action_simplify(self) -> None:
        """Show the shortest chain that does the same, once the answer is not hidden."""
        from shapecalc.tui.screens.simplify import Simplify

        if self.state.hides:
            self.notify(WOULD_SHOW, markup=False)
        elif self.state.outcome.answer is not None:
            self.app.push_screen(Simplify(self.state.outcome.answer), self._take_chain)

    def action_film(self) -> None:
        """Play the request as a film, from the step at hand; it asks about the dims that are hidden."""
        from shapecalc.tui.screens.film import FilmScreen

        state = self.state
        if state.good is not None:
            hidden = {state.predictions.cells[hole].step for hole in state.holes}
            self.app.push_screen(FilmScreen(state.good, None if state.settled else state.at, hidden))

    def action_save(self, kind: str) -> None:
        """Write the film or the picture of the step into a file; a browser gets it where it keeps its downloads."""
        from shapecalc.tui.saving import Saved, deliver
        from shapecalc.tui.screens.save import Save

        if self.state.good is not None:
            saved = Saved(kind, self.state.good, None if self.state.at >= self.state.last else self.state.at + 1)
            deliver(self.app, saved) if self.app.is_web else self.app.push_screen(Save(saved))

    def action_lessons(self) -> None:
        """Take a lesson."""
        from shapecalc.tui.screens.lessons import Lessons

        screen = Lessons(self.progress, self.course, self._lesson)
        self.app.push_screen(screen, partial(self._take_lesson, screen))

    def action_drill(self) -> None:
        """Take exercises of all topics."""
        from shapecalc.tui.screens.drill import Drilling

        self.app.push_screen(Drilling(progress=self.progress), self._take_question)

    def action_code(self) -> None:
        """Show code that does the same."""
        from shapecalc.tui.screens.code import CodeScreen

        if self.state.good is not None:
            self.app.push_screen(CodeScreen(self.state.good, hides=self.state.hides))

    def action_help(self) -> None:
        """Explain what has the focus, and every key."""
        from shapecalc.tui.screens.help import Help

        self.app.push_screen(Help(str(self.focused.id) if self.focused else "", self.state.question.op))

    # What is taken from them

    async def _take_question(self, question: Question | None) -> None:
        if question is not None:
            await self.ask_anew(question)

    async def _take_lesson(self, screen: Lessons, question: Question | None) -> None:
        """Ask the question of a lesson, and keep the lesson to go back to."""
        self._lesson = screen.lesson.id if screen.lesson and question else ""
        await self._take_question(question)

    async def _take_chain(self, text: str | None) -> None:
        """Ask about the short form of a chain, held against what the chain was held against."""
        if text is not None:
            await self.ask_anew(replace(question_of([CHAIN, text]), against=self.state.question.against))

    def _keep_against(self, text: str | None) -> None:
        self.state.question = replace(self.state.question, against=text or "")

    async def _take_row(self, question: Question | None) -> None:
        """Switch to a row of the comparison, at the first step that differs from the answer before."""
        before = self.state.good
        if question is None:
            return
        await self.ask_anew(question)
        if before is not None and self.state.good is not None:
            self.state.go(first_difference(before, self.state.good))
            self.show_soon()

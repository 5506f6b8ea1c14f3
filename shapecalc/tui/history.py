"""What was asked before, to go back to and forth again."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.tui.question import Question


class History:
    """The questions before the one that is asked, and those that were taken back.

    What is typed at one go in one field, or rubbed out there, is one change.
    """

    def __init__(self) -> None:
        """Begin with nothing before and nothing after."""
        self.past: list[Question] = []
        self.future: list[Question] = []
        self._change: tuple[str, bool] | None = None

    def note(self, before: Question, after: Question, field: str | None) -> None:
        """Note that a question takes the place of another because of a key in a field; None for any other reason."""
        if before == after:
            self._change = None
            return
        grows = field is not None and len(after.texts.get(field, "")) > len(before.texts.get(field, ""))
        change = None if field is None else (field, grows)
        if change is None or change != self._change:
            self.past.append(before)
        self.future.clear()
        self._change = change

    def back(self, now: Question) -> Question:
        """Return the question before the one that is asked now."""
        self._change = None
        self.future.append(now)
        return self.past.pop()

    def forth(self, now: Question) -> Question:
        """Return the question that was taken back last."""
        self._change = None
        self.past.append(now)
        return self.future.pop()

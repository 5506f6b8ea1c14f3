"""The prompt's line editor, with completion and a history that outlives it. Importing it takes as long as Typer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from platformdirs import user_state_path
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.history import History

TYPE_CHECKING = False
if TYPE_CHECKING:
    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document


MOST_LINES = 1000
"""How many lines of the history a prompt begins with."""


def line_editor(words_after: Callable[[str], Iterable[str]]) -> tuple[PromptSession[str], LineHistory]:
    """Return what reads lines from a terminal, where Tab completes and the arrow keys find earlier lines, and these."""
    history = LineHistory(user_state_path("shapecalc", appauthor=False) / "history")
    completer = PromptCompleter(words_after)
    return PromptSession(
        history=history, completer=completer, complete_while_typing=False, enable_suspend=True
    ), history


class PromptCompleter(Completer):
    """What Tab offers: words that go on from what is typed."""

    def __init__(self, words_after: Callable[[str], Iterable[str]]) -> None:
        """Keep what knows the words that may follow a text."""
        self.words_after = words_after

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield what the word before the cursor may become."""
        typed = document.get_word_before_cursor(WORD=True)
        for word in self.words_after(document.text_before_cursor.removesuffix(typed)):
            if word.startswith(typed):
                yield Completion(word, -len(typed))


class LineHistory(History):
    """The lines of this prompt and of those before it, one a line in a file; prompts at the same time share it."""

    def __init__(self, file: Path) -> None:
        """Read nothing yet."""
        super().__init__()
        self.file = file
        self.complaint = ""
        """Why the file cannot be kept; empty as long as it can."""

    def load_history_strings(self) -> Iterator[str]:
        """Yield the last lines of the file, the newest first; none if it cannot be read."""
        lines: list[str] = []
        with suppress(OSError):
            lines = self.file.read_text("utf-8", "replace").split("\n")
        return reversed(list(filter(None, lines))[-MOST_LINES:])

    def store_string(self, string: str) -> None:
        """Write a line to the end of the file."""
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with self.file.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(f"{string}\n")
        except OSError as error:
            self.complaint = error.strerror or str(error)

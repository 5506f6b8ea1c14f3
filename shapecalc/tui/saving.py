"""What the app saves of an answer: its film, or the picture of a step."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

from shapecalc.core.record import Record
from shapecalc.engine.whole_files import write_whole
from shapecalc.view.film import FORMATS, film_file
from shapecalc.view.still import ENDINGS, still

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from textual.app import App

    from shapecalc.core.answers import Chain, Trace

FILM = "film"


class Saved(Record):
    """A film, or the picture of a step, of an answer."""

    kind: str
    """`film` or `picture`."""
    answer: Trace | Chain
    step: int | None
    """The step of the picture, from 1; None for the whole answer."""

    @property
    def endings(self) -> tuple[str, ...]:
        """The endings that its file may have."""
        return tuple(FORMATS) if self.kind == FILM else ENDINGS

    def contents(self, name: str) -> bytes:
        """Return the contents of a file of that name; raise `ShapeError` (usage, file) if there are none."""
        if self.kind == FILM:
            return film_file(self.answer, name)[1]
        return still(self.answer, name, self.step)

    def write(self, name: str) -> None:
        """Write it into a new file; raise `ShapeError` (usage, file) or `OSError` if that cannot be done."""
        write_whole(Path(name), self.contents(name))


def deliver(app: App[Any], saved: Saved) -> None:
    """Hand an SVG to the browser, which keeps it where it keeps its downloads."""
    name = f"shapecalc-{saved.kind}.svg"
    app.deliver_text(StringIO(saved.contents(name).decode()), save_filename=name)

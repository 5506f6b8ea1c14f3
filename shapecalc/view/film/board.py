"""The board that a film is laid out on: rows with their places, the words that stand there, and the frames so far."""

from __future__ import annotations

from textwrap import wrap

from shapecalc.core.record import replace
from shapecalc.core.text import visible
from shapecalc.view.film.frames import Ask, Frame, Sprite
from shapecalc.view.film.tape import Tape
from shapecalc.view.strokes import UNICODE, clip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

TITLE, RAIL, INDEX, BEFORE, ASKED, AFTER, SUM, PART, HEAD = 0, 1, 3, 4, 5, 6, 7, 8, 9
"""The rows from the top: of the stage's dims, of a -1 and what it is made of, and over the first tape.

The last three are further down if there is room for empty rows before the first and the last of them: see `Board.row`.
"""
SAID, LOW = 3, 20
"""Lines of what is said, over the note at the bottom; one less where the film has fewer rows than the second number."""
LABELS = 8
"""The cells of the words before the dims."""
LEAST_COLUMN = 6
PACE = 18
"""Characters that are read in a second."""
LEAST_HOLD = 0.7


class Board:
    """What stands where now, and the frames that were made of it."""

    def __init__(self, width: int, height: int, column: int) -> None:
        """Start empty; a dim has `column` cells."""
        self.width, self.height, self.column = width, height, column
        self.said = SAID - (height < LOW)
        self.tape_rows = max(1, (height - HEAD - 2 - (height >= LOW) - self.said - 1) // 2)
        """The rows that each of two tapes may have."""
        self.gaps = self.between = 0
        """The empty rows over what is made of a -1 and under it, and between two tapes."""
        self.sprites: dict[str, Sprite] = {}
        self.frames: list[Frame] = []
        self._asks: Ask | None = None
        """What is asked before the frame that is made next."""
        self._last: dict[str, Sprite] = {}
        self.memory = 0
        """The number of the memory that the elements lie in; another one is written where they move."""
        self.tape: Tape | None = None
        self.notes: list[str] = []

    def fit(self, rows: int, tapes: int) -> None:
        """Give so many tapes so many rows each, and do with as little height as they need."""
        needed = HEAD + tapes * (rows + 1) + 1 + self.said + 1
        spare = max(0, self.height - needed)
        self.between = min(tapes - 1, spare) if tapes else 0
        self.gaps = min(2, spare - self.between)
        self.tape_rows, self.height = rows, min(self.height, needed + self.between + self.gaps)

    def row(self, row: int) -> int:
        """Return where the row of a -1, of what it is made of or over the first tape is."""
        return row + (self.gaps if row == HEAD else self.gaps // 2)

    @property
    def columns(self) -> int:
        """How many dims there is room for."""
        return max(1, (self.width - LABELS - 2) // self.column)

    def x(self, dim: int) -> int:
        """Return where a dim's column begins."""
        return LABELS + dim * self.column

    def put(self, key: str, x: float, y: float, text: str, look: str = "ink") -> None:
        """Let a word stand at a place, over what stands there."""
        self.sprites.pop(key, None)
        if text:
            self.sprites[key] = Sprite(x, y, clip(visible(text), max(1, self.width - int(x)), UNICODE), look)

    def put_dim(self, key: str, dim: int, y: int, text: str, look: str = "ink") -> None:
        """Let a word stand in the column of a dim, if there is room for that column; dots stand for those without."""
        if dim < self.columns:
            self.put(key, self.x(dim), y, clip(text, self.column - 1, UNICODE), look)
        elif dim == self.columns:
            self.put(key, self.x(dim), y, UNICODE.dots, "quiet")
            self.note(f"dims from {dim} on have no room")

    def glide(self, key: str, start: tuple[float, float]) -> None:
        """Let the word under a key come from a place in the frame that is made next."""
        if key in self.sprites and key not in self._last:
            self._last[key] = Sprite(*start, "")

    def drop(self, *starts: str) -> None:
        """Take away the words whose keys start so."""
        self.sprites = {key: sprite for key, sprite in self.sprites.items() if not key.startswith(starts)}

    def remove(self, key: str) -> None:
        """Take away the word under a key, if there is one."""
        self.sprites.pop(key, None)

    def light(self, keys: Iterable[str], look: str = "lit") -> None:
        """Give words other looks."""
        for key in keys:
            if key in self.sprites:
                self.sprites[key] = replace(self.sprites[key], look=look)

    def reword(self, key: str, text: str) -> None:
        """Put another word in the place of the one under a key, if there is one."""
        if key in self.sprites:
            self.sprites[key] = replace(self.sprites[key], text=text)

    def note(self, text: str) -> None:
        """Keep what the film leaves out or takes; frames show it at the bottom."""
        if text not in self.notes:
            self.notes.append(text)

    def ask(self, asks: Ask | None) -> None:
        """Have something asked before the frame that is made next."""
        self._asks = asks

    def frame(self, sentence: str, step: int | None, *, arrive: float = 0.8, hold: float | None = None) -> None:
        """Make a frame of what stands there now, with what is said of it."""
        lines = wrap(visible(sentence), self.width) or [""]
        if len(lines) > self.said:
            lines[self.said - 1 :] = [clip(" ".join(lines[self.said - 1 :]), self.width, UNICODE)]
        for number in range(self.said):
            self.put(f"say{number}", 0, self.height - 1 - self.said + number, "".join(lines[number : number + 1]))
        self.put("note", 0, self.height - 1, "; ".join(self.notes), "quiet")
        self._last = dict(self.sprites)
        rest = max(LEAST_HOLD, len(sentence) / PACE) if hold is None else hold
        self.frames.append(Frame(self._last, sentence, step, arrive, rest, self._asks))
        self._asks = None

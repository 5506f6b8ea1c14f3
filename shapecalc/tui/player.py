"""What plays a film: where it stands, how fast it goes, and where it stops to ask. Nothing here draws."""

from __future__ import annotations

from shapecalc.core.problem import ShapeError
from shapecalc.core.text import read_shape
from shapecalc.view.film.frames import frame_at, picture_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from shapecalc.view.film.frames import Ask, Film, Sprite

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0)
JUST_BEFORE = 1e-6
"""Seconds before a frame begins, at which the one before is whole."""


class Player:
    """A film and the second that is shown.

    >>> import shapecalc as sc
    >>> from shapecalc.view.film.scenes import film_of
    >>> player = Player(film_of(sc.reshape((2, 3), (0, -1))))
    >>> player.asks = True
    >>> player.toggle(), player.tick(60)
    (None, None)
    >>> player.question.question, player.playing
    ('What does output dim 0, asked for as 0, become?', False)
    >>> player.is_right("3"), player.is_right("2"), player.question
    (False, True, None)
    """

    def __init__(self, film: Film, hidden: Collection[int] = ()) -> None:
        """Stand at the beginning. It asks about the steps that are `hidden`, and about no others if there are some."""
        self.film, self.starts = film, film.starts
        self.second, self.speed, self.playing = 0.0, 1.0, False
        self.asks = bool(hidden)
        """Whether it stops before a dim is filled, and asks for it."""
        shown = [frame for frame in film.frames if hidden and frame.step is not None and frame.step not in hidden]
        self._known = {(frame.step, frame.asks) for frame in shown}
        """What is not asked, or not again: the steps with the questions."""

    @property
    def frame(self) -> int:
        """The number of the frame that is shown."""
        return frame_at(self.starts, self.second)

    @property
    def picture(self) -> tuple[Sprite, ...]:
        """The words that are seen now."""
        return picture_at(self.film, self.starts, self.second)

    @property
    def at_end(self) -> bool:
        """Whether there is nothing more to play."""
        return self.second >= self.film.seconds - JUST_BEFORE

    @property
    def question(self) -> Ask | None:
        """What is asked now; None if nothing is."""
        following = self.frame + 1
        stands = following < len(self.film.frames) and self.second >= self.starts[following] - 2 * JUST_BEFORE
        return self._asked(following) if stands else None

    def _asked(self, frame: int) -> Ask | None:
        """Return what is asked before a frame; None if it was answered, or if nothing is to be asked."""
        asking = self.film.frames[frame]
        return asking.asks if self.asks and (asking.step, asking.asks) not in self._known else None

    def _reached(self, second: float) -> float:
        """Return a second, or that before which something is asked on the way there."""
        for frame in range(self.frame + 1, len(self.film.frames)):
            if self.starts[frame] <= second and self._asked(frame):
                return self.starts[frame] - JUST_BEFORE
        return second

    def tick(self, seconds: float) -> None:
        """Go on for so long, up to the next question or the end."""
        if not self.playing:
            return
        self.second = self._reached(min(self.second + seconds * self.speed, self.film.seconds))
        self.playing = not self.at_end and self.question is None

    def toggle(self) -> None:
        """Play, or stop; at the end, play again from the beginning."""
        self.second = 0.0 if self.at_end else self.second
        self.playing = not self.playing and self.question is None

    def go(self, second: float) -> None:
        """Stand at a second, or at the end; no further than where something is asked."""
        self.second = self._reached(max(0.0, min(second, self.film.seconds)))

    def show(self, frame: int) -> None:
        """Stand at the end of a frame, where it is whole; no further than where something is asked."""
        frame = max(0, min(frame, len(self.film.frames) - 1))
        self.playing = False
        self.go(self.starts[frame + 1] - JUST_BEFORE)

    @property
    def arriving(self) -> bool:
        """Whether words of the frame that is shown are still on their way, or stand for a moment."""
        return self.second < self.starts[self.frame + 1] - 2 * JUST_BEFORE

    def follow(self, other: Player) -> None:
        """Stand, play and ask as another player of the same answer does, at the same frame."""
        self.speed, self.playing, self.asks, self._known = other.speed, other.playing, other.asks, other._known
        frame = min(other.frame, len(self.film.frames) - 1)
        self.second = self.starts[frame] + min(other.second - other.starts[other.frame], self.film.frames[frame].arrive)

    def show_step(self, step: int) -> None:
        """Stand where a step begins, if it has a frame."""
        found = [number for number, frame in enumerate(self.film.frames) if frame.step == step]
        self.second = 0.0
        self.go(self.starts[found[0]] if found else 0.0)

    def hurry(self, by: int) -> None:
        """Go on faster or slower, by so many speeds."""
        place = SPEEDS.index(self.speed) + by
        self.speed = SPEEDS[max(0, min(place, len(SPEEDS) - 1))]

    def is_right(self, text: str) -> bool:
        """Say whether a text is the answer to the question; the film may then go on."""
        question = self.question
        if question is None:
            return False
        try:
            right = read_shape(text) == read_shape(question.answer)
        except ShapeError:
            return False
        if right:
            self.reveal()
        return right

    def reveal(self) -> None:
        """Let the film go on past its question, answered or not."""
        answered = self.film.frames[self.frame + 1]
        self._known.add((answered.step, answered.asks))
        self.second = min(self.starts[self.frame + 1], self.film.seconds)
        self.playing = True

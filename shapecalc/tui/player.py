"""What plays a film: where it stands, how fast it goes, and where it stops to ask. Nothing here draws."""

from __future__ import annotations

from shapecalc.core.sizes.problem import ShapeError
from shapecalc.core.sizes.text import read_shape
from shapecalc.view.film.frames import frame_at, picture_at

TYPE_CHECKING = False
if TYPE_CHECKING:
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

    def __init__(self, film: Film) -> None:
        """Stand at the beginning."""
        self.film, self.starts = film, film.starts
        self.second, self.speed, self.playing = 0.0, 1.0, False
        self.asks = False
        """Whether it stops before a dim is filled, and asks for it."""
        self._known: set[int] = set()
        """The frames whose questions were answered."""

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
        return self.film.frames[frame].asks if self.asks and frame not in self._known else None

    def tick(self, seconds: float) -> None:
        """Go on for so long, up to the next question or the end."""
        if not self.playing:
            return
        goal = min(self.second + seconds * self.speed, self.film.seconds)
        for frame in range(self.frame + 1, len(self.film.frames)):
            if self.starts[frame] <= goal and self._asked(frame):
                self.second, self.playing = self.starts[frame] - JUST_BEFORE, False
                return
        self.second = goal
        self.playing = not self.at_end

    def toggle(self) -> None:
        """Play, or stop; at the end, play again from the beginning."""
        self.second = 0.0 if self.at_end else self.second
        self.playing = not self.playing and self.question is None

    def go(self, second: float) -> None:
        """Stand at a second, or at the end."""
        self.second = max(0.0, min(second, self.film.seconds))

    def show(self, frame: int) -> None:
        """Stand at the end of a frame, where it is whole."""
        frame = max(0, min(frame, len(self.film.frames) - 1))
        self.playing = False
        self.second = self.starts[frame + 1] - JUST_BEFORE

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
        self.second = self.starts[found[0]] if found else 0.0

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
        self._known.add(self.frame + 1)
        self.second = min(self.starts[self.frame + 1], self.film.seconds)
        self.playing = True

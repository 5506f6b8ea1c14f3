"""The film screen (^R), which plays a request and pauses at questions."""

from __future__ import annotations

from collections.abc import Callable, Collection
from time import monotonic

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.timer import Timer
from textual.widgets import Input, Label

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import replace
from shapecalc.core.text import read_shape
from shapecalc.teaching.progress import Score
from shapecalc.tui import widgets
from shapecalc.view.film import screen
from shapecalc.view.scenes import Ask, Film, Sprite, film_of, frame_at, picture_at

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0)
JUST_BEFORE = 1e-6
"""The seconds before a frame at which the frame before it is complete."""
RATE = 36
"""The timer ticks per second of a playing film.

Some ticks are late: 36 give at least 30 pictures.
"""
KEYS: tuple[widgets.Key, ...] = (
    widgets.Key("space", "space", "play, stop", "play", "play, or stop", 0),
    widgets.Key("right", "→", "next", "step(1)", "go a frame on", 1),
    widgets.Key("left", "←", "back", "step(-1)", "go a frame back", 2),
    widgets.Key("plus", "+", "faster", "hurry(1)", "go faster", 3),
    widgets.Key("minus", "-", "slower", "hurry(-1)", "go slower", 4),
    widgets.Key("a", "a", "ask me", "ask", "ask before each dim is filled", 5),
    widgets.Key("escape,ctrl+r", "esc", "close", "dismiss", "close the film", 6),
)
"""The keys of the film screen."""
ANSWERING = (widgets.Key("enter", "enter", "answer; if nothing is typed, show it", "step(1)", "", 0), KEYS[-1])
"""The keys that are shown while a question is open."""


class Player:
    """The state of a playing film: position, speed and questions. It draws nothing.

    >>> import shapecalc as sc
    >>> from shapecalc.view.scenes import film_of
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
        """Start at the beginning.

        If there are `hidden_steps`, only these have questions.
        """
        self.film, self.starts = film, film.starts
        self.second, self.speed, self.playing = 0.0, 1.0, False
        self.asks = bool(hidden)
        """Whether it pauses at the question before a dim is filled."""
        known_frames = [
            frame for frame in film.frames if hidden and frame.step is not None and frame.step not in hidden
        ]
        self._known = {(frame.step, frame.asks) for frame in known_frames}
        """The questions that are skipped, each with its step: answered or not hidden."""

    @property
    def frame(self) -> int:
        """The index of the current frame."""
        return frame_at(self.starts, self.second)

    @property
    def picture(self) -> tuple[Sprite, ...]:
        """The words at the current time."""
        return picture_at(self.film, self.starts, self.second)

    @property
    def at_end(self) -> bool:
        """Whether the film has ended."""
        return self.second >= self.film.seconds - JUST_BEFORE

    @property
    def question(self) -> Ask | None:
        """The open question. None if there is none."""
        next_frame = self.frame + 1
        is_reached = next_frame < len(self.film.frames) and self.second >= self.starts[next_frame] - 2 * JUST_BEFORE
        return self._asked(next_frame) if is_reached else None

    def _asked(self, frame: int) -> Ask | None:
        """Return the question before a frame; None if it has none, or a known one."""
        film_frame = self.film.frames[frame]
        return film_frame.asks if self.asks and (film_frame.step, film_frame.asks) not in self._known else None

    def _reached(self, second: float) -> float:
        """Return a time, or that of the first question before it."""
        for frame in range(self.frame + 1, len(self.film.frames)):
            if self.starts[frame] <= second and self._asked(frame):
                return self.starts[frame] - JUST_BEFORE
        return second

    def tick(self, seconds: float) -> None:
        """Advance by a time, up to the next question or the end."""
        if not self.playing:
            return
        self.second = self._reached(min(self.second + seconds * self.speed, self.film.seconds))
        self.playing = not self.at_end and self.question is None

    def toggle(self) -> None:
        """Play or pause. At the end, play again from the beginning."""
        self.second = 0.0 if self.at_end else self.second
        self.playing = not self.playing and self.question is None

    def go(self, second: float) -> None:
        """Go to a time, up to the next question."""
        self.second = self._reached(max(0.0, min(second, self.film.seconds)))

    def show(self, frame: int) -> None:
        """Go to the end of a frame, where it is complete, up to the next question."""
        frame = max(0, min(frame, len(self.film.frames) - 1))
        self.playing = False
        self.go(self.starts[frame + 1] - JUST_BEFORE)

    def step(self, by: int) -> None:
        """Go some frames forward or back. Going forward from a question reveals it."""
        if by > 0 and self.question is not None:
            self.reveal()
        self.show(self.frame + by * (by < 0 or not self.arriving))

    @property
    def arriving(self) -> bool:
        """Whether the words of the current frame still move or are held."""
        return self.second < self.starts[self.frame + 1] - 2 * JUST_BEFORE

    def follow(self, other: Player) -> None:
        """Copy the state of another player of the same answer, at the same frame."""
        self.speed, self.playing, self.asks, self._known = other.speed, other.playing, other.asks, other._known
        frame = min(other.frame, len(self.film.frames) - 1)
        self.second = self.starts[frame] + min(other.second - other.starts[other.frame], self.film.frames[frame].arrive)

    def show_step(self, step: int) -> None:
        """Go to the start of a step, if it has a frame."""
        frames = [number for number, frame in enumerate(self.film.frames) if frame.step == step]
        self.second = 0.0
        self.go(self.starts[frames[0]] if frames else 0.0)

    def hurry(self, by: int) -> None:
        """Change the speed by some levels."""
        level = SPEEDS.index(self.speed) + by
        self.speed = SPEEDS[max(0, min(level, len(SPEEDS) - 1))]

    def is_right(self, text: str) -> bool:
        """Return whether a text answers the question. If so, the film goes on."""
        question = self.question
        if question is None:
            return False
        try:
            is_equal = read_shape(text) == read_shape(question.answer)
        except ShapeError:
            return False
        if is_equal:
            self.reveal()
        return is_equal

    def reveal(self) -> None:
        """Mark the question as known, and go on."""
        next_frame = self.film.frames[self.frame + 1]
        self._known.add((next_frame.step, next_frame.asks))
        self.second = min(self.starts[self.frame + 1], self.film.seconds)
        self.playing = True


class Scrubber(widgets.ClickableText):
    """A line as long as the film with a mark at the current position. A click seeks."""

    room = 0

    def draw(self, player: Player) -> None:
        """Show the position, the time, the frame and the speed."""
        frames, speed = len(player.film.frames), f"{player.speed:g}x"
        status = (
            f" {player.second:5.1f} of {player.film.seconds:.1f} s   frame {player.frame + 1} of {frames}   {speed}"
        )
        self.room = max(1, self.app.size.width - len(status) - 4)
        position = min(self.room - 1, int(self.room * player.second / max(player.film.seconds, 1e-9)))
        sign = "▶" if player.playing else "■"
        self.put(Text(f" {sign} {'━' * position}●{'─' * (self.room - 1 - position)}{status}", no_wrap=True, end=""))

    def on_click(self, event: events.Click) -> None:
        """Post the fraction of the film that was clicked."""
        self.post_message(widgets.MarkClicked("part", max(0.0, min(1.0, (event.x - 3) / self.room))))


class FilmPane(widgets.FocusableText):
    """The pane of the film.

    Only changed lines are drawn, since most pictures of a film change few.
    """

    player: Player | None = None

    def draw(self) -> None:
        """Show the current words."""
        if self.player is not None:
            self.put(screen(self.player.film, self.player.picture, self.background_colors[1].rgb))


class FilmScreen(widgets.Dialog[None]):
    """One answer as a film in the whole terminal."""

    KEYS = KEYS
    BINDINGS = [
        *widgets.bindings_of(KEYS),
        Binding("pagedown", "step(1)", "frame on", priority=True),
        Binding("pageup", "step(-1)", "frame back", priority=True),
        Binding("home", "show(0)", "to the beginning"),
        Binding("end", f"show({10**6})", "to the end"),
    ]

    def __init__(self, answer: Trace | Chain, step: int | None, hidden: Collection[int], score: Score) -> None:
        """Play an answer, from one of its steps or from the beginning.

        If there are `hidden_steps`, only these have questions.
        """
        super().__init__()
        self.score = score
        self._marked: Ask | None = None
        self.answer, self.step, self.hidden = answer, step, hidden
        self.player: Player | None = None
        self._clock: Timer | None = None
        self._before = 0.0

    def compose(self) -> ComposeResult:
        """Place scrubber and keys below the film. A question replaces the scrubber."""
        yield widgets.Enlarge(id="enlarge")
        with Vertical(id="all"):
            yield FilmPane("film")
            with Horizontal(id="question"):
                yield Label("", id="asked", markup=False)
                yield widgets.AnswerField(id="predicted")
            yield Scrubber("scrubber")
            yield widgets.ClickableText("keys")

    def on_mount(self) -> None:
        """Create the clock, which is paused until the film plays."""
        self._clock = self.set_interval(1 / RATE, self.tick, pause=True)
        self.query_one(FilmPane).focus()
        self.query_one("#question").display = False

    def on_resize(self, event: events.Resize) -> None:
        """Make the film for the new size, at the same frame."""
        self.set_class(widgets.Enlarge.is_needed(event.size), "-small")
        self.call_after_refresh(self.fit)

    def fit(self) -> None:
        """Make the film for the size of the pane."""
        pane, old = self.query_one(FilmPane), self.player
        if not pane.size.width:
            return
        film = film_of(self.answer, pane.size.width, pane.size.height)
        self.player = pane.player = Player(film, self.hidden)
        if old is None:
            self.player.show_step(-1 if self.step is None else self.step)
            self.action_play()
        else:
            self.player.follow(old)
        self.show()

    def _change(self, change: Callable[[Player], object]) -> None:
        """Change the player, if there is one, and show it."""
        if self.player is not None:
            change(self.player)
            self.show()

    def action_play(self) -> None:
        """Play or pause."""
        self._change(Player.toggle)

    def action_step(self, by: int) -> None:
        """Go a frame forward or back. Forward from a question, its answer is revealed."""
        if by > 0 and self.player is not None:
            self._mark(self.player.question, right=False)
        self._change(lambda player: player.step(by))

    def action_show(self, frame: int) -> None:
        """Go to the end of a frame, or of the last one."""
        self._change(lambda player: player.show(frame))

    def action_hurry(self, by: int) -> None:
        """Change the speed."""
        self._change(lambda player: player.hurry(by))

    def action_ask(self) -> None:
        """Turn questions on or off."""
        self._change(lambda player: setattr(player, "asks", not player.asks))

    @on(Input.Submitted)
    def check(self, event: Input.Submitted) -> None:
        """Go on if the prediction is right. If it is empty, reveal the answer."""
        if self.player is None or (question := self.player.question) is None:
            return
        right = bool(event.value.strip()) and self.player.is_right(event.value)
        self._mark(question, right=right)
        if not event.value.strip():
            self.player.reveal()
        elif not right:
            self.query_one("#asked", Label).update(f"That is not right. {question.question} ")
            return
        self.show()

    def _mark(self, question: Ask | None, *, right: bool) -> None:
        """Score the first answer to a question."""
        if question is not None and question is not self._marked:
            self.score.mark(right=right)
            self._marked = question

    @on(widgets.MarkClicked)
    def go_to_part(self, event: widgets.MarkClicked) -> None:
        """Seek to the clicked part of the film."""
        if event.kind == "part":
            self._change(lambda player: player.go(float(str(event.value)) * player.film.seconds))

    def tick(self) -> None:
        """Show the next moment."""
        now, player = monotonic(), self.player
        if player is None:
            return
        player.tick(now - self._before)
        self._before = now
        if player.playing:
            self.query_one(FilmPane).draw()
            self.query_one(Scrubber).draw(player)
        else:
            self.show()

    def show(self) -> None:
        """Show everything, and run the clock while the film plays."""
        player = self.player
        if player is None or self._clock is None or not self.is_attached:
            return
        self._before = monotonic()
        (self._clock.resume if player.playing else self._clock.pause)()
        self._show_question()
        self.query_one(FilmPane).draw()
        self.query_one(Scrubber).draw(player)
        self.query_one("#keys", widgets.ClickableText).put(_keys_text(player, self.app.size.width))

    def _show_question(self) -> None:
        """Show the open question instead of the scrubber."""
        question = self.player.question if self.player else None
        row, field = self.query_one("#question"), self.query_one(widgets.AnswerField)
        asking = question is not None
        if asking != row.display:
            row.display, self.query_one(Scrubber).display = asking, not asking
            field.value = ""
            (field if asking else self.query_one(FilmPane)).focus()
        if question is not None:
            self.query_one("#asked", Label).update(f"{self.score}  {question.question} ".lstrip())


def _keys_text(player: Player, width: int) -> Text:
    """Return as many keys as fit."""
    shown = KEYS if player.question is None else ANSWERING
    if player.asks:
        shown = tuple([replace(key, label=f"{key.label}: on") if key.action == "ask" else key for key in shown])
    return Text(" ").append_text(widgets.keys_line(frozenset(key.action for key in shown), width - 3, shown))

"""^R: the request as a film, which plays, stops, goes frame by frame, and asks before a dim is filled."""

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
"""Seconds before a frame begins, at which the one before is whole."""
RATE = 36
"""Pictures in a second while it plays: some come late, and 30 are wanted."""
KEYS: tuple[widgets.Key, ...] = (
    widgets.Key("space", "space", "play, stop", "play", "play, or stop", 0),
    widgets.Key("right", "→", "next", "step(1)", "go a frame on", 1),
    widgets.Key("left", "←", "back", "step(-1)", "go a frame back", 2),
    widgets.Key("plus", "+", "faster", "hurry(1)", "go faster", 3),
    widgets.Key("minus", "-", "slower", "hurry(-1)", "go slower", 4),
    widgets.Key("a", "a", "ask me", "ask", "ask before each dim is filled", 5),
    widgets.Key("escape,ctrl+r", "esc", "close", "dismiss", "close the film", 6),
)
"""What works beside the film, as it is shown."""
ANSWERING = (widgets.Key("enter", "enter", "answer; if nothing is typed, show it", "step(1)", "", 0), KEYS[-1])
"""What is shown while something is asked."""


class Player:
    """A film and the second that is shown: where it stands, how fast it goes, where it stops to ask. It draws nothing.

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

    def step(self, by: int) -> None:
        """Go a frame on or back; on from a question, which gives its answer."""
        if by > 0 and self.question is not None:
            self.reveal()
        self.show(self.frame + by * (by < 0 or not self.arriving))

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


class Scrubber(widgets.ClickableText):
    """A line as long as the film, with a mark where it stands; a click goes there."""

    room = 0

    def draw(self, player: Player) -> None:
        """Show where the film stands, beside the seconds, the frame and the speed."""
        frames, speed = len(player.film.frames), f"{player.speed:g}x"
        right = f" {player.second:5.1f} of {player.film.seconds:.1f} s   frame {player.frame + 1} of {frames}   {speed}"
        self.room = max(1, self.app.size.width - len(right) - 4)
        here = min(self.room - 1, int(self.room * player.second / max(player.film.seconds, 1e-9)))
        sign = "▶" if player.playing else "■"
        self.put(Text(f" {sign} {'━' * here}●{'─' * (self.room - 1 - here)}{right}", no_wrap=True, end=""))

    def on_click(self, event: events.Click) -> None:
        """Tell to which part of the film was gone."""
        self.post_message(widgets.MarkClicked("part", max(0.0, min(1.0, (event.x - 3) / self.room))))


class FilmPane(widgets.FocusableText):
    """Where the film is seen. Only lines that change are drawn: most pictures of a film change few."""

    player: Player | None = None

    def draw(self) -> None:
        """Show the moment."""
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
        """Play an answer, from one of its steps or from the beginning. It asks about the steps that are `hidden`."""
        super().__init__()
        self.score = score
        self._marked: Ask | None = None
        self.answer, self.step, self.hidden = answer, step, hidden
        self.player: Player | None = None
        self._clock: Timer | None = None
        self._before = 0.0

    def compose(self) -> ComposeResult:
        """Put the scrubber and the keys under the film; the question takes the scrubber's place."""
        yield widgets.Enlarge(id="enlarge")
        with Vertical(id="all"):
            yield FilmPane("film")
            with Horizontal(id="question"):
                yield Label("", id="asked", markup=False)
                yield widgets.AnswerField(id="predicted")
            yield Scrubber("scrubber")
            yield widgets.ClickableText("keys")

    def on_mount(self) -> None:
        """Start the clock; it stands still until the film plays."""
        self._clock = self.set_interval(1 / RATE, self.tick, pause=True)
        self.query_one(FilmPane).focus()
        self.query_one("#question").display = False

    def on_resize(self, event: events.Resize) -> None:
        """Make the film anew for the room that there is, and stay at the same frame."""
        self.set_class(widgets.Enlarge.is_needed(event.size), "-small")
        self.call_after_refresh(self.fit)

    def fit(self) -> None:
        """Make the film for the room there is."""
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

    # What the user does

    def _change(self, change: Callable[[Player], object]) -> None:
        """Change what plays, once there is room for it, and show it."""
        if self.player is not None:
            change(self.player)
            self.show()

    def action_play(self) -> None:
        """Play, or stop."""
        self._change(Player.toggle)

    def action_step(self, by: int) -> None:
        """Go a frame on or back; on from a question, which gives its answer."""
        if by > 0 and self.player is not None:
            self._mark(self.player.question, right=False)
        self._change(lambda player: player.step(by))

    def action_show(self, frame: int) -> None:
        """Go to the end of a frame; of the last if there are fewer."""
        self._change(lambda player: player.show(frame))

    def action_hurry(self, by: int) -> None:
        """Go faster or slower."""
        self._change(lambda player: player.hurry(by))

    def action_ask(self) -> None:
        """Ask before each dim is filled, or ask no more."""
        self._change(lambda player: setattr(player, "asks", not player.asks))

    @on(Input.Submitted)
    def check(self, event: Input.Submitted) -> None:
        """Go on if the prediction is right; with nothing typed, show what is right."""
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
        """Count the first answer to a question."""
        if question is not None and question is not self._marked:
            self.score.mark(right=right)
            self._marked = question

    @on(widgets.MarkClicked)
    def go_to_part(self, event: widgets.MarkClicked) -> None:
        """Go to the part of the film that was clicked."""
        if event.kind == "part":
            self._change(lambda player: player.go(float(str(event.value)) * player.film.seconds))

    # What is shown

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
        """Show everything, and let the clock run while the film plays."""
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
        """Show the question in place of the scrubber while one is asked."""
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
    """Return the keys, as many as there is room for."""
    shown = KEYS if player.question is None else ANSWERING
    if player.asks:
        shown = tuple([replace(key, label=f"{key.label}: on") if key.action == "ask" else key for key in shown])
    return Text(" ").append_text(widgets.keys_line(frozenset(key.action for key in shown), width - 3, shown))

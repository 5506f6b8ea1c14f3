"""The screen that animates an answer as a film.

A film consists of frames; each frame draws one step of the answer. A sprite is a text at a position in a frame. In
learning mode, the film pauses before a frame that determines a dim, and asks for the dim.
"""

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
from shapecalc.core.text import parse_shape
from shapecalc.render.film import render_screen
from shapecalc.render.scenes import Film, FilmQuestion, Sprite, frame_at, make_film, sprites_at
from shapecalc.teaching.progress import Score
from shapecalc.tui import widgets

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0)
FRAME_EPSILON = 1e-6
"""The time between the end of a frame and the start of the next one, in seconds."""
TICK_RATE = 36
"""The number of timer ticks per second while a film plays.

Some ticks are late; with 36 ticks, there are at least 30 drawings per second.
"""
KEYS: tuple[widgets.Key, ...] = (
    widgets.Key("space", "space", "play, stop", "play", "play, or stop", 0),
    widgets.Key("right", "→", "next", "step(1)", "go a frame on", 1),
    widgets.Key("left", "←", "back", "step(-1)", "go a frame back", 2),
    widgets.Key("plus", "+", "faster", "change_speed(1)", "go faster", 3),
    widgets.Key("minus", "-", "slower", "change_speed(-1)", "go slower", 4),
    widgets.Key("a", "a", "ask me", "ask", "ask before each dim is filled", 5),
    widgets.Key("escape", "esc", "close", "dismiss", "close the film", 6),
)
"""The keys of the film screen."""
QUESTION_KEYS = (widgets.Key("enter", "enter", "answer; if nothing is typed, show it", "step(1)", "", 0), KEYS[-1])
"""The keys of the film screen while it waits for an answer."""


class Player:
    """The playback state of a film: time, speed and answered questions.

    >>> import shapecalc as sc
    >>> from shapecalc.render.scenes import make_film
    >>> player = Player(make_film(sc.reshape((2, 3), (0, -1))))
    >>> player.is_asking = True
    >>> player.toggle_playback(), player.advance(60)
    (None, None)
    >>> player.question.question, player.is_playing
    ('What does output dim 0, asked for as 0, become?', False)
    >>> player.submit_answer("3"), player.submit_answer("2"), player.question
    (False, True, None)
    """

    def __init__(self, film: Film, hidden_steps: Collection[int] = ()) -> None:
        """Start at the beginning of a film.

        The film asks for the dims of the steps in `hidden_steps`; if there are none, it does not ask until asking is
        turned on.
        """
        self.film, self.frame_starts = film, film.frame_starts
        self.time, self.speed, self.is_playing = 0.0, 1.0, False
        self.is_asking = bool(hidden_steps)
        """Whether the film pauses and asks for a dim before it shows the dim."""
        known_frames = [
            frame
            for frame in film.frames
            if hidden_steps and frame.step_index is not None and frame.step_index not in hidden_steps
        ]
        self._settled_prompts = {(frame.step_index, frame.prompt) for frame in known_frames}
        """The step index and the prompt of each question that is not asked, or not asked again."""

    @property
    def frame_index(self) -> int:
        """The index of the current frame."""
        return frame_at(self.frame_starts, self.time)

    @property
    def sprites(self) -> tuple[Sprite, ...]:
        """The sprites at the current time, at their interpolated positions."""
        return sprites_at(self.film, self.frame_starts, self.time)

    @property
    def is_at_end(self) -> bool:
        """Whether the film has ended."""
        return self.time >= self.film.seconds - FRAME_EPSILON

    @property
    def question(self) -> FilmQuestion | None:
        """The unanswered question at which the film is paused, or None."""
        next_frame = self.frame_index + 1
        is_reached = (
            next_frame < len(self.film.frames) and self.time >= self.frame_starts[next_frame] - 2 * FRAME_EPSILON
        )
        return self._question_before(next_frame) if is_reached else None

    def _question_before(self, frame: int) -> FilmQuestion | None:
        """Return the question that precedes a frame, or None."""
        film_frame = self.film.frames[frame]
        return (
            film_frame.prompt
            if self.is_asking and (film_frame.step_index, film_frame.prompt) not in self._settled_prompts
            else None
        )

    def _limit_to_question(self, seconds: float) -> float:
        """Return the given time, or the time of the next question if that is earlier.

        Times are in seconds.
        """
        for frame in range(self.frame_index + 1, len(self.film.frames)):
            if self.frame_starts[frame] <= seconds and self._question_before(frame):
                return self.frame_starts[frame] - FRAME_EPSILON
        return seconds

    def advance(self, seconds: float) -> None:
        """Advance the film by `seconds` times the speed.

        At a question, the film stops.
        """
        if not self.is_playing:
            return
        self.time = self._limit_to_question(min(self.time + seconds * self.speed, self.film.seconds))
        self.is_playing = not self.is_at_end and self.question is None

    def toggle_playback(self) -> None:
        """Play or pause the film.

        At the end, the film is played from the beginning.
        """
        self.time = 0.0 if self.is_at_end else self.time
        self.is_playing = not self.is_playing and self.question is None

    def seek(self, seconds: float) -> None:
        """Go to a time in seconds, or to the first question before that time."""
        self.time = self._limit_to_question(max(0.0, min(seconds, self.film.seconds)))

    def show_frame(self, frame: int) -> None:
        """Pause at the end of a frame, or at the first question before it."""
        frame = max(0, min(frame, len(self.film.frames) - 1))
        self.is_playing = False
        self.seek(self.frame_starts[frame + 1] - FRAME_EPSILON)

    def step_frames(self, count: int) -> None:
        """Move `count` frames forward, or backward if it is negative.

        A question that is passed counts as answered.
        """
        if count > 0 and self.question is not None:
            self.skip_question()
        self.show_frame(self.frame_index + count * (count < 0 or not self.is_before_frame_end))

    @property
    def is_before_frame_end(self) -> bool:
        """Whether the end of the current frame is later than the current time."""
        return self.time < self.frame_starts[self.frame_index + 1] - 2 * FRAME_EPSILON

    def copy_state(self, other: Player) -> None:
        """Copy the settings and the position of another player for the same answer."""
        self.speed, self.is_playing, self.is_asking, self._settled_prompts = (
            other.speed,
            other.is_playing,
            other.is_asking,
            other._settled_prompts,
        )
        frame = min(other.frame_index, len(self.film.frames) - 1)
        self.time = self.frame_starts[frame] + min(
            other.time - other.frame_starts[other.frame_index], self.film.frames[frame].arrival_seconds
        )

    def show_step(self, step_index: int) -> None:
        """Go to the first frame of a step, or to the beginning if the step has no frame."""
        frames = [number for number, frame in enumerate(self.film.frames) if frame.step_index == step_index]
        self.time = 0.0
        self.seek(self.frame_starts[frames[0]] if frames else 0.0)

    def change_speed(self, levels: int) -> None:
        """Change the speed by `levels` positions in `SPEEDS`."""
        level = SPEEDS.index(self.speed) + levels
        self.speed = SPEEDS[max(0, min(level, len(SPEEDS) - 1))]

    def submit_answer(self, text: str) -> bool:
        """Check an answer to the current question, and continue if it is right.

        Returns whether the answer is right.
        """
        question = self.question
        if question is None:
            return False
        try:
            is_equal = parse_shape(text) == parse_shape(question.answer)
        except ShapeError:
            return False
        if is_equal:
            self.skip_question()
        return is_equal

    def skip_question(self) -> None:
        """Count the current question as answered, and continue the film."""
        next_frame = self.film.frames[self.frame_index + 1]
        self._settled_prompts.add((next_frame.step_index, next_frame.prompt))
        self.time = min(self.frame_starts[self.frame_index + 1], self.film.seconds)
        self.is_playing = True


class Scrubber(widgets.ClickableText):
    """The progress bar of a film.

    A click seeks to the clicked position.
    """

    track_width = 0

    def draw(self, player: Player) -> None:
        """Draw the progress bar, the time, the frame number and the speed."""
        frames, speed = len(player.film.frames), f"{player.speed:g}x"
        status = (
            f" {player.time:5.1f} of {player.film.seconds:.1f} s   frame {player.frame_index + 1} of {frames}   {speed}"
        )
        self.track_width = max(1, self.app.size.width - len(status) - 4)
        position = min(self.track_width - 1, int(self.track_width * player.time / max(player.film.seconds, 1e-9)))
        sign = "▶" if player.is_playing else "■"
        self.set_text(
            Text(f" {sign} {'━' * position}●{'─' * (self.track_width - 1 - position)}{status}", no_wrap=True, end="")
        )

    def on_click(self, event: events.Click) -> None:
        """Post the clicked position as a fraction of the duration."""
        self.post_message(widgets.MetadataClicked("part", max(0.0, min(1.0, (event.x - 3) / self.track_width))))


class FilmPane(widgets.FocusableText):
    """The pane that shows the current frame of a film."""

    player: Player | None = None

    def draw(self) -> None:
        """Draw the sprites of the film at the current time."""
        if self.player is not None:
            self.set_text(render_screen(self.player.film, self.player.sprites, self.background_colors[1].rgb))


class FilmScreen(widgets.Dialog[None]):
    """The film of an answer, in the whole terminal."""

    KEYS = KEYS
    BINDINGS = [
        *widgets.make_bindings(KEYS),
        Binding("pagedown", "step(1)", "frame on", priority=True),
        Binding("pageup", "step(-1)", "frame back", priority=True),
        Binding("home", "show(0)", "to the beginning"),
        Binding("end", f"show({10**6})", "to the end"),
    ]

    def __init__(
        self, answer: Trace | Chain, step_index: int | None, hidden_steps: Collection[int], score: Score
    ) -> None:
        """Create the screen for an answer.

        The film starts at a step, or at the beginning if `step_index` is None. It asks for the dims of the steps in
        `hidden_steps`, and `score` counts the answers.
        """
        super().__init__()
        self.score = score
        self._scored_question: FilmQuestion | None = None
        self.answer, self.step_index, self.hidden_steps = answer, step_index, hidden_steps
        self.player: Player | None = None
        self._clock: Timer | None = None
        self._last_tick = 0.0

    def compose(self) -> ComposeResult:
        """Compose the film, the progress bar, the field for answers, and the keys."""
        yield widgets.SizeNotice(id="enlarge")
        with Vertical(id="all"):
            yield FilmPane("film")
            with Horizontal(id="question"):
                yield Label("", id="asked", markup=False)
                yield widgets.AnswerField(id="predicted")
            yield Scrubber("scrubber")
            yield widgets.ClickableText("keys")

    def on_mount(self) -> None:
        """Create the timer that advances the film, and hide the answer field."""
        self._clock = self.set_interval(1 / TICK_RATE, self.tick, pause=True)
        self.query_one(FilmPane).focus()
        self.query_one("#question").display = False

    def on_resize(self, event: events.Resize) -> None:
        """Rebuild the film for the new size, at the same frame."""
        self.set_class(widgets.SizeNotice.is_needed(event.size), "-small")
        self.call_after_refresh(self.make_film)

    def make_film(self) -> None:
        """Create the film for the current size of the pane, at the same frame as before."""
        pane, old = self.query_one(FilmPane), self.player
        if not pane.size.width:
            return
        film = make_film(self.answer, pane.size.width, pane.size.height)
        self.player = pane.player = Player(film, self.hidden_steps)
        if old is None:
            self.player.show_step(-1 if self.step_index is None else self.step_index)
            self.action_play()
        else:
            self.player.copy_state(old)
        self.redraw_all()

    def _change_player(self, change: Callable[[Player], object]) -> None:
        """Call a function with the player, if there is one, and redraw."""
        if self.player is not None:
            change(self.player)
            self.redraw_all()

    def action_play(self) -> None:
        """Play or pause the film."""
        self._change_player(Player.toggle_playback)

    def action_step(self, count: int) -> None:
        """Move `count` frames forward, or backward if it is negative.

        A question that is passed counts as answered.
        """
        if count > 0 and self.player is not None:
            self._score_answer(self.player.question, is_right=False)
        self._change_player(lambda player: player.step_frames(count))

    def action_show(self, frame: int) -> None:
        """Go to the end of a frame; a large index selects the last frame."""
        self._change_player(lambda player: player.show_frame(frame))

    def action_change_speed(self, levels: int) -> None:
        """Change the speed of the film by `levels` positions in `SPEEDS`."""
        self._change_player(lambda player: player.change_speed(levels))

    def action_ask(self) -> None:
        """Turn the questions of the film on or off."""
        self._change_player(lambda player: setattr(player, "is_asking", not player.is_asking))

    @on(Input.Submitted)
    def check_prediction(self, event: Input.Submitted) -> None:
        """Continue the film after a right answer.

        An empty answer reveals the dim.
        """
        if self.player is None or (question := self.player.question) is None:
            return
        right = bool(event.value.strip()) and self.player.submit_answer(event.value)
        self._score_answer(question, is_right=right)
        if not event.value.strip():
            self.player.skip_question()
        elif not right:
            self.query_one("#asked", Label).update(f"That is not right. {question.question} ")
            return
        self.redraw_all()

    def _score_answer(self, question: FilmQuestion | None, *, is_right: bool) -> None:
        """Score the first answer to a question; ignore later answers."""
        if question is not None and question is not self._scored_question:
            self.score.record_answer(right=is_right)
            self._scored_question = question

    @on(widgets.MetadataClicked)
    def seek_to_click(self, event: widgets.MetadataClicked) -> None:
        """Seek to the clicked position of the progress bar."""
        if event.kind == "part":
            self._change_player(lambda player: player.seek(float(str(event.value)) * player.film.seconds))

    def tick(self) -> None:
        """Advance the film by the elapsed time, and draw it."""
        now, player = monotonic(), self.player
        if player is None:
            return
        player.advance(now - self._last_tick)
        self._last_tick = now
        if player.is_playing:
            self.query_one(FilmPane).draw()
            self.query_one(Scrubber).draw(player)
        else:
            self.redraw_all()

    def redraw_all(self) -> None:
        """Redraw the screen, and pause or resume the timer."""
        player = self.player
        if player is None or self._clock is None or not self.is_attached:
            return
        self._last_tick = monotonic()
        (self._clock.resume if player.is_playing else self._clock.pause)()
        self._show_question()
        self.query_one(FilmPane).draw()
        self.query_one(Scrubber).draw(player)
        self.query_one("#keys", widgets.ClickableText).set_text(_key_line(player, self.app.size.width))

    def _show_question(self) -> None:
        """Show the current question and its field, or the progress bar."""
        question = self.player.question if self.player else None
        row, field = self.query_one("#question"), self.query_one(widgets.AnswerField)
        asking = question is not None
        if asking != row.display:
            row.display, self.query_one(Scrubber).display = asking, not asking
            field.value = ""
            (field if asking else self.query_one(FilmPane)).focus()
        if question is not None:
            self.query_one("#asked", Label).update(f"{self.score}  {question.question} ".lstrip())


def _key_line(player: Player, width: int) -> Text:
    """Format as many keys of the film screen as fit a width."""
    shown = KEYS if player.question is None else QUESTION_KEYS
    if player.is_asking:
        shown = tuple([replace(key, label=f"{key.label}: on") if key.action == "ask" else key for key in shown])
    return Text(" ").append_text(widgets.format_key_line(frozenset(key.action for key in shown), width - 3, shown))

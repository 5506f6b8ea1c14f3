"""^R: the request as a film, which plays, stops, goes frame by frame, and asks before a dim is filled."""

from __future__ import annotations

from time import monotonic

from rich.style import Style
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.geometry import Region
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input, Label

from shapecalc.core.answers import Chain, Trace
from shapecalc.tui.fields import AnswerField
from shapecalc.tui.player import Player
from shapecalc.tui.texts import ClickableText, Enlarge, MarkClicked
from shapecalc.view.film.scenes import film_of
from shapecalc.view.film.screen import screen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

RATE = 36
"""Pictures in a second while it plays: some come late, and 30 are wanted."""
KEYS = (
    ("play", "space", "play, stop"),
    ("step(1)", "→", "next"),
    ("step(-1)", "←", "back"),
    ("hurry(1)", "+", "faster"),
    ("hurry(-1)", "-", "slower"),
    ("ask", "a", "ask me"),
    ("dismiss", "esc", "close"),
)
"""What works beside the film: the action, the key as it is shown, and what it does."""


class Scrubber(ClickableText):
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
        self.post_message(MarkClicked("part", max(0.0, min(1.0, (event.x - 3) / self.room))))


class Stage(Widget, can_focus=True):
    """Where the film is seen. Only lines that change are drawn: most pictures of a film change few."""

    player: Player | None = None

    def __init__(self) -> None:
        """Start empty."""
        super().__init__()
        self.lines: list[Text] = []

    def draw(self) -> None:
        """Show the moment."""
        if self.player is None:
            return
        text = screen(self.player.film, self.player.picture, self.background_colors[1].rgb)
        before, self.lines = self.lines, [*text.split("\n", allow_blank=True)]
        kept = [old == new for old, new in zip(before, self.lines, strict=False)]
        changed = [row for row in range(self.size.height) if row >= len(kept) or not kept[row]]
        self.refresh(*[Region(0, row, self.size.width, 1) for row in changed])

    def render_line(self, y: int) -> Strip:
        """Return one line."""
        line = self.lines[y] if y < len(self.lines) else Text()
        strip = Strip(line.render(self.app.console, end="")).apply_style(self.rich_style)
        return strip.adjust_cell_length(self.size.width, self.rich_style)


class FilmScreen(ModalScreen[None]):
    """One answer as a film in the whole terminal."""

    CSS_PATH = "dialogs.tcss"
    BINDINGS = [
        Binding("escape,ctrl+r", "dismiss", "close"),
        Binding("space", "play", "play"),
        Binding("right", "step(1)", "frame on"),
        Binding("left", "step(-1)", "frame back"),
        Binding("pagedown", "step(1)", "frame on", priority=True),
        Binding("pageup", "step(-1)", "frame back", priority=True),
        Binding("home", "rewind", "to the beginning"),
        Binding("end", "last", "to the end"),
        Binding("plus", "hurry(1)", "faster"),
        Binding("minus", "hurry(-1)", "slower"),
        Binding("a", "ask", "ask me"),
    ]

    def __init__(self, answer: Trace | Chain, step: int | None, hidden: Collection[int] = ()) -> None:
        """Play an answer, from one of its steps or from the beginning. It asks about the steps that are `hidden`."""
        super().__init__()
        self.answer, self.step, self.hidden = answer, step, hidden
        self.player: Player | None = None
        self._clock: Timer | None = None
        self._before = 0.0

    def compose(self) -> ComposeResult:
        """Put the scrubber and the keys under the film; the question takes the scrubber's place."""
        yield Enlarge(id="enlarge")
        with Vertical(id="all"):
            yield Stage()
            with Horizontal(id="question"):
                yield Label("", id="asked", markup=False)
                yield AnswerField(id="predicted")
            yield Scrubber("scrubber")
            yield ClickableText("keys")

    def on_mount(self) -> None:
        """Start the clock; it stands still until the film plays."""
        self._clock = self.set_interval(1 / RATE, self.tick, pause=True)
        self.query_one(Stage).focus()
        self.query_one("#question").display = False

    def on_resize(self, event: events.Resize) -> None:
        """Make the film anew for the room that there is, and stay at the same frame."""
        width, height = Enlarge.LEAST
        self.set_class(event.size.width < width or event.size.height < height, "-small")
        self.call_after_refresh(self.fit)

    def fit(self) -> None:
        """Make the film for the room there is."""
        stage, old = self.query_one(Stage), self.player
        if not stage.size.width:
            return
        film = film_of(self.answer, stage.size.width, stage.size.height)
        self.player = stage.player = Player(film, self.hidden)
        if old is None:
            self.player.show_step(-1 if self.step is None else self.step)
            self.action_play()
        else:
            self.player.follow(old)
        self.show()

    # What the user does

    def action_play(self) -> None:
        """Play, or stop."""
        if self.player is not None:
            self.player.toggle()
            self.show()

    def action_step(self, by: int) -> None:
        """Go a frame on or back; on from a question, which gives its answer."""
        if self.player is None:
            return
        if by > 0 and self.player.question is not None:
            self.player.reveal()
        self.player.show(self.player.frame + by * (by < 0 or not self.player.arriving))
        self.show()

    def action_rewind(self) -> None:
        """Go to the beginning."""
        if self.player is not None:
            self.player.show(0)
            self.show()

    def action_last(self) -> None:
        """Go to the end."""
        if self.player is not None:
            self.player.show(len(self.player.film.frames))
            self.show()

    def action_hurry(self, by: int) -> None:
        """Go faster or slower."""
        if self.player is not None:
            self.player.hurry(by)
            self.show()

    def action_ask(self) -> None:
        """Ask before each dim is filled, or ask no more."""
        if self.player is not None:
            self.player.asks = not self.player.asks
            self.show()

    @on(Input.Submitted)
    def check(self, event: Input.Submitted) -> None:
        """Go on if the prediction is right; with nothing typed, show what is right."""
        if self.player is None or self.player.question is None:
            return
        if not event.value.strip():
            self.player.reveal()
        elif not self.player.is_right(event.value):
            self.query_one("#asked", Label).update(f"That is not right. {self.player.question.question} ")
            return
        self.show()

    @on(MarkClicked)
    async def follow_click(self, event: MarkClicked) -> None:
        """Go to the part of the film that was clicked, or do what the key does."""
        if event.kind == "key":
            await self.run_action(str(event.value))
        elif self.player is not None and event.kind == "part":
            self.player.go(float(str(event.value)) * self.player.film.seconds)
            self.show()

    # What is shown

    def tick(self) -> None:
        """Show the next moment."""
        now, player = monotonic(), self.player
        if player is None:
            return
        player.tick(now - self._before)
        self._before = now
        if player.playing:
            self.query_one(Stage).draw()
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
        self.query_one(Stage).draw()
        self.query_one(Scrubber).draw(player)
        self.query_one("#keys", ClickableText).put(_keys_text(player, self.app.size.width))

    def _show_question(self) -> None:
        """Show the question in place of the scrubber while one is asked."""
        question = self.player.question if self.player else None
        row, field = self.query_one("#question"), self.query_one(AnswerField)
        asking = question is not None
        if asking != row.display:
            row.display, self.query_one(Scrubber).display = asking, not asking
            field.value = ""
            (field if asking else self.query_one(Stage)).focus()
        if question is not None:
            self.query_one("#asked", Label).update(f"{question.question} ")


def _keys_text(player: Player, width: int) -> Text:
    """Return the keys, as many as there is room for; each carries its action as the meta data `key`."""
    line = Text(" ", no_wrap=True, end="")
    shown: tuple[tuple[str, str, str], ...] = KEYS
    if player.question is not None:
        shown = (("step(1)", "enter", "answer; if nothing is typed, show it"), KEYS[-1])
    for action, key, label in shown:
        words = f"{label}: on" if action == "ask" and player.asks else label
        if len(line) + len(key) + len(words) + 3 <= width:
            line.append(key, Style(bold=True, meta={"key": action})).append(f" {words}  ", Style(meta={"key": action}))
    return line

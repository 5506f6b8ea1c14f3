"""The dialog in which the user cuts the elements of a tensor into dims."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding

from shapecalc.core.text import shape_text
from shapecalc.render.canvas import UNICODE, stack_texts, wrap_line
from shapecalc.render.cut import CutState, cut_heading, draw_cut_tape
from shapecalc.tui import explore_text
from shapecalc.tui.files import save_answer
from shapecalc.tui.question import Question, question_from_words, resolve_question
from shapecalc.tui.state import ExploreState
from shapecalc.tui.widgets import ClickableText, Dialog, Key, Pane, format_key_line

CUT_KEYS = (
    Key("left", "←", "shorter rows", "move(-1)", "Cut one element earlier", 0),
    Key("right", "→", "longer rows", "move(1)", "Cut one element later", 1),
    Key("0", "0", "cut the rows", "keep", "Keep these cuts, and cut each row again", 2),
    Key("backspace", "⌫", "join", "undo", "Remove the cuts that were kept last", 3),
    Key("enter", "enter", "open", "open_shape", "Open the reshape to this shape", 4),
    Key("p", "p", "save", "save_picture", "Save a picture of the reshape to this shape", 5),
    Key("escape", "esc", "close", "dismiss(None)", "Close the tape", 6),
)

ROW_LABEL_WIDTH = 7
"""The width of the label of a row, in cells."""


class CutDialog(Dialog[Question | None]):
    """A tape of all elements. The arrow keys move the cuts, and 0 keeps them.

    The dim that changes is requested as -1.
    """

    box_title = "Cut the tape"
    KEYS = CUT_KEYS
    AUTO_FOCUS = ""
    BINDINGS = [Binding(key.name, key.action, key.label, show=False) for key in CUT_KEYS]

    def __init__(self, shape: tuple[int, ...]) -> None:
        """Create the dialog with a tape of the elements of a shape."""
        super().__init__()
        self.state = CutState(shape)

    def compose_contents(self) -> ComposeResult:
        """Compose the shape, the tape and the keys."""
        yield ClickableText("shape")
        yield Pane("tape")
        yield ClickableText("keys")

    def on_mount(self) -> None:
        """Show the tape."""
        self.query_one(Pane).can_focus = False
        self.draw()

    def on_resize(self) -> None:
        """Redraw for the new size."""
        self.call_after_refresh(self.draw)

    def action_move(self, offset: int) -> None:
        """Change the length of the pieces by `offset` elements."""
        self.state.move_cuts(offset)
        self.draw()

    def action_keep(self) -> None:
        """Fix the current cuts, and start to cut the new pieces."""
        self.state.keep_cuts()
        self.draw()

    def action_undo(self) -> None:
        """Remove the cuts that were fixed last."""
        self.state.undo_cuts()
        self.draw()

    def action_save_picture(self) -> None:
        """Save a picture of the reshape to the shape of the cut tape."""
        if self.state.shape is not None and (answer := resolve_question(self._question()).answer) is not None:
            save_answer(self.app, "picture", answer, None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable the keys that need a whole number of rows, and undo without kept cuts."""
        if action == "undo":
            return bool(self.state.kept)
        return action not in ("open_shape", "save_picture", "keep") or self.state.shape is not None

    def idle_reason(self, key: str) -> str:
        """Return why a key has no effect on the tape."""
        if key == "backspace":
            return "no cuts were kept yet"
        if key in ("enter", "p", "0"):
            return f"{self.state.remainder} elements are left over: move the cut until none is"
        return ""

    def action_open_shape(self) -> None:
        """Close the dialog, and return a reshape to the shape of the cut tape."""
        if self.state.shape is not None:
            self.dismiss(self._question())

    def _question(self) -> Question:
        return question_from_words(["reshape", shape_text(self.state.shape_before), self.state.request_text])

    def draw(self) -> None:
        """Draw the shape and the tape, and the map of the reshape below them."""
        state, width = self.state, max(20, self.size.width - 8)
        head = cut_heading(state, f"bold {self.app.theme_variables.get('accent', '')}".rstrip())
        head.append(f"   reshape {state.request_text}" if state.request_text else "", "dim")
        self.query_one("#shape", ClickableText).set_text(stack_texts(wrap_line(head, width)))
        self.query_one(Pane).set_renderer(self._tape_text)
        active = frozenset(key.action for key in CUT_KEYS if self.check_action(key.action, ()))
        self.query_one("#keys", ClickableText).set_text(format_key_line(active, width, CUT_KEYS))

    def _tape_text(self, width: int, height: int) -> Text:
        """Draw the lengths that divide the tape, its rows and, if it fits, the map of the reshape."""
        state, lines = self.state, draw_cut_tape(self.state, width - ROW_LABEL_WIDTH)
        if not state.kept:
            lines = [Text(f"row {row}".ljust(ROW_LABEL_WIDTH), "dim") + line for row, line in enumerate(lines)]
        lines = [self._divisors_line(), Text(end=""), *lines]
        if state.shape is not None:
            free = height - len(lines) - 1
            drawing = explore_text.map_text(ExploreState(self._question()), width, max(4, free))
            lines += [Text(end=""), drawing] if drawing.plain.count("\n") + 1 <= free else []
        more = [Text(UNICODE.ellipsis, "dim")] if len(lines) > height else []
        return stack_texts([*lines[: height - len(more)], *more])

    def _divisors_line(self) -> Text:
        """Format the lengths that divide the piece; the current length is bold."""
        piece = self.state.piece_length
        line = Text("rows that fit: ", "dim")
        for length in range(1, piece + 1):
            if piece % length == 0:
                is_current = length == self.state.length
                line.append(f"{length} ", "bold reverse" if is_current else "default")
        return line

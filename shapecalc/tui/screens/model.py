"""A model: the list of its nodes at the left, the picture of the marked one at the right."""

from __future__ import annotations

from functools import partial

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Input, Static

from shapecalc.core.problem import ShapeError
from shapecalc.core.text import visible
from shapecalc.tui.fields import TextField
from shapecalc.tui.model_list import ModelList
from shapecalc.tui.model_text import list_text, node_text
from shapecalc.tui.texts import Enlarge, Pane

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from shapecalc.models.report import Report

    Mend = Callable[[str], list[str]]
    """What writes the model mended into a file, and returns what it did; raises `ShapeError`."""

KEYS = "j k move  / filter  n next offender  o offenders  f fix  w write  ^q quit"
MOST_TOLD = 8
"""How many lines of what was done are told."""
FILTER, WRITE = "names that hold ", "write the mended model to "


class ModelScreen(Screen[None]):
    """The nodes of one model."""

    BINDINGS = [
        *[Binding(key, "move(1)", "down", show=False) for key in ("j", "down")],
        *[Binding(key, "move(-1)", "up", show=False) for key in ("k", "up")],
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("slash", "type('filter')", "filter", show=False, priority=True),
        Binding("n", "next", "next offender", show=False),
        Binding("o", "offenders", "offenders only", show=False),
        Binding("f", "fix", "look at the fix", show=False),
        Binding("w", "type('write')", "write", show=False, priority=True),
        Binding("escape", "close_field", "close the field", show=False),
    ]

    def __init__(self, report: Report, at: int, mend: Mend) -> None:
        """Open at the listed node of a number; `mend` writes the model mended."""
        super().__init__()
        self.nodes = ModelList(report, at)
        self.mend = mend
        self.typing = ""

    def compose(self) -> ComposeResult:
        """Put the list beside the node, over a field and the keys."""
        yield Enlarge(id="enlarge")
        with Vertical(id="all"):
            with Horizontal(id="model"):
                yield Pane("nodes")
                yield Pane("node")
            with Horizontal(id="typed"):
                yield Static("", id="asked", markup=False)
                yield TextField(id="answer")
            yield Static(KEYS, id="keys", markup=False)

    def on_mount(self) -> None:
        """Begin in the list."""
        self.query_one("#node", Pane).can_focus = False
        self.action_close_field()

    def on_resize(self, event: events.Resize) -> None:
        """Ask for a larger terminal, or draw for the new size."""
        width, height = Enlarge.LEAST
        self.set_class(event.size.width < width or event.size.height < height, "-small")

    def show(self) -> None:
        """Draw the list and the node."""
        self.query_one("#nodes", Pane).draw(partial(list_text, self.nodes))
        self.query_one("#node", Pane).draw(partial(node_text, self.nodes))

    def action_move(self, by: int) -> None:
        """Mark the next node, or the one before."""
        self.nodes.move(by)
        self.show()

    def action_page(self, by: int) -> None:
        """Mark a node a page away."""
        self.action_move(by * max(1, self.query_one("#nodes", Pane).size.height - 2))

    def action_next(self) -> None:
        """Mark the next offender."""
        self.nodes.go_to_offender()
        self.show()

    def action_offenders(self) -> None:
        """Show offenders alone, or all again."""
        self.nodes.narrow(self.nodes.wanted, offending=not self.nodes.offending)
        self.show()

    def action_fix(self) -> None:
        """Show the node as it is once a fix is made."""
        self.nodes.look_at_fix()
        self.show()

    def action_type(self, what: str) -> None:
        """Open the field for a filter, or for the name of a file, before the next key is handed on."""
        self.typing = what
        field = self.query_one(TextField)
        self.query_one("#asked", Static).update(FILTER if what == "filter" else WRITE)
        self.query_one("#typed").display = True
        field.value = self.nodes.wanted if what == "filter" else ""
        self.set_focus(field)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the letters to a field that is open."""
        return action != "type" or not self.typing

    def action_close_field(self) -> None:
        """Close the field; a filter stays."""
        self.typing = ""
        self.query_one("#typed").display = False
        self.query_one("#nodes", Pane).focus()
        self.show()

    @on(Input.Changed)
    def take_filter(self, event: Input.Changed) -> None:
        """Narrow the list while a filter is typed."""
        if self.typing == "filter":
            self.nodes.narrow(event.value, offending=self.nodes.offending)
            self.show()

    @on(Input.Submitted)
    def take_answer(self, event: Input.Submitted) -> None:
        """Write the file that was typed, or keep the filter."""
        if self.typing == "write" and event.value.strip():
            self.notify(visible(event.value.strip()), title="writing, and proving", markup=False)
            self.run_worker(partial(self.write, event.value.strip()), thread=True, exclusive=True)
        self.action_close_field()

    def write(self, path: str) -> None:
        """Write the model mended, and tell what was done."""
        try:
            said, title, severity = "\n".join(_few(self.mend(path))), "mended", "information"
        except ShapeError as error:
            said, title, severity = visible(str(error.problem)), "not written", "error"
        tell = partial(self.notify, said, title=title, severity=severity, markup=False, timeout=20)  # type: ignore[arg-type]
        self.app.call_from_thread(tell)


def _few(lines: list[str]) -> list[str]:
    """Return the first lines and the last."""
    more = len(lines) - MOST_TOLD
    return lines if more <= 0 else [*lines[: MOST_TOLD - 2], f"and {more + 1} more", lines[-1]]

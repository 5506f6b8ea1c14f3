"""A model: the list of its nodes at the left, the picture of the marked one at the right."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from rich.cells import set_cell_size
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, Static

from shapecalc.core.answers import Trace
from shapecalc.core.fixing import answer
from shapecalc.core.problem import ShapeError
from shapecalc.core.text import visible
from shapecalc.models import report
from shapecalc.models.verdicts import Fix
from shapecalc.tui.explore_text import few_lines
from shapecalc.tui.widgets import EVERYWHERE, Enlarge, Pane, Room, TextField
from shapecalc.view.canvas import UNICODE, clip, rows_around
from shapecalc.view.flow import flow

Mend = Callable[[str], list[str]]
"""What writes the model mended into a file, and returns what it did; raises `ShapeError`."""
MOST_WORDS = 3
"""Lines of what is said of a node."""
OFFENDS, MARKED = "! ", "▸"
KEYS = "j k move  / filter  n next offender  o offenders  f fix  w write  ^q quit"
MOST_TOLD = 8
"""How many lines of what was done are told."""
FILTER, WRITE = "names that hold ", "write the mended model to "


class ModelList:
    """A report, and the place in it: the nodes that are shown, the marked one, the fix that is looked at."""

    def __init__(self, report: report.Report, at: int = 0) -> None:
        """Mark the listed node of a number."""
        self.report = report
        self.at = at
        """The place of the marked node among those that are shown."""
        self.wanted = ""
        """What the names that are shown hold."""
        self.offending = False
        """Whether offenders alone are shown."""
        self.fixed = 0
        """Which fix of the marked node is looked at, from 1; 0 if the node is seen as it is."""
        self.shown = report.nodes

    @property
    def marked(self) -> report.Judged | None:
        """The marked node; None if none is shown."""
        return self.shown[self.at] if self.shown else None

    @property
    def fix(self) -> Fix | None:
        """The fix that is looked at."""
        return self.marked.fixes[self.fixed - 1] if self.marked and self.fixed else None

    def move(self, by: int) -> None:
        """Mark another node, as far as there are some."""
        self._mark(max(0, min(self.at + by, len(self.shown) - 1)))

    def go_to_offender(self) -> None:
        """Mark the next offender; after the last one the first."""
        after = [at for at, judged in enumerate(self.shown) if report.offends(judged)]
        self._mark(next((at for at in after if at > self.at), after[0] if after else self.at))

    def look_at_fix(self) -> None:
        """Look at the next fix of the marked node; after the last one at the node as it is."""
        self.fixed = (self.fixed + 1) % (len(self.marked.fixes) + 1) if self.marked else 0

    def switch_offenders(self) -> None:
        """Show offenders alone, or all again."""
        self.narrow(self.wanted, offending=not self.offending)

    def narrow(self, wanted: str, *, offending: bool) -> None:
        """Show only nodes whose names hold a text, or only offenders; the marked node stays if it is shown."""
        before, self.wanted, self.offending = self.marked, wanted, offending
        self.shown = tuple(
            judged
            for judged in self.report.nodes
            if wanted.lower() in report.name_of(judged.node).lower() and (not offending or report.offends(judged))
        )
        self._mark(next((at for at, judged in enumerate(self.shown) if judged is before), 0))

    def trace(self) -> Trace | None:
        """Return core's answer to the marked node, as it is or with the fix; None if core cannot be asked."""
        if self.marked is None or (self.fix is not None and self.fix.target is None):
            return None
        request = report.request_of(self.marked, self.report, self.fix.target if self.fix else None)
        try:
            return answer(request) if request else None
        except ShapeError:
            return None

    def _mark(self, at: int) -> None:
        if at != self.at or (self.fixed and not (self.marked and self.fixed <= len(self.marked.fixes))):
            self.fixed = 0
        self.at = at


def list_text(nodes: ModelList, width: int, height: int) -> Text:
    """Return the rows around the marked node, under what the model is."""
    offending = sum(map(report.offends, nodes.report.nodes))
    name = visible(nodes.report.model.replace("\\", "/").rpartition("/")[2])
    lines = [Text(_fitted(f"{name}  {offending} of {len(nodes.report.nodes)} offend", width), "bold")]
    shown = rows_around(nodes.at, len(nodes.shown), height - 1)
    lines += [_row(nodes.shown[at], width, marked=at == nodes.at) for at in shown]
    return Text("\n").join(lines if nodes.shown else [*lines, Text("none is shown", "dim")])


def _row(judged: report.Judged, width: int, *, marked: bool) -> Text:
    """Return a node in one line: its name, and the shape that comes out."""
    shape = visible(report.shape_words(judged.output))
    room = max(8, width - 3 - min(len(shape), width // 2) - 2)
    bad = report.offends(judged)
    name = _fitted(visible(report.name_of(judged.node)), room)
    text = f"{MARKED if marked else ' '}{OFFENDS if bad else '  '}{name}  {shape}"
    return Text(_fitted(text, width), f"{'bold red' if bad else ''}{' reverse' if marked else ''}".strip())


def _fitted(text: str, width: int) -> str:
    return set_cell_size(_short(text, width), width)


def node_text(nodes: ModelList, width: int, height: int) -> Text:
    """Return the marked node: its verdict, its flow or that of the fix that is looked at, and its fixes."""
    judged = nodes.marked
    if judged is None:
        return Text()
    head = f"{_short(visible(report.name_of(judged.node)), width // 2)}  {report.verdict_words(judged, nodes.report)}"
    lines = [Text(set_cell_size(head, width).rstrip(), "bold red" if report.offends(judged) else "bold")]
    asked = "" if judged.target is None else report.shape_words(judged.target)
    asked = report.fix_words(nodes.fix) if nodes.fix else asked
    lines.append(Text(clip(f"{judged.node.op} {asked}".rstrip(), width, UNICODE)))
    words = (nodes.fix and report.assumed_words(nodes.fix)) or judged.why
    below = [*map(Text, few_lines(visible(words), width, MOST_WORDS)), *_fix_lines(nodes, judged, width)]
    picture = _picture(nodes, width, max(3, height - len(lines) - len(below) - 2))
    return Text("\n").join([*lines, Text(), *picture.split("\n"), Text(), *below])


def _picture(nodes: ModelList, width: int, height: int) -> Text:
    """Return the flow of what core answers; a line that says why there is none."""
    trace = nodes.trace()
    if trace is None:
        why = "the model computes the target then" if nodes.fix else "a shape is not known"
        return Text(clip(f"no picture: {why}", width, UNICODE), "dim")
    return flow(trace, width=width, height=height)


def _fix_lines(nodes: ModelList, judged: report.Judged, width: int) -> list[Text]:
    """Return a line for each fix; the one that is looked at is bold and marked."""
    lines, signs = [], {1: "f", nodes.fixed: MARKED}
    for number, fix in enumerate(judged.fixes, 1):
        line = "  ".join(filter(None, (signs.get(number, " "), report.fix_words(fix), fix.how)))
        lines.append(Text(clip(line, width, UNICODE), "bold" if nodes.fixed == number else ""))
    return lines


def _short(text: str, width: int) -> str:
    """Return a text that is no longer than a width: its end, since names of nodes begin alike."""
    return text if len(text) <= width else f"…{text[len(text) - width + 1 :]}"


class ModelScreen(Room[None]):
    """The nodes of one model, each with what another batch size does to it. A ! marks one that offends.

    safe: it runs, and the samples stay apart. only N=1: it runs at that size alone. swallows: the batch becomes part of
    another axis. scrambles: no axis separates the samples any more. fails: not even the declared size runs.
    sometimes: it depends on the sizes. unknown: it cannot be judged.
    """

    BINDINGS = [
        Binding("j,down", "change('move', 1)", "down", show=False),
        Binding("k,up", "change('move', -1)", "up", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("slash", "type('filter')", "filter", show=False, priority=True),
        Binding("n", "change('go_to_offender')", "next offender", show=False),
        Binding("o", "change('switch_offenders')", "offenders only", show=False),
        Binding("f", "change('look_at_fix')", "look at the fix", show=False),
        Binding("w", "type('write')", "write", show=False, priority=True),
        Binding("q", "app.quit", "quit", show=False),
        Binding("escape", "close_field", "close the field", show=False),
    ]

    def __init__(self, report: report.Report, at: int, mend: Mend) -> None:
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

    def help(self) -> tuple[str, list[tuple[str, str]]]:
        """Return what is said of it, and its keys."""
        about = " ".join((type(self).__doc__ or "").split())
        return about, [*((key, "") for key in KEYS.split("  ")), ("q", "quit; escape closes the field"), EVERYWHERE[0]]

    def on_mount(self) -> None:
        """Begin in the list."""
        self.query_one("#node", Pane).can_focus = False
        self.action_close_field()

    def on_resize(self, event: events.Resize) -> None:
        """Ask for a larger terminal, or draw for the new size."""
        self.set_class(Enlarge.is_needed(event.size), "-small")

    def show(self) -> None:
        """Draw the list and the node."""
        self.query_one("#nodes", Pane).draw(partial(list_text, self.nodes))
        self.query_one("#node", Pane).draw(partial(node_text, self.nodes))

    def action_change(self, how: str, *given: int) -> None:
        """Change the list by its method of a name: mark another node, narrow it, look at a fix."""
        getattr(self.nodes, how)(*given)
        self.show()

    def action_page(self, by: int) -> None:
        """Mark a node a page away."""
        self.action_change("move", by * max(1, self.query_one("#nodes", Pane).size.height - 2))

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
            text, title, severity = "\n".join(_few(self.mend(path))), "mended", "information"
        except ShapeError as error:
            text = visible(str(error.problem)).replace("--force writes over it", "type another name")
            title, severity = "not written", "error"
        self.app.call_from_thread(self.notify, text, title=title, severity=severity, markup=False, timeout=20)


def _few(lines: list[str]) -> list[str]:
    """Return the first lines and the last."""
    more = len(lines) - MOST_TOLD
    return lines if more <= 0 else [*lines[: MOST_TOLD - 2], f"and {more + 1} more", lines[-1]]

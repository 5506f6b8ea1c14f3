"""The screen of a model: its nodes on the left, the selected one on the right."""

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
"""A function that writes the fixed model to a path and returns report lines.

Raises `ShapeError` if the file cannot be written.
"""
MOST_WORDS = 3
"""The largest number of lines for the reason of a verdict."""
OFFENDS, MARKED = "! ", "▸"
KEYS = "j k move  / filter  n next offender  o offenders  f fix  w write  ^q quit"
MOST_TOLD = 8
"""The largest number of report lines in a notification."""
FILTER, WRITE = "names that hold ", "write the mended model to "


class ModelList:
    """The state of the list: its filter, the selected node and the fix shown."""

    def __init__(self, report: report.Report, at: int = 0) -> None:
        """Select the listed node at an index."""
        self.report = report
        self.at = at
        """The index of the selected node among the visible ones."""
        self.wanted = ""
        """The text that the names of visible nodes contain."""
        self.offending = False
        """Whether only failing nodes are visible."""
        self.fixed = 0
        """The number of the fix that is shown, from 1; 0 for the node without a fix."""
        self.shown = report.nodes

    @property
    def marked(self) -> report.Judged | None:
        """The selected node; None if no node is visible."""
        return self.shown[self.at] if self.shown else None

    @property
    def fix(self) -> Fix | None:
        """The fix that is shown; None for the node without a fix."""
        return self.marked.fixes[self.fixed - 1] if self.marked and self.fixed else None

    def move(self, by: int) -> None:
        """Move the selection, within the list."""
        self._mark(max(0, min(self.at + by, len(self.shown) - 1)))

    def go_to_offender(self) -> None:
        """Select the next failing node; after the last one the first."""
        failing = [index for index, judged in enumerate(self.shown) if report.offends(judged)]
        self._mark(next((index for index in failing if index > self.at), failing[0] if failing else self.at))

    def look_at_fix(self) -> None:
        """Show the next fix of the selected node; after the last one, none."""
        self.fixed = (self.fixed + 1) % (len(self.marked.fixes) + 1) if self.marked else 0

    def switch_offenders(self) -> None:
        """Toggle between failing nodes and all nodes."""
        self.narrow(self.wanted, offending=not self.offending)

    def narrow(self, wanted: str, *, offending: bool) -> None:
        """Filter the nodes by a text in their names, or to failing ones.

        The selected node stays selected if it is visible.
        """
        selected, self.wanted, self.offending = self.marked, wanted, offending
        self.shown = tuple(
            judged
            for judged in self.report.nodes
            if wanted.lower() in report.name_of(judged.node).lower() and (not offending or report.offends(judged))
        )
        self._mark(next((index for index, judged in enumerate(self.shown) if judged is selected), 0))

    def trace(self) -> Trace | None:
        """Return core's answer for the selected node, with the fix that is shown.

        None if core cannot resolve it.
        """
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
        """Open with the node at an index selected; `write_fixed` writes the model."""
        super().__init__()
        self.nodes = ModelList(report, at)
        self.mend = mend
        self.typing = ""

    def compose(self) -> ComposeResult:
        """Compose the list beside the node, above a text field and the keys."""
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
        """Return the description of the screen, and its keys."""
        about = " ".join((type(self).__doc__ or "").split())
        return about, [*((key, "") for key in KEYS.split("  ")), ("q", "quit; escape closes the field"), EVERYWHERE[0]]

    def on_mount(self) -> None:
        """Focus the list."""
        self.query_one("#node", Pane).can_focus = False
        self.action_close_field()

    def on_resize(self, event: events.Resize) -> None:
        """Request a larger terminal, or redraw for the new size."""
        self.set_class(Enlarge.is_needed(event.size), "-small")

    def show(self) -> None:
        """Draw the list and the selected node."""
        self.query_one("#nodes", Pane).draw(partial(list_text, self.nodes))
        self.query_one("#node", Pane).draw(partial(node_text, self.nodes))

    def action_change(self, how: str, *given: int) -> None:
        """Call a method of the list by name, and redraw."""
        getattr(self.nodes, how)(*given)
        self.show()

    def action_page(self, by: int) -> None:
        """Move the selection by a page."""
        self.action_change("move", by * max(1, self.query_one("#nodes", Pane).size.height - 2))

    def action_type(self, what: str) -> None:
        """Open the text field for a filter or a file name.

        Its focus is set before the next key is handled.
        """
        self.typing = what
        field = self.query_one(TextField)
        self.query_one("#asked", Static).update(FILTER if what == "filter" else WRITE)
        self.query_one("#typed").display = True
        field.value = self.nodes.wanted if what == "filter" else ""
        self.set_focus(field)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable the keys that open the field while it is open."""
        return action != "type" or not self.typing

    def action_close_field(self) -> None:
        """Close the field; a filter stays."""
        self.typing = ""
        self.query_one("#typed").display = False
        self.query_one("#nodes", Pane).focus()
        self.show()

    @on(Input.Changed)
    def take_filter(self, event: Input.Changed) -> None:
        """Apply the filter while it is typed."""
        if self.typing == "filter":
            self.nodes.narrow(event.value, offending=self.nodes.offending)
            self.show()

    @on(Input.Submitted)
    def take_answer(self, event: Input.Submitted) -> None:
        """Write the model to the typed path, or close the field and keep the filter."""
        if self.typing == "write" and event.value.strip():
            self.notify(visible(event.value.strip()), title="writing, and proving", markup=False)
            self.run_worker(partial(self.write, event.value.strip()), thread=True, exclusive=True)
        self.action_close_field()

    def write(self, path: str) -> None:
        """Write the fixed model, and show a notification about the result."""
        try:
            text, title, severity = "\n".join(_few(self.mend(path))), "mended", "information"
        except ShapeError as error:
            text = visible(str(error.problem)).replace("--force writes over it", "type another name")
            title, severity = "not written", "error"
        self.app.call_from_thread(self.notify, text, title=title, severity=severity, markup=False, timeout=20)


def list_text(nodes: ModelList, width: int, height: int) -> Text:
    """Render the rows around the selected node, below a title."""
    failing_count = sum(map(report.offends, nodes.report.nodes))
    name = visible(nodes.report.model.replace("\\", "/").rpartition("/")[2])
    lines = [Text(_fitted(f"{name}  {failing_count} of {len(nodes.report.nodes)} offend", width), "bold")]
    rows = rows_around(nodes.at, len(nodes.shown), height - 1)
    lines += [_row(nodes.shown[index], width, marked=index == nodes.at) for index in rows]
    return Text("\n").join(lines if nodes.shown else [*lines, Text("none is shown", "dim")])


def _row(judged: report.Judged, width: int, *, marked: bool) -> Text:
    """Render a node as one line: its name and its output shape."""
    shape = visible(report.shape_words(judged.output))
    name_width = max(8, width - 3 - min(len(shape), width // 2) - 2)
    is_failing = report.offends(judged)
    name = _fitted(visible(report.name_of(judged.node)), name_width)
    text = f"{MARKED if marked else ' '}{OFFENDS if is_failing else '  '}{name}  {shape}"
    return Text(_fitted(text, width), f"{'bold red' if is_failing else ''}{' reverse' if marked else ''}".strip())


def _fitted(text: str, width: int) -> str:
    return set_cell_size(_short(text, width), width)


def node_text(nodes: ModelList, width: int, height: int) -> Text:
    """Render the selected node: its verdict, its flow and its fixes.

    The flow is that of the node with the fix that is shown.
    """
    judged = nodes.marked
    if judged is None:
        return Text()
    head = f"{_short(visible(report.name_of(judged.node)), width // 2)}  {report.verdict_words(judged, nodes.report)}"
    lines = [Text(set_cell_size(head, width).rstrip(), "bold red" if report.offends(judged) else "bold")]
    target = "" if judged.target is None else report.shape_words(judged.target)
    target = report.fix_words(nodes.fix) if nodes.fix else target
    lines.append(Text(clip(f"{judged.node.op} {target}".rstrip(), width, UNICODE)))
    reason = (nodes.fix and report.assumed_words(nodes.fix)) or judged.why
    below = [*map(Text, few_lines(visible(reason), width, MOST_WORDS)), *_fix_lines(nodes, judged, width)]
    picture = _picture(nodes, width, max(3, height - len(lines) - len(below) - 2))
    return Text("\n").join([*lines, Text(), *picture.split("\n"), Text(), *below])


def _picture(nodes: ModelList, width: int, height: int) -> Text:
    """Render the flow of core's answer, or the reason why there is none."""
    trace = nodes.trace()
    if trace is None:
        why = "the model computes the target then" if nodes.fix else "a shape is not known"
        return Text(clip(f"no picture: {why}", width, UNICODE), "dim")
    return flow(trace, width=width, height=height)


def _fix_lines(nodes: ModelList, judged: report.Judged, width: int) -> list[Text]:
    """Render a line for each fix; the one that is shown is bold and marked."""
    lines, signs = [], {1: "f", nodes.fixed: MARKED}
    for number, fix in enumerate(judged.fixes, 1):
        line = "  ".join(filter(None, (signs.get(number, " "), report.fix_words(fix), fix.how)))
        lines.append(Text(clip(line, width, UNICODE), "bold" if nodes.fixed == number else ""))
    return lines


def _short(text: str, width: int) -> str:
    """Shorten a text to its end, because names of nodes have common prefixes."""
    return text if len(text) <= width else f"…{text[len(text) - width + 1 :]}"


def _few(lines: list[str]) -> list[str]:
    """Return the first lines and the last one, with a count of those left out."""
    excess = len(lines) - MOST_TOLD
    return lines if excess <= 0 else [*lines[: MOST_TOLD - 2], f"and {excess + 1} more", lines[-1]]

"""The screen of an ONNX model: its nodes and the selected node.

The verdict on a node states whether the node works at other batch sizes. A failing node does not; a fix changes it,
such as by another reshape target.
"""

from __future__ import annotations

from collections import Counter
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
from shapecalc.core.problem import ShapeError
from shapecalc.core.text import escape_unprintable, format_count
from shapecalc.models import report
from shapecalc.models.verdicts import FAILING_VERDICTS, BatchVerdict, NodeFix
from shapecalc.reasoning.answers import answer_request
from shapecalc.render.canvas import UNICODE, clip_text, rows_around, stack_texts, wrap_line
from shapecalc.render.flow import draw_flow
from shapecalc.render.styles import BOLD_ERROR
from shapecalc.tui.explore_text import wrap_lines
from shapecalc.tui.panels import BORDER_LINES, Panel
from shapecalc.tui.widgets import (
    COMMON_KEYS,
    ClickableText,
    Key,
    MetadataClicked,
    ScreenWithHelp,
    SizeNotice,
    TextField,
    format_key_line,
)

FixWriter = Callable[[str], list[str]]
"""A function that writes the fixed model to a path and returns the lines of a report.

Raises `ShapeError` if the file cannot be written.
"""
MAX_REASON_LINES = 3
"""The maximum height, in lines, of the reason for a verdict."""
FAILING_SIGN, SELECTED_SIGN = "! ", "▸"
KEYS = (
    Key("", "j k", "move", "change('move_selection', 1)", "", 0),
    Key("", "/", "filter", "type('filter')", "", 1),
    Key("", "n", "next failing", "change('select_next_failing')", "", 2),
    Key("", "o", "failing only", "change('toggle_failing_only')", "", 3),
    Key("", "f", "fix", "change('show_next_fix')", "", 4),
    Key("", "w", "write", "type('write')", "", 5),
    Key("", "^q", "quit", "app.quit", "", 6),
)
"""The keys of the screen."""
MAX_LIST_WIDTH = 48
"""The maximum width of the list of nodes, in cells."""
VERDICT_MEANINGS = {
    BatchVerdict.SAFE: "it runs at every batch size, and the samples stay separate",
    BatchVerdict.ONLY: "it runs only at the declared batch size",
    BatchVerdict.SWALLOWS: "the batch becomes part of another axis, without an error",
    BatchVerdict.SCRAMBLES: "no axis separates the samples, and there is no error",
    BatchVerdict.FAILS: "it fails even at the declared batch size",
    BatchVerdict.SOMETIMES: "it fails at some batch sizes",
    BatchVerdict.RANK_VARIES: "the rank of its output depends on the batch size",
}
"""The meaning of each verdict on a node, in words."""
MIN_FIX_PICTURE_LINES = 30
"""The minimum height, in lines, at which a fixed node is drawn below the selected node."""
MIN_SHAPE_WIDTH = 36
"""The minimum width, in cells, of a list with the output shapes of the nodes."""
MAX_NOTICE_LINES = 8
"""The maximum number of report lines in a notification."""
FILTER_PROMPT, WRITE_PROMPT = "names that contain ", "write the fixed model to "


class NodeListState:
    """The state of the list of nodes: its filter, its selection and the displayed fix."""

    def __init__(self, report: report.Report, index: int = 0) -> None:
        """Select the node at an index of the report."""
        self.report = report
        self.index = index
        """The index of the selected node in the filtered list."""
        self.filter_text = ""
        """A text that the names of all visible nodes contain; letter case is ignored."""
        self.failing_only = False
        """Whether only failing nodes are visible."""
        self.fix_number = 0
        """The number of the displayed fix, counted from 1; 0 if the node is displayed unchanged."""
        self.visible_nodes = report.nodes

    @property
    def selected_node(self) -> report.JudgedNode | None:
        """The selected node, or None if the list is empty."""
        return self.visible_nodes[self.index] if self.visible_nodes else None

    @property
    def shown_fix(self) -> NodeFix | None:
        """The displayed fix, or None if the node is displayed unchanged."""
        return self.selected_node.fixes[self.fix_number - 1] if self.selected_node and self.fix_number else None

    def move_selection(self, offset: int) -> None:
        """Move the selection by `offset` nodes, but not beyond the ends of the list."""
        self._select_node(max(0, min(self.index + offset, len(self.visible_nodes) - 1)))

    def select_next_failing(self) -> None:
        """Select the next failing node, or the first one after the last."""
        failing = [index for index, judged in enumerate(self.visible_nodes) if report.is_failing(judged)]
        self._select_node(
            next((index for index in failing if index > self.index), failing[0] if failing else self.index)
        )

    def show_next_fix(self) -> None:
        """Display the next fix of the selected node.

        After the last fix, the node is displayed unchanged.
        """
        self.fix_number = (self.fix_number + 1) % (len(self.selected_node.fixes) + 1) if self.selected_node else 0

    def toggle_failing_only(self) -> None:
        """Toggle between showing all nodes and only failing nodes."""
        self.filter_nodes(self.filter_text, failing_only=not self.failing_only)

    def filter_nodes(self, filter_text: str, *, failing_only: bool) -> None:
        """Show only the nodes whose names contain `filter_text`.

        If `failing_only` is True, nodes that do not fail are hidden, too. The selected node stays selected if it is
        visible.
        """
        selected, self.filter_text, self.failing_only = self.selected_node, filter_text, failing_only
        self.visible_nodes = tuple(
            judged
            for judged in self.report.nodes
            if filter_text.lower() in report.node_name(judged.node).lower()
            and (not failing_only or report.is_failing(judged))
        )
        self._select_node(next((index for index, judged in enumerate(self.visible_nodes) if judged is selected), 0))

    def resolve_selected_node(self, fix: NodeFix | None) -> Trace | None:
        """Resolve the op of the selected node, with the given fix.

        Returns None if the node cannot be resolved.
        """
        if self.selected_node is None or (fix is not None and fix.target is None):
            return None
        request = report.build_request(self.selected_node, self.report, fix.target if fix else None)
        try:
            return answer_request(request) if request else None
        except ShapeError:
            return None

    def _select_node(self, index: int) -> None:
        """Select the node at an index of the filtered list.

        If it does not have the displayed fix, it is displayed unchanged.
        """
        if index != self.index or (
            self.fix_number and not (self.selected_node and self.fix_number <= len(self.selected_node.fixes))
        ):
            self.fix_number = 0
        self.index = index


class ModelScreen(ScreenWithHelp[None]):
    """The nodes of a model with their verdicts. A ! marks a failing node.

    safe: the node runs, and the samples stay separate. only N=1: it runs only at this size. swallows: the batch becomes
    part of another axis. scrambles: no axis separates the samples. fails: it fails even at the declared size.
    sometimes: the result depends on the sizes. unknown: it cannot be checked.
    """

    BINDINGS = [
        Binding("j,down", "change('move_selection', 1)", "down", show=False),
        Binding("k,up", "change('move_selection', -1)", "up", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("slash", "type('filter')", "filter", show=False, priority=True),
        Binding("n", "change('select_next_failing')", "next failing node", show=False),
        Binding("o", "change('toggle_failing_only')", "failing nodes only", show=False),
        Binding("f", "change('show_next_fix')", "look at the fix", show=False),
        Binding("w", "type('write')", "write", show=False, priority=True),
        Binding("q", "app.quit", "quit", show=False),
        Binding("escape", "close_field", "close the field", show=False),
    ]

    def __init__(self, report: report.Report, index: int, write_fixed: FixWriter) -> None:
        """Create the screen with the node at `index` selected."""
        super().__init__()
        self.nodes = NodeListState(report, index)
        self.write_fixed = write_fixed
        self.field_purpose = ""

    def compose(self) -> ComposeResult:
        """Compose the list and the node side by side, and a text field and the keys below."""
        yield SizeNotice(id="enlarge")
        with Vertical(id="all"):
            with Horizontal(id="model"):
                with Vertical(id="list"):
                    yield Panel("nodes")
                    yield Panel("verdicts")
                with Vertical(id="selected"):
                    yield Panel("node")
                    yield Panel("fixes")
            with Horizontal(id="typed"):
                yield Static("", id="asked", markup=False)
                yield TextField(id="answer")
            yield ClickableText("keys")

    def help(self) -> tuple[str, list[tuple[str, str]]]:
        """Return the description of the screen, and its keys."""
        about = " ".join((type(self).__doc__ or "").split())
        return about, [
            *((key.display, key.label) for key in KEYS),
            ("q", "quit; escape closes the field"),
            COMMON_KEYS[0],
        ]

    def on_mount(self) -> None:
        """Focus the list."""
        self.query_one("#verdicts", Panel).set_title("Verdicts")
        for name in ("verdicts", "node", "fixes"):
            self.query_one(f"#{name}", Panel).can_focus = False
        self.action_close_field()

    def on_resize(self, event: events.Resize) -> None:
        """Redraw for the new size, or report that the terminal is too small."""
        self.set_class(SizeNotice.is_needed(event.size), "-small")
        self.redraw()

    @on(MetadataClicked)
    async def handle_click(self, event: MetadataClicked) -> None:
        """Run the action of a clicked key."""
        await self.run_action(str(event.value))

    def redraw(self) -> None:
        """Redraw the list, the selected node and its fixes."""
        nodes, (width, lines) = self.nodes, self.app.size
        judged = nodes.selected_node
        list_panel, node_panel, fix_panel = (self.query_one(f"#{name}", Panel) for name in ("nodes", "node", "fixes"))
        list_panel.set_title(list_title(nodes))
        list_panel.set_renderer(partial(node_list_text, nodes))
        verdicts = self.query_one("#verdicts", Panel)
        room = lines - 1 - len(nodes.visible_nodes) - 2 * BORDER_LINES
        legend = verdict_lines(nodes, max(8, min(MAX_LIST_WIDTH, 2 * width // 5) - 4))
        verdicts.set_height(len(legend) + BORDER_LINES if len(legend) <= room else 0)
        verdicts.set_renderer(lambda _, __: stack_texts(legend))
        fixes = judged.fixes if judged else ()
        draws_fix = bool(fixes) and lines >= MIN_FIX_PICTURE_LINES
        node_panel.set_title(node_title(nodes, width // 2))
        node_panel.set_class(bool(judged and report.is_failing(judged)), "-failing")
        node_panel.set_renderer(partial(node_text, nodes, None if draws_fix else nodes.shown_fix))
        fix_panel.set_title(f"Fix {nodes.fix_number} of {len(fixes)}" if nodes.fix_number else "Fixes")
        fix_panel.set_height((lines - 1) // 2 if draws_fix else len(fixes) + BORDER_LINES if fixes else 0)
        fix_panel.set_renderer(partial(fix_text, nodes, draws_picture=draws_fix))
        hints = format_key_line(frozenset(key.action for key in KEYS), max(0, width - 2), KEYS)
        self.query_one("#keys", ClickableText).set_text(hints)

    def action_change(self, method: str, *arguments: int) -> None:
        """Call a method of `NodeListState` by name, and redraw."""
        getattr(self.nodes, method)(*arguments)
        self.redraw()

    def action_page(self, pages: int) -> None:
        """Move the selection by a number of pages."""
        self.action_change("move_selection", pages * max(1, self.query_one("#nodes", Panel).size.height - 1))

    def action_type(self, purpose: str) -> None:
        """Open the text field for a filter or a file name.

        The field gets the focus before the next key is handled.
        """
        self.field_purpose = purpose
        field = self.query_one(TextField)
        self.query_one("#asked", Static).update(FILTER_PROMPT if purpose == "filter" else WRITE_PROMPT)
        self.query_one("#typed").display = True
        field.value = self.nodes.filter_text if purpose == "filter" else ""
        self.set_focus(field)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable the keys that open the text field while the field is open."""
        return action != "type" or not self.field_purpose

    def action_close_field(self) -> None:
        """Close the text field, but keep the filter."""
        self.field_purpose = ""
        self.query_one("#typed").display = False
        self.query_one("#nodes", Panel).focus()
        self.redraw()

    @on(Input.Changed)
    def apply_filter(self, event: Input.Changed) -> None:
        """Apply the filter after each typed character."""
        if self.field_purpose == "filter":
            self.nodes.filter_nodes(event.value, failing_only=self.nodes.failing_only)
            self.redraw()

    @on(Input.Submitted)
    def submit_field(self, event: Input.Submitted) -> None:
        """Close the field, and write the fixed model if the text is a file name."""
        if self.field_purpose == "write" and event.value.strip():
            self.notify(escape_unprintable(event.value.strip()), title="writing, and proving", markup=False)
            self.run_worker(partial(self.write_model, event.value.strip()), thread=True, exclusive=True)
        self.action_close_field()

    def write_model(self, path: str) -> None:
        """Write the fixed model, and notify the user of the result."""
        try:
            text, title, severity = "\n".join(_limit_lines(self.write_fixed(path))), "fixed", "information"
        except ShapeError as error:
            text = escape_unprintable(str(error.problem)).replace("--force writes over it", "type another name")
            title, severity = "not written", "error"
        self.app.call_from_thread(self.notify, text, title=title, severity=severity, markup=False, timeout=20)


def list_title(nodes: NodeListState) -> str:
    """Return the title of the list: the model name and the number of nodes that are not safe."""
    unsafe_count = sum(judged.verdict is not BatchVerdict.SAFE for judged in nodes.report.nodes)
    name = escape_unprintable(nodes.report.model.replace("\\", "/").rpartition("/")[2])
    return f"{name} · {unsafe_count} of {len(nodes.report.nodes)} unsafe"


def node_title(nodes: NodeListState, width: int) -> str:
    """Return the title of the selected node: its name and its verdict.

    A long name is truncated at its start.
    """
    judged = nodes.selected_node
    if judged is None:
        return "Node"
    verdict = report.format_verdict(judged, nodes.report)
    name = _truncate_start(escape_unprintable(report.node_name(judged.node)), max(8, width - len(verdict) - 10))
    return f"{name} · {verdict}"


def verdict_lines(nodes: NodeListState, width: int) -> list[Text]:
    """Return the number of nodes with each verdict, and the meanings of the verdicts."""
    counts = Counter(judged.verdict for judged in nodes.report.nodes)
    lines = list[Text]()
    for verdict in (verdict for verdict in VERDICT_MEANINGS if counts[verdict]):
        style = BOLD_ERROR if verdict in FAILING_VERDICTS else "bold"
        lines.append(Text.assemble((f"{verdict.value}", style), f"  {format_count(counts[verdict], 'node', 'nodes')}"))
        lines += wrap_line(Text(VERDICT_MEANINGS[verdict], "dim"), width)
    return lines


def node_list_text(nodes: NodeListState, width: int, height: int) -> Text:
    """Render as many nodes around the selected one as fit."""
    rows = rows_around(nodes.index, len(nodes.visible_nodes), height)
    lines = [_node_row(nodes.visible_nodes[index], width, selected=index == nodes.index) for index in rows]
    return Text("\n").join(lines if nodes.visible_nodes else [Text("none is shown", "dim")])


def _node_row(judged: report.JudgedNode, width: int, *, selected: bool) -> Text:
    """Render a node as a line with its name and, if it fits, its output shape."""
    shape = escape_unprintable(report.format_shape(judged.output)) if width >= MIN_SHAPE_WIDTH else ""
    name_width = max(8, width - 3 - min(len(shape), width // 2) - 2 * bool(shape))
    is_failing = report.is_failing(judged)
    name = _fit_width(escape_unprintable(report.node_name(judged.node)), name_width)
    text = f"{SELECTED_SIGN if selected else ' '}{FAILING_SIGN if is_failing else '  '}{name}  {shape}".rstrip()
    colour = BOLD_ERROR if is_failing else ""
    return Text(set_cell_size(_truncate_start(text, width), width), f"{colour}{' reverse' if selected else ''}".strip())


def _fit_width(text: str, width: int) -> str:
    return set_cell_size(_truncate_start(text, width), width)


def node_text(nodes: NodeListState, fix: NodeFix | None, width: int, height: int) -> Text:
    """Render the op, the flow diagram and the reason for the verdict of a node.

    The node is the selected one. If `fix` is not None, the fixed node is rendered, and the assumption of the fix
    replaces the reason.
    """
    judged = nodes.selected_node
    if judged is None:
        return Text()
    target = "" if judged.target is None else report.format_shape(judged.target)
    target = report.format_fix(fix) if fix else target
    shape = escape_unprintable(report.format_shape(judged.output))
    head = f"{judged.node.op} {target}".rstrip()
    head = head if fix else f"{head}   output {shape}"
    reason = (fix and report.format_assumption(fix)) or judged.why
    below = [*map(Text, wrap_lines(escape_unprintable(reason), width, MAX_REASON_LINES))]
    picture = _node_picture(nodes, fix, width, max(3, height - len(below) - 3))
    lines = [Text(clip_text(head, width, UNICODE), "bold"), Text(), *picture.split("\n")]
    return Text("\n").join([*lines, Text(), *below])


def fix_text(nodes: NodeListState, width: int, height: int, *, draws_picture: bool) -> Text:
    """Render the fixes of the selected node.

    If `draws_picture` is True, the flow diagram of the displayed fix, or else of the first fix, follows.
    """
    judged = nodes.selected_node
    if judged is None:
        return Text()
    lines = _fix_lines(nodes, judged, width)
    fix = nodes.shown_fix or next(iter(judged.fixes), None)
    if fix is None or not draws_picture:
        return Text("\n").join(lines)
    assumption = [*map(Text, wrap_lines(report.format_assumption(fix), width, MAX_REASON_LINES))]
    picture = _node_picture(nodes, fix, width, max(3, height - len(lines) - len(assumption) - 2))
    return Text("\n").join([*lines, Text(), *picture.split("\n"), Text(), *assumption])


def _node_picture(nodes: NodeListState, fix: NodeFix | None, width: int, height: int) -> Text:
    """Render the flow diagram of the selected node, with the given fix.

    If the node cannot be resolved, the text states the reason.
    """
    trace = nodes.resolve_selected_node(fix)
    if trace is None:
        why = "the model computes the target then" if fix else "a shape is not known"
        return Text(clip_text(f"no picture: {why}", width, UNICODE), "dim")
    return draw_flow(trace, width=width, height=height)


def _fix_lines(nodes: NodeListState, judged: report.JudgedNode, width: int) -> list[Text]:
    """Render a line for each fix, and mark the displayed fix."""
    lines, signs = [], {1: "f", nodes.fix_number: SELECTED_SIGN}
    targets = max((len(report.format_fix(fix)) for fix in judged.fixes), default=0)
    for number, fix in enumerate(judged.fixes, 1):
        target = report.format_fix(fix).ljust(targets)
        line = "  ".join(filter(None, (signs.get(number, " "), target, fix.effect)))
        lines.append(Text(clip_text(line.rstrip(), width, UNICODE), "bold" if nodes.fix_number == number else ""))
    return lines


def _truncate_start(text: str, width: int) -> str:
    """Truncate a name at its start, because the names of nodes have common prefixes."""
    return text if len(text) <= width else f"…{text[len(text) - width + 1 :]}"


def _limit_lines(lines: list[str]) -> list[str]:
    """Limit the number of lines; the last line then counts the omitted ones."""
    excess = len(lines) - MAX_NOTICE_LINES
    return lines if excess <= 0 else [*lines[: MAX_NOTICE_LINES - 2], f"and {excess + 1} more", lines[-1]]

"""What the screen of a model shows: the list of its nodes, and the picture of the marked one."""

from __future__ import annotations

from textwrap import wrap

from rich.cells import set_cell_size
from rich.text import Text

from shapecalc.core.text import visible
from shapecalc.models.report import assumed_words, fix_words, name_of, offends, shape_words, verdict_words
from shapecalc.tui.model_list import ModelList
from shapecalc.view.flow import flow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.models.report import Judged

MOST_WORDS = 3
"""Lines of what is said of a node."""
OFFENDS, MARKED = "! ", "▸"
UNASKED = "no picture: a shape is not known"
INSERTED = "no picture: the model computes the target then"


def list_text(nodes: ModelList, width: int, height: int) -> Text:
    """Return the rows around the marked node, under what the model is."""
    offending = sum(map(offends, nodes.report.nodes))
    name = visible(nodes.report.model.replace("\\", "/").rpartition("/")[2])
    lines = [Text(_fitted(f"{name}  {offending} of {len(nodes.report.nodes)} offend", width), "bold")]
    rows = max(1, height - 1)
    first = max(0, min(nodes.at - rows // 2, len(nodes.shown) - rows))
    shown = enumerate(nodes.shown[first : first + rows], first)
    lines += [_row(judged, width, marked=at == nodes.at) for at, judged in shown]
    return Text("\n").join(lines if nodes.shown else [*lines, Text("none is shown", "dim")])


def _row(judged: Judged, width: int, *, marked: bool) -> Text:
    """Return a node in one line: its name, and the shape that comes out."""
    shape = visible(shape_words(judged.output))
    room = max(8, width - 3 - min(len(shape), width // 2) - 2)
    bad = offends(judged)
    text = f"{MARKED if marked else ' '}{OFFENDS if bad else '  '}{_fitted(visible(name_of(judged.node)), room)}  "
    return Text(_fitted(text + shape, width), f"{'bold red' if bad else ''}{' reverse' if marked else ''}".strip())


def _fitted(text: str, width: int) -> str:
    return set_cell_size(_short(text, width), width)


def node_text(nodes: ModelList, width: int, height: int) -> Text:
    """Return the marked node: its verdict, its flow or that of the fix that is looked at, and its fixes."""
    judged = nodes.marked
    if judged is None:
        return Text()
    head = f"{_short(visible(name_of(judged.node)), width // 2)}  {verdict_words(judged, nodes.report)}"
    lines = [Text(set_cell_size(head, width).rstrip(), "bold red" if offends(judged) else "bold")]
    asked = fix_words(nodes.fix) if nodes.fix else shape_words(judged.target) if judged.target is not None else ""
    lines.append(Text(_cut(f"{judged.node.op} {asked}".rstrip(), width)))
    words = (nodes.fix and assumed_words(nodes.fix)) or judged.why
    said = [*_said(words, width), *_fix_lines(nodes, judged, width)]
    picture = _picture(nodes, width, max(3, height - len(lines) - len(said) - 2))
    return Text("\n").join([*lines, Text(), *picture.split("\n"), Text(), *said])


def _picture(nodes: ModelList, width: int, height: int) -> Text:
    """Return the flow of what core answers; a line that says why there is none."""
    trace = nodes.trace()
    if trace is None:
        return Text(_cut(INSERTED if nodes.fix else UNASKED, width), "dim")
    return flow(trace, width=width, height=height)


def _said(words: str, width: int) -> list[Text]:
    """Return what is said of a node, in a few lines."""
    lines = wrap(visible(words), width)
    if len(lines) > MOST_WORDS:
        lines = [*lines[: MOST_WORDS - 1], _cut(" ".join(lines[MOST_WORDS - 1 :]), width)]
    return [Text(line) for line in lines]


def _fix_lines(nodes: ModelList, judged: Judged, width: int) -> list[Text]:
    """Return a line for each fix; the one that is looked at is bold."""
    lines = []
    for number, fix in enumerate(judged.fixes, 1):
        said = "  ".join(filter(None, ("f" if number == 1 else " ", fix_words(fix), fix.how)))
        lines.append(Text(_cut(said, width), "bold" if nodes.fixed == number else ""))
    return lines


def _short(text: str, width: int) -> str:
    """Return a text that is no longer than a width: its end, since names of nodes begin alike."""
    return text if len(text) <= width else f"…{text[len(text) - width + 1 :]}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: max(0, width - 1)]}…"

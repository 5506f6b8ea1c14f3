"""A second chain beside the one on the screen: whether it is the same function, and the shortest that is."""

from __future__ import annotations

from shlex import join

from rich.console import Group
from rich.table import Table
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Input, Label, OptionList, Static
from textual.widgets.option_list import Option

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.commands import chain_text, stage_line
from shapecalc.core.equiv import Equivalence, Verdict, equivalence
from shapecalc.core.ops import OPS
from shapecalc.core.problem import Problem, ShapeError
from shapecalc.core.record import Record
from shapecalc.core.simplify import Cost, Goal, Simplification, simplify
from shapecalc.core.text import number_text, shape_text, visible
from shapecalc.tui.explore_text import problem_text
from shapecalc.tui.question import CHAIN, answer_question, question_of
from shapecalc.tui.widgets import Choices, Dialog, Field, Fields, KeyWords, Pane, copy
from shapecalc.view.grid import output_grids

MOST_COMPARED = 1 << 18
"""The most elements that are compared one by one at a key stroke."""
MARKS = {
    Verdict.SAME: ("✓", "green"),
    Verdict.SAME_WHEN: ("✓", "yellow"),
    Verdict.DIFFERENT: ("≠", "red"),
    Verdict.UNDECIDED: ("?", "yellow"),
}
"""What stands before a verdict, and in which colour."""
MORE = "the command below compares more elements"
GAP = 4
"""The blanks between two columns."""
SHORTEST = "It is as short as shapecalc can make it."
PROVED = "Proved to be the same, wherever the chain is defined."
UNPROVED = "Not proved to be the same."
LABELS = {Goal.TRANSPOSES: "transposes", Goal.SHUFFLES: "Shuffle layers", Goal.BYTES: "bytes moved"}
"""What the counts are called."""
GOALS = (*Goal,)


class Pair(Record):
    """A second chain beside the first, and the verdict on the two; or why there is none."""

    first: Trace | Chain
    second: Trace | Chain | None
    text: str
    """The second as the command line takes it."""
    equivalence: Equivalence | None = None
    problem: Problem | None = None
    typing: bool = False
    """Whether the second can still become right by typing on."""


def pair_of(first: Trace | Chain, text: str) -> Pair:
    """Return the verdict on an answer and the chain that is typed, which may be stages alone.

    >>> import shapecalc as sc
    >>> print(pair_of(sc.chain("N,C", "transpose", "reshape -1"), "reshape -1").equivalence)
    same when N is 1, or when C is 1
    """
    words = text.split()
    if words and words[0] in OPS:
        text = f"| {text}"
    question = question_of([CHAIN, text])
    if not question.texts["input"]:
        question = question.with_text("input", shape_text(first.input))
    result = answer_question(question, "stages" if "|" in text else "input")
    if result.answer is None or not words:
        return Pair(first, None, text, None, result.problem, result.typing or not words)
    try:
        return Pair(first, result.answer, text, equivalence(first, result.answer, MOST_COMPARED))
    except ShapeError as error:
        return Pair(first, result.answer, text, None, error.problem)


def verdict_text(pair: Pair) -> Text:
    """Return the verdict in words, with its reasons; or what is wrong with a chain and what would help."""
    if pair.typing:
        return Text("...", "dim")
    if pair.problem is not None:
        return problem_text(pair.problem)
    if pair.equivalence is None:
        return Text()
    mark, style = MARKS[pair.equivalence.verdict]
    text = Text(f"{mark} {pair.equivalence}", "bold")
    text.stylize(style, 0, len(mark))
    more = (MORE,) if pair.equivalence.verdict is Verdict.UNDECIDED else ()
    return Text("\n").join([text, *(Text(visible(reason)) for reason in (*pair.equivalence.reasons, *more))])


def equiv_line(pair: Pair) -> str:
    """Return the command line that asks for the same verdict.

    >>> import shapecalc as sc
    >>> equiv_line(pair_of(sc.transpose("2,3", "1,0"), "reshape 3,2"))
    "shapecalc equiv '2,3 | transpose 1,0' '| reshape 3,2'"
    """
    return join(["shapecalc", "equiv", chain_text(pair.first), pair.text.strip()])


class Equiv(Dialog[str]):
    """The first chain, a field for the second, the verdict, and both outputs where they differ."""

    BINDINGS = [Binding("escape", "leave", "close"), Binding("f7", "copy", "copy")]

    def __init__(self, answer: Trace | Chain, text: str) -> None:
        """Hold the chain that `text` writes against an answer."""
        super().__init__()
        self.answer, self.text = answer, text
        self.pair = pair_of(answer, text)

    def contents(self) -> ComposeResult:
        """Put the two chains over the verdict, and the outputs under it."""
        with Horizontal(id="first"):
            yield Label("first ")
            yield Static(visible(chain_text(self.answer)), markup=False)
        yield Fields(Field("second", self.text))
        yield Static("", id="verdict", markup=False)
        yield Pane("outputs")
        yield Static("", id="line", markup=False)
        yield KeyWords("F7 copies the command, escape closes", id="words")

    def on_mount(self) -> None:
        """Begin in the field."""
        self.query_one(Pane).can_focus = False
        self.query_one(Input).focus()
        self.show()

    @on(Input.Changed)
    def take_text(self, event: Input.Changed) -> None:
        """Hold what is typed against the first."""
        self.text = event.value
        self.pair = pair_of(self.answer, self.text)
        self.show()

    def show(self) -> None:
        """Draw the verdict and the outputs."""
        self.query_one("#verdict", Static).update(verdict_text(self.pair))
        self.query_one("#line", Static).update(visible(f"$ {equiv_line(self.pair)}"))
        self.query_one(Pane).draw(self._outputs)

    def _outputs(self, width: int, height: int) -> Text:
        """Return both outputs where they differ."""
        pair = self.pair
        verdict = pair.equivalence
        if pair.second is None or verdict is None or verdict.counterexample is None or verdict.by_shape:
            return Text()
        try:
            return output_grids((pair.first, pair.second), verdict.counterexample, width=width, height=height)
        except ShapeError as error:
            return Text(visible(error.problem.message), "dim")

    def action_copy(self) -> None:
        """Copy the command line that asks for the same verdict."""
        copy(self, equiv_line(self.pair))

    def action_leave(self) -> None:
        """Close, and leave the text to be opened with again."""
        self.dismiss(self.text)


# The short form


def chains_shown(answer: Trace | Chain, found: Simplification) -> Table:
    """Return a chain beside its short form if there is one, a line for every stage; what is too wide is wrapped."""
    shown = Table.grid(padding=(0, GAP, 0, 0))
    shown.add_row(_column("as it is", answer), *([_column("short form", found.chain)] if found.shorter else []))
    return shown


def _column(title: str, answer: Trace | Chain) -> Group:
    """Return the stages of a chain under its title, each with the shape after it."""
    stages = Table.grid(padding=(0, 2, 0, 0))
    for trace in answer.traces:
        stages.add_row(Text(visible(stage_line(trace.request))), Text(f"→ {shape_text(trace.output or ())}", "dim"))
    count = number_text(len(answer.traces), "stage", "stages")
    return Group(Text(f"{title}, {count}", "bold"), Text(shape_text(answer.input)), stages)


def count_line(goal: Goal, before: Cost, after: Cost) -> Text:
    """Return what there is of one thing in a chain and in its short form."""
    have, left = (str(getattr(cost, goal.value)) for cost in (before, after))
    line = Text(f"{LABELS[goal].ljust(max(map(len, LABELS.values())))}  {have}")
    return line.append(f" → {left}", "bold") if have != left else line


def conclusion_text(found: Simplification) -> Text:
    """Return in words whether there is a shorter chain, and whether it is proved to be the same."""
    return Text(SHORTEST if not found.shorter else PROVED if found.proved else UNPROVED, "bold")


def simplify_line(answer: Trace | Chain, goal: Goal) -> str:
    """Return the command line that looks for the short form.

    >>> import shapecalc as sc
    >>> simplify_line(sc.transpose("2,3", "1,0"), Goal.BYTES)
    "shapecalc simplify '2,3 | transpose 1,0' --for bytes"
    """
    return join(["shapecalc", "simplify", chain_text(answer), "--for", goal.value])


class Simplify(Dialog[str | None]):
    """Two chains, what there is to be the fewest of with the counts, and whether the short form is proved."""

    BINDINGS = [
        Binding("escape,ctrl+l", "dismiss", "close"),
        Binding("f7", "copy", "copy"),
        Binding("pagedown", "scroll(1)", "down", priority=True),
        Binding("pageup", "scroll(-1)", "up", priority=True),
    ]

    def __init__(self, answer: Trace | Chain) -> None:
        """Look for the short form of an answer."""
        super().__init__()
        self.answer = answer
        self.goal = GOALS[0]
        self.found: Simplification | None = None

    def contents(self) -> ComposeResult:
        """Put the counts under the chains."""
        with VerticalScroll(id="chains", can_focus=False):
            yield Static("", id="pair", markup=False)
        yield Choices(*(Option(LABELS[goal], id=goal.value) for goal in GOALS), id="goals")
        yield Static("", id="conclusion", markup=False)
        yield Static("", id="line", markup=False)
        yield KeyWords("up and down choose, enter takes it, F7 copies, escape closes", id="words")

    def on_mount(self) -> None:
        """Begin at the first goal."""
        goals = self.query_one(Choices)
        goals.highlighted = 0
        goals.focus()

    @on(OptionList.OptionHighlighted)
    def look(self, event: OptionList.OptionHighlighted) -> None:
        """Look for the chain that has the fewest of what the cursor is at."""
        self.goal = GOALS[event.option_index]
        self.show()

    def on_resize(self) -> None:
        """Draw for the new size."""
        self.call_after_refresh(self.show)

    def show(self) -> None:
        """Draw the chains and their counts, or why there is no short form."""
        shown = self.query_one("#pair", Static)
        self.query_one("#line", Static).update(visible(f"$ {simplify_line(self.answer, self.goal)}"))
        try:
            self.found = found = simplify(self.answer, self.goal)
        except ShapeError as error:
            self.query_one(Choices).display = False
            shown.update(problem_text(error.problem))
            return
        shown.update(chains_shown(self.answer, found))
        goals = self.query_one(Choices)
        for goal in GOALS:
            goals.replace_option_prompt(goal.value, count_line(goal, found.before, found.after))
        self.query_one("#conclusion", Static).update(conclusion_text(found))

    @on(OptionList.OptionSelected)
    def take(self) -> None:
        """Close with the short form, if there is one."""
        if self.found and self.found.shorter:
            self.dismiss(chain_text(self.found.chain))

    def action_copy(self) -> None:
        """Copy the command line that looks for the short form."""
        copy(self, simplify_line(self.answer, self.goal))

    def action_scroll(self, by: int) -> None:
        """Scroll the chains."""
        chains = self.query_one("#chains", VerticalScroll)
        (chains.scroll_page_down if by > 0 else chains.scroll_page_up)(animate=False)

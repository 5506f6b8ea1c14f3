"""Dialogs that compare a chain with a second chain, or simplify a chain.

A chain is a sequence of ops, called stages. Each stage is applied to the output of the previous one.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from math import prod
from shlex import join
from typing import Any

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
from shapecalc.core.moves import ravel, unravel
from shapecalc.core.ops import OPS
from shapecalc.core.problem import Problem, ShapeError
from shapecalc.core.record import Record
from shapecalc.core.text import escape_unprintable, format_count, shape_text
from shapecalc.reading.commands import chain_text, parse_stage, stage_line
from shapecalc.reasoning.costs import Cost, Goal
from shapecalc.reasoning.equiv import (
    Equivalence,
    EquivalenceVerdict,
    check_equivalence,
    count_differences,
    differences_text,
)
from shapecalc.reasoning.simplify import Simplification, simplify
from shapecalc.render.canvas import stack_texts
from shapecalc.render.grid import TensorPath, build_tensor_path, draw_output_grids
from shapecalc.render.output_comparison import position_text
from shapecalc.render.styles import ERROR_COLOUR, SUCCESS_COLOUR
from shapecalc.render.tape import MAX_TAPE_ELEMENTS, draw_output_tapes
from shapecalc.tui.explore_text import problem_text
from shapecalc.tui.panels import set_widget_height
from shapecalc.tui.question import CHAIN, question_from_words, resolve_question
from shapecalc.tui.widgets import (
    ChoiceList,
    ClickableText,
    Dialog,
    Field,
    FieldRow,
    Key,
    KeyHelp,
    Pane,
    copy_text,
    format_key_line,
)

MIN_GRID_LINES = 5
"""The minimum height of the tables below the tapes, in lines."""
MAX_COMPARED_ELEMENTS = 1 << 18
"""The maximum number of elements of an output that is compared after each key press."""
VERDICT_SYMBOLS = {
    EquivalenceVerdict.SAME: ("✓", SUCCESS_COLOUR),
    EquivalenceVerdict.SAME_WHEN: ("✓", "bold"),
    EquivalenceVerdict.DIFFERENT: ("≠", ERROR_COLOUR),
    EquivalenceVerdict.UNDECIDED: ("?", "bold"),
}
"""The symbol of each verdict, with its colour."""
COMPARE_MORE_HINT = "the command below compares more elements"
COLUMN_GAP = 4
"""The number of spaces between two columns."""
IS_SHORTEST_TEXT = "It is as short as shapecalc can make it."
PROVED_TEXT = "Proved to be the same, wherever the chain is defined."
UNPROVED_TEXT = "Not proved to be the same."
GOAL_LABELS = {Goal.TRANSPOSES: "transposes", Goal.SHUFFLES: "Shuffle layers", Goal.BYTES: "bytes moved"}
"""The quantity that each goal of a simplification minimizes, as text."""
GOALS = (*Goal,)


class ChainComparison(Record):
    """The result of a comparison of two chains.

    It is an equivalence, or a problem in the second chain.
    """

    first: Trace | Chain
    second: Trace | Chain | None
    text: str
    """The second chain, as typed."""
    equivalence: Equivalence | None = None
    problem: Problem | None = None
    is_incomplete: bool = False
    """Whether the second chain is only the beginning of a valid chain."""


def compare_chains(first: Trace | Chain, text: str) -> ChainComparison:
    """Compare an answer with the chain in `text`.

    The chain may omit its input shape.

    >>> import shapecalc as sc
    >>> print(compare_chains(sc.chain("N,C", "transpose", "reshape -1"), "reshape -1").equivalence)
    same when N is 1, or when C is 1
    """
    words = text.split()
    if words and words[0] in OPS:
        text = _request_as_chain(words) or f"| {text}"
    question = question_from_words([CHAIN, text])
    if not question.texts["input"]:
        question = question.with_text("input", shape_text(first.input))
    result = resolve_question(question, "stages" if "|" in text else "input")
    if result.answer is None or not words:
        return ChainComparison(first, None, text, None, result.problem, result.is_incomplete or not words)
    try:
        return ChainComparison(
            first, result.answer, text, check_equivalence(first, result.answer, MAX_COMPARED_ELEMENTS)
        )
    except ShapeError as error:
        return ChainComparison(first, result.answer, text, None, error.problem)


def verdict_text(comparison: ChainComparison) -> Text:
    """Format the verdict of a comparison with its reasons, or the problem."""
    if comparison.is_incomplete:
        return Text("...", "dim")
    if comparison.problem is not None:
        return problem_text(comparison.problem)
    if comparison.equivalence is None:
        return Text()
    mark, style = VERDICT_SYMBOLS[comparison.equivalence.verdict]
    text = Text(f"{mark} {comparison.equivalence}", "bold")
    text.stylize(style, 0, len(mark))
    more = (COMPARE_MORE_HINT,) if comparison.equivalence.verdict is EquivalenceVerdict.UNDECIDED else ()
    reasons = (*comparison.equivalence.reasons, *more, *filter(None, (difference_text(comparison),)))
    return Text("\n").join([text, *(Text(escape_unprintable(reason)) for reason in reasons)])


def _request_as_chain(words: Sequence[str]) -> str:
    """Convert the words of a request with an input to a chain.

    Returns an empty string if the words have no input, as in the stage of a chain.

    >>> _request_as_chain(["transpose", "2,3", "1,0"]), _request_as_chain(["transpose", "1,0"])
    ('2,3 | transpose 1,0', '')
    """
    try:
        parse_stage(words, with_input=False)
    except ShapeError:
        with suppress(ShapeError):
            answer = resolve_question(question_from_words(words)).answer
            return "" if answer is None else chain_text(answer)
    return ""


def equiv_command(comparison: ChainComparison) -> str:
    """Return the command line that compares the two chains.

    >>> import shapecalc as sc
    >>> equiv_command(compare_chains(sc.transpose("2,3", "1,0"), "reshape 3,2"))
    "shapecalc equiv '2,3 | transpose 1,0' '| reshape 3,2'"
    """
    return join(["shapecalc", "equiv", chain_text(comparison.first), comparison.text.strip()])


SECOND_PLACEHOLDER = "an operation for the same input, such as transpose 1,0"
ARROW_OFFSETS = {"left": -1, "right": 1, "up": -1, "down": 1}
"""For each arrow key, the number of elements by which it moves the selection."""
EQUIV_KEYS = (
    Key("left", "←", "back", "move(-1)", "Mark the element before", 0),
    Key("right", "→", "on", "move(1)", "Mark the next element of both outputs", 1),
    Key("t", "t", "tint", "tint", "Colour the elements by the next axis", 2),
    Key("e", "e", "edit", "edit", "Edit the second chain", 3),
    Key("f7", "F7", "copy", "copy", "Copy the command line", 4),
    Key("escape", "esc", "closes", "close", "Leave the field, or close", 5),
)
OUTPUT_KEY_NAMES = ("left", "right", "t")
"""The keys that work only if two outputs are drawn."""


def difference_text(comparison: ChainComparison) -> str:
    """Describe how many elements of two outputs of equal shape differ.

    The text is empty if the number is unknown.

    >>> import shapecalc as sc
    >>> difference_text(compare_chains(sc.transpose("2,3", "1,0"), "reshape 3,2"))
    '4 of 6 elements are elsewhere, and no error was raised'
    """
    verdict, second = comparison.equivalence, comparison.second
    if verdict is None or verdict.counterexample is None or second is None or verdict.by_shape:
        return ""
    elsewhere = count_differences(comparison.first, second, verdict.counterexample)
    return "" if elsewhere is None else differences_text(elsewhere, verdict.counterexample)


def output_paths(comparison: ChainComparison) -> tuple[TensorPath, TensorPath] | None:
    """Return the paths of elements to both outputs, or None.

    Returns None if no element is known to differ, if the output shapes differ, or if there are too many elements.
    """
    verdict = comparison.equivalence
    if comparison.second is None or verdict is None or verdict.by_shape or verdict.counterexample is None:
        return None
    sizes = verdict.counterexample.sizes
    try:
        first, second = build_tensor_path(comparison.first, sizes), build_tensor_path(comparison.second, sizes)
    except ShapeError:
        return None
    shape = first.tensors[-1].shape
    return (first, second) if shape == second.tensors[-1].shape and prod(shape) > 0 else None


def first_differing_position(comparison: ChainComparison, shape: Sequence[int]) -> int:
    """Return the flat index of the first output element that differs.

    Returns 0 if this element is unknown.
    """
    verdict = comparison.equivalence  # the result is falsy if the chains differ, so it is compared with None
    counterexample = None if verdict is None else verdict.counterexample
    return ravel(counterexample.index, tuple(shape)) if counterexample and counterexample.index else 0


def draw_comparison(
    comparison: ChainComparison, width: int, height: int, *, position: int | None = None, tinted_axis: int = 0
) -> Text:
    """Draw both outputs of a comparison as tapes and as tables.

    The element at the flat index `position` is highlighted in both outputs; by default, this is the first element that
    differs. The drawing is empty if the shapes differ.
    """
    outputs, verdict, second = output_paths(comparison), comparison.equivalence, comparison.second
    if outputs is None or second is None or verdict is None or verdict.counterexample is None:
        return Text(end="")
    shape = outputs[0].tensors[-1].shape
    position = first_differing_position(comparison, shape) if position is None else position % prod(shape)
    index, lines = unravel(position, shape), list[Text]()
    if prod(shape) <= MAX_TAPE_ELEMENTS:
        race = draw_output_tapes(outputs, position, tinted_axis=tinted_axis, width=width)
        lines = [race, Text(position_text(outputs, position), "bold"), Text(end="")]
        lines = lines if sum(line.plain.count("\n") + 1 for line in lines) <= height else []
    free = height - sum(line.plain.count("\n") + 1 for line in lines)
    if free >= MIN_GRID_LINES:
        size: dict[str, Any] = {"width": width, "height": free, "tinted_axis": tinted_axis}
        lines.append(draw_output_grids((comparison.first, second), verdict.counterexample, index=index, **size))
    return stack_texts(lines) if lines else Text(end="")


BOX_LINES, VERDICT_LINES, MIN_OUTPUT_LINES = 10, 3, 4
"""The height of the comparison box without the outputs, the height reserved for the verdict, and the minimum height of
the
outputs.

All heights are in lines.
"""
MAX_EQUIV_WIDTH = 100
"""The maximum width of `EquivDialog`, in cells."""


class EquivDialog(Dialog[str]):
    """A dialog that compares the current chain with a second chain."""

    box_title = "Against"
    AUTO_FOCUS = ""
    BINDINGS = [
        Binding("escape", "close", "close"),
        Binding("f7", "copy", "copy"),
        Binding("e", "edit", "edit"),
        Binding("t", "tint", "tint"),
        *(Binding(key, f"move({offset})", "follow") for key, offset in ARROW_OFFSETS.items()),
    ]

    def __init__(self, answer: Trace | Chain, text: str) -> None:
        """Create the dialog, and compare an answer with the chain in `text`."""
        super().__init__()
        self.answer, self.text = answer, text
        self.comparison = compare_chains(answer, text)
        self.position: int | None = None
        """The flat index of the selected element in both outputs, or None for the first that differs."""
        self.tinted_axis = 0

    def compose_contents(self) -> ComposeResult:
        """Compose the fields of both chains, the verdict and the outputs."""
        with Horizontal(id="first"):
            yield Label("first ")
            yield Static(escape_unprintable(chain_text(self.answer)), markup=False)
        field = Field("second", self.text)
        field.placeholder = SECOND_PLACEHOLDER
        yield FieldRow(field)
        yield Static("", id="verdict", markup=False)
        yield Pane("outputs")
        yield Static("", id="line", markup=False)
        yield ClickableText("keys")

    def on_mount(self) -> None:
        """Show the verdict, and set the focus.

        The field of the second chain has the focus, unless the outputs can already be compared.
        """
        self.query_one(Pane).can_focus = False
        self.set_focus(None if self.outputs else self.query_one(Input))
        self.update_view()

    def on_descendant_focus(self) -> None:
        """Show the keys of the widget with the focus."""
        self.show_keys()

    def show_keys(self) -> None:
        """Show the keys that have an effect with the current focus."""
        is_typing, scrubs = isinstance(self.focused, Input), self.outputs is not None
        keys = tuple(key for key in EQUIV_KEYS if key.name not in (OUTPUT_KEY_NAMES if is_typing or not scrubs else ()))
        keys = tuple(key for key in keys if key.name != "e" or not is_typing)
        line = format_key_line(frozenset(key.action for key in keys), self.query_one("#keys").size.width or 70, keys)
        self.query_one("#keys", ClickableText).set_text(line)

    @property
    def outputs(self) -> tuple[TensorPath, TensorPath] | None:
        """The paths of elements to both outputs, or None if they cannot be compared."""
        return output_paths(self.comparison)

    def action_move(self, offset: int) -> None:
        """Select the element `offset` positions further on in both outputs."""
        if self.outputs is not None:
            count = prod(self.outputs[0].tensors[-1].shape)
            self.position = (self._selected_position(self.outputs) + offset) % count
            self.update_view()

    def action_tint(self) -> None:
        """Colour the elements by their index on the next axis of the input."""
        self.tinted_axis = (self.tinted_axis + 1) % max(1, len(self.answer.input))
        self.update_view()

    def action_edit(self) -> None:
        """Focus the field of the second chain."""
        self.set_focus(self.query_one(Input))

    def action_close(self) -> None:
        """Close the dialog.

        If outputs are displayed and the field has the focus, only the field is left.
        """
        if isinstance(self.focused, Input) and self.outputs is not None:
            self.set_focus(None)
            self.call_after_refresh(self.show_keys)
        else:
            self.action_leave()

    def _selected_position(self, outputs: tuple[TensorPath, TensorPath]) -> int:
        """Return the flat index of the selected element.

        By default, this is the first element that differs.
        """
        shape = outputs[0].tensors[-1].shape
        return (
            first_differing_position(self.comparison, shape) if self.position is None else self.position % prod(shape)
        )

    @on(Input.Changed)
    def compare_typed_chain(self, event: Input.Changed) -> None:
        """Compare the typed chain with the first chain."""
        if event.value == self.text:
            return
        self.text, self.position = event.value, None
        self.comparison = compare_chains(self.answer, self.text)
        self.update_view()

    def on_resize(self) -> None:
        """Draw the outputs for the new size."""
        self.call_after_refresh(self.update_view)

    def update_view(self) -> None:
        """Update the verdict and the outputs."""
        self.query_one("#verdict", Static).update(verdict_text(self.comparison))
        self.query_one("#line", Static).update(escape_unprintable(f"$ {equiv_command(self.comparison)}"))
        verdict_lines = self.query_one("#verdict").size.height or VERDICT_LINES
        width = min(self.app.size.width * 24 // 25, MAX_EQUIV_WIDTH) - 4
        room = max(1, self.app.size.height - BOX_LINES + 4 * self.has_class("-low") - verdict_lines)
        drawn = self._output_grids(width, room).plain
        set_widget_height(
            self.query_one(Pane), max(min(room, MIN_OUTPUT_LINES), drawn.count("\n") + 1) if drawn else room
        )
        self.query_one(Pane).set_renderer(self._output_grids)
        self.show_keys()

    def _output_grids(self, width: int, height: int) -> Text:
        """Draw both outputs, with the selected element highlighted in both."""
        return draw_comparison(self.comparison, width, height, position=self.position, tinted_axis=self.tinted_axis)

    def action_copy(self) -> None:
        """Copy the command line of the comparison."""
        copy_text(self, equiv_command(self.comparison))

    def action_leave(self) -> None:
        """Close the dialog, and return the second chain as typed."""
        self.dismiss(self.text)


def chains_table(answer: Trace | Chain, simplification: Simplification) -> Table:
    """Return a table of a chain beside its simplified form, with one stage per line."""
    table = Table.grid(padding=(0, COLUMN_GAP, 0, 0))
    table.add_row(
        _chain_column("as it is", answer),
        *([_chain_column("short form", simplification.chain)] if simplification.is_improved else []),
    )
    return table


def _chain_column(title: str, answer: Trace | Chain) -> Group:
    """Return a column with a title, the input shape, and the stages of a chain.

    Each stage is followed by its output shape.
    """
    stages = Table.grid(padding=(0, 2, 0, 0))
    for trace in answer.traces:
        stages.add_row(
            Text(escape_unprintable(stage_line(trace.request))), Text(f"→ {shape_text(trace.output or ())}", "dim")
        )
    count = format_count(len(answer.traces), "stage", "stages")
    return Group(Text(f"{title}, {count}", "bold"), Text(shape_text(answer.input)), stages)


def format_cost_line(goal: Goal, before: Cost, after: Cost) -> Text:
    """Format the cost of a chain for a goal, before and after simplification."""
    count, short_count = (str(getattr(cost, goal.value)) for cost in (before, after))
    line = Text(f"{GOAL_LABELS[goal].ljust(max(map(len, GOAL_LABELS.values())))}  {count}")
    return line.append(f" → {short_count}", "bold") if count != short_count else line


def format_simplification(simplification: Simplification) -> Text:
    """Describe the result of a simplification in one sentence."""
    return Text(
        IS_SHORTEST_TEXT if not simplification.is_improved else PROVED_TEXT if simplification.proved else UNPROVED_TEXT,
        "bold",
    )


def simplify_command(answer: Trace | Chain, goal: Goal) -> str:
    """Return the command line that simplifies a chain for a goal.

    >>> import shapecalc as sc
    >>> simplify_command(sc.transpose("2,3", "1,0"), Goal.BYTES)
    "shapecalc simplify '2,3 | transpose 1,0' --for bytes"
    """
    return join(["shapecalc", "simplify", chain_text(answer), "--for", goal.value])


class SimplifyDialog(Dialog[str | None]):
    """A dialog with a chain, its simplified form, and the costs for each goal."""

    box_title = "Shorten the chain"
    BINDINGS = [
        Binding("escape", "dismiss", "close"),
        Binding("f7", "copy", "copy"),
        Binding("pagedown", "scroll(1)", "down", priority=True),
        Binding("pageup", "scroll(-1)", "up", priority=True),
    ]

    def __init__(self, answer: Trace | Chain) -> None:
        """Create the dialog that simplifies the chain of an answer."""
        super().__init__()
        self.answer = answer
        self.goal = GOALS[0]
        self.simplification: Simplification | None = None

    def compose_contents(self) -> ComposeResult:
        """Compose both chains above the list of goals with their costs."""
        with VerticalScroll(id="chains", can_focus=False):
            yield Static("", id="pair", markup=False)
        yield ChoiceList(*(Option(GOAL_LABELS[goal], id=goal.value) for goal in GOALS), id="goals")
        yield Static("", id="result", markup=False)
        yield Static("", id="line", markup=False)
        yield KeyHelp("up and down choose, enter takes it, F7 copies, esc closes", id="words")

    def on_mount(self) -> None:
        """Select the first goal."""
        goals = self.query_one(ChoiceList)
        goals.highlighted = 0
        goals.focus()

    @on(OptionList.OptionHighlighted)
    def select_goal(self, event: OptionList.OptionHighlighted) -> None:
        """Simplify the chain for the highlighted goal."""
        self.goal = GOALS[event.option_index]
        self.update_view()

    def on_resize(self) -> None:
        """Redraw for the new size."""
        self.call_after_refresh(self.update_view)

    def update_view(self) -> None:
        """Simplify the chain, and show both chains with their costs, or an error."""
        pair_view = self.query_one("#pair", Static)
        self.query_one("#line", Static).update(escape_unprintable(f"$ {simplify_command(self.answer, self.goal)}"))
        try:
            self.simplification = simplification = simplify(self.answer, self.goal)
        except ShapeError as error:
            self.query_one(ChoiceList).display = False
            pair_view.update(problem_text(error.problem))
            return
        pair_view.update(chains_table(self.answer, simplification))
        goals = self.query_one(ChoiceList)
        for goal in GOALS:
            goals.replace_option_prompt(goal.value, format_cost_line(goal, simplification.before, simplification.after))
        self.query_one("#result", Static).update(format_simplification(simplification))

    @on(OptionList.OptionSelected)
    def accept_simplified_chain(self) -> None:
        """Close the dialog, and return the simplified chain if it is shorter."""
        if self.simplification:
            self.dismiss(chain_text(self.simplification.chain))

    def action_copy(self) -> None:
        """Copy the command line that simplifies the chain."""
        copy_text(self, simplify_command(self.answer, self.goal))

    def action_scroll(self, direction: int) -> None:
        """Scroll the chains one page down or up."""
        chains = self.query_one("#chains", VerticalScroll)
        (chains.scroll_page_down if direction > 0 else chains.scroll_page_up)(animate=False)

"""What the palette finds: every key, every field and setting of the question, the themes, and what was asked before."""

from __future__ import annotations

from functools import partial
from shlex import split

from textual.app import SystemCommand
from textual.markup import escape

from shapecalc.core.ops import OPS, dialects_with
from shapecalc.core.problem import ShapeError
from shapecalc.core.text import visible
from shapecalc.teaching import TOPICS
from shapecalc.tui.keys import KEYS
from shapecalc.tui.question import ASKABLE, CHAIN, question_of
from shapecalc.tui.themes import THEMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shapecalc.tui.screens.explore import Explore

SETTINGS = {
    "opset": "the version of ONNX's operators to follow",
    "dtype": "the type of the elements, in the spelling of the framework",
    "where": "sizes for names: N=8,C=3",
}
"""The settings that are typed, in words."""
SWITCHED = {True: "on", False: "off", None: "as the dialect has it"}
"""The settings of a switch, in words."""
CHAIN_HELP = "several operations in a row, each with its own options"


def commands(explore: Explore, asked: Sequence[str]) -> Iterator[SystemCommand]:
    """Yield what can be done at the main screen; `asked` are the command lines of questions to ask again."""
    yield from _keys(explore)
    if explore.state.works("against"):
        said = "say whether it is the same function, and show where they differ"
        yield SystemCommand("compare with another chain (against)", said, explore.action_against)
    if explore.state.works("grid") and explore.state.twin:
        said = "draw what a mistake gives that has the same sizes; m in the grid of F3"
        yield SystemCommand("the mistake beside the truth", said, explore.action_mistake)
    for kind in ("film", "picture") if explore.state.works("save") else ():
        said = f"write the {kind} of the {'request' if kind == 'film' else 'step'} into a file"
        yield SystemCommand(f"save the {kind}", said, partial(explore.action_save, kind))
    said = f"predict random requests without end; F5 asks which topics: {', '.join(TOPICS)}"
    yield SystemCommand("take exercises without end (drill)", said, explore.action_drill)
    if explore.state.works("tally"):
        said = "type how many answered what, and see the bars and the commonest mistake"
        yield SystemCommand("count the predictions of a class (tally)", said, explore.action_tally)
    yield from _themes(explore)
    yield from _questions(explore, asked)
    yield from _operations(explore)
    yield from _settings(explore)


def _keys(explore: Explore) -> Iterator[SystemCommand]:
    """Yield the keys; those that would do nothing now are found only by who looks for them."""
    for key in KEYS:
        works = explore.state.works(key.action)
        if not key.action.endswith("palette"):
            said = key.shown if works else f"{key.shown}, which would do nothing now"
            run = partial(explore.run_action, key.action)
            yield SystemCommand(key.help, said, run if works else partial(explore.notify, said, markup=False), works)


def _themes(explore: Explore) -> Iterator[SystemCommand]:
    for name in THEMES:
        yield SystemCommand(f"theme: {name}", "^T goes on to the next", partial(setattr, explore.app, "theme", name))


def _questions(explore: Explore, asked: Sequence[str]) -> Iterator[SystemCommand]:
    """Yield the questions that were asked before, as far as they can still be read."""
    for line in asked:
        try:
            program, *words = split(line)
            question = question_of(words)
        except (ShapeError, ValueError):
            continue
        if program != "shapecalc" or not words:
            continue
        shown = escape(visible(line.removeprefix("shapecalc ")))
        yield SystemCommand(f"asked before: {shown}", "ask it again", partial(explore.ask_anew, question))


def _operations(explore: Explore) -> Iterator[SystemCommand]:
    question = explore.state.question
    for name in ASKABLE:
        said = CHAIN_HELP if name == CHAIN else OPS[name].summary
        yield SystemCommand(
            f"operation: {name}", escape(said), partial(explore.ask_anew, question.with_op(name)), False
        )


def _settings(explore: Explore) -> Iterator[SystemCommand]:
    """Yield the dialects, the settings of the switch, the settings that are typed, and the fields."""
    question = explore.state.question
    for row in dialects_with(OPS[question.op]) if question.op in OPS else ():
        asking = question.with_setting("dialect", row.name)
        yield SystemCommand(f"dialect: {row.name}", escape(row.source), partial(explore.ask_anew, asking), False)
    for setting, words in SWITCHED.items() if question.switch else ():
        asking = question.with_setting(str(question.switch), setting)
        said = f"how {question.dialect} reads a 0"
        yield SystemCommand(f"{question.switch}: {words}", said, partial(explore.ask_anew, asking), False)
    for name, said in SETTINGS.items():
        yield SystemCommand(f"setting: {name}", said, partial(explore.action_choose, name), False)
    for name in question.fields:
        go = explore.query_one(f"#field-{name}").focus
        yield SystemCommand(f"field: {name.replace('_', '-')}", "go there", go, False)

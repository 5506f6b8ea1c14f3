"""What is to be predicted, what is typed as a prediction, and what is said to a wrong one.

It is said as a hint, which gives no answer away, or with the arithmetic and the answer.
"""

from __future__ import annotations

import re
from contextlib import suppress

from shapecalc.core import text
from shapecalc.core.answers import Chain, Kind, Stage, Step, Trace, moves_of
from shapecalc.core.ask import ask
from shapecalc.core.commands import chain_text, read_chain, read_stage
from shapecalc.core.dims import Shape, product
from shapecalc.core.equiv import Verdict, answers_of, equivalence
from shapecalc.core.examples import follow, follow_back
from shapecalc.core.fixing import answer as answer_request
from shapecalc.core.fixing import answer_chain
from shapecalc.core.mistakes import Mistake, misplacement_of, mistake_of
from shapecalc.core.ops import OPS
from shapecalc.core.ops.concat import SAME_DIM
from shapecalc.core.ops.matmul import CONTRACTED
from shapecalc.core.ops.operands import ALIGNED
from shapecalc.core.ops.transpose import TAKEN_AXIS
from shapecalc.core.ops.windows import SLIDES
from shapecalc.core.problem import ShapeError, misuse
from shapecalc.core.record import Record
from shapecalc.core.rules import COPIED_ZERO, GIVEN, INFERRED, REGROUPED, STRETCHED
from shapecalc.core.text import brief, number_text, read_axes, shape_text, split
from shapecalc.view.hints import hint_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.text import Text

SIZE = re.compile(r"(?<![\w-])(?:[2-9]|\d{2,})(?!\w)")
"""A number that is neither 0, 1 nor negative."""
PERMUTING = ("transpose", "--first", "--second")
"""The words after which a permutation comes; after an op alone, its input comes first."""
REFUSED = ("error", "refused")
"""What to type for a request that is refused."""

BUILDING = "the ops with | between them, such as transpose 2,1,0 | reshape 3,-1"

Prediction = Shape | None
"""A shape or an index; None if the request is predicted to be refused."""
COUNT_AGAIN = "compare each number of the request with the input, then count the elements"
FOLLOW_AGAIN = "count the elements that come before it, in reading order, before and after each stage"
NAME = re.compile(r"[^\W\d]\w*|\?")
"""The names of sizes, and the sign of one that nobody knows."""
TRIED = {
    Kind.PERMUTE: TAKEN_AXIS,
    Kind.EXPAND: STRETCHED,
    Kind.BROADCAST: ALIGNED,
    Kind.PRODUCT: CONTRACTED,
    Kind.JOIN: SAME_DIM,
    Kind.WINDOW: SLIDES,
}
"""The rule that settles each dim of a stage, where that is the same for all."""
COPIES, INFERS = 0, -1


class Task(Record):
    """One thing to predict; the right prediction is the resolver's."""

    question: str
    """A command line without `shapecalc`."""
    stage: str = ""
    """The stage after which the shape is asked for; empty for the output."""
    follow: str = ""
    """The index of the input element whose place in the output is asked for; empty for a shape."""
    builds: str = ""
    """What is to be built of an input, in words; the question is then a chain that does it. Empty to predict."""

    @property
    def shown(self) -> str:
        """What is asked about: the question, or what is to be built.

        >>> Task("chain '2,3 | transpose'", builds="turn the table").shown
        'turn the table: 2,3 -> 3,2'
        """
        answer = answer_line(self.question)
        ends = f"{shape_text(answer.input)} -> {shape_text(answer.output or ())}"
        return f"{self.builds}: {ends}" if self.builds else self.question

    @property
    def form(self) -> str:
        """The question with a sign in place of each size: what it has in common with those that differ in sizes alone.

        >>> Task("reshape 2,3,4 0,-1").form, Task("transpose 2,3 1,0").form
        ('reshape #,#,# 0,-1', 'transpose #,# 1,0')
        """
        words = self.question.split(" ")
        perms = {at + 1 + (at == 0) for at, word in enumerate(words) if word in PERMUTING}
        return " ".join(word if at in perms else SIZE.sub("#", word) for at, word in enumerate(words))

    @property
    def asks(self) -> str:
        """The sentence that asks for the prediction, or the chain."""
        if self.builds:
            return f"Type {BUILDING}:"
        if self.follow:
            return f"Where does the element at [{self.follow}] go?"
        return f"Predict {f'the shape after {self.stage}' if self.stage else 'the output shape'}, or error:"


class Judgement(Record):
    """What is said to a prediction."""

    right: bool
    said: str


def answer_line(question: str) -> Trace | Chain:
    """Return the answer to a command line without `shapecalc`.

    Raises `ShapeError` (usage) if it cannot be read, or if its input is a file.

    >>> answer_line("chain '2,3 | transpose | reshape -1'").output
    (6,)
    """
    words = split(question)
    if words[:1] == ["chain"]:
        shape, stages = read_chain(" ".join(words[1:]))
        return answer_chain(_written(shape), stages, {})
    typed = read_stage(words, with_input=True)
    return answer_request(ask(typed.op, _written(typed.input or ""), typed.options))


def _written(shape: str) -> str:
    """Return an input that is written out; raise `ShapeError` (usage) for one that is to be read from elsewhere."""
    if text.is_file(shape) or shape.strip() == "-":
        raise misuse("the input must be a shape that is written out", "write one, such as 2,3,4", argument="input")
    return shape


def prediction_of(task: Task, answer: Trace | Chain) -> Prediction:
    """Return what a task asks for, of any answer."""
    if task.follow and answer.output is not None:
        return follow(answer, read_axes(task.follow))[-1][1]
    named = (stage.after for stage in answer.stages if stage.finished and stage.label == task.stage)
    return next(named, answer.output)


def right_prediction(task: Task) -> Prediction:
    """Return the right prediction.

    >>> right_prediction(Task("transpose 2,3,4 1,2,0"))
    (3, 4, 2)
    """
    return prediction_of(task, answer_line(task.question))


def read_prediction(typed: str) -> Prediction:
    """Return the prediction that a text makes; raise `ShapeError` (usage) if it makes none."""
    return None if typed.strip().lower() in REFUSED else text.read_dims(typed, "prediction")


def prediction_text(prediction: Prediction) -> str:
    """Return a prediction as it is typed.

    >>> prediction_text((2, 12)), prediction_text(None)
    ('2,12', 'error')
    """
    return REFUSED[0] if prediction is None else shape_text(prediction)


def unread(task: Task, typed: str) -> str:
    """Return why a text is no prediction, in a sentence; empty if it is one.

    >>> task = Task("reshape 2,3,4 2,-1,2")
    >>> unread(task, "2,?,2"), unread(task, "2,6,2")
    ('that is not an answer yet: ? is not a size; type the sizes with commas between them, or error', '')
    """
    how = "type a number for each axis" if task.follow else "type the sizes with commas between them, or error"
    how = f"type {BUILDING}" if task.builds else how
    try:
        if task.builds:
            return "" if chain_built(task, typed) else how
        dims = read_prediction(typed) or ()
    except ShapeError as error:
        return f"that is not an answer yet: {error.problem.message}; {how}"
    names = (name for dim in dims for name in NAME.findall(str(dim)) if name not in NAME.findall(task.question))
    strange = next(names, None)
    kind = "number" if task.follow else "size"
    return "" if strange is None else f"that is not an answer yet: {strange} is not a {kind}; {how}"


def chain_built(task: Task, typed: str) -> Chain:
    """Return the chain that was typed for the input of a task, perhaps after that input.

    Raises `ShapeError`: usage if it cannot be read, the problem if it is refused.
    """
    asked = answer_line(task.question)
    stages = typed.strip().removeprefix(shape_text(asked.input)).lstrip(" |")
    built = answers_of(chain_text(asked), f"| {stages}", {})[1]
    if built.problem:
        raise ShapeError(built.problem)
    moves_of(built)  # op shape moves no elements
    return built


def misbuilt(task: Task, typed: str) -> Mistake | None:
    """Return what is wrong with a chain that was typed; None if it does what is asked for, at all sizes.

    Raises `ShapeError` as `chain_built` does.

    >>> misbuilt(Task("chain '2,3 | transpose'", builds="turn it"), "reshape 3,2").said
    'at [0,1] is element 1 of the input, where element 3 is asked for'
    """
    answer, built = answer_line(task.question), chain_built(task, typed)
    found = equivalence(answer, built)
    if found.verdict is Verdict.SAME:
        return None
    said, differs = "; ".join(found.reasons), found.counterexample
    if found.conditions:
        said = f"it is the {found}, not always"
    elif built.output != answer.output:
        said = f"it gives {shape_text(built.output or ())}, and {shape_text(answer.output or ())} is asked for"
    elif differs and differs.elements and differs.index is not None:
        right, wrong = differs.elements
        said = f"at [{shape_text(differs.index)}] is element {wrong} of the input, where element {right} is asked for"
    return Mistake("built", said, built)


def hint(task: Task, answer: Trace | Chain, prediction: Prediction) -> str:
    """Return what is wrong with a prediction and where to look, without the answer.

    >>> hint(Task("reshape 2,3,4 2,-1,2"), answer_line("reshape 2,3,4 2,-1,2"), (2, 4, 2))
    'the input has 24 elements, the answer 2,4,2 has 16; dim 1 is not 4: -1 is 24 elements (2*3*4) / 4 known = ?'
    """
    right = prediction_of(task, answer)
    if mistake := mistake_in(task, answer, prediction):
        return mistake.said
    if prediction is None:
        return "it is not refused: no rule forbids it, so begin with dim 0"
    if any(isinstance(dim, int) and dim < 0 for dim in prediction):
        return "no size in an answer is negative: -1 asks for a size, and the answer names it"
    if right is None:
        return "; ".join(filter(None, (_miscount(answer, prediction), COUNT_AGAIN)))
    if task.follow:
        return _misplacement(answer, right, prediction)
    return _misfit(task, answer, right, prediction)


def mistake_in(task: Task, answer: Trace | Chain, prediction: Prediction) -> Mistake | None:
    """Return the mistake that a wrong prediction shows; None if it shows none that is known.

    >>> mistake_in(Task("reshape 2,3,4,5 0,-1"), answer_line("reshape 2,3,4,5 0,-1"), (3, 40)).said
    'the dims were counted from 1: a 0 at index i copies dim i, counted from 0 at the left'
    """
    if task.stage:
        return None
    if not task.follow:
        return mistake_of(answer, prediction)
    if answer.output is None or prediction is None or not all(isinstance(at, int) for at in prediction):
        return None
    return misplacement_of(answer, read_axes(task.follow), read_axes(shape_text(prediction)))


def task_picture(task: Task, answer: Trace | Chain, width: int, height: int) -> Text:
    """Return the picture of what is asked, with holes for what is to be found; the input's elements where it has none.

    A request of one op is drawn as far as it says the sizes itself, so that nothing tells whether it is refused.
    """
    from shapecalc.view.canvas import UNICODE
    from shapecalc.view.flow import flow
    from shapecalc.view.grid import asked_grid
    from shapecalc.view.layout import COMBINING, opened, unsettled
    from shapecalc.view.pictures import picture

    whole = isinstance(answer, Chain) and answer.problem is None
    drawn = answer if whole else opened(answer)
    holes = dict.fromkeys(unsettled(drawn, 0 if whole else len(drawn.steps)), UNICODE.hole)
    with suppress(ShapeError):  # there may be no elements
        if task.follow or task.builds:
            return asked_grid(answer, read_axes(task.follow) if task.follow else None, width=width, height=height)
        if not holes and drawn.stages[0].kind not in COMBINING:
            return asked_grid(answer_line(f"chain {shape_text(answer.input)}"), ends=1, width=width, height=height)
    return (
        flow(drawn, None, holes=holes, width=width, height=height)
        if whole
        else picture(drawn, len(drawn.steps), holes=holes, width=width, height=height)
    )


def beside_truth(task: Task, typed: str, *, width: int, height: int = 12) -> Text | None:
    """Return the truth beside what was typed, if that is a chain, or the right answer to another question."""
    from shapecalc.view.grid import beside  # who only judges draws nothing

    with suppress(ShapeError):  # what was typed may be no answer, and its elements may be none
        answer = answer_line(task.question)
        found = misbuilt(task, typed) if task.builds else mistake_in(task, answer, read_prediction(typed))
        return beside(answer, found.answer, width=width, height=height) if found else None
    return None


def rungs(task: Task, answer: Trace | Chain, prediction: Prediction = None) -> tuple[str, ...]:
    """Return the helps for a task, each telling more than the one before, and none the answer.

    They are about the first dim that a prediction has wrong; without a shape, about the first that a rule settles.

    >>> rungs(Task("reshape 2,3,4 0,-1"), answer_line("reshape 2,3,4 0,-1"))[2]
    '0 copies dim 0, which is ?'
    """
    if task.builds:
        ops = [trace.op for trace in answer.traces]
        told = f"after the first, the shape is {shape_text(answer.traces[0].output or ())}"
        return f"{number_text(len(ops), 'op does', 'ops do')} it", " | ".join(f"{op} ?" for op in ops), told
    stage, right = _stage_of(task, answer), prediction_of(task, answer)
    if stage is None or task.follow:
        return (FOLLOW_AGAIN if task.follow else COUNT_AGAIN,)
    steps = [(out, _settling(stage, out)) for out in _differences(right, prediction) or range(len(right or ()))]
    ruled = [(out, step) for out, step in steps if step and step.rule != GIVEN]
    out, step = (ruled or steps or [(0, None)])[0]
    if step is None or step.out is None:
        return _rungs_of_stage(stage)
    return hint_of(stage, step, out, name="input" if stage is answer.stages[0] else "tensor").rungs


def _rungs_of_stage(stage: Stage) -> tuple[str, ...]:
    """Return helps for a stage as a whole: one that is refused, or that settles no dim by itself.

    They look like those for any other stage, so that they do not say which it is.
    """
    rules = [step.rule for step in stage.steps if step.rule != GIVEN][: 1 if stage.finished else None]
    if not rules and stage.kind in TRIED:
        rules = [TRIED[stage.kind]]
    if not rules:
        rules = [rule for code, rule in ((INFERS, INFERRED), (COPIES, COPIED_ZERO)) if code in stage.asked]
    rule = rules[-1] if rules else REGROUPED
    shapes = {"input": stage.before} | ({"asked": stage.asked} if stage.asked else {})
    rows = (f"{name}   {'   '.join(map(str, shape))}" for name, shape in shapes.items())
    return f"{rule.sentence}  [{rule}]", "\n".join(rows), COUNT_AGAIN


def account(answer: Trace | Chain) -> str:
    """Return what each dim of an answer comes from, in a line; why it is refused if it is.

    >>> account(answer_line("shuffle 2,3,4 --first 2,0,1 --to 0,-1"))
    'first takes dims 2,0,1 of 2,3,4: 4,2,3; the 0 at index 0 copies dim 0, which is 4; -1 = 24 / 4 = 6'
    """
    if answer.problem is not None:
        return answer.problem.message
    return "; ".join(line for stage in answer.stages for line in _stage_account(stage)) or "the request says every size"


def _stage_account(stage: Stage) -> list[str]:
    """Return what each dim of a stage comes from, but for those that the request itself names."""
    if stage.kind is Kind.PERMUTE:
        taken = (step.sources[0] for step in stage.steps if step.rule == TAKEN_AXIS)
        shapes = (tuple(taken), stage.before, stage.after or ())
        return ["{} takes dims {} of {}: {}".format(stage.label, *map(shape_text, shapes))]
    return [_step_account(step) for step in stage.steps if step.out is not None and step.rule != GIVEN]


def _step_account(step: Step) -> str:
    if step.rule == COPIED_ZERO:
        return f"the 0 at index {step.out} copies dim {step.sources[0]}, which is {step.value}"
    if step.rule == INFERRED:
        have, known = step.facts["have"], step.facts["known"]
        return f"-1 = {have} / {f'({known})' if '*' in str(known) else known} = {step.value}"
    return step.why


def _miscount(answer: Trace | Chain, shape: Shape) -> str:
    """Say how many elements there are and how many a shape has, if these differ and the ops keep the count."""
    if product(shape) == product(answer.input) or not all(OPS[trace.op].keeps_count for trace in answer.traces):
        return ""
    have, wants = text.count_text((), product(answer.input)), brief(shape_text(shape))
    return f"the input has {have}, the answer {wants} has {text.dim_text(product(shape))}"


def _misplacement(answer: Trace | Chain, right: Shape, index: Shape) -> str:
    """Say which element is at the place that was named instead."""
    if len(index) != len(right):
        axes, numbers = number_text(len(right), "axis", "axes"), number_text(len(right), "number", "numbers")
        return f"the output has {axes}, so a place in it has {numbers}, not {len(index)}"
    try:
        came_from = follow_back(answer, read_axes(shape_text(index)))[-1][1]
    except ShapeError as error:
        return error.problem.message
    return f"the element at [{shape_text(index)}] of the output is the one at [{shape_text(came_from)}] of the input"


def _misfit(task: Task, answer: Trace | Chain, right: Shape, shape: Shape) -> str:
    """Say whether the count, the rank or the order is wrong, and which rule settles the first dim that differs."""
    faults = [count] if (count := _miscount(answer, shape)) else []
    if len(shape) != len(right):
        faults.append(f"{number_text(len(right), 'dim comes', 'dims come')} out, not {len(shape)}")
    elif sorted(map(str, shape)) == sorted(map(str, right)):
        faults.append("the sizes are right, and their order is not")
    for out in _differences(right, shape)[:1]:
        stage = _stage_of(task, answer)
        step = _settling(stage, out)
        because = f": {hint_of(stage, step, out).arithmetic}" if stage and step else ""
        faults.append(f"dim {out} is not {brief(str(shape[out]))}{because}")
    return "; ".join(faults)


def _differences(right: Prediction, shape: Prediction) -> list[int]:
    """Return the indices of the dims that differ, as far as both have any."""
    pairs = zip(right or (), shape or (), strict=False)
    return [out for out, (mine, yours) in enumerate(pairs) if mine != yours]


def _settling(stage: Stage | None, out: int) -> Step | None:
    """Return the step that settles a dim; the last of the stage if none does alone, None if there is none."""
    steps = stage.steps if stage else ()
    return next((step for step in steps if step.out == out), steps[-1] if steps else None)


def _stage_of(task: Task, answer: Trace | Chain) -> Stage | None:
    """Return the stage that a task asks about, the last if it names none; None if nothing was done."""
    stages = answer.stages
    return next((stage for stage in stages if stage.label == task.stage), stages[-1] if stages else None)

"""What is said to a wrong prediction: as a hint, which gives no answer away, or with the arithmetic and the answer."""

from __future__ import annotations

import re

from shapecalc.core.answers import Chain, Kind, Stage, Step, Trace
from shapecalc.core.dims import Shape, product
from shapecalc.core.follow import follow_back
from shapecalc.core.mistakes import Mistake, misplacement_of, mistake_of
from shapecalc.core.ops import OPS
from shapecalc.core.ops.transpose import TakenAxis
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import Record
from shapecalc.core.rules import TWO_INFERS, CopiedZero, Given, Inferred, Regrouped, Stretched
from shapecalc.core.text import brief, count_text, dim_text, number_text, read_axes, shape_text, visible
from shapecalc.teaching.fits import COPIES, INFERS, which_of_them
from shapecalc.teaching.tasks import Prediction, Task, prediction_of, prediction_text, read_prediction
from shapecalc.view.hints import hint_of

COUNT_AGAIN = "compare each number of the request with the input, then count the elements"
FOLLOW_AGAIN = "count the elements that come before it, in reading order, before and after each stage"
EVERY_RULE = "it is not refused: no rule forbids it, so begin with dim 0"
NAME = re.compile(r"[^\W\d]\w*|\?")
"""The names of sizes, and the sign of one that nobody knows."""
TRIED = {Kind.PERMUTE: TakenAxis.rule, Kind.EXPAND: Stretched.rule}
"""The rule that settles each dim of a stage, where that is the same for all."""


class Judgement(Record):
    """What is said to a prediction."""

    right: bool
    said: str


def unread(task: Task, typed: str) -> str:
    """Return why a text is no prediction, in a sentence; empty if it is one.

    >>> task = Task("reshape 2,3,4 2,-1,2")
    >>> unread(task, "2,?,2"), unread(task, "2,6,2")
    ('that is not an answer yet: ? is not a size; type the sizes with commas between them, or error', '')
    """
    how = "type a number for each axis" if task.follow else "type the sizes with commas between them, or error"
    try:
        dims = read_prediction(typed) or ()
    except ShapeError as error:
        return f"that is not an answer yet: {error.problem.message}; {how}"
    names = (name for dim in dims for name in NAME.findall(str(dim)) if name not in NAME.findall(task.question))
    strange = next(names, None)
    kind = "number" if task.follow else "size"
    return "" if strange is None else f"that is not an answer yet: {strange} is not a {kind}; {how}"


def hint(task: Task, answer: Trace | Chain, prediction: Prediction) -> str:
    """Return what is wrong with a prediction and where to look, without the answer.

    >>> from shapecalc.teaching.tasks import answer_line
    >>> hint(Task("reshape 2,3,4 2,-1,2"), answer_line("reshape 2,3,4 2,-1,2"), (2, 4, 2))
    'the input has 24 elements, the answer 2,4,2 has 16; dim 1 is not 4: -1 is 24 elements (2*3*4) / 4 known = ?'
    """
    right = prediction_of(task, answer)
    if said := mistake(task, answer, prediction):
        return said
    if prediction is None:
        return EVERY_RULE
    if any(isinstance(dim, int) and dim < 0 for dim in prediction):
        return "no size in an answer is negative: -1 asks for a size, and the answer names it"
    if right is None:
        stage, several = _stage_of(task, answer), ""
        if stage and answer.problem and answer.problem.rule == TWO_INFERS:
            several = which_of_them(stage.before, stage.asked, prediction)
        return "; ".join(filter(None, (_miscount(answer, prediction), several or COUNT_AGAIN)))
    if task.follow:
        return _misplacement(answer, right, prediction)
    return _misfit(task, answer, right, prediction)


def mistake(task: Task, answer: Trace | Chain, prediction: Prediction) -> str:
    """Return the sentence of the mistake that a wrong prediction shows; empty if it shows none that is known.

    >>> from shapecalc.teaching.tasks import answer_line
    >>> mistake(Task("reshape 2,3,4,5 0,-1"), answer_line("reshape 2,3,4,5 0,-1"), (3, 40))
    'the dims were counted from 1: a 0 at index i copies dim i, counted from 0 at the left'
    """
    found = mistake_in(task, answer, prediction)
    return found.said if found else ""


def mistake_in(task: Task, answer: Trace | Chain, prediction: Prediction) -> Mistake | None:
    """Return the mistake that a wrong prediction shows; None if it shows none that is known."""
    if task.stage:
        return None
    if not task.follow:
        return mistake_of(answer, prediction)
    if answer.output is None or prediction is None or not all(isinstance(at, int) for at in prediction):
        return None
    return misplacement_of(answer, read_axes(task.follow), read_axes(shape_text(prediction)))


def rungs(task: Task, answer: Trace | Chain, prediction: Prediction = None) -> tuple[str, ...]:
    """Return the helps for a task, each telling more than the one before, and none the answer.

    They are about the first dim that a prediction has wrong; without a shape, about the first that a rule settles.

    >>> from shapecalc.teaching.tasks import answer_line
    >>> rungs(Task("reshape 2,3,4 0,-1"), answer_line("reshape 2,3,4 0,-1"))[2]
    '0 copies dim 0, which is ?'
    """
    stage, right = _stage_of(task, answer), prediction_of(task, answer)
    if stage is None or task.follow:
        return (FOLLOW_AGAIN if task.follow else COUNT_AGAIN,)
    steps = [(out, _settling(stage, out)) for out in _differences(right, prediction) or range(len(right or ()))]
    ruled = [(out, step) for out, step in steps if step and not isinstance(step.facts, Given)]
    out, step = (ruled or steps or [(0, None)])[0]
    if step is None or step.out is None:
        return _rungs_of_stage(stage)
    return hint_of(stage, step, out, name="input" if stage is answer.stages[0] else "tensor").rungs


def _rungs_of_stage(stage: Stage) -> tuple[str, ...]:
    """Return helps for a stage as a whole: one that is refused, or that settles no dim by itself.

    They look like those for any other stage, so that they do not say which it is.
    """
    rules = [step.rule for step in stage.steps if not isinstance(step.facts, Given)][: 1 if stage.finished else None]
    if not rules and stage.kind in TRIED:
        rules = [TRIED[stage.kind]]
    if not rules:
        rules = [rule for code, rule in ((INFERS, Inferred.rule), (COPIES, CopiedZero.rule)) if code in stage.asked]
    rule = rules[-1] if rules else Regrouped.rule
    shapes = {"input": stage.before} | ({"asked": stage.asked} if stage.asked else {})
    rows = (f"{name}   {'   '.join(map(str, shape))}" for name, shape in shapes.items())
    return f"{rule.sentence}  [{rule}]", "\n".join(rows), COUNT_AGAIN


def correction(task: Task, answer: Trace | Chain, rule: str = "", prediction: Prediction = None) -> str:
    """Return the right answer with a reason.

    >>> from shapecalc.teaching.tasks import answer_line
    >>> correction(Task("reshape 2,3,4 0,-1"), answer_line("reshape 2,3,4 0,-1"), "copy-zero", (2, 6))
    'it is 2,12: -1 is 24 elements (2*3*4) / 2 known = 12 [infer]'
    """
    right = prediction_of(task, answer)
    said = "refused" if right is None else prediction_text(right)
    return visible(f"it is {said}: {reason(task, answer, rule, prediction)}")


def reason(task: Task, answer: Trace | Chain, rule: str = "", prediction: Prediction = None) -> str:
    """Return the arithmetic, and the rule, of the dim that says most about the answer.

    That is the first dim that a prediction has wrong, unless the request itself names its size. Without one, it is what
    `rule` settles; then the last dim that any rule settles.

    >>> from shapecalc.teaching.tasks import answer_line
    >>> reason(Task("reshape 2,3,4 0,-1"), answer_line("reshape 2,3,4 0,-1"), "copy-zero")
    '0 copies dim 0, which is 2 [copy-zero]'
    """
    right, stage = prediction_of(task, answer), _stage_of(task, answer)
    if right is None and answer.problem is not None:
        return f"{answer.problem.message} [{answer.problem.rule}]"
    missed = [_settling(stage, out) for out in _differences(right, None if task.follow else prediction)]
    wrong = [step for step in missed if step and not isinstance(step.facts, Given)]
    own = stage.steps if stage else ()
    ruled = [step for step in own if step.out is not None and not isinstance(step.facts, Given)]
    named = [step for step in ruled if step.rule == rule] or [step for step in answer.steps if step.rule == rule]
    return "; ".join(f"{step.why} [{step.rule}]" for step in wrong[:1] or named or ruled[-1:] or own[-1:])


def account(answer: Trace | Chain) -> str:
    """Return what each dim of an answer comes from, in a line; why it is refused if it is.

    >>> from shapecalc.teaching.tasks import answer_line
    >>> account(answer_line("shuffle 2,3,4 --first 2,0,1 --to 0,-1"))
    'first takes dims 2,0,1 of 2,3,4: 4,2,3; the 0 at index 0 copies dim 0, which is 4; -1 = 24 / 4 = 6'
    """
    if answer.problem is not None:
        return answer.problem.message
    return "; ".join(text for stage in answer.stages for text in _stage_account(stage)) or "the request says every size"


def _stage_account(stage: Stage) -> list[str]:
    """Return what each dim of a stage comes from, but for those that the request itself names."""
    if stage.kind is Kind.PERMUTE:
        taken = (step.sources[0] for step in stage.steps if isinstance(step.facts, TakenAxis))
        shapes = (tuple(taken), stage.before, stage.after or ())
        return ["{} takes dims {} of {}: {}".format(stage.label, *map(shape_text, shapes))]
    return [_step_account(step) for step in stage.steps if step.out is not None and not isinstance(step.facts, Given)]


def _step_account(step: Step) -> str:
    match step.facts:
        case CopiedZero():
            return f"the 0 at index {step.out} copies dim {step.sources[0]}, which is {step.value}"
        case Inferred(have=have, known=known):
            return f"-1 = {have} / {f'({known})' if '*' in str(known) else known} = {step.value}"
    return step.why


def _miscount(answer: Trace | Chain, shape: Shape) -> str:
    """Say how many elements there are and how many a shape has, if these differ and the ops keep the count."""
    if product(shape) == product(answer.input) or not all(OPS[trace.op].keeps_count for trace in answer.traces):
        return ""
    have, wants = count_text((), product(answer.input)), brief(shape_text(shape))
    return f"the input has {have}, the answer {wants} has {dim_text(product(shape))}"


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

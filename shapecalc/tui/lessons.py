"""The lessons: questions to predict, and what is said to a prediction. Nothing here draws."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

from shapecalc.core.answers.element_path import follow, follow_back
from shapecalc.core.answers.stage import Step
from shapecalc.core.answers.trace import Chain, Trace
from shapecalc.core.asking.ask import ask
from shapecalc.core.asking.command_line import read_chain, read_stage, split
from shapecalc.core.fixing.answer import answer as answer_request
from shapecalc.core.fixing.answer import answer_chain
from shapecalc.core.ops import OPS
from shapecalc.core.sizes.dims import Shape, product
from shapecalc.core.sizes.problem import ShapeError
from shapecalc.core.sizes.quoting import count_text, number_text
from shapecalc.core.sizes.record import Record
from shapecalc.core.sizes.text import read_axes, read_dims, shape_text

REFUSED = ("error", "refused")
"""What to type for a request that is refused."""

Prediction = Shape | None
"""A shape or an index; None if the request is predicted to be refused."""


class Wrong(Record):
    """A wrong answer that people give, and what went wrong."""

    typed: str
    said: str
    same_as: str = ""
    """A question whose right answer this is; empty if there is none."""


class Lesson(Record):
    """One question to predict; the right answer is the resolver's."""

    id: str
    title: str
    text: str
    question: str
    point: str
    wrong: tuple[Wrong, ...] = ()
    stage: str = ""
    """The stage after which the shape is asked for; empty for the output."""
    follow: str = ""
    """The index of the input element whose place in the output is asked for; empty for a shape."""

    @property
    def asks(self) -> str:
        """What is to be predicted, in words."""
        if self.follow:
            return f"where does the element at [{self.follow}] go?"
        return f"the shape after {self.stage}, or error" if self.stage else "the output shape, or error"


class Judgement(Record):
    """What is said to a prediction."""

    right: bool
    said: str


@cache
def lessons() -> tuple[Lesson, ...]:
    """Return all lessons, in the order in which they are best taken."""
    table = tomllib.loads(files("shapecalc.tui").joinpath("lessons.toml").read_text("utf-8"))
    return tuple(_lesson(**entry) for entry in table["lesson"])


def _lesson(wrong: list[dict[str, str]], text: str, **fields: str) -> Lesson:
    return Lesson(text=text.strip(), wrong=tuple(Wrong(**entry) for entry in wrong), **fields)


def answer_line(question: str) -> Trace | Chain:
    """Return the answer to a command line without `shapecalc`; raise `ShapeError` (usage) if it cannot be read.

    >>> answer_line("chain '2,3 | transpose | reshape -1'").output
    (6,)
    """
    words = split(question)
    if words[:1] == ["chain"]:
        return answer_chain(*read_chain(" ".join(words[1:])), {})
    typed = read_stage(words, with_input=True)
    return answer_request(ask(typed.op, typed.input or "", typed.options))


def right_prediction(lesson: Lesson) -> Prediction:
    """Return the right prediction."""
    return _prediction(lesson, answer_line(lesson.question))


def _prediction(lesson: Lesson, answer: Trace | Chain) -> Prediction:
    """Return what a lesson asks for, of any answer."""
    if lesson.follow and answer.output is not None:
        return follow(answer, read_axes(lesson.follow))[-1][1]
    named = (stage.after for stage in answer.stages if stage.finished and stage.label == lesson.stage)
    return next(named, answer.output)


def judge(lesson: Lesson, typed: str) -> Judgement:
    """Say whether a prediction is right, and if it is not, what precisely went wrong.

    >>> lesson = next(lesson for lesson in lessons() if lesson.id == "hole")
    >>> judge(lesson, "2,6,2").right
    True
    >>> judge(lesson, "2,4,2").said
    'the input has 24 elements, and 2,4,2 holds 16; dim 1 is not 4: -1 is 24 elements (2*3*4) / 4 known = 6'
    """
    try:
        prediction = read_prediction(typed)
    except ShapeError as error:
        hint = f" ({error.problem.hint})" if error.problem.hint else ""
        return Judgement(False, f"that is no answer yet: {error.problem.message}{hint}")
    answer = answer_line(lesson.question)
    if prediction == _prediction(lesson, answer):
        return Judgement(True, lesson.point)
    foreseen = next((wrong.said for wrong in lesson.wrong if read_prediction(wrong.typed) == prediction), "")
    return Judgement(False, foreseen or _diagnosis(lesson, answer, prediction))


def read_prediction(typed: str) -> Prediction:
    """Return the prediction that a text makes; raise `ShapeError` (usage) if it makes none."""
    return None if typed.strip().lower() in REFUSED else read_dims(typed, "prediction")


def _diagnosis(lesson: Lesson, answer: Trace | Chain, prediction: Prediction) -> str:
    """Say what is wrong with a prediction that was not foreseen."""
    right = _prediction(lesson, answer)
    if right is None:
        return f"it is refused: {answer.problem.message}" if answer.problem else "it is refused"
    if prediction is None:
        return f"it is not refused: {answer.steps[-1].why}"
    if any(isinstance(dim, int) and dim < 0 for dim in prediction):
        return "nothing in an answer is negative: -1 asks for a size, and the answer has it"
    if lesson.follow:
        return _misplacement(answer, right, prediction)
    return _misfit(lesson, answer, right, prediction)


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


def _misfit(lesson: Lesson, answer: Trace | Chain, right: Shape, shape: Shape) -> str:
    """Say whether the count, the rank or the order is wrong, and what the rule says of the first dim that differs."""
    faults = []
    if all(OPS[trace.op].keeps_count for trace in answer.traces) and product(shape) != product(right):
        have = count_text((), product(answer.input))
        faults.append(f"the input has {have}, and {shape_text(shape)} holds {product(shape)}")
    if len(shape) != len(right):
        faults.append(f"{number_text(len(right), 'dim comes', 'dims come')} out, not {len(shape)}")
    elif sorted(map(str, shape)) == sorted(map(str, right)):
        faults.append("the sizes are right, and their order is not")
    places = [out for out, (mine, yours) in enumerate(zip(right, shape, strict=False)) if mine != yours]
    if places:
        faults.append(f"dim {places[0]} is not {shape[places[0]]}: {_step(lesson, answer, places[0]).why}")
    return "; ".join(faults)


def _step(lesson: Lesson, answer: Trace | Chain, out: int) -> Step:
    """Return the step that settles a dim of what was asked for; the last step of the stage if none does alone."""
    stages = answer.traces[-1].stages
    stage = next((stage for stage in stages if stage.label == lesson.stage), stages[-1])
    return next((step for step in stage.steps if step.out == out), stage.steps[-1])

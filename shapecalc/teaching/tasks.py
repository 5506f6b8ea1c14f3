"""What is to be predicted, and what is typed as a prediction."""

from __future__ import annotations

import re

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.ask import ask
from shapecalc.core.commands import read_chain, read_stage, split
from shapecalc.core.dims import Shape
from shapecalc.core.fixing import answer as answer_request
from shapecalc.core.fixing import answer_chain
from shapecalc.core.follow import follow
from shapecalc.core.problem import misuse
from shapecalc.core.record import Record
from shapecalc.core.text import is_file, read_axes, read_dims, shape_text

SIZE = re.compile(r"(?<![\w-])(?:[2-9]|\d{2,})(?!\w)")
"""A number that is neither 0, 1 nor negative."""
PERMUTING = ("transpose", "--first", "--second")
"""The words after which a permutation comes; after an op alone, its input comes first."""
REFUSED = ("error", "refused")
"""What to type for a request that is refused."""

Prediction = Shape | None
"""A shape or an index; None if the request is predicted to be refused."""


class Task(Record):
    """One thing to predict; the right prediction is the resolver's."""

    question: str
    """A command line without `shapecalc`."""
    stage: str = ""
    """The stage after which the shape is asked for; empty for the output."""
    follow: str = ""
    """The index of the input element whose place in the output is asked for; empty for a shape."""

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
        """The sentence that asks for the prediction."""
        if self.follow:
            return f"Where does the element at [{self.follow}] go?"
        return f"Predict {f'the shape after {self.stage}' if self.stage else 'the output shape'}, or error:"


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
    if is_file(shape) or shape.strip() == "-":
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
    return None if typed.strip().lower() in REFUSED else read_dims(typed, "prediction")


def prediction_text(prediction: Prediction) -> str:
    """Return a prediction as it is typed.

    >>> prediction_text((2, 12)), prediction_text(None)
    ('2,12', 'error')
    """
    return REFUSED[0] if prediction is None else shape_text(prediction)

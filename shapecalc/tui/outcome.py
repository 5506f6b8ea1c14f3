"""What the core answers to the question on the screen, and where in its fields a problem is. Nothing here draws."""

from __future__ import annotations

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.ask import ask
from shapecalc.core.commands import read_chain, token_span, unreadable_stage
from shapecalc.core.dialects.base import element_type
from shapecalc.core.fixing import answer as answer_request
from shapecalc.core.ops import OPS, params_of
from shapecalc.core.problem import USAGE, Problem, ShapeError, misuse
from shapecalc.core.record import Record, replace
from shapecalc.core.resolve import ask_chain, resolve_chain
from shapecalc.core.text import shape_text
from shapecalc.core.values import read_sizes
from shapecalc.tui.files import open_source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from shapecalc.core.answers import Request
    from shapecalc.engine.arrays import Source
    from shapecalc.tui.question import Question

ENDINGS = ("1", "]", ")", "}", "1]", "1)", "1}", "*1", "])", "1])", "'")
"""What may still be typed: a text that any of these completes is no mistake yet."""
MOST_VALUES = 2
"""The most values that a stage needs."""


class Outcome(Record):
    """What the core says of a question: an answer, perhaps with a problem, or only a problem."""

    answer: Trace | Chain | None
    problem: Problem | None
    typing: bool = False
    """Whether the field in use can still become right by typing on."""
    source: Source | None = None
    """The file that the input names; None if it names none."""


def answer_question(question: Question, focused: str | None = None) -> Outcome:
    """Return what the core says of a question while the field `focused` is being typed in.

    >>> from shapecalc.tui.question import Question
    >>> answer_question(Question("reshape", {"input": "2,3,4", "target": "0,-"}), "target").typing
    True
    >>> answer_question(Question("reshape", {"input": "2,3,4", "target": "0,-1"})).answer.output
    (2, 12)
    """
    source = None
    try:
        source = open_source(question.texts.get("input", ""))
        requests = _requests(question, source)
        answer = resolve_chain(requests, answer_request) if question.is_chain else answer_request(requests[0])
    except ShapeError as error:
        typing = error.problem.rule == USAGE and focused is not None and _is_half_typed(question, focused, source)
        return Outcome(None, error.problem, typing, source)
    return Outcome(answer, answer.problem, False, source)


def _requests(question: Question, source: Source | None) -> tuple[Request, ...]:
    """Return the requests that a question makes: one for each op; raise `ShapeError` (usage) if it makes none."""
    texts = question.filled_texts
    if "input" not in texts:
        raise misuse("an input shape is missing", "write one, such as 2,3,4", argument="input")
    typed = texts.pop("input")
    shape = shape_text(source.shape) if source else typed
    if question.is_chain:
        where = question.settings.get("where")
        _, stages = read_chain(f"{shape} | {texts['stages']}" if "stages" in texts else shape)
        return ask_chain(shape, stages, {} if where is None else read_sizes(str(where)))
    known = None if source is None else _type_of(source, question)
    given = {"dtype": known} if known else {}
    return (ask(question.op, shape, {**given, **texts, **question.settings}),)


def _type_of(source: Source, question: Question) -> str | None:
    """Return the element type of a file, as the dialect that answers knows it; None if it knows none."""
    return element_type(source.dtype, question.row) if source.dtype else None


def without_file(question: Question) -> Question:
    """Return the question with a file's shape and element type in place of its name, so that the file is read once.

    Raises `ShapeError` (file) if the file cannot be used.
    """
    source = open_source(question.texts.get("input", ""))
    if source is None:
        return question
    known = None if question.is_chain else _type_of(source, question)
    typed = replace(question, settings={**({"dtype": known} if known else {}), **question.settings})
    return typed.with_text("input", shape_text(source.shape))


def _is_half_typed(question: Question, focused: str, source: Source | None) -> bool:
    """Say whether something typed at the end of a field would make the question readable, or the name of a file."""
    text = question.texts.get(focused, "")
    if focused == "input" and {*text} & {".", "/"} and any(map(str.isalpha, text)):
        return True
    for completed in (*(text + ending for ending in ENDINGS), *_words_starting(question, focused, text)):
        try:
            _requests(question.with_text(focused, completed), None if focused == "input" else source)
        except ShapeError:
            continue
        return True
    return False


def _words_starting(question: Question, focused: str, text: str) -> list[str]:
    """Return the texts that a field takes and that start as its own does, where they are made of known words."""
    if question.is_chain:
        word = text.rpartition("|")[2].lstrip()
        ops = [op for op in OPS if focused == "stages" and op.startswith(word)]
        return [text + op.removeprefix(word) + " 1" * values for op in ops for values in range(MOST_VALUES + 1)]
    words = (word for param in params_of(OPS[question.op]) if param.name == focused for word in param.words)
    return [word for word in words if word.lower().startswith(text.strip().lower())]


def caret(question: Question, outcome: Outcome) -> tuple[str, int, int] | None:
    """Return the field, and the characters in it, that a problem is about; None if no field is at fault."""
    if (problem := outcome.problem) is None:
        return None
    if question.is_chain and (place := _caret_in_stages(question.texts.get("stages", ""), outcome.answer, problem)):
        return place
    name = "stages" if question.is_chain and problem.argument != "input" else problem.argument
    if name not in question.fields:
        return None
    text = question.texts.get(name, "")
    start, stop = (None if question.is_chain and name == "stages" else problem.span) or (0, max(1, len(text)))
    return name, start, max(start + 1, stop)


def _caret_in_stages(stages: str, answer: Trace | Chain | None, problem: Problem) -> tuple[str, int, int] | None:
    """Return the characters in the stages that a problem is about; None if no stage is at fault."""
    try:
        number = unreadable_stage(stages) if answer is None else len(answer.traces) - 1
        of_input = problem.argument == "input" and (answer is None or number == 0)
        if number is None or of_input:
            return None
        return "stages", *token_span(stages, number, problem)
    except ShapeError:  # a quote is not closed
        return None


def element_reader(source: Source | None) -> Callable[[tuple[int, ...]], object] | None:
    """Return a function that gives a file's element at an index, `?` if it cannot be read; None if there is no file."""
    if source is None:
        return None
    from shapecalc.engine.arrays import FileError, elements_at

    def element(index: tuple[int, ...]) -> object:
        try:
            return elements_at(source, index)[()]
        except FileError:
            return "?"

    return element

"""What is wrong in a text of lessons, told with its lines."""

from __future__ import annotations

import re
import tomllib

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.follow import follow
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import Record, replace
from shapecalc.core.text import NOT_SHOWN, brief, read_axes
from shapecalc.teaching.tasks import Task, answer_line, prediction_of, prediction_text, read_prediction
from shapecalc.teaching.toml_lines import line_of, places_in, syntax_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from shapecalc.teaching.toml_lines import Place

    Keys = tuple[str, ...]

REQUIRED = ("id", "title", "text", "question", "point")
OPTIONAL = ("stage", "follow", "notes", "wrong")
REQUIRED_OF_WRONG, OPTIONAL_OF_WRONG = ("typed", "said"), ("same_as",)
OF_LINES = ("text", "point", "notes", "said")
"""The keys whose texts may have several lines."""
LONGEST = 2000
"""Characters of the longest text."""
LONGEST_TITLE = 60
ID = re.compile(r"[a-z0-9-]{1,40}")
TYPES = {int: "an integer", float: "a number", bool: "a boolean", list: "a list", dict: "a table"}


class Fault(Record):
    """One thing that is wrong in a file of lessons."""

    line: int
    said: str


def faults_in(text: str) -> tuple[int, list[Fault]]:
    r"""Return how many lessons a text holds, and what is wrong in it, in the order of its lines.

    >>> faults_in("[[lesson]]\nid = 'a'\ntitle = 'b'\ntext = 'c'\nquestion = 'reshape 2 -2'\npoint = 3\n")
    (1, [Fault(line=6, said='point is a text, not an integer')])
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line, said = syntax_line(str(error), text)
        return 0, [Fault(line, f"it is not TOML: {said}")]
    except ValueError:  # Python reads no number of more digits than `sys.get_int_max_str_digits`
        return 0, [Fault(1, "it has a number with too many digits")]
    except RecursionError:
        return 0, [Fault(1, "it is nested too deeply")]
    lessons, places = table.get("lesson"), places_in(text)
    if not isinstance(lessons, list) or not lessons or not all(isinstance(lesson, dict) for lesson in lessons):
        return 0, [Fault(1, "there is no [[lesson]]")]
    found = [*_faults_around(table, lessons)]
    for number, lesson in enumerate(lessons):
        found += [(("lesson", number, *place), said) for place, said in _faults_of(lesson)]
    faults = [Fault(line_of(place, places), said) for place, said in found]
    return len(lessons), sorted(faults, key=lambda fault: fault.line)


def _faults_around(table: dict[str, Any], lessons: list[dict[str, Any]]) -> Iterator[tuple[Place, str]]:
    """Yield what is wrong beside the lessons, and the ids that come twice."""
    for name in table:
        if name != "lesson":
            yield (name,), f"there is no key '{brief(name)}' beside [[lesson]]"
    first: dict[str, int] = {}
    for number, lesson in enumerate(lessons):
        name = str(lesson.get("id"))
        if "id" in lesson and first.setdefault(name, number) != number:
            yield ("lesson", number, "id"), f"lesson {first[name] + 1} also has the id '{brief(name)}'"


def _faults_of(lesson: dict[str, Any]) -> Iterator[tuple[Place, str]]:
    """Yield what is wrong in one lesson, with its place there: its form first, and if that is right, what it asks."""
    wrong = lesson.get("wrong", [])
    form = [*_faults_of_form(lesson, REQUIRED, OPTIONAL)]
    if not isinstance(wrong, list) or not all(isinstance(each, dict) for each in wrong):
        form.append((("wrong",), "wrong answers are written as [[lesson.wrong]]"))
    else:
        for number, each in enumerate(wrong):
            inner = _faults_of_form(each, REQUIRED_OF_WRONG, OPTIONAL_OF_WRONG)
            form += [(("wrong", number, *place), said) for place, said in inner]
    if not ID.fullmatch(str(lesson.get("id", "-"))) and not form:
        form.append((("id",), "an id is made of small letters, digits and hyphens, 40 at most"))
    yield from form or _faults_of_question(lesson)


def _faults_of_form(table: dict[str, Any], required: Keys, optional: Keys) -> Iterator[tuple[Place, str]]:
    """Yield the keys that are missing, that nobody knows, or that hold what is no text to show."""
    for name in required:
        if name not in table:
            yield (), f"{name} is missing"
    for name, value in table.items():
        if name not in (*required, *optional):
            yield (name,), f"there is no key '{brief(name)}': there are {', '.join((*required, *optional))}"
        elif name != "wrong" and not isinstance(value, str):
            yield (name,), f"{name} is a text, not {TYPES.get(type(value), 'a date')}"
        elif name != "wrong" and (said := _unshown(name, value)):
            yield (name,), said


def _unshown(name: str, text: str) -> str:
    """Return why a text cannot be shown; empty if it can."""
    most = LONGEST_TITLE if name == "title" else LONGEST
    if name in (*REQUIRED, *REQUIRED_OF_WRONG) and not text.strip():
        return f"{name} is empty"
    if len(text) > most:
        return f"{name} has {len(text)} characters, and {most} are the most"
    shown = text.replace("\n", " ") if name in OF_LINES else text
    if not shown.isprintable() or any(ord(char) in NOT_SHOWN for char in shown):
        return f"{name} holds a character that cannot be shown"
    return ""


def _faults_of_question(lesson: dict[str, Any]) -> Iterator[tuple[Place, str]]:
    """Yield what is wrong with what a lesson asks, and with the wrong answers that it foresees."""
    task = Task(lesson["question"], lesson.get("stage", ""), lesson.get("follow", ""))
    try:
        answer = answer_line(task.question)
    except ShapeError as error:
        yield ("question",), f"the question cannot be read: {error.problem.message}"
        return
    if faults := [*_faults_of_task(task, answer)]:
        yield from faults
        return
    right = prediction_text(prediction_of(task, answer))
    for name in ("title", "text"):
        if gives_away(lesson[name], right):
            yield (name,), f"{name} gives the answer away, which is {right}"
    seen: set[object] = set()
    for number, wrong in enumerate(lesson.get("wrong", [])):
        for name, said in _faults_of_wrong(task, wrong, right, seen):
            yield ("wrong", number, name), said


def _faults_of_task(task: Task, answer: Trace | Chain) -> Iterator[tuple[Place, str]]:
    """Yield why what is to be predicted does not exist."""
    labels = [stage.label for stage in answer.stages if stage.finished]
    if task.stage and task.follow:
        yield ("follow",), "stage asks for a shape and follow for an index: only one of them can stand here"
    elif task.stage and task.stage not in labels:
        yield (
            ("stage",),
            f"there is no stage '{brief(task.stage)}': there are {', '.join(dict.fromkeys(labels)) or 'none'}",
        )
    elif task.follow:
        try:
            if follow(answer, read_axes(task.follow))[-1][1] is None:
                yield ("follow",), "this element is left out on its way"
        except ShapeError as error:
            yield ("follow",), error.problem.message


def _faults_of_wrong(task: Task, wrong: dict[str, str], right: str, seen: set[object]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a wrong answer, with the key that is at fault; it joins those that were `seen`."""
    try:
        typed = read_prediction(wrong["typed"])
    except ShapeError as error:
        yield "typed", f"nobody could type this: {error.problem.message}"
        return
    if prediction_text(typed) == right:
        yield "typed", "this is the right answer"
    if typed in seen:
        yield "typed", "this wrong answer stands here twice"
    seen.add(typed)
    if gives_away(wrong["said"], right):
        yield "said", f"it gives the answer away, which is {right}"
    if question := wrong.get("same_as", ""):
        stage = task.stage if question.startswith("shuffle") else ""
        try:
            other = prediction_of(replace(task, stage=stage), answer_line(question))
        except ShapeError as error:
            yield "same_as", f"the question cannot be read: {error.problem.message}"
            return
        if other != typed:
            yield "same_as", f"this question gives {prediction_text(other)}, not {prediction_text(typed)}"


def gives_away(said: str, right: str) -> bool:
    """Say whether a text holds an answer as such: not as a part of another shape, nor as an index of the input.

    >>> gives_away("24 / 4 = 6", "6"), gives_away("it becomes 2,6,2", "2,6,2"), gives_away("2,6,2,1 is longer", "2,6,2")
    (True, True, False)
    """
    said = re.sub(r"\[[^]]*\] of the input", "", said)
    before = r"(?<![\w,*/])" if "," in right else r"(?:\b(?:is|are|to|becomes)|=) "
    return right != "error" and re.search(rf"{before}{re.escape(right)}(?!\w|[,*/]\w)", said) is not None

"""The lessons: questions to predict, with what they teach; a teacher's own, and what is wrong in a file of these."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.examples import follow
from shapecalc.core.problem import FILE, Problem, ShapeError, misuse
from shapecalc.core.record import Record, fields, replace
from shapecalc.core.text import NOT_SHOWN, brief, read_axes
from shapecalc.engine.headers import Unreadable, first_bytes, reason_of
from shapecalc.teaching import judging
from shapecalc.teaching.judging import Judgement, Task, prediction_text

PATH = (
    *("dim", "order", "plain-zero", "hole", "transpose", "perm-direction"),
    *("reshape-is-not-transpose", "shuffle-stages", "names"),
)
"""The lessons of the first ten minutes, in their order."""
PASSED = "path"
"""What is noted as done once that path is at its end, or was left."""
LARGEST = 1 << 16
"""Bytes of the largest file that is read."""
REQUIRED = ("id", "title", "text", "question", "point")
OPTIONAL = ("stage", "follow", "notes", "wrong")
REQUIRED_OF_WRONG, OPTIONAL_OF_WRONG = ("typed", "said"), ("same_as",)
OF_LINES = ("text", "point", "notes", "said")
"""The keys whose texts may have several lines."""
LONGEST = 2000
"""Characters of the longest text."""
ID = re.compile(r"[a-z0-9-]{1,40}")
TYPES = {int: "an integer", float: "a number", bool: "a boolean", list: "a list", dict: "a table"}
AT = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
"""Where Python's reader says that a text is no TOML."""
STRINGS = re.compile(
    r"""\"{3}(?:\\.|.)*?\"{3}|'{3}.*?'{3}|["']([\w-]+)["'](?=[ \t]*=)|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|#[^\n]*""", re.S
)
"""Texts and comments of TOML; a key in quotes is the group."""
PLACES = re.compile(r"^[ \t]*\[+[ \t]*(?P<table>[\w.-]+)|^[ \t]*(?P<key>[\w-]+)[\w. \t-]*=|\{", re.M)
"""Where tables, keys and the entries of a list begin, in a text without texts."""

Keys = tuple[str, ...]
KeyPath = tuple[str | int, ...]
"""The keys and numbers that lead to a value: `("lesson", 0, "wrong", 1, "typed")`."""


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
    notes: str = ""
    """What the speaker wants to say, or to be reminded of; not for the class."""

    @property
    def task(self) -> Task:
        """What is to be predicted."""
        return Task(self.question, self.stage, self.follow)


class Course(Record):
    """Lessons in their order, and whether the speaker's notes are shown from the start."""

    lessons: tuple[Lesson, ...]
    notes: bool = False
    path: bool = False
    """Whether they are gone through one after the other, without a list."""

    def without_notes(self) -> Course:
        """Return the course as the class gets it."""
        return Course(tuple(replace(lesson, notes="") for lesson in self.lessons))

    def as_json(self) -> list[dict[str, Any]]:
        """Return the lessons as JSON has them."""
        return [fields(lesson) | {"wrong": [*map(fields, lesson.wrong)]} for lesson in self.lessons]

    @classmethod
    def of_json(cls, lessons: list[dict[str, Any]]) -> Course:
        """Return the course that `as_json` was made of.

        >>> Course.of_json(Course(lessons()).as_json()) == Course(lessons())
        True
        """
        return cls(tuple(_lesson(**lesson) for lesson in lessons))


class Fault(Record):
    """One thing that is wrong in a file of lessons."""

    line: int
    said: str


@cache
def lessons() -> tuple[Lesson, ...]:
    """Return all lessons, in the order in which they are best taken."""
    return lessons_of(files("shapecalc.teaching").joinpath("lessons.toml").read_text("utf-8"))


def path_lessons() -> tuple[Lesson, ...]:
    """Return the lessons of the first ten minutes, in their order.

    >>> [lesson.id for lesson in path_lessons()][:3]
    ['dim', 'order', 'plain-zero']
    """
    known = {lesson.id: lesson for lesson in lessons()}
    return tuple(known[name] for name in PATH)


def first_course() -> Course | None:
    """Return the path for those who have learnt nothing but what is on it; None once it is done or left."""
    from shapecalc.teaching.progress import Progress

    progress = Progress()
    return None if progress.tally.asked or not progress.done <= {*PATH} else Course(path_lessons(), path=True)


def lessons_of(text: str) -> tuple[Lesson, ...]:
    """Return the lessons of a text in TOML that has nothing wrong with it."""
    return tuple(_lesson(**entry) for entry in tomllib.loads(text)["lesson"])


def _lesson(text: str, wrong: Iterable[dict[str, str]] = (), **fields: str) -> Lesson:
    return Lesson(text=text.strip(), wrong=tuple(Wrong(**entry) for entry in wrong), **fields)


def judge(lesson: Lesson, typed: str) -> Judgement:
    """Say whether a prediction is right; if it is not, what went wrong and where to look, without the answer.

    >>> lesson = next(lesson for lesson in lessons() if lesson.id == "hole")
    >>> judge(lesson, "2,6,2").right, judge(lesson, "2,4,2").said.partition(": ")[2]
    (True, '-1 is 24 elements (2*3*4) / 4 known = ?')
    """
    if problem := judging.unread(lesson.task, typed):
        return Judgement(False, problem)
    prediction, answer = judging.read_prediction(typed), judging.answer_line(lesson.question)
    if prediction == judging.prediction_of(lesson.task, answer):
        return Judgement(True, lesson.point)
    foreseen = next((wrong.said for wrong in lesson.wrong if judging.read_prediction(wrong.typed) == prediction), "")
    return Judgement(False, foreseen or judging.hint(lesson.task, answer, prediction))


def read_lesson_file(name: str) -> str:
    """Return the text of a file of lessons; raise `ShapeError` (file) if it cannot be read."""
    try:
        read, size = first_bytes(name, LARGEST)
        if size > LARGEST:
            raise Unreadable(f"it holds more than {LARGEST} bytes, too many for lessons")
        return read.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeError:
        said = "it is not UTF-8"
    except (OSError, Unreadable) as error:
        said = reason_of(error)
    raise ShapeError(Problem(FILE, f"{name}: {said}"))


def own_lessons(name: str, text: str) -> tuple[Lesson, ...]:
    """Return the lessons of a teacher's file, their ids led by the file's name.

    Raises `ShapeError` (usage) with the first thing that is wrong in it.
    """
    _, faults = faults_in(text)
    if faults:
        more = f"{len(faults)} in all; " if len(faults) > 1 else ""
        raise misuse(f"{name}:{faults[0].line}: {faults[0].said}", f"{more}see shapecalc drill --check-lessons")
    return tuple(replace(lesson, id=f"{Path(name).stem}/{lesson.id}") for lesson in lessons_of(text))


def faults_in(text: str) -> tuple[int, list[Fault]]:
    r"""Return how many lessons a text holds, and what is wrong in it, in the order of its lines.

    >>> faults_in("[[lesson]]\nid = 'a'\ntitle = 'b'\ntext = 'c'\nquestion = 'reshape 2 -2'\npoint = 3\n")
    (1, [Fault(line=6, said='point is a text, not an integer')])
    """
    try:
        table, lines = tomllib.loads(text), lines_in(text)
    except tomllib.TOMLDecodeError as error:
        return 0, [syntax_fault(str(error), text)]
    except ValueError:  # Python reads no number of more digits than `sys.get_int_max_str_digits`
        return 0, [Fault(1, "it has a number with too many digits")]
    except RecursionError:
        return 0, [Fault(1, "it is nested too deeply")]
    lessons = table.get("lesson")
    if not isinstance(lessons, list) or not lessons or not all(isinstance(lesson, dict) for lesson in lessons):
        return 0, [Fault(1, "there is no [[lesson]]")]
    found = [*_faults_beside(table, lessons)]
    for number, lesson in enumerate(lessons):
        found += [(("lesson", number, *path), said) for path, said in _faults_of(lesson)]
    faults = [Fault(_line_of(path, lines), said) for path, said in found]
    return len(lessons), sorted(faults, key=lambda fault: fault.line)


def _faults_beside(table: dict[str, Any], lessons: list[dict[str, Any]]) -> Iterator[tuple[KeyPath, str]]:
    """Yield what is wrong beside the lessons, and the ids that come twice."""
    for name in table:
        if name != "lesson":
            yield (name,), f"there is no key '{brief(name)}' beside [[lesson]]"
    first: dict[str, int] = {}
    for number, lesson in enumerate(lessons):
        name = str(lesson.get("id"))
        if "id" in lesson and first.setdefault(name, number) != number:
            yield ("lesson", number, "id"), f"lesson {first[name] + 1} also has the id '{brief(name)}'"


def _faults_of(lesson: dict[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """Yield what is wrong in one lesson, with its keys there: its form first, and if that is right, what it asks."""
    wrong = lesson.get("wrong", [])
    form = [*_faults_of_form(lesson, REQUIRED, OPTIONAL)]
    if not isinstance(wrong, list) or not all(isinstance(each, dict) for each in wrong):
        form.append((("wrong",), "wrong answers are written as [[lesson.wrong]]"))
    else:
        for number, each in enumerate(wrong):
            inner = _faults_of_form(each, REQUIRED_OF_WRONG, OPTIONAL_OF_WRONG)
            form += [(("wrong", number, *path), said) for path, said in inner]
    if not ID.fullmatch(str(lesson.get("id", "-"))) and not form:
        form.append((("id",), "an id is made of small letters, digits and hyphens, 40 at most"))
    yield from form or _faults_of_question(lesson)


def _faults_of_form(table: dict[str, Any], required: Keys, optional: Keys) -> Iterator[tuple[KeyPath, str]]:
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
    most = 60 if name == "title" else LONGEST
    if name in (*REQUIRED, *REQUIRED_OF_WRONG) and not text.strip():
        return f"{name} is empty"
    if len(text) > most:
        return f"{name} has {len(text)} characters, and {most} are the most"
    shown = text.replace("\n", " ") if name in OF_LINES else text
    if not shown.isprintable() or any(ord(char) in NOT_SHOWN for char in shown):
        return f"{name} holds a character that cannot be shown"
    return ""


def _faults_of_question(lesson: dict[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """Yield what is wrong with what a lesson asks, and with the wrong answers that it foresees."""
    task = Task(lesson["question"], lesson.get("stage", ""), lesson.get("follow", ""))
    try:
        answer = judging.answer_line(task.question)
    except ShapeError as error:
        yield ("question",), f"the question cannot be read: {error.problem.message}"
        return
    if faults := [*_faults_of_task(task, answer)]:
        yield from faults
        return
    right = prediction_text(judging.prediction_of(task, answer))
    for name in ("title", "text"):
        if gives_away(lesson[name], right):
            yield (name,), f"{name} gives the answer away, which is {right}"
    foreseen: set[object] = set()
    for number, wrong in enumerate(lesson.get("wrong", [])):
        for name, said in _faults_of_wrong(task, wrong, right, foreseen):
            yield ("wrong", number, name), said


def _faults_of_task(task: Task, answer: Trace | Chain) -> Iterator[tuple[KeyPath, str]]:
    """Yield why what is to be predicted does not exist."""
    labels = [stage.label for stage in answer.stages if stage.finished]
    if task.stage and task.follow:
        yield ("follow",), "stage asks for a shape and follow for an index: only one of them can stand here"
    elif task.stage and task.stage not in labels:
        known = ", ".join(dict.fromkeys(labels)) or "none"
        yield ("stage",), f"there is no stage '{brief(task.stage)}': there are {known}"
    elif task.follow:
        try:
            if follow(answer, read_axes(task.follow))[-1][1] is None:
                yield ("follow",), "this element is left out on its way"
        except ShapeError as error:
            yield ("follow",), error.problem.message


def _faults_of_wrong(task: Task, wrong: dict[str, str], right: str, foreseen: set[object]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a wrong answer, with the key that is at fault; it joins those that are `foreseen`."""
    try:
        typed = judging.read_prediction(wrong["typed"])
    except ShapeError as error:
        yield "typed", f"nobody could type this: {error.problem.message}"
        return
    if prediction_text(typed) == right:
        yield "typed", "this is the right answer"
    if typed in foreseen:
        yield "typed", "this wrong answer stands here twice"
    foreseen.add(typed)
    if gives_away(wrong["said"], right):
        yield "said", f"it gives the answer away, which is {right}"
    if question := wrong.get("same_as", ""):
        stage = task.stage if question.startswith("shuffle") else ""
        try:
            other = judging.prediction_of(replace(task, stage=stage), judging.answer_line(question))
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


def lines_in(text: str) -> dict[KeyPath, int]:
    r"""Return the line of every lesson, wrong answer and key of a text that is TOML: Python's reader tells none.

    >>> lines_in("[[lesson]]\n[[lesson.wrong]]\ntyped = '''\nid = 3'''\nsaid = 4")[("lesson", 0, "wrong", 0, "said")]
    5
    """
    plain = STRINGS.sub(lambda found: found[1] if found[1] else "\n" * found[0].count("\n"), text)
    lines: dict[KeyPath, int] = {}
    table: KeyPath = ()
    key, lesson, wrong, entry = "", -1, -1, -1
    for found in PLACES.finditer(plain):
        if name := found["table"]:
            lesson, wrong = lesson + (name == "lesson"), -1 if name == "lesson" else wrong + 1
            own = {"lesson": ("lesson", lesson), "lesson.wrong": ("lesson", lesson, "wrong", wrong)}
            table = place = own.get(name, (name,))
        elif found["key"]:
            key, entry = found["key"], -1
            place = (*table, key)
        else:
            entry += 1
            place = (*table, key, entry)
        lines[place] = plain.count("\n", 0, found.end()) + 1
    return lines


def _line_of(path: KeyPath, lines: Mapping[KeyPath, int]) -> int:
    """Return the line of a value, or of what it stands in."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


def syntax_fault(said: str, text: str) -> Fault:
    """Return what a sentence of Python's reader says, in the line that it names at its end.

    >>> syntax_fault("Invalid value (at line 3, column 5)", "")
    Fault(line=3, said='it is not TOML: invalid value')
    """
    place = AT.search(said)
    line = int(place[1]) if place and place[1] else text.count("\n") + 1
    said = AT.sub("", said)
    return Fault(line, f"it is not TOML: {said[:1].lower()}{said[1:]}")

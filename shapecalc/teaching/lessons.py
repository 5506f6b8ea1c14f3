"""Lessons, and the validation of lesson files.

The introductory path is a sequence of built-in lessons for new users. Teachers can write files with their own lessons.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.dims import product
from shapecalc.core.problem import FILE, Problem, ShapeError, error_reason, usage_error
from shapecalc.core.record import Record, fields, replace
from shapecalc.core.text import UNPRINTABLE_CODES, parse_axes, truncate
from shapecalc.engine.headers import UnreadableError, read_first_bytes
from shapecalc.reasoning.examples import trace_element
from shapecalc.teaching import judging
from shapecalc.teaching.judging import Judgement, Task, prediction_text

PATH_LESSON_IDS = (
    *("dim", "order", "plain-zero", "hole", "indivisible", "transpose", "perm-direction", "transpose-elements"),
    *("reshape-is-not-transpose", "shuffle-stages", "names"),
)
"""The ids of the lessons in the introductory path, in order."""
PATH_DONE_ID = "path"
"""The id that is stored when the introductory path is completed or abandoned."""
MAX_LESSON_FILE_BYTES = 1 << 16
"""The maximum size of a lesson file, in bytes."""
REQUIRED_KEYS = ("id", "title", "text", "question", "point")
OPTIONAL_KEYS = ("stage", "follow", "kind", "notes", "wrong")
REQUIRED_WRONG_KEYS, OPTIONAL_WRONG_KEYS = ("typed", "said"), ("same_as",)
MULTILINE_KEYS = ("text", "point", "notes", "said")
"""The keys of a lesson file whose strings may span several lines."""
MAX_TEXT_LENGTH = 2000
"""The maximum length of a string in a lesson file, in characters."""
ID_PATTERN = re.compile(r"[a-z0-9-]{1,40}")
TYPE_NAMES = {int: "an integer", float: "a number", bool: "a boolean", list: "a list", dict: "a table"}
ERROR_POSITION = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
"""The pattern of the position at the end of an error message of `tomllib`."""
STRING_PATTERN = re.compile(
    r"""\"{3}(?:\\.|.)*?\"{3}|'{3}.*?'{3}|["']([\w-]+)["'](?=[ \t]*=)|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|#[^\n]*""", re.S
)
"""The pattern of a string or comment in TOML; the group matches a quoted key before `=`."""
STRUCTURE_PATTERN = re.compile(r"^[ \t]*\[+[ \t]*(?P<table>[\w.-]+)|^[ \t]*(?P<key>[\w-]+)[\w. \t-]*=|\{", re.M)
"""The pattern of the start of a table, key or list entry in TOML without strings."""

Keys = tuple[str, ...]
KeyPath = tuple[str | int, ...]
"""The keys and indices that lead to a value, such as `("lesson", 0, "wrong", 1, "typed")`."""


class WrongAnswer(Record):
    """A wrong answer that a lesson expects, with feedback."""

    typed: str
    said: str
    same_as: str = ""
    """A command line whose output is the wrong answer; empty if there is none."""


class Lesson(Record):
    """A lesson with a text, a question and an explanation.

    The right answer is computed from the question; it is not stored.
    """

    id: str
    title: str
    text: str
    question: str
    point: str
    wrong: tuple[WrongAnswer, ...] = ()
    stage: str = ""
    """The label of the stage whose output shape the user predicts; empty for the last stage."""
    follow: str = ""
    """The index of the input element whose output index the user predicts; empty to predict a shape."""
    kind: str = ""
    """`cut` if the user cuts a row of all elements; empty if the answer is typed."""
    notes: str = ""
    """The notes for the speaker, which are not shown to the class."""

    @property
    def task(self) -> Task:
        """The task with the question of the lesson."""
        return Task(self.question, self.stage, self.follow, kind=self.kind)


class Course(Record):
    """A sequence of lessons, with options for their presentation."""

    lessons: tuple[Lesson, ...]
    shows_notes: bool = False
    """Whether the speaker notes are visible at the start."""
    is_path: bool = False
    """Whether the lessons are presented one after another, without a list."""

    def without_notes(self) -> Course:
        """Return a copy of the course without speaker notes."""
        return Course(tuple(replace(lesson, notes="") for lesson in self.lessons))

    def as_json(self) -> list[dict[str, Any]]:
        """Return the lessons as JSON objects."""
        return [fields(lesson) | {"wrong": [*map(fields, lesson.wrong)]} for lesson in self.lessons]

    @classmethod
    def from_json(cls, lessons: list[dict[str, Any]]) -> Course:
        """Create a course from the output of `as_json`.

        >>> Course.from_json(Course(load_lessons()).as_json()) == Course(load_lessons())
        True
        """
        return cls(tuple(_make_lesson(**lesson) for lesson in lessons))


class LessonError(Record):
    """An error in a lesson file."""

    line: int
    message: str


@cache
def load_lessons() -> tuple[Lesson, ...]:
    """Return the built-in lessons in the recommended order."""
    return parse_lessons(files("shapecalc.teaching").joinpath("lessons.toml").read_text("utf-8"))


def load_path_lessons() -> tuple[Lesson, ...]:
    """Return the lessons of the introductory path in order.

    >>> [lesson.id for lesson in load_path_lessons()][:3]
    ['dim', 'order', 'plain-zero']
    """
    by_id = {lesson.id: lesson for lesson in load_lessons()}
    return tuple(by_id[name] for name in PATH_LESSON_IDS)


def parse_lessons(text: str) -> tuple[Lesson, ...]:
    """Parse a valid TOML text with lessons."""
    return tuple(_make_lesson(**entry) for entry in tomllib.loads(text)["lesson"])


def _make_lesson(text: str, wrong: Iterable[dict[str, str]] = (), **fields: str) -> Lesson:
    return Lesson(text=text.strip(), wrong=tuple(WrongAnswer(**entry) for entry in wrong), **fields)


def judge_lesson_answer(lesson: Lesson, typed: str) -> Judgement:
    """Judge a prediction in a lesson, without revealing the answer.

    >>> lesson = next(lesson for lesson in load_lessons() if lesson.id == "hole")
    >>> judge_lesson_answer(lesson, "2,6,2").right, judge_lesson_answer(lesson, "6").feedback
    (True, '6 is right for the -1, now type the whole shape: 2,_,2')
    """
    if problem := judging.invalid_reason(lesson.task, typed):
        return Judgement(False, problem)
    prediction, answer = judging.parse_prediction(typed), judging.resolve_command_line(lesson.question)
    if prediction == judging.extract_prediction(lesson.task, answer):
        return Judgement(True, lesson.point)
    foreseen = next((wrong.said for wrong in lesson.wrong if judging.parse_prediction(wrong.typed) == prediction), "")
    return Judgement(False, foreseen or judging.hint_text(lesson.task, answer, prediction))


def read_lesson_file(name: str) -> str:
    """Return the text of a lesson file.

    Raises `ShapeError` (file) if the file cannot be read.
    """
    try:
        content, size = read_first_bytes(name, MAX_LESSON_FILE_BYTES)
        if size > MAX_LESSON_FILE_BYTES:
            raise UnreadableError(f"it holds more than {MAX_LESSON_FILE_BYTES} bytes, too many for lessons")
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeError:
        reason = "it is not UTF-8"
    except (OSError, UnreadableError) as error:
        reason = error_reason(error)
    raise ShapeError(Problem(FILE, f"{name}: {reason}"))


def parse_lesson_file(name: str, text: str) -> tuple[Lesson, ...]:
    """Parse the contents of a lesson file.

    The ids of the lessons are prefixed with the file name without its extension. Raises `ShapeError` (usage) with the
    first error in the file.
    """
    _, faults = find_lesson_errors(text)
    if faults:
        more = f"{len(faults)} in all; " if len(faults) > 1 else ""
        raise usage_error(f"{name}:{faults[0].line}: {faults[0].message}", f"{more}see shapecalc drill --check-lessons")
    return tuple(replace(lesson, id=f"{Path(name).stem}/{lesson.id}") for lesson in parse_lessons(text))


def find_lesson_errors(text: str) -> tuple[int, list[LessonError]]:
    r"""Return the number of lessons in a TOML text, and its errors in line order.

    >>> find_lesson_errors("[[lesson]]\nid = 'a'\ntitle = 'b'\ntext = 'c'\nquestion = 'reshape 2 -2'\npoint = 3\n")
    (1, [LessonError(line=6, message='point is a text, not an integer')])
    """
    try:
        table, lines = tomllib.loads(text), key_line_numbers(text)
    except tomllib.TOMLDecodeError as error:
        return 0, [make_syntax_error(str(error), text)]
    except ValueError:  # raised for an integer with too many digits (`sys.get_int_max_str_digits`)
        return 0, [LessonError(1, "it has a number with too many digits")]
    except RecursionError:
        return 0, [LessonError(1, "it is nested too deeply")]
    lessons = table.get("lesson")
    if not isinstance(lessons, list) or not lessons or not all(isinstance(lesson, dict) for lesson in lessons):
        return 0, [LessonError(1, "there is no [[lesson]]")]
    messages = [*_top_level_errors(table, lessons)]
    for number, lesson in enumerate(lessons):
        messages += [(("lesson", number, *path), message) for path, message in _lesson_errors(lesson)]
    faults = [LessonError(_key_line_number(path, lines), message) for path, message in messages]
    return len(lessons), sorted(faults, key=lambda fault: fault.line)


def _top_level_errors(table: dict[str, Any], lessons: list[dict[str, Any]]) -> Iterator[tuple[KeyPath, str]]:
    """Yield errors about unknown top-level keys and repeated lesson ids."""
    for name in table:
        if name != "lesson":
            yield (name,), f"there is no key '{truncate(name)}' beside [[lesson]]"
    first: dict[str, int] = {}
    for number, lesson in enumerate(lessons):
        name = str(lesson.get("id"))
        if "id" in lesson and first.setdefault(name, number) != number:
            yield ("lesson", number, "id"), f"lesson {first[name] + 1} also has the id '{truncate(name)}'"


def _lesson_errors(lesson: dict[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """Yield the errors in one lesson, each with its key path.

    The question is checked only if all keys are valid.
    """
    wrong = lesson.get("wrong", [])
    form = [*_key_errors(lesson, REQUIRED_KEYS, OPTIONAL_KEYS)]
    if not isinstance(wrong, list) or not all(isinstance(entry, dict) for entry in wrong):
        form.append((("wrong",), "wrong answers are written as [[lesson.wrong]]"))
    else:
        for number, entry in enumerate(wrong):
            inner = _key_errors(entry, REQUIRED_WRONG_KEYS, OPTIONAL_WRONG_KEYS)
            form += [(("wrong", number, *path), message) for path, message in inner]
    if not ID_PATTERN.fullmatch(str(lesson.get("id", "-"))) and not form:
        form.append((("id",), "an id is made of small letters, digits and hyphens, 40 at most"))
    yield from form or _question_errors(lesson)


def _key_errors(table: dict[str, Any], required: Keys, optional: Keys) -> Iterator[tuple[KeyPath, str]]:
    """Yield errors about missing keys, unknown keys and values of a wrong type."""
    for name in required:
        if name not in table:
            yield (), f"{name} is missing"
    for name, value in table.items():
        if name not in (*required, *optional):
            yield (name,), f"there is no key '{truncate(name)}': there are {', '.join((*required, *optional))}"
        elif name != "wrong" and not isinstance(value, str):
            yield (name,), f"{name} is a text, not {TYPE_NAMES.get(type(value), 'a date')}"
        elif name != "wrong" and (reason := _text_error(name, value)):
            yield (name,), reason


def _text_error(name: str, text: str) -> str:
    """Return the error message for an empty, overlong or unprintable string.

    `name` is the key of the string. Returns an empty string if the string is valid.
    """
    most = 60 if name == "title" else MAX_TEXT_LENGTH
    if name in (*REQUIRED_KEYS, *REQUIRED_WRONG_KEYS) and not text.strip():
        return f"{name} is empty"
    if len(text) > most:
        return f"{name} has {len(text)} characters, and {most} are the most"
    shown = text.replace("\n", " ") if name in MULTILINE_KEYS else text
    if not shown.isprintable() or any(ord(char) in UNPRINTABLE_CODES for char in shown):
        return f"{name} holds a character that cannot be shown"
    return ""


def _question_errors(lesson: dict[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """Yield the errors in the question of a lesson, and in the texts about its answer."""
    task = Task(lesson["question"], lesson.get("stage", ""), lesson.get("follow", ""), kind=lesson.get("kind", ""))
    try:
        answer = judging.resolve_command_line(task.question)
    except ShapeError as error:
        yield ("question",), f"the question cannot be read: {error.problem.message}"
        return
    if faults := [*_task_errors(task, answer)]:
        yield from faults
        return
    right = prediction_text(judging.extract_prediction(task, answer))
    for name in ("title", "text"):
        if reveals_answer(lesson[name], right):
            yield (name,), f"{name} gives the answer away, which is {right}"
    foreseen: set[object] = set()
    for number, wrong in enumerate(lesson.get("wrong", [])):
        for name, message in _wrong_answer_errors(task, wrong, right, foreseen):
            yield ("wrong", number, name), message


def _task_errors(task: Task, answer: Trace | Chain) -> Iterator[tuple[KeyPath, str]]:
    """Yield an error for a missing stage or element, or for an invalid kind of task."""
    if task.kind:
        if error := _cut_error(task, answer):
            yield ("kind",), error
        return
    labels = [stage.label for stage in answer.stages if stage.is_finished]
    if task.stage and task.follow:
        yield ("follow",), "stage asks for a shape and follow for an index: only one of them can stand here"
    elif task.stage and task.stage not in labels:
        known = ", ".join(dict.fromkeys(labels)) or "none"
        yield ("stage",), f"there is no stage '{truncate(task.stage)}': there are {known}"
    elif task.follow:
        try:
            if trace_element(answer, parse_axes(task.follow))[-1][1] is None:
                yield ("follow",), "this element is left out on its way"
        except ShapeError as error:
            yield ("follow",), error.problem.message


def _cut_error(task: Task, answer: Trace | Chain) -> str:
    """Return the reason why a task cannot be solved by cutting a row of elements.

    Returns an empty string if it can.
    """
    from shapecalc.render.cut import CutState, can_cut  # deferred, because few lessons are about cuts

    if task.kind != judging.CUT:
        return f"there is no kind '{truncate(task.kind)}': there is {judging.CUT}"
    if task.stage or task.follow:
        return "a tape is cut into the output shape, so neither stage nor follow can stand here"
    if not can_cut(answer.input):
        return "the input of a tape has at least 2 elements, few enough to be drawn, and no names"
    output = answer.output or ()
    if len(output) < 2 or product(output) != product(answer.input):
        return "a tape is cut into a shape of at least 2 dims that has all elements"
    if output == CutState(tuple(map(int, map(str, answer.input)))).shape:
        return "the tape has this shape before it is cut"
    return ""


def _wrong_answer_errors(
    task: Task, wrong: dict[str, str], right: str, earlier_predictions: set[object]
) -> Iterator[tuple[str, str]]:
    """Yield the errors in an expected wrong answer, each with its key.

    `earlier_predictions` contains the predictions of the earlier wrong answers; this prediction is added to it.
    """
    try:
        typed = judging.parse_prediction(wrong["typed"])
    except ShapeError as error:
        yield "typed", f"nobody could type this: {error.problem.message}"
        return
    if prediction_text(typed) == right:
        yield "typed", "this is the right answer"
    if typed in earlier_predictions:
        yield "typed", "this wrong answer stands here twice"
    earlier_predictions.add(typed)
    if reveals_answer(wrong["said"], right):
        yield "said", f"it gives the answer away, which is {right}"
    if question := wrong.get("same_as", ""):
        stage = task.stage if question.startswith("shuffle") else ""
        try:
            other = judging.extract_prediction(replace(task, stage=stage), judging.resolve_command_line(question))
        except ShapeError as error:
            yield "same_as", f"the question cannot be read: {error.problem.message}"
            return
        if other != typed:
            yield "same_as", f"this question gives {prediction_text(other)}, not {prediction_text(typed)}"


def reveals_answer(text: str, right: str) -> bool:
    """Return whether a text contains the right answer.

    An occurrence within a longer shape, or in the index of an input element, is ignored.

    >>> reveals_answer("24 / 4 = 6", "6"), reveals_answer("it becomes 2,6,2", "2,6,2")
    (True, True)
    >>> reveals_answer("2,6,2,1 is longer", "2,6,2")
    False
    """
    text = re.sub(r"\[[^]]*\] of the input", "", text)
    before = r"(?<![\w,*/])" if "," in right else r"(?:\b(?:is|are|to|becomes)|=) "
    return right != "error" and re.search(rf"{before}{re.escape(right)}(?!\w|[,*/]\w)", text) is not None


def key_line_numbers(text: str) -> dict[KeyPath, int]:
    r"""Return the line number of each table and key in a TOML text.

    The module `tomllib` does not provide line numbers.

    >>> lines = key_line_numbers("[[lesson]]\n[[lesson.wrong]]\ntyped = '''\nid = 3'''\nsaid = 4")
    >>> lines[("lesson", 0, "wrong", 0, "said")]
    5
    """
    plain = STRING_PATTERN.sub(lambda match: match[1] if match[1] else "\n" * match[0].count("\n"), text)
    lines: dict[KeyPath, int] = {}
    table: KeyPath = ()
    key, lesson, wrong, entry = "", -1, -1, -1
    for match in STRUCTURE_PATTERN.finditer(plain):
        if name := match["table"]:
            lesson, wrong = lesson + (name == "lesson"), -1 if name == "lesson" else wrong + 1
            paths = {"lesson": ("lesson", lesson), "lesson.wrong": ("lesson", lesson, "wrong", wrong)}
            table = path = paths.get(name, (name,))
        elif match["key"]:
            key, entry = match["key"], -1
            path = (*table, key)
        else:
            entry += 1
            path = (*table, key, entry)
        lines[path] = plain.count("\n", 0, match.end()) + 1
    return lines


def _key_line_number(path: KeyPath, lines: Mapping[KeyPath, int]) -> int:
    """Return the line number of a key, or of the nearest enclosing table in `lines`."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


def make_syntax_error(message: str, text: str) -> LessonError:
    """Convert an error message of `tomllib` to a `LessonError`.

    >>> make_syntax_error("Invalid value (at line 3, column 5)", "")
    LessonError(line=3, message='it is not TOML: invalid value')
    """
    position = ERROR_POSITION.search(message)
    line = int(position[1]) if position and position[1] else text.count("\n") + 1
    message = ERROR_POSITION.sub("", message)
    return LessonError(line, f"it is not TOML: {message[:1].lower()}{message[1:]}")

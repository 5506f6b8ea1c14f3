"""The question on the screen: what its fields hold, and what the core says of it. Nothing here draws."""

from __future__ import annotations

from difflib import get_close_matches

from shapecalc.core.dtypes import element_type
from shapecalc.core.operations import OPS
from shapecalc.core.problem import FILE, USAGE, Problem, ShapeError, misuse
from shapecalc.core.record import Record
from shapecalc.core.request import LACKING, ask, default_dialect, suggestion
from shapecalc.core.resolve import chain, resolve
from shapecalc.core.rules import DIALECTS, SWITCHES
from shapecalc.core.setting import SWITCHED
from shapecalc.core.text import is_file, shape_text
from shapecalc.core.trace import Chain, Trace
from shapecalc.core.values import read_sizes
from shapecalc.core.words import command_line, command_pieces, read_chain, read_stage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from shapecalc.engine.files import Source

ENDINGS = ("1", "]", ")", "}", "1]", "1)", "1}", "*1", "])", "1])", "'")
"""What may still be typed: a text that any of these completes is no mistake yet."""
ASKED = (*OPS, "chain")
"""What can be asked."""
SAME = {"to": "target", "target": "to", "first": "perm", "perm": "first"}
"""The fields that ask for the same under another name."""
SETTINGS = ("dialect", *SWITCHES, "opset", "dtype", "where")
"""What is chosen beside the fields, in the order in which it is offered."""


class Question(Record):
    """What is asked: an op or `chain`, the texts of its fields, and the settings that were chosen."""

    op: str
    texts: Mapping[str, str]
    settings: Mapping[str, object] = {}

    @property
    def dialect(self) -> str:
        """The dialect that answers."""
        return str(self.settings.get("dialect") or default_dialect(self.op))

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields: the input and what the op takes in this dialect.

        >>> Question("flatten", {}, {"dialect": "torch"}).fields, Question("chain", {}).fields
        (('input', 'start_dim', 'end_dim'), ('input', 'stages'))
        """
        if self.op == "chain":
            return ("input", "stages")
        row = DIALECTS[self.dialect]
        names = (param.name for param in OPS[self.op].params)
        return ("input", *(name for name in names if name not in LACKING or not LACKING[name](row)))

    def with_text(self, name: str, text: str) -> Question:
        """Return the question with another text in one field."""
        return self._replace(texts={**self.texts, name: text})

    def with_op(self, op: str) -> Question:
        """Return the question about another op: texts stay, also those that only the op before has a field for.

        A shape or a perm that was asked for is asked for again; the dialect stays where it has that op.

        >>> asked(["shuffle", "2,3", "--to", "6"]).with_op("reshape").texts["target"]
        '6'
        """
        texts = {**self.texts}
        for name in Question(op, {}).fields:
            if not texts.get(name) and name in SAME:
                texts[name] = texts.get(SAME[name], "")
        asking = Question(op, texts, self.settings)
        if op == "chain":
            return asking
        dialect = self.settings.get("dialect")
        kept = dialect if dialect and op in DIALECTS[str(dialect)].operators else None
        return asking.with_setting("dialect", kept if kept != default_dialect(op) else None)

    def with_setting(self, name: str, value: object) -> Question:
        """Return the question with one setting changed; None leaves it out. A dialect brings its own switch."""
        settings = {key: kept for key, kept in self.settings.items() if key != name}
        if name == "dialect":
            row = DIALECTS[str(value or default_dialect(self.op))]
            switch = row.switch.name if row.switch and self.op in SWITCHED else None
            keeps = ("dtype", "where", switch, "opset" if row.newest_opset else None)
            settings = {key: kept for key, kept in settings.items() if key in keeps}
        return self._replace(settings=settings if value is None else {**settings, name: value})


class Reply(Record):
    """What the core says of a question: an answer, perhaps with a problem, or only a problem."""

    answer: Trace | Chain | None
    problem: Problem | None
    typing: bool = False
    """Whether the field in use can still become right by typing on."""
    source: Source | None = None


FIRST = Question("shuffle", {"input": "2,3,4", "first": "1,0,2", "to": "0,-1", "second": ""})
"""The question that is shown where none is asked: a transpose, a copied 0 and a -1."""


def asked(words: Sequence[str]) -> Question:
    """Return the question that a command line asks; raise `ShapeError` (usage) where it asks none.

    >>> asked(["reshape", "2,3,4", "0,-1", "--opset", "13"]).settings
    {'opset': '13'}
    """
    if not words:
        return FIRST
    if words[0] == "chain":
        return _asked_chain(words[1:])
    if words[0] not in OPS:
        if words[0].isidentifier() and (len(words) == 1 or get_close_matches(words[0], ASKED)):
            raise misuse(f"there is no operation '{words[0][:40]}'", suggestion(words[0], ASKED))
        words = ["reshape", *words]
    stage = read_stage(words, with_input=True)
    settings = {name: value for name, value in stage.options.items() if name in SETTINGS}
    texts = {name: str(value) for name, value in stage.options.items() if name not in SETTINGS}
    return Question(stage.op, {"input": stage.input or "", **texts}, settings)


def _asked_chain(words: Sequence[str]) -> Question:
    """Return the question of a chain: `'INPUT | OP ... | OP ...' [--where SIZES]`."""
    match list(words):
        case []:
            text, settings = "", dict[str, object]()
        case [text]:
            settings = {}
        case [text, "--where", sizes]:
            settings = {"where": sizes}
        case _:
            raise misuse("a chain is one text, and --where is all it takes here", "write 'INPUT | OP ... | OP ...'")
    shape, _, stages = text.partition("|")
    return Question("chain", {"input": shape.strip(), "stages": stages.strip()}, settings)


def replied(question: Question, focused: str | None = None) -> Reply:
    """Return what the core says of a question while the field `focused` is being typed in.

    >>> replied(Question("reshape", {"input": "2,3,4", "target": "0,-"}), "target").typing
    True
    >>> replied(Question("reshape", {"input": "2,3,4", "target": "0,-1"})).answer.output
    (2, 12)
    """
    source = None
    try:
        source = _source(question.texts.get("input", ""))
        answer = _answered(question, source)
    except ShapeError as error:
        typing = error.problem.rule == USAGE and focused is not None and _half_typed(question, focused)
        return Reply(None, error.problem, typing, source)
    return Reply(answer, answer.problem, False, source)


def _source(text: str) -> Source | None:
    """Return the array that an input names, where it is a file."""
    if not is_file(text):
        return None
    from shapecalc.engine.files import FileError, opened

    try:
        return opened(text)
    except FileError as error:
        raise ShapeError(Problem(FILE, str(error), argument="input")) from None


def _answered(question: Question, source: Source | None = None) -> Trace | Chain:
    texts = {name: text for name in question.fields if (text := question.texts.get(name, "")).strip()}
    if "input" not in texts:
        raise misuse("an input shape is missing", "write one, such as 2,3,4", argument="input")
    shape = shape_text(source.shape) if source else texts.pop("input")
    texts.pop("input", None)
    if question.op == "chain":
        where = question.settings.get("where")
        _, stages = read_chain(f"{shape} | {texts['stages']}" if "stages" in texts else shape)
        return chain(shape, stages, {} if where is None else read_sizes(str(where)))
    known = source and source.dtype and element_type(source.dtype, question.dialect)
    given = {"dtype": known} if known else {}
    return resolve(ask(question.op, shape, {**given, **texts, **question.settings}))


def _half_typed(question: Question, focused: str) -> bool:
    """Say whether something typed at the end of a field would make the question readable, or the name of a file."""
    text = question.texts.get(focused, "")
    if focused == "input" and {*text} & {".", "/"} and any(map(str.isalpha, text)):
        return True
    for ending in ENDINGS:
        try:
            _answered(question.with_text(focused, text + ending))
        except ShapeError:
            continue
        return True
    return False


def command(question: Question, answer: Trace | Chain | None) -> str:
    """Return the command line that asks a question: as shapecalc writes it, or as it was typed where it is none yet.

    >>> command(FIRST, None)
    'shapecalc shuffle 2,3,4 --first 1,0,2 --to 0,-1'
    """
    from shlex import join

    written = answer is not None and "where" not in question.settings and not is_file(question.texts.get("input", ""))
    if written and answer is not None and not (question.op == "chain" and answer.problem):
        return command_line(answer)
    texts: dict[str, object] = {name: text for name in question.fields if (text := question.texts.get(name, ""))}
    if question.op == "chain":
        pieces = [str(texts[name]) for name in question.fields if name in texts]
        where = question.settings.get("where")
        return join(["shapecalc", "chain", " | ".join(pieces), *([] if where is None else ["--where", str(where)])])
    return join(["shapecalc", *(text for _, text in command_pieces(question.op, {**texts, **question.settings}))])


def caret(question: Question, problem: Problem) -> tuple[str, int, int] | None:
    """Return the field, and the characters in it, that a problem is about; None where no field is at fault."""
    name, span = problem.argument, problem.span
    if question.op == "chain" and name != "input":
        name, span = "stages", None
    if name not in question.fields:
        return None
    text = question.texts.get(name, "")
    start, stop = span or (0, max(1, len(text)))
    return name, start, max(start + 1, stop)


def elements(source: Source | None) -> Callable[[tuple[int, ...]], object] | None:
    """Return what gives a file's element at an index; None where there is no file."""
    return None if source is None else lambda index: source.array[index]


def switch_of(question: Question) -> str | None:
    """Return the name of the switch that the op has in this dialect."""
    switch = DIALECTS[question.dialect].switch
    return switch.name if switch and question.op in SWITCHED else None

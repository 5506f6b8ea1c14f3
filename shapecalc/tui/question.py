"""The question on the screen, and what the core answers to it. Nothing here draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property

from shapecalc.core import ask, commands
from shapecalc.core.answers import NONE, Chain, Request, Trace
from shapecalc.core.dialects.base import Dialect, element_type
from shapecalc.core.fixing import STILL, Fix, answer_chain, fixes
from shapecalc.core.fixing import answer as answer_request
from shapecalc.core.ops import OPS, params_of
from shapecalc.core.ops.op import operator_of
from shapecalc.core.problem import FILE, USAGE, Problem, ShapeError, misuse
from shapecalc.core.record import Record, replace
from shapecalc.core.resolve import ask_chain, resolve_chain
from shapecalc.core.text import brief, is_file, read_shape, shape_text, suggestion
from shapecalc.core.values import read_sizes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.engine.arrays import Source

CHAIN = "chain"
"""What stands in the place of an op if several are asked for in a row."""
EQUIV = "equiv"
"""What stands there if a chain is held against another."""
ASKABLE = (*OPS, CHAIN)
"""What can be asked."""
SAME = {"to": "target", "target": "to", "first": "perm", "perm": "first"}
"""The fields that ask for the same under another name."""
ENDINGS = ("1", "]", ")", "}", "1]", "1)", "1}", "*1", "])", "1])", "'")
"""What may still be typed: a text that any of these completes is no mistake yet."""
MOST_VALUES = 2
"""The most values that a stage needs."""
CLOSED = "a served app opens no files and writes none"
SETTINGS = {
    "opset": "the version of ONNX's operators to follow",
    "dtype": "the type of the elements, in the spelling of the framework",
    "where": "sizes for names: N=8,C=3",
}
"""The settings that are typed, in words."""
SWITCH_WORDS = {None: "as the dialect has it", True: "on", False: "off"}
"""The settings of a switch, in words."""
_files_are_open = True
"""Whether this process opens the files that inputs name."""


class Question(Record):
    """What is asked: an op or `chain`, the texts of its fields, and the settings that were chosen."""

    op: str
    texts: Mapping[str, str]
    settings: Mapping[str, object] = NONE
    """The options that every op has, as they were chosen beside the fields."""
    second_chain: str = ""
    """The chain that it is held against, as it was typed; empty if there is none."""

    @property
    def is_chain(self) -> bool:
        """Whether several ops in a row are asked for."""
        return self.op == CHAIN

    @property
    def row(self) -> Dialect:
        """The dialect that answers; raises `ShapeError` (usage) if the settings name one that does not exist."""
        return ask.dialect_called(str(self.settings.get("dialect") or ask.default_dialect(self.op)))

    @property
    def dialect(self) -> str:
        """The name of the dialect that answers."""
        return self.row.name

    @property
    def switch(self) -> str | None:
        """The name of the switch that the op has in this dialect; None if it has none."""
        return None if self.is_chain else ask.switch_name(OPS[self.op], self.row)

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields: the input, what the op takes in this dialect, and what its operator takes beside.

        >>> Question("flatten", {}, {"dialect": "torch"}).fields, Question("chain", {}).fields
        (('input', 'start_dim', 'end_dim'), ('input', 'stages'))
        """
        if self.is_chain:
            return ("input", "stages")
        op, row = OPS[self.op], self.row
        operator = operator_of(op, row)
        params = (*op.params, *(operator.params if operator else ()))
        never = [name for name, since in (operator.since if operator else NONE).items() if since is None]
        return ("input", *(param.name for param in params if param.is_taken_by(row) and param.name not in never))

    @property
    def filled_texts(self) -> dict[str, str]:
        """The texts of the fields that hold one, by name."""
        return {name: text for name in self.fields if (text := self.texts.get(name, "")).strip()}

    def with_text(self, name: str, text: str) -> Question:
        """Return the question with another text in one field."""
        return replace(self, texts={**self.texts, name: text})

    def with_op(self, op: str) -> Question:
        """Return the question about another op: texts stay, also those that only the op before has a field for.

        A shape or a perm that was asked for is asked for again. The dialect stays if it has the op.

        >>> question_of(["shuffle", "2,3", "--to", "6"]).with_op("reshape").texts["target"]
        '6'
        """
        texts = {**self.texts}
        for name in Question(op, {}).fields:
            if not texts.get(name) and name in SAME:
                texts[name] = texts.get(SAME[name], "")
        changed = replace(self, op=op, texts=texts)
        if changed.is_chain:
            return changed
        dialect = self.settings.get("dialect")
        has_it = dialect is not None and operator_of(OPS[op], self.row) is not None
        return changed.with_setting("dialect", dialect if has_it else None)

    def with_setting(self, name: str, value: object) -> Question:
        """Return the question with one setting changed; None leaves it out.

        Another dialect drops the settings that it does not take. The op's default dialect is left out.
        """
        if name == "dialect" and value == ask.default_dialect(self.op):
            value = None
        others = {key: kept for key, kept in self.settings.items() if key != name}
        given = {} if value is None else {name: value}
        settings = ask.with_defaults(self.op, others, given) if name == "dialect" else {**others, **given}
        return replace(self, settings=settings)


class Result(Record):
    """What the core says of a question: an answer, perhaps with a problem, or only a problem."""

    __slots__ = ("__dict__",)

    answer: Trace | Chain | None
    problem: Problem | None
    typing: bool = False
    """Whether the field in use can still become right by typing on."""
    source: Source | None = None
    """The file that the input names; None if it names none."""

    @cached_property
    def fix(self) -> tuple[int, Fix | None]:
        """The first small change that makes the request resolve, or hold for every batch, after its op's number."""
        traces = [*enumerate(self.answer.traces)] if self.answer is not None else []
        if self.problem is not None:
            traces = traces[-1:]
        alone = self.answer is not None and self.answer.op != "chain"  # a stage has no input of its own to change
        found = ((at, fix) for at, trace in traces for fix in fixes(trace) if alone or fix.name != "input")
        return next(found, (0, None))


FIRST = Question("shuffle", {"input": "2,3,4", "first": "1,0,2", "to": "0,-1", "second": ""})
"""The question that is shown if none is asked: a transpose, a copied 0 and a -1."""


def question_of(words: Sequence[str], defaults: Mapping[str, object] = NONE) -> Question:
    """Return the question that a command line asks; raise `ShapeError` (usage) if it asks none.

    Of the `defaults` it has those that were not given.

    >>> question_of(["reshape", "2,3,4", "0,-1", "--opset", "13"], {"dialect": "onnxruntime", "opset": 9}).settings
    {'dialect': 'onnxruntime', 'opset': '13'}
    """
    if not words:
        return FIRST
    if words[0] == CHAIN:
        return _chain_question(words[1:], defaults)
    if words[0] == EQUIV:
        if len(words) != 3:
            raise misuse("equiv takes two chains here, and nothing else", "write equiv 'INPUT | OP ...' '| OP ...'")
        return replace(_chain_question(words[1:2], defaults), second_chain=_with_defaults(words[2], defaults))
    words = commands.respelled(words)
    if words[0] not in OPS and words[0] not in commands.ELSEWHERE:
        opening = (*ASKABLE, EQUIV)
        if words[0].isidentifier() and (len(words) == 1 or get_close_matches(words[0], opening)):
            raise misuse(f"there is no operation '{words[0][:40]}'", suggestion(words[0], opening))
        words = ["reshape", *words]
    typed = commands.read_stage(words, with_input=True)
    options = ask.with_defaults(typed.op, defaults, typed.options)
    settings = {name: value for name, value in options.items() if name in ask.common_options()}
    if "dialect" in settings:
        settings["dialect"] = ask.dialect_called(str(settings["dialect"])).name
    own = ((name, value) for name, value in typed.options.items() if name not in ask.common_options())
    texts = {name: str(int(value) if isinstance(value, bool) else value) for name, value in own}
    return Question(typed.op, {"input": typed.input or "", **texts}, settings)


def _chain_question(words: Sequence[str], defaults: Mapping[str, object]) -> Question:
    """Return the question of a chain: `'INPUT | OP ... | OP ...' [--where SIZES]`."""
    text, settings = commands.read_chain_words(words) if words else ("", {})
    shape, _, stages = _with_defaults(text, defaults).partition("|")
    return Question(CHAIN, {"input": shape.strip(), "stages": stages.strip()}, settings)


def _with_defaults(text: str, defaults: Mapping[str, object]) -> str:
    """Return a chain with the defaults that its stages take written out; as it was typed if it cannot be read."""
    try:
        shape, stages = commands.read_chain(text) if defaults else (text, [])
    except ShapeError:
        return text
    if not stages:
        return text
    written = [commands.stage_text(op, options) for op, options in ask.chain_with_options(stages, {}, defaults)]
    return " | ".join([shape, *written]).strip()


def command(question: Question, answer: Trace | Chain | None) -> str:
    """Return the command line that asks a question: as shapecalc writes it, or as it was typed if there is no answer.

    >>> command(FIRST, None)
    'shapecalc shuffle 2,3,4 --first 1,0,2 --to 0,-1'
    """
    from shlex import join

    as_typed = "where" in question.settings or is_file(question.texts.get("input", ""))
    if answer is not None and not as_typed and not (question.is_chain and answer.problem):
        return commands.command_line(answer)
    texts: dict[str, object] = {name: text for name in question.fields if (text := question.texts.get(name, ""))}
    if question.is_chain:
        pieces = [str(texts[name]) for name in question.fields if name in texts]
        where = question.settings.get("where")
        return join(["shapecalc", CHAIN, " | ".join(pieces), *([] if where is None else ["--where", str(where)])])
    written = commands.command_pieces(question.op, {**texts, **question.settings})
    return join(["shapecalc", *(text for _, text in written)])


# The files that inputs name


def may_open_files() -> bool:
    """Say whether this process opens files."""
    return _files_are_open


def close_files() -> None:
    """Let this process open no file from now on, wherever its name comes from: typed, pasted or in a question."""
    global _files_are_open
    _files_are_open = False


def open_source(text: str) -> Source | None:
    """Return the array that an input names; None if it names no file. Raises `ShapeError` (file)."""
    if not is_file(text):
        return None
    if not _files_are_open:
        hint = "write the shape itself, such as 2,3,4"
        raise ShapeError(Problem(FILE, CLOSED, hint, argument="input"))
    from shapecalc.engine import arrays

    try:
        return arrays.open_source(text)
    except arrays.FileError as error:
        raise ShapeError(Problem(FILE, str(error), argument="input")) from None


# What the core answers


def answer_question(question: Question, focused: str | None = None) -> Result:
    """Return what the core says of a question while the field `focused` is being typed in.

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
        if question.is_chain and "stages" not in question.filled_texts:
            answer = answer_chain(requests[0].input, (), {})
    except ShapeError as error:
        typing = error.problem.rule == USAGE and focused is not None and _is_half_typed(question, focused, source)
        return Result(None, error.problem, typing, source)
    return Result(answer, answer.problem, False, source)


def _requests(question: Question, source: Source | None) -> tuple[Request, ...]:
    """Return the requests that a question makes: one for each op; raise `ShapeError` (usage) if it makes none."""
    texts = question.filled_texts
    if "input" not in texts:
        raise misuse("an input shape is missing", "write one, such as 2,3,4", argument="input")
    typed = texts.pop("input")
    shape = shape_text(source.shape) if source else typed
    if question.is_chain:
        where = question.settings.get("where")
        _, stages = commands.read_chain(f"{shape} | {texts['stages']}" if "stages" in texts else shape)
        return ask_chain(shape, stages or STILL, {} if where is None else read_sizes(str(where)))
    return (ask.ask(question.op, shape, {**_type_of(source, question), **texts, **question.settings}),)


def _type_of(source: Source | None, question: Question) -> dict[str, object]:
    """Return the option for a file's element type; none where the dialect that answers does not know the type."""
    known = element_type(source.dtype, question.row) if source and source.dtype and not question.is_chain else None
    return {"dtype": known} if known else {}


def without_file(question: Question) -> Question:
    """Return the question with a file's shape and element type in place of its name, so that the file is read once.

    Raises `ShapeError` (file) if the file cannot be used.
    """
    source = open_source(question.texts.get("input", ""))
    if source is None:
        return question
    typed = replace(question, settings={**_type_of(source, question), **question.settings})
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


def caret(question: Question, result: Result) -> tuple[str, int, int] | None:
    """Return the field, and the characters in it, that a problem is about; None if no field is at fault."""
    if (problem := result.problem) is None:
        return None
    if question.is_chain and (place := _caret_in_stages(question.texts.get("stages", ""), result.answer, problem)):
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
        number = commands.unreadable_stage(stages) if answer is None else len(answer.traces) - 1
        of_input = problem.argument == "input" and (answer is None or number == 0)
        if number is None or of_input:
            return None
        return "stages", *commands.token_span(stages, number, problem)
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


# Pasted code


def chain_of(text: str, question: Question) -> tuple[Question, Sequence[str]]:
    """Return the question of the chain that code is for the input of a question, and what is to be said of it.

    Raises `ShapeError`: usage if the input or the code cannot be read, file if the input cannot be used.

    >>> asked, notes = chain_of("x.view(N, -1).t()", Question("reshape", {"input": "N,3,4"}))
    >>> asked.texts["stages"]
    'view N,-1 | transpose 1,0 --dialect torch'
    """
    from shapecalc.core.code import cleaned, read_code  # it is slow to import, and only who pastes needs it

    line = cleaned(text)
    typed = question.texts.get("input", "")
    source = open_source(typed)
    shape = source.shape if source else read_shape(typed)
    read = read_code(line, {"": shape})
    if not read.stages:
        raise misuse("the code does nothing to the tensor")
    stages = commands.chain_text(answer_chain(read.shape, read.stages, {})).partition("|")[2].strip()
    return Question(CHAIN, {"input": typed, "stages": stages}), (brief(line), *read.notes)

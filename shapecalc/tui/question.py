"""The question of the main screen and its answer, independent of widgets.

A question consists of an op, or the pseudo-op `chain` for several ops, and the text of each field. A field contains one
argument. A setting is an option without a field, such as the dialect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from shlex import join, split
from typing import TYPE_CHECKING

from shapecalc.core import requests
from shapecalc.core.answers import EMPTY_DICT, Chain, Request, Trace
from shapecalc.core.dialects.base import Dialect, parse_element_type
from shapecalc.core.ops import OPS, all_params
from shapecalc.core.ops.op import operator_of
from shapecalc.core.problem import FILE, USAGE, Problem, ShapeError, usage_error
from shapecalc.core.record import Record, replace
from shapecalc.core.resolve import make_chain_requests, resolve_chain
from shapecalc.core.text import (
    escape_unprintable,
    format_count,
    is_file_argument,
    join_words,
    parse_axes,
    parse_shape,
    shape_text,
    suggest_name,
    truncate,
)
from shapecalc.core.values import parse_sizes
from shapecalc.reading import commands
from shapecalc.reasoning.answers import IDENTITY_STAGES, answer_chain, answer_code
from shapecalc.reasoning.answers import answer_request as answer_request
from shapecalc.reasoning.fixing import Fix, find_fixes
from shapecalc.render.hints import FRAMEWORK_NAMES, verdict_text

if TYPE_CHECKING:
    from shapecalc.diagnosis.report import Diagnosis
    from shapecalc.engine.arrays import Source

CHAIN = "chain"
"""The pseudo-op of a question about several ops."""
EQUIV, AGAINST = "equiv", "against"
"""The names of the two commands that compare chains."""
QUESTION_OPS = (*OPS, CHAIN)
"""The ops of questions, including the pseudo-op `chain`."""
EQUIVALENT_FIELDS = {"to": "target", "target": "to", "first": "perm", "perm": "first"}
"""For each field, the field of another op with the same meaning."""
COMPLETION_SUFFIXES = ("1", "]", ")", "}", "1]", "1)", "1}", "*1", "])", "1])", "'")
"""The suffixes with which the text of a field is tried while the user types.

If a suffix makes the question valid, the text is incomplete, not invalid.
"""
MAX_COMPLETION_VALUES = 2
"""The maximum number of values that are tried after the name of an op."""
FILES_DISABLED_MESSAGE = "a served app opens no files and writes none"
SETTING_DESCRIPTIONS = {
    "opset": "the version of ONNX's operators to follow",
    "dtype": "the type of the elements, in the spelling of the framework",
    "where": "sizes for names: N=8,C=3",
}
"""The description of each setting whose value the user types."""
SWITCH_DESCRIPTIONS = {None: "as the dialect has it", True: "on", False: "off"}
"""The description of each value of a switch, which is a boolean option of a dialect."""
_are_files_enabled = True
"""Whether this process may open input files."""


class Question(Record):
    """An op or a chain, with the texts of its fields, and its settings."""

    op: str
    texts: Mapping[str, str]
    settings: Mapping[str, object] = EMPTY_DICT
    """The options without a field, such as the dialect, keyed by name."""
    second_chain: str = ""
    """The chain with which the question is compared; empty if there is no comparison."""

    @property
    def is_chain(self) -> bool:
        """Whether the question is a chain of ops."""
        return self.op == CHAIN

    @property
    def dialect_rules(self) -> Dialect:
        """The dialect of the question, with its rules.

        Raises `ShapeError` (usage) if the settings name an unknown dialect.
        """
        return requests.lookup_dialect(str(self.settings.get("dialect") or requests.default_dialect(self.op)))

    @property
    def dialect(self) -> str:
        """The name of the question's dialect."""
        return self.dialect_rules.name

    @property
    def switch(self) -> str | None:
        """The name of the boolean option that the dialect has for this op, or None."""
        return None if self.is_chain else requests.switch_name(OPS[self.op], self.dialect_rules)

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields: `input`, and the parameters of the op in the dialect.

        >>> Question("flatten", {}, {"dialect": "torch"}).fields, Question("chain", {}).fields
        (('input', 'start_dim', 'end_dim'), ('input', 'stages'))
        """
        if self.is_chain:
            return ("input", "stages")
        op, row = OPS[self.op], self.dialect_rules
        operator = operator_of(op, row)
        params = (*op.params, *(operator.params if operator else ()))
        unsupported = [
            name for name, since in (operator.params_since if operator else EMPTY_DICT).items() if since is None
        ]
        return (
            "input",
            *(param.name for param in params if param.is_supported_by(row) and param.name not in unsupported),
        )

    @property
    def filled_texts(self) -> dict[str, str]:
        """The texts of the fields that are not blank, keyed by field name."""
        return {name: text for name in self.fields if (text := self.texts.get(name, "")).strip()}

    def with_text(self, name: str, text: str) -> Question:
        """Return a copy of the question with another text in one field."""
        return replace(self, texts={**self.texts, name: text})

    def with_op(self, op: str) -> Question:
        """Return a copy of the question with another op.

        All texts are kept, even those of fields that the new op does not have. A target shape or a permutation is also
        copied to the corresponding field of the new op. The dialect is kept if it has the op.

        >>> question_from_words(["shuffle", "2,3", "--to", "6"]).with_op("reshape").texts["target"]
        '6'
        """
        texts = {**self.texts}
        for name in Question(op, {}).fields:
            if not texts.get(name) and name in EQUIVALENT_FIELDS:
                texts[name] = texts.get(EQUIVALENT_FIELDS[name], "")
        changed = replace(self, op=op, texts=texts)
        if changed.is_chain:
            return changed
        dialect = self.settings.get("dialect")
        has_op = dialect is not None and operator_of(OPS[op], self.dialect_rules) is not None
        return changed.with_setting("dialect", dialect if has_op else None)

    def with_setting(self, name: str, value: object) -> Question:
        """Return a copy of the question with another value of one setting.

        The value None removes the setting. A new dialect removes the settings that it does not support. The default
        dialect of the op is not stored.
        """
        if name == "dialect" and value == requests.default_dialect(self.op):
            value = None
        others = {key: kept for key, kept in self.settings.items() if key != name}
        setting = {} if value is None else {name: value}
        settings = requests.apply_defaults(self.op, others, setting) if name == "dialect" else {**others, **setting}
        return replace(self, settings=settings)


class QuestionResult(Record):
    """The answer to a question, or its problem; a refused request has both."""

    __slots__ = ("__dict__",)

    answer: Trace | Chain | None
    problem: Problem | None
    is_incomplete: bool = False
    """Whether the question is invalid only because the user is still typing."""
    source: Source | None = None
    """The array file that the input names, or None if the input is a shape."""

    @cached_property
    def first_fix(self) -> tuple[int, Fix | None]:
        """The first fix, after the index of its stage; `(0, None)` if there is no fix."""
        traces = [*enumerate(self.answer.traces)] if self.answer is not None else []
        if self.problem is not None:
            traces = traces[-1:]
        # the inputs of a chain are not fixed, because most of them are outputs of other stages
        is_single_op = self.answer is not None and self.answer.op != "chain"
        candidates = (
            (index, fix) for index, trace in traces for fix in find_fixes(trace) if is_single_op or fix.name != "input"
        )
        return next(candidates, (0, None))


EXAMPLE_QUESTION = Question("reshape", {"input": "2,3,4", "target": "0,-1"})
"""The built-in example: a reshape with a 0 and a -1."""


def question_from_words(
    words: Sequence[str], defaults: Mapping[str, object] = EMPTY_DICT, typed_name: str = ""
) -> Question:
    """Parse the words of a command line into a question.

    `defaults` contains the values of options that the command line does not set. `typed_name` is the alias with which
    the command line began; messages use it.

    Raises `ShapeError` (usage) if the command line is invalid.

    >>> words = ["reshape", "2,3,4", "0,-1", "--opset", "13"]
    >>> question_from_words(words, {"dialect": "onnxruntime", "opset": 9}).settings
    {'dialect': 'onnxruntime', 'opset': '13'}
    """
    if not words:
        return EXAMPLE_QUESTION
    if words[0] == CHAIN:
        return _parse_chain_question(words[1:], defaults)
    if words[0] == EQUIV:
        if len(words) != 3:
            raise usage_error(
                "equiv takes two chains here, and nothing else", "write equiv 'INPUT | OP ...' '| OP ...'"
            )
        return replace(_parse_chain_question(words[1:2], defaults), second_chain=_add_defaults(words[2], defaults))
    if words[0] == AGAINST:
        match words[1:]:
            case [first, second, "--input", shape]:
                return question_from_words([EQUIV, f"{shape} | {first}", f"| {second}"], defaults)
        raise usage_error("against takes two chains and their input", "write against 'OP ...' 'OP ...' --input SHAPE")
    typed_name = typed_name or words[0]
    words = commands.resolve_aliases(words)
    if words[0] not in OPS and words[0] not in commands.UNSUPPORTED_OPS:
        first_words = (*QUESTION_OPS, EQUIV, AGAINST)
        if words[0].isidentifier() and (len(words) == 1 or get_close_matches(words[0], first_words)):
            raise usage_error(f"there is no operation '{words[0][:40]}'", suggest_name(words[0], first_words))
        words = ["reshape", *words]
    is_alias = commands.resolve_aliases([typed_name])[:1] == [words[0]]
    typed = commands.parse_stage(words, with_input=True, typed_name=typed_name if is_alias else words[0])
    options = requests.apply_defaults(typed.op, defaults, typed.options)
    settings = {name: value for name, value in options.items() if name in requests.common_option_names()}
    if "dialect" in settings:
        settings["dialect"] = requests.lookup_dialect(str(settings["dialect"])).name
    op_options = ((name, value) for name, value in typed.options.items() if name not in requests.common_option_names())
    texts = {name: str(int(value) if isinstance(value, bool) else value) for name, value in op_options}
    return Question(typed.op, {"input": typed.input or "", **texts}, settings)


def suggested_question(diagnosis: Diagnosis) -> Question | None:
    """Return the first request that a diagnosis suggests, or None if it suggests none.

    A suggested command such as `shapecalc code` is not a request.
    """
    return _first_request(advised.command for _, advised in diagnosis.entries)


def corrected_question(diagnosis: Diagnosis) -> Question | None:
    """Return the first corrected request of a diagnosis, or None if it has none."""
    return _first_request(command for _, advised in diagnosis.entries for _, command in advised.fixes)


def _first_request(commands: Iterable[str | None]) -> Question | None:
    """Return the first command line that is a request, as a question."""
    lines = (split(command)[1:] for command in commands if command)
    words = next((words for words in lines if words[0] in QUESTION_OPS), None)
    return None if words is None else question_from_words(words)


def _parse_chain_question(words: Sequence[str], defaults: Mapping[str, object]) -> Question:
    """Parse `'INPUT | OP ... | OP ...' [--where SIZES]` into a question."""
    text, settings = commands.parse_chain_words(words) if words else ("", {})
    shape, _, stages = _add_defaults(text, defaults).partition("|")
    return Question(CHAIN, {"input": shape.strip(), "stages": stages.strip()}, settings)


def _add_defaults(text: str, defaults: Mapping[str, object]) -> str:
    """Add default options to the stages of a chain.

    `text` is the chain in command-line syntax. An invalid chain is returned unchanged.
    """
    try:
        shape, stages = commands.parse_chain(text) if defaults else (text, [])
    except ShapeError:
        return text
    if not stages:
        return text
    stage_texts = [
        commands.stage_text(op, options) for op, options in requests.apply_chain_options(stages, {}, defaults)
    ]
    return " | ".join([shape, *stage_texts]).strip()


def question_command(question: Question, answer: Trace | Chain | None) -> str:
    """Return the normalized command line of a question.

    The texts are not normalized if there is no answer, if the input is a file, if the question has the setting `where`,
    or if the question is a refused chain.

    >>> question_command(EXAMPLE_QUESTION, None)
    'shapecalc reshape 2,3,4 0,-1'
    """
    as_typed = "where" in question.settings or is_file_argument(question.texts.get("input", ""))
    if answer is not None and not as_typed and not (question.is_chain and answer.problem):
        return commands.command_line(answer)
    texts: dict[str, object] = {name: text for name in question.fields if (text := question.texts.get(name, ""))}
    if question.is_chain:
        pieces = [str(texts[name]) for name in question.fields if name in texts]
        sizes = question.settings.get("where")
        return join(["shapecalc", CHAIN, " | ".join(pieces), *([] if sizes is None else ["--where", str(sizes)])])
    line_pieces = commands.command_pieces(question.op, {**texts, **question.settings})
    return join(["shapecalc", *(text for _, text in line_pieces)])


def rules_text(question: Question) -> str:
    """Return a phrase with the framework whose rules a question follows.

    For a chain, the phrase is empty.

    >>> rules_text(EXAMPLE_QUESTION), rules_text(question_from_words(["view", "2,3", "6"]))
    ('by ONNX rules', 'by PyTorch rules')
    """
    return "" if question.is_chain else f"by {FRAMEWORK_NAMES.get(question.dialect, question.dialect)} rules"


def can_open_files() -> bool:
    """Return whether this process may open input files."""
    return _are_files_enabled


def disable_file_access() -> None:
    """Prevent this process from opening input files."""
    global _are_files_enabled
    _are_files_enabled = False


def open_source(text: str) -> Source | None:
    """Open the array file that an input text names.

    Returns None if the text is not a file name. Raises `ShapeError` (file) if the file cannot be opened.
    """
    if not is_file_argument(text):
        return None
    if not _are_files_enabled:
        hint = "write the shape itself, such as 2,3,4"
        raise ShapeError(Problem(FILE, FILES_DISABLED_MESSAGE, hint, argument="input"))
    from shapecalc.engine import arrays

    try:
        return arrays.open_source(text)
    except arrays.FileError as error:
        raise ShapeError(Problem(FILE, str(error), argument="input")) from None


def resolve_question(question: Question, focused_field: str | None = None) -> QuestionResult:
    """Resolve a question.

    `focused_field` is the field that the user is editing; its text can be incomplete.

    >>> resolve_question(Question("reshape", {"input": "2,3,4", "target": "0,-"}), "target").is_incomplete
    True
    >>> resolve_question(Question("reshape", {"input": "2,3,4", "target": "0,-1"})).answer.output
    (2, 12)
    """
    source = None
    try:
        source = open_source(question.texts.get("input", ""))
        requests = _make_requests(question, source)
        answer = resolve_chain(requests, answer_request) if question.is_chain else answer_request(requests[0])
        if question.is_chain and "stages" not in question.filled_texts:
            answer = answer_chain(requests[0].input, (), {})
    except ShapeError as error:
        typing = (
            error.problem.rule == USAGE
            and focused_field is not None
            and _can_be_completed(question, focused_field, source)
        )
        return QuestionResult(None, error.problem, typing, source)
    return QuestionResult(answer, answer.problem, False, source)


def _make_requests(question: Question, source: Source | None) -> tuple[Request, ...]:
    """Build the requests of a question, one per op.

    Raises `ShapeError` (usage) if the question is invalid.
    """
    texts = question.filled_texts
    if "input" not in texts:
        raise usage_error("an input shape is missing", "write one, such as 2,3,4", argument="input")
    typed = texts.pop("input")
    shape = shape_text(source.shape) if source else typed
    if question.is_chain:
        where = question.settings.get("where")
        _, stages = commands.parse_chain(f"{join_words([shape])} | {texts['stages']}" if "stages" in texts else shape)
        return make_chain_requests(shape, stages or IDENTITY_STAGES, {} if where is None else parse_sizes(str(where)))
    return (
        requests.make_request(question.op, shape, {**_dtype_option(source, question), **texts, **question.settings}),
    )


def _dtype_option(source: Source | None, question: Question) -> dict[str, object]:
    """Return the option `dtype` for the element type of an array file.

    The mapping is empty for a chain, and if the dialect does not have the element type.
    """
    dtype = (
        parse_element_type(source.dtype, question.dialect_rules)
        if source and source.dtype and not question.is_chain
        else None
    )
    return {"dtype": dtype} if dtype else {}


def replace_file_with_shape(question: Question) -> Question:
    """Return the question with the shape and the element type of its input file.

    The file is not needed to resolve the returned question. Raises `ShapeError` (file) if the file cannot be used.
    """
    source = open_source(question.texts.get("input", ""))
    if source is None:
        return question
    typed = replace(question, settings={**_dtype_option(source, question), **question.settings})
    return typed.with_text("input", shape_text(source.shape))


def _can_be_completed(question: Question, focused_field: str, source: Source | None) -> bool:
    """Return whether more text in the focused field can make the question valid.

    This is also the case for the beginning of a file name.
    """
    text = question.texts.get(focused_field, "")
    if focused_field == "input" and {*text} & {".", "/"} and any(map(str.isalpha, text)):
        return True
    for completed in (
        *(text + ending for ending in COMPLETION_SUFFIXES),
        *_matching_completions(question, focused_field, text),
    ):
        try:
            _make_requests(question.with_text(focused_field, completed), None if focused_field == "input" else source)
        except ShapeError:
            continue
        return True
    return False


def _matching_completions(question: Question, focused_field: str, text: str) -> list[str]:
    """Return the ways to complete the text of a field, such as names of ops."""
    if question.is_chain:
        word = text.rpartition("|")[2].lstrip()
        ops = [op for op in OPS if focused_field == "stages" and op.startswith(word)]
        return [
            text + op.removeprefix(word) + " 1" * values for op in ops for values in range(MAX_COMPLETION_VALUES + 1)
        ]
    words = (
        word for param in all_params(OPS[question.op]) if param.name == focused_field for word in param.completions
    )
    return [word for word in words if word.lower().startswith(text.strip().lower())]


def find_invalid_text(question: Question, result: QuestionResult) -> tuple[str, int, int] | None:
    """Return the field with the invalid text, and the span of this text.

    Returns `(field, start, end)`, or None if no field causes the problem.
    """
    if (problem := result.problem) is None:
        return None
    if question.is_chain and (
        stages_span := _invalid_stage_span(question.texts.get("stages", ""), result.answer, problem)
    ):
        return stages_span
    name = "stages" if question.is_chain and problem.argument != "input" else problem.argument
    if name not in question.fields:
        return None
    text = question.texts.get(name, "")
    start, stop = (None if question.is_chain and name == "stages" else problem.span) or (0, max(1, len(text)))
    return name, start, max(start + 1, stop)


def _invalid_stage_span(stages: str, answer: Trace | Chain | None, problem: Problem) -> tuple[str, int, int] | None:
    """Return the span of the invalid text in the field `stages`.

    Returns `(field, start, end)`, or None if no stage causes the problem.
    """
    try:
        number = commands.find_invalid_stage(stages) if answer is None else len(answer.traces) - 1
        of_input = problem.argument == "input" and (answer is None or number == 0)
        if number is None or of_input:
            return None
        return "stages", *commands.token_span(stages, number, problem)
    except ShapeError:  # a stage contains an unclosed quote
        return None


def make_element_reader(source: Source | None) -> Callable[[tuple[int, ...]], object] | None:
    """Return a function that reads elements of an array file by their index.

    The function returns `?` for an unreadable element. Returns None if `source` is None.
    """
    if source is None:
        return None
    from shapecalc.engine.arrays import FileError, read_elements

    def read_element(index: tuple[int, ...]) -> object:
        try:
            return read_elements(source, index)[()]
        except FileError:
            return "?"

    return read_element


def parse_followed_index(question: Question | None, text: str) -> tuple[int, ...]:
    """Parse the index of an input element that is followed through the stages.

    Raises `ShapeError` (usage) if the input has no element at this index.

    >>> parse_followed_index(question_from_words(["reshape", "2,3,4", "6,4"]), "0,1,1")
    (0, 1, 1)
    """
    if question is None:
        raise usage_error("--at needs a request", "write tui --at 0,1,1 OP ARGS")
    answer = resolve_question(question).answer
    if answer is None or answer.output is None:
        raise usage_error("only the elements of an answered request can be followed", "fix the request first")
    from shapecalc.render.grid import build_tensor_path  # imported here, because the module imports Rich

    index, shape = parse_axes(text, "at") if text else (), build_tensor_path(answer).tensors[0].shape
    if len(index) != len(shape):
        needed, example = format_count(len(shape), "number", "numbers"), shape_text((0,) * len(shape))
        raise usage_error(
            f"an element of {shape_text(shape)} has an index of {needed}, not {len(index)}",
            f"the first element is at {example}",
        )
    if not all(0 <= place < size for place, size in zip(index, shape, strict=True)):
        raise usage_error(
            f"there is no element at {shape_text(index)}", f"the input is {shape_text(shape)}, counted from 0"
        )
    return index


def chain_from_code(text: str, question: Question) -> tuple[Question, Sequence[str]]:
    """Convert pasted code to a chain, with notes on its interpretation.

    The input of the chain is the input of `question`, or the output of the last call that a chain cannot contain.
    Raises `ShapeError` (usage) if the input or the code is invalid, and (file) if the input file cannot be used.

    >>> chain, notes = chain_from_code("x.view(N, -1).t()", Question("reshape", {"input": "N,3,4"}))
    >>> chain.texts["stages"]
    'view N,-1 | transpose 1,0 --dialect torch'
    """
    from shapecalc.reading.code import interpret_code  # imported here, because it takes a tenth of the app's start time
    from shapecalc.reading.code.source import normalize_pasted_code

    code = normalize_pasted_code(text)
    typed = question.texts.get("input", "")
    source = open_source(typed)
    shape = source.shape if source else parse_shape(typed)
    code_chain = interpret_code(code, {"": shape})
    if not code_chain.stages:
        raise usage_error("the code does nothing to the tensor")
    stages = commands.chain_text(answer_code(code_chain)).partition("|")[2].strip()
    change = code_chain.untraced_change
    omitted = [f"not in the chain of stages: {truncate(change)}"] if change else []
    if code_chain.outputs:
        omitted.append(f"the code ends with {len(code_chain.outputs)} tensors, and this is the first")
    is_typed = code_chain.is_main and code_chain.input_shape == shape
    start = typed if is_typed else shape_text(code_chain.input_shape)
    return Question(CHAIN, {"input": start, "stages": stages}), (truncate(code), *code_chain.notes, *omitted)


class DialectRow(Record):
    """A row of the comparison: a dialect, the value of its switch, and the result."""

    question: Question
    setting: str
    result: QuestionResult

    @property
    def options(self) -> Mapping[str, object]:
        """The options of the answer with their defaults; empty if there is no answer."""
        return self.result.answer.options if isinstance(self.result.answer, Trace) else {}

    @property
    def cell_texts(self) -> tuple[str, str, str]:
        """The texts in the columns for dialect, setting and answer."""
        return self.question.dialect, self.setting, escape_unprintable(self.answer_text)

    @property
    def answer_text(self) -> str:
        """The output shape with its conditions, or the violated rule."""
        if self.result.answer is not None:
            return verdict_text(self.result.answer)
        return f"refused: {self.result.problem.rule}" if self.result.problem else "refused"

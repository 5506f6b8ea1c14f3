"""The question on the screen: what its fields and its command line hold. Nothing here draws."""

from __future__ import annotations

from difflib import get_close_matches

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.ask import (
    chain_with_options,
    common_options,
    default_dialect,
    dialect_called,
    switch_name,
    with_defaults,
)
from shapecalc.core.commands import (
    ELSEWHERE,
    command_line,
    command_pieces,
    read_chain,
    read_chain_words,
    read_stage,
    respelled,
    stage_text,
)
from shapecalc.core.lookup import suggestion
from shapecalc.core.ops import OPS
from shapecalc.core.ops.op import operator_of
from shapecalc.core.problem import ShapeError, misuse
from shapecalc.core.record import FrozenDict, Record, replace
from shapecalc.core.text import is_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shapecalc.core.dialects.base import Dialect

CHAIN = "chain"
"""What stands in the place of an op if several are asked for in a row."""
EQUIV = "equiv"
"""What stands there if a chain is held against another."""
ASKABLE = (*OPS, CHAIN)
"""What can be asked."""
SAME = {"to": "target", "target": "to", "first": "perm", "perm": "first"}
"""The fields that ask for the same under another name."""
NONE: FrozenDict = FrozenDict()


class Question(Record):
    """What is asked: an op or `chain`, the texts of its fields, and the settings that were chosen."""

    op: str
    texts: Mapping[str, str]
    settings: Mapping[str, object] = NONE
    """The options that every op has, as they were chosen beside the fields."""
    against: str = ""
    """The chain that it is held against, as it was typed; empty if there is none."""

    def __init__(
        self, op: str, texts: Mapping[str, str], settings: Mapping[str, object] = NONE, against: str = ""
    ) -> None:
        """Set the fields, so that they cannot change."""
        self._op, self._texts, self._settings, self._against = op, FrozenDict(texts), FrozenDict(settings), against

    @property
    def is_chain(self) -> bool:
        """Whether several ops in a row are asked for."""
        return self.op == CHAIN

    @property
    def row(self) -> Dialect:
        """The dialect that answers; raises `ShapeError` (usage) if the settings name one that does not exist."""
        return dialect_called(str(self.settings.get("dialect") or default_dialect(self.op)))

    @property
    def dialect(self) -> str:
        """The name of the dialect that answers."""
        return self.row.name

    @property
    def switch(self) -> str | None:
        """The name of the switch that the op has in this dialect; None if it has none."""
        return None if self.is_chain else switch_name(OPS[self.op], self.row)

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
        if name == "dialect" and value == default_dialect(self.op):
            value = None
        others = {key: kept for key, kept in self.settings.items() if key != name}
        given = {} if value is None else {name: value}
        settings = with_defaults(self.op, others, given) if name == "dialect" else {**others, **given}
        return replace(self, settings=settings)


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
        return _pair_question(words[1:], defaults)
    words = respelled(words)
    if words[0] not in OPS and words[0] not in ELSEWHERE:
        opening = (*ASKABLE, EQUIV)
        if words[0].isidentifier() and (len(words) == 1 or get_close_matches(words[0], opening)):
            raise misuse(f"there is no operation '{words[0][:40]}'", suggestion(words[0], opening))
        words = ["reshape", *words]
    typed = read_stage(words, with_input=True)
    options = with_defaults(typed.op, defaults, typed.options)
    settings = {name: value for name, value in options.items() if name in common_options()}
    if "dialect" in settings:
        settings["dialect"] = dialect_called(str(settings["dialect"])).name
    texts = {name: _field_text(value) for name, value in typed.options.items() if name not in common_options()}
    return Question(typed.op, {"input": typed.input or "", **texts}, settings)


def _field_text(value: object) -> str:
    """Return what a field shows of an option: 1 for yes, 0 for no, a text as it was typed."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def _chain_question(words: Sequence[str], defaults: Mapping[str, object]) -> Question:
    """Return the question of a chain: `'INPUT | OP ... | OP ...' [--where SIZES]`."""
    text, settings = read_chain_words(words) if words else ("", {})
    shape, _, stages = _with_defaults(text, defaults).partition("|")
    return Question(CHAIN, {"input": shape.strip(), "stages": stages.strip()}, settings)


def _with_defaults(text: str, defaults: Mapping[str, object]) -> str:
    """Return a chain with the defaults that its stages take written out; as it was typed if it cannot be read."""
    try:
        shape, stages = read_chain(text) if defaults else (text, [])
    except ShapeError:
        return text
    if not stages:
        return text
    written = [stage_text(op, options) for op, options in chain_with_options(stages, {}, defaults)]
    return " | ".join([shape, *written]).strip()


def _pair_question(words: Sequence[str], defaults: Mapping[str, object]) -> Question:
    """Return the question of a chain that is held against another: `'INPUT | OP ...' '| OP ...'`."""
    if len(words) != 2:
        raise misuse("equiv takes two chains here, and nothing else", "write equiv 'INPUT | OP ...' '| OP ...'")
    return replace(_chain_question(words[:1], defaults), against=_with_defaults(words[1], defaults))


def command(question: Question, answer: Trace | Chain | None) -> str:
    """Return the command line that asks a question: as shapecalc writes it, or as it was typed if there is no answer.

    >>> command(FIRST, None)
    'shapecalc shuffle 2,3,4 --first 1,0,2 --to 0,-1'
    """
    from shlex import join

    as_typed = "where" in question.settings or is_file(question.texts.get("input", ""))
    if answer is not None and not as_typed and not (question.is_chain and answer.problem):
        return command_line(answer)
    texts: dict[str, object] = {name: text for name in question.fields if (text := question.texts.get(name, ""))}
    if question.is_chain:
        pieces = [str(texts[name]) for name in question.fields if name in texts]
        where = question.settings.get("where")
        return join(["shapecalc", CHAIN, " | ".join(pieces), *([] if where is None else ["--where", str(where)])])
    return join(["shapecalc", *(text for _, text in command_pieces(question.op, {**texts, **question.settings}))])

"""A pasted line of code as the question that it asks."""

from __future__ import annotations

from textwrap import dedent

from shapecalc.core.code import read_code
from shapecalc.core.commands import chain_text
from shapecalc.core.fixing import answer_chain
from shapecalc.core.problem import misuse
from shapecalc.core.text import brief, read_shape
from shapecalc.tui.files import open_source
from shapecalc.tui.question import CHAIN, Question

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def chain_of(text: str, question: Question) -> tuple[Question, Sequence[str]]:
    """Return the question of the chain that code is for the input of a question, and what is to be said of it.

    Raises `ShapeError`: usage if the input or the code cannot be read, file if the input cannot be used.

    >>> asked, notes = chain_of("x.view(N, -1).t()", Question("reshape", {"input": "N,3,4"}))
    >>> asked.texts["stages"]
    'view N,-1 | transpose 1,0 --dialect torch'
    """
    line = dedent(text).strip()
    typed = question.texts.get("input", "")
    source = open_source(typed)
    shape = source.shape if source else read_shape(typed)
    read = read_code(line, None, shape, None, {})
    if not read.stages:
        raise misuse("the code does nothing to the tensor")
    stages = chain_text(answer_chain(read.shape, read.stages, {})).partition("|")[2].strip()
    return Question(CHAIN, {"input": typed, "stages": stages}), (brief(line), *read.notes)

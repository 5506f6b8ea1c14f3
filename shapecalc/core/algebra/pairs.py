"""Pairs of chains as texts: the second may begin with `|`, and then has the first's input.

A chain without a stage is its input as it is.
"""

from __future__ import annotations

from shapecalc.core.answers.trace import Chain
from shapecalc.core.asking.ask import check_names_known
from shapecalc.core.asking.command_line import read_chain
from shapecalc.core.asking.resolve import ask_chain
from shapecalc.core.fixing.answer import answer_chain
from shapecalc.core.sizes.dims import names
from shapecalc.core.sizes.problem import misuse
from shapecalc.core.sizes.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Stages = tuple[tuple[str, Mapping[str, object]], ...]


STILL: Stages = (("flip", {"axes": (), "dialect": "torch"}),)
"""What leaves every input as it is, of any rank, and so tells under which conditions there is one."""


class Asked(Record):
    """A chain that is read but not answered: its input, and its stages with their options."""

    input: str | Iterable[object]
    stages: Stages


def asked_chain(text: str, shape: object = None) -> Asked:
    """Return the chain that a text writes; one that begins with `|` has the input `shape`.

    Raises `ShapeError` (usage) if it cannot be read.

    >>> asked_chain("| transpose 1,0", (2, 3))
    Asked(input=(2, 3), stages=(('transpose', {'perm': '1,0'}),))
    """
    if not text.strip():
        raise misuse("a chain is missing", "write INPUT | OP ... or | OP ...")
    written, stages = read_chain(text)
    given = written or shape
    if not given and given != ():
        raise misuse("the first chain needs an input", "write INPUT | OP ...", argument="first")
    return Asked(given, tuple(stages))  # type: ignore[arg-type]  # a shape, as a text or as dims


def answer_pair(first: Asked, second: Asked, sizes: Mapping[str, int]) -> tuple[Chain, Chain]:
    """Return the answers to two chains, with sizes put in for names that one of them has.

    Raises `ShapeError` (usage) for a stage that cannot be read, and for a name that neither has.
    """
    known = [_names(asked) if sizes else () for asked in (first, second)]
    check_names_known(sizes, known[0] + known[1])
    one, other = (
        answer_to(asked, {name: sizes[name] for name in sizes if name in own})
        for asked, own in zip((first, second), known, strict=True)
    )
    return one, other


def answer_to(asked: Asked, sizes: Mapping[str, int]) -> Chain:
    """Return the answer to a chain, with sizes put in for names; raise `ShapeError` (usage) if it cannot be read.

    >>> print(answer_to(asked_chain("N/2,C"), {}))
    N/2,C when N % 2 == 0
    """
    if asked.stages:
        return answer_chain(asked.input, asked.stages, sizes)
    (still,) = answer_chain(asked.input, STILL, sizes).traces
    return Chain(still.input, (), still.output, still.problem, still.conditions)


def _names(asked: Asked) -> tuple[str, ...]:
    return names([dim for request in ask_chain(asked.input, asked.stages or STILL, {}) for dim in request.dims])


def answers_of(first: str | Chain, second: str | Chain, sizes: Mapping[str, int]) -> tuple[Chain, Chain]:
    """Return two chains, those given as texts answered; `sizes` are put in for names of texts.

    Raises `ShapeError` (usage) as `asked_chain` and `answer_pair` do.
    """
    one = asked_chain(first) if isinstance(first, str) else first
    other = asked_chain(second, one.input) if isinstance(second, str) else second
    asked = [each for each in (one, other) if isinstance(each, Asked)]
    answered = iter(answer_pair(asked[0], asked[-1], sizes) if asked else ())
    return tuple([next(answered) if isinstance(each, Asked) else each for each in (one, other)])  # type: ignore[return-value]

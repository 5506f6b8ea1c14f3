"""What was expected of an answer: a shape, which is compared as it is written, or a pattern of shapes."""

from __future__ import annotations

from shapecalc.core.asking.matching import Matcher
from shapecalc.core.asking.shape_pattern import ShapePattern
from shapecalc.core.ops import OPS
from shapecalc.core.sizes.dims import names
from shapecalc.core.sizes.python_values import read_sizes
from shapecalc.core.sizes.record import Record
from shapecalc.core.sizes.text import shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from shapecalc.core.answers.trace import Chain, Trace


class Unexpected(Record):
    """An output that is not what was expected."""

    text: str
    """What is wrong, in words."""
    by_pattern: bool
    """Whether a pattern was expected, so that the words name the dim that differs."""


def unexpected(expected: ShapePattern, answer: Trace | Chain, sized: Iterable[str] = ()) -> Unexpected | None:
    """Return what is wrong with the output of an answer; None if it is what was expected.

    Names of the question, and those in `sized`, to which it gave sizes, stand for themselves; any other takes a dim.

    >>> import shapecalc as sc
    >>> from shapecalc.core.asking.shape_pattern import read_pattern
    >>> answer = sc.reshape("N,C,H,W", "0,-1,64")
    >>> unexpected(read_pattern("N,B,64", "expect"), answer)
    >>> unexpected(read_pattern("N,C,64", "expect"), answer).text
    'expected N,C,64, got N,C*H*W/64,64'
    """
    output = answer.output or ()
    own = {name for trace in answer.traces for name in names(trace.request.dims) if name[0] != "?"}.union(sized)
    if expected.is_open(own):
        problem = Matcher(expected, own=own).problem(output, _element_type(answer))
        return None if problem is None else Unexpected(str(problem), by_pattern=True)
    shown = shape_text(output)
    return None if str(expected) == shown else Unexpected(f"expected {expected}, got {shown}", by_pattern=False)


def sized_names(asked: Iterable[Mapping[str, object]]) -> set[str]:
    """Return the names to which the options of a question, or of the stages of one, give sizes.

    >>> sorted(sized_names([{"where": "N=8,C=3"}, {"target": "0,-1"}]))
    ['C', 'N']
    """
    return {name for options in asked if options.get("where") is not None for name in read_sizes(options["where"])}


def _element_type(answer: Trace | Chain) -> str | None:
    """Return the element type of an output; None if the question names none."""
    if OPS[answer.traces[-1].op].ends_chain:
        return "int64"
    return next((trace.request.dtype for trace in reversed(answer.traces) if trace.request.dtype), None)

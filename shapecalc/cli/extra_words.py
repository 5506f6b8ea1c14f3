"""Words that an op has no place for, and the line that was likely meant: with an option's name, or with commas."""

from __future__ import annotations

from itertools import combinations

from shapecalc.cli.direct import read_words
from shapecalc.cli.options import PRINTING
from shapecalc.cli.split_shapes import MOST_WORDS, bare_words
from shapecalc.core.ask import ask
from shapecalc.core.dialects.base import Holds
from shapecalc.core.ops import OPS, params_of
from shapecalc.core.problem import ShapeError, misuse
from shapecalc.core.resolve import resolve
from shapecalc.core.text import brief, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shapecalc.core.answers import Request
    from shapecalc.core.ops.op import Op


def extra_words_error(words: Sequence[str]) -> ShapeError | None:
    """Return the error to raise (usage) for a command line with more words than its op has places; None for others.

    >>> extra_words_error(["transpose", "2,3,4", "0", "2", "1"]).problem.hint
    'write shapecalc transpose 2,3,4 0,2,1'
    >>> extra_words_error(["flatten", "2,3,4", "1"]).problem.hint
    'write shapecalc flatten 2,3,4 --axis 1'
    """
    op = OPS.get(words[0]) if words else None
    if op is None or len(words) > MOST_WORDS:
        return None
    bare, options = bare_words(op, words[1:])
    places = 1 + len(op.places)
    if len(bare) <= places:
        return None
    from shlex import join

    lines = [[*line, *options] for line in (*_joined_lines(bare, places), *_named_lines(op, bare, places))]
    asked = {join(["shapecalc", op.name, *line]): request for line in lines if (request := _request_of(op, line))}
    meant = next(
        (line for line, request in asked.items() if resolve(request).output is not None), next(iter(asked), "")
    )
    extra = visible(brief(" ".join(bare[places:])))
    return misuse(f"{op.name} has no place for '{extra}'", f"write {visible(meant)}" if meant else _listed_options(op))


def _joined_lines(bare: Sequence[str], places: int) -> Iterator[list[str]]:
    """Yield the words with those from the last place on as one, if an op has a place for more than its input."""
    last = bare[places - 1 :]
    if places > 1 and not any("," in word for word in last):
        yield [*bare[: places - 1], ",".join(last)]


def _named_lines(op: Op, bare: Sequence[str], places: int) -> Iterator[list[str]]:
    """Yield the words with names of options before those that have no place, in the order of the options."""
    extra = bare[places:]
    for names in combinations(_options(op), len(extra)):
        yield [*bare[:places], *(part for pair in zip(names, extra, strict=True) for part in pair)]


def _options(op: Op) -> list[str]:
    """Return the options of an op that take a value."""
    named = [each for each in params_of(op) if not (each.positional or each.placed or each.holds is Holds.FLAG)]
    return [f"--{each.name.replace('_', '-')}" for each in named]


def _request_of(op: Op, words: Sequence[str]) -> Request | None:
    """Return the request that a line asks; None if it cannot be read."""
    given = read_words(op, words) or {}
    asked = {name: value for name, value in given.items() if name not in PRINTING and name != "input"}
    try:
        return ask(op.name, given["input"], asked) if given else None
    except ShapeError:
        return None


def _listed_options(op: Op) -> str:
    """Return the options of an op in words, and where all are told."""
    names = _options(op)
    return "; ".join([*([f"its options are {', '.join(names)}"] if names else []), f"see shapecalc {op.name} -h"])

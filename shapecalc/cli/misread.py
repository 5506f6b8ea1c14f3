"""Words that a shell or a hand has put wrong, and the line that was likely meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from shapecalc.cli.options import PRINTING
from shapecalc.core.answers import Request
from shapecalc.core.ask import ask
from shapecalc.core.commands import Spellings, is_value, op_options, read_op
from shapecalc.core.dims import names
from shapecalc.core.ops import OPS
from shapecalc.core.ops.op import Op
from shapecalc.core.problem import ShapeError, misuse
from shapecalc.core.resolve import resolve
from shapecalc.core.text import brief, read_dims, visible

# Shapes that a shell has split into words at their commas, as PowerShell does.


LISTS = {"AXES", "SHAPE", "INDEX", "SIZES"}
"""What the help calls the values that may hold commas."""
EQUAL = ("=", "==", "=>", "->")
"""What people write before the shape that they expect."""
INTO = ("to", "into", "as", "with", "by")
"""Words of English between the values of an op."""
MOST_WORDS = 64
"""The most words that are tried as one shape and the next."""


def split_shape_error(words: Sequence[str]) -> ShapeError | None:
    """Return the error to raise (usage) for a command line that came with its shapes split; None for any other.

    >>> print(split_shape_error(["reshape", "2", "3", "4", "0", "-1", "--json"]).problem.hint)
    in quotes it stays whole: shapecalc reshape "2,3,4" "0,-1" --json
    """
    names_op = len(words) > 1 and words[1] in OPS
    start = 2 if words[:1] in (["tui"], ["serve"]) or (names_op and words[0] == "compare") else 1
    command = words[start - 1] if len(words) > start else ""
    op = OPS.get("reshape" if command == "compare" else command)
    if op is None or len(words) > MOST_WORDS:
        return None
    bare, options, split = _joined(op, words[start:])
    if len(bare) > 1 + len(op.slots):
        bare, split = _likeliest_shapes(op, bare, options), all(map(_is_dim, bare))
    if not split or _read(op, [*bare, *options]) is None:
        return None
    line = " ".join(map(_quoted, ["shapecalc", *words[:start], *bare, *options]))
    return misuse(
        "a shape is one word, and here are several: some shells split words at commas",
        f"in quotes it stays whole: {line}",
    )


def _is_dim(word: str) -> bool:
    """Say whether a word may be one dim of a shape, or a slice of one axis."""
    if ":" in word:
        return True
    try:
        return not {*word} & {*",[({"} and len(read_dims(word)) == 1
    except ShapeError:
        return False


def _read(op: Op, words: Sequence[str]) -> tuple[str, dict[str, Any]] | None:
    """Return the input and the options that a line asks with; None if it cannot be read."""
    try:
        given = read_op(op, words, PRINTING.values())
    except ShapeError:
        return None
    asked = {name: value for name, value in given.items() if name not in PRINTING}
    return (asked.pop("input"), asked) if "input" in asked else None


def _joined(op: Op, words: Sequence[str]) -> tuple[list[str], list[str], bool]:
    """Return the bare words, those of options with their lists whole, and whether a list had been split.

    >>> _joined(OPS["flatten"], ["2,3,4", "-d", "torch", "1"])
    (['2,3,4', '1'], ['-d', 'torch'], False)
    """
    known = Spellings(chain(PRINTING.values(), op_options(op)))
    bare, options = list[str](), list[str]()
    split = waits = goes_on = holds_list = False
    for word in words:
        if not is_value(word):
            option, setting = known.find(word) or (None, True)
            waits, goes_on = setting is None, False
            holds_list = option is not None and option.metavar in LISTS
            options.append(word)
        elif waits:
            waits, goes_on = False, holds_list and "," not in word
            options.append(word)
        elif goes_on and "," not in word:
            options[-1] += f",{word}"
            split = True
        else:
            goes_on = False
            bare.append(word)
    return bare, options, split


def _likeliest_shapes(op: Op, bare: Sequence[str], options: Sequence[str]) -> list[str]:
    """Return the words as the shapes that were most likely meant: the first of them the input."""
    cuts = [[",".join(bare)]]
    if op.places:
        numbers = max(len(op.slots) - 1, 0)  # all but the last value hold one each
        starts = range(1, len(bare) - numbers)
        cuts += [[",".join(bare[:at]), *bare[at : at + numbers], ",".join(bare[at + numbers :])] for at in starts]
    return min(cuts, key=lambda shapes: _oddities(op, shapes, options))


def _oddities(op: Op, shapes: Sequence[str], options: Sequence[str]) -> tuple[bool, bool, int, int, int]:
    """Return what speaks against reading a request so, worst first.

    It is refused, the input is empty, names are asked for that it lacks, or its parts differ in length.
    """
    asked = _read(op, [*shapes, *options])
    try:
        dims = read_dims(shapes[0])
        others = [dim for text in shapes[1:] if ":" not in text for dim in read_dims(text)]
        refused = asked is None or resolve(ask(op.name, *asked)).output is None
    except ShapeError:
        return True, True, 0, 0, 0
    return refused, 0 in dims, len({*names(others)} - {*names(dims)}), abs(len(dims) - len(others)), -len(dims)


def _quoted(word: str) -> str:
    """Return a word in the quotes that it needs: double ones, which mean the same in all shells.

    >>> _quoted("2,3*H"), _quoted("--axes"), _quoted("$HOME")
    ('"2,3*H"', '--axes', "'$HOME'")
    """
    from shlex import quote

    if "," not in word and quote(word) == word:
        return word
    return quote(word) if {*word} & {*'"$`!%\\'} else f'"{word}"'


# Words that an op has no place for: an option's name is missing, or commas.


def extra_words_error(words: Sequence[str]) -> ShapeError | None:
    """Return the error to raise (usage) for a command line with more words than its op has places; None for others.

    >>> extra_words_error(["transpose", "2,3,4", "0", "2", "1"]).problem.hint
    'write shapecalc transpose 2,3,4 0,2,1'
    """
    op = OPS.get(words[0]) if words else None
    if op is None or len(words) > MOST_WORDS:
        return None
    bare, options, _ = _joined(op, words[1:])
    places = 1 + len(op.places)
    if len(bare) <= places:
        return None
    from shlex import join

    lines = [[*line, *options] for line in _joined_lines(bare, places)]
    asked = {join(["shapecalc", op.name, *line]): request for line in lines if (request := _request_of(op, line))}
    meant = next(
        (line for line, request in asked.items() if resolve(request).output is not None), next(iter(asked), "")
    )
    extra = visible(brief(" ".join(bare[places:])))
    hint = f"write {visible(meant)}" if meant else f"see shapecalc {op.name} -h"
    return misuse(f"{op.name} has no place for '{extra}'", hint)


def _joined_lines(bare: Sequence[str], places: int) -> Iterator[list[str]]:
    """Yield the words with those from the last place on as one, if an op has a place for more than its input."""
    for place, word in enumerate(bare):
        if word in EQUAL:
            yield [*bare[:place], "--expect", "".join(bare[place + 1 :])]
    if any(word in INTO for word in bare):
        yield [word for word in bare if word not in INTO]
    last = bare[places - 1 :]
    if places > 1 and not any("," in word for word in last):
        yield [*bare[: places - 1], ",".join(last)]


def _request_of(op: Op, words: Sequence[str]) -> Request | None:
    """Return the request that a line asks; None if it cannot be read."""
    asked = _read(op, words)
    try:
        return None if asked is None else ask(op.name, *asked)
    except ShapeError:
        return None

"""Usage errors for misplaced words, with the command line that was likely meant."""

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

LISTS = {"AXES", "SHAPE", "INDEX", "SIZES"}
"""Metavars of options whose values may contain commas."""
EQUAL = ("=", "==", "=>", "->")
"""Signs before an expected shape, as users write them."""
INTO = ("to", "into", "as", "with", "by")
"""English words between the values of an op, which are dropped."""
MOST_WORDS = 64
"""Limit on the words of a line that is analysed."""


def split_shape_error(words: Sequence[str]) -> ShapeError | None:
    """Return the error (usage) for a line whose shapes a shell has split, if any.

    PowerShell, for one, splits words at commas.

    >>> print(split_shape_error(["reshape", "2", "3", "4", "0", "-1", "--json"]).problem.hint)
    in quotes it stays whole: shapecalc reshape "2,3,4" "0,-1" --json
    """
    names_op = len(words) > 1 and words[1] in OPS
    start = 2 if words[:1] in (["tui"], ["serve"]) or (names_op and words[0] == "compare") else 1
    command = words[start - 1] if len(words) > start else ""
    op = OPS.get("reshape" if command == "compare" else command)
    if op is None or len(words) > MOST_WORDS:
        return None
    values, options, is_split = _joined(op, words[start:])
    if len(values) > 1 + len(op.slots):
        values, is_split = _likeliest_shapes(op, values, options), all(map(_is_dim, values))
    if not is_split or _read(op, [*values, *options]) is None:
        return None
    line = " ".join(map(_quoted, ["shapecalc", *words[:start], *values, *options]))
    return misuse(
        "a shape is one word, and here are several: some shells split words at commas",
        f"in quotes it stays whole: {line}",
    )


def _is_dim(word: str) -> bool:
    """Return whether a word can be one dim of a shape, or the slice of one axis."""
    if ":" in word:
        return True
    try:
        return not {*word} & {*",[({"} and len(read_dims(word)) == 1
    except ShapeError:
        return False


def _read(op: Op, words: Sequence[str]) -> tuple[str, dict[str, Any]] | None:
    """Parse the input and the op's options of a line; return None if that fails."""
    try:
        values = read_op(op, words, PRINTING.values())
    except ShapeError:
        return None
    options = {name: value for name, value in values.items() if name not in PRINTING}
    return (options.pop("input"), options) if "input" in options else None


def _joined(op: Op, words: Sequence[str]) -> tuple[list[str], list[str], bool]:
    """Return the values, the options, and whether the list of an option was split.

    The words of a split list are joined again.

    >>> _joined(OPS["flatten"], ["2,3,4", "-d", "torch", "1"])
    (['2,3,4', '1'], ['-d', 'torch'], False)
    """
    known = Spellings(chain(PRINTING.values(), op_options(op)))
    values, options = list[str](), list[str]()
    is_split = needs_value = in_list = takes_list = False
    for word in words:
        if not is_value(word):
            option, setting = known.find(word) or (None, True)
            needs_value, in_list = setting is None, False
            takes_list = option is not None and option.metavar in LISTS
            options.append(word)
        elif needs_value:
            needs_value, in_list = False, takes_list and "," not in word
            options.append(word)
        elif in_list and "," not in word:
            options[-1] += f",{word}"
            is_split = True
        else:
            in_list = False
            values.append(word)
    return values, options, is_split


def _likeliest_shapes(op: Op, bare: Sequence[str], options: Sequence[str]) -> list[str]:
    """Join words to the most plausible shapes; the first of them is the input."""
    cuts = [[",".join(bare)]]
    if op.places:
        numbers = max(len(op.slots) - 1, 0)  # all values but the last are one number each
        starts = range(1, len(bare) - numbers)
        cuts += [[",".join(bare[:cut]), *bare[cut : cut + numbers], ",".join(bare[cut + numbers :])] for cut in starts]
    return min(cuts, key=lambda shapes: _oddities(op, shapes, options))


def _oddities(op: Op, shapes: Sequence[str], options: Sequence[str]) -> tuple[bool, bool, int, int, int]:
    """Return a sort key of how implausible some shapes are, the worst signs first.

    The signs: the request is refused, the input is empty, other shapes have names that the input lacks, the ranks
    differ, and the input is short.
    """
    parsed = _read(op, [*shapes, *options])
    try:
        dims = read_dims(shapes[0])
        others = [dim for text in shapes[1:] if ":" not in text for dim in read_dims(text)]
        is_refused = parsed is None or resolve(ask(op.name, *parsed)).output is None
    except ShapeError:
        return True, True, 0, 0, 0
    return is_refused, 0 in dims, len({*names(others)} - {*names(dims)}), abs(len(dims) - len(others)), -len(dims)


def _quoted(word: str) -> str:
    """Quote a word if necessary, with double quotes where all shells agree on them.

    >>> _quoted("2,3*H"), _quoted("--axes"), _quoted("$HOME")
    ('"2,3*H"', '--axes', "'$HOME'")
    """
    from shlex import quote

    if "," not in word and quote(word) == word:
        return word
    return quote(word) if {*word} & {*'"$`!%\\'} else f'"{word}"'


def extra_words_error(words: Sequence[str]) -> ShapeError | None:
    """Return the error (usage) for a line with more values than its op takes, if any.

    >>> extra_words_error(["transpose", "2,3,4", "0", "2", "1"]).problem.hint
    'write shapecalc transpose 2,3,4 0,2,1'
    """
    op = OPS.get(words[0]) if words else None
    if op is None or len(words) > MOST_WORDS:
        return None
    values, options, _ = _joined(op, words[1:])
    limit = 1 + len(op.places)
    if len(values) <= limit:
        return None
    from shlex import join

    lines = [[*line, *options] for line in _joined_lines(values, limit)]
    candidates = {join(["shapecalc", op.name, *line]): request for line in lines if (request := _request_of(op, line))}
    resolved = (line for line, request in candidates.items() if resolve(request).output is not None)
    best_line = next(resolved, next(iter(candidates), ""))
    extra = visible(brief(" ".join(values[limit:])))
    hint = f"write {visible(best_line)}" if best_line else f"see shapecalc {op.name} -h"
    return misuse(f"{op.name} has no place for '{extra}'", hint)


def _joined_lines(bare: Sequence[str], places: int) -> Iterator[list[str]]:
    """Yield command lines that may be meant by a line with too many values.

    The extra values are taken as an expectation, as joined by English words, or as parts of one list.
    """
    for index, word in enumerate(bare):
        if word in EQUAL:
            yield [*bare[:index], "--expect", "".join(bare[index + 1 :])]
    if any(word in INTO for word in bare):
        yield [word for word in bare if word not in INTO]
    last = bare[places - 1 :]
    if places > 1 and not any("," in word for word in last):
        yield [*bare[: places - 1], ",".join(last)]


def _request_of(op: Op, words: Sequence[str]) -> Request | None:
    """Return the request of a line, or None if it cannot be parsed."""
    parsed = _read(op, words)
    try:
        return None if parsed is None else ask(op.name, *parsed)
    except ShapeError:
        return None

"""Shapes that a shell has split into words at their commas, as PowerShell does, and the line that keeps them whole."""

from __future__ import annotations

from shapecalc.cli.direct import read_words
from shapecalc.cli.inputs import is_value
from shapecalc.cli.options import PRINTING, Argument, Takes, parameters_of
from shapecalc.core.ask import ask
from shapecalc.core.dims import names
from shapecalc.core.ops import OPS
from shapecalc.core.problem import ShapeError, misuse
from shapecalc.core.resolve import resolve
from shapecalc.core.text import read_dims

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from shapecalc.core.ops.op import Op

LISTS = {"AXES", "SHAPE", "INDEX", "SIZES"}
"""What the help calls the values that may hold commas."""
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
    if len(bare) > 1 + len(op.places):
        bare, split = _likeliest_shapes(op, bare, options), all(map(_is_dim, bare))
    if not split or read_words(op, [*bare, *options]) is None:
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


def bare_words(op: Op, words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the words of an op's line that are no options, and the others.

    >>> bare_words(OPS["flatten"], ["2,3,4", "-d", "torch", "1"])
    (['2,3,4', '1'], ['-d', 'torch'])
    """
    bare, options, _ = _joined(op, words)
    return bare, options


def _joined(op: Op, words: Sequence[str]) -> tuple[list[str], list[str], bool]:
    """Return the bare words, those of options with their lists whole, and whether a list had been split."""
    holds_list = {
        spelling: each.metavar in LISTS
        for each in parameters_of(op)
        if not isinstance(each, Argument) and each.takes is Takes.TEXT
        for spelling in (each.spelling, each.short)
        if spelling
    }
    bare, options = list[str](), list[str]()
    split = waits = goes_on = False
    for word in words:
        if not is_value(word):
            waits, goes_on = word in holds_list, False
            options.append(word)
        elif waits:
            waits, goes_on = False, holds_list[options[-1]] and "," not in word
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
    if len(op.slots) > 1:  # each holds a number
        cuts += [[",".join(bare[: -len(op.slots)]), *bare[-len(op.slots) :]]]
    elif op.places:
        cuts += [[",".join(bare[:at]), ",".join(bare[at:])] for at in range(1, len(bare))]
    return min(cuts, key=lambda shapes: _oddities(op, shapes, options))


def _oddities(op: Op, shapes: Sequence[str], options: Sequence[str]) -> tuple[bool, bool, int, int, int]:
    """Return what speaks against reading a request so, worst first.

    It is refused, the input is empty, names are asked for that it lacks, or its parts differ in length.
    """
    given = read_words(op, [*shapes, *options]) or {}
    asked = {name: value for name, value in given.items() if name not in PRINTING and name != "input"}
    try:
        dims = read_dims(shapes[0])
        others = [dim for text in shapes[1:] if ":" not in text for dim in read_dims(text)]
        refused = not given or resolve(ask(op.name, shapes[0], asked)).output is None
    except ShapeError:
        return True, True, 0, 0, 0
    new = {*names(others)} - {*names(dims)}
    return refused, 0 in dims, len(new), abs(len(dims) - len(others)), -len(dims)


def _quoted(word: str) -> str:
    """Return a word in the quotes that it needs: double ones, which mean the same in all shells.

    >>> _quoted("2,3*H"), _quoted("--axes"), _quoted("$HOME")
    ('"2,3*H"', '--axes', "'$HOME'")
    """
    from shlex import quote

    if "," not in word and quote(word) == word:
        return word
    return quote(word) if {*word} & {*'"$`!%\\'} else f'"{word}"'

"""What the options of `shapecalc model` ask for, read from their texts."""

from __future__ import annotations

from shapecalc.core.problem import misuse
from shapecalc.core.record import FrozenDict
from shapecalc.core.text import brief, read_target, tokens, visible
from shapecalc.core.values import read_sizes
from shapecalc.models.report import Asked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

LARGEST_BATCH = 4096
"""The largest batch that is judged."""
MOST_DIGITS = 9


def asked_of(batch: str | None, shapes: Iterable[str], where: str | None) -> Asked:
    """Return what `--batch`, `--set` and `--where` ask for; raise `ShapeError` (usage) for what cannot be read.

    >>> asked_of("N,1,4", ["x=N,3,8"], "H=640").shapes
    {'x': ('N', 3, 8)}
    """
    name, sizes = _batch(batch) if batch is not None else (None, Asked().sizes)
    taken: dict[str, tuple[int | str, ...]] = {}
    for text in shapes:
        input, shape = _input_shape(text)
        if input in taken:
            raise misuse(f"{visible(brief(input))} is given two shapes", argument="set")
        taken[input] = shape
    where_sizes = FrozenDict(read_sizes(where)) if where is not None else FrozenDict()
    for other, size in where_sizes.items():
        if not 0 < size < 10**MOST_DIGITS:
            said = f"{visible(brief(other))} is {brief(str(size))}, and a size is from 1 to {10**MOST_DIGITS - 1}"
            raise misuse(said, argument="where")
    return Asked(name, sizes, FrozenDict(taken), where_sizes)


def _batch(text: str) -> tuple[str | None, tuple[int, ...]]:
    """Return the batch's name and the sizes to judge, of which there are two or more."""
    words = [word.strip() for word in text.split(",")]
    is_name = words[0].isprintable() and not words[0].lstrip("+-")[:1].isdigit()
    name = words.pop(0) if words[0] and is_name else None
    sizes = [_size(word) for word in words]
    if words and len({*sizes}) < 2:
        raise misuse("one size is not enough: write two sizes or more", "write N,1,8", argument="batch")
    return name, tuple(sorted({*sizes})) or Asked().sizes


def _size(word: str) -> int:
    if word.isascii() and word.isdigit() and len(word) <= MOST_DIGITS and 0 < int(word) <= LARGEST_BATCH:
        return int(word)
    shown = visible(brief(word))
    raise misuse(f"'{shown}' is not a batch size from 1 to {LARGEST_BATCH}", "write N or N,1,2,8", argument="batch")


def _input_shape(text: str) -> tuple[str, tuple[int | str, ...]]:
    """Return the input and the shape that `INPUT=N,3,H,W` gives it."""
    input, sign, shape = text.rpartition("=")
    if not sign or not input:
        raise misuse(f"'{visible(brief(text))}' is not INPUT=SHAPE", "write images=N,3,H,W", argument="set")
    words = [token.text for token in tokens(shape, "set")] if shape.strip() not in ("", "[]") else []
    return input, tuple([_dim(word) for word in words])


def _dim(word: str) -> int | str:
    """Return a dim of `--set`: a number or one name."""
    if word.isascii() and word.isdigit() and len(word) <= MOST_DIGITS:
        return int(word)
    if word.isidentifier():
        return word
    raise misuse(f"'{visible(brief(word))}' is neither a size nor a name", "write images=N,3,H,W", argument="set")


def targets_of(texts: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Return the targets that `--fix-as` gives to nodes; raise `ShapeError` (usage) for what cannot be read.

    >>> targets_of(["/Reshape=0,-1,85"])
    {'/Reshape': (0, -1, 85)}
    """
    targets: dict[str, tuple[int, ...]] = {}
    for text in texts:
        node, sign, target = text.rpartition("=")
        if not sign or not node:
            raise misuse(f"'{visible(brief(text))}' is not NODE=TARGET", "write /Reshape=0,-1,85", argument="fix_as")
        dims = read_target(target)
        if node in targets:
            raise misuse(f"{visible(brief(node))} is given two targets", argument="fix_as")
        targets[node] = tuple([dim for dim in dims if isinstance(dim, int)])
        if len(targets[node]) < len(dims):
            raise misuse(f"a target in a file is made of numbers, not '{visible(brief(target))}'", argument="fix_as")
    return targets

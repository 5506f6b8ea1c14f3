"""Random requests, one function a kind: each returns a command line in which the kind's rule acts, whatever is drawn.

Dims of one shape differ from each other, so that an order that is wrong gives another answer.
"""

from __future__ import annotations

from math import prod

from shapecalc.core.record import Record
from shapecalc.core.text import shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    Shape = Sequence[int]


class Level(Record):
    """How hard a request may be."""

    rank: int
    """The number of input dims, where the kind leaves it open."""
    most: int
    """The largest dim; at least three more than the rank."""


def _shape(random: Random, rank: int, most: int) -> list[int]:
    return random.sample(range(2, most + 1), rank)


def _line(op: str, shape: Sequence[object], *words: object) -> str:
    """Return a command line: the op, the input, and words, of which lists are written as shapes."""
    texts = (",".join(map(str, word)) if isinstance(word, list) else str(word) for word in words)
    return " ".join([op, ",".join(map(str, shape)) or "[]", *texts])


def _cut(random: Random, shape: Shape) -> list[int]:
    """Return a shape of the same element count: an axis split in two, or merged with the next if it is a prime."""
    at = random.randrange(len(shape) - 1)
    factors = [part for part in range(2, shape[at]) if shape[at] % part == 0]
    if not factors:
        return [*shape[:at], shape[at] * shape[at + 1], *shape[at + 2 :]]
    part = random.choice(factors)
    return [*shape[:at], part, shape[at] // part, *shape[at + 1 :]]


def _cycle(random: Random, rank: int) -> list[int]:
    """Return a permutation that is not its own inverse, for three axes or more."""
    while True:
        perm = random.sample(range(rank), rank)
        if any(perm[perm[axis]] != axis for axis in range(rank)):
            return perm


def copied(random: Random, level: Level) -> str:
    """Draw a reshape whose 0s copy dims, while a dim behind them is split."""
    shape = [*_shape(random, level.rank, level.most), 2 * random.randint(2, level.most)]
    kept = random.randrange(level.rank)
    target = [0 if at == kept or random.random() < 0.3 else dim for at, dim in enumerate(shape[:-1])]
    return _line("reshape", shape, [*target, 2, shape[-1] // 2])


def copied_from_the_left(random: Random, level: Level) -> str:
    """Draw a reshape to fewer dims, whose 0s stand behind a -1."""
    shape = _shape(random, max(3, level.rank), level.most)
    return _line("reshape", shape, [-1, *[0] * random.randint(1, len(shape) - 2)])


def copied_too_much(random: Random, level: Level) -> str:
    """Draw a reshape that swaps two dims, and whose 0 copies another dim than the one that is missing."""
    shape = _shape(random, max(3, level.rank), level.most)
    at = random.randrange(len(shape) - 1)
    target = [*shape[:at], shape[at + 1], 0, *shape[at + 2 :]]
    return _line("reshape", shape, target)


def copied_from_nowhere(random: Random, level: Level) -> str:
    """Draw a reshape with a 0 at the input's rank."""
    shape = _shape(random, level.rank, level.most)
    return _line("reshape", shape, [*random.sample(shape, level.rank), 0])


def literal_zero(random: Random, level: Level) -> str:
    """Draw a reshape of an empty tensor whose 0 is a dim."""
    shape = [0, *_shape(random, level.rank, level.most)]
    return _line("reshape", shape, random.sample(shape, len(shape)), "--allowzero")


def literal_zero_beside_infer(random: Random, level: Level) -> str:
    """Draw a reshape of an empty tensor with a literal 0 and a -1."""
    shape = [0, *_shape(random, level.rank, level.most)]
    return _line("reshape", shape, random.sample([0, -1, *shape[1:-1]], level.rank + 1), "--allowzero")


def inferred(random: Random, level: Level) -> str:
    """Draw a reshape with a -1."""
    target = _cut(random, shape := _shape(random, max(3, level.rank), level.most))
    target[random.randrange(len(target))] = -1
    return _line("reshape", shape, target)


def inferred_beside_copies(random: Random, level: Level) -> str:
    """Draw a reshape with a 0 and a -1."""
    shape = _shape(random, max(3, level.rank), level.most)
    kept = random.randrange(len(shape) - 1)
    target: list[int] = [0 if at == kept else dim for at, dim in enumerate(shape[:-2])]
    return _line("reshape", shape, [*target, 0, -1] if kept == len(shape) - 2 else [*target, -1])


def inferred_with_names(random: Random, level: Level) -> str:
    """Draw a reshape of a batch of any size, with a -1."""
    first, *rest = _shape(random, max(3, level.rank), level.most)
    known = random.choice(rest)
    target: list[int] = random.choice([[0, -1], [0, -1, known], [-1, first * known], [-1, known]])
    return _line("reshape", ["N", first, *rest], target)


def indivisible(random: Random, level: Level) -> str:
    """Draw a reshape whose -1 would be no whole number."""
    shape = _shape(random, level.rank, level.most)
    known = random.choice([dim for dim in range(2, prod(shape)) if prod(shape) % dim][: level.most])
    return _line("reshape", shape, random.sample([known, -1], 2))


def two_inferred(random: Random, level: Level) -> str:
    """Draw a reshape with two -1s."""
    shape = _shape(random, level.rank, level.most)
    return _line("reshape", shape, random.sample([-1, -1, random.choice(shape)], 3))


def inferred_of_nothing(random: Random, level: Level) -> str:
    """Draw a reshape of an empty tensor whose 0 copies the empty dim beside a -1."""
    return _line("reshape", [0, *_shape(random, level.rank, level.most)], [0, -1])


def inferred_empty(random: Random, level: Level) -> str:
    """Draw the same in OpenVINO, which has an answer."""
    switch = random.choice(["--special-zero", "--no-special-zero"])
    return f"{inferred_of_nothing(random, level)} --dialect openvino {switch}"


def below_minus_one(random: Random, level: Level) -> str:
    """Draw a reshape with a negative number that means nothing."""
    shape = _shape(random, level.rank, level.most)
    return _line("reshape", shape, [-random.randint(2, 4), *shape[1:]])


def swapped(random: Random, level: Level) -> str:
    """Draw a transpose that swaps two axes."""
    one, other = random.sample(range(level.rank), 2)
    perm = [*range(level.rank)]
    perm[one], perm[other] = other, one
    return _line("transpose", _shape(random, level.rank, level.most), perm)


def cycled(random: Random, level: Level) -> str:
    """Draw a transpose whose permutation is not its own inverse."""
    rank = max(3, level.rank)
    return _line("transpose", _shape(random, rank, level.most), _cycle(random, rank))


def reversed_axes(random: Random, level: Level) -> str:
    """Draw a transpose without a permutation."""
    return _line("transpose", _shape(random, max(3, level.rank), level.most))


def negative_axes(random: Random, level: Level) -> str:
    """Draw a transpose with a negative axis, in a framework that has these."""
    rank = max(3, level.rank)
    perm = [axis - rank if axis == rank - 1 else axis for axis in _cycle(random, rank)]
    return _line("transpose", _shape(random, rank, level.most), perm, "--dialect", random.choice(["numpy", "torch"]))


def refused_axes(random: Random, level: Level) -> str:
    """Draw a transpose with a negative axis in ONNX, which has none."""
    rank = max(3, level.rank)
    perm = [axis - rank if axis == rank - 1 else axis for axis in _cycle(random, rank)]
    return _line("transpose", _shape(random, rank, level.most), perm)


def no_permutation(random: Random, level: Level) -> str:
    """Draw a transpose that names an axis twice, or too few axes."""
    rank = max(3, level.rank)
    perm = _cycle(random, rank)
    twice = [*perm[:-1], perm[0]]
    return _line("transpose", _shape(random, rank, level.most), random.choice([twice, perm[:-1]]))


def two_transposes(random: Random, level: Level) -> str:
    """Draw a chain of two transposes."""
    rank = max(3, level.rank)
    stages = (f"transpose {shape_text(tuple(_cycle(random, rank)))}" for _ in range(2))
    return f"chain '{shape_text(tuple(_shape(random, rank, level.most)))} | {' | '.join(stages)}'"


def shuffled(random: Random, level: Level) -> str:
    """Draw a Shuffle whose 0 copies a dim that its first transpose has moved."""
    rank = max(3, level.rank)
    return _line("shuffle", _shape(random, rank, level.most), "--first", _turned(random, rank), "--to", [0, -1])


def _turned(random: Random, rank: int) -> list[int]:
    """Return a permutation that moves axis 0 away."""
    while True:
        perm = random.sample(range(rank), rank)
        if perm[0] != 0:
            return perm


def shuffled_to_numbers(random: Random, level: Level) -> str:
    """Draw a Shuffle with a first transpose and a reshape that merges what it brings together."""
    rank = max(3, level.rank)
    shape, perm = _shape(random, rank, level.most), _cycle(random, rank)
    moved = [shape[axis] for axis in perm]
    return _line("shuffle", shape, "--first", perm, "--to", [moved[0] * moved[1], *moved[2:-1], -1])


def shuffled_twice(random: Random, level: Level) -> str:
    """Draw a Shuffle of all three stages."""
    rank = max(3, level.rank)
    shape, perm = _shape(random, rank, level.most), _cycle(random, rank)
    second = random.choice([[1, 2, 0], [2, 0, 1], [0, 2, 1], [2, 1, 0]])
    target = [0, shape[perm[1]], -1]
    return _line("shuffle", shape, "--first", perm, "--to", target, "--second", second)


def shuffled_second(random: Random, level: Level) -> str:
    """Draw a Shuffle that reshapes first and transposes then."""
    shape = _shape(random, max(3, level.rank), level.most)
    return _line("shuffle", shape, "--to", [0, 0, -1], "--second", random.choice([[1, 2, 0], [2, 0, 1]]))


def shuffled_literally(random: Random, level: Level) -> str:
    """Draw a Shuffle whose switch makes its 0 a dim beside a -1."""
    rank = max(3, level.rank)
    words = ("--first", _turned(random, rank), "--to", [0, -1], "--no-zero-is-placeholder")
    return _line("shuffle", _shape(random, rank, level.most), *words)


def shuffled_unevenly(random: Random, level: Level) -> str:
    """Draw a Shuffle whose -1 would be no whole number."""
    shape = _shape(random, rank := max(3, level.rank), level.most)
    known = random.choice([dim for dim in range(2, prod(shape)) if prod(shape) % dim][: level.most])
    return _line("shuffle", shape, "--first", _cycle(random, rank), "--to", [known, -1])


def _with_ones(random: Random, shape: Shape) -> list[int]:
    """Return a shape with 1 in place of some of its dims, and not of all."""
    ones = {*random.sample(range(len(shape)), random.randint(1, len(shape) - 1))}
    return [1 if at in ones else dim for at, dim in enumerate(shape)]


def stretched(random: Random, level: Level) -> str:
    """Draw an expand that repeats dims of 1."""
    shape = _shape(random, level.rank, level.most)
    return _line("expand", _with_ones(random, shape), shape)


def new_dims(random: Random, level: Level) -> str:
    """Draw an expand to more dims than the input has."""
    target = _shape(random, max(3, level.rank), level.most)
    return _line("expand", _with_ones(random, target[1:]), target)


def both_ways(random: Random, level: Level) -> str:
    """Draw an expand in which a 1 of the target gives way, too."""
    shape = _shape(random, max(3, level.rank), level.most)
    at = random.randrange(len(shape))
    given = [1 if place == at else dim for place, dim in enumerate(shape)]
    target = [dim if place == at else 1 for place, dim in enumerate(shape)]
    return _line("expand", given, target)


def no_broadcast(random: Random, level: Level) -> str:
    """Draw an expand of a dim that is neither 1 nor what is asked for."""
    target = _shape(random, level.rank, level.most)
    given = [*target]
    at = random.randrange(len(target))
    given[at] = target[at] + 1
    return _line("expand", given, target)


def kept_by_minus_one(random: Random, level: Level) -> str:
    """Draw an expand in PyTorch, where -1 keeps a dim."""
    target = _shape(random, max(3, level.rank), level.most)
    given = _with_ones(random, target)
    kept = next(at for at, dim in enumerate(given) if dim != 1)
    asked = [-1 if at == kept else dim for at, dim in enumerate(target)]
    return _line("expand", given, asked, "--dialect torch")


def one_way(random: Random, level: Level) -> str:
    """Draw an expand in PyTorch or NumPy whose target has a 1 beside a larger dim."""
    shape = _shape(random, level.rank, level.most)
    return _line("expand", shape, _with_ones(random, shape), "--dialect", random.choice(["torch", "numpy"]))


def negative_size(random: Random, level: Level) -> str:
    """Draw an expand in ONNX with a -1, which means nothing there."""
    shape = _shape(random, level.rank, level.most)
    return _line("expand", [1, *shape[1:]], [shape[0], *[-1] * (level.rank - 1)])

"""Random exercises, drills with spaced repetition, and worksheets.

Each kind of exercise has a function that draws a command line to which the kind's rule applies, for every seed. The
dims of a shape are distinct, so that a wrong order gives a wrong answer. In a drill, a kind that was missed returns
soon, and one that was answered correctly returns after increasing intervals. A worksheet has its answers on a separate
page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from itertools import cycle, zip_longest
from math import prod
from random import Random, SystemRandom
from types import MappingProxyType

from shapecalc.core import rules
from shapecalc.core.answers import Chain, Trace
from shapecalc.core.ask import DEFAULT_OPSET, default_dialect
from shapecalc.core.commands import chain_text
from shapecalc.core.ops.concat import END_TO_END
from shapecalc.core.ops.einsum import SUMMED
from shapecalc.core.ops.matmul import CONTRACTED, FROM_OPERAND
from shapecalc.core.ops.operands import ALIGNED, DIMS_DIFFER, INNER_DIFFERS
from shapecalc.core.ops.transpose import TAKEN_AXIS
from shapecalc.core.ops.windows import SLIDES, WINDOW_TOO_LARGE
from shapecalc.core.problem import Rule
from shapecalc.core.record import Record
from shapecalc.core.text import lookup, shape_text, visible
from shapecalc.teaching import ALL, BUILD, TOPICS, judging
from shapecalc.teaching.judging import Judgement, Task, account, answer_line

Shape = Sequence[int]

GAPS = (2, 4, 8, 16, 32)
"""The number of exercises until a kind returns, by its Leitner box; a right answer moves it up, a miss to box 0."""
ALIKE = 2
"""The maximum number of exercises of a kind that differ only in their sizes."""
TRIES = 30
"""The number of alternative draws for an exercise that differs from earlier ones only in its sizes."""
MOST_SEED = 10**6
"""The upper bound of generated seeds, which are short enough to copy by hand."""
ASKED = "Write the output shape, or error if the request is refused."
BUILT = "Where a task stands in words, write the ops that do it: transpose 1,0 | reshape 6."
USUAL = "onnx"
"""The default dialect of most ops."""
BLANK = "________________"
BOX = "[      ]"
"""The placeholder in a picture for a dim to be filled in."""
STYLE = """\
@page { margin: 12mm; }
body { font: 12pt/1.5 sans-serif; max-width: 48em; margin: 2em auto; padding: 0 1em; color: #000; background: #fff; }
code { font: 11pt ui-monospace, Menlo, Consolas, monospace; }
li { break-inside: avoid; margin-bottom: 0.8em; }
svg { display: block; max-width: 100%; height: auto; }
.blank { display: inline-block; min-width: 10em; border-bottom: 1px solid; }
.answers { break-before: page; }"""


class Level(Record):
    """The difficulty of a request."""

    rank: int
    """The number of input dims, if the kind does not determine it."""
    most: int
    """The largest dim; at least `rank + 3`."""


LEVELS = (Level(2, 6), Level(3, 7), Level(3, 9), Level(4, 9), Level(4, 12))
"""The difficulties of levels 1, 2, ..."""
Draw = Callable[[Random, Level], str]
"""A function that draws a command line."""


class Kind(Record):
    """One kind of exercise."""

    name: str
    topic: str
    since: int
    """The first level at which it is drawn."""
    rule: Rule | None
    """The rule that it exercises; None for a puzzle."""
    least: int
    """The minimum number of input dims."""
    draw: Draw
    builds: str = ""
    """The description of the chain to build in a puzzle; empty for a prediction."""


class Exercise(Record):
    """One exercise: a request to predict or a chain to build."""

    kind: Kind
    level: int
    task: Task


KINDS: dict[str, Kind] = {}
"""All kinds by name; those of a topic are in the order of their first levels."""


class Card(Record):
    """A flash card for a kind in the Leitner system."""

    box: int
    due: int
    """The number of the exercise at which the kind is due."""


class Sheet(Record):
    """The content of a worksheet."""

    title: str
    note: str
    """The command line that reproduces the worksheet."""
    questions: tuple[str, ...]
    answers: tuple[str, ...]
    """The answers with their explanations; empty if they are not printed."""
    rules: str = ""
    """The note on the dialects of the questions."""
    asked: tuple[Trace | Chain | None, ...] = ()
    """The answers for pictures to complete; None for a question without a picture."""


def kinds_of(topics: str) -> tuple[Kind, ...]:
    """Return the kinds of topics separated by blanks or commas, easiest first.

    Raises `ShapeError` (usage) for an unknown topic.

    >>> [kind.name for kind in kinds_of("zero,perm")][:3]
    ['copied', 'from-the-left', 'swapped']
    """
    names = topics.replace(",", " ").split() or [topics]
    for name in names:
        lookup(name, dict.fromkeys(TOPICS), "topic")
    kinds = [kind for kind in KINDS.values() if ALL in names or kind.topic in names]
    kinds += puzzles() if BUILD in names else ()
    return tuple(sorted(kinds, key=lambda kind: kind.since))


def topic_of(question: str) -> str:
    """Return the topic of a question.

    It is that of the first kind whose rule occurs in the answer, otherwise `build`.

    >>> topic_of("reshape 2,3,4 2,-1"), topic_of("reshape 2,3 3,2")
    ('infer', 'build')
    """
    applied = {step.rule for step in answer_line(question).steps}
    return next((kind.topic for kind in KINDS.values() if kind.rule in applied), BUILD)


@cache
def puzzles() -> tuple[Kind, ...]:
    """Return the kinds of the puzzles, easiest first; each draws a single chain.

    >>> puzzles()[0].builds, exercise(puzzles()[0], 1, "monday").task.question
    ('which op gives 0 3 1 4 2 5, read row by row', "chain '2,3 | transpose 1,0'")
    """
    lines = files("shapecalc.teaching").joinpath("puzzles.txt").read_text("utf-8").splitlines()
    return tuple(_puzzle(at, 1 + at * len(LEVELS) // len(lines), line) for at, line in enumerate(lines))


def _puzzle(at: int, level: int, line: str) -> Kind:
    words, _, chain = line.partition(": ")
    return Kind(f"{BUILD}-{at}", BUILD, level, None, 0, lambda *_: f"chain '{chain}'", words)


def exercise(kind: Kind, level: int, seed: str) -> Exercise:
    """Draw an exercise of a kind, determined by the seed.

    Its level is at least the kind's first level.

    >>> exercise(KINDS["inferred"], 1, "monday").task.question == exercise(KINDS["inferred"], 1, "monday").task.question
    True
    """
    level = kind.since if kind.builds else max(kind.since, min(level, len(LEVELS)))
    difficulty = LEVELS[level - 1]
    question = kind.draw(Random(seed), Level(max(kind.least, difficulty.rank), difficulty.most))
    return Exercise(kind, level, Task(question, builds=kind.builds))


def _kind(name: str, topic: str, since: int, rule: Rule, *, least: int = 2) -> Callable[[Draw], Draw]:
    """Register a function as a kind of exercise.

    The function draws requests to which `rule` applies.
    """

    def add(draw: Draw) -> Draw:
        KINDS[name] = Kind(name, topic, since, rule, least, draw)
        return draw

    return add


def _shape(random: Random, level: Level) -> list[int]:
    return random.sample(range(2, level.most + 1), level.rank)


def _line(op: str, shape: Sequence[object], *words: object) -> str:
    """Format a command line from an op, an input shape and further words.

    Lists are formatted as shapes.
    """
    texts = (",".join(map(str, word)) if isinstance(word, list) else str(word) for word in words)
    return " ".join([op, ",".join(map(str, shape)) or "[]", *texts])


def _cut(random: Random, shape: Shape) -> list[int]:
    """Split a random axis of a shape in two.

    An axis of prime size is merged with the next one instead.
    """
    axis = random.randrange(len(shape) - 1)
    factors = [factor for factor in range(2, shape[axis]) if shape[axis] % factor == 0]
    if not factors:
        return [*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]]
    factor = random.choice(factors)
    return [*shape[:axis], factor, shape[axis] // factor, *shape[axis + 1 :]]


def _uneven(random: Random, shape: Shape, level: Level) -> int:
    """Return a random number that does not divide the element count."""
    return random.choice([dim for dim in range(2, prod(shape)) if prod(shape) % dim][: level.most])


def _perm(random: Random, rank: int, suits: Callable[[list[int]], bool]) -> list[int]:
    """Return a random permutation for which `accept` is true."""
    while not suits(perm := random.sample(range(rank), rank)):
        pass
    return perm


def _cycle(random: Random, rank: int) -> list[int]:
    """Return a random permutation of at least three axes that is not its own inverse."""
    return _perm(random, rank, lambda perm: any(perm[perm[axis]] != axis for axis in range(rank)))


@_kind("copied", "zero", 1, rules.COPIED_ZERO)
def copied(random: Random, level: Level) -> str:
    """Draw a reshape with copied dims and a split last dim."""
    shape = [*_shape(random, level), 2 * random.randint(2, level.most)]
    copied_axis = random.randrange(level.rank)
    target = [0 if axis == copied_axis or random.random() < 0.3 else dim for axis, dim in enumerate(shape[:-1])]
    return _line("reshape", shape, [*target, 2, shape[-1] // 2])


@_kind("from-the-left", "zero", 1, rules.COPIED_ZERO, least=3)
def copied_from_the_left(random: Random, level: Level) -> str:
    """Draw a reshape to fewer dims with 0s after a -1."""
    return _line("reshape", shape := _shape(random, level), [-1, *[0] * random.randint(1, len(shape) - 2)])


@_kind("out-of-range", "zero", 2, rules.ZERO_OUT_OF_RANGE)
def copied_from_nowhere(random: Random, level: Level) -> str:
    """Draw a reshape with a 0 at an index equal to the input rank."""
    return _line("reshape", shape := _shape(random, level), [*random.sample(shape, level.rank), 0])


@_kind("copied-too-much", "zero", 2, rules.VOLUME_MISMATCH, least=3)
def copied_too_much(random: Random, level: Level) -> str:
    """Draw a reshape that swaps two dims with a 0 that copies the wrong one."""
    shape = _shape(random, level)
    axis = random.randrange(len(shape) - 1)
    return _line("reshape", shape, [*shape[:axis], shape[axis + 1], 0, *shape[axis + 2 :]])


@_kind("literal", "zero", 3, rules.LITERAL_ZERO)
def literal_zero(random: Random, level: Level) -> str:
    """Draw a reshape of an empty tensor with a literal 0."""
    return _line("reshape", shape := [0, *_shape(random, level)], random.sample(shape, len(shape)), "--allowzero")


@_kind("literal-beside-infer", "zero", 4, rules.ZERO_BESIDE_INFER)
def literal_zero_beside_infer(random: Random, level: Level) -> str:
    """Draw a reshape of an empty tensor with a literal 0 and a -1."""
    shape = [0, *_shape(random, level)]
    return _line("reshape", shape, random.sample([0, -1, *shape[1:-1]], level.rank + 1), "--allowzero")


@_kind("inferred", "infer", 1, rules.INFERRED, least=3)
def inferred(random: Random, level: Level) -> str:
    """Draw a reshape with a -1."""
    target = _cut(random, shape := _shape(random, level))
    target[random.randrange(len(target))] = -1
    return _line("reshape", shape, target)


@_kind("indivisible", "infer", 1, rules.INDIVISIBLE)
def indivisible(random: Random, level: Level) -> str:
    """Draw a reshape whose inferred dim is not an integer."""
    return _line("reshape", shape := _shape(random, level), random.sample([_uneven(random, shape, level), -1], 2))


@_kind("two-holes", "infer", 2, rules.TWO_INFERS)
def two_inferred(random: Random, level: Level) -> str:
    """Draw a reshape with two -1s."""
    return _line("reshape", shape := _shape(random, level), random.sample([-1, -1, random.choice(shape)], 3))


@_kind("beside-copies", "infer", 2, rules.INFERRED, least=3)
def inferred_beside_copies(random: Random, level: Level) -> str:
    """Draw a reshape with a 0 and a -1."""
    shape = _shape(random, level)
    copied_axis = random.randrange(len(shape) - 1)
    target: list[int] = [0 if axis == copied_axis else dim for axis, dim in enumerate(shape[:-2])]
    return _line("reshape", shape, [*target, 0, -1] if copied_axis == len(shape) - 2 else [*target, -1])


@_kind("below-minus-one", "infer", 3, rules.BELOW_MINUS_ONE)
def below_minus_one(random: Random, level: Level) -> str:
    """Draw a reshape with a number below -1."""
    return _line("reshape", shape := _shape(random, level), [-random.randint(2, 4), *shape[1:]])


@_kind("with-names", "infer", 4, rules.INFERRED, least=3)
def inferred_with_names(random: Random, level: Level) -> str:
    """Draw a reshape with a named batch dim and a -1."""
    first, *rest = _shape(random, level)
    known = random.choice(rest)
    target: list[int] = random.choice([[0, -1], [0, -1, known], [-1, first * known], [-1, known]])
    return _line("reshape", ["N", first, *rest], target)


@_kind("of-nothing", "infer", 4, rules.ZERO_VOLUME_INFER)
def inferred_of_nothing(random: Random, level: Level) -> str:
    """Draw a reshape of an empty tensor with a 0 that copies the empty dim, and a -1."""
    return _line("reshape", [0, *_shape(random, level)], [0, -1])


@_kind("swapped", "perm", 1, TAKEN_AXIS)
def swapped(random: Random, level: Level) -> str:
    """Draw a transpose that swaps two axes."""
    one, other = random.sample(range(level.rank), 2)
    perm = [*range(level.rank)]
    perm[one], perm[other] = other, one
    return _line("transpose", _shape(random, level), perm)


@_kind("cycled", "perm", 1, TAKEN_AXIS, least=3)
def cycled(random: Random, level: Level) -> str:
    """Draw a transpose whose permutation is not its own inverse."""
    return _line("transpose", _shape(random, level), _cycle(random, level.rank))


@_kind("no-permutation", "perm", 2, rules.NOT_A_PERMUTATION, least=3)
def no_permutation(random: Random, level: Level) -> str:
    """Draw a transpose with a repeated or a missing axis."""
    perm = _cycle(random, level.rank)
    return _line("transpose", _shape(random, level), random.choice([[*perm[:-1], perm[0]], perm[:-1]]))


@_kind("negative", "perm", 3, TAKEN_AXIS, least=3)
def negative_axes(random: Random, level: Level) -> str:
    """Draw a transpose with a negative axis in NumPy or PyTorch."""
    return f"{refused_axes(random, level)} --dialect {random.choice(['numpy', 'torch'])}"


@_kind("negative-in-onnx", "perm", 4, rules.NEGATIVE_AXIS, least=3)
def refused_axes(random: Random, level: Level) -> str:
    """Draw a transpose with a negative axis in ONNX, which refuses it."""
    perm = [axis - level.rank if axis == level.rank - 1 else axis for axis in _cycle(random, level.rank)]
    return _line("transpose", _shape(random, level), perm)


@_kind("shuffled", "shuffle", 1, rules.COPIED_ZERO, least=3)
def shuffled(random: Random, level: Level) -> str:
    """Draw a Shuffle with a 0 that copies a dim moved by its first transpose."""
    shape, perm = _shape(random, level), _perm(random, level.rank, lambda perm: perm[0] != 0)
    return _line("shuffle", shape, "--first", perm, "--to", [0, -1])


@_kind("shuffled-second", "shuffle", 2, TAKEN_AXIS, least=3)
def shuffled_second(random: Random, level: Level) -> str:
    """Draw a Shuffle with a reshape and the second transpose."""
    shape = _shape(random, level)
    return _line("shuffle", shape, "--to", [0, 0, -1], "--second", random.choice([[1, 2, 0], [2, 0, 1]]))


@_kind("shuffled-twice", "shuffle", 3, rules.INFERRED, least=3)
def shuffled_twice(random: Random, level: Level) -> str:
    """Draw a Shuffle with all three stages."""
    shape, perm = _shape(random, level), _cycle(random, level.rank)
    second = random.choice([[1, 2, 0], [2, 0, 1], [0, 2, 1], [2, 1, 0]])
    target = [0, shape[perm[1]], -1]
    return _line("shuffle", shape, "--first", perm, "--to", target, "--second", second)


@_kind("shuffled-unevenly", "shuffle", 3, rules.INDIVISIBLE, least=3)
def shuffled_unevenly(random: Random, level: Level) -> str:
    """Draw a Shuffle whose inferred dim is not an integer."""
    shape = _shape(random, level)
    known = _uneven(random, shape, level)
    return _line("shuffle", shape, "--first", _cycle(random, level.rank), "--to", [known, -1])


def _with_ones(random: Random, shape: Shape) -> list[int]:
    """Replace some but not all dims of a shape by 1."""
    ones = {*random.sample(range(len(shape)), random.randint(1, len(shape) - 1))}
    return [1 if axis in ones else dim for axis, dim in enumerate(shape)]


@_kind("stretched", "broadcast", 1, rules.STRETCHED)
def stretched(random: Random, level: Level) -> str:
    """Draw an expand that repeats dims of size 1."""
    return _line("expand", _with_ones(random, shape := _shape(random, level)), shape)


@_kind("new-dims", "broadcast", 1, rules.NEW_DIM, least=3)
def new_dims(random: Random, level: Level) -> str:
    """Draw an expand to more dims than the input has."""
    return _line("expand", _with_ones(random, (target := _shape(random, level))[1:]), target)


@_kind("no-broadcast", "broadcast", 2, rules.NOT_BROADCASTABLE)
def no_broadcast(random: Random, level: Level) -> str:
    """Draw an expand of a dim that is neither 1 nor the requested size."""
    target = _shape(random, level)
    axis = random.randrange(len(target))
    return _line("expand", [*target[:axis], target[axis] + 1, *target[axis + 1 :]], target)


@_kind("both-ways", "broadcast", 2, rules.STRETCHED, least=3)
def both_ways(random: Random, level: Level) -> str:
    """Draw an expand in ONNX with a 1 in the input and a 1 in the target."""
    shape = _shape(random, level)
    stretched_axis = random.randrange(len(shape))
    input_shape = [1 if axis == stretched_axis else dim for axis, dim in enumerate(shape)]
    target = [dim if axis == stretched_axis else 1 for axis, dim in enumerate(shape)]
    return _line("expand", input_shape, target)


@_kind("one-way", "broadcast", 3, rules.NOT_BROADCASTABLE)
def one_way(random: Random, level: Level) -> str:
    """Draw an expand in PyTorch or NumPy with a 1 for a larger input dim."""
    shape = _shape(random, level)
    return _line("expand", shape, _with_ones(random, shape), "--dialect", random.choice(["torch", "numpy"]))


@_kind("kept-by-minus-one", "broadcast", 3, rules.KEPT_DIM, least=3)
def kept_by_minus_one(random: Random, level: Level) -> str:
    """Draw an expand in PyTorch with a -1, which keeps a dim."""
    target = _shape(random, level)
    input_shape = _with_ones(random, target)
    kept_axis = next(axis for axis, dim in enumerate(input_shape) if dim != 1)
    requested = [-1 if axis == kept_axis else dim for axis, dim in enumerate(target)]
    return _line("expand", input_shape, requested, "--dialect torch")


@_kind("negative-size", "broadcast", 4, rules.NEGATIVE_SIZE)
def negative_size(random: Random, level: Level) -> str:
    """Draw an expand in ONNX with a -1, which ONNX refuses."""
    shape = _shape(random, level)
    return _line("expand", [1, *shape[1:]], [shape[0], *[-1] * (level.rank - 1)])


@_kind("aligned", "operands", 1, ALIGNED)
def aligned(random: Random, level: Level) -> str:
    """Draw a broadcast of operands with 1s on different axes."""
    stretched_axis, shape = random.randrange(1, level.rank), _shape(random, level)
    input_shape = [1 if axis == stretched_axis else dim for axis, dim in enumerate(shape)]
    other = [dim if axis == stretched_axis else random.choice([1, dim]) for axis, dim in enumerate(shape)]
    return _line("broadcast", input_shape, other[random.randint(0, stretched_axis) :])


@_kind("product", "operands", 1, CONTRACTED)
def multiplied(random: Random, level: Level) -> str:
    """Draw a matmul of a stack of matrices and a matrix."""
    *front, inner = _shape(random, level)
    return _line("matmul", [*front, inner], [inner, random.randint(2, level.most)])


@_kind("end-to-end", "operands", 1, END_TO_END)
def laid_end_to_end(random: Random, level: Level) -> str:
    """Draw a concat of operands that differ along the concatenated axis."""
    shape, axis = _shape(random, level), random.randrange(level.rank)
    other = [*shape[:axis], random.randint(2, level.most), *shape[axis + 1 :]]
    return _line("concat", shape, other, "--axis", axis)


@_kind("summed", "operands", 2, SUMMED)
def summed(random: Random, level: Level) -> str:
    """Draw an einsum of two operands with shared labels."""
    pattern = random.choice(["ij,jk->ik", "ij,kj->ki", "bij,bjk->bik", "bij,bij->b", "bhqd,bhkd->bhqk"])
    sizes = dict(zip(sorted({*pattern} - {*",->"}), random.sample(range(2, level.most + 1), 5), strict=False))
    one, other = ([sizes[letter] for letter in term] for term in pattern.partition("->")[0].split(","))
    return _line(f"einsum {pattern}", one, other)


@_kind("not-aligned", "operands", 2, rules.NOT_BROADCASTABLE)
def not_aligned(random: Random, level: Level) -> str:
    """Draw a broadcast that is valid only if the shapes are aligned at the left."""
    return _line("broadcast", shape := _shape(random, level), shape[:-1])


@_kind("transposed-weight", "operands", 2, INNER_DIFFERS)
def transposed_weight(random: Random, level: Level) -> str:
    """Draw a matmul whose second operand is transposed."""
    *_, rows, inner = shape = _shape(random, level)
    return _line("matmul", shape, [rows, inner])


@_kind("differing", "operands", 2, DIMS_DIFFER)
def differing(random: Random, level: Level) -> str:
    """Draw a concat of operands that differ along other axes."""
    shape, axis = _shape(random, level), random.randrange(level.rank)
    return _line("concat", shape, [dim + (other != axis) for other, dim in enumerate(shape)], "--axis", axis)


@_kind("stacked-matrices", "operands", 3, FROM_OPERAND)
def stacked_matrices(random: Random, level: Level) -> str:
    """Draw a matmul of two stacks of matrices, one of which is broadcast."""
    rows, inner, columns, count = random.sample(range(2, level.most), 4)
    stacks = random.choice([([count, 1], [count]), ([1], [count]), ([count], [])])
    return _line("matmul", [*stacks[0], rows, inner], [*stacks[1], inner, columns])


@_kind("windows", "operands", 3, SLIDES, least=4)
def pooled(random: Random, level: Level) -> str:
    """Draw a pool with windows that may extend into padding."""
    kernel, stride = random.choice([(2, 2), (3, 1), (3, 2), (4, 2), (5, 3)])
    shape = [*random.sample(range(2, level.most), 2), *random.sample(range(kernel, kernel + level.most), 2)]
    return _line("pool", shape, kernel, "--stride", stride, *random.choice([(), ("--padding", kernel // 2)]))


@_kind("filters", "operands", 3, SLIDES, least=4)
def filtered(random: Random, level: Level) -> str:
    """Draw a convolution without groups."""
    kernel, stride = random.choice([(1, 1), (3, 1), (3, 2), (5, 2)])
    batch, channels, filters = random.sample(range(2, level.most), 3)
    shape = [batch, channels, *random.sample(range(kernel + 1, kernel + level.most), 2)]
    return _line("conv", shape, [filters, channels, kernel, kernel], "--stride", stride, "--padding", kernel // 2)


@_kind("too-large-windows", "operands", 4, WINDOW_TOO_LARGE, least=4)
def too_large_windows(random: Random, level: Level) -> str:
    """Draw a pool with a dilated window that is longer than an axis."""
    dilation = random.choice([1, 2, 3])
    shape = [*random.sample(range(2, level.most), 2), *random.sample(range(4, 4 + 3 * dilation), 2)]
    return _line("pool", shape, max(shape[2:]) // dilation + 2, "--dilation", dilation)


def new_seed() -> str:
    """Return a random seed."""
    return str(SystemRandom().randrange(MOST_SEED))


class Drill:
    """A sequence of exercises, determined by the seed and the answers.

    The nth exercise of a kind depends on the answers only through its level.

    >>> drill = Drill("infer", "monday")
    >>> first = drill.exercise
    >>> drill.mark(right=False)
    0
    >>> drill.exercise == first, drill.answered, drill.right
    (False, 1, 0)
    """

    def __init__(self, topics: str, seed: str, boxes: Mapping[str, int] = MappingProxyType({})) -> None:
        """Draw the first exercise; `boxes` are the saved Leitner boxes of the kinds.

        Raises `ShapeError` (usage) for an unknown topic.
        """
        self._kinds = {kind.name: kind for kind in kinds_of(topics)}
        self._cards = {name: card for name, card in cards_of(boxes).items() if name in self._kinds}
        self._times = dict.fromkeys(self._kinds, 0)
        self._forms = {name: Counter[str]() for name in self._kinds}
        self._seed = seed
        self.answered = self.right = self.streak = 0
        self.exercise = self._next()

    def _next(self) -> Exercise:
        kind = self._kinds[next_name([*self._kinds], self._cards, self.answered)]
        card = self._cards.get(kind.name)
        self._times[kind.name] += 1
        level = kind.since + (card.box if card else 0)
        seed = f"{self._seed}/{kind.name}/{self._times[kind.name]}"
        drawn, forms = exercise(kind, level, seed), self._forms[kind.name]
        if forms[drawn.task.form] >= ALIKE:
            others = (exercise(kind, level + number // 10, f"{seed}/{number}") for number in range(TRIES))
            drawn = min((drawn, *others), key=lambda candidate: forms[candidate.task.form])
        forms[drawn.task.form] += 1
        return drawn

    def mark(self, *, right: bool) -> int:
        """Record the answer and draw the next exercise.

        Returns the new box of the answered kind.
        """
        name = self.exercise.kind.name
        # A puzzle is the same each time, so a solved one returns after the longest interval.
        previous = Card(len(GAPS), 0) if self.exercise.kind.builds else self._cards.get(name)
        card = self._cards[name] = card_after(previous, self.answered, right=right)
        self.answered += 1
        self.right += right
        self.streak = self.streak + 1 if right else 0
        self.exercise = self._next()
        return card.box

    def __str__(self) -> str:
        return f"{self.right} of {self.answered} right, streak {self.streak}"


def judge_exercise(asked: Exercise, typed: str) -> Judgement:
    """Judge an answer.

    For a wrong one, return the mistake, the right answer and its derivation. An invalid answer is wrong. So is an empty
    one, which requests the right answer.

    >>> judge_exercise(Exercise(KINDS["inferred"], 1, Task("reshape 2,3,4 2,-1")), "2,6").said
    'it is 2,12: -1 = 24 / 2 = 12 [infer]'
    >>> judge_exercise(Exercise(KINDS["inferred"], 1, Task("reshape 2,3,4 0,-1")), "").said
    'it is 2,12: the 0 at index 0 copies dim 0, which is 2; -1 = 24 / 2 = 12 [infer]'
    """
    answer = judging.answer_line(asked.task.question)
    solution = f"{'one way is' if asked.task.builds else 'it is'} {_answer_text(asked, answer, 'refused')}"
    if not typed.strip():
        return Judgement(False, solution)
    if problem := judging.unread(asked.task, typed):
        return Judgement(False, f"{problem}; {solution}")
    if asked.task.builds:
        mistake = judging.misbuilt(asked.task, typed)
        return Judgement(mistake is None, f"{mistake.said}; {solution}" if mistake else "")
    prediction = judging.read_prediction(typed)
    if prediction == judging.prediction_of(asked.task, answer):
        return Judgement(True, "")
    mistake = judging.mistake_in(asked.task, answer, prediction)
    return Judgement(False, f"{mistake.said}; {solution}" if mistake else solution)


def exercises(topics: str, seed: str, count: int) -> Iterator[Exercise]:
    """Yield exercises of the topics in turn.

    Each is from a drill in which all answers are right. Raises `ShapeError` (usage) for an unknown topic.
    """
    drills = [Drill(topic, seed) for topic in dict.fromkeys(kind.topic for kind in kinds_of(topics))]
    for _, drill in zip(range(count), cycle(drills), strict=False):
        yield drill.exercise
        drill.mark(right=True)


def next_name(names: Sequence[str], cards: Mapping[str, Card], number: int) -> str:
    """Return the name of the kind of exercise `number`.

    It is the one that has been due longest; if none is due, the first without a card; otherwise the next due.

    >>> cards = {"copied": Card(1, 4), "inferred": Card(0, 3)}
    >>> [next_name(["copied", "inferred", "literal"], cards, number) for number in (2, 3)]
    ['literal', 'inferred']
    """
    by_due = sorted((name for name in names if name in cards), key=lambda name: cards[name].due)
    if by_due and cards[by_due[0]].due <= number:
        return by_due[0]
    return next((name for name in names if name not in cards), by_due[0] if by_due else names[0])


def card_after(card: Card | None, number: int, *, right: bool) -> Card:
    """Return the card of a kind after exercise `number`.

    >>> card_after(Card(2, 5), 7, right=True), card_after(Card(2, 5), 7, right=False)
    (Card(box=3, due=23), Card(box=0, due=9))
    """
    box = min((card.box if card else 0) + 1, len(GAPS) - 1) if right else 0
    return Card(box, number + GAPS[box])


def cards_of(boxes: Mapping[str, int]) -> dict[str, Card]:
    """Return the initial cards for saved boxes; a kind in box 0 is due at once.

    >>> cards_of({"copied": 0, "literal": 2})
    {'copied': Card(box=0, due=0), 'literal': Card(box=2, due=8)}
    """
    valid = {name: max(0, min(box, len(GAPS) - 1)) for name, box in boxes.items()}
    return {name: Card(box, GAPS[box] if box else 0) for name, box in valid.items()}


def sheet_of(exercises: Iterable[Exercise], topics: str, seed: str, *, answers: bool) -> Sheet:
    """Return the worksheet of some exercises."""
    tasks = [*exercises]
    note = f"shapecalc drill {topics} --print {len(tasks)} --seed {seed}"
    right = tuple(answer_line(one.task.question) for one in tasks)
    texts = tuple(_answer_text(*pair) for pair in zip(tasks, right, strict=True) if answers)
    questions = tuple(one.task.shown for one in tasks)
    dialects = rules_of([one.task.question for one in tasks])
    pictured = tuple(None if one.task.builds else answer for one, answer in zip(tasks, right, strict=True))
    return Sheet(f"Shapes: {', '.join(topics.split())}", note, questions, texts, dialects, pictured)


def rules_of(questions: Sequence[str]) -> str:
    """Return the note on the dialects of the questions and on the numbering of dims.

    >>> rules_of(["reshape 2,3 0,-1", "shuffle 2,3 --to -1", "transpose 2,3 1,0 --dialect torch"])
    'Rules of ONNX (opset 25), for shuffle of tensorrt, of torch where it is named. Dims are counted from 0.'
    """
    named = {question.rpartition("--dialect ")[2].split()[0] for question in questions if "--dialect" in question}
    ops = {trace.op for question in questions if "--dialect" not in question for trace in answer_line(question).traces}
    special = {op: default_dialect(op) for op in sorted(ops) if default_dialect(op) != USUAL}
    parts = [f"of {USUAL.upper()} (opset {DEFAULT_OPSET})"] if ops - {*special} else []
    parts += [f"for {op} of {dialect}" for op, dialect in special.items()]
    parts += [f"of {' or '.join(sorted(named))} where it is named"] if named else []
    return f"Rules {', '.join(parts)}. Dims are counted from 0."


def _answer_text(asked: Exercise, answer: Trace | Chain, refused: str = judging.REFUSED[0]) -> str:
    """Return the text of an answer with its explanation and its rule.

    For a puzzle it is the chain.
    """
    if asked.task.builds:
        return chain_text(answer)
    rule = answer.problem.rule if answer.problem else asked.kind.rule
    output = refused if answer.output is None else shape_text(answer.output)
    return visible(f"{output}: {account(answer)} [{rule}]")


def text_of(sheet: Sheet) -> str:
    """Format a worksheet as plain text.

    >>> print(text_of(Sheet("Shapes: infer", "shapecalc drill", ("reshape 2,3 -1",), ("6",))))
    Shapes: infer
    Write the output shape, or error if the request is refused.
    <BLANKLINE>
     1. reshape 2,3 -1
        ________________
    <BLANKLINE>
    Answers
     1. 6
    <BLANKLINE>
    shapecalc drill
    """
    width = max(2, len(str(len(sheet.questions))))
    indent = " " * (width + 2)
    questions = [f"{number:>{width}}. {text}\n{indent}{BLANK}\n" for number, text in enumerate(sheet.questions, 1)]
    answers = [f"{number:>{width}}. {text}" for number, text in enumerate(sheet.answers, 1)]
    answers = ["Answers", *answers, ""] if answers else []
    return "\n".join([sheet.title, *_head(sheet), "", *questions, *answers, sheet.note])


def _head(sheet: Sheet) -> list[str]:
    """Return the sentences above the questions."""
    has_puzzles = None in sheet.asked
    sentences = ((ASKED, not has_puzzles or any(sheet.asked)), (BUILT, has_puzzles), (sheet.rules, sheet.rules))
    return [sentence for sentence, is_needed in sentences if is_needed]


def html_of(sheet: Sheet) -> str:
    """Format a worksheet as a self-contained HTML page.

    The answers are printed on a new page.
    """
    blank = '<span class="blank">&nbsp;</span>'
    questions = [
        f"<li><code>{escape(text)}</code> &rarr; {blank}{_picture_of(text, answer)}</li>"
        for text, answer in zip_longest(sheet.questions, sheet.asked)
    ]
    items = [f"<li>{escape(text)}</li>" for text in sheet.answers]
    answers = ['<section class="answers">', "<h2>Answers</h2>", "<ol>", *items, "</ol>", "</section>"] if items else []
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">',
            f'<head><meta charset="utf-8"><title>{escape(sheet.title)}</title>',
            f"<style>\n{STYLE}\n</style></head>",
            f"<body>\n<h1>{escape(sheet.title)}</h1>\n<p>Name {blank} Date {blank}</p>",
            *(f"<p>{escape(sentence)}</p>" for sentence in _head(sheet)),
            *("<ol>", *questions, "</ol>"),
            *answers,
            f"<footer><code>{escape(sheet.note)}</code></footer>\n</body>\n</html>",
        ]
    )


def _picture_of(question: str, answer: Trace | Chain | None) -> str:
    """Return the picture to complete as a black-on-white SVG.

    Returns an empty text without an answer.
    """
    from rich.text import Text

    from shapecalc.view.files import svg
    from shapecalc.view.pictures import asked_picture

    return "\n" + svg(Text(asked_picture(answer, hole=BOX).plain), question, "light") if answer else ""


WRITERS: Mapping[str, Callable[[Sheet], str]] = {"text": text_of, "html": html_of}
"""The formatters of worksheets, by format."""
ENDINGS = {".txt": "text", ".html": "html", ".htm": "html"}
"""The format of a worksheet file, by its suffix."""

"""Random exercises, drills with spaced repetition, and worksheets.

Each kind of exercise has a function that generates a random command line to which the rule of the kind applies. The
dims of a shape are distinct, so that a wrong order of dims is a wrong answer. A drill is a sequence of exercises with
spaced repetition: a kind is repeated soon after a wrong answer, and at increasing intervals after right answers. To
this end, each kind has a card in one of several Leitner boxes. A puzzle is an exercise in which the user writes a chain
of ops. A worksheet has its answers on a separate page.
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
from shapecalc.core.ops.broadcast import BROADCAST
from shapecalc.core.ops.concat import CONCAT, END_TO_END
from shapecalc.core.ops.conv import CONV
from shapecalc.core.ops.einsum import EINSUM, SUMMED
from shapecalc.core.ops.expand import EXPAND
from shapecalc.core.ops.matmul import CONTRACTED, FROM_OPERAND, MATMUL
from shapecalc.core.ops.op import Op
from shapecalc.core.ops.operands import ALIGNED, DIMS_DIFFER, INNER_DIFFERS
from shapecalc.core.ops.pool import POOL
from shapecalc.core.ops.reshape import RESHAPE
from shapecalc.core.ops.shuffle import SHUFFLE
from shapecalc.core.ops.transpose import TAKEN_AXIS, TRANSPOSE
from shapecalc.core.ops.windows import WINDOW_SLIDE, WINDOW_TOO_LARGE
from shapecalc.core.problem import Rule
from shapecalc.core.record import Record, replace
from shapecalc.core.requests import DEFAULT_OPSET, default_dialect
from shapecalc.core.text import escape_unprintable, lookup, shape_text
from shapecalc.reading.commands import chain_text
from shapecalc.teaching import ALL, BUILD, TOPICS, judging
from shapecalc.teaching.judging import Judgement, Task, derivation_text, resolve_command_line

IntegerShape = Sequence[int]

REVIEW_INTERVALS = (2, 4, 8, 16, 32)
"""The number of exercises after which a kind is repeated, for each Leitner box.

A right answer moves the card to the next box, a wrong answer moves it to box 0.
"""
MAX_EQUAL_TEMPLATES = 2
"""The number of exercises of a kind with the same template after which alternatives are generated.

Exercises with the same template differ only in their sizes.
"""
MAX_ALTERNATIVES = 30
"""The maximum number of alternatives that are generated for an exercise."""
SEED_BOUND = 10**6
"""The exclusive upper bound of a generated seed; a short seed is easy to type."""
PREDICT_INSTRUCTION = "Write the output shape, or error if the request is refused."
DRAW_INSTRUCTION = "Where dots face each other, draw a line from each dim to the place where it goes."
BUILD_INSTRUCTION = "Where a task stands in words, write the ops that do it: transpose 1,0 | reshape 6."
DEFAULT_DIALECT = "onnx"
"""The dialect that most ops have by default."""
BLANK = "________________"
DRAWING_BLANK = "[      ]"
"""The placeholder for a dim to fill in, in the picture of a worksheet question."""
WORKSHEET_CSS = """\
@page { margin: 12mm; }
body { font: 12pt/1.5 sans-serif; max-width: 62em; margin: 2em auto; padding: 0 1em; color: #000; background: #fff; }
code { font: 11pt ui-monospace, Menlo, Consolas, monospace; }
ol.questions { columns: 2 24em; column-gap: 2.5em; }
li { break-inside: avoid; margin-bottom: 0.8em; }
svg { display: block; max-width: 100%; height: auto; }
.blank { display: inline-block; min-width: 10em; border-bottom: 1px solid; }
.answers { break-before: page; }"""


MAX_REVIEWS = 2
"""The maximum number of consecutive repetitions before a new kind of exercise."""


class Difficulty(Record):
    """The rank and the maximum dim of the input shapes at a level."""

    rank: int
    """The number of input dims, unless the kind of exercise requires more."""
    largest_dim: int
    """The maximum of an input dim; it is at least `rank + 3`."""


DIFFICULTIES = (Difficulty(2, 6), Difficulty(3, 7), Difficulty(3, 9), Difficulty(4, 9), Difficulty(4, 12))
"""The difficulty of each level, starting with level 1."""
ExerciseGenerator = Callable[[Random, Difficulty], str]
"""A function that returns a random command line."""


class ExerciseKind(Record):
    """A kind of exercise, with the function that generates its command lines."""

    name: str
    topic: str
    first_level: int
    """The level at which this kind is introduced."""
    rule: Rule | None
    """The rule that the user practises, or None for a puzzle."""
    min_rank: int
    """The minimum number of input dims, at any level."""
    generate: ExerciseGenerator
    puzzle: str = ""
    """The description of the chain to write in a puzzle; empty for a prediction."""


class Exercise(Record):
    """A prediction task or a puzzle, with its kind and its level."""

    kind: ExerciseKind
    level: int
    task: Task


KINDS: dict[str, ExerciseKind] = {}
"""All kinds of exercises except puzzles, by name.

The kinds of a topic are ordered by `ExerciseKind.first_level`.
"""


class LeitnerCard(Record):
    """The state of a kind of exercise in the Leitner system."""

    box: int
    due: int
    """The number of the exercise at which the kind is repeated."""


class Worksheet(Record):
    """A worksheet: its questions, notes and answers."""

    title: str
    command: str
    """The command line that generates the same worksheet again."""
    questions: tuple[str, ...]
    answers: tuple[str, ...]
    """The answers with their explanations; empty if the worksheet has no answers."""
    dialects_note: str = ""
    """A sentence that names the dialects of the questions."""
    answers_to_draw: tuple[Trace | Chain | None, ...] = ()
    """For each question, the answer to draw below it with blanks for its output, or None for a puzzle."""


def select_kinds(topics: str) -> tuple[ExerciseKind, ...]:
    """Return the kinds of exercises on some topics, the easiest first.

    The topics are separated by spaces or commas. Raises `ShapeError` (usage) for an unknown topic.

    >>> [kind.name for kind in select_kinds("zero,perm")][:3]
    ['copied', 'from-the-left', 'swapped']
    """
    names = topics.replace(",", " ").split() or [topics]
    for name in names:
        lookup(name, dict.fromkeys(TOPICS), "topic")
    kinds = [kind for kind in KINDS.values() if ALL in names or kind.topic in names]
    kinds += load_puzzles() if BUILD in names else ()
    return tuple(sorted(kinds, key=lambda kind: kind.first_level))


def question_topic(question: str) -> str:
    """Return the topic whose exercises cover the rules of a question.

    If there are several such topics, the easiest one is returned. If there is none, `build` is returned.

    >>> question_topic("reshape 2,3,4 2,-1"), question_topic("reshape 2,3 3,2")
    ('infer', 'build')
    """
    applied = {step.rule for step in resolve_command_line(question).steps}
    return next((kind.topic for kind in KINDS.values() if kind.rule in applied), BUILD)


@cache
def load_puzzles() -> tuple[ExerciseKind, ...]:
    """Load the puzzles as kinds of exercises, the easiest first.

    >>> load_puzzles()[0].puzzle, generate_exercise(load_puzzles()[0], 1, "monday").task.question
    ('which op gives 0 3 1 4 2 5, read row by row', "chain '2,3 | transpose 1,0'")
    """
    lines = files("shapecalc.teaching").joinpath("puzzles.txt").read_text("utf-8").splitlines()
    return tuple(_make_puzzle(at, 1 + at * len(DIFFICULTIES) // len(lines), line) for at, line in enumerate(lines))


def _make_puzzle(number: int, level: int, line: str) -> ExerciseKind:
    words, _, chain = line.partition(": ")
    return ExerciseKind(f"{BUILD}-{number}", BUILD, level, None, 0, lambda *_: f"chain '{chain}'", words)


def generate_exercise(kind: ExerciseKind, level: int, seed: str) -> Exercise:
    """Generate an exercise of a kind; equal seeds give equal exercises.

    The level is clamped to the range from one below the kind's first level to the highest level.

    >>> exercise, again = (generate_exercise(KINDS["inferred"], 1, "monday") for _ in range(2))
    >>> exercise.task.question == again.task.question
    True
    """
    level = kind.first_level if kind.puzzle else max(1, kind.first_level - 1, min(level, len(DIFFICULTIES)))
    difficulty = DIFFICULTIES[level - 1]
    question = kind.generate(Random(seed), Difficulty(max(kind.min_rank, difficulty.rank), difficulty.largest_dim))
    return Exercise(kind, level, Task(question, puzzle=kind.puzzle))


def _register_kind(
    name: str, topic: str, first_level: int, rule: Rule, *, min_rank: int = 2
) -> Callable[[ExerciseGenerator], ExerciseGenerator]:
    """Return a decorator that registers a function as a kind of exercise.

    The kind is added to `KINDS`. `rule` must apply to every command line that the function generates.
    """

    def register(generate: ExerciseGenerator) -> ExerciseGenerator:
        KINDS[name] = ExerciseKind(name, topic, first_level, rule, min_rank, generate)
        return generate

    return register


def _random_shape(random: Random, difficulty: Difficulty) -> list[int]:
    return random.sample(range(2, difficulty.largest_dim + 1), difficulty.rank)


def _format_line(op: Op, shape: Sequence[object], *arguments: object) -> str:
    """Format a command line from an op, an input shape and arguments.

    Lists in `arguments` are formatted as shapes.
    """
    texts = (",".join(map(str, word)) if isinstance(word, list) else str(word) for word in arguments)
    return " ".join([op.name, ",".join(map(str, shape)) or "[]", *texts])


def _split_random_axis(random: Random, shape: IntegerShape) -> list[int]:
    """Return a shape with a random axis split in two.

    If the size of the axis is prime, the axis is merged with the next one instead.
    """
    axis = random.randrange(len(shape) - 1)
    factors = [factor for factor in range(2, shape[axis]) if shape[axis] % factor == 0]
    if not factors:
        return [*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]]
    factor = random.choice(factors)
    return [*shape[:axis], factor, shape[axis] // factor, *shape[axis + 1 :]]


def _random_nondivisor(random: Random, shape: IntegerShape, difficulty: Difficulty) -> int:
    """Return a random small integer that does not divide the element count of a shape."""
    return random.choice([dim for dim in range(2, prod(shape)) if prod(shape) % dim][: difficulty.largest_dim])


def _random_permutation(random: Random, rank: int, accept: Callable[[list[int]], bool]) -> list[int]:
    """Return a random permutation for which `accept` returns true."""
    while not accept(perm := random.sample(range(rank), rank)):
        pass
    return perm


def _random_non_involutory_permutation(random: Random, rank: int) -> list[int]:
    """Return a random permutation that is not its own inverse."""
    return _random_permutation(random, rank, lambda perm: any(perm[perm[axis]] != axis for axis in range(rank)))


@_register_kind("copied", "zero", 1, rules.COPIED_ZERO)
def generate_copied_dims(random: Random, difficulty: Difficulty) -> str:
    """Generate a reshape that copies dims with 0 and splits the last dim."""
    shape = [*_random_shape(random, difficulty), 2 * random.randint(2, difficulty.largest_dim)]
    copied_axis = random.randrange(difficulty.rank)
    target = [0 if axis == copied_axis or random.random() < 0.3 else dim for axis, dim in enumerate(shape[:-1])]
    return _format_line(RESHAPE, shape, [*target, 2, shape[-1] // 2])


@_register_kind("from-the-left", "zero", 1, rules.COPIED_ZERO, min_rank=3)
def generate_copies_after_inferred_dim(random: Random, difficulty: Difficulty) -> str:
    """Generate a reshape to a lower rank, with a -1 before zeros that copy dims."""
    return _format_line(
        RESHAPE, shape := _random_shape(random, difficulty), [-1, *[0] * random.randint(1, len(shape) - 2)]
    )


@_register_kind("out-of-range", "zero", 2, rules.ZERO_OUT_OF_RANGE)
def generate_copy_out_of_range(random: Random, difficulty: Difficulty) -> str:
    """Generate a reshape with a 0 at an index that the input does not have."""
    return _format_line(
        RESHAPE, shape := _random_shape(random, difficulty), [*random.sample(shape, difficulty.rank), 0]
    )


@_register_kind("copied-too-much", "zero", 2, rules.VOLUME_MISMATCH, min_rank=3)
def generate_copy_of_wrong_dim(random: Random, difficulty: Difficulty) -> str:
    """Generate an invalid reshape with a 0 that seems to copy the preceding dim.

    If the 0 copied that dim, the reshape would swap two dims.
    """
    shape = _random_shape(random, difficulty)
    axis = random.randrange(len(shape) - 1)
    return _format_line(RESHAPE, shape, [*shape[:axis], shape[axis + 1], 0, *shape[axis + 2 :]])


@_register_kind("literal", "zero", 3, rules.LITERAL_ZERO)
def generate_literal_zero(random: Random, difficulty: Difficulty) -> str:
    """Generate a reshape of an empty tensor in which 0 is a size."""
    return _format_line(
        RESHAPE, shape := [0, *_random_shape(random, difficulty)], random.sample(shape, len(shape)), "--allowzero"
    )


@_register_kind("literal-beside-infer", "zero", 4, rules.ZERO_BESIDE_INFER)
def generate_literal_zero_with_inferred_dim(random: Random, difficulty: Difficulty) -> str:
    """Generate a reshape of an empty tensor with -1, in which 0 is a size."""
    shape = [0, *_random_shape(random, difficulty)]
    return _format_line(RESHAPE, shape, random.sample([0, -1, *shape[1:-1]], difficulty.rank + 1), "--allowzero")


@_register_kind("inferred", "infer", 1, rules.INFERRED, min_rank=3)
def generate_inferred_dim(random: Random, difficulty: Difficulty) -> str:
    """Generate a reshape with one -1."""
    target = _split_random_axis(random, shape := _random_shape(random, difficulty))
    target[random.randrange(len(target))] = -1
    return _format_line(RESHAPE, shape, target)


@_register_kind("indivisible", "infer", 1, rules.INDIVISIBLE)
def generate_indivisible_reshape(random: Random, difficulty: Difficulty) -> str:
    """Generate a reshape whose -1 has no integer solution."""
    return _format_line(
        RESHAPE,
        shape := _random_shape(random, difficulty),
        random.sample([_random_nondivisor(random, shape, difficulty), -1], 2),
    )


@_register_kind("two-holes", "infer", 2, rules.TWO_INFERS)
def generate_two_inferred_dims(random: Random, difficulty: Difficulty) -> str:
    """Generate a reshape with two -1."""
    return _format_line(
        RESHAPE, shape := _random_shape(random, difficulty), random.sample([-1, -1, random.choice(shape)], 3)
    )


@_register_kind("beside-copies", "infer", 2, rules.INFERRED, min_rank=3)
def generate_inferred_dim_with_copies(random: Random, difficulty: Difficulty) -> str:
    """Generate a reshape with a -1, and a 0 that copies a dim."""
    shape = _random_shape(random, difficulty)
    copied_axis = random.randrange(len(shape) - 1)
    target: list[int] = [0 if axis == copied_axis else dim for axis, dim in enumerate(shape[:-2])]
    return _format_line(RESHAPE, shape, [*target, 0, -1] if copied_axis == len(shape) - 2 else [*target, -1])


@_register_kind("below-minus-one", "infer", 3, rules.BELOW_MINUS_ONE)
def generate_entry_below_minus_one(random: Random, difficulty: Difficulty) -> str:
    """Generate a reshape with an invalid size below -1."""
    return _format_line(RESHAPE, shape := _random_shape(random, difficulty), [-random.randint(2, 4), *shape[1:]])


@_register_kind("with-names", "infer", 4, rules.INFERRED, min_rank=3)
def generate_inferred_dim_with_names(random: Random, difficulty: Difficulty) -> str:
    """Generate a reshape with a -1 and a symbolic batch size."""
    first, *rest = _random_shape(random, difficulty)
    known = random.choice(rest)
    target: list[int] = random.choice([[0, -1], [0, -1, known], [-1, first * known], [-1, known]])
    return _format_line(RESHAPE, ["N", first, *rest], target)


@_register_kind("of-nothing", "infer", 4, rules.ZERO_VOLUME_INFER)
def generate_inferred_dim_with_copied_zero(random: Random, difficulty: Difficulty) -> str:
    """Generate a reshape of an empty tensor with a -1, and a 0 that copies a 0."""
    return _format_line(RESHAPE, [0, *_random_shape(random, difficulty)], [0, -1])


@_register_kind("swapped", "perm", 1, TAKEN_AXIS)
def generate_axis_swap(random: Random, difficulty: Difficulty) -> str:
    """Generate a transpose that swaps two axes."""
    one, other = random.sample(range(difficulty.rank), 2)
    perm = [*range(difficulty.rank)]
    perm[one], perm[other] = other, one
    return _format_line(TRANSPOSE, _random_shape(random, difficulty), perm)


@_register_kind("cycled", "perm", 1, TAKEN_AXIS, min_rank=3)
def generate_cyclic_transpose(random: Random, difficulty: Difficulty) -> str:
    """Generate a transpose whose permutation is not its own inverse."""
    return _format_line(
        TRANSPOSE, _random_shape(random, difficulty), _random_non_involutory_permutation(random, difficulty.rank)
    )


@_register_kind("no-permutation", "perm", 2, rules.NOT_A_PERMUTATION, min_rank=3)
def generate_invalid_permutation(random: Random, difficulty: Difficulty) -> str:
    """Generate a transpose with a repeated or a missing axis."""
    perm = _random_non_involutory_permutation(random, difficulty.rank)
    return _format_line(TRANSPOSE, _random_shape(random, difficulty), random.choice([[*perm[:-1], perm[0]], perm[:-1]]))


@_register_kind("negative", "perm", 3, TAKEN_AXIS, min_rank=3)
def generate_transpose_with_negative_axis(random: Random, difficulty: Difficulty) -> str:
    """Generate a transpose with a negative axis, in NumPy or PyTorch."""
    line = generate_onnx_transpose_with_negative_axis(random, difficulty)
    return f"{line} --dialect {random.choice(['numpy', 'torch'])}"


@_register_kind("negative-in-onnx", "perm", 4, rules.NEGATIVE_AXIS, min_rank=3)
def generate_onnx_transpose_with_negative_axis(random: Random, difficulty: Difficulty) -> str:
    """Generate a transpose with a negative axis, which ONNX refuses."""
    perm = [
        axis - difficulty.rank if axis == difficulty.rank - 1 else axis
        for axis in _random_non_involutory_permutation(random, difficulty.rank)
    ]
    return _format_line(TRANSPOSE, _random_shape(random, difficulty), perm)


@_register_kind("shuffled", SHUFFLE.name, 1, rules.COPIED_ZERO, min_rank=3)
def generate_shuffle(random: Random, difficulty: Difficulty) -> str:
    """Generate a TensorRT Shuffle that copies a dim after the first transpose."""
    shape, perm = (
        _random_shape(random, difficulty),
        _random_permutation(random, difficulty.rank, lambda perm: perm[0] != 0),
    )
    return _format_line(SHUFFLE, shape, "--first", perm, "--to", [0, -1])


@_register_kind("shuffled-second", SHUFFLE.name, 2, TAKEN_AXIS, min_rank=3)
def generate_shuffle_with_second_transpose(random: Random, difficulty: Difficulty) -> str:
    """Generate a TensorRT Shuffle with a reshape and the second transpose."""
    shape = _random_shape(random, difficulty)
    return _format_line(SHUFFLE, shape, "--to", [0, 0, -1], "--second", random.choice([[1, 2, 0], [2, 0, 1]]))


@_register_kind("shuffled-twice", SHUFFLE.name, 3, rules.INFERRED, min_rank=3)
def generate_three_stage_shuffle(random: Random, difficulty: Difficulty) -> str:
    """Generate a TensorRT Shuffle with both transposes and the reshape."""
    shape, perm = _random_shape(random, difficulty), _random_non_involutory_permutation(random, difficulty.rank)
    second = random.choice([[1, 2, 0], [2, 0, 1], [0, 2, 1], [2, 1, 0]])
    target = [0, shape[perm[1]], -1]
    return _format_line(SHUFFLE, shape, "--first", perm, "--to", target, "--second", second)


@_register_kind("shuffled-unevenly", SHUFFLE.name, 3, rules.INDIVISIBLE, min_rank=3)
def generate_indivisible_shuffle(random: Random, difficulty: Difficulty) -> str:
    """Generate a TensorRT Shuffle whose -1 has no integer solution."""
    shape = _random_shape(random, difficulty)
    known = _random_nondivisor(random, shape, difficulty)
    return _format_line(
        SHUFFLE, shape, "--first", _random_non_involutory_permutation(random, difficulty.rank), "--to", [known, -1]
    )


def _replace_some_by_one(random: Random, shape: IntegerShape) -> list[int]:
    ones = {*random.sample(range(len(shape)), random.randint(1, len(shape) - 1))}
    return [1 if axis in ones else dim for axis, dim in enumerate(shape)]


@_register_kind("stretched", BROADCAST.name, 1, rules.STRETCHED)
def generate_expand_of_ones(random: Random, difficulty: Difficulty) -> str:
    """Generate an expand of dims of size 1."""
    return _format_line(EXPAND, _replace_some_by_one(random, shape := _random_shape(random, difficulty)), shape)


@_register_kind("new-dims", BROADCAST.name, 1, rules.NEW_DIM, min_rank=3)
def generate_expand_with_new_dims(random: Random, difficulty: Difficulty) -> str:
    """Generate an expand that adds dims."""
    return _format_line(EXPAND, _replace_some_by_one(random, (target := _random_shape(random, difficulty))[1:]), target)


@_register_kind("no-broadcast", BROADCAST.name, 2, rules.NOT_BROADCASTABLE)
def generate_refused_expand(random: Random, difficulty: Difficulty) -> str:
    """Generate an expand to a size that is incompatible with the input dim."""
    target = _random_shape(random, difficulty)
    axis = random.randrange(len(target))
    return _format_line(EXPAND, [*target[:axis], target[axis] + 1, *target[axis + 1 :]], target)


@_register_kind("both-ways", BROADCAST.name, 2, rules.STRETCHED, min_rank=3)
def generate_two_way_expand(random: Random, difficulty: Difficulty) -> str:
    """Generate an ONNX expand with a dim of 1 in both the input and the target.

    In ONNX, an expand broadcasts both shapes.
    """
    shape = _random_shape(random, difficulty)
    stretched_axis = random.randrange(len(shape))
    input_shape = [1 if axis == stretched_axis else dim for axis, dim in enumerate(shape)]
    target = [dim if axis == stretched_axis else 1 for axis, dim in enumerate(shape)]
    return _format_line(EXPAND, input_shape, target)


@_register_kind("one-way", BROADCAST.name, 3, rules.NOT_BROADCASTABLE)
def generate_one_way_expand(random: Random, difficulty: Difficulty) -> str:
    """Generate an invalid expand to size 1 from a larger dim, in PyTorch or NumPy."""
    shape = _random_shape(random, difficulty)
    return _format_line(
        EXPAND, shape, _replace_some_by_one(random, shape), "--dialect", random.choice(["torch", "numpy"])
    )


@_register_kind("kept-by-minus-one", BROADCAST.name, 3, rules.KEPT_DIM, min_rank=3)
def generate_expand_with_minus_one(random: Random, difficulty: Difficulty) -> str:
    """Generate a PyTorch expand with a -1, which keeps the input dim."""
    target = _random_shape(random, difficulty)
    input_shape = _replace_some_by_one(random, target)
    kept_axis = next(axis for axis, dim in enumerate(input_shape) if dim != 1)
    requested = [-1 if axis == kept_axis else dim for axis, dim in enumerate(target)]
    return _format_line(EXPAND, input_shape, requested, "--dialect torch")


@_register_kind("negative-size", BROADCAST.name, 4, rules.NEGATIVE_SIZE)
def generate_expand_with_negative_size(random: Random, difficulty: Difficulty) -> str:
    """Generate an ONNX expand with a -1, which ONNX refuses."""
    shape = _random_shape(random, difficulty)
    return _format_line(EXPAND, [1, *shape[1:]], [shape[0], *[-1] * (difficulty.rank - 1)])


@_register_kind("aligned", "operands", 1, ALIGNED)
def generate_broadcast(random: Random, difficulty: Difficulty) -> str:
    """Generate a broadcast of operands that have dims of 1 on different axes."""
    stretched_axis, shape = random.randrange(1, difficulty.rank), _random_shape(random, difficulty)
    input_shape = [1 if axis == stretched_axis else dim for axis, dim in enumerate(shape)]
    other = [dim if axis == stretched_axis else random.choice([1, dim]) for axis, dim in enumerate(shape)]
    return _format_line(BROADCAST, input_shape, other[random.randint(0, stretched_axis) :])


@_register_kind("product", "operands", 1, CONTRACTED)
def generate_matmul(random: Random, difficulty: Difficulty) -> str:
    """Generate the product of a stack of matrices and a single matrix."""
    *front, inner = _random_shape(random, difficulty)
    return _format_line(MATMUL, [*front, inner], [inner, random.randint(2, difficulty.largest_dim)])


@_register_kind("end-to-end", "operands", 1, END_TO_END)
def generate_concat(random: Random, difficulty: Difficulty) -> str:
    """Generate a concatenation of operands whose shapes differ only along the concatenated axis."""
    shape, axis = _random_shape(random, difficulty), random.randrange(difficulty.rank)
    other = [*shape[:axis], random.randint(2, difficulty.largest_dim), *shape[axis + 1 :]]
    return _format_line(CONCAT, shape, other, "--axis", axis)


@_register_kind("summed", "operands", 2, SUMMED)
def generate_einsum(random: Random, difficulty: Difficulty) -> str:
    """Generate an einsum of two operands that share labels."""
    pattern = random.choice(["ij,jk->ik", "ij,kj->ki", "bij,bjk->bik", "bij,bij->b", "bhqd,bhkd->bhqk"])
    sizes = dict(
        zip(sorted({*pattern} - {*",->"}), random.sample(range(2, difficulty.largest_dim + 1), 5), strict=False)
    )
    one, other = ([sizes[letter] for letter in term] for term in pattern.partition("->")[0].split(","))
    return " ".join([EINSUM.name, pattern, *[",".join(map(str, dims)) for dims in (one, other)]])


@_register_kind("not-aligned", "operands", 2, rules.NOT_BROADCASTABLE)
def generate_refused_broadcast(random: Random, difficulty: Difficulty) -> str:
    """Generate a broadcast that would be valid only for left-aligned shapes."""
    return _format_line(BROADCAST, shape := _random_shape(random, difficulty), shape[:-1])


@_register_kind("transposed-weight", "operands", 2, INNER_DIFFERS)
def generate_matmul_with_transposed_weight(random: Random, difficulty: Difficulty) -> str:
    """Generate an invalid matrix product, whose second operand is transposed."""
    *_, rows, inner = shape = _random_shape(random, difficulty)
    return _format_line(MATMUL, shape, [rows, inner])


@_register_kind("differing", "operands", 2, DIMS_DIFFER)
def generate_refused_concat(random: Random, difficulty: Difficulty) -> str:
    """Generate an invalid concatenation of operands that differ along another axis."""
    shape, axis = _random_shape(random, difficulty), random.randrange(difficulty.rank)
    return _format_line(CONCAT, shape, [dim + (other != axis) for other, dim in enumerate(shape)], "--axis", axis)


@_register_kind("stacked-matrices", "operands", 3, FROM_OPERAND)
def generate_matmul_of_stacks(random: Random, difficulty: Difficulty) -> str:
    """Generate a product of two stacks of matrices whose batch dims broadcast."""
    rows, inner, columns, count = random.sample(range(2, difficulty.largest_dim), 4)
    stacks = random.choice([([count, 1], [count]), ([1], [count]), ([count], [])])
    return _format_line(MATMUL, [*stacks[0], rows, inner], [*stacks[1], inner, columns])


@_register_kind("windows", "operands", 3, WINDOW_SLIDE, min_rank=4)
def generate_pool(random: Random, difficulty: Difficulty) -> str:
    """Generate a pool with or without padding."""
    kernel, stride = random.choice([(2, 2), (3, 1), (3, 2), (4, 2), (5, 3)])
    shape = [
        *random.sample(range(2, difficulty.largest_dim), 2),
        *random.sample(range(kernel, kernel + difficulty.largest_dim), 2),
    ]
    return _format_line(POOL, shape, kernel, "--stride", stride, *random.choice([(), ("--padding", kernel // 2)]))


@_register_kind("filters", "operands", 3, WINDOW_SLIDE, min_rank=4)
def generate_convolution(random: Random, difficulty: Difficulty) -> str:
    """Generate a convolution without groups."""
    kernel, stride = random.choice([(1, 1), (3, 1), (3, 2), (5, 2)])
    batch, channels, filters = random.sample(range(2, difficulty.largest_dim), 3)
    shape = [batch, channels, *random.sample(range(kernel + 1, kernel + difficulty.largest_dim), 2)]
    return _format_line(CONV, shape, [filters, channels, kernel, kernel], "--stride", stride, "--padding", kernel // 2)


@_register_kind("too-large-windows", "operands", 4, WINDOW_TOO_LARGE, min_rank=4)
def generate_pool_with_large_window(random: Random, difficulty: Difficulty) -> str:
    """Generate a pool with a dilated window that exceeds every spatial axis."""
    dilation = random.choice([1, 2, 3])
    shape = [*random.sample(range(2, difficulty.largest_dim), 2), *random.sample(range(4, 4 + 3 * dilation), 2)]
    return _format_line(POOL, shape, max(shape[2:]) // dilation + 2, "--dilation", dilation)


def random_seed() -> str:
    """Return a random seed."""
    return str(SystemRandom().randrange(SEED_BOUND))


class Drill:
    """A sequence of exercises with spaced repetition.

    The order and the levels of the exercises depend on the answers of the user. The nth exercise of a kind at a level
    depends only on the seed.

    >>> drill = Drill("infer", "monday")
    >>> first = drill.exercise
    >>> drill.record_answer(right=False)
    0
    >>> drill.exercise == first, drill.answered, drill.right
    (False, 1, 0)
    """

    def __init__(self, topics: str, seed: str, boxes: Mapping[str, int] = MappingProxyType({})) -> None:
        """Generate the first exercise.

        `boxes` maps kinds of exercises to their Leitner boxes.
        """
        self._kinds = {kind.name: kind for kind in select_kinds(topics)}
        self._cards = {name: card for name, card in restore_cards(boxes).items() if name in self._kinds}
        self._exercise_counts = dict.fromkeys(self._kinds, 0)
        self._template_counts = {name: Counter[str]() for name in self._kinds}
        self._seed = seed
        self._history = DrillHistory()
        self._misses = Counter[str]()
        """The number of wrong answers to each kind since its last right answer."""
        self.answered = self.right = self.streak = 0
        self.exercise = self._generate_next()

    def _generate_next(self) -> Exercise:
        kind = self._kinds[next_kind_name(self._kinds, self._cards, self.answered, self._history)]
        card, reviews = self._cards.get(kind.name), self._history.reviews
        topics = (*self._history.topics, kind.topic)
        self._history = replace(self._history, topics=topics, reviews=0 if card is None else reviews + 1)
        self._exercise_counts[kind.name] += 1
        level = kind.first_level + (card.box if card else 0) - (self._misses[kind.name] > 1)
        seed = f"{self._seed}/{kind.name}/{self._exercise_counts[kind.name]}"
        exercise, counts = generate_exercise(kind, level, seed), self._template_counts[kind.name]
        if counts[exercise.task.template] >= MAX_EQUAL_TEMPLATES:
            others = (
                generate_exercise(kind, level + number // 10, f"{seed}/{number}") for number in range(MAX_ALTERNATIVES)
            )
            exercise = min((exercise, *others), key=lambda candidate: counts[candidate.task.template])
        counts[exercise.task.template] += 1
        return exercise

    def record_answer(self, *, right: bool) -> int:
        """Record an answer, and generate the next exercise.

        Returns the new Leitner box of the kind that was answered.
        """
        name = self.exercise.kind.name
        # a solved puzzle is repeated after the longest interval, because it has no random parts
        previous = LeitnerCard(len(REVIEW_INTERVALS), 0) if self.exercise.kind.puzzle else self._cards.get(name)
        card = self._cards[name] = next_card(previous, self.answered, right=right)
        self._misses[name] = 0 if right else self._misses[name] + 1
        if right:
            topic, level = self.exercise.kind.topic, self.exercise.kind.first_level
            levels = self._history.right_levels
            self._history = replace(self._history, right_levels={**levels, topic: max(level, levels.get(topic, 0))})
        self.answered += 1
        self.right += right
        self.streak = self.streak + 1 if right else 0
        self.exercise = self._generate_next()
        return card.box

    def __str__(self) -> str:
        return f"{self.right} of {self.answered} right, streak {self.streak}"


def judge_answer(exercise: Exercise, typed: str) -> Judgement:
    """Judge the answer to an exercise.

    The feedback on a wrong answer names the common mistake that leads to it, if there is one. The solution is the right
    answer with its derivation. Invalid and empty answers are wrong.

    >>> judge_answer(Exercise(KINDS["inferred"], 1, Task("reshape 2,3,4 2,-1")), "2,6").lines
    ['it is 2,12: -1 = 24 / 2 = 12 [infer]']
    >>> judge_answer(Exercise(KINDS["inferred"], 1, Task("reshape 2,3,4 0,-1")), "").lines
    ['it is 2,12: the 0 at index 0 copies dim 0, which is 2; -1 = 24 / 2 = 12 [infer]']
    """
    answer = judging.resolve_command_line(exercise.task.question)
    solution = f"{'one way is' if exercise.task.puzzle else 'it is'} {_answer_text(exercise, answer, 'refused')}"
    if not typed.strip():
        return Judgement(False, "", solution)
    if problem := judging.invalid_reason(exercise.task, typed):
        return Judgement(False, problem, solution)
    if exercise.task.puzzle:
        mistake = judging.find_chain_mistake(exercise.task, typed)
        return Judgement(False, mistake.sentence, solution) if mistake else Judgement(True, "")
    prediction = judging.parse_prediction(typed)
    if prediction == judging.extract_prediction(exercise.task, answer):
        return Judgement(True, "")
    mistake = judging.find_mistake(exercise.task, answer, prediction)
    return Judgement(False, mistake.sentence if mistake else "", solution)


def generate_exercises(topics: str, seed: str, count: int) -> Iterator[Exercise]:
    """Yield exercises on alternating topics.

    The exercises on each topic are those of a drill in which every answer is right. Raises `ShapeError` (usage) for an
    unknown topic.
    """
    drills = [Drill(topic, seed) for topic in dict.fromkeys(kind.topic for kind in select_kinds(topics))]
    for _, drill in zip(range(count), cycle(drills), strict=False):
        yield drill.exercise
        drill.record_answer(right=True)


class DrillHistory(Record):
    """The past exercises of a drill, on which the next exercise depends."""

    topics: tuple[str, ...] = ()
    """The topic of each past exercise."""
    right_levels: Mapping[str, int] = MappingProxyType({})
    """For each topic, the highest first level among the kinds that were answered correctly."""
    reviews: int = 0
    """The number of repetitions since the last new kind."""


def next_kind_name(
    kinds: Mapping[str, ExerciseKind], cards: Mapping[str, LeitnerCard], number: int, history: DrillHistory
) -> str:
    """Return the name of the kind for the next exercise of a drill.

    `number` is the number of the exercise. The kind that has been due for the longest time is repeated first. After
    `MAX_REVIEWS` repetitions, or if no kind is due, a new kind on the topic with the fewest exercises follows. A kind
    at level n + 1 is available only after a right answer at level n. With several topics, a topic occurs at most twice
    in a row.

    >>> cards = {"copied": LeitnerCard(1, 4), "inferred": LeitnerCard(0, 3)}
    >>> kinds = {name: KINDS[name] for name in ("copied", "inferred", "swapped")}
    >>> [next_kind_name(kinds, cards, number, DrillHistory(("zero", "infer"))) for number in (2, 3)]
    ['swapped', 'inferred']
    """
    last_two = {*history.topics[-2:]}
    last = last_two.pop() if len(history.topics) > 1 and len(last_two) == 1 else None
    allowed = [name for name, kind in kinds.items() if kind.topic != last] or [*kinds]
    met = Counter(history.topics)
    due = sorted((name for name in allowed if name in cards and cards[name].due <= number), key=lambda n: cards[n].due)
    if due and history.reviews < MAX_REVIEWS:
        return due[0]
    first = {kind.topic: kind.first_level for kind in reversed([*kinds.values()])}
    new = [
        name
        for name in allowed
        if name not in cards
        and kinds[name].first_level <= max(first[kinds[name].topic], 1 + history.right_levels.get(kinds[name].topic, 0))
    ]
    candidates = new or due or [name for name in allowed if name in cards] or allowed
    return min(candidates, key=lambda name: (met[kinds[name].topic], cards[name].due if name in cards else 0))


def next_card(card: LeitnerCard | None, number: int, *, right: bool) -> LeitnerCard:
    """Return the Leitner card of a kind after the answer to exercise `number`.

    >>> next_card(LeitnerCard(2, 5), 7, right=True), next_card(LeitnerCard(2, 5), 7, right=False)
    (LeitnerCard(box=3, due=23), LeitnerCard(box=0, due=9))
    """
    box = min((card.box if card else 0) + 1, len(REVIEW_INTERVALS) - 1) if right else 0
    return LeitnerCard(box, number + REVIEW_INTERVALS[box])


def restore_cards(boxes: Mapping[str, int]) -> dict[str, LeitnerCard]:
    """Create the Leitner cards of kinds of exercises from their saved boxes.

    Kinds in box 0 are due at once.

    >>> restore_cards({"copied": 0, "literal": 2})
    {'copied': LeitnerCard(box=0, due=0), 'literal': LeitnerCard(box=2, due=8)}
    """
    valid = {name: max(0, min(box, len(REVIEW_INTERVALS) - 1)) for name, box in boxes.items()}
    return {name: LeitnerCard(box, REVIEW_INTERVALS[box] if box else 0) for name, box in valid.items()}


def make_worksheet(exercises: Iterable[Exercise], topics: str, seed: str, *, with_answers: bool) -> Worksheet:
    """Make a worksheet of exercises, with their answers if `with_answers`."""
    tasks = [*exercises]
    note = f"shapecalc drill {topics} --print {len(tasks)} --seed {seed}"
    right = tuple(resolve_command_line(one.task.question) for one in tasks)
    texts = tuple(_answer_text(*pair) for pair in zip(tasks, right, strict=True) if with_answers)
    questions = tuple(one.task.text for one in tasks)
    dialects = dialects_note([one.task.question for one in tasks])
    pictured = tuple(None if one.task.puzzle else answer for one, answer in zip(tasks, right, strict=True))
    return Worksheet(f"Shapes: {', '.join(topics.split())}", note, questions, texts, dialects, pictured)


def dialects_note(questions: Sequence[str]) -> str:
    """Describe the dialects of the questions, and the numbering of dims.

    >>> dialects_note(["reshape 2,3 0,-1", "shuffle 2,3 --to -1", "transpose 2,3 1,0 --dialect torch"])
    'Rules of ONNX (opset 25); for shuffle, those of tensorrt; where it is named, torch. Dims are counted from 0.'
    """
    named = {question.rpartition("--dialect ")[2].split()[0] for question in questions if "--dialect" in question}
    ops = {
        trace.op
        for question in questions
        if "--dialect" not in question
        for trace in resolve_command_line(question).traces
    }
    special = {op: default_dialect(op) for op in sorted(ops) if default_dialect(op) != DEFAULT_DIALECT}
    parts = [f"of {DEFAULT_DIALECT.upper()} (opset {DEFAULT_OPSET})"] if ops - {*special} else []
    parts += [f"for {op}, those of {dialect}" for op, dialect in special.items()]
    parts += [f"where it is named, {' or '.join(sorted(named))}"] if named else []
    return f"Rules {'; '.join(parts)}. Dims are counted from 0."


def _answer_text(exercise: Exercise, answer: Trace | Chain, refusal_word: str = judging.REFUSAL_WORDS[0]) -> str:
    """Format the right answer to an exercise, with its derivation and its rule.

    The answer to a puzzle is a chain, without a derivation.
    """
    if exercise.task.puzzle:
        return chain_text(answer)
    rule = answer.problem.rule if answer.problem else exercise.kind.rule
    output = refusal_word if answer.output is None else shape_text(answer.output)
    return escape_unprintable(f"{output}: {derivation_text(answer)} [{rule}]")


def worksheet_text(sheet: Worksheet) -> str:
    """Format a worksheet as plain text.

    >>> print(worksheet_text(Worksheet("Shapes: infer", "shapecalc drill", ("reshape 2,3 -1",), ("6",))))
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
    return "\n".join([sheet.title, *_instructions(sheet), "", *questions, *answers, sheet.command])


def _instructions(sheet: Worksheet) -> list[str]:
    """Return the lines above the questions of a worksheet."""
    has_puzzles = None in sheet.answers_to_draw
    sentences = (
        (PREDICT_INSTRUCTION, not has_puzzles or any(sheet.answers_to_draw)),
        (BUILD_INSTRUCTION, has_puzzles),
        (sheet.dialects_note, sheet.dialects_note),
    )
    return [sentence for sentence, is_needed in sentences if is_needed]


def worksheet_html(sheet: Worksheet) -> str:
    """Format a worksheet as a self-contained HTML page.

    When the page is printed, the answers start on a new sheet.
    """
    from shapecalc.render.canvas import UNICODE

    blank = '<span class="blank">&nbsp;</span>'
    questions = [
        f"<li><code>{escape(text)}</code> &rarr; {blank}{_render_svg(text, answer)}</li>"
        for text, answer in zip_longest(sheet.questions, sheet.answers_to_draw)
    ]
    joining = [DRAW_INSTRUCTION] if any(UNICODE.junction in question for question in questions) else []
    items = [f"<li>{escape(text)}</li>" for text in sheet.answers]
    answers = ['<section class="answers">', "<h2>Answers</h2>", "<ol>", *items, "</ol>", "</section>"] if items else []
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">',
            f'<head><meta charset="utf-8"><title>{escape(sheet.title)}</title>',
            f"<style>\n{WORKSHEET_CSS}\n</style></head>",
            f"<body>\n<h1>{escape(sheet.title)}</h1>\n<p>Name {blank} Date {blank}</p>",
            *(f"<p>{escape(sentence)}</p>" for sentence in [*_instructions(sheet), *joining]),
            *('<ol class="questions">', *questions, "</ol>"),
            *answers,
            f"<footer><code>{escape(sheet.command)}</code></footer>\n</body>\n</html>",
        ]
    )


def _render_svg(question: str, answer: Trace | Chain | None) -> str:
    """Render the picture of a question as SVG, with blanks for the output dims.

    Returns an empty string if `answer` is None.
    """
    from rich.text import Text

    from shapecalc.render.files import render_svg
    from shapecalc.render.pictures import draw_request
    from shapecalc.render.step import draw_unconnected_dims

    if answer is None:
        return ""
    drawing = draw_unconnected_dims(answer, DRAWING_BLANK) or draw_request(answer, placeholder=DRAWING_BLANK)
    return "\n" + render_svg(Text(drawing.plain), question, "light")


FORMATTERS: Mapping[str, Callable[[Worksheet], str]] = {"text": worksheet_text, "html": worksheet_html}
"""The functions that format a worksheet, by format."""
FORMATS_BY_SUFFIX = {".txt": "text", ".html": "html", ".htm": "html"}
"""The format of a worksheet file, by the suffix of its name."""

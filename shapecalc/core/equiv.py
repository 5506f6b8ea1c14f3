"""Equivalence of two chains, proved under conditions or disproved by an element.

Two chains are the same function if the views of their outputs read the same elements of the input, and if both are
defined for the same sizes. A proof holds for all sizes. Without one, small sizes are tried, and conditions that fit the
results are assumed and proved in turn.

Chains may be given as texts. The second may begin with `|`, and then has the input of the first. A chain without a
stage returns its input.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import accumulate, combinations, islice
from operator import mul

from shapecalc.core import dims
from shapecalc.core.answers import Chain, Trace, moves_of
from shapecalc.core.ask import check_names_known
from shapecalc.core.commands import read_chain
from shapecalc.core.conditions import Condition, Conditions, Known, Never, Undecided, combine, divides, equal, holds
from shapecalc.core.examples import ascending_sizes, multiplied_sizes
from shapecalc.core.fixing import STILL, answer_chain
from shapecalc.core.layout import Moves, View, position, positions
from shapecalc.core.limits import MOST_ELEMENTS
from shapecalc.core.moves import Combine, Index, Roll, unravel
from shapecalc.core.problem import ShapeError, misuse
from shapecalc.core.record import Choice, FrozenDict, Record, replace
from shapecalc.core.resolve import ask_chain
from shapecalc.core.results import put_in, settled
from shapecalc.core.text import shape_text

Stages = tuple[tuple[str, Mapping[str, object]], ...]

BLOCK = 4096
"""The number of elements that are compared at once.

Before all are computed, the first elements, one per block, are compared one by one.
"""


MOST_TRIED = 24
"""The most choices of sizes that are tried from one start."""

MOST_PUT_IN = 4000
"""The most dims into which sizes from one start are substituted."""

MOST_PROVED = 20_000
"""The most candidate conditions times squared dims; a proof takes quadratic time."""


class Verdict(Choice):
    """Whether two chains are the same function."""

    SAME = "same"
    SAME_WHEN = "same-when"
    DIFFERENT = "different"
    UNDECIDED = "undecided"


class Counterexample(Record):
    """Sizes at which two chains differ, and the first output element that differs."""

    sizes: Mapping[str, int]
    outputs: tuple[dims.Shape, dims.Shape]
    """The output shapes of the two chains."""
    index: Index | None = None
    """The index in both outputs; None if their shapes differ."""
    elements: tuple[int, int] | None = None
    """The flat input index that each chain reads there; None if the shapes differ."""

    def __str__(self) -> str:
        sizes = ",".join(f"{name.replace('?', 'unknown ')}={size}" for name, size in self.sizes.items())
        prefix = f"with {sizes}, " if sizes else ""
        if self.index is None or self.elements is None:
            return f"{prefix}the outputs are {' and '.join(map(shape_text, self.outputs))}"
        one, other = self.elements
        return f"{prefix}at [{shape_text(self.index)}] the first has input element {one}, the second has {other}"


class Equivalence(Record):
    """A verdict on whether two chains are the same function, with its reasons."""

    verdict: Verdict
    conditions: tuple[Conditions, ...] = ()
    """Alternative lists of conditions under which they are the same.

    Empty for other verdicts than `same-when`.
    """
    defined: tuple[Conditions, Conditions] = ((), ())
    """The conditions under which each chain is defined."""
    counterexample: Counterexample | None = None
    """A difference; None if no sizes with a difference are known."""
    tested: int = 0
    """The number of choices of sizes that were tried."""
    by_shape: bool = False
    """Whether only shapes were compared, because a chain computes elements."""

    def __str__(self) -> str:
        """Return the verdict in words, with its conditions."""
        if self.verdict is not Verdict.SAME_WHEN:
            return str(self.verdict.value)
        alternatives = [" and ".join(condition.words for condition in conditions) for conditions in self.conditions]
        return f"same when {', or when '.join(alternatives)}"

    @property
    def reasons(self) -> tuple[str, ...]:
        """Sentences on the domain of each chain, and on the difference or the tests."""
        pairs = zip(("first", "second"), self.defined, strict=True)
        reasons = [f"the {which} is defined when {each.words}" for which, conditions in pairs for each in conditions]
        if self.counterexample:
            reasons.append(str(self.counterexample))
        elif self.verdict is Verdict.UNDECIDED and self.by_shape:
            reasons.append("products, windows and joins are compared by their shapes alone, and these are the same")
        elif self.verdict is Verdict.UNDECIDED:
            sizes = "one choice of sizes" if self.tested == 1 else f"{self.tested} choices of sizes"
            reasons.append(f"no difference at {sizes}" if self.tested else "too many elements to compare")
        return tuple(reasons)

    def as_json(self) -> dict[str, object]:
        """Return the equivalence as the JSON object that the manual documents."""
        counterexample = self.counterexample
        return {
            "verdict": self.verdict.value,
            "conditions": [[*map(str, conditions)] for conditions in self.conditions],
            "defined": [[*map(str, conditions)] for conditions in self.defined],
            "counterexample": counterexample
            and {name: dims.plain(getattr(counterexample, name)) for name in ("sizes", "index", "elements", "outputs")},
            "tested": self.tested,
            "problem": None,
        }


class Asked(Record):
    """A parsed chain without an answer: its input, and its stages with their options."""

    input: str | Iterable[object]
    stages: Stages


def volume(chain: Moves) -> int:
    """Return the largest element count among the shapes of a numeric chain."""
    return max(int(str(dims.product(shape))) for shape in chain.shapes)


def difference(first: Moves, second: Moves, sizes: Mapping[str, int], *, lined_up: bool) -> Counterexample | None:
    """Return the first difference of two numeric chains; None if they are equal.

    `are_strided` states that both views are strided: no axes mix or roll.

    >>> import shapecalc as sc
    >>> from shapecalc.core.equiv import moves_of
    >>> first, second = moves_of(sc.transpose((2, 2))), moves_of(sc.flip((2, 2), 0))
    >>> print(difference(first, second, {}, lined_up=True))
    at [0,0] the first has input element 0, the second has 2
    """
    outputs = first.output, second.output
    if outputs[0] != outputs[1]:
        return Counterexample(sizes, outputs)
    with suppress(Undecided):
        known = Known()
        ours, theirs = first.view(known), second.view(known)
        if ours == theirs:
            return None
    for index, elements in _corners(first, second, ours, theirs) if lined_up else _compared(first, second):
        if elements[0] != elements[1]:
            return Counterexample(sizes, outputs, unravel(index, outputs[0]), elements)
    return None


def _compared(first: Moves, second: Moves) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield output indices with the input elements that both chains read there.

    The first indices, as many as there are blocks, are followed by all indices of blocks that differ.
    """
    volumes = [int(str(dims.product(shape))) for shape in (first.input, first.output)]
    for index in range(volumes[1] // BLOCK):
        yield index, (position(first, index), position(second, index))
    elements = array("q", range(volumes[0]))
    one, other = positions(first, elements), positions(second, elements)
    for start in range(0, volumes[1], BLOCK):
        block, other_block = one[start : start + BLOCK], other[start : start + BLOCK]
        if block != other_block:
            yield from enumerate(zip(block, other_block, strict=True), start)


def _corners(first: Moves, second: Moves, ours: View, theirs: View) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield the output index at which each atom begins, with both input elements.

    Strided views that differ at all differ at one of these. The first difference that is yielded is the first of all.
    """
    corners, inner = [0], 1
    for size, *axes in zip(first.output[::-1], ours.axes[::-1], theirs.axes[::-1], strict=True):
        inner_sizes = [[int(str(atom.size)) for atom in axis[:0:-1]] for axis in axes if axis]
        corners += sorted({inner * count for sizes in inner_sizes for count in accumulate(sizes, mul, initial=1)})
        inner *= int(str(size))
    for index in corners:
        yield index, (position(first, index), position(second, index))


def asked_chain(text: str, shape: object = None) -> Asked:
    """Parse a chain; one that begins with `|` has the input `shape`.

    Raises `ShapeError` (usage) if it cannot be parsed.

    >>> asked_chain("| transpose 1,0", (2, 3))
    Asked(input=(2, 3), stages=(('transpose', {'perm': '1,0'}),))
    """
    if not text.strip():
        raise misuse("a chain is missing", "write INPUT | OP ... or | OP ...")
    input_text, stages = read_chain(text)
    input_shape = input_text or shape
    if not input_shape and input_shape != ():
        raise misuse("the first chain needs an input", "write INPUT | OP ...", argument="first")
    return Asked(input_shape, tuple(stages))  # type: ignore[arg-type]  # a shape, as a text or as dims


def answer_pair(first: Asked, second: Asked, sizes: Mapping[str, int]) -> tuple[Chain, Chain]:
    """Return the answers to two chains, with sizes substituted for their names.

    Raises `ShapeError` (usage) for a stage that cannot be parsed, and for a name that neither chain has.
    """
    known = [_names(spec) if sizes else () for spec in (first, second)]
    check_names_known(sizes, known[0] + known[1])
    one, other = (
        answer_chain(spec.input, spec.stages, {name: sizes[name] for name in sizes if name in names})
        for spec, names in zip((first, second), known, strict=True)
    )
    return one, other


def _names(asked: Asked) -> tuple[str, ...]:
    return dims.names([dim for request in ask_chain(asked.input, asked.stages or STILL, {}) for dim in request.dims])


def answers_of(first: str | Chain, second: str | Chain, sizes: Mapping[str, int]) -> tuple[Chain, Chain]:
    """Return two chains, answering those given as texts with `sizes` for their names.

    Raises `ShapeError` (usage) as `parse_chain_spec` and `answer_pair` do.
    """
    one = asked_chain(first) if isinstance(first, str) else first
    other = asked_chain(second, one.input) if isinstance(second, str) else second
    specs = [chain for chain in (one, other) if isinstance(chain, Asked)]
    answers = iter(answer_pair(specs[0], specs[-1], sizes) if specs else ())
    return tuple([next(answers) if isinstance(chain, Asked) else chain for chain in (one, other)])  # type: ignore[return-value]


def equivalence(first: Trace | Chain, second: Trace | Chain, most: int = MOST_ELEMENTS) -> Equivalence:
    """Decide whether two answers with one input are the same function of it.

    At most `max_elements` elements are compared one by one.

    Raises `ShapeError`: the problem of a chain that is refused; usage for different inputs, and for op `shape`.

    >>> import shapecalc as sc
    >>> shuffled = sc.chain("N,C,H", "transpose 0,2,1", "transpose 2,1,0", "transpose 1,2,0")
    >>> print(equivalence(shuffled, sc.chain("N,C,H", "transpose 0,1,2")))
    different
    """
    for which, answer in (("first", first), ("second", second)):
        if answer.problem:
            message = f"{which} chain, {answer.problem.message}"
            raise ShapeError(replace(answer.problem, message=message, argument=which, span=None), answer)
    if first.input != second.input:
        inputs = f"{shape_text(first.input)} and {shape_text(second.input)}"
        raise misuse(f"the chains have different inputs: {inputs}", "begin the second with | to give it the first's")
    if any(isinstance(move, Combine) for move in (*first.moves, *second.moves)):
        return _by_shape(first, second)
    return _Pair(first, second, most).equivalence()


def _by_shape(first: Trace | Chain, second: Trace | Chain) -> Equivalence:
    """Compare chains that compute elements, by their requests and output shapes.

    Identical requests are the same, and different shapes at some sizes differ. Anything else is undecided.
    """
    defined = first.conditions, second.conditions
    answers = first, second
    requests = [[(trace.op, trace.dialect, trace.request.arguments) for trace in answer.traces] for answer in answers]
    if requests[0] == requests[1]:
        return Equivalence(Verdict.SAME, (), defined)
    names = dims.names(dim for answer in (first, second) for trace in answer.traces for dim in trace.request.dims)
    for sizes in islice(ascending_sizes(names, 2), MOST_TRIED) if names else ({},):
        if holds(sum(defined, ()), sizes):
            outputs = [put_in(answer.output or (), answer.results, sizes) for answer in (first, second)]
            if outputs[0] != outputs[1] and dims.all_known(outputs[0] + outputs[1]):
                counterexample = Counterexample(FrozenDict(sizes), (outputs[0], outputs[1]))
                return Equivalence(Verdict.DIFFERENT, (), defined, counterexample, by_shape=True)
    return Equivalence(Verdict.UNDECIDED, (), defined, by_shape=True)


def stands_for(answer: Trace | Chain, other: Trace | Chain) -> bool:
    """Return whether an answer provably equals another wherever the other is defined.

    Both have the same input. Raises `ShapeError` (usage) as `check_equivalence` does.
    """
    pair = _Pair(other, answer)
    return pair.proof(()) is not None and not pair.missing(1, 0, ())


class _Pair:
    """Two chains with the conditions under which each is defined."""

    def __init__(self, first: Trace | Chain, second: Trace | Chain, most: int = MOST_ELEMENTS) -> None:
        self.moved, self.most = (moves_of(first), moves_of(second)), most
        self.defined, self.results = (first.conditions, second.conditions), (first.results, second.results)
        self.dims = tuple(dict.fromkeys(self.moved[0].dims + self.moved[1].dims))
        all_dims = [*self.dims, *(side for each in sum(self.defined, ()) for side in (each.left, each.right))]
        all_dims += [term for each in {**first.results, **second.results}.values() for term in each.terms + each.inside]
        self.names = tuple([name for name in dims.names(all_dims) if not any(name in each for each in self.results)])

    def equivalence(self) -> Equivalence:
        """Return the verdict on the two chains."""
        needed = self.proof(())
        if needed is not None:
            verdict = Verdict.SAME_WHEN if needed else Verdict.SAME
            return Equivalence(verdict, (needed,) if needed else (), self.defined)
        trials = [*self._trials()]
        counterexample = next((trial for trial in trials if isinstance(trial, Counterexample)), None)
        if trials and not counterexample and not self.names:
            return Equivalence(Verdict.SAME, (), self.defined, None, len(trials))
        conditions = self._sufficient(trials)
        verdict = Verdict.SAME_WHEN if conditions else Verdict.DIFFERENT if counterexample else Verdict.UNDECIDED
        return Equivalence(verdict, conditions, self.defined, counterexample, len(trials))

    def proof(self, given: Conditions) -> Conditions | None:
        """Return the conditions of a proof, with the `assumptions`, or None.

        Chains whose named results differ are never proved the same.
        """
        if self.results[0] != self.results[1]:
            return None
        try:
            known = Known(self.dims, combine((*self.defined[0], *self.defined[1], *given)))
            first, second = (chain.rewritten(known.settled) for chain in self.moved)
            if first.output != second.output or (first != second and first.view(known) != second.view(known)):
                return None
        except (Never, Undecided):
            return None
        missing = self.missing(0, 1, given) + self.missing(1, 0, given)
        return combine(given + missing)

    def missing(self, one: int, other: int, given: Conditions) -> Conditions:
        """Return the conditions of one chain that the other's do not imply.

        The `assumptions` may help to imply them.
        """
        if self.defined[one] == self.defined[other]:
            return ()
        known = Known(self.moved[other].dims, self.defined[other] + given)
        return tuple([condition for condition in self.defined[one] if not known.implies(condition)])

    def _trials(self) -> Iterator[Counterexample | Mapping[str, int]]:
        """Yield a counterexample for each choice of sizes, or the sizes without one.

        It ends when too many elements were compared.
        """
        budget = self.most
        for sizes in self._sizes():
            pairs = zip(self.moved, self.results, strict=True)
            first, second = (chain.rewritten(settled(results, sizes)) for chain, results in pairs)
            if not dims.all_known(first.dims + second.dims) or volume(first) > dims.INT64_MAX:
                continue
            are_strided = False
            with suppress(Undecided):
                are_strided = first.view(Known()).is_plain and second.view(Known()).is_plain
            budget -= 0 if are_strided else max(volume(first), volume(second))
            if budget < 0:
                return
            yield difference(first, second, sizes, lined_up=are_strided) or sizes

    def _sizes(self) -> Iterator[Mapping[str, int]]:
        """Yield sizes for which both are defined, the smallest without a 1 first."""
        defined = self.defined[0] + self.defined[1]
        if not self.names:
            yield FrozenDict()
            return
        least = multiplied_sizes(self.names, defined)
        small = ascending_sizes(self.names, 1)
        multiples = ({name: size * least[name] for name, size in sizes.items()} for sizes in small)
        seen = set()
        for choices in (ascending_sizes(self.names, 2), multiples, ascending_sizes(self.names, 1)):
            tried = islice(choices, MOST_PUT_IN // len(self.dims))
            valid = (sizes for sizes in tried if self._are_defined(sizes) and tuple(sizes.values()) not in seen)
            for sizes in islice(valid, MOST_TRIED):
                seen.add(tuple(sizes.values()))
                yield FrozenDict(sizes)

    def _are_defined(self, sizes: Mapping[str, int]) -> bool:
        pairs = zip(self.defined, self.results, strict=True)
        return all(holds(conditions, settled(results, sizes)) for conditions, results in pairs)

    def _sufficient(self, tried: Iterable[Counterexample | Mapping[str, int]]) -> tuple[Conditions, ...]:
        """Return proved conditions that make the chains the same.

        These are single conditions, or else pairs of conditions that set no name to 1.
        """
        differing = [trial.sizes for trial in tried if isinstance(trial, Counterexample)]
        agreeing = [trial for trial in tried if not isinstance(trial, Counterexample)]
        most_proofs = MOST_PROVED // (1 + len(self.dims) ** 2)
        candidates = [*islice(self._candidates(), most_proofs)] if agreeing and self.names else []
        for_pairs = [condition for condition in candidates if condition.right != 1]
        for assumptions in (combinations(candidates, 1), combinations(for_pairs, 2)):
            proved: list[Conditions] = []
            for assumed in assumptions:
                is_refuted = any(holds(assumed, sizes) for sizes in differing)
                fits = not is_refuted and any(holds(assumed, sizes) for sizes in agreeing)
                needed = self.proof(assumed) if fits else None
                if needed and not _follows(needed, proved):
                    proved.append(needed)
            if proved:
                return tuple(proved)
        return ()

    def _candidates(self) -> Iterator[Condition]:
        """Yield conditions that may make the chains the same, the weakest first."""
        named_dims = [dims.named_dim(name) for name in self.names]
        for divisor in _divisors(self.dims):
            for dim in named_dims:
                if divisor != dim:
                    yield from divides(dim, divisor)
        yield from self._whole_rounds()
        for one, other in combinations(named_dims, 2):
            yield from equal(one, other)
        for dim in named_dims:
            yield from equal(dim, 1)

    def _whole_rounds(self) -> Iterator[Condition]:
        """Yield conditions under which a roll, or all rolls of one size, move nothing."""
        shifts_by_size: dict[dims.Dim, list[int]] = {}
        for chain, sign in zip(self.moved, (1, -1), strict=True):
            for shape, move in zip(chain.shapes, chain.moves, strict=False):
                if isinstance(move, Roll):
                    shifts_by_size.setdefault(shape[move.axis], []).append(sign * move.shift)
        for size, shifts in shifts_by_size.items():
            for shift in dict.fromkeys((sum(shifts), *shifts)):
                with suppress(Never):
                    yield from divides(abs(shift), size)


def _follows(conditions: Conditions, lists: Iterable[Conditions]) -> bool:
    """Return whether `conditions` imply one of the lists of conditions."""
    known = Known((), conditions)
    return any(all(map(known.implies, implied)) for implied in lists)


def _divisors(values: Iterable[dims.Dim]) -> tuple[dims.Dim, ...]:
    """Return the numbers in dims, and the names that divide them, except 1."""
    divisors: list[dims.Dim] = []
    for dim in map(dims.monomial, values):
        divisors += [dim.numerator, dim.denominator]
        divisors += [dims.named_dim(name) for name, power in dim.powers if power < 0]
    return tuple(dict.fromkeys(divisor for divisor in divisors if divisor not in (0, 1)))

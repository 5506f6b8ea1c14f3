"""Whether two chains are the same function: proved for all sizes or under conditions, or an element that differs."""

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

# Where two chains of numbers differ: the first output index at which they read other elements of the input.


BLOCK = 4096
"""How many elements are compared at once. One in as many is looked at alone before all are computed."""


class Counterexample(Record):
    """Sizes at which two chains differ, and the first element of their outputs that does."""

    sizes: Mapping[str, int]
    outputs: tuple[dims.Shape, dims.Shape]
    """The output shape of each."""
    index: Index | None = None
    """The index in both outputs; None if their shapes differ."""
    elements: tuple[int, int] | None = None
    """Where in the input the element of each stands, counted in C order; None if the shapes differ."""

    def __str__(self) -> str:
        sizes = ",".join(f"{name.replace('?', 'unknown ')}={size}" for name, size in self.sizes.items())
        at = f"with {sizes}, " if sizes else ""
        if self.index is None or self.elements is None:
            return f"{at}the outputs are {' and '.join(map(shape_text, self.outputs))}"
        one, other = self.elements
        return f"{at}at [{shape_text(self.index)}] the first has input element {one}, the second has {other}"


def volume(chain: Moves) -> int:
    """Return the most elements that a chain of numbers has on its way."""
    return max(int(str(dims.product(shape))) for shape in chain.shapes)


def difference(first: Moves, second: Moves, sizes: Mapping[str, int], *, lined_up: bool) -> Counterexample | None:
    """Return where two chains of numbers differ; None if they do not. `lined_up` says that no axes mix or roll.

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
    for place, elements in _corners(first, second, ours, theirs) if lined_up else _compared(first, second):
        if elements[0] != elements[1]:
            return Counterexample(sizes, outputs, unravel(place, outputs[0]), elements)
    return None


def _compared(first: Moves, second: Moves) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield places with the elements that both chains read there: the first places, then blocks that are not alike."""
    volumes = [int(str(dims.product(shape))) for shape in (first.input, first.output)]
    for place in range(volumes[1] // BLOCK):
        yield place, (position(first, place), position(second, place))
    elements = array("q", range(volumes[0]))
    one, other = positions(first, elements), positions(second, elements)
    for start in range(0, volumes[1], BLOCK):
        ours, theirs = one[start : start + BLOCK], other[start : start + BLOCK]
        if ours != theirs:
            yield from enumerate(zip(ours, theirs, strict=True), start)


def _corners(first: Moves, second: Moves, ours: View, theirs: View) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield the places at which a step of an atom begins, with the elements there: plain views that differ do so there.

    Of all places at which they differ, the first one that is yielded is the first.
    """
    places, inner = [0], 1
    for size, *axes in zip(first.output[::-1], ours.axes[::-1], theirs.axes[::-1], strict=True):
        begun = [[int(str(atom.size)) for atom in axis[:0:-1]] for axis in axes if axis]
        places += sorted({inner * count for counts in begun for count in accumulate(counts, mul, initial=1)})
        inner *= int(str(size))
    for place in places:
        yield place, (position(first, place), position(second, place))


# Pairs of chains as texts: the second may begin with `|`, and then has the first's input.
#
# A chain without a stage is its input as it is.


class Asked(Record):
    """A chain that is read but not answered: its input, and its stages with their options."""

    input: str | Iterable[object]
    stages: Stages


def asked_chain(text: str, shape: object = None) -> Asked:
    """Return the chain that a text writes; one that begins with `|` has the input `shape`.

    Raises `ShapeError` (usage) if it cannot be read.

    >>> asked_chain("| transpose 1,0", (2, 3))
    Asked(input=(2, 3), stages=(('transpose', {'perm': '1,0'}),))
    """
    if not text.strip():
        raise misuse("a chain is missing", "write INPUT | OP ... or | OP ...")
    written, stages = read_chain(text)
    given = written or shape
    if not given and given != ():
        raise misuse("the first chain needs an input", "write INPUT | OP ...", argument="first")
    return Asked(given, tuple(stages))  # type: ignore[arg-type]  # a shape, as a text or as dims


def answer_pair(first: Asked, second: Asked, sizes: Mapping[str, int]) -> tuple[Chain, Chain]:
    """Return the answers to two chains, with sizes put in for names that one of them has.

    Raises `ShapeError` (usage) for a stage that cannot be read, and for a name that neither has.
    """
    known = [_names(asked) if sizes else () for asked in (first, second)]
    check_names_known(sizes, known[0] + known[1])
    one, other = (
        answer_chain(asked.input, asked.stages, {name: sizes[name] for name in sizes if name in own})
        for asked, own in zip((first, second), known, strict=True)
    )
    return one, other


def _names(asked: Asked) -> tuple[str, ...]:
    return dims.names([dim for request in ask_chain(asked.input, asked.stages or STILL, {}) for dim in request.dims])


def answers_of(first: str | Chain, second: str | Chain, sizes: Mapping[str, int]) -> tuple[Chain, Chain]:
    """Return two chains, those given as texts answered; `sizes` are put in for names of texts.

    Raises `ShapeError` (usage) as `asked_chain` and `answer_pair` do.
    """
    one = asked_chain(first) if isinstance(first, str) else first
    other = asked_chain(second, one.input) if isinstance(second, str) else second
    asked = [each for each in (one, other) if isinstance(each, Asked)]
    answered = iter(answer_pair(asked[0], asked[-1], sizes) if asked else ())
    return tuple([next(answered) if isinstance(each, Asked) else each for each in (one, other)])  # type: ignore[return-value]


Stages = tuple[tuple[str, Mapping[str, object]], ...]


# Whether two chains are the same function: proved for all sizes, proved under conditions, or an element that differs.
#
# Two chains are the same if the views of their outputs read the same elements of the input, and if both are defined
# for the same sizes. A proof holds for all sizes. Where there is none, small sizes are tried, and conditions that fit
# what was found are put in and proved in turn.


MOST_TRIED = 24
"""The most sizes that are tried from one start."""
MOST_PUT_IN = 4000
"""The most dims that sizes from one start are put in for."""
MOST_PROVED = 20_000
"""How many conditions are put in at most for one dim; a proof takes as long as the square of the dims."""


class Verdict(Choice):
    """Whether two chains are the same function."""

    SAME = "same"
    SAME_WHEN = "same-when"
    DIFFERENT = "different"
    UNDECIDED = "undecided"


class Equivalence(Record):
    """Whether two chains are the same function, and why."""

    verdict: Verdict
    conditions: tuple[Conditions, ...] = ()
    """Lists of conditions, any one of which makes them the same; none for other verdicts than `same-when`."""
    defined: tuple[Conditions, Conditions] = ((), ())
    """The conditions under which each is defined."""
    counterexample: Counterexample | None = None
    """Where they differ; None if no sizes are known at which they do."""
    tested: int = 0
    """How many sizes were tried."""
    by_shape: bool = False
    """Whether only shapes were compared, since a chain computes elements."""

    def __str__(self) -> str:
        """Return the verdict in words, with its conditions."""
        if self.verdict is not Verdict.SAME_WHEN:
            return str(self.verdict.value)
        listed = [" and ".join(condition.words for condition in each) for each in self.conditions]
        return f"same when {', or when '.join(listed)}"

    @property
    def reasons(self) -> tuple[str, ...]:
        """What there is to say of the verdict: when each is defined, and where they differ or how much was tried."""
        pairs = zip(("first", "second"), self.defined, strict=True)
        said = [f"the {which} is defined when {each.words}" for which, conditions in pairs for each in conditions]
        if self.counterexample:
            said.append(str(self.counterexample))
        elif self.verdict is Verdict.UNDECIDED and self.by_shape:
            said.append("products, windows and joins are compared by their shapes alone, and these are the same")
        elif self.verdict is Verdict.UNDECIDED:
            sizes = "one choice of sizes" if self.tested == 1 else f"{self.tested} choices of sizes"
            said.append(f"no difference at {sizes}" if self.tested else "too many elements to compare")
        return tuple(said)

    def as_json(self) -> dict[str, object]:
        """Return it as the JSON object that the command line documents."""
        found = self.counterexample
        return {
            "verdict": self.verdict.value,
            "conditions": [[*map(str, each)] for each in self.conditions],
            "defined": [[*map(str, each)] for each in self.defined],
            "counterexample": found
            and {name: dims.plain(getattr(found, name)) for name in ("sizes", "index", "elements", "outputs")},
            "tested": self.tested,
            "problem": None,
        }


def equivalence(first: Trace | Chain, second: Trace | Chain, most: int = MOST_ELEMENTS) -> Equivalence:
    """Return whether two answers with one input are the same function of it; `most` elements are compared one by one.

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
    """Return whether two answers are written alike or have other shapes at some sizes; anything else is undecided."""
    defined = first.conditions, second.conditions
    asked = [[(trace.op, trace.dialect, trace.request.arguments) for trace in each.traces] for each in (first, second)]
    if asked[0] == asked[1]:
        return Equivalence(Verdict.SAME, (), defined)
    names = dims.names(dim for answer in (first, second) for trace in answer.traces for dim in trace.request.dims)
    for sizes in islice(ascending_sizes(names, 2), MOST_TRIED) if names else ({},):
        if holds(sum(defined, ()), sizes):
            outputs = [put_in(answer.output or (), answer.results, sizes) for answer in (first, second)]
            if outputs[0] != outputs[1] and dims.all_known(outputs[0] + outputs[1]):
                found = Counterexample(FrozenDict(sizes), (outputs[0], outputs[1]))
                return Equivalence(Verdict.DIFFERENT, (), defined, found, by_shape=True)
    return Equivalence(Verdict.UNDECIDED, (), defined, by_shape=True)


def stands_for(answer: Trace | Chain, other: Trace | Chain) -> bool:
    """Say whether an answer is proved to do what another with the same input does, wherever that other is defined.

    Raises `ShapeError` (usage) as `equivalence` does.
    """
    pair = _Pair(other, answer)
    return pair.proof(()) is not None and not pair.missing(1, 0, ())


class _Pair:
    """Two chains, the conditions under which each is defined, and how many elements may be compared."""

    def __init__(self, first: Trace | Chain, second: Trace | Chain, most: int = MOST_ELEMENTS) -> None:
        self.moved, self.most = (moves_of(first), moves_of(second)), most
        self.defined, self.results = (first.conditions, second.conditions), (first.results, second.results)
        self.dims = tuple(dict.fromkeys(self.moved[0].dims + self.moved[1].dims))
        every = [*self.dims, *(side for each in sum(self.defined, ()) for side in (each.left, each.right))]
        every += [term for each in {**first.results, **second.results}.values() for term in each.terms + each.inside]
        self.names = tuple([name for name in dims.names(every) if not any(name in each for each in self.results)])

    def equivalence(self) -> Equivalence:
        """Return the verdict on the two."""
        needed = self.proof(())
        if needed is not None:
            verdict = Verdict.SAME_WHEN if needed else Verdict.SAME
            return Equivalence(verdict, (needed,) if needed else (), self.defined)
        tried = [*self._trials()]
        found = next((each for each in tried if isinstance(each, Counterexample)), None)
        if tried and not found and not self.names:
            return Equivalence(Verdict.SAME, (), self.defined, None, len(tried))
        conditions = self._sufficient(tried)
        verdict = Verdict.SAME_WHEN if conditions else Verdict.DIFFERENT if found else Verdict.UNDECIDED
        return Equivalence(verdict, conditions, self.defined, found, len(tried))

    def proof(self, given: Conditions) -> Conditions | None:
        """Return the conditions that are needed to prove them the same, `given` among them; None without a proof.

        Nothing is proved of named results that are not the same in both.
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
        """Return the conditions of one chain that those of the other and the given ones do not imply."""
        if self.defined[one] == self.defined[other]:
            return ()
        known = Known(self.moved[other].dims, self.defined[other] + given)
        return tuple([each for each in self.defined[one] if not known.implies(each)])

    def _trials(self) -> Iterator[Counterexample | Mapping[str, int]]:
        """Yield for small sizes where they differ, or the sizes if they do not, while few elements were compared."""
        room = self.most
        for sizes in self._sizes():
            pairs = zip(self.moved, self.results, strict=True)
            first, second = (chain.rewritten(settled(results, sizes)) for chain, results in pairs)
            if not dims.all_known(first.dims + second.dims) or volume(first) > dims.INT64_MAX:
                continue
            lined_up = False
            with suppress(Undecided):
                lined_up = first.view(Known()).is_plain and second.view(Known()).is_plain
            room -= 0 if lined_up else max(volume(first), volume(second))
            if room < 0:
                return
            yield difference(first, second, sizes, lined_up=lined_up) or sizes

    def _sizes(self) -> Iterator[Mapping[str, int]]:
        """Yield sizes for which both are defined, the smallest first; those with a 1 come after the others."""
        defined = self.defined[0] + self.defined[1]
        if not self.names:
            yield FrozenDict()
            return
        least = multiplied_sizes(self.names, defined)
        small = ascending_sizes(self.names, 1)
        multiples = ({name: size * least[name] for name, size in sizes.items()} for sizes in small)
        seen = set()
        for some in (ascending_sizes(self.names, 2), multiples, ascending_sizes(self.names, 1)):
            tried = islice(some, MOST_PUT_IN // len(self.dims))
            fitting = (sizes for sizes in tried if self._are_defined(sizes) and tuple(sizes.values()) not in seen)
            for sizes in islice(fitting, MOST_TRIED):
                seen.add(tuple(sizes.values()))
                yield FrozenDict(sizes)

    def _are_defined(self, sizes: Mapping[str, int]) -> bool:
        pairs = zip(self.defined, self.results, strict=True)
        return all(holds(conditions, settled(results, sizes)) for conditions, results in pairs)

    def _sufficient(self, tried: Iterable[Counterexample | Mapping[str, int]]) -> tuple[Conditions, ...]:
        """Return what makes them the same where it is proved: single conditions, or else pairs that name no 1."""
        differing = [each.sizes for each in tried if isinstance(each, Counterexample)]
        agreeing = [each for each in tried if not isinstance(each, Counterexample)]
        most = MOST_PROVED // (1 + len(self.dims) ** 2)
        candidates = [*islice(self._candidates(), most)] if agreeing and self.names else []
        several = [each for each in candidates if each.right != 1]
        for givens in (combinations(candidates, 1), combinations(several, 2)):
            proved: list[Conditions] = []
            for given in givens:
                apart = any(holds(given, sizes) for sizes in differing)
                fits = not apart and any(holds(given, sizes) for sizes in agreeing)
                needed = self.proof(given) if fits else None
                if needed and not _follows(needed, proved):
                    proved.append(needed)
            if proved:
                return tuple(proved)
        return ()

    def _candidates(self) -> Iterator[Condition]:
        """Yield conditions that may make them the same, those that say least of the sizes first."""
        own = [dims.named_dim(name) for name in self.names]
        for divisor in _divisors(self.dims):
            for name in own:
                if divisor != name:
                    yield from divides(name, divisor)
        yield from self._whole_rounds()
        for one, other in combinations(own, 2):
            yield from equal(one, other)
        for name in own:
            yield from equal(name, 1)

    def _whole_rounds(self) -> Iterator[Condition]:
        """Yield conditions for which a roll, or all rolls of axes of one size, move nothing."""
        turned: dict[dims.Dim, list[int]] = {}
        for chain, sign in zip(self.moved, (1, -1), strict=True):
            for shape, move in zip(chain.shapes, chain.moves, strict=False):
                if isinstance(move, Roll):
                    turned.setdefault(shape[move.axis], []).append(sign * move.shift)
        for size, shifts in turned.items():
            for shift in dict.fromkeys((sum(shifts), *shifts)):
                with suppress(Never):
                    yield from divides(abs(shift), size)


def _follows(conditions: Conditions, lists: Iterable[Conditions]) -> bool:
    """Say whether one of some lists of conditions holds wherever these conditions do."""
    known = Known((), conditions)
    return any(all(map(known.implies, each)) for each in lists)


def _divisors(values: Iterable[dims.Dim]) -> tuple[dims.Dim, ...]:
    """Return the numbers and names that dims are or are divided by, but for 1."""
    found: list[dims.Dim] = []
    for dim in map(dims.monomial, values):
        found += [dim.numerator, dim.denominator]
        found += [dims.named_dim(name) for name, power in dim.powers if power < 0]
    return tuple(dict.fromkeys(divisor for divisor in found if divisor not in (0, 1)))

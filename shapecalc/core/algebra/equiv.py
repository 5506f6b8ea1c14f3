"""Whether two chains are the same function: proved for all sizes, proved under conditions, or an element that differs.

Two chains are the same if the views of their outputs read the same elements of the input, and if both are defined for
the same sizes. A proof holds for all sizes. Where there is none, small sizes are tried, and conditions that fit what
was found are put in and proved in turn.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import combinations, islice

from shapecalc.core.algebra.course import Course, course_of
from shapecalc.core.algebra.difference import Counterexample, difference, lines_up, volume
from shapecalc.core.algebra.premises import Premises
from shapecalc.core.answers.example_sizes import ascending_sizes, multiplied_sizes
from shapecalc.core.answers.moves import Roll
from shapecalc.core.answers.stage import plain
from shapecalc.core.sizes.conditions import Condition, Conditions, Never, combine, divides, equal, holds
from shapecalc.core.sizes.dims import INT64_MAX, Dim, all_known, monomial, named_dim, names
from shapecalc.core.sizes.problem import ShapeError, misuse
from shapecalc.core.sizes.record import Choice, FrozenDict, Record, replace
from shapecalc.core.sizes.text import shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from shapecalc.core.answers.trace import Chain, Trace

MOST_ELEMENTS = 1 << 24
"""The most elements that are compared one by one, at all sizes together, if nothing else is asked for."""
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
    conditions: tuple[Conditions, ...]
    """Lists of conditions, any one of which makes them the same; none for other verdicts than `same-when`."""
    defined: tuple[Conditions, Conditions]
    """The conditions under which each is defined."""
    counterexample: Counterexample | None
    """Where they differ; None if no sizes are known at which they do."""
    tested: int
    """How many sizes were tried."""

    def __init__(
        self,
        verdict: Verdict,
        conditions: tuple[Conditions, ...] = (),
        defined: tuple[Conditions, Conditions] = ((), ()),
        counterexample: Counterexample | None = None,
        tested: int = 0,
    ) -> None:
        """Set the fields."""
        super().__init__(verdict, conditions, defined, counterexample, tested)

    def __str__(self) -> str:
        """Return the verdict in words, with its conditions."""
        if self.verdict is not Verdict.SAME_WHEN:
            return str(self.verdict.value)
        listed = [" and ".join(condition.words for condition in each) for each in self.conditions]
        return f"same when {', or when '.join(listed)}"

    @property
    def reasons(self) -> tuple[str, ...]:
        """What there is to say of the verdict: when each is defined, and where they differ or how much was tried."""
        said = [
            f"the {which} is defined when {condition.words}"
            for which, conditions in zip(("first", "second"), self.defined, strict=True)
            for condition in conditions
        ]
        if self.counterexample:
            said.append(str(self.counterexample))
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
            and {
                "sizes": dict(found.sizes),
                "index": plain(found.index),
                "elements": plain(found.elements),
                "outputs": plain(found.outputs),
            },
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
    courses = course_of(first), course_of(second)
    return _Pair(courses, (first.conditions, second.conditions), most).equivalence()


def stands_for(answer: Trace | Chain, other: Trace | Chain) -> bool:
    """Say whether an answer is proved to do what another with the same input does, wherever that other is defined.

    Raises `ShapeError` (usage) as `equivalence` does.
    """
    pair = _Pair((course_of(other), course_of(answer)), (other.conditions, answer.conditions))
    return pair.proof(()) is not None and not pair.missing(1, 0, ())


class _Pair:
    """Two courses, the conditions under which each is defined, and how many elements may be compared."""

    def __init__(
        self, courses: tuple[Course, Course], defined: tuple[Conditions, Conditions], most: int = MOST_ELEMENTS
    ) -> None:
        self.courses, self.defined, self.most = courses, defined, most
        self.dims = tuple(dict.fromkeys(courses[0].dims + courses[1].dims))
        self.names = names([*self.dims, *(side for each in sum(defined, ()) for side in (each.left, each.right))])

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
        """Return the conditions that are needed to prove them the same, `given` among them; None without a proof."""
        try:
            premises = Premises(self.dims, combine((*self.defined[0], *self.defined[1], *given)))
        except Never:
            return None
        first, second = (course.rewritten(premises.settled) for course in self.courses)
        if first.output != second.output or first.view(premises.known) != second.view(premises.known):
            return None
        missing = self.missing(0, 1, given) + self.missing(1, 0, given)
        return combine(given + missing)

    def missing(self, one: int, other: int, given: Conditions) -> Conditions:
        """Return the conditions of one course that those of the other and the given ones do not imply."""
        if self.defined[one] == self.defined[other]:
            return ()
        premises = Premises(self.courses[other].dims, self.defined[other] + given)
        return tuple([each for each in self.defined[one] if not premises.imply(each)])

    def _trials(self) -> Iterator[Counterexample | Mapping[str, int]]:
        """Yield for small sizes where they differ, or the sizes if they do not, while few elements were compared."""
        room = self.most
        for sizes in self._sizes():
            first, second = (course.rewritten(sizes) for course in self.courses)
            if not all_known(first.dims + second.dims) or volume(first) > INT64_MAX:
                continue
            lined_up = lines_up(first) and lines_up(second)
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
        multiples = (
            {name: size * least[name] for name, size in sizes.items()} for sizes in ascending_sizes(self.names, 1)
        )
        seen = set()
        for some in (ascending_sizes(self.names, 2), multiples, ascending_sizes(self.names, 1)):
            tried = islice(some, MOST_PUT_IN // len(self.dims))
            fitting = (sizes for sizes in tried if holds(defined, sizes) and tuple(sizes.values()) not in seen)
            for sizes in islice(fitting, MOST_TRIED):
                seen.add(tuple(sizes.values()))
                yield FrozenDict(sizes)

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
                if any(holds(given, sizes) for sizes in differing) or not any(
                    holds(given, sizes) for sizes in agreeing
                ):
                    continue
                needed = self.proof(given)
                if needed and not _follows(needed, proved):
                    proved.append(needed)
            if proved:
                return tuple(proved)
        return ()

    def _candidates(self) -> Iterator[Condition]:
        """Yield conditions that may make them the same, those that say least of the sizes first."""
        own = [named_dim(name) for name in self.names]
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
        turned: dict[Dim, list[int]] = {}
        for course, sign in zip(self.courses, (1, -1), strict=True):
            for shape, move in zip(course.shapes, course.moves, strict=False):
                if isinstance(move, Roll):
                    turned.setdefault(shape[move.axis], []).append(sign * move.shift)
        for size, shifts in turned.items():
            for shift in dict.fromkeys((sum(shifts), *shifts)):
                with suppress(Never):
                    yield from divides(abs(shift), size)


def _follows(conditions: Conditions, lists: Iterable[Conditions]) -> bool:
    """Say whether one of some lists of conditions holds wherever these conditions do."""
    premises = Premises((), conditions)
    return any(all(map(premises.imply, each)) for each in lists)


def _divisors(dims: Iterable[Dim]) -> tuple[Dim, ...]:
    """Return the numbers and names that dims are or are divided by, but for 1."""
    found: list[Dim] = []
    for dim in map(monomial, dims):
        found += [dim.numerator, dim.denominator]
        found += [named_dim(name) for name, power in dim.powers if power < 0]
    return tuple(dict.fromkeys(divisor for divisor in found if divisor not in (0, 1)))

"""Expectations: what a case says that its answer must be, and how answers are written as expectations.

    expectation = "error" [rule] | "same as" chain | pattern ["when" condition {"and" condition}]
    condition   = dim "%" dim "==" "0" | dim "==" dim | dim "!=" dim
                | dim "divides" dim    | dim "is" dim | dim "is not" dim

A dim after `%` may stand in parentheses. This is how shapecalc prints answers, as code and in words, so what it
prints it can read.
"""

from __future__ import annotations

from shapecalc.core.asking.defaults import with_defaults
from shapecalc.core.asking.expected import unexpected
from shapecalc.core.asking.rulebook import REFUSALS
from shapecalc.core.asking.shape_pattern import pattern_of_dims, read_pattern
from shapecalc.core.sizes.conditions import Conditions, Never, combine, differ, divides, equal
from shapecalc.core.sizes.dims import Dim
from shapecalc.core.sizes.lookup import lookup
from shapecalc.core.sizes.problem import ShapeError, misuse
from shapecalc.core.sizes.python_values import describe
from shapecalc.core.sizes.quoting import brief, visible
from shapecalc.core.sizes.record import FrozenDict, Record
from shapecalc.core.sizes.text import read_dims, shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from shapecalc.core.answers.trace import Chain, Trace
    from shapecalc.core.asking.expected import Unexpected

REFUSED = "error"
"""What an expectation of a refusal starts with."""
SAME_AS = "same as"
"""What an expectation of another chain starts with."""
SAME = "same"
"""What the words of a verdict start with if two chains are the same."""
NONE: FrozenDict = FrozenDict()


class Expectation(Record):
    """What an answer must be: an output shape, under conditions where they are given, a refusal, or what a chain is."""

    output: str | None
    """The output shape, or a pattern of it, as shapecalc prints it; None where a refusal or a chain is expected."""
    conditions: frozenset[str] | None = None
    """The conditions as shapecalc prints them; None where nothing is said of them."""
    rule: str | None = None
    """The rule that must refuse; None where any may."""
    same_as: str | None = None
    """The chain that must be the same function; None where none is named."""
    options: Mapping[str, object] = NONE
    """The defaults in force for the stages of that chain."""
    sized: frozenset[str] = frozenset()
    """The names to which the case gives sizes; in a pattern they stand for themselves."""

    def __str__(self) -> str:
        if self.same_as is not None:
            return f"{SAME_AS} {self.same_as}"
        if self.output is None:
            return f"{REFUSED} {self.rule}" if self.rule else REFUSED
        return _conditional(self.output, sorted(self.conditions or ()))


def read_expectation(text: str, options: Mapping[str, object] = NONE) -> Expectation:
    """Return what a text expects; `options` are the defaults for the stages of a chain.

    Raises `ShapeError` (usage) where it cannot be read.

    >>> print(read_expectation("[2, 6]  when N == 3"))
    2,6 when N == 3
    >>> read_expectation("error indivisible").rule
    'indivisible'
    """
    words = text.split()
    if words[:1] == [REFUSED]:
        return _refusal(words[1:])
    if words[:2] == SAME_AS.split():
        return _same_as(" ".join(words[2:]), options)
    shape, when, conditions = " ".join(words).partition(" when ")
    return Expectation(_shape(shape), _condition_texts(conditions.split(" and ")) if when else None)


def expectation_of(value: object, options: Mapping[str, object] = NONE) -> Expectation:
    """Return what the `expect` of a JSON case asks for; raise `ShapeError` (usage) where it cannot be read.

    It is a list of dims, `{"error": RULE}`, `{"same_as": CHAIN}`, `{"output": DIMS, "conditions": LIST}`, or text as in
    a plain line.

    >>> print(expectation_of({"output": [2, 6], "conditions": ["N == 3"]}))
    2,6 when N == 3
    """
    match value:
        case str():
            return read_expectation(value, options)
        case list():
            return Expectation(str(pattern_of_dims(value, "expect")))
        case {"error": str(rule), **rest} if not rest:
            return _refusal([rule])
        case {"same_as": str(chain), **rest} if not rest:
            return _same_as(chain, options)
        case {"output": list(output), "conditions": list(conditions), **rest} if not rest:
            return Expectation(str(pattern_of_dims(output, "expect")), _condition_texts(conditions))
    hint = 'write [2, 12], "error", {"error": RULE} or {"output": [2, 6], "conditions": ["N == 3"]}'
    raise misuse(f"{describe(value)} is not an expectation", hint, argument="expect")


def _refusal(words: list[str]) -> Expectation:
    if len(words) > 1:
        raise misuse(f"'{visible(brief(' '.join(words)))}' is not one rule", argument="expect")
    for rule in words:
        lookup(rule, REFUSALS, "rule")
    return Expectation(None, None, words[0] if words else None)


def _same_as(chain: str, options: Mapping[str, object]) -> Expectation:
    from shapecalc.core.algebra.pairs import asked_chain  # most files of cases name no chain here

    if not chain.strip():
        raise misuse(f"a chain is missing after {SAME_AS}", "write | OP ... or INPUT | OP ...", argument="expect")
    asked_chain(chain, ())
    return Expectation(None, None, None, chain, FrozenDict(options))


def _shape(text: str) -> str:
    return str(read_pattern(text, "expect"))


def _condition_texts(texts: Iterable[object]) -> frozenset[str]:
    return frozenset(map(str, read_conditions(str(text) for text in texts)))


RELATIONS: dict[str, Callable[[Dim, Dim], Conditions]] = {
    "%": divides,
    "!=": differ,
    "==": equal,
    " divides ": lambda by, dim: divides(dim, by),
    " is not ": differ,
    " is ": equal,
}
"""The relations in the order in which they are looked for: a divisibility ends in == 0."""


def read_conditions(texts: Iterable[str]) -> Conditions:
    """Return the conditions that texts state, as an answer that has them lists them; without those always true.

    Raises `ShapeError` (usage) for what states none, or what can never be true.

    >>> [str(condition) for condition in read_conditions(["C*H*W % 64 == 0", "2*N == 6"])]
    ['C*H*W % 64 == 0', 'N == 3']
    """
    stated: Conditions = ()
    text = ""
    try:
        for text in texts:
            stated += _condition(text)
    except (Never, ZeroDivisionError):
        raise misuse(f"'{visible(brief(text))}' can never be true", argument="expect") from None
    try:
        return combine(stated)
    except Never:
        raise misuse("the conditions can never be true together", argument="expect") from None


def _condition(text: str) -> Conditions:
    for sign, relation in RELATIONS.items():
        left, there, right = text.partition(sign)
        if sign == "%" and there:
            right, there, zero = right.partition("==")
            there = there if zero.strip() == "0" else ""
        if there:
            return relation(_dim(left, text), _dim(right, text))
    raise misuse(
        f"'{visible(brief(text))}' is not a condition",
        "write N == 3, C*H % 64 == 0 or N != 1, or N is 3, 64 divides C*H or N is not 1",
        argument="expect",
    )


def _dim(text: str, condition: str) -> Dim:
    dims = read_dims(text, "expect")
    if len(dims) != 1:
        raise misuse(
            f"'{visible(brief(condition))}' is not a condition", "it has one dim on each side", argument="expect"
        )
    return dims[0]


def met(expected: Expectation, answer: Trace | Chain, *, strict: bool = False) -> bool:
    """Say whether an answer is what was expected; `strict` allows no conditions but those that are named."""
    if answer.problem:
        return refused_by(expected, answer.problem.rule)
    if expected.same_as is not None:
        verdict = verdict_on(expected.same_as, expected.options, answer)
        return verdict == SAME or (not strict and verdict.startswith(f"{SAME} when"))
    if expected.output is None:
        return False
    conditions = frozenset(map(str, answer.conditions))
    wanted = frozenset() if strict and expected.conditions is None else expected.conditions
    return wanted in (None, conditions) and wrong_output(expected, answer) is None


def wrong_output(expected: Expectation, answer: Trace | Chain) -> Unexpected | None:
    """Return what is wrong with the output of an answer; None if it is what was expected, or if none was."""
    if expected.output in (None, shape_text(answer.output or ())):
        return None
    return unexpected(read_pattern(str(expected.output), "expect"), answer, expected.sized)


def refused_by(expected: Expectation, rule: str) -> bool:
    """Say whether a refusal by a rule is what was expected."""
    return expected.output is None and expected.same_as is None and expected.rule in (None, rule)


def verdict_on(chain: str, options: Mapping[str, object], answer: Trace | Chain) -> str:
    """Return in words whether an answer is the same function as a chain, or what keeps it from being known.

    `options` are the defaults for the stages of the chain, which has the answer's input if it begins with `|`.

    >>> import shapecalc as sc
    >>> verdict_on("| transpose 1,0 | transpose", {}, sc.reshape("2,3", "3,2"))
    'different (the outputs are 3,2 and 2,3)'
    """
    from shapecalc.core.algebra.equiv import equivalence
    from shapecalc.core.algebra.pairs import Asked, answer_to, asked_chain

    asked = asked_chain(chain, answer.input)
    stages = tuple([(op, with_defaults(op, options, given)) for op, given in asked.stages])
    try:
        found = equivalence(answer, answer_to(Asked(asked.input, stages), {}))
    except ShapeError as error:
        return str(error.problem)
    return str(found) if found.counterexample is None else f"{found} ({found.counterexample})"


def answer_text(answer: Trace | Chain, *, conditions: bool = True) -> str:
    """Return an answer as an expectation that it meets.

    >>> import shapecalc as sc
    >>> answer_text(sc.reshape("N,4", "2,6"))
    '2,6 when N == 3'
    """
    if answer.output is None:
        return f"{REFUSED} {answer.problem.rule}" if answer.problem else REFUSED
    listed = map(str, answer.conditions) if conditions else ()
    return _conditional(shape_text(answer.output), listed)


def _conditional(output: str, conditions: Iterable[str]) -> str:
    listed = " and ".join(conditions)
    output = f"[{output}]" if output == REFUSED else output  # a dim of that name
    return f"{output} when {listed}" if listed else output

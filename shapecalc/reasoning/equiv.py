"""Equivalence of two chains: proofs under conditions, and counterexamples.

Two chains are the same function if they are defined for the same sizes, and if each output element is the same input
element in both. A proof compares the layouts of the two outputs, and holds for all symbolic sizes. If no proof is
found, the chains are compared at small sizes; each such comparison is a trial. Finally, a proof is attempted under each
candidate condition that the trials do not contradict.

Chains may be strings. A second chain that begins with `|` uses the input of the first chain. A chain without stages
returns its input.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import accumulate, combinations, islice
from math import prod
from operator import mul

from shapecalc.core import dims
from shapecalc.core.answers import Chain, Trace, to_move_chain
from shapecalc.core.conditions import (
    Assumptions,
    Condition,
    Conditions,
    Undecided,
    Unsatisfiable,
    can_hold,
    require_divisible,
    require_equal,
    simplify_conditions,
)
from shapecalc.core.layout import MoveChain, View, apply_chain, input_index
from shapecalc.core.limits import MAX_EQUIV_ELEMENTS
from shapecalc.core.moves import Combine, Index, Roll, unravel
from shapecalc.core.ops import OPS
from shapecalc.core.problem import ShapeError, usage_error
from shapecalc.core.record import Choice, FrozenDict, Record, lazy, replace
from shapecalc.core.requests import check_size_names
from shapecalc.core.resolve import make_chain_requests
from shapecalc.core.results import sizes_with_results, substitute_results
from shapecalc.core.text import format_count, parse_shape, shape_text, split_outside_brackets
from shapecalc.core.values import to_shape
from shapecalc.reading.commands import ChainRequest, parse_chain_request, parse_stage, resolve_aliases
from shapecalc.reasoning.answers import IDENTITY_STAGES, answer_chain
from shapecalc.reasoning.examples import derive_sizes, iter_ascending_sizes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BLOCK_SIZE = 4096
"""The number of output elements that are compared at a time."""


MAX_TRIALS = 24
"""The maximum number of trials for each way to choose sizes: large sizes, multiples of divisors, small sizes."""

MAX_SUBSTITUTED_DIMS = 4000
"""The maximum number of dims that are evaluated at trial sizes, for each way to choose sizes."""

MAX_PROOF_WORK = 20_000
"""The maximum number of candidate conditions times the square of the number of dims.

The time of one proof is quadratic in the number of dims.
"""


class EquivalenceVerdict(Choice):
    """A verdict on whether two chains are the same function."""

    SAME = "same"
    SAME_WHEN = "same-when"
    DIFFERENT = "different"
    UNDECIDED = "undecided"


class Counterexample(Record):
    """Sizes for which two chains differ, and the first output element that differs."""

    sizes: Mapping[str, int]
    outputs: tuple[dims.Shape, dims.Shape]
    """The output shapes of the two chains."""
    index: Index | None = None
    """The index of the element in both outputs, or None if the output shapes differ."""
    elements: tuple[int, int] | None = None
    """The flat index of the input element that each chain has at `index`.

    None if the output shapes differ.
    """

    def __str__(self) -> str:
        sizes = ",".join(f"{name.replace('?', 'unknown ')}={size}" for name, size in self.sizes.items())
        prefix = f"with {sizes}, " if sizes else ""
        if self.index is None or self.elements is None:
            return f"{prefix}the outputs are {' and '.join(map(shape_text, self.outputs))}"
        one, other = self.elements
        return f"{prefix}at [{shape_text(self.index)}] the first has input element {one}, the second has {other}"


class Equivalence(Record):
    """The result of an equivalence check.

    The verdict is followed by the conditions or the counterexample behind it.
    """

    verdict: EquivalenceVerdict
    conditions: tuple[Conditions, ...] = ()
    """Alternative lists of conditions under which the chains are the same function.

    Empty unless the verdict is `same-when`.
    """
    defined: tuple[Conditions, Conditions] = ((), ())
    """The conditions under which each chain is defined."""
    counterexample: Counterexample | None = None
    """An element or a shape that differs between the chains, or None if no difference is known."""
    tested: int = 0
    """The number of trials."""
    by_shape: bool = False
    """Whether only shapes were compared, because an op such as matmul computes values."""

    def __bool__(self) -> bool:
        """Return whether the chains are the same function.

        Raises `TypeError` if the verdict depends on conditions, or is undecided.
        """
        if self.verdict in (EquivalenceVerdict.SAME, EquivalenceVerdict.DIFFERENT):
            return self.verdict is EquivalenceVerdict.SAME
        raise TypeError(f"the verdict is neither same nor different, but {self}: compare .verdict instead")

    def __repr__(self) -> str:
        return f"Equivalence({self})"

    def __str__(self) -> str:
        if self.verdict is not EquivalenceVerdict.SAME_WHEN:
            return str(self.verdict.value)
        alternatives = [" and ".join(condition.phrase for condition in conditions) for conditions in self.conditions]
        return f"same when {', or when '.join(alternatives)}"

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons for the verdict, as phrases for the user."""
        pairs = zip(("first", "second"), self.defined, strict=True)
        reasons = [
            f"the {which} is defined when {condition.phrase}" for which, conditions in pairs for condition in conditions
        ]
        if self.counterexample:
            reasons.append(str(self.counterexample))
        elif self.verdict is EquivalenceVerdict.UNDECIDED and self.by_shape:
            reasons.append("products, windows and joins are compared by their shapes alone, and these are the same")
        elif self.verdict is EquivalenceVerdict.UNDECIDED:
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
            and {
                name: dims.to_json(getattr(counterexample, name)) for name in ("sizes", "index", "elements", "outputs")
            },
            "tested": self.tested,
            "problem": None,
        }


def max_element_count(chain: MoveChain) -> int:
    """Return the element count of the largest tensor in a chain of known sizes."""
    return max(int(str(dims.product(shape))) for shape in chain.shapes)


def find_counterexample(
    first: MoveChain, second: MoveChain, sizes: Mapping[str, int], *, are_strided: bool
) -> Counterexample | None:
    """Return the first difference between two chains of integer dims, or None.

    `sizes` are the values of the symbolic sizes; the counterexample reports them. If `are_strided`, each output is a
    strided view of the input.

    >>> import shapecalc as sc
    >>> from shapecalc.reasoning.equiv import to_move_chain
    >>> first, second = to_move_chain(sc.transpose((2, 2))), to_move_chain(sc.flip((2, 2), 0))
    >>> print(find_counterexample(first, second, {}, are_strided=True))
    at [0,0] the first has input element 0, the second has 2
    """
    outputs = first.output, second.output
    if outputs[0] != outputs[1]:
        return Counterexample(sizes, outputs)
    with suppress(Undecided):
        known = Assumptions()
        first_view, second_view = first.view(known), second.view(known)
        if first_view == second_view:
            return None
    for index, elements in (
        _iter_atom_step_elements(first, second, first_view, second_view)
        if are_strided
        else _iter_elements_by_block(first, second)
    ):
        if elements[0] != elements[1]:
            return Counterexample(sizes, outputs, unravel(index, outputs[0]), elements)
    return None


def count_differences(first: Trace | Chain, second: Trace | Chain, counterexample: Counterexample) -> int | None:
    """Count the output elements that differ at the sizes of a counterexample.

    Returns None if the output shapes differ, or if the output has more than `MAX_EQUIV_ELEMENTS` elements.

    >>> import shapecalc as sc
    >>> pair = sc.chain("2,3", "reshape 3,2"), sc.chain("2,3", "transpose 1,0")
    >>> count_differences(*pair, sc.equiv(*pair).counterexample)
    4
    """
    if counterexample.index is None:
        return None
    sizes = counterexample.sizes
    chains = [to_move_chain(answer).substitute(sizes_with_results(answer.results, sizes)) for answer in (first, second)]
    if max(map(max_element_count, chains)) > MAX_EQUIV_ELEMENTS:
        return None
    elements = array("q", range(int(str(dims.product(chains[0].input)))))
    pairs = zip(*(apply_chain(chain, elements) for chain in chains), strict=True)
    return len([None for one, other in pairs if one != other])


def differences_text(count: int, counterexample: Counterexample) -> str:
    """Format the number of differing elements, with the total number of elements."""
    total = format_count(int(str(dims.product(counterexample.outputs[0]))), "element", "elements")
    return f"{count} of {total} {'is' if count == 1 else 'are'} elsewhere, and no error was raised"


def _iter_elements_by_block(first: MoveChain, second: MoveChain) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield flat output indices, each with the flat input index in both chains.

    The first few elements are yielded one by one, because most differences are there and no array is needed. The other
    elements are compared in blocks, and a block is yielded only if it contains a difference.
    """
    volumes = [int(str(dims.product(shape))) for shape in (first.input, first.output)]
    for index in range(volumes[1] // BLOCK_SIZE):
        yield index, (input_index(first, index), input_index(second, index))
    elements = array("q", range(volumes[0]))
    one, other = apply_chain(first, elements), apply_chain(second, elements)
    for start in range(0, volumes[1], BLOCK_SIZE):
        block, other_block = one[start : start + BLOCK_SIZE], other[start : start + BLOCK_SIZE]
        if block != other_block:
            yield from enumerate(zip(block, other_block, strict=True), start)


def _iter_atom_step_elements(
    first: MoveChain, second: MoveChain, first_view: View, second_view: View
) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield the output elements that suffice to compare two strided views.

    Each element is a flat output index, with the flat input index in each view. An axis of a view is a list of atoms,
    and an atom is a pair of a size and a stride. The first element is at index 0; the others are one step along each
    atom. Two strided views that differ anywhere differ at one of these elements.
    """
    corners, inner = [0], 1
    for size, *axes in zip(first.output[::-1], first_view.axes[::-1], second_view.axes[::-1], strict=True):
        inner_sizes = [[int(str(atom.size)) for atom in axis[:0:-1]] for axis in axes if axis]
        corners += sorted({inner * count for sizes in inner_sizes for count in accumulate(sizes, mul, initial=1)})
        inner *= int(str(size))
    for index in corners:
        yield index, (input_index(first, index), input_index(second, index))


def resolve_parsed_chains(first: ChainRequest, second: ChainRequest, sizes: Mapping[str, int]) -> tuple[Chain, Chain]:
    """Resolve two parsed chains.

    `sizes` maps symbolic sizes to their values. Raises `ShapeError` (usage) for a stage that cannot be parsed, and
    for a name in `sizes` that occurs in no chain.
    """
    known = [_symbolic_size_names(spec) if sizes else () for spec in (first, second)]
    check_size_names(sizes, known[0] + known[1])
    first_chain, second_chain = (
        answer_chain(spec.input, spec.stages, {name: sizes[name] for name in sizes if name in names})
        for spec, names in zip((first, second), known, strict=True)
    )
    return first_chain, second_chain


def _symbolic_size_names(parsed: ChainRequest) -> tuple[str, ...]:
    return dims.dim_names(
        [
            dim
            for request in make_chain_requests(parsed.input, parsed.stages or IDENTITY_STAGES, {})
            for dim in request.dims
        ]
    )


def parse_chain_pair(first: str, second: str, shape: object = None) -> tuple[ChainRequest, ChainRequest]:
    """Parse two chains that have the same input.

    The input is written in either chain, or is `shape`.

    >>> parse_chain_pair("x.permute(1, 0)", "2,3 | transpose")[0].input
    '2,3'
    """
    if shape is None and _is_code(first):
        right = parse_chain_or_code(second)
        return parse_chain_or_code(first, right.input), right
    left = parse_chain_or_code(first, shape)
    return left, parse_chain_or_code(second, left.input)


def parse_chain_or_code(text: str, shape: object = None) -> ChainRequest:
    """Parse a chain, a line of code, or a command line, with or without its input.

    `shape` is the input of code, and of a chain that does not contain its input. Raises `ShapeError` (usage) if the
    text cannot be parsed.

    >>> parse_chain_or_code("shuffle 2,3,4 --first 1,0,2"), parse_chain_or_code("transpose 1,0", "2,3").input
    (ChainRequest(input='2,3,4', stages=(('shuffle', {'first': '1,0,2'}),)), '2,3')
    """
    if _is_code(text):
        from shapecalc.reading.code import interpret_code

        if shape is None:
            raise usage_error("the code needs an input", "write --input 2,3")
        dims = parse_shape(shape) if isinstance(shape, str) else to_shape(shape)
        code = interpret_code(text, {"": dims})
        return ChainRequest(shape, code.stages)  # type: ignore[arg-type]  # a shape, as a string or as dims
    words = split_outside_brackets(text)
    if not words or (words[0] not in OPS and resolve_aliases(words[:1])[0] not in OPS):
        return parse_chain_request(text, shape)
    if shape is not None:
        with suppress(ShapeError):
            return parse_chain_request(f"| {text}", shape)
    stage, bar, stages = text.partition("|")
    parsed = parse_stage(split_outside_brackets(stage), with_input=True)
    if any(param.required and param.name not in parsed.options for param in OPS[parsed.op].params):
        raise usage_error("the first chain needs an input", "write --input 2,3, or INPUT | OP ...", argument="first")
    others = parse_chain_request(f"| {stages}", parsed.input).stages if bar else ()
    return ChainRequest(str(parsed.input), ((parsed.op, parsed.options), *others))


def _is_code(text: str) -> bool:
    """Return whether a text is code rather than a chain."""
    if not {*text} & {*"(["}:
        return False
    from shapecalc.reading.code import is_code  # imported here because few chains have brackets

    return is_code(text)


def resolve_chain_pair(first: str | Chain, second: str | Chain, sizes: Mapping[str, int]) -> tuple[Chain, Chain]:
    """Resolve two chains, unless they are already resolved.

    `sizes` maps symbolic sizes in the strings to their values. Raises `ShapeError` (usage) as `parse_chain_request`
    and `resolve_parsed_chains` do.
    """
    one: ChainRequest | Chain
    other: ChainRequest | Chain
    if isinstance(first, str) and isinstance(second, str):
        one, other = parse_chain_pair(first, second)
    else:
        one = parse_chain_or_code(first) if isinstance(first, str) else first
        other = parse_chain_or_code(second, one.input) if isinstance(second, str) else second
    specs = [chain for chain in (one, other) if isinstance(chain, ChainRequest)]
    answers = iter(resolve_parsed_chains(specs[0], specs[-1], sizes) if specs else ())
    return tuple([next(answers) if isinstance(chain, ChainRequest) else chain for chain in (one, other)])  # type: ignore[return-value]


def check_equivalence(
    first: Trace | Chain, second: Trace | Chain, max_elements: int = MAX_EQUIV_ELEMENTS
) -> Equivalence:
    """Decide whether two chains with the same input are the same function.

    At most `max_elements` elements are compared one by one. Raises `ShapeError` with the problem of a refused chain,
    and (usage) for different inputs and for the op `shape`.

    >>> import shapecalc as sc
    >>> shuffled = sc.chain("N,C,H", "transpose 0,2,1", "transpose 2,1,0", "transpose 1,2,0")
    >>> print(check_equivalence(shuffled, sc.chain("N,C,H", "transpose 0,1,2")))
    different
    """
    for which, answer in (("first", first), ("second", second)):
        if answer.problem:
            message = f"{which} chain, {answer.problem.message}"
            raise ShapeError(replace(answer.problem, message=message, argument=which, span=None), answer)
    if first.input != second.input:
        inputs = f"{shape_text(first.input)} and {shape_text(second.input)}"
        raise usage_error(
            f"the chains have different inputs: {inputs}", "begin the second with | to give it the first's"
        )
    if any(isinstance(move, Combine) for move in (*first.moves, *second.moves)):
        return _compare_shapes(first, second)
    return _EquivalenceCheck(first, second, max_elements).decide_equivalence()


def _compare_shapes(first: Trace | Chain, second: Trace | Chain) -> Equivalence:
    """Compare chains that compute values, such as chains with a matmul.

    Two chains are the same function if their requests are identical, and different if their output shapes differ
    for some sizes. Otherwise, the verdict is `undecided`.
    """
    defined = first.conditions, second.conditions
    answers = first, second
    requests = [[(trace.op, trace.dialect, trace.request.arguments) for trace in answer.traces] for answer in answers]
    if requests[0] == requests[1]:
        return Equivalence(EquivalenceVerdict.SAME, (), defined)
    names = dims.dim_names(dim for answer in (first, second) for trace in answer.traces for dim in trace.request.dims)
    for sizes in islice(iter_ascending_sizes(names, 2), MAX_TRIALS) if names else ({},):
        if can_hold(sum(defined, ()), sizes):
            outputs = [substitute_results(answer.output or (), answer.results, sizes) for answer in (first, second)]
            if outputs[0] != outputs[1] and dims.is_concrete(outputs[0] + outputs[1]):
                counterexample = Counterexample(FrozenDict(sizes), (outputs[0], outputs[1]))
                return Equivalence(EquivalenceVerdict.DIFFERENT, (), defined, counterexample, by_shape=True)
    return Equivalence(EquivalenceVerdict.UNDECIDED, (), defined, by_shape=True)


def can_replace(answer: Trace | Chain, other: Trace | Chain) -> bool:
    """Return whether `answer` provably equals `other` wherever `other` is defined.

    Both answers have the same input. Raises `ShapeError` (usage) as `check_equivalence` does.
    """
    pair = _EquivalenceCheck(other, answer)
    return pair.prove_equivalence(()) is not None and not pair.find_unimplied_conditions(1, 0, ())


class _StridedChain(Record):
    """A chain whose output is a strided view of its input for all sizes.

    Evaluating the view at given sizes is faster than evaluating the moves.
    """

    output: dims.Shape
    shapes: tuple[dims.Shape, ...]
    """The shapes of all tensors in the chain, without duplicates."""
    distinct_dims: dims.Shape
    """The dims of these shapes, without duplicates."""
    view: View

    @lazy
    def max_rank(self) -> int:
        """Return the largest rank in `shapes`."""
        return max(map(len, self.shapes))

    def evaluate_view(self, sizes: Mapping[str, int]) -> object:
        """Evaluate the view at given sizes: its shape, its atoms and its offset.

        Equal results mean equal outputs. Returns None if a dim is 0 or remains symbolic, or if an element count exceeds
        int64.
        """
        numbers: dict[dims.Dim, Any] = {dim: dims.substitute(dim, sizes) for dim in self.distinct_dims}
        if 0 in numbers.values() or not dims.is_concrete(numbers.values()):
            return None
        is_small = max(numbers.values(), default=1) ** self.max_rank <= dims.INT64_MAX
        if not is_small and max([prod([numbers[dim] for dim in shape]) for shape in self.shapes]) > dims.INT64_MAX:
            return None
        pairs = [[(dims.substitute(atom.size, sizes), atom.stride) for atom in axis] for axis in self.view.axes]
        atoms = [[(size, dims.substitute(stride, sizes)) for size, stride in axis if size != 1] for axis in pairs]
        offset = dims.sum_terms([dims.substitute(term, sizes) for term in self.view.offset])
        return [numbers[dim] for dim in self.output], atoms, offset


class _EquivalenceCheck:
    """An equivalence check of two chains."""

    def __init__(self, first: Trace | Chain, second: Trace | Chain, max_elements: int = MAX_EQUIV_ELEMENTS) -> None:
        self.chains, self.max_elements = (to_move_chain(first), to_move_chain(second)), max_elements
        self.defined, self.results = (first.conditions, second.conditions), (first.results, second.results)
        self.dims = tuple(dict.fromkeys(self.chains[0].dims + self.chains[1].dims))
        sides = [
            [side for condition in conditions for side in (condition.left, condition.right)]
            for conditions in self.defined
        ]
        used = [
            results if any(name in results for name in dims.dim_names(compared)) else {}
            for results, compared in zip(self.results, sides, strict=True)
        ]
        self.required = [*zip(used, self.defined, strict=True)]
        """Pairs of named results and of conditions that trial sizes must satisfy.

        A named result is a name such as H1 for a dim that is not a monomial. If both chains have the same named
        results, there is a single pair with all conditions. Named results that occur in no condition are omitted.
        """
        if used[0] == used[1]:
            self.required = [(used[0], tuple(dict.fromkeys(self.defined[0] + self.defined[1])))]
        all_dims = [*self.dims, *sides[0], *sides[1]]
        all_dims += [
            term for each in {**first.results, **second.results}.values() for term in each.terms + each.dividend
        ]
        self.names = tuple(
            [name for name in dims.dim_names(all_dims) if not any(name in results for results in self.results)]
        )

    def decide_equivalence(self) -> Equivalence:
        """Decide whether the two chains are the same function."""
        needed = self.prove_equivalence(())
        if needed is not None:
            verdict = EquivalenceVerdict.SAME_WHEN if needed else EquivalenceVerdict.SAME
            return Equivalence(verdict, (needed,) if needed else (), self.defined)
        trials = [*self._run_trials()]
        counterexample = next((trial for trial in trials if isinstance(trial, Counterexample)), None)
        if trials and not counterexample and not self.names:
            return Equivalence(EquivalenceVerdict.SAME, (), self.defined, None, len(trials))
        conditions = self._find_sufficient_conditions(trials)
        verdict = (
            EquivalenceVerdict.SAME_WHEN
            if conditions
            else EquivalenceVerdict.DIFFERENT
            if counterexample
            else EquivalenceVerdict.UNDECIDED
        )
        return Equivalence(verdict, conditions, self.defined, counterexample, len(trials))

    def prove_equivalence(self, assumptions: Conditions) -> Conditions | None:
        """Return conditions under which the chains are provably equal, or None.

        The proof assumes `assumptions`, which are part of the returned conditions. Returns None if the chains have
        different named results.
        """
        if self.results[0] != self.results[1]:
            return None
        try:
            known = Assumptions(self.dims, simplify_conditions((*self.defined[0], *self.defined[1], *assumptions)))
            numbers = {name: size for name, size in known.values.items() if isinstance(size, int)}
            if 0 in sizes_with_results(self.results[0], numbers).values():
                return None  # a view describes nonzero dims only
            first, second = (chain.substitute(known.values) for chain in self.chains)
            if first.output != second.output or (first != second and first.view(known) != second.view(known)):
                return None
        except (Unsatisfiable, Undecided):
            return None
        missing = self.find_unimplied_conditions(0, 1, assumptions) + self.find_unimplied_conditions(1, 0, assumptions)
        return simplify_conditions(assumptions + missing)

    def find_unimplied_conditions(self, index: int, other_index: int, assumptions: Conditions) -> Conditions:
        """Return the conditions of a chain that the other chain does not imply.

        `index` and `other_index` are the indices of the two chains in `chains`. The other chain is considered
        under its own conditions and the `assumptions`.
        """
        if self.defined[index] == self.defined[other_index]:
            return ()
        known = Assumptions(self.chains[other_index].dims, self.defined[other_index] + assumptions)
        return tuple([condition for condition in self.defined[index] if not known.implies(condition)])

    def _run_trials(self) -> Iterator[Counterexample | Mapping[str, int]]:
        """Compare the chains at several sizes.

        Yields the sizes of each trial, or the counterexample that it finds. The trials end before more than
        `max_elements` elements are compared.
        """
        budget, strided = self.max_elements, self._make_strided_chains()
        for sizes in self._iter_trial_sizes():
            known = [sizes_with_results(results, sizes) for results in self.results]
            if strided and (ours := strided[0].evaluate_view(known[0])) and ours == strided[1].evaluate_view(known[1]):
                yield sizes
                continue
            first, second = (chain.substitute(values) for chain, values in zip(self.chains, known, strict=True))
            if not dims.is_concrete(first.dims + second.dims) or max_element_count(first) > dims.INT64_MAX:
                continue
            are_strided = False
            with suppress(Undecided):
                are_strided = first.view(Assumptions()).is_strided and second.view(Assumptions()).is_strided
            budget -= 0 if are_strided else max(max_element_count(first), max_element_count(second))
            if budget < 0:
                return
            yield find_counterexample(first, second, sizes, are_strided=are_strided) or sizes

    def _make_strided_chains(self) -> tuple[_StridedChain, _StridedChain] | None:
        """Return both chains with their views, or None if a view is not strided."""
        with suppress(Unsatisfiable, Undecided):
            known = Assumptions(self.dims, simplify_conditions(self.defined[0] + self.defined[1]))
            views = [chain.substitute(known.values).view(known) for chain in self.chains]
            if all(view.is_strided for view in views):
                first, second = (
                    _StridedChain(chain.output, tuple({*chain.shapes}), chain.dims, view)
                    for chain, view in zip(self.chains, views, strict=True)
                )
                return first, second
        return None

    def _iter_trial_sizes(self) -> Iterator[Mapping[str, int]]:
        """Yield values of the symbolic sizes for which both chains are defined.

        Sizes of at least 2 come first, then multiples of the divisors in the conditions, then sizes of at least 1.
        """
        defined = self.defined[0] + self.defined[1]
        if not self.names:
            yield FrozenDict()
            return
        least = derive_sizes(self.names, defined)
        small = iter_ascending_sizes(self.names, 1)
        multiples = ({name: size * least[name] for name, size in sizes.items()} for sizes in small)
        seen = set()
        for choices in (iter_ascending_sizes(self.names, 2), multiples, iter_ascending_sizes(self.names, 1)):
            tried = islice(choices, MAX_SUBSTITUTED_DIMS // len(self.dims))
            valid = (sizes for sizes in tried if self._is_defined_at(sizes) and tuple(sizes.values()) not in seen)
            for sizes in islice(valid, MAX_TRIALS):
                seen.add(tuple(sizes.values()))
                yield FrozenDict(sizes)

    def _is_defined_at(self, sizes: Mapping[str, int]) -> bool:
        return all(
            can_hold(conditions, sizes_with_results(results, sizes) if results else sizes)
            for results, conditions in self.required
        )

    def _find_sufficient_conditions(
        self, trials: Iterable[Counterexample | Mapping[str, int]]
    ) -> tuple[Conditions, ...]:
        """Return alternative conditions under which the chains are provably equal.

        Single conditions are tried first. If none suffices, pairs of conditions are tried, without those that make a
        size 1.
        """
        differing = [trial.sizes for trial in trials if isinstance(trial, Counterexample)]
        agreeing = [trial for trial in trials if not isinstance(trial, Counterexample)]
        most_proofs = MAX_PROOF_WORK // (1 + len(self.dims) ** 2)
        candidates = [*islice(self._iter_candidate_conditions(), most_proofs)] if agreeing and self.names else []
        for_pairs = [condition for condition in candidates if condition.right != 1]
        for assumptions in (combinations(candidates, 1), combinations(for_pairs, 2)):
            proved: list[Conditions] = []
            for assumed in assumptions:
                is_refuted = any(can_hold(assumed, sizes) for sizes in differing)
                fits = not is_refuted and any(can_hold(assumed, sizes) for sizes in agreeing)
                needed = self.prove_equivalence(assumed) if fits else None
                if needed and not _implies_any(needed, proved):
                    proved.append(needed)
            if proved:
                return tuple(proved)
        return ()

    def _iter_candidate_conditions(self) -> Iterator[Condition]:
        """Yield conditions under which the chains may be equal, the weakest first."""
        named_dims = [dims.named_dim(name) for name in self.names]
        for divisor in _find_candidate_divisors(self.dims):
            for dim in named_dims:
                if divisor != dim:
                    yield from require_divisible(dim, divisor)
        yield from self._iter_full_roll_conditions()
        for one, other in combinations(named_dims, 2):
            yield from require_equal(one, other)
        for dim in named_dims:
            yield from require_equal(dim, 1)

    def _iter_full_roll_conditions(self) -> Iterator[Condition]:
        """Yield conditions under which rolls move no element.

        Each condition states that a size divides the shift of one roll, or the total shift of all rolls along axes of
        that size.
        """
        shifts_by_size: dict[dims.Dim, list[int]] = {}
        for chain, sign in zip(self.chains, (1, -1), strict=True):
            for shape, move in zip(chain.shapes, chain.moves, strict=False):
                if isinstance(move, Roll):
                    shifts_by_size.setdefault(shape[move.axis], []).append(sign * move.shift)
        for size, shifts in shifts_by_size.items():
            for shift in dict.fromkeys((sum(shifts), *shifts)):
                with suppress(Unsatisfiable):
                    yield from require_divisible(abs(shift), size)


def _implies_any(conditions: Conditions, alternatives: Iterable[Conditions]) -> bool:
    known = Assumptions((), conditions)
    return any(all(map(known.implies, implied)) for implied in alternatives)


def _find_candidate_divisors(all_dims: Iterable[dims.Dim]) -> tuple[dims.Dim, ...]:
    """Return candidate divisors of symbolic sizes.

    They are the coefficients of the dims, except 0 and 1, and the symbolic sizes in denominators.
    """
    divisors: list[dims.Dim] = []
    for dim in map(dims.monomial, all_dims):
        divisors += [dim.numerator, dim.denominator]
        divisors += [dims.named_dim(name) for name, power in dim.powers if power < 0]
    return tuple(dict.fromkeys(divisor for divisor in divisors if divisor not in (0, 1)))

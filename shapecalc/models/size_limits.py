"""Find conditions on the sizes of the free dims under which a model runs.

The model is walked at many *probes*, which are assignments of sizes to the free dims, and no node is fixed. Candidate
conditions, such as `H % 32 == 0` or `H*W == 400`, get their constants from a probe at which the model runs. A condition
is *necessary* if it holds at all probes at which the model runs. A set of necessary conditions is *complete* if each
probe at which the model fails violates one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations, permutations, product
from math import isqrt
from random import Random
from typing import NamedTuple

from shapecalc.core.record import FrozenDict, Record, replace
from shapecalc.models.batch_axis import LaneShapes
from shapecalc.models.file import Model, iter_nodes
from shapecalc.models.free_dims import InputChoice, Lane
from shapecalc.models.propagate import BatchTracker
from shapecalc.models.queries import NodeVisit
from shapecalc.models.walk import walk_model

Sizes = Mapping[str, int]
MAX_SINGLE_SIZE = 40
"""The largest size up to which every size of each dim is probed."""
MAX_FREE_DIMS = 5
"""The maximum number of free dims of a model whose conditions are searched."""
RANDOM_PROBES = 24
"""The number of random probes for each pair of dims, and for each condition on several dims."""
PROBES_PER_DIM = 50
"""The minimum number of probes that the visit budget must allow for each dim.

If it allows fewer, no conditions are searched.
"""
MAX_VISITS = 300_000
"""The maximum total number of node visits, over all probes of a model."""
SMALL_PROBES = ((2, 1), (3, 2), (5, 4))
"""The probes of a model without a failing node, each as the size of the first dim and the step from dim to dim."""
COMMON_SIZES = (48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 227, 256, 288, 299, 320, 384, 416, 448, 512)
"""The sizes above `MAX_SINGLE_SIZE` to probe, with one size for all dims."""
STRIDES, WINDOW_FACTORS = (2, 4, 8, 16, 32), (2, 3, 4, 7)
"""The candidate strides of windows, and the candidate divisors of the number of windows."""
MAX_REJECTED_CONDITIONS = 8
"""The maximum number of rejected conditions on two dims that are compared with the selected conditions."""
MAX_SELECTIONS = 4
"""The maximum number of rounds in which the selected conditions are tested at random probes."""
MAX_LISTED_SIZES = 6
"""The maximum number of sizes in a condition that lists the sizes of a dim."""
MAX_GAPS = 3
"""The maximum number of conditions that each exclude one size of a dim."""
MAX_SET_SIZE = 3
"""The maximum number of conditions in a complete set."""
MAX_PROBES_KEPT = 16
"""The maximum number of sizes in `SizeLimits.probes`."""
MAX_NECESSARY = 40
"""The maximum number of necessary conditions that are combined."""


class SizeCondition(NamedTuple):
    """A condition on the sizes of free dims."""

    text: str
    """The condition as a Python expression, such as `H*W == 400`."""
    names: tuple[str, ...]
    pins: bool
    """Whether the condition restricts one dim to one size, to a list of sizes, or to a bounded range."""
    is_loose: bool
    """Whether the condition is loose: a divisibility, a lower bound, or the exclusion of one size."""
    holds: Callable[[Sizes], bool]


class SizeLimits(Record):
    """The sizes at which a model runs."""

    conditions: tuple[SizeCondition, ...] = ()
    """The conditions on the free dims; empty if the model runs at all sizes, or if no conditions are known."""
    tried: Mapping[str, int] | None = None
    """Sizes at which the model runs, by dim name.

    It is None if no such sizes are known, or if there are no conditions.
    """
    is_complete: bool = True
    """Whether each probe at which the model fails violates one of the conditions."""
    probes: tuple[Mapping[str, int], ...] = ()
    """Other sizes at which the model runs; those that differ from `tried` in the most dims are first."""


class _ProbeTracker(BatchTracker):
    """A tracker that fixes no node, and records the probes at which nodes fail."""

    trial_attributes: tuple[str, ...] = (*BatchTracker.trial_attributes, "failed")

    def __init__(self) -> None:
        super().__init__()
        self.failed: set[int] = set()
        """The indices of the probes at which some node fails."""

    def visit_core_node(self, visit: NodeVisit) -> LaneShapes:
        return visit.outputs

    def record_lane_failures(self, failures: Sequence[object]) -> None:
        self.failed.update([lane for lane, failure in enumerate(failures) if failure])


class _Prober:
    """The outcomes of a model's walk at the probes."""

    def __init__(self, model: Model, choice: InputChoice) -> None:
        self.model, self.choice = model, choice
        self.outcomes: dict[tuple[int, ...], bool] = {}
        """Whether the model runs, for each tuple of the sizes of the dims."""
        reference = next(lane for lane in choice.lanes if lane.batch == choice.reference_batch)
        dims = dict.fromkeys(dim for shape in choice.inputs for dim in shape or () if isinstance(dim, str))
        if choice.declared_batch is not None:
            dims.pop(choice.batch, None)
        self.dims = [name for name in dims if name in reference.sizes and name not in choice.user_sizes]
        self.reference = reference.sizes
        self.max_probes = MAX_VISITS // (len(model.graph.nodes) + 1)

    def run(self, probes: Iterable[Sizes]) -> None:
        """Walk the model at probes, and record whether it runs at each of them."""
        new = {self._key(probe): {**self.reference, **probe} for probe in probes}
        new = {key: probe for key, probe in new.items() if key not in self.outcomes}
        room = max(self.max_probes - len(self.outcomes), 0)
        probes = [*new.values()][:room]
        if not probes:
            return
        batch = self.choice.batch
        lanes = [Lane(probe.get(batch, 1), FrozenDict(probe), judged=False) for probe in probes]
        tracker = _ProbeTracker()
        walk_model(self.model, replace(self.choice, lanes=tuple(lanes)), tracker)
        for lane, key in enumerate([*new][:room]):
            self.outcomes[key] = lane not in tracker.failed

    def can_run_at(self, probe: Sizes) -> bool:
        """Return whether the model runs at a probe.

        Returns False if the probe was not walked.
        """
        return self.outcomes.get(self._key({**self.reference, **probe}), False)

    def walked_probes(self, *, runs: bool) -> list[dict[str, int]]:
        """Return the walked probes at which the model runs, or, if `runs` is False, fails."""
        return [dict(zip(self.dims, key, strict=True)) for key, outcome in self.outcomes.items() if outcome == runs]

    def _key(self, probe: Sizes) -> tuple[int, ...]:
        return tuple([probe.get(name, self.reference[name]) for name in self.dims])


def find_size_limits(model: Model, choice: InputChoice, *, has_failures: bool) -> SizeLimits:
    """Find the conditions on the free dims under which a model runs.

    `has_failures` is whether some node failed in a walk with this choice. If it is False, the model is first walked at
    a few small sizes, and conditions are searched only if it fails at one of them.
    """
    prober = _Prober(model, choice)
    if not prober.dims or len(prober.dims) > MAX_FREE_DIMS or PROBES_PER_DIM * len(prober.dims) > prober.max_probes:
        return SizeLimits()
    others = [name for name in prober.dims if name != choice.batch]
    if not has_failures:
        if not others:
            return SizeLimits()
        ranks = {name: index for index, name in enumerate(others)}
        small = [{name: first + step * rank for name, rank in ranks.items()} for first, step in SMALL_PROBES]
        prober.run([{}, dict.fromkeys(others, 1), *small])
        if all(prober.outcomes.values()):
            return SizeLimits()
    prober.run([{}])
    is_equal = len({prober.reference[name] for name in others}) < 2
    if not (is_equal and prober.can_run_at({})):
        prober.run(_iter_search_probes(prober, others))
    reference = _find_running_probe(prober)
    if reference is None or len(prober.outcomes) + PROBES_PER_DIM * len(prober.dims) > prober.max_probes:
        return SizeLimits()
    prober.reference = FrozenDict({**prober.reference, **reference})
    prober.run(_iter_neighbor_probes(prober))
    templates = [*_iter_candidate_conditions(prober.dims, prober.reference, _candidate_strides(model))]
    single = [_allow_size_one(template, name) for template in templates for name in template.names]
    both = [
        _allow_size_one(_allow_size_one(t, t.names[0]), t.names[1])
        for t in templates
        if len(t.names) == 2 and not t.is_loose
    ]
    templates += single + both
    prober.run(_iter_condition_probes(prober))
    chosen, is_complete = _select_conditions(prober, templates)
    for seed in range(MAX_SELECTIONS):
        known = len(prober.outcomes)
        prober.max_probes = max(prober.max_probes, known + 2 * len(chosen) * RANDOM_PROBES)
        prober.run(_iter_refuting_probes(chosen, seed))
        prober.run(_iter_distinguishing_probes(prober, chosen, templates, seed))
        if all(_has_predicted_outcome(prober, chosen, key) for key in [*prober.outcomes][known:]):
            break
        chosen, is_complete = _select_conditions(prober, templates)
    if not chosen and is_complete:
        return SizeLimits()
    named = {*others, *[name for condition in chosen for name in condition.names]}
    tried = {name: size for name, size in reference.items() if name in named}
    running = [probe for probe in prober.walked_probes(runs=True) if 1 not in [probe[name] for name in others]]
    running.sort(key=lambda probe: sum(probe[name] == reference[name] for name in others))
    return SizeLimits(tuple(chosen), FrozenDict(tried), is_complete, tuple(running[:MAX_PROBES_KEPT]))


def _iter_refuting_probes(conditions: Sequence[SizeCondition], seed: int) -> Iterator[Sizes]:
    """Yield random probes for each condition on several dims, to refute the condition."""
    random = Random(seed)
    for names in dict.fromkeys(condition.names for condition in conditions if len({*condition.names}) > 1):
        for _ in range(RANDOM_PROBES):
            yield {name: random.randint(1, MAX_SINGLE_SIZE) for name in dict.fromkeys(names)}


def _iter_distinguishing_probes(
    prober: _Prober, conditions: Sequence[SizeCondition], templates: Sequence[SizeCondition], seed: int
) -> Iterator[Sizes]:
    """Yield probes at which a rejected condition holds, but the selected conditions do not.

    The rejected conditions are the necessary conditions on two dims that were not selected. Few sizes satisfy an
    equation of two dims, so that random probes seldom distinguish two equations.
    """
    random, running = Random(seed), prober.walked_probes(runs=True)
    for names in dict.fromkeys(condition.names for condition in conditions if len({*condition.names}) == 2):
        points = [
            {**prober.reference, **dict(zip(dict.fromkeys(names), sizes, strict=True))}
            for sizes in product(range(1, MAX_SINGLE_SIZE + 1), repeat=2)
        ]
        excluded = [point for point in points if not all(condition.holds(point) for condition in conditions)]
        disputed = [
            [point for point in excluded if template.holds(point)]
            for template in templates
            if {*template.names} == {*names} and not template.is_loose and all(map(template.holds, running))
        ]
        for group in disputed[:MAX_REJECTED_CONDITIONS]:
            yield from random.sample(group, min(len(group), RANDOM_PROBES // MAX_REJECTED_CONDITIONS))


def _candidate_strides(model: Model) -> list[int]:
    """Return the candidate strides of windows.

    The strides of the model's nodes and their products are first, followed by `STRIDES`.
    """
    strides = {
        size
        for node in iter_nodes((model.graph,))
        for size in node.attributes.get("strides") or ()
        if isinstance(size, int) and 1 < size <= MAX_SINGLE_SIZE
    }
    products = {a * b for a in strides for b in strides if a * b <= MAX_SINGLE_SIZE}
    return [*dict.fromkeys([*sorted(strides), *sorted(products), *STRIDES])]


def _has_predicted_outcome(prober: _Prober, conditions: Sequence[SizeCondition], key: tuple[int, ...]) -> bool:
    """Return whether conditions predict correctly whether the model runs at a walked probe."""
    probe = dict(zip(prober.dims, key, strict=True))
    return prober.outcomes[key] == all(condition.holds(probe) for condition in conditions)


def _iter_search_probes(prober: _Prober, others: Sequence[str]) -> Iterator[Sizes]:
    """Yield probes, one of which the model may run at.

    Either all dims have the same size, or one dim has a new size.
    """
    yield {}
    for size in (*range(1, MAX_SINGLE_SIZE + 1), *COMMON_SIZES):
        yield dict.fromkeys(others, size)
        for name in prober.dims:
            yield {name: size}


def _find_running_probe(prober: _Prober) -> dict[str, int] | None:
    """Return a probe at which the model runs, or None.

    Probes with few sizes of 1 are preferred, then probes with few distinct sizes, then probes near the reference probe.
    """
    running = prober.walked_probes(runs=True)

    def sort_key(probe: Sizes) -> tuple[int, int, int]:
        sizes = [size for name, size in probe.items() if name != prober.choice.batch]
        return sizes.count(1), len({*sizes}), sum(abs(size - prober.reference[name]) for name, size in probe.items())

    return min(running, key=sort_key, default=None)


def _iter_neighbor_probes(prober: _Prober) -> Iterator[Sizes]:
    """Yield probes that differ from the reference probe in one dim, or in two dims at random."""
    reference, random = prober.reference, Random(1)
    for name in prober.dims:
        near = [reference[name] + step for step in (-2, -1, 1, 2, 3)]
        multiples = [reference[name] * times for times in (2, 3, 5)] + [reference[name] // 2]
        for size in (*range(1, MAX_SINGLE_SIZE + 1), *near, *multiples):
            if size > 0:
                yield {name: size}
    for pair in combinations(prober.dims, 2):
        for _ in range(RANDOM_PROBES):
            yield {name: random.randint(1, MAX_SINGLE_SIZE) for name in pair}


class _Quantity(NamedTuple):
    """An expression in the sizes of dims."""

    text: str
    names: tuple[str, ...]
    value: Callable[[Sizes], int]


def _size(name: str) -> _Quantity:
    return _Quantity(name, (name,), lambda sizes: sizes[name])


def _add_constant(quantity: _Quantity, more: int) -> _Quantity:
    text = f"{quantity.text} {'-' if more < 0 else '+'} {abs(more)}"
    return _Quantity(text, quantity.names, lambda sizes: quantity.value(sizes) + more)


def _multiply(quantity: _Quantity, factor: int) -> _Quantity:
    return _Quantity(f"{factor}*{quantity.text}", quantity.names, lambda sizes: quantity.value(sizes) * factor)


def _sum(a: _Quantity, b: _Quantity) -> _Quantity:
    return _Quantity(f"{a.text} + {b.text}", a.names + b.names, lambda sizes: a.value(sizes) + b.value(sizes))


def _product(a: _Quantity, b: _Quantity) -> _Quantity:
    second = f"({b.text})" if "//" in b.text else b.text
    return _Quantity(f"{a.text}*{second}", a.names + b.names, lambda sizes: a.value(sizes) * b.value(sizes))


def _window_count(name: str, by: int, more: int) -> _Quantity:
    """Return the number of windows along a dim, `(name + more) // by`."""
    text = f"({_add_constant(_size(name), more).text})//{by}" if more else f"{name}//{by}"
    return _Quantity(text, (name,), lambda sizes: (sizes[name] + more) // by)


def _value_condition(quantity: _Quantity, value: int) -> SizeCondition:
    pins = len(quantity.names) == 1
    return SizeCondition(
        f"{quantity.text} == {value}", quantity.names, pins, False, lambda sizes: quantity.value(sizes) == value
    )


def _equality_condition(a: _Quantity, b: _Quantity) -> SizeCondition:
    return SizeCondition(
        f"{a.text} == {b.text}", a.names + b.names, False, False, lambda sizes: a.value(sizes) == b.value(sizes)
    )


def _remainder_condition(quantity: _Quantity, by: int, rest: int = 0) -> SizeCondition:
    return SizeCondition(
        f"{quantity.text} % {by} == {rest}",
        quantity.names,
        False,
        True,
        lambda sizes: quantity.value(sizes) % by == rest,
    )


def _allow_size_one(template: SizeCondition, name: str) -> SizeCondition:
    """Relax a condition so that it also holds if a dim is 1, and is therefore broadcast."""
    return template._replace(
        text=f"{template.text} or {name} == 1",
        pins=False,
        holds=lambda sizes: sizes[name] == 1 or template.holds(sizes),
    )


def _iter_candidate_conditions(
    dims: Sequence[str], reference: Sizes, strides: Sequence[int]
) -> Iterator[SizeCondition]:
    """Yield candidate conditions that hold at `reference`, the simplest first.

    `strides` are the candidate strides of windows.
    """
    for name in dims:
        for by in range(2, MAX_SINGLE_SIZE + 1):
            yield _remainder_condition(_size(name), by, reference[name] % by)
        yield from [_remainder_condition(_size(name), by) for by in _divisors(reference[name]) if by > MAX_SINGLE_SIZE]
        yield _value_condition(_size(name), reference[name])
    pairs = [*combinations(map(_size, dims), 2)]
    yield from [_equality_condition(a, b) for a, b in pairs if a.value(reference) == b.value(reference)]
    for a, b in pairs:
        total = _product(a, b)
        yield _value_condition(total, total.value(reference))
        yield from [_remainder_condition(total, by) for by in _divisors(total.value(reference))]
    for a, b, c in combinations(map(_size, dims), 3):
        total = _product(_product(a, b), c)
        yield _value_condition(total, total.value(reference))
    yield from _iter_linear_conditions(dims, reference)
    yield from _iter_window_conditions(dims, reference, strides)


def _iter_linear_conditions(dims: Sequence[str], reference: Sizes) -> Iterator[SizeCondition]:
    """Yield candidate conditions that equate a dim with a sum or multiple of other dims."""
    for a, b in permutations(map(_size, dims), 2):
        more = a.value(reference) - b.value(reference)
        if more > 0:
            yield _equality_condition(a, _add_constant(b, more))
            if a.value(reference) % b.value(reference) == 0:
                yield _equality_condition(a, _multiply(b, a.value(reference) // b.value(reference)))
    for total in map(_size, dims):
        for a, b in combinations(map(_size, dims), 2):
            if total.text not in (a.text, b.text) and total.value(reference) == _sum(a, b).value(reference):
                yield _equality_condition(total, _sum(a, b))


def _iter_window_conditions(dims: Sequence[str], reference: Sizes, strides: Sequence[int]) -> Iterator[SizeCondition]:
    """Yield candidate conditions on the number of windows along dims."""
    for by in strides:
        for more in range(by - 1, -by, -1):
            counts = [count for name in dims if (count := _window_count(name, by, more)).value(reference) > 0]
            for count in counts:
                yield from [
                    _remainder_condition(count, times)
                    for times in WINDOW_FACTORS
                    if count.value(reference) % times == 0
                ]
            for a, b in combinations(counts, 2):
                if a.value(reference) == b.value(reference):
                    yield _equality_condition(a, b)
                windows = _product(a, b)
                yield _value_condition(windows, windows.value(reference))
                for third in [_size(name) for name in dims if name not in windows.names]:
                    total = _product(windows, third)
                    yield _value_condition(total, total.value(reference))


def _divisors(number: int) -> list[int]:
    """Return the divisors of a number, except 1."""
    small = [by for by in range(1, isqrt(number) + 1) if number % by == 0]
    return sorted({*small, *[number // by for by in small]} - {1})


def _iter_condition_probes(prober: _Prober) -> Iterator[Sizes]:
    """Yield probes that satisfy likely conditions, such as equal products of dims."""
    reference, dims = prober.reference, prober.dims
    for a, b in permutations(dims, 2):
        total = reference[a] * reference[b]
        for size in [by for by in (1, *_divisors(total)) if max(by, total // by) <= 32 * MAX_SINGLE_SIZE][:12]:
            yield {a: size, b: total // size}
        for size in (1, 2, 3, 7, 12, 30, reference[a] * 2):
            ratio, rest = divmod(reference[a], reference[b])
            yield {a: size + max(reference[a] - reference[b], 0), b: size}
            if not rest:
                yield {a: size * ratio, b: size}
            yield {a: size, b: size}
    for a, b, c in permutations(dims, 3):
        if b < c and reference[a] == reference[b] + reference[c]:
            for first, second in ((1, 2), (3, 1), (5, 8), (12, 7)):
                yield {a: first + second, b: first, c: second}
                yield {a: first + second + 1, b: first, c: second}


def _select_conditions(prober: _Prober, templates: Sequence[SizeCondition]) -> tuple[list[SizeCondition], bool]:
    """Select a small complete set of necessary conditions.

    Returns the selected conditions, and whether they are complete.
    """
    running, failing = prober.walked_probes(runs=True), prober.walked_probes(runs=False)
    if not failing:
        return [], True
    templates = [*templates, *_iter_range_conditions(prober, running)]
    rejected: dict[int, SizeCondition] = {}
    for template in templates:
        if all(template.holds(probe) for probe in running):
            mask = sum(1 << index for index, probe in enumerate(failing) if not template.holds(probe))
            known = rejected.get(mask)
            if mask and (known is None or (known.is_loose and not template.is_loose and len(template.names) == 1)):
                rejected[mask] = template
    every = (1 << len(failing)) - 1
    masks = sorted(rejected, key=lambda mask: -mask.bit_count())[:MAX_NECESSARY]
    masks.sort(key=[*rejected].index)
    for count in range(1, MAX_SET_SIZE + 1):
        for chosen in combinations(masks, count):
            union = 0
            for mask in chosen:
                union |= mask
            if union == every:
                return [rejected[mask] for mask in chosen], True
    return [], False


def _iter_range_conditions(prober: _Prober, passing_probes: Sequence[Sizes]) -> Iterator[SizeCondition]:
    """Yield candidate conditions that restrict a dim to its sizes in `passing_probes`."""
    failing = prober.walked_probes(runs=False)
    for name in prober.dims:
        sizes = sorted({probe[name] for probe in passing_probes})
        if sizes[0] > 1:
            yield SizeCondition(f"{name} >= {sizes[0]}", (name,), False, True, partial(_is_at_least, name, sizes[0]))
        gaps = sorted({probe[name] for probe in failing} - {*sizes})
        yield from [
            SizeCondition(f"{name} != {gap}", (name,), False, True, partial(_differs_from, name, gap))
            for gap in gaps
            if gap > sizes[0]
        ][:MAX_GAPS]
        if sizes[1:] and sum(probe[name] > sizes[-1] for probe in failing) > 2:
            bounds = f"{name} <= {sizes[-1]}"
            text = f"{sizes[0]} <= {bounds}" if sizes[0] > 1 else bounds
            yield SizeCondition(text, (name,), True, False, partial(_is_one_of, name, range(sizes[0], sizes[-1] + 1)))
            if len(sizes) <= MAX_LISTED_SIZES:
                text = f"{name} in ({', '.join(map(str, sizes))})"
                yield SizeCondition(text, (name,), True, False, partial(_is_one_of, name, sizes))


def _is_at_least(name: str, low: int, sizes: Sizes) -> bool:
    return sizes[name] >= low


def _differs_from(name: str, size: int, sizes: Sizes) -> bool:
    return sizes[name] != size


def _is_one_of(name: str, allowed: Container[int], sizes: Sizes) -> bool:
    return sizes[name] in allowed

"""Choose sizes for the free dims of a model, and fit symbolic dims.

A *free dim* is an input dim without a fixed size; it has a name. A *size assignment* (`Lane`) gives a size to each free
dim, including the batch dim. A *walk* computes the shapes of all tensors of the model for several size assignments at
once.

Before a walk, sizes are chosen for the free dims. After the walk, a symbolic expression is fitted to the sizes of each
dim for the size assignments. A fixed dim that may be the batch dim can be *freed*: it is replaced by the name of the
batch dim.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain, combinations, combinations_with_replacement, count, cycle, islice
from itertools import product as every_choice
from operator import ne

import numpy as np
from numpy.linalg import matrix_rank

from shapecalc.core.answers import EMPTY_DICT
from shapecalc.core.conditions import Condition, can_hold
from shapecalc.core.dims import Dim, lowest_terms
from shapecalc.core.problem import usage_error
from shapecalc.core.record import FrozenDict, Record
from shapecalc.core.text import escape_unprintable, truncate
from shapecalc.models.batch_axis import LaneShapes
from shapecalc.models.file import Model, ValueInfo

InputDims = list[int | str] | None
"""The shape of an input, with the name of each free dim, or None if the rank is unknown."""
InputKey = tuple[object, ...]
"""The key of a group of inputs in which the same axis is freed.

Inputs with equal declared shapes form a group. An input of rank 1, or without a shape, is a group of its own, and its
key contains its name.
"""
DEFAULT_SIZES = (64, 224, 128, 8)
"""The sizes to try for the free dims whose size the user has not set."""
BATCH_NAMES = ("N", "B", "batch")
"""The candidate names for a batch dim that has no name in the file."""
CERTAIN_BATCH_NAMES = ("batch", "batch_size", "bs")
"""The dim names that mean the batch dim on any axis."""
FIRST_AXIS_BATCH_NAMES = ("N", "B")
"""The dim names that mean the batch dim on axis 0."""
NO_BATCH = "none"
"""The value of `--batch` for a model without a batch dim."""
VALIDATION_BATCHES = (5, 7, 11, 13, 17)
"""The batch sizes of size assignments that are used only to fit symbolic dims."""
PERTURBATIONS = ((0, ()), (2, (-2, 8, 1)), (4, (32, 8, 1)), (7, (1,)))
"""The ways to perturb the sizes of the free dims, except the batch dim.

Each entry is a start index in `PRIMES` and a list of candidate steps. A perturbation adds a prime multiple of a step to
each size. The step is the first candidate that is smaller than the size and divides the size; -2 means half of the
size. If no candidate fits, the step is the size itself. Models often halve image sizes; the step of 1 in the last entry
reveals rounding.
"""
REPLACE_BY_PRIME = (0,)
"""The candidate steps of a perturbation that replaces each size by a prime."""
EXTRA_PERTURBATIONS = (
    *[(first, (1,)) for first in (8, 1, 9, 3, 10, 5, 11)],
    (1, REPLACE_BY_PRIME),
    (2, REPLACE_BY_PRIME),
)
"""Additional perturbations for the option `--all`. The last two yield small sizes, most others odd sizes."""
PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
"""The factors that perturb sizes."""
MAX_NAME_LENGTH = 40
"""The maximum length of a dim name that is taken from the file."""
MAX_RELATIONS = 12
"""The maximum number of pairs of free dims that are assumed equal, and of dims that are assumed to be sums."""
MAX_GUESSES, MAX_CHOICES = 16, 512
"""The maximum number of guesses of the input shapes, and of the candidate combinations that are ranked for them."""
SIZE_SEARCH_RANGE = 4096
"""The number of consecutive sizes to try until a dim satisfies the conditions, from the initial size upwards."""
Powers = tuple[tuple[str, int], ...]
"""A product of powers of dim names, as pairs of name and exponent."""
Term = tuple[Powers, tuple[int | Fraction, ...]]
"""A product of powers of dim names, and the value of the product for each size assignment."""
LinearSystems = tuple[list[tuple[Term, ...]], np.ndarray, np.ndarray]
"""The linear systems of the candidate sums.

These are the terms of each sum, its matrix (size assignments by terms), and the pseudo-inverse of the matrix.
"""
MAX_NAMES = 8
"""The maximum number of dim names from which candidate products are built."""
MAX_COEFFICIENT = 10**6
"""The exclusive upper bound for the absolute values of the coefficients in a fitted sum."""


class BatchOptions(Record):
    """The user's options for the batch dim and for the sizes."""

    batch: str | None = None
    """The name of the batch dim; None selects the first dim of the first input."""
    sizes: tuple[int, ...] = (1, 2, 3)
    """The batch sizes to judge, in addition to the declared batch size."""
    shapes: Mapping[str, tuple[int | str, ...]] = EMPTY_DICT
    """The shapes of inputs by input name, from `--set`."""
    where: Mapping[str, int] = EMPTY_DICT
    """The sizes of free dims by dim name, from `--where`; the batch dim is excluded."""


class Lane(Record):
    """A size assignment: a size for each free dim of a model.

    A walk computes all size assignments at once, like the lanes of a vector instruction.
    """

    batch: int
    sizes: Mapping[str, int]
    """The size of each free dim by name, including the batch dim."""
    judged: bool
    """Whether verdicts are based on this size assignment. It is False for a validation size assignment and for a batch
    size of 0.
    """
    perturbed: bool = False
    """Whether the sizes, except the batch size, are perturbed and satisfy the known conditions."""


class InputChoice(Record):
    """The input shapes and size assignments that a walk uses."""

    batch: str
    declared_batch: int | None
    """The declared batch size, or None if the batch dim has no fixed size in the file."""
    inputs: tuple[tuple[int | str | None, ...] | None, ...]
    lanes: tuple[Lane, ...]
    """The judged lanes, sorted by batch size, then the validation lanes, then the lane with a batch size of 0."""
    reference_batch: int = 1
    """The batch size at which the original model runs.

    This is the declared batch size, or, for a free batch dim, 1 or another size that works.
    """
    names: Mapping[str, str] = EMPTY_DICT
    """The meaning of each replaced dim name: the name in the file, or the expression that the dim is assumed to equal.
    """
    assumed: Mapping[str, int] = EMPTY_DICT
    """The assumed size of each free dim whose size the user has not set, by name, except the batch dim."""
    uncertain_count: int = 0
    """The number of inputs with the declared shape (1,) whose dim was freed.

    Such an input may be a scalar for the whole batch instead of one value per sample.
    """
    user_inputs: frozenset[str] = frozenset()
    """The names of the inputs whose shape the user has set."""
    user_sizes: frozenset[str] = frozenset()
    """The names of the dims whose size the user has set."""
    extra_lanes: tuple[Lane, ...] = ()
    """Additional size assignments that are walked only for the option `--all`."""


class DimSum(Record):
    """A sum of dims, for example `19200*N+1` or `S+past`.

    A sum has at least two terms; a constant term is last.
    """

    terms: tuple[Dim, ...]

    def __str__(self) -> str:
        """Format the sum.

        >>> from shapecalc.core.dims import named_dim
        >>> print(DimSum((named_dim("N"), -1)))
        N-1
        """
        return "+".join(map(str, self.terms)).replace("+-", "-")


SymbolicDim = Dim | DimSum | None
"""A dim: an integer, a product of powers of dim names (`Dim`), a sum, or None if unknown."""
SymbolicShape = tuple[SymbolicDim, ...]
"""A shape of symbolic dims."""


class InputGuess:
    """A guess of the input shapes; the sizes of the free dims are chosen later."""

    def __init__(
        self, guesser: _ShapeGuesser, shapes: list[InputDims], doubtful_count: int, judged_sizes: Sequence[int]
    ) -> None:
        """Collect the free dims in the shapes.

        `doubtful_count` is stored as `InputChoice.uncertain_count`, and `judged_sizes` are the batch sizes to check.
        Raises `ShapeError` (usage) if `--where` names a dim that is not free.
        """
        self._guesser, self._shapes, self._doubtful, self._judged = guesser, shapes, doubtful_count, judged_sizes
        free = dict.fromkeys(dim for dims in shapes for dim in dims or () if isinstance(dim, str))
        self._other_dims = [name for name in free if name != guesser.batch]
        _check_size_names(guesser.where, self._other_dims, guesser.batch)
        self.unsized_dims = [name for name in self._other_dims if name not in guesser.where]
        """The names of the free dims whose size the user has not set, except the batch dim."""

    def choose_sizes(
        self,
        conditions: Sequence[Condition] = (),
        default_size: int | None = None,
        sums: Mapping[str, Sequence[str]] = EMPTY_DICT,
        tried: Mapping[str, int] = EMPTY_DICT,
        probes: Sequence[Mapping[str, int]] = (),
    ) -> InputChoice:
        """Choose sizes that satisfy conditions, and build the size assignments.

        `default_size` is used for every dim whose size the user has not set, instead of declared and default sizes.
        `sums` maps a dim name to the terms of the sum that the dim is assumed to equal. `tried` contains sizes at which
        the model runs; they have priority over other choices. `probes` contains such sizes for the size assignments
        that are not judged.
        """
        naming, others = self._guesser, self._other_dims
        totals = {**{name: terms for name in others if (terms := naming.sum_terms(name, others))}, **sums}
        sizes = {
            **dict.fromkeys(others, default_size or DEFAULT_SIZES[0]),
            **({} if default_size else naming.declared_sizes),
            **naming.where,
            **tried,
        }
        totals = {name: terms for name, terms in totals.items() if name not in tried}
        reference_batch = naming.declared_batch or tried.get(naming.batch, 1)
        home = {naming.batch: reference_batch}
        base = {name: sizes[name] for name in others if name not in totals}
        unsized = [name for name in self.unsized_dims if name in base and name not in tried]
        base = _satisfy_conditions(base, conditions, unsized, home)
        judged = sorted({*self._judged, reference_batch, *([2 * reference_batch] if naming.batch in tried else [])})
        held_back = (batch for batch in chain(VALIDATION_BATCHES, count(judged[-1] + 1)) if batch not in judged)
        lanes = [naming.build_lane(batch, base, totals, judged=True) for batch in judged]
        lanes.append(naming.build_lane(next(held_back), base, totals))
        moved = self._build_other_lanes(held_back, base, conditions, totals, probes if tried else None)
        lanes += moved[: len(PERTURBATIONS)]
        if naming.batch:
            lanes.append(naming.build_lane(0, base, totals))
        return InputChoice(
            naming.batch,
            naming.declared_batch,
            tuple([None if dims is None else tuple(dims) for dims in self._shapes]),
            tuple(lanes),
            reference_batch,
            FrozenDict({**naming.written_names, **{name: " + ".join(terms) for name, terms in sums.items()}}),
            FrozenDict({name: lanes[0].sizes[name] for name in self.unsized_dims}),
            self._doubtful,
            frozenset(naming.user_shapes),
            frozenset(naming.where),
            tuple(moved[len(PERTURBATIONS) :]),
        )

    def _build_other_lanes(
        self,
        batches: Iterator[int],
        base: Mapping[str, int],
        conditions: Sequence[Condition],
        totals: Mapping[str, Sequence[str]],
        probes: Sequence[Mapping[str, int]] | None,
    ) -> list[Lane]:
        """Build size assignments whose sizes, except the batch size, differ from `base`.

        `probes` contains sizes at which the model runs, or is None if no conditions on the sizes are known.
        """
        naming, lanes = self._guesser, list[Lane]()
        for move in (*PERTURBATIONS, *EXTRA_PERTURBATIONS) if self._other_dims else ():
            batch, sizes = next(batches), _perturb_sizes(base, *move)
            fitting = _satisfy_conditions(sizes, conditions, [*sizes], {naming.batch: batch})
            if probes is not None:
                probe = probes[len(lanes) % len(probes)] if probes else {}
                sizes = {name: probe.get(name, size) for name, size in base.items()}
                lanes.append(naming.build_lane(batch, sizes, totals, perturbed=sizes != base))
            elif any(fitting[name] == base[name] for name in base) and move is PERTURBATIONS[-1]:
                # no other sizes satisfy the conditions, so that this assignment violates them
                lanes.append(naming.build_lane(batch, sizes, totals))
            else:
                lanes.append(naming.build_lane(batch, fitting, totals, perturbed=fitting != base))
        return lanes

    def iter_fallback_choices(self) -> Iterator[InputChoice]:
        """Yield choices with other default sizes, then choices with equal or summed dims."""
        for size in DEFAULT_SIZES[not self._guesser.declared_sizes :] if self.unsized_dims else ():
            yield self.choose_sizes((), size)
        yield from self.iter_related_dim_choices()

    def iter_related_dim_choices(self, conditions: Sequence[Condition] = ()) -> Iterator[InputChoice]:
        """Yield choices in which free dims are equal or sums of each other.

        The first choice makes all dims equal, the next choices make two dims equal, and the last choices make one dim
        the sum of two dims. For example, the length of an attention mask is the number of past tokens plus the number
        of new tokens.
        """
        names = self.unsized_dims
        all_equal: list[Mapping[str, Sequence[str]]] = [dict.fromkeys(names[1:], names[:1])] if names[2:] else []
        pairs: Iterator[Mapping[str, Sequence[str]]] = ({second: (first,)} for first, second in combinations(names, 2))
        sums = ({name: pair} for name in reversed(names) for pair in combinations([o for o in names if o != name], 2))
        for relation in chain(all_equal, islice(pairs, MAX_RELATIONS), islice(sums, MAX_RELATIONS)):
            yield self.choose_sizes(conditions, sums=relation)


def guess_inputs(model: Model, options: BatchOptions) -> Iterator[InputGuess]:
    """Yield guesses of the input shapes of a model, the likeliest first.

    Raises `ShapeError` (usage) if the options name an unknown input or dim, or contain invalid sizes.
    """
    judged = sorted({*options.sizes})
    if len(judged) < 2 or judged[0] < 1:
        raise usage_error(
            "the batch is checked at two sizes or more, each of at least 1", "write N,1,8", argument="batch"
        )
    naming = _ShapeGuesser(model.inputs, options)
    naming.set_batch(options.batch)
    for shapes, doubtful in naming.guess_shapes():
        yield InputGuess(naming, shapes, doubtful, judged)


def _satisfy_conditions(
    sizes: Mapping[str, int], conditions: Sequence[Condition], free: Sequence[str], batch_size: Mapping[str, int]
) -> dict[str, int]:
    """Change the sizes of the dims `free` until the conditions hold.

    Larger sizes are tried before smaller sizes. A size stays unchanged if no size satisfies the conditions.
    """
    assigned = {**batch_size, **{name: size for name, size in sizes.items() if name not in free}}
    for name in free:
        first = sizes[name]
        candidates = chain(range(first, first + SIZE_SEARCH_RANGE), range(first - 1, 0, -1)) if conditions else ()
        assigned[name] = next((size for size in candidates if can_hold(conditions, {**assigned, name: size})), first)
    return {name: assigned[name] for name in sizes}


def _perturb_sizes(sizes: Mapping[str, int], prime_index: int, steps: Sequence[int]) -> dict[str, int]:
    """Add a multiple of a different prime to each size (see `PERTURBATIONS`).

    The primes are used in order, starting with `PRIMES[prime_index]`.
    """
    result, primes = {}, islice(cycle(PRIMES), prime_index, None)
    for name, size in sizes.items():
        parts = [size // -step if step < 0 else step for step in steps]
        step = next((part for part in parts if 0 < part < size and size % part == 0), size)
        prime = next(prime for prime in primes if step == size or step * prime % size)
        result[name] = size + step * prime if steps != REPLACE_BY_PRIME else prime
    return result


def _check_size_names(where: Mapping[str, int], free_dims: Sequence[str], batch: str) -> None:
    """Check that `where` contains only names in `free_dims`.

    Raises `ShapeError` (usage) for any other name.
    """
    for name in where:
        if name not in free_dims:
            names = ", ".join(free_dims) or f"none beside the batch {batch}"
            hint = f"it is the batch: write {where[name]} behind the file" if name == batch else f"it has {names}"
            raise usage_error(f"no free dim is called {escape_unprintable(truncate(name))}", hint, argument="where")


class _ShapeGuesser:
    """A guesser of the input shapes of a model.

    It gives a valid name to every free dim.
    """

    def __init__(self, inputs: Sequence[ValueInfo], options: BatchOptions) -> None:
        self.inputs, self.batch, self.where = inputs, "", options.where
        self.declared_batch: int | None = None
        self.declared_sizes: dict[str, int] = {}
        """The declared size of each fixed dim that the user's shapes replace by a name.

        The key is the new name.
        """
        self.written_names: dict[str, str] = {}
        self._valid_names: dict[str, str] = {}
        self._used_names = {dim for declared in inputs for dim in declared.dims or () if isinstance(dim, str)}
        self.user_shapes = _check_user_shapes(inputs, options.shapes)
        self.shapes: list[InputDims] = [
            self._name_dims(self.user_shapes.get(declared.name, declared.dims)) for declared in inputs
        ]

    def _name_dims(self, dims: Sequence[int | str | None] | None) -> InputDims:
        """Replace the dims without a fixed size by valid names."""
        return None if dims is None else [dim if isinstance(dim, int) else self._dim_name(dim) for dim in dims]

    def _dim_name(self, text: str | None) -> str:
        """Return a valid name for a dim without a fixed size.

        `text` is the name in the file, or None for a dim without a name. An invalid name is replaced by a new name of
        the form `d0`.
        """
        if text is None:
            return self.reserve_name(f"d{number}" for number in count())
        if text.isidentifier() and text.isascii() and len(text) <= MAX_NAME_LENGTH:
            return text
        if text not in self._valid_names:
            self._valid_names[text] = name = self.reserve_name(f"d{number}" for number in count())
            self.written_names[name] = text
        return self._valid_names[text]

    def reserve_name(self, candidates: Iterable[str]) -> str:
        """Reserve and return the first unused name among the candidates."""
        name = next(name for name in candidates if name not in self._used_names)
        self._used_names.add(name)
        return name

    def _reserve_batch_name(self) -> str:
        return self.reserve_name(chain(BATCH_NAMES, (f"N{number}" for number in count())))

    def set_batch(self, batch_name: str | None) -> None:
        """Select the batch dim.

        The batch dim is the dim `batch_name`, or a dim with a common batch name, or the first dim of the first input. A
        fixed batch dim is replaced by a name.
        """
        batch_name = self._valid_names.get(batch_name, batch_name) if batch_name else None
        if batch_name and not batch_name.isidentifier():
            raise usage_error(
                f"no dim is called '{escape_unprintable(truncate(batch_name))}'", "write N or N,1,2,8", argument="batch"
            )
        known = {dim for dims in self.shapes for dim in dims or ()}
        batch_name = batch_name or self._common_batch_name()
        first = next((index for index, dims in enumerate(self.shapes) if dims), None)
        if batch_name == NO_BATCH and batch_name not in known:
            pass
        elif first is None or (batch_name and batch_name in known):
            self.batch = batch_name or self._reserve_batch_name()
        else:
            self.batch = self._use_first_dim_as_batch(first, batch_name)
        for declared, dims in zip(self.inputs, self.shapes, strict=True):
            pairs = zip(dims or (), declared.dims or (), strict=False) if declared.name in self.user_shapes else ()
            self.declared_sizes |= {
                name: size for name, size in pairs if isinstance(name, str) and isinstance(size, int)
            }
        self.declared_batch = self.declared_sizes.pop(self.batch, self.declared_batch)

    def _common_batch_name(self) -> str | None:
        """Return the name of the first dim with a common batch name, or None."""
        dims = [dim for shape in self.shapes for dim in shape or ()]
        firsts = [shape[0] for shape in self.shapes if shape]
        names = (
            [name for name in CERTAIN_BATCH_NAMES if name in dims],
            [n for n in FIRST_AXIS_BATCH_NAMES if n in firsts],
        )
        return next((name for group in names for name in group), None)

    def _use_first_dim_as_batch(self, index: int, batch_name: str | None) -> str:
        """Select the first dim of an input as the batch dim, and return its name.

        If the user has set the shape of the input, the batch dim is its first named dim.
        """
        dims, declared = self.shapes[index] or [], self.inputs[index].dims or (None,)
        is_given = self.inputs[index].name in self.user_shapes
        first = next((dim for dim in dims if isinstance(dim, str)), dims[0]) if is_given else dims[0]
        named = {dim for shape in self.user_shapes.values() for dim in shape} - {
            dim for e in self.inputs for dim in e.dims or ()
        }
        if isinstance(first, str) and batch_name is None:
            unnamed = first not in self._valid_names.values() and declared[0] is None and not is_given
            batch = self._reserve_batch_name() if unnamed else first
        elif batch_name is None and (usual := next((name for name in BATCH_NAMES if name in named), None)):
            batch = usual
        else:
            batch = batch_name or self._reserve_batch_name()
        if isinstance(first, int):
            self.declared_batch = first
            dims[dims.index(first)] = batch
        self.shapes = [
            _rename_dims(shape, {first: batch}) if isinstance(first, str) else shape for shape in self.shapes
        ]
        return batch

    def guess_shapes(self) -> Iterator[tuple[list[InputDims], int]]:
        """Yield guesses of the shapes of all inputs, the likeliest first.

        Each guess is yielded with its number of doubtful axes (see `InputChoice.uncertain_count`). In the first
        guesses, the free first dims of all inputs are the batch dim; in later guesses, they are separate dims. The
        guesses also differ in the fixed dims that are freed.
        """
        firsts = [(declared.name, dims[0]) for declared, dims in zip(self.inputs, self.shapes, strict=True) if dims]
        free = {dim for name, dim in firsts[1:] if isinstance(dim, str) and name not in self.user_shapes}
        twins = free - {self.batch} if firsts and firsts[0][1] == self.batch else set()
        for shapes in [[_rename_dims(dims, dict.fromkeys(twins, self.batch)) for dims in self.shapes], self.shapes][
            not twins :
        ]:
            ways = self._candidate_axes_to_free(shapes)
            likeliest = [axes[0] for axes in ways.values()]
            choices = islice(every_choice(*ways.values()), MAX_CHOICES)
            nearest = sorted(choices, key=lambda axes, first=likeliest: sum(map(ne, axes, first)))  # type: ignore[misc]
            fewest = tuple([None if None in axes else axes[0] for axes in ways.values()])
            for axes in dict.fromkeys([*nearest[:MAX_GUESSES], fewest]):
                yield self._free_input_axes(shapes, dict(zip(ways, axes, strict=True)))

    def _free_input_axes(
        self, shapes: list[InputDims], axes: Mapping[InputKey, int | None]
    ) -> tuple[list[InputDims], int]:
        """Free one axis of each input, and count the doubtful axes.

        `axes` contains the axis to free for each group of inputs, or None to free no axis.
        """
        result, doubtful = [], 0
        for declared, dims in zip(self.inputs, shapes, strict=True):
            can_free = dims and declared.name not in self.user_shapes and self.batch not in dims
            axis = axes.get(_input_key(declared)) if can_free else None
            result.append(dims if dims is None or axis is None else [*dims[:axis], self.batch, *dims[axis + 1 :]])
            doubtful += axis is not None and declared.dims == (1,)
        return result, doubtful

    def _candidate_axes_to_free(self, shapes: list[InputDims]) -> dict[InputKey, Sequence[int | None]]:
        """Return the candidate axes to free for each group of inputs, the best first.

        The candidate None frees no axis. An input of rank 2 or more is always freed if its first dim is the declared
        batch size. An input of rank 1 and size 1, which may be one value for all samples, is freed only if the model
        fails otherwise.
        """
        axis = next((dims.index(self.batch) for dims in shapes if dims and self.batch in dims), 0)
        result: dict[InputKey, Sequence[int | None]] = {}
        for value, dims in zip(self.inputs, shapes, strict=True):
            if (
                dims
                and value.dims
                and self.declared_batch in dims
                and value.name not in self.user_shapes
                and self.batch not in dims
            ):
                equal = [candidate for candidate, size in enumerate(dims) if size == self.declared_batch]
                axes = sorted(equal, key=lambda candidate: candidate != axis)
                is_likely = (axes[0] in (axis, 0) or self.declared_batch != 1) and value.dims != (1,)
                is_certain = len(dims) > 1 and dims[0] == self.declared_batch
                result[_input_key(value)] = axes if is_certain else [*axes, None] if is_likely else [None, *axes]
        return result

    def sum_terms(self, name: str, other_dims: Sequence[str]) -> tuple[str, ...]:
        """Return the terms of the sum that the file declares as the name of a dim.

        For example, the terms of `past + 1` are `past` and `1`. Returns `()` if the name is not a sum of integers and
        of names in `other_dims`.
        """
        terms = tuple([term.strip() for term in self.written_names.get(name, "").split("+")])
        readable = [term.isdecimal() or (term in other_dims and term != name) for term in terms]
        return terms if len(terms) > 1 and all(readable) else ()

    def build_lane(
        self, batch: int, base_sizes: Mapping[str, int], sums: Mapping[str, Iterable[str]], **flags: bool
    ) -> Lane:
        """Build a size assignment from base sizes and sums of dims.

        The sizes of the dims in `sums` are computed from their terms. `flags` are attributes of the size assignment.
        """
        sizes = {self.batch: batch, **base_sizes}
        for name, terms in sums.items():
            sizes[name] = sum(int(term) if term.isdecimal() else base_sizes.get(term, 0) for term in terms)
        return Lane(batch, FrozenDict(sizes), **{"judged": False, **flags})


def _input_key(input: ValueInfo) -> InputKey:
    """Return the key of the input's group (see `InputKey`)."""
    return (input.name,) if input.dims is None or len(input.dims) == 1 else input.dims


def _rename_dims(dims: InputDims, names: Mapping[int | str, str]) -> InputDims:
    """Replace each dim that is a key of `names` by its value."""
    return None if dims is None else [names.get(dim, dim) for dim in dims]


def _check_user_shapes(
    inputs: Sequence[ValueInfo], shapes: Mapping[str, tuple[int | str, ...]]
) -> dict[str, tuple[int | str, ...]]:
    """Return the user's input shapes by input name.

    Raises `ShapeError` (usage) for an unknown input, or for a rank that differs from the declared rank.
    """
    ranks = {declared.name: None if declared.dims is None else len(declared.dims) for declared in inputs}
    for name, dims in shapes.items():
        if name not in ranks:
            names = ", ".join(escape_unprintable(truncate(other)) for other in list(ranks)[:8])
            raise usage_error(
                f"no input is called {escape_unprintable(truncate(name))}", f"it has {names}", argument="set"
            )
        if ranks[name] not in (None, len(dims)):
            raise usage_error(
                f"input {escape_unprintable(truncate(name))} has {ranks[name]} dims, not {len(dims)}", argument="set"
            )
    return dict(shapes)


def transpose_lane_shapes(shapes: Sequence[tuple[int, ...] | None]) -> list[tuple[int | None, ...]] | None:
    """Return the sizes of each axis of a tensor, one per size assignment.

    `shapes` contains the shape for each size assignment. Returns None if the rank is unknown for all size assignments,
    or differs between size assignments.
    """
    ranks = {len(shape) for shape in shapes if shape is not None}
    if len(ranks) != 1:
        return None
    unknown = (None,) * ranks.pop()
    return [*zip(*[unknown if shape is None else shape for shape in shapes], strict=True)]


class DimFitter:
    """A fitter of symbolic expressions to the sizes of dims.

    The size assignment with a batch size of 0 is ignored.
    """

    def __init__(self, lanes: Sequence[Lane], batch: str) -> None:
        """Compute the candidate products of dim names, with their values."""
        self._lane_indices = [index for index, lane in enumerate(lanes) if lane.batch]
        self._lanes = [lanes[index].sizes for index in self._lane_indices]
        self._perturbed_lanes = {
            position for position, index in enumerate(self._lane_indices) if lanes[index].perturbed
        }
        names = [batch, *[name for name in lanes[0].sizes if name != batch]][:MAX_NAMES]
        self._constant_term: Term = ((), (1,) * len(self._lanes))
        self._name_terms = [self._evaluate_term(((name, 1),)) for name in names]
        self._pair_terms = [
            self._evaluate_term(_product_of_names(pair)) for pair in combinations_with_replacement(names, 2)
        ]
        triples = [self._evaluate_term(_product_of_names(three)) for three in combinations_with_replacement(names, 3)]
        shared = [
            powers
            for powers, _ in (*self._name_terms, *self._pair_terms, self._constant_term)
            if batch not in dict(powers)
        ]
        shares = [self._evaluate_term(tuple(sorted(((batch, -1), *powers)))) for powers in shared]
        self._monomials = [*self._name_terms, *self._pair_terms, *triples, *shares]
        self._dims: dict[tuple[int | None, ...], SymbolicDim] = {}
        self._shapes: dict[LaneShapes, SymbolicShape | None] = {}
        self._systems: dict[tuple[int, ...], list[LinearSystems]] = {}

    def fit_shape(self, shapes: LaneShapes) -> SymbolicShape | None:
        """Return the symbolic shape of a tensor, or None if its rank is unknown.

        `shapes` contains the concrete shape for each size assignment.
        """
        shape = self._shapes.get(shapes)
        if shape is None:
            axes = transpose_lane_shapes([shapes[lane] for lane in self._lane_indices])
            shape = self._shapes[shapes] = None if axes is None else tuple(map(self.fit_dim, axes))
        return shape

    def fit_dim(self, sizes: tuple[int | None, ...]) -> SymbolicDim:
        """Fit a symbolic expression to the sizes of a dim, or return None if none fits.

        `sizes` contains the size for each size assignment, or None where it is unknown. Equal sizes give a number. If
        some sizes are unknown, the sizes must be known for at least two perturbed size assignments, or for all of them
        if there are fewer than two.
        """
        first = sizes[0]
        if first is not None and sizes.count(first) == len(sizes):
            return first
        if sizes not in self._dims:
            self._dims[sizes] = self._fit_expression(sizes)
        return self._dims[sizes]

    def _fit_expression(self, sizes: tuple[int | None, ...]) -> SymbolicDim:
        """Fit a number, a product or a sum of dim names to the known sizes of a dim."""
        observed = tuple([lane for lane, size in enumerate(sizes) if size is not None])
        numbers = [sizes[lane] or 0 for lane in observed]
        if len(self._perturbed_lanes.intersection(observed)) < min(2, len(self._perturbed_lanes)):
            return None
        if len({*numbers}) == 1:
            return numbers[0]
        if len(observed) < 3:
            return None
        for powers, values in self._monomials:
            first, unit = numbers[0], values[observed[0]]
            if all(first * values[lane] == number * unit for lane, number in zip(observed, numbers, strict=True)):
                factor = Fraction(first) / unit
                return lowest_terms(factor.numerator, factor.denominator, dict(powers))
        return self._fit_sum(observed, numbers)

    def _fit_sum(self, lanes: tuple[int, ...], numbers: Sequence[int]) -> SymbolicDim:
        """Fit a sum of two or three terms to the sizes `numbers`.

        `lanes` contains the indices of the size assignments with these sizes. There must be more of them than
        coefficients, so that at least one size assignment validates the sum.
        """
        if lanes not in self._systems:
            self._systems[lanes] = [*self._build_systems(lanes)]
        for sums, rows, inverses in self._systems[lanes]:
            factors = np.rint(inverses @ np.array(numbers, float))
            fit = (
                ((rows @ factors[..., None])[..., 0] == numbers).all(1)
                & factors.all(1)
                & (abs(factors) < MAX_COEFFICIENT).all(1)
            )
            for index in np.flatnonzero(fit)[:1]:
                terms = zip([powers for powers, _ in sums[index]], factors[index].astype(int).tolist(), strict=True)
                ordered = sorted(terms, key=lambda term: not term[0])
                return DimSum(tuple([lowest_terms(factor, 1, dict(powers)) for powers, factor in ordered]))
        return None

    def _build_systems(self, observed_lanes: tuple[int, ...]) -> Iterator[LinearSystems]:
        """Yield the linear systems of the candidate sums, the simplest sums first."""
        simple = [*self._name_terms, self._constant_term]
        for terms, many in ((simple, 2), ([*simple, *self._pair_terms], 2), (simple, 3)):
            sums = combinations(terms, many) if len(observed_lanes) > many else ()
            lanes = {
                chosen: [tuple([float(values[at]) for _, values in chosen]) for at in observed_lanes] for chosen in sums
            }
            checked = [chosen for chosen, rows in lanes.items() if len({*rows}) > many]
            equations = np.array([lanes[chosen] for chosen in checked])
            if checked:
                solvable = np.flatnonzero(matrix_rank(equations) == many)
                yield [checked[index] for index in solvable], equations[solvable], np.linalg.pinv(equations[solvable])

    def _evaluate_term(self, powers: Powers) -> Term:
        """Return a product of powers of dim names, with its value for each size assignment.

        Integral values are stored as `int`, which is faster than `Fraction`.
        """
        values: list[int | Fraction] = []
        for sizes in self._lanes:
            value = Fraction(1)
            for name, power in powers:
                value *= Fraction(sizes[name]) ** power
            values.append(int(value) if value.denominator == 1 else value)
        return powers, tuple(values)


def _product_of_names(names: Sequence[str]) -> Powers:
    """Return the product of named dims.

    The exponent of a name is the number of its occurrences in `names`.
    """
    return tuple(sorted((name, names.count(name)) for name in {*names}))

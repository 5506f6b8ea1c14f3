"""Example values of symbolic sizes, and the path of an element through a chain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice

from shapecalc.core.answers import Chain, StageKind, Trace, check_moves_only
from shapecalc.core.conditions import Conditions, can_hold
from shapecalc.core.dims import Shape, dim_names, monomial, substitute
from shapecalc.core.moves import Index, Move, index_after_move, index_before_move
from shapecalc.core.origins import compute_reshape_origins, find_mixed_dims
from shapecalc.core.problem import usage_error
from shapecalc.core.results import sizes_with_results
from shapecalc.core.text import shape_text

FILL_LABEL = "fill"
"""The last label on the path of an element that was added by a pad, not read from the input."""
MIN_SIZE = 2
"""The smallest size that is tried first, because a dim of 1 hides most changes."""
MAX_ASSIGNMENTS = 600
"""The maximum number of size assignments that `iter_ascending_sizes` yields."""
MAX_VALID_ASSIGNMENTS = 60
"""The maximum number of valid assignments that are checked for being informative."""


@lru_cache(maxsize=1)
def example_sizes(answer: Trace | Chain, *, smallest: bool = True) -> Mapping[str, int]:
    """Return small values of the symbolic sizes that satisfy an answer's conditions.

    Informative values are preferred: they make no symbolic dim 1, and a reshape that moves elements across axes for
    symbolic sizes also does so for the values. If `smallest` is False, multiples of the divisors in the conditions are
    tried first, and the first valid values are returned.

    Raises `ShapeError` (usage) if no small values satisfy the conditions.

    >>> import shapecalc as sc
    >>> example_sizes(sc.reshape("N,C,H,W", "0,-1,12"))
    {'N': 2, 'C': 3, 'H': 2, 'W': 4}
    """
    dims, conditions = _collect_distinct_dims(answer), _collect_conditions(answer)
    terms = [*dims, *(side for condition in conditions for side in (condition.left, condition.right))]
    known = tuple([name for name in dim_names(terms) if name not in answer.results])
    least = derive_sizes(known, conditions)
    doubled = {name: MIN_SIZE * size for name, size in least.items()}
    first = [] if smallest else [doubled]
    bound, ascending = (
        _iter_constrained_sizes(conditions, known),
        (iter_ascending_sizes(known, start) for start in (MIN_SIZE, 1)),
    )
    candidates = chain(first, bound, *ascending, [least, doubled])
    all_sizes = (sizes_with_results(answer.results, sizes) for sizes in candidates) if answer.results else candidates
    valid = (sizes for sizes in all_sizes if can_hold(conditions, sizes) and _are_integers(dims, sizes))
    best = next(valid, None)
    if best is None:
        raise usage_error("no small sizes meet the conditions", "give the sizes with --where")
    if smallest and not _is_informative(answer, best):
        best = next((sizes for sizes in islice(valid, MAX_VALID_ASSIGNMENTS) if _is_informative(answer, sizes)), best)
    return best


def _collect_conditions(answer: Trace | Chain) -> Conditions:
    """Return the conditions of an answer, or those of the steps before its refusal."""
    if answer.problem is None:
        return answer.conditions
    return tuple([condition for trace in answer.traces for step in trace.steps for condition in step.conditions])


def _are_integers(dims: Shape, sizes: Mapping[str, int]) -> bool:
    return all(isinstance(substitute(dim, sizes), int) for dim in dims)


def _is_informative(answer: Trace | Chain, sizes: Mapping[str, int]) -> bool:
    for stage in answer.stages:
        if stage.after is None or stage.kind not in (StageKind.RESHAPE, StageKind.MERGE, StageKind.VIEW):
            continue
        before, after = (tuple(substitute(dim, sizes) for dim in dims) for dims in (stage.before, stage.after))
        if any(size == 1 != dim for dim, size in zip(stage.after, after, strict=True)):
            return False
        if find_mixed_dims(compute_reshape_origins(stage.before, stage.after)) and not find_mixed_dims(
            compute_reshape_origins(before, after)
        ):
            return False
    return True


def _iter_constrained_sizes(conditions: Conditions, names: tuple[str, ...]) -> Iterator[Mapping[str, int]]:
    """Yield ascending values of the symbolic sizes that occur in conditions.

    All other sizes are 2.
    """
    sides = dim_names([side for condition in conditions for side in (condition.left, condition.right)])
    bound = tuple([name for name in sides if name in names])
    for sizes in iter_ascending_sizes(bound, MIN_SIZE) if 0 < len(bound) < len(names) else ():
        yield {name: sizes.get(name, MIN_SIZE) for name in names}


def _collect_distinct_dims(answer: Trace | Chain) -> Shape:
    """Return the distinct dims of the input and of every stage's output."""
    shapes = [answer.input, *(stage.after or () for stage in answer.stages)]
    return tuple(dict.fromkeys(dim for shape in shapes for dim in shape))


def iter_ascending_sizes(names: tuple[str, ...], start: int) -> Iterator[Mapping[str, int]]:
    """Yield assignments of sizes in ascending order of their sums.

    Each size is at least `start`, and there are at most `MAX_ASSIGNMENTS` assignments. Among equal sums, assignments
    with larger sizes at the end come first.
    """
    queue, seen = [tuple(start for _ in names)], set[tuple[int, ...]]()
    for sizes in queue:
        yield dict(zip(names, sizes, strict=True))
        for position in reversed(range(len(names))):
            larger = (*sizes[:position], sizes[position] + 1, *sizes[position + 1 :])
            if larger not in seen and len(queue) < MAX_ASSIGNMENTS:
                seen.add(larger)
                queue.append(larger)


def derive_sizes(names: tuple[str, ...], conditions: Conditions) -> Mapping[str, int]:
    """Return candidate sizes that are derived from the conditions in order.

    The first symbolic size on the left side of each condition is set to a multiple of the required divisor, or to the
    required value. Conditions with a symbolic right side are ignored.
    """
    sizes = dict.fromkeys(names, 1)
    for condition in conditions:
        first = [name for name in dim_names((condition.left,)) if name in sizes][:1]
        right = monomial(condition.right)
        if first and not right.powers and right.denominator == 1:
            sizes[first[0]] = right.numerator if condition.relation == "==" else sizes[first[0]] * right.numerator
    return sizes


def stage_moves(answer: Trace | Chain) -> tuple[tuple[str, Shape, Move], ...]:
    """Return the label of each stage, with its input shape and its move.

    Raises `ShapeError` (usage) if the request is refused, if a size is symbolic, and for the op `shape`.
    """
    if answer.output is None:
        raise usage_error("the request is refused, so no element moves")
    if not answer.is_concrete:
        raise usage_error("names have no size, so no element has an index", "give the sizes with --where")
    check_moves_only(answer, allows_pads=True)
    return tuple([(stage.label, stage.before, move) for stage, move in zip(answer.stages, answer.moves, strict=True)])


def trace_element(answer: Trace | Chain, index: Index) -> list[tuple[str, Index | None]]:
    """Return the index of an input element after each stage.

    If a stage repeats the element, the index of the first copy is returned. If a stage drops the element, its index
    is None, and the list ends. Raises `ShapeError` (usage) as `stage_moves` does, and if the input has no such
    element.

    >>> import shapecalc as sc
    >>> trace_element(sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(2, -1, 3)), (1, 0, 0))
    [('input', (1, 0, 0)), ('first', (0, 1, 0)), ('to', (0, 1, 1))]
    """
    stages = stage_moves(answer)
    current: Index | None = _normalize_index(index, answer.input)
    path = [("input", current)]
    for stage, shape, move in stages:
        if current is None:
            break
        current = index_after_move(current, shape, move)
        path.append((stage, current))
    return path


def trace_element_back(answer: Trace | Chain, index: Index) -> list[tuple[str, Index | None]]:
    """Return the index of an output element before each stage, back to the input.

    The path of an element that a pad adds ends with `FILL_LABEL` and None. Raises `ShapeError` (usage) as `stage_moves`
    does, and if the output has no such element.

    >>> import shapecalc as sc
    >>> trace_element_back(sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(2, -1, 3)), (0, 1, 1))
    [('to', (0, 1, 1)), ('first', (0, 1, 0)), ('input', (1, 0, 0))]
    """
    stages = stage_moves(answer)
    current = _normalize_index(index, answer.output or ())
    path = list[tuple[str, Index | None]]()
    for stage, shape, move in reversed(stages):
        path.append((stage, current))
        current = index_before_move(current, shape, move)
        if any(not 0 <= position < size for position, size in zip(current, shape, strict=True)):
            return [*path, (FILL_LABEL, None)]
    return [*path, ("input", current)]


def _normalize_index(index: Index, shape: Shape) -> Index:
    """Convert the negative coordinates of an index to non-negative coordinates.

    Raises `ShapeError` (usage) if the tensor has no element at the index.
    """
    if len(index) != len(shape):
        raise usage_error(
            f"an element of {shape_text(shape)} has {len(shape)} indices, not {len(index)}", argument="follow"
        )
    for axis, (position, size) in enumerate(zip(index, shape, strict=True)):
        if isinstance(size, int) and not -size <= position < size:
            message = f"index {position} is outside of dim {axis}, which is {size}"
            raise usage_error(message, argument="follow", index=axis)
    pairs = zip(index, shape, strict=True)
    return tuple(position % size if isinstance(size, int) else position for position, size in pairs)


def index_text(index: Sequence[int] | None) -> str:
    """Format an index, or `left out` for None.

    >>> index_text((0, 2)), index_text(None)
    ('[0,2]', 'left out')
    """
    return "left out" if index is None else f"[{','.join(map(str, index))}]"


def point_text(stage: str, index: Sequence[int] | None) -> str:
    """Format one point on the path of an element: the stage and the index.

    >>> point_text("pad", (0, 2)), point_text(FILL_LABEL, None)
    ('pad [0,2]', 'fill')
    """
    return stage if stage == FILL_LABEL else f"{stage} {index_text(index)}"

"""What to try on a request that was refused: by rule, the new values for an option that may be near enough.

Nothing here says that a change helps: `fixes` asks again.
"""

from __future__ import annotations

from shapecalc.core.dims import Shape, product, quotient
from shapecalc.core.hints import nearest_sizes
from shapecalc.core.record import Record
from shapecalc.core.rules import DIALECTS
from shapecalc.core.setting import SWITCHED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from shapecalc.core.problem import Problem
    from shapecalc.core.trace import Trace

    Values = Iterator[Any]

MOST_NEAR = 4
"""How many of the nearest axes are tried."""


class Refused(Record):
    """A refused request, and what its problem points at."""

    trace: Trace
    problem: Problem
    value: Any
    """The argument at fault: dims, axes, one axis, or None where it was left out."""
    shape: Shape
    """The dims that the argument is applied to."""

    @property
    def place(self) -> int:
        """The index of the token at fault."""
        return self.problem.index or 0

    @property
    def rank(self) -> int:
        """The number of axes that there are to name."""
        return len(self.shape) + (len(self.value or ()) if self.trace.op == "unsqueeze" else 0)

    @property
    def settled(self) -> Shape:
        """The requested dims as far as the steps settle them, 1 for the others."""
        stage = "to" if self.trace.op == "shuffle" else self.trace.op
        known = {step.out: step.value for step in self.trace.steps if step.stage == stage}
        return tuple(known.get(out, 1) for out in range(len(self.value)))

    @property
    def hole(self) -> int | None:
        """The index of the first dim to infer."""
        return next((out for out, dim in enumerate(self.value) if isinstance(dim, int) and dim < 0), None)

    def put(self, *dims: Any, at: int | None = None) -> Any:
        """Return the argument with `dims` in place of the token at fault, or of the one at an index."""
        place = self.place if at is None else at
        return (*self.value[:place], *dims, *self.value[place + 1 :]) if isinstance(self.value, tuple) else dims[0]

    def own(self, out: int) -> Shape:
        """Return the input's dim that lines up with a requested one, or nothing."""
        axis = out + (len(self.shape) - len(self.value) if self.trace.op == "expand" else 0)
        return self.shape[axis : axis + 1] if axis >= 0 else ()


def _refused(trace: Trace, problem: Problem) -> Refused:
    """Return a refused request with the argument at fault and the dims that it is applied to."""
    given, name = trace.request.arguments, problem.argument
    shape, first = trace.input, given.get("first")
    if name == "to" and first is not None:
        shape = tuple(shape[axis] for axis in first)
    elif name == "second":
        shape = given.get("to", shape)
    return Refused(trace, problem, given.get(str(name)), shape)


def _fitting(at: Refused) -> Values:
    """Yield the target with the nearest sizes that fit in place of one literal: what the hint says in words."""
    index, fits = nearest_sizes(product(at.shape), at.value, at.settled, at.hole)
    return (at.put(size, at=index) for size in fits)


def _counted(at: Refused) -> Values:
    """Yield the target with the dim that -1 stands for, told from the dims that are not zero."""
    have, known = (product(dim for dim in dims if dim != 0) for dims in (at.shape, at.settled))
    yield at.put(quotient(have, known), at=at.hole)


def _own(at: Refused) -> Values:
    """Yield the target with the input's own dim there."""
    return (at.put(dim) for dim in at.own(at.place))


def _own_first(at: Refused) -> Values:
    """Yield the target with the input's own dim there, and -1 for what is left."""
    return (at.put(dim, -1) for dim in at.own(at.place))


def _led(at: Refused) -> Values:
    """Yield the target with the input's dims in front of it, where it is too short."""
    yield (*at.shape[: len(at.shape) - len(at.value)], *at.value)


def _token(*dims: int) -> Callable[[Refused], Values]:
    """Return the change that writes `dims` in place of the token at fault."""
    return lambda at: iter([at.put(*dims)] if isinstance(at.value, tuple) else [])


def _given(value: object) -> Callable[[Refused], Values]:
    """Return the change that gives the argument a value of its own."""
    return lambda _: iter([value])


def _cut(at: Refused) -> Values:
    """Yield as many dims as the dialect takes, the last one inferred; or as many new axes."""
    if at.trace.op == "unsqueeze":
        yield at.value[: at.place - len(at.shape)]
    elif isinstance(at.value, tuple):
        yield at.value[-at.place :] if at.trace.op == "expand" else (*at.value[: at.place - 1], -1)


def _completed(at: Refused) -> Values:
    """Yield the permutation with the axes that it lacks in place of those that are wrong, or behind it."""
    perm, rank, found = at.value or (), at.rank, dict[int, int]()
    negative = DIALECTS[at.trace.dialect].negative_perm
    for index, axis in enumerate(perm):
        if -rank <= axis < rank and axis % rank not in found:
            found[axis % rank] = index
    kept = {index: perm[index] if negative else axis for axis, index in found.items()}
    lacking = iter([axis for axis in range(rank) if axis not in found])
    room = max(0, rank - len(found))
    wrong = [index for index in range(max(rank, len(perm))) if index not in kept][:room]
    yield tuple(kept[index] if index in kept else next(lacking) for index in sorted([*kept, *wrong]))


def _reversed(at: Refused) -> Values:
    """Yield the permutation that reverses the dims."""
    yield tuple(range(at.rank))[::-1]


def _from_zero(at: Refused) -> Values:
    """Yield the same axis counted from 0, or the first where there is none so far in front."""
    axis = at.value[at.place] if isinstance(at.value, tuple) else at.value
    yield at.put(max(0, axis + at.rank))


def _near(at: Refused) -> Values:
    """Yield the axes nearest to the one that is wrong, which is 1 for a flatten that names none."""
    axis = at.value[at.place] if isinstance(at.value, tuple) else 1 if at.value is None else at.value
    near = sorted(range(at.rank + 1), key=lambda other: abs(other - axis))
    return (at.put(other) for other in near[:MOST_NEAR])


def _end(at: Refused) -> Values:
    """Yield the last dim to merge, as the first."""
    yield at.trace.request.arguments["end_dim"]


def last_changes(trace: Trace, problem: Problem) -> Values:
    """Yield targets with one token changed, from the right, to the input's own dim or to -1; and with one -1 more."""
    at = _refused(trace, problem)
    if trace.op not in SWITCHED or problem.argument not in ("target", "to"):
        return
    for place in range(len(at.value))[::-1]:
        yield from (at.put(dim, at=place) for dim in (*at.own(place), -1))
    yield (*at.value, -1)


DROP, INFER, ONE = _token(), _token(-1), _token(1)
LEFT_OUT, IN_FRONT = _given(None), _given((0,))

MENDING: Mapping[str, tuple[Callable[[Refused], Values], ...]] = {
    "indivisible": (_fitting,),
    "volume-mismatch": (_fitting,),
    "two-infers": (_own, ONE, DROP),
    "below-minus-one": (INFER, _own, DROP),
    "zero-out-of-range": (DROP, INFER, ONE),
    "zero-beside-infer": (_counted,),
    "zero-volume-infer": (_counted,),
    "infer-limit": (_own_first,),
    "overflow": (_own,),
    "rank-limit": (_cut,),
    "not-a-permutation": (_completed, LEFT_OUT),
    "missing-argument": (_reversed,),
    "missing-argument unsqueeze": (IN_FRONT,),
    "negative-axis": (_from_zero,),
    "negative-axis transpose": (_completed,),
    "negative-axis shuffle": (_completed,),
    "axis-out-of-range": (_near, DROP),
    "axis-out-of-range unsqueeze": (_near,),
    "repeated-axis": (DROP,),
    "repeated-axis unsqueeze": (_near,),
    "axis-not-one": (DROP,),
    "start-after-end": (_end,),
    "not-broadcastable": (_own, ONE, _led),
    "negative-size": (_own, ONE, DROP),
    "needs-size": (_own,),
    "no-such-attribute": (LEFT_OUT,),
}
"""The changes to the argument at fault, in the order in which they are tried, by rule or by rule and op."""


def changes(trace: Trace, problem: Problem) -> Values:
    """Yield new values for the argument at fault."""
    at = _refused(trace, problem)
    for change in MENDING.get(f"{problem.rule} {trace.op}", MENDING.get(problem.rule, ())):
        yield from change(at)

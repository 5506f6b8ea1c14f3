"""Reshape: what 0 and -1 stand for, and whether the element counts agree.

The rules are those of ONNX Reshape ("a dimension could also be 0, in which case the actual dimension
value is unchanged"; "at most one dimension of the new shape can be -1"); where frameworks differ, the
dialect's `Rules` are asked.
"""

from __future__ import annotations

from shapecalc.core.conditions import Conditions, Never, divides, equal
from shapecalc.core.dims import Dim, Shape, exceeds, product, quotient
from shapecalc.core.hints import nearest_target
from shapecalc.core.limits import check_rank, checked_volume
from shapecalc.core.problem import ShapeError, refusal
from shapecalc.core.record import Record
from shapecalc.core.rules import EmptyInfer, Infers, Zero, ZeroBeside
from shapecalc.core.text import shape_text
from shapecalc.core.trace import Reshape, Step
from shapecalc.core.wording import brief, counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.setting import Setting
    from shapecalc.core.trace import Steps


class Asked(Record):
    """What is asked of one reshape, and where it stands in the request."""

    shape: Shape
    target: Shape
    at: Setting
    stage: str
    argument: str

    def refused(self, rule: str, message: str, hint: str = "", index: int | None = None) -> ShapeError:
        """Return the error for a token of the target, or for the whole of it."""
        return refusal(rule, message, hint, argument=self.argument, index=index)


def reshape(shape: Shape, at: Setting, target: Shape, stage: str = "reshape", argument: str = "target") -> Steps:
    """Resolve `target` against `shape`: copy for 0, infer for -1, and compare the element counts.

    Yields a step for each output dim and one for the regrouping of the axes; returns the output shape.
    Raises `ShapeError`: two-infers, below-minus-one, zero-out-of-range, zero-beside-infer,
    zero-volume-infer, indivisible, volume-mismatch, rank-limit, infer-limit, overflow.
    """
    asked = Asked(shape, target, at, stage, argument)
    check_rank(target, at.row, argument)
    hole, dims = None, list(target)
    for out, dim in enumerate(target):
        if dim == 0:
            step = _zero(asked, out)
            dims[out] = step.value
            yield step
        elif isinstance(dim, int) and dim < 0:
            hole = _hole(asked, out, dim, hole)
        else:
            yield Step(stage, "given", out, (), dim)
    if hole is not None:
        dims[hole] = 1
    settled = tuple(dims)
    have, known = product(shape), checked_volume(settled, argument)
    if hole is None:
        conditions = _same_count(asked, settled, have, known)
    else:
        step = _inferred(asked, settled, hole, have, known)
        yield step
        settled, conditions = (*settled[:hole], step.value, *settled[hole + 1 :]), ()
    every = tuple(range(len(shape)))
    yield Step(stage, "regroup", None, every, settled, (shape, settled), Reshape(settled), conditions)
    return settled


def _hole(asked: Asked, out: int, dim: int, hole: int | None) -> int:
    """Return the place of the dim to infer; refuse a second one, and what is below -1."""
    if dim < -1 and asked.at.rules.infers is Infers.MINUS_ONE:
        raise asked.refused("below-minus-one", f"{dim} is below -1, the only negative that has a meaning", index=out)
    if hole is not None:
        raise asked.refused("two-infers", "at most one dim can be inferred, and this is the second", index=out)
    return out


def _zero(asked: Asked, out: int) -> Step:
    """Return the step that settles a 0: a copied dim, or a dim of size zero."""
    shape, target = asked.shape, asked.target
    if asked.at.rules.zero is Zero.LITERAL:
        return Step(asked.stage, "literal-zero", out, (), 0)
    if out >= len(shape):
        message = f"0 copies dim {out}, and {brief(shape_text(shape))} has {_count(shape)}"
        raise asked.refused("zero-out-of-range", message, index=out)
    return Step(asked.stage, "copy-zero", out, (out,), shape[out], (shape, target))


def _count(shape: Shape) -> str:
    return "1 dim" if len(shape) == 1 else f"{len(shape)} dims"


def _sources(asked: Asked) -> tuple[int, ...]:
    """Return the input axes that no 0 has copied: those the inferred dim is made from."""
    axes, target = range(len(asked.shape)), asked.target
    if asked.at.rules.zero is Zero.LITERAL:
        return tuple(axes)
    return tuple([axis for axis in axes if axis >= len(target) or target[axis] != 0])


def _inferred(asked: Asked, settled: Shape, hole: int, have: Dim, known: Dim) -> Step:
    """Return the step that infers -1: the elements there are, divided by the product of the known dims."""
    rule = "infer"
    facts: tuple[object, ...] = (asked.shape, have, known)
    if known == 0:
        have, known, left_out = _without_zeros(asked, settled, hole)
        rule, facts = "infer-empty", (have, known, left_out)
    if have == 0 and known == 0:
        return Step(asked.stage, rule, hole, _sources(asked), 1, facts)
    dim = quotient(have, known)
    try:
        conditions = () if isinstance(dim, int) else divides(have, known)
    except Never:
        raise _indivisible(asked, settled, hole, have, known) from None
    limit = asked.at.row.max_inferred
    if limit is not None and exceeds(dim, limit):
        raise asked.refused(
            "infer-limit", f"-1 would be {dim}, and {asked.at.row.name} infers at most {limit}", index=hole
        )
    return Step(asked.stage, rule, hole, _sources(asked), dim, facts, None, conditions)


def _without_zeros(asked: Asked, settled: Shape, hole: int) -> tuple[Dim, Dim, str]:
    """Return the two products to divide where the known dims hold nothing, if the dialect has an answer."""
    rules, shape, target = asked.at.rules, asked.shape, asked.target
    if rules.zero is Zero.LITERAL and rules.zero_beside is ZeroBeside.REFUSED:
        message = f"0 is a dim of size zero here, and -1 at index {hole} beside it has no single answer"
        raise asked.refused("zero-beside-infer", message, "give the dim that -1 stands for", target.index(0))
    if rules.empty is EmptyInfer.WITHOUT_COPIES:
        copied = [out for out, dim in enumerate(target) if dim == 0 and rules.zero is Zero.COPIES]
        have = product(dim for axis, dim in enumerate(shape) if axis not in copied)
        known = product(dim for out, dim in enumerate(settled) if out not in copied)
        if known != 0 or have == 0:
            return have, known, "copied dims left out"
    elif rules.empty is EmptyInfer.WITHOUT_ZEROS and 0 in shape:
        have, known = (product(dim for dim in dims if dim != 0) for dims in (shape, settled))
        return have, known, "zeros left out"
    zero = settled.index(0)
    hint = "give the dim that -1 stands for"
    if product(shape) != 0:
        hint = f"0 copies nothing here: write {shape[zero]} to keep the dim" if zero < len(shape) else ""
    raise asked.refused(
        "zero-volume-infer",
        f"the known dims hold 0 elements (dim {zero} is 0), so no size of -1 can be told from another",
        hint,
        index=hole,
    )


def _indivisible(asked: Asked, settled: Shape, hole: int, have: Dim, known: Dim) -> ShapeError:
    """Return the error for a -1 that is no whole number."""
    over = f", {have % known} left over" if isinstance(have, int) and isinstance(known, int) else ""
    others = settled[:hole] + settled[hole + 1 :]
    factors = f" ({brief('*'.join(map(str, others)))})" if len(others) > 1 else ""
    message = f"{counted(asked.shape, have)} cannot be divided by {known}{factors}{over}"
    return asked.refused("indivisible", message, _nearest(asked, settled, hole, have), index=hole)


def _nearest(asked: Asked, settled: Shape, hole: int | None, have: Dim) -> str:
    return nearest_target(have, asked.target, settled, hole) if asked.at.hints else ""


def _same_count(asked: Asked, settled: Shape, have: Dim, want: Dim) -> Conditions:
    """Return the conditions under which the input fills the requested shape exactly."""
    if have == want:
        return ()
    try:
        return equal(have, want)
    except Never:
        pass
    requested = f"the requested {brief(shape_text(settled))} has {counted(settled, want)}"
    message = f"the input has {counted(asked.shape, have)}, {requested}"
    if have == 0 and isinstance(want, int):
        message += f": 0 elements cannot fill {want} places"
    raise asked.refused("volume-mismatch", message, _nearest(asked, settled, None, have))

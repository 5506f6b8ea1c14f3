"""The ops: one file for each, listed here in the order in which they are shown."""

from __future__ import annotations

from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops.depth_to_space import DEPTH_TO_SPACE
from shapecalc.core.ops.expand import EXPAND
from shapecalc.core.ops.flatten import FLATTEN
from shapecalc.core.ops.op import Op, operator_of
from shapecalc.core.ops.reshape import RESHAPE
from shapecalc.core.ops.shape import SHAPE
from shapecalc.core.ops.shuffle import SHUFFLE
from shapecalc.core.ops.space_to_depth import SPACE_TO_DEPTH
from shapecalc.core.ops.squeeze import SQUEEZE
from shapecalc.core.ops.transpose import TRANSPOSE
from shapecalc.core.ops.unsqueeze import UNSQUEEZE
from shapecalc.core.ops.view import VIEW

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.dialects.dialect import Dialect, Operator
    from shapecalc.core.dialects.params import Param

OPS: dict[str, Op] = {
    op.name: op
    for op in (
        RESHAPE,
        TRANSPOSE,
        SHUFFLE,
        SHAPE,
        FLATTEN,
        SQUEEZE,
        UNSQUEEZE,
        EXPAND,
        DEPTH_TO_SPACE,
        SPACE_TO_DEPTH,
        VIEW,
    )
}


def params_of(op: Op) -> tuple[Param, ...]:
    """Return every parameter that an op has in some dialect."""
    own = [operator_of(op, row) for row in DIALECTS.values()]
    named = {param.name: param for operator in own if operator for param in operator.params}
    return (*op.params, *named.values())


def operators_of(row: Dialect) -> dict[str, Operator]:
    """Return the operators of a dialect, by shapecalc's name of the op."""
    return {name: found for name, op in OPS.items() if (found := operator_of(op, row)) is not None}


def dialects_with(op: Op) -> list[Dialect]:
    """Return the dialects that have an op."""
    return [row for row in DIALECTS.values() if operator_of(op, row) is not None]

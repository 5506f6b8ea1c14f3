"""The operations by name, with the parameters that every front end gives them. A new op is an entry here."""

from __future__ import annotations

from enum import Enum

from shapecalc.core import ones, ops
from shapecalc.core.record import Record
from shapecalc.core.reshape import reshape
from shapecalc.core.rules import SWITCHES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from shapecalc.core.trace import Steps


class Kind(Enum):
    """What a parameter holds."""

    TARGET = "a requested shape"
    AXES = "a list of axes"
    INT = "a whole number"


class Param(Record):
    """One parameter of an op, by the name that every front end gives it."""

    name: str
    kind: Kind
    help: str
    positional: bool = False
    required: bool = False


class Op(Record):
    """One operation: its parameters, and the generator that resolves it."""

    name: str
    summary: str
    params: tuple[Param, ...]
    steps: Callable[..., Steps]


_PERM = "output dim i is the input dim that entry i names"
_TARGET = "the shape asked for, 0 and -1 as the dialect reads them"

RESHAPE = Op(
    "reshape",
    "Cut the same elements into another shape.",
    (Param("target", Kind.TARGET, _TARGET, positional=True, required=True),),
    reshape,
)
TRANSPOSE = Op(
    "transpose",
    "Move axes.",
    (Param("perm", Kind.AXES, f"{_PERM}; left out, the dims reverse", positional=True),),
    ops.transpose,
)
SHUFFLE = Op(
    "shuffle",
    "Transpose, reshape, transpose: TensorRT's Shuffle.",
    (
        Param("first", Kind.AXES, f"the first transpose: {_PERM}"),
        Param("to", Kind.TARGET, f"the reshape: {_TARGET}"),
        Param("second", Kind.AXES, f"the second transpose: {_PERM}"),
    ),
    ops.shuffle,
)
SHAPE = Op(
    "shape",
    "Return the dims themselves, as a vector of int64.",
    (
        Param("start", Kind.INT, "the first dim, by default 0; negative counts from the back"),
        Param("end", Kind.INT, "the dim to stop before, by default the rank; negative counts from the back"),
    ),
    ops.shape,
)
FLATTEN = Op(
    "flatten",
    "Merge dims.",
    (
        Param("axis", Kind.INT, "ONNX: the first axis of the second output dim, by default 1"),
        Param("start_dim", Kind.INT, "PyTorch: the first dim to merge, by default 0"),
        Param("end_dim", Kind.INT, "PyTorch: the last dim to merge, by default -1"),
    ),
    ops.flatten,
)
SQUEEZE = Op(
    "squeeze",
    "Drop dims of 1.",
    (Param("axes", Kind.AXES, "the axes to drop; left out, every dim of 1"),),
    ones.squeeze,
)
UNSQUEEZE = Op(
    "unsqueeze",
    "Insert dims of 1.",
    (Param("axes", Kind.AXES, "where the new dims stand in the output"),),
    ones.unsqueeze,
)
EXPAND = Op(
    "expand",
    "Repeat dims of 1 (broadcast).",
    (Param("target", Kind.TARGET, "the shape to broadcast to", positional=True, required=True),),
    ones.expand,
)

OPS = {op.name: op for op in (RESHAPE, TRANSPOSE, SHUFFLE, SHAPE, FLATTEN, SQUEEZE, UNSQUEEZE, EXPAND)}
COMMON = ("dialect", "opset", "dtype", "where", *SWITCHES)
"""The options that every op has in every front end."""

"""OpenVINO code: nodes of a model, made by its Python operators."""

from __future__ import annotations

from typing import assert_never

from shapecalc.core.answers import Kind
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import check_rank
from shapecalc.core.moves import Dims, Permute
from shapecalc.view.code import Code
from shapecalc.view.code.batch import batch_warnings
from shapecalc.view.code.computed import Forms, Sizes, is_computed, texts_of
from shapecalc.view.code.folding import Part, parts_of
from shapecalc.view.code.requested import Rules, requested, two_way_dims
from shapecalc.view.code.sizes import Readings, given_warnings
from shapecalc.view.code.slices import Kept, cut_axes, short_roll, split_axis
from shapecalc.view.code.written import empty_warnings, general_warnings, inserted_axes, shape_after, title
from shapecalc.view.layout import dropped_axes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from shapecalc.core.answers import Chain, Stage, Trace
    from shapecalc.core.dims import Dim

RULES = Rules({"dialect": "openvino"}, "special_zero", on=False, required=True)
FORMS = Forms(
    sizes="sizes = ops.shape_of(x)",
    constant="{name} = ops.constant([{0}])",
    axis="{name} = ops.gather(sizes, [{0}], 0)",
    multiply="{name} = ops.multiply({0}, {1})",
    divide="{name} = ops.divide({0}, {1})",
    concat="{name} = ops.concat([{0}], 0)",
)


class Program:
    """The lines of the code so far, and the nodes of sizes among them."""

    def __init__(self, answer: Trace | Chain) -> None:
        """Start at the node `x`."""
        self.tensor = "x"
        self.readings = Readings(answer.input)
        self.sizes = Sizes(FORMS)
        self.lines = self.sizes.lines
        self.warnings: list[str] = []

    def add(self, operator: str, *arguments: str, read: str = "") -> None:
        """Write one operator on the tensor; `read` says which of its outputs is read, if it has several."""
        self.lines.append(f"y = ops.{operator}({', '.join([self.tensor, *arguments])}){read}")
        self.tensor = "y"

    def shape(self, dims: Sequence[Dim]) -> str:
        """Return the expression for a vector of dims that were read."""
        if not dims:
            return "np.array([], dtype=np.int64)"
        return self.sizes.vector(dims) if is_computed(dims) else f"[{texts_of(dims)}]"


def openvino(answer: Trace | Chain) -> Code:
    """Return the code that makes nodes after the node `x`; raise `ShapeError` (usage) if OpenVINO refuses the request.

    >>> import shapecalc as sc
    >>> print(openvino(sc.reshape("N,C,H,W", "0,-1")).text.splitlines()[-1])
    y = ops.reshape(x, [0, -1], special_zero=True)
    """
    program = Program(answer)
    for part in parts_of(answer):
        check_rank(part.stage.before, DIALECTS["openvino"], "input")
        _add(part, program)
    imports = ["import numpy as np"] if any("np." in line for line in program.lines) else []
    start = [*imports, "from openvino import opset13 as ops", "# x is a node of an openvino.Model", title(answer)]
    text = "\n".join([*start, *(program.lines or ["y = x"])])
    about = (*general_warnings(answer, "openvino"), *batch_warnings(answer), *empty_warnings(answer, "openvino"))
    return Code(text, (*about, *given_warnings(text, answer), *program.warnings))


def _add(part: Part, program: Program) -> None:
    """Write the operators of a part."""
    stage = part.stage
    match stage.kind:
        case Kind.PERMUTE:
            assert isinstance(stage.move, Permute)
            program.add("transpose", str(list(stage.move.axes)))
        case Kind.RESHAPE | Kind.VIEW | Kind.MERGE:
            _add_reshape(part, program)
        case Kind.SQUEEZE:
            program.add("squeeze", str(list(dropped_axes(stage))))
        case Kind.UNSQUEEZE:
            program.add("unsqueeze", str(list(inserted_axes(stage))))
        case Kind.EXPAND:
            _add_broadcast(part, program)
        case Kind.SELECT | Kind.SLICE | Kind.SPLIT | Kind.FLIP | Kind.ROLL:
            _add_positions(stage, program)
        case Kind.SHAPE:
            assert isinstance(stage.move, Dims)
            program.add("shape_of")
            if len(shape_after(stage)) < len(stage.before):
                program.add("slice", f"[{stage.move.start}]", f"[{stage.move.end}]", "[1]")
        case _:
            assert_never(stage.kind)


def _add_positions(stage: Stage, program: Program) -> None:
    """Write the operator that keeps or moves positions of axes."""
    if stage.kind is Kind.ROLL:
        roll = short_roll(stage, "openvino")
        program.add("roll", f"[{roll.shift}]", f"[{roll.axis}]")
    elif stage.kind is Kind.SPLIT:
        axis, parts, part = split_axis(stage)
        program.add("split", str(axis), str(parts), read=f".output({part})")
    else:
        _add_slice(cut_axes(stage), program)


def _add_slice(kept: Sequence[Kept], program: Program) -> None:
    """Write a Gather of one index, or a Slice of some axes."""
    if kept[0].goes:
        program.add("gather", str(kept[0].first), str(kept[0].axis))
    else:
        rows = zip(*((each.first, each.end, each.step, each.axis) for each in kept), strict=True)
        program.add("slice", *(str([*row]) for row in rows))


def _add_broadcast(part: Part, program: Program) -> None:
    """Write a Broadcast. New dims are inserted before it: OpenVINO drops one whose shape holds only 1, ranks or not."""
    dims = two_way_dims(part.stage.before, part.dims, program.readings)
    if added := len(dims) - len(part.stage.before):
        program.add("unsqueeze", str(list(range(added))))
    program.add("broadcast", program.shape(dims), 'broadcast_spec="BIDIRECTIONAL"')


def _add_reshape(part: Part, program: Program) -> None:
    """Write a Reshape; 0 copies a dim unless it has to be a size."""
    literal = part.trace.options.get("special_zero") is False
    made = requested(part.stage.before, part.dims, program.readings, RULES, literal=literal)
    program.add("reshape", program.shape(made.dims), f"special_zero={not made.literal}")
    program.warnings += made.warnings

"""ONNX code: a whole model, made with `onnx.helper`."""

from __future__ import annotations

from typing import assert_never

from shapecalc.core.answers.moves import Permute, Slice
from shapecalc.core.answers.stage import Kind
from shapecalc.core.asking.setting import DEFAULT_OPSET
from shapecalc.core.dialects.element_types import SINCE_25, spelled
from shapecalc.core.dialects.onnx import ONNX
from shapecalc.core.ops import OPS
from shapecalc.core.sizes.dims import INT64_MAX, Dim, Monomial, all_known
from shapecalc.core.sizes.problem import misuse
from shapecalc.core.sizes.quoting import brief
from shapecalc.core.sizes.record import Record
from shapecalc.view.code import Code
from shapecalc.view.code.constants import constants_for
from shapecalc.view.code.slices import Kept, kept_axes, split_axis
from shapecalc.view.code.written import (
    drops_every_one,
    empty_warnings,
    general_warnings,
    inserted_axes,
    shape_after,
    stages_of,
    title,
    written_dims,
)
from shapecalc.view.layout import dropped_axes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shapecalc.core.answers.stage import Stage
    from shapecalc.core.answers.trace import Chain, Trace

AXES_ARE_INPUTS = 13
SHAPES_ARE_INPUTS = 5
"""The first opsets in which axes and shapes are inputs of a node. Before them, they are attributes."""
INDICES_FROM_THE_END = 11
"""The first opset in which negative indices count from the end."""
STEPS = 10
"""The first opset in which a Slice has steps, and inputs in place of attributes."""
INT64_MIN = -(2**63)
PARTS_ARE_COUNTED = 18
"""The first opset in which a Split says how many outputs it has."""
MOST_PARTS = 1024
"""The most outputs of a Split that are written."""


class Node(Record):
    """A node of the model: its operator, its attributes as code, and the constants that are its further inputs."""

    operator: str
    attributes: Mapping[str, object] = {}
    constants: Mapping[str, Sequence[int] | int] = {}
    warnings: tuple[str, ...] = ()
    outputs: tuple[int, int] = (1, 0)
    """How many outputs it has, and which of them is read."""


def onnx(answer: Trace | Chain) -> Code:
    """Return the code of an ONNX model with the input `x` and the output `y`.

    Raises `ShapeError` (usage) if ONNX has no such element type, or a name would have to be a constant.
    """
    opset, *others = sorted({_model_opset(trace) for trace in answer.traces}, reverse=True)
    made = [_node(trace, stage, opset) for trace, stage in stages_of(answer)]
    nodes = [node for node in made if node] or [Node("Identity")]
    kind = _element_type(answer.traces[0].request.dtype)
    vector = OPS[answer.traces[-1].op].ends_chain
    output = f"TensorProto.INT64, [{len(answer.output or ())}]" if vector else f"{kind}, {_dims(answer.output or ())}"
    lines = [
        "from onnx import TensorProto, helper",
        title(answer),
        *_node_lines(nodes),
        f'x = helper.make_tensor_value_info("x", {kind}, {_dims(answer.input)})',
        f'y = helper.make_tensor_value_info("y", {output})',
        'graph = helper.make_graph(nodes, "shapecalc", [x], [y])',
        f'model = helper.make_model_gen_version(graph, opset_imports=[helper.make_opsetid("", {opset})])',
    ]
    warnings = [warning for node in nodes for warning in node.warnings]
    if others:
        warnings.append(f"a model has one opset: {opset} for all stages")
    all_warnings = (*general_warnings(answer, "onnx"), *empty_warnings(answer, "onnx"), *warnings)
    return Code("\n".join(lines), all_warnings)


def _model_opset(trace: Trace) -> int:
    return trace.request.opset or DEFAULT_OPSET


def _element_type(dtype: str | None) -> str:
    """Return the element type as code; float if none is named."""
    if dtype and dtype not in SINCE_25:
        raise misuse(f"onnx has no element type {dtype}", argument="dtype")
    return f"TensorProto.{spelled(dtype or 'float32', ONNX).upper()}"


def _dims(shape: Sequence[Dim]) -> str:
    """Return the dims of an input or output as code. A dim that is a product of names is left open."""
    texts = []
    for dim in shape:
        named = isinstance(dim, Monomial) and str(dim).isidentifier()
        texts.append(str(dim) if isinstance(dim, int) else f'"{dim}"' if named else "None")
    return f"[{', '.join(texts)}]"


def _node_lines(nodes: Sequence[Node]) -> list[str]:
    """Return the lines that make the constants and the nodes. Each constant stands before the node that reads it."""
    constants, lines, tensor = list[str](), list[str](), "x"
    for place, node in enumerate(nodes, 1):
        inputs = [tensor]
        for argument, given in node.constants.items():
            name, dims = f"{argument}{place}", [] if isinstance(given, int) else [len(given)]
            values = [given] if isinstance(given, int) else list(given)
            inputs.append(name)
            constants.append(f'{name} = helper.make_tensor("{name}", TensorProto.INT64, {dims}, {values})')
            lines.append(f'    helper.make_node("Constant", [], ["{name}"], value={name}),')
        tensor = "y" if place == len(nodes) else f"t{place}"
        count, read = node.outputs
        outputs = ", ".join(f'"{tensor}"' if each == read else f'"unread{place}_{each}"' for each in range(count))
        quoted = ", ".join(f'"{name}"' for name in inputs)
        attributes = "".join(f", {name}={value}" for name, value in node.attributes.items())
        lines.append(f'    helper.make_node("{node.operator}", [{quoted}], [{outputs}]{attributes}),')
    return [*constants, "nodes = [", *lines, "]"]


def _node(trace: Trace, stage: Stage, opset: int) -> Node | None:
    """Return the node for a stage; None if it does nothing."""
    match stage.kind:
        case Kind.PERMUTE:
            assert isinstance(stage.move, Permute)
            return Node("Transpose", {"perm": list(stage.move.axes)} if stage.move.axes else {})
        case Kind.RESHAPE | Kind.VIEW:
            return _reshape(trace, stage, opset)
        case Kind.MERGE:
            return _flatten(trace, stage, opset)
        case Kind.SQUEEZE if drops_every_one(stage):
            return Node("Squeeze")
        case Kind.SQUEEZE:
            return _axes_node("Squeeze", dropped_axes(stage), opset)
        case Kind.UNSQUEEZE:
            return _axes_node("Unsqueeze", inserted_axes(stage), opset)
        case Kind.EXPAND:
            return _expand(stage)
        case Kind.SELECT | Kind.SLICE | Kind.SPLIT | Kind.FLIP | Kind.ROLL:
            return _kept(stage, opset)
        case Kind.SHAPE:
            return _shape(stage)
        case _:
            assert_never(stage.kind)


def _reshape(trace: Trace, stage: Stage, opset: int) -> Node:
    """Return a Reshape. 0 and -1 stay if they mean the same; allowzero is set if 0 is a size."""
    literal = trace.options.get("allowzero") is True
    made = constants_for(stage, {"dialect": "onnx", "opset": opset}, "allowzero", on=True, literal=literal)
    if opset >= SHAPES_ARE_INPUTS:
        return Node("Reshape", {"allowzero": 1} if made.literal else {}, {"shape": made.dims}, made.warnings)
    if not made.dims:
        raise misuse("an attribute cannot hold an empty shape", f"use --opset {SHAPES_ARE_INPUTS} or later")
    return Node("Reshape", {"shape": list(made.dims)}, {}, made.warnings)


def _flatten(trace: Trace, stage: Stage, opset: int) -> Node:
    """Return a Flatten if there are two dims, because ONNX's Flatten always has two; otherwise a Reshape."""
    parts = [dim.axes or () for dim in written_dims(stage)]
    return Node("Flatten", {"axis": len(parts[0])}) if len(parts) == 2 else _reshape(trace, stage, opset)


def _axes_node(operator: str, axes: Sequence[int], opset: int) -> Node | None:
    """Return a node that names axes; None if there are no axes."""
    if not axes:
        return None
    if opset < AXES_ARE_INPUTS:
        return Node(operator, {"axes": list(axes)})
    return Node(operator, {}, {"axes": axes})


def _expand(stage: Stage) -> Node:
    """Return an Expand. A 1 in its shape keeps the dim that the tensor has."""
    dims = []
    for out, dim in enumerate(written_dims(stage)):
        axis = out - len(shape_after(stage)) + len(stage.before)
        kept = dim.axes or (axis >= 0 and stage.before[axis] == dim.value and isinstance(dim.value, Monomial))
        if not kept and isinstance(dim.value, Monomial):
            raise misuse(f"dim {out}, {dim.value}, would have to be a constant", "give the sizes with --where")
        dims.append(1 if kept else dim.value)
    return Node("Expand", {}, {"shape": [dim for dim in dims if isinstance(dim, int)]})


def _kept(stage: Stage, opset: int) -> Node | None:
    """Return a Gather of one index, a Split of a dim with a name, or a Slice of axes; None if all stay whole."""
    if stage.kind is Kind.ROLL:
        raise misuse("onnx has no operator that rolls")
    if stage.kind is Kind.SPLIT and not all_known(stage.before):
        return _split(stage, opset)
    kept = [each for each in kept_axes(stage) if str(each) != ":"]
    return None if not kept else _gather(kept[0], opset) if kept[0].goes else _slice(kept, opset)


def _gather(kept: Kept, opset: int) -> Node:
    """Return a Gather of one index; a negative one needs an opset that counts from the end."""
    index = kept.start or 0
    if index < 0 and opset < INDICES_FROM_THE_END:
        raise misuse("the last index of a dim with a name", f"use --opset {INDICES_FROM_THE_END} or later")
    return Node("Gather", {"axis": kept.axis} if kept.axis else {}, {"index": index})


def _split(stage: Stage, opset: int) -> Node:
    """Return a Split, of whose outputs one is read. They say how many there are before an attribute does."""
    axis, parts, part = split_axis(stage)
    if parts > MOST_PARTS:
        raise misuse(f"a Split into {brief(str(parts))} parts", "give the sizes with --where")
    counted = {"num_outputs": parts} if opset >= PARTS_ARE_COUNTED else {}
    return Node("Split", {"axis": axis} | counted, outputs=(parts, part))


def _slice(kept: Sequence[Kept], opset: int) -> Node:
    """Return a Slice of some axes. Its arguments are attributes in the opsets that have no steps."""
    steps = [each.step for each in kept]
    starts = [(0 if each.step > 0 else -1) if each.start is None else each.start for each in kept]
    ends = [(INT64_MAX if each.step > 0 else INT64_MIN) if each.stop is None else each.stop for each in kept]
    arguments = {"starts": starts, "ends": ends, "axes": [each.axis for each in kept]}
    if opset >= STEPS:
        return Node("Slice", {}, arguments | ({} if {*steps} == {1} else {"steps": steps}))
    return Node("Slice", arguments)


def _shape(stage: Stage) -> Node:
    assert isinstance(stage.move, Slice)
    start, end = stage.move.start, stage.move.end
    return Node("Shape", {} if (start, end) == (0, len(stage.before)) else {"start": start, "end": end})

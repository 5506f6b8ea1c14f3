"""ONNX code: a whole model, made with `onnx.helper`."""

from __future__ import annotations

from shapecalc.core.dims import Dim, Monomial
from shapecalc.core.dtypes import SINCE_25, spelled
from shapecalc.core.problem import misuse
from shapecalc.core.record import Record
from shapecalc.core.setting import DEFAULT_OPSET
from shapecalc.core.trace import Permute, Slice
from shapecalc.view.code import Code
from shapecalc.view.code.actions import (
    Action,
    actions,
    dropped,
    drops_every_one,
    entries,
    general_warnings,
    inserted,
    title,
    written_out,
)
from shapecalc.view.code.requested import requested

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from shapecalc.core.trace import Chain, Trace

AXES_ARE_INPUTS = 13
SHAPES_ARE_INPUTS = 5
"""The opsets since which axes and shapes are inputs of a node; before, they are attributes."""


class Node(Record):
    """A node of the model: its operator, the attributes as code, and the constant that is its second input."""

    operator: str
    attributes: Mapping[str, object] = {}
    constant: tuple[str, Sequence[int]] | None = None
    warnings: tuple[str, ...] = ()


def onnx(answer: Trace | Chain) -> Code:
    """Return the code of an ONNX model with the input `x` and the output `y`."""
    opset, *others = sorted({_model_opset(stage) for stage in answer.stages}, reverse=True)
    made = [KINDS[action.kind](action, opset) for action in actions(answer)]
    nodes = [node for node in made if node] or [Node("Identity")]
    kind = _element_type(answer.stages[0].request.dtype)
    shape = answer.stages[-1].op == "shape"
    output = f"TensorProto.INT64, [{len(answer.output or ())}]" if shape else f"{kind}, {_dims(answer.output or ())}"
    lines = [
        "from onnx import TensorProto, helper",
        title(answer),
        *_listed(nodes),
        f'x = helper.make_tensor_value_info("x", {kind}, {_dims(answer.input)})',
        f'y = helper.make_tensor_value_info("y", {output})',
        'graph = helper.make_graph(nodes, "shapecalc", [x], [y])',
        f'model = helper.make_model_gen_version(graph, opset_imports=[helper.make_opsetid("", {opset})])',
    ]
    warnings = [warning for node in nodes for warning in node.warnings]
    if others:
        warnings.append(f"a model has one opset: {opset} for all stages")
    told = (*general_warnings(answer, "onnx"), *written_out(answer, "onnx"), *warnings)
    return Code("\n".join(lines), told)


def _model_opset(trace: Trace) -> int:
    return trace.request.opset or DEFAULT_OPSET


def _element_type(dtype: str | None) -> str:
    """Return the element type as code; float where none is named."""
    if dtype and dtype not in SINCE_25:
        raise misuse(f"onnx has no element type {dtype}", argument="dtype")
    return f"TensorProto.{spelled(dtype or 'float32', 'onnx').upper()}"


def _dims(shape: Sequence[Dim]) -> str:
    """Return the dims of an input or output as code; what is not a plain name is left open."""
    texts = []
    for dim in shape:
        named = isinstance(dim, Monomial) and str(dim).isidentifier()
        texts.append(str(dim) if isinstance(dim, int) else f'"{dim}"' if named else "None")
    return f"[{', '.join(texts)}]"


def _listed(nodes: Sequence[Node]) -> list[str]:
    """Return the lines that make the constants, and list the nodes with each constant before its own."""
    constants, lines, tensor = list[str](), list[str](), "x"
    for place, node in enumerate(nodes, 1):
        inputs = [tensor]
        if node.constant:
            name, values = f"{node.constant[0]}{place}", list(node.constant[1])
            inputs.append(name)
            constants.append(f'{name} = helper.make_tensor("{name}", TensorProto.INT64, [{len(values)}], {values})')
            lines.append(f'    helper.make_node("Constant", [], ["{name}"], value={name}),')
        tensor = "y" if place == len(nodes) else f"t{place}"
        quoted = ", ".join(f'"{name}"' for name in inputs)
        given = "".join(f", {name}={value}" for name, value in node.attributes.items())
        lines.append(f'    helper.make_node("{node.operator}", [{quoted}], ["{tensor}"]{given}),')
    return [*constants, "nodes = [", *lines, "]"]


def _transpose(action: Action, _opset: int) -> Node:
    assert isinstance(action.last.move, Permute)
    axes = action.last.move.axes
    return Node("Transpose", {"perm": list(axes)} if axes else {})


def _reshape(action: Action, opset: int) -> Node:
    """Return a Reshape: 0 and -1 stay where they mean the same, and allowzero is set where 0 is a size."""
    literal = action.trace.options.get("allowzero") is True
    found = requested(action, {"dialect": "onnx", "opset": opset}, "allowzero", on=True, literal=literal)
    if opset >= SHAPES_ARE_INPUTS:
        return Node("Reshape", {"allowzero": 1} if found.literal else {}, ("shape", found.dims), found.warnings)
    if not found.dims:
        raise misuse("an attribute cannot hold an empty shape", f"use --opset {SHAPES_ARE_INPUTS} or later")
    return Node("Reshape", {"shape": list(found.dims)}, None, found.warnings)


def _flatten(action: Action, opset: int) -> Node:
    """Return a Flatten where there are two dims, as ONNX's always has; else a Reshape."""
    parts = [entry.axes or () for entry in entries(action)]
    return Node("Flatten", {"axis": len(parts[0])}) if len(parts) == 2 else _reshape(action, opset)


def _with_axes(operator: str, axes: Sequence[int], opset: int) -> Node:
    if opset < AXES_ARE_INPUTS:
        return Node(operator, {"axes": list(axes)})
    return Node(operator, {}, ("axes", axes))


def _squeeze(action: Action, opset: int) -> Node | None:
    if drops_every_one(action):
        return Node("Squeeze")
    axes = dropped(action)
    return _with_axes("Squeeze", axes, opset) if axes else None


def _unsqueeze(action: Action, opset: int) -> Node | None:
    axes = inserted(action)
    return _with_axes("Unsqueeze", axes, opset) if axes else None


def _expand(action: Action, _opset: int) -> Node:
    """Return an Expand: a 1 in its shape keeps the dim that the tensor has."""
    dims = []
    for out, entry in enumerate(entries(action)):
        axis = out - len(action.output) + len(action.shape)
        kept = entry.axes or (axis >= 0 and action.shape[axis] == entry.value and isinstance(entry.value, Monomial))
        if not kept and isinstance(entry.value, Monomial):
            raise misuse(f"dim {out}, {entry.value}, would have to be a constant", "give the sizes with --where")
        dims.append(1 if kept else entry.value)
    return Node("Expand", {}, ("shape", [dim for dim in dims if isinstance(dim, int)]))


def _shape(action: Action, _opset: int) -> Node:
    assert isinstance(action.last.move, Slice)
    start, end = action.last.move.start, action.last.move.end
    return Node("Shape", {} if (start, end) == (0, len(action.shape)) else {"start": start, "end": end})


KINDS: Mapping[str, Callable[[Action, int], Node | None]] = {
    "transpose": _transpose,
    "reshape": _reshape,
    "flatten": _flatten,
    "squeeze": _squeeze,
    "unsqueeze": _unsqueeze,
    "expand": _expand,
    "shape": _shape,
}

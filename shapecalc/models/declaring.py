"""What a mended model declares: the batch by its name, and nothing that another batch size makes wrong."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from shapecalc.models.model import Body
    from shapecalc.models.walk import Shapes, Walk


def declare(proto: Any, walk: Walk) -> list[str]:
    """Give the inputs of a message the shapes that they were walked with, free other dims, drop stale value_info.

    Returns the names of the inputs that have changed.
    """
    changed = [*_freed_inputs(proto, walk)]
    for graph, body in _bodies(proto, walk):
        shapes = dict(_shapes(graph, body, walk))
        for output in graph.output:
            _free(output, shapes.get(output.name), walk)
        for at in range(len(graph.value_info) - 1, -1, -1):
            each = graph.value_info[at]
            if each.name in shapes and _is_stale(each, shapes[each.name], walk):
                del graph.value_info[at]
    for function in proto.functions:
        del function.value_info[:]
    return changed


def _freed_inputs(proto: Any, walk: Walk) -> Iterator[str]:
    by_name = {each.name: each for each in proto.graph.input}
    for declared, taken in zip(walk.model.inputs, walk.taken, strict=True):
        dims = _dims(by_name[declared.name])
        before = [(dim.dim_value, dim.dim_param) for dim in dims]
        for dim, size in zip(dims, taken or (), strict=False):
            if isinstance(size, str) and dim.HasField("dim_value"):
                dim.dim_param = size
        if before != [(dim.dim_value, dim.dim_param) for dim in dims]:
            yield declared.name


def _dims(value: Any) -> Any:
    return value.type.tensor_type.shape.dim


def _bodies(proto: Any, walk: Walk) -> Iterator[tuple[Any, Body]]:
    """Yield each graph of a message with what was walked of it, but for functions."""
    left = [(proto.graph, walk.model.graph)]
    while left:
        graph, body = left.pop()
        yield graph, body
        for node in body.nodes:
            inner = {each.name: each for each in node.bodies if not each.name.startswith("@")}
            if inner:
                found = graph.node[int(node.path.rpartition("/")[2])]
                left += [(each.g, inner[each.name]) for each in found.attribute if each.HasField("g")]


def _shapes(graph: Any, body: Body, walk: Walk) -> Iterator[tuple[str, Shapes | None]]:
    """Yield the tensors that the nodes of a graph make, by name, with their shapes."""
    for node in body.nodes:
        names = graph.node[int(node.path.rpartition("/")[2])].output
        for name, tensor in zip(names, node.outputs, strict=False):
            yield name, walk.shapes[tensor]


def _sizes(value: Any, shapes: Shapes | None, walk: Walk) -> Iterator[tuple[Any, list[int | None]]]:
    """Yield the declared dims of a tensor, each with its sizes in the judged lanes; None where nobody knows one."""
    judged = [shapes[at] if shapes is not None else None for at, lane in enumerate(walk.lanes) if lane.judged]
    for axis, dim in enumerate(_dims(value)):
        yield dim, [shape[axis] if shape is not None and axis < len(shape) else None for shape in judged]


def _is_stale(value: Any, shapes: Shapes | None, walk: Walk) -> bool:
    """Say whether a number among the declared dims of a tensor is not its size at every judged batch."""
    return any(dim.HasField("dim_value") and {*sizes} != {dim.dim_value} for dim, sizes in _sizes(value, shapes, walk))


def _free(value: Any, shapes: Shapes | None, walk: Walk) -> None:
    """Let an output declare no number that is not its size at every judged batch; the batch gets its name."""
    batches = [lane.batch for lane in walk.lanes if lane.judged]
    for dim, sizes in _sizes(value, shapes, walk):
        if dim.HasField("dim_value") and {*sizes} != {dim.dim_value}:
            dim.Clear()
            if sizes == batches:
                dim.dim_param = walk.batch

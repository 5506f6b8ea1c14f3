"""Compare two models by their names, shapes and operators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from shapecalc.core.record import Record
from shapecalc.models.file import DTYPE_NAMES, Model, iter_nodes


class ModelDifference(Record):
    """A difference between two models."""

    kind: str
    """The kind of model part that differs: input, output, weight, node, operator or opset."""
    name: str
    here: str | None
    """The description in the first model; None if it is absent there."""
    there: str | None
    """The description in the second model; None if it is absent there."""


def compare_models(model: Model, other_model: Model) -> list[ModelDifference]:
    """Return the differences between two models.

    The differences are in the order opset, inputs, outputs, weights, nodes, operators.
    """
    tables = [[*_describe_parts(each)] for each in (model, other_model)]
    return [
        ModelDifference(kind, name, first.get(name), second.get(name))
        for (kind, first), (_, second) in zip(*tables, strict=True)
        for name in dict.fromkeys([*first, *second])
        if first.get(name) != second.get(name)
    ]


def _describe_parts(model: Model) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield each kind of model part, such as "input", with a description of each part by name.

    The description is the type and shape, the version, the operator, or the number of occurrences.
    """
    nodes = [*iter_nodes((model.graph,))]
    graph = model.proto.graph
    yield "opset", {domain: str(version) for domain, version in model.opset.items()}
    for kind, values in (("input", model.inputs), ("output", model.outputs)):
        yield kind, {value.name: _describe_tensor(value.dtype, value.dims) for value in values}
    yield "weight", {tensor.name: _describe_tensor(tensor.data_type, tensor.dims) for tensor in graph.initializer}
    yield "node", {node.name: node.op for node in nodes if node.name}
    yield "operator", {op: str(count) for op, count in Counter(node.op for node in nodes).items()}


def _describe_tensor(dtype: int, dims: Sequence[int | str | None] | None) -> str:
    shape = "?" if dims is None else ",".join("?" if dim is None else str(dim) for dim in dims) or "[]"
    return f"{DTYPE_NAMES.get(dtype, f'type {dtype}')} {shape}"

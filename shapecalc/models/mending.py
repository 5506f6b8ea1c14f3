"""Mending: a model's message with the fixes in it, and the file that is written of it."""

from __future__ import annotations

import mmap

from shapecalc.core.record import Record
from shapecalc.models.declaring import declare
from shapecalc.models.editing import Editor, graphs
from shapecalc.models.payloads import with_payloads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from shapecalc.models.model import Model, Node
    from shapecalc.models.report import Fix
    from shapecalc.models.walk import Walk


class Mending(Record):
    """A message with fixes in it."""

    proto: Any
    mended: frozenset[str]
    """The paths of the nodes that were mended."""
    freed: tuple[str, ...]
    """The inputs that declare another shape now."""
    inserted: frozenset[str]
    """The names of the nodes that were put in."""


def mended(walk: Walk, fixes: Mapping[str, tuple[Node, Fix]]) -> Mending:
    """Return a copy of a model's message with fixes in it, by the nodes' paths, and with declared dims that hold."""
    proto = type(walk.model.proto)()
    proto.CopyFrom(walk.model.proto)
    freed = declare(proto, walk)
    editor = Editor(proto)
    places = {path: editor.node_at(path) for path in fixes}
    written: dict[int, Fix] = {}
    done = []
    for path, (node, fix) in fixes.items():
        graph, message = places[path]
        taken = written.setdefault(id(message), fix)
        if taken is fix and not _put(editor, graph, message, node, fix, walk):
            continue
        if taken.target == fix.target:
            done.append(path)
    return Mending(proto, frozenset(done), tuple(freed), frozenset(editor.inserted))


def _put(editor: Editor, graph: Any, message: Any, node: Node, fix: Fix, walk: Walk) -> bool:
    """Put a fix into the message; say whether that can be done."""
    if fix.place is None:
        editor.set_argument(graph, message, node.opset, fix)
        return True
    source = _batch_input(walk)
    entries = walk.shapes[node.inputs[1]] if len(node.inputs) > 1 else None
    if source is None or "/@" in node.path or entries is None or entries[0] is None:
        return False
    editor.compute_argument(graph, message, entries[0][0], fix.place, *source)
    return True


def _batch_input(walk: Walk) -> tuple[str, int] | None:
    """Return an input that has the batch as a dim, and its axis."""
    for declared, taken in zip(walk.model.inputs, walk.taken, strict=True):
        if taken and walk.batch in taken:
            return declared.name, taken.index(walk.batch)
    return None


def pieces(model: Model, proto: Any) -> list[bytes | memoryview]:
    """Return what to write for a message of a model, payloads of the model's file among them.

    Raises `OSError` if the file cannot be mapped any more.
    """
    with model.path.open("rb") as file:
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    return with_payloads(proto.SerializeToString(), model.payloads, data)


def external_files(proto: Any) -> set[str]:
    """Return the files that hold elements of a model's tensors, as the model names them."""
    return {
        entry.value
        for tensor in _tensors(proto)
        if tensor.data_location == 1
        for entry in tensor.external_data
        if entry.key == "location"
    }


def _tensors(proto: Any) -> Iterable[Any]:
    for graph in graphs(proto):
        yield from getattr(graph, "initializer", ())
        for sparse in getattr(graph, "sparse_initializer", ()):
            yield from (sparse.values, sparse.indices)
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    yield attribute.t
                yield from attribute.tensors

"""Fix a model, prove the result, and write it.

The fixes are made in a copy of the ModelProto, and declared dims that no longer hold are removed from it. A new
constant is a separate node or initializer, so that other readers of the old one are unaffected; an unused old one is
removed.
"""

from __future__ import annotations

import mmap
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any

from shapecalc.core.problem import misuse
from shapecalc.core.record import Record, replace
from shapecalc.core.text import brief, visible
from shapecalc.engine.whole_files import whole_file
from shapecalc.models.batch_axis import BatchAxis, Shapes
from shapecalc.models.file import INT64, Body, Model, Node, file_error, model_of, onnx_messages, with_payloads
from shapecalc.models.judge import Outcome
from shapecalc.models.lanes import Walk
from shapecalc.models.operators import LISTED, RANDOM
from shapecalc.models.propagate import Judge, Marks
from shapecalc.models.prove import Proof, proof_of
from shapecalc.models.report import Fixed, Report, assumed_words, name_of
from shapecalc.models.verdicts import NO_TURN, Fix, Verdict
from shapecalc.models.walk import walked

SAMPLES = 3
"""The preferred batch size for the comparison of samples."""
MOST_DOUBTS = 3
"""The largest number of fixes whose assumption is reported for an unproved model."""


class FixedModel(Record):
    """A model with all known fixes applied."""

    walk: Walk
    """The walk of the fixed model."""
    judge: Judge
    fixed: Mapping[str, Fix]
    """The applied fixes, by node path in the original model."""
    left: tuple[str, ...]
    """The paths in the original model of the listed nodes that still fail."""
    failing: int
    """The number of nodes that still fail at some size or mix the samples."""
    freed: frozenset[str]
    """The names of the inputs whose declared shape was changed."""

    @property
    def proto(self) -> Any:
        """The ModelProto of the fixed model."""
        return self.walk.model.proto

    @property
    def changed(self) -> bool:
        """Whether the ModelProto was modified."""
        return bool(self.fixed or self.freed)


class Editor:
    """An editor of the arguments of nodes in a ModelProto."""

    def __init__(self, proto: Any, names: Iterable[str]) -> None:
        """Edit `proto` in place; `names` are the tensor names in use."""
        self.proto = proto
        self._messages = onnx_messages()
        self._read = Counter(_names_read(proto))
        self._initializers_of: dict[int, dict[str, Any]] = {}
        self.inserted: set[str] = set()
        """The names of the inserted nodes."""
        self._names_used = {*names, *self._read, *[node.name for graph in graphs(proto) for node in graph.node]}

    def node_at(self, path: str) -> tuple[Any, Any]:
        """Return the graph or function that contains a node, and the node, by its path."""
        index, *rest = path.split("/")
        graph = self.proto.graph
        node = graph.node[int(index)]
        for name, index in zip(rest[::2], rest[1::2], strict=True):
            if name.startswith("@"):
                called = node.domain, node.op_type, name[1:]
                graph = next(f for f in self.proto.functions if (f.domain, f.name, f.name) == called)
            else:
                graph = next(each.g for each in node.attribute if each.name == name and each.HasField("g"))
            node = graph.node[int(index)]
        return graph, node

    def set_argument(self, graph: Any, node: Any, opset: int, fix: Fix) -> None:
        """Set the argument of a node to the constant of a fix."""
        assert fix.target is not None
        argument = LISTED[node.op_type].arguments[0]
        if argument.attribute and (argument.input_since is None or opset < argument.input_since):
            _set_attribute(node, argument.attribute, fix.target if argument.kind is tuple else fix.target[0])
        else:
            self._point(graph, node, self._target(graph, node, fix.target))
        if fix.allowzero is False:
            _remove(node.attribute, lambda attribute: attribute.name == "allowzero")

    def compute_argument(self, graph: Any, node: Any, rank: int, place: int, source: str, axis: int) -> None:
        """Insert nodes that compute one entry of a node's argument.

        The argument has `rank` entries. Entry `entry_index` becomes the size of axis `axis` of `source`.
        """
        old = node.input[1]
        shape = self._node("Shape", [source], f"{old}_sizes")
        index = self._constant((axis,), f"{old}_axis")
        size = self._node("Gather", [shape.output[0], index.output[0]], f"{old}_batch")
        before, after = (self._picked(old, kept) if kept else [] for kept in (range(place), range(place + 1, rank)))
        parts = [nodes[-1].output[0] for nodes in (before, [size], after) if nodes]
        concat = self._node("Concat", parts, f"{old}_mended")
        _set_attribute(concat, "axis", 0)
        self._insert(graph, node, [shape, index, size, *before, *after, concat])
        node.input[1] = concat.output[0]

    def _picked(self, name: str, places: Sequence[int]) -> list[Any]:
        """Return the nodes that gather some entries of a tensor."""
        indices = self._constant(places, f"{name}_places")
        return [indices, self._node("Gather", [name, indices.output[0]], f"{name}_kept")]

    def _target(self, graph: Any, node: Any, target: Sequence[int]) -> str:
        """Add a constant to a graph, as an initializer if possible, and return its name."""
        old = node.input[1]
        if id(graph) not in self._initializers_of:
            self._initializers_of[id(graph)] = {tensor.name: tensor for tensor in getattr(graph, "initializer", ())}
        old_tensor = self._initializers_of[id(graph)].get(old)
        if old_tensor is not None and self._read[old] == 1 and list(old_tensor.dims) == [len(target)]:
            old_tensor.CopyFrom(self._tensor(old, target))
            return str(old)
        name = self._free(f"{old}_mended")
        if self.proto.ir_version < 4 or not hasattr(graph, "initializer"):
            constant = self._constant(target, name)
            self._insert(graph, node, [constant])
            return str(constant.output[0])
        graph.initializer.append(self._tensor(name, target))
        return name

    def _point(self, graph: Any, node: Any, name: str) -> None:
        """Replace the second input of a node.

        Its old initializer is removed if that is now unused.
        """
        old = node.input[1]
        if old == name:
            return
        node.input[1] = name
        self._read[old] -= 1
        if not self._read[old] and all(value.name != old for value in self.proto.graph.input):
            _remove(getattr(graph, "initializer", []), lambda tensor: tensor.name == old)

    def _free(self, name: str) -> str:
        """Return an unused tensor name made from another."""
        names = chain((name,), (f"{name}_{number}" for number in count(2)))
        unused = next(candidate for candidate in names if candidate not in self._names_used)
        self._names_used.add(unused)
        return unused

    def _insert(self, graph: Any, node: Any, made: Sequence[Any]) -> None:
        position = next(index for index, other in enumerate(graph.node) if other is node)
        for new in reversed(made):
            graph.node.insert(position, new)
            self.inserted.add(new.name)

    def _constant(self, values: Sequence[int], name: str) -> Any:
        node = self._node("Constant", [], name)
        _set_attribute(node, "value", self._tensor(node.output[0], values))
        return node

    def _node(self, op: str, inputs: Sequence[str], output: str) -> Any:
        name = self._free(output)
        return self._messages.NodeProto(op_type=op, name=name, input=inputs, output=[name])

    def _tensor(self, name: str, values: Sequence[int]) -> Any:
        return self._messages.TensorProto(name=name, data_type=INT64, dims=[len(values)], int64_data=values)


def written(
    outcome: Outcome,
    report: Report,
    target: Path,
    chosen: Mapping[str, Fix],
    *,
    force: bool = False,
    prove: bool = True,
) -> Report:
    """Write a fixed model, and return its report.

    `chosen_fixes` maps node paths to fixes that replace the best ones. Nothing is written if the proof fails.

    Raises `ShapeError`: usage if the model was judged at other sizes than the file declares, file if the output would
    overwrite the model, or would not be in the folder of its external data. Raises `OSError` if the file cannot be
    written.
    """
    walk = outcome.walk
    _check_sizes(walk)
    _check_place(walk.model, target)
    model = fixed_model(walk, outcome.judge, chosen)
    proof = Proof(None, "there was nothing to mend")
    content = pieces(walk.model, model.proto) if model.changed else [walk.model.path.read_bytes()]
    with whole_file(target, force=force, wanted=lambda: proof.proved is not False) as file:
        for piece in content:
            file.write(piece)
        file.flush()
        if model.changed or model.left:
            proof = _proof(model, file, prove)
    return replace(report, fixed=_fixed(report, model, proof, target))


def fixed_model(walk: Walk, judge: Judge, chosen: Mapping[str, Fix]) -> FixedModel:
    """Fix a model, and walk it again until there is nothing more to fix.

    `chosen_fixes` fixes have priority over the best ones.
    """
    done: dict[str, Fix] = {}
    inserted: frozenset[str] = frozenset()
    freed: frozenset[str] = frozenset()
    for _ in range(8):  # each round judges the nodes below those that were fixed in the last one
        first = {path: _first_path(walk.model, path, inserted) for path in (*judge.offenders, *judge.fixes_above)}
        wanted = {path: pair for path, pair in _wanted(judge, first, chosen).items() if first[path] not in done}
        proto, fixed, changed, new_nodes = with_fixes(walk, wanted)
        if not fixed and not changed:
            break
        done |= {first[path]: wanted[path][1] for path in wanted if path in fixed}
        inserted |= new_nodes
        freed |= {*changed}
        model = model_of(proto, walk.model.path, walk.model.payloads)
        judge = Judge()
        walk = walked(model, walk.choice, judge)
    left = tuple([_first_path(walk.model, path, inserted) for path in judge.offenders])
    failing = len(judge.stops) + sum(verdict.verdict is not Verdict.SWALLOWS for _, verdict in judge.offenders.values())
    return FixedModel(walk, judge, done, left, failing, freed)


def _wanted(judge: Judge, first: Mapping[str, str], chosen: Mapping[str, Fix]) -> dict[str, tuple[Node, Fix]]:
    """Return the fixes to apply, by path.

    `original_paths` maps current paths to those in `chosen_fixes`.
    """
    result = dict(judge.fixes_above)
    for path, (node, verdict) in judge.offenders.items():
        fix = chosen.get(first[path], verdict.fixes[0] if verdict.fixes else None)
        if fix is not None and first[path] in chosen and 0 in (fix.target or ()):
            fix = replace(fix, allowzero=False)
        if fix is not None:
            result[path] = node, fix
    return result


def _first_path(model: Model, path: str, inserted: frozenset[str]) -> str:
    """Return the path of a node before nodes were inserted."""
    index, slash, rest = path.partition("/")
    inserted_before = sum(node.name in inserted for node in model.proto.graph.node[: int(index)]) if inserted else 0
    return f"{int(index) - inserted_before}{slash}{rest}"


def _check_sizes(walk: Walk) -> None:
    sizes = next(lane.sizes for lane in walk.lanes if lane.judged and lane.batch == (walk.declared_batch or 1))
    for declared, dims in zip(walk.model.inputs, walk.inputs, strict=True):
        taken = [sizes[dim] if isinstance(dim, str) else dim for dim in dims or ()]
        pairs = zip(declared.dims or taken, taken, strict=True)
        in_file = [size if isinstance(size, int) else walked_size for size, walked_size in pairs]
        if taken != in_file:
            expected, actual = (",".join(map(str, shape)) for shape in (in_file, taken))
            message = f"input {visible(brief(declared.name))} is {expected} in the file, and not {actual}"
            raise misuse(message, "--fix needs the sizes that the file declares", argument="set")


def _check_place(model: Model, target: Path) -> None:
    if os.path.realpath(target) == os.path.realpath(model.path) or (target.exists() and target.samefile(model.path)):
        raise file_error(f"{target}: that is the model itself, which stays as it is")
    outside = external_files(model.proto)
    if outside and target.resolve().parent != model.path.resolve().parent:
        raise file_error(f"{target}: the model needs {visible(min(outside))} beside it, so write into its own folder")


def _proof(found: FixedModel, file: Any, prove: bool) -> Proof:
    """Return the proof of a fixed model; None in it if the model is known to fail."""
    if not prove:
        return Proof(None, "nobody asked for it")
    if found.failing:
        return Proof(None, f"{found.failing} {'node' if found.failing == 1 else 'nodes'} in it cannot be mended")
    random = {node.op_type for graph in graphs(found.proto) for node in graph.node} & RANDOM
    if random:
        return Proof(None, f"{min(random)} gives other numbers each time")
    return proof_of(found.walk.model.path, _proof_task(found.walk, found.judge.marks), file)


def _proof_task(walk: Walk, marks: Callable[[int], Marks | None]) -> dict[str, Any] | str:
    """Return the task for the proof process, or the reason why no proof is possible."""
    declared = walk.declared_batch or 1
    judged = [lane.batch for lane in walk.lanes if lane.judged and lane.batch > 1]
    others = [size for size in judged if size != declared]
    other = SAMPLES if SAMPLES in others else max(others, default=0)
    if not other:
        return "no larger batch was judged"
    lane = next(index for index, lane in enumerate(walk.lanes) if lane.judged and lane.batch == other)
    home = next(index for index, lane in enumerate(walk.lanes) if lane.judged and lane.batch == declared)
    axes = []
    for output in walk.model.outputs:
        output_marks = marks(output.tensor) or (None,) * len(walk.lanes)
        if output_marks[lane] is not None and not isinstance(output_marks[lane], BatchAxis):
            return f"nobody can say where the samples are in output {output.name}"
        pair = [output_marks[index] for index in (lane, home)]
        axes.append([(mark.axis, mark.inner) if isinstance(mark, BatchAxis) else None for mark in pair])
    return {
        "model": str(walk.model.path.resolve()),
        "folder": str(walk.model.path.resolve().parent),
        "declared": declared,
        "other": other,
        "inputs": _inputs(walk, lane),
        "places": [axis for axis, _ in axes],
        "home_places": [home_axis for _, home_axis in axes],
    }


def _inputs(walk: Walk, lane: int) -> dict[str, list[int | None] | None]:
    """Return the input shapes by name, with None for the batch.

    An unknown shape is None.
    """
    sizes: dict[Any, Any] = {**walk.lanes[lane].sizes, walk.batch: None}
    return {
        declared.name: None if dims is None or None in dims else [sizes.get(dim, dim) for dim in dims]
        for declared, dims in zip(walk.model.inputs, walk.inputs, strict=True)
    }


def _fixed(report: Report, found: FixedModel, proof: Proof, target: Path) -> Fixed:
    """Return the result of `--fix`, with the nodes of the report.

    A proved model has no failing nodes: a node that moves the batch is right if a later node moves it back.
    """
    fixed_nodes = [
        (judged, found.fixed[judged.node.path]) for judged in report.nodes if judged.node.path in found.fixed
    ]
    left = [judged for judged in report.nodes if judged.node.path in found.left and not proof.proved]
    path = None if proof.proved is False else str(target)
    doubted = [] if proof.proved else [pair for pair in fixed_nodes if pair[1].assumes.startswith(NO_TURN)]
    doubts = [f"; the fix of {name_of(judged.node)} {assumed_words(fix)}" for judged, fix in doubted[:MOST_DOUBTS]]
    freed = tuple(value for value in report.inputs if value.name in found.freed)
    stays = tuple(value for value in report.inputs if report.axis_to_free(value) is not None)
    stops = () if proof.proved else report.stops if path is None else tuple(found.judge.stops)
    why = f"{proof.why}{''.join(doubts)}"
    return Fixed(tuple(fixed_nodes), tuple(left), proof.proved, why, path, freed, stays, stops)


def with_fixes(walk: Walk, fixes: Mapping[str, tuple[Node, Fix]]) -> tuple[Any, set[str], list[str], set[str]]:
    """Return a copy of a ModelProto with fixes and without stale declarations.

    Returned with it are the paths of the fixed nodes, the names of inputs with a changed declaration, and the names of
    inserted nodes.
    """
    proto = type(walk.model.proto)()
    proto.CopyFrom(walk.model.proto)
    freed = declare(proto, walk)
    editor = Editor(proto, walk.model.names)
    located = {path: editor.node_at(path) for path in fixes}
    applied: dict[int, Fix] = {}
    done = set()
    for path, (node, fix) in fixes.items():
        graph, message = located[path]
        first = applied.setdefault(id(message), fix)
        if first is fix and not _put(editor, graph, message, node, fix, walk):
            continue
        if first.target == fix.target:
            done.add(path)
    return proto, done, freed, editor.inserted


def _put(editor: Editor, graph: Any, message: Any, node: Node, fix: Fix, walk: Walk) -> bool:
    """Apply a fix to a ModelProto; return whether that was possible."""
    if fix.place is None:
        editor.set_argument(graph, message, node.opset, fix)
        return True
    inputs = zip(walk.model.inputs, walk.inputs, strict=True)
    source = next(((value.name, dims.index(walk.batch)) for value, dims in inputs if dims and walk.batch in dims), None)
    entries = walk.shapes[node.inputs[1]] if len(node.inputs) > 1 else None
    if source is None or "/@" in node.path or entries is None or entries[0] is None:
        return False
    editor.compute_argument(graph, message, entries[0][0], fix.place, *source)
    return True


def pieces(model: Model, proto: Any) -> list[bytes | memoryview]:
    """Return the pieces of a ModelProto to write, with the model's payloads.

    Raises `OSError` if the file can no longer be mapped.
    """
    with model.path.open("rb") as file:
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    return with_payloads(proto.SerializeToString(), model.payloads, data)


def external_files(proto: Any) -> set[str]:
    """Return the external data files of a model, as it names them."""
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


def declare(proto: Any, walk: Walk) -> list[str]:
    """Update the declared dims of a ModelProto; return the changed inputs' names.

    Inputs get the shapes that they were walked with. Output dims that vary are freed, and stale value_info is removed.
    """
    changed = [*_freed_inputs(proto, walk)]
    for graph, body in _bodies(proto, walk):
        shapes = {walk.model.names[tensor]: walk.shapes[tensor] for node in body.nodes for tensor in node.outputs}
        for output in graph.output:
            _free(output, shapes.get(output.name), walk)
        _remove(graph.value_info, lambda value, s=shapes: value.name in s and any(_stale(value, s[value.name], walk)))
    for function in proto.functions:
        del function.value_info[:]
    return changed


def _freed_inputs(proto: Any, walk: Walk) -> Iterator[str]:
    by_name = {value.name: value for value in proto.graph.input}
    for declared, taken in zip(walk.model.inputs, walk.inputs, strict=True):
        dims = by_name[declared.name].type.tensor_type.shape.dim
        before = [(dim.dim_value, dim.dim_param) for dim in dims]
        for dim, size in zip(dims, taken or (), strict=False):
            if isinstance(size, str) and dim.HasField("dim_value"):
                dim.dim_param = size
        if before != [(dim.dim_value, dim.dim_param) for dim in dims]:
            yield declared.name


def _bodies(proto: Any, walk: Walk) -> Iterator[tuple[Any, Body]]:
    """Yield each graph of a ModelProto with the walked graph; functions are left out."""
    stack = [(proto.graph, walk.model.graph)]
    while stack:
        graph, body = stack.pop()
        yield graph, body
        for node in body.nodes:
            subgraphs = {subgraph.name: subgraph for subgraph in node.bodies if not subgraph.name.startswith("@")}
            if subgraphs:
                attributes = graph.node[int(node.path.rpartition("/")[2])].attribute
                stack += [(each.g, subgraphs[each.name]) for each in attributes if each.HasField("g")]


def _stale(value: Any, shapes: Shapes | None, walk: Walk) -> Iterator[tuple[Any, list[int | None]]]:
    """Yield each declared dim that differs in some judged lane, with its sizes."""
    judged = [shapes[lane] if shapes is not None else None for lane in walk.judged]
    for axis, dim in enumerate(value.type.tensor_type.shape.dim):
        sizes = [shape[axis] if shape is not None and axis < len(shape) else None for shape in judged]
        if dim.HasField("dim_value") and {*sizes} != {dim.dim_value}:
            yield dim, sizes


def _free(value: Any, shapes: Shapes | None, walk: Walk) -> None:
    """Free the dims of an output that vary between judged lanes.

    A dim that equals the batch in all of them gets its name.
    """
    batches = [lane.batch for lane in walk.lanes if lane.judged]
    for dim, sizes in _stale(value, shapes, walk):
        dim.Clear()
        if sizes == batches:
            dim.dim_param = walk.batch


def _set_attribute(node: Any, name: str, value: Any) -> None:
    from onnx import helper

    _remove(node.attribute, lambda attribute: attribute.name == name)
    node.attribute.append(helper.make_attribute(name, value))


def _remove(row: Any, unwanted: Any) -> None:
    for index in range(len(row) - 1, -1, -1):
        if unwanted(row[index]):
            del row[index]


def graphs(proto: Any) -> Iterator[Any]:
    """Yield every graph and function of a ModelProto."""
    stack = [proto.graph, *proto.functions]
    while stack:
        graph = stack.pop()
        yield graph
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    stack.append(attribute.g)
                stack += attribute.graphs


def _names_read(proto: Any) -> Iterator[str]:
    for graph in graphs(proto):
        for node in graph.node:
            yield from node.input
        for output in graph.output:
            yield output if isinstance(output, str) else output.name

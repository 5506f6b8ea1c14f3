"""Writing: all that offends in a model is fixed in its message, which declares then what holds, proved, and written.

A new constant is a node of its own, so nobody else who reads the old one is touched; the old one goes if nobody does.
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
"""The batch at which samples are compared."""
MOST_DOUBTS = 3
"""Of how many fixes it is told what they assume, if a model is not proved."""


class FixedModel(Record):
    """A model with everything fixed that can be."""

    walk: Walk
    """The walk of the fixed model, and what judged it."""
    judge: Judge
    fixed: Mapping[str, Fix]
    """What was fixed, by the nodes' paths in the model that was read."""
    left: tuple[str, ...]
    """The paths of the listed nodes that still offend, in the model that was read."""
    failing: int
    """How many nodes fail at some size, or mix the samples."""
    freed: frozenset[str]
    """The names of the inputs that declare another shape now."""

    @property
    def proto(self) -> Any:
        """The message of the fixed model."""
        return self.walk.model.proto

    @property
    def changed(self) -> bool:
        """Whether the message is another one now."""
        return bool(self.fixed or self.freed)


def fixed_model(walk: Walk, judge: Judge, chosen: Mapping[str, Fix]) -> FixedModel:
    """Return a model mended, and walked again until nothing more is found; `chosen` fixes go before the best ones."""
    done: dict[str, Fix] = {}
    inserted: frozenset[str] = frozenset()
    freed: frozenset[str] = frozenset()
    for _ in range(8):  # what lay below a node that failed before is seen only then
        first = {path: _first_path(walk.model, path, inserted) for path in (*judge.offenders, *judge.fixes_above)}
        wanted = {path: each for path, each in _wanted(judge, first, chosen).items() if first[path] not in done}
        proto, fixed, changed, made = with_fixes(walk, wanted)
        if not fixed and not changed:
            break
        done |= {first[path]: wanted[path][1] for path in wanted if path in fixed}
        inserted |= made
        freed |= {*changed}
        model = model_of(proto, walk.model.path, walk.model.payloads)
        judge = Judge()
        walk = walked(model, walk.choice, judge)
    left = tuple([_first_path(walk.model, path, inserted) for path in judge.offenders])
    failing = len(judge.stops) + sum(found.verdict is not Verdict.SWALLOWS for _, found in judge.offenders.values())
    return FixedModel(walk, judge, done, left, failing, freed)


def _wanted(judge: Judge, first: Mapping[str, str], chosen: Mapping[str, Fix]) -> dict[str, tuple[Node, Fix]]:
    """Return the fixes to make by path; `first` tells the paths by which they are chosen."""
    found = dict(judge.fixes_above)
    for path, (node, offender) in judge.offenders.items():
        fix = chosen.get(first[path], offender.fixes[0] if offender.fixes else None)
        if fix is not None and first[path] in chosen and 0 in (fix.target or ()):
            fix = replace(fix, allowzero=False)
        if fix is not None:
            found[path] = node, fix
    return found


def _first_path(model: Model, path: str, inserted: frozenset[str]) -> str:
    """Return a node's path as it was before nodes were put in in front of it."""
    index, slash, rest = path.partition("/")
    in_front = sum(node.name in inserted for node in model.proto.graph.node[: int(index)]) if inserted else 0
    return f"{int(index) - in_front}{slash}{rest}"


def written(
    outcome: Outcome,
    report: Report,
    target: Path,
    chosen: Mapping[str, Fix],
    *,
    force: bool = False,
    prove: bool = True,
) -> Report:
    """Return the report of a model whose mended form was written to a file; nothing is written if its proof fails.

    `chosen` holds fixes by the nodes' paths, to be taken in place of the best ones. Raises `ShapeError`: usage if the
    model was judged at other sizes than the file declares, file if the file would take the model's place, or would be
    parted from the files that hold its elements. Raises `OSError` for what cannot be written.
    """
    walk = outcome.walk
    _check_sizes(walk)
    _check_place(walk.model, target)
    found = fixed_model(walk, outcome.judge, chosen)
    proof = Proof(None, "there was nothing to mend")
    content = pieces(walk.model, found.proto) if found.changed else [walk.model.path.read_bytes()]
    with whole_file(target, force=force, wanted=lambda: proof.proved is not False) as file:
        for piece in content:
            file.write(piece)
        file.flush()
        if found.changed or found.left:
            proof = _proof(found, file, prove)
    return replace(report, fixed=_fixed(report, found, proof, target))


def _check_sizes(walk: Walk) -> None:
    sizes = next(lane.sizes for lane in walk.lanes if lane.judged and lane.batch == (walk.declared_batch or 1))
    for declared, dims in zip(walk.model.inputs, walk.inputs, strict=True):
        taken = [sizes[dim] if isinstance(dim, str) else dim for dim in dims or ()]
        both = zip(declared.dims or taken, taken, strict=True)
        own = [size if isinstance(size, int) else here for size, here in both]
        if taken != own:
            there, here = (",".join(map(str, each)) for each in (own, taken))
            said = f"input {visible(brief(declared.name))} is {there} in the file, and not {here}"
            raise misuse(said, "--fix needs the sizes that the file declares", argument="set")


def _check_place(model: Model, target: Path) -> None:
    if os.path.realpath(target) == os.path.realpath(model.path) or (target.exists() and target.samefile(model.path)):
        raise file_error(f"{target}: that is the model itself, which stays as it is")
    outside = external_files(model.proto)
    if outside and target.resolve().parent != model.path.resolve().parent:
        raise file_error(f"{target}: the model needs {visible(min(outside))} beside it, so write into its own folder")


def _proof(found: FixedModel, file: Any, prove: bool) -> Proof:
    """Return what a proof says of the mended model, if nothing is known that fails."""
    if not prove:
        return Proof(None, "nobody asked for it")
    if found.failing:
        return Proof(None, f"{found.failing} {'node' if found.failing == 1 else 'nodes'} in it cannot be mended")
    random = {node.op_type for graph in graphs(found.proto) for node in graph.node} & RANDOM
    if random:
        return Proof(None, f"{min(random)} gives other numbers each time")
    return proof_of(found.walk.model.path, _proof_task(found.walk, found.judge.marks), file)


def _proof_task(walk: Walk, marks: Callable[[int], Marks | None]) -> dict[str, Any] | str:
    """Return what to prove, for the other process; the reason if it cannot be proved."""
    declared = walk.declared_batch or 1
    judged = [lane.batch for lane in walk.lanes if lane.judged and lane.batch > 1]
    others = [size for size in judged if size != declared]
    other = SAMPLES if SAMPLES in others else max(others, default=0)
    if not other:
        return "no larger batch was judged"
    lane = next(at for at, lane in enumerate(walk.lanes) if lane.judged and lane.batch == other)
    home = next(at for at, lane in enumerate(walk.lanes) if lane.judged and lane.batch == declared)
    places = []
    for output in walk.model.outputs:
        found = marks(output.tensor) or (None,) * len(walk.lanes)
        if found[lane] is not None and not isinstance(found[lane], BatchAxis):
            return f"nobody can say where the samples are in output {output.name}"
        marked = [found[at] for at in (lane, home)]
        places.append([(mark.axis, mark.inner) if isinstance(mark, BatchAxis) else None for mark in marked])
    return {
        "model": str(walk.model.path.resolve()),
        "folder": str(walk.model.path.resolve().parent),
        "declared": declared,
        "other": other,
        "inputs": _inputs(walk, lane),
        "places": [each[0] for each in places],
        "home_places": [each[1] for each in places],
    }


def _inputs(walk: Walk, lane: int) -> dict[str, list[int | None] | None]:
    """Return the shapes of the inputs by name, None where the batch is; None for a shape that nobody knows."""
    sizes: dict[Any, Any] = {**walk.lanes[lane].sizes, walk.batch: None}
    return {
        declared.name: None if dims is None or None in dims else [sizes.get(dim, dim) for dim in dims]
        for declared, dims in zip(walk.model.inputs, walk.inputs, strict=True)
    }


def _fixed(report: Report, found: FixedModel, proof: Proof, target: Path) -> Fixed:
    """Return what was done, with the nodes as the report has them.

    Where the samples are told apart in the end, no node is left to mend: it put the batch elsewhere, and others put it
    back.
    """
    fixed_nodes = [(each, found.fixed[each.node.path]) for each in report.nodes if each.node.path in found.fixed]
    left = [each for each in report.nodes if each.node.path in found.left and not proof.proved]
    path = None if proof.proved is False else str(target)
    doubted = [] if proof.proved else [each for each in fixed_nodes if each[1].assumes.startswith(NO_TURN)]
    doubts = [f"; the fix of {name_of(judged.node)} {assumed_words(fix)}" for judged, fix in doubted[:MOST_DOUBTS]]
    freed = tuple(each for each in report.inputs if each.name in found.freed)
    stays = tuple(each for each in report.inputs if report.axis_to_free(each) is not None)
    stops = () if proof.proved else report.stops if path is None else tuple(found.judge.stops)
    why = f"{proof.why}{''.join(doubts)}"
    return Fixed(tuple(fixed_nodes), tuple(left), proof.proved, why, path, freed, stays, stops)


def with_fixes(walk: Walk, fixes: Mapping[str, tuple[Node, Fix]]) -> tuple[Any, set[str], list[str], set[str]]:
    """Return a copy of a model's message with fixes in it, by the nodes' paths, and with declared dims that hold.

    With it come the paths that were fixed, the inputs that declare another shape now, and the names of new nodes.
    """
    proto = type(walk.model.proto)()
    proto.CopyFrom(walk.model.proto)
    freed = declare(proto, walk)
    editor = Editor(proto, walk.model.names)
    places = {path: editor.node_at(path) for path in fixes}
    written: dict[int, Fix] = {}
    done = set()
    for path, (node, fix) in fixes.items():
        graph, message = places[path]
        first = written.setdefault(id(message), fix)
        if first is fix and not _put(editor, graph, message, node, fix, walk):
            continue
        if first.target == fix.target:
            done.add(path)
    return proto, done, freed, editor.inserted


def _put(editor: Editor, graph: Any, message: Any, node: Node, fix: Fix, walk: Walk) -> bool:
    """Put a fix into the message; say whether that can be done."""
    if fix.place is None:
        editor.set_argument(graph, message, node.opset, fix)
        return True
    inputs = zip(walk.model.inputs, walk.inputs, strict=True)
    source = next(((each.name, dims.index(walk.batch)) for each, dims in inputs if dims and walk.batch in dims), None)
    entries = walk.shapes[node.inputs[1]] if len(node.inputs) > 1 else None
    if source is None or "/@" in node.path or entries is None or entries[0] is None:
        return False
    editor.compute_argument(graph, message, entries[0][0], fix.place, *source)
    return True


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


def declare(proto: Any, walk: Walk) -> list[str]:
    """Give the inputs of a message the shapes that they were walked with, free other dims, drop stale value_info.

    Returns the names of the inputs that have changed.
    """
    changed = [*_freed_inputs(proto, walk)]
    for graph, body in _bodies(proto, walk):
        shapes = {walk.model.names[each]: walk.shapes[each] for node in body.nodes for each in node.outputs}
        for output in graph.output:
            _free(output, shapes.get(output.name), walk)
        _remove(graph.value_info, lambda each, s=shapes: each.name in s and any(_stale(each, s[each.name], walk)))
    for function in proto.functions:
        del function.value_info[:]
    return changed


def _freed_inputs(proto: Any, walk: Walk) -> Iterator[str]:
    by_name = {each.name: each for each in proto.graph.input}
    for declared, given in zip(walk.model.inputs, walk.inputs, strict=True):
        dims = by_name[declared.name].type.tensor_type.shape.dim
        before = [(dim.dim_value, dim.dim_param) for dim in dims]
        for dim, size in zip(dims, given or (), strict=False):
            if isinstance(size, str) and dim.HasField("dim_value"):
                dim.dim_param = size
        if before != [(dim.dim_value, dim.dim_param) for dim in dims]:
            yield declared.name


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


def _stale(value: Any, shapes: Shapes | None, walk: Walk) -> Iterator[tuple[Any, list[int | None]]]:
    """Yield the declared numbers of a tensor that are not its size at every judged batch, each with its sizes there."""
    judged = [shapes[at] if shapes is not None else None for at in walk.judged]
    for axis, dim in enumerate(value.type.tensor_type.shape.dim):
        sizes = [shape[axis] if shape is not None and axis < len(shape) else None for shape in judged]
        if dim.HasField("dim_value") and {*sizes} != {dim.dim_value}:
            yield dim, sizes


def _free(value: Any, shapes: Shapes | None, walk: Walk) -> None:
    """Let an output declare no number that is not its size at every judged batch; the batch gets its name."""
    batches = [lane.batch for lane in walk.lanes if lane.judged]
    for dim, sizes in _stale(value, shapes, walk):
        dim.Clear()
        if sizes == batches:
            dim.dim_param = walk.batch


class Editor:
    """A model's message while nodes in it get new arguments."""

    def __init__(self, proto: Any, names: Iterable[str]) -> None:
        """Begin with a message that may be changed, and the names of its tensors."""
        self.proto = proto
        self._messages = onnx_messages()
        self._read = Counter(_names_read(proto))
        self._initializers_of: dict[int, dict[str, Any]] = {}
        self.inserted: set[str] = set()
        """The names of the nodes that were put in."""
        self._names_used = {*names, *self._read, *[node.name for graph in graphs(proto) for node in graph.node]}

    def node_at(self, path: str) -> tuple[Any, Any]:
        """Return the graph or function that a node is in, and the node, by its path."""
        index, *rest = path.split("/")
        graph = self.proto.graph
        node = graph.node[int(index)]
        for name, index in zip(rest[::2], rest[1::2], strict=True):
            if name.startswith("@"):
                called = node.domain, node.op_type, name[1:]
                graph = next(each for each in self.proto.functions if (each.domain, each.name, each.name) == called)
            else:
                graph = next(each.g for each in node.attribute if each.name == name and each.HasField("g"))
            node = graph.node[int(index)]
        return graph, node

    def set_argument(self, graph: Any, node: Any, opset: int, fix: Fix) -> None:
        """Give a node of a graph the constant argument of a fix."""
        assert fix.target is not None
        argument = LISTED[node.op_type].arguments[0]
        if argument.attribute and (argument.input_since is None or opset < argument.input_since):
            _set_attribute(node, argument.attribute, fix.target if argument.kind is tuple else fix.target[0])
        else:
            self._point(graph, node, self._target(graph, node, fix.target))
        if fix.allowzero is False:
            _remove(node.attribute, lambda each: each.name == "allowzero")

    def compute_argument(self, graph: Any, node: Any, rank: int, place: int, source: str, axis: int) -> None:
        """Let one entry of a node's argument, which has `rank` of them, be the size of an axis of a tensor `source`."""
        old = node.input[1]
        shape = self._node("Shape", [source], f"{old}_sizes")
        at = self._constant((axis,), f"{old}_axis")
        size = self._node("Gather", [shape.output[0], at.output[0]], f"{old}_batch")
        kept = [self._picked(old, places) if places else [] for places in (range(place), range(place + 1, rank))]
        parts = [each[-1].output[0] for each in (kept[0], [size], kept[1]) if each]
        joined = self._node("Concat", parts, f"{old}_mended")
        _set_attribute(joined, "axis", 0)
        self._insert(graph, node, [shape, at, size, *kept[0], *kept[1], joined])
        node.input[1] = joined.output[0]

    def _picked(self, name: str, places: Sequence[int]) -> list[Any]:
        """Return the nodes that take some entries of a tensor."""
        indices = self._constant(places, f"{name}_places")
        return [indices, self._node("Gather", [name, indices.output[0]], f"{name}_kept")]

    def _target(self, graph: Any, node: Any, target: Sequence[int]) -> str:
        """Return the name of a new constant in a graph: an initializer where it can have one."""
        old = node.input[1]
        if id(graph) not in self._initializers_of:
            self._initializers_of[id(graph)] = {each.name: each for each in getattr(graph, "initializer", ())}
        old_tensor = self._initializers_of[id(graph)].get(old)
        if old_tensor is not None and self._read[old] == 1 and list(old_tensor.dims) == [len(target)]:
            old_tensor.CopyFrom(self._tensor(old, target))
            return str(old)
        name = self._free(f"{old}_mended")
        if self.proto.ir_version < 4 or not hasattr(graph, "initializer"):
            made = self._constant(target, name)
            self._insert(graph, node, [made])
            return str(made.output[0])
        graph.initializer.append(self._tensor(name, target))
        return name

    def _point(self, graph: Any, node: Any, name: str) -> None:
        """Let a node read another argument; drop the initializer that it read if nobody else does."""
        old = node.input[1]
        if old == name:
            return
        node.input[1] = name
        self._read[old] -= 1
        if not self._read[old] and all(each.name != old for each in self.proto.graph.input):
            _remove(getattr(graph, "initializer", []), lambda each: each.name == old)

    def _free(self, name: str) -> str:
        """Return a name that no tensor has, made of another."""
        names = chain((name,), (f"{name}_{number}" for number in count(2)))
        found = next(each for each in names if each not in self._names_used)
        self._names_used.add(found)
        return found

    def _insert(self, graph: Any, node: Any, made: Sequence[Any]) -> None:
        at = next(index for index, each in enumerate(graph.node) if each is node)
        for new in reversed(made):
            graph.node.insert(at, new)
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


def _set_attribute(node: Any, name: str, value: Any) -> None:
    from onnx import helper

    _remove(node.attribute, lambda each: each.name == name)
    node.attribute.append(helper.make_attribute(name, value))


def _remove(row: Any, unwanted: Any) -> None:
    for at in range(len(row) - 1, -1, -1):
        if unwanted(row[at]):
            del row[at]


def graphs(proto: Any) -> Iterator[Any]:
    """Yield every graph and function of a model's message."""
    left = [proto.graph, *proto.functions]
    while left:
        graph = left.pop()
        yield graph
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    left.append(attribute.g)
                left += attribute.graphs


def _names_read(proto: Any) -> Iterator[str]:
    for graph in graphs(proto):
        for node in graph.node:
            yield from node.input
        for output in graph.output:
            yield output if isinstance(output, str) else output.name

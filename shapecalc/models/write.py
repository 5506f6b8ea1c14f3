"""Fix a model, prove that it is equivalent to the original, and write it.

The fixes are applied to a copy of the ModelProto, and declared dims that become wrong are removed from the copy. A fix
replaces the target of a node, that is, its shape, permutation or axes argument. If the old target is an initializer
that only this node reads, the initializer is overwritten. Otherwise a new constant is added, so that other nodes that
read the old target are unaffected. An initializer that becomes unused is removed.
"""

from __future__ import annotations

import mmap
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count, groupby
from pathlib import Path
from typing import Any

from shapecalc.core.dims import IntTuple
from shapecalc.core.packages import missing_package_message
from shapecalc.core.problem import usage_error
from shapecalc.core.record import Record, replace
from shapecalc.core.text import escape_unprintable, truncate
from shapecalc.engine.atomic_files import atomic_file
from shapecalc.models.batch_axis import BatchAxis, BatchMark, LaneShapes
from shapecalc.models.file import (
    INT64,
    Model,
    Node,
    NodeGraph,
    build_model,
    file_error,
    import_onnx_messages,
    iter_nodes,
    restore_payloads,
)
from shapecalc.models.free_dims import BatchOptions, transpose_lane_shapes
from shapecalc.models.judge import JudgedModel
from shapecalc.models.operators import LISTED_OPERATORS, RANDOM_OPERATORS
from shapecalc.models.propagate import BatchTracker, NonCoreFailure
from shapecalc.models.prove import UNKNOWN_AXIS, Proof, prove_model
from shapecalc.models.repairs import RESIZE_SIZES_INPUT, SPLIT_COUNT_SINCE
from shapecalc.models.report import FixResult, JudgedNode, Report, format_assumption, node_name
from shapecalc.models.verdicts import NO_TRANSPOSE, BatchVerdict, NodeFix, SampleOffsets
from shapecalc.models.walk import walk_model
from shapecalc.models.walk_state import WalkState

PROOF_BATCHES = (3, 5, 1)
"""The default batch sizes of a proof, in addition to the declared batch size."""
MAX_REPORTED_ASSUMPTIONS = 3
"""The maximum number of fixes whose assumptions are reported if the fixed model is not proved."""


class FixedModel(Record):
    """A model with all known fixes applied."""

    walk: WalkState
    """The state after the walk of the fixed model."""
    tracker: BatchTracker
    applied_fixes: Mapping[str, NodeFix]
    """The applied fixes, by the path of the node in the original model."""
    remaining_failures: tuple[str, ...]
    """The paths, in the original model, of the nodes with core ops that still fail."""
    failure_count: int
    """The number of nodes that still fail with an error or mix the samples at some batch size."""
    is_doubtful: bool
    """Whether equal outputs would prove nothing.

    This is so if some node still fails with an error, or reads other samples: the tested data may hide the effect, and
    other data may show it. It is also so if the samples cannot be tracked in a branch of an If that the tested data may
    not select.
    """
    freed_inputs: frozenset[str]
    """The names of the inputs whose declared shape was changed."""
    doubts: tuple[str, ...] = ()
    """The reasons, besides failing nodes, why equal outputs prove nothing."""

    @property
    def proto(self) -> Any:
        """The ModelProto of the fixed model."""
        return self.walk.model.proto

    @property
    def is_changed(self) -> bool:
        """Whether the fixes changed the ModelProto."""
        return bool(self.applied_fixes or self.freed_inputs)


class ModelEditor:
    """An editor of the node arguments in a ModelProto."""

    def __init__(self, proto: Any, names: Iterable[str]) -> None:
        """Create an editor that changes `proto` in place.

        Inserted nodes and tensors get names that are not in `names`.
        """
        self.proto = proto
        self._messages = import_onnx_messages()
        self._read_counts = Counter(_iter_used_names(proto))
        self._initializers_of: dict[int, dict[str, Any]] = {}
        self.inserted_nodes: set[str] = set()
        """The names of the inserted nodes."""
        self._used_names = {
            *names,
            *self._read_counts,
            *[node.name for graph in iter_graphs(proto) for node in graph.node],
        }

    def find_node(self, path: str) -> tuple[Any, Any]:
        """Find a node by its path.

        Returns the GraphProto or FunctionProto that contains the node, and the NodeProto.
        """
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

    def set_target(self, graph: Any, node: Any, opset: int, fix: NodeFix) -> None:
        """Set the target of a node to the target of a fix.

        The target is an attribute or an input, depending on `opset`.
        """
        assert fix.target is not None
        argument = LISTED_OPERATORS[node.op_type].arguments[0]
        if argument.attribute and (argument.input_since is None or opset < argument.input_since):
            _set_attribute(node, argument.attribute, fix.target if argument.kind is tuple else fix.target[0])
        else:
            if len(node.input) == 1:
                node.input.append(f"{node.output[0]}_axes")
            self._replace_input(graph, node, self._store_target(graph, node, fix.target))
        if fix.allowzero is False:
            _remove_matching(node.attribute, lambda attribute: attribute.name == "allowzero")

    def insert_target_nodes(self, graph: Any, node: Any, rank: int, entry_index: int, source: str, axis: int) -> None:
        """Insert nodes that compute one entry of a node's target.

        The target has `rank` entries. The entry at index `entry_index` becomes the size of the axis `axis` of the
        tensor `source`; the other entries are unchanged.
        """
        old = node.input[1]
        reading = self._build_batch_size_nodes((source, axis), old)
        size = reading[-1]
        before, after = (
            self._build_gather_nodes(old, kept) if kept else []
            for kept in (range(entry_index), range(entry_index + 1, rank))
        )
        parts = [nodes[-1].output[0] for nodes in (before, [size], after) if nodes]
        concat = self._build_node("Concat", parts, f"{old}_mended")
        _set_attribute(concat, "axis", 0)
        self._insert_before(graph, node, [*reading, *before, *after, concat])
        node.input[1] = concat.output[0]

    def replace_entries(
        self,
        graph: Any,
        node: Any,
        input_index: int,
        length: int,
        entries: Mapping[int, int | tuple[list[tuple[Any, int]], int]],
    ) -> None:
        """Replace entries of an integer vector that a node reads.

        The vector is the input at index `input_index`, and has `length` entries. A new entry is a number, or a list of
        factors and a number to add to their product. A factor is a number, or the name of a tensor and an axis, with an
        integer divisor.
        """
        old, new, parts = node.input[input_index], list[Any](), list[str]()
        for is_new, run in groupby(range(length), lambda index: index in entries):
            if is_new:
                for index in run:
                    entry = entries[index]
                    made = (
                        [self._build_constant([entry], f"{old}_entry")]
                        if isinstance(entry, int)
                        else self._build_product(*entry, f"{old}_size")
                    )
                    new += made
                    parts.append(made[-1].output[0])
            else:
                new += self._build_gather_nodes(old, [*run])
                parts.append(new[-1].output[0])
        concat = self._build_node("Concat", parts, f"{old}_mended")
        _set_attribute(concat, "axis", 0)
        self._insert_before(graph, node, [*new, concat])
        node.input[input_index] = concat.output[0]

    def _build_product(self, factors: Sequence[tuple[Any, int]], more: int, name: str) -> list[Any]:
        """Build nodes that compute a product of quotients plus a number.

        `factors` and `more` are as in an entry of `replace_entries`. The output of the last node is a vector.
        """
        nodes: list[Any] = []
        product = ""
        for factor, divisor in factors:
            size = (
                [self._build_constant([factor], name)]
                if isinstance(factor, int)
                else self._build_batch_size_nodes(factor, name)
            )
            nodes += size
            if divisor != 1:
                by = self._build_constant([divisor], f"{name}_by")
                nodes += [by, self._build_node("Div", [nodes[-1].output[0], by.output[0]], f"{name}_part")]
            if product:
                nodes.append(self._build_node("Mul", [product, nodes[-1].output[0]], f"{name}_product"))
            product = nodes[-1].output[0]
        if more:
            rest = self._build_constant([more], f"{name}_rest")
            nodes += [rest, self._build_node("Add", [product, rest.output[0]], f"{name}_sum")]
        return nodes

    def repeat_inputs(
        self, graph: Any, node: Any, fix: NodeFix, shapes: Sequence[IntTuple | None], source: tuple[str, int]
    ) -> None:
        """Insert nodes that repeat the first sample of inputs to the batch size.

        `shapes` are the shapes of the inputs. `source` is a tensor and an axis that has the batch size.
        """
        reading = self._build_batch_size_nodes(source, node.output[0])
        new = [*reading]
        for index, axis, block in fix.repeats:
            old, rank = node.input[index], len(shapes[index] or ())
            data = [self._build_constant(values, f"{old}_part") for values in ((0,), (block,), (axis,))]
            first = self._build_node("Slice", [old, *[part.output[0] for part in data]], f"{old}_first")
            ones = [self._build_constant((1,) * many, f"{old}_once") for many in (axis, rank - axis - 1) if many]
            parts = [*ones[: bool(axis)], reading[-1], *ones[bool(axis) :]]
            repeats = self._build_node("Concat", [part.output[0] for part in parts], f"{old}_times")
            _set_attribute(repeats, "axis", 0)
            tile = self._build_node("Tile", [first.output[0], repeats.output[0]], f"{old}_mended")
            new += [*data, first, *ones, repeats, tile]
            node.input[index] = tile.output[0]
        self._insert_before(graph, node, new)

    def add_sample_offsets(
        self, graph: Any, node: Any, offsets: SampleOffsets, shape: IntTuple, dtype: int, source: tuple[str, int]
    ) -> None:
        """Insert nodes that add multiples of the sample number to an integer input.

        Only the first sample of a constant input is used. `shape` and `dtype` are those of the input. `source` is a
        tensor and an axis that has the batch size.
        """
        old, rank, inner = node.input[offsets.input], len(shape), offsets.inner
        reading = self._build_batch_size_nodes(source, old)
        new = [*reading, *self._build_sample_numbers(old, reading[-1].output[0], inner)]
        target = self._build_constant([-1 if axis == offsets.axis else 1 for axis in range(rank)], f"{old}_shape")
        column = self._build_node("Reshape", [new[-1].output[0], target.output[0]], f"{old}_samples")
        step = self._build_constant(offsets.steps, f"{old}_step")
        product = self._build_node("Mul", [column.output[0], step.output[0]], f"{old}_offsets")
        new += [target, column, step, product]
        if offsets.is_constant:
            new += self._build_first_sample(old, offsets, rank, reading[-1].output[0])
        long = self._build_cast(new[-1].output[0] if offsets.is_constant else old, INT64, f"{old}_long")
        total = self._build_node("Add", [long.output[0], product.output[0]], f"{old}_mended")
        new += (
            [long, total] if dtype == INT64 else [long, total, self._build_cast(total.output[0], dtype, f"{old}_int")]
        )
        self._insert_before(graph, node, new)
        node.input[offsets.input] = new[-1].output[0]

    def _build_sample_numbers(self, name: str, batch: str, inner: int) -> list[Any]:
        """Build nodes that compute the sample number at each index of an axis.

        `batch` is the name of a vector with the batch size, and `inner` the size of one sample. The output of the last
        node is a vector.
        """
        zero, one = (self._build_scalar(value, f"{name}_{word}") for value, word in ((0, "zero"), (1, "one")))
        size = self._build_constant((inner,), f"{name}_inner")
        length = self._build_node("Mul", [batch, size.output[0]], f"{name}_length")
        empty = self._build_constant((), f"{name}_scalar")
        count = self._build_node("Reshape", [length.output[0], empty.output[0]], f"{name}_count")
        indices = self._build_node("Range", [each.output[0] for each in (zero, count, one)], f"{name}_indices")
        numbers = self._build_node("Div", [indices.output[0], size.output[0]], f"{name}_numbers")
        return [zero, one, size, length, empty, count, indices, numbers]

    def _build_first_sample(self, name: str, offsets: SampleOffsets, rank: int, batch: str) -> list[Any]:
        """Build nodes that extract the first sample of a tensor.

        A sample with several elements on the axis is repeated to the batch size, which is in the vector `batch`; other
        samples are broadcast.
        """
        part = [self._build_constant(values, f"{name}_part") for values in ((0,), (offsets.inner,), (offsets.axis,))]
        first = self._build_node("Slice", [name, *[each.output[0] for each in part]], f"{name}_first")
        if offsets.inner == 1:
            return [*part, first]
        ones = [self._build_constant((1,) * many, f"{name}_once") for many in (offsets.axis, rank - offsets.axis - 1)]
        parts = [ones[0].output[0], batch, ones[1].output[0]]
        times = self._build_node("Concat", parts, f"{name}_times")
        _set_attribute(times, "axis", 0)
        tile = self._build_node("Tile", [first.output[0], times.output[0]], f"{name}_tiled")
        return [*part, first, *ones, times, tile]

    def _build_cast(self, name: str, dtype: int, output: str) -> Any:
        node = self._build_node("Cast", [name], output)
        _set_attribute(node, "to", dtype)
        return node

    def _build_batch_size_nodes(self, source: tuple[str, int], name: str) -> list[Any]:
        """Build nodes that read the size of an axis of a tensor.

        The output of the last node is a vector.
        """
        shape = self._build_node("Shape", [source[0]], f"{name}_sizes")
        index = self._build_constant(source[1:], f"{name}_axis")
        return [shape, index, self._build_node("Gather", [shape.output[0], index.output[0]], f"{name}_batch")]

    def _build_scalar(self, value: int, name: str) -> Any:
        """Build a Constant node with an int64 scalar."""
        node = self._build_constant((value,), name)
        del node.attribute[0].t.dims[:]
        return node

    def set_resize_sizes(self, graph: Any, node: Any, fix: NodeFix) -> None:
        """Restrict a Resize to the axes in `fix`.

        The other axes keep the sizes of the data. In opsets without the attribute `axes`, inserted nodes read the sizes
        of the leading axes.
        """
        assert fix.resize is not None
        axes, sizes = fix.resize
        old = node.input[RESIZE_SIZES_INPUT]
        if not fix.inserts:
            _set_attribute(node, "axes", axes)
            constant = self._build_constant(sizes, f"{old}_mended")
            self._insert_before(graph, node, [constant])
            node.input[RESIZE_SIZES_INPUT] = constant.output[0]
            return
        shape = self._build_node("Shape", [node.input[0]], f"{old}_sizes")
        before = self._build_gather_nodes(shape.output[0], range(axes[0]))
        after = self._build_constant(sizes, f"{old}_kept")
        concat = self._build_node("Concat", [before[-1].output[0], after.output[0]], f"{old}_mended")
        _set_attribute(concat, "axis", 0)
        self._insert_before(graph, node, [shape, *before, after, concat])
        node.input[RESIZE_SIZES_INPUT] = concat.output[0]

    def _build_gather_nodes(self, name: str, entries: Sequence[int]) -> list[Any]:
        """Build the nodes that gather the elements of a vector at the indices `entries`."""
        indices = self._build_constant(entries, f"{name}_places")
        return [indices, self._build_node("Gather", [name, indices.output[0]], f"{name}_kept")]

    def _store_target(self, graph: Any, node: Any, target: Sequence[int]) -> str:
        """Store the new target of a node as a constant, and return its name.

        If only this node reads the initializer of the old target, the initializer is overwritten.
        """
        old = node.input[1]
        if id(graph) not in self._initializers_of:
            self._initializers_of[id(graph)] = {tensor.name: tensor for tensor in getattr(graph, "initializer", ())}
        old_tensor = self._initializers_of[id(graph)].get(old)
        if old_tensor is not None and self._read_counts[old] == 1 and list(old_tensor.dims) == [len(target)]:
            old_tensor.CopyFrom(self._build_tensor(old, target))
            return str(old)
        name = self._reserve_name(f"{old}_mended")
        if self.proto.ir_version < 4 or not hasattr(graph, "initializer"):
            constant = self._build_constant(target, name)
            self._insert_before(graph, node, [constant])
            return str(constant.output[0])
        graph.initializer.append(self._build_tensor(name, target))
        return name

    def _replace_input(self, graph: Any, node: Any, name: str) -> None:
        """Replace the second input of a node by the tensor `name`.

        The initializer of the old input is removed if no other node reads it.
        """
        old = node.input[1]
        if old == name:
            return
        node.input[1] = name
        self._read_counts[old] -= 1
        if not self._read_counts[old] and all(value.name != old for value in self.proto.graph.input):
            _remove_matching(getattr(graph, "initializer", []), lambda tensor: tensor.name == old)

    def _reserve_name(self, name: str) -> str:
        """Reserve and return an unused name: `name`, or `name` with a numeric suffix."""
        names = chain((name,), (f"{name}_{number}" for number in count(2)))
        unused = next(candidate for candidate in names if candidate not in self._used_names)
        self._used_names.add(unused)
        return unused

    def _insert_before(self, graph: Any, node: Any, new_nodes: Sequence[Any]) -> None:
        """Insert new nodes into a graph before a node."""
        position = next(index for index, other in enumerate(graph.node) if other is node)
        for new in reversed(new_nodes):
            graph.node.insert(position, new)
            self.inserted_nodes.add(new.name)

    def _build_constant(self, values: Sequence[int], name: str) -> Any:
        """Build a Constant node with an int64 vector."""
        node = self._build_node("Constant", [], name)
        _set_attribute(node, "value", self._build_tensor(node.output[0], values))
        return node

    def _build_node(self, op: str, inputs: Sequence[str], output: str) -> Any:
        name = self._reserve_name(output)
        return self._messages.NodeProto(op_type=op, name=name, input=inputs, output=[name])

    def _build_tensor(self, name: str, values: Sequence[int]) -> Any:
        """Build a TensorProto with an int64 vector."""
        return self._messages.TensorProto(name=name, data_type=INT64, dims=[len(values)], int64_data=values)


def write_fixed_model(
    judged_model: JudgedModel,
    report: Report,
    output_path: Path,
    chosen_fixes: Mapping[str, NodeFix],
    edit: Callable[[Any], object] | None = None,
    *,
    force: bool = False,
    prove: bool = True,
) -> Report:
    """Fix a model, write it to a file, and return the report with the fix result.

    `chosen_fixes` maps node paths to fixes that are used instead of the best fixes. `edit` is called with the fixed
    ModelProto before it is written, and may change the names of its dims. If `force` is True, an existing file is
    overwritten. If `prove` is True, the fixed model is compared with the original model, and no file is written if the
    proof fails.

    Raises `ShapeError` (usage) if the model was checked at other sizes than the file declares. Raises `ShapeError`
    (file) if the model is invalid, if ONNX Runtime is needed and not installed, or if the output path is not usable.
    Raises `OSError` if the file cannot be written.
    """
    walk = judged_model.walk
    _check_valid(walk)
    _check_declared_sizes(walk)
    check_output_path(walk.model, output_path)
    model = fix_model(walk, judged_model.tracker, chosen_fixes)
    proof = Proof(None, "no proof was requested")
    if is_changed := model.is_changed or edit is not None:
        add_value_info(model.walk)
    if edit is not None:
        edit(model.proto)
    content = serialize_model(walk.model, model.proto) if is_changed else [walk.model.path.read_bytes()]
    with atomic_file(output_path, force=force, should_commit=lambda: proof.proved is not False) as file:
        for piece in content:
            file.write(piece)
        file.flush()
        if prove:
            proof = _prove_fixed_model(model, file)
    return replace(report, fix_result=_build_fix_result(report, model, proof, output_path))


def fix_model(walk: WalkState, tracker: BatchTracker, chosen_fixes: Mapping[str, NodeFix]) -> FixedModel:
    """Fix a model, and walk it again until all possible fixes are applied.

    `chosen_fixes` maps node paths to fixes that are used instead of the best fixes.
    """
    done: dict[str, NodeFix] = {}
    inserted: frozenset[str] = frozenset()
    freed: frozenset[str] = frozenset()
    for _ in range(8):  # repeated, because a fix may make a downstream node fail
        first = {
            path: _original_path(walk.model, path, inserted) for path in (*tracker.failing_nodes, *tracker.cause_fixes)
        }
        wanted = {
            path: pair for path, pair in _select_fixes(tracker, first, chosen_fixes).items() if first[path] not in done
        }
        below = tracker.nodes_below_moved_batches()
        wanted = {path: pair for path, pair in wanted.items() if path not in below} or wanted
        proto, fixed, changed, new_nodes = apply_fixes(walk, wanted)
        if not fixed and not changed:
            break
        done |= {first[path]: wanted[path][1] for path in wanted if path in fixed}
        inserted |= new_nodes
        freed |= {*changed}
        model = build_model(proto, walk.model.path, walk.model.payloads)
        tracker = BatchTracker()
        walk = walk_model(model, walk.choice, tracker)
    left = tuple([_original_path(walk.model, path, inserted) for path in tracker.failing_nodes])
    silent = [stop.silent for stop in tracker.stops]
    silent += [
        verdict.verdict in (BatchVerdict.SCRAMBLES, BatchVerdict.RANK_VARIES)
        for _, verdict in tracker.failing_nodes.values()
        if verdict.verdict is not BatchVerdict.SWALLOWS
    ]
    doubts = {
        "a branch of an If cannot be checked": tracker.has_unchecked_branch(),
        "axis 0 of an output keeps its size, and another axis grows with the batch": tracker.has_merged_output(),
    }
    reasons = [reason for reason, is_true in doubts.items() if is_true]
    is_doubtful = not all(silent) or bool(tracker.stops or reasons)
    return FixedModel(walk, tracker, done, left, len(silent), is_doubtful, freed, tuple(reasons))


def _select_fixes(
    tracker: BatchTracker, original_paths: Mapping[str, str], chosen_fixes: Mapping[str, NodeFix]
) -> dict[str, tuple[Node, NodeFix]]:
    """Return the nodes to fix and their fixes, by node path.

    `original_paths` maps current node paths to paths in the original model, which are the keys of `chosen_fixes`.
    """
    result = dict(tracker.cause_fixes)
    for path, (node, verdict) in tracker.failing_nodes.items():
        fix = chosen_fixes.get(original_paths[path], verdict.fixes[0] if verdict.fixes else None)
        if fix is not None and original_paths[path] in chosen_fixes and 0 in (fix.target or ()):
            fix = replace(fix, allowzero=False)
        if fix is not None:
            result[path] = node, fix
    return result


def _original_path(model: Model, path: str, inserted_names: frozenset[str]) -> str:
    """Convert a node path to the path that the node had before nodes were inserted."""
    index, slash, rest = path.partition("/")
    inserted_before = (
        sum(node.name in inserted_names for node in model.proto.graph.node[: int(index)]) if inserted_names else 0
    )
    return f"{int(index) - inserted_before}{slash}{rest}"


def _check_valid(walk: WalkState) -> None:
    """Raise `ShapeError` (file) for an error that ONNX's checker does not detect.

    Such an error is a declared batch of 0, or a target that is not a vector.
    """
    path = walk.model.path
    if walk.declared_batch == 0:
        raise file_error(f"{path}: it declares a batch of 0")
    for node in iter_nodes((walk.model.graph,)):
        if node.op in ("Reshape", "Expand", "Tile") and not node.domain and len(node.inputs) > 1:
            shape = walk.shapes_of(node.inputs[1])[0]
            if shape is not None and len(shape) != 1:
                name = escape_unprintable(node_name(node))
                raise file_error(f"{path}: {name}: a target has one axis, and this one has {len(shape)}")


def _check_declared_sizes(walk: WalkState) -> None:
    """Raise `ShapeError` (usage) unless the walk used the declared sizes."""
    sizes = next(lane.sizes for lane in walk.lanes if lane.judged and lane.batch == walk.choice.reference_batch)
    for declared, dims in zip(walk.model.inputs, walk.inputs, strict=True):
        taken = [sizes[dim] if isinstance(dim, str) else dim for dim in dims or ()]
        pairs = zip(declared.dims or taken, taken, strict=True)
        in_file = [size if isinstance(size, int) else walked_size for size, walked_size in pairs]
        if taken != in_file:
            expected, actual = (",".join(map(str, shape)) for shape in (in_file, taken))
            message = f"input {escape_unprintable(truncate(declared.name))} is {expected} in the file, and not {actual}"
            raise usage_error(message, "--fix needs the sizes that the file declares", argument="set")


def check_output_path(model: Model, output_path: Path) -> None:
    """Raise `ShapeError` (file) unless the output path is usable.

    The output must not overwrite the model itself. A model with external data must stay in its folder.
    """
    if os.path.realpath(output_path) == os.path.realpath(model.path) or (
        output_path.exists() and output_path.samefile(model.path)
    ):
        raise file_error(f"{output_path}: that is the model itself, which stays as it is")
    outside = external_files(model.proto)
    if outside and output_path.resolve().parent != model.path.resolve().parent:
        raise file_error(
            f"{output_path}: the model needs {escape_unprintable(min(outside))} beside it, so write into its own folder"
        )


def _prove_fixed_model(fixed: FixedModel, file: Any) -> Proof:
    """Prove that a fixed model is equivalent to the original model."""
    return prove_equivalence(fixed.walk.model.path, fixed.proto, _build_proof_task(fixed), file)


def prove_equivalence(path: Path, proto: Any, task: dict[str, Any], file: Any) -> Proof:
    """Prove that a changed model is equivalent to the original.

    `proto` is the ModelProto of the changed model, `file` contains it, and `task` is the task of `prove_model`. Raises
    `ShapeError` (file) if the original model is invalid, or if ONNX Runtime is not installed.
    """
    random = {node.op_type for graph in iter_graphs(proto) for node in graph.node} & RANDOM_OPERATORS
    if random:
        return Proof(None, f"{min(random)} gives other numbers each time")
    proof = prove_model(path, task, file)
    if proof.refusal:
        raise file_error(f"{path}: {escape_unprintable(proof.refusal)}")
    if proof.missing_module:
        raise file_error(missing_package_message(proof.missing_module), "--no-prove writes the file without a proof")
    return proof


def _build_proof_task(fixed: FixedModel) -> dict[str, Any]:
    """Build the task for `prove_model`."""
    walk, declared = fixed.walk, fixed.walk.choice.reference_batch
    lanes = {lane.batch: index for index, lane in enumerate(walk.lanes) if lane.judged}
    batches = _choose_proof_batches(sorted(lanes), declared) if walk.batch else []
    marks = [fixed.tracker.marks_of(output.tensor) or (None,) * len(walk.lanes) for output in walk.model.outputs]
    home, *others = [
        [_encode_sample_axis(output[lanes[size]]) for output in marks] if size in lanes else None
        for size in (declared, *batches)
    ]
    count = fixed.failure_count
    return {
        "model": str(walk.model.path.resolve()),
        "folder": str(walk.model.path.resolve().parent),
        "declared": declared,
        "batches": batches,
        "inputs": _input_shapes_for_proof(walk, lanes[declared]),
        "places": dict(zip(map(str, batches), others, strict=True)),
        "home_places": home,
        "unfixed": (
            f"{count} {'node' if count == 1 else 'nodes'} in it cannot be fixed" if count else "; ".join(fixed.doubts)
        ),
        "is_doubtful": fixed.is_doubtful,
        "gains_axis": any(fix.gains_axis for fix in fixed.applied_fixes.values()),
    }


def _choose_proof_batches(judged: Sequence[int], declared: int) -> list[int]:
    """Return the batch sizes of a proof, except the declared batch size.

    If the user has chosen batch sizes, only the largest of them is returned.
    """
    others = [size for size in judged if size != declared]
    if not {*BatchOptions().sizes} <= {*judged}:
        return others[-1:]
    return [*dict.fromkeys([*others[-1:], *[size for size in PROOF_BATCHES if size != declared]])]


def _encode_sample_axis(mark: BatchMark) -> Any:
    """Convert the batch mark of an output to JSON for a proof task."""
    if mark is None:
        return None
    return (mark.axis, mark.inner) if isinstance(mark, BatchAxis) else UNKNOWN_AXIS


def _input_shapes_for_proof(walk: WalkState, lane: int) -> dict[str, list[int | None] | None]:
    """Return the input shapes of a proof task by input name.

    The batch dim is None. An unknown shape is None.
    """
    sizes: dict[Any, Any] = {**walk.lanes[lane].sizes, walk.batch: None}
    return {
        declared.name: None if dims is None or None in dims else [sizes.get(dim, dim) for dim in dims]
        for declared, dims in zip(walk.model.inputs, walk.inputs, strict=True)
    }


def _build_fix_result(report: Report, fixed: FixedModel, proof: Proof, output_path: Path) -> FixResult:
    """Build the result of the option `--fix`.

    If the proof passed, no nodes are reported as failing, because a later node may move the batch back to its axis.
    """
    faulty: list[JudgedNode | NonCoreFailure] = [*report.nodes, *[stop for stop in report.stops if stop.fix]]
    fixed_nodes = [
        (judged, fixed.applied_fixes[judged.node.path]) for judged in faulty if judged.node.path in fixed.applied_fixes
    ]
    left = [judged for judged in report.nodes if judged.node.path in fixed.remaining_failures and not proof.proved]
    path = None if proof.proved is False else str(output_path)
    doubted = [] if proof.proved else [pair for pair in fixed_nodes if pair[1].assumes.startswith(NO_TRANSPOSE)]
    doubts = [
        f"; the fix of {node_name(judged.node)} {format_assumption(fix)}"
        for judged, fix in doubted[:MAX_REPORTED_ASSUMPTIONS]
    ]
    freed = tuple(value for value in report.inputs if value.name in fixed.freed_inputs)
    stops = () if proof.proved else report.stops if path is None else tuple(fixed.tracker.stops)
    why = f"{proof.why}{''.join(doubts)}"
    return FixResult(
        mended=tuple(fixed_nodes),
        left=tuple(left),
        proved=proof.proved,
        why=why,
        path=path,
        freed=freed,
        stops=stops,
        proofs=proof.checks,
        changed=fixed.is_changed,
    )


def apply_fixes(
    walk: WalkState, fixes: Mapping[str, tuple[Node, NodeFix]]
) -> tuple[Any, set[str], list[str], set[str]]:
    """Apply fixes to a copy of a ModelProto, and update its declared dims.

    Returns the copy, the paths of the fixed nodes, the names of the inputs with changed declarations, and the names of
    the inserted nodes.
    """
    proto = type(walk.model.proto)()
    proto.CopyFrom(walk.model.proto)
    freed = update_declarations(proto, walk)
    editor = ModelEditor(proto, walk.model.names)
    located = {path: editor.find_node(path) for path in fixes}
    applied: dict[int, NodeFix] = {}
    done = set()
    for path, (node, fix) in fixes.items():
        graph, message = located[path]
        first = applied.setdefault(id(message), fix)
        if first is fix and not _apply_fix(editor, graph, message, node, fix, walk):
            continue
        if first.target == fix.target:
            done.add(path)
    return proto, done, freed, editor.inserted_nodes


def _apply_fix(editor: ModelEditor, graph: Any, message: Any, node: Node, fix: NodeFix, walk: WalkState) -> bool:
    """Apply a fix to a ModelProto, and return whether this was possible."""
    if fix.resize is not None:
        editor.set_resize_sizes(graph, message, fix)
        return True
    if fix.equal_parts:
        del message.input[1:]
        if node.opset >= SPLIT_COUNT_SINCE:
            _set_attribute(message, "num_outputs", len(node.outputs))
        return True
    if fix.target is not None:
        editor.set_target(graph, message, node.opset, fix)
        return True
    inputs = zip(walk.model.inputs, walk.inputs, strict=True)
    source = next(((value.name, dims.index(walk.batch)) for value, dims in inputs if dims and walk.batch in dims), None)
    if source is not None and fix.repeats:
        editor.repeat_inputs(graph, message, fix, [walk.shapes_of(number)[0] for number in node.inputs], source)
        return True
    if source is not None and fix.offsets is not None:
        number = node.inputs[fix.offsets.input]
        shape, dtype = walk.shapes_of(number)[0] or (), walk.dtypes[number]
        editor.add_sample_offsets(graph, message, fix.offsets, shape, dtype, source)
        return True
    entries = walk.shapes[node.inputs[1]] if len(node.inputs) > 1 else None
    if fix.entry_source is not None:
        source = message.input[fix.entry_source[0]], fix.entry_source[1]
    if source is None or "/@" in node.path or entries is None or entries[0] is None or fix.entry_index is None:
        return False
    editor.insert_target_nodes(graph, message, entries[0][0], fix.entry_index, *source)
    return True


def serialize_model(model: Model, proto: Any) -> list[bytes | memoryview]:
    """Serialize a ModelProto with its payloads as a list of buffers.

    Raises `OSError` if the file can no longer be mapped.
    """
    with model.path.open("rb") as file:
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    return restore_payloads(proto.SerializeToString(), model.payloads, data)


def external_files(proto: Any) -> set[str]:
    """Return the paths of external data files in a ModelProto."""
    return {
        entry.value
        for tensor in _iter_tensors(proto)
        if tensor.data_location == 1
        for entry in tensor.external_data
        if entry.key == "location"
    }


def _iter_tensors(proto: Any) -> Iterable[Any]:
    """Yield every TensorProto in the initializers and attributes of a ModelProto."""
    for graph in iter_graphs(proto):
        yield from getattr(graph, "initializer", ())
        for sparse in getattr(graph, "sparse_initializer", ()):
            yield from (sparse.values, sparse.indices)
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    yield attribute.t
                yield from attribute.tensors


def update_declarations(proto: Any, walk: WalkState) -> list[str]:
    """Update the declared dims of a ModelProto, and return the names of the changed inputs.

    A fixed input dim that has a name in the walk is replaced by the name. A fixed output dim that is wrong for any
    checked batch size is removed, as is any value_info with such a dim.
    """
    changed = [*_update_input_dims(proto, walk)]
    for graph, body in _pair_graphs(proto, walk):
        shapes = {walk.model.names[tensor]: walk.shapes[tensor] for node in body.nodes for tensor in node.outputs}
        for output in graph.output:
            _free_output_dims(output, shapes.get(output.name), walk)
        _remove_matching(
            graph.value_info,
            lambda value, s=shapes: value.name in s and any(_iter_stale_dims(value, s[value.name], walk)),
        )
    for function in proto.functions:
        del function.value_info[:]
    return changed


def add_value_info(walk: WalkState) -> None:
    """Declare the shapes of tensors without a declaration in the ModelProto of a walk.

    A dim is declared with its size if this size is equal for all size assignments. Otherwise it is declared with the
    name of the only free dim whose size is always equal, or as unknown. Declarations with names are replaced, because
    the names may be those of dims that are now equal to others. Outputs of custom operators are not declared, because
    their element types may be unknown.
    """
    graph = walk.model.proto.graph
    outputs = [tensor for node in walk.model.graph.nodes if not node.domain for tensor in node.outputs]
    known_names = {walk.model.names[tensor] for tensor in outputs if walk.shapes[tensor] and walk.dtypes[tensor]}
    _remove_matching(
        graph.value_info,
        lambda value: value.name in known_names and any(dim.dim_param for dim in value.type.tensor_type.shape.dim),
    )
    declared_names = {value.name for value in (*graph.input, *graph.output, *graph.value_info)}
    lanes = [index for index, lane in enumerate(walk.lanes) if lane.batch]
    in_file: dict[int | str | None, set[str]] = {}
    for declared_input, taken in zip(walk.model.inputs, walk.inputs, strict=True):
        for declared_dim, taken_dim in zip(declared_input.dims or (), taken or (), strict=False):
            in_file.setdefault(taken_dim, set()).add(str(declared_dim))
    sizes_of = {name: tuple([walk.lanes[lane].sizes[name] for lane in lanes]) for name in walk.lanes[lanes[0]].sizes}
    repeats = Counter(sizes_of.values())
    names: dict[tuple[int | None, ...], str] = {
        sizes: name for name, sizes in sizes_of.items() if repeats[sizes] == 1 and in_file.get(name) == {name}
    }
    for node in walk.model.graph.nodes:
        for tensor in () if node.domain else node.outputs:
            dims = transpose_lane_shapes([walk.shapes_of(tensor)[lane] for lane in lanes])
            name, dtype = walk.model.names[tensor], walk.dtypes[tensor]
            if name and name not in declared_names and dims is not None and dtype:
                value = graph.value_info.add(name=name)
                value.type.tensor_type.elem_type = dtype
                value.type.tensor_type.shape.SetInParent()
                for sizes in dims:
                    dim = value.type.tensor_type.shape.dim.add()
                    if sizes in names:
                        dim.dim_param = names[sizes]
                    elif len({*sizes}) == 1 and sizes[0] is not None:
                        dim.dim_value = sizes[0]


def _update_input_dims(proto: Any, walk: WalkState) -> Iterator[str]:
    """Replace freed input dims by their names, and yield the names of the changed inputs."""
    by_name = {value.name: value for value in proto.graph.input}
    for declared, taken in zip(walk.model.inputs, walk.inputs, strict=True):
        dims = by_name[declared.name].type.tensor_type.shape.dim
        before = [(dim.dim_value, dim.dim_param) for dim in dims]
        for dim, size in zip(dims, taken or (), strict=False):
            if isinstance(size, str) and dim.HasField("dim_value"):
                dim.dim_param = size
        if before != [(dim.dim_value, dim.dim_param) for dim in dims]:
            yield declared.name


def _pair_graphs(proto: Any, walk: WalkState) -> Iterator[tuple[Any, NodeGraph]]:
    """Yield each GraphProto of a ModelProto with the `NodeGraph` built from it."""
    stack = [(proto.graph, walk.model.graph)]
    while stack:
        graph, body = stack.pop()
        yield graph, body
        for node in body.nodes:
            subgraphs = {subgraph.name: subgraph for subgraph in node.bodies if not subgraph.name.startswith("@")}
            if subgraphs:
                attributes = graph.node[int(node.path.rpartition("/")[2])].attribute
                stack += [(each.g, subgraphs[each.name]) for each in attributes if each.HasField("g")]


def _iter_stale_dims(
    value_info: Any, shapes: LaneShapes | None, walk: WalkState
) -> Iterator[tuple[Any, list[int | None]]]:
    """Yield the fixed dims in a ValueInfoProto that are wrong for some size assignment.

    Each dim is yielded with its size for each checked size assignment.
    """
    judged = [shapes[lane] if shapes is not None else None for lane in walk.judged_lanes]
    for axis, dim in enumerate(value_info.type.tensor_type.shape.dim):
        sizes = [shape[axis] if shape is not None and axis < len(shape) else None for shape in judged]
        if dim.HasField("dim_value") and {*sizes} != {dim.dim_value}:
            yield dim, sizes


def _free_output_dims(value_info: Any, shapes: LaneShapes | None, walk: WalkState) -> None:
    """Clear the fixed sizes of an output that are wrong for some size assignment.

    A dim that equals the batch size for all checked size assignments gets the name of the batch dim.
    """
    batches = [lane.batch for lane in walk.lanes if lane.judged]
    for dim, sizes in _iter_stale_dims(value_info, shapes, walk):
        dim.Clear()
        if sizes == batches:
            dim.dim_param = walk.batch


def _set_attribute(node: Any, name: str, value: Any) -> None:
    from onnx import helper

    _remove_matching(node.attribute, lambda attribute: attribute.name == name)
    node.attribute.append(helper.make_attribute(name, value))


def _remove_matching(items: Any, should_remove: Any) -> None:
    """Remove the items for which `should_remove` is true from a repeated protobuf field."""
    for index in range(len(items) - 1, -1, -1):
        if should_remove(items[index]):
            del items[index]


def iter_graphs(proto: Any) -> Iterator[Any]:
    """Yield all functions, graphs and nested graphs of a ModelProto."""
    stack = [proto.graph, *proto.functions]
    while stack:
        graph = stack.pop()
        yield graph
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    stack.append(attribute.g)
                stack += attribute.graphs


def _iter_used_names(proto: Any) -> Iterator[str]:
    """Yield the name of each node input and of each graph output.

    Names may repeat.
    """
    for graph in iter_graphs(proto):
        for node in graph.node:
            yield from node.input
        for output in graph.output:
            yield output if isinstance(output, str) else output.name

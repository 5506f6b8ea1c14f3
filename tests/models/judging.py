"""Walk models in a few lanes, keep the verdict on each listed node, and compare with ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import onnx
from onnx import TensorProto, helper, numpy_helper

from shapecalc.core.dims import substitute
from shapecalc.models.file import build_model
from shapecalc.models.free_dims import BatchOptions, DimSum, InputChoice, Lane
from shapecalc.models.judge import judge_model
from shapecalc.models.propagate import BatchTracker
from shapecalc.models.walk import walk_model
from tests.models.samples import random_inputs, run_until_failure, up_to
from tests.models.text import Graph


class RecordingTracker(BatchTracker):
    """A tracker that keeps its verdicts by node path."""

    def __init__(self):
        super().__init__()
        self.verdicts = {}

    def visit_core_node(self, visit):
        self.verdicts[visit.node.path] = verdict = self._record_verdict(visit)
        return verdict.outputs


class FailureTracker(BatchTracker):
    """A tracker that fixes nothing, and keeps the name of the first failing node by lane."""

    trial_attributes = (*BatchTracker.trial_attributes, "failed")

    def __init__(self):
        super().__init__()
        self.failed = {}

    def visit_core_node(self, visit):
        self.record_failure(visit.node, visit.problems)
        return visit.outputs

    def record_failure(self, node, failures):
        for lane, problem in enumerate(failures):
            if problem:
                self.failed.setdefault(lane, node.name)


def graph_model(nodes, inputs, outputs, constants=(), *, shapes=True):
    """Return a model; inputs are pairs of a name and a shape, constants pairs of a name and an array."""
    graph = Graph()
    graph.nodes, graph.outputs = nodes, outputs
    graph.inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs]
    graph.constants = [numpy_helper.from_array(array, name) for name, array in constants]
    return with_shapes(graph.model()) if shapes else graph.model()


def with_shapes(model):
    """Return a model with the shapes of its outputs declared as ONNX infers them; all are of floats."""
    for output in model.graph.output:
        output.type.tensor_type.elem_type = TensorProto.FLOAT
    for output, inferred in zip(model.graph.output, onnx.shape_inference.infer_shapes(model).graph.output, strict=True):
        output.CopyFrom(inferred)
        output.type.tensor_type.shape.SetInParent()
    return model


def outcome_of(proto, **options):
    """Judge a model as the program does."""
    return judge_model(build_model(proto, Path("m.onnx"), {}), BatchOptions(**options))


def report_of(proto, **options):
    """Return the report of a model."""
    return outcome_of(proto, **options).build_report("m.onnx")


def walk_and_judge(proto, sizes=(1, 2, 3), tracker=None):
    """Return the walk of a model and its tracker; the batch is N, or axis 0 of the first input."""
    model, tracker = build_model(proto, Path("model.onnx"), {}), tracker or RecordingTracker()
    named = [tuple(tensor.dims) for tensor in model.inputs]
    if any("N" in dims for dims in named):
        taken, declared = named, None
    else:
        taken, declared = [("N", *named[0][1:]), *named[1:]], named[0][0]
    batches = sorted({*sizes, declared or 1} - {0})
    lanes = [Lane(size, {"N": size}, True) for size in batches] + [Lane(0, {"N": 0}, 0 in sizes)]
    return walk_model(model, InputChoice("N", declared, tuple(taken), tuple(lanes), declared or 1), tracker), tracker


def size_of(dim, sizes):
    """Evaluate a reported dim at some sizes; None if it is unknown."""
    if dim is None:
        return None
    return sum(substitute(term, sizes) for term in (dim.terms if isinstance(dim, DimSum) else (dim,)))


def shapes_by_name(walk, lane):
    """Return the reported shape of each tensor in a lane, by name."""
    return {walk.model.names[number]: shapes and shapes[lane] for number, shapes in enumerate(walk.shapes) if number}


def assert_matches_runtime(proto, unknown=(), sizes=(1, 2, 3, 5)):
    """Assert that the shapes and failing nodes of a model are those of ONNX Runtime; return the walk.

    `unknown` are the outputs of unknown shape.
    """
    walk, tracker = walk_and_judge(proto, sizes, FailureTracker())
    for lane, at_batch in enumerate(walk.lanes[: len(walk.judged_lanes)]):
        feeds = random_inputs(proto, N=at_batch.batch)
        shapes, failing = run_until_failure(proto, feeds)
        assert tracker.failed.get(lane) == failing
        if failing and proto.graph.node[0].name != failing:
            shapes, again = run_until_failure(up_to(proto, failing), feeds)
            assert again is None
        reported = shapes_by_name(walk, lane)
        assert {name: reported[name] for name in shapes} == {
            name: None if name in unknown else shape for name, shape in shapes.items()
        }
    return walk

"""Models walked in a few lanes, with what the follower said of each listed node, and held against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import onnx
from onnx import TensorProto, helper, numpy_helper

from shapecalc.core.dims import substitute
from shapecalc.models.file import build_model
from shapecalc.models.free_dims import DimSum, InputChoice, Lane, SizeOptions
from shapecalc.models.judge import judge_model
from shapecalc.models.propagate import BatchTracker
from shapecalc.models.walk import walk_model
from tests.models.samples import fed, ran, up_to
from tests.models.text import Graph


class Telling(BatchTracker):
    """A follower that keeps what it said, by the node's path."""

    def __init__(self):
        super().__init__()
        self.told = {}

    def judge_node(self, visit):
        self.told[visit.node.path] = found = self._judge(visit)
        return found.outputs


class Bare(BatchTracker):
    """A follower that mends nothing, and keeps where nodes fail: the name of the first, by lane."""

    trial_attributes = (*BatchTracker.trial_attributes, "failed")

    def __init__(self):
        super().__init__()
        self.failed = {}

    def judge_node(self, visit):
        self.add_failure(visit.node, visit.problems)
        return visit.outputs

    def add_failure(self, node, failures):
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


def outcome_of(proto, **asked):
    """Return what comes of a model that is judged as the program does it."""
    return judge_model(build_model(proto, Path("m.onnx"), {}), SizeOptions(**asked))


def report_of(proto, **asked):
    """Return the report of a model."""
    return outcome_of(proto, **asked).build_report("m.onnx")


def judged(proto, sizes=(1, 2, 3), follower=None):
    """Return the walk of a model and its follower: the batch is axis 0 of the first input, or what is called N."""
    model, follower = build_model(proto, Path("model.onnx"), {}), follower or Telling()
    named = [tuple(each.dims) for each in model.inputs]
    if any("N" in dims for dims in named):
        taken, declared = named, None
    else:
        taken, declared = [("N", *named[0][1:]), *named[1:]], named[0][0]
    every = sorted({*sizes, declared or 1} - {0})
    lanes = [Lane(size, {"N": size}, True) for size in every] + [Lane(0, {"N": 0}, 0 in sizes)]
    return walk_model(model, InputChoice("N", declared, tuple(taken), tuple(lanes)), follower), follower


def size_of(dim, sizes):
    """Return the number that a told dim is at some sizes; None if it is not known."""
    if dim is None:
        return None
    return sum(substitute(term, sizes) for term in (dim.terms if isinstance(dim, DimSum) else (dim,)))


def shapes_by_name(walk, lane):
    """Return what is told of the shape of each tensor in a lane."""
    return {walk.model.names[number]: each and each[lane] for number, each in enumerate(walk.shapes) if number}


def held_against_runtime(proto, unknown=(), sizes=(1, 2, 3, 5)):
    """Return the walk of a model after its shapes and the nodes that fail were found to be those of ONNX Runtime.

    `unknown` are the outputs of which nobody can tell the shape.
    """
    walk, follower = judged(proto, sizes, Bare())
    for lane, each in enumerate(walk.lanes[: len(walk.judged_lanes)]):
        feeds = fed(proto, N=each.batch)
        found, fails = ran(proto, feeds)
        assert follower.failed.get(lane) == fails
        if fails and proto.graph.node[0].name != fails:
            found, again = ran(up_to(proto, fails), feeds)
            assert again is None
        told = shapes_by_name(walk, lane)
        assert {name: told[name] for name in found} == {
            name: None if name in unknown else shape for name, shape in found.items()
        }
    return walk

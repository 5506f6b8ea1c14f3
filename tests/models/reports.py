"""Reports made by hand, as a detector's head gives them: what the screens and the JSON are tried on."""

from __future__ import annotations

from types import SimpleNamespace

from shapecalc.core.dims import named_dim, product
from shapecalc.core.record import FrozenDict, replace
from shapecalc.models.file import Node
from shapecalc.models.free_dims import Sum
from shapecalc.models.propagate import Stop
from shapecalc.models.report import Input, Judged, Report
from shapecalc.models.verdicts import Fix, Verdict

N = named_dim("N")


def node(path, op, name="", attributes=()):
    """Return a node that is listed or stops."""
    return Node(path, op, "", 11, (1, 2), (3,), FrozenDict(attributes), (), SimpleNamespace(name=name))


def judged(path, op, name, shapes, verdict=Verdict.SAFE, **told):
    """Return a judged node of an input, a target and an output."""
    input, target, output = shapes
    fails = {Verdict.ONLY: {1: "ok", 2: "fails", 3: "fails"}}
    made = Judged(
        node=node(path, op, name, told.pop("attributes", ())),
        version=told.pop("version", 5),
        tensors=told.pop("tensors", ((f"in{path}", f"target{path}"), (f"out{path}",))),
        input=input,
        target=target,
        target_from="initializer",
        output=output,
        value=None,
        conditions=(),
        verdict=verdict,
        runs=FrozenDict(fails.get(verdict, {1: "ok", 2: "ok", 3: "ok"})),
        empty="ok",
        blocked_by=None,
        batch_in=(0, "whole"),
        batch_out=(0, "whole"),
        why="",
        fixes=(),
        outputs=(),
        marks=(),
    )
    return replace(made, **told)


FIRST = judged(
    "2",
    "Reshape",
    "/Reshape",
    ((N, 255, 80, 80), (1, 3, 85, 80, 80), (1, 3, 85, 80, 80)),
    Verdict.ONLY,
    why="at N = 2 and 3: the element counts differ",
    fixes=(Fix((0, 3, 85, 80, 80), None, "the batch stays first", "copies axis 0"),),
    batch_out=None,
)
TURNED = judged(
    "3",
    "Transpose",
    "/Transpose",
    ((N, 3, 85, 80, 80), (0, 1, 3, 4, 2), (N, 3, 80, 80, 85)),
    target_from="attribute",
    version=1,
)
SECOND = judged(
    "18",
    "Reshape",
    "/Reshape_1",
    ((N, 3, 80, 80, 85), (1, -1, 85), (1, product((19200, N)), 85)),
    Verdict.SWALLOWS,
    tensors=(("/Concat_output_0", "437"), ("r1",)),
    why="N was axis 0; now it is the slow part of axis 1, and nothing fails before /Gemm_3",
    fixes=(
        Fix((0, -1, 85), None, "the batch stays first", "copies axis 0"),
        Fix((-1, 19200, 85), None, "3*80*80 stays 19200", "counts it"),
    ),
    blocked_by="2",
    batch_out=(1, "major"),
)
LAST = judged(
    "19", "Shape", "", ((1, product((19200, N)), 85), None, (3,)), target_from="none", value=(1, Sum((N, 1)), 85)
)
YOLO = Report(
    model="yolo.onnx",
    opset=FrozenDict({"ai.onnx": 11}),
    node_count=47,
    batch="N",
    declared_batch=None,
    sizes=(1, 2, 3),
    assumed=FrozenDict(),
    names=FrozenDict(),
    inputs=(Input("images", ("N", 3, 640, 640), ("N", 3, 640, 640)),),
    nodes=(FIRST, TURNED, SECOND, LAST),
    stops=(),
)
STOP = Stop(node("21", "Concat", "/Concat"), "dim 0 is 1 in one input and 2 in another", "18")

"""Handwritten reports of a detector's head, for tests of screens and JSON."""

from __future__ import annotations

from types import SimpleNamespace

from shapecalc.core.dims import named_dim, product
from shapecalc.core.record import FrozenDict
from shapecalc.models.file import Node
from shapecalc.models.free_dims import DimSum
from shapecalc.models.propagate import NonCoreFailure
from shapecalc.models.report import JudgedNode, ModelInput, Report
from shapecalc.models.verdicts import FAILING_VERDICTS, BatchVerdict, NodeFix

N = named_dim("N")


def node(path, op, name="", attributes=()):
    """Return a listed or failing node."""
    return Node(
        path, op, "", 11, (1, 2), (3,), FrozenDict(attributes), (), SimpleNamespace(name=name, metadata_props=())
    )


NOTHING = dict.fromkeys(("conditions", "fixes", "outputs", "marks"), ())
KEPT = {"batch_in": (0, "whole"), "batch_out": (0, "whole"), "blocked_by": None}
SAID = {"value": None, "why": "", "empty": "ok", "target_from": "initializer", "version": 5}


def judged(path, op, name, shapes, verdict=BatchVerdict.SAFE, attributes=(), **told):
    """Return a judged node with an input, a target and an output."""
    shown = dict(zip(("input", "target", "output"), shapes, strict=True))
    tensors = {"tensors": ((f"in{path}", f"target{path}"), (f"out{path}",))}
    runs = FrozenDict({size: "fails" if verdict is BatchVerdict.ONLY and size > 1 else "ok" for size in (1, 2, 3)})
    fields = NOTHING | KEPT | SAID | tensors | told
    failing = {"is_failing": verdict in FAILING_VERDICTS}
    return JudgedNode(node=node(path, op, name, attributes), verdict=verdict, runs=runs, **shown, **fields, **failing)


FIRST = judged(
    "2",
    "Reshape",
    "/Reshape",
    ((N, 255, 80, 80), (1, 3, 85, 80, 80), (1, 3, 85, 80, 80)),
    BatchVerdict.ONLY,
    why="at N = 2 and 3: the element counts differ",
    fixes=(NodeFix((0, 3, 85, 80, 80), None, "the batch stays first", "copies axis 0"),),
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
    BatchVerdict.SWALLOWS,
    tensors=(("/Concat_output_0", "437"), ("r1",)),
    why="N was axis 0; now it is the slow part of axis 1, and nothing fails before /Gemm_3",
    fixes=(
        NodeFix((0, -1, 85), None, "the batch stays first", "copies axis 0"),
        NodeFix((-1, 19200, 85), None, "3*80*80 stays 19200", "infers axis 0"),
    ),
    blocked_by="2",
    batch_out=(1, "major"),
)
LAST = judged(
    "19", "Shape", "", ((1, product((19200, N)), 85), None, (3,)), target_from="none", value=(1, DimSum((N, 1)), 85)
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
    inputs=(ModelInput("images", ("N", 3, 640, 640), ("N", 3, 640, 640)),),
    nodes=(FIRST, TURNED, SECOND, LAST),
    stops=(),
)
STOP = NonCoreFailure(node("21", "Concat", "/Concat"), "dim 0 is 1 in one input and 2 in another", "18")

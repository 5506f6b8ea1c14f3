"""The sizes at which a model runs are those at which ONNX Runtime runs it."""

from __future__ import annotations

from itertools import product

import numpy as np
import onnx
import pytest

from shapecalc.cli.model_report import failure_lines, report_json
from shapecalc.models import size_limits
from shapecalc.models.judge import report_model
from tests.models.judging import outcome_of, with_shapes
from tests.models.samples import session
from tests.models.text import model

LIMITS = """
x = (N,6,H,W); y = Reshape x [0,3,2,20,20] => H*W == 400
x = (N,T,8); y = Squeeze x [1] => T == 1
x = (N,8); y = Reshape x [2,8]; z = Add y ones(2,8) => N == 2
x = (N,8); y = Reshape x [-1,4,8]; z = Mul y y => N % 4 == 0
x = (N,3,H,W); y = SpaceToDepth x blocksize=4 => H % 4 == 0; W % 4 == 0
x = (N,3,H,W); y = Conv x ones(4,3,3,3) strides=[2,2] pads=[1,1,1,1]; f = Reshape y [0,196]; z = MatMul f ones(196,3) \
=> (H + 1)//2*((W + 1)//2) == 49
x = (N,1,H,W); y = Conv x ones(1,1,4,4) strides=[3,3]; f = Reshape y [0,9]; z = MatMul f ones(9,2) \
=> (H - 1)//3*((W - 1)//3) == 9
x = (N,T,8); m = (N,P,8); q = (N,S,8); c = Concat x m axis=1; z = Add c q => S == T + P or S == 1
x = (N,3,H,8); y = Conv x ones(4,3,3,3) strides=[2,2] pads=[1,1,1,1]; z = Resize y _ [1.0,1.0,2.0,2.0]; \
w = Conv x ones(1,3,1,1); u = Add z w => H % 2 == 0 or H == 1
x = (N,3,H,W); y = Conv x ones(4,3,3,3); z = MaxPool y kernel_shape=[3,3] strides=[2,2] => H >= 3; W >= 3
x = (N,S,8); i = (1,32,8); y = Slice i [0] [32] [1]; z = Add x y => S == 32 or S == 1
x = (N,S,8); y = Slice x [0] [32] [1]; z = MatMul ones(3,32) y => S >= 32
x = (N,S); z = Gather x [4] axis=1 => S >= 5
x = (N,H,4); y = (N,4,W); z = MatMul x y; t = Reshape z [0,-1,12] => H*W % 12 == 0
x = (N,H,4); y = (N,W,4); z = Reshape x [0,4,-1]; m = MatMul y z; a = Reshape m [0,6,-1] => H*W % 6 == 0
x = (N,A,4); y = (N,B,4); m = (N,4); z = Concat x y axis=0 => A == B
x = (N,A,4); y = (N,B,4); z = Where true x y => A == B or A == 1 or B == 1
x = (N,S); z = MatMul x ones(7,2) => S == 7
x = (N,4,H); y = MaxPool x kernel_shape=[2] strides=[2]; z = Reshape y [0,4,3,-1] => H//2 % 3 == 0; H >= 6
x = (N,S,4); a b c d = Split x axis=1 num_outputs=4 => S >= 3; S != 5
opset 13; x = (N,S,4); y z = Split x axis=1 => S % 2 == 0
x = (N,6,H,W); y = Reshape x [1,3,2,20,20]; z = Relu y => N*H*W == 400
x = (N,3,8); y = Relu x =>
"""
ROWS = [line.rpartition("=>")[::2] for line in LIMITS.replace("\\\n", "").strip().splitlines()]


def runs(proto, sizes):
    """Return whether ONNX Runtime runs a model at sizes of its free dims."""
    feeds = {
        value.name: np.ones([dim.dim_value or sizes[dim.dim_param] for dim in value.type.tensor_type.shape.dim], "f")
        for value in proto.input
    }
    try:
        return bool(runs.session.run(None, feeds))
    except Exception:  # the exceptions of ONNX Runtime have no common base class
        return False


@pytest.mark.parametrize(("text", "expected"), ROWS, ids=[row[0].partition(";")[0] for row in ROWS])
def test_sizes_at_which_a_model_runs_are_those_of_the_runtime(text, expected, tmp_path):
    path = tmp_path / "m.onnx"
    onnx.save(with_shapes(model(text)), path)
    judged = report_model(path)
    report = report_json(judged, judged.nodes)
    assert report["runs_where"] == [part.strip() for part in expected.split(";") if part.strip()]
    proto = onnx.load(path)
    runs.session = session(proto)
    names = dict.fromkeys(
        dim.dim_param for value in proto.graph.input for dim in value.type.tensor_type.shape.dim if dim.dim_param
    )
    home = {"N": 1} | report["assumed"] | (report["tried"] or {})
    assert runs(proto.graph, home)
    named = [name for name in names if name != "N" or "N" in (report["tried"] or {})]
    grids = [[name] for name in named] + ([named] if len(named) == 2 else [])
    for grid in grids:
        for chosen in product(range(1, 41), repeat=len(grid)):
            sizes = home | dict(zip(grid, chosen, strict=True))
            predicted = all(eval(condition, {}, sizes) for condition in report["runs_where"])
            assert runs(proto.graph, sizes) == predicted, sizes


def test_conditions_on_products_are_tried_at_other_pairs(monkeypatch):
    """Few probes of pairs fit into the budget of a large model with many dims."""
    text = "x = (N,3,H,W); t = (N,T,8); y = SpaceToDepth x blocksize=2; z = Relu t; => y z"
    monkeypatch.setattr(size_limits, "MAX_VISITS", 240 * 3)
    limits = outcome_of(model(text)).limits
    assert [condition.text for condition in limits.conditions] == ["H % 2 == 0", "W % 2 == 0"]


OFFENCES = """
x = (N,T,8); y = Squeeze x [1] => 1 1 T = 1
x = (N,6,H,W); y = Reshape x [0,3,2,20,20] => 0 1 H*W = 400
x = (N,3,H,W); y = SpaceToDepth x blocksize=4 => 0 0
x = (N,8); y = Reshape x [-1,4,8]; z = Mul y y => 0 0
x = (N,6); y = Concat x floats(2,3) axis=1 => 1 1
"""


@pytest.mark.parametrize("line", OFFENCES.strip().splitlines())
def test_lint_counts_conditions_that_name_the_batch_or_pin_a_dim(line, tmp_path):
    text, _, expected = line.partition(" => ")
    plain, strict, *conditions = expected.split(" ", 2)
    path = tmp_path / "m.onnx"
    onnx.save(with_shapes(model(text)), path)
    report = report_model(path)
    lines, more = (
        failure_lines(report, report.nodes, report.stops, strict=strict, github=False) for strict in (False, True)
    )
    assert (len(lines), len(more)) == (int(plain), int(strict))
    assert not conditions or more[-1].endswith(f"runs only where {conditions[0]}")

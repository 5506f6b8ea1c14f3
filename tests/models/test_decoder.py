"""A decoder with its cache: sums of past and new tokens are told, and hold at sizes that were not walked."""

from __future__ import annotations

from tests.models.judging import report_of, size_of
from tests.models.samples import fed, ran
from tests.models.text import model

DECODER = """
x = (batch.size,S,16); past = (batch.size,4,past,4); mask = (batch.size,1,1,past + S)
x4 = Reshape x [0,0,4,-1]
q = Transpose x4 perm=[0,2,1,3]
k = Concat past q axis=2
kt = Transpose k perm=[0,1,3,2]
scores = MatMul q kt
masked = Add scores mask
weights = Softmax masked axis=-1
mixed = MatMul weights k
back = Transpose mixed perm=[0,2,1,3]
y = Reshape back [0,0,16]
seen = Shape k
ones = Expand ones(1) seen
tiled = Tile k [1,1,2,1]
=> x4 q k kt scores masked weights mixed back y seen ones tiled
"""


def test_the_sums_of_a_decoder_are_told_and_hold_at_other_sizes():
    proto = model(DECODER)
    report = report_of(proto)
    assert (report.batch, dict(report.names), report.stops) == ("d0", {"d0": "batch.size", "d1": "past + S"}, ())
    found, _ = ran(proto, fed(proto, **{"batch.size": 4, "S": 3, "past": 9, "past + S": 12}))
    told = {each.tensors[1][0]: each.output for each in report.nodes}
    sizes = {"d0": 4, "S": 3, "past": 9, "d1": 12}
    assert {name: tuple(size_of(dim, sizes) for dim in shape) for name, shape in told.items()} == {
        name: found[name] for name in told
    }
    assert [str(dim) for dim in told["kt"]] in (["d0", "4", "4", "d1"], ["d0", "4", "4", "S+past"])
    assert {each.verdict.value for each in report.nodes} == {"safe"}

"""Fixed models hold beside ONNX Runtime, and no file that does not hold is written with exit code 0."""

from __future__ import annotations

import onnx
import pytest

from tests.models import truth
from tests.models.judging import with_shapes
from tests.models.text import model

HOLD = """
x = (1,3,4,4); y = Resize x _ _ [1,3,8,8] mode=linear
x = (1,4); m = (1,6); a = Reshape x [1,2,2]; b = Reshape m [1,2,3]; y = Concat a b axis=2
x = (1,6); i = Constant value=[[0]]; g = Gather x i; y = Concat g floats(1,1,2) axis=2
x = (8,6); y = Reshape x [8,2,3]
x = (1,6); a = Reshape x [1,2,3]; p = Pow a 2; y = Relu p
x = (8,3,8); y = Reshape x [8,3,-1,4]
x = (8,2); a = Reshape x [8,-1,2]; y = Add a floats(1,1,2)
opset 20; x = (1,6); t = Reshape x [1,2,3]; y = AffineGrid t [1,3,4,5]
x = (1,3,8,8); p = GlobalAveragePool x; y = Squeeze p; z = Mul y y
x = (N,3,1); y = Squeeze x
opset 11; x = (N,3,1); y = Squeeze x
x = (1,5,4); s = (2,1,2); t = Transpose x perm=[1,0,2]; y h c = LSTM t floats(2,8,4) floats(2,8,2) _ _ s s \
hidden_size=2 direction=bidirectional
opset 20; x = (1,3,5,4); r = (1,4,2,3); t = Reshape r [4,2,3]; \
g = AffineGrid t [4,1,2,2] align_corners=0; y = Reshape g [1,4,-1]
x = (1,1,4); p = (1,2,3,2); r = Reshape x [1,-1,2,2]; t = Transpose r perm=[0,2,1,3]; c = Concat p t axis=2; \
u = Transpose c perm=[0,1,3,2]; m = MatMul t u; y = Relu m
x = (1,5,4); t = Transpose x perm=[1,0,2]; h y = Scan zeros(1,4) t num_scan_inputs=1 \
body={s = (...); e = (...); a = Add s e; b = Tanh a; c = Identity b; => b c}
x = (1,3,4); a = Transpose x perm=[1,0,2]; f = Reshape a [-1,4]; r = Reshape f [3,2,2]; t = Transpose r perm=[1,0,2]; \
y = Add t zeros(2,1,2)
x = (1,3,4); a = Transpose x perm=[1,0,2]; f = Reshape a [3,4]; r = Reshape f [3,1,-1]; y = LogSoftmax r axis=2
x = (1,6,4); r = Reshape x [-1,1,4]; s = Shape r end=1; t = Concat s [1] [4] axis=0; \
e = Expand zeros(6,1,4) t; y = Add r e
x = (4,3); r = Reshape x [4,3]; e = Einsum r ones(4,3) equation=bc,bc->bc; y = Reshape e [4,3,1]
x = (1,8); k = Reshape x [2,1,2,2]; y = Conv floats(1,1,4,4) k; z = Reshape y [1,2,3,3]
x = (1,2,4); b = (1,2,4); c = Concat x b axis=0; p q = Split c [1,1] axis=0; d = Sub p q; y = Reshape d [1,8]
opset 13; x = (2,4); c = Concat x x axis=0; p q = Split c [2,2] axis=0; d = Add p q; y = Reshape d [2,2,2]
x = (N,2,4); two = Concat x x axis=0; f = Reshape two [-1,2,2,2]; g = Reshape f [-1,2,4]; y z = Split g num_outputs=2
x = (N,4); p = Pad x [1,0,1,0]; t = Transpose p perm=[1,0]; s = Slice t [1] [-1] [1]; y = Transpose s perm=[1,0]
x = (1,3,8); a _ = com.microsoft.Attention x floats(8,24) zeros(24) num_heads=2; y = Reshape a [1,24]
x = (1,1,8); y = com.microsoft.MultiHeadAttention x floats(1,5,8) floats(1,5,8) num_heads=2
x = (1,4,4); a = Reshape x [1,1,-1,4]; m = MaxPool a kernel_shape=[2,2] strides=[2,2]; y = Reshape m [-1,2,2]
x = (N,1,4,4); a = Reshape x [1,1,-1,4]; c = Conv a floats(2,1,4,4) strides=[4,4]; d = Transpose c perm=[2,1,0,3]; \
y = Reshape d [-1,2]
x = (N,3,8); a = Reshape x [1,-1,8]; m = MatMul a floats(8,5); y = Reshape m [-1,3,5]
x = (N,2,4); r = Reshape x [-1,1,4]; s = Shape r end=1; t = Concat s [1] [4] axis=0; e = Expand floats(1,1,4) t; \
c = Concat e r axis=1; a = Add c floats(1,2,4); n = Shape x end=1; q = Slice a [0] n [0]; g = Gather q 0 axis=1; \
b = Reshape x [-1,8]; y = Concat g b axis=1
"""
FAIL = """
x = (N,6); m = ReduceMean x [0]; y = Sub x m
x = (1,6); m = ReduceMax x [0]; y = Sub x m
x = (N,3,4); y = Slice x [0] [1] [0]
x = (1,6); q s z = DynamicQuantizeLinear x; a = Reshape q [1,2,3]; y = Cast a to=1
x = (2,3); y = Concat x floats(2,2) axis=1
x = (1,6); a = Reshape x [1,2,3]; s = Shape x end=1; n = Cast s to=1; y = Mul a n
x = (1,4,6); f = Reshape x [-1]; y = Reshape f [1,-1]
x = (N,2,3); f = (2); m = ReduceMax f keepdims=0; c = Greater m 1000.0; \
y = If c then_branch={t = NonZero x; u = Cast t to=1; v = ReduceSum u keepdims=0; a = Add x v} else_branch={b = Relu x}
x = (1,6); a = Reshape x [1,2,3]; b = RandomNormalLike a; y = Add a b
x = (N,4); p = Pad x [1,0,0,0]; y = Slice p [0] [-1] [0]
x = (N,4); p = Pad x [1,0,0,0]; t = Transpose p perm=[1,0]; s = Slice t [0] [-1] [1]; y = Transpose s perm=[1,0]
x = (N,4); y = Pad x [1,0,0,0]
x = (N,4); y = ScatterElements x [[0,1]] ones(1,2) axis=1
x = (N,4); s = Shape x; i = ConstantOfShape s value=[0]; y = ScatterElements x i x axis=0
x = (N,4); y = Unique x axis=1
x = (N,4); y = Compress x [true] axis=0
x = (N,2,4); r = Reshape x [-1,1,4]; s = Shape r end=1; t = Concat s [1] [4] axis=0; e = Expand floats(1,1,4) t; \
c = Concat e r axis=1; a = Add c floats(1,2,4); n = Shape x end=1; q = Slice a [0] n [0]; g = Gather q 1 axis=1; \
b = Reshape x [-1,8]; y = Concat g b axis=1
x = (N,4); s = Shape x end=1; d = Squeeze s; r = Range 0 d 1; f = Cast r to=1; u = Unsqueeze f [1]; \
c = Concat u x axis=1; q = Slice c [-1] [-99] [0] [-1]; g = Gather q [0] axis=1; y = Add x g
"""


@pytest.mark.parametrize(("texts", "code"), [(HOLD, 0), (FAIL, 1)], ids=["hold", "fail"])
def test_exit_code_zero_is_proved(texts, code, tmp_path, capsys):
    paths = []
    for index, text in enumerate(texts.replace("\\\n", "").strip().splitlines()):
        paths.append(tmp_path / f"{index}.onnx")
        onnx.save(with_shapes(model(text)), paths[-1])
    assert truth.main(paths) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[1] for line in lines] == [f"exit {code}"] * len(paths), lines
    assert code or all(line.split(": ")[2] == "holds" for line in lines)


def test_truth_reports_a_file_that_does_not_hold(tmp_path, monkeypatch, capsys):
    path = tmp_path / "m.onnx"
    onnx.save(with_shapes(model("x = (N,6); m = ReduceMean x [0]; y = Sub x m")), path)

    def copy(path, target):
        target.write_bytes(path.read_bytes())
        inputs = [{"name": "x", "taken": ["N", 6]}]
        return 0, {
            "declared_batch": None,
            "batch": "N",
            "assumed": {},
            "inputs": inputs,
            "nodes": [],
            "stops": [],
            "tried": None,
            "runs_where": [],
        }

    monkeypatch.setattr(truth, "fix", copy)
    assert truth.main([path]) == 1
    printed = capsys.readouterr().out
    assert "exit 0: y differs at 2" in printed
    assert "report: MISSED: y differs at 2" in printed

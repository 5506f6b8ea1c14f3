"""Lines of code: the chains that they are, what they are refused for and where, and that none of them runs."""

from __future__ import annotations

import re

import numpy as np
import pytest

from shapecalc.core.code import cleaned, read_code
from shapecalc.core.commands import chain_text
from shapecalc.core.fixing import answer_chain
from shapecalc.core.limits import LONGEST_CODE
from shapecalc.core.ops import OPS
from shapecalc.core.problem import ShapeError
from shapecalc.core.text import read_shape
from tests.cases import described
from tests.core.drawing import positions_of

READ = [
    # line, shape, what it answers
    ("x.view(B, T, h, C // h).transpose(1, 2)", "B,T,C", "B,h,T,C/h when C % h == 0"),
    ("x.permute(0, 2, 1).reshape(x.shape[0], -1)", "N,C,L", "N,C*L"),
    ("x.flatten(2).mT", "N,C,H,W", "N,H*W,C"),
    ("x[:, None, ..., 0].expand(-1, 3, -1)", "N,H,W", "N,3,H"),
    ("x.view(*x.shape[:-1], x.size(-1) // 2, 2)", "N,C", "N,C/2,2 when C % 2 == 0"),
    ("x.view(x.size()[:-1] + (self.heads, -1))", "B,T,C", "B,T,heads,C/heads when C % heads == 0"),
    ("x.unflatten(-1, (h, -1)).swapaxes(1, 2)", "B,T,C", "B,h,T,C/h when C % h == 0"),
    ("F.pixel_shuffle(x, 2)", "N,C,H,W", "N,C/4,2*H,2*W when C % 4 == 0"),
    ("nn.PixelUnshuffle(downscale_factor=2)(x)", "1,2,4,6", "1,8,2,3"),
    ("x.repeat(2, 1, B)", "A,3,C", "2*A,3,B*C"),
    ("x.repeat_interleave(k, dim=0)", "N,C", "N*k,C"),
    ("np.repeat(x, 2, axis=1)", "2,3", "2,6"),
    ("np.tile(x, (2, 1, 2))", "2,3", "2,2,6"),
    ("np.transpose(x, (0, 3, 1, 2))[:, np.newaxis]", "N,H,W,C", "N,1,C,H,W"),
    ("x.transpose(0, 2, 1).astype(np.float32)", "2,3,4", "2,4,3"),
    ("np.moveaxis(x, -1, 1)", "N,H,W,C", "N,C,H,W"),
    ("tf.transpose(tf.reshape(x, [tf.shape(x)[0], 4, -1]), perm=[0, 2, 1])", "N,12", "N,3,4"),
    ("jnp.expand_dims(x, axis=(0, -1))", "2,3", "1,2,3,1"),
    ("rearrange(x, 'b (h w) c -> b c h w', h=14)", "8,196,768", "8,768,14,14"),
    ("rearrange(x, 'b n (h d) -> b h n d', h=heads)", "B,N,C", "B,heads,N,C/heads when C % heads == 0"),
    ("repeat(x, 'b c -> b r c', r=R)", "N,3", "N,R,3"),
    (
        "q, k, v = x.reshape(B, N, 3, h, C // h).permute(2, 0, 3, 1, 4)[0:3].unbind(0); k.mT",
        "B,N,3*C",
        "B,h,C/h,N when C % h == 0",
    ),
    ("B, T, C = x.shape\ny = x.view(B, T, 4, C // 4)\nreturn y.transpose(1, 2).contiguous()", "2,3,8", "2,4,3,2"),
    ("x.chunk(3, dim=-1)[2] * 0.5", "N,6", "N,2"),
    ("self.proj.weight.view(8, -1).T", "24,4", "12,8"),
    ("torch.roll(x.flip(dims=(0,)), shifts=(1, -1), dims=(0, 1))", "2,3", "2,3"),
    ("x.view(math.prod(x.shape[:2]), len(x.shape) - 1, -1)", "2,3,4", "6,2,2"),
    ("x.transpose(1, 2).contiguous().view(2, -1)", "2,3,4", "2,12"),
    ("x.transpose(1, 2).view(2, -1)", "2,3,4", "error stride-incompatible"),
    ("x.transpose(1, 2).view(N, -1)", "N,3,4", "error needs-size"),
    ("x.permute(0, 2, 3, 1).view(N, -1, C)", "N,C,H,W", "N,H*W,C"),
    ("x.t().contiguous().t().view(-1)", "3,4", "error stride-incompatible"),
    ("x.t().contiguous().view(3, -1)", "3,4", "3,4"),
    ("x.view(5, -1).T", "2,3,4", "error indivisible"),
    ("tf.tile(x, [2])", "2,3", "error bad-repeats"),
    ("tensorflow.tile(x, multiples=[2, 2, 2])", "2,3", "error bad-repeats"),
    ("keras.ops.tile(x, [2])", "2,3", "2,6"),
    ("x.squeeze(0)", "N,C", "N,C when N != 1"),
    ("self.qkv(x).view(B, 3, -1)[:, 0]", "B,3*C", "B,C"),
    ("q, k, v = self.qkv(x).chunk(3, -1)\nk = k.unsqueeze(1)", "B,3*C", "B,1,C"),
    ("a, b = x\nb.T", "2,N,C", "C,N"),
    ("n = m = int(math.sqrt(x.shape[1]))\nx.view(-1, n, m)", "N,49", "N,7,7"),
    ("x.view(-1, int(x.shape[1] ** 0.5), 7)", "N,49", "N,7,7"),
    ("x.view(self.window_size[0], -1)", "6,N", "window_size_0,6*N/window_size_0 when 6*N % window_size_0 == 0"),
    ("(x.view(2, -1) * self.scale).T", "2,N", "N,2"),
]


SEVERAL = [
    # line, the shapes of its tensors, the stages, what they answer
    ("x @ w", "x=B,T,768 w=768,3072", "matmul 768,3072", "B,T,3072"),
    ("x @ w.T + b", "x=2,3 w=5,3 b=5", "matmul 3,5 | broadcast 5", "2,5"),
    ("w @ x", "x=3,4 w=2,3", "matmul 2,3 _", "2,4"),
    ("(x * 2 - y).T", "x=2,3 y=3", "broadcast 3 | transpose 1,0", "3,2"),
    ("torch.cat([x, y], dim=1)", "x=N,C y=N,D", "concat N,D --axis 1", "N,C1"),
    ("torch.cat((y, x), -1)", "x=2,3 y=2,5", "concat 2,5 _ --axis -1", "2,8"),
    ("torch.cat([x, torch.zeros(2, 1)], 1)", "x=2,3", "concat 2,1 --axis 1", "2,4"),
    ("np.concatenate((x, y))", "x=2,3 y=4,3", "concat 4,3 --axis 0 --dialect numpy", "6,3"),
    ("tf.concat([x, y], axis=1)", "x=2,3 y=2,3", "concat 2,3 --axis 1 --dialect tensorflow", "2,6"),
    ("torch.matmul(x, w)", "x=2,3 w=4,5", "matmul 4,5", "error inner-differs"),
    ("x + x.view(2, -1).transpose(0, 1)", "x=2,2", "view 2,-1 | transpose 1,0 | broadcast 2,2 _", "2,2"),
    ("torch.add(x, y, alpha=2)", "x=2,3 y=3", "broadcast 3", "2,3"),
    (
        "q, k, v = self.qkv(x).view(B, T, 3, h, 64).permute(2, 0, 3, 1, 4)\n(q @ k.transpose(-2, -1)) @ v",
        *("self.qkv(x)=B,T,192*h", "matmul B,h,64,T | matmul B,h,T,64", "B,h,T,64"),
    ),
    ("nn.Linear(768, 3072)(x)", "x=B,T,768", "linear --weight 3072,768", "B,T,3072"),
    ("F.linear(x, w)", "x=B,T,768 w=3072,768", "linear --weight 3072,768", "B,T,3072"),
    ("np.stack([x, y], axis=1)", "x=2,3 y=2,3", "stack 2,3 --axis 1 --dialect numpy", "2,2,3"),
    ("torch.einsum('bij,bjk->bik', x, y)", "x=2,3,4 y=2,4,5", "einsum bij,bjk->bik 2,4,5", "2,3,5"),
    (
        "nn.MaxPool2d(3, stride=2, padding=1)(nn.Conv2d(3, 64, 7, stride=2, padding=3)(x))",
        *("x=B,3,224,224", "conv 64,3,7,7 --stride 2 --padding 3 | pool 3 --stride 2 --padding 1", "B,64,56,56"),
    ),
    ("nn.AdaptiveAvgPool2d(1)(x)", "x=B,64,7,7", "pool global --kind average", "B,64,1,1"),
    ("F.conv2d(x, w, padding=1)", "x=1,4,9,9 w=8,4,3,3", "conv 8,4,3,3 --padding 1", "1,8,9,9"),
    ("F.pad(x, (1, 2, 3, 4))", "x=1,4,9,9", "pad 3,1,4,2 --axes 2,3", "1,4,16,12"),
    ("F.interpolate(x, scale_factor=2)", "x=1,4,9,9", "upsample 2", "1,4,18,18"),
]


def shapes_of(inputs):
    """Return the shapes that `x=2,3 w=3` gives, by name."""
    return {name: read_shape(shape) for name, _, shape in (each.rpartition("=") for each in inputs.split())}


def several(line, inputs):
    """Return the chain that a line is, given the shapes of all its tensors."""
    return read_code(line, shapes_of(inputs))


@pytest.mark.parametrize(("line", "inputs", "stages", "expected"), SEVERAL, ids=[row[0] for row in SEVERAL])
def test_a_line_of_several_tensors_is_a_chain(line, inputs, stages, expected):
    lacking = [each.split()[0] for each in stages.split(" | ") if each.split()[0] not in OPS]
    if lacking:
        pytest.skip(f"there is no {lacking[0]}")
    found = several(line, inputs)
    answer = answer_chain(found.shape, found.stages, {})
    assert re.split(" (?:assuming|when|unless|with) ", described(answer))[0] == expected
    written = chain_text(answer).replace(" --dialect torch", "").replace('"', "'")
    assert written.endswith(f" | {stages}")


@pytest.mark.parametrize(
    ("line", "inputs", "said"),
    [
        ("x @ w", "x=2,3", "'w': the shape of this tensor is not known"),
        ("torch.cat([x, y], 1)", "x=2,3", "the shape of this tensor is not known"),
        ("torch.cat([x, y], 1, 2)", "x=2,3 y=2,3", "the argument dim of cat is not supported"),
        ("torch.cat()", "x=2,3", "another tensor's shape is not known"),
        ("nn.Linear()(x)", "x=2,3", "Linear needs sizes or a tensor's shape for in_features"),
        ("nn.Conv2d(3, 4, 'a')(x)", "x=2,3,4,4", "Conv2d needs sizes"),
    ],
)
def test_what_a_line_of_several_tensors_lacks_is_told(line, inputs, said):
    with pytest.raises(ShapeError) as caught:
        several(line, inputs)
    assert said in caught.value.problem.message


def read(line, shape="2,3,4", dialect=None, **sizes):
    return read_code(line, {"": read_shape(shape)}, dialect, sizes)


@pytest.mark.parametrize(("line", "shape", "expected"), READ, ids=[row[0] for row in READ])
def test_a_line_is_a_chain(line, shape, expected):
    found = read(line, shape)
    answer = answer_chain(found.shape, found.stages, {})
    assert described(answer).split(" assuming ")[0] == expected


def test_the_framework_is_told_by_the_line_or_given():
    assert read("x.transpose(0, 1)").stages[0][1]["dialect"] == "torch"
    assert read("np.transpose(x, (1, 0, 2))").stages[0][1]["dialect"] == "numpy"
    assert read("x.transpose(1, 0, 2)").stages[0][1]["dialect"] == "numpy"
    assert read("x.transpose(1, 0)", "2,3", dialect="numpy").stages == (
        ("transpose", {"perm": (1, 0), "dialect": "numpy"}),
    )


def test_a_layer_of_the_code_may_be_the_tensor():
    line = "torch.flatten(model.stem(x, 3), 1)"
    with pytest.raises(ShapeError, match="give its shape"):
        read(line)
    shape = read_shape("2,3,4")
    stages = (("flatten", {"start_dim": 1, "end_dim": -1, "dialect": "torch"}),)
    assert read_code(line, {"model.stem(x,3)": shape}).stages == stages
    with pytest.raises(ShapeError, match="is not a name for a tensor"):
        read_code(line, {"x + 1": shape})


def test_sizes_are_put_in_before_the_line_is_read():
    assert read("x.view(-1, H // 2)", "7,3", H=7).stages == (("view", {"target": (-1, 3), "dialect": "torch"}),)


def test_what_is_assumed_is_said():
    assert read("x.view(C // h, -1)", "C").notes == ("C // h is read as C/h: other sizes are left out",)
    assert read("x.transpose(0, 1).reshape(-1)", "N,C").notes == ()


REFUSED = [
    # line, what is marked, what is said
    ("x.unfold(1, 2, 3)", "x.unfold(1, 2, 3)", "unfold is not known here"),
    ("x.movedim((0, 0), (1, 2))", "x.movedim((0, 0), (1, 2))", "each axis moves to one place"),
    ("x.movedim((0, 1), (2, 2))", "x.movedim((0, 1), (2, 2))", "each axis moves to one place"),
    ("x.movedim((0, 0), (1, 1))", "x.movedim((0, 0), (1, 1))", "each axis moves to one place"),
    ("x.movedim((0, 1), 2)", "x.movedim((0, 1), 2)", "each axis moves to one place"),
    ("torch.hstack([x, x]).view(-1)", "torch.hstack([x, x])", "hstack is not known here"),
    ("x.view_as(y)", "x.view_as(y)", "view_as is not known here"),
    ("x.view(C + 1, -1)", "C + 1", "never a sum"),
    ("x[:, 1:n]", "x[:, 1:n]", "a slice takes whole numbers"),
    ("x[[0, 1]]", "x[[0, 1]]", "a list of positions"),
    ("x[0, 0, 0, 0]", "x[0, 0, 0, 0]", "4 indices for 3 dims"),
    ("y.view(2, -1) if x else 0", "y.view(2, -1) if x else 0", "not supported here"),
    ("x.view(2, -1) + x.shape", "x.view(2, -1) + x.shape", "between tensors and numbers"),
    ("x.view(lambda: 1)", "lambda: 1", "not supported here"),
    ("x.view(7 / 2)", "7 / 2", "not a whole number"),
    ("x.view(7 // 0)", "7 // 0", "a division by 0"),
    ("x.view(9 ** 9 ** 9)", "9 ** 9 ** 9", "never a sum"),
    ("x.view(" + "9" * 1000 + " * 10)", "9" * 1000 + " * 10", "more digits"),
    ("x.reshape(2, -1, order='F')", "x.reshape(2, -1, order='F')", "only shape or"),
    ("x.permute('a')", "x.permute('a')", "whole numbers"),
    ("x.transpose(0, 9)", "x.transpose(0, 9)", "there is no axis 9 among 3"),
    ("x.nope()", "x.nope()", "nope is not known here"),
    ("x.view(6, -1).mean(-1)", None, "it ends with 6"),
    ("x.view(int(math.sqrt(2)))", "int(math.sqrt(2))", "a root needs a square"),
    ("a, b, c = x", "a, b, c", "3 names for 2 values"),
    ("x.split([1, 1])[2]", "x.split([1, 1])[2]", "no such part among 2"),
    ("np.split(x, [2, 1])[0]", "np.split(x, [2, 1])", "places of the cuts do not ascend"),
    ("a, b = x.chunk(10**30, 1)", "a, b", "2 names for 3"),
    ("x.shape[:1]", None, "does not end with a tensor"),
    ("x.float()", None, "nothing in the code changes"),
    ("x.T\nfor i in x: pass", "for i in x: pass", "this statement is not supported"),
    ("", None, "does not end with a tensor"),
    ("x.view(2", "(", "this is not Python"),
    ("x.view('\N{GREEK SMALL LETTER LAMDA}', -1)", "x.view('\N{GREEK SMALL LETTER LAMDA}', -1)", "sizes"),
]


@pytest.mark.parametrize(("line", "marked", "said"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_not_read_is_refused_with_its_place(line, marked, said):
    with pytest.raises(ShapeError, match=said) as caught:
        read(line)
    problem = caught.value.problem
    assert problem.rule == "usage"
    assert (problem.span and line[slice(*problem.span)]) == marked


HOSTILE = [
    "x" * (LONGEST_CODE + 1),
    "(" * 10_000 + ")" * 10_000,
    "-" * 10_000 + "1",
    "x" + ".T" * 20_000,
    "x[" * 5_000 + "0" + "]" * 5_000,
    "x.view(" + "9" * 20_000 + ")",
    "x.view(" + "*".join(["9" * 900] * 60) + ")",
    "1+" * 20_000 + "1",
    "x.T\n" * 10_000,
    "x = x.T\n" * 2_000,
    "if x:\n" + " x.T\n" * 1_500,
    "print 'a'\nx.T",
    "    nn.Linear(3,\n        x.view(2",
    "@" * 100,
    "f(" * 90 + "x" + ")" * 90 + "[" * 90,
    "x\0.T",
    "x.view('\udcff')",
    "\x1b[2J",
]


@pytest.mark.parametrize("line", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_code_is_refused_in_one_line(line):
    with pytest.raises(ShapeError) as caught:
        read(line)
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 300


def test_no_code_is_run(tmp_path):
    mark = tmp_path / "ran"
    for line in (f"open({str(mark)!r}, 'w')", f"x.view(open({str(mark)!r}, 'w'), -1)", f"x[open({str(mark)!r}, 'w')]"):
        with pytest.raises(ShapeError):
            read(line)
    assert not mark.exists()


RUN_BY_NUMPY = [
    "np.reshape(x, (6, -1))",
    "np.reshape(x, newshape=(6, 4))",
    "np.ravel(x)[5:] ",
    "x.flatten()[::-2]",
    "np.transpose(x)",
    "np.transpose(x, axes=(2, 0, 1))",
    "np.transpose(x, (-1, 0, 1))",
    "np.permute_dims(x, (1, 2, 0))",
    "np.swapaxes(x, 0, -1)",
    "np.swapaxes(x, -3, 1)",
    "np.swapaxes(x, axis1=2, axis2=1)",
    "np.moveaxis(x, 0, -1)",
    "np.moveaxis(x, (0, 1), (-1, -2))",
    "np.moveaxis(x, [2, 0], [0, 1])",
    "np.moveaxis(x, source=1, destination=0)",
    "np.expand_dims(x, 1)",
    "np.expand_dims(x, axis=(0, -2))",
    "np.squeeze(x[:1])",
    "np.squeeze(x[:, :1], axis=1)",
    "np.squeeze(x[:1, :1], axis=(0, -2))",
    "np.broadcast_to(x, (2, 2, 3, 4))",
    "np.broadcast_to(x[:, :1], (2, 5, 4))",
    "np.tile(x, 2)",
    "np.tile(x, (2, 1))",
    "np.tile(x, (2, 1, 3))",
    "np.tile(x, (2, 1, 1, 3))",
    "np.tile(x, reps=(1, 1, 1, 1, 2))",
    "np.repeat(x, 2)",
    "np.repeat(x, 3, 1)",
    "np.repeat(x, repeats=2, axis=-1)",
    "np.repeat(x, 1, axis=0)[1]",
    "np.split(x, 2)[1]",
    "np.split(x, 3, axis=1)[-1]",
    "np.split(x, 2, -1)[0]",
    "np.array_split(x, indices_or_sections=4, axis=2)[3]",
    "np.unstack(x, axis=1)[2]",
    "np.unstack(x)[-2]",
    "np.flip(x, 0)",
    "np.flip(x, axis=(0, -1))",
    "np.roll(x, 1, 0)",
    "np.roll(x, (1, -2), axis=(0, 2))",
    "np.roll(x, shift=-1, axis=-1)",
    "x.T",
    "x[0].T",
    "x.mT",
    "x[1]",
    "x[-1, ::2]",
    "x[..., 1]",
    "x[..., None, 0]",
    "x[None, ..., 1:3, None]",
    "x[:, 2, ::-1]",
    "x[1, ..., -1]",
    "x[:, None]",
    "x[0, 1:, None, -2]",
    "x[1][2][None]",
    "x.reshape(x.shape[0] * x.shape[1], x.shape[2])",
    "x.reshape(x.size // 8, 2 ** 3)",
    "x.reshape(x.ndim, 11 % 3 * 2, -1)",
    "x.reshape(len(x), 7 - 1, x.shape[-2] + 1 - 2)",
    "x.reshape(*x.shape[::-1])",
    "x.reshape(x.shape[:1] + (12,))",
    "x.reshape((int(np.sqrt(16)), -1))",
    "x.reshape(np.prod(x.shape[1:]), -1)",
    "x.swapaxes(1, 2).reshape(8, 3)",
    "-2 * x.transpose(1, 0, 2) / -2",
]


NEWER = {"permute_dims": (2, 0), "x.mT": (2, 0), "unstack": (2, 1), "newshape": (2, 1)}
"""What NumPy has since a version; since that one it also calls `newshape` by its new name, `shape`."""


@pytest.mark.parametrize("line", RUN_BY_NUMPY)
def test_a_line_of_numpy_does_what_numpy_does(line):
    since = max((version for word, version in NEWER.items() if word in line), default=(1, 26))
    if tuple(map(int, np.__version__.split(".")[:2])) < since:
        pytest.skip(f"NumPy has this since {since[0]}.{since[1]}")
    x = np.arange(24).reshape(2, 3, 4)
    found = read(line, dialect="numpy")
    answer = answer_chain(found.shape, found.stages, {})
    wanted = eval(line.replace("newshape", "shape"), {"np": np, "x": x})
    assert positions_of(answer).tolist() == wanted.tolist()


SAID_BY_NUMPY = [
    # a line of PyTorch or TensorFlow, and what it is in NumPy
    ("x.transpose(0, -1)", "x.swapaxes(0, 2)"),
    ("x.transpose(dim0=1, dim1=2)", "x.swapaxes(1, 2)"),
    ("x.permute(2, 0, 1)", "x.transpose(2, 0, 1)"),
    ("x.permute((-1, 0, 1))", "x.transpose(2, 0, 1)"),
    ("torch.permute(x, dims=(1, 0, 2))", "x.transpose(1, 0, 2)"),
    ("x[0].t()", "x[0].T"),
    ("x[0, 0].t()", "x[0, 0]"),
    ("x.flatten()", "x.ravel()"),
    ("x.flatten(1)", "x.reshape(2, 12)"),
    ("x.flatten(0, 1)", "x.reshape(6, 4)"),
    ("x.flatten(end_dim=-2)", "x.reshape(6, 4)"),
    ("nn.Flatten()(x)", "x.reshape(2, 12)"),
    ("nn.Flatten(0, 1)(x)", "x.reshape(6, 4)"),
    ("layers.Reshape((4, -1))(x)", "x.reshape(2, 4, 3)"),
    ("layers.Permute((2, 1))(x)", "x.transpose(0, 2, 1)"),
    ("x.unflatten(2, (2, 2))", "x.reshape(2, 3, 2, 2)"),
    ("x.unflatten(-1, (-1, 2))", "x.reshape(2, 3, 2, 2)"),
    ("nn.Unflatten(1, (3, 1))(x)", "x.reshape(2, 3, 1, 4)"),
    ("x.repeat(2, 1, 3)", "np.tile(x, (2, 1, 3))"),
    ("x.repeat(2, 1, 1, 3)", "np.tile(x, (2, 1, 1, 3))"),
    ("x.repeat_interleave(2, 1)", "np.repeat(x, 2, 1)"),
    ("x.repeat_interleave(2)", "np.repeat(x, 2)"),
    ("x.unsqueeze(-1)", "x[..., None]"),
    ("x[:, :1].squeeze(1)", "x[:, 0]"),
    ("x[:1, :1].squeeze()", "x[0, 0]"),
    ("x[:, :1].expand(-1, 5, -1)", "np.repeat(x[:, :1], 5, 1)"),
    ("x.select(1, -1)", "x[:, -1]"),
    ("x.chunk(2, 2)[1]", "x[..., 2:]"),
    ("x.chunk(2)[0]", "x[:1]"),
    ("x.split(2, dim=-1)[1]", "x[..., 2:]"),
    ("x.split(1)[1]", "x[1:]"),
    ("x.split([1, 3], 2)[1]", "x[..., 1:]"),
    ("a, b = x.chunk(2, 2)\nb", "x[..., 2:]"),
    ("x.narrow(2, -3, 2)", "x[..., 1:3]"),
    ("x.tensor_split(3, 2)[0]", "x[..., :2]"),
    ("x.tensor_split((1, 3), dim=2)[2]", "x[..., 3:]"),
    ("x.unbind(1)[2]", "x[:, 2]"),
    ("x.unbind()[1]", "x[1]"),
    ("x.flip(0, 2)", "np.flip(x, (0, 2))"),
    ("x.roll(1, 2)", "np.roll(x, 1, 2)"),
    ("torch.moveaxis(x, 0, 2)", "np.moveaxis(x, 0, 2)"),
    ("x.movedim((0, 1), (1, 2))", "np.moveaxis(x, (0, 1), (1, 2))"),
    ("x.view(-1, 8)", "x.reshape(3, 8)"),
    ("x.size(1) * x.view(x.dim(), x.numel() // 3)", "x.reshape(3, 8)"),
    ("a, b = x\nb.T", "x[1].T"),
    ("a, b, c = x.unbind(1)\nb.T", "x[:, 1].T"),
    ("F.pixel_shuffle(x.view(4, 2, 3), 2)", "x.reshape(2, 2, 2, 3).transpose(2, 0, 3, 1).reshape(1, 4, 6)"),
    ("F.pixel_unshuffle(x.view(1, 4, 6), 2)", "x.reshape(2, 2, 3, 2).transpose(1, 3, 0, 2).reshape(4, 2, 3)"),
    ("tf.transpose(x)", "x.T"),
    ("tf.transpose(x, perm=[1, 0, 2])", "x.transpose(1, 0, 2)"),
    ("tf.reshape(x, [tf.shape(x)[1], -1])", "x.reshape(3, 8)"),
    ("tf.reshape(x, [tf.rank(x), 8])", "x.reshape(3, 8)"),
    ("tf.tile(x, [1, 2, 1])", "np.tile(x, (1, 2, 1))"),
    ("tf.unstack(x, axis=1)[0]", "x[:, 0]"),
    ("tf.split(x, 2, axis=2)[1]", "x[..., 2:]"),
    ("rearrange(x, 'a b (c d) -> (a c) d b', d=2)", "x.reshape(2, 3, 2, 2).transpose(0, 2, 3, 1).reshape(4, 2, 3)"),
    ("repeat(x, 'a b c -> a (r b) c', r=2)", "np.tile(x, (1, 2, 1))"),
]


@pytest.mark.parametrize(("line", "numpys"), SAID_BY_NUMPY)
def test_a_line_does_what_it_is_in_numpy(line, numpys):
    x = np.arange(24).reshape(2, 3, 4)
    found = read(line)
    answer = answer_chain(found.shape, found.stages, {})
    wanted = eval(numpys, {"np": np, "x": x})
    assert positions_of(answer).tolist() == wanted.tolist()


NANO = """\
B, T, C = x.size() # batch size, sequence length, embedding dimensionality (n_embd)

# calculate query, key, values for all heads in batch and move head forward to be the batch dim
q, k, v  = self.c_attn(x).split(self.n_embd, dim=2)
k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) # (B, nh, T, hs)
q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) # (B, nh, T, hs)
v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) # (B, nh, T, hs)
if self.flash:
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=None, is_causal=True)
else:
    att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
    att = att.masked_fill(self.bias[:,:,:T,:T] == 0, float('-inf'))
    att = F.softmax(att, dim=-1)
    att = self.attn_dropout(att)
    y = att @ v # (B, nh, T, T) x (B, nh, T, hs) -> (B, nh, T, hs)
y = y.transpose(1, 2).contiguous().view(B, T, C) # re-assemble all head outputs side by side
"""
TIMM = """\
class Attention(nn.Module):
    def __init__(self, dim: int, num_heads: int = 8, qkv_bias=False):
        super().__init__()
        assert dim % num_heads == 0, 'dim should be divisible by num_heads'
        self.num_heads = num_heads
        self.head_dim = dim // num_heads
        self.scale = self.head_dim ** -0.5
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.attn_drop = nn.Dropout(0.1)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        "Attend."
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.num_heads, self.head_dim).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        q = q * self.scale
        attn = q @ k.transpose(-2, -1)
        attn = attn.softmax(dim=-1)
        attn = self.attn_drop(attn)
        x = attn @ v
        x = x.transpose(1, 2).reshape(B, N, C)
        x = self.proj(x)
        return x
"""
BERT = """\
def transpose_for_scores(self, x: torch.Tensor) -> torch.Tensor:
    new_x_shape = x.size()[:-1] + (self.num_attention_heads, self.attention_head_size)
    x = x.view(new_x_shape)
    return x.permute(0, 2, 1, 3)
"""
LENET = """\
class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        # Max pooling over a (2, 2) window
        x = F.max_pool2d(F.relu(self.conv1(x)), (2, 2))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = torch.flatten(x, 1)  # flatten all dimensions except batch
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        x = self.fc3(x)
        return x
"""
SWIN = """\
def window_partition(x, window_size):
    \"\"\"
    Args:
        x: (B, H, W, C)
    \"\"\"
    B, H, W, C = x.shape
    x = x.view(B, H // window_size, window_size, W // window_size, window_size, C)
    windows = x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, window_size, window_size, C)
    return windows
"""
PASTED = [
    # what is pasted, --input, --where, the answer
    ("x = x.view(x.size(0), -1)", "x=8,16,5,5", "", "8,400"),
    ("return x.permute(0, 2, 3, 1)", "2,3,32,32", "", "2,32,32,3"),
    ("torch.zeros(2,3,4).view(6,4)", "", "", "6,4"),
    ("np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1)", "", "", "4,2,3"),
    ("x = torch.randn(2, 16, 768)\nx.flatten(1)", "x=N,16,C", "", "N,16*C"),
    ("x = torch.randn(2, 16, 768)\nprint(x.shape)\nx = x.reshape(2, 16, 12, 64)\nx.shape", "", "", "2,16,12,64"),
    (NANO, "x=2,16,768 self.c_attn(x)=2,16,2304", "self.n_head=12 self.n_embd=768 self.flash=0", "2,16,768"),
    (TIMM, "x=2,197,768", "dim=768", "2,197,768"),
    (BERT, "2,128,768", "num_attention_heads=12 attention_head_size=64", "2,12,128,64"),
    (LENET, "N,1,32,32", "", "N,10"),
    (SWIN, "B,56,56,C", "window_size=7", "64*B,7,7,C"),
    (
        "def patchify(imgs):\n    p = 16\n    assert imgs.shape[2] == imgs.shape[3] and imgs.shape[2] % p == 0\n"
        "    h = w = imgs.shape[2] // p\n    x = imgs.reshape(shape=(imgs.shape[0], 3, h, p, w, p))\n"
        "    x = torch.einsum('nchpwq->nhwpqc', x)\n    x = x.reshape(shape=(imgs.shape[0], h * w, p**2 * 3))\n"
        "    return x",
        *("N,3,224,224", "", "N,196,768"),
    ),
    (
        "x = self.patch_embed(x)  # (B, 768, 14, 14)\nx = x.flatten(2).transpose(1, 2)  # (B, 196, 768)",
        *("self.patch_embed(x)=B,768,14,14", "", "B,196,768"),
    ),
    (
        "input = torch.randn(2, 3, 32, 32)\nout = F.relu(input).flatten(1)\nout.reshape(input.shape)",
        "",
        "",
        "2,3,32,32",
    ),
    ("f(y).reshape(input.shape)", "f(y)=2,3072", "input.shape=2,3,32,32", "2,3,32,32"),
    (
        "*lead, C = x.shape\nx = x.reshape(*lead, self.head_dim, C // self.head_dim)",
        "B,T,512",
        "self.head_dim=128",
        "B,T,128,4",
    ),
    (
        "conv = nn.Conv2d(3, 64, kernel_size=7, stride=2, padding=3)\ny = conv(x)\ny.flatten(2)",
        "x=1,3,224,224",
        "",
        "1,64,12544",
    ),
    ("nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))(x)", "N,784", "", "N,10"),
    (
        "model = nn.Sequential(\n  nn.Conv2d(1, 32, 3, 1),\n  nn.ReLU(),\n  nn.MaxPool2d(2),\n  nn.Flatten(),\n)\n"
        "model(torch.rand(8, 1, 28, 28))",
        *("", "", "8,5408"),
    ),
    ("x += y\nx *= 2\nx = x.unsqueeze(1)", "x=2,3 y=3", "", "2,1,3"),
    ("mask = (x == 0).unsqueeze(1).unsqueeze(2)", "N,L", "", "N,1,1,L"),
    ("h: torch.Tensor = x.permute(1, 0, 2)\nassert h.shape == (5, 2, 3), h.shape", "2,5,3", "", "5,2,3"),
    (">>> a = np.ones((2, 3))\n>>> a[:, None].shape", "", "", "2,1,3"),
    (
        "img = cv2.imread('a.png')\nimg = img[:, :, ::-1].transpose(2, 0, 1)  # BGR to RGB, to 3x416x416\n"
        "img = np.ascontiguousarray(img, dtype=np.float32)\nimg /= 255.0\nimg = np.expand_dims(img, 0)",
        *("img=416,416,3", "", "1,3,416,416"),
    ),
    (
        "image = np.array(image, dtype=np.float32) / 255\nimage = image.transpose((2, 0, 1))[np.newaxis, ...]",
        "H,W,3",
        "",
        "1,3,H,W",
    ),
    (
        "x = tf.reshape(x, (-1, seq_len, num_heads, depth))\nreturn tf.transpose(x, perm=[0, 2, 1, 3])",
        *("2,10,512", "seq_len=10 num_heads=8 depth=64", "2,8,10,64"),
    ),
    (
        "def split_heads(self, x, batch_size):\n    x = tf.reshape(x, (batch_size, -1, self.num_heads, self.depth))\n"
        "    return tf.transpose(x, perm=[0, 2, 1, 3])",
        *("x=2,10,512", "batch_size=2 num_heads=8 depth=64", "2,8,10,64"),
    ),
    (
        "b, h, w, c = x.shape\nx = jnp.reshape(x, (b, h // p, p, w // p, p, c))\nx = jnp.einsum('bhpwqc->bhwpqc', x)\n"
        "x = x.reshape(b, -1, p * p * c)",
        *("2,32,32,3", "p=8", "2,16,192"),
    ),
    (
        "        x = self.norm(x)\n        x = x.transpose(1, 2).reshape(B, C, H, W).contiguous()",
        "2,49,64",
        "B=2 C=64 H=7 W=7",
        "2,64,7,7",
    ),
    (
        "batchsize, num_channels, height, width = x.size()\nchannels_per_group = num_channels // groups\n"
        "x = x.view(batchsize, groups, channels_per_group, height, width)\nx = torch.transpose(x, 1, 2).contiguous()\n"
        "x = x.view(batchsize, num_channels, height, width)",
        *("1,116,28,28", "groups=2", "1,116,28,28"),
    ),
    ("x.view(B, T, n_head, C // n_head)", "x=2,5,768 n_head=12 B=2 T=5 C=768", "", "2,5,12,64"),
    ("(x * y).view(n * d, -1)", "x=12 y=12 n=2 d=3", "", "6,2"),
    ("x.view(3, -1)[:, n:].transpose(0, d)", "x=6,4 n=2 d=1", "", "6,3"),
    ("x.view(len(y), y.shape[0], -1) + b", "x=6,4 y=2 b=6", "", "2,2,6"),
    (
        "def __init__(self):\n    self.p = nn.Linear(4, 8)\ndef forward(self, x):\n    return self.p(x).flatten(1)",
        *("x=2,3,4", "", "2,24"),
    ),
    (
        "class Net(nn.Module):\n    def __init__(self, dim, out=8):\n        super().__init__()\n        self.h = 2\n"
        "        self.proj = nn.Linear(dim, out)\n\n    def forward(self, x):\n        y = self.proj(x)\n"
        "        return y.view(y.shape[0], -1, self.h)",
        *("x=2,3,4", "dim=4", "2,12,2"),
    ),
    (
        "with torch.no_grad():\n    out = x.mean(dim=(2, 3))\n    out = out.unsqueeze(-1).unsqueeze(-1)",
        "x=2,64,7,7",
        "",
        "2,64,1,1",
    ),
]


def sizes_of(where):
    """Return the sizes and the lists of sizes that `a=2 b=2,3` gives, by name."""
    every = {name: read_shape(sizes) for name, _, sizes in (each.partition("=") for each in where.split())}
    return {name: sizes[0] if len(sizes) == 1 else sizes for name, sizes in every.items()}


@pytest.mark.parametrize(("code", "inputs", "where", "expected"), PASTED, ids=range(len(PASTED)))
def test_code_as_it_is_pasted_is_answered(code, inputs, where, expected):
    found = read_code(cleaned(code), shapes_of(inputs), None, sizes_of(where))
    answer = answer_chain(found.shape, found.stages, {})
    assert re.split(" (?:assuming|when|unless|with) ", described(answer))[0] == expected


COMMENTS = [
    # code, the shape, what is said of its comments
    (
        "x = x.transpose(1, 2)  # B,T,C",
        "B,T,C",
        ["line 1, the comment: B,C,T is not B,T,C: dim 1 is C, and T stands for itself"],
    ),
    ("x = x.view(B, T, h, -1)  # (B, nh, T, hs)\ny = x.transpose(1, 2)  # (B, nh, T, hs)", "2,3,8", ["line 2"]),
    ("q, k = x.chunk(2, -1)  # each: [B, T, C]\nq = q.flatten(1)  # -> (B, T*C)", "2,3,8", []),
    ("x.flatten(1)  # shape: 2,12 as above", "2,3,4", []),
    ("x.flatten(1)  # shape: 2, 13", "2,3,4", ["line 1, the comment: 2,12 is not 2,13"]),
    ("x.flatten(1)  # batch first, then all others", "2,3,4", []),
    ("y = self.head(x)\nx.flatten(1)", "x=2,3,4", ["passed over: 'self.head(x)': head is not known here"]),
    ("y = self.norm1(x).flatten(1)", "x=2,3,4", ["self.norm1(x) is read as keeping the shape"]),
    ("y = x.mean(dim=1).flatten(1)", "x=2,3,4,5", ["the chain begins behind x.mean(dim=1)"]),
]


@pytest.mark.parametrize(("code", "shape", "said"), COMMENTS, ids=range(len(COMMENTS)))
def test_what_differs_from_a_comment_or_is_passed_over_is_said(code, shape, said):
    notes = read_code(code, shapes_of(shape), None, {"B": 2, "T": 3, "h": 4} if "h, -1" in code else {}).notes
    assert len(notes) == len(said)
    assert all(note.startswith(begins) for note, begins in zip(notes, said, strict=True))


ASKED = [
    # code, the shapes, what is asked for in one line
    ("f(y).reshape(input.shape)", "f(y)=2,3", "--where input.shape=2,3,32,32 gives them"),
    ("x.reshape(new_shape)", "x=2,3", "--where new_shape=2,3,32,32"),
    ("x.reshape(*rest, 2)", "x=2,3", "--where rest=2,3,32,32"),
    ("x.view(2, -1)", "", "--input 'x=N,C,H,W'"),
    ("def f(x, y):\n    return x @ y", "x=2,3", "--input 'x=2,3 y=N,C,H,W'"),
    ("y = self.backbone(x)\ny.flatten(2)", "x=2,3", "--input 'x=2,3 self.backbone(x)=B,256,H,W'"),
    (
        "def forward(self, x):\n    return self.proj(x).flatten(1)",
        "x=2,3",
        "(paste its class, too, with __init__; or give its",
    ),
    ("class Net:\n    def forward(self, x):\n        return nn.Conv2d(3, 4, 1)(x)", "", "--input 'x=N,C,H,W'"),
    ("net = Net(3)\nnet(x).flatten(2)", "x=2,3", "--input 'x=2,3 net(x)=B,256,H,W'"),
    ("if self.fast:\n    x = x.T\nx.view(-1)", "x=2,3", "--where self.fast=0"),
    ('Traceback (most recent call last):\n  File "a.py", line 3', "x=2,3", "shapecalc doctor reads errors"),
    ("for epoch in range(9):\n    loss.backward()", "x=2,3", "this statement is not supported"),
]


@pytest.mark.parametrize(("code", "shapes", "said"), ASKED, ids=range(len(ASKED)))
def test_what_is_lacking_is_asked_for_in_one_line(code, shapes, said):
    with pytest.raises(ShapeError) as caught:
        read_code(code, shapes_of(shapes))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)

"""Lines of code as shapecalc reads them against the same lines, run by the library on an array."""

from __future__ import annotations

import numpy as np
import pytest

from shapecalc.core.code import read_code
from shapecalc.core.fixing import answer_chain
from shapecalc.core.problem import ShapeError
from shapecalc.engine.execute import run

BOTH = [
    ("x.reshape(2, -1)", (2, 3, 4)),
    ("x.reshape(x.shape[0], -1)[:, None]", (2, 3, 4)),
    ("x.swapaxes(0, 2)[1:, ::2]", (2, 3, 4)),
    ("x.T", (2, 3)),
    ("x[..., None, 0]", (2, 3, 4)),
    ("x[0, 1, None]", (2, 3, 4)),
    ("x[:, -1]", (2, 3)),
    ("x[5]", (2, 3)),
    ("x.reshape(5, -1)", (2, 3, 4)),
    ("x.squeeze()", (1, 2, 1)),
]
NUMPY = [
    ("np.transpose(x, (2, 0, 1))", (2, 3, 4)),
    ("x.transpose(1, 2, 0).ravel()", (2, 3, 4)),
    ("x.transpose((1, 0))", (2, 3)),
    ("np.moveaxis(x, (0, 1), (2, 0))", (2, 3, 4)),
    ("np.tile(x, (2, 1, 3))", (2, 3)),
    ("np.tile(x, 2)", (2, 3)),
    ("np.repeat(x, 2)", (2, 3)),
    ("x.repeat(3, axis=1)", (2, 3)),
    ("np.expand_dims(x, (0, -1))", (2, 3)),
    ("np.broadcast_to(x, (4, 2, 3))", (2, 3)),
    ("np.split(x, 3, axis=1)[2]", (2, 6)),
    ("np.flip(x, 0)", (2, 3)),
    ("np.roll(x, (1, -1), (0, 1))", (2, 3)),
    ("np.swapaxes(x, 0, 1).reshape((6,))", (2, 3)),
    ("np.squeeze(x, axis=1)", (1, 2, 1)),
]
TORCH = [
    ("x.view(2, -1).t()", (2, 3, 4)),
    ("x.transpose(1, 2).view(2, -1)", (2, 3, 4)),
    ("x.transpose(0, 1).view(3, 2, 2, 2)", (2, 3, 4)),
    ("x.transpose(1, 2).contiguous().view(2, -1)", (2, 3, 4)),
    ("x.permute(dims=(2, 0, 1)).unsqueeze(-1)", (2, 3, 4)),
    ("torch.flatten(x, 0, 1)", (2, 3, 4)),
    ("x.mT.flatten(1)", (2, 3, 4)),
    ("x.t()", (2, 3, 4)),
    ("x.repeat(2, 1, 3)", (2, 3)),
    ("x.repeat(2)", (2, 3)),
    ("x.repeat_interleave(2, dim=1)", (2, 3)),
    ("x.repeat_interleave(2)", (2, 3)),
    ("torch.tile(x, (2,))", (2, 3)),
    ("x.expand(3, -1, 4)", (2, 1)),
    ("x.expand(3, 4)", (2, 1)),
    ("x.unflatten(1, (2, -1))", (2, 6)),
    ("x.unflatten(-1, (3, 3))", (2, 6)),
    ("F.pixel_shuffle(x, 2)", (1, 8, 2, 2)),
    ("nn.PixelUnshuffle(2)(x)", (1, 2, 4, 6)),
    ("nn.Flatten()(x)", (2, 3, 4)),
    ("x.chunk(3, dim=-1)[1]", (2, 6)),
    ("x.split(3, dim=1)[1]", (2, 6)),
    ("x.unbind(0)[1].T", (2, 3, 4)),
    ("torch.movedim(x, (0, 1), (2, 0))", (2, 3, 4)),
    ("x.squeeze(1)", (1, 2, 1)),
    ("x.squeeze((0, 2))", (1, 2, 1)),
    ("torch.roll(x, shifts=(1, -1), dims=(0, 1))", (2, 3)),
    ("x.view(*x.size()[:-1], 2, x.size(-1) // 2).permute(0, 2, 1, 3)", (2, 3, 4)),
    ("x.select(1, 2)", (2, 3, 4)),
    ("x.permute(0, 1, 2)", (2, 3)),
    ("x.expand(2, 3).view(6)", (2, 1)),
    ("x.unsqueeze(-1).expand(-1, -1, 2).view(6, 2)", (2, 3)),
    ("x[:, :2].view(-1)", (2, 3)),
    ("x[:, :, ::2].view(2, 6)", (2, 3, 4)),
    ("x[:, 0].view(2, 2, 2)", (2, 3, 4)),
    ("x[None].transpose(0, 1).view(2, 12)", (2, 3, 4)),
    ("x.chunk(2, 1)[1].view(-1)", (2, 4)),
    ("x.transpose(0, 1).clone().view(-1)", (2, 3)),
    ("x.transpose(0, 1).reshape(3, 2).view(-1)", (2, 3)),
    ("x.transpose(0, 2).flatten(1).view(-1)", (2, 3, 4)),
    ("x.flip(0).view(-1)", (2, 3)),
]


def answered(line, shape, names):
    """Return the answer to a line; None if it is refused, as it is read or by a rule."""
    try:
        read = read_code(line, {"x": shape}, None if "torch" in names else "numpy")
    except ShapeError:
        return None
    answer = answer_chain(read.shape, read.stages, {})
    return None if answer.problem else answer


def check(line, shape, array, names):
    """The chain that the line is gives the library's elements, or both refuse."""
    try:
        expected = np.asarray(eval(line, {"x": array, **names}))  # the lines above, and no others
    except (ValueError, IndexError, RuntimeError):
        expected = None
    if expected is None:
        assert answered(line, shape, names) is None
    else:
        answer = answered(line, shape, names)
        assert np.array_equal(run(answer, np.asarray(array)).array, expected)


@pytest.mark.parametrize(("line", "shape"), BOTH + NUMPY)
def test_numpy_does_what_the_line_says(line, shape):
    check(line, shape, np.arange(np.prod(shape)).reshape(shape), {"np": np})


@pytest.mark.parametrize(("line", "shape"), BOTH + TORCH)
def test_torch_does_what_the_line_says(line, shape):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    names = {"torch": torch, "F": torch.nn.functional, "nn": torch.nn}
    check(line, shape, torch.arange(int(np.prod(shape))).reshape(shape), names)

"""The strides of PyTorch's results: drawn code, and the recorded rows of `tests/cases/strides.txt`."""

from __future__ import annotations

from importlib import import_module
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import rows as case_rows
from tests.engines.drawing import rows
from tests.reading.test_strides import strides_of
from tests.sampling import each_row

torch = pytest.importorskip("torch", reason="torch is not installed")
NAMES = {"torch": torch, "nn": import_module("torch.nn"), "F": import_module("torch.nn.functional")}
STEPS = [(step, {int(rank) for rank in ranks}) for ranks, step in rows("strided")]
MOST_ELEMENTS = 20_000


def torch_result(code, inputs):
    """Return the value of `y` after running code; None if PyTorch refuses it."""
    names = NAMES | {name: torch.rand(shape) for name, shape in inputs.items()}
    try:
        exec(code, names)  # code of a table
    except (RuntimeError, IndexError, ValueError):
        return None
    return names["y"]


@st.composite
def programs(draw):
    """Draw lines of code that PyTorch runs, with their inputs; the last line may be refused."""
    shape = draw(st.lists(st.sampled_from([1, 2, 2, 3, 4, 4, 6]), min_size=1, max_size=5).map(tuple))
    lines, inputs, result = ["y = x.view(*x.shape)"], {"x": shape}, torch.rand(shape)
    for number in range(draw(st.integers(1, 6))):
        rank = result.dim()
        choices = [step for step, ranks in STEPS if rank in ranks]
        if not choices or result.numel() > MOST_ELEMENTS:
            break
        step = draw(st.sampled_from(choices))
        axis, other = draw(st.integers(0, rank - 1)), draw(st.integers(0, rank - 1))
        order = draw(st.permutations(range(rank)))
        channels = result.shape[1] if rank > 1 else 1
        size = result.shape[axis]
        if "w" in step.replace("where", ""):
            dims = [dim if draw(st.booleans()) else 1 for dim in result.shape][draw(st.integers(0, rank - 1)) :]
            turned = draw(st.permutations(range(len(dims))))
            inputs[f"w{number}"] = tuple(dims[turned.index(place)] for place in range(len(dims)))
            lines.append(f"w = w{number}.permute({', '.join(map(str, turned))})")
        line = "y = " + step.format(
            a=axis, b=other, size=size, channels=channels, rank=rank, order=", ".join(map(str, order))
        )
        following = torch_result("\n".join([*lines, line]), inputs)
        lines.append(line)
        if following is None or not following.numel():
            break
        result = following
    return "\n".join(lines), inputs


@given(programs())
@settings(max_examples=300)
def test_strides_of_drawn_code_are_those_of_torch(program):
    """Dims of 1 may have other strides, which no view depends on; a view that PyTorch refuses is refused."""
    code, inputs = program
    result, strides = torch_result(code, inputs), strides_of(code, inputs)
    if result is None:
        assert ".view(" not in code.splitlines()[-1] or strides is None
    elif strides is not None and prod(result.shape):
        expected = [stride for stride, dim in zip(result.stride(), result.shape, strict=True) if dim != 1]
        assert [stride for stride, dim in zip(strides, result.shape, strict=True) if dim != 1] == expected


@each_row(("code", "inputs", "expected"), case_rows("strides", "PyTorch 2.13"))
def test_recorded_strides_are_those_of_torch(code, inputs, expected):
    shapes = {name: tuple(map(int, dims.split(","))) for name, dims in (item.split("=") for item in inputs.split())}
    result = torch_result(f"y = {code}", shapes)
    assert ("refused" if result is None else ",".join(map(str, result.stride()))) == expected

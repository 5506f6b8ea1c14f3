"""The number of parameters of layers, beside PyTorch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapecalc.reading.code.parameter_counts import COUNTED_LAYERS, LAYERS_WITHOUT_PARAMETERS, count_parameters

VALUES = {
    "bias": st.booleans(),
    "affine": st.booleans(),
    "elementwise_affine": st.booleans(),
    "bidirectional": st.booleans(),
    "add_bias_kv": st.booleans(),
    "num_layers": st.integers(1, 3),
    "groups": st.sampled_from([1, 2]),
    "num_groups": st.just(2),
    "num_heads": st.just(2),
    "kdim": st.none() | st.integers(1, 5),
    "vdim": st.none() | st.integers(1, 5),
    "hidden_size": st.just(4),
    "proj_size": st.sampled_from([0, 2]),
    "kernel_size": st.integers(1, 3),
}
"""The values to draw for an argument; a size that is not listed is 2, 4 or 6."""
SIZES = ("features", "channels", "embed", "input_size", "normalized", "parameters")


def draw_arguments(data, layer):
    """Return arguments of a layer by name: all sizes, and some of the others."""
    names = COUNTED_LAYERS[layer].names
    sizes = [name for name in names if any(part in name for part in SIZES)]
    drawn = {name: data.draw(st.sampled_from([2, 4, 6]), label=name) for name in sizes}
    for name in names:
        if name in VALUES and (
            name in ("kernel_size", "hidden_size", "num_groups", "num_heads") or data.draw(st.booleans())
        ):
            drawn[name] = data.draw(VALUES[name], label=name)
    if layer in ("RNN", "GRU"):
        drawn.pop("proj_size", None)
    return drawn


@pytest.mark.parametrize("layer", sorted(COUNTED_LAYERS))
@given(data=st.data())
def test_count_parameters_equals_pytorch(layer, data):
    nn = pytest.importorskip("torch.nn", reason="torch is not installed")
    arguments = draw_arguments(data, layer)
    expected = sum(parameter.numel() for parameter in getattr(nn, layer)(**arguments).parameters())
    assert count_parameters(layer, (), arguments) == expected


def test_layers_without_parameters_exist():
    nn = pytest.importorskip("torch.nn", reason="torch is not installed")
    assert all(hasattr(nn, layer) for layer in LAYERS_WITHOUT_PARAMETERS)


def test_count_parameters_binds_positions():
    assert count_parameters("Conv2d", (4, 8, (3, 5), 1, 0, 1, 2), {}) == 8 * 2 * 15 + 8
    assert count_parameters("Unknown", (), {}) is None

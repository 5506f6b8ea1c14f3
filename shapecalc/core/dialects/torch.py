"""PyTorch: 0 is a size, and -1 is the only value that is inferred."""

from __future__ import annotations

from shapecalc.core.dialects import base

TORCH = base.Dialect(
    name="torch",
    aliases=("pt", "pytorch"),
    source="PyTorch reference, and PyTorch 2.13.0",
    operators=base.named("reshape flatten squeeze unsqueeze expand shape", transpose="permute"),
    readings={None: base.Reading(base.Zero.LITERAL)},
    negative_perm=True,
    not_one=base.NotOne.LEFT_ALONE,
    scalar_axis=True,
    flattens=base.Flattens.RANGE,
    broadcast=base.Broadcast.ONE_WAY_KEEPS,
    tile_repeats=base.TileRepeats.AT_LEAST,
    slices_backwards=False,
    windows=base.Windows(
        "numbers same:conv valid:conv", (1, 3), unbatched=True, symmetric=True, kernel_steps=True, empty=False
    ),
    left_over=base.LeftOver.FEWER,
    splits_by_size=True,
    splits_unevenly=True,
    types=base.SINCE_19 - {"string"} | {"float8_e8m0fnu"},
    spellings={"float": "float32", "double": "float64", "half": "float16", "int": "int32", "long": "int64"}
    | {"short": "int16", "cfloat": "complex64", "cdouble": "complex128"},
    prefix="torch.",
    note="transpose without a permutation is Tensor.T",
)

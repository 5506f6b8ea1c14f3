"""Shuffle: transpose, reshape and transpose again, as a TensorRT Shuffle layer does."""

from __future__ import annotations

from collections.abc import Callable

from shapecalc.core.answers import EMPTY_DICT, StageBuilder, StageKind, Stages, run_stages
from shapecalc.core.dialects.base import Param, ParamType, RequestRules
from shapecalc.core.dims import Axes, Shape
from shapecalc.core.ops.op import Op, make_test_vectors
from shapecalc.core.ops.reshape import reshape
from shapecalc.core.ops.transpose import PERM_HELP, TRANSPOSE_SEMANTICS, normalize_permutation, transpose
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import replace


def shuffle(
    shape: Shape, rules: RequestRules, first: Axes | None = None, to: Shape | None = None, second: Axes | None = None
) -> Stages:
    """Transpose, reshape and transpose again, as a TensorRT Shuffle layer does.

    Each stage is optional. A 0 in `to` copies a dim of the first transpose's output. Both permutations are checked
    before the reshape. Source: TensorRT Shuffle ("first transposes the tensor, then reshapes it, and finally applies
    another transpose"). Raises the errors of `transpose` and `reshape`.
    """
    runs: list[Callable[[Shape], Stages]] = []
    if first is not None:
        runs.append(lambda before: transpose(before, rules, first, "first", "first"))
    if to is not None:
        runs.append(lambda before: reshape(before, rules, to, "to", "to"))
    if second is not None:
        runs.append(lambda before: transpose(before, rules, second, "second", "second"))
    try:
        perms = (("first", first, len(shape)), ("second", second, len(shape if to is None else to)))
        for label, perm, rank in () if second is None else perms:  # `first` is checked by the transpose itself
            if perm is not None:
                with StageBuilder(StageKind.PERMUTE, label, label, shape, perm):
                    normalize_permutation(perm, rank, rules, label)
        return run_stages(shape, *runs)
    except ShapeError as error:  # the message must contain the option of the invalid list
        part = f"--{error.problem.argument}: " if error.problem.argument in ("first", "to", "second") else ""
        raise ShapeError(replace(error.problem, message=part + error.problem.message), stages=error.stages) from None


SHUFFLE = Op(
    name="shuffle",
    summary="Transpose, reshape, transpose: TensorRT's Shuffle.",
    params=(
        Param("first", ParamType.PERM, f"the first transpose: {PERM_HELP}", positional_or_named=True),
        Param(
            "to",
            ParamType.TARGET,
            "the requested shape of the reshape; the dialect defines the meaning of 0 and -1",
            positional_or_named=True,
        ),
        Param("second", ParamType.AXES, f"the second transpose: {PERM_HELP}", positional_or_named=True),
    ),
    resolve=shuffle,
    operators=EMPTY_DICT,
    printed_names="shuffle",
    examples=(
        "shuffle 2,3,4 --first 1,0,2 --to 2,-1,3",
        "shuffle N,C,H,W --to 0,0,-1 --second 0,2,1",
        "shuffle 3,4 --first 1,0 --to 0,-1 --explain",
    ),
    vectors=make_test_vectors(
        "first to second",
        ("2,3,4", "1,0,2 2,-1,3", "1,2,0", "_ _ 1,2,0", "_ 6,4 1,0", "", "1,0", "_ 5,-1", "_ 6,4 1,0,2"),
        ("3,4", "1,0 0,-1"),
        ("1,1,6", "_ 6,0"),
        ("6", "_ 6,0"),
        ("0,3,4", "_ 5,-1", "_ 0,-1"),
        ("0,3", "_ 5,0"),
        ("N,C,H,W", "_ 0,0,-1 0,2,1"),
    ),
    uses_switch=True,
    default_dialect="tensorrt",
    semantics=(TRANSPOSE_SEMANTICS,),
)

"""NumPy and PyTorch code: methods of `x`. A size that a 0 copies is read from the tensor itself."""

from __future__ import annotations

from typing import assert_never

from shapecalc.core.answers.moves import Permute, Slice
from shapecalc.core.answers.stage import Kind, Stage
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.dialect import Flattens
from shapecalc.core.dialects.limits import check_rank
from shapecalc.core.sizes.record import Record, replace
from shapecalc.view.code import Code
from shapecalc.view.code.sizes import open_names, size_text
from shapecalc.view.code.slices import Kept, kept_axes, roll_of, split_axis, turned
from shapecalc.view.code.written import (
    WrittenDim,
    drops_every_one,
    empty_warnings,
    general_warnings,
    inserted_axes,
    shape_after,
    stages_of,
    title,
    written_dims,
)
from shapecalc.view.layout import dropped_axes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from shapecalc.core.answers.trace import Chain, Trace
    from shapecalc.core.sizes.dims import Shape


class Place(Record):
    """The place of a stage in the program: the name of its tensor, and the shape of `x`."""

    tensor: str
    input: Shape


def numpy(answer: Trace | Chain) -> Code:
    """Return NumPy code; raise `ShapeError` for more dims than NumPy has, or a name that code cannot have."""
    return _program(answer, "numpy", {"np": "import numpy as np", "math": "import math"}, _numpy_call)


def torch(answer: Trace | Chain) -> Code:
    """Return PyTorch code; raise `ShapeError` for more dims than PyTorch has, or a name that code cannot have."""
    return _program(answer, "torch", {"torch": "import torch", "math": "import math"}, _torch_call)


def _program(
    answer: Trace | Chain,
    target: str,
    modules: Mapping[str, str],
    call: Callable[[Trace, Stage, Place], str],
) -> Code:
    """Return one line for each stage that does something."""
    place, lines = Place("x", answer.input), list[str]()
    for trace, stage in stages_of(answer):
        check_rank(stage.before, DIALECTS[target], "input")
        check_rank(shape_after(stage), DIALECTS[target], "input")
        line = call(trace, stage, place)
        if line != place.tensor:
            lines.append(f"y = {line}")
            place = replace(place, tensor="y")
    lines = lines or ["y = x"]
    imports = sorted(line for name, line in modules.items() if any(f"{name}." in line for line in lines))
    warnings = (*general_warnings(answer, target), *empty_warnings(answer, target), *_open_name_warnings(answer))
    return Code("\n".join([*imports, title(answer), *lines]), warnings)


def _numpy_call(_trace: Trace, stage: Stage, place: Place) -> str:
    """Return the NumPy expression for a stage."""
    tensor = place.tensor
    match stage.kind:
        case Kind.PERMUTE:
            return f"{tensor}.transpose({_arguments(_axes(stage))})"
        case Kind.RESHAPE | Kind.VIEW | Kind.MERGE:
            return _reshape(stage, place)
        case Kind.SQUEEZE:
            return _squeeze(stage, place)
        case Kind.UNSQUEEZE:
            return f"np.expand_dims({tensor}, {_tuple(inserted_axes(stage))})"
        case Kind.EXPAND:
            return f"np.broadcast_to({tensor}, {_tuple(_sizes(stage, place))})"
        case Kind.SELECT | Kind.SLICE | Kind.SPLIT | Kind.FLIP | Kind.ROLL:
            return _numpy_positions(stage, tensor)
        case Kind.SHAPE:
            return f"np.array({_dims(stage, place)}, dtype=np.int64)"
        case _:
            assert_never(stage.kind)


def _torch_call(trace: Trace, stage: Stage, place: Place) -> str:
    """Return the PyTorch expression for a stage."""
    tensor = place.tensor
    match stage.kind:
        case Kind.PERMUTE:
            return f"{tensor}.permute({_arguments(_axes(stage))})"
        case Kind.RESHAPE | Kind.VIEW:
            return _reshape(stage, place, method="view" if stage.kind is Kind.VIEW else "reshape")
        case Kind.MERGE:
            return _flatten(trace, stage, place)
        case Kind.SQUEEZE:
            return _squeeze(stage, place)
        case Kind.UNSQUEEZE:
            return tensor + "".join(f".unsqueeze({axis})" for axis in inserted_axes(stage))
        case Kind.EXPAND:
            return f"{tensor}.expand({_arguments(_sizes(stage, place, kept='-1'))})"
        case Kind.SELECT | Kind.SLICE | Kind.SPLIT | Kind.FLIP | Kind.ROLL:
            return _torch_positions(stage, tensor)
        case Kind.SHAPE:
            return f"torch.tensor({_dims(stage, place)}, dtype=torch.int64)"
        case _:
            assert_never(stage.kind)


def _open_name_warnings(answer: Trace | Chain) -> list[str]:
    """Return the warnings about names that the program must be given."""
    written = [
        dim.value
        for _, stage in stages_of(answer)
        if stage.kind in (Kind.RESHAPE, Kind.VIEW, Kind.EXPAND)
        for dim in written_dims(stage)
        if dim.axes is None and not dim.inferred
    ]
    return [f"{name} is a size that the code must be given" for name in open_names(written, answer.input)]


def _arguments(texts: Iterable[object]) -> str:
    """Return arguments, or `()` if there are none: a call without arguments would mean something else."""
    return ", ".join(map(str, texts)) or "()"


def _tuple(texts: Iterable[object]) -> str:
    items = list(map(str, texts))
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def _axes(stage: Stage) -> tuple[int, ...]:
    assert isinstance(stage.move, Permute)
    return stage.move.axes


def _sizes(stage: Stage, place: Place, kept: str = "") -> list[str]:
    """Return the dims to ask for. `kept` is the call's sign for a dim that the tensor has, if it knows one."""
    return [_size(dim, place, kept) for dim in written_dims(stage)]


def _size(dim: WrittenDim, place: Place, kept: str) -> str:
    if dim.inferred:
        return "-1"
    if dim.axes is None:
        return size_text(dim.value, place.input)
    if len(dim.axes) == 1:
        return kept or f"{place.tensor}.shape[{dim.axes[0]}]"
    if not dim.axes:
        return "1"
    return f"math.prod({place.tensor}.shape[{dim.axes[0]}:{dim.axes[-1] + 1}])"


def _reshape(stage: Stage, place: Place, method: str = "reshape") -> str:
    return f"{place.tensor}.{method}({_arguments(_sizes(stage, place))})"


def _squeeze(stage: Stage, place: Place) -> str:
    if drops_every_one(stage):
        return f"{place.tensor}.squeeze()"
    axes = dropped_axes(stage)
    return f"{place.tensor}.squeeze({_tuple(axes)})" if axes else place.tensor


def _indexed(tensor: str, kept: Iterable[Kept]) -> str:
    """Return the expression that keeps these positions; axes at the end that stay whole are not written."""
    texts = [str(each) for each in kept]
    while texts and texts[-1] == ":":
        texts.pop()
    return f"{tensor}[{', '.join(texts)}]" if texts else tensor


def _numpy_positions(stage: Stage, tensor: str) -> str:
    """Return the NumPy expression that keeps or moves positions of axes."""
    if stage.kind is Kind.SPLIT:
        axis, parts, part = split_axis(stage)
        return f"np.split({tensor}, {parts}, {axis})[{part}]"
    if stage.kind is Kind.ROLL:
        return f"np.roll({tensor}, {roll_of(stage).shift}, {roll_of(stage).axis})"
    return _indexed(tensor, kept_axes(stage))


def _torch_positions(stage: Stage, tensor: str) -> str:
    """Return the PyTorch expression that keeps or moves positions of axes. No slice goes backwards: a flip does."""
    if stage.kind is Kind.SPLIT:
        axis, parts, part = split_axis(stage)
        return f"{tensor}.chunk({parts}, {axis})[{part}]"
    if stage.kind is Kind.ROLL:
        return f"{tensor}.roll({roll_of(stage).shift}, {roll_of(stage).axis})"
    kept = kept_axes(stage)
    back = [each.axis for each in kept if each.step < 0]
    flipped = f"{tensor}.flip({_arguments(back)})" if back else tensor
    return _indexed(flipped, [turned(each, stage.before[each.axis]) if each.step < 0 else each for each in kept])


def _dims(stage: Stage, place: Place) -> str:
    assert isinstance(stage.move, Slice)
    return f"{place.tensor}.shape[{stage.move.start}:{stage.move.end}]"


def _flatten(trace: Trace, stage: Stage, place: Place) -> str:
    """Return PyTorch's own flatten if it was asked for and axes merge in one place, otherwise a reshape."""
    dims = written_dims(stage)
    merging = [dim for dim in dims if len(dim.axes or ()) > 1]
    if DIALECTS[trace.dialect].flattens is not Flattens.RANGE or len(merging) > 1:
        return _reshape(stage, place)
    first, widest = max(enumerate(dims), key=lambda at: len(at[1].axes or ()))
    return f"{place.tensor}.flatten({first}, {first + max(1, len(widest.axes or ())) - 1})"

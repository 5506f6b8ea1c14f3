"""NumPy and PyTorch code: methods of `x`, with the sizes that 0 copies read from the tensor itself."""

from __future__ import annotations

from shapecalc.core.limits import check_rank
from shapecalc.core.record import Record
from shapecalc.core.rules import DIALECTS, Flattens
from shapecalc.core.trace import Permute, Slice
from shapecalc.view.code import Code
from shapecalc.view.code.actions import (
    Action,
    Entry,
    actions,
    dropped,
    drops_every_one,
    entries,
    general_warnings,
    inserted,
    title,
    written_out,
)
from shapecalc.view.code.sizes import left_open, size_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from shapecalc.core.dims import Shape
    from shapecalc.core.trace import Chain, Trace


class Place(Record):
    """Where an action stands in the program: what its tensor is called, and the shape of `x`."""

    tensor: str
    input: Shape


def numpy(answer: Trace | Chain) -> Code:
    """Return NumPy code."""
    return _program(answer, "numpy", {"np": "import numpy as np", "math": "import math"}, NUMPY)


def torch(answer: Trace | Chain) -> Code:
    """Return PyTorch code."""
    return _program(answer, "torch", {"torch": "import torch", "math": "import math"}, TORCH)


def _program(
    answer: Trace | Chain,
    target: str,
    modules: Mapping[str, str],
    calls: Mapping[str, Callable[[Action, Place], str]],
) -> Code:
    """Return one line for each action that does something."""
    place, lines = Place("x", answer.input), list[str]()
    for action in actions(answer):
        check_rank(action.shape, DIALECTS[target], "input")
        check_rank(action.output, DIALECTS[target], "input")
        call = calls[action.kind](action, place)
        if call != place.tensor:
            lines.append(f"y = {call}")
            place = place._replace(tensor="y")
    lines = lines or ["y = x"]
    imports = sorted(line for name, line in modules.items() if any(f"{name}." in line for line in lines))
    warnings = (*general_warnings(answer, target), *written_out(answer, target), *_open(answer))
    return Code("\n".join([*imports, title(answer), *lines]), warnings)


def _open(answer: Trace | Chain) -> list[str]:
    """Return the warnings about names that the program must be given."""
    written = [
        entry.value
        for action in actions(answer)
        if action.kind in ("reshape", "expand")
        for entry in entries(action)
        if entry.axes is None and not entry.inferred
    ]
    return [f"{name} is a size that the code must be given" for name in left_open(written, answer.input)]


def _listed(texts: Iterable[object]) -> str:
    """Return arguments; an empty tuple where there are none, which a call without any would not mean."""
    return ", ".join(map(str, texts)) or "()"


def _tuple(texts: Iterable[object]) -> str:
    listed = list(map(str, texts))
    return f"({listed[0]},)" if len(listed) == 1 else f"({', '.join(listed)})"


def _permuted(action: Action) -> tuple[int, ...]:
    assert isinstance(action.last.move, Permute)
    return action.last.move.axes


def _sizes(action: Action, place: Place, kept: str = "") -> list[str]:
    """Return the dims to ask for; `kept` stands for one that the tensor has, where the call knows a sign for it."""
    return [_size(entry, place, kept) for entry in entries(action)]


def _size(entry: Entry, place: Place, kept: str) -> str:
    if entry.inferred:
        return "-1"
    if entry.axes is None:
        return size_text(entry.value, place.input)
    if len(entry.axes) == 1:
        return kept or f"{place.tensor}.shape[{entry.axes[0]}]"
    if not entry.axes:
        return "1"
    return f"math.prod({place.tensor}.shape[{entry.axes[0]}:{entry.axes[-1] + 1}])"


def _reshaped(action: Action, place: Place) -> str:
    return f"{place.tensor}.reshape({_listed(_sizes(action, place))})"


def _squeezed(action: Action, place: Place) -> str:
    if drops_every_one(action):
        return f"{place.tensor}.squeeze()"
    axes = dropped(action)
    return f"{place.tensor}.squeeze({_tuple(axes)})" if axes else place.tensor


def _dims(action: Action, place: Place) -> str:
    assert isinstance(action.last.move, Slice)
    return f"{place.tensor}.shape[{action.last.move.start}:{action.last.move.end}]"


def _flattened(action: Action, place: Place) -> str:
    """Return PyTorch's own flatten where it was asked for, else a reshape."""
    if DIALECTS[action.trace.dialect].flattens is not Flattens.RANGE:
        return _reshaped(action, place)
    first, merged = max(enumerate(entries(action)), key=lambda at: len(at[1].axes or ()))
    return f"{place.tensor}.flatten({first}, {first + max(1, len(merged.axes or ())) - 1})"


NUMPY: Mapping[str, Callable[[Action, Place], str]] = {
    "transpose": lambda action, place: f"{place.tensor}.transpose({_listed(_permuted(action))})",
    "reshape": _reshaped,
    "flatten": _reshaped,
    "squeeze": _squeezed,
    "unsqueeze": lambda action, place: f"np.expand_dims({place.tensor}, {_tuple(inserted(action))})",
    "expand": lambda action, place: f"np.broadcast_to({place.tensor}, {_tuple(_sizes(action, place))})",
    "shape": lambda action, place: f"np.array({_dims(action, place)}, dtype=np.int64)",
}

TORCH: Mapping[str, Callable[[Action, Place], str]] = {
    "transpose": lambda action, place: f"{place.tensor}.permute({_listed(_permuted(action))})",
    "reshape": _reshaped,
    "flatten": _flattened,
    "squeeze": _squeezed,
    "unsqueeze": lambda action, place: place.tensor + "".join(f".unsqueeze({axis})" for axis in inserted(action)),
    "expand": lambda action, place: f"{place.tensor}.expand({_listed(_sizes(action, place, kept='-1'))})",
    "shape": lambda action, place: f"torch.tensor({_dims(action, place)}, dtype=torch.int64)",
}

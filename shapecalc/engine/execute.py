"""Carrying an answer out on an array: with views if they are enough, otherwise with as few copies as possible."""

from __future__ import annotations

from typing import Any

from numpy import ndarray

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.dims import Shape
from shapecalc.core.moves import Move, Permute, Slice
from shapecalc.core.problem import ShapeError, misuse
from shapecalc.core.text import shape_text
from shapecalc.engine.backends import NUMPY, Backend, backend_for
from shapecalc.engine.copying import copy_for
from shapecalc.engine.plan import Plan, concrete_moves, plan_moves

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    _Ready = tuple[Trace | Chain, Shape, tuple[Move, ...], Callable[[Any], Any]]
    """An answer, kept so that no other gets its identity; its input shape, its moves, and what carries them out."""

SMALL = 1 << 18
"""Up to this many bytes, NumPy's own moves are as fast as a plan, although they may copy twice."""
MOST_READY = 256
"""How many answers are kept ready, each for arrays of one layout."""


class Result:
    """An array, and the moves that made it.

    It is no `Record`, because `run` fills it in place and because arrays do not compare as one value.
    """

    __slots__ = ("array", "backend", "moves", "source")

    array: Any
    moves: tuple[Move, ...]
    source: Any
    backend: str
    """The backend that moved the data: `numpy` or `cupy`."""

    @property
    def plan(self) -> Plan:
        """The views and copies that make the moves on the source's strides."""
        return plan_moves(self.moves, self.source.shape, self.source.strides, self.source.itemsize)


def run(answer: Trace | Chain, array: Any, backend: str = "auto", *, contiguous: bool = False) -> Result:
    """Carry an answer out on an array of its input shape.

    The result is a view of `array` if possible, otherwise a new array. With `contiguous` it is C-contiguous.
    A subclass, such as a masked array, is read as its plain elements. The result of op `shape` is a vector of
    the dims, of type int64. Raises `ShapeError` (usage) for an array of another shape and for an answer that is
    not concrete. Raises `BackendError` for a backend that cannot be used.

    >>> import numpy as np, shapecalc as sc
    >>> result = run(sc.transpose((2, 3)), np.arange(6).reshape(2, 3))
    >>> result.array.tolist(), result.plan.verdict
    ([[0, 3], [1, 4], [2, 5]], 'view')
    """
    result = Result()
    if backend == "auto" and type(array) is ndarray:
        key = id(answer), array.dtype, contiguous, array.flags.c_contiguous or array.strides
        _, shape, moves, make = _READY.get(key) or _ready(key, answer, array)
        if array.shape != shape:
            raise shape_mismatch(answer.input, array.shape)
        result.array, result.moves, result.source, result.backend = make(array), moves, array, "numpy"
        return result
    used = backend_for(array, backend)
    with used.device_of(array):
        result.source, result.backend = used.asarray(array), used.name
        result.moves = _checked_moves(answer, result.source)
        result.array = _moved(answer, result.moves, result.source, used, contiguous)
    return result


_READY: dict[tuple[object, ...], _Ready] = {}


def _ready(key: tuple[object, ...], answer: Trace | Chain, array: Any) -> _Ready:
    """Return a new entry of `_READY`, for arrays of the layout of `array`."""
    moves = _checked_moves(answer, array)
    if len(_READY) >= MOST_READY:
        _READY.clear()
    _READY[key] = entry = answer, array.shape, moves, _maker(answer, moves, array, bool(key[2]))
    return entry


def _checked_moves(answer: Trace | Chain, array: Any) -> tuple[Move, ...]:
    """Return the moves of an answer; raise `ShapeError` (usage) if it or the array's shape does not allow them."""
    moves = concrete_moves(answer)
    if array.shape != answer.input:
        raise shape_mismatch(answer.input, array.shape)
    return moves


def _maker(answer: Trace | Chain, moves: tuple[Move, ...], array: Any, contiguous: bool) -> Callable[[Any], Any]:
    """Return what carries the moves out on NumPy arrays of the layout of `array`."""
    if len(moves) != 1 or type(moves[0]) is not Permute:
        return lambda array: _moved(answer, moves, array, NUMPY, contiguous)
    axes = moves[0].axes
    view = array.transpose(axes)
    if not contiguous or view.flags.c_contiguous:
        return lambda array: array.transpose(axes)
    copy = copy_for(view)
    return lambda array: copy(array.transpose(axes))


def _moved(answer: Trace | Chain, moves: tuple[Move, ...], source: Any, used: Backend, contiguous: bool) -> Any:
    """Return the array that the moves make of `source`."""
    if moves and type(moves[-1]) is Slice:
        moved = used.namespace.array(answer.output, dtype="int64")
    elif source.nbytes <= SMALL or all(type(move) is Permute for move in moves):
        moved = used.move(source, moves)
    else:
        moved = apply_plan(plan_moves(moves, source.shape, source.strides, source.itemsize), source, used)
    return used.copy(moved) if contiguous and not moved.flags.c_contiguous else moved


def shape_mismatch(expected: Shape, actual: tuple[int, ...]) -> ShapeError:
    """Return the error (usage) for an array of shape `actual` if the question is about shape `expected`."""
    return misuse(f"the array has shape {shape_text(actual)}, and the question is about {shape_text(expected)}")


def apply_plan(plan: Plan, source: Any, used: Backend) -> Any:
    """Return the array that a plan makes of `source`."""
    for copy in plan.copies:
        source = used.copy(used.view(source, copy.source), copy.roll)
    return used.view(source, plan.view)

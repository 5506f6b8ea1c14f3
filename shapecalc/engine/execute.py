"""Carrying an answer out on an array: with views if they are enough, otherwise with as few copies as possible."""

from __future__ import annotations

from typing import Any

import numpy as np

from shapecalc.core.answers.moves import Move, Permute, Slice
from shapecalc.core.answers.trace import Chain, Trace
from shapecalc.core.sizes.dims import Shape
from shapecalc.core.sizes.problem import ShapeError, misuse
from shapecalc.core.sizes.text import shape_text
from shapecalc.engine.backends import NUMPY, Backend, backend_for
from shapecalc.engine.plan import Plan, concrete_moves, plan_moves

SMALL = 1 << 18
"""Up to this many bytes, NumPy's own moves are as fast as a plan, although they may copy twice."""
TINY = 1 << 15
"""Up to this many bytes, a copy is done before a way to copy is found."""


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
    moves = answer.moves if answer.concrete else concrete_moves(answer)
    if backend == "auto" and type(array) is np.ndarray:
        return _result(answer, moves, array, NUMPY, contiguous)
    used = backend_for(array, backend)
    with used.device_of(array):
        return _result(answer, moves, used.asarray(array), used, contiguous)


def _result(answer: Trace | Chain, moves: tuple[Move, ...], source: Any, used: Backend, contiguous: bool) -> Result:
    if source.shape != answer.input:
        raise shape_mismatch(answer.input, source.shape)
    small = source.nbytes <= SMALL
    if moves and type(moves[-1]) is Slice:
        moved = used.namespace.array(answer.output, dtype="int64")
    elif small or all(type(move) is Permute for move in moves):
        moved = used.move(source, moves)
    else:
        moved = apply_plan(plan_moves(moves, source.shape, source.strides, source.itemsize), source, used)
    if contiguous and not moved.flags.c_contiguous:
        moved = moved.copy() if source.nbytes <= TINY else used.copy(moved)
    result = Result()
    result.array, result.moves, result.source, result.backend = moved, moves, source, used.name
    return result


def shape_mismatch(expected: Shape, actual: tuple[int, ...]) -> ShapeError:
    """Return the error (usage) for an array of shape `actual` if the question is about shape `expected`."""
    return misuse(f"the array has shape {shape_text(actual)}, and the question is about {shape_text(expected)}")


def apply_plan(plan: Plan, source: Any, used: Backend) -> Any:
    """Return the array that a plan makes of `source`."""
    for copy in plan.copies:
        source = used.copy(used.view(source, copy.source), copy.roll)
    return used.view(source, plan.view)

"""Carrying an answer out on an array: as views where they will do, else with as few copies as it takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from shapecalc.core.answers.moves import Move, Permute, Slice
from shapecalc.core.answers.trace import Chain, Trace
from shapecalc.core.sizes.dims import Shape
from shapecalc.core.sizes.problem import ShapeError, misuse
from shapecalc.core.sizes.text import shape_text
from shapecalc.engine.backends import NUMPY, Backend, backend_for
from shapecalc.engine.copying import SMALL
from shapecalc.engine.plan import Plan, concrete_moves, planned


class Result:
    """An array, and what it took to make it; `run` fills it, and arrays do not compare as one value."""

    __slots__ = ("array", "backend", "moves", "source")

    array: Any
    moves: tuple[Move, ...]
    source: Any
    backend: str
    """The backend that moved the data: `numpy` or `cupy`."""

    @property
    def plan(self) -> Plan:
        """The views and copies that the moves come down to on the source's strides."""
        return planned(self.moves, self.source.shape, self.source.strides, self.source.itemsize)


def run(answer: Trace | Chain, array: Any, backend: str = "auto", *, contiguous: bool = False) -> Result:
    """Carry an answer out on an array of its input shape.

    The result is a view of `array` where one will do, else new; `contiguous` asks for a C-contiguous one.
    Of a subclass, such as a masked array, the plain elements are taken.
    Of op `shape` it is the dims as a vector of int64. Raises `ShapeError` (usage) for an array of another
    shape and an answer that is not concrete, `BackendError` for a backend that cannot be had.

    >>> import numpy as np, shapecalc as sc
    >>> result = run(sc.transpose((2, 3)), np.arange(6).reshape(2, 3))
    >>> result.array.tolist(), result.plan.verdict
    ([[0, 3], [1, 4], [2, 5]], 'view')
    """
    moves = answer.moves if answer.concrete else concrete_moves(answer)
    used, source = NUMPY, array
    if backend != "auto" or type(array) is not np.ndarray:
        used = backend_for(array, backend)
        source = used.asarray(array)
    if source.shape != answer.input:
        raise mismatched(answer.input, source.shape)
    small = source.nbytes <= SMALL
    if moves and type(moves[-1]) is Slice:
        found = used.namespace.array(answer.output, dtype="int64")
    elif small or all(type(move) is Permute for move in moves):
        found = used.moved(source, moves)
    else:
        found = carried_out(planned(moves, source.shape, source.strides, source.itemsize), source, used)
    if contiguous and not found.flags.c_contiguous:
        found = found.copy() if small else used.copied(found)
    result = Result()
    result.array, result.moves, result.source, result.backend = found, moves, source, used.name
    return result


def mismatched(expected: Shape, found: tuple[int, ...]) -> ShapeError:
    """Return the error (usage) for an array that does not have the shape that was asked about."""
    return misuse(f"the array has shape {shape_text(found)}, and the question is about {shape_text(expected)}")


def carried_out(plan: Plan, source: Any, used: Backend) -> Any:
    """Return the array that a plan makes of `source`."""
    for copy in plan.copies:
        source = used.copied(used.strided(source, copy.source))
    return used.strided(source, plan.view)

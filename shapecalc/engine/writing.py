"""Outputs: an answer is carried out on a file's array and written to another file, whole or not at all.

The copy is made between two mapped files, in a child process: if somebody cuts the input short, only the child dies.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.moves import Dims
from shapecalc.engine import processes
from shapecalc.engine.arrays import FileError, Source, copy_of, cut_short
from shapecalc.engine.copying import copy_into
from shapecalc.engine.execute import NUMPY, fill_by_device, run
from shapecalc.engine.headers import write_header
from shapecalc.engine.plan import concrete_moves, plan_moves
from shapecalc.engine.whole_files import whole_file

SMALL = 1 << 22
"""Up to this many bytes an array is read into memory. That takes less time than to start a child."""


def carry_out(
    answer: Trace | Chain,
    source: Source,
    target: Path,
    *,
    force: bool,
    tick: Callable[[int], object],
    backend: str = "auto",
) -> None:
    """Write what an answer makes of a file's array to another file; call `tick` with the bytes of each piece.

    Raises `FileError` if the target is the input itself, cannot be written, or exists and `force` is not given, and
    if the input is cut short meanwhile. Raises `BackendError` if `backend` is `cupy` and the device cannot be used.
    """
    _check_target(source, target)
    try:
        with whole_file(target, force=force) as file:
            _write_array(file, answer, source, tick, backend)
    except FileExistsError:
        raise FileError(f"{target}: it exists; --force writes over it") from None
    except processes.KilledError as error:
        reason = ": the disk is full, or cannot be read" if str(error) == "SIGBUS" else ""
        raise FileError(f"{target}: the copy was ended by {error}{reason}") from None
    except OSError as error:
        raise FileError(f"{target}: {error.strerror or error}") from None


def _check_target(source: Source, target: Path) -> None:
    if target.suffix != ".npy":
        raise FileError(f"{target}: an output is a .npy file")
    if target.exists() and source.path.exists() and target.samefile(source.path):
        raise FileError(f"{target}: the output is the input file")


def _write_array(
    file: IO[bytes], answer: Trace | Chain, source: Source, tick: Callable[[int], object], backend: str
) -> None:
    """Write what an answer makes of an array, as a .npy file. Nothing is mapped any more when it is done."""
    moves = concrete_moves(answer)
    if moves and isinstance(moves[-1], Dims):
        vector = run(answer, source.array).array
        _mapped(file, vector.shape, vector.dtype)[...] = vector
        return
    out = _mapped(file, tuple(answer.output or ()), source.kind)  # type: ignore[arg-type]
    if backend == "cupy":
        fill_by_device(out, source, answer, tick)
    elif source.mapped is not None and source.array.nbytes > SMALL and processes.FORKS:
        _fill_in_child(out, source, moves, tick)
    else:
        _fill(out, copy_of(source, SMALL), moves, tick)


def _fill_in_child(out: Any, source: Source, moves: Any, tick: Callable[[int], object]) -> None:
    """Fill a mapped output in a child process; raise `FileError` if the input is cut short, which kills the child."""
    before = _state(source)
    try:
        processes.do_in_child(lambda tell: _fill(out, source.array, moves, tell), tick)
    except processes.KilledError:
        if _state(source) != before:
            raise cut_short(source) from None
        raise


def _state(source: Source) -> tuple[int, int]:
    """Return what a file's size and age are; nothing if it has no name any more."""
    try:
        found = source.path.stat()
    except OSError:
        return 0, 0
    return found.st_size, found.st_mtime_ns


def _fill(out: Any, array: Any, moves: Any, tick: Callable[[int], object]) -> None:
    """Fill a mapped output. All copies but the last go to scratch files, so that memory stays small."""
    plan = plan_moves(moves, array.shape, array.strides, array.itemsize)
    for copy in plan.copies[:-1]:
        array = _scratch_copy(NUMPY.view(array, copy.source), copy.roll, tick)
    if plan.copies:
        last, roll = NUMPY.view(array, plan.copies[-1].source), plan.copies[-1].roll
        if last.size == out.size and plan.is_contiguous:
            copy_into(out.reshape(last.shape), last, tick, roll)
            return
        array = _scratch_copy(last, roll, tick)
    copy_into(out, NUMPY.view(array, plan.view), tick)


def _scratch_copy(view: Any, roll: tuple[int, int] | None, tick: Callable[[int], object]) -> Any:
    with tempfile.TemporaryFile() as file:
        _reserve(file, max(view.nbytes, 1))
        copied = np.memmap(file, view.dtype, "r+", 0, view.shape)
    copy_into(copied, view, tick, roll)
    return copied


def _mapped(file: IO[bytes], shape: tuple[int, ...], dtype: Any) -> Any:
    """Write the header of a .npy file; return its array, to be filled: mapped, unless it holds nothing."""
    write_header(file, shape, dtype)
    start, size = file.tell(), prod(shape) * dtype.itemsize
    file.flush()
    if not size:
        return np.empty(shape, dtype)
    _reserve(file, start + size)
    return np.memmap(file, dtype, "r+", start, shape or (1,)).reshape(shape)


def _reserve(file: IO[bytes], size: int) -> None:
    """Make a file as long as it will be. If the system can reserve room on the disk, a full disk raises now."""
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
            raise
    file.truncate(size)

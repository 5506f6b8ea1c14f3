"""Outputs: an answer is carried out on a file's array and written to another file.

The target is either whole or not there. It is written to a file without a name in the target's folder, and gets
its name when it is whole. So an interrupt, a full disk or a crash leaves the folder as it was.
"""

from __future__ import annotations

import errno
import os
import tempfile
from contextlib import contextmanager, suppress
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np

from shapecalc.core.answers.moves import Slice
from shapecalc.core.answers.trace import Chain, Trace
from shapecalc.engine.backends import NUMPY
from shapecalc.engine.copying import copy_into
from shapecalc.engine.device import fill_by_device
from shapecalc.engine.execute import run
from shapecalc.engine.files import FileError, Source
from shapecalc.engine.plan import StridedView, concrete_moves, plan_moves

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

UNNAMED = getattr(os, "O_TMPFILE", 0)
"""The flag that opens a file without a name. A system without it refuses to open a folder; the file is then hidden."""


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

    Raises `FileError` if the target is the input itself, cannot be written, or exists and `force` is not given.
    Raises `BackendError` if `backend` is `cupy` and the device cannot be used.
    """
    _check_target(source, target, force=force)
    moves, array = concrete_moves(answer), source.array
    try:
        if moves and isinstance(moves[-1], Slice):
            vector = run(answer, array).array
            with _whole_file(target, vector.shape, vector.dtype) as out:
                out[...] = vector
            return
        with _whole_file(target, tuple(answer.output or ()), source.kind) as out:  # type: ignore[arg-type]
            if backend == "cupy":
                fill_by_device(out, array, answer, tick)
            else:
                _fill(out, array, moves, tick)
    except OSError as error:
        raise FileError(f"{target}: {error.strerror}") from None


def _check_target(source: Source, target: Path, *, force: bool) -> None:
    if target.suffix != ".npy":
        raise FileError(f"{target}: an output is a .npy file")
    if target.exists():
        if source.path.exists() and target.samefile(source.path):
            raise FileError(f"{target}: the output is the input file")
        if not force:
            raise FileError(f"{target}: it exists; --force writes over it")


def _fill(out: Any, array: Any, moves: Any, tick: Callable[[int], object]) -> None:
    """Fill a mapped output. All copies but the last go to scratch files, so that memory stays small."""
    plan = plan_moves(moves, array.shape, array.strides, array.itemsize)
    for copy in plan.copies[:-1]:
        array = _scratch_copy(NUMPY.view(array, copy.source), tick)
    if plan.copies:
        last = NUMPY.view(array, plan.copies[-1].source)
        if _is_contiguous(plan.view, array.itemsize):
            copy_into(out.reshape(last.shape), last, tick)
            return
        array = _scratch_copy(last, tick)
    copy_into(out, NUMPY.view(array, plan.view), tick)


def _is_contiguous(view: StridedView, itemsize: int) -> bool:
    """Say whether a view is C-contiguous, so that it reads its buffer in order."""
    step = itemsize
    for size, stride in zip(reversed(view.shape), reversed(view.strides), strict=True):
        if size != 1 and stride != step:
            return False
        step *= size
    return True


def _scratch_copy(view: Any, tick: Callable[[int], object]) -> Any:
    with tempfile.TemporaryFile() as file:
        file.truncate(max(view.nbytes, 1))
        copied = np.memmap(file, view.dtype, "r+", 0, view.shape)
    copy_into(copied, view, tick)
    return copied


@contextmanager
def _whole_file(target: Path, shape: tuple[int, ...], dtype: Any) -> Iterator[Any]:
    """Yield a mapped array to fill. The file gets the name `target` after the array is filled and on the disk."""
    with _nameless_file(target.parent) as (file, give_name):
        np.lib.format.write_array_header_1_0(
            file, {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        )
        start, size = file.tell(), prod(shape) * dtype.itemsize
        file.flush()
        if size:
            _reserve(file, start + size)
            out = np.memmap(file, dtype, "r+", start, shape or (1,)).reshape(shape)
            yield out
            out.flush() if isinstance(out, np.memmap) else None
        else:
            yield np.empty(shape, dtype)
        os.fsync(file.fileno())
        give_name(target)


def _reserve(file: IO[bytes], size: int) -> None:
    """Make a file as long as it will be. If the system can reserve room on the disk, a full disk raises now."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    else:
        file.truncate(size)


@contextmanager
def _nameless_file(folder: Path) -> Iterator[tuple[IO[bytes], Callable[[Path], None]]]:
    """Yield a file in `folder` that nobody sees, and a function that names it. A file that gets no name is deleted."""
    beside = folder / f".shapecalc-{os.getpid()}.part"
    try:
        descriptor = os.open(folder, UNNAMED | os.O_RDWR, 0o666)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):
            raise
        descriptor = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)

    def give_name(target: Path) -> None:
        if not beside.exists():
            os.link(f"/proc/self/fd/{descriptor}", beside, src_dir_fd=descriptor)  # linkat, which follows the link
        beside.replace(target)

    try:
        with os.fdopen(descriptor, "r+b") as file:
            yield file, give_name
    finally:
        with suppress(FileNotFoundError):
            beside.unlink()

"""Execute answers on arrays, on samples of elements, and from file to file.

Arrays are NumPy arrays or, where CuPy is installed and has a device, CuPy arrays. The result is a read-only view if
possible, otherwise a new array, made with as few copies as possible. For a sample, only the sampled elements are
computed. Files are written atomically. A large mapped input is copied in a child process, because reading a mapping
whose file was truncated kills the process.
"""

from __future__ import annotations

import errno
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import lru_cache, partial
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np

from shapecalc.core.answers import Chain, StageKind, Trace
from shapecalc.core.dims import IntTuple, Shape, is_concrete
from shapecalc.core.limits import MAX_NUMBERED_ELEMENTS
from shapecalc.core.moves import CONSTANT, Combine, Move, Pad, ShapeVector, index_before_move, ravel, unravel
from shapecalc.core.ops.operands import number_operands
from shapecalc.core.packages import install_command, list_requirements
from shapecalc.core.problem import error_reason, usage_error
from shapecalc.core.record import Record
from shapecalc.core.text import shape_text, truncate
from shapecalc.engine.arrays import FileError, Source, is_truncated, load_copy, read_elements, truncation_error
from shapecalc.engine.atomic_files import atomic_file
from shapecalc.engine.copying import copy_into, prepare_copy_function
from shapecalc.engine.headers import read_file_stamp, write_npy_header
from shapecalc.engine.plan import (
    AxisPieces,
    BufferCopy,
    Plan,
    StridedView,
    byte_strides,
    compute_copy_shape,
    executable_moves,
    plan_moves,
    require_executable_moves,
)
from shapecalc.engine.processes import CAN_FORK, KilledError, run_in_child
from shapecalc.reasoning.examples import stage_moves

BACKEND_NAMES = ("auto", "numpy", "cupy")
NUMERIC_DTYPES = {1: "u1", 2: "u2", 4: "u4", 8: "u8", 16: "c16"}
"""The numeric dtype as which elements are viewed on a device, by element size in bytes."""
MAX_SHOWN_ELEMENTS = 1000
"""The maximum number of elements that are shown without omissions, as in NumPy."""
EDGE_ITEMS = 3
"""The number of indices that are shown at each end of a long axis, as in NumPy."""
MAX_DIMS = 32
"""The maximum rank of a tensor whose elements are shown: the limit of NumPy 1."""
MAX_IN_MEMORY_BYTES = 1 << 22
"""The maximum size, in bytes, of an array that is read from its file into memory.

Reading a smaller array takes less time than starting a child process.
"""


class BackendError(Exception):
    """Raised if a backend cannot be used.

    The message contains the reason, and the package to install if one is missing.
    """


ArrayFunction = Callable[[Any], Any]
"""A function of an array that returns a view or a copy of it."""


class Backend(Record):
    """The array library that moves the data: NumPy or CuPy.

    Both libraries have the same methods for views, but not for copies.
    """

    name: str
    namespace: Any

    @contextmanager
    def use_device_of(self, array: Any) -> Iterator[None]:
        """Make the device of an array current, so that results are allocated on it.

        Raises `BackendError` if CuPy fails in the `with` block, for example for lack of memory.
        """
        try:
            with array.device if isinstance(array, self.namespace.ndarray) else nullcontext():
                yield
        except MemoryError as error:
            raise BackendError(f"the device has no room: {error}") from error
        except (RuntimeError, self.namespace.cuda.compiler.CompileException) as error:
            raise BackendError(_describe_kernel_problem(error)) from error

    def to_device(self, array: Any) -> Any:
        """Return an array as a `cupy.ndarray`; an array on the host is uploaded."""
        if isinstance(array, self.namespace.ndarray):
            return array.view(type=self.namespace.ndarray)
        array = np.asarray(array)
        return self.namespace.asarray(_view_as_numbers(array)).view(array.dtype)

    def to_host(self, array: Any) -> Any:
        """Return a non-empty device array as a NumPy array with the same strides.

        The bytes are transferred in memory order, so the device runs no kernel.
        """
        reach = [(size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True)]
        before = -sum(min(0, span) for span in reach)
        count = before + sum(max(0, span) for span in reach) + array.itemsize
        data = self.namespace.ndarray((count,), "u1", array.data - before).get()
        return np.ndarray(array.shape, array.dtype, data, before, array.strides)

    def view(self, array: Any, view: StridedView) -> Any:
        """Return a view of an array, as described by shape, strides and offset.

        The strides and the offset of `view` are in bytes.
        """
        if array.size == 0:
            return array.reshape(view.shape)
        strided = self.namespace.lib.stride_tricks.as_strided
        if view.offset:
            array = strided(array, (2,), (view.offset,))[1:]
        return strided(array, view.shape, view.strides)

    def copy(self, array: Any, copy: BufferCopy) -> Any:
        """Copy an array into a new buffer."""
        view = self.view(array, copy.source)
        numbers = _view_as_numbers(view)
        if copy.pieces is None:
            return numbers.copy().view(view.dtype)
        target = self.namespace.empty(copy.shape, numbers.dtype)
        copy_into(target, numbers, pieces=copy.pieces)
        return target.view(view.dtype)

    def prepare_execution(
        self,
        moves: tuple[Move, ...],
        expected: Shape,
        output: Shape | None,
        shape: IntTuple,
        strides: IntTuple,
        itemsize: int,
        contiguous: bool,
    ) -> tuple[Plan, tuple[ArrayFunction, ...], str]:
        """Return the plan for an array, the functions that execute it, and the verdict.

        The array has the given shape, strides and item size; strides and item size are in bytes. `moves`, `expected`
        and `output` are the moves, the input and the output of an answer. The verdict is `view` or `copy`. Raises
        `ShapeError` (usage) if the array has another shape, or if the answer has symbolic sizes.
        """
        require_executable_moves(moves, expected, output)
        if shape != expected:
            sizes = f"the array has shape {shape_text(shape)}, and the question is about {shape_text(expected)}"
            raise usage_error(sizes)
        calls = list[ArrayFunction]()
        padded, moves = _split_at_pads(moves)
        for before, pad in padded:
            calls += self.compile_plan(plan_moves(before, shape, strides, itemsize))
            calls.append(partial(pad_array, pad=pad, backend=self))
            shape = pad.shape  # type: ignore[assignment]  # all of them are numbers
            strides = byte_strides(shape, itemsize)
        plan = plan_moves(moves, shape, strides, itemsize, contiguous=contiguous)
        if moves and isinstance(moves[-1], ShapeVector):
            return plan, (lambda _: self.namespace.array(output, dtype="int64"),), "copy"
        calls += self.compile_plan(plan, owns_source=bool(padded))
        return plan, tuple(calls), "copy" if padded else plan.verdict

    def compile_plan(self, plan: Plan, *, owns_source: bool = False) -> tuple[ArrayFunction, ...]:
        """Return the functions that execute a plan, in order.

        Each function takes the array that the previous one returned. If `owns_source`, the first array is new, and
        views of this array are writable.
        """
        copies = [partial(self.copy, copy=copy) for copy in plan.copies]
        return (*copies, *([] if plan.is_whole_last_buffer else [partial(self.view, view=plan.view)]))


class NumpyBackend(Backend):
    """The NumPy backend.

    Before the first call, it computes everything that depends only on the layout of the array.
    """

    def compile_plan(self, plan: Plan, *, owns_source: bool = False) -> tuple[ArrayFunction, ...]:
        """Return the functions that execute a plan, in order.

        Each function takes the array that the previous one returned. If `owns_source`, the first array is new, and
        views of this array are writable.
        """
        copies = [self._compile_copy(copy, plan.itemsize) for copy in plan.copies]
        if plan.is_whole_last_buffer:
            return tuple(copies)
        view_array = self._compile_view(plan.view)

        def view_read_only(array: Any) -> Any:
            result = view_array(array)
            result.setflags(write=False)
            return result

        return (*copies, view_array if (copies or owns_source) and not plan.has_repeats else view_read_only)

    def _compile_view(self, view: StridedView) -> ArrayFunction:
        shape, strides, offset = view.shape, view.strides, view.offset

        def view_array(array: Any) -> Any:
            if array.flags.forc:  # reading the flag takes 0.3 us, `as_strided` 2.6 us
                return np.ndarray(shape, array.dtype, array, offset, strides)
            return self.view(array, view)

        return view_array

    def _compile_copy(self, copy: BufferCopy, itemsize: int) -> ArrayFunction:
        shape, view_array = copy.shape, self._compile_view(copy.source)
        fill: Any = prepare_copy_function(copy.source.shape, copy.source.strides, itemsize)
        if copy.pieces:
            fill = partial(copy_into, pieces=copy.pieces)
        if fill is np.copyto:
            return lambda array: view_array(array).copy()

        def copy_array(array: Any) -> Any:
            target = np.empty(shape, array.dtype)
            fill(target, view_array(array))
            return target

        return copy_array


class Result(Record):
    """A result array, with the plan and the backend that produced it."""

    array: Any
    plan: Plan
    """The views and copies that were executed; for the op `shape`, those of the stages before it.

    The plan of an answer with pads begins after the last pad.
    """
    verdict: str
    """`view` if the array is a read-only view of the source, `copy` if the array is new."""
    backend: str
    """The backend that moved the data: `numpy` or `cupy`."""


class Sample(Record):
    """Some elements of a tensor, as nested lists.

    `gaps` has an entry for each axis: the index in the lists at which elements are omitted, or None if no elements are
    omitted.
    """

    shape: Shape
    elements: Any
    gaps: tuple[int | None, ...]


NUMPY = NumpyBackend("numpy", np)
_prepare_on_numpy = lru_cache(maxsize=256)(NUMPY.prepare_execution)


def run(answer: Trace | Chain, array: Any, backend: str = "auto", *, contiguous: bool = False) -> Result:
    """Execute an answer on an array of its input shape.

    The result is a read-only view of `array` if possible, otherwise a new array. A new array is writable unless it is a
    broadcast view of its own elements. With `contiguous`, the result is C-contiguous. CuPy has no read-only arrays. A
    subclass, such as a masked array, is treated as its base class. The result of the op `shape` is an int64 vector of
    the dims. If `backend` is `auto`, NumPy copies element types that CuPy cannot copy, with a `RuntimeWarning`.

    Raises `ShapeError` (usage) if the array has another shape, or if the answer has symbolic sizes. Raises
    `BackendError` if the backend cannot be used, or cannot copy the elements.

    >>> import numpy as np, shapecalc as sc
    >>> result = run(sc.transpose((2, 3)), np.arange(6).reshape(2, 3))
    >>> result.array.tolist(), result.verdict
    ([[0, 3], [1, 4], [2, 5]], 'view')
    """
    used = select_backend(array, backend)
    if used is NUMPY:
        return _run_on_backend(answer, np.asarray(array), used, contiguous)
    try:
        with used.use_device_of(array):
            return _run_on_backend(answer, used.to_device(array), used, contiguous)
    except BackendError as error:
        if backend != "auto" or isinstance(error.__cause__, MemoryError):
            raise
        with used.use_device_of(array):
            array = used.to_host(array)
        warnings.warn(f"{error}; the result is NumPy's, in this machine's memory", RuntimeWarning, stacklevel=2)
        return _run_on_backend(answer, array, NUMPY, contiguous)


def _run_on_backend(answer: Trace | Chain, source: Any, backend: Backend, contiguous: bool) -> Result:
    prepare = _prepare_on_numpy if backend is NUMPY else backend.prepare_execution
    plan, calls, verdict = prepare(
        answer.moves, answer.input, answer.output, source.shape, source.strides, source.itemsize, contiguous
    )
    for call in calls:
        source = call(source)
    return Result(source, plan, verdict, backend.name)


def _split_at_pads(moves: tuple[Move, ...]) -> tuple[list[tuple[tuple[Move, ...], Pad]], tuple[Move, ...]]:
    """Split moves at pads.

    Returns each pad with the moves before it, and the moves after the last pad.
    """
    padded, start = list[tuple[tuple[Move, ...], Pad]](), 0
    for index, move in enumerate(moves):
        if isinstance(move, Pad):
            padded.append((moves[start:index], move))
            start = index + 1
    return padded, moves[start:]


def pad_array(array: Any, pad: Any, backend: Backend = NUMPY) -> Any:
    """Return a padded copy of an array.

    Raises `ShapeError` (usage) if the element type cannot represent the value of the padding.
    """
    library, kind = backend.namespace, array.dtype
    fill = _make_fill_value(pad.fill, kind)
    if backend.name == "cupy":
        array, fill = _view_as_numbers(array), _view_as_numbers(fill)
    if pad.mode != CONSTANT:
        padded_axes = [axis for axis, ends in enumerate(zip(pad.begins, pad.ends, strict=True)) if any(ends)]
        padded = array if padded_axes else array.copy()
        for axis in padded_axes:
            sources = pad.source_indices(axis, np.arange(pad.shape[axis], dtype=np.int64), array.shape[axis])
            padded = library.take(padded, library.asarray(sources), axis)
        return padded.view(kind)
    result = library.full(pad.shape, fill.item() if backend.name == "cupy" else fill, array.dtype)
    sizes = zip(pad.begins, pad.ends, array.shape, strict=True)
    ranges = [(max(-begin, 0), min(size, size + end), begin) for begin, end, size in sizes]
    kept = tuple([slice(first, max(first, stop)) for first, stop, _ in ranges])
    inner = tuple([slice(first + begin, max(first, stop) + begin) for first, stop, begin in ranges])
    result[inner] = array[kept]
    return result.view(kind)


def _make_fill_value(fill: float, dtype: Any) -> Any:
    """Return the value of the padding as a zero-dimensional array.

    Raises `ShapeError` (usage) if the element type cannot represent the value.
    """
    try:
        value = np.full((), fill, dtype)
        is_exact = dtype.kind not in "biu" or value.item() == fill
    except (OverflowError, ValueError, TypeError):
        is_exact = False
    if not is_exact:
        raise usage_error(f"elements of type {dtype} cannot be {fill}", argument="fill")
    return value


def apply_moves(moves: tuple[Move, ...], array: Any) -> Any:
    """Apply moves to a NumPy array."""
    return apply_plan(plan_moves(moves, array.shape, array.strides, array.itemsize), array)


def apply_plan(plan: Plan, source: Any, backend: Backend = NUMPY) -> Any:
    """Execute a plan on `source`.

    The result is read-only if it is a view of `source` or a broadcast view of its own elements.
    """
    for call in backend.compile_plan(plan):
        source = call(source)
    return source


def select_backend(array: Any, name: str = "auto") -> Backend:
    """Return the backend with the name `name`.

    The name `auto` selects the library of `array`. Raises `BackendError` if there is no such backend, if CuPy cannot be
    used, or if NumPy cannot read the array.
    """
    if name not in BACKEND_NAMES:
        raise BackendError(f"there is no backend '{name}'; there are {', '.join(BACKEND_NAMES)}")
    kind = type(array)
    on_device = kind is not np.ndarray and any(base.__module__.partition(".")[0] == "cupy" for base in kind.__mro__)
    if on_device and name == "numpy":
        raise BackendError("the array lies on a device, where numpy does not reach; bring it back with array.get()")
    return Backend("cupy", import_cupy()) if on_device or name == "cupy" else NUMPY


def import_cupy() -> Any:
    """Import CuPy, or raise `BackendError` if it is not installed or has no device."""
    try:
        import cupy as module
    except ImportError as error:
        missing = "CuPy is not installed" if error.name == "cupy" else f"CuPy does not load: {error}"
        raise BackendError(f"{missing}; {_install_hint()}") from None
    try:
        count = module.cuda.runtime.getDeviceCount()
    except module.cuda.runtime.CUDARuntimeError as error:
        raise BackendError(f"CuPy has no device: {error}; a CUDA device and its driver are needed") from None
    if not count:
        raise BackendError("CuPy has no device; a CUDA device and its driver are needed")
    return module


def _describe_kernel_problem(error: Exception) -> str:
    """Return the reason why CuPy cannot run kernels, as one line.

    A frequent reason is that NVRTC, the compiler of the kernels, is missing; CuPy's extra `ctk` installs it.
    """
    return f"CuPy cannot copy: {str(error).strip().partition(chr(10))[0]}; if it lacks NVRTC, {_install_hint()}"


def _install_hint() -> str:
    requirement = list_requirements("cupy13").get("cupy", "cupy-cuda13x[ctk]")
    return f"install it with: {install_command(requirement)}, or cupy-cuda12x for CUDA 12"


def describe_backends() -> list[dict[str, object]]:
    """Return the version and the memory of each backend, or its problem."""
    rows: list[tuple[object, ...]] = [("numpy", np.__version__, "this machine", _read_memory_size(), None)]
    try:
        module = import_cupy()
    except BackendError as error:
        rows.append(("cupy", None, None, None, str(error)))
    else:
        try:
            module.cuda.nvrtc.getVersion()
            problem = None
        except RuntimeError as error:
            problem = _describe_kernel_problem(error)
        for number in range(module.cuda.runtime.getDeviceCount()):
            properties = module.cuda.runtime.getDeviceProperties(number)
            rows.append(
                ("cupy", module.__version__, properties["name"].decode(), properties["totalGlobalMem"], problem)
            )
    return [dict(zip(("name", "version", "device", "memory", "problem"), row, strict=True)) for row in rows]


def _read_memory_size() -> int | None:
    """Return the size of this machine's memory in bytes, or None if it is unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError):
        return None


def _view_as_numbers(array: Any) -> Any:
    """View elements as numbers of the same size in bytes.

    CuPy can copy only numbers.
    """
    if array.itemsize not in NUMERIC_DTYPES or array.dtype.hasobject:
        width = array.itemsize
        raise BackendError(f"CuPy moves no elements of type {array.dtype}, which have {width} bytes; numpy does")
    return array.view(NUMERIC_DTYPES[array.itemsize])


def has_combine_move(answer: Trace | Chain) -> bool:
    """Return whether an answer combines operands or computes new elements.

    A pad does neither.
    """
    return any(isinstance(move, Combine) and not isinstance(move, Pad) for move in answer.moves)


def find_combine_move(answer: Trace | Chain) -> Combine:
    """Return the move of an answer that concatenates, stacks or broadcasts operands.

    Raises `ShapeError` (usage) if the answer computes new elements, has symbolic sizes, or is a chain.
    """
    if len(answer.stages) != 1:
        raise usage_error(
            "in a chain, data of several operands are not carried out", "carry out one stage after the other"
        )
    stage, move = answer.stages[0], answer.stages[0].move
    if not isinstance(move, Combine) or stage.kind not in (StageKind.JOIN, StageKind.BROADCAST):
        raise usage_error(f"{stage.label} computes elements, and only the shape is known", "ask for the shape alone")
    if not answer.is_concrete or not is_concrete([dim for shape in move.operands for dim in shape]):
        raise usage_error("data have sizes, and this answer has names", "give the sizes with --where")
    return move


def iter_output_regions(answer: Trace | Chain, arrays: Sequence[Any]) -> Iterator[tuple[tuple[slice | int, ...], Any]]:
    """Yield each region of the output with the array that fills it.

    `arrays` are the arrays of the input and of the other operands. Raises `ShapeError` (usage) as `find_combine_move`
    does.
    """
    move = find_combine_move(answer)
    if move.concat_axis is None:
        yield (), np.broadcast_to(arrays[0], tuple(answer.output or ()))  # type: ignore[arg-type]
        return
    start = 0
    for operand in number_operands(answer.input, answer.traces[0].request.arguments.get("operands", ())):
        array = arrays[operand.number]
        before = (slice(None),) * move.concat_axis
        if array.ndim < len(move.shape):
            stacked = not move.sources[move.concat_axis]
            if stacked:
                yield (*before, start), array
            start += stacked
        else:
            stop = start + array.shape[move.concat_axis]
            yield (*before, slice(start, stop)), array
            start = stop


def combine_arrays(answer: Trace | Chain, arrays: Sequence[Any] | None = None) -> Any:
    """Concatenate, stack or broadcast arrays as an answer specifies.

    If `arrays` is None, the elements of the operands are consecutive integers from 0. Raises `ShapeError` (usage) as
    `find_combine_move` does, and if there are more than `MAX_NUMBERED_ELEMENTS` elements.

    >>> import shapecalc as sc
    >>> combine_arrays(sc.concat((2, 1), (2, 2), axis=1)).tolist()
    [[0, 2, 3], [1, 4, 5]]
    """
    move = find_combine_move(answer)
    shapes: Any = move.operands
    if arrays is None:
        sizes = [prod(shape) for shape in shapes]
        count = sum(sizes) + prod(move.shape)  # type: ignore[arg-type]  # all are numbers
        if count > MAX_NUMBERED_ELEMENTS:
            raise MAX_NUMBERED_ELEMENTS.error(f"there are {truncate(str(count))} elements")
        starts = [sum(sizes[:number]) for number in range(len(sizes))]
        numbered = zip(starts, sizes, shapes, strict=True)
        arrays = [np.arange(start, start + size).reshape(shape) for start, size, shape in numbered]
    output: Any = answer.output
    result = np.empty(output, np.result_type(*arrays))
    for region, array in iter_output_regions(answer, arrays):
        result[region] = array
    return result


def sample_elements(
    answer: Trace | Chain, data: Source | None = None, other_sources: Sequence[Source] = ()
) -> tuple[Sample, Sample]:
    """Return a sample of the input and a sample of the output.

    The elements are read from `data`, which has the input shape; if `data` is None, they are consecutive integers from
    0. `other_sources` are the data of the other operands. Raises `ShapeError` (usage) if the request is refused, if a
    size is symbolic, or if there are more than `MAX_DIMS` dims. Raises `FileError` if the file of `data` no longer
    contains the elements.

    >>> import shapecalc as sc
    >>> [sample.elements for sample in sample_elements(sc.transpose((2, 3)))]
    [[[0, 1, 2], [3, 4, 5]], [[0, 3], [1, 4], [2, 5]]]
    """
    output = answer.output or ()
    rank = max(len(answer.input), len(output))
    if rank > MAX_DIMS:
        raise usage_error(f"the elements of at most {MAX_DIMS} dims are shown, and there are {rank}", argument="values")
    stages = () if has_combine_move(answer) and find_combine_move(answer) else stage_moves(answer)
    before, index = (
        _make_sample(answer.input, _make_sample_index(answer.input), answer.input, data),
        _make_sample_index(output),
    )
    if 0 in output:
        return before, _make_sample_of_elements(output, np.empty([*map(len, _choose_shown_indices(output))]))
    if has_combine_move(answer):
        array = combine_arrays(answer, None if data is None else [source.array for source in (data, *other_sources)])
        return before, _make_sample_of_elements(output, array[index])
    fills = list[tuple[Any, Any]]()
    for _, shape, move in reversed(stages):
        index = index_before_move(index, shape, move)
        if isinstance(move, Pad) and move.mode == CONSTANT:
            outside = np.zeros((), bool)
            for position, size in zip(index, shape, strict=True):
                outside = outside | (position < 0) | (position >= size)
            fills.append((outside, move.fill))
            index = tuple([np.where(outside, 0, position) for position in index])
    return before, _make_sample(answer.input, index, output, data, fills)


def _make_sample(
    input_shape: Shape,
    index: tuple[Any, ...],
    shape: Shape,
    data: Source | None,
    fills: Sequence[tuple[Any, float]] = (),
) -> Sample:
    """Return a sample of a tensor of `shape`, which is read from the input at `index`.

    `fills` are the elements that pads add, as pairs of a mask and a value; an earlier pair has priority.
    """
    counts = list(map(len, _choose_shown_indices(shape)))
    if 0 in shape or (fills and 0 in input_shape):
        elements: Any = np.empty(counts)
    else:
        flat = np.broadcast_to(np.asarray(ravel(index, input_shape), dtype=np.int64), counts)
        elements = flat if data is None else read_elements(data, unravel(flat, input_shape))
    for outside, fill in reversed(fills):
        value = fill if data is None else _make_fill_value(fill, data.numpy_dtype)
        elements = np.where(outside, value, elements if data is not None else elements.astype(object))
    return _make_sample_of_elements(shape, elements)


def _make_sample_of_elements(shape: Shape, elements: Any) -> Sample:
    pairs = zip(_choose_shown_indices(shape), shape, strict=True)
    gaps = tuple([EDGE_ITEMS if len(shown) < size else None for shown, size in pairs])  # type: ignore[operator]
    return Sample(shape, np.asarray(elements).tolist(), gaps)


def _choose_shown_indices(shape: Any) -> list[list[int]]:
    """Return the indices of a sample along each axis.

    On a long axis, these are the first and the last few indices.
    """
    if prod(size or 1 for size in shape) <= MAX_SHOWN_ELEMENTS:
        return [list(range(size)) for size in shape]
    axes, room = [], MAX_SHOWN_ELEMENTS
    for size in reversed(shape):
        edge = EDGE_ITEMS if room >= 2 * EDGE_ITEMS else 0
        ends = [*range(edge), *range(size - edge, size)] if edge else [0]
        axes.append([*range(size)] if size <= 2 * edge else ends)
        room //= len(axes[-1]) or 1
    return axes[::-1]


def _make_sample_index(shape: Any) -> tuple[Any, ...]:
    """Return the index arrays that select the elements of a sample."""
    shown = _choose_shown_indices(shape)
    return np.ix_(*(np.array(positions, dtype=np.int64) for positions in shown)) if shown else ()


def run_on_file(
    answer: Trace | Chain,
    source: Source,
    target: Path,
    *,
    force: bool,
    tick: Callable[[int], object],
    other_sources: Sequence[Source] = (),
) -> None:
    """Execute an answer on the array of a file, and write the result to a .npy file.

    `other_sources` are the files of the other operands. `tick` is called with the size, in bytes, of each copied piece.
    Raises `FileError` if the target is the input itself, cannot be written, or exists and `force` is false, or if the
    input is truncated during the copy.
    """
    if target.suffix != ".npy":
        raise FileError(f"{target}: an output is a .npy file")
    if target.exists() and source.path.exists() and target.samefile(source.path):
        raise FileError(f"{target}: the output is the input file")
    try:
        with atomic_file(target, force=force) as file:
            write = _write_combination if has_combine_move(answer) else _write_rearrangement
            write(file, answer, [source, *other_sources], tick)
    except FileExistsError:
        raise FileError(f"{target}: it exists; --force writes over it") from None
    except KilledError as error:
        reason = ": the disk is full, or cannot be read" if str(error) == "SIGBUS" else ""
        raise FileError(f"{target}: the copy was ended by {error}{reason}") from None
    except OSError as error:
        raise FileError(f"{target}: {error_reason(error)}") from None


def _write_combination(
    file: IO[bytes], answer: Trace | Chain, sources: Sequence[Source], tick: Callable[[int], object]
) -> None:
    kinds = {source.numpy_dtype for source in sources}
    if len(kinds) > 1:
        dtypes = " and ".join(sorted(map(str, kinds)))
        raise usage_error(f"the files hold elements of several types: {dtypes}", "write them in one type")
    out = _create_npy(file, tuple(answer.output or ()), sources[0].numpy_dtype)  # type: ignore[arg-type]
    for region, array in iter_output_regions(answer, [load_copy(source, MAX_IN_MEMORY_BYTES) for source in sources]):
        out[region] = array
        tick(array.nbytes)


def _write_rearrangement(
    file: IO[bytes], answer: Trace | Chain, sources: Sequence[Source], tick: Callable[[int], object]
) -> None:
    (source,) = sources
    moves = executable_moves(answer)
    if any(isinstance(move, Pad) for move in moves):
        array = run(answer, load_copy(source, MAX_IN_MEMORY_BYTES)).array
        copy_into(_create_npy(file, array.shape, array.dtype), array, tick)
        return
    if moves and isinstance(moves[-1], ShapeVector):
        vector = run(answer, source.array).array
        _create_npy(file, vector.shape, vector.dtype)[...] = vector
        return
    out = _create_npy(file, tuple(answer.output or ()), source.numpy_dtype)  # type: ignore[arg-type]
    if source.mapped_file is not None and source.array.nbytes > MAX_IN_MEMORY_BYTES and CAN_FORK:
        _fill_output_in_child(out, source, moves, tick)
    else:
        _fill_output(out, load_copy(source, MAX_IN_MEMORY_BYTES), moves, tick)


def _fill_output_in_child(output: Any, source: Source, moves: Any, tick: Callable[[int], object]) -> None:
    """Fill a memory-mapped output in a child process.

    If the input is truncated, the child is killed, and `FileError` is raised in this process.
    """
    before = read_file_stamp(source.path)
    try:
        run_in_child(lambda tell: _fill_output(output, source.array, moves, tell), tick)
    except KilledError:
        if is_truncated(source) or read_file_stamp(source.path) != before:
            raise truncation_error(source) from None
        raise


def _fill_output(output: Any, array: Any, moves: Any, tick: Callable[[int], object]) -> None:
    """Fill a memory-mapped output with the result of moves.

    Intermediate copies are written to scratch files, so that they use no memory.
    """
    plan = plan_moves(moves, array.shape, array.strides, array.itemsize)
    for copy in plan.copies[:-1]:
        array = _copy_to_scratch(NUMPY.view(array, copy.source), copy.pieces, tick)
    if plan.copies:
        copy = plan.copies[-1]
        last = NUMPY.view(array, copy.source)
        if prod(copy.shape) == output.size and plan.is_contiguous:
            copy_into(output.reshape(copy.shape), last, tick, copy.pieces)
            return
        array = _copy_to_scratch(last, copy.pieces, tick)
    copy_into(output, NUMPY.view(array, plan.view), tick)


def _copy_to_scratch(view: Any, pieces: AxisPieces | None, tick: Callable[[int], object]) -> Any:
    shape = compute_copy_shape(view.shape, pieces)
    with tempfile.TemporaryFile() as file:
        _reserve_space(file, max(prod(shape) * view.itemsize, 1))
        copied = np.memmap(file, view.dtype, "r+", 0, shape)
    copy_into(copied, view, tick, pieces)
    return copied


def _create_npy(file: IO[bytes], shape: tuple[int, ...], dtype: Any) -> Any:
    """Write the header of a .npy file, and memory-map the array to fill."""
    write_npy_header(file, shape, dtype)
    start, size = file.tell(), prod(shape) * dtype.itemsize
    file.flush()
    if not size:
        return np.empty(shape, dtype)
    _reserve_space(file, start + size)
    return np.memmap(file, dtype, "r+", start, shape or (1,)).reshape(shape)


def _reserve_space(file: IO[bytes], size: int) -> None:
    """Extend a file to `size` bytes.

    If the system can reserve disk space, a full disk raises `OSError` here, and not a bus error during the copy.
    """
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
            raise
    file.truncate(size)

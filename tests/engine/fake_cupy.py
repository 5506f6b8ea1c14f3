"""A stand-in for CuPy without a device: CuPy accepts all that it accepts. Tests import it instead of `cupy`.

Sources: CuPy 14.2's own code. Views are metadata, made without a look at the element type or the bounds. Kernels need
NVRTC, arrays on the current device, aligned numbers that the host's byte order fits, and addresses within one block.
They run when their stream is waited for, and new memory holds rubbish: what asks the wrong stream reads rubbish.
"""

from __future__ import annotations

from math import prod
from types import SimpleNamespace

import numpy as np

CHARS = "?bhilqBHILQefdFD"
"""The element types that kernels support."""
MOST_DIMS = 64
LIBRARY_IS_MISSING = 'Failure finding "libnvrtc.so.13 or libnvrtc.so.12": No such file: libnvrtc.so.13\nNo such file'
"""The two-line message of `cuda.pathfinder` for CuPy 14."""
__version__ = "14.2.0"


class OutOfMemoryError(MemoryError):
    def __init__(self, size, total):
        super().__init__(f"Out of memory allocating {size:,} bytes (allocated so far: {total:,} bytes).")


CUDARuntimeError = type("CUDARuntimeError", (RuntimeError,), {})
CompileException = type("CompileException", (Exception,), {})
DynamicLibNotFoundError = type("DynamicLibNotFoundError", (RuntimeError,), {})
"""The errors of device calls, of kernels that do not compile, and of CuPy 14 without a library."""


class Machine:
    """The devices that a test configures."""

    def __init__(self, devices=2, room=1 << 24):
        self.room, self.used, self.limit, self.device = room, [0] * devices, [0] * devices, 0
        self.failure = None  # the error of the next kernel, if NVRTC is missing or fails
        self.streams = [[Stream(device=number)] for number in range(devices)]  # the entered ones, the default first
        self.kernels = 0

    def launch(self, call, *arrays):
        """Add a kernel to the current stream."""
        if self.failure:
            raise self.failure
        for array in arrays:
            array.check_for_kernel()
        self.kernels += 1
        current_stream().queue.append(call)


class Stream:
    def __init__(self, null=False, non_blocking=False, device=None):
        self.device_id = machine.device if device is None else device
        self.queue = []

    def __enter__(self):
        assert self.device_id == machine.device, "a stream belongs to its device"
        machine.streams[self.device_id].append(self)
        return self

    def __exit__(self, *_):
        machine.streams[self.device_id].pop()

    def synchronize(self):
        while self.queue:
            self.queue.pop(0)()


class Device:
    def __init__(self, number=None):
        self.id = machine.device if number is None else number
        if self.id >= len(machine.used):
            raise CUDARuntimeError("cudaErrorInvalidDevice: invalid device ordinal")

    def __enter__(self):
        self.before = machine.device
        machine.device = self.id
        return self

    def __exit__(self, *_):
        machine.device = self.before

    def __eq__(self, other):
        return self.id == other.id

    def synchronize(self):
        for stream in machine.streams[self.id]:
            stream.synchronize()


def current_stream():
    return machine.streams[machine.device][-1]


machine = Machine()


class Memory:
    """A block of uninitialized memory."""

    def __init__(self, size):
        number, size = machine.device, -(-size // 512) * 512
        if machine.used[number] + size > min(machine.room, machine.limit[number] or machine.room):
            raise OutOfMemoryError(size, machine.used[number])
        self.device_id, self.used = number, machine.used
        self.bytes = np.full(size, 0xA5, np.uint8)
        self.used[number] += size

    def __del__(self):
        if hasattr(self, "bytes"):
            self.used[self.device_id] -= len(self.bytes)


class MemoryPointer:
    def __init__(self, mem, offset):
        self.mem, self.offset, self.device_id = mem, offset, mem.device_id

    def __add__(self, offset):
        return MemoryPointer(self.mem, self.offset + offset)

    def __sub__(self, offset):
        return self + -offset

    def copy_from_device_async(self, source, size):
        def call():
            self.mem.bytes[self.offset :][:size] = source.mem.bytes[source.offset :][:size]

        current_stream().queue.append(call)


class ndarray:  # noqa: N801
    __module__ = "cupy"

    def __init__(self, shape, dtype=float, memptr=None, strides=None, order="C"):
        assert order == "C"
        self.shape = tuple(int(size) for size in shape)
        if len(self.shape) > MOST_DIMS:
            raise ValueError(f"maximum supported dimension for an ndarray is {MOST_DIMS}, found {len(self.shape)}")
        self.dtype = np.dtype(dtype)
        named = self.dtype.kind == "V" and not self.dtype.hasobject and self.dtype.itemsize
        if memptr is None and (self.dtype.byteorder == ">" or not (named or self.dtype.char in CHARS)):
            raise ValueError(f"Unsupported dtype {self.dtype}")
        contiguous = tuple([prod(self.shape[axis + 1 :]) * self.itemsize for axis in range(self.ndim)])
        self.strides = tuple([int(stride) for stride in (contiguous if strides is None else strides)])
        self.data = MemoryPointer(Memory(prod(self.shape) * self.itemsize), 0) if memptr is None else memptr

    def __array_finalize__(self, base):
        pass

    def __array__(self, dtype=None):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`.")

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: prod(self.shape))
    itemsize = property(lambda self: self.dtype.itemsize)
    nbytes = property(lambda self: self.size * self.itemsize)
    device = property(lambda self: Device(self.data.device_id))
    flags = property(lambda self: SimpleNamespace(c_contiguous=self._stand_in().flags.c_contiguous))
    T = property(lambda self: self.transpose())

    def _stand_in(self):
        """Return an unreadable NumPy array with the same shape and strides."""
        return np.lib.stride_tricks.as_strided(np.empty(1, self.dtype), self.shape, self.strides)

    def _like(self, before, after):
        """Return a view with the same offset and strides as one stand-in has to another."""
        offset = after.__array_interface__["data"][0] - before.__array_interface__["data"][0]
        return self._viewed(type(self), after.shape, self.dtype, self.data + offset, after.strides)

    def _viewed(self, kind, *metadata):
        made = kind.__new__(kind)
        ndarray.__init__(made, *metadata)
        made.__array_finalize__(self)
        return made

    def view(self, dtype=None, type=None):
        dtype = np.dtype(self.dtype if dtype is None else dtype)
        assert dtype.itemsize == self.itemsize, "CuPy does more here, and this does not"
        return self._viewed(type or self.__class__, self.shape, dtype, self.data, self.strides)

    def transpose(self, *axes):
        before = self._stand_in()
        return self._like(before, before.transpose(*axes))

    def reshape(self, shape):
        assert self.size == 0 or self.flags.c_contiguous, "CuPy does more here, and this does not"
        assert prod(shape) == self.size
        return self._viewed(type(self), shape, self.dtype, self.data)

    def __getitem__(self, index):
        before = self._stand_in()
        index = index if isinstance(index, tuple) else (index,)
        return self._like(before, before[index if any(part is ... for part in index) else (*index, ...)])

    def __setitem__(self, index, value):
        if not isinstance(value, ndarray):
            raise TypeError(f"Unsupported type {type(value)}")
        copy_elements(value, self[index])

    def copy(self):
        assert self.size == 0 or self.data.device_id == machine.device, "CuPy does more here, and this does not"
        made = ndarray(self.shape, self.dtype)
        if self.size:
            copy_elements(self, made)
        return made

    def get(self):
        if not self.size:
            return np.empty(self.shape, self.dtype)
        with self.device:
            lying = self if self.flags.c_contiguous else self.copy()
            current_stream().synchronize()
            return lying.on_host().copy()

    def on_host(self):
        """Return the current elements; assert that they lie within their block."""
        spans = [(size - 1) * stride for size, stride in zip(self.shape, self.strides, strict=True)]
        first, last = (self.data.offset + sum(pick(0, span) for span in spans) for pick in (min, max))
        assert first >= 0 and last + self.itemsize <= len(self.data.mem.bytes), "an address outside the block"
        return np.ndarray(self.shape, self.dtype, self.data.mem.bytes, self.data.offset, self.strides)

    def check_for_kernel(self):
        """Raise for operands that no kernel supports."""
        if self.data.device_id != machine.device:
            raise ValueError(f"Array device must be same as the current device: array device = {self.data.device_id}")
        if self.dtype.char not in CHARS or not self.dtype.isnative:
            raise ValueError(f"Unsupported dtype {self.dtype}")
        places = (self.data.offset, *self.strides)
        assert all(place % self.itemsize == 0 for place in places), "cudaErrorMisalignedAddress"
        self.on_host()


def copy_elements(source, target):
    """Launch the copy kernel; unlike CuPy, without broadcasting and conversion."""
    assert (source.shape, source.dtype) == (target.shape, target.dtype)
    machine.launch(lambda: np.copyto(target.on_host(), source.on_host()), source, target)


def asarray(obj):
    if isinstance(obj, ndarray):
        assert obj.data.device_id == machine.device, "CuPy does more here, and this does not"
        return obj
    return _sent(np.asarray(obj))


def _sent(array):
    """Copy a host array to the device: in native byte order, with a kernel if it has no axis."""
    array = np.array(array, array.dtype.newbyteorder("="), order="F" if array.flags.fnc else "C")
    made = ndarray(array.shape, array.dtype)
    made.strides = array.strides

    def call():
        made.on_host()[...] = array

    if array.ndim == 0 and array != 0:
        machine.launch(call, made)
    elif array.size:
        current_stream().queue.append(call)
    return made


def array(obj, dtype):
    return _sent(np.array(obj, dtype))


def ascontiguousarray(array):
    return array if array.flags.c_contiguous else array.copy()


def _version():
    if machine.failure:
        raise machine.failure
    return 13, 0


class Pool:
    used_bytes = total_bytes = staticmethod(lambda: machine.used[machine.device])

    def free_all_blocks(self):
        pass

    def set_limit(self, size):
        machine.limit[machine.device] = size


def _as_strided(x, shape, strides):
    return ndarray(shape, x.dtype, x.data, strides)


empty = ndarray
lib = SimpleNamespace(stride_tricks=SimpleNamespace(as_strided=_as_strided))
get_default_memory_pool = Pool
cuda = SimpleNamespace(
    Device=Device,
    Stream=Stream,
    get_current_stream=current_stream,
    compiler=SimpleNamespace(CompileException=CompileException),
    memory=SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
    nvrtc=SimpleNamespace(getVersion=_version),
    runtime=SimpleNamespace(
        CUDARuntimeError=CUDARuntimeError,
        getDeviceCount=lambda: len(machine.used),
        getDeviceProperties=lambda _: {"name": b"a device that NumPy plays", "totalGlobalMem": machine.room},
        getDevice=lambda: machine.device,
        memGetInfo=lambda: (machine.room - machine.used[machine.device], machine.room),
    ),
)

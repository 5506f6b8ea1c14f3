"""Execute TensorRT layers eagerly on NumPy arrays, as their documentation describes them.

Tests import this module instead of `tensorrt`. Shape tensors have one axis and dtype int32 or int64, as documented.
"""

from __future__ import annotations

from enum import Enum
from math import prod

import numpy as np

MAX_DIMS = 8


class ElementWiseOperation(Enum):
    """The operations on shape tensors that generated code uses."""

    PROD = "prod"
    FLOOR_DIV = "floor_div"


OPERATIONS = {ElementWiseOperation.PROD: np.multiply, ElementWiseOperation.FLOOR_DIV: np.floor_divide}


def is_shape_tensor(tensor):
    return isinstance(tensor, np.ndarray) and tensor.ndim == 1 and tensor.dtype in (np.int32, np.int64)


class Network:
    """Fake of `trt.INetworkDefinition`."""

    def add_shuffle(self, tensor):
        return Shuffle(tensor)

    def add_slice(self, tensor, start, shape, stride):
        return Slice(tensor, start, shape, stride)

    def add_shape(self, tensor):
        return Layer(np.array(tensor.shape, dtype=np.int64))

    def add_constant(self, shape, weights):
        assert weights.flags.c_contiguous
        assert weights.size == prod(shape), "the number of weights must match the dimensions"
        return Layer(weights.reshape(shape))

    def add_elementwise(self, first, second, op):
        assert (first.dtype, first.ndim) == (second.dtype, second.ndim), "the inputs must be of one type and one rank"
        assert all(1 in pair or len({*pair}) == 1 for pair in zip(first.shape, second.shape, strict=True))
        return Layer(OPERATIONS[op](first, second))

    def add_concatenation(self, tensors):
        assert len({tensor.dtype for tensor in tensors}) == 1, "the inputs must be of one type"
        assert {tensor.ndim for tensor in tensors} == {1}, "the axis is the default one, which is 0 for these only"
        return Layer(np.concatenate(tensors))


class Layer:
    """A layer with one output. Slots reject unknown properties."""

    __slots__ = ("_output",)

    def __init__(self, output):
        self._output = output

    def output(self):
        return self._output

    def get_output(self, index):
        assert index == 0
        tensor = self.output()
        assert tensor.ndim <= MAX_DIMS
        return tensor


class Slice(Layer):
    """Fake of `trt.ISliceLayer`: inputs 1, 2 and 3 override the start, the shape and the stride."""

    __slots__ = ("ranges", "tensor")

    def __init__(self, tensor, start, shape, stride):
        self.tensor, self.ranges = tensor, [start, shape, stride]
        assert len(start) == len(shape) == len(stride) == tensor.ndim <= MAX_DIMS

    def set_input(self, index, tensor):
        assert index in (1, 2, 3)
        assert is_shape_tensor(tensor)
        assert len(tensor) == self.tensor.ndim
        self.ranges[index - 1] = tensor.tolist()

    def output(self):
        indices = [[first + step * i for i in range(count)] for first, count, step in zip(*self.ranges, strict=True)]
        for axis_indices, dim in zip(indices, self.tensor.shape, strict=True):
            assert all(0 <= i < dim for i in axis_indices), "a slice reads outside of its tensor"
        shape = self.ranges[1]
        empty = not self.tensor.ndim or not prod(shape)
        return np.zeros(shape, self.tensor.dtype) if empty else self.tensor[np.ix_(*indices)]


class Shuffle(Layer):
    """Fake of `trt.IShuffleLayer`."""

    __slots__ = ("_dims", "first_transpose", "second_transpose", "tensor", "zero_is_placeholder")

    def __init__(self, tensor):
        self.tensor, self.zero_is_placeholder = tensor, True
        self.first_transpose = self._dims = self.second_transpose = None

    def _set_dims(self, dims):
        assert type(dims) is tuple and all(type(dim) is int for dim in dims)
        self._dims = dims

    reshape_dims = property(fset=_set_dims)
    """The requested dims. As documented, setting them resets input 1, and input 1 resets them."""

    def set_input(self, index, tensor):
        """Take the dims from a shape tensor; 0 and -1 mean the same as in the property."""
        assert index == 1
        assert is_shape_tensor(tensor)
        self._dims = tuple(tensor.tolist())

    def output(self):
        tensor = self.tensor if self.first_transpose is None else np.transpose(self.tensor, self.first_transpose)
        if self._dims is not None:
            tensor = tensor.reshape(self._sizes(tensor.shape))
        assert tensor.ndim <= MAX_DIMS
        return tensor if self.second_transpose is None else np.transpose(tensor, self.second_transpose)

    def _sizes(self, shape):
        """Resolve the placeholders 0 and -1 without relying on the -1 of NumPy."""
        sizes = [shape[index] if dim == 0 and self.zero_is_placeholder else dim for index, dim in enumerate(self._dims)]
        if -1 in sizes:
            known = prod(dim for dim in sizes if dim != -1)
            assert sizes.count(-1) == 1
            assert known, "the solution for -1 becomes indeterminate"
            assert not prod(shape) % known
            sizes[sizes.index(-1)] = prod(shape) // known
        return sizes

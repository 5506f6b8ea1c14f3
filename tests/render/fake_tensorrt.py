"""A network that does at once what TensorRT's layers are documented to do, on NumPy arrays.

It is imported in the place of `tensorrt`. Shape tensors are what the documents call so: of one axis, of int32 or int64.
"""

from __future__ import annotations

from enum import Enum
from math import prod

import numpy as np

MAX_DIMS = 8


class ElementWiseOperation(Enum):
    """Those of the operations that shape tensors may have, and that are needed."""

    PROD = "prod"
    FLOOR_DIV = "floor_div"


OPERATIONS = {ElementWiseOperation.PROD: np.multiply, ElementWiseOperation.FLOOR_DIV: np.floor_divide}


def is_shape_tensor(tensor):
    return isinstance(tensor, np.ndarray) and tensor.ndim == 1 and tensor.dtype in (np.int32, np.int64)


class Network:
    """Stands in for `trt.INetworkDefinition`."""

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
    """A layer with one output. A property that it does not have cannot be set."""

    __slots__ = ("made",)

    def __init__(self, made):
        self.made = made

    def output(self):
        return self.made

    def get_output(self, index):
        assert index == 0
        found = self.output()
        assert found.ndim <= MAX_DIMS
        return found


class Slice(Layer):
    """Stands in for `trt.ISliceLayer`: input 1 is the start, 2 the shape, 3 the stride, in place of what was given."""

    __slots__ = ("given", "tensor")

    def __init__(self, tensor, start, shape, stride):
        self.tensor, self.given = tensor, [start, shape, stride]
        assert len(start) == len(shape) == len(stride) == tensor.ndim <= MAX_DIMS

    def set_input(self, index, tensor):
        assert index in (1, 2, 3)
        assert is_shape_tensor(tensor)
        assert len(tensor) == self.tensor.ndim
        self.given[index - 1] = tensor.tolist()

    def output(self):
        places = [[first + step * at for at in range(count)] for first, count, step in zip(*self.given, strict=True)]
        for read, dim in zip(places, self.tensor.shape, strict=True):
            assert all(0 <= at < dim for at in read), "a slice reads outside of its tensor"
        shape = self.given[1]
        empty = not self.tensor.ndim or not prod(shape)
        return np.zeros(shape, self.tensor.dtype) if empty else self.tensor[np.ix_(*places)]


class Shuffle(Layer):
    """Stands in for `trt.IShuffleLayer`."""

    __slots__ = ("_dims", "first_transpose", "second_transpose", "tensor", "zero_is_placeholder")

    def __init__(self, tensor):
        self.tensor, self.zero_is_placeholder = tensor, True
        self.first_transpose = self._dims = self.second_transpose = None

    def _set_dims(self, dims):
        assert type(dims) is tuple and all(type(dim) is int for dim in dims)
        self._dims = dims

    reshape_dims = property(fset=_set_dims)
    """The dims that were set; as the documents say, to set them resets input 1, and the other way round."""

    def set_input(self, index, tensor):
        """Take the dims of a shape tensor: a 0 and a -1 in it mean what they mean in the property."""
        assert index == 1
        assert is_shape_tensor(tensor)
        self._dims = tuple(tensor.tolist())

    def output(self):
        found = self.tensor if self.first_transpose is None else np.transpose(self.tensor, self.first_transpose)
        if self._dims is not None:
            found = found.reshape(self._sizes(found.shape))
        assert found.ndim <= MAX_DIMS
        return found if self.second_transpose is None else np.transpose(found, self.second_transpose)

    def _sizes(self, shape):
        """Return the sizes that the placeholders stand for; NumPy's own -1 is not asked."""
        sizes = [shape[at] if dim == 0 and self.zero_is_placeholder else dim for at, dim in enumerate(self._dims)]
        if -1 in sizes:
            known = prod(dim for dim in sizes if dim != -1)
            assert sizes.count(-1) == 1
            assert known, "the solution for -1 becomes indeterminate"
            assert not prod(shape) % known
            sizes[sizes.index(-1)] = prod(shape) // known
        return sizes

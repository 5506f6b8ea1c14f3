"""A network that does at once what TensorRT's layers are documented to do, on NumPy arrays."""

from __future__ import annotations

from math import prod

import numpy as np


class Network:
    """Stands in for `trt.INetworkDefinition`."""

    def add_shuffle(self, tensor):
        return Shuffle(tensor)

    def add_shape(self, tensor):
        return Layer(np.array(tensor.shape, dtype=np.int64))

    def add_slice(self, tensor, start, shape, stride):
        assert len(start) == len(shape) == len(stride) == tensor.ndim
        places = [
            [first + step * at for at in range(count)] for first, count, step in zip(start, shape, stride, strict=True)
        ]
        for index, dim in zip(places, tensor.shape, strict=True):
            assert all(0 <= at < dim for at in index), "a slice reads outside of its tensor"
        return Layer(tensor[np.ix_(*places)] if tensor.ndim and prod(shape) else np.zeros(shape, tensor.dtype))


class Layer:
    """A layer with one output."""

    def __init__(self, output):
        self.output = output

    def get_output(self, index):
        assert index == 0
        return self.output


class Shuffle:
    """Stands in for `trt.IShuffleLayer`; a property that it does not have cannot be set."""

    __slots__ = ("first_transpose", "reshape_dims", "second_transpose", "tensor", "zero_is_placeholder")

    def __init__(self, tensor):
        self.tensor, self.zero_is_placeholder = tensor, True
        self.first_transpose = self.reshape_dims = self.second_transpose = None

    def get_output(self, index):
        assert index == 0
        found = self.tensor if self.first_transpose is None else np.transpose(self.tensor, self.first_transpose)
        if self.reshape_dims is not None:
            found = found.reshape(self._sizes(found.shape))
        assert found.ndim <= 8
        return found if self.second_transpose is None else np.transpose(found, self.second_transpose)

    def _sizes(self, shape):
        """Return the sizes that the placeholders stand for; NumPy's own -1 is not asked."""
        sizes = [
            shape[at] if dim == 0 and self.zero_is_placeholder else dim for at, dim in enumerate(self.reshape_dims)
        ]
        if -1 in sizes:
            known = prod(dim for dim in sizes if dim != -1)
            assert sizes.count(-1) == 1
            assert known, "the solution for -1 becomes indeterminate"
            assert not prod(shape) % known
            sizes[sizes.index(-1)] = prod(shape) // known
        return sizes

"""Differences between the Python APIs of frameworks, by dialect.

The names and arguments of functions are in the signatures of the ops.
"""

from __future__ import annotations

from shapecalc.core.ops.op import DialectTable
from shapecalc.core.record import Record


class CodeConventions(Record):
    """The conventions of a framework's functions, methods and layers."""

    numpy_arguments: bool = False
    """Whether functions take NumPy's arguments: `order`, None as an axis, split indices, and one pad width per end."""
    torch_checks: bool = False
    """Whether functions and layers check ranks, biases and element types like PyTorch."""
    is_strided: bool = False
    """Whether code can observe the strides of a tensor, as with PyTorch's views and memory formats."""
    updates_in_place: bool = False
    """Whether `x += y` changes the elements of `x` in place, so that `x` keeps its shape."""
    returns_indices: bool = False
    """Whether `sort`, and `max` along an axis, return a pair of values and indices."""
    stacks_indices: bool = False
    """Whether `nonzero` returns one matrix of indices, instead of a vector for each axis."""
    broadcasts_integers: bool = True
    """Whether an integer in an index is broadcast with the arrays in the index, as in NumPy."""
    repeats_destinations: bool = False
    """Whether `moveaxis` accepts a repeated destination."""
    meshgrid_indexing: str = "xy"
    """The default order of the axes of `meshgrid`."""


CODE_CONVENTIONS = DialectTable(
    {
        "onnx tensorrt onednn openvino paddle mxnet tensorflow tflite coreml caffe": CodeConventions(),
        "torch": CodeConventions(
            torch_checks=True,
            is_strided=True,
            updates_in_place=True,
            returns_indices=True,
            stacks_indices=True,
            broadcasts_integers=False,
            meshgrid_indexing="ij",
        ),
        "numpy": CodeConventions(numpy_arguments=True, updates_in_place=True),
        "jax": CodeConventions(numpy_arguments=True, repeats_destinations=True),
    }
)
"""The conventions of each framework's code.

Sources: the references of PyTorch 2.13, NumPy 2.3 (advanced indexing, `numpy.ndarray.sort`) and JAX.
"""

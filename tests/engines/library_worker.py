"""A worker that asks one library for shapes: `python library_worker.py paddle`, in an environment that has it.

Each line in is a JSON list: an operator, an input shape, an element type and the arguments. Each line out is the output
shape, or null if the library refuses. What else a library prints has no mark in front of it.
"""

from __future__ import annotations

import json
import sys

MARK = "@@"


def indices(slices):
    """Return the Python slices that a text writes."""
    parts = slices.split(",") if slices != "[]" else []
    return tuple(slice(*[int(end) if end else None for end in part.split(":")]) for part in parts)


LAST = 2**62
"""What lies behind the end of every dim."""


def ends_of(slices):
    """Return the starts, the stops and the steps that a text writes, as lists of numbers."""
    parts = indices(slices)
    steps = [1 if part.step is None else part.step for part in parts]
    before, behind = [min(step, 0) and LAST for step in steps], [LAST if step >= 0 else -LAST for step in steps]
    starts = [part.start if part.start is not None else end for part, end in zip(parts, before, strict=True)]
    stops = [part.stop if part.stop is not None else end for part, end in zip(parts, behind, strict=True)]
    return starts, stops, steps


def paddle_operators():
    """Return Paddle's operators by name, and what makes a tensor of a shape."""
    import paddle

    paddle.set_device("cpu")
    operators = {
        "reshape": lambda x, target: paddle.reshape(x, target),
        "transpose": lambda x, perm: paddle.transpose(x, perm),
        "flatten": lambda x, start_dim=0, end_dim=-1: paddle.flatten(x, start_dim, end_dim),
        "squeeze": lambda x, axes=None: paddle.squeeze(x, axes),
        "unsqueeze": lambda x, axes: paddle.unsqueeze(x, axes),
        "expand": lambda x, target: paddle.expand(x, target),
        "shape": lambda x: paddle.shape(x),
        "flip": lambda x, axes: paddle.flip(x, axes),
        "slice": lambda x, slices: x[indices(slices)],
        "split": lambda x, axis, parts, part: paddle.split(x, parts, axis)[part if part >= 0 else parts],
        "roll": lambda x, shift, axis: paddle.roll(x, shift, axis),
        "swapaxes": lambda x, axis1, axis2: paddle.swapaxes(x, axis1, axis2),
        "moveaxis": lambda x, axes, destination: paddle.moveaxis(x, axes, destination),
        "select": lambda x, axis, index: x[(*[slice(None)] * range(x.ndim)[axis], index)],
    }
    return operators, lambda shape, dtype: paddle.zeros(shape).astype(getattr(paddle, dtype))


def mxnet_operators():
    """Return MXNet's operators by name, and what makes an array of a shape: also a scalar, and an empty one."""
    import mxnet
    import numpy

    nd = mxnet.nd
    operators = {
        "reshape": lambda x, target, reverse=False: x.reshape(tuple(target), reverse=reverse),
        "operator": lambda x, target: nd.reshape(x, shape=tuple(target)),
        "transpose": lambda x, perm=(): nd.transpose(x, axes=tuple(perm)),
        "flatten": lambda x: nd.flatten(x),
        "squeeze": lambda x, axes=None: nd.squeeze(x) if axes is None else nd.squeeze(x, axis=tuple(axes)),
        "unsqueeze": lambda x, axes: nd.expand_dims(x, axis=axes[0] if len(axes) == 1 else tuple(axes)),
        "expand": lambda x, target: nd.broadcast_to(x, shape=tuple(target)),
        "shape": lambda x: nd.shape_array(x),
    }

    def make(shape, dtype):
        made = nd.array(numpy.zeros(shape, "float32"))
        if dtype == "bfloat16":
            return nd.amp_cast(made, dtype=numpy.dtype([("bfloat16", numpy.uint16)]))
        return made if dtype == "float32" else made.astype(dtype)  # which is an operator: it takes no empty array

    return operators, make


def tensorflow_operators():
    """Return TensorFlow's operators by name, and what makes a tensor of a shape."""
    import ml_dtypes  # noqa: F401 - gives NumPy its names
    import numpy
    import tensorflow

    tf = tensorflow
    operators = {
        "reshape": lambda x, target: tf.reshape(x, tf.constant(target, tf.int64, (len(target),))),
        "transpose": lambda x, perm=None: tf.transpose(x, perm),
        "squeeze": lambda x, axes=None: tf.squeeze(x, axes),
        "unsqueeze": lambda x, axes: tf.expand_dims(x, axes[0] if len(axes) == 1 else axes),
        "expand": lambda x, target: tf.broadcast_to(x, tf.constant(target, tf.int64, (len(target),))),
        "shape": lambda x: tf.shape(x),
        "flip": lambda x, axes: tf.reverse(x, tf.constant(axes, tf.int32, (len(axes),))),
        "slice": lambda x, slices: x[indices(slices)],
        "split": lambda x, axis, parts, part=0: tf.split(x, parts, axis)[part if part >= 0 else parts],
        "roll": lambda x, shift, axis: tf.roll(x, shift, axis),
        "select": lambda x, axis, index: x[(*[slice(None)] * range(len(x.shape))[axis], index)],
    }
    return operators, lambda shape, dtype: made_of_zeros(tf, numpy, shape, dtype)


def made_of_zeros(tf, numpy, shape, dtype):
    """Return a tensor of zeros; of empty texts, if it holds texts."""
    named = tf.as_dtype(dtype)
    return tf.fill(shape, "") if dtype == "string" else tf.constant(numpy.zeros(shape, named.as_numpy_dtype), named)


def jax_operators():
    """Return JAX's operators by name, and what makes an array of a shape."""
    import jax
    from jax import numpy

    jax.config.update("jax_enable_x64", True)
    operators = {
        "reshape": lambda x, target: numpy.reshape(x, tuple(target)),
        "transpose": lambda x, perm=None: numpy.transpose(x, perm),
        "flatten": lambda x: x.flatten(),
        "squeeze": lambda x, axes=None: numpy.squeeze(x, None if axes is None else tuple(axes)),
        "unsqueeze": lambda x, axes: numpy.expand_dims(x, tuple(axes)),
        "expand": lambda x, target: numpy.broadcast_to(x, tuple(target)),
        "shape": lambda x: x.shape,
        "flip": lambda x, axes: numpy.flip(x, tuple(axes)),
        "slice": lambda x, slices: x[indices(slices)],
        "split": lambda x, axis, parts, part=0: numpy.split(x, parts, axis)[part if part >= 0 else parts],
        "roll": lambda x, shift, axis: numpy.roll(x, shift, axis),
        "select": lambda x, axis, index: x[(*[slice(None)] * range(x.ndim)[axis], index)],
    }
    return operators, lambda shape, dtype: numpy.zeros(shape, getattr(numpy, dtype))


LIBRARIES = {
    "paddle": paddle_operators,
    "mxnet": mxnet_operators,
    "tensorflow": tensorflow_operators,
    "jax": jax_operators,
}


def shape_of(made, op):
    """Return the shape of what an operator made, once it is made; of `shape` the dims that it returns."""
    if hasattr(made, "wait_to_read"):
        made.wait_to_read()
    if op == "shape" and not isinstance(made, tuple):
        made = made.asnumpy() if hasattr(made, "asnumpy") else made.numpy()
    return [int(dim) for dim in (made if op == "shape" else made.shape)]


def main():
    operators, make = LIBRARIES[sys.argv[1]]()
    for line in sys.stdin:
        op, shape, dtype, arguments = json.loads(line)
        try:
            answer = shape_of(operators[op](make(shape, dtype), **arguments), op)
        except Exception:
            answer = None
        print(MARK + json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()

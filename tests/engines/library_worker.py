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
        "tile": lambda x, repeats: paddle.tile(x, repeats),
        "moveaxis": lambda x, axes, destination: paddle.moveaxis(x, axes, destination),
        "select": lambda x, axis, index: x[(*[slice(None)] * range(x.ndim)[axis], index)],
    }
    return operators, lambda shape, dtype: paddle.zeros(shape).astype(getattr(paddle, dtype))


def torch_operators():
    """Return PyTorch's operators for windows by name, and what makes a tensor of a shape."""
    import torch

    F = torch.nn.functional  # noqa: N806 - it is called so everywhere

    def conv(x, weight, transposed=False, padding=0, **arguments):
        name = f"conv{'_transpose' * transposed}{len(weight) - 2}d"
        return getattr(F, name)(x, torch.zeros(weight), padding=halved(padding, len(weight) - 2), **arguments)

    def pool(x, kernel, kind="max", padding=0, ceil=False, **arguments):
        count = len(kernel) if isinstance(kernel, list) and len(kernel) > 1 else max(x.ndim - 2, 1)
        short = "avg" if kind == "average" else "max"
        if kernel == "global":
            return getattr(F, f"adaptive_{short}_pool{count}d")(x, 1)
        call = getattr(F, f"{short}_pool{count}d")
        arguments = {name: value[0] if len(value) == 1 else value for name, value in arguments.items()}
        return call(x, kernel, padding=halved(padding, count), ceil_mode=ceil, **arguments)

    def halved(padding, count):
        return padding[:count] if isinstance(padding, list) and padding[:count] == padding[count:] else padding

    def pad(x, padding, axes=None):
        count = x.ndim if axes is None else len(axes)
        ends = {axis % x.ndim: padding[at::count] for at, axis in enumerate(axes or range(x.ndim))}
        return F.pad(x, [each for axis in reversed(range(x.ndim)) for each in ends.get(axis, (0, 0))])

    def upsample(x, scale=None, size=None):
        return F.interpolate(x, *[each[0] if each and len(each) == 1 else each for each in (size, scale)])

    operators = {"conv": conv, "pool": pool, "pad": pad, "upsample": upsample}
    operators["reshape"] = lambda x, target: x.reshape(target)
    return operators, lambda shape, dtype: torch.zeros(shape, dtype=getattr(torch, dtype))


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
        "tile": lambda x, repeats: tf.tile(x, tf.constant(repeats, tf.int64, (len(repeats),))),
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
        "tile": lambda x, repeats: numpy.tile(x, tuple(repeats)),
        "swapaxes": lambda x, axis1, axis2: numpy.swapaxes(x, axis1, axis2),
        "moveaxis": lambda x, axes, destination: numpy.moveaxis(x, tuple(axes), tuple(destination)),
    }
    return operators, lambda shape, dtype: numpy.zeros(shape, getattr(numpy, dtype))


def tflite_operators():
    """Return TFLite's operators by name; a tensor is its shape and its element type until a model is made for it."""
    import numpy

    def ints(values):
        return numpy.array(values, numpy.int32).reshape(len(values))

    def number(values):
        return numpy.int32(values[0]) if len(values) == 1 else ints(values)

    def strided(x, slices, gone=0):
        lists = [ints([min(max(end, -(2**30)), 2**30) for end in ends]) for ends in ends_of(slices)]
        masks = dict.fromkeys(("beginMask", "endMask"), 0)
        for axis, part in enumerate(indices(slices)):
            masks["beginMask"] |= (part.start is None) << axis
            masks["endMask"] |= (part.stop is None) << axis
        return run_tflite(x, "STRIDED_SLICE", *lists, **masks, shrinkAxisMask=gone)

    def select(x, axis, index):
        place = range(len(x[0]))[axis]
        return strided(x, ",".join([":"] * place + [f"{index}:{index + 1 or ''}:"]), 1 << place)

    operators = {
        "reshape": lambda x, target: run_tflite(x, "RESHAPE", ints(target)),
        "transpose": lambda x, perm: run_tflite(x, "TRANSPOSE", ints(perm)),
        "squeeze": lambda x, axes=(): run_tflite(x, "SQUEEZE", squeezeDims=[*axes]),
        "unsqueeze": lambda x, axes: run_tflite(x, "EXPAND_DIMS", number(axes)),
        "expand": lambda x, target: run_tflite(x, "BROADCAST_TO", ints(target)),
        "shape": lambda x: run_tflite(x, "SHAPE", outType=2),
        "flip": lambda x, axes: run_tflite(x, "REVERSE_V2", ints(axes)),
        "slice": strided,
        "select": select,
        "split": lambda x, axis, parts, part=0: run_tflite(
            *(x, "SPLIT", numpy.int32(axis)), part=part if part >= 0 else parts, numSplits=parts
        ),
    }
    return operators, lambda shape, dtype: (shape, dtype)


def run_tflite(x, name, *constants, part=0, **options):
    """Return what a model of one node gives for zeros of a shape and an element type; of `SHAPE` the dims."""
    import numpy
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    shape, dtype = x
    resolver = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    model = tflite_model(name, constants, options, shape, dtype)
    interpreter = Interpreter(model_content=model, experimental_op_resolver_type=resolver)
    interpreter.allocate_tensors()
    if numpy.prod(shape) and dtype == "float32":
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], numpy.zeros(shape, dtype))
    interpreter.invoke()
    made = interpreter.get_output_details()[part]
    if name != "SHAPE":
        return numpy.empty(made["shape"], numpy.void)
    return (*interpreter.get_tensor(made["index"]),) if shape else ()


def tflite_model(name, constants, options, shape, dtype):
    """Return the bytes of a model of one node, whose first input has a shape and whose others are constants."""
    import flatbuffers
    import numpy
    from ai_edge_litert import schema_py_generated as schema

    def tensor(dims, kind, buffer=0):
        made = schema.TensorT()
        made.shape, made.type, made.buffer = [*dims], getattr(schema.TensorType, kind.upper()), buffer
        made.hasRank = True
        return made

    parts = ("Model", "SubGraph", "Operator", "OperatorCode")
    model, graph, operator, code = (getattr(schema, f"{part}T")() for part in parts)
    code.builtinCode = getattr(schema.BuiltinOperator, name)
    code.deprecatedBuiltinCode, code.version = min(code.builtinCode, 127), 2 if name == "BROADCAST_TO" else 1
    buffers = [schema.BufferT() for _ in range(len(constants) + 1)]
    for buffer, values in zip(buffers[1:], constants, strict=True):
        buffer.data = numpy.frombuffer(values.tobytes(), numpy.uint8)
    made = [tensor((), "int32" if name == "SHAPE" else dtype) for _ in range(options.get("numSplits", 1))]
    known = [tensor(values.shape, "int32", at + 1) for at, values in enumerate(constants)]
    graph.tensors = [tensor(shape, dtype), *known, *made]
    inputs = [*range(len(known) + 1)]
    operator.inputs = inputs[::-1] if name == "SPLIT" else inputs
    operator.outputs = graph.outputs = [*range(len(inputs), len(graph.tensors))]
    graph.inputs, graph.operators = [0], [operator]
    kind = "".join(part.capitalize() for part in name.split("_")) + "Options"
    operator.builtinOptionsType = getattr(schema.BuiltinOptions, kind)
    operator.builtinOptions = getattr(schema, f"{kind}T")()
    for option, value in options.items():
        setattr(operator.builtinOptions, option, value)
    model.version, model.operatorCodes, model.subgraphs, model.buffers = 3, [code], [graph], buffers
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def coreml_operators():
    """Return the operators of Core ML's MIL by name; a tensor is its shape and its element type, as nothing runs."""
    import coremltools
    import numpy
    from coremltools.converters.mil import Builder
    from coremltools.converters.mil.mil import Function, types

    def built(call):
        def made(x, **arguments):
            named = {"float16": "fp16", "float32": "fp32"}.get(x[1], x[1])
            whole = {"x": Builder.placeholder(shape=x[0], dtype=getattr(types, named))}
            with Function(whole, opset_version=coremltools.target.iOS18) as function:
                result = call(function.inputs["x"], **arguments)
            return numpy.empty(result.shape, numpy.void) if hasattr(result, "shape") else result

        return made

    def ints(values):
        return numpy.array(values, numpy.int32)

    def sliced(x, slices):
        parts = [*indices(slices), *[slice(None)] * x.rank][: max(x.rank, slices.count(",") + 1)]
        ends = {"begin": [part.start or 0 for part in parts], "end": [part.stop or 0 for part in parts]}
        masks = {
            "begin_mask": [part.start is None for part in parts],
            "end_mask": [part.stop is None for part in parts],
        }
        return Builder.slice_by_index(
            x=x, stride=[part.step if part.step is not None else 1 for part in parts], **ends, **masks
        )

    def select(x, axis, index):
        place = range(x.rank)[axis]
        taken = [at == place for at in range(x.rank)]
        begin = [index if here else 0 for here in taken]
        rest = [not here for here in taken]
        return Builder.slice_by_index(x=x, begin=begin, end=begin, begin_mask=rest, end_mask=rest, squeeze_mask=taken)

    def split(x, axis, parts, part=0):
        made = Builder.split(x=x, num_splits=parts, axis=axis)
        return (made if isinstance(made, (list, tuple)) else [made])[part if part >= 0 else parts]

    operators = {
        "reshape": lambda x, target: Builder.reshape(x=x, shape=ints(target)),
        "transpose": lambda x, perm: Builder.transpose(x=x, perm=ints(perm)),
        "flatten": lambda x, axis=1: Builder.flatten2d(x=x, axis=axis),
        "squeeze": lambda x, axes=None: Builder.squeeze(x=x, **({} if axes is None else {"axes": ints(axes)})),
        "unsqueeze": lambda x, axes: Builder.expand_dims(x=x, axes=ints(axes)),
        "flip": lambda x, axes: Builder.reverse(x=x, axes=ints(axes)),
        "split": split,
        "slice": sliced,
        "select": select,
    }
    made = {op: built(call) for op, call in operators.items()}
    shape_of_x = built(lambda x: Builder.shape(x=x))
    made["shape"] = lambda x: (shape_of_x(x), tuple(x[0]))[1]
    return made, lambda shape, dtype: (shape, dtype)


LIBRARIES = {
    "torch": torch_operators,
    "paddle": paddle_operators,
    "mxnet": mxnet_operators,
    "tensorflow": tensorflow_operators,
    "jax": jax_operators,
    "tflite": tflite_operators,
    "coreml": coreml_operators,
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

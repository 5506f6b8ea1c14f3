"""Run operators of libraries, with one table for each: `python library_worker.py paddle` runs one library.

Each line in is a JSON list: an operator, an input shape, an element type and the arguments. Each line out is the
output shape, its elements for the input 0, 1, 2 ..., and its strides, as far as the library reports them; or null, if
the library refuses. Other output of a library has no mark before it.
"""

from __future__ import annotations

import json
import math
import sys

MARK = "@@"
LAST = 2**62
"""An index beyond the end of every dim."""
ORDER = ("target", "perm", "repeats", "block", "shift", "axes", "axis", "sizes", "destination", "axis1", "axis2")
ORDER += ("start_dim", "end_dim", "indices")
"""The positional arguments of functions, in their order."""


def indices(slices):
    """Parse Python slices."""
    parts = slices.split(",") if slices != "[]" else []
    return tuple([slice(*[int(end) if end else None for end in part.split(":")]) for part in parts])


def ends_of(slices):
    """Parse slices into lists of starts, stops and steps."""
    parts = indices(slices)
    steps = [1 if part.step is None else part.step for part in parts]
    before, behind = [min(step, 0) and LAST for step in steps], [LAST if step >= 0 else -LAST for step in steps]
    starts = [part.start if part.start is not None else end for part, end in zip(parts, before, strict=True)]
    stops = [part.stop if part.stop is not None else end for part, end in zip(parts, behind, strict=True)]
    return starts, stops, steps


def in_order(call):
    """Return an operator that passes its arguments to a library function by position."""
    return lambda x, **arguments: call(x, *[arguments[name] for name in ORDER if name in arguments])


def operators(library, names, part_of, **calls):
    """Return a table of operators: functions of a library by name, and those of indexable arrays."""
    pairs = [name.split("=") for name in names.split()]
    table = {pair[0]: in_order(getattr(library, pair[-1])) for pair in pairs}
    table |= {op: in_order(call) for op, call in calls.items()}
    return table | {
        "slice": lambda x, slices: x[indices(slices)],
        "select": lambda x, axis, index: x[(*[slice(None)] * range(len(x.shape))[axis], index)],
        "split": lambda x, axis, parts, part=0: part_of(x, parts, axis)[part if part >= 0 else parts],
    }


def pairs_of(rank, padding, axes=None):
    """Return the numbers of positions that a pad adds to both ends of each axis."""
    count = rank if axes is None else len(axes)
    padding = padding * (2 * count) if len(padding) == 1 else padding
    ends = {axis % rank: padding[place::count] for place, axis in enumerate(axes or range(rank))}
    return [ends.get(axis, (0, 0)) for axis in range(rank)]


def padded_last_dims(call, rank, pairs):
    """Return the result of the first call that pads enough of the last dims; `call` takes the reversed pairs."""
    needed = max([rank - axis for axis, ends in enumerate(pairs) if any(ends)], default=1)
    for count in range(needed, rank + 1):
        try:
            return call([number for ends in pairs[: -count - 1 : -1] for number in ends])
        except Exception as error:
            refusal = error
    raise refusal


def array_operators(numpy):
    """Return the operators of NumPy, or of a library with the same interface."""

    def pad(x, padding, axes=None, mode="constant", fill=0):
        keywords = {"constant_values": fill} if mode == "constant" else {}
        return numpy.pad(x, pairs_of(x.ndim, padding, axes), mode, **keywords)

    same = "reshape flip roll tile swapaxes moveaxis transpose squeeze expand=broadcast_to unsqueeze=expand_dims"
    return operators(numpy, same, numpy.split) | {
        "flatten": lambda x: x.flatten(),
        "take": lambda x, axis, indices: numpy.take(x, numpy.array(indices, int), axis),
        "repeat_interleave": lambda x, repeats, axis=None: numpy.repeat(
            x, repeats[0] if len(repeats) == 1 else numpy.array(repeats, int), axis
        ),
        "shape": lambda x, start=None, end=None: x.shape[start:end],
        "pad": pad,
        "mean": lambda x, kind, keepdims, axes=None: numpy.asarray(getattr(numpy, kind)(x, axes, keepdims=keepdims)),
    }


def numpy_library():
    import numpy

    def zeros(shapes):
        return [numpy.zeros(shape) for shape in shapes]

    return numpy.asarray, array_operators(numpy) | {
        "broadcast": lambda x, operands: numpy.broadcast(x, *zeros(operands)),
        "matmul": lambda x, operands: numpy.matmul(x, *zeros(operands)),
        "linear": lambda x, weight: numpy.matmul(x, numpy.zeros(weight[::-1])) if len(weight) == 2 else None,
        "concat": lambda x, axis=0, operands=(): numpy.concatenate([x, *zeros(operands)], axis),
        "stack": lambda x, axis=0, operands=(): numpy.stack([x, *zeros(operands)], axis),
        "einsum": lambda x, pattern, operands=(): numpy.einsum(pattern, x, *zeros(operands)),
    }


def einops_library():
    import einops
    import numpy

    def repeated(x, pattern, lengths=None):
        named = [part.split("=") for part in lengths.split(",")] if lengths else []
        return einops.repeat(x, pattern, **{name: int(size) for name, size in named})

    return numpy.asarray, {"rearrange": repeated}


def jax_library():
    import jax
    from jax import numpy

    jax.config.update("jax_enable_x64", True)
    return lambda array, dtype: numpy.asarray(array).astype(getattr(numpy, dtype)), array_operators(numpy) | {
        "take": lambda x, axis, indices: x[(*[slice(None)] * range(x.ndim)[axis], numpy.array(indices, int))],
    }


def torch_pad(x, padding, axes=None, mode="constant", fill=0):
    from torch.nn.functional import pad

    pairs = pairs_of(x.ndim, padding, axes)
    if mode == "constant":
        return pad(x, [number for ends in reversed(pairs) for number in ends], value=fill)
    name = {"edge": "replicate", "wrap": "circular"}.get(mode, mode)
    return padded_last_dims(lambda flat: pad(x, flat, name), x.ndim, pairs)


def torch_library():
    import torch

    F = torch.nn.functional  # noqa: N806 - it is called so everywhere

    def zeros(shapes):
        return [torch.zeros(shape) for shape in shapes]

    def view(x, target, strides=None):
        return (x if strides is None else torch.arange(1000).as_strided(x.shape, strides)).view(target)

    def conv(x, weight, transposed=False, padding=0, **arguments):
        name = f"conv{'_transpose' * transposed}{len(weight) - 2}d"
        return getattr(F, name)(x, torch.zeros(weight), padding=halved(padding, len(weight) - 2), **arguments)

    def pool(x, kernel, kind="max", padding=0, ceil=False, **arguments):
        count = len(kernel) if isinstance(kernel, tuple) and len(kernel) > 1 else max(x.ndim - 2, 1)
        short = "avg" if kind == "average" else "max"
        if kernel == "global":
            return getattr(F, f"adaptive_{short}_pool{count}d")(x, 1)
        call = getattr(F, f"{short}_pool{count}d")
        arguments = {name: value[0] if len(value) == 1 else value for name, value in arguments.items()}
        return call(x, kernel, padding=halved(padding, count), ceil_mode=ceil, **arguments)

    def halved(padding, count):
        return padding[:count] if isinstance(padding, tuple) and padding[:count] == padding[count:] else padding

    def upsample(x, scale=None, size=None):
        return F.interpolate(x, *[each[0] if each and len(each) == 1 else each for each in (size, scale)])

    def with_meta(call):
        def shuffled(x, block):
            made = call(x, block)  # on the CPU it returns an empty input unchanged; meta tensors lack its checks
            return made if x.numel() else call(x.to("meta"), block)

        return shuffled

    names = "reshape flatten flip squeeze swapaxes moveaxis=movedim roll unflatten"
    table = operators(torch, names, torch.chunk, expand=torch.Tensor.expand, tile=torch.Tensor.repeat)
    table |= {
        "transpose": lambda x, perm=None: x.permute((*range(x.ndim)[::-1],) if perm is None else perm),
        "unsqueeze": lambda x, axes: x.unsqueeze(*axes),
        "take": lambda x, axis, indices: x[(*[slice(None)] * range(x.ndim)[axis], torch.tensor(indices).long())],
        "repeat_interleave": lambda x, repeats, axis=None: x.repeat_interleave(
            repeats[0] if len(repeats) == 1 else torch.tensor(repeats).long(), axis
        ),
        "depth_to_space": with_meta(F.pixel_shuffle),
        "space_to_depth": with_meta(F.pixel_unshuffle),
    }
    names = {"max": "amax", "min": "amin"}
    table["mean"] = lambda x, kind, keepdims, axes=(): getattr(x.double(), names.get(kind, kind))(axes, keepdims)
    table |= {"view": view, "conv": conv, "pool": pool, "pad": torch_pad, "upsample": upsample}
    table |= {
        "shape": lambda x: (*x.shape,),
        "broadcast": lambda x, operands: torch.broadcast_tensors(x, *zeros(operands))[0],
        "matmul": lambda x, operands: torch.matmul(x, *zeros(operands)),
        "linear": lambda x, weight: F.linear(x, torch.zeros(weight)),
        "concat": lambda x, axis=0, operands=(): torch.cat([x, *zeros(operands)], axis),
        "stack": lambda x, axis=0, operands=(): torch.stack([x, *zeros(operands)], axis),
        "einsum": lambda x, pattern, operands=(): torch.einsum(pattern, x, *zeros(operands)),
    }
    return lambda array, dtype: torch.as_tensor(array).to(getattr(torch, dtype)), table


def paddle_library():
    import paddle

    paddle.set_device("cpu")
    names = "reshape transpose squeeze unsqueeze expand flip roll swapaxes tile moveaxis shape flatten"

    def pad(x, padding, axes=None, mode="constant", fill=0):
        pairs = pairs_of(x.ndim, padding, axes)
        if mode == "constant" and min(map(min, pairs)) >= 0:
            return paddle.nn.functional.pad(x, [number for ends in pairs for number in ends], value=fill)
        name = {"edge": "replicate", "wrap": "circular"}.get(mode, mode)
        layout = {3: "NCL", 4: "NCHW", 5: "NCDHW"}[x.ndim]
        last = [number for ends in pairs[:1:-1] for number in ends]
        if any(map(any, pairs[:2])) or 0 in x.shape:  # it fills an empty input with 0
            raise ValueError
        return paddle.nn.functional.pad(x, last, name, value=fill, data_format=layout)

    table = operators(paddle, names, paddle.split) | {"pad": pad}
    return lambda array, dtype: paddle.to_tensor(array).astype(getattr(paddle, dtype)), table


def mxnet_library():
    """Return MXNet's operators, with scalars and empty arrays enabled."""
    import mxnet
    import numpy

    nd = mxnet.nd

    def made(array, dtype):
        whole = nd.array(numpy.asarray(array, "float32"))
        if dtype == "bfloat16":
            return nd.amp_cast(whole, dtype=numpy.dtype([("bfloat16", numpy.uint16)]))
        return whole if dtype == "float32" else whole.astype(dtype)  # an operator, which takes no empty array

    return made, {
        "reshape": lambda x, target, reverse=False: x.reshape(target, reverse=reverse),
        "operator": lambda x, target: nd.reshape(x, shape=target),
        "transpose": lambda x, perm=(): nd.transpose(x, axes=perm),
        "flatten": lambda x: nd.flatten(x),
        "squeeze": lambda x, axes=None: nd.squeeze(x) if axes is None else nd.squeeze(x, axis=axes),
        "unsqueeze": lambda x, axes: nd.expand_dims(x, axis=axes[0] if len(axes) == 1 else axes),
        "expand": lambda x, target: nd.broadcast_to(x, shape=target),
        "shape": lambda x: nd.shape_array(x),
    }


def tensorflow_library():
    import ml_dtypes  # noqa: F401 - gives NumPy its names
    import tensorflow as tf

    def ints(values, kind=tf.int64):
        return tf.constant(values, kind, (len(values),))

    def made(array, dtype):
        named = tf.as_dtype(dtype)
        return tf.fill(array.shape, "") if dtype == "string" else tf.constant(array.astype(named.as_numpy_dtype), named)

    return made, operators(tf, "transpose squeeze shape roll", tf.split) | {
        "reshape": lambda x, target: tf.reshape(x, ints(target)),
        "unsqueeze": lambda x, axes: tf.expand_dims(x, axes[0] if len(axes) == 1 else axes),
        "expand": lambda x, target: tf.broadcast_to(x, ints(target)),
        "mean": lambda x, kind, keepdims, axes=None: getattr(tf, f"reduce_{kind}")(x, axes, keepdims),
        "flip": lambda x, axes: tf.reverse(x, ints(axes, tf.int32)),
        "tile": lambda x, repeats: tf.tile(x, ints(repeats)),
        "take": lambda x, axis, indices: tf.gather(x, ints(indices), axis=axis),
        "pad": lambda x, padding, axes=None, mode="constant", fill=0: tf.pad(
            x, pairs_of(len(x.shape), padding, axes), mode, constant_values=fill
        ),
    }


def openvino_library():
    """Return OpenVINO's operators, whose shapes are inferred without running them."""
    import numpy
    from openvino import opset8

    def ints(values):
        return opset8.constant(numpy.array(values, numpy.int64))

    def inferred(call):
        return in_order(lambda x, *lists: call(x, *map(ints, lists)))

    def sliced(x, slices):
        ends = ends_of(slices)
        return opset8.slice(x, *map(ints, ends), ints([*range(len(ends[0]))]))

    def split(x, axis, parts, part):
        return opset8.split(x, ints(axis), parts).output(part if part >= 0 else parts)

    table = {op: inferred(getattr(opset8, op)) for op in ("unsqueeze", "tile", "roll", "squeeze", "transpose")} | {
        "expand": inferred(opset8.broadcast),
        "select": lambda x, axis, index: opset8.gather(x, ints(index), ints(axis)),
        "take": lambda x, axis, indices: opset8.gather(x, ints(indices), ints(axis)),
        "reshape": lambda x, target, special_zero: opset8.reshape(x, ints(target), special_zero),
        "slice": sliced,
        "split": split,
        "shape": lambda x: (*x.output(0).shape,),
    }
    return lambda array, _: opset8.parameter([*array.shape], numpy.float32), table


def tflite_library():
    """Return TFLite's operators; an array represents a tensor until its model is built."""
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
        place = range(len(x[0].shape))[axis]
        return strided(x, ",".join([":"] * place + [f"{index}:{index + 1 or ''}:"]), 1 << place)

    return lambda array, dtype: (array, dtype), {
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


def run_tflite(x, name, *constants, part=0, **options):
    """Return the output of a one-node model for an array of an element type; for `SHAPE`, the dims."""
    import numpy
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    array, dtype = x
    resolver = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    model = tflite_model(name, constants, options, array.shape, dtype)
    interpreter = Interpreter(model_content=model, experimental_op_resolver_type=resolver)
    interpreter.allocate_tensors()
    if array.size and dtype == "float32":
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], array)
    interpreter.invoke()
    made = interpreter.get_output_details()[part]
    if name != "SHAPE":
        return interpreter.get_tensor(made["index"]) if dtype == "float32" else numpy.empty(made["shape"], numpy.void)
    return (*interpreter.get_tensor(made["index"]),) if array.shape else ()


def tflite_model(name, constants, options, shape, dtype):
    """Encode a one-node model whose first input has a shape and whose other inputs are constants."""
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


def coreml_library():
    """Return the operators of Core ML's MIL; an array represents a tensor, since nothing runs."""
    import coremltools
    import numpy
    from coremltools.converters.mil import Builder
    from coremltools.converters.mil.mil import Function, types

    def built(call):
        def made(x, **arguments):
            named = {"float16": "fp16", "float32": "fp32"}.get(x[1], x[1])
            whole = {"x": Builder.placeholder(shape=x[0].shape, dtype=getattr(types, named))}
            with Function(whole, opset_version=coremltools.target.iOS18) as function:
                result = call(function.inputs["x"], **arguments)
            return numpy.empty(result.shape, numpy.void) if hasattr(result, "shape") else result

        return made

    def ints(values):
        return numpy.array(values, numpy.int32)

    def sliced(x, slices):
        parts = [*indices(slices), *[slice(None)] * x.rank][: max(x.rank, slices.count(",") + 1)]
        found = {"stride": [1 if part.step is None else part.step for part in parts]}
        for name, ends in (("begin", [part.start for part in parts]), ("end", [part.stop for part in parts])):
            found |= {name: [end or 0 for end in ends], f"{name}_mask": [end is None for end in ends]}
        return Builder.slice_by_index(x=x, **found)

    def select(x, axis, index):
        taken = [at == range(x.rank)[axis] for at in range(x.rank)]
        begin, rest = [index * here for here in taken], [not here for here in taken]
        return Builder.slice_by_index(x=x, begin=begin, end=begin, begin_mask=rest, end_mask=rest, squeeze_mask=taken)

    def split(x, axis, parts, part=0):
        made = Builder.split(x=x, num_splits=parts, axis=axis)
        return (made if isinstance(made, (list, tuple)) else [made])[part if part >= 0 else parts]

    table = {
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
    made = {op: built(call) for op, call in table.items()}
    shape_of_x = built(lambda x: Builder.shape(x=x))
    made["shape"] = lambda x: (shape_of_x(x), x[0].shape)[1]
    return lambda array, dtype: (array, dtype), made


def opened(name):
    """Return a function that answers requests to a library of this Python."""
    import numpy

    make, table = globals()[f"{name}_library"]()

    def answer(op, shape, dtype, arguments):
        given = {key: tuple(value) if isinstance(value, list) else value for key, value in arguments.items()}
        array = numpy.arange(numpy.prod(shape, dtype=int), dtype="f4").reshape(shape)
        try:
            return describe_output(table[op](make(array, dtype), **given), op)
        except Exception:
            return None

    return answer


def describe_output(made, op):
    """Return the shape, elements and strides of an output; for `shape`, the dims that it holds."""
    import numpy

    if hasattr(made, "wait_to_read"):
        made.wait_to_read()
    if op == "shape":
        dims = made if isinstance(made, tuple) else made.asnumpy() if hasattr(made, "asnumpy") else made.numpy()
        return [int(dim) for dim in dims], None, None
    shape = [int(dim) for dim in (made.shape if hasattr(made, "shape") else made.output(0).shape)]
    elements = None
    if 0 < math.prod(shape) < 1 << 20 and hasattr(made, "__array__") and "float32" in str(getattr(made, "dtype", "")):
        elements = numpy.asarray(made).ravel().tolist()
    return shape, elements, made.stride() if hasattr(made, "is_contiguous") else None


def main():
    answer = opened(sys.argv[1])
    for line in sys.stdin:
        print(MARK + json.dumps(answer(*json.loads(line))), flush=True)


if __name__ == "__main__":
    main()

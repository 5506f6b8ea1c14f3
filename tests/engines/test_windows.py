"""conv, pool, pad and upsample against ONNX Runtime and PyTorch, and their answers with names against those without."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from onnx import TensorProto, helper

from shapecalc.core.ask import ask
from shapecalc.core.conditions import holds
from shapecalc.core.dims import named_dim
from shapecalc.core.resolve import resolve
from shapecalc.core.results import put_in
from tests.engines.apart import library
from tests.engines.onnx_models import IR_VERSION, session_of

COUNT = 200
OPSET = 22
DISAGREEMENTS = {
    "ONNX Runtime pools with windows that are too large": "it gives a dim of 0",
    "ONNX Runtime pools with no padding of the kernel's size or more": "the text is silent",
    "ONNX Runtime rounds up with VALID": "the text gives ceil((H - k + 1)/s), which is the floor",
    "ONNX Runtime dilates no SAME of Conv, and pads that of MaxPool as if it were not dilated": "the text does not",
    "ONNX Runtime pads no transposed SAME whose kernel is less than its stride": "the text gives H*s",
    "ONNX Runtime crops more than there is beside a pad at the other end": "the text is silent; PyTorch refuses",
    "ONNX Runtime pools no SAME whose kernel is less than its stride": "the padding is then below 0",
    "ONNX Runtime adds nothing at the end if the stride is 1": "the text has less than the dilation; PyTorch adds it",
}
"""Where the engines are known to depart from the text, by name; the draws below step around each."""
torch = library("torch")


def numbers(random, count, low, high):
    """Return a number, or one for each of `count` axes."""
    return tuple(random.randint(low, high) for _ in range(random.choice((1, count))))


def window(random, count):
    """Return the arguments that conv and pool share."""
    drawn = {"stride": numbers(random, count, 1, 3), "dilation": numbers(random, count, 1, 2)}
    pads = numbers(random, count, 0, 2), tuple(random.randint(0, 2) for _ in range(2 * count))
    drawn["padding"] = random.choice((*pads, pads[0], "same", "valid"))
    return {name: value for name, value in drawn.items() if random.random() < 0.6}


def drawn_conv(random, dialect):
    count, groups = random.choice((1, 2, 2, 3)), random.choice((1, 1, 2, 3))
    kernel = [random.randint(1, 4) for _ in range(count)]
    each, out = random.randint(1, 3), random.randint(1, 3) * random.choice((groups, groups, groups, 1))
    channels = each * groups + (random.random() < 0.1)
    arguments = window(random, count) | ({"groups": groups} if groups > 1 else {})
    weight = (out, each, *kernel)
    if random.random() < 0.3:
        weight = (each * groups, out, *kernel)
        arguments["transposed"] = True
        if random.random() < 0.5:
            arguments["output_padding"] = numbers(random, count, 0, 2)
    batch = [random.choice((0, 1, 2, 2))] * (dialect == "onnx" or random.random() < 0.8)
    return (*batch, channels, *[random.randint(1, 9) for _ in range(count)]), {"weight": weight, **arguments}


def drawn_pool(random, dialect):
    count, kind = random.choice((1, 2, 2, 3)), random.choice(("max", "average"))
    arguments = {"kernel": numbers(random, count, 1, 4), "kind": kind, **window(random, count)}
    if random.random() < 0.4:
        arguments["ceil"] = True
    if random.random() < 0.1:
        arguments = {"kernel": "global", "kind": kind}
    batch = [random.randint(1, 2)] * (dialect == "onnx" or random.random() < 0.8)
    return (*batch, 2, *[random.randint(1, 9) for _ in range(count)]), arguments


def drawn_pad(random, _dialect):
    shape = [random.randint(0, 4) for _ in range(random.randint(1, 4))]
    axes = [
        axis - random.choice((0, len(shape)))
        for axis in random.sample(range(len(shape)), random.randint(1, len(shape)))
    ]
    arguments = {"axes": tuple(axes)} if random.random() < 0.5 else {}
    count = len(axes) if arguments else len(shape)
    pads = [random.choice((-2, -1, 0, 0, 1, 2, 3)) for _ in range(2 * count - (count > 1 and random.random() < 0.1))]
    return tuple(shape), {"padding": tuple(pads), **arguments}


def drawn_upsample(random, _dialect):
    count = random.randint(1, 3)
    scales = [random.choice((0.25, 0.5, 1, 1.5, 2, 3)) for _ in range(random.choice((1, count)))]
    sizes = numbers(random, count, 0, 9)
    arguments = {"size": sizes} if random.random() < 0.3 else {"scale": tuple(scales)}
    return (random.randint(1, 2), 2, *[random.randint(1, 9) for _ in range(count)]), arguments


DRAWS = {"conv": drawn_conv, "pool": drawn_pool, "pad": drawn_pad, "upsample": drawn_upsample}


def draws(op, dialect):
    random = Random(op)
    return [DRAWS[op](random, dialect) for _ in range(COUNT)]


def answer(op, shape, arguments, dialect):
    return resolve(ask(op, shape, {**arguments, "dialect": dialect, **({"opset": OPSET} if dialect == "onnx" else {})}))


# ONNX Runtime.


def each(values, count):
    return list(values) * (count // len(values)) if count % len(values) == 0 else list(values)


def node_of(op, shape, arguments):
    """Return the operator, its attributes and its constant inputs."""
    count = len(shape) - 2
    names = {"stride": "strides", "dilation": "dilations", "output_padding": "output_padding"}
    attributes = {names[name]: each(value, count) for name, value in arguments.items() if name in names}
    padding = arguments.get("padding")
    if isinstance(padding, str):
        attributes["auto_pad"] = {"same": "SAME_UPPER", "same-lower": "SAME_LOWER", "valid": "VALID"}[padding]
    elif padding is not None:
        attributes["pads"] = each(padding, 2 * count)
    if op == "conv":
        attributes["group"] = arguments.get("groups", 1)
        name = "ConvTranspose" if arguments.get("transposed") else "Conv"
        return name, attributes, [np.zeros(arguments["weight"], np.float32)]
    if op == "pool":
        name = "MaxPool" if arguments["kind"] == "max" else "AveragePool"
        if arguments["kernel"] == "global":
            return f"Global{name}", {}, []
        kernel = {"kernel_shape": each(arguments["kernel"], count), "ceil_mode": int(arguments.get("ceil", False))}
        return name, attributes | kernel, []
    if op == "pad":
        axes = [None, np.array(arguments["axes"], np.int64)] if "axes" in arguments else []
        return "Pad", {}, [np.array(arguments["padding"], np.int64), *axes]
    if "size" in arguments:
        return "Resize", {}, [None, None, np.array([*shape[:2], *each(arguments["size"], count)], np.int64)]
    return "Resize", {}, [None, np.array([1, 1, *each(arguments["scale"], count)], np.float32)]


def ran(op, shape, arguments):
    """Return the shape that ONNX Runtime gives; None if it refuses."""
    name, attributes, constants = node_of(op, shape, arguments)
    held = {f"c{at}": value for at, value in enumerate(constants) if value is not None}
    inputs = ["x", *["" if value is None else f"c{at}" for at, value in enumerate(constants)]]
    kinds = {"f": TensorProto.FLOAT, "i": TensorProto.INT64}
    known = [
        helper.make_tensor(key, kinds[value.dtype.kind], value.shape, value.ravel()) for key, value in held.items()
    ]
    ends = [
        helper.make_tensor_value_info(*end) for end in (("x", TensorProto.FLOAT, shape), ("y", TensorProto.FLOAT, None))
    ]
    graph = helper.make_graph([helper.make_node(name, inputs, ["y"], **attributes)], "g", ends[:1], ends[1:], known)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    try:
        return session_of(model.SerializeToString()).run(None, {"x": np.zeros(shape, np.float32)})[0].shape
    except Exception as error:
        if "onnxruntime" not in type(error).__module__:
            raise
        return None


def departs(op, shape, arguments, ours):
    """Say whether ONNX Runtime departs from the text for a request."""
    count, padding = max(len(shape) - 2, 0), arguments.get("padding")
    stride, reach = (each(arguments.get(name, (1,)), count) for name in ("stride", "dilation"))
    rule = ours.problem and ours.problem.rule
    if op == "pad":
        pairs = [*zip(padding, padding[len(padding) // 2 :], strict=False)]
        return rule == "nothing-left" and any(max(pair) > 0 > min(pair) for pair in pairs)
    if arguments.get("transposed"):
        kernel = [d * (k - 1) + 1 for k, d in zip(arguments["weight"][2:], reach, strict=False)]
        added = each(arguments.get("output_padding", (0,)), count)
        short = padding == "same" and any(k < s for k, s in zip(kernel, stride, strict=False))
        return short or any(more >= s for more, s in zip(added, stride, strict=False))
    dilated = padding == "same" and max(reach) > 1
    if op == "pool" and arguments["kernel"] != "global":
        kernel = each(arguments["kernel"], count)
        if padding == "same" and any(k < s for k, s in zip(kernel, stride, strict=False)):
            return True
        pads = (0,) if padding is None or isinstance(padding, str) else padding
        padded = any(p >= k for p, k in zip(each(pads, 2 * count), kernel * 2, strict=False))
        return padded or rule == "window-too-large" or (padding, "ceil" in arguments) == ("valid", True) or dilated
    return op == "conv" and dilated


@pytest.mark.parametrize("op", DRAWS)
def test_onnxruntime_agrees_or_both_refuse(op):
    agreed = 0
    for shape, arguments in draws(op, "onnx"):
        ours = answer(op, shape, arguments, "onnx")
        if not departs(op, shape, arguments, ours):
            assert ours.output == ran(op, shape, arguments), (shape, arguments, ours.problem)
            agreed += ours.output is not None
    assert agreed > COUNT / 4


@pytest.mark.parametrize("op", DRAWS)
def test_torch_agrees_or_both_refuse(op, torch):
    for shape, arguments in draws(op, "torch"):
        ours = answer(op, shape, arguments, "torch")
        assert ours.output == torch.ask(op, shape, **arguments), (shape, arguments, ours.problem)


@pytest.mark.parametrize("dialect", ["onnx", "torch"])
@pytest.mark.parametrize("op", DRAWS)
def test_names_filled_in_agree(op, dialect):
    for shape, arguments in draws(op, dialect):
        if dialect == "torch" and op == "conv" and len(shape) != len(arguments["weight"]):
            continue
        sizes = {f"{'NCHWD'[axis]}": size for axis, size in enumerate(shape)}
        named = answer(op, tuple(named_dim(name) for name in sizes), arguments, dialect)
        plain = answer(op, shape, arguments, dialect).output
        if 0 in shape and {name for name, size in sizes.items() if size == 0} & {*named.assumes}:
            continue
        if named.output is None or not holds(named.conditions, sizes):
            assert plain is None, (shape, arguments)
        else:
            assert put_in(named.output, named.results, sizes) == plain, (shape, arguments, str(named))

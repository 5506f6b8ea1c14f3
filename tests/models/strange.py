"""Models that are written wrongly: operators with inputs, outputs, attributes and graphs that are not theirs."""

from __future__ import annotations

import numpy as np
from onnx import AttributeProto, ModelProto, TensorProto, helper, numpy_helper

from shapecalc.models.operators import CONTRIBUTED, OWN

OPS = [*sorted({*OWN, *CONTRIBUTED, "SequenceMap"}), *["If", "Loop", "Scan", "Reshape", "Transpose"] * 8]
WORDS = """
    axis axes perm shape keepdims pads to value num_outputs group strides kernel_shape mode blocksize start end
    allowzero num_scan_inputs scan_input_axes scan_output_axes starts ends split transA equation batch_dims value_int
    value_ints layout hidden_size transB num_heads repeats batch_axis time_axis then_branch else_branch body
"""
ATTRIBUTES = WORDS.split()
NUMBERS = (0, 1, -1, 2, 3, -2, 7, 100, 2**31, 2**62, -(2**63), 10**12)
TEXTS = (b"", b"NOTSET", b"CRD", b"ij->ji", b"\xff")
GRAPHS = ("then_branch", "else_branch", "body")
DIMS = (["N", 6], [1, 6], [1, 2, 3, 4], None, [], ["N", "M"], [0, 3])
OPSETS = (0, 1, 5, 7, 9, 11, 13, 17, 18, 21, 23, 999)


def strange_model(random):
    """Return a model that a random generator draws, as it is read from a file."""
    opsets = [("", random.choice(OPSETS)), ("com.microsoft", 1)]
    imported = [helper.make_opsetid(*each) for each in opsets]
    made = helper.make_model(_graph(random, 0), opset_imports=imported, ir_version=8)
    return ModelProto.FromString(made.SerializeToString())


def _graph(random, depth):
    names = ["x", "c0", "c1", "c2", "", *[f"d{depth}_{at}" for at in range(4)]]
    nodes = []
    for place in range(random.randrange(1, 5)):
        node = _node(random, names, f"g{depth}_{place}", depth)
        nodes.append(node)
        names += [each for each in node.output if each] * 2
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, random.choice(DIMS))]
    if depth:
        kinds = [(random.choice([1, 7, 9]), random.choice([None, [], [2]])) for _ in range(random.randrange(4))]
        inputs = [helper.make_tensor_value_info(f"d{depth}_{at}", *kind) for at, kind in enumerate(kinds)]
    outputs = [random.choice([each for each in names if each]) for _ in range(random.randrange(4))]
    made = [helper.make_tensor_value_info(each, TensorProto.FLOAT, None) for each in outputs]
    return helper.make_graph(nodes, "g", inputs, made, [] if depth else _constants(random))


def _constants(random):
    vector = np.array([random.choice([0, 1, -1, 2, 3, 6]) for _ in range(random.randrange(4))], np.int64)
    scalar, floats = np.array(random.choice([0, 1, 2, -1, 5])), np.ones((2, 3), np.float32)
    return [numpy_helper.from_array(array, name) for name, array in (("c0", vector), ("c1", scalar), ("c2", floats))]


def _node(random, names, output, depth):
    op = random.choice(OPS)
    inputs = [random.choice(names) for _ in range(random.randrange(5))]
    outputs = [f"{output}_{at}" if random.random() < 0.9 else "" for at in range(random.choice([0, 1, 1, 1, 2, 3]))]
    domain = random.choice(["", "", "", "", "", "com.microsoft", "own"])
    node = helper.make_node(op, inputs, outputs, name=random.choice(["", "n", output]), domain=domain)
    node.attribute.extend([_attribute(random, depth) for _ in range(random.choice([0, 0, 1, 1, 2, 4]))])
    return node


def _attribute(random, depth):
    name, kind = random.choice(ATTRIBUTES), random.randrange(8)
    numbers = [random.choice(NUMBERS) for _ in range(random.randrange(4))]
    if name in GRAPHS and depth < 2:
        return helper.make_attribute(name, _graph(random, depth + 1))
    if kind < 3:
        return AttributeProto(name=name, type=AttributeProto.INTS, ints=numbers)
    if kind < 6:
        made = [random.choice(NUMBERS), random.choice(TEXTS), random.random()][kind - 3]
        return helper.make_attribute(name, made)
    if kind == 6:
        return helper.make_attribute(name, numpy_helper.from_array(np.array(numbers, np.int64), "held"))
    return AttributeProto(name=name, type=random.randrange(15))

"""Ops of several operands against NumPy, ONNX Runtime and PyTorch: the same shape, or both refuse.

Requests are drawn by seed. `SHAPECALC_TORCH_PYTHON` names a Python that has PyTorch. Empty operands are left out where
engines are at fault: ONNX Runtime's MatMul refuses them or repeats them wrongly, and PyTorch's einsum divides by their
work. ONNX Runtime's Einsum may crash where an ellipsis stands for different numbers of dims, so it is not asked.
"""

from __future__ import annotations

import json
import os
import subprocess
from random import Random

import numpy as np
import pytest
from onnx import TensorProto, helper

from shapecalc.core.ask import ask
from shapecalc.core.conditions import holds
from shapecalc.core.resolve import resolve
from shapecalc.core.results import put_in, settled
from tests.engines.onnx_models import IR_VERSION, session_of

CASES = 200
SIZES = (1, 2, 3, 3, 4)
OR_EMPTY = (*SIZES, 0)
OPS = ("broadcast", "matmul", "linear", "concat", "stack", "einsum")
OPSET = 21
TORCH = os.environ.get("SHAPECALC_TORCH_PYTHON")
WORKER = """
import json, sys, torch
RUN = {
    "broadcast": lambda a, xs: torch.broadcast_tensors(*xs)[0],
    "matmul": lambda a, xs: torch.matmul(*xs),
    "linear": lambda a, xs: torch.nn.functional.linear(*xs),
    "concat": lambda a, xs: torch.cat(xs, a.get("axis", 0)),
    "stack": lambda a, xs: torch.stack(xs, a.get("axis", 0)),
    "einsum": lambda a, xs: torch.einsum(a["pattern"], *xs),
}
for op, shapes, arguments in json.load(sys.stdin):
    try:
        print(json.dumps([*RUN[op](arguments, [torch.zeros(shape) for shape in shapes]).shape]))
    except (RuntimeError, IndexError, TypeError, ValueError):
        print("null")
"""
NAMES = {"N": 4, "M": 4, "K": 3, "H": 2, "W": 1}


def drawn(op, seed, sizes):
    """Return the shapes of operands and the arguments of a request, most of which fit."""
    random = Random(f"{op} {seed}")
    size, spoilt = lambda: random.choice(sizes), random.random() < 0.25

    def spoil(shape):
        return tuple([size() if spoilt and random.random() < 0.4 else dim for dim in shape])

    def aligned(shape):
        return tuple([random.choice([dim, dim, 1]) for dim in shape[random.randint(0, len(shape)) :]])

    batch = tuple([size() for _ in range(random.randint(0, 2))])
    if op == "broadcast":
        return [spoil(aligned((*batch, size(), size()))) for _ in range(random.randint(2, 3))], {}
    if op in ("matmul", "linear"):
        rows, inner, columns = (size() for _ in range(3))
        vector = random.random() < 0.2
        left = (inner,) if random.random() < 0.2 else (*aligned(batch), rows, inner)
        if op == "linear":
            return [left, spoil((inner,) if vector else (columns, inner))], {}
        return [left, spoil((inner,) if vector else (*aligned(batch), inner, columns))], {}
    if op == "einsum":
        return drawn_einsum(random, size, spoil)
    shape, rank = (*batch, size(), size()), len(batch) + 2
    axis = random.randint(-rank - 1, rank)
    others = [shape] * random.randint(1, 3)
    if op == "concat" and -rank <= axis < rank:
        place = axis % rank
        others = [(*shape[:place], size(), *shape[place + 1 :]) for _ in others]
    others = [(0,) if spoilt and random.random() < 0.3 else each for each in others]
    return [shape, *map(spoil, others)], {"axis": axis}


def drawn_einsum(random, size, spoil):
    lengths = {label: size() for label in "abcd"}
    rest = tuple([size() for _ in range(random.randint(0, 2))])
    terms, shapes = [], []
    for _ in range(random.randint(1, 3)):
        labels = [random.choice("abcd") for _ in range(random.randint(0, 3))]
        shape = [random.choice([lengths[label]] * 4 + [1]) for label in labels]
        if random.random() < 0.3:
            own = rest if random.random() < 0.8 else rest[1:]
            place = random.randint(0, len(labels))
            labels[place:place], shape[place:place] = ["..."], own
        terms.append(random.choice(["", " "]).join(labels))
        shapes.append(spoil(tuple(shape)))
    pattern = ",".join(terms)
    if random.random() < 0.7:
        kept = sorted({*"".join(terms)} - {".", " "})
        random.shuffle(kept)
        ellipsis = "..." if "..." in pattern and random.random() < 0.8 else ""
        pattern += "->" + ellipsis + "".join(kept[: random.randint(0, len(kept))])
    return shapes, {"pattern": pattern}


def asked(op, shapes, arguments, dialect, **options):
    """Return our answer to a request; `None` for a request of which the reading itself is refused."""
    others = {"weight": shapes[1]} if op == "linear" else {"operands": shapes[1:]} if shapes[1:] else {}
    return resolve(ask(op, shapes[0], {**others, **arguments, "dialect": dialect, **options}))


def by_numpy(op, shapes, arguments):
    arrays = [np.zeros(shape, np.float32) for shape in shapes]
    run = {
        "broadcast": lambda: np.broadcast(*arrays),
        "matmul": lambda: np.matmul(*arrays),
        "linear": lambda: np.matmul(arrays[0], arrays[1].T) if arrays[1].ndim == 2 else None,
        "concat": lambda: np.concatenate(arrays, arguments.get("axis", 0)),
        "stack": lambda: np.stack(arrays, arguments.get("axis", 0)),
        "einsum": lambda: np.einsum(arguments["pattern"], *arrays),
    }[op]
    try:
        made = run()
        return None if made is None else tuple(made.shape)
    except (ValueError, np.exceptions.AxisError):
        return None


def by_onnxruntime(op, shapes, arguments):
    names = [f"x{place}" for place in range(len(shapes))]
    make, nodes = helper.make_node, []
    if op == "broadcast":
        nodes = [make("Add", names[:2], ["s"]), make("Add", ["s", names[-1]], ["y"])]
    elif op == "linear":
        nodes = [make("Transpose", ["x1"], ["t"], perm=[1, 0]), make("MatMul", ["x0", "t"], ["y"])]
    elif op == "stack":
        nodes = [make("Unsqueeze", [name, "axis"], [f"u{name}"]) for name in names]
        nodes.append(make("Concat", [f"u{name}" for name in names], ["y"], **arguments))
    else:
        attributes = {{"pattern": "equation"}.get(name, name): value for name, value in arguments.items()}
        nodes = [make({"matmul": "MatMul", "concat": "Concat", "einsum": "Einsum"}[op], names, ["y"], **attributes)]
    axes = [helper.make_tensor("axis", TensorProto.INT64, [1], [arguments["axis"]])] if op == "stack" else []
    named = [*zip(names, shapes, strict=True)]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [*shape]) for name, shape in named]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", inputs, [output], axes)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    feeds = {name: np.zeros(shape, np.float32) for name, shape in named}
    try:
        return tuple(session_of(model.SerializeToString()).run(None, feeds)[0].shape)
    except Exception as error:
        if "onnxruntime" not in type(error).__module__:
            raise
        return None


def apart(op, dialect, sizes, theirs, **options):
    """Return the requests to which an engine has another answer than we have."""
    found = []
    for seed in range(CASES):
        shapes, arguments = drawn(op, seed, sizes)
        answer = asked(op, shapes, arguments, dialect, **options)
        if dialect == "onnx" and answer.problem and answer.problem.rule == "rest-differs":
            continue
        engine = theirs(op, shapes, arguments)
        found += [(shapes, arguments, answer.output, engine)] if answer.output != engine else []
    return found


@pytest.mark.parametrize("op", OPS)
def test_numpy_has_the_same_shape_or_refuses_too(op):
    assert apart(op, "numpy", OR_EMPTY, by_numpy) == []


@pytest.mark.parametrize("op", OPS)
def test_onnxruntime_has_the_same_shape_or_refuses_too(op):
    assert apart(op, "onnx", SIZES, by_onnxruntime, opset=OPSET) == []


@pytest.mark.skipif(TORCH is None, reason="no Python with PyTorch is named")
@pytest.mark.parametrize("op", OPS)
def test_torch_has_the_same_shape_or_refuses_too(op):
    sizes = SIZES if op == "einsum" else OR_EMPTY
    requests = [(op, *drawn(op, seed, sizes)) for seed in range(CASES)]
    answers = subprocess.run([TORCH, "-c", WORKER], input=json.dumps(requests), capture_output=True, text=True).stdout
    engine = iter(answers.splitlines())
    lookup = lambda *_: tuple(found) if (found := json.loads(next(engine))) is not None else None  # noqa: E731
    assert apart(op, "torch", sizes, lookup) == []


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dialect", ["numpy", "onnx", "torch", "tensorflow"])
def test_names_with_sizes_put_in_have_the_same_answer(op, dialect):
    met = 0
    for seed in range(CASES):
        shapes, arguments = drawn(op, seed, (*NAMES, 1, 3))
        if (answer := asked(op, shapes, arguments, dialect)).output is None:
            continue
        for turn in range(4):
            sizes = {name: Random(seed + turn).choice([size, 1, 2, 3]) for name, size in NAMES.items()}
            if not holds(answer.conditions, settled(answer.results, sizes)):
                continue
            filled = [tuple([sizes.get(dim, dim) for dim in shape]) for shape in shapes]
            concrete = asked(op, filled, arguments, dialect)
            met += 1
            assert concrete.output == put_in(answer.output, answer.results, sizes), (shapes, arguments, sizes)
    assert met > CASES / 4

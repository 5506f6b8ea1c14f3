"""Ops of several operands and of windows agree with NumPy, ONNX Runtime and PyTorch, or both refuse.

Requests are drawn by seed, and their names, with sizes put in, must have the answer of those sizes. Empty operands are
left out where engines are at fault: ONNX Runtime's MatMul refuses them or repeats them wrongly, and PyTorch's einsum
divides by their work. ONNX Runtime's Einsum may crash where an ellipsis stands for different numbers of dims.
"""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from shapecalc.core.answers import Request, Trace
from shapecalc.core.conditions import can_hold
from shapecalc.core.dims import named_dim
from shapecalc.core.problem import ShapeError
from shapecalc.core.requests import make_request
from shapecalc.core.resolve import resolve
from shapecalc.core.results import sizes_with_results, substitute_results
from tests.engines.onnx_models import runtime_shape

COUNT = 150
SIZES = (1, 2, 3, 3, 4)
OR_EMPTY = (*SIZES, 0)
OPSET = 22
DIALECTS = {"numpy": {}, "torch": {}, "tensorflow": {}, "onnx": {"opset": OPSET}, "onnxruntime": {"opset": OPSET}}
NAMES = {"N": 4, "M": 4, "K": 3, "H": 2, "W": 1}


def draw_operands(op, random, sizes):
    """Return the shape and the arguments of a request with operands, mostly a valid one."""
    size, spoilt = lambda: random.choice(sizes), random.random() < 0.25

    def spoil(shape):
        return tuple([size() if spoilt and random.random() < 0.4 else dim for dim in shape])

    def aligned(shape):
        return tuple([random.choice([dim, dim, 1]) for dim in shape[random.randint(0, len(shape)) :]])

    batch = tuple([size() for _ in range(random.randint(0, 2))])
    if op == "broadcast":
        first, *others = [spoil(aligned((*batch, size(), size()))) for _ in range(random.randint(2, 3))]
        return first, {"operands": others}
    if op in ("matmul", "linear"):
        rows, inner, columns = (size() for _ in range(3))
        left = (inner,) if random.random() < 0.2 else (*aligned(batch), rows, inner)
        vector = random.random() < 0.2
        if op == "linear":
            return left, {"weight": spoil((inner,) if vector else (columns, inner))}
        return left, {"operands": [spoil((inner,) if vector else (*aligned(batch), inner, columns))]}
    if op == "einsum":
        return draw_einsum(random, size, spoil)
    shape, rank = (*batch, size(), size()), len(batch) + 2
    axis = random.randint(-rank - 1, rank)
    others = [shape] * random.randint(1, 3)
    if op == "concat" and -rank <= axis < rank:
        place = axis % rank
        others = [(*shape[:place], size(), *shape[place + 1 :]) for _ in others]
    others = [(0,) if spoilt and random.random() < 0.3 else other for other in others]
    return shape, {"axis": axis, "operands": [*map(spoil, others)]}


def draw_einsum(random, size, spoil):
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
    return shapes[0], {"pattern": pattern, **({"operands": shapes[1:]} if shapes[1:] else {})}


def numbers(random, count, low, high):
    """Return one number, or a number for each of `count` axes."""
    return tuple([random.randint(low, high) for _ in range(random.choice((1, count)))])


def window(random, count):
    """Return the common arguments of conv and pool."""
    drawn = {"stride": numbers(random, count, 1, 3), "dilation": numbers(random, count, 1, 2)}
    pads = numbers(random, count, 0, 2), tuple([random.randint(0, 2) for _ in range(2 * count)])
    drawn["padding"] = random.choice((*pads, pads[0], "same", "same-lower", "valid"))
    return {name: value for name, value in drawn.items() if random.random() < 0.6}


def image(random, channels, count, batch):
    return (*batch, channels, *[random.randint(1, 9) for _ in range(count)])


def draw_conv(random, batched):
    count, groups = random.choice((1, 2, 2, 3)), random.choice((1, 1, 2, 3))
    kernel = [random.randint(1, 4) for _ in range(count)]
    each_group, out = random.randint(1, 3), random.randint(1, 3) * random.choice((groups, groups, groups, 1))
    arguments = window(random, count) | ({"groups": groups} if groups > 1 else {})
    weight = (out, each_group, *kernel)
    if random.random() < 0.3:
        weight = (each_group * groups, out, *kernel)
        arguments["transposed"] = True
        if random.random() < 0.5:
            arguments["output_padding"] = numbers(random, count, 0, 2)
    batch = [random.choice((0, 1, 2, 2))] * (batched or random.random() < 0.8)
    channels = each_group * groups + (random.random() < 0.1)
    return image(random, channels, count, batch), {"weight": weight, **arguments}


def draw_pool(random, batched):
    count, kind = random.choice((1, 2, 2, 3)), random.choice(("max", "average"))
    arguments = {"kernel": numbers(random, count, 1, 4), "kind": kind, **window(random, count)}
    if random.random() < 0.4:
        arguments["ceil"] = True
    if random.random() < 0.1:
        arguments = {"kernel": "global", "kind": kind}
    return image(random, 2, count, [random.randint(1, 2)] * (batched or random.random() < 0.8)), arguments


def draw_pad(random, _batched):
    shape = [random.randint(0, 4) for _ in range(random.randint(1, 4))]
    axes = random.sample(range(len(shape)), random.randint(1, len(shape)))
    axes = [axis - random.choice((0, len(shape))) for axis in axes]
    arguments = {"axes": tuple(axes)} if random.random() < 0.5 else {}
    count = len(axes) if arguments else len(shape)
    pads = [random.choice((-2, -1, 0, 0, 1, 2, 3)) for _ in range(2 * count - (count > 1 and random.random() < 0.1))]
    return tuple(shape), {"padding": tuple(pads), **arguments}


def draw_upsample(random, _batched):
    count = random.randint(1, 3)
    scales = [random.choice((0.25, 0.5, 1, 1.5, 2, 3)) for _ in range(random.choice((1, count)))]
    sizes = numbers(random, count, 0, 9)
    arguments = {"size": sizes} if random.random() < 0.3 else {"scale": tuple(scales)}
    return image(random, 2, count, [random.randint(1, 2)]), arguments


OPERANDS = ("broadcast", "matmul", "linear", "concat", "stack", "einsum")
WINDOWS = {"conv": draw_conv, "pool": draw_pool, "pad": draw_pad, "upsample": draw_upsample}
WINDOW_DIALECTS = ("onnx", "onnxruntime", "torch")


def requests(op, dialect, sizes=SIZES):
    for seed in range(COUNT):
        random = Random(f"{op} {seed}")
        yield WINDOWS[op](random, dialect != "torch") if op in WINDOWS else draw_operands(op, random, sizes)


def answer(op, shape, arguments, dialect):
    try:
        return resolve(make_request(op, shape, {**arguments, **DIALECTS[dialect], "dialect": dialect}))
    except ShapeError as error:  # PyTorch's average pools have no dilation
        return Trace(Request(op, shape), problem=error.problem)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("op", [*OPERANDS, *WINDOWS])
def test_onnxruntime_operand_shapes_agree(op):
    agreed, as_specified = 0, 0
    for shape, arguments in requests(op, "onnx"):
        ours = answer(op, shape, arguments, "onnxruntime")
        if ours.problem and ours.problem.rule == "rest-differs":
            continue
        assert ours.output == runtime_shape(op, shape, arguments, OPSET), (shape, arguments, ours.problem)
        agreed += ours.output is not None
        as_specified += ours.output is not None and ours.output == answer(op, shape, arguments, "onnx").output
    assert as_specified > COUNT / 4
    assert as_specified < agreed or op not in ("conv", "pool")


@pytest.mark.parametrize(
    ("name", "op"), [*[("numpy", op) for op in OPERANDS], *[("torch", op) for op in (*OPERANDS, *WINDOWS)]]
)
def test_library_operand_shapes_agree(engine, name, op):
    library = engine(name)
    for shape, arguments in requests(op, name, SIZES if (name, op) == ("torch", "einsum") else OR_EMPTY):
        if 0 in shape and "transposed" in arguments:
            continue  # PyTorch checks little with an empty batch
        ours = answer(op, shape, arguments, name)
        assert ours.output == library.ask(op, shape, **arguments), (shape, arguments, ours.problem)


def named_requests(op, dialect):
    """Yield requests with symbols, for operand dims or all dims of an image, and sizes for the symbols."""
    for seed, (shape, arguments) in enumerate(requests(op, dialect, (*NAMES, 1, 3))):
        if op in WINDOWS:
            sizes = dict(zip("NCHWD", shape, strict=False))
            yield tuple([named_dim(name) for name in sizes]), arguments, sizes
            continue
        for turn in range(2):
            sizes = {name: Random(seed + turn).choice([size, 1, 2, 3]) for name, size in NAMES.items()}
            yield shape, arguments, sizes


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("op", "dialect"), [*product(OPERANDS, DIALECTS), *product(WINDOWS, WINDOW_DIALECTS)])
def test_substituted_names_match_concrete_sizes(op, dialect):
    met = 0
    for shape, arguments, sizes in named_requests(op, dialect):

        def filled(dims, sizes=sizes):
            return tuple([sizes.get(str(dim), dim) for dim in dims])

        named, others = answer(op, shape, arguments, dialect), {}
        unbatched = dialect == "torch" and len(shape) != len(arguments.get("weight", shape))
        if op in WINDOWS and (unbatched or 0 in sizes.values()):
            continue  # the first symbol would be the channels, or an empty batch
        if op == "linear":
            others = {"weight": filled(arguments["weight"])}
        elif "operands" in arguments:
            others = {"operands": [*map(filled, arguments["operands"])]}
        plain = answer(op, filled(shape), arguments | others, dialect).output
        if named.output is not None and can_hold(named.conditions, sizes_with_results(named.results, sizes)):
            assert plain == substitute_results(named.output, named.results, sizes), (shape, arguments, sizes)
            met += 1
        elif op in WINDOWS and dialect != "onnxruntime":  # it rounds the size of a window that fits nowhere towards 0
            assert plain is None, (shape, arguments)
    assert met > COUNT / 8

"""Draw questions for pictures: any op in any dialect, ranks 0 to 10, names, zeros and errors; and chains."""

from __future__ import annotations

from math import prod

from hypothesis import strategies as st

from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import OPS, operators_of
from shapecalc.core.problem import ShapeError
from shapecalc.core.requests import make_request
from shapecalc.core.text import shape_text
from shapecalc.reading.commands import parse_chain, parse_stage, split_outside_brackets
from shapecalc.reasoning.answers import answer_chain, answer_request
from tests import strategies
from tests.strategies import POSITIONS, positions, targets

MOST_FACTORED = 10_000
sizes = st.one_of(
    st.integers(0, 6), st.just(1), st.just(1_000_000), st.sampled_from(["N", "C", "3*H*W", "?", "C*H*W/64"])
)
shapes = st.one_of(
    st.lists(st.integers(0, 6), max_size=5),
    st.lists(sizes, max_size=10),
    st.lists(st.integers(1, 3), min_size=6, max_size=10),
)


def answer_to(line):
    """Answer a command line, refused or not."""
    if line.startswith("chain "):
        shape, stages = parse_chain(line.removeprefix("chain "))
        return answer_chain(shape, stages, {})
    stage = parse_stage(split_outside_brackets(line), with_input=True)
    return answer_request(make_request(stage.op, stage.input, stage.options))


@st.composite
def arguments(draw, op, shape):
    """Draw the arguments of an op on a shape; most of them fit."""
    rank = len(shape)
    if op in POSITIONS:
        options = draw(positions(op, rank))
        return {name: shape_text(value) if isinstance(value, tuple) else value for name, value in options.items()}
    if op in COMBINING:
        options = draw(operand_arguments(op, shape))
        return {name: value for name, value in options.items() if value is not None}
    perm = st.permutations(range(rank)) if draw(st.integers(0, 4)) else st.lists(st.integers(-2, rank), max_size=rank)
    numbers = tuple(dim for dim in shape if isinstance(dim, int))
    target = (
        targets(numbers)
        if len(numbers) == rank and prod(numbers) <= MOST_FACTORED
        else st.lists(st.one_of(st.integers(-1, 6), st.just("N")), max_size=6)
    )
    axes = st.lists(st.integers(-rank, rank), max_size=3)
    blocks = {"block": st.integers(0, 3), "mode": st.sampled_from([None, None, "DCR", "CRD"])}
    options_by_op = {
        "reshape": {"target": target},
        "expand": {"target": st.one_of(target, st.lists(st.integers(1, 3), max_size=rank + 2))},
        "transpose": {"perm": st.one_of(st.none(), perm)},
        "shuffle": {
            name: st.one_of(st.none(), strategy)
            for name, strategy in (("first", perm), ("to", target), ("second", perm))
        },
        "squeeze": {"axes": st.one_of(st.none(), axes)},
        "unsqueeze": {"axes": axes},
        "flatten": {"axis": st.one_of(st.none(), st.integers(-rank, rank))},
        "shape": {"start": st.one_of(st.none(), st.integers(-4, 4)), "end": st.one_of(st.none(), st.integers(-4, 4))},
        "rearrange": {
            "pattern": strategies.patterns(rank),
            "lengths": st.sampled_from([None, None, "p=2", "a0=2,p=1", "a1=3"]),
        },
        "depth_to_space": blocks,
        "space_to_depth": blocks,
        "view": {"target": target, "strides": st.one_of(st.none(), st.permutations([6, 2, 1, 12, 24][:rank]))},
    }[op]
    options = {name: draw(strategy) for name, strategy in options_by_op.items()}
    return {name: shape_text(value) if isinstance(value, list | tuple) else value for name, value in options.items()}


def operand_arguments(op, shape):
    """Return a strategy for the arguments of an op with several operands or windows."""
    rank, any_dim = len(shape), st.sampled_from([1, 1, 2, 3, "N", *shape])
    near_dims = [st.sampled_from([dim, dim, 1, 2, "M"]) for dim in shape]
    compatible = st.tuples(*near_dims) | st.integers(0, rank).flatmap(lambda least: st.tuples(*near_dims[least:]))
    product = st.tuples(st.just(shape[-1] if shape else 1), any_dim) | st.lists(any_dim, max_size=3)
    kernel = st.lists(st.integers(1, 3), min_size=rank - 2, max_size=rank - 2) if rank > 2 else st.just([2])
    channels = shape[1] if rank > 1 else 1
    weight = st.builds(lambda out, items: [out, channels, *items], st.integers(1, 4), kernel)
    texts = st.lists(compatible, min_size=1, max_size=2).map(lambda items: " ".join(map(shape_text, items)))
    strided = {"stride": st.sampled_from([None, "1", "2"]), "padding": st.sampled_from([None, "1", "same", "0"])}
    pads = st.lists(st.integers(-1, 2), min_size=2 * rank, max_size=2 * rank)
    options_by_op = {
        "broadcast": {"operands": texts},
        "concat": {"operands": texts, "axis": st.integers(-rank, max(0, rank - 1)).map(str)},
        "matmul": {"operands": product.map(shape_text)},
        "stack": {"operands": texts, "axis": st.integers(-rank - 1, rank).map(str)},
        "einsum": {"pattern": st.sampled_from(["ij,jk->ik", "...i,i->...", "ij,ij", "i...->..."]), "operands": texts},
        "linear": {"out_features": st.sampled_from(["7", "M", "2*C"])},
        "conv": {"weight": weight.map(shape_text), **strided},
        "pool": {"kernel": kernel.map(shape_text), **strided},
        "pad": {"padding": pads.map(lambda items: shape_text(items) if items else "0")},
        "upsample": {"scale": st.sampled_from(["2", "0.5", "3"])},
        "mean": {
            "axes": st.lists(st.integers(-rank, max(0, rank - 1)), max_size=rank).map(shape_text),
            "keepdims": st.sampled_from([None, "1", "0"]),
            "kind": st.sampled_from([None, "max"]),
        },
    }
    return st.fixed_dictionaries(options_by_op[op])


COMBINING = ("broadcast", "concat", "matmul", "stack", "einsum", "linear", "conv", "pool", "pad", "upsample")
COMBINING += ("mean",)
"""The ops of `operand_arguments`."""
blocked = st.tuples(sizes, st.sampled_from([4, 8, 9, "4*C", "C"]), *[st.sampled_from([0, 1, 2, 6, "2*H", "W"])] * 2)
"""Image shapes whose channels, height and width are often divisible by a block."""


@st.composite
def answers(draw, without=()):
    """Draw the answer to one op in a dialect that has it, or to a chain, without the given ops."""
    shape = draw(shapes)
    if draw(st.integers(0, 3)) == 0:
        return draw(chains(shape, without))
    row = draw(st.sampled_from(list(DIALECTS.values())))
    op = draw(st.sampled_from([op for op in operators_of(row) if op not in without]))
    if "block" in OPS[op].positional_only_names and draw(st.integers(0, 4)):
        shape = list(draw(blocked))
    options = draw(arguments(op, shape)) | {"dialect": row.name}
    if row.switch and op in ("reshape", "shuffle"):
        options[row.switch.name] = draw(st.sampled_from([None, True, False]))
    return answer_or_fallback(op, shape, options)


@st.composite
def chains(draw, shape, without=()):
    """Draw the answer to a chain of up to four ops."""
    stages = []
    for _ in range(draw(st.integers(1, 4))):
        op = draw(st.sampled_from(sorted(OPS.keys() - {"shape", *without})))
        stages.append((op, draw(arguments(op, shape))))
    try:
        return answer_chain(shape_text(shape), stages, {})
    except ShapeError:
        return answer_or_fallback("reshape", shape, {"target": "-1"})


def answer_or_fallback(op, shape, options):
    """Answer a question, or a valid reshape if the question cannot be parsed."""
    try:
        return answer_request(make_request(op, shape_text(shape), options))
    except ShapeError:
        return answer_request(make_request("reshape", shape_text(shape), {"target": "-1"}))

"""Hypothesis strategies for answered chains of requests under all dialects."""

from __future__ import annotations

import shlex
from math import prod

from hypothesis import strategies as st

from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import OPS
from shapecalc.core.ops.flatten import FLATTEN_SEMANTICS
from shapecalc.core.ops.op import operator_of
from shapecalc.core.ops.shape import SHAPE_SEMANTICS
from shapecalc.core.problem import ShapeError
from shapecalc.reading.commands import parse_chain
from shapecalc.reasoning.answers import answer_chain
from tests.cases import answered
from tests.strategies import POSITIONS, axes, images, ones, patterns, positions, shapes, targets

OPSETS = [None, None, 9, 11, 13, 14, 18]
BLOCKS = [op.name for op in OPS.values() if "block" in op.positional_only_names]
"""The ops that split axes into blocks."""
OFTEN = ["reshape", "reshape", "transpose", "shuffle", "flatten", "squeeze", "unsqueeze", "expand", "view", "rearrange"]
LARGEST = 5000
"""The exclusive upper bound on the element count of an array."""


@st.composite
def requests(draw, shape, last):
    """Draw an op for a tensor of `shape`, and its options."""
    blocks = [op for op in BLOCKS if len(shape) >= 3]
    op = draw(st.sampled_from([*OFTEN, *POSITIONS, *blocks, *blocks]))
    op = "shape" if last and draw(st.integers(0, 9)) == 0 else op
    row = draw(st.sampled_from([row for row in DIALECTS.values() if operator_of(OPS[op], row)]))
    options = {"dialect": row.name}
    if op in ("reshape", "shuffle") and row.switch:
        options[row.switch.name] = draw(st.booleans())
    elif row.newest_opset:
        options["opset"] = draw(st.sampled_from(OPSETS))
    return op, options | draw(arguments(op, shape, row))


def arguments(op, shape, row):
    """Return a strategy for the arguments of an op in one dialect."""
    perms, none = st.permutations(range(len(shape))).map(tuple), st.none()
    grown = st.tuples(*(st.sampled_from([dim, 3]) if dim == 1 else st.just(dim) for dim in shape))
    flattens = {
        "axis": {"axis": st.one_of(none, st.integers(-3, 3))},
        "range": {"start_dim": st.integers(-3, 2), "end_dim": st.integers(-3, 2)},
        "all": {},
        "rest": {},
    }
    modes = st.sampled_from([None, None, "DCR", "CRD"])
    ends = {name: st.one_of(none, st.integers(-5, 5)) for name in ("start", "end")}
    table = {
        "reshape": {"target": targets(shape)},
        "transpose": {"perm": st.one_of(none, perms)},
        "shuffle": {
            "first": st.one_of(none, perms),
            "to": st.one_of(none, targets(shape)),
            "second": st.sampled_from([None, None, (1, 0)]),
        },
        "flatten": flattens[FLATTEN_SEMANTICS.for_dialect(row).flattens.name.lower()],
        "squeeze": {"axes": axes},
        "unsqueeze": {"axes": axes.filter(bool)},
        "expand": {"target": st.one_of(grown, grown.map(lambda target: (2, *target)))},
        "shape": ends if SHAPE_SEMANTICS.for_dialect(row).slices_shape else {},
        "view": {"target": targets(shape)},
        "rearrange": {"pattern": patterns(len(shape)), "lengths": st.sampled_from([None, "p=2", "b0=1,p=2", "b1=2"])},
        **dict.fromkeys(BLOCKS, {"block": st.integers(1, 3)} | ({"mode": modes} if row.newest_opset else {})),
    }
    return positions(op, len(shape)) if op in POSITIONS else st.fixed_dictionaries(table[op])


@st.composite
def requested_answers(draw):
    """Draw the answer to a chain of one to three requests; the answer may be a refusal."""
    shape = draw(st.one_of(shapes, ones, images))
    stages, answer, count = [], None, draw(st.integers(1, 3))
    for index in range(count):
        dims = shape if answer is None else answer.output
        stage = draw(requests(dims, index == count - 1))
        try:
            answer = answer_chain(shape, [*stages, stage], {})
        except ShapeError:  # an unusable request, such as an op that the opset lacks
            break
        stages.append(stage)
        if answer.output is None:
            break
    return answer


size = prod
"""The element count of a concrete shape."""
plans = requested_answers().filter(
    lambda answer: answer is not None and answer.output is not None and size(answer.output) < LARGEST
)
"""Answers to chains that are not refused."""


def answer_to(line):
    """Return the answer to a command line."""
    words = shlex.split(line)[1:]
    if words[0] == "chain":
        return answer_chain(*parse_chain(words[1]), {})
    return answered(shlex.join(words))

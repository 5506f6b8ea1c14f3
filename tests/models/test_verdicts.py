"""Each verdict has a model that earns it and a neighbour that does not, as ONNX Runtime shows by changing a sample."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from onnx import helper

from shapecalc.models.verdicts import Verdict
from shapecalc.models.write import fixed_model
from tests.models.judging import graph_model, judged
from tests.models.samples import changes, freed, separating_axes, session

node = helper.make_node


def ints(*numbers):
    return np.array(numbers, np.int64)


def reshape(shape, target, **attributes):
    """Return the model of one Reshape of an input of this shape."""
    nodes = [node("Reshape", ["x", "t"], ["y"], **attributes)]
    return graph_model(nodes, [("x", shape)], ["y"], [("t", ints(*target))])


def one(op, shape, arguments=None, **attributes):
    constants = [] if arguments is None else [("t", ints(*arguments))]
    nodes = [node(op, ["x", *[name for name, _ in constants]], ["y"], **attributes)]
    return graph_model(nodes, [("x", shape)], ["y"], constants)


def by_runtime(proto, sizes, declared, shape):
    """Return the verdict that ONNX Runtime shows, by the words' own definitions."""
    outcomes, found = {}, set()
    for size in sorted({*sizes, declared}):
        feed = {"x": np.random.default_rng(size).normal(size=[size if dim == "N" else dim for dim in shape])}
        feed["x"] = feed["x"].astype(np.float32)
        try:
            running = session(freed(proto))
            (bits,) = changes(running, feed, {"x": shape.index("N")}, size)
        except Exception:
            outcomes[size] = False
            continue
        outcomes[size] = True
        if size not in (1, declared):
            axes = separating_axes(bits, size)
            whole = [axis for axis in axes if bits.shape[axis] == size]
            if not axes:
                found.add(Verdict.SCRAMBLES)
            elif shape.index("N") == 0 and 0 not in axes and not whole:
                found.add(Verdict.SWALLOWS)
    others = [outcome for size, outcome in outcomes.items() if size != declared]
    if not outcomes[declared]:
        return Verdict.FAILS
    if not all(others):
        return Verdict.SOMETIMES if any(others) else Verdict.ONLY
    return next((word for word in (Verdict.SCRAMBLES, Verdict.SWALLOWS) if word in found), Verdict.SAFE)


ROWS = [
    # the verdict, the input's shape, the declared batch, the target; then the neighbour's target and verdict
    (Verdict.SAFE, ("N", 6), 1, (0, 2, 3), (1, 2, 3), Verdict.ONLY),
    (Verdict.ONLY, ("N", 6), 1, (1, 2, 3), (-1, 2, 3), Verdict.SAFE),
    (Verdict.ONLY, ("N", 6), 8, (8, 6), (0, 6), Verdict.SAFE),
    (Verdict.SWALLOWS, ("N", 3, 4), 1, (1, -1), (-1, 4), Verdict.SAFE),
    (Verdict.SWALLOWS, ("N", 3, 4), 1, (1, -1, 4), (0, -1, 4), Verdict.SAFE),
    (Verdict.SCRAMBLES, ("N", 8), 1, (8, -1), (-1, 8), Verdict.SAFE),
    (Verdict.SCRAMBLES, ("N", 3, 4), 1, (3, -1, 4), (1, -1, 4), Verdict.SWALLOWS),
    (Verdict.SCRAMBLES, (3, "N", 4), 1, (-1,), (3, -1), Verdict.SAFE),
    (Verdict.FAILS, ("N", 6), 1, (4, -1), (2, -1), Verdict.SCRAMBLES),
    (Verdict.SOMETIMES, ("N", 3), 4, (2, -1), (3, -1), Verdict.SCRAMBLES),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[1]} to {row[3]}")
def test_each_verdict_is_what_the_runtime_shows(row):
    verdict, shape, declared, target, neighbour, other = row
    for wanted, asked in ((verdict, target), (other, neighbour)):
        proto = reshape([declared if dim == "N" and declared > 1 else dim for dim in shape], asked)
        if shape[0] != "N":
            proto = reshape(shape, asked)
        _, follower = judged(proto)
        assert follower.told["0"].verdict is wanted
        assert by_runtime(proto, (1, 2, 3), declared, shape) is wanted


OTHERS = [
    (Verdict.SWALLOWS, one("Flatten", ("N", 2, 3), axis=0)),
    (Verdict.SAFE, one("Flatten", ("N", 2, 3), axis=2)),
    (Verdict.ONLY, one("Squeeze", ("N", 2, 3), (0,))),
    (Verdict.SAFE, one("Squeeze", ("N", 1, 3), (1,))),
    (Verdict.SAFE, one("Unsqueeze", ("N", 3), (0,))),
    (Verdict.SAFE, one("Transpose", ("N", 2, 3), perm=[1, 0, 2])),
    (Verdict.SAFE, one("Expand", ("N", 1), (2, 1, 4))),
    (Verdict.SOMETIMES, one("Expand", ("N", 2), (2, 2))),
    (Verdict.SAFE, one("Tile", ("N", 2), (2, 2))),
]


@pytest.mark.parametrize(("verdict", "proto"), OTHERS, ids=lambda each: getattr(each, "value", ""))
def test_the_other_operators_are_judged_as_the_runtime_shows(verdict, proto):
    _, follower = judged(proto)
    shape = tuple(dim.dim_param or dim.dim_value for dim in proto.graph.input[0].type.tensor_type.shape.dim)
    assert follower.told["0"].verdict is verdict
    assert by_runtime(proto, (1, 2, 3), 1, shape) is verdict


@given(
    st.lists(st.sampled_from([1, 2, 3, 4, 6]), max_size=3),
    st.integers(0, 3),
    st.lists(st.sampled_from([-1, 0, 1, 2, 3, 4, 6, 12]), min_size=1, max_size=4),
)
def test_any_reshape_is_judged_as_the_runtime_shows(sizes, axis, target):
    assume(target.count(-1) <= 1)
    shape = (*sizes[:axis], "N", *sizes[axis:])
    proto = reshape(shape, target)
    _, follower = judged(proto)
    told = follower.told["0"]
    assert told.verdict is by_runtime(proto, (1, 2, 3), 1, shape), told.why


def test_nobody_can_judge_what_data_decides():
    nodes = [
        node("NonZero", ["x"], ["i"]),
        node("Cast", ["i"], ["f"], to=1),
        node("Reshape", ["f", "t"], ["y"]),
    ]
    proto = graph_model(nodes, [("x", ("N", 4))], ["y"], [("t", ints(-1))])
    _, follower = judged(proto)
    assert follower.told["2"].verdict is Verdict.UNKNOWN
    assert follower.told["2"].why


def test_below_a_custom_operator_nobody_can_judge():
    proto = graph_model(
        [node("Magic", ["x"], ["m"], domain="own"), node("Flatten", ["m"], ["y"])],
        [("x", ("N", 4))],
        ["y"],
        shapes=False,
    )
    _, follower = judged(proto)
    assert (follower.told["1"].verdict, follower.told["1"].why) == (Verdict.UNKNOWN, "custom operator Magic")


def test_a_node_after_samples_met_is_unknown_and_says_where():
    nodes = [
        node("ReduceSum", ["x", "a"], ["s"], keepdims=1),
        node("Add", ["x", "s"], ["m"]),
        node("Flatten", ["m"], ["y"]),
    ]
    proto = graph_model(nodes, [("x", ("N", 4))], ["y"], [("a", ints(0))])
    _, follower = judged(proto)
    assert follower.told["2"].verdict is Verdict.UNKNOWN
    assert "ReduceSum" in follower.told["2"].why


def test_what_is_below_an_offender_is_judged_as_if_that_one_were_mended():
    nodes = [
        node("Reshape", ["x", "t"], ["a"]),
        node("Reshape", ["a", "u"], ["b"]),
        node("Transpose", ["b"], ["y"], perm=[0, 2, 1]),
    ]
    constants = [("t", ints(1, 4, 6)), ("u", ints(1, -1, 3))]
    _, follower = judged(graph_model(nodes, [("x", ("N", 24))], ["y"], constants))
    told = follower.told
    assert [told[path].verdict for path in "012"] == [Verdict.ONLY, Verdict.SWALLOWS, Verdict.SAFE]
    assert [told[path].blocked_by for path in "012"] == [None, "0", "0"]
    assert told["1"].batch_in == (0, "whole")
    assert told["1"].batch_out == (1, "major")
    assert told["2"].batch_in == told["2"].batch_out == (0, "whole")


def test_what_is_left_out_leads_to_no_offender():
    nodes = [
        node("Reshape", ["x", "t"], ["a"]),
        node("LSTM", ["a", "w", "r"], ["", "h"], hidden_size=2),
        node("Clip", ["x", "", "most"], ["c"]),
        node("Flatten", ["c"], ["f"]),
        node("Reshape", ["f", "t"], ["y"]),
    ]
    constants = [("t", ints(1, 1, 24)), ("w", np.zeros((1, 8, 24), "f4")), ("r", np.zeros((1, 8, 2), "f4"))]
    constants.append(("most", np.array(1, "f4")))
    _, follower = judged(graph_model(nodes, [("x", ("N", 24))], ["h", "y"], constants, shapes=False))
    assert {path: told.blocked_by for path, told in follower.told.items()} == {"0": None, "3": None, "4": None}


def test_a_batch_of_none_is_a_note():
    assert judged(reshape(("N", 6), (0, 2, 3)))[1].told["0"].empty == "ok"
    assert judged(reshape(("N", 6), (-1, 2, 3)))[1].told["0"].empty == "ok"
    assert judged(reshape(("N", 6), (2, -1, 3)))[1].told["0"].empty == "ok"
    assert judged(reshape(("N", 6), (0, -1)))[1].told["0"].empty == "refused"


@given(
    st.lists(st.sampled_from([1, 2, 3, 4, 6]), max_size=3),
    st.integers(0, 2),
    st.lists(st.sampled_from([-1, 0, 1, 2, 3, 4, 6]), min_size=1, max_size=4),
)
def test_every_fix_of_a_reshape_gives_the_same_at_home_and_is_safe(sizes, axis, target):
    assume(target.count(-1) <= 1)
    shape = (*sizes[:axis], "N", *sizes[axis:])
    _, before = judged(reshape(shape, target))
    home = before.told["0"].outputs[0]
    for fix in before.told["0"].fixes:
        if fix.target is not None:
            proto = reshape(shape, fix.target)
            _, after = judged(proto)
            assert after.told["0"].verdict is Verdict.SAFE
            assert by_runtime(proto, (1, 2, 3), 1, shape) is Verdict.SAFE
            assert after.told["0"].outputs[0] == home


def test_a_target_that_gives_another_shape_at_home_is_no_fix():
    _, follower = judged(reshape(("N", 2, 3), (2, -1)))
    assert follower.told["0"].verdict is Verdict.SCRAMBLES
    assert [(fix.target, fix.assumes) for fix in follower.told["0"].fixes] == [((-1, 3), "axis 2 stays 3")]


@pytest.mark.parametrize(
    ("op", "constants", "attributes", "verdict"),
    [
        ("CumSum", [np.array(1)], {}, Verdict.SAFE),
        ("CumSum", [np.array(0)], {}, Verdict.UNKNOWN),
        ("ReduceSum", [ints(1)], {}, Verdict.SAFE),
        ("ReduceSum", [ints(0)], {}, Verdict.UNKNOWN),
        ("Pad", [ints(0, 1, 0, 0, 1, 0)], {}, Verdict.SAFE),
        ("Gather", [ints(1, 0)], {"axis": 1}, Verdict.SAFE),
        ("Gather", [ints(1, 0)], {"axis": 0}, Verdict.UNKNOWN),
        ("Gather", [ints(0, 1, 2)], {"axis": 0}, Verdict.UNKNOWN),
        ("Slice", [ints(0), ints(2), ints(1)], {}, Verdict.SAFE),
        ("Slice", [ints(0), ints(1), ints(0)], {}, Verdict.UNKNOWN),
    ],
)
def test_a_node_above_is_followed_by_the_numbers_that_it_reads(op, constants, attributes, verdict):
    named = [(f"c{at}", each) for at, each in enumerate(constants)]
    nodes = [node(op, ["x", *[name for name, _ in named]], ["a"], **attributes), node("Flatten", ["a"], ["y"])]
    proto = graph_model(nodes, [("x", ("N", 4, 3))], ["y"], named, shapes=False)
    assert judged(proto)[1].told["1"].verdict is verdict


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ("token", "dim 0 is 2 in x and 1 in the constant token"),
        ("made", "dim 0 is 2 in x and 1 in made"),
        ("other", None),
    ],
)
def test_a_concat_that_fails_says_in_which_inputs(second, said):
    nodes = [
        helper.make_node("Relu", ["token"], ["made"]),
        helper.make_node("Relu", ["x"], ["other"]),
        helper.make_node("Concat", ["x", second], ["y"], axis=1),
    ]
    model = graph_model(nodes, [("x", ["N", 3])], ["y"], [("token", np.zeros((1, 2), np.float32))], shapes=False)
    _, told = judged(model)
    assert [stop.why for stop in told.stops] == ([said] if said else [])
    runs = session(model)
    if said:
        with pytest.raises(Exception, match="Concat"):
            runs.run(None, {"x": np.zeros((2, 3), np.float32)})
    assert runs.run(None, {"x": np.zeros((1, 3), np.float32)})[0].shape[0] == 1


def net(text, x, constants=None, **attributes):
    """Return a model of lines such as `a = Reshape x t; y = Relu a`, constants by name and attributes by output."""
    lines = [line.split() for line in text.replace(";", "\n").strip().splitlines()]
    nodes = [node(op, inputs, [made], made, **attributes.get(made, {})) for made, _, op, *inputs in lines]
    named = {name: np.asarray(value) for name, value in (constants or {}).items()}
    return graph_model(nodes, [("x", x)], [lines[-1][0]], [*named.items()], shapes=False)


W = np.random.default_rng(3).normal(size=(6, 6)).astype(np.float32)
CUT, WINDOWS, BACK, WHOLE = [0, 2, 2, 2, 2, 6], [-1, 4, 6], [-1, 2, 2, 2, 2, 6], [-1, 4, 4, 6]
SWIN = """
    a = Reshape x cut
    b = Transpose a
    c = Reshape b windows
    d = MatMul c w
    e = Reshape d heads
    f = Transpose e
    g = Gather f zero
    h = Transpose g
    i = Reshape h windows
    j = Reshape i back
    k = Transpose j
    y = Reshape k whole
"""
TURNS = {name: {"perm": [0, 1, 3, 2, 4, 5]} for name in "bk"} | {"f": {"perm": [2, 0, 1, 3]}, "h": {"perm": [0, 2, 1]}}
SWIN_CONSTANTS = {"cut": CUT, "windows": WINDOWS, "w": W, "back": BACK, "whole": WHOLE, "zero": 0}
SWIN_CONSTANTS |= {"heads": [-1, 4, 1, 6]}
BY_ROWS = """
    s = Shape x
    n = Gather s zero
    r = Range zero n one
    u = Unsqueeze r two
    m = Mul u three
    i = Add m row
"""
COUNTED = {"zero": 0, "one": 1, "two": [1, 2], "three": 3, "row": [[[0, 1, 2]]]}
PAIRS = np.array([[[0, 0], [0, 1], [0, 2]]])
MODELS = {
    # name: the lines, the input, the constants, the attributes, and what is told by the nodes' names
    "windows": (SWIN, ("N", 4, 4, 6), SWIN_CONSTANTS, TURNS, {}),
    "windows of one image": (
        SWIN,
        (1, 4, 4, 6),
        SWIN_CONSTANTS
        | {"cut": [1, 2, 2, 2, 2, 6], "windows": [4, 4, 6], "heads": [4, 4, 1, 6], "back": [1, *CUT[1:]]},
        TURNS,
        {"a": "only", "c": "only", "e": "only", "i": "only", "j": "only"},
    ),
    "queries": (
        """
        a = Transpose x
        b = Reshape a heads
        c = Transpose b
        d = Softmax c
        e = Transpose d
        f = Reshape e tokens
        g = MatMul f w
        h = Reshape g queries
        y = Transpose h
        """,
        ("N", 3, 6),
        {"heads": [3, -1, 2], "tokens": [-1, 6], "queries": [3, -1, 6], "w": W},
        {name: {"perm": [1, 0, 2]} for name in "acey"},
        {},
    ),
    "tokens": (
        "a = Reshape x flat; b = Transpose a; c = ReduceMax b first; d = Transpose c; e = Mul a d; y = Reshape e back",
        ("N", 3, 6),
        {"flat": [-1, 6], "first": [0], "back": [-1, 3, 6]},
        {},
        {},
    ),
    "folded heads": (
        "a = Reshape x heads; b = Reshape a in_front; c = Softmax b; y = Reshape c back",
        ("N", 2, 6),
        {"heads": [-1, 6], "in_front": [1, -1, 6], "back": [-1, 2, 6]},
        {},
        {},
    ),
    "samples in a row": (
        "a = Reshape x row; b = Softmax a; y = Reshape b back",
        (1, 2, 6),
        {"row": [1, -1, 6], "back": [-1, 2, 6]},
        {"b": {"axis": 1}},
        {"a": "swallows"},
    ),
    "a mask by rows": (
        BY_ROWS + "f = Reshape x flat; y = Gather f i",
        ("N", 3),
        COUNTED | {"flat": [-1]},
        {},
        {},
    ),
    "the mask of one": (
        "f = Reshape x flat; g = Gather f i; y = Mul x g",
        ("N", 3),
        {"flat": [-1], "i": [[0, 1, 2]]},
        {},
        {"g": "takes one sample for all"},
    ),
    "pairs of one": ("g = GatherND x i; y = Mul x g", ("N", 3), {"i": PAIRS}, {}, {"g": "takes one sample for all"}),
    "pairs behind": ("a = Transpose x; g = GatherND a i; y = Transpose g", ("N", 3), {"i": [[2], [0]]}, {}, {}),
    "the best of each": (
        """
        s = Shape x
        n = Gather s zero
        r = Range zero n one
        u = Unsqueeze r last
        m = ArgMax x
        i = Concat u m
        y = GatherND x i
        """,
        ("N", 3),
        {"zero": 0, "one": 1, "last": [1]},
        {"m": {"axis": 1}, "i": {"axis": -1}},
        {},
    ),
    "the best of each by rows": (
        """
        s = Shape x
        n = Gather s zero
        r = Range zero n one
        o = Mul r three
        m = ArgMax x
        i = Add o m
        f = Reshape x last
        y = Gather f i
        """,
        ("N", 3),
        {"zero": 0, "one": 1, "three": 3, "last": [-1]},
        {"m": {"axis": 1, "keepdims": 0}},
        {},
    ),
    "the best of each among those of one": (
        "m = ArgMax x; f = Reshape x last; y = Gather f m",
        ("N", 3),
        {"last": [-1]},
        {"m": {"axis": 1, "keepdims": 0}},
        {"y": "takes one sample for all"},
    ),
    "the first alone": ("g = Gather x i; y = Mul x g", ("N", 3), {"i": 0}, {}, {"g": "takes one sample for all"}),
    "the sizes of the first": (
        "g = Gather x i; s = Shape g; e = Expand o s; y = Mul x e",
        ("N", 3),
        {"i": 0, "o": W[:1, :1]},
        {},
        {},
    ),
    "an index beyond": (
        "g = Gather x i; y = Mul x g",
        (2, 3),
        {"i": [0, 1]},
        {},
        {"g": "fails: index 1 is out of", "y": ""},
    ),
    "put in place": (
        "t = Transpose x; s = Softmax x; u = Transpose s; p = ScatterND t i u; y = Transpose p",
        ("N", 3),
        {"i": [[2], [0], [1]]},
        {},
        {},
    ),
    "put in place of one": (
        "y = ScatterND x i u",
        ("N", 6),
        {"i": [[0]], "u": W[:1]},
        {},
        {"y": "changes one sample alone"},
    ),
    "put by pairs of one": (
        "s = Softmax x; y = ScatterND x i s",
        ("N", 3),
        {"i": PAIRS},
        {},
        {"y": "fails: updates are 2,3"},
    ),
    "put along an axis": (
        "s = Softmax x; y = ScatterElements x i s",
        ("N", 3),
        {"i": [[2, 0, 1]]},
        {"y": {"axis": 1}},
        {"y": "fails: updates are 2,3"},
    ),
    "an expand of what is merged": (
        "a = Reshape x rows; b = Expand a same; y = Reshape b back",
        (1, 4, 3),
        {"rows": [-1, 3], "same": [4, 3], "back": [-1, 4, 3]},
        {},
        {"b": "only"},
    ),
    "computed below what an empty batch blocks": (
        "a = Reshape x flat; s = Shape a; d = Gather s last; t = Concat one d; y = Reshape a t",
        (1, 2, 3),
        {"flat": [0, -1], "last": [1], "one": [1]},
        {"t": {"axis": 0}},
        {"y": "only"},
    ),
}


def runs_apart(proto, shape, sizes=(1, 2, 3, 5)):
    """Say whether ONNX Runtime gives the same for each sample in batches of these sizes as for it alone."""
    x = np.random.default_rng(5).normal(size=(max(sizes), *shape[1:])).astype(np.float32)
    try:
        running = session(freed(proto))
        alone = [running.run(None, {"x": x[at : at + 1]})[0] for at in range(len(x))]
        found = [running.run(None, {"x": x[:size]})[0] for size in sizes]
    except Exception:
        return False
    wanted = [np.concatenate(alone[:size]) for size in sizes]
    return all(a.shape == b.shape and np.allclose(a, b, atol=1e-5) for a, b in zip(found, wanted, strict=True))


@pytest.mark.parametrize("name", MODELS)
def test_what_is_told_of_a_model_is_what_becomes_of_its_samples(name):
    text, shape, constants, attributes, wanted = MODELS[name]
    proto = net(text, shape, constants, **attributes)
    walk, follower = judged(proto)
    told = {each.name: found.verdict.value for each, found in follower.offenders.values()}
    told |= {stop.node.name: f"{'' if stop.silent else 'fails: '}{stop.why}" for stop in follower.stops}
    assert {each: words[: len(wanted.get(each, ""))] for each, words in told.items()} == wanted
    assert Verdict.UNKNOWN not in [found.verdict for found in follower.told.values()]
    assert runs_apart(proto, shape) is not bool(wanted)
    if told and not follower.stops:
        assert runs_apart(fixed_model(walk, follower, {}).proto, shape)

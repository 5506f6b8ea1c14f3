"""The onnx dialect against ONNX's own shape inference, and ONNX Runtime where its shapes are known at load."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shapecalc.core.ask import ask
from shapecalc.core.resolve import resolve
from shapecalc.core.values import slices_of
from tests.engines.onnx_models import inferred, ran
from tests.sampling import examples
from tests.strategies import axes, images, ones, permutations, positions, reshapes, shapes

MANY = examples(150)

DISAGREEMENTS = {
    "inference does not compare element counts": "a literal target of another volume is accepted until it runs",
    "inference ignores the length of perm": "perm=[0] of a rank 2 tensor gives rank 1; ONNX Runtime refuses",
    "inference takes an empty axes list of squeeze as none, ONNX Runtime as all": "the text says neither",
    "inference of squeeze 11 ignores axes out of range": "the text gives the range [-r, r-1]",
    "both count a repeated squeeze axis once": "the text is silent; NumPy refuses",
    "ONNX Runtime splits no empty dim since 18": "it is refused with num_outputs; the text is silent",
    "ONNX Runtime slices no scalar": "it is refused with no starts and ends; the text is silent",
    "inference lets a negative size through expand": "the dim is then -1; ONNX Runtime refuses",
}
"""Where the engines are known to depart from the text, by name; the tests below step around each."""


def answer(op, shape, arguments, dialect="onnx", opset=21):
    return resolve(ask(op, shape, {**arguments, "dialect": dialect, "opset": opset})).output


@MANY
@given(reshapes(), st.booleans(), st.sampled_from([5, 13, 14, 19, 21]))
def test_reshape_agrees_with_inference_or_both_refuse(drawn, allowzero, opset):
    shape, target = drawn
    arguments = {"target": target} | ({"allowzero": int(allowzero)} if opset >= 14 else {})
    ours, theirs = answer("reshape", shape, arguments, opset=opset), inferred("reshape", shape, arguments, opset)
    if ours is None and theirs is not None and -1 not in target:
        assert prod(theirs) != prod(shape), DISAGREEMENTS["inference does not compare element counts"]
    else:
        assert ours == theirs


def test_inference_leaves_open_what_the_readme_says_it_does():
    unknown = 0  # how `inferred` gives a dim without a number
    assert inferred("reshape", ("N", "C", "H", "W"), {"target": (0, -1, 64)}, 21) == (unknown, unknown, 64)
    assert inferred("reshape", ("N", 4), {"target": (2, 6)}, 21) == (2, 6)


@MANY
@given(reshapes(), st.booleans(), st.sampled_from([1, 5, 13, 14, 21]))
def test_reshape_agrees_with_onnxruntime_that_knows_the_shapes_or_both_refuse(drawn, allowzero, opset):
    shape, target = drawn
    arguments = {"target": target} | ({"allowzero": int(allowzero)} if opset >= 14 else {})
    assert answer("reshape", shape, arguments, opset=opset) == ran("reshape", shape, arguments, opset)


@MANY
@given(permutations(), st.booleans())
def test_transpose_agrees_with_inference_and_onnxruntime(drawn, named):
    shape, perm = drawn
    arguments = {"perm": perm} if named else {}
    ours = answer("transpose", shape, arguments)
    assert ours == ran("transpose", shape, arguments, 21)
    if len(perm) == len(shape):
        assert ours == inferred("transpose", shape, arguments, 21)


@MANY
@given(shapes, st.one_of(st.none(), st.integers(-6, 6)), st.sampled_from([1, 9, 11, 13, 21]))
def test_flatten_agrees_with_inference(shape, axis, opset):
    arguments = {} if axis is None else {"axis": axis}
    assert answer("flatten", shape, arguments, opset=opset) == inferred("flatten", shape, arguments, opset)


@MANY
@given(ones, axes, st.sampled_from([11, 13, 21]))
def test_squeeze_agrees_with_inference(shape, named, opset):
    arguments = {} if named is None else {"axes": named}
    ours, theirs = answer("squeeze", shape, arguments, opset=opset), inferred("squeeze", shape, arguments, opset)
    rank = len(shape)
    if any(not -rank <= axis < rank for axis in named or ()):
        assert ours is None, DISAGREEMENTS["inference of squeeze 11 ignores axes out of range"]
    elif named and len({axis % rank for axis in named}) < len(named):
        assert ours is None, DISAGREEMENTS["both count a repeated squeeze axis once"]
    else:
        assert ours == theirs


@MANY
@given(ones, axes.filter(lambda named: named is not None), st.sampled_from([11, 13, 21]))
def test_unsqueeze_agrees_with_inference(shape, named, opset):
    engine = inferred if opset > 11 else ran  # inference of version 11 does not look for repeated axes
    assert answer("unsqueeze", shape, {"axes": named}, opset=opset) == engine(
        "unsqueeze", shape, {"axes": named}, opset
    )


@MANY
@given(ones, st.lists(st.integers(-1, 3), max_size=4).map(tuple))
def test_expand_agrees_with_onnxruntime(shape, target):
    assert answer("expand", shape, {"target": target}) == ran("expand", shape, {"target": target}, 21)


@MANY
@given(shapes, st.one_of(st.none(), st.integers(-7, 7)), st.one_of(st.none(), st.integers(-7, 7)))
def test_shape_agrees_with_onnxruntime(shape, start, end):
    arguments = {name: value for name, value in (("start", start), ("end", end)) if value is not None}
    assert answer("shape", shape, arguments) == ran("shape", shape, arguments, 21)


BLOCKED = st.one_of(images, images, shapes)
MODES = st.sampled_from([{}, {}, {"mode": "DCR"}, {"mode": "CRD"}])
OPSETS = st.sampled_from([1, 11, 13])


@MANY
@given(st.sampled_from(["depth_to_space", "space_to_depth"]), BLOCKED, st.integers(-1, 4), MODES, OPSETS)
def test_depth_and_space_agree_with_onnxruntime_whose_shapes_are_known_or_not(op, shape, block, mode, opset):
    arguments = {"block": block, **mode}
    for dialect in ("onnx", "onnxruntime"):
        ours = answer(op, shape, arguments, dialect, opset)
        assert ours == ran(op, shape, arguments, opset, known=dialect == "onnx")


@MANY
@given(shapes, positions("select", 3), st.sampled_from([1, 10, 11, 13, 21]), st.booleans())
def test_select_agrees_with_onnxruntime(shape, arguments, opset, known):
    dialect = "onnx" if opset >= 11 and known else "onnxruntime"
    assert answer("select", shape, arguments, dialect, opset) == ran("select", shape, arguments, opset, known=known)


@MANY
@given(shapes, positions("slice", 3), st.sampled_from([1, 10, 11, 13, 21]), st.booleans())
def test_slice_agrees_with_onnxruntime(shape, arguments, opset, known):
    asked = slices_of(arguments["slices"])
    assume(shape)  # DISAGREEMENTS["ONNX Runtime slices no scalar"]
    assume(opset >= 10 or all(step is None for _, _, step in asked))  # its operator has none, so nothing can be asked
    assert answer("slice", shape, arguments, opset=opset) == ran("slice", shape, arguments, opset, known=known)


@MANY
@given(st.data(), shapes, st.sampled_from([6, 13, 21]), st.booleans())
def test_tile_agrees_with_onnxruntime_and_inference(data, shape, opset, known):
    arguments = data.draw(positions("tile", len(shape)))
    ours = answer("tile", shape, arguments, "onnx" if known else "onnxruntime", opset)
    assert ours == ran("tile", shape, arguments, opset, known=known)
    assert ours == inferred("tile", shape, arguments, opset)


@MANY
@given(shapes, positions("split", 3), st.sampled_from([2, 11, 13, 18, 21]), st.booleans())
def test_split_agrees_with_onnxruntime(shape, arguments, opset, known):
    axis, parts, rank = arguments["axis"], arguments["parts"], len(shape)
    assume(0 <= arguments["part"] < parts)  # no such outputs can be asked for
    dim = shape[axis] if -rank <= axis < rank else 1
    assume(dim or opset < 18)  # DISAGREEMENTS["ONNX Runtime splits no empty dim since 18"]
    ours = answer("split", shape, arguments, "onnxruntime", opset)
    theirs = ran("split", shape, arguments, opset, known=known)
    assert ours == theirs or (dim % parts and opset >= 18 and ours is None)


@MANY
@given(reshapes(), st.booleans())
def test_the_onnxruntime_row_is_what_the_runtime_does_with_shapes_unknown_at_load(drawn, allowzero):
    shape, target = drawn
    arguments = {"target": target, "allowzero": int(allowzero)}
    measured = ran("reshape", shape, arguments, 21, known=False, constant=False)
    assert answer("reshape", shape, arguments, "onnxruntime") == measured


@MANY
@given(ones, axes, st.sampled_from([1, 11, 13, 21]))
def test_the_onnxruntime_row_squeezes_as_the_runtime_does(shape, named, opset):
    arguments = {} if named is None else {"axes": named}
    assert answer("squeeze", shape, arguments, "onnxruntime", opset) == ran(
        "squeeze", shape, arguments, opset, known=False
    )


@pytest.mark.parametrize("opset", [1, 11, 13, 21])
@pytest.mark.parametrize("named", [(0,), (-1,), (0, 2), (3, 0), (4,), (0, 0), (0, -3)])
def test_the_onnxruntime_row_unsqueezes_as_the_runtime_does(named, opset):
    arguments = {"axes": named}
    assert answer("unsqueeze", (2, 3), arguments, "onnxruntime", opset) == ran(
        "unsqueeze", (2, 3), arguments, opset, known=False
    )

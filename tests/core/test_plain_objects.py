"""Lines that are read together must come out as each does alone, whatever their neighbours hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapecalc.core.cases import read_object
from shapecalc.core.fast_answers import fast_answer
from shapecalc.core.plain_objects import is_exact, plain_object, plain_objects
from shapecalc.core.problem import ShapeError
from tests.sampling import examples

PLAIN = [
    '{"op": "shape", "input": [2, 3]}',
    '{"op": "reshape", "input": [2, 3], "target": [6], "expect": {"refused": "indivisible"}}',
]
HOSTILE = [
    '{"op": "shape", "op": "reshape", "input": [2]}',
    '{"op": "shape", "input": [2], "id": "a:b"}',
    '{"op": "shape", "op": "reshape", "id": "no colon: one key less"}',
    '{"op": "shape", "input": {"a": 1}, "op": "flatten"}',
    '{"op": "shape", "input": [true, 2]}',
    '{"op": "shape", "\\u006fp": "flatten"}',
    '{"op": "shape", "expect": {"refused": "a", "refused": "b"}}',
    '{"op": "shape"},"\x7f",{"op": "flatten"}',
    '{"op": "shape"},{"op": "flatten"}',
    '{"op": "sh',
    'ape"}',
    '{"op": "shape", "input": [2',
    ", 3]}",
    '{"op": "flatten"}]}, 7',
    '{"op": "flatten"}]}, {"op": "shape"}',
    '{ "op": "shape", "input": [2',
    '{ "op": "flatten"}]}, {}',
    "{}",
    "{}]}, 7",
    "[1, 2]",
    "7",
    '"text"',
    "null",
    "",
    "# comment",
    '"\x7f"',
    "],[",
    "é",
    '{"op": "é"}',
    '{"op": "\udc80"}',
    "[" * 100_000,
    " ",
    "//",
]


def object_of(text):
    """Return the object of a line as it is read with care; None if it is none, or is not exact."""
    try:
        found = read_object(text)
    except ShapeError:
        return None
    return found if is_exact(found) else None


@examples(200)
@given(st.lists(st.one_of(st.sampled_from(PLAIN), st.sampled_from(HOSTILE)), max_size=6))
def test_a_line_that_is_read_fast_is_read_right(texts):
    for text, found in zip(texts, plain_objects(texts), strict=True):
        if found is not None:
            assert found == object_of(text)


MISLEADING = [
    ['{"op": "shape", "input": [2', '{"op": "flatten"}]}, 7'],
    ['{"op": "shape", "input": [2', '{"op": "flatten"}]}, {"op": "flatten"}'],
    ['{ "op": "shape", "input": [2', '{ "op": "flatten"}]}, { "op": "flatten"}'],
    ['{"op": "shape"', '"input": [2]}', "{}, {}"],
    ['{"op": "shape", "expect": [{}', '{}]}, {"op": "flatten"}'],
    ['{"op": "shape"}, {"op": "flatten"}', '{"op": "sh', 'ape"}'],
    ['{"op": "shape", "op": "flatten"}', '{"op": "shape", "expect": {}}'],
]
"""Lines that together are as many objects as there are lines, or have as many colons as keys, but not one by one."""


@pytest.mark.parametrize("texts", MISLEADING)
def test_lines_that_only_together_hold_as_many_objects_are_read_one_by_one(texts):
    assert list(plain_objects(texts)) == [plain_object(text) for text in texts]


@pytest.mark.parametrize("start", ['{"', '{ "'])
def test_many_lines_are_read_as_each_alone(start):
    texts = [text.replace('{"op', f"{start}op") for text in PLAIN] * 100
    assert list(plain_objects(texts)) == [object_of(text) for text in texts]


@examples(200)
@given(st.lists(st.text(alphabet='{}[]":,op1 ', max_size=12), max_size=5))
def test_no_text_between_lines_is_taken_for_another(texts):
    for text, found in zip(texts, plain_objects(texts), strict=True):
        if found is not None:
            assert found == object_of(text)


@pytest.mark.parametrize("number", ["2.0", "2e0", "NaN", "-Infinity"])
@pytest.mark.parametrize(
    "text", ['"input": [{}], "target": [2]', '"input": [2], "target": [{}]', '"input": [2], "target": [2], "opset": {}']
)
def test_no_number_with_a_fraction_is_answered_fast(number, text):
    line = '{"op": "reshape", ' + text.format(number) + "}"
    (found,) = plain_objects([line])
    assert found is None or fast_answer(found) is None

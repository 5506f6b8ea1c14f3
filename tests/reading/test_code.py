"""Check the reader of code: chains, refusals with their spans, and that no code is executed."""

from __future__ import annotations

import re

import numpy as np
import pytest

from shapecalc.cli.pasted import parse_named_sizes
from shapecalc.core.limits import MAX_CODE_LENGTH
from shapecalc.core.problem import ShapeError
from shapecalc.core.text import parse_shape, shape_text
from shapecalc.reading.code import interpret_code
from shapecalc.reading.code.source import normalize_pasted_code
from shapecalc.reading.commands import chain_text
from shapecalc.reasoning.answers import answer_code
from tests.cases import FOLDER, describe_answer, parts, rows
from tests.numpy_moves import flat_input_indices
from tests.sampling import each_row


def shapes_of(inputs):
    """Parse `x=2,3 w=3` to shapes by name."""
    return {name: parse_shape(shape) for name, _, shape in (word.rpartition("=") for word in inputs.split())}


def sizes_of(text):
    """Parse `a=2 b=2,3` to sizes and lists of sizes by name."""
    shapes = {name: parse_shape(sizes) for name, _, sizes in (word.partition("=") for word in text.split())}
    return {name: sizes[0] if len(sizes) == 1 else sizes for name, sizes in shapes.items()}


def answer_of(line, inputs="2,3,4", dialect=None):
    """Answer the chain that a line of code describes."""
    reading = interpret_code(line, shapes_of(inputs), dialect)
    return answer_code(reading)


@each_row("row", rows("code", "one tensor") + rows("code", "several tensors"))
def test_code_line_is_a_chain(row):
    line, inputs, expected, *stages = row
    answer = answer_of(line, inputs)
    assert describe_answer(answer) == expected
    text = chain_text(answer).replace(" --dialect torch", "").replace('"', "'")
    assert all(text.endswith(f" | {stage}") for stage in stages)


@each_row(("line", "inputs", "message"), rows("code", "refused"))
def test_code_refusal_has_a_span(line, inputs, message):
    before, _, span_text = line.partition("«")
    span_text, _, after = span_text.partition("»")
    with pytest.raises(ShapeError) as raised:
        interpret_code(before + span_text + after, shapes_of(inputs))
    problem = raised.value.problem
    assert (problem.rule, problem.span) == ("usage", (len(before), len(before + span_text)) if span_text else None)
    assert message in str(raised.value)


@each_row(("line", "inputs", "rule", "message"), rows("code", "refused by a rule"))
def test_code_refusal_names_its_rule(line, inputs, rule, message):
    before, span_text, after = re.split("[«»]", line)
    with pytest.raises(ShapeError) as raised:
        interpret_code(before + span_text + after, shapes_of(inputs))
    problem = raised.value.problem
    assert (problem.rule, problem.span) == (rule, (len(before), len(before + span_text)))
    assert message in str(raised.value)


PASTED = [part for part in parts(FOLDER / "pasted.txt", "--- ") if part[0]]


@each_row(("title", "lines"), PASTED)
def test_pasted_code_is_answered(title, lines):
    """Lines `? ` hold the expected error, lines `! ` the expected notes; a bare `!` means no notes."""
    setting, _, expected = title.partition("=> ")
    inputs, _, where = setting.partition(" where ")
    code = "\n".join(line for line in lines if line[:2] not in ("!", "! ", "? "))
    try:
        reading = interpret_code(normalize_pasted_code(code), shapes_of(inputs), None, sizes_of(where))
    except ShapeError as error:
        assert expected == f"error {error.problem.rule}"
        assert lines[-1].removeprefix("? ") in str(error)
        assert "\n" not in str(error)
        return
    assert describe_answer(answer_code(reading)) == expected
    if notes := [line[2:] for line in lines if line[:1] == "!"]:
        assert len(reading.notes) == len([*filter(None, notes)])
        assert all(note.startswith(prefix) for note, prefix in zip(reading.notes, notes, strict=False))


HOSTILE = [
    "x" * (MAX_CODE_LENGTH + 1),
    "(" * 10_000 + ")" * 10_000,
    "-" * 10_000 + "1",
    "x" + ".T" * 20_000,
    "x[" * 5_000 + "0" + "]" * 5_000,
    "x.view(" + "9" * 20_000 + ")",
    "x.view(" + "*".join(["9" * 900] * 60) + ")",
    "1+" * 20_000 + "1",
    "x.T\n" * 20_001,
    "if x:\n" + " x.T\n" * 1_500,
    "print 'a'\nx.T",
    "    nn.Linear(3,\n        x.view(2",
    "@" * 100,
    "f(" * 90 + "x" + ")" * 90 + "[" * 90,
    "x\0.T",
    "x.view('\udcff')",
    "\x1b[2J",
]


@each_row("line", HOSTILE)
def test_hostile_code_is_refused_in_one_line(line):
    with pytest.raises(ShapeError) as raised:
        answer_of(line)
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 300


@pytest.mark.parametrize("line", ["open({!r}, 'w')", "x.view(open({!r}, 'w'), -1)", "x[open({!r}, 'w')]"])
def test_code_is_never_run(line, tmp_path):
    with pytest.raises(ShapeError):
        answer_of(line.format(str(tmp_path / "ran")))
    assert not [*tmp_path.iterdir()]


NEWER = {"permute_dims": (2, 0), ".mT": (2, 0), "unstack": (2, 1), "newshape": (2, 1)}
"""Names by the NumPy version that added them; `newshape` became `shape` in its version."""


@each_row("row", rows("code", "NumPy") + rows("code", "the same in NumPy"))
def test_code_line_equals_numpy(row):
    """A line of PyTorch or TensorFlow equals its counterpart in NumPy."""
    since = max((version for word, version in NEWER.items() if word in row[-1]), default=(1, 26))
    if tuple(map(int, np.__version__.split(".")[:2])) < since:
        pytest.skip(f"NumPy has this since {since[0]}.{since[1]}")
    answer = answer_of(row[0], dialect="numpy" if len(row) == 1 else None)
    expected = eval(row[-1].replace("newshape", "shape"), {"np": np, "x": np.arange(24).reshape(2, 3, 4)})
    assert flat_input_indices(answer).tolist() == expected.tolist()


@each_row(("line", "inputs", "change"), rows("code", "what a chain lacks"))
def test_code_names_a_change_that_the_chain_lacks(line, inputs, change):
    """Code and data of a chain are refused unless the chain does all that the code does."""
    reading = interpret_code(line, shapes_of(inputs))
    assert reading.untraced_change == change
    if change:
        with pytest.raises(ShapeError, match=r"is not in the chain of stages, so --as would be wrong"):
            reading.require_equal_elements("--as")
    else:
        reading.require_equal_elements("--as")


@each_row(("line", "inputs", "expected"), rows("code", "several results"))
def test_code_with_several_results(line, inputs, expected):
    if expected.startswith("error "):
        with pytest.raises(ShapeError) as raised:
            interpret_code(line, shapes_of(inputs))
        assert expected.removeprefix("error ") in str(raised.value)
        return
    reading = interpret_code(line, shapes_of(inputs))
    assert " ".join(map(shape_text, reading.outputs)) == expected
    if expected:
        assert answer_code(reading).output == reading.outputs[0]
        with pytest.raises(ShapeError, match=f"ends with {len(reading.outputs)} tensors, and --as is for one"):
            reading.require_equal_elements("--as")


@each_row(("line", "inputs", "where", "expected"), rows("code", "given values"))
def test_code_with_given_values(line, inputs, where, expected):
    """Values of names, attributes and conditions are given by `--where`; without them, another answer follows."""
    sizes = parse_named_sizes(where)
    assert describe_answer(answer_code(interpret_code(line, shapes_of(inputs), None, sizes))) == expected
    try:
        answer = describe_answer(answer_code(interpret_code(line, shapes_of(inputs))))
    except ShapeError:
        return
    assert answer != expected


@each_row(("line", "inputs", "expected"), rows("code", "numbers that depend on elements"))
def test_code_size_of_elements_is_a_name(line, inputs, expected):
    assert shape_text(answer_of(line, inputs).output) == expected


@each_row("where", ["x == =1", "f(=2", "a b=True", "x y is=None"])
def test_where_refuses_names_that_are_no_expressions(where):
    with pytest.raises(ShapeError) as raised:
        parse_named_sizes(where)
    assert raised.value.problem.rule == "usage"


def test_unknown_condition_is_asked_for_with_its_value():
    code, calls = "def f(x, y):\n    if y.any() and x.size(0) == 2:\n        x = x.mT\n    return x\n", []
    with pytest.raises(ShapeError):
        interpret_code(code, {"x": (2, 3), "y": (2,)}, unknown_calls=calls)
    (asked,) = calls
    assert asked.as_json() == {"call": "y.any()", "line": 2, "proposal": False, "option": "--where"}
    for value, shape in ((True, (3, 2)), (False, (2, 3))):
        read = interpret_code(code, {"x": (2, 3), "y": (2,)}, None, {asked.call: value})
        assert answer_code(read).output == shape

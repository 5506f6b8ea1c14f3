"""Every argument of every op: a dialect or a code writer applies it or refuses it.

For every dialect and target, a request with an argument is refused, or its result and its code differ from those of the
request without it. The code is run where its framework is installed.
"""

from __future__ import annotations

import warnings
from functools import cache
from itertools import combinations, groupby
from pathlib import Path

import numpy as np
import pytest

from shapecalc.core.dialects import DIALECTS
from shapecalc.core.moves import Combine, Pad
from shapecalc.core.ops import OPS, all_params
from shapecalc.core.ops.op import operator_of
from shapecalc.core.params import ParamType
from shapecalc.core.problem import ShapeError
from shapecalc.core.requests import make_request
from shapecalc.core.resolve import resolve
from shapecalc.core.text import is_integer
from shapecalc.engine import run
from shapecalc.render.code import TARGETS, generate_code
from shapecalc.render.code import operands as writers
from shapecalc.render.code.calls import operand_shapes
from tests.plans import LARGEST, size
from tests.render.running import RUNS, data, run_code, skip_reason, stop_workers
from tests.tables import rows

WRITTEN = Path(__file__).with_name("written_arguments.txt")
"""The arguments that each target writes, in at least one request: `target => op => arguments`.

`python -m tests.render.test_arguments` prints the table.
"""
VALUES = {
    **dict.fromkeys((ParamType.AXES, ParamType.PERM), ("0", "1", "1,0", "2,0,1", "-1", "3,1", "1,2")),
    ParamType.TARGET: ("2", "3", "2,4", "6,-1"),
    ParamType.INT: ("0", "1", "2", "-1"),
    ParamType.SIZES: ("1", "2", "0,1", "2,1", "1,0,2,1"),
    ParamType.NUMBER: ("0", "1.5", "-2"),
    ParamType.SCALES: ("2", "0.5"),
    ParamType.SHAPE: ("4,3", "3,4", "4,2,3,3"),
    ParamType.SHAPES: ("3", "3,4", "2,3"),
    ParamType.FLAG: ("1",),
    ParamType.LENGTHS: ("h=2", "b=2"),
}
"""Values of optional parameters by type, in addition to the choices of the parameter."""
BASES = {
    "split": [("6,4", {"axis": "0"}), ("7,2", {"axis": "0", "parts": "3"})],
    "view": [("2,3", {"target": "6"}), ("2,3", {"target": "3,2"})],
    "conv": [
        ("1,4,6,6", {"weight": "4,2,3,3"}),
        ("1,6,6,3", {"weight": "3,3,3,4"}),
        ("1,6,6,4", {"weight": "3,3,2,4"}),
        ("1,3,3,3", {"weight": "3,3,3,3"}),
        ("1,4,6,6", {"weight": "4,2,3,3", "transposed": "1", "stride": "2"}),
    ],
    "pool": [("1,6,6,3", {"kernel": "2"}), ("1,2,5,7", {"kernel": "2,3"})],
    "pad": [
        ("3,4", {"padding": "1"}),
        ("1,2,3,4", {"padding": "2"}),
        ("1,2,3,4", {"padding": "1,2", "axes": "3"}),
        ("1,2,3,4", {"padding": "3,0", "axes": "-2"}),
        ("2,3", {"padding": "4,5,6,7"}),
        ("2,0", {"padding": "1"}),
    ],
    "upsample": [("1,2,3,4", {})],
    "space_to_depth": [("1,2,4,6", {"block": "2", "opset": "28"})],
    "linear": [("2,3", {}), ("3", {}), ("4,3", {"weight": "4,3"}), ("2,4", {"weight": "4,3"})],
    "rearrange": [("4,3", {"pattern": "(h w) c -> h w c"})],
}
"""Requests of an op in addition to its first vectors: an input and arguments."""
NOT_IN_MOVES = {("pool", "kind"): "max"}
"""The arguments that change elements but neither steps nor moves, with their defaults."""
DEFAULT_IN = {("mean", "keepdims", "onnx"), ("mean", "keepdims", "onnxruntime")}
"""The flags that a dialect has set by default."""
ONLY_PRINTED = {("split", "all")}
"""The arguments that change what is printed, not the result."""


@pytest.fixture(autouse=True, scope="module")
def workers():
    yield
    stop_workers()


def values_of(param):
    """Return values of a parameter: its choices, and the values of its type."""
    return (*param.choices, *VALUES.get(param.type, ()))


@cache
def answer(op, shape, arguments, dialect):
    """Return the answer, or None if the request is refused; `arguments` are pairs."""
    try:
        trace = resolve(make_request(op, shape, {**dict(arguments), "dialect": dialect}))
    except ShapeError:
        return None
    return None if trace.output is None or size(trace.output) > LARGEST else trace


def bases_of(op):
    """Return concrete requests of an op: the first vectors of two or more dims, and those of `BASES`."""
    vectors = [
        (shape, values) for shape, values in op.vectors if "," in shape and all(map(is_integer, shape.split(",")))
    ]
    return [*vectors[:6], *BASES.get(op.name, ())]


@cache
def requests():
    """Return all requests that differ in one optional argument.

    Each is the op, the argument, its value, the dialect, and the answers without and with the argument.
    """
    result = []
    for op in OPS.values():
        for dialect in [row.name for row in DIALECTS.values() if operator_of(op, row)]:
            for shape, arguments in bases_of(op):
                for param in all_params(op):
                    others = {name: value for name, value in arguments.items() if name != param.name}
                    without = answer(op.name, shape, tuple(others.items()), dialect)
                    for value in () if param.required else values_of(param):
                        answered = answer(op.name, shape, (*others.items(), (param.name, value)), dialect)
                        if answered is not None:
                            result.append((op.name, param.name, value, dialect, without, answered))
    return result


def computes(answered):
    """Return whether an answer computes elements from several others, which its moves do not describe."""
    return any(isinstance(move, Combine) and not isinstance(move, Pad) for move in answered.moves)


def is_same(op, name, value, without, answered):
    """Return whether an argument changes no element: its value is the default."""
    if without is None or (op, name) in NOT_IN_MOVES:
        return without is not None and value == NOT_IN_MOVES[op, name]
    if without.output != answered.output:
        return False
    if computes(answered):
        return (without.moves, without.steps) == (answered.moves, answered.steps)
    x = data(answered.input)
    return np.array_equal(run(without, x).array, run(answered, x).array)


def code_of(answered, target):
    """Return the code of an answer without its comments; None if the target refuses it."""
    try:
        text = generate_code(answered, target).text
    except ShapeError as error:
        assert str(error).startswith("usage: "), error
        return None
    return text


def lines_of(text):
    return None if text is None else [line for line in text.splitlines() if not line.startswith("#")]


def test_dialect_arguments_change_an_answer_or_are_refused():
    key = lambda row: (row[0], row[1], row[3])  # noqa: E731
    ignored = []
    for name, group in groupby(sorted(requests(), key=key), key):
        same = [is_same(*row[:3], *row[4:]) and row[4].steps == row[5].steps for row in group]
        if name[:2] not in ONLY_PRINTED and name not in DEFAULT_IN and all(same):
            ignored.append(name)
    assert ignored == []


def answers_by_choice():
    """Return the answers of each choice of an argument by op, argument and dialect, with those without it."""
    result = {}
    for op, name, value, dialect, without, answered in requests():
        if any(param.name == name and value in param.choices for param in all_params(OPS[op])):
            others = {key: str(other) for key, other in answered.request.arguments.items() if key != name}
            rows = result.setdefault((op, name, dialect), {}).setdefault(value, {})
            rows[answered.input, tuple(others.items())] = without, answered
    return result


def test_every_choice_of_an_argument_is_another_answer():
    equal = []
    for key, by_value in answers_by_choice().items():
        defaults = [
            value
            for value, rows in by_value.items()
            if all(without and is_same(*key[:2], value, without, made) for without, made in rows.values())
        ]
        assert len(defaults) < 2, f"{key}: {' and '.join(defaults)} give the answer without the argument"
        for one, other in combinations(by_value, 2):
            pairs = [
                (rows[1], by_value[other][each][1]) for each, rows in by_value[one].items() if each in by_value[other]
            ]
            if all((left.steps, left.moves) == (right.steps, right.moves) for left, right in pairs):
                equal.append((*key, one, other))
    assert equal == []


def test_every_choice_and_type_of_an_argument_is_requested():
    requested = {(op, name, value) for op, name, value, *_ in requests()}
    params = [(op.name, param) for op in OPS.values() for param in all_params(op) if not param.required]
    missing = [(op, param.name, value) for op, param in params for value in param.choices]
    assert [row for row in missing if row not in requested] == [], "add a request to BASES"
    assert [(op, param.name) for op, param in params if not values_of(param)] == [], "add values of the type to VALUES"
    assert [(op, param.name) for op, param in params if (op, param.name) not in {row[:2] for row in requested}] == []


@pytest.mark.parametrize("target", TARGETS)
def test_written_arguments_change_the_code_or_are_refused(target):
    ignored = []
    for op, name, value, dialect, without, answered in requests():
        if without is None or is_same(op, name, value, without, answered):
            continue
        written = lines_of(code_of(answered, target))
        if written is not None and written == lines_of(code_of(without, target)):
            ignored.append((op, name, value, dialect))
    assert [row for row in ignored if row[:2] not in ONLY_PRINTED] == []


def written_arguments(target):
    """Return the arguments that a target writes in some request, by op."""
    result = {}
    for op, name, value, _, without, answered in requests():
        is_new = name not in result.get(op, ()) and not is_same(op, name, value, without, answered)
        if is_new and code_of(answered, target) is not None:
            result.setdefault(op, []).append(name)
    return result


@pytest.mark.parametrize("target", TARGETS)
def test_writers_refuse_exactly_the_listed_arguments(target):
    listed = {op: names.split() for of, op, names in rows(WRITTEN) if of == target}
    assert {op: sorted(names) for op, names in written_arguments(target).items()} == listed


def can_run(answered, target):
    """Return whether the target's code of an answer can run here: engines accept less than their formats."""
    if target == "tensorrt" and computes(answered):
        return False  # the fake network only moves elements
    arguments = answered.request.arguments
    if target == "onnx" and answered.op == "pad":
        return answer("pad", answered.input, tuple(arguments.items()), "onnxruntime") is not None
    if target == "onnx" and str(arguments.get("padding")).startswith("same") and "dilation" in arguments:
        return False  # "Dilation not supported for AutoPadType::SAME_UPPER"
    if target == "onnx" and answered.op == "pool" and 2 in np.ravel(arguments.get("padding", 0)):
        return False  # ONNX Runtime refuses a padding of the size of the kernel
    if target == "onnx" and answered.op == "repeat_interleave" and 0 in answered.output:
        return False  # ONNX Runtime 1.31 drops an Expand to 0 positions in front of a Flatten
    return target not in ("onnx", "tensorrt", "openvino") or 0 not in answered.input


def expected_array(answered, target):
    """Return the result of an answer on 0, 1, 2, ...; None if only the code itself computes it."""
    x = data(answered.input)
    if not computes(answered):
        return run(answered, x).array
    for other in ("numpy", "onnx"):
        text = None if other == target or not can_run(answered, other) else code_of(answered, other)
        if text is not None:
            return run_code(other, text, x, operand_shapes((answered,)))
    return None


@pytest.mark.parametrize("target", RUNS)
def test_code_with_arguments_has_the_elements_of_the_answer(target):
    if reason := skip_reason(target):
        pytest.skip(reason)
    ran = set()
    for op, _, _, _, _, answered in requests():
        text = code_of(answered, target)
        if text is None or text in ran or not can_run(answered, target):
            continue
        ran.add(text)
        array = np.asarray(run_code(target, text, data(answered.input), operand_shapes((answered,))))
        assert op == "shape" or array.shape == answered.output, text
        expected = expected_array(answered, target)
        if expected is not None:
            np.testing.assert_allclose(array, expected, rtol=1e-5, err_msg=text)
    assert ran


@pytest.mark.parametrize(
    ("target", "template", "shortened"),
    [
        ("numpy", "pad", "np.pad({x}, {padding}, constant_values={fill})"),
        ("tensorflow", "pad", "tf.pad({x}, {padding}, {mode})"),
        ("torch", "stack", "torch.stack([{all}])"),
    ],
)
def test_argument_missing_from_a_template_is_detected(monkeypatch, target, template, shortened):
    templates = {**writers.OPERAND_TEMPLATES[target], template: shortened}
    monkeypatch.setitem(writers.OPERAND_TEMPLATES, target, templates)
    with pytest.raises(AssertionError):
        test_writers_refuse_exactly_the_listed_arguments(target)


def test_argument_read_but_not_written_is_detected(monkeypatch):
    monkeypatch.setitem(writers.FIELDS, "mode", lambda call: call.read_pad_mode() and None)
    with pytest.raises(AssertionError):
        test_written_arguments_change_the_code_or_are_refused("numpy")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print("# The arguments that each target writes in some request: target => op => arguments\n")
    for each in TARGETS:
        for op, names in written_arguments(each).items():
            print(f"{each} => {op} => {' '.join(sorted(names))}")

"""Check that traces, chains, problems and rules are immutable, hashable, and expose only their own attributes."""

from __future__ import annotations

import copy
import pickle
from contextlib import suppress

import pytest

import shapecalc as sc
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import ZeroMeaning
from shapecalc.core.ops import OPS, all_rules
from shapecalc.core.record import FrozenDict, Record, fields, replace
from shapecalc.core.requests import make_request
from shapecalc.core.resolve import resolve
from tests.cases import answered

VALUES = {
    "trace": lambda: sc.reshape((2, 3, 4), (0, -1)),
    "symbolic": lambda: sc.reshape("N,C,H,W", "0,-1,64"),
    "chain": lambda: sc.chain("2,3,4", "transpose 1,0,2", "flatten"),
    "comparison": lambda: sc.compare((2, 3), (0, -1)),
    "stage": lambda: sc.shuffle((2, 3), first=(1, 0)).stages[0],
    "step": lambda: sc.reshape((2, 3, 4), (0, -1)).steps[1],
    "request": lambda: sc.reshape((2, 3, 4), (0, -1)).request,
    "reading": lambda: DIALECTS["onnx"].reshape_semantics[False],
    "condition": lambda: sc.reshape("N,4", "2,6").conditions[0],
    "problem": lambda: answered("reshape 2,3,4 5,-1").problem,
    "refused trace": lambda: answered("reshape 2,3,4 5,-1"),
}
TUPLE_METHODS = ("count", "__len__", "__getitem__", "__iter__", "_replace", "_asdict", "_fields")


@pytest.mark.parametrize("make", VALUES.values(), ids=VALUES)
def test_values_are_immutable(make):
    value, fresh = make(), make()
    assert value == fresh
    assert len({value, fresh}) == 1
    assert value != sc.transpose((2, 3))
    for name in [*fields(value), "anything"]:
        with pytest.raises(AttributeError):
            setattr(value, name, None)
        with pytest.raises(AttributeError):
            delattr(value, name)
    assert not any(hasattr(value, name) for name in TUPLE_METHODS)
    before = hash(value)
    for name in dir(value):
        if not name.startswith("_"):
            getattr(value, name)
    assert (value, hash(value)) == (fresh, before)


@pytest.mark.parametrize(
    ("change", "arguments"),
    [
        ("__setitem__", ("allowzero", 1)),
        ("__delitem__", ("allowzero",)),
        ("update", ({"allowzero": 1},)),
        ("__ior__", ({"allowzero": 1},)),
        ("clear", ()),
        ("pop", ("allowzero",)),
        ("setdefault", ("x", 1)),
    ],
)
def test_options_are_frozen(change, arguments):
    options = sc.reshape((2, 3, 4), (0, -1)).options
    with pytest.raises(TypeError):
        getattr(options, change)(*arguments)
    assert sc.reshape((2, 3, 4), (0, -1)).options == {"allowzero": False}


def test_mutable_arguments_are_copied_into_the_trace():
    target, shape = [0, -1], [2, 3, 4]
    trace = sc.reshape(shape, target)
    target.append(5)
    shape.clear()
    assert (trace.request.arguments, trace.input) == ({"target": (0, -1)}, (2, 3, 4))


def test_rule_equals_its_id_and_is_immutable():
    rule = all_rules()["indivisible"]
    assert (rule, str(rule), VALUES["problem"]().rule) == ("indivisible", "indivisible", rule)
    with pytest.raises(AttributeError):
        rule.sentence = ""


def test_values_survive_copy_and_pickle():
    problem, request, reading = (VALUES[name]() for name in ("problem", "request", "reading"))
    assert pickle.loads(pickle.dumps(problem)) == problem
    assert copy.deepcopy(request) == request
    assert pickle.loads(pickle.dumps(reading)) == copy.copy(reading) == reading
    assert pickle.loads(pickle.dumps(ZeroMeaning.COPIES)) is ZeroMeaning.COPIES


@pytest.mark.parametrize(
    "answer",
    [
        lambda: sc.reshape((2, 3, 4), (0, -1)),
        lambda: sc.reshape(("N", "C", "H", "W"), (0, -1, 64)),
        lambda: sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(0, -1)),
        lambda: sc.conv(("B", 3, "H", "W"), (8, 3, 3, 3), stride=2),
        lambda: sc.split((6, 4), 0, 3),
        lambda: sc.chain("2,3,4", "transpose 1,0,2", "reshape 6,4"),
        lambda: refused_trace((2, 3, 4), (0, 5, -1)),
    ],
)
def test_answer_is_the_same_before_and_after_its_steps_are_read(answer):
    unread, read = answer(), answer()
    facts = [read.steps, read.origins, read.assumes, read.moves, [stage.origins for stage in read.stages]]
    copied = pickle.loads(pickle.dumps(unread))
    assert unread == read == copied
    assert hash(unread) == hash(read) == hash(copied)
    assert repr(unread) == repr(read) == repr(copied)
    assert facts == [
        copied.steps,
        copied.origins,
        copied.assumes,
        copied.moves,
        [stage.origins for stage in copied.stages],
    ]
    assert [step.why for step in copied.steps] == [step.why for step in read.steps] != []
    assert read.as_json() == copied.as_json()


@pytest.mark.sampled(99)
@pytest.mark.parametrize("name", OPS)
def test_answers_of_every_op_are_the_same_before_and_after_their_steps_are_read(name):
    unread, read = ([*map(resolve, requests_of(OPS[name]))] for _ in range(2))
    assert any(answer.steps for answer in read)
    assert unread == read
    copied = pickle.loads(pickle.dumps(unread))
    assert (copied, [hash(answer) for answer in copied]) == (read, [hash(answer) for answer in read])
    assert [answer.steps for answer in copied] == [answer.steps for answer in read]


def requests_of(op):
    """Yield the test vectors of an op as requests, except those that cannot be parsed."""
    for shape, arguments in op.vectors:
        with suppress(sc.ShapeError):
            yield make_request(op.name, shape, arguments)


def refused_trace(shape, target):
    """Return the trace of a refused reshape."""
    with pytest.raises(sc.ShapeError) as refusal:
        sc.reshape(shape, target)
    return refusal.value.trace


def test_refused_answer_has_the_steps_before_the_problem():
    (stage,) = refused_trace((2, 3, 4), (0, 5, -1)).stages
    assert [(step.rule, step.out, step.value) for step in stage.steps] == [("copy-zero", 0, 2), ("given", 1, 5)]
    assert (stage.is_finished, stage.after, stage.move) == (False, None, None)


class Point(Record):
    x: int
    y: int = 0


class Place(Record):
    x: int
    y: int = 0


@pytest.mark.parametrize(
    ("positional", "keywords"), [((), {}), ((1, 2, 3), {}), ((1,), {"z": 2}), ((), {"y": 1}), ((), {"z": 1, "x": 2})]
)
def test_record_accepts_exactly_its_fields(positional, keywords):
    with pytest.raises(TypeError, match=r"Point\.__init__\(\)"):
        Point(*positional, **keywords)


def test_records_of_different_classes_differ():
    assert Point(1) != Place(1)
    assert replace(Point(1), y=5) == Point(1, 5)
    assert hash(FrozenDict(a=(1, 2))) == hash(FrozenDict(a=(1, 2)))

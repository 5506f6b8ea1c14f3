"""Values: traces, chains, problems and rules cannot be changed, have a hash, and show nothing but what is theirs."""

from __future__ import annotations

import copy
import pickle

import pytest

import shapecalc as sc
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import Zero
from shapecalc.core.ops import every_rule
from shapecalc.core.record import FrozenDict, Record, fields, replace


def refusal():
    with pytest.raises(sc.ShapeError) as error:
        sc.reshape((2, 3, 4), (5, -1))
    return error.value


VALUES = {
    "trace": lambda: sc.reshape((2, 3, 4), (0, -1)),
    "symbolic": lambda: sc.reshape("N,C,H,W", "0,-1,64"),
    "chain": lambda: sc.chain("2,3,4", "transpose 1,0,2", "flatten"),
    "comparison": lambda: sc.compare((2, 3), (0, -1)),
    "stage": lambda: sc.shuffle((2, 3), first=(1, 0)).stages[0],
    "step": lambda: sc.reshape((2, 3, 4), (0, -1)).steps[1],
    "request": lambda: sc.reshape((2, 3, 4), (0, -1)).request,
    "reading": lambda: DIALECTS["onnx"].readings[False],
    "condition": lambda: sc.reshape("N,4", "2,6").conditions[0],
    "problem": lambda: refusal().problem,
    "refused trace": lambda: refusal().trace,
}
made = pytest.mark.parametrize("make", VALUES.values(), ids=VALUES)


@made
def test_equal_values_are_equal_and_have_one_hash(make):
    assert make() == make()
    assert len({make(), make()}) == 1
    assert make() != sc.transpose((2, 3))


@made
def test_nothing_of_a_value_can_be_set_or_deleted(make):
    value = make()
    for name in [*fields(value), "anything"]:
        with pytest.raises(AttributeError):
            setattr(value, name, None)
        with pytest.raises(AttributeError):
            delattr(value, name)


@made
def test_a_value_has_no_face_of_a_tuple(make):
    value = make()
    for name in ("count", "__len__", "__getitem__", "__iter__", "_replace", "_asdict", "_fields"):
        assert not hasattr(value, name)


@made
def test_a_look_at_a_value_does_not_change_it(make):
    value, fresh = make(), make()
    before = hash(value)
    for name in dir(value):
        if not name.startswith("_"):
            getattr(value, name)
    assert value == fresh
    assert hash(value) == before


@pytest.mark.parametrize("change", ["set", "delete", "update", "or", "clear", "pop", "setdefault"])
def test_options_cannot_be_changed_for_later_calls(change):
    options = sc.reshape((2, 3, 4), (0, -1)).options
    changes = {
        "set": lambda: options.__setitem__("allowzero", 1),
        "delete": lambda: options.__delitem__("allowzero"),
        "update": lambda: options.update(allowzero=1),
        "or": lambda: options.__ior__({"allowzero": 1}),
        "clear": lambda: options.clear(),
        "pop": lambda: options.pop("allowzero"),
        "setdefault": lambda: options.setdefault("x", 1),
    }
    with pytest.raises(TypeError):
        changes[change]()
    assert sc.reshape((2, 3, 4), (0, -1)).options == {"allowzero": False}


def test_arguments_that_a_caller_keeps_and_changes_are_not_those_of_the_trace():
    target, shape = [0, -1], [2, 3, 4]
    trace = sc.reshape(shape, target)
    target.append(5)
    shape.clear()
    assert trace.request.arguments == {"target": (0, -1)}
    assert trace.input == (2, 3, 4)


def test_a_rule_is_its_id_and_cannot_be_changed():
    rule = every_rule()["indivisible"]
    assert (rule, str(rule), refusal().problem.rule) == ("indivisible", "indivisible", rule)
    with pytest.raises(AttributeError):
        rule.sentence = ""


def test_values_survive_a_copy_and_a_pickle():
    trace = sc.reshape((2, 3, 4), (0, -1))
    problem = refusal().problem
    assert pickle.loads(pickle.dumps(problem)) == problem
    assert copy.deepcopy(trace.request) == trace.request
    reading = DIALECTS["onnx"].readings[False]
    assert pickle.loads(pickle.dumps(reading)) == copy.copy(reading) == reading
    assert pickle.loads(pickle.dumps(Zero.COPIES)) is Zero.COPIES


class Point(Record):
    x: int
    y: int = 0


@pytest.mark.parametrize(
    "make",
    [lambda: Point(), lambda: Point(1, 2, 3), lambda: Point(1, z=2), lambda: Point(y=1), lambda: Point(z=1, x=2)],
)
def test_a_record_takes_its_fields_and_no_others(make):
    with pytest.raises(TypeError, match=r"Point\.__init__\(\)"):
        make()


def test_records_of_different_classes_differ():
    class Place(Record):
        x: int
        y: int = 0

    assert Point(1) != Place(1)
    assert replace(Point(1), y=5) == Point(1, 5)
    assert hash(FrozenDict(a=(1, 2))) == hash(FrozenDict(a=(1, 2)))

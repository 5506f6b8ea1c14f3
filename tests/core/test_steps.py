"""Check that answers make neither steps nor messages before these are read."""

from __future__ import annotations

import pytest

from shapecalc.core.answers import Step
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dims import is_concrete
from shapecalc.core.ops import OPS
from shapecalc.core.problem import Problem, ShapeError
from shapecalc.core.requests import make_request
from shapecalc.core.resolve import resolve


def concrete_requests(op):
    """Yield the requests of an op's vectors in every dialect, without those with names or usage errors."""
    for dialect in DIALECTS:
        for shape, arguments in op.vectors:
            try:
                request = make_request(op.name, shape, {**arguments, "dialect": dialect})
            except ShapeError:
                continue
            if is_concrete(request.dims):
                yield request


def count_created(monkeypatch, record_class):
    """Return a list that grows with each new instance of a record class."""
    created, init = [], record_class.__init__
    monkeypatch.setattr(record_class, "__init__", lambda *values, **named: created.append(1) or init(*values, **named))
    return created


@pytest.mark.parametrize("name", OPS)
def test_steps_and_messages_are_made_when_read(name, monkeypatch):
    requests = [*concrete_requests(OPS[name])]
    traces = [resolve(request) for request in requests]
    assert any(trace.steps for trace in traces)  # steps and problems create the functions `__init__` of the records
    steps, problems = count_created(monkeypatch, Step), count_created(monkeypatch, Problem)
    for request in requests:
        trace = resolve(request)
        assert not steps, request
        assert bool(problems) is (trace.problem is not None) or trace.omitted_switches, request
        steps.clear()
        problems.clear()

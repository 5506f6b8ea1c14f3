"""How inputs are taken: what the batch is, what is freed, which sizes are tried, and what options say."""

from __future__ import annotations

from itertools import combinations as pairs

import pytest

from shapecalc.core.problem import USAGE, ShapeError
from shapecalc.models import free_dims
from tests.models.judging import report_of
from tests.models.text import model, rows, sections


def taken(text):
    """Return the report of a model, with the options that stand behind `with`."""
    written, _, options = text.partition("with ")
    return report_of(model(written), **eval(f"dict({options})", {"HELD_BACK": free_dims.HELD_BACK}))


def comma_text(dims):
    return "..." if dims is None else ",".join(map(str, dims))


@pytest.mark.parametrize(("text", "expected"), rows("taken"))
def test_what_the_batch_is(text, expected):
    if expected == "usage":
        with pytest.raises(ShapeError) as refused:
            taken(text)
        assert refused.value.problem.rule is USAGE
        return
    report = taken(text)
    shapes = [f"{each.name}={comma_text(each.taken)}" for each in report.inputs]
    assert " ".join([report.batch or "-", str(report.declared_batch or "-"), *shapes]) == expected


@pytest.mark.parametrize(("text", "lines"), sections("assumed"))
def test_sizes_are_tried_until_the_model_resolves(text, lines):
    report = taken(text)
    nodes = {each.node.proto.name: each for each in report.nodes}
    words = {
        name: ",".join("?" if dim is None else str(dim) for dim in each.output) if each.output else "None"
        for name, each in nodes.items()
    }
    for line in lines:
        told = {"report": report, "nodes": nodes, "words": words, "HELD_BACK": free_dims.HELD_BACK}
        assert eval(line, told), line


def test_of_many_free_dims_few_sums_are_looked_at(monkeypatch):
    drawn = []
    monkeypatch.setattr(
        free_dims, "combinations", lambda *given: (drawn.append(pair) or pair for pair in pairs(*given))
    )
    report = taken("; ".join([f"x{at} = (N,s{at})" for at in range(60)]) + "; y = Add x0 x1")
    assert len(drawn) < 100
    assert len(report.inputs) == 60

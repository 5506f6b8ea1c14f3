"""Input dims, the sizes that are tried, and the names of all tensor dims."""

from __future__ import annotations

from itertools import combinations as pairs
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapecalc.core.dims import lowest_terms, named_dim, substitute
from shapecalc.core.problem import USAGE, ShapeError
from shapecalc.models import free_dims
from shapecalc.models.all_nodes import describe_all_nodes
from shapecalc.models.free_dims import DimFitter, Lane
from shapecalc.models.report import format_shape
from tests.models.judging import outcome_of, report_of, size_of
from tests.models.samples import random_inputs, run, run_until_failure
from tests.models.text import model, rows, sections
from tests.sampling import each_row, examples


def report_with_options(text):
    """Return the report of a model, with the options after `with`."""
    written, _, options = text.partition("with ")
    return report_of(model(written), **eval(f"dict({options})", {"HELD_BACK": free_dims.VALIDATION_BATCHES}))


@each_row(("text", "expected"), rows("taken"))
def test_batch_axis_table(text, expected):
    if expected == "usage":
        with pytest.raises(ShapeError) as refused:
            report_with_options(text)
        assert refused.value.problem.rule is USAGE
        return
    report = report_with_options(text)
    shapes = [f"{e.name}={format_shape(e.taken)}" for e in report.inputs]
    assert " ".join([report.batch or "-", str(report.declared_batch or "-"), *shapes]) == expected


@each_row(("text", "lines"), sections("assumed"))
def test_sizes_are_tried_until_the_model_resolves(text, lines):
    report = report_with_options(text)
    nodes = {each.node.proto.name: each for each in report.nodes}
    words = {name: format_shape(each.output) for name, each in nodes.items()}

    def holds(sizes):
        """Return whether the reported output shapes are those at some sizes."""
        proto = model(text.partition("with ")[0])
        found, _ = run_until_failure(proto, random_inputs(proto, **sizes))
        own = {name: sizes[made] for name, made in report.names.items() if made in sizes} | sizes
        reported = {name: tuple([size_of(dim, own) for dim in nodes[name].output]) for name in found if name in nodes}
        return reported == {name: found[name] for name in reported} != {}

    for line in lines:
        names = {
            "report": report,
            "nodes": nodes,
            "words": words,
            "HELD_BACK": free_dims.VALIDATION_BATCHES,
            "holds": holds,
        }
        assert eval(line, names), line


def test_many_free_dims_try_few_sums(monkeypatch):
    drawn = []
    monkeypatch.setattr(
        free_dims, "combinations", lambda *given: (drawn.append(pair) or pair for pair in pairs(*given))
    )
    report = report_with_options("; ".join([f"x{at} = (N,s{at})" for at in range(60)]) + "; y = Add x0 x1")
    assert len(drawn) < 100
    assert len(report.inputs) == 60


ALONE = [Lane(batch, {"N": batch}, batch < 5) for batch in (1, 2, 3, 5, 0)]
BASE = [(1, 64, 64), (2, 64, 64), (3, 64, 64), (5, 64, 64), (7, 128, 160), (11, 224, 288), (13, 96, 352), (0, 64, 64)]
THREE = [Lane(n, {"N": n, "past": past, "S": new}, n < 5) for n, past, new in BASE]


@each_row(("names", "rule", "name"), rows("names"))
def test_number_is_named_by_its_value_at_each_size(names, rule, name):
    lanes = ALONE if names == "N" else THREE
    numbers = [eval(rule, None, dict(lane.sizes)) for lane in lanes if lane.batch]
    assert str(DimFitter(lanes, "N").fit_dim(tuple(numbers))) == name


def test_name_refuted_by_the_held_out_size_is_dropped():
    """At 1, 2 and 3 the dim equals 4*N; the held-out lane refutes it."""
    namer = DimFitter(ALONE, "N")
    assert (str(namer.fit_dim((4, 8, 12, 20))), namer.fit_dim((4, 8, 12, 16))) == ("4*N", None)


def test_number_seen_once_stays_a_number():
    namer = DimFitter(ALONE, "N")
    assert namer.fit_shape(((1, 85), None, None, None, None)) == (1, 85)
    assert namer.fit_shape(((1, 85), (2, 170), None, None, None)) == (None, None)
    assert namer.fit_shape((None,) * 5) is None
    assert namer.fit_shape(((1,), (2, 1), (3,), (5,), None)) is None


OF_THREE = DimFitter(THREE, "N")
DIMS = st.builds(
    lambda factor, powers: lowest_terms(factor, 1, dict(zip(("N", "past", "S"), powers, strict=True))),
    st.integers(1, 50),
    st.lists(st.integers(0, 1), min_size=3, max_size=3),
)


@examples(60)
@given(DIMS, st.one_of(st.none(), st.integers(1, 9), st.sampled_from([named_dim("S"), named_dim("past")])))
def test_name_holds_at_every_size(dim, added):
    """A reported name is right for any product or sum, and a product is always reported."""
    terms = (dim,) if added is None else (dim, added)
    numbers = [sum(substitute(term, lane.sizes) for term in terms) for lane in THREE if lane.batch]
    found = OF_THREE.fit_dim(tuple(numbers))
    assert added is not None or found == dim
    assert found is None or numbers == [size_of(found, lane.sizes) for lane in THREE if lane.batch]


def all_nodes_report(proto):
    """Return the report on all nodes of a model."""
    found = outcome_of(proto)
    return describe_all_nodes(found.walk, found.tracker)


@pytest.mark.parametrize(("text", "expected"), sections("every"))
def test_reported_sizes_run_at_other_sizes(text, expected):
    proto = model(text)
    every = all_nodes_report(proto)
    tensor = every.nodes[-1].outputs[0]
    assert format_shape(tensor.shape) == expected[0]
    assert (every.unknown + every.shapeless > 0) == ("?" in expected[0])
    for batch, height, width in [(1, 33, 40), (2, 47, 29), (3, 64, 51), (5, 70, 38)]:
        sizes = {"N": batch, "H": height, "W": width, "S": height}
        made = run(proto, random_inputs(proto, **sizes))[0].shape
        for name, definition in every.results.items():
            sizes[name] = eval(definition, None, sizes)
        dims = zip(tensor.shape or (None,) * len(made), made, strict=True)
        assert all(dim is None or eval(str(dim), None, sizes) == size for dim, size in dims)


def test_element_counts_match_the_reported_sizes():
    every = all_nodes_report(model(sections("every")[0].values[0].replace("(N,2,H,W)", "(4,2,H,64)")))
    tensor = every.nodes[-1].outputs[0]
    assert every.counted_at == {"N": 4, "H": 64}
    assert (tensor.elements, tensor.bytes, tensor.type) == (prod((4, 2, 16, 16)), 4 * prod((4, 2, 16, 16)), "float32")
    assert [(made.name, made.bytes) for _, made in every.largest] == [("p", 32768), ("y", 8192)]
    assert every.results == {"H1": "(H - 1)//2 + 1", "H2": "(H1 - 1)//2 + 1"}

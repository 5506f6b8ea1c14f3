"""Names for numbers: what fits in every lane is told, and nothing that one of them refutes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapecalc.core.dims import lowest_terms, named_dim, substitute
from shapecalc.models.free_dims import Lane, Namer, Sum
from tests.models.text import rows
from tests.sampling import examples

ALONE = [Lane(batch, {"N": batch}, batch < 5) for batch in (1, 2, 3, 5, 0)]
BASE = [(1, 64, 64), (2, 64, 64), (3, 64, 64), (5, 64, 64), (7, 128, 160), (11, 224, 288), (13, 96, 352), (0, 64, 64)]
THREE = [Lane(n, {"N": n, "past": past, "S": new}, n < 5) for n, past, new in BASE]


def named(lanes, rule):
    """Return the name of a number that a rule gives at each size; the rule is an expression of Python."""
    namer = Namer(lanes, "N")
    return namer.dim(tuple(eval(rule, None, dict(lane.sizes)) for lane in lanes if lane.batch))


@pytest.mark.parametrize(("names", "rule", "name"), rows("names"))
def test_a_number_is_named_by_what_it_is_at_each_size(names, rule, name):
    assert str(named(ALONE if names == "N" else THREE, rule)) == name


def test_what_the_held_back_size_refutes_is_not_told():
    """At 1, 2 and 3 it is 4*N; the lane held back says that it is not."""
    namer = Namer(ALONE, "N")
    assert (str(namer.dim((4, 8, 12, 20))), namer.dim((4, 8, 12, 16))) == ("4*N", None)


def test_a_number_that_was_seen_once_stays_a_number():
    namer = Namer(ALONE, "N")
    assert namer.shape(((1, 85), None, None, None, None)) == (1, 85)
    assert namer.shape(((1, 85), (2, 170), None, None, None)) == (None, None)
    assert namer.shape((None,) * 5) is None
    assert namer.shape(((1,), (2, 1), (3,), (5,), None)) is None


OF_THREE = Namer(THREE, "N")
DIMS = st.builds(
    lambda factor, powers: lowest_terms(factor, 1, dict(zip(("N", "past", "S"), powers, strict=True))),
    st.integers(1, 50),
    st.lists(st.integers(0, 1), min_size=3, max_size=3),
)


@examples(150)
@given(DIMS, st.one_of(st.none(), st.integers(1, 9), st.sampled_from([named_dim("S"), named_dim("past")])))
def test_a_name_is_right_at_every_size(dim, added):
    """Whatever product or sum the numbers come from: a name that is told is right, and a product is always told."""
    terms = (dim,) if added is None else (dim, added)
    numbers = [sum(substitute(term, lane.sizes) for term in terms) for lane in THREE if lane.batch]
    found = OF_THREE.dim(tuple(numbers))
    assert added is not None or found == dim
    parts = found.terms if isinstance(found, Sum) else (found,)
    assert found is None or numbers == [
        sum(substitute(part, lane.sizes) for part in parts) for lane in THREE if lane.batch
    ]

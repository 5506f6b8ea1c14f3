"""Values by name: each imported when it is asked for, and the name that was probably meant."""

from __future__ import annotations

import pytest

from shapecalc.core.ops import OPS
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import Table
from shapecalc.core.text import LONGEST_COMPARED, MOST_LISTED, lookup, suggestion


def test_a_table_knows_its_names_and_nothing_else():
    table = Table("shapecalc.core.ops", "reshape", "squeeze")
    assert (len(table), list(table), table.found) == (2, ["reshape", "squeeze"], {})
    assert "squeeze" in table
    assert "axes" not in table
    with pytest.raises(KeyError, match="axes"):
        table["axes"]
    assert table["squeeze"] is table["squeeze"] is OPS["squeeze"]
    assert list(table.found) == ["squeeze"]


@pytest.mark.parametrize("count", [MOST_LISTED, MOST_LISTED + 1])
def test_so_many_names_are_listed(count):
    names = [f"name{place}" for place in range(count)]
    assert suggestion("?", names) == (f"there are {', '.join(names)}" if count == MOST_LISTED else "")


@pytest.mark.parametrize(("more", "hint"), [(0, "did you mean"), (10, "there are")])
def test_the_beginning_of_a_long_name_is_compared(more, hint):
    known = "a" * (LONGEST_COMPARED // 2)
    assert suggestion("b" * (LONGEST_COMPARED // 2 + more) + known, [known]).startswith(hint)


def test_a_name_that_is_not_there_is_usage():
    with pytest.raises(ShapeError) as error:
        lookup("reshap\x1b", OPS, "operation")
    problem = error.value.problem
    assert (problem.message, problem.hint, problem.argument) == (
        r"there is no operation 'reshap\x1b'",
        "did you mean reshape?",
        "operation",
    )

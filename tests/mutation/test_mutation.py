"""The mutation run: which changes count, which tests run, and how a mutation is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("cosmic_ray", reason="the extra `mutation` is not installed")

from tests.mutation.__main__ import OPERATORS, ROOT, Mutant, Reach, _meaning, _places, explained

SOURCE = "MOST = 3\n\n\ndef most(sizes: list[int] | None) -> int:\n    return max(sizes) + 1\n"
FILE = Path("shapecalc/core/most.py")


def test_mutation_skips_annotations_and_type_imports():
    assert _meaning(SOURCE) == _meaning(SOURCE.replace("list[int] | None", "int"))
    assert _meaning(SOURCE) != _meaning(SOURCE.replace("+ 1", "- 1"))
    assert _meaning("TYPE_CHECKING = True\n") == _meaning("TYPE_CHECKING = False\n")
    assert _meaning("def (\n") == ""


def test_mutation_sites_have_name_number_and_line():
    places = {(name, number, line) for name, number, _, line in _places(SOURCE)}
    assert {("core/NumberReplacer", 0, 1), ("core/ReplaceBinaryOperator_Add_Sub", 0, 5)} <= places
    assert {name for name, _, _ in places} <= OPERATORS.keys()


@pytest.mark.parametrize(
    ("line", "tests"), [(5, ["quick", "slow"]), (4, ["quick", "slow"]), (1, ["other", "quick", "slow"])]
)
def test_mutation_orders_tests_by_coverage_and_speed(line, tests):
    reach = Reach()
    reach.lines = {str(FILE): {5: ["slow", "quick"], 9: ["other"]}}
    reach.seconds.update(quick=1, slow=2)
    assert reach.tests(Mutant(FILE, line, SOURCE, SOURCE)) == tests


def test_mutation_uncovered_file_uses_tests_of_its_package():
    reach = Reach()
    reach.seconds.update({"tests/core/test_b.py::b": 1, "tests/core/test_a.py::a": 2, "tests/cli/test_c.py::c": 0})
    assert reach.tests(Mutant(FILE, 1, SOURCE, SOURCE)) == ["tests/core/test_b.py::b", "tests/core/test_a.py::a"]


def test_mutation_survivors_exist_in_the_package():
    for line in explained():
        file, _, change = line.partition(": - ")
        source = {row.strip() for row in (ROOT / "shapecalc" / file).read_text("utf-8").splitlines()}
        assert any(change.startswith(f"{row} + ") for row in source), line


def test_mutation_change_is_one_line():
    mutant = Mutant(FILE, 5, SOURCE, SOURCE.replace("+ 1", "- 1"))
    assert mutant.change == "core/most.py: - return max(sizes) + 1 + return max(sizes) - 1"

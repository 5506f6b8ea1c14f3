"""The mutation run: what counts as a break, and how one is told."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("cosmic_ray", reason="the extra `mutation` is not installed")

from tests.mutation.__main__ import OPERATORS, ROOT, STAGES, Mutant, _meaning, _nearest, _places, explained

SOURCE = "def most(sizes: list[int] | None) -> int:\n    return max(sizes) + 1\n"


def test_annotations_and_imports_for_types_are_no_places_to_break():
    assert _meaning(SOURCE) == _meaning(SOURCE.replace("list[int] | None", "int"))
    assert _meaning(SOURCE) != _meaning(SOURCE.replace("+ 1", "- 1"))
    assert _meaning("TYPE_CHECKING = True\n") == _meaning("TYPE_CHECKING = False\n")
    assert _meaning("def (\n") == ""


def test_every_place_has_a_name_and_a_number():
    places = _places(SOURCE)
    assert {("core/NumberReplacer", 0), ("core/NumberReplacer", 1), ("core/ReplaceBinaryOperator_Add_Sub", 0)} <= {
        place[:2] for place in places
    }
    assert {name for name, _, _ in places} <= OPERATORS.keys()


def test_lots_of_tests_are_there():
    assert [path for lot in STAGES for path in lot if path[0] != "-" and not (ROOT / path).exists()] == []


def test_examples_and_what_imports_a_file_are_nearest_to_it():
    file = "shapecalc/core/values.py"
    assert _nearest(Path(file), ROOT) == [file, "tests/core/test_patterns.py"]


def test_what_is_explained_stands_in_the_core():
    for line in explained():
        file, _, change = line.partition(": - ")
        source = {each.strip() for each in (ROOT / "shapecalc" / "core" / file).read_text("utf-8").splitlines()}
        assert any(change.startswith(f"{each} + ") for each in source), line


def test_a_break_is_told_on_one_line():
    mutant = Mutant(Path("shapecalc/core/ops/most.py"), SOURCE, SOURCE.replace("+ 1", "- 1"))
    assert mutant.change == "ops/most.py: - return max(sizes) + 1 + return max(sizes) - 1"

"""The public names of the Python API: parameters of functions, and attributes of results."""

import inspect
from pathlib import Path

import pytest

import shapecalc
from shapecalc.core.answers import Request, Stage, Step
from shapecalc.core.conditions import Condition
from shapecalc.reasoning.compare import ComparisonRow
from shapecalc.reasoning.costs import Cost
from shapecalc.reasoning.equiv import Counterexample, Equivalence
from shapecalc.reasoning.find import ChainSearchResult, Rearrangement
from shapecalc.reasoning.invert import Inversion
from shapecalc.reasoning.simplify import Simplification

TABLE = Path(__file__).with_name("public_attributes.txt")
RESULT_TYPES = (
    Request,
    Stage,
    Step,
    Condition,
    ComparisonRow,
    Cost,
    Counterexample,
    Equivalence,
    ChainSearchResult,
    Rearrangement,
    Inversion,
    Simplification,
)
"""The types of public attributes that are not in `shapecalc.__all__`."""


def public_names(item):
    """Return the parameters of a function, or the public attributes of a class."""
    if not isinstance(item, type):
        return list(inspect.signature(item).parameters)
    annotated = {name for base in item.__mro__ for name in vars(base).get("__annotations__", ())}
    names = {*dir(item), *annotated} - {*dir(Exception)}
    return sorted(name for name in names if not name.startswith("_"))


def current_rows():
    """Return a row for each public function and for each type of a result."""
    exported = {name: getattr(shapecalc, name) for name in shapecalc.__all__}
    items = {name: item for name, item in exported.items() if callable(item)}
    items |= {item.__name__: item for item in RESULT_TYPES}
    return {name: " ".join(public_names(item)) for name, item in sorted(items.items())}


def parse_table():
    """Parse the table: each line contains a name, a colon and the public names."""
    lines = TABLE.read_text("utf-8").splitlines()
    return {name: names.strip() for name, _, names in (line.partition(":") for line in lines)}


def test_public_attributes_same_items():
    assert sorted(parse_table()) == sorted(current_rows())


@pytest.mark.parametrize("name", parse_table())
def test_public_attributes_unchanged(name):
    assert current_rows()[name] == parse_table()[name]

"""The tables of semantics by dialect: the ops that read them, and the dialects that they name."""

from __future__ import annotations

import pytest

from shapecalc.cli.info import DIALECT_KEYS
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import ALL_TYPES
from shapecalc.core.ops import OPS, operators_of, supporting_dialects
from shapecalc.core.ops.op import DialectTable, operator_of, operator_types
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import fields, replace
from shapecalc.core.requests import make_request
from shapecalc.core.resolve import resolve

TABLES = {id(table): table for op in OPS.values() for table in op.semantics}.values()
NOT_PRINTED = {"conv", "pool", "upsample", "pad", "mean"}
"""The ops whose tables `dialects --json` does not print."""
MORE_VECTORS = {"shuffle": (("2,3", {"first": "-1,0"}),)}
"""Requests in addition to the vectors of ops, which read no table otherwise."""
READ_IF_SUPPORTED = {"rearrange": {"ExpandSemantics"}}
"""The tables that ops read only in dialects that support the op of the table."""
PRINTED_OTHERWISE = {"name", "source", "switch", "prefix"}


def is_decided(table, dialect):
    """Return whether a dialect, or the dialect that it follows, is in a row of a table."""
    return dialect.name in table or (dialect.follows is not None and is_decided(table, dialect.follows))


def undecided_ops(dialect):
    """Return the ops of a dialect that read a table in which the dialect has no row."""
    return [
        op.name
        for op in OPS.values()
        if operator_of(op, dialect) and not all(is_decided(table, dialect) for table in op.semantics)
    ]


@pytest.mark.parametrize("name", DIALECTS)
def test_every_op_of_a_dialect_is_decided(name):
    undecided = undecided_ops(DIALECTS[name])
    assert not undecided, f"name {name} in a row of each table that {', '.join(undecided)} lists in `semantics`"


def test_undecided_ops_of_a_new_dialect_are_listed():
    ops = ("reshape", "transpose", "squeeze", "unflatten", "conv")
    operators = {op: DIALECTS["torch"].operators.get(op) or OPS[op].operators["torch"] for op in ops}
    new = replace(DIALECTS["torch"], name="new", operators=operators)
    assert undecided_ops(new) == ["transpose", "rearrange", "squeeze", "conv"]
    assert undecided_ops(replace(new, follows=DIALECTS["torch"])) == []


def test_tables_name_dialects_of_their_ops():
    for table in TABLES:
        ops = [op for op in OPS.values() if any(table is other for other in op.semantics)]
        assert {*table} <= {dialect.name for op in ops for dialect in supporting_dialects(op)}, ops[0].name


def test_tables_have_one_row_for_equal_semantics():
    for table in TABLES:
        rows = [*{id(row): row for row in table.values()}.values()]
        assert len({*rows}) == len(rows), rows


def kind_of(table):
    """Return the name of the semantics in a table, which no two tables share."""
    return type(table.default).__name__


def test_ops_list_the_tables_that_they_read(monkeypatch):
    assert len({*map(kind_of, TABLES)}) == len(TABLES)
    read, of = set(), DialectTable.for_dialect
    monkeypatch.setattr(
        DialectTable, "for_dialect", lambda table, dialect: read.add(kind_of(table)) or of(table, dialect)
    )
    for op in OPS.values():
        read.clear()
        for dialect in supporting_dialects(op):
            for shape, arguments in (*op.vectors, *MORE_VECTORS.get(op.name, ())):
                try:
                    resolve(make_request(op.name, shape, {**arguments, "dialect": dialect.name}))
                except ShapeError:
                    continue
        listed = {kind_of(table) for table in op.semantics}
        missing = read - READ_IF_SUPPORTED.get(op.name, set()) - listed
        assert not missing, f"{op.name} reads {', '.join(missing)}, which its `semantics` does not list"
        assert not listed - read, f"{op.name} lists {', '.join(listed - read)}, which no test vector reads"


def test_table_returns_own_row_followed_row_or_default():
    onnx, onnxruntime, caffe = (DIALECTS[name] for name in ("onnx", "onnxruntime", "caffe"))
    table = DialectTable({"numpy": "default", "onnx torch": "row"})
    assert [table.for_dialect(dialect) for dialect in (onnx, onnxruntime, caffe)] == ["row", "row", "default"]
    assert DialectTable({"onnx": "row", "onnxruntime": "own"}).for_dialect(onnxruntime) == "own"
    with pytest.raises(ValueError, match="two rows"):
        DialectTable({"onnx torch": "row", "numpy onnx": "other"})


@pytest.mark.parametrize("name", DIALECTS)
def test_operators_of_a_dialect_accept_element_types(name):
    dialect = DIALECTS[name]
    versions = {op: operator.versions or (None,) for op, operator in operators_of(dialect).items()}
    without = {op for op, numbers in versions.items() if not operator_types(OPS[op], dialect, max(numbers))}
    assert not without, f"{name} has no element types for {', '.join(without)}"
    unknown = {*dialect.types, *dialect.spellings.values()} - ALL_TYPES
    assert not unknown, f"unknown element types: {', '.join(unknown)}"


def test_dialect_has_at_most_16_fields():
    assert len(fields(DIALECTS["onnx"])) <= 16


def test_dialects_json_prints_every_field():
    own = {name for name, value in fields(DIALECTS["onnx"]).items() if value is None or isinstance(value, str | int)}
    tables = [table for op in OPS.values() if op.name not in NOT_PRINTED for table in op.semantics]
    names = [name for table in {id(table): table for table in tables}.values() for name in fields(table.default)]
    assert len({*names}) == len(names), "no two tables have a field of the same name"
    assert {*DIALECT_KEYS} == {*names} | (own - PRINTED_OTHERWISE)

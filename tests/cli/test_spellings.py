"""Spellings of frameworks: names of dialects, ops and axes as they are written elsewhere."""

from __future__ import annotations

import pytest

from shapecalc.core.dialects import DIALECTS


@pytest.mark.parametrize(("alias", "dialect"), [("trt", "tensorrt"), ("ort", "onnxruntime"), ("pt", "torch")])
def test_a_dialect_has_short_names(alias, dialect, shapecalc):
    words = ["2,3", "6", "--json", "-d"]
    assert shapecalc("reshape", *words, alias.upper()) == shapecalc("reshape", *words, dialect)
    chain = "2,3 | reshape 6"
    assert shapecalc("chain", chain, "--json", "-d", alias) == shapecalc("chain", chain, "--json", "-d", dialect)
    assert shapecalc("check", "-", stdin=f"reshape 2,3 6 --dialect {alias} => 6\n").code == 0


def test_no_name_of_a_dialect_is_used_twice():
    names = [name for row in DIALECTS.values() for name in (row.name, *row.aliases)]
    assert len({*names}) == len(names)

"""Invented parameters: squeeze takes a flag everywhere, and in one dialect a word and a flag of its operator's own."""

from __future__ import annotations

import pytest

from shapecalc.core import requests as setting
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import Param, ParamKind
from shapecalc.core.ops import OPS
from shapecalc.core.ops.squeeze import squeeze
from shapecalc.core.ops.transpose import transpose
from shapecalc.core.ops.unsqueeze import unsqueeze
from shapecalc.core.record import FrozenDict, replace

REVERSE = Param("reverse", ParamKind.FLAG, "whether the dims come back in reverse")
MODE = Param("mode", ParamKind.CHOICE, "torch: where the new dim goes", choices=("HEAD", "TAIL"))
KEEP_ONE = Param("keep_one", ParamKind.FLAG, "torch: whether a new dim of 1 is put in")


def steps(shape, at, axes=None, reverse=None, mode="HEAD", keep_one=None):
    """Resolve the invented squeeze by its steps."""
    shape = yield from squeeze(shape, at, axes)
    if keep_one:
        shape = yield from unsqueeze(shape, at, (0 if mode == "HEAD" else len(shape),))
    if reverse:
        shape = yield from transpose(shape, at, tuple(range(len(shape)))[::-1])
    return shape


@pytest.fixture
def invented(monkeypatch):
    """Let squeeze have the invented parameters for the time of a test."""
    monkeypatch.setattr(setting, "_setting_cache", {})  # what was made for squeeze as it is
    op = OPS["squeeze"]
    monkeypatch.setitem(OPS.loaded, "squeeze", replace(op, params=(*op.params, REVERSE), resolve=steps))
    torch = DIALECTS["torch"]
    own = replace(torch.operators["squeeze"], params=(MODE, KEEP_ONE))
    operators = FrozenDict({**torch.operators, "squeeze": own})
    monkeypatch.setitem(DIALECTS.loaded, "torch", replace(torch, operators=operators))

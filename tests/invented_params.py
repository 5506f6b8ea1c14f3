"""Invented parameters of squeeze: a flag in all dialects, a choice and a flag in one."""

from __future__ import annotations

import pytest

from shapecalc.core import requests
from shapecalc.core.answers import run_stages
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import Param, ParamType
from shapecalc.core.ops import OPS
from shapecalc.core.ops.squeeze import squeeze
from shapecalc.core.ops.transpose import transpose
from shapecalc.core.ops.unsqueeze import unsqueeze
from shapecalc.core.record import FrozenDict, replace

REVERSE = Param("reverse", ParamType.FLAG, "reverse the order of the dims")
MODE = Param("mode", ParamType.CHOICE, "torch: the position of the new dim", choices=("HEAD", "TAIL"))
KEEP_ONE = Param("keep_one", ParamType.FLAG, "torch: insert a new dim of 1")


def squeeze_with_invented_params(shape, rules, axes=None, reverse=None, mode="HEAD", keep_one=None):
    """Resolve a squeeze with the invented parameters as a sequence of other ops."""
    runs = [lambda before: squeeze(before, rules, axes)]
    if keep_one:
        runs.append(lambda before: unsqueeze(before, rules, (0 if mode == "HEAD" else len(before),)))
    if reverse:
        runs.append(lambda before: transpose(before, rules, tuple(range(len(before)))[::-1]))
    return run_stages(shape, *runs)


@pytest.fixture
def invented_params(monkeypatch):
    """Add the invented parameters to squeeze during a test."""
    monkeypatch.setattr(requests, "_setting_cache", {})  # the cache contains settings of the original squeeze
    op = OPS["squeeze"]
    monkeypatch.setitem(
        OPS.loaded, "squeeze", replace(op, params=(*op.params, REVERSE), resolve=squeeze_with_invented_params)
    )
    torch = DIALECTS["torch"]
    own = replace(torch.operators["squeeze"], params=(MODE, KEEP_ONE))
    operators = FrozenDict({**torch.operators, "squeeze": own})
    monkeypatch.setitem(DIALECTS.loaded, "torch", replace(torch, operators=operators))

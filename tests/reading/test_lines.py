"""The shapes of every line of code: their rows, their comments in the source, and the code that is asked for."""

from __future__ import annotations

import ast

import pytest

from shapecalc.core.problem import ShapeError
from shapecalc.core.text import parse_dims
from shapecalc.reading.code import interpret_code
from shapecalc.reading.code.annotate import annotate
from shapecalc.reading.code.lines import format_lines, list_lines, result_names

ATTENTION = """\
import torch
from torch import nn


def scaled(y, factor):
    z = y * factor  # a comment that is no shape
    return z


class Attention(nn.Module):
    def __init__(self, dim=768):
        super().__init__()
        self.qkv = nn.Linear(dim, dim * 3)
        self.body = nn.Sequential(nn.Linear(dim, 8, bias=False), nn.ReLU())
        self.blocks = nn.ModuleList([nn.Linear(8, 8) for _ in range(12)])

    def forward(self, x):
        B, N, C = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, 12, 64).permute(2, 0, 3, 1, 4).unbind(0)  # 1,2,3
        attn = scaled(q @ k.transpose(-2, -1), 0.125)
        x = (attn @ v).transpose(1, 2).reshape(B, N, C)
        x = self.body(x)
        for block in self.blocks:
            x = block(x)
        return x, attn
"""
ROWS = """\
Attention.forward
 18  B, N, C = x.shape                B=B  N=T  C=768
 19  q, k, v = self.qkv(x).reshap...  q, k, v B,12,T,64
 20  attn = scaled(q @ k.transpos...  attn B,12,T,T
  6    z = y * factor                 z B,12,T,T
  7    return z                       B,12,T,T
 21  x = (attn @ v).transpose(1, ...  x B,T,768
 22  x = self.body(x)                 x B,T,8  6,144 parameters
 22    0  Linear(768,8,bias=False)    B,T,8  6,144 parameters
 22    1  ReLU()                      B,T,8
 24  x = block(x)                     x B,T,8  x12
 25  return x, attn                   x B,T,8  attn B,12,T,T"""


def interpret(text, entry="", **inputs):
    """Return the records of interpreted code, and the names of its results."""
    records = []
    code = interpret_code(text, {name: parse_dims(dims) for name, dims in inputs.items()}, records=records, entry=entry)
    return records, result_names(records, len(code.outputs) or 1)


def test_lines_of_a_class():
    records, names = interpret(ATTENTION, x="B,T,768")
    assert "\n".join(format_lines(list_lines(records), records[-1].function, 60)) == ROWS
    assert names == ["x", "attn"]


def test_lines_json():
    records, _ = interpret(ATTENTION, x="B,T,768")
    lines = [line.as_json() for line in list_lines(records)]
    assert lines[0] == {
        "line": 18,
        "end": 18,
        "text": "B, N, C = x.shape",
        "names": {},
        "sizes": {"B": "B", "N": "T", "C": 768},
        "depth": 0,
        "times": 1,
        "conditions": [],
    }
    assert [line["parameters"] for line in lines if "parameters" in line] == [6144, 6144, 0]


def test_lines_conditions_stand_where_they_arise():
    records, _ = interpret("y = x.view(2, -1)\nz = y.view(-1, 3)", x="N,3")
    assert [line.as_json()["conditions"] for line in list_lines(records)] == [["N % 2 == 0"], []]


def test_lines_before_a_refusal():
    records = []
    with pytest.raises(ShapeError, match="unknown_function"):
        interpret_code("y = x.view(-1)\nz = unknown_function(y)", {"x": (2, 3)}, records=records)
    assert [line.format_values() for line in list_lines(records)] == ["y 6", "z ?"]


@pytest.mark.parametrize(
    ("entry", "function"),
    [("", "Attention.forward"), ("scaled", "scaled"), ("Attention", "Attention.forward")],
)
def test_entry_selects_a_function(entry, function):
    inputs = {"y": "2,3"} if entry == "scaled" else {"x": "B,T,768"}
    assert interpret(ATTENTION, entry, **inputs)[0][-1].function == function


@pytest.mark.parametrize("entry", ["missing", "Attention.missing", "scaled.inner", "Attention.forward.x"])
def test_entry_unknown_is_refused(entry):
    with pytest.raises(ShapeError, match=r"is no function or class of this file \(it has scaled, Attention"):
        interpret(ATTENTION, entry, x="B,T,768")


def test_annotate_adds_comments_only():
    records, _ = interpret(ATTENTION, x="B,T,768")
    annotated = annotate(ATTENTION, list_lines(records))
    assert ast.dump(ast.parse(annotated)) == ast.dump(ast.parse(ATTENTION))
    assert "    z = y * factor  # a comment that is no shape  # z: B,12,T,T\n" in annotated
    assert ".unbind(0)  # q, k, v: B,12,T,64\n" in annotated
    assert annotate(annotated, list_lines(interpret(annotated, x="B,T,768")[0])) == annotated


def test_annotate_renews_comments():
    first = annotate("y = x.view(-1)\n", list_lines(interpret("y = x.view(-1)", x="2,3")[0]))
    assert first == "y = x.view(-1)  # y: 6\n"
    second = annotate(first, list_lines(interpret(first, x="4,3")[0]))
    assert second == "y = x.view(-1)  # y: 12\n"


@pytest.mark.parametrize(
    ("item", "value", "message"),
    [
        ("x[0]", "torch.ones(5)", "a part 4 does not take a tensor 5"),
        ("x[:, 0]", "torch.ones(4)", "a part 3 does not take a tensor 4"),
        ("x[1:]", "torch.ones(9, 9)", "a part 2,4 does not take a tensor 9,9"),
    ],
)
def test_item_of_another_size_is_refused(item, value, message):
    with pytest.raises(ShapeError, match=message) as caught:
        interpret(f"{item} = {value}\nx", x="3,4")
    assert caught.value.problem.rule == "not-broadcastable"

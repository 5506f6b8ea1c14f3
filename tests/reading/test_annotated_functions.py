"""Functions with jaxtyping annotations: `code --check` accepts the right ones, and reports the wrong ones."""

from __future__ import annotations

import json

import pytest

from shapecalc.checking.source_code import check_source

HEADER = "import torch\nfrom torch import Tensor\nfrom jaxtyping import Float\n\n\n"
FUNCTIONS = [
    ("x: Float[Tensor, 'b t c']", "b c t", "x.transpose(1, 2)", True),
    ("x: Float[Tensor, 'b t c']", "b t c", "x.transpose(1, 2)", False),
    ("x: Float[Tensor, 'b c h w']", "b c h*w", "x.flatten(2)", True),
    ("x: Float[Tensor, 'b c h w']", "b h*w c", "x.flatten(2)", False),
    ("q: Float[Tensor, 'b n d'], k: Float[Tensor, 'b m d']", "b n m", "q @ k.mT", True),
    ("q: Float[Tensor, 'b n d'], k: Float[Tensor, 'b m d']", "b m n", "q @ k.mT", False),
    ("x: Float[Tensor, 'b n 3']", "b 3", "x.mean(1)", True),
    ("x: Float[Tensor, 'b n 3']", "b n", "x.mean(1)", False),
    ("a: Float[Tensor, 'n d'], b: Float[Tensor, 'n d']", "n 2*d", "torch.cat([a, b], 1)", True),
    ("a: Float[Tensor, 'n d'], b: Float[Tensor, 'n d']", "2*n d", "torch.cat([a, b], 1)", False),
    ("x: Float[Tensor, 'b 12 t']", "b t 3 4", "x.mT.unflatten(-1, (3, 4))", True),
    ("x: Float[Tensor, 'b 12 t']", "b t 4 3", "x.mT.unflatten(-1, (3, 4))", False),
    ("x: Float[Tensor, 'b t c']", "b t", "torch.einsum('btc,btc->bt', x, x)", True),
    ("x: Float[Tensor, 'b t c']", "b c", "torch.einsum('btc,btc->bt', x, x)", False),
    ("x: Float[Tensor, 'b t']", "b t 1", "x.unsqueeze(-1)", True),
    ("x: Float[Tensor, 'b t']", "b 1 t", "x.unsqueeze(-1)", False),
    ("x: Float[Tensor, 'n n']", "n", "x.diagonal()", True),
    ("x: Float[Tensor, 'n n']", "n n", "x.diagonal()", False),
    ("x: Float[Tensor, 'b t c']", "b c", "x[:, -1]", True),
    ("x: Float[Tensor, 'b t c']", "b t", "x[:, -1]", False),
]


def source_of(parameters, result, expression):
    """Return a function whose result is annotated."""
    return f"{HEADER}def f({parameters}) -> Float[Tensor, '{result}']:\n    return {expression}\n"


@pytest.mark.parametrize(("parameters", "result", "expression", "is_right"), FUNCTIONS)
def test_annotated_function_is_checked(parameters, result, expression, is_right):
    report = check_source(source_of(parameters, result, expression))
    assert len(report.functions) == 1 and not report.skipped
    assert (not [*report.failures()]) == is_right


def test_check_exit_code_counts_wrong_annotations(shapecalc, tmp_path):
    paths = []
    for index, (parameters, result, expression, _) in enumerate(FUNCTIONS):
        paths.append(tmp_path / f"f{index}.py")
        paths[-1].write_text(source_of(parameters, result, expression))
    right = [str(path) for path, function in zip(paths, FUNCTIONS, strict=True) if function[3]]
    assert shapecalc("code", "--check", *right).code == 0
    ran = shapecalc("code", "--check", *map(str, paths))
    assert (ran.code, sum(".py:" in line for line in ran.out.splitlines())) == (1, len(paths) - len(right))


def test_json_has_the_lines_before_a_refusal(shapecalc):
    ran = shapecalc("code", "y = x.T\nz = y.view(5, -1)\nz.T", "--input", "x=2,3", "--json")
    answer = json.loads(ran.out)
    assert ran.code == 3
    assert [(line["line"], line["names"]) for line in answer["lines"]] == [(1, {"y": [3, 2]})]


def test_json_has_the_lines_before_an_unknown_call(shapecalc):
    ran = shapecalc("code", "y = x.T\na, b = unknown(y)\na @ b", "--input", "x=2,3", "--json")
    answer = json.loads(ran.out)
    assert ran.code == 2
    assert answer["lines"][0]["names"] == {"y": [3, 2]}
    assert answer["lines"][1]["names"] == {"a": None, "b": None}
    assert answer["ask"] == [{"call": "unknown(y)", "line": 2, "proposal": [[3, 2], [3, 2]]}]

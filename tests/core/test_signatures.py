"""The calls that ops describe, compared with the libraries' own signatures."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import COMMAND_ALIASES, OPS
from shapecalc.core.ops.calls import calls_by_name, parse_signatures
from shapecalc.core.ops.op import operator_of
from shapecalc.reading.code.ops import HANDLERS
from shapecalc.reading.layers import BUILDERS, LAYERS, MULTI_OPERAND_FUNCTIONS

CALLS = [(name, signature) for name in OPS for signature in parse_signatures(name)]
NUMPY_FUNCTIONS = [(op, call) for op, call in CALLS if call.path.startswith("np.") and call.exists_in("numpy")]
UNREADABLE = {"concatenate", "dot", "where"} | {name for name in dir(np) if isinstance(getattr(np, name), np.ufunc)}
"""Functions of NumPy that name their operands otherwise than the ops, or in C."""

SINCE_NUMPY_2 = {"concat", "permute_dims"}


@pytest.mark.parametrize(
    ("op", "call", "name"), [(op, call, name) for op, call in NUMPY_FUNCTIONS for name in call.names if name]
)
def test_signature_names_arguments_as_numpy(op, call, name):
    if name in UNREADABLE | {"einsum"}:
        pytest.skip("its signature is not that of the op")
    if name in SINCE_NUMPY_2 and not hasattr(np, name):
        pytest.skip(f"NumPy {np.__version__} has no np.{name}")
    parameters = inspect.signature(getattr(np, name)).parameters
    own = call.arguments if call.text.partition("(")[2].startswith("x") else call.arguments[1:]
    theirs = [each for each in parameters.values() if each.kind is not each.VAR_KEYWORD][1:][: len(own)]
    own = own[: len(theirs)] if len(theirs) < len(parameters) - 1 else own  # the rest are keywords of `**kwargs`
    assert [argument.names[0] for argument in own] == [parameter.name for parameter in theirs], op
    defaults = [argument.default for argument in own]
    assert defaults == ["" if each.default is each.empty else repr(each.default) for each in theirs], op


@pytest.mark.parametrize(("op", "call"), CALLS)
def test_signature_has_known_frameworks_and_distinct_params(op, call):
    params = [argument.param for argument in call.arguments]
    assert set(call.frameworks.split()) <= {*DIALECTS, "einops"}
    assert len({*params}) == len(params)
    assert call.options.keys() <= {param.name for param in OPS[op].params}


@pytest.mark.parametrize(("op", "call"), CALLS)
def test_signature_params_are_read_by_a_handler_or_the_op(op, call):
    reads_itself = (
        op in HANDLERS or op in BUILDERS or set(call.names) & (LAYERS.keys() | MULTI_OPERAND_FUNCTIONS.keys())
    )
    params = {param.name for param in OPS[op].params}
    assert reads_itself or {argument.param for argument in call.arguments} <= params


def test_command_aliases_are_calls_of_their_frameworks():
    for alias, meanings in COMMAND_ALIASES.items():
        assert alias not in OPS
        for dialect, op in meanings.items():
            assert any(one.name == op and call.exists_in(dialect) for one, call in calls_by_name()[alias]), alias
            assert operator_of(OPS[op], DIALECTS[dialect])

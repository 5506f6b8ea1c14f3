"""Every op and every dialect is registered, and describes itself."""

from __future__ import annotations

from importlib import import_module
from math import prod

import pytest

from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import Dialect
from shapecalc.core.ops import OPS, supporting_dialects
from shapecalc.core.ops.op import Op
from tests.signatures import vector_answers
from tests.structure import PACKAGE


@pytest.mark.parametrize(("folder", "kind", "registry"), [("ops", Op, OPS), ("dialects", Dialect, DIALECTS)])
def test_every_file_with_an_op_or_a_dialect_is_registered(folder, kind, registry):
    names = [file.stem for file in (PACKAGE / "core" / folder).glob("*.py")]
    modules = {name: import_module(f"shapecalc.core.{folder}.{name}") for name in names if name != "__init__"}
    own = {name for name, module in modules.items() if isinstance(getattr(module, name.upper(), None), kind)}
    missing = own - {*registry}
    assert not missing, f"add {', '.join(missing)} to the list of names in core/{folder}/__init__.py"
    assert {*registry} == own
    assert all(row.name == name for name, row in registry.items())


@pytest.mark.sampled(99)
@pytest.mark.parametrize("name", OPS)
def test_op_describes_itself(name):
    op = OPS[name]
    assert op.summary[:1].isupper() and op.summary.endswith(".")
    assert op.vectors, f"{name} has no test vectors"
    assert op.examples, f"{name} has no examples for its help"
    assert all(line.split()[0] == name for line in op.examples)
    assert supporting_dialects(op), f"no dialect has {name}"
    assert op.default_dialect in {dialect.name for dialect in supporting_dialects(op)}


@pytest.mark.sampled(99)
@pytest.mark.parametrize("name", OPS)
def test_op_says_whether_it_keeps_the_element_count(name):
    op, dialects = OPS[name], [dialect.name for dialect in supporting_dialects(OPS[name])]
    made = [answer for dialect in dialects for answer in vector_answers(op, dialect)]
    keeps = all(prod(answer.input) == prod(answer.output) for answer in made)
    assert made and keeps == op.keeps_element_count, f"{name} says keeps_element_count={op.keeps_element_count}"

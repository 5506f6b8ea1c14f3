"""Which rules a request falls under: the dialect's row, the operator's version, the setting of the switch."""

from __future__ import annotations

from functools import cache

from shapecalc.core.dtypes import ONNX as ONNX_VERSIONS
from shapecalc.core.dtypes import accepted, spelled
from shapecalc.core.problem import refusal
from shapecalc.core.record import Record
from shapecalc.core.rules import DIALECTS, Dialect, Rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.problem import ShapeError
    from shapecalc.core.request import Request

DEFAULT_OPSET = 25
SWITCHED = ("reshape", "shuffle")
"""The ops that a dialect's switch has a say in."""


class Setting(Record):
    """The rules under which one request is answered."""

    row: Dialect
    version: int | None
    """The operator's version; None where operators are not versioned."""
    rules: Rules
    options: dict[str, object]
    """The switch in force, by the framework's own name."""
    hints: bool = True
    """Whether a refusal is to say what would help, where that is to be searched for."""


@cache
def setting(dialect: str, op: str, opset: int | None, switch: bool | None) -> Setting:
    """Return the rules of a dialect's op in the version that a model's opset selects.

    Raises `ShapeError`: no-such-version, no-such-attribute, missing-switch.

    >>> setting("onnx", "reshape", 18, None).version
    14
    """
    row = DIALECTS[dialect]
    version = None if row.newest_opset is None else _version(row, op, opset or DEFAULT_OPSET)
    if row.switch is None or op not in SWITCHED:
        return Setting(row, version, next(iter(row.rules.values())), {})
    name, exists = row.switch.name, version is None or version >= row.switch.since
    if switch is not None and version is not None and not exists:
        raise _no_attribute(row, op, name, row.switch.since, version)
    chosen = row.switch.default if switch is None else switch
    if chosen is None:
        raise refusal("missing-switch", f"{row.name} {row.operators[op]} requires {name}", argument=name)
    return Setting(row, version, row.rules[chosen], {name: chosen} if exists else {})


def _version(row: Dialect, op: str, opset: int) -> int:
    """Return the newest version of an ONNX operator at or below the model's opset."""
    versions = ONNX_VERSIONS[op]
    if opset < min(versions):
        message = f"{row.operators[op]} exists since opset {min(versions)}, and this model's is {opset}"
        raise refusal("no-such-version", message, f"use --opset {min(versions)} or later", argument="opset")
    return max(version for version in versions if version <= opset)


def _no_attribute(row: Dialect, op: str, name: str, since: int, version: int) -> ShapeError:
    operator = row.operators[op]
    message = f"{name} exists since {operator} {since}, and this is {operator} {version}"
    return refusal("no-such-attribute", message, f"use --opset {since} or later", argument=name)


def check_attributes(request: Request, at: Setting) -> None:
    """Raise `ShapeError` for what the version lacks: no-such-attribute, missing-argument, dtype."""
    row, op, version = at.row, request.op, at.version
    if op == "shape" and version is not None and version < row.slices_since:
        for name in request.arguments:
            raise _no_attribute(row, op, name, row.slices_since, version)
    if op == "unsqueeze" and not request.arguments:
        raise refusal("missing-argument", f"{row.operators[op]} requires axes", argument="axes")
    if request.dtype and request.dtype not in accepted(row.name, op, version):
        raise _refused_dtype(row, op, version, request.dtype)


def _refused_dtype(row: Dialect, op: str, version: int | None, dtype: str) -> ShapeError:
    operator = row.operators[op]
    newer = [other for other in ONNX_VERSIONS.get(op, ()) if version is not None and other > version]
    since = next((other for other in newer if dtype in accepted(row.name, op, other)), None)
    this = operator if version is None else f"{operator} {version}"
    message = f"{row.name} {this} does not accept {spelled(dtype, row.name)}"
    return refusal("dtype", message, f"{operator} {since} does" if since else "", argument="dtype")

"""Which rules a request falls under: the dialect's row, the operator's version, the setting of the switch."""

from __future__ import annotations

from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.element_types import spelled
from shapecalc.core.ops import OPS
from shapecalc.core.ops.op import NONE, Setting, accepted_types, fast_of, operator_of
from shapecalc.core.rules.refusals import DTYPE, MISSING_SWITCH, NO_SUCH_ATTRIBUTE, NO_SUCH_VERSION
from shapecalc.core.sizes.problem import refusal
from shapecalc.core.sizes.record import FrozenDict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.answers.request import Request
    from shapecalc.core.dialects.dialect import Dialect, Operator
    from shapecalc.core.ops.op import FastAnswer, Op
    from shapecalc.core.sizes.problem import ShapeError

DEFAULT_OPSET = 25

_known: dict[tuple[str, str, int | None, bool | None], tuple[Setting, FastAnswer]] = {}
"""The settings that were asked for, with what answers ordinary requests under them; there are some hundreds at most."""


def setting_of(request: Request) -> tuple[Setting, FastAnswer]:
    """Return the rules of a dialect's op in the version that a model's opset selects, and their fast answer.

    Raises `ShapeError`: no-such-version, no-such-attribute, missing-switch.

    >>> from shapecalc.core.asking.ask import ask
    >>> setting_of(ask("reshape", "2,3", {"target": "6", "opset": 18}))[0].version
    14
    """
    asked = (request.dialect, request.op, request.opset, request.switch)
    found = _known.get(asked)
    if found is None:
        op = OPS[request.op]
        at = _setting(DIALECTS[request.dialect], op, request.opset, request.switch)
        found = _known[asked] = (at, fast_of(op, at))
    return found


def _setting(row: Dialect, op: Op, opset: int | None, switch: bool | None) -> Setting:
    operator = operator_of(op, row)
    if operator is None:
        raise LookupError(f"{row.name} has no {op.name}")
    version = None if row.newest_opset is None else _version(operator, opset or DEFAULT_OPSET)
    if row.switch is None or not op.switched:
        return Setting(row, operator, version, row.readings[row.settings()[0]], NONE)
    name, exists = row.switch.name, version is None or version >= row.switch.since
    if switch is not None and not exists:
        raise _no_attribute(operator, name, row.switch.since, version)
    chosen = row.switch.default if switch is None else switch
    if chosen is None:
        raise refusal(MISSING_SWITCH, f"{row.name} {operator.name} requires {name}", argument=name)
    return Setting(row, operator, version, row.readings[chosen], FrozenDict({name: chosen}) if exists else NONE)


def _version(operator: Operator, opset: int) -> int:
    """Return the newest version of an ONNX operator at or below the model's opset."""
    first = min(operator.versions)
    if opset < first:
        message = f"{operator.name} exists since opset {first}, and this model's is {opset}"
        raise refusal(NO_SUCH_VERSION, message, argument="opset")
    return max(version for version in operator.versions if version <= opset)


def _no_attribute(operator: Operator, name: str, since: int | None, version: int | None) -> ShapeError:
    """Return the error for an attribute that came with a later version, or with none."""
    message = f"{operator.name} has no {name}"
    if since is not None:
        message = f"{name} exists since {operator.name} {since}, and this is {operator.name} {version}"
    return refusal(NO_SUCH_ATTRIBUTE, message, argument=name)


def check_attributes(request: Request, at: Setting) -> None:
    """Raise `ShapeError` for what the operator or its version lacks: no-such-attribute, dtype."""
    operator, version = at.operator, at.version
    if operator.since:
        for name in request.arguments:
            since = operator.since.get(name, 1)
            if since is None or (version is not None and version < since):
                raise _no_attribute(operator, name, since, version)
    if request.dtype and request.dtype not in accepted_types(OPS[request.op], at.row, version):
        this = operator.name if version is None else f"{operator.name} {version}"
        message = f"{at.row.name} {this} does not accept {spelled(request.dtype, at.row)}"
        raise refusal(DTYPE, message, argument="dtype")

"""`ask`: how texts, options and Python values become a `Request`.

Every front end comes through here: the command line, the prompt, the case files and the Python functions.
"""

from __future__ import annotations

from shapecalc.core.answers.request import Request
from shapecalc.core.dialects import DIALECTS, dialect_named
from shapecalc.core.dialects.element_types import element_type
from shapecalc.core.ops import OPS, dialects_with, params_of
from shapecalc.core.ops.op import Holds, operator_of
from shapecalc.core.rules.refusals import INDIVISIBLE
from shapecalc.core.sizes.dims import Monomial, Shape, names, substitute
from shapecalc.core.sizes.lookup import lookup, suggestion
from shapecalc.core.sizes.problem import USAGE, Problem, ShapeError, misuse, refusal
from shapecalc.core.sizes.python_values import describe, dims_of, is_whole, read_sizes, shape_of, whole_number
from shapecalc.core.sizes.quoting import brief, visible
from shapecalc.core.sizes.text import TOO_LARGE, read_axes, read_dims, read_shape, read_target, shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from shapecalc.core.dialects.dialect import Dialect, Operator
    from shapecalc.core.ops.op import Op, Param

TEXTS = (Holds.SLICES, Holds.PATTERN, Holds.LENGTHS)
"""What stays a text in a request."""


class LackingError(ShapeError):
    """A request for an op that the dialect does not have."""

    def __init__(self, dialect: str, problem: Problem) -> None:
        """Keep the dialect's name."""
        super().__init__(problem)
        self.dialect = dialect


def ask(op: str, shape: str | Iterable[object], options: Mapping[str, object]) -> Request:
    """Return the request that an op's name, an input shape and named options make.

    Raises `ShapeError` (usage) for what cannot be read, and for options that the op or dialect lacks.

    >>> ask("reshape", "2,3,4", {"target": "0,-1"}).arguments
    {'target': (0, -1)}
    """
    spec = OPS.found.get(op) or lookup(op, OPS, "operation")
    row, operator = operator_in(spec, options.get("dialect"))
    dims = read_shape(shape) if isinstance(shape, str) else shape_of(shape)
    written = {"input": shape} if isinstance(shape, str) else {}
    arguments = {}
    for param in (*spec.params, *operator.params) if operator.params else spec.params:
        name, value = param.name, options.get(param.name)
        if value is not None:
            arguments[name] = _value(value, param, row, dims)
            if isinstance(value, str):
                written[name] = value
        elif param.required:
            raise misuse(f"{op} needs a {name}", argument=name)
    given = {} if len(options) == len(arguments) + ("dialect" in options) else _others(options, arguments)
    if not given:
        return Request(op, dims, arguments, row.name, None, None, None, written)
    _check_names(given, spec, row)
    opset, dtype, switch = opset_in(given, row), _dtype(given, row), _switch(given, row, spec)
    request = Request(op, dims, arguments, row.name, opset, dtype, switch, written)
    return _filled(request, read_sizes(given["where"])) if "where" in given else request


def _others(options: Mapping[str, object], arguments: Mapping[str, object]) -> dict[str, object]:
    """Return the options that were given beside the op's own arguments and the dialect."""
    given = {name: value for name, value in options.items() if value is not None and name not in arguments}
    given.pop("dialect", None)
    return given


def operator_in(op: Op, name: object) -> tuple[Dialect, Operator]:
    """Return the dialect that was named, or the op's default if none was, and its operator.

    Raises `ShapeError` (usage) if there is no such dialect, or if it does not have the op.
    """
    row = DIALECTS.found.get(name) if isinstance(name, str) else None
    if row is None:
        row = dialect_called(op.default_dialect if name is None else str(name))
    operator = operator_of(op, row)
    if operator is None:
        having = ", ".join(other.name for other in dialects_with(op))
        raise LackingError(row.name, Problem(USAGE, f"{row.name} has no {op.name}", f"it is in {having}", "dialect"))
    return row, operator


def dialect_called(name: str) -> Dialect:
    """Return the dialect of that name or alias, in any case; raise `ShapeError` (usage) if there is none."""
    return dialect_named(name) or lookup(name.lower(), DIALECTS, "dialect")


def default_dialect(op: str) -> str:
    """Return the dialect that answers if none is named; for a chain and other names, `onnx`."""
    return OPS[op].default_dialect if op in OPS else "onnx"


def _check_names(given: Iterable[str], spec: Op, row: Dialect) -> None:
    """Refuse options that the op does not have, in any dialect or in this one."""
    from shapecalc.core.asking.common import COMMON

    params = [param.name for param in params_of(spec)]
    known = [*params, *COMMON]
    for name in given:
        if name in params:
            raise misuse(f"{row.name} has no {name} here", argument=name)
        if name not in known:
            shown = visible(brief(str(name)))
            raise misuse(f"{spec.name} has no {shown}", suggestion(shown, known), argument=str(name))


def _value(value: object, param: Param, row: Dialect, shape: Shape) -> Any:
    """Return a parameter's value from its text or from a Python value. `shape` is the input's."""
    name = param.name
    if param.taken_by is not None and not param.taken_by(row):
        raise misuse(f"{row.name} has no {name} here", argument=name)
    if param.holds is Holds.TARGET and type(value) is tuple:
        return dims_of(value, name)
    if param.holds is Holds.INT:
        return whole_number(value, name)
    if param.holds in TEXTS:
        return _text(value, param)
    if param.holds is Holds.WORD:
        return _word(value, param)
    if param.holds is Holds.FLAG:
        return read_flag(value, name)
    if param.holds is Holds.TARGET:
        return read_target(value, name) if isinstance(value, str) else _dims(value, name)
    return _axes(value, param, shape)


def _axes(value: object, param: Param, shape: Shape) -> Shape:
    """Return the axes of a text or of a Python value; those of a permutation may be named by their dims."""
    name = param.name
    dims = _dims(value, name)
    if Monomial not in map(type, dims):
        return dims
    if param.holds is Holds.PERM:
        from shapecalc.core.asking.named_axes import axes_of_dims  # few name their axes

        return axes_of_dims(dims, shape, value, name)
    if isinstance(value, str):
        return read_axes(value, name)
    raise misuse(f"an axis is a whole number, not {shape_text(dims)}", argument=name)


def _text(value: object, param: Param) -> str:
    """Return the text of a parameter that stays a text: slices as shapecalc writes them, patterns as typed."""
    if param.holds is Holds.SLICES:
        from shapecalc.core.sizes.slices import read_slices  # no other op has slices

        return read_slices(value, param.name)
    from shapecalc.core.sizes import patterns  # no other op has patterns

    (patterns.read_pattern if param.holds is Holds.PATTERN else patterns.read_lengths)(value, param.name)
    return str(value)


def _dims(value: object, name: str) -> Shape:
    """Return the dims of a text or of a Python value; one number stands for itself."""
    if isinstance(value, str):
        return read_dims(value, name)
    return dims_of(value if type(value) is tuple or not is_whole(value) else (value,), name)


def _word(value: object, param: Param) -> str:
    """Return the word of a parameter of words, in any case; raise `ShapeError` (usage) for any other."""
    text = str(value).strip()
    for word in param.words:
        if text.lower() == word.lower():
            return word
    listed = " or ".join(param.words)
    raise misuse(f"{param.name} is {listed}, not '{visible(brief(text))}'", argument=param.name)


def read_flag(value: object, name: str) -> bool:
    """Return a yes or no from 0, 1, a truth value or the text of a number; raise `ShapeError` (usage) otherwise."""
    if value in ("0", "1"):
        return value == "1"
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    raise misuse(f"{name} is 0 or 1, not {describe(value)}", argument=name)


def with_sizes(request: Request, sizes: Mapping[str, int]) -> Request:
    """Return the request with sizes put in for names; raise `ShapeError` if a dim cannot take them."""
    arguments = {
        name: _with_sizes(value, sizes, name) if isinstance(value, tuple) else value
        for name, value in request.arguments.items()
    }
    dims = _with_sizes(request.input, sizes, "input")
    return Request(request.op, dims, arguments, request.dialect, request.opset, request.dtype, request.switch)


def _filled(request: Request, sizes: Mapping[str, int]) -> Request:
    check_names_known(sizes, names(request.dims))
    return with_sizes(request, sizes)


def check_names_known(sizes: Mapping[str, int], known: Iterable[str]) -> None:
    """Raise `ShapeError` (usage) if a size is given for a name that does not occur."""
    known = list(known)
    for name in sizes:
        if name not in known:
            listed = ", ".join(visible(other) for other in known) or "none"
            raise misuse(f"no dim is called {name}", f"the names are {listed}", argument="where")


def _with_sizes(dims: Shape, sizes: Mapping[str, int], argument: str) -> Shape:
    try:
        filled = tuple(substitute(dim, sizes) for dim in dims)
    except ZeroDivisionError as error:
        raise misuse(f"a dim would divide by 0: {error}", argument="where") from None
    for before, after in zip(dims, filled, strict=True):
        if isinstance(after, Monomial) and not after.powers:
            raise refusal(INDIVISIBLE, f"{before} would be {after}, which is not a whole number", argument=argument)
        if isinstance(after, int) and after >= TOO_LARGE:
            raise misuse(f"{brief(str(before))} would have more digits than any size", argument=argument)
    return filled


def opset_in(given: Mapping[str, object], row: Dialect) -> int | None:
    """Return the opset that options give, if they do; raise `ShapeError` (usage) for one that the dialect lacks."""
    if "opset" not in given:
        return None
    if row.newest_opset is None:
        raise misuse(f"{row.name} has no opsets", argument="opset")
    opset = whole_number(given["opset"], "opset")
    if not 1 <= opset <= row.newest_opset:
        raise misuse(f"{row.name} knows the opsets 1 to {row.newest_opset}, not {brief(str(opset))}", argument="opset")
    return opset


def _dtype(given: Mapping[str, object], row: Dialect) -> str | None:
    if "dtype" not in given:
        return None
    value = given["dtype"]
    text = describe(value) if isinstance(value, list | dict) else str(value)
    dtype = element_type(text, row)
    if dtype is None:
        raise misuse(f"{row.name} knows no element type '{visible(text[:40])}'", argument="dtype")
    return dtype


def switch_name(op: Op, row: Dialect) -> str | None:
    """Return the name of the switch that an op has in a dialect; None if it has none."""
    return row.switch.name if row.switch is not None and op.switched else None


def _switch(given: Mapping[str, object], row: Dialect, op: Op) -> bool | None:
    """Return the setting of the dialect's switch if it was given; refuse another dialect's."""
    from shapecalc.core.dialects.switches import SWITCHES

    own = switch_name(op, row)
    for name in SWITCHES:
        if name in given and name != own:
            has = f"its switch is {own}" if own else ""
            operator = operator_of(op, row)
            raise misuse(f"{row.name} {operator.name if operator else op.name} has no {name}", has, argument=name)
    if own is None or own not in given:
        return None
    return read_flag(given[own], own)

"""Requests: how texts, options and Python values become a question.

`ask` makes a `Request` out of texts or Python values and checks its form; `resolve` answers it. Every
front end comes through here: the command line, the prompt, the case files and the Python names.
"""

from __future__ import annotations

from collections.abc import Mapping

from shapecalc.core.dims import Monomial, Shape, names, substitute
from shapecalc.core.dtypes import element_type
from shapecalc.core.operations import COMMON, OPS, Kind, Op, Param
from shapecalc.core.problem import misuse, refusal
from shapecalc.core.record import Record
from shapecalc.core.rules import DIALECTS, SWITCHES, Dialect, Flattens
from shapecalc.core.setting import SWITCHED
from shapecalc.core.text import TOO_LARGE, read_axes, read_shape, read_target, shape_text
from shapecalc.core.values import described, dims_of, is_whole, read_sizes, whole_number
from shapecalc.core.wording import brief, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any


MOST_LISTED = 16
"""How many names a hint lists."""


class Request(Record):
    """One question, read and checked for form, not yet answered."""

    op: str
    input: Shape
    arguments: Mapping[str, Any]
    """The op's own parameters that were given, by name."""
    dialect: str = "onnx"
    opset: int | None = None
    dtype: str | None = None
    switch: bool | None = None
    """The dialect's switch, where it was given."""
    written: Mapping[str, str] = {}
    """The arguments as they were typed, where they were."""

    @property
    def dims(self) -> Shape:
        """Every dim that the request names: the input's and those of its arguments."""
        dims = self.input
        for value in self.arguments.values():
            if isinstance(value, tuple):
                dims += value
        return dims

    @property
    def symbolic(self) -> bool:
        """Whether a name occurs among the dims."""
        if Monomial in map(type, self.input):
            return True
        for value in self.arguments.values():  # noqa: SIM110 - `any` takes twice as long, on every request
            if isinstance(value, tuple) and Monomial in map(type, value):
                return True
        return False

    def with_sizes(self, sizes: Mapping[str, int]) -> Request:
        """Return the request with sizes put in for names; raise `ShapeError` (usage) where a dim cannot take them."""
        arguments = {
            name: _with_sizes(value, sizes, name) if isinstance(value, tuple) else value
            for name, value in self.arguments.items()
        }
        return self._replace(input=_with_sizes(self.input, sizes, "input"), arguments=arguments, written={})


def ask(op: str, shape: str | Iterable[object], options: Mapping[str, object]) -> Request:
    """Return the request that an op's name, an input shape and named options make.

    Raises `ShapeError` (usage) for what cannot be read, and for options that the op or dialect lacks.

    >>> ask("reshape", "2,3,4", {"target": "0,-1"}).arguments
    {'target': (0, -1)}
    """
    spec = OPS.get(op) or found(op, OPS, "operation")
    row = _dialect(options.get("dialect"), op)
    dims = read_shape(shape) if isinstance(shape, str) else dims_of(shape, "input", lowest=0)
    written = {"input": shape} if isinstance(shape, str) else {}
    arguments = {}
    for param in spec.params:
        name, value = param.name, options.get(param.name)
        if value is not None:
            arguments[name] = _value(value, param, row)
            if isinstance(value, str):
                written[name] = value
        elif param.required:
            raise misuse(f"{op} needs a {name}", argument=name)
    rest = [name for name in options if options[name] is not None and name not in arguments and name != "dialect"]
    if not rest:
        return Request(op, dims, arguments, row.name, None, None, None, written)
    given = {name: options[name] for name in rest}
    _check_names(rest, spec)
    request = Request(
        op, dims, arguments, row.name, _opset(given, row), _dtype(given, row), _switch(given, row, op), written
    )
    return _filled(request, read_sizes(given["where"])) if "where" in given else request


def _dialect(name: object, op: str) -> Dialect:
    """Return the row of the dialect that was named, or of the op's default."""
    row: Dialect | None = DIALECTS.get(name) if isinstance(name, str) else None
    if row is None:
        row = found(default_dialect(op) if name is None else str(name).lower(), DIALECTS, "dialect")
    if op not in row.operators:
        having = ", ".join(other.name for other in DIALECTS.values() if op in other.operators)
        raise misuse(f"{row.name} has no {op}", f"it is in {having}", argument="dialect")
    return row


def default_dialect(op: str) -> str:
    """Return the dialect that answers where none is named."""
    return "tensorrt" if op == "shuffle" else "onnx"


def found(name: str, table: Mapping[str, Any], what: str) -> Any:
    """Return `table[name]`; raise `ShapeError` (usage) with the nearest known name."""
    if name in table:
        return table[name]
    raise misuse(f"there is no {what} '{visible(brief(name))}'", suggestion(name, table), argument=what)


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the hint that names what was probably meant, or everything there is.

    >>> suggestion("reshap", ["reshape", "shape"]), suggestion("zzz", ["a", "b"])
    ('did you mean reshape?', 'there are a, b')
    """
    from difflib import get_close_matches

    known = list(known)
    close = get_close_matches(name[:80], known, n=1)
    if close:
        return f"did you mean {close[0]}?"
    return f"there are {', '.join(known)}" if len(known) <= MOST_LISTED else ""


def _check_names(given: Iterable[str], spec: Op) -> None:
    """Refuse options that the op does not have in any dialect."""
    known = [*(param.name for param in spec.params), *COMMON]
    for name in given:
        if name not in known:
            shown = visible(brief(str(name)))
            raise misuse(f"{spec.name} has no {shown}", suggestion(shown, known), argument=str(name))


LACKING: Mapping[str, Callable[[Dialect], bool]] = {
    "axis": lambda row: row.flattens is not Flattens.AXIS,
    "start_dim": lambda row: row.flattens is not Flattens.RANGE,
    "end_dim": lambda row: row.flattens is not Flattens.RANGE,
    "start": lambda row: not row.slices_shape,
    "end": lambda row: not row.slices_shape,
}
"""The parameters that not every dialect's operator has, and which rows lack them."""


def _value(value: object, param: Param, row: Dialect) -> Any:
    """Return a parameter's value from its text or from a Python value."""
    if param.kind is Kind.INT:
        if LACKING[param.name](row):
            raise misuse(f"{row.name} has no {param.name} here", argument=param.name)
        return whole_number(value, param.name)
    if isinstance(value, str):
        return read_target(value, param.name) if param.kind is Kind.TARGET else read_axes(value, param.name)
    dims = dims_of(value if isinstance(value, tuple) or not is_whole(value) else (value,), param.name)
    if param.kind is Kind.AXES and Monomial in map(type, dims):
        raise misuse(f"an axis is a whole number, not {shape_text(dims)}", argument=param.name)
    return dims


def _filled(request: Request, sizes: Mapping[str, int]) -> Request:
    check_names_known(sizes, names(request.dims))
    return request.with_sizes(sizes)


def check_names_known(sizes: Mapping[str, int], known: Iterable[str]) -> None:
    """Raise `ShapeError` (usage) where a size is given for a name that does not occur."""
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
            raise refusal("indivisible", f"{before} would be {after}, which is no whole number", argument=argument)
        if isinstance(after, int) and after >= TOO_LARGE:
            raise misuse(f"{brief(str(before))} would have more digits than any size", argument=argument)
    return filled


def _opset(given: Mapping[str, object], row: Dialect) -> int | None:
    if "opset" not in given:
        return None
    if row.newest_opset is None:
        raise misuse(f"{row.name} has no opsets", argument="opset")
    opset = whole_number(given["opset"], "opset")
    if not 1 <= opset <= row.newest_opset:
        raise misuse(f"{row.name} knows the opsets 1 to {row.newest_opset}, not {opset}", argument="opset")
    return opset


def _dtype(given: Mapping[str, object], row: Dialect) -> str | None:
    if "dtype" not in given:
        return None
    value = given["dtype"]
    text = described(value) if isinstance(value, list | dict) else str(value)
    dtype = element_type(text, row.name)
    if dtype is None:
        raise misuse(f"{row.name} knows no element type '{visible(text[:40])}'", argument="dtype")
    return dtype


def _switch(given: Mapping[str, object], row: Dialect, op: str) -> bool | None:
    """Return the dialect's switch where it was given; refuse another dialect's."""
    own = row.switch.name if row.switch and op in SWITCHED else None
    for name in SWITCHES:
        if name in given and name != own:
            has = f"its switch is {own}" if own else ""
            raise misuse(f"{row.name} {row.operators[op]} has no {name}", has, argument=name)
    if own is None or own not in given:
        return None
    value = given[own]
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    raise misuse(f"{own} is 0 or 1, not {described(value)}", argument=own)

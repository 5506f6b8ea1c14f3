"""Requests: how texts, options and Python values become a question.

`ask` makes a `Request` out of texts or Python values and checks its form; `resolve` answers it. Every
front end comes through here: the command line, the prompt, the case files and the Python names.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import index

from shapecalc.core.dims import Monomial, Shape, names, substitute
from shapecalc.core.dtypes import element_type
from shapecalc.core.operations import COMMON, OPS, Kind, Op, Param
from shapecalc.core.problem import misuse, refusal
from shapecalc.core.record import Record
from shapecalc.core.rules import DIALECTS, SWITCHES, Dialect, Flattens
from shapecalc.core.text import (
    MAX_DIGITS,
    MOST_BITS,
    TOO_LARGE,
    Token,
    brief,
    read_axes,
    read_dim,
    read_shape,
    read_target,
    shape_text,
    sized,
    visible,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any


MOST_LISTED = 16
"""How many names a hint lists."""
MOST_SIZE_DIGITS = 30
"""The longest size that is put in for a name; int64 has 19 digits."""
NAME_IT = "write a name (N) or ? for a size that is not known"


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
    dims = read_shape(shape) if isinstance(shape, str) else _dims(shape, "input", lowest=0)
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
        return _int(value, param.name)
    if isinstance(value, str):
        return read_target(value, param.name) if param.kind is Kind.TARGET else read_axes(value, param.name)
    dims = _dims(value if isinstance(value, tuple) or not _is_index(value) else (value,), param.name)
    if param.kind is Kind.AXES and Monomial in map(type, dims):
        raise misuse(f"an axis is a whole number, not {shape_text(dims)}", argument=param.name)
    return dims


def _is_index(value: object) -> bool:
    """Say whether a Python value stands for one whole number."""
    try:
        return not isinstance(value, bool) and index(value) is not None  # type: ignore[arg-type]
    except TypeError:
        return False


def _int(value: object, name: str) -> int:
    if isinstance(value, str):
        digits = value.strip().removeprefix("-")
        if digits.isdigit() and digits.isascii() and len(digits) <= MAX_DIGITS:
            return int(value)
    elif _is_index(value) and index(value).bit_length() <= MOST_BITS:  # type: ignore[arg-type]
        return index(value)  # type: ignore[arg-type]
    raise misuse(f"{name} is one whole number, not {_shown(value)}", argument=name)


def _dims(value: object, argument: str, lowest: int = -TOO_LARGE) -> Shape:
    """Return the dims of a Python sequence: whole numbers, or the texts of names and monomials."""
    try:
        dims: tuple[Any, ...] = tuple(value)  # type: ignore[arg-type]
    except TypeError:
        raise misuse(f"{argument} is a sequence of dims, not {_shown(value)}", argument=argument) from None
    if isinstance(value, (bytes, bytearray)):
        raise misuse(f"{argument} is text or a sequence of dims, not bytes", argument=argument)
    for dim in dims:
        if type(dim) is not int or not lowest <= dim < TOO_LARGE:
            return _mixed(dims, argument, lowest)
    return dims


def _mixed(values: tuple[object, ...], argument: str, lowest: int) -> Shape:
    """Return the dims of a sequence that holds more than plain numbers; each `?` is a name of its own."""
    dims, unknowns = [], 0
    for place, value in enumerate(values):
        if isinstance(value, str):
            dim, met = read_dim(Token(value.strip() or " ", 0), unknowns, argument, place)
            if met > unknowns and argument != "input":
                raise misuse("? is a size nobody knows, so it cannot be requested", argument=argument, index=place)
            unknowns = met
        elif isinstance(value, Monomial):
            dim = value
        elif _is_index(value) and index(value).bit_length() <= MOST_BITS:  # type: ignore[arg-type]
            dim = index(value)  # type: ignore[arg-type]
        else:
            message = f"a dim is a whole number or a name, not {_shown(value)}"
            raise misuse(message, NAME_IT, argument=argument, index=place)
        if isinstance(dim, int) and dim < lowest:
            raise misuse(f"{sized(dim)} is not the size of an input dim", NAME_IT, argument=argument, index=place)
        dims.append(dim)
    return tuple(dims)


def _shown(value: object) -> str:
    """Return a Python value for a message."""
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        return sized(value)
    return visible(brief(repr(value)))


def read_sizes(where: object) -> dict[str, int]:
    """Return the sizes to put in for names, from `N=8,C=3` or from a mapping.

    >>> read_sizes("N=8,C=3")
    {'N': 8, 'C': 3}
    """
    if isinstance(where, str):
        pairs = [pair.partition("=")[::2] for pair in where.split(",")]
    elif isinstance(where, Mapping):
        pairs = [(str(name), str(size) if not isinstance(size, int) else sized(size)) for name, size in where.items()]
    else:
        raise misuse(f"sizes are text or a mapping, not {_shown(where)}", "write N=8,C=3", argument="where")
    sizes: dict[str, int] = {}
    for name, number in ((name.strip(), number.strip()) for name, number in pairs):
        if not (name.isidentifier() and number.isdigit() and number.isascii() and len(number) <= MOST_SIZE_DIGITS):
            shown = visible(brief(f"{name}={number}"))
            raise misuse(f"'{shown}' is not NAME=SIZE", "write N=8,C=3", argument="where")
        if name in sizes:
            raise misuse(f"{name} is given two sizes", argument="where")
        sizes[name] = int(number)
    return sizes


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
    opset = _int(given["opset"], "opset")
    if not 1 <= opset <= row.newest_opset:
        raise misuse(f"{row.name} knows the opsets 1 to {row.newest_opset}, not {opset}", argument="opset")
    return opset


def _dtype(given: Mapping[str, object], row: Dialect) -> str | None:
    if "dtype" not in given:
        return None
    text = str(given["dtype"])
    dtype = element_type(text, row.name)
    if dtype is None:
        raise misuse(f"{row.name} knows no element type '{visible(text[:40])}'", argument="dtype")
    return dtype


def _switch(given: Mapping[str, object], row: Dialect, op: str) -> bool | None:
    """Return the dialect's switch where it was given; refuse another dialect's."""
    own = row.switch.name if row.switch and op in ("reshape", "shuffle") else None
    for name in SWITCHES:
        if name in given and name != own:
            has = f"its switch is {own}" if own else ""
            raise misuse(f"{row.name} {row.operators[op]} has no {name}", has, argument=name)
    if own is None or own not in given:
        return None
    value = given[own]
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    raise misuse(f"{own} is 0 or 1, not {_shown(value)}", argument=own)

"""Requests: how texts, options and Python values become a question.

`ask` makes a `Request` out of texts or Python values and checks its form; `resolve` answers it. Every
front end comes through here: the command line, the prompt, the case files and the Python names.
"""

from __future__ import annotations

from shapecalc.core.dims import Dim, Monomial, Shape, names, substitute
from shapecalc.core.dtypes import element_type
from shapecalc.core.operations import COMMON, OPS, Kind, Op, Param
from shapecalc.core.problem import misuse
from shapecalc.core.record import Record
from shapecalc.core.rules import DIALECTS, SWITCHES, Dialect, Flattens
from shapecalc.core.text import MAX_DIGITS, brief, read_axes, read_dims, read_shape, read_target, shape_text, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
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
        for value in (self.input, *self.arguments.values()):
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
    given = {name: options[name] for name in options if options[name] is not None}
    row = _dialect(given.get("dialect"), op)
    dims = read_shape(shape) if isinstance(shape, str) else _input(shape)
    arguments = {}
    for param in spec.params:
        if param.name in given:
            arguments[param.name] = _value(given[param.name], param)
        elif param.required:
            raise misuse(f"{op} needs a {param.name}", argument=param.name)
    if len(given) == len(arguments) + ("dialect" in given) and not isinstance(shape, str):
        return Request(op, dims, arguments, row.name)
    _check_names(given, spec, row)
    written = {name: text for name, text in [("input", shape), *given.items()] if isinstance(text, str)}
    request = Request(
        op, dims, arguments, row.name, _opset(given, row), _dtype(given, row), _switch(given, row, op), written
    )
    return _filled(request, read_sizes(given["where"])) if "where" in given else request


def _dialect(name: object, op: str) -> Dialect:
    """Return the row of the dialect that was named, or of the op's default."""
    wanted = str(name or default_dialect(op)).lower()
    row: Dialect = DIALECTS.get(wanted) or found(wanted, DIALECTS, "dialect")
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


def _check_names(given: Mapping[str, object], spec: Op, row: Dialect) -> None:
    """Refuse options that the op does not have, or not in this dialect."""
    known = [param.name for param in spec.params]
    lacking = {"axis": row.flattens is not Flattens.AXIS, "start": not row.slices_shape}
    lacking |= {"start_dim": row.flattens is not Flattens.RANGE, "end": not row.slices_shape}
    lacking |= {"end_dim": lacking["start_dim"]}
    for name in given:
        if name not in known and name not in COMMON:
            raise misuse(f"{spec.name} has no {visible(name[:40])}", suggestion(name, [*known, *COMMON]), argument=name)
        if lacking.get(name, False):
            raise misuse(f"{row.name} {row.operators[spec.name]} has no {name}", argument=name)


def _value(value: object, param: Param) -> Any:
    """Return a parameter's value from its text or from a Python value."""
    if param.kind is Kind.INT:
        return _int(value, param.name)
    if isinstance(value, str):
        return read_target(value, param.name) if param.kind is Kind.TARGET else read_axes(value, param.name)
    axes = _dims((value,) if isinstance(value, int) else value, param.name)
    if param.kind is Kind.AXES and Monomial in map(type, axes):
        raise misuse(f"an axis is a whole number, not {shape_text(axes)}", argument=param.name)
    return axes


def _int(value: object, name: str) -> int:
    if isinstance(value, str):
        digits = value.strip().removeprefix("-")
        if digits.isdigit() and digits.isascii() and len(digits) <= MAX_DIGITS:
            return int(value)
    elif not isinstance(value, bool) and hasattr(value, "__index__"):
        return int(value.__index__())
    raise misuse(f"{name} is one whole number, not '{visible(brief(str(value)))}'", argument=name)


def _input(shape: object) -> Shape:
    dims = _dims(shape, "input")
    for index, dim in enumerate(dims):
        if isinstance(dim, int) and dim < 0:
            raise misuse(
                f"{dim} is not the size of an input dim", "write a name (N) or ?", argument="input", index=index
            )
    return dims


_INT_ONLY = {int}


def _dims(value: object, argument: str) -> Shape:
    """Return the dims of a Python sequence: whole numbers, or the texts of names and monomials."""
    try:
        dims: Shape = tuple(value)  # type: ignore[arg-type]
    except TypeError:
        raise misuse(f"{argument} is a sequence of dims, not {visible(repr(value)[:40])}", argument=argument) from None
    if set(map(type, dims)) <= _INT_ONLY:
        return dims
    return tuple(_dim(dim, argument, index) for index, dim in enumerate(dims))


def _dim(value: object, argument: str, index: int) -> Dim:
    if isinstance(value, Monomial):
        return value
    if isinstance(value, str) and len(dims := read_dims(value, argument)) == 1:
        return dims[0]
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise misuse(
            f"a dim is a whole number or a name, not {visible(repr(value)[:40])}", argument=argument, index=index
        )
    return int(value.__index__())


def read_sizes(where: object) -> dict[str, int]:
    """Return the sizes to put in for names, from `N=8,C=3` or from a mapping.

    >>> read_sizes("N=8,C=3")
    {'N': 8, 'C': 3}
    """
    pairs = where.split(",") if isinstance(where, str) else [f"{name}={size}" for name, size in dict(where).items()]  # type: ignore[call-overload]
    sizes = {}
    for pair in pairs:
        name, equals, number = (word.strip() for word in pair.partition("="))
        if not (equals and name.isidentifier() and number.isdigit() and number.isascii() and len(number) < 100):
            raise misuse(f"'{visible(pair[:40])}' is not NAME=SIZE", "write N=8,C=3", argument="where")
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
            raise misuse(f"{before} would be {after}, which is no whole number", argument=argument)
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
    if value not in (0, 1):
        raise misuse(f"{own} is 0 or 1, not {visible(str(value)[:40])}", argument=own)
    return bool(value)

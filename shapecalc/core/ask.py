"""The parsing of arguments and options into a `Request`.

`make_request` is the single entry point for the command line, the prompt, case files and the Python functions.

Defaults follow the same rules in every front end:

- An option of a stage always applies. It is an error (usage) if the op or the dialect does not have it.
- A default applies to the stages that support it and is skipped for the others: not every op and dialect has a switch
  or an opset.
- The dialect is never skipped, since it selects the rules. It is an error (usage) if it lacks the op.
- An option for a whole chain must be supported by at least one of its stages. Otherwise it is an error (usage).
- Defaults from a project file or the environment have the lowest priority.
"""

from __future__ import annotations

from _collections_abc import Mapping  # `collections.abc` re-exports it and takes longer to import

from shapecalc.core import rules, values
from shapecalc.core.answers import HERE, NONE, Request, shapes_in
from shapecalc.core.dialects import DIALECTS, dialect_named
from shapecalc.core.dialects.base import Dialect, Holds, Operator, Param, Setting, Zero, element_type, spelled
from shapecalc.core.dims import Monomial, Shape, named_dim, names, rewrite, substitute
from shapecalc.core.limits import MOST_NAMES
from shapecalc.core.ops import OPS, dialects_with, params_of
from shapecalc.core.ops.op import Op, accepted_types, operator_of, steps_of
from shapecalc.core.problem import USAGE, Problem, ShapeError, misuse, refusal
from shapecalc.core.record import FrozenDict, Record, replace
from shapecalc.core.text import (
    TOO_LARGE,
    brief,
    lookup,
    read_axes,
    read_dims,
    read_shape,
    read_target,
    shape_text,
    split,
    suggestion,
    tokens,
    visible,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any


SHARED = ("dialect", "opset", "dtype", "where")
"""The options of every op in every dialect."""
DEFAULT_OPSET = 25
SETTABLE = ("dialect", "opset")
"""The options that a project file or the environment can set."""

_switches: dict[str, Zero] = {}
_known: dict[tuple[str, str, int | None, bool | None], Setting] = {}
"""The cached settings by dialect, op, opset and switch; some hundreds at most."""

Options = Mapping[str, object]
Stage = tuple[str, Options]
"""The name of an op in a chain, with its options."""


class LackingError(ShapeError):
    """The error (usage) of a request for an op that the dialect does not have."""

    def __init__(self, dialect: str, problem: Problem) -> None:
        """Store the name of the dialect."""
        super().__init__(problem)
        self.dialect = dialect


class Default(Record):
    """An option that a project file or the environment sets."""

    name: str
    value: str | int
    place: str
    """The environment variable or the file that sets it."""

    def __str__(self) -> str:
        return f"{self.name} {self.value}, set in {visible(self.place)}"


def switches() -> Mapping[str, Zero]:
    """Return the meaning of 0 if a switch is on, by the name of the switch.

    This imports all dialects.
    """
    if not _switches:
        _switches.update({row.switch.name: row.readings[True].zero for row in DIALECTS.values() if row.switch})
    return _switches


def common_options() -> tuple[str, ...]:
    """Return the names of the options that every op has in some dialect.

    >>> common_options()[:4]
    ('dialect', 'opset', 'dtype', 'where')
    """
    return (*SHARED, *switches())


def setting_of(request: Request) -> Setting:
    """Return the rules for a request.

    They are the dialect, the operator, its version and the setting of the switch. Raises `ShapeError`: no-such-version,
    no-such-attribute, missing-switch.

    >>> from shapecalc.core.ask import ask
    >>> setting_of(ask("reshape", "2,3", {"target": "6", "opset": 18})).version
    14
    """
    key = (request.dialect, request.op, request.opset, request.switch)
    setting = _known.get(key)
    if setting is None:
        row, op = DIALECTS[request.dialect], OPS[request.op]
        setting = _known[key] = _setting(row, op, request.opset, request.switch)
    variant = setting.operator.variant
    if variant is None:
        return setting
    operator = variant(request.arguments)
    version = None if setting.version is None else _version(operator, request.opset or DEFAULT_OPSET)
    return replace(setting, operator=operator, version=version)


def _setting(row: Dialect, op: Op, opset: int | None, switch: bool | None) -> Setting:
    operator = operator_of(op, row)
    if operator is None:
        raise LookupError(f"{row.name} has no {op.name}")
    steps = steps_of(op, operator)
    version = None if row.newest_opset is None else _version(operator, opset or DEFAULT_OPSET)
    if row.switch is None or not op.switched:
        return Setting(row, operator, steps, version, row.readings[row.settings()[0]], NONE)
    name, exists = row.switch.name, version is None or version >= row.switch.since
    if switch is not None and not exists:
        raise _no_attribute(operator, name, row.switch.since, version)
    chosen = row.switch.default if switch is None else switch
    if chosen is None:
        raise refusal(rules.MISSING_SWITCH, f"{row.name} {operator.name} requires {name}", argument=name)
    options = FrozenDict({name: chosen}) if exists else NONE
    return Setting(row, operator, steps, version, row.readings[chosen], options)


def _version(operator: Operator, opset: int) -> int:
    """Return the newest version of an ONNX operator in a model's opset."""
    first = min(operator.versions)
    if opset < first:
        message = f"{operator.name} exists since opset {first}, and this model's is {opset}"
        raise refusal(rules.NO_SUCH_VERSION, message, argument="opset")
    return max(version for version in operator.versions if version <= opset)


def _no_attribute(operator: Operator, name: str, since: int | None, version: int | None) -> ShapeError:
    """Return the error for an attribute of a later version, or of no version."""
    message = f"{operator.name} has no {name}"
    if since is not None:
        message = f"{name} exists since {operator.name} {since}, and this is {operator.name} {version}"
    return refusal(rules.NO_SUCH_ATTRIBUTE, message, argument=name)


def check_attributes(request: Request, at: Setting) -> None:
    """Raise `ShapeError` for unsupported arguments or element types.

    They depend on the operator's version. The rules are missing-argument, no-such-attribute and dtype.
    """
    operator, version = at.operator, at.version
    for name, first in operator.required.items():
        if name not in request.arguments and (version is None or version >= first):
            message = f"{at.row.name} {operator.name} requires {name} (write --{name})"
            raise refusal(rules.MISSING_ARGUMENT, message, argument=name)
    if operator.since:
        for name in request.arguments:
            since = operator.since.get(name, 1)
            if since is None or (version is not None and version < since):
                raise _no_attribute(operator, name, since, version)
    if request.dtype and request.dtype not in accepted_types(OPS[request.op], at.row, version, operator):
        this = operator.name if version is None else f"{operator.name} {version}"
        message = f"{at.row.name} {this} does not accept {spelled(request.dtype, at.row)}"
        raise refusal(rules.DTYPE, message, argument="dtype")


def axes_of_dims(named: Shape, shape: Shape, value: object, argument: str) -> tuple[int, ...]:
    """Return the axes of `shape` that have these dims.

    An example is the permutation N,H,W,C of N,C,H,W. `value` is the argument as it was passed, for the span in errors.
    Raises `ShapeError` (usage) for a dim that no axis or more than one axis has.

    >>> from shapecalc.core.text import read_dims
    >>> axes_of_dims(read_dims("N,H,W,3"), read_dims("N,3,H,W"), None, "perm")
    (0, 2, 3, 1)
    """
    axes = []
    for index, dim in enumerate(named):
        matches = [axis for axis, size in enumerate(shape) if size == dim]
        if len(matches) != 1:
            span = tokens(value, argument)[index].span if isinstance(value, str) else None
            count = f"{len(matches)} dims" if matches else "no dim"
            message = f"{count} of {brief(shape_text(shape))} {'are' if matches else 'is'} {brief(str(dim))}"
            hint = "name the axes by their numbers"
            raise misuse(message, hint, argument=argument, index=index, span=span)
        axes += matches
    return tuple(axes)


def names_axes(op: str, options: Mapping[str, object]) -> bool:
    """Return whether a request names axes by their dims.

    Its input must then be known.

    >>> names_axes("transpose", {"perm": "N,C"}), names_axes("transpose", {"perm": "1,0"})
    (True, False)
    """
    params = OPS[op].params if op in OPS else ()
    return any(param.holds is Holds.PERM and _has_name(options.get(param.name)) for param in params)


def _has_name(value: object) -> bool:
    words = [value] if isinstance(value, str) else value if isinstance(value, (list, tuple)) else []
    return any(char.isalpha() or char in "_?" for word in words for char in str(word))


def ask(op: str, shape: str | Iterable[object], options: Mapping[str, object]) -> Request:
    """Parse a request from the name of an op, an input shape and named options.

    Raises `ShapeError` (usage) for invalid values, and for options that the op or the dialect does not have.

    >>> ask("reshape", "2,3,4", {"target": "0,-1"}).arguments
    {'target': (0, -1)}
    """
    spec = OPS.found.get(op) or lookup(op, OPS, "operation")
    row, operator = operator_in(spec, options.get("dialect"))
    dims = read_shape(shape) if isinstance(shape, str) else values.shape_of(shape)
    written = {"input": shape} if isinstance(shape, str) else {}
    arguments = {}
    for param in (*spec.params, *operator.params) if operator.params else spec.params:
        name, value = param.name, options.get(param.name)
        if value is not None:
            if param.taken_by is not None and not param.taken_by(row):
                if any(other.name == param.twin and other.is_taken_by(row) for other in spec.params):
                    options = {param.twin: value, **options, name: None}
                    continue
                having = ", ".join(other.name for other in dialects_with(spec) if param.taken_by(other))
                raise misuse(f"{row.name} has no {name} here", f"it is in {having}", argument=name)
            arguments[name] = READERS[param.holds](value, param, dims)
            if isinstance(value, str):
                written[name] = value
        elif param.required:
            raise misuse(f"{op} needs a {name}", f"as in {spec.examples[0]}", argument=name)
    others = {name: value for name, value in options.items() if value is not None and name not in arguments}
    others.pop("dialect", None)
    if not others:
        return _counted(Request(op, dims, arguments, row.name, None, None, None, written))
    _check_names(others, spec, row)
    opset, dtype, switch = opset_in(others, row), _dtype(others, row), _switch(others, row, spec)
    request = Request(op, dims, arguments, row.name, opset, dtype, switch, written)
    return _counted(_filled(request, values.read_sizes(others["where"])) if "where" in others else request)


def _counted(request: Request) -> Request:
    """Return the request; raise `ShapeError` (usage) if it has too many names."""
    count = len(names(request.dims)) if request.symbolic else 0
    if count > MOST_NAMES:
        raise MOST_NAMES.passed(f"{count} names of sizes")
    return request


def operator_in(op: Op, name: object) -> tuple[Dialect, Operator]:
    """Return a dialect and its operator for an op.

    For `name=None` it is the op's default dialect. Raises `ShapeError` (usage) if the dialect does not exist or does
    not have the op.
    """
    dialect = op.default_dialect if name is None else str(name)
    row = DIALECTS.found.get(dialect) or dialect_called(dialect)
    operator = operator_of(op, row)
    if operator is None:
        having = ", ".join(other.name for other in dialects_with(op))
        raise LackingError(row.name, Problem(USAGE, f"{row.name} has no {op.name}", f"it is in {having}", "dialect"))
    return row, operator


def dialect_called(name: str) -> Dialect:
    """Return the dialect with this name or alias, ignoring case.

    Raises `ShapeError` (usage) if there is none.
    """
    return dialect_named(name) or lookup(name.lower(), DIALECTS, "dialect")


def default_dialect(op: str) -> str:
    """Return the name of an op's default dialect; `onnx` for a chain and unknown ops."""
    return OPS[op].default_dialect if op in OPS else "onnx"


def _check_names(given: Iterable[str], spec: Op, row: Dialect) -> None:
    """Raise `ShapeError` (usage) for an option that the op lacks in the dialect."""
    for name in given:
        if name in SHARED or name in switches():
            continue
        params = [param.name for param in params_of(spec)]
        if name in params:
            raise misuse(f"{row.name} has no {name} here", argument=name)
        shown = visible(brief(str(name)))
        hint = suggestion(shown, [*params, *common_options()])
        raise misuse(f"{spec.name} has no {shown}", hint, argument=str(name))


def _axes(value: object, param: Param, shape: Shape) -> Shape:
    """Parse axes; those of a permutation may be named by their dims."""
    name = param.name
    dims = _dims(value, name)
    if Monomial not in map(type, dims):
        return dims
    if param.holds is Holds.PERM:
        return axes_of_dims(dims, shape, value, name)
    if isinstance(value, str):
        return read_axes(value, name)
    raise misuse(f"an axis is a whole number, not {shape_text(dims)}", argument=name)


def _dims(value: object, name: str) -> Shape:
    """Parse dims from a text, a sequence or a single number."""
    if isinstance(value, str):
        return read_dims(value, name)
    return values.dims_of(value if isinstance(value, (tuple, list)) or not values.is_whole(value) else (value,), name)


def _target(value: object, param: Param, _: Shape) -> Shape:
    return read_target(value, param.name) if isinstance(value, str) else _dims(value, param.name)


def _pattern(value: object, param: Param, _: Shape) -> str:
    """Validate a pattern, subscripts or axis lengths and return the text unchanged."""
    PATTERNS[param.holds](value, param.name)
    return str(value)


PATTERNS: Mapping[Holds, Callable[[object, str], object]] = {
    Holds.PATTERN: values.read_axis_pattern,
    Holds.LENGTHS: values.read_lengths,
    Holds.SUBSCRIPTS: values.read_subscripts,
}
"""The parsers that validate arguments which are stored as text."""


def _word(value: object, param: Param, _: Shape) -> str:
    """Parse one of the words of a parameter, ignoring case.

    Raises `ShapeError` (usage) for any other.
    """
    text = str(value).strip()
    for word in param.words:
        if text.lower() == word.lower():
            return word
    words = " or ".join(param.words)
    raise misuse(f"{param.name} is {words}, not '{visible(brief(text))}'", argument=param.name)


def read_flag(value: object, name: str) -> bool:
    """Parse a flag from 0, 1, a bool or their texts.

    Raises `ShapeError` (usage) for anything else.
    """
    if value in ("0", "1", "False", "True"):
        return value in ("1", "True")
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    raise misuse(f"{name} is 0 or 1, not {values.describe(value)}", argument=name)


def _shape(value: object, param: Param, _: Shape, place: object = "") -> Shape:
    """Parse the shape of another operand.

    Its unknown dims get names distinct from those of the input.
    """
    dims = read_shape(value, param.name) if isinstance(value, str) else values.shape_of(value, param.name)
    unknown = {name: named_dim(f"{name}{param.name}{place}") for name in names(dims) if name[0] == "?"}
    return tuple([rewrite(dim, unknown) for dim in dims]) if unknown else dims


def _operands(value: object, param: Param, _: Shape) -> tuple[Shape | str, ...]:
    """Parse the shapes of operands from a text or a list.

    `_`, the tensor of a chain, is kept.
    """
    items = split(value) if isinstance(value, str) else value
    if not isinstance(items, (list, tuple)) or not items:
        raise misuse(f"{param.name} is a list of shapes, not {values.describe(value)}", argument=param.name)
    pairs = enumerate(items)
    return tuple([HERE if isinstance(item, str) and item == HERE else _shape(item, param, (), i) for i, item in pairs])


def operand_words(request: Request) -> list[str]:
    """Return the texts of the other operands, as the user wrote them if text."""
    written = request.written.get("operands")
    if written:
        return split(written)
    operands = request.arguments.get("operands", ())
    return [operand if isinstance(operand, str) else shape_text(operand) for operand in operands]


def _sizes(value: object, param: Param, _: Shape) -> Shape | str:
    """Parse integers, or one of the words that the parameter accepts instead."""
    if isinstance(value, str) and any(char.isalpha() for char in value):
        return _word(value, param, ())
    dims = _dims(value, param.name)
    if Monomial in map(type, dims):
        raise misuse(f"{param.name} has whole numbers, not {shape_text(dims)}", argument=param.name)
    return dims


READERS: Mapping[Holds, Callable[[Any, Param, Shape], Any]] = {
    Holds.TARGET: _target,
    Holds.AXES: _axes,
    Holds.PERM: _axes,
    Holds.SLICES: lambda value, param, _: values.read_slices(value, param.name),
    **dict.fromkeys(PATTERNS, _pattern),
    Holds.SHAPE: _shape,
    Holds.SHAPES: _operands,
    Holds.SIZES: _sizes,
    Holds.SCALES: lambda value, param, _: values.read_scales(value, param.name),
    Holds.INT: lambda value, param, _: values.whole_number(value, param.name),
    Holds.WORD: _word,
    Holds.FLAG: lambda value, param, _: read_flag(value, param.name),
}
"""The parsers of arguments; each takes the value, the parameter and the input shape."""


def with_sizes(request: Request, sizes: Mapping[str, int]) -> Request:
    """Substitute sizes for names in a request.

    Raises `ShapeError` if a dim becomes invalid.
    """
    arguments = {name: _filled_value(value, sizes, name) for name, value in request.arguments.items()}
    dims = _with_sizes(request.input, sizes, "input")
    return Request(request.op, dims, arguments, request.dialect, request.opset, request.dtype, request.switch)


def _filled_value(value: Any, sizes: Mapping[str, int], name: str) -> Any:
    """Substitute sizes in an argument if it is a shape or a list of shapes."""
    if not isinstance(value, tuple):
        return value
    if shapes_in(value) == (value,):
        return _with_sizes(value, sizes, name)
    return tuple([_filled_value(operand, sizes, name) for operand in value])


def _filled(request: Request, sizes: Mapping[str, int]) -> Request:
    check_names_known(sizes, names(request.dims))
    return with_sizes(request, sizes)


def check_names_known(sizes: Mapping[str, int], known: Iterable[str]) -> None:
    """Raise `ShapeError` (usage) for a size of a name that does not occur."""
    known = list(known)
    for name in sizes:
        if name not in known:
            existing = ", ".join(visible(other) for other in known) or "none"
            raise misuse(f"no dim is called {name}", f"the names are {existing}", argument="where")


def _with_sizes(dims: Shape, sizes: Mapping[str, int], argument: str) -> Shape:
    try:
        substituted = tuple(substitute(dim, sizes) for dim in dims)
    except ZeroDivisionError as error:
        raise misuse(f"a dim would divide by 0: {error}", argument="where") from None
    for before, after in zip(dims, substituted, strict=True):
        if isinstance(after, Monomial) and not after.powers:
            message = f"{before} would be {after}, which is not a whole number"
            raise refusal(rules.INDIVISIBLE, message, argument=argument)
        if isinstance(after, int) and after >= TOO_LARGE:
            raise misuse(f"{brief(str(before))} would have more digits than any size", argument=argument)
    return substituted


def opset_in(given: Mapping[str, object], row: Dialect) -> int | None:
    """Parse the option `opset`.

    Raises `ShapeError` (usage) if the dialect does not have that opset.
    """
    if "opset" not in given:
        return None
    if row.newest_opset is None:
        raise misuse(f"{row.name} has no opsets", argument="opset")
    opset = values.whole_number(given["opset"], "opset")
    if not 1 <= opset <= row.newest_opset:
        raise misuse(f"{row.name} knows the opsets 1 to {row.newest_opset}, not {brief(str(opset))}", argument="opset")
    return opset


def _dtype(given: Mapping[str, object], row: Dialect) -> str | None:
    if "dtype" not in given:
        return None
    value = given["dtype"]
    text = values.describe(value) if isinstance(value, list | dict) else str(value)
    dtype = element_type(text, row)
    if dtype is None:
        raise misuse(f"{row.name} knows no element type '{visible(text[:40])}'", argument="dtype")
    return dtype


def switch_name(op: Op, row: Dialect) -> str | None:
    """Return the name of the switch of an op in a dialect; None if it has none."""
    return row.switch.name if row.switch is not None and op.switched else None


def _switch(given: Mapping[str, object], row: Dialect, op: Op) -> bool | None:
    """Parse the option of the dialect's switch.

    Raises `ShapeError` (usage) for the switch of another dialect.
    """
    own = switch_name(op, row)
    others = given.keys() - {*SHARED, own}
    if others:
        name = next(name for name in switches() if name in others)
        hint = f"its switch is {own}" if own else ""
        operator = operator_of(op, row)
        raise misuse(f"{row.name} {operator.name if operator else op.name} has no {name}", hint, argument=name)
    return read_flag(given[own], own) if own is not None and own in given else None


def with_defaults(op: str, defaults: Options, options: Options) -> Options:
    """Return the options of a stage, completed with the defaults that it supports.

    >>> with_defaults("reshape", {"dialect": "numpy", "opset": 13}, {"target": "6"})
    {'dialect': 'numpy', 'target': '6'}
    """
    if not defaults:
        return options
    unsupported = _lacking(op, options.get("dialect") or defaults.get("dialect"))
    return {**{name: value for name, value in defaults.items() if name not in unsupported}, **options}


def _lacking(op: str, dialect: object) -> set[str]:
    """Return the common options that an op does not have in a dialect."""
    row = dialect_named(str(dialect or default_dialect(op)))
    unsupported = {*switches()} - {switch_name(OPS[op], row) if row and op in OPS else None}
    if row is None or row.newest_opset is None:
        unsupported.add("opset")
    return unsupported


def chain_with_options(stages: Sequence[Stage], given: Options, defaults: Options = NONE) -> list[Stage]:
    """Complete the stages of a chain with common options and defaults.

    A stage gets the options that it supports. Raises `ShapeError` (usage) for an option of the chain that no stage
    supports.

    >>> chain_with_options([("transpose", {}), ("reshape", {"target": "6"})], {"allowzero": True})
    [('transpose', {}), ('reshape', {'allowzero': True, 'target': '6'})]
    """
    given = {name: value for name, value in given.items() if value is not None}
    completed = [(op, with_defaults(op, {**defaults, **given}, options)) for op, options in stages]
    for name in given:
        if completed and not any(name in options for _, options in completed):
            op, options = completed[-1]
            row, operator = operator_in(OPS[op], options.get("dialect"))
            raise misuse(f"{row.name} {operator.name} has no {name}", argument=name)
    return completed


def read_default(name: str, value: object, place: str) -> Default:
    """Parse a default.

    Raises `ShapeError` (usage) with its source if the value is invalid.

    >>> str(read_default("dialect", "pt", "SHAPECALC_DIALECT"))
    'dialect torch, set in SHAPECALC_DIALECT'
    """
    try:
        return Default(name, dialect_called(str(value)).name if name == "dialect" else _opset(value), place)
    except ShapeError as error:
        raise misuse(f"{place}: {error.problem.message}", error.problem.hint, argument=name) from None


def _opset(value: object) -> int:
    opset, newest = values.whole_number(value, "opset"), max(row.newest_opset or 0 for row in DIALECTS.values())
    if not 1 <= opset <= newest:
        raise misuse(f"opsets run from 1 to {newest}, and this is {brief(str(opset))}")
    return opset


def read_table(text: bytes, place: str) -> Mapping[str, object]:
    r"""Parse the table `[tool.shapecalc]` of a TOML text.

    Raises `ShapeError` (usage) with its source if it is invalid.

    >>> read_table(b"[tool.shapecalc]\ndialect = 'torch'", "pyproject.toml")
    {'dialect': 'torch'}
    """
    from tomllib import loads  # few projects have such a table

    try:
        tool = loads(text.decode()).get("tool")
    except (ValueError, RecursionError) as error:
        raise misuse(f"{place}: it is not TOML: {' '.join(str(error).split())}") from None
    table = tool.get("shapecalc", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise misuse(f"{place}: tool.shapecalc is not a table")
    for name in table:
        if name not in SETTABLE:
            raise misuse(f"{place}: tool.shapecalc has no {visible(brief(name))}", suggestion(name, SETTABLE))
    return table


def changing(stages: Iterable[Stage], given: Options, defaults: Iterable[Default]) -> Iterator[Default]:
    """Yield the defaults that change the rules of at least one stage.

    `chain_options` apply to all stages.

    >>> set_before = [read_default("dialect", "onnx", "x"), read_default("opset", "13", "x")]
    >>> [each.name for each in changing([("reshape", {}), ("shape", {"opset": "9"})], {}, set_before)]
    ['opset']
    """
    defaults = list(defaults)
    common = {default.name: default.value for default in defaults} | {**given}
    stages = list(stages)
    for default in defaults:
        if default.name not in given and any(_changes(default, op, options, common) for op, options in stages):
            yield default


def _changes(default: Default, op: str, options: Options, every: Options) -> bool:
    """Return whether a stage uses a default that differs from the op's own."""
    unset = default_dialect(op) if default.name == "dialect" else DEFAULT_OPSET
    is_used = default.name not in options and default.name in with_defaults(op, every, options)
    return is_used and default.value != unset

"""Parse arguments and options into a `Request`.

`make_request` is the single entry point for the command line, the prompt, case files and the Python functions.

All front ends apply defaults by the same rules:

- An option of a stage always applies. If the op or the dialect does not have this option, that is an error (usage).
- Any other default applies only to the stages that support it. Not every op and dialect has a switch or an opset.
- A default dialect applies to every stage, since it selects the rules. If it lacks the op, that is an error (usage).
- An option for a chain must be supported by at least one of its stages. Otherwise it is an error (usage).
- Defaults from a project file or the environment have the lowest priority.
"""

from __future__ import annotations

from collections.abc import Mapping

from shapecalc.core import rules, values
from shapecalc.core.answers import CHAIN_TENSOR, EMPTY_DICT, Request, collect_shapes
from shapecalc.core.dialects import DIALECTS, find_dialect
from shapecalc.core.dialects.base import (
    Dialect,
    Operator,
    RequestRules,
    ZeroMeaning,
    element_type_name,
    parse_element_type,
)
from shapecalc.core.dims import Monomial, Shape, is_concrete, substitute
from shapecalc.core.limits import MAX_NAMES
from shapecalc.core.ops import OPS, all_params, supporting_dialects
from shapecalc.core.ops.op import Op, operator_of, operator_types, select_resolver
from shapecalc.core.params import ParamType, parse_flag
from shapecalc.core.problem import USAGE, Problem, ShapeError, rule_error, usage_error
from shapecalc.core.record import FrozenDict, Record, TableRow, replace
from shapecalc.core.text import (
    SIZE_BOUND,
    TypedShape,
    argument_notes,
    escape_unprintable,
    lookup,
    parse_plain_shape,
    parse_typed_shape,
    shape_text,
    split_outside_brackets,
    suggest_name,
    truncate,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from shapecalc.core.params import Param


SHARED_OPTIONS = ("dialect", "opset", "dtype", "where")
"""The options of all ops in all dialects."""
DEFAULT_OPSET = 25
PLAIN_CHARACTERS = frozenset("0123456789,- ")
"""The characters of texts without notes; see `_are_plain_texts`."""
SHAPE_TYPES = frozenset([ParamType.TARGET.name, ParamType.SHAPE.name, ParamType.SHAPES.name])
"""The parameter types of shapes."""
PROJECT_KEYS = ("dialect", "opset")
"""The options that a project file or the environment can set."""
USER_KEYS = (*PROJECT_KEYS, "theme", "keys")
"""The keys of the user configuration file."""
PROJECT_TABLE = "tool.shapecalc"
"""The table of a project file that contains the options in `PROJECT_KEYS`."""

_zero_meaning_by_switch: dict[str, ZeroMeaning] = {}
_setting_cache: dict[tuple[str, str, int | None, bool | None], RequestRules] = {}
"""The cached `RequestRules` for each combination of dialect, op, opset and switch; there are at most a few hundred."""
_options_cache: dict[tuple[object, ...], ParsedOptions] = {}
"""The cached options. The key contains the types of the values because `14.0 == 14` in Python, but 14.0 is not a valid
opset.
"""
MAX_CACHED_OPTIONS = 1024
"""The maximum number of entries in `_options_cache`."""

Options = Mapping[str, object]
StageRequest = tuple[str, Options]
"""The name and the options of an op in a chain."""


class MissingOpError(ShapeError):
    """The error (usage) for an op that the dialect lacks."""

    def __init__(self, op: str, dialect: str, problem: Problem) -> None:
        """Store the problem and the names of the op and the dialect."""
        super().__init__(problem)
        self.op, self.dialect = op, dialect


class ParsedOptions(TableRow):
    """The options of a request, without the arguments of its op."""

    op: Op
    dialect: Dialect
    operator: Operator
    params: tuple[Param, ...]
    """The parameters of the op in all dialects, and the additional parameters of the dialect's operator."""
    opset: int | None
    dtype: str | None
    switch: bool | None


class Default(Record):
    """A default for an option, from a project file or an environment variable."""

    name: str
    value: str | int
    source: str
    """The name of the file or of the environment variable."""

    def __str__(self) -> str:
        return f"{self.name} {self.value}, set in {escape_unprintable(self.source)}"


def zero_meaning_by_switch() -> Mapping[str, ZeroMeaning]:
    """Map the name of each switch to the meaning of 0 when the switch is on.

    The first call imports all dialects.
    """
    if not _zero_meaning_by_switch:
        _zero_meaning_by_switch.update(
            {row.switch.name: row.reshape_semantics[True].zero for row in DIALECTS.values() if row.switch}
        )
    return _zero_meaning_by_switch


def common_option_names() -> tuple[str, ...]:
    """Return the names of the shared options and of the switches of all dialects.

    >>> common_option_names()[:4]
    ('dialect', 'opset', 'dtype', 'where')
    """
    return (*SHARED_OPTIONS, *zero_meaning_by_switch())


def select_rules(request: Request) -> RequestRules:
    """Select the rules for a request.

    The rules are the dialect, the operator, the operator version and the setting of the switch. Raises `ShapeError`
    (no-such-version, no-such-attribute or missing-switch).

    >>> from shapecalc.core.requests import make_request
    >>> select_rules(make_request("reshape", "2,3", {"target": "6", "opset": 18})).version
    14
    """
    key = (request.dialect, request.op, request.opset, request.switch)
    setting = _setting_cache.get(key)
    if setting is None:
        row, op = DIALECTS[request.dialect], OPS[request.op]
        setting = _setting_cache[key] = _make_rules(row, op, request.opset, request.switch)
    variant = setting.operator.variant_of
    if variant is None:
        return setting
    operator = variant(request.arguments)
    version = None if setting.version is None else _select_version(operator, request.opset or DEFAULT_OPSET)
    return replace(setting, operator=operator, version=version)


def _make_rules(dialect: Dialect, op: Op, opset: int | None, switch: bool | None) -> RequestRules:
    operator = operator_of(op, dialect)
    if operator is None:
        raise LookupError(f"{dialect.name} has no {op.name}")
    steps = select_resolver(op, operator)
    version = None if dialect.newest_opset is None else _select_version(operator, opset or DEFAULT_OPSET)
    extras = op.extras or EMPTY_DICT
    if dialect.switch is None or not op.uses_switch:
        semantics = dialect.reshape_semantics[dialect.switch_settings()[0]]
        return RequestRules(dialect, operator, steps, version, semantics, EMPTY_DICT, extras)
    name, exists = dialect.switch.name, version is None or version >= dialect.switch.since
    if switch is not None and not exists:
        raise _no_attribute_error(operator, name, dialect.switch.since, version)
    chosen = dialect.switch.default if switch is None else switch
    if chosen is None:
        raise rule_error(rules.MISSING_SWITCH, f"{dialect.name} {operator.name} requires {name}", argument=name)
    options = FrozenDict({name: chosen}) if exists else EMPTY_DICT
    return RequestRules(dialect, operator, steps, version, dialect.reshape_semantics[chosen], options, extras)


def _select_version(operator: Operator, opset: int) -> int:
    """Return the newest version of an ONNX operator in an opset.

    Raises `ShapeError` (no-such-version) if the opset does not contain the operator.
    """
    first = min(operator.versions)
    if opset < first:
        message = f"{operator.name} exists since opset {first}, and this model's is {opset}"
        raise rule_error(rules.NO_SUCH_VERSION, message, argument="opset")
    return max(version for version in operator.versions if version <= opset)


def _no_attribute_error(operator: Operator, name: str, since: int, version: int | None) -> ShapeError:
    """Return the error for an attribute that the operator version lacks."""
    message = f"{name} exists since {operator.name} {since}, and this is {operator.name} {version}"
    return rule_error(rules.NO_SUCH_ATTRIBUTE, message, argument=name)


def check_attributes(request: Request, setting: RequestRules) -> None:
    """Raise `ShapeError` if the operator version lacks an argument or element type.

    The rule of the error is missing-argument, no-such-attribute or dtype.
    """
    operator, version = setting.operator, setting.version
    for name, first in operator.required_since.items():
        if name not in request.arguments and (version is None or version >= first):
            message = f"{setting.dialect.name} {operator.name} requires {name}"
            raise rule_error(rules.MISSING_ARGUMENT, message, argument=name)
    if operator.params_since:
        for name in request.arguments:
            since = operator.params_since.get(name)
            if since is not None and version is not None and version < since:
                raise _no_attribute_error(operator, name, since, version)
    if request.dtype and request.dtype not in operator_types(OPS[request.op], setting.dialect, version, operator):
        this = operator.name if version is None else f"{operator.name} {version}"
        message = f"{setting.dialect.name} {this} does not accept {element_type_name(request.dtype, setting.dialect)}"
        raise rule_error(rules.DTYPE, message, argument="dtype")


def has_named_axes(op: str, options: Mapping[str, object]) -> bool:
    """Return whether a permutation contains names of dims instead of axes.

    In this case, the permutation depends on the input shape.

    >>> has_named_axes("transpose", {"perm": "N,C"}), has_named_axes("transpose", {"perm": "1,0"})
    (True, False)
    """
    params = OPS[op].params if op in OPS else ()
    return any(
        (param.type is ParamType.PERM and _contains_name(options.get(param.name)))
        or (param.type is ParamType.PATTERN and _is_layout_pattern(options.get(param.name)))
        for param in params
    )


def _is_layout_pattern(value: object) -> bool:
    return isinstance(value, str) and values.expand_layout_pattern(value, values.layout_rank(value)) != value


def _contains_name(value: object) -> bool:
    words = [value] if isinstance(value, str) else value if isinstance(value, (list, tuple)) else []
    return any(char.isalpha() or char in "_?" for word in words for char in str(word))


def make_request(
    op: str, shape: str | Iterable[object], options: Options, common_names: Iterable[str] | None = None
) -> Request:
    """Parse a request from the name of an op, an input shape and options.

    `common_names` are the names of the options that are not arguments of the op. By default, these are all options that
    are not parameters of the op. Raises `ShapeError` (usage) for an invalid value, and for an option that the op or the
    dialect lacks.

    >>> make_request("reshape", "2,3,4", {"target": "0,-1"}).arguments
    {'target': (0, -1)}
    """
    spec = OPS.loaded.get(op) or lookup(op, OPS, "operation")
    names = tuple(_find_unknown_names(spec, options) if common_names is None else common_names)
    dims, typed = _parse_input(shape)
    if typed is not None and typed.dtype:
        options, names = _add_input_dtype(spec, typed.dtype, options), tuple(dict.fromkeys([*names, "dtype"]))
    common_values = [*map(options.__getitem__, names)]
    key = (op, names, *common_values, *map(type, common_values))
    parsed = _get_cached_options(key, spec)
    if parsed is None:
        row, operator = select_operator(spec, options.get("dialect"))
        params = (*spec.params, *operator.params)
    else:
        row, operator, params = parsed.dialect, parsed.operator, parsed.params
    arguments, texts = _parse_arguments(spec, row, params, options, dims)
    if operator.params_since or operator.variant_of is not None:
        _check_operator_arguments(arguments, operator, row)
    if parsed is None:
        others = [name for name in names if options[name] is not None and name not in arguments]
        parsed = _parse_options({name: options[name] for name in others}, spec, row, operator)
        _cache_options(key, parsed)
    if isinstance(shape, str):
        texts = {"input": shape, **texts}
    request = Request(op, dims, arguments, row.name, parsed.opset, parsed.dtype, parsed.switch, texts)
    if typed is not None or (texts and not _are_plain_texts(texts)):
        request = _add_input_notes(request, params, typed)
    if options.get("where") is not None:
        request = _substitute_known_sizes(request, values.parse_sizes(options["where"]))
    if request.is_symbolic and len(request.names) > MAX_NAMES:
        raise MAX_NAMES.error(f"{len(request.names)} names of sizes")
    return request


def _add_input_dtype(op: Op, word: str, options: Options) -> Options:
    """Add the element type in the input text to the options.

    Raises `ShapeError` (usage) if the options contain a different element type.
    """
    dialect, _ = select_operator(op, options.get("dialect"))
    dtype, stated = parse_printed_element_type(word, dialect), options.get("dtype")
    if stated is not None and parse_element_type(str(stated), dialect) != dtype:
        shown = escape_unprintable(truncate(str(stated)))
        message = f"the input is {word}, and --dtype is {shown}"
        raise usage_error(message, "leave one of them out", argument="dtype")
    return {**options, "dtype": dtype}


def parse_printed_element_type(word: str, dialect: Dialect) -> str:
    """Parse an element type that a tool prints next to a shape.

    Raises `ShapeError` (usage) if the dialect lacks this type.

    >>> parse_printed_element_type("float", DIALECTS["onnx"]), parse_printed_element_type("Float", DIALECTS["numpy"])
    ('float32', 'float32')
    """
    name = word.rpartition(".")[2]
    dtype = parse_element_type(name, dialect)
    if dtype is None:
        from shapecalc.core.spellings import canonical_type  # imported here because few inputs have an element type

        dtype = parse_element_type(canonical_type(name), dialect)
    if dtype is None:
        raise usage_error(f"there is no element type '{escape_unprintable(truncate(word))}'", argument="dtype")
    return dtype


def _parse_input(shape: str | Iterable[object]) -> tuple[Shape, TypedShape | None]:
    """Parse an input shape, with its element type, strides and notes.

    The second result is None if the text contains none of these attributes.
    """
    if not isinstance(shape, str):
        dims = values.to_shape(shape)
        if dims is shape or is_concrete(dims) or not (notes := values.unknown_size_notes(shape)):
            return dims, None
        return dims, TypedShape(dims, notes=notes)
    plain = parse_plain_shape(shape)
    if plain is not None:
        return plain, None
    typed = parse_typed_shape(shape)
    return typed.dims, typed


def _add_input_notes(request: Request, params: Iterable[Param], typed: TypedShape | None) -> Request:
    """Add the strides and the notes of the input text to a request.

    Raises `ShapeError` (usage) if the option `strides` contradicts the text.
    """
    notes, arguments = _collect_argument_notes(params, request.argument_texts), dict(request.arguments)
    if typed is not None:
        notes = (*typed.notes, *notes)
    if typed is not None and typed.strides is not None:
        if "strides" not in OPS[request.op].param_names:
            notes += (f"the strides {shape_text(typed.strides)} were not used",)
        elif arguments.setdefault("strides", typed.strides) != typed.strides:
            message = f"the input has the strides {shape_text(typed.strides)}, and --strides has others"
            raise usage_error(message, "leave one of them out", argument="strides")
    return replace(request, arguments=arguments, notes=notes)


def _are_plain_texts(texts: Mapping[str, str]) -> bool:
    """Return whether all texts contain only characters that require no notes."""
    return all(map(PLAIN_CHARACTERS.issuperset, texts.values()))


def _collect_argument_notes(params: Iterable[Param], texts: Mapping[str, str]) -> tuple[str, ...]:
    """Return the notes on the shapes and patterns in the arguments."""
    notes: tuple[str, ...] = ()
    for param in params:
        text = texts.get(param.name)
        if text is None or PLAIN_CHARACTERS.issuperset(text):
            continue
        if param.type in (ParamType.PATTERN, ParamType.PERM) and _is_layout_pattern(text):
            notes += (f"{text} is read as '{values.expand_layout_pattern(text, values.layout_rank(text))}'",)
        if param.type.name not in SHAPE_TYPES:
            continue
        pieces = split_outside_brackets(text) if param.type is ParamType.SHAPES else [text]
        for piece in pieces:
            if piece == CHAIN_TENSOR:
                continue
            notes += argument_notes(piece, param.name, is_tensor=param.type is not ParamType.TARGET)
    return notes


def _parse_arguments(
    op: Op, dialect: Dialect, params: tuple[Param, ...], options: Options, input_shape: Shape
) -> tuple[dict[str, Any], Mapping[str, str]]:
    """Parse the arguments of an op.

    Returns the arguments, and the texts of the string arguments. Raises `ShapeError` (usage) if an argument is missing,
    invalid or not in the dialect.
    """
    arguments: dict[str, Any] = {}
    texts: Mapping[str, str] = EMPTY_DICT
    for param in params:
        name = param.name
        value = options.get(name)
        if value is not None and not param.is_omitted(value):
            if param.supported_by is not None and not param.supported_by(dialect):
                if not any(other.name == param.counterpart and other.is_supported_by(dialect) for other in op.params):
                    having = ", ".join(other.name for other in supporting_dialects(op) if param.supported_by(other))
                    hint = f"it is in {having}: write -d {having.partition(',')[0]}"
                    raise usage_error(f"{dialect.name} has no {name} here", hint, argument=name)
                options = {param.counterpart: value, **options}
                continue
            arguments[name] = param.parse_value(value, input_shape)
            if param.applies_to:
                param.check_applies(arguments)
            if isinstance(value, str):
                texts = {**texts, name: value}
        elif param.required:
            raise usage_error(f"{op.name} needs the argument {name}", f"as in {op.examples[0]}", argument=name)
    return arguments, texts


def _find_unknown_names(op: Op, names: Iterable[str]) -> list[str]:
    """Return the names that are neither `where` nor parameters of the op."""
    own = op.param_names
    return [name for name in names if name not in own and name != "where"]


def _get_cached_options(key: tuple[object, ...], op: Op) -> ParsedOptions | None:
    """Return the cached options for a key, or None.

    A key that cannot be hashed has no entry.
    """
    try:
        parsed = _options_cache.get(key)
    except TypeError:
        return None
    return parsed if parsed is not None and parsed.op is op else None


def _cache_options(key: tuple[object, ...], parsed: ParsedOptions) -> None:
    if len(_options_cache) >= MAX_CACHED_OPTIONS:
        _options_cache.clear()
    try:
        _options_cache[key] = parsed
    except TypeError:  # a value in the key is unhashable
        return


def _parse_options(options: Options, op: Op, dialect: Dialect, operator: Operator) -> ParsedOptions:
    """Parse the options that are not arguments of the op.

    Raises `ShapeError` (usage) if an option is invalid.
    """
    _check_option_names(options, op, dialect)
    opset, dtype = parse_opset_option(options, dialect), _parse_dtype_option(options, dialect)
    switch = _parse_switch_option(options, dialect, op)
    return ParsedOptions(op, dialect, operator, (*op.params, *operator.params), opset, dtype, switch)


def _check_operator_arguments(arguments: Mapping[str, object], operator: Operator, dialect: Dialect) -> None:
    """Raise `ShapeError` (usage) for an argument that all operator versions lack."""
    variant = operator if operator.variant_of is None else operator.variant_of(arguments)
    for name in arguments:
        if variant.params_since.get(name, 1) is None:
            raise usage_error(f"{dialect.name} {variant.name} has no {name}", argument=name)


def select_operator(op: Op, dialect_name: object) -> tuple[Dialect, Operator]:
    """Return a dialect and its operator for an op.

    If `dialect_name` is None, the default dialect of the op is selected. Raises `ShapeError` (usage) if the dialect
    does not exist or lacks the op.
    """
    dialect = op.default_dialect if dialect_name is None else str(dialect_name)
    row = DIALECTS.loaded.get(dialect) or lookup_dialect(dialect)
    operator = operator_of(op, row)
    if operator is None:
        having = ", ".join(other.name for other in supporting_dialects(op))
        problem = Problem(USAGE, f"{row.name} has no {op.name}", f"it is in {having}", "dialect")
        raise MissingOpError(op.name, row.name, problem)
    return row, operator


def lookup_dialect(name: str) -> Dialect:
    """Return the dialect with this name or alias, ignoring case.

    Raises `ShapeError` (usage) for an unknown name.
    """
    return find_dialect(name) or lookup(name.lower(), DIALECTS, "dialect")


def default_dialect(op: str) -> str:
    """Return the name of the default dialect of an op.

    The default dialect of chains and of unknown ops is `onnx`.
    """
    return OPS[op].default_dialect if op in OPS else "onnx"


def _check_option_names(option_names: Iterable[str], op: Op, dialect: Dialect) -> None:
    """Raise `ShapeError` (usage) for an option that the op lacks in this dialect."""
    for name in option_names:
        if name in SHARED_OPTIONS or name in zero_meaning_by_switch():
            continue
        params = [param.name for param in all_params(op)]
        if name in params:
            raise usage_error(f"{dialect.name} has no {name} here", argument=name)
        shown = escape_unprintable(truncate(str(name)))
        hint = suggest_name(shown, [*params, *common_option_names()])
        raise usage_error(f"{op.name} has no {shown}", hint, argument=str(name))


def operand_texts(request: Request) -> list[str]:
    """Return the text of each operand except the input.

    Operands that were passed as a string are returned as the user wrote them.
    """
    written = request.argument_texts.get("operands")
    if written:
        return split_outside_brackets(written)
    operands = request.arguments.get("operands", ())
    return [operand if isinstance(operand, str) else shape_text(operand) for operand in operands]


def substitute_sizes(request: Request, sizes: Mapping[str, int]) -> Request:
    """Substitute sizes for names in a request.

    Raises `ShapeError` if a dim becomes invalid.
    """
    arguments = {name: _substitute_in_argument(value, sizes, name) for name, value in request.arguments.items()}
    dims = _substitute_in_shape(request.input, sizes, "input")
    options = (request.dialect, request.opset, request.dtype, request.switch)
    return Request(request.op, dims, arguments, *options, notes=request.notes)


def _substitute_in_argument(value: Any, sizes: Mapping[str, int], name: str) -> Any:
    """Substitute sizes in an argument that is a shape or a tuple of operands."""
    if not isinstance(value, tuple):
        return value
    if collect_shapes(value) == (value,):
        return _substitute_in_shape(value, sizes, name)
    return tuple([_substitute_in_argument(operand, sizes, name) for operand in value])


def _substitute_known_sizes(request: Request, sizes: Mapping[str, int]) -> Request:
    """Substitute sizes for names in a request.

    Raises `ShapeError` (usage) for an unknown name.
    """
    check_size_names(sizes, request.names)
    return substitute_sizes(request, sizes)


def check_size_names(sizes: Mapping[str, int], existing_names: Iterable[str]) -> None:
    """Raise `ShapeError` (usage) if a size has a name that is not in the request."""
    existing_names = list(existing_names)
    for name in sizes:
        if name not in existing_names:
            existing = ", ".join(escape_unprintable(other) for other in existing_names) or "none"
            raise usage_error(f"no dim is called {name}", f"the names are {existing}", argument="where")


def _substitute_in_shape(dims: Shape, sizes: Mapping[str, int], argument: str) -> Shape:
    try:
        substituted = tuple(substitute(dim, sizes) for dim in dims)
    except ZeroDivisionError as error:
        raise usage_error(f"a dim would divide by 0: {error}", argument="where") from None
    for before, after in zip(dims, substituted, strict=True):
        if isinstance(after, Monomial) and not after.powers:
            message = f"{before} would be {after}, which is not a whole number"
            raise rule_error(rules.INDIVISIBLE, message, argument=argument)
        if isinstance(after, int) and after >= SIZE_BOUND:
            raise usage_error(f"{truncate(str(before))} would have more digits than any size", argument=argument)
    return substituted


def parse_opset_option(options: Mapping[str, object], dialect: Dialect) -> int | None:
    """Parse the option `opset`, or return None if it is omitted.

    Raises `ShapeError` (usage) if the dialect lacks this opset.
    """
    if "opset" not in options:
        return None
    if dialect.newest_opset is None:
        raise usage_error(f"{dialect.name} has no opsets", argument="opset")
    opset = values.parse_integer(options["opset"], "opset")
    if not 1 <= opset <= dialect.newest_opset:
        raise usage_error(
            f"{dialect.name} knows the opsets 1 to {dialect.newest_opset}, not {truncate(str(opset))}", argument="opset"
        )
    return opset


def _parse_dtype_option(options: Mapping[str, object], dialect: Dialect) -> str | None:
    if "dtype" not in options:
        return None
    value = options["dtype"]
    text = values.describe_value(value) if isinstance(value, list | dict) else str(value)
    dtype = parse_element_type(text, dialect)
    if dtype is None:
        raise usage_error(f"{dialect.name} knows no element type '{escape_unprintable(text[:40])}'", argument="dtype")
    return dtype


def switch_name(op: Op, dialect: Dialect) -> str | None:
    """Return the name of the switch of an op in a dialect, or None."""
    return dialect.switch.name if dialect.switch is not None and op.uses_switch else None


def _parse_switch_option(options: Mapping[str, object], dialect: Dialect, op: Op) -> bool | None:
    """Parse the option of the dialect's switch, or return None if it is omitted.

    Raises `ShapeError` (usage) if the option is the switch of another dialect.
    """
    own = switch_name(op, dialect)
    others = options.keys() - {*SHARED_OPTIONS, own}
    if others:
        name = next(name for name in zero_meaning_by_switch() if name in others)
        hint = f"its switch is {own}" if own else ""
        operator = operator_of(op, dialect)
        raise usage_error(f"{dialect.name} {operator.name if operator else op.name} has no {name}", hint, argument=name)
    return parse_flag(options[own], own) if own is not None and own in options else None


def apply_defaults(op: str, defaults: Options, options: Options) -> Options:
    """Add the defaults that an op supports to its options.

    >>> apply_defaults("reshape", {"dialect": "numpy", "opset": 13}, {"target": "6"})
    {'dialect': 'numpy', 'target': '6'}
    """
    if not defaults:
        return options
    unsupported = _find_unsupported_options(op, options.get("dialect") or defaults.get("dialect"))
    return {**{name: value for name, value in defaults.items() if name not in unsupported}, **options}


def _find_unsupported_options(op: str, dialect: object) -> set[str]:
    """Return the common options that the op lacks in the dialect."""
    row = find_dialect(str(dialect or default_dialect(op)))
    unsupported = {*zero_meaning_by_switch()} - {switch_name(OPS[op], row) if row and op in OPS else None}
    if row is None or row.newest_opset is None:
        unsupported.add("opset")
    return unsupported


def apply_chain_options(
    stages: Sequence[StageRequest], chain_options: Options, defaults: Options = EMPTY_DICT
) -> list[StageRequest]:
    """Add common options and defaults to the stages of a chain.

    Each stage receives only the options that it supports. Raises `ShapeError` (usage) if no stage supports an option in
    `chain_options`.

    >>> apply_chain_options([("transpose", {}), ("reshape", {"target": "6"})], {"allowzero": True})
    [('transpose', {}), ('reshape', {'allowzero': True, 'target': '6'})]
    """
    chain_options = {name: value for name, value in chain_options.items() if value is not None}
    completed = [(op, apply_defaults(op, {**defaults, **chain_options}, options)) for op, options in stages]
    for name in chain_options:
        if completed and not any(name in options for _, options in completed):
            op, options = completed[-1]
            row, operator = select_operator(OPS[op], options.get("dialect"))
            raise usage_error(f"{row.name} {operator.name} has no {name}", argument=name)
    return completed


def parse_default(name: str, value: object, source: str) -> Default:
    """Parse the value of a default.

    If the value is invalid, raises `ShapeError` (usage) with `source` in the message.

    >>> str(parse_default("dialect", "pt", "SHAPECALC_DIALECT"))
    'dialect torch, set in SHAPECALC_DIALECT'
    """
    try:
        return Default(
            name, lookup_dialect(str(value)).name if name == "dialect" else _parse_default_opset(value), source
        )
    except ShapeError as error:
        raise usage_error(f"{source}: {error.problem.message}", error.problem.hint, argument=name) from None


def _parse_default_opset(value: object) -> int:
    opset, newest = values.parse_integer(value, "opset"), max(row.newest_opset or 0 for row in DIALECTS.values())
    if not 1 <= opset <= newest:
        raise usage_error(f"opsets run from 1 to {newest}, and this is {truncate(str(opset))}")
    return opset


def parse_config_table(text: bytes, source: str, table_name: str = PROJECT_TABLE) -> Mapping[str, Any]:
    r"""Parse the shapecalc options in a TOML file.

    The options are in the table `table_name`, or at the top level if `table_name` is empty. If the table is invalid,
    raises `ShapeError` (usage) with the file name `source` in the message.

    >>> parse_config_table(b"[tool.shapecalc]\ndialect = 'torch'", "pyproject.toml")
    {'dialect': 'torch'}
    """
    from tomllib import loads  # imported here because few users have such a file

    try:
        table: Any = loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise usage_error(f"{source}: it is not TOML: {' '.join(str(error).split())}") from None
    for part in table_name.split(".") if table_name else ():
        table = table.get(part, {}) if isinstance(table, dict) else {}
    if not isinstance(table, dict):
        raise usage_error(f"{source}: {table_name} is not a table")
    for name in table:
        check_config_key(name, source, table_name)
    return table


def check_config_key(name: str, source: str, table_name: str = "") -> None:
    """Raise `ShapeError` (usage) if a configuration file contains an unknown key."""
    names = PROJECT_KEYS if table_name else USER_KEYS
    if name not in names:
        owner = table_name or "the configuration"
        raise usage_error(
            f"{source}: {owner} has no {escape_unprintable(truncate(name))}",
            suggest_name(name, names),
        )


def iter_effective_defaults(
    stages: Iterable[StageRequest], chain_options: Options, defaults: Iterable[Default]
) -> Iterator[Default]:
    """Yield the defaults that change the rules of at least one stage.

    `chain_options` apply to all stages.

    >>> set_before = [parse_default("dialect", "onnx", "x"), parse_default("opset", "13", "x")]
    >>> stages = [("reshape", {}), ("shape", {"opset": "9"})]
    >>> [default.name for default in iter_effective_defaults(stages, {}, set_before)]
    ['opset']
    """
    defaults = list(defaults)
    common = {default.name: default.value for default in defaults} | {**chain_options}
    stages = list(stages)
    for default in defaults:
        if default.name not in chain_options and any(
            _has_effect(default, op, options, common) for op, options in stages
        ):
            yield default


def _has_effect(default: Default, op: str, options: Options, all_options: Options) -> bool:
    """Return whether a default changes the rules of a stage."""
    unset = default_dialect(op) if default.name == "dialect" else DEFAULT_OPSET
    is_used = default.name not in options and default.name in apply_defaults(op, all_options, options)
    return is_used and default.value != unset

"""Parameters of ops and their types.

A `ParamType` is the only definition of a parameter type. All front ends use its parser, and help texts, JSON schemas
and completions use its description.
"""

from __future__ import annotations

from shapecalc.core import values
from shapecalc.core.answers import CHAIN_TENSOR, EMPTY_DICT
from shapecalc.core.dims import Shape, dim_names, is_concrete, named_dim, substitute_dims
from shapecalc.core.problem import usage_error
from shapecalc.core.record import FrozenDict, TableRow
from shapecalc.core.text import (
    escape_unprintable,
    parse_axes,
    parse_dims,
    parse_shape,
    parse_target,
    shape_text,
    split_outside_brackets,
    tokenize_shape,
    truncate,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, ClassVar, TypeAlias

ValueParser: TypeAlias = "Callable[[Any, Param, Shape], Any]"
"""A function that parses a value, or raises `ShapeError` (usage). Its arguments are the value, the parameter and the
input
shape.
"""
JsonSchema: TypeAlias = "Mapping[str, Any]"


class ParamType(TableRow):
    """The type of a parameter: a parser and a description for front ends."""

    name: str
    parse: ValueParser
    schema: JsonSchema
    """The JSON schema of a value."""
    metavar: str = ""
    """The placeholder for a value in help texts, or an empty string if the help lists the accepted words."""
    words: tuple[str, ...] = ()
    """The words that all parameters of this type accept."""
    is_flag: bool = False
    """Whether an option of this type is a switch without a value."""
    accepts_only_words: bool = False
    """Whether only the words of a parameter are valid values."""

    def __hash__(self) -> int:
        return hash(self.name)  # a schema contains unhashable lists

    TARGET: ClassVar[ParamType]
    AXES: ClassVar[ParamType]
    PERM: ClassVar[ParamType]
    SLICES: ClassVar[ParamType]
    PATTERN: ClassVar[ParamType]
    LENGTHS: ClassVar[ParamType]
    SUBSCRIPTS: ClassVar[ParamType]
    SHAPE: ClassVar[ParamType]
    SHAPES: ClassVar[ParamType]
    SIZES: ClassVar[ParamType]
    SCALES: ClassVar[ParamType]
    INT: ClassVar[ParamType]
    NUMBER: ClassVar[ParamType]
    CHOICE: ClassVar[ParamType]
    FLAG: ClassVar[ParamType]


class Param(TableRow):
    """A parameter of an op.

    All front ends use the same name.
    """

    name: str
    type: ParamType
    help: str
    positional: bool = False
    positional_or_named: bool = False
    """Whether the parameter can also be positional, after the positional-only parameters."""
    required: bool = False
    choices: tuple[str, ...] = ()
    """The words that are valid values."""
    supported_by: Callable[[Any], bool] | None = None
    """A predicate for the dialects that have this parameter, or None if all dialects have it."""
    counterpart: str = ""
    """The parameter to use instead in dialects that lack this parameter."""
    list_option: str = ""
    """The option to suggest if the user passes a list instead of an integer."""
    spellings: Mapping[str, str] = EMPTY_DICT
    """The alternative spellings of choices in frameworks, in lower case. Each spelling maps to its choice."""
    applies_to: Mapping[str, str] = EMPTY_DICT
    """The required values of preceding parameters, keyed by name. Each of these values is the default of its parameter.
    """

    def is_supported_by(self, dialect: Any) -> bool:
        """Return whether a dialect has the parameter."""
        return self.supported_by is None or self.supported_by(dialect)

    def is_omitted(self, value: object) -> bool:
        """Return whether a value is None or an empty list of operands.

        Both represent an omitted argument.
        """
        return value is None or (self.type is ParamType.SHAPES and isinstance(value, (str, list, tuple)) and not value)

    def parse_value(self, value: object, input_shape: Shape) -> Any:
        """Parse a value.

        Raises `ShapeError` (usage) if the value is invalid.
        """
        if self.list_option and isinstance(value, str) and "," in value:
            message = f"{self.name} is one whole number, not '{escape_unprintable(truncate(value))}'"
            raise usage_error(message, f"write AXIS --{self.list_option} {truncate(value)}", argument=self.name)
        return self.type.parse(value, self, input_shape)

    def check_applies(self, arguments: Mapping[str, object]) -> None:
        """Raise `ShapeError` (usage) if the preceding arguments exclude the parameter."""
        for name, choice in self.applies_to.items():
            if arguments.get(name, choice) != choice:
                message = f"{self.name} is for the {name} {choice}, and this is {arguments[name]}"
                raise usage_error(message, argument=self.name)

    @property
    def metavar(self) -> str:
        """The placeholder for a value in help texts."""
        return self.type.metavar or "|".join(self.choices)

    @property
    def completions(self) -> tuple[str, ...]:
        """The completion candidates for a value."""
        return self.choices or self.type.words

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of a value, with the description."""
        words = {"enum": [*self.choices, *self.spellings]} if self.type.accepts_only_words else {}
        return {**self.type.schema, "description": self.help, **words}


def find_axes_by_dims(dims: Shape, shape: Shape, value: object, argument: str) -> tuple[int, ...]:
    """Return the axes of `shape` with these dims.

    For example, the dims N,H,W,C are the axes 0,2,3,1 of the shape N,C,H,W. `value` is the unparsed argument, which
    determines the span in an error. Raises `ShapeError` (usage) for a dim that does not match exactly one axis.

    >>> from shapecalc.core.text import parse_dims
    >>> find_axes_by_dims(parse_dims("N,H,W,3"), parse_dims("N,3,H,W"), None, "perm")
    (0, 2, 3, 1)
    """
    axes = []
    for index, dim in enumerate(dims):
        matches = [axis for axis, size in enumerate(shape) if size == dim]
        if len(matches) != 1:
            span = tokenize_shape(value, argument)[index].span if isinstance(value, str) else None
            count = f"{len(matches)} dims" if matches else "no dim"
            message = f"{count} of {truncate(shape_text(shape))} {'are' if matches else 'is'} {truncate(str(dim))}"
            hint = "name the axes by their numbers"
            raise usage_error(message, hint, argument=argument, index=index, span=span)
        axes += matches
    return tuple(axes)


def _parse_axes(value: object, param: Param, shape: Shape) -> Shape:
    """Parse axes.

    The axes of a permutation can also be the names of dims, as in `c,h,w`.
    """
    name = param.name
    if param.type is ParamType.PERM and isinstance(value, str) and values.ARROW in value:
        left, _, right = values.expand_layout_pattern(value, len(shape)).partition(f" {values.ARROW} ")
        return tuple([left.split().index(letter) for letter in right.split()]) if right else parse_axes(value, name)
    dims = _parse_dims(value, name)
    if is_concrete(dims):
        return dims
    if param.type is ParamType.PERM:
        return find_axes_by_dims(dims, shape, value, name)
    if isinstance(value, str):
        return parse_axes(value, name)
    raise usage_error(f"an axis is a whole number, not {shape_text(dims)}", argument=name)


def _parse_dims(value: object, name: str) -> Shape:
    if isinstance(value, str):
        return parse_dims(value, name)
    return values.to_dims(
        value if isinstance(value, (tuple, list)) or not values.is_integer_value(value) else (value,), name
    )


def _parse_target(value: object, param: Param, _input_shape: Shape) -> Shape:
    return parse_target(value, param.name) if isinstance(value, str) else _parse_dims(value, param.name)


def _parse_pattern(value: object, param: Param, input_shape: Shape) -> str:
    """Parse an axis pattern.

    Blanks are inserted between the letters of a pattern such as `NCHW->NHWC`.
    """
    pattern = values.expand_layout_pattern(value, len(input_shape)) if isinstance(value, str) else value
    values.parse_axis_pattern(pattern, param.name)
    return str(pattern)


def _make_validating_parser(parse: Callable[[object, str], object]) -> ValueParser:
    """Return a parser that validates a text and returns it unchanged."""

    def parse_text(value: object, param: Param, _input_shape: Shape) -> str:
        parse(value, param.name)
        return str(value)

    return parse_text


def _parse_choice(value: object, param: Param, _input_shape: Shape) -> str:
    """Parse a choice or its alternative spelling, ignoring case.

    Raises `ShapeError` (usage) for any other word.
    """
    text = str(value).strip()
    for word in param.choices:
        if text.lower() == word.lower():
            return word
    if text.lower() in param.spellings:
        return param.spellings[text.lower()]
    words = " or ".join(param.choices)
    raise usage_error(f"{param.name} is {words}, not '{escape_unprintable(truncate(text))}'", argument=param.name)


def parse_flag(value: object, name: str) -> bool:
    """Parse a flag from 0, 1, a bool or a string of one of these values.

    Raises `ShapeError` (usage) for any other value.
    """
    if value in ("0", "1", "False", "True"):
        return value in ("1", "True")
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    raise usage_error(f"{name} is 0 or 1, not {values.describe_value(value)}", argument=name)


def _parse_operand(value: object, param: Param, _input_shape: Shape, suffix: object = "") -> Shape:
    """Parse the shape of an operand other than the input.

    The name of an unknown dim `?` contains the name of the parameter and `suffix`, so that it differs from names in
    other operands.
    """
    dims = parse_shape(value, param.name) if isinstance(value, str) else values.to_shape(value, param.name)
    unknown = {name: named_dim(f"{name}{param.name}{suffix}") for name in dim_names(dims) if name[0] == "?"}
    return tuple([substitute_dims(dim, unknown) for dim in dims]) if unknown else dims


def _parse_operands(value: object, param: Param, _input_shape: Shape) -> tuple[Shape | str, ...]:
    """Parse the shapes of operands from a string or a list.

    The item `_`, the placeholder for the output of the previous op in a chain, is returned unchanged.
    """
    items = split_outside_brackets(value) if isinstance(value, str) else value
    if not isinstance(items, (list, tuple)):
        raise usage_error(f"{param.name} is a list of shapes, not {values.describe_value(value)}", argument=param.name)
    pairs = enumerate(items)
    return tuple(
        [
            CHAIN_TENSOR if isinstance(item, str) and item == CHAIN_TENSOR else _parse_operand(item, param, (), i)
            for i, item in pairs
        ]
    )


def _parse_integers_or_choice(value: object, param: Param, _input_shape: Shape) -> Shape | str:
    """Parse integers or one of the choices of the parameter."""
    if param.choices and isinstance(value, str) and any(char.isalpha() for char in value):
        return _parse_choice(value, param, ())
    dims = _parse_dims(value, param.name)
    if not is_concrete(dims):
        raise usage_error(f"{param.name} has whole numbers, not {shape_text(dims)}", argument=param.name)
    return dims


TEXT_SCHEMA: JsonSchema = FrozenDict(type="string")
ITEMS_SCHEMA: JsonSchema = FrozenDict(type=["integer", "string"])
LIST_SCHEMA: JsonSchema = FrozenDict(anyOf=[TEXT_SCHEMA, FrozenDict(type="array", items=ITEMS_SCHEMA)])
"""The JSON schema for a list of integers and names, or a string."""

ParamType.TARGET = ParamType("a requested shape", _parse_target, LIST_SCHEMA, "SHAPE")
ParamType.AXES = ParamType("a list of axes", _parse_axes, LIST_SCHEMA, "AXES")
ParamType.PERM = ParamType("a permutation of axes, which may be named by their dims", _parse_axes, LIST_SCHEMA, "AXES")
ParamType.SLICES = ParamType(
    "slices of axes", lambda value, param, _: values.normalize_slices(value, param.name), TEXT_SCHEMA, "SLICES"
)
ParamType.PATTERN = ParamType("a pattern of axes", _parse_pattern, TEXT_SCHEMA, "PATTERN")
ParamType.LENGTHS = ParamType(
    "lengths of axes by name", _make_validating_parser(values.parse_lengths), TEXT_SCHEMA, "LENGTHS"
)
ParamType.SUBSCRIPTS = ParamType(
    "labels of the axes of operands", _make_validating_parser(values.parse_subscripts), TEXT_SCHEMA, "PATTERN"
)
ParamType.SHAPE = ParamType("a shape", _parse_operand, LIST_SCHEMA, "SHAPE")
ParamType.SHAPES = ParamType(
    "the shapes of other operands", _parse_operands, FrozenDict(type="array", items=LIST_SCHEMA), "SHAPES"
)
ParamType.SIZES = ParamType(
    "a whole number, or one for each axis, or a word", _parse_integers_or_choice, LIST_SCHEMA, "SIZES"
)
ParamType.SCALES = ParamType(
    "a factor, or one for each axis",
    lambda value, param, _: values.normalize_scales(value, param.name),
    TEXT_SCHEMA,
    "SCALES",
)
ParamType.INT = ParamType(
    "a whole number", lambda value, param, _: values.parse_integer(value, param.name), FrozenDict(type="integer"), "I"
)
ParamType.NUMBER = ParamType(
    "a number", lambda value, param, _: values.parse_number(value, param.name), FrozenDict(type="number"), "V"
)
ParamType.CHOICE = ParamType("one of a few words", _parse_choice, TEXT_SCHEMA, accepts_only_words=True)
ParamType.FLAG = ParamType(
    "yes or no",
    lambda value, param, _: parse_flag(value, param.name),
    FrozenDict(type="boolean"),
    words=("0", "1"),
    is_flag=True,
)

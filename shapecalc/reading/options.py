"""Define the options of commands and ops, and parse command lines."""

from __future__ import annotations

from shapecalc.core.dialects import DIALECTS, find_dialect
from shapecalc.core.dialects.base import ALL_TYPES
from shapecalc.core.ops import all_params, supporting_dialects
from shapecalc.core.ops.op import Op
from shapecalc.core.params import parse_flag
from shapecalc.core.problem import USAGE, Problem, ShapeError, usage_error
from shapecalc.core.record import Choice, Record
from shapecalc.core.requests import (
    DEFAULT_OPSET,
    switch_name,
    zero_meaning_by_switch,
)
from shapecalc.core.text import (
    escape_unprintable,
    suggest_name,
    truncate,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from shapecalc.core.params import Param

    SpelledOption = tuple["Option", int | None]
    """An option and the value that its spelling implies, such as False for `--no-allowzero`.

    The value is None for an option that takes a value.
    """


class OptionKind(Choice):
    """The kind of value that an option accepts."""

    FLAG = "nothing: it is there or not"
    FLAG_OR_ALL = "nothing, or =all, which asks for everything"
    SWITCH = "nothing: it is on, or off as --no-..."
    TEXT = "a text"
    TEXTS = "a text each time that it is written"
    NUMBER = "a whole number"


VALUE_KINDS = (OptionKind.TEXT, OptionKind.TEXTS, OptionKind.NUMBER)
ALL_SUFFIX = "=all"
"""The suffix of an option that selects everything: `--explain=all`."""
MAX_DIGITS = 9
"""The maximum number of digits of an integer option."""


class Option(Record):
    """An option of a command."""

    name: str
    help: str
    kind: OptionKind = OptionKind.TEXT
    metavar: str = "NAME"
    """The placeholder of the value in the help text."""
    long: str = ""
    """The long spelling, or an empty string if it is `--` followed by the name."""
    short: str = ""
    default: Any = None
    completions: Callable[[], Iterable[str]] | None = None
    """A function that returns the values for shell completion."""
    lists_completions: bool = False
    """Whether the help lists the completions."""
    shows_default: bool = False
    """Whether the help shows the default."""
    minimum: int = 0
    maximum: int = 0
    """The largest accepted integer, if the option takes an integer."""

    @property
    def spelling(self) -> str:
        """The long spelling of the option on the command line.

        >>> Option("follow_out", "...").spelling
        '--follow-out'
        """
        return self.long or f"--{to_dashes(self.name)}"

    def spellings(self) -> dict[str, int | None]:
        """Return the value that each spelling of the option implies.

        The value is None for an option that requires a value.

        >>> Option("explain", "...", OptionKind.FLAG_OR_ALL, short="-e").spellings()
        {'--explain': 1, '-e': 1, '--explain=all': 2}
        """
        value = None if self.kind in VALUE_KINDS else 1 if self.kind is OptionKind.FLAG_OR_ALL else True
        result: dict[str, int | None] = dict.fromkeys(filter(None, (self.spelling, self.short)), value)
        if self.kind is OptionKind.FLAG_OR_ALL:
            result[f"{self.spelling}{ALL_SUFFIX}"] = 2
        if self.kind is OptionKind.SWITCH:
            result[f"--no-{self.spelling.removeprefix('--')}"] = False
        return result

    def parse_value(self, text: str) -> Any:
        """Parse the value of the option.

        Raises `ShapeError` (usage) for an invalid number or switch.

        >>> jobs = Option("jobs", "...", OptionKind.NUMBER, minimum=1, maximum=256)
        >>> jobs.parse_value("4"), Option("where", "...").parse_value(" -1,4")
        (4, '-1,4')
        """
        if self.kind is OptionKind.SWITCH:
            return parse_flag(text, self.name)
        if self.kind is not OptionKind.NUMBER:
            return strip_leading_space(text)
        word = text.strip()
        if word.isascii() and word.isdigit() and len(word) <= MAX_DIGITS and self.minimum <= int(word) <= self.maximum:
            return int(word)
        quoted = escape_unprintable(truncate(word))
        raise usage_error(f"{self.spelling} is a whole number from {self.minimum} to {self.maximum}, not '{quoted}'")


def default_values(options: Iterable[Option]) -> dict[str, Any]:
    """Return the default values of options, keyed by name.

    >>> default_values([Option("backend", "...", default="auto"), Option("json", "...", OptionKind.FLAG)])
    {'backend': 'auto', 'json': False}
    """
    empty = {OptionKind.FLAG: False, OptionKind.FLAG_OR_ALL: 0}
    return {
        option.name: empty.get(option.kind) if option.default is None else option.parse_value(option.default)
        for option in options
    }


HELP = Option("help", "Show this message and exit.", OptionKind.FLAG, short="-h")


class ExtraValueError(ShapeError):
    """The error for more values than the op has positional arguments."""


class MissingArgumentError(ShapeError):
    """The error for a missing required argument."""


AXIS_SPELLINGS = ("--axis", "--axes", "--dim", "--dims", "--perm")
"""The spellings of the axes option in several frameworks.

Each op with such an option accepts all of the spellings.
"""
SHUFFLE_SPELLINGS = {
    "--first-transpose": "--first",
    "--reshape": "--to",
    "--reshape-dims": "--to",
    "--second-transpose": "--second",
}
"""The options of a Shuffle, keyed by TensorRT attribute name."""
OPTION_ALIASES = {**SHUFFLE_SPELLINGS, "--framework": "--dialect"}
"""The option of each alternative spelling."""
SWITCH_VALUES = ("0", "1", "true", "false")
"""The lower-case words that may follow a switch as its value."""


class OptionLookup:
    """A lookup of options by spelling that creates the options lazily.

    Options are created one after another until a spelling matches. The last options require the import of every
    dialect, which takes longer than most commands.
    """

    def __init__(self, options: Iterable[Option], op: Op | None = None) -> None:
        """Create a lookup without creating the options.

        If `op` is not None, the argument names of the op in frameworks are also accepted as spellings.
        """
        self._pending, self._known, self._op = iter(options), dict[str, "SpelledOption"](), op

    def find(self, spelling: str) -> SpelledOption | None:
        """Return the option with a spelling, and the value that the spelling implies.

        Returns None for an unknown spelling.
        """
        while spelling not in self._known:
            option = next(self._pending, None)
            if option is None:
                return self._find_alias(spelling)
            self._known |= {name: (option, setting) for name, setting in option.spellings().items()}
        return self._known[spelling]

    def _find_alias(self, spelling: str) -> SpelledOption | None:
        """Return the option with an alias, and the value that the alias implies.

        An alias has underscores instead of dashes, or is another framework's name of the option. Returns None for an
        unknown alias.
        """
        spelling = f"--{to_dashes(spelling[2:])}"
        aliases = AXIS_SPELLINGS if spelling in AXIS_SPELLINGS else (OPTION_ALIASES.get(spelling, spelling),)
        if self._op is not None and not any(alias in self._known for alias in aliases):
            from shapecalc.core.ops.calls import (
                find_parameter,  # imported here, because few lines have such an option
            )

            aliases = (f"--{to_dashes(find_parameter(self._op, spelling[2:].replace('-', '_')))}",)
        return next((self._known[alias] for alias in aliases if alias in self._known), None)

    def find_dialect_option(self, spelling: str) -> tuple[SpelledOption, str] | None:
        """Return the option `--dialect` and the dialect for a spelling such as `--torch`.

        Returns None for any other spelling.
        """
        if spelling[:2] != "--" or "--dialect" not in self._known or (dialect := find_dialect(spelling[2:])) is None:
            return None
        return self._known["--dialect"], dialect.name

    def unknown_option_error(self, word: str, command_name: str) -> ShapeError:
        """Build the usage error for an unknown option."""
        self.find("")
        names = dict.fromkeys(option.spelling for option, _ in self._known.values())
        return usage_error(
            f"{command_name} has no option '{escape_unprintable(word[:40])}'",
            suggest_name(word.partition("=")[0], names),
        )


def is_value(word: str) -> bool:
    """Return whether a word is a value rather than an option.

    `-`, a shape such as `-1,4` and a pattern such as `-> n` are values.

    >>> is_value("-1,4"), is_value("-"), is_value("-> n"), is_value("--json"), is_value("-q")
    (True, True, True, False, False)
    """
    return word[:1] != "-" or word == "-" or word[1].isdigit() or word[1] in " >"


def strip_leading_space(text: str) -> str:
    """Strip the space before a negative number.

    In some shells and programs, the space prevents the number from being parsed as an option.

    >>> strip_leading_space(" -1,4"), strip_leading_space(" -> n")
    ('-1,4', ' -> n')
    """
    return text[1:] if text[:2] == " -" and text[2:3].isdigit() else text


def parse_words(
    words: Iterable[str],
    options: OptionLookup,
    command_name: str,
    *,
    allow_unknown: bool = False,
    allow_named: bool = False,
    max_values: int | None = None,
    has_input: bool = False,
) -> tuple[list[str], dict[str, Any]]:
    """Split words into positional values and options by name.

    After `--` every word is a value. A 0 or 1 after a switch is its value if `max_values` values precede it. If
    `allow_unknown` is True, an unknown option is a value; otherwise, raises `ShapeError` (usage). If `allow_named` is
    True, a word such as `axis=1` is an option, as in Python. If `has_input` is True, the first value is a shape, even
    if it is written as `shape=(2, 3)`. `command_name` is used in error messages.

    >>> from shapecalc.core.ops import OPS
    >>> parse_words(["1,3,1", "--axes", "-1", "-donnx"], op_option_lookup(OPS["squeeze"]), "squeeze")
    (['1,3,1'], {'axes': '-1', 'dialect': 'onnx'})
    """
    values: list[str] = []
    result: dict[str, Any] = {}
    waiting, before = iter(words), ""
    for word in waiting:
        is_full = max_values is not None and len(values) >= max_values
        switch = options.find(before) if is_full and word.lower() in SWITCH_VALUES else None
        before = word
        if switch is not None and switch[0].kind is OptionKind.SWITCH and switch[1]:
            result[switch[0].name] = word.lower() in ("1", "true")
        elif word == "--":
            values += waiting
        elif is_value(word):
            is_named = allow_named and "=" in word and (bool(values) or not has_input)
            if not (is_named and _parse_option(f"--{word}", waiting, options, result)):
                values.append(strip_leading_space(word))
        elif not _parse_option(word, waiting, options, result):
            if not allow_unknown:
                raise options.unknown_option_error(word, command_name)
            values.append(word)
    return values, result


def _parse_option(word: str, remaining_words: Iterator[str], options: OptionLookup, result: dict[str, Any]) -> bool:
    """Parse an option and store its value in `result`.

    The value may be taken from `remaining_words`. Returns False if the option is unknown.
    """
    spelling, equals, text = word.partition("=")
    if equals + text == ALL_SUFFIX and options.find(word):
        spelling, equals, text = word, "", ""
    elif word[:2] != "--" and len(word) > 2:  # `-ab` is two options, or the option `-a` with the value `b`
        spelling, equals, text = word[:2], "", word[2:]
    match = options.find(spelling)
    if match is None:
        named = None if equals else options.find_dialect_option(spelling)
        if named is None:
            return False
        (option, _), result["dialect"] = named
        return True
    option, setting = match
    if setting is None or (equals and setting and option.kind is OptionKind.SWITCH):
        value = text if equals or text else next(remaining_words, None)
        if value is None:
            raise usage_error(f"{spelling} needs a value")
        parsed = option.parse_value(value)
        result[option.name] = [*result.get(option.name, ()), parsed] if option.kind is OptionKind.TEXTS else parsed
        return True
    if equals:
        raise usage_error(f"{spelling} takes no value")
    result[option.name] = setting if isinstance(setting, bool) else result.get(option.name, 0) + setting
    return not text or _parse_option(f"-{text}", remaining_words, options, result)


def assign_positional(
    values: Sequence[str], names: Sequence[str], options: Mapping[str, Any], command_name: str
) -> dict[str, Any]:
    """Assign positional values to names, and merge them with the options.

    Names in `options` are skipped, unless there are too many values. Raises `ShapeError` (usage) for an extra value, or
    for a name that already has a value in `options`.
    """
    if len(values) > len(names):
        raise ExtraValueError(
            Problem(USAGE, f"{command_name} does not take '{escape_unprintable(values[len(names)][:40])}'")
        )
    unnamed = [name for name in names if name not in options]
    arguments = dict(zip(unnamed if len(values) <= len(unnamed) else names, values, strict=False))
    for name in arguments.keys() & options.keys():
        raise usage_error(f"{name} is given twice, by its place and by its name", argument=name)
    return {**options, **arguments}


def check_required(arguments: Mapping[str, Any], required: Mapping[str, str]) -> None:
    """Raise `MissingArgumentError` (usage) for the first missing required argument.

    `required` maps each argument name to the placeholder that the message prints.
    """
    for name, metavar in required.items():
        if name not in arguments:
            message = "missing argument '{}'".format(metavar.strip("'"))
            raise MissingArgumentError(Problem(USAGE, message, argument=name))


def options_by_name(*options: Option) -> dict[str, Option]:
    """Return a dict of options keyed by name, in the given order."""
    return {option.name: option for option in options}


def _opset_numbers() -> list[str]:
    """Return the ONNX opsets that the dialects support."""
    return [str(opset + 1) for opset in range(max(row.newest_opset or 0 for row in DIALECTS.values()))]


RULE_OPTIONS = options_by_name(
    Option("dialect", "Framework whose rules apply", short="-d", completions=lambda: DIALECTS, lists_completions=True),
    Option("opset", f"ONNX opset of the model; {DEFAULT_OPSET} by default.", metavar="N", completions=_opset_numbers),
    Option(
        "dtype",
        "Element type, as NumPy or the framework spells it; refused if the operator does not support it.",
        completions=lambda: sorted(ALL_TYPES),
    ),
    Option("where", "Sizes for names: N=8,C=3.", metavar="SIZES"),
)
"""The options that select the rules: the dialect, the ONNX opset, the element type and the symbolic sizes."""
SWITCH_HELP = {
    "allowzero": "ONNX, since opset 14: 0 is a dim of size zero.",
    "special_zero": "oneDNN and OpenVINO, which require it: 0 copies a dim.",
    "zero_is_placeholder": "TensorRT, on by default: 0 copies a dim.",
}
_option_lookups: dict[str, tuple[Op, OptionLookup]] = {}
"""Cached option lookups, keyed by op name."""


def switch_options(op: Op | None = None) -> list[Option]:
    """Return the options for the switches of the dialects, such as `--allowzero`.

    If `op` is not None, returns only the switches that affect this op.
    """
    all_switches = zero_meaning_by_switch()
    names = all_switches if op is None else {switch_name(op, row) for row in supporting_dialects(op)}
    options = []
    for name in sorted(all_switches.keys() & names):
        dialects = [row.name for row in DIALECTS.values() if row.switch is not None and row.switch.name == name]
        description = SWITCH_HELP.get(name) or f"{', '.join(dialects)}: 0 {all_switches[name].value}."
        options.append(Option(name, description, OptionKind.SWITCH))
    return options


def rule_options(op: Op | None = None) -> list[Option]:
    """Return the options in `RULE_OPTIONS`, and the switches."""
    return [*RULE_OPTIONS.values(), *switch_options(op)]


def op_options(op: Op) -> Iterator[Option]:
    """Yield the options of an op's command line.

    The op's own parameters come first. The options whose creation imports all dialects come last.
    """
    yield from map(option_from_param, op.params)
    yield from RULE_OPTIONS.values()
    yield from map(option_from_param, all_params(op)[len(op.params) :])
    yield from switch_options(op)


def op_option_lookup(op: Op) -> OptionLookup:
    """Return the option lookup of an op.

    Lookups are cached.
    """
    if op.name not in _option_lookups or _option_lookups[op.name][0] is not op:
        _option_lookups[op.name] = op, OptionLookup(op_options(op), op)
    return _option_lookups[op.name][1]


def option_from_param(param: Param) -> Option:
    """Convert a parameter of an op to an option.

    A flag becomes a switch.
    """
    words, description = param.completions, f"{param.help[:1].upper()}{param.help[1:]}."
    if param.type.is_flag:
        return Option(param.name, description, OptionKind.SWITCH)
    return Option(param.name, description, metavar=param.metavar, completions=(lambda: words) if words else None)


def to_dashes(name: str) -> str:
    """Replace underscores in an option or command name with dashes."""
    return name.replace("_", "-")

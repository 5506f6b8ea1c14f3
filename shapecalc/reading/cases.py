"""Parse case files: questions, expectations and defaults.

    case        = question ["=>" expectation] ["#" comment] | JSON object
    question    = op input {value | option} | input "|" stage {"|" stage}
                | "code" line {name "=" shape} ["-d" name]
    default     = "@default" {name "=" value}       applies to the lines below
    expectation = "error" [rule] | "same as" chain
                | pattern ["when" condition {"and" condition}] ["with" definition {"and" definition}]
    condition   = dim "%" dim "==" "0" | dim "==" dim | dim "!=" dim    | dim ">=" dim
                | dim "divides" dim    | dim "is" dim | dim "is not" dim | dim "is at least" dim
    definition  = name "==" expression

A line that starts with `{` is JSON, unless it is a chain such as `{2,3} | flatten`. The dim after `%` may be in
parentheses. Every answer that shapecalc prints, as code or in words, is a valid expectation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from json import JSONDecodeError, JSONDecoder
from json.scanner import make_scanner

from shapecalc.core.answers import EMPTY_DICT, Request
from shapecalc.core.conditions import (
    RELATION_FUNCTIONS,
    Conditions,
    Unsatisfiable,
    require_at_least,
    require_different,
    require_divisible,
    require_equal,
    simplify_conditions,
)
from shapecalc.core.dims import Dim
from shapecalc.core.limits import MAX_WHEN_CONDITIONS
from shapecalc.core.ops import OPS, all_params, refusal_rules
from shapecalc.core.problem import ShapeError, usage_error
from shapecalc.core.record import FrozenDict, Record, replace
from shapecalc.core.requests import (
    SHARED_OPTIONS,
    apply_defaults,
    common_option_names,
    lookup_dialect,
    make_request,
)
from shapecalc.core.text import (
    escape_unprintable,
    lookup,
    parse_dims,
    parse_shape,
    reject_unbracketed_names,
    split_outside_brackets,
    suggest_name,
    truncate,
)
from shapecalc.core.values import describe_value, parse_integer
from shapecalc.reading.commands import StageRequests, parse_chain, parse_chain_request, parse_stage, resolve_aliases
from shapecalc.reading.options import RULE_OPTIONS, Option, OptionLookup, options_by_name, parse_words, rule_options
from shapecalc.reading.pattern import ShapePattern, names_with_sizes, parse_pattern, pattern_from_sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ERROR_KEYWORD = "error"
"""The keyword that introduces an expected error."""
SAME_AS_KEYWORD = "same as"
"""The keyword before a chain that must give the same output as the question."""


class Expectation(Record):
    """The expected answer of a case: an output shape, a refusal or an equivalent chain."""

    output: ShapePattern | None
    """The pattern of the output shape, or None for a refusal or a chain."""
    conditions: frozenset[str] | None = None
    """The expected conditions in the form that shapecalc prints, or None if they are not checked."""
    rule: str | None = None
    """The rule that must refuse the request, or None if any rule may refuse it."""
    same_as: str | None = None
    """The chain that must be equivalent to the request, or None for a shape or a refusal."""
    options: Mapping[str, object] = EMPTY_DICT
    """The default options for the stages of `same_as`."""
    results: Mapping[str, str] = EMPTY_DICT
    """The expected definition of each named dim, such as `(H - 1)//2 + 1` for `H1`. Other names are not checked."""
    fixed_names: frozenset[str] = frozenset()
    """The names to which the case assigns sizes. In a pattern, they match only themselves."""

    def __str__(self) -> str:
        if self.same_as is not None:
            return f"{SAME_AS_KEYWORD} {self.same_as}"
        if self.output is None:
            return f"{ERROR_KEYWORD} {self.rule}" if self.rule else ERROR_KEYWORD
        return format_expectation(str(self.output), sorted(self.conditions or ()), self.results)


def parse_expectation(
    text: str, options: Mapping[str, object] = EMPTY_DICT, *, is_argument: bool = False
) -> Expectation:
    """Parse the expected answer of a case.

    The answer is a shape, a refusal or a chain. `options` are the default options for the stages of a `same as` chain.
    If `is_argument` is True, spaces may separate names, because the text is a command-line argument. Raises
    `ShapeError` (usage) if the expectation is invalid.

    >>> print(parse_expectation("[2, 6]  when N == 3"))
    2,6 when N == 3
    >>> parse_expectation("error indivisible").rule
    'indivisible'
    """
    words = text.split()
    if words[:1] == [ERROR_KEYWORD]:
        return _parse_refusal(words[1:])
    if words[:2] == SAME_AS_KEYWORD.split():
        return _parse_same_as(" ".join(words[2:]), options)
    stated, _, definitions = " ".join(words).partition(" with ")
    shape, when, conditions = stated.partition(" when ")
    results = dict(map(_parse_definition, definitions.split(" and "))) if definitions else EMPTY_DICT
    if not is_argument or {"when", "with"} & {*words}:
        reject_unbracketed_names(shape, "expect")
    named = _normalize_conditions(conditions.split(" and ")) if when else None
    return Expectation(parse_pattern(shape, "expect"), named, results=FrozenDict(results))


def parse_expectation_for_stages(text: str, stage_options: Iterable[Mapping[str, object]]) -> Expectation:
    """Parse an expectation, using the options of the stages in the question.

    Names to which the options assign sizes become fixed names. Raises `ShapeError` (usage) if the expectation is
    invalid.

    >>> sorted(parse_expectation_for_stages("N,3", [{"where": "N=2"}]).fixed_names)
    ['N']
    """
    return replace(parse_expectation(text, is_argument=True), fixed_names=frozenset(names_with_sizes(stage_options)))


def _parse_definition(text: object) -> tuple[str, str]:
    """Parse the definition of a name, such as `H1 == (H - 1)//2 + 1`.

    Raises `ShapeError` (usage) if the definition is invalid.
    """
    name, separator, definition = str(text).partition("==")
    if not separator or not name.strip().isidentifier():
        shown = escape_unprintable(truncate(str(text)))
        raise usage_error(f"'{shown}' defines no name", "write H1 == (H - 1)//2 + 1", argument="expect")
    return name.strip(), " ".join(definition.split())


def expectation_from_json(value: object, options: Mapping[str, object] = EMPTY_DICT) -> Expectation:
    """Convert the `expect` value of a JSON case to an expectation.

    A valid value is a list of dims, `{"error": RULE}`, `{"same_as": CHAIN}`, `{"output": DIMS, "conditions": LIST}`
    with optional `"results"`, or an expectation as a string. Raises `ShapeError` (usage) for any other value.

    >>> print(expectation_from_json({"output": [2, 6], "conditions": ["N == 3"]}))
    2,6 when N == 3
    """
    match value:
        case str():
            return parse_expectation(value, options)
        case list():
            return Expectation(pattern_from_sequence(value, "expect"))
        case {"error": str(rule), **rest} if not rest:
            return _parse_refusal([rule])
        case {"same_as": str(chain), **rest} if not rest:
            return _parse_same_as(chain, options)
        case {"output": list(output), "conditions": list(conditions), **rest} if rest.keys() <= {"results"}:
            results = rest.get("results", {})
            if isinstance(results, dict):
                definitions = FrozenDict(
                    [_parse_definition(f"{name} == {definition}") for name, definition in results.items()]
                )
                return Expectation(
                    pattern_from_sequence(output, "expect"), _normalize_conditions(conditions), results=definitions
                )
    hint = 'write [2, 12], "error", {"error": RULE} or {"output": [2, 6], "conditions": ["N == 3"]}'
    raise usage_error(f"{describe_value(value)} is not an expectation", hint, argument="expect")


def _parse_refusal(words: list[str]) -> Expectation:
    if len(words) > 1:
        raise usage_error(f"'{escape_unprintable(truncate(' '.join(words)))}' is not one rule", argument="expect")
    for rule in words:
        lookup(rule, refusal_rules(), "rule", list_command="shapecalc why")
    return Expectation(None, None, words[0] if words else None)


def _parse_same_as(chain: str, options: Mapping[str, object]) -> Expectation:
    if not chain.strip():
        raise usage_error(
            f"a chain is missing after {SAME_AS_KEYWORD}", "write | OP ... or INPUT | OP ...", argument="expect"
        )
    parse_chain_request(chain, ())
    return Expectation(None, None, None, chain, FrozenDict(options))


def _normalize_conditions(texts: Sequence[object]) -> frozenset[str]:
    if len(texts) > MAX_WHEN_CONDITIONS:
        raise MAX_WHEN_CONDITIONS.error(f"{len(texts)} conditions")
    return frozenset(map(str, parse_conditions(str(text) for text in texts)))


WORD_RELATIONS: dict[str, Callable[[Dim, Dim], Conditions]] = {
    " is at least ": require_at_least,
    " divides ": lambda by, dim: require_divisible(dim, by),
    " is not ": require_different,
    " is ": require_equal,
}
"""Functions that build the conditions of relations written in words.

They are tried in this order, after all symbols.
"""


def parse_conditions(texts: Iterable[str]) -> Conditions:
    """Parse and simplify conditions.

    Conditions that are always true are omitted. Raises `ShapeError` (usage) if a condition is invalid, or if the
    conditions are unsatisfiable.

    >>> [str(condition) for condition in parse_conditions(["C*H*W % 64 == 0", "2*N == 6"])]
    ['C*H*W % 64 == 0', 'N == 3']
    """
    stated: Conditions = ()
    text = ""
    try:
        for text in texts:
            stated += _parse_condition(text)
    except (Unsatisfiable, ZeroDivisionError):
        raise usage_error(f"'{escape_unprintable(truncate(text))}' can never be true", argument="expect") from None
    try:
        return simplify_conditions(stated)
    except Unsatisfiable:
        raise usage_error("the conditions can never be true together", argument="expect") from None


def _parse_condition(text: str) -> Conditions:
    for sign, relation in (RELATION_FUNCTIONS | WORD_RELATIONS).items():
        left, separator, right = text.partition(sign)
        if sign == "%" and separator:
            right, separator, zero = right.partition("==")
            separator = separator if zero.strip() == "0" else ""
        if separator:
            return relation(_parse_dim(left, text), _parse_dim(right, text))
    hint = "write N == 3, C*H % 64 == 0, N != 1 or H >= 7, or N is 3, 64 divides C*H or N is not 1"
    raise usage_error(f"'{escape_unprintable(truncate(text))}' is not a condition", hint, argument="expect")


def _parse_dim(text: str, condition: str) -> Dim:
    try:
        dims = parse_dims(text, "expect")
    except ShapeError as error:
        raise ShapeError(replace(error.problem, span=None)) from None  # the span is relative to a part of the condition
    if len(dims) != 1:
        message = f"'{escape_unprintable(truncate(condition))}' is not a condition"
        raise usage_error(message, "it has one dim on each side", argument="expect")
    return dims[0]


def format_expectation(output: str, conditions: Iterable[str], results: Mapping[str, str]) -> str:
    """Format an expectation from the output, the conditions and the definitions of names."""
    condition_text = " and ".join(conditions)
    output = f"[{output}]" if output == ERROR_KEYWORD else output  # `error` without brackets is a refusal
    output = f"{output} when {condition_text}" if condition_text else output
    definition_text = " and ".join([f"{name} == {definition}" for name, definition in results.items()])
    return f"{output} with {definition_text}" if definition_text else output


NON_OPTION_KEYS = frozenset(("op", "input", "expect", "id", "source"))
"""The keys of a JSON case that are not options. The value of `source` is a note for readers of the file."""
JSON_BLANKS = " \t\n\r"
ARROW, COMMENT_MARK, DEFAULT_DIRECTIVE = "=>", "#", "@default"
CODE_KEYWORD = "code"
"""The first word of a case whose question is a line of code."""
MISTAKEN_ARROWS = frozenset(("->", "=", "=="))
"""Words that users write before an expected shape instead of `=>`."""


class Case(Record):
    """A parsed case: a question and its expectation."""

    input: object
    stages: StageRequests
    is_chain: bool
    expected: Expectation | None
    id: object = None


def parse_case(text: str, defaults: Mapping[str, object]) -> Case:
    """Parse a case.

    Raises `ShapeError` (usage) for an invalid case.

    >>> case = parse_case("reshape N,4 2,6 => 2,6 when N == 3  # a hard-coded batch", {})
    >>> print(case.input, "|", case.expected)
    N,4 | 2,6 when N == 3
    """
    return (
        case_from_json(parse_json_object(text), defaults) if is_json_object(text) else _parse_plain_case(text, defaults)
    )


def is_json_object(text: str) -> bool:
    """Return whether a line begins like a JSON object rather than a chain.

    The JSON is not validated.

    >>> is_json_object('{ "op": "reshape"'), is_json_object("{2,3} | flatten")
    (True, False)
    """
    return text.startswith("{") and ("|" not in text or text[1:].lstrip()[:1] in ('"', "}"))


def question_text(text: str) -> str:
    """Return the question of a line, without the expectation and the comment.

    The line must not be JSON.
    """
    return text.partition(COMMENT_MARK)[0].partition(ARROW)[0].strip()


def _parse_plain_case(text: str, defaults: Mapping[str, object]) -> Case:
    request, arrow, expect = text.partition(COMMENT_MARK)[0].partition(ARROW)
    if arrow and not expect.strip():
        raise usage_error(
            "an expectation is missing after =>", "write a shape, error, or error RULE", argument="expect"
        )
    if not arrow and not MISTAKEN_ARROWS.isdisjoint(split_outside_brackets(request, " ")):
        raise usage_error("a case has no expectation", "write => before the expected shape", argument="expect")
    expected = parse_expectation(expect.strip(), defaults) if arrow else None
    words = [] if "|" in request else resolve_aliases(split_outside_brackets(request))
    if words[:1] == [CODE_KEYWORD]:
        input_shape, code_stages = _parse_code_question(words[1:], defaults)
        return Case(input_shape, code_stages, is_chain=True, expected=expected)
    is_chain_command = words[:1] == ["chain"] and len(words) == 2
    request = words[1] if is_chain_command else request
    is_chain = is_chain_command or "|" in request
    if is_chain:
        shape, parsed = parse_chain(request)
    else:
        stage = parse_stage(words, with_input=True)
        if stage.input is None:
            raise usage_error(f"{stage.op} needs an input", f"as in {OPS[stage.op].examples[0]}", argument="input")
        shape, parsed = stage.input, [(stage.op, stage.options)]
    stages = tuple([(op, apply_defaults(op, defaults, options)) for op, options in parsed])
    return Case(shape, stages, is_chain, _add_fixed_names(expected, stages))


def _parse_code_question(words: Sequence[str], defaults: Mapping[str, object]) -> tuple[object, StageRequests]:
    """Parse a line of code and the shapes of its tensors.

    Returns the input and the stages that compute the first result of the code. Raises `ShapeError` (usage) if the code
    is not supported.

    >>> _parse_code_question(["x.view(2, -1)", "x=2,3,4"], {})
    ((2, 3, 4), (('view', {'target': (2, -1), 'dialect': 'torch'}),))
    """
    from shapecalc.reading.code import interpret_code  # imported here, because few cases are code

    options = options_by_name(RULE_OPTIONS["dialect"])
    values, parsed = parse_words(words, OptionLookup(options.values()), CODE_KEYWORD)
    if not values:
        raise usage_error("a line of code is missing", "write code 'x.view(2, -1)' x=2,3,4 => 2,12", argument="line")
    pairs = [value.rpartition("=") for value in values[1:]]
    shapes = {name.strip(): parse_shape(text) for name, _, text in pairs}
    code = interpret_code(values[0], shapes, parsed.get("dialect", defaults.get("dialect")))
    return code.input_shape, tuple(code.stages)


def _add_fixed_names(expected: Expectation | None, stages: StageRequests) -> Expectation | None:
    """Extend the fixed names of an expectation by the names whose sizes the stages define."""
    with_sizes = [options for _, options in stages if "where" in options]
    return (
        replace(expected, fixed_names=frozenset(names_with_sizes(with_sizes))) if expected and with_sizes else expected
    )


def case_from_json(fields: Mapping[str, Any], defaults: Mapping[str, object]) -> Case:
    """Convert a JSON object to a case.

    Raises `ShapeError` (usage) for an invalid case.
    """
    op, shape, _ = _parse_op_and_input(fields)
    expect = fields.get("expect")
    expected = None if expect is None else expectation_from_json(expect, defaults)
    options = {name: value for name, value in fields.items() if name not in NON_OPTION_KEYS}
    stages = ((op, apply_defaults(op, defaults, options)),)
    return Case(shape, stages, False, _add_fixed_names(expected, stages), fields.get("id"))


def request_from_json(fields: Mapping[str, Any], defaults: Mapping[str, object]) -> Request:
    """Parse the request of a JSON case, without its expectation.

    Raises `ShapeError` (usage) if the request is invalid.
    """
    op, shape, names = _parse_op_and_input(fields)
    if defaults:
        options = apply_defaults(op, defaults, fields)
        return make_request(op, shape, options, [*names, *[name for name in options if name not in fields]])
    return make_request(op, shape, fields, names)


def _parse_op_and_input(fields: Mapping[str, Any]) -> tuple[Any, Any, tuple[str, ...]]:
    """Return the op, the input and the common options of a JSON case.

    Raises `ShapeError` (usage) for an unknown op, an unknown key or a missing input.
    """
    op, shape = fields.get("op"), fields.get("input")
    names = _common_options(op if isinstance(op, str) else "", tuple(fields))
    if shape is None:
        raise usage_error(f"{op} needs an input", 'add "input": [2, 3, 4]', argument="input")
    return op, shape, names


def case_keys() -> dict[str, None]:
    """Return the valid keys of a JSON case.

    The call imports all ops and dialects.
    """
    names = [param.name for op in OPS.values() for param in all_params(op)]
    return dict.fromkeys(["op", "input", *names, *common_option_names(), "expect", "id", "source"])


@lru_cache(1024)
def _common_options(op: str, keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the keys of a JSON case that are options of all ops.

    Arguments of the op are omitted. Raises `ShapeError` (usage) for an unknown key, and for a missing or unknown op. If
    the op has all keys, the keys of the other ops are not collected, because this imports all dialects.
    """
    own = {param.name for param in OPS[op].params} if op in OPS else set()
    others = [key for key in keys if key not in NON_OPTION_KEYS and key not in SHARED_OPTIONS and key not in own]
    known = case_keys() if others else {}
    for key in others:
        if key not in known:
            raise usage_error(
                f"a case has no '{escape_unprintable(truncate(key))}'", suggest_name(key, known), argument=key
            )
    if not op:
        raise usage_error("a case needs an op", f"the operations are {', '.join(OPS)}", argument="op")
    lookup(op, OPS, "operation", list_command="shapecalc -h")
    return tuple([key for key in keys if key not in NON_OPTION_KEYS and key not in own and key != "where"])


def parse_defaults(text: str, defaults: Mapping[str, object]) -> dict[str, object]:
    """Parse an `@default` line into the defaults that apply after it.

    A line without options resets all defaults. Raises `ShapeError` (usage) for an unknown or incomplete option.

    >>> parse_defaults("@default dialect=onnx opset=13", {"dialect": "numpy", "dtype": "float"})
    {'dialect': 'onnx', 'dtype': 'float', 'opset': 13}
    """
    words = text.partition(COMMENT_MARK)[0].split()[1:]
    options = {option.name: option for option in rule_options() if option.name != "where"}
    result: dict[str, object] = {}
    for word in words:
        name, _, value = word.removeprefix("--").partition("=")
        option = options.get(name.replace("-", "_"))
        if option is None:
            raise usage_error(
                f"there is no default '{escape_unprintable(truncate(word))}'", suggest_name(name, options)
            )
        if not value:
            raise usage_error(f"the default {option.name} needs a value", f"write {option.name}=VALUE")
        result[option.name] = _parse_default_value(option, value)
    return {**defaults, **result} if words else {}


def _parse_default_value(option: Option, value: str) -> object:
    if option.name == "dialect":
        return lookup_dialect(value).name
    return parse_integer(value, option.name) if option.name == "opset" else option.parse_value(value)


def parse_json_object(text: str) -> dict[str, Any]:
    """Parse a JSON object.

    Raises `ShapeError` (usage) if the string is not a JSON object, or if a key is repeated.

    >>> parse_json_object('{"op": "shape", "input": [2.5]}')
    {'op': 'shape', 'input': [2.5]}
    """
    try:
        case, end = _scan_json(text, 0)  # ten times as fast as `decode`, which also skips spaces
        if end != len(text):
            raise JSONDecodeError("Extra data", text, len(text) - len(text[end:].lstrip(JSON_BLANKS)))
    except JSONDecodeError as error:
        raise usage_error(f"it is not JSON: {error.msg.lower()} at character {error.pos + 1}") from None
    except StopIteration as error:
        raise usage_error(f"it is not JSON: expecting value at character {error.value + 1}") from None
    except RecursionError:
        raise usage_error("it is nested too deeply") from None
    except ShapeError:
        raise
    except ValueError:
        raise usage_error("it has a number with too many digits") from None
    if not isinstance(case, dict):
        raise usage_error("a case is a JSON object")
    return case


def _reject_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise usage_error(f"the key '{escape_unprintable(truncate(twice))}' is there twice", argument=twice)
    return result


def _parse_finite_float(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise usage_error(f"{escape_unprintable(truncate(text))} is larger than any float")
    return number


def _reject_constant(text: str) -> None:
    raise usage_error(f"it is not JSON: {text} is not a number")


_STRICT_DECODER = JSONDecoder(
    object_pairs_hook=_reject_repeated_keys, parse_float=_parse_finite_float, parse_constant=_reject_constant
)
_scan_json = make_scanner(_STRICT_DECODER)  # type: ignore[arg-type]  # it reads the attributes of a decoder

"""Cases: one line each, a question and what its answer must be; plain text or a JSON object.

    case    = question ["=>" expectation] ["#" comment] | JSON object
    question = op input {value | option} | input "|" stage {"|" stage}
    default = "@default" {name "=" value}       for the lines below

A line whose first character is { and goes on as an object does is JSON.
"""

from __future__ import annotations

from json import JSONDecodeError, JSONDecoder

from shapecalc.core.answers.request import Request
from shapecalc.core.answers.trace import Trace
from shapecalc.core.asking.ask import ask, dialect_called, read_flag
from shapecalc.core.asking.command_line import read_chain, read_stage, split
from shapecalc.core.asking.common import COMMON
from shapecalc.core.asking.defaults import with_defaults
from shapecalc.core.asking.expected import sized_names
from shapecalc.core.asking.resolve import resolve
from shapecalc.core.cases.expectations import Expectation, expectation_of, read_expectation
from shapecalc.core.cases.fast_answers import options_of
from shapecalc.core.dialects.switches import SWITCHES
from shapecalc.core.fixing.answer import answer, answer_chain
from shapecalc.core.ops import OPS, params_of
from shapecalc.core.sizes.lookup import lookup, suggestion
from shapecalc.core.sizes.problem import USAGE, ShapeError, misuse
from shapecalc.core.sizes.python_values import whole_number
from shapecalc.core.sizes.quoting import brief, visible
from shapecalc.core.sizes.record import Record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from shapecalc.core.answers.trace import Chain

    Stages = tuple[tuple[str, Mapping[str, object]], ...]

KEYS = dict.fromkeys(
    ("op", "input", *(param.name for op in OPS.values() for param in params_of(op)), *COMMON, "expect", "id", "source")
)
"""The keys of a JSON case; `source` is for people."""
ARROW, COMMENT, DEFAULT = "=>", "#", "@default"


class Case(Record):
    """One case: its question, taken apart, and what is expected."""

    input: object
    stages: Stages
    chained: bool
    expected: Expectation | None
    id: object = None

    def answer(self, *, whole: bool = True) -> Trace | Chain:
        """Return the answer, if `whole` with what would help; raise `ShapeError` (usage) if it cannot be read."""
        if self.chained:
            return answer_chain(self.input, self.stages, {})  # type: ignore[arg-type]
        op, options = self.stages[0]
        try:
            request = ask(op, self.input, options)  # type: ignore[arg-type]
        except ShapeError as error:
            if error.problem.rule == USAGE:
                raise
            return Trace(Request(op, ()), problem=error.problem)  # sizes that a dim cannot take
        return answer(request) if whole else resolve(request)


def read_case(text: str, defaults: Mapping[str, object]) -> Case:
    """Return the case that a line states; raise `ShapeError` (usage) where it cannot be read.

    >>> case = read_case("reshape N,4 2,6 => 2,6 when N == 3  # a hard-coded batch", {})
    >>> print(case.answer(), "|", case.expected)
    2,6 when N == 3 | 2,6 when N == 3
    """
    return case_of(read_object(text), defaults) if is_object(text) else _plain_case(text, defaults)


def is_object(text: str) -> bool:
    """Say whether a line means to be a JSON object: `{2,3} | flatten` is a chain.

    >>> is_object('{ "op": "reshape"'), is_object("{2,3} | flatten")
    (True, False)
    """
    return text.startswith("{") and ("|" not in text or text[1:].lstrip()[:1] in ('"', "}"))


def request_text(text: str) -> str:
    """Return what a plain line asks, without its expectation and its comment."""
    return text.partition(COMMENT)[0].partition(ARROW)[0].strip()


def _plain_case(text: str, defaults: Mapping[str, object]) -> Case:
    request, arrow, expected = text.partition(COMMENT)[0].partition(ARROW)
    if arrow and not expected.strip():
        raise misuse("an expectation is missing after =>", "write a shape, error, or error RULE", argument="expect")
    wanted = read_expectation(expected.strip(), defaults) if arrow else None
    if "|" in request:
        shape, read = read_chain(request)
        stages = tuple((op, with_defaults(op, defaults, options)) for op, options in read)
        return Case(shape, stages, True, _with_sized(wanted, stages))
    stage = read_stage(split(request), with_input=True)
    if stage.input is None:
        raise misuse(f"{stage.op} needs an input", argument="input")
    stages = ((stage.op, with_defaults(stage.op, defaults, stage.options)),)
    return Case(stage.input, stages, False, _with_sized(wanted, stages))


def _with_sized(expected: Expectation | None, stages: Stages) -> Expectation | None:
    """Return an expectation that knows the names to which the stages of its case give sizes."""
    sized = sized_names(options for _, options in stages) if expected is not None else ()
    return replace(expected, sized=frozenset(sized)) if expected is not None and sized else expected


def case_of(found_object: Mapping[str, Any], defaults: Mapping[str, object]) -> Case:
    """Return the case that a JSON object states; raise `ShapeError` (usage) for what no case has."""
    for name in found_object:
        if name not in KEYS:
            raise misuse(f"a case has no '{visible(brief(name))}'", suggestion(name, KEYS), argument=name)
    op = found_object.get("op")
    if not isinstance(op, str):
        raise misuse("a case needs an op", f"the operations are {', '.join(OPS)}", argument="op")
    lookup(op, OPS, "operation")
    if found_object.get("input") is None:
        raise misuse(f"{op} needs an input", argument="input")
    options = options_of(found_object)
    expected = expectation_of(found_object["expect"], defaults) if found_object.get("expect") is not None else None
    stages = ((op, with_defaults(op, defaults, options)),)
    return Case(found_object["input"], stages, False, _with_sized(expected, stages), found_object.get("id"))


def read_default(text: str, defaults: Mapping[str, object]) -> dict[str, object]:
    """Return the defaults for the lines below an `@default` line; alone on its line it takes all back.

    Raises `ShapeError` (usage) for what is no default.

    >>> read_default("@default dialect=onnx opset=13", {"dialect": "numpy", "dtype": "float"})
    {'dialect': 'onnx', 'dtype': 'float', 'opset': 13}
    """
    words = text.partition(COMMENT)[0].split()[1:]
    read: dict[str, object] = {}
    for word in words:
        name, equals, value = word.removeprefix("--").replace("-", "_", word.count("-")).partition("=")
        if name not in COMMON or name == "where":
            known = [name for name in COMMON if name != "where"]
            raise misuse(f"there is no default '{visible(brief(word))}'", suggestion(name, known))
        if not equals or not value:
            raise misuse(f"the default {name} needs a value", f"write {name}=VALUE")
        value = word.partition("=")[2]
        read[name] = _default(name, value)
    return {**defaults, **read} if words else {}


def _default(name: str, value: str) -> object:
    if name == "dialect":
        return dialect_called(value).name
    if name == "opset":
        return whole_number(value, name)
    return read_flag(value, name) if name in SWITCHES else value


def read_object(text: str) -> dict[str, Any]:
    """Return the JSON object that a line holds; raise `ShapeError` (usage) for anything else, and for keys said twice.

    >>> read_object('{"op": "shape", "input": [2.5]}')
    {'op': 'shape', 'input': [2.5]}
    """
    try:
        case = _CAREFUL.decode(text)
    except JSONDecodeError as error:
        raise misuse(f"it is not JSON: {error.msg.lower()} at character {error.pos + 1}") from None
    except RecursionError:
        raise misuse("it is nested too deeply") from None
    except ShapeError:
        raise
    except ValueError:
        raise misuse("it has a number with too many digits") from None
    if not isinstance(case, dict):
        raise misuse("a case is a JSON object")
    return case


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise misuse(f"the key '{visible(brief(twice))}' is there twice", argument=twice)
    return made


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise misuse(f"{visible(brief(text))} is larger than any float")
    return number


def _no_constant(text: str) -> None:
    raise misuse(f"it is not JSON: {text} is not a number")


_CAREFUL = JSONDecoder(object_pairs_hook=_without_repeats, parse_float=_finite, parse_constant=_no_constant)

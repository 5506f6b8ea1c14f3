"""The way around Typer: an op's command line is answered at once, since importing Typer takes longest of all.

Typer's command and this reader are made of the same parameters and options. What the table does not say, such as help,
completion and mistakes, is left to Typer.
"""

from __future__ import annotations

import os

from shapecalc.cli.answer import answer_op
from shapecalc.cli.inputs import is_value, without_padding
from shapecalc.cli.output import Output
from shapecalc.core.ops import OPS
from shapecalc.core.problem import ShapeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from shapecalc.cli.options import Option
    from shapecalc.core.ops.op import Op

    Known = Mapping[str, tuple[Option, int | None]]

STARTS = ("-", "?", "[", "(", "{")
"""What a shape begins with, if that is no digit and no name."""
COMPLETION = "_SHAPECALC_COMPLETE"
"""The variable by which a shell asks for completions."""


def asked_words(words: Sequence[str]) -> list[str]:
    """Return a command line with `reshape` before two shapes, and with the op's own name for that of a framework.

    >>> asked_words(["2,3,4", "0,-1", "--json"]), asked_words(["reshpe", "2,3,4"])
    (['reshape', '2,3,4', '0,-1', '--json'], ['reshpe', '2,3,4'])
    """
    if not words or words[0] in OPS:
        return [*words]
    if len(words) > 1 and _is_shape(words[0]) and _is_shape(words[1]):
        return ["reshape", *words]
    from shapecalc.core.commands import respelled

    return respelled(words)


def _is_shape(word: str) -> bool:
    """Say whether a word is a shape and no command: it begins as one, or it has a comma."""
    return is_value(word) and (word[:1] in STARTS or word[:1].isdigit() or "," in word)


def answer_directly(words: Sequence[str]) -> int | None:
    """Answer a command line that asks an op, and return the exit code; None to leave it to Typer."""
    op = OPS.get(words[0]) if words else None
    if op is None or COMPLETION in os.environ:
        return None
    given = read_words(op, words[1:])
    if given is None:
        return None
    printing = {name: given.pop(name) for name in Output.__match_args__ if name in given}
    return answer_op(op.name, given, Output(**printing))


def read_words(op: Op, words: Sequence[str]) -> dict[str, Any] | None:
    """Return the values of an op's arguments and options by name; None if Typer is to read the words.

    >>> read_words(OPS["reshape"], ["2,3,4", "-1,4", "--json", "-d", "onnx", "--no-allowzero"])
    {'json': True, 'dialect': 'onnx', 'allowzero': False, 'input': '2,3,4', 'target': '-1,4'}
    >>> read_words(OPS["reshape"], ["2,3,4", "--help"]) is read_words(OPS["reshape"], ["2,3,4"]) is None
    True
    """
    known = {} if all(map(is_value, words)) else _options_of(op)
    values: list[str] = []
    given: dict[str, Any] = {}
    waiting = iter(words)
    for word in waiting:
        if is_value(word):
            values.append(without_padding(word))
        elif not _read_option(word, waiting, known, given):
            return None
    arguments = ("input", *op.places)
    required = 1 + sum(param.required and param.positional for param in op.params)
    if not required <= len(values) <= len(arguments):
        return None
    placed = dict(zip(arguments, values, strict=False))
    return given | placed if given.keys().isdisjoint(placed) else None


def _options_of(op: Op) -> Known:
    """Return an op's options by their spellings, each with the setting that this spelling stands for; None for a value.

    The table of options is imported here, because it names every dialect's and a bare question has none.
    """
    from shapecalc.cli.options import ALL, Option, Takes, parameters_of

    known: dict[str, tuple[Option, int | None]] = {}
    for option in parameters_of(op):
        if not isinstance(option, Option):
            continue
        setting: int | None = None if option.takes in (Takes.TEXT, Takes.NUMBER) else True
        if option.takes is Takes.MORE:
            setting = 1
            known[f"{option.spelling}{ALL}"] = option, 2
        known[option.spelling] = option, setting
        if option.short:
            known[option.short] = option, setting
        if option.takes is Takes.SWITCH:
            known[f"--no-{option.spelling.removeprefix('--')}"] = option, False
    return known


def _value_of(option: Option, text: str) -> str | int | None:
    """Return the value of an option; raise `ShapeError` (usage) for a number that it does not take."""
    from shapecalc.cli.options import Takes, read_number

    return read_number(option, text) if option.takes is Takes.NUMBER else text


def _read_option(word: str, waiting: Iterator[str], known: Known, given: dict[str, Any]) -> bool:
    """Put an option into `given`, with its value if it takes one; return False if Typer is to read it."""
    spelling, equals, text = (word, "", "") if word in known else word.partition("=")
    if spelling not in known or (equals and not spelling.startswith("--")):
        return False
    option, setting = known[spelling]
    if setting is not None:
        given[option.name] = setting if isinstance(setting, bool) else given.get(option.name, 0) + setting
        return not equals
    value = text if equals else next(waiting, None)
    if value is None or not (equals or is_value(value)):
        return False
    try:
        given[option.name] = _value_of(option, without_padding(value))
    except ShapeError:
        return False
    return True

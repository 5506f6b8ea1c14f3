"""What may stand next in a line of the prompt, for completion."""

from __future__ import annotations

from shapecalc.cli.options import PRINTING, Option, Takes, parameters_of
from shapecalc.cli.session import COMMANDS
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import OPS, every_rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def words_after(text: str) -> list[str]:
    """Return the words that may follow a text: commands and ops at the start, then an op's options and their values.

    >>> words_after("dialect ")[:2], words_after("2,3 | reshape 6 --dialect ")[:2], words_after("2,3 ")
    (['onnx', 'tensorrt'], ['onnx', 'tensorrt'], [])
    """
    _, bar, stage = text.rpartition("|")
    words = stage.split()
    if not words:
        return [*OPS] if bar else [*OPS, *(name.split()[0] for name in COMMANDS), "ans"]
    if words[0] in OPS:
        return [*(["ans"] if len(words) == 1 and not bar else []), *_option_words(words[0], words[-1])]
    known: dict[str, Iterable[str]] = {"dialect": DIALECTS, "why": every_rule()}
    return [*known.get(text.strip(), ())]


def _option_words(op: str, last: str) -> Iterable[str]:
    """Return the values of an option if it is the last word, otherwise the op's options."""
    options = [each for each in parameters_of(OPS[op]) if isinstance(each, Option) and each.name not in PRINTING]
    for option in options:
        if last in (option.spelling, option.short) and option.takes is Takes.TEXT:
            return option.completions() if option.completions else ()
    off = [f"--no-{each.spelling.removeprefix('--')}" for each in options if each.takes is Takes.SWITCH]
    return [*(each.spelling for each in options), *off]

"""Errors that suggest corrections of common mistakes in command lines.

A value is a word of the command line that is not an option.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from shapecalc.cli.options import OUTPUT_OPTIONS
from shapecalc.core.answers import Request
from shapecalc.core.dims import dim_names
from shapecalc.core.ops import OPS
from shapecalc.core.ops.op import Op
from shapecalc.core.problem import ShapeError, usage_error
from shapecalc.core.requests import make_request
from shapecalc.core.resolve import resolve
from shapecalc.core.text import escape_unprintable, is_file_argument, parse_dims, truncate
from shapecalc.reading.commands import parse_op_words
from shapecalc.reading.options import OptionLookup, is_value, op_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LIST_METAVARS = {"AXES", "SHAPE", "INDEX", "SIZES"}
"""Metavars of options whose values may contain commas."""
EXPECT_SIGNS = ("=", "==", "=>", "->")
"""Words that users write before an expected shape instead of `--expect`."""
FILLER_WORDS = ("to", "into", "as", "with", "by")
"""English words that are ignored between the values of an op."""
MAX_WORDS = 64
"""Maximum number of words of a command line that is corrected."""


def split_shape_error(words: Sequence[str]) -> ShapeError | None:
    """Return the error for a command line in which the shell has split a shape.

    PowerShell, for example, splits words at commas. Return None if no shape is split.

    >>> print(split_shape_error(["reshape", "2", "3", "4", "0", "-1", "--json"]).problem.hint)
    in quotes it stays whole: shapecalc reshape "2,3,4" "0,-1" --json
    """
    names_op = len(words) > 1 and words[1] in OPS
    start = 2 if words[:1] in (["tui"], ["serve"]) or (names_op and words[0] == "compare") else 1
    command = words[start - 1] if len(words) > start else ""
    op = OPS.get("reshape" if command == "compare" else command)
    if op is None or len(words) > MAX_WORDS:
        return None
    values, options, is_split = _rejoin_split_lists(op, words[start:])
    if len(values) > 1 + len(op.positional_only_names):
        values, is_split = _most_plausible_shapes(op, values, options), all(map(_is_dim_or_slice, values))
    if not is_split or _parse_op_arguments(op, [*values, *options]) is None:
        return None
    line = " ".join(map(_quote_word, ["shapecalc", *words[:start], *values, *options]))
    return usage_error(
        "a shape is one word, and here are several: some shells split words at commas",
        f"in quotes it stays whole: {line}",
    )


def _is_dim_or_slice(word: str) -> bool:
    """Return whether a word is a single dim, or a slice such as `0:2`."""
    if ":" in word:
        return True
    try:
        return not {*word} & {*",[({"} and len(parse_dims(word)) == 1
    except ShapeError:
        return False


def _parse_op_arguments(op: Op, words: Sequence[str]) -> tuple[str, dict[str, Any]] | None:
    """Parse the arguments of an op into its input and its options.

    Return None if the arguments are invalid.
    """
    try:
        values = parse_op_words(op, words, OUTPUT_OPTIONS.values())
    except ShapeError:
        return None
    options = {name: value for name, value in values.items() if name not in OUTPUT_OPTIONS}
    return (options.pop("input"), options) if "input" in options else None


def _rejoin_split_lists(op: Op, words: Sequence[str]) -> tuple[list[str], list[str], bool]:
    """Separate the values from the options, and join the words of split lists.

    Some shells split a list at its commas. If the list is the value of an option, its words are joined again. Return
    the values, the options, and whether any words were joined.

    >>> _rejoin_split_lists(OPS["flatten"], ["2,3,4", "-d", "torch", "1"])
    (['2,3,4', '1'], ['-d', 'torch'], False)
    """
    known = OptionLookup(chain(OUTPUT_OPTIONS.values(), op_options(op)))
    values, options = list[str](), list[str]()
    is_split = needs_value = in_list = takes_list = False
    for word in words:
        if not is_value(word):
            option, setting = known.find(word) or (None, True)
            needs_value, in_list = setting is None, False
            takes_list = option is not None and option.metavar in LIST_METAVARS
            options.append(word)
        elif needs_value:
            needs_value, in_list = False, takes_list and "," not in word
            options.append(word)
        elif in_list and "," not in word:
            options[-1] += f",{word}"
            is_split = True
        else:
            in_list = False
            values.append(word)
    return values, options, is_split


def _most_plausible_shapes(op: Op, values: Sequence[str], options: Sequence[str]) -> list[str]:
    """Join dims that the shell has split into the most plausible shapes.

    The input shape comes first.
    """
    cuts = [[",".join(values)]]
    if op.positional_param_names:
        numbers = max(len(op.positional_only_names) - 1, 0)  # positional parameters before the last one are integers
        starts = range(1, len(values) - numbers)
        cuts += [
            [",".join(values[:cut]), *values[cut : cut + numbers], ",".join(values[cut + numbers :])] for cut in starts
        ]
    return min(cuts, key=lambda shapes: _implausibility_key(op, shapes, options))


def _implausibility_key(op: Op, shapes: Sequence[str], options: Sequence[str]) -> tuple[bool, bool, int, int, int]:
    """Return a sort key that orders candidate shapes from plausible to implausible.

    The elements of the key are: whether the request is refused, whether the input has a dim of 0, the number of names
    that are not in the input, the absolute difference of the ranks, and the negative rank of the input.
    """
    parsed = _parse_op_arguments(op, [*shapes, *options])
    try:
        dims = parse_dims(shapes[0])
        others = [dim for text in shapes[1:] if ":" not in text for dim in parse_dims(text)]
        is_refused = parsed is None or resolve(make_request(op.name, *parsed)).output is None
    except ShapeError:
        return True, True, 0, 0, 0
    return (
        is_refused,
        0 in dims,
        len({*dim_names(others)} - {*dim_names(dims)}),
        abs(len(dims) - len(others)),
        -len(dims),
    )


def _quote_word(word: str) -> str:
    """Quote a word if necessary, preferably in double quotes.

    Single quotes are used for characters that shells expand in double quotes.

    >>> _quote_word("2,3*H"), _quote_word("--axes"), _quote_word("$HOME")
    ('"2,3*H"', '--axes', "'$HOME'")
    """
    from shlex import quote

    if "," not in word and quote(word) == word:
        return word
    return quote(word) if {*word} & {*'"$`!%\\'} else f'"{word}"'


def extra_words_error(words: Sequence[str]) -> ShapeError | None:
    """Return the error for a command line with too many values for its op.

    The error suggests a command line with the correct number of values. Return None if there are not too many values.

    >>> extra_words_error(["transpose", "2,3,4", "0", "2", "1"]).problem.hint
    'write shapecalc transpose 2,3,4 0,2,1'
    """
    op = OPS.get(words[0]) if words else None
    if op is None or len(words) > MAX_WORDS:
        return None
    values, options, _ = _rejoin_split_lists(op, words[1:])
    limit = 1 + len(op.positional_param_names)
    if len(values) <= limit:
        return None
    from shlex import join

    lines = [[*line, *options] for line in _candidate_lines(values, limit)]
    if op.positional_param_names[-1:] == ("target",) and not {"-d", "--dialect"} & {*options}:
        lines += [[*line, "-d", "torch"] for line in lines]  # PyTorch's methods accept sizes as separate arguments
    candidates = {
        join(["shapecalc", op.name, *line]): request for line in lines if (request := _parse_request(op, line))
    }
    resolved = (line for line, request in candidates.items() if resolve(request).output is not None)
    best_line = next(resolved, next(iter(candidates), ""))
    extra = escape_unprintable(truncate(" ".join(values[limit:])))
    hint = f"write {escape_unprintable(best_line)}" if best_line else f"see shapecalc {op.name} -h"
    return usage_error(f"{op.name} has no place for '{extra}'", hint)


def missing_argument_error(words: Sequence[str]) -> ShapeError | None:
    """Return the error for a command line of an op that lacks one argument.

    The error suggests to add the argument, or `-` as the input. Return None if more than one argument is missing.

    >>> print(missing_argument_error(["reshape", "2,3"]).problem)
    usage: missing argument 'TARGET' (write reshape 2,3 TARGET, or reshape - 2,3 for an INPUT from standard input)
    """
    op = OPS.get(words[0]) if words else None
    if op is None or len(words) > MAX_WORDS or _parse_op_arguments(op, ["-", *words[1:]]) is None:
        return None
    from shlex import join

    from shapecalc.reading.command_detection import is_shape

    values, options, _ = _rejoin_split_lists(op, words[1:])
    names = ("input", *op.positional_only_names)
    lacks_input = not any(is_file_argument(word) or is_shape(word) for word in values)
    name = "input" if lacks_input else names[min(len(values), len(names) - 1)]
    line = [name.upper(), *values] if lacks_input else [*values, name.upper()]
    complete, with_input = (escape_unprintable(join([op.name, *part, *options])) for part in (line, ["-", *values]))
    hint = f"write {complete}, or {with_input} for an INPUT from standard input"
    return usage_error(f"missing argument '{name.upper()}'", hint, argument=name)


def _candidate_lines(values: Sequence[str], limit: int) -> Iterator[list[str]]:
    """Yield corrections of a command line with more than `limit` values.

    The extra values may be an expected shape, English words between the arguments, or parts of a split list.
    """
    for index, word in enumerate(values):
        if word in EXPECT_SIGNS:
            yield [*values[:index], "--expect", "".join(values[index + 1 :])]
    if any(word in FILLER_WORDS for word in values):
        yield [word for word in values if word not in FILLER_WORDS]
    last = values[limit - 1 :]
    if limit > 1 and not any("," in word for word in last):
        yield [*values[: limit - 1], ",".join(last)]


def _parse_request(op: Op, words: Sequence[str]) -> Request | None:
    """Parse the arguments of an op into a request, or return None if they are invalid."""
    parsed = _parse_op_arguments(op, words)
    try:
        return None if parsed is None else make_request(op.name, *parsed)
    except ShapeError:
        return None

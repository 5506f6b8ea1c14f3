"""Parse and format command lines and chains.

An example of a command line is `reshape 2,3,4 0,-1 --allowzero`. An example of a chain is `2,3,4 | flatten`.

    chain = input "|" stage {"|" stage}
    stage = op {value | option | option ("=" | space) value}

A composite op, such as `rot90`, is a framework's function that is equivalent to a chain of ops. Spaces inside brackets
or quotes do not separate words. The command line, the prompt and case files all use this parser, so they accept the
same options.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, dropwhile, pairwise, takewhile

from shapecalc.core.answers import Chain, Request, Trace
from shapecalc.core.dialects import DIALECTS, find_dialect
from shapecalc.core.ops import COMMAND_ALIASES, OPS, all_params
from shapecalc.core.ops.op import Op
from shapecalc.core.problem import Problem, ShapeError, rule_error, usage_error
from shapecalc.core.record import Record, replace
from shapecalc.core.requests import (
    operand_texts,
)
from shapecalc.core.resolve import make_chain_requests, resolve_chain
from shapecalc.core.rules import AXIS_OUT_OF_RANGE
from shapecalc.core.text import (
    escape_unprintable,
    is_file_argument,
    join_words,
    lookup,
    parse_axes,
    parse_shape,
    rank_text,
    reject_unbracketed_names,
    shape_text,
    split_outside_brackets,
    truncate,
)
from shapecalc.core.values import parse_axis_pattern, parse_integer
from shapecalc.reading.options import (
    HELP,
    ExtraValueError,
    Option,
    OptionLookup,
    assign_positional,
    check_required,
    is_value,
    op_option_lookup,
    op_options,
    parse_words,
    to_dashes,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from shapecalc.core.answers import Chain, Trace
    from shapecalc.core.dims import Shape

StageRequests = tuple[tuple[str, Mapping[str, object]], ...]
"""The stages of a chain: the name and the options of each op."""


class ParsedStage(Record):
    """A parsed stage, whose options are not converted yet.

    The input is None unless the stage was parsed from a command line with an input.
    """

    op: str
    options: Mapping[str, object]
    input: str | None = None


def parse_op_words(op: Op, words: Sequence[str], extra_options: Iterable[Option] = ()) -> dict[str, Any]:
    """Parse the words of an op's command line into arguments by name.

    `extra_options` and `--help` are accepted in addition to the op's own options. Raises `ShapeError` (usage) for an
    unknown option, an extra value or a missing argument.

    >>> parse_op_words(OPS["reshape"], ["2,3,4", "-1,4", "-d", "onnx", "--no-allowzero"])
    {'dialect': 'onnx', 'allowzero': False, 'input': '2,3,4', 'target': '-1,4'}
    """
    lookup = OptionLookup(chain(extra_options, [HELP], op_options(op)), op)
    names = ("input", *op.positional_param_names)
    values, arguments = parse_words(
        words,
        lookup,
        op.name,
        allow_named="lengths" not in names,
        max_values=_max_positional_count(names),
        has_input=True,
    )
    if HELP.name in arguments:
        return arguments
    if len(values) > len(names) and (named := convert_names_to_options(op, words)):
        return parse_op_words(op, named, extra_options)
    arguments = assign_positional(arrange_positional_values(values, names), names, arguments, op.name)
    check_required(
        arguments, {"input": "INPUT"} | {param.name: param.name.upper() for param in op.params if param.required}
    )
    return arguments


def convert_names_to_options(op: Op, words: Sequence[str]) -> list[str]:
    """Convert parameter names before values to options: `perm 1,0` to `--perm 1,0`.

    The words 'to' and 'by' are omitted if they are not parameters. Returns an empty list if no word changes.

    >>> convert_names_to_options(OPS["shuffle"], ["2,3,4", "first", "1,0,2", "to", "6,4"])
    ['2,3,4', '--first', '1,0,2', '--to', '6,4']
    >>> convert_names_to_options(OPS["transpose"], ["2,3,4", "by", "1,0,2"])
    ['2,3,4', '1,0,2']
    """
    lookup, result = OptionLookup(op_options(op), op), [*words[:1]]
    for word, value in pairwise([*words[1:], "--"]):
        spelling = f"--{to_dashes(word)}"
        if word.isidentifier() and is_value(value) and lookup.find(spelling):
            result.append(spelling)
        elif word not in (*TARGET_SEPARATORS, *ARGUMENT_SEPARATORS):
            result.append(word)
    return result if result != [*words] else []


def _max_positional_count(names: Sequence[str]) -> int | None:
    """Return the maximum number of positional values for parameters.

    Returns None if the last parameter is variadic.
    """
    return None if names[-1:] and names[-1] in ("operands", "lengths") else len(names)


def arrange_positional_values(values: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return positional values in the order of the parameters.

    All operands are joined into one value. All lengths are joined into one value, too. A pattern with an arrow may be
    written before or after the shape. An einsum pattern without an arrow must be the first value.

    >>> arrange_positional_values(["a b -> b a", "2,3"], ("input", "pattern"))
    ['2,3', 'a b -> b a']
    """
    values = [*values]
    if "pattern" in names:
        index = names.index("pattern")
        pattern_index = next(
            (position for position, value in enumerate(values) if "->" in value), 0 if "operands" in names else index
        )
        if pattern_index < len(values) > index:
            values.insert(index, values.pop(pattern_index))
    if [*names[-1:]] == ["lengths"] and len(values) > len(names):
        values[len(names) - 1 :] = [",".join(values[len(names) - 1 :])]
    if "operands" in names:
        index = names.index("operands")
        values[index:] = [join_words(values[index:])] if len(values) > index else []
    return values


TARGET_SEPARATORS = ("to", "into", "->", "→")
"""Words that separate the input from the target in a request in plain English."""
ARGUMENT_SEPARATORS = ("by", "with")
"""Words that separate the input from another argument in a request in plain English."""
OP_ALIASES = {
    alias: (op, dialect)
    for alias, meanings in COMMAND_ALIASES.items()
    for dialect, op in meanings.items()
    if len({*meanings.values()}) == 1
}
"""The op of each unambiguous alias, and the dialect that defines the alias."""
PERMUTE = "permute"
"""The alias of `transpose` that requires axes.

PyTorch raises `TypeError` (permute() missing "dims") without them.
"""
UNSUPPORTED_OPS = {
    "reshape_as": ("it needs the shape of another tensor", "write that shape: reshape INPUT TARGET"),
    "view_as": ("it needs the shape of another tensor", "write that shape: view INPUT TARGET"),
    "expand_as": ("it needs the shape of another tensor", "write that shape: expand INPUT TARGET"),
    **{
        f"Global{kind}Pooling{rank}D": (
            "it drops the spatial dims",
            f"write mean INPUT {','.join(map(str, range(1, rank + 1)))} --kind {reduction} -d tensorflow",
        )
        for kind, reduction in (("Average", "mean"), ("Max", "max"))
        for rank in (1, 2, 3)
    },
    "index_select": (
        "its index is a tensor",
        "for given indices write take INPUT AXIS INDICES; "
        "for an index with a shape: shapecalc 'x.index_select(0, i)' x=5,4 i=2",
    ),
    "gather": (
        "its index is a tensor",
        "for given indices write take INPUT AXIS INDICES; "
        "for an index with a shape: shapecalc 'x.gather(0, i)' x=5,4 i=2,4",
    ),
    "repeat": (
        "it can mean three things",
        "PyTorch repeats the whole: tile 2,3 2,1, or -d torch; NumPy repeats each element: repeat_interleave 2,3 2 0, "
        "or -d numpy; einops follows a pattern: rearrange 2,3 'a b -> r a b' r=2",
    ),
}
"""For each unsupported op, the reason and a supported alternative."""


def resolve_aliases(
    words: Sequence[str],
    dialect: object = None,
    *,
    with_input: bool = True,
    translates_functions: bool = True,
    is_complete: bool = True,
) -> list[str]:
    """Replace a framework's op name with shapecalc's, and add `--dialect`.

    `dialect` is the default dialect for an alias with several meanings. A composite op with several stages becomes a
    chain. If `translates_functions` is True, the function names in the signatures of all ops are replaced, too. If
    `is_complete` is False, the input may be omitted. Raises `ShapeError` if a composite op refuses its input, if the
    input of a composite op is a file, and (usage) for `permute` without axes and for two frameworks.

    >>> resolve_aliases(["permute", "2,3,4", "2,0,1"]), resolve_aliases(["permute", "2,3", "1,0", "-d", "numpy"])[-1]
    (['transpose', '2,3,4', '2,0,1', '--dialect', 'torch'], 'numpy')
    >>> resolve_aliases(["repeat", "2,3", "2", "-d", "np"])[0], resolve_aliases(["repeat", "2,3", "2"])[0]
    ('repeat_interleave', 'repeat')
    >>> resolve_aliases(["rot90", "2,3", "--json"])
    ['chain', '2,3 | flip 1 --dialect numpy | swapaxes 0 1 --dialect numpy', '--json']
    """
    words = replace_framework_word(words)
    if words and words[0] == "repeat" and any("->" in word for word in words):
        return ["rearrange", *words[1:]]
    if words and words[0] in COMMAND_ALIASES.keys() - OP_ALIASES.keys():
        return [COMMAND_ALIASES[words[0]].get(_requested_dialect(words, dialect), words[0]), *words[1:]]
    if not words or words[0] not in OP_ALIASES.keys() | COMPOSITE_OPS.keys():
        return _translate_words(words, dialect, with_input=with_input) if translates_functions else [*words]
    op, dialect = OP_ALIASES.get(words[0]) or COMPOSITE_OPS[words[0]][:2]
    values = list(takewhile(is_value, words[1:]))
    has_option = any(word.startswith(("--perm", "--help", "-h")) for word in words[1:])
    if words[0] == PERMUTE and len(values) == (with_input and is_complete) and not has_option:
        raise usage_error(
            f"{PERMUTE} needs the axes in their new order, as in PyTorch",
            f"write {join_words([PERMUTE, *values])} AXES, or {join_words([op, *values])}, which reverses them",
        )
    if words[0] in OP_ALIASES or not values:
        return [op, *_add_dialect(words[1:], dialect)]
    stages, option_words = expand_composite(words[0], _parse_input_shape(words), values[1:]), words[1 + len(values) :]
    if len(stages) == 1:
        return [stages[0][0], values[0], *stages[0][1:], *_add_dialect(option_words, dialect)]
    dialect_words = _add_dialect(option_words, dialect)[len(option_words) :]
    return [
        "chain",
        " | ".join([values[0], *[_quote_words([*stage, *dialect_words]) for stage in stages]]),
        *option_words,
    ]


def replace_framework_word(words: Sequence[str]) -> Sequence[str]:
    """Replace a leading framework name with the option `--dialect`.

    The words are returned unchanged unless an op, a framework's function or a shape follows the name. If a shape
    follows the name, the op is `reshape`, and the word `to` is dropped. Raises `ShapeError` (usage) if `--dialect`
    names another framework.

    >>> replace_framework_word(["onnx", "reshape", "2,3,4", "0,-1"])
    ['reshape', '2,3,4', '0,-1', '--dialect', 'onnx']
    >>> replace_framework_word(["torch", "2,3,4", "6,4"]), replace_framework_word(["onnx", "model.onnx"])
    (['reshape', '2,3,4', '6,4', '--dialect', 'torch'], ['onnx', 'model.onnx'])
    >>> replace_framework_word(["torch", "2,3,4", "to", "6,4", "--json"])
    ['reshape', '2,3,4', '6,4', '--json', '--dialect', 'torch']
    """
    if len(words) < 3 or not words[0].isidentifier() or words[0] in OPS:
        return words
    request = [*words[1:]]
    values = [*takewhile(is_value, request)]
    if len(values) == 3 and values[1] in TARGET_SEPARATORS:
        values.pop(1)
    if len(values) == 2 and all(word[:1].isdigit() or word[:1] in ("[", "(", "-") for word in values):
        request = ["reshape", *values, *dropwhile(is_value, request)]
    is_op = request[0] in OPS.keys() | COMMAND_ALIASES.keys() | COMPOSITE_OPS.keys()
    if not is_op and not (request[0].isidentifier() and request[1][:1].isdigit()):
        return words
    dialect = find_dialect(words[0])
    if dialect is not None and _requested_dialect(request, None) not in ("", dialect.name):
        raise usage_error(f"{words[0]} and --dialect name two frameworks", "leave one of them out", argument="dialect")
    return words if dialect is None else _add_dialect(request, dialect.name)


def _translate_words(words: Sequence[str], dialect: object, *, with_input: bool) -> list[str]:
    """Translate a command line that begins with a framework's function name.

    Other words are returned unchanged.
    """
    if not words or words[0] in OPS or not words[0].isidentifier():
        return [*words]
    from shapecalc.reading.framework_words import translate_framework_call  # imported here, because it imports all ops

    translated = translate_framework_call(words, _requested_dialect(words, dialect), with_input=with_input)
    return [*words] if translated is None else _add_dialect(*translated)


def _quote_words(words: Iterable[str]) -> str:
    """Join the words of a stage, and quote words that contain spaces."""
    return " ".join([f'"{word}"' if " " in word else word for word in words])


def _requested_dialect(words: Sequence[str], default: object) -> str:
    """Return the name of the dialect that a command line requests.

    `default` is the dialect of a line without `--dialect`. Returns an empty string if there is none, or if it is
    unknown.
    """
    names = [] if default is None else [str(default)]
    names += [word.removeprefix("--dialect=") for word in words if word.startswith("--dialect=")]
    names += [name for word, name in pairwise(words) if word in ("-d", "--dialect")]
    dialect = find_dialect(names[-1]) if names else None
    return dialect.name if dialect else ""


def _add_dialect(words: Sequence[str], dialect: str) -> list[str]:
    """Add a `--dialect` option, unless the words contain one."""
    has_dialect = any(word in ("-d", "--dialect") or word.startswith("--dialect=") for word in words)
    return [*words, *([] if has_dialect else ["--dialect", dialect])]


def _parse_input_shape(words: Sequence[str]) -> Shape:
    """Parse the input shape of a composite op.

    Raises `ShapeError` (usage) if the input is a file or standard input.
    """
    if words[1] == "-" or is_file_argument(words[1]):
        raise usage_error(
            f"{words[0]} needs a shape that is written here", f"write {COMPOSITE_OPS[words[0]][0]} for data"
        )
    return parse_shape(words[1])


def expand_composite(name: str, shape: Shape, values: Sequence[str]) -> list[list[str]]:
    """Return the stages of a composite op, each as a list of words.

    Raises `ShapeError` if the op refuses the shape.

    >>> expand_composite("narrow", (2, 8), ["1", "-3", "2"]), expand_composite("rollaxis", (2, 3, 4), ["2"])
    ([['slice', ':,5:7']], [['moveaxis', '2', '0']])
    """
    _, _, specifications, make = COMPOSITE_OPS[name]
    names = [specification.partition("/")[0].rstrip("?") for specification in specifications]
    texts = assign_positional(arrange_positional_values(values, names), names, {}, name)
    check_required(
        texts,
        {
            parameter: parameter.upper()
            for parameter, specification in zip(names, specifications, strict=True)
            if specification[-1] != "?"
        },
    )
    readers = {"axes": parse_axes, **dict.fromkeys(("pattern", "lengths"), lambda text, _: text)}
    arguments = {parameter: readers.get(parameter, parse_integer)(text, parameter) for parameter, text in texts.items()}
    stages: list[list[str]] = make(shape, **arguments)
    return stages


def _expand_narrow(shape: Shape, axis: int, start: int, length: int) -> list[list[str]]:
    """Return the `slice` stage that is equivalent to `torch.narrow`.

    Raises `ShapeError` (slice-out-of-bounds) for an out-of-range index, as `torch.narrow` does.
    """
    index = _normalize_axis(axis, len(shape), len(shape))
    dim, first = shape[index], start
    if not isinstance(dim, int):
        raise usage_error(f"narrow needs the size of dim {index}, {dim}", "write slice, or the size")
    first += dim if first < 0 else 0
    if not 0 <= first <= first + length <= dim:
        from shapecalc.core.ops.slice import SLICE_OUT_OF_BOUNDS  # imported here, because `narrow` is rare

        message = f"dim {index} is {truncate(str(dim))}, and has no {length} positions from {start} on"
        raise rule_error(SLICE_OUT_OF_BOUNDS, message)
    return [["slice", ",".join([*[":"] * index, f"{first}:{first + length}"])]]


def _expand_rot90(shape: Shape, k: int = 1, axes: Sequence[int] = (0, 1)) -> list[list[str]]:
    """Return the `flip` and `swapaxes` stages that are equivalent to `numpy.rot90`."""
    indices = [_normalize_axis(axis, len(shape), len(shape)) for axis in axes]
    if len({*indices}) != 2 or len(indices) != 2:
        raise usage_error("rot90 turns two different axes", argument="axes")
    first, second = map(str, indices)
    flip, swap = ["flip", second], ["swapaxes", first, second]
    return [[["flip", "[]"]], [flip, swap], [["flip", f"{first},{second}"]], [swap, flip]][k % 4]


def _expand_rollaxis(shape: Shape, axis: int, start: int = 0) -> list[list[str]]:
    """Return the `moveaxis` stage that is equivalent to `numpy.rollaxis`.

    The axis is moved before the axis at index `start`.
    """
    rank = len(shape)
    source, destination = _normalize_axis(axis, rank, rank), _normalize_axis(start, rank, rank + 1)
    return [["moveaxis", str(source), str(destination - (source < destination))]]


EINSUM_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
EINOPS_REDUCTIONS = ("any", "all", "max", "mean", "min", "prod", "sum")
"""The names of einops' reductions; all of them result in the same shape."""


def _expand_reduce(shape: Shape, pattern: str, lengths: str = "") -> list[list[str]]:
    """Return the stages that are equivalent to `einops.reduce`.

    The stages are a split, a sum and a merge.
    """
    left, _, right = pattern.partition("->")
    dims = parse_axis_pattern(f"{left}->{left}" if "->" in pattern else pattern).left
    others = " ".join([f"e{number}" for number in range(len(shape) - len(dims) + 1)])
    left, right = (side.replace("...", others).strip() for side in (left, right))
    axes, output_axes = (side.translate({40: " ", 41: " "}).split() for side in (left, right))
    axes = [axis for axis in axes if axis != "1"]
    kept = [axis for axis in axes if axis in output_axes]
    sizes = ",".join([word for word in lengths.split(",") if word not in ("", *EINOPS_REDUCTIONS)])
    stages = [["rearrange", f"{left} -> {' '.join(axes)}", *([sizes] if sizes else [])]]
    if left.split() == axes and not sizes:
        stages = []
    if kept != axes:
        if len(axes) > len(EINSUM_LETTERS):
            raise usage_error(f"reduce knows {len(EINSUM_LETTERS)} axes at most", argument="pattern")
        letters = dict(zip(axes, EINSUM_LETTERS, strict=False))
        stages.append(["einsum", f"{''.join(letters.values())}->{''.join([letters[axis] for axis in kept])}"])
    if right.split() != kept or not stages:
        stages.append(["rearrange", f"{' '.join(kept)} -> {right}"])
    return stages


def _normalize_axis(axis: int, rank: int, limit: int) -> int:
    """Convert an axis or insertion index to a non-negative index.

    `limit` is the exclusive upper bound of valid indices. Raises `ShapeError` (axis-out-of-range) for any other index.
    """
    if not -rank <= axis < limit:
        raise rule_error(AXIS_OUT_OF_RANGE, f"axis {axis} does not exist: the input has {rank_text(rank)}")
    return axis % rank if axis < 0 else axis


COMPOSITE_OPS: dict[str, tuple[str, str, tuple[str, ...], Any]] = {
    "narrow": ("slice", "torch", ("axis/dim", "start", "length"), _expand_narrow),
    "rot90": ("flip", "numpy", ("k?", "axes/dims?"), _expand_rot90),
    "rollaxis": ("moveaxis", "numpy", ("axis", "start?"), _expand_rollaxis),
    "reduce": ("rearrange", "numpy", ("pattern", "lengths?"), _expand_reduce),
}
"""Composite ops, keyed by name.

Each value contains the op that error messages suggest for data files, the dialect that defines the composite op, the
parameters (optional parameters end in `?`), and the function that returns the stages.
"""


def expand_composites(text: str, dialect: object = None) -> str:
    """Replace the composite ops in a chain with their stages.

    Raises `ShapeError` if a stage before a composite op is refused, or if a composite op refuses its input.

    >>> expand_composites("2,3,4 | transpose 2,0,1 | narrow 0 1 2")
    '2,3,4 | transpose 2,0,1 | slice 1:3 --dialect torch'
    """
    if not any(word in text for word in (*COMPOSITE_OPS, "order")):
        return text
    shape, *stages = split_outside_brackets(text, "|")
    for index, stage in enumerate(stages):
        words = split_outside_brackets(stage)
        if words and has_order_argument(words):
            stages[index] = f" {' | '.join(map(_quote_words, expand_order(words)))} "
        elif words and words[0] in COMPOSITE_OPS:
            values = list(takewhile(is_value, words[1:]))
            option_words = _add_dialect(words[1 + len(values) :], COMPOSITE_OPS[words[0]][1])
            expanded = expand_composite(
                words[0], _chain_output_shape("|".join([shape, *stages[:index]]), dialect), values
            )
            stages[index] = (
                f" {' | '.join([_quote_words([*expanded_stage, *option_words]) for expanded_stage in expanded])} "
            )
    return "|".join([shape, *stages]).rstrip()


ORDERED_OPS = {"reshape": True, "flatten": False}
"""The ops that accept NumPy's argument `order`. The value is True if the op has a target."""


def expand_order(words: Sequence[str]) -> list[list[str]]:
    """Return the stages that replace a stage with NumPy's argument `order`.

    In the order F, the first axis changes fastest, so the axes are reversed before and after the op. Raises
    `ShapeError` (usage) for an order other than C and F, and for an op without this argument.

    >>> expand_order(["reshape", "6,4", "order=F"])
    [['transpose', '--dialect', 'numpy'], ['reshape', '4,6', '--dialect', 'numpy'], ['transpose', '--dialect', 'numpy']]
    """
    text = join_words(words).replace("--order ", "--order=")
    own = [word for word in split_outside_brackets(text) if not has_order_argument(["", word])]
    order = text.partition("order=")[2].partition(" ")[0].strip("'\"").upper()
    op = "flatten" if own[0] == "ravel" else own[0]
    takes_target = ORDERED_OPS.get(op, False)
    if op not in ORDERED_OPS or order not in ("C", "F") or len(own) <= takes_target:
        shown = escape_unprintable(truncate(f"{own[0]} order={order}"))
        raise usage_error(f"'{shown}' is not read", "reshape TARGET and flatten take order=C and order=F")
    stage = _add_dialect([op, *own[1:]], "numpy")
    reverse = ["transpose", *stage[-2:]]
    if order == "C":
        return [stage]
    if not takes_target:
        return [reverse, stage]
    target = ",".join(reversed(split_outside_brackets(own[1].strip("[]() "), ",")))
    return [reverse, [op, target, *stage[2:]], reverse]


def _chain_output_shape(text: str, dialect: object) -> Shape:
    """Return the output shape of a chain of zero or more stages.

    Raises `ShapeError` if the chain is refused.
    """
    shape, stages = parse_chain(text, dialect)
    if not stages:
        return parse_shape(shape)
    answer = resolve_chain(make_chain_requests(shape, stages, {}))
    if answer.problem is not None:
        raise ShapeError(answer.problem)
    return answer.output or ()


def has_order_argument(words: Sequence[str]) -> bool:
    """Return whether a command line has NumPy's argument `order`.

    Such a command line is interpreted as code.
    """
    return any(word == "--order" or word.removeprefix("--").startswith("order=") for word in words[1:])


def unsupported_op_error(name: str) -> ShapeError | None:
    """Build the usage error for an unsupported op, or return None for other names."""
    if name not in UNSUPPORTED_OPS:
        return None
    why, instead = UNSUPPORTED_OPS[name]
    return usage_error(f"there is no {name} here: {why}", instead)


def find_op(name: str) -> Op:
    """Return the op with the name `name`.

    Raises `ShapeError` (usage) for an unknown op.
    """
    if "," in name or name[:1].isdigit():
        shown = escape_unprintable(truncate(name))
        raise usage_error(
            f"'{shown}' stands where an op is expected", f"write reshape {shown} ..., or {shown} | OP ..."
        )
    return lookup(name, OPS, "operation", other_names=OP_ALIASES, list_command="shapecalc -h")


def parse_stage(words: Sequence[str], *, with_input: bool, dialect: object = None, typed_name: str = "") -> ParsedStage:
    """Parse the words of a stage.

    `dialect` is the dialect of the whole chain, or None. Messages call the op `typed_name`, the alias that the user
    typed. Raises `ShapeError` (usage) for invalid words.

    >>> parse_stage(["reshape", "0,-1", "--opset", "13"], with_input=False).options
    {'opset': '13', 'target': '0,-1'}
    """
    if not words:
        raise usage_error("an operation is missing", f"the operations are {', '.join(OPS)}")
    typed_name = typed_name or words[0]
    words = resolve_aliases(words, dialect, with_input=with_input)
    unsupported = unsupported_op_error(words[0])
    if unsupported is not None:
        raise unsupported
    op = find_op(words[0])
    names = ("input", *op.positional_param_names) if with_input else op.positional_param_names
    values, options = parse_words(
        words[1:],
        op_option_lookup(op),
        op.name,
        allow_named="lengths" not in names,
        max_values=_max_positional_count(names),
        has_input=with_input,
    )
    values = arrange_positional_values(values, names) if values else []
    shape = values.pop(0) if with_input and values else None
    try:
        return ParsedStage(
            op.name,
            assign_positional(values, op.positional_param_names, options, typed_name),
            shape,
        )
    except ExtraValueError as error:
        named = convert_names_to_options(op, ["", *words[1:]])
        if named:
            words = [op.name, *named[1:]]
            return parse_stage(words, with_input=with_input, dialect=dialect, typed_name=typed_name)
        hint = usage_hint(op, with_input=with_input).replace(f"write {op.name}", f"write {typed_name}", 1)
        raise usage_error(error.problem.message, hint) from None


def positional_values(words: Sequence[str]) -> list[str]:
    """Return the positional values of a command line, in order.

    >>> positional_values(["squeeze", "1,3,1", "--axes", "0"])
    ['1,3,1']
    """
    op = find_op(words[0])
    return parse_words(words[1:], op_option_lookup(op), op.name)[0]


def usage_hint(op: Op, *, with_input: bool = True) -> str:
    """Return a hint with the syntax of an op.

    >>> usage_hint(OPS["transpose"])
    'write transpose INPUT [PERM]'
    """
    slots = [(param.name.upper(), param.required) for param in op.params if param.positional]
    words = [name if required else f"[{name}]" for name, required in slots]
    options = [param for param in all_params(op) if not param.positional]
    words += [f"[--{to_dashes(param.name)}{'' if param.type.is_flag else ' ...'}]" for param in options]
    return " ".join(["write", op.name, *(["INPUT"] if with_input else []), *words])


def parse_chain(text: str, dialect: object = None) -> tuple[str, list[tuple[str, Mapping[str, object]]]]:
    """Parse a chain into its input and its stages.

    `dialect` is the dialect of the whole chain, or None. Raises `ShapeError` (usage) if the chain is invalid.

    >>> parse_chain("2,3,4 | transpose 1,0,2 | reshape 2,-1,3")
    ('2,3,4', [('transpose', {'perm': '1,0,2'}), ('reshape', {'target': '2,-1,3'})])
    """
    shape, *stages = split_outside_brackets(expand_composites(text, dialect), "|")
    words = [split_outside_brackets(stage) for stage in stages]
    if [] in words:
        hint = "write INPUT | OP ..., such as 2,3 | flatten, or the input alone"
        raise usage_error("an operation is missing after |", hint)
    parsed = [parse_stage(stage_words, with_input=False, dialect=dialect) for stage_words in words]
    pieces = split_outside_brackets(shape)
    if len(pieces) > 1:
        reject_unbracketed_names(" ".join(pieces))
    return " ".join(pieces), [(stage.op, stage.options) for stage in parsed]


def parse_chain_words(words: Sequence[str]) -> tuple[str, dict[str, object]]:
    """Parse the words of a `chain` command into the chain and the options.

    The syntax is `'INPUT | OP ...' [--where SIZES]`. Raises `ShapeError` (usage) for any other words.

    >>> parse_chain_words(["N,3 | flatten", "--where", "N=2"])
    ('N,3 | flatten', {'where': 'N=2'})
    """
    match list(words):
        case [text]:
            return text, {}
        case [text, "--where", sizes]:
            return text, {"where": sizes}
    message = "a chain is one text in quotes, and the only option here is --where"
    raise usage_error(message, "write 'INPUT | OP ... | OP ...'")


def _is_flag(op: str, name: str) -> bool:
    """Return whether an argument of an op is a flag in some dialect.

    The first call imports all dialects.
    """
    return op in OPS and any(param.name == name and param.type.is_flag for param in all_params(OPS[op]))


def command_pieces(op: str, arguments: Mapping[str, object]) -> list[tuple[str | None, str]]:
    """Return the words of a command line, each paired with the name of its argument.

    The name is None for the op and for the spelling of an option.

    >>> command_pieces("reshape", {"input": "2,3,4", "target": "0,-1", "allowzero": True})
    [(None, 'reshape'), ('input', '2,3,4'), ('target', '0,-1'), (None, '--allowzero')]
    """
    slots = (
        "input",
        *[name for name in (OPS[op].positional_only_names if op in OPS else arguments) if name != "input"],
    )
    pieces: list[tuple[str | None, str]] = [(None, op)]
    pieces += [(name, str(arguments[name])) for name in slots if arguments.get(name) is not None]
    for name, value in arguments.items():
        if name in slots or value is None:
            continue
        if isinstance(value, bool) or (value in ("0", "1") and _is_flag(op, name)):
            pieces.append((None, f"--{'' if value in (True, '1') else 'no-'}{to_dashes(name)}"))
        else:
            pieces += [(None, f"--{to_dashes(name)}"), (name, str(value))]
    return pieces


def argument_texts(request: Request) -> dict[str, object]:
    """Return the arguments of a request as text, keyed by name.

    An argument that the user typed is returned verbatim.
    """
    values = {"input": request.input, **request.arguments}
    texts: dict[str, object] = {
        name: request.argument_texts.get(name) or (shape_text(value) if isinstance(value, tuple) else value)
        for name, value in values.items()
        if name != "operands"
    }
    if "operands" in values:
        texts["operands"] = join_words(operand_texts(request))
    if request.dialect != OPS[request.op].default_dialect:
        texts["dialect"] = request.dialect
    switch = DIALECTS[request.dialect].switch
    if switch and request.switch is not None:
        texts[switch.name] = request.switch
    return texts | {"opset": request.opset, "dtype": request.dtype}


def request_text(answer: Trace | Chain) -> str:
    """Format the request of an answer as one line, with normalized shapes.

    >>> import shapecalc as sc
    >>> request_text(sc.reshape((2, 3, 4), (0, -1))), request_text(sc.chain((2, 3), "transpose"))
    ('reshape 2,3,4 0,-1', '2,3 | transpose')
    """
    if answer.op == "chain":
        return chain_text(answer)
    (request,) = _normalized_requests(answer)
    return _quote_words(_command_words(request.op, argument_texts(request)))


def command_line(answer: Trace | Chain) -> str:
    """Format the request of an answer as a shell command.

    Shapes are normalized. A refused chain ends with the refused stage.

    >>> import shapecalc as sc
    >>> print(command_line(sc.shuffle((3, 4), first=(1, 0), to=(0, -1))))
    shapecalc shuffle 3,4 --first 1,0 --to 0,-1
    >>> print(command_line(sc.chain((2, 3), "transpose", "reshape 1,-1")))
    shapecalc chain '2,3 | transpose | reshape 1,-1'
    """
    from shlex import join

    if answer.op == "chain":
        return join(["shapecalc", "chain", chain_text(answer)])
    (request,) = _normalized_requests(answer)
    return join(["shapecalc", *_command_words(request.op, argument_texts(request))])


def chain_text(answer: Trace | Chain) -> str:
    """Format the requests of an answer as a chain, with normalized shapes.

    >>> import shapecalc as sc
    >>> chain_text(sc.chain((2, 3), "transpose", "reshape [1, -1]"))
    '2,3 | transpose | reshape 1,-1'
    """
    return " | ".join([shape_text(answer.input), *map(stage_line, _normalized_requests(answer))])


def stage_line(request: Request) -> str:
    """Format a request as a stage of a chain.

    The input is omitted.

    >>> import shapecalc as sc
    >>> stage_line(sc.reshape((2, 3), (0, -1)).request)
    'reshape 0,-1'
    """
    return stage_text(request.op, {**argument_texts(request), "input": None})


def stage_text(op: str, options: Mapping[str, object]) -> str:
    """Format an op with options as a stage of a chain.

    Words that contain spaces are quoted.

    >>> stage_text("rearrange", {"pattern": "b c -> c b"})
    'rearrange "b c -> c b"'
    """
    return _quote_words(_command_words(op, options))


def _normalized_requests(answer: Trace | Chain) -> list[Request]:
    """Return the requests of an answer with normalized arguments instead of the text that the user typed."""
    return [replace(trace.request, argument_texts={}) for trace in answer.traces]


def _command_words(op: str, arguments: Mapping[str, object]) -> list[str]:
    pieces = command_pieces(op, arguments)
    return [word for name, text in pieces for word in (split_outside_brackets(text) if name == "operands" else [text])]


def find_invalid_stage(stages: str) -> int | None:
    """Return the index of the first stage that cannot be parsed, or None.

    Shapes are not checked.

    >>> find_invalid_stage("transpose 1,0 | reshap -1 | flatten")
    1
    """
    for index, stage in enumerate(split_outside_brackets(stages, "|")):
        try:
            parsed = parse_stage(split_outside_brackets(stage), with_input=False)
            make_chain_requests((), [(parsed.op, parsed.options)], {})
        except ShapeError:
            return index
    return None


def token_span(stages: str, index: int, problem: Problem) -> tuple[int, int]:
    """Return the span of the token in a chain that caused a problem.

    The token is in the stage at `index`. If the token is unknown, returns the span of the whole stage.

    >>> from shapecalc.core.rules import INDIVISIBLE
    >>> from shapecalc.core.problem import Problem
    >>> token_span("transpose | reshape 5,-1", 1, Problem(INDIVISIBLE, "", argument="target", span=(2, 4)))
    (22, 24)
    """
    pieces = split_outside_brackets(stages, "|")
    start = sum(len(piece) + 1 for piece in pieces[:index])
    piece = pieces[index]
    try:
        value = parse_stage(split_outside_brackets(piece), with_input=False).options.get(problem.argument or "")
    except ShapeError:
        value = None
    import re  # imported here, because only problems in chains need it

    matches = [*re.finditer(rf"(?<![^\s'\"=]){re.escape(str(value))}(?![^\s'\"])", piece)]
    if problem.span is None or len(matches) != 1:
        return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
    value_start = start + matches[0].start()
    return value_start + problem.span[0], value_start + problem.span[1]


class ChainRequest(Record):
    """A parsed chain: the input and the stages with their options."""

    input: str | Iterable[object]
    stages: StageRequests


def parse_chain_request(text: str, shape: object = None) -> ChainRequest:
    """Parse a chain.

    `shape` is the input of a chain that begins with `|`. Raises `ShapeError` (usage) if the chain cannot be parsed.

    >>> parse_chain_request("| transpose 1,0", (2, 3))
    ChainRequest(input=(2, 3), stages=(('transpose', {'perm': '1,0'}),))
    """
    if not text.strip():
        raise usage_error("a chain is missing", "write INPUT | OP ... or | OP ...")
    input_text, stages = parse_chain(text)
    input_shape = input_text or shape
    if not input_shape and input_shape != ():
        raise usage_error("the first chain needs an input", "write INPUT | OP ...", argument="first")
    return ChainRequest(input_shape, tuple(stages))  # type: ignore[arg-type]  # a shape, as a string or as dims

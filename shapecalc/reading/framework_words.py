"""Translate command lines that begin with a framework's function name.

An example of such a line is `pixel_shuffle 1,8,4,4 2`. The signatures of the ops define the function names and the
names and defaults of their arguments. The request is resolved under the rules of the framework, unless the line has the
option `--dialect`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import OPS, operators_of
from shapecalc.core.ops.calls import OpCall, Signature, calls_by_name, find_parameter
from shapecalc.core.ops.op import Op
from shapecalc.core.problem import usage_error
from shapecalc.core.text import is_file_argument, join_words, parse_shape, rank_text, split_outside_brackets
from shapecalc.reading.options import is_value, to_dashes

FRAMEWORKS = ("torch", "numpy", "tensorflow", "jax", "paddle", "openvino")
"""The frameworks in order of preference, used if several of them have a function of the same name."""
IMPLIED_FLAGS = {"split": ("all",)}
"""The flags that every framework's function for an op implies, keyed by op. A split, for example, returns all parts."""
UNEVEN_SPLIT_FUNCTIONS = ("array_split", "tensor_split")
"""The functions that split an axis into parts of unequal size if the number of parts does not divide it."""


INPUT_RANKS = {"mm": (2, 2), "bmm": (3, 3), "dot": (1, 2), "t": (0, 2)}
"""The minimum and maximum input rank of each function that accepts fewer ranks than its op."""


POOLING = "pool"
ONNX_OPERATORS = {
    "Gather": ("take",),
    "AveragePool": (POOLING, "--kind", "average"),
    "GlobalAveragePool": (POOLING, "global", "--kind", "average"),
    "GlobalMaxPool": (POOLING, "global"),
    **{f"Reduce{kind}": ("mean", "--kind", kind.lower()) for kind in ("Sum", "Max", "Min")},
    **dict.fromkeys(("Sub", "Mul", "Div", "Pow", "Where"), ("broadcast",)),
}
"""The op and the options of each ONNX operator. Other operators are found in the signatures of the ops."""


def translate_onnx_operator(words: Sequence[str]) -> list[str] | None:
    """Translate a command line that begins with the name of an ONNX operator.

    Returns None if the first word is not such a name, or is the only word.

    >>> translate_onnx_operator(["Unsqueeze", "2,3", "0"])
    ['unsqueeze', '2,3', '0', '--dialect', 'onnx']
    >>> translate_onnx_operator(["GlobalAveragePool", "1,512,7,7", "--json"])
    ['pool', '1,512,7,7', 'global', '--kind', 'average', '--json', '--dialect', 'onnx']
    """
    operators = {operator.name: (name,) for name, operator in reversed([*operators_of(DIALECTS["onnx"]).items()])}
    replacement = (operators | ONNX_OPERATORS).get(words[0]) if words and words[0][:1].isupper() else None
    if replacement is None or len(words) < 2:
        return None
    op, *own = replacement
    return [op, words[1], *own, *words[2:], *([] if {"-d", "--dialect"} & {*words} else ["--dialect", "onnx"])]


def translate_framework_call(words: Sequence[str], dialect: str, *, with_input: bool) -> tuple[list[str], str] | None:
    """Translate a framework's function call to the command line of an op.

    Returns the command line and the framework. `dialect` is the dialect in the line, or an empty string. Returns None
    for an unknown function. Also returns None for a windowed function, whose name contains the number of spatial dims.
    Raises `ShapeError` (usage) for an input of unsupported rank.

    >>> translate_framework_call(["pixel_shuffle", "1,8,4,4", "2"], "", with_input=True)
    (['depth_to_space', '1,8,4,4', '2'], 'torch')
    >>> translate_framework_call(["chunk", "3", "--dim", "-1", "--json"], "", with_input=False)
    (['split', '-1', '3', '--all', '--json'], 'torch')
    >>> translate_framework_call(["expand_dims", "2,3", "1", "-d", "tf"], "tensorflow", with_input=True)
    (['unsqueeze', '2,3', '--axes', '1', '-d', 'tf'], 'tensorflow')
    """
    call = find_framework_function(words[0], dialect) if words else None
    if call is None:
        return None
    op, signature = call
    values = [*takewhile(is_value, words[1:])]
    options = [*words[1 + len(values) :]]
    inputs, values = (values[:1], values[1:]) if with_input else ([], values)
    for text in inputs:
        _check_input_rank(words[0], text)
    arguments = dict(_assign_values(op, signature, values))
    if len(arguments) < len(values) and "operands" not in arguments:
        return None
    arguments |= _pop_named_arguments(op, signature, options)
    for argument in signature.arguments:
        is_required = any(param.required for param in op.params if param.name == argument.param)
        if is_required and argument.default not in ("", "None"):
            arguments.setdefault(argument.param, argument.default)
    flags = [name for name, value in signature.options.items() if value is True]
    settings = {name: str(value) for name, value in signature.options.items() if value is not True}
    line = [op.name, *inputs, *_argument_words(op, {**settings, **arguments})]
    flags += [*IMPLIED_FLAGS.get(op.name, ()), *(("uneven",) if words[0] in UNEVEN_SPLIT_FUNCTIONS else ())]
    line += [f"--{to_dashes(flag)}" for flag in flags]
    return [*line, *options], dialect or next(name for name in FRAMEWORKS if signature.exists_in(name))


def _check_input_rank(name: str, text: str) -> None:
    """Raise `ShapeError` (usage) if a function does not support the rank of an input.

    `name` is the name of the function, and `text` is the shape of the input.
    """
    low, high = INPUT_RANKS.get(name, (0, None))
    if high is None or text == "-" or is_file_argument(text):
        return
    rank = len(parse_shape(text))
    if not low <= rank <= high:
        takes = f"{low}" if low == high else f"{low} to {high}"
        hint = f"write {'transpose' if name == 't' else 'matmul'}"
        raise usage_error(f"{name} takes {takes} dims, and the input has {rank_text(rank)}", hint, argument="input")


def find_framework_function(name: str, dialect: str = "") -> OpCall | None:
    """Return the op and the signature of a framework's function.

    Returns None if no function with this name is translated. The signature of `dialect` is preferred, then those of
    `FRAMEWORKS` in their order.
    """
    if name in OPS or name[-2:-1].isdigit() or name[:1].isupper():
        return None
    calls = [
        (op, signature)
        for op, signature in calls_by_name().get(name, ())
        if {argument.param for argument in signature.arguments if not argument.default} <= op.param_names
    ]
    for framework in filter(None, (dialect, *FRAMEWORKS)):
        for call in calls:
            if call[1].exists_in(framework):
                return call
    return None


def _assign_values(op: Op, signature: Signature, values: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each positional value with the op parameter to which it is assigned."""
    params = [argument.param for argument in signature.arguments]
    params = [*takewhile(op.param_names.__contains__, params)]
    if "operands" in params:
        before = params.index("operands")
        yield from zip(params[:before], values, strict=False)
        if values[before:]:
            yield "operands", join_words(values[before:])
    elif len(params) == 1 and values:
        yield params[0], ",".join(values)
    else:
        yield from zip(params, values, strict=False)


def _pop_named_arguments(op: Op, signature: Signature, options: list[str]) -> dict[str, str]:
    """Remove the options that are arguments of the function from a list of words.

    Returns the values of these options, keyed by op parameter.
    """
    own = {name: argument.param for argument in signature.arguments for name in argument.names}
    arguments: dict[str, str] = {}
    index = 0
    while index < len(options):
        spelling, equals, value = options[index].partition("=")
        name = spelling[2:].replace("-", "_")
        param = own.get(name) or find_parameter(op, name)
        has_value = bool(equals) or options[index + 1 : index + 2] != []
        if any(flag.name == param and flag.type.is_flag for flag in op.params):
            options[index] = options[index].replace(spelling, f"--{to_dashes(param)}")
            index += 1
            continue
        if spelling[:2] != "--" or param == name or param not in op.param_names or not has_value:
            index += 1
            continue
        arguments[param] = value if equals else options[index + 1]
        del options[index : index + (1 if equals else 2)]
    return arguments


def _argument_words(op: Op, arguments: dict[str, str]) -> list[str]:
    """Format arguments as words.

    Arguments after an omitted positional parameter are written with their names.
    """
    positional = [*takewhile(arguments.__contains__, op.positional_only_names)]
    words = [
        word
        for name in positional
        for word in (split_outside_brackets(arguments[name]) if name == "operands" else [arguments[name]])
    ]
    for name, value in arguments.items():
        if name not in positional:
            words += [f"--{to_dashes(name)}", value]
    return words

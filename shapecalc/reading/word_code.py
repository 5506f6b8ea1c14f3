"""Translate command lines that begin with a function name into code.

An example of such a line is `max_pool2d 1,3,32,32 2`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile

from shapecalc.core.dims import Dim
from shapecalc.core.ops.calls import calls_by_name
from shapecalc.core.problem import ShapeError
from shapecalc.core.text import escape_unprintable, parse_dims, truncate
from shapecalc.reading.code.calls import LIST_FUNCTIONS, is_known_function
from shapecalc.reading.code.sizes import CREATION_FUNCTIONS, SIZE_FUNCTIONS
from shapecalc.reading.commands import UNSUPPORTED_OPS
from shapecalc.reading.layers import MULTI_OPERAND_FUNCTIONS
from shapecalc.reading.options import is_value
from shapecalc.reading.preserving import PRESERVING_FUNCTIONS

TENSOR_NAMES = "xyzabcdefgh"
"""The names of the tensors in the code; the first tensor is `x`."""
CONSTANT_WORDS = {"true": "True", "false": "False", "none": "None"}
"""The Python constant for each lower-case word."""
COMMON_ARGUMENTS = ("dim", "axis", "keepdim", "keepdims")
"""The keyword arguments that functions without a signature accept, as in `x.argmax(dim=1)`."""
ORDER_ARGUMENT = "order="
"""The prefix of NumPy's argument `order` on the command line."""
MODULE_NAMES = {"torch", "F", "nn", "np", "numpy", "tf", "jnp", "jax", "keras", "paddle", "ops", "x"}
"""The accepted prefixes of a function name: modules, and `x` for a method of the tensor."""
JOINING_FUNCTIONS = {"cat", "concat", "concatenate", "stack"}
"""The functions that take a list of tensors if a module name precedes them, as in `torch.cat([x, y])`."""
ARGUMENT_ALIASES = {"kernel": "kernel_size", "scale": "scale_factor"}
"""Short spellings of arguments."""


def translate_to_code(words: Sequence[str]) -> list[str] | None:
    """Translate a command line with a function name to a `code` command line.

    The values before the first option are the tensors and the positional arguments. Options with the name of an
    argument are keyword arguments; other options belong to the command. Returns None for an unknown function.

    >>> translate_to_code(["max_pool2d", "1,3,32,32", "3", "--stride", "2", "--json"])
    ['code', 'F.max_pool2d(x, 3, stride=2)', '--input', 'x=1,3,32,32', '--json']
    >>> translate_to_code(["conv2d", "1,3,32,32", "16", "3"])[1], translate_to_code(["vstack", "2,3", "4,3"])[1:4]
    ('nn.Conv2d(3, 16, 3)(x)', ['np.vstack([x, y])', '--input', 'x=2,3 y=4,3'])
    """
    words = [f"--{word}" if word.startswith(ORDER_ARGUMENT) else word for word in words]
    path, _, name = words[0].rpartition(".") if words else ("", "", "")
    if path and path.partition(".")[0] not in MODULE_NAMES:
        return None
    if not name.isidentifier() or not is_known_function(name) or name in (*CREATION_FUNCTIONS, *SIZE_FUNCTIONS):
        return None
    values = [*takewhile(is_value, words[1:])]
    options = [*words[1 + len(values) :]]
    keywords = _pop_keywords(name, options)
    if not values or name in UNSUPPORTED_OPS:
        return None
    joins = name in MULTI_OPERAND_FUNCTIONS or name in LIST_FUNCTIONS
    count = len(values) if joins else 1
    tensors = dict(zip(TENSOR_NAMES, values[:count], strict=False))
    if len(tensors) < count:
        return None
    arguments = [_to_literal(value) for value in values[count:]]
    code = _format_call(name, [*tensors], arguments, keywords, values[0], path)
    inputs = " ".join([f"{tensor}={_quote_shape(text)}" for tensor, text in tensors.items()])
    return ["code", code, "--input", inputs, *options]


def _format_call(
    name: str,
    tensors: Sequence[str],
    arguments: list[str],
    keywords: Mapping[str, str],
    input_text: str,
    module: str = "",
) -> str:
    """Format a function call as code.

    A convolution with a number of output channels, and an embedding with a table size, is formatted as a layer.
    """
    named = [f"{keyword}={value}" for keyword, value in keywords.items()]
    if name in LIST_FUNCTIONS or (name in JOINING_FUNCTIONS and module):
        operands = f"[{', '.join(tensors)}]"
        return f"{module or 'np'}.{name}({', '.join([operands, *arguments, *named])})"
    path = f"{module}." if module else _call_prefix(name)
    if name == "embedding" and len(arguments) > 1 and arguments[0].isdigit():
        return f"nn.Embedding({', '.join([*arguments, *named])})({tensors[0]})"
    if name.startswith("conv") and (len(arguments) > 1 or "kernel_size" in keywords) and arguments[0].isdigit():
        layer = "".join([part.capitalize() for part in name.split("_")])
        channels = _input_channels(input_text, int(name[-2]))
        return f"nn.{layer}({', '.join([str(channels), *arguments, *named])})({tensors[0]})"
    if name[:1].isupper():
        return f"{path}{name}({', '.join([*arguments, *named])})({', '.join(tensors)})"
    if path.startswith("x."):
        return f"{tensors[0]}.{name}({', '.join([*arguments, *named])})"
    return f"{path}{name}({', '.join([*tensors, *arguments, *named])})"


def _call_prefix(name: str) -> str:
    """Return the text that precedes a function name in code.

    It is `F.`, `np.`, or `x.` for a method.
    """
    for _, signature in calls_by_name().get(name, ()):
        module = signature.path.rpartition(".")[0]
        return f"{module.replace('torch.nn.functional', 'F').replace('torch.nn', 'nn')}."
    if name in PRESERVING_FUNCTIONS or name in ("unfold",):
        return "F."
    return "x."


def _input_channels(text: str, spatial_rank: int) -> Dim:
    """Return the channel dim of an input with trailing spatial axes.

    Raises `ShapeError` (usage) for an invalid shape.
    """
    shape = parse_dims(text, "input")
    return shape[-1 - spatial_rank] if len(shape) > spatial_rank else 1


def _pop_keywords(name: str, options: list[str]) -> dict[str, str]:
    """Remove the options that are arguments of a function.

    Returns their values as code, keyed by keyword.
    """
    calls = calls_by_name().get(name, ())
    names = {own: own for _, signature in calls for argument in signature.arguments for own in argument.names}
    names |= dict.fromkeys(COMMON_ARGUMENTS, "") if not calls else {}
    layer = {own: own for own in ("kernel_size",)} if name.startswith("conv") else {}
    names |= {own: own for own in COMMON_ARGUMENTS if own in names} | layer | {"order": "order"}
    keywords: dict[str, str] = {}
    index = 0
    while index < len(options):
        spelling, equals, value = options[index].partition("=")
        keyword = spelling[2:].replace("-", "_")
        keyword = ARGUMENT_ALIASES.get(keyword, keyword) if keyword not in names else keyword
        if spelling[:2] != "--" or keyword not in names:
            index += 1
            continue
        follows = options[index + 1 : index + 2]
        takes_next = not equals and bool(follows) and is_value(follows[0])
        value = value if equals else follows[0] if takes_next else "true"
        keywords[keyword] = repr(value) if keyword == "order" else _to_literal(value)
        del options[index : index + 1 + takes_next]
    return keywords


def _to_literal(text: str) -> str:
    """Format a value of a command line as a Python literal.

    >>> [_to_literal(text) for text in ("2,3", "-1", "same", "[2]", "true", "0.5")]
    ['(2, 3)', '-1', "'same'", '(2,)', 'True', '0.5']
    """
    word = text.strip()
    if word.lower() in CONSTANT_WORDS:
        return CONSTANT_WORDS[word.lower()]
    if word.replace(".", "", 1).isdigit():
        return word
    try:
        dims = parse_dims(word)
    except ShapeError:
        return repr(escape_unprintable(truncate(word)))
    if len(dims) == 1 and word[:1] not in "[({":
        return str(dims[0]) if word.lstrip("-").isdigit() or word[:1].isupper() else repr(word)
    return f"({', '.join(map(str, dims))}{',' if len(dims) == 1 else ''})"


def _quote_shape(text: str) -> str:
    """Quote a shape that contains spaces for the option `--input`."""
    return f'"{text}"' if " " in text and text[:1] not in "[({" else text

"""Evaluate Python's built-in and `math` functions on known values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import isfinite, nan

from shapecalc.core.dims import Dim, Monomial, is_always_integral
from shapecalc.core.limits import MAX_SHAPE_DIMS
from shapecalc.core.ops.broadcast import BROADCAST
from shapecalc.reading.code.arguments import Call
from shapecalc.reading.code.arithmetic import apply_binary_operator
from shapecalc.reading.code.logic import freeze_value, truth_value
from shapecalc.reading.code.operands import apply_multi_operand
from shapecalc.reading.code.values import (
    UNKNOWN_ELEMENT,
    UNKNOWN_INTEGER,
    Binding,
    CodeDict,
    CodeList,
    CodeValue,
    LayerInstance,
    ProgramSizes,
    TensorChunks,
    TracedTensor,
    is_dim,
    is_number,
    unwrap_size,
)


def _integer_arguments(call: Call) -> list[int]:
    return [call.to_integer(value) for value in call.positional]


def _range(call: Call, _: ProgramSizes) -> CodeValue:
    numbers = range(*_integer_arguments(call))
    if len(numbers) > MAX_SHAPE_DIMS:
        raise call.error(MAX_SHAPE_DIMS.message(f"{len(numbers)} turns"))
    return tuple(numbers)


def _sequence_items(value: CodeValue, call: Call) -> Sequence[Binding]:
    """Return the items of a sequence.

    Raises `ShapeError` (usage) for an unknown sequence.
    """
    if isinstance(value, CodeList):
        return value.bindings
    if isinstance(value, CodeDict):
        return tuple(value.items)  # type: ignore[arg-type]  # keys are constants
    if isinstance(value, LayerInstance) and value.name == "Sequential":
        return value.positional
    if isinstance(value, TensorChunks) and value.count is not None and value.count <= MAX_SHAPE_DIMS:
        return [value.chunk(index) for index in range(value.count)]
    if isinstance(value, tuple):
        return value
    raise call.error(f"{call.name} needs a list of known length", unknown=value, placeholder="LIST")


def _zip(call: Call, _: ProgramSizes) -> CodeValue:
    sequences = [CodeList(_sequence_items(value, call)).items for value in call.positional]
    return tuple(zip(*sequences, strict=False))


def _enumerate(call: Call, _: ProgramSizes) -> CodeValue:
    values, start = call.bind_arguments("iterable", "start")
    return tuple(enumerate(CodeList(_sequence_items(values, call)).items, call.to_integer(start, 0)))


def _to_list(call: Call, _: ProgramSizes) -> CodeValue:
    return CodeList(_sequence_items(call.positional[0], call) if call.positional else ())


def _to_tuple(call: Call, _: ProgramSizes) -> CodeValue:
    return CodeList(_sequence_items(call.positional[0], call) if call.positional else ()).items


def _max_or_min(call: Call, _: ProgramSizes) -> CodeValue:
    choose: Callable[..., int | float] = max if call.name == "max" else min
    values = call.positional
    values = values if len(values) > 1 else CodeList(_sequence_items(values[0], call)).items
    sizes = [unwrap_size(value) for value in values]
    numbers = [size for size in sizes if isinstance(size, int | float)]
    if numbers and len(numbers) == len(sizes):
        unknown = next((number for number in numbers if math.isnan(number)), None)
        return choose(numbers) if unknown is None else unknown
    if sizes and all(size == sizes[0] for size in sizes) and is_dim(sizes[0]):
        return sizes[0]
    named = [size for size in sizes if isinstance(size, Monomial) and is_always_integral(size)]
    if (
        call.name == "max"
        and len(named) == 1
        and all(number <= 1 for number in numbers)
        and len(sizes) == len(numbers) + 1
    ):
        return named[0]  # a symbolic size is at least 1
    if len(named) == 1:
        raise call.error(f"{call.name} of named sizes is not known", unknown=named[0])
    raise call.error(f"{call.name} of named sizes is not known", "give sizes with --where")


def _sum(call: Call, program: ProgramSizes) -> CodeValue:
    """Return the sum of a list of numbers or tensors."""
    values, start = call.bind_arguments("iterable", "start")
    items = CodeList(_sequence_items(values, call)).items

    def add(left: CodeValue, right: CodeValue) -> CodeValue:
        if isinstance(left, TracedTensor) and isinstance(right, TracedTensor):
            return apply_multi_operand(BROADCAST, (left, right), call.error)
        if isinstance(left, TracedTensor) or isinstance(right, TracedTensor):
            tensor = left if isinstance(left, TracedTensor) else right
            return tensor.apply_scalar_op()  # type: ignore[union-attr]  # one of them is a tensor
        if isinstance(left, CodeList) and isinstance(right, CodeList):
            return CodeList((*left.bindings, *right.bindings))
        return apply_binary_operator(left, "+", right, call.error, program)

    total: CodeValue = 0 if start is None else start
    return reduce(add, items, total)


def _absolute(call: Call, _: ProgramSizes) -> CodeValue:
    (value,) = call.positional
    return abs(value) if isinstance(value, int | float) else value


def _make_rounding_function(function: Callable[[float], int]) -> Callable[[Call, ProgramSizes], CodeValue]:
    """Wrap a rounding function so that it takes a call."""

    def convert(call: Call, program: ProgramSizes) -> CodeValue:
        value, *_ = call.positional
        value = unwrap_size(value)
        if value is UNKNOWN_ELEMENT or value is UNKNOWN_INTEGER:
            return UNKNOWN_INTEGER
        if isinstance(value, float):
            if not isfinite(value):
                raise call.error("this number is not known", "give sizes with --where")
            return function(value)
        if isinstance(value, Monomial) and value.denominator > 1:
            return program.round_dim(value, rounds_up=call.name == "ceil")
        if isinstance(value, Monomial):
            program.require_division(value, 1)
        if is_dim(value) or isinstance(value, bool):
            return int(value) if isinstance(value, bool) else value
        if isinstance(value, str) and value.lstrip("-").isdecimal() and len(value) < MAX_DIGITS:
            return int(value)
        raise call.error(f"{call.name} works on numbers only")

    return convert


MAX_DIGITS = 300
REPEATING_FUNCTIONS = {
    **{f"to_{count}tuple": count for count in (1, 2, 3, 4)},
    "_single": 1,
    "_pair": 2,
    "_triple": 3,
    "_quadruple": 4,
    "pair": 2,
}
"""For each helper function that repeats an argument other than a tuple, the number of repetitions.

Sources: timm and torchvision.
"""


def _make_divisible(call: Call, _: ProgramSizes) -> CodeValue:
    """Round a number of channels to a multiple.

    Source: `make_divisible` of timm and torchvision.
    """
    values = call.bind_arguments("v", "divisor", "min_value", "round_limit")
    value, divisor = unwrap_size(values[0]), call.to_integer(values[1], 8)
    least = call.to_integer(values[2], divisor) or divisor
    limit = 0.9 if values[3] is None else values[3]
    if not isinstance(value, int | float) or not isfinite(value) or not isinstance(limit, int | float) or divisor < 1:
        raise call.error("this number is not known", "give sizes with --where")
    rounded = max(least, int(value + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < limit * value else rounded


def _to_float(call: Call, _: ProgramSizes) -> CodeValue:
    (value,) = call.positional
    if isinstance(value, str) and value.strip("+-") in ("inf", "infinity"):
        return float(value)
    return float(value) if isinstance(value, int) and abs(value) < 1 << 53 else value if is_number(value) else nan


def _to_bool(call: Call, _: ProgramSizes) -> CodeValue:
    value = truth_value(call.positional[0]) if call.positional else False
    return nan if value is None else value


def _all(call: Call, _: ProgramSizes) -> CodeValue:
    values = [truth_value(value) for value in CodeList(_sequence_items(call.positional[0], call)).items]
    decisive = call.name == "any"
    return decisive if decisive in values else nan if None in values else not decisive


def _sort_items(call: Call, _: ProgramSizes) -> CodeValue:
    items = CodeList(_sequence_items(call.positional[0], call)).items
    if call.keywords.keys() - {"reverse"} or not all(isinstance(item, int) for item in items):
        raise call.error("the order is not known")
    return CodeList(sorted(items, reverse=call.keywords.get("reverse") is True))  # type: ignore[type-var]


def _make_math_function(function: Callable[[float], float]) -> Callable[[Call, ProgramSizes], CodeValue]:
    """Wrap a `math` function so that it takes a call, and returns nan for unknown numbers."""

    def apply(call: Call, _: ProgramSizes) -> CodeValue:
        if any(value != value for value in call.positional):
            return nan
        try:
            return function(*call.positional)  # type: ignore[arg-type]  # other types raise
        except (TypeError, ValueError, OverflowError):
            return nan

    return apply


BUILTINS: Mapping[str, Callable[[Call, ProgramSizes], CodeValue]] = {
    "range": _range,
    "zip": _zip,
    "enumerate": _enumerate,
    "reversed": lambda call, _: CodeList(CodeList(_sequence_items(call.positional[0], call)).items[::-1]),
    "list": _to_list,
    "tuple": _to_tuple,
    "max": _max_or_min,
    "min": _max_or_min,
    "sum": _sum,
    "abs": _absolute,
    "int": _make_rounding_function(int),
    "round": _make_rounding_function(round),
    "float": _to_float,
    "bool": _to_bool,
    "any": _all,
    "all": _all,
    "sorted": _sort_items,
    "make_divisible": _make_divisible,
    "_make_divisible": _make_divisible,
}
"""Implementations of built-in functions, keyed by name. Each takes a call with evaluated arguments."""


def _repeat(call: Call) -> CodeValue:
    value, times = call.bind_arguments("object", "times")
    count = call.to_integer(times)
    if count > MAX_SHAPE_DIMS:
        raise call.error(MAX_SHAPE_DIMS.message(f"{count} items"))
    return (value,) * count


def _chain(call: Call) -> CodeValue:
    return CodeList([item for value in call.positional for item in _sequence_items(value, call)])


MAX_PRODUCT_ITEMS = 1024
"""The maximum number of items of `itertools.product`."""


def _product(call: Call) -> CodeValue:
    """Return all tuples with one item of each list, like `itertools.product`."""
    lists = [CodeList(_sequence_items(value, call)).items for value in call.positional]
    count = math.prod(map(len, lists))
    if count > MAX_PRODUCT_ITEMS or call.keywords:
        raise call.error(f"a product of {count} items is not supported")
    return CodeList([*itertools.product(*lists)])


def _islice(call: Call) -> CodeValue:
    values, *ends = call.positional
    return tuple(CodeList(_sequence_items(values, call)).items[slice(*map(call.to_integer, ends))])


ITERATION_FUNCTIONS: Mapping[str, Callable[[Call], CodeValue]] = {
    "itertools.repeat": _repeat,
    "itertools.chain": _chain,
    "itertools.islice": _islice,
    "itertools.product": _product,
}
"""Implementations of the functions of itertools, keyed by full name."""
MATH_FUNCTIONS: Mapping[str, Callable[[Call, ProgramSizes], CodeValue]] = {
    "ceil": _make_rounding_function(math.ceil),
    "floor": _make_rounding_function(math.floor),
    "trunc": _make_rounding_function(math.trunc),
    **{
        name: _make_math_function(getattr(math, name))
        for name in (
            *(
                "log",
                "log2",
                "log10",
                "log1p",
                "exp",
                "expm1",
                "pow",
                "hypot",
                "fmod",
                "fabs",
                "copysign",
                "gcd",
                "lcm",
            ),
            *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "degrees", "radians"),
            *("isnan", "isinf", "isfinite", "isclose"),
        )
    },
}
"""Implementations of the `math` functions that are not in `SIZE_FUNCTIONS`, keyed by name."""


def call_list_method(value: CodeList, call: Call) -> tuple[CodeValue, tuple[Binding, ...] | None]:
    """Call a method of a list.

    Returns the result and the new items of the list. The items are None if they do not change. Raises `ShapeError`
    (usage) for an unsupported method.
    """
    name, items, arguments = call.name, value.bindings, call.positional
    if name == "append" and len(arguments) == 1:
        return None, (*items, arguments[0])
    if name in ("extend", "__iadd__") and len(arguments) == 1:
        return None, (*items, *_sequence_items(arguments[0], call))
    if name == "insert" and len(arguments) == 2:
        index = call.to_integer(arguments[0])
        return None, (*items[:index], arguments[1], *items[index:])
    if name == "pop" and items:
        index = call.to_integer(arguments[0] if arguments else None, -1)
        if not -len(items) <= index < len(items):
            raise call.error(f"there is no such element among {len(items)}")
        item = CodeList(items[index : index + 1 or None]).items[0]
        return item, (*items[:index], *items[index + 1 or len(items) :])
    if name in ("reverse", "clear", "copy") and not arguments:
        return {"reverse": (None, items[::-1]), "clear": (None, ()), "copy": (CodeList(items), None)}[name]
    if name in ("index", "count") and len(arguments) == 1:
        plain = freeze_value(value)
        if isinstance(plain, tuple) and arguments[0] in plain and all(isinstance(item, int | str) for item in plain):
            return getattr(plain, name)(arguments[0]), None
    raise call.error(f"{name} of a list is not supported")


def get_length(value: CodeValue) -> Dim | None:
    """Return the length of a list, tuple, dict or `Sequential`.

    Returns None for any other value.
    """
    if isinstance(value, CodeList):
        return len(value.bindings)
    if isinstance(value, CodeDict):
        return len(value.items)
    if isinstance(value, LayerInstance) and value.name == "Sequential":
        return len(value.positional)
    return value.count if isinstance(value, TensorChunks) else len(value) if isinstance(value, str | tuple) else None

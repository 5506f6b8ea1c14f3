"""Library calls that compute the answers of ops, generated from the signatures of the ops."""

from __future__ import annotations

from itertools import accumulate

from shapecalc.core.answers import CHAIN_TENSOR
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops.op import operator_of
from shapecalc.core.problem import ShapeError
from shapecalc.core.requests import make_request
from shapecalc.core.resolve import resolve
from shapecalc.render.code.calls import operand_shapes
from tests.engines.library_worker import pairs_of
from tests.plans import LARGEST, size


def vector_answers(op, dialect):
    """Return the answers to the test vectors of an op that have numeric sizes and are not refused.

    If the dialect lacks the op, the rules of the op's default dialect apply.
    """
    options = {"dialect": dialect} if dialect in DIALECTS and operator_of(op, DIALECTS[dialect]) else {}
    result = []
    for shape, arguments in op.vectors:
        try:
            answer = resolve(make_request(op.name, shape, {**arguments, **options}))
        except ShapeError:
            continue
        if answer.output is not None and answer.is_concrete and size(answer.output) < LARGEST:
            result.append(answer)
    return result


def call_text(call, answer):
    """Return the code of a call for an answer, or None if the call lacks one of its arguments.

    The input is `x`, and the operands have the names of `operand_shapes`.
    """
    arguments, part = dict(answer.request.arguments), answer.request.arguments.get("part", 0)
    arguments.pop("part", None)
    if any(arguments.pop(name, None) != value for name, value in call.options.items()):
        return None
    arguments = _framework_arguments(call, answer, arguments)
    if not arguments.keys() - {"operands"} <= {argument.param for argument in call.arguments}:
        return None
    values = {name: repr(_plain_value(value)) for name, value in arguments.items()}
    if "weight" in values:
        values["weight"] = "x1"
    names, items = iter(operand_shapes((answer,))), arguments.get("operands", ())
    items = items if CHAIN_TENSOR in items else (CHAIN_TENSOR, *items)
    values["operands"] = f"[{', '.join('x' if item == CHAIN_TENSOR else next(names) for item in items)}]"
    parts = _argument_texts(call, values)
    if parts is None:
        return None
    tensor = [] if call.is_method or "(x" not in call.text else ["x"]
    text = f"{call.path}({', '.join([*tensor, *parts])})"
    return f"{text}[{part}]" if answer.op == "split" else text


def _framework_arguments(call, answer, arguments):
    """Convert the values of an op's arguments to the values that a framework's call expects."""
    if answer.op == "pad":
        pairs = pairs_of(len(answer.input), arguments["padding"], arguments.pop("axes", None))
        is_reversed = call.exists_in("torch")
        arguments["padding"] = [width for pair in pairs[::-1] for width in pair] if is_reversed else pairs
    if answer.op == "split" and call.exists_in("numpy"):  # NumPy expects split indices instead of sizes
        arguments.pop("all", None)
        if sizes := arguments.pop("sizes", None):
            arguments["parts"] = [*accumulate(sizes)][:-1]
        if "array_split" in call.names:
            arguments.pop("uneven", None)
    return arguments


def _argument_texts(call, values):
    """Return the arguments of a call as code, or None if a required argument is missing."""
    parts = []
    for index, argument in enumerate(call.arguments):
        value = values.get(argument.param)
        is_positional = all(earlier.param in values for earlier in call.arguments[:index])
        if value is None and not argument.default and argument.param != "lengths":
            return None
        if value is not None:
            is_unpacked = argument.param == "operands" and argument.style == "*"
            parts.append(f"*{value}" if is_unpacked else value if is_positional else f"{argument.names[0]}={value}")
    return parts


def _plain_value(value):
    """Return the only item of a tuple with one item, and any other value unchanged."""
    return value[0] if isinstance(value, tuple) and len(value) == 1 else value

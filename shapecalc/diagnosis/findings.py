"""Find facts about the numbers of a message and about its resolved request."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from shapecalc.core.answers import Trace
from shapecalc.core.dims import factorization_text, missing_factors_text
from shapecalc.core.ops import OPS
from shapecalc.core.ops.broadcast import BROADCAST
from shapecalc.core.ops.concat import CONCAT
from shapecalc.core.ops.expand import EXPAND
from shapecalc.core.ops.matmul import MATMUL
from shapecalc.core.ops.rearrange import REARRANGE
from shapecalc.core.ops.reshape import RESHAPE
from shapecalc.core.ops.shuffle import SHUFFLE
from shapecalc.core.ops.transpose import TRANSPOSE
from shapecalc.core.ops.unflatten import UNFLATTEN
from shapecalc.core.text import rank_text
from shapecalc.diagnosis.match import PrintedSizes, format_sizes
from shapecalc.diagnosis.reading import (
    DECLARED_INPUT,
    LOSS_SUBJECT,
    MASK_SUBJECT,
    WEIGHTS_SUBJECT,
    ParsedMessage,
    known_size_product,
    resolve_zeros,
    size_product,
    sizes_to_dims,
)
from shapecalc.diagnosis.suggestions import describe_factors, find_rank_and_permutation, numeric_sizes, unequal_axes
from shapecalc.reasoning.fixing import find_differing_dims
from shapecalc.reasoning.operand_mismatch import find_missing_flatten, find_size_mismatch

MAX_RATIO = 4096
"""The largest ratio of element counts that is reported."""
MAX_SIZE_RATIO = 64
"""The largest ratio of two sizes that is reported."""
MULTIPLE_CONDITION = re.compile(r"(?i)eq\(mod\((.{1,200}?), (\d+)\), 0\)")
"""A divisibility condition as printed by SymPy."""
METHOD_CALL = re.compile(r"\.(?!view|reshape|expand|repeat)\w+\([^()]*\)")
"""A method call other than a reshape or an expand."""
EXPECTED_RANK = re.compile(r"(?i)(?:rank .*expected: |ndim=|to have )(\d)\b")
"""The expected rank in a message."""
DIM_MISMATCH = re.compile(r"(?i)index: (\d{1,3}) got: (-?\d{1,19}) expected: (-?\d{1,19})")
"""A dim that differs from the declared size, as printed by ONNX Runtime."""
SETTING = re.compile(r"(?<![\w-])(?:--)?([A-Za-z]\w{1,40}_\w{1,40})(?:[ =:]{1,3})(\d{1,9})\b")
"""A setting in a log or a command line, such as `--batch_size 32` or `num_classes=10`."""
HEAD_NAMES = re.compile(r"(?i)\bn(?:um)?_?heads?\b|head_dim|attn|attention|qkv")
"""Names in code that computes attention."""
HIDDEN_CAUSES = "a 0 or -1 that was replaced before it was printed, strides, or a switch"


def operation_noun(op: str | None) -> str:
    """Return the noun for an op with several operands or a window.

    Returns an empty string for other ops.

    >>> operation_noun("matmul"), operation_noun("reshape"), operation_noun(None)
    ('a matrix product', '', '')
    """
    return OPS[op].noun if op is not None and op in OPS else ""


def find_facts(message: ParsedMessage, trace: Trace | None) -> Iterator[str]:
    """Yield sentences about the sizes in a message, and about its resolved request."""
    yield from chain(
        _iter_rank_findings(message),
        _iter_operand_findings(message, trace),
        _iter_element_count_findings(message),
        _iter_difference_findings(message),
        _iter_slice_findings(message),
    )
    yield from chain(_iter_rule_findings(message, trace), _iter_code_findings(message))


def _iter_rank_findings(message: ParsedMessage) -> Iterator[str]:
    """Yield facts about an invalid axis, index or permutation, or an expanded dim."""
    if message.pair is not None and message.op == EXPAND.name:
        yield f"the tensor has {message.pair[0]} there, which is neither 1 nor the {message.pair[1]} that is asked for"
    elif message.cause == "bad-axis" and message.pair is not None:
        rank, axis = message.pair
        yield f"the tensor has {rank_text(rank)}, so its axes are 0 to {rank - 1}, and {axis} is asked for"
        calls = [
            call
            for call in METHOD_CALL.findall(message.nearby_text)
            if re.search(rf"\b{axis}\b", call.partition("(")[2])
        ]
        yield from [f"of the calls before it {calls[-1]} names {axis}"] if calls else ()
    elif message.cause == "too-many-indices" and message.pair is not None:
        yield f"the array has {rank_text(message.pair[0])}, and the index names {message.pair[1]}"
    elif message.op == TRANSPOSE.name:
        known_rank, perm = find_rank_and_permutation(message)
        axis_count = message.pair[1] if message.pair else len(perm)
        if known_rank and axis_count and known_rank != axis_count:
            yield f"the tensor has {rank_text(known_rank)}, and the permutation names {axis_count}"
        if known_rank and axis_count == known_rank + 1:
            yield "one dim is missing: a grey image has no channels, a lone sample has no batch"


def _iter_operand_findings(message: ParsedMessage, trace: Trace | None) -> Iterator[str]:
    """Yield facts about the mismatching sizes of two operands."""
    pair = find_mismatch(message, trace) if operation_noun(message.op) and message.cause != "ranks-differ" else None
    flatten = find_missing_flatten(trace.request) if trace is not None and trace.problem else ""
    yield from _iter_named_sizes(message, pair)
    if flatten:
        yield flatten
    elif (
        pair is not None
        and min(pair) > 4
        and pair[0] != pair[1]
        and max(pair) % min(pair) == 0
        and max(pair) // min(pair) <= MAX_SIZE_RATIO
    ):
        yield f"{max(pair)} = {max(pair) // min(pair)}*{min(pair)}"


def _iter_named_sizes(message: ParsedMessage, pair: tuple[int, int] | None) -> Iterator[str]:
    """Yield the settings in the surrounding text that have a mismatching size as their value."""
    settings = SETTING.findall(message.nearby_text)
    for size in pair or ():
        names = dict.fromkeys(name for name, value in settings if int(value) == size > 1)
        yield from [f"{size} is {' and '.join([*names][:2])} in this text"] if names else ()


def iter_declaration_findings(message: ParsedMessage) -> Iterator[str]:
    """Yield facts about a mismatch with a declared shape, or a failed export guard."""
    if condition := MULTIPLE_CONDITION.search(message.quote):
        origin = re.search(r"(?:Caused by:|code:) ([^#]{1,100})", message.nearby_text)
        line = f", for {origin[1].strip()}" if origin else ""
        yield f"it asks whether {condition[1]} is a multiple of {condition[2]}, as a view or a reshape does{line}"
    elif mismatches := find_dim_mismatches(message):
        yield from (f"dim {axis} is {actual}, and {declared} is declared" for axis, actual, declared in mismatches)
    elif message.pair is not None and message.about == LOSS_SUBJECT:
        yield f"{message.pair[0]} predictions, {message.pair[1]} targets"
    elif message.pair is not None and message.about == MASK_SUBJECT:
        yield f"the axis has {message.pair[0]}, the mask {message.pair[1]}"
    elif message.pair is not None and message.about == WEIGHTS_SUBJECT:
        yield f"{message.pair[0]} in the checkpoint, {message.pair[1]} in the model"
    elif message.pair is not None and message.about == DECLARED_INPUT:
        rank = "a rank of " if EXPECTED_RANK.search(message.quote) or is_rank_pair(message) else ""
        yield f"{rank}{message.pair[0]} is given where {rank}{message.pair[1]} was declared"
    elif message.input is not None and message.operands:
        shape, declared_shape = message.input, message.operands[0]
        differences = numeric_differences(shape, declared_shape)
        if len(shape) == len(declared_shape) and len(differences) == 1:
            yield "only dim {} differs: {} and {}".format(*differences[0])
        elif shape != declared_shape and size_product(shape) == size_product(declared_shape) is not None:
            yield f"both hold {size_product(shape)} elements, so one may be a reshape or a transpose of the other"


def is_rank_pair(message: ParsedMessage) -> bool:
    """Return whether the two numbers of a message about a declared input are ranks."""
    return message.framework == "tflite" and message.about == DECLARED_INPUT and message.dim is None


def find_dim_mismatches(message: ParsedMessage) -> list[tuple[str, str, str]]:
    """Return the index, the actual and the declared size of each mismatching dim.

    The dims are parsed from a message of ONNX Runtime.
    """
    text = f"{message.quote} {message.nearby_text}".partition("invalid dimensions for input: ")[2].partition(
        "invalid dim"
    )[0]
    return [*dict.fromkeys(DIM_MISMATCH.findall(text))]


def _iter_element_count_findings(message: ParsedMessage) -> Iterator[str]:
    """Yield a comparison of the element counts of the input and the target."""
    count = message.elements if message.input is None else size_product(message.input)
    target_count = (
        known_size_product(resolve_zeros(message)) if message.target_elements is None else message.target_elements
    )
    if (
        count is None
        or target_count is None
        or message.strides
        or message.op not in (RESHAPE.name, SHUFFLE.name, UNFLATTEN.name)
    ):
        return
    is_partial = message.cause == "indivisible" or -1 in (message.target or ())
    target = "known dims of the target" if is_partial else "target"
    yield f"elements of the input: {factorization_text(count)}; of the {target}: {factorization_text(target_count)}"
    if not count or not target_count or count == target_count:
        return
    factors = describe_factors(count, numeric_sizes(message.target)) if message.input is None or is_partial else ""
    missing = missing_factors_text(count, target_count)
    large, small = max(count, target_count), min(count, target_count)
    if factors or missing:
        yield factors or f"{count} has {missing}"
    elif large % small == 0 and large // small <= MAX_RATIO:
        times = f"{large // small} times as many elements as the"
        verb = "hold" if is_partial else "holds"
        ratio = f"the input has {times} {target}" if count > target_count else f"the {target} {verb} {times} input"
        yield f"{ratio}{_describe_triple(message) if large == 3 * small else ''}"


def _describe_triple(message: ParsedMessage) -> str:
    """Explain a ratio of 3 by queries, keys and values, or by the channels of an image."""
    if HEAD_NAMES.search(f"{message.nearby_text} {message.line.text if message.line else ''}"):
        return ": would be queries, keys and values in one"
    is_picture = {1, 3} & {*(message.target or ()), *(message.input or ())}
    return ": often RGB against grey" if is_picture else ""


def _iter_difference_findings(message: ParsedMessage) -> Iterator[str]:
    """Yield the dims in which the input and the target differ, if all other dims are equal."""
    if message.input is None or message.target is None:
        return
    extra = find_extra_axis(message)
    if extra is not None:
        yield f"without its axis {extra}, of size {(message.input or ())[extra]}, the counts agree"
    elif message.op == EXPAND.name:
        pairs = numeric_differences(message.input[::-1], message.target[::-1])
        texts = [
            f"{one} at dim -{axis + 1} of the input, where {two} is requested" for axis, one, two in pairs if one != 1
        ]
        yield from [", ".join(texts)] if texts else ()
    elif message.cause in ("count-mismatch", "not-broadcastable"):
        _, dims, target_dims = find_differing_dims(sizes_to_dims(message.input), sizes_to_dims(message.target))
        if dims and target_dims and len(dims) < len(message.input):
            yield f"only this differs: {format_sizes(dims)} in the input, {format_sizes(target_dims)} in the target"


def find_extra_axis(message: ParsedMessage) -> int | None:
    """Return the input axis whose removal makes the element counts of a reshape equal.

    Axes that leave exactly the dims of the target are preferred, then later axes. The leading batch is never removed.
    Returns None if there is no such axis.
    """
    shape, target = message.input or (), message.target or ()
    count = size_product(target)
    if message.op != RESHAPE.name or message.cause != "count-mismatch" or not count:
        return None
    axes = [axis for axis in range(len(shape) - 1, 0, -1) if shape[axis] != 1]
    rests = [(axis, (*shape[:axis], *shape[axis + 1 :])) for axis in axes]
    equal = [axis for axis, rest in rests if rest == target]
    return next(iter([*equal, *(axis for axis, rest in rests if size_product(rest) == count)]), None)


def _iter_slice_findings(message: ParsedMessage) -> Iterator[str]:
    """Yield the axes along which a slice is longer than its input."""
    if message.cause == "out-of-range" and len(message.input or ()) == len(message.target or ()):
        triples = numeric_differences(message.input or (), message.target or ())
        yield from (f"{size} are taken along axis {axis}, where the input has {dim}" for axis, dim, size in triples)
        yield "ONNX's Expand is such a slice in TensorRT: only a dim of 1 can grow"


def _iter_rule_findings(message: ParsedMessage, trace: Trace | None) -> Iterator[str]:
    """Yield the rule that refuses a request, or the output of the request."""
    arguments = message.line.arguments if message.line else ("-1",)
    can_hide_infer = arguments[0] == "-1" or (len(arguments) == 1 and ".shape" not in arguments[0])
    if trace is None or message.op == CONCAT.name:
        return
    if trace.problem is not None and (message.strides or message.op in (EXPAND.name, REARRANGE.name)):
        hint = trace.problem.hint if message.strides else ""
        yield ": ".join(filter(None, (trace.problem.message, hint)))
    if trace.output is not None and trace.conditions:
        yield f"it holds when {' and '.join(condition.phrase for condition in trace.conditions)}"
    elif trace.output is not None:
        if message.op == BROADCAST.name:
            yield f"together they are {format_sizes(trace.output)}, and the tensor that is to hold them is not"
        elif not operation_noun(message.op):
            yield f"these rules give {format_sizes(trace.output)}, so the message hides something: {HIDDEN_CAUSES}"
    if message.framework == "numpy" and message.cause == "count-mismatch" and message.target and can_hide_infer:
        yield "NumPy does not print a -1 that stands first, so the code may begin with one"


def _iter_code_findings(message: ParsedMessage) -> Iterator[str]:
    """Yield the element count of the target in the failing call.

    Yields nothing if the message itself contains the target.
    """
    line = message.line
    if line is not None and message.cause == "count-mismatch" and message.target is None:
        count = known_size_product(line.sizes)
        yield from [] if count is None else [f"{line.text} takes {factorization_text(count)} elements"]


def numeric_differences(shape: PrintedSizes, other: PrintedSizes) -> list[tuple[int, int, int]]:
    """Return the axes along which two shapes differ, each with both sizes.

    Named and unknown sizes are ignored.
    """
    pairs = ((axis, shape[axis], other[axis]) for axis in unequal_axes(shape, other))
    return [(axis, one, two) for axis, one, two in pairs if isinstance(one, int) and isinstance(two, int)]


def find_differences(message: ParsedMessage) -> list[tuple[int, int, int]]:
    """Return the axes along which the two operands of a message differ, each with both sizes.

    For a broadcast, axes with a size of 1 are omitted.
    """
    rows = numeric_differences(message.input or (), (message.operands or ((),))[0])
    return [row for row in rows if message.op != BROADCAST.name or 1 not in row[1:]]


def find_mismatch(message: ParsedMessage, trace: Trace | None) -> tuple[int, int] | None:
    """Return the two mismatching sizes, or None if they are unknown."""
    if message.pair is not None or message.input is None:
        return message.pair
    other = message.target or (message.operands or ((),))[0]
    differ = (
        numeric_differences(message.input[::-1], other[::-1]) if message.op in (BROADCAST.name, EXPAND.name) else []
    )
    has_paired_dims = message.op == CONCAT.name or (message.op == MATMUL.name and message.cause == "dims-differ")
    if has_paired_dims and len(message.input) == len(other):
        joined = numeric_differences(message.input, other)
        if len(joined) == 1:
            return joined[0][1:]
    if message.op == BROADCAST.name and len(differ) > 1:
        differ = [row for row in differ if 1 not in row[1:]]
    if len(differ) == 1 and differ[0][0] in (0, 2):
        return differ[0][1:]
    return None if trace is None else find_size_mismatch(trace.request)

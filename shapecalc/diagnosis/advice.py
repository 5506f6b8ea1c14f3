"""Give advice on parsed error messages.

The advice consists of verified fixes, explanations of the numbers in a message, and the missing information.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice, permutations
from math import isqrt, prod
from shlex import quote

from shapecalc.core.answers import Trace
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import ParamType
from shapecalc.core.dims import Shape
from shapecalc.core.ops import OPS
from shapecalc.core.ops.broadcast import BROADCAST
from shapecalc.core.ops.concat import CONCAT
from shapecalc.core.ops.conv import CONV
from shapecalc.core.ops.einsum import EINSUM
from shapecalc.core.ops.expand import EXPAND
from shapecalc.core.ops.linear import LINEAR
from shapecalc.core.ops.matmul import MATMUL
from shapecalc.core.ops.pool import POOL
from shapecalc.core.ops.rearrange import REARRANGE
from shapecalc.core.ops.reshape import RESHAPE
from shapecalc.core.ops.shuffle import SHUFFLE
from shapecalc.core.ops.squeeze import SQUEEZE
from shapecalc.core.ops.stack import STACK
from shapecalc.core.ops.tile import TILE
from shapecalc.core.ops.transpose import TRANSPOSE
from shapecalc.core.ops.unflatten import UNFLATTEN
from shapecalc.core.ops.unsqueeze import UNSQUEEZE
from shapecalc.core.ops.view import VIEW
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import replace
from shapecalc.core.requests import make_request
from shapecalc.core.rules import INDIVISIBLE, VOLUME_MISMATCH
from shapecalc.diagnosis.causes import CAUSES
from shapecalc.diagnosis.count_steps import has_literals, iter_count_steps
from shapecalc.diagnosis.evidence import (
    MODEL_CALL,
    ONNX_FRAMEWORKS,
    RemedyStep,
    failing_code,
    format_insertion,
    has_product,
    print_step,
    show_size,
)
from shapecalc.diagnosis.explanations import explain_message
from shapecalc.diagnosis.findings import (
    find_extra_axis,
    find_facts,
    find_mismatch,
    numeric_differences,
    operation_noun,
)
from shapecalc.diagnosis.layer_steps import iter_layer_steps
from shapecalc.diagnosis.match import PrintedSizes, format_sizes
from shapecalc.diagnosis.operand_steps import (
    ASSIGNED_VALUE,
    ATTENTION_MASK,
    INDEX_ASSIGNMENT,
    MULTIPLES,
    format_model_widths,
    iter_operand_steps,
    written_axis,
)
from shapecalc.diagnosis.phrases import find_first_step
from shapecalc.diagnosis.reading import MAX_BATCH, ParsedMessage, is_frozen_input, known_size_product
from shapecalc.diagnosis.subjects import (
    FREE_BATCH_COMMAND,
    MAX_ASSUMPTIONS,
    MAX_FIXES,
    WEAK_KINDS,
    Advice,
    advise_on_subject,
    word_as_condition,
)
from shapecalc.diagnosis.suggestions import (
    find_rank_and_permutation,
    numeric_sizes,
    suggest_fixes,
    suggest_remedies,
    unequal_axes,
)
from shapecalc.diagnosis.table_steps import iter_table_steps
from shapecalc.reading.commands import command_line
from shapecalc.reasoning.answers import answer_request
from shapecalc.reasoning.fixing import Fix, apply_fix, find_fixes
from shapecalc.reasoning.number_mismatch import TOKEN_POSITIONS, Explanation
from shapecalc.reasoning.operand_mismatch import insert_unit_dims

TARGET_ARGUMENTS = {
    op.name: next(param.name for param in op.params if param.type is ParamType.TARGET)
    for op in (RESHAPE, SHUFFLE, EXPAND, TILE)
}
"""The name of the target argument of each op."""
WEIGHT_OPS = (CONV.name, LINEAR.name)
"""The ops that have a weight as their second operand."""
COMPUTED_ZERO_REMEDY = "find what makes that size 0: a division that rounds down, or a selection that matched nothing"
REPEAT_REMEDY = "repeat the one of size 1, x.expand(...), if these are batches: a concatenation does not broadcast"
MOVED_AXIS_REMEDY = (
    "print the shape of the one with 1: if {} is on another of its axes, transpose it; a row for all is repeated"
)
ASSIGN_REMEDY = "assign to a slice of the value's size, x[:n], or make the value as large as the slice that it replaces"
EMPTY_SIDE_REMEDY = (
    "print x.shape before that line: one side is all but empty, as after a slice, a crop or a transpose; the padding "
    "is counted in it, so it may be 0"
)
SHORT_SEQUENCE_REMEDY = (
    "print(x.shape) before that layer: its last dim is shorter than the window: pad or skip such short sequences or "
    "recordings; if the long axis is another one, the axes are swapped"
)
OBSERVATION = re.compile(r"buf_obs|_save_obs|vec_env")
"""Names in the code that stores the observations of an environment."""
OBSERVATION_REMEDY = (
    "print(env.observation_space.shape, obs.shape) where reset and step return obs: the environment returned ({0}), "
    "and its observation_space says ({1}): compute both from the same sizes, and run check_env(env)"
)
CONVERTED_REMEDY = (
    "if the input was resized, as by resize_tensor_input or another batch, the reshape still holds the sizes of the "
    "conversion: give the model the shape that it was converted with, or convert it again with None for that dim; if "
    "the code has a reshape with numbers, write -1 for the one that varies"
)
REEXPORT_REMEDY = (
    "give the model the size that it was exported with, or export it again with dynamic axes: a size that Python "
    "computed is a constant in the file"
)
REORDERINGS = ("transpose", "move", "put")
"""The first words of fixes that change the order of the dims."""
WRITTEN_TARGET = re.compile(r"write -?\d+(?:,-?\d+)*(?=:|$)")
"""The start of a fix that changes the target."""
LAYER_FIX = re.compile(r"let the \w+(?: operand)? take (\d+) features")
"""The start of a fix that gives a layer more inputs."""
STRUCTURAL_CHANGES = ("insert", "drop", "if its axes", "reshape", "flatten")
"""The first words of fixes that change the order or the number of dims; the sizes then need no explanation."""
JOIN_AXIS = "joined along axis"
ROUNDING_KINDS = ("one-more", "stride", "rounding")
"""The kinds of explanations by rounding; their advice is omitted beside a step with the same padding."""
EMPTY_REMEDIES = {
    "empty-input": "print what it is selected or cut from: find what left nothing, as a filter, a mask, a slice behind "
    "the end or a limit; skip this step only if nothing is a valid case",
    "infer-with-empty": "run it with at least one sample: a dim of 0 leaves nothing from which -1 follows",
}
"""The first remedies for an input without elements, by cause."""
UNSIGNED_NUMBER = re.compile(r"\b(?:4294967295|18446744073709551615)\b")
UNSIGNED_REMEDY = (
    "{} is -1, read as an unsigned number: update the runtime, or run a 64-bit build; the shapes of the model are right"
)
EMPTY_TARGET_REMEDY = "print what computes the target: it is empty, so the result would be a scalar; a vector is -1"
LAYER_CALL = re.compile(r"\bself(?:\.\w+)+\(|\bF\.linear\(")
"""A call of a layer in a line of code; its weight is not an operand in the code."""
XARRAY_SIZES = re.compile(
    r"conflicting sizes for dimension ('[^']{1,60}'): "
    r"length (\d+) on (.{1,60}?) (?:but|and) length (\d+) on ([\w ]{0,20}'[^']{1,60}')"
)
"""The dim and its two sizes, as printed by xarray."""
ASSIGNMENT = re.compile(r"\s*[\w.]+\[.{1,60}?\] ?= ")
"""An assignment to an item or a slice."""
WEIGHT_ASSIGNMENT = re.compile(r"\.(?:weight|bias)\b.*=")
"""An assignment to a weight of a layer."""
MIN_TABLE = 64
"""The minimum length of a table with one entry for each length up to a maximum."""
MAX_PERMUTED_RANK = 4
"""The maximum rank for which all permutations of the axes are tried."""
COMPUTED_KINDS = ("prompts", "floored", "boxes")
"""The kinds of explanations by a computed size; they replace all fixes of the target."""
CERTAIN_KINDS = ("rounding", "heads")
"""The kinds of explanations that precede other fixes of a reshape if the line of code is unknown."""
PROFILE_VALUES = re.compile(r"k(?:OPT|MIN|MAX) values for profile")
"""The words of a TensorRT message about the sizes in an optimization profile."""
MAX_COUNT_RATIO = 64
"""The largest ratio of two element counts for which a changed target is suggested."""
COUNT_RULES = (INDIVISIBLE, VOLUME_MISMATCH)
"""The rules that compare element counts."""
FRAMEWORK_REMEDIES = {
    (
        "lengths-differ",
        "pandas",
    ): "assign before rows are dropped, or give the values the index of these rows",
    (
        "lengths-differ",
        "dask",
    ): "blocks pair up from the last dim on: insert a dim, x[:, None], or rechunk",
    (
        "lengths-differ",
        "xarray",
    ): "print the sizes and coordinates of the array; where an array is made, list dims in the order of the axes, and "
    "make each coordinate from its data; edges are one more",
    ("lengths-differ", "matplotlib"): "print(len(x), len(y)) before that line, and plot both from the same rows",
    ("lengths-differ", "sklearn"): "filter or split both with the same rows; fit takes (X, y), the data and its labels",
    ("lengths-differ", "jax"): "give all mapped arguments one length, or in_axes=None to one that is not mapped",
    ("lengths-differ", "numpy"): "make both from the same rows, and print their lengths before that line",
    ("lengths-differ", "torch"): "print both shapes before that line, and make them equal where they are made",
    ("indivisible", "torch"): "print both numbers where they are set: the groups or heads must divide the channels",
    ("lengths-differ", "coreml"): "print both shapes: the converter does not broadcast an assigned value; if one is "
    "meant for all, expand it before",
    (
        "dims-differ",
        "tensorflow",
    ): "print both shapes before that line; if these are maps of a network that halves and doubles them, give it "
    "pictures whose sides are multiples of all its strides, as of 32 or 128",
    (
        "channels-differ",
        "torch",
    ): "print(x.shape) before that layer, and compare its channels, the first number, with those of the layer",
    (
        "features-differ",
        "torch",
    ): "print(x.shape) before that layer: its last dims must be those for which the layer was built",
    ("rank-mismatch", "xarray"): "name each axis of the array once in dims",
    (
        "bad-attribute",
        "onnx",
    ): "allowzero needs opset 14: convert the model, update the tool, or drop it if it is 0",
}
"""The remedies for a cause in one framework, if they differ from the general remedy."""


Fixes = dict[str, str | None]
"""Maps each step to its command, or to None if it has no command."""


def advise_on_message(message: ParsedMessage) -> Advice:
    """Return the advice for a message."""
    if message.about is not None:
        return advise_on_subject(message, message.about)
    message = _complete_concatenation(message)
    trace = _resolve_request(message)
    if trace is not None and trace.output is not None and message.dialect is None and message.op != CONCAT.name:
        trace = None  # a framework without a dialect may have other rules than the default dialect
    verified = dict(_iter_verified_fixes(message, trace))
    is_structural = any(text.startswith(STRUCTURAL_CHANGES) for text in verified)
    explanations = () if is_structural else _drop_weak_explanations(message, explain_message(message, trace))
    if verified and any(found.kind in WEAK_KINDS for found in explanations):
        explanations = tuple(found for found in explanations if found.kind not in WEAK_KINDS)
    command = _code_command(message) if trace is None else command_line(trace)
    is_division = message.cause == "indivisible" and message.op not in (RESHAPE.name, SHUFFLE.name)
    cause = "a size is no multiple of what it is to be divided into" if is_division else CAUSES[message.cause].summary
    summary = ": ".join(filter(None, (operation_noun(message.op), cause)))
    facts = tuple(dict.fromkeys(find_facts(message, trace)))
    if has_literals(message):
        facts = tuple([fact for fact in facts if not fact.endswith("is asked for")])
    missing = _describe_missing_information(message)
    fixes = _order_fixes(message, trace, verified, explanations)
    if not fixes and not (missing and message.cause == "unspecified"):
        fixes = ((CAUSES[message.cause].first_step, None),)
    return Advice(summary, facts, fixes, missing, command, explanations)


def _complete_concatenation(message: ParsedMessage) -> ParsedMessage:
    """Add the axis from the line of code to the message of a concatenation.

    The first operand with a mismatch along another axis is moved to the front.
    """
    shape, operands = message.input or (), message.operands or ()
    joined = message.axes[0] if message.axes else written_axis(failing_code(message))
    if message.op != CONCAT.name or not shape or not operands or not isinstance(joined, int):
        return message
    message = replace(message, axes=(joined,))
    kept = {axis for axis in range(len(shape)) if axis != joined % len(shape)}
    for index, operand in enumerate(operands):
        if len(operand) == len(shape) and kept & {*unequal_axes(shape, operand)}:
            return replace(message, operands=(operand, *operands[:index], *operands[index + 1 :]))
    return message


def _order_fixes(
    message: ParsedMessage, trace: Trace | None, verified: Fixes, explanations: tuple[Explanation, ...]
) -> tuple[tuple[str, str | None], ...]:
    """Return at most `MAX_FIXES` fixes, those with the most evidence first.

    Steps with support in the text come first, then the verified fixes and the advice of an explanation. The advice
    of an explanation with several assumptions follows the general step.
    """
    steps, likely = _find_steps(message), _likely_steps(message, trace)
    supported = _without_commands(step.text for step in steps if step.is_supported)
    texts = [step.text for step in steps if not step.is_supported]
    if (not steps and not likely) or message.op in (RESHAPE.name, SHUFFLE.name):
        texts = [*_general_remedies(message), *texts]
    first, rest = _without_commands(texts[:1]), _without_commands(texts[1:])
    other_axis = {text: command for text, command in verified.items() if text.startswith(JOIN_AXIS)}
    verified = {text: command for text, command in verified.items() if text not in other_axis}
    rounded = {text: command for text, command in verified.items() if text.startswith("cut the")}
    verified = {text: command for text, command in verified.items() if text not in rounded}
    kind = explanations[0].kind if explanations else None
    if (
        kind in COMPUTED_KINDS
        or has_literals(message)
        or is_frozen_input(message)
        or (supported and message.op in (CONV.name, MATMUL.name))
    ):
        verified = {}
    if supported and (kind == "channels" or ATTENTION_MASK in message.quote.lower()):
        explanations = ()
    if likely and kind == "single-row":
        explanations = ()
    if kind in CERTAIN_KINDS:
        verified = {text: command for text, command in verified.items() if not text.startswith("write -1")}
    has_own = (message.op == REARRANGE.name and bool(verified)) or (message.op is None and bool(texts))
    if message.framework == "tflite" and message.target is None and kind == "ratio":
        explanations = ()
    if any(text.startswith("if this is a detector") for text in supported):
        verified = {}
    is_rounded = kind in ROUNDING_KINDS and any(text.startswith(MULTIPLES) for text in supported)
    strong, weak = ({}, {}) if has_own or is_rounded else _explained_steps(explanations)
    is_known = message.line is not None or len(message.target or ()) < 3
    is_explained = operation_noun(message.op) != "" or (not is_known and kind in CERTAIN_KINDS)
    is_batch = any(text.startswith(f"{JOIN_AXIS} 0 ") for text in other_axis)
    is_guess = bool(strong) and explanations[0].assumptions > 0 and message.op not in (RESHAPE.name, SHUFFLE.name)
    if is_guess and all(text.startswith("if ") for text in strong):
        supported |= {text: None for text in first if text.startswith("print")}
        verified = {}
    if _has_other_factor(message) and any("if dim 0 is the batch" in text for text in verified):
        supported |= {text: None for text in first if text.startswith("print")}
    groups = [
        *(likely, supported),
        *((strong, verified) if is_explained else (verified, strong)),
        *(other_axis if is_batch else {}, first, weak, rounded, rest, other_axis),
    ]
    fixes = {text: command for group in groups for text, command in group.items()}
    return tuple(islice(fixes.items(), MAX_FIXES))


def _has_other_factor(message: ParsedMessage) -> bool:
    """Return whether the first dim of a target divides the element count, but the product of all dims does not."""
    target, count = numeric_sizes(message.target), message.elements or 0
    if len(target) < 2 or min(target) < 1 or not 1 < target[0] < count:
        return False
    return count % target[0] == 0 != count % prod(target)


def _drop_weak_explanations(message: ParsedMessage, explanations: tuple[Explanation, ...]) -> tuple[Explanation, ...]:
    """Drop explanations with many assumptions if there is better evidence.

    Better evidence is an explanation with fewer assumptions, or a step with support in the text. Explanations by
    rounding are always kept.
    """
    is_strong = any(found.assumptions <= MAX_ASSUMPTIONS for found in explanations)
    if is_strong or any(step.is_supported for step in _find_steps(message)):
        kept = [found for found in explanations if found.assumptions <= MAX_ASSUMPTIONS or found.kind in ROUNDING_KINDS]
        return tuple(kept)
    return explanations


def _find_steps(message: ParsedMessage) -> list[RemedyStep]:
    return [*iter_layer_steps(message), *iter_operand_steps(message), *iter_count_steps(message)]


def _likely_steps(message: ParsedMessage, trace: Trace | None) -> Fixes:
    """Return the advice for a known wording, an empty input and mismatching sizes."""
    is_empty = trace is not None and 0 in trace.input and message.cause in EMPTY_REMEDIES
    phrase = find_first_step(message.quote, f"{message.nearby_text} {failing_code(message)}")
    number = UNSIGNED_NUMBER.search(message.text)
    return _without_commands(
        [
            *([EMPTY_REMEDIES[message.cause]] if is_empty else []),
            *([UNSIGNED_REMEDY.format(number[0])] if number else []),
            *([phrase] if phrase else iter_table_steps(message)),
            *suggest_remedies(message, find_mismatch(message, trace)),
        ]
    )


def _explained_steps(explanations: tuple[Explanation, ...]) -> tuple[Fixes, Fixes]:
    """Return the advice of the first explanation, either as a strong or as a weak step.

    The first result contains the strong steps, the second the weak ones.

    The advice is weak if the explanation has several assumptions.
    """
    if not explanations:
        return {}, {}
    advice: Fixes = {word_as_condition(explanations): None}
    return (advice, {}) if explanations[0].assumptions <= MAX_ASSUMPTIONS else ({}, advice)


def _without_commands(texts: Iterable[str]) -> Fixes:
    return dict.fromkeys(texts)


def _resolve_request(message: ParsedMessage) -> Trace | None:
    """Resolve the failing request of a message under the rules of its dialect.

    Returns None if the request is incomplete.
    """
    options, op = _request_options(message), message.op
    if options is None or op is None:
        return None
    if message.strides is not None:
        op, options = VIEW.name, {**options, "strides": format_sizes(message.strides)}
    shape: PrintedSizes | None = message.input if message.elements is None else (message.elements,)
    if shape is None and message.pair is not None and message.op in (BROADCAST.name, MATMUL.name):
        shape = message.pair[:1]
    if shape is None:
        return None
    for dialect in (message.dialect, None):
        row = DIALECTS.get(dialect or "")
        switch = row.switch if row is not None and OPS[op].uses_switch else None
        settings = {switch.name: True} if switch is not None and switch.default is None else {}
        try:
            return answer_request(make_request(op, format_sizes(shape), {"dialect": dialect, **options, **settings}))
        except ShapeError:
            continue
    return None


def _request_options(message: ParsedMessage) -> dict[str, str] | None:
    """Return the arguments of the failing op as strings, or None if one is unknown."""
    if operation_noun(message.op):
        return _operand_options(message)
    target = message.target
    if target is None and message.target_elements is not None:
        target = (message.target_elements, -1) if message.cause == "indivisible" else (message.target_elements,)
    if message.op == REARRANGE.name:
        pattern, lengths = re.search(r'pattern "([^"]+)"', message.quote), re.findall(r"'(\w+)': (\d+)", message.quote)
        return {"pattern": pattern[1], "lengths": ",".join(map("=".join, lengths))} if pattern else None
    arguments: dict[str, PrintedSizes | None] = {TARGET_ARGUMENTS.get(message.op or "", ""): target}
    if message.op in (TRANSPOSE.name, SQUEEZE.name, UNSQUEEZE.name):
        arguments = (
            {"perm": find_rank_and_permutation(message)[1] or None}
            if message.op == TRANSPOSE.name
            else {"axes": message.axes}
        )
    elif message.op == UNFLATTEN.name:
        arguments = {"axis": message.axes if message.input else (0,), "sizes": target}
    if "" in arguments or None in arguments.values():
        return None
    return {name: format_sizes(value or ()) for name, value in arguments.items()}


def _operand_options(message: ParsedMessage) -> dict[str, str] | None:
    """Return the arguments of an op with several operands as strings.

    If only the two mismatching sizes are known, the operands are vectors of these sizes.
    """
    operands = message.operands or (
        (message.pair[1:],) if message.pair and message.op in (BROADCAST.name, MATMUL.name) else None
    )
    if (
        operands is None
        or message.op not in OPS
        or message.op in (EINSUM.name, POOL.name)
        or message.cause == "window-too-large"
    ):
        return None
    arguments = {"weight" if message.op in WEIGHT_OPS else "operands": " ".join(map(format_sizes, operands))}
    if message.op in (CONCAT.name, STACK.name):
        arguments["axis"] = format_sizes(message.axes or (0,))
        differences = {
            abs(one - other): axis for axis, one, other in numeric_differences(message.input or (), operands[0])
        }
        if message.axes is None and message.op == CONCAT.name and differences:
            arguments["axis"] = str(differences[max(differences)])
    return arguments | ({} if message.groups is None else {"groups": str(message.groups)})


def _iter_verified_fixes(message: ParsedMessage, trace: Trace | None) -> Iterator[tuple[str, str | None]]:
    """Yield the plausible fixes that resolve, most likely first, with their commands."""
    has_other_layout = message.framework == "mlx" and message.op == CONV.name  # the channels last, in the weight too
    is_incomplete = message.input is None and (message.target is None or message.cause == "infer-with-empty")
    if trace is None or has_other_layout or is_incomplete:
        return
    if message.op == CONCAT.name and trace.output is not None:
        yield f"{JOIN_AXIS} {trace.request.arguments['axis']} they fit, if that is meant", command_line(trace)
    if operation_noun(message.op) and 0 in (
        *trace.input,
        *(dim for shape in message.operands or () for dim in shape),
    ):
        return
    zero_is_size = message.dialect is None and not message.zero_copies
    likely = [] if trace.problem is None else [*suggest_fixes(message, trace.input)]
    if message.cause in EMPTY_REMEDIES and 0 in trace.input and message.cause == "empty-input":
        return
    commands = set[str]()
    for fix in (*likely, *find_fixes(trace)):
        copies_zero = str(fix.value).partition(",")[0] == "0"
        if fix.name in ("strides", "weight", "groups") or fix.value in ("[]", "-1") or (zero_is_size and copies_zero):
            continue
        try:
            fixed = answer_request(apply_fix(trace.request, fix))
        except ShapeError:
            continue
        command = command_line(fixed)
        if fixed.output is None or command in commands or (commands and message.cause == "hard-coded-batch"):
            continue
        if (fix in likely and not _is_unlikely(message, fix)) or _is_plausible_fix(message, trace, fix, fixed):
            commands.add(command)
            yield _describe_fix(message, fix, trace, fixed), command


def _is_unlikely(message: ParsedMessage, fix: Fix) -> bool:
    """Return whether a fix mixes samples, or replaces a number of features by the batch."""
    features = message.target[0] if message.target else 0
    copies = str(fix.value).startswith("0,") and isinstance(features, int) and features > MAX_BATCH
    return copies or "mixes the samples" in fix.description


def _describe_fix(message: ParsedMessage, fix: Fix, trace: Trace, fixed: Trace) -> str:
    """Describe a fix and the condition under which it is correct.

    An inserted dim is also written as code.
    """
    if fix.name == "axis":
        return f"if another axis is meant, {fix.description}"
    if fix.description.startswith(REORDERINGS) and message.op != REARRANGE.name:
        return f"if its axes are in the wrong order, {fix.description}"
    if widened := LAYER_FIX.match(fix.description):
        return f"if the flattened map is right, build the layer for {widened[1]} features"
    if fix.description.startswith("take the mean"):
        pooled = fix.description.partition(": write")[0]
        return f"if the layer is right, as with loaded weights, give pictures of the size of its training, or {pooled}"
    if written := WRITTEN_TARGET.match(fix.description):
        is_batch = bool(fix.batch_assumption) or str(fix.value).startswith("-1,")
        premise = "dim 0 is the batch" if is_batch else "the input is right"
        if str(fix.value) == f"-1,{format_sizes(message.target or ())}":
            premise = "a batch is missing in front"
        return f"{written[0]} if {premise}{fix.description[written.end() :]}"
    operands, changed = ([either.input, *(either.request.arguments.get("operands") or ())] for either in (trace, fixed))
    for before, after in zip(operands, changed, strict=False):
        is_inserted = fix.description.startswith("insert a dim")
        if is_inserted and isinstance(before, tuple) and isinstance(after, tuple) and len(after) == len(before) + 1:
            return fix.description.replace(": write", f", {format_insertion(before, after)}: write")
    return fix.description


def _is_plausible_fix(message: ParsedMessage, trace: Trace, fix: Fix, fixed: Trace) -> bool:
    """Return whether a fix probably preserves the intent of the request."""
    old, new = (either.request.arguments.get(fix.name) for either in (trace, fixed))
    is_layer = message.framework == "torch" and not has_product(message)
    if trace.op == MATMUL.name and fix.description.startswith("transpose") and is_layer:
        return False
    if trace.op == MATMUL.name and fix.description.startswith("transpose"):
        line = message.failing_line.text if message.failing_line else ""
        return fixed.input[-1:] != (1,) and not LAYER_CALL.search(line)
    # In these messages, the second shape is not the user's.
    if INDEX_ASSIGNMENT in message.quote or ATTENTION_MASK in message.quote.lower():
        return False
    if trace.op == BROADCAST.name:  # an output larger than every operand is rarely intended
        return fixed.output in (fixed.input, *fixed.request.arguments["operands"])
    if trace.op == TRANSPOSE.name and isinstance(old, tuple):  # a change of rank is rarely intended
        return isinstance(new, tuple) and len(new) == len(old)
    is_count_problem = trace.problem is not None and trace.problem.rule in COUNT_RULES
    is_batch = message.cause == "hard-coded-batch"
    if (
        is_count_problem
        and not is_batch
        and isinstance(old, tuple)
        and _element_count_ratio(trace.input, old) > MAX_COUNT_RATIO
    ):
        return False
    if trace.op in (EXPAND.name, REARRANGE.name) or not isinstance(old, tuple) or not isinstance(new, tuple):
        return trace.op not in (EXPAND.name, REARRANGE.name)
    if not old:  # the request is for a scalar, which no fix of the sizes preserves
        return False
    pairs = enumerate(zip(old, new, strict=False))
    changed = [index for index, (before, after) in pairs if before != after and (index or not fix.batch_assumption)]
    sizes = {new[index] for index in changed}
    if not is_count_problem or fix.replaces_zeros or not sizes:
        return True
    from_input = len(trace.input) > 1 >= len(changed) and sizes <= {-1, *trace.input}
    return (changed[0] > 0 or len(old) == 1) and (from_input or len(changed) > len(sizes))


def _element_count_ratio(shape: Shape, target: tuple[object, ...]) -> float:
    """Return the ratio of the larger to the smaller element count of two shapes.

    Returns 1 if a count is unknown or 0.
    """
    counts = sorted(prod(numeric_sizes(sizes) or (0,)) for sizes in (shape, tuple(target)))
    return counts[1] / counts[0] if counts[0] > 0 and -1 not in target else 1


def _general_remedies(message: ParsedMessage) -> list[str]:
    """Return the general remedies for the op and the cause of a message."""
    if operation_noun(message.op):
        return [*_operand_remedies(message)]
    own = [*_op_specific_remedies(message)]
    if own:
        return own
    if message.cause == "too-many-indices" and message.pair is None:
        return [
            f"{print_step(message, 'x.shape')}: drop an index, or keep the dim that squeeze, a mean or an index dropped"
        ]
    if message.cause == "bad-perm" and message.framework == "numpy":
        return [
            "print(x.ndim, x.shape) before that line: the order must name each of its axes once; a grey picture has "
            "2, a picture in colours 3, a batch of them 4"
        ]
    if message.op is None or message.cause not in ("count-mismatch", "indivisible"):
        return [*filter(None, [_cause_remedy(message)])]
    if message.op not in (RESHAPE.name, SHUFFLE.name):
        return [_unflatten_remedy(message)] if message.op == UNFLATTEN.name else []
    return _count_remedies(message)


def _count_remedies(message: ParsedMessage) -> list[str]:
    """Return the general remedies for a reshape with unequal element counts."""
    extra = find_extra_axis(message)
    if message.target == ():
        return [EMPTY_TARGET_REMEDY]
    if extra is not None:
        return [f"if axis {extra} is one too many, select one index of it, or reduce it, before the reshape"]
    if message.input is not None:
        is_known = any(step.is_supported for step in iter_count_steps(message))
        has_source = message.traits.shape_source or message.framework == "paddle"
        return [REEXPORT_REMEDY] if has_source and not is_known else []
    if message.framework == "tensorrt" and PROFILE_VALUES.search(message.nearby_text + message.quote):
        return [f"the file holds a number that the profile varies: free it, {FREE_BATCH_COMMAND}"]
    if message.target is not None:
        return []
    if message.framework == "tflite":
        return [CONVERTED_REMEDY]
    place = "node" if message.traits.shape_source else "line"
    return [f"print the input's shape before this {place}: if the target is what you meant, the input is wrong there"]


def _unflatten_remedy(message: ParsedMessage) -> str:
    """Return the remedy for an unflatten to sizes with the wrong product."""
    known, count = known_size_product(message.target), message.elements
    sizes = numeric_sizes(message.target)
    if known and count and -1 in sizes and count % known == 0:
        filled = ", ".join(str(count // known if size == -1 else size) for size in sizes)
        return f"this version of torch takes no -1 here: write the sizes, ({filled}), or update it"
    axis = f"dim {message.axes[0]}" if message.axes else "that dim"
    return (
        f"print(type(x), x.shape) before that line: {axis} has {count}, and the sizes make {known}; if another axis "
        f"has {known}, name that one, and if x is a tuple, take x[0]"
    )


def _cause_remedy(message: ParsedMessage) -> str:
    """Return the remedy for a cause in the framework of the message, or an empty string."""
    empty = message.framework == "xarray" and message.pair is not None and 0 in message.pair
    if empty:
        return "print(x.sizes) before that line: a selection or a slice left nothing along that dim; find which one"
    sizes = XARRAY_SIZES.search(message.quote)
    if sizes and abs(int(sizes[2]) - int(sizes[4])) > 1:
        text = "dim {0} has {1} on {2} and {3} on {4}: make both from the same {0}, or reorder dims"
        return text.format(*sizes.groups())
    if message.cause == "zero-literal" and not _has_literal_zero(message):
        return COMPUTED_ZERO_REMEDY
    grows = message.op == EXPAND.name and message.framework in ONNX_FRAMEWORKS
    remedy = "" if message.cause == "not-broadcastable" and not grows else CAUSES[message.cause].remedy
    return FRAMEWORK_REMEDIES.get((message.cause, message.framework or ""), remedy)


def _operand_remedies(message: ParsedMessage) -> Iterator[str]:
    """Yield remedies for the incompatible operands of a message."""
    if message.cause == "window-too-large" and _has_empty_side(message.input or ()):
        yield EMPTY_SIDE_REMEDY
    elif message.cause == "window-too-large" and len(message.input or ()) == 1:
        yield SHORT_SEQUENCE_REMEDY
    elif message.cause != "not-broadcastable" and CAUSES[message.cause].remedy:
        yield CAUSES[message.cause].remedy


def _has_empty_side(shape: PrintedSizes) -> bool:
    """Return whether an image probably had an empty side before padding.

    Such a side is small, and much smaller than the other side.
    """
    sides = numeric_sizes(shape)[-2:]
    return len(sides) == 2 and min(sides) <= 4 and max(sides) > 16 * min(sides)


def _op_specific_remedies(message: ParsedMessage) -> Iterator[str]:
    """Yield remedies for einops patterns, interpolations, expands and slice assignments."""
    if message.cause == "rank-mismatch" and message.operands and message.framework == "torch":
        yield _resize_remedy(message.input or (), message.operands[0])
    elif message.op == REARRANGE.name and message.pair is not None:
        pattern = re.search(r'pattern "([^"]+)"', message.quote)
        yield from _pattern_remedies(message.cause, *message.pair, pattern[1] if pattern else "")
    elif message.op == EXPAND.name and OBSERVATION.search(f"{failing_code(message)} {message.text}"):
        yield OBSERVATION_REMEDY.format(format_sizes(message.input or ()), format_sizes(message.target or ()))
    elif message.op == EXPAND.name and message.framework == "numpy" and "input array" in message.quote:
        yield _assignment_remedy(numeric_sizes(message.input), numeric_sizes(message.target))
    elif message.op == EXPAND.name and message.cause == "not-broadcastable" and _expand_remedy(message):
        yield _expand_remedy(message)
    elif message.op == EXPAND.name and message.cause == "not-broadcastable":
        pairs = numeric_differences((message.input or ())[::-1], (message.target or ())[::-1])
        shape, target = message.input or (), message.target or ()
        if len(shape) > 1 and shape[-2] == shape[-1] == target[-1] and target[-2:][0] == 1:
            yield "if it is a square mask and only one query is new, take its last row, mask[..., -1:, :]"
        elif len(pairs) > 1 and all(abs(one - two) == 1 for _, one, two in pairs):
            yield (
                "if these are maps whose sides were rounded differently, pad the picture until all strides divide them"
            )
        else:
            yield from _iter_expand_remedies(message, pairs)


def _iter_expand_remedies(message: ParsedMessage, pairs: list[tuple[int, int, int]]) -> Iterator[str]:
    """Yield remedies for an expand; either the tensor or the target may be wrong."""
    sizes = message.pair or next((row[1:] for row in pairs if row[1] != 1), None)
    if sizes is None or message.framework in ONNX_FRAMEWORKS:
        return
    actual, asked = sizes
    small, large = sorted(sizes)
    if small in TOKEN_POSITIONS and large > small:
        yield (
            f"if {large} are tokens of a text, they are more than the {small} positions of the model: truncation=True, "
            f"max_length={small} in the tokenizer, or smaller chunks, or a model with more positions"
        )
    if widths := format_model_widths(sizes):
        yield f"{print_step(message, 'x.shape')}: {widths}"
        return
    if 1 < actual < asked and message.dim in (0, None) and len(message.input or ()) in (0, len(message.target or ())):
        is_first = message.dim == 0 or (message.input or (0,))[0] == actual
        if is_first and message.framework == "torch":
            yield (
                f"{print_step(message, 'x.shape')}: if dim 0 counts samples, {actual} may be a last batch, smaller "
                f"than the {asked} that the code writes: take x.size(0) in place of {asked}, or drop_last=True in the "
                "loader"
            )
            return
    yield (
        f"{print_step(message, 'x.shape')}: it has {actual} there, and the place or the target {asked}; only a dim "
        f"of 1 grows, so find the line that makes the wrong one of the two"
    )


def _assignment_remedy(shape: tuple[int, ...], target: tuple[int, ...]) -> str:
    """Return the remedy for a slice assignment with a value of the wrong shape."""
    if shape == (3,) and target == (4,):
        return "if these are colours, give the value a fourth, alpha, or drop that of the picture: x[..., :3]"
    pairs = numeric_differences(shape, target) if len(shape) == len(target) else []
    axes = [axis for axis, *_ in pairs]
    if len(shape) > 2 and len(axes) == 2 and axes[1] == axes[0] + 1 and {*shape} & {1, 3, 4}:
        height, width = (other for _, _, other in pairs)
        return (
            f"the place into which it goes is {height}x{width}, the value {pairs[0][1]}x{pairs[1][1]}: if it is a "
            f"picture, resize it, cv2.resize(x, ({width}, {height})), or change the size in the settings"
        )
    if len(shape) != len(target) and prod(shape) == prod(target) > 0:
        return (
            f"both hold {prod(shape)} elements: if one is flattened, reshape the value to the place, "
            f"x.reshape({', '.join(map(str, target))})"
        )
    if len(shape) == len(target) == 2 and shape[0] == shape[1] and (shape[0] in target) and target[0] != target[1]:
        return (
            f"the value is square, {shape[0]} on both axes, and the place is {format_sizes(target)}: build the value "
            "from both lengths, or find which length is wrong"
        )
    if len(shape) > len(target) and shape[: len(target)] == target:
        return (
            f"if an array is built from a list, its items have different shapes, one of them begins with "
            f"{format_sizes(target)}: print({{np.shape(item) for item in items}}), and pad or cut all to one; if it is "
            f"an assignment, make the place {format_sizes(shape)}"
        )
    if len(shape) == len(target) == 1 and shape[0] > target[0] >= MIN_TABLE and target[0] & (target[0] - 1) == 0:
        return (
            f"print the length of the value where it is made: it is {shape[0]}, and the place {target[0]} = "
            f"2^{target[0].bit_length() - 1}, as a table that was made for a maximum; raise that limit, such as a "
            "maximum length, or update the library if its code made the table"
        )
    if shape and target:
        return (
            f"print both shapes: the value is {format_sizes(shape)}, the place {format_sizes(target)}; cut, pad or "
            "resize the value, or make the place with the value's shape"
        )
    return ASSIGN_REMEDY


def _insertion_remedy(shape: tuple[int, ...], target: tuple[int, ...], line: str) -> str:
    """Return the remedy for a value that lacks a dim of 1, or an empty string."""
    name = match[1] if (match := ASSIGNED_VALUE.search(line)) else "x"
    for _, after in insert_unit_dims(shape, target):
        if all(one in (1, two) for one, two in zip(after[::-1], target[::-1], strict=False)):
            code = format_insertion(shape, after)
            return (
                f"sizes are aligned from the right: if {name} lacks a dim of 1, insert it, {name}{code[1:]}, which is "
                f"{format_sizes(after)}"
            )
    return ""


def _expand_remedy(message: ParsedMessage) -> str:
    """Return the fix for an expand or an assignment to a slice.

    Returns an empty string if no fix is known.
    """
    shape, target = numeric_sizes(message.input), numeric_sizes(message.target)
    line = message.failing_line.text if message.failing_line else ""
    if not shape or not target:
        return ""
    if text := _insertion_remedy(shape, target, line):
        return text
    if len(shape) > len(target) and shape[: len(target)] == target:
        return (
            "print(x.shape) before that line: a broadcast never drops a dim, so find the line that adds the last ones; "
            "if they are scores or channels, reduce them, x.argmax(-1), or select, x[:, 0]"
        )
    if len(shape) == len(target) <= MAX_PERMUTED_RANK:
        for order in islice(permutations(range(len(shape))), 1, None):
            moved = [shape[axis] for axis in order]
            if all(one in (1, two) for one, two in zip(moved, target, strict=True)):
                return (
                    f"if the axes are in the wrong order: x.permute{order} gives {format_sizes(tuple(moved))}, which "
                    "expands"
                )
    pairs = numeric_differences(shape[::-1], target[::-1])
    if len(pairs) == 1 and pairs[0][2] == 1 and len(shape) == len(target) and shape[-2:] == target[-2:]:
        return (
            f"print(x.shape) before that line: the value has {pairs[0][1]} where the target has 1, and never shrinks; "
            f"if {pairs[0][1]} are right, make the target for them; if one is meant, find why more come"
        )
    if len(pairs) == 2 == len(shape) and shape[0] == shape[1] and target[0] == target[1] and len(target) == 2:
        gap = abs(shape[0] - target[0])
        return (
            f"find what computes {shape[0]} and {target[0]}: if both count the same, one rounds down, //, where the "
            f"other rounds up; they differ by {gap}"
        )
    if ASSIGNMENT.match(line) and len(pairs) == 1 and 1 not in pairs[0][1:]:
        return _slice_assignment_remedy(line, pairs[0][1], pairs[0][2])
    return ""


def _slice_assignment_remedy(line: str, actual: int, expected: int) -> str:
    """Return the fix for a slice assignment in which value and slice differ in one dim."""
    if WEIGHT_ASSIGNMENT.search(line):
        return (
            f"print both shapes before that line: the weight that is copied has {actual} where the line expects "
            f"{expected}, so it may come from another model than the line was written for; load the model it names, "
            "and do not cut weights"
        )
    return (
        f"print both shapes before that line: the target has {expected} there, and the value {actual}; if lengths "
        f"vary, pad or cut each value to {expected}, or collect the values in a list; if both are fixed, find the "
        "line that makes the wrong one"
    )


def _resize_remedy(sides: PrintedSizes, size: PrintedSizes) -> str:
    """Return the remedy for an interpolation with a `size` of the wrong rank.

    `sides` are the spatial dims of the input.
    """
    if len(size) == len(sides) + 1 and size[-1] in (1, 3, 4):
        return (
            f"the size ends with {size[-1]}, probably channels: if it is that of a picture, take the height and width "
            f"alone, size=({size[0]}, {size[1]}); if it is that of labels, load them as one number per pixel, "
            f"({size[0]}, {size[1]})"
        )
    if len(size) > len(sides):
        return "the input lacks a dim: give it a batch and channels, (N, C, H, W), as by x[None, None] for a picture"
    if len(sides) == len(size) + 1 and sides[0] == 1:
        return (
            "the input has a dim of 1 too many: drop a [:, None] or unsqueeze before or in that line, or x.squeeze(1)"
        )
    return f"give a size of {len(sides)} numbers, or squeeze the input to (N, C) and {len(size)} sides"


def _pattern_remedies(cause: str, actual: int, expected: int, pattern: str) -> Iterator[str]:
    """Yield remedies for an einops pattern.

    `actual` and `expected` are two ranks, or a size and its divisor.
    """
    if cause == "rank-mismatch":
        change = "skip it if the tensor is in the new order already" if actual > expected else "insert one, x[None]"
        names = re.sub(r"\([^()]*\)", "x", pattern.partition("->")[2]).split()
        if actual > expected and actual == len(names):
            yield (
                f"the tensor has the {actual} dims of the right side already, so it was rearranged before, perhaps by "
                "code that is applied twice: skip this line if x.ndim is {0}".format(actual)
            )
        yield f"name each dim on the left side of the pattern, or {change}"
    elif cause == "bad-pattern" and abs(actual - expected) > 1:
        small, large = sorted((actual, expected))
        times = isqrt(large // max(small, 1))
        if times > 1 and times * times * small == large:
            yield (
                f"the given lengths make {expected}, and the axis has {actual}, as if one were a grid of {times} "
                "times the sides: pass the height and width of this tensor, not those of another level or picture"
            )
            return
        more = f"find the {abs(actual - expected)} that one side has more"
        yield f"{more}: tokens beside the grid, or a length that // rounded down"
    elif cause == "indivisible" and actual < expected:
        yield (
            f"print(x.shape) before that line: that axis holds {actual}, and the pattern divides it by {expected}; if "
            f"frames or groups are joined to it, {expected} of them must come; find why fewer do"
        )


def _has_literal_zero(message: ParsedMessage) -> bool:
    """Return whether the failing call has a literal 0 among its arguments."""
    return message.line is not None and "0" in message.line.arguments


def _describe_missing_information(message: ParsedMessage) -> str | None:
    """Describe how to find the information that a message lacks, or return None."""
    has_operands = operation_noun(message.op) != ""
    names = message.failing_line.operands if message.failing_line else ()
    if message.op == BROADCAST.name and MODEL_CALL.fullmatch(failing_code(message)):
        return "the frames of the traceback below that line: the operation that fails is inside of the call"
    if message.op is None and message.framework != "tensorflow":
        return f"print({', '.join(show_size(message, name) for name in names)}) before that line" if names else None
    if message.input is not None and (
        _request_options(message) is not None or (has_operands and (message.operands or message.pair))
    ):
        return f"look at the lines that make {', '.join(names)}" if has_operands and names else None
    shapes = (
        f"print({', '.join(show_size(message, name) for name in names)})" if names else "the shapes of both tensors"
    )
    both = f"{shapes} before that line; then shapecalc 'LINE' a=SHAPE b=SHAPE" if has_operands else ""
    return message.traits.shape_source or both or _describe_missing_shape(message)


def _describe_missing_shape(message: ParsedMessage) -> str:
    """Describe how to find the input shape that a message lacks."""
    needs_strides = message.cause == "stride-incompatible"
    tensor = "x" if message.line is None else message.line.tensor
    shape = f"the shape of {message.line.receiver}" if message.line and tensor is None else f"{tensor}.shape"
    missing = f"{shape} and {tensor}.stride()" if needs_strides and tensor else shape
    if message.printed_shape is not None and needs_strides:
        return f"{tensor}.stride() before that line, if it is not contiguous"
    if message.line is not None:
        return f"{missing} before that line"
    command = "; then shapecalc code 'LINE' --input x=SHAPE shows why" if needs_strides else ""
    return f"the line of code, and {missing} before it{command}"


def _code_command(message: ParsedMessage) -> str | None:
    """Return the `shapecalc code` command for the failing line.

    The placeholder `...` represents an unknown shape.
    """
    line = message.line
    if message.cause != "stride-incompatible" or line is None or not (line.tensor or "").isidentifier():
        return None
    shape = format_sizes(message.printed_shape) if message.printed_shape else "..."
    return f"shapecalc code {quote(line.text)} --input {line.tensor}={shape}"

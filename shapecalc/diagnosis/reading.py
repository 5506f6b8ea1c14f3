"""Parse error messages: identify the op, its shapes, and the cause.

The cause is stated in the message, or computed from the numbers in the message. Only messages with a template in
`sentences.txt` are parsed.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from math import prod
from typing import Any

from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import ZeroMeaning
from shapecalc.core.dims import Shape, named_dim
from shapecalc.core.ops.broadcast import BROADCAST
from shapecalc.core.ops.concat import CONCAT
from shapecalc.core.ops.conv import CONV
from shapecalc.core.ops.expand import EXPAND
from shapecalc.core.ops.linear import LINEAR
from shapecalc.core.ops.matmul import MATMUL
from shapecalc.core.ops.reshape import RESHAPE
from shapecalc.core.ops.shuffle import SHUFFLE
from shapecalc.core.ops.squeeze import SQUEEZE
from shapecalc.core.ops.transpose import TRANSPOSE
from shapecalc.core.record import Record, lazy, replace
from shapecalc.diagnosis import context
from shapecalc.diagnosis import match as sentences
from shapecalc.diagnosis.match import CleanText, MessageTemplate, PrintedSizes, TemplateMatch
from shapecalc.reasoning.fixing import differs_in_batch_only

NODE_SUBJECT = "node of the operator"
"""The prefix of the subject if only the op of the failing node is known."""
DECLARED_INPUT = "model's input as declared"
"""The subject of a message about a declared input shape."""
LOSS_SUBJECT = "loss and its targets"
"""The subject of a message about predictions and targets."""
MASK_SUBJECT = "mask of other dims than its tensor"
"""The subject of a message about a boolean mask or an index with other dims than its tensor."""
WEIGHTS_SUBJECT = "weights that do not fit the model"
"""The subject of a message about weights with other shapes than the model."""
LOADING_CALL = re.compile(r"\b(?:load_weights\w*|set_weights|load_model|batch_set_value)\(")
"""A call that assigns saved weights to the variables of a model."""
UNKNOWN_MESSAGE = "message that is not known"
"""The subject of an unknown message of a known program."""
ASSIGNMENTS = ("assign", "assignvariableop", "restorev2")
"""The ops that load weights."""
CONTRADICTED_SHAPE = "declared shape that the node does not give"
"""The subject of a message about a declared shape that differs from the node's output shape."""
CAUSES_BY_OP = {
    MATMUL.name: "inner-differs",
    BROADCAST.name: "not-broadcastable",
    CONV.name: "channels-differ",
}
"""The causes of two different sizes, keyed by op, for messages that several ops share."""
MAX_BATCH = 8192
"""The maximum first dim that may be a batch size."""
MAX_MESSAGES = 16
OPERAND_CAUSES = (
    "not-broadcastable",
    "inner-differs",
    "dims-differ",
    "ranks-differ",
    "channels-differ",
    "window-too-large",
)
"""The causes of shape errors with several operands."""
SHAPE_FIELDS = ("input", "elements", "target", "target_elements", "perm", "axes", "pair", "operands")
"""The fields of a message that are sizes, counts or axes."""
BATCHED_PRODUCT = re.compile(r"of batch2 tensor to be: \[(\d+), \d+\] but got: \[(\d+), \d+\]")
"""The batch of both operands in a message of `torch.bmm`."""
PROFILE = re.compile(r"k(?:MIN|OPT|MAX) values")
"""The words of TensorRT about sizes that an optimization profile proposes."""
SOURCE_LINE = re.compile(r"\.format\(|^(?:raise|assert) |['\"] ?% ?[\w(]|(?<!['\"])\bf['\"]|= ?['\"][^'\"]*\{\}")
"""A line of code that formats a message."""
MAX_QUOTE_PREFIX = 160
"""The maximum number of characters that are quoted before the matched part of a message."""
MAX_QUOTE_SUFFIX = 100
"""The maximum number of characters that are quoted after the matched part of a message."""


class ParsedMessage(Record):
    """A parsed error message.

    A field is None if the message does not contain its value. Messages are compared without the node, the quote, and
    the text around the message.
    """

    framework: str | None
    op: str | None
    node: lazy[str | None]
    cause: str
    quote: lazy[str]
    about: str | None = None
    """The subject of a message that is not a shape error."""
    input: PrintedSizes | None = None
    elements: int | None = None
    """The input's element count, if its shape is unknown."""
    target: PrintedSizes | None = None
    target_elements: int | None = None
    perm: PrintedSizes | None = None
    axes: PrintedSizes | None = None
    strides: PrintedSizes | None = None
    """The input's strides, if a view was requested."""
    pair: tuple[int, int] | None = None
    """Two related numbers: the actual and expected size, or the rank and an invalid axis."""
    operands: tuple[PrintedSizes, ...] | None = None
    """The shapes of the remaining operands, after the input."""
    groups: int | None = None
    """The number of groups of a convolution."""
    dim: lazy[int | None] = lazy(default=None)
    """The axis along which the two sizes of `pair` differ."""
    line: lazy[context.CodeCall | None] = lazy(default=None)
    """The failing call, if the text contains it."""
    failing_line: lazy[context.FailingLine | None] = lazy(default=None)
    """The failing line of the user's code, if the text contains it."""
    printed_shape: lazy[PrintedSizes | None] = lazy(default=None)
    """The shape of the tensor in the failing call, if the text prints it."""
    nearby_text: lazy[str] = lazy(default="")
    """The text before a shape error, which may contain code; for other messages, the text after the message."""
    text: lazy[str] = lazy(default="")
    """The whole excerpt that contains the message."""

    @property
    def traits(self) -> context.FrameworkTraits:
        """The traits of the framework, or default traits if it is unknown."""
        return context.FRAMEWORKS.get(self.framework or "", context.FrameworkTraits())

    @property
    def dialect(self) -> str | None:
        """The dialect of the framework, or None if it has no dialect."""
        return self.framework if self.framework in DIALECTS else None

    @property
    def zero_copies(self) -> bool:
        """Whether a 0 in a target copies the input dim by default."""
        if self.dialect is None:
            return self.traits.zero_copies
        dialect = DIALECTS[self.dialect]
        return dialect.reshape_semantics[dialect.default_settings[0]].zero is ZeroMeaning.COPIES

    @property
    def shapes(self) -> tuple[Any, ...]:
        """The sizes, counts and axes that the message states."""
        return tuple([getattr(self, name) for name in SHAPE_FIELDS])


def parse_messages(text: str) -> list[ParsedMessage]:
    """Parse the distinct messages in a text.

    Returns all messages about shapes. If there are none, returns at most one message about another subject.

    >>> [found.cause for found in parse_messages("ValueError: cannot reshape array of size 24 into shape (5,5)")]
    ['count-mismatch']
    """
    result = _parse_excerpts(sentences.find_excerpts(text, sentences.TEMPLATES, sentences.ERROR_WORDS))
    if len(text) > sentences.SHORT_TEXT and all(message.about for message in result):
        result += _parse_excerpts(sentences.find_excerpts(text, sentences.TEMPLATES, sentences.RELATED_WORDS))
    if len(text) <= sentences.SHORT_TEXT and "\n" in text:
        result = max(
            result, _parse_excerpts([(text, sentences.TEMPLATES)], sentences.unwrap_lines), key=_information_score
        )
        result = result or _parse_excerpts([(text, sentences.TEMPLATES)], "".join)
    about_shapes = [message for message in result if message.about is None]
    by_relevance = sorted(
        result,
        key=lambda other: (
            str(other.about).startswith((NODE_SUBJECT, UNKNOWN_MESSAGE)),
            -_information_score([other]),
        ),
    )
    return about_shapes or by_relevance[:1]


def has_known_message(text: str) -> bool:
    """Return whether a text contains a known message.

    >>> has_known_message("RuntimeError: shape '[5]' is invalid for input of size 6"), has_known_message("2,3,4 to 6,4")
    (True, False)
    """
    return bool(parse_messages(text))


def _information_score(messages: list[ParsedMessage]) -> int:
    """Return a score for the information in messages: one point per cause or number, two per shape."""
    causes = [message for message in messages if message.about is None and message.cause != "unspecified"]
    shapes = [value for message in messages for value in message.shapes if value is not None]
    return len(causes) + len(shapes) + sum(isinstance(value, tuple) for value in shapes)


def _parse_excerpts(
    excerpts: Iterable[tuple[str, Sequence[MessageTemplate]]], join_lines: Callable[[list[str]], str] = "\n".join
) -> list[ParsedMessage]:
    """Parse the messages in excerpts.

    `join_lines` joins the lines of each excerpt.
    """
    result: dict[ParsedMessage, ParsedMessage] = {}
    for part, templates in excerpts:
        clean = sentences.clean_text(part, join_lines)
        found = (match for template in templates for match in sentences.find_matches(template, clean))
        kept = _select_matches(match for match in found if not _is_in_source(match, clean))
        for match, bounds in _iter_bounded_matches(kept, len(clean.text)):
            message = _parse_match(match, clean, bounds)
            result.setdefault(message, message)
            if len(result) >= MAX_MESSAGES:
                return _drop_less_specific([*result.values()])
    return _drop_less_specific([*result.values()])


def _is_in_source(match: TemplateMatch, cleaned: CleanText) -> bool:
    """Return whether a match is in source code that formats the message.

    Tracebacks print such source code.
    """
    starts = (0, *cleaned.line_ends)
    index = bisect_right(cleaned.line_ends, match.start)
    line = cleaned.text[starts[index] : starts[index + 1] if index + 1 < len(starts) else None]
    return SOURCE_LINE.search(line) is not None and not match.template.text.startswith("{}")


def _iter_bounded_matches(matches: list[TemplateMatch], length: int) -> Iterator[tuple[TemplateMatch, tuple[int, int]]]:
    """Yield each match with its span between the previous and the next message.

    Messages without a specific cause do not limit the span.
    """
    with_cause = [match for match in matches if match.template.cause != "unspecified"]
    starts, ends = [match.start for match in with_cause], [match.end for match in with_cause]
    # Parsing at most 400 messages, those about shapes first, bounds the time for an excerpt.
    for match in sorted(matches, key=lambda other: other.template.about is not None)[:400]:
        before, after = bisect_right(ends, match.start), bisect_left(starts, match.end)
        yield match, (ends[before - 1] if before else 0, starts[after] if after < len(with_cause) else length)


def _drop_less_specific(messages: list[ParsedMessage]) -> list[ParsedMessage]:
    """Drop each message that is redundant because of a more specific one."""
    specific = {one.framework for one in messages if one.cause != "unspecified" and one.about != UNKNOWN_MESSAGE}
    kept = [one for one in messages if one.cause != "unspecified" or one.framework not in specific]
    return [one for one in kept if not any(other is not one and _is_more_specific(other, one) for other in kept)]


def _is_more_specific(message: ParsedMessage, other_message: ParsedMessage) -> bool:
    """Return whether a message contains all values of another message, and more."""
    if (message.framework, message.op, message.cause) != (
        other_message.framework,
        other_message.op,
        other_message.cause,
    ):
        return False
    return message.shapes != other_message.shapes and all(
        other in (None, value) for value, other in zip(message.shapes, other_message.shapes, strict=True)
    )


def _select_matches(matches: Iterable[TemplateMatch]) -> list[TemplateMatch]:
    """Return non-overlapping matches in order of position.

    Of several overlapping matches, the match with the most values is selected.
    """
    kept: list[TemplateMatch] = []
    starts: list[int] = []
    for match in sorted(matches, key=lambda other: (-len(other.values), other.start - other.end)):
        index = bisect_left(starts, match.start)
        if (not index or kept[index - 1].end <= match.start) and (index == len(kept) or match.end <= starts[index]):
            starts.insert(index, match.start)
            kept.insert(index, match)
    return kept


def _parse_match(match: TemplateMatch, cleaned: CleanText, bounds: tuple[int, int]) -> ParsedMessage:
    sentence = match.template
    framework = context.identify_framework(match, cleaned)
    node = context.find_failing_node(match, framework, cleaned, bounds)
    quote = _extract_quote(match, cleaned)
    after = cleaned.text[match.end : match.end + context.MAX_DISTANCE]
    op, cause, unrelated = _identify_op(sentence, framework, node), sentence.cause, "not-about-shape"
    if sentence.about in (DECLARED_INPUT, CONTRADICTED_SHAPE) and op == CONCAT.name:
        cause = "dims-differ"
    elif sentence.about is not None:
        cause = {DECLARED_INPUT: "declared-input", UNKNOWN_MESSAGE: "unknown-message"}.get(sentence.about, unrelated)
        failing = context.find_failing_line(match, cleaned)
        is_loading = failing is not None and LOADING_CALL.search(failing.text) is not None
        subject = WEIGHTS_SUBJECT if is_loading and sentence.about == LOSS_SUBJECT else sentence.about
        other = ParsedMessage(framework, None, node.name, cause, quote, subject, nearby_text=after, text=cleaned.text)
        return _add_shapes(replace(other, failing_line=failing), match.values)
    if node.op in ASSIGNMENTS:
        weights = ParsedMessage(framework, None, node.name, unrelated, quote, WEIGHTS_SUBJECT, text=cleaned.text)
        filled = _add_shapes(weights, match.values)
        if filled.operands and filled.input is not None:  # the message prints the variable before its value
            pair = filled.pair and filled.pair[::-1]
            filled = replace(filled, input=filled.operands[0], operands=(filled.input,), pair=pair)
        return filled
    if op is None and node.op and node.op not in context.ops_by_printed_name() and cause != "dims-differ":
        return ParsedMessage(framework, None, node.name, unrelated, quote, f"{NODE_SUBJECT} {node.op}")
    message = _add_shapes(ParsedMessage(framework, op, node.name, cause, quote, text=cleaned.text), match.values)
    before = cleaned.text[max(bounds[0], match.start - context.MAX_DISTANCE) : match.start]
    line = context.find_call(before, op, message.target) or context.find_call(after, op, message.target)
    stated = next(context.find_printed_shapes(match, cleaned, line.tensor), None) if line and line.tensor else None
    failing_line = context.find_failing_line(match, cleaned)
    if line and failing_line and failing_line.file is None and line.function not in failing_line.text:
        failing_line = None  # the last line of a listing is not the call that failed
    message = replace(message, line=line, failing_line=failing_line, nearby_text=before, printed_shape=stated)
    message = _add_printed_shape(message, [*context.find_printed_shapes(match, cleaned)])
    if message.input is None and framework == "openvino":
        shapes = [_mark_unknown_sizes(shape) for shape in context.find_node_inputs(match, cleaned)]
        others = tuple([shape for shape in shapes[1:] if shape]) if cause in OPERAND_CAUSES else ()
        message = replace(message, input=shapes[0] if shapes else None, operands=others or None)
    return _determine_cause(message)


def add_context(message: ParsedMessage, match: TemplateMatch, cleaned: CleanText) -> ParsedMessage:
    """Add the framework, the failing line and the surrounding text to a message."""
    before = cleaned.text[max(0, match.start - context.MAX_DISTANCE) : match.start]
    framework, line = context.identify_framework(match, cleaned), context.find_failing_line(match, cleaned)
    return replace(message, framework=framework, failing_line=line, nearby_text=before, text=cleaned.text)


def _extract_quote(match: TemplateMatch, cleaned: CleanText) -> str:
    """Return the text of a message up to the end of its line, limited in length."""
    text = cleaned.text
    before = text[max(0, match.start - MAX_QUOTE_PREFIX) : match.start].replace("vs. ", "vs  ")
    default = len(before) if match.start > MAX_QUOTE_PREFIX else 0
    begin = max((before.rfind(mark) + len(mark) for mark in (". ", ": ") if mark in before), default=default)
    lines = (0, *cleaned.line_ends, len(text) + 1)
    line_start, line_end = lines[bisect_right(lines, match.start) - 1], lines[bisect_right(lines, match.end)]
    begin = max(begin, len(before) - match.start + line_start)
    is_long = line_end > match.end + MAX_QUOTE_SUFFIX
    end = max(match.end, text.rfind(" ", 0, match.end + MAX_QUOTE_SUFFIX)) if is_long else line_end
    return text[match.start - len(before) + begin : end].strip()


def _identify_op(template: MessageTemplate, framework: str | None, node: context.FailingNode) -> str | None:
    """Return the op of a template, or of the failing node if the template has no op.

    A template of TensorRT's Shuffle also matches the messages of other nodes.
    """
    node_op = context.ops_by_printed_name().get(node.op) if node.op else None
    if framework == "tensorrt" and template.op == SHUFFLE.name and node_op not in (RESHAPE.name, TRANSPOSE.name):
        return node_op or template.op
    if framework == "onnxruntime" and template.op == MATMUL.name and node_op == BROADCAST.name:
        return node_op  # both ops print the same message
    return template.op or node_op


def _add_shapes(message: ParsedMessage, values: Mapping[str, Any]) -> ParsedMessage:
    """Add the shapes and counts in the placeholder values `values` to a message."""
    shapes = values.get("shapes") or [values[name] for name in ("input", "operand") if name in values]
    first, *others = [_mark_unknown_sizes(shape) for shape in shapes] or [None]
    if first and "features" in values and values["axis"] in (-1, len(first) - 1):
        others = [("?", values["features"])]
    input, operands = (None, [first]) if "operand" in values and len(shapes) == 1 else (first, others)
    target, axes = values.get("target"), values.get("axes")
    target = target and tuple(-1 if size == "?" else size for size in target)  # an unknown size is inferred, like -1
    if message.framework in ("onnx", "onnxruntime") and message.op == TRANSPOSE.name and input and 0 in input:
        input = tuple("?" if size == 0 else size for size in input)  # ONNX's Transpose prints unknown sizes as 0
    # The messages of these ops name an axis that is not an argument of the op.
    if (
        axes is None
        and "axis" in values
        and message.op not in (LINEAR.name, RESHAPE.name, TRANSPOSE.name, EXPAND.name, SHUFFLE.name)
    ):
        axes = (values["axis"],)
    return replace(
        message,
        input=input,
        elements=values.get("elements") if input is None else None,
        target=target,
        target_elements=values.get("target_elements", values.get("known")) if target is None else None,
        perm=values.get("perm"),
        axes=axes,
        strides=values.get("strides"),
        pair=_extract_size_pair(values),
        operands=tuple([operand for operand in operands if operand is not None]) or None,
        dim=values.get("dim"),
        groups=values.get("groups"),
    )


def _extract_size_pair(values: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return two related sizes of a message (see `ParsedMessage.pair`)."""
    values = {"rank": values["last"] + 1} | {**values} if "last" in values else values
    if "features" in values:
        actual = size_product(values["input"][values["axis"] :][:1])
        return None if actual is None else (actual, values["features"])
    if "aligned" in values:
        sizes = zip(values["aligned"], values["other"], strict=False)
        pairs = [pair for pair in sizes if pair[0] != pair[1] and 1 not in pair]
        return pairs[0] if len(pairs) == 1 else None
    names = ("there", "wanted") if "there" in values else ("rank", "axis")
    return (values[names[0]], values[names[1]]) if {*names} <= {*values} else None


def _add_printed_shape(message: ParsedMessage, printed: Sequence[PrintedSizes]) -> ParsedMessage:
    """Add the printed input shape that matches the element count or rank."""
    if message.input is not None or message.op == CONCAT.name:
        return message
    if message.op in (MATMUL.name, BROADCAST.name):
        return next(_pair_printed_shapes(message, printed), message)
    needs_rank = message.cause in ("bad-perm", "bad-axis")
    rank = message.pair[0] if needs_rank and message.pair else len(printed[-1]) if needs_rank and printed else None
    candidates = (sizes for sizes in printed[::-1] if len(sizes) > 1 and sizes != message.target)
    for sizes in candidates:
        if size_product(sizes) == message.elements if message.elements else len(sizes) == rank:
            return replace(message, input=sizes, elements=None)
    return message


def _pair_printed_shapes(message: ParsedMessage, printed: Sequence[PrintedSizes]) -> Iterator[ParsedMessage]:
    """Yield copies of a message with two printed shapes as input and operand.

    Only pairs of shapes with the mismatching sizes are used.
    """
    for one, other in permutations(dict.fromkeys(sizes for sizes in printed if sizes), 2):
        pairs = (
            zip(one[::-1], other[::-1], strict=False) if message.op == BROADCAST.name else [(one[-1], other[-2:][0])]
        )
        if message.pair in pairs:
            yield replace(message, input=one, operands=(other,))


def _mark_unknown_sizes(sizes: PrintedSizes | None) -> PrintedSizes | None:
    """Replace negative sizes with `?`.

    Runtimes print negative numbers for unknown sizes.
    """
    return sizes and tuple("?" if isinstance(size, int) and size < 0 else size for size in sizes)


def _determine_cause(message: ParsedMessage) -> ParsedMessage:
    """Determine the cause of a message from its numbers.

    A leading -1 that NumPy does not print is inserted into the target.
    """
    if message.framework in ("numpy", "cupy", "dask") and message.op == RESHAPE.name:
        message = _restore_hidden_infer(message)
    if message.op == SQUEEZE.name and message.framework == "tensorrt":
        return replace(message, cause="not-one")
    if (batches := BATCHED_PRODUCT.search(message.quote)) and batches[1] != batches[2]:
        return replace(message, cause="dims-differ", pair=(int(batches[1]), int(batches[2])), dim=0)
    is_shared = message.cause == "inner-differs" or (
        message.cause == "dims-differ" and message.framework == "tensorflow"
    )  # several ops share this message
    if is_shared and message.op in CAUSES_BY_OP:
        return replace(message, cause=CAUSES_BY_OP[message.op])
    if message.cause == "bad-axis" and message.op == TRANSPOSE.name:
        return replace(message, cause="bad-perm")
    target = resolve_zeros(message)
    if message.cause in ("counts", "asked") and is_frozen_input(message):
        return replace(message, cause="count-mismatch")
    if message.cause in ("counts", "asked", "infer-with-empty") and (
        message.target is not None or message.target_elements is not None
    ):
        cause = cause_from_counts(message.input, message.elements, target, message.target_elements)
        return (
            message if message.cause == "infer-with-empty" and cause != "two-infer" else replace(message, cause=cause)
        )
    if message.cause == "indivisible" and target and 0 in (known_size_product(target), message.elements):
        return replace(message, cause="infer-with-empty")
    if message.cause in ("counts", "asked"):
        return replace(message, cause="count-mismatch" if message.cause == "counts" else "unspecified")
    return message


def is_frozen_input(message: ParsedMessage) -> bool:
    """Return whether a message of TensorRT is about a node with a fixed batch size."""
    shape, target = message.input or (), message.target or ()
    is_profile = message.framework == "tensorrt" and PROFILE.search(message.text) is not None
    return is_profile and shape[:1] == (1,) and any(isinstance(size, int) and size > 1 for size in target[:1])


def resolve_zeros(message: ParsedMessage) -> PrintedSizes | None:
    """Return the target with each 0 replaced by the input dim that it copies.

    In frameworks where a 0 does not copy, the target is returned unchanged.
    """
    if message.target is None or message.input is None or not message.zero_copies:
        return message.target
    dims = message.input
    return tuple(dims[axis] if size == 0 and axis < len(dims) else size for axis, size in enumerate(message.target))


def _restore_hidden_infer(message: ParsedMessage) -> ParsedMessage:
    """Insert the leading -1 that NumPy omits, if the code or the counts imply it."""
    if message.target is None or -1 in message.target:
        return message
    arguments = message.line.arguments if message.line else ()
    is_in_code = arguments[:1] == ("-1",) and len(arguments) == len(message.target) + 1
    would_resolve = message.elements is not None and known_size_product(message.target) == message.elements
    return replace(message, target=(-1, *message.target)) if is_in_code or would_resolve else message


def cause_from_counts(
    input: PrintedSizes | None, elements: int | None, target: PrintedSizes | None, target_elements: int | None
) -> str:
    """Determine the cause of a refused reshape from shapes or element counts.

    >>> cause_from_counts((8, 255, 52, 52), None, (1, 3, 85, 52, 52), None)
    'hard-coded-batch'
    >>> cause_from_counts(None, 1600, (8, 3, -1), None), cause_from_counts(None, 0, (0, -1), None)
    ('indivisible', 'infer-with-empty')
    """
    if target is not None:
        negative = [size for size in target if isinstance(size, int) and size < 0]
        if any(size < -1 for size in negative):
            return "bad-value"
        if len(negative) > 1:
            return "two-infer"
    count = size_product(input) if elements is None else elements
    requested = known_size_product(target) if target_elements is None else target_elements
    infers = target is not None and -1 in target
    if target is not None and requested == 0 and count not in (0, None):
        return "zero-literal"
    if infers and (requested == 0 or (count == 0 and 0 in (target or ()))):
        return "infer-with-empty"
    if count == 0:
        return "empty-input"
    if infers:
        return "indivisible"
    return (
        "hard-coded-batch"
        if differs_in_batch_only(sizes_to_dims(input or ()), sizes_to_dims(target or ()))
        and not _is_above(MAX_BATCH, (input or ())[:1], (target or ())[:1])
        else "count-mismatch"
    )


def _is_above(limit: int, *shapes: PrintedSizes) -> bool:
    """Return whether one of the shapes has a size above a limit."""
    return any(isinstance(size, int) and size > limit for shape in shapes for size in shape)


def sizes_to_dims(sizes: PrintedSizes) -> Shape:
    """Convert sizes to dims, and names to symbols."""
    return tuple(size if isinstance(size, int) else named_dim(size) for size in sizes)


def size_product(sizes: PrintedSizes | None) -> int | None:
    """Return the product of sizes, or None if a size is not a number."""
    if sizes is None:
        return None
    numbers = [size for size in sizes if isinstance(size, int) and size >= 0]
    return prod(numbers) if len(numbers) == len(sizes) else None


def known_size_product(sizes: PrintedSizes | None) -> int | None:
    """Return the product of the sizes other than -1, or None if one is not a number."""
    return None if sizes is None else size_product(tuple(size for size in sizes if size != -1))

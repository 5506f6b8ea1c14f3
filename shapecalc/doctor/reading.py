"""Readings: what an error says of an op, as data, and why it was refused: said, or decided by the numbers.

A message in which nothing is known gives none.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from math import prod
from typing import Any

from shapecalc.core.dims import Shape, named_dim
from shapecalc.core.fixing import batch_differs
from shapecalc.core.ops.view import COPY_FIRST
from shapecalc.core.record import Record
from shapecalc.doctor import context
from shapecalc.doctor import match as sentences
from shapecalc.doctor.match import Folded, Match, Sentence, Sizes

NODE_OF = "node of the operator"
"""What a message is about of which only the node is known."""
DECLARED = "model's input as declared"
"""What a message is about that tells a declared shape."""
INFERRED = "declared shape that the node does not give"
MOST_READ = 16
MEETING = ("not-broadcastable", "inner-differs", "dims-differ", "ranks-differ", "channels-differ", "window-too-large")
"""The causes of which several shapes are told."""
TELLING = ("input", "elements", "target", "target_elements", "perm", "axes", "pair", "operands")
"""The fields of a reading that are sizes, counts or axes."""
LONGEST_OPENING = 160
"""How far before what is known of a sentence it may begin."""
LONGEST_END = 100
"""How far behind what is known of it a sentence is echoed."""


class Cause(Record):
    """What is said of a cause."""

    said: str
    mend: str = ""
    """What mends it, where no numbers are needed to say it."""
    explained: tuple[str, str] | None = None
    """More words, and a command line that shows it."""


CAUSES: Mapping[str, Cause] = {
    "count-mismatch": Cause(
        "the element counts differ, and a reshape keeps the count",
        explained=(
            "1600 elements cannot become 8,3,64: 8*3*64 is 1536. The factors show where to look: 1600 is 2^6*5^2 and "
            "1536 is 2^9*3, so no dim of 3 fits, and the input has a 5 or a 25 that nobody expected.\n\n"
            "If one size of the target is wrong, write -1 in its place. If the target is what you meant, print the "
            "input's shape: a stride, a padding or the image's size differs, or a batch or channel is missing.",
            "shapecalc reshape 1600 8,3,64 --dialect torch",
        ),
    ),
    "indivisible": Cause(
        "the known dims of the target do not divide the element count, so the unknown dim has no whole size"
    ),
    "hard-coded-batch": Cause(
        "apart from the first dim both shapes hold as many elements: most likely the batch size of the example is "
        "written into the target",
        "where to write it: in the model's file, shapecalc model FILE.onnx --fix -o fixed.onnx; in the PyTorch code "
        "that exports it, x.shape[0] in its place",
        (
            "A model is exported with an example, often of one sample, and its batch size is written into the target "
            "of a reshape. An input 4,197,768 cannot become 1,197,12,64: behind the first dims both hold 151296 "
            "elements, 197*768 and 197*12*64.\n\n"
            "Write 0,197,12,64 where 0 copies the input's dim, as in ONNX and TensorRT; it assumes that the batch "
            "stays first. Write -1,197,12,64 elsewhere; it assumes that the other sizes stay. Do not put the -1 behind "
            "the 1: 1,-1,12,64 runs, takes the batch into axis 1, and nothing says so.\n\n"
            "In a model's file, shapecalc model FILE.onnx --fix -o fixed.onnx mends every such node.",
            "shapecalc reshape 4,197,768 1,197,12,64",
        ),
    ),
    "empty-input": Cause(
        "the input holds no elements, and the target asks for some",
        "skip the step while the tensor is empty, or find what removed every element before it",
    ),
    "two-infer": Cause(
        "more than one dim of the target is to be inferred, which has no single answer",
        "keep one -1 and write the other sizes: for the batch 0 where 0 copies, as in ONNX, otherwise x.shape[0]",
    ),
    "infer-with-empty": Cause(
        "-1 could be any size, because another dim of the target is 0",
        "write the size in place of -1, or skip the step while the tensor is empty",
    ),
    "zero-out-of-range": Cause(
        "a 0 of the target is at an index that the input does not have, so there is nothing to copy",
        "write the size itself; in ONNX since opset 14, allowzero=1 makes 0 a dim of size zero",
    ),
    "zero-literal": Cause(
        "0 is a dim of size zero here and copies nothing", "write the size that 0 was to copy, as x.shape[0]"
    ),
    "bad-value": Cause("a size of the target is not valid: only -1 may be negative, and all must be whole numbers"),
    "bad-perm": Cause(
        "the permutation does not name each axis of the input once",
        "name each axis once: if the tensor has a dim more or less than expected, mend that first",
    ),
    "bad-axis": Cause("an axis is named that the tensor does not have, or one is named twice"),
    "not-one": Cause(
        "the size of an axis to drop is not 1",
        "name only an axis whose size is 1; PyTorch's squeeze leaves others alone, ONNX's refuses them",
    ),
    "not-broadcastable": Cause(
        "dims are compared from the last on, and one that is not 1 would have to grow",
        "1 keeps a dim in ONNX, -1 in PyTorch; only dims of 1 can grow",
    ),
    "stride-incompatible": Cause(
        "the elements lie in memory in another order, so no view of this shape exists", COPY_FIRST
    ),
    "inner-differs": Cause(
        "the last dim of the first operand and the last but one of the second are summed together, and differ"
    ),
    "dims-differ": Cause("the operands differ along an axis along which they must not"),
    "ranks-differ": Cause("the operands have no ranks that go together"),
    "channels-differ": Cause("the input has other channels or features than the weights take"),
    "window-too-large": Cause(
        "the window does not fit into the padded input", "pad the input, or take a smaller window"
    ),
    "rank-mismatch": Cause("the number of dims is not the one that is asked for"),
    "bad-pattern": Cause("the pattern does not fit the tensor, or cannot be read"),
    "bad-attribute": Cause("the operator does not take this attribute, or not in this version"),
    "engine-limit": Cause(
        "the shape may be right, but this engine cannot do it",
        "fold the constants of the model before it is loaded, or use a newer engine",
    ),
    "unspecified": Cause("the message does not say what went wrong"),
    "declared-input": Cause("a model's input: it is declared with another shape than it is given"),
    "not-about-shape": Cause("the message is not about the shape of one tensor"),
}


@dataclass(frozen=True, slots=True)
class Reading:
    """What one message says. What it does not say is None. Two are equal if they say the same of a tensor."""

    framework: str | None
    op: str | None
    node: str | None = field(compare=False)
    cause: str
    quote: str = field(compare=False)
    about: str | None = None
    """What a message is about that is not about a shape."""
    input: Sizes | None = None
    elements: int | None = None
    """The input's element count, where its shape is not told."""
    target: Sizes | None = None
    target_elements: int | None = None
    perm: Sizes | None = None
    axes: Sizes | None = None
    strides: Sizes | None = None
    """The input's strides, where a view was asked for."""
    pair: tuple[int, int] | None = None
    """What there is and what is wanted: a permutation's dims and the axes that it names, two sizes that differ."""
    operands: tuple[Sizes, ...] | None = None
    """Every shape beside the input's, of several operands."""
    groups: int | None = None
    """The groups of a convolution."""
    line: context.Line | None = field(default=None, compare=False)
    """The call that failed, if the text shows it."""
    stated: Sizes | None = field(default=None, compare=False)
    """The shape of its tensor, if the text states it."""
    near: str = field(default="", compare=False)
    """The text before it, in which code may stand."""

    @property
    def traits(self) -> context.Framework:
        """What is true of all messages of its framework."""
        return context.FRAMEWORKS.get(self.framework or "", context.Framework())

    @property
    def dialect(self) -> str | None:
        """The dialect whose rules the reading is run under; None if the framework's messages have none of their own."""
        return self.framework if self.traits.own_rules else None

    @property
    def shapes(self) -> tuple[Any, ...]:
        """The sizes, counts and axes that it tells."""
        return tuple([getattr(self, name) for name in TELLING])


def readings(text: str) -> list[Reading]:
    """Return what a text says, each message once, those about shapes before all others.

    >>> [found.cause for found in readings("ValueError: cannot reshape array of size 24 into shape (5,5)")]
    ['count-mismatch']
    """
    found = _found(sentences.excerpts(text, sentences.SENTENCES, sentences.LIKELY))
    if len(text) > sentences.SHORT and all(reading.about for reading in found):
        found += _found(sentences.excerpts(text, sentences.SENTENCES, sentences.UNLIKELY))
    if len(text) <= sentences.SHORT and "\n" in text:
        found = max(found, _found([(text, sentences.SENTENCES)], sentences.unwrapped), key=_told)
        found = found or _found([(text, sentences.SENTENCES)], "".join)
    about_shapes = [reading for reading in found if reading.about is None]
    return about_shapes or sorted(found, key=lambda each: (str(each.about).startswith(NODE_OF), -_told([each])))[:1]


def knows(text: str) -> bool:
    """Say whether a text holds a sentence that the doctor knows.

    >>> knows("RuntimeError: shape '[5]' is invalid for input of size 6"), knows("2,3,4 to 6,4")
    (True, False)
    """
    return bool(readings(text))


def _told(found: list[Reading]) -> int:
    """Return how much some readings tell: their causes and counts, and shapes twice."""
    causes = [each for each in found if each.about is None and each.cause != "unspecified"]
    shapes = [value for each in found for value in each.shapes if value is not None]
    return len(causes) + len(shapes) + sum(isinstance(value, tuple) for value in shapes)


def _found(
    parts: Iterable[tuple[str, Sequence[Sentence]]], joined: Callable[[list[str]], str] = "\n".join
) -> list[Reading]:
    """Return the readings of the parts of a text, in order; `joined` puts their lines together."""
    found: dict[Reading, Reading] = {}
    for part, known in parts:
        clean = sentences.folded(part, joined)
        kept = _widest(match for sentence in known for match in sentences.matches(sentence, clean))
        for match, room in _with_room(kept, len(clean.text)):
            reading = _reading(match, clean, room)
            found.setdefault(reading, reading)
            if len(found) >= MOST_READ:
                return _without_echoes([*found.values()])
    return _without_echoes([*found.values()])


def _with_room(kept: list[Match], length: int) -> Iterator[tuple[Match, tuple[int, int]]]:
    """Yield matches, each with the places between which no other message of its own cause stands."""
    walls = [match for match in kept if match.sentence.cause != "unspecified"]
    starts, ends = [wall.start for wall in walls], [wall.end for wall in walls]
    # of how many messages in one part of a text the surroundings are read, those about shapes first
    for match in sorted(kept, key=lambda each: each.sentence.about is not None)[:400]:
        before, after = bisect_right(ends, match.start), bisect_left(starts, match.end)
        yield match, (ends[before - 1] if before else 0, starts[after] if after < len(walls) else length)


def _without_echoes(found: list[Reading]) -> list[Reading]:
    """Return the readings without those that say less of what another one says."""
    told = {each.framework for each in found if each.cause != "unspecified"}
    found = [each for each in found if each.cause != "unspecified" or each.framework not in told]
    return [one for one in found if not any(other is not one and _says_more(other, one) for other in found)]


def _says_more(more: Reading, less: Reading) -> bool:
    """Say whether a reading holds all that another holds, and shapes that it lacks."""
    if (more.framework, more.op, more.cause) != (less.framework, less.op, less.cause):
        return False
    return more.shapes != less.shapes and all(
        theirs in (None, ours) for ours, theirs in zip(more.shapes, less.shapes, strict=True)
    )


def _widest(found: Iterable[Match]) -> list[Match]:
    """Return the matches in order, of those that overlap the one that starts first and reads most."""
    kept: list[Match] = []
    starts: list[int] = []
    for match in sorted(found, key=lambda each: (-len(each.values), each.start - each.end)):
        at = bisect_left(starts, match.start)
        if (not at or kept[at - 1].end <= match.start) and (at == len(kept) or match.end <= starts[at]):
            starts.insert(at, match.start)
            kept.insert(at, match)
    return kept


def _reading(match: Match, clean: Folded, room: tuple[int, int]) -> Reading:
    """Return what a sentence and the text around it say."""
    sentence = match.sentence
    framework = context.framework_near(match, clean)
    node = context.node_near(match, framework, clean, room)
    quote = _quote(match, clean)
    behind = clean.text[match.end : match.end + context.NEARBY]
    op, cause, unrelated = _op(sentence, framework, node), sentence.cause, "not-about-shape"
    if sentence.about in (DECLARED, INFERRED) and op == "concat":  # it joins what the model declares
        cause = "dims-differ"
    elif sentence.about is not None:
        cause = "declared-input" if sentence.about == DECLARED else unrelated
        about = Reading(framework, None, node.name, cause, quote, sentence.about, near=behind)
        return _with_shapes(about, match.values)
    if op is None and node.op and node.op not in context.OPS_BY_NAME:
        return Reading(framework, None, node.name, unrelated, quote, f"{NODE_OF} {node.op}")
    read = _with_shapes(Reading(framework, op, node.name, cause, quote), match.values)
    near = clean.text[max(room[0], match.start - context.NEARBY) : match.start]  # code may stand there
    line = context.line_before(near, op, read.target) or context.line_before(behind, op, read.target)
    stated = next(context.shapes_near(match, clean, line.tensor), None) if line and line.tensor else None
    read = replace(read, line=line, near=near, stated=stated)
    read = _with_printed(read, [*context.shapes_near(match, clean)])
    if read.input is None and framework == "openvino":
        shapes = [_input_sizes(each) for each in context.inputs_of_node(match, clean)]
        several = tuple([each for each in shapes[1:] if each]) if cause in MEETING else ()
        read = replace(read, input=shapes[0] if shapes else None, operands=several or None)
    return _decided(read)


def _quote(match: Match, clean: Folded) -> str:
    """Return the sentence from its beginning in the text to the end of its line, as far as that is short."""
    text = clean.text
    before = text[max(0, match.start - LONGEST_OPENING) : match.start].replace("vs. ", "vs  ")
    else_from = len(before) if match.start > LONGEST_OPENING else 0
    begin = max((before.rfind(mark) + len(mark) for mark in (". ", ": ") if mark in before), default=else_from)
    lines = (0, *clean.ends, len(text) + 1)
    start, line = (lines[bisect_right(lines, place) - after] for place, after in ((match.start, 1), (match.end, 0)))
    begin = max(begin, len(before) - match.start + start)
    end = max(match.end, text.rfind(" ", 0, match.end + LONGEST_END)) if line > match.end + LONGEST_END else line
    return text[match.start - len(before) + begin : end].strip()


def _op(sentence: Sentence, framework: str | None, node: context.Node) -> str | None:
    """Return the op: the sentence's, or the node's where the sentence is said of several ops."""
    named = context.OPS_BY_NAME.get(node.op or "")
    if framework == "tensorrt" and sentence.op == "shuffle" and named not in ("reshape", "transpose"):
        return named or sentence.op
    return sentence.op or named


def _with_shapes(read: Reading, values: Mapping[str, Any]) -> Reading:
    """Return a reading with the shapes and counts that the holes of its sentence hold."""
    given = values.get("shapes") or [values[name] for name in ("input", "operand") if name in values]
    first, *others = [_input_sizes(each) for each in given] or [None]
    if first and "features" in values and values["axis"] in (-1, len(first) - 1):
        others = [("?", values["features"])]
    input, operands = (None, [first]) if "operand" in values and len(given) == 1 else (first, others)
    target, axes = values.get("target"), values.get("axes")
    target = target and tuple(-1 if size == "?" else size for size in target)  # an unknown size is to be inferred
    if read.framework in ("onnx", "onnxruntime") and read.op == "transpose" and input and 0 in input:
        input = tuple("?" if size == 0 else size for size in input)  # an unknown size is printed as 0 there
    # the ops whose messages name an axis that is no argument of theirs
    if axes is None and "axis" in values and read.op not in ("linear", "reshape", "transpose", "expand", "shuffle"):
        axes = (values["axis"],)
    return replace(
        read,
        input=input,
        elements=values.get("elements") if input is None else None,
        target=target,
        target_elements=values.get("target_elements", values.get("known")) if target is None else None,
        perm=values.get("perm"),
        axes=axes,
        strides=values.get("strides"),
        pair=_pair(values),
        operands=tuple([each for each in operands if each is not None]) or None,
        groups=values.get("groups"),
    )


def _pair(values: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return what there is and what is wanted; of an axis that is out of range, the dims and the axis."""
    values = {"rank": values["last"] + 1} | {**values} if "last" in values else values
    if "features" in values:
        there = count_of(values["input"][values["axis"] :][:1])
        return None if there is None else (there, values["features"])
    names = ("there", "wanted") if "there" in values else ("rank", "axis")
    return (values[names[0]], values[names[1]]) if {*names} <= {*values} else None


def _with_printed(read: Reading, printed: Sequence[Sizes]) -> Reading:
    """Return a reading with the shape of its input that is printed near: it holds the elements, or has the dims."""
    if read.input is not None or read.op == "concat":
        return read
    if read.op in ("matmul", "broadcast"):
        return next(_met(read, printed), read)
    ranked = read.cause in ("bad-perm", "bad-axis")
    there = read.pair[0] if ranked and read.pair else len(printed[-1]) if ranked and printed else None
    alike = (each for each in printed[::-1] if len(each) > 1 and each != read.target)
    fits = (each for each in alike if (count_of(each) == read.elements if read.elements else len(each) == there))
    found = next(fits, None)
    return read if found is None else replace(read, input=found, elements=None)


def _met(read: Reading, printed: Sequence[Sizes]) -> Iterator[Reading]:
    """Yield a reading with two shapes that are printed near, in which the sizes meet that are told."""
    for one, other in permutations(dict.fromkeys(each for each in printed if each), 2):
        met = zip(one[::-1], other[::-1], strict=False) if read.op == "broadcast" else [(one[-1], other[-2:][0])]
        if read.pair in met:
            yield replace(read, input=one, operands=(other,))


def _input_sizes(sizes: Sizes | None) -> Sizes | None:
    """Return an input shape, whose -1 are sizes that the runtime did not know."""
    return sizes and tuple("?" if isinstance(size, int) and size < 0 else size for size in sizes)


def _decided(read: Reading) -> Reading:
    """Return a reading with its cause decided by the numbers, and with what NumPy hides put back."""
    if read.framework in ("numpy", "cupy", "dask") and read.op == "reshape":
        read = _with_hidden_infer(read)
    if read.op == "squeeze" and read.framework == "tensorrt":
        return replace(read, cause="not-one")
    if read.cause == "dims-differ" and read.framework == "tensorflow" and read.op in ("matmul", "broadcast"):
        return replace(read, cause="inner-differs" if read.op == "matmul" else "not-broadcastable")
    if read.cause == "bad-axis" and read.op == "transpose":
        return replace(read, cause="bad-perm")
    target = _with_copied(read)
    if read.cause in ("counts", "asked", "infer-with-empty") and (
        read.target is not None or read.target_elements is not None
    ):
        counted = counted_cause(read.input, read.elements, target, read.target_elements)
        return read if read.cause == "infer-with-empty" and counted != "two-infer" else replace(read, cause=counted)
    if read.cause == "indivisible" and target and 0 in (known_count(target), read.elements):
        return replace(read, cause="infer-with-empty")
    if read.cause in ("counts", "asked"):
        return replace(read, cause="count-mismatch" if read.cause == "counts" else "unspecified")
    return read


def _with_copied(read: Reading) -> Sizes | None:
    """Return the target with the sizes that its zeros copy, where 0 copies and the input is told."""
    if read.target is None or read.input is None or not read.traits.zero_copies:
        return read.target
    given = read.input
    return tuple(given[at] if size == 0 and at < len(given) else size for at, size in enumerate(read.target))


def _with_hidden_infer(read: Reading) -> Reading:
    """Return a reading of NumPy's with the leading -1 that it does not print, where the code or the counts prove it."""
    if read.target is None or -1 in read.target:
        return read
    line = read.line.arguments if read.line else ()
    written = line[:1] == ("-1",) and len(line) == len(read.target) + 1
    works = read.elements is not None and known_count(read.target) == read.elements
    return replace(read, target=(-1, *read.target)) if written or works else read


def counted_cause(input: Sizes | None, elements: int | None, target: Sizes | None, wanted: int | None) -> str:
    """Return why a reshape with these shapes, or with these counts, is refused.

    >>> counted_cause((8, 255, 52, 52), None, (1, 3, 85, 52, 52), None)
    'hard-coded-batch'
    >>> counted_cause(None, 1600, (8, 3, -1), None), counted_cause(None, 0, (0, -1), None)
    ('indivisible', 'infer-with-empty')
    """
    if target is not None:
        negative = [size for size in target if isinstance(size, int) and size < 0]
        if any(size < -1 for size in negative):
            return "bad-value"
        if len(negative) > 1:
            return "two-infer"
    have = count_of(input) if elements is None else elements
    asked = known_count(target) if wanted is None else wanted
    infers = target is not None and -1 in target
    if target is not None and asked == 0 and have not in (0, None):
        return "zero-literal"
    if infers and (asked == 0 or (have == 0 and 0 in (target or ()))):
        return "infer-with-empty"
    if have == 0:
        return "empty-input"
    if infers:
        return "indivisible"
    return "hard-coded-batch" if batch_differs(as_dims(input or ()), as_dims(target or ())) else "count-mismatch"


def as_dims(sizes: Sizes) -> Shape:
    """Return sizes as dims; what a message calls by a name keeps it."""
    return tuple(size if isinstance(size, int) else named_dim(size) for size in sizes)


def count_of(sizes: Sizes | None) -> int | None:
    """Return the product of sizes that are all numbers; None if one is not."""
    if sizes is None:
        return None
    numbers = [size for size in sizes if isinstance(size, int) and size >= 0]
    return prod(numbers) if len(numbers) == len(sizes) else None


def known_count(sizes: Sizes | None) -> int | None:
    """Return the product of the sizes beside -1; None if another is no number."""
    return None if sizes is None else count_of(tuple(size for size in sizes if size != -1))

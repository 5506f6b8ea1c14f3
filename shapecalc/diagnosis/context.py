"""Find the context of an error message: framework, node and line of code."""

from __future__ import annotations

import keyword
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise, zip_longest

from shapecalc.core.ops import OPS
from shapecalc.core.ops.calls import parse_signatures
from shapecalc.core.ops.expand import EXPAND
from shapecalc.core.ops.reshape import RESHAPE
from shapecalc.core.ops.squeeze import SQUEEZE
from shapecalc.core.ops.transpose import TRANSPOSE
from shapecalc.core.ops.unsqueeze import UNSQUEEZE
from shapecalc.core.ops.view import VIEW
from shapecalc.core.record import Record
from shapecalc.diagnosis.match import (
    CLOSING_BRACKETS,
    CleanText,
    PrintedSizes,
    TemplateMatch,
    find_closing_bracket,
    parse_sizes_at,
)


class FrameworkTraits(Record):
    """The framework properties that determine how messages are parsed."""

    zero_copies: bool = False
    """Whether a 0 in a reshape target copies the input dim by default, if the framework has no dialect."""
    forwards_messages: bool = False
    """Whether the framework forwards messages of NumPy or JAX; `markers` identify a forwarded message."""
    markers: tuple[str, ...] = ()
    """Names of folders and modules that identify the framework if they occur near a message."""
    shape_source: str | None = None
    """The source of omitted shapes, for example the model file; None if it is the user's code."""


class NodePattern(Record):
    """A pattern for the name or op of a failing node."""

    frameworks: frozenset[str]
    precedes_message: bool
    """Whether to search the text before the message, instead of the text after it."""
    pattern: str
    """The regular expression, which is compiled on first use."""


class FailingNode(Record):
    """The name and op of a failing node, as reported by a runtime."""

    name: str | None
    op: str | None
    """The runtime's name for the op, in lower case."""


class FailingLine(Record):
    """The line of the user's code that failed."""

    text: str
    file: str | None = None
    number: int | None = None

    @property
    def operands(self) -> tuple[str, ...]:
        """The names of at most three values in the line."""
        code = COMMENT.sub("", STRING_LITERAL.sub("''", self.text))
        if code.count("(") > code.count(")"):  # the call continues on the next line
            return ()
        if augmented := AUGMENTED_ASSIGNMENT.match(code):
            code = f"{augmented[1]} + {code[augmented.end() :]}"
        code = ASSIGNMENT.sub("", code, count=1).removeprefix("return ")
        if items := ITEM_PAIR.search(code):
            return (f"{items[1]}[{items[2]}]", f"{items[3]}[{items[2]}]")
        if joined := JOINED_OPERANDS.search(code):
            code = joined[1]
        code = SUBSCRIPT.sub("", SHAPE_ATTRIBUTE.sub("", SIZES_CALL.sub("", DICT_ITEM.sub("", code))))
        code = OBJECT_METHOD.sub("", CALLBACK_ARGUMENTS.sub("", code))
        found = [
            [name for name in VALUE_NAME.findall(text) if _is_possible_tensor(name)]
            for text in (KEYWORD_VALUE.sub("", code), code)
        ]
        names = tuple(dict.fromkeys(found[0] or found[1]))
        is_call = len(names) > MAX_OPERANDS and OPERATOR.search(code) is None
        return () if is_call else names[:MAX_OPERANDS]  # a call with many arguments is not the op that failed


def _is_possible_tensor(name: str) -> bool:
    """Return whether a name in code may be a tensor, not a module, an object or a constant."""
    first, _, last = name.rpartition(".")
    is_constant = bool(first) and last.isupper() and len(last) > 1
    return name.partition(".")[0] not in NOT_VALUES and name != "self" and not is_constant


class CodeCall(Record):
    """A call in a line of code."""

    function: str
    """The function name in the code."""
    text: str
    """The expression, from the tensor to the end of the call."""
    receiver: str
    """The receiver of the method, or the first argument of the function."""
    arguments: tuple[str, ...]
    """The remaining arguments; a single list argument is replaced by its items."""

    @property
    def tensor(self) -> str | None:
        """The variable on which the method is called.

        The value is None if the receiver is another call.
        """
        chain = METHOD_CHAIN.fullmatch(self.receiver)
        return chain[1] if chain and chain[1] != "self" else None

    @property
    def sizes(self) -> PrintedSizes | None:
        """The arguments as integers, or None if one is not an integer literal."""
        numbers = [int(text) for text in self.arguments if INTEGER.fullmatch(text)]
        return tuple(numbers) if len(numbers) == len(self.arguments) else None

    def is_compatible(self, target: PrintedSizes | None) -> bool:
        """Return whether each integer argument equals the corresponding dim of `target`."""
        dims = target[-len(self.arguments) :] if target else ()
        pairs = [*zip(self.arguments, dims, strict=False)] if len(dims) == len(self.arguments) else []
        return all(not INTEGER.fullmatch(text) or int(text) == size for text, size in pairs)


FRAMEWORKS: Mapping[str, FrameworkTraits] = {
    "keras": FrameworkTraits(forwards_messages=True, markers=("/keras/", "keras.layers", "keras/src", "keras_core")),
    "dask": FrameworkTraits(forwards_messages=True, markers=("/dask/", "dask.array")),
    "cupy": FrameworkTraits(forwards_messages=True, markers=("/cupy/", "cupy.", "cupyx")),
    "jax": FrameworkTraits(forwards_messages=True, markers=("/jax/", "jax._src", "jaxlib", "jax.numpy")),
    "mxnet": FrameworkTraits(forwards_messages=True, markers=("mxnet",)),
    "theano": FrameworkTraits(forwards_messages=True, markers=("apply node that caused the error", "/theano/")),
    "torch": FrameworkTraits(markers=("/torch/", "torch.")),
    "tensorflow": FrameworkTraits(markers=("/tensorflow/", "tensorflow.")),
    "onnxruntime": FrameworkTraits(
        markers=("/onnxruntime/", "onnxruntime."), shape_source="the model file, and what is fed to it"
    ),
    "openvino": FrameworkTraits(
        markers=("/openvino/", "openvino."), shape_source="the constant that is the node's second input"
    ),
    "numpy": FrameworkTraits(markers=("/numpy/", "numpy.")),
    "onnx": FrameworkTraits(shape_source="the model file"),
    "tensorrt": FrameworkTraits(shape_source="the log of trtexec --verbose, or the model file"),
    "onednn": FrameworkTraits(
        shape_source="the lines of ONEDNN_VERBOSE=all before this one, and the shapes of its tensors"
    ),
    "opencv": FrameworkTraits(zero_copies=True, shape_source="the model file"),
    "tflite": FrameworkTraits(shape_source="the model file"),
    "tvm": FrameworkTraits(zero_copies=True),
    "coreml": FrameworkTraits(shape_source="the model file"),
    **dict.fromkeys(("caffe", "paddle", "einops", "llama.cpp", "migraphx", "mlx", "mnn", "triton"), FrameworkTraits()),
    **dict.fromkeys(
        ("flax", "matplotlib", "mindspore", "pandas", "scipy", "sklearn", "tinygrad", "xarray"), FrameworkTraits()
    ),
}
"""The traits of each framework, keyed by framework name.

If a message does not identify its framework, the first framework with a marker near the message is chosen.
"""
OPENVINO_INPUT = re.compile(r"\b(?:f|bf|i|u|boolean|dynamic)\d{0,2}(?=[\[{])")
"""The element type that OpenVINO prints before the shape of an input."""
MAX_DISTANCE = 900
"""The maximum distance, in characters, between a message and the name of its node."""
FUNCTIONS_BY_OP = {
    op.name: {name for signature in parse_signatures(op.name) for name in signature.names if name.islower()}
    for op in (RESHAPE, TRANSPOSE, EXPAND, SQUEEZE, UNSQUEEZE)
}
FUNCTIONS_BY_OP[RESHAPE.name] |= {*parse_signatures(VIEW.name)[0].names, "resize"}
"""The function names that call each op in code."""
MODULE_NAMES = frozenset({"np", "numpy", "torch", "tf", "jnp", "cp", "cupy", "da", "paddle", "ops", "F", "mx"})
"""Module names; in `np.reshape(x, ...)`, `np` is a module name and `x` is the tensor."""
OBJECTS = (
    *(
        "model",
        "net",
        "network",
        "criterion",
        "loss_fn",
        "optimizer",
        "tokenizer",
        "processor",
        "config",
        "cfg",
        "args",
        "kwargs",
    ),
    *("opt", "device", "loader", "dataloader", "dataset", "trainer", "pipe", "pipeline", "sess", "session", "ct"),
    *(
        "params",
        "variables",
        "coremltools",
        "device_ids",
        "dtype",
        "clf",
        "classifier",
        "estimator",
        "regressor",
        "scaler",
        "ax",
        "plt",
    ),
)
"""Names of objects that have no shape."""
NOT_VALUES = MODULE_NAMES | {
    *keyword.kwlist,
    *("int", "float", "bool", "str", "list", "tuple", "dict", "object", "bytes", "complex"),
    "nn",
    "einops",
    "tqdm",
    "print",
    "math",
    "pd",
    "xr",
    "jax",
    "axis",
    "dim",
    *OBJECTS,
}
"""Words that are not the names of values."""
STRING_LITERAL = re.compile(r"(?:\b[rbfuRBFU]{1,2})?(?:'[^']*'|\"[^\"]*\")")
COMMENT = re.compile(r"\s*#.*")
MAX_OPERANDS = 3
"""The maximum number of printed values of a failing line."""
OPERATOR = re.compile(r"[\w\])] ?[-+*/@] ?[\w(]")
"""An operator between two values."""
AUGMENTED_ASSIGNMENT = re.compile(r"([A-Za-z_][\w.]*(?:\[[^\[\]]{0,60}\])?) ?(?:[-+*/@]|//)= ?")
"""An augmented assignment, whose target is an operand too."""
ASSIGNMENT = re.compile(r"^[\w.,\[\]:' ]{1,80}? ?(?:[-+*/@]|//)?=(?!=) ?")
JOINED_OPERANDS = re.compile(r"(?:cat|concat|concatenate|[hvd]?stack)\(\s*[\[(]([^\[\]()]*)[\])]")
"""The list of operands in a call of a concatenation."""
CALLBACK_ARGUMENTS = re.compile(r"\.(?:groupby|map|apply|agg|aggregate|pipe)\([^()]*\)")
"""A call of a method whose arguments are functions or keys, not arrays."""
ITEM_PAIR = re.compile(r"([A-Za-z_]\w*)\[([A-Za-z_]\w*)\] ?[-+*/] ?([A-Za-z_]\w*)\[\2\]")
"""An operation on the items of two containers with one key."""
DICT_ITEM = re.compile(r"[\w.]+\[''\](?:\[[^\[\]]*\])*")
"""An item of a dict, after the removal of string literals; the dict has no shape."""
SUBSCRIPT = re.compile(r"(?<=[\w\])])\[[^\[\]]*\]")
KEYWORD_VALUE = re.compile(r"(?<=[,(]) ?\w+ ?= ?[\w.]+(?=[,)])")
"""A keyword argument, which is rarely a tensor."""
SIZES_CALL = re.compile(
    r"\.(?:view|reshape|expand|repeat|permute|transpose|unsqueeze|flatten|size|resize_?|chunk|split)\([^()]*\)"
)
"""A method call with sizes or axes as its arguments."""
SHAPE_ATTRIBUTE = re.compile(r"\.(?:shape|size|ndim)\b(?!\()")
VALUE_NAME = re.compile(r"(?<![\w.'])([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?!\w|\s*\(|=(?!=)|\[[^\]]*\]\()")
"""A name in code, except for the name of a function or of a keyword argument."""
FRAME = re.compile(
    r"File \"?(?P<file>[^\",]{1,300})\"?(?:, line |:)(?P<number>\d{1,7})"
    r"(?:, in (?P<function>[^\s(]{1,100})(?:\(.{0,300})?)?$"
)
"""A line of a traceback; the next line is its code."""
NOTEBOOK_FRAME = re.compile(r"(?P<file>\S{1,300}\.py) in [\w<>]{1,80}(?:\(|$)")
"""A line of a traceback in a notebook, above a listing of code."""
FRAME_CODE = re.compile(r"-{1,6}> ?(?P<number>\d{1,7}) (?P<code>\S.*)$")
"""The failing line of a frame in a notebook."""
LIBRARY = re.compile(
    r"site-packages|dist-packages|[/\\]lib[/\\]python|^<|[/\\](?:torch|tensorflow|numpy|keras|einops|jax|flax|tinygrad|mlx"
    r"|sklearn|pandas|xarray|dask|mindspore|paddle|mxnet|onnxruntime|transformers|diffusers)[/\\]"
)
"""The path of a file of a library."""
NOT_FAILING = re.compile(r"raise |\w+=[\w.]+,?$")
"""A `raise` statement, or an argument on a line of its own."""
LISTING_LINE = re.compile(r"\d{1,5} +\S")
"""A line of a listing, with its number."""
CODE_LINE = re.compile(
    r"(?!\w+: )[\w.,\[\]: ]{1,80} ?[-+*/@]?= ?\S|(?:return )?[\w.]{1,80}\(.*\)$|return \S.*[-+*/@]|[\w.\[\]]{1,60} @ \S"
)
"""A line that is likely to be code."""
PROSE = re.compile(
    r"(?:array|tensor)\([\[\d]|.*\b(?:error|triggered|problem)\b.*:$"
    r"|(?!(?:return|for|with|if|assert|yield|await) )[A-Za-z]\w* [A-Za-z]\w*[ ,]"
)
"""The start of a sentence: two words without an operator between them."""
MAX_FRAMES = 80
"""The maximum number of lines before a message that are searched for frames."""
ARRAY_METHODS = (
    "add|all|any|argmax|argsort|astype|bmm|chunk|clone|copy|cpu|cuda|cumsum|detach|div|dot|expand_as|"
    "gather|index_select|item|masked_fill|matmul|max|mean|min|mm|mul|numpy|repeat|repeat_interleave|"
    "scatter|size|softmax|split|std|sub|sum|to|unfold|view_as|where"
)
"""Methods of arrays and tensors that compute with their elements."""
MAX_CALL_LENGTH = 200
"""The maximum number of characters of a call."""
OPENING_BRACKETS = {"]": "[", ")": "(", "}": "{"}
TENSOR_METHODS = r"transpose|permute|contiguous|reshape|view|flatten|squeeze|unsqueeze|expand|float|half|t"
"""Methods that change the shape or the type of a tensor but not its elements."""
OBJECT_METHOD = re.compile(rf"(?<![\w.])\w+(?:\.\w+)*\.(?!(?:{TENSOR_METHODS}|{ARRAY_METHODS})_?\()\w+(?=\()")
"""A call of a method that no array has; its object has no shape."""
METHOD_CHAIN = re.compile(
    rf"((?:self\.)?[A-Za-z_]\w*(?:\.(?!(?:{TENSOR_METHODS})\()[A-Za-z_]\w*)*?)((?:\.(?:{TENSOR_METHODS})\([^()]*\))*)"
)
"""A variable with a chain of calls of `TENSOR_METHODS`."""
INTEGER = re.compile(r"-?\d{1,18}")
LISTING_NUMBER = re.compile(r"(?<=[,(] )\d{1,4} (?=[A-Za-z_])")
"""A line number of a code listing inside a call that spans two lines."""
PRINTED_SHAPE = re.compile(
    r"(?ai)(?:(?<![a-z])(?:shape|(?<!_)size)s?\b[^()\[\]{}]{0,40}|size\(|(?P<comment># ?)(?:[\w.]{1,40} ?[:=]? ?)?)"
    r"(?=[\[(])"
)
"""The text before a shape that is printed in a log or a comment; `figsize=` and `kernel_size=` are settings.

`re.ASCII` saves 5 ms: a pattern that ignores case in Unicode is compiled with a table of 65,536 characters.
"""

FRAME_ARROW = re.compile(r"-{1,6}> ?\d")
"""The arrow in front of the failing line of a listing."""


@cache
def ops_by_printed_name() -> dict[str, str]:
    """Return the op for each name that runtimes print for an op.

    The first call imports all ops.
    """
    return {printed: op.name for op in OPS.values() for printed in op.printed_names.split()}


def _node_patterns(frameworks: str, *patterns: str, precedes_message: bool = True) -> tuple[NodePattern, ...]:
    """Return a `NodePattern` for each pattern, valid for all the given frameworks."""
    return tuple(NodePattern(frozenset(frameworks.split()), precedes_message, pattern) for pattern in patterns)


NODE_PATTERNS = (
    *_node_patterns(
        "onnx onnxruntime",
        r"while running (?P<op>\w{1,40}) node\. name:'(?P<name>[^']{0,200})'",
        r"node \((?P<name>[^()]{0,200})\) op \((?P<op>\w{1,40})\)",
        r"op_type:(?P<op>\w{1,40})(?:, node name: (?P<name>[^()\s]{1,200}))?",
    ),
    *_node_patterns(
        "openvino",
        r"while validating node '[\w:]{0,20}::(?P<op>\w{1,40}) (?P<name>[^\s(]{1,200})",
        r"\[cpu\] (?P<op>\w{1,40}) node with name '(?P<name>[^']{1,200})'",
    ),
    *_node_patterns("openvino", r"of reshape node (?P<name>\S{1,200}) mismatch", precedes_message=False),
    *_node_patterns(
        "tensorrt",
        r"(?P<name>\(unnamed layer\* \d{1,9}\)) \[",
        r"ishufflelayer (?!applied)(?P<name>[^:]{1,200}): ",
        r"\((?P<name>[\w./]{1,200}): (?:reshape|ishufflelayer|dimensions not compatible) ?",
        r"(?P<name>[\w./]{1,200}): reshaping failed",
        r"while parsing node number (?P<name>\d{1,9}) \[(?P<op>\w{1,40})",
        r"in function import(?P<op>\w{1,40})",
    ),
    *_node_patterns(
        "tensorrt",
        r"while parsing node number \d{1,9} \[(?P<op>\w{1,40})",
        r" name: \"(?P<name>[^\"]{1,200})\" op_type: \"(?P<op>\w{1,40})\"",
        precedes_message=False,
    ),
    *_node_patterns(
        "tensorflow keras tflite",
        r"\[op:(?P<op>\w{1,40})\]",
        r"for '(?P<name>[^'{}]{1,200})' \(op: '(?P<op>\w{1,40})'\)",
        r"for (?P<name>[\w./:-]{1,200}) \(op: ?'(?P<op>\w{1,40})'\)",
        r"'\{\{node (?P<name>[^{}]{1,200})\}\} = (?P<op>\w{1,40})\[",
        r"\[\[\{?\{?node:? (?P<name>[^\s{}=\]]{1,200})(?: = (?P<op>\w{1,40})\[)?",
        r"node number (?P<name>\d{1,9}) \((?P<op>\w{1,40})\)",
        precedes_message=False,
    ),
    *_node_patterns("tensorflow keras", r"layer '?\"?(?P<name>[\w/]{1,200})'?\"? \(type (?P<op>\w{1,40})\)"),
    *_node_patterns("keras", r"(?:of|with) layer '?\"?(?P<name>[\w/]{1,200})"),
    *_node_patterns("paddle", r"\[operator < (?P<op>\w{1,40}) > error\]", precedes_message=False),
    *_node_patterns("opencv", r"\[reshape\]:\((?P<name>[^()]{1,200})\): getm", precedes_message=False),
    *_node_patterns("mxnet", r"error in operator (?P<name>[^\s:]{1,200}):"),
    *_node_patterns("numpy dask cupy jax", r", in (?P<op>transpose|squeeze|expand_dims|broadcast_to|split) "),
    *_node_patterns("einops", r"processing (?P<op>rearrange)-reduction"),
    *_node_patterns("onednn", r"\b_?(?P<op>(?:static)?(?:reshape|transpose)),"),
)
"""The patterns for the names and ops of failing nodes.

For each framework, the first matching pattern with a name gives the name, and the first with an op gives the op.
"""


def find_failing_node(
    match: TemplateMatch, framework: str | None, cleaned: CleanText, bounds: tuple[int, int]
) -> FailingNode:
    """Find the name and the op of the failing node near a message.

    Only the span `bounds`, which contains no other message, is searched.
    """
    name = op = None
    for sign in NODE_PATTERNS:
        if framework not in sign.frameworks:
            continue
        start = max(bounds[0], match.start - MAX_DISTANCE) if sign.precedes_message else match.start
        end = match.end if sign.precedes_message else min(bounds[1], match.end + MAX_DISTANCE)
        hits = [*re.finditer(sign.pattern, cleaned.lower[start:end])]
        if not hits:
            continue
        nearest = hits[-1] if sign.precedes_message else hits[0]
        groups = nearest.groupdict()
        if name is None and groups.get("name"):
            position = start + nearest.start("name")
            name = cleaned.text[position : position + len(groups["name"])].strip()
        op = op or groups.get("op")
    return FailingNode(name, op)


def identify_framework(match: TemplateMatch, cleaned: CleanText) -> str | None:
    """Determine the framework of a message from its template and its context."""
    framework = match.template.framework
    near = cleaned.lower[max(0, match.start - 3 * MAX_DISTANCE) : match.end + MAX_DISTANCE].replace("\\", "/")
    if framework in ("", "numpy", "jax"):  # other frameworks forward messages of NumPy and JAX
        candidates = (name for name, traits in FRAMEWORKS.items() if traits.forwards_messages or not framework)
        near_ones = (name for name in candidates if any(sign in near for sign in FRAMEWORKS[name].markers))
        return next(near_ones, framework or None)
    if framework == "onnx":  # ONNX Runtime raises messages of ONNX's shape inference while it loads a model
        is_runtime = "trt" not in near and any(sign in near for sign in ("onnxruntime", "] op (", ") op ("))
        return "onnxruntime" if is_runtime else framework
    if framework == "onnxruntime" and "onnx_cpp2py_export" in near and "onnxruntime" not in near:
        return "onnx"
    return framework


def find_node_inputs(match: TemplateMatch, cleaned: CleanText) -> list[PrintedSizes]:
    """Return the input shapes that OpenVINO prints with the failing node."""
    start = cleaned.lower.rfind("while validating node '", max(0, match.start - MAX_DISTANCE), match.end)
    line = cleaned.text[start : start + MAX_DISTANCE].partition(") -> (")[0] if start >= 0 else ""
    return [sizes for hit in OPENVINO_INPUT.finditer(line) if (sizes := parse_sizes_at(line, hit.start())[0])]


def find_printed_shapes(match: TemplateMatch, cleaned: CleanText, tensor: str | None = None) -> Iterator[PrintedSizes]:
    """Yield the shapes printed near a message.

    If `tensor` is not None, only shapes after this name are yielded. The comment on the failing line is skipped,
    because it describes the result of that line.
    """
    start = max(0, match.start - 3 * MAX_DISTANCE)
    of_tensor = rf"(?<![\w.]){re.escape(tensor or '')}(?:\.shape|\.size\(\))?[\s:=)]{{1,4}}(?:torch\.Size)?(?=[\[(])"
    pattern = re.compile(of_tensor if tensor else PRINTED_SHAPE)
    for begin, end in ((start, match.start), (match.end, match.end + MAX_DISTANCE)):
        hits = pattern.finditer(cleaned.text, begin, end)
        kept = (hit for hit in hits if tensor or not hit["comment"] or _has_line_completed(hit.start(), match, cleaned))
        yield from filter(None, (parse_sizes_at(cleaned.text, hit.end())[0] for hit in kept))


def _has_line_completed(position: int, match: TemplateMatch, cleaned: CleanText) -> bool:
    """Return whether the line of code at a position ran without an error.

    Lines of a traceback and the line directly above the message count as failed.
    """
    index = bisect_right(cleaned.line_ends, position)
    starts = (0, *cleaned.line_ends)
    line, previous = cleaned.text[starts[index] :], cleaned.text[starts[max(index - 1, 0)] :]
    is_frame = previous.startswith('File "') or FRAME_ARROW.match(line) is not None
    return not is_frame and bisect_right(cleaned.line_ends, match.start) != index + 1


SETTINGS_LINE = re.compile(r"[\w.]+ ?= ?[\w.]*(?:Config|Arguments|Args|Options)\(")
"""A line that creates a configuration object instead of a tensor."""
SHAPE_OUTPUT = re.compile(r"(?:torch\.Size|TensorShape)\(\[?[\d, ]*\]?\)$")
"""A line of output that consists of a printed shape."""


def find_failing_line(match: TemplateMatch, cleaned: CleanText) -> FailingLine | None:
    """Return the innermost line of the user's code above a message."""
    last = bisect_right(cleaned.line_ends, match.start)
    starts = (0, *cleaned.line_ends)
    lines = [
        cleaned.text[starts[index] : starts[index + 1] if index + 1 < len(starts) else None].strip()
        for index in range(max(0, last - MAX_FRAMES), last)
    ]
    frames, file = list[FailingLine](), None
    for line, code in zip_longest(lines, lines[1:], fillvalue=""):
        if frame := FRAME.match(line):
            file = frame["file"]
            if code and not FRAME.match(code) and not FRAME_CODE.match(code):
                frames.append(FailingLine(code, file, int(frame["number"])))
        elif frame := NOTEBOOK_FRAME.match(line):
            file = frame["file"]
        elif arrow := FRAME_CODE.match(line):
            frames.append(FailingLine(arrow["code"], file, int(arrow["number"])))
    frames = [frame for frame in frames if not NOT_FAILING.match(frame.text)]
    own = [frame for frame in frames if not LIBRARY.search(frame.file or "")]
    if frames:
        return own[-1] if own else None
    if (below := _find_line_below(cleaned, last)) is not None:
        return below
    while lines and SHAPE_OUTPUT.match(lines[-1]):
        lines.pop()
    is_listing = bool(lines) and LISTING_LINE.match(lines[-1]) is not None
    is_code = bool(lines) and CODE_LINE.match(lines[-1]) is not None and not PROSE.match(lines[-1]) and not is_listing
    return FailingLine(lines[-1]) if is_code and not SETTINGS_LINE.match(lines[-1]) else None


def _find_line_below(cleaned: CleanText, last: int) -> FailingLine | None:
    """Return the innermost line of the user's code in the frames below a message, or None.

    Some programs print the message above the traceback. Some editors also print the innermost frame first.
    """
    ends = (*cleaned.line_ends, len(cleaned.text))
    lines = [cleaned.text[start:end].strip() for start, end in pairwise(ends[last : last + MAX_FRAMES])]
    frames = list[FailingLine]()
    for line, code in pairwise(lines):
        frame = FRAME.match(line)
        if frame and not LIBRARY.search(frame["file"]) and not FRAME.match(code) and not NOT_FAILING.match(code):
            frames.append(FailingLine(code, frame["file"], int(frame["number"])))
    is_outermost_first = any("most recent call last" in line for line in lines) or _is_call_first(lines)
    return frames[-1 if is_outermost_first else 0] if frames else None


def _is_call_first(lines: list[str]) -> bool:
    """Return whether a frame calls the function of the next frame.

    If so, the outermost frame is printed first.
    """
    frames = [(FRAME.match(line), code) for line, code in pairwise(lines)]
    pairs = pairwise([(frame, code) for frame, code in frames if frame])
    return any(
        two["function"] and re.search(rf"\b{re.escape(two['function'])}\(", code) for (_, code), (two, _) in pairs
    )


def find_call(text: str, op: str | None, target: PrintedSizes | None = None) -> CodeCall | None:
    """Return the last call of an op in `text` that is compatible with a target.

    >>> find_call("in decode pred = feats.reshape(32, 5 + classes) ", "reshape").arguments
    ('32', '5 + classes')
    >>> find_call("y = x.view(n, 4).transpose(1, 2).view(n, 8)", "reshape", (6, 4)).text
    'x.view(n, 4)'
    """
    text = LISTING_NUMBER.sub("", text)
    names = "|".join(FUNCTIONS_BY_OP.get(op or "", ()))
    for call in reversed([*re.finditer(rf"\.({names})\(", text)] if names else []):
        length = find_closing_bracket(text[call.end() - 1 : call.end() + MAX_CALL_LENGTH])
        begin = _expression_start(text, call.start())
        if length is None or not length > 1 or begin == call.start():
            continue
        end = call.end() + length
        receiver, arguments = text[begin : call.start()], _split_arguments(text[call.end() : end - 1])
        if receiver in MODULE_NAMES and arguments:
            receiver, *arguments = arguments
        is_list = (
            arguments
            and arguments[0][0] in CLOSING_BRACKETS
            and find_closing_bracket(arguments[0]) == len(arguments[0]) - 1
        )
        sizes = _split_arguments(arguments[0][1:-1]) if is_list else arguments
        line = CodeCall(call[1], text[begin:end], receiver, tuple(sizes))
        if sizes and line.is_compatible(target):
            return line
    return None


def _split_arguments(text: str) -> list[str]:
    """Split a string at the commas outside brackets."""
    items, depth = [""], 0
    for char in text:
        depth += (char in CLOSING_BRACKETS) - (char in OPENING_BRACKETS)
        if char == "," and not depth:
            items.append("")
        else:
            items[-1] += char
    return [item.strip() for item in items if item.strip()]


def _expression_start(text: str, position: int) -> int:
    """Return the start of the expression that ends at `position`.

    The expression consists of names, dots and balanced brackets.
    """
    stack: list[str] = []
    end = position
    lowest = max(0, position - MAX_CALL_LENGTH)
    while position > lowest:
        char = text[position - 1]
        if char in OPENING_BRACKETS:
            stack.append(OPENING_BRACKETS[char])
        elif stack and char == stack[-1]:
            stack.pop()
        elif not stack and not (char.isalnum() or char in "._"):
            break
        position -= 1
    return end if stack else position

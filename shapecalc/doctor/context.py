"""Context of an error message: the framework, the node, and the line of code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial

from shapecalc.core.record import Record
from shapecalc.doctor.match import CLOSING, Folded, Match, Sizes, closing, read_list


class Framework(Record):
    """Properties of the messages of a framework."""

    own_rules: bool = False
    """Whether it is a dialect whose rules its messages are checked against."""
    zero_copies: bool = False
    """Whether its 0 copies a dim, unless a switch is set."""
    repeats: bool = False
    """Whether it passes on messages of NumPy or JAX, which its markers identify."""
    signs: tuple[str, ...] = ()
    """Markers in the text around its messages: folders and modules."""
    shapes_in: str | None = None
    """The source of the shapes that its messages omit, if there is no code."""


class Sign(Record):
    """A pattern by which frameworks name a node and its op, around or in a message."""

    frameworks: frozenset[str]
    before: bool
    pattern: re.Pattern[str]


class Node(Record):
    """The failing node as a runtime reports it."""

    name: str | None
    op: str | None
    """The op by the runtime's name, in lower case."""


class Line(Record):
    """A call in a line of code."""

    called: str
    """The function name in the code."""
    text: str
    """The expression, from the tensor to the end of the call."""
    given: str
    """The receiver of the method, or the first argument of the function."""
    arguments: tuple[str, ...]
    """The remaining arguments, or the items of the list that is the first of them."""

    @property
    def tensor(self) -> str | None:
        """The variable whose shape matters; None if the receiver is another call."""
        chain = CHAIN.fullmatch(self.given)
        return chain[1] if chain and chain[1] != "self" else None

    @property
    def sizes(self) -> Sizes | None:
        """The arguments, if all of them are integer literals."""
        numbers = [int(text) for text in self.arguments if NUMBER.fullmatch(text)]
        return tuple(numbers) if len(numbers) == len(self.arguments) else None

    def may_ask(self, target: Sizes | None) -> bool:
        """Return whether the literals of the call are compatible with a target."""
        dims = target[-len(self.arguments) :] if target else ()
        pairs = [*zip(self.arguments, dims, strict=False)] if len(dims) == len(self.arguments) else []
        return all(not NUMBER.fullmatch(text) or int(text) == size for text, size in pairs)


COPYING = partial(Framework, own_rules=True, zero_copies=True)
"""The constructor of frameworks that are dialects in which 0 copies."""
FRAMEWORKS: Mapping[str, Framework] = {
    "keras": Framework(repeats=True, signs=("/keras/", "keras.layers", "keras/src", "keras_core")),
    "dask": Framework(repeats=True, signs=("/dask/", "dask.array")),
    "cupy": Framework(repeats=True, signs=("/cupy/", "cupy.", "cupyx")),
    "jax": Framework(repeats=True, signs=("/jax/", "jax._src", "jaxlib", "jax.numpy")),
    "mxnet": Framework(repeats=True, zero_copies=True, signs=("mxnet",)),
    "theano": Framework(repeats=True, signs=("apply node that caused the error", "/theano/")),
    "torch": Framework(own_rules=True, signs=("/torch/", "torch.")),
    "tensorflow": Framework(own_rules=True, signs=("/tensorflow/", "tensorflow.")),
    "onnxruntime": COPYING(signs=("/onnxruntime/", "onnxruntime."), shapes_in="the model file, and what is fed to it"),
    "openvino": COPYING(signs=("/openvino/", "openvino."), shapes_in="the constant that is the node's second input"),
    "numpy": Framework(own_rules=True, signs=("/numpy/", "numpy.")),
    "onnx": COPYING(shapes_in="the model file"),
    "tensorrt": COPYING(shapes_in="the log of trtexec --verbose, or the model file"),
    "onednn": COPYING(shapes_in="the lines of ONEDNN_VERBOSE=all before this one, and the shapes of its tensors"),
    "opencv": Framework(zero_copies=True, shapes_in="the model file"),
    "tflite": Framework(own_rules=True, shapes_in="the model file"),
    **dict.fromkeys(("coreml", "paddle", "tvm"), Framework(zero_copies=True)),
    **dict.fromkeys(("caffe", "einops", "llama.cpp", "migraphx", "mlx", "mnn", "triton"), Framework()),
}
"""The frameworks by name.

If no message identifies the framework, it is the first whose markers are near.
"""
OV_INPUT = re.compile(r"\b(?:f|bf|i|u|boolean|dynamic)\d{0,2}(?=[\[{])")
"""The type and the shape of an input as OpenVINO prints them."""
OPS_BY_NAME = {each: each for each in ("flatten", "shuffle", "tile", "split", "rearrange")} | {
    printed: op
    for op, names in {
        "reshape": "reshape reshape2 staticreshape",
        "transpose": "transpose transpose2 statictranspose permute",
        "squeeze": "squeeze squeeze2",
        "unsqueeze": "unsqueeze unsqueeze2 expanddims expand_dims",
        "expand": "expand expand_v2 broadcastto broadcast_to broadcast",
        "depth_to_space": "depthtospace",
        "space_to_depth": "spacetodepth",
        "broadcast": "add addv2 sub mul div realdiv elementwise eltwise add_n",
        "matmul": "matmul gemm batchmatmul batchmatmulv2 fullyconnected matrixmultiply",
        "concat": "concat concatv2 concatenation",
        "stack": "stack pack",
        "conv": "conv conv2d convolution groupconvolution convtranspose",
        "pool": "maxpool avgpool averagepool",
    }.items()
    for printed in names.split()
}
"""Op names by the names that runtimes print."""
NEARBY = 900
"""The maximum distance between a message and the name of its node."""
CALLED_AS = {
    "reshape": ("reshape", "view", "resize"),
    "transpose": ("transpose", "permute"),
    "expand": ("expand", "broadcast_to"),
    "squeeze": ("squeeze",),
    "unsqueeze": ("unsqueeze", "expand_dims"),
}
"""Function names in code, by op."""
MODULES = frozenset({"np", "numpy", "torch", "tf", "jnp", "cp", "cupy", "da", "paddle", "ops", "F", "mx"})
"""Module names, which are not tensors."""
LONGEST_CALL = 200
"""The maximum number of characters of a call."""
OPENING = {"]": "[", ")": "(", "}": "{"}
KEEPING = r"transpose|permute|contiguous|reshape|view|flatten|squeeze|unsqueeze|expand|float|half|t"
"""Methods that return the same tensor, perhaps in another shape or type."""
CHAIN = re.compile(rf"((?:self\.)?[A-Za-z_]\w*(?:\.(?!(?:{KEEPING})\()[A-Za-z_]\w*)*?)((?:\.(?:{KEEPING})\([^()]*\))*)")
"""A variable with a chain of such methods."""
NUMBER = re.compile(r"-?\d{1,18}")
NUMBERED = re.compile(r"(?<=[,(] )\d{1,4} (?=[A-Za-z_])")
"""The line number in a listing before which a call was wrapped."""
PRINTED = re.compile(r"(?i)(?:(?:shape|size)s?\b[^()\[\]{}]{0,40}|size\(|# ?(?:[\w.]{1,40} ?[:=]? ?)?)(?=[\[(])")
"""The text before a shape that is printed in a log or a comment."""


def _signs(frameworks: str, *patterns: str, before: bool = True) -> tuple[Sign, ...]:
    return tuple(Sign(frozenset(frameworks.split()), before, re.compile(pattern)) for pattern in patterns)


NODES = (
    *_signs(
        "onnx onnxruntime",
        r"while running (?P<op>\w{1,40}) node\. name:'(?P<name>[^']{0,200})'",
        r"node \((?P<name>[^()]{0,200})\) op \((?P<op>\w{1,40})\)",
        r"op_type:(?P<op>\w{1,40})(?:, node name: (?P<name>[^()\s]{1,200}))?",
    ),
    *_signs(
        "openvino",
        r"while validating node '[\w:]{0,20}::(?P<op>\w{1,40}) (?P<name>[^\s(]{1,200})",
        r"\[cpu\] (?P<op>\w{1,40}) node with name '(?P<name>[^']{1,200})'",
    ),
    *_signs("openvino", r"of reshape node (?P<name>\S{1,200}) mismatch", before=False),
    *_signs(
        "tensorrt",
        r"(?P<name>\(unnamed layer\* \d{1,9}\)) \[",
        r"ishufflelayer (?!applied)(?P<name>[^:]{1,200}): ",
        r"\((?P<name>[\w./]{1,200}): (?:reshape|ishufflelayer) ",
        r"(?P<name>[\w./]{1,200}): reshaping failed",
        r"while parsing node number (?P<name>\d{1,9}) \[(?P<op>\w{1,40})",
        r"in function import(?P<op>\w{1,40})",
    ),
    *_signs(
        "tensorrt",
        r"while parsing node number \d{1,9} \[(?P<op>\w{1,40})",
        r" name: \"(?P<name>[^\"]{1,200})\" op_type: \"(?P<op>\w{1,40})\"",
        before=False,
    ),
    *_signs(
        "tensorflow keras tflite",
        r"\[op:(?P<op>\w{1,40})\]",
        r"for '(?P<name>[^'{}]{1,200})' \(op: '(?P<op>\w{1,40})'\)",
        r"'\{\{node (?P<name>[^{}]{1,200})\}\} = (?P<op>\w{1,40})\[",
        r"\[\[\{?\{?node:? (?P<name>[^\s{}=\]]{1,200})(?: = (?P<op>\w{1,40})\[)?",
        r"node number (?P<name>\d{1,9}) \((?P<op>\w{1,40})\)",
        before=False,
    ),
    *_signs("tensorflow keras", r"layer '?\"?(?P<name>[\w/]{1,200})'?\"? \(type (?P<op>\w{1,40})\)"),
    *_signs("keras", r"(?:of|with) layer '?\"?(?P<name>[\w/]{1,200})"),
    *_signs("paddle", r"\[operator < (?P<op>\w{1,40}) > error\]", before=False),
    *_signs("opencv", r"\[reshape\]:\((?P<name>[^()]{1,200})\): getm", before=False),
    *_signs("mxnet", r"error in operator (?P<name>[^\s:]{1,200}):"),
    *_signs("numpy dask cupy jax", r", in (?P<op>transpose|squeeze|expand_dims|broadcast_to|split) "),
    *_signs("einops", r"processing (?P<op>rearrange)-reduction"),
    *_signs("onednn", r"\b_?(?P<op>(?:static)?(?:reshape|transpose)),"),
)
"""The node patterns.

For each framework, the first that matches gives the name, and the first the op.
"""


def node_near(match: Match, framework: str | None, folded: Folded, room: tuple[int, int]) -> Node:
    """Return the node that the text around a message names.

    `bounds` is the span that contains no other message.
    """
    name = op = None
    for sign in NODES:
        if framework not in sign.frameworks:
            continue
        start = max(room[0], match.start - NEARBY) if sign.before else match.start
        end = match.end if sign.before else min(room[1], match.end + NEARBY)
        hits = [*sign.pattern.finditer(folded.lower[start:end])]
        if not hits:
            continue
        nearest = hits[-1] if sign.before else hits[0]
        groups = nearest.groupdict()
        if name is None and groups.get("name"):
            position = start + nearest.start("name")
            name = folded.text[position : position + len(groups["name"])].strip()
        op = op or groups.get("op")
    return Node(name, op)


def framework_near(match: Match, folded: Folded) -> str | None:
    """Return the framework that raised a message, by the text around it if ambiguous."""
    framework = match.sentence.framework
    near = folded.lower[max(0, match.start - 3 * NEARBY) : match.end + NEARBY].replace("\\", "/")
    if framework in ("", "numpy", "jax"):  # other frameworks pass on messages of these two
        candidates = (name for name, traits in FRAMEWORKS.items() if traits.repeats or not framework)
        near_ones = (name for name in candidates if any(sign in near for sign in FRAMEWORKS[name].signs))
        return next(near_ones, framework or None)
    if framework == "onnx":  # ONNX Runtime raises messages of ONNX's shape inference while it loads a model
        is_runtime = "trt" not in near and any(sign in near for sign in ("onnxruntime", "] op (", ") op ("))
        return "onnxruntime" if is_runtime else framework
    if framework == "onnxruntime" and "onnx_cpp2py_export" in near and "onnxruntime" not in near:
        return "onnx"
    return framework


def inputs_of_node(match: Match, folded: Folded) -> list[Sizes]:
    """Return the input shapes that OpenVINO prints with the node."""
    start = folded.lower.rfind("while validating node '", max(0, match.start - NEARBY), match.end)
    line = folded.text[start : start + NEARBY].partition(") -> (")[0] if start >= 0 else ""
    return [sizes for hit in OV_INPUT.finditer(line) if (sizes := read_list(line, hit.start())[0])]


def shapes_near(match: Match, folded: Folded, tensor: str | None = None) -> Iterator[Sizes]:
    """Yield the shapes that are printed around a message, perhaps of one tensor only."""
    start = max(0, match.start - 3 * NEARBY)
    of_tensor = rf"(?<![\w.]){re.escape(tensor or '')}(?:\.shape|\.size\(\))?[\s:=)]{{1,4}}(?:torch\.Size)?(?=[\[(])"
    pattern = re.compile(of_tensor if tensor else PRINTED)
    for begin, end in ((start, match.start), (match.end, match.end + NEARBY)):
        shapes = (read_list(folded.text, hit.end())[0] for hit in pattern.finditer(folded.text, begin, end))
        yield from filter(None, shapes)


def line_before(near: str, op: str | None, target: Sizes | None = None) -> Line | None:
    """Return the last call of an op in `text` that is compatible with a target.

    >>> line_before("in decode pred = feats.reshape(32, 5 + classes) ", "reshape").arguments
    ('32', '5 + classes')
    >>> line_before("y = x.view(n, 4).transpose(1, 2).view(n, 8)", "reshape", (6, 4)).text
    'x.view(n, 4)'
    """
    near = NUMBERED.sub("", near)
    names = "|".join(CALLED_AS.get(op or "", ()))
    for call in reversed([*re.finditer(rf"\.({names})\(", near)] if names else []):
        length = closing(near[call.end() - 1 : call.end() + LONGEST_CALL])
        begin = _beginning(near, call.start())
        if length is None or not length > 1 or begin == call.start():
            continue
        end = call.end() + length
        receiver, arguments = near[begin : call.start()], _split(near[call.end() : end - 1])
        if receiver in MODULES and arguments:
            receiver, *arguments = arguments
        is_list = arguments and arguments[0][0] in CLOSING and closing(arguments[0]) == len(arguments[0]) - 1
        sizes = _split(arguments[0][1:-1]) if is_list else arguments
        line = Line(call[1], near[begin:end], receiver, tuple(sizes))
        if sizes and line.may_ask(target):
            return line
    return None


def _split(text: str) -> list[str]:
    """Split a text at the commas outside brackets."""
    items, depth = [""], 0
    for char in text:
        depth += (char in CLOSING) - (char in OPENING)
        if char == "," and not depth:
            items.append("")
        else:
            items[-1] += char
    return [item.strip() for item in items if item.strip()]


def _beginning(near: str, place: int) -> int:
    """Return the start of the expression that ends at `position`.

    It consists of names, dots and balanced brackets.
    """
    stack: list[str] = []
    end = place
    lowest = max(0, place - LONGEST_CALL)
    while place > lowest:
        char = near[place - 1]
        if char in OPENING:
            stack.append(OPENING[char])
        elif stack and char == stack[-1]:
            stack.pop()
        elif not stack and not (char.isalnum() or char in "._"):
            break
        place -= 1
    return end if stack else place

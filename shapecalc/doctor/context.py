"""What stands around a sentence: the framework of the frames, the node and its op, and the code that failed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial

from shapecalc.core.record import Record
from shapecalc.doctor.match import CLOSING, Folded, Match, Sizes, closing, read_list


class Framework(Record):
    """What is true of all messages of a framework."""

    own_rules: bool = False
    """Whether it is a dialect, under whose rules its readings are run."""
    zero_copies: bool = False
    """Whether its 0 copies a dim, unless a switch says otherwise."""
    repeats: bool = False
    """Whether it repeats sentences of NumPy or JAX, so that only its signs tell."""
    signs: tuple[str, ...] = ()
    """What stands near its messages: its folders, its modules."""
    shapes_in: str | None = None
    """Where the shapes stand that its messages do not tell, if no code does."""


class Sign(Record):
    """How some frameworks name a node and its op, before or after the sentence or in it."""

    frameworks: frozenset[str]
    before: bool
    pattern: re.Pattern[str]


class Node(Record):
    """What a runtime says of the node that failed."""

    name: str | None
    op: str | None
    """The op as the runtime calls it, in lower case."""


class Line(Record):
    """A call in a line of code."""

    called: str
    """The function, as the code names it."""
    text: str
    """The expression, from the tensor to the end of the call."""
    given: str
    """What the function is given: the expression before its point, or its first argument."""
    arguments: tuple[str, ...]
    """What it is asked for: the arguments behind that, or what stands in the list that is the first of them."""

    @property
    def tensor(self) -> str | None:
        """The variable whose shape decides; None if the call is given what another function returns."""
        chain = CHAIN.fullmatch(self.given)
        return chain[1] if chain and chain[1] != "self" else None

    @property
    def sizes(self) -> Sizes | None:
        """What it is asked for, if that is written in numbers."""
        numbers = [int(text) for text in self.arguments if NUMBER.fullmatch(text)]
        return tuple(numbers) if len(numbers) == len(self.arguments) else None

    def may_ask(self, target: Sizes | None) -> bool:
        """Say whether the call may be the one that asks for a target: none of its numbers is another one."""
        asked = target[-len(self.arguments) :] if target else ()
        pairs = [*zip(self.arguments, asked, strict=False)] if len(asked) == len(self.arguments) else []
        return all(not NUMBER.fullmatch(text) or int(text) == size for text, size in pairs)


COPYING = partial(Framework, own_rules=True, zero_copies=True)
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
"""The frameworks by name. Where no sentence tells which it is, the first whose signs stand near it is the one."""
OV_INPUT = re.compile(r"\b(?:f|bf|i|u|boolean|dynamic)\d{0,2}(?=[\[{])")
"""The type and the shape of an input, as OpenVINO prints them."""
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
"""Our names of ops, by the names that runtimes print."""
NEARBY = 900
"""How far from a sentence its node may stand."""
CALLED_AS = {
    "reshape": ("reshape", "view", "resize"),
    "transpose": ("transpose", "permute"),
    "expand": ("expand", "broadcast_to"),
    "squeeze": ("squeeze",),
    "unsqueeze": ("unsqueeze", "expand_dims"),
}
"""By op the functions that do it."""
MODULES = frozenset({"np", "numpy", "torch", "tf", "jnp", "cp", "cupy", "da", "paddle", "ops", "F", "mx"})
LONGEST_CALL = 200
"""How many characters a call may take."""
OPENING = {"]": "[", ")": "(", "}": "{"}
KEEPING = r"transpose|permute|contiguous|reshape|view|flatten|squeeze|unsqueeze|expand|float|half|t"
"""The methods after which it is still the same tensor, perhaps in another shape."""
CHAIN = re.compile(rf"((?:self\.)?[A-Za-z_]\w*(?:\.(?!(?:{KEEPING})\()[A-Za-z_]\w*)*?)((?:\.(?:{KEEPING})\([^()]*\))*)")
NUMBER = re.compile(r"-?\d{1,18}")
NUMBERED = re.compile(r"(?<=[,(] )\d{1,4} (?=[A-Za-z_])")
"""The number of a line before which a call was broken."""
PRINTED = re.compile(r"(?i)(?:(?:shape|size)s?\b[^()\[\]{}]{0,40}|size\(|# ?(?:[\w.]{1,40} ?[:=]? ?)?)(?=[\[(])")
"""What stands before a shape that is printed in a log, or in a comment."""


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
"""Of each framework the first that stands near a sentence counts, for the name and for the op."""


def node_near(match: Match, framework: str | None, folded: Folded, room: tuple[int, int]) -> Node:
    """Return the node that the text around a sentence names; `room` is where no other sentence stands."""
    name = op = None
    for sign in NODES:
        if framework not in sign.frameworks:
            continue
        start = max(room[0], match.start - NEARBY) if sign.before else match.start
        end = match.end if sign.before else min(room[1], match.end + NEARBY)
        found = [*sign.pattern.finditer(folded.lower[start:end])]
        if not found:
            continue
        nearest = found[-1] if sign.before else found[0]
        groups = nearest.groupdict()
        if name is None and groups.get("name"):
            place = start + nearest.start("name")
            name = folded.text[place : place + len(groups["name"])].strip()
        op = op or groups.get("op")
    return Node(name, op)


def framework_near(match: Match, folded: Folded) -> str | None:
    """Return the framework that says a sentence, by the frames around it if several say the same."""
    framework = match.sentence.framework
    near = folded.lower[max(0, match.start - 3 * NEARBY) : match.end + NEARBY].replace("\\", "/")
    if framework in ("", "numpy", "jax"):  # whose sentences others repeat
        thought_of = (name for name, known in FRAMEWORKS.items() if known.repeats or not framework)
        shown = (name for name in thought_of if any(sign in near for sign in FRAMEWORKS[name].signs))
        return next(shown, framework or None)
    if framework == "onnx":
        # what tells ONNX Runtime, which loads a model, from ONNX's own inference
        runtime = "trt" not in near and any(sign in near for sign in ("onnxruntime", "] op (", ") op ("))
        return "onnxruntime" if runtime else framework
    if framework == "onnxruntime" and "onnx_cpp2py_export" in near and "onnxruntime" not in near:
        return "onnx"
    return framework


def inputs_of_node(match: Match, folded: Folded) -> list[Sizes]:
    """Return the shapes of the inputs that OpenVINO tells in the line of the node."""
    start = folded.lower.rfind("while validating node '", max(0, match.start - NEARBY), match.end)
    line = folded.text[start : start + NEARBY].partition(") -> (")[0] if start >= 0 else ""
    return [sizes for found in OV_INPUT.finditer(line) if (sizes := read_list(line, found.start())[0])]


def shapes_near(match: Match, folded: Folded, tensor: str | None = None) -> Iterator[Sizes]:
    """Yield the shapes that are printed around a sentence, as those of fake tensors or of locals; perhaps of one."""
    start = max(0, match.start - 3 * NEARBY)
    named = rf"(?<![\w.]){re.escape(tensor or '')}(?:\.shape|\.size\(\))?[\s:=)]{{1,4}}(?:torch\.Size)?(?=[\[(])"
    pattern = re.compile(named if tensor else PRINTED)
    for begin, end in ((start, match.start), (match.end, match.end + NEARBY)):
        listed = (read_list(folded.text, found.end())[0] for found in pattern.finditer(folded.text, begin, end))
        yield from filter(None, listed)


def line_before(near: str, op: str | None, target: Sizes | None = None) -> Line | None:
    """Return the last call of an op in the code before a message that may ask for a target; None if there is none.

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
        given, arguments = near[begin : call.start()], _split(near[call.end() : end - 1])
        if given in MODULES and arguments:
            given, *arguments = arguments
        listed = arguments and arguments[0][0] in CLOSING and closing(arguments[0]) == len(arguments[0]) - 1
        asked = _split(arguments[0][1:-1]) if listed else arguments
        line = Line(call[1], near[begin:end], given, tuple(asked))
        if asked and line.may_ask(target):
            return line
    return None


def _split(text: str) -> list[str]:
    """Return what stands between the commas of a text that are in no bracket."""
    found, depth = [""], 0
    for char in text:
        depth += (char in CLOSING) - (char in OPENING)
        if char == "," and not depth:
            found.append("")
        else:
            found[-1] += char
    return [each.strip() for each in found if each.strip()]


def _beginning(near: str, place: int) -> int:
    """Return where the expression begins that ends at a place: names, points, and brackets in pairs."""
    waiting: list[str] = []
    end = place
    lowest = max(0, place - LONGEST_CALL)
    while place > lowest:
        char = near[place - 1]
        if char in OPENING:
            waiting.append(OPENING[char])
        elif waiting and char == waiting[-1]:
            waiting.pop()
        elif not waiting and not (char.isalnum() or char in "._"):
            break
        place -= 1
    return end if waiting else place

"""What stands around a sentence: the framework of the frames, the node and its op, and the code that failed."""

from __future__ import annotations

import re
from collections.abc import Mapping

from shapecalc.core.record import Record
from shapecalc.doctor.match import Folded, Match, Sizes, closing, read_list


class Framework(Record):
    """What is true of all messages of a framework."""

    own_rules: bool = False
    """Whether it is a dialect, under whose rules its readings are run."""
    zero_copies: bool = False
    """Whether its 0 copies a dim, unless a switch says otherwise."""
    copied_shown: bool = False
    """Whether it prints the dim that a 0 copies in place of the 0."""
    repeats: bool = False
    """Whether it repeats sentences of NumPy or JAX, so that only its signs tell."""
    signs: tuple[str, ...] = ()
    """What stands near its messages: its folders, its modules."""
    hides: str = ""
    """What it may hide in a message about a request that looks right."""
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


class Code(Record):
    """A call in the code of a frame, as far as its arguments are numbers."""

    op: str
    sizes: Sizes


class Line(Record):
    """A call in a line of code."""

    called: str
    """The function, as the code names it."""
    text: str
    """The expression, from the tensor to the end of the call."""
    given: str
    """What the function is given: the expression before its point, or its first argument."""
    first: int | None
    """The first size, if it is a number."""

    @property
    def tensor(self) -> str | None:
        """The variable whose shape decides; None if the call is given what another function returns."""
        chain = CHAIN.fullmatch(self.given)
        return chain[1] if chain and chain[1] != "self" else None


FRAMEWORKS: Mapping[str, Framework] = {
    "keras": Framework(repeats=True, signs=("/keras/", "keras.layers", "keras/src", "\\keras\\", "keras_core")),
    "dask": Framework(repeats=True, signs=("/dask/", "dask.array", "\\dask\\")),
    "cupy": Framework(repeats=True, signs=("/cupy/", "cupy.", "cupyx")),
    "jax": Framework(repeats=True, signs=("/jax/", "jax._src", "jaxlib", "jax.numpy")),
    "mxnet": Framework(repeats=True, zero_copies=True, signs=("mxnet",)),
    "theano": Framework(repeats=True, signs=("apply node that caused the error", "/theano/")),
    "torch": Framework(own_rules=True, signs=("/torch/", "\\torch\\", "torch."), hides="the strides of the tensor"),
    "tensorflow": Framework(signs=("/tensorflow/", "\\tensorflow\\", "tensorflow.")),
    "onnxruntime": Framework(
        own_rules=True,
        zero_copies=True,
        copied_shown=True,
        signs=("/onnxruntime/", "\\onnxruntime\\", "onnxruntime."),
        hides="a 0 that was replaced before it was printed, or allowzero",
        shapes_in="the model file, and the shapes that are fed to it",
    ),
    "openvino": Framework(
        own_rules=True,
        zero_copies=True,
        signs=("/openvino/", "\\openvino\\", "openvino."),
        hides="special_zero",
        shapes_in="the constant that is the node's second input",
    ),
    "numpy": Framework(
        own_rules=True,
        signs=("/numpy/", "\\numpy\\", "numpy."),
        hides="a -1, which is not printed where it stands first",
    ),
    "onnx": Framework(
        own_rules=True,
        zero_copies=True,
        hides="a size that is known only at run time, or allowzero",
        shapes_in="the model file",
    ),
    "tensorrt": Framework(
        own_rules=True,
        zero_copies=True,
        copied_shown=True,
        hides="a 0 that was replaced before it was printed",
        shapes_in="the log of trtexec --verbose, or the model file",
    ),
    "onednn": Framework(
        own_rules=True,
        zero_copies=True,
        hides="special_zero",
        shapes_in="the lines of ONEDNN_VERBOSE=all before this one, and the shapes of the graph's tensors",
    ),
    "paddle": Framework(zero_copies=True),
    "tflite": Framework(shapes_in="the model file"),
    "tvm": Framework(zero_copies=True),
    "coreml": Framework(zero_copies=True),
    **dict.fromkeys(("caffe", "einops", "migraphx", "mnn"), Framework()),
}
"""The frameworks by name. Where no sentence tells which it is, the first whose signs stand near it is the one."""
UNNAMED = Framework()
"""What is known of a message whose framework nothing tells."""
REPEATED = frozenset({"numpy", "jax"})
"""The frameworks whose sentences others repeat."""
OV_INPUT = re.compile(r"\b(?:f|bf|i|u|boolean|dynamic)\d{0,2}(?=[\[{])")
"""The type and the shape of an input, as OpenVINO prints them."""
OPS_BY_NAME = {
    printed: op
    for op, names in {
        "reshape": "reshape reshape2 staticreshape",
        "transpose": "transpose transpose2 statictranspose permute",
        "squeeze": "squeeze squeeze2",
        "unsqueeze": "unsqueeze unsqueeze2 expanddims expand_dims",
        "expand": "expand expand_v2 broadcastto broadcast_to broadcast",
        "flatten": "flatten",
        "shuffle": "shuffle",
        "tile": "tile",
        "depth_to_space": "depthtospace",
        "space_to_depth": "spacetodepth",
        "split": "split",
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
CALLED = re.compile(r"\b(reshape|view|transpose|permute|squeeze|unsqueeze|expand|broadcast_to|resize)\(")
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
OPENING = {"]": "[", ")": "("}
KEEPING = r"transpose|permute|contiguous|reshape|view|flatten|squeeze|unsqueeze|expand|float|half|t"
"""The methods after which it is still the same tensor, perhaps in another shape."""
CHAIN = re.compile(rf"((?:self\.)?[A-Za-z_]\w*(?:\.(?!(?:{KEEPING})\()[A-Za-z_]\w*)*?)((?:\.(?:{KEEPING})\([^()]*\))*)")
FIRST_SIZE = re.compile(r"[(\[,\s]*(-?\d+)\s*[,)\]]")


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
    *_signs("paddle", r"\[operator < (?P<op>\w{1,40}) > error\]", before=False),
    *_signs("mxnet", r"error in operator (?P<name>[^\s:]{1,200}):"),
    *_signs("numpy dask cupy jax", r", in (?P<op>transpose|squeeze|expand_dims|broadcast_to|split) "),
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
    near = folded.lower[max(0, match.start - 3 * NEARBY) : match.end + NEARBY]
    if not framework or framework in REPEATED:
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


def code_before(match: Match, folded: Folded, room: tuple[int, int]) -> Code | None:
    """Return the call in the code nearest before a sentence, if its arguments are all numbers; None otherwise.

    >>> from shapecalc.doctor.match import Sentence
    >>> text = "x = np.transpose(x, (1, 0)) ValueError: no"
    >>> code_before(Match(Sentence("no", "", None, "", ""), 40, 42, {}), Folded(text, text.lower()), (0, 42))
    Code(op='transpose', sizes=(1, 0))
    """
    near = text_before(match, folded, room)
    found = [(call[1], sizes) for call in CALLED.finditer(near) if (sizes := _literal_sizes(near, call.end() - 1))]
    return Code(*found[-1]) if found else None


def text_before(match: Match, folded: Folded, room: tuple[int, int]) -> str:
    """Return the text before a sentence in which the code that failed may stand."""
    return folded.text[max(room[0], match.start - NEARBY) : match.start]


def _literal_sizes(text: str, place: int) -> Sizes | None:
    """Return the numbers of a call: its arguments, or the list that is the last; None if they are no numbers."""
    span = text[place : place + LONGEST_CALL]
    sizes, end = read_list(span, 0)
    if sizes is None:
        end = closing(span) or 0
        inner = max(span.rfind(mark, 0, end) for mark in (", (", ", [", "=(", "=["))
        sizes, last = read_list(span, inner + 1) if inner > 0 else (None, 0)
        sizes = sizes if last == end else None
    return sizes if sizes and all(isinstance(size, int) for size in sizes) else None


def line_before(near: str, op: str | None) -> Line | None:
    """Return the last call of an op in the code before a message; None if there is none.

    >>> line_before("in decode pred = feats.reshape(32, 5 + classes) ", "reshape")
    Line(called='reshape', text='feats.reshape(32, 5 + classes)', given='feats', first=32)
    >>> line_before("y = x.transpose(1, 2).view(n, -1)", "reshape").tensor
    'x'
    """
    names = "|".join(CALLED_AS.get(op or "", ()))
    for call in reversed([*re.finditer(rf"\.({names})\(", near)] if names else []):
        length = closing(near[call.end() - 1 : call.end() + LONGEST_CALL])
        begin = _beginning(near, call.start())
        if length is None or not length > 1 or begin == call.start():
            continue
        end = call.end() + length
        given, arguments = near[begin : call.start()], near[call.end() - 1 : end]
        if given in MODULES:
            given, _, arguments = arguments[1:-1].partition(",")
            arguments += ")"
            given = given if given.count("(") == given.count(")") else "its first argument"
        found = FIRST_SIZE.match(arguments)
        return Line(call[1], near[begin:end], given.strip(), int(found[1]) if found else None)
    return None


def _beginning(near: str, place: int) -> int:
    """Return where the expression begins that ends at a place: names, points, and brackets in pairs."""
    waiting: list[str] = []
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
    return place

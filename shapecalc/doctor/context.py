"""What stands around a sentence: the node and its op, the framework of the frames, and the code of the last frame."""

from __future__ import annotations

import re

from shapecalc.core.record import Record
from shapecalc.doctor.lists import closing, read_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.doctor.lists import Sizes
    from shapecalc.doctor.sentence import Folded, Match

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
    }.items()
    for printed in names.split()
}
"""Our names of ops, by the names that runtimes print."""
LONGEST_CALL = 200
AROUND = 900
"""How far from a sentence its node may stand."""


class Sign(Record):
    """How some frameworks name a node and its op, before or after the sentence or in it."""

    frameworks: frozenset[str]
    before: bool
    pattern: re.Pattern[str]


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
SIGNS = (
    ("keras", ("/keras/", "keras.layers", "keras/src", "\\keras\\", "keras_core")),
    ("dask", ("/dask/", "dask.array", "\\dask\\")),
    ("cupy", ("/cupy/", "cupy.", "cupyx")),
    ("jax", ("/jax/", "jax._src", "jaxlib", "jax.numpy")),
    ("mxnet", ("mxnet",)),
    ("theano", ("apply node that caused the error", "/theano/")),
)
"""Frameworks that repeat another's sentences, with what tells them apart."""
OWN_SIGNS = (
    *SIGNS,
    *((name, (f"/{name}/", f"\\{name}\\", f"{name}.")) for name in ("torch", "tensorflow", "onnxruntime", "openvino")),
    ("numpy", ("/numpy/", "\\numpy\\", "numpy.")),
)
"""The same for all whose frames are Python's."""
REPEATED = frozenset({"numpy", "jax"})
RUNTIME_SIGNS = ("onnxruntime", "] op (", ") op (")
"""What tells ONNX Runtime, which loads a model, from ONNX's own inference."""
CALLED = re.compile(r"\b(reshape|view|transpose|permute|squeeze|unsqueeze|expand|broadcast_to|resize)\(")
OV_INPUT = re.compile(r"\b(?:f|bf|i|u|boolean|dynamic)\d{0,2}(?=[\[{])")


class Node(Record):
    """What a runtime says of the node that failed."""

    name: str | None
    op: str | None
    """The op as the runtime calls it, in lower case."""


class Code(Record):
    """A call in the code of a frame, as far as its arguments are numbers."""

    op: str
    sizes: Sizes


def node_near(match: Match, framework: str | None, folded: Folded, room: tuple[int, int]) -> Node:
    """Return the node that the text around a sentence names; `room` is where no other sentence stands."""
    name = op = None
    for sign in NODES:
        if framework not in sign.frameworks:
            continue
        start = max(room[0], match.start - AROUND) if sign.before else match.start
        end = match.end if sign.before else min(room[1], match.end + AROUND)
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
    near = folded.lower[max(0, match.start - 3 * AROUND) : match.end + AROUND]
    if not framework:
        return next((name for name, signs in OWN_SIGNS if any(sign in near for sign in signs)), None)
    if framework in REPEATED:
        return next((name for name, signs in SIGNS if any(sign in near for sign in signs)), framework)
    if framework == "onnx":
        runtime = "trt" not in near and any(sign in near for sign in RUNTIME_SIGNS)
        return "onnxruntime" if runtime else framework
    if framework == "onnxruntime" and "onnx_cpp2py_export" in near and "onnxruntime" not in near:
        return "onnx"
    return framework


def input_of_node(match: Match, folded: Folded) -> Sizes | None:
    """Return the input shape that OpenVINO tells in the line of the node; None if it tells none."""
    start = folded.lower.rfind("while validating node '", max(0, match.start - AROUND), match.end)
    if start < 0:
        return None
    line = folded.text[start : start + AROUND]
    found = OV_INPUT.search(line)
    return read_list(line, found.start())[0] if found else None


def code_before(match: Match, folded: Folded, room: tuple[int, int]) -> Code | None:
    """Return the call in the code nearest before a sentence, if its arguments are all numbers; None otherwise.

    >>> from shapecalc.doctor.sentence import Folded, Match, Sentence
    >>> text = "x = np.transpose(x, (1, 0)) ValueError: no"
    >>> code_before(Match(Sentence("no", "", None, "", ""), 40, 42, {}), Folded(text, text.lower()), (0, 42))
    Code(op='transpose', sizes=(1, 0))
    """
    near = text_before(match, folded, room)
    found = [(call[1], sizes) for call in CALLED.finditer(near) if (sizes := _literal_sizes(near, call.end() - 1))]
    return Code(*found[-1]) if found else None


def text_before(match: Match, folded: Folded, room: tuple[int, int]) -> str:
    """Return the text before a sentence in which the code that failed may stand."""
    return folded.text[max(room[0], match.start - AROUND) : match.start]


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

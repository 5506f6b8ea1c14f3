"""What follows from a reading: words, what would mend it, what to ask for, and the command line that reproduces it.

A reading is confirmed: the request is asked again under the dialect's rules, and so is every fix with a command.
"""

from __future__ import annotations

from itertools import islice
from shlex import quote

from shapecalc.core.ask import ask
from shapecalc.core.commands import command_line
from shapecalc.core.fixing import answer, apply, fixes
from shapecalc.core.ops import OPS
from shapecalc.core.ops.view import COPY_FIRST
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import Record
from shapecalc.doctor.causes import SAID
from shapecalc.doctor.findings import findings
from shapecalc.doctor.lists import text_of
from shapecalc.doctor.reading import ZERO_COPIES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from shapecalc.core.answers import Trace
    from shapecalc.core.fixing import Fix
    from shapecalc.doctor.lists import Sizes
    from shapecalc.doctor.reading import Reading

MOST_FIXES = 5
IN_WORDS = {
    "two-infer": "keep one -1 and write the other sizes; for the batch write 0 where 0 copies, as in ONNX",
    "infer-with-empty": "write the size in place of -1, or skip the step while the tensor is empty",
    "empty-input": "skip the step while the tensor is empty, or find what removed every element before it",
    "zero-out-of-range": "write the size itself; in ONNX since opset 14, allowzero=1 makes 0 a dim of size zero",
    "zero-literal": "write the size that 0 was to copy, as x.shape[0]",
    "stride-incompatible": COPY_FIRST,
    "bad-perm": "name each axis once: if the tensor has a dim more or less than expected, mend that first",
    "not-one": "name only an axis whose size is 1; PyTorch's squeeze leaves others alone, ONNX's refuses them",
    "not-broadcastable": "1 keeps a dim in ONNX, -1 in PyTorch; only dims of 1 can grow",
    "hard-coded-batch": (
        "where to write it: in the model's file, shapecalc model FILE.onnx --fix -o fixed.onnx; in the PyTorch code "
        "that exports it, x.shape[0] in its place"
    ),
    "engine-limit": "fold the constants of the model before it is loaded, or use a newer engine",
}
"""What mends a cause, where no numbers are needed to say it."""
SHAPES_NEEDED = frozenset({"reshape", "shuffle", "transpose", "expand", "squeeze", "unsqueeze", "flatten"})
SHAPES_NEEDED |= {"tile", "unflatten"}
VERBOSE = {
    "tensorrt": "the log of trtexec --verbose, or the model file",
    "onednn": "the lines of ONEDNN_VERBOSE=all before this one, and the shapes of the graph's tensors",
    "tflite": "the model file",
    "onnx": "the model file",
    "onnxruntime": "the model file, and the shapes that are fed to it",
    "openvino": "the constant that is the node's second input",
}
"""Where the shapes stand that a runtime does not tell."""
UNCOUNTED = ("memory", "storage", "weights")
"""What a message may be about that has no article."""


class Advice(Record):
    """What the doctor says of a reading."""

    said: str
    fixes: tuple[tuple[str, str | None], ...]
    """Each in words, and the command line that shows it; None if it needs what the message does not hold."""
    ask: str | None
    command: str | None


def advice(read: Reading) -> Advice:
    """Return what follows from a reading."""
    if read.about is not None:
        article = "" if read.about.startswith(UNCOUNTED) else "an " if read.about[0] in "aeiou" else "a "
        return Advice(f"{SAID['not-about-shape']}: it is about {article}{read.about}", (), None, None)
    trace = _asked(read)
    if trace is not None and trace.output is not None and read.dialect is None:
        trace = None  # another framework's rules do not show that the message hides something
    words = _in_words(read)
    found = [*islice(_fixes(read, trace), MOST_FIXES - len(words)), *((each, None) for each in words)]
    command = _command_of_line(read) if trace is None else command_line(trace)
    return Advice("; ".join([SAID[read.cause], *findings(read, trace)]), tuple(found), _ask(read), command)


def _asked(read: Reading) -> Trace | None:
    """Return the answer to the request that was read, under the rules of its dialect; None if it is not whole."""
    options, op = _options(read), read.op
    if options is None or op is None:
        return None
    if read.strides is not None:
        op, options = "view", {**options, "strides": text_of(read.strides)}
    shape = read.input
    if shape is None and read.elements is not None:
        shape = (read.elements,)
    if shape is None:
        return None
    for dialect in (read.dialect, None):
        switch = {"special_zero": True} if dialect in ("openvino", "onednn") and OPS[op].switched else {}
        try:
            return answer(ask(op, text_of(shape), {"dialect": dialect, **options, **switch}))
        except ShapeError:
            continue
    return None


def _options(read: Reading) -> dict[str, str] | None:
    """Return the arguments of the op as texts; None if the message lacks one, or there is no such op."""
    target = read.target
    if target is None and read.target_elements is not None:
        target = (read.target_elements, -1) if read.cause == "indivisible" else (read.target_elements,)
    values: dict[str, dict[str, Sizes | None]] = {
        "reshape": {"target": target},
        "shuffle": {"to": target},
        "expand": {"target": target},
        "transpose": {"perm": read.perm},
        "squeeze": {"axes": read.axes},
        "unsqueeze": {"axes": read.axes},
        "unflatten": {"axis": read.axes if read.input else (0,), "sizes": target},
        "tile": {"repeats": target},
    }
    given = values.get(read.op or "") if read.op in OPS else None
    if given is None or None in given.values():
        return None
    return {name: text_of(value or ()) for name, value in given.items()}


def _fixes(read: Reading, trace: Trace | None) -> Iterator[tuple[str, str | None]]:
    """Yield changes with which the request as it was read resolves, those first that are right for every batch."""
    untold = read.input is None and (read.target is None or read.cause == "infer-with-empty")
    if trace is None or untold:
        return
    literal = read.dialect is None and read.framework not in ZERO_COPIES
    found = fixes(trace)
    lasting = any(fix.every_batch for fix in found)
    for fix in found:
        if fix.name == "strides" or (literal and str(fix.value).startswith("0,")):
            continue
        try:
            said = f"{fix.said}{_alone(fix, trace) if lasting else ''}"
            yield said, command_line(answer(apply(trace.request, fix)))
        except ShapeError:
            continue


def _alone(fix: Fix, trace: Trace) -> str:
    """Return which batch a fix is right for, where others are right for every batch."""
    written = not fix.every_batch and not fix.moves and str(fix.value).startswith(f"{trace.input[0]},")
    return f": right for a batch of {trace.input[0]} alone" if written else ""


def _in_words(read: Reading) -> list[str]:
    """Return what mends the cause, where no numbers are needed to say it."""
    if read.cause not in ("count-mismatch", "indivisible"):
        return [IN_WORDS[read.cause]] if read.cause in IN_WORDS else []
    if read.op not in ("reshape", "shuffle") or read.input is not None:
        return []
    place = "node" if read.framework in VERBOSE else "line"
    target = "the target" if read.target is None else text_of(read.target)
    return [f"if {target} is what you meant, the input is wrong before this {place}: print its shape"]


def _ask(read: Reading) -> str | None:
    """Return what the message does not hold and the reading needs; None if it holds all."""
    if read.input is not None and (read.op in SHAPES_NEEDED and _options(read) is not None):
        return None
    wanted = VERBOSE.get(read.framework or "") or _shape_before(read)
    return f"{wanted}; the node is {read.node}" if read.node else wanted


def _shape_before(read: Reading) -> str:
    """Return which shape to look up; the line of code too, if the text does not show it."""
    strided = read.cause == "stride-incompatible"
    tensor = "x" if read.line is None else read.line.tensor
    shape = f"the shape of {read.line.given}" if read.line and tensor is None else f"{tensor}.shape"
    wanted = f"{shape} and {tensor}.stride()" if strided and tensor else shape
    if read.line is not None:
        return f"{wanted} before that line"
    explained = "; then shapecalc code 'LINE' --input x=SHAPE shows why" if strided else ""
    return f"the line of code, and {wanted} before it{explained}"


def _command_of_line(read: Reading) -> str | None:
    """Return the command that explains a line of which a view is refused; its shape is left to be written."""
    line = read.line
    if read.cause != "stride-incompatible" or line is None or not (line.tensor or "").isidentifier():
        return None
    return f"shapecalc code {quote(line.text)} --input {line.tensor}=..."

"""Diagnoses of a text: advice for each parsed message, as JSON and as lines.

A message is verified: its request is resolved under the dialect's rules, and so is every fix with a command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice, zip_longest
from shlex import quote

from shapecalc.core.answers import Trace
from shapecalc.core.ask import ask
from shapecalc.core.commands import command_line
from shapecalc.core.dims import factored, missing_factors
from shapecalc.core.fixing import Fix, answer, apply, differing, fixes
from shapecalc.core.meeting import arithmetic, at_fault, told
from shapecalc.core.ops import OPS
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import Record, replace
from shapecalc.core.rules import INDIVISIBLE, VOLUME_MISMATCH
from shapecalc.core.text import rank_text, visible
from shapecalc.doctor.likely import MISSING, compared, guesses, likened, numbers, remedies, turned, unequal
from shapecalc.doctor.match import Sizes, read_list, text_of
from shapecalc.doctor.reading import CAUSES, DECLARED, Reading, as_dims, count_of, known_count, readings

LARGEST_RATIO = 4096
"""The largest ratio of element counts that is reported."""
KINDS = {
    "matmul": "a matrix product",
    "linear": "a layer and its weights",
    "broadcast": "a broadcast",
    "concat": "a concatenation",
    "stack": "a stack",
    "conv": "a convolution",
    "pool": "a pooling window",
    "einsum": "an einsum",
}
"""The descriptions of ops with several operands or windows."""
NAMES = {"reshape": "target", "shuffle": "to", "expand": "target", "tile": "repeats"}
"""The argument that is the target of an op."""
WEIGHED = ("conv", "linear")
"""The ops whose second operand is a weight."""
MODEL_FILE = "FILE.onnx"
FREEING = f"shapecalc model {MODEL_FILE} --fix -o fixed.onnx"
"""The command that replaces a fixed batch size in a model with a symbol."""
EXPORTED = "give the model the size that it was exported with, or export it again with this one"
OF_MODEL_FILES = ("onnx", "onnxruntime", "openvino", "tensorrt")
"""The frameworks whose declared shapes may come from an ONNX file."""
MOST_FIXES = 2
WOULD_FIT = "would fit, and that is all that is known of it"
COUNTED = (INDIVISIBLE, VOLUME_MISMATCH)
"""The rules that compare element counts."""
MENDS = {
    DECLARED: "give it the declared shape, or export the model again with the other",
    "mask of other dims than its tensor": "give the mask the first dims of the tensor: reshape one of the two",
    "loss and its targets": "give predictions and targets the same dims; a flatten must keep the batch, x.flatten(1)",
    "optimization profile without the shape": "give it a shape between those of the profile, "
    "or build the engine with one whose min and max hold it: --minShapes, --maxShapes",
    "guard that takes a dim as a number": "export it with an example in which that dim is 2 or more, "
    "since 0 and 1 are taken as numbers; if it still is one, find the code that makes it one: TORCH_LOGS=+dynamic",
    "guard that torch.export cannot decide": "say it before that line with "
    "torch._check(CONDITION), or write the code so that no view needs it",
    "weights of another model": "load them into the model that they were saved from, or leave out those "
    "that differ, in PyTorch by hand: strict=False does not",
}
"""The remedies for messages about another subject."""
UNCOUNTED = ("memory", "storage", "weights")
"""Subjects without an article."""
MULTIPLE = re.compile(r"(?i)eq\(mod\((.{1,200}?), (\d+)\), 0\)")
"""A divisibility condition as printed by SymPy."""
CALLS = re.compile(r"\.(?!view|reshape|expand|repeat)\w+\([^()]*\)")
"""A method call that is not a reshape or an expand."""
RANKS = re.compile(r"(?i)(?:rank .*expected: |ndim=|to have )(\d)\b")
"""The expected rank in a message."""
INDICES = re.compile(r"(?i)index: (\d{1,3}) got: (-?\d{1,19}) expected: (-?\d{1,19})")
"""A dim that differs from the declared one, as printed by ONNX Runtime."""
HIDDEN = "a 0 or -1 that was replaced before it was printed, strides, or a switch"
LISTED = re.compile(r"[\[({](?=\s?-?\d)")
MOST_LISTS = 8
LAST = 20_000
"""The length of the end of an unknown text that is searched for lists."""
WHOLE_TEXT = "the whole log or traceback, from its first line"
OF_READING = (
    *("framework", "dialect", "op", "node", "input", "elements", "target", "target_elements", "perm", "axes"),
    *("operands", "cause", "quote"),
)
"""The fields of a message in JSON, all null for an unknown text."""


class Advice(Record):
    """The advice for a message."""

    said: str
    fixes: tuple[tuple[str, str | None], ...]
    """Descriptions with command lines; None if the command needs unknown shapes."""
    ask: str | None
    command: str | None


class Diagnosis(Record):
    """Messages with their advice, or the lists in an unknown text."""

    found: tuple[tuple[Reading, Advice], ...]
    lists: tuple[Sizes, ...]

    @property
    def understood(self) -> bool:
        """Whether a message about a shape was parsed."""
        return any(read.about in (None, DECLARED) for read, _ in self.found)

    def as_json(self) -> list[dict[str, object]]:
        """Return the list that `--json` prints."""
        if not self.found:
            empty: dict[str, object] = dict.fromkeys(OF_READING)
            return [empty | {"said": self._unknown(), "fixes": [], "ask": WHOLE_TEXT, "command": None}]
        return [_as_json(read, advised) for read, advised in self.found]

    def lines(self) -> list[str]:
        """Return the diagnosis as lines, with all text from the input escaped."""
        blocks = [_lines(*entry) for entry in self.found] or [[f"{self._unknown()} (paste {WHOLE_TEXT})"]]
        return [visible(line) for number, block in enumerate(blocks) for line in ([""] if number else []) + block]

    def _unknown(self) -> str:
        lists = f"; the lists that stand in it: {' '.join(f'[{text_of(each)}]' for each in self.lists)}"
        return f"not known to me{lists if self.lists else ''}"


def diagnosis(text: str, model: str | None = None) -> Diagnosis:
    r"""Diagnose a log, a traceback or a message, perhaps of a known model file.

    >>> print("\n".join(diagnosis("shape '[8, 3, 64]' is invalid for input of size 1600").lines()[:4]))
    torch reshape: count-mismatch
      message  shape '[8, 3, 64]' is invalid for input of size 1600
      input    1600 elements, the shape is not in the message
      target   8,3,64
    """
    entries = tuple((read, _naming(advice(read), quote(model) if model else MODEL_FILE)) for read in readings(text))
    return Diagnosis(entries, () if entries else _lists_in(text[-LAST:]))


def _naming(advised: Advice, model: str) -> Advice:
    """Replace the placeholder in commands with the path of the model."""
    fixes = [
        (text.replace(MODEL_FILE, model), command and command.replace(MODEL_FILE, model))
        for text, command in advised.fixes
    ]
    return replace(advised, fixes=tuple(fixes))


def _lists_in(text: str) -> tuple[Sizes, ...]:
    """Return the distinct lists of sizes in a text."""
    lists = (read_list(text, start.start())[0] for start in LISTED.finditer(text))
    numeric = (sizes for sizes in lists if sizes and numbers(sizes))
    return tuple(dict.fromkeys(islice(numeric, MOST_LISTS)))


def _as_json(read: Reading, advised: Advice) -> dict[str, object]:
    """Return the JSON object of one message."""
    fixes = [{"text": text, "command": command} for text, command in advised.fixes]
    parsed = {name: _listed(getattr(read, name)) for name in OF_READING}
    return parsed | {"said": advised.said, "fixes": fixes, "ask": advised.ask, "command": advised.command}


def _listed(value: object) -> object:
    return [_listed(item) for item in value] if isinstance(value, tuple) else value


def _lines(read: Reading, advised: Advice) -> list[str]:
    """Return one message with its advice as lines."""
    subject = " ".join(filter(None, (read.framework, read.op))) or "unknown"
    fix_command = next((command for _, command in advised.fixes if command), None)
    is_demonstration = fix_command is None and not (advised.command or "").endswith("=...")
    rows = [
        ("message", read.quote),
        ("node", read.node),
        *_shapes(read),
        *zip_longest(["why"], advised.said.split("; "), fillvalue=""),
        *(("fits" if text.endswith(WOULD_FIT) else "fix", text) for text, _ in advised.fixes),
        ("missing", advised.ask),
        ("shows" if is_demonstration else "try", fix_command or advised.command),
    ]
    return [f"{subject}: {read.cause}", *(f"  {name:7}  {text}" for name, text in rows if text)]


def _shapes(read: Reading) -> Iterator[tuple[str, str]]:
    """Yield the parsed shapes and counts with their names."""
    note = "the shape is not in the message"
    yield from [("input", f"{read.elements} elements, {note}")] if read.elements is not None else ()
    rows = [("input", read.input), *(("with", operand) for operand in read.operands or ())]
    rows += [("target", read.target), ("perm", read.perm), ("axes", read.axes)]
    yield from ((name, text_of(value)) for name, value in rows if value is not None)
    if read.target_elements is not None:
        unit = "elements in its known dims" if read.cause == "indivisible" else "elements"
        yield "target", f"{read.target_elements} {unit}, {note}"


def advice(read: Reading) -> Advice:
    """Return the advice for a message."""
    if read.about is not None:
        return _beside_shapes(read, read.about)
    trace = _asked(read)
    if trace is not None and trace.output is not None and read.dialect is None and read.op != "concat":
        trace = None  # rules of another framework do not prove that the message hides something
    likely, general = (dict.fromkeys(texts) for texts in (remedies(read, _pair(read, trace)), _in_words(read)))
    all_fixes = likely | dict(_fixes(read, trace)) | general
    command = _command_of_line(read) if trace is None else command_line(trace)
    is_division = read.cause == "indivisible" and read.op not in ("reshape", "shuffle")
    cause = "a size is no multiple of what it is to be divided into" if is_division else CAUSES[read.cause].said
    summary = ": ".join(filter(None, (KINDS.get(read.op or ""), cause)))
    texts = dict.fromkeys([summary, *_findings(read, trace)])
    return Advice("; ".join(texts), tuple(islice(all_fixes.items(), MOST_FIXES)), _ask(read), command)


def _beside_shapes(read: Reading, about: str) -> Advice:
    """Return the advice for a message about another subject."""
    article = "" if about.startswith(UNCOUNTED) else "an " if about[0] in "aeiou" else "a "
    summary = CAUSES[read.cause].said + ("" if about == DECLARED else f": it is about {article}{about}")
    remedy, command = MENDS.get(about, ""), None
    shape, declared = read.input or (), (read.operands or ((),))[0]
    if about == DECLARED and read.framework in OF_MODEL_FILES:
        is_batch = 0 in unequal(shape, declared) or "0" in [axis for axis, *_ in _indices(read)]
        command = FREEING if is_batch else FREEING.partition(" --")[0]
        remedy += f", or free the batch in the file: {command}" if is_batch else f"; what it declares: {command}"
    expected = RANKS.search(read.quote)
    rank = read.pair[0] if read.pair else len(shape)
    is_short = expected and rank == int(expected[1]) - 1
    changes = [MISSING] if is_short else [text for text, _ in likened(shape, declared)]
    texts = [*((text, None) for text in changes), *([(remedy, command)] if remedy else [])]
    return Advice("; ".join([summary, *_declared(read)]), tuple(texts), None, None)


def _asked(read: Reading) -> Trace | None:
    """Return the answer to the parsed request; None if it is incomplete.

    The rules are those of the message's dialect, if it has one.
    """
    options, op = _options(read), read.op
    if options is None or op is None:
        return None
    if read.strides is not None:
        op, options = "view", {**options, "strides": text_of(read.strides)}
    shape: Sizes | None = read.input if read.elements is None else (read.elements,)
    if shape is None and read.pair is not None and read.op in ("broadcast", "matmul"):
        shape = read.pair[:1]
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
    """Return the op's arguments as text; None if one is missing or the op is unknown."""
    if read.op in KINDS:
        return _beside(read)
    target = read.target
    if target is None and read.target_elements is not None:
        target = (read.target_elements, -1) if read.cause == "indivisible" else (read.target_elements,)
    if read.op == "rearrange":
        pattern, lengths = re.search(r'pattern "([^"]+)"', read.quote), re.findall(r"'(\w+)': (\d+)", read.quote)
        return {"pattern": pattern[1], "lengths": ",".join(map("=".join, lengths))} if pattern else None
    arguments: dict[str, Sizes | None] = {NAMES.get(read.op or "", ""): target}
    if read.op in ("transpose", "squeeze", "unsqueeze"):
        arguments = {"perm": turned(read)[1] or None} if read.op == "transpose" else {"axes": read.axes}
    elif read.op == "unflatten":
        arguments = {"axis": read.axes if read.input else (0,), "sizes": target}
    if "" in arguments or None in arguments.values():
        return None
    return {name: text_of(value or ()) for name, value in arguments.items()}


def _beside(read: Reading) -> dict[str, str] | None:
    """Return the arguments of an op of several operands, as text.

    If only two sizes are known, the operands are vectors.
    """
    operands = read.operands or ((read.pair[1:],) if read.pair and read.op in ("broadcast", "matmul") else None)
    if operands is None or read.op not in OPS or read.op in ("einsum", "pool") or read.cause == "window-too-large":
        return None
    arguments = {"weight" if read.op in WEIGHED else "operands": " ".join(map(text_of, operands))}
    if read.op in ("concat", "stack"):
        arguments["axis"] = text_of(read.axes or (0,))
        differences = {abs(one - other): axis for axis, one, other in _unlike(read.input or (), operands[0])}
        if read.axes is None and read.op == "concat" and differences:  # only the concat axis may differ widely
            arguments["axis"] = str(differences[max(differences)])
    return arguments | ({} if read.groups is None else {"groups": str(read.groups)})


def _unlike(shape: Sizes, other: Sizes) -> list[tuple[int, int, int]]:
    """Return the axes, from the left, at which numbers differ, with both numbers."""
    pairs = ((axis, shape[axis], other[axis]) for axis in unequal(shape, other))
    return [(axis, one, two) for axis, one, two in pairs if isinstance(one, int) and isinstance(two, int)]


def _fixes(read: Reading, trace: Trace | None) -> Iterator[tuple[str, str | None]]:
    """Yield fixes that resolve, likely ones first.

    A fix that resolves but is not plausible is yielded only if there is no other.
    """
    if trace is None or (read.input is None and (read.target is None or read.cause == "infer-with-empty")):
        return
    if read.op == "concat" and trace.output is not None:
        yield f"lay them along axis {trace.request.arguments['axis']}, in which alone they differ", command_line(trace)
    zero_is_size = read.dialect is None and not read.traits.zero_copies
    likely = [] if trace.problem is None else [*guesses(read, trace.input)]
    commands, implausible = set[str](), list[tuple[str, str]]()
    for fix in (*likely, *fixes(trace)):
        copies_zero = str(fix.value).startswith("0,")
        if fix.name in ("strides", "weight") or fix.value == "[]" or (zero_is_size and copies_zero):
            continue
        try:
            fixed = answer(apply(trace.request, fix))
        except ShapeError:
            continue
        command = command_line(fixed)
        if fixed.output is None or command in commands or (commands and read.cause == "hard-coded-batch"):
            continue
        if fix in likely or _keeps(trace, fix, fixed):
            commands.add(command)
            yield fix.said, command
        elif trace.op == "expand":
            implausible.append((f"{fix.value} {WOULD_FIT}", command))
    yield from [] if commands else implausible[:1]


def _keeps(trace: Trace, fix: Fix, again: Trace) -> bool:
    """Return whether a fix plausibly keeps the intent of the request."""
    old, new = (either.request.arguments.get(fix.name) for either in (trace, again))
    if trace.op == "broadcast":  # an output larger than each operand is rarely intended
        return again.output in (again.input, *again.request.arguments["operands"])
    if trace.op == "transpose" and isinstance(old, tuple):  # otherwise another rank was intended
        return isinstance(new, tuple) and len(new) == len(old)
    is_count_problem = trace.problem is not None and trace.problem.rule in COUNTED
    if trace.op in ("expand", "rearrange") or not isinstance(old, tuple) or not isinstance(new, tuple):
        return trace.op not in ("expand", "rearrange")
    pairs = enumerate(zip(old, new, strict=False))
    changed = [index for index, (before, after) in pairs if before != after and (index or not fix.every_batch)]
    sizes = {new[index] for index in changed}
    if not is_count_problem or fix.copies or not sizes:
        return True
    from_input = len(trace.input) > 1 >= len(changed) and sizes <= {-1, *trace.input}
    return (changed[0] > 0 or len(old) == 1) and (from_input or len(changed) > len(sizes))


def _pair(read: Reading, trace: Trace | None) -> tuple[int, int] | None:
    """Return the two sizes that mismatch, if they are known or unambiguous."""
    if read.pair is not None or read.input is None:
        return read.pair
    other = read.target or (read.operands or ((),))[0]
    differ = _unlike(read.input[::-1], other[::-1]) if read.op in ("broadcast", "expand") else []
    if len(differ) == 1 and differ[0][0] in (0, 2):
        return differ[0][1:]
    return None if trace is None else at_fault(trace.request)


def _in_words(read: Reading) -> list[str]:
    """Return the remedies for the cause that need no numbers."""
    shape, other = read.input or (), (read.operands or ((),))[0]
    differ = _unlike(shape, other) if read.op == "broadcast" and len(shape) == len(other) > 1 else ()
    if len(differ) == 2 and differ[1][0] == differ[0][0] + 1 and 1 not in (*differ[0][1:], *differ[1][1:]):
        return ["bring them to one size before: resize, crop or pad one of them"]
    if read.op == "broadcast" and len(shape) > 1 and other == shape[:-1]:
        return ["if a mean, a max or the like made the second, let it keep that axis as 1: keepdims=True"]
    if read.op == "linear" and read.pair is not None:
        return ["build the layer for {} features, or give it the {} that it is built for".format(*read.pair)]
    if read.cause not in ("count-mismatch", "indivisible"):
        grows = read.op == "expand" and read.framework in OF_MODEL_FILES
        remedy = "" if read.cause == "not-broadcastable" and not grows else CAUSES[read.cause].mend
        return [remedy] if remedy else []
    if read.op not in ("reshape", "shuffle"):
        return []
    if read.input is not None:
        return [EXPORTED] if read.traits.shapes_in or read.framework == "paddle" else []
    place = "node" if read.traits.shapes_in else "line"
    target = "the target" if read.target is None else text_of(read.target)
    return [f"otherwise {target} is what you meant, and the input is wrong before this {place}: print its shape"]


def _ask(read: Reading) -> str | None:
    """Return the information that the message lacks; None if it is complete."""
    has_operands = read.op in KINDS
    if read.input is not None and (_options(read) is not None or (has_operands and (read.operands or read.pair))):
        return None
    both = "the shapes of both tensors before that line; then shapecalc 'LINE' a=SHAPE b=SHAPE" if has_operands else ""
    missing = read.traits.shapes_in or both or _shape_before(read)
    return f"{missing}; the node is {read.node}" if read.node else missing


def _shape_before(read: Reading) -> str:
    """Describe the shape to print, and the line of code if the text lacks it."""
    needs_strides = read.cause == "stride-incompatible"
    tensor = "x" if read.line is None else read.line.tensor
    shape = f"the shape of {read.line.given}" if read.line and tensor is None else f"{tensor}.shape"
    missing = f"{shape} and {tensor}.stride()" if needs_strides and tensor else shape
    if read.stated is not None and needs_strides:
        return f"{tensor}.stride() before that line, if it is not contiguous"
    if read.line is not None:
        return f"{missing} before that line"
    command = "; then shapecalc code 'LINE' --input x=SHAPE shows why" if needs_strides else ""
    return f"the line of code, and {missing} before it{command}"


def _command_of_line(read: Reading) -> str | None:
    """Return the command that explains a failing view in a line of code.

    An unknown shape is left as a placeholder.
    """
    line = read.line
    if read.cause != "stride-incompatible" or line is None or not (line.tensor or "").isidentifier():
        return None
    return f"shapecalc code {quote(line.text)} --input {line.tensor}={text_of(read.stated) if read.stated else '...'}"


def _findings(read: Reading, trace: Trace | None) -> Iterator[str]:
    """Yield the facts that follow from a message and from the answer to its request."""
    yield from chain(_compared(read), _met(read, trace), _counts(read), _differing(read))
    yield from chain(_confirmed(read, trace), _from_code(read))


def _compared(read: Reading) -> Iterator[str]:
    """Yield the mismatch of a rank and axes, or of the sizes of an expand."""
    if read.pair is not None and read.op == "expand":
        yield f"the tensor has {read.pair[0]} there, which is neither 1 nor the {read.pair[1]} that is asked for"
    elif read.cause == "bad-axis" and read.pair is not None:
        rank, axis = read.pair
        yield f"the tensor has {rank_text(rank)}, so its axes are 0 to {rank - 1}, and {axis} is asked for"
        calls = [call for call in CALLS.findall(read.near) if re.search(rf"\b{axis}\b", call.partition("(")[2])]
        yield from [f"of the calls before it {calls[-1]} names {axis}"] if calls else ()
    elif read.op == "transpose":
        known_rank, perm = turned(read)
        axis_count = read.pair[1] if read.pair else len(perm)
        if known_rank and axis_count and known_rank != axis_count:
            yield f"the tensor has {rank_text(known_rank)}, and the permutation names {axis_count}"
        if known_rank and axis_count == known_rank + 1:
            yield "one dim is missing: a grey image has no channels, a lone sample has no batch"


def _met(read: Reading, trace: Trace | None) -> Iterator[str]:
    """Yield the relation of the sizes of two operands."""
    pair = _pair(read, trace)
    explanation = arithmetic(trace.request) if trace is not None and trace.problem is not None else ""
    if read.op in KINDS and pair is not None and read.cause != "ranks-differ":
        yield explanation or told(*pair, read.op) or f"they are {pair[0]} and {pair[1]}"


def _declared(read: Reading) -> Iterator[str]:
    """Yield the differences from a declared shape, or the condition of a guard."""
    if condition := MULTIPLE.search(read.quote):
        origin = re.search(r"(?:Caused by:|code:) ([^#]{1,100})", read.near)
        line = f", for {origin[1].strip()}" if origin else ""
        yield f"it asks whether {condition[1]} is a multiple of {condition[2]}, as a view or a reshape does{line}"
    elif mismatches := _indices(read):
        yield from (f"dim {axis} is {actual}, and {declared} is declared" for axis, actual, declared in mismatches)
    elif read.pair is not None:
        rank = "a rank of " if RANKS.search(read.quote) else ""
        yield f"{rank}{read.pair[0]} is given where {rank}{read.pair[1]} was declared"
    elif read.input is not None and read.operands:
        shape, declared_shape = read.input, read.operands[0]
        differences = _unlike(shape, declared_shape)
        if len(shape) == len(declared_shape) and len(differences) == 1:
            yield "only dim {} differs: {} and {}".format(*differences[0])
        elif count_of(shape) == count_of(declared_shape) is not None:
            yield f"both hold {count_of(shape)} elements, so one of them was reshaped"


def _indices(read: Reading) -> list[tuple[str, str, str]]:
    """Return the dims that ONNX Runtime reports: index, actual and declared size."""
    text = f"{read.quote} {read.near}".partition("invalid dimensions for input: ")[2].partition("invalid dim")[0]
    return [*dict.fromkeys(INDICES.findall(text))]


def _counts(read: Reading) -> Iterator[str]:
    """Yield both element counts with their factors, and their ratio."""
    count = read.elements if read.input is None else count_of(read.input)
    target_count = known_count(read.target) if read.target_elements is None else read.target_elements
    if count is None or target_count is None or read.strides or read.op not in ("reshape", "shuffle", "unflatten"):
        return
    is_partial = read.cause == "indivisible" or -1 in (read.target or ())
    target = "known dims of the target" if is_partial else "target"
    yield f"elements of the input: {factored(count)}; of the {target}: {factored(target_count)}"
    if not count or not target_count or count == target_count:
        return
    factors = compared(count, numbers(read.target)) if read.input is None or is_partial else ""
    missing = missing_factors(count, target_count)
    large, small = max(count, target_count), min(count, target_count)
    if factors or missing:
        yield factors or f"{count} has {missing}"
    elif large % small == 0 and large // small <= LARGEST_RATIO:
        times = f"{large // small} times as many elements as the"
        verb = "hold" if is_partial else "holds"
        ratio = f"the input has {times} {target}" if count > target_count else f"the {target} {verb} {times} input"
        yield f"{ratio}{': often RGB against grey' if large == 3 * small else ''}"


def _differing(read: Reading) -> Iterator[str]:
    """Yield the dims in which two shapes differ, if some of the others agree."""
    if read.input is None or read.target is None:
        return
    if read.cause in ("count-mismatch", "not-broadcastable"):
        _, dims, target_dims = differing(as_dims(read.input), as_dims(read.target))
        if dims and target_dims and len(dims) < len(read.input):
            yield f"only this differs: {text_of(dims)} in the input, {text_of(target_dims)} in the target"


def _confirmed(read: Reading, trace: Trace | None) -> Iterator[str]:
    """Yield the reason of the refusal, or what the message must hide."""
    has_literal_first = read.line is not None and read.line.arguments[0].isdigit()
    if trace is None or read.op == "concat":
        return
    if trace.problem is not None and (read.strides or read.op in ("expand", "rearrange")):
        yield ": ".join(filter(None, (trace.problem.message, trace.problem.hint)))
    if trace.output is not None and trace.conditions:
        yield f"it holds when {' and '.join(condition.words for condition in trace.conditions)}"
    elif trace.output is not None:
        if read.op == "broadcast":
            yield f"together they are {text_of(trace.output)}, and the tensor that is to hold them is not"
        elif read.op not in KINDS:
            yield f"these rules give {text_of(trace.output)}, so the message hides something: {HIDDEN}"
    if read.framework == "numpy" and read.cause == "count-mismatch" and read.target and not has_literal_first:
        yield "NumPy does not print a -1 that stands first, so the code may begin with one"


def _from_code(read: Reading) -> Iterator[str]:
    """Yield the failing line of code."""
    line = read.line
    if line is not None and ";" not in line.text:
        count = known_count(line.sizes) if read.cause == "count-mismatch" and read.target is None else None
        suffix = "" if count is None else f", which takes {factored(count)} elements"
        yield f"the line of code says {line.text}{suffix}"

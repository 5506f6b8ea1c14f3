"""The doctor's answer to a text: what follows from each of its readings, as JSON, and as lines to read.

A reading is confirmed: the request is asked again under the dialect's rules, and so is every fix with a command.
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
"""By op of several operands, or of a window, what it is in words."""
NAMES = {"reshape": "target", "shuffle": "to", "expand": "target", "tile": "repeats"}
"""What the target of an op is called."""
WEIGHED = ("conv", "linear")
"""The ops whose second operand is a weight."""
MODEL_FILE = "FILE.onnx"
FREEING = f"shapecalc model {MODEL_FILE} --fix -o fixed.onnx"
"""The command that frees the batch that a model declares."""
EXPORTED = "give the model the size that it was exported with, or export it again with this one"
OF_MODEL_FILES = ("onnx", "onnxruntime", "openvino", "tensorrt")
"""The frameworks whose declared shapes may be in an ONNX file."""
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
"""What mends a message that is about the shape of something else, by what it is about."""
UNCOUNTED = ("memory", "storage", "weights")
"""What a message may be about that has no article."""
MULTIPLE = re.compile(r"(?i)eq\(mod\((.{1,200}?), (\d+)\), 0\)")
"""How sympy writes that a size is a multiple of another."""
CALLS = re.compile(r"\.(?!view|reshape|expand|repeat)\w+\([^()]*\)")
RANKS = re.compile(r"(?i)(?:rank .*expected: |ndim=|to have )(\d)\b")
"""How frameworks say which rank they want."""
INDICES = re.compile(r"(?i)index: (\d{1,3}) got: (-?\d{1,19}) expected: (-?\d{1,19})")
"""How ONNX Runtime names a dim that is not as declared."""
HIDDEN = "a 0 or -1 that was replaced before it was printed, strides, or a switch"
LISTED = re.compile(r"[\[({](?=\s?-?\d)")
MOST_LISTS = 8
LAST = 20_000
"""How much of the end of an unknown text is searched for lists."""
WHOLE_TEXT = "the whole log or traceback, from its first line"
OF_READING = (
    *("framework", "dialect", "op", "node", "input", "elements", "target", "target_elements", "perm", "axes"),
    *("operands", "cause", "quote"),
)
"""The fields of a reading that JSON has; they are null for a text in which nothing is known."""


class Advice(Record):
    """What the doctor says of a reading."""

    said: str
    fixes: tuple[tuple[str, str | None], ...]
    """Each in words, and the command line that shows it; None if it needs what the message does not hold."""
    ask: str | None
    command: str | None


class Diagnosis(Record):
    """What the doctor answers: readings with their advice, or the lists of a text in which nothing is known."""

    found: tuple[tuple[Reading, Advice], ...]
    lists: tuple[Sizes, ...]

    @property
    def understood(self) -> bool:
        """Whether something about a shape was read."""
        return any(read.about in (None, DECLARED) for read, _ in self.found)

    def as_json(self) -> list[dict[str, object]]:
        """Return the list that `--json` prints."""
        if not self.found:
            nothing: dict[str, object] = dict.fromkeys(OF_READING)
            return [nothing | {"said": self._unknown(), "fixes": [], "ask": WHOLE_TEXT, "command": None}]
        return [_as_json(read, advised) for read, advised in self.found]

    def lines(self) -> list[str]:
        """Return the answer as lines to read, with everything that came from the text escaped."""
        blocks = [_lines(*each) for each in self.found] or [[f"{self._unknown()} (paste {WHOLE_TEXT})"]]
        return [visible(line) for number, block in enumerate(blocks) for line in ([""] if number else []) + block]

    def _unknown(self) -> str:
        lists = f"; the lists that stand in it: {' '.join(f'[{text_of(each)}]' for each in self.lists)}"
        return f"not known to me{lists if self.lists else ''}"


def diagnosis(text: str, model: str | None = None) -> Diagnosis:
    r"""Return what the doctor answers to a log, a traceback or a message, perhaps of a model whose file is known.

    >>> print("\n".join(diagnosis("shape '[8, 3, 64]' is invalid for input of size 1600").lines()[:4]))
    torch reshape: count-mismatch
      message  shape '[8, 3, 64]' is invalid for input of size 1600
      input    1600 elements, the shape is not in the message
      target   8,3,64
    """
    found = tuple((read, _naming(advice(read), quote(model) if model else MODEL_FILE)) for read in readings(text))
    return Diagnosis(found, () if found else _lists_in(text[-LAST:]))


def _naming(advised: Advice, model: str) -> Advice:
    """Return advice whose commands name the file of a model."""
    fixes = [
        (text.replace(MODEL_FILE, model), command and command.replace(MODEL_FILE, model))
        for text, command in advised.fixes
    ]
    return replace(advised, fixes=tuple(fixes))


def _lists_in(text: str) -> tuple[Sizes, ...]:
    """Return the lists of sizes in a text, each once."""
    read = (read_list(text, place.start())[0] for place in LISTED.finditer(text))
    listed = (sizes for sizes in read if sizes and numbers(sizes))
    return tuple(dict.fromkeys(islice(listed, MOST_LISTS)))


def _as_json(read: Reading, advised: Advice) -> dict[str, object]:
    """Return the object of one message."""
    fixes = [{"text": text, "command": command} for text, command in advised.fixes]
    told = {name: _listed(getattr(read, name)) for name in OF_READING}
    return told | {"said": advised.said, "fixes": fixes, "ask": advised.ask, "command": advised.command}


def _listed(value: object) -> object:
    return [_listed(each) for each in value] if isinstance(value, tuple) else value


def _lines(read: Reading, advised: Advice) -> list[str]:
    """Return one message as lines."""
    subject = " ".join(filter(None, (read.framework, read.op))) or "unknown"
    proposed = next((command for _, command in advised.fixes if command), None)
    repeats = proposed is None and not (advised.command or "").endswith("=...")  # what is to be filled in may help
    rows = [
        ("message", read.quote),
        ("node", read.node),
        *_shapes(read),
        *zip_longest(["why"], advised.said.split("; "), fillvalue=""),
        *(("fits" if text.endswith(WOULD_FIT) else "fix", text) for text, _ in advised.fixes),
        ("missing", advised.ask),
        ("shows" if repeats else "try", proposed or advised.command),
    ]
    return [f"{subject}: {read.cause}", *(f"  {name:7}  {text}" for name, text in rows if text)]


def _shapes(read: Reading) -> Iterator[tuple[str, str]]:
    """Yield the shapes and counts that were read, each with its name."""
    untold = "the shape is not in the message"
    yield from [("input", f"{read.elements} elements, {untold}")] if read.elements is not None else ()
    told = [("input", read.input), *(("with", each) for each in read.operands or ())]
    told += [("target", read.target), ("perm", read.perm), ("axes", read.axes)]
    yield from ((name, text_of(value)) for name, value in told if value is not None)
    if read.target_elements is not None:
        what = "elements in its known dims" if read.cause == "indivisible" else "elements"
        yield "target", f"{read.target_elements} {what}, {untold}"


def advice(read: Reading) -> Advice:
    """Return what follows from a reading."""
    if read.about is not None:
        return _beside_shapes(read, read.about)
    trace = _asked(read)
    if trace is not None and trace.output is not None and read.dialect is None and read.op != "concat":
        trace = None  # another framework's rules do not show that the message hides something
    likely, last = (dict.fromkeys(each) for each in (remedies(read, _pair(read, trace)), _in_words(read)))
    found = likely | dict(_fixes(read, trace)) | last
    command = _command_of_line(read) if trace is None else command_line(trace)
    divides = read.cause == "indivisible" and read.op not in ("reshape", "shuffle")
    cause = "a size is no multiple of what it is to be divided into" if divides else CAUSES[read.cause].said
    said = ": ".join(filter(None, (KINDS.get(read.op or ""), cause)))
    told = dict.fromkeys([said, *_findings(read, trace)])
    return Advice("; ".join(told), tuple(islice(found.items(), MOST_FIXES)), _ask(read), command)


def _beside_shapes(read: Reading, about: str) -> Advice:
    """Return what follows from a message that is about something else than the shape of one tensor."""
    article = "" if about.startswith(UNCOUNTED) else "an " if about[0] in "aeiou" else "a "
    said = CAUSES[read.cause].said + ("" if about == DECLARED else f": it is about {article}{about}")
    mend, command = MENDS.get(about, ""), None
    given, declared = read.input or (), (read.operands or ((),))[0]
    if about == DECLARED and read.framework in OF_MODEL_FILES:
        of_batch = 0 in unequal(given, declared) or "0" in [at for at, *_ in _indices(read)]
        command = FREEING if of_batch else FREEING.partition(" --")[0]
        mend += f", or free the batch in the file: {command}" if of_batch else f"; what it declares: {command}"
    rank = RANKS.search(read.quote)
    there = read.pair[0] if read.pair else len(given)
    first = [MISSING] if rank and there == int(rank[1]) - 1 else [each for each, _ in likened(given, declared)]
    fixes = [*((each, None) for each in first), *([(mend, command)] if mend else [])]
    return Advice("; ".join([said, *_declared(read)]), tuple(fixes), None, None)


def _asked(read: Reading) -> Trace | None:
    """Return the answer to the request that was read, under the rules of its dialect; None if it is not whole."""
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
    """Return the arguments of the op as texts; None if the message lacks one, or there is no such op."""
    if read.op in KINDS:
        return _beside(read)
    target = read.target
    if target is None and read.target_elements is not None:
        target = (read.target_elements, -1) if read.cause == "indivisible" else (read.target_elements,)
    if read.op == "rearrange":
        pattern, lengths = re.search(r'pattern "([^"]+)"', read.quote), re.findall(r"'(\w+)': (\d+)", read.quote)
        return {"pattern": pattern[1], "lengths": ",".join(map("=".join, lengths))} if pattern else None
    given: dict[str, Sizes | None] = {NAMES.get(read.op or "", ""): target}
    if read.op in ("transpose", "squeeze", "unsqueeze"):
        given = {"perm": turned(read)[1] or None} if read.op == "transpose" else {"axes": read.axes}
    elif read.op == "unflatten":
        given = {"axis": read.axes if read.input else (0,), "sizes": target}
    if "" in given or None in given.values():
        return None
    return {name: text_of(value or ()) for name, value in given.items()}


def _beside(read: Reading) -> dict[str, str] | None:
    """Return the arguments of an op of several operands; of a message with two sizes alone they are vectors."""
    operands = read.operands or ((read.pair[1:],) if read.pair and read.op in ("broadcast", "matmul") else None)
    if operands is None or read.op not in OPS or read.op in ("einsum", "pool") or read.cause == "window-too-large":
        return None
    given = {"weight" if read.op in WEIGHED else "operands": " ".join(map(text_of, operands))}
    if read.op in ("concat", "stack"):
        given["axis"] = text_of(read.axes or (0,))
        differ = {abs(one - other): axis for axis, one, other in _unlike(read.input or (), operands[0])}
        if read.axes is None and read.op == "concat" and differ:  # along it they may be as different as they like
            given["axis"] = str(differ[max(differ)])
    return given | ({} if read.groups is None else {"groups": str(read.groups)})


def _unlike(shape: Sizes, other: Sizes) -> list[tuple[int, int, int]]:
    """Return the axes, from the left, at which two shapes have numbers that differ, with these."""
    pairs = ((axis, shape[axis], other[axis]) for axis in unequal(shape, other))
    return [(axis, one, two) for axis, one, two in pairs if isinstance(one, int) and isinstance(two, int)]


def _fixes(read: Reading, trace: Trace | None) -> Iterator[tuple[str, str | None]]:
    """Yield what the request may have meant, each asked again: what is likely first, what only fits last and alone."""
    if trace is None or (read.input is None and (read.target is None or read.cause == "infer-with-empty")):
        return
    if read.op == "concat" and trace.output is not None:
        yield f"lay them along axis {trace.request.arguments['axis']}, in which alone they differ", command_line(trace)
    literal = read.dialect is None and not read.traits.zero_copies
    likely = [] if trace.problem is None else [*guesses(read, trace.input)]
    told, only_fits = set[str](), list[tuple[str, str]]()
    for fix in (*likely, *fixes(trace)):
        if fix.name in ("strides", "weight") or fix.value == "[]" or (literal and str(fix.value).startswith("0,")):
            continue
        try:
            again = answer(apply(trace.request, fix))
        except ShapeError:
            continue
        command = command_line(again)
        if again.output is None or command in told or (told and read.cause == "hard-coded-batch"):
            continue
        if fix in likely or _keeps(trace, fix, again):
            told.add(command)
            yield fix.said, command
        elif trace.op == "expand":
            only_fits.append((f"{fix.value} {WOULD_FIT}", command))
    yield from [] if told else only_fits[:1]


def _keeps(trace: Trace, fix: Fix, again: Trace) -> bool:
    """Say whether a change keeps what a request asks for, and is not only legal."""
    asked, value = (each.request.arguments.get(fix.name) for each in (trace, again))
    if trace.op == "broadcast":  # what is larger than all operands was hardly meant
        return again.output in (again.input, *again.request.arguments["operands"])
    if trace.op == "transpose" and isinstance(asked, tuple):  # another rank was meant
        return isinstance(value, tuple) and len(value) == len(asked)
    counted = trace.problem is not None and trace.problem.rule in COUNTED
    if trace.op in ("expand", "rearrange") or not isinstance(asked, tuple) or not isinstance(value, tuple):
        return trace.op not in ("expand", "rearrange")
    pairs = enumerate(zip(asked, value, strict=False))
    changed = [at for at, (old, new) in pairs if old != new and (at or not fix.every_batch)]
    sizes = {value[at] for at in changed}
    if not counted or fix.copies or not sizes:
        return True
    own = len(trace.input) > 1 >= len(changed) and sizes <= {-1, *trace.input}
    return (changed[0] > 0 or len(asked) == 1) and (own or len(changed) > len(sizes))


def _pair(read: Reading, trace: Trace | None) -> tuple[int, int] | None:
    """Return the two sizes that do not go together: those told, or those of the shapes if no others differ."""
    if read.pair is not None or read.input is None:
        return read.pair
    other = read.target or (read.operands or ((),))[0]
    differ = _unlike(read.input[::-1], other[::-1]) if read.op in ("broadcast", "expand") else []
    if len(differ) == 1 and differ[0][0] in (0, 2):
        return differ[0][1:]
    return None if trace is None else at_fault(trace.request)


def _in_words(read: Reading) -> list[str]:
    """Return what mends the cause, where no numbers are needed to say it."""
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
        mend = "" if read.cause == "not-broadcastable" and not grows else CAUSES[read.cause].mend
        return [mend] if mend else []
    if read.op not in ("reshape", "shuffle"):
        return []
    if read.input is not None:
        return [EXPORTED] if read.traits.shapes_in or read.framework == "paddle" else []
    place = "node" if read.traits.shapes_in else "line"
    target = "the target" if read.target is None else text_of(read.target)
    return [f"otherwise {target} is what you meant, and the input is wrong before this {place}: print its shape"]


def _ask(read: Reading) -> str | None:
    """Return what the message does not hold and the reading needs; None if it holds all."""
    several = read.op in KINDS
    if read.input is not None and (_options(read) is not None or (several and (read.operands or read.pair))):
        return None
    both = "the shapes of both tensors before that line; then shapecalc 'LINE' a=SHAPE b=SHAPE" if several else ""
    wanted = read.traits.shapes_in or both or _shape_before(read)
    return f"{wanted}; the node is {read.node}" if read.node else wanted


def _shape_before(read: Reading) -> str:
    """Return which shape to look up; the line of code too, if the text does not show it."""
    strided = read.cause == "stride-incompatible"
    tensor = "x" if read.line is None else read.line.tensor
    shape = f"the shape of {read.line.given}" if read.line and tensor is None else f"{tensor}.shape"
    wanted = f"{shape} and {tensor}.stride()" if strided and tensor else shape
    if read.stated is not None and strided:
        return f"{tensor}.stride() before that line, if it is not contiguous"
    if read.line is not None:
        return f"{wanted} before that line"
    explained = "; then shapecalc code 'LINE' --input x=SHAPE shows why" if strided else ""
    return f"the line of code, and {wanted} before it{explained}"


def _command_of_line(read: Reading) -> str | None:
    """Return the command that explains a line of which a view is refused; its shape is left to be written."""
    line = read.line
    if read.cause != "stride-incompatible" or line is None or not (line.tensor or "").isidentifier():
        return None
    return f"shapecalc code {quote(line.text)} --input {line.tensor}={text_of(read.stated) if read.stated else '...'}"


def _findings(read: Reading, trace: Trace | None) -> Iterator[str]:
    """Yield what a reading shows; `trace` is the answer to the request that was read, if it is whole."""
    yield from chain(_compared(read), _met(read, trace), _counts(read), _differing(read))
    yield from chain(_confirmed(read, trace), _from_code(read))


def _compared(read: Reading) -> Iterator[str]:
    """Yield how many dims there are and how many axes are named, or the size that would have to become another."""
    if read.pair is not None and read.op == "expand":
        yield f"the tensor has {read.pair[0]} there, which is neither 1 nor the {read.pair[1]} that is asked for"
    elif read.cause == "bad-axis" and read.pair is not None:
        there, axis = read.pair
        yield f"the tensor has {rank_text(there)}, so its axes are 0 to {there - 1}, and {axis} is asked for"
        calls = [call for call in CALLS.findall(read.near) if re.search(rf"\b{axis}\b", call.partition("(")[2])]
        yield from [f"of the calls before it {calls[-1]} names {axis}"] if calls else ()
    elif read.op == "transpose":
        rank, perm = turned(read)
        named = read.pair[1] if read.pair else len(perm)
        if rank and named and rank != named:
            yield f"the tensor has {rank_text(rank)}, and the permutation names {named}"
        if rank and named == rank + 1:
            yield "one dim is missing: a grey image has no channels, a lone sample has no batch"


def _met(read: Reading, trace: Trace | None) -> Iterator[str]:
    """Yield what the sizes of two operands tell."""
    pair = _pair(read, trace)
    tell = arithmetic(trace.request) if trace is not None and trace.problem is not None else ""
    if read.op in KINDS and pair is not None and read.cause != "ranks-differ":
        yield tell or told(*pair, read.op) or f"they are {pair[0]} and {pair[1]}"


def _declared(read: Reading) -> Iterator[str]:
    """Yield what differs between a shape that is given and one that was declared, or which condition is asked for."""
    if condition := MULTIPLE.search(read.quote):
        asks = re.search(r"(?:Caused by:|code:) ([^#]{1,100})", read.near)
        line = f", for {asks[1].strip()}" if asks else ""
        yield f"it asks whether {condition[1]} is a multiple of {condition[2]}, as a view or a reshape does{line}"
    elif places := _indices(read):
        yield from (f"dim {at} is {got}, and {wanted} is declared" for at, got, wanted in places)
    elif read.pair is not None:
        rank = "a rank of " if RANKS.search(read.quote) else ""
        yield f"{rank}{read.pair[0]} is given where {rank}{read.pair[1]} was declared"
    elif read.input is not None and read.operands:
        given, declared = read.input, read.operands[0]
        differ = _unlike(given, declared)
        if len(given) == len(declared) and len(differ) == 1:
            yield "only dim {} differs: {} and {}".format(*differ[0])
        elif count_of(given) == count_of(declared) is not None:
            yield f"both hold {count_of(given)} elements, so one of them was reshaped"


def _indices(read: Reading) -> list[tuple[str, str, str]]:
    """Return the dims that ONNX Runtime names, each with its index, what is given and what is declared."""
    own = f"{read.quote} {read.near}".partition("invalid dimensions for input: ")[2].partition("invalid dim")[0]
    return [*dict.fromkeys(INDICES.findall(own))]


def _counts(read: Reading) -> Iterator[str]:
    """Yield the two element counts with their factors, and the ratio."""
    have = read.elements if read.input is None else count_of(read.input)
    asked = known_count(read.target) if read.target_elements is None else read.target_elements
    if have is None or asked is None or read.strides or read.op not in ("reshape", "shuffle", "unflatten"):
        return
    partly = read.cause == "indivisible" or -1 in (read.target or ())
    of = "known dims of the target" if partly else "target"
    yield f"elements of the input: {factored(have)}; of the {of}: {factored(asked)}"
    if not have or not asked or have == asked:
        return
    between = compared(have, numbers(read.target)) if read.input is None or partly else ""
    missing = missing_factors(have, asked)
    large, small = max(have, asked), min(have, asked)
    if between or missing:
        yield between or f"{have} has {missing}"
    elif large % small == 0 and large // small <= LARGEST_RATIO:
        times = f"{large // small} times as many elements as the"
        said = f"the input has {times} {of}" if have > asked else f"the {of} hold{'' if partly else 's'} {times} input"
        yield f"{said}{': often RGB against grey' if large == 3 * small else ''}"


def _differing(read: Reading) -> Iterator[str]:
    """Yield which dims of two shapes differ, if others around them agree."""
    if read.input is None or read.target is None:
        return
    if read.cause in ("count-mismatch", "not-broadcastable"):
        _, ours, theirs = differing(as_dims(read.input), as_dims(read.target))
        if ours and theirs and len(ours) < len(read.input):
            yield f"only this differs: {text_of(ours)} in the input, {text_of(theirs)} in the target"


def _confirmed(read: Reading, trace: Trace | None) -> Iterator[str]:
    """Yield what the rules say of the request as it was read: why it is refused, or what the message must hide."""
    shows_first = read.line is not None and read.line.arguments[0].isdigit()
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
    if read.framework == "numpy" and read.cause == "count-mismatch" and read.target and not shows_first:
        yield "NumPy does not print a -1 that stands first, so the code may begin with one"


def _from_code(read: Reading) -> Iterator[str]:
    """Yield what the line of code says, and which of its calls can have failed."""
    line = read.line
    if line is not None and ";" not in line.text:
        taken = known_count(line.sizes) if read.cause == "count-mismatch" and read.target is None else None
        takes = "" if taken is None else f", which takes {factored(taken)} elements"
        yield f"the line of code says {line.text}{takes}"

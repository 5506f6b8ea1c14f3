"""The doctor's answer to a text: what follows from each of its readings, as JSON, and as lines to read.

A reading is confirmed: the request is asked again under the dialect's rules, and so is every fix with a command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from math import gcd
from shlex import quote

from shapecalc.core.answers import Trace
from shapecalc.core.ask import ask
from shapecalc.core.commands import command_line
from shapecalc.core.dims import Shape, factored, missing_factors, product
from shapecalc.core.fixing import answer, apply, differing, fixes
from shapecalc.core.meeting import arithmetic, channels_moved, squeezed, told, transposed, unsqueezed
from shapecalc.core.ops import OPS
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import Record
from shapecalc.core.text import rank_text, visible
from shapecalc.doctor.context import Code
from shapecalc.doctor.match import Sizes, read_list, text_of
from shapecalc.doctor.reading import CAUSES, Reading, as_dims, count_of, known_count, readings

LARGEST_RATIO = 4096
KINDS = {
    **dict.fromkeys(("matmul", "linear"), "a matrix product"),
    "broadcast": "a broadcast",
    "concat": "a concatenation",
    "stack": "a stack",
    "conv": "a convolution",
    "pool": "a pooling window",
    "einsum": "an einsum",
}
"""By op of several operands, or of a window, what it is in words."""
WEIGHED = ("conv", "linear")
"""The ops whose second operand is a weight."""
MENDS = {
    "model's input, which was declared otherwise": "give it the declared shape, or free the dim in the file: "
    "shapecalc model FILE.onnx --fix -o fixed.onnx",
    "weights that belong to another model": "load them into the model that they were saved from, or leave out those "
    "that differ; strict=False does not",
}
"""What mends a message that is about the shape of something else, by what it is about."""
LONE = 1024
"""From which size on a first dim is no batch."""
UNCOUNTED = ("memory", "storage", "weights")
"""What a message may be about that has no article."""
LISTED = re.compile(r"[\[({](?=\s?-?\d)")
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
        return any(read.about is None for read, _ in self.found)

    def as_json(self) -> list[dict[str, object]]:
        """Return the list that `--json` prints."""
        if not self.found:
            nothing: dict[str, object] = dict.fromkeys(OF_READING)
            return [nothing | {"said": self._unknown(), "fixes": [], "ask": WHOLE_TEXT, "command": None}]
        return [_as_json(read, advised) for read, advised in self.found]

    def lines(self) -> list[str]:
        """Return the answer as lines to read, with everything that came from the text escaped."""
        if not self.found:
            return [self._unknown()]
        blocks = [_lines(read, advised) for read, advised in self.found]
        return [visible(line) for number, block in enumerate(blocks) for line in ([""] if number else []) + block]

    def _unknown(self) -> str:
        lists = f"; the lists that stand in it: {' '.join(f'[{text_of(each)}]' for each in self.lists)}"
        return f"not known to me{lists if self.lists else ''}"


def diagnosis(text: str) -> Diagnosis:
    r"""Return what the doctor answers to a log, a traceback or a message.

    >>> print("\n".join(diagnosis("shape '[8, 3, 64]' is invalid for input of size 1600").lines()[:4]))
    torch reshape: count-mismatch
      message  shape '[8, 3, 64]' is invalid for input of size 1600
      input    1600 elements, the shape is not in the message
      target   8,3,64
    """
    found = tuple((read, advice(read)) for read in readings(text))
    return Diagnosis(found, () if found else _lists_in(text[-LAST:]))


def _lists_in(text: str) -> tuple[Sizes, ...]:
    """Return the lists of sizes in a text, each once."""
    listed: dict[Sizes, None] = {}
    for place in LISTED.finditer(text):
        sizes, _ = read_list(text, place.start())
        if sizes and all(isinstance(size, int) for size in sizes):
            listed[sizes] = None
        if len(listed) == 8:
            break
    return tuple(listed)


def _as_json(read: Reading, advised: Advice) -> dict[str, object]:
    """Return the object of one message."""
    values = ((name, getattr(read, name)) for name in OF_READING)
    return (
        {name: _listed(value) for name, value in values}
        | {"said": advised.said}
        | {"fixes": [{"text": text, "command": command} for text, command in advised.fixes]}
        | {"ask": advised.ask, "command": advised.command}
    )


def _listed(value: object) -> object:
    return [_listed(each) for each in value] if isinstance(value, tuple) else value


def _lines(read: Reading, advised: Advice) -> list[str]:
    """Return one message as lines."""
    subject = " ".join(filter(None, (read.framework, read.op))) or "unknown"
    lines = [f"{subject}: {read.cause}", f"  message  {read.quote}"]
    lines += [f"  node     {read.node}"] if read.node else []
    lines += [f"  {name.ljust(7)}  {text}" for name, text in _shapes(read)]
    lines += [
        f"  {'why' if number == 0 else ''}".ljust(11) + said for number, said in enumerate(advised.said.split("; "))
    ]
    for text, command in advised.fixes:
        lines += [f"  fix      {text}", *([f"           {command}"] if command else [])]
    lines += [f"  missing  {advised.ask}"] if advised.ask else []
    return lines + ([f"  try      {advised.command}"] if advised.command else [])


def _shapes(read: Reading) -> list[tuple[str, str]]:
    """Return the shapes and counts that were read, each with its name."""
    listed = [
        (name, text_of(value))
        for name, value in (("input", read.input), ("target", read.target), ("perm", read.perm), ("axes", read.axes))
        if value is not None
    ]
    listed[1:1] = [("with", text_of(each)) for each in read.operands or ()]
    if read.elements is not None:
        listed.insert(0, ("input", f"{read.elements} elements, the shape is not in the message"))
    if read.target_elements is not None:
        what = "elements in its known dims" if read.cause == "indivisible" else "elements"
        listed.append(("target", f"{read.target_elements} {what}, the shape is not in the message"))
    return listed


def advice(read: Reading) -> Advice:
    """Return what follows from a reading."""
    if read.about is not None:
        article = "" if read.about.startswith(UNCOUNTED) else "an " if read.about[0] in "aeiou" else "a "
        said = f"{CAUSES['not-about-shape'].said}: it is about {article}{read.about}"
        mend = [(MENDS[read.about], None)] if read.about in MENDS else []
        return Advice("; ".join([said, *_declared(read)]), tuple(mend), None, None)
    trace = _asked(read)
    if trace is not None and trace.output is not None and read.dialect is None:
        trace = None  # another framework's rules do not show that the message hides something
    words = _in_words(read)
    found = [*islice(_fixes(read, trace), 5 - len(words)), *((each, None) for each in words)]
    command = _command_of_line(read) if trace is None else command_line(trace)
    said = ": ".join(filter(None, (KINDS.get(read.op or ""), CAUSES[read.cause].said)))
    return Advice("; ".join([said, *_findings(read, trace)]), tuple(found), _ask(read), command)


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
    if shape is not None and _spatial(read):
        shape = (1, 1, *shape)
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


def _beside(read: Reading) -> dict[str, str] | None:
    """Return the arguments of an op of several operands; of a message with two sizes alone they are vectors."""
    operands = read.operands or ((read.pair[1:],) if read.pair and read.op in ("broadcast", "matmul") else None)
    if operands is None or read.op not in OPS or read.op in ("einsum", "pool"):
        return None
    operands = tuple([(1, 1, *each) for each in operands]) if _spatial(read) else operands
    given = {"weight" if read.op in WEIGHED else "operands": " ".join(map(text_of, operands))}
    if read.op in ("concat", "stack"):
        given["axis"] = text_of(read.axes or (0,))
    return given | ({} if read.groups is None else {"groups": str(read.groups)})


def _spatial(read: Reading) -> bool:
    """Say whether the shapes of a window are told without channels."""
    return read.cause == "window-too-large" and read.framework == "torch" and read.op == "conv"


def _fixes(read: Reading, trace: Trace | None) -> Iterator[tuple[str, str | None]]:
    """Yield changes with which the request as it was read resolves, those first that are right for every batch."""
    untold = read.input is None and (read.target is None or read.cause == "infer-with-empty")
    if trace is None or untold:
        return
    literal = read.dialect is None and not read.traits.zero_copies
    found = fixes(trace)
    lasting = any(fix.every_batch for fix in found)
    for fix in found:
        if fix.name == "strides" or (literal and str(fix.value).startswith("0,")):
            continue
        written = not fix.every_batch and not fix.moves and str(fix.value).startswith(f"{trace.input[0]},")
        alone = f": right for a batch of {trace.input[0]} alone" if lasting and written else ""
        try:
            yield f"{fix.said}{alone}", command_line(answer(apply(trace.request, fix)))
        except ShapeError:
            continue


def _in_words(read: Reading) -> list[str]:
    """Return what mends the cause, where no numbers are needed to say it."""
    if read.cause not in ("count-mismatch", "indivisible"):
        mend = "" if read.cause == "not-broadcastable" and read.op != "expand" else CAUSES[read.cause].mend
        return [mend] if mend else []
    if read.op not in ("reshape", "shuffle") or read.input is not None:
        return []
    place = "node" if read.traits.shapes_in else "line"
    target = "the target" if read.target is None else text_of(read.target)
    return [f"if {target} is what you meant, the input is wrong before this {place}: print its shape"]


def _ask(read: Reading) -> str | None:
    """Return what the message does not hold and the reading needs; None if it holds all."""
    several = read.op in KINDS
    if read.input is not None and (_options(read) is not None or (several and read.operands)):
        return None
    both = "the line of code, and the shapes of its tensors before it" if several else ""
    wanted = read.traits.shapes_in or both or _shape_before(read)
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


def _findings(read: Reading, trace: Trace | None) -> Iterator[str]:
    """Yield what a reading shows; `trace` is the answer to the request that was read, if it is whole."""
    yield from _compared(read)
    yield from _met(read, trace)
    yield from _counts(read)
    yield from _differing(read)
    yield from _confirmed(read, trace)
    yield from _from_code(read)


def _compared(read: Reading) -> Iterator[str]:
    """Yield how many dims there are and how many axes are named, or the size that would have to become another."""
    if read.pair is not None and read.op == "expand":
        yield f"the tensor has {read.pair[0]} there, which is neither 1 nor the {read.pair[1]} that is asked for"
    elif read.pair is not None and read.op == "transpose":
        there, named = read.pair
        yield f"the tensor has {rank_text(there)}, and the permutation names {named}"
        if named == there + 1:
            yield "one dim is missing: a grey image has no channels, a lone sample has no batch"
        elif named == there - 1:
            yield "one dim is not named: often the batch"
    elif read.op == "transpose" and read.code is not None and _moves_all(read.code):
        yield f"the code names {len(read.code.sizes)} axes, each once, so the tensor does not have as many dims"


def _met(read: Reading, trace: Trace | None) -> Iterator[str]:
    """Yield what the sizes of two operands tell."""
    numbers = arithmetic(trace.request) if trace is not None and trace.problem is not None else ""
    if read.op in KINDS and not numbers and read.pair is not None:
        numbers = told(*read.pair, read.op)
    if read.op in KINDS and not numbers and read.pair is not None and read.input is None:
        numbers = f"they are {read.pair[0]} and {read.pair[1]}"
    if read.op in KINDS and numbers:
        yield numbers


def _declared(read: Reading) -> Iterator[str]:
    """Yield what differs between a shape that is given and one that was declared."""
    if read.pair is not None:
        lone = read.pair[1] == 1 < LONE < read.pair[0]
        said = ": perhaps a lone sample, without a batch of 1 in front" if lone else ""
        yield f"{read.pair[0]} is given where {read.pair[1]} was declared{said}"
    elif read.input is not None and read.operands:
        yield from _likened(read.input, read.operands[0])


def _likened(given: Sizes, declared: Sizes) -> Iterator[str]:
    """Yield how a shape may become one that was declared, in which `?` is any size."""
    shape, wanted = as_dims(given), as_dims(declared)
    for way in (channels_moved, squeezed, unsqueezed, transposed):
        for said, after in way(shape, wanted):
            if len(after) == len(wanted) and not _unequal(after, wanted):
                yield f"{said.format('the given shape')}: {text_of(after)}"
                return
    unequal = _unequal(shape, wanted)
    if len(given) == len(declared) and len(unequal) == 1:
        yield f"only dim {unequal[0]} differs: {given[unequal[0]]} and {declared[unequal[0]]}"
    elif len(given) != len(declared) and product(shape) == product(wanted):
        yield f"both hold {product(shape)} elements, so one of them was reshaped"


def _unequal(shape: Shape, wanted: Shape) -> list[int]:
    pairs = enumerate(zip(shape, wanted, strict=False))
    return [at for at, pair in pairs if pair[0] != pair[1] and "?" not in map(str, pair)]


def _moves_all(code: Code) -> bool:
    """Say whether a call in the code names the axes of some tensor, each once."""
    rank = len(code.sizes)
    axes = {size % rank for size in code.sizes if isinstance(size, int) and -rank <= size < rank}
    return code.op in ("transpose", "permute") and len(axes) == rank > 2


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
    missing = missing_factors(have, asked)
    if missing:
        yield f"{have} has {missing}"
    common = gcd(have, asked)
    more, less = have // common, asked // common
    if less == 1 and more <= LARGEST_RATIO:
        yield f"the input has {more} times as many elements as the {of}{_meaning(more, read)}"
    elif more == 1 and less <= LARGEST_RATIO:
        yield f"the {of} {'have' if partly else 'has'} {less} times as many elements as the input{_meaning(less, read)}"
    else:
        yield f"the counts are in the ratio {more} to {less}"


def _meaning(ratio: int, read: Reading) -> str:
    """Return what a ratio of two counts often means, unless the shapes show that the batch is right."""
    if read.input and read.target and read.input[0] == read.target[0]:
        return ""
    if read.input and ratio == read.input[0] and read.cause == "hard-coded-batch":
        return f", and its first dim is {ratio}: often a batch"
    # up to which ratio of the counts a batch is thought of
    return ": often RGB against grey" if ratio == 3 else ": often a batch" if ratio <= 1024 else ""


def _differing(read: Reading) -> Iterator[str]:
    """Yield which dims of two shapes differ, if others around them agree."""
    if read.input is None or read.target is None:
        return
    pairs = [*enumerate(zip(read.input, read.target, strict=False))]
    unequal = [(index, have, asked) for index, (have, asked) in pairs if have != asked]
    if len(read.input) == len(read.target) and len(unequal) == 1:
        index, have, asked = unequal[0]
        yield f"only dim {index} differs: {have} in the input, {asked} in the target"
    elif read.cause == "count-mismatch" and count_of(read.input) and count_of(read.target):
        _, ours, theirs = differing(as_dims(read.input), as_dims(read.target))
        if ours and theirs and len(ours) < len(read.input):
            yield f"only this differs: {text_of(ours)} in the input, {text_of(theirs)} in the target"


def _confirmed(read: Reading, trace: Trace | None) -> Iterator[str]:
    """Yield what the rules say of the request as it was read: why it is refused, or what the message must hide."""
    if trace is None:
        return
    if read.input is None:
        yield "the message does not give the shape of the input, so it is read as one dim"
    if trace.problem is not None and (read.strides or read.op == "expand"):
        yield trace.problem.message
    if trace.output is not None and trace.conditions:
        yield f"it holds when {' and '.join(condition.words for condition in trace.conditions)}"
    elif trace.output is not None:
        shown = not read.traits.hides or (read.framework == "numpy" and _shows_first(read))
        hidden = "" if shown else f": {read.traits.hides}"
        yield f"these rules give {text_of(trace.output)}, so the message hides something{hidden}"
    if read.framework == "numpy" and read.cause == "count-mismatch" and read.target and not _shows_first(read):
        yield "NumPy does not print a -1 that stands first, so the code may begin with one"
    pairs = enumerate(zip(read.input or (), read.target or (), strict=False))
    places = [f"the {asked} at index {index}" for index, (have, asked) in pairs if have == asked]
    if read.traits.copied_shown and places:
        told = "may be a 0" if len(places) == 1 else "may each be a 0"
        yield f"where the model has a 0, the message shows the dim that it copies: {' and '.join(places)} {told}"


def _shows_first(read: Reading) -> bool:
    """Say whether the line of code shows that its first size is no -1."""
    return read.line is not None and read.line.first not in (None, -1)


def _from_code(read: Reading) -> Iterator[str]:
    """Yield the sizes that the code of the nearest frame writes, marked as from there."""
    if read.line is not None and (read.code is None or read.code.op != read.line.called):
        if ";" not in read.line.text:
            yield f"the line of code says {read.line.text}"
    elif read.code is not None:
        taken = known_count(read.code.sizes) if read.cause == "count-mismatch" and read.target is None else None
        takes = "" if taken is None else f", which takes {factored(taken)} elements"
        yield f"the code before it says {read.code.op} {text_of(read.code.sizes)}{takes}"

"""What a reading shows beside its cause: numbers side by side, what the rules say of it, and what the code writes."""

from __future__ import annotations

from math import gcd

from shapecalc.core.fixing import differing, factored, missing_factors
from shapecalc.core.text import rank_text
from shapecalc.doctor.causes import as_dims, count_of, known_count
from shapecalc.doctor.lists import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from shapecalc.core.answers import Trace
    from shapecalc.doctor.context import Code
    from shapecalc.doctor.reading import Reading

LARGEST_RATIO = 4096
MOST_BATCHES = 1024
"""Up to which ratio of the counts a batch is thought of."""
ZEROS_REPLACED = frozenset({"onnxruntime", "tensorrt"})


def findings(read: Reading, trace: Trace | None) -> Iterator[str]:
    """Yield what a reading shows; `trace` is the answer to the request that was read, if it is whole."""
    yield from _compared(read)
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
    return ": often RGB against grey" if ratio == 3 else ": often a batch" if ratio <= MOST_BATCHES else ""


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
        yield f"these rules give {text_of(trace.output)}, so the message hides something{_hidden(read)}"
    if read.framework == "numpy" and read.cause == "count-mismatch" and read.target and not _shows_first(read):
        yield "NumPy does not print a -1 that stands first, so the code may begin with one"
    if read.dialect in ZEROS_REPLACED and read.input and read.target and _same_places(read):
        places = [f"the {(read.target or ())[index]} at index {index}" for index in _same_places(read)]
        told = "may be a 0" if len(places) == 1 else "may each be a 0"
        yield f"where the model has a 0, the message shows the dim that it copies: {' and '.join(places)} {told}"


def _shows_first(read: Reading) -> bool:
    """Say whether the line of code shows that its first size is no -1."""
    return read.line is not None and read.line.first not in (None, -1)


def _same_places(read: Reading) -> list[int]:
    pairs = zip(read.input or (), read.target or (), strict=False)
    return [index for index, (have, asked) in enumerate(pairs) if have == asked]


def _hidden(read: Reading) -> str:
    """Return what a runtime may hide in a message about a request that looks right."""
    return {
        "numpy": "" if _shows_first(read) else ": a -1, which is not printed where it stands first",
        "onnxruntime": ": a 0 that was replaced before it was printed, or allowzero",
        "onnx": ": a size that is known only at run time, or allowzero",
        "tensorrt": ": a 0 that was replaced before it was printed",
        "torch": ": the strides of the tensor",
        "openvino": ": special_zero",
        "onednn": ": special_zero",
    }.get(read.framework or "", "")


def _from_code(read: Reading) -> Iterator[str]:
    """Yield the sizes that the code of the nearest frame writes, marked as from there."""
    if read.line is not None and (read.code is None or read.code.op != read.line.called):
        if ";" not in read.line.text:
            yield f"the line of code says {read.line.text}"
    elif read.code is not None:
        taken = known_count(read.code.sizes) if read.cause == "count-mismatch" and read.target is None else None
        takes = "" if taken is None else f", which takes {factored(taken)} elements"
        yield f"the code before it says {read.code.op} {text_of(read.code.sizes)}{takes}"

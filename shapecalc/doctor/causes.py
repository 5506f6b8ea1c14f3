"""What went wrong: the causes in words, and which it is, decided by the numbers where the sentence does not say it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from shapecalc.core.dims import Shape, named_dim
from shapecalc.core.fixing import batch_differs
from shapecalc.core.ops.view import COPY_FIRST
from shapecalc.doctor.match import Sizes


@dataclass(frozen=True, slots=True)
class Cause:
    """What is said of a cause."""

    said: str
    mend: str = ""
    """What mends it, where no numbers are needed to say it."""
    explained: tuple[str, str] | None = None
    """More words, and a command line that shows it."""


CAUSES: Mapping[str, Cause] = {
    "count-mismatch": Cause(
        "the element counts differ, and a reshape keeps the count",
        explained=(
            "A reshape only writes the same elements in other dims, so the sizes of the target multiplied must give "
            "the count of the input.\n\n"
            "1600 elements cannot become 8,3,64: 8*3*64 is 1536. The factors show where to look: 1600 is 2^6*5^2 and "
            "1536 is 2^9*3, so no dim of 3 fits, and the input has a 5 or a 25 that nobody expected.\n\n"
            "If one size of the target is wrong, write -1 in its place: a reshape computes it, if the others divide "
            "the count. If the target is what you meant, the input is wrong before: print its shape. Often a layer "
            "before has another stride or padding, the image has another size, or a batch or channel is missing.",
            "shapecalc reshape 1600 8,3,64 --dialect torch",
        ),
    ),
    "indivisible": Cause(
        "the known dims of the target do not divide the element count, so the unknown dim has no whole size"
    ),
    "hard-coded-batch": Cause(
        "behind their first dims both shapes hold as many elements: most likely the batch size of the example is "
        "written into the target",
        "where to write it: in the model's file, shapecalc model FILE.onnx --fix -o fixed.onnx; in the PyTorch code "
        "that exports it, x.shape[0] in its place",
        (
            "A model is exported with an example, often of one sample, and the exporter writes the example's batch "
            "size into the target of a reshape. At another batch size the target asks for too few elements or too "
            "many.\n\n"
            "An input 4,197,768 cannot become 1,197,12,64: behind the first dims both hold 151296 elements, 197*768 "
            "and 197*12*64, and the first dims are 4 and 1.\n\n"
            "Write 0,197,12,64 where 0 copies the input's dim, as in ONNX and TensorRT; it assumes that the batch "
            "stays first. Write -1,197,12,64 elsewhere; it assumes that the other sizes stay. 4,197,12,64 is right for "
            "this batch alone. Do not put the -1 behind the 1: 1,-1,12,64 runs, takes the batch into axis 1, and "
            "nothing says so.\n\n"
            "Where the target is in a model's file, export it again with a dynamic batch, or mend the file: shapecalc "
            "model FILE.onnx tells every such node, shapecalc model FILE.onnx --fix -o fixed.onnx mends them.",
            "shapecalc reshape 4,197,768 1,197,12,64",
        ),
    ),
    "empty-input": Cause(
        "the input holds no elements, and the target asks for some",
        "skip the step while the tensor is empty, or find what removed every element before it",
    ),
    "two-infer": Cause(
        "more than one dim of the target is to be inferred, which has no single answer",
        "keep one -1 and write the other sizes; for the batch write 0 where 0 copies, as in ONNX",
    ),
    "infer-with-empty": Cause(
        "-1 could be any size, because another dim of the target is 0",
        "write the size in place of -1, or skip the step while the tensor is empty",
    ),
    "zero-out-of-range": Cause(
        "a 0 of the target is at an index that the input does not have, so there is nothing to copy",
        "write the size itself; in ONNX since opset 14, allowzero=1 makes 0 a dim of size zero",
    ),
    "zero-literal": Cause(
        "0 is a dim of size zero here and copies nothing", "write the size that 0 was to copy, as x.shape[0]"
    ),
    "bad-value": Cause("a size of the target is not valid: only -1 may be negative, and all must be whole numbers"),
    "bad-perm": Cause(
        "the permutation does not name each axis of the input once",
        "name each axis once: if the tensor has a dim more or less than expected, mend that first",
    ),
    "bad-axis": Cause("an axis is named that the tensor does not have, or one is named twice"),
    "not-one": Cause(
        "the size of an axis to drop is not 1",
        "name only an axis whose size is 1; PyTorch's squeeze leaves others alone, ONNX's refuses them",
    ),
    "not-broadcastable": Cause(
        "a dim that is not 1 would have to grow", "1 keeps a dim in ONNX, -1 in PyTorch; only dims of 1 can grow"
    ),
    "stride-incompatible": Cause(
        "the elements lie in memory in another order, so no view of this shape exists", COPY_FIRST
    ),
    "rank-mismatch": Cause("the number of dims is not the one that is asked for"),
    "bad-pattern": Cause("the pattern does not fit the tensor, or cannot be read"),
    "bad-attribute": Cause("the operator does not take this attribute, or not in this version"),
    "engine-limit": Cause(
        "the shape may be right, but this engine cannot do it",
        "fold the constants of the model before it is loaded, or use a newer engine",
    ),
    "unspecified": Cause("the message does not say what went wrong"),
    "not-about-shape": Cause("the message is not about the shape of one tensor"),
}


def counted_cause(input: Sizes | None, elements: int | None, target: Sizes | None, wanted: int | None) -> str:
    """Return why a reshape with these shapes, or with these counts, is refused.

    >>> counted_cause((8, 255, 52, 52), None, (1, 3, 85, 52, 52), None)
    'hard-coded-batch'
    >>> counted_cause(None, 1600, (8, 3, -1), None), counted_cause(None, 0, (0, -1), None)
    ('indivisible', 'infer-with-empty')
    """
    if target is not None:
        negative = [size for size in target if isinstance(size, int) and size < 0]
        if any(size < -1 for size in negative):
            return "bad-value"
        if len(negative) > 1:
            return "two-infer"
    have = count_of(input) if elements is None else elements
    asked = known_count(target) if wanted is None else wanted
    infers = target is not None and -1 in target
    if target is not None and asked == 0 and have not in (0, None):
        return "zero-literal"
    if infers and (asked == 0 or (have == 0 and 0 in (target or ()))):
        return "infer-with-empty"
    if have == 0:
        return "empty-input"
    if infers:
        return "indivisible"
    return "hard-coded-batch" if batch_differs(as_dims(input or ()), as_dims(target or ())) else "count-mismatch"


def as_dims(sizes: Sizes) -> Shape:
    """Return sizes as dims; what a message calls by a name keeps it."""
    return tuple(size if isinstance(size, int) else named_dim(size) for size in sizes)


def count_of(sizes: Sizes | None) -> int | None:
    """Return the product of sizes that are all numbers; None if one is not."""
    if sizes is None:
        return None
    numbers = [size for size in sizes if isinstance(size, int) and size >= 0]
    return prod(numbers) if len(numbers) == len(sizes) else None


def known_count(sizes: Sizes | None) -> int | None:
    """Return the product of the sizes beside -1; None if another is no number."""
    return None if sizes is None else count_of(tuple(size for size in sizes if size != -1))

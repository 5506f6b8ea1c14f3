"""The causes of shape errors."""

from __future__ import annotations

from collections.abc import Mapping

from shapecalc.core.ops.view import COPY_FIRST_HINT
from shapecalc.core.record import Record


class Cause(Record):
    """A cause of a shape error, with a summary for the user."""

    summary: str
    remedy: str = ""
    """A general remedy, without numbers from the message."""
    explanation: tuple[str, str] | None = None
    """A longer explanation, paired with a command line that demonstrates it."""
    first_step: str = ""
    """The advice if there is no other remedy."""


CAUSES: Mapping[str, Cause] = {
    "count-mismatch": Cause(
        "the element counts differ, and a reshape keeps the count",
        first_step="print the input's shape before this line: if the target is right, the input is wrong there",
        explanation=(
            "1600 elements cannot become 8,3,64: 8*3*64 is 1536. The factors show where to look: 1600 is 2^6*5^2 and "
            "1536 is 2^9*3, so no dim of 3 fits, and the input has a 5 or a 25 that nobody expected.\n\n"
            "If one size of the target is wrong, write -1 in its place. If the target is what you meant, print the "
            "input's shape: a stride, a padding or the image's size differs, or a batch or channel is missing.",
            "shapecalc reshape 1600 8,3,64 --dialect torch",
        ),
    ),
    "indivisible": Cause(
        "the known dims of the target do not divide the element count, so the unknown dim has no whole size",
        first_step="print that size where it is made, and compare it with the divisor: if it is right, choose a "
        "divisor of it, or pad it to a multiple",
    ),
    "hard-coded-batch": Cause(
        "apart from the first dim both shapes hold as many elements: most likely the batch size of the example is "
        "written into the target",
        "where to write it: in the model's file, shapecalc model FILE.onnx --fix -o fixed.onnx; in the PyTorch code "
        "that exports it, x.shape[0] in its place",
        (
            "A model is exported with an example, often of one sample, and its batch size is written into the target "
            "of a reshape. An input 4,197,768 cannot become 1,197,12,64: behind the first dims both hold 151296 "
            "elements, 197*768 and 197*12*64.\n\n"
            "Write 0,197,12,64 where 0 copies the input's dim, as in ONNX and TensorRT; it assumes that the batch "
            "stays first. Write -1,197,12,64 in other frameworks; it assumes that the other sizes stay. Do not put the "
            "-1 behind the 1: 1,-1,12,64 runs, takes the batch into axis 1, and raises no error.\n\n"
            "In a model's file, shapecalc model FILE.onnx --fix -o fixed.onnx fixes every such node.",
            "shapecalc reshape 4,197,768 1,197,12,64",
        ),
    ),
    "empty-input": Cause(
        "the input holds no elements, and the target asks for some",
        "print what the input is selected or cut from: find what removed every element; skip the step only if none is "
        "a valid case",
    ),
    "two-infer": Cause(
        "more than one dim of the target is to be inferred, which has no single answer",
        "keep one -1 and write the other sizes: for the batch 0 where 0 copies, as in ONNX, otherwise x.shape[0]",
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
    "bad-value": Cause(
        "a size of the target is not valid: only -1 may be negative, and all must be whole numbers",
        first_step="find the size that is negative or fractional: a difference, or a division that needs //",
    ),
    "bad-perm": Cause(
        "the permutation does not name each axis of the input once",
        "name each axis once: if the tensor has a dim more or less than expected, find the line that makes it",
    ),
    "bad-axis": Cause(
        "an axis is named that the tensor does not have, or one is named twice",
        first_step="print the shape: axes go from 0 to the rank minus 1, or from -1 backwards, each named once",
    ),
    "not-one": Cause(
        "the size of an axis to drop is not 1",
        "name only an axis whose size is 1; PyTorch's squeeze leaves others alone, ONNX's refuses them",
    ),
    "not-broadcastable": Cause(
        "from the last dim on, two sizes must be equal, or one of them 1",
        "1 keeps a dim in ONNX, -1 in PyTorch; only dims of 1 can grow",
        first_step="print both shapes: from the last dim on, sizes must be equal, or the one that grows must be 1",
    ),
    "stride-incompatible": Cause(
        "the elements lie in memory in another order, so no view of this shape exists", COPY_FIRST_HINT
    ),
    "inner-differs": Cause(
        "the last dim of the first operand and the last but one of the second are summed together, and differ",
        first_step="print both shapes: the last dim of the first must equal the last but one of the second",
    ),
    "dims-differ": Cause(
        "the operands differ along an axis along which they must not",
        first_step="print both shapes, and make all dims equal except those that are joined or broadcast",
    ),
    "ranks-differ": Cause(
        "the operands have no ranks that go together",
        first_step="print both shapes, (0,) is an empty list: if one lacks a batch or a channel, insert it, x[None]; "
        "if it has one too many, find the line that adds it",
    ),
    "channels-differ": Cause(
        "the input has other channels or features than the weights take",
        first_step="print the input's shape: if its channels are on another axis, move them; if they are on the right "
        "one, compare their number with the layer's, and find which of the two is wrong",
    ),
    "window-too-large": Cause(
        "the window does not fit into the padded input",
        "print(x.shape) before that layer: if the input has shrunk below the window, give the network a larger one, or "
        "pool less; if a side is far smaller than the other, its axes may be swapped",
    ),
    "rank-mismatch": Cause(
        "the number of dims is not the expected one",
        first_step="print the shape: if a batch or a channel is missing, insert it, x[None]; if a dim is too many, "
        "find the line that adds it, or select one of it if it is one sample of a batch, x[0]",
    ),
    "bad-pattern": Cause(
        "the pattern does not fit the tensor, or cannot be read",
        first_step="name each dim of the tensor once on the left, and use only these names on the right",
    ),
    "bad-attribute": Cause(
        "the operator does not take this attribute, or not in this version",
        first_step="convert the model to a version of the operator that has it, or remove it",
    ),
    "engine-limit": Cause(
        "the shape may be right, but this engine cannot do it",
        "fold the constants of the model before it is loaded, or use a newer engine",
    ),
    "unspecified": Cause(
        "the message does not say what went wrong",
        first_step="paste the lines above it, with the operator and its shapes",
    ),
    "declared-input": Cause("a model's input: it is declared with another shape than it is given"),
    "features-differ": Cause(
        "the data has another number of features than was fitted or declared",
        "make the features as for the training data: transform, not fit_transform; the same columns, size and settings",
    ),
    "sparse-differs": Cause("two operands whose dims do not fit, most often sparse matrices of SciPy"),
    "lengths-differ": Cause(
        "two lengths that must be equal differ",
        first_step="print both lengths before that line, and make both from the same rows",
    ),
    "one-value": Cause(
        "batch normalization needs more than one value for each channel while it trains",
        "call model.eval() before a test; in training drop a last batch of one sample, drop_last=True, or take more",
    ),
    "table-rank": Cause(
        "the data has another number of dims than a table",
        "print(x.shape): rows are samples; x.reshape(len(x), -1) makes one of each sample, x.reshape(-1, x.shape[-1]) "
        "one of each step; for one feature, x.reshape(-1, 1)",
    ),
    "empty-table": Cause(
        "the table holds no samples", "find the filter or the split that leaves no rows, and print it"
    ),
    "carry-differs": Cause(
        "a loop or a branch returns another shape than it was given, or than the other branch",
        "make the shapes equal: start with the shape that is returned, or squeeze the result, x.squeeze() or x[0]",
    ),
    "traced-size": Cause(
        "a size is traced under jit, and a shape must be known when the function is compiled",
        "make the size static, jax.jit(f, static_argnums=...), or take it from x.shape; for a mask, "
        "jnp.where(mask, x, 0)",
    ),
    "unknown-chunks": Cause(
        "the sizes of the chunks are unknown since a selection, so the shape holds nan",
        "compute them before that line: x = x.compute_chunk_sizes()",
    ),
    "too-many-indices": Cause(
        "the index names more axes than the tensor has",
        "print its shape before that line, and find which dim is missing; drop an index only if the shape is right",
    ),
    "rank-limit": Cause(
        "the array would have more dims than NumPy allows", "look for a loop that adds a dim each time, and merge dims"
    ),
    "needs-copy": Cause(
        "the elements lie in memory in another order, so that this reshape copies", "drop copy=False, or copy before"
    ),
    "not-square": Cause(
        "the last two dims are not equal, and a square matrix is expected",
        "print the shape, and find which of the two dims is wrong; for a matrix that is not square on purpose, lstsq "
        "or pinv",
    ),
    "pad-too-large": Cause(
        "a reflected pad is not shorter than the dim that it reflects",
        "print the shape before that line: an axis may be the wrong one, or the input too short; if it is right, pad "
        "less, or mode='replicate'",
    ),
    "batch-limit": Cause(
        "the batch is larger than the server allows, or the shape lacks its batch dim",
        "insert the batch dim, x[None], split the batch, or raise max_batch_size in config.pbtxt",
    ),
    "out-of-range": Cause(
        "the slice ends behind the last element of the input along one axis",
        first_step="if the node was an Expand, its target holds a size of the export: free it; a Slice: shorten it to "
        "the input's size along that axis",
    ),
    "unknown-message": Cause(
        "the tool is known, and the message is not: it may be about a shape or not",
        first_step="paste the lines above it, with the operator and its shapes",
    ),
    "not-about-shape": Cause("the message is not about the shape of one tensor"),
}

"""The rules that several ops and dialects share.

A `StepRule` explains a step in the computation of an output shape. Any other rule explains a refusal.
"""

from __future__ import annotations

from shapecalc.core.answers import Step, StepRule
from shapecalc.core.dims import Dim, Shape, product
from shapecalc.core.problem import DIFFERS, FILE, USAGE, Rule
from shapecalc.core.record import Choice
from shapecalc.core.text import element_count_text, shape_text


class ExcludedDims(Choice):
    """The dims that are excluded when -1 is inferred and another dim is 0.

    The inferred dim is the element count divided by the product of the known dims. Both numbers exclude these dims.
    """

    ZEROS = "zeros left out"
    COPIES = "copied dims left out"


INDIVISIBLE = Rule(
    "indivisible",
    "the resulting dim would not be an integer",
    "To infer -1, the element count must be divisible by the product of the known dims.",
    "shapecalc reshape 2,3,4 5,-1",
    "ONNX Reshape: 'required to have the same number of elements'",
)
VOLUME_MISMATCH = Rule(
    "volume-mismatch",
    "the requested shape and the input have different element counts",
    "A reshape never adds or drops elements. A common cause is a target whose fixed batch size differs from that of "
    "the input. A 0 or -1 at the index of the batch is correct for every batch size. According to a comment in the "
    "ONNX documents, a reshape of (0,3,4) to (3,4,0) without allowzero gives (3,4,4). This result is impossible, "
    "because 0 elements cannot fill 48 positions.",
    "shapecalc reshape 0,3,4 3,4,0",
    "ONNX Reshape: 'required to have the same number of elements'",
)
ZERO_OUT_OF_RANGE = Rule(
    "zero-out-of-range",
    "a 0 refers to a dim that the input does not have",
    "A 0 at index i copies input dim i, so i must be less than the rank of the input.",
    "shapecalc reshape 6 6,0",
    "ONNX Reshape shape inference: 'invalid position of 0'",
)
ZERO_BESIDE_INFER = Rule(
    "zero-beside-infer",
    "the requested shape contains both a literal 0 and a -1",
    "A literal 0, as with allowzero, is a dim of size zero. The product of all dims is then 0 for every value of -1, "
    "so -1 cannot be computed.",
    "shapecalc reshape 0,3,4 0,-1 --allowzero",
    "ONNX Reshape 14: 'it is invalid for the specified shape to contain both a zero value and -1'",
)
ZERO_VOLUME_INFER = Rule(
    "zero-volume-infer",
    "-1 is not determined if the known dims multiply to 0",
    "The product of all dims is 0 for every value of -1. Some runtimes infer -1 nevertheless: see `shapecalc compare "
    "0,3,4 0,-1`.",
    "shapecalc reshape 0,3,4 0,-1",
    "TensorRT Shuffle: 'the solution for -1 becomes indeterminate and TensorRT will report an error'",
)
TWO_INFERS = Rule(
    "two-infers",
    "the requested shape contains more than one dim to infer",
    "With two unknown dims, the answer is not unique.",
    "shapecalc reshape 2,3,4 -1,-1",
    "ONNX Reshape: 'at most one dimension of the new shape can be -1'",
)
BELOW_MINUS_ONE = Rule(
    "below-minus-one",
    "the requested shape contains a value below -1",
    "In most dialects, -1 is the only negative value with a meaning. MXNet has further special values, and NumPy "
    "reads every negative number as -1.",
    "shapecalc reshape 2,3,4 -2,4",
    "oneDNN StaticReshape: 'values >= -1'",
)
INFER_LIMIT = Rule(
    "infer-limit",
    "the inferred dim exceeds the limit of the dialect",
    "In TensorRT, an inferred dim must fit into a signed 32-bit integer.",
    "shapecalc reshape 65536,65536 -1 --dialect tensorrt",
    "measured with TensorRT",
)
OVERFLOW = Rule(
    "overflow",
    "the element count exceeds the range of int64",
    "Dims and element counts must fit into a signed 64-bit integer.",
    "shapecalc reshape 4294967296,4294967296 -1",
    "ONNX Reshape shape inference: 'dimension product overflow'",
)
RANK_LIMIT = Rule(
    "rank-limit",
    "the shape has more dims than the dialect allows",
    "Many frameworks limit the number of dims: the limit is 8 in TensorRT, 12 in oneDNN and 64 in NumPy.",
    "shapecalc reshape 1,1,1,1,1,1,1,1,1 1 --dialect tensorrt",
    "TensorRT Dims, oneDNN DNNL_MAX_NDIMS, NumPy NPY_MAXDIMS",
)
NOT_A_PERMUTATION = Rule(
    "not-a-permutation",
    "a permutation names every axis exactly once",
    "If an axis were missing, repeated or out of range, elements would be lost or duplicated.",
    "shapecalc transpose 2,3,4 1,0,1",
    "ONNX Transpose",
)
NEGATIVE_AXIS = Rule(
    "negative-axis",
    "the dialect does not accept negative axes in this argument",
    "ONNX accepts negative axes in flatten, squeeze and unsqueeze since opset 11, but never in a permutation. "
    "TensorRT and OpenVINO refuse negative axes in a permutation, but oneDNN, NumPy and PyTorch accept them.",
    "shapecalc transpose 2,3,4 -1,0,1",
    "ONNX Transpose, ONNX Squeeze 11",
)
AXIS_OUT_OF_RANGE = Rule(
    "axis-out-of-range",
    "the axis does not exist",
    "Axes run from 0 to rank - 1, or from -rank if the dialect accepts negative axes. In unsqueeze, this rank is the "
    "rank of the output.",
    "shapecalc squeeze 1,3 --axes 2",
    "ONNX Squeeze, ONNX Unsqueeze, ONNX Flatten",
)
REPEATED_AXIS = Rule(
    "repeated-axis",
    "an axis is named twice",
    "Some frameworks count a repeated axis once. For example, OpenVINO does so in squeeze and unsqueeze, and ONNX "
    "Runtime does so in squeeze. ONNX, NumPy and PyTorch refuse a repeated axis. JAX accepts a repeated destination of "
    "moveaxis.",
    "shapecalc squeeze 1,3,1 --axes 0,-3",
    "numpy.squeeze, ONNX Unsqueeze",
)
AXIS_NOT_ONE = Rule(
    "axis-not-one",
    "only a dim of 1 can be squeezed",
    "Some frameworks, such as PyTorch and OpenVINO, leave a dim unchanged if it is not 1.",
    "shapecalc squeeze 1,3 --axes 1",
    "ONNX Squeeze: 'if an axis is selected with shape entry not equal to one, an error is raised'",
)
START_AFTER_END = Rule(
    "start-after-end",
    "the first dim to merge comes after the last",
    "PyTorch's flatten merges the dims from start_dim to end_dim, inclusive.",
    "shapecalc flatten 2,3,4 --start-dim 2 --end-dim 1 --dialect torch",
    "torch.flatten: 'start_dim cannot come after end_dim'",
)
NOT_BROADCASTABLE = Rule(
    "not-broadcastable",
    "only a dim of 1 can be expanded to another size",
    "The shapes are aligned at the right. In each pair of aligned dims, both must be equal, or one must be a 1 that "
    "may be expanded.",
    "shapecalc expand 3 2",
    "ONNX Expand, numpy.broadcast_to",
)
NEGATIVE_SIZE = Rule(
    "negative-size",
    "the target of an expand contains a negative size",
    "In PyTorch and some other frameworks, a -1 in the target of an expand keeps an existing dim.",
    "shapecalc expand 3,1 -1,4",
    "ONNX Expand, numpy.broadcast_to, Tensor.expand",
)
NEEDS_SIZE = Rule(
    "needs-size",
    "the answer depends on the value of a named size",
    "For example, a slice from the fifth last to the third element of a dim N is empty if N is at least 8. The value "
    "of N also decides whether given strides are valid for a dim N. Set the sizes with --where.",
    "shapecalc slice N,L -5:3",
    "arithmetic",
)
MISSING_SWITCH = Rule(
    "missing-switch",
    "the framework requires an explicit setting of its switch",
    "The switch special_zero selects whether 0 copies a dim or is a dim of size zero. In oneDNN and OpenVINO, this "
    "switch has no default. The switch may be omitted if both settings give the same answer.",
    "shapecalc reshape 3,4,5 0,-1 --dialect onednn",
    "oneDNN StaticReshape: 'required: yes'",
)
MISSING_ARGUMENT = Rule(
    "missing-argument",
    "a required argument of the operator is missing",
    "Unsqueeze cannot infer the positions of the new dims, and oneDNN's StaticTranspose has no default order.",
    "shapecalc unsqueeze 2,3",
    "ONNX Unsqueeze, oneDNN StaticTranspose",
)
NO_SUCH_ATTRIBUTE = Rule(
    "no-such-attribute",
    "the version of the operator does not have the attribute",
    "The attribute allowzero was added in Reshape 14, and start and end were added in Shape 15. The version of an "
    "operator is the newest one that is not above the opset of the model.",
    "shapecalc reshape 2,3,4 0,-1 --allowzero --opset 13",
    "ONNX Reshape 14, ONNX Shape 15",
)
NO_SUCH_VERSION = Rule(
    "no-such-version",
    "the operator does not exist in this opset",
    "Expand was added in opset 8.",
    "shapecalc expand 3,1 3,4 --opset 7",
    "ONNX Expand 8",
)
DTYPE = Rule(
    "dtype",
    "the version of the operator does not accept the element type",
    "Reshape 1 accepts only floating-point types. Version 13 adds bfloat16, and version 19 adds the 8-bit floats. "
    "Version 21 adds int4, version 23 adds float4e2m1, version 24 adds float8e8m0, and version 25 adds int2.",
    "shapecalc reshape 2,3,4 0,-1 --dtype bfloat16 --opset 5",
    "ONNX Reshape, type constraints",
)
CONTRADICTION = Rule(
    "contradiction",
    "no sizes meet all conditions at once",
    "Each condition can be met alone, but not together with the others.",
    "shapecalc chain 'N,3 | squeeze | reshape 1,3'",
    "arithmetic",
)
LAYER_MISMATCH = Rule(
    "layer-mismatch",
    "the input of a layer does not have the sizes that the layer requires",
    "A layer that keeps the shape can also require sizes: a BatchNorm2d requires its number of channels, a LayerNorm "
    "requires its last dims, and both require a number of dims. During evaluation, an InstanceNorm2d without affine "
    "and a BatchNorm2d without affine and without statistics accept any number of channels.",
    "shapecalc code 'nn.BatchNorm2d(32)(x)' --input x=2,16,8,8",
    "PyTorch torch.nn and torch.nn.functional",
)
ELEMENT_KIND = Rule(
    "element-kind",
    "a function does not accept the kind of the elements",
    "PyTorch computes a mean, a softmax or a convolution of floats, and refuses integers and booleans. A matrix "
    "product takes two tensors of the same type. An index contains integers or booleans, and a mask contains booleans. "
    "shapecalc distinguishes bool, integer, float and complex; the elements of an input can be of any kind.",
    "shapecalc code '(x > 0).softmax(-1)' --input x=2,3",
    "PyTorch 'Type promotion', and its CPU kernels",
)
TOO_FEW_VALUES = Rule(
    "too-few-values",
    "a layer would compute a mean of one value",
    "PyTorch refuses to normalize by the statistics of the input if each statistic would be computed from a single "
    "value. The layer needs more samples, or more elements in each channel.",
    "shapecalc code 'nn.InstanceNorm2d(3)(x)' --input x=2,3,1,1",
    "PyTorch torch.nn.functional, 'Expected more than 1 spatial element'",
)


def _explain_copied_zero(step: Step, *, from_left: bool = False) -> str:
    counting = ", counted from the left" if from_left else ""
    return f"0 copies dim {step.out}{counting}, which is {step.value}"


COPIED_ZERO = StepRule(
    "copy-zero",
    "0 copies the dim at the same index of the tensor being reshaped",
    "The index is counted from the left, even if the rank changes. It is a common mistake to count this index from "
    "the right. In a Shuffle, the tensor being reshaped is the result of the first transpose. The 0 copies only the "
    "size of the dim. The elements stay on this axis only if the dims to its left have the same product as before. In "
    "pictures, a solid line shows the path of the elements. A dotted line means that only the size of an axis is "
    "copied.",
    "shapecalc reshape 2,2,3,2 -1,0,0",
    "ONNX Reshape: 'the actual dimension value is unchanged (i.e. taken from the input tensor)'",
    name="copy 0",
    why=_explain_copied_zero,
)


LITERAL_ZERO = StepRule(
    "literal-zero",
    "0 is a dim of size zero",
    "NumPy, PyTorch, TensorFlow and JAX always read 0 as a size. In a dialect with a switch, 0 is a size at one "
    "setting of the switch. An output with a dim of size zero has no elements, so the input must be empty, too.",
    "shapecalc reshape 0,3,4 3,4,0 --allowzero",
    "ONNX Reshape 14: 'allowzero=1 indicates that ... the zero value is honored, similar to NumPy'",
    name="literal 0",
    why="0 is a dim of size zero",
)


GIVEN_DIM = StepRule(
    "given",
    "a number or a name in the requested shape is used as it is",
    "In most dialects, 0 and -1 are special values; every other entry is a size. The element counts of the input and "
    "the output are compared at the end.",
    "shapecalc reshape 2,3,4 4,6",
    "ONNX Reshape: 'second input is a shape tensor which specifies the output shape'",
    why="{step.value} is given",
)


def _explain_inferred_dim(step: Step, shape: Shape, have: Dim, known: Dim) -> str:
    """Format an inferred dim as the quotient of `have` and `known`."""
    divisor = f"({known})" if "*" in str(known) else known
    return f"-1 is {element_count_text(shape, have)} / {divisor} known = {step.value}"


INFERRED = StepRule(
    "infer",
    "-1 is the element count divided by the product of the known dims",
    "The inferred dim makes the element counts of the input and the output equal. At most one dim can be inferred, "
    "and the division must leave no remainder.",
    "shapecalc reshape 2,3,4 0,-1",
    "ONNX Reshape: 'the value is inferred from the size of the tensor and the remaining dimensions'",
    name="solve -1",
    why=_explain_inferred_dim,
)


INFERRED_EMPTY = StepRule(
    "infer-empty",
    "-1 can be inferred next to a dim of size zero in some runtimes",
    "The element count and the product of the known dims are both 0, so their quotient is undefined. OpenVINO "
    "excludes the copied dims from both products, and defines 0/0 as 1. ONNX Runtime excludes all zeros from both "
    "products. Most runtimes refuse the request.",
    "shapecalc reshape 0,3,4 0,-1 --dialect openvino --special-zero",
    "measured with OpenVINO 2026.4.1 and ONNX Runtime 1.32.0",
    name="solve -1",
    why="-1 is {have} / {known}, {left_out.value} = {step.value}",
)


def _explain_regrouping(step: Step, before: Shape) -> str:
    """Format the element counts of a reshape, and the merged and split dims."""
    from shapecalc.core.origins import describe_reshape

    have, want = product(before), product(step.shape)
    elements = "element" if have == 1 else "elements"
    counts = f"{have} {elements} in and out" if have == want else f"{have} {elements} in, {want} out"
    return f"{counts}: {describe_reshape(before, step.shape)}"


REGROUPED = StepRule(
    "regroup",
    "the elements keep their order; only the boundaries between dims move",
    "The shapes have a common boundary wherever their leading dims have the same product. Between two common "
    "boundaries, axes are kept, merged or split. If a new boundary falls inside an old dim, axes can mix. A reshape "
    "never swaps axes; a transpose does.",
    "shapecalc reshape 2,3,4 6,2,2",
    "ONNX Reshape: 'required to have the same number of elements'",
    why=_explain_regrouping,
)


def _explain_merged_dim(step: Step, dims: Shape) -> str:
    if not dims:
        return f"no axis is left for output dim {step.out}, so it is 1"
    factors = "*".join(map(str, dims))
    return f"output dim {step.out} is {factors}" + (f" = {step.value}" if len(dims) > 1 else "")


MERGED = StepRule(
    "merge",
    "a flattened dim is the product of the dims it merges",
    "ONNX always returns two dims, PyTorch merges a range of dims into one, and NumPy merges all dims.",
    "shapecalc flatten 2,3,4 --axis 2",
    "ONNX Flatten, torch.flatten, ndarray.flatten",
    why=_explain_merged_dim,
)


DROPPED_ONE = StepRule(
    "drop-one",
    "a dim of 1 is dropped",
    "Squeeze drops the dims of 1 at the given axes. If no axes are given, squeeze drops all dims of 1.",
    "shapecalc squeeze 1,3,1 --axes 0",
    "ONNX Squeeze",
    name="drop 1",
    why="dim {step.sources[0]} is {step.value} and is dropped",
)


KEPT_DIM = StepRule(
    "keep-dim",
    "a dim is kept unchanged",
    "If the dim at an axis of squeeze is not 1, PyTorch and OpenVINO keep the dim unchanged. In expand, -1 keeps a "
    "dim in PyTorch, and 0 keeps a dim in MXNet.",
    "shapecalc squeeze 1,3,1 --axes 1 --dialect torch",
    "torch.squeeze, Tensor.expand, OpenVINO Squeeze, MXNet broadcast_to",
    why="dim {step.sources[0]} is {step.value} and stays",
)


INSERTED_ONE = StepRule(
    "insert-one",
    "a new dim of 1 is inserted",
    "The axes of unsqueeze are positions in the output, not in the input.",
    "shapecalc unsqueeze 2,3 --axes 0,3",
    "ONNX Unsqueeze",
    name="insert 1",
    why="output dim {step.out} is a new 1",
)


def _explain_stretched_dim(step: Step, dim: Dim) -> str:
    if step.value == dim:
        return f"input dim {step.sources[0]} is {dim} and stays"
    return f"input dim {step.sources[0]} has size {dim}, repeated to {step.value}"


STRETCHED = StepRule(
    "stretch",
    "a dim of 1 is repeated; any other dim must already have the requested size",
    "Shapes are aligned at the right. In ONNX, a 1 in the target is also repeated, to the size of the input dim.",
    "shapecalc expand 3,1 3,4",
    "ONNX Expand, numpy.broadcast_to, Tensor.expand",
    why=_explain_stretched_dim,
)


NEW_DIM = StepRule(
    "new-dim",
    "a new dim is added in front of the input dims",
    "If the target has more dims than the input, the additional dims are added on the left. Each new dim repeats the "
    "dims after it.",
    "shapecalc expand 3 2,3",
    "ONNX Expand: 'the broadcast rule is similar to numpy.array(input) * numpy.ones(shape)'",
    why=lambda step: f"{step.value} {'copy' if step.value == 1 else 'copies'} of the dims after it",
)


BROADCASTED = StepRule(
    "broadcast",
    "the tensor is read as if it had the larger shape",
    "No element is copied; elements along a dim of 1 are read repeatedly.",
    "shapecalc expand 8,1,1 1,2",
    "ONNX Expand",
    why=lambda step: f"the tensor is read as {shape_text(step.shape)}",
)


WRITTEN_FRACTION = StepRule(
    "written-fraction",
    "a fraction in the request must evaluate to an integer",
    "A dim such as C*H*W/64 is a size, so 64 must divide C*H*W.",
    "shapecalc reshape N,C/2 -1",
    "arithmetic",
    name="fraction",
    why="{step.value} is a whole number",
)


KEPT_DIM_RULES = (KEPT_DIM, "keep-one")
"""The rules for an output dim that equals an input dim. `keep-one` is a rule of MXNet."""

_LOCAL_RULES = [rule for rule in [*globals().values()] if isinstance(rule, Rule) and rule not in (DIFFERS, FILE, USAGE)]
STEP_RULES: dict[str, Rule] = {rule: rule for rule in _LOCAL_RULES if isinstance(rule, StepRule)}
"""The shared rules that explain steps, keyed by id. Ops and dialects define additional rules."""
REFUSALS: dict[str, Rule] = {rule: rule for rule in (*_LOCAL_RULES, DIFFERS, FILE, USAGE) if rule not in STEP_RULES}
"""The shared rules that explain refusals, keyed by id. Ops and dialects define additional rules."""

"""Every rule by its id: what it says, why it is so, a command that shows it, and where it is written."""

from __future__ import annotations

from shapecalc.core.record import Record


class Rule(Record):
    """One rule, for people: `shapecalc why ID` prints it."""

    id: str
    says: str
    """The rule in one line."""
    explanation: str
    example: str
    """A command line in which the rule acts."""
    source: str


_STEPS = (
    Rule(
        "copy-zero",
        "0 copies the dim at the same index of the tensor being reshaped",
        "Dims are counted from the left, also when the rank changes: people often expect the dim that lines up at the "
        "right. In a Shuffle the tensor being reshaped is the one after the first transpose.",
        "shapecalc reshape 2,2,3,2 -1,0,0",
        "ONNX Reshape: 'the actual dimension value is unchanged (i.e. taken from the input tensor)'",
    ),
    Rule(
        "literal-zero",
        "0 is a dim of size zero",
        "With the dialect's switch set, or in NumPy and PyTorch always, 0 asks for an empty dim. The output then holds "
        "no elements, so the input must hold none either.",
        "shapecalc reshape 0,3,4 3,4,0 --allowzero",
        "ONNX Reshape 14: 'allowzero=1 indicates that ... the zero value is honored, similar to NumPy'",
    ),
    Rule(
        "given",
        "a number or a name in the requested shape is taken as it is",
        "Every value but 0 and -1 stands for itself. Whether all of them fit is known once the counts are compared.",
        "shapecalc reshape 2,3,4 4,6",
        "ONNX Reshape: 'second input is a shape tensor which specifies the output shape'",
    ),
    Rule(
        "infer",
        "-1 is the elements there are, divided by the product of the known dims",
        "Whatever makes the element count come out right. At most one dim can be inferred, and the division must leave "
        "nothing over.",
        "shapecalc reshape 2,3,4 0,-1",
        "ONNX Reshape: 'the value is inferred from the size of the tensor and the remaining dimensions'",
    ),
    Rule(
        "infer-empty",
        "-1 beside a dim of zero, in the runtimes that have an answer",
        "The products of both sides are zero and say nothing. OpenVINO leaves the dims that 0 copies out of both "
        "sides, and takes 0/0 as 1; ONNX Runtime leaves all zeros out of both sides. Everyone else refuses.",
        "shapecalc reshape 0,3,4 0,-1 --dialect openvino --special-zero",
        "measured: OpenVINO 2026.4.1, ONNX Runtime 1.31.1",
    ),
    Rule(
        "regroup",
        "the elements keep their order; only the cuts between dims move",
        "Axes correspond where the running products of both shapes agree. There they stay, merge or split cleanly; "
        "between two such places they mix. Reshape never swaps axes: that is transpose.",
        "shapecalc reshape 2,3,4 6,2,2",
        "ONNX Reshape: 'required to have the same number of elements'",
    ),
    Rule(
        "permute",
        "output dim i is input dim perm[i]",
        "The permutation names where each output dim comes from, not where it goes. A permutation that is its own "
        "inverse hides the difference; 1,2,0 shows it.",
        "shapecalc transpose 2,3,4 1,2,0",
        "ONNX Transpose: 'when perm=(1, 0, 2), given an input tensor of shape (1, 2, 3), the output shape will be (2, "
        "1, 3)'",
    ),
    Rule(
        "move-axes",
        "a transpose moves axes, and the elements with them",
        "Without a permutation the dims reverse; in TensorRT's Shuffle they stay; oneDNN requires one.",
        "shapecalc transpose 2,3,4",
        "ONNX Transpose: 'by default, reverse the dimensions'",
    ),
    Rule(
        "merge",
        "a flattened dim is the product of the dims it merges",
        "ONNX always gives two dims, PyTorch merges a range into one, NumPy merges everything.",
        "shapecalc flatten 2,3,4 --axis 2",
        "ONNX Flatten, torch.flatten, ndarray.flatten",
    ),
    Rule(
        "clamp",
        "start and end count from the back when negative, and are then clamped to [0, rank]",
        "Older texts of ONNX Shape clamp to [0, rank - 1]; that is an erratum, corrected later: start=3 of a shape of "
        "rank 3 gives an empty vector.",
        "shapecalc shape 2,3,4 --start 3 --end 9",
        "ONNX Shape 15 and later",
    ),
    Rule(
        "read-dim",
        "an element of the result is the size of a dim",
        "Shape returns the dims themselves: the shape becomes data.",
        "shapecalc shape 2,3,4",
        "ONNX Shape: 'outputs an 1D int64 tensor containing the shape of the input tensor'",
    ),
    Rule(
        "slice",
        "the dims from start up to, but not including, end",
        "A start after the end gives an empty vector.",
        "shapecalc shape 2,3,4 --start 1",
        "ONNX Shape: 'the end axis, if specified, is exclusive'",
    ),
    Rule(
        "drop-one",
        "a dim of 1 goes",
        "Squeeze removes dims that hold a single position: those that are named, or all of them.",
        "shapecalc squeeze 1,3,1 --axes 0",
        "ONNX Squeeze",
    ),
    Rule(
        "keep-dim",
        "a dim stays as it is",
        "PyTorch and OpenVINO leave a dim alone that is named for squeeze and is not 1. In Tensor.expand, -1 keeps a "
        "dim.",
        "shapecalc squeeze 1,3,1 --axes 1 --dialect torch",
        "torch.squeeze, Tensor.expand, OpenVINO Squeeze",
    ),
    Rule(
        "insert-one",
        "a new dim of 1",
        "The axes of unsqueeze say where the new dims stand in the output, not in the input.",
        "shapecalc unsqueeze 2,3 --axes 0,3",
        "ONNX Unsqueeze",
    ),
    Rule(
        "stretch",
        "a dim of 1 is repeated; any other must be what is asked for",
        "Shapes are aligned at the right. In ONNX the target's dims of 1 give way too.",
        "shapecalc expand 3,1 3,4",
        "ONNX Expand, numpy.broadcast_to, Tensor.expand",
    ),
    Rule(
        "new-dim",
        "a dim in front of the input's",
        "A longer target adds dims on the left; each repeats everything that follows.",
        "shapecalc expand 3 2,3",
        "ONNX Expand: 'the broadcast rule is similar to numpy.array(input) * numpy.ones(shape)'",
    ),
    Rule(
        "broadcast",
        "the tensor is read as if it had the larger shape",
        "No element is made up: those along a dim of 1 are read again and again.",
        "shapecalc expand 8,1,1 1,2",
        "ONNX Expand",
    ),
    Rule(
        "written-fraction",
        "a written fraction carries its own divisibility",
        "A dim such as C*H*W/64 is a size, so 64 must divide C*H*W whatever else is asked.",
        "shapecalc reshape N,C/2 -1",
        "arithmetic",
    ),
)

_REFUSALS = (
    Rule(
        "indivisible",
        "-1 would be no whole number",
        "The product of the known dims must divide the number of elements.",
        "shapecalc reshape 2,3,4 5,-1",
        "ONNX Reshape: 'required to have the same number of elements'",
    ),
    Rule(
        "volume-mismatch",
        "the requested shape does not hold as many elements as the input",
        "Reshape neither makes nor drops elements. A comment in the ONNX documents that (0,3,4) reshaped to (3,4,0) "
        "gives (3,4,4) without allowzero describes an impossible result: 0 elements cannot fill 48 places.",
        "shapecalc reshape 0,3,4 3,4,0",
        "ONNX Reshape: 'required to have the same number of elements'",
    ),
    Rule(
        "zero-out-of-range",
        "0 copies a dim that the input does not have",
        "A 0 at index i copies input dim i, so it cannot stand at or past the input's rank.",
        "shapecalc reshape 6 6,0",
        "ONNX Reshape shape inference: 'invalid position of 0'",
    ),
    Rule(
        "zero-beside-infer",
        "a literal 0 and -1 in one requested shape",
        "With a dim of size zero the product is 0 whatever -1 is.",
        "shapecalc reshape 0,3,4 0,-1 --allowzero",
        "ONNX Reshape 14: 'it is invalid for the specified shape to contain both a zero value and -1'",
    ),
    Rule(
        "zero-volume-infer",
        "-1 beside known dims that hold no elements",
        "The elements must be divided by the product of the known dims, and that is 0. Some runtimes have an answer "
        "all the same: see `shapecalc compare 0,3,4 0,-1`.",
        "shapecalc reshape 0,3,4 0,-1",
        "TensorRT Shuffle: 'the solution for -1 becomes indeterminate and TensorRT will report an error'",
    ),
    Rule(
        "two-infers",
        "more than one dim to infer",
        "Two unknowns have no single answer.",
        "shapecalc reshape 2,3,4 -1,-1",
        "ONNX Reshape: 'at most one dimension of the new shape can be -1'",
    ),
    Rule(
        "below-minus-one",
        "a value below -1 in a requested shape",
        "Only -1 has a meaning. NumPy alone takes any negative as -1.",
        "shapecalc reshape 2,3,4 -2,4",
        "oneDNN StaticReshape: 'values >= -1'",
    ),
    Rule(
        "infer-limit",
        "the inferred dim is larger than the dialect infers",
        "TensorRT's inferred dim must fit 32 bits.",
        "shapecalc reshape 65536,65536 -1 --dialect tensorrt",
        "TensorRT, run",
    ),
    Rule(
        "overflow",
        "more elements than int64 counts",
        "Dims and element counts are 64-bit in every framework.",
        "shapecalc reshape 4294967296,4294967296 -1",
        "ONNX Reshape shape inference: 'dimension product overflow'",
    ),
    Rule(
        "rank-limit",
        "more dims than the dialect takes",
        "TensorRT takes 8, oneDNN 12, NumPy 64.",
        "shapecalc reshape 1,1,1,1,1,1,1,1,1 1 --dialect tensorrt",
        "TensorRT Dims, oneDNN DNNL_MAX_NDIMS, NumPy NPY_MAXDIMS",
    ),
    Rule(
        "not-a-permutation",
        "a permutation names every axis exactly once",
        "One axis too few, too many, out of range or twice, and elements would be lost or made up.",
        "shapecalc transpose 2,3,4 1,0,1",
        "ONNX Transpose",
    ),
    Rule(
        "negative-axis",
        "the dialect counts these axes from 0",
        "ONNX takes negative axes for flatten, squeeze and unsqueeze since opset 11, and never in a permutation; "
        "TensorRT and OpenVINO neither. oneDNN, NumPy and PyTorch do.",
        "shapecalc transpose 2,3,4 -1,0,1",
        "ONNX Transpose, ONNX Squeeze 11",
    ),
    Rule(
        "axis-out-of-range",
        "there is no such axis",
        "Axes run from 0 to rank - 1, or from -rank where negatives are taken. The axes of unsqueeze count the "
        "output's dims.",
        "shapecalc squeeze 1,3 --axes 2",
        "ONNX Squeeze, ONNX Unsqueeze, ONNX Flatten",
    ),
    Rule(
        "repeated-axis",
        "an axis is named twice",
        "OpenVINO and ONNX Runtime count a repeated squeeze axis once; everyone else refuses it.",
        "shapecalc squeeze 1,3,1 --axes 0,-3",
        "numpy.squeeze, ONNX Unsqueeze",
    ),
    Rule(
        "axis-not-one",
        "only a dim of 1 can be squeezed",
        "PyTorch and OpenVINO leave other dims alone instead.",
        "shapecalc squeeze 1,3 --axes 1",
        "ONNX Squeeze: 'if an axis is selected with shape entry not equal to one, an error is raised'",
    ),
    Rule(
        "start-after-end",
        "the first dim to merge comes after the last",
        "PyTorch's flatten merges from start_dim to end_dim, both included.",
        "shapecalc flatten 2,3,4 --start-dim 2 --end-dim 1 --dialect torch",
        "torch.flatten: 'start_dim cannot come after end_dim'",
    ),
    Rule(
        "not-broadcastable",
        "a dim that is not 1 cannot become another",
        "Aligned at the right, each pair of dims must be equal or have a 1 on a side that may grow.",
        "shapecalc expand 3 2",
        "ONNX Expand, numpy.broadcast_to",
    ),
    Rule(
        "negative-size",
        "a negative size to expand to",
        "Only PyTorch gives -1 a meaning in expand: it keeps a dim that exists.",
        "shapecalc expand 3,1 -1,4",
        "ONNX Expand, numpy.broadcast_to, Tensor.expand",
    ),
    Rule(
        "needs-size",
        "the answer depends on whether a named size is 1",
        "Expanding N to M repeats where N is 1 and does nothing where N is M. Put sizes in with --where.",
        "shapecalc expand N,4 8,4",
        "ONNX Expand",
    ),
    Rule(
        "missing-switch",
        "the framework requires its switch to be given",
        "special_zero says whether 0 copies a dim or is a dim of size zero. oneDNN and OpenVINO give it no default.",
        "shapecalc reshape 3,4,5 0,-1 --dialect onednn",
        "oneDNN StaticReshape: 'required: yes'",
    ),
    Rule(
        "missing-argument",
        "an argument that the operator requires was left out",
        "Unsqueeze cannot guess where the new dims go, and oneDNN's StaticTranspose has no default order.",
        "shapecalc unsqueeze 2,3",
        "ONNX Unsqueeze, oneDNN StaticTranspose",
    ),
    Rule(
        "no-such-attribute",
        "the operator's version does not have that attribute",
        "allowzero came with Reshape 14, start and end with Shape 15. The model's opset selects the version: the "
        "newest at or below it.",
        "shapecalc reshape 2,3,4 0,-1 --allowzero --opset 13",
        "ONNX Reshape 14, ONNX Shape 15",
    ),
    Rule(
        "no-such-version",
        "the operator does not exist in that opset yet",
        "Expand came with opset 8.",
        "shapecalc expand 3,1 3,4 --opset 7",
        "ONNX Expand 8",
    ),
    Rule(
        "dtype",
        "the operator's version does not accept that element type",
        "Reshape 1 takes floating point only, 13 adds bfloat16, 19 the 8-bit floats, 21 int4, 23 float4e2m1, 24 "
        "float8e8m0, 25 int2.",
        "shapecalc reshape 2,3,4 0,-1 --dtype bfloat16 --opset 5",
        "ONNX Reshape, type constraints",
    ),
    Rule(
        "contradiction",
        "no sizes meet all conditions at once",
        "Each condition can be met alone, but not together with the others.",
        "shapecalc chain 'N,3 | squeeze | reshape 1,3'",
        "arithmetic",
    ),
    Rule(
        "file",
        "a file or a device cannot be used",
        "A file that does not exist, is no array, holds pickled objects or is cut short; an output that exists and is "
        "not to be written over, or is the input itself; a backend that is not installed.",
        "shapecalc reshape missing.npy -1",
        "shapecalc",
    ),
    Rule(
        "usage",
        "the question cannot be read",
        "A shape that is no shape, an option that does not exist, a dialect that does not have the operation.",
        "shapecalc reshape 2,,4 -1",
        "shapecalc",
    ),
)

STEP_RULES = {rule.id: rule for rule in _STEPS}
"""The rules that settle something."""
REFUSALS = {rule.id: rule for rule in _REFUSALS}
"""The rules that refuse."""
RULES = STEP_RULES | REFUSALS

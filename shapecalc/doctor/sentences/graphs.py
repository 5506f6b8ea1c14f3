"""Sentences of frameworks that build graphs: TensorFlow, Keras, PaddlePaddle, MXNet, Theano, Caffe, Core ML's tools."""

from __future__ import annotations

from shapecalc.doctor.sentence import Sentence

TF = "TensorFlow 1.4 to 2.21, provoked"
KERAS = "Keras 3, provoked"
OLD_KERAS = "Keras 2"
PADDLE = "PaddlePaddle 3.3, provoked"
OLD_PADDLE = "PaddlePaddle 2"
MXNET = "MXNet 1.9.1, provoked"
OLD_MXNET = "MXNet before 1.5"
THEANO = "Theano 1.0.5, provoked"
CAFFE = "Caffe, reshape_layer.cpp"
COREML = "coremltools, provoked"

SHAPES = "with input shapes: {input}"
PARTIAL = f"{SHAPES}, {{list}} and with input tensors computed as partial shapes: input[1] = {{target}}"

GRAPHS = (
    Sentence(
        "input to reshape is a tensor with {elements} values, but the requested shape has {target_elements}",
        *("tensorflow", "reshape", "counts", TF),
    ),
    Sentence(
        "input to reshape is a tensor with {elements} values, but the requested shape requires a multiple of {known}",
        *("tensorflow", "reshape", "indivisible", TF),
    ),
    Sentence("only one input size may be -1, not both", "tensorflow", "reshape", "two-infer", TF),
    Sentence("size {axis} must be non-negative, not {number}", "tensorflow", None, "bad-value", TF),
    Sentence(
        "reshape cannot infer the missing input size for an empty tensor",
        *("tensorflow", "reshape", "infer-with-empty", TF),
    ),
    Sentence(
        f"cannot reshape a tensor with {{number}} elements to shape {{list}} {{words}} {PARTIAL}",
        *("tensorflow", "reshape", "counts", TF),
    ),
    Sentence(
        f"cannot reshape a tensor with {{number}} elements to shape {{target}} {{words}} {SHAPES}",
        *("tensorflow", "reshape", "counts", TF),
    ),
    Sentence(
        "cannot reshape a tensor with {elements} elements to shape {target}", "tensorflow", "reshape", "counts", TF
    ),
    Sentence(
        f"dimension size must be evenly divisible by {{number}} but is {{number}} for {{words}} {PARTIAL}",
        *("tensorflow", None, "indivisible", TF),
    ),
    Sentence(
        f"dimension size must be evenly divisible by {{number}} but is {{number}} for {{words}} {SHAPES}",
        *("tensorflow", None, "indivisible", TF),
    ),
    Sentence(
        "dimension size must be evenly divisible by {known} but is {elements}", "tensorflow", None, "indivisible", TF
    ),
    Sentence(
        f"dimension must be {{number}} but is {{number}} for {{words}} (op: 'transpose') {SHAPES}",
        *("tensorflow", "transpose", "bad-perm", TF),
    ),
    Sentence(
        f"dimension must be {{number}} but is {{number}} for {{words}} = transpose[{{words}} {SHAPES}",
        *("tensorflow", "transpose", "bad-perm", TF),
    ),
    Sentence("transpose expects a vector of size {rank}. but input(1)", "tensorflow", "transpose", "bad-perm", TF),
    Sentence(" is missing from {perm}", "tensorflow", "transpose", "bad-perm", TF),
    Sentence(" is out of range [0 .. {rank})", "tensorflow", "transpose", "bad-perm", TF),
    Sentence(
        f"is out of range of input rank {{rank}} for {{words}} {SHAPES}, {{list}} "
        "and with computed input tensors: input[1] = {perm}",
        *("tensorflow", "transpose", "bad-perm", TF),
    ),
    Sentence(
        f"can not squeeze dim[{{axis}}], expected a dimension of 1, got {{number}} for {{words}} {SHAPES}",
        *("tensorflow", "squeeze", "not-one", TF),
    ),
    Sentence("can not squeeze dim[{axis}], expected a dimension of 1", "tensorflow", "squeeze", "not-one", TF),
    Sentence("tried to squeeze dim index {axis} for tensor", "tensorflow", "squeeze", "bad-axis", TF),
    Sentence(
        f"squeeze_dims[{{number}}] not in {{words}} squeeze_dims={{axes}}{{words}} {SHAPES}",
        *("tensorflow", "squeeze", "bad-axis", TF),
    ),
    Sentence("tried to expand dim index {axis} for tensor", "tensorflow", "unsqueeze", "bad-axis", TF),
    Sentence(f"dim {{axis}} not in the interval {{words}} {SHAPES}", "tensorflow", "unsqueeze", "bad-axis", TF),
    Sentence(
        "incompatible shapes: {input} vs. {target} [op:broadcastto]", "tensorflow", "expand", "not-broadcastable", TF
    ),
    Sentence(
        f"dimensions must be equal, but are {{words}} = broadcastto[{{words}} {PARTIAL}",
        *("tensorflow", "expand", "not-broadcastable", TF),
    ),
    Sentence("must be no greater than rank of output shape", "tensorflow", "expand", "rank-mismatch", TF),
    Sentence("expected multiples argument to be a vector of length", "tensorflow", "tile", "rank-mismatch", TF),
    Sentence("input depth dimension {number} should be divisible", "tensorflow", "depth_to_space", "indivisible", TF),
    Sentence(
        "image width {words} should be divisible by block_size", "tensorflow", "space_to_depth", "indivisible", TF
    ),
    Sentence("number of ways to split should evenly divide", "tensorflow", "split", "indivisible", TF),
    Sentence(
        "in target_shape. received: input_shape={input}, target_shape={target}",
        "keras",
        "reshape",
        "indivisible",
        KERAS,
    ),
    Sentence(
        "size of the tensor must be unchanged. received: input_shape={input}, target_shape={target}",
        *("keras", "reshape", "counts", KERAS),
    ),
    Sentence(
        "total size of new array must be unchanged, input_shape = {input}, output_shape = {target}",
        *("keras", "reshape", "counts", OLD_KERAS),
    ),
    Sentence("there must be at most one unknown dimension", "keras", "reshape", "two-infer", KERAS),
    Sentence(
        "for permute layer. the set of indices in `dims` must be consecutive and start from 1. received dims={perm}",
        *("keras", "transpose", "bad-perm", KERAS),
    ),
    Sentence("for permute layer. the set of indices", "keras", "transpose", "bad-perm", OLD_KERAS),
    Sentence(
        "layer 'permute{words}' is incompatible with the layer: expected", "keras", "transpose", "bad-perm", KERAS
    ),
    Sentence("cannot squeeze axis={axis}, because the dimension is not 1", "keras", "squeeze", "not-one", KERAS),
    Sentence("cannot squeeze axis {axis}, because the dimension is not 1", "keras", "squeeze", "not-one", KERAS),
    Sentence(
        "in reshapeop is invalid. {words} x's shape = {input}, x's size = {number}, 'shape' is {target}",
        *("paddle", "reshape", "counts", PADDLE),
    ),
    Sentence("[operator < {words} > error]", "paddle", None, "unspecified", OLD_PADDLE),
    Sentence("the 'shape' in reshapeop is invalid", "paddle", "reshape", "unspecified", OLD_PADDLE),
    Sentence(
        "only one dimension value of 'shape' in reshapeop can be -1. but received shape = {target}",
        *("paddle", "reshape", "two-infer", PADDLE),
    ),
    Sentence("in reshapeop can be -1", "paddle", "reshape", "two-infer", OLD_PADDLE),
    Sentence(
        "in reshapeop must not be negative except one unknown dimension. but received shape = {target}",
        *("paddle", "reshape", "bad-value", PADDLE),
    ),
    Sentence("the index of 0 in `shape` >= the input tensor x's", "paddle", "reshape", "zero-out-of-range", PADDLE),
    Sentence(
        "the index of dimension to copy from input x must be less {words} x's shape = {input}",
        *("paddle", "reshape", "zero-out-of-range", OLD_PADDLE),
    ),
    Sentence(
        "enforce output_shape[unk_dim_idx] * capacity == -in_size failed",
        "paddle",
        "reshape",
        "indivisible",
        OLD_PADDLE,
    ),
    Sentence("only one input dimension of attr(shape) can be", "paddle", "reshape", "two-infer", OLD_PADDLE),
    Sentence("should be equal to or greater than the axis's size", "paddle", "transpose", "bad-perm", OLD_PADDLE),
    Sentence("each element of axis should be unique", "paddle", "transpose", "bad-perm", PADDLE),
    Sentence("each element of attribute axis should be a unique", "paddle", "transpose", "bad-perm", OLD_PADDLE),
    Sentence(
        "the input tensor's dimension should be equal to the axis's", "paddle", "transpose", "bad-perm", OLD_PADDLE
    ),
    Sentence("but received dim index = {axis}", "paddle", None, "bad-axis", PADDLE),
    Sentence(
        "each axis in attr(axes) should be in the range of {words}but current axis is:{axis}, "
        "input tensor's shape = {input}",
        *("paddle", "squeeze", "bad-axis", PADDLE),
    ),
    Sentence("the insert dimension value should not be larger", "paddle", "unsqueeze", "bad-axis", PADDLE),
    Sentence("of the non-singleton dimension does not match the", "paddle", "expand", "not-broadcastable", PADDLE),
    Sentence("of 'shape' for expand_v2 op must be greater than", "paddle", "expand", "rank-mismatch", PADDLE),
    Sentence("the square of upscale_factor[{number}] should divide", "paddle", "depth_to_space", "indivisible", PADDLE),
    Sentence("the stop_axis should be larger than", "paddle", "flatten", "bad-axis", PADDLE),
    Sentence("shape_.size() >= shape.size() ({elements} vs. {target_elements})", "mxnet", "reshape", "counts", MXNET),
    Sentence(
        "shape_.size() == shape.size() ({elements} vs. {target_elements})", "mxnet", "reshape", "counts", OLD_MXNET
    ),
    Sentence("ndarray.reshape: target shape must have the same size", "mxnet", "reshape", "count-mismatch", OLD_MXNET),
    Sentence("target shape size is larger than the current shape", "mxnet", "reshape", "count-mismatch", MXNET),
    Sentence(
        "oshape.size() == dshape.size() ({number} vs. {number}) : target shape size is different to source. "
        "target: {target} source: {input}",
        *("mxnet", "reshape", "counts", MXNET),
    ),
    Sentence(
        "target shape size is different to source. target: {target} source: {input}",
        *("mxnet", "reshape", "counts", OLD_MXNET),
    ),
    Sentence("target shape size is different to source", "mxnet", "reshape", "count-mismatch", OLD_MXNET),
    Sentence("one and only one dim can be inferred", "mxnet", "reshape", "two-infer", MXNET),
    Sentence("shape dim size must be >= -1, while received", "mxnet", "reshape", "bad-value", MXNET),
    Sentence("check failed: src_idx < dshape_len (", "mxnet", "reshape", "zero-out-of-range", MXNET),
    Sentence("split dims {words} do not divide original dim", "mxnet", "reshape", "indivisible", MXNET),
    Sentence("== param.axes.ndim() ({words} vs. ", "mxnet", "transpose", "bad-perm", MXNET),
    Sentence(
        "the number of axes does not match the dimension of the tensor. axes = {perm}, input tensor shape = {input}",
        *("mxnet", "transpose", "bad-perm", MXNET),
    ),
    Sentence("param.axes[i] < static_cast<int64_t>(shp.ndim())", "mxnet", "transpose", "bad-perm", MXNET),
    Sentence("cannot select an axis to squeeze out which has size=", "mxnet", "squeeze", "not-one", MXNET),
    Sentence("axis must be in the range {list} ({axis} provided)", "mxnet", "unsqueeze", "bad-axis", MXNET),
    Sentence(
        "operand of shape {input} cannot be broadcasted to {target}", "mxnet", "expand", "not-broadcastable", MXNET
    ),
    Sentence("cannot perform depth to space operation on the", "mxnet", "depth_to_space", "indivisible", MXNET),
    Sentence("cannot perform space to depth operation on the", "mxnet", "space_to_depth", "indivisible", MXNET),
    Sentence("cannot reshape input of shape {input} to shape {target}", "theano", "reshape", "counts", THEANO),
    Sentence("you cannot drop a non-broadcastable dimension", "theano", "transpose", "bad-perm", THEANO),
    Sentence(
        "top[0]->count() == bottom[0]->count() ({target_elements} vs. {elements})", "caffe", "reshape", "counts", CAFFE
    ),
    Sentence(
        "bottom[0]->count() == top[0]->count() ({elements} vs. {target_elements})", "caffe", "reshape", "counts", CAFFE
    ),
    Sentence(
        "({target_elements} vs. {elements}) output count must match input count", "caffe", "reshape", "counts", CAFFE
    ),
    Sentence("output count must match input count", "caffe", "reshape", "count-mismatch", CAFFE),
    Sentence(
        "bottom count ({elements}) must be divisible by the product of the specified dimensions ({known})",
        *("caffe", "reshape", "indivisible", CAFFE),
    ),
    Sentence("bottom count must be divisible by the product", "caffe", "reshape", "indivisible", CAFFE),
    Sentence("new shape must have the same count as input", "caffe", "reshape", "count-mismatch", CAFFE),
    Sentence("invalid target shape in `reshape` op ({input} to {target})", "coreml", "reshape", "counts", COREML),
    Sentence(
        "invalid bottom shape {input} for reshape to {target}", "coreml", "reshape", "counts", "Core ML, Espresso"
    ),
    Sentence("reshape op supports only one dimension to be -1", "coreml", "reshape", "two-infer", COREML),
    Sentence("when there is 0 in shape, the rank of x ({rank})", "coreml", "reshape", "zero-out-of-range", COREML),
    Sentence("perm should have the same length as rank(x)", "coreml", "transpose", "bad-perm", COREML),
    Sentence("length of the reps ({words}) must be at least 1", "coreml", "tile", "rank-mismatch", COREML),
    Sentence("invalid axis {axis} in squeeze", "coreml", "squeeze", "bad-axis", COREML),
    Sentence(
        "axis value {axis} is out of bounds for expand_dims node {words} of shape {input}",
        *("coreml", "unsqueeze", "bad-axis", COREML),
    ),
)

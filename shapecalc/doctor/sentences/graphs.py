"""Sentences of frameworks that build graphs: TensorFlow, Keras, PaddlePaddle, MXNet, Theano, Caffe, Core ML's tools."""

from __future__ import annotations

from shapecalc.doctor.sentence import said_by

GRAPHS = (
    *said_by(
        "tensorflow",
        "TensorFlow 1.4 to 2.21, provoked",
        {
            "reshape": {
                "counts": (
                    "input to reshape is a tensor with {elements} values, "
                    "but the requested shape has {target_elements}",
                    "cannot reshape a tensor with {number} elements to shape {list} {words} with input shapes: "
                    "{input}, {list} and with input tensors computed as partial shapes: input[1] = {target}",
                    "cannot reshape a tensor with {number} elements to shape {target} "
                    "{words} with input shapes: {input}",
                    "cannot reshape a tensor with {elements} elements to shape {target}",
                ),
                "indivisible": (
                    "input to reshape is a tensor with {elements} values, but the requested shape requires a "
                    "multiple of {known}",
                ),
                "two-infer": ("only one input size may be -1, not both",),
                "infer-with-empty": ("reshape cannot infer the missing input size for an empty tensor",),
            },
            None: {
                "bad-value": ("size {axis} must be non-negative, not {number}",),
                "indivisible": (
                    "dimension size must be evenly divisible by {number} but is {number} for {words} with input "
                    "shapes: {input}, {list} and with input tensors computed as partial shapes: input[1] = "
                    "{target}",
                    "dimension size must be evenly divisible by {number} but is {number} for {words} with input "
                    "shapes: {input}",
                    "dimension size must be evenly divisible by {known} but is {elements}",
                ),
            },
            "transpose": {
                "bad-perm": (
                    "dimension must be {there} but is {wanted} for {words} "
                    "(op: 'transpose') with input shapes: {input}",
                    "dimension must be {there} but is {wanted} for {words} = transpose[{words} with input "
                    "shapes: {input}",
                    "transpose expects a vector of size {rank}. but input(1)",
                    " is missing from {perm}",
                    " is out of range [0 .. {rank})",
                    "is out of range of input rank {rank} for {words} with input shapes: {input}, {list} and with"
                    " computed input tensors: input[1] = {perm}",
                ),
            },
            "squeeze": {
                "not-one": (
                    "can not squeeze dim[{axis}], expected a dimension of 1, got {number} for {words} with input "
                    "shapes: {input}",
                    "can not squeeze dim[{axis}], expected a dimension of 1",
                ),
                "bad-axis": (
                    "tried to squeeze dim index {axis} for tensor",
                    "squeeze_dims[{number}] not in {words} squeeze_dims={axes}{words} with input shapes: {input}",
                ),
            },
            "unsqueeze": {
                "bad-axis": (
                    "tried to expand dim index {axis} for tensor",
                    "dim {axis} not in the interval {words} with input shapes: {input}",
                ),
            },
            "expand": {
                "not-broadcastable": (
                    "incompatible shapes: {input} vs. {target} [op:broadcastto]",
                    "dimensions must be equal, but are {words} = broadcastto[{words} with input shapes: {input}, "
                    "{list} and with input tensors computed as partial shapes: input[1] = {target}",
                ),
                "rank-mismatch": ("must be no greater than rank of output shape",),
            },
            "tile": {
                "rank-mismatch": ("expected multiples argument to be a vector of length",),
            },
            "depth_to_space": {
                "indivisible": ("input depth dimension {number} should be divisible",),
            },
            "space_to_depth": {
                "indivisible": ("image width {words} should be divisible by block_size",),
            },
            "split": {
                "indivisible": ("number of ways to split should evenly divide",),
            },
        },
    ),
    *said_by(
        "keras",
        "Keras 3, provoked",
        {
            "reshape": {
                "indivisible": ("in target_shape. received: input_shape={input}, target_shape={target}",),
                "counts": (
                    "size of the tensor must be unchanged. received: input_shape={input}, target_shape={target}",
                ),
                "two-infer": ("there must be at most one unknown dimension",),
            },
            "transpose": {
                "bad-perm": (
                    "for permute layer. the set of indices in `dims` must be consecutive and start from 1. "
                    "received dims={perm}",
                    "layer 'permute{words}' is incompatible with the layer: expected",
                ),
            },
            "squeeze": {
                "not-one": (
                    "cannot squeeze axis={axis}, because the dimension is not 1",
                    "cannot squeeze axis {axis}, because the dimension is not 1",
                ),
            },
        },
    ),
    *said_by(
        "keras",
        "Keras 2",
        {
            "reshape": {
                "counts": (
                    "total size of new array must be unchanged, input_shape = {input}, output_shape = {target}",
                ),
            },
            "transpose": {
                "bad-perm": ("for permute layer. the set of indices",),
            },
        },
    ),
    *said_by(
        "paddle",
        "PaddlePaddle 3.3, provoked",
        {
            "reshape": {
                "counts": (
                    "in reshapeop is invalid. {words} x's shape = {input}, x's size = {number}, 'shape' is {target}",
                ),
                "two-infer": (
                    "only one dimension value of 'shape' in reshapeop can be -1. but received shape = {target}",
                ),
                "bad-value": (
                    "in reshapeop must not be negative except one unknown dimension. but received shape = {target}",
                ),
                "zero-out-of-range": ("the index of 0 in `shape` >= the input tensor x's",),
            },
            "transpose": {
                "bad-perm": ("each element of axis should be unique",),
            },
            None: {
                "bad-axis": ("but received dim index = {axis}",),
            },
            "squeeze": {
                "bad-axis": (
                    "each axis in attr(axes) should be in the range of {words}but current axis is:{axis}, input "
                    "tensor's shape = {input}",
                ),
            },
            "unsqueeze": {
                "bad-axis": ("the insert dimension value should not be larger",),
            },
            "expand": {
                "not-broadcastable": ("of the non-singleton dimension does not match the",),
                "rank-mismatch": ("of 'shape' for expand_v2 op must be greater than",),
            },
            "depth_to_space": {
                "indivisible": ("the square of upscale_factor[{number}] should divide",),
            },
            "flatten": {
                "bad-axis": ("the stop_axis should be larger than",),
            },
        },
    ),
    *said_by(
        "paddle",
        "PaddlePaddle 2",
        {
            None: {
                "unspecified": ("[operator < {words} > error]",),
            },
            "reshape": {
                "unspecified": ("the 'shape' in reshapeop is invalid",),
                "two-infer": (
                    "in reshapeop can be -1",
                    "only one input dimension of attr(shape) can be",
                ),
                "zero-out-of-range": (
                    "the index of dimension to copy from input x must be less {words} x's shape = {input}",
                ),
                "indivisible": ("enforce output_shape[unk_dim_idx] * capacity == -in_size failed",),
            },
            "transpose": {
                "bad-perm": (
                    "should be equal to or greater than the axis's size",
                    "each element of attribute axis should be a unique",
                    "the input tensor's dimension should be equal to the axis's",
                ),
            },
        },
    ),
    *said_by(
        "mxnet",
        "MXNet 1.9.1, provoked",
        {
            "reshape": {
                "counts": (
                    "shape_.size() >= shape.size() ({elements} vs. {target_elements})",
                    "oshape.size() == dshape.size() ({number} vs. {number}) : target shape size is different to "
                    "source. target: {target} source: {input}",
                ),
                "count-mismatch": ("target shape size is larger than the current shape",),
                "two-infer": ("one and only one dim can be inferred",),
                "bad-value": ("shape dim size must be >= -1, while received",),
                "zero-out-of-range": ("check failed: src_idx < dshape_len (",),
                "indivisible": ("split dims {words} do not divide original dim",),
            },
            "transpose": {
                "bad-perm": (
                    "== param.axes.ndim() ({words} vs. ",
                    "the number of axes does not match the dimension of the tensor. axes = {perm}, input tensor "
                    "shape = {input}",
                    "param.axes[i] < static_cast<int64_t>(shp.ndim())",
                ),
            },
            "squeeze": {
                "not-one": ("cannot select an axis to squeeze out which has size=",),
            },
            "unsqueeze": {
                "bad-axis": ("axis must be in the range {list} ({axis} provided)",),
            },
            "expand": {
                "not-broadcastable": ("operand of shape {input} cannot be broadcasted to {target}",),
            },
            "depth_to_space": {
                "indivisible": ("cannot perform depth to space operation on the",),
            },
            "space_to_depth": {
                "indivisible": ("cannot perform space to depth operation on the",),
            },
        },
    ),
    *said_by(
        "mxnet",
        "MXNet before 1.5",
        {
            "reshape": {
                "counts": (
                    "shape_.size() == shape.size() ({elements} vs. {target_elements})",
                    "target shape size is different to source. target: {target} source: {input}",
                ),
                "count-mismatch": (
                    "ndarray.reshape: target shape must have the same size",
                    "target shape size is different to source",
                ),
            },
        },
    ),
    *said_by(
        "theano",
        "Theano 1.0.5, provoked",
        {
            "reshape": {
                "counts": ("cannot reshape input of shape {input} to shape {target}",),
            },
            "transpose": {
                "bad-perm": ("you cannot drop a non-broadcastable dimension",),
            },
        },
    ),
    *said_by(
        "caffe",
        "Caffe, reshape_layer.cpp",
        {
            "reshape": {
                "counts": (
                    "top[0]->count() == bottom[0]->count() ({target_elements} vs. {elements})",
                    "bottom[0]->count() == top[0]->count() ({elements} vs. {target_elements})",
                    "({target_elements} vs. {elements}) output count must match input count",
                ),
                "count-mismatch": (
                    "output count must match input count",
                    "new shape must have the same count as input",
                ),
                "indivisible": (
                    "bottom count ({elements}) must be divisible by the product of the specified dimensions ({known})",
                    "bottom count must be divisible by the product",
                ),
            },
        },
    ),
    *said_by(
        "coreml",
        "coremltools, provoked",
        {
            "reshape": {
                "counts": ("invalid target shape in `reshape` op ({input} to {target})",),
                "two-infer": ("reshape op supports only one dimension to be -1",),
                "zero-out-of-range": ("when there is 0 in shape, the rank of x ({rank})",),
            },
            "transpose": {
                "bad-perm": ("perm should have the same length as rank(x)",),
            },
            "tile": {
                "rank-mismatch": ("length of the reps ({words}) must be at least 1",),
            },
            "squeeze": {
                "bad-axis": ("invalid axis {axis} in squeeze",),
            },
            "unsqueeze": {
                "bad-axis": ("axis value {axis} is out of bounds for expand_dims node {words} of shape {input}",),
            },
        },
    ),
    *said_by(
        "coreml",
        "Core ML, Espresso",
        {
            "reshape": {
                "counts": ("invalid bottom shape {input} for reshape to {target}",),
            },
        },
    ),
)

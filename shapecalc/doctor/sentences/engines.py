"""Sentences of what loads models: ONNX and its Runtime, TensorRT, oneDNN, OpenVINO, TFLite, MNN, TVM, MIGraphX."""

from __future__ import annotations

from shapecalc.doctor.sentence import Sentence

ORT = "ONNX Runtime 1.6 to 1.31, provoked"
ONNX = "ONNX 1.11 to 1.23, provoked"
TRT = "TensorRT 8 and later"
OLD_TRT = "TensorRT 7 and before"
DNNL = "oneDNN 3.13, its messages"
OV = "OpenVINO 2023 to 2026, provoked"
TFLITE = "TensorFlow Lite 2.21, provoked"
MNN = "MNN 3.6, its messages"
TVM = "TVM Relax"
OLD_TVM = "TVM Relay"
MIGRAPHX = "MIGraphX, reshape.hpp"

ENGINES = (
    Sentence(
        "cannot be reshaped to the requested shape. input shape:{input}, requested shape:{target}",
        *("onnxruntime", "reshape", "counts", ORT),
    ),
    Sentence("cannot be reshaped to the requested shape", "onnxruntime", "reshape", "unspecified", ORT),
    Sentence("the dimension with value zero exceeds the dimension", "onnxruntime", "reshape", "zero-out-of-range", ORT),
    Sentence("at most one dimension can be -1", "onnxruntime", "reshape", "two-infer", ORT),
    Sentence("a dimension cannot be less than -1", "onnxruntime", "reshape", "bad-value", ORT),
    Sentence("inconsistent dim product", "onnxruntime", "reshape", "count-mismatch", ORT),
    Sentence(
        "dimension of input {axis} must be 1 instead of {number}. shape={input}", "onnx", "squeeze", "not-one", ORT
    ),
    Sentence("dimension of input {axis} must be 1 instead of", "onnx", "squeeze", "not-one", ONNX),
    Sentence(
        "non-zero status code returned while running {words} node. name:", "onnxruntime", None, "unspecified", ORT
    ),
    Sentence("invalid expand shape", "onnxruntime", "expand", "not-broadcastable", ORT),
    Sentence("perm: {perm} does not align with rank of input data", "onnxruntime", "transpose", "bad-perm", ORT),
    Sentence("perm size: {number} does not match input rank", "onnxruntime", "transpose", "bad-perm", ORT),
    Sentence("attribute perm of transpose has an invalid value", "onnxruntime", "transpose", "bad-perm", ORT),
    Sentence("axis {axis} is not in valid range", "onnxruntime", None, "bad-axis", ORT),
    Sentence("'axes' has a duplicate axis", "onnxruntime", None, "bad-axis", ORT),
    Sentence("depthtospace requires input depth to be a multiple", "onnxruntime", "depth_to_space", "indivisible", ORT),
    Sentence("spacetodepth requires input", "onnxruntime", "space_to_depth", "indivisible", ORT),
    Sentence("dimension could not be inferred: incompatible shapes", "onnx", "reshape", "indivisible", ONNX),
    Sentence("target shape may not have multiple -1 dim", "onnx", "reshape", "two-infer", ONNX),
    Sentence("invalid position of 0", "onnx", "reshape", "zero-out-of-range", ONNX),
    Sentence("invalid dimension value: {number}", "onnx", "reshape", "bad-value", ONNX),
    Sentence("invalid target shape product of 0", "onnx", "reshape", "infer-with-empty", ONNX),
    Sentence("invalid attribute perm {perm}, input shape = {input}", "onnx", "transpose", "bad-perm", ONNX),
    Sentence("attribute perm for transpose has repeated value", "onnx", "transpose", "bad-perm", ONNX),
    Sentence("op_type:expand{words}incompatible dimensions", "onnx", "expand", "not-broadcastable", ONNX),
    Sentence("op (expand) {words} incompatible dimensions", "onnx", "expand", "not-broadcastable", ONNX),
    Sentence("unexpected axis value: {axis}. expected range", "onnx", None, "bad-axis", ONNX),
    Sentence("axis must be in [-rank, rank-1]", "onnx", None, "bad-axis", ONNX),
    Sentence("invalid value({axis}) for attribute 'axis'", "onnx", None, "bad-axis", ONNX),
    Sentence("are beyond the bounds of the computed output shape", "onnx", "unsqueeze", "bad-axis", ONNX),
    Sentence("'axes' attribute must not contain any duplicates", "onnx", None, "bad-axis", ONNX),
    Sentence("axis {axis} is referred to more than once", "onnx", None, "bad-axis", ONNX),
    Sentence("reshape changes volume. reshaping {input} to {target}", "tensorrt", "shuffle", "counts", TRT),
    Sentence("reshape changes volume", "tensorrt", "shuffle", "count-mismatch", OLD_TRT),
    Sentence("no integer solution. reshaping {input} to {target}", "tensorrt", "shuffle", "indivisible", TRT),
    Sentence(
        "of solutions or no solution. reshaping {input} to {target}", "tensorrt", "shuffle", "infer-with-empty", TRT
    ),
    Sentence(". reshaping {input} to {target}", "tensorrt", "shuffle", "asked", TRT),
    Sentence("has no integer solution", "tensorrt", "shuffle", "indivisible", OLD_TRT),
    Sentence("uninferred dimensions are not an exact divisor", "tensorrt", "shuffle", "indivisible", OLD_TRT),
    Sentence(
        "reshape would change volume {number} to {number} instruction: reshape_zero_is_placeholder{input} {target}",
        *("tensorrt", "shuffle", "counts", TRT),
    ),
    Sentence(
        "reshape would change volume {number} to {number} instruction: reshape{input} {target}",
        *("tensorrt", "shuffle", "counts", TRT),
    ),
    Sentence("instruction: reshape_zero_is_placeholder{input} {target}", "tensorrt", "shuffle", "asked", TRT),
    Sentence("reshape would change volume {elements} to {target_elements}", "tensorrt", "shuffle", "counts", TRT),
    Sentence(
        "reshaping failed for tensor{words}input dims{input} reshape dims{target}", "tensorrt", "shuffle", "asked", TRT
    ),
    Sentence("reshaping failed for tensor", "tensorrt", "shuffle", "unspecified", TRT),
    Sentence("first transpose is not valid", "tensorrt", "shuffle", "bad-perm", OLD_TRT),
    Sentence("second transpose is not valid", "tensorrt", "shuffle", "bad-perm", OLD_TRT),
    Sentence("transpose permutation is not valid", "tensorrt", "shuffle", "bad-perm", OLD_TRT),
    Sentence(
        "must have 0 or 1 reshape dimensions: dimensions were {target}", "tensorrt", "shuffle", "engine-limit", TRT
    ),
    Sentence("must have 0 or 1 reshape dimensions", "tensorrt", "shuffle", "engine-limit", TRT),
    Sentence("cannot infer squeeze dimensions from a dynamic shape", "tensorrt", "squeeze", "engine-limit", TRT),
    Sentence("in function import{words}:", "tensorrt", None, "unspecified", "onnx-tensorrt"),
    Sentence("at most one wildcard", "tensorrt", "shuffle", "two-infer", OLD_TRT),
    Sentence("more than one wildcard", "tensorrt", "shuffle", "two-infer", OLD_TRT),
    Sentence(
        "size of input should be same as output. input size: {elements}, output size: {target_elements}",
        *("onednn", "reshape", "counts", DNNL),
    ),
    Sentence(
        "should be equal to the input size. input size: {elements}, output size: {known}",
        *("onednn", "reshape", "indivisible", DNNL),
    ),
    Sentence("is not allowed to be 0 for uncertain dims", "onednn", "reshape", "infer-with-empty", DNNL),
    Sentence("output dims should be larger than or equal to -1", "onednn", "reshape", "bad-value", DNNL),
    Sentence("should be smaller than input size for special zero", "onednn", "reshape", "zero-out-of-range", DNNL),
    Sentence("order axis should be in appropriate range. axis: {axis}", "onednn", "transpose", "bad-perm", DNNL),
    Sentence("permutation size ({words} must match input rank", "onednn", "transpose", "bad-perm", DNNL),
    Sentence("run pass lower_down failed", "onednn", None, "unspecified", DNNL),
    Sentence("requested output shape {target} is incompatible with input shape", "openvino", "reshape", "counts", OV),
    Sentence("output dimensions do not evenly divide the input", "openvino", "reshape", "indivisible", OV),
    Sentence("more than one dimension has size of -1", "openvino", "reshape", "two-infer", OV),
    Sentence("output pattern dim[{number}] has invalid bounds", "openvino", "reshape", "bad-value", OV),
    Sentence("dim size cannot be less than -1", "openvino", "reshape", "bad-value", OV),
    Sentence("'0' dimension is out of range", "openvino", "reshape", "zero-out-of-range", OV),
    Sentence("cannot infer '-1' dimension with zero-size", "openvino", "reshape", "infer-with-empty", OV),
    Sentence(
        "the shape of input data {input} conflicts with the reshape pattern {target}",
        *("openvino", "reshape", "counts", OV),
    ),
    Sentence(
        "number of elements in input {input} and output {target} of reshape node",
        *("openvino", "reshape", "counts", "OpenVINO's Model Optimizer"),
    ),
    Sentence("input order must have shape [n], where n is the rank", "openvino", "transpose", "bad-perm", OV),
    Sentence("permutation {perm} is not valid for input shape {input}", "openvino", "transpose", "bad-perm", OV),
    Sentence("only axes of size 1 may be removed", "openvino", "squeeze", "not-one", OV),
    Sentence("axis {axis} out of the tensor rank range", "openvino", None, "bad-axis", OV),
    Sentence("cannot be broadcasted (numpy mode) to", "openvino", "expand", "not-broadcastable", OV),
    Sentence("broadcast incorrect target shape. expecting", "openvino", "expand", "not-broadcastable", OV),
    Sentence("broadcast target_shape has smaller rank", "openvino", "expand", "rank-mismatch", OV),
    Sentence("must be evenly divisible by 'num_splits'", "openvino", "split", "indivisible", OV),
    Sentence("while validating node '{words}' with friendly_name", "openvino", None, "unspecified", OV),
    Sentence("must be a multiple of divisor", "openvino", None, "indivisible", OV),
    Sentence(
        "num_input_elements != num_output_elements ({elements} != {target_elements})",
        *("tflite", "reshape", "counts", TFLITE),
    ),
    Sentence("stretch_dim != -1", "tflite", "reshape", "two-infer", TFLITE),
    Sentence("node number {number} ({words}) failed to ", "tflite", None, "unspecified", TFLITE),
    Sentence("num_input_elements != num_output_elements", "tflite", "reshape", "count-mismatch", TFLITE),
    Sentence("op_context->perm->dims->data[0] != dims", "tflite", "transpose", "bad-perm", TFLITE),
    Sentence("transpose op only supports {words} input arrays", "tflite", "transpose", "engine-limit", TFLITE),
    Sentence("transpose op permutations array is out of bounds", "tflite", "transpose", "bad-perm", TFLITE),
    Sentence("input_dims->data[current] != 1", "tflite", "squeeze", "not-one", TFLITE),
    Sentence("output shape must be broadcastable from input shape", "tflite", "expand", "not-broadcastable", TFLITE),
    Sentence("reshape error: {elements} -> {target_elements}", "mnn", "reshape", "counts", MNN),
    Sentence("cannot squeeze dim[{axis}], 1 is expected", "mnn", "squeeze", "not-one", MNN),
    Sentence(
        "however, the old shape is {input}, with product {number}, while the new shape is {target}, with product",
        *("tvm", "reshape", "counts", TVM),
    ),
    Sentence(
        "({target_elements} vs. {elements}) : input tensor shape and reshaped shape are not compatible",
        *("tvm", "reshape", "counts", OLD_TVM),
    ),
    Sentence(
        "input tensor shape{input} and reshaped shape{target} are not compatible", "tvm", "reshape", "counts", OLD_TVM
    ),
    Sentence(
        "reshaped shape are not compatible, reshape data_shape:{input}, oshape:{target}",
        *("tvm", "reshape", "counts", OLD_TVM),
    ),
    Sentence(
        "({elements} vs. {target_elements}) reshape inputs size should be compatible",
        "tvm",
        "reshape",
        "counts",
        "NNVM",
    ),
    Sentence("input tensor shape and reshaped shape are not", "tvm", "reshape", "count-mismatch", OLD_TVM),
    Sentence(
        " has {target_elements} elements whereas the input has {elements}",
        "migraphx",
        "reshape",
        "counts",
        MIGRAPHX,
    ),
    Sentence("wrong number of elements for reshape", "migraphx", "reshape", "count-mismatch", MIGRAPHX),
)

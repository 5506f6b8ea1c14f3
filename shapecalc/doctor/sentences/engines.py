"""Sentences of what loads models: ONNX and its Runtime, TensorRT, oneDNN, OpenVINO, TFLite, MNN, TVM, MIGraphX."""

from __future__ import annotations

from shapecalc.doctor.sentence import said_by

ENGINES = (
    *said_by(
        "onnxruntime",
        "ONNX Runtime 1.6 to 1.31, provoked",
        {
            "reshape": {
                "counts": (
                    "cannot be reshaped to the requested shape. input shape:{input}, requested shape:{target}",
                    "input shape:{input}, requested shape:{target}",
                ),
                "unspecified": ("cannot be reshaped to the requested shape",),
                "zero-out-of-range": ("the dimension with value zero exceeds the dimension",),
                "two-infer": ("at most one dimension can be -1",),
                "bad-value": ("a dimension cannot be less than -1",),
                "count-mismatch": ("inconsistent dim product",),
            },
            None: {
                "unspecified": ("non-zero status code returned while running {words} node. name:'{words}'",),
                "bad-axis": (
                    "axis {axis} is not in valid range",
                    "'axes' has a duplicate axis",
                ),
            },
            "expand": {
                "not-broadcastable": ("invalid expand shape",),
            },
            "tile": {
                "rank-mismatch": ("'repeat' input tensor must have the same length",),
                "bad-value": ("tile repeat value must be non-negative",),
            },
            "transpose": {
                "bad-perm": (
                    "perm: {perm} does not align with rank of input data",
                    "perm size: {number} does not match input rank",
                    "attribute perm of transpose has an invalid value",
                ),
            },
            "depth_to_space": {
                "indivisible": ("depthtospace requires input depth to be a multiple",),
            },
            "space_to_depth": {
                "indivisible": ("spacetodepth requires input",),
            },
        },
    ),
    *said_by(
        "onnx",
        "ONNX Runtime 1.6 to 1.31, provoked",
        {
            "squeeze": {
                "not-one": ("dimension of input {axis} must be 1 instead of {number}. shape={input}",),
            },
        },
    ),
    *said_by(
        "onnx",
        "ONNX 1.11 to 1.23, provoked",
        {
            "squeeze": {
                "not-one": ("dimension of input {axis} must be 1 instead of",),
            },
            "reshape": {
                "indivisible": ("dimension could not be inferred: incompatible shapes",),
                "two-infer": ("target shape may not have multiple -1 dim",),
                "zero-out-of-range": ("invalid position of 0",),
                "bad-value": ("invalid dimension value: {number}",),
                "infer-with-empty": ("invalid target shape product of 0",),
            },
            "transpose": {
                "bad-perm": (
                    "invalid attribute perm {perm}, input shape = {input}",
                    "attribute perm for transpose has repeated value",
                ),
            },
            "expand": {
                "not-broadcastable": (
                    "op_type:expand{words}incompatible dimensions",
                    "op (expand) {words} incompatible dimensions",
                ),
            },
            "tile": {
                "rank-mismatch": ("'repeats' input has incorrect number of values",),
                "bad-value": ("'repeats' input must not contain negative",),
            },
            None: {
                "bad-axis": (
                    "unexpected axis value: {axis}. expected range",
                    "axis must be in [-rank, rank-1]",
                    "invalid value({axis}) for attribute 'axis'",
                    "'axes' attribute must not contain any duplicates",
                    "axis {axis} is referred to more than once",
                ),
            },
            "unsqueeze": {
                "bad-axis": ("are beyond the bounds of the computed output shape",),
            },
        },
    ),
    *said_by(
        "tensorrt",
        "TensorRT 8 and later",
        {
            "shuffle": {
                "counts": (
                    "reshape changes volume. reshaping {input} to {target}",
                    "reshape would change volume {number} to {number} instruction: "
                    "reshape_zero_is_placeholder{input} {target}",
                    "reshape would change volume {number} to {number} instruction: reshape{input} {target}",
                    "reshape would change volume {elements} to {target_elements}",
                ),
                "indivisible": ("no integer solution. reshaping {input} to {target}",),
                "infer-with-empty": ("of solutions or no solution. reshaping {input} to {target}",),
                "asked": (
                    ". reshaping {input} to {target}",
                    "instruction: reshape_zero_is_placeholder{input} {target}",
                    "reshaping failed for tensor{words}input dims{input} reshape dims{target}",
                ),
                "unspecified": ("reshaping failed for tensor",),
                "engine-limit": (
                    "must have 0 or 1 reshape dimensions: dimensions were {target}",
                    "must have 0 or 1 reshape dimensions",
                ),
            },
            "squeeze": {
                "engine-limit": ("cannot infer squeeze dimensions from a dynamic shape",),
            },
        },
    ),
    *said_by(
        "tensorrt",
        "TensorRT 7 and before",
        {
            "shuffle": {
                "count-mismatch": ("reshape changes volume",),
                "indivisible": (
                    "has no integer solution",
                    "uninferred dimensions are not an exact divisor",
                ),
                "bad-perm": (
                    "first transpose is not valid",
                    "second transpose is not valid",
                    "transpose permutation is not valid",
                ),
                "two-infer": (
                    "at most one wildcard",
                    "more than one wildcard",
                ),
            },
        },
    ),
    *said_by(
        "tensorrt",
        "onnx-tensorrt",
        {
            None: {
                "unspecified": ("in function import{words}:",),
            },
        },
    ),
    *said_by(
        "onednn",
        "oneDNN 3.13, its messages",
        {
            "reshape": {
                "counts": (
                    "size of input should be same as output. input size: {elements}, output size: {target_elements}",
                ),
                "indivisible": ("should be equal to the input size. input size: {elements}, output size: {known}",),
                "infer-with-empty": ("is not allowed to be 0 for uncertain dims",),
                "bad-value": ("output dims should be larger than or equal to -1",),
                "zero-out-of-range": ("should be smaller than input size for special zero",),
            },
            "transpose": {
                "bad-perm": (
                    "order axis should be in appropriate range. axis: {axis}",
                    "permutation size ({words} must match input rank",
                ),
            },
            None: {
                "unspecified": ("run pass lower_down failed",),
            },
        },
    ),
    *said_by(
        "openvino",
        "OpenVINO 2023 to 2026, provoked",
        {
            "reshape": {
                "counts": (
                    "requested output shape {target} is incompatible with input shape",
                    "the shape of input data {input} conflicts with the reshape pattern {target}",
                ),
                "indivisible": ("output dimensions do not evenly divide the input",),
                "two-infer": ("more than one dimension has size of -1",),
                "bad-value": (
                    "output pattern dim[{number}] has invalid bounds",
                    "dim size cannot be less than -1",
                ),
                "zero-out-of-range": ("'0' dimension is out of range",),
                "infer-with-empty": ("cannot infer '-1' dimension with zero-size",),
            },
            "transpose": {
                "bad-perm": (
                    "input order must have shape [n], where n is the rank",
                    "permutation {perm} is not valid for input shape {input}",
                ),
            },
            "squeeze": {
                "not-one": ("only axes of size 1 may be removed",),
            },
            None: {
                "bad-axis": ("axis {axis} out of the tensor rank range",),
                "unspecified": ("while validating node '{words}' with friendly_name",),
                "indivisible": ("must be a multiple of divisor",),
            },
            "expand": {
                "not-broadcastable": (
                    "cannot be broadcasted (numpy mode) to",
                    "broadcast incorrect target shape. expecting",
                ),
                "rank-mismatch": ("broadcast target_shape has smaller rank",),
            },
            "split": {
                "indivisible": ("must be evenly divisible by 'num_splits'",),
            },
        },
    ),
    *said_by(
        "openvino",
        "OpenVINO's Model Optimizer",
        {
            "reshape": {
                "counts": ("number of elements in input {input} and output {target} of reshape node",),
            },
        },
    ),
    *said_by(
        "tflite",
        "TensorFlow Lite 2.21, provoked",
        {
            "reshape": {
                "counts": ("num_input_elements != num_output_elements ({elements} != {target_elements})",),
                "two-infer": ("stretch_dim != -1",),
                "count-mismatch": ("num_input_elements != num_output_elements",),
            },
            None: {
                "unspecified": ("node number {number} ({words}) failed to ",),
            },
            "transpose": {
                "bad-perm": (
                    "op_context->perm->dims->data[0] != dims",
                    "transpose op permutations array is out of bounds",
                ),
                "engine-limit": ("transpose op only supports {words} input arrays",),
            },
            "squeeze": {
                "not-one": ("input_dims->data[current] != 1",),
            },
            "expand": {
                "not-broadcastable": ("output shape must be broadcastable from input shape",),
            },
        },
    ),
    *said_by(
        "mnn",
        "MNN 3.6, its messages",
        {
            "reshape": {
                "counts": ("reshape error: {elements} -> {target_elements}",),
            },
            "squeeze": {
                "not-one": ("cannot squeeze dim[{axis}], 1 is expected",),
            },
        },
    ),
    *said_by(
        "tvm",
        "TVM Relax",
        {
            "reshape": {
                "counts": (
                    "however, the old shape is {input}, with product {number}, while the new shape is {target}, "
                    "with product",
                ),
            },
        },
    ),
    *said_by(
        "tvm",
        "TVM Relay",
        {
            "reshape": {
                "counts": (
                    "({target_elements} vs. {elements}) : input tensor shape and reshaped shape are not compatible",
                    "input tensor shape{input} and reshaped shape{target} are not compatible",
                    "reshaped shape are not compatible, reshape data_shape:{input}, oshape:{target}",
                ),
                "count-mismatch": ("input tensor shape and reshaped shape are not",),
            },
        },
    ),
    *said_by(
        "tvm",
        "NNVM",
        {
            "reshape": {
                "counts": ("({elements} vs. {target_elements}) reshape inputs size should be compatible",),
            },
        },
    ),
    *said_by(
        "migraphx",
        "MIGraphX, reshape.hpp",
        {
            "reshape": {
                "counts": (" has {target_elements} elements whereas the input has {elements}",),
                "count-mismatch": ("wrong number of elements for reshape",),
            },
        },
    ),
)

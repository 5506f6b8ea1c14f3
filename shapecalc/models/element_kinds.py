"""The element types of ONNX that NumPy has, by ONNX's numbers. Source: TensorProto.DataType in onnx.proto."""

from __future__ import annotations

FLOAT, INT32, INT64, BOOL = 1, 6, 7, 9
KINDS = {
    FLOAT: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    INT32: "int32",
    INT64: "int64",
    BOOL: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
}
NUMBERS = {kind: number for number, kind in KINDS.items()}
"""ONNX's number of a type by NumPy's name."""

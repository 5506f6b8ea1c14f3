"""Element types: how they are spelled, and which versions of which operators accept them. Data.

The keys are NumPy's and ml_dtypes' names. The ONNX versions are those of the operator documents; a
version that is not listed does not exist.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

INTEGERS = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
FLOATS = frozenset({"float16", "float32", "float64"})
COMPLEX = frozenset({"complex64", "complex128"})
FLOAT8 = frozenset({"float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"})
INT4 = frozenset({"int4", "uint4"})

UP_TO_12 = INTEGERS | FLOATS | COMPLEX | {"bool", "string"}
SINCE_13 = UP_TO_12 | {"bfloat16"}
SINCE_19 = SINCE_13 | FLOAT8
SINCE_21 = SINCE_19 | INT4
SINCE_23 = SINCE_21 | {"float4_e2m1fn"}
SINCE_24 = SINCE_23 | {"float8_e8m0fnu"}
SINCE_25 = SINCE_24 | {"int2", "uint2"}

KNOWN = SINCE_25 | {
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "int1",
    "uint1",
}
KNOWN |= {"longdouble", "clongdouble", "bytes", "object", "datetime64", "timedelta64", "void"}
"""Every element type that NumPy and ml_dtypes name."""

NEWEST = {21: SINCE_21, 23: SINCE_23, 24: SINCE_24, 25: SINCE_25}
AXES = {1: UP_TO_12, 11: UP_TO_12, 13: SINCE_13} | NEWEST

ONNX: Mapping[str, Mapping[int, frozenset[str]]] = {
    "reshape": {1: FLOATS, 5: UP_TO_12, 13: SINCE_13, 14: SINCE_13, 19: SINCE_19} | NEWEST,
    "shape": {1: UP_TO_12, 13: SINCE_13, 15: SINCE_13, 19: SINCE_19} | NEWEST,
    "transpose": {1: UP_TO_12, 13: SINCE_13} | NEWEST,
    "flatten": {1: FLOATS, 9: UP_TO_12, 11: UP_TO_12, 13: SINCE_13} | NEWEST,
    "squeeze": AXES,
    "unsqueeze": AXES,
    "expand": {8: UP_TO_12, 13: SINCE_13},
}
"""The element types of each version of each ONNX operator, by the version's number."""

SUB_BYTE = frozenset({"float4_e2m1fn", "float8_e8m0fnu", "int2", "uint2"})
ONNXRUNTIME_LACKS: Mapping[str, frozenset[str]] = {
    "reshape": COMPLEX | INT4 | SUB_BYTE,
    "shape": COMPLEX,
    "transpose": COMPLEX | {"float4_e2m1fn", "float8_e8m0fnu"},
    "flatten": COMPLEX | INT4 | SUB_BYTE | FLOAT8,
    "squeeze": COMPLEX | INT4 | SUB_BYTE | FLOAT8,
    "unsqueeze": COMPLEX | INT4 | SUB_BYTE | FLOAT8,
    "expand": COMPLEX | {"bfloat16"},
}
"""What ONNX Runtime 1.31.1 on the CPU has no kernel for, of what the ONNX text accepts."""

UNVERSIONED: Mapping[str, frozenset[str]] = {
    "tensorrt": FLOATS - {"float64"} | {"bfloat16", "bool", "int4", "int8", "uint8", "int32", "float8_e4m3fn"},
    "onednn": frozenset({"float32", "float16", "bfloat16"}),
    "openvino": INTEGERS
    | FLOATS
    | INT4
    | {"bfloat16", "bool", "string", "uint2", "float4_e2m1fn", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"},
    "numpy": KNOWN,
    "torch": SINCE_19 - {"string"} | {"float8_e8m0fnu"},
}

ALIASES: Mapping[str, Mapping[str, str]] = {
    "onnx": {
        "float": "float32",
        "double": "float64",
        "float4e2m1": "float4_e2m1fn",
        "float8e4m3fn": "float8_e4m3fn",
        "float8e4m3fnuz": "float8_e4m3fnuz",
        "float8e5m2": "float8_e5m2",
        "float8e5m2fnuz": "float8_e5m2fnuz",
        "float8e8m0": "float8_e8m0fnu",
    },
    "tensorrt": {
        "float": "float32",
        "half": "float16",
        "fp32": "float32",
        "fp16": "float16",
        "bf16": "bfloat16",
        "fp8": "float8_e4m3fn",
        "float8": "float8_e4m3fn",
    },
    "onednn": {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "s32": "int32", "s8": "int8", "u8": "uint8"},
    "openvino": {"boolean": "bool", "bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}
    | {"f8e8m0": "float8_e8m0fnu", "f4e2m1": "float4_e2m1fn"}
    | {f"f{bits}": f"float{bits}" for bits in (16, 32, 64)}
    | {f"i{bits}": f"int{bits}" for bits in (4, 8, 16, 32, 64)}
    | {f"u{bits}": f"uint{bits}" for bits in (2, 4, 8, 16, 32, 64)},
    "numpy": {"float": "float64", "double": "float64", "single": "float32", "half": "float16", "int": "int64"}
    | {"complex": "complex128", "str": "string", "str_": "string", "bytes_": "bytes", "bool_": "bool"},
    "torch": {"float": "float32", "double": "float64", "half": "float16", "int": "int32", "long": "int64"}
    | {"short": "int16", "cfloat": "complex64", "cdouble": "complex128"},
}
"""Each framework's own spellings, where they are not NumPy's."""


def spellings(dialect: str) -> Mapping[str, str]:
    """Return the dialect's own spellings, each with the name it stands for."""
    return ALIASES["onnx" if dialect == "onnxruntime" else dialect]


def element_type(text: str, dialect: str) -> str | None:
    """Return the element type that `text` names in `dialect`, or None where nothing is called so.

    >>> element_type("float", "onnx"), element_type("float", "numpy"), element_type("tensor(float16)", "onnx")
    ('float32', 'float64', 'float16')
    """
    name = text.strip()
    if name.startswith("tensor(") and name.endswith(")"):
        name = name[7:-1]
    name = name.removeprefix("torch.") if dialect == "torch" else name
    name = spellings(dialect).get(name, name)
    return name if name in KNOWN else None


def spelled(dtype: str, dialect: str) -> str:
    """Return how `dialect` spells an element type.

    >>> spelled("float32", "onnx"), spelled("float32", "onednn"), spelled("int8", "onnx")
    ('float', 'f32', 'int8')
    """
    return next((own for own, name in spellings(dialect).items() if name == dtype), dtype)


def accepted(dialect: str, op: str, version: int | None) -> frozenset[str]:
    """Return the element types that an operator accepts in one version."""
    if version is None:
        return UNVERSIONED[dialect]
    return ONNX[op][version] - (ONNXRUNTIME_LACKS[op] if dialect == "onnxruntime" else frozenset())

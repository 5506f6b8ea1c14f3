"""Element types: the sets that operators accept, and how each framework spells them.

The names are NumPy's and ml_dtypes'. `SINCE_n` is what the ONNX operator documents list from version n on.
"""

from __future__ import annotations

from shapecalc.core.sizes.problem import misuse
from shapecalc.core.sizes.quoting import brief, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.dialects.dialect import Dialect

INTEGERS = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
FLOATS = frozenset({"float16", "float32", "float64"})
COMPLEX = frozenset({"complex64", "complex128"})
FLOAT8 = frozenset({"float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"})
INT4 = frozenset({"int4", "uint4"})
SUB_BYTE = frozenset({"float4_e2m1fn", "float8_e8m0fnu", "int2", "uint2"})

UP_TO_12 = INTEGERS | FLOATS | COMPLEX | {"bool", "string"}
SINCE_13 = UP_TO_12 | {"bfloat16"}
SINCE_19 = SINCE_13 | FLOAT8
SINCE_21 = SINCE_19 | INT4
SINCE_23 = SINCE_21 | {"float4_e2m1fn"}
SINCE_24 = SINCE_23 | {"float8_e8m0fnu"}
SINCE_25 = SINCE_24 | {"int2", "uint2"}
NEWEST = {21: SINCE_21, 23: SINCE_23, 24: SINCE_24, 25: SINCE_25}
"""The element types of the newest versions of most operators, by version."""

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


def element_type(text: str, row: Dialect) -> str | None:
    """Return the element type that `text` names in a dialect; None if it names none.

    >>> from shapecalc.core.dialects.numpy import NUMPY
    >>> from shapecalc.core.dialects.onnx import ONNX
    >>> element_type("float", ONNX), element_type("float", NUMPY), element_type("tensor(float16)", ONNX)
    ('float32', 'float64', 'float16')
    """
    name = text.strip()
    if name.startswith("tensor(") and name.endswith(")"):
        name = name[7:-1]
    name = name.removeprefix(row.prefix)
    name = row.spellings.get(name, name)
    return name if name in KNOWN else None


def spelled(dtype: str, row: Dialect) -> str:
    """Return how a dialect spells an element type.

    >>> from shapecalc.core.dialects.onednn import ONEDNN
    >>> from shapecalc.core.dialects.onnx import ONNX
    >>> spelled("float32", ONNX), spelled("float32", ONEDNN), spelled("int8", ONNX)
    ('float', 'f32', 'int8')
    """
    return next((own for own, name in row.spellings.items() if name == dtype), dtype)


def bytes_of(dtype: str) -> int:
    """Return how many bytes NumPy and ml_dtypes keep an element of a type in.

    Raises `ShapeError` (usage) for a type whose elements have no size of their own, and for what is no type.

    >>> bytes_of("bfloat16"), bytes_of("int4"), bytes_of("bool")
    (2, 1, 1)
    """
    sizes = {"bool": 1, "longdouble": 16, "clongdouble": 32, "datetime64": 8, "timedelta64": 8}
    kind = dtype.partition("_")[0]
    digits = kind[len(kind.rstrip("0123456789")) :]
    if dtype in sizes:
        return sizes[dtype]
    if dtype not in KNOWN or not digits:
        raise misuse(f"elements of type {visible(brief(dtype))} have no known size", argument="dtype")
    return max(1, int(digits) // 8)

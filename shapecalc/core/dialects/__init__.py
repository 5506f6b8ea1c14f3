"""The dialects: one file for each framework, listed here."""

from __future__ import annotations

from shapecalc.core.sizes.lookup import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.dialects.dialect import Dialect

DIALECTS: Table[Dialect] = Table(
    __name__, "onnx", "tensorrt", "onednn", "openvino", "numpy", "torch", "paddle", "mxnet", "onnxruntime"
)

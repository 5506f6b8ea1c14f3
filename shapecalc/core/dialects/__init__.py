"""The dialects: one file for each framework, listed here."""

from __future__ import annotations

from shapecalc.core.dialects.dialect import Dialect, Zero
from shapecalc.core.dialects.mxnet import MXNET
from shapecalc.core.dialects.numpy import NUMPY
from shapecalc.core.dialects.onednn import ONEDNN
from shapecalc.core.dialects.onnx import ONNX
from shapecalc.core.dialects.onnxruntime import ONNXRUNTIME
from shapecalc.core.dialects.openvino import OPENVINO
from shapecalc.core.dialects.paddle import PADDLE
from shapecalc.core.dialects.tensorrt import TENSORRT
from shapecalc.core.dialects.torch import TORCH

__all__ = ["DIALECTS", "NUMPY", "ONEDNN", "ONNX", "SWITCHES"]

DIALECTS: dict[str, Dialect] = {
    row.name: row for row in (ONNX, TENSORRT, ONEDNN, OPENVINO, NUMPY, TORCH, PADDLE, MXNET, ONNXRUNTIME)
}

SWITCHES: dict[str, Zero] = {
    row.switch.name: row.readings[True].zero for row in DIALECTS.values() if row.switch is not None
}
"""The frameworks' own switches over what 0 means, and what it means if they are on."""

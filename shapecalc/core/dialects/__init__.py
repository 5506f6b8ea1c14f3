"""The registry of dialects.

A dialect is the set of rules of one framework.
"""

from __future__ import annotations

from shapecalc.core.record import LazyRegistry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.dialects.base import Dialect

DIALECT_NAMES = "onnx tensorrt onednn openvino numpy torch paddle mxnet tensorflow jax tflite coreml caffe onnxruntime"
DIALECTS: LazyRegistry[Dialect] = LazyRegistry(__name__, *DIALECT_NAMES.split())


def find_dialect(name: str) -> Dialect | None:
    """Return the dialect with this name or alias, or None.

    The search is case-insensitive.

    >>> find_dialect("ORT").name, find_dialect("nope")
    ('onnxruntime', None)
    """
    name = name.lower()
    return DIALECTS.get(name) or next((dialect for dialect in DIALECTS.values() if name in dialect.aliases), None)

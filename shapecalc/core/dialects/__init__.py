"""The dialects: a table of one row a framework, each in its own file."""

from __future__ import annotations

from shapecalc.core.record import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.dialects.base import Dialect

NAMES = "onnx tensorrt onednn openvino numpy torch paddle mxnet tensorflow jax tflite coreml caffe onnxruntime"
DIALECTS: Table[Dialect] = Table(__name__, *NAMES.split())


def dialect_named(name: str) -> Dialect | None:
    """Return the dialect with a name or alias, ignoring case; None if there is none.

    >>> dialect_named("ORT").name, dialect_named("nope")
    ('onnxruntime', None)
    """
    name = name.lower()
    return DIALECTS.get(name) or next((dialect for dialect in DIALECTS.values() if name in dialect.aliases), None)

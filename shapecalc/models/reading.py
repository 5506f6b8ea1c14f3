"""Reading: a model from its file, which is mapped; payloads stay there, and no other file is opened."""

from __future__ import annotations

import mmap
import os
import sys
from importlib import util
from pathlib import Path

from shapecalc.core.problem import FILE, Problem, ShapeError
from shapecalc.engine.headers import opened
from shapecalc.models.building import model_of
from shapecalc.models.payloads import CUT, without_payloads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from shapecalc.models.model import Model, Payload


def read_model(path: str | Path) -> Model:
    """Return the model in a file; raise `ShapeError` (file) if it cannot be used, or if onnx is not installed."""
    messages = onnx_messages()
    try:
        message, payloads = _mapped_message(path)
        proto = _parsed(message, messages)
        return model_of(proto, Path(path), payloads)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise file_error(f"{path}: {reason}") from None


def file_error(message: str, hint: str = "") -> ShapeError:
    """Return the error to raise if a file cannot be used."""
    return ShapeError(Problem(FILE, message, hint))


def onnx_messages() -> Any:
    """Return the module of ONNX's protobuf classes without importing the rest of onnx, which takes much longer.

    Raises `ShapeError` (file) if onnx is not installed.
    """
    name = "onnx.onnx_ml_pb2"
    if name in sys.modules:
        return sys.modules[name]
    package = util.find_spec("onnx")
    if package is None or not package.submodule_search_locations:
        raise file_error("reading models needs onnx, which is not installed", "pip install 'shapecalc[onnx]'")
    file = Path(package.submodule_search_locations[0], "onnx_ml_pb2.py")
    spec = util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None or not file.exists():
        from onnx import onnx_ml_pb2

        return onnx_ml_pb2
    module = sys.modules[name] = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _mapped_message(path: str | Path) -> tuple[bytes, dict[int, Payload]]:
    """Return the message in a file without its payloads, and these; raise `ValueError` if there is none."""
    with os.fdopen(opened(str(path)), "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            raise ValueError("it is empty")
        return without_payloads(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))


def _parsed(message: bytes, messages: Any) -> Any:
    """Return the model of a message; raise `ValueError` if protobuf cannot read it."""
    from google.protobuf.message import DecodeError

    try:
        proto = messages.ModelProto.FromString(message)
    except DecodeError:
        without_payloads(message, 0)  # says if it is cut short, or nested too deep
        raise ValueError(CUT) from None
    if not proto.HasField("graph"):
        raise ValueError("it holds no graph")
    return proto

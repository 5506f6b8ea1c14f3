"""Real messages: libraries refuse lines of code, and the doctor must recognize their errors.

NumPy, ONNX and ONNX Runtime are installed. Other libraries are tested if they are installed, or if a variable such as
`SHAPECALC_TORCH_PYTHON` names a Python with them.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from shapecalc.diagnosis.reading import parse_messages
from tests.diagnosis.test_messages import summarize
from tests.transcripts import transcripts

HERE = Path(__file__).parent
LIBRARIES = {row.id.split()[-1]: row.values[0] for row in transcripts(HERE / "libraries", r":|\$|=")}
QUICK = ("numpy", "onnxruntime")


def python_with(library):
    """Return a Python with a library; skip the test if there is none."""
    variable = f"SHAPECALC_{library.upper()}_PYTHON"
    if variable in os.environ:
        return os.environ[variable]
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed, and {variable} names no Python that has it")
    return sys.executable


@pytest.mark.parametrize(
    "library", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in LIBRARIES]
)
def test_provoked_library_errors_are_recognized(library):
    setup, code, expected = ([line.text for line in LIBRARIES[library] if line.sign == sign] for sign in ":$=")
    words = [python_with(library), str(HERE / "provoke.py"), "\n".join(setup), *code]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    ran = subprocess.run(words, capture_output=True, text=True, check=True, timeout=300, env=clean)
    for text, line, summary in zip(json.loads(ran.stdout.splitlines()[-1]), code, expected, strict=True):
        messages = parse_messages(text)
        assert messages, (line, text)
        without_node = [part for part in summarize(messages[0]).split(" | ") if not part.startswith("node ")]
        assert " | ".join(without_node) == summary, (line, text)

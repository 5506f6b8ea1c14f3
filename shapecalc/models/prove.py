"""Prove a fixed model: run it and the original on equal samples in ONNX Runtime.

The proof runs in a process of its own with limits on memory and time, because the cost of a model is unknown. The
process is started by the path of this file, with a task as JSON in its first argument and the fixed model on standard
input; it prints a JSON object. It therefore imports nothing of shapecalc. It runs in the model's folder, which holds
the model's external data.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from threading import Thread
from typing import IO, Any

import numpy as np

Feeds = dict[str, np.ndarray]
Place = tuple[int, int] | None
"""The axis that separates the samples of an output, and its inner size; None if it has no batch."""
SILENT = {"ORT_DISABLE_TELEMETRY": "1"}
"""The environment that turns off ONNX Runtime's telemetry, which also writes a file."""
SECONDS = 300
"""The time limit of a proof."""
LARGEST = 2**31 - 1
"""The size in bytes of the largest model that ONNX Runtime parses as one message."""
MEMORY_SHARE = 0.75
"""The share of the machine's memory that a proof may use."""
PAUSE = 0.5
"""Seconds between checks that the parent process is alive."""
SEED = 20
RELATIVE = 1e-5
"""The tolerance relative to the largest element; sums of a larger batch differ in their order."""
HALF_RELATIVE = 2e-3
"""The tolerance for 16-bit floats."""
FLOATS = {"tensor(float)": "float32", "tensor(double)": "float64", "tensor(float16)": "float16"}
INTEGERS = {f"tensor({kind}int{bits})": f"{kind}int{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64)}
INTEGERS |= {"tensor(bool)": "bool"}
"""The integer and boolean types, by ONNX Runtime's names."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The result of a proof."""

    proved: bool | None
    """None if nothing could be proved."""
    why: str
    """What was proved, what differs, or why no proof was possible."""


class NotProved(Exception):
    """The reason why no proof is possible."""


class Failed(Exception):
    """The difference that a proof found."""


class Comparison:
    """A comparison of two models on equal samples."""

    def __init__(self, task: Mapping[str, Any], mended: bytes) -> None:
        """Load both models, and draw samples for the larger batch."""
        self.task, self.home, self.other = task, task["declared"], task["other"]
        self.old = _session(Path(task["model"]).read_bytes())
        try:
            self.new = _session(mended)
        except NotProved as error:
            raise Failed(f"the mended model does not load: {error}") from None
        self.names = [output.name for output in self.new.get_outputs()]
        self.samples = self._drawn(np.random.default_rng(SEED))

    def result(self) -> str:
        """Return what was proved.

        Raises `NotProved` if no proof is possible, `ProofFailed` if the models differ.
        """
        home = self._run(self.old, self._feeds(range(self.home)), NotProved)
        fixed = self._run(self.new, self._feeds(range(self.home)), Failed)
        for name, old, new in zip(self.names, home, fixed, strict=True):
            if old.shape != new.shape or old.dtype != new.dtype or old.tobytes() != new.tobytes():
                raise Failed(f"output {name} differs at batch {self.home}")
        larger = self._run(self.new, self._feeds(range(self.other)), Failed)
        for sample in range(self.other):
            index = sample if sample < self.home else 0
            if index != sample:
                home = self._run(self.old, self._feeds([sample] * self.home), NotProved)
            self._compare(sample, larger, home, index)
        return f"batch {self.home} bit for bit, batch {self.other} sample by sample"

    def _compare(self, sample: int, larger: list[np.ndarray], home: list[np.ndarray], place: int) -> None:
        """Compare a sample of the larger batch with one of the declared batch.

        `index` is its index in the declared batch.
        """
        places = self.task["places"], self.task["home_places"]
        for name, many, few, axis, home_axis in zip(self.names, larger, home, *places, strict=True):
            actual = _sample(many, axis, self.other, sample)
            expected = _sample(few, home_axis, self.home, place)
            if not _agree(actual, expected):
                raise Failed(f"output {name} differs in sample {sample} of batch {self.other}")

    def _drawn(self, random: np.random.Generator) -> Feeds:
        """Return random inputs for the larger batch.

        An input without the batch has its own shape.
        """
        largest = max(self.home, self.other)
        feeds = {}
        for value in self.new.get_inputs():
            dims = self.task["inputs"].get(value.name)
            if dims is None:
                raise NotProved(f"nobody knows the shape of input {value.name}")
            shape = [largest if size is None else size for size in dims]
            if value.type in FLOATS:
                feeds[value.name] = random.uniform(0.1, 1, shape).astype(FLOATS[value.type])
            elif value.type in INTEGERS:
                numbers = random.integers(0, 1, shape, endpoint=True)
                feeds[value.name] = _told_apart(numbers, dims).astype(INTEGERS[value.type])
            else:
                raise NotProved(f"input {value.name} is of type {value.type}")
        return feeds

    def _feeds(self, samples: range | list[int]) -> Feeds:
        """Return the inputs with these samples only."""
        feeds = {}
        for name, array in self.samples.items():
            dims = self.task["inputs"][name]
            feeds[name] = array.take(samples, dims.index(None)) if None in dims else array
        return feeds

    def _run(self, session: Any, feeds: Feeds, wrong: type[Exception]) -> list[np.ndarray]:
        try:
            outputs: list[np.ndarray] = session.run(self.names, feeds)
        except MemoryError:
            raise NotProved("it is too large") from None
        except Exception as error:  # ONNX Runtime has no common base of its errors
            raise wrong(_line(error)) from None
        if not all(hasattr(output, "dtype") for output in outputs):
            raise NotProved("an output is not a tensor")
        return outputs


def proof_of(model: Path, task: dict[str, Any] | str, mended: IO[bytes]) -> Proof:
    """Return the proof that a fixed model equals the model in a file.

    A task that is a string is the reason why no proof is possible. Otherwise it has: `model` and `folder`, the paths;
    `declared` and `other`, the two batch sizes; `inputs`, the shapes by name with None for the batch; `places` and
    `home_places`, the sample axes of each output at the other and at the declared size.
    """
    if mended.seek(0, os.SEEK_END) > LARGEST or model.stat().st_size > LARGEST:
        return Proof(None, "it is too large")
    if isinstance(task, str):
        return Proof(None, task)
    mended.seek(0)
    try:
        with as_file(files("shapecalc.models") / "prove.py") as program:
            command = [sys.executable, "-P", str(program), json.dumps({**task, "parent": os.getpid()})]
            completed = subprocess.run(
                command, stdin=mended, env={**os.environ, **SILENT}, capture_output=True, timeout=SECONDS, check=False
            )
    except subprocess.TimeoutExpired:
        return Proof(None, f"it takes longer than {SECONDS} seconds")
    try:
        result = json.loads(completed.stdout)
    except ValueError:
        return Proof(None, "ONNX Runtime ended with the process that it ran in")
    return Proof(result["proved"], result["why"])


def _told_apart(numbers: np.ndarray, dims: list[int | None]) -> np.ndarray:
    """Write the number of each sample into its first bits, so that samples differ."""
    if None in dims:
        samples = np.moveaxis(numbers, dims.index(None), 0)
        for bit, index in zip(range(8), np.ndindex(samples.shape[1:]), strict=False):
            samples[(slice(None), *index)] = np.arange(1, len(samples) + 1) >> bit & 1
    return numbers


def _session(model: bytes) -> Any:
    """Return an ONNX Runtime session without threads and optimizations.

    Equal nodes then return equal bits.
    """
    try:
        import onnxruntime
    except ImportError:
        raise NotProved("onnxruntime is not installed") from None
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except MemoryError:
        raise NotProved("it is too large") from None
    except Exception as error:  # ONNX Runtime has no common base of its errors
        raise NotProved(_line(error)) from None


def _line(error: Exception) -> str:
    """Return the last line of an error, which has the reason."""
    message = str(error).strip().rstrip(".")
    return f"ONNX Runtime: {message.splitlines()[-1]}" if message else "ONNX Runtime failed"


def _sample(array: np.ndarray, place: Place, batch: int, sample: int) -> np.ndarray:
    """Return the part of an output with one sample; all of it without a batch."""
    if place is None or batch == 1:
        return array
    axis, inner = place
    return array.take(np.flatnonzero(np.arange(array.shape[axis]) // inner % batch == sample), axis)


def _agree(one: np.ndarray, alone: np.ndarray) -> bool:
    if one.shape != alone.shape:
        return False
    if one.dtype.kind != "f":
        return bool(np.array_equal(one, alone))
    finite = np.isfinite(alone)
    if not np.array_equal(one[~finite], alone[~finite], equal_nan=True) or not np.isfinite(one[finite]).all():
        return False
    tolerance = (HALF_RELATIVE if one.dtype.itemsize == 2 else RELATIVE) * np.abs(alone[finite]).max(initial=0)
    return bool((np.abs(one[finite] - alone[finite]) <= tolerance).all())


def _check(task: Mapping[str, Any], mended: bytes) -> str:
    """Return the result of ONNX's checker.

    Raises `ProofFailed` if it refuses the fixed model but not the original.
    """
    refusal = _refusal(mended)
    if not refusal:
        return "; checker passes"
    if _refusal(Path(task["model"]).read_bytes()):
        return "; the checker refuses it, as it refuses the model that was read"
    raise Failed(f"the checker refuses it: {refusal}")


def _refusal(model: bytes) -> str:
    """Return the error of ONNX's checker; empty if the model is valid."""
    import onnx

    try:
        onnx.checker.check_model(model)
    except Exception as error:  # the checker has no common base of its errors
        return str(error).strip().partition("\n")[0] or "it gives no reason"
    return ""


def _limit_memory() -> None:
    """Limit the memory of this process."""
    most = 2**33
    with suppress(AttributeError, ValueError, OSError):
        most = int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * MEMORY_SHARE)
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _end_with(parent: int) -> None:
    """Exit when the parent process has died; a killed parent cannot end this one."""
    while os.getppid() == parent:
        time.sleep(PAUSE)
    os._exit(1)


def main() -> int:
    """Run the proof of the task in the arguments, and print the result as JSON."""
    proved: bool | None
    task = json.loads(sys.argv[1])
    _limit_memory()
    Thread(target=_end_with, args=(task["parent"],), daemon=True).start()
    try:
        fixed = sys.stdin.buffer.read()
        os.chdir(task["folder"])
        checker_note = _check(task, fixed)
        proved, why = True, Comparison(task, fixed).result() + checker_note
    except (NotProved, Failed) as error:
        proved, why = False if isinstance(error, Failed) else None, str(error)
    except MemoryError:
        proved, why = None, "it is too large"
    json.dump({"proved": proved, "why": why}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())

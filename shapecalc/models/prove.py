"""A proof in a process of its own: a model and its mended form, run on the same seeded samples in ONNX Runtime.

The process is started by this file's name, with a task as JSON in its first argument and the mended model on standard
input, and writes one object as JSON; so nothing of shapecalc is imported here. What it uses of memory and time is
limited, since nobody knows what a model does. It works in the model's folder, where the files with its elements are.
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
"""The axis that holds the samples apart in an output, and its inner part; None if the batch does not reach it."""
SILENT = {"ORT_DISABLE_TELEMETRY": "1"}
"""What keeps ONNX Runtime from telling its makers of each run, for which it also leaves a file behind."""
SECONDS = 300
"""How long a proof may take."""
LARGEST = 2**31 - 1
"""The bytes of the largest model that ONNX Runtime reads as one message."""
MEMORY_SHARE = 0.75
"""How much of the machine's memory a proof may take."""
PAUSE = 0.5
"""Seconds between two looks whether the process that started this one is still there."""
SEED = 20
RELATIVE = 1e-5
"""How far samples of a larger batch may lie off, in parts of the largest element: sums are made in another order."""
HALF_RELATIVE = 2e-3
"""The same for elements of 16 bits, whose own step is so large."""
FLOATS = {"tensor(float)": "float32", "tensor(double)": "float64", "tensor(float16)": "float16"}
INTEGERS = {f"tensor({kind}int{bits})": f"{kind}int{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64)}
INTEGERS |= {"tensor(bool)": "bool"}
"""The types of whole numbers and truth values, by ONNX Runtime's names."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What a proof found."""

    proved: bool | None
    """None if nothing could be proved."""
    why: str
    """What was proved or what differs, or why it could not be."""


def proof_of(model: Path, task: dict[str, Any] | str, mended: IO[bytes]) -> Proof:
    """Return what ONNX Runtime shows of a mended model, which is in a file, beside the `model` that it was.

    The task, unless it is a reason why nothing can be proved, has the path of the model and of its `folder`, the
    `declared` size and the `other` one at which samples are compared, the shapes of the `inputs` by name (None where
    the batch is), and the axes that hold the samples in each output at the other size (`places`) and at the declared
    one (`home_places`).
    """
    if mended.seek(0, os.SEEK_END) > LARGEST or model.stat().st_size > LARGEST:
        return Proof(None, "it is too large")
    if isinstance(task, str):
        return Proof(None, task)
    mended.seek(0)
    try:
        with as_file(files("shapecalc.models") / "prove.py") as program:
            command = [sys.executable, "-P", str(program), json.dumps({**task, "parent": os.getpid()})]
            ended = subprocess.run(
                command, stdin=mended, env={**os.environ, **SILENT}, capture_output=True, timeout=SECONDS, check=False
            )
    except subprocess.TimeoutExpired:
        return Proof(None, f"it takes longer than {SECONDS} seconds")
    try:
        found = json.loads(ended.stdout)
    except ValueError:
        return Proof(None, "ONNX Runtime ended with the process that it ran in")
    return Proof(found["proved"], found["why"])


class NotProved(Exception):
    """Why nothing can be proved."""


class Failed(Exception):
    """What a proof found to be wrong."""


class Comparison:
    """Two models and the samples that both are given."""

    def __init__(self, task: Mapping[str, Any], mended: bytes) -> None:
        """Load both models, and draw samples for the largest batch."""
        self.task, self.home, self.other = task, task["declared"], task["other"]
        self.old = _session(Path(task["model"]).read_bytes())
        try:
            self.new = _session(mended)
        except NotProved as error:
            raise Failed(f"the mended model does not load: {error}") from None
        self.names = [each.name for each in self.new.get_outputs()]
        self.samples = self._drawn(np.random.default_rng(SEED))

    def result(self) -> str:
        """Return what was proved. Raises `NotProved` and `Failed`."""
        home = self._run(self.old, self._feeds(range(self.home)), NotProved)
        mended = self._run(self.new, self._feeds(range(self.home)), Failed)
        for name, old, new in zip(self.names, home, mended, strict=True):
            if old.shape != new.shape or old.dtype != new.dtype or old.tobytes() != new.tobytes():
                raise Failed(f"output {name} differs at batch {self.home}")
        larger = self._run(self.new, self._feeds(range(self.other)), Failed)
        for sample in range(self.other):
            place = sample if sample < self.home else 0
            if place != sample:
                home = self._run(self.old, self._feeds([sample] * self.home), NotProved)
            self._compare(sample, larger, home, place)
        return f"batch {self.home} bit for bit, batch {self.other} sample by sample"

    def _compare(self, sample: int, larger: list[np.ndarray], home: list[np.ndarray], place: int) -> None:
        """Compare one sample of the larger batch with the same one at the declared size, where it is at a place."""
        places = self.task["places"], self.task["home_places"]
        for name, many, few, here, there in zip(self.names, larger, home, *places, strict=True):
            one = _sample(many, here, self.other, sample)
            alone = _sample(few, there, self.home, place)
            if not _agree(one, alone):
                raise Failed(f"output {name} differs in sample {sample} of batch {self.other}")

    def _drawn(self, random: np.random.Generator) -> Feeds:
        """Return the inputs for the largest batch; an input without the batch has its own shape."""
        largest = max(self.home, self.other)
        drawn = {}
        for each in self.new.get_inputs():
            dims = self.task["inputs"].get(each.name)
            if dims is None:
                raise NotProved(f"nobody knows the shape of input {each.name}")
            shape = [largest if size is None else size for size in dims]
            if each.type in FLOATS:
                drawn[each.name] = random.uniform(0.1, 1, shape).astype(FLOATS[each.type])
            elif each.type in INTEGERS:
                numbers = random.integers(0, 1, shape, endpoint=True)
                drawn[each.name] = _told_apart(numbers, dims).astype(INTEGERS[each.type])
            else:
                raise NotProved(f"input {each.name} is of type {each.type}")
        return drawn

    def _feeds(self, samples: range | list[int]) -> Feeds:
        """Return the inputs that hold these samples."""
        feeds = {}
        for name, array in self.samples.items():
            dims = self.task["inputs"][name]
            feeds[name] = array.take(samples, dims.index(None)) if None in dims else array
        return feeds

    def _run(self, session: Any, feeds: Feeds, wrong: type[Exception]) -> list[np.ndarray]:
        try:
            found: list[np.ndarray] = session.run(self.names, feeds)
        except MemoryError:
            raise NotProved("it is too large") from None
        except Exception as error:  # ONNX Runtime raises many kinds
            raise wrong(_line(error)) from None
        if not all(hasattr(each, "dtype") for each in found):
            raise NotProved("an output is not a tensor")
        return found


def _told_apart(numbers: np.ndarray, dims: list[int | None]) -> np.ndarray:
    """Return bits with the number of each sample in its first ones, so that masks of two samples differ."""
    if None in dims:
        samples = np.moveaxis(numbers, dims.index(None), 0)
        for place, at in zip(range(8), np.ndindex(samples.shape[1:]), strict=False):
            samples[(slice(None), *at)] = np.arange(1, len(samples) + 1) >> place & 1
    return numbers


def _session(model: bytes) -> Any:
    """Return ONNX Runtime's session of a model, one thread, the graph as it is: so equal nodes give equal bits."""
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
    except Exception as error:  # ONNX Runtime raises many kinds
        raise NotProved(_line(error)) from None


def _line(error: Exception) -> str:
    """Return the last line of an error, which says what is wrong."""
    said = str(error).strip().rstrip(".")
    return f"ONNX Runtime: {said.splitlines()[-1]}" if said else "ONNX Runtime failed"


def _sample(array: np.ndarray, place: Place, batch: int, sample: int) -> np.ndarray:
    """Return the part of an output that holds one sample; the whole of one that the batch does not reach."""
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
    near = (HALF_RELATIVE if one.dtype.itemsize == 2 else RELATIVE) * np.abs(alone[finite]).max(initial=0)
    return bool((np.abs(one[finite] - alone[finite]) <= near).all())


def _check(task: Mapping[str, Any], mended: bytes) -> str:
    """Return what ONNX's checker finds; raises `Failed` if it refuses the mended model alone."""
    refusal = _refusal(mended)
    if not refusal:
        return "; checker passes"
    if _refusal(Path(task["model"]).read_bytes()):
        return "; the checker refuses it, as it refuses the model that was read"
    raise Failed(f"the checker refuses it: {refusal}")


def _refusal(model: bytes) -> str:
    """Return what ONNX's checker finds wrong with a model; empty if it finds nothing."""
    import onnx

    try:
        onnx.checker.check_model(model)
    except Exception as error:  # the checker raises several kinds
        return str(error).strip().partition("\n")[0] or "it gives no reason"
    return ""


def _limit_memory() -> None:
    """Bound the bytes that a proof may take."""
    most = 2**33
    with suppress(AttributeError, ValueError, OSError):
        most = int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * MEMORY_SHARE)
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _end_with(parent: int) -> None:
    """End this process soon after the one that started it, which may be killed and cannot end it then."""
    while os.getppid() == parent:
        time.sleep(PAUSE)
    os._exit(1)


def main() -> int:
    """Write what the proof of the task says."""
    proved: bool | None
    task = json.loads(sys.argv[1])
    _limit_memory()
    Thread(target=_end_with, args=(task["parent"],), daemon=True).start()
    try:
        mended = sys.stdin.buffer.read()
        os.chdir(task["folder"])
        checked = _check(task, mended)
        proved, why = True, Comparison(task, mended).result() + checked
    except (NotProved, Failed) as error:
        proved, why = False if isinstance(error, Failed) else None, str(error)
    except MemoryError:
        proved, why = None, "it is too large"
    json.dump({"proved": proved, "why": why}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Prove a fixed model: compare it with the original model in ONNX Runtime.

Both models run on the same random samples. They run in a separate process with limits on memory and time, because the
cost of a model is unknown. The process runs this file as a script, so this file imports nothing from shapecalc. The
first argument of the script is the task as JSON, its standard input is the fixed model, and its standard output is the
`Proof` as JSON. The working directory of the process is the folder of the model and its external data.
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
"""The input arrays of a model by input name."""
SampleAxis = tuple[int, int] | None
"""The fields `axis` and `inner` of the `batch_axis.BatchAxis` of an output; None for an output without a batch axis."""
NO_TELEMETRY = {"ORT_DISABLE_TELEMETRY": "1"}
"""The environment variable that disables ONNX Runtime's telemetry, which would also write a file."""
TIMEOUT_SECONDS = 300
"""The time limit of a proof, in seconds."""
MAX_MODEL_BYTES = 2**31 - 1
"""The maximum size, in bytes, of a model that ONNX Runtime parses."""
MEMORY_SHARE = 0.75
"""The fraction of the physical memory that a proof may use."""
POLL_SECONDS = 0.5
"""The interval, in seconds, between checks that the parent process is alive."""
SEED = 20
RELATIVE_TOLERANCE = 1e-5
"""The tolerance relative to the largest absolute element.

Outputs at different batch sizes may differ by rounding, because the order of floating-point sums may change.
"""
HALF_PRECISION_TOLERANCE = 2e-3
"""The tolerance for 16-bit floats, relative to the largest absolute element."""
FLOAT_TYPES = {"tensor(float)": "float32", "tensor(double)": "float64", "tensor(float16)": "float16"}
INTEGER_TYPES = {f"tensor({kind}int{bits})": f"{kind}int{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64)}
INTEGER_TYPES |= {"tensor(bool)": "bool"}
"""The NumPy names of integer and boolean types, by ONNX Runtime's names."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The result of a proof."""

    proved: bool | None
    """Whether the outputs of both models are equal; None if no proof was possible."""
    why: str
    """The tested batch sizes, the difference between the models, or the reason why no proof was possible."""


class ProofImpossible(Exception):
    """Raised if no proof is possible; the message is the reason."""


class ProofFailed(Exception):
    """Raised if the models differ; the message describes the difference."""


class ModelComparison:
    """A comparison of the original and the fixed model on the same samples."""

    def __init__(self, task: Mapping[str, Any], fixed_model: bytes) -> None:
        """Load both models, and draw random inputs; `task` is described in `prove_model`."""
        self.task, self.declared_batch, self.other_batch = task, task["declared"], task["other"]
        self.original_session = _load_session(Path(task["model"]).read_bytes())
        try:
            self.fixed_session = _load_session(fixed_model)
        except ProofImpossible as error:
            raise ProofFailed(f"the mended model does not load: {error}") from None
        self.output_names = [output.name for output in self.fixed_session.get_outputs()]
        self.samples = self._draw_inputs(np.random.default_rng(SEED))

    def compare_outputs(self) -> str:
        """Compare the outputs of both models; return a description of the comparison.

        Raises `ProofImpossible` if no proof is possible, `ProofFailed` if the models differ.
        """
        home = self._run(self.original_session, self._select_samples(range(self.declared_batch)), ProofImpossible)
        fixed = self._run(self.fixed_session, self._select_samples(range(self.declared_batch)), ProofFailed)
        for name, old, new in zip(self.output_names, home, fixed, strict=True):
            if old.shape != new.shape or old.dtype != new.dtype or old.tobytes() != new.tobytes():
                raise ProofFailed(f"output {name} differs at batch {self.declared_batch}")
        larger = self._run(self.fixed_session, self._select_samples(range(self.other_batch)), ProofFailed)
        for sample in range(self.other_batch):
            index = sample if sample < self.declared_batch else 0
            if index != sample:
                home = self._run(
                    self.original_session, self._select_samples([sample] * self.declared_batch), ProofImpossible
                )
            self._compare_sample(sample, larger, home, index)
        return f"batch {self.declared_batch} bit for bit, batch {self.other_batch} sample by sample"

    def _compare_sample(
        self, sample: int, other_outputs: list[np.ndarray], declared_outputs: list[np.ndarray], declared_index: int
    ) -> None:
        """Compare the outputs for one sample at the other and at the declared batch size.

        `sample` is the index of the sample in the other batch, `declared_index` its index in the declared batch. Raises
        `ProofFailed` if the outputs differ.
        """
        places = self.task["places"], self.task["home_places"]
        for name, many, few, axis, home_axis in zip(
            self.output_names, other_outputs, declared_outputs, *places, strict=True
        ):
            actual = _take_sample(many, axis, self.other_batch, sample)
            expected = _take_sample(few, home_axis, self.declared_batch, declared_index)
            if not _is_close(actual, expected):
                raise ProofFailed(f"output {name} differs in sample {sample} of batch {self.other_batch}")

    def _draw_inputs(self, generator: np.random.Generator) -> Feeds:
        """Draw random inputs for the larger of the two batch sizes.

        Raises `ProofImpossible` for an input of unknown shape or unsupported type.
        """
        largest = max(self.declared_batch, self.other_batch)
        feeds = {}
        for value in self.fixed_session.get_inputs():
            dims = self.task["inputs"].get(value.name)
            if dims is None:
                raise ProofImpossible(f"nobody knows the shape of input {value.name}")
            shape = [largest if size is None else size for size in dims]
            if value.type in FLOAT_TYPES:
                feeds[value.name] = generator.uniform(0.1, 1, shape).astype(FLOAT_TYPES[value.type])
            elif value.type in INTEGER_TYPES:
                numbers = generator.integers(0, 1, shape, endpoint=True)
                feeds[value.name] = _encode_sample_numbers(numbers, dims).astype(INTEGER_TYPES[value.type])
            else:
                raise ProofImpossible(f"input {value.name} is of type {value.type}")
        return feeds

    def _select_samples(self, samples: range | list[int]) -> Feeds:
        """Return the inputs restricted to the samples with the indices `samples`."""
        feeds = {}
        for name, array in self.samples.items():
            dims = self.task["inputs"][name]
            feeds[name] = array.take(samples, dims.index(None)) if None in dims else array
        return feeds

    def _run(self, session: Any, feeds: Feeds, error_type: type[Exception]) -> list[np.ndarray]:
        """Run a model; raise `error_type` if ONNX Runtime fails."""
        try:
            outputs: list[np.ndarray] = session.run(self.output_names, feeds)
        except MemoryError:
            raise ProofImpossible("it is too large") from None
        except Exception as error:  # the exceptions of ONNX Runtime have no common base class
            raise error_type(_error_reason(error)) from None
        if not all(hasattr(output, "dtype") for output in outputs):
            raise ProofImpossible("an output is not a tensor")
        return outputs


def prove_model(model: Path, task: dict[str, Any] | str, fixed_model: IO[bytes]) -> Proof:
    """Try to prove that a fixed model is equivalent to the original model.

    `model` is the path of the original model. If `task` is a string, it is the reason why no proof is possible. If it
    is a dict, its keys are:

    - `model`, `folder`: the paths of the original model and of its folder;
    - `declared`, `other`: the declared batch size, and another batch size;
    - `inputs`: the input shapes by input name, with None for the batch dim;
    - `places`, `home_places`: the `SampleAxis` of each output at the other and at the declared batch size.
    """
    if fixed_model.seek(0, os.SEEK_END) > MAX_MODEL_BYTES or model.stat().st_size > MAX_MODEL_BYTES:
        return Proof(None, "it is too large")
    if isinstance(task, str):
        return Proof(None, task)
    fixed_model.seek(0)
    try:
        with as_file(files("shapecalc.models") / "prove.py") as program:
            command = [sys.executable, "-P", str(program), json.dumps({**task, "parent": os.getpid()})]
            completed = subprocess.run(
                command,
                stdin=fixed_model,
                env={**os.environ, **NO_TELEMETRY},
                capture_output=True,
                timeout=TIMEOUT_SECONDS,
                check=False,
            )
    except subprocess.TimeoutExpired:
        return Proof(None, f"it takes longer than {TIMEOUT_SECONDS} seconds")
    try:
        result = json.loads(completed.stdout)
    except ValueError:
        return Proof(None, "ONNX Runtime ended with the process that it ran in")
    return Proof(result["proved"], result["why"])


def _encode_sample_numbers(bits: np.ndarray, dims: list[int | None]) -> np.ndarray:
    """Overwrite the first elements of each sample with the sample number in binary.

    Samples then differ in these elements. `bits` is an array of random zeros and ones. It is changed in place and
    returned.
    """
    if None in dims:
        samples = np.moveaxis(bits, dims.index(None), 0)
        for bit, index in zip(range(8), np.ndindex(samples.shape[1:]), strict=False):
            samples[(slice(None), *index)] = np.arange(1, len(samples) + 1) >> bit & 1
    return bits


def _load_session(model: bytes) -> Any:
    """Create an ONNX Runtime session with one thread and without optimizations.

    Equal nodes then compute bit-identical outputs in both models.
    """
    try:
        import onnxruntime
    except ImportError:
        raise ProofImpossible("onnxruntime is not installed") from None
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except MemoryError:
        raise ProofImpossible("it is too large") from None
    except Exception as error:  # the exceptions of ONNX Runtime have no common base class
        raise ProofImpossible(_error_reason(error)) from None


def _error_reason(error: Exception) -> str:
    """Return the last line of an ONNX Runtime error message, which states the cause."""
    message = str(error).strip().rstrip(".")
    return f"ONNX Runtime: {message.splitlines()[-1]}" if message else "ONNX Runtime failed"


def _take_sample(array: np.ndarray, sample_axis: SampleAxis, batch: int, sample: int) -> np.ndarray:
    """Return one sample of an output, or the whole output if it has no batch axis."""
    if sample_axis is None or batch == 1:
        return array
    axis, inner = sample_axis
    return array.take(np.flatnonzero(np.arange(array.shape[axis]) // inner % batch == sample), axis)


def _is_close(actual: np.ndarray, expected: np.ndarray) -> bool:
    """Return whether two outputs are equal within the tolerance of the element type."""
    if actual.shape != expected.shape:
        return False
    if actual.dtype.kind != "f":
        return bool(np.array_equal(actual, expected))
    finite = np.isfinite(expected)
    if not np.array_equal(actual[~finite], expected[~finite], equal_nan=True) or not np.isfinite(actual[finite]).all():
        return False
    tolerance = (HALF_PRECISION_TOLERANCE if actual.dtype.itemsize == 2 else RELATIVE_TOLERANCE) * np.abs(
        expected[finite]
    ).max(initial=0)
    return bool((np.abs(actual[finite] - expected[finite]) <= tolerance).all())


def _run_checker(task: Mapping[str, Any], fixed_model: bytes) -> str:
    """Run ONNX's checker on the fixed model; return a note to append to `Proof.why`.

    Raises `ProofFailed` if the checker rejects the fixed model but not the original model.
    """
    refusal = _checker_error(fixed_model)
    if not refusal:
        return "; checker passes"
    if _checker_error(Path(task["model"]).read_bytes()):
        return "; the checker refuses it, as it refuses the model that was read"
    raise ProofFailed(f"the checker refuses it: {refusal}")


def _checker_error(model: bytes) -> str:
    """Return the error message of ONNX's checker; empty if the model is valid."""
    import onnx

    try:
        onnx.checker.check_model(model)
    except Exception as error:  # the exceptions of the checker have no common base class
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


def _exit_with_parent(parent_id: int) -> None:
    """Exit when the parent process has died: a killed parent cannot stop its child."""
    while os.getppid() == parent_id:
        time.sleep(POLL_SECONDS)
    os._exit(1)


def main() -> int:
    """Run the task in the first command line argument; print the `Proof` as JSON."""
    proved: bool | None
    task = json.loads(sys.argv[1])
    _limit_memory()
    Thread(target=_exit_with_parent, args=(task["parent"],), daemon=True).start()
    try:
        fixed = sys.stdin.buffer.read()
        os.chdir(task["folder"])
        checker_note = _run_checker(task, fixed)
        proved, why = True, ModelComparison(task, fixed).compare_outputs() + checker_note
    except (ProofImpossible, ProofFailed) as error:
        proved, why = False if isinstance(error, ProofFailed) else None, str(error)
    except MemoryError:
        proved, why = None, "it is too large"
    json.dump({"proved": proved, "why": why}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())

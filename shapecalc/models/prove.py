"""Prove a fixed model: compare it with the original model in ONNX Runtime.

Both models run on the same random samples. They run in a separate process with limits on memory and time, because the
cost of a model is unknown. The process runs this file as a script, so this file imports nothing from shapecalc. The
first argument of the script is the task as JSON. The script reads the fixed model from standard input, and writes the
`Proof` as JSON to standard output. The working directory of the process is the folder of the model and its external
data.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.resources import as_file, files
from pathlib import Path
from threading import Thread
from typing import IO, Any, NoReturn

import numpy as np

Feeds = dict[str, np.ndarray]
"""The input arrays of a model by input name."""
SampleAxis = tuple[int, int] | None
"""The fields `axis` and `inner` of an output's `batch_axis.BatchAxis`, or None for an output without a batch axis."""
UNKNOWN_AXIS = "unknown"
"""The text for an unknown batch axis in a task, where a `SampleAxis` is expected."""
BIT_FOR_BIT, SAMPLE_BY_SAMPLE, CHECKER = "bit for bit", "sample by sample", "checker"
"""The values of `ProofCheck.what`."""
NO_TELEMETRY = {"ORT_DISABLE_TELEMETRY": "1"}
"""The environment variable that disables ONNX Runtime's telemetry, which would also write a file."""
TIMEOUT_SECONDS = 300
"""The time limit of a proof, in seconds."""
MAX_MODEL_BYTES = 2**31 - 1
"""The maximum size, in bytes, of a model that ONNX Runtime can parse."""
MEMORY_SHARE = 0.75
"""The fraction of the physical memory that a proof may use."""
POLL_SECONDS = 0.5
"""The interval, in seconds, between checks whether the parent process is alive."""
SEED = 20
RELATIVE_TOLERANCE = 1e-5
"""The tolerance of a comparison, relative to the largest absolute element.

Outputs at different batch sizes may differ by rounding, because the order of floating-point sums may change.
"""
HALF_PRECISION_TOLERANCE = 2e-3
"""The tolerance for 16-bit floats, relative to the largest absolute element."""
FLOAT_TYPES = {"tensor(float)": "float32", "tensor(double)": "float64", "tensor(float16)": "float16"}
INTEGER_TYPES = {f"tensor({kind}int{bits})": f"{kind}int{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64)}
INTEGER_TYPES |= {"tensor(bool)": "bool"}
"""The NumPy names of integer and boolean types, by ONNX Runtime's names."""


@dataclass(frozen=True, slots=True)
class ProofCheck:
    """One comparison of a proof."""

    size: int | None
    """The batch size of the comparison, or None for ONNX's checker, which does not run the model."""
    what: str
    """The kind of comparison: "bit for bit", "sample by sample" or "checker".

    For a run without a comparison, it names the sizes, such as "runs at H = 64".
    """
    ok: bool


@dataclass(frozen=True, slots=True)
class Proof:
    """The result of a proof."""

    proved: bool | None
    """Whether the outputs of both models are equal, or None if no proof was possible."""
    why: str
    """The tested batch sizes, the difference between the models, or the reason why no proof was possible."""
    checks: tuple[ProofCheck, ...] = ()
    """The comparisons that were made, in order."""
    refusal: str = ""
    """The first line of the error of ONNX's checker if the original model is invalid, otherwise an empty string."""
    missing_module: str = ""
    """The name of a missing module that is required for a proof, or an empty string."""


class ProofImpossible(Exception):
    """The exception raised if no proof is possible.

    The message states the reason.
    """


class ProofFailed(Exception):
    """The exception raised if the models differ.

    The message describes the difference.
    """


class InvalidModel(Exception):
    """The exception raised if the original model is invalid."""


class ModelComparison:
    """A comparison of the original and the fixed model on the same samples."""

    def __init__(self, task: Mapping[str, Any]) -> None:
        """Create a comparison for a proof task (see `prove_model`)."""
        self.task, self.declared_batch, self.batches = task, task["declared"], task["batches"]
        self.checks: list[ProofCheck] = []
        self._refusal = ""

    def load_models(self, fixed_model: bytes) -> None:
        """Load both models, and generate random inputs.

        Raises `InvalidModel` if the original model is invalid, and `ProofImpossible` if ONNX Runtime does not load it.
        Raises `ProofFailed` if ONNX Runtime or ONNX's checker rejects only the fixed model.
        """
        original = Path(self.task["model"]).read_bytes()
        refusal = _checker_error(original)
        try:
            self.original_session = _load_session(original)
        except ProofImpossible as error:
            if refusal := refusal or _checker_error(original, infer_types=True):
                raise InvalidModel(refusal) from None
            raise ProofImpossible(f"the model that was read does not load: {error}") from None
        self._refusal = refusal
        self._run_checker(fixed_model)
        try:
            self.fixed_session = _load_session(fixed_model)
        except ProofImpossible as error:
            raise ProofFailed(f"the fixed model does not load: {error}") from None
        self.output_names = [output.name for output in self.fixed_session.get_outputs()]
        self.samples = self._generate_inputs(np.random.default_rng(SEED))

    def compare_outputs(self) -> None:
        """Compare the outputs of both models, and record each comparison in `checks`.

        Raises `ProofImpossible` if no proof is possible, and `ProofFailed` if the models differ.
        """
        home = self._run_session(self.original_session, range(self.declared_batch), ProofImpossible)
        fixed = self._run_fixed_model(self.declared_batch, BIT_FOR_BIT)
        self.home_shapes = [output.shape for output in fixed]
        home = self._insert_batch_axes(home)
        for name, old, new in zip(self.output_names, home, fixed, strict=True):
            if old.shape != new.shape or old.dtype != new.dtype or old.tobytes() != new.tobytes():
                self._fail_comparison(
                    self.declared_batch, BIT_FOR_BIT, f"output {name} differs at batch {self.declared_batch}"
                )
        self.checks.append(ProofCheck(self.declared_batch, BIT_FOR_BIT, ok=True))
        alone = [(home, sample) for sample in range(self.declared_batch)]
        for batch in self.batches:
            for sample in range(len(alone), batch):
                copies = [sample] * self.declared_batch
                outputs = self._run_session(self.original_session, copies, ProofImpossible)
                alone.append((self._insert_batch_axes(outputs), 0))
            self._compare_samples(batch, alone[:batch])
            self.checks.append(ProofCheck(batch, SAMPLE_BY_SAMPLE, ok=True))

    def run_at_other_sizes(self) -> None:
        """Run the fixed model at the other sizes of its free dims, and record each run in `checks`.

        Raises `ProofFailed` if ONNX Runtime fails.
        """
        generator = np.random.default_rng(SEED)
        for other in self.task.get("runs", ()):
            self.task = {**self.task, "inputs": other["inputs"]}
            self.batches, self.samples = [], self._generate_inputs(generator)
            what = f"runs at {other['at']}"
            try:
                self.fixed_session.run(self.output_names, self.samples)
            except MemoryError:
                raise ProofImpossible("it is too large") from None
            except Exception as error:  # the exceptions of ONNX Runtime have no common base class
                self._fail_comparison(self.declared_batch, what, f"at {other['at']}: {_error_reason(error)}")
            self.checks.append(ProofCheck(self.declared_batch, what, ok=True))

    def _insert_batch_axes(self, outputs: list[np.ndarray]) -> list[np.ndarray]:
        """Insert a batch axis of size 1 into each output that lacks it.

        The original model drops such an axis at a batch size of 1, and the fixed model keeps it.
        """
        if not self.task["gains_axis"]:
            return outputs
        pairs = zip(outputs, self.home_shapes, strict=True)
        return [
            output.reshape(shape)
            if [size for size in output.shape if size != 1] == [size for size in shape if size != 1]
            else output
            for output, shape in pairs
        ]

    def describe(self) -> str:
        """Describe the successful comparisons.

        For example, `batch 1 bit for bit; checker passes`.
        """
        passed = [check for check in self.checks if check.ok]
        texts = [f"batch {check.size} {BIT_FOR_BIT}" for check in passed if check.what == BIT_FOR_BIT]
        others = sorted([check.size or 0 for check in passed if check.what == SAMPLE_BY_SAMPLE])
        texts += [f"{_format_batches(others)} {SAMPLE_BY_SAMPLE}"] if others else []
        texts += [check.what for check in passed if check.what.startswith("runs at ")]
        checker = ["checker passes"] if any(check.what == CHECKER for check in passed) else []
        checker += ["the checker refuses it, as it refuses the model that was read"] if self._refusal else []
        return "; ".join([", ".join(texts), *checker] if texts else checker)

    def _run_checker(self, fixed_model: bytes) -> None:
        """Run ONNX's checker on the fixed model.

        Raises `ProofFailed` if the checker rejects the fixed model but not the original model.
        """
        error = "" if self._refusal else _checker_error(fixed_model)
        if not self._refusal:
            self.checks.append(ProofCheck(None, CHECKER, ok=not error))
        if error:
            raise ProofFailed(f"the checker refuses it: {error}")

    def _compare_samples(self, batch: int, alone: Sequence[tuple[list[np.ndarray], int]]) -> None:
        """Compare each sample of a batch with its output from the original model.

        `alone` contains, for each sample, the outputs of an original model's run and the index of the sample in this
        run. Raises `ProofFailed` if the outputs differ.
        """
        actual = self._run_fixed_model(batch, SAMPLE_BY_SAMPLE)
        for index, name in enumerate(self.output_names):
            expected = [(outputs[index], sample) for outputs, sample in alone]
            axes = self._candidate_axes(index, batch, actual[index].shape, expected[0][0].shape)
            differing = [self._find_first_difference(actual[index], batch, expected, *pair) for pair in axes]
            if None not in differing:
                sample = max(differing, key=lambda number: number or 0, default=0)
                self._fail_comparison(
                    batch, SAMPLE_BY_SAMPLE, f"output {name} differs in sample {sample} of batch {batch}"
                )

    def _candidate_axes(
        self, index: int, batch: int, shape: tuple[int, ...], home_shape: tuple[int, ...]
    ) -> list[tuple[SampleAxis, SampleAxis]]:
        """Return the possible sample axes of an output, at two batch sizes.

        Each pair contains the axis at batch size `batch` and the axis at the declared batch size. If the batch marks do
        not determine the axes, every axis that can hold the samples is a candidate.
        """
        known = self.task["places"].get(str(batch))
        if known is not None and known[index] != UNKNOWN_AXIS:
            return [(known[index], self.task["home_places"][index])]
        home_axes = [*_iter_sample_axes(home_shape, self.declared_batch)]
        return [(axis, home_axis) for axis in _iter_sample_axes(shape, batch) for home_axis in home_axes]

    def _find_first_difference(
        self,
        actual: np.ndarray,
        batch: int,
        expected: Sequence[tuple[np.ndarray, int]],
        axis: SampleAxis,
        home_axis: SampleAxis,
    ) -> int | None:
        """Return the number of the first differing sample.

        Returns None if all samples are equal to their expected outputs.
        """
        for sample, (array, index) in enumerate(expected):
            alone = _select_sample(array, home_axis, self.declared_batch, index)
            if not _are_outputs_close(_select_sample(actual, axis, batch, sample), alone):
                return sample
        return None

    def _fail_comparison(self, batch: int, what: str, message: str) -> NoReturn:
        """Record a failed comparison, and raise `ProofFailed`."""
        self.checks.append(ProofCheck(batch, what, ok=False))
        raise ProofFailed(message)

    def _generate_inputs(self, generator: np.random.Generator) -> Feeds:
        """Generate random inputs for the largest of the batch sizes.

        Raises `ProofImpossible` for an input of unknown shape or unsupported type.
        """
        largest = max(self.declared_batch, *self.batches, 1)
        feeds = {}
        for value in self.fixed_session.get_inputs():
            dims = self.task["inputs"].get(value.name)
            if dims is None:
                raise ProofImpossible(f"the shape of input {value.name} is not known")
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
        """Return the inputs that contain only the samples with the indices `samples`."""
        feeds = {}
        for name, array in self.samples.items():
            dims = self.task["inputs"][name]
            feeds[name] = array.take(samples, dims.index(None)) if None in dims else array
        return feeds

    def _run_fixed_model(self, batch: int, what: str) -> list[np.ndarray]:
        """Run the fixed model on the first `batch` samples, and return its outputs.

        `what` is the comparison that needs the outputs.
        """
        try:
            return self._run_session(self.fixed_session, range(batch), ProofFailed)
        except ProofFailed as error:
            self._fail_comparison(batch, what, f"at batch {batch}: {error}")

    def _run_session(self, session: Any, samples: range | list[int], error_type: type[Exception]) -> list[np.ndarray]:
        """Run a model on the samples with the indices `samples`, and return its outputs.

        Raises `error_type` if ONNX Runtime fails.
        """
        try:
            outputs: list[np.ndarray] = session.run(self.output_names, self._select_samples(samples))
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
    - `declared`, `batches`: the declared batch size, and the other batch sizes;
    - `inputs`: the input shapes by input name, with None for the batch dim;
    - `places`: the `SampleAxis` of each output, or `UNKNOWN_AXIS`, by batch size as text;
    - `home_places`: the `SampleAxis` of each output at the declared batch size;
    - `unfixed`: the reason why the fixed model may not be correct at every batch size, or an empty string;
    - `gains_axis`: whether a fix keeps a batch axis that the original model drops at a batch size of 1;
    - `is_doubtful`: whether a node of the fixed model is known to fail or to mix the samples at some batch size.

    The optional key "runs" contains other sizes at which the fixed model must run, each with a text and input shapes.
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
    return Proof(**{**result, "checks": tuple([ProofCheck(**check) for check in result["checks"]])})


def _format_batches(sizes: Sequence[int]) -> str:
    """Format batch sizes for the description of a proof.

    >>> _format_batches([3]), _format_batches([1, 3, 5])
    ('batch 3', 'batches 1, 3 and 5')
    """
    *others, last = map(str, sizes)
    return f"batches {', '.join(others)} and {last}" if others else f"batch {last}"


def _iter_sample_axes(shape: Sequence[int], batch: int) -> Iterator[SampleAxis]:
    """Yield every possible sample axis of an output of shape `shape`.

    The value None stands for an output without a batch axis.
    """
    yield None
    for axis, size in enumerate(shape if batch > 1 else ()):
        yield from ((axis, inner) for inner in range(1, size // batch + 1) if size % (inner * batch) == 0)


def _encode_sample_numbers(bits: np.ndarray, dims: list[int | None]) -> np.ndarray:
    """Overwrite the first elements of each sample with its sample number in binary.

    This makes all samples distinct. `bits` is an array of random zeros and ones; it is modified in place and returned.
    """
    if None in dims:
        samples = np.moveaxis(bits, dims.index(None), 0)
        for bit, index in zip(range(8), np.ndindex(samples.shape[1:]), strict=False):
            samples[(slice(None), *index)] = np.arange(1, len(samples) + 1) >> bit & 1
    return bits


def _load_session(model: bytes) -> Any:
    """Create a single-threaded ONNX Runtime session without optimizations.

    Equal nodes then compute bit-identical outputs in both models.
    """
    import onnxruntime

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
    """Return the last line of an ONNX Runtime error, which states the reason."""
    message = str(error).strip().rstrip(".")
    return f"ONNX Runtime: {message.splitlines()[-1]}" if message else "ONNX Runtime failed"


def _select_sample(array: np.ndarray, sample_axis: SampleAxis, batch: int, sample: int) -> np.ndarray:
    """Return one sample of an output, or the whole output if it has no batch axis."""
    if sample_axis is None or batch == 1:
        return array
    axis, inner = sample_axis
    return array.take(np.flatnonzero(np.arange(array.shape[axis]) // inner % batch == sample), axis)


def _are_outputs_close(actual: np.ndarray, expected: np.ndarray) -> bool:
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


def _checker_error(model: bytes, *, infer_types: bool = False) -> str:
    """Return the first line of the ONNX checker's error.

    Returns an empty string if the model is valid. If `infer_types` is True, the checker also infers the types and
    shapes of all tensors.
    """
    import onnx

    try:
        onnx.checker.check_model(model, full_check=infer_types)
    except Exception as error:  # the exceptions of the checker have no common base class
        return str(error).strip().partition("\n")[0] or "it gives no reason"
    return ""


def _limit_memory() -> None:
    """Limit the memory of this process to `MEMORY_SHARE` of the physical memory."""
    most = 2**33
    with suppress(AttributeError, ValueError, OSError):
        most = int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * MEMORY_SHARE)
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _exit_with_parent(parent_id: int) -> None:
    """Exit this process when the parent process has ended.

    A killed parent cannot stop its child.
    """
    while os.getppid() == parent_id:
        time.sleep(POLL_SECONDS)
    os._exit(1)


def run_task(task: Mapping[str, Any], fixed_model: bytes) -> Proof:
    """Run the comparisons of a proof task (see `prove_model`)."""
    comparison, unfixed = ModelComparison(task), task["unfixed"]
    proved: bool | None = None
    why = unfixed
    try:
        comparison.load_models(fixed_model)
        comparison.compare_outputs()
        comparison.run_at_other_sizes()
        proved, why = (None, unfixed) if task["is_doubtful"] else (True, "")
    except ImportError as error:
        return Proof(None, f"{error.name} is not installed", missing_module=error.name or "onnxruntime")
    except InvalidModel as error:
        return Proof(None, "the model that was read is not valid", refusal=str(error))
    except ProofImpossible as error:
        why = str(error)
    except MemoryError:
        why = "it is too large"
    except ProofFailed as error:
        if not unfixed or comparison.checks[-1].size in (None, comparison.declared_batch):
            return Proof(False, str(error), tuple(comparison.checks))
    return Proof(proved, "; ".join(filter(None, (why, comparison.describe()))), tuple(comparison.checks))


def main() -> int:
    """Run the proof task in the first command line argument.

    Prints the `Proof` as JSON.
    """
    task = json.loads(sys.argv[1])
    _limit_memory()
    Thread(target=_exit_with_parent, args=(task["parent"],), daemon=True).start()
    fixed = sys.stdin.buffer.read()
    os.chdir(task["folder"])
    json.dump(asdict(run_task(task, fixed)), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())

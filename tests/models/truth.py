"""Judge `model` and `model --fix` beside ONNX Runtime: `python -m tests.models.truth FILE...`.

Each file is fixed, and the written file runs at 1, 2, 3 and 5 samples. Each sample must be as in the model that was
read, at its declared batch. The model that was read runs at these sizes, too: the report must name the node that fails
or one above it, some node if a sample differs, and no node if every sample is equal. At each size from 1 to 40 of each
free dim, and at all pairs of two (at some pairs of more), the model runs where the conditions of the report hold.

Prints a line per file, and exits with 1 if a file with exit code 0 does not hold, or if a report misses a failure,
reports one that does not exist, or has other conditions.
"""

from __future__ import annotations

import io
import json
import re
import sys
import tempfile
from contextlib import redirect_stdout
from itertools import combinations, product
from pathlib import Path

import numpy as np
import onnx

from shapecalc.__main__ import TextualApp
from shapecalc.cli.app import run_command_line
from shapecalc.models.prove import FLOAT_TYPES, INTEGER_TYPES
from shapecalc.models.verdicts import FAILING_VERDICTS
from tests.models.samples import freed, session

SIZES = (1, 2, 3, 5)
MAX_SIZE = 40
"""The largest size at which a dim is tried."""
DTYPES = FLOAT_TYPES | INTEGER_TYPES


class OriginalFailed(Exception):
    """The exception raised if a model does not run at the sizes of its report, where nothing can be compared."""


def fix(path, target):
    """Run `model --fix --json`; return the exit code and the JSON object."""
    with redirect_stdout(io.TextIOWrapper(io.BytesIO(), "utf-8")) as out:
        code = run_command_line(["model", str(path), "--fix", "-o", str(target), "--json"], TextualApp())
    out.seek(0)
    return code, json.load(out)


def reported_failures(report):
    """Return the paths of the nodes that a report names as failing."""
    words = {verdict.value for verdict in FAILING_VERDICTS}
    words |= {"sometimes"} if report["declared_batch"] else set()
    failing = [node["path"] for node in report["nodes"] if node["verdict"] in words]
    return failing + [stop["path"] for stop in report["stops"]]


def wrong_report(path, report):
    """Return what a report says of a model without fixes against ONNX Runtime; empty if both agree."""
    proto = onnx.load(path)
    truth = difference(proto, freed(proto), report)
    failing = reported_failures(report)
    if bool(truth) != bool(failing):
        return f"MISSED: {truth}" if truth else f"FALSE ALARM: {', '.join(failing)}"
    indices = {node.name: index for index, node in enumerate(proto.graph.node) if node.name}
    stopped = [indices[name] for name in re.findall(r"Name:'([^']+)'", truth) if name in indices]
    first = min([int(name.split("/")[0]) for name in failing], default=0)
    return f"NAMES OTHERS: {truth}" if stopped and first > min(stopped) else ""


def wrong_limits(path, report):
    """Return where the conditions of a report differ from what ONNX Runtime runs; empty if they agree."""
    running = session(onnx.load(path))
    declared = {value.name: value.shape for value in running.get_inputs()}
    taken = {value["name"]: value["taken"] for value in report["inputs"]}
    home = {report["batch"]: 1} | report["assumed"] | (report["tried"] or {})
    free = {
        own
        for name, shape in declared.items()
        for dim, own in zip(shape, taken[name] or (), strict=False)
        if not isinstance(dim, int) and (own != report["batch"] or own in (report["tried"] or {}))
    }
    names = [name for name in home if name in free]
    if not runs_at(running, taken, home):  # its data, not its shapes, forbid these sizes
        return ""
    if report["tried"] and not report["runs_where"]:
        return "no conditions"
    step = 1 if len(names) == 2 else 3
    for chosen in [*combinations(names, 1), *combinations(names, 2)]:
        for sizes in product(range(1, MAX_SIZE + 1, step if len(chosen) > 1 else 1), repeat=len(chosen)):
            at = home | dict(zip(chosen, sizes, strict=True))
            predicted = all(eval(condition, {}, at) for condition in report["runs_where"])
            if predicted != runs_at(running, taken, at):
                shown = ", ".join(f"{name} = {at[name]}" for name in chosen)
                return f"{'fails' if predicted else 'runs'} at {shown}, of {report['runs_where']}"
    return ""


def runs_at(running, taken, sizes):
    """Return whether a session runs with inputs of ones at sizes of the free dims."""
    feeds = {
        value.name: np.ones([sizes.get(dim, dim) for dim in taken[value.name]], DTYPES[value.type])
        for value in running.get_inputs()
    }
    try:
        running.run(None, feeds)
    except Exception:  # the exceptions of ONNX Runtime have no common base class
        return False
    return True


def difference(model, fixed, report):
    """Return the first difference between a model and its fixed model; empty if every sample agrees."""
    declared, batch = report["declared_batch"] or 1, report["batch"]
    before, after = session(model), session(fixed)
    dims = {value["name"]: value["taken"] for value in report["inputs"]}
    samples = {}
    for value in after.get_inputs():
        shape = [report["assumed"].get(dim, max(SIZES)) if isinstance(dim, str) else dim for dim in dims[value.name]]
        dtype = np.dtype(DTYPES[value.type])
        drawn = np.random.default_rng(sum(map(ord, value.name))).uniform(-1, 1, shape)
        samples[value.name] = (drawn if dtype.kind == "f" else drawn > 0).astype(dtype)

    def feeds(chosen):
        return {
            name: array.take(chosen, dims[name].index(batch)) if batch in dims[name] else array
            for name, array in samples.items()
        }

    names = [output.name for output in after.get_outputs()]
    try:
        alone = [before.run(names, feeds([sample] * declared)) for sample in range(max(SIZES))]
    except Exception as error:  # the exceptions of ONNX Runtime have no common base class
        raise OriginalFailed(f"the model that was read fails: {' '.join(str(error).splitlines())}") from None
    if any(fix.get("gains_axis") for fix in (report.get("fixed") or {}).get("mended", ())):
        home = after.run(names, feeds(range(declared)))
        alone = [[put_back_axes(*pair) for pair in zip(outputs, home, strict=True)] for outputs in alone]
    for size in SIZES:
        try:
            outputs = after.run(names, feeds(range(size)))
        except Exception as error:  # the exceptions of ONNX Runtime have no common base class
            return f"fails at {size}: {' '.join(str(error).splitlines())}"
        for index, name in enumerate(names):
            if not has_samples(outputs[index], [output[index] for output in alone[:size]], declared):
                return f"{name} differs at {size}"
    return ""


def put_back_axes(array, like):
    """Return an array with the axes of size 1 of another array, if it has the same other axes."""
    return array.reshape(like.shape) if np.squeeze(array).shape == np.squeeze(like).shape else array


def has_samples(array, alone, declared):
    """Return whether some axis of an array holds the samples; each of `alone` is one sample at the declared batch."""
    homes = [*axes(alone[0].shape, declared)]
    return any(
        all(is_close(take(array, axis, len(alone), at), take(one, home, declared, 0)) for at, one in enumerate(alone))
        for axis in axes(array.shape, len(alone))
        for home in homes
    )


def axes(shape, batch):
    """Yield the axes that may hold the samples, each with the number of elements of one sample; None is no axis."""
    yield None
    for axis, size in enumerate(shape):
        yield from ((axis, inner) for inner in range(1, size // batch + 1) if size % (inner * batch) == 0)


def take(array, axis, batch, sample):
    """Return one sample of an array."""
    if axis is None:
        return array
    return array.take(np.flatnonzero(np.arange(array.shape[axis[0]]) // axis[1] % batch == sample), axis[0])


def is_close(array, other):
    """Return whether two arrays are equal up to rounding."""
    if array.shape != other.shape or array.dtype != other.dtype:
        return False
    return (array.dtype.kind != "f" and np.array_equal(array, other)) or np.allclose(array, other, 1e-3, 1e-4, True)


def main(paths):
    """Judge the files; return 1 if a file with exit code 0 does not hold, or a report is wrong."""
    wrong = 0
    for path in map(Path, paths):
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "fixed.onnx"
            code, report = fix(path, target)
            try:
                found = (
                    difference(onnx.load(path), onnx.load(target), report)
                    if target.exists()
                    else "refused"
                    if report.get("problem")
                    else "nothing written"
                )
                said = "" if report.get("problem") else wrong_report(path, report)
            except OriginalFailed as error:
                found, said = str(error), ""
            limits = "" if report.get("problem") else wrong_limits(path, report)
        wrong += (code == 0 and found != "") + (said != "") + (limits != "")
        print(f"{path.name}: exit {code}: {found or 'holds'}: {(report.get('fixed') or {}).get('why', '')}")
        if said:
            print(f"{path.name}: report: {said}")
        if limits:
            print(f"{path.name}: runs_where: {limits}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

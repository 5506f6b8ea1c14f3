"""Judge real exports and compare with ONNX Runtime at batch sizes that were not walked.

    python tests/models/export.py export FOLDER [NAME...]  where torch, torchvision, timm and transformers are, and
                                                           where tensorflow and tf2onnx are
    python tests/models/export.py judge FOLDER...          where shapecalc, onnx and onnxruntime are

Names are beginnings of models' names; without any all models are exported.

Each runs in an environment of its own, and none in the tests: the exporters are large. Of the exporters
that are not installed nothing is written. Weights are drawn, none are loaded. A folder may hold any other `.onnx`
files. A hash of their names splits them into those to tune on and those held out.
"""

from __future__ import annotations

import sys
import zlib
from collections import Counter
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

SIZES = (2, 4)
"""The batch sizes to run: a walked one and another."""
LARGEST = 1 << 28
"""The size in bytes above which a model is judged but not run."""


def exported_models(library):
    """Return the exported models of a library by name, with their image sizes."""
    rows = [line.split() for line in Path(__file__).with_name("exports.txt").read_text().splitlines()]
    return {row[1]: int(row[2]) for row in rows if row[0] == library}


def export(folder, beginnings):
    """Write the models of the installed exporters, except existing files."""
    folder.mkdir(parents=True, exist_ok=True)
    for library, module in (("torch", "torch_models"), ("tf2onnx", "tensorflow_models")):
        for name, write in import_module(f"tests.models.{module}").exports() if find_spec(library) else ():
            path, said = folder / f"{name}.onnx", ""
            if name.startswith(beginnings or "") and not path.exists():
                try:
                    write(path)
                except Exception as error:
                    said = f": not exported: {type(error).__name__}: {str(error).splitlines()[:1]}"
                print(f"{path.name}{said}", flush=True)


def judge(folders):
    """Print the number of reported and of wrong shapes, for each model and in total."""
    totals = Counter()
    for path in [path for folder in folders for path in sorted(folder.rglob("*.onnx"))]:
        group = "tuned" if zlib.crc32(path.name.encode()) % 2 else "held"
        try:
            counts, notes = check_model(path)
        except Exception as error:
            counts, notes = {"crashed": 1}, [f"{type(error).__name__}: {error}"]
        totals.update({(group, key): count for key, count in counts.items()})
        print(path.name, dict(counts), *notes[:6], sep="  ", flush=True)
    for (group, key), count in sorted(totals.items()):
        print(group, key, count)


def check_model(path):
    """Return the counts for a model, and notes on the differences."""
    from shapecalc.models.free_dims import BatchOptions
    from shapecalc.models.judge import report_model

    report = report_model(path, BatchOptions(sizes=(1, 2, 3)))
    nodes, unknown = report.nodes, [each for each in report.nodes if each.verdict.value == "unknown"]
    told = sum(each.input is not None and None not in each.input for each in nodes)
    counts = {"nodes": len(nodes), "told": told, "unknown": len(unknown), "wrong": 0, "missed": 0, "false": 0}
    if path.stat().st_size > LARGEST:
        return counts, ["not run"]
    notes = [f"{each.node.op} {each.node.name}: {each.why}" for each in unknown][:2]
    for batch in sorted({report.declared_batch or 1, *SIZES}):
        compare(path, report, batch, counts, notes)
    return counts, notes


def compare(path, report, batch, counts, notes):
    """Run a model at a batch size, and count wrong shapes and unreported failures.

    A node that swallows the batch does not fail itself; it is reported with the failure below it.
    """
    from tests.models.judging import size_of

    found, failed = run(path, report, batch)
    nodes = [each for each in report.nodes if "/" not in each.node.path]
    failing = [each for each in nodes if each.runs.get(batch) == "fails"]
    offends, judged = any(each.is_failing for each in report.nodes), batch in report.sizes
    if judged and failed and not (failing or offends or report.stops):
        counts["missed"] += 1
        notes.append(f"N={batch}: fails, and nothing was told: {failed[:200]}")
    if judged and failing and not failed:
        counts["false"] += 1
        notes.append(f"N={batch}: runs, and {failing[0].node.name} was told to fail")
    for each in [each for each in nodes if each.tensors[0][0] in found and each.input is not None]:
        seen = found[each.tensors[0][0]]
        counts["held"] = counts.get("held", 0) + 1
        wanted = [size_of(dim, {**report.assumed, report.batch: batch}) for dim in each.input]
        if len(wanted) != len(seen) or any(a is not None and a != b for a, b in zip(wanted, seen, strict=True)):
            counts["wrong"] += 1
            notes.append(f"N={batch}: {each.node.op} {each.node.name}: told {each.input}, is {seen}")


def run(path, report, batch):
    """Return the shapes of all tensors of the graph by name, and the failing node or None."""
    import numpy as np
    import onnx

    from tests.models.samples import run_until_failure

    model = onnx.load(path)
    kinds = {each.name: each.type.tensor_type for each in model.graph.input}
    sizes, feeds = {**report.assumed, report.batch: batch}, {}
    for each in report.inputs:
        if each.taken is None:
            return {}, ""
        shape = [sizes[dim] if isinstance(dim, str) else dim for dim in each.taken]
        for dim, size in zip(kinds[each.name].shape.dim, shape, strict=True):
            dim.dim_value = size
        feeds[each.name] = np.ones(shape, onnx.helper.tensor_dtype_to_np_dtype(kinds[each.name].elem_type))
    del model.graph.value_info[:]
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    have = {each.name for each in (*model.graph.output, *model.graph.initializer)} | {*feeds}
    wanted = {each.tensors[0][0] for each in report.nodes if "/" not in each.node.path} - have
    model.graph.output.extend([onnx.helper.make_empty_tensor_value_info(name) for name in sorted(wanted)])
    shapes, failed = run_until_failure(model, feeds)
    return shapes and shapes | {name: array.shape for name, array in feeds.items()}, failed or ""


if __name__ == "__main__":
    if sys.argv[1] == "export":
        export(Path(sys.argv[2]), tuple(sys.argv[3:]))
    else:
        judge([Path(folder) for folder in sys.argv[2:]])

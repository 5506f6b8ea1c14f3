"""Replace the free dims of a model by fixed sizes, and verify the result."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from tempfile import mkstemp
from typing import Any

from shapecalc.core.answers import EMPTY_DICT
from shapecalc.core.problem import usage_error
from shapecalc.core.record import Record, replace
from shapecalc.core.text import escape_unprintable, truncate
from shapecalc.engine.atomic_files import atomic_file
from shapecalc.models.file import Model, ValueInfo, build_model, read_model
from shapecalc.models.free_dims import InputChoice, Lane
from shapecalc.models.judge import JudgedModel
from shapecalc.models.propagate import BatchTracker
from shapecalc.models.prove import Proof, ProofCheck
from shapecalc.models.report import Report
from shapecalc.models.verdicts import NodeFix
from shapecalc.models.walk import walk_model
from shapecalc.models.write import (
    check_output_path,
    prove_equivalence,
    serialize_model,
    update_declarations,
    write_fixed_model,
)


class StaticModel(Record):
    """The result of writing a model with fixed sizes for its free dims."""

    path: str | None
    """The path of the output file, or None if nothing was written."""
    sizes: Mapping[str, int]
    proved: bool | None
    """Whether the proof passed, or None without a proof."""
    why: str
    """A description of the proof, or the reason why there is no proof."""
    proofs: tuple[ProofCheck, ...] = ()


def write_static_model(
    model: Model, sizes: Mapping[str, int], output_path: Path, *, force: bool, prove: bool
) -> StaticModel:
    """Replace the free dims of a model by sizes, and write it to a file.

    If `prove` is True, both models run at these sizes, and no file is written unless their outputs are equal bit for
    bit. Raises `ShapeError` (usage) unless `sizes` has exactly the names of the free dims of the inputs, and
    `ShapeError` (file) if a file is not usable. Raises `OSError` if the file cannot be written.
    """
    shapes = _static_shapes(model.inputs, sizes)
    check_output_path(model, output_path)
    proto = deepcopy(model.proto)
    for value in iter_value_infos(proto.graph):
        _set_dim_sizes(value, sizes)
    _declare_computed_sizes(proto, model, [*shapes.values()])
    proof = Proof(None, "no proof was requested")
    task = {
        "model": str(model.path.resolve()),
        "folder": str(model.path.resolve().parent),
        "declared": 1,
        "batches": [],
        "inputs": shapes,
        "places": {},
        "home_places": [],
        "unfixed": "",
        "is_doubtful": False,
        "gains_axis": False,
    }
    with atomic_file(output_path, force=force, should_commit=lambda: proof.proved is not False) as file:
        for piece in serialize_model(model, proto):
            file.write(piece)
        file.flush()
        if prove:
            proof = prove_equivalence(model.path, proto, task, file)
    path = None if proof.proved is False else str(output_path)
    text = ", ".join(f"{name} = {size}" for name, size in sizes.items())
    why = proof.why.replace("batch 1 bit for bit", f"bit for bit at {text}")
    return StaticModel(path, sizes, proof.proved, why, proof.checks)


def write_static_fixed_model(
    judged_model: JudgedModel,
    report: Report,
    sizes: Mapping[str, int],
    output_path: Path,
    chosen_fixes: Mapping[str, NodeFix],
    edit: Callable[[Any], object] | None = None,
    *,
    force: bool,
    prove: bool,
) -> tuple[Report, StaticModel | None]:
    """Fix a model, replace the free dims of the fixed model by sizes, and write it to a file.

    If `prove` is True, the fixed model is compared with the original model, and the written model with the fixed model.
    Returns the report with the fix result, and the static model, or None if the fixed model was not written. The
    arguments and exceptions are those of `write_fixed_model` and `write_static_model`.
    """
    walk = judged_model.walk
    freed = deepcopy(walk.model.proto)
    update_declarations(freed, walk)
    if edit is not None:
        edit(freed)
    _static_shapes(build_model(freed, walk.model.path, walk.model.payloads).inputs, sizes)
    check_output_path(walk.model, output_path)
    if output_path.exists() and not force:
        raise FileExistsError(output_path)
    with intermediate_path(output_path) as path:
        report = write_fixed_model(judged_model, report, path, chosen_fixes, edit, force=True, prove=prove)
        fixed = report.fix_result
        assert fixed is not None
        if fixed.path is None:
            return report, None
        static = write_static_model(read_model(str(path)), sizes, output_path, force=force, prove=prove)
    return replace(report, fix_result=replace(fixed, path=static.path)), static


@contextmanager
def intermediate_path(output_path: Path) -> Iterator[Path]:
    """Yield the path of a temporary model, which is removed afterwards.

    The model is in the folder of the output file, like its external data.
    """
    descriptor, name = mkstemp(".onnx", f".{output_path.name}.", output_path.parent)
    os.close(descriptor)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _static_shapes(inputs: Sequence[ValueInfo], sizes: Mapping[str, int]) -> dict[str, list[int]]:
    """Return the shape of each input at the given sizes, by input name.

    Raises `ShapeError` (usage) unless `sizes` has exactly the names of the free dims.
    """
    shapes = {value.name: _static_shape(value, sizes) for value in inputs}
    names = {dim for value in inputs for dim in value.dims or () if isinstance(dim, str)}
    for name in sizes:
        if name not in names:
            known = escape_unprintable(", ".join(sorted(names))) or "no named dim"
            raise usage_error(
                f"no free dim is called {escape_unprintable(truncate(name))}", f"it has {known}", argument="static"
            )
    return shapes


def _static_shape(value: ValueInfo, sizes: Mapping[str, int]) -> list[int]:
    """Return the shape of an input at the given sizes.

    Raises `ShapeError` (usage) if a dim has no size.
    """
    shape = []
    for dim in (None,) if value.dims is None else value.dims:
        size = sizes.get(dim) if isinstance(dim, str) else dim
        if size is None:
            name = escape_unprintable(truncate(value.name))
            shown = (
                escape_unprintable(truncate(dim)) if isinstance(dim, str) else f"a dim of input {name} without a name"
            )
            raise usage_error(f"{shown} has no size", argument="static")
        shape.append(size)
    return shape


def _declare_computed_sizes(proto: Any, model: Model, input_shapes: Sequence[Sequence[int]]) -> None:
    """Declare the sizes that follow from the input shapes in a ModelProto."""
    lane = Lane(1, EMPTY_DICT, judged=True)
    walk = walk_model(model, InputChoice("", None, tuple(map(tuple, input_shapes)), (lane,)), BatchTracker())
    numbers = {model.names[number]: number for node in model.graph.nodes for number in node.outputs}
    for value in (*proto.graph.output, *proto.graph.value_info):
        shape = walk.shapes_of(numbers[value.name])[0] if value.name in numbers else None
        tensor = value.type.tensor_type
        if shape is None or not value.type.HasField("tensor_type"):
            continue
        for _ in () if tensor.HasField("shape") else shape:
            tensor.shape.dim.add()
        for dim, size in zip(tensor.shape.dim, shape, strict=False):
            if len(tensor.shape.dim) == len(shape) and not dim.HasField("dim_value"):
                dim.dim_value = size


def iter_value_infos(graph: Any) -> Iterator[Any]:
    """Yield each ValueInfoProto of a graph and of its subgraphs."""
    yield from (*graph.input, *graph.output, *graph.value_info)
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield from iter_value_infos(inner)


def _set_dim_sizes(value: Any, sizes: Mapping[str, int]) -> None:
    """Replace dim names in a ValueInfoProto by their sizes.

    Names without a size are removed.
    """
    for dim in value.type.tensor_type.shape.dim:
        if dim.dim_param:
            size = sizes.get(dim.dim_param)
            dim.Clear()
            if size is not None:
                dim.dim_value = size

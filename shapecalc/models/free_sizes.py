"""Replace the hard-coded sizes of a model that should change with its free dims.

The sizes are those that `find_hardcoded_sizes` returns. A size in the target of a Reshape or in the sizes of a Resize
becomes a -1, or inserted nodes compute it from the shapes of the inputs. Sizes in other tensors, such as weights, are
left unchanged.

The written model runs at other sizes, at which the original model fails, so their outputs cannot be compared. The
expression of a size is therefore marked as *assumed* unless the shapes determine it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from shapecalc.core.record import FrozenDict, Record, replace
from shapecalc.engine.atomic_files import atomic_file
from shapecalc.models.file import Model, build_model, read_model
from shapecalc.models.free_dims import NO_BATCH, BatchOptions
from shapecalc.models.hardcoded_sizes import HardcodedSize, HardcodedSizes, find_hardcoded_sizes
from shapecalc.models.judge import JudgedModel, judge_model
from shapecalc.models.prove import Proof, ProofCheck
from shapecalc.models.report import Report
from shapecalc.models.static import intermediate_path
from shapecalc.models.verdicts import NodeFix
from shapecalc.models.write import ModelEditor, check_output_path, prove_equivalence, serialize_model, write_fixed_model

FACTOR = re.compile(r"(\d+|[^\W\d]\w*)(?:/(\d+))?")
"""A factor of an expression: a number or a dim name, with an optional integer divisor."""
EXPRESSION = re.compile(rf"{FACTOR.pattern}(?:\*{FACTOR.pattern})*([+-]\d+)?")
"""An expression such as `H/4*W/4+1`."""


class FreedModel(Record):
    """The result of writing a model whose hard-coded sizes change with its free dims."""

    path: str | None
    """The path of the output file, or None if nothing was written."""
    sizes: Mapping[str, int]
    """The sizes of the free dims in the original model, by name."""
    mended: tuple[HardcodedSize, ...]
    left: tuple[HardcodedSize, ...]
    """The hard-coded sizes that were not replaced, and the nodes that still fail."""
    assumed: tuple[HardcodedSize, ...]
    """The replaced sizes whose expressions are not determined by the shapes, so that other expressions may be right."""
    proved: bool | None
    """Whether the proof passed, or None without a proof."""
    why: str
    """A description of the proof, or the reason why there is no proof."""
    proofs: tuple[ProofCheck, ...] = ()


def write_freed_model(
    judged_model: JudgedModel,
    report: Report,
    names: Sequence[str],
    output_path: Path,
    chosen_fixes: Mapping[str, NodeFix],
    *,
    force: bool,
    prove: bool,
) -> tuple[Report, FreedModel | None]:
    """Fix a model, replace its hard-coded sizes of the free dims `names`, and write it to a file.

    If `prove` is True, the written model must be equal to the fixed model bit for bit at the original sizes, and run at
    two other sizes. Returns the report with the fix result, and the freed model, or None if the fixed model was not
    written. The arguments and exceptions are those of `write_fixed_model` and `find_hardcoded_sizes`.
    """
    model, choice = judged_model.walk.model, judged_model.walk.choice
    sizes = find_hardcoded_sizes(judged_model, names).sizes
    home = next(lane.sizes for lane in choice.lanes if lane.batch == choice.reference_batch)
    where = FrozenDict({name: size for name, size in {**home, **sizes}.items() if name != choice.batch})
    check_output_path(model, output_path)
    if output_path.exists() and not force:
        raise FileExistsError(output_path)
    with intermediate_path(output_path) as path:
        report = write_fixed_model(judged_model, report, path, chosen_fixes, force=True, prove=prove)
        fixed = report.fix_result
        assert fixed is not None
        if fixed.path is None:
            return report, None
        options = BatchOptions(report.batch or NO_BATCH, report.sizes, where=where)
        freed = _write_freed(read_model(str(path)), options, sizes, output_path, force=force, prove=prove)
    return replace(report, fix_result=replace(fixed, path=freed.path)), freed


def _write_freed(
    model: Model, options: BatchOptions, sizes: Mapping[str, int], output_path: Path, *, force: bool, prove: bool
) -> FreedModel:
    """Replace the hard-coded sizes of a fixed model, and write it to a file."""
    judged = judge_model(model, options)
    found = find_hardcoded_sizes(judged, [*sizes])
    proto = deepcopy(model.proto)
    mended = _replace_hardcoded_sizes(proto, judged, found)
    after = judge_model(build_model(proto, model.path, model.payloads), options)
    left = [size for size in found.hardcoded if size not in mended]
    seen = {size.node.name for size in left}
    left += [size for size in find_hardcoded_sizes(after, [*sizes]).hardcoded if size.node.name not in seen]
    proof = Proof(None, "no proof was requested")
    with atomic_file(output_path, force=force, should_commit=lambda: proof.proved is not False) as file:
        for piece in serialize_model(model, proto):
            file.write(piece)
        file.flush()
        if prove:
            proof = prove_equivalence(model.path, proto, _build_task(after, sizes), file)
    path = None if proof.proved is False else str(output_path)
    assumed = tuple([size for size in mended if not (size.is_certain or size.is_restored)])
    return FreedModel(path, sizes, tuple(mended), tuple(left), assumed, proof.proved, proof.why, proof.checks)


def _build_task(judged: JudgedModel, sizes: Mapping[str, int]) -> dict[str, Any]:
    """Build the task of `prove_model` for the written model.

    The model runs at the original sizes and at two other sizes of its free dims.
    """
    walk, choice = judged.walk, judged.walk.choice
    home = next(lane.sizes for lane in choice.lanes if lane.batch == choice.reference_batch)
    others = [
        {name: size * (2 + index % 2) for index, (name, size) in enumerate(sizes.items())},
        {name: size * (1 if index else 3) for index, (name, size) in enumerate(sizes.items())},
    ]

    def list_shapes(at: Mapping[str, int]) -> dict[str, list[int | None] | None]:
        return {
            declared.name: None if dims is None or None in dims else [at[d] if isinstance(d, str) else d for d in dims]
            for declared, dims in zip(walk.model.inputs, choice.inputs, strict=True)
        }

    return {
        "model": str(walk.model.path.resolve()),
        "folder": str(walk.model.path.resolve().parent),
        "declared": choice.reference_batch,
        "batches": [],
        "inputs": list_shapes(home),
        "places": {},
        "home_places": [],
        "unfixed": "",
        "is_doubtful": False,
        "gains_axis": False,
        "runs": [
            {
                "at": ", ".join(f"{name} = {size}" for name, size in other.items()),
                "inputs": list_shapes({**home, **other}),
            }
            for other in others
        ],
    }


def _replace_hardcoded_sizes(proto: Any, judged: JudgedModel, found: HardcodedSizes) -> list[HardcodedSize]:
    """Replace the hard-coded sizes of a ModelProto, and return those that were replaced."""
    model = judged.walk.model
    dim_axes = {
        dim: (declared.name, axis)
        for declared, dims in zip(model.inputs, judged.walk.choice.inputs, strict=True)
        for axis, dim in enumerate(dims or ())
        if isinstance(dim, str)
    }
    editor = ModelEditor(proto, model.names)
    groups: dict[tuple[str, int], list[HardcodedSize]] = defaultdict(list)
    for size in found.hardcoded:
        if size.location is not None and "/@" not in size.node.path and len(size.node.inputs) > size.location[0]:
            groups[size.node.path, size.location[0]].append(size)
    located = {path: editor.find_node(path) for path, _ in groups}
    mended: list[HardcodedSize] = []
    for (path, index), numbers in groups.items():
        if all(EXPRESSION.fullmatch(size.expression) for size in numbers) and not _is_ambiguous(numbers):
            shape = judged.walk.shapes_of(numbers[0].node.inputs[index])[0]
            if shape is not None and len(shape) == 1:
                editor.replace_entries(*located[path], index, shape[0], _new_entries(numbers, dim_axes))
                mended += numbers
    return mended


def _is_ambiguous(numbers: Sequence[HardcodedSize]) -> bool:
    """Return whether equal sizes in one node have different uncertain expressions.

    An expression is uncertain if the input shapes do not determine it.
    """
    by_number: dict[int | None, set[str]] = defaultdict(set)
    for size in numbers:
        if not size.is_certain:
            by_number[size.number].add(size.expression)
    return any(len(expressions) > 1 for expressions in by_number.values())


def _new_entries(
    numbers: Iterable[HardcodedSize], dim_axes: Mapping[str, tuple[str, int]]
) -> dict[int, int | tuple[list[tuple[Any, int]], int]]:
    """Return the new entries of a target by index.

    An entry is -1, or a list of factors with their divisors and a number to add to the product. A factor is a number,
    or the name of an input and an axis.
    """
    entries: dict[int, int | tuple[list[tuple[Any, int]], int]] = {}
    for size in numbers:
        assert size.location is not None
        product, sign, rest = re.fullmatch(r"(.*?)(?:([+-])(\d+))?", size.expression).groups()  # type: ignore[union-attr]
        factors = [
            (int(factor) if factor.isdecimal() else dim_axes[factor], int(divisor or 1))
            for factor, divisor in FACTOR.findall(product)
        ]
        entries[size.location[1]] = -1 if size.is_inferable else (factors, int(f"{sign}{rest}") if rest else 0)
    return entries

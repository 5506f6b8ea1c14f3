"""Proofs: a mended model is run beside the one that it was, in a process that is limited in time and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.resources import as_file, files

from shapecalc.core.record import Record
from shapecalc.models.editing import graphs
from shapecalc.models.marks import Apart

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO, Any

    from shapecalc.models.marks import Mark
    from shapecalc.models.model import Model
    from shapecalc.models.walk import Walk

    Marks = tuple[Mark, ...]

PROVING = files("shapecalc.models") / "proving.py"
"""The program of the other process."""
SILENT = {"ORT_DISABLE_TELEMETRY": "1"}
"""What keeps ONNX Runtime from telling its makers of each run, for which it also leaves a file behind."""
SECONDS = 300
"""How long a proof may take."""
LARGEST = 2**31 - 1
"""The bytes of the largest model that ONNX Runtime reads as one message."""
MEMORY_SHARE = 0.75
"""How much of the machine's memory a proof may take."""
SAMPLES = 3
"""The batch at which samples are compared."""
RANDOM = frozenset(
    ["RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli"]
)


class Proof(Record):
    """What a proof found."""

    proved: bool | None
    """None if nothing could be proved."""
    why: str
    """What was proved or what differs, or why it could not be."""


def proof_of(model: Model, walk: Walk, marks: Callable[[int], Marks | None], mended: IO[bytes]) -> Proof:
    """Return what ONNX Runtime shows of a mended model, which is in a file, beside the `model` that it was.

    `walk` is that of the mended model, and `marks` tells those of its tensors.
    """
    random = {node.op_type for graph in graphs(walk.model.proto) for node in graph.node} & RANDOM
    if random:
        return Proof(None, f"{min(random)} gives other numbers each time")
    if mended.seek(0, os.SEEK_END) > LARGEST or model.path.stat().st_size > LARGEST:
        return Proof(None, "it is too large")
    task = _task(walk, marks)
    if isinstance(task, str):
        return Proof(None, task)
    mended.seek(0)
    try:
        with as_file(PROVING) as program:
            command = [sys.executable, "-P", str(program), json.dumps(task)]
            ended = subprocess.run(
                command, stdin=mended, env={**os.environ, **SILENT}, capture_output=True, timeout=SECONDS, check=False
            )
    except subprocess.TimeoutExpired:
        return Proof(None, f"it takes longer than {SECONDS} seconds")
    try:
        told = json.loads(ended.stdout)
    except ValueError:
        return Proof(None, "ONNX Runtime ended with the process that it ran in")
    return Proof(told["proved"], told["why"])


def _task(walk: Walk, marks: Callable[[int], Marks | None]) -> dict[str, Any] | str:
    """Return what to prove, for the other process; the reason if it cannot be proved."""
    declared = walk.declared_batch or 1
    judged = [lane.batch for lane in walk.lanes if lane.judged and lane.batch > 1]
    other = SAMPLES if SAMPLES in judged else max((size for size in judged if size != declared), default=0)
    if not other:
        return "no larger batch was judged"
    lane = next(at for at, lane in enumerate(walk.lanes) if lane.judged and lane.batch == other)
    home = next(at for at, lane in enumerate(walk.lanes) if lane.judged and lane.batch == declared)
    places = []
    for output in walk.model.outputs:
        found = marks(output.tensor) or (None,) * len(walk.lanes)
        if found[lane] is not None and not isinstance(found[lane], Apart):
            return f"nobody can say where the samples are in output {output.name}"
        places.append([_place(found[at]) for at in (lane, home)])
    return {
        "model": str(walk.model.path.resolve()),
        "folder": str(walk.model.path.resolve().parent),
        "declared": declared,
        "other": other,
        "inputs": _inputs(walk, lane),
        "places": [each[0] for each in places],
        "home_places": [each[1] for each in places],
        "memory": _most_memory(),
        "parent": os.getpid(),
    }


def _place(mark: Mark) -> tuple[int, int] | None:
    return (mark.axis, mark.inner) if isinstance(mark, Apart) else None


def _inputs(walk: Walk, lane: int) -> dict[str, list[int | None] | None]:
    """Return the shapes of the inputs by name, None where the batch is; None for a shape that nobody knows."""
    sizes = walk.lanes[lane].sizes
    found: dict[str, list[int | None] | None] = {}
    for declared, taken in zip(walk.model.inputs, walk.taken, strict=True):
        if taken is None or None in taken:
            found[declared.name] = None
        else:
            numbers = [sizes[dim] if isinstance(dim, str) else dim for dim in taken]
            found[declared.name] = [None if taken[at] == walk.batch else size for at, size in enumerate(numbers)]
    return found


def _most_memory() -> int:
    """Return the bytes that a proof may take."""
    try:
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * MEMORY_SHARE)
    except (AttributeError, ValueError, OSError):
        return 2**33

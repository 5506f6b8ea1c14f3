"""Writing: all that offends in a model is mended, proved, and written beside it."""

from __future__ import annotations

import os

from shapecalc.core.sizes.record import Record, replace
from shapecalc.engine.whole_files import whole_file
from shapecalc.models.building import model_of
from shapecalc.models.following import Following
from shapecalc.models.mending import external_files, mended, pieces
from shapecalc.models.proofs import Proof, proof_of
from shapecalc.models.reading import file_error
from shapecalc.models.report import Fixed
from shapecalc.models.walking import walked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from shapecalc.models.model import Model, Node
    from shapecalc.models.report import Fix, Judged, Report
    from shapecalc.models.walk import Walk

MOST_ROUNDS = 8
"""How often a mended model is walked again at most, for what lay below a node that failed before."""


class Whole(Record):
    """A model with everything mended that can be."""

    walk: Walk
    """The walk of the mended model, and what followed the batch on it."""
    follower: Following
    proto: Any
    mended: Mapping[str, Fix]
    """What was mended, by the nodes' paths in the model that was read."""
    changed: bool
    """Whether the message is another one now."""


def whole(walk: Walk, follower: Following, chosen: Mapping[str, Fix]) -> Whole:
    """Return a model mended, and walked again until nothing more is found; `chosen` fixes go before the best ones."""
    done: dict[str, Fix] = {}
    inserted: frozenset[str] = frozenset()
    changed = False
    for turn in range(MOST_ROUNDS):
        wanted = _wanted(follower, chosen if turn == 0 else {})
        mending = mended(walk, wanted)
        if not mending.mended and not mending.freed:
            break
        for path in mending.mended:
            done[_first_path(walk.model, path, inserted)] = wanted[path][1]
        inserted |= mending.inserted
        changed = True
        model = model_of(mending.proto, walk.model.path, walk.model.payloads)
        follower = Following()
        walk = walked(model, walk.lanes, walk.taken, walk.batch, walk.declared_batch, follower)
    return Whole(walk, follower, walk.model.proto, done, changed)


def _wanted(follower: Following, chosen: Mapping[str, Fix]) -> dict[str, tuple[Node, Fix]]:
    """Return the fixes to make, by path."""
    best = {path: (node, fixes[0]) for path, (node, fixes) in follower.offenders.items() if fixes}
    given = {path: (node, chosen[path]) for path, (node, _) in follower.offenders.items() if path in chosen}
    return {**follower.remedies, **best, **given}


def _first_path(model: Model, path: str, inserted: frozenset[str]) -> str:
    """Return a node's path as it was before nodes were put in in front of it."""
    index, slash, rest = path.partition("/")
    in_front = sum(node.name in inserted for node in model.proto.graph.node[: int(index)]) if inserted else 0
    return f"{int(index) - in_front}{slash}{rest}"


def written(
    report: Report,
    walk: Walk,
    follower: Following,
    target: Path,
    *,
    force: bool = False,
    prove: bool = True,
    chosen: Mapping[str, Fix],
) -> Report:
    """Return the report of a model whose mended form was written to a file; nothing is written if its proof fails.

    Raises `ShapeError` (file) if the file would take the model's place, or would be parted from the files that hold
    its elements; raises `OSError` for what cannot be written.
    """
    _check_place(walk.model, target)
    found = whole(walk, follower, chosen)
    proof = Proof(None, "nothing was to be mended")
    if not found.changed:
        content: list[bytes | memoryview] = [walk.model.path.read_bytes()]
    else:
        content = pieces(walk.model, found.proto)
    with whole_file(target, force=force, wanted=lambda: proof.proved is not False) as file:
        for piece in content:
            file.write(piece)
        file.flush()
        if found.changed:
            proof = _proof(walk, found, file, prove)
    return replace(report, fixed=_fixed(report, found, proof, target))


def _check_place(model: Model, target: Path) -> None:
    if os.path.realpath(target) == os.path.realpath(model.path) or (target.exists() and target.samefile(model.path)):
        raise file_error(f"{target}: that is the model itself, which stays as it is")
    outside = external_files(model.proto)
    if outside and target.resolve().parent != model.path.resolve().parent:
        raise file_error(f"{target}: the model needs {min(outside)} beside it, so write into its own folder")


def _proof(walk: Walk, found: Whole, file: Any, prove: bool) -> Proof:
    left = len(found.follower.offenders) + len(found.follower.stops)
    if not prove:
        return Proof(None, "nobody asked for it")
    if left:
        return Proof(None, f"{left} {'node still stands' if left == 1 else 'nodes still stand'} in the way")
    return proof_of(walk.model, found.walk, found.follower.marks, file)


def _fixed(report: Report, found: Whole, proof: Proof, target: Path) -> Fixed:
    """Return what was done, with the nodes as the report has them."""
    by_path: dict[str, Judged] = {each.node.path: each for each in report.nodes}
    mended_nodes = [(by_path[path], fix) for path, fix in found.mended.items() if path in by_path]
    left = [by_path[path] for path in found.follower.offenders if path in by_path]
    path = None if proof.proved is False else str(target)
    return Fixed(tuple(mended_nodes), tuple(left), proof.proved, proof.why, path)

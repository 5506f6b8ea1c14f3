"""Writing: all that offends in a model is mended, proved, and written beside it."""

from __future__ import annotations

import os

from shapecalc.core.record import Record, replace
from shapecalc.core.text import visible
from shapecalc.engine.whole_files import whole_file
from shapecalc.models.building import model_of
from shapecalc.models.fixes import NO_TURN
from shapecalc.models.following import Following
from shapecalc.models.mending import external_files, mended, pieces
from shapecalc.models.proofs import Proof, proof_of
from shapecalc.models.reading import file_error
from shapecalc.models.report import Fixed, Verdict
from shapecalc.models.telling import assumed_words, name_of
from shapecalc.models.walking import walked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from shapecalc.models.judging import Outcome
    from shapecalc.models.model import Model, Node
    from shapecalc.models.report import Fix, Report
    from shapecalc.models.walk import Walk

MOST_DOUBTS = 3
"""Of how many fixes it is told what they assume, if a model is not proved."""
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
    left: tuple[str, ...]
    """The paths of the listed nodes that still offend, in the model that was read."""
    failing: int
    """How many nodes fail at some size, or mix the samples."""
    freed: frozenset[str]
    """The names of the inputs that declare another shape now."""
    changed: bool
    """Whether the message is another one now."""


def whole(walk: Walk, follower: Following, chosen: Mapping[str, Fix]) -> Whole:
    """Return a model mended, and walked again until nothing more is found; `chosen` fixes go before the best ones."""
    done: dict[str, Fix] = {}
    inserted: frozenset[str] = frozenset()
    freed: frozenset[str] = frozenset()
    changed = False
    for _ in range(MOST_ROUNDS):
        first = {path: _first_path(walk.model, path, inserted) for path in (*follower.offenders, *follower.remedies)}
        wanted = {path: each for path, each in _wanted(follower, first, chosen).items() if first[path] not in done}
        mending = mended(walk, wanted)
        if not mending.mended and not mending.freed:
            break
        done |= {first[path]: wanted[path][1] for path in wanted if path in mending.mended}
        inserted |= mending.inserted
        freed |= {*mending.freed}
        changed = True
        model = model_of(mending.proto, walk.model.path, walk.model.payloads)
        follower = Following()
        walk = walked(model, walk.lanes, walk.taken, walk.batch, walk.declared_batch, follower)
    left = tuple([_first_path(walk.model, path, inserted) for path in follower.offenders])
    failing = len(follower.stops) + sum(follower.verdicts[path] is not Verdict.SWALLOWS for path in follower.offenders)
    return Whole(walk, follower, walk.model.proto, done, left, failing, freed, changed)


def _wanted(follower: Following, first: Mapping[str, str], chosen: Mapping[str, Fix]) -> dict[str, tuple[Node, Fix]]:
    """Return the fixes to make by path; `first` tells the paths by which they are chosen."""
    found = dict(follower.remedies)
    for path, (node, fixes) in follower.offenders.items():
        fix = chosen.get(first[path], fixes[0] if fixes else None)
        if fix is not None and first[path] in chosen and 0 in (fix.target or ()):
            fix = replace(fix, allowzero=False)
        if fix is not None:
            found[path] = node, fix
    return found


def _first_path(model: Model, path: str, inserted: frozenset[str]) -> str:
    """Return a node's path as it was before nodes were put in in front of it."""
    index, slash, rest = path.partition("/")
    in_front = sum(node.name in inserted for node in model.proto.graph.node[: int(index)]) if inserted else 0
    return f"{int(index) - in_front}{slash}{rest}"


def written(
    outcome: Outcome,
    report: Report,
    target: Path,
    chosen: Mapping[str, Fix],
    *,
    force: bool = False,
    prove: bool = True,
) -> Report:
    """Return the report of a model whose mended form was written to a file; nothing is written if its proof fails.

    `chosen` holds fixes by the nodes' paths, to be taken in place of the best ones. Raises `ShapeError` (file) if the
    file would take the model's place, or would be parted from the files that hold its elements; raises `OSError` for
    what cannot be written.
    """
    walk = outcome.walk
    _check_place(walk.model, target)
    found = whole(walk, outcome.kept, chosen)
    proof = Proof(None, "there was nothing to mend")
    content = pieces(walk.model, found.proto) if found.changed else [walk.model.path.read_bytes()]
    with whole_file(target, force=force, wanted=lambda: proof.proved is not False) as file:
        for piece in content:
            file.write(piece)
        file.flush()
        if found.changed or found.left:
            proof = _proof(walk, found, file, prove)
    return replace(report, fixed=_fixed(report, found, proof, target))


def _check_place(model: Model, target: Path) -> None:
    if os.path.realpath(target) == os.path.realpath(model.path) or (target.exists() and target.samefile(model.path)):
        raise file_error(f"{target}: that is the model itself, which stays as it is")
    outside = external_files(model.proto)
    if outside and target.resolve().parent != model.path.resolve().parent:
        raise file_error(f"{target}: the model needs {visible(min(outside))} beside it, so write into its own folder")


def _proof(walk: Walk, found: Whole, file: Any, prove: bool) -> Proof:
    """Return what a proof says of the mended model, if nothing is known that fails."""
    if not prove:
        return Proof(None, "nobody asked for it")
    if found.failing:
        count = f"{found.failing} {'node' if found.failing == 1 else 'nodes'}"
        return Proof(None, f"{count} in it cannot be mended")
    return proof_of(walk.model, found.walk, found.follower.marks, file)


def _fixed(report: Report, found: Whole, proof: Proof, target: Path) -> Fixed:
    """Return what was done, with the nodes as the report has them.

    Where the samples are told apart in the end, no node is left to mend: it put the batch elsewhere, and others put it
    back.
    """
    mended_nodes = [(each, found.mended[each.node.path]) for each in report.nodes if each.node.path in found.mended]
    left = [each for each in report.nodes if each.node.path in found.left and not proof.proved]
    path = None if proof.proved is False else str(target)
    doubted = [] if proof.proved else [each for each in mended_nodes if each[1].assumes.startswith(NO_TURN)]
    doubts = [f"; the fix of {name_of(judged.node)} {assumed_words(fix)}" for judged, fix in doubted[:MOST_DOUBTS]]
    freed = tuple(each for each in report.inputs if each.name in found.freed)
    return Fixed(tuple(mended_nodes), tuple(left), proof.proved, f"{proof.why}{''.join(doubts)}", path, freed)

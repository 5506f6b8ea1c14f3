"""Fixes: other arguments for a node that another batch size breaks, each tried at all sizes before it is offered.

A fix gives at the declared size what the node gave, and keeps the samples apart at the others. A 0 copies the axis of
the batch, or -1 counts it; where neither will do, the size is taken from an input of the model.
"""

from __future__ import annotations

from itertools import product as every_choice
from math import prod

from shapecalc.core.record import Record
from shapecalc.models.marks import Apart, regrouped
from shapecalc.models.report import Fix, Verdict
from shapecalc.models.verdicts import Run, verdict_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from shapecalc.models.marks import Mark
    from shapecalc.models.walk import Sizes, Visit

    Answer = Callable[[Sizes, Mapping[str, Any], bool | None], Sizes | None]
    """What core answers to an input shape, arguments and allowzero; None if it refuses."""

MOST_TRIED = 256
"""How many targets are tried at most."""
OTHERS_STAY, NO_TURN = "the other sizes stay", "no Transpose"


class Candidate(Record):
    """Arguments to try, by lane, and the fix that they make."""

    arguments: tuple[Mapping[str, Any], ...]
    fix: Fix
    switch: bool | None = None


class Mended(Record):
    """A fix, and what the node gives with it in each lane; None in lanes where it fails all the same."""

    fix: Fix
    outputs: tuple[Sizes | None, ...]


class Broken(Record):
    """An offender: what the walk saw of it, in lanes."""

    visit: Visit
    batches: tuple[int, ...]
    """The size of the batch in each lane."""
    judged: tuple[bool, ...]
    """The lanes that verdicts look at."""
    marks: tuple[Mark, ...]
    """The marks of its input."""
    declared: int
    batch: str
    """The name of the batch."""

    @property
    def home(self) -> int:
        """The lane of the declared size, in which nothing may change."""
        return next(at for at, size in enumerate(self.batches) if size == self.declared and self.judged[at])

    def unlikeliness(self, mended: Mended) -> tuple[bool, bool, bool]:
        """Return what to sort fixes by: an axis of its own is best; the last one holds features; most axes stay."""
        for at in range(len(self.batches) - 1, -1, -1):
            before, output, mark, batch = self.visit.input[at], mended.outputs[at], self.marks[at], self.batches[at]
            found = mended_mark(mark, before, output, batch)
            if isinstance(found, Apart) and isinstance(mark, Apart) and output is not None:
                whole = output[found.axis] == batch
                return not whole, found.axis == len(output) - 1 > 0, found.axis != mark.axis
        return False, False, False


def fixes(broken: Broken, answer: Answer) -> list[Mended]:
    """Return the fixes of an offender, the best first; empty if nobody knows any."""
    visit = broken.visit
    if visit.outputs[broken.home] is None:
        return []
    make = CANDIDATES.get(visit.op)
    if make is None:
        return []
    found: dict[tuple[int, ...] | None, Mended] = {}
    for candidate in make(broken):
        if candidate.fix.target is None and found:
            break
        mended = _tried(broken, candidate, answer)
        if mended:
            found.setdefault(candidate.fix.target, mended)
    return sorted(found.values(), key=broken.unlikeliness)


def _tried(broken: Broken, candidate: Candidate, answer: Answer) -> Mended | None:
    """Return what a candidate gives; None if the node is not safe with it, or gives another shape at home."""
    visit = broken.visit
    outputs = []
    for at, shape in enumerate(visit.input):
        output = None if shape is None else answer(shape, candidate.arguments[at], candidate.switch)
        if output is None and broken.judged[at]:
            return None
        outputs.append(output)
    if outputs[broken.home] != visit.outputs[broken.home]:
        return None
    runs = [
        Run(broken.batches[at], shape, outputs[at], mark, mended_mark(mark, shape, outputs[at], broken.batches[at]))
        for at, (shape, mark) in enumerate(zip(visit.input, broken.marks, strict=True))
        if broken.judged[at]
    ]
    if verdict_of(runs, broken.declared, broken.batch)[0] is not Verdict.SAFE:
        return None
    return Mended(candidate.fix, tuple(outputs))


def mended_mark(mark: Mark, before: Sizes | None, after: Sizes | None, batch: int) -> Mark:
    """Return the mark of the output of a mended node: its elements keep their order, or are repeated."""
    if not isinstance(mark, Apart) or before is None or after is None:
        return mark
    if prod(before) != prod(after):
        return Apart(mark.axis + len(after) - len(before), mark.inner)
    return regrouped(mark, before, after, batch)


def _reshapes(broken: Broken) -> Iterator[Candidate]:
    """Yield targets with a 0 or a -1 for the batch; then those for which its size is taken from an input."""
    visit, home = broken.visit, broken.home
    lanes = [arguments["target"] for arguments in visit.arguments if arguments]
    before, after = visit.input[home], visit.outputs[home]
    if before is None or after is None or len(lanes) < len(visit.arguments):
        return
    plain = [
        entry if all(len(target) > at and target[at] == entry for target in lanes) else None
        for at, entry in enumerate(lanes[home])
    ]
    own_zeros = bool(visit.switch) and 0 in lanes[home]
    for mark in (0, -1):
        for place in range(len(after)):
            if (mark == 0 and (place >= len(before) or own_zeros)) or place >= len(plain):
                continue
            for target in _completions(plain, place, mark, () if own_zeros else before, after):
                yield _reshape(broken, target, place, mark, own_zeros)
    yield from _inserted(broken, lanes, "target")


def _completions(
    plain: Sequence[int | None], place: int, mark: int, before: Sizes, after: Sizes
) -> Iterator[tuple[int, ...]]:
    """Yield targets with a mark at a place; elsewhere stands what stood there, a copy, a count or the number."""
    choices: list[tuple[int, ...]] = []
    for at, entry in enumerate(plain):
        copied = (0,) if at < len(before) and before[at] == after[at] else ()
        if at == place:
            choices.append((mark,))
        elif entry is None:
            choices.append((*copied, -1))
        else:
            choices.append((after[at],) if entry == mark == -1 else (entry,))
    for tried, target in enumerate(every_choice(*choices)):
        if tried == MOST_TRIED:
            return
        if target.count(-1) <= 1:
            yield target


def _reshape(broken: Broken, target: tuple[int, ...], place: int, mark: int, own_zeros: bool) -> Candidate:
    switch = broken.visit.switch if own_zeros else None
    how = f"copies axis {place}" if mark == 0 else "counts it"
    if mark == 0:
        assumes = "the batch stays first" if place == 0 else f"the batch stays on axis {place}"
    else:
        assumes = _assumed(broken, target)
    allowzero = False if broken.visit.switch and 0 in target and not own_zeros else None
    fix = Fix(target, allowzero, assumes, how)
    return Candidate(({"target": target},) * len(broken.batches), fix, switch)


def _assumed(broken: Broken, target: tuple[int, ...]) -> str:
    """Return which sizes must stay for a count to be right: those that a written number stands for."""
    turned = folded_turn(broken.visit.input[broken.home], broken.visit.outputs[broken.home])
    if turned is not None:
        return f"{NO_TURN} {','.join(map(str, turned))} was folded into it"
    asked = (broken.visit.arguments[broken.home] or {})["target"]
    before = broken.visit.input[broken.home] or ()
    written = [new for old, new in zip(asked, target, strict=True) if old == -1 and new > 1]
    for number in written:
        for start in range(len(before)):
            for end in range(len(before), start, -1):
                if start and prod(before[start:end]) == number:
                    sizes = "*".join(map(str, before[start:end]))
                    return f"{sizes if end - start > 1 else f'axis {start}'} stays {number}"
    return OTHERS_STAY


def folded_turn(before: Sizes | None, after: Sizes | None) -> tuple[int, ...] | None:
    """Return the permutation that a reshape of one sample may stand for; None if there is none.

    Exporters write a Transpose as a Reshape where it moves nothing but a batch of 1.

    >>> folded_turn((1, 8, 8, 8), (64, 1, 8)), folded_turn((1, 64, 8), (64, 8)), folded_turn((1, 64, 8), (1, 8, 64))
    ((1, 0, 2), None, None)
    """
    if not before or not after or before[0] != 1 or after[0] == 1 or 1 not in after:
        return None
    place = after.index(1)
    return (*range(1, place + 1), 0, *range(place + 1, len(after)))


def _expands(broken: Broken) -> Iterator[Candidate]:
    """Yield the target with a 1, which keeps an axis, where the batch is written as a number."""
    visit = broken.visit
    asked = (visit.arguments[broken.home] or {}).get("target")
    if asked is None or any((arguments or {}).get("target") != asked for arguments in visit.arguments):
        return
    for place, size in enumerate(asked):
        if size == broken.declared != 1:
            target = (*asked[:place], 1, *asked[place + 1 :])
            fix = Fix(target, None, "the batch stays where it is", f"keeps axis {place}")
            yield Candidate(({"target": target},) * len(broken.batches), fix)


def _flattens(broken: Broken) -> Iterator[Candidate]:
    """Yield other axes to flatten from."""
    for axis in range(len(broken.visit.input[broken.home] or ()) + 1):
        fix = Fix((axis,), None, "the batch stays first", f"cuts in front of axis {axis}")
        yield Candidate(({"axis": axis},) * len(broken.batches), fix)


def _inserted(broken: Broken, lanes: Sequence[tuple[int, ...]], name: str) -> Iterator[Candidate]:
    """Yield targets that have the batch's size, as an input of the model has it, in place of a number."""
    asked = lanes[broken.home]
    for place, size in enumerate(asked):
        if size == broken.declared:
            targets = [
                (*each[:place], batch, *each[place + 1 :]) for each, batch in zip(lanes, broken.batches, strict=True)
            ]
            how = f"takes {broken.batch} from an input"
            fix = Fix(None, None, "the input keeps its batch", how, ("Shape", "Gather", "Concat"), place)
            yield Candidate(tuple([{name: target} for target in targets]), fix, broken.visit.switch)


CANDIDATES: dict[str, Callable[[Broken], Iterator[Candidate]]] = {
    "reshape": _reshapes,
    "expand": _expands,
    "flatten": _flattens,
}
"""What to try for each op. An op without a row can only be mended by other nodes."""

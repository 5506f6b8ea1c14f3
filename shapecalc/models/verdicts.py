"""What other batch sizes do to one node, told by where it runs and where the samples are, and what would fix it.

A fix is another target, tried at all sizes before it is offered: it gives at the declared size what the node gave, and
keeps the samples apart at the others. A 0 copies the axis of the batch, or -1 counts it; where neither will do, the
size is taken from an input of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from itertools import product as every_choice
from math import prod
from typing import Any

from shapecalc.core.record import Record
from shapecalc.core.text import and_text
from shapecalc.models.batch_axis import BatchAxis, Lost, Mark, Sizes, batch_place, regrouped


class Verdict(Enum):
    """What another batch size does to a node."""

    SAFE = "safe"
    ONLY = "only"
    SWALLOWS = "swallows"
    SCRAMBLES = "scrambles"
    FAILS = "fails"
    SOMETIMES = "sometimes"
    UNKNOWN = "unknown"


OFFENCES = (Verdict.FAILS, Verdict.SCRAMBLES, Verdict.SWALLOWS, Verdict.ONLY)
"""The verdicts that offend, worst first."""
UNSEEN = "no axis separates the samples"
PARTS = {"whole": "axis {}", "major": "the slow part of axis {}", "minor": "the fast part of axis {}"}
MOST_TRIED = 256
"""How many targets are tried at most."""
OTHERS_STAY, NO_TURN = "the other sizes stay", "no Transpose"
Answer = Callable[[tuple[Any, ...], bool | None], tuple[Sizes | None, ...]]
"""What core answers in each lane to other targets there and another allowzero; None if it refuses."""


class Run:
    """What a node does at one size of the batch."""

    __slots__ = ("after", "batch", "before", "here", "input", "output", "refused", "there")

    def __init__(
        self, batch: int, input: Sizes | None, output: Sizes | None, before: Mark, after: Mark, refused: str = ""
    ) -> None:
        """Set the shapes (the output's is None where it fails or is not known), their marks, and why it fails."""
        self.batch, self.input, self.output, self.before, self.after = batch, input, output, before, after
        self.refused = refused
        self.here = batch_place(before, input, batch) if input is not None else None
        """Which axis of the input carries the batch, and how."""
        self.there = batch_place(after, output, batch) if output is not None else None
        """Which axis of the output carries the batch, and how."""

    @property
    def outcome(self) -> str:
        """`ok`, `fails` or `blocked`."""
        return "ok" if self.output is not None else "fails" if self.refused else "blocked"

    @property
    def fate(self) -> Verdict:
        """What becomes of the samples: they stay apart, are swallowed or scrambled, or nobody knows."""
        here, there = self.here, self.there
        if there is None:
            certain = isinstance(self.after, BatchAxis) or (isinstance(self.after, Lost) and self.after.certain)
            return Verdict.SCRAMBLES if here is not None and certain else Verdict.UNKNOWN
        if here is None or here[0] or not there[0] or there[1] == "whole" or not self.input or not self.output:
            return Verdict.SAFE
        as_one = (self.input[0], here[1]) == (self.output[there[0]], there[1])
        return Verdict.SAFE if as_one else Verdict.SWALLOWS


def verdict_of(runs: Sequence[Run], declared: int, batch: str) -> tuple[Verdict, str]:
    """Return the verdict and one sentence; `declared` is the size that the file declares, or 1.

    The samples are looked for at all sizes but the declared one.
    """
    others = [run for run in runs if run.batch != declared]
    if None not in [run.output for run in runs]:
        return _samples(runs, others, batch)
    if any(run.outcome == "blocked" for run in runs):
        return Verdict.UNKNOWN, next((run.before.why for run in runs if isinstance(run.before, Lost)), "no shape")
    failing = [run for run in others if run.refused]
    at_declared = [run.refused for run in runs if run.batch == declared and run.refused]
    if at_declared:
        return Verdict.FAILS, at_declared[0]
    alike = and_text([str(run.batch) for run in failing if run.refused == failing[0].refused])
    why = f"at {batch} = {alike}: {failing[0].refused}"
    return (Verdict.ONLY if len(failing) == len(others) else Verdict.SOMETIMES), why


def _samples(runs: Sequence[Run], others: Sequence[Run], batch: str) -> tuple[Verdict, str]:
    """Return the verdict on a node that runs at all sizes."""
    # they can be looked for at a size of 2 or more, in tensors that the batch reaches
    showing = [run for run in others if run.batch > 1 and None not in (run.output, run.before, run.after)]
    fates = [run.fate for run in showing]
    if Verdict.SCRAMBLES in fates:
        return Verdict.SCRAMBLES, "no axis of the output separates the samples any more"
    if Verdict.UNKNOWN in fates:
        run = showing[fates.index(Verdict.UNKNOWN)]
        return Verdict.UNKNOWN, next((mark.why for mark in (run.before, run.after) if isinstance(mark, Lost)), UNSEEN)
    if Verdict.SWALLOWS in fates:
        axis, part = showing[fates.index(Verdict.SWALLOWS)].there or (0, "whole")
        return Verdict.SWALLOWS, f"{batch} was axis 0; now it is {PARTS[part].format(axis)}"
    return Verdict.SAFE, "" if any(run.before for run in runs) or not batch else f"{batch} does not reach it"


class Fix(Record):
    """One way to mend a node."""

    target: tuple[int, ...] | None
    """The new target (for other ops the new argument); None if operators are inserted that compute it."""
    allowzero: bool | None
    """The switch as it must be then; None if it does not matter or does not exist."""
    assumes: str
    """What must stay so for the fix to be right: `the batch stays first`."""
    how: str = ""
    """How it works: `copies axis 0`, `counts it`."""
    inserts: tuple[str, ...] = ()
    """The operators that are inserted: `Shape`, `Gather`, `Concat`; none for a new constant."""
    place: int | None = None
    """The entry of the target that they compute; None for a new constant."""


class Candidate(Record):
    """Targets to try, by lane, and the fix that they make."""

    targets: tuple[Any, ...]
    fix: Fix
    switch: bool | None = None


class FixedOutputs(Record):
    """A fix, and what the node gives with it in each lane; None in lanes where it fails all the same."""

    fix: Fix
    outputs: tuple[Sizes | None, ...]


class Offender(Record):
    """A node that another batch size breaks, in lanes."""

    input: tuple[Sizes | None, ...]
    targets: tuple[Any, ...]
    """What it asks for; None where nobody knows."""
    switch: bool | None
    """The setting of allowzero; None if it is left out or does not exist."""
    outputs: tuple[Sizes | None, ...]
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

    def unlikeliness(self, fixed: FixedOutputs) -> tuple[bool, bool, bool]:
        """Return what to sort fixes by: an axis of its own is best; the last one holds features; most axes stay."""
        for at in range(len(self.batches) - 1, -1, -1):
            before, output, mark, batch = self.input[at], fixed.outputs[at], self.marks[at], self.batches[at]
            found = fixed_mark(mark, before, output, batch)
            if isinstance(found, BatchAxis) and isinstance(mark, BatchAxis) and output is not None:
                whole = output[found.axis] == batch
                return not whole, found.axis == len(output) - 1 > 0, found.axis != mark.axis
        return False, False, False


Candidates = Callable[[Offender], Iterator[Candidate]]
"""What to try for an operator. One that has none can only be fixed by other nodes."""


def fixes(offender: Offender, candidates: Candidates | None, answer: Answer) -> list[FixedOutputs]:
    """Return the fixes of an offender, the best first; empty if nobody knows any."""
    if candidates is None or offender.outputs[offender.home] is None:
        return []
    found: dict[tuple[int, ...] | None, FixedOutputs] = {}
    for candidate in candidates(offender):
        if candidate.fix.target is None and found:
            break
        fixed = _tried(offender, candidate, answer)
        if fixed:
            found.setdefault(candidate.fix.target, fixed)
    return sorted(found.values(), key=offender.unlikeliness)


def _tried(offender: Offender, candidate: Candidate, answer: Answer) -> FixedOutputs | None:
    """Return what a candidate gives; None if the node is not safe with it, or gives another shape at home."""
    outputs = answer(candidate.targets, candidate.switch)
    if any(output is None and judged for output, judged in zip(outputs, offender.judged, strict=True)):
        return None
    if outputs[offender.home] != offender.outputs[offender.home]:
        return None
    runs = [
        Run(offender.batches[at], shape, outputs[at], mark, fixed_mark(mark, shape, outputs[at], offender.batches[at]))
        for at, (shape, mark) in enumerate(zip(offender.input, offender.marks, strict=True))
        if offender.judged[at]
    ]
    if verdict_of(runs, offender.declared, offender.batch)[0] is not Verdict.SAFE:
        return None
    return FixedOutputs(candidate.fix, outputs)


def fixed_mark(mark: Mark, before: Sizes | None, after: Sizes | None, batch: int) -> Mark:
    """Return the mark of the output of a fixed node: its elements keep their order, or are repeated."""
    if not isinstance(mark, BatchAxis) or before is None or after is None:
        return mark
    if prod(before) != prod(after):
        return BatchAxis(mark.axis + len(after) - len(before), mark.inner)
    return regrouped(mark, before, after, batch)


def reshapes(offender: Offender) -> Iterator[Candidate]:
    """Yield targets with a 0 or a -1 for the batch; then those for which its size is taken from an input."""
    home = offender.home
    lanes = offender.targets
    before, after = offender.input[home], offender.outputs[home]
    known = [target for target in lanes if target is not None]
    if before is None or after is None or any(target is None for target in lanes[: sum(offender.judged)]):
        return
    plain = [
        entry if all(len(target) > at and target[at] == entry for target in known) else None
        for at, entry in enumerate(lanes[home])
    ]
    own_zeros = bool(offender.switch) and 0 in lanes[home]
    for mark in (0, -1):
        for place in range(len(after)):
            if (mark == 0 and (place >= len(before) or own_zeros)) or place >= len(plain):
                continue
            for target in _completions(plain, place, mark, () if own_zeros else before, after):
                yield _reshape(offender, target, place, mark, own_zeros)
    yield from _inserted(offender)


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


def _reshape(offender: Offender, target: tuple[int, ...], place: int, mark: int, own_zeros: bool) -> Candidate:
    switch = offender.switch if own_zeros else None
    how = f"copies axis {place}" if mark == 0 else "counts it"
    if mark == 0:
        assumes = "the batch stays first" if place == 0 else f"the batch stays on axis {place}"
    else:
        assumes = _assumed(offender, target)
    allowzero = False if offender.switch and 0 in target and not own_zeros else None
    return Candidate((target,) * len(offender.batches), Fix(target, allowzero, assumes, how), switch)


def _assumed(offender: Offender, target: tuple[int, ...]) -> str:
    """Return which sizes must stay for a count to be right: those that a written number stands for."""
    turned = folded_turn(offender.input[offender.home], offender.outputs[offender.home])
    if turned is not None:
        return f"{NO_TURN} {','.join(map(str, turned))} was folded into it"
    asked = offender.targets[offender.home]
    before = offender.input[offender.home] or ()
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


def expands(offender: Offender) -> Iterator[Candidate]:
    """Yield the target with a 1, which keeps an axis, where a number asks for the size that the axis has."""
    asked, before = offender.targets[offender.home], offender.input[offender.home]
    if asked is None or before is None or any(target not in (None, asked) for target in offender.targets):
        return
    for place, size in enumerate(asked, len(before) - len(asked)):
        if place >= 0 and size == before[place] != 1:
            at = place - len(before)
            target = (*asked[:at], 1, *asked[len(asked) + at + 1 :])
            fix = Fix(target, None, "the batch stays where it is", f"keeps axis {place}")
            yield Candidate((target,) * len(offender.batches), fix)


def flattens(offender: Offender) -> Iterator[Candidate]:
    """Yield other axes to flatten from."""
    for axis in range(len(offender.input[offender.home] or ()) + 1):
        fix = Fix((axis,), None, "the batch stays first", f"cuts in front of axis {axis}")
        yield Candidate((axis,) * len(offender.batches), fix)


def _inserted(offender: Offender) -> Iterator[Candidate]:
    """Yield targets that have the batch's size, as an input of the model has it, in place of a number."""
    for place, size in enumerate(offender.targets[offender.home]):
        if size == offender.declared:
            targets = [
                each and (*each[:place], batch, *each[place + 1 :])
                for each, batch in zip(offender.targets, offender.batches, strict=True)
            ]
            yield Candidate(tuple(targets), from_input(offender.batch, place), offender.switch)


def from_input(batch: str, place: int) -> Fix:
    """Return the fix that takes the batch's size, at a place of the target, from an input of the model."""
    inserts = ("Shape", "Gather", "Concat")
    return Fix(None, None, "the input keeps its batch", f"takes {batch} from an input", inserts, place)

"""Judge one node from its outcomes at several batch sizes, and find fixes for it.

A fix is another target. It is tried at all sizes before it is offered: at the declared size the output must stay, and
at the others the samples must stay separate. In a target, 0 copies the batch axis and -1 infers it. If neither works,
the batch size is read from an input of the model.
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
    """The effect of another batch size on a node."""

    SAFE = "safe"
    ONLY = "only"
    SWALLOWS = "swallows"
    SCRAMBLES = "scrambles"
    FAILS = "fails"
    SOMETIMES = "sometimes"
    UNKNOWN = "unknown"


OFFENCES = (Verdict.FAILS, Verdict.SCRAMBLES, Verdict.SWALLOWS, Verdict.ONLY)
"""The verdicts of failing nodes, the worst first."""
UNSEEN = "no axis separates the samples"
PARTS = {"whole": "axis {}", "major": "the slow part of axis {}", "minor": "the fast part of axis {}"}
MOST_TRIED = 256
"""The largest number of targets that are tried per entry."""
OTHERS_STAY, NO_TURN = "the other sizes stay", "no Transpose"
Answer = Callable[[tuple[Any, ...], bool | None], tuple[Sizes | None, ...]]
"""A function from targets and allowzero to core's output shape in each lane; None if refused."""


class Run:
    """The outcome of a node at one batch size."""

    __slots__ = ("after", "batch", "before", "here", "input", "output", "refused", "there")

    def __init__(
        self, batch: int, input: Sizes | None, output: Sizes | None, before: Mark, after: Mark, refused: str = ""
    ) -> None:
        """Store the shapes, their marks, and the error of a node that fails.

        `output` is None if the node fails or its output is unknown.
        """
        self.batch, self.input, self.output, self.before, self.after = batch, input, output, before, after
        self.refused = refused
        self.here = batch_place(before, input, batch) if input is not None else None
        """The input axis that holds the batch, and which part of it."""
        self.there = batch_place(after, output, batch) if output is not None else None
        """The output axis that holds the batch, and which part of it."""

    @property
    def outcome(self) -> str:
        """`ok`, `fails` or `blocked`."""
        return "ok" if self.output is not None else "fails" if self.refused else "blocked"

    @property
    def fate(self) -> Verdict:
        """The verdict on the samples: safe, swallows, scrambles or unknown."""
        here, there = self.here, self.there
        if there is None:
            certain = isinstance(self.after, BatchAxis) or (isinstance(self.after, Lost) and self.after.certain)
            return Verdict.SCRAMBLES if here is not None and certain else Verdict.UNKNOWN
        if here is None or here[0] or not there[0] or there[1] == "whole" or not self.input or not self.output:
            return Verdict.SAFE
        is_moved_whole = (self.input[0], here[1]) == (self.output[there[0]], there[1])
        return Verdict.SAFE if is_moved_whole else Verdict.SWALLOWS


class Fix(Record):
    """A change to a node that fixes it."""

    target: tuple[int, ...] | None
    """The new target, or the new argument of another op; None if inserted operators compute it."""
    allowzero: bool | None
    """The value that allowzero must have; None if it does not matter."""
    assumes: str
    """The assumption that makes the fix right: `the batch stays first`."""
    how: str = ""
    """How it works: `copies axis 0`, `counts it`."""
    inserts: tuple[str, ...] = ()
    """The operators that are inserted: `Shape`, `Gather`, `Concat`; empty for a new constant."""
    place: int | None = None
    """The index of the target entry that they compute; None for a new constant."""


class Candidate(Record):
    """A fix to try, with its target in each lane."""

    targets: tuple[Any, ...]
    fix: Fix
    switch: bool | None = None


class FixedOutputs(Record):
    """A fix and the output shape with it in each lane; None where it fails."""

    fix: Fix
    outputs: tuple[Sizes | None, ...]


class Offender(Record):
    """A node that fails at another batch size, in all lanes."""

    input: tuple[Sizes | None, ...]
    targets: tuple[Any, ...]
    """The target in each lane; None where it is unknown."""
    switch: bool | None
    """The value of allowzero; None if it is absent or the operator has none."""
    outputs: tuple[Sizes | None, ...]
    batches: tuple[int, ...]
    """The batch size of each lane."""
    judged: tuple[bool, ...]
    """Whether verdicts are based on each lane."""
    marks: tuple[Mark, ...]
    """The marks of the input."""
    declared: int
    batch: str
    """The name of the batch."""

    @property
    def home(self) -> int:
        """The lane of the declared batch, in which a fix must not change the output."""
        return next(lane for lane, size in enumerate(self.batches) if size == self.declared and self.judged[lane])

    def unlikeliness(self, fixed: FixedOutputs) -> tuple[bool, bool, bool]:
        """Return the sort key of a fix, the best first.

        The batch is best a whole axis, not the last axis (which holds features), and on the axis of the input.
        """
        for lane in range(len(self.batches) - 1, -1, -1):
            before, output, mark, batch = self.input[lane], fixed.outputs[lane], self.marks[lane], self.batches[lane]
            after = fixed_mark(mark, before, output, batch)
            if isinstance(after, BatchAxis) and isinstance(mark, BatchAxis) and output is not None:
                is_whole = output[after.axis] == batch
                return not is_whole, after.axis == len(output) - 1 > 0, after.axis != mark.axis
        return False, False, False


Candidates = Callable[[Offender], Iterator[Candidate]]
"""A generator of fixes to try. An operator without one can only be fixed by a change to other nodes."""


def verdict_of(runs: Sequence[Run], declared: int, batch: str) -> tuple[Verdict, str]:
    """Return the verdict on a node, and the reason.

    `declared_batch` is the declared batch size, or 1 for a free batch.

    Samples are compared at all sizes except the declared one.
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
    batches = and_text([str(run.batch) for run in failing if run.refused == failing[0].refused])
    why = f"at {batch} = {batches}: {failing[0].refused}"
    return (Verdict.ONLY if len(failing) == len(others) else Verdict.SOMETIMES), why


def _samples(runs: Sequence[Run], others: Sequence[Run], batch: str) -> tuple[Verdict, str]:
    """Return the verdict on a node that runs at all sizes."""
    # Samples are visible at a batch of 2 or more, in tensors that depend on the batch.
    visible = [run for run in others if run.batch > 1 and None not in (run.output, run.before, run.after)]
    fates = [run.fate for run in visible]
    if Verdict.SCRAMBLES in fates:
        return Verdict.SCRAMBLES, "no axis of the output separates the samples any more"
    if Verdict.UNKNOWN in fates:
        run = visible[fates.index(Verdict.UNKNOWN)]
        return Verdict.UNKNOWN, next((mark.why for mark in (run.before, run.after) if isinstance(mark, Lost)), UNSEEN)
    if Verdict.SWALLOWS in fates:
        axis, part = visible[fates.index(Verdict.SWALLOWS)].there or (0, "whole")
        return Verdict.SWALLOWS, f"{batch} was axis 0; now it is {PARTS[part].format(axis)}"
    return Verdict.SAFE, "" if any(run.before for run in runs) or not batch else f"{batch} does not reach it"


def fixes(offender: Offender, candidates: Candidates | None, answer: Answer) -> list[FixedOutputs]:
    """Return the fixes of a failing node, the best first; empty if there are none."""
    if candidates is None or offender.outputs[offender.home] is None:
        return []
    by_target: dict[tuple[int, ...] | None, FixedOutputs] = {}
    for candidate in candidates(offender):
        if candidate.fix.target is None and by_target:
            break
        fixed = _tried(offender, candidate, answer)
        if fixed:
            by_target.setdefault(candidate.fix.target, fixed)
    return sorted(by_target.values(), key=offender.unlikeliness)


def _tried(offender: Offender, candidate: Candidate, answer: Answer) -> FixedOutputs | None:
    """Return the outputs with a candidate.

    None unless the node is safe with it and has the same output at the declared batch.
    """
    outputs = answer(candidate.targets, candidate.switch)
    if any(output is None and judged for output, judged in zip(outputs, offender.judged, strict=True)):
        return None
    if outputs[offender.home] != offender.outputs[offender.home]:
        return None
    lanes = zip(offender.batches, offender.input, outputs, offender.marks, offender.judged, strict=True)
    runs = [
        Run(batch, shape, output, mark, fixed_mark(mark, shape, output, batch))
        for batch, shape, output, mark, is_judged in lanes
        if is_judged
    ]
    if verdict_of(runs, offender.declared, offender.batch)[0] is not Verdict.SAFE:
        return None
    return FixedOutputs(candidate.fix, outputs)


def fixed_mark(mark: Mark, before: Sizes | None, after: Sizes | None, batch: int) -> Mark:
    """Return the mark of the output of a fixed node.

    The node keeps the element order or repeats elements.
    """
    if not isinstance(mark, BatchAxis) or before is None or after is None:
        return mark
    if prod(before) != prod(after):
        return BatchAxis(mark.axis + len(after) - len(before), mark.inner)
    return regrouped(mark, before, after, batch)


def reshapes(offender: Offender) -> Iterator[Candidate]:
    """Yield targets with 0 or -1 for the batch, then those that read its size."""
    home = offender.home
    lanes = offender.targets
    before, after = offender.input[home], offender.outputs[home]
    known = [target for target in lanes if target is not None]
    if before is None or after is None or any(target is None for target in lanes[: sum(offender.judged)]):
        return
    constant_entries = [
        entry if all(len(target) > index and target[index] == entry for target in known) else None
        for index, entry in enumerate(lanes[home])
    ]
    own_zeros = bool(offender.switch) and 0 in lanes[home]
    for mark in (0, -1):
        for place in range(len(after)):
            if (mark == 0 and (place >= len(before) or own_zeros)) or place >= len(constant_entries):
                continue
            for target in _completions(constant_entries, place, mark, () if own_zeros else before, after):
                yield _reshape(offender, target, place, mark, own_zeros)
    yield from _inserted(offender)


def _completions(
    plain: Sequence[int | None], place: int, mark: int, before: Sizes, after: Sizes
) -> Iterator[tuple[int, ...]]:
    """Yield targets with `symbol` at index `batch_entry`.

    Another entry is kept, or copied (0), inferred (-1) or replaced by its number.
    """
    choices: list[tuple[int, ...]] = []
    for index, entry in enumerate(plain):
        copy = (0,) if index < len(before) and before[index] == after[index] else ()
        if index == place:
            choices.append((mark,))
        elif entry is None:
            choices.append((*copy, -1))
        else:
            choices.append((after[index],) if entry == mark == -1 else (entry,))
    for number, target in enumerate(every_choice(*choices)):
        if number == MOST_TRIED:
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
    """Return which sizes must not change for an inferred dim to be right.

    These are the sizes whose product is written as a number.
    """
    perm = folded_turn(offender.input[offender.home], offender.outputs[offender.home])
    if perm is not None:
        return f"{NO_TURN} {','.join(map(str, perm))} was folded into it"
    original = offender.targets[offender.home]
    before = offender.input[offender.home] or ()
    numbers = [new for old, new in zip(original, target, strict=True) if old == -1 and new > 1]
    for number in numbers:
        for start in range(len(before)):
            for end in range(len(before), start, -1):
                if start and prod(before[start:end]) == number:
                    sizes = "*".join(map(str, before[start:end]))
                    return f"{sizes if end - start > 1 else f'axis {start}'} stays {number}"
    return OTHERS_STAY


def folded_turn(before: Sizes | None, after: Sizes | None) -> tuple[int, ...] | None:
    """Return the permutation that a reshape of one sample may represent, or None.

    Exporters write a Transpose as a Reshape if it moves only a batch of 1.

    >>> folded_turn((1, 8, 8, 8), (64, 1, 8)), folded_turn((1, 64, 8), (64, 8)), folded_turn((1, 64, 8), (1, 8, 64))
    ((1, 0, 2), None, None)
    """
    if not before or not after or before[0] != 1 or after[0] == 1 or 1 not in after:
        return None
    batch_axis = after.index(1)
    return (*range(1, batch_axis + 1), 0, *range(batch_axis + 1, len(after)))


def expands(offender: Offender) -> Iterator[Candidate]:
    """Yield targets with a 1 instead of a number that equals the size of its axis.

    A 1 keeps the axis at any size.
    """
    original, before = offender.targets[offender.home], offender.input[offender.home]
    if original is None or before is None or any(target not in (None, original) for target in offender.targets):
        return
    for axis, size in enumerate(original, len(before) - len(original)):
        if axis >= 0 and size == before[axis] != 1:
            from_right = axis - len(before)
            target = (*original[:from_right], 1, *original[len(original) + from_right + 1 :])
            fix = Fix(target, None, "the batch stays where it is", f"keeps axis {axis}")
            yield Candidate((target,) * len(offender.batches), fix)


def flattens(offender: Offender) -> Iterator[Candidate]:
    """Yield other axes to flatten at."""
    for axis in range(len(offender.input[offender.home] or ()) + 1):
        fix = Fix((axis,), None, "the batch stays first", f"cuts in front of axis {axis}")
        yield Candidate((axis,) * len(offender.batches), fix)


def _inserted(offender: Offender) -> Iterator[Candidate]:
    """Yield targets in which one number is replaced by the batch size of an input."""
    for index, size in enumerate(offender.targets[offender.home]):
        if size == offender.declared:
            targets = [
                target and (*target[:index], batch, *target[index + 1 :])
                for target, batch in zip(offender.targets, offender.batches, strict=True)
            ]
            yield Candidate(tuple(targets), from_input(offender.batch, index), offender.switch)


def from_input(batch: str, place: int) -> Fix:
    """Return the fix that reads target entry `entry_index` from an input's batch."""
    inserts = ("Shape", "Gather", "Concat")
    return Fix(None, None, "the input keeps its batch", f"takes {batch} from an input", inserts, place)

"""Judge one node from its outcomes at several batch sizes, and find fixes for it.

A fix replaces the target of a node: a shape, a permutation or axes. Each candidate is tried at all batch sizes: at the
declared size the output shape must not change, and at the other sizes the samples must stay separate. In a target, 0
copies the batch dim and -1 infers it. If neither works, inserted nodes read the batch size from an input of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from itertools import product as every_choice
from math import prod
from typing import Any

from shapecalc.core.dims import IntTuple
from shapecalc.core.record import Record
from shapecalc.core.text import join_with_and
from shapecalc.models.batch_axis import BatchAxis, BatchMark, LostBatch, locate_batch, reshape_batch_axis


class BatchVerdict(Enum):
    """The effect of another batch size on a node."""

    SAFE = "safe"
    ONLY = "only"
    SWALLOWS = "swallows"
    SCRAMBLES = "scrambles"
    FAILS = "fails"
    SOMETIMES = "sometimes"
    UNKNOWN = "unknown"


FAILING_VERDICTS = (BatchVerdict.FAILS, BatchVerdict.SCRAMBLES, BatchVerdict.SWALLOWS, BatchVerdict.ONLY)
"""The verdicts of failing nodes, the worst first."""
NO_SAMPLE_AXIS = "no axis separates the samples"
PART_TEXTS = {"whole": "axis {}", "major": "the slow part of axis {}", "minor": "the fast part of axis {}"}
MAX_TARGETS = 256
"""The maximum number of candidate targets for each target entry that may be the batch."""
OTHER_SIZES_STAY, NO_TRANSPOSE = "the other sizes stay", "no Transpose"
TargetEvaluator = Callable[[tuple[Any, ...], bool | None], tuple[IntTuple | None, ...]]
"""A function of targets and allowzero that returns core's output shape in each lane; None where core refuses."""


class BatchRun:
    """The outcome of a node at one batch size."""

    __slots__ = ("batch", "batch_in", "batch_out", "error", "input", "input_mark", "output", "output_mark")

    def __init__(
        self,
        batch: int,
        input: IntTuple | None,
        output: IntTuple | None,
        input_mark: BatchMark,
        output_mark: BatchMark,
        error: str = "",
    ) -> None:
        """Store the shapes, the marks, and the error if the node fails.

        `output` is None if the node fails or its output is unknown.
        """
        self.batch, self.input, self.output, self.input_mark, self.output_mark = (
            batch,
            input,
            output,
            input_mark,
            output_mark,
        )
        self.error = error
        self.batch_in = locate_batch(input_mark, input, batch) if input is not None else None
        """The input axis of the batch, and the part of the axis that is the batch; None if unknown."""
        self.batch_out = locate_batch(output_mark, output, batch) if output is not None else None
        """The output axis of the batch, and the part of the axis that is the batch; None if unknown."""

    @property
    def outcome(self) -> str:
        """The outcome: `ok`, `fails`, or `blocked` if the output is unknown."""
        return "ok" if self.output is not None else "fails" if self.error else "blocked"

    @property
    def samples_verdict(self) -> BatchVerdict:
        """The verdict on the samples: `SAFE`, `SWALLOWS`, `SCRAMBLES` or `UNKNOWN`."""
        here, there = self.batch_in, self.batch_out
        if there is None:
            certain = isinstance(self.output_mark, BatchAxis) or (
                isinstance(self.output_mark, LostBatch) and self.output_mark.certain
            )
            return BatchVerdict.SCRAMBLES if here is not None and certain else BatchVerdict.UNKNOWN
        if here is None or here[0] or not there[0] or there[1] == "whole" or not self.input or not self.output:
            return BatchVerdict.SAFE
        is_moved_whole = (self.input[0], here[1]) == (self.output[there[0]], there[1])
        return BatchVerdict.SAFE if is_moved_whole else BatchVerdict.SWALLOWS


class NodeFix(Record):
    """A change that fixes a failing node."""

    target: tuple[int, ...] | None
    """The new target, or the new argument of another op; None if inserted operators compute it."""
    allowzero: bool | None
    """The new value of allowzero; None if the value is kept."""
    assumes: str
    """The assumption under which the fix is correct, such as `the batch stays first`."""
    effect: str = ""
    """The effect of the fix, such as `copies axis 0`."""
    inserts: tuple[str, ...] = ()
    """The inserted operators, such as `Shape`, `Gather` and `Concat`; empty for a new constant."""
    entry_index: int | None = None
    """The index of the target entry that the inserted operators compute; None for a new constant."""


class FixCandidate(Record):
    """A fix to try, with its target in each lane."""

    targets: tuple[Any, ...]
    fix: NodeFix
    switch: bool | None = None


class FixedOutputs(Record):
    """A fix, and the output shape of the fixed node in each lane.

    The shape is None where the fixed node fails.
    """

    fix: NodeFix
    outputs: tuple[IntTuple | None, ...]


class BatchFailure(Record):
    """A node that fails at another batch size, with its shapes and marks by lane."""

    input: tuple[IntTuple | None, ...]
    targets: tuple[Any, ...]
    """The target in each lane; None where it is unknown."""
    switch: bool | None
    """The value of allowzero; None if it is absent or the operator has none."""
    outputs: tuple[IntTuple | None, ...]
    batches: tuple[int, ...]
    """The batch size of each lane."""
    judged: tuple[bool, ...]
    """Whether verdicts are based on each lane."""
    marks: tuple[BatchMark, ...]
    """The marks of the input."""
    declared: int
    batch: str
    """The name of the batch dim."""

    @property
    def declared_lane(self) -> int:
        """The index of the lane with the declared batch size.

        A fix must not change the output in this lane.
        """
        return next(lane for lane, size in enumerate(self.batches) if size == self.declared and self.judged[lane])

    def sort_key(self, fixed: FixedOutputs) -> tuple[bool, bool, bool]:
        """Return the sort key of a fix; the smallest key is the best.

        By priority, a fix is better if the batch is a whole axis of the output, if it is not the last axis (which holds
        features), and if it is on the same axis as in the input.
        """
        for lane in range(len(self.batches) - 1, -1, -1):
            before, output, mark, batch = self.input[lane], fixed.outputs[lane], self.marks[lane], self.batches[lane]
            after = mark_after_fix(mark, before, output, batch)
            if isinstance(after, BatchAxis) and isinstance(mark, BatchAxis) and output is not None:
                is_whole = output[after.axis] == batch
                return not is_whole, after.axis == len(output) - 1 > 0, after.axis != mark.axis
        return False, False, False


CandidateGenerator = Callable[[BatchFailure], Iterator[FixCandidate]]
"""A generator of fixes to try. An operator without a generator can only be fixed by a change to other nodes."""


def judge_runs(runs: Sequence[BatchRun], declared_batch: int, batch: str) -> tuple[BatchVerdict, str]:
    """Return the verdict on a node, and the reason.

    `declared_batch` is the declared batch size, or 1 for a free batch. Samples are checked at all other batch sizes.
    """
    others = [run for run in runs if run.batch != declared_batch]
    if None not in [run.output for run in runs]:
        return _judge_samples(runs, others, batch)
    if any(run.outcome == "blocked" for run in runs):
        return BatchVerdict.UNKNOWN, next(
            (run.input_mark.why for run in runs if isinstance(run.input_mark, LostBatch)), "no shape"
        )
    failing = [run for run in others if run.error]
    at_declared = [run.error for run in runs if run.batch == declared_batch and run.error]
    if at_declared:
        return BatchVerdict.FAILS, at_declared[0]
    batches = join_with_and([str(run.batch) for run in failing if run.error == failing[0].error])
    why = f"at {batch} = {batches}: {failing[0].error}"
    return (BatchVerdict.ONLY if len(failing) == len(others) else BatchVerdict.SOMETIMES), why


def _judge_samples(runs: Sequence[BatchRun], other_runs: Sequence[BatchRun], batch: str) -> tuple[BatchVerdict, str]:
    """Return the verdict on a node that runs at all sizes."""
    # Samples are distinguishable only at a batch of 2 or more, in tensors that depend on the batch.
    visible = [run for run in other_runs if run.batch > 1 and None not in (run.output, run.input_mark, run.output_mark)]
    fates = [run.samples_verdict for run in visible]
    if BatchVerdict.SCRAMBLES in fates:
        return BatchVerdict.SCRAMBLES, "no axis of the output separates the samples any more"
    if BatchVerdict.UNKNOWN in fates:
        run = visible[fates.index(BatchVerdict.UNKNOWN)]
        return BatchVerdict.UNKNOWN, next(
            (mark.why for mark in (run.input_mark, run.output_mark) if isinstance(mark, LostBatch)), NO_SAMPLE_AXIS
        )
    if BatchVerdict.SWALLOWS in fates:
        axis, part = visible[fates.index(BatchVerdict.SWALLOWS)].batch_out or (0, "whole")
        return BatchVerdict.SWALLOWS, f"{batch} was axis 0; now it is {PART_TEXTS[part].format(axis)}"
    return BatchVerdict.SAFE, "" if any(run.input_mark for run in runs) or not batch else f"{batch} does not reach it"


def find_fixes(
    node: BatchFailure, candidates: CandidateGenerator | None, resolve: TargetEvaluator
) -> list[FixedOutputs]:
    """Return the fixes of a failing node, the best first; empty if there are none."""
    if candidates is None or node.outputs[node.declared_lane] is None:
        return []
    by_target: dict[tuple[int, ...] | None, FixedOutputs] = {}
    for candidate in candidates(node):
        if candidate.fix.target is None and by_target:
            break
        fixed = _try_candidate(node, candidate, resolve)
        if fixed:
            by_target.setdefault(candidate.fix.target, fixed)
    return sorted(by_target.values(), key=node.sort_key)


def _try_candidate(node: BatchFailure, candidate: FixCandidate, resolve: TargetEvaluator) -> FixedOutputs | None:
    """Return the outputs of a node with a candidate fix.

    Returns None unless the fixed node is safe and has the same output shape at the declared batch size.
    """
    outputs = resolve(candidate.targets, candidate.switch)
    if any(output is None and judged for output, judged in zip(outputs, node.judged, strict=True)):
        return None
    if outputs[node.declared_lane] != node.outputs[node.declared_lane]:
        return None
    lanes = zip(node.batches, node.input, outputs, node.marks, node.judged, strict=True)
    runs = [
        BatchRun(batch, shape, output, mark, mark_after_fix(mark, shape, output, batch))
        for batch, shape, output, mark, is_judged in lanes
        if is_judged
    ]
    if judge_runs(runs, node.declared, node.batch)[0] is not BatchVerdict.SAFE:
        return None
    return FixedOutputs(candidate.fix, outputs)


def mark_after_fix(
    mark: BatchMark, input_shape: IntTuple | None, output_shape: IntTuple | None, batch: int
) -> BatchMark:
    """Return the output mark of a fixed node.

    The node must keep the element order or repeat elements.
    """
    if not isinstance(mark, BatchAxis) or input_shape is None or output_shape is None:
        return mark
    if prod(input_shape) != prod(output_shape):
        return BatchAxis(mark.axis + len(output_shape) - len(input_shape), mark.inner)
    return reshape_batch_axis(mark, input_shape, output_shape, batch)


def reshape_candidates(node: BatchFailure) -> Iterator[FixCandidate]:
    """Yield targets with 0 or -1 for the batch, then fixes with inserted nodes.

    The inserted nodes read the batch size from an input of the model.
    """
    home = node.declared_lane
    lanes = node.targets
    before, after = node.input[home], node.outputs[home]
    known = [target for target in lanes if target is not None]
    if before is None or after is None or any(target is None for target in lanes[: sum(node.judged)]):
        return
    constant_entries = [
        entry if all(len(target) > index and target[index] == entry for target in known) else None
        for index, entry in enumerate(lanes[home])
    ]
    own_zeros = bool(node.switch) and 0 in lanes[home]
    for mark in (0, -1):
        for place in range(len(after)):
            if (mark == 0 and (place >= len(before) or own_zeros)) or place >= len(constant_entries):
                continue
            for target in _complete_targets(constant_entries, place, mark, () if own_zeros else before, after):
                yield _reshape_candidate(node, target, place, mark, own_zeros)
    yield from _insertion_candidates(node)


def _complete_targets(
    constant_entries: Sequence[int | None],
    batch_entry: int,
    symbol: int,
    input_shape: IntTuple,
    output_shape: IntTuple,
) -> Iterator[tuple[int, ...]]:
    """Yield complete targets with `symbol` at index `batch_entry`.

    Each other entry is kept, copied (0), inferred (-1), or replaced by the size of the output dim.
    """
    choices: list[tuple[int, ...]] = []
    for index, entry in enumerate(constant_entries):
        copy = (0,) if index < len(input_shape) and input_shape[index] == output_shape[index] else ()
        if index == batch_entry:
            choices.append((symbol,))
        elif entry is None:
            choices.append((*copy, -1))
        else:
            choices.append((output_shape[index],) if entry == symbol == -1 else (entry,))
    for number, target in enumerate(every_choice(*choices)):
        if number == MAX_TARGETS:
            return
        if target.count(-1) <= 1:
            yield target


def _reshape_candidate(
    node: BatchFailure, target: tuple[int, ...], batch_entry: int, symbol: int, keeps_zeros: bool
) -> FixCandidate:
    switch = node.switch if keeps_zeros else None
    how = f"copies axis {batch_entry}" if symbol == 0 else "counts it"
    if symbol == 0:
        assumes = "the batch stays first" if batch_entry == 0 else f"the batch stays on axis {batch_entry}"
    else:
        assumes = _inference_assumption(node, target)
    allowzero = False if node.switch and 0 in target and not keeps_zeros else None
    return FixCandidate((target,) * len(node.batches), NodeFix(target, allowzero, assumes, how), switch)


def _inference_assumption(node: BatchFailure, target: tuple[int, ...]) -> str:
    """Describe the sizes that must not change for an inferred dim to be correct.

    These are the input sizes whose product appears as a number in the target.
    """
    perm = folded_transpose(node.input[node.declared_lane], node.outputs[node.declared_lane])
    if perm is not None:
        return f"{NO_TRANSPOSE} {','.join(map(str, perm))} was folded into it"
    original = node.targets[node.declared_lane]
    before = node.input[node.declared_lane] or ()
    numbers = [new for old, new in zip(original, target, strict=True) if old == -1 and new > 1]
    for number in numbers:
        for start in range(len(before)):
            for end in range(len(before), start, -1):
                if start and prod(before[start:end]) == number:
                    sizes = "*".join(map(str, before[start:end]))
                    return f"{sizes if end - start > 1 else f'axis {start}'} stays {number}"
    return OTHER_SIZES_STAY


def folded_transpose(input_shape: IntTuple | None, output_shape: IntTuple | None) -> tuple[int, ...] | None:
    """Return the permutation that a reshape of one sample may represent, or None.

    Exporters write a Transpose that moves only a batch of 1 as a Reshape.

    >>> folded_transpose((1, 8, 8, 8), (64, 1, 8))
    (1, 0, 2)
    >>> folded_transpose((1, 64, 8), (64, 8)), folded_transpose((1, 64, 8), (1, 8, 64))
    (None, None)
    """
    if not input_shape or not output_shape or input_shape[0] != 1 or output_shape[0] == 1 or 1 not in output_shape:
        return None
    batch_axis = output_shape.index(1)
    return (*range(1, batch_axis + 1), 0, *range(batch_axis + 1, len(output_shape)))


def expand_candidates(node: BatchFailure) -> Iterator[FixCandidate]:
    """Yield targets with a 1 instead of an entry that equals the input dim.

    A 1 keeps the input dim at any size.
    """
    original, before = node.targets[node.declared_lane], node.input[node.declared_lane]
    if original is None or before is None or any(target not in (None, original) for target in node.targets):
        return
    for axis, size in enumerate(original, len(before) - len(original)):
        if axis >= 0 and size == before[axis] != 1:
            from_right = axis - len(before)
            target = (*original[:from_right], 1, *original[len(original) + from_right + 1 :])
            fix = NodeFix(target, None, "the batch stays where it is", f"keeps axis {axis}")
            yield FixCandidate((target,) * len(node.batches), fix)


def flatten_candidates(node: BatchFailure) -> Iterator[FixCandidate]:
    """Yield a fix for each axis at which the input can be flattened."""
    for axis in range(len(node.input[node.declared_lane] or ()) + 1):
        fix = NodeFix((axis,), None, "the batch stays first", f"cuts in front of axis {axis}")
        yield FixCandidate((axis,) * len(node.batches), fix)


def _insertion_candidates(node: BatchFailure) -> Iterator[FixCandidate]:
    """Yield fixes that replace one target entry by the batch size of a model input."""
    for index, size in enumerate(node.targets[node.declared_lane]):
        if size == node.declared:
            targets = [
                target and (*target[:index], batch, *target[index + 1 :])
                for target, batch in zip(node.targets, node.batches, strict=True)
            ]
            yield FixCandidate(tuple(targets), fix_from_input(node.batch, index), node.switch)


def fix_from_input(batch: str, entry_index: int) -> NodeFix:
    """Return the fix that reads a target entry from the batch size of a model input."""
    inserts = ("Shape", "Gather", "Concat")
    return NodeFix(None, None, "the input keeps its batch", f"takes {batch} from an input", inserts, entry_index)

"""Judge a node by its outcomes at several batch sizes, and find fixes for it.

A fix replaces the target of a node, that is, its shape, permutation or axes argument. Each candidate fix is tried at
all batch sizes. At the declared batch size, the output shape must not change. At the other batch sizes, the output must
have an axis that separates the samples. A new target copies the batch dim with a 0, or infers it with a -1. If no such
target works, inserted nodes read the batch size from a model input.

A batch mark states which axis of a tensor separates the samples (see `batch_axis`). A size assignment (`Lane`) gives a
size to each free dim of the model.
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
    """The behavior of a node at the checked batch sizes."""

    SAFE = "safe"
    """The node works at all checked batch sizes."""
    ONLY = "only"
    """The node runs only at the declared batch size."""
    SWALLOWS = "swallows"
    """The batch is axis 0 of the input, but only a part of a later axis of the output.

    The node runs without an error.
    """
    SCRAMBLES = "scrambles"
    """No axis of the output separates the samples.

    The node runs without an error.
    """
    FAILS = "fails"
    """The node fails at the declared batch size."""
    SOMETIMES = "sometimes"
    """The node runs at the declared batch size, and fails at some of the other batch sizes, but not at all of them."""
    RANK_VARIES = "rank-varies"
    """The node runs at all batch sizes, but the rank of its output differs between them."""
    UNKNOWN = "unknown"


FAILING_VERDICTS = (
    BatchVerdict.FAILS,
    BatchVerdict.SCRAMBLES,
    BatchVerdict.SWALLOWS,
    BatchVerdict.ONLY,
    BatchVerdict.RANK_VARIES,
)
"""The verdicts on failing nodes, the worst first."""
NO_SAMPLE_AXIS = "no axis separates the samples"
BATCH_POSITION_TEXTS = {"whole": "axis {}", "major": "the slow part of axis {}", "minor": "the fast part of axis {}"}
BATCH_POSITION_TEXTS |= {"middle": "a middle part of axis {}"}
"""The description of the position of the batch, by the second result of `locate_batch`; `{}` is the axis."""
MAX_TARGETS = 256
"""The maximum number of candidate targets for each index of the batch dim in the target."""
OTHER_SIZES_STAY, NO_TRANSPOSE = "the other sizes stay", "no Transpose"
TargetEvaluator = Callable[[tuple[Any, ...], bool | None], tuple[IntTuple | None, ...]]
"""A function that returns the output shape for each size assignment.

Its arguments are the target for each size assignment and the value of `allowzero`. The output shape is None if the node
fails.
"""


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
        """Create the outcome from the shapes and the batch marks.

        `output` is None if the node fails or its output shape is unknown. `error` is empty unless the node fails.
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
        """The batch axis of the input, as returned by `locate_batch`, or None if unknown."""
        self.batch_out = locate_batch(output_mark, output, batch) if output is not None else None
        """The batch axis of the output, as returned by `locate_batch`, or None if unknown."""

    @property
    def outcome(self) -> str:
        """The outcome as text: `ok`, `fails`, or `blocked` for an unknown output."""
        return "ok" if self.output is not None else "fails" if self.error else "blocked"

    @property
    def sample_verdict(self) -> BatchVerdict:
        """The verdict on this run: `SAFE`, `SWALLOWS`, `SCRAMBLES` or `UNKNOWN`."""
        here, there = self.batch_in, self.batch_out
        if there is None:
            certain = isinstance(self.output_mark, LostBatch) and self.output_mark.certain
            return BatchVerdict.SCRAMBLES if here is not None and certain else BatchVerdict.UNKNOWN
        if here is None or here[0] or not there[0] or there[1] == "whole" or not self.input or not self.output:
            return BatchVerdict.SAFE
        # a slower varying part of axis 0 becomes an axis of its own; the last axis usually contains features
        if here[1] in ("minor", "middle") and there[0] < len(self.output) - 1:
            return BatchVerdict.SAFE
        is_moved_whole = (self.input[0], here[1]) == (self.output[there[0]], there[1])
        return BatchVerdict.SAFE if is_moved_whole else BatchVerdict.SWALLOWS


class SampleOffsets(Record):
    """The multiples of the sample number that a fix adds to an integer input."""

    input: int
    """The index of the input."""
    axis: int
    """The axis of the samples in the input."""
    inner: int
    """The size of one sample on the axis."""
    steps: tuple[int, ...]
    """The difference between the numbers added to consecutive samples, for each coordinate of an index."""
    is_constant: bool = True
    """Whether the input is a constant, of which only the first sample is used."""


class NodeFix(Record):
    """A change to a model that fixes a failing node."""

    target: tuple[int, ...] | None
    """The new target of the node, or `(axis,)` for a Flatten, or None if inserted nodes compute the target."""
    allowzero: bool | None
    """The new value of the attribute `allowzero`, or None for no change."""
    assumes: str
    """The assumption under which the fix is correct, such as `the batch stays first`, or an empty string."""
    effect: str = ""
    """The effect of the fix, such as `copies axis 0`."""
    inserts: tuple[str, ...] = ()
    """The operators of the inserted nodes, such as `Shape`, `Gather` and `Concat`; empty if `target` is set."""
    entry_index: int | None = None
    """The index of the target entry that the inserted nodes compute, or None if `target` is set."""
    entry_source: tuple[int, int] | None = None
    """The input of the node, and its axis, whose size becomes the computed entry.

    It is None if the entry is the batch size, read from a model input.
    """
    resize: tuple[IntTuple, IntTuple] | None = None
    """The axes that the fixed Resize still resizes, and their sizes, or None for other operators."""
    repeats: tuple[tuple[int, int, int], ...] = ()
    """The inputs that are repeated for each sample.

    Each entry consists of the input index, the axis, and the size of one sample on the axis.
    """
    offsets: SampleOffsets | None = None
    """The multiples of the sample number that are added to an input, or None if nothing is added."""
    equal_parts: bool = False
    """Whether the fixed Split has equal parts instead of parts of constant sizes."""
    gains_axis: bool = False
    """Whether the fixed node keeps a batch axis that the original node drops at a batch size of 1."""

    @property
    def batch_inputs(self) -> tuple[tuple[int, int, int], ...]:
        """The inputs that are extended to the batch size along an axis, in the format of `repeats`."""
        own = self.offsets
        return self.repeats if own is None else ((own.input, own.axis, own.inner),)


class FixCandidate(Record):
    """A candidate fix, with the new target for each size assignment."""

    targets: tuple[Any, ...]
    fix: NodeFix
    switch: bool | None = None


class FixWithOutputs(Record):
    """A fix, with the output shape of the fixed node for each size assignment.

    The output shape is None where the fixed node fails.
    """

    fix: NodeFix
    outputs: tuple[IntTuple | None, ...]


class BatchFailure(Record):
    """A failing node, with its shapes and batch marks for each size assignment."""

    input: tuple[IntTuple | None, ...]
    targets: tuple[Any, ...]
    """The target of the node for each size assignment, or None where the target is unknown."""
    switch: bool | None
    """The value of the attribute `allowzero`, or None if the node does not have the attribute."""
    outputs: tuple[IntTuple | None, ...]
    batches: tuple[int, ...]
    """The batch size of each size assignment."""
    judged: tuple[bool, ...]
    """For each size assignment, whether verdicts are based on it."""
    marks: tuple[BatchMark, ...]
    """The batch mark of the input for each size assignment."""
    declared: int
    """The declared batch size, or 1 for a free batch dim."""
    batch: str
    """The name of the batch dim."""

    @property
    def declared_lane(self) -> int:
        """The index of the size assignment with the declared batch size.

        A fix must not change the output shape for this size assignment.
        """
        return next(lane for lane, size in enumerate(self.batches) if size == self.declared and self.judged[lane])

    def sort_key(self, fixed: FixWithOutputs) -> tuple[bool, bool, bool, bool]:
        """Return the sort key of a fix; the best fix has the smallest key.

        The key consists of four flags:

        - the batch is merged with other dims in the output;
        - it is on the last axis, which usually contains features;
        - it is not the slowest varying of the merged dims;
        - its axis differs from the batch axis of the input.
        """
        for lane in range(len(self.batches) - 1, -1, -1):
            before, output, mark, batch = self.input[lane], fixed.outputs[lane], self.marks[lane], self.batches[lane]
            after = mark_after_fix(mark, before, output, batch)
            if isinstance(after, BatchAxis) and isinstance(mark, BatchAxis) and output is not None:
                size, is_last = output[after.axis], after.axis == len(output) - 1 > 0
                return size != batch, is_last, size != batch * after.inner, after.axis != mark.axis
        return False, False, False, False


CandidateGenerator = Callable[[BatchFailure], Iterator[FixCandidate]]
"""A function that generates the candidate fixes of a failing node."""


def judge_runs(runs: Sequence[BatchRun], declared_batch: int, batch: str) -> tuple[BatchVerdict, str]:
    """Return the verdict on a node, and the reason for the verdict.

    `runs` contains the outcome at each checked batch size. `declared_batch` is the declared batch size, or 1 for a free
    batch dim. `batch` is the name of the batch dim. If the node runs at all batch sizes, the verdict depends on whether
    the samples stay separate at batch sizes other than the declared one.
    """
    others = [run for run in runs if run.batch != declared_batch]
    if None not in [run.output for run in runs]:
        ranks = {len(run.output or ()): run.batch for run in reversed(runs)}
        if len(ranks) > 1:
            texts = [f"{rank} at {batch} = {size}" for rank, size in sorted(ranks.items())]
            return BatchVerdict.RANK_VARIES, f"the rank is {join_with_and(texts)}"
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
    """Return the verdict on a node that runs at all batch sizes, with its reason."""
    # with a batch of 1, it is unknown whether the samples are separate
    visible = [run for run in other_runs if run.batch > 1 and None not in (run.output, run.input_mark, run.output_mark)]
    fates = [run.sample_verdict for run in visible]
    if BatchVerdict.SCRAMBLES in fates:
        return BatchVerdict.SCRAMBLES, "no axis of the output separates the samples any more"
    if BatchVerdict.UNKNOWN in fates:
        run = visible[fates.index(BatchVerdict.UNKNOWN)]
        return BatchVerdict.UNKNOWN, next(
            (mark.why for mark in (run.input_mark, run.output_mark) if isinstance(mark, LostBatch)), NO_SAMPLE_AXIS
        )
    if BatchVerdict.SWALLOWS in fates:
        axis, part = visible[fates.index(BatchVerdict.SWALLOWS)].batch_out or (0, "whole")
        return BatchVerdict.SWALLOWS, f"{batch} was axis 0; now it is {BATCH_POSITION_TEXTS[part].format(axis)}"
    return BatchVerdict.SAFE, "" if any(run.input_mark for run in runs) or not batch else f"{batch} does not reach it"


def find_fixes(
    node: BatchFailure, candidates: CandidateGenerator | None, resolve: TargetEvaluator
) -> list[FixWithOutputs]:
    """Return the working fixes of a failing node, the best first.

    `candidates` generates the fixes to try; it is None if a fix is impossible. `resolve` computes the output shapes for
    a new target. A fix that inserts nodes is tried only if no new target works.
    """
    if candidates is None or node.outputs[node.declared_lane] is None:
        return []
    by_target: dict[tuple[int, ...] | None, FixWithOutputs] = {}
    for candidate in candidates(node):
        if candidate.fix.target is None and by_target:
            break
        fixed = _try_candidate(node, candidate, resolve)
        if fixed:
            by_target.setdefault(candidate.fix.target, fixed)
    return sorted(by_target.values(), key=node.sort_key)


def _try_candidate(node: BatchFailure, candidate: FixCandidate, resolve: TargetEvaluator) -> FixWithOutputs | None:
    """Apply a candidate fix, and return it with the output shapes.

    Returns None unless the fixed node is safe, and has the original output shape at the declared batch size.
    """
    outputs = resolve(candidate.targets, candidate.switch)
    if any(output is None and judged for output, judged in zip(outputs, node.judged, strict=True)):
        return None
    if not candidate.fix.gains_axis and outputs[node.declared_lane] != node.outputs[node.declared_lane]:
        return None
    lanes = zip(node.batches, node.input, outputs, node.marks, node.judged, strict=True)
    runs = [
        BatchRun(batch, shape, output, mark, mark_after_fix(mark, shape, output, batch))
        for batch, shape, output, mark, is_judged in lanes
        if is_judged
    ]
    if judge_runs(runs, node.declared, node.batch)[0] is not BatchVerdict.SAFE:
        return None
    return FixWithOutputs(candidate.fix, outputs)


def mark_after_fix(
    mark: BatchMark, input_shape: IntTuple | None, output_shape: IntTuple | None, batch: int
) -> BatchMark:
    """Return the batch mark of a fixed node's output.

    `mark` is the batch mark of its input. The node must keep the element order, as Reshape does, or repeat elements
    along axes, as Expand does.
    """
    if not isinstance(mark, BatchAxis) or input_shape is None or output_shape is None:
        return mark
    if prod(input_shape) != prod(output_shape):
        return BatchAxis(mark.axis + len(output_shape) - len(input_shape), mark.inner)
    return reshape_batch_axis(mark, input_shape, output_shape, batch)


def reshape_candidates(node: BatchFailure) -> Iterator[FixCandidate]:
    """Yield the candidate fixes of a Reshape.

    The first fixes set a target with 0 or -1 as the batch dim. The last fixes insert nodes that read the batch size
    from a model input.
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
            for target in _iter_reshape_targets(constant_entries, place, mark, () if own_zeros else before, after):
                yield _reshape_candidate(node, target, place, mark, own_zeros)
    yield from _insertion_candidates(node)


def _iter_reshape_targets(
    constant_entries: Sequence[int | None],
    batch_entry: int,
    symbol: int,
    input_shape: IntTuple,
    output_shape: IntTuple,
) -> Iterator[tuple[int, ...]]:
    """Yield candidate targets of a Reshape with 0 or -1 as the batch entry.

    `symbol` is 0 or -1, and `batch_entry` its index. `constant_entries` contains the entries of the original target,
    with None for an entry that differs between size assignments. In the new target, such an entry is 0 or -1. If
    `symbol` is -1, an original entry -1 is replaced by the output size.
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
    node: BatchFailure, target: tuple[int, ...], batch_entry: int, symbol: int, zero_is_size: bool
) -> FixCandidate:
    """Build a candidate fix of a Reshape with a new target.

    `symbol` (0 or -1) is the target entry at index `batch_entry`. If `zero_is_size` is True, each 0 in the target is a
    size, as in the original target.
    """
    switch = node.switch if zero_is_size else None
    how = f"copies axis {batch_entry}" if symbol == 0 else f"infers axis {batch_entry}"
    if symbol == 0:
        assumes = "the batch stays first" if batch_entry == 0 else f"the batch stays on axis {batch_entry}"
    else:
        assumes = _inference_assumption(node, target)
    allowzero = False if node.switch and 0 in target and not zero_is_size else None
    return FixCandidate((target,) * len(node.batches), NodeFix(target, allowzero, assumes, how), switch)


def _inference_assumption(node: BatchFailure, target: tuple[int, ...]) -> str:
    """Describe the assumption under which a -1 infers the batch dim.

    For example, if a number in the new target is the product of input dims, these dims must not change.
    """
    perm = find_folded_transpose(node.input[node.declared_lane], node.outputs[node.declared_lane])
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


def find_folded_transpose(input_shape: IntTuple | None, output_shape: IntTuple | None) -> tuple[int, ...] | None:
    """Return the permutation of a Transpose that was exported as a Reshape, or None.

    Exporters replace a Transpose by a Reshape if it only moves a batch axis of size 1.

    >>> find_folded_transpose((1, 8, 8, 8), (64, 1, 8))
    (1, 0, 2)
    >>> find_folded_transpose((1, 64, 8), (64, 8)), find_folded_transpose((1, 64, 8), (1, 8, 64))
    (None, None)
    """
    if not input_shape or not output_shape or input_shape[0] != 1 or output_shape[0] == 1 or 1 not in output_shape:
        return None
    batch_axis = output_shape.index(1)
    return (*range(1, batch_axis + 1), 0, *range(batch_axis + 1, len(output_shape)))


def expand_candidates(node: BatchFailure) -> Iterator[FixCandidate]:
    """Yield the candidate fixes of an Expand.

    Each fix replaces a target entry that equals the input dim by a 1, so that the input dim is copied at any size.
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
    """Yield the candidate fixes of a Flatten, one for each possible `axis`."""
    for axis in range(len(node.input[node.declared_lane] or ()) + 1):
        fix = NodeFix((axis,), None, "the batch stays first", f"cuts in front of axis {axis}")
        yield FixCandidate((axis,) * len(node.batches), fix)


def squeeze_candidates(node: BatchFailure) -> Iterator[FixCandidate]:
    """Yield the fix that sets the axes of a Squeeze without axes.

    The axes are those that have size 1 at every checked batch size.
    """
    if any(node.targets):
        return
    shapes = [shape for shape, judged in zip(node.input, node.judged, strict=True) if judged]
    if shapes and None not in shapes and len({len(shape or ()) for shape in shapes}) == 1:
        sizes = [{*sizes} for sizes in zip(*[shape or () for shape in shapes], strict=True)]
        axes = tuple([axis for axis, found in enumerate(sizes) if found == {1}])
        fix = NodeFix(axes, None, "", "keeps the batch axis", gains_axis=True)
        if axes:  # a Squeeze with an empty list removes every axis of size 1
            yield FixCandidate((axes,) * len(node.batches), fix)


def _insertion_candidates(node: BatchFailure) -> Iterator[FixCandidate]:
    """Yield fixes that insert nodes to compute a target entry from the batch size."""
    for index, size in enumerate(node.targets[node.declared_lane]):
        if size == node.declared:
            targets = [
                target and (*target[:index], batch, *target[index + 1 :])
                for target, batch in zip(node.targets, node.batches, strict=True)
            ]
            yield FixCandidate(tuple(targets), build_insertion_fix(node.batch, index), node.switch)


def build_insertion_fix(batch: str, entry_index: int, *, source: tuple[int, int] | None = None) -> NodeFix:
    """Build a fix that inserts nodes to compute a target entry.

    `batch` is the name of the batch dim. The entry is the batch size, read from a model input. If `source` is not None,
    the entry is the size of an axis of a node input; `source` contains the input index and the axis.
    """
    inserts = ("Shape", "Gather", "Concat")
    effect = f"takes {batch} from an input" if source is None else f"takes the size from input {source[0]}"
    return NodeFix(None, None, "the input keeps its batch", effect, inserts, entry_index, entry_source=source)

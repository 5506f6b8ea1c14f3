"""Verdicts: what other batch sizes do to one listed node, told by where it runs and where the samples are."""

from __future__ import annotations

from shapecalc.core.sizes.record import Record
from shapecalc.models.marks import Apart, Lost, place
from shapecalc.models.report import Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from shapecalc.models.marks import Mark, Sizes

PARTS = {"whole": "axis {}", "major": "the slow part of axis {}", "minor": "the fast part of axis {}"}


class Run(Record, read_often=True):
    """What a node does at one size of the batch."""

    batch: int
    input: Sizes | None
    output: Sizes | None
    """None where it fails, or where nobody knows its input."""
    before: Mark
    after: Mark
    refused: str = ""
    """Why it fails; empty where it does not, or where nobody can say."""

    @property
    def outcome(self) -> str:
        """`ok`, `fails` or `blocked`."""
        return "ok" if self.output is not None else "fails" if self.refused else "blocked"

    @property
    def places(self) -> tuple[tuple[int, str] | None, tuple[int, str] | None]:
        """Which axes carry the batch in the input and in the output, and how."""
        here = place(self.before, self.input, self.batch) if self.input is not None else None
        return here, place(self.after, self.output, self.batch) if self.output is not None else None

    @property
    def told(self) -> bool:
        """Whether the samples can be looked for: at a size of 2 or more, in tensors that the batch reaches."""
        return self.batch > 1 and self.output is not None and self.before is not None and self.after is not None


def verdict_of(runs: Sequence[Run], declared: int, batch: str) -> tuple[Verdict, str]:
    """Return the verdict and one sentence; `declared` is the size that the file declares, or 1.

    The samples are looked for at all sizes but the declared one.
    """
    if any(run.outcome == "blocked" for run in runs):
        return Verdict.UNKNOWN, _reason(runs)
    others = [run for run in runs if run.batch != declared]
    failing = [run for run in others if run.refused]
    at_declared = [run.refused for run in runs if run.batch == declared and run.refused]
    if at_declared:
        return Verdict.FAILS, at_declared[0]
    if failing:
        only = len(failing) == len(others)
        sizes = " and ".join(str(run.batch) for run in failing)
        why = f"at {batch} = {sizes}: {failing[0].refused}"
        return (Verdict.ONLY if only else Verdict.SOMETIMES), why
    return _samples(runs, others, batch)


def _reason(runs: Sequence[Run]) -> str:
    lost = [run.before.why for run in runs if isinstance(run.before, Lost)]
    return lost[0] if lost else "no shape"


def _samples(runs: Sequence[Run], others: Sequence[Run], batch: str) -> tuple[Verdict, str]:
    """Return the verdict on a node that runs at all sizes."""
    told = [run for run in others if run.told]
    if any(_scrambles(run) for run in told):
        return Verdict.SCRAMBLES, "no axis of the output separates the samples any more"
    for run in told:
        if isinstance(run.before, Lost):
            return Verdict.UNKNOWN, run.before.why
        if run.places[1] is None:
            return Verdict.UNKNOWN, run.after.why if isinstance(run.after, Lost) else "no axis separates the samples"
    for run in told:
        here, there = run.places
        assert there is not None
        if here and here[0] == 0 != there[0] and there[1] != "whole":
            return Verdict.SWALLOWS, f"{batch} was axis 0; now it is {PARTS[there[1]].format(there[0])}"
    return Verdict.SAFE, "" if any(run.before for run in runs) else f"{batch} does not reach it"


def _scrambles(run: Run) -> bool:
    """Say whether samples that an axis held apart are held apart by none."""
    here, there = run.places
    certain = isinstance(run.after, Apart) or (isinstance(run.after, Lost) and run.after.certain)
    return here is not None and there is None and certain

"""Verdicts: what other batch sizes do to one listed node, told by where it runs and where the samples are."""

from __future__ import annotations

from shapecalc.core.text import and_text
from shapecalc.models.marks import Apart, Lost, place
from shapecalc.models.report import Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from shapecalc.models.marks import Mark, Sizes

UNSEEN = "no axis separates the samples"
PARTS = {"whole": "axis {}", "major": "the slow part of axis {}", "minor": "the fast part of axis {}"}


class Run:
    """What a node does at one size of the batch. It is made for each node and size, so it is no `Record`."""

    __slots__ = ("after", "batch", "before", "here", "output", "refused", "there")

    def __init__(
        self, batch: int, input: Sizes | None, output: Sizes | None, before: Mark, after: Mark, refused: str = ""
    ) -> None:
        """Set the shapes (the output's is None where it fails or is not known), their marks, and why it fails."""
        self.batch, self.output, self.before, self.after, self.refused = batch, output, before, after, refused
        self.here = place(before, input, batch) if input is not None else None
        """Which axis of the input carries the batch, and how."""
        self.there = place(after, output, batch) if output is not None else None
        """Which axis of the output carries the batch, and how."""

    @property
    def outcome(self) -> str:
        """`ok`, `fails` or `blocked`."""
        return "ok" if self.output is not None else "fails" if self.refused else "blocked"

    @property
    def told(self) -> bool:
        """Whether the samples can be looked for: at a size of 2 or more, in tensors that the batch reaches."""
        return self.batch > 1 and self.output is not None and self.before is not None and self.after is not None

    @property
    def fate(self) -> Verdict:
        """What becomes of the samples: they stay apart, are swallowed or scrambled, or nobody knows."""
        here, there = self.here, self.there
        if there is None:
            return Verdict.SCRAMBLES if here is not None and _is_certain(self.after) else Verdict.UNKNOWN
        swallowed = here is not None and here[0] == 0 != there[0] and there[1] != "whole"
        return Verdict.SWALLOWS if swallowed else Verdict.SAFE


def _is_certain(mark: Mark) -> bool:
    """Say whether it is certain that no axis carries the batch, where none is known to."""
    return isinstance(mark, Apart) or (isinstance(mark, Lost) and mark.certain)


def verdict_of(runs: Sequence[Run], declared: int, batch: str) -> tuple[Verdict, str]:
    """Return the verdict and one sentence; `declared` is the size that the file declares, or 1.

    The samples are looked for at all sizes but the declared one.
    """
    others = [run for run in runs if run.batch != declared]
    if None not in [run.output for run in runs]:
        return _samples(runs, others, batch)
    if any(run.outcome == "blocked" for run in runs):
        return Verdict.UNKNOWN, _reason(runs)
    failing = [run for run in others if run.refused]
    at_declared = [run.refused for run in runs if run.batch == declared and run.refused]
    if at_declared:
        return Verdict.FAILS, at_declared[0]
    only = len(failing) == len(others)
    sizes = and_text([str(run.batch) for run in failing])
    return (Verdict.ONLY if only else Verdict.SOMETIMES), f"at {batch} = {sizes}: {failing[0].refused}"


def _reason(runs: Sequence[Run]) -> str:
    lost = [run.before.why for run in runs if isinstance(run.before, Lost)]
    return lost[0] if lost else "no shape"


def _samples(runs: Sequence[Run], others: Sequence[Run], batch: str) -> tuple[Verdict, str]:
    """Return the verdict on a node that runs at all sizes."""
    fates = {run.fate: run for run in others[::-1] if run.told}
    if Verdict.SCRAMBLES in fates:
        return Verdict.SCRAMBLES, "no axis of the output separates the samples any more"
    if Verdict.UNKNOWN in fates:
        run = fates[Verdict.UNKNOWN]
        return Verdict.UNKNOWN, next((mark.why for mark in (run.before, run.after) if isinstance(mark, Lost)), UNSEEN)
    if Verdict.SWALLOWS in fates:
        axis, part = fates[Verdict.SWALLOWS].there or (0, "whole")
        return Verdict.SWALLOWS, f"{batch} was axis 0; now it is {PARTS[part].format(axis)}"
    return Verdict.SAFE, "" if any(run.before for run in runs) else f"{batch} does not reach it"

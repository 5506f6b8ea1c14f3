"""A walk: the model in numbers, at several sizes in step, node by node, so that a mended node mends all below it.

A *lane* is one size of the batch, with sizes for all other free dims. Each node is passed in all lanes before the next
one is looked at. `Lanes` of something are its values in each lane, in the order of `Walk.lanes`.
"""

from __future__ import annotations

from shapecalc.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Protocol

    from shapecalc.core.problem import Problem
    from shapecalc.models.model import Model, Node
    from shapecalc.models.report import Fix, Verdict

    Sizes = tuple[int, ...]
    """A shape in numbers."""
    Shapes = tuple[Sizes | None, ...]
    """A shape in each lane; None where nobody knows it."""
    Taken = tuple[tuple[int | str | None, ...] | None, ...]
    """The shape of each input, numbers and names of sizes; None where nobody knows it."""
    Values = tuple[Any, ...]
    """A small integer tensor in each lane, as a NumPy array; None where nobody knows its elements."""

    class Follower(Protocol):
        """What follows the batch through the model while it is walked: it judges and mends."""

        def start(self, walk: Walk) -> None:
            """Mark the inputs. It is called once, before the first node; `walk` is then filled as the walk goes."""

        def carry(self, node: Node) -> None:
            """Carry the marks through a node that is not listed and that nothing refused; called after its bodies."""

        def judge(self, visit: Visit) -> Judgement:
            """Return the judgement of a listed node. Its output then is `Judgement.outputs` in the lanes told."""

        def stop(self, node: Node, refused: tuple[str | None, ...]) -> Shapes | None:
            """Note a node that is not listed and fails; return its first output as mended, None if nobody can say.

            `refused` is why, in each lane; None in the lanes where it runs.
            """

        def spoil(self, node: Node, why: str) -> None:
            """Mark the outputs of a node of which nobody can say where the batch is in them."""

        def trial(self) -> Follower:
            """Return a follower that knows the same, and whose notes do not count: for a body that is walked again."""

        def carried(self, tensors: Sequence[int]) -> list[Any]:
            """Return the marks of tensors that a loop carries."""

        def lost(self, count: int) -> list[Any]:
            """Return the marks of so many tensors of which nobody can say where the batch is."""

        def enter(self, tensors: Sequence[int], marks: Sequence[Any]) -> None:
            """Mark the inputs of a body."""

        def slice(self, node: Node, tensor: int, inner: int, axis: int) -> None:
            """Mark an input of a body that is a tensor outside, cut along an axis."""

        def joined(self, marks: Sequence[Any], tensors: Sequence[int]) -> list[Any]:
            """Return what is true of marks and of those of tensors."""


class Lane(Record):
    """One assignment of numbers to the free dims."""

    batch: int
    sizes: Mapping[str, int]
    """The size of every free dim, the batch among them, by the names of `Walk.symbols`."""
    judged: bool
    """Whether verdicts look at it; otherwise it only checks names (the size that is held back)."""


class Walk(Record):
    """What is known so far; it grows while the walk goes on. The lists go by the tensors' numbers."""

    model: Model
    batch: str
    """The name of the batch among the sizes."""
    declared_batch: int | None
    """The number that the file declares for the batch; None if it is free there."""
    taken: Taken
    """The shape that each of `model.inputs` is walked with: numbers, and names of `Lane.sizes`; None without one."""
    lanes: tuple[Lane, ...]
    """The judged ones by size, then those held back (`judged` is False), and last the one with a batch of 0."""
    shapes: list[Shapes | None]
    """The shape of each tensor in every lane; None if none is known in any lane, and before its node was passed."""
    dtypes: list[int]
    """The element type of each tensor by ONNX's number; 0 if it is not known."""
    values: dict[int, Values]
    """The elements of small integer tensors in every lane; a tensor that is not in it has no known elements."""
    origins: dict[int, str]
    """Where the elements in `values` come from: `initializer`, `Constant`, `folded` (computed from these), `external`.

    A tensor that is not in it has elements that were computed from shapes."""
    whys: dict[int, str]
    """Why a tensor's shape is not known in some lane."""


class Visit(Record):
    """A listed node as the walk meets it, with everything above it mended."""

    node: Node
    op: str
    """Its name in core: `reshape`, `transpose`, `shape` ..."""
    version: int | None
    """The operator's version."""
    input: Shapes
    """The shape of its data input."""
    arguments: tuple[Mapping[str, Any] | None, ...]
    """Core's arguments in each lane (`target`, `perm`, `axes`, `axis` ...); None where data decides them."""
    switch: bool | None
    """The setting of allowzero; None if it is left out or does not exist."""
    outputs: Shapes
    """What it gives; None in a lane where it fails, or where its input or its arguments are not known."""
    problems: tuple[Problem | None, ...]
    """What core refuses in each lane; None where it runs or where nobody can say."""
    unknown: str
    """Why it cannot be judged in a judged lane (`no shape`, `size from data`, `external target`); empty if it can."""
    question: int
    """The number that nodes have in common which ask the same of core in every lane."""

    def __init__(
        self,
        node: Node,
        op: str,
        version: int | None,
        input: Shapes,
        arguments: tuple[Mapping[str, Any] | None, ...],
        switch: bool | None,
        outputs: Shapes,
        problems: tuple[Problem | None, ...],
        unknown: str,
        question: int,
    ) -> None:
        """Set the fields; models have many listed nodes, and this is the fastest way."""
        self._node, self._op, self._version, self._input, self._arguments = node, op, version, input, arguments
        self._switch, self._outputs, self._problems = switch, outputs, problems
        self._unknown, self._question = unknown, question


class Judgement(Record):
    """What a follower says of a listed node."""

    verdict: Verdict
    outputs: Shapes
    """Its output once it is mended, with which the walk goes on; `Visit.outputs` if there is nothing to mend."""
    why: str
    """One sentence, without a full stop."""
    fixes: tuple[Fix, ...] = ()
    """What mends it, the best first."""
    blocked_by: str | None = None
    """The path of the first offender or stop above it whose mending it needs; None if there is none."""
    runs: tuple[str, ...] = ()
    """`ok`, `fails` or `blocked` for each judged lane."""
    empty: str | None = None
    """What happens at N = 0: `ok` or `refused`; None if nobody knows."""
    batch_in: tuple[int, str] | None = None
    """The axis of the input that carries the batch, and how: `whole`, `major` or `minor`; None if none does."""
    batch_out: tuple[int, str] | None = None

    def __init__(
        self,
        verdict: Verdict,
        outputs: Shapes,
        why: str,
        fixes: tuple[Fix, ...] = (),
        blocked_by: str | None = None,
        runs: tuple[str, ...] = (),
        empty: str | None = None,
        batch_in: tuple[int, str] | None = None,
        batch_out: tuple[int, str] | None = None,
    ) -> None:
        """Set the fields, as for a visit."""
        self._verdict, self._outputs, self._why, self._fixes = verdict, outputs, why, fixes
        self._blocked_by = blocked_by
        self._runs, self._empty, self._batch_in, self._batch_out = runs, empty, batch_in, batch_out

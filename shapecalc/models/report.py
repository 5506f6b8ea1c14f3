"""What is told of a model: the values behind the screens and the JSON of `shapecalc model`."""

from __future__ import annotations

from shapecalc.core.record import Choice, FrozenDict, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from shapecalc.models.model import Node
    from shapecalc.models.named import NamedShape


NONE: FrozenDict = FrozenDict()


class Verdict(Choice):
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
LISTED = {
    "Reshape": "reshape",
    "Transpose": "transpose",
    "Shape": "shape",
    "Flatten": "flatten",
    "Squeeze": "squeeze",
    "Unsqueeze": "unsqueeze",
    "Expand": "expand",
    "Tile": "tile",
    "DepthToSpace": "depth_to_space",
    "SpaceToDepth": "space_to_depth",
}
"""The operators of ONNX's own domain that are listed, and core's names for them."""


class Asked(Record):
    """What the options ask for."""

    batch: str | None = None
    """The batch's name; None to take the first dim of the first input."""
    sizes: tuple[int, ...] = (1, 2, 3)
    """The sizes to judge; the declared one is added."""
    shapes: Mapping[str, tuple[int | str, ...]] = NONE
    """Shapes of inputs by name, from `--set`."""
    where: Mapping[str, int] = NONE
    """Sizes of other free dims by name, from `--where`."""


class Input(Record):
    """An input, as declared and as taken."""

    name: str
    declared: tuple[int | str | None, ...] | None
    """None if the file declares no shape."""
    taken: tuple[int | str | None, ...] | None
    """The shape that it was walked with, names where sizes vary; None if nobody knows one."""


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


class Judged(Record):
    """A listed node and its verdict."""

    node: Node
    version: int | None
    """The operator's version; None if it is not known."""
    tensors: tuple[tuple[str, ...], tuple[str, ...]]
    """The names of its inputs, and of its outputs."""
    input: NamedShape | None
    """The shape of its data input; None if nobody knows its rank."""
    target: NamedShape | None
    """What is asked for: a target, a permutation, axes; None if there is none or nobody knows it."""
    target_from: str
    """`initializer`, `Constant`, `computed`, `folded`, `attribute`, `external`, `none`."""
    output: NamedShape | None
    """The shape of its output as the node stands, before it is mended; None if it is not known."""
    value: NamedShape | None
    """What a Shape returns; None for other ops."""
    conditions: tuple[str, ...]
    """What the names must satisfy, as JSON has conditions: `4*H*W % 64 == 0`."""
    verdict: Verdict
    runs: Mapping[int, str]
    """By judged size: `ok`, `fails` or `blocked`."""
    empty: str | None
    """At N = 0: `ok` or `refused`; None if nobody knows."""
    blocked_by: str | None
    """The path of the first offender or stop above whose mending it needs; None if there is none."""
    batch_in: tuple[int, str] | None
    """The axis that carries the batch in the input, and how: `whole`, `major`, `minor`; None if none does."""
    batch_out: tuple[int, str] | None
    why: str
    """One sentence; empty if there is nothing to say."""
    fixes: tuple[Fix, ...]
    """The best first; empty if there is nothing to mend or nobody knows how."""

    def __init__(
        self,
        node: Node,
        version: int | None,
        tensors: tuple[tuple[str, ...], tuple[str, ...]],
        input: NamedShape | None,
        target: NamedShape | None,
        target_from: str,
        output: NamedShape | None,
        value: NamedShape | None,
        conditions: tuple[str, ...],
        verdict: Verdict,
        runs: Mapping[int, str],
        empty: str | None,
        blocked_by: str | None,
        batch_in: tuple[int, str] | None,
        batch_out: tuple[int, str] | None,
        why: str,
        fixes: tuple[Fix, ...],
    ) -> None:
        """Set the fields; models have many listed nodes, and this is the fastest way."""
        self._node, self._version, self._tensors, self._input, self._target = node, version, tensors, input, target
        self._target_from, self._output = target_from, output
        self._value, self._conditions = value, conditions
        self._verdict, self._runs, self._empty = verdict, runs, empty
        self._blocked_by, self._batch_in, self._batch_out = blocked_by, batch_in, batch_out
        self._why, self._fixes = why, fixes


class Stop(Record):
    """A node that is not listed and fails with every earlier offender mended."""

    node: Node
    why: str
    cause: str | None
    """The path of the listed node that it comes from; None if none is known."""


class Fixed(Record):
    """What `--fix` did."""

    mended: tuple[tuple[Judged, Fix], ...]
    """The nodes that were mended, with the fix taken."""
    left: tuple[Judged, ...]
    """The offenders that no fix mends."""
    proved: bool | None
    """True if proved, False if the proof failed (nothing is written then), None if it was not proved."""
    why: str
    """What was proved, or why not."""
    path: str | None
    """The file written; None if nothing was."""
    freed: tuple[Input, ...] = ()
    """The inputs that declare in the file what they were taken as."""


class Report(Record):
    """Everything that is told of a model."""

    model: str
    """The path as it was given."""
    opset: Mapping[str, int]
    nodes_held: int
    """How many nodes the model's graph has, listed or not."""
    batch: str
    declared_batch: int | None
    """The static batch that was judged as if freed; None if the batch is free, or named by `--set`."""
    sizes: tuple[int, ...]
    """The sizes judged."""
    assumed: Mapping[str, int]
    """The sizes taken for other free dims that nobody gave, by name."""
    names: Mapping[str, str]
    """By the name that stands in texts (`d0`), what the file writes (`past_len + 1`); only those that differ."""
    inputs: tuple[Input, ...]
    nodes: tuple[Judged, ...]
    """The listed nodes in file order."""
    stops: tuple[Stop, ...]
    fixed: Fixed | None = None
    """None unless a fix was asked for."""
    above: Mapping[str, str] = NONE
    """By the name of a node that was asked for and is not listed, the path of the offender next above it."""

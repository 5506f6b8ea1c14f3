"""The questions that frameworks answer differently, and the table of their answers.

Behaviour that differs is a row here; behaviour that is shared is a function in `ops` and `reshape`.
A framework's switch selects a whole row of `Rules`, because it never changes one answer alone: ONNX's
`allowzero=1` also forbids 0 beside -1. Adding a dialect that answers the known questions is adding a row.
"""

from __future__ import annotations

from enum import Enum

from shapecalc.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Zero(Enum):
    """What does 0 mean in a requested shape?"""

    COPIES = "copies"
    LITERAL = "is zero"


class Infers(Enum):
    """Which negative values ask for a dim to be inferred?"""

    MINUS_ONE = "-1"
    ANY_NEGATIVE = "any < 0"


class ZeroBeside(Enum):
    """May a literal 0 stand beside -1?"""

    ALLOWED = "yes"
    REFUSED = "no"


class EmptyInfer(Enum):
    """What is -1 when the product of the known dims is zero?"""

    REFUSED = "refused"
    WITHOUT_ZEROS = "no zeros"
    """The zeros are left out of the products of both sides."""
    WITHOUT_COPIES = "no copies"
    """The dims that 0 copies are left out of the products of both sides, and 0/0 is 1."""


class Rules(Record):
    """One framework's answers for reshape, at one setting of its switch."""

    zero: Zero
    infers: Infers = Infers.MINUS_ONE
    zero_beside: ZeroBeside = ZeroBeside.ALLOWED
    empty: EmptyInfer = EmptyInfer.REFUSED


class NoPerm(Enum):
    """What does transpose do when no permutation is given?"""

    REVERSES = "reverses the dims"
    KEEPS = "keeps the dims as they are"
    REFUSED = "refused"


class NotOne(Enum):
    """What happens to an axis named for squeeze whose size is not 1?"""

    REFUSED = "refused"
    LEFT_ALONE = "left alone"


class Repeats(Enum):
    """May squeeze be given the same axis twice?"""

    REFUSED = "refused"
    DROPPED = "counted once"


class Flattens(Enum):
    """What does flatten take?"""

    AXIS = "one axis; always two dims"
    RANGE = "a first and a last dim to merge"
    ALL = "nothing; always one dim"


class Broadcast(Enum):
    """Which side may grow in expand?"""

    BOTH_WAYS = "input and target"
    ONE_WAY = "the input only"
    ONE_WAY_KEEPS = "the input only; -1 keeps an existing dim"


class Switch(Record):
    """A framework's own switch over what 0 means."""

    name: str
    default: bool | None
    """None where the framework requires it to be given."""
    since: int = 1
    """The first version of the operator that has it."""


class Dialect(Record):
    """One framework's row: its operators, its answers, its limits, and where they are written down."""

    name: str
    source: str
    operators: Mapping[str, str]
    """The ops it has, by shapecalc's name, each with the framework's own."""
    rules: Mapping[bool | None, Rules]
    """The answers for reshape, by the setting of the switch; under None where there is no switch."""
    switch: Switch | None = None
    newest_opset: int | None = None
    """The newest opset it knows; None where operators are not versioned."""
    max_rank: int | None = None
    max_inferred: int | None = None
    no_perm: NoPerm = NoPerm.REVERSES
    empty_perm_reverses: bool = False
    negative_perm: bool = False
    not_one: NotOne = NotOne.REFUSED
    repeats: Repeats = Repeats.REFUSED
    no_axes_is_all: bool = False
    """Whether squeeze with an empty list of axes takes every dim of 1, as if none were given."""
    negative_axes_since: int = 1
    """The first version whose flatten, squeeze and unsqueeze take negative axes."""
    scalar_axis: bool = False
    """Whether a scalar counts as having one axis when axes are named."""
    flattens: Flattens = Flattens.ALL
    broadcast: Broadcast = Broadcast.ONE_WAY
    slices_shape: bool = True
    """Whether shape takes a start and an end."""
    slices_since: int = 1
    note: str = ""

    def settings(self) -> tuple[bool | None, ...]:
        """Return the settings of the switch, the default first; `(None,)` without a switch."""
        return tuple(sorted(self.rules, key=lambda setting: setting is not (self.switch and self.switch.default)))

    def as_json(self) -> dict[str, object]:
        """Return the row as the JSON object that `shapecalc dialects --json` prints."""
        rules = [
            {"setting": on} | {name: answer.value for name, answer in self.rules[on]._asdict().items()}
            for on in self.settings()
        ]
        plain = {name: value.value if isinstance(value, Enum) else value for name, value in self._asdict().items()}
        return plain | {"rules": rules, "switch": self.switch and self.switch._asdict()}


SWITCHES = {"allowzero": Zero.LITERAL, "special_zero": Zero.COPIES, "zero_is_placeholder": Zero.COPIES}
"""The frameworks' own switches over what 0 means, and what it means when they are on."""

COPY = Rules(Zero.COPIES)
LITERAL = Rules(Zero.LITERAL, zero_beside=ZeroBeside.REFUSED)

ONNX_OPERATORS = {
    op: op.capitalize() for op in ("reshape", "shape", "transpose", "flatten", "squeeze", "unsqueeze", "expand")
}

ONNX = Dialect(
    name="onnx",
    source="ONNX operator documents",
    operators=ONNX_OPERATORS,
    rules={False: COPY, True: LITERAL},
    switch=Switch("allowzero", default=False, since=14),
    newest_opset=28,
    negative_axes_since=11,
    flattens=Flattens.AXIS,
    broadcast=Broadcast.BOTH_WAYS,
    slices_since=15,
)

TENSORRT = Dialect(
    name="tensorrt",
    source="TensorRT operator document: Shuffle",
    operators={"shuffle": "Shuffle", "reshape": "Shuffle", "transpose": "Shuffle"},
    rules={True: COPY, False: LITERAL},
    switch=Switch("zero_is_placeholder", default=True),
    max_rank=8,
    max_inferred=2**31 - 1,
    no_perm=NoPerm.KEEPS,
    note="0 copies from the tensor after first_transpose",
)

ONEDNN = Dialect(
    name="onednn",
    source="oneDNN Graph documents: StaticReshape, StaticTranspose",
    operators={"reshape": "StaticReshape", "transpose": "StaticTranspose"},
    rules={True: COPY, False: LITERAL},
    switch=Switch("special_zero", default=None),
    max_rank=12,
    no_perm=NoPerm.REFUSED,
    negative_perm=True,
    note="DynamicReshape of the older specification has the same rules, with the shape as a run-time input",
)

OPENVINO = Dialect(
    name="openvino",
    source="OpenVINO operator documents, and OpenVINO 2026.4.1",
    operators={
        "reshape": "Reshape",
        "transpose": "Transpose",
        "squeeze": "Squeeze",
        "unsqueeze": "Unsqueeze",
        "expand": "Broadcast",
        "shape": "ShapeOf",
    },
    rules={
        True: Rules(Zero.COPIES, empty=EmptyInfer.WITHOUT_COPIES),
        False: Rules(Zero.LITERAL, empty=EmptyInfer.WITHOUT_COPIES),
    },
    switch=Switch("special_zero", default=None),
    empty_perm_reverses=True,
    not_one=NotOne.LEFT_ALONE,
    scalar_axis=True,
    repeats=Repeats.DROPPED,
    no_axes_is_all=True,
    slices_shape=False,
)

NUMPY = Dialect(
    name="numpy",
    source="NumPy reference, and NumPy 2.4.6",
    operators={
        "reshape": "reshape",
        "transpose": "transpose",
        "flatten": "flatten",
        "squeeze": "squeeze",
        "unsqueeze": "expand_dims",
        "expand": "broadcast_to",
        "shape": "shape",
    },
    rules={None: Rules(Zero.LITERAL, infers=Infers.ANY_NEGATIVE)},
    max_rank=64,
    negative_perm=True,
)

TORCH = Dialect(
    name="torch",
    source="PyTorch reference, and PyTorch 2.13.0",
    operators={
        "reshape": "reshape",
        "transpose": "permute",
        "flatten": "flatten",
        "squeeze": "squeeze",
        "unsqueeze": "unsqueeze",
        "expand": "expand",
        "shape": "shape",
    },
    rules={None: Rules(Zero.LITERAL)},
    negative_perm=True,
    not_one=NotOne.LEFT_ALONE,
    scalar_axis=True,
    flattens=Flattens.RANGE,
    broadcast=Broadcast.ONE_WAY_KEEPS,
    note="transpose without a permutation is Tensor.T",
)

ONNXRUNTIME = ONNX._replace(
    name="onnxruntime",
    source="ONNX Runtime 1.31.1, CPU, measured with shapes that are unknown when the model is loaded",
    rules={False: COPY, True: Rules(Zero.LITERAL, empty=EmptyInfer.WITHOUT_ZEROS)},
    newest_opset=26,
    repeats=Repeats.DROPPED,
    no_axes_is_all=True,
    negative_axes_since=1,
    note="with shapes known at load it refuses what the ONNX text refuses",
)

DIALECTS = {row.name: row for row in (ONNX, TENSORRT, ONEDNN, OPENVINO, NUMPY, TORCH, ONNXRUNTIME)}

"""The questions that frameworks answer differently, and `Dialect`, one framework's row of answers.

Behaviour that differs is an answer here; behaviour that is shared is a function in the room `ops`. A switch of a
framework selects a whole `Reading`, because it never changes one answer alone: ONNX's `allowzero=1` also forbids
0 beside -1.
"""

from __future__ import annotations

from shapecalc.core.sizes.record import Choice, FrozenDict, Record, fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from shapecalc.core.answers.stage import Facts, Reasons
    from shapecalc.core.dialects.params import Param
    from shapecalc.core.sizes.rule import Rule

NONE: FrozenDict = FrozenDict()
NO_VERSIONS: Mapping[int, frozenset[str]] = {}


class Zero(Choice):
    """What does 0 mean in a requested shape?"""

    COPIES = "copies"
    LITERAL = "is zero"


class Infers(Choice):
    """Which negative values ask for a dim to be inferred?"""

    MINUS_ONE = "-1"
    ANY_NEGATIVE = "any < 0"


class ZeroBeside(Choice):
    """May a literal 0 stand beside -1?"""

    ALLOWED = "yes"
    REFUSED = "no"


class EmptyInfer(Choice):
    """What is -1 if the product of the known dims is zero?"""

    REFUSED = "refused"
    WITHOUT_ZEROS = "no zeros"
    """The zeros are left out of the products of both sides."""
    WITHOUT_COPIES = "no copies"
    """The dims that 0 copies are left out of the products of both sides, and 0/0 is 1."""


class Reading(Record, read_often=True):
    """How a framework reads a requested shape, at one setting of its switch."""

    zero: Zero
    infers: Infers = Infers.MINUS_ONE
    zero_beside: ZeroBeside = ZeroBeside.ALLOWED
    empty: EmptyInfer = EmptyInfer.REFUSED


class NoPerm(Choice):
    """What does transpose do if no permutation is given?"""

    REVERSES = "reverses the dims"
    KEEPS = "keeps the dims as they are"
    REFUSED = "refused"


class NotOne(Choice):
    """What happens to an axis named for squeeze whose size is not 1?"""

    REFUSED = "refused"
    LEFT_ALONE = "left alone"


class Repeats(Choice):
    """May the same axis be named twice?"""

    REFUSED = "refused"
    DROPPED = "counted once"
    EACH = "counted each time"
    """Each names a dim of its own. Ops have no way for this: the operator brings its steps."""


class Flattens(Choice):
    """What does flatten take?"""

    AXIS = "one axis; always two dims"
    RANGE = "a first and a last dim to merge"
    ALL = "nothing; always one dim"
    REST = "nothing; always two dims, the first and the product of the others"


class Broadcast(Choice):
    """Which side may grow in expand?"""

    BOTH_WAYS = "input and target"
    ONE_WAY = "the input only"
    ONE_WAY_KEEPS = "the input only; -1 keeps an existing dim"
    RANK_STAYS = "the input only, and no dims are added; 0 keeps a dim"


class TileRepeats(Choice):
    """How many repeats does tile take?"""

    EACH = "one for each dim"
    AT_LEAST = "one for each dim, or more in front"
    ANY = "any number: they are for the last dims, and the other dims get 1"


class Outside(Choice):
    """What happens to a start and a stop of a slice that lie outside of the dim?"""

    CLAMPED = "moved to its ends, as in Python"
    CLAMPED_INSIDE = "moved to its ends; a start with a step below 0 to its first position"
    REFUSED = "refused, and nothing counts from the end"


class Switch(Record, read_often=True):
    """A framework's own switch over what 0 means."""

    name: str
    default: bool | None
    """None if the framework requires it to be given."""
    since: int = 1
    """The first version of the operator that has it."""


class Operator(Record, read_often=True):
    """What a dialect calls an op, and what its operator takes."""

    name: str
    versions: Mapping[int, frozenset[str]] = NO_VERSIONS
    """The element types of each version, by the version's number; empty if operators have no versions."""
    since: Mapping[str, int | None] = NONE
    """The op's parameters that not every version has: the first version with each, None if the operator has it in
    none. To give one that it lacks is a problem, not usage."""
    params: tuple[Param, ...] = ()
    """The parameters that it has beside those of the op."""
    steps: Callable[..., Reasons | None] | None = None
    """What resolves requests that the op does not resolve as this operator does; called as `Op.steps` is. It returns
    None for a request that is left to the op, and decides that before it begins: the fast answers ask, too."""
    fast: Callable[..., Any] | None = None
    """The fast answer, called as `Op.fast` is; without it the op's answers what `steps` leaves to the op."""
    heeds_empty: bool = True
    """Whether its own `steps` have other rules for a tensor that holds nothing."""


class Dialect(Record, read_often=True):
    """One framework's row: its operators, its answers, its limits, and where they are written down."""

    name: str
    source: str
    readings: Mapping[bool | None, Reading]
    """How it reads a requested shape, by the setting of the switch; under None if there is no switch."""
    operators: Mapping[str, Operator] = NONE
    """Its operators, by shapecalc's name of the op. An op that came later names the operators itself."""
    follows: Dialect | None = None
    """The dialect whose operators it has, unless it names its own."""
    switch: Switch | None = None
    newest_opset: int | None = None
    """The newest opset it knows; None if operators are not versioned."""
    max_rank: int | None = None
    max_inferred: int | None = None
    no_perm: NoPerm = NoPerm.REVERSES
    empty_perm_reverses: bool = False
    negative_perm: bool = False
    not_one: NotOne = NotOne.REFUSED
    squeeze_repeats: Repeats = Repeats.REFUSED
    unsqueeze_repeats: Repeats = Repeats.REFUSED
    inserts_one: bool = False
    """Whether unsqueeze takes exactly one axis."""
    no_axes_is_all: bool = False
    """Whether squeeze with an empty list of axes takes every dim of 1, as if none were given."""
    negative_axes_since: int = 1
    """The first version whose flatten, squeeze and unsqueeze take negative axes."""
    scalar_axis: bool = False
    """Whether a scalar counts as having one axis if axes are named."""
    flattens: Flattens = Flattens.ALL
    flattens_from: int = 0
    """The first dim that flatten merges if a range can be given and none is."""
    broadcast: Broadcast = Broadcast.ONE_WAY
    tile_repeats: TileRepeats = TileRepeats.ANY
    slices_shape: bool = True
    """Whether shape takes a start and an end."""
    outside: Outside = Outside.CLAMPED
    slices_backwards: bool = True
    """Whether a slice takes a step below 0."""
    types: frozenset[str] = frozenset()
    """The element types that its operators accept, if they have no versions."""
    lacks_types: Mapping[str, frozenset[str]] = NONE
    """The element types that an operator lacks of those that `types` or its version lists, by op."""
    spellings: Mapping[str, str] = NONE
    """Its own spellings of element types, if they are not NumPy's, each with the name it stands for."""
    prefix: str = ""
    """What may stand before the name of an element type: `torch.`"""
    aliases: tuple[str, ...] = ()
    """Other names of the dialect."""
    note: str = ""
    facts: tuple[type[Facts], ...] = ()
    """The facts of steps that only this dialect has."""
    refusals: tuple[Rule, ...] = ()
    """The rules that only this dialect refuses by."""

    def settings(self) -> tuple[bool | None, ...]:
        """Return the settings of the switch, the default first; `(None,)` without a switch."""
        default = self.switch and self.switch.default
        return tuple(sorted(self.readings, key=lambda setting: setting is not default))

    @property
    def defaults(self) -> tuple[bool | None, ...]:
        """The settings that count as the dialect's own: the default; both if the switch is required."""
        required = self.switch is not None and self.switch.default is None
        return self.settings() if required else self.settings()[:1]

    def reading_as_json(self, on: bool | None) -> dict[str, object]:
        """Return how it reads a requested shape at one setting, as the JSON object of `shapecalc dialects`."""
        return {"setting": on} | {name: answer.value for name, answer in fields(self.readings[on]).items()}


COPIES = Reading(Zero.COPIES)
"""0 copies, -1 beside an empty dim is refused."""
LITERAL = Reading(Zero.LITERAL, zero_beside=ZeroBeside.REFUSED)
"""0 is a dim of size zero, and may not stand beside -1."""

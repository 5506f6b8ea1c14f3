"""`Stage` and `Step`: an op is one or more stages, and each stage has its reasons.

Pictures draw stages, code writers write them, and the engine carries them out. A step is one reason: a rule, the
dim that it settles, and the axes that the dim comes from.
"""

from __future__ import annotations

from abc import abstractmethod

from shapecalc.core.answers.moves import Move
from shapecalc.core.sizes.conditions import Conditions
from shapecalc.core.sizes.dims import Dim, Monomial, Shape
from shapecalc.core.sizes.record import Choice, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from typing import ClassVar, TypeAlias

    from shapecalc.core.sizes.rule import Rule


class Kind(Choice):
    """What a stage does. Pictures and code writers handle every kind; mypy finds a kind that is not handled."""

    PERMUTE = "moves axes"
    RESHAPE = "cuts the elements anew, as a requested shape says"
    MERGE = "merges neighbouring axes"
    SQUEEZE = "drops dims of 1"
    UNSQUEEZE = "inserts dims of 1"
    EXPAND = "repeats dims of 1"
    SELECT = "takes one position of an axis, which goes"
    SLICE = "keeps some positions of axes"
    SPLIT = "keeps one of the equal parts of an axis"
    ROLL = "moves the positions of an axis on, round its end"
    FLIP = "reverses axes"
    SHAPE = "returns the dims themselves"
    VIEW = "reads the same memory with other strides"


class Facts(Record):
    """What a step knows beside its dims. Each rule in the room `rules` has its own class of facts."""

    rule: ClassVar[Rule]
    name: ClassVar[str]
    """The name of what the step does, in a word or two."""

    @abstractmethod
    def why(self, step: Step) -> str:
        """Return the step's sentence."""


class Step(Record):
    """One reason: the dim that is settled, the axes it comes from, and why."""

    facts: Facts
    out: int | None
    """The index of the output dim that this step settles; None if it settles none by itself."""
    sources: tuple[int, ...]
    """The input axes of the stage that it comes from."""
    value: Dim | Shape
    """The dim that is settled; for a step about all dims, the whole shape."""
    conditions: Conditions = ()

    @property
    def rule(self) -> Rule:
        """The rule, which is its own id."""
        return self.facts.rule

    @property
    def name(self) -> str:
        """The name of what the step does, in a word or two."""
        return self.facts.name

    @property
    def dim(self) -> Dim:
        """The dim that is settled; raises `TypeError` for a step about all dims."""
        if isinstance(self.value, tuple):
            raise TypeError(f"{self.rule} settles a whole shape")
        return self.value

    @property
    def shape(self) -> Shape:
        """The whole shape, for a step about all dims; for other steps, the shape of their one dim."""
        return self.value if isinstance(self.value, tuple) else (self.value,)

    @property
    def why(self) -> str:
        """The step's sentence."""
        return self.facts.why(self)


class Stage(Record):
    """One stage of an op: what it was asked, its steps as far as they got, and its move."""

    kind: Kind
    label: str
    """What the stage is called: the op's name, or the argument of a composite op that asks for it."""
    argument: str
    """The name of the request's argument that asks for this stage."""
    before: Shape
    asked: Shape = ()
    """The requested shape, permutation or axes as they were given; `()` if none were given."""
    steps: tuple[Step, ...] = ()
    after: Shape | None = None
    """The shape after the stage; None if it was refused."""
    move: Move | None = None
    """What is done to the data; None if the stage was refused."""

    def __init__(
        self,
        kind: Kind,
        label: str,
        argument: str,
        before: Shape,
        asked: Shape = (),
        steps: tuple[Step, ...] = (),
        after: Shape | None = None,
        move: Move | None = None,
    ) -> None:
        """Set the fields."""
        self._kind = kind
        self._label = label
        self._argument = argument
        self._before = before
        self._asked = asked
        self._steps = steps
        self._after = after
        self._move = move

    @property
    def finished(self) -> bool:
        """Whether the stage was not refused."""
        return self.move is not None

    def finish(self, steps: Sequence[Step], move: Move | None) -> Stage:
        """Set the steps and the move of the stage, and return it. Without a move, it was refused after its steps.

        The stage itself changes, because nothing but the caller has seen it yet.
        """
        self._steps = tuple(steps)
        self._move = move
        self._after = None if move is None else move.after(self._before)
        return self


if TYPE_CHECKING:
    Reasons: TypeAlias = Generator[Stage | Step | Move, None, Shape]
    """An op at work. For each stage it yields the `Stage` as it begins, its `Step`s, and its `Move`. It returns the
    output shape."""


def plain(value: object) -> object:
    """Return a dim, a shape or an argument for JSON. Dims with names are strings; shapes are lists.

    >>> from shapecalc.core.sizes.dims import named_dim
    >>> plain((2, named_dim("N"), -1)), plain(None)
    ([2, 'N', -1], None)
    """
    if isinstance(value, Monomial):
        return str(value)
    return [plain(part) for part in value] if isinstance(value, tuple) else value

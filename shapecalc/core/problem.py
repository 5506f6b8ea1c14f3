"""What can go wrong, as data: a `Rule` says why, a `Problem` what and where. The front ends show it."""

from __future__ import annotations

from shapecalc.core.record import Record, fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self, TypedDict, Unpack

    class Place(TypedDict, total=False):
        """Where a problem is: the argument, the index of its token, and the characters of that."""

        argument: str | None
        index: int | None
        span: tuple[int, int] | None


# `Rule`: one rule, with the texts about it. The rules themselves are in the room `rules`.


class Rule(str):
    """A rule's id, as problems and steps show it, with the texts that `shapecalc why ID` prints.

    >>> rule = Rule("two-infers", "more than one dim to infer", "Two unknowns ...", "shapecalc ...", "ONNX Reshape")
    >>> rule, rule.sentence
    ('two-infers', 'more than one dim to infer')
    """

    __slots__ = ("example", "explanation", "name", "sentence", "source", "why")

    sentence: str
    """The rule in one line."""
    explanation: str
    example: str
    """A command line in which the rule acts."""
    source: str
    """Where the rule is written down, or which library was run."""
    why: str | Callable[..., str]
    """The sentence of its steps: a text with the step and its facts put in, or what makes it of these; empty if it
    settles nothing."""
    name: str
    """The name of what it does, in a word or two."""

    def __new__(
        cls,
        id: str,
        sentence: str,
        explanation: str,
        example: str,
        source: str,
        why: str | Callable[..., str] = "",
        name: str = "",
    ) -> Self:
        """Make a rule from its id and its texts; its name is its id, unless it has another."""
        made = super().__new__(cls, id)
        texts = (example, explanation, name or id.replace("-", " "), sentence, source, why)
        for slot, text in zip(Rule.__slots__, texts, strict=True):
            object.__setattr__(made, slot, text)
        return made

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a rule cannot be changed")

    def __reduce__(self) -> tuple[type[Rule], tuple[object, ...]]:
        texts = (self.sentence, self.explanation, self.example, self.source, self.why, self.name)
        return type(self), (str(self), *texts)

    def as_json(self) -> dict[str, str]:
        """Return the rule as the JSON object that `shapecalc why --json` prints."""
        texts = {"explanation": self.explanation, "example": self.example, "source": self.source}
        return {"id": str(self), "says": self.sentence, **texts}


# What can go wrong, as data: a `Problem` says what is wrong and where. The front ends show it.


USAGE = Rule(
    "usage",
    "the question cannot be read",
    "A shape that cannot be read, an option that does not exist, a dialect that does not have the operation.",
    "shapecalc reshape 2,,4 -1",
    "shapecalc",
)
FILE = Rule(
    "file",
    "a file or a device cannot be used",
    "A file that does not exist, is not an array, contains pickled objects or is cut short; an output that exists "
    "(without --force), or is the input itself; a backend that cannot be used.",
    "shapecalc reshape missing.npy -1",
    "shapecalc",
)
DIFFERS = Rule(
    "differs",
    "a shape does not fit a pattern",
    "? is any dim, ... any number of dims, and a name has the same size everywhere, in all files of one run.",
    "shapecalc reshape 2,3,4 0,-1 --expect N,N",
    "shapecalc",
)


class Problem(Record):
    """One refusal: the rule that refused, a message, a hint, and the token at fault."""

    rule: Rule
    """The rule, which is its own id; `usage` if the question itself cannot be read."""
    message: str
    hint: str = ""
    """What would help with this input; empty if nothing is known that would."""
    argument: str | None = None
    """The name of the argument at fault: `input`, `target`, `perm` ..."""
    index: int | None = None
    """The index of the token in that argument; None if the whole argument is at fault."""
    span: tuple[int, int] | None = None
    """The place of the token in the argument as it was written: its first character, and the one after its last."""

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}" + (f" ({self.hint})" if self.hint else "")

    def as_json(self) -> dict[str, object]:
        """Return the problem as the JSON object that the command line documents."""
        return fields(self) | {"rule": str(self.rule), "span": list(self.span) if self.span else None}


class ShapeError(ValueError):
    """A request that is refused. `problem` says why, and `trace` says how far it got.

    >>> import shapecalc as sc
    >>> try:
    ...     sc.reshape((2, 3, 4), (5, -1))
    ... except sc.ShapeError as error:
    ...     print(error.problem.rule, error.problem.index)
    indivisible 1
    """

    problem: Problem
    trace: Any
    """The `Trace` or `Chain` with the steps that came before the problem; None if there were none."""

    def __init__(self, problem: Problem, trace: Any = None) -> None:
        """Keep the problem, and the trace of the steps that came before it."""
        super().__init__(str(problem))
        self.problem = problem
        self.trace = trace


def refusal(rule: Rule, message: str, **place: Unpack[Place]) -> ShapeError:
    """Return the error to raise if `rule` refuses a request."""
    return ShapeError(Problem(rule, message, **place))


def misuse(message: str, hint: str = "", **place: Unpack[Place]) -> ShapeError:
    """Return the error to raise if a question cannot be read: usage or syntax."""
    return ShapeError(Problem(USAGE, message, hint, **place))

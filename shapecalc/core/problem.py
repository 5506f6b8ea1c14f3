"""The errors of refused requests: `Rule`, `Problem` and `ShapeError`.

If a request breaks a rule of the op or of the framework, `ShapeError` is raised. In docstrings, `ShapeError`
(two-infers) denotes a `ShapeError` whose problem has the rule `two-infers`.
"""

from __future__ import annotations

import sys

from shapecalc.core.record import Record, fields, lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self, TypedDict, Unpack

    class Location(TypedDict, total=False):
        """The location of a problem: an argument, and the index and the span of a token."""

        argument: str | None
        index: int | None
        span: tuple[int, int] | None


class Rule(str):
    """The id of a rule, with the texts that `shapecalc why ID` prints.

    >>> rule = Rule("two-infers", "more than one dim to infer", "Two unknowns ...", "shapecalc ...", "ONNX Reshape")
    >>> rule, rule.sentence
    ('two-infers', 'more than one dim to infer')
    """

    __slots__ = ("example", "explanation", "module", "name", "sentence", "source", "why")

    sentence: str
    """The rule as one line of text."""
    explanation: str
    example: str
    """An example command line that applies the rule."""
    source: str
    """The specification of the rule, or the library with the measured behaviour."""
    why: str | Callable[..., str]
    """The explanation of a step with this rule, or an empty string for a rule without steps.

    The explanation is a format string or a function. The arguments are the step and the items of `Step.facts`.
    """
    name: str
    """A short name for the effect of the rule, in one or two words."""
    module: str
    """The name of the module that defines the rule. Unpickling loads the rule from this module."""

    def __new__(
        cls,
        rule_id: str,
        sentence: str,
        explanation: str,
        example: str,
        source: str,
        why: str | Callable[..., str] = "",
        name: str = "",
    ) -> Self:
        """Create a rule from its id and its texts.

        `name` defaults to the words of the id.
        """
        rule = super().__new__(cls, rule_id)
        module = sys._getframe(1).f_globals["__name__"]
        texts = (example, explanation, module, name or rule_id.replace("-", " "), sentence, source, why)
        for slot, text in zip(Rule.__slots__, texts, strict=True):
            object.__setattr__(rule, slot, text)
        return rule

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a rule cannot be changed")

    def __reduce__(self) -> tuple[Callable[[str, str], Rule], tuple[str, str]]:
        return _load_rule, (self.module, str(self))

    def as_json(self) -> dict[str, str]:
        """Return the rule as the JSON object that `shapecalc why --json` prints."""
        texts = {"explanation": self.explanation, "example": self.example, "source": self.source}
        return {"id": str(self), "says": self.sentence, **texts}


def _load_rule(module: str, rule_id: str) -> Rule:
    """Return the rule with this id from a module."""
    values = vars(__import__(module, fromlist=[""])).values()
    return next(value for value in values if isinstance(value, Rule) and value == rule_id)


USAGE = Rule(
    "usage",
    "the request cannot be parsed",
    "For example, a shape cannot be parsed, an option does not exist, or the dialect does not have the operation.",
    "shapecalc reshape 2,,4 -1",
    "shapecalc",
)
FILE = Rule(
    "file",
    "a file or a device cannot be used",
    "The input may be missing, truncated or not an array, or it may contain pickled objects. The output must "
    "not be the input and, without --force, must not exist. The backend may not be available.",
    "shapecalc reshape missing.npy -1",
    "shapecalc",
)
DIFFERS = Rule(
    "differs",
    "a shape does not match a pattern",
    "In a pattern, ? matches any dim, and ... matches any number of dims. A name must have the same size everywhere, "
    "in all files of one run.",
    "shapecalc reshape 2,3,4 0,-1 --expect N,N",
    "shapecalc",
)


class Problem(Record):
    """The reason for a refusal, and the location of the invalid token."""

    rule: Rule
    """The broken rule, or `usage` for a malformed request."""
    message: str
    hint: str = ""
    """A suggested fix, or an empty string."""
    argument: str | None = None
    """The name of the invalid argument, such as `input`, `target` or `perm`."""
    index: int | None = None
    """The index of the invalid token in the argument, or None if the complete argument is invalid."""
    span: lazy[tuple[int, int] | None] = lazy(default=None)
    """The start offset and the exclusive end offset of the invalid token in the text of the argument."""

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}" + (f" ({self.hint})" if self.hint else "")

    def __repr__(self) -> str:
        return f"Problem({self})"

    def as_json(self) -> dict[str, object]:
        """Return the problem as the JSON object documented in shapecalc(1)."""
        return fields(self) | {"rule": str(self.rule), "span": list(self.span) if self.span else None}


class ShapeError(ValueError):
    """The error for a refused request.

    `problem` is the reason for the refusal, and `trace` contains the steps before the problem.

    >>> import shapecalc as sc
    >>> try:
    ...     sc.reshape((2, 3, 4), (5, -1))
    ... except sc.ShapeError as error:
    ...     print(error.problem.rule, error.problem.index)
    indivisible 1
    """

    problem: Problem
    trace: Any
    """The `Trace` or `Chain` with the steps before the problem, or None."""
    stages: Any
    """The stages of the op, of which the last is the refused stage."""

    def __init__(self, problem: Problem, trace: Any = None, stages: Any = ()) -> None:
        """Create an error from a problem and the stages before it."""
        super().__init__(problem)
        self.problem, self.trace, self.stages = problem, trace, stages

    def __str__(self) -> str:
        return str(self.problem)


OUT_OF_MEMORY = "it takes more memory than there is, or than --memory allows"


def error_reason(error: BaseException) -> str:
    """Return the message of an error as one nonempty line without a full stop.

    The message of an `OSError` starts in lower case and omits the errno and the file name.

    >>> error_reason(OSError(28, "No space left on device", "y.npy")), error_reason(AssertionError())
    ('no space left on device', 'AssertionError')
    """
    if isinstance(error, (EOFError, MemoryError)):
        return "it ends too early" if isinstance(error, EOFError) else OUT_OF_MEMORY
    system_reason = error.strerror if isinstance(error, OSError) else None
    reason = f"{system_reason[:1].lower()}{system_reason[1:]}" if system_reason else str(error)
    return " ".join(reason.split()).rstrip(".") or type(error).__name__


def rule_error(rule: Rule, message: str, **location: Unpack[Location]) -> ShapeError:
    """Return the error for a request that breaks `rule`."""
    return ShapeError(Problem(rule, message, **location))


def usage_error(message: str, hint: str = "", **location: Unpack[Location]) -> ShapeError:
    """Return a usage error for a malformed request."""
    return ShapeError(Problem(USAGE, message, hint, **location))

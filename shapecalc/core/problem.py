"""What can go wrong, as data: `Problem` says what and where; somebody else draws it."""

from __future__ import annotations

from shapecalc.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.trace import Chain, Trace

USAGE = "usage"
FILE = "file"


class Problem(Record):
    """One refusal: the rule that refused, what was found, what it would take, and the token at fault."""

    rule: str
    """The rule's id, a key of `catalogue.RULES`; `usage` where the question itself cannot be read."""
    message: str
    hint: str = ""
    """What would help, computed from this input; empty where nothing short is known."""
    argument: str | None = None
    """The name of the argument at fault: `input`, `target`, `perm` ..."""
    index: int | None = None  # type: ignore[assignment]  # tuple.index gives way
    """The place of the token in that argument, from 0; None where the whole argument is at fault."""
    span: tuple[int, int] | None = None
    """The characters of the argument as written, first and past-last."""

    def as_json(self) -> dict[str, object]:
        """Return the problem as the JSON object that the command line documents."""
        span = list(self.span) if self.span else None
        return {"rule": self.rule, "message": self.message, "hint": self.hint} | {
            "argument": self.argument,
            "index": self.index,
            "span": span,
        }


class ShapeError(ValueError):
    """A request that cannot be resolved: `problem` says why, `trace` how far it got.

    >>> import shapecalc as sc
    >>> try:
    ...     sc.reshape((2, 3, 4), (5, -1))
    ... except sc.ShapeError as error:
    ...     print(error.problem.rule, error.problem.index)
    indivisible 1
    """

    def __init__(self, problem: Problem, trace: Trace | Chain | None = None) -> None:
        """Keep the problem, and the trace of the steps that came before it."""
        super().__init__(f"{problem.rule}: {problem.message}" + (f" ({problem.hint})" if problem.hint else ""))
        self.problem = problem
        self.trace = trace


def refusal(
    rule: str, message: str, hint: str = "", *, argument: str | None = None, index: int | None = None
) -> ShapeError:
    """Return the error to raise where `rule` refuses a request."""
    return ShapeError(Problem(rule, message, hint, argument, index))


def misuse(
    message: str,
    hint: str = "",
    *,
    argument: str | None = None,
    index: int | None = None,
    span: tuple[int, int] | None = None,
) -> ShapeError:
    """Return the error to raise where a question cannot be read: usage or syntax."""
    return ShapeError(Problem(USAGE, message, hint, argument, index, span))

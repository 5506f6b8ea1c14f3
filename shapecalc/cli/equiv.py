"""`shapecalc equiv`: whether two chains are the same function of their input."""

from __future__ import annotations

import sys

from shapecalc.cli.config import told_defaults
from shapecalc.cli.inputs import input_text, read_input
from shapecalc.cli.options import ASKING, SWITCHING, Argument, Command, printing_options
from shapecalc.cli.output import Exit, problem_code, put, put_json, show, story_width, tell, tell_problem
from shapecalc.core.ask import LackingError, chain_with_options
from shapecalc.core.equiv import STILL, Asked, Verdict, answer_pair, asked_chain, equivalence
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import replace
from shapecalc.core.values import read_sizes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.cli.output import Output
    from shapecalc.core.answers import Chain
    from shapecalc.core.equiv import Counterexample

FIRST = Argument("first", "a chain", "'INPUT | OP ...'")
SECOND = Argument("second", "the chain to compare it with", "'| OP ...'")
CODES = {Verdict.SAME: Exit.YES, Verdict.DIFFERENT: Exit.NO, Verdict.UNDECIDED: Exit.UNRESOLVED}
UNREAD: dict[str, object] = {
    "verdict": None,
    "conditions": [],
    "defined": [[], []],
    "counterexample": None,
    "tested": 0,
}
"""The JSON object of a question that has no verdict, without its problem."""


def run_equiv(first: str, second: str, out: Output, **options: object) -> int:
    """Print the verdict on two chains; the options apply to every stage that takes them and does not say otherwise."""
    where = options.pop("where")
    try:
        sizes = {} if where is None else read_sizes(where)
        answers = answer_pair(*_asked_pair(first, second, options, out), sizes)
        found = equivalence(*answers)
    except ShapeError as error:
        problem = error.problem
        if isinstance(error, LackingError):
            problem = replace(problem, hint=f"{problem.hint}; write --dialect NAME in its own stage")
        if out.json and not out.quiet:
            put_json(UNREAD | {"problem": problem.as_json()})
        elif not out.quiet:
            tell_problem(problem, [(None, "equiv"), ("first", first), ("second", second)])
        return problem_code(problem)
    if out.json and not out.quiet:
        put_json(found.as_json())
    elif not out.quiet:
        put(str(found))
        for reason in found.reasons:
            tell(f"shapecalc: {reason}")
        _show_grids(found.counterexample, answers)
    return CODES.get(found.verdict, Exit.NO if out.strict else Exit.YES)


def _asked_pair(first: str, second: str, options: dict[str, object], out: Output) -> tuple[Asked, Asked]:
    """Return two chains as they were typed, with the options that their stages take.

    Raises `ShapeError`: usage if one cannot be read, file if an input cannot be used.
    """
    one = _with_input(asked_chain(first))
    other = asked_chain(second, one.input)
    other = other if other.input is one.input else _with_input(other)
    asked = [*one.stages, *other.stages]
    stages = tuple(chain_with_options(asked, options, told_defaults(asked, options, out)))
    count = len(one.stages)
    return Asked(one.input, stages[:count]), Asked(other.input, stages[count:])


def _with_input(asked: Asked) -> Asked:
    """Return a chain with its input read from standard input or from a file, if it names one of them."""
    (op, options), *others = asked.stages or STILL
    given = read_input(input_text(str(asked.input)), options, op)
    return Asked(given.shape, ((op, given.options), *others) if asked.stages else ())


def _show_grids(found: Counterexample | None, answers: tuple[Chain, Chain]) -> None:
    """Show the outputs of both chains where they differ, with the first element that does marked in each."""
    if found is None or any(0 in output for output in found.outputs):
        return
    from shapecalc.view.canvas import strokes_for
    from shapecalc.view.grid import output_grids

    strokes = strokes_for(getattr(sys.stderr, "encoding", None))
    show(output_grids(answers, found, width=story_width(), strokes=strokes))


EQUIV_COMMAND = Command(
    name="equiv",
    run=run_equiv,
    parameters=[
        FIRST,
        SECOND,
        *ASKING.values(),
        *SWITCHING.values(),
        *printing_options("json", "quiet", "strict", "no_config"),
    ],
    summary="Say whether two chains are the same function of their input.",
    examples="""\
  shapecalc equiv 'N,C | transpose 1,0 | reshape -1' '| transpose 1,0 | flatten --axis 0 | reshape -1'
  shapecalc equiv '2,3,4 | transpose 1,0,2' '2,3,4 | reshape 3,2,4' --json
  shapecalc equiv 'N,C,H | reshape N,C*H' '| flatten' --where N=8""",
    more=""" A second chain that begins with | uses the input of the first, and an
input alone is a chain that does nothing. The answer is same, same when a condition holds, different
(with the first element that differs, at the smallest sizes), or undecided. Exit 0: same; 1:
different, or same under conditions with --strict; 3: undecided, or a chain is refused.""",
)

"""`shapecalc simplify`: an equal chain with the fewest transposes, Shuffles or bytes moved."""

from __future__ import annotations

from shapecalc.cli.answer import print_error, take_model_opset
from shapecalc.cli.chain import answer_stages, place_in_chain
from shapecalc.cli.config import told_defaults
from shapecalc.cli.inputs import input_text
from shapecalc.cli.options import ASKING, SWITCHING, Argument, Command, Option, Takes, printing_options
from shapecalc.cli.output import Exit, put, put_json, tell
from shapecalc.core.commands import read_chain
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import fields
from shapecalc.core.simplify import goal_called, simplify

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.cli.output import Output
    from shapecalc.core.simplify import Simplification
    from shapecalc.view.code import Code

STAGES = Argument("stages", "the input shape and the stages", "'INPUT | OP ... | OP ...'")
GOALS = ("transposes", "shuffles", "bytes")
OWN = (
    Option(
        "goal",
        "What to have the fewest of",
        long="--for",
        default=GOALS[0],
        completions=lambda: GOALS,
        lists_completions=True,
    ),
    Option("check", "Exit 1 if the chain could be shorter.", Takes.NOTHING),
)


def run_simplify(stages: str, goal: str, check: bool, out: Output, **options: object) -> int:
    """Print the short chain, or code of it; the options apply to every stage that takes them."""
    try:
        wanted = goal_called(goal)
        shape, asked = read_chain(stages)
        defaults = told_defaults(asked, options, out)
        opset = take_model_opset(options, asked, out)
        found = simplify(answer_stages(input_text(shape), asked, options, defaults)[0], wanted)
        coded = _code(found, out, opset)
    except ShapeError as error:
        return print_error(ShapeError(place_in_chain(error.problem, stages)), "simplify", {"stages": stages}, out)
    if out.json and not out.quiet:
        put_json(found.as_json() | ({"code": fields(coded)} if coded else {}))
    elif not out.quiet:
        put(coded.text if coded else found.text)
        _tell_costs(found, coded)
    return Exit.NO if check and found.shorter else Exit.YES


def _code(found: Simplification, out: Output, opset: int | None) -> Code | None:
    """Return the code of the short chain that is asked for in its place; None if none is.

    Raises `ShapeError` (usage) if there is no such kind of code, or if it cannot say what the chain says.
    """
    if out.code is None:
        return None
    from shapecalc.view.code import writer

    write = writer(out.code)
    return write(found.chain) if opset is None else write(found.chain, opset=opset)


def _tell_costs(found: Simplification, coded: Code | None) -> None:
    """Tell what limits the chain or its code, and what it takes, beside what it took."""
    limits = coded.warnings if coded else [f"holds when {condition.words}" for condition in found.chain.conditions]
    for limit in limits:
        tell(f"shapecalc: {limit}")
    tell(f"shapecalc: {found.before}" + (f"; now {found.after}" if found.shorter else ", and none is shorter"))


SIMPLIFY_COMMAND = Command(
    name="simplify",
    run=run_simplify,
    parameters=[
        STAGES,
        *OWN,
        *ASKING.values(),
        *SWITCHING.values(),
        *printing_options("json", "quiet", "code", "no_config"),
    ],
    summary="Print the shortest chain that is proved to do the same.",
    examples="""\
  shapecalc simplify 'N,C,H | transpose 2,0,1 | transpose 0,2,1'
  shapecalc simplify 'B*8,S,D | reshape B,8,S,D | transpose 0,2,1,3 | reshape B,S,8*D' --for shuffles
  shapecalc simplify 'N,C,H | transpose 0,2,1 | reshape N,C*H | reshape N,H,C' --check --quiet""",
    more=""" It has the fewest transposes, TensorRT Shuffles or bytes moved, and then the fewest
stages. It works wherever the chain works, and uses the dialect of the chain. A chain that cannot
be shorter is printed as it is. The costs of both are printed on standard error. Bytes are those
that copying stages read and write; --dtype is the type of the elements, float32 by default.""",
)

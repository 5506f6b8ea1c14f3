"""One command for every op of the core, with its parameters and the options that all of them share."""

from __future__ import annotations

from shapecalc.cli.answer import answer_op
from shapecalc.cli.options import Command, parameters_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.cli.output import Output
    from shapecalc.core.ops.op import Op


EPILOG = 'On Windows, quote shapes and chains: shapecalc reshape "2,3,4" "0,-1"'
"""The end of the help: PowerShell splits words at commas."""


def op_command(op: Op) -> Command:
    """Return the command of an op."""

    def run_op(out: Output, **texts: object) -> int:
        return answer_op(op.name, {name: value for name, value in texts.items() if value is not None}, out)

    examples = "\n".join(f"  shapecalc {example}" for example in op.examples)
    return Command(op.name, run_op, parameters_of(op), op.summary, examples)

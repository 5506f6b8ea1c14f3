"""One command for every op of the core, with its parameters and the options that all of them share."""

from __future__ import annotations

from shapecalc.cli.answer import answer_op
from shapecalc.cli.options import parameters_of
from shapecalc.cli.signature import make_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    import typer

    from shapecalc.cli.output import Output
    from shapecalc.core.ops.op import Op


EPILOG = 'On Windows, quote shapes and chains: shapecalc reshape "2,3,4" "0,-1"'
"""The end of the help: PowerShell splits words at commas."""


def add_op(app: typer.Typer, cls: type, op: Op) -> None:
    """Give the app the command for an op."""

    def run_op(out: Output, **texts: object) -> int:
        return answer_op(op.name, {name: value for name, value in texts.items() if value is not None}, out)

    made = make_command(run_op, parameters_of(op))
    app.command(op.name, cls=cls, short_help=op.summary, help=help_text(op), epilog=EPILOG)(made)


def help_text(op: Op) -> str:
    """Return the help of an op's command: examples first, then what it does."""
    lines = "\n".join(f"  shapecalc {example}" for example in op.examples)
    return f"\b\n{lines}\n\n{op.summary}"

"""One command for every op of the core, with its parameters and the options that all of them share."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import typer
from typer.models import ArgumentInfo

from shapecalc.cli.answer import finished, input_text, read_texts, refused
from shapecalc.cli.data import read_input
from shapecalc.cli.options import ASKING, INPUT_HELP, PRINTING, SWITCHING, Output
from shapecalc.core.operations import Op, Param
from shapecalc.core.problem import ShapeError
from shapecalc.core.request import ask
from shapecalc.core.resolve import resolve
from shapecalc.core.rules import DIALECTS
from shapecalc.core.setting import SWITCHED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES = {
    "reshape": (
        "reshape 2,3,4 0,-1",
        "reshape N,C,H,W 0,-1,64 --explain",
        "reshape 0,3,4 3,4,0 --allowzero --opset 14",
    ),
    "transpose": ("transpose 2,3,4 1,2,0", "transpose N,H,W,C 0,3,1,2 --json", "transpose 2,3,4 -1,0,1 -d torch"),
    "shuffle": (
        "shuffle 2,3,4 --first 1,0,2 --to 2,-1,3",
        "shuffle N,C,H,W --to 0,0,-1 --second 0,2,1",
        "shuffle 3,4 --first 1,0 --to 0,-1 --explain",
    ),
    "shape": ("shape 2,3,4", "shape N,C,H,W --start -2", "shape 2,3,4 --start 3 --end 9 --explain"),
    "flatten": ("flatten 2,3,4", "flatten N,C,H,W --axis 2", "flatten N,C,H,W --start-dim 1 -d torch"),
    "squeeze": ("squeeze 1,3,1", "squeeze 1,3,1 --axes 0", "squeeze 1,N --axes 0,1 -d torch"),
    "unsqueeze": ("unsqueeze 2,3 --axes 0", "unsqueeze 2,3 --axes 0,-1", "unsqueeze N,C --axes 2,3 -d numpy"),
    "expand": ("expand 8,1,1 1,2", "expand 3,1 2,-1,4 -d torch", "expand 1,C N,C"),
}


def add_op(app: typer.Typer, cls: type, op: Op) -> None:
    """Give the app the command for an op."""
    app.command(op.name, cls=cls, short_help=op.summary, help=help_text(op.name, op.summary))(_command(op))


def help_text(command: str, summary: str) -> str:
    """Return a command's help: examples first, then what it does."""
    lines = "\n".join(f"  shapecalc {example}" for example in EXAMPLES[command])
    return f"\b\n{lines}\n\n{summary}"


def _command(op: Op) -> Callable[..., int]:
    """Return the function that Typer calls for an op; its signature is made from the op's parameters."""

    def command(**given: Any) -> int:
        out = Output(**{name: given.pop(name) for name in PRINTING})
        return answered(op, read_texts(given), out)

    kinds = {"input": Annotated[str, typer.Argument(metavar="INPUT", help=INPUT_HELP, show_default=False)]}
    kinds |= {param.name: _annotation(param) for param in op.params} | _asking(op) | PRINTING
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [_parameter(name, annotation) for name, annotation in kinds.items()], return_annotation=int
    )
    command.__annotations__ = kinds | {"return": int}
    return command


def answered(op: Op, texts: dict[str, object], out: Output) -> int:
    """Ask the question that the texts make, print the answer, return the exit code."""
    try:
        texts["input"] = input_text(str(texts["input"]))
        options = {name: value for name, value in texts.items() if name != "input"}
        given = read_input(str(texts["input"]), options, op.name)
        return finished(resolve(ask(op.name, given.shape, given.options)), out, given.source)
    except ShapeError as error:
        return refused(error, op.name, texts, out)


def _parameter(name: str, annotation: Any) -> inspect.Parameter:
    default: Any = Output._field_defaults.get(name)
    if name == "input" or _required(annotation):
        default = inspect.Parameter.empty
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _required(annotation: Any) -> bool:
    return annotation.__origin__ is str and isinstance(annotation.__metadata__[0], ArgumentInfo)


def _annotation(param: Param) -> Any:
    """Return how Typer sees one parameter: every value is text, which the core reads."""
    if not param.positional:
        name = f"--{param.name.replace('_', '-')}"
        metavar = {"AXES": "AXES", "INT": "I", "TARGET": "SHAPE"}[param.kind.name]
        return Annotated[str | None, typer.Option(name, help=param.help, metavar=metavar, show_default=False)]
    info = typer.Argument(
        metavar=param.name.upper() if param.required else f"[{param.name.upper()}]", help=param.help, show_default=False
    )
    return Annotated[str, info] if param.required else Annotated[str | None, info]


def _asking(op: Op) -> dict[str, Any]:
    """Return the options that decide whose rules apply, those that some dialect has for the op."""
    rows = [row for row in DIALECTS.values() if op.name in row.operators]
    switches = {row.switch.name for row in rows if row.switch} if op.name in SWITCHED else set()
    chosen = {name: kind for name, kind in SWITCHING.items() if name in switches}
    versioned = any(row.newest_opset for row in rows)
    return {name: kind for name, kind in ASKING.items() if versioned or name != "opset"} | chosen

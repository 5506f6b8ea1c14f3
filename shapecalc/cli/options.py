"""The options that commands share, each with its one help text."""

from __future__ import annotations

from typing import Annotated

import typer

from shapecalc.core.dtypes import KNOWN
from shapecalc.core.record import Record
from shapecalc.core.rules import DIALECTS
from shapecalc.core.setting import DEFAULT_OPSET
from shapecalc.view.code import TARGETS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

OPSETS = [str(opset + 1) for opset in range(max(row.newest_opset or 0 for row in DIALECTS.values()))]
"""Every ONNX opset that some dialect knows."""


class Output(Record):
    """What a command is to print, and what decides its exit code."""

    explain: bool = False
    json: bool = False
    quiet: bool = False
    strict: bool = False
    expect: str | None = None
    values: bool = False
    follow: str | None = None
    follow_out: str | None = None
    out: str | None = None
    force: bool = False
    backend: str = "auto"
    code: str | None = None


def completing(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Return what a shell asks for the rest of a word: the names that go on from what is typed.

    >>> completing(["onnx", "onednn", "numpy"])("on")
    ['onnx', 'onednn']
    """
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]


def _backends(incomplete: str) -> list[str]:
    from shapecalc.engine.backends import NAMES

    return completing(NAMES)(incomplete)


INPUT_HELP = "the input shape: 2,3,4, [2, 3, 4], 2x3x4, N,C,H,W; - reads it from standard input, x.npy from that file"

DialectOption = Annotated[
    str | None,
    typer.Option(
        "--dialect",
        "-d",
        help="Whose rules: " + ", ".join(DIALECTS),
        metavar="NAME",
        autocompletion=completing(DIALECTS),
    ),
]
DialectsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--dialect", "-d", help="Only this one; may be repeated.", metavar="NAME", autocompletion=completing(DIALECTS)
    ),
]
OpsetOption = Annotated[
    str | None,
    typer.Option(
        "--opset",
        help=f"The model's ONNX opset; {DEFAULT_OPSET} by default.",
        metavar="N",
        autocompletion=completing(OPSETS),
    ),
]
DtypeOption = Annotated[
    str | None,
    typer.Option(
        "--dtype",
        help="The element type, in NumPy's or the framework's spelling; refused where the operator does.",
        metavar="NAME",
        autocompletion=completing(sorted(KNOWN)),
    ),
]
WhereOption = Annotated[
    str | None, typer.Option("--where", help="Sizes to put in for names: N=8,C=3.", metavar="SIZES")
]
AllowzeroOption = Annotated[
    bool | None,
    typer.Option(
        "--allowzero/--no-allowzero", help="ONNX, since opset 14: 0 is a dim of size zero.", show_default=False
    ),
]
SpecialZeroOption = Annotated[
    bool | None,
    typer.Option(
        "--special-zero/--no-special-zero", help="oneDNN, OpenVINO, required there: 0 copies.", show_default=False
    ),
]
PlaceholderOption = Annotated[
    bool | None,
    typer.Option(
        "--zero-is-placeholder/--no-zero-is-placeholder", help="TensorRT, on by default: 0 copies.", show_default=False
    ),
]

ExplainOption = Annotated[bool, typer.Option("--explain", "-e", help="Tell every step, on standard error.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the answer as JSON, with everything that led to it.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing; the exit code is the answer.")]
StrictOption = Annotated[bool, typer.Option("--strict", help="Exit 1 where the answer holds under conditions only.")]
ExpectOption = Annotated[
    str | None, typer.Option("--expect", help="Exit 1 where the answer is not this shape.", metavar="SHAPE")
]

ValuesOption = Annotated[
    bool, typer.Option("--values", help="Show elements before and after: 0, 1, 2 ... or the file's.")
]
FollowOption = Annotated[
    str | None, typer.Option("--follow", help="Tell where this input element goes, stage by stage.", metavar="INDEX")
]
FollowOutOption = Annotated[
    str | None, typer.Option("--follow-out", help="Tell where this output element came from.", metavar="INDEX")
]
OutOption = Annotated[
    str | None, typer.Option("--out", "-o", help="Carry it out on INPUT's data, into this .npy file.", metavar="FILE")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Write over an output that exists.")]
BackendOption = Annotated[
    str,
    typer.Option(
        "--backend",
        help="What carries it out: auto, numpy or cupy.",
        metavar="NAME",
        autocompletion=_backends,
        show_default=False,
    ),
]
CodeOption = Annotated[
    str | None,
    typer.Option(
        "--as",
        help="Print code that does the same, in place of the answer: " + ", ".join(TARGETS),
        metavar="NAME",
        autocompletion=completing(TARGETS),
        show_default=False,
    ),
]

ASKING = {
    "dialect": DialectOption,
    "opset": OpsetOption,
    "dtype": DtypeOption,
    "where": WhereOption,
}
SWITCHING = {
    "allowzero": AllowzeroOption,
    "special_zero": SpecialZeroOption,
    "zero_is_placeholder": PlaceholderOption,
}
PRINTING = {
    "explain": ExplainOption,
    "json": JsonOption,
    "expect": ExpectOption,
    "quiet": QuietOption,
    "strict": StrictOption,
    "values": ValuesOption,
    "follow": FollowOption,
    "follow_out": FollowOutOption,
    "out": OutOption,
    "force": ForceOption,
    "backend": BackendOption,
    "code": CodeOption,
}

"""`shapecalc compare`: the same reshape under every dialect and switch setting."""

from __future__ import annotations

from shapecalc.cli.answer import print_error
from shapecalc.cli.inputs import input_text, read_input
from shapecalc.cli.options import ASKING, DIALECTS_ONLY, INPUT, Argument, Option, printing_options
from shapecalc.cli.output import Exit, put_json, show, show_table, tell
from shapecalc.cli.signature import make_command
from shapecalc.core.fixing.answer import compare as compare_dialects
from shapecalc.core.ops.reshape import RESHAPE
from shapecalc.core.sizes.problem import ShapeError
from shapecalc.core.sizes.text import read_dims, shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    import typer

    from shapecalc.cli.output import Output
    from shapecalc.core.answers.trace import Trace
    from shapecalc.core.asking.compare import Comparison

SUMMARY = "Ask every dialect for the same reshape, side by side."
HELP = f"""\b
  shapecalc compare 0,3,4 0,-1
  shapecalc compare 2,3,4 0,-1 --dialect onnx --dialect numpy
  shapecalc compare N,C,H,W 0,-1 --json

{SUMMARY} Exit 1 if the answers differ at the dialects' default settings; refusals agree with each
other. Rows that differ from what most answer are marked with *."""
TARGET = Argument("target", "the shape asked for", "TARGET")


def add(app: typer.Typer, cls: type) -> None:
    """Give the app the command."""
    asking = [option for option in ASKING.values() if option.name != DIALECTS_ONLY.name]
    parameters: list[Argument | Option] = [INPUT, TARGET, DIALECTS_ONLY, *asking]
    parameters += printing_options("explain", "json", "expect", "quiet", "strict")
    app.command("compare", cls=cls, short_help=SUMMARY, help=HELP)(make_command(run_compare, parameters))


def run_compare(input: str, target: str, dialect: list[str] | None, out: Output, **options: object) -> int:
    """Print the table, or its JSON; return whether the dialects agree as an exit code."""
    texts: dict[str, object] = {"input": input, "target": target}
    try:
        texts["input"] = input_text(input)
        shape = read_input(str(texts["input"]), {}, RESHAPE.name).shape
        comparison = compare_dialects(shape, target, list(dict.fromkeys(dialect or [])), options)
        expected = None if out.expect is None else shape_text(read_dims(out.expect, "expect"))
    except ShapeError as error:
        return print_error(error, "compare", texts, out)
    counted = [row.trace for row in comparison.rows if row.default]
    as_expected = expected is None or all(_output_text(trace) == expected for trace in counted)
    agreed = comparison.agree and as_expected and not (out.strict and any(trace.conditions for trace in counted))
    if out.json and not out.quiet:
        put_json(comparison.as_json())
    elif not out.quiet:
        _print_comparison(comparison, explain=out.explain)
        if not as_expected:
            tell(f"shapecalc: not every dialect answers {expected}")
    return Exit.YES if agreed else Exit.NO


def _output_text(trace: Trace) -> str | None:
    return None if trace.output is None else shape_text(trace.output)


def _print_comparison(comparison: Comparison, *, explain: bool) -> None:
    """Print the table; tell whether the dialects agree, and with `explain` the steps of every row."""
    from shapecalc.view.steps import steps_text
    from shapecalc.view.tables import comparison_table

    for row in comparison.rows if explain else ():
        show(steps_text(row.trace))
    show_table(comparison_table(comparison))
    differ = "differ (* is a minority)"
    tell(f"shapecalc: the dialects {'agree' if comparison.agree else differ}")

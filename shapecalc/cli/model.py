"""`shapecalc model`: report and fix nodes that break at another batch size."""

from __future__ import annotations

import gc
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shapecalc.cli.answer import print_error
from shapecalc.cli.options import PRINTING, Argument, Command, names_in, printing_options
from shapecalc.cli.output import Exit, Output, asks_text, put, tell
from shapecalc.core.commands import Option, Takes
from shapecalc.core.problem import ShapeError, misuse
from shapecalc.core.text import brief, lookup, visible

if TYPE_CHECKING:
    from shapecalc.models.free_dims import SizeOptions
    from shapecalc.models.report import Judged, Report, Told


OPERATORS = names_in("models.operators", "LISTED")
"""Function that returns the names of the listed operators."""
DIALECTS = ("tensorrt",)
"""Dialects for which `--dialect` prints layers."""
FILE = Argument("file", "the ONNX model", "FILE.onnx")
BATCH = Argument("batch", "a batch size to judge, and to prove --fix at, as --batch", "[BATCH]", False)
ASKED = (
    Option(
        "batch", "The batch's name, and the sizes to judge and to prove at: N,1,2,8; or none.", metavar="NAME[,SIZE...]"
    ),
    Option("shapes", "An input's shape: x=N,3,H,W; may be repeated.", Takes.TEXTS, "INPUT=SHAPE", "--set"),
    Option("where", "Sizes for other names: H=640; may be repeated.", Takes.TEXTS, "SIZES"),
)
"""Options for the sizes at which a model is judged."""
NODE = Option("node", "Show this node in full; '#18' is a path.", metavar="NAME|PATH")
SHOWN = (
    Option("all", "List every node, and name sums and floors.", Takes.NOTHING),
    Option("op", "List only nodes of this operator.", metavar="OP", completions=OPERATORS),
    Option("offenders", "List only offenders.", Takes.NOTHING),
    NODE,
    Option("lint", "Print one line for each offender, worst first; exit 1 if there is one.", Takes.NOTHING),
    Option("github", "Print the lines of --lint as annotations of GitHub Actions.", Takes.NOTHING),
    Option("strict", "Count a node that cannot be judged as an offender.", Takes.NOTHING),
    Option(
        "dialect",
        "Write each series of transposes and reshapes as the fewest layers",
        short="-d",
        completions=lambda: DIALECTS,
        lists_completions=True,
    ),
)
FIXING = (
    Option("fix", "Write the model with the offenders mended, into the file of -o.", Takes.NOTHING),
    Option("out", "The file that --fix writes.", metavar="FILE", short="-o"),
    PRINTING["force"],
    Option("fix_as", "Mend a node with this target; may be repeated.", Takes.TEXTS, "NODE=TARGET"),
    Option("no_prove", "Do not run the mended model.", Takes.NOTHING),
)


def run_model(file: str, out: Output, **given: Any) -> int:
    """Print a report of a model, or write the fixed model; return the exit code."""
    from shapecalc.cli.model_report import size_options, targets_of

    gc.disable()  # a report has many objects and no cycles, so a collection would free nothing
    try:
        _check_together(given, out)
        options = size_options(given["batch"], given["shapes"] or (), given["where"] or ())
        targets = targets_of(given["fix_as"] or ())
        if given["fix"]:
            return _fix(file, options, out, targets, prove=not given["no_prove"])
        return _show(file, options, out, given)
    except ShapeError as error:
        return print_error(error, "model", {"model": file}, out)
    finally:
        gc.enable()


def _check_together(given: Mapping[str, Any], out: Output) -> None:
    """Raise `ShapeError` (usage) for options that cannot be combined."""
    fixing = {"-o": out.out is not None, "--force": out.force}
    fixing |= {"--fix-as": bool(given["fix_as"]), "--no-prove": given["no_prove"]}
    showing = {f"--{name}": given[name] for name in ("op", "all", "offenders", "node", "lint", "github", "dialect")}
    if given["fix"] and not out.out:
        raise misuse("--fix needs a file to write", "write --fix -o fixed.onnx")
    for name in [name for name, is_set in fixing.items() if is_set and not given["fix"]]:
        raise misuse(f"{name} needs --fix")
    for chosen, others in {"--fix": (), "--dialect": ("--dialect",), "--all": ("--all", "--op")}.items():
        for name in [name for name, is_set in showing.items() if is_set and given[chosen[2:]] and name not in others]:
            raise misuse(f"{chosen} cannot be combined with {name}")
    if out.json and given["github"]:
        raise misuse("--json cannot be combined with --github")
    if given["dialect"] not in (None, *DIALECTS):
        shown = visible(brief(given["dialect"]))
        raise misuse(f"--dialect takes {', '.join(DIALECTS)}, not '{shown}'", argument="dialect")


def _show(file: str, options: SizeOptions, out: Output, given: Mapping[str, Any]) -> int:
    """Print the requested part of the report of a model; return the exit code."""
    if given["dialect"]:
        return _show_layers(file, options, out, given["dialect"])
    from shapecalc.cli.model_report import every_lines, lint_lines, node_lines, node_object, report_object, table_lines
    from shapecalc.models.judge import report_of

    one_node, lint = given["node"] is not None, given["lint"] or given["github"]
    names = [given["node"]] if one_node else []
    report = report_of(file, options, names, every=given["all"] or (out.json and not one_node))
    nodes, others = _wanted(report, given, strict=out.strict)
    stops = () if one_node or given["op"] else report.stops
    failures = lint_lines(report, nodes, stops, strict=out.strict, github=given["github"]) if lint or out.quiet else []
    if asks_text(out, lambda: node_object(nodes[0]) if one_node and nodes else report_object(report, nodes, others)):
        table = every_lines(report, others) if given["all"] else table_lines(report, nodes)
        lines = node_lines(report, nodes[0]) if one_node and nodes else table
        _put_lines(failures if lint else lines)
    return Exit.NO if failures else Exit.YES


def _show_layers(file: str, options: SizeOptions, out: Output, dialect: str) -> int:
    """Print each run of transposes and reshapes as layers of a dialect."""
    from shapecalc.cli.model_report import layers_of
    from shapecalc.models.file import read_model
    from shapecalc.models.judge import judged_model, runs_of

    model = judged_model(read_model(file), options)
    report = model.report(file)
    runs = [layers_of(run, report, dialect) for run in runs_of(model.walk.model, report.nodes)]
    header = {"model": report.model, "dialect": dialect}
    if asks_text(out, lambda: header | {"runs": [run.as_json() for run in runs]}):
        _put_lines([line for run in runs for line in run.lines()])
        if not runs:
            tell("shapecalc: no two nodes in a row only transpose and reshape")
    return Exit.YES


def _wanted(report: Report, given: Mapping[str, Any], *, strict: bool) -> tuple[list[Judged], list[Told]]:
    """Return the listed nodes to show, and with `--all` every node to show.

    Raises `ShapeError` (usage) for an unknown node or operator.
    """
    from shapecalc.models.report import found_node, offends

    nodes = [*report.nodes] if given["node"] is None else [found_node(report, given["node"])]
    others = [*report.every.nodes] if report.every and not given["offenders"] else []
    if given["op"] is not None:
        known = {name.lower(): name for name in (*OPERATORS(), *[other.node.op for other in others])}
        op = lookup(given["op"].lower().replace("_", ""), known, "operator" if others else "listed operator")
        nodes = [node for node in nodes if node.node.op == op]
        others = [other for other in others if other.node.op == op]
    return [node for node in nodes if not given["offenders"] or offends(node, strict=strict)], others


def _fix(file: str, options: SizeOptions, out: Output, targets: Mapping[str, tuple[int, ...]], *, prove: bool) -> int:
    """Write the fixed model, print the changes and return the exit code."""
    from shapecalc.cli.model_report import fixed_lines, mended_report, report_object

    report = mended_report(file, options, str(out.out), targets, force=out.force, prove=prove)
    fixed = report.fixed
    assert fixed is not None
    if asks_text(out, lambda: report_object(report, report.nodes)):
        _put_lines(fixed_lines(report, fixed))
    return Exit.NO if fixed.left or fixed.stops or fixed.proved is False else Exit.YES


def _put_lines(lines: Sequence[str]) -> None:
    if lines:
        put("\n".join(lines))


MODEL_COMMAND = Command(
    run=run_model,
    parameters=[FILE, BATCH, *ASKED, *SHOWN, *printing_options("json", "quiet"), *FIXING],
    summary="Say which Reshape of an ONNX model breaks at another batch size, and mend it.",
    examples="""\
  shapecalc model yolo.onnx
  shapecalc model yolo.onnx --node /Reshape_1
  shapecalc model yolo.onnx --lint
  shapecalc model yolo.onnx --fix -o fixed.onnx""",
    more=""" It lists each Reshape, Transpose, Shape, Flatten, Squeeze, Unsqueeze, Expand, Tile, DepthToSpace
and SpaceToDepth (--all: every node) with its shapes and a verdict: safe; only (it runs at the declared batch only);
swallows (the batch moves into another axis, and nothing fails); scrambles (no axis separates the samples
any more); fails; sometimes; unknown. --fix writes the model with other targets, and proves it with onnxruntime.
Exit 0: the model was read, and --fix mended all; 1: --lint or -q found offenders, --fix left some, or its proof
failed; 4: a file cannot be used. It needs the package onnx.""",
)

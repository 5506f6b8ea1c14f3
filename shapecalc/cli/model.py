"""`shapecalc model`: report and fix ONNX nodes that fail at some batch size.

The verdict on a node states at which batch sizes the node works. If the operator of a node has an equivalent op of
shapecalc, the node is checked and listed in the report. The target of a node is its shape, permutation or axes
argument. A fix replaces the target, or inserts nodes.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapecalc.cli.answer import print_error
from shapecalc.cli.options import OUTPUT_OPTIONS, Argument, Command, select_output_options
from shapecalc.cli.output import ExitCode, OutputOptions, print_json_if_requested, print_report, print_stderr
from shapecalc.cli.output_options import lazy_names
from shapecalc.core.problem import ShapeError, usage_error
from shapecalc.core.record import fields
from shapecalc.core.text import escape_unprintable, lookup, truncate
from shapecalc.reading.options import Option, OptionKind
from shapecalc.render.styles import BOLD_ERROR

if TYPE_CHECKING:
    from shapecalc.models.free_dims import BatchOptions
    from shapecalc.models.report import JudgedNode, NodeSummary, Report


load_listed_operators = lazy_names("models.operators", "LISTED_OPERATORS")
"""A function that returns the operators whose nodes are listed in the report."""
LAYER_DIALECTS = ("tensorrt",)
"""Dialects for which `model --dialect` can generate layers."""
FILE_ARGUMENT = Argument("file", "the ONNX model", "FILE.onnx")
BATCH_ARGUMENT = Argument("batch", "the batch size at which to check the model and verify its fix", "[BATCH]", False)
SIZE_OPTIONS = (
    Option(
        "batch",
        "Name of the batch dim, and the sizes at which to check and verify: N,1,2,8; or none.",
        metavar="NAME[,SIZE...]",
    ),
    Option("shapes", "Shape of an input: x=N,3,H,W; may be repeated.", OptionKind.TEXTS, "INPUT=SHAPE", "--set"),
    Option("where", "Sizes for other names: H=640; may be repeated.", OptionKind.TEXTS, "SIZES"),
)
"""Options for the sizes at which a model is checked."""
NODE_OPTION = Option("node", "Show this node in full: its name, or its path such as '#18'.", metavar="NAME|PATH")
DISPLAY_OPTIONS = (
    Option("all", "List every node, including safe ones; sums and rounded sizes get names.", OptionKind.FLAG),
    Option("op", "List only nodes of this operator.", metavar="OP", completions=load_listed_operators),
    Option("offenders", "List only failing nodes.", OptionKind.FLAG),
    NODE_OPTION,
    Option("lint", "Print one line for each failing node, the worst first; exit 1 if there are any.", OptionKind.FLAG),
    Option("github", "Print the lines of --lint as GitHub Actions annotations.", OptionKind.FLAG),
    Option("diff", "Print how names, shapes and operators differ from those of this model.", metavar="FILE"),
    Option(
        "free",
        "Print the hard-coded sizes of these free dims: H,W; with --fix, replace them.",
        metavar="NAMES",
    ),
    Option("trt", "Print the shape options of trtexec for sizes min:opt:max.", metavar="NAME=MIN:OPT:MAX,..."),
    Option("strict", "Count a node that cannot be checked as a failing node.", OptionKind.FLAG),
    Option(
        "dialect",
        "Print each series of transposes and reshapes as code with the fewest layers",
        short="-d",
        completions=lambda: LAYER_DIALECTS,
        lists_completions=True,
    ),
)
FIX_OPTIONS = (
    Option("fix", "Write the fixed model to the file of -o.", OptionKind.FLAG),
    Option("out", "The file that --fix writes.", metavar="FILE", short="-o"),
    OUTPUT_OPTIONS["force"],
    Option(
        "static",
        "Write the model, or with --fix the fixed model, with these sizes of its free dims to the file of -o.",
        metavar="NAME=SIZE,...",
    ),
    Option(
        "rename",
        "Name an axis of one input, or of every input, and write the model to the file of -o; may be repeated.",
        OptionKind.TEXTS,
        "[INPUT:]AXIS=NAME",
    ),
    Option("fix_as", "Fix a node with this target; may be repeated.", OptionKind.TEXTS, "NODE=TARGET"),
    Option("no_prove", "Do not verify the fixed model by running it.", OptionKind.FLAG),
)


def run_model(file: str, output_options: OutputOptions, **arguments: Any) -> int:
    """Print a report of a model, or write the fixed model, and return the exit code."""
    from shapecalc.cli.model_report import parse_size_options, parse_targets

    if file == "fix" and arguments["batch"] and not Path(file).exists():  # another way to write `model m.onnx --fix`
        file, arguments = arguments["batch"], {**arguments, "batch": None, "fix": True}
    gc.disable()  # a report has many objects and no reference cycles
    try:
        _check_option_conflicts(arguments, output_options)
        options = parse_size_options(arguments["batch"], arguments["shapes"] or (), arguments["where"] or ())
        targets = parse_targets(arguments["fix_as"] or ())
        prove = not arguments["no_prove"]
        if arguments["fix"]:
            names = arguments["rename"] or (), arguments["static"], arguments["free"]
            return _run_fix(file, options, output_options, targets, *names, prove=prove)
        if arguments["static"]:
            return _run_static(file, output_options, arguments["static"], prove=prove)
        if arguments["rename"]:
            return _run_rename(file, output_options, arguments["rename"])
        return _print_report(file, options, output_options, arguments)
    except ShapeError as error:
        return print_error(error, "model", {"model": file}, output_options)
    finally:
        gc.enable()


def _check_unused_options(arguments: Mapping[str, Any], writing: Sequence[str], output_options: OutputOptions) -> None:
    """Raise `ShapeError` (usage) for an option that only affects checks.

    With only `--static` or `--rename`, a file is written without checking the model.
    """
    checking = {"--batch": arguments["batch"], "--set": arguments["shapes"], "--where": arguments["where"]}
    checking["--strict"] = output_options.strict
    unused = [name for name, is_set in checking.items() if is_set and writing in (["rename"], ["static"])]
    if unused:
        raise usage_error(f"{unused[0]} has no effect on --{writing[0]}", "leave it out")


def _check_option_conflicts(arguments: Mapping[str, Any], output_options: OutputOptions) -> None:
    """Raise `ShapeError` (usage) for options that cannot be combined."""
    fixing = {"-o": output_options.out is not None, "--force": output_options.force}
    fixing |= {"--fix-as": bool(arguments["fix_as"]), "--no-prove": arguments["no_prove"]}
    showing = {
        f"--{name}": arguments[name]
        for name in ("op", "all", "offenders", "node", "lint", "github", "dialect", "diff", "free", "trt", "static")
    } | {"--rename": bool(arguments["rename"])}
    writing = [name for name in ("fix", "static", "rename") if arguments[name]]
    for name in writing:
        if not output_options.out:
            raise usage_error(f"--{name} needs a file to write", f"write --{name} -o fixed.onnx")
    for name in [name for name, is_set in fixing.items() if is_set and not arguments["fix"]]:
        if not writing or name == "--fix-as" or (name == "--no-prove" and writing == ["rename"]):
            raise usage_error(f"{name} needs --fix")
    _check_unused_options(arguments, writing, output_options)
    alone = {name: (name,) for name in ("--dialect", "--diff", "--trt")} | {"--free": ("--free", "--lint")}
    if not arguments["fix"]:
        alone |= {"--static": ("--static",), "--rename": ("--rename",)}
    for chosen, others in {"--fix": ("--rename", "--static", "--free"), **alone, "--all": ("--all", "--op")}.items():
        for name in [
            name for name, is_set in showing.items() if is_set and arguments[chosen[2:]] and name not in others
        ]:
            raise usage_error(f"{chosen} cannot be combined with {name}")
    if output_options.json and arguments["github"]:
        raise usage_error("--json cannot be combined with --github")
    if arguments["dialect"] not in (None, *LAYER_DIALECTS):
        shown = escape_unprintable(truncate(arguments["dialect"]))
        raise usage_error(f"--dialect takes {', '.join(LAYER_DIALECTS)}, not '{shown}'", argument="dialect")


def _print_report(file: str, sizes: BatchOptions, output_options: OutputOptions, arguments: Mapping[str, Any]) -> int:
    """Print the report of a model, or the parts of it that options select.

    `arguments` are the values of the command's options, by name. Return 1 if `--lint` or `-q` finds a failing node.
    """
    if arguments["diff"] is not None:
        return _print_differences(file, arguments["diff"], output_options)
    if arguments["free"] is not None:
        return _print_hardcoded_sizes(file, sizes, output_options, arguments["free"], lint=arguments["lint"])
    if arguments["trt"] is not None:
        return _print_trtexec_options(file, sizes, output_options, arguments["trt"])
    if arguments["dialect"]:
        return _print_layers(file, sizes, output_options, arguments["dialect"])
    from shapecalc.cli.model_report import (
        all_node_lines,
        failure_lines,
        node_json,
        node_lines,
        report_json,
        table_lines,
    )
    from shapecalc.models.judge import report_model

    one_node, lint = arguments["node"] is not None, arguments["lint"] or arguments["github"]
    names = [arguments["node"]] if one_node else []
    report = report_model(file, sizes, names, include_all=arguments["all"] or (output_options.json and not one_node))
    nodes, others = _select_nodes(report, arguments, strict=output_options.strict)
    stops = () if one_node or arguments["op"] else report.stops
    failures = (
        failure_lines(report, nodes, stops, strict=output_options.strict, github=arguments["github"])
        if lint or output_options.quiet
        else []
    )
    if print_json_if_requested(
        output_options, lambda: node_json(nodes[0]) if one_node and nodes else report_json(report, nodes, others)
    ):
        hides_safe = sys.stdout is not None and sys.stdout.isatty() and arguments["op"] is None
        table = (
            all_node_lines(report, others) if arguments["all"] else table_lines(report, nodes, hides_safe=hides_safe)
        )
        lines = node_lines(report, nodes[0]) if one_node and nodes else table
        _print_lines(failures if lint else lines)
    return ExitCode.FAILED if failures else ExitCode.OK


def _print_differences(file: str, other: str, output_options: OutputOptions) -> int:
    """Print the differences between two models, and return 1 if there are any."""
    from shapecalc.cli.model_report import difference_line
    from shapecalc.models.compare import compare_models
    from shapecalc.models.file import read_model

    differences = compare_models(read_model(file), read_model(other))
    header = {"model": file, "other": other}
    if print_json_if_requested(output_options, lambda: header | {"differences": [*map(fields, differences)]}):
        _print_lines([difference_line(difference) for difference in differences])
    return ExitCode.FAILED if differences else ExitCode.OK


def _print_hardcoded_sizes(
    file: str, sizes: BatchOptions, output_options: OutputOptions, text: str, *, lint: bool
) -> int:
    """Print the constants of a model that should change with its free dims.

    Such a constant equals the size of a free dim. `text` contains the names of the dims. With `lint` or `-q`, return 1
    if there are such constants, and with `--strict` also if a node cannot be checked.
    """
    from shapecalc.cli.model_report import hardcoded_size_json, hardcoded_size_lines, parse_names
    from shapecalc.models.file import read_model
    from shapecalc.models.hardcoded_sizes import find_hardcoded_sizes
    from shapecalc.models.judge import judge_model

    found = find_hardcoded_sizes(judge_model(read_model(file), sizes), parse_names(text))
    if print_json_if_requested(output_options, lambda: {"model": file, **hardcoded_size_json(found)}):
        _print_lines(hardcoded_size_lines(found))
    fails = bool(found.hardcoded) or (output_options.strict and found.unchecked_count > 0)
    return ExitCode.FAILED if fails and (lint or output_options.quiet) else ExitCode.OK


def _print_trtexec_options(file: str, sizes: BatchOptions, output_options: OutputOptions, text: str) -> int:
    """Print the shape options for `trtexec`, TensorRT's command.

    `text` contains the minimum, optimum and maximum of each free dim. Return 1 if the model does not run at these
    sizes.
    """
    from shapecalc.cli.model_report import parse_profile, trtexec_options
    from shapecalc.models.judge import report_model

    profile = parse_profile(text)
    report = report_model(file, sizes)
    options = trtexec_options(report, profile)
    failing = [
        condition.text
        for condition in report.limits.conditions
        if not all(condition.holds(point) for point in profile if {*condition.names} <= {*point})
    ]
    if print_json_if_requested(output_options, lambda: {"model": file, "trtexec": [*options], "fails": failing}):
        _print_lines([" ".join(options)])
        for condition in failing:
            print_stderr(f"shapecalc: {file} runs only where {condition.replace('==', '=')}")
    return ExitCode.FAILED if failing else ExitCode.OK


def _print_layers(file: str, sizes: BatchOptions, output_options: OutputOptions, dialect: str) -> int:
    """Print code that builds the transposes and reshapes of a model as layers.

    `dialect` is the framework of the layers, such as TensorRT. Consecutive nodes share layers if possible.
    """
    from shapecalc.cli.model_report import generate_layers
    from shapecalc.models.file import read_model
    from shapecalc.models.judge import find_movement_chains, judge_model

    model = judge_model(read_model(file), sizes)
    report = model.build_report(file)
    runs = [generate_layers(run, report, dialect) for run in find_movement_chains(model.walk.model, report.nodes)]
    header = {"model": report.model, "dialect": dialect}
    if print_json_if_requested(output_options, lambda: header | {"runs": [run.as_json() for run in runs]}):
        _print_lines([line for run in runs for line in run.lines()])
        if not runs:
            print_stderr("shapecalc: no two nodes in a row only transpose and reshape")
    return ExitCode.OK


def _select_nodes(
    report: Report, arguments: Mapping[str, Any], *, strict: bool
) -> tuple[list[JudgedNode], list[NodeSummary]]:
    """Select nodes by `--node`, `--op` and `--offenders`.

    The first list contains the selected nodes among the listed nodes. The second list contains the selected nodes among
    all nodes of the model; it is empty with `--offenders`, or if the report does not include all nodes.
    Raises `ShapeError` (usage) for an unknown node or operator.
    """
    from shapecalc.models.report import find_node, is_failing

    nodes = [*report.nodes] if arguments["node"] is None else [find_node(report, arguments["node"])]
    others = [*report.all_nodes.nodes] if report.all_nodes and not arguments["offenders"] else []
    if arguments["op"] is not None:
        known = {name.lower(): name for name in (*load_listed_operators(), *[other.node.op for other in others])}
        op = lookup(arguments["op"].lower().replace("_", ""), known, "operator" if others else "listed operator")
        nodes = [node for node in nodes if node.node.op == op]
        others = [other for other in others if other.node.op == op]
    return [node for node in nodes if not arguments["offenders"] or is_failing(node, strict=strict)], others


def _run_fix(
    file: str,
    sizes: BatchOptions,
    output_options: OutputOptions,
    targets: Mapping[str, tuple[int, ...]],
    renames: Sequence[str],
    static_text: str | None,
    free_text: str | None,
    *,
    prove: bool,
) -> int:
    """Write the fixed model, print the changes and return the exit code.

    `targets` contains the targets of `--fix-as`, by node name, `renames` the values of `--rename`, `static_text` the
    value of `--static`, and `free_text` that of `--free`. With `prove`, the fixed model is executed to verify that it
    is equivalent to the original model.
    """
    from shapecalc.cli.model_report import (
        fix_report_lines,
        freed_model_json,
        report_json,
        static_model_json,
        write_fixed_model,
    )
    from shapecalc.models.static import StaticModel

    report, written = write_fixed_model(
        file,
        sizes,
        str(output_options.out),
        targets,
        renames,
        static_text,
        free_text,
        force=output_options.force,
        prove=prove,
    )
    fixed = report.fix_result
    assert fixed is not None
    extra: dict[str, object] = {}
    if static_text or free_text:
        result: dict[str, object] | None = None
        if isinstance(written, StaticModel):
            result = static_model_json(written)
        elif written is not None:
            result = freed_model_json(written)
        extra = {"static" if static_text else "freed": result}
    if print_json_if_requested(output_options, lambda: report_json(report, report.nodes) | extra):
        _print_lines(fix_report_lines(report, fixed, written))
    proofs = [fixed.proved, *([written.proved] if written else [])]
    is_proved = all(proofs) if prove else False not in proofs
    left = [*fixed.left, *fixed.stops, *getattr(written, "left", ()), *getattr(written, "assumed", ())]
    return ExitCode.OK if is_proved and not left else ExitCode.FAILED


def _run_static(file: str, output_options: OutputOptions, text: str, *, prove: bool) -> int:
    """Write a model whose free dims have fixed sizes, and return the exit code."""
    from shapecalc.cli.model_report import static_model_json, static_model_line, write_static_model

    result = write_static_model(file, text, str(output_options.out), force=output_options.force, prove=prove)
    if print_json_if_requested(output_options, lambda: {"model": file, **static_model_json(result)}):
        _print_lines([static_model_line(result)])
    return ExitCode.OK if result.proved or (not prove and result.proved is None) else ExitCode.FAILED


def _run_rename(file: str, output_options: OutputOptions, renames: Sequence[str]) -> int:
    """Write a model with renamed dims, print the result and return the exit code."""
    from shapecalc.cli.model_report import renamed_model_line, write_renamed_model

    result = write_renamed_model(file, renames, str(output_options.out), force=output_options.force)
    if print_json_if_requested(output_options, lambda: {"model": file, **fields(result)}):
        _print_lines([renamed_model_line(result)])
    return ExitCode.OK


REPORT_STYLES = {
    r"^\S.*  opset .*$|^ +#  node .*$": "bold",
    r"(?<=  )(?:fails|sometimes|scrambles|swallows|rank-varies|only \S+=\d+)(?=  |$)": BOLD_ERROR,
    r"(?<=Next: )shapecalc .*$": "bold",
}
"""The styles of the title, the verdicts of failing nodes and the next command on a terminal."""


def _print_lines(lines: Sequence[str]) -> None:
    if lines:
        print_report(lines, REPORT_STYLES)


MODEL_COMMAND = Command(
    run=run_model,
    parameters=[
        FILE_ARGUMENT,
        BATCH_ARGUMENT,
        *SIZE_OPTIONS,
        *DISPLAY_OPTIONS,
        *select_output_options("json", "quiet"),
        *FIX_OPTIONS,
    ],
    summary="Find and fix nodes of an ONNX model that break at another batch size.",
    examples="""\
  shapecalc model yolo.onnx
  shapecalc model yolo.onnx --node /Reshape_1
  shapecalc model yolo.onnx --lint
  shapecalc model yolo.onnx --fix -o fixed.onnx""",
    details=""" Each Reshape, Transpose, Shape, Flatten, Squeeze, Unsqueeze, Expand, Tile, DepthToSpace and
SpaceToDepth node (--all: every node) is listed with its shapes and a verdict: safe; only (runs only at the declared
batch); swallows (the batch moves into another axis, without an error); scrambles (no axis of the output separates
the samples); rank-varies; fails; sometimes; unknown. --fix writes the model with fixed targets, and verifies it with
onnxruntime. Exit 0: the model was read, and with --fix the fixed model is proved; 1: --lint or -q found failing nodes,
--fix could not fix all nodes, or the fixed model is not proved; 4: a file cannot be used, or onnxruntime is missing for
--fix. The command needs the package onnx.""",
)

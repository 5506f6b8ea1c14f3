"""Format model reports as text, JSON and layers; parse the options of `model`.

The verdict on a node states at which batch sizes the node works. If the operator of a node has an equivalent op of
shapecalc, the node is checked and listed in the report; other nodes are reported only if they fail, as unlisted failing
nodes. The target of a node is its shape, permutation or axes argument. A fix replaces the target, or inserts nodes.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Any, TypeVar

from shapecalc.checking.judging import github_annotation
from shapecalc.core.answers import Request
from shapecalc.core.dims import Monomial
from shapecalc.core.problem import FILE, Problem, ShapeError, error_reason, usage_error
from shapecalc.core.record import FrozenDict, Record, fields, replace
from shapecalc.core.text import (
    MAX_QUOTED_SHAPE_LENGTH,
    escape_unprintable,
    format_count,
    parse_target,
    scan_shape,
    shape_text,
    truncate,
)
from shapecalc.core.values import parse_sizes
from shapecalc.models import report as reports
from shapecalc.models.compare import ModelDifference
from shapecalc.models.file import Node, SourceLine, read_model
from shapecalc.models.free_dims import NO_BATCH, BatchOptions, DimSum, SymbolicShape
from shapecalc.models.judge import judge_model, report_model
from shapecalc.models.operators import LISTED_OPERATORS
from shapecalc.models.propagate import NonCoreFailure
from shapecalc.models.verdicts import NO_TRANSPOSE, BatchVerdict, NodeFix
from shapecalc.reading.commands import argument_texts, command_pieces
from shapecalc.reasoning.answers import answer_chain
from shapecalc.render.code import find_generator

if TYPE_CHECKING:
    from shapecalc.diagnosis.reading import ParsedMessage  # its table of messages is slow to import
    from shapecalc.models.free_sizes import FreedModel
    from shapecalc.models.hardcoded_sizes import HardcodedSize, HardcodedSizes
    from shapecalc.models.rename import RenamedModel
    from shapecalc.models.static import StaticModel

T = TypeVar("T")
RowCells = tuple[str, ...]
"""The cells of a table row; in the details of a node, a label, a text and a remark."""
JsonObject = dict[str, object]
COLUMNS = ("#", "node", "op", "input", "target", "output", "batch")
SIZE_COLUMNS = ("elements", "bytes")
"""Table columns that are added by `--all`."""
TARGET_SOURCE_TEXTS = {
    "initializer": "from the initializer {}",
    "Constant": "from the Constant {}",
    "computed": "computed by the model: {}",
    "folded": "folded from {}",
    "external": "from the external file of {}",
    "attribute": "an attribute",
    "none": "",
}
"""A description of each source of a target; `{}` is the placeholder for a tensor name."""
REASON_COLUMN = "why"
"""The table column with the reasons for `EXPLAINED_VERDICTS`; omitted if no node has such a verdict."""
SOURCE_COLUMN = "code"
"""The table column with the Python file and line of each node; omitted if no failing node has a line."""
EXPLAINED_VERDICTS = (
    BatchVerdict.FAILS,
    BatchVerdict.SOMETIMES,
    BatchVerdict.RANK_VARIES,
    BatchVerdict.UNKNOWN,
)
FAILING_VERDICTS = (BatchVerdict.FAILS, BatchVerdict.ONLY)
MAX_UNLISTED_FAILURES = 8
"""Maximum number of unlisted failing nodes that the report names."""
MAX_CELL_LENGTH, MAX_TEXT_LENGTH = 60, 400
"""Maximum lengths, in characters, of a table cell and of other texts."""
CONSTANT_TARGET_SOURCES = ("initializer", "Constant", "attribute", "folded")
"""Sources of a target that is a constant of the model."""
MAX_RUN_LENGTH = 32
"""Maximum number of consecutive nodes that are converted to layers together."""
MAX_BATCH = 4096
"""Maximum batch size."""
MAX_DIGITS = 9
"""Maximum number of digits of a size in an option."""


def parse_size_options(batch: str | None, shapes: Iterable[str], where: Sequence[str]) -> BatchOptions:
    """Parse the values of `--batch`, `--set` and `--where`.

    Raises `ShapeError` (usage) for an invalid value.

    >>> parse_size_options("N,1,4", ["x=N,3,8"], ["H=640"]).shapes
    {'x': ('N', 3, 8)}
    """
    name, sizes = _parse_batch(batch) if batch is not None else (None, BatchOptions().sizes)
    input_shapes = _parse_assignments(
        shapes, _parse_input_shape, "set", ("INPUT=SHAPE", "images=N,3,H,W"), "two shapes"
    )
    where_sizes = FrozenDict(parse_sizes(",".join(where))) if where else FrozenDict()
    for symbol, size in where_sizes.items():
        if not 0 < size < 10**MAX_DIGITS:
            shown, largest = escape_unprintable(truncate(symbol)), 10**MAX_DIGITS - 1
            message = f"{shown} is {truncate(str(size))}, and a size is from 1 to {largest}"
            raise usage_error(message, argument="where")
    return BatchOptions(name, sizes, FrozenDict(input_shapes), where_sizes)


def _parse_batch(text: str) -> tuple[str | None, tuple[int, ...]]:
    """Parse the value of `--batch`: the name of the batch dim, and the batch sizes.

    The name is None if it is omitted. The sizes are sorted. If there is only one size, the size 1 is added, because a
    verdict requires at least two sizes. If there are no sizes, the default sizes are returned.
    """
    words = [word.strip() for word in text.replace("=", ",").split(",")]
    is_name = words[0].isprintable() and not words[0].lstrip("+-")[:1].isdigit()
    name = words.pop(0) if words[0] and is_name else None
    sizes = [_parse_batch_size(word) for word in words]
    if name == NO_BATCH and sizes:
        raise usage_error("without a batch there are no sizes of it", f"write {NO_BATCH}", argument="batch")
    sizes += [1] * (len({*sizes}) == 1)
    return name, tuple(sorted({*sizes})) or BatchOptions().sizes


def _parse_batch_size(word: str) -> int:
    if word.isascii() and word.isdigit() and len(word) <= MAX_DIGITS and 0 < int(word) <= MAX_BATCH:
        return int(word)
    shown = escape_unprintable(truncate(word))
    raise usage_error(f"'{shown}' is not a batch size from 1 to {MAX_BATCH}", "write N or N,1,2,8", argument="batch")


def _parse_assignments(
    texts: Iterable[str], parse: Callable[[str], T], option: str, form: tuple[str, str], duplicates: str
) -> dict[str, T]:
    """Parse strings such as `INPUT=N,3,H,W` into a dict with one value per name.

    `parse` parses a value. The other parameters are parts of the error messages: `option` is the option name, `form`
    is the syntax and an example, and `duplicates` describes two values with the same name, as in "two shapes".
    Raises `ShapeError` (usage) for an invalid string or a repeated name.
    """
    values: dict[str, T] = {}
    for text in texts:
        name, sign, value = text.rpartition("=")
        if not sign or not name:
            raise usage_error(
                f"'{escape_unprintable(truncate(text))}' is not {form[0]}", f"write {form[1]}", argument=option
            )
        parsed = parse(value)
        if name in values:
            raise usage_error(f"{escape_unprintable(truncate(name))} is given {duplicates}", argument=option)
        values[name] = parsed
    return values


def _parse_input_shape(text: str) -> tuple[int | str, ...]:
    if text.strip() in ("", "[]"):
        return ()
    scanned = scan_shape(text, "set")
    words = [token.text for token in scanned.tokens]
    if scanned.dtype:
        raise usage_error("--set has no element type", f"write {truncate(','.join(words))}", argument="set")
    return tuple([_parse_dim(word) for word in words])


def _parse_dim(word: str) -> int | str:
    """Parse a dim in the value of `--set`: a size or a name."""
    if word.isascii() and word.isdigit() and len(word) <= MAX_DIGITS:
        return int(word)
    if word.isidentifier():
        return word
    raise usage_error(
        f"'{escape_unprintable(truncate(word))}' is neither a size nor a name", "write images=N,3,H,W", argument="set"
    )


def parse_targets(texts: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Parse the values of `--fix-as` into a dict from node names to targets.

    Raises `ShapeError` (usage) for an invalid value or a repeated node.

    >>> parse_targets(["/Reshape=0,-1,85"])
    {'/Reshape': (0, -1, 85)}
    """
    return _parse_assignments(texts, _parse_target, "fix_as", ("NODE=TARGET", "/Reshape=0,-1,85"), "two targets")


def parse_profile(text: str) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """Parse the value of `--trt` into the minimum, optimum and maximum sizes by name.

    Raises `ShapeError` (usage) for an invalid value, or sizes that decrease.

    >>> parse_profile("N=1:4:8,S=16:16:64")
    ({'N': 1, 'S': 16}, {'N': 4, 'S': 16}, {'N': 8, 'S': 64})
    """
    form = ("NAME=MIN:OPT:MAX", "N=1:4:8")
    ranges = _parse_assignments([word.strip() for word in text.split(",")], _parse_range, "trt", form, "two ranges")
    low, middle, high = ({name: sizes[index] for name, sizes in ranges.items()} for index in range(3))
    return low, middle, high


def _parse_range(text: str) -> tuple[int, int, int]:
    words = [word.strip() for word in text.split(":")]
    sizes = [int(word) for word in words if word.isascii() and word.isdigit() and 0 < len(word) <= MAX_DIGITS]
    if len(sizes) != 3 or len(words) != 3 or not sizes[0] <= sizes[1] <= sizes[2] or not sizes[2]:
        shown = escape_unprintable(truncate(text))
        raise usage_error(
            f"'{shown}' is not MIN:OPT:MAX with sizes that do not decrease", "write N=1:4:8", argument="trt"
        )
    return sizes[0], sizes[1], sizes[2]


def parse_names(text: str) -> list[str]:
    """Parse the value of `--free`.

    Raises `ShapeError` (usage) if it contains no name.
    """
    names = [*dict.fromkeys(name.strip() for name in text.split(",") if name.strip())]
    if not names:
        raise usage_error("--free needs a name", "write --free H,W", argument="free")
    return names


def _hardcoded_size_line(size: HardcodedSize) -> str:
    """Format a constant that should change with free dims."""
    name = f"{reports.node_name(size.node)}: {size.node.op}"
    if size.number is None:
        return f"{name} fails: {size.holder}"
    if not size.expression:
        return f"{name} holds {size.number} ({size.holder})"
    verb = "was" if size.is_certain else "may be"
    return f"{name} holds {size.number} ({size.holder}), which {verb} {size.expression}"


def freed_model_lines(result: FreedModel) -> list[str]:
    """Format the result of `--fix --free`: the replaced numbers, the others, the proof and the written file."""
    lines = [f"freed   {_hardcoded_size_line(size)}" for size in result.mended]
    lines += [f"left    {_hardcoded_size_line(size)}" for size in result.left]
    proof = {True: "proved (onnxruntime)", False: "the proof failed, and nothing was written", None: "not proved"}
    written = f" Wrote {result.path}" if result.path else ""
    return [escape_line(line) for line in [*lines, f"{proof[result.proved]}: {result.why}.{written}"]]


def freed_model_json(result: FreedModel) -> JsonObject:
    """Return the JSON object of the result of `--fix --free`."""
    numbers = {
        name: [{**_json_fields(size.node, "path", "name", "op"), "number": size.number} for size in group]
        for name, group in (("mended", result.mended), ("left", result.left), ("assumed", result.assumed))
    }
    proofs = [_json_fields(check, "size", "what", "ok") for check in result.proofs]
    return {**_json_fields(result, "path", "proved", "why"), "sizes": {**result.sizes}, **numbers, "proofs": proofs}


def hardcoded_size_lines(found: HardcodedSizes) -> list[str]:
    """Format the constants that should change with free dims, and a summary."""
    lines = [*map(_hardcoded_size_line, found.hardcoded)]
    nodes = len({size.node.path for size in found.hardcoded})
    names = " or ".join(map(truncate, found.sizes))
    count = format_count(nodes, "node holds", "nodes hold") if nodes else "no node holds"
    unchecked = f" {found.unchecked_count} cannot be checked." if found.unchecked_count else ""
    lines.append(f"{count} a size of {names} (walked from {_sizes_text(found.sizes)}).{unchecked}")
    return [*map(escape_line, lines)]


def hardcoded_size_json(found: HardcodedSizes) -> JsonObject:
    """Return the constants that should change with free dims as a JSON object."""
    hardcoded = [
        {
            **_json_fields(number.node, "path", "name", "op"),
            **_json_fields(number, "number", "axis", "holder"),
            "expression": number.expression or None,
            "certain": number.is_certain,
        }
        for number in found.hardcoded
    ]
    return {"free": {**found.sizes}, "held": hardcoded, "unchecked": found.unchecked_count}


def trtexec_options(report: reports.Report, profile: Sequence[Mapping[str, int]]) -> tuple[str, ...]:
    """Return the shape options of trtexec.

    `profile` contains the minimum, optimum and maximum sizes by name. Raises `ShapeError` (usage) unless it contains
    exactly the free dims of the model.
    """
    dynamic = []
    for input in report.inputs:
        pairs = zip(input.declared or (), input.taken or (), strict=True)
        dims = [in_file if isinstance(in_file, int) else taken for in_file, taken in pairs]
        if any(isinstance(dim, str) for dim in dims):
            dynamic.append((input.name, dims))
    names = dict.fromkeys(dim for _, dims in dynamic for dim in dims if isinstance(dim, str))
    for name in [*names, *profile[0]]:
        if name not in names or name not in profile[0]:
            known = ", ".join(names) or "no free dim"
            problem = "has no sizes" if name in names else "is not a free dim"
            raise usage_error(
                f"{escape_unprintable(truncate(name))} {problem}", f"the model has {known}", argument="trt"
            )
    return tuple(
        [
            f"--{kind}Shapes={','.join(f'{name}:{_trt_shape(dims, sizes)}' for name, dims in dynamic)}"
            for kind, sizes in zip(("min", "opt", "max"), profile, strict=True)
        ]
    )


def _trt_shape(dims: Sequence[int | str | None], sizes: Mapping[str, int]) -> str:
    return "x".join(str(sizes[dim] if isinstance(dim, str) else dim) for dim in dims)


def difference_line(difference: ModelDifference) -> str:
    """Format a difference between two models as a line.

    >>> difference_line(ModelDifference("input", "x", "float32 N,3", None))
    'input x: float32 N,3 here, absent there'
    """
    here, there = (text or "absent" for text in (difference.here, difference.there))
    return escape_line(f"{difference.kind} {difference.name}: {here} here, {there} there")


def _parse_target(text: str) -> tuple[int, ...]:
    dims = parse_target(text)
    numbers = tuple([dim for dim in dims if isinstance(dim, int)])
    if len(numbers) < len(dims):
        raise usage_error(
            f"a target in a file is made of numbers, not '{escape_unprintable(truncate(text))}'", argument="fix_as"
        )
    return numbers


def write_fixed_model(
    file: str,
    sizes: BatchOptions,
    output_path: str,
    targets: Mapping[str, tuple[int, ...]],
    rename_texts: Sequence[str],
    static_text: str | None = None,
    free_text: str | None = None,
    *,
    force: bool,
    prove: bool,
) -> tuple[reports.Report, StaticModel | FreedModel | None]:
    """Write the fixed model, and return the report of the changes and the result of `--static` or `--free`.

    `targets` contains targets from the user, by node name; every other failing node gets its best fix. `rename_texts`
    are the values of `--rename`, and `static_text` is the value of `--static`. With `prove`, the fixed model is
    executed to verify that it is equivalent to the original model. Raises `ShapeError` (file) if a file cannot be used,
    and (usage) if a node in `targets` is unknown or does not fail.
    """
    static_sizes = static_text and _parse_static_sizes(static_text)
    model = judge_model(read_model(file), sizes)
    report = model.build_report(file)
    chosen: dict[str, NodeFix] = {}
    for text, target in targets.items():
        node_report = reports.find_node(report, text)
        if not reports.is_failing(node_report):
            name = escape_unprintable(reports.node_name(node_report.node))
            raise usage_error(f"{name} does not offend, so it stays as it is", argument="fix_as")
        chosen[node_report.node.path] = NodeFix(target, None, "")
    from shapecalc.models.free_sizes import write_freed_model
    from shapecalc.models.rename import parse_renames, rename_dims
    from shapecalc.models.static import write_static_fixed_model
    from shapecalc.models.write import write_fixed_model

    renames, path = parse_renames(rename_texts), Path(output_path)
    edit = (lambda proto: rename_dims(proto, renames, model.walk.model)) if renames else None
    with _convert_output_errors(output_path):
        if free_text is not None:
            return write_freed_model(model, report, parse_names(free_text), path, chosen, force=force, prove=prove)
        if static_sizes:
            return write_static_fixed_model(model, report, static_sizes, path, chosen, edit, force=force, prove=prove)
        return write_fixed_model(model, report, path, chosen, edit, force=force, prove=prove), None


def write_renamed_model(file: str, rename_texts: Sequence[str], output_path: str, *, force: bool) -> RenamedModel:
    """Write a model with the names of `--rename`, and return the result.

    Raises `ShapeError` (usage) for invalid names, and `ShapeError` (file) if a file cannot be used.
    """
    from shapecalc.models import rename

    renames = rename.parse_renames(rename_texts)
    with _convert_output_errors(output_path):
        return rename.write_renamed_model(read_model(file), renames, Path(output_path), force=force)


def renamed_model_line(result: RenamedModel) -> str:
    """Format the result of `--rename`: the renamed dims and the output file."""
    dims = ", ".join(f"{dim} from {old} to {new}" for dim, (old, new) in result.renamed.items())
    return escape_line(f"renamed {dims}. Wrote {result.path}")


@contextmanager
def _convert_output_errors(output_path: str) -> Iterator[None]:
    """Convert an `OSError` in a `with` block to a `ShapeError` (file)."""
    try:
        yield
        return
    except FileExistsError:
        reason = "it exists; --force writes over it"
    except OSError as error:
        reason = error_reason(error)
    raise ShapeError(Problem(FILE, f"{output_path}: {reason}", argument="out"))


def write_static_model(file: str, text: str, output_path: str, *, force: bool, prove: bool) -> StaticModel:
    """Write a model with the sizes of `--static`, and return the result.

    Raises `ShapeError` (usage) for invalid sizes, and (file) if a file cannot be used.
    """
    sizes = _parse_static_sizes(text)
    from shapecalc.models import static

    with _convert_output_errors(output_path):
        return static.write_static_model(read_model(file), sizes, Path(output_path), force=force, prove=prove)


def _parse_static_sizes(text: str) -> Mapping[str, int]:
    """Parse the sizes of `--static`.

    Raises `ShapeError` (usage) for a size below 1.
    """
    sizes = parse_sizes(text)
    for name, size in sizes.items():
        if not 0 < size < 10**MAX_DIGITS:
            shown = escape_unprintable(truncate(name))
            raise usage_error(f"{shown} is {truncate(str(size))}, and a size is at least 1", argument="static")
    return FrozenDict(sizes)


def static_model_json(result: StaticModel) -> JsonObject:
    """Return the JSON object of the result of `--static`."""
    proofs = [{"what": check.what, "ok": check.ok} for check in result.proofs]
    return {**_json_fields(result, "path", "proved", "why"), "sizes": {**result.sizes}, "proofs": proofs}


def static_model_line(result: StaticModel) -> str:
    """Format the result of `--static`: the proof, and the file that was written."""
    proof = {True: "proved (onnxruntime)", False: "the proof failed, and nothing was written", None: "not proved"}
    written = f" Wrote {result.path}" if result.path else ""
    return escape_line(f"{proof[result.proved]}: {result.why}.{written}")


def escape_line(line: str) -> str:
    r"""Escape control characters, and the `::` that begins a GitHub Actions command.

    >>> escape_line("::error::x"), escape_line("a\nb")
    ('\\x3a:error::x', 'a\\nb')
    """
    line = escape_unprintable(line)
    return f"\\x3a{line.lstrip()[1:]}" if line.lstrip().startswith("::") else line


def table_lines(report: reports.Report, nodes: Sequence[reports.JudgedNode], *, hides_safe: bool = False) -> list[str]:
    """Format a report as lines: a title, a table of listed nodes, and a summary.

    `nodes` are the listed nodes in the table. If `hides_safe`, safe nodes are only counted.
    """
    shape_texts: dict[int, str] = {}
    shown = [node for node in nodes if not (hides_safe and node.verdict is BatchVerdict.SAFE)]
    hidden = len(nodes) - len(shown)
    nodes = shown
    rows = [_judged_node_cells(node_report, report, shape_texts) for node_report in nodes]
    columns: RowCells = COLUMNS
    if any(node.verdict in EXPLAINED_VERDICTS for node in nodes):
        columns = (*COLUMNS, REASON_COLUMN)
        rows = [(*cells, _reason_cell(node)) for cells, node in zip(rows, nodes, strict=True)]
    if any(reports.is_failing(node) and node.node.source for node in nodes):
        columns = (*columns, SOURCE_COLUMN)
        rows = [(*cells, _source_cell(node)) for cells, node in zip(rows, nodes, strict=True)]
    return [
        escape_line(line)
        for line in [
            _title_line(report, len(nodes)),
            *_size_limit_lines(report),
            *_format_table(columns, rows),
            *([f"  {format_count(hidden, 'safe node', 'safe nodes')}: --all"] if hidden else []),
            *_summary_lines(report),
        ]
    ]


def _reason_cell(node_report: reports.JudgedNode) -> str:
    is_explained = node_report.verdict in EXPLAINED_VERDICTS
    return truncate(escape_unprintable(node_report.why), MAX_CELL_LENGTH) if is_explained else ""


def _source_cell(node_report: reports.JudgedNode) -> str:
    source = node_report.node.source
    return truncate(escape_unprintable(source.short), MAX_CELL_LENGTH) if source else ""


def all_node_lines(report: reports.Report, nodes: Sequence[reports.NodeSummary]) -> list[str]:
    """Format a report with unlisted nodes: a title, a table, totals and a summary.

    `nodes` are the nodes in the table.
    """
    shape_texts: dict[int, str] = {}
    listed = {node_report.node.path: node_report for node_report in report.nodes}
    rows = [
        _node_cells_with_sizes(node_info, listed.get(node_info.node.path), report, shape_texts) for node_info in nodes
    ]
    lines = [
        _title_line(report, len(nodes)),
        *_size_limit_lines(report),
        *_format_table((*COLUMNS, *SIZE_COLUMNS), rows),
        *_total_lines(report),
        *_summary_lines(report),
    ]
    return [escape_line(line) for line in lines]


def _format_table(columns: RowCells, rows: Sequence[RowCells]) -> list[str]:
    """Format a table with column titles, or return no lines if there are no rows."""
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    line = "  ".join([f"{{:>{widths[0]}}}", *[f"{{:<{width}}}" for width in widths[1:]]])
    return [f"  {line.format(*row)}".rstrip() for row in (columns, *rows)] if rows else []


def _judged_node_cells(
    node_report: reports.JudgedNode, report: reports.Report, shape_texts: dict[int, str]
) -> RowCells:
    """Return the table row of a judged node.

    `shape_texts` caches formatted shapes by the `id` of the shape.
    """
    target = (
        _shape_text(node_report.target, shape_texts)
        if node_report.target is not None or node_report.target_from != "none"
        else ""
    )
    shapes = _shape_text(node_report.input, shape_texts), target, _shape_text(node_report.output, shape_texts)
    return (*_node_cells(node_report.node), *shapes, reports.format_verdict(node_report, report))


def _node_cells_with_sizes(
    node_info: reports.NodeSummary,
    node_report: reports.JudgedNode | None,
    report: reports.Report,
    shape_texts: dict[int, str],
) -> RowCells:
    """Return the table row of a node, with the sizes of its outputs.

    `node_report` is the verdict on the node. It is None for an unlisted node, whose row has no target and no verdict.
    """
    cells = (
        _judged_node_cells(node_report, report, shape_texts)
        if node_report
        else (*_node_cells(node_info.node), "", "", "", "")
    )
    outputs = (
        [node_report.output]
        if node_report and reports.is_failing(node_report)
        else [tensor.shape for tensor in node_info.outputs]
    )
    input = _shape_text(node_info.input, shape_texts) if node_info.node.inputs else ""
    output = " ".join([_shape_text(shape, shape_texts) for shape in outputs])
    counts = [tensor.elements for tensor in node_info.outputs], [tensor.bytes for tensor in node_info.outputs]
    sums = [reports.UNKNOWN_TEXT if None in column else str(sum(filter(None, column))) for column in counts]
    return (*cells[:3], input, cells[4], output, cells[6], *sums)


def _shape_text(shape: SymbolicShape | None, shape_texts: dict[int, str]) -> str:
    """Format a shape, and cache the text, since most shapes occur in two rows."""
    if id(shape) not in shape_texts:
        shape_texts[id(shape)] = truncate(reports.format_shape(shape), MAX_CELL_LENGTH)
    return shape_texts[id(shape)]


def _node_cells(node: Node) -> RowCells:
    """Return the table cells with the path, the name and the operator of a node."""
    return (
        truncate(escape_unprintable(node.path), MAX_CELL_LENGTH),
        truncate(escape_unprintable(node.name), MAX_CELL_LENGTH),
        truncate(node.op),
    )


def _total_lines(report: reports.Report) -> Iterator[str]:
    """Yield the lines that list generated dim names, unknown sizes and the largest tensors."""
    every = report.all_nodes
    assert every is not None
    for name, definition in every.results.items():
        yield f"{name} is {truncate(definition, MAX_TEXT_LENGTH)}"
    dims = format_count(every.unknown, "size is", "sizes are")
    tensors = format_count(every.shapeless, "tensor has", "tensors have")
    yield f"{dims} not known (?), {tensors} no known rank."
    sizes = ", ".join(f"{name} = {size}" for name, size in every.counted_at.items())
    yield f"The largest{f' at {sizes}' if sizes else ''}:"
    for node, tensor in every.largest:
        if not tensor.bytes:  # the size of the tensor is unknown
            continue
        shape = truncate(reports.format_shape(tensor.shape), MAX_CELL_LENGTH)
        yield f"  {format_count(tensor.bytes or 0, 'byte', 'bytes')}  {shape}  {tensor.type}  {reports.node_name(node)}"


def _title_line(report: reports.Report, shown_count: int) -> str:
    """Return a line with the model, its inputs and the batch sizes of the report.

    `shown_count` is the number of nodes in the table.
    """
    opset = ", ".join(f"{domain} {number}".removeprefix("ai.onnx ") for domain, number in report.opset.items())
    inputs = "  ".join(f"{input.name} ({_dims_text(input.taken)})" for input in report.inputs)
    declared = f"declared {report.batch} = {report.declared_batch}, " if report.declared_batch is not None else ""
    batch = f"{declared}checked at {report.batch} = {', '.join(map(str, report.sizes))}" if report.batch else "no batch"
    assumed = "" if report.limits.tried else _sizes_text(report.assumed)
    contents = f"opset {opset}, {format_count(report.node_count, 'node', 'nodes')}, {shown_count} shown"
    names = ", ".join(f"{name} is {definition}" for name, definition in report.names.items())
    parts = [f"{report.model}  {contents}", inputs, batch, f"taken: {assumed}" if assumed else "", names]
    return "   ".join(part for part in parts if part)


def _sizes_text(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {size}" for name, size in sizes.items())


def _size_limit_lines(report: reports.Report) -> list[str]:
    """Return a line with the conditions under which the model runs, or no line."""
    limits = report.limits
    if limits.tried is None:
        return []
    conditions = "; ".join(condition.text.replace("==", "=") for condition in limits.conditions)
    found = f"only where {conditions}" if limits.is_complete else "only at some sizes, whose conditions are not known"
    return [f"runs {found} (run at {_sizes_text(limits.tried)})"]


def _dims_text(dims: Iterable[object] | None) -> str:
    """Format the dims of a model input; None represents an unknown shape or dim."""
    return "no shape" if dims is None else ",".join("?" if dim is None else str(dim) for dim in dims) or "[]"


def _summary_lines(report: reports.Report) -> Iterator[str]:
    """Yield the summary lines: failing nodes, unlisted failures, and the command to run next."""
    failing_nodes = reports.list_failing_nodes(report.nodes)
    unknown = sum(node_report.verdict is BatchVerdict.UNKNOWN for node_report in report.nodes) + len(report.unchecked)
    counts = _failure_counts(report, failing_nodes)
    breaks = f"breaks at another {report.batch}" if report.batch else "breaks"
    summary = f"{', '.join(counts)}." if counts else f"No listed node {breaks}."
    summary += f" {unknown} cannot be checked." if unknown else ""
    first = _first_failing_node_name(report)
    if first and len(failing_nodes) + len(report.stops) > 1:
        summary += f" A runtime reports only {first}."
    yield summary
    yield from reports.format_failures(report, report.stops[:MAX_UNLISTED_FAILURES])
    yield from reports.format_unchecked_nodes(report)
    yield from [f"stays   {_fixed_batch_input_text(input, report)}" for input in report.stays]
    declared = report.declared_batch
    note = f"The file declares {report.batch} = {declared}, and --fix frees it." if declared is not None else ""
    note = "Nodes below a failing node are checked as if it were fixed." if failing_nodes else note
    if note:
        sizes = [str(size) for size in report.sizes if size not in (*BatchOptions().sizes, report.declared_batch)]
        yield f"{note}   Next: {join(['shapecalc', 'model', report.model, *sizes[-1:], '--fix', '-o', 'fixed.onnx'])}"


def _failure_counts(report: reports.Report, failing_nodes: Sequence[reports.JudgedNode]) -> list[str]:
    """Return one phrase per kind of failure, with the number of failing nodes."""
    size = report.reference_batch
    elsewhere = f"at {report.batch} {f'> {size}' if size == min(report.sizes) else f'other than {size}'}"
    phrases = {
        BatchVerdict.FAILS: (
            "fails",
            "fail",
            f"at {report.batch} = {size} already" if report.batch else "at every size",
        ),
        BatchVerdict.ONLY: ("fails", "fail", elsewhere),
        BatchVerdict.SOMETIMES: ("fails", "fail", f"at some {report.batch}"),
        BatchVerdict.SCRAMBLES: ("mixes", "mix", "the samples without an error"),
        BatchVerdict.SWALLOWS: ("moves", "move", "the batch into another axis without an error"),
        BatchVerdict.RANK_VARIES: ("drops", "drop", f"the axis of the batch at {report.batch} = 1"),
    }
    counts = {verdict: sum(node_report.verdict is verdict for node_report in failing_nodes) for verdict in phrases}
    lines = [
        f"{format_count(count, *phrases[verdict][:2])} {phrases[verdict][2]}"
        for verdict, count in counts.items()
        if count
    ]
    silent = sum(stop.silent for stop in report.stops)
    count = len(report.stops) - silent
    stopping = format_count(count, "unlisted node fails", "unlisted nodes fail")
    silently = format_count(silent, "unlisted node gives", "unlisted nodes give")
    return [*lines, *([stopping] if count else []), *([f"{silently} wrong results without an error"] if silent else [])]


def _first_failing_node_name(report: reports.Report) -> str:
    """Return the name of the node at which a runtime would report an error.

    This is the first failing node in the list. The name is empty if this node computes wrong values without an error,
    or if an unlisted node fails earlier: the shapes after the unlisted node are then those of the fixed model.
    """
    first = next((node_report for node_report in report.nodes if reports.is_failing(node_report)), None)
    stop_positions = [_path_indices(stop.node.path) for stop in report.stops]
    if first is None or first.verdict not in FAILING_VERDICTS:
        return ""
    if min([_path_indices(first.node.path), *stop_positions]) in stop_positions:
        return ""
    return reports.node_name(first.node)


def _path_indices(path: str) -> tuple[int, ...]:
    """Return the index of a node in each nested graph, the outermost graph first."""
    return tuple([int(part) for part in path.split("/") if part.isdecimal()])


def node_lines(report: reports.Report, node_report: reports.JudgedNode) -> list[str]:
    """Format the details of one node as lines of text."""
    node, (inputs, _) = node_report.node, node_report.tensors
    head = f"{reports.node_name(node)}  {node.op}{'' if node_report.version is None else f' {node_report.version}'}"
    rows = [*_shape_rows(node_report), *_batch_rows(report, node_report), *_fix_rows(node_report)]
    input_shape = truncate(reports.format_shape(node_report.input), MAX_TEXT_LENGTH)
    lines = [f"{head}   in  {inputs[0] if inputs else ''}   ({input_shape})"]
    lines += [*_align_rows([*rows, *_source_rows(node)]), *_align_rows(_command_rows(report, node_report))]
    return [escape_line(line) for line in lines]


def _align_rows(rows: Iterable[RowCells]) -> list[str]:
    """Align rows of a label, a text and a remark in columns.

    A minus sign is in the column before the text, so that the digits of numbers line up.
    """
    signed = [
        (label, truncate(" " * (text[:1] != "-") + text, MAX_TEXT_LENGTH), remark) for label, text, remark in rows
    ]
    width = max((len(text) for _, text, remark in signed if remark), default=0)
    return [
        f"  {label.ljust(6)} {text.ljust(width) if remark else text}  {remark}".rstrip()
        for label, text, remark in signed
    ]


def _shape_rows(node_report: reports.JudgedNode) -> Iterator[RowCells]:
    """Yield the rows for a node's target, output, value and conditions."""
    inputs = node_report.tensors[0]
    if node_report.target_from != "none":
        origin = TARGET_SOURCE_TEXTS[node_report.target_from].format(inputs[1] if len(inputs) > 1 else "shapes").strip()
        yield "target", reports.format_shape(node_report.target), origin
    yield "output", reports.format_shape(node_report.output), ""
    if node_report.value is not None:
        yield "value", reports.format_shape(node_report.value), ""
    for condition in node_report.conditions:
        yield "when", condition, ""


def _batch_rows(report: reports.Report, node_report: reports.JudgedNode) -> Iterator[RowCells]:
    """Yield the rows for the verdict on a node.

    One row names the node before it that must be fixed first, and one states whether a batch size of 0 is refused.
    """
    words = reports.format_verdict(node_report, report)
    yield "batch", f"{words}: {node_report.why}" if node_report.why else words, ""
    if node_report.blocked_by is not None:
        yield "", f"assumes that #{node_report.blocked_by} is fixed", ""
    if node_report.empty == "refused":
        yield "", f"{report.batch} = 0 is refused", ""


def _source_rows(node: Node) -> Iterator[RowCells]:
    """Yield a row with the Python file and line of a node, if they are known."""
    if node.source is not None:
        path, line, function, code = node.source
        yield "code", f"{path}:{line} in {function}", code


def _fix_rows(node_report: reports.JudgedNode) -> Iterator[RowCells]:
    """Yield a row for each possible fix of a node, the best fix first."""
    for number, fix in enumerate(node_report.fixes):
        remark = "; ".join(filter(None, (fix.effect, reports.format_assumption(fix))))
        yield "   or" if number else "fix", reports.format_fix(fix), remark


def _command_rows(report: reports.Report, node_report: reports.JudgedNode) -> Iterator[RowCells]:
    """Yield rows with the commands that explain and draw a node.

    There are no rows if the node cannot be expressed as a request.
    """
    request = reports.build_request(node_report, report)
    if request is None:
        return
    words = [text for _, text in command_pieces(request.op, argument_texts(replace(request, argument_texts={})))]
    is_unique = node_report.node.name and [other.node.name for other in report.nodes].count(node_report.node.name) == 1
    name = node_report.node.name if is_unique else f"#{node_report.node.path}"
    if sum(map(len, words)) < MAX_TEXT_LENGTH:
        yield "try", join(["shapecalc", *words, "--explain"]), "the steps"
        yield "", join(["shapecalc", "tui", "--model", report.model, "--node", name]), "the picture"


def fix_report_lines(
    report: reports.Report, fix_result: reports.FixResult, written: StaticModel | FreedModel | None = None
) -> list[str]:
    """Format the result of `--fix`: the changes, the unfixed nodes and the proof.

    `written` is the result of `--static` or `--free`, which has a proof of its own.
    """
    changes = [
        (f"input {input.name}", _dims_text(input.declared), _dims_text(input.taken)) for input in fix_result.freed
    ]
    changes += [
        (reports.node_name(node_report.node), reports.format_shape(node_report.target), reports.format_fix(fix))
        for node_report, fix in fix_result.mended
    ]
    widths = [max((len(escape_unprintable(change[column])) for change in changes), default=0) for column in (0, 1)]
    lines = [
        f"fixed   {escape_unprintable(name).ljust(widths[0])}  {before.ljust(widths[1])} to {after}"
        for name, before, after in changes
    ]
    lines += [
        f"left    {reports.node_name(node_report.node)}  {node_report.verdict.value}: {node_report.why}"
        for node_report in fix_result.left
    ]
    lines += [f"left    {line}" for line in reports.format_failures(report, fix_result.stops)]
    lines += [f"stays   {_fixed_batch_input_text(input, report)}" for input in report.stays]
    gaining = [reports.node_name(item.node) for item, fix in fix_result.mended if fix.gains_axis]
    gains = [f"gains   {name}  keeps the batch axis at {report.batch} = 1: the output gains it" for name in gaining]
    proofs = [_proof_line(fix_result if written is None else replace(fix_result, path=None))]
    if written is not None and (written.proved, written.why) == (fix_result.proved, fix_result.why):
        proofs = []  # the line on the written model contains the same proof
    from shapecalc.models.static import StaticModel

    if isinstance(written, StaticModel):
        more = [static_model_line(written)]
    else:
        more = freed_model_lines(written) if written else []
    return [*[escape_line(line) for line in [*gains, *lines, *proofs]], *more]


def _proof_line(fix_result: reports.FixResult) -> str:
    """Return the line that states the proof and the written file."""
    proof = {True: "proved (onnxruntime)", False: "the proof failed, and nothing was written", None: "not proved"}
    text = ": ".join(filter(None, (proof[fix_result.proved], fix_result.why)))
    if not (fix_result.changed or fix_result.left or fix_result.stops):
        text = f"there was nothing to mend; {text}"
    if fix_result.path is None:
        return f"{text}."
    return f"{text}. Wrote {fix_result.path}{'' if fix_result.changed else ', unchanged'}"


def _fixed_batch_input_text(model_input: reports.FixedBatchInput, report: reports.Report) -> str:
    """Describe an input whose batch size remains fixed.

    The text contains the failure that a free batch size would cause, and the option that frees it.
    """
    taken = [*(model_input.taken or ())]
    taken[model_input.axis] = report.batch
    option = join(["--set", f"{model_input.name}={','.join(map(str, taken))}"])
    why = f" ({model_input.why})" if model_input.why else ""
    return f"input {model_input.name}  {_dims_text(model_input.declared)}; {option} frees it{why}"


def failure_lines(
    report: reports.Report,
    nodes: Iterable[reports.JudgedNode],
    stops: Iterable[NonCoreFailure],
    *,
    strict: bool,
    github: bool,
) -> list[str]:
    """Return one line per failing node, in order of severity.

    `stops` are the unlisted failing nodes; their lines are the last. With `strict`, a listed node without a
    definite verdict counts as failing, and so does a node that mixes the samples of a model with a free batch.
    With `github`, the lines are GitHub Actions annotations.
    """
    failing = reports.list_failing_nodes(nodes, strict=strict)
    failing_stops = [stop for stop in stops if reports.counts_as_failure(stop, report, strict=strict)]
    sources = [node.source for node in (*[judged.node for judged in failing], *[stop.node for stop in failing_stops])]
    lines = [f"{reports.node_name_with_source(node.node)}: {_failure_text(node, report)}" for node in failing]
    lines += reports.format_failures(report, failing_stops)
    lines += reports.format_unchecked_nodes(report) if strict else []
    lines += [f"stays   {_fixed_batch_input_text(input, report)}" for input in report.stays if strict]
    if offences := reports.failing_size_conditions(report, strict=strict):
        lines.append(f"runs only where {'; '.join(condition.text.replace('==', '=') for condition in offences)}")
    if github:
        places = [_annotation_location(source, report.model) for source in (*sources, *[None] * len(lines))]
        return [github_annotation(file, line, number) for (file, number), line in zip(places, lines, strict=False)]
    return [escape_line(f"{report.model}: {line}") for line in lines]


def _annotation_location(source: SourceLine | None, model_path: str) -> tuple[str, int | None]:
    """Return the file and the line of a GitHub Actions annotation.

    The file is relative to the working directory. If the code is in no file below it, the file is the model, without a
    line.
    """
    path = Path(os.path.relpath(source.path)) if source else None
    if source is None or path is None or os.pardir in path.parts or not path.is_file():
        return model_path, None
    return str(path), source.line


def _failure_text(node_report: reports.JudgedNode, report: reports.Report) -> str:
    """Describe the failure of a node and its best fix."""
    shapes = f"{_brief_shape(node_report.input)} to {_brief_shape(node_report.output)}"
    match node_report.verdict:
        case BatchVerdict.SWALLOWS | BatchVerdict.SCRAMBLES:
            text = f"{node_report.verdict.value} the batch: {shapes}"
        case BatchVerdict.ONLY if node_report.target is not None and node_report.target_from in CONSTANT_TARGET_SOURCES:
            size = report.reference_batch
            text = f"only {report.batch} = {size}: {_brief_shape(node_report.target)} is constant"
        case BatchVerdict.ONLY:
            text = f"only {report.batch} = {report.reference_batch}: {node_report.why}"
        case _:
            text = f"{node_report.verdict.value}: {node_report.why}"
    for fix in node_report.fixes[:1]:
        inserted = f"--fix inserts {', '.join(fix.inserts)}"
        text += f"; {inserted if fix.target is None else f'write {_brief_shape(fix.target)}'}"
        text += f", if {fix.assumes}" if fix.assumes.startswith(NO_TRANSPOSE) else ""
    return text


def _brief_shape(shape: SymbolicShape | None) -> str:
    """Format a shape, truncated to the maximum length in a message."""
    return truncate(reports.format_shape(shape), MAX_QUOTED_SHAPE_LENGTH)


class GeneratedLayers(Record):
    """Layers that are equivalent to consecutive nodes of a model, as code."""

    nodes: tuple[reports.JudgedNode, ...]
    code: str
    """The code that builds the layers; empty if the nodes cannot be expressed as layers."""
    notes: tuple[str, ...]
    """The conditions and warnings of the code, or the reason why there is no code."""

    def as_json(self) -> dict[str, object]:
        """Return a JSON object with the nodes, the code and the notes."""
        nodes = [node_report.node.path for node_report in self.nodes]
        return {"nodes": nodes, "code": self.code or None, "notes": [*self.notes]}

    def lines(self) -> list[str]:
        """Format the nodes, the code and the notes as lines of text."""
        names = " ".join(reports.node_name(node_report.node) for node_report in self.nodes)
        count = f"{format_count(self.code.count('add_shuffle'), 'Shuffle', 'Shuffles')}" if self.code else "no layers"
        lines = [f"{names}: {count}", *[f"  {line}" for line in self.code.splitlines()]]
        return [escape_line(line) for line in [*lines, *[f"  {note}" for note in self.notes]]]


def generate_layers(run: Sequence[reports.JudgedNode], report: reports.Report, dialect: str) -> GeneratedLayers:
    """Generate code that builds consecutive nodes as layers of a dialect.

    A failing node is replaced by the node with its best fix.
    """
    nodes = tuple(run)
    if len(nodes) > MAX_RUN_LENGTH:
        return GeneratedLayers(
            nodes[:MAX_RUN_LENGTH], "", (f"{len(nodes)} nodes in a row are more than {MAX_RUN_LENGTH}",)
        )
    requests = [_fixed_request(node_report, report) for node_report in run]
    known = [request for request in requests if request is not None]
    if len(known) < len(requests):
        return GeneratedLayers(nodes, "", ("a shape or a target is not known",))
    stages = [(request.op, _request_options(request)) for request in known]
    try:
        chain = answer_chain(shape_text(known[0].input), stages, {})
        if chain.problem:
            raise ShapeError(chain.problem)
        code = find_generator(dialect)(chain)
    except ShapeError as error:
        return GeneratedLayers(nodes, "", (error.problem.message,))
    holds = tuple(f"holds when {condition.phrase}" for condition in chain.conditions)
    return GeneratedLayers(nodes, code.text, (*holds, *code.warnings))


def _fixed_request(node_report: reports.JudgedNode, report: reports.Report) -> Request | None:
    """Return the request that is equivalent to a node.

    If the node fails, its best fix is applied. Return None if the input shape or the target is unknown.
    """
    if not reports.is_failing(node_report):
        return reports.build_request(node_report, report)
    target = node_report.fixes[0].target if node_report.fixes else None
    return None if target is None else reports.build_request(node_report, report, target)


def _request_options(request: Request) -> dict[str, object]:
    """Return the options of a request as text, by name."""
    options = {**argument_texts(replace(request, argument_texts={})), "input": None}
    return {name: value for name, value in options.items() if value is not None}


def report_json(
    report: reports.Report, nodes: Iterable[reports.JudgedNode], others: Iterable[reports.NodeSummary] = ()
) -> JsonObject:
    """Return the JSON object of a report.

    `nodes` are the listed nodes and `others` the unlisted nodes to include; listed nodes in `others` are ignored.
    """
    all_nodes_fields = report.all_nodes and _all_nodes_json(report, report.all_nodes, others)
    return {
        **_json_fields(report, "model", "opset", "batch", "declared_batch", "sizes", "assumed", "names", "inputs"),
        "batch": report.batch or None,
        "runs_where": [condition.text for condition in report.limits.conditions],
        "tried": None if report.limits.tried is None else {**report.limits.tried},
        "nodes": [node_json(node_report) for node_report in nodes],
        "stops": [
            {
                **_json_fields(stop.node, "path", "op"),
                **_json_fields(stop, "why", "cause", "silent"),
                **_source_json(stop.node),
            }
            for stop in report.stops
        ],
        "unchecked": [{**_json_fields(node, "path", "op"), "why": why} for node, why in report.unchecked],
        "stays": _dims_to_json(report.stays),
        "summary": verdict_counts(report),
        "fixed": report.fix_result and _fix_result_json(report, report.fix_result),
        **(all_nodes_fields or {}),
    }


def _all_nodes_json(
    report: reports.Report, node_analysis: reports.AllNodes, selected_nodes: Iterable[reports.NodeSummary]
) -> JsonObject:
    """Return the JSON fields of a report on unlisted nodes and on all tensors."""
    listed = {node_report.node.path for node_report in report.nodes}
    others = [
        {
            **_json_fields(node.node, "path", "name", "op"),
            "input": _dims_to_json(node.input),
            "outputs": _dims_to_json(node.outputs),
        }
        for node in selected_nodes
        if node.node.path not in listed
    ]
    counts = _json_fields(node_analysis, "results", "counted_at", "unknown", "shapeless")
    largest = [{"path": node.path} | _dims_to_json(tensor) for node, tensor in node_analysis.largest]
    return {"others": others, **counts, "largest": largest}


def node_json(node_report: reports.JudgedNode) -> JsonObject:
    """Return the JSON object of a node with its verdict and fixes."""
    shapes = ("input", "target", "target_from", "output", "value")
    verdict = ("conditions", "verdict", "runs", "empty", "blocked_by")
    return {
        **_json_fields(node_report.node, "path", "name", "op"),
        "version": node_report.version,
        "tensors": dict(zip(("in", "out"), _dims_to_json(node_report.tensors), strict=True)),
        **_json_fields(node_report, *shapes, *verdict),
        "batch_axis": {"in": _dims_to_json(node_report.batch_in), "out": _dims_to_json(node_report.batch_out)},
        "why": node_report.why,
        "fixes": [_fix_json(fix) for fix in node_report.fixes],
        **_source_json(node_report.node),
    }


def _source_json(node: Node) -> JsonObject:
    """Return the JSON field `source` of a node, or no field if it is unknown."""
    return {"source": node.source._asdict()} if node.source else {}


def verdict_counts(report: reports.Report) -> dict[str, int]:
    """Count the listed nodes by verdict, and the unlisted failing nodes as `stops`."""
    counts = Counter(node_report.verdict.value for node_report in report.nodes)
    return {**counts} | ({"stops": len(report.stops)} if report.stops else {})


def _fix_json(fix: NodeFix) -> JsonObject:
    """Return the JSON object of a fix, with the operators that the fix inserts."""
    optional = [name for name in ("inserts", "gains_axis") if getattr(fix, name)]
    return _json_fields(fix, "target", "allowzero", "assumes", *optional)


def _fix_result_json(report: reports.Report, fix_result: reports.FixResult) -> JsonObject:
    return {
        "path": fix_result.path,
        "mended": [
            {**_json_fields(node_report.node, "path"), "from": _dims_to_json(node_report.target)} | _fix_json(fix)
            for node_report, fix in fix_result.mended
        ],
        "freed": _dims_to_json(fix_result.freed),
        "stays": _dims_to_json(report.stays),
        "left": [node_report.node.path for node_report in fix_result.left],
        **_json_fields(fix_result, "proved", "why"),
        "proofs": [_json_fields(check, "size", "what", "ok") for check in fix_result.proofs],
    }


def _json_fields(value: object, *names: str) -> JsonObject:
    """Return the named attributes of an object as JSON fields."""
    return {name: _dims_to_json(getattr(value, name)) for name in names}


def _dims_to_json(value: Any) -> Any:
    """Convert a value to JSON: symbolic dims to strings, unknown dims to None."""
    match value:
        case Monomial() | DimSum():
            return str(value)
        case BatchVerdict():
            return value.value
        case reports.ModelInput() | reports.NodeOutput():
            return {name: _dims_to_json(field) for name, field in fields(value).items()}
        case Mapping():
            return {str(key): _dims_to_json(item) for key, item in value.items()}
        case tuple():
            return [_dims_to_json(item) for item in value]
    return value


def find_message_nodes(messages: Sequence[ParsedMessage], file: str) -> tuple[list[str], list[JsonObject | None]]:
    """Find the model nodes to which error messages refer.

    A message without a node name refers to the node with the same shapes, if there is exactly one. Return the
    descriptions of the nodes without duplicates, and one item per message: a JSON object, or None if the message refers
    to no listed node. Raises `ShapeError` (file) if the model cannot be used.
    """
    report = report_model(file, BatchOptions(), [message.node for message in messages if message.node is not None])
    texts: dict[str, None] = {}
    objects: list[JsonObject | None] = []
    for message in messages:
        note, node = _find_message_node(report, message)
        lines = node_lines(report, node) if node else []
        texts["\n".join(["", *([escape_line(f"{report.model}: {note}")] if note else []), *lines])] = None
        objects.append(None if node is None else node_json(node))
    return [*texts], objects


def _find_message_node(report: reports.Report, message: ParsedMessage) -> tuple[str, reports.JudgedNode | None]:
    """Find the node to which an error message refers.

    Return a note for the user, which may be empty, and the node or None.
    """
    if message.node is None:
        matches = [node for node in report.nodes if _matches_message(node, message)]
        if len(matches) != 1:
            return "the message names no node", None
        return f"the message names no node, and {reports.node_name(matches[0].node)} alone has its shapes", matches[0]
    try:
        return "", reports.find_node(report, message.node)
    except ShapeError as error:
        path = report.failing_above.get(message.node)
        return error.problem.message, next((node for node in report.nodes if node.node.path == path), None)


def _matches_message(node_report: reports.JudgedNode, message: ParsedMessage) -> bool:
    """Return whether a node has the same op and the same shapes as an error message.

    Before the comparison, each 0 in the target of the node is replaced by the input dim that the 0 copies.
    """
    input, target = node_report.input, node_report.target
    if (
        LISTED_OPERATORS[node_report.node.op].op != message.op
        or not message.target
        or not message.input
        or input is None
        or target is None
    ):
        return False
    if len(input) != len(message.input) or len(target) != len(message.target):
        return False
    copied = [
        size if size != 0 or index >= len(message.input) else message.input[index] for index, size in enumerate(target)
    ]
    same_input = [dim == size for dim, size in zip(input, message.input, strict=True) if isinstance(dim, int)]
    return all(same_input) and copied == [*message.target]

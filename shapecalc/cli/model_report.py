"""Reports of models for front ends: options, text, JSON, and TensorRT layers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Any, TypeVar

from shapecalc.cli.check import annotation
from shapecalc.core.answers import Request
from shapecalc.core.commands import command_pieces, texts_of
from shapecalc.core.dims import Monomial
from shapecalc.core.fixing import answer_chain
from shapecalc.core.problem import FILE, Problem, ShapeError, misuse
from shapecalc.core.record import FrozenDict, Record, fields, replace
from shapecalc.core.text import LONGEST_REPEATED, brief, number_text, read_target, shape_text, tokens, visible
from shapecalc.core.values import read_sizes
from shapecalc.models import report as reports
from shapecalc.models.file import Node, read_model
from shapecalc.models.free_dims import NO_BATCH, NamedShape, SizeOptions, Sum
from shapecalc.models.judge import judged_model, report_of
from shapecalc.models.operators import LISTED
from shapecalc.models.propagate import Stop
from shapecalc.models.verdicts import NO_TURN, Fix, Verdict
from shapecalc.view.code import writer

if TYPE_CHECKING:
    from shapecalc.doctor.reading import Reading  # its table of messages is slow to import

T = TypeVar("T")
Row = tuple[str, ...]
"""The cells of a table row; or a label, a text and a remark."""
Plain = dict[str, object]
COLUMNS = ("#", "node", "op", "input", "target", "output", "batch")
COUNTED = ("elements", "bytes")
"""Additional columns with `--all`."""
FROM = {
    "initializer": "from the initializer {}",
    "Constant": "from the Constant {}",
    "computed": "computed by the model: {}",
    "folded": "folded from {}",
    "external": "from the external file of {}",
    "attribute": "an attribute",
    "none": "",
}
"""Texts for the origin of a target; the placeholder is the name of its tensor."""
FAILING = (Verdict.FAILS, Verdict.ONLY)
UNCHANGED = "there was nothing to mend"
"""Reason why an unchanged model is not proved."""
MOST_STOPS = 8
"""Limit on the unlisted failing nodes that the table reports."""
LONGEST_CELL, LONGEST_TEXT = 60, 400
"""Limits on the characters of a table cell, and of other texts."""
WRITTEN = ("initializer", "Constant", "attribute", "folded")
"""Origins of targets that are constant."""
LONGEST_RUN = 32
"""Limit on the nodes of a run that is converted to layers."""
LARGEST_BATCH = 4096
"""Limit on a batch size."""
MOST_DIGITS = 9
"""Limit on the digits of a size."""


def size_options(batch: str | None, shapes: Iterable[str], where: Sequence[str]) -> SizeOptions:
    """Parse `--batch`, `--set` and `--where`; raise `ShapeError` (usage).

    >>> size_options("N,1,4", ["x=N,3,8"], ["H=640"]).shapes
    {'x': ('N', 3, 8)}
    """
    name, sizes = _batch(batch) if batch is not None else (None, SizeOptions().sizes)
    input_shapes = _assigned(shapes, _shape, "set", ("INPUT=SHAPE", "images=N,3,H,W"), "two shapes")
    where_sizes = FrozenDict(read_sizes(",".join(where))) if where else FrozenDict()
    for symbol, size in where_sizes.items():
        if not 0 < size < 10**MOST_DIGITS:
            message = f"{visible(brief(symbol))} is {brief(str(size))}, and a size is from 1 to {10**MOST_DIGITS - 1}"
            raise misuse(message, argument="where")
    return SizeOptions(name, sizes, FrozenDict(input_shapes), where_sizes)


def _batch(text: str) -> tuple[str | None, tuple[int, ...]]:
    """Parse the name of the batch and the sizes to judge, at least two."""
    words = [word.strip() for word in text.replace("=", ",").split(",")]
    is_name = words[0].isprintable() and not words[0].lstrip("+-")[:1].isdigit()
    name = words.pop(0) if words[0] and is_name else None
    sizes = [_size(word) for word in words]
    if name == NO_BATCH and sizes:
        raise misuse("without a batch there are no sizes of it", f"write {NO_BATCH}", argument="batch")
    sizes += [1] * (len({*sizes}) == 1)
    return name, tuple(sorted({*sizes})) or SizeOptions().sizes


def _size(word: str) -> int:
    if word.isascii() and word.isdigit() and len(word) <= MOST_DIGITS and 0 < int(word) <= LARGEST_BATCH:
        return int(word)
    shown = visible(brief(word))
    raise misuse(f"'{shown}' is not a batch size from 1 to {LARGEST_BATCH}", "write N or N,1,2,8", argument="batch")


def _assigned(
    texts: Iterable[str], read: Callable[[str], T], option: str, form: tuple[str, str], twice: str
) -> dict[str, T]:
    """Parse texts such as `INPUT=N,3,H,W` into values by name.

    `form` is the expected form and an example, and `duplicates` names two values of one name in the error.
    Raises `ShapeError` (usage).
    """
    values: dict[str, T] = {}
    for text in texts:
        name, sign, value = text.rpartition("=")
        if not sign or not name:
            raise misuse(f"'{visible(brief(text))}' is not {form[0]}", f"write {form[1]}", argument=option)
        parsed = read(value)
        if name in values:
            raise misuse(f"{visible(brief(name))} is given {twice}", argument=option)
        values[name] = parsed
    return values


def _shape(text: str) -> tuple[int | str, ...]:
    words = [token.text for token in tokens(text, "set")] if text.strip() not in ("", "[]") else []
    return tuple([_dim(word) for word in words])


def _dim(word: str) -> int | str:
    """Parse a dim of `--set`: a size or a name."""
    if word.isascii() and word.isdigit() and len(word) <= MOST_DIGITS:
        return int(word)
    if word.isidentifier():
        return word
    raise misuse(f"'{visible(brief(word))}' is neither a size nor a name", "write images=N,3,H,W", argument="set")


def targets_of(texts: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Parse the targets of `--fix-as` by node; raise `ShapeError` (usage).

    >>> targets_of(["/Reshape=0,-1,85"])
    {'/Reshape': (0, -1, 85)}
    """
    return _assigned(texts, _target, "fix_as", ("NODE=TARGET", "/Reshape=0,-1,85"), "two targets")


def _target(text: str) -> tuple[int, ...]:
    dims = read_target(text)
    numbers = tuple([dim for dim in dims if isinstance(dim, int)])
    if len(numbers) < len(dims):
        raise misuse(f"a target in a file is made of numbers, not '{visible(brief(text))}'", argument="fix_as")
    return numbers


def mended_report(
    file: str, options: SizeOptions, out: str, targets: Mapping[str, tuple[int, ...]], *, force: bool, prove: bool
) -> reports.Report:
    """Write the fixed model and return its report.

    `targets` override the best fixes of their nodes.
    Raises `ShapeError`: file if a file cannot be used, usage for an unknown node or one that does not fail.
    """
    model = judged_model(read_model(file), options)
    report = model.report(file)
    chosen: dict[str, Fix] = {}
    for text, target in targets.items():
        node_report = reports.found_node(report, text)
        if not reports.offends(node_report):
            name = visible(reports.name_of(node_report.node))
            raise misuse(f"{name} does not offend, so it stays as it is", argument="fix_as")
        chosen[node_report.node.path] = Fix(target, None, "")
    from shapecalc.models.write import written

    try:
        return written(model, report, Path(out), chosen, force=force, prove=prove)
    except FileExistsError:
        reason = "it exists; --force writes over it"
    except OSError as error:
        reason = error.strerror or str(error)
    raise ShapeError(Problem(FILE, f"{out}: {reason[:1].lower()}{reason[1:]}", argument="out"))


def printable(line: str) -> str:
    r"""Escape control characters, and `::`, which begins a GitHub Actions command.

    >>> printable("::error::x"), printable("a\nb")
    ('\\x3a:error::x', 'a\\nb')
    """
    line = visible(line)
    return f"\\x3a{line.lstrip()[1:]}" if line.lstrip().startswith("::") else line


def table_lines(report: reports.Report, nodes: Sequence[reports.Judged]) -> list[str]:
    """Return the title, the table of some listed nodes, and the conclusion."""
    words: dict[int, str] = {}
    rows = [_row(node_report, report, words) for node_report in nodes]
    return [printable(line) for line in [_title(report, len(nodes)), *_table(COLUMNS, rows), *_conclusion(report)]]


def every_lines(report: reports.Report, nodes: Sequence[reports.Told]) -> list[str]:
    """Return the title, the table of some nodes, the totals and the conclusion."""
    words: dict[int, str] = {}
    listed = {node_report.node.path: node_report for node_report in report.nodes}
    rows = [_told_row(node_info, listed.get(node_info.node.path), report, words) for node_info in nodes]
    lines = [_title(report, len(nodes)), *_table((*COLUMNS, *COUNTED), rows), *_totals(report), *_conclusion(report)]
    return [printable(line) for line in lines]


def _table(columns: Row, rows: Sequence[Row]) -> list[str]:
    """Format rows below their column titles; no lines if there are no rows."""
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    line = "  ".join([f"{{:>{widths[0]}}}", *[f"{{:<{width}}}" for width in widths[1:]]])
    return [f"  {line.format(*row)}".rstrip() for row in (columns, *rows)] if rows else []


def _row(judged: reports.Judged, report: reports.Report, words: dict[int, str]) -> Row:
    """Return the cells of a listed node."""
    target = _words(judged.target, words) if judged.target is not None or judged.target_from != "none" else ""
    shapes = _words(judged.input, words), target, _words(judged.output, words)
    return (*_node_cells(judged.node), *shapes, reports.verdict_words(judged, report))


def _told_row(told: reports.Told, judged: reports.Judged | None, report: reports.Report, words: dict[int, str]) -> Row:
    """Return the cells of a node, listed or not, with its sizes."""
    cells = _row(judged, report, words) if judged else (*_node_cells(told.node), "", "", "", "")
    outputs = [judged.output] if judged and reports.offends(judged) else [tensor.shape for tensor in told.outputs]
    input = _words(told.input, words) if told.node.inputs else ""
    output = " ".join([_words(shape, words) for shape in outputs])
    counts = [tensor.elements for tensor in told.outputs], [tensor.bytes for tensor in told.outputs]
    sums = [reports.UNKNOWN if None in column else str(sum(filter(None, column))) for column in counts]
    return (*cells[:3], input, cells[4], output, cells[6], *sums)


def _words(shape: NamedShape | None, words: dict[int, str]) -> str:
    """Return the text of a shape; cache it, since most shapes are in two rows."""
    if id(shape) not in words:
        words[id(shape)] = brief(reports.shape_words(shape), LONGEST_CELL)
    return words[id(shape)]


def _node_cells(node: Node) -> Row:
    return brief(visible(node.path), LONGEST_CELL), brief(visible(node.name), LONGEST_CELL), brief(node.op)


def _totals(report: reports.Report) -> Iterator[str]:
    """Yield lines on the named results, the unknown sizes and the largest tensors."""
    every = report.every
    assert every is not None
    for name, definition in every.results.items():
        yield f"{name} is {brief(definition, LONGEST_TEXT)}"
    dims = number_text(every.unknown, "size is", "sizes are")
    tensors = number_text(every.shapeless, "tensor has", "tensors have")
    yield f"{dims} not known (?), {tensors} no known rank."
    sizes = ", ".join(f"{name} = {size}" for name, size in every.counted_at.items())
    yield f"The largest{f' at {sizes}' if sizes else ''}:"
    for node, tensor in every.largest:
        shape = brief(reports.shape_words(tensor.shape), LONGEST_CELL)
        yield f"  {number_text(tensor.bytes or 0, 'byte', 'bytes')}  {shape}  {tensor.type}  {reports.name_of(node)}"


def _title(report: reports.Report, shown: int) -> str:
    """Return the line on the model, its inputs, and the sizes at which it was judged."""
    opset = ", ".join(f"{domain} {number}".removeprefix("ai.onnx ") for domain, number in report.opset.items())
    inputs = "  ".join(f"{input.name} ({_taken(input.taken)})" for input in report.inputs)
    declared = f"declared {report.batch} = {report.declared_batch}, " if report.declared_batch is not None else ""
    batch = f"{declared}judged at {report.batch} = {', '.join(map(str, report.sizes))}" if report.batch else "no batch"
    assumed = ", ".join(f"{name} = {size}" for name, size in report.assumed.items())
    contents = f"opset {opset}, {number_text(report.node_count, 'node', 'nodes')}, {shown} shown"
    names = ", ".join(f"{name} is {definition}" for name, definition in report.names.items())
    parts = [f"{report.model}  {contents}", inputs, batch, f"taken: {assumed}" if assumed else "", names]
    return "   ".join(part for part in parts if part)


def _taken(dims: Iterable[object] | None) -> str:
    return "no shape" if dims is None else ",".join("?" if dim is None else str(dim) for dim in dims) or "[]"


def _conclusion(report: reports.Report) -> Iterator[str]:
    """Yield the counts of failing nodes, the unlisted ones and the next command."""
    failing_nodes = reports.worst_first(report.nodes)
    unknown = sum(node_report.verdict is Verdict.UNKNOWN for node_report in report.nodes)
    counts = _counted(report, failing_nodes)
    breaks = f"breaks at another {report.batch}" if report.batch else "breaks"
    summary = f"{', '.join(counts)}." if counts else f"No listed node {breaks}."
    summary += f" {unknown} cannot be judged." if unknown else ""
    first = _first_failure(report)
    if first and len(failing_nodes) + len(report.stops) > 1:
        summary += f" The runtime would have named {first} alone."
    yield summary
    yield from reports.stop_lines(report, report.stops[:MOST_STOPS])
    declared = report.declared_batch
    note = f"The file declares {report.batch} = {declared}, and --fix frees it." if declared is not None else ""
    note = "What is below an offender is judged as if that one were mended." if failing_nodes else note
    if note:
        sizes = [str(size) for size in report.sizes if size not in (*SizeOptions().sizes, report.declared_batch)]
        yield f"{note}   Next: {join(['shapecalc', 'model', report.model, *sizes[-1:], '--fix', '-o', 'fixed.onnx'])}"


def _counted(report: reports.Report, offenders: Sequence[reports.Judged]) -> list[str]:
    """Return the number of nodes with each way to fail."""
    size = reports.only_size(report)
    elsewhere = f"at {report.batch} {f'> {size}' if size == min(report.sizes) else f'other than {size}'}"
    phrases = {
        Verdict.FAILS: ("fails", "fail", f"at {report.batch} = {size} already" if report.batch else "at every size"),
        Verdict.ONLY: ("fails", "fail", elsewhere),
        Verdict.SCRAMBLES: ("mixes", "mix", "the samples without an error"),
        Verdict.SWALLOWS: ("puts", "put", "the batch elsewhere without an error"),
    }
    counts = {verdict: sum(node_report.verdict is verdict for node_report in offenders) for verdict in phrases}
    lines = [
        f"{number_text(count, *phrases[verdict][:2])} {phrases[verdict][2]}"
        for verdict, count in counts.items()
        if count
    ]
    silent = sum(stop.silent for stop in report.stops)
    count = len(report.stops) - silent
    stopping = number_text(count, "node that is not listed stops", "nodes that are not listed stop")
    silently = number_text(silent, "node that is not listed goes", "nodes that are not listed go")
    return [*lines, *([stopping] if count else []), *([f"{silently} wrong without an error"] if silent else [])]


def _first_failure(report: reports.Report) -> str:
    """Return the name of the node that a runtime would report, empty if unknown.

    That is the first failing node, if the runtime stops there. One that fails silently may make others fail.
    """
    first = next((node_report for node_report in report.nodes if reports.offends(node_report)), None)
    stop_positions = [_place(stop.node.path) for stop in report.stops if not stop.silent]
    if first is None or first.verdict not in FAILING:
        return ""
    if min([_place(first.node.path), *stop_positions]) in stop_positions:
        return ""
    return reports.name_of(first.node)


def _place(path: str) -> tuple[int, ...]:
    """Return the indices of a node and of the nodes that enclose it."""
    return tuple([int(part) for part in path.split("/") if part.isdecimal()])


def node_lines(report: reports.Report, judged: reports.Judged) -> list[str]:
    """Return the lines of one node in full."""
    node, (inputs, _) = judged.node, judged.tensors
    head = f"{reports.name_of(node)}  {node.op}{'' if judged.version is None else f' {judged.version}'}"
    rows = [*_shape_rows(judged), *_batch_rows(report, judged), *_fix_rows(judged)]
    lines = [f"{head}   in  {inputs[0] if inputs else ''}   ({brief(reports.shape_words(judged.input), LONGEST_TEXT)})"]
    lines += [*_labelled(rows), *_labelled(_try_rows(report, judged))]
    return [printable(line) for line in lines]


def _labelled(rows: Iterable[Row]) -> list[str]:
    """Align rows of label, text and remark; a minus sign hangs left of its column."""
    signed = [(label, brief(" " * (text[:1] != "-") + text, LONGEST_TEXT), remark) for label, text, remark in rows]
    width = max((len(text) for _, text, remark in signed if remark), default=0)
    return [
        f"  {label.ljust(6)} {text.ljust(width) if remark else text}  {remark}".rstrip()
        for label, text, remark in signed
    ]


def _shape_rows(judged: reports.Judged) -> Iterator[Row]:
    """Yield the rows of the target, the output, the value and the conditions."""
    inputs = judged.tensors[0]
    if judged.target_from != "none":
        origin = FROM[judged.target_from].format(inputs[1] if len(inputs) > 1 else "shapes").strip()
        yield "target", reports.shape_words(judged.target), origin
    yield "output", reports.shape_words(judged.output), ""
    if judged.value is not None:
        yield "value", reports.shape_words(judged.value), ""
    for condition in judged.conditions:
        yield "when", condition, ""


def _batch_rows(report: reports.Report, judged: reports.Judged) -> Iterator[Row]:
    """Yield the rows of the verdict, the blocking node and an empty batch."""
    words = reports.verdict_words(judged, report)
    yield "batch", f"{words}: {judged.why}" if judged.why else words, ""
    if judged.blocked_by is not None:
        yield "", f"as it is once #{judged.blocked_by} is mended", ""
    if judged.empty == "refused":
        yield "", f"{report.batch} = 0 is refused", ""


def _fix_rows(judged: reports.Judged) -> Iterator[Row]:
    """Yield a row for each fix."""
    for number, fix in enumerate(judged.fixes):
        remark = "; ".join(filter(None, (fix.how, reports.assumed_words(fix))))
        yield "   or" if number else "fix", reports.fix_words(fix), remark


def _try_rows(report: reports.Report, judged: reports.Judged) -> Iterator[Row]:
    """Yield the command lines for the steps and the picture of a node, if it has any."""
    request = reports.request_of(judged, report)
    if request is None:
        return
    words = [text for _, text in command_pieces(request.op, texts_of(replace(request, written={})))]
    is_unique = judged.node.name and [other.node.name for other in report.nodes].count(judged.node.name) == 1
    name = judged.node.name if is_unique else f"#{judged.node.path}"
    if sum(map(len, words)) < LONGEST_TEXT:
        yield "try", join(["shapecalc", *words, "--explain"]), "the steps"
        yield "", join(["shapecalc", "tui", "--model", report.model, "--node", name]), "the picture"


def fixed_lines(report: reports.Report, fixed: reports.Fixed) -> list[str]:
    """Return the lines of a fix: changes, remaining failures and the proof."""
    changes = [(f"input {input.name}", _taken(input.declared), _taken(input.taken)) for input in fixed.freed]
    changes += [
        (reports.name_of(node_report.node), reports.shape_words(node_report.target), reports.fix_words(fix))
        for node_report, fix in fixed.mended
    ]
    widths = [max((len(visible(change[column])) for change in changes), default=0) for column in (0, 1)]
    lines = [
        f"mended  {visible(name).ljust(widths[0])}  {before.ljust(widths[1])} to {after}"
        for name, before, after in changes
    ]
    lines += [
        f"left    {reports.name_of(node_report.node)}  {node_report.verdict.value}: {node_report.why}"
        for node_report in fixed.left
    ]
    lines += [f"left    {line}" for line in reports.stop_lines(report, fixed.stops)]
    lines += [f"stays   {_staying(input, report)}" for input in fixed.stays]
    if fixed.why == UNCHANGED:
        return [*map(printable, lines), printable(f"{UNCHANGED}. Wrote {fixed.path}, unchanged")]
    proof = {True: "proved (onnxruntime)", False: "the proof failed, and nothing was written", None: "not proved"}[
        fixed.proved
    ]
    wrote = f" Wrote {fixed.path}" if fixed.path is not None else ""
    return [printable(line) for line in [*lines, f"{proof}{f': {fixed.why}' if fixed.why else ''}.{wrote}"]]


def _staying(each: reports.Input, report: reports.Report) -> str:
    """Return an input that keeps its declared batch, with the option that frees it."""
    axis = report.axis_to_free(each)
    freed = ",".join([report.batch if index == axis else str(dim) for index, dim in enumerate(each.taken or ())])
    return f"input {each.name}  {_taken(each.declared)}; {join(['--set', f'{each.name}={freed}'])} frees it"


def lint_lines(
    report: reports.Report, nodes: Iterable[reports.Judged], stops: Iterable[Stop], *, strict: bool, github: bool
) -> list[str]:
    """Return a line per failing node, worst first, then one per unlisted node."""
    lines = [
        f"{reports.name_of(node_report.node)}: {_offence(node_report, report)}"
        for node_report in reports.worst_first(nodes, strict=strict)
    ]
    lines += reports.stop_lines(report, stops)
    if github:
        return [annotation(report.model, line) for line in lines]
    return [printable(f"{report.model}: {line}") for line in lines]


def _offence(judged: reports.Judged, report: reports.Report) -> str:
    """Return how a node fails, and the target to write instead."""
    shapes = f"{_brief_shape(judged.input)} to {_brief_shape(judged.output)}"
    match judged.verdict:
        case Verdict.SWALLOWS | Verdict.SCRAMBLES:
            text = f"{judged.verdict.value} the batch: {shapes}"
        case Verdict.ONLY if judged.target is not None and judged.target_from in WRITTEN:
            text = f"only {report.batch} = {reports.only_size(report)}: {_brief_shape(judged.target)} is constant"
        case Verdict.ONLY:
            text = f"only {report.batch} = {reports.only_size(report)}: {judged.why}"
        case _:
            text = f"{judged.verdict.value}: {judged.why}"
    for fix in judged.fixes[:1]:
        inserted = f"--fix inserts {', '.join(fix.inserts)}"
        text += f"; {inserted if fix.target is None else f'write {_brief_shape(fix.target)}'}"
        text += f", if {fix.assumes}" if fix.assumes.startswith(NO_TURN) else ""
    return text


def _brief_shape(shape: NamedShape | None) -> str:
    return brief(reports.shape_words(shape), LONGEST_REPEATED)


class Layers(Record):
    """Consecutive nodes, and the code of their layers."""

    nodes: tuple[reports.Judged, ...]
    code: str
    """Code of the layers, empty if there is none."""
    notes: tuple[str, ...]
    """Limits of the code, or the reason why there is none."""

    def as_json(self) -> dict[str, object]:
        """Return the JSON object of the nodes."""
        nodes = [node_report.node.path for node_report in self.nodes]
        return {"nodes": nodes, "code": self.code or None, "notes": [*self.notes]}

    def lines(self) -> list[str]:
        """Return the nodes and their code as text."""
        names = " ".join(reports.name_of(node_report.node) for node_report in self.nodes)
        count = f"{number_text(self.code.count('add_shuffle'), 'Shuffle', 'Shuffles')}" if self.code else "no layers"
        lines = [f"{names}: {count}", *[f"  {line}" for line in self.code.splitlines()]]
        return [printable(line) for line in [*lines, *[f"  {note}" for note in self.notes]]]


def layers_of(run: Sequence[reports.Judged], report: reports.Report, dialect: str) -> Layers:
    """Return the layers of consecutive nodes, with the best fix of each failing node."""
    nodes = tuple(run)
    if len(nodes) > LONGEST_RUN:
        return Layers(nodes[:LONGEST_RUN], "", (f"{len(nodes)} nodes in a row are more than {LONGEST_RUN}",))
    requests = [_request(node_report, report) for node_report in run]
    known = [request for request in requests if request is not None]
    if len(known) < len(requests):
        return Layers(nodes, "", ("a shape or a target is not known",))
    stages = [(request.op, _options(request)) for request in known]
    try:
        chain = answer_chain(shape_text(known[0].input), stages, {})
        if chain.problem:
            raise ShapeError(chain.problem)
        code = writer(dialect)(chain)
    except ShapeError as error:
        return Layers(nodes, "", (error.problem.message,))
    holds = tuple(f"holds when {condition.words}" for condition in chain.conditions)
    return Layers(nodes, code.text, (*holds, *code.warnings))


def _request(judged: reports.Judged, report: reports.Report) -> Request | None:
    """Return the request of a node with its best fix, or None if it is unknown."""
    if not reports.offends(judged):
        return reports.request_of(judged, report)
    target = judged.fixes[0].target if judged.fixes else None
    return None if target is None else reports.request_of(judged, report, target)


def _options(request: Request) -> dict[str, object]:
    options = {**texts_of(replace(request, written={})), "input": None}
    return {name: value for name, value in options.items() if value is not None}


def report_object(
    report: reports.Report, nodes: Iterable[reports.Judged], others: Iterable[reports.Told] = ()
) -> Plain:
    """Return the JSON object of a model, with some listed nodes and some others."""
    every = report.every and _every_object(report, report.every, others)
    return {
        **_plain_fields(report, "model", "opset", "batch", "declared_batch", "sizes", "assumed", "names", "inputs"),
        "batch": report.batch or None,
        "nodes": [node_object(node_report) for node_report in nodes],
        "stops": [
            {**_plain_fields(stop.node, "path", "op"), **_plain_fields(stop, "why", "cause", "silent")}
            for stop in report.stops
        ],
        "summary": summary_of(report),
        "fixed": report.fixed and _fixed_object(report.fixed),
        **(every or {}),
    }


def _every_object(report: reports.Report, every: reports.Every, nodes: Iterable[reports.Told]) -> Plain:
    """Return the JSON keys about unlisted nodes and about all tensors."""
    listed = {node_report.node.path for node_report in report.nodes}
    others = [
        {**_plain_fields(node.node, "path", "name", "op"), "input": _plain(node.input), "outputs": _plain(node.outputs)}
        for node in nodes
        if node.node.path not in listed
    ]
    counts = _plain_fields(every, "results", "counted_at", "unknown", "shapeless")
    largest = [{"path": node.path} | _plain(tensor) for node, tensor in every.largest]
    return {"others": others, **counts, "largest": largest}


def node_object(judged: reports.Judged) -> Plain:
    """Return the JSON object of a listed node."""
    shapes = ("input", "target", "target_from", "output", "value")
    verdict = ("conditions", "verdict", "runs", "empty", "blocked_by")
    return {
        **_plain_fields(judged.node, "path", "name", "op"),
        "version": judged.version,
        "tensors": dict(zip(("in", "out"), _plain(judged.tensors), strict=True)),
        **_plain_fields(judged, *shapes, *verdict),
        "batch_axis": {"in": _plain(judged.batch_in), "out": _plain(judged.batch_out)},
        "why": judged.why,
        "fixes": [_fix_object(fix) for fix in judged.fixes],
    }


def summary_of(report: reports.Report) -> dict[str, int]:
    """Return the number of nodes with each verdict, and of unlisted failing nodes."""
    counts = Counter(node_report.verdict.value for node_report in report.nodes)
    return {**counts} | ({"stops": len(report.stops)} if report.stops else {})


def _fix_object(fix: Fix) -> Plain:
    """Return the JSON object of a fix, with the operators that it inserts if any."""
    return _plain_fields(fix, "target", "allowzero", "assumes", *(["inserts"] if fix.inserts else []))


def _fixed_object(fixed: reports.Fixed) -> Plain:
    return {
        "path": fixed.path,
        "mended": [
            {**_plain_fields(node_report.node, "path"), "from": _plain(node_report.target)} | _fix_object(fix)
            for node_report, fix in fixed.mended
        ],
        "freed": _plain(fixed.freed),
        "stays": _plain(fixed.stays),
        "left": [node_report.node.path for node_report in fixed.left],
        **_plain_fields(fixed, "proved", "why"),
    }


def _plain_fields(value: object, *names: str) -> Plain:
    return {name: _plain(getattr(value, name)) for name in names}


def _plain(value: Any) -> Any:
    """Convert a value to JSON: names and sums as text, unknown dims as None."""
    match value:
        case Monomial() | Sum():
            return str(value)
        case Verdict():
            return value.value
        case reports.Input() | reports.Tensor():
            return {name: _plain(field) for name, field in fields(value).items()}
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case tuple():
            return [_plain(item) for item in value]
    return value


def named_nodes(messages: Sequence[Reading], file: str) -> tuple[list[str], list[Plain | None]]:
    """Return the nodes of some messages as text without repetitions, and as JSON.

    A message without a node name is about the node with its shapes, if that is unique. The JSON has one object per
    message, None if its node is not listed. Raises `ShapeError` (file) if the model cannot be used.
    """
    report = report_of(file, SizeOptions(), [message.node for message in messages if message.node is not None])
    texts: dict[str, None] = {}
    objects: list[Plain | None] = []
    for message in messages:
        note, node = _node_of_message(report, message)
        lines = node_lines(report, node) if node else []
        texts["\n".join(["", *([printable(f"{report.model}: {note}")] if note else []), *lines])] = None
        objects.append(None if node is None else node_object(node))
    return [*texts], objects


def _node_of_message(report: reports.Report, read: Reading) -> tuple[str, reports.Judged | None]:
    """Return a note on the node of a message, which may be empty, and the node."""
    if read.node is None:
        matches = [node for node in report.nodes if _fits(node, read)]
        if len(matches) != 1:
            return "the message names no node", None
        return f"the message names no node, and {reports.name_of(matches[0].node)} alone has its shapes", matches[0]
    try:
        return "", reports.found_node(report, read.node)
    except ShapeError as error:
        path = report.above.get(read.node)
        return error.problem.message, next((node for node in report.nodes if node.node.path == path), None)


def _fits(judged: reports.Judged, read: Reading) -> bool:
    """Return whether a node has the shapes of a message.

    The message may have the copied dims for zeros of the target.
    """
    input, target = judged.input, judged.target
    if LISTED[judged.node.op].op != read.op or not read.target or not read.input or input is None or target is None:
        return False
    if len(input) != len(read.input) or len(target) != len(read.target):
        return False
    copied = [size if size != 0 or index >= len(read.input) else read.input[index] for index, size in enumerate(target)]
    same_input = [dim == size for dim, size in zip(input, read.input, strict=True) if isinstance(dim, int)]
    return all(same_input) and copied == [*read.target]

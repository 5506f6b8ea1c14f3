"""Models as front ends ask for them and show them: options read, reports as lines, layers of TensorRT, and JSON."""

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
    from shapecalc.doctor.reading import Reading  # it reads all sentences, which only messages need

T = TypeVar("T")
Row = tuple[str, ...]
"""The cells of a table; or a label, a text, and what is said of it."""
Plain = dict[str, object]
COLUMNS = ("#", "node", "op", "input", "target", "output", "batch")
COUNTED = ("elements", "bytes")
"""The columns more if all nodes are shown."""
FROM = {
    "initializer": "from the initializer {}",
    "Constant": "from the Constant {}",
    "computed": "computed by the model: {}",
    "folded": "folded from {}",
    "external": "from the external file of {}",
    "attribute": "an attribute",
    "none": "",
}
"""Where a target comes from, around the name of its tensor."""
FAILING = (Verdict.FAILS, Verdict.ONLY)
UNCHANGED = "there was nothing to mend"
"""Why a model that is written as it was is not proved."""
MOST_STOPS = 8
"""Of how many nodes that stop and are not listed the table says why."""
LONGEST_CELL, LONGEST_TEXT = 60, 400
"""The most characters of a cell of the table, and of a text elsewhere."""
WRITTEN = ("initializer", "Constant", "attribute", "folded")
"""Where a target comes from that is the same at every size."""
LONGEST_RUN = 32
"""The most nodes in a row of which the fewest layers are looked for."""
LARGEST_BATCH = 4096
"""The largest batch that is judged."""
MOST_DIGITS = 9


def size_options(batch: str | None, shapes: Iterable[str], where: Sequence[str]) -> SizeOptions:
    """Return what `--batch`, `--set` and `--where` ask for; raise `ShapeError` (usage) for what cannot be read.

    >>> size_options("N,1,4", ["x=N,3,8"], ["H=640"]).shapes
    {'x': ('N', 3, 8)}
    """
    name, sizes = _batch(batch) if batch is not None else (None, SizeOptions().sizes)
    taken = _assigned(shapes, _shape, "set", ("INPUT=SHAPE", "images=N,3,H,W"), "two shapes")
    where_sizes = FrozenDict(read_sizes(",".join(where))) if where else FrozenDict()
    for other, size in where_sizes.items():
        if not 0 < size < 10**MOST_DIGITS:
            said = f"{visible(brief(other))} is {brief(str(size))}, and a size is from 1 to {10**MOST_DIGITS - 1}"
            raise misuse(said, argument="where")
    return SizeOptions(name, sizes, FrozenDict(taken), where_sizes)


def _batch(text: str) -> tuple[str | None, tuple[int, ...]]:
    """Return the batch's name and the sizes to judge, of which there are two or more."""
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
    """Return what texts of a form, such as `INPUT=N,3,H,W`, give by name; raise `ShapeError` (usage) for others."""
    found: dict[str, T] = {}
    for text in texts:
        name, sign, value = text.rpartition("=")
        if not sign or not name:
            raise misuse(f"'{visible(brief(text))}' is not {form[0]}", f"write {form[1]}", argument=option)
        assigned = read(value)
        if name in found:
            raise misuse(f"{visible(brief(name))} is given {twice}", argument=option)
        found[name] = assigned
    return found


def _shape(text: str) -> tuple[int | str, ...]:
    words = [token.text for token in tokens(text, "set")] if text.strip() not in ("", "[]") else []
    return tuple([_dim(word) for word in words])


def _dim(word: str) -> int | str:
    """Return a dim of `--set`: a number or one name."""
    if word.isascii() and word.isdigit() and len(word) <= MOST_DIGITS:
        return int(word)
    if word.isidentifier():
        return word
    raise misuse(f"'{visible(brief(word))}' is neither a size nor a name", "write images=N,3,H,W", argument="set")


def targets_of(texts: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Return the targets that `--fix-as` gives to nodes; raise `ShapeError` (usage) for what cannot be read.

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
    """Write a model mended and return its report; `targets` go before the best fixes of the nodes that they name.

    Raises `ShapeError`: file if a file cannot be used, usage for a node that there is not or that does not offend.
    """
    found = judged_model(read_model(file), options)
    report = found.report(file)
    chosen: dict[str, Fix] = {}
    for text, target in targets.items():
        judged = reports.found_node(report, text)
        if not reports.offends(judged):
            name = visible(reports.name_of(judged.node))
            raise misuse(f"{name} does not offend, so it stays as it is", argument="fix_as")
        chosen[judged.node.path] = Fix(target, None, "")
    from shapecalc.models.write import written

    try:
        return written(found, report, Path(out), chosen, force=force, prove=prove)
    except FileExistsError:
        reason = "it exists; --force writes over it"
    except OSError as error:
        reason = error.strerror or str(error)
    raise ShapeError(Problem(FILE, f"{out}: {reason[:1].lower()}{reason[1:]}", argument="out"))


def printable(line: str) -> str:
    r"""Return a line with control characters escaped, and so that GitHub does not take it for a command.

    >>> printable("::error::x"), printable("a\nb")
    ('\\x3a:error::x', 'a\\nb')
    """
    line = visible(line)
    return f"\\x3a{line.lstrip()[1:]}" if line.lstrip().startswith("::") else line


def table_lines(report: reports.Report, nodes: Sequence[reports.Judged]) -> list[str]:
    """Return the model in one line, a row for each of some nodes, and what they come to."""
    words: dict[int, str] = {}
    rows = [_row(judged, report, words) for judged in nodes]
    return [printable(line) for line in [_title(report, len(nodes)), *_table(COLUMNS, rows), *_conclusion(report)]]


def every_lines(report: reports.Report, nodes: Sequence[reports.Told]) -> list[str]:
    """Return the model in one line, a row for each of some nodes, listed or not, and what all come to."""
    words: dict[int, str] = {}
    listed = {judged.node.path: judged for judged in report.nodes}
    rows = [_told_row(told, listed.get(told.node.path), report, words) for told in nodes]
    lines = [_title(report, len(nodes)), *_table((*COLUMNS, *COUNTED), rows), *_totals(report), *_conclusion(report)]
    return [printable(line) for line in lines]


def _table(columns: Row, rows: Sequence[Row]) -> list[str]:
    """Return rows below their titles; none if there are no rows."""
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    line = "  ".join([f"{{:>{widths[0]}}}", *[f"{{:<{width}}}" for width in widths[1:]]])
    return [f"  {line.format(*row)}".rstrip() for row in (columns, *rows)] if rows else []


def _row(judged: reports.Judged, report: reports.Report, words: dict[int, str]) -> Row:
    """Return the cells of a listed node."""
    asked = _words(judged.target, words) if judged.target is not None or judged.target_from != "none" else ""
    shapes = _words(judged.input, words), asked, _words(judged.output, words)
    return (*_node_cells(judged.node), *shapes, reports.verdict_words(judged, report))


def _told_row(told: reports.Told, judged: reports.Judged | None, report: reports.Report, words: dict[int, str]) -> Row:
    """Return the cells of a node, listed or not, with the names of results."""
    cells = _row(judged, report, words) if judged else (*_node_cells(told.node), "", "", "", "")
    outputs = [judged.output] if judged and reports.offends(judged) else [each.shape for each in told.outputs]
    input = _words(told.input, words) if told.node.inputs else ""
    output = " ".join([_words(each, words) for each in outputs])
    counts = [each.elements for each in told.outputs], [each.bytes for each in told.outputs]
    sums = [reports.UNKNOWN if None in column else str(sum(filter(None, column))) for column in counts]
    return (*cells[:3], input, cells[4], output, cells[6], *sums)


def _words(shape: NamedShape | None, words: dict[int, str]) -> str:
    """Return the text of a shape; `words` keeps the texts, most of which stand in two rows."""
    if id(shape) not in words:
        words[id(shape)] = brief(reports.shape_words(shape), LONGEST_CELL)
    return words[id(shape)]


def _node_cells(node: Node) -> Row:
    return brief(visible(node.path), LONGEST_CELL), brief(visible(node.name), LONGEST_CELL), brief(node.op)


def _totals(report: reports.Report) -> Iterator[str]:
    """Yield what stands for sums and floors, how much is not known, and the largest tensors."""
    every = report.every
    assert every is not None
    for name, definition in every.results.items():
        yield f"{name} is {brief(definition, LONGEST_TEXT)}"
    dims = number_text(every.unknown, "size is", "sizes are")
    tensors = number_text(every.shapeless, "tensor has", "tensors have")
    yield f"{dims} not known (?), {tensors} no known rank."
    at = ", ".join(f"{name} = {size}" for name, size in every.counted_at.items())
    yield f"The largest{f' at {at}' if at else ''}:"
    for node, tensor in every.largest:
        shape = brief(reports.shape_words(tensor.shape), LONGEST_CELL)
        yield f"  {number_text(tensor.bytes or 0, 'byte', 'bytes')}  {shape}  {tensor.type}  {reports.name_of(node)}"


def _title(report: reports.Report, shown: int) -> str:
    """Return what the model is, and with which shapes and sizes it was judged."""
    opset = ", ".join(f"{domain} {number}".removeprefix("ai.onnx ") for domain, number in report.opset.items())
    inputs = "  ".join(f"{each.name} ({_taken(each.taken)})" for each in report.inputs)
    declared = f"declared {report.batch} = {report.declared_batch}, " if report.declared_batch is not None else ""
    judged = f"{declared}judged at {report.batch} = {', '.join(map(str, report.sizes))}" if report.batch else "no batch"
    assumed = ", ".join(f"{name} = {size}" for name, size in report.assumed.items())
    held = f"opset {opset}, {number_text(report.node_count, 'node', 'nodes')}, {shown} shown"
    names = ", ".join(f"{name} is {written}" for name, written in report.names.items())
    parts = [f"{report.model}  {held}", inputs, judged, f"taken: {assumed}" if assumed else "", names]
    return "   ".join(part for part in parts if part)


def _taken(dims: Iterable[object] | None) -> str:
    return "no shape" if dims is None else ",".join("?" if dim is None else str(dim) for dim in dims) or "[]"


def _conclusion(report: reports.Report) -> Iterator[str]:
    """Yield what the nodes come to, and what to do next."""
    offenders = reports.worst_first(report.nodes)
    unknown = sum(judged.verdict is Verdict.UNKNOWN for judged in report.nodes)
    counted = _counted(report, offenders)
    none = f"breaks at another {report.batch}" if report.batch else "breaks"
    told = f"{', '.join(counted)}." if counted else f"No listed node {none}."
    told += f" {unknown} cannot be judged." if unknown else ""
    first = _first_failure(report)
    if first and len(offenders) + len(report.stops) > 1:
        told += f" The runtime would have named {first} alone."
    yield told
    yield from reports.stop_lines(report, report.stops[:MOST_STOPS])
    declared = report.declared_batch
    said = f"The file declares {report.batch} = {declared}, and --fix frees it." if declared is not None else ""
    said = "What is below an offender is judged as if that one were mended." if offenders else said
    if said:
        asked = [str(size) for size in report.sizes if size not in (*SizeOptions().sizes, report.declared_batch)]
        yield f"{said}   Next: {join(['shapecalc', 'model', report.model, *asked[-1:], '--fix', '-o', 'fixed.onnx'])}"


def _counted(report: reports.Report, offenders: Sequence[reports.Judged]) -> list[str]:
    """Return how many nodes offend in each way."""
    size = reports.only_size(report)
    elsewhere = f"at {report.batch} {f'> {size}' if size == min(report.sizes) else f'other than {size}'}"
    said = {
        Verdict.FAILS: ("fails", "fail", f"at {report.batch} = {size} already" if report.batch else "at every size"),
        Verdict.ONLY: ("fails", "fail", elsewhere),
        Verdict.SCRAMBLES: ("mixes", "mix", "the samples without an error"),
        Verdict.SWALLOWS: ("puts", "put", "the batch elsewhere without an error"),
    }
    counts = {verdict: sum(judged.verdict is verdict for judged in offenders) for verdict in said}
    lines = [
        f"{number_text(count, *said[verdict][:2])} {said[verdict][2]}" for verdict, count in counts.items() if count
    ]
    silent = sum(stop.silent for stop in report.stops)
    count = len(report.stops) - silent
    stopping = number_text(count, "node that is not listed stops", "nodes that are not listed stop")
    silently = number_text(silent, "node that is not listed goes", "nodes that are not listed go")
    return [*lines, *([stopping] if count else []), *([f"{silently} wrong without an error"] if silent else [])]


def _first_failure(report: reports.Report) -> str:
    """Return the node that a runtime names: the first offender, if it fails. One that does not may make others fail."""
    first = next((judged for judged in report.nodes if reports.offends(judged)), None)
    places = [_place(stop.node.path) for stop in report.stops if not stop.silent]
    if first is None or first.verdict not in FAILING or min([_place(first.node.path), *places]) in places:
        return ""
    return reports.name_of(first.node)


def _place(path: str) -> tuple[int, ...]:
    """Return the places of a node and of those that hold it."""
    return tuple([int(part) for part in path.split("/") if part.isdecimal()])


def node_lines(report: reports.Report, judged: reports.Judged) -> list[str]:
    """Return everything that is told of one node."""
    node, (read, _) = judged.node, judged.tensors
    head = f"{reports.name_of(node)}  {node.op}{'' if judged.version is None else f' {judged.version}'}"
    rows = [*_shape_rows(judged), *_batch_rows(report, judged), *_fix_rows(judged)]
    lines = [f"{head}   in  {read[0] if read else ''}   ({brief(reports.shape_words(judged.input), LONGEST_TEXT)})"]
    lines += [*_labelled(rows), *_labelled(_try_rows(report, judged))]
    return [printable(line) for line in lines]


def _labelled(rows: Iterable[Row]) -> list[str]:
    """Return rows as lines, with what is said of their texts in one column; a minus stands before the column."""
    signed = [(label, brief(" " * (text[:1] != "-") + text, LONGEST_TEXT), said) for label, text, said in rows]
    width = max((len(text) for _, text, said in signed if said), default=0)
    return [
        f"  {label.ljust(6)} {text.ljust(width) if said else text}  {said}".rstrip() for label, text, said in signed
    ]


def _shape_rows(judged: reports.Judged) -> Iterator[Row]:
    """Yield the rows of what is asked for, and of what comes out."""
    read = judged.tensors[0]
    if judged.target_from != "none":
        origin = FROM[judged.target_from].format(read[1] if len(read) > 1 else "shapes").strip()
        yield "target", reports.shape_words(judged.target), origin
    yield "output", reports.shape_words(judged.output), ""
    if judged.value is not None:
        yield "value", reports.shape_words(judged.value), ""
    for condition in judged.conditions:
        yield "when", condition, ""


def _batch_rows(report: reports.Report, judged: reports.Judged) -> Iterator[Row]:
    """Yield the rows of the verdict, of what stands above, and of an empty batch."""
    words = reports.verdict_words(judged, report)
    yield "batch", f"{words}: {judged.why}" if judged.why else words, ""
    if judged.blocked_by is not None:
        yield "", f"as it is once #{judged.blocked_by} is mended", ""
    if judged.empty == "refused":
        yield "", f"{report.batch} = 0 is refused", ""


def _fix_rows(judged: reports.Judged) -> Iterator[Row]:
    """Yield a row for each way to mend it."""
    for number, fix in enumerate(judged.fixes):
        said = "; ".join(filter(None, (fix.how, reports.assumed_words(fix))))
        yield "   or" if number else "fix", reports.fix_words(fix), said


def _try_rows(report: reports.Report, judged: reports.Judged) -> Iterator[Row]:
    """Yield the command lines that show a node's steps and its picture, if core can be asked."""
    request = reports.request_of(judged, report)
    if request is None:
        return
    words = [text for _, text in command_pieces(request.op, texts_of(replace(request, written={})))]
    named = judged.node.name and [each.node.name for each in report.nodes].count(judged.node.name) == 1
    name = judged.node.name if named else f"#{judged.node.path}"
    if sum(map(len, words)) < LONGEST_TEXT:
        yield "try", join(["shapecalc", *words, "--explain"]), "the steps"
        yield "", join(["shapecalc", "tui", "--model", report.model, "--node", name]), "the picture"


def fixed_lines(report: reports.Report, fixed: reports.Fixed) -> list[str]:
    """Return what was mended, inputs among it, what was left, nodes that still stop too, and what was proved."""
    pairs = [(f"input {each.name}", _taken(each.declared), _taken(each.taken)) for each in fixed.freed]
    pairs += [
        (reports.name_of(judged.node), reports.shape_words(judged.target), reports.fix_words(fix))
        for judged, fix in fixed.mended
    ]
    widths = [max((len(visible(pair[at])) for pair in pairs), default=0) for at in (0, 1)]
    lines = [f"mended  {visible(a).ljust(widths[0])}  {b.ljust(widths[1])} to {c}" for a, b, c in pairs]
    lines += [f"left    {reports.name_of(judged.node)}  {judged.verdict.value}: {judged.why}" for judged in fixed.left]
    lines += [f"left    {line}" for line in reports.stop_lines(report, fixed.stops)]
    lines += [f"stays   {_staying(each, report)}" for each in fixed.stays]
    if fixed.why == UNCHANGED:
        return [*map(printable, lines), printable(f"{UNCHANGED}. Wrote {fixed.path}, unchanged")]
    proof = {True: "proved (onnxruntime)", False: "the proof failed, and nothing was written", None: "not proved"}[
        fixed.proved
    ]
    wrote = f" Wrote {fixed.path}" if fixed.path is not None else ""
    return [printable(line) for line in [*lines, f"{proof}{f': {fixed.why}' if fixed.why else ''}.{wrote}"]]


def _staying(each: reports.Input, report: reports.Report) -> str:
    """Return what an input that keeps its number is, and how it is freed."""
    axis = report.axis_to_free(each)
    freed = ",".join([report.batch if at == axis else str(dim) for at, dim in enumerate(each.taken or ())])
    return f"input {each.name}  {_taken(each.declared)}; {join(['--set', f'{each.name}={freed}'])} frees it"


def lint_lines(
    report: reports.Report, nodes: Iterable[reports.Judged], stops: Iterable[Stop], *, strict: bool, github: bool
) -> list[str]:
    """Return a line for each offender, worst first, then for each node that stops and is not listed."""
    lines = [
        f"{reports.name_of(judged.node)}: {_offence(judged, report)}"
        for judged in reports.worst_first(nodes, strict=strict)
    ]
    lines += reports.stop_lines(report, stops)
    if github:
        return [annotation(report.model, line) for line in lines]
    return [printable(f"{report.model}: {line}") for line in lines]


def _offence(judged: reports.Judged, report: reports.Report) -> str:
    """Return what a node does, and what to write in place of its target."""
    way = f"{_brief_shape(judged.input)} to {_brief_shape(judged.output)}"
    match judged.verdict:
        case Verdict.SWALLOWS | Verdict.SCRAMBLES:
            said = f"{judged.verdict.value} the batch: {way}"
        case Verdict.ONLY if judged.target is not None and judged.target_from in WRITTEN:
            said = f"only {report.batch} = {reports.only_size(report)}: {_brief_shape(judged.target)} is constant"
        case Verdict.ONLY:
            said = f"only {report.batch} = {reports.only_size(report)}: {judged.why}"
        case _:
            said = f"{judged.verdict.value}: {judged.why}"
    for fix in judged.fixes[:1]:
        inserted = f"--fix inserts {', '.join(fix.inserts)}"
        said += f"; {inserted if fix.target is None else f'write {_brief_shape(fix.target)}'}"
        said += f", if {fix.assumes}" if fix.assumes.startswith(NO_TURN) else ""
    return said


def _brief_shape(shape: NamedShape | None) -> str:
    return brief(reports.shape_words(shape), LONGEST_REPEATED)


class Layers(Record):
    """A run of nodes, and the code of its layers."""

    nodes: tuple[reports.Judged, ...]
    code: str
    """Empty if there is none."""
    notes: tuple[str, ...]
    """What limits the code, or why there is none."""

    def as_json(self) -> dict[str, object]:
        """Return the JSON object of the run."""
        nodes = [judged.node.path for judged in self.nodes]
        return {"nodes": nodes, "code": self.code or None, "notes": [*self.notes]}

    def lines(self) -> list[str]:
        """Return the run as lines to read."""
        names = " ".join(reports.name_of(judged.node) for judged in self.nodes)
        count = f"{number_text(self.code.count('add_shuffle'), 'Shuffle', 'Shuffles')}" if self.code else "no layers"
        lines = [f"{names}: {count}", *[f"  {line}" for line in self.code.splitlines()]]
        return [printable(line) for line in [*lines, *[f"  {note}" for note in self.notes]]]


def layers_of(run: Sequence[reports.Judged], report: reports.Report, dialect: str) -> Layers:
    """Return the layers of a run, with its offenders mended by their best fixes."""
    nodes = tuple(run)
    if len(nodes) > LONGEST_RUN:
        return Layers(nodes[:LONGEST_RUN], "", (f"{len(nodes)} nodes in a row are more than {LONGEST_RUN}",))
    requests = [_request(judged, report) for judged in run]
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
    """Return the request of a node as it stands, or of an offender with its best fix; None if it is not known."""
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
    """Return the object of a model, with those of its nodes that are to be shown, and of the others."""
    every = report.every and _every_object(report, report.every, others)
    return {
        **_plain_fields(report, "model", "opset", "batch", "declared_batch", "sizes", "assumed", "names", "inputs"),
        "batch": report.batch or None,
        "nodes": [node_object(judged) for judged in nodes],
        "stops": [
            {**_plain_fields(stop.node, "path", "op"), **_plain_fields(stop, "why", "cause", "silent")}
            for stop in report.stops
        ],
        "summary": summary_of(report),
        "fixed": report.fixed and _fixed_object(report.fixed),
        **(every or {}),
    }


def _every_object(report: reports.Report, every: reports.Every, nodes: Iterable[reports.Told]) -> Plain:
    """Return what is told of nodes that are not listed, and of all."""
    listed = {judged.node.path for judged in report.nodes}
    others = [
        {**_plain_fields(told.node, "path", "name", "op"), "input": _plain(told.input), "outputs": _plain(told.outputs)}
        for told in nodes
        if told.node.path not in listed
    ]
    counts = _plain_fields(every, "results", "counted_at", "unknown", "shapeless")
    return {"others": others, **counts, "largest": [{"path": node.path} | _plain(each) for node, each in every.largest]}


def node_object(judged: reports.Judged) -> Plain:
    """Return the object of one node."""
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
    """Return how many nodes have each verdict, and how many others stop."""
    counts = Counter(judged.verdict.value for judged in report.nodes)
    return {**counts} | ({"stops": len(report.stops)} if report.stops else {})


def _fix_object(fix: Fix) -> Plain:
    """Return the object of a fix; of one that inserts operators, with these."""
    return _plain_fields(fix, "target", "allowzero", "assumes", *(["inserts"] if fix.inserts else []))


def _fixed_object(fixed: reports.Fixed) -> Plain:
    return {
        "path": fixed.path,
        "mended": [
            {**_plain_fields(judged.node, "path"), "from": _plain(judged.target)} | _fix_object(fix)
            for judged, fix in fixed.mended
        ],
        "freed": _plain(fixed.freed),
        "stays": _plain(fixed.stays),
        "left": [judged.node.path for judged in fixed.left],
        **_plain_fields(fixed, "proved", "why"),
    }


def _plain_fields(value: object, *names: str) -> Plain:
    return {name: _plain(getattr(value, name)) for name in names}


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: names and sums as texts, None where nobody knows."""
    match value:
        case Monomial() | Sum():
            return str(value)
        case Verdict():
            return value.value
        case reports.Input() | reports.Tensor():
            return {name: _plain(each) for name, each in fields(value).items()}
        case Mapping():
            return {str(name): _plain(each) for name, each in value.items()}
        case tuple():
            return [_plain(each) for each in value]
    return value


def named_nodes(messages: Sequence[Reading], file: str) -> tuple[list[str], list[Plain | None]]:
    """Return the nodes that messages name, each once and after an empty line, and the object of each message's node.

    A message without a name is about the node that has its shapes, if there is one alone. There is no object where no
    node is listed. Raises `ShapeError` (file) if the model cannot be used.
    """
    report = report_of(file, SizeOptions(), [read.node for read in messages if read.node is not None])
    lines: dict[str, None] = {}
    objects: list[Plain | None] = []
    for read in messages:
        said, judged = _node_of_message(report, read)
        shown = node_lines(report, judged) if judged else []
        lines["\n".join(["", *([printable(f"{report.model}: {said}")] if said else []), *shown])] = None
        objects.append(None if judged is None else node_object(judged))
    return [*lines], objects


def _node_of_message(report: reports.Report, read: Reading) -> tuple[str, reports.Judged | None]:
    """Return what is to be said of the node of a message, and the node to show."""
    if read.node is None:
        alike = [judged for judged in report.nodes if _fits(judged, read)]
        if len(alike) != 1:
            return "the message names no node", None
        return f"the message names no node, and {reports.name_of(alike[0].node)} alone has its shapes", alike[0]
    try:
        return "", reports.found_node(report, read.node)
    except ShapeError as error:
        path = report.above.get(read.node)
        return error.problem.message, next((each for each in report.nodes if each.node.path == path), None)


def _fits(judged: reports.Judged, read: Reading) -> bool:
    """Say whether a node has the shapes of a message, in which zeros may be replaced by what they copy."""
    input, target = judged.input, judged.target
    if LISTED[judged.node.op].op != read.op or not read.target or not read.input or input is None or target is None:
        return False
    if len(input) != len(read.input) or len(target) != len(read.target):
        return False
    copied = [size if size != 0 or at >= len(read.input) else read.input[at] for at, size in enumerate(target)]
    same_input = [dim == size for dim, size in zip(input, read.input, strict=True) if isinstance(dim, int)]
    return all(same_input) and copied == [*read.target]

"""The report on a model, as the user interfaces display it.

A *free dim* is an input dim without a fixed size. A node is *listed* in the report if the package `core` can resolve
its operator. The *walk* computes the shapes of all tensors at several sizes of the free dims.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shapecalc.core.answers import EMPTY_DICT, Request
from shapecalc.core.dims import substitute
from shapecalc.core.problem import ShapeError, usage_error
from shapecalc.core.record import Record
from shapecalc.core.requests import make_request
from shapecalc.core.text import escape_unprintable, suggest_name, truncate
from shapecalc.models.file import Node
from shapecalc.models.free_dims import DimSum, SymbolicDim, SymbolicShape
from shapecalc.models.operators import LISTED_OPERATORS, CoreOp
from shapecalc.models.propagate import NodeVerdict, NonCoreFailure
from shapecalc.models.prove import ProofCheck
from shapecalc.models.size_limits import SizeCondition, SizeLimits
from shapecalc.models.verdicts import FAILING_VERDICTS, BatchVerdict, NodeFix

UNKNOWN_TEXT = "?"
"""The text for an unknown dim or shape."""
MAX_COMPARED_NAMES = 1000
"""The maximum number of node names to search for a name similar to an unknown name."""
MAX_LISTED_PATHS = 8
"""The maximum number of paths in the error message for several nodes with the same name."""


class ModelInput(Record):
    """A model input, with the declared shape and the shape that the walk used."""

    name: str
    declared: tuple[int | str | None, ...] | None
    """The declared shape, or None if the file declares none."""
    taken: tuple[int | str | None, ...] | None
    """The shape that the walk used, with a name for each free dim, or None if the rank is unknown."""


class FixedBatchInput(ModelInput):
    """A model input with a fixed dim that may be the batch dim."""

    axis: int
    """The axis of the fixed dim."""
    why: str
    """The failure that occurs if the dim is freed."""


class JudgedNode(NodeVerdict):
    """A node with a core op, and its verdict."""

    node: Node
    version: int | None
    """The operator version, or None if unknown."""
    tensors: tuple[tuple[str, ...], tuple[str, ...]]
    """The tensor names of the inputs, and the tensor names of the outputs."""
    input: SymbolicShape | None
    """The symbolic shape of the data input, or None if its rank is unknown."""
    target: SymbolicShape | None
    """The target argument of the node (a shape, a permutation or axes), or None if unknown or absent."""
    target_from: str
    """The source of `target`: `initializer`, `Constant`, `computed`, `folded`, `attribute`, `external` or `none`."""
    output: SymbolicShape | None
    """The symbolic output shape without a fix, or None if unknown."""
    value: SymbolicShape | None
    """The output elements of a Shape node, or None for other operators."""
    conditions: tuple[str, ...]
    """The conditions on the sizes of named dims under which the node runs, such as `4*H*W % 64 == 0`."""


class FixResult(Record):
    """The result of writing a fixed model."""

    mended: tuple[tuple[JudgedNode | NonCoreFailure, NodeFix], ...]
    """The fixed nodes and their fixes; nodes with core ops are first."""
    left: tuple[JudgedNode, ...]
    """The failing nodes without a fix."""
    proved: bool | None
    """Whether the proof passed, or None without a proof.

    If the proof failed, no file was written.
    """
    why: str
    """A description of the proof, or the reason why there is no proof."""
    path: str | None
    """The path of the output file, or None if no file was written."""
    freed: tuple[ModelInput, ...] = ()
    """The inputs whose declared shape was changed."""
    stops: tuple[NonCoreFailure, ...] = ()
    """The nodes without core ops that fail in the output file; empty if the proof passed."""
    proofs: tuple[ProofCheck, ...] = ()
    """The comparisons of the proof, in order."""
    changed: bool = True
    """Whether the output model differs from the input model."""


class NodeOutput(Record):
    """A node output with its symbolic shape."""

    name: str
    type: str | None
    shape: SymbolicShape | None
    """The symbolic shape, which may use the names in `AllNodes.results`, or None if the rank is unknown."""
    elements: int | None
    """The number of elements at the sizes in `AllNodes.counted_at`, or None if unknown."""
    bytes: int | None


class NodeSummary(Record):
    """The shapes of a node, as the option `--all` reports them."""

    node: Node
    input: SymbolicShape | None
    """The symbolic shape of the first input, or None if the rank is unknown."""
    outputs: tuple[NodeOutput, ...]


class AllNodes(Record):
    """The shapes of all nodes of a model after all failing nodes are fixed."""

    nodes: tuple[NodeSummary, ...]
    """The nodes in file order; the nodes in a subgraph follow the node that contains the subgraph."""
    results: Mapping[str, str]
    """The expression (a sum or a floor division) of each introduced name."""
    counted_at: Mapping[str, int]
    """The sizes of the free dims, by name, at which elements and bytes are counted."""
    unknown: int
    """The number of unknown dims."""
    shapeless: int
    """The number of tensors of unknown rank."""
    largest: tuple[tuple[Node, NodeOutput], ...]


class Report(Record):
    """The report on a model."""

    model: str
    """The path of the model as the user wrote it."""
    opset: Mapping[str, int]
    node_count: int
    """The number of all nodes in the model's graph."""
    batch: str
    declared_batch: int | None
    """The declared batch size, or None if the batch dim is already free.

    In symbolic shapes, the declared batch size is replaced by a name.
    """
    sizes: tuple[int, ...]
    """The checked batch sizes."""
    assumed: Mapping[str, int]
    """The assumed size of each other free dim, by name."""
    names: Mapping[str, str]
    """The meaning of each replaced dim name, such as `d0`.

    It is an expression in the file (`past_len + 1`), or the name of an equal dim (`past`).
    """
    inputs: tuple[ModelInput, ...]
    nodes: tuple[JudgedNode, ...]
    """The nodes with core ops in file order."""
    stops: tuple[NonCoreFailure, ...]
    reference_batch: int = 1
    """The declared batch size, or, for a free batch dim, 1 or a size at which the model runs."""
    stays: tuple[FixedBatchInput, ...] = ()
    """The inputs with a fixed dim that may be the batch dim."""
    fix_result: FixResult | None = None
    """The result of `--fix`, or None without this option."""
    all_nodes: AllNodes | None = None
    """The description of all nodes, or None without the option `--all`."""
    limits: SizeLimits = SizeLimits()
    """The conditions on the free dims under which the model runs."""
    unchecked: tuple[tuple[Node, str], ...] = ()
    """The nodes without a core op that lose the batch on the way to a model output, with the reason.

    It is empty if a node fails, or if the verdict on a node with a core op is unknown.
    """
    failing_above: Mapping[str, str] = EMPTY_DICT
    """The path of the nearest failing upstream node of each requested node without a core op.

    The key is the name or the path of the requested node.
    """


def failing_size_conditions(report: Report, *, strict: bool = False) -> list[SizeCondition]:
    """Return the conditions on sizes that count as failures.

    A condition counts if it names the batch dim, or pins another free dim to one size. If `strict` is True, a relation
    between dims counts, too. Divisibilities and lower bounds never count. A condition on the batch dim alone is omitted
    if a failing node explains it.
    """
    explained = any(is_failing(judged) for judged in report.nodes) or any(not stop.mixes for stop in report.stops)
    return [
        condition
        for condition in report.limits.conditions
        if not condition.is_loose
        and (strict or condition.pins or report.batch in condition.names)
        and not (explained and condition.names == (report.batch,))
    ]


def format_shape(shape: SymbolicShape | None) -> str:
    """Format a symbolic shape, with `?` for an unknown dim or shape.

    >>> format_shape((1, None)), format_shape(()), format_shape(None)
    ('1,?', '[]', '?')
    """
    if shape is None:
        return UNKNOWN_TEXT
    return ",".join([UNKNOWN_TEXT if dim is None else str(dim) for dim in shape]) or "[]"


def node_name(node: Node) -> str:
    """Return the name of a node, or its path (`#18`) if it has no name."""
    return node.name or f"#{node.path}"


def is_failing(judged: JudgedNode, *, strict: bool = False) -> bool:
    """Return whether a node fails at some batch size.

    If `strict` is True, a node with an unknown verdict also counts as failing.
    """
    return judged.is_failing or (strict and judged.verdict is BatchVerdict.UNKNOWN)


def counts_as_failure(stop: NonCoreFailure, report: Report, *, strict: bool = False) -> bool:
    """Return whether the failure of a node without a core op is reported as an error.

    If the batch dim is free, a node that mixes the samples, such as a loss, is an error only if `strict` is True.
    """
    return not stop.mixes or strict or report.declared_batch is not None


def list_failing_nodes(nodes: Iterable[JudgedNode], *, strict: bool = False) -> list[JudgedNode]:
    """Return the failing nodes, the worst verdict first.

    Nodes with the same verdict are in file order. `strict` is passed to `is_failing`.
    """
    order = [*FAILING_VERDICTS, BatchVerdict.SOMETIMES, BatchVerdict.UNKNOWN]
    failing = [judged for judged in nodes if is_failing(judged, strict=strict)]
    return sorted(failing, key=lambda judged: order.index(judged.verdict))


def format_verdict(judged: JudgedNode, report: Report) -> str:
    """Format a verdict.

    The verdict `only` is followed by the batch size at which the node runs.
    """
    if judged.verdict is BatchVerdict.ONLY:
        return f"only {report.batch}={report.reference_batch}"
    return str(judged.verdict.value)


def format_fix(fix: NodeFix) -> str:
    """Format a fix: its new target, or the nodes that it inserts."""
    if fix.resize is not None:
        axes, sizes = map(format_shape, fix.resize)
        return f"{sizes} on axes {axes}"
    if fix.equal_parts:
        return fix.effect
    if fix.repeats or fix.offsets is not None:
        return f"{fix.effect} (inserts {', '.join(fix.inserts)})"
    return format_shape(fix.target) if fix.target is not None else f"insert {', '.join(fix.inserts)}"


def format_assumption(fix: NodeFix) -> str:
    """Format the assumption of a fix.

    Returns an empty string for a fix without an assumption.

    >>> format_assumption(NodeFix((0, -1), None, "the batch stays first"))
    'assumes that the batch stays first'
    >>> format_assumption(NodeFix((-1, 12), None, "3*4 stays 12"))
    'assumes 3*4 stays 12'
    """
    if not fix.assumes:
        return ""
    return f"assumes {'that ' if fix.assumes.startswith(('the ', 'no ')) else ''}{fix.assumes}"


def format_failures(report: Report, stops: Iterable[NonCoreFailure]) -> list[str]:
    """Format failing nodes without core ops, one line per node, with the cause."""
    stops = list(stops)
    names = {judged.node.path: node_name(judged.node) for judged in report.nodes} if stops else {}
    causes = ["" if stop.cause is None else f", because of {names.get(stop.cause, f'#{stop.cause}')}" for stop in stops]
    return [
        f"{node_name_with_source(stop.node)}: {stop.node.op} {'' if stop.silent else 'fails: '}{stop.why}{cause}"
        for stop, cause in zip(stops, causes, strict=True)
    ]


def format_unchecked_nodes(report: Report) -> list[str]:
    """Format the nodes that lose the batch, one line per node."""
    return [f"{node_name_with_source(node)}: {node.op} cannot be checked: {why}" for node, why in report.unchecked]


def node_name_with_source(node: Node) -> str:
    """Return the name of a node, with its Python file and line if they are known."""
    return f"{node_name(node)} ({node.source.short})" if node.source else node_name(node)


def find_node(report: Report, name_or_path: str) -> JudgedNode:
    """Return the node with a core op that has the name or path `name_or_path`.

    A path is written as `18`, `7/body/3` or `#18`. A matching name has priority over a matching path. Raises
    `ShapeError` (usage) if no node or several nodes match.
    """
    named = [judged for judged in report.nodes if name_or_path and judged.node.name == name_or_path]
    matches = named or [judged for judged in report.nodes if judged.node.path == name_or_path.removeprefix("#")]
    shown = escape_unprintable(truncate(name_or_path))
    failures = [stop for stop in report.stops if name_or_path.removeprefix("#") in (stop.node.path, stop.node.name)]
    if not matches and failures:
        raise usage_error(
            escape_unprintable(f"{format_failures(report, failures)[0]}; such nodes are not listed"), argument="node"
        )
    if not matches and name_or_path in report.failing_above:
        failing = next(judged for judged in report.nodes if judged.node.path == report.failing_above[name_or_path])
        failing_name = escape_unprintable(node_name(failing.node))
        message = f"'{shown}' is not among the listed nodes; next above it {failing_name} offends"
        raise usage_error(message, argument="node")
    if not matches:
        names = dict.fromkeys(judged.node.name for judged in report.nodes[:MAX_COMPARED_NAMES] if judged.node.name)
        hint = suggest_name(name_or_path, [*names])
        raise usage_error(
            f"no listed node is called '{shown}' or has that path", escape_unprintable(hint), argument="node"
        )
    if len(matches) > 1:
        paths = " ".join(f"'#{judged.node.path}'" for judged in matches[:MAX_LISTED_PATHS])
        more = f" and {len(matches) - MAX_LISTED_PATHS} more" if len(matches) > MAX_LISTED_PATHS else ""
        hint = escape_unprintable(f"write one of {paths}{more}")
        raise usage_error(f"{len(matches)} nodes are called '{shown}'", hint, argument="node")
    return matches[0]


def build_request(judged: JudgedNode, report: Report, target: tuple[int, ...] | None = None) -> Request | None:
    """Build the `Request` of a node with a core op.

    `target` replaces the target of the node. Requests do not support sums of dims. If a shape contains a sum, its named
    dims are replaced by their assumed sizes, and the batch dim by the largest checked batch size. Returns None if the
    input shape or a required target is unknown.
    """
    call = LISTED_OPERATORS[judged.node.op]
    input, wanted = judged.input, judged.target if target is None else target
    if any(isinstance(dim, DimSum) for shape in (input, wanted) for dim in shape or ()):
        sizes = {**report.assumed, report.batch: max(report.sizes)}
        input, wanted = (shape and tuple([_evaluate_dim(dim, sizes) for dim in shape]) for shape in (input, wanted))
    options = _core_options(judged.node, call)
    if call.target is not None and wanted is not None:
        options[call.target.name] = format_shape(wanted)
    if input is None or (wanted is None and call.target is not None and call.target.is_required):
        return None
    try:
        return make_request(call.op, format_shape(input), {"dialect": "onnx", **options})
    except ShapeError:
        return None


def _core_options(node: Node, core_op: CoreOp) -> dict[str, object]:
    """Convert the attributes of a node, except its target, to options of its core op."""
    names = {argument.attribute: argument.name for argument in core_op.arguments if argument is not core_op.target}
    names |= {core_op.switch: core_op.switch}
    values = {name: node.attributes[attribute] for attribute, name in names.items() if attribute in node.attributes}
    return {
        name: value.decode(errors="replace") if isinstance(value, bytes) else value for name, value in values.items()
    }


def _evaluate_dim(dim: SymbolicDim, sizes: Mapping[str, int]) -> SymbolicDim:
    """Replace the names in a dim by their sizes.

    A name without a size stays in a product, and makes a sum unknown (None).
    """
    if isinstance(dim, DimSum):
        terms = [substitute(term, sizes) for term in dim.terms]
        return sum(term for term in terms if isinstance(term, int)) if all(isinstance(t, int) for t in terms) else None
    return None if dim is None else substitute(dim, sizes)

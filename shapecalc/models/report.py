"""What is told of a model: the values behind the screens and the JSON of `shapecalc model`, and their words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shapecalc.core.answers import NONE, Request
from shapecalc.core.ask import ask
from shapecalc.core.dims import substitute
from shapecalc.core.problem import ShapeError, misuse
from shapecalc.core.record import Record
from shapecalc.core.text import brief, suggestion, visible
from shapecalc.models.file import Node
from shapecalc.models.free_dims import NamedDim, NamedShape, Sum
from shapecalc.models.operators import LISTED, CoreCall
from shapecalc.models.propagate import NodeVerdict, Stop
from shapecalc.models.verdicts import OFFENCES, Fix, Verdict

UNKNOWN = "?"
MOST_COMPARED = 1000
"""How many names are compared with one that no node has."""
MOST_PATHS = 8
"""Of how many nodes of one name the paths are listed."""


class Input(Record):
    """An input, as declared and as taken."""

    name: str
    declared: tuple[int | str | None, ...] | None
    """None if the file declares no shape."""
    taken: tuple[int | str | None, ...] | None
    """The shape that it was walked with, names where sizes vary; None if nobody knows one."""


class Judged(NodeVerdict):
    """A listed node and its verdict."""

    node: Node
    version: int | None
    """The operator's version; None if it is not known."""
    tensors: tuple[tuple[str, ...], tuple[str, ...]]
    """The names of its inputs, and of its outputs."""
    input: NamedShape | None
    """The shape of its data input; None if nobody knows its rank."""
    target: NamedShape | None
    """What is asked for: a target, a permutation, axes; None if there is none or nobody knows it."""
    target_from: str
    """`initializer`, `Constant`, `computed`, `folded`, `attribute`, `external`, `none`."""
    output: NamedShape | None
    """The shape of its output as the node stands, before it is mended; None if it is not known."""
    value: NamedShape | None
    """What a Shape returns; None for other ops."""
    conditions: tuple[str, ...]
    """What the names must satisfy, as JSON has conditions: `4*H*W % 64 == 0`."""


class Fixed(Record):
    """What `--fix` did."""

    mended: tuple[tuple[Judged, Fix], ...]
    """The nodes that were mended, with the fix taken."""
    left: tuple[Judged, ...]
    """The offenders that no fix mends."""
    proved: bool | None
    """True if proved, False if the proof failed (nothing is written then), None if it was not proved."""
    why: str
    """What was proved, or why not."""
    path: str | None
    """The file written; None if nothing was."""
    freed: tuple[Input, ...] = ()
    """The inputs that declare in the file what they were taken as."""
    stays: tuple[Input, ...] = ()
    """The inputs that keep a number that may be the batch."""
    stops: tuple[Stop, ...] = ()
    """The nodes that are not listed and stop in what was written; a proof shows that there are none."""


class Tensor(Record):
    """What a node makes."""

    name: str
    type: str | None
    shape: NamedShape | None
    """With names of results; None if nobody knows its rank."""
    elements: int | None
    """How many it has at the sizes of `Every.counted_at`."""
    bytes: int | None


class Told(Record):
    """A node as `--all` prints it."""

    node: Node
    input: NamedShape | None
    """The shape of its first input."""
    outputs: tuple[Tensor, ...]


class Every(Record):
    """All nodes of a model, with everything above them mended."""

    nodes: tuple[Told, ...]
    """In file order; those in bodies after the node that holds them."""
    results: Mapping[str, str]
    """What the names of sums and floors stand for."""
    counted_at: Mapping[str, int]
    """At which sizes elements and bytes are counted."""
    unknown: int
    """How many dims are not told."""
    shapeless: int
    """Of how many tensors nobody knows the rank."""
    largest: tuple[tuple[Node, Tensor], ...]


class Report(Record):
    """Everything that is told of a model."""

    model: str
    """The path as it was given."""
    opset: Mapping[str, int]
    node_count: int
    """How many nodes the model's graph has, listed or not."""
    batch: str
    declared_batch: int | None
    """The static batch that was judged as if freed; None if the batch is free, or named by `--set`."""
    sizes: tuple[int, ...]
    """The sizes judged."""
    assumed: Mapping[str, int]
    """The sizes taken for other free dims that nobody gave, by name."""
    names: Mapping[str, str]
    """By the name that stands in texts (`d0`), what the file writes (`past_len + 1`) or it was taken as (`past`)."""
    inputs: tuple[Input, ...]
    nodes: tuple[Judged, ...]
    """The listed nodes in file order."""
    stops: tuple[Stop, ...]
    fixed: Fixed | None = None
    """None unless a fix was asked for."""
    every: Every | None = None
    """None unless all nodes were asked for."""
    above: Mapping[str, str] = NONE
    """By the name of a node that was asked for and is not listed, the path of the offender next above it."""

    def axis_to_free(self, input: Input) -> int | None:
        """Return the axis of an input that stays that may be the batch, the one that it is in others if it can be."""
        taken = next((each.taken for each in self.inputs if each.taken and self.batch in each.taken), None)
        if taken is None or input.declared is None or self.batch in (input.taken or ()):
            return None
        axes = [axis for axis, size in enumerate(input.declared) if size == (self.declared_batch or 1)]
        return min(axes, key=lambda axis: axis != taken.index(self.batch), default=None)


def shape_words(shape: NamedShape | None) -> str:
    """Return a shape as text, with `?` for what nobody knows.

    >>> shape_words((1, None)), shape_words(()), shape_words(None)
    ('1,?', '[]', '?')
    """
    if shape is None:
        return UNKNOWN
    return ",".join([UNKNOWN if dim is None else str(dim) for dim in shape]) or "[]"


def name_of(node: Node) -> str:
    """Return the name of a node, or its path as `--node` takes it."""
    return node.name or f"#{node.path}"


def offends(judged: Judged, *, strict: bool = False) -> bool:
    """Say whether a node stands in the way of another batch size; if `strict`, an unknown one does, too."""
    return judged.verdict in OFFENCES or (strict and judged.verdict is Verdict.UNKNOWN)


def worst_first(nodes: Iterable[Judged], *, strict: bool = False) -> list[Judged]:
    """Return the offenders, worst first, those that are as bad in file order."""
    order = [*OFFENCES, Verdict.UNKNOWN]
    found = [judged for judged in nodes if offends(judged, strict=strict)]
    return sorted(found, key=lambda judged: order.index(judged.verdict))


def verdict_words(judged: Judged, report: Report) -> str:
    """Return the verdict; of a node that runs at one size only, with that size."""
    if judged.verdict is Verdict.ONLY:
        return f"only {report.batch}={only_size(report)}"
    return str(judged.verdict.value)


def only_size(report: Report) -> int:
    """Return the size of the batch that the file declares; 1 where it is free."""
    return report.declared_batch or 1


def fix_words(fix: Fix) -> str:
    """Return the target that mends a node, or which operators are inserted."""
    return shape_words(fix.target) if fix.target is not None else f"insert {', '.join(fix.inserts)}"


def assumed_words(fix: Fix) -> str:
    """Return what must stay so for a fix to be right; empty if nothing must.

    >>> assumed_words(Fix((0, -1), None, "the batch stays first")), assumed_words(Fix((-1, 12), None, "3*4 stays 12"))
    ('assumes that the batch stays first', 'assumes 3*4 stays 12')
    """
    if not fix.assumes:
        return ""
    return f"assumes {'that ' if fix.assumes.startswith(('the ', 'no ')) else ''}{fix.assumes}"


def stop_lines(report: Report, stops: Iterable[Stop]) -> list[str]:
    """Return what each of some nodes that are not listed stops at or does, and the listed node that it comes from."""
    stops = list(stops)
    names = {judged.node.path: name_of(judged.node) for judged in report.nodes} if stops else {}
    causes = ["" if stop.cause is None else f", because of {names.get(stop.cause, f'#{stop.cause}')}" for stop in stops]
    said = zip(stops, causes, strict=True)
    return [
        f"{name_of(stop.node)}: {stop.node.op} {'' if stop.silent else 'fails: '}{stop.why}{cause}"
        for stop, cause in said
    ]


def found_node(report: Report, text: str) -> Judged:
    """Return the listed node of a name, or of a path such as `18`, `7/body/3` and `#18`; an exact name wins.

    Raises `ShapeError` (usage) if there is none, and with their paths if there are several.
    """
    named = [judged for judged in report.nodes if text and judged.node.name == text]
    found = named or [judged for judged in report.nodes if judged.node.path == text.removeprefix("#")]
    shown = visible(brief(text))
    stopping = [stop for stop in report.stops if text.removeprefix("#") in (stop.node.path, stop.node.name)]
    if not found and stopping:
        raise misuse(visible(f"{stop_lines(report, stopping)[0]}; such nodes are not listed"), argument="node")
    if not found and text in report.above:
        offender = next(judged for judged in report.nodes if judged.node.path == report.above[text])
        message = f"'{shown}' is not among the listed nodes; next above it {visible(name_of(offender.node))} offends"
        raise misuse(message, argument="node")
    if not found:
        names = dict.fromkeys(judged.node.name for judged in report.nodes[:MOST_COMPARED] if judged.node.name)
        near = suggestion(text, [*names])
        raise misuse(f"no listed node is called '{shown}' or has that path", visible(near), argument="node")
    if len(found) > 1:
        paths = " ".join(f"'#{judged.node.path}'" for judged in found[:MOST_PATHS])
        more = f" and {len(found) - MOST_PATHS} more" if len(found) > MOST_PATHS else ""
        hint = visible(f"write one of {paths}{more}")
        raise misuse(f"{len(found)} nodes are called '{shown}'", hint, argument="node")
    return found[0]


def request_of(judged: Judged, report: Report, target: tuple[int, ...] | None = None) -> Request | None:
    """Return the request of a node, or with another target; None if its input or its target is not known.

    Sums are no dims of core's: where one stands, all names have the sizes that the model was judged at.
    """
    call = LISTED[judged.node.op]
    input, wanted = judged.input, judged.target if target is None else target
    if any(isinstance(dim, Sum) for shape in (input, wanted) for dim in shape or ()):
        sizes = {**report.assumed, report.batch: max(report.sizes)}
        input, wanted = (shape and tuple([_number(dim, sizes) for dim in shape]) for shape in (input, wanted))
    options = _options(judged.node, call)
    if call.target is not None and wanted is not None:
        options[call.target.name] = shape_words(wanted)
    if input is None or (wanted is None and call.target is not None and call.target.needed):
        return None
    try:
        return ask(call.op, shape_words(input), {"dialect": "onnx", **options})
    except ShapeError:
        return None


def _options(node: Node, call: CoreCall) -> dict[str, object]:
    """Return the arguments of an op, and its setting, that are attributes of a node."""
    names = {each.attribute: each.name for each in call.arguments if each is not call.target}
    names |= {call.switch: call.switch}
    found = {ours: node.attributes[theirs] for theirs, ours in names.items() if theirs in node.attributes}
    return {
        name: value.decode(errors="replace") if isinstance(value, bytes) else value for name, value in found.items()
    }


def _number(dim: NamedDim, sizes: Mapping[str, int]) -> NamedDim:
    """Return a dim at some sizes; a name without a size stays."""
    if isinstance(dim, Sum):
        terms = [substitute(term, sizes) for term in dim.terms]
        return sum(term for term in terms if isinstance(term, int)) if all(isinstance(t, int) for t in terms) else None
    return None if dim is None else substitute(dim, sizes)

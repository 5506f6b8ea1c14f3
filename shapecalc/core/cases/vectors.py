"""Golden cases: what every dialect answers to the same requests, version by version and setting by setting.

The requests are chosen so that every rule acts; the dialects, versions, settings and element types come from
their tables. Others can test their own importers against them.
"""

from __future__ import annotations

from shapecalc.core.answers.stage import plain
from shapecalc.core.answers.trace import Trace
from shapecalc.core.asking.ask import ask
from shapecalc.core.asking.command_line import read_stage, split
from shapecalc.core.asking.resolve import resolve
from shapecalc.core.asking.rulebook import RULES
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.dialect import Dialect
from shapecalc.core.dialects.element_types import SINCE_25
from shapecalc.core.ops import OPS, operators_of
from shapecalc.core.ops.op import Op, accepted_types
from shapecalc.core.sizes.problem import ShapeError
from shapecalc.core.sizes.record import Record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shapecalc.core.answers.request import Request


class Setup(Record):
    """What one group of vectors is asked under."""

    row: Dialect
    op: Op
    opset: int | None
    switch: bool | None

    def __str__(self) -> str:
        version = "" if self.opset is None else f"-{self.opset}"
        name = self.row.switch.name if self.row.switch else ""
        return f"{self.row.name}/{self.op.name}{version}" + ("" if self.switch is None else f"/{name}={self.switch:d}")


def vectors(dialects: Iterable[str] = ()) -> Iterator[dict[str, object]]:
    """Yield the golden cases of the named dialects, or of all, as JSON cases with `id` and `source`.

    >>> first = next(vectors(["numpy"]))
    >>> first["id"], first["input"], first["target"], first["expect"]
    ('numpy/reshape/1', [2, 3, 4], [0, -1], {'error': 'zero-volume-infer'})
    """
    chosen = list(dialects) or list(DIALECTS)
    for name in chosen:
        for setup in _setups(DIALECTS[name]):
            requests = [*_requests(setup), *_typed_requests(setup)]
            for number, request in enumerate(requests, 1):
                yield vector(f"{setup}/{number}", request)
    for rule, request in _examples():
        if request.dialect in chosen:
            yield vector(f"rule/{rule}", request)


def _setups(row: Dialect) -> Iterator[Setup]:
    for name, operator in operators_of(row).items():
        op = OPS[name]
        for opset in operator.versions or [None]:
            yield Setup(row, op, opset, None)
            exists = op.switched and row.switch is not None and (opset is None or opset >= row.switch.since)
            for switch in (False, True) if exists else ():
                yield Setup(row, op, opset, switch)


def _requests(setup: Setup) -> Iterator[Request]:
    """Yield what the operator can be asked at all; parameters that its dialect lacks are left out."""
    for shape, arguments in setup.op.vectors:
        try:
            request = ask(setup.op.name, shape, {**arguments, "dialect": setup.row.name})
        except ShapeError:
            continue
        yield replace(request, opset=setup.opset, switch=setup.switch)


def _typed_requests(setup: Setup) -> Iterator[Request]:
    """Yield a request for each element type that ONNX has, accepted or refused, once for each version."""
    row, op = setup.row, setup.op
    required = row.switch is not None and row.switch.default is None and op.switched
    if (setup.switch is None) is required:
        return
    accepted = accepted_types(op, row, setup.opset)
    first = next(_requests(setup))
    for dtype in sorted(SINCE_25 | accepted):
        yield replace(first, dtype=dtype)


def _examples() -> Iterator[tuple[str, Request]]:
    """Yield the example of each rule that is one request, and can be read."""
    for rule in RULES.values():
        words = split(rule.example)[1:]
        try:
            stage = read_stage(words, with_input=True)
            yield rule, ask(stage.op, stage.input or "", stage.options)
        except ShapeError:
            continue


def vector(name: str, request: Request) -> dict[str, object]:
    """Return a request as a JSON case, with the answer it has."""
    trace = resolve(request)
    switch = DIALECTS[request.dialect].switch
    case: dict[str, object] = {"id": name, "source": _source(trace), "op": request.op, "dialect": request.dialect}
    if request.opset is not None:
        case["opset"] = request.opset
    if request.dtype is not None:
        case["dtype"] = request.dtype
    case["input"] = plain(request.input)
    case |= {argument: plain(value) for argument, value in request.arguments.items()}
    if switch and request.switch is not None:
        case[switch.name] = int(request.switch)
    return case | {"expect": _expected(trace)}


def _expected(trace: Trace) -> object:
    if trace.problem:
        return {"error": str(trace.problem.rule)}
    if trace.conditions:
        return {"output": plain(trace.output), "conditions": [str(condition) for condition in trace.conditions]}
    return plain(trace.output)


def _source(trace: Trace) -> str:
    """Return where the answer's rules are written down: the dialect's document, and those of the rules."""
    rules = [trace.problem.rule] if trace.problem else [step.rule for step in trace.steps]
    return "; ".join(dict.fromkeys([DIALECTS[trace.dialect].source, *(rule.source for rule in rules)]))

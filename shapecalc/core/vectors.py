"""Golden cases: what every dialect answers to the same requests, version by version and setting by setting.

The requests are chosen so that every rule acts; the dialects, versions, settings and element types come from
their tables. Others can test their own importers against them.
"""

from __future__ import annotations

from shapecalc.core.catalogue import RULES
from shapecalc.core.dtypes import ONNX as ONNX_VERSIONS
from shapecalc.core.dtypes import SINCE_25, accepted
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import Record
from shapecalc.core.request import Request, ask
from shapecalc.core.resolve import resolve
from shapecalc.core.rules import DIALECTS, Dialect
from shapecalc.core.setting import SWITCHED
from shapecalc.core.trace import Trace, plain
from shapecalc.core.words import read_stage, split

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

REQUESTS: Mapping[str, tuple[tuple[str, Mapping[str, str]], ...]] = {
    "reshape": tuple(
        (shape, {"target": target})
        for shape, target in (
            ("2,3,4", "0,-1"),
            ("2,3,4", "4,6"),
            ("2,3,4", "24"),
            ("2,3,4", "2,3,2,2"),
            ("2,2,3,2", "-1,0,0"),
            ("2,3,4", "5,-1"),
            ("2,3,4", "2,5"),
            ("2,3,4", "-1,-1"),
            ("2,3,4", "-2,12"),
            ("6", "6,0"),
            ("0,3,4", "0,-1"),
            ("0,3,4", "5,-1"),
            ("0,3,4", "3,4,0"),
            ("3,0,4", "0,0,5,-1"),
            ("1,1", "[]"),
            ("[]", "-1"),
            ("[]", "1,1"),
            ("65536,65536", "-1"),
            ("4294967296,4294967296", "-1"),
            ("1,1,1,1,1,1,1,1,1", "1"),
            ("N,C,H,W", "0,-1"),
            ("N,C,H,W", "0,-1,64"),
            ("N,4", "2,6"),
            ("N,3", "0,4"),
            ("N,N", "5"),
        )
    ),
    "transpose": tuple(
        (shape, {"perm": perm} if perm else {})
        for shape, perm in (
            ("2,3,4", "1,2,0"),
            ("2,3,4", "0,1,2"),
            ("2,3,4", ""),
            ("2,3,4", "[]"),
            ("2,3,4", "-1,0,1"),
            ("2,3,4", "1,0,1"),
            ("2,3,4", "0,1,3"),
            ("2,3,4", "1,0"),
            ("0,3", "1,0"),
            ("[]", "[]"),
            ("N,H,W,C", "0,3,1,2"),
        )
    ),
    "shuffle": (
        ("2,3,4", {"first": "1,0,2", "to": "2,-1,3"}),
        ("2,3,4", {"first": "1,2,0"}),
        ("2,3,4", {"second": "1,2,0"}),
        ("2,3,4", {"to": "6,4", "second": "1,0"}),
        ("3,4", {"first": "1,0", "to": "0,-1"}),
        ("2,3,4", {}),
        ("1,1,6", {"to": "6,0"}),
        ("6", {"to": "6,0"}),
        ("0,3,4", {"to": "5,-1"}),
        ("0,3,4", {"to": "0,-1"}),
        ("0,3", {"to": "5,0"}),
        ("2,3,4", {"first": "1,0"}),
        ("2,3,4", {"to": "5,-1"}),
        ("2,3,4", {"to": "6,4", "second": "1,0,2"}),
        ("N,C,H,W", {"to": "0,0,-1", "second": "0,2,1"}),
    ),
    "shape": (
        ("2,3,4", {}),
        ("[]", {}),
        ("2,3,4", {"start": "-1"}),
        ("2,3,4", {"end": "-1"}),
        ("2,3,4", {"start": "1", "end": "2"}),
        ("2,3,4", {"start": "3"}),
        ("2,3,4", {"end": "-4"}),
        ("2,3,4", {"start": "-9", "end": "9"}),
        ("2,3,4", {"start": "2", "end": "1"}),
        ("N,C,H,W", {"start": "-2"}),
    ),
    "flatten": (
        ("2,3,4", {}),
        ("[]", {}),
        ("0,3,4", {}),
        ("N,C,H,W", {}),
        *(("2,3,4", {"axis": axis}) for axis in ("0", "1", "2", "3", "4", "-1", "-3", "-4")),
        ("2,3,4", {"start_dim": "1"}),
        ("2,3,4", {"end_dim": "1"}),
        ("2,3,4", {"start_dim": "2", "end_dim": "1"}),
        ("2,3,4", {"start_dim": "3"}),
        ("2,3,4,5", {"start_dim": "1", "end_dim": "-2"}),
    ),
    "squeeze": tuple(
        (shape, {"axes": axes} if axes else {})
        for shape, axes in (
            ("1,3,1", ""),
            ("1,3,1", "0"),
            ("1,3,1", "0,2"),
            ("1,3,1", "-1"),
            ("1,3,1", "[]"),
            ("1,3,1", "1"),
            ("1,3,1", "3"),
            ("1,3,1", "-4"),
            ("1,3,1", "0,-3"),
            ("1,1", ""),
            ("2,3", ""),
            ("[]", "0"),
            ("N,1", ""),
            ("N,1", "0"),
        )
    ),
    "unsqueeze": tuple(
        (shape, {"axes": axes} if axes else {})
        for shape, axes in (
            ("2,3", "0"),
            ("2,3", "0,3"),
            ("2,3", "0,-1"),
            ("2,3", "3"),
            ("2,3", "1,1"),
            ("2,3", "-4"),
            ("2,3", "[]"),
            ("2,3", ""),
            ("[]", "0"),
            ("N,C", "2,3"),
        )
    ),
    "expand": tuple(
        (shape, {"target": target})
        for shape, target in (
            ("3,1", "3,4"),
            ("3", "2,3"),
            ("8,1,1", "1,2"),
            ("3", "2"),
            ("3,1", "-1,4"),
            ("3,1", "-1,3,4"),
            ("3,1", "-2,4"),
            ("3,4", "1"),
            ("[]", "2,3"),
            ("1", "0"),
            ("0,1", "0,4"),
            ("1,4294967296", "4294967296,4294967296"),
            ("1,C", "N,C"),
            ("N,4", "8,4"),
        )
    ),
}
"""The inputs and arguments that every dialect is asked for, by op."""


class Setup(Record):
    """What one group of vectors is asked under."""

    row: Dialect
    op: str
    opset: int | None
    switch: bool | None

    def __str__(self) -> str:
        version = "" if self.opset is None else f"-{self.opset}"
        name = self.row.switch.name if self.row.switch else ""
        return f"{self.row.name}/{self.op}{version}" + ("" if self.switch is None else f"/{name}={self.switch:d}")


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
    for op in row.operators:
        opsets = [None] if row.newest_opset is None else [at for at in ONNX_VERSIONS[op] if at <= row.newest_opset]
        for opset in opsets:
            yield Setup(row, op, opset, None)
            exists = row.switch is not None and op in SWITCHED and (opset is None or opset >= row.switch.since)
            for switch in (False, True) if exists else ():
                yield Setup(row, op, opset, switch)


def _requests(setup: Setup) -> Iterator[Request]:
    """Yield what the operator can be asked at all; parameters that its dialect lacks are left out."""
    for shape, arguments in REQUESTS[setup.op]:
        try:
            request = ask(setup.op, shape, {**arguments, "dialect": setup.row.name})
        except ShapeError:
            continue
        yield request._replace(opset=setup.opset, switch=setup.switch)


def _typed_requests(setup: Setup) -> Iterator[Request]:
    """Yield a request for each element type that ONNX has: taken or refused, once a version."""
    row = setup.row
    required = row.switch is not None and row.switch.default is None and setup.op in SWITCHED
    if (setup.switch is None) is required:
        return
    taken = accepted(row.name, setup.op, setup.opset)
    first = next(_requests(setup))
    for dtype in sorted(SINCE_25 | taken):
        yield first._replace(dtype=dtype)


def _examples() -> Iterator[tuple[str, Request]]:
    """Yield the example of each rule that is one request, and can be read."""
    for rule in RULES.values():
        words = split(rule.example)[1:]
        try:
            stage = read_stage(words, with_input=True)
            yield rule.id, ask(stage.op, stage.input or "", stage.options)
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
        return {"error": trace.problem.rule}
    if trace.conditions:
        return {"output": plain(trace.output), "conditions": [str(condition) for condition in trace.conditions]}
    return plain(trace.output)


def _source(trace: Trace) -> str:
    """Return where the answer's rules are written down: the dialect's document, and those of the rules."""
    rules = [trace.problem.rule] if trace.problem else [step.rule for step in trace.steps]
    return "; ".join(dict.fromkeys([DIALECTS[trace.dialect].source, *(RULES[rule].source for rule in rules)]))

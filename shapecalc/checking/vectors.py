"""Golden cases: requests and answers that cover all rules of a dialect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shapecalc.checking.answering import answer_as_expected_json
from shapecalc.core.answers import Request, Trace
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import SINCE_25, Dialect
from shapecalc.core.dims import to_json
from shapecalc.core.ops import OPS, all_rules, operators_of
from shapecalc.core.ops.op import Op, operator_types
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import Record, replace
from shapecalc.core.requests import make_request
from shapecalc.core.resolve import resolve
from shapecalc.core.text import split_outside_brackets
from shapecalc.reading.commands import parse_stage


class GoldenSetup(Record):
    """The dialect, the op, the opset and the switch setting of a group of golden cases."""

    dialect: Dialect
    op: Op
    opset: int | None
    switch: bool | None

    def __str__(self) -> str:
        version = "" if self.opset is None else f"-{self.opset}"
        name = self.dialect.switch.name if self.dialect.switch else ""
        return f"{self.dialect.name}/{self.op.name}{version}" + (
            "" if self.switch is None else f"/{name}={self.switch:d}"
        )


def iter_golden_cases(dialects: Iterable[str] = ()) -> Iterator[dict[str, object]]:
    """Yield the golden cases of these dialects, or of all dialects by default.

    A golden case is a JSON case with `id` and `source`. Every rule applies to at least one of the requests. Other
    projects can test their own implementations with the golden cases.

    >>> first = next(iter_golden_cases(["numpy"]))
    >>> first["id"], first["input"], first["target"], first["expect"]
    ('numpy/reshape/1', [2, 3, 4], [0, -1], {'error': 'zero-volume-infer'})
    """
    chosen = list(dialects) or list(DIALECTS)
    for name in chosen:
        for setup in _iter_setups(DIALECTS[name]):
            requests = [*_iter_requests(setup), *_iter_dtype_requests(setup)]
            for number, request in enumerate(requests, 1):
                yield make_golden_case(f"{setup}/{number}", request)
    for rule, request in _iter_rule_examples():
        if request.dialect in chosen:
            yield make_golden_case(f"rule/{rule}", request)


def _iter_setups(dialect: Dialect) -> Iterator[GoldenSetup]:
    for name, operator in operators_of(dialect).items():
        op = OPS[name]
        for opset in operator.versions or [None]:
            yield GoldenSetup(dialect, op, opset, None)
            has_switch = (
                op.uses_switch and dialect.switch is not None and (opset is None or opset >= dialect.switch.since)
            )
            for switch in (False, True) if has_switch else ():
                yield GoldenSetup(dialect, op, opset, switch)


def _iter_requests(setup: GoldenSetup) -> Iterator[Request]:
    """Yield the sample requests for the op that are valid in the dialect.

    A request with a parameter that the dialect lacks is omitted.
    """
    for shape, arguments in setup.op.vectors:
        try:
            request = make_request(setup.op.name, shape, {**arguments, "dialect": setup.dialect.name})
        except ShapeError:
            continue
        if arguments.keys() <= request.arguments.keys():
            yield replace(request, opset=setup.opset, switch=setup.switch)


def _iter_dtype_requests(setup: GoldenSetup) -> Iterator[Request]:
    """Yield one request for each ONNX element type.

    The dialect may refuse the type. If the switch of the dialect has no default, requests are yielded for each setup
    with a switch setting. Otherwise, requests are yielded only for the setup without a switch setting.
    """
    row, op = setup.dialect, setup.op
    required = row.switch is not None and row.switch.default is None and op.uses_switch
    if (setup.switch is None) is required:
        return
    accepted = operator_types(op, row, setup.opset)
    first = next(_iter_requests(setup))
    for dtype in sorted(SINCE_25 | accepted):
        yield replace(first, dtype=dtype)


def _iter_rule_examples() -> Iterator[tuple[str, Request]]:
    """Yield each rule whose example is a single valid request, with this request."""
    for rule in all_rules().values():
        words = split_outside_brackets(rule.example)[1:]
        try:
            stage = parse_stage(words, with_input=True)
            yield rule, make_request(stage.op, stage.input or "", stage.options)
        except ShapeError:
            continue


def make_golden_case(name: str, request: Request) -> dict[str, object]:
    """Return a request and its answer as a JSON case."""
    trace, switch = resolve(request), DIALECTS[request.dialect].switch
    case = {"id": name, "source": _collect_rule_sources(trace), "op": request.op, "dialect": request.dialect}
    arguments = {"opset": request.opset, "dtype": request.dtype, "input": to_json(request.input)}
    arguments |= {argument: to_json(value) for argument, value in request.arguments.items()}
    arguments |= {switch.name: int(request.switch)} if switch and request.switch is not None else {}
    return (
        case
        | {name: value for name, value in arguments.items() if value is not None}
        | {"expect": answer_as_expected_json(trace)}
    )


def _collect_rule_sources(trace: Trace) -> str:
    rules = [trace.problem.rule] if trace.problem else [step.rule for step in trace.steps]
    return "; ".join(dict.fromkeys([DIALECTS[trace.dialect].source, *(rule.source for rule in rules)]))

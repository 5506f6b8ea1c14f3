"""Comparisons of chains: the same chain under every dialect and switch setting, side by side."""

from __future__ import annotations

from shapecalc.core.asking.ask import dialect_called
from shapecalc.core.asking.command_line import stage_text
from shapecalc.core.asking.compare import Compared, Comparison
from shapecalc.core.asking.defaults import chain_with_options
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import OPS
from shapecalc.core.sizes.problem import ShapeError
from shapecalc.core.sizes.python_values import read_sizes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from shapecalc.core.answers.trace import Chain
    from shapecalc.core.asking.defaults import Stage


def compare_chain(
    shape: str,
    stages: Sequence[Stage],
    dialects: Sequence[str],
    options: Mapping[str, object],
    answer: Callable[[str, Sequence[Stage], Mapping[str, int]], Chain],
) -> Comparison:
    """Return the answers to one chain under every setting of the named dialects, or of all that have its ops.

    `answer` resolves each chain. Raises `ShapeError` (usage) for what no dialect can read.
    """
    rows, unread = list[Compared](), dict[str, ShapeError]()
    sizes = read_sizes(options.get("where") or {})
    switched = any(OPS[op].switched for op, _ in stages)
    for row in [dialect_called(name) for name in dialects] or DIALECTS.values():
        for on in row.settings() if switched else row.settings()[:1]:
            given = {"dialect": row.name, "dtype": options.get("dtype")}
            given |= {"opset": options.get("opset")} if row.newest_opset else {}
            given |= {row.switch.name: on} if row.switch and row.switch.default is not on and switched else {}
            try:
                found = answer(shape, chain_with_options(stages, given), sizes)
            except ShapeError as error:
                unread[row.name] = error
            else:
                rows.append(Compared(found, on in row.defaults or not switched))
    if unread and (not rows or dialects):
        raise next(iter(unread.values()))
    lines = [stage_text(op, arguments) for op, arguments in stages]
    return Comparison("chain", rows[0].trace.input, {"stages": lines}, tuple(rows), tuple(unread))

"""The warning that code is written for one batch, because the first dim of its input is a number."""

from __future__ import annotations

from shapecalc.core.conditions import solved_names
from shapecalc.core.dims import named_dim, names
from shapecalc.core.fixing import lasting_hint
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import replace
from shapecalc.core.resolve import resolve_chain
from shapecalc.core.text import brief, shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.answers import Chain, Trace


def batch_warnings(answer: Trace | Chain, *, declared: bool = False) -> list[str]:
    """Return the warning that the code says how large the first dim is, and what is right for every size of it.

    With `declared` the code holds the shape of the input, and so its first dim in any case.

    >>> from shapecalc.core.ask import ask
    >>> from shapecalc.core.resolve import resolve
    >>> batch_warnings(resolve(ask("reshape", "8,3,4", {"target": "8,6,2"})))[0].partition(";")[0]
    'this code is right for a first dim of 8 only, as the input N,3,4 shows'
    """
    batch, *others = answer.input or (None,)
    if not isinstance(batch, int) or not others:
        return []
    requests = [trace.request for trace in answer.traces]
    taken = names([dim for request in requests for dim in request.dims])
    name = next(name for name in ("N", "B", "BATCH") if name not in taken)
    shape = (named_dim(name), *others)
    try:
        named = resolve_chain([replace(requests[0], input=shape), *requests[1:]])
    except ShapeError:
        return []
    shown = brief(shape_text(shape))
    if solved_names(named.conditions).get(name) == batch:
        only = f"this code is right for a first dim of {batch} only, as the input {shown} shows"
        return ["; ".join(filter(None, (only, lasting_hint(named))))]
    first, *rest = named.output or (None,)
    if first == batch and name in names(rest):
        return [f"the first dim is {batch} for every batch: from {shown} comes {brief(shape_text((first, *rest)))}"]
    if not declared or batch == 0:
        return []
    return [f"the code declares a first dim of {batch}; for other sizes of it write the input as {shown}"]

"""Moves as requests, in the words of a chain: its dialects, opsets, element types and switches."""

from __future__ import annotations

from shapecalc.core.algebra.layers import runs
from shapecalc.core.answers.moves import Expand, Permute, Reshape
from shapecalc.core.answers.request import Request
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.dialect import Zero
from shapecalc.core.ops import OPS
from shapecalc.core.ops.op import operator_of
from shapecalc.core.sizes.dims import Shape, names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from shapecalc.core.answers.moves import Move
    from shapecalc.core.answers.trace import Chain

    Moves = Sequence[Move]


class Words:
    """What the stages of a chain are written in."""

    def __init__(self, chain: Chain) -> None:
        """Keep the first request of each dialect; the dialect of the most stages comes first."""
        requests = [trace.request for trace in chain.traces]
        said = [request.dialect for request in requests]
        self.models = {
            name: requests[said.index(name)] for name in sorted(dict.fromkeys(said), key=lambda name: -said.count(name))
        }
        self.has_shuffles = any(request.op == "shuffle" for request in requests)

    def stages(self, moves: Moves) -> list[list[Move]]:
        """Return moves as they are written, stage by stage: a Shuffle's together if the chain has Shuffles."""
        return runs(moves, lambda move: move) if self.has_shuffles else [[move] for move in moves]

    def requests(self, shape: Shape, moves: Moves) -> list[Request] | None:
        """Return the requests that ask for moves of a tensor of `shape`; None if one of them cannot be asked for."""
        made = list[Request]()
        for stage in self.stages(moves):
            request = self._request(shape, stage)
            if request is None:
                return None
            made.append(request)
            for move in stage:
                shape = move.after(shape)
        return made

    def _request(self, shape: Shape, stage: Sequence[Move]) -> Request | None:
        """Return the request for one stage."""
        op = _op_of(stage[0])
        op = "shuffle" if self.has_shuffles and op != "expand" else op
        dialect = next((name for name in self.models if operator_of(OPS[op], DIALECTS[name])), OPS[op].default_dialect)
        model = self.models.get(dialect)
        arguments: dict[str, Any] = {}
        for move in stage:
            if isinstance(move, Permute):
                arguments["perm" if op != "shuffle" else "second" if arguments else "first"] = move.axes
            elif isinstance(move, (Reshape, Expand)):
                target = _target(shape, move, dialect)
                if target is None:
                    return None
                arguments["to" if op == "shuffle" else "target"] = target
            shape = move.after(shape)
        opset, dtype, switch = (model.opset, model.dtype, model.switch) if model else (None, None, None)
        switch = _switch(
            op, dialect, switch, literal=any(isinstance(move, Reshape) and 0 in move.shape for move in stage)
        )
        return Request(op, (), arguments, dialect, opset, dtype, switch)


def _op_of(move: Move) -> str:
    return "transpose" if isinstance(move, Permute) else "expand" if isinstance(move, Expand) else "reshape"


def _target(shape: Shape, move: Reshape | Expand, dialect: str) -> Shape | None:
    """Return the dims to request; None if several are sizes nobody knows, which no request can write."""
    unknown = [place for place, dim in enumerate(move.shape) if any(name.startswith("?") for name in names((dim,)))]
    if not unknown:
        return move.shape
    copies = DIALECTS[dialect].readings[DIALECTS[dialect].settings()[0]].zero is Zero.COPIES
    if isinstance(move, Expand):
        return None
    dims = list(move.shape)
    for place in unknown:
        dims[place] = 0 if copies and place < len(shape) and shape[place] == dims[place] else -1
    return tuple(dims) if dims.count(-1) < 2 else None


def _switch(op: str, dialect: str, asked: bool | None, *, literal: bool) -> bool | None:
    """Return the setting of a dialect's switch for a stage; `literal` asks for the one that takes 0 for a size."""
    row = DIALECTS[dialect]
    if row.switch is None or not OPS[op].switched:
        return None
    wanted = row.switch.default if asked is None else asked
    if literal or wanted is None:
        wanted = next(on for on, reading in row.readings.items() if reading.zero is Zero.LITERAL)
    return None if wanted == row.switch.default else wanted

"""Walking: the model in numbers, in all lanes in step, node by node."""

from __future__ import annotations

from shapecalc.models.bodies import Bodies
from shapecalc.models.listed import ListedNodes
from shapecalc.models.model import UNFIT
from shapecalc.models.plain import PlainNodes
from shapecalc.models.report import LISTED
from shapecalc.models.state import State
from shapecalc.models.walk import Walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.models.model import Body, Model
    from shapecalc.models.walk import Follower, Lane, Taken


def walked(
    model: Model, lanes: tuple[Lane, ...], taken: Taken, batch: str, declared: int | None, follower: Follower
) -> Walk:
    """Return the model walked in these lanes, with `follower` judging and mending on the way."""
    count = len(model.names)
    walk = Walk(model, batch, declared, taken, lanes, [None] * count, [0] * count, {}, {}, {})
    state = State(walk, follower)
    state.declare(model.inputs, taken)
    listed, plain = ListedNodes(state), PlainNodes(state)

    def pass_body(body: Body) -> None:
        state.fill(body.constants)
        for node in body.nodes:
            around = state.live, state.dry, state.follower
            is_listed = not node.bodies and not node.domain and node.op in LISTED
            try:
                (listed if is_listed else bodies if node.bodies else plain).pass_node(node)
            except UNFIT:
                state.live, state.dry, state.follower = around
                listed.pass_unfit(node) if is_listed else state.spoil(node)

    bodies = Bodies(state, pass_body)
    state.fill(model.graph.constants)
    follower.start(walk)
    pass_body(model.graph)
    return walk

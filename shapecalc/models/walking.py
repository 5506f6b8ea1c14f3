"""Walking: the model in numbers, in all lanes in step, node by node."""

from __future__ import annotations

from shapecalc.models.bodies import Bodies
from shapecalc.models.listed import ListedNodes
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
            if node.bodies:
                bodies.pass_node(node)
            elif not node.domain and node.op in LISTED:
                listed.pass_node(node)
            else:
                plain.pass_node(node)

    bodies = Bodies(state, pass_body)
    state.fill(model.graph.constants)
    follower.start(walk)
    pass_body(model.graph)
    return walk

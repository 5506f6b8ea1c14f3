"""Random chains of operators: shapes and failures as ONNX Runtime has them, and each node judged as it shows."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shapecalc.models.operators import LISTED
from shapecalc.models.verdicts import OFFENCES, Verdict
from tests.models.chains import STEPS, chains, mixed
from tests.models.judging import held_against_runtime, judged
from tests.models.samples import bits_of, verdict_shown
from tests.models.text import model
from tests.sampling import examples

SIZES = (1, 2, 3)
STARTS = st.sampled_from([("N", 4), ("N", 2, 3), ("N", 6, 4), (3, "N", 4)])


@examples(200)
@given(chains())
def test_shapes_and_failures_are_those_of_the_runtime(chain):
    held_against_runtime(chain.model(), sizes=(1, 2, 3, 5, 0))


@examples(60)
@given(chains(STARTS, (1,), (*STEPS, mixed)))
def test_every_node_of_a_chain_is_judged_as_the_runtime_shows(chain):
    follower = judged(chain.model())[1]
    targets = {}
    bits = {batch: bits_of(chain.model(), batch) for batch in SIZES}
    for at, node in enumerate(chain.model().graph.node):
        said = follower.told.get(str(at))
        if node.op_type not in LISTED or node.op_type == "Shape" or said.verdict is Verdict.UNKNOWN:
            continue
        shown = verdict_shown({size: (each[node.input[0]], each.get(node.output[0])) for size, each in bits.items()})
        assert shown is None or said.verdict is shown, (at, said.why)
        if said.verdict in OFFENCES:
            target = said.fixes[0].target if said.fixes else None
            if target is None or node.op_type != "Reshape" or not node.input[1].endswith(".1"):
                return
            targets[node.input[1]] = np.array(target, np.int64)
            bits = {batch: bits_of(chain.model(**targets), batch) for batch in SIZES}


def in_a_loop(chain):
    """Return a chain in the body of a loop that carries its input."""
    begins = "i = int64(); go = bool(); x = (...); on = Identity go"
    body = f"{{{begins}\n{chain.body}\nw = Identity x; => on w {chain.last}}}"
    return model(f"opset {chain.opset}; v0 = ({chain.start}); y all = Loop 3 _ v0 body={body}")


@examples(80)
@given(chains())
def test_a_node_in_a_loop_is_judged_as_outside_of_it(chain):
    outside, inside = judged(chain.model())[1].told, judged(in_a_loop(chain))[1].told
    assert {path: inside[f"0/body/{int(path) + 1}"].verdict for path in outside} == {
        path: said.verdict for path, said in outside.items()
    }

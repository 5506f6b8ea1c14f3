"""Pictures as whole blocks of text, one file each in `golden/`; `python -m tests.renew golden` writes them anew.

Whoever renews one looks at it, and keeps it if it is right.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from shapecalc.view.canvas import ASCII, UNICODE
from shapecalc.view.flow import flow, rail, strip
from shapecalc.view.grid import grid
from shapecalc.view.pictures import explain, picture
from tests.view.questions import answer_to

GOLDEN = Path(__file__).parent / "golden"
EXPLAINED = {
    "shuffle": "shuffle 2,3,4 --first 1,0,2 --to 0,-1",
    "infer": "reshape 2,3,4 0,-1",
    "indivisible": "reshape 2,3,4 5,-1",
    "merge": "reshape 2,3,4 6,4",
    "mix": "reshape 2,3,4 4,6",
    "rotate": "transpose 2,3,4 1,2,0",
    "names": "reshape N,12,H,W 0,4,3,-1",
    "heads": "chain 8,128,768 | reshape 0,0,12,64 | transpose 0,2,1,3",
    "pixel-shuffle": "chain N,16,H,W | reshape 0,4,2,2,H,W | transpose 0,1,4,2,5,3 | reshape 0,4,2*H,2*W",
    "depth-to-space": "depth_to_space N,C,H,W 2",
    "bad-depth": "depth_to_space 1,6,2,3 2",
    "space-to-depth": "space_to_depth 1,1,4,6 2",
    "view": "view 3,4 3,2,2 --strides 1,3",
    "no-view": "view 3,4 12 --strides 1,3",
    "rearrange": "rearrange B,C,14,W 'b c (h p) w -> b h (p c w) r' p=7,r=2",
    "bad-pattern": "rearrange 6,2 '(a b) c -> b (a c) d' a=4,d=2",
    "select": "select 2,N,4 1 -1",
    "flip": "flip 2,N,4 0,2",
    "slice": "slice 6,H,4 ::2,:1,1:3",
    "needs-size": "slice N,L :,:3",
    "named-result": "slice N,L :,1:-1:2",
    "split": "split N,3*C,4 1 3 --part 2",
    "roll": "roll N,4,4 -1 1",
    "take": "take N,3,4 1 2,0,0",
    "tile": "tile 2,N 2,3",
    "bad-repeats": "tile 2,N 2",
    "unflatten": "unflatten N,12,4 1 3,-1",
    "squeeze": "squeeze 1,3,1",
    "unsqueeze": "unsqueeze 2,3 --axes 0,-1",
    "expand": "expand 8,1,1 1,2",
    "shape": "shape 2,3,4 --start -2",
    "empty": "reshape 0,3,4 5,-1 -d tensorrt",
    "rank-8": "transpose 1,2,3,4,5,6,7,8",
    "huge": "reshape 1000000,3,224,224 0,-1",
    "flatten": "flatten N,C,H,W --axis 2",
    "mismatch": "reshape 2,3,4 5,5",
    "bad-perm": "transpose 2,3,4 0,0,1",
    "zeros-left-out": "reshape 0,3,4 0,-1 --allowzero -d onnxruntime",
    "left-aligned": "reshape 2,2,3,2 -1,0,0",
    "zero-beside": "reshape 0,3,4 0,-1 --allowzero",
    "broadcast": "broadcast 8,1,6 7,1",
    "bad-broadcast": "broadcast 8,3,6 7,1",
    "broadcast-names": "broadcast N,3 M,1",
    "matmul": "matmul B,H,T,64 B,H,64,T",
    "bad-matmul": "matmul 512,2304 256,4",
    "concat": "concat 2,32,16 2,64,16 2,16,16 --axis 1",
    "bad-concat": "concat 2,32,16 2,64,15 --axis 1",
    "conv": "conv 1,3,224,9 64,3,7,3 --stride 2 --padding 3,1",
    "bad-conv": "conv 1,361,424,3 10,3,3,3",
    "pool": "pool N,64,H,8 3 --stride 2",
    "pad": "pad 1,6 0,2,0,-1",
    "upsample": "upsample 1,1,3,4 2,1.5",
    "operands-in-a-chain": "chain B,T,768 | matmul 768,3*D | reshape 0,0,3,D | concat B,T,1,D --axis 2",
}


def explained(name):
    """Return a question and what `explain` draws of its answer."""
    command = EXPLAINED[name]
    return f"$ {command}\n{explain(answer_to(command), strokes=UNICODE).plain}"


def in_ascii():
    return explain(answer_to(EXPLAINED["shuffle"]), strokes=ASCII).plain


def every_step():
    answer = answer_to(EXPLAINED["shuffle"])
    parts = [
        f"{rail(answer, at).plain}\n{strip(answer, at).plain}\n{picture(answer, at).plain}"
        for at in range(len(answer.steps))
    ]
    return "\n\n".join(parts)


def grid_of_an_element():
    return grid(answer_to(EXPLAINED["shuffle"]), (1, 0, 2)).plain


def lanes_of_rank_eight():
    return picture(answer_to(EXPLAINED["rank-8"]), 3).plain


def large(at):
    """Return a picture that has room for each element."""
    return picture(answer_to(EXPLAINED["left-aligned"]), at, width=196, height=30).plain


def large_flow():
    """Return a flow that has room for lines between its axes."""
    return flow(answer_to(EXPLAINED["shuffle"]), width=196, height=24).plain


PICTURES = {
    **{name: partial(explained, name) for name in EXPLAINED},
    "shuffle-ascii": in_ascii,
    "shuffle-steps": every_step,
    "grid": grid_of_an_element,
    "lanes-rank-8": lanes_of_rank_eight,
    **{f"large-{at}": partial(large, at) for at in (1, 2, 3)},
    "large-flow": large_flow,
}
"""What draws each file of `golden/`."""

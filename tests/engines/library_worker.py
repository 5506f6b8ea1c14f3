"""A worker that asks one library for shapes: `python library_worker.py paddle`, in an environment that has it.

Each line in is a JSON list: an operator, an input shape, an element type and the arguments. Each line out is the output
shape, or null if the library refuses. What else a library prints has no mark in front of it.
"""

from __future__ import annotations

import json
import sys

MARK = "@@"


def paddle_operators():
    """Return Paddle's operators by name, and what makes a tensor of a shape."""
    import paddle

    paddle.set_device("cpu")
    operators = {
        "reshape": lambda x, target: paddle.reshape(x, target),
        "transpose": lambda x, perm: paddle.transpose(x, perm),
        "flatten": lambda x, start_dim=0, end_dim=-1: paddle.flatten(x, start_dim, end_dim),
        "squeeze": lambda x, axes=None: paddle.squeeze(x, axes),
        "unsqueeze": lambda x, axes: paddle.unsqueeze(x, axes),
        "expand": lambda x, target: paddle.expand(x, target),
        "shape": lambda x: paddle.shape(x),
    }
    return operators, lambda shape, dtype: paddle.zeros(shape).astype(getattr(paddle, dtype))


LIBRARIES = {"paddle": paddle_operators}


def shape_of(made, op):
    """Return the shape of what an operator made; of `shape` the dims that it returns. It waits for the data."""
    values = made.asnumpy() if hasattr(made, "asnumpy") else made.numpy() if op == "shape" else made
    return [int(dim) for dim in (values if op == "shape" else made.shape)]


def main():
    operators, make = LIBRARIES[sys.argv[1]]()
    for line in sys.stdin:
        op, shape, dtype, arguments = json.loads(line)
        try:
            answer = shape_of(operators[op](make(shape, dtype), **arguments), op)
        except Exception:
            answer = None
        print(MARK + json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()

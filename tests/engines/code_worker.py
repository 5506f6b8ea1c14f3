"""Run code in PyTorch: each line in is a JSON object with `code` and the shapes of its `inputs`.

Each line out is the shape of the value of the last expression and the kind of its elements, a list of shapes and one
of kinds if it is a tuple, or null if PyTorch refuses the code; "numbers" if it divides by a 0. Layers are evaluated as
after `eval()`.
"""

from __future__ import annotations

import ast
import json
import sys
import warnings

import numpy as np
import torch
from torch import nn


class EvaluatedLayers:
    """The module `torch.nn`, whose layers are in evaluation mode."""

    def __getattr__(self, name):
        """Return a function that creates a layer, or another member of the module."""
        member = getattr(nn, name)
        if not (isinstance(member, type) and issubclass(member, nn.Module)):
            return member
        return lambda *args, **keywords: member(*args, **keywords).eval()


def shape_of(value):
    """Return the shape of a tensor, or the shapes of the tensors in a tuple or list."""
    if isinstance(value, (tuple, list)):
        return [shape for item in value for shape in collect_shapes(item)]
    return list(value.shape) if hasattr(value, "shape") else None


def collect_shapes(value):
    """Return the shapes of the tensors in nested tuples and lists."""
    if isinstance(value, (tuple, list)):
        return [shape for item in value for shape in collect_shapes(item)]
    return [list(value.shape)] if hasattr(value, "shape") else []


def kind_of(value):
    """Return the kind of the elements of a tensor, a letter of NumPy's `dtype.kind`, or those of tensors in a tuple."""
    if isinstance(value, (tuple, list)):
        return [kind for item in value for kind in ([kind_of(item)] if hasattr(item, "shape") else kind_of(item) or [])]
    if not hasattr(value, "dtype"):
        return None
    letter = np.dtype(str(value.dtype).removeprefix("torch.").replace("bfloat16", "float32")).kind
    return "i" if letter == "u" else letter


def answer(request):
    """Return the shape and the kind of the last expression of code; None if PyTorch refuses it."""
    names = {"torch": torch, "nn": EvaluatedLayers(), "F": nn.functional, "np": np}
    names |= {name: torch.rand(shape) for name, shape in request["inputs"].items()}
    *lines, last = ast.parse(request["code"]).body
    try:
        with torch.no_grad():
            exec(compile(ast.Module(lines, []), "code", "exec"), names)
            value = eval(compile(ast.Expression(last.value), "code", "eval"), names)
            return shape_of(value), kind_of(value)
    except Exception as error:  # any refusal
        return "numbers" if "ZeroDivisionError" in str(error) else None


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)

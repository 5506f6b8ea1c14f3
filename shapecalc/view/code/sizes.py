"""Dims as code: numbers, sizes read from `x`, names that the code is given, and products of them."""

from __future__ import annotations

import ast
from keyword import iskeyword

from shapecalc.core.dims import Dim, Monomial, Shape, monomial, named_dim, names, product, quotient, rewrite
from shapecalc.core.problem import misuse
from shapecalc.view.code.written import shapes_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from shapecalc.core.answers import Chain, Trace

TAKEN = {"x", "y", "np", "math", "torch", "rearrange", "repeat", "jnp", "tf", "paddle", "ops", "trt", "network"}
TAKEN |= {"layer", "helper", "TensorProto", "nodes", "graph", "model", "sizes"}
NUMBERED = {"axes", "ends", "index", "shape", "size", "starts", "steps"}
"""The names that the code itself uses, and those that it uses with a number behind."""


class Readings:
    """What a program can read from an `x` of some shape. It writes the size of axis 1 as the name `[1]`."""

    def __init__(self, shape: Shape) -> None:
        """Solve the dims for as many names as they tell."""
        self.axes: dict[Dim, Dim] = {}
        for axis, dim in enumerate(shape):
            self.axes.setdefault(dim, named_dim(f"[{axis}]"))
        self.known = _solved(self.axes)
        self.products = [dim for dim in self.axes if {*names((dim,))} - self.known.keys()]

    def read(self, dim: Dim) -> Dim:
        """Return a dim as a product of axes of `x`; names that the axes do not tell stay as they are.

        >>> from shapecalc.core.text import read_dims
        >>> readings = Readings(read_dims("N,2*C,H*W"))
        >>> [str(readings.read(dim)) for dim in read_dims("C*H*W/49,N*H")]
        ['[1]*[2]/98', 'H*[0]']
        """
        if isinstance(dim, int):
            return dim
        if dim in self.axes:
            return self.axes[dim]
        for each in self.products:
            times = self._times(dim, each)
            dim = _times_power(_times_power(dim, each, -times), self.axes[each], times)
        return rewrite(dim, self.known)

    def _times(self, dim: Dim, part: Dim) -> int:
        """Return how often the names of `part` that nothing tells are in `dim`; less than 0 if they divide it."""
        powers = dict(monomial(dim).powers)
        found = [int(powers.get(name, 0) / power) for name, power in monomial(part).powers if name not in self.known]
        return min(found) if min(found) > 0 else min(0, max(found))

    def count_open(self, dim: Dim) -> int:
        """Return how many names of a dim the program must be given, because `x` does not tell them."""
        return sum(not name.startswith("[") for name in names((self.read(dim),)))


def _solved(axes: Mapping[Dim, Dim]) -> dict[str, Dim]:
    """Return the names that axes tell: first those that are axes themselves, then those that only others hide."""
    known = {name: axis for dim, axis in axes.items() for name in names((dim,)) if dim == named_dim(name)}
    waiting, left = list[Monomial](), [dim for dim in axes if isinstance(dim, Monomial)]
    while left != waiting:
        waiting, left = left, []
        for dim in waiting:
            hidden = [(name, power) for name, power in dim.powers if name not in known]
            if [abs(power) for _, power in hidden] == [1]:
                ((name, power),) = hidden
                rest = rewrite(_times_power(dim, named_dim(name), -power), known)
                known[name] = quotient(axes[dim], rest) if power > 0 else quotient(rest, axes[dim])
            elif hidden:
                left.append(dim)
    return known


def _times_power(dim: Dim, factor: Dim, power: int) -> Dim:
    """Return `dim` times a power of `factor`, which may be negative."""
    factors = product([factor] * abs(power))
    return quotient(dim, factors) if power < 0 else product((dim, factors))


def size_text(dim: Dim, shape_of: str = "x.shape") -> str:
    """Return the expression for a dim that was read; `shape_of` is the expression for the shape of `x`.

    Raises `ShapeError` (usage) for a `?`, which no program can be given.

    >>> from shapecalc.core.text import read_dims
    >>> size_text(Readings(read_dims("N,C,H")).read(read_dims("C*H/64")[0]))
    'x.shape[1] * x.shape[2] // 64'
    """
    if isinstance(dim, int):
        return str(dim)
    above = [_factor(name, shape_of) for name, power in dim.powers for _ in range(power)]
    below = [_factor(name, shape_of) for name, power in dim.powers for _ in range(-power)]
    if dim.numerator != 1 or not above:
        above.insert(0, str(dim.numerator))
    if dim.denominator != 1:
        below.insert(0, str(dim.denominator))
    return " // ".join([" * ".join(above), *below])


def _factor(name: str, shape_of: str) -> str:
    return f"{shape_of}{name}" if name.startswith("[") else given_name(name)


def given_name(name: str) -> str:
    """Return what the code calls a size that it is given; raise `ShapeError` (usage) for a `?`.

    >>> given_name("C"), given_name("x"), given_name("lambda")
    ('C', 'x_', 'lambda_')
    """
    if name.startswith("?"):
        raise misuse("the code needs the size of a ?", "give it a name, or its size")
    plain = name.rstrip("_")
    taken = iskeyword(plain) or plain in TAKEN or plain.rstrip("0123456789") in NUMBERED
    return f"{name}_" if taken else name


def given_warnings(text: str, answer: Trace | Chain) -> list[str]:
    """Return the warnings about the sizes that a piece of code uses and does not have."""
    known = names(dict.fromkeys(dim for shape in shapes_of(answer) for dim in shape))
    used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)} if known else set()
    open_names = {name: given_name(name) for name in known if not name.startswith("?") and given_name(name) in used}
    return [
        f"{name} is a size that the code must be given"
        if name == given
        else f"{given} is the size {name}, which the code must be given"
        for name, given in open_names.items()
    ]

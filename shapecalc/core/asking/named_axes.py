"""Axes that are named by their dims: the permutation N,H,W,C of a tensor N,C,H,W."""

from __future__ import annotations

from shapecalc.core.ops import OPS
from shapecalc.core.ops.op import Holds
from shapecalc.core.sizes.problem import misuse
from shapecalc.core.sizes.quoting import brief
from shapecalc.core.sizes.text import shape_text
from shapecalc.core.sizes.tokens import tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from shapecalc.core.sizes.dims import Shape


def axes_of_dims(named: Shape, shape: Shape, value: object, argument: str) -> tuple[int, ...]:
    """Return the axes of `shape` that have these dims; `value` is how they are written.

    Raises `ShapeError` (usage) for a dim that no axis has, or that several have.

    >>> from shapecalc.core.sizes.text import read_dims
    >>> axes_of_dims(read_dims("N,H,W,3"), read_dims("N,3,H,W"), None, "perm")
    (0, 2, 3, 1)
    """
    axes = []
    for index, dim in enumerate(named):
        found = [axis for axis, each in enumerate(shape) if each == dim]
        if len(found) != 1:
            span = tokens(value, argument)[index].span if isinstance(value, str) else None
            count = f"{len(found)} dims" if found else "no dim"
            message = f"{count} of {brief(shape_text(shape))} {'are' if found else 'is'} {brief(str(dim))}"
            hint = "name the axes by their numbers"
            raise misuse(message, hint, argument=argument, index=index, span=span)
        axes += found
    return tuple(axes)


def names_axes(op: str, options: Mapping[str, object]) -> bool:
    """Say whether a request names axes by their dims, for which its input must be known.

    >>> names_axes("transpose", {"perm": "N,C"}), names_axes("transpose", {"perm": "1,0"})
    (True, False)
    """
    params = OPS[op].params if op in OPS else ()
    return any(param.holds is Holds.PERM and _has_name(options.get(param.name)) for param in params)


def _has_name(value: object) -> bool:
    words = [value] if isinstance(value, str) else value if isinstance(value, (list, tuple)) else []
    return any(char.isalpha() or char in "_?" for word in words for char in str(word))

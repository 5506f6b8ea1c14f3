"""JAX: the functions of jax.numpy. Only -1 is inferred, and an index that lies outside is moved to the end."""

from __future__ import annotations

from shapecalc.core.answers import Facts, Kind, Stage, Step
from shapecalc.core.dialects.base import KNOWN, Dialect, Operator, Reading, Zero
from shapecalc.core.moves import Pick
from shapecalc.core.problem import Rule
from shapecalc.core.rules import KEPT_DIM
from shapecalc.core.text import brief

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from shapecalc.core.answers import Reasons
    from shapecalc.core.dims import Shape


class ClampedIndex(Facts):
    """An index that lies outside of its dim, and the position that is taken for it."""

    name = "clamp index"
    rule = Rule(
        "clamp-index",
        "an index outside of the dim is moved to its first or its last position",
        "An error cannot be raised from code that runs on a GPU, so JAX moves the index to the nearest position. "
        "NumPy, ONNX and PyTorch refuse it.",
        "shapecalc select 2,3,4 1 7 --dialect jax",
        "JAX, The Sharp Bits: out-of-bounds indexing",
    )
    index: int
    place: int

    def why(self, step: Step) -> str:
        """Return the step's sentence."""
        asked, axis = brief(str(self.index)), step.sources[0]
        return f"dim {axis} has no index {asked}: {self.place}, the nearest, is used, and the dim is dropped"


def select(shape: Shape, _at: Any, axis: int, index: int) -> Reasons | None:
    """Resolve an index that lies outside of a dim that is known and not empty. Any other is left to the op."""
    if not -len(shape) <= axis < len(shape):
        return None
    dim = shape[axis]
    outside = isinstance(dim, int) and dim > 0 and not -dim <= index < dim
    return _select_nearest(shape, axis % len(shape), index) if outside else None


def _select_nearest(shape: Shape, gone: int, index: int) -> Reasons:
    """Take the first position for an index below the dim, and the last for one above.

    Source: JAX, The Sharp Bits, out-of-bounds indexing.
    """
    yield Stage(Kind.SELECT, "select", "index", shape)
    dim = shape[gone]
    assert isinstance(dim, int)
    taken = 0 if index < 0 else dim - 1
    yield Step(ClampedIndex(index, taken), None, (gone,), dim)
    kept = [place for place in range(len(shape)) if place != gone]
    for out, place in enumerate(kept):
        yield Step(KEPT_DIM, out, (place,), shape[place])
    starts = tuple([taken if place == gone else 0 for place in range(len(shape))])
    yield Pick(starts, (1,) * len(shape), tuple([None if place == gone else dim for place, dim in enumerate(shape)]))
    return tuple([shape[place] for place in kept])


JAX = Dialect(
    name="jax",
    source="JAX reference, jax.numpy, and JAX 0.10.2",
    operators={
        "reshape": Operator("reshape"),
        "transpose": Operator("transpose"),
        "flatten": Operator("flatten"),
        "squeeze": Operator("squeeze"),
        "unsqueeze": Operator("expand_dims"),
        "expand": Operator("broadcast_to"),
        "shape": Operator("shape"),
        "select": Operator("indexing", steps=select, heeds_empty=False),
        "slice": Operator("indexing"),
        "split": Operator("split"),
        "flip": Operator("flip"),
        "roll": Operator("roll"),
        "tile": Operator("tile"),
        "swapaxes": Operator("swapaxes"),
        "moveaxis": Operator("moveaxis"),
    },
    readings={None: Reading(Zero.LITERAL)},
    negative_perm=True,
    types=KNOWN
    - {"string", "bytes", "object", "datetime64", "timedelta64", "void", "longdouble", "clongdouble"}
    - {"float6_e2m3fn", "float6_e3m2fn", "uint1"},
    spellings={"single": "float32", "double": "float64", "half": "float16", "csingle": "complex64"}
    | {"cdouble": "complex128", "bool_": "bool"},
    prefix="jnp.",
    note="an index outside of its dim is moved to the nearest position; the types of 64 bits exist if jax_enable_x64 "
    "is set",
    facts=(ClampedIndex,),
)

"""What each step says: one sentence a rule, made when it is asked for. Unstyled; `view` styles it."""

from __future__ import annotations

from shapecalc.core.axes import regrouping
from shapecalc.core.dims import product
from shapecalc.core.text import shape_text
from shapecalc.core.wording import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shapecalc.core.trace import Step


def _copied(step: Step) -> str:
    shape, target = step.facts
    aligned = "" if len(shape) == len(target) or step.out == 0 else ", counted from the left"
    return f"0 copies dim {step.out}{aligned}, which is {step.value}"


def _inferred(step: Step) -> str:
    shape, have, known = step.facts
    divisor = f"({known})" if "*" in str(known) else known
    return f"-1 is {counted(shape, have)} / {divisor} known = {step.value}"


def _inferred_empty(step: Step) -> str:
    have, known, left_out = step.facts
    return f"-1 is {have} / {known}, {left_out} = {step.value}"


def _regrouped(step: Step) -> str:
    before, after = step.facts
    have, want = product(before), product(after)
    elements = "element" if have == 1 else "elements"
    counts = f"{have} {elements} in and out" if have == want else f"{have} {elements} in, {want} out"
    return f"{counts}: {regrouping(before, after)}"


def _merged(step: Step) -> str:
    factors = "*".join(map(str, step.facts))
    if not step.facts:
        return f"no axis is left for output dim {step.out}: 1"
    return f"output dim {step.out} is {factors}" + (f" = {step.value}" if len(step.facts) > 1 else "")


def _stretched(step: Step) -> str:
    (dim,) = step.facts
    if step.value == dim:
        return f"input dim {step.sources[0]} is {dim} and stays"
    return f"input dim {step.sources[0]}, {dim}, is repeated to {step.value}"


SENTENCES: Mapping[str, Callable[[Step], str]] = {
    "written-fraction": lambda step: f"{step.value} is a whole number",
    "copy-zero": _copied,
    "literal-zero": lambda _: "0 is a dim of size zero",
    "given": lambda step: f"{step.value} is given",
    "infer": _inferred,
    "infer-empty": _inferred_empty,
    "regroup": _regrouped,
    "permute": lambda step: f"output dim {step.out} is input dim {step.sources[0]}, {step.value}",
    "move-axes": lambda step: str(step.facts[0]),
    "merge": _merged,
    "clamp": lambda step: str(step.facts[0]),
    "read-dim": lambda step: f"element {step.out} is the size of dim {step.sources[0]}, {step.value}",
    "slice": lambda step: f"{len(step.sources)} of {step.facts[0]} dims, as a vector of int64",
    "drop-one": lambda step: f"dim {step.sources[0]} is {step.value} and goes",
    "keep-dim": lambda step: f"dim {step.sources[0]} is {step.value} and stays",
    "insert-one": lambda step: f"output dim {step.out} is a new 1",
    "new-dim": lambda step: f"{step.value} copies of what follows",
    "stretch": _stretched,
    "broadcast": lambda step: f"the tensor is read as {shape_text(step.facts)}",
}
"""The sentence of each step rule."""

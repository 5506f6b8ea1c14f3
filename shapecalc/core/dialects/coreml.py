"""Core ML: the MIL operators of iOS 17 and later.

A 0 in the target of reshape copies the input dim at the same index from the right.
"""

from __future__ import annotations

from shapecalc.core.answers import Stages, Step, StepRule
from shapecalc.core.dialects import base
from shapecalc.core.dims import Dim, Shape

SOURCE = "Core ML Tools, MIL operators of iOS 17: reshape"


COPIED_FROM_RIGHT = StepRule(
    "copy-from-right",
    "0 copies the dim at the same index, counted from the right",
    "Since iOS 17, Core ML counts the index of a 0 from the right. In earlier versions, a 0 required a target of the "
    "input's rank, so matching from the left and from the right gave the same result.",
    "shapecalc reshape 2,50 1,0,-1,0 --dialect coreml",
    SOURCE,
    name="copy 0",
    why="0 copies dim {step.sources[0]}, counted from the right, which is {step.value}",
)


FILLED_ONE = StepRule(
    "fill-one",
    "a 0 to the left of all input dims becomes 1",
    "The shapes are aligned at the right, and the input has no dim at this index. A dim of 1 adds no elements.",
    "shapecalc reshape 2,50 1,0,-1,0 --dialect coreml",
    SOURCE,
    name="fill 1",
    why="the input has no dim there, so 0 is 1",
)


def reshape(shape: Shape, rules: base.RequestRules, target: Shape) -> Stages | None:
    """Resolve a reshape that contains a 0 and changes the rank.

    Returns None for other requests, which `Op.resolve` resolves.
    """
    return _reshape_from_right(shape, rules, target) if 0 in target and len(target) != len(shape) else None


def _reshape_from_right(shape: Shape, rules: base.RequestRules, target: Shape) -> Stages:
    """Resolve a reshape in which zeros copy dims counted from the right.

    A 0 copies the input dim with the same index from the right. Source: MIL reshape of iOS 17 ("counting from the
    rightmost element"). Raises `ShapeError` (rank-limit), and the errors of `Target.resolve`.
    """
    return base.resolve_target(RightAlignedTarget(shape, target), target, rules.dialect)


class RightAlignedTarget(base.Target):
    """A requested shape in which zeros copy dims counted from the right.

    A 0 copies the input dim with the same index from the right.
    """

    __slots__ = ()

    def resolve_zero(self, index: int) -> Dim:
        """Return the input dim that a 0 copies, or 1 if no input dim has this index."""
        axis = index + len(self.shape) - len(self.target)
        if axis < 0:
            return 1
        self.copied[index] = axis
        return self.shape[axis]

    def zero_step(self, index: int) -> Step:
        """Return the step that explains the size of a 0."""
        if index not in self.copied:
            return Step(FILLED_ONE, index, (), 1)
        return Step(COPIED_FROM_RIGHT, index, (self.copied[index],), self.dims[index])


SMALL_INTEGERS = frozenset({"int8", "uint8", "int16", "uint16"})

COREML = base.Dialect(
    name="coreml",
    source="Core ML Tools, MIL operators of iOS 17; verified with coremltools 9.0",
    operators=base.operators_by_op(
        "transpose squeeze shape split",
        flatten="flatten2d",
        unsqueeze="expand_dims",
        select="slice_by_index",
        slice="slice_by_index",
        flip="reverse",
    )
    | {"reshape": base.Operator("reshape", resolve=reshape)},
    reshape_semantics={None: base.ZERO_COPIES},
    max_rank=5,
    types=SMALL_INTEGERS | {"float16", "float32", "int32", "bool"},
    missing_types=dict.fromkeys(("flatten", "shape", "split"), SMALL_INTEGERS),
    spellings={"fp16": "float16", "fp32": "float32", "i32": "int32", "half": "float16", "float": "float32"},
    note="The index of a 0 is counted from the right. Before iOS 17, a 0 requires a target with as many dims as the "
    "input. Integers of 8 and 16 bits are not supported before iOS 17. The package coremltools accepts repeated or "
    "out-of-range axes, an index outside of its dim, and more than 5 dims, but shapecalc refuses them",
    rules=(COPIED_FROM_RIGHT, FILLED_ONE),
)

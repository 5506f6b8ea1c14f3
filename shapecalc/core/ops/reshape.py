"""Reshape: resolve 0 and -1 in a requested shape, and compare element counts.

The rules are those of ONNX Reshape ("a dimension could also be 0, in which case the actual dimension value is
unchanged"; "at most one dimension of the new shape can be -1"). `ReshapeSemantics` describes the differences between
frameworks.
"""

from __future__ import annotations

from shapecalc.core import rules
from shapecalc.core.answers import ResolvedDim, Stages, Step
from shapecalc.core.conditions import Unsatisfiable, require_divisible
from shapecalc.core.dialects import base
from shapecalc.core.dims import Dim, Shape, exceeds, product, quotient
from shapecalc.core.ops.op import Op, make_test_vectors
from shapecalc.core.problem import Rule, ShapeError, rule_error
from shapecalc.core.record import FrozenDict
from shapecalc.core.text import element_count_text, rank_text, remainder_text, shape_text, truncate

COPIED_ZERO_FACTS, COPIED_FROM_LEFT_FACTS = FrozenDict(from_left=False), FrozenDict(from_left=True)
"""The facts of a step in which a 0 copies a dim.

The fact from_left adds "from the left" to the explanation."""


def reshape(
    shape: Shape, rules: base.RequestRules, target: Shape, label: str = "reshape", argument: str = "target"
) -> Stages:
    """Resolve a requested shape.

    A 0 may copy a dim, and -1 is inferred. The input and the output must have equal element counts. Raises `ShapeError`
    (two-infers, below-minus-one, zero-out-of-range, zero-beside-infer, zero-volume-infer, indivisible, volume-mismatch,
    rank-limit, infer-limit or overflow).
    """
    return base.resolve_target(ReshapeTarget(shape, rules, target, argument), target, rules.dialect, label)


def is_negative_dim(dim: Dim) -> bool:
    """Return whether a dim of a requested shape is a negative integer."""
    return isinstance(dim, int) and dim < 0


class ReshapeTarget(base.Target):
    """A requested shape that is resolved with the `ReshapeSemantics` of a request."""

    __slots__ = ("dialect", "semantics")

    def __init__(self, shape: Shape, rules: base.RequestRules, target: Shape, argument: str) -> None:
        """Create a target from a requested shape and the rules of the request."""
        self.dialect, self.semantics = rules.dialect, rules.reshape_semantics
        if self.semantics.infers is not base.InferMarker.MINUS_ONE:
            target = tuple([-1 if is_negative_dim(dim) else dim for dim in target])
        super().__init__(shape, target, argument)

    def resolve_zero(self, index: int) -> Dim:
        """Return the input dim that a 0 copies, or 0 if the 0 is a size.

        Raises `ShapeError` (zero-out-of-range).
        """
        shape = self.shape
        if self.semantics.zero is not base.ZeroMeaning.COPIES:
            return 0
        if index >= len(shape):
            dims = rank_text(len(shape))
            message = f"0 copies dim {index}, and {truncate(shape_text(shape))} has {dims}"
            raise self._target_error(rules.ZERO_OUT_OF_RANGE, message, index)
        self.copied[index] = index
        return shape[index]

    def zero_step(self, index: int) -> Step:
        """Return the step that explains the size of a 0."""
        if index not in self.copied:
            return Step(rules.LITERAL_ZERO, index, (), 0)
        from_left = index != 0 and len(self.shape) != len(self.dims)
        facts = COPIED_FROM_LEFT_FACTS if from_left else COPIED_ZERO_FACTS
        return Step(rules.COPIED_ZERO, index, (index,), self.dims[index], (), facts)

    def resolve_infer(self, known: Dim, index: int) -> ResolvedDim:
        """Infer the size of -1 as the element count divided by `known`.

        `known` is the product of the other dims. Raises `ShapeError` (indivisible, infer-limit, zero-beside-infer or
        zero-volume-infer).
        """
        have = product(self.shape)
        rule = rules.INFERRED
        facts: dict[str, object] = {"shape": self.shape, "have": have, "known": known}
        if known == 0:
            have, known, left_out = self._nonzero_products(index)
            rule, facts = rules.INFERRED_EMPTY, {"have": have, "known": known, "left_out": left_out}
        if have == 0 and known == 0:
            return rule, 1, (), facts
        dim = quotient(have, known)
        try:
            conditions = () if isinstance(dim, int) else require_divisible(dim, 1)
        except Unsatisfiable:
            raise self._indivisible_error(index, have, known) from None
        most = self.dialect.max_inferred
        if most is not None and exceeds(dim, most):
            message = f"-1 would be {dim}, and {self.dialect.name} infers at most {most}"
            raise self._target_error(rules.INFER_LIMIT, message, index)
        return rule, dim, conditions, facts

    def _nonzero_products(self, infer_index: int) -> tuple[Dim, Dim, rules.ExcludedDims]:
        """Return the dividend and the divisor of -1 if another dim is 0.

        Both are element counts without the zeros or without the copied dims. The third result is the kind of the
        excluded dims. Raises `ShapeError` (zero-beside-infer or zero-volume-infer) if the dialect does not infer -1 in
        this case.
        """
        reading, shape, target_dims = self.semantics, self.shape, self.dims
        if reading.zero is base.ZeroMeaning.LITERAL and reading.zero_beside is base.ZeroWithInferPolicy.REFUSED:
            message = f"0 is a dim of size zero here, so -1 at index {infer_index} could be any size"
            raise self._target_error(rules.ZERO_BESIDE_INFER, message, self.target.index(0))
        if reading.empty is base.ZeroVolumeInferPolicy.WITHOUT_COPIES:
            have = product(dim for axis, dim in enumerate(shape) if axis not in self.copied)
            known = product(dim for out, dim in enumerate(target_dims) if out not in self.copied)
            if known != 0 or have == 0:
                return have, known, rules.ExcludedDims.COPIES
        elif reading.empty is base.ZeroVolumeInferPolicy.WITHOUT_ZEROS and 0 in shape:
            have, known = (product(dim for dim in dims if dim != 0) for dims in (shape, target_dims))
            return have, known, rules.ExcludedDims.ZEROS
        zero = target_dims.index(0)
        message = f"-1 could be any size, because the known dims multiply to 0 (dim {zero} is 0)"
        raise self._target_error(rules.ZERO_VOLUME_INFER, message, infer_index)

    def _indivisible_error(self, infer_index: int, count: Dim, known: Dim) -> ShapeError:
        others = self.dims[:infer_index] + self.dims[infer_index + 1 :]
        factors = f" ({truncate('*'.join(map(str, others)))})" if len(others) > 1 else ""
        total, remainder = element_count_text(self.shape, count), remainder_text(count, known)
        message = f"{total} cannot be divided by {known}{factors}{remainder}"
        return self._target_error(rules.INDIVISIBLE, message, infer_index)

    def _target_error(self, rule: Rule, message: str, index: int) -> ShapeError:
        return rule_error(rule, message, argument=self.argument, index=index)


TARGET_HELP = "the requested shape; the dialect defines the meaning of 0 and -1"

RESHAPE = Op(
    name="reshape",
    summary="Change the shape and keep the order of the elements.",
    params=(base.Param("target", base.ParamType.TARGET, TARGET_HELP, positional=True, required=True),),
    resolve=reshape,
    operators={
        "onnx": base.Operator(
            "Reshape",
            {1: base.FLOATS, 5: base.UP_TO_12, 13: base.SINCE_13, 14: base.SINCE_13, 19: base.SINCE_19}
            | base.NEWEST_VERSIONS,
        )
    },
    signatures=(
        ("numpy torch jax", "x.reshape(*shape/newshape: target)"),
        ("tensorflow", "tf.reshape(x, shape: target)"),
        ("paddle", "paddle.reshape(x, [shape]: target)"),
        ("tensorflow", "keras.ops.reshape(x, newshape/new_shape/target_shape: target)"),
        ("tensorflow", "keras.layers.Reshape(target_shape: target)"),
    ),
    printed_names="reshape reshape2 staticreshape",
    examples=("reshape 2,3,4 0,-1", "reshape N,C,H,W 0,-1,64 --explain", "reshape 0,3,4 3,4,0 --allowzero --opset 14"),
    vectors=make_test_vectors(
        "target",
        ("2,3,4", "0,-1", "4,6", "24", "2,3,2,2", "5,-1", "2,5", "-1,-1", "-2,12"),
        ("2,2,3,2", "-1,0,0"),
        ("6", "6,0"),
        ("0,3,4", "0,-1", "5,-1", "3,4,0"),
        ("3,0,4", "0,0,5,-1"),
        ("1,1", "[]"),
        ("[]", "-1", "1,1"),
        ("65536,65536", "-1"),
        ("4294967296,4294967296", "-1"),
        ("1,1,1,1,1,1,1,1,1", "1"),
        ("N,C,H,W", "0,-1", "0,-1,64"),
        ("N,4", "2,6"),
        ("N,3", "0,4"),
        ("N,N", "5"),
    ),
    uses_switch=True,
)

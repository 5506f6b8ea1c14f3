"""Linear: multiply the last axis by a weight, as in a dense layer."""

from __future__ import annotations

from functools import partial

from shapecalc.core.answers import StageBuilder, StageKind, Stages, Step
from shapecalc.core.conditions import require_equal, require_relation
from shapecalc.core.dialects.base import Operator, Param, ParamType, RequestRules, compute_volume
from shapecalc.core.dims import Monomial, Shape
from shapecalc.core.moves import Combine
from shapecalc.core.ops.matmul import MATMUL, contraction_step, operand_dim_step
from shapecalc.core.ops.op import Op, make_test_vectors
from shapecalc.core.ops.operands import INNER_DIFFERS, OPERAND_SEMANTICS, RANKS_DIFFER, Operand, check_equal_ranks
from shapecalc.core.ops.transpose import TRANSPOSE
from shapecalc.core.problem import ShapeError, rule_error, usage_error
from shapecalc.core.rules import KEPT_DIM
from shapecalc.core.text import rank_text, shape_text, truncate


def linear(
    shape: Shape,
    rules: RequestRules,
    out_features: Shape | None = None,
    weight: Shape | None = None,
    *,
    in_first: bool = False,
    allows_vector: bool = False,
) -> Stages:
    """Multiply the last axis by a weight of shape OUT,IN.

    If `in_first` is True, the weight has the shape IN,OUT. If `allows_vector` is True, the weight may also be a vector
    of size IN. Source: ONNX MatMul and Gemm (with a transposed weight), torch.nn.functional.linear,
    paddle.nn.functional.linear and keras.layers.Dense (IN,OUT). Raises `ShapeError` (inner-differs, ranks-differ or
    overflow).
    """
    argument = "out_features" if weight is None else "weight"
    with StageBuilder(StageKind.PRODUCT, "linear", argument, shape) as stage:
        if not shape:
            raise rule_error(RANKS_DIFFER, "a scalar has no axis to multiply", argument="input")
        last = len(shape) - 1
        weight_shape = _resolve_weight_shape(shape, out_features, weight, in_first=in_first)
        if len(weight_shape) != 2 and not (allows_vector and len(weight_shape) == 1):
            message = f"a weight has 2 dims, and {shape_text(weight_shape)} has {rank_text(len(weight_shape))}"
            raise rule_error(RANKS_DIFFER, message, argument=argument)
        if OPERAND_SEMANTICS.for_dialect(rules.dialect).equal_ranks:
            check_equal_ranks(
                [Operand(0, shape), Operand(1, weight_shape)], f"{rules.dialect.name} {rules.operator.name}"
            )
        summed_axis = 0 if in_first else len(weight_shape) - 1
        inner, across = shape[last], weight_shape[summed_axis]

        def make_error() -> ShapeError:
            weight_text = truncate(shape_text(weight_shape))
            message = f"the input ends in {truncate(str(inner))}, and the weight {weight_text} takes {across}"
            return rule_error(INNER_DIFFERS, message, argument=argument, index=summed_axis)

        conditions = require_relation(require_equal, inner, across, make_error)
        output_axes = [axis for axis in range(len(weight_shape)) if axis != summed_axis]
        stage.explain = lambda _: (
            contraction_step((last,), inner, across, conditions),
            *[Step(KEPT_DIM, out, (out,), shape[out]) for out in range(last)],
            *[operand_dim_step(last, (1, axis), weight_shape[axis]) for axis in output_axes],
        )
        output = (*shape[:last], *[weight_shape[axis] for axis in output_axes])
        compute_volume(output, argument)
        operand_axes = [*[((0, axis),) for axis in range(last)], *[((1, axis),) for axis in output_axes]]
        return stage.finish(Combine(output, (shape, weight_shape), tuple(operand_axes)))


def _resolve_weight_shape(shape: Shape, out_features: Shape | None, weight: Shape | None, *, in_first: bool) -> Shape:
    """Return `weight`, or a weight shape with `out_features` outputs.

    Raises `ShapeError` (usage) unless exactly one of the two arguments is passed. Also raises `ShapeError` (usage) if
    `out_features` is not a single size.
    """
    if (out_features is None) == (weight is None):
        raise usage_error("linear takes OUT or --weight OUT,IN, one of the two", argument="out_features")
    if weight is not None:
        return weight
    if len(out_features or ()) != 1 or not (isinstance(out_features[0], Monomial) or out_features[0] >= 0):  # type: ignore[index]
        message = f"out_features is one size, and this is {truncate(shape_text(out_features or ()))}"
        raise usage_error(message, argument="out_features")
    pair = (*out_features, shape[-1])  # type: ignore[misc]
    return pair[::-1] if in_first else pair


LINEAR = Op(
    name="linear",
    summary="Multiply the last axis by a weight, as a dense layer does.",
    params=(
        Param("out_features", ParamType.TARGET, "the size of the last dim of the output", positional_or_named=True),
        Param("weight", ParamType.SHAPE, "the shape of the weight: OUT,IN; in Paddle and Keras IN,OUT"),
    ),
    resolve=linear,
    operators={
        "torch": Operator("linear", resolve=partial(linear, allows_vector=True)),
        "paddle": Operator("linear", resolve=partial(linear, in_first=True)),
        "tensorflow": Operator("Dense", resolve=partial(linear, in_first=True)),
    },
    composed_of=(MATMUL, TRANSPOSE),
    signatures=(
        ("torch", "torch.nn.functional.linear(x, weight, bias=None)"),
        ("torch", "torch.nn.Linear(in_features, out_features, bias=True, device=None, dtype=None)"),
        ("torch", "torch.nn.LazyLinear(out_features/units: out_features, bias=True, device=None, dtype=None)"),
        ("tensorflow", "keras.layers.Dense(units/out_features: out_features)"),
    ),
    noun="a layer and its weights",
    examples=("linear B,T,768 3072", "linear B,T,C 3*C --explain", "linear 512,256 --weight 4,256 -d torch"),
    vectors=make_test_vectors("out_features", ("2,3", "4"), ("3", "0"), ("[]", "4"), ("B,T,C", "3*C", "N"))
    + make_test_vectors("weight", ("2,3", "4,3", "3,4", "3", "2,4,3"), ("B,K", "4,768", "N,M")),
    keeps_element_count=False,
    semantics=(OPERAND_SEMANTICS,),
)

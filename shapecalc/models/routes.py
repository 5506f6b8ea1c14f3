"""Routes: which axis of a node's output holds what an axis of its input held.

A route is called with the node at one size, the number of the input, its axis, and the number of the output. It
returns the output's axis; None where one element of the output is made of many along the input's axis, or where
nobody can say. Source: the ONNX operator documents.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from shapecalc.models.seen import Seen

    Route = Callable[[Seen, int, int, int], int | None]


def aligned(seen: Seen, at: int, axis: int, to: int) -> int | None:
    """Return the axis at the same distance from the right: that is how shapes are broadcast."""
    return axis + seen.rank_out(to) - seen.rank(at)


def _first(*axes: int) -> Route:
    """Return the route of an op that takes what lies along these axes of its first input one by one."""

    def route(_seen: Seen, at: int, axis: int, _to: int) -> int | None:
        return axis if at == 0 and axis in axes else None

    return route


def _every_input(*axes: int) -> Route:
    """Return the route of an op that takes what lies along these axes of all its inputs one by one."""

    def route(_seen: Seen, _at: int, axis: int, _to: int) -> int | None:
        return axis if axis in axes else None

    return route


def _unless(first_lost: int, last_lost: int | None = None) -> Route:
    """Return the route of an op that mixes some axes of its first input, counted as slices count."""

    def route(seen: Seen, at: int, axis: int, _to: int) -> int | None:
        mixed = range(seen.rank(0))[first_lost:last_lost]
        return axis if at == 0 and axis not in mixed else None

    return route


def _softmax(seen: Seen, at: int, axis: int, to: int) -> int | None:
    if seen.opset >= 13:
        return _along(-1)(seen, at, axis, to)
    return axis if axis < seen.axis(1, seen.rank(at)) else None


def _along(default: int) -> Route:
    """Return the route of an op that mixes what lies along its attribute `axis`."""

    def route(seen: Seen, at: int, axis: int, _to: int) -> int | None:
        return axis if at == 0 and axis != seen.axis(default, seen.rank(0)) else None

    return route


def _from(default: int) -> Route:
    """Return the route of an op that mixes its attribute `axis` and all axes behind it."""

    def route(seen: Seen, at: int, axis: int, _to: int) -> int | None:
        return axis if at == 0 and axis < seen.axis(default, seen.rank(0)) else None

    return route


def _cumulated(seen: Seen, at: int, axis: int, _to: int) -> int | None:
    along = seen.numbers("axis", 1)
    return axis if at == 0 and along and axis != along[0] % seen.rank(0) else None


def _reduced(seen: Seen, at: int, axis: int, _to: int) -> int | None:
    if at:
        return None
    axes, rank = seen.numbers("axes", 1), seen.rank(0)
    if axes is None and not ("axes" in seen.attributes or seen.lacks(1)):
        return None
    if not axes:
        return axis if seen.attributes.get("noop_with_empty_axes") else None
    return _without({each % rank for each in axes}, axis, seen)


def _largest(seen: Seen, _at: int, axis: int, _to: int) -> int | None:
    return _without({seen.axis(0, seen.rank(0))}, axis, seen)


def _without(mixed: set[int], axis: int, seen: Seen) -> int | None:
    if axis in mixed:
        return None
    return axis if seen.attributes.get("keepdims", 1) else axis - sum(each < axis for each in mixed)


def _normalized(seen: Seen, _at: int, axis: int, _to: int) -> int | None:
    mixed = seen.attributes.get("axes", (0, 2, 3))
    return axis if axis not in {each % seen.rank(0) for each in mixed} else None


def _batch_normalized(seen: Seen, at: int, axis: int, to: int) -> int | None:
    return axis if at == to == 0 and not seen.attributes.get("training_mode") else None


def _multiplied(seen: Seen, at: int, axis: int, _to: int) -> int | None:
    """Route the axes of `(..., m, k)` times `(..., k, n)`."""
    second = {"QLinearMatMul": 3}.get(seen.op, 1)
    if at not in (0, second) or seen.rank(at) == 1:
        return None
    ranks = seen.rank(0), seen.rank(second)
    stacked = max(2, *ranks) - 2
    from_end = axis - seen.rank(at)
    if from_end < -2:
        return axis + stacked + 2 - seen.rank(at)
    if from_end == (-1 if at == 0 else -2):
        return None
    return stacked if at == 0 else seen.rank_out() - 1


def _gemm(seen: Seen, at: int, axis: int, to: int) -> int | None:
    if at == 2:
        return aligned(seen, at, axis, to)
    turned = seen.attributes.get("transB" if at else "transA", 0)
    return at if (axis ^ int(bool(turned))) == at else None


def _convolved(seen: Seen, at: int, axis: int, _to: int) -> int | None:
    if at:
        return None
    if axis < 2:
        return axis if axis == 0 else None
    weights = seen.inputs[{"QLinearConv": 3}.get(seen.op, 1)]
    reads_one = weights is not None and axis < len(weights) and weights[axis] == 1
    still = not any((*seen.attributes.get("pads", ()), seen.attributes.get("auto_pad", b"NOTSET") != b"NOTSET"))
    steps = {*seen.attributes.get("strides", (1,))} == {1}
    return axis if reads_one and still and steps else None


def _resized(seen: Seen, at: int, axis: int, _to: int) -> int | None:
    before, after = seen.inputs[0], seen.outputs[0]
    crops = seen.attributes.get("coordinate_transformation_mode") == b"tf_crop_and_resize"
    return axis if at == 0 and before and after and before[axis] == after[axis] and not crops else None


def _padded(seen: Seen, at: int, axis: int, _to: int) -> int | None:
    pads = seen.numbers("pads", 1) or seen.numbers("paddings", 1)
    if at or not pads or not seen.lacks(3):
        return None
    return axis if pads[axis] == pads[axis + len(pads) // 2] == 0 else None


def _summed(seen: Seen, at: int, axis: int, _to: int) -> int | None:
    """Route the letters of an Einsum."""
    equation = seen.attributes.get("equation", b"").decode(errors="replace").replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if not arrow or "." in equation or at >= len(terms) or axis >= len(terms[at]):
        return None
    letter = terms[at][axis]
    return right.find(letter) if terms[at].count(letter) == right.count(letter) == 1 else None


def _recurrent(seen: Seen, at: int, axis: int, to: int) -> int | None:
    """Route the batch of an LSTM, a GRU or an RNN; `layout` 1 has it first."""
    first = bool(seen.attributes.get("layout", 0))
    carries = {0: 0 if first else 1, 4: 0, 5: 0 if first else 1, 6: 0 if first else 1}
    if carries.get(at) != axis:
        return None
    return 0 if first else 2 if to == 0 else 1


def _one_hot(seen: Seen, at: int, axis: int, _to: int) -> int | None:
    return None if at else axis + (axis >= seen.axis(-1, seen.rank_out()))


def _gathered_elements(seen: Seen, at: int, axis: int, _to: int) -> int | None:
    return axis if at == 1 or axis != seen.axis(0, seen.rank(0)) else None


def _scattered_elements(seen: Seen, at: int, axis: int, _to: int) -> int | None:
    return axis if at == 0 or axis != seen.axis(0, seen.rank(0)) else None


def _gathered_nd(seen: Seen, at: int, axis: int, _to: int) -> int | None:
    kept = seen.attributes.get("batch_dims", 0) if at == 0 else seen.rank(1) - 1
    return axis if axis < kept else None


def _reversed(seen: Seen, at: int, axis: int, _to: int) -> int | None:
    batch_axis: int = seen.attributes.get("batch_axis", 1)
    if at:
        return batch_axis
    return axis if axis != seen.attributes.get("time_axis", 0) else None


def _transposed(seen: Seen, _at: int, axis: int, _to: int) -> int | None:
    perm = seen.attributes.get("perm", tuple(range(seen.rank(0)))[::-1])
    return perm.index(axis) if axis in perm else None


def _extracted(seen: Seen, at: int, axis: int, _to: int) -> int | None:
    if at:
        return seen.rank_out() - 1
    return axis if axis < seen.rank(0) - 1 else None


def _rows(seen: Seen, at: int, axis: int, _to: int) -> int | None:
    return 0 if at == axis == 0 and seen.rank(0) > 1 else None


ELEMENTWISE = """
    Abs Acos Acosh Add And Asin Asinh Atan Atanh BitCast BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast Ceil
    Celu Clip Cos Cosh Div Dropout Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual HardSigmoid HardSwish Identity
    IsInf IsNaN LeakyRelu Less LessOrEqual Log Max Mean Min Mish Mod Mul Neg Not Or PRelu Pow Reciprocal Relu Round Selu
    Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Sub Sum Swish Tan Tanh ThresholdedRelu Where Xor
"""
POINTWISE = frozenset(ELEMENTWISE.split())
"""The operators that take the elements of one place, as shapes are broadcast."""
REDUCING = "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare"
OWN: dict[str, Route] = {
    **dict.fromkeys((*POINTWISE, "CastLike"), aligned),
    **{f"Reduce{name}": _reduced for name in REDUCING.split()},
    **dict.fromkeys(("QuantizeLinear", "DequantizeLinear"), _unless(0, 0)),
    **dict.fromkeys(("ArgMax", "ArgMin"), _largest),
    **dict.fromkeys(("Softmax", "LogSoftmax", "Hardmax"), _softmax),
    **dict.fromkeys(("LpNormalization", "TopK"), _along(-1)),
    **dict.fromkeys(("LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization"), _from(-1)),
    **dict.fromkeys(("CumSum", "CumProd"), _cumulated),
    **dict.fromkeys(("MaxPool", "AveragePool", "LpPool", "InstanceNormalization"), _first(0, 1)),
    **dict.fromkeys(("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"), _first(0, 1)),
    **dict.fromkeys(("Conv", "ConvInteger", "QLinearConv"), _convolved),
    **dict.fromkeys(("ConvTranspose", "GroupNormalization", "Col2Im", "DepthToSpace", "SpaceToDepth"), _first(0)),
    **dict.fromkeys(("DeformConv", "GridSample", "MaxUnpool", "Attention"), _every_input(0)),
    **dict.fromkeys(("AffineGrid", "STFT"), _every_input(0)),
    "RotaryEmbedding": _every_input(0),
    **dict.fromkeys(("MatMul", "MatMulInteger", "QLinearMatMul"), _multiplied),
    **dict.fromkeys(("Det", "Trilu"), _unless(-2)),
    **dict.fromkeys(("Resize", "Upsample", "CenterCropPad"), _resized),
    **dict.fromkeys(("LSTM", "GRU", "RNN"), _recurrent),
    **dict.fromkeys(("ScatterElements", "Scatter"), _scattered_elements),
    "BatchNormalization": _batch_normalized,
    "LRN": _unless(1, 2),
    "MeanVarianceNormalization": _normalized,
    "Gemm": _gemm,
    "Pad": _padded,
    "Einsum": _summed,
    "OneHot": _one_hot,
    "GatherElements": _gathered_elements,
    "GatherND": _gathered_nd,
    "ReverseSequence": _reversed,
    "Transpose": _transposed,
}
"""The routes of ONNX's own operators."""
CONTRIBUTED: dict[str, Route] = {
    **dict.fromkeys(("Gelu", "BiasGelu", "FastGelu", "QuickGelu"), aligned),
    **dict.fromkeys(("MultiHeadAttention", "GroupQueryAttention", "RotaryEmbedding"), _every_input(0)),
    **dict.fromkeys(("SkipLayerNormalization", "SkipSimplifiedLayerNormalization"), _every_input(0)),
    "FusedConv": _convolved,
}
"""The routes of the operators that ONNX Runtime adds. Source: ContribOperators.md there."""
ROWS = """
    Binarizer Imputer LinearClassifier LinearRegressor Normalizer OneHotEncoder SVMClassifier SVMRegressor Scaler
    TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor
"""
LEARNED: dict[str, Route] = {
    **dict.fromkeys(ROWS.split(), _rows),
    **dict.fromkeys(("LabelEncoder", "CategoryMapper"), aligned),
    "ArrayFeatureExtractor": _extracted,
    "FeatureVectorizer": _every_input(0),
}
"""The routes of ONNX's operators for classical machine learning."""
ROUTES = {"": OWN, "com.microsoft": CONTRIBUTED, "ai.onnx.ml": LEARNED}
"""The routes by domain."""
TAKEN = {"CastLike": 1, "Shape": 0, "Size": 0, "ConstantOfShape": 0, "EyeLike": 0}
"""How many of its inputs an operator takes elements of, if it asks the others for no more than a type or a size."""

"""Define the kinds of elements that functions of PyTorch accept and return.

A kind is a letter of NumPy's `dtype.kind`: b for bool, i for integer, f for float, c for complex. The possible kinds of
a tensor are a string of these letters, in the order of type promotion. Sources: `torch.Tensor`, "Type promotion", and
the CPU kernels of PyTorch 2.13; `tests/engines/test_checks.py` compares each function with PyTorch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import isnan

from shapecalc.core.dims import Monomial
from shapecalc.core.record import Record

ANY_KIND = "bifc"
KIND_NAMES: Mapping[str, str] = {"b": "bool", "i": "integer", "f": "float", "c": "complex"}
TYPE_NAMES: Mapping[str, str] = {
    r"bool": "b",
    r"u?int(4|16|32|64)?|int8|long|short": "i",
    r"uint8|byte": "bif",  # uint8 is a mask in an index; some functions accept no other integer type
    r"(float|half|double|bfloat)\d*": "f",
    r"(complex|cfloat|cdouble|chalf)\d*": "c",
}
"""The possible kinds of element types, keyed by a regular expression for the type name."""


class KindRule(Record):
    """The element kinds that a function accepts, and the kind of its result for each of them."""

    mode: str
    """How the kinds of the operands are combined to look up the result.

    "first" uses only the first tensor. "joined" promotes the types of all tensors; "promoted" also includes numbers.
    "no-bool" is "promoted", but refuses bool operands. "equal" requires that all tensors have the same kind.
    """
    results: Mapping[str, str]

    def result(self, operands: Sequence[str]) -> str:
        """Return the possible kinds of the result for the kinds of the operands.

        Returns an empty string if the function accepts no combination of these kinds.
        """
        if self.mode == "no-bool" and "b" in operands:
            return ""
        if self.mode == "equal":
            kinds = "".join([kind for kind in ANY_KIND if all(kind in operand for operand in operands)])
        else:
            kinds = promote_kinds(operands[:1] if self.mode == "first" else operands)
        return unite_kinds([self.results[kind] for kind in kinds if kind in self.results])


def unite_kinds(operands: Iterable[str]) -> str:
    """Return the kinds that are possible for any of the operands."""
    letters = {*"".join(operands)}
    return "".join([kind for kind in ANY_KIND if kind in letters])


def promote_kinds(operands: Sequence[str]) -> str:
    """Return the possible kinds of a result after type promotion of its operands.

    >>> promote_kinds(["i", "f"]), promote_kinds(["bifc", "i"])
    ('f', 'ifc')
    """
    lowest = max([ANY_KIND.index(operand[0]) for operand in operands], default=0)
    return "".join([kind for kind in unite_kinds(operands) if ANY_KIND.index(kind) >= lowest])


def format_kinds(kinds: str) -> str:
    """Return the names of kinds for a message."""
    return " or ".join([KIND_NAMES[kind] for kind in kinds])


def parse_type_name(name: str) -> str:
    """Return the possible kinds of the element type with this name.

    Returns an empty string for any other name.

    >>> parse_type_name("float16"), parse_type_name("LongTensor"), parse_type_name("dtype")
    ('f', 'i', '')
    """
    text = name.removesuffix("_").removesuffix("Tensor").lower()
    return next((kinds for pattern, kinds in TYPE_NAMES.items() if re.fullmatch(pattern, text)), "")


def number_kinds(value: object) -> str:
    """Return the possible kinds of a number, or an empty string for any other value."""
    if isinstance(value, bool):
        return "b"
    if isinstance(value, int | Monomial):
        return "i"
    return ("bif" if isnan(value) else "f") if isinstance(value, float) else ""


_SAME = "bifc>bifc"
_SPECIFICATIONS: Mapping[str, str] = {
    "f>f": "softmax softmin log_softmax gelu elu celu selu mish leaky_relu softplus "
    "hardswish hardsigmoid logsigmoid frac glu nanmean bernoulli histc interpolate affine_grid max_pool1d "
    "adaptive_avg_pool1d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d BatchNorm1d BatchNorm2d "
    "BatchNorm3d SyncBatchNorm InstanceNorm1d InstanceNorm2d InstanceNorm3d LayerNorm GroupNorm PReLU Softmax2d "
    "Softmax LogSoftmax "
    "Softmin RReLU Hardshrink Softshrink LeakyReLU ELU CELU SELU GELU Mish LogSigmoid Hardswish Hardsigmoid Softplus "
    "Linear LazyLinear Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d MaxPool1d "
    "AdaptiveAvgPool1d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d Upsample "
    "TransformerEncoderLayer LSTM GRU RNN cross_entropy nll_loss huber_loss training_dropout "
    "adaptive_avg_pool2d adaptive_avg_pool3d AdaptiveAvgPool2d AdaptiveAvgPool3d hardshrink rrelu softshrink "
    "gumbel_softmax quantile nanquantile pdist instance_norm "
    "LSTMCell GRUCell RNNCell TransformerEncoder",
    "f>i": "multinomial",
    "f>c": "view_as_complex",
    "c>f": "view_as_real",
    "fc>cc": "stft",
    "fc>fc": "mean reduce_mean normalize rms_norm logcumsumexp silu rand_like randn_like RMSNorm SiLU normal_ "
    "uniform_ renorm cholesky_inverse linalg.vecdot",
    "fc>ff": "std var norm std_mean var_mean linalg.cond",
    "if>if": "abs_ relu relu6 hardtanh topk kthvalue median nanmedian ceil floor round trunc max_pool2d max_pool3d "
    "avg_pool1d avg_pool2d avg_pool3d ReLU ReLU6 Hardtanh Threshold MaxPool2d MaxPool3d AvgPool1d AvgPool2d "
    "AvgPool3d threshold",
    "if>ii": "argmax argmin",
    "if>ff": "LocalResponseNorm local_response_norm",
    "ifc>ifc": "neg reflected negative positive mv vdot tensordot index_reduce bilinear linalg.multi_dot chain_matmul",
    "ifc>iff": "abs absolute",
    "ifc>ffc": "softsign Softsign Tanhshrink tanhshrink corrcoef cov trapz trapezoid cumulative_trapezoid",
    "bi>bi": "invert bitwise_not",
    "bif>bif": "amax amin max min sort mode aminmax cummax cummin sign bernoulli_ msort",
    "bif>iif": "nansum",
    "bif>iii": "argsort",
    "bif>fff": "erf erfc erfinv lgamma digamma logit deg2rad rad2deg i0",
    "bif>ccc": "fft.rfft fft.rfft2 fft.rfftn",
    "bfc>bfc": "F.unfold F.fold",
    "bifc>iifc": "sum cumsum cumprod prod square reduce_sum vander",
    "bifc>fffc": "exp2 asinh acosh atanh sinc sqrt exp log log2 log10 log1p expm1 sin cos tan asin acos atan sinh cosh "
    "tanh sigmoid rsqrt reciprocal logsumexp Sigmoid Tanh arccos arccosh arcsin arcsinh arctan arctanh",
    "bifc>ffff": "angle fft.irfft fft.irfft2 fft.irfftn float half double bfloat16",
    "bifc>cccc": "fft.fft fft.ifft fft.fft2 fft.ifft2 fft.fftn fft.ifftn cfloat cdouble",
    "bifc>biff": "real",
    "bifc>bbbb": "any all isnan isinf isfinite logical_not bool eq ne not_equal logical_and logical_or logical_xor "
    "isreal",
    "bifc>iiii": "count_nonzero nonzero long int short char one_hot argwhere",
    _SAME: "gather scatter scatter_add scatter_reduce index_add index_copy index_fill index_put masked_scatter "
    "masked_fill masked_select take_along_dim take_along_axis index_select diagonal diag diag_embed unfold tril triu "
    "zeros_like ones_like empty_like full_like new_zeros new_ones new_empty new_full nan_to_num conj clone contiguous "
    "detach pad fft.fftshift fft.ifftshift pixel_shuffle dropout Dropout Dropout1d Dropout2d Dropout3d AlphaDropout "
    "FeatureAlphaDropout ChannelShuffle dropout1d dropout2d dropout3d "
    "Identity sgn fill copy zero fill_diagonal logical_not_ DropPath StochasticDepth fliplr "
    "flipud adjoint diagflat combinations take select_scatter slice_scatter channel_shuffle alpha_dropout "
    "feature_alpha_dropout",
    "promoted bifc>bifc": "add mul multiply where",
    "joined bifc>bifc": "diff outer ger kron cat concat concatenate stack hstack vstack dstack row_stack column_stack "
    "addr block_diag",
    "promoted bifc>fffc": "div divide true_divide float_power ldexp",
    "promoted bif>fff": "atan2 copysign xlogy arctan2",
    "promoted bif>bif": "maximum minimum fmax fmin clamp clip clamp_min clamp_max",
    "promoted bif>bbb": "lt le gt ge less less_equal greater greater_equal",
    "promoted ifc>ifc": "pow addcmul",
    "promoted if>if": "floor_divide fmod remainder mod",
    "promoted if>ii": "searchsorted bucketize",
    "promoted bi>bi": "bitwise_and bitwise_or bitwise_xor",
    "promoted fc>fc": "logaddexp addcdiv",
    "promoted f>f": "hypot cosine_similarity mse_loss smooth_l1_loss igamma igammac logaddexp2 nextafter",
    "no-bool ifc>ifc": "sub subtract rsub",
    "no-bool fc>ff": "l1_loss dist",
    "no-bool ifc>iff": "absolute_difference",
    "no-bool ifc>fff": "pairwise_distance PairwiseDistance",
    "equal f>f": "kl_div layer_norm group_norm batch_norm cdist grid_sample scaled_dot_product_attention "
    "binary_cross_entropy binary_cross_entropy_with_logits MultiheadAttention TransformerDecoderLayer prelu "
    "TransformerDecoder Bilinear",
    "equal f>c": "complex polar",
    "equal fc>fc": "lerp",
    "equal ifc>ifc": "addbmm addmv mm bmm dot matmul linear addmm baddbmm "
    "conv1d conv2d conv3d conv_transpose1d conv_transpose2d "
    "conv_transpose3d",
    "equal bifc>bifc": "meshgrid cartesian_prod",
    "bif>bbb": "signbit isposinf isneginf",
    "no-bool if>bb": "isin",
    "fc>ii": "linalg.matrix_rank",
    "promoted i>i": "gcd lcm bitwise_left_shift bitwise_right_shift",
    "equal bif>bif": "heaviside",
    "equal bifc>bbbb": "isclose",
}


def _parse_rules() -> Mapping[str, KindRule]:
    """Parse the kind rules of functions and layers, keyed by name."""
    rules = {}
    for text, names in _SPECIFICATIONS.items():
        *modes, kinds = text.split()
        accepted, _, results = kinds.partition(">")
        rule = KindRule("".join(modes) or "first", dict(zip(accepted, results, strict=True)))
        rules.update(dict.fromkeys(names.split(), rule))
    return rules


KIND_RULES = _parse_rules()
"""The kind rules of functions and layers, keyed by name."""
OPERATOR_FUNCTIONS: Mapping[str, str] = {
    "Add": "add",
    "Sub": "sub",
    "Mult": "mul",
    "Div": "div",
    "FloorDiv": "floor_divide",
    "Mod": "remainder",
    "Pow": "pow",
    "MatMult": "mm",
    **dict.fromkeys(("BitAnd", "BitOr", "BitXor", "LShift", "RShift"), "bitwise_and"),
    **dict.fromkeys(("Eq", "NotEq"), "eq"),
    **dict.fromkeys(("Lt", "LtE", "Gt", "GtE"), "lt"),
    "USub": "neg",
    "UAdd": "neg",
    "Invert": "invert",
}
"""The function whose kind rule applies to each operator, keyed by the name of its `ast` class."""
INDEX_PAIRS = {"topk", "sort", "cummax", "cummin", "kthvalue", "mode", "median", "nanmedian", "max", "min"} | {
    f"{name}{rank}d" for name in ("max_pool", "adaptive_max_pool", "MaxPool", "AdaptiveMaxPool") for rank in (1, 2, 3)
}
"""The functions that return values and their indices as a pair."""
PROMOTING_KEYWORDS = {"other", "min", "max", "exponent", "input", "y"}
"""The keyword arguments whose numbers take part in type promotion."""
COMPARED_TENSORS: Mapping[str, int] = {
    "binary_cross_entropy": 2,
    "binary_cross_entropy_with_logits": 2,
    "scaled_dot_product_attention": 3,
    "MultiheadAttention": 3,
    "TransformerDecoderLayer": 2,
}
"""The number of leading tensors whose kinds a function compares, if it does not compare all."""
